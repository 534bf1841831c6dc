"""Criteria of congestion controls that the evaluation of disciplines does not need."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from statistics import fmean, pstdev

from tailback.evaluation.choice import PACKET
from tailback.evaluation.criteria import Better, Cloud, Criterion, criterion
from tailback.evaluation.network import BOTTLENECK
from tailback.results import observables
from tailback.results.report import Report

__all__ = [
    "acknowledgements",
    "bytes_time",
    "convergence_time",
    "drop_rate",
    "dropped",
    "exchange_time",
    "goodput_ratio",
    "largest_step",
    "mean_completion",
    "of_fair_share",
    "outage_rate",
    "port_delay",
    "product",
    "rate_variation",
    "recovery_time",
    "retransmissions",
    "sending_rate",
    "share",
    "smallest_share",
    "variation_of_delay",
    "window_time",
]


def sending_rate(group: str, rtt_ms: float) -> Criterion:
    """Return the packets that a flow sends per round-trip time without queueing, mean over the flows of a group."""

    def value(report: Report) -> float:
        flows = report.flows(group)
        return report.offered_packets(group) / len(flows) / (report.measured_s / (rtt_ms * 1e-3))

    return criterion("sending_rate", "packets of a flow per round-trip time", "", value, "lower", precision=(0.1, 0.0))


def outage_rate(group: str, begin_s: float, end_s: float, rtt_ms: float) -> Criterion:
    """Return the packets that a flow sends per round-trip time in an interval after the warm-up, as of an outage."""

    def value(report: Report) -> float:
        series = report.data["series"]
        assert series is not None
        sent = series["flows"][group].get("offered_packets")
        if sent is None:
            return math.nan
        start = report.data["warmup_s"]
        count = _at(series["time_s"], sent, start + end_s) - _at(series["time_s"], sent, start + begin_s)
        return count / len(report.flows(group)) / ((end_s - begin_s) / (rtt_ms * 1e-3))

    label = "packets of a flow per round-trip time, second half of the outage"
    return criterion("outage_rate", label, "", value, "lower")


def _at(times: Sequence[float], values: Sequence[float], at: float) -> float:
    """Return the last sample that is not later than an instant; 0 before the first."""
    found = 0.0
    for time, value in zip(times, values, strict=True):
        if time > at + 1e-9:
            break
        found = value
    return found


def _columns(report: Report, group: str) -> tuple[list[float], list[list[int]]]:
    """Return the instants, and the payload in order since the start of each flow of a group."""
    series = report.data["series"]
    assert series is not None
    own = series.get("by_flow", {})
    names = [row["name"] for row in report.flows(group)]
    return series["time_s"], [own[name].get("goodput_bytes") or own[name]["delivered_bytes"] for name in names]


def _sum(report: Report, group: str) -> tuple[list[float], list[int]]:
    times, columns = _columns(report, group)
    return times, [sum(row) for row in zip(*columns, strict=True)]


def recovery_time(group: str, at_s: float, rate_mbps: float, share_of_rate: float = 0.5) -> Criterion:
    """Return the time from an instant until a group's goodput over one second exceeds a share of a rate, s.

    `at_s` is counted from the end of the warm-up. The end of the run counts as the time if it never does.
    """

    def value(report: Report) -> float:
        times, useful = _sum(report, group)
        begin = report.data["warmup_s"] + at_s
        for k, time in enumerate(times):
            if time >= begin + 1 and (useful[k] - _at(times, useful, time - 1)) * 8e-6 >= share_of_rate * rate_mbps:
                return time - 1 - begin
        return report.data["end_s"] - begin

    label = f"time until the goodput is {100 * share_of_rate:g} % of the capacity"
    return criterion("recovery_time", label, "s", value, "lower")


def bytes_time(flow: str, count: int) -> Criterion:
    """Return the time until a flow's receiver has got `count` bytes in order, s.

    The flow starts at the end of the warm-up. The measured time counts if the receiver has not got them by the end.
    """

    def value(report: Report) -> float:
        times, useful = _sum(report, flow)
        found = next((time for time, got in zip(times, useful, strict=True) if got >= count), report.data["end_s"])
        return found - report.data["warmup_s"]

    return criterion(f"bytes_{count}", f"time to {count / 1000:,g} kB of the new flow", "s", value, "lower")


def share(report: Report, new: str, old: str, start_s: float, interval_s: float) -> list[tuple[float, float]]:
    """Return the share of the new flow in the goodput of both, by the end of each interval after its start.

    The intervals follow one another. NaN: nothing arrived.
    """
    times, fresh = _sum(report, new)
    _, former = _sum(report, old)
    points = []
    steps = int((report.data["end_s"] - start_s) / interval_s + 1e-9)
    for k in range(1, steps + 1):
        low, high = start_s + (k - 1) * interval_s, start_s + k * interval_s
        own = _at(times, fresh, high) - _at(times, fresh, low)
        other = _at(times, former, high) - _at(times, former, low)
        points.append((k * interval_s, own / (own + other) if own + other else math.nan))
    return points


def convergence_time(new: str, old: str, interval_s: float, delta: float) -> Criterion:
    """Return the delta-fair convergence time (RFC 5166 section 2.3.3), s.

    The new flow starts at the end of the warm-up. The time ends with the first interval in which its share of both
    goodputs is at least (1 - delta)/2. The observed time counts if there is none.
    """

    def value(report: Report) -> float:
        points = share(report, new, old, report.data["warmup_s"], interval_s)
        return next((at for at, part in points if part >= (1 - delta) / 2), report.measured_s)

    return criterion("convergence", "delta-fair convergence time", "s", value, "lower")


def _windows(report: Report, flow: str) -> tuple[list[float], list[float]]:
    series = report.data["series"]
    assert series is not None
    return series["time_s"], series["transports"][flow]["window_segments"]


def window_time(flow: str, at_s: float, percent: float, bdp_packets: int) -> Criterion:
    """Return the time from an instant until the window is a share of the bandwidth-delay product, s.

    The end of the run counts as the time if it never is.
    """

    def value(report: Report) -> float:
        times, windows = _windows(report, flow)
        pairs = zip(times, windows, strict=True)
        reached = (time for time, window in pairs if time >= at_s and window * 100 >= percent * bdp_packets)
        return next(reached, report.data["end_s"]) - at_s

    return criterion(f"window_{percent:g}", f"time until the window is {percent:g} % of the BDP", "s", value, "lower")


def largest_step(flow: str, at_s: float, percent: float, bdp_packets: int) -> Criterion:
    """Return the largest growth of the window in one sampling interval until it is a share of the BDP, segments."""

    def value(report: Report) -> float:
        times, windows = _windows(report, flow)
        most = 0.0
        for k in range(1, len(times)):
            if times[k] <= at_s:
                continue
            most = max(most, windows[k] - windows[k - 1])
            if windows[k] * 100 >= percent * bdp_packets:
                break
        return most

    return criterion("step", "largest growth of the window in 100 ms", "segments", value, None)


def dropped(flows: str, label: str) -> Criterion:
    """Return the number of packets of some flows that were lost after the warm-up."""
    return criterion("dropped", label, "packets", lambda report: float(report.dropped_packets(flows)), "lower")


def smallest_share(group: str, label: str = "smallest / largest goodput") -> Criterion:
    """Return the smallest goodput of a group's flows divided by the largest: 1 - epsilon (RFC 5166 section 2.3.1)."""

    def value(report: Report) -> float:
        rates = report.goodputs_bps(group)
        return min(rates) / max(rates) if max(rates) else math.nan

    return criterion("smallest_share", label, "", value, "higher")


def product(group: str) -> Criterion:
    """Return the geometric mean of the goodputs divided by the arithmetic one.

    It is the product measure of RFC 5166 section 2.3.1 on a scale from 0 to 1, without the number of flows.
    """

    def value(report: Report) -> float:
        rates = report.goodputs_bps(group)
        if min(rates) <= 0:
            return 0.0 if max(rates) > 0 else math.nan
        return math.exp(fmean(map(math.log, rates))) / fmean(rates)

    return criterion("product", "product measure: geometric / arithmetic mean of the goodputs", "", value, "higher")


def rate_variation(group: str, interval_s: float) -> Criterion:
    """Return the coefficient of variation of a flow's goodput over intervals after the warm-up, mean over flows."""

    def value(report: Report) -> float:
        times, columns = _columns(report, group)
        begin, end = report.data["warmup_s"], times[-1]
        edges = [begin + k * interval_s for k in range(int((end - begin) / interval_s + 1e-9) + 1)]
        found = []
        for column in columns:
            counts = [_at(times, column, edge) for edge in edges]
            rates = [b - a for a, b in itertools.pairwise(counts)]
            if rates and fmean(rates) > 0:
                found.append(pstdev(rates) / fmean(rates))
        return fmean(found) if found else math.nan

    return criterion(
        f"variation_{interval_s:g}",
        f"coefficient of variation of a flow's goodput, {interval_s:g} s",
        "",
        value,
        "lower",
    )


def variation_of_delay(cloud: Cloud) -> Criterion:
    """Return the standard deviation of the mean queueing delay of intervals of one second, ms."""

    def value(report: Report) -> float:
        delays = [delay for delay, _ in cloud.points(report)]
        return pstdev(delays) if delays else math.nan

    return criterion("delay_deviation", "standard deviation of the queueing delay, 1 s", "ms", value, "lower")


def goodput_ratio(group: str) -> Criterion:
    """Return the payload that reached the application in order per payload sent, % (RFC 5166 section 2.4)."""

    def value(report: Report) -> float:
        sent = sum(row["offered"]["bytes"] for row in report.flows(group))
        useful = sum(row["goodput_bytes"] for row in report.transports(group))
        return 100 * useful / sent if sent else math.nan

    return criterion("goodput_ratio", "useful share of the payload sent", "%", value, "higher")


def retransmissions(group: str) -> Criterion:
    """Return the retransmissions per segment sent, %."""

    def value(report: Report) -> float:
        rows = report.transports(group)
        sent = sum(row["segments"] for row in rows)
        return 100 * sum(row["retransmissions"] for row in rows) / sent if sent else math.nan

    return criterion("retransmissions", "retransmitted segments", "%", value, "lower")


def acknowledgements(group: str) -> Criterion:
    """Return the acknowledgements per data segment, with the warm-up."""

    def value(report: Report) -> float:
        rows = report.transports(group)
        acks = sum(row["acks_sent"] for row in rows)
        delivered = sum(row["delivered"]["packets"] for row in report.flows(group))
        return acks / delivered if delivered else math.nan

    return criterion("acknowledgements", "acknowledgements per delivered segment", "", value, "lower")


def exchange_time(group: str, label: str) -> Criterion:
    """Return the mean time of an exchange of an application, ms."""

    def value(report: Report) -> float:
        found = report.application(group)["exchange"]["mean_s"]
        return math.nan if found is None else 1e3 * found

    return criterion("exchange", label, "ms", value, "lower", precision=(0.1, 0.0))


def mean_completion(prefix: str, label: str = "completion time of a transfer") -> Criterion:
    """Return the mean completion time over the transfers of all groups whose names begin with `prefix`, ms."""

    def value(report: Report) -> float:
        rows = [row["time"] for name, row in report.data["applications"].items() if name.startswith(prefix)]
        count = sum(row["count"] for row in rows)
        total = math.fsum(row["count"] * (row["mean_s"] or 0.0) for row in rows)
        return 1e3 * total / count if count else math.nan

    return criterion(f"completion_{prefix}", label, "ms", value, "lower")


def drop_rate(port: str = BOTTLENECK, name: str = "drop_rate", label: str = "packets dropped") -> Criterion:
    """Return the packets dropped per packet that arrived at a port, %."""
    return Criterion(observables.port_loss(port, name, label), "lower")


def port_delay(
    rate_mbps: float, port: str = BOTTLENECK, name: str = "port_delay", label: str = "mean queueing delay"
) -> Criterion:
    """Return the mean backlog of a port in the time that its link takes to send it, ms."""

    def value(report: Report) -> float:
        backlog = sum(row["mean_bytes"] for one in report.ports(port) for row in one["classes"])
        return backlog * 8e-3 / rate_mbps

    return criterion(name, label, "ms", value, "lower", precision=(0.1, 0.5))


def of_fair_share(group: str, fair_mbps: float, name: str, label: str, better: Better = "higher") -> Criterion:
    """Return the goodput of a group as a share of what it would have in equal parts, with headers, %."""

    def value(report: Report) -> float:
        payload = fair_mbps * 1e6 * (PACKET.value - 40) / PACKET.value
        return 100 * report.goodput_bps(group) / payload

    return criterion(name, label, "%", value, better)
