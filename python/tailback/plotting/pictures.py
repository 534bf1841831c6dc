"""Pictures of a run: distributions, time sequences, windows, fairness, completion times and queues.

Each function takes a run (a `Result` or a `RunDirectory`) and returns a figure, by default as wide as a column of a
paper. The figure is of the first replication, unless the function says "all replications". If the run lacks the data,
UsageError names the option of the scenario that records them. Names of flows, groups and ports may be patterns, as
`web*` or `sw1->*`.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, ParamSpec, Protocol

from tailback.errors import UsageError
from tailback.plotting.paper import Logarithmic, Size, figure_of, label, legend_beside, paper_style
from tailback.results.intervals import mean_interval
from tailback.results.report import jain_index

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from tailback.results.tables import TableName

__all__ = ["PICTURES", "Run", "Selection", "Span", "complete", "distribution", "matching", "picture", "rates"]

_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#8c6d31")
_MAX_CURVES = len(_COLOURS)
"""Maximum number of curves, bars or layers of a picture."""
Span = tuple[float, float] | None
"""Part of the run that is shown, simulated s; `None`: all of it."""
_STATES = {"opening": "#cccccc", "reduced": "#e69f00", "recovery": "#d55e00", "loss": "#cc79a7"}
"""Colours of the states of a transport in which its window is not open."""


class Run(Protocol):
    """A run with its tables: a `Result`, or a run directory."""

    @property
    def title(self) -> str:
        """Title of the scenario."""
        ...

    @property
    def confidence(self) -> float:
        """Confidence level of the intervals, 0 to 1."""
        ...

    @property
    def warmup_s(self) -> float:
        """End of the warm-up, simulated s."""
        ...

    def table(self, name: TableName) -> pl.DataFrame:
        """Return a table of all replications."""
        ...


class Selection:
    """Rows of a run's tables for the pictures."""

    def __init__(self, run: Run) -> None:
        self.run = run

    def recorded(self, table: TableName, record: str) -> pl.DataFrame:
        """Return the rows of the first replication of a table; raises UsageError if there are none."""
        found = first(self.run.table(table))
        if found.is_empty():
            raise UsageError(f'the run has no rows of {table}: set record = ["{record}"] in [run]')
        return found

    def samples(self, scope: str, quantity: str, names: str = "*", *, record: str = "") -> dict[str, pl.DataFrame]:
        """Return the columns `time_s` and `value` of the first replication by name, in descending order of the maximum.

        Raises UsageError if the run has no samples of the quantity, or no name matches.
        """
        import polars as pl

        series = first(self.run.table("series"))
        if series.is_empty():
            raise UsageError('the run has no samples: set sample in [run], such as sample = "10ms"')
        of_kind = series.filter((pl.col("scope") == scope) & (pl.col("quantity") == quantity))
        if of_kind.is_empty():
            what = f'record = ["{record}"] in [run]' if record else "probe = true for the flows"
            raise UsageError(f"the samples have no {quantity} of a {scope}: set {what}")
        chosen = matching(of_kind, "name", names)
        order = chosen.group_by("name").agg(pl.col("value").max()).sort("value", "name", descending=[True, False])
        return {name: chosen.filter(pl.col("name") == name) for name in order["name"]}


def first(table: pl.DataFrame) -> pl.DataFrame:
    """Return the rows of the first replication."""
    import polars as pl

    return table.filter(pl.col("replication") == pl.col("replication").min())


def matching(table: pl.DataFrame, column: str, pattern: str) -> pl.DataFrame:
    """Return the rows whose name in `column` matches a pattern; raises UsageError if there are none.

    A name also matches itself, such as `data[2]`, although brackets have a meaning in patterns.
    """
    import polars as pl

    names = table[column].unique().to_list()
    found = [name for name in names if name == pattern or fnmatchcase(name, pattern)]
    if not found:
        known = ", ".join(sorted(map(str, names))[:8])
        raise UsageError(f"no {column} matches {pattern!r}; there are {known}")
    return table.filter(pl.col(column).is_in(found))


def distribution(values: Sequence[float], weights: Sequence[float] | None = None) -> tuple[list[float], list[float]]:
    """Return the steps of an empirical distribution: ascending values, and the share of values up to each.

    They begin with the smallest value and a share of 0, and end with the largest value and a share of 1. Default: all
    values have the weight 1.
    """
    sums: dict[float, float] = {}
    for value, weight in zip(values, weights or [1.0] * len(values), strict=True):
        sums[value] = sums.get(value, 0.0) + weight
    total, so_far = math.fsum(sums.values()), 0.0
    x: list[float] = []
    y: list[float] = []
    for value in sorted(sums):
        x += [value, value]
        y += [so_far, so_far := so_far + sums[value] / total]
    y[-1] = 1.0
    return x, y


def rates(times: Sequence[float], counter: Sequence[float]) -> list[float]:
    """Return the rate of a counter of bytes in each interval that ends at one of `times`, bit/s."""
    before = [(0.0, 0.0), *zip(times, counter, strict=True)]
    return [8 * (v - v0) / (t - t0) for (t0, v0), t, v in zip(before, times, counter, strict=False)]


_P = ParamSpec("_P")


def _styled(draw: Callable[_P, Figure]) -> Callable[_P, Figure]:
    @functools.wraps(draw)
    def styled(*args: _P.args, **options: _P.kwargs) -> Figure:
        with paper_style():
            return draw(*args, **options)

    return styled


def _curves(
    curves: Mapping[str, tuple[Sequence[float], Sequence[float]]],
    x: str,
    y: str,
    size: Size,
    log: Logarithmic = "",
    *,
    title: str = "",
    **line: Any,
) -> Figure:
    """Draw up to eight curves with a legend below."""
    figure = figure_of(size)
    axes = figure.axes[0]
    for colour, (name, (xs, ys)) in zip(_COLOURS, curves.items(), strict=False):
        axes.plot(xs, ys, color=colour, label=name, **line)
    shown = f"{_MAX_CURVES} of {len(curves)}" if len(curves) > _MAX_CURVES else ""
    label(axes, x, y, log, title=title)
    legend_beside(figure, axes, title=shown)
    return figure


def _limit(axes: Axes, between: Span) -> None:
    """Let the time axis show a part of the run; `None`: from 0 to its end."""
    axes.set_xlim(*(between or (0, None)))


def _from_zero(axes: Axes, last: float) -> None:
    axes.set_xlim(0, last)


def _measured(run: Run, table: pl.DataFrame, column: str = "time_s") -> pl.DataFrame:
    """Return the rows after the warm-up."""
    import polars as pl

    return table.filter(pl.col(column) > run.warmup_s)


@_styled
def queue_cdf(run: Run, ports: str = "*", *, size: Size = "column", log: Logarithmic = "") -> Figure:
    """Draw the distribution of the queue of each port at the samples after the warm-up, for the eight longest."""
    found = Selection(run).samples("port", "queue_bytes", ports)
    used = {name: _measured(run, rows)["value"] for name, rows in list(found.items())[:_MAX_CURVES]}
    busy = {name: values for name, values in used.items() if (values.len() and (values.max() or 0)) or ports != "*"}
    curves = {name: distribution((values * 1e-3).to_list()) for name, values in (busy or used).items()}
    return _curves(curves, "queue (kB)", "share of samples", size, log)


@_styled
def delay_cdf(run: Run, names: str = "*", *, size: Size = "column", log: Logarithmic = "x") -> Figure:
    """Draw the distribution of the one-way delays of all packets, by group, or by class without `per-flow-delay`."""
    import polars as pl

    found = Selection(run).recorded("delays", "delay-distribution")
    scopes = found["scope"].unique().to_list()
    rows = matching(found.filter(pl.col("scope") == ("group" if "group" in scopes else "class")), "name", names)
    curves = {}
    for (name,), part in rows.group_by("name", maintain_order=True):
        shown = str(name) if "group" in scopes else f"class {name}"
        curves[shown] = distribution((part["delay_s"] * 1e3).to_list(), part["delivered_packets"].to_list())
    return _curves(curves, "one-way delay (ms)", "share of packets", size, log)


@_styled
def fct_cdf(run: Run, groups: str = "*", *, size: Size = "column", log: Logarithmic = "x") -> Figure:
    """Draw the distribution of the completion times of the complete transfers of all replications, by group."""
    rows = complete(run, groups)
    curves = {
        str(name): distribution((part["completion_s"] * 1e3).to_list())
        for (name,), part in rows.group_by("group", maintain_order=True)
    }
    return _curves(curves, "flow completion time (ms)", "share of transfers", size, log)


def complete(run: Run, groups: str) -> pl.DataFrame:
    """Return the complete transfers that began after the warm-up."""
    import polars as pl

    table = run.table("transfers")
    if table.is_empty():
        raise UsageError('the run has no rows of transfers: set record = ["transfers"] in [run]')
    rows = matching(table, "group", groups)
    found = rows.filter((pl.col("start_s") >= run.warmup_s) & pl.col("completion_s").is_not_null())
    if found.is_empty():
        raise UsageError("no transfer that began after the warm-up is complete")
    return found


@_styled
def fct(run: Run, groups: str = "*", *, size: Size = "column", log: Logarithmic = "xy") -> Figure:
    """Draw median and 99th percentile of the completion time by the size of the transfer, of all replications."""
    return _by_size(run, groups, "completion_s", 1e3, "flow completion time (ms)", size, log)


@_styled
def slowdown(run: Run, groups: str = "*", *, size: Size = "column", log: Logarithmic = "xy") -> Figure:
    """Draw median and 99th percentile of the slowdown by the size of the transfer, of all replications.

    The slowdown is the completion time divided by that over the idle path, at least 1.
    """
    figure = _by_size(run, groups, "slowdown", 1.0, "slowdown", size, log)
    if "y" in log:
        figure.axes[0].set_ylim(bottom=1)
    return figure


def _by_size(run: Run, groups: str, column: str, scale: float, what: str, size: Size, log: Logarithmic) -> Figure:
    rows = complete(run, groups)
    figure = figure_of(size)
    axes = figure.axes[0]
    for colour, ((name,), part) in zip(_COLOURS, rows.group_by("group", maintain_order=True), strict=False):
        bins = _bins(part.sort("size_bytes"))
        sizes = [math.exp(sum(math.log(value) for value in b["size_bytes"]) / b.height) * 1e-3 for b in bins]
        for quantile, dashes, mark in ((0.5, "-", "o"), (0.99, "--", "s")):
            values = [scale * float(b[column].quantile(quantile, "nearest") or 0.0) for b in bins]
            shown = "median" if quantile == 0.5 else "99th percentile"
            axes.plot(sizes, values, dashes, color=colour, marker=mark, label=f"{name}, {shown}")
    label(axes, "size of the transfer (kB)", what, log)
    legend_beside(figure, axes, columns=2)
    return figure


def _bins(rows: pl.DataFrame) -> list[pl.DataFrame]:
    """Return up to ten parts with about equal numbers of transfers, in order of size; equal sizes are in one part.

    `rows` is in order of size. There is one part per 20 transfers, at least one.
    """
    count = max(1, min(10, rows.height // 20 or 1))
    sizes = rows["size_bytes"].to_list()
    edges = [0]
    for index in range(1, count):
        place = round(index * rows.height / count)
        while place < rows.height and sizes[place] == sizes[place - 1]:
            place += 1
        if edges[-1] < place < rows.height:
            edges.append(place)
    return [rows[a:b] for a, b in zip(edges, [*edges[1:], rows.height], strict=True)]


@_styled
def cwnd(run: Run, flows: str = "*", *, size: Size = "column", states: bool = True, between: Span = None) -> Figure:
    """Draw congestion windows over time at every change, and slow-start thresholds (dashed), for up to four flows.

    With `states`, and if there is a single flow, bands behind its window show the states other than open.
    """
    import polars as pl

    rows = matching(Selection(run).recorded("transport_changes", "transport-changes"), "flow", flows)
    names = rows["flow"].unique(maintain_order=True).to_list()
    figure = figure_of(size)
    axes = figure.axes[0]
    for colour, name in zip(_COLOURS, names[:4], strict=False):
        part = rows.filter(pl.col("flow") == name)
        axes.step(part["time_s"], part["window_segments"], where="post", color=colour, linewidth=0.9, label=name)
        axes.step(
            part["time_s"], part["threshold_segments"].fill_null(math.nan), "--", where="post", color=colour, lw=0.7
        )
    if states and len(names) == 1:
        _bands(axes, rows)
    label(axes, "time (s)", "window (segments)", title="" if len(names) <= 4 else f"4 of {len(names)} flows")
    top = float(rows.filter(pl.col("flow").is_in(names[:4]))["window_segments"].max() or 1)  # type: ignore[arg-type]
    axes.set_ylim(0, 1.1 * top)
    _limit(axes, between)
    legend_beside(figure, axes)
    return figure


def _bands(axes: Axes, rows: pl.DataFrame) -> None:
    """Draw a band for each interval in which the only flow of `rows` is not in the state open."""
    shown: set[str] = set()
    times, found = rows["time_s"].to_list(), rows["state"].to_list()
    begin, state = times[0], found[0]
    for time, now in [*zip(times[1:], found[1:], strict=True), (times[-1], "")]:
        if now != state:
            if state in _STATES:
                axes.axvspan(
                    begin,
                    time,
                    color=_STATES[state],
                    alpha=0.35,
                    linewidth=0,
                    label=state if state not in shown else None,
                )
                shown.add(state)
            begin, state = time, now


@_styled
def rtt(run: Run, flows: str = "*", *, size: Size = "column", between: Span = None) -> Figure:
    """Draw the smoothed round-trip times of up to eight flows over time, at every change."""
    rows = matching(Selection(run).recorded("transport_changes", "transport-changes"), "flow", flows)
    rows = rows.drop_nulls("smoothed_rtt_s")
    curves = {
        str(name): (part["time_s"].to_list(), (part["smoothed_rtt_s"] * 1e3).to_list())
        for (name,), part in rows.group_by("flow", maintain_order=True)
    }
    figure = _curves(curves, "time (s)", "smoothed RTT (ms)", size, linewidth=0.8, drawstyle="steps-post")
    _limit(figure.axes[0], between)
    return figure


@_styled
def time_sequence(run: Run, flow: str = "*", *, size: Size = "column", between: Span = None) -> Figure:
    """Draw the highest segments sent and acknowledged of a flow over time; default: the first flow with a transport."""
    import polars as pl

    rows = matching(Selection(run).recorded("transport_changes", "transport-changes"), "flow", flow)
    name = rows["flow"][0]
    part = rows.filter(pl.col("flow") == name)
    begin = part["acknowledged_sequence"][0]
    figure = figure_of(size)
    axes = figure.axes[0]
    shown = (("next_sequence", "sent", _COLOURS[0], "-"), ("acknowledged_sequence", "acknowledged", _COLOURS[1], "--"))
    for column, text, colour, line in shown:
        axes.step(part["time_s"], part[column] - begin, line, where="post", color=colour, linewidth=0.9, label=text)
    repairs = part.filter(pl.col("state").is_in(["recovery", "loss"]))
    if repairs.height:
        _bands(axes, part)
    label(axes, "time (s)", "sequence number (segments)", title=str(name))
    if between is not None:
        inside = part.filter(pl.col("time_s").is_between(*between))
        if inside.is_empty():
            raise UsageError(f"{name} has no changes from {between[0]:g} s to {between[1]:g} s")
        low, high = inside["acknowledged_sequence"][0] - begin, inside["next_sequence"][-1] - begin
        axes.set_ylim(max(0, low - 0.05 * (high - low)), high + 0.05 * (high - low))
        axes.set_xlim(*between)
    legend_beside(figure, axes, columns=4)
    return figure


@_styled
def throughput(run: Run, names: str = "*", *, by: str = "group", size: Size = "column") -> Figure:
    """Draw the payload delivered over time by group, or by flow (`by="flow"`), for up to eight of them."""
    curves = {
        name: (times, [1e-6 * v for v in values]) for name, (times, values) in throughputs(run, names, by).items()
    }
    figure = _curves(curves, "time (s)", "throughput (Mbit/s)", size, drawstyle="steps-pre", linewidth=0.9)
    _from_zero(figure.axes[0], max(times[-1] for times, _ in curves.values()))
    return figure


def throughputs(run: Run, names: str, by: str) -> dict[str, tuple[list[float], list[float]]]:
    """Return by name the times, and the rate in the interval that ends at each, bit/s; raises UsageError.

    With `by="flow"`, the rate of a flow with a transport is its goodput.
    """
    if by not in ("group", "flow"):
        raise UsageError(f"{by!r} is not group or flow")
    select = Selection(run)
    found = select.samples(by, "delivered_bytes", names, record="throughput-by-flow")
    if by == "flow":
        # There may be no flow with a transport.
        with suppress(UsageError):
            found |= select.samples(by, "goodput_bytes", names)
    return {
        name: (times := rows["time_s"].to_list(), rates(times, rows["value"].to_list())) for name, rows in found.items()
    }


@_styled
def fairness(run: Run, flows: str = "*", *, size: Size = "column") -> Figure:
    """Draw Jain's fairness index of the goodputs of flows in each sampling interval.

    A flow counts from the first interval in which it delivers to the last one.
    """
    found = throughputs(run, flows, "flow")
    times = next(iter(found.values()))[0]
    active: list[tuple[int, int, list[float]]] = []
    for _, values in found.values():
        delivering = [index for index, value in enumerate(values) if value > 0]
        if delivering:
            active.append((delivering[0], delivering[-1], values))
    index = [jain_index([v[i] for low, high, v in active if low <= i <= high]) for i in range(len(times))]
    figure = _curves({"": (times, index)}, "time (s)", "Jain's fairness index", size, drawstyle="steps-pre")
    axes = figure.axes[0]
    axes.set_ylim(0, 1.03)
    _from_zero(axes, times[-1])
    return figure


@_styled
def delay_throughput(run: Run, groups: str = "*", *, size: Size = "column", log: Logarithmic = "") -> Figure:
    """Draw throughput against mean delay of each group, with intervals over all replications. Up and left is better."""
    import polars as pl

    metrics = run.table("metrics").filter(pl.col("scope") == "group")
    rows = matching(metrics, "name", groups)
    figure = figure_of(size)
    axes = figure.axes[0]
    for colour, ((name,), part) in zip(_COLOURS, rows.group_by("name", maintain_order=True), strict=False):
        delay, rate = (
            mean_interval([scale * v for v in part.filter(pl.col("metric") == metric)["value"]], run.confidence)
            for metric, scale in (("delay", 1e3), ("throughput", 1e-6))
        )
        if math.isnan(delay.mean):
            continue
        bars = [[_bar(i.mean - i.lo), _bar(i.hi - i.mean)] for i in (delay, rate)]
        axes.errorbar(
            [delay.mean],
            [rate.mean],
            xerr=[[bars[0][0]], [bars[0][1]]],
            yerr=[[bars[1][0]], [bars[1][1]]],
            fmt="o",
            color=colour,
            elinewidth=0.8,
            label=str(name),
        )
    label(axes, "mean one-way delay (ms)", "throughput (Mbit/s)", log)
    if "x" not in log:
        axes.set_xlim(left=0)
    legend_beside(figure, axes)
    return figure


def _bar(length: float) -> float:
    """Return the length of a half error bar; 0 for an unbounded interval."""
    return length if 0 <= length < math.inf else 0.0


@_styled
def queue_composition(run: Run, port: str = "*", *, by: str = "group", size: Size = "column") -> Figure:
    """Draw the bytes that wait at a port over time, stacked by group or flow; default: the port with the most."""
    import polars as pl

    if by not in ("group", "flow"):
        raise UsageError(f"{by!r} is not group or flow")
    rows = matching(Selection(run).recorded("queue_by_flow", "queue-by-flow"), "port", port)
    sums = (
        rows.group_by("port").agg(pl.col("waiting_bytes").sum()).sort("waiting_bytes", "port", descending=[True, False])
    )
    name = sums["port"][0]
    part = rows.filter(pl.col("port") == name)
    if by == "group":
        # Acknowledgements are a layer of their own.
        acks = (
            pl.when(pl.col("flow").str.ends_with(" (ack)")).then(pl.col("group") + " (ack)").otherwise(pl.col("group"))
        )
        part = part.with_columns(acks.alias("group"))
    layers = part.group_by(by).agg(pl.col("waiting_bytes").sum()).sort("waiting_bytes", by, descending=[True, False])
    names = layers[by].to_list()
    kept = names if len(names) <= _MAX_CURVES else names[: _MAX_CURVES - 1]
    times = first(run.table("series")).filter(pl.col("quantity") == "in_network_packets")["time_s"].to_list()
    place = {time: index for index, time in enumerate(times)}
    heights = {layer: [0.0] * len(times) for layer in (*kept, *(["others"] if len(kept) < len(names) else []))}
    for row_time, layer, waiting in part.select("time_s", by, "waiting_bytes").iter_rows():
        heights[layer if layer in heights else "others"][place[row_time]] += waiting * 1e-3
    figure = figure_of(size)
    axes = figure.axes[0]
    axes.stackplot(
        times, list(heights.values()), labels=list(heights), colors=_COLOURS[: len(heights)], step="mid", linewidth=0
    )
    label(axes, "time (s)", "queue (kB)", title=f"queue at {name}")
    axes.set_xlim(times[0], times[-1])
    legend_beside(figure, axes)
    return figure


@_styled
def heat_map(run: Run, ports: str = "*", *, quantity: str = "utilisation", size: Size = "column") -> Figure:
    """Draw ports over time as a heat map: `utilisation` (by bytes sent), `queue`, or `drops` in each interval.

    At most 30 ports are shown, those with the largest values.
    """
    sources = {"utilisation": "sent_bytes", "queue": "queue_bytes", "drops": "dropped_packets"}
    if quantity not in sources:
        raise UsageError(f"{quantity!r} is not one of {', '.join(sources)}")
    found = Selection(run).samples("port", sources[quantity], ports)
    if ports == "*":
        found = {name: rows for name, rows in found.items() if (rows["value"].max() or 0) > 0} or found  # type: ignore[operator]
    names = sorted(list(found)[:30])
    times = found[names[0]]["time_s"].to_list()
    speeds = dict(first(run.table("ports")).select("port", "rate_bps").unique().iter_rows())
    grid = []
    for name in names:
        values = found[name]["value"].to_list()
        if quantity == "utilisation":
            grid.append([min(1.0, rate / speeds[name]) for rate in rates(times, values)])
        elif quantity == "queue":
            grid.append([value * 1e-3 for value in values])
        else:
            grid.append([b - a for a, b in zip([0.0, *values], values, strict=False)])
    figure = figure_of(size, shape=min(1.2, 0.3 + 0.045 * max(len(names), 6)))
    axes = figure.axes[0]
    axes.grid(visible=False)
    edges = [0.0, *times]
    mesh = axes.pcolormesh(edges, range(len(names) + 1), grid, vmin=0, vmax=1 if quantity == "utilisation" else None)
    mesh.set_rasterized(len(names) * len(times) > 2_000)
    axes.set_yticks([row + 0.5 for row in range(len(names))], names)
    axes.invert_yaxis()
    axes.set_xlabel("time (s)")
    units = {"utilisation": "utilisation", "queue": "queue (kB)", "drops": "drops (packets)"}
    figure.colorbar(mesh, ax=axes, label=units[quantity], pad=0.02)
    return figure


PICTURES: dict[str, Callable[..., Figure]] = {
    "queue_cdf": queue_cdf,
    "delay_cdf": delay_cdf,
    "fct_cdf": fct_cdf,
    "fct": fct,
    "slowdown": slowdown,
    "cwnd": cwnd,
    "rtt": rtt,
    "time_sequence": time_sequence,
    "throughput": throughput,
    "fairness": fairness,
    "delay_throughput": delay_throughput,
    "queue_composition": queue_composition,
    "heat_map": heat_map,
}
"""Functions of all pictures by name."""


def picture(run: Run, name: str, *names: str, **options: Any) -> Figure:
    """Draw a picture by its name, in which `-` counts as `_`, of the flows, groups or ports that `names` matches.

    Raises UsageError for an unknown name.
    """
    found = PICTURES.get(name.replace("-", "_"))
    if found is None:
        known: Iterable[str] = (picture.replace("_", "-") for picture in PICTURES)
        raise UsageError(f"there is no picture {name!r}; there are {', '.join(known)}")
    return found(run, *names, **options)
