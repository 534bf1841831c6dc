"""Results of a case on the kernel and on Tailback, by the same metrics."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import numpy as np

from tailback.results.report import Report, jain_index
from tailback.run.simulate import run
from tailback.scenario import Scenario
from tailback.witness.kernel import START_S, GuestError, Kernel
from tailback.witness.network import Case, Flows
from tailback.witness.records import RECORD, arrivals

__all__ = ["METRICS", "Criterion", "Outcome", "Probe", "on_kernel", "on_tailback"]


@dataclass(frozen=True)
class Criterion:
    """A metric of a case, with its tolerance."""

    title: str
    unit: str
    scale: float
    """Factor from the value to the unit."""
    digits: int
    """Digits after the point."""
    relative: float
    """Permitted difference as a fraction of the kernel's value."""
    least: float
    """Permitted difference in any case; see docs/witness.md for its reason."""


METRICS = {
    "loss": Criterion("loss", "%", 100, 3, 0.10, 0.002),
    "marks": Criterion("marks", "%", 100, 3, 0.10, 0.002),
    "utilisation": Criterion("utilisation", "%", 100, 2, 0, 0.01),
    "queue_bytes": Criterion("mean queue", "kB", 1e-3, 2, 0.10, 1500),
    "goodput_bps": Criterion("goodput", "Mbit/s", 1e-6, 3, 0.02, 0),
    "jain": Criterion("Jain's index", "", 1, 3, 0, 0.05),
    "retransmissions": Criterion("retransmissions", "%", 100, 3, 0.15, 0.002),
    "timeouts": Criterion("timeouts", "per 1000 packets", 1e3, 3, 0.15, 0.0005),
    "p50_s": Criterion("median delay of probes", "ms", 1e3, 2, 0.10, 0.001),
    "p99_s": Criterion("99 % delay of probes", "ms", 1e3, 2, 0.15, 0.002),
}
"""Metrics by name, with their tolerances, which were fixed before the first comparison.

Those of loss, utilisation, queue and fairness are those of the comparison with ns-2 (docs/validation.md), and marks
have those of losses.
"""


@dataclass(frozen=True)
class Probe:
    """Samples of a flow, every 50 ms."""

    times_s: tuple[float, ...]
    window: tuple[float, ...]
    """Congestion window, segments."""
    rtt_s: tuple[float, ...]
    """Smoothed round-trip time, seconds."""


@dataclass(frozen=True)
class Outcome:
    """Results of one run between warm-up and end; NaN where there is no value."""

    loss: float
    """Packets that the measured port dropped, as a fraction of those that arrived at it, 0 to 1."""
    marks: float
    """Packets that receivers got with a congestion mark, as a fraction of those that the port sent, 0 to 1."""
    utilisation: float
    """Bits that the port sent, as a fraction of those at its rate, 0 to 1."""
    queue_bytes: float
    """Mean of the bytes that wait at the port, without the packet in transmission."""
    goodput_bps: float
    """Payload of bulk transfers that arrived, each byte once, bit/s."""
    jain: float
    """Fairness index of Jain, Chiu and Hawe of the goodputs of all bulk transfers, up to 1."""
    retransmissions: float
    """Retransmitted segments of bulk transfers, as a fraction of the packets that arrived at the port.

    As in Linux (`tcp_retransmit_skb`, `tcp_retransmit_timer`) SYNs are among them, and their timeouts among `timeouts`.
    """
    timeouts: float
    """Retransmission timeouts of bulk transfers, as a fraction of the packets that arrived at the port."""
    p50_s: float
    """Median of the one-way delays of the probes, seconds; probes are flows with `cbr` or `poisson` sources."""
    p99_s: float
    """99th percentile of the one-way delays of the probes, seconds."""
    probes: Mapping[str, Probe] = field(default_factory=dict)
    """Samples of the first transfer of each of the first three groups, by group."""


def on_kernel(kernel: Kernel, case: Case, seed: int, keep: Path | None = None) -> Outcome:
    """Return the results of a case on the kernel; write the guest's log to `keep`. Raises GuestError."""
    return kernel.run({"case.sh": case.script(seed)}, lambda folder: _read(case, folder), keep)


def _read(case: Case, folder: Path) -> Outcome:
    names = {node: f"n{i}" for i, node in enumerate(case.nodes)}
    queue = dict(line.split() for line in (folder / "queue").read_text(encoding="utf-8").splitlines())
    sent, drops = (int(queue[key]) for key in ("packets", "drops"))
    arrived = sent + drops
    measured_s = case.end_s - case.warmup_s
    link, end = case.watched()
    rates: list[float] = []
    retransmitted = timeouts = 0.0
    counted: set[str] = set()
    probes = {}
    for i, flow in enumerate(case.flows):
        if flow.model != "tcp":
            continue
        lines = (folder / f"flows-{i}").read_text(encoding="utf-8").splitlines()
        first, last = (
            {int(n): (int(a), int(r)) for kind, when, n, a, r in _rows(lines, "flow", 5) if when == wanted}
            for wanted in ("warm", "end")
        )
        for number in last:
            rates.append(8 * (last[number][0] - first[number][0]) / measured_s)
            retransmitted += last[number][1] - first[number][1]
        if flow.sender not in counted:
            counted.add(flow.sender)
            before, after = (_counters(lines, when) for when in ("warm", "end"))
            timeouts += after["TCPTimeouts"] - before["TCPTimeouts"]
        samples = [(int(t), int(w), int(r)) for _, _, t, w, r in _rows(lines, "probe", 5)]
        if samples and flow.group not in probes:
            times, windows, rtts = zip(*samples, strict=True)
            probes[flow.group] = Probe(
                tuple(t * 1e-9 for t in times), tuple(float(w) for w in windows), tuple(r * 1e-6 for r in rtts)
            )
    marked = 0.0
    for node in {flow.receiver for flow in case.flows}:
        lines = (folder / f"sink-{names[node]}").read_text(encoding="utf-8").splitlines()
        before, after = (_counters(lines, when) for when in ("warm", "end"))
        marked += after["InCEPkts"] - before["InCEPkts"]
    delays = [
        delay
        for i, flow in enumerate(case.flows)
        if flow.model in ("cbr", "poisson")
        for delay in _delays(case, flow, folder / f"sent-{i}", folder / f"arrived-{names[flow.receiver]}")
    ]
    if len({flow.group for flow in case.flows if flow.model in ("cbr", "poisson")}) > 1:
        delays = []
    size = int(queue["bytes"])
    return Outcome(
        loss=_part(drops, arrived),
        marks=_part(marked, sent),
        utilisation=8 * size / (link.rates_bps[end] * measured_s),
        queue_bytes=float(queue["mean_bytes"]),
        goodput_bps=sum(rates) if rates else math.nan,
        jain=jain_index(rates) if rates else math.nan,
        retransmissions=_part(retransmitted, arrived) if rates else math.nan,
        timeouts=_part(timeouts, arrived) if rates else math.nan,
        p50_s=_quantile(delays, 0.5),
        p99_s=_quantile(delays, 0.99),
        probes=probes,
    )


def _rows(lines: Iterable[str], kind: str, words: int) -> Iterable[list[str]]:
    return (row for row in (line.split() for line in lines) if row[0] == kind and len(row) == words)


def _counters(lines: Iterable[str], when: str) -> dict[str, int]:
    """Return the counters of /proc/net/netstat and snmp: pairs of lines with the names and the values.

    Raises GuestError if the guest has not written them.
    """
    found: dict[str, int] = {}
    names: list[str] = []
    for line in lines:
        row = line.split()
        if row[:2] != ["counters", when]:
            continue
        if row[3].lstrip("-").isdigit():
            found |= {name: int(value) for name, value in zip(names, row[3:], strict=True)}
        else:
            names = row[3:]
    if not found:
        raise GuestError(f"the guest has not written the counters of a network stack ({when})")
    return found


def _delays(case: Case, flow: Flows, sent: Path, arrived: Path) -> list[float]:
    packets = np.fromfile(sent, RECORD)
    at = packets["time_ns"] * 1e-9 - START_S
    measured = packets[(at >= case.warmup_s) & (at < case.end_s) & (packets["bytes"] == flow.bytes)]
    times = arrivals(measured, np.fromfile(arrived, RECORD))
    there = times >= 0
    return [float(one) * 1e-9 for one in times[there] - measured["time_ns"][there]]


def _quantile(values: list[float], part: float) -> float:
    return float(np.quantile(values, part, method="inverted_cdf")) if values else math.nan


def _part(count: float, whole: float) -> float:
    return count / whole if whole else math.nan


def on_tailback(scenario: Scenario, case: Case, seeds: int) -> list[Outcome]:
    """Return the results of a scenario on Tailback, for the seeds 1 to `seeds`."""
    bulk = {flow.group for flow in case.flows if flow.model == "tcp"}
    probe = {flow.group for flow in case.flows if flow.model in ("cbr", "poisson")}
    made = scenario.set(seed=1)
    if probe:
        made = made.set(delay_variation=True)
    result = run(made, replications=seeds)
    return [_of_report(report, case, bulk, probe) for report in result.reports]


def _only(quantiles: list[Mapping[str, Any]], key: str) -> float:
    """Return a quantile of the only group of probes."""
    value = quantiles[0].get(key) if len(quantiles) == 1 else None
    return math.nan if value is None else float(value)


def _delays_of_group(report: Report, group: str) -> Mapping[str, Any]:
    """Return the delays of a group; without a packet that arrived it has none."""
    try:
        return cast("Mapping[str, Any]", report.variation(group)["delay"])
    except KeyError:
        return {}


def _of_report(report: Report, case: Case, bulk: set[str], probe: set[str]) -> Outcome:
    name = "->".join(case.port)
    (port,) = report.ports(name)
    classes = port["classes"]

    def total(*keys: str) -> float:
        found = 0.0
        for one in classes:
            value: Any = one
            for key in keys:
                value = value[key]
            found += value
        return found

    dropped = total("dropped", "packets")
    sent = total("sent", "packets")
    arrived = sent + dropped
    own = [flow["transport"] for flow in report.flows() if flow["group"] in bulk and flow["transport"]]
    rates = [8 * one["goodput_bytes"] / report.measured_s for one in own]
    quantiles = [_delays_of_group(report, group) for group in sorted(probe)]
    return Outcome(
        loss=_part(dropped, arrived),
        marks=_part(total("marked_packets"), sent),
        utilisation=port["utilisation"],
        queue_bytes=total("mean_bytes"),
        goodput_bps=sum(rates) if rates else math.nan,
        jain=jain_index(rates) if rates else math.nan,
        retransmissions=_part(sum(one["retransmissions"] + one["syn_timeouts"] for one in own), arrived)
        if own
        else math.nan,
        timeouts=_part(sum(one["timeouts"] + one["syn_timeouts"] for one in own), arrived) if own else math.nan,
        p50_s=_only(quantiles, "p50_s"),
        p99_s=_only(quantiles, "p99_s"),
    )
