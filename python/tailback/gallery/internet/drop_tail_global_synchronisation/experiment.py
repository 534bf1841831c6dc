"""internet-e01: the saw-tooth of one TCP source, and the synchronisation of many by drop-tail."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING, cast

from tailback.gallery.internet.shared import dumbbell
from tailback.gallery.internet.shared.dumbbell import BOTTLENECK, Trace
from tailback.plotting import experiment as fig
from tailback.results import observables as m
from tailback.results.report import Report
from tailback.results.synchronisation import backoff_shares, mean_share, synchronisation_index
from tailback.study.experiment import (
    Axis,
    AxisValue,
    Claim,
    Condition,
    Experiment,
    Figure,
    Observable,
    Point,
    Profile,
    ProfileName,
    Quantity,
    Results,
    Settings,
    grid,
)
from tailback.study.experiment.claims import Check

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

DROP_TAIL, RED = "drop-tail", "RED"
EQUAL, UNEQUAL = "equal", "unequal"
PIPE_KB = 120
"""Bandwidth-delay product, kB: 96 ms at 10 Mbit/s."""
# A quarter, a half and the whole of the bandwidth-delay product; the traces and the unequal round trips have the half.
BUFFERS_KB = (30, 60, 120)
HALF_KB = 60
ROUND_TRIP_S = 0.097
"""Round trip without a queue, s: propagation and one packet's transmission."""
# Start and end of the part of a run that is traced, s.
SHOWN_S = (60.0, 100.0)


def saw_tooth(buffer_kb: AxisValue) -> float:
    """Return the utilisation in % by one source whose window goes from (D + B)/2 to D + B, as a fluid."""
    beta = min(1.0, float(buffer_kb) / PIPE_KB)
    return 100 * 0.75 * (1 + beta) ** 2 / (1 + beta + beta**2)


def _shares(report: Report) -> list[float]:
    """Return the share of the sources that back off, for each congestion epoch."""
    return backoff_shares(report, ROUND_TRIP_S + report.max_queue_bytes(BOTTLENECK) / 1.25e6)


def _index(report: Report) -> float:
    return synchronisation_index(_shares(report))


def _mean_share(report: Report) -> float:
    return mean_share(_shares(report))


def _windows(report: Report) -> Trace:
    """Return times in s and, for each time, every source's window in segments and the queue in kB."""
    series = report.data["series"]
    assert series is not None
    chosen = [i for i, at in enumerate(series["time_s"]) if SHOWN_S[0] <= at <= SHOWN_S[1]]
    lines = {
        name: [found["window_segments"][i] for i in chosen] for name, found in sorted(series["transports"].items())
    }
    lines["queue"] = [1e-3 * series["ports"][BOTTLENECK]["queue_bytes"][i] for i in chosen]
    return [series["time_s"][i] for i in chosen], lines


class Synchronisation(Experiment):
    """Drop-tail with 1, 8 and 32 sources, RED with 8 and 32, over paths of equal or unequal round trips."""

    id = "internet-e01"
    title = "Drop-tail and global synchronisation"
    reference = "Feng, thesis defence (1999), slides Example of TCP Windowing and Drop-tail Queue Management"
    axes = (
        Axis("round_trips", "round trips"),
        Axis("queue", "queue"),
        Axis("sources", "sources"),
        Axis("buffer", "buffer", "kB"),
    )
    quick = Profile(duration="140s", warmup="60s", replications=5, max_replications=15, cpu_s=30)
    full = Profile(duration="360s", warmup="60s", replications=10, max_replications=40, cpu_s=150)
    metrics = (
        Observable("index", "synchronisation index", "", _index),
        Observable("share", "mean share of sources that back off in an epoch", "%", _mean_share),
        m.utilisation(BOTTLENECK, label="utilisation"),
        m.port_loss(BOTTLENECK),
    )
    traces = {"windows": _windows}  # noqa: RUF012

    def points(self, profile: ProfileName) -> Iterable[Point]:
        """Return the points: one source; many with equal round trips; many with unequal ones."""
        del profile
        return [
            *grid(round_trips=[EQUAL], queue=[DROP_TAIL], sources=[1], buffer=BUFFERS_KB),
            *grid(round_trips=[EQUAL], queue=[DROP_TAIL, RED], sources=[8, 32], buffer=BUFFERS_KB),
            *grid(round_trips=[UNEQUAL], queue=[DROP_TAIL, RED], sources=[8, 32], buffer=[HALF_KB]),
        ]

    def settings(self, point: Point, profile: ProfileName) -> Settings:
        """Return the settings of queue, sources and paths; unequal paths have the same mean delay as equal ones."""
        del profile
        size = float(point["buffer"])
        drop_tail = dumbbell.bottleneck(size, {"kind": "drop-tail"})
        return {
            **(drop_tail if point["queue"] == DROP_TAIL else dumbbell.red(size, 0.1, ecn=False)),
            "flows[tcp].count": point["sources"],
            **({"links[1].delay": ["9ms", "29ms"]} if point["round_trips"] == UNEQUAL else {}),
        }

    def claims(self, results: Results) -> Iterable[Claim]:
        """Return the claims on the saw-tooth, on synchronisation, and on its cost."""
        equal, unequal = results.where(round_trips=EQUAL), results.where(round_trips=UNEQUAL)
        many = equal.where(sources=[8, 32])
        drop_tail, red = many.where(queue=DROP_TAIL), many.where(queue=RED)
        slide = "slide Drop-tail Queue Management"
        return [
            Claim(
                "C1",
                "With equal round trips drop-tail synchronises 8 and 32 sources more than RED does: in a larger share "
                "of congestion epochs more than half of the sources back off.",
                f'{slide}: "Global synchrony (poor utilization)"; the index reconstructed',
                drop_tail["index"] > red["index"],
                headline="Drop-tail causes global synchrony",
            ),
            Claim(
                "C2",
                "With 8 and 32 sources of equal round trips, a drop-tail buffer of a quarter of the bandwidth-delay "
                "product leaves more than 3 % of the link unused.",
                f"{slide}; the bound reconstructed",
                drop_tail.where(buffer=30)["utilisation"] < 97,
            ),
            Claim(
                "C3",
                "With 8 and 32 sources of equal round trips and a buffer of a quarter of the bandwidth-delay product, "
                "RED uses the link better than drop-tail.",
                f'{slide}: "Solution: Randomize"; derived',
                red.where(buffer=30)["utilisation"] > drop_tail.where(buffer=30)["utilisation"],
            ),
            Claim(
                "C4",
                "The utilisation by one source behind drop-tail is that of a window that rises as a saw-tooth from (D "
                "+ B)/2 to D + B, within 2 percentage points, with each buffer (D: bandwidth-delay product, B: "
                "buffer).",
                "derived: a fluid model of the saw-tooth",
                _near_saw_tooth(equal.where(queue=DROP_TAIL, sources=1)["utilisation"]),
            ),
            Claim(
                "C5",
                "The utilisation by eight sources behind drop-tail, which are in step, is that of one source's "
                "saw-tooth, within 2 percentage points, with each buffer.",
                "derived: sources in step act like one source",
                _near_saw_tooth(equal.where(queue=DROP_TAIL, sources=8)["utilisation"]),
            ),
            Claim.comparison(
                "C6",
                "Synchronisation index with unequal round trips: drop-tail and RED, 8 and 32 sources, a buffer of 60 "
                "kB.",
                "not on the slides",
                unequal["index"],
                "sensitivity: with equal round trips the slide's problem is at its worst",
            ),
        ]

    def figures(self, results: Results) -> Iterable[Figure]:
        """Yield the window of one source; windows of many; the synchronisation index; utilisation."""
        equal = results.where(round_trips=EQUAL)

        def kept(queue: str, sources: int, round_trips: str = EQUAL) -> Trace:
            return cast(
                Trace,
                results.trace("windows", round_trips=round_trips, queue=queue, sources=sources, buffer=HALF_KB),
            )

        yield Figure(
            "saw-tooth",
            "Window and queue of one source behind a drop-tail buffer of 60 kB",
            "First replication. Dashed, from above: path and buffer together (D + B), the path alone (D), and half of "
            "path and buffer.",
            lambda: _one(kept(DROP_TAIL, 1)),
            claims=("C4",),
        )
        for sources in (8, 32):
            yield Figure(
                f"windows-{sources}",
                f"Windows and queue of {sources} sources with equal round trips, buffer of 60 kB",
                "First replication. Above: one line per source; lines that coincide are sources in step. Below: the "
                "queue.",
                partial(_many, {name: kept(name, sources) for name in (DROP_TAIL, RED)}),
                claims=("C1",),
            )
        yield fig.compare(
            {name: equal.where(queue=name, sources=[8, 32])["index"] for name in (DROP_TAIL, RED)},
            "index",
            "Share of congestion epochs in which more than half of the sources back off",
            x="buffer",
            panel="sources",
            claims=("C1",),
        )
        yield Figure(
            "utilisation",
            "Utilisation against buffer, equal round trips",
            "Dashed: the formula for one saw-tooth. The bandwidth-delay product is 120 kB. The axis begins at 85 %.",
            lambda: _utilisation(equal),
            claims=("C2", "C3", "C4", "C5"),
        )


def _near_saw_tooth(used: Quantity) -> Condition:
    """Return the condition that the utilisation is within 2 percentage points of the formula at every buffer."""
    checks: list[Check] = []
    for buffer in used.values_of("buffer"):
        expected = saw_tooth(buffer)
        # A list of one value keeps the axis free, so that a check names its point.
        checks += used.where(buffer=[buffer]).within(expected - 2, expected + 2).checks
    return Condition(f"{used.label} within 2 percentage points of the formula", tuple(checks))


def _one(found: Trace) -> Drawing:
    from tailback.plotting import plot

    times, lines = found
    figure = plot.new(1, 2, width=8.0, height=2.4, sharex=True)
    upper, lower = figure.axes
    (window,) = (values for name, values in lines.items() if name != "queue")
    with plot.style():
        upper.plot(times, window, color=plot.COLOURS[0])
        top = PIPE_KB + HALF_KB
        for text, level in (("D + B", top), ("D", PIPE_KB), ("(D + B)/2", top / 2)):
            upper.axhline(level, color="#666666", linestyle="--", linewidth=0.9)
            upper.annotate(
                text, (1.01, level), xycoords=("axes fraction", "data"), fontsize=8, va="center", annotation_clip=False
            )
        plot.finish(upper, y="window (segments)")
        lower.plot(times, lines["queue"], color=plot.COLOURS[1])
        plot.finish(lower, x="time (s)", y="queue (kB)")
        lower.set_xlim(times[0], times[-1])
    return figure


def _many(by_queue: dict[str, Trace]) -> Drawing:
    from tailback.plotting import plot

    figure = plot.new(2, 2, width=5.6, height=2.4, sharex=True, sharey="row")
    for column, (name, (times, lines)) in enumerate(by_queue.items()):
        upper, lower = figure.axes[column], figure.axes[2 + column]
        windows = [values for flow, values in lines.items() if flow != "queue"]
        with plot.style():
            for values, colour in zip(windows, plot.ramp(len(windows)), strict=True):
                upper.plot(times, values, color=colour, linewidth=0.8)
            plot.finish(upper, title=name, y="window (segments)" if column == 0 else "")
            lower.plot(times, lines["queue"], color=plot.COLOURS[column], linewidth=0.9)
            plot.finish(lower, x="time (s)", y="queue (kB)" if column == 0 else "")
            lower.set_xlim(times[0], times[-1])
    return figure


def _utilisation(equal: Results) -> Drawing:
    from tailback.plotting import plot

    figure = plot.new(width=7.0)
    (axes,) = figure.axes
    cases = ((DROP_TAIL, 1), (DROP_TAIL, 8), (DROP_TAIL, 32), (RED, 8), (RED, 32))
    with plot.style():
        fine = list(range(25, 126))
        axes.plot(fine, [saw_tooth(size) for size in fine], "--", color="#666666", label="one saw-tooth")
        for index, (queue, sources) in enumerate(cases):
            along, intervals = equal.where(queue=queue, sources=sources)["utilisation"].curve("buffer")
            label = f"{queue}, {sources} source" + ("s" if sources > 1 else "")
            plot.curve(axes, along, intervals, label=label, index=index)
        plot.finish(axes, x="buffer (kB)", y="utilisation (%)", ticks=[float(b) for b in BUFFERS_KB], from_zero=False)
        axes.set_ylim(85, 100.5)
        axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return figure
