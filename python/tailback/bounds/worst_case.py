"""Worst-case delay of groups of flows through a router's port, by network calculus.

    for group, bound in worst_case(scenario, "ce", "sink").items():
        print(group, bound.seconds, bound.reason)

If the arrivals of a class are bounded by token buckets and its scheduler guarantees a rate after a latency, the delay
is at most burst / rate + latency. Arrival curves come from the sources (constant rate, or on-off with a peak rate) and
from policers, service curves from the link, the shaper, the transmit ring, strict priority and start-time fair
queueing. A group for which one of the curves is missing has no bound, and the result gives the reason.

Sources: Le Boudec and Thiran, Network Calculus (LNCS 2050, 2001): delay bound, theorem 1.4.2; non-preemptive strict
priority, section 6.2; Goyal, Vin and Cheng, Start-time fair queuing (SIGCOMM 1996), theorem 4: shares of classes.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tailback import _native
from tailback.bounds.port import (
    Group,
    Json,
    NotModelledError,
    Port,
    burst_bytes,
    class_rates,
    delay_s,
    rate_bps,
    share_bps,
    towards,
)
from tailback.scenario import Scenario

__all__ = ["Bound", "worst_case"]

_STRICT = "strict priority, and the sources or the policers of its level"
"""Assumptions of the bound of a priority class."""
_MAX_COMBINATIONS = 256
"""Largest number of combinations of token buckets that are tried."""


@dataclass(frozen=True, slots=True)
class Bound:
    """Upper bound of the one-way delay of the packets of a group."""

    seconds: float | None
    """Bound of the time from a packet's generation to the arrival of its last bit, s; `None`: no bound is known."""
    reason: str
    """Assumptions of the bound, or the reason why there is none."""


@dataclass(frozen=True, slots=True)
class _Curve:
    """Arrival curve: at most `burst` + `rate` t bytes arrive in any interval of t seconds; `rate` in byte/s."""

    burst: float
    rate: float


@dataclass(frozen=True, slots=True)
class _Service:
    """Service curve: a backlogged queue gets at least `rate` (t - `latency`) bytes in t seconds; `rate` in byte/s."""

    rate: float
    latency: float


def worst_case(scenario: Scenario, node: str, neighbour: str) -> dict[str, Bound]:
    """Return the bound of every group of flows that leaves by a port, by the name of the group.

    Args:
        scenario: Hosts with a link each to one switch, and a policy at one of its ports, as `tailback import` makes it.
        node: The switch.
        neighbour: Neighbour of the switch behind the port.

    Raises:
        KeyError: There is no link between `node` and `neighbour`, or `node` is not a switch.

    """
    document = json.loads(scenario.native.to_json())
    port = _Port(document, node, neighbour)
    return {group.name: port.bound(group) for group in port.groups}


class _Port(Port):
    """A port with bounds on the delay of its groups."""

    def bound(self, group: Group) -> Bound:
        """Return the bound of a group that leaves the port."""
        try:
            if "accounting" in self.line:
                raise NotModelledError("the link carries other bytes than those of frames (`accounting`)")
            ahead = self._access_s(group)
            own, through = self._port_s(group)
        except NotModelledError as reason:
            return Bound(None, f"no bound: {reason}")
        return Bound(ahead + own, through)

    # --- Arrivals ---

    def _sent(self, group: Group) -> _Curve:
        """Return the arrival curve of a group at the router, bytes as policers count them.

        Raises NotModelledError if no token bucket bounds the source.
        """
        source = group.source
        kind = source.get("kind")
        quickest, late = 1 - float(source.get("wander") or 0), float(source.get("jitter") or 0)
        if kind not in {"cbr", "on-off"} or quickest <= 0 or ("rate" not in source and "interval" not in source):
            raise NotModelledError(f"the arrivals of `{group.name}` are not bounded by a token bucket")
        if source.get("rate") is not None:
            rate = _native.parse_rate(source["rate"]) / 8
        else:
            rate = group.written / (_native.parse_duration(source["interval"]) * 1e-12)
        # Each interval of a source with `wander` is at least (1 - wander) times the constant interval. With jitter, a
        # late packet may come right before the next.
        burst = group.flows * group.burst * (2 if late else 1)
        return _Curve(burst, group.flows * rate / quickest * group.burst / group.written)

    def _access_s(self, group: Group) -> float:
        """Return the longest time from the source to the router, seconds; raises NotModelledError without a bound."""
        link = self.links[frozenset((self.senders[group.name], self.node))]
        rate = _native.parse_rate(towards(link["rate"])) / 8
        sent = self._sent(group)
        if sum(name == self.senders[group.name] for name in self.senders.values()) > 1:
            raise NotModelledError("several groups share a host")
        wire = group.wire / group.packet
        if sent.rate * wire > rate:
            raise NotModelledError(f"`{group.name}` sends at a higher rate than that of its host's link")
        return sent.burst * wire / rate + delay_s(link)

    def _arrival(self, group: Group) -> _Curve:
        """Return the arrival curve of a group at the scheduler, behind the conditioners of the port.

        It is the curve of the first policer for all packets of the group, or that of the sources if they send less.
        """
        for conditioner in self.table.get("conditioners", []):
            meter = conditioner.get("meter", {})
            drops = conditioner.get("exceed", {}).get("drop") is True
            if self._polices(conditioner, group) and drops and meter.get("kind") == "token-bucket":
                _counts_frames(conditioner)
                return self._least(
                    group, _Curve(burst_bytes(meter["burst"], meter["rate"]), rate_bps(meter["rate"]) / 8)
                )
        return self._sent(group)

    def _polices(self, conditioner: Json, group: Group) -> bool:
        """Return `True` if a conditioner applies to the group and is not limited to named groups (`flows`)."""
        matches = conditioner.get("match")
        return conditioner.get("flows") is None and (matches is None or self.holds(matches, group))

    def _least(self, group: Group, policed: _Curve) -> _Curve:
        """Return the curve of the group's sources if it is below that of the policer, else that of the policer."""
        sent = self._sent(group)
        return sent if sent.rate <= policed.rate and sent.burst <= policed.burst else policed

    # --- Service ---

    def _port_s(self, group: Group) -> tuple[float, str]:
        """Return the longest time of a group's packets from the router on, seconds, and the assumptions in words."""
        line = _native.parse_rate(towards(self.line["rate"])) / 8 * self.part
        rate, latency = line, 0.0
        after = delay_s(self.line)
        shaper = self.table.get("shaper")
        if shaper is not None:
            _counts_frames(shaper)
            shaped = rate_bps(shaper["rate"]) / 8
            rate = min(line, shaped)
            # Before a packet is transmitted, the bucket must refill after the previous one.
            latency = self.largest / rate
            after += group.wire * self.part / line
        ring = int(self.table.get("ring") or 0)
        latency += ring * self.largest / rate
        shared = rate_bps(shaper["rate"]) if shaper is not None else _native.parse_rate(towards(self.line["rate"]))
        discipline = self.table.get("discipline", self.document["network"]["discipline"])
        seconds, through = self._within(discipline, _Service(rate, latency), shared, group, self.groups)
        return seconds + after, through

    def _within(
        self, discipline: Json | None, service: _Service, base_bps: float, group: Group, members: Sequence[Group]
    ) -> tuple[float, str]:
        """Return the longest time of a group's packets in a discipline, seconds, and the assumptions in words.

        The discipline gets `service`; `members` are all groups of flows in it. Raises NotModelledError without a bound.
        """
        kind = "drop-tail" if discipline is None else discipline["kind"]
        if kind == "drop-tail":
            total = _sum([self._arrival(member) for member in members])
            # Service is not preemptive: the latency of `service` includes a packet of another class in transmission.
            return _delay(total, service), "arrival curves of all that share its queue"
        assert discipline is not None
        if kind in {"shaper", "class-based"}:
            _counts_frames(discipline)
        if kind == "shaper":
            rate = rate_bps(discipline["rate"]) / 8
            slower = _Service(min(rate, service.rate), service.latency + self.largest / rate)
            return self._within(discipline.get("discipline"), slower, rate_bps(discipline["rate"]), group, members)
        if kind == "priority":
            return self._priority(discipline, service, base_bps, group, members)
        if kind == "class-based":
            return self._class_based(discipline, service, base_bps, group, members)
        raise NotModelledError(f"`{kind}` guarantees its queues no service curve of rate and latency")

    def _priority(
        self, discipline: Json, service: _Service, base_bps: float, group: Group, members: Sequence[Group]
    ) -> tuple[float, str]:
        """Return the result of `_within` for a discipline of strict priority."""
        levels: list[Json] = discipline["levels"]
        default = discipline.get("default") or levels[-1]["name"]
        names = [level["name"] for level in levels]
        level_of = self.classify(levels, members, names.index(default))
        own = level_of[group.name]
        above = _sum([self._arrival(member) for member in members if level_of[member.name] < own])
        has_lower = own + 1 < len(levels) and any(level_of[member.name] > own for member in members)
        left = _left(service, above, self.largest if has_lower or above.burst else 0)
        same = [member for member in members if level_of[member.name] == own]
        return self._within(levels[own].get("discipline"), left, base_bps, group, same)

    def _class_based(
        self, discipline: Json, service: _Service, base_bps: float, group: Group, members: Sequence[Group]
    ) -> tuple[float, str]:
        """Return the result of `_within` for class-based queueing."""
        classes: list[Json] = [*discipline["classes"], discipline.get("default") or {}]
        if discipline.get("base") is not None:
            base_bps = rate_bps(discipline["base"])
        class_of = self.classify(classes[:-1], members, len(classes) - 1)

        def groups_in(index: int) -> list[Group]:
            return [member for member in members if class_of[member.name] == index]

        # Both the sources and the policer bound a priority class. Each combination of one curve per class gives a valid
        # bound, of which the smallest is returned.
        strict = [index for index, class_ in enumerate(classes) if class_.get("priority") is not None]
        options = [self._strict(classes[index], groups_in(index), base_bps) for index in strict]
        found: list[tuple[float, str]] = []
        trouble = NotModelledError("the classes of priority are not bounded")
        for chosen in itertools.islice(itertools.product(*options), _MAX_COMBINATIONS):
            try:
                curves = dict(zip(strict, chosen, strict=True))
                found.append(self._class(classes, curves, service, base_bps, group, members, class_of))
            except NotModelledError as reason:
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
        group: Group,
        members: Sequence[Group],
        class_of: Mapping[str, int],
    ) -> tuple[float, str]:
        """Return the longest time of a group's packets in its class, seconds, and the assumptions in words.

        `strict` has the arrival curve of each priority class, by index in `classes`, and `class_of` the index of each
        group's class, by name of the group.
        """

        def level(number: int) -> _Curve:
            return _sum([curve for i, curve in strict.items() if classes[i]["priority"].get("level", 1) == number])

        own = class_of[group.name]
        priority = classes[own].get("priority")
        if priority is not None:
            number = priority.get("level", 1)
            above = level(1) if number == 2 else _Curve(0, 0)
            return _delay(level(number), _left(service, above, self.largest)), _STRICT
        left = _left(service, _sum([level(1), level(2)]), 0)
        rates = class_rates(classes, base_bps)
        # A class without flows uses no capacity.
        busy = sorted({index for index in class_of.values() if classes[index].get("priority") is None})
        share = rates[own] / sum(rates[index] for index in busy)
        guaranteed = left.rate * share * (self.part if len(busy) > 1 else 1.0)
        latency = left.latency
        if len(busy) > 1:
            latency += self.largest / guaranteed + len(busy) * self.largest / left.rate
        inner = classes[own].get("discipline")
        same = [member for member in members if class_of[member.name] == own]
        return self._within(inner, _Service(guaranteed, latency), base_bps, group, same)

    def _strict(self, class_: Json, members: Sequence[Group], base_bps: float) -> list[_Curve]:
        """Return the arrival curves that bound a priority class: that of its sources, then that of its policer, if any.

        The policer passes one packet more than its bucket admits: the one that finds all queues empty.
        """
        if not members:
            return [_Curve(0, 0)]
        curves = []
        try:
            curves.append(_sum([self._arrival(member) for member in members]))
        except NotModelledError:
            if class_["priority"].get("rate") is None:
                raise
        if class_["priority"].get("rate") is not None:
            bps = share_bps(class_["priority"]["rate"], base_bps)
            burst = class_["priority"].get("burst")
            # The default burst is 200 ms at the rate.
            bucket = bps / 8 * 0.2 if burst is None else burst_bytes(burst, bps)
            curves.append(_Curve(bucket + max(member.packet for member in members), bps / 8))
        return curves


def _counts_frames(table: Json) -> None:
    """Raise NotModelledError if a table's token bucket counts other bytes than buffers do, which curves count."""
    if table.get("accounting", "0B") != "0B":
        raise NotModelledError("a token bucket counts other bytes than buffers do (`accounting`)")


def _delay(arrival: _Curve, service: _Service) -> float:
    """Return the bound of the delay, seconds; raises NotModelledError if arrivals exceed the guaranteed rate."""
    # Rates are rounded to whole bit/s, so that rates that should be equal may differ slightly.
    if arrival.rate > service.rate * (1 + 1e-9):
        raise NotModelledError(
            f"arrivals of up to {arrival.rate * 8 / 1e6:.4g} Mbit/s exceed "
            f"the guaranteed {service.rate * 8 / 1e6:.4g} Mbit/s"
        )
    return service.latency + arrival.burst / service.rate


def _left(service: _Service, above: _Curve, blocking: float) -> _Service:
    """Return the service that strict priority leaves to a class.

    `above` are the arrivals of higher classes, and `blocking` the bytes of a packet of a lower class in transmission.
    Raises NotModelledError if the higher classes may use all of the rate.
    """
    rate = service.rate - above.rate
    if rate <= 0:
        raise NotModelledError("traffic of higher priority may use all of the rate")
    return _Service(rate, (service.rate * service.latency + above.burst + blocking) / rate)


def _sum(curves: Sequence[_Curve]) -> _Curve:
    """Return the arrival curve of all arrivals together."""
    return _Curve(sum(curve.burst for curve in curves), sum(curve.rate for curve in curves))
