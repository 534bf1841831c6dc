"""Figures of the customer edge: one column per configuration, one colour per class."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

    from tailback.gallery.design import AxisValue
    from tailback.plot import Scale
    from tailback.stats import Interval

Columns = Mapping[str, Mapping[str, "Interval"]]
"""By what is measured (a colour), then by column."""


def columns(
    panels: Mapping[str, Columns],
    *,
    y: str,
    y_scale: Scale = "linear",
    top: float | None = None,
    width: float = 5.6,
) -> Drawing:
    """Draw bars in groups: a panel each, in it a group for each column and a bar for each thing measured."""
    from tailback import plot

    figure = plot.new(len(panels), sharey=True, width=width, height=3.8)
    for index, (axes, (title, series)) in enumerate(zip(figure.axes, panels.items(), strict=True)):
        with plot.style():
            _bars(axes, series)
            plot.finish(axes, title=title, y="" if index else y, y_scale=y_scale)
            if top is not None:
                axes.set_ylim(0, top)
            if index == len(panels) - 1:
                axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return figure


def _bars(axes: Axes, series: Columns) -> None:
    from tailback import plot

    names = list(next(iter(series.values())))
    share = 0.8 / len(series)
    colours = plot.COLOURS if len(series) <= len(plot.COLOURS) else plot.ramp(len(series))
    for index, (label, found) in enumerate(series.items()):
        at = [column + (index - (len(series) - 1) / 2) * share for column in range(len(names))]
        means = [found[name].mean for name in names]
        reach = [
            [max(found[name].mean - found[name].lo, 0.0) for name in names],
            [max(found[name].hi - found[name].mean, 0.0) for name in names],
        ]
        axes.bar(at, means, width=0.92 * share, label=label, color=colours[index % len(colours)])
        axes.errorbar(at, means, yerr=reach, fmt="none", ecolor="#333333", elinewidth=0.9, capsize=1.5)
    axes.set_xticks(range(len(names)), names, rotation=35, ha="right", fontsize=8)


def only(quantity_intervals: Sequence[tuple[Mapping[str, AxisValue], Interval]]) -> Interval:
    """Return the interval of a quantity at one point."""
    ((_, found),) = quantity_intervals
    return found
