"""The network of July 2005: policies of the rate limiters, and observables of its experiments."""

from __future__ import annotations

from math import nan
from typing import cast

from tailback.results.observables import Observable
from tailback.results.report import Report
from tailback.results.rows import CongestionPointRow, LimitersRow
from tailback.scenario import Value
from tailback.study.experiment.points import Settings

__all__ = [
    "BOTTLENECK",
    "EDGES",
    "POLICIES",
    "WAITS_US",
    "edge_settings",
    "identity",
    "idle",
    "latency",
    "limiters",
    "mean_limited",
    "messages",
    "point",
    "policy",
    "series",
    "tps",
    "trace",
    "transactions",
]

POLICIES = ("no flow control", "flow control", "drop", "mark")
"""Policies of the rate limiters: no link-level flow control; flow control; and flow control with the simple queue
management that drops or marks."""
EDGES = ("es1", "es2", "es3", "es4")
"""Edge switches with the senders of bulk and on/off transfers."""
BOTTLENECK = "core->es6"
WAITS_US = {"bulk": 0.0, "on/off": 10_000.0, "ref1": 16.0, "ref2": 1.0}
"""Mean time from the end of a transaction to the beginning of the next, us."""
# Number of connections by group of flows.
CONNECTIONS = {"bulk": 12, "on/off": 12, "ref1": 1, "ref2": 1}


def edge_settings(key: str, value: Value) -> dict[str, Value]:
    """Return the settings of one key at all six edge switches."""
    return {f"switches.es{k}.{key}": value for k in range(1, 7)}


def policy(name: str) -> Settings:
    """Return the settings of one of `POLICIES`; the queue management has its defaults, 10 frames and 1 %."""
    settings: dict[str, Value] = {}
    if name != "no flow control":
        settings["backpressure.scope"] = "plain"
    if name in ("drop", "mark"):
        settings |= edge_settings("rate-limiters.aqm", {"kind": "simple", "ecn": name == "mark"})
    if name == "mark":
        settings |= {f"flows[{flow}].transport.ecn": "classic" for flow in WAITS_US}
    return settings


def transactions(report: Report, group: str) -> float:
    """Return the number of transactions per second of a connection that ended in the measured time.

    Transactions that began before it count, too: counting only those that also began in the measured time would miss
    long ones. Raises KeyError for a group that is not in `WAITS_US`.
    """
    return report.application(group)["completed"]["count"] / report.measured_s / CONNECTIONS[group]


def _latency_us(report: Report, group: str) -> float:
    return 1e6 * (report.application(group)["completed"]["mean_s"] or nan)


def tps(group: str) -> Observable:
    """Return the observable of `transactions` of a group, Tps: transactions per second of one connection."""
    name = group.replace("/", "")
    return Observable(
        f"{name}_tps", f"throughput of one connection, {group}", "Tps", lambda report: transactions(report, group)
    )


def latency(group: str) -> Observable:
    """Return the observable of the mean time of the transactions that `tps` counts, us; NaN without any."""
    name = group.replace("/", "")
    return Observable(
        f"{name}_latency", f"latency of transactions, {group}", "us", lambda report: _latency_us(report, group)
    )


def identity(group: str) -> Observable:
    """Return the observable of transactions per second times (latency + wait), which is 1 for a closed loop."""
    name = group.replace("/", "")

    def value(report: Report) -> float:
        return transactions(report, group) * (_latency_us(report, group) + WAITS_US[group]) * 1e-6

    return Observable(f"{name}_loop", f"{group}: throughput times (latency + wait)", "", value)


def point(report: Report, port: str = BOTTLENECK) -> CongestionPointRow:
    """Return the row of the congestion point at a port; raises StopIteration if the port has none."""
    return next(row for row in report.congestion()["points"] if row["port"] == port)


def messages(report: Report, port: str = BOTTLENECK) -> int:
    """Return the number of messages that the congestion point at a port has sent."""
    row = point(report, port)
    return row["stop"] + row["slower"] + row["faster"]


def limiters(report: Report) -> list[LimitersRow]:
    """Return the rows of the rate limiters of the edges with bulk and on/off transfers."""
    return [row for row in report.congestion()["limiters"] if row["port"].removesuffix("->core") in EDGES]


def idle(port: str = BOTTLENECK) -> Observable:
    """Return the observable of the share of time for which a port is idle, %."""
    return Observable("idle", "idle time of the bottleneck", "%", lambda report: 100 * (1 - report.utilisation(port)))


def mean_limited() -> Observable:
    """Return the observable of the mean backlog of an edge's limiters, averaged over the edges in `EDGES`, kB."""

    def value(report: Report) -> float:
        rows = limiters(report)
        return 1e-3 * sum(row["mean_bytes"] for row in rows) / len(rows)

    return Observable("limited", "mean queue of the rate limiters at an edge", "kB", value)


def series(report: Report) -> object:
    """Return times, the bottleneck's queue, and queue and rates of the limiters of es1, as a `Trace`.

    Raises AssertionError if the point does not set `run.sample`.
    """
    found = report.data["series"]
    assert found is not None, "the point sets no run.sample"
    edge = found["ports"]["es1->core"]["state"]
    rates = {key.removeprefix("rate_bps "): values for key, values in edge.items() if key.startswith("rate_bps ")}
    return (
        found["time_s"],
        [1e-3 * x for x in found["ports"][BOTTLENECK]["queue_bytes"]],
        [1e-3 * x for x in edge["limited_bytes"]],
        {key: [1e-9 * x for x in values] for key, values in rates.items()},
    )


Trace = tuple[list[float], list[float], list[float], dict[str, list[float]]]
"""Times, s; queues of the bottleneck and of the limiters of es1, kB; rates of these limiters by destination, Gbit/s."""


def trace(kept: object) -> Trace:
    """Return the time series stored by `series`."""
    return cast(Trace, kept)
