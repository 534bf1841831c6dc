"""Choice of the figures of a sweep, and its curves: means and paired differences, with intervals.

Heat maps, and scatter plots of points that were drawn at random, are in `tailback.plotting.sweep.maps`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from matplotlib.figure import Figure

from tailback.plotting import plot
from tailback.plotting.sweep.axes import FLOWS, MECHANISM, Axis, axis_of, split, words
from tailback.plotting.sweep.maps import clouds, heat, map_of_draws
from tailback.plotting.sweep.panels import MOST_PANELS, Picture, label_of, panels_of, put_legend, scaled, take_legend
from tailback.results.formatting import fixed
from tailback.results.intervals import Interval
from tailback.results.metrics import Measure
from tailback.scenario import Value

if TYPE_CHECKING:
    from tailback.study.results import Setting, Sweep

__all__ = ["Picture", "figures"]

_METRICS = ("loss", "delay", "delay_p99", "throughput", "goodput", "completion")
"""Metrics of all flows together that are drawn, if a run has them."""
_OF_GROUPS = ("loss", "delay", "throughput", "goodput", "jain", "completion", "response", "slowdown")
"""Metrics of each group of flows that are drawn, if a run has them."""


@dataclass(frozen=True, slots=True)
class _Point:
    """A point of the study: the values of its axes, and a mean with its interval in the unit of the figure."""

    values: Mapping[str, Value]
    interval: Interval


def figures(sweep: Sweep) -> list[Picture]:
    """Draw the figures of a sweep.

    The list is empty if no run has finished, no axis has two values, or no run has a metric to be drawn.
    """
    finished = [setting for setting, runs in sweep.runs.items() if runs]
    axes = [
        axis_of(name, [dict(setting)[name] for setting in finished], is_logarithmic=name in sweep.logarithmic)
        for name in (sweep.paths if finished else ())
    ]
    varied = [axis for axis in axes if len(axis.places) > 1]
    measures = [m for name in _METRICS for m in sweep.measures() if m == Measure("total", "", name)]
    judged = sweep.judged()
    if judged is not None and judged not in measures:
        measures.insert(0, judged)
    if not varied or not measures:
        return []
    found: list[Picture] = []
    numbers = [axis for axis in varied if axis.is_number and axis.name != MECHANISM]
    if sweep.is_drawn:
        return [clouds(sweep, measures, numbers or varied, finished)] + (
            [map_of_draws(sweep, measures, numbers[:2], finished)] if len(numbers) > 1 else []
        )
    candidates = numbers or [axis for axis in varied if axis.name != MECHANISM] or varied
    x = max(candidates, key=lambda axis: len(axis.places))
    rest = [axis for axis in varied if axis is not x]
    means = {label_of(measure): _points(sweep, measure, finished) for measure in measures}
    of_judged = "" if judged is None or judged.scope == "total" else f", and {judged}, the metric of `until`"
    found += _curves("Means", f"All flows together{of_judged}. {_caption(sweep, x)}", means, x, rest)
    found += _groups_of_flows(sweep, x, rest, finished)
    if len(sweep.mechanisms) > 1 and x.name != MECHANISM:
        found += _differences(sweep, measures, x, [a for a in rest if a.name != MECHANISM])
    if len(numbers) > 1:
        two = sorted(numbers, key=lambda axis: -len(axis.places))[:2]
        rest = [axis for axis in varied if axis not in two]
        found += [heat(sweep, measure, (two[0], two[1]), rest, finished) for measure in measures]
    return found


def _points(sweep: Sweep, measure: Measure, finished: Sequence[Setting]) -> list[_Point]:
    """Return the points at which a run has the metric, with means in its display unit."""
    scale, _ = fixed(measure)
    intervals = ((setting, sweep.interval(setting, measure)) for setting in finished)
    return [_Point(dict(setting), scaled(interval, scale)) for setting, interval in intervals if interval.n]


def _by(points: Iterable[_Point], axes: Sequence[Axis]) -> dict[tuple[Value, ...], list[_Point]]:
    """Return points by their values on `axes`."""
    found: dict[tuple[Value, ...], list[_Point]] = {}
    for point in points:
        found.setdefault(tuple(point.values[axis.name] for axis in axes), []).append(point)
    return found


def _curves(
    title: str,
    caption: str,
    lines: Mapping[str, Sequence[_Point]],
    x: Axis,
    rest: Sequence[Axis],
    *,
    are_changes: bool = False,
) -> list[Picture]:
    """Draw points over `x`, with the axes of `rest` as curves and panels; `lines` has points by label of the y axis.

    There is a panel for each quantity in one picture, or a picture for each quantity if axes need panels.
    """
    series, apart = split(rest)
    facets = list(_by((point for points in lines.values() for point in points), apart))
    cut = f" The first {MOST_PANELS} of {len(facets)} panels." if len(facets) > MOST_PANELS else ""
    panels = [
        (label, words(apart, facet), _by(points, apart).get(facet, ()))
        for label, points in lines.items()
        for facet in facets[:MOST_PANELS]
    ]
    if len(facets) == 1:
        return [Picture(title, caption, _picture(panels, x, series, are_changes))] if panels else []
    size = min(len(facets), MOST_PANELS)
    return [
        Picture(f"{title}: {panels[at][0]}", caption + cut, _picture(panels[at : at + size], x, series, are_changes))
        for at in range(0, len(panels), size)
    ]


def _picture(
    panels: Sequence[tuple[str, str, Sequence[_Point]]], x: Axis, series: Sequence[Axis], are_changes: bool
) -> Figure:
    figure, all_axes = panels_of(len(panels), width=4.4, height=3.2)
    # A curve has the same colour in all panels, even if a panel lacks other curves.
    keys = list(_by((point for _, _, points in panels for point in points), series))
    shown: dict[str, Any] = {}
    with plot.style():
        for axes, (label, title, points) in zip(all_axes, panels, strict=True):
            if are_changes:
                axes.axhline(0, color="#888888", linewidth=1)
            for key, own in _by(points, series).items():
                places = [(x.places[point.values[x.name]], point.interval) for point in own]
                if x.is_number:
                    places.sort(key=lambda pair: float(pair[0]))
                plot.curve(
                    axes,
                    [place for place, _ in places],
                    [interval for _, interval in places],
                    label=words(series, key),
                    index=keys.index(key) + are_changes,
                )
            y = f"change in {label}" if are_changes else label
            plot.finish(axes, title=title, x=x.label, y=y, x_scale=x.scale, ticks=x.ticks, from_zero=not are_changes)
            take_legend(axes, shown)
        put_legend(figure, shown)
    return figure


def _groups_of_flows(sweep: Sweep, x: Axis, rest: Sequence[Axis], finished: Sequence[Setting]) -> list[Picture]:
    """Draw the metrics of each group of flows; the list is empty if there is only one group."""
    of_groups = [measure for measure in sweep.measures() if measure.scope == "group"]
    groups = list(dict.fromkeys(measure.name for measure in of_groups))
    if len(groups) < 2:
        return []
    judged = sweep.judged()
    wanted = dict.fromkeys([*([judged.metric] if judged and judged.scope == "group" else []), *_OF_GROUPS])
    lines: dict[str, list[_Point]] = {}
    for measure in sorted(of_groups, key=lambda m: list(wanted).index(m.metric) if m.metric in wanted else -1):
        if measure.metric in wanted:
            label = label_of(Measure("total", "", measure.metric))
            points = _points(sweep, measure, finished)
            lines.setdefault(label, []).extend(_Point({**p.values, FLOWS: measure.name}, p.interval) for p in points)
    flows = Axis(FLOWS, "", {name: name for name in groups})
    return _curves("Groups of flows", f"Each group of flows by itself. {_caption(sweep, x)}", lines, x, [flows, *rest])


def _differences(sweep: Sweep, measures: Sequence[Measure], x: Axis, rest: Sequence[Axis]) -> list[Picture]:
    lines: dict[str, list[_Point]] = {}
    names: dict[Value, str] = {}
    for c in sweep.differences(measures):
        point = _Point({**dict(c.point), MECHANISM: c.mechanism}, scaled(c.difference, fixed(c.measure)[0]))
        lines.setdefault(label_of(c.measure), []).append(point)
        names[c.mechanism] = ""
    if not lines:
        return []
    ordered = {label: lines[label] for label in map(label_of, measures) if label in lines}
    caption = (
        f"Differences are paired by replication. Bars are {sweep.confidence:.0%} intervals; an interval that contains "
        "zero shows no difference."
    )
    title = f"Differences from {sweep.mechanisms[0]}"
    return _curves(title, caption, ordered, x, [Axis(MECHANISM, "", names), *rest], are_changes=True)


def _caption(sweep: Sweep, x: Axis) -> str:
    counts = [len(runs) for runs in sweep.runs.values() if runs]
    n = f"{min(counts)}" if min(counts) == max(counts) else f"{min(counts)} to {max(counts)}"
    return f"Means over {x.name}; bars are {sweep.confidence:.0%} intervals over {n} replications."
