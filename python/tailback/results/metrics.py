"""Metrics: names, units and definitions, and the values of those that are in the summary of a run.

A summary has metrics per group of flows, per class and for all flows together.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from tailback.results.intervals import Interval, mean_interval
from tailback.results.report import Report
from tailback.results.rows import DelayRow

__all__ = [
    "METRICS",
    "OTHERS",
    "RESOLUTION",
    "UNITS",
    "VOCABULARY",
    "Estimate",
    "Measure",
    "Metric",
    "advice_on",
    "estimates",
    "measures",
    "resolution",
]


@dataclass(frozen=True, slots=True)
class Metric:
    """Definition of a metric."""

    unit: str
    """Base unit, as in JSON and Parquet: `bit/s`, `s`, `B`, `packet`, `packet/s`, or `1` for numbers without a unit."""
    about: str
    """Definition in a few words."""
    title: str = ""
    """Heading of the metric's column in tables; empty: the name of the metric."""
    is_share: bool = False
    """`True` if tables show the metric in percent."""


METRICS = {
    "offered": Metric("bit/s", "payload handed to the network"),
    "throughput": Metric("bit/s", "payload delivered"),
    "loss": Metric("1", "packets lost per packet offered", is_share=True),
    "delay": Metric("s", "mean one-way delay of packets", "mean delay"),
    "delay_p50": Metric("s", "median one-way delay of packets", "50 % delay"),
    "delay_p99": Metric("s", "99th percentile of the one-way delay of packets", "99 % delay"),
    "goodput": Metric("bit/s", "payload that reached applications in order, each byte once"),
    "jain": Metric("1", "Jain's fairness index of the goodputs of two or more flows, 1/n to 1"),
    "retransmitted": Metric("1", "segments sent again per segment sent", is_share=True),
    "completion": Metric("s", "mean time from a write to the arrival of its last byte (TCP, RDMA)"),
    "completion_p99": Metric("s", "99th percentile of the time from a write to its last byte", "99 % completion"),
    "response": Metric("s", "mean completion time of an application's pages or transfers (FCT)"),
    "response_p99": Metric("s", "99th percentile of the completion time of pages or transfers", "99 % response"),
    "slowdown": Metric("1", "mean of a transfer's completion time divided by that over the idle path"),
    "jitter": Metric("s", "interarrival jitter (RFC 3550); needs run.delay-variation"),
    "pdv_p99": Metric(
        "s", "99th percentile of the delay above its minimum (RFC 5481); needs run.delay-variation", "99 % PDV"
    ),
    "pdv_p999": Metric(
        "s", "99.9th percentile of the delay above its minimum (RFC 5481); needs run.delay-variation", "99.9 % PDV"
    ),
    "ipdv_p99": Metric(
        "s",
        "99th percentile of the change of delay between consecutive packets (RFC 5481); needs run.delay-variation",
        "99 % IPDV",
    ),
    "marks": Metric("packet", 'packets that ports marked "congestion experienced", sum of all flows'),
}
"""Every metric of a summary, by its name. Values are of the time after the warm-up.

Jain's index of goodputs x is (Σx)²/(n·Σx²) (R. Jain, D. Chiu and W. Hawe, DEC-TR-301, 1984). `goodput`, `jain`,
`retransmitted` and `completion` need a transport, `response` and `slowdown` an application. Completion and response
times, slowdown and delay variation exist for groups only, and `marks` only for all flows together.
"""

OTHERS = {
    "delay_max": Metric("s", "maximum one-way delay of packets"),
    "delay_p90": Metric("s", "90th percentile of the one-way delay of packets"),
    "delay_p999": Metric("s", "99.9th percentile of the one-way delay of packets"),
    "drops": Metric("packet", "packets lost at given ports"),
    "held": Metric("1", "share of time in which data waits at a port that sends nothing", is_share=True),
    "lost": Metric("bit/s", "payload lost per second"),
    "mark_rate": Metric("packet/s", "packets marked per second"),
    "mos": Metric("1", "mean opinion score of calls or video, 1 to 5"),
    "queue": Metric("B", "bytes queued at a port"),
    "stopped": Metric("1", "share of time with a stop in force at a port", is_share=True),
    "utilisation": Metric("1", "share of time in which a port sends", is_share=True),
}
"""Metrics that are not in summaries; experiments and targets compute them from reports."""

VOCABULARY = METRICS | OTHERS
"""All metrics, by name. No other table defines their units."""

UNITS = {name: metric.unit for name, metric in METRICS.items()}
"""Unit of each metric of a summary."""

RESOLUTION = 1 / 256
"""Maximum relative error of a quantile: half the width of a histogram's bucket divided by the bucket's lower end.

docs/statistics.md describes the histogram.
"""

_OTHER_NAMES = {
    "fct": ("completion", "response"),
    "fairness": ("jain",),
    "ecn": ("marks",),
    "marked": ("marks",),
    "latency": ("delay",),
    "rtt": ("delay", "response"),
    "p50": ("delay_p50",),
    "median": ("delay_p50",),
    "p99": ("delay_p99",),
    "drops": ("loss",),
}
"""Metrics that users may want when they write one of these other names, for advice in messages."""


def advice_on(name: str) -> str:
    """Return advice on an unknown name of a metric: the metrics with a similar name, or else all metrics."""
    others = _OTHER_NAMES.get(name.lower())
    near = others or get_close_matches(name, METRICS, n=1)
    if near:
        return f"did you mean {' or '.join(f'`{other}`' for other in near)}?"
    return f"the metrics are {', '.join(METRICS)}"


_QUANTILES = ("p50", "p99")


@dataclass(frozen=True, slots=True, order=True)
class Measure:
    """A metric of all flows, of a group or of a class."""

    scope: str
    """`total`, `group` or `class`."""
    name: str
    """Name of the group, or number of the class; empty for `total`."""
    metric: str
    """Name of the metric, a key of `METRICS`."""

    @property
    def unit(self) -> str:
        """Base unit of the metric."""
        return UNITS[self.metric]

    @property
    def is_share(self) -> bool:
        """`True` if tables show the metric in percent."""
        return METRICS[self.metric].is_share

    def __str__(self) -> str:
        """Return the form of `--metric` and `until`: `loss` for all flows, `loss[data]` for a group or class."""
        return self.metric if self.scope == "total" else f"{self.metric}[{self.name}]"


@dataclass(frozen=True, slots=True)
class Estimate:
    """Mean and confidence interval of a measure over replications."""

    measure: Measure
    interval: Interval
    resolution: float = 0.0
    """Upper bound of a quantile's error, in the measure's unit; 0 for exact values."""

    def as_json(self) -> dict[str, object]:
        """Return the JSON form, without nested tables."""
        measure = self.measure
        head = {"scope": measure.scope, "name": measure.name, "metric": measure.metric}
        return head | self.interval.as_json(measure.unit)


def measures(report: Report) -> dict[Measure, float]:
    """Return the metrics of one replication's summary, in their units.

    Those without a value are absent, such as the delay of flows of which no packet arrived.
    """
    return {key: value for key, value in _measures(report) if not math.isnan(value)}


def _measures(report: Report) -> Iterator[tuple[Measure, float]]:
    groups = dict.fromkeys(flow["group"] for flow in report.data["flows"])
    classes = report.data["classes"]
    for scope, name, flows in [("total", "", "*"), *(("group", group, group) for group in groups)]:
        if not report.data["flows"]:
            return
        yield Measure(scope, name, "offered"), report.offered_bps(flows)
        yield Measure(scope, name, "throughput"), report.throughput_bps(flows)
        yield Measure(scope, name, "loss"), report.loss(flows)
        yield Measure(scope, name, "delay"), report.mean_delay_s(flows)
        rows = report.flows(flows)
        yield from _transports(scope, name, flows, report)
        if scope == "total":
            marked = sum(row["marked_packets"] for port in report.data["ports"] for row in port["classes"])
            yield Measure(scope, name, "marks"), marked
        if scope == "group":
            yield from _application(name, report)
            yield from _variation(name, report)
        # Quantiles of several flows cannot be computed from the quantiles of each. They are known only if the flows are
        # all flows of a class, or a single flow with a histogram of its own.
        class_ = rows[0]["class"]
        alike = [row for row in report.data["flows"] if row["class"] == class_]
        if rows == alike:
            yield from _quantiles(scope, name, classes[class_]["delay"])
        elif len(rows) == 1:
            yield from _quantiles(scope, name, rows[0]["delay"])
    for row in classes:
        name = str(row["class"])
        offered = row["offered"]["packets"]
        yield Measure("class", name, "offered"), row["offered"]["bytes"] * 8 / report.measured_s
        yield Measure("class", name, "throughput"), row["delivered"]["bytes"] * 8 / report.measured_s
        yield Measure("class", name, "loss"), row["dropped"]["packets"] / offered if offered else 0.0
        mean = row["delay"]["mean_s"]
        yield Measure("class", name, "delay"), math.nan if mean is None else mean
        yield from _quantiles("class", name, row["delay"])


def _transports(scope: str, name: str, flows: str, report: Report) -> Iterator[tuple[Measure, float]]:
    rows = report.transports(flows)
    if not rows:
        return
    sent = sum(row["segments"] for row in rows)
    yield Measure(scope, name, "goodput"), report.goodput_bps(flows)
    # The flows of an application are requests and responses, whose fairness has no meaning.
    applications = report.data["applications"]
    if len(rows) > 1 and (name not in applications if scope == "group" else not applications):
        yield Measure(scope, name, "jain"), report.jain(flows)
    yield Measure(scope, name, "retransmitted"), sum(r["retransmissions"] for r in rows) / sent if sent else 0.0
    done = report.data["completions"].get(name)
    if scope == "group" and done is not None and done["mean_s"] is not None:
        yield Measure(scope, name, "completion"), done["mean_s"]
        yield Measure(scope, name, "completion_p99"), done.get("p99_s") or math.nan


def _application(name: str, report: Report) -> Iterator[tuple[Measure, float]]:
    found = report.data["applications"].get(name)
    if found is None or found["time"]["mean_s"] is None:
        return
    yield Measure("group", name, "response"), found["time"]["mean_s"]
    yield Measure("group", name, "response_p99"), found["time"].get("p99_s") or math.nan
    if found["slowdown"] is not None:
        yield Measure("group", name, "slowdown"), found["slowdown"]["mean"]


def _variation(name: str, report: Report) -> Iterator[tuple[Measure, float]]:
    found = report.data["variation"].get(name)
    if found is None:
        return
    yield Measure("group", name, "delay_p99"), found["delay"].get("p99_s") or math.nan
    yield Measure("group", name, "jitter"), math.nan if found["jitter_s"] is None else found["jitter_s"]
    yield Measure("group", name, "pdv_p99"), found["pdv_p99_s"]
    yield Measure("group", name, "pdv_p999"), found["pdv_p999_s"]
    yield Measure("group", name, "ipdv_p99"), math.nan if found["ipdv_p99_s"] is None else found["ipdv_p99_s"]


def _quantiles(scope: str, name: str, delay: DelayRow) -> Iterator[tuple[Measure, float]]:
    values: Mapping[str, object] = delay
    for quantile in _QUANTILES:
        value = values.get(f"{quantile}_s")
        if isinstance(value, float | int):
            yield Measure(scope, name, f"delay_{quantile}"), float(value)


def estimates(rows: Sequence[Mapping[Measure, float]], confidence: float) -> list[Estimate]:
    """Return the estimate of each measure over replications, in the order of first occurrence.

    `rows` has the measures of each replication. `n` of an interval is the number of replications that have the measure.
    """
    keys = dict.fromkeys(key for row in rows for key in row)
    means = {key: mean_interval([row[key] for row in rows if key in row], confidence) for key in keys}
    return [
        Estimate(key, interval, resolution(key, {key: i.mean for key, i in means.items()}))
        for key, interval in means.items()
    ]


def resolution(measure: Measure, means: Mapping[Measure, float]) -> float:
    """Return the upper bound of the error of a quantile, in the measure's unit; 0 for other metrics.

    `means` has the mean of the measure, and for delay variation those of `delay_p99` and `pdv_p99`. Delay variation
    (PDV) is a quantile of the delay minus the minimum delay, so its error is that of the delay's quantile; the minimum
    delay is the mean of `delay_p99` minus that of `pdv_p99`.
    """
    metric, _, quantile = measure.metric.rpartition("_p")
    if not (metric and quantile.isdigit()):
        return 0.0
    found = means[measure]
    if metric == "pdv":
        delay, above = (means.get(Measure(measure.scope, measure.name, name)) for name in ("delay_p99", "pdv_p99"))
        found += (delay or 0.0) - (above or 0.0)
    return RESOLUTION * abs(found)
