"""Dumbbells of the comparison with the TCP and the disciplines of Linux: lists, and cases drawn from a seed.

The cases and the tolerances (`METRICS` in tailback.witness.outcome) were written before the first comparison.
"""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

import tailback as tb
from tailback.witness.network import RECEIVE_BUFFER

SENDERS = 4
"""Largest number of sending hosts, which share the flows: many network namespaces take long to set up."""
TICK = "10ms"
"""Length of a tick of the guest's timers: User-Mode Linux fixes `HZ` to 100."""

LONGER = dict.fromkeys(
    (
        "24 cubic ecn red 5 Mbit/s 10-40 ms q=150",
        "48 cubic ecn red 5 Mbit/s 10-40 ms q=150",
        "4 dctcp ecn red 100 Mbit/s 2 ms q=300",
        "8 reno red 10 Mbit/s 40-80 ms q=100 reverse=4",
        "2 reno drop-tail 10 Mbit/s 40-80 ms q=100 loss=0.005",
        "htb 10 Mbit/s: 4 with on-off 5 (2 s, 2 s) first + 6 with 4 reno; probe cs0",
        "priority 10 Mbit/s: on-off 3 before on-off 6 before 4 cubic; probe af11",
        "4 dctcp ecn codel 1.5 Mbit/s 15.6-82.9 ms q=100 short=0.2",
        "64 cubic ecn choke 45.9 Mbit/s 149.5-270.8 ms q=523 onoff=0.15",
        "3 dctcp ecn pie 4.6 Mbit/s 15.9-30.5 ms q=100 reverse=1",
        "2 dctcp ecn red 100 Mbit/s 2 ms q=300",
        "4 bbr drop-tail 10 Mbit/s 40 ms q=120",
        "12 reno drop-tail 65.2 Mbit/s 124.1-135.1 ms q=1000",
        "1 reno pie 13.9 Mbit/s 88.7 ms q=103 onoff=0.15",
        "8 cubic ecn fq-pie 84.2 Mbit/s 26.3-196.5 ms q=712 loss=0.002",
        "64 bbr sfb 8.3 Mbit/s 11.2-261.5 ms q=49",
    ),
    4,
) | {
    "1 dctcp ecn red 5.2 Mbit/s 50-156.9 ms q=42 loss=0.002": 8,
    "8 bbr drop-tail 10 Mbit/s 40 ms q=120": 8,
    "60 bbr drop-tail 7.1 Mbit/s 102.1-213.3 ms q=222 short=0.2": 16,
    "72 bbr drop-tail 4.8 Mbit/s 47-176.1 ms q=120 short=0.2": 16,
    "4 cubic ecn sfb 12.6 Mbit/s 162.9-271.3 ms q=440 loss=0.002": 16,
    "2 reno sfb 53.5 Mbit/s 11.5-238.9 ms q=169": 16,
    "1 cubic fq-codel 81.3 Mbit/s 56.8-244.4 ms q=1000 reverse=1": 16,
}
"""Factors of the measured time of 23 cases that 20 seeds of 15 to 60 s could not decide, by name.

These had undecided metrics and none outside with 20 seeds, or would have had undecided ones by the intervals of their
first seeds. Cases and factors were chosen by the widths of the intervals and the time that a run takes. Longer runs do
not help where runs differ for a cause that does not average over time: a stop of CHOKe, probes or a SYN that share a
queue, flows that lose ECN with their first SYN, and two states of 2 to 8 DCTCP flows.
"""


@dataclass(frozen=True)
class Dumbbell:
    """A dumbbell with endless transfers, other traffic, and a probe."""

    flows: int
    """Number of transfers; each sending host has equally many, so that there are 1, 2 or 4 hosts."""
    rate: float
    """Rate of the bottleneck, Mbit/s."""
    rtt: tuple[float, float]
    """Round-trip times without queues of the first and of the last sending host, ms; the others are evenly between."""
    queue: int
    """Packets that may wait at the bottleneck."""
    aqm: str = "drop-tail"
    """Discipline: a key of `AQM`."""
    control: str = "cubic"
    """Congestion control: `reno`, `cubic`, `bbr` or `dctcp`."""
    ecn: bool = False
    """Whether the transfers use ECN."""
    segment: int = 1448
    """Payload of a segment, bytes; headers with timestamps add 52."""
    loss: float = 0
    """Probability that the bottleneck's link loses a packet, in each direction."""
    short: float = 0
    """Load of short transfers, of 50 kB on average, as a fraction of the bottleneck's rate."""
    onoff: float = 0
    """Mean rate of a source without TCP that is on and off for 0.5 s each on average, as a fraction of the rate."""
    reverse: int = 0
    """Number of transfers in the other direction."""
    longer: int = 1
    """Factor of the measured time, besides that of `LONGER`."""

    @property
    def name(self) -> str:
        """Name of the case: its main parameters, and those others that differ from the defaults."""
        low, high = self.rtt
        usual = {field.name: field.default for field in fields(self)}
        ms = f"{low:g}" if low == high else f"{low:g}-{high:g}"
        rest = "".join(
            f" {key}={getattr(self, key):g}"
            for key in ("segment", "loss", "short", "onoff", "reverse")
            if getattr(self, key) != usual[key]
        )
        ecn = " ecn" if self.ecn else ""
        return f"{self.flows} {self.control}{ecn} {self.aqm} {self.rate:g} Mbit/s {ms} ms q={self.queue}{rest}"

    @property
    def hosts(self) -> int:
        """Number of sending hosts."""
        return math.gcd(self.flows, SENDERS)

    @property
    def times_s(self) -> tuple[float, float]:
        """Warm-up and length of the run, seconds: about 60 000 full packets are measured, within 15 to 60 s.

        Those of `LONGER` are measured longer, by their factors.
        """
        return _times_s(self.rate, self.rtt[1], self.segment, self.longer * LONGER.get(self.name, 1))


def _times_s(rate: float, rtt: float, segment: int, longer: int) -> tuple[float, float]:
    """Return the warm-up and the length of a run, seconds; `longer`: factor of the measured time."""
    measured = min(max(round(60_000 * 8 * (segment + 52) / (rate * 1e6)), 15), 60)
    measured *= longer
    warmup = min(max(round(100 * rtt * 1e-3), 10), 20)
    return warmup, warmup + measured


@dataclass(frozen=True)
class Leaf:
    """A class of a tree without classes below it, with its packets."""

    point: str
    """Code point of its packets, which is also the name of the class."""
    htb: Mapping[str, object] = field(default_factory=dict)
    """Other parameters of its class of HTB: rate, ceiling, parent, priority, quantum."""
    flows: int = 0
    """Number of endless transfers, from a host of their own."""
    control: str = "reno"
    """Congestion control."""
    rtt: float = 40
    """Round-trip time of the transfers without queues, ms."""
    onoff: float = 0
    """Rate of a source of packets of 1000 B, without TCP, while it is on, Mbit/s."""
    periods_s: tuple[float, float] = (0.5, 0.5)
    """Means of its exponential on and off periods, seconds."""
    queue: int = 100
    """Packets that may wait."""
    aqm: str = "drop-tail"
    """Discipline: one of `Dumbbell.aqm`."""
    ecn: bool = False
    """Whether the transfers and the discipline use ECN."""


@dataclass(frozen=True)
class Tree:
    """A dumbbell whose bottleneck has classes of HTB or of priority, with the traffic of each, and a probe."""

    about: str
    """Classes and traffic."""
    leaves: tuple[Leaf | tuple[Leaf, ...], ...]
    """Leaves in the order of the classes; several in one entry have priority queueing in a class of HTB, whose other
    parameters are those of the first."""
    probe: str
    """Code point of the probe's packets."""
    rate: float = 10
    """Rate of the bottleneck, Mbit/s."""
    above: tuple[Mapping[str, object], ...] = ()
    """Classes of HTB that have others below them, parents first; none: the tree is one of priority queueing."""

    @property
    def name(self) -> str:
        """Name of the case."""
        return f"{'htb' if self.above else 'priority'} {self.rate:g} Mbit/s: {self.about}; probe {self.probe}"

    @property
    def every(self) -> list[Leaf]:
        """All leaves."""
        return [leaf for entry in self.leaves for leaf in (entry if isinstance(entry, tuple) else (entry,))]

    @property
    def times_s(self) -> tuple[float, float]:
        """Warm-up and length of the run, seconds."""
        return _times_s(self.rate, max(leaf.rtt for leaf in self.every), 1448, LONGER.get(self.name, 1))

    def discipline(self, preset: bool) -> dict[str, object]:
        """Return the table of the bottleneck's discipline."""

        def inside(leaf: Leaf) -> dict[str, object]:
            own = discipline(
                Dumbbell(leaf.flows, self.rate, (leaf.rtt,) * 2, leaf.queue, leaf.aqm, ecn=leaf.ecn), preset
            )
            return {"match": {"dscp": leaf.point}, "limit": limit(leaf.queue, leaf.aqm), "discipline": own}

        def levels(leaves: tuple[Leaf, ...]) -> dict[str, object]:
            own = [{"name": leaf.point, **inside(leaf)} for leaf in leaves]
            return dict(tb.discipline("priority", levels=own, default=leaves[-1].point))

        if not self.above:
            return levels(tuple(self.every))
        classes: list[Mapping[str, object]] = [*self.above]
        for entry in self.leaves:
            first = entry[0] if isinstance(entry, tuple) else entry
            own: dict[str, object] = {"name": first.point, **first.htb}
            if isinstance(entry, tuple):
                match = {"dscp": [leaf.point for leaf in entry]}
                classes.append(own | {"match": match, "limit": "1000packets", "discipline": levels(entry)})
            else:
                classes.append(own | inside(entry))
        return dict(tb.discipline("htb", classes=classes, default=classes[-1]["name"]))


def _red(adaptive: bool = False) -> dict[str, object]:
    # Below HTB the kernel does not age the average.
    own: dict[str, object] = {
        "idle": "none",
        "count": "bytes",
        "byte-mode": False,
        "gentle": False,
        "wait": False,
        "mean-packet": "1500B",
        "weight": 2.0**-9,
        "max-p": 0.1,
        "above-max": "mark",
    }
    return own | ({"adaptive": tb.kind("floyd")} if adaptive else {})


TICKS = "20ms"
"""Interval of PIE's updates: 15 ms, the default, is not among those that the guest can have: 20 ms, 30 ms, ..."""
HASHING = ("sfb", "sfq", "fq-codel", "fq-pie")
"""Disciplines that find a packet's queue or bins by a hash of its ports."""


def limit(queue: int, aqm: str) -> str:
    """Return the limit of a queue of `queue` packets, in bytes for RED, as in Linux."""
    return f"{1500 * queue}B" if aqm in ("red", "adaptive-red") else f"{queue}packets"


def discipline(case: Dumbbell, preset: bool = False) -> dict[str, object]:
    """Return the table of the bottleneck's discipline: defaults of Tailback, apart from what Linux cannot change.

    With `preset` it has the form "linux" if there is one.
    """
    form: dict[str, object] = {"form": "linux"} if preset else {}
    low, high = f"{case.queue // 6}packets", f"{case.queue // 2}packets"
    match case.aqm:
        case "drop-tail":
            return {"kind": "drop-tail"}
        case "red" | "adaptive-red":
            own = _red(case.aqm == "adaptive-red") | {"min": low, "max": high, "ecn": case.ecn}
            return {"kind": "red", **own, **form}
        case "choke":
            # tc's mean packet, by which the average ages.
            own = _red() | {"count": "packets", "mean-packet": "1000B"}
            return dict(tb.discipline("choke", red=own | {"min": low, "max": high, "ecn": case.ecn}, **form))
        case "sfb":
            return dict(tb.discipline("sfb", form="linux", ecn=True))
        case "sfq":
            return dict(tb.discipline("sfq", quantum="1514B", **form))
        case "fq-pie":
            return dict(tb.discipline("fq-pie", pie={"ecn": case.ecn, "update": TICKS}, **form))
        case "codel" | "fq-codel":
            return dict(tb.discipline(case.aqm, ecn=case.ecn, **form))
        case "pie":
            return dict(tb.discipline("pie", ecn=case.ecn, update=TICKS, **form))
    raise ValueError(case.aqm)


def _transport(case: Dumbbell | Leaf, segment: int, preset: bool) -> Any:
    own: dict[str, object] = {}
    if preset:
        own = {"preset": "linux-6.1", "timers": {"tick": TICK}, "receive_buffer": {"max": f"{RECEIVE_BUFFER[1]}B"}}
    control, ecn = tb.kind(case.control), "classic" if case.ecn else "off"
    return tb.tcp(segment=f"{segment}B", header="52B", congestion_control=control, ecn=ecn, **own)


def scenario(case: Dumbbell | Tree, preset: bool = False) -> tb.Scenario:
    """Return a case as a scenario, with Tailback's default transport apart from the sizes of packets.

    With `preset` it has the defaults of Linux 6.1 instead, and disciplines have the form "linux".
    """
    if isinstance(case, Tree):
        return _tree(case, preset)
    warmup, end = case.times_s
    transport = _transport(case, case.segment, preset)
    near, far = ((rtt / 2 - 1.0) for rtt in case.rtt)
    access = "1Gbit/s"
    port: dict[str, object] = {"buffer": limit(case.queue, case.aqm), "discipline": discipline(case, preset)}
    hosts = case.hosts
    made = (
        tb.Scenario(duration=f"{end}s", warmup=f"{warmup}s", framing="none", buffer="unlimited")
        .host("s", count=hosts)
        .host("t", count=hosts)
        .host("p")
        .host("q")
        .switch("r0", ports={"r1": port})
        .switch("r1", ports={"r0": {"buffer": f"{case.queue}packets"}})
        .link(["r0", "r1"], rate=f"{case.rate:g}Mbit/s", delay="500us", loss=case.loss)
        .link(["s*", "r0"], rate=access, delay=[f"{near:g}ms", f"{far:g}ms"] if hosts > 1 else f"{near:g}ms")
        .link(["r1", "t*"], rate=access, delay="500us")
        .link(["p", "r0"], rate=access, delay="1ms")
        .link(["r1", "q"], rate=access, delay="1ms")
        .flow(
            "tcp",
            "s*",
            "t*",
            tb.source("bulk"),
            pair="zip",
            count=case.flows // hosts,
            start_spread="1s",
            transport=transport,
        )
        .flow("probe", "p", "q", tb.source("poisson", packet="100B", rate="40kbit/s"))
    )
    if case.short:
        size = tb.kind("exponential", mean="50kB")
        rate = case.short * case.rate * 1e6
        transfers = tb.kind("transfers", rate=f"{rate:.0f}bit/s", size=size)
        # On Linux each transfer has a new port, and so other queues or bins of a discipline that hashes ports. Here it
        # takes a free flow at random; such disciplines have so many flows that few carry a second transfer.
        flows = math.ceil(10 * rate * end / (8 * 50_000)) if case.aqm in HASHING else 100
        made = made.flow("short", "p", "q", application=transfers, count=flows, transport=transport)
    if case.onoff:
        rate = f"{2 * case.onoff * case.rate * 1e6:.0f}bit/s"
        made = made.flow("onoff", "p", "q", tb.source("on-off", packet="1000B", rate=rate, on="500ms", off="500ms"))
    if case.reverse:
        made = made.flow(
            "reverse", "t1" if hosts > 1 else "t", "s1" if hosts > 1 else "s", tb.source("bulk"), count=case.reverse,
            start_spread="1s", transport=transport,
        )  # fmt: skip
    return made


def _tree(case: Tree, preset: bool) -> tb.Scenario:
    """Return a case with classes as a scenario."""
    warmup, end = case.times_s
    access = "1Gbit/s"
    port: dict[str, object] = {"buffer": "unlimited", "discipline": case.discipline(preset)}
    made = (
        tb.Scenario(duration=f"{end}s", warmup=f"{warmup}s", framing="none", buffer="unlimited")
        .host("p")
        .host("q")
        .switch("r0", ports={"r1": port})
        .switch("r1", ports={"r0": {"buffer": "1000packets"}})
        .link(["r0", "r1"], rate=f"{case.rate:g}Mbit/s", delay="500us")
        .link(["p", "r0"], rate=access, delay="1ms")
        .link(["r1", "q"], rate=access, delay="1ms")
    )
    for leaf in case.every:
        name = leaf.point
        if leaf.flows:
            made = made.host(f"s-{name}").host(f"t-{name}")
            made = made.link([f"s-{name}", "r0"], rate=access, delay=f"{leaf.rtt / 2 - 1:g}ms")
            made = made.link(["r1", f"t-{name}"], rate=access, delay="500us")
            made = made.flow(
                f"tcp-{name}", f"s-{name}", f"t-{name}", tb.source("bulk"), count=leaf.flows, start_spread="1s",
                dscp=name, transport=_transport(leaf, 1448, preset),
            )  # fmt: skip
        if leaf.onoff:
            on, off = (f"{one:g}s" for one in leaf.periods_s)
            source = tb.source("on-off", packet="1000B", rate=f"{leaf.onoff:g}Mbit/s", on=on, off=off)
            made = made.flow(f"onoff-{name}", "p", "q", source, dscp=name)
    return made.flow("probe", "p", "q", tb.source("poisson", packet="100B", rate="40kbit/s"), dscp=case.probe)


SHORT, MIDDLE, LONG, SPREAD = (10, 10), (40, 80), (200, 200), (20, 200)
CASES = [
    # Drop-tail.
    Dumbbell(1, 10, MIDDLE, 80),
    Dumbbell(2, 10, MIDDLE, 60, control="reno"),
    Dumbbell(4, 10, MIDDLE, 60, control="reno"),
    Dumbbell(8, 10, SPREAD, 100),
    Dumbbell(32, 10, MIDDLE, 100, control="reno"),
    Dumbbell(64, 10, MIDDLE, 60),
    Dumbbell(200, 100, MIDDLE, 400),
    Dumbbell(4, 1.5, SHORT, 30),
    Dumbbell(1, 100, (20, 20), 200),
    Dumbbell(4, 45, LONG, 600, control="reno"),
    Dumbbell(8, 10, (300, 300), 250),
    # RED with and without ECN, adaptive RED.
    Dumbbell(8, 10, MIDDLE, 120, "red", "reno"),
    Dumbbell(8, 10, MIDDLE, 120, "red", "reno", ecn=True),
    Dumbbell(32, 10, MIDDLE, 180, "red"),
    Dumbbell(32, 10, MIDDLE, 180, "red", ecn=True),
    *(Dumbbell(n, 10, MIDDLE, 180, "adaptive-red", "reno") for n in (4, 16, 64)),
    *(Dumbbell(n, 10, MIDDLE, 180, "adaptive-red", "cubic", ecn=True) for n in (4, 16, 64)),
    Dumbbell(16, 45, SPREAD, 480, "adaptive-red", "reno"),
    Dumbbell(16, 1.5, MIDDLE, 120, "adaptive-red", "reno"),
    # ECN at small windows.
    *(Dumbbell(n, 10, (20, 20), 200, aqm, "reno", ecn=True) for n in (32, 64) for aqm in ("codel", "pie")),
    *(Dumbbell(n, 5, (10, 40), 150, aqm, "cubic", ecn=True) for n in (24, 48) for aqm in ("red", "fq-codel")),
    # DCTCP, with a threshold of RED that is a step in Linux, too.
    *(Dumbbell(n, 100, (2, 2), 300, "red", "dctcp", ecn=True) for n in (2, 4, 8, 16)),
    *(Dumbbell(n, 45, (5, 5), 300, "codel", "dctcp", ecn=True) for n in (2, 4, 8, 16)),
    # BBR with several flows.
    *(Dumbbell(n, 10, (40, 40), queue, control="bbr") for n in (2, 4, 8, 16) for queue in (30, 120)),
    # FQ-CoDel with 32 flows.
    *(Dumbbell(32, rate, rtt, 1000, "fq-codel") for rate in (5, 20) for rtt in ((20, 20), MIDDLE)),
    *(Dumbbell(32, rate, rtt, 1000, "fq-codel", ecn=True) for rate in (5, 20) for rtt in ((20, 20), MIDDLE)),
    # Other disciplines.
    Dumbbell(4, 10, MIDDLE, 500, "codel", "reno"),
    Dumbbell(16, 10, MIDDLE, 500, "codel"),
    Dumbbell(4, 10, MIDDLE, 500, "fq-codel"),
    Dumbbell(8, 45, SPREAD, 1000, "pie", "reno"),
    Dumbbell(32, 10, MIDDLE, 500, "pie"),
    Dumbbell(8, 10, MIDDLE, 500, "fq-pie"),
    Dumbbell(8, 10, MIDDLE, 100, "sfq"),
    Dumbbell(8, 10, MIDDLE, 120, "choke", "reno"),
    Dumbbell(16, 10, MIDDLE, 200, "sfb"),
    # Short transfers, on and off, reverse traffic, random loss.
    Dumbbell(4, 10, MIDDLE, 100, short=0.3),
    Dumbbell(8, 10, MIDDLE, 500, "codel", onoff=0.25),
    Dumbbell(8, 10, MIDDLE, 100, "red", "reno", reverse=4),
    Dumbbell(2, 10, MIDDLE, 100, control="reno", loss=0.005),
    Dumbbell(2, 10, MIDDLE, 100, control="bbr", loss=0.01),
]
"""Listed cases."""


def _rates(rate: str, ceil: str = "10Mbit/s", **more: object) -> dict[str, object]:
    """Return the parameters of a class of HTB below the class `all`."""
    return {"parent": "all", "rate": rate, "ceil": ceil, **more}


_ALL: tuple[Mapping[str, object], ...] = ({"name": "all", "rate": "10Mbit/s"},)
_SITES: tuple[Mapping[str, object], ...] = (
    *_ALL,
    {"name": "one", "parent": "all", "rate": "6Mbit/s", "ceil": "10Mbit/s"},
    {"name": "two", "parent": "all", "rate": "4Mbit/s", "ceil": "10Mbit/s"},
)
TREES = [
    # HTB: rates and ceilings, a class that is idle at times, turns of a quantum.
    Tree(
        "3 + 7, 4 reno each",
        (Leaf("af11", _rates("3Mbit/s"), 4), Leaf("cs0", _rates("7Mbit/s"), 4)),
        "af11",
        above=_ALL,
    ),
    Tree(
        "2 (at most 4) + 4, 4 cubic each",
        (Leaf("af11", _rates("2Mbit/s", "4Mbit/s"), 4, "cubic"), Leaf("cs0", _rates("4Mbit/s"), 4, "cubic", 80)),
        "af11",
        above=_ALL,
    ),
    Tree(
        "2 + 6 of 8, 2 cubic and 4 reno",
        (Leaf("af11", _rates("2Mbit/s", "8Mbit/s"), 2, "cubic"), Leaf("cs0", _rates("6Mbit/s", "8Mbit/s"), 4)),
        "cs0",
        above=({"name": "all", "rate": "8Mbit/s"},),
    ),
    Tree(
        "4 with on-off 5 (2 s, 2 s) first + 6 with 4 reno",
        (
            Leaf("ef", _rates("4Mbit/s", prio=0), onoff=5, periods_s=(2, 2)),
            Leaf("cs0", _rates("6Mbit/s", prio=1), 4, rtt=20),
        ),
        "cs0",
        above=_ALL,
    ),
    Tree(
        "1 + 1 with quanta 1500 + 4500, 4 reno each",
        (Leaf("af11", _rates("1Mbit/s", quantum="1500B"), 4), Leaf("cs0", _rates("1Mbit/s", quantum="4500B"), 4)),
        "af11",
        above=_ALL,
    ),
    # HTB: other disciplines in the classes.
    Tree(
        "3 drop-tail + 7 fq-codel, 4 cubic each",
        (
            Leaf("af11", _rates("3Mbit/s"), 4, "cubic", queue=60),
            Leaf("cs0", _rates("7Mbit/s"), 4, "cubic", 80, queue=500, aqm="fq-codel"),
        ),
        "cs0",
        above=_ALL,
    ),
    Tree(
        "5 codel + 5 codel ecn, 4 reno and 4 cubic",
        (
            Leaf("af11", _rates("5Mbit/s"), 4, queue=500, aqm="codel"),
            Leaf("cs0", _rates("5Mbit/s"), 4, "cubic", queue=500, aqm="codel", ecn=True),
        ),
        "af11",
        above=_ALL,
    ),
    # HTB of three levels: two sites with two classes each.
    Tree(
        "sites of 6 and 4, 2 reno and 2 cubic in each",
        (
            Leaf("af21", _rates("2Mbit/s", prio=0) | {"parent": "one"}, 2),
            Leaf("af11", _rates("4Mbit/s", prio=1) | {"parent": "one"}, 2, "cubic"),
            Leaf("af31", _rates("1Mbit/s", prio=0) | {"parent": "two"}, 2),
            Leaf("cs0", _rates("3Mbit/s", prio=1) | {"parent": "two"}, 2, "cubic"),
        ),
        "af11",
        above=_SITES,
    ),
    # Priority queueing in a class of HTB.
    Tree(
        "4 of (on-off 2 before 4 reno) + 6 with 4 reno",
        ((Leaf("ef", _rates("4Mbit/s"), onoff=2), Leaf("af11", flows=4)), Leaf("cs0", _rates("6Mbit/s"), 4)),
        "af11",
        above=_ALL,
    ),
    # Priority queueing.
    Tree("on-off 4 before 4 reno", (Leaf("ef", onoff=4), Leaf("cs0", flows=4)), "cs0"),
    Tree("on-off 4 before 4 cubic", (Leaf("ef", onoff=4), Leaf("cs0", flows=4, control="cubic", rtt=80)), "ef"),
    Tree(
        "on-off 3 before on-off 6 before 4 cubic",
        (Leaf("ef", onoff=3), Leaf("af11", onoff=6), Leaf("cs0", flows=4, control="cubic")),
        "af11",
    ),
    Tree("on-off 3 before 8 reno red", (Leaf("ef", onoff=3), Leaf("cs0", flows=8, queue=120, aqm="red")), "cs0"),
    Tree(
        "on-off 3 before 4 cubic fq-codel",
        (Leaf("ef", onoff=3), Leaf("cs0", flows=4, control="cubic", queue=500, aqm="fq-codel")),
        "cs0",
    ),
]
"""Listed cases with classes of HTB or of priority queueing.

Numbers in their names are assured rates, and rates of on-off sources while on, Mbit/s.
"""
DRAWN = 70
"""Number of drawn cases."""
SEED = 20_261_128
"""Seed of the drawn cases."""


def drawn(count: int = DRAWN, seed: int = SEED) -> list[Dumbbell]:
    """Return random cases: 1 to 200 flows, 1.5 to 100 Mbit/s, 5 to 300 ms, 0.3 to 3 bandwidth-delay products."""
    rng = random.Random(seed)

    def between(low: float, high: float) -> float:
        """Return a log-uniform random number."""
        return math.exp(rng.uniform(math.log(low), math.log(high)))

    cases = []
    for _ in range(count):
        control = rng.choice(["reno", "cubic", "cubic", "bbr", "dctcp"])
        aqm = rng.choice(
            ["drop-tail", "red", "adaptive-red", "codel", "fq-codel", "pie", "fq-pie", "choke", "sfb", "sfq"]
        )
        if control == "dctcp":
            # Without marks it is Reno.
            aqm = rng.choice(["red", "codel", "fq-codel", "pie"])
        rate = round(between(1.5, 100), 1)
        low = round(between(5, 300), 1)
        rtt = (low, low) if rng.random() < 0.3 else (low, round(rng.uniform(low, 300), 1))
        most = min(200.0, 40 * rate)
        flows = round(between(1, most))
        flows -= flows % SENDERS if flows > SENDERS else 0
        path = rate * 1e3 * sum(rtt) / 2 / 8 / 1500
        queue = min(1000, max(12, round(path * between(0.3, 3))))
        if aqm == "sfq":
            queue = min(queue, 127)
        elif aqm in ("codel", "fq-codel", "pie", "fq-pie"):
            queue = max(queue, 100)
        ecn = control == "dctcp" or (control != "bbr" and aqm not in ("drop-tail", "sfq") and rng.random() < 0.4)
        extra = rng.choice(["", "", "", "short", "onoff", "reverse", "loss"])
        own: dict[str, float] = {
            "short": 0.2 if extra == "short" else 0,
            "onoff": 0.15 if extra == "onoff" else 0,
            "reverse": max(1, flows // 4) if extra == "reverse" else 0,
            "loss": 0.002 if extra == "loss" else 0,
        }
        cases.append(Dumbbell(flows, rate, rtt, queue, aqm, control, ecn=ecn, **own))  # type: ignore[arg-type]
    return cases
