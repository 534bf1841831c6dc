"""Runs the flows of a scenario through a policy in a Linux kernel that runs as a program (User-mode Linux).

`Run.on` runs the policy's script unchanged in the guest (`tailback.witness.kernel`), with sources that have the packet
sizes, rates and intervals of the scenario's flows, and returns the results of each group.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import tailback as tb
from tailback import _native
from tailback.bounds.port import code_point
from tailback.witness.kernel import PORT, START_S, Kernel
from tailback.witness.records import RECORD, arrivals

HERE = Path(__file__).resolve().parent
DRAIN_S = 5
"""Time for which the sink records after the sources have stopped, seconds: packets that arrive later count as lost."""


@dataclass(frozen=True)
class Group:
    """Equal flows of one source host."""

    name: str
    model: str
    """`cbr`, `poisson` or `tcp`."""
    code_point: int
    """DSCP, 0 to 63."""
    count: int
    """Number of flows."""
    bytes: int
    """Length of a packet with its IP header, bytes."""
    rate_bps: float = 0
    """Rate of each flow at layer 3, bit/s; 0 for TCP."""
    wander: float = 0
    """Maximum random deviation of an interval, uniform, as a fraction of the interval."""
    congestion_control: str = "reno"
    rtt_s: float = 0
    """Round-trip time without queues, seconds."""

    def command(self, seed: int, end_s: float) -> str:
        """Return the arguments of the traffic program for these flows, which end at `end_s` of the guest's clock."""
        tos = self.code_point << 2
        if self.model == "tcp":
            mss = self.bytes - 40
            own = f"{self.count} {self.congestion_control} {mss} 1 {seed}"
        else:
            own = f"{self.count} {self.bytes} {self.rate_bps:.0f} {self.model} {self.wander:g} {seed}"
        return f"{self.model if self.model == 'tcp' else 'udp'} 10.9.0.2 {PORT} {tos} {own} {START_S} {end_s:g}"


@dataclass(frozen=True)
class Outcome:
    """Rates, loss and delays of the packets that a group sent between warm-up and end."""

    offered_bps: float
    """Sent rate, bit/s: payload of TCP, else layer-3 packets, as Tailback counts them."""
    throughput_bps: float
    """Rate of the sent packets that arrived by the end of the run, bit/s, counted as in `offered_bps`."""
    loss: float
    """Fraction of the sent packets that never arrived, 0 to 1; NaN if no packet was sent."""
    mean_s: float
    """Mean delay of the packets that arrived by the end of the run, seconds; NaN if there are none."""
    p99_s: float
    """99th percentile of the delays of the packets that arrived by the end of the run, seconds; NaN without packets."""


def groups(scenario: tb.Scenario) -> list[Group]:
    """Return the scenario's groups of flows; raises ValueError if the guest has no source for one."""
    document = json.loads(scenario.native.to_json())
    delays = {
        next(iter(link["between"])): _native.parse_duration(link.get("delay", "0s")) * 1e-12
        for link in document["links"]
    }
    return [_group(flow, 2 * delays.get(flow["from"], 0.0)) for flow in document["flows"]]


def _group(flow: Mapping[str, Any], rtt_s: float) -> Group:
    source = flow["source"]
    kind = source["kind"]
    own = {"name": flow["name"], "code_point": code_point(flow.get("dscp", 0)), "count": flow.get("count", 1)}
    if kind == "bulk":
        transport = flow["transport"]
        segment, header = (_native.parse_bytes(transport[key]) for key in ("segment", "header"))
        control = transport["congestion-control"]["kind"]
        return Group(model="tcp", bytes=segment + header, congestion_control=control, rtt_s=rtt_s, **own)
    if kind not in ("cbr", "poisson") or source.get("jitter") or source.get("interval"):
        raise ValueError(f"the guest has no source such as {source}")
    return Group(
        model=kind,
        bytes=_native.parse_bytes(source["packet"]),
        rate_bps=_native.parse_rate(source["rate"]),
        wander=source.get("wander", 0),
        rtt_s=rtt_s,
        **own,
    )


@dataclass(frozen=True)
class Run:
    """One run of a policy."""

    script: str
    """Commands of tc for the device eth1."""
    groups: Sequence[Group]
    seed: int
    warmup_s: float
    duration_s: float
    """Duration of the run, warm-up included, seconds."""

    def case(self) -> str:
        """Return the script that the guest's init executes, with the functions of network.sh."""
        end_s = START_S + self.duration_s
        lines = [". /run/case/network.sh"]
        lines += [f"source_host {i} {group.rtt_s * 1e6:.0f}us" for i, group in self._numbered()]
        lines = [line.replace(" 0us", " 0") for line in lines]
        lines.append("policy /run/case/policy.sh")
        lines.append(f"launch sink record eth0 in /run/case/arrived {end_s + DRAIN_S:g}")
        lines += [f"launch source{i} record eth0 out /run/case/sent-{i} {end_s:g}" for i, _ in self._numbered()]
        lines += [f"launch source{i} {group.command(1000 * self.seed + i, end_s)}" for i, group in self._numbered()]
        return "\n".join(lines) + "\n"

    def _numbered(self) -> Iterator[tuple[int, Group]]:
        return ((i, group) for i, group in enumerate(self.groups, 1))

    def on(self, kernel: Kernel, keep: Path | None = None) -> dict[str, Outcome]:
        """Return the results on the kernel by group; write the guest's log to `keep`. Raises GuestError."""
        network = (HERE / "network.sh").read_text(encoding="utf-8")
        files = {"case.sh": self.case(), "network.sh": network, "policy.sh": self.script}
        return kernel.run(files, self.outcomes, keep)

    def outcomes(self, folder: Path) -> dict[str, Outcome]:
        """Return the results of each group, by name, from the files that the guest has recorded."""
        arrived = np.fromfile(folder / "arrived", RECORD)
        return {
            group.name: outcome(
                np.fromfile(folder / f"sent-{i}", RECORD), arrived, group, self.warmup_s, self.duration_s
            )
            for i, group in self._numbered()
        }


def outcome(sent: Any, arrived: Any, group: Group, warmup_s: float, duration_s: float) -> Outcome:
    """Return the results of a group from its sent packets and all arrived packets, arrays of `RECORD`."""
    sent_s = sent["time_ns"] * 1e-9 - START_S
    measured = sent[(sent_s >= warmup_s) & (sent_s < duration_s)]
    times = arrivals(measured, arrived)
    if len(measured) == 0:
        return Outcome(0, 0, math.nan, math.nan, math.nan)
    length = measured["payload" if group.model == "tcp" else "bytes"].astype(float)
    has_arrived = times >= 0
    in_time = has_arrived & (times * 1e-9 - START_S < duration_s)
    measured_s = duration_s - warmup_s
    # In the scenario half of the round-trip time is on the forward path; in the guest all of it is on the return path.
    delays = (times[in_time] - measured["time_ns"][in_time]) * 1e-9 + group.rtt_s / 2
    return Outcome(
        offered_bps=8 * float(length.sum()) / measured_s,
        throughput_bps=8 * float(length[in_time].sum()) / measured_s,
        loss=1 - float(has_arrived.mean()),
        mean_s=float(delays.mean()) if len(delays) else math.nan,
        p99_s=float(np.quantile(delays, 0.99, method="inverted_cdf")) if len(delays) else math.nan,
    )
