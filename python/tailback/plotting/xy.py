"""One quantity against another: samples over time, distributions, transfers, metrics of groups, and sweeps.

A quantity is a name, which may have a pattern of flows, groups or ports, as in `goodput[*]` or `queue[sw1->*]`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING, NamedTuple

from tailback.errors import UsageError
from tailback.plotting import plot
from tailback.plotting.paper import Logarithmic, Size, figure_of, has_height, label, legend_beside, paper_style
from tailback.plotting.pictures import Run, Selection, complete, distribution, matching, rates
from tailback.plotting.sweep.axes import axis_of
from tailback.plotting.sweep.panels import scaled
from tailback.results.formatting import fixed
from tailback.results.intervals import Interval, mean_interval
from tailback.results.metrics import METRICS, Measure
from tailback.results.tables import unit_of
from tailback.results.units import display

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from tailback.study.results import Sweep

__all__ = ["SAMPLED", "TRANSFERS", "sweep_xy", "xy"]


class _Sampled(NamedTuple):
    """A quantity of the table `series`."""

    scope: str
    """Value of the column `scope`."""
    quantity: str
    """Value of the column `quantity`."""
    scale: float
    """Factor to the unit of the label."""
    label: str
    """Label of the axis."""
    is_rate: bool = False
    """`True` if the samples count bytes and their rate is drawn."""
    record: str = ""
    """Record that the samples need; empty: none."""


SAMPLED = {
    "throughput": _Sampled("group", "delivered_bytes", 1e-6, "throughput (Mbit/s)", is_rate=True),
    "goodput": _Sampled("flow", "goodput_bytes", 1e-6, "goodput (Mbit/s)", is_rate=True, record="throughput-by-flow"),
    "queue": _Sampled("port", "queue_bytes", 1e-3, "queue (kB)"),
    "queue_min": _Sampled("port", "queue_min_bytes", 1e-3, "minimum of the queue (kB)", record="queue-extremes"),
    "queue_max": _Sampled("port", "queue_max_bytes", 1e-3, "maximum of the queue (kB)", record="queue-extremes"),
    "sent": _Sampled("port", "sent_bytes", 1e-6, "sent (Mbit/s)", is_rate=True),
    "drops": _Sampled("port", "dropped_packets", 1.0, "packets dropped so far"),
    "window": _Sampled("flow", "window_segments", 1.0, "window (segments)"),
    "outstanding": _Sampled("flow", "outstanding_segments", 1.0, "segments outstanding"),
    "rtt": _Sampled("flow", "smoothed_rtt_s", 1e3, "smoothed RTT (ms)"),
    "in_network": _Sampled("network", "in_network_packets", 1.0, "packets in the network"),
}
"""Quantities of samples, for the x axis `time` and for distributions."""

TRANSFERS = {
    "size": ("size_bytes", 1e-3, "size of the transfer (kB)"),
    "fct": ("completion_s", 1e3, "flow completion time (ms)"),
    "slowdown": ("slowdown", 1.0, "slowdown"),
    "retransmissions": ("retransmissions", 1.0, "retransmissions"),
    "start": ("start_s", 1.0, "start (s)"),
}
"""Quantities of transfers by name: column of the table `transfers`, factor to the unit of the label, and label."""

_PROBE = "probe."
"""Beginning of the name of a state variable: of a discipline or, with `probe`, of a congestion control."""


def _split(text: str) -> tuple[str, str]:
    """Return name and pattern of a quantity; the pattern is empty if there is none. Raises UsageError."""
    match = re.fullmatch(r"\s*([A-Za-z_][\w.-]*)\s*(?:\[(.+)\])?\s*", text)
    if match is None:
        raise UsageError(f"{text!r} is not a quantity: write a name such as goodput, or goodput[*]")
    return match[1], match[2] or ""


def _unknown(name: str, known: Sequence[str]) -> UsageError:
    near = get_close_matches(name, known, n=1)
    advice = f"did you mean {near[0]}?" if near else f"there are {', '.join(known)}"
    return UsageError(f"there is no quantity {name!r}; {advice}")


def xy(run: Run, x: str, y: str, *, size: Size = "column", log: Logarithmic = "") -> Figure:
    """Draw one quantity of a run against another, and return the figure.

    - `x` is `time` and `y` one of `SAMPLED` or a state variable such as `probe.count`: the first replication over time.
    - `y` is `cdf` and `x` one of these or of `TRANSFERS`: the distribution, after the warm-up.
    - both are of `TRANSFERS`: a point for each complete transfer.
    - both are metrics of the summary: a point with intervals for each group.

    Raises:
        UsageError: A quantity is unknown or not in the run, or the two quantities cannot be combined.

    """
    (x_name, x_names), (y_name, y_names) = _split(x), _split(y)
    with paper_style():
        if x_name == "time":
            return _over_time(run, y_name, y_names, size, log)
        if y_name == "cdf":
            return _distributions(run, x_name, x_names, size, log)
        if x_name in TRANSFERS and y_name in TRANSFERS:
            return _of_transfers(run, x_name, y_name, y_names or x_names or "*", size, log)
        for name in (x_name, y_name):
            if name not in METRICS:
                raise _unknown(name, [*METRICS, *TRANSFERS, "time", "cdf"])
        return _of_metrics(run, x_name, y_name, y_names or x_names or "*", size, log)


def _probe(run: Run, name: str) -> _Sampled:
    """Return the state variable of a name such as `probe.count`; raises UsageError if the samples have none."""
    import polars as pl

    wanted = name.removeprefix(_PROBE)
    rows = run.table("series").filter(pl.col("scope").is_in(["port", "flow"])).select("scope", "quantity").unique()
    ordinary = {known.quantity for known in SAMPLED.values()}
    found = {quantity: scope for scope, quantity in sorted(rows.rows()) if quantity not in ordinary}
    if wanted not in found:
        known = ", ".join(f"{_PROBE}{quantity}" for quantity in sorted(found)) or "none"
        raise UsageError(f"the samples have no state variable {wanted!r}; those of this run: {known}")
    unit = unit_of(wanted)
    scale, shown = display(unit) if unit else (1.0, "")
    bare = wanted.rpartition("_")[0] if unit else wanted
    return _Sampled(found[wanted], wanted, scale, f"{bare.replace('_', ' ')}{f' ({shown})' if shown else ''}")


def _known(run: Run, name: str) -> _Sampled:
    """Return the sampled quantity of a name; raises UsageError."""
    if name.startswith(_PROBE):
        return _probe(run, name)
    if name not in SAMPLED:
        raise _unknown(name, [*SAMPLED, f"{_PROBE}NAME"])
    return SAMPLED[name]


def _sampled(run: Run, name: str, names: str) -> tuple[str, dict[str, tuple[list[float], list[float]]]]:
    """Return the label of a sampled quantity, and its times, s, and values by name of the flow, group or port."""
    known = _known(run, name)
    found = Selection(run).samples(known.scope, known.quantity, names or "*", record=known.record)
    curves = {}
    for own_name, rows in found.items():
        filled = rows.drop_nulls("value")
        times, values = filled["time_s"].to_list(), filled["value"].to_list()
        curves[own_name or name] = (
            times,
            [known.scale * v for v in (rates(times, values) if known.is_rate else values)],
        )
    return known.label, curves


def _over_time(run: Run, name: str, names: str, size: Size, log: Logarithmic) -> Figure:
    what, curves = _sampled(run, name, names)
    style = "steps-pre" if _known(run, name).is_rate else "default"
    return _lines(curves, "time (s)", what, size, log, drawstyle=style)


def _lines(
    curves: Mapping[str, tuple[Sequence[float], Sequence[float]]],
    x: str,
    y: str,
    size: Size,
    log: Logarithmic,
    drawstyle: str = "default",
) -> Figure:
    figure = figure_of(size)
    axes = figure.axes[0]
    for colour, (name, (xs, ys)) in zip(plot.COLOURS, curves.items(), strict=False):
        axes.plot(xs, ys, color=colour, label=name, linewidth=0.9, drawstyle=drawstyle)
    label(axes, x, y, log)
    if "x" not in log:
        axes.set_xlim(left=0)
    cut = f"{len(plot.COLOURS)} of {len(curves)}" if len(curves) > len(plot.COLOURS) else ""
    legend_beside(figure, axes, title=cut)
    return figure


def _distributions(run: Run, name: str, names: str, size: Size, log: Logarithmic) -> Figure:
    if name in TRANSFERS:
        column, scale, what = TRANSFERS[name]
        values = {group: [scale * v for v in rows[column]] for group, rows in _transfers(run, names or "*")}
        share = "share of transfers"
    else:
        what, curves = _sampled(run, name, names)
        values = {n: [v for t, v in zip(*c, strict=True) if t > run.warmup_s] for n, c in curves.items()}
        share = "share of samples"
    steps = {group: distribution(found) for group, found in values.items() if found}
    return _lines(steps, what, share, size, log)


def _transfers(run: Run, groups: str) -> Iterator[tuple[str, pl.DataFrame]]:
    """Yield the complete transfers after the warm-up by group, of all replications."""
    for (name,), rows in complete(run, groups).group_by("group", maintain_order=True):
        yield str(name), rows


def _of_transfers(run: Run, x: str, y: str, groups: str, size: Size, log: Logarithmic) -> Figure:
    (x_column, x_scale, x_label), (y_column, y_scale, y_label) = TRANSFERS[x], TRANSFERS[y]
    figure = figure_of(size)
    axes = figure.axes[0]
    for index, (name, rows) in enumerate(_transfers(run, groups)):
        axes.plot(
            rows[x_column] * x_scale,
            rows[y_column] * y_scale,
            plot.look(index).mark,
            color=plot.look(index).colour,
            markersize=2,
            alpha=0.5,
            markeredgewidth=0,
            label=name,
            rasterized=True,
        )
    label(axes, x_label, y_label, log)
    legend_beside(figure, axes)
    return figure


def _points(axes: Axes, points: Mapping[str, tuple[Interval, Interval]]) -> None:
    for index, (name, (x, y)) in enumerate(points.items()):
        bars = [[[_bar(i.mean - i.lo)], [_bar(i.hi - i.mean)]] for i in (x, y)]
        colour, mark, _ = plot.look(index)
        axes.errorbar(
            [x.mean], [y.mean], xerr=bars[0], yerr=bars[1], fmt=mark, color=colour, elinewidth=0.8, label=name
        )


def _bar(length: float) -> float:
    """Return the length of a half error bar; 0 for an unbounded interval."""
    return length if 0 <= length < math.inf else 0.0


def _title(metric: str) -> tuple[float, str]:
    """Return the factor to the display unit of a metric, and its label."""
    known = METRICS[metric]
    scale, unit = display(known.unit, is_share=known.is_share)
    return scale, f"{metric.replace('_', ' ')}{f' ({unit})' if unit else ''}"


def _of_metrics(run: Run, x: str, y: str, groups: str, size: Size, log: Logarithmic) -> Figure:
    import polars as pl

    rows = matching(run.table("metrics").filter(pl.col("scope") == "group"), "name", groups)
    (x_scale, x_label), (y_scale, y_label) = _title(x), _title(y)
    points = {}
    for (name,), part in rows.group_by("name", maintain_order=True):
        both = [
            mean_interval([scale * v for v in part.filter(pl.col("metric") == metric)["value"]], run.confidence)
            for metric, scale in ((x, x_scale), (y, y_scale))
        ]
        if not any(math.isnan(interval.mean) for interval in both):
            points[str(name)] = (both[0], both[1])
    if not points:
        raise UsageError(f"no group has both {x} and {y}")
    figure = figure_of(size)
    axes = figure.axes[0]
    _points(axes, points)
    label(axes, x_label, y_label, log)
    if "x" not in log:
        axes.set_xlim(left=0)
    legend_beside(figure, axes, may_grow=not has_height(size))
    return figure


def sweep_xy(sweep: Sweep, x: str, y: str, *, size: Size = "column", log: Logarithmic = "") -> Figure:
    """Draw a metric of a sweep against one of its axes, or against another metric, with intervals.

    `x` is the name of an axis, such as `links[0].rate`, or a metric; `y` is a metric of all flows (`loss`), of a group
    (`goodput[data]`) or of the groups that match a pattern (`goodput[*]`). There is a curve for each group and for each
    combination of the values of the other axes.

    Raises:
        UsageError: `x` is neither an axis nor a metric, `y` is not a metric, or no run has the metric.

    """
    measures = _measures(sweep, y)
    points = [setting for setting, runs in sweep.runs.items() if runs]
    if not points:
        raise UsageError("no run of the sweep has finished")
    others = [name for name in sweep.paths if name != x]
    varied = [name for name in others if len({dict(setting)[name] for setting in points}) > 1]
    short = _short(varied)
    axis = axis_of(x, [dict(setting)[x] for setting in points]) if x in sweep.paths else None
    against = None if axis else _measures(sweep, x)[0]
    curves: dict[str, list[_Point]] = {}
    for measure in measures:
        for setting in points:
            values = dict(setting)
            ys = scaled(sweep.interval(setting, measure), fixed(measure)[0])
            xs = ys if against is None else scaled(sweep.interval(setting, against), fixed(against)[0])
            words = [str(values[name]) if len(varied) == 1 else f"{short[name]} = {values[name]}" for name in varied]
            name = ", ".join(([measure.name] if len(measures) > 1 else []) + words)
            if ys.n and xs.n:
                curves.setdefault(name, []).append(_Point(axis.places[values[x]] if axis else 0.0, xs, ys))
    with paper_style():
        figure = figure_of(size)
        axes = figure.axes[0]
        for index, (name, found) in enumerate(curves.items()):
            if axis and axis.is_number:
                found.sort(key=lambda point: float(point.place))
            if axis:
                plot.curve(axes, [p.place for p in found], [p.y for p in found], label=name, index=index)
            else:
                _path(axes, found, name, index)
        x_label = axis.label if axis else _of(against) if against else x
        label(axes, x_label, _of(measures[0]) if len(measures) == 1 else _of(measures[0], whose=False), log)
        legend_beside(
            figure,
            axes,
            title=varied[0] if len(varied) == 1 else "",
            columns=2 if len(varied) > 1 else 3,
            may_grow=not has_height(size),
        )
        return figure


def _short(paths: Sequence[str]) -> dict[str, str]:
    """Return the last parts of paths that distinguish them, such as `buffer` of `switches.core.buffer`, by path."""
    parts = {path: path.split(".") for path in paths}
    found = {}
    for path, own in parts.items():
        ends = [other for other in paths if other != path]
        count = next(
            (k for k in range(1, len(own)) if not any(parts[other][-k:] == own[-k:] for other in ends)), len(own)
        )
        found[path] = ".".join(own[-count:])
    return found


class _Point(NamedTuple):
    """A point of a sweep: its place on an axis of the sweep (0 without one), and the intervals of x and y."""

    place: float | str
    x: Interval
    y: Interval


def _path(axes: Axes, points: Sequence[_Point], name: str, index: int) -> None:
    """Draw points with intervals on both axes, connected in their order."""
    bars = [
        [[_bar(i.mean - i.lo) for i in along], [_bar(i.hi - i.mean) for i in along]]
        for along in ([p.x for p in points], [p.y for p in points])
    ]
    axes.errorbar(
        [p.x.mean for p in points],
        [p.y.mean for p in points],
        xerr=bars[0],
        yerr=bars[1],
        fmt=plot.look(index).mark + plot.look(index).dashes,
        color=plot.look(index).colour,
        elinewidth=0.8,
        label=name,
    )


def _of(measure: Measure, *, whose: bool = True) -> str:
    """Return the label of a metric with its unit."""
    unit = fixed(measure)[1]
    of = f" of {measure.name}" if whose and measure.name else ""
    return f"{measure.metric.replace('_', ' ')}{of}{f' ({unit})' if unit else ''}"


def _measures(sweep: Sweep, text: str) -> list[Measure]:
    """Return the metrics of a quantity: of all flows, or of the groups that match its pattern."""
    from fnmatch import fnmatchcase

    name, pattern = _split(text)
    known = sweep.measures()
    names = list(dict.fromkeys(measure.metric for measure in known))
    if name not in names:
        raise _unknown(name, [*names, *sweep.paths])
    if not pattern:
        found = [measure for measure in known if measure == Measure("total", "", name)]
    else:
        scopes = [m for m in known if m.metric == name and m.scope == "group"]
        found = [m for m in scopes if m.name == pattern or fnmatchcase(m.name, pattern)]
    if not found:
        have = ", ".join(str(measure) for measure in known if measure.metric == name)
        raise UsageError(f"no metric is {text}; there are {have}")
    return found
