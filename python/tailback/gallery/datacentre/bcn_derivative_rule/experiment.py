"""datacentre-derivative: messages only while the queue moves away from its equilibrium, or whenever it is not there."""

from __future__ import annotations

from collections.abc import Iterable
from statistics import pstdev
from typing import TYPE_CHECKING, ClassVar, cast

from tailback.results import observables as m
from tailback.results.report import Report
from tailback.results.rows import CongestionPointRow
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

BOTTLENECK = "core->d"
# Size of a full frame.
FRAME_KB = 1.518
START_S = 0.002
"""End of the first overshoot, which precedes the effect of the first messages, s."""


# Times, s, and the bottleneck's queue, frames.
def _queue(report: Report) -> tuple[list[float], list[float]]:
    series = report.data["series"]
    assert series is not None, "the scenario sets run.sample"
    return series["time_s"], [1e-3 / FRAME_KB * x for x in series["ports"][BOTTLENECK]["queue_bytes"]]


# Samples of the queue after the warm-up, frames.
def _measured(report: Report) -> list[float]:
    times, queue = _queue(report)
    return [length for at, length in zip(times, queue, strict=True) if at >= report.data["warmup_s"]]


# Longest queue up to `START_S`, frames.
def _first_peak(report: Report) -> float:
    times, queue = _queue(report)
    return max(length for at, length in zip(times, queue, strict=True) if at <= START_S)


def _second_peak(report: Report) -> float:
    """Return the longest queue between the first overshoot and the end of the warm-up, frames."""
    times, queue = _queue(report)
    return max(length for at, length in zip(times, queue, strict=True) if START_S < at < report.data["warmup_s"])


def _point(report: Report) -> CongestionPointRow:
    return next(row for row in report.congestion()["points"] if row["port"] == BOTTLENECK)


# Number of messages per second.
def _signals(report: Report) -> float:
    row = _point(report)
    return (row["stop"] + row["slower"] + row["faster"]) / report.measured_s


class Derivative(Experiment):
    """Saturating sources with and without the derivative rule."""

    id = "datacentre-derivative"
    title = "BCN with and without the derivative rule"
    reference = "Bergamasco, IEEE 802 Plenary, July 2005, slide 3"
    axes = (Axis("rule", "rule"), Axis("gain", "gain"))
    quick = Profile(duration="150ms", warmup="50ms", replications=6, max_replications=16, cpu_s=7)
    full = Profile(duration="1050ms", warmup="50ms", replications=10, max_replications=40, cpu_s=60)
    metrics = (
        Observable("signals", "messages", "1/s", _signals),
        Observable("deviation", "standard deviation of the queue", "frames", lambda report: pstdev(_measured(report))),
        Observable("first_peak", "longest queue in the first 2 ms", "frames", _first_peak),
        Observable("second_peak", "longest queue from 2 ms to the warm-up's end", "frames", _second_peak),
        Observable("late_peak", "longest queue after the warm-up", "frames", lambda report: max(_measured(report))),
        m.utilisation(BOTTLENECK),
        m.mean_queue(BOTTLENECK, label="mean queue"),
    )
    traces: ClassVar = {"queue": _queue}

    def points(self, profile: ProfileName) -> Iterable[Point]:
        """Return the points: with and without the rule, each with two pairs of gains."""
        del profile
        return grid(rule=("derivative", "always"), gain=("1/16, 50 Mbit/s", "1/8, 250 Mbit/s"))

    def settings(self, point: Point, profile: ProfileName) -> Settings:
        """Return the settings of the rule at the core and of the gains at the edges."""
        del profile
        strong = str(point["gain"]).startswith("1/8")
        return {
            "run.sample": "20us",
            "switches.core.congestion-notification.derivative": point["rule"] == "derivative",
            "switches.e.rate-limiters.law.decrease": 0.125 if strong else 0.0625,
            "switches.e.rate-limiters.law.increase": "250Mbit/s" if strong else "50Mbit/s",
        }

    def claims(self, results: Results) -> Iterable[Claim]:
        """Return the claims: half of the messages, a smaller deviation of the queue, overshoots that decay."""
        rule, always = results.where(rule="derivative"), results.where(rule="always")
        return [
            Claim(
                "D1",
                "With the derivative rule the congestion point sends at most half as many messages as without.",
                "slide 3: reduces signaling rate by 50 %, stated",
                rule["signals"] <= 0.5 * always["signals"],
                headline="the derivative halves the signals",
            ),
            Claim(
                "D2",
                "The standard deviation of the queue is smaller with the derivative rule than without.",
                "slide 3: to improve stability",
                rule["deviation"] < always["deviation"],
            ),
            Claim(
                "D3",
                "With the derivative rule overshoots decay: the longest queue after 50 ms is shorter than in the "
                "first 2 ms.",
                "slide 3",
                rule["late_peak"] < rule["first_peak"],
            ),
            Claim(
                "D4",
                "The longest queue after 50 ms is shorter with the derivative rule than without.",
                "slide 3",
                rule["late_peak"] < always["late_peak"],
            ),
            Claim.comparison(
                "D6",
                "Longest queue from 2 ms to 50 ms.",
                "slide 3 (a sketch without times)",
                results["second_peak"],
                "the limiters recover from the first overshoot in this time, which counts neither for D3 nor for D4",
            ),
            Claim(
                "D5",
                "With the derivative rule the congested link is busy for more than 99 % of the time.",
                "derived: the equilibrium of 16 frames keeps the queue from running empty",
                rule["utilisation"] > 99,
            ),
        ]

    def figures(self, results: Results) -> Iterable[Figure]:
        """Yield the queue over the run, for each rule and pair of gains."""
        yield Figure(
            "queue",
            "The queue with and without the derivative rule",
            "First replication of each. Dashed: the equilibrium of 16 frames.",
            lambda: _draw(results),
            claims=("D1", "D2", "D3", "D4", "D6"),
        )


def _draw(results: Results) -> Drawing:
    from tailback.plotting import plot

    gains = [str(value) for value in results["deviation"].values_of("gain")]
    figure = plot.new(len(gains), 2, width=5.0, height=2.4, sharey=True)
    for row, rule in enumerate(("derivative", "always")):
        for column, gain in enumerate(gains):
            times, queue = cast(tuple[list[float], list[float]], results.trace("queue", rule=rule, gain=gain))
            axes = figure.axes[row * len(gains) + column]
            with plot.style():
                axes.plot([1e3 * t for t in times], queue, linewidth=0.7, color=plot.COLOURS[row])
                axes.axhline(16, color="#666666", linestyle="--", linewidth=0.9)
                axes.set_ylim(0, 105)
                axes.set_title(f"{rule}, gains of {gain}")
                if column == 0:
                    axes.set_ylabel("queue (frames)")
                if row == 1:
                    axes.set_xlabel("time (ms)")
    return figure
