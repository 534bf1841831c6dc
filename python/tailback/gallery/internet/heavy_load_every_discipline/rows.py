"""Rows of the board: every registered discipline with its defaults, and the thesis' proposals."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from tailback import _native
from tailback.gallery.internet.shared import blue, dumbbell, subtcp
from tailback.scenario import Value
from tailback.study.experiment.points import Settings

__all__ = [
    "ADAPTIVE",
    "ADAPTIVE_1999",
    "ADAPTIVE_SUBTCP",
    "APART",
    "BLUE",
    "BUFFER_KB",
    "FLOYD",
    "GROUPS",
    "LIMITED",
    "OFF",
    "ON",
    "ONE",
    "ONLY_OVERFLOW",
    "PER_FLOW",
    "RED",
    "RED_1999",
    "RED_STEEP",
    "RED_SUBTCP",
    "RENO",
    "SFB",
    "SFB_MOVING",
    "SUBTCP",
    "THESIS",
    "TURNED_OFF",
    "Row",
    "board",
    "ecn_keys",
    "marks",
]

BUFFER_KB = 100
# ECN of a run.
OFF, ON = "off", "on"

THESIS, ONE, APART, PER_FLOW = (
    "the thesis' proposals",
    "one queue",
    "one queue, flows distinguished",
    "a queue for each flow",
)
GROUPS = (THESIS, ONE, APART, PER_FLOW)

RED, RED_STEEP = "RED, max_p 0.1", "RED, max_p 1"
ADAPTIVE, BLUE, SFB, SFB_MOVING = "adaptive RED", "Blue, B4", "SFB", "SFB, moving hash"
SUBTCP, RED_SUBTCP, ADAPTIVE_SUBTCP = "SubTCP, drop-tail", "SubTCP, RED", "SubTCP, adaptive RED"
RED_1999, ADAPTIVE_1999 = "TCP of 1999, RED", "TCP of 1999, adaptive RED"
"""Rows with a sender that continues at a window of one segment in spite of echoes; RFC 3168's rule is of 2001."""
FLOYD = "red, adaptive (2001)"
RENO = "drop-tail, Reno"
"""Row with the sender of the published TCP model: Reno with an acknowledgement per segment and no later extensions."""

_OF_CLASSES = ("priority", "class-based", "wrr", "htb", "shaper", "hfsc")
"""Disciplines that serve others: without classes they are FIFOs, and `hfsc` drops what no class takes."""
_EMULATORS = ("netem",)
"""Disciplines that emulate a link: without a delay or a loss they are FIFOs."""
_USERS = ("user", "user-scheduler")
"""Disciplines that need the file of a user's law."""
# Disciplines of one queue that distinguish flows, and disciplines with a queue for each flow.
_APART = ("sfb", "fred", "sred", "choke", "red-pd")
_PER_FLOW = (
    "drr",
    "sfq",
    "wfq",
    "wf2q-plus",
    "virtual-clock",
    "scfq",
    "stfq",
    "sfq-red",
    "fq-codel",
    "fq-pie",
    "fair-queue",
    "fair-queue-wred",
    "fq",
)
_BY_COLOUR = ("rio", "ered")
"""Disciplines that do not drop green packets early. Packets without a meter are green."""
# Keys that let a discipline mark if `ecn` is a key of its own.
_ECN: Mapping[str, Mapping[str, Value]] = {"ecn": {}}
_ALWAYS_MARKS = ("dualpi2",)
"""Disciplines that mark by default."""

ONLY_OVERFLOW = ("drop-tail", "drop-head", "drr", "sfq", "wfq", "wf2q-plus", "virtual-clock", "scfq", "stfq", "fq")
"""Disciplines that drop only when the buffer is full."""

TURNED_OFF: Mapping[str, str] = {
    "pie": "above a probability of 10 % it drops where it could mark (RFC 8033 section 5.1)",
    "dualpi2": "above a probability of 25 % it drops where it could mark (RFC 9332 section 4.2)",
}
"""Disciplines of one queue that do not mark above a probability, each with that limit."""

LIMITED: Mapping[str, str] = {
    "sred": "SRED drops or marks with a probability of at most 15 % (INFOCOM 1999)",
    "fred": "FRED marks with a probability of at most 2 %, and drops what exceeds a flow's limit (SIGCOMM 1997)",
    "choke": "a packet that matches one of its own flow in the queue is dropped and cannot be marked (INFOCOM 2000)",
    "wred": "WRED marks at most a tenth of the packets, and drops all packets above the upper threshold",
}
"""Disciplines of one queue that by their laws and defaults mark only a part of the packets and drop others."""


@dataclass(frozen=True)
class Row:
    """One row of the board."""

    name: str
    group: str
    discipline: Mapping[str, Value]
    """Settings of the discipline without ECN; `keys` turn it on."""
    keys: Mapping[str, Mapping[str, Value]] = field(default_factory=dict)
    """Keys that let the discipline mark, see `ecn_keys`."""
    sender: Settings = field(default_factory=dict)
    """Settings that differ from the TCP of the scenario."""
    packets: Settings = field(default_factory=dict)
    """Settings of the packets' colour, if the discipline uses it."""
    ecn: tuple[str, ...] = (OFF, ON)

    def settings(self, ecn: str) -> Settings:
        """Return the settings of bottleneck and sender, with ECN on or off in both ends and the discipline."""
        on = ecn == ON
        discipline = dict(self.discipline)
        for key, inside in self.keys.items():
            # Some disciplines mark by default. Without ECN at the ends that has no effect, and it is off here as well.
            discipline[key] = on if key == "ecn" else {**inside, "ecn": on}
        return {
            **dumbbell.bottleneck(BUFFER_KB, discipline),
            "flows[tcp].transport.ecn": "classic" if on else "off",
            **self.sender,
            **self.packets,
        }


@cache
def ecn_keys(name: str) -> Mapping[str, Mapping[str, Value]]:
    """Return the keys that let a discipline mark, read from the schema: its own `ecn`, or tables of inner laws.

    A law's table is returned with all of the discipline's defaults, since keys that a given table leaves out have the
    law's defaults and not the discipline's. Empty if the discipline has no such key. Raises StopIteration for an
    unknown name.
    """
    schema = json.loads(_native.schema())

    def table(node: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the properties of the schema at a node."""
        for part in (node, *node.get("allOf", ()), *node.get("anyOf", ())):
            if "$ref" in part:
                return table(schema["$defs"][part["$ref"].rpartition("/")[2]])
            if "properties" in part:
                found: Mapping[str, Any] = part["properties"]
                return found
        return {}

    kinds: list[Mapping[str, Any]] = schema["$defs"]["Spec"]["oneOf"]
    own = next(table(kind) for kind in kinds if kind["title"] == name)
    inside = {key: node["default"] for key, node in own.items() if "ecn" in table(node) and "default" in node}
    return ({"ecn": {}} if "ecn" in own else {}) | inside


def marks(name: str) -> bool:
    """Return `True` if a registered discipline can mark packets."""
    return bool(ecn_keys(name)) or name in _ALWAYS_MARKS


@cache
def board() -> Mapping[str, Row]:
    """Return all rows by name, group by group; within a group in the thesis' order, or in that of the registry."""
    rows = [*_proposals(), *_registered()]
    rows.sort(key=lambda row: GROUPS.index(row.group))
    return {row.name: row for row in rows}


def _registered() -> list[Row]:
    """Return the rows of the registered disciplines, except those that serve others, emulate a link, or need a file."""
    names: dict[str, list[str]] = json.loads(_native.names())
    rows = []
    for name in names["disciplines"]:
        if name in (*_OF_CLASSES, *_EMULATORS, *_USERS):
            continue
        group = APART if name in _APART else PER_FLOW if name in _PER_FLOW else ONE
        ecn = (OFF, ON) if marks(name) else (OFF,)
        rows.append(Row(name, group, {"kind": name}, ecn_keys(name), packets=_colour(name), ecn=ecn))
        if name == "drop-tail":
            rows.append(Row(RENO, ONE, {"kind": name}, sender=_reno(), ecn=(OFF,)))
        if name == "red":
            floyd: dict[str, Value] = {"kind": "red", "adaptive": {"kind": "floyd"}}
            rows.append(Row(FLOYD, ONE, floyd, _ECN))
    return rows


def _colour(name: str) -> Settings:
    """Return the marking as best effort, for a discipline that treats packets without a meter as reserved."""
    if name not in _BY_COLOUR:
        return {}
    return {"flows[tcp].marking": {"meter": {"kind": "fixed", "colour": "yellow"}}}


def _reno() -> Settings:
    path = "flows[tcp].transport"
    return {
        f"{path}.recovery": {"kind": "reno"},
        f"{path}.limited-transmit": False,
        f"{path}.delayed-ack.every": 1,
        f"{path}.spurious-timeout": "off",
    }


def _proposals() -> list[Row]:
    """Return the rows of the thesis' proposals, with the parameters of its experiments here, for a buffer of 100 kB."""
    path = "flows[tcp].transport"
    red, steep = (_discipline(dumbbell.red(BUFFER_KB, max_p, ecn=False)) for max_p in (0.1, 1.0))
    adaptive = _discipline(dumbbell.red(BUFFER_KB, 0.1, ecn=False, adaptive={"kind": "feng"}))
    # 1.5 times a bin's fair share of 100 packets; the thesis' 13 packets belong to a buffer of 200 kB.
    sfb: dict[str, Value] = {"kind": "sfb", "bin-size": 7}
    control, floor = subtcp.HOSTS[subtcp.SUBTCP]
    gentle: Settings = {f"{path}.congestion-control": {**control, "x": 0.1}, f"{path}.ecn-floor": floor}
    old: Settings = {f"{path}.ecn-floor": subtcp.HOSTS[subtcp.TCP][1]}
    return [
        Row(RED, THESIS, red, _ECN),
        Row(RED_STEEP, THESIS, steep, _ECN),
        Row(ADAPTIVE, THESIS, adaptive, _ECN),
        Row(RED_1999, THESIS, red, _ECN, old, ecn=(ON,)),
        Row(ADAPTIVE_1999, THESIS, adaptive, _ECN, old, ecn=(ON,)),
        Row(SUBTCP, THESIS, {"kind": "drop-tail"}, {}, gentle, ecn=(OFF,)),
        Row(RED_SUBTCP, THESIS, red, _ECN, gentle),
        Row(ADAPTIVE_SUBTCP, THESIS, adaptive, _ECN, gentle),
        Row(BLUE, THESIS, _discipline(blue.settings("B4", BUFFER_KB, ecn=False)), _ECN),
        Row(SFB, THESIS, sfb, _ECN),
        Row(SFB_MOVING, THESIS, {**sfb, "rehash": {"interval": "2s"}}, _ECN),
    ]


def _discipline(settings: Settings) -> Mapping[str, Value]:
    found = settings[f"{dumbbell.PORT}.discipline"]
    assert isinstance(found, dict)
    return found
