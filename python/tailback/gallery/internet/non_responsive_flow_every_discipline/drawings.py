"""Figures of internet-rivals: isolation and cost, with one row for each discipline."""

from __future__ import annotations

from collections.abc import Sequence
from math import isnan
from typing import TYPE_CHECKING

from tailback.gallery.internet.shared.queues import FAIR
from tailback.study.experiment import Results

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

ENOUGH = 0.95
"""Share of the reference goodput with which a buffer is considered sufficient."""
LEAST = 7.0
"""Left end of the axis of buffers, kB."""


def ladder(results: Results, queue: str) -> list[tuple[float, float]]:
    """Return the buffers of a discipline, as multiples of the slide's, each with TCP's mean goodput in Mbit/s."""
    along, found = results.where(queue=queue)["goodput"].curve("size")
    return [(float(size), interval.mean) for size, interval in zip(along, found, strict=True)]


def needed(rungs: Sequence[tuple[float, float]], reference: float) -> tuple[float, float] | None:
    """Return the smallest buffer with `ENOUGH` times the reference goodput, and the next smaller one, or 0.

    `rungs` are pairs of buffer and goodput, in ascending order of the buffer. `None`: no buffer is large enough.
    """
    below = 0.0
    for size, goodput in rungs:
        if goodput >= ENOUGH * reference:
            return size, below
        below = size
    return None


def _rows(axes: Axes, labels: Sequence[str], x: str) -> None:
    axes.set_yticks(range(len(labels)), list(labels))
    axes.set_ylim(len(labels) - 0.5, -0.5)
    axes.grid(axis="y", color="#e6e6e6", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.set_xlabel(x)


def _dots(axes: Axes, r: Results, name: str, queues: Sequence[str], groups: Sequence[int]) -> None:
    """Draw each row's mean with its interval; rows without a mean stay empty."""
    from tailback.plotting import plot

    for point, found in r[name].intervals():
        row = queues.index(str(point["queue"]))
        if isnan(found.mean):
            continue
        reach = [[max(found.mean - found.lo, 0)], [max(found.hi - found.mean, 0)]]
        axes.errorbar([found.mean], [row], xerr=reach, fmt="o", color=plot.COLOURS[groups[row]], elinewidth=1.2)


def _from_zero(axes: Axes) -> None:
    """Start the axis slightly below zero, so that a dot at zero is drawn whole."""
    axes.set_xlim(left=-0.02 * axes.get_xlim()[1])


def draw_isolation(r: Results, queues: Sequence[str], groups: Sequence[int]) -> Drawing:
    """Draw the throughput of the non-responsive flow, TCP's loss and the number of starved TCP flows.

    `groups` has the index of each discipline's colour.
    """
    from tailback.plotting import plot

    shown = (
        ("cbr_carried", "non-responsive flow,\ndelivered (Mbit/s)"),
        ("tcp_lost", "TCP lost (Mbit/s)"),
        ("starved", "starved TCP flows"),
    )
    figure = plot.new(len(shown), sharey=True, width=3.1, height=6.2)
    for axes, (name, label) in zip(figure.axes, shown, strict=True):
        with plot.style():
            _dots(axes, r, name, queues, groups)
            _rows(axes, queues, label)
            if name == "cbr_carried":
                axes.set_xscale("log")
                axes.set_xlim(0.05, 60)
                axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
                axes.axvline(FAIR, color="#666666", linestyle="--", linewidth=0.9)
            else:
                _from_zero(axes)
    return figure


def draw_cost(results: Results, queues: Sequence[str], groups: Sequence[int], fair: float) -> Drawing:
    """Draw the needed buffer, the mean queue and the state of each discipline.

    `groups` has the index of each discipline's colour; 2: the unit of its buffers is 400 kB, else 200 kB. `fair` is
    the goodput of all TCP flows with their fair shares, Mbit/s.
    """
    from tailback.plotting import plot

    r = results.where(size=1)
    figure = plot.new(3, sharey=True, width=3.1, height=6.2)
    buffers, lengths, state = figure.axes
    with plot.style():
        for row, queue in enumerate(queues):
            rungs = ladder(results, queue)
            unit = 400 if groups[row] == 2 else 200
            colour = plot.COLOURS[groups[row]]
            best = max(goodput for _, goodput in rungs)
            for reference, marker, fill, lift in ((best, "o", colour, -0.16), (fair, "D", "white", 0.16)):
                found = needed(rungs, reference)
                if found is None:
                    continue
                enough, below = unit * found[0], unit * found[1]
                buffers.plot([max(below, LEAST), enough], [row + lift] * 2, color=colour, linewidth=1.2)
                buffers.plot(
                    [enough], [row + lift], marker, color=colour, markerfacecolor=fill, markersize=5, clip_on=False
                )
        _rows(buffers, queues, "needed buffer (kB)")
        buffers.set_xscale("log")
        buffers.set_xlim(LEAST, 4000)
        buffers.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
        for axes, name, label in ((lengths, "mean_queue", "mean queue (kB)"), (state, "state", "state (bytes)")):
            _dots(axes, r, name, queues, groups)
            _rows(axes, queues, label)
        _from_zero(lengths)
        state.set_xscale("log")
        state.set_xlim(10, 1e6)
    return figure
