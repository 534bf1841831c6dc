"""Figures of a sweep: curves with intervals, paired differences, heat maps, and clouds for drawn points."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

from matplotlib.figure import Figure

from tailback import _native, plot
from tailback.measures import Measure
from tailback.scenario import Value
from tailback.stats import Interval
from tailback.study.design import amount
from tailback.study.results import Setting, Sweep

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["Picture", "figures"]

_METRICS = ("loss", "delay", "delay_p99", "throughput", "goodput", "completion")
_SCALES = {"1": (100.0, "%"), "s": (1e3, "ms"), "bit/s": (1e-6, "Mbit/s")}
_MOST_SERIES = 5
_MOST_PANELS = 12
_MOST_WRITTEN = 120
"""Cells of a heat map that can still be read when their numbers stand in them."""


@dataclass(frozen=True, slots=True)
class Picture:
    """A figure with what is to be said of it."""

    title: str
    caption: str
    figure: Figure


@dataclass(frozen=True, slots=True)
class _Axis:
    """Something that is varied, with a place on a figure's axis for each of its values."""

    name: str
    unit: str
    places: Mapping[Value, float | str]

    @property
    def is_number(self) -> bool:
        return all(isinstance(place, float) for place in self.places.values())

    @property
    def label(self) -> str:
        return f"{self.name} ({self.unit})" if self.unit else self.name

    @property
    def scale(self) -> plot.Scale:
        """Logarithmic where the values span most of a decade and are spread more evenly in that scale."""
        found = sorted({place for place in self.places.values() if isinstance(place, float)})
        if not self.is_number or len(found) < 3 or found[0] <= 0 or found[-1] < 8 * found[0]:
            return "linear"
        middle = found[len(found) // 2]
        geometric, arithmetic = math.sqrt(found[0] * found[-1]), (found[0] + found[-1]) / 2
        return "log" if middle / geometric < arithmetic / middle else "linear"


def figures(sweep: Sweep) -> list[Picture]:
    """Draw what there is to show of a sweep; nothing if no run has finished."""
    finished = [setting for setting, runs in sweep.runs.items() if runs]
    axes = [_axis(name, [dict(setting)[name] for setting in finished]) for name in sweep.paths] if finished else []
    varied = [axis for axis in axes if len(axis.places) > 1]
    measures = [m for name in _METRICS for m in sweep.measures() if m == Measure("total", "", name)]
    if not varied or not measures:
        return []
    found: list[Picture] = []
    numbers = [axis for axis in varied if axis.is_number and axis.name != "mechanism"]
    if sweep.is_drawn:
        return [_clouds(sweep, measures, numbers or varied, finished)] + (
            [_map_of_draws(sweep, measures, numbers[:2], finished)] if len(numbers) > 1 else []
        )
    candidates = numbers or [axis for axis in varied if axis.name != "mechanism"] or varied
    x = max(candidates, key=lambda axis: len(axis.places))
    found.append(_curves(sweep, measures, x, [axis for axis in varied if axis is not x], finished))
    if len(sweep.mechanisms) > 1 and x.name != "mechanism":
        found += _differences(sweep, measures, x, [a for a in varied if a is not x and a.name != "mechanism"])
    if len(numbers) > 1:
        two = sorted(numbers, key=lambda axis: -len(axis.places))[:2]
        rest = [axis for axis in varied if axis not in two]
        found += [_heat(sweep, measure, (two[0], two[1]), rest, finished) for measure in measures]
    return found


def _axis(name: str, values: Iterable[Value]) -> _Axis:
    distinct = list(dict.fromkeys(values))
    split = [amount(value) for value in distinct]
    units = {part[1] for part in split if part}
    if all(split) and len(units) == 1:
        return _Axis(name, units.pop(), {v: part[0] for v, part in zip(distinct, split, strict=True) if part})
    for parse, unit, scale in (
        (_native.parse_rate, "Mbit/s", 1e-6),
        (_native.parse_bytes, "kB", 1e-3),
        (_native.parse_duration, "ms", 1e-9),
    ):
        places = _parsed(distinct, parse, scale)
        if places is not None:
            return _Axis(name, unit, places)
    return _Axis(name, "", {value: str(value) for value in distinct})


def _parsed(values: Sequence[Value], parse: Callable[[str], int], scale: float) -> dict[Value, float] | None:
    try:
        return (
            {value: parse(value) * scale for value in values if isinstance(value, str)}
            if all(isinstance(value, str) for value in values)
            else None
        )
    except ValueError:
        return None


def _scaled(interval: Interval, scale: float) -> Interval:
    return Interval(interval.mean * scale, interval.lo * scale, interval.hi * scale, interval.n)


def _shown(measure: Measure) -> tuple[float, str]:
    """Factor and label of a metric."""
    scale, unit = _SCALES[measure.unit]
    return scale, f"{measure.metric.replace('_', ' ')} ({unit})"


def _groups(settings: Iterable[Setting], names: Sequence[str]) -> dict[tuple[Value, ...], list[Setting]]:
    """Settings by their values of some names."""
    found: dict[tuple[Value, ...], list[Setting]] = {}
    for setting in settings:
        values = dict(setting)
        found.setdefault(tuple(values[name] for name in names), []).append(setting)
    return found


def _words(axes: Sequence[_Axis], values: Sequence[Value]) -> str:
    if len(axes) == 1 and axes[0].name == "mechanism":
        return str(values[0])
    return ", ".join(
        str(v) if a.name == "mechanism" else f"{_short(a.name)} {v}" for a, v in zip(axes, values, strict=True)
    )


def _short(name: str) -> str:
    return name.rpartition(".")[2]


def _split(rest: Sequence[_Axis]) -> tuple[list[_Axis], list[_Axis]]:
    """Which axes are curves in a panel, and which are panels: as many curves as can be told apart."""
    series: list[_Axis] = []
    panels: list[_Axis] = []
    for axis in sorted(rest, key=lambda axis: (axis.name != "mechanism", len(axis.places))):
        many = math.prod(len(a.places) for a in [*series, axis])
        (series if many <= _MOST_SERIES else panels).append(axis)
    return series, panels


def _curves(
    sweep: Sweep, measures: Sequence[Measure], x: _Axis, rest: Sequence[_Axis], finished: Sequence[Setting]
) -> Picture:
    series, panels = _split(rest)
    facets = _groups(finished, [axis.name for axis in panels])
    figure = plot.new(len(measures), min(len(facets), _MOST_PANELS), width=4.6, height=3.4, squeeze=False)
    with plot.style():
        for row, (facet, inside) in enumerate(islice(facets.items(), _MOST_PANELS)):
            for column, measure in enumerate(measures):
                axes = figure.axes[row * len(measures) + column]
                for index, (values, own) in enumerate(_groups(inside, [axis.name for axis in series]).items()):
                    intervals = {setting: sweep.interval(setting, measure) for setting in own}
                    _line(axes, x, intervals, measure, index, _words(series, values))
                _label(axes, x, measure, _words(panels, facet), legend=column == len(measures) - 1)
    return Picture("Means", _caption(sweep, x, len(facets)), figure)


def _differences(sweep: Sweep, measures: Sequence[Measure], x: _Axis, rest: Sequence[_Axis]) -> list[Picture]:
    contrasts = {(c.point, c.mechanism, c.measure): c.difference for c in sweep.differences(measures)}
    if not contrasts:
        return []
    settings = list(dict.fromkeys((*point, ("mechanism", name)) for point, name, _ in contrasts))
    names = list(dict.fromkeys(str(dict(setting)["mechanism"]) for setting in settings))
    series, panels = _split([_Axis("mechanism", "", dict.fromkeys(names, "")), *rest])
    facets = _groups(settings, [axis.name for axis in panels])
    figure = plot.new(len(measures), min(len(facets), _MOST_PANELS), width=4.6, height=3.4, squeeze=False)
    with plot.style():
        for row, (facet, inside) in enumerate(islice(facets.items(), _MOST_PANELS)):
            for column, measure in enumerate(measures):
                axes = figure.axes[row * len(measures) + column]
                axes.axhline(0, color="#888888", linewidth=1)

                for index, (values, own) in enumerate(_groups(inside, [axis.name for axis in series]).items()):
                    keys = {setting: (setting[:-1], str(setting[-1][1]), measure) for setting in own}
                    intervals = {setting: contrasts[key] for setting, key in keys.items() if key in contrasts}
                    _line(axes, x, intervals, measure, index + 1, _words(series, values))
                _label(axes, x, measure, _words(panels, facet), legend=column == len(measures) - 1, change=True)
    title = f"Differences from {sweep.mechanisms[0]}"
    caption = (
        f"Paired by replication, {sweep.confidence:.0%} intervals; where one holds zero, nothing is shown to differ."
    )
    return [Picture(title, caption, figure)]


def _line(
    axes: Axes, x: _Axis, intervals: Mapping[Setting, Interval], measure: Measure, index: int, label: str
) -> None:
    scale, _ = _shown(measure)
    found = [(x.places[dict(setting)[x.name]], _scaled(interval, scale)) for setting, interval in intervals.items()]
    if x.is_number:
        found.sort(key=lambda pair: float(pair[0]))
    plot.curve(axes, [place for place, _ in found], [interval for _, interval in found], label=label, index=index)


def _label(axes: Axes, x: _Axis, measure: Measure, title: str, *, legend: bool, change: bool = False) -> None:
    """Name what is drawn; the legend stands once in a row, beside its last panel."""
    _, label = _shown(measure)
    y = f"change in {label}" if change else label
    plot.finish(axes, title=title, x=x.label, y=y, x_scale=x.scale, from_zero=not change)
    drawn = axes.get_legend()
    if drawn is not None:
        drawn.remove()
        if legend:
            axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))


def _caption(sweep: Sweep, x: _Axis, panels: int) -> str:
    counts = [len(runs) for runs in sweep.runs.values() if runs]
    n = f"{min(counts)}" if min(counts) == max(counts) else f"{min(counts)} to {max(counts)}"
    cut = f" The first {_MOST_PANELS} of {panels} rows." if panels > _MOST_PANELS else ""
    return f"All flows together against {x.name}; bars are {sweep.confidence:.0%} intervals over {n} replications.{cut}"


def _heat(
    sweep: Sweep, measure: Measure, two: tuple[_Axis, _Axis], rest: Sequence[_Axis], finished: Sequence[Setting]
) -> Picture:
    """A map per combination of the other axes, all with the same colours."""
    scale, label = _shown(measure)
    facets = dict(islice(_groups(finished, [axis.name for axis in rest]).items(), _MOST_PANELS))
    columns = min(len(facets), 3)
    rows = math.ceil(len(facets) / columns)
    across, up = (sorted(axis.places.items(), key=lambda item: float(item[1])) for axis in two)
    width, height = max(4.6, 0.75 * len(across) + 1.8), max(3.4, 0.42 * len(up) + 1.4)
    figure = plot.new(columns, rows, width=min(width, 12), height=min(height, 9), squeeze=False)
    grids = []
    for inside in facets.values():
        at = {
            (d[two[0].name], d[two[1].name]): _scaled(sweep.interval(s, measure), scale)
            for s in inside
            for d in [dict(s)]
        }
        grids.append([[at.get((column, row)) for column, _ in across] for row, _ in up])
    means = [i.mean for grid in grids for line in grid for i in line if i and math.isfinite(i.mean)]
    low, high = min(means, default=0.0), max(means, default=1.0)
    with plot.style():
        for axes, facet, grid in zip(figure.axes, facets, grids, strict=False):
            numbers = [[i.mean if i else math.nan for i in line] for line in grid]
            image = axes.imshow(numbers, origin="lower", aspect="auto", cmap="viridis", vmin=low, vmax=high)
            axes.grid(visible=False)
            axes.set_xticks(range(len(across)), [f"{place:.4g}" for _, place in across])
            axes.set_yticks(range(len(up)), [f"{place:.4g}" for _, place in up])
            axes.set_xlabel(two[0].label)
            axes.set_ylabel(two[1].label)
            axes.set_title(_words(rest, facet))
            if len(across) * len(up) <= _MOST_WRITTEN:
                _write(axes, grid, low, high)
        for axes in figure.axes[len(facets) : columns * rows]:
            axes.set_visible(False)
        figure.colorbar(image, ax=list(figure.axes[: columns * rows]), label=label)
    caption = (
        f"Mean, and half the {sweep.confidence:.0%} interval below it."
        if len(across) * len(up) <= _MOST_WRITTEN
        else ""
    )
    return Picture(f"Map of {label}", caption, figure)


def _write(axes: Axes, grid: Sequence[Sequence[Interval | None]], low: float, high: float) -> None:
    for row, line in enumerate(grid):
        for column, interval in enumerate(line):
            if interval is None or not math.isfinite(interval.mean):
                continue
            dark = interval.mean < low + 0.55 * (high - low)
            half = f"\n±{interval.half_width:.2g}" if interval.n > 1 else ""
            colour = "white" if dark else "black"
            axes.text(column, row, f"{interval.mean:.3g}{half}", ha="center", va="center", fontsize=7, color=colour)


def _clouds(sweep: Sweep, measures: Sequence[Measure], axes_: Sequence[_Axis], finished: Sequence[Setting]) -> Picture:
    """Each metric against each axis, every drawn point with its interval."""
    figure = plot.new(len(axes_), len(measures), width=4.2, height=3.0, squeeze=False)
    names = ["mechanism"] if sweep.mechanisms else []
    with plot.style():
        for row, measure in enumerate(measures):
            scale, _ = _shown(measure)
            for column, axis in enumerate(axes_):
                axes = figure.axes[row * len(axes_) + column]
                for index, (values, own) in enumerate(_groups(finished, names).items()):
                    intervals = [_scaled(sweep.interval(setting, measure), scale) for setting in own]
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
                _label(axes, axis, measure, "", legend=column == len(axes_) - 1)
    caption = (
        f"Every drawn point; the other axes vary too. Bars are {sweep.confidence:.0%} intervals over replications."
    )
    return Picture("Means at the drawn points", caption, figure)


def _map_of_draws(
    sweep: Sweep, measures: Sequence[Measure], two: Sequence[_Axis], finished: Sequence[Setting]
) -> Picture:
    """Drawn points on the plane of two axes, coloured by each metric; a row for each mechanism."""
    facets = _groups(finished, ["mechanism"] if sweep.mechanisms else [])
    figure = plot.new(len(measures), len(facets), width=4.6, height=3.4, squeeze=False)
    a, b = two
    with plot.style():
        for row, (facet, own) in enumerate(facets.items()):
            for column, measure in enumerate(measures):
                scale, label = _shown(measure)
                axes = figure.axes[row * len(measures) + column]
                xs, ys = ([float(axis.places[dict(setting)[axis.name]]) for setting in own] for axis in (a, b))
                means = [sweep.interval(setting, measure).mean * scale for setting in own]
                image = axes.scatter(xs, ys, c=means, cmap="viridis", s=26, edgecolors="#444444", linewidths=0.4)
                plot.finish(
                    axes, title=str(facet[0]) if facet else "", x=a.label, y=b.label, x_scale=a.scale, from_zero=False
                )
                figure.colorbar(image, ax=axes, label=label)
    return Picture(
        f"Map of {_short(a.name)} and {_short(b.name)}", "Each dot is a drawn point, coloured by its mean.", figure
    )
