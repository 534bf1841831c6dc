"""internet-e18, TCP with a reservation: the conflict of a token bucket with an ordinary window, and its remedies."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, cast

from tailback.gallery.internet.shared import services
from tailback.gallery.internet.shared.dumbbell import BOTTLENECK, PORT
from tailback.gallery.internet.shared.services import COARSE_CLOCK, ERED, MODERN, RENO, RIO
from tailback.plotting import experiment as fig
from tailback.results import observables as m
from tailback.results.report import Report
from tailback.scenario import Value
from tailback.study.experiment import (
    Axis,
    Claim,
    Experiment,
    Figure,
    Point,
    Profile,
    ProfileName,
    Results,
    Settings,
    grid,
)
from tailback.study.experiment.quantity import Selector

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

PLAIN, DEEP, DELAYED, COARSE, FINE = "plain", "plain, deep bucket", "delayed", "coarse timer", "fine timer"
ADAPTIVE, FIXED = "adaptive window", "adaptive window, fine timer"
SHALLOW = "10kB"
# Settings of the reservation other than its rate, by mechanism of sending.
MECHANISMS: dict[str, dict[str, Value]] = {
    PLAIN: {"burst": SHALLOW},
    DEEP: {"burst": "100kB"},
    DELAYED: {"burst": SHALLOW, "transmission": {"kind": "delayed", "most": "100ms"}},
    COARSE: {"burst": SHALLOW, "transmission": {"kind": "timed", "tick": "200ms"}},
    FINE: {"burst": SHALLOW, "transmission": {"kind": "timed", "tick": "10ms"}},
    ADAPTIVE: {"burst": SHALLOW, "window": "excess"},
    FIXED: {"burst": SHALLOW, "window": "excess", "transmission": {"kind": "timed", "tick": "10ms"}},
}
# Times in s, windows in segments, and smoothed round-trip times in s.
Trace = tuple[list[float], list[float], list[float]]
# Reservations, Mbit/s.
RATES = (1, 2, 4, 6)
LARGE = (4, 6)
"""Reservations that an ordinary sender does not reach, Mbit/s."""


def _window(report: Report) -> Trace:
    """Return times, windows and smoothed round-trip times of the connection with the reservation."""
    series = report.data["series"]
    assert series is not None, "the point samples"
    shown = series["transports"]["reserved"]
    return series["time_s"], shown["window_segments"], shown["smoothed_rtt_s"]


class Reservation(Experiment):
    """One connection with a reservation next to six without, for each mechanism of sending."""

    id = "internet-e18"
    title = "TCP with a reservation"
    reference = "Feng, thesis defence (1999), part Differentiated services; Feng and others, NOSSDAV 1997"
    axes = (
        Axis("mechanism", "mechanism"),
        Axis("rate", "reservation", "Mbit/s"),
        Axis("sender", "TCP sender"),
        Axis("queue", "queue"),
    )
    quick = Profile(duration="60s", warmup="15s", replications=3, max_replications=12, cpu_s=12)
    full = Profile(duration="220s", warmup="20s", replications=5, max_replications=30, cpu_s=170)
    metrics = (
        services.rate("reserved", "reserved", "goodput with the reservation"),
        services.green_rate("reserved", "marked", "delivered marked"),
        services.unmarked_rate("reserved", "unmarked", "delivered unmarked with the reservation"),
        services.unmarked_rate("best", "best", "delivered per connection without a reservation"),
        services.green_losses(),
        m.utilisation(BOTTLENECK, label="utilisation"),
    )
    traces = {"window": _window}  # noqa: RUF012

    def points(self, profile: ProfileName) -> Iterable[Point]:
        """Return the points: every mechanism and reservation, some also with Reno, a coarse clock, and RIO."""
        some = (PLAIN, FINE, ADAPTIVE, FIXED) if profile == "full" else (PLAIN, FIXED)
        rates = RATES if profile == "full" else (2, 4, 6)
        others = rates if profile == "full" else (4,)
        return (
            grid(mechanism=list(MECHANISMS), rate=rates, sender=[MODERN], queue=[ERED])
            + grid(mechanism=some, rate=others, sender=[RENO, COARSE_CLOCK], queue=[ERED])
            + grid(mechanism=some, rate=others, sender=[MODERN], queue=[RIO])
        )

    def settings(self, point: Point, profile: ProfileName) -> Settings:
        """Return the settings of reservation, mechanism, queue and sender."""
        del profile
        chosen = MECHANISMS[str(point["mechanism"])]
        return {
            "flows[reserved].transport.reservation": {"rate": f"{point['rate']}Mbit/s", **chosen},
            f"{PORT}.discipline": services.QUEUES[str(point["queue"])],
            "run.sample": "100ms",
            **services.sender(point["sender"], "best", "reserved"),
        }

    def claims(self, results: Results) -> Iterable[Claim]:
        """Return the claims: an ordinary sender wastes its reservation, and one with both remedies does not."""
        main = results.where(sender=MODERN, queue=ERED)
        by = {name: main.where(mechanism=name) for name in MECHANISMS}
        source = "Feng and others 1997, as summarised; rates and bounds reconstructed"

        below = by[PLAIN].where(rate=6)["reserved"] < 6
        below &= by[PLAIN].where(rate=4)["reserved"] < 4
        fixed = by[FIXED].where(rate=2)["reserved"] >= 0.95 * 2
        for rate in LARGE:
            fixed &= by[FIXED].where(rate=rate)["reserved"] >= 0.95 * rate
        timer = by[FINE].where(rate=2)["reserved"] >= 0.95 * 2
        for rate in LARGE:
            timer &= by[FINE].where(rate=rate)["reserved"] >= 0.95 * rate
        others = [
            results.where(sender=RENO, queue=ERED, rate=4),
            results.where(sender=MODERN, queue=RIO, rate=4),
        ]
        elsewhere = others[0].where(mechanism=FIXED)["reserved"] >= 0.95 * 4
        elsewhere &= others[1].where(mechanism=FIXED)["reserved"] >= 0.95 * 4
        for other in others:
            elsewhere &= other.where(mechanism=PLAIN)["reserved"] < other.where(mechanism=FIXED)["reserved"]
        large: dict[str, Selector] = {"rate": list(LARGE)}
        return [
            Claim("T1", "An ordinary sender gets less than the 4 or 6 Mbit/s that it has reserved.", source, below),
            Claim(
                "T2",
                "With the adaptive window and the fine timer the connection gets at least 95 % of every reservation.",
                f"{source}; the 95 % reconstructed",
                fixed,
            ),
            Claim(
                "T3",
                "With the adaptive window and the fine timer the connection gets more than an ordinary sender, at "
                "every reservation.",
                source,
                by[PLAIN]["reserved"] < by[FIXED]["reserved"],
            ),
            Claim(
                "T4",
                "With the adaptive window and the fine timer the connection's unmarked rate is within 25 % of that of "
                "a connection without a reservation.",
                f"{source}; the bound reconstructed",
                by[FIXED]["unmarked"].close_to(by[FIXED]["best"], relative=0.25),
            ),
            Claim(
                "T5",
                "With 4 and 6 Mbit/s reserved, an ordinary sender gets more with a deeper bucket, but less than a "
                "sender with the adaptive window and the fine timer.",
                source,
                (by[PLAIN].where(**large)["reserved"] < by[DEEP].where(**large)["reserved"])
                & (by[DEEP].where(**large)["reserved"] < by[FIXED].where(**large)["reserved"]),
            ),
            Claim(
                "T6",
                "With 4 and 6 Mbit/s reserved, more marked packets are delivered with the fine timer than with the "
                "coarse one, with which tokens overflow.",
                source,
                by[COARSE].where(**large)["marked"] < by[FINE].where(**large)["marked"],
            ),
            Claim(
                "T7",
                "With the fine timer alone the connection gets at least 95 % of every reservation.",
                f"{source}; the 95 % reconstructed",
                timer,
            ),
            Claim(
                "T8",
                "With the adaptive window alone the connection gets more than an ordinary sender.",
                source,
                by[PLAIN]["reserved"] < by[ADAPTIVE]["reserved"],
            ),
            Claim(
                "T9",
                "With enhanced RED no marked packet is lost.",
                "derived: enhanced RED drops only unmarked packets early",
                main["marked_losses"].is_zero(),
            ),
            Claim(
                "T10",
                "With 4 Mbit/s reserved, and with Reno instead of SACK or with RIO instead of enhanced RED, the "
                "connection with the adaptive window and the fine timer gets at least 95 % of its reservation, and "
                "more than an ordinary sender.",
                "reconstructed: a sensitivity",
                elsewhere,
            ),
            Claim.comparison(
                "T11",
                "Goodput of the connection with 4 Mbit/s reserved, the adaptive window and the fine timer, if its "
                "clock has ticks of 100 ms.",
                "reconstructed: a sensitivity",
                results.where(sender=COARSE_CLOCK, queue=ERED, rate=4, mechanism=FIXED)["reserved"],
                "a round trip that is rounded up to ticks makes the minimum of the adaptive window too large (README)",
            ),
        ]

    def figures(self, results: Results) -> Iterable[Figure]:
        """Return goodput, marked and unmarked rate against the reservation, and the window over time."""
        main = results.where(sender=MODERN, queue=ERED)
        by = {name: main.where(mechanism=name) for name in MECHANISMS}
        return [
            fig.compare(
                {name: chosen["reserved"] for name, chosen in by.items()},
                "goodput",
                "Goodput of the connection with a reservation",
                "Six connections without a reservation share the rest of 10 Mbit/s.",
                x="rate",
                claims=("T1", "T2", "T3", "T4", "T5", "T7"),
            ),
            fig.compare(
                {name: chosen["marked"] for name, chosen in by.items()},
                "marked",
                "Delivered rate of marked packets",
                "The difference from the reservation is the rate of tokens that overflowed.",
                x="rate",
                claims=("T6",),
            ),
            fig.compare(
                {"the connection with a reservation": by[FIXED]["unmarked"], "one without": by[FIXED]["best"]},
                "excess",
                "Delivered rate of unmarked packets per connection",
                "With the adaptive window and the fine timer.",
                x="rate",
                claims=("T4",),
            ),
            Figure(
                "window",
                "Window of the connection with a reservation of 4 Mbit/s",
                "First replication. Dashed: reserved rate times round trip, below which the adaptive window never "
                "falls.",
                lambda: _draw_windows(results),
                claims=("T1", "T2"),
            ),
        ]


def _draw_windows(results: Results) -> Drawing:
    """Draw the window from 30 to 60 s, for `PLAIN` and `FIXED`."""
    from tailback.plotting import plot

    drawn = plot.new(1, 2, width=7.2, height=2.2, sharex=True, sharey=True)
    highest = 0.0
    for axes, name in zip(drawn.axes, (PLAIN, FIXED), strict=True):
        trace = results.trace("window", mechanism=name, rate=4, sender=MODERN, queue=ERED)
        times, window, rtt = cast("Trace", trace)
        chosen = [index for index, at in enumerate(times) if 30 <= at <= 60]
        at = [times[index] for index in chosen]
        axes.plot(at, [window[index] for index in chosen], color=plot.COLOURS[0], linewidth=1.0, label="window")
        reserved = [4e6 / 8000 * rtt[index] for index in chosen]
        axes.plot(at, reserved, color="#666666", linewidth=0.9, linestyle="--", label="4 Mbit/s · round trip")
        with plot.style():
            plot.finish(axes, title=name, y="segments", x="time (s)" if name == FIXED else "")
        highest = max([highest, *(window[index] for index in chosen)])
    drawn.axes[0].set_ylim(0, 1.25 * highest)
    drawn.axes[0].legend(loc="upper right", fontsize=8)
    return drawn
