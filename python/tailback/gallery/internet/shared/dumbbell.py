"""Parts that the dumbbell experiments share: RED's settings, and observables and drawings of the bottleneck `a->b`.

Packets have 1000 B unless a scenario states another size, so that a queue of 1 packet is 1 kB.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from statistics import fmean
from typing import TYPE_CHECKING

from tailback.plotting.experiment import Figure
from tailback.results.observables import Observable
from tailback.results.report import Report
from tailback.results.rows import PortSeries
from tailback.scenario import Value
from tailback.study.experiment.points import AxisValue, Settings

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

__all__ = [
    "BOTTLENECK",
    "PORT",
    "Trace",
    "bottleneck",
    "changes",
    "draw_queue",
    "draw_queues",
    "from_level",
    "mean_average",
    "measured",
    "offered_rate",
    "red",
    "sampled",
    "share_of_time",
    "trace",
]

BOTTLENECK = "a->b"
PORT = "switches.a.ports.b"
"""Path of the bottleneck's port in the scenario; `BOTTLENECK` is its name in reports."""
Trace = tuple[list[float], dict[str, list[float]]]
"""Times in seconds, and the values at these times by the name of the series."""


def red(
    buffer_kb: float,
    max_p: AxisValue,
    *,
    ecn: bool,
    low_kb: float = 0.0,
    high_kb: float = 0.0,
    packet_bytes: int = 1000,
    adaptive: Mapping[str, Value] | None = None,
) -> Settings:
    """Return the settings of the thesis' RED at the bottleneck: not gentle, and its average counts packets.

    The thresholds `low_kb` and `high_kb` are 20 and 80 % of the buffer if they are 0. `adaptive` is the scenario's
    table of that name; `None`: max_p is constant.
    """
    discipline: dict[str, Value] = {
        "kind": "red",
        "min": f"{low_kb or 0.2 * buffer_kb:g}kB",
        "max": f"{high_kb or 0.8 * buffer_kb:g}kB",
        "max-p": max_p,
        "weight": 0.002,
        "mean-packet": f"{packet_bytes}B",
        "count": "packets",
        "byte-mode": False,
        "gentle": False,
        "ecn": ecn,
        **({} if adaptive is None else {"adaptive": dict(adaptive)}),
    }
    return bottleneck(buffer_kb, discipline)


def bottleneck(buffer_kb: float, discipline: Value) -> Settings:
    """Return the settings of the bottleneck's buffer and discipline."""
    return {f"{PORT}.buffer": f"{buffer_kb:g}kB", f"{PORT}.discipline": discipline}


def sampled(report: Report) -> tuple[list[float], PortSeries]:
    """Return the sampling times in s and the bottleneck's series, warm-up included.

    Raises AssertionError if the scenario does not set `run.sample`.
    """
    series = report.data["series"]
    assert series is not None, "the point sets no run.sample"
    return series["time_s"], series["ports"][BOTTLENECK]


def trace(report: Report, start: float = 0.0, stop: float = float("inf")) -> Trace:
    """Return the series of the bottleneck between two times in s, inclusive.

    `queue` and `average` (RED's average queue) are in kB; `sent`, in kB, and `dropped` and `marked`, in packets, count
    from the start of the run; `max_p` is RED's. A discipline without an average or a max_p has no such series.
    """
    times, port = sampled(report)
    chosen = [index for index, at in enumerate(times) if start <= at <= stop]

    def pick(values: Sequence[float], scale: float = 1.0) -> list[float]:
        return [scale * values[index] for index in chosen]

    found = {
        "queue": pick(port["queue_bytes"], 1e-3),
        "sent": pick(port["sent_bytes"], 1e-3),
        "dropped": pick(port["dropped_packets"]),
        "marked": pick(port["marked_packets"]),
    }
    for name, state in (("average", "average_packets"), ("max_p", "max_probability")):
        if state in port["state"]:
            found[name] = pick(port["state"][state])
    return pick(times), found


def measured(report: Report) -> Iterator[int]:
    """Return the indices of the samples after the warm-up."""
    warmup = report.data["warmup_s"]
    times, _ = sampled(report)
    return (index for index, at in enumerate(times) if at >= warmup)


def mean_average() -> Observable:
    """Return the observable of the mean of RED's average queue after the warm-up, kB; NaN without such an average."""

    def value(report: Report) -> float:
        _, port = sampled(report)
        average = port["state"].get("average_packets")
        return fmean(average[index] for index in measured(report)) if average else float("nan")

    return Observable("average", "mean of RED's average queue", "kB", value)


def share_of_time(name: str, label: str, low_kb: float, high_kb: float, *, of_average: bool = False) -> Observable:
    """Return the observable of the share of samples, in %, in which the queue is between two levels in kB, inclusive.

    Samples of the warm-up do not count. With `of_average` RED's average queue is used instead of the queue; NaN if the
    discipline has no average.
    """

    def value(report: Report) -> float:
        _, port = sampled(report)
        if of_average:
            levels = port["state"].get("average_packets")
            if not levels:
                return float("nan")
        else:
            levels = [1e-3 * bytes_ for bytes_ in port["queue_bytes"]]
        inside = [low_kb <= levels[index] <= high_kb for index in measured(report)]
        return 100 * sum(inside) / len(inside)

    return Observable(name, label, "%", value)


def changes(values: Sequence[float]) -> Iterator[tuple[float, float]]:
    """Yield the sampled values before and after each change."""
    return ((before, after) for before, after in pairwise(values) if before != after)


def offered_rate(found: Trace, every: int) -> tuple[list[float], list[float]]:
    """Return times in s and the arrival rate at the bottleneck in Mbit/s, averaged over `every` sampling intervals.

    The arrival rate is the rate sent, plus the rate dropped (packets of 1 kB), plus the growth of the queue. The times
    are the middles of the averaging intervals.
    """
    times, series = found
    kept = range(0, len(times), every)
    arrived = [series["sent"][i] + series["dropped"][i] + series["queue"][i] for i in kept]
    rates = [
        8e-3 * (b - a) / (times[j] - times[i]) for (a, b), (i, j) in zip(pairwise(arrived), pairwise(kept), strict=True)
    ]
    return [(times[i] + times[j]) / 2 for i, j in pairwise(kept)], rates


def draw_queue(axes: Axes, found: Trace, levels: Mapping[str, float], *, ink: str, title: str = "") -> None:
    """Draw the queue in kB and RED's average of it over time; each level is a dashed line, named right of the panel."""
    from tailback.plotting import plot

    times, series = found
    with plot.style():
        axes.plot(times, series["queue"], linewidth=0.6, color=ink, alpha=0.55, label="queue")
        if "average" in series:
            axes.plot(times, series["average"], linewidth=1.6, color="#000000", label="average")
        for text, level in levels.items():
            axes.axhline(level, color="#666666", linestyle="--", linewidth=0.9)
            axes.annotate(
                text, (1.01, level), xycoords=("axes fraction", "data"), fontsize=8, va="center", annotation_clip=False
            )
        axes.set_xlim(times[0], times[-1])
        axes.set_title(title)


def draw_queues(
    lines: Mapping[str, Trace], levels: Mapping[str, float] | Sequence[Mapping[str, float]], *, top: float = 105
) -> Drawing:
    """Draw one panel per queue, one below the other, with y axes up to `top` kB.

    `lines` has the series by the panels' titles. `levels`, in kB by name, are common to all panels or a sequence with
    a mapping for each.
    """
    from tailback.plotting import plot

    figure = plot.new(1, len(lines), width=8.0, height=2.3, sharex=True, sharey=True)
    for index, (axes, (title, found)) in enumerate(zip(figure.axes, lines.items(), strict=True)):
        own = levels if isinstance(levels, Mapping) else levels[index]
        draw_queue(axes, found, own, ink=plot.COLOURS[index], title=title)
        axes.set_ylim(0, top)
        axes.set_ylabel("queue (kB)")
    figure.axes[-1].set_xlabel("time (s)")
    return figure


def from_level(figure: Figure, level: float, top: float = 100.0) -> Drawing:
    """Draw a figure of shares with a y axis from `level` to `top`, in %, so that curves near `top` are distinct."""
    drawn = figure.draw()
    for axes in drawn.axes:
        axes.set_ylim(level, top + 0.03 * (top - level))
        for artist in (*axes.lines, *axes.collections):
            artist.set_clip_on(True)
    return drawn
