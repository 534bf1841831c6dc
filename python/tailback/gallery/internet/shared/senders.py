"""Named choices of three properties of sources that the slides do not state: rule for echoes, timers and workload.

Many of the thesis' results depend on these choices; `internet-1999` runs all combinations.
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
"""Values of `ecn-floor`, the sender's rule for an echo at a window of one segment. `RFC`: it sends one segment when the
retransmission timer expires (RFC 3168, section 6.1.2). `BACKOFF`: the rule of RFC 3168, and each further echo doubles
the timeout. `NS2`: the rule of ns-2.35's senders. `NONE`: the sender continues in spite of the echo with one
segment per round trip."""

FLOORS: dict[str, str] = {
    RFC: "RFC 3168",
    BACKOFF: "RFC 3168, doubling",
    NS2: "ns-2.35",
    NONE: "no rule",
}
"""Names of the rules in figures."""

NS2_TIMERS, THESIS, BSD = "10 ms, 0.2 s", "100 ms, 0.5 s", "500 ms, 1 s"
TIMERS: dict[str, tuple[str, str]] = {
    NS2_TIMERS: ("10ms", "200ms"),
    THESIS: ("100ms", "500ms"),
    BSD: ("500ms", "1s"),
}
"""Clock tick and minimum RTO, by name. `NS2_TIMERS`: those of ns-2.35 (a tick of 10 ms since 2002, a minimum RTO of
0.2 s since 2004). `THESIS`: those with which `internet-e15` reproduces RED's row in the thesis' table of losses; ns had
a tick of 100 ms before 2002, and 0.5 s is calibrated. `BSD`: those of 4.4BSD."""

PERSISTENT, ON_OFF = "persistent", "on/off"
WORKLOADS = (PERSISTENT, ON_OFF)
ACTIVE = 0.4
"""Mean share of time for which an on/off source is on: 2 s of 5 s."""

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
    """Return the settings of a rule for a group of flows; for `NS2` also those of the rest of ns-2.35's `Sack1`."""
    path = f"flows[{group}].transport.ecn-floor"
    if floor != NS2:
        return {path: str(floor)}
    return {path: NS2, **subtcp.of_ns2(group)}


def timers(name: AxisValue, group: str = "tcp") -> Settings:
    """Return the settings of timers for a group of flows; the initial RTO is always 3 s (RFC 1122, section 4.2.3.1).

    Raises KeyError if the name is not in `TIMERS`.
    """
    tick, floor = TIMERS[str(name)]
    table: Table = {"clock": "coarse", "granularity": tick, "min-rto": floor, "initial-rto": "3s"}
    return {f"flows[{group}].transport.timers": table}


def workload(name: AxisValue, group: str = "tcp") -> Settings:
    """Return the settings of a group's sources: on/off as in the published evaluation of Blue, else the scenario's.

    On and off times are Pareto with shape 1.5, 2 s on and 3 s off on average (Feng, Shin, Kandlur and Saha, IEEE/ACM
    Transactions on Networking 10(4), 2002, from memory); the rate of 1 Mbit/s while on is reconstructed. A source
    writes four segments at a time; with 4000 sources the loss is the same as if it wrote one at a time. Data that a
    source offers while its connection cannot send waits in the connection.
    """
    return {f"flows[{group}].source": dict(_PARETO)} if name == ON_OFF else {}


def equivalent(connections: int, name: AxisValue) -> int:
    """Return the number of sources of a workload of which, on average, `connections` are active at a time.

    On/off sources are on for 40 % of the time, so the publication has 1000 and 4000 of them for 400 and 1600
    connections.
    """
    return round(connections / ACTIVE) if name == ON_OFF else connections
