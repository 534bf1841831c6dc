"""Figures of a card: delay-goodput graphs as SVG."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from tailback.evaluation.card import Card, Graph
from tailback.evaluation.ellipse import Ellipse
from tailback.plotting import plot

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["overview", "pictures"]

_OVERVIEW = ("5.1.1", "5.2", "8.2.2", "8.2.3", "8.2.4", "4.5")
"""Cases of the overview."""


def pictures(found: Card) -> dict[str, bytes]:
    """Return the figures as SVG, by the names of their files without suffix."""
    return {graph.name: plot.to_bytes(_graph(graph), "svg", graph.title) for graph in found.graphs}


def overview(found: Card) -> bytes:
    """Return a figure with the graphs of six cases with one class of traffic, as SVG."""
    graphs = [graph for key in _OVERVIEW for graph in found.graphs if graph.case == key]
    panels = [(f"{one.section} {one.title.partition(':')[0]}", next(iter(one.ellipses.values()))) for one in graphs]
    return plot.to_bytes(_panels(panels, 3), "svg", f"Delay against goodput, {found.discipline}")


def _graph(graph: Graph) -> Figure:
    return _panels([(group, by_name) for group, by_name in graph.ellipses.items()], 3)


def _panels(panels: Sequence[tuple[str, Mapping[str, Ellipse]]], columns: int) -> Figure:
    columns = min(columns, len(panels))
    rows = -(-len(panels) // columns)
    figure = plot.new(columns, rows, width=3.7, height=3.0, squeeze=False)
    with plot.style():
        for axes, (title, by_name) in zip(figure.axes, panels, strict=False):
            _ellipses(axes, by_name)
            plot.finish(axes, title=_short(title), x="queueing delay (ms)", y="goodput (Mbit/s)", from_zero=False)
            if (legend := axes.get_legend()) is not None:
                legend.remove()
        for axes in figure.axes[len(panels) :]:
            axes.remove()
        handles, labels = figure.axes[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=min(len(labels), 2 * columns))
    return figure


def _ellipses(axes: Axes, by_name: Mapping[str, Ellipse]) -> None:
    """Draw for each discipline the ellipse of one standard deviation and, as a marker, the median."""
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


def _short(title: str, most: int = 44) -> str:
    return title if len(title) <= most else f"{title[: most - 1]}…"
