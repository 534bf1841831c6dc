"""Pictures of a sweep: panels in rows, a common legend, and labels of the axes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from matplotlib.figure import Figure

from tailback.plotting import plot
from tailback.results.formatting import fixed
from tailback.results.intervals import Interval
from tailback.results.metrics import Measure

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["COLUMNS", "MOST_PANELS", "Picture", "label_of", "panels_of", "put_legend", "scaled", "take_legend"]

COLUMNS = 3
"""Maximum number of panels in a row; with more they would be too small to read on a page."""
MOST_PANELS = 12
"""Maximum number of panels of a picture."""


@dataclass(frozen=True, slots=True)
class Picture:
    """A figure with its title and caption."""

    title: str
    caption: str
    figure: Figure


def scaled(interval: Interval, scale: float) -> Interval:
    """Return an interval multiplied by a factor, for another unit."""
    return Interval(interval.mean * scale, interval.lo * scale, interval.hi * scale, interval.n)


def label_of(measure: Measure) -> str:
    """Return the label of an axis: the metric, its group or class (none for all flows), and the display unit."""
    unit = fixed(measure)[1]
    whose = f" of {measure.name}" if measure.scope == "group" else f" of class {measure.name}" * bool(measure.name)
    return f"{measure.metric.replace('_', ' ')}{whose}{f' ({unit})' if unit else ''}"


def panels_of(count: int, columns: int = 0, **options: Any) -> tuple[Figure, list[Axes]]:
    """Return a figure with `count` panels, and the panels; `options` are those of `plot.new`.

    A row has `columns` panels if this is from 1 to `COLUMNS`; otherwise 2 if there are 4 panels, else up to `COLUMNS`.
    """
    if not 1 <= columns <= COLUMNS:
        columns = 2 if count == 4 else min(count, COLUMNS)
    figure = plot.new(columns, math.ceil(count / columns), squeeze=False, **options)
    for axes in figure.axes[count:]:
        axes.remove()
    return figure, list(figure.axes[:count])


def take_legend(axes: Axes, shown: dict[str, Any]) -> None:
    """Remove a panel's legend, and add its entries to those of the picture."""
    handles, labels = axes.get_legend_handles_labels()
    shown.update(dict(zip(labels, handles, strict=True)))
    if (legend := axes.get_legend()) is not None:
        legend.remove()


def put_legend(figure: Figure, shown: Mapping[str, Any]) -> None:
    """Draw a common legend below all panels; `shown` has the handles by their labels."""
    if shown:
        columns = min(len(shown), 5)
        figure.legend(list(shown.values()), list(shown), loc="outside lower center", ncols=columns)
