"""Properties of sources that the slides do not state, as named choices: rule, timers and workload.

Many of the thesis' results depend on these choices; `internet-1999` has all combinations.
"""

from __future__ import annotations

from tailback.gallery.internet.shared import subtcp
from tailback.scenario import Table
from tailback.study.experiment.points import AxisValue, Settings

__all__ = [
    "ACTIVE",
    "BACKOFF",
    "BSD",
    "FLOORS",
    "NONE",
    "NS2",
    "NS2_TIMERS",
    "ON_OFF",
    "PERSISTENT",
    "RFC",
    "THESIS",
    "TIMERS",
    "WORKLOADS",
    "equivalent",
    "sender",
    "timers",
    "workload",
]

RFC, BACKOFF, NS2, NONE = "rfc3168", "backoff", "ns-2", "none"
"""Values of `ecn-floor`, the sender's rule for an echo at a window of one segment. RFC 3168, section 6.1.2: it sends
one segment when the timer expires; the same with a timeout that doubles at each further echo; as ns-2.35's senders; or
nothing, so that it never sends less than a segment per round trip."""

FLOORS: dict[str, str] = {
    RFC: "RFC 3168",
    BACKOFF: "RFC 3168, doubling",
    NS2: "ns-2.35",
    NONE: "no rule",
}
"""The rules in words."""

NS2_TIMERS, THESIS, BSD = "10 ms, 0.2 s", "100 ms, 0.5 s", "500 ms, 1 s"
TIMERS: dict[str, tuple[str, str]] = {
    NS2_TIMERS: ("10ms", "200ms"),
    THESIS: ("100ms", "500ms"),
    BSD: ("500ms", "1s"),
}
"""Tick and least timeout. The first are ns-2.35's (a tick of 10 ms since 2002, 0.2 s since 2004); the second those with
which RED's row of the thesis' table of losses is reproduced in `internet-e15`: ticks of 100 ms were ns's before 2002,
and 0.5 s is calibrated; the third those of 4.4BSD."""

PERSISTENT, ON_OFF = "persistent", "on/off"
WORKLOADS = (PERSISTENT, ON_OFF)
ACTIVE = 0.4
"""Share of the time for which an on/off source is on: 2 s of 5 s."""

_PARETO: Table = {
    "kind": "on-off",
    "rate": "1Mbit/s",
    "packet": "3840B",
    "on": "2s",
    "off": "3s",
    "distribution": "pareto",
    "shape": 1.5,
}


def sender(floor: AxisValue, group: str = "tcp") -> Settings:
    """Return the rule of a group of flows; with `NS2` all else that ns-2.35's `Sack1` does, too."""
    path = f"flows[{group}].transport.ecn-floor"
    if floor != NS2:
        return {path: str(floor)}
    return {path: NS2, **subtcp.of_ns2(group)}


def timers(name: AxisValue, group: str = "tcp") -> Settings:
    """Return the timers of a group of flows; the first timeout is 3 s in all of them (RFC 1122, section 4.2.3.1)."""
    tick, floor = TIMERS[str(name)]
    table: Table = {"clock": "coarse", "granularity": tick, "min-rto": floor, "initial-rto": "3s"}
    return {f"flows[{group}].transport.timers": table}


def workload(name: AxisValue, group: str = "tcp") -> Settings:
    """Return the sources of a group: endless, or as in the published evaluation of Blue.

    That is Pareto times of shape 1.5, on for 2 s and off for 3 s on average (Feng, Shin, Kandlur and Saha, IEEE/ACM
    Transactions on Networking 10(4), 2002, from memory); 1 Mbit/s while on is reconstructed. It is written four
    segments at a time, with which 4000 sources lose as much as with one. Data that a source offers while its connection
    is held back waits in the connection.
    """
    return {f"flows[{group}].source": dict(_PARETO)} if name == ON_OFF else {}


def equivalent(connections: int, name: AxisValue) -> int:
    """Return the number of sources equivalent to a number of persistent ones: on/off ones are active 40 % of the time.

    So the publication has 1000 and 4000 sources for 400 and 1600 connections.
    """
    return round(connections / ACTIVE) if name == ON_OFF else connections
