"""Networks in which a component is checked: small, and each with another demand on a queue."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

from tailback.laws.classes import Role
from tailback.scenario import Scenario, Table, Value

__all__ = ["CASES", "MARKED", "Case", "Law"]


@dataclass(frozen=True, slots=True)
class Law:
    """A class of a file, with its parameters: a queue law, or another component."""

    file: Path
    name: str
    parameters: Mapping[str, Value] = field(default_factory=dict)
    role: Role = "law"

    @property
    def language(self) -> str:
        """Language by the suffix of the file: "python", "wasm" or "native"."""
        return {".py": "python", ".wasm": "wasm", ".wat": "wasm"}.get(self.file.suffix, "native")

    @property
    def code(self) -> dict[str, Value]:
        """File, class and parameters, as in a scenario."""
        return {"file": self.file.name, "class": self.name, "parameters": dict(self.parameters)}

    @property
    def user(self) -> dict[str, Value]:
        """The component as a kind of discipline, congestion control or source."""
        return {"kind": "user", **self.code}


_NETWORK: dict[str, Value] = {
    "tailback": 1,
    "run": {"duration": "2s", "seed": 1, "sample": "200ms"},
    "hosts": {"a": {"count": 3}, "b": {}},
    "switches": {"s": {}},
    "links": [
        {"between": ["a*", "s"], "rate": "100Mbit/s", "delay": "5ms"},
        {"between": ["s", "b"], "rate": "5Mbit/s", "delay": "5ms"},
    ],
}
_TCP: dict[str, Value] = {
    "name": "tcp",
    "from": "a*",
    "to": "b",
    "source": {"kind": "bulk"},
    "transport": {"kind": "tcp"},
}
_DCTCP: dict[str, Value] = {"kind": "tcp", "ecn": "classic", "congestion-control": {"kind": "dctcp"}}
_ECN: dict[str, Value] = {**_TCP, "transport": {"kind": "tcp", "ecn": "classic"}}


def _packets(rate: str, name: str = "packets", from_: str = "a*", to: str = "b", **more: Value) -> dict[str, Value]:
    """Return a group of flows that send packets of 1000 B with exponential intervals."""
    source: dict[str, Value] = {"kind": "poisson", "packet": "1000B", "rate": rate}
    return {"name": name, "from": from_, "to": to, "source": source, **more}


@dataclass(frozen=True, slots=True)
class Case:
    """A network with a law in its queues."""

    name: str
    changes: Mapping[str, Value]
    """Tables that replace those of the network without flows."""
    buffer: str = "40packets"
    in_classes: bool = False
    """`True` if a law is in both classes of a priority scheduler, in place of all queues."""

    def scenario(self, law: Law) -> Scenario:
        """Return the scenario with a component; raises ScenarioError."""
        document = {**_NETWORK, **self.changes}
        document["network"] = {"buffer": self.buffer, "discipline": self._discipline(law)}
        document["flows"] = [_with(law, flow) for flow in cast("list[Table]", self.changes["flows"])]
        return Scenario.from_document(document, str(law.file.parent)).check()

    def _discipline(self, law: Law) -> Value:
        """Return the discipline of all queues."""
        if law.role == "scheduler":
            queues: list[Value] = [{"name": "first", "match": {"dscp": ["ef"]}}, {"name": "rest"}]
            return {"kind": "user-scheduler", "scheduler": law.code, "queues": queues}
        if law.role != "law":
            return {"kind": "red", "ecn": True}
        if not self.in_classes:
            return law.user
        levels: list[Value] = [{"match": {"dscp": "ef"}, "discipline": law.user}, {"discipline": law.user}]
        return {"kind": "priority", "levels": levels}


def _with(law: Law, flow: Table) -> Table:
    """Return a flow with a congestion control or a source, and unchanged for other components."""
    if law.role == "source":
        return {**flow, "source": law.user}
    if law.role == "congestion-control":
        transport = cast("Table", flow.get("transport", {"kind": "tcp", "ecn": "classic"}))
        return {**flow, "transport": {**transport, "congestion-control": law.user}}
    return flow


MARKED = Case("DCTCP", {"flows": [{**_TCP, "transport": _DCTCP}]})
"""A network with a warning if its law states that it never marks."""
_PAIR: dict[str, Value] = {
    "hosts": {"a": {}, "b": {}, "c": {}, "d": {}},
    "switches": {"s": {}, "t": {}},
    "links": [
        {"between": ["a", "s"], "rate": "100Mbit/s", "delay": "5ms"},
        {"between": ["s", "b"], "rate": "5Mbit/s", "delay": "5ms"},
        {"between": ["c", "t"], "rate": "100Mbit/s", "delay": "5ms"},
        {"between": ["t", "d"], "rate": "5Mbit/s", "delay": "5ms"},
    ],
}
"""Two networks without a connection between them."""


def _pair(name: str, rate: str) -> Case:
    other = _packets(rate, "other", "c", "d")
    return Case(name, {**_PAIR, "flows": [{**_ECN, "name": "own", "from": "a"}, other]})


CASES = (
    Case("TCP", {"flows": [_TCP]}),
    Case("TCP with ECN", {"flows": [_ECN]}),
    Case("overload", {"flows": [_packets("4Mbit/s")]}),
    Case("a buffer of one packet", {"flows": [_packets("2Mbit/s")]}, "1packets"),
    Case(
        "priorities",
        {"flows": [{**_ECN, "from": "a1"}, _packets("3Mbit/s", "first", "a2", dscp="ef"), _packets("3Mbit/s")]},
        in_classes=True,
    ),
    Case(
        "changing rates",
        {
            "flows": [_ECN],
            "timeline": [
                {"at": "500ms", "link": ["s", "b"], "rate": "300kbit/s"},
                {"at": "1s", "link": ["s", "b"], "rate": "1Gbit/s"},
                {"at": "1500ms", "link": ["s", "b"], "rate": "2Mbit/s"},
            ],
        },
    ),
    Case(
        "idle periods",
        {
            "run": {"duration": "10s", "seed": 1, "sample": "1s"},
            "flows": [
                {
                    **_packets("1Mbit/s"),
                    "source": {
                        "kind": "on-off",
                        "packet": "1000B",
                        "rate": "4Mbit/s",
                        "on": "50ms",
                        "off": "2s",
                    },
                }
            ],
        },
    ),
    _pair("a quiet neighbour", "100kbit/s"),
    _pair("a loud neighbour", "10Mbit/s"),
)
"""All networks; the last two differ only in the load of a part that is not connected with the other part."""
