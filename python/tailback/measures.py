"""The numbers that a run is summed up in: a few per group of flows, per class and in total."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from tailback.report import DelayRow, Report
from tailback.stats import Interval, mean_interval

__all__ = ["UNITS", "Estimate", "Measure", "estimates", "measures"]

UNITS = {
    "offered": "bit/s",
    "throughput": "bit/s",
    "loss": "1",
    "delay": "s",
    "delay_p50": "s",
    "delay_p99": "s",
    "goodput": "bit/s",
    "retransmitted": "1",
    "completion": "s",
    "completion_p99": "s",
    "response": "s",
    "response_p99": "s",
    "slowdown": "1",
    "jitter": "s",
    "pdv_p99": "s",
    "pdv_p999": "s",
    "ipdv_p99": "s",
}
"""Unit of each metric; loss is a ratio of packets, retransmitted one of segments. Four are of flows with a
transport: goodput counts each byte once, completion is the time from a write to its last byte's arrival. The next three
are of applications: the time of a page or transfer, and that of a transfer per the time that it would take alone. The
last four are there where `delay-variation` is measured: the jitter of RFC 3550, and PDV and IPDV of RFC 5481."""

_QUANTILES = ("p50", "p99")


@dataclass(frozen=True, slots=True, order=True)
class Measure:
    """Whose number it is and which: scope is `total`, `group` or `class`."""

    scope: str
    name: str
    metric: str

    @property
    def unit(self) -> str:
        """Unit of the number."""
        return UNITS[self.metric]

    def __str__(self) -> str:
        """As `--set` and `precision` write it: `loss` for the total, `loss[data]` for a group or class."""
        return self.metric if self.scope == "total" else f"{self.metric}[{self.name}]"


@dataclass(frozen=True, slots=True)
class Estimate:
    """A measure over replications."""

    measure: Measure
    interval: Interval

    def as_json(self) -> dict[str, object]:
        """Plain values, one level deep."""
        measure = self.measure
        head = {"scope": measure.scope, "name": measure.name, "metric": measure.metric}
        return head | self.interval.as_json(measure.unit)


def measures(report: Report) -> dict[Measure, float]:
    """Return the summary's numbers of one replication; a delay that nobody measured is left out."""
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
        if scope == "group":
            yield from _application(name, report)
            yield from _variation(name, report)
        # Quantiles of several flows cannot be had from those of each: there are some where the flows are a whole
        # class, and for a single flow where each keeps its own.
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
    """Return mean and interval of each measure over replications, in the order in which they first appear."""
    keys = dict.fromkeys(key for row in rows for key in row)
    return [Estimate(key, mean_interval([row[key] for row in rows if key in row], confidence)) for key in keys]
