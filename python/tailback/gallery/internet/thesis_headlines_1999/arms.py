"""The runs by which the headlines are judged: other experiments' scenarios with a discipline and numbers of sources."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tailback.gallery.internet.adaptive_red_testbed.experiment import BUFFER_KB as TESTBED_KB
from tailback.gallery.internet.adaptive_red_testbed.experiment import MAX_KB, MIN_KB, PACKET_BYTES
from tailback.gallery.internet.blue_testbed.experiment import DISCIPLINES
from tailback.gallery.internet.blue_testbed.experiment import RED as TESTBED_RED
from tailback.gallery.internet.shared import blue, dumbbell, subtcp, testbed
from tailback.gallery.internet.shared.fairness import NO_ECN
from tailback.gallery.internet.shared.fairness import sender as e15_sender
from tailback.gallery.internet.shared.queues import RED as E15_RED
from tailback.gallery.internet.shared.queues import SFB
from tailback.gallery.internet.shared.queues import discipline as e15_queue
from tailback.gallery.internet.shared.senders import equivalent, sender, timers, workload
from tailback.scenario import Value
from tailback.study.experiment.points import Point, ProfileName, Settings

__all__ = ["ANY", "ARMS", "FROZEN_S", "INTERVAL_S", "MANY", "STEPS", "Arm"]

ANY = "any"
"""Value in place of a rule for an echo at a window of one segment, for runs without such an echo or rule."""
STEPS = 10
"""Number of steps of internet-e13; each adds 50 connections."""
MANY = 300
"""Number of connections in the headlines of internet-e10 and e11."""
FROZEN_S = 5
"""Minimum time between changes of max_p, s: the slide says "freeze" and gives no value."""
INTERVAL_S = 20
"""Time between two changes of SFB's hashes, s."""
_AGGRESSIVE, _CONSERVATIVE = 0.25, 0.016


@dataclass(frozen=True)
class Arm:
    """A discipline with a number of connections, run with all rules, timers and workloads."""

    of: str
    """Id of the experiment whose scenario is the base."""
    # Settings of the discipline and of what else differs from the base.
    change: Settings
    count: Mapping[str, int]
    """Number of persistent connections by group."""
    quick: tuple[str, str]
    """Length of a run and its warm-up with `--quick`."""
    # Length of a run and its warm-up with `--full`.
    full: tuple[str, str]
    ruled: bool = True
    """`True` if the sender's rule can affect the result."""
    workloads: tuple[str, ...] = field(default=("persistent", "on/off"))

    def settings(self, point: Point, profile: ProfileName) -> Settings:
        """Return the settings of a cell: the arm's own, then numbers, rule, timers and workload."""
        duration, warmup = self.quick if profile == "quick" else self.full
        found: Settings = {"run.duration": duration, "run.warmup": warmup, **self.change}
        for group, count in self.count.items():
            found |= {f"flows[{group}].count": equivalent(count, point["workload"])}
            found |= sender(point["floor"], group) if self.ruled else {}
            found |= timers(point["timers"], group) | workload(point["workload"], group)
        return found


def _feng(*, bound: bool = False, frozen: bool = False) -> dict[str, Value]:
    """Return the table of the thesis' adaptive RED, which has no upper bound of max_p, with a bound or a freeze."""
    return {
        "kind": "feng",
        **({"top": 1} if bound else {}),
        **({"freeze": f"{FROZEN_S}s"} if frozen else {}),
    }


def _testbed(max_p: float, sources: int, adaptive: dict[str, Value] | None = None) -> Arm:
    """Return an arm on adaptive RED's testbed, over the path with a round trip of 100 ms."""
    red = dumbbell.red(
        TESTBED_KB,
        max_p,
        ecn=True,
        low_kb=MIN_KB,
        high_kb=MAX_KB,
        packet_bytes=PACKET_BYTES,
        adaptive=adaptive,
    )
    change = {**testbed.FREEBSD, **testbed.LARGE_SOCKETS, **red, "links[0].delay": "50ms"}
    return Arm("internet-e08", change, {"tcp": sources}, ("80s", "20s"), ("220s", "20s"), workloads=("persistent",))


def _t1(adaptive: dict[str, Value] | None, hosts: str = subtcp.TCP) -> Arm:
    """Return an arm of 300 connections on the T1 link, behind RED or adaptive RED with ECN."""
    change = subtcp.settings(hosts, subtcp.RED_ECN) | dumbbell.red(100, 0.1, ecn=True, adaptive=adaptive)
    ruled = hosts != subtcp.SUBTCP
    return Arm("internet-e10", change, {"tcp": MANY}, ("250s", "50s"), ("550s", "50s"), ruled)


def _blue(name: str, buffer_kb: float, sources: int) -> Arm:
    """Return an arm of internet-e12, with a parameter set of RED or Blue at 45 Mbit/s."""
    length = ("60s", "35s"), ("200s", "100s")
    return Arm("internet-e12", blue.settings(name, buffer_kb), {"tcp": sources}, *length)


def _understanding(name: str) -> Arm:
    groups = {f"tcp{k}": 50 for k in range(STEPS)}
    return Arm("internet-e13", blue.settings(name, 500), groups, ("100s", "5s"), ("100s", "5s"))


def _blue_testbed(name: str) -> Arm:
    change: Settings = {**testbed.FREEBSD, "switches.a.ports.b.discipline": DISCIPLINES[name]}
    return Arm("internet-e14", change, {"tcp": 100}, ("80s", "40s"), ("250s", "50s"))


def _sfb() -> Arm:
    queue, buffer = e15_queue(SFB, ecn=True)
    change: Settings = {
        "switches.r0.ports.r1.discipline": queue,
        "switches.r0.ports.r1.buffer": buffer,
        "flows[tcp].transport.ecn": "classic",
        "flows[cbr].source.rate": "45Mbit/s",
    }
    return Arm("internet-e15", change, {"tcp": 400}, ("100s", "20s"), ("200s", "20s"))


def _fair_red() -> Arm:
    queue, buffer = e15_queue(E15_RED, ecn=False)
    change: Settings = {
        "switches.r0.ports.r1.discipline": queue,
        "switches.r0.ports.r1.buffer": buffer,
        "flows[cbr].source.rate": "45Mbit/s",
        **e15_sender(NO_ECN),
    }
    return Arm("internet-e15", change, {"tcp": 400}, ("100s", "20s"), ("200s", "20s"), ruled=False)


def _eight(*, moving: bool) -> Arm:
    """Return an arm of eight non-responsive flows of 5 Mbit/s under SFB."""
    queue, _ = e15_queue(SFB, ecn=True)
    if moving:
        queue["rehash"] = {"interval": f"{INTERVAL_S}s", "double-buffer": True}
    change: Settings = {"switches.r0.ports.r1.discipline": queue}
    return Arm("internet-e17", change, {"tcp": 400}, ("100s", "20s"), ("200s", "20s"))


def _ecn() -> Arm:
    change = {**dumbbell.red(80, 0.1, ecn=True), "flows[tcp].transport.ecn": "classic"}
    return Arm("internet-e04", change, {"tcp": 64}, ("120s", "20s"), ("220s", "20s"))


ARMS: dict[str, Arm] = {
    "e04 RED, ECN": _ecn(),
    "e08 aggressive, 8": _testbed(_AGGRESSIVE, 8),
    "e08 adaptive, 8": _testbed(0.1, 8, _feng()),
    "e08 adaptive, 8, frozen": _testbed(0.1, 8, _feng(frozen=True)),
    "e08 conservative, 64": _testbed(_CONSERVATIVE, 64),
    "e08 adaptive, 64": _testbed(0.1, 64, _feng()),
    "e08 adaptive, 64, frozen": _testbed(0.1, 64, _feng(frozen=True)),
    "e10 RED": _t1(None),
    "e10 adaptive": _t1(_feng()),
    "e10 adaptive, bound": _t1(_feng(bound=True)),
    "e10 adaptive, frozen": _t1(_feng(frozen=True)),
    "e10 SubTCP, adaptive": _t1(_feng(), subtcp.SUBTCP),
    "e10 SubTCP, adaptive, bound": _t1(_feng(bound=True), subtcp.SUBTCP),
    "e10 SubTCP, adaptive, frozen": _t1(_feng(frozen=True), subtcp.SUBTCP),
    **{
        f"e12 {name}, {buffer_kb} kB, {sources}": _blue(name, buffer_kb, sources)
        for sources in (400, 1600, 3200)
        for name, buffer_kb in (("B4", 100), ("R2", 1000))
    },
    "e13 RED": _understanding("R2"),
    "e13 Blue": _understanding("B4"),
    "e14 RED": _blue_testbed(TESTBED_RED),
    "e14 Blue": _blue_testbed("Blue"),
    "e15 RED": _fair_red(),
    "e15 SFB": _sfb(),
    "e17 static": _eight(moving=False),
    "e17 moving": _eight(moving=True),
}
"""Arms by name; the first word is the experiment."""
