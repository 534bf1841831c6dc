"""Worst-case delay of groups of flows through a router's port, by network calculus.

    for group, bound in worst_case(scenario, "ce", "sink").items():
        print(group, bound.seconds, bound.reason)

Where the packets of a class are bounded by token buckets, and its scheduler guarantees a rate after a latency, no
packet can take longer than burst / rate + latency. Arrival curves come from the sources (constant rate, on and off with
a peak rate) and from policers; service curves from the line, the shaper, the transmit ring, strict priority and
start-time fair queueing. What has no such curve has no bound, and the reason is given.

Sources: Le Boudec and Thiran, Network Calculus (LNCS 2050, 2001): delay bound, theorem 1.4.2; non-preemptive strict
priority, section 6.2; Goyal, Vin and Cheng, Start-time fair queuing (SIGCOMM 1996), theorem 4, for shares of a class.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from tailback import _native
from tailback.scenario import Scenario

__all__ = ["Bound", "worst_case"]

Json: TypeAlias = dict[str, Any]

_STRICT = "strict priority, and the sources or the policers of its level"
_MOST = 256
"""Choices of token buckets that are tried."""


@dataclass(frozen=True, slots=True)
class Bound:
    """The longest one-way delay that a packet of a group can have."""

    seconds: float | None
    """From its birth at the source to its last bit at the receiver; None where there is no bound."""
    reason: str
    """Why there is none, or what the bound rests on."""


@dataclass(frozen=True, slots=True)
class _Curve:
    """At most `burst` + `rate` t bytes arrive in any interval of t seconds."""

    burst: float
    rate: float


@dataclass(frozen=True, slots=True)
class _Service:
    """A backlogged queue gets at least `rate` (t - `latency`) bytes in t seconds."""

    rate: float
    latency: float


class _NoBoundError(Exception):
    """There is no bound, for the reason that it carries."""


@dataclass(frozen=True, slots=True)
class _Group:
    name: str
    dscp: int
    flows: int
    source: Json
    packet: int
    """Bytes of the largest packet as buffers, shapers and policers count it."""
    wire: int
    """Its bytes on the line."""
    burst: int
    """Bytes, as counted, of all packets that one write of the source makes."""
    written: int
    """Bytes that the source hands over at once."""


def worst_case(scenario: Scenario, node: str, neighbour: str) -> dict[str, Bound]:
    """Return the bound of every group of flows that leaves a port, by name.

    Args:
        scenario: Hosts with a link each to one switch, and a policy at one of its ports, as `tailback import` makes it.
        node: The switch.
        neighbour: The neighbour whose port is meant.

    """
    document = json.loads(scenario.native.to_json())
    port = _Port(document, node, neighbour)
    return {group.name: port.bound(group) for group in port.groups}


class _Port:
    """A port with its line, its policy and the groups that use it."""

    def __init__(self, document: Json, node: str, neighbour: str) -> None:
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
        # Rates count the frame, the line carries more: what one is of the other at least, over all sizes.
        self.part = min((group.packet / group.wire for group in self.groups), default=1.0)

    def bound(self, group: _Group) -> Bound:
        try:
            ahead = self._access_s(group)
            own, through = self._port_s(group)
        except _NoBoundError as reason:
            return Bound(None, f"no bound: {reason}")
        return Bound(ahead + own, through)

    # --- What arrives ---

    def _group(self, flow: Json) -> _Group:
        source = flow.get("source", {})
        framing = self.document["network"]["framing"]
        header, least, more, limit = (0, 0, 0, 65_535)
        if framing == "ethernet":
            header, least, more, limit = (18, 64, 20, 1500)
        elif isinstance(framing, dict):
            names = ("header", "min-frame", "overhead", "mtu")
            header, least, more, limit = (_native.parse_bytes(framing[name]) for name in names)
        transport = flow.get("transport", {})
        written = _native.parse_bytes(transport.get("segment", source.get("packet", "1460B")))
        written += _native.parse_bytes(transport.get("header", "0B"))
        # What is longer than a packet leaves as full packets and a rest.
        full, rest = divmod(written, limit)
        packet = max(min(written, limit) + header, least)
        burst = full * max(limit + header, least) + (max(rest + header, least) if rest else 0)
        dscp = _code_point(flow.get("dscp", 0))
        return _Group(flow["name"], dscp, flow.get("count", 1), source, packet, packet + more, burst, written)

    def _sent(self, group: _Group) -> _Curve:
        """The arrival curve of a group at the router, in bytes as policers count them."""
        source = group.source
        kind = source.get("kind")
        quickest, late = 1 - float(source.get("wander") or 0), float(source.get("jitter") or 0)
        if kind not in {"cbr", "on-off"} or quickest <= 0 or ("rate" not in source and "interval" not in source):
            raise _NoBoundError(f"what `{group.name}` sends is not bounded by a token bucket")
        if source.get("rate") is not None:
            rate = _native.parse_rate(source["rate"]) / 8
        else:
            rate = group.written / (_native.parse_duration(source["interval"]) * 1e-12)
        # Each gap of a wandering source is at least (1 - wander) of the even one; a late packet may come right before
        # the next.
        burst = group.flows * group.burst * (2 if late else 1)
        return _Curve(burst, group.flows * rate / quickest * group.burst / group.written)

    def _access_s(self, group: _Group) -> float:
        """Longest time from the source to the router."""
        link = self.links[frozenset((self.senders[group.name], self.node))]
        rate = _native.parse_rate(_first(link["rate"])) / 8
        sent = self._sent(group)
        if sum(name == self.senders[group.name] for name in self.senders.values()) > 1:
            raise _NoBoundError("several groups share a host")
        wire = group.wire / group.packet
        if sent.rate * wire > rate:
            raise _NoBoundError(f"`{group.name}` sends more than its own link carries")
        return sent.burst * wire / rate + _delay_s(link)

    def _arrival(self, group: _Group) -> _Curve:
        """The arrival curve at the scheduler, behind the conditioners of the port."""
        for conditioner in self.table.get("conditioners", []):
            meter = conditioner.get("meter", {})
            drops = conditioner.get("exceed", {}).get("drop") is True
            alone = self._only(conditioner, group)
            if alone and drops and meter.get("kind") == "token-bucket":
                return self._least(group, _Curve(_bytes(meter["burst"], meter["rate"]), _bps(meter["rate"]) / 8))
        return self._sent(group)

    def _only(self, conditioner: Json, group: _Group) -> bool:
        matches = conditioner.get("match")
        return conditioner.get("flows") is None and (matches is None or self._holds(matches, group))

    def _least(self, group: _Group, policed: _Curve) -> _Curve:
        sent = self._sent(group)
        return sent if sent.rate <= policed.rate and sent.burst <= policed.burst else policed

    # --- What is served ---

    def _port_s(self, group: _Group) -> tuple[float, str]:
        line = _native.parse_rate(_first(self.line["rate"])) / 8 * self.part
        rate, latency = line, 0.0
        after = _delay_s(self.line)
        shaper = self.table.get("shaper")
        if shaper is not None:
            _counts_frames(shaper)
            shaped = _bps(shaper["rate"]) / 8
            rate = min(line, shaped)
            # The bucket must fill for the packet before; then the packet itself takes its time on the line.
            latency = self.largest / rate
            after += group.wire * self.part / line
        ring = int(self.table.get("ring") or 0)
        latency += ring * self.largest / rate
        shared = _bps(shaper["rate"]) if shaper is not None else _native.parse_rate(_first(self.line["rate"]))
        discipline = self.table.get("discipline", self.document["network"]["discipline"])
        seconds, through = self._within(discipline, _Service(rate, latency), shared, group, self.groups)
        return seconds + after, through

    def _within(
        self, discipline: Json | None, service: _Service, base_bps: float, group: _Group, members: Sequence[_Group]
    ) -> tuple[float, str]:
        """The longest time of a packet in a discipline that gets `service`; `members` are the groups that it holds."""
        kind = "drop-tail" if discipline is None else discipline["kind"]
        if kind == "drop-tail":
            total = _sum([self._arrival(member) for member in members])
            # Non-preemptive: a packet of another class, or of the line, may be under way.
            return _delay(total, service), "arrival curves of all that share its queue"
        assert discipline is not None
        if kind in {"shaper", "class-based"}:
            _counts_frames(discipline)
        if kind == "shaper":
            rate = _bps(discipline["rate"]) / 8
            slower = _Service(min(rate, service.rate), service.latency + self.largest / rate)
            return self._within(discipline.get("discipline"), slower, _bps(discipline["rate"]), group, members)
        if kind == "priority":
            return self._priority(discipline, service, base_bps, group, members)
        if kind == "class-based":
            return self._class_based(discipline, service, base_bps, group, members)
        raise _NoBoundError(f"`{kind}` guarantees its queues no rate after a latency")

    def _priority(
        self, discipline: Json, service: _Service, base_bps: float, group: _Group, members: Sequence[_Group]
    ) -> tuple[float, str]:
        levels: list[Json] = discipline["levels"]
        default = discipline.get("default") or levels[-1]["name"]
        names = [level["name"] for level in levels]
        of = self._sorted(levels, members, names.index(default))
        own = of[group.name]
        above = _sum([self._arrival(member) for member in members if of[member.name] < own])
        below = own + 1 < len(levels) and any(of[member.name] > own for member in members)
        left = _left(service, above, self.largest if below or above.burst else 0)
        same = [member for member in members if of[member.name] == own]
        return self._within(levels[own].get("discipline"), left, base_bps, group, same)

    def _class_based(
        self, discipline: Json, service: _Service, base_bps: float, group: _Group, members: Sequence[_Group]
    ) -> tuple[float, str]:
        classes: list[Json] = [*discipline["classes"], discipline.get("default") or {}]
        of = self._sorted(classes[:-1], members, len(classes) - 1)

        def held(index: int) -> list[_Group]:
            return [member for member in members if of[member.name] == index]

        # Of the sources' and the policer's token bucket either bounds a class: the best choice for all classes counts.
        strict = [index for index, class_ in enumerate(classes) if class_.get("priority") is not None]
        options = [self._strict(classes[index], held(index), base_bps) for index in strict]
        found: list[tuple[float, str]] = []
        trouble = _NoBoundError("nothing bounds the classes of priority")
        for chosen in itertools.islice(itertools.product(*options), _MOST):
            try:
                found.append(
                    self._class(classes, dict(zip(strict, chosen, strict=True)), service, base_bps, group, members, of)
                )
            except _NoBoundError as reason:
                trouble = reason
        if not found:
            raise trouble
        return min(found)

    def _class(
        self,
        classes: Sequence[Json],
        strict: Mapping[int, _Curve],
        service: _Service,
        base_bps: float,
        group: _Group,
        members: Sequence[_Group],
        of: Mapping[str, int],
    ) -> tuple[float, str]:
        """The longest time of a packet where the classes of priority have the arrival curves `strict`."""

        def level(number: int) -> _Curve:
            return _sum([curve for i, curve in strict.items() if classes[i]["priority"].get("level", 1) == number])

        own = of[group.name]
        priority = classes[own].get("priority")
        if priority is not None:
            number = priority.get("level", 1)
            above = level(1) if number == 2 else _Curve(0, 0)
            return _delay(level(number), _left(service, above, self.largest)), _STRICT
        left = _left(service, _sum([level(1), level(2)]), 0)
        weights = _weights(classes, base_bps)
        # A class without flows takes nothing.
        busy = sorted({index for index in of.values() if classes[index].get("priority") is None})
        share = weights[own] / sum(weights[index] for index in busy)
        guaranteed = left.rate * share * (self.part if len(busy) > 1 else 1.0)
        latency = left.latency
        if len(busy) > 1:
            latency += self.largest / guaranteed + len(busy) * self.largest / left.rate
        inner = classes[own].get("discipline")
        same = [member for member in members if of[member.name] == own]
        return self._within(inner, _Service(guaranteed, latency), base_bps * share, group, same)

    def _strict(self, class_: Json, members: Sequence[_Group], base_bps: float) -> list[_Curve]:
        """The arrival curves of a priority class: of its sources, and of its policer.

        The policer lets one packet more pass than its bucket: the one that finds all queues empty.
        """
        if not members:
            return [_Curve(0, 0)]
        found = []
        try:
            found.append(_sum([self._arrival(member) for member in members]))
        except _NoBoundError:
            if class_["priority"].get("rate") is None:
                raise
        if class_["priority"].get("rate") is not None:
            bps = _share(class_["priority"]["rate"], base_bps)
            burst = class_["priority"].get("burst")
            bucket = bps / 8 * 0.2 if burst is None else _bytes(burst, bps)
            found.append(_Curve(bucket + max(member.packet for member in members), bps / 8))
        return found

    # --- Who is in which class ---

    def _sorted(self, classes: Sequence[Json], members: Sequence[_Group], default: int) -> Mapping[str, int]:
        """The first class whose condition holds, for each group."""
        found = {}
        for member in members:
            found[member.name] = default
            for index, class_ in enumerate(classes):
                if class_.get("match") is not None and self._holds(class_["match"], member):
                    found[member.name] = index
                    break
        return found

    def _holds(self, matches: Any, group: _Group) -> bool:
        if isinstance(matches, str):
            return self._holds(self.maps[matches], group)
        if isinstance(matches, list):
            return any(self._holds(one, group) for one in matches)
        for key, value in matches.items():
            values = value if isinstance(value, list) else [value]
            if key == "dscp":
                holds = group.dscp in [_code_point(code) for code in values]
            elif key == "precedence":
                holds = group.dscp >> 3 in values
            elif key == "flows":
                holds = group.name in values
            elif key == "all":
                holds = all(self._holds(one, group) for one in values)
            elif key == "not":
                holds = not any(self._holds(one, group) for one in values)
            else:
                raise _NoBoundError(f"its class is told by `{key}`")
            if not holds:
                return False
        return True


def _counts_frames(table: Json) -> None:
    """Refuse token buckets that count other bytes than buffers do: curves are of those."""
    if table.get("accounting", "0B") != "0B":
        raise _NoBoundError("a token bucket counts other bytes than buffers do (`accounting`)")


def _delay(arrival: _Curve, service: _Service) -> float:
    # Equal rates would do, but for the rounding of rates to whole bits.
    if arrival.rate > service.rate * (1 + 1e-9):
        raise _NoBoundError(
            f"up to {arrival.rate * 8 / 1e6:.4g} Mbit/s may arrive, "
            f"and {service.rate * 8 / 1e6:.4g} Mbit/s are guaranteed"
        )
    return service.latency + arrival.burst / service.rate


def _left(service: _Service, above: _Curve, blocking: float) -> _Service:
    """What strict priority leaves: those above go first, and a packet of `blocking` bytes may be under way."""
    rate = service.rate - above.rate
    if rate <= 0:
        raise _NoBoundError("those of higher priority may take all of the rate")
    return _Service(rate, (service.rate * service.latency + above.burst + blocking) / rate)


def _sum(curves: Sequence[_Curve]) -> _Curve:
    return _Curve(sum(curve.burst for curve in curves), sum(curve.rate for curve in curves))


def _weights(classes: Sequence[Json], base_bps: float) -> list[float]:
    """The rate of each class without priority, bit/s: what docs/mechanisms/class-based.md gives it."""
    reserved = [_share(class_.get("bandwidth"), base_bps) for class_ in classes]
    low = sum(_share(class_["priority"].get("rate"), base_bps) for class_ in classes if class_.get("priority"))
    left = max(base_bps - low - sum(reserved), 0.01 * base_bps)

    def part(index: int) -> float:
        class_ = classes[index]
        if class_.get("priority") is not None or class_.get("bandwidth") is not None:
            return 0.0
        return float(class_.get("remaining") or 1.0)

    parts = sum(part(index) for index in range(len(classes))) or 1.0
    return [own if own else left * part(index) / parts for index, own in enumerate(reserved)]


def _share(written: object, base_bps: float) -> float:
    if written is None:
        return 0.0
    return float(written) * base_bps if isinstance(written, (int, float)) else _bps(written)


def _bps(written: object) -> float:
    return float(_native.parse_rate(str(written)))


def _bytes(written: object, rate: object) -> float:
    """A burst in bytes, or what the rate gives in a time."""
    text = str(written)
    try:
        return float(_native.parse_bytes(text))
    except ValueError:
        bps = float(rate) if isinstance(rate, (int, float)) else _bps(rate)
        return _native.parse_duration(text) * 1e-12 * bps / 8


def _first(rate: object) -> str:
    return str(rate[0] if isinstance(rate, list) else rate)


def _delay_s(link: Json) -> float:
    written = link.get("delay")
    jitter = _native.parse_duration(_first(link.get("jitter", "0s"))) * 1e-12
    if written is None:
        # Neither a delay nor a length: 1 us.
        return 1e-6 + jitter
    return _native.parse_duration(_first(written)) * 1e-12 + jitter


def _code_point(written: object) -> int:
    """The number of a code point (RFC 2474, RFC 2597, RFC 3246, RFC 5865)."""
    text = str(written).lower()
    named = {"default": 0, "be": 0, "ef": 46, "va": 44}
    if text in named:
        return named[text]
    if text.startswith("cs"):
        return 8 * int(text[2:])
    if text.startswith("af"):
        return 8 * int(text[2]) + 2 * int(text[3])
    return int(text)
