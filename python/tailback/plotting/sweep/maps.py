"""Maps of a sweep: heat maps over two axes, and scatter plots of points that were drawn at random."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

from tailback.plotting import plot
from tailback.plotting.sweep.axes import MECHANISM, Axis, words
from tailback.plotting.sweep.panels import MOST_PANELS, Picture, label_of, panels_of, put_legend, scaled, take_legend
from tailback.results.formatting import fixed, half_of
from tailback.results.metrics import Estimate, Measure
from tailback.scenario import Value

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from tailback.study.results import Setting, Sweep

__all__ = ["clouds", "heat", "map_of_draws"]

_MAX_WRITTEN = 120
"""Maximum number of cells of a heat map with printed numbers."""


def heat(
    sweep: Sweep, measure: Measure, two: tuple[Axis, Axis], rest: Sequence[Axis], finished: Sequence[Setting]
) -> Picture:
    """Draw a heat map over two axes for each combination of the axes in `rest`, all with one scale of colours.

    There are at most `MOST_PANELS` maps.
    """
    (scale, _), label = fixed(measure), label_of(measure)
    facets = dict(islice(_groups(finished, [axis.name for axis in rest]).items(), MOST_PANELS))
    across, up = (sorted(axis.places.items(), key=lambda item: float(item[1])) for axis in two)
    width, height = max(4.6, 0.75 * len(across) + 1.8), max(3.4, 0.42 * len(up) + 1.4)
    figure, all_axes = panels_of(len(facets), width=min(width, 12), height=min(height, 9))
    grids: list[list[list[Estimate | None]]] = []
    for inside in facets.values():
        at = {(d[two[0].name], d[two[1].name]): sweep.estimate(s, measure) for s in inside for d in [dict(s)]}
        grids.append([[at.get((column, row)) for column, _ in across] for row, _ in up])
    means = [i.interval.mean * scale for grid in grids for line in grid for i in line if i and i.interval.n]
    low, high = min(means, default=0.0), max(means, default=1.0)
    with plot.style():
        for axes, facet, grid in zip(all_axes, facets, grids, strict=True):
            numbers = [[i.interval.mean * scale if i else math.nan for i in line] for line in grid]
            image = axes.imshow(numbers, origin="lower", aspect="auto", cmap="viridis", vmin=low, vmax=high)
            axes.grid(visible=False)
            axes.set_xticks(range(len(across)), [f"{place:.4g}" for _, place in across])
            axes.set_yticks(range(len(up)), [f"{place:.4g}" for _, place in up])
            axes.set_xlabel(two[0].label)
            axes.set_ylabel(two[1].label)
            axes.set_title(words(rest, facet))
            if len(across) * len(up) <= _MAX_WRITTEN:
                _write(axes, grid, scale, low, high)
        figure.colorbar(image, ax=all_axes, label=label)
    caption = (
        f"Numbers: mean, and below it half the width of the {sweep.confidence:.0%} interval."
        if len(across) * len(up) <= _MAX_WRITTEN
        else ""
    )
    return Picture(f"Map of {label}", caption, figure)


def _write(axes: Axes, grid: Sequence[Sequence[Estimate | None]], scale: float, low: float, high: float) -> None:
    """Write mean and half width into each cell; `low` and `high` are the ends of the scale of colours."""
    for row, line in enumerate(grid):
        for column, found in enumerate(line):
            if found is None or not found.interval.n:
                continue
            mean = found.interval.mean * scale
            half = half_of(found.interval, scale, found.resolution)
            colour = "white" if mean < low + 0.55 * (high - low) else "black"
            text = f"{mean:.3g}\n{half}".rstrip()
            axes.text(column, row, text, ha="center", va="center", fontsize=7, color=colour)


def clouds(sweep: Sweep, measures: Sequence[Measure], axes_: Sequence[Axis], finished: Sequence[Setting]) -> Picture:
    """Draw each metric over each axis, with a dot and its interval for each point of the study."""
    pairs = [(measure, axis) for measure in measures for axis in axes_]
    figure, panels = panels_of(len(pairs), len(axes_), width=4.4, height=3.0)
    shown: dict[str, Any] = {}
    names = [MECHANISM] if sweep.mechanisms else []
    with plot.style():
        for axes, (measure, axis) in zip(panels, pairs, strict=True):
            scale, _ = fixed(measure)
            for index, (values, own) in enumerate(_groups(finished, names).items()):
                intervals = [scaled(sweep.interval(setting, measure), scale) for setting in own]
                places: list[Any] = [axis.places[dict(setting)[axis.name]] for setting in own]
                bars = [[i.half_width if math.isfinite(i.half_width) else 0.0 for i in intervals]] * 2
                axes.errorbar(
                    places,
                    [i.mean for i in intervals],
                    yerr=bars,
                    fmt="o",
                    markersize=3,
                    elinewidth=0.7,
                    capsize=0,
                    color=plot.COLOURS[index % len(plot.COLOURS)],
                    label=str(values[0]) if values else None,
                )
            plot.finish(axes, x=axis.label, y=label_of(measure), x_scale=axis.scale)
            take_legend(axes, shown)
        put_legend(figure, shown)
    caption = (
        f"Each dot is a drawn point; points differ in the other axes, too. Bars are {sweep.confidence:.0%} intervals "
        "over replications."
    )
    return Picture("Means at the drawn points", caption, figure)


def map_of_draws(
    sweep: Sweep, measures: Sequence[Measure], two: Sequence[Axis], finished: Sequence[Setting]
) -> Picture:
    """Draw the points on the plane of two axes, coloured by a metric, in a panel for each metric and mechanism."""
    facets = _groups(finished, [MECHANISM] if sweep.mechanisms else [])
    pairs = [(measure, facet, own) for measure in measures for facet, own in facets.items()]
    figure, panels = panels_of(len(pairs), width=4.6, height=3.4)
    a, b = two
    with plot.style():
        for axes, (measure, facet, own) in zip(panels, pairs, strict=True):
            scale, _ = fixed(measure)
            xs, ys = ([float(axis.places[dict(setting)[axis.name]]) for setting in own] for axis in (a, b))
            means = [sweep.interval(setting, measure).mean * scale for setting in own]
            image = axes.scatter(xs, ys, c=means, cmap="viridis", s=26, edgecolors="#444444", linewidths=0.4)
            title = str(facet[0]) if facet else ""
            plot.finish(axes, title=title, x=a.label, y=b.label, x_scale=a.scale, from_zero=False)
            figure.colorbar(image, ax=axes, label=label_of(measure))
    names = " and ".join(axis.name.rpartition(".")[2] for axis in two)
    return Picture(f"Map of {names}", "Each dot is a drawn point, coloured by the mean of the metric.", figure)


def _groups(settings: Iterable[Setting], names: Sequence[str]) -> dict[tuple[Value, ...], list[Setting]]:
    """Return settings by their values on the axes `names`."""
    found: dict[tuple[Value, ...], list[Setting]] = {}
    for setting in settings:
        values = dict(setting)
        found.setdefault(tuple(values[name] for name in names), []).append(setting)
    return found
