"""Drawing of the board: one line for each row, in groups, and one panel for each score."""

from __future__ import annotations

from collections.abc import Callable
from itertools import groupby
from math import inf, isnan
from typing import TYPE_CHECKING

from tailback.gallery.internet.heavy_load_every_discipline.rows import OFF, ON, board
from tailback.gallery.internet.shared import tcpmodel
from tailback.study.experiment import Results

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

# Loss in % that a TCP model needs, as a function of model, number of connections and mean queueing delay in ms.
Needed = Callable[[tcpmodel.Response, int, float], float]

_SHOWN = (
    ("loss", "loss (%)", 0.0, inf),
    ("utilisation", "utilisation (%)", 100.0, 100.0),
    ("queueing", "mean queueing\ndelay (ms)", 0.0, inf),
    ("p99", "99th percentile of\none-way delay (ms)", None, inf),
    ("goodput", "goodput (Mbit/s)", 9.6, inf),
    ("jain", "Jain's index", 1.0, 1.0),
)
"""Panels: metric, label, the goal (`None`: no goal), and the largest possible value, at which intervals end."""

_MODEL = "#c9c9c9"


def places() -> tuple[dict[str, float], dict[str, float]]:
    """Return the positions of the rows and of the groups' names, by name: the top is 0, a row has the height 1."""
    heights: dict[str, float] = {}
    titles: dict[str, float] = {}
    at = 0.0
    for group, members in groupby(board().values(), key=lambda row: row.group):
        titles[group] = at
        for row in members:
            at += 1
            heights[row.name] = at
        at += 1.3
    return heights, titles


def draw(results: Results, connections: int, needed: Needed) -> Drawing:
    """Draw the scores of all rows with one number of connections; `results` has no other."""
    from matplotlib.lines import Line2D

    from tailback.plotting import plot

    heights, titles = places()
    last = max(heights.values())
    figure = plot.new(len(_SHOWN), sharey=True, width=2.05, height=0.2 * last + 1.0)
    for axes, (name, label, goal, most) in zip(figure.axes, _SHOWN, strict=True):
        with plot.style():
            for index, height in enumerate(heights.values()):
                if index % 2 == 0:
                    axes.axhspan(height - 0.5, height + 0.5, color="#f1f3f6", linewidth=0, zorder=0)
            for ecn, colour, marker, shift in ((OFF, plot.COLOURS[1], "s", -0.16), (ON, plot.COLOURS[0], "o", 0.16)):
                for point, found in results.where(ecn=ecn)[name].intervals():
                    if isnan(found.mean):
                        continue
                    height = heights[str(point["queue"])] + shift
                    reach = [[max(found.mean - found.lo, 0)], [max(min(found.hi, most) - found.mean, 0)]]
                    axes.errorbar(
                        [found.mean], [height], xerr=reach, fmt=marker, color=colour, markersize=3.2, elinewidth=1.0
                    )
            if name == "loss":
                _expected(axes, results, heights, connections, needed)
            if goal is not None:
                axes.axvline(goal, color=plot.COLOURS[2], linewidth=1.4, zorder=1)
            axes.set_yticks(list(heights.values()), list(heights))
            axes.tick_params(axis="y", length=0)
            axes.set_ylim(last + 0.6, -0.7)
            axes.set_xlabel(label)
            axes.grid(axis="y", visible=False)
            if name in ("loss", "queueing", "p99"):
                axes.set_xlim(left=-0.03 * axes.get_xlim()[1])
    first = figure.axes[0]
    with plot.style():
        figure.legend(
            handles=[
                Line2D([], [], color=plot.COLOURS[1], marker="s", markersize=4, linestyle="none", label="without ECN"),
                Line2D([], [], color=plot.COLOURS[0], marker="o", markersize=4, linestyle="none", label="with ECN"),
                Line2D([], [], color=_MODEL, linewidth=5, label="loss without ECN by models of TCP"),
                Line2D([], [], color=plot.COLOURS[2], linewidth=1.4, label="the goal"),
            ],
            loc="outside lower center",
            ncols=4,
        )
        for group, height in titles.items():
            first.annotate(
                group,
                (-0.03, height),
                xycoords=("axes fraction", "data"),
                ha="right",
                va="center",
                fontsize=9.5,
                fontweight="bold",
                annotation_clip=False,
            )
    return figure


def _expected(axes: Axes, results: Results, heights: dict[str, float], connections: int, needed: Needed) -> None:
    """Draw the loss that the models need at each row's queue, for rows without ECN and with the usual sender."""
    for point, queueing in results.where(ecn=OFF)["queueing"].intervals():
        name = str(point["queue"])
        if board()[name].sender or isnan(queueing.mean):
            continue
        low, high = (needed(model, connections, queueing.mean) for model in (tcpmodel.pftk, tcpmodel.square_root))
        axes.plot([low, high], [heights[name] - 0.16] * 2, color=_MODEL, linewidth=4.5, zorder=0.5)
