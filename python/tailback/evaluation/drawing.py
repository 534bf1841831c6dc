"""Figures of a card as SVG: delay-goodput graphs, curves over time, and trends over cases."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from tailback.evaluation.card import Card, Graph, Plot
from tailback.evaluation.ellipse import Ellipse
from tailback.plotting import plot
from tailback.results.intervals import Interval

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["overview", "pictures"]

_MANY = 15
"""Number of points from which a line has a band instead of bars."""


@dataclass(frozen=True, slots=True)
class _Panel:
    title: str
    x: str
    y: str
    draw: Callable[[Axes], None]
    logarithmic: bool = False
    from_zero: bool = False


def pictures(found: Card) -> dict[str, bytes]:
    """Return the figures as SVG, by the names of their files without suffix."""
    drawn = {one.name: plot.to_bytes(_figure(_of_graph(one)), "svg", one.title) for one in found.graphs}
    return drawn | {one.name: plot.to_bytes(_figure([_of_plot(one)]), "svg", one.title) for one in found.plots}


def overview(found: Card) -> bytes:
    """Return a figure with the guide's choice of graphs and plots, the first class of traffic of each, as SVG."""
    panels = {one.name: _of_plot(one) for one in found.plots}
    for graph in found.graphs:
        first = _of_graph(graph)[0]
        number = next(row.number for row in found.rows if row.section == graph.section)
        title = f"{number} {graph.title.partition(':')[0]}"
        panels[graph.name] = _Panel(_short(title), first.x, first.y, first.draw)
    chosen = [panels[name] for name in found.guide.overview if name in panels]
    return plot.to_bytes(_figure(chosen), "svg", f"{found.subject} by {found.guide.name}")


def _of_graph(graph: Graph) -> list[_Panel]:
    return [
        _Panel(_short(group), "queueing delay (ms)", "goodput (Mbit/s)", partial(_ellipses, by_name=by_name))
        for group, by_name in graph.ellipses.items()
    ]


def _of_plot(found: Plot) -> _Panel:
    return _Panel(
        _short(found.title), found.x, found.y, partial(_lines, lines=found.lines), found.logarithmic, from_zero=True
    )


def _figure(panels: Sequence[_Panel], most_columns: int = 3) -> Figure:
    columns = min(most_columns, len(panels))
    rows = -(-len(panels) // columns)
    figure = plot.new(columns, rows, width=3.7, height=3.0, squeeze=False)
    with plot.style():
        for axes, panel in zip(figure.axes, panels, strict=False):
            panel.draw(axes)
            plot.finish(
                axes,
                title=panel.title,
                x=panel.x,
                y=panel.y,
                x_scale="log" if panel.logarithmic else "linear",
                from_zero=panel.from_zero,
            )
            if (legend := axes.get_legend()) is not None:
                legend.remove()
        for axes in figure.axes[len(panels) :]:
            axes.remove()
        handles, labels = figure.axes[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=min(len(labels), 2 * columns))
    return figure


def _ellipses(axes: Axes, by_name: Mapping[str, Ellipse]) -> None:
    """Draw for each subject the ellipse of one standard deviation and, as a marker, the median."""
    for index, (name, found) in enumerate(by_name.items()):
        colour = plot.COLOURS[index % len(plot.COLOURS)]
        outline = found.outline()
        axes.plot([x for x, _ in outline], [y for _, y in outline], color=colour, linewidth=1.8 if index == 0 else 1.1)
        axes.plot(
            [found.median[0]],
            [found.median[1]],
            marker="osD^vPX*"[index % 8],
            linestyle="none",
            color=colour,
            label=name,
            markersize=6 if index == 0 else 4.5,
        )


def _lines(axes: Axes, lines: Mapping[str, Sequence[tuple[float, Interval]]]) -> None:
    """Draw for each subject the means, with bars for the intervals of few points and a band for those of many."""
    for index, (name, points) in enumerate(lines.items()):
        xs, ys = [x for x, _ in points], [y for _, y in points]
        if len(points) < _MANY:
            plot.curve(axes, xs, ys, label=name, index=index)
            continue
        colour = plot.COLOURS[index % len(plot.COLOURS)]
        width = 1.8 if index == 0 else 1.1
        # One marker in the legend and on the line distinguishes the subjects without colour.
        mark = "osD^vPX*"[index % 8]
        axes.plot(xs, [y.mean for y in ys], color=colour, label=name, linewidth=width, marker=mark, markevery=0.2)
        bounded = [(x, y) for x, y in points if y.n > 1]
        axes.fill_between(
            [x for x, _ in bounded],
            [y.lo for _, y in bounded],
            [y.hi for _, y in bounded],
            color=colour,
            alpha=0.15,
            lw=0,
        )


def _short(title: str, most: int = 44) -> str:
    return title if len(title) <= most else f"{title[: most - 1]}…"
