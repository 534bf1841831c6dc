"""E18, TCP with a reservation: the conflict of a token bucket with an ordinary window, and its remedies."""

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
MECHANISMS: dict[str, dict[str, Value]] = {
    PLAIN: {"burst": SHALLOW},
    DEEP: {"burst": "100kB"},
    DELAYED: {"burst": SHALLOW, "transmission": {"kind": "delayed", "most": "100ms"}},
    COARSE: {"burst": SHALLOW, "transmission": {"kind": "timed", "tick": "200ms"}},
    FINE: {"burst": SHALLOW, "transmission": {"kind": "timed", "tick": "10ms"}},
    ADAPTIVE: {"burst": SHALLOW, "window": "excess"},
    FIXED: {"burst": SHALLOW, "window": "excess", "transmission": {"kind": "timed", "tick": "10ms"}},
}
Trace = tuple[list[float], list[float], list[float]]
RATES = (1, 2, 4, 6)
LARGE = (4, 6)
"""Reservations that an ordinary sender does not reach."""


def _window(report: Report) -> Trace:
    """Times, and the window and the threshold of the connection with the reservation, segments."""
    series = report.data["series"]
    assert series is not None, "the point samples"
    shown = series["transports"]["reserved"]
    return series["time_s"], shown["window_segments"], shown["smoothed_rtt_s"]


class Reservation(Experiment):
    """One connection with a reservation among six without, by its mechanism of sending."""

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
        services.green_rate("reserved", "marked", "marked and delivered"),
        services.unmarked_rate("reserved", "unmarked", "unmarked and delivered"),
        services.unmarked_rate("best", "best", "delivered of one without"),
        services.green_losses(),
        m.utilisation(BOTTLENECK, label="utilisation"),
    )
    traces = {"window": _window}  # noqa: RUF012

    def points(self, profile: ProfileName) -> Iterable[Point]:
        """Every mechanism and reservation; some with SACK, and under RIO."""
        some = (PLAIN, FINE, ADAPTIVE, FIXED) if profile == "full" else (PLAIN, FIXED)
        rates = RATES if profile == "full" else (2, 4, 6)
        others = rates if profile == "full" else (4,)
        return (
            grid(mechanism=list(MECHANISMS), rate=rates, sender=[MODERN], queue=[ERED])
            + grid(mechanism=some, rate=others, sender=[RENO, COARSE_CLOCK], queue=[ERED])
            + grid(mechanism=some, rate=others, sender=[MODERN], queue=[RIO])
        )

    def settings(self, point: Point, profile: ProfileName) -> Settings:
        """The reservation, and the sender's use of it."""
        del profile
        chosen = MECHANISMS[str(point["mechanism"])]
        return {
            "flows[reserved].transport.reservation": {"rate": f"{point['rate']}Mbit/s", **chosen},
            f"{PORT}.discipline": services.QUEUES[str(point["queue"])],
            "run.sample": "100ms",
            **services.sender(point["sender"], "best", "reserved"),
        }

    def claims(self, results: Results) -> Iterable[Claim]:
        """An ordinary sender wastes its reservation; window and timer together do not."""
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
                "With the adaptive window and the fine timer it gets at least 95 % of every reservation.",
                f"{source}; the 95 % are ours",
                fixed,
            ),
            Claim(
                "T3",
                "With these it gets more than an ordinary sender, at every reservation.",
                source,
                by[PLAIN]["reserved"] < by[FIXED]["reserved"],
            ),
            Claim(
                "T4",
                "What it then gets unmarked is what a connection without a reservation gets, within 25 %.",
                f"{source}; the bound is ours",
                by[FIXED]["unmarked"].close_to(by[FIXED]["best"], relative=0.25),
            ),
            Claim(
                "T5",
                "A deeper bucket helps, and not as much.",
                source,
                (by[PLAIN].where(**large)["reserved"] < by[DEEP].where(**large)["reserved"])
                & (by[DEEP].where(**large)["reserved"] < by[FIXED].where(**large)["reserved"]),
            ),
            Claim(
                "T6",
                "A fine timer saves tokens that a coarse one lets overflow: more is marked, at 4 and 6 Mbit/s.",
                source,
                by[COARSE].where(**large)["marked"] < by[FINE].where(**large)["marked"],
            ),
            Claim("T7", "The fine timer alone gives 95 % of every reservation.", f"{source}; the 95 % are ours", timer),
            Claim(
                "T8",
                "The adaptive window alone gives more than an ordinary sender has.",
                source,
                by[PLAIN]["reserved"] < by[ADAPTIVE]["reserved"],
            ),
            Claim("T9", "No marked packet is lost under enhanced RED.", "Derived", main["marked_losses"].is_zero()),
            Claim(
                "T10",
                "T2 and T3 hold with Reno instead of SACK, and under RIO, at 4 Mbit/s.",
                "Ours: sensitivity",
                elsewhere,
            ),
            Claim.comparison(
                "T11",
                "Goodput with 4 Mbit/s reserved, adaptive window and fine timer, on a clock of 100 ms ticks.",
                "Ours: sensitivity",
                results.where(sender=COARSE_CLOCK, queue=ERED, rate=4, mechanism=FIXED)["reserved"],
                "a round trip that is rounded up to ticks makes the least window too large: see the page",
            ),
        ]

    def figures(self, results: Results) -> Iterable[Figure]:
        """Goodput and marked share against the reservation, and the window over time."""
        main = results.where(sender=MODERN, queue=ERED)
        by = {name: main.where(mechanism=name) for name in MECHANISMS}
        return [
            fig.compare(
                {name: chosen["reserved"] for name, chosen in by.items()},
                "goodput",
                "Goodput with a reservation",
                "Six connections without a reservation share the rest of 10 Mbit/s.",
                x="rate",
                claims=("T1", "T2", "T3", "T4", "T5", "T7"),
            ),
            fig.compare(
                {name: chosen["marked"] for name, chosen in by.items()},
                "marked",
                "Marked packets delivered",
                "What lies below the reservation are tokens that overflowed.",
                x="rate",
                claims=("T6",),
            ),
            fig.compare(
                {"the connection with a reservation": by[FIXED]["unmarked"], "one without": by[FIXED]["best"]},
                "excess",
                "Share of the rest of the link",
                "With the adaptive window and the fine timer: what is delivered unmarked.",
                x="rate",
                claims=("T4",),
            ),
            Figure(
                "window",
                "Window of the connection with a reservation of 4 Mbit/s",
                "Dashed: what the reservation carries in a round trip. The adaptive window never falls below it.",
                lambda: _draw_windows(results),
                claims=("T1", "T2"),
            ),
        ]


def _draw_windows(results: Results) -> Drawing:
    """The window over 20 s, plain and fixed."""
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
