"""datacentre-solicit: recovery time of a stopped limiter at an idle link, with and without the Solicit bit."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from math import nan
from typing import TYPE_CHECKING, ClassVar, cast

from tailback.results.report import Report
from tailback.study.experiment import (
    Axis,
    Claim,
    Experiment,
    Figure,
    Observable,
    Point,
    Profile,
    ProfileName,
    Results,
    Settings,
    grid,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

# Port with the first host's limiter.
EDGE = "e1->core"
FREE_S = 0.005
"""End of the traffic of the other hosts, s."""
BACK = 5e9
"""Half of the link's rate, bit/s."""
FLOOR = 10e6
"""Rmin, bit/s: rate of a limiter after a stop."""
STEP = 200e6
"""Increase by BCN+4, which the congestion point sends if its queue is empty: four levels of 50 Mbit/s, bit/s."""
FRAME_BITS = 1538 * 8
# Share P of the frames that the congestion point samples.
SAMPLING = 0.01
CHOSEN, SMALL = 1000, 100
"""Rsolicit, Mbit/s: five steps above Rmin, and less than one step."""
STEPS = 5
"""Number of steps from Rmin until the rate is no longer below the chosen Rsolicit: 210, 410, 610, 810, 1010 Mbit/s."""
CLIMB_MS = 1e3 * sum(FRAME_BITS / (FLOOR + k * STEP) for k in range(1, STEPS))
"""Time from the first to the last step if each frame is answered, ms: frame times at 210, 410, 610 and 810 Mbit/s."""


def _rate(report: Report) -> tuple[list[float], list[float]]:
    """Return times since the link became idle, ms, and the limiter's rate, bit/s: the link's without a limiter."""
    series = report.data["series"]
    assert series is not None, "settings set run.sample"
    state = series["ports"][EDGE]["state"]
    rates = next((values for key, values in state.items() if key.startswith("rate_bps ")), None)
    times = [1e3 * (at - FREE_S) for at in series["time_s"]]
    return times, rates or [1e10] * len(times)


def _stopped(report: Report) -> bool:
    """Return `True` if the limiter was stopped and resumed at Rmin, and not only slowed down."""
    return min(_rate(report)[1]) <= FLOOR


def _recovery(report: Report) -> float:
    """Return the time since the link became idle until a stopped limiter has half of the link's rate, ms.

    NaN if the limiter was not stopped; the end of the run if it does not reach that rate.
    """
    if not _stopped(report):
        return nan
    times, rates = _rate(report)
    found = [at for at, rate in zip(times, rates, strict=True) if at >= 0 and rate >= BACK]
    return found[0] if found else times[-1]


def _steps(report: Report) -> list[tuple[float, float]]:
    """Return each change of a stopped limiter's rate after its last time at Rmin: time, ms, and new rate, bit/s."""
    if not _stopped(report):
        return []
    times, rates = _rate(report)
    last = max(at for at, rate in enumerate(rates) if rate <= FLOOR)
    changes = pairwise(zip(times[last:], rates[last:], strict=True))
    return [(at, new) for (_, old), (at, new) in changes if new != old]


def _solicited(report: Report) -> float:
    """Return the number of steps up to the one that exceeds the chosen Rsolicit, inclusive; NaN if there is none."""
    steps = _steps(report)
    below = [rate for _, rate in steps if rate < 1e6 * CHOSEN]
    return float(len(below) + 1) if len(below) < len(steps) else nan


def _climb(report: Report) -> float:
    """Return the time from the first step to the one that exceeds the chosen Rsolicit, ms; NaN if there is none."""
    steps = _steps(report)
    above = [at for at, rate in steps if rate >= 1e6 * CHOSEN]
    return above[0] - steps[0][0] if above else nan


class Solicit(Experiment):
    """One limiter that is stopped because of a burst of other hosts."""

    id = "datacentre-solicit"
    title = "Recovery with and without the Solicit bit"
    reference = "Bergamasco, IEEE 802 Plenary, July 2005, slide 4"
    axes = (Axis("bit", "Solicit bit"), Axis("threshold", "Rsolicit", "Mbit/s"))
    quick = Profile(duration="400ms", warmup="5ms", replications=12, max_replications=40, cpu_s=10)
    full = Profile(duration="1s", warmup="5ms", replications=40, max_replications=200, cpu_s=60)
    metrics = (
        Observable("recovery", "time until half of the link's rate", "ms", _recovery),
        Observable("stopped", "runs in which the limiter was stopped", "%", lambda report: 100.0 * _stopped(report)),
        Observable("steps", "steps until 1 Gbit/s", "", _solicited),
        Observable("climb", "time from the first step to 1 Gbit/s", "ms", _climb),
    )
    traces: ClassVar = {"rate": _rate}

    def points(self, profile: ProfileName) -> Iterable[Point]:
        """Return the points: with and without the bit; with it also for an Rsolicit that one step exceeds."""
        del profile
        return grid(bit=("on", "off"), threshold=(CHOSEN,)) + grid(bit=("on",), threshold=(SMALL,))

    def settings(self, point: Point, profile: ProfileName) -> Settings:
        """Return the settings of the core's answers to the bit, the limiters' Rsolicit, and duration and sampling.

        Solicited steps are microseconds apart and need short intervals of sampling.
        """
        on = point["bit"] == "on"
        short: Settings = {"run.duration": "40ms"} if on and point["threshold"] == CHOSEN else {}
        if not on or point["threshold"] != CHOSEN:
            short["run.duration"] = "400ms" if profile == "quick" else "1s"
        return {
            "run.sample": "5us" if on and point["threshold"] == CHOSEN else "100us",
            "switches.core.congestion-notification.solicit": on,
            "switches.e.rate-limiters.law.solicit": f"{point['threshold']}Mbit/s",
            **short,
        }

    def claims(self, results: Results) -> Iterable[Claim]:
        """Return the claims: faster recovery, with the steps of the slide's sketch."""
        chosen = results.where(threshold=CHOSEN)
        on, off = chosen.where(bit="on"), chosen.where(bit="off")
        return [
            Claim(
                "L1",
                "With the Solicit bit a stopped limiter has half of the link's rate in at most half the time that it "
                "needs without.",
                "slide 4: to accelerate recovery (no number); the factor is derived from 1/P = 100 frames per message",
                on["recovery"] <= 0.5 * off["recovery"],
                headline="the Solicit bit accelerates recovery",
            ),
            Claim(
                "L2",
                "With the Solicit bit and Rsolicit of 1 Gbit/s a stopped limiter needs five steps from 10 to 1010 "
                "Mbit/s.",
                "slide 4 (sketch: BCN+2, +2, +4 while the bit is on); derived: an empty queue sends +4, 200 Mbit/s",
                on["steps"].within(STEPS, STEPS),
                headline="several steps up while the bit is on",
            ),
            Claim(
                "L3",
                "With the Solicit bit the time between the first and the fifth step is that of one frame per step at "
                f"the rate reached, {CLIMB_MS:.3f} ms, plus at most a control loop of 4 us per step.",
                "derived: every frame with the bit is answered",
                on["climb"].within(CLIMB_MS - 0.005, CLIMB_MS + (STEPS - 1) * 0.004 + 0.005),
            ),
            Claim(
                "L4",
                "Without the Solicit bit the time between the first and the fifth step is 1/P = 100 times as long as "
                f"with it, {CLIMB_MS / SAMPLING:.1f} ms, within a factor of two.",
                "derived: one frame in 1/P = 100 is sampled",
                off["climb"].within(0.5 * CLIMB_MS / SAMPLING, 2 * CLIMB_MS / SAMPLING),
            ),
            Claim.comparison(
                "L5",
                "Time until a stopped limiter has half of the link's rate.",
                "slide 4 (no figures)",
                results["recovery"],
                "the slides give no times; the first step exceeds an Rsolicit of 100 Mbit/s",
            ),
            Claim.comparison(
                "L6",
                "Share of the runs in which the limiter was stopped, not only slowed down.",
                "not on the slides",
                results["stopped"],
                "only these runs count in the other metrics: in the rest there is no recovery from Rmin",
            ),
        ]

    def figures(self, results: Results) -> Iterable[Figure]:
        """Yield the limiter's rate after the link becomes idle."""
        yield Figure(
            "rate",
            "The limiter's rate after the link becomes idle",
            "First replication of each. Upper panel: with the bit and Rsolicit of 1 Gbit/s (dashed), as in the "
            "slide's sketch: steps in quick succession below Rsolicit, steps by sampling above it. Lower panel: all "
            "three cases over a longer time.",
            lambda: _draw(results),
            claims=("L1", "L2", "L3", "L4", "L5"),
        )


def _draw(results: Results) -> Drawing:
    from tailback.plotting import plot

    curves = (("on", CHOSEN, "on, Rsolicit 1 Gbit/s"), ("on", SMALL, "on, 100 Mbit/s"), ("off", CHOSEN, "off"))
    figure = plot.new(1, 2, width=5.6, height=3.6)
    near, far = figure.axes
    with plot.style():
        end = 0.0
        for index, (bit, threshold, label) in enumerate(curves):
            times, rates = cast(tuple[list[float], list[float]], results.trace("rate", bit=bit, threshold=threshold))
            # The time after the last change is not drawn.
            end = max([end, *(at for at, a, b in zip(times, rates, rates[1:], strict=False) if a != b)])
            shown = [1e-6 * rate for rate in rates]
            colour = plot.COLOURS[index]
            if index == 0:
                near.plot(times, shown, color=colour, drawstyle="steps-post")
            # A run that is shorter than the panel keeps its last rate.
            far.plot([*times, 1e4], [*shown, shown[-1]], color=colour, label=label, drawstyle="steps-post")
        for axes in (near, far):
            axes.axhline(CHOSEN, color="#666666", linestyle="--", linewidth=0.9)
            axes.set_yscale("log")
            axes.set_xlabel("time since the link became idle (ms)")
            axes.set_ylabel("limiter's rate (Mbit/s)")
        near.set_xlim(-0.5, 4)
        near.set_ylim(8, 5000)
        far.set_xlim(-5, 1.25 * end)
        far.legend(loc="lower right", title="Solicit bit")
    return figure
