"""A port of a router, read from a scenario's document: its link, its policy and the groups of flows that use it.

`tailback.bounds.worst_case` and `tailback.bounds.fluid` use this module, which also parses quantities of documents.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any, TypeAlias

from tailback import _native

__all__ = [
    "Group",
    "Json",
    "NotModelledError",
    "Port",
    "burst_bytes",
    "class_rates",
    "delay_s",
    "rate_bps",
    "selects",
    "share_bps",
    "towards",
]

Json: TypeAlias = dict[str, Any]
"""Table of a document."""


class NotModelledError(Exception):
    """Error of a scenario with a part that has no analytic model; the message gives the reason."""


@dataclass(frozen=True, slots=True)
class Group:
    """A group of flows of a scenario, and the lengths of its packets."""

    name: str
    """Name of the group."""
    dscp: int
    """DSCP, 0 to 63."""
    flows: int
    """Number of flows."""
    source: Json
    """Table `source` of the document."""
    packet: int
    """Length of the largest packet, bytes as counted by buffers, shapers and policers."""
    wire: int
    """Length of the largest packet on the wire, bytes."""
    burst: int
    """Sum of the lengths of the packets of one write of the source, bytes as counted by buffers."""
    written: int
    """Payload of one write of the source with the transport header, bytes."""
    part: float
    """Smallest ratio of bytes counted by buffers to wire bytes among the packets of a write, above 0 and at most 1."""


class Port:
    """A port with its link, its policy and the groups of flows that use it.

    Attributes:
        document: The scenario's document.
        maps: Conditions of the document's class maps, by name.
        links: Table of each link, by the set of its two ends.
        node: The switch.
        table: Settings of the port; empty if it has none.
        line: Table of the port's link.
        groups: Groups of flows that are sent to the port's neighbour, in the order of the document.
        senders: Sending host of each group of the document, by the group's name.
        largest: Largest packet of the groups, bytes as counted by buffers; 1500 without groups.
        part: Smallest `Group.part` of the groups; 1 without groups.

    """

    def __init__(self, document: Json, node: str, neighbour: str) -> None:
        """Read the port of switch `node` to `neighbour` from a scenario's document.

        Raises KeyError if there is no such switch, or no link between the two.
        """
        self.document = document
        self.maps: Json = document.get("class-maps", {})
        self.links = {frozenset(link["between"]): link for link in document["links"]}
        self.node = node
        self.table: Json = document["switches"][node].get("ports", {}).get(neighbour, {})
        self.line = self.links[frozenset((node, neighbour))]
        self.groups = [self._group(flow) for flow in document["flows"] if flow["to"] == neighbour]
        self.senders = {flow["name"]: flow["from"] for flow in document["flows"]}
        largest = [group.packet for group in self.groups]
        self.largest = max(largest, default=1500)
        # The link also carries preamble and gap, whose share of the wire bytes is largest for short packets.
        self.part = min((group.part for group in self.groups), default=1.0)

    def _group(self, flow: Json) -> Group:
        """Return the group of a table `flows` of the document."""
        source = flow.get("source", {})
        framing = self.document["network"]["framing"]
        # Bytes, as in the table `framing`; without framing, the MTU is the largest length of an IP packet.
        header, min_frame, overhead, mtu = (0, 0, 0, 65_535)
        if framing == "ethernet":
            header, min_frame, overhead, mtu = (18, 64, 20, 1500)
        elif isinstance(framing, dict):
            names = ("header", "min-frame", "overhead", "mtu")
            header, min_frame, overhead, mtu = (_native.parse_bytes(framing[name]) for name in names)
        transport = flow.get("transport", {})
        written = _native.parse_bytes(transport.get("segment", source.get("packet", "1460B")))
        written += _native.parse_bytes(transport.get("header", "0B"))
        # A write longer than the MTU is sent as full packets and a remainder.
        full, remainder = divmod(written, mtu)
        packet = max(min(written, mtu) + header, min_frame)
        sizes = ([mtu] if full else []) + ([remainder] if remainder else [])
        lengths = [max(size + header, min_frame) for size in sizes]
        burst = (full - 1) * lengths[0] + sum(lengths) if full else sum(lengths)
        part = min((length / (length + overhead) for length in lengths), default=1.0)
        dscp = code_point(flow.get("dscp", 0))
        return Group(flow["name"], dscp, flow.get("count", 1), source, packet, packet + overhead, burst, written, part)

    def classify(self, classes: Sequence[Json], members: Sequence[Group], default: int) -> Mapping[str, int]:
        """Return the index in `classes` of each group's class, by the group's name.

        It is that of the first class whose condition holds for the group, or `default` if there is none. Raises
        NotModelledError if the class of a group is not known before a run.
        """
        found = {}
        for member in members:
            found[member.name] = default
            for index, class_ in enumerate(classes):
                if class_.get("match") is not None and self.holds(class_["match"], member):
                    found[member.name] = index
                    break
        return found

    def holds(self, matches: Any, group: Group) -> bool:
        """Return `True` if a group matches a condition: a table, the name of a class map, or a list of alternatives.

        Raises NotModelledError if that is not known before a run.
        """
        if isinstance(matches, str):
            return self.holds(self.maps[matches], group)
        if isinstance(matches, list):
            return any(self.holds(alternative, group) for alternative in matches)
        for key, value in matches.items():
            values = value if isinstance(value, list) else [value]
            if key == "dscp":
                holds = group.dscp in [code_point(code) for code in values]
            elif key == "precedence":
                holds = group.dscp >> 3 in values
            elif key == "flows":
                holds = any(selects(name, group.name) for name in values)
            elif key == "all":
                holds = all(self.holds(part, group) for part in values)
            elif key == "not":
                holds = not any(self.holds(part, group) for part in values)
            else:
                raise NotModelledError(f"the class of a packet depends on `{key}`, which is unknown before a run")
            if not holds:
                return False
        return True


def selects(written: str, name: str) -> bool:
    """Return `True` if a name or pattern, as `flows` of class maps and conditioners has it, matches a name."""
    return written == name or fnmatchcase(name, written)


def class_rates(classes: Sequence[Json], base_bps: float) -> list[float]:
    """Return the guaranteed rate of each class, bit/s, 0 for priority classes.

    `base_bps` is the rate to which guarantees that are fractions refer. docs/mechanisms/class-based.md has the rule.
    """
    reserved = [share_bps(class_.get("bandwidth"), base_bps) for class_ in classes]
    priority = sum(share_bps(class_["priority"].get("rate"), base_bps) for class_ in classes if class_.get("priority"))
    left = max(base_bps - priority - sum(reserved), 0.01 * base_bps)

    def part(index: int) -> float:
        """Return the weight with which a class shares the rate that is left; 0: it has a priority or a guarantee."""
        class_ = classes[index]
        if class_.get("priority") is not None or class_.get("bandwidth") is not None:
            return 0.0
        return float(class_.get("remaining") or 1.0)

    parts = sum(part(index) for index in range(len(classes))) or 1.0
    return [rate if rate else left * part(index) / parts for index, rate in enumerate(reserved)]


def share_bps(written: object, base_bps: float) -> float:
    """Return a guarantee in bit/s, given as a rate or as a fraction of `base_bps`; 0 for `None`.

    Raises ValueError if it is neither.
    """
    if written is None:
        return 0.0
    return float(written) * base_bps if isinstance(written, (int, float)) else rate_bps(written)


def rate_bps(written: object) -> float:
    """Return a rate such as `10Mbit/s` in bit/s; raises ValueError if it is not a rate."""
    return float(_native.parse_rate(str(written)))


def burst_bytes(written: object, rate: object) -> float:
    """Return a burst in bytes: a size, or the bytes that `rate` (a text, or bit/s) sends in a duration.

    Raises ValueError if it is neither.
    """
    text = str(written)
    try:
        return float(_native.parse_bytes(text))
    except ValueError:
        per_second = float(rate) if isinstance(rate, (int, float)) else rate_bps(rate)
        return _native.parse_duration(text) * 1e-12 * per_second / 8


def towards(rate: object) -> str:
    """Return the rate of a link's first direction, from the first of its ends to the second, as text.

    `rate` is one rate for both directions or a list of two.
    """
    return str(rate[0] if isinstance(rate, list) else rate)


def delay_s(link: Json) -> float:
    """Return the largest propagation delay of a link plus its largest jitter, seconds.

    A pair of delays is for the first and the last link of a pattern, a pair of jitters for the two directions. Raises
    ValueError if a length or a duration is invalid.
    """
    jitter = max(_seconds(duration) for duration in _each(link.get("jitter", "0s")))
    if "length" in link:
        # 5 ns per metre.
        return 5e-9 * _metres(str(link["length"])) + jitter
    # A link with neither a length nor a delay has a delay of 1 us.
    return max(_seconds(duration) for duration in _each(link.get("delay", "1us"))) + jitter


def _each(written: object) -> list[object]:
    """Return a list unchanged, and another value as a list of one."""
    return list(written) if isinstance(written, list) else [written]


def _seconds(written: object) -> float:
    """Return a duration such as `2ms` in seconds; raises ValueError if it is not a duration."""
    return _native.parse_duration(str(written)) * 1e-12


def _metres(written: str) -> float:
    """Return a length such as `100m` in metres; raises ValueError if it is not a length."""
    for unit, metres in (("mm", 1e-3), ("km", 1e3), ("m", 1.0)):
        if written.endswith(unit):
            return float(written.removesuffix(unit)) * metres
    raise ValueError(f"`{written}` is not a length; write metres or kilometres, such as 100m")


def code_point(written: object) -> int:
    """Return the number of a valid code point, given by name or number (RFC 2474, RFC 2597, RFC 3246, RFC 5865).

    A checked document has only valid ones. For an invalid one, the result is meaningless, or ValueError is raised.
    """
    text = str(written).lower()
    named = {"default": 0, "be": 0, "ef": 46, "va": 44}
    if text in named:
        return named[text]
    if text.startswith("cs"):
        return 8 * int(text[2:])
    if text.startswith("af"):
        return 8 * int(text[2]) + 2 * int(text[3])
    return int(text)
