"""Criteria: quantities of section 2 of the RFC, with the direction that is better."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

from tailback.evaluation.choice import CLOUD, SAMPLE
from tailback.evaluation.network import BOTTLENECK
from tailback.results import observables, quality
from tailback.results.observables import Observable
from tailback.results.report import Report
from tailback.results.synchronisation import backoff_shares, mean_share

__all__ = [
    "Better",
    "Cloud",
    "Criterion",
    "Limit",
    "Side",
    "acknowledgements_lost",
    "completion",
    "completion_p99",
    "criterion",
    "delay_p99",
    "fairness",
    "goodput",
    "jitter",
    "largest_delay",
    "loss",
    "marks",
    "ratio",
    "speech",
    "start_up",
    "state_size",
    "synchronisation",
    "utilisation",
    "waiting",
]

Side = Literal["at most", "at least"]

Better = Literal["lower", "higher"] | None
"""Direction of a criterion that is better; `None`: neither, so that the card has no word for it."""


@dataclass(frozen=True, slots=True)
class Limit:
    """Value that a quantity must not exceed or fall below."""

    side: Side
    value: float
    source: str
    """Section of the guide, or `HERE` with the reason."""


@dataclass(frozen=True, slots=True)
class Criterion:
    """An observable with the direction that is better."""

    observable: Observable
    better: Better
    limit: Limit | None = None
    """Requirement on the evaluated subject; `None`: there is none."""

    def of(self, name: str, label: str) -> Criterion:
        """Return the criterion with another name and label."""
        return replace(self, observable=replace(self.observable, name=name, label=label))

    def limited(self, side: Side, value: float, source: str) -> Criterion:
        """Return the criterion with a limit."""
        return replace(self, limit=Limit(side, value, source))


def criterion(
    name: str,
    label: str,
    unit: str,
    value: Callable[[Report], float],
    better: Better,
    *,
    lowest: float | None = 0.0,
    precision: tuple[float, float] | None = None,
) -> Criterion:
    """Return the criterion of a quantity; the arguments are those of `Observable`."""
    return Criterion(Observable(name, label, unit, value, None, lowest, precision), better)


def goodput(group: str, label: str = "", better: Better = "higher") -> Criterion:
    """Return the goodput of a group (section 2.5), Mbit/s, sum of its flows."""
    return Criterion(observables.goodput(group, f"goodput_{group}", label or f"goodput, {group}"), better)


def waiting(group: str, rtt_ms: float, label: str = "") -> Criterion:
    """Return the mean queueing delay of a group's packets (section 2.6), ms.

    It is the one-way delay minus the propagation delay, half of `rtt_ms`: waiting and transmission at all ports.
    """
    return criterion(
        f"queueing_delay_{group}",
        label or f"queueing delay, {group}",
        "ms",
        lambda report: 1e3 * report.mean_delay_s(group) - rtt_ms / 2,
        "lower",
        precision=(0.1, 0.5),
    )


def delay_p99(group: str, rtt_ms: float, label: str = "") -> Criterion:
    """Return the 99th percentile of a group's queueing delay, ms, defined as for `waiting`."""

    def value(report: Report) -> float:
        row = report.data["variation"].get(group)
        found = row["delay"].get("p99_s") if row else None
        return math.nan if found is None else 1e3 * found - rtt_ms / 2

    return criterion(f"queueing_delay_p99_{group}", label or f"99 % queueing delay, {group}", "ms", value, "lower")


def jitter(group: str, label: str = "") -> Criterion:
    """Return the interarrival jitter of a group (section 2.6; RFC 3550), ms."""

    def value(report: Report) -> float:
        row = report.data["variation"].get(group)
        found = row["jitter_s"] if row else None
        return math.nan if found is None else 1e3 * found

    return criterion(f"jitter_{group}", label or f"jitter, {group}", "ms", value, "lower")


def loss(group: str = "*", name: str = "", label: str = "", better: Better = "lower") -> Criterion:
    """Return the packets lost per packet sent (section 2.3), %."""
    return Criterion(observables.loss(group, name or f"loss_{group}", label or f"packet loss, {group}"), better)


def synchronisation(group: str, rtt_ms: float) -> Criterion:
    """Return the mean share of a group's flows that reduce their windows in one congestion epoch (section 2.4), %.

    An epoch is a round-trip time with the mean queueing delay of the replication.
    """

    def value(report: Report) -> float:
        epoch_s = rtt_ms * 1e-3 / 2 + report.mean_delay_s(group)
        return math.nan if math.isnan(epoch_s) else mean_share(backoff_shares(report, epoch_s, group))

    return criterion("synchronisation", "flows that reduce their windows together", "%", value, "lower")


def completion(group: str, name: str, label: str) -> Criterion:
    """Return the mean completion time of an application's transfers or pages (section 2.1), ms."""

    def value(report: Report) -> float:
        found = report.application(group)["time"]["mean_s"]
        return math.nan if found is None else 1e3 * found

    return criterion(name, label, "ms", value, "lower", precision=(0.1, 0.0))


def completion_p99(group: str, name: str, label: str) -> Criterion:
    """Return the 99th percentile of the completion time of an application's transfers or pages, ms."""

    def value(report: Report) -> float:
        found = report.application(group)["time"].get("p99_s")
        return math.nan if found is None else 1e3 * found

    return criterion(name, label, "ms", value, "lower")


def start_up() -> Criterion:
    """Return the flow start-up time (section 2.2), with the delay of the first response, ms."""
    return completion("start", "start_up", "start-up: request and first segment on a new connection")


def utilisation(port: str = BOTTLENECK) -> Criterion:
    """Return the share of time in which the bottleneck transmits, %."""
    return Criterion(observables.utilisation(port, "utilisation", "utilisation of the bottleneck"), "higher")


def fairness(group: str, label: str) -> Criterion:
    """Return Jain's index of the goodputs of the flows that match a group or pattern."""
    return Criterion(observables.jain(group, "jain", label), "higher")


def ratio(over: str, under: str, name: str, label: str) -> Criterion:
    """Return the goodput of the group `over` divided by that of `under`; NaN if the latter is 0."""

    def value(report: Report) -> float:
        below = report.goodput_bps(under)
        return report.goodput_bps(over) / below if below else math.nan

    return criterion(name, label, "", value, None)


def speech(group: str, label: str) -> Criterion:
    """Return the mean opinion score of a call (ITU-T G.107), 1 to 4.5."""

    def value(report: Report) -> float:
        return quality.speech(report, group).mos if group in report.data["variation"] else 1.0

    return criterion(f"mos_{group}", label, "", value, "higher", lowest=1.0)


def marks(port: str = BOTTLENECK) -> Criterion:
    """Return the packets marked per second."""
    return Criterion(observables.marks(port, "marks", "marked packets"), None)


def acknowledgements_lost(group: str, name: str, label: str) -> Criterion:
    """Return the acknowledgements lost per acknowledgement sent, since the start of the run, %."""

    def value(report: Report) -> float:
        rows = report.transports(group)
        sent = sum(row["acks_sent"] for row in rows)
        return 100 * sum(row["acks_lost"] for row in rows) / sent if sent else math.nan

    return criterion(name, label, "%", value, "lower")


def state_size(port: str = BOTTLENECK) -> Criterion:
    """Return the largest size of the discipline's state at the port, B, without packets."""

    def value(report: Report) -> float:
        series = report.data["series"]
        assert series is not None, "all scenarios of the evaluation are sampled"
        return max(series["ports"][port]["state"].get("state_bytes", [math.nan]))

    return criterion("state", "state of the discipline", "B", value, "lower")


@dataclass(frozen=True, slots=True)
class Cloud:
    """A class of traffic whose points (queueing delay, goodput) a delay-goodput graph has."""

    group: str
    rtt_ms: float
    label: str = ""
    """Title of the graph; empty: the name of the group."""

    @property
    def title(self) -> str:
        """Title of the graph."""
        return self.label or self.group

    def points(self, report: Report) -> list[tuple[float, float]]:
        """Return a point for each interval after the warm-up in which a packet arrived: delay, ms, and Mbit/s.

        The delay is the mean over the packets that arrived in the interval, minus the propagation delay; the goodput
        is the sum over the flows.
        """
        series = report.data["series"]
        assert series is not None
        group = series["flows"].get(self.group)
        if group is None or "delay_sum_s" not in group:
            return []
        delays, packets = group["delay_sum_s"], group["delivered_packets"]
        own = series.get("by_flow", {})
        names = [row["name"] for row in report.data["flows"] if row["group"] == self.group]
        columns = [own[name].get("goodput_bytes") or own[name]["delivered_bytes"] for name in names if name in own]
        times = series["time_s"]
        step = max(round(CLOUD.value * 1e3 / SAMPLE.value), 1)
        first = next((k for k, at in enumerate(times) if at >= report.data["warmup_s"]), len(times))
        points = []
        for begin in range(first, len(times) - step, step):
            end = begin + step
            arrived = packets[end] - packets[begin]
            if arrived:
                delay = (delays[end] - delays[begin]) / arrived * 1e3 - self.rtt_ms / 2
                useful = sum(column[end] - column[begin] for column in columns)
                points.append((delay, useful * 8e-6 / (times[end] - times[begin])))
        return points

    def largest(self, report: Report) -> float:
        """Return the largest delay of a point, ms; NaN: there is no point."""
        return max((delay for delay, _ in self.points(report)), default=math.nan)


def largest_delay(cloud: Cloud) -> Criterion:
    """Return the largest mean queueing delay of an interval, ms."""
    return criterion("largest_delay", "largest queueing delay, mean of one second", "ms", cloud.largest, "lower")
