"""Disciplines of the comparison packet by packet: each as commands of tc and as a table of a scenario."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from arrivals import FLOWS, RATE_BPS, Arrival, arrivals

import tailback as tb
from tailback.witness.disciplines import command

ECT = (1, 3, 5)
"""Flows whose packets are ECN-capable in cases with ECN."""
CODE_POINTS = tuple(8 * (flow + 1) for flow in range(FLOWS))
"""Code point of each flow, cs1 to cs6, by which Tailback's disciplines find its class; Linux has classids."""
DEVICE = "e0"
NO_HEADER = "stab overhead -14"
"""Takes off the Ethernet header, which the kernel counts, so that both programs count the same bytes."""
RATE = f"{RATE_BPS}bit/s"
UNLIMITED = "1000000packets"
LINK, LINK_PS = "1Tbit/s", 8
"""Rate of the scenario's links before and behind the discipline, and picoseconds per byte. A veth pair has no rate."""
BUCKET, TC_BUCKET = "35B", 36
"""Bucket of the shaper before other disciplines.

tc converts 36 B to whole microseconds, 9, and these to ticks of 64 ns, 140: 8960 ns, which are 35 B. A timer that is
late does not delay later packets, as it would with a bucket of 0."""
SEED = 1
"""Seed of the arrivals."""


@dataclass(frozen=True)
class Case:
    """A discipline on both programs."""

    name: str
    tc: tuple[str, ...]
    """Commands of tc, without `tc`."""
    discipline: Mapping[str, Any]
    buffer: str = "unlimited"
    """Limit of the discipline in the scenario."""
    handle: str = "10"
    """Handle of the discipline on Linux in which a flow's packets have the class of its number plus 1; 0: none."""
    shapes: bool = False
    """Whether the discipline is a shaper itself; others are in a class of HTB with the rate."""
    ecn: bool = False
    """Whether the packets of the flows `ECT` are ECN-capable."""
    random: bool = False
    """Whether the discipline draws random numbers; then distributions are compared, and the queue never runs empty."""
    known: str = ""
    """Why fates or places differ; empty: none does."""

    def arrivals(self) -> tuple[Arrival, ...]:
        """Return the arrivals."""
        return arrivals(SEED, busy=self.random)

    def tos(self, flow: int) -> int:
        """Return the TOS byte of a flow."""
        return CODE_POINTS[flow] << 2 | (2 if self.ecn and flow in ECT else 0)

    def scenario(self, file: str, end_s: float, later_ns: int = 0) -> tb.Scenario:
        """Return the scenario; `file` is the path of arrivals.py, and all arrivals are `later_ns` later.

        ECN-capable flows are TCP connections whose window never limits them, and of which the case loses no packet:
        each write is one segment, which is sent at once.
        """
        # Below HTB the buffer limits the class only, so that the discipline itself drops what exceeds it.
        port = (
            {"buffer": self.buffer, "discipline": dict(self.discipline)}
            if self.shapes
            else {"buffer": "unlimited", "discipline": self._shaped()}
        )
        made = (
            tb.Scenario(duration=f"{end_s:g}s", warmup="0s", framing="none", buffer="unlimited")
            .host("a")
            .host("b")
            .switch("r", ports={"b": port})
            .link(["a", "r"], rate=LINK, delay="0s")
            .link(["r", "b"], rate=LINK, delay="0s")
        )
        transport = tb.tcp(
            segment="1500B",
            header="0B",
            congestion_control=tb.kind("fixed"),
            ecn="classic",
            ecn_floor="none",
            handshake=False,
            initial_window=1_000_000,
            recovery=tb.kind("newreno"),
            slow_start_restart=False,
            timers={"initial-rto": "1000s", "min-rto": "1000s", "max-rto": "1000s"},
        )
        for flow in range(FLOWS):
            own = {"flow": flow, "seed": SEED, "busy": self.random, "later_ns": later_ns, "link_ps": LINK_PS}
            source = tb.source("user", file=file, **{"class": "Replay", "parameters": own})
            more = {"transport": transport} if self.ecn and flow in ECT else {}
            made = made.flow(f"f{flow}", "a", "b", source, dscp=CODE_POINTS[flow], **more)
        return made

    def _shaped(self) -> Mapping[str, Any]:
        """Return the discipline in a class of HTB with the rate."""
        limit = UNLIMITED if self.buffer == "unlimited" else self.buffer
        only = {"name": "only", "rate": RATE, "burst": BUCKET, "cburst": BUCKET, "limit": limit}
        return tb.discipline("htb", default="only", classes=[only | {"discipline": dict(self.discipline)}])


def leaf(discipline: str, *commands: str) -> tuple[str, ...]:
    """Return a discipline, handle 10:, behind HTB with the rate, and further commands such as `class parent 10: …`."""
    rate = f"rate {RATE_BPS}bit ceil {RATE_BPS}bit burst {TC_BUCKET} cburst {TC_BUCKET} quantum 1600"
    return (
        f"qdisc add dev {DEVICE} root handle 1: {NO_HEADER} htb default 1",
        f"class add dev {DEVICE} parent 1: classid 1:1 htb {rate}",
        f"qdisc add dev {DEVICE} parent 1:1 handle 10: {discipline}",
        *(f"{one.partition(' ')[0]} add dev {DEVICE} {one.partition(' ')[2]}" for one in commands),
    )


def witnessed(discipline: Mapping[str, Any], buffer: str) -> tuple[str, ...]:
    """Return a discipline as `tailback witness` translates it, behind HTB."""
    port = {"buffer": buffer, "discipline": dict(discipline)}
    made = tb.Scenario(duration="1s", warmup="0s").host("a").host("b").switch("r", ports={"b": port})
    made = made.link(["a", "r"], rate=RATE).link(["r", "b"], rate=RATE)
    made = made.flow("f", "a", "b", tb.source("cbr", packet="1000B", rate="1Mbit/s"))
    table = json.loads(made.native.to_json())["switches"]["r"]["ports"]["b"]["discipline"]
    return leaf(command(table, buffer, RATE_BPS)[0])


LIMITS = (20, 30, 40, 25, 10, 15)
"""Packets that may wait in the class of each flow."""
QUANTA = (1500, 3000, 4500, 1500, 600, 2200)
"""Bytes of each flow per round."""
HTB = (
    (RATE_BPS // 25, RATE_BPS, 0, 1500),
    (RATE_BPS // 25, RATE_BPS // 5, 1, 1500),
    (RATE_BPS // 5, RATE_BPS, 1, 3000),
    (RATE_BPS // 25, RATE_BPS, 1, 4500),
    (RATE_BPS // 125, RATE_BPS // 25, 2, 1500),
    (RATE_BPS // 5, RATE_BPS, 2, 2200),
)
"""Assured rate, ceiling, priority and quantum of the class of each flow.

At these rates tc represents a burst of 8000 B exactly."""
PAIRS = (0, 0, 0, 1, 1, 1)
"""Parent of the class of each flow in the tree of three levels."""


def _classes(flows: Sequence[int], **more: Sequence[object]) -> list[dict[str, Any]]:
    """Return the classes of flows, with their limits and with the values of further keys."""
    return [
        {"name": f"c{flow}", "match": {"dscp": CODE_POINTS[flow]}, "limit": f"{LIMITS[flow]}packets"}
        | {key: values[flow] for key, values in more.items()}
        for flow in flows
    ]


def _pfifos(limits: Sequence[int] = LIMITS) -> tuple[str, ...]:
    """Return the queues of the classes of all flows."""
    return tuple(f"qdisc parent 10:{flow + 1} pfifo limit {limit}" for flow, limit in enumerate(limits))


def _htb(parents: Sequence[int]) -> tuple[tuple[str, ...], dict[str, Any]]:
    """Return a tree of HTB as commands and as a table: a root, below it `parents`, and below these the flows' classes.

    With one parent the classes are directly below the root.
    """
    bucket, burst = "burst 8000 cburst 8000", {"burst": "8000B", "cburst": "8000B"}
    lines = [f"qdisc add dev {DEVICE} root handle 1: {NO_HEADER} htb default 6"]
    whole = f"htb rate {RATE_BPS}bit ceil {RATE_BPS}bit {bucket} quantum 1500"
    lines.append(f"class add dev {DEVICE} parent 1: classid 1:f0 {whole}")
    classes: list[dict[str, Any]] = [{"name": "root", "rate": RATE, **burst}]
    several = len(set(parents)) > 1
    for parent in sorted(set(parents)) if several else ():
        middle = f"htb rate {RATE_BPS // 5}bit ceil {RATE_BPS}bit {bucket} quantum 1500"
        lines.append(f"class add dev {DEVICE} parent 1:f0 classid 1:e{parent} {middle}")
        classes.append({"name": f"p{parent}", "parent": "root", "rate": f"{RATE_BPS // 5}bit/s", "ceil": RATE, **burst})
    for flow, (rate, ceil, prio, quantum) in enumerate(HTB):
        above, name = (f"1:e{parents[flow]}", f"p{parents[flow]}") if several else ("1:f0", "root")
        own = f"htb rate {rate}bit ceil {ceil}bit prio {prio} quantum {quantum} {bucket}"
        lines.append(f"class add dev {DEVICE} parent {above} classid 1:{flow + 1} {own}")
        lines.append(f"qdisc add dev {DEVICE} parent 1:{flow + 1} pfifo limit {LIMITS[flow]}")
        (one,) = _classes([flow])
        rates = {"rate": f"{rate}bit/s", "ceil": f"{ceil}bit/s", **burst}
        classes.append(one | rates | {"parent": name, "prio": prio, "quantum": f"{quantum}B"})
    return tuple(lines), dict(tb.discipline("htb", default="c5", classes=classes))


def _tbf(child: str = "") -> tuple[str, ...]:
    """Return tbf with a child and its further commands."""
    limit = "limit 50000"
    return (
        f"qdisc add dev {DEVICE} root handle 1: {NO_HEADER} tbf rate {RATE_BPS}bit burst 8036 {limit}",
        *((f"qdisc add dev {DEVICE} parent 1:1 handle 10: {child}",) if child else ()),
    )


def _wrr(flows: Sequence[int], quanta: Sequence[int]) -> dict[str, Any]:
    """Return deficit round robin of the classes of flows."""
    return dict(tb.discipline("wrr", form="linux", count="bytes", quantum="1B", classes=_classes(flows, weight=quanta)))


_DRR = tuple(f"class parent 10: classid 10:{flow + 1} drr quantum {quantum}" for flow, quantum in enumerate(QUANTA))
_PRIO_TBF = tuple(f"qdisc add dev {DEVICE} parent 10:{flow + 1} pfifo limit {LIMITS[flow]}" for flow in range(FLOWS))
_ALL = range(FLOWS)
_TREE, _TREE_OURS = _htb([0] * FLOWS)
_DEEP, _DEEP_OURS = _htb(PAIRS)
_RED = {
    "count": "bytes",
    "byte_mode": False,
    "gentle": False,
    "wait": False,
    "mean_packet": "1000B",
    "weight": 2.0**-4,
    "min": "20kB",
    "max": "60kB",
    "max_p": 0.4,
}
UPDATE = "30ms"
"""Interval of PIE's timer, which the guest has if the timer is set to 20 ms.

Two jiffies of 10 ms (CONFIG_HZ), and one more since the timer wheel rounds up (calc_index in kernel/time/timer.c)."""
_CHOKE = {key.replace("_", "-"): value for key, value in _RED.items()} | {
    "count": "packets",
    "min": "20packets",
    "max": "60packets",
}
_SFB = tb.discipline("sfb", form="linux", ecn=True, increment=33 / 65535, decrement=3 / 65535)
CASES = [
    Case("pfifo", leaf("pfifo limit 50"), tb.discipline("drop-tail"), "50packets", "0"),
    Case("bfifo", leaf("bfifo limit 40000"), tb.discipline("drop-tail"), "40kB", "0"),
    Case("prio", leaf("prio bands 6", *_pfifos()), tb.discipline("priority", levels=_classes(_ALL), default="c5")),
    Case(
        "tbf",
        _tbf(),
        tb.discipline("shaper", form="linux", rate=RATE, burst="8035B"),
        "50kB",
        "0",
        shapes=True,
    ),
    Case(
        "tbf, prio",
        (*_tbf("prio bands 6"), *_PRIO_TBF),
        tb.discipline(
            "shaper",
            form="linux",
            rate=RATE,
            burst="8035B",
            discipline=tb.discipline("priority", levels=_classes(_ALL), default="c5"),
        ),
        shapes=True,
    ),
    Case("htb", _TREE, _TREE_OURS, handle="1", shapes=True),
    Case("htb, three levels", _DEEP, _DEEP_OURS, handle="1", shapes=True),
    Case("drr", leaf("drr", *_DRR, *_pfifos()), _wrr(_ALL, QUANTA)),
    Case(
        "drr, no limit",
        leaf("drr", *_DRR, *_pfifos([100_000] * FLOWS)),
        tb.discipline("drr", quantum="1B", weights={str(flow): quantum for flow, quantum in enumerate(QUANTA)}),
    ),
    Case(
        "ets",
        leaf(f"ets bands 6 strict 2 quanta {' '.join(map(str, QUANTA[2:]))}", *_pfifos()),
        tb.discipline(
            "priority",
            default="rest",
            levels=[
                *_classes(range(2)),
                {"name": "rest", "limit": UNLIMITED, "discipline": _wrr(range(2, FLOWS), QUANTA)},
            ],
        ),
    ),
    Case(
        "codel",
        witnessed(tb.discipline("codel", root="newton"), "200packets"),
        tb.discipline("codel", form="linux"),
        "200packets",
        "0",
    ),
    Case(
        "codel, ecn",
        witnessed(tb.discipline("codel", root="newton", ecn=True), "10000packets"),
        tb.discipline("codel", form="linux", ecn=True),
        "10000packets",
        "0",
        ecn=True,
    ),
    Case(
        "sfq",
        witnessed(tb.discipline("sfq", quantum="1514B"), "100packets"),
        tb.discipline("sfq", form="linux", buckets="per-flow"),
        "100packets",
    ),
    Case(
        "fq-codel",
        witnessed(tb.discipline("fq-codel", root="newton", ecn=False), "10000packets"),
        tb.discipline("fq-codel", form="linux", ecn=False, buckets="per-flow"),
        "10000packets",
    ),
    Case(
        "red",
        witnessed(tb.discipline("red", **_RED), "100kB"),
        tb.discipline("red", form="linux", idle="none", **_RED),
        "100kB",
        "0",
        random=True,
    ),
    Case(
        "choke",
        witnessed(tb.discipline("choke", red=_CHOKE), "150packets"),
        tb.discipline("choke", form="linux", red=_CHOKE | {"idle": "none"}),
        "150packets",
        "0",
        random=True,
    ),
    Case(
        "pie",
        witnessed(tb.discipline("pie", update=UPDATE), "1000packets"),
        tb.discipline("pie", form="linux", update=UPDATE),
        "1000packets",
        "0",
        random=True,
    ),
    Case(
        "fq-pie",
        witnessed(tb.discipline("fq-pie", pie={"update": UPDATE}), "1000packets"),
        tb.discipline("fq-pie", form="linux", pie={"update": UPDATE}, buckets="per-flow"),
        "1000packets",
        random=True,
    ),
    Case(
        "sfb",
        witnessed(_SFB, "200packets"),
        _SFB,
        "200packets",
        "0",
        random=True,
    ),
]
"""Disciplines; those that draw random numbers have intervals of whole jiffies (10 ms in the guest, CONFIG_HZ)."""
