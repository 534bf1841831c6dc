"""Grouped bars with intervals: a group for each column, a colour for each series."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

    from tailback.plotting.plot import Scale
    from tailback.results.intervals import Interval
    from tailback.study.experiment.points import AxisValue

Columns = Mapping[str, Mapping[str, "Interval"]]
"""Intervals by series (a colour), then by column (a group of bars); all series have the same columns."""


def columns(
    panels: Mapping[str, Columns],
    *,
    y: str,
    y_scale: Scale = "linear",
    top: float | None = None,
    width: float = 5.6,
) -> Drawing:
    """Draw panels of grouped bars, with a group for each column and a bar for each series in it.

    `panels` has the intervals by the titles of the panels. `y` is the label of the y axis, `top` its upper end
    (default: by the data), and `width` the width of a panel in inches.
    """
    from tailback.plotting import plot

    figure = plot.new(len(panels), sharey=True, width=width, height=3.8)
    for index, (axes, (title, series)) in enumerate(zip(figure.axes, panels.items(), strict=True)):
        with plot.style():
            _bars(axes, series)
            plot.finish(axes, title=title, y="" if index else y, y_scale=y_scale)
            if top is not None:
                axes.set_ylim(0, top)
            legend = axes.get_legend()
            if legend is not None and index < len(panels) - 1:
                legend.remove()
            elif legend is not None:
                axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return figure


def _bars(axes: Axes, series: Columns) -> None:
    from tailback.plotting import plot

    names = list(next(iter(series.values())))
    share = 0.8 / len(series)
    colours = _colours(list(series))
    for index, (label, found) in enumerate(series.items()):
        at = [column + (index - (len(series) - 1) / 2) * share for column in range(len(names))]
        means = [found[name].mean for name in names]
        reach = [
            [max(found[name].mean - found[name].lo, 0.0) for name in names],
            [max(found[name].hi - found[name].mean, 0.0) for name in names],
        ]
        bars = axes.bar(at, means, width=0.92 * share, label=label, color=colours[index % len(colours)])
        plot.keep_intervals(bars[0], [found[name] for name in names])
        axes.errorbar(at, means, yerr=reach, fmt="none", ecolor="#333333", elinewidth=0.9, capsize=1.5)
    axes.set_xticks(range(len(names)), names, rotation=35, ha="right", fontsize=8)


_SHADES = {"AF1": "Greens", "AF2": "Oranges", "AF3": "Blues"}
"""Colour maps of matplotlib by class of assured forwarding (RFC 2597)."""


def _colours(labels: Sequence[str]) -> Sequence[str]:
    """Return a colour for each label; AFxy has the colour of its class x, darker with the drop precedence y."""
    import matplotlib as mpl
    from matplotlib.colors import to_hex

    from tailback.plotting import plot

    if not all(label[:3] in _SHADES and label[3:].isdigit() for label in labels):
        return plot.COLOURS
    return [to_hex(mpl.colormaps[_SHADES[label[:3]]](0.2 + 0.25 * int(label[3:]))) for label in labels]


def only(quantity_intervals: Sequence[tuple[Mapping[str, AxisValue], Interval]]) -> Interval:
    """Return the interval of the only point of `Quantity.intervals`; raises ValueError unless there is exactly one."""
    ((_, found),) = quantity_intervals
    return found
