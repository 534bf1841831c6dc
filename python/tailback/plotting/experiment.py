"""Figures of an experiment: curves over its axes, always with intervals, in the style of `tailback.plotting.plot`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

    from tailback.plotting.plot import Scale
    from tailback.study.experiment.points import AxisValue
    from tailback.study.experiment.quantity import Quantity

__all__ = ["Figure", "both_views", "compare", "panels", "traces"]


@dataclass(frozen=True)
class Figure:
    """A figure of an experiment, which is drawn after its runs."""

    name: str
    """Name of its file without the suffix, unique in the experiment."""
    title: str
    """Title of the drawing."""
    caption: str
    """Text below the figure in the report; may be empty."""
    draw: Callable[[], Drawing]
    """Function that returns the drawing, without the title."""
    claims: Sequence[str] = ()
    """Ids of the claims that the figure shows, which the report prints next to the figure."""
    share: str = ""
    """Name of a set of figures with the same y axis, so that they can be compared by eye.

    Empty: the figure has a y axis of its own.
    """


def both_views(
    quantity: Quantity,
    name: str,
    title: str,
    caption: str = "",
    *,
    x: str = "burst",
    curves: str = "rate",
    y_scale: Scale = "linear",
    claims: Sequence[str] = (),
    share: str = "",
) -> Figure:
    """Return a figure of a quantity over two axes, with a panel for each.

    The first panel has `x` as its x axis and a curve for each value of `curves`, the second `curves` as its x axis and
    a curve for each value of `x`; both are names of axes.
    """

    def draw() -> Drawing:
        from tailback.plotting import plot

        figure = plot.new(2, sharey=True)
        for axes, (across, each) in zip(figure.axes, ((x, curves), (curves, x)), strict=True):
            _family(axes, quantity, across, each, y_scale)
        figure.axes[1].set_ylabel("")
        return figure

    return Figure(name, title, caption, draw, claims, share)


def compare(
    quantities: Mapping[str, Quantity],
    name: str,
    title: str,
    caption: str = "",
    *,
    x: str,
    y_scale: Scale = "linear",
    panel: str | None = None,
    panel_values: Sequence[AxisValue] | None = None,
    y: str = "",
    claims: Sequence[str] = (),
    share: str = "",
) -> Figure:
    """Return a figure of several quantities, such as one per mechanism, as curves over `x`, named by their keys.

    `x` and `panel` are names of axes. With `panel` there is a panel for each of the axis's values, or of
    `panel_values`. `y` is the label of the y axis without the unit; the default is that of the first quantity.
    """

    def draw() -> Drawing:
        from tailback.plotting import plot

        first = next(iter(quantities.values()))
        values = [None] if panel is None else panel_values or first.values_of(panel)
        figure = plot.new(len(values), sharey=True, width=5.2 if len(values) < 3 else 4.0)
        for axes, value in zip(figure.axes, values, strict=True):
            with plot.style():
                ticks: list[AxisValue] = []
                here = [q if panel is None or value is None else q.where(**{panel: value}) for q in quantities.values()]
                for index, (label, quantity) in enumerate(quantities.items()):
                    shown = quantity if panel is None or value is None else quantity.where(**{panel: value})
                    along, intervals = shown.curve(x)
                    plot.curve(axes, along, intervals, label=label + _nothing(quantity), index=index)
                    ticks += [tick for tick in along if tick not in ticks]
                _say_zero(axes, here)
                over = "" if panel is None or value is None else _panel_title(first, panel, value)
                _finish(axes, first, x, ticks, y_scale, over, y=y)
        _share(figure)
        return figure

    return Figure(name, title, caption, draw, claims, share)


def panels(
    quantities: Mapping[str, Quantity],
    name: str,
    title: str,
    caption: str = "",
    *,
    x: str,
    curves: str,
    y_scale: Scale = "linear",
    claims: Sequence[str] = (),
    share: str = "",
) -> Figure:
    """Return a figure with a panel per quantity over `x`, all with the same y axis, and a curve per value of `curves`.

    The titles of the panels are the keys; `x` and `curves` are names of axes.
    """

    def draw() -> Drawing:
        from tailback.plotting import plot

        figure = plot.new(len(quantities), sharey=True, width=5.2 if len(quantities) < 3 else 4.0)
        for axes, (label, quantity) in zip(figure.axes, quantities.items(), strict=True):
            _family(axes, quantity, x, curves, y_scale, label)
        _share(figure)
        return figure

    return Figure(name, title, caption, draw, claims, share)


def traces(
    lines: Mapping[str, tuple[Sequence[float], Sequence[float]]],
    name: str,
    title: str,
    caption: str = "",
    *,
    x: str = "time (s)",
    y: str,
    levels: Mapping[str, float] | None = None,
    claims: Sequence[str] = (),
    share: str = "",
) -> Figure:
    """Return a figure of time series, with a panel for each; `lines` has pairs (x, y) by the title of the panel.

    `levels` are values of y by their names, such as thresholds, which are drawn as dashed lines in all panels.
    """

    def draw() -> Drawing:
        from tailback.plotting import plot

        figure = plot.new(1, len(lines), width=8.0, height=2.2, sharex=True)
        for index, (axes, (label, (across, up))) in enumerate(zip(figure.axes, lines.items(), strict=True)):
            with plot.style():
                axes.plot(across, up, linewidth=1.0, color=plot.COLOURS[index % len(plot.COLOURS)])
                for text, level in (levels or {}).items():
                    axes.axhline(level, color="#666666", linestyle="--", linewidth=0.9)
                    axes.annotate(
                        text, (1.0, level), xycoords=("axes fraction", "data"), fontsize=8, va="bottom", ha="right"
                    )
                plot.finish(axes, title=label, x=x if index == len(lines) - 1 else "", y=y)
        return figure

    return Figure(name, title, caption, draw, claims, share)


def _family(axes: Axes, quantity: Quantity, x: str, curves: str, y_scale: Scale, title: str = "") -> None:
    """Draw a quantity over `x` with a curve per value of an axis; curves of numbers have colours from light to dark."""
    from tailback.plotting import plot

    values = quantity.values_of(curves)
    colours = plot.ramp(len(values)) if all(isinstance(v, int | float) for v in values) else plot.COLOURS
    with plot.style():
        for index, value in enumerate(values):
            along, intervals = quantity.where(**{curves: value}).curve(x)
            label = quantity.axis(curves).text(value)
            plot.curve(axes, along, intervals, label=label, index=index, colour=colours[index % len(colours)])
        _say_zero(axes, [quantity])
        axis = quantity.axis(curves)
        _finish(axes, quantity, x, quantity.values_of(x), y_scale, title, axis.label)


def _seen(quantities: Sequence[Quantity]) -> tuple[int, int] | None:
    """Return the numbers of events and packets of all points; `None` if a metric counts no events."""
    pairs = [cell.events for quantity in quantities for cell in quantity.cells.values()]
    counted = [pair for pair in pairs if pair is not None]
    if len(counted) < len(pairs):
        return None
    return sum(pair[0] for pair in counted), sum(pair[1] for pair in counted)


def _nothing(quantity: Quantity) -> str:
    """Return an addition to the label of a curve without events, which looks like a curve with few; else empty."""
    seen = _seen([quantity])
    return f": 0 of {seen[1]:,}" if seen is not None and seen[0] == 0 < seen[1] else ""


def _say_zero(axes: Axes, quantities: Sequence[Quantity]) -> None:
    """Write the number of packets into a panel all of whose curves are without events."""
    seen = _seen(quantities)
    if seen is not None and seen[0] == 0 < seen[1]:
        where: dict[str, Any] = {"transform": axes.transAxes, "ha": "center", "va": "center"}
        axes.text(0.5, 0.6, f"0 of {seen[1]:,} packets,\nall curves", color="#57606a", fontsize=11, **where)


def _panel_title(quantity: Quantity, panel: str, value: AxisValue) -> str:
    """Return a panel's title: a word alone, such as "RED", or a number, as in "rate 4 Mbit/s" or "8 connections"."""
    axis = quantity.axis(panel)
    if isinstance(value, str):
        return value
    return f"{axis.label} {axis.text(value)}" if axis.unit else f"{axis.text(value)} {axis.label}"


def _share(figure: Drawing) -> None:
    """Remove the label of the y axis and the legend from all panels but the first, since they are equal in all."""
    for axes in figure.axes[1:]:
        axes.set_ylabel("")
        legend = axes.get_legend()
        if legend is not None:
            legend.remove()


def _finish(
    axes: Axes,
    quantity: Quantity,
    x: str,
    ticks: Sequence[AxisValue],
    y_scale: Scale,
    title: str = "",
    legend: str = "",
    y: str = "",
) -> None:
    from tailback.plotting import plot

    numbers = sorted(float(tick) for tick in ticks if isinstance(tick, int | float))
    label = y or quantity.label.split(" [")[0]
    # The axis of percentages reaches at least to 1 %, so that a small loss does not fill the height.
    y_top = 1.0 if quantity.unit == "%" else 0.0
    title_y = f"{label} ({quantity.unit})" if quantity.unit else label
    plot.finish(
        axes,
        title=title,
        x=quantity.axis(x).title,
        y=title_y,
        y_scale=y_scale,
        y_top=y_top,
        ticks=numbers,
        legend=legend,
    )
