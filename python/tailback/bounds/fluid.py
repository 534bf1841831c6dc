"""Fluid model of a router's port: rate, loss and delay of each group of flows, without a run.

    for group, service in fluid(scenario, "ce", "sink").items():
        print(group, service.loss)

Each group offers its mean rate as a fluid, and each scheduler is ideal: queues of strict priority are served first,
weighted queues share by progressive filling (max-min), and groups in one queue lose the same fraction of their traffic.
The model gives the long-run effect of a policy under a known load, and the load at which a class is overloaded. It has
no bursts and no adaptive sources.

Source: Demers, Keshav and Shenker (SIGCOMM 1989) and Parekh and Gallager (IEEE/ACM ToN 1(3), 1993) for weighted
sharing; Devera, HTB manual (2002), for borrowing.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from tailback import _native
from tailback.bounds.port import (
    Json,
    NotModelledError,
    Port,
    class_rates,
    delay_s,
    rate_bps,
    selects,
    share_bps,
    towards,
)
from tailback.scenario import Scenario

__all__ = ["Fluid", "FluidPort", "NotModelledError", "fluid", "max_min"]

_SHARED = {"drop-tail", "drop-head", "red", "blue", "codel", "pie", "pi", "rem", "avq"}
"""Disciplines with one queue that treat all packets alike: all groups lose the same fraction."""
_BY_FLOW = {"sfq", "fq", "fq-codel", "fq-pie", "fair-queue"}
"""Disciplines with a queue for each flow, which share the rate equally."""


@dataclass(frozen=True, slots=True)
class Fluid:
    """Long-run service of a group of flows."""

    offered_bps: float
    """Mean rate that the sources of the group send, bit/s, in bytes as buffers count them."""
    carried_bps: float
    """Mean rate that leaves the port, bit/s, in the same bytes."""
    queue_s: float | None
    """Waiting time in the group's queue, seconds: 0, or the time to serve a full queue if the queue is overloaded.

    `None`: the length of the overloaded queue is unknown, as under active queue management. Infinity: the queue is
    unlimited, or is not served.
    """
    path_s: float
    """Propagation and transmission time of the group's largest packet from the source to the receiver, seconds."""

    @property
    def loss(self) -> float:
        """Fraction of the offered rate that is lost, 0 to 1; 0 if nothing is offered."""
        return 1 - self.carried_bps / self.offered_bps if self.offered_bps else 0.0

    @property
    def delay_s(self) -> float | None:
        """One-way delay, seconds, of the path and the queue; `None`: the waiting time in the queue is unknown."""
        return None if self.queue_s is None else self.path_s + self.queue_s


def max_min(capacity: float, demands: Sequence[tuple[float, float]]) -> list[float]:
    """Return the weighted max-min fair shares of a capacity, in its unit, for pairs (demand, weight), in their order.

    Demands have the unit of the capacity. A demand of weight 0 gets nothing.
    """
    shares = [0.0] * len(demands)
    unmet = {i for i, (demand, weight) in enumerate(demands) if demand > 0 and weight > 0}
    unused = capacity
    while unmet and unused > 0:
        level = unused / sum(demands[i][1] for i in unmet)
        met = {i for i in unmet if demands[i][0] <= demands[i][1] * level}
        if not met:
            for i in unmet:
                shares[i] = demands[i][1] * level
            break
        for i in met:
            shares[i] = demands[i][0]
            unused -= demands[i][0]
        unmet -= met
    return shares


def fluid(
    scenario: Scenario, node: str, neighbour: str, factors: Mapping[str, float] | None = None
) -> dict[str, Fluid]:
    """Return the long-run service of each group of flows that leaves by a port, by the name of the group.

    Args:
        scenario: Hosts with a link each to one switch, and a policy at one of its ports, as `tailback import` makes it.
        node: The switch.
        neighbour: Neighbour of the switch behind the port.
        factors: Factors by which the offered rates of groups are multiplied, by name of the group; default 1.

    Raises:
        NotModelledError: A group's rate depends on the network, or a part of the policy has no fluid model.
        KeyError: There is no link between `node` and `neighbour`, or `node` is not a switch.

    """
    return FluidPort(scenario, node, neighbour)(factors)


class FluidPort:
    """Fluid model of one port, which can be evaluated under several loads."""

    def __init__(self, scenario: Scenario, node: str, neighbour: str) -> None:
        """Read the port, as `fluid` does.

        Raises NotModelledError if the mean rate of a group is not known or the link has `accounting`, and KeyError as
        `fluid`.
        """
        self._port = Port(json.loads(scenario.native.to_json()), node, neighbour)
        if "accounting" in self._port.line:
            raise NotModelledError("the link carries other bytes than those of frames (`accounting`)")
        self._offered: dict[str, float] = {}
        self._wire: dict[str, float] = {}
        rates = scenario.native.offered()
        for group in self._port.groups:
            pair = rates.get(group.name)
            if pair is None:
                raise NotModelledError(f"the load of `{group.name}` depends on the network, or is unknown")
            self._offered[group.name], self._wire[group.name] = pair

    def __call__(self, factors: Mapping[str, float] | None = None) -> dict[str, Fluid]:
        """Return the service of each group, by name, if its offered rate is multiplied by its factor (default 1).

        Raises NotModelledError if a part of the policy has no fluid model.
        """
        factor = dict.fromkeys(self._offered, 1.0) | dict(factors or {})
        offered = {name: rate * factor[name] for name, rate in self._offered.items()}
        sent = self._policed(offered)
        # Offered rates count bytes as buffers do, but the link carries wire bytes. Its rate is converted to the former
        # by the mean ratio of the two.
        wire = sum(self._wire[name] * factor[name] for name in offered)
        line = rate_bps(towards(self._port.line["rate"])) * (sum(offered.values()) / wire if wire else 1.0)
        shaper = self._port.table.get("shaper")
        capacity = line if shaper is None else min(line, rate_bps(shaper["rate"]))
        base = rate_bps(towards(self._port.line["rate"]) if shaper is None else shaper["rate"])
        _plain(shaper)
        discipline = self._port.table.get("discipline", self._port.document["network"]["discipline"])
        limit = self._port.table.get("buffer", self._port.document["network"]["buffer"])
        found = _Server(self._port).serve(discipline, capacity, base, sent, str(limit))
        return {name: Fluid(offered[name], *found[name], self._path_s(name)) for name in offered}

    def _path_s(self, name: str) -> float:
        """Return `Fluid.path_s` of a group."""
        port = self._port
        access = port.links[frozenset((port.senders[name], port.node))]
        wire = next(group.wire for group in port.groups if group.name == name) * 8
        return sum(delay_s(link) + wire / rate_bps(towards(link["rate"])) for link in (access, port.line))

    def _policed(self, offered: Mapping[str, float]) -> dict[str, float]:
        """Return the rate that the port's policers pass of each group, bit/s, by name."""
        sent = dict(offered)
        metered: set[str] = set()
        groups = {group.name: group for group in self._port.groups}
        switch = self._port.document["switches"][self._port.node]
        # Conditioners of direction "ingress" act on packets from the neighbour of their port.
        if any(
            conditioner.get("direction") == "ingress"
            for neighbour, table in switch.get("ports", {}).items()
            if self._port.table is not table and neighbour in self._port.senders.values()
            for conditioner in table.get("conditioners", [])
        ):
            raise NotModelledError("conditioners at the input of the switch")
        for conditioner in self._port.table.get("conditioners", []):
            if conditioner.get("direction") == "ingress":
                continue
            meter, exceed = conditioner.get("meter", {}), conditioner.get("exceed", {})
            marks = any("mark" in conditioner.get(colour, {}) for colour in ("conform", "exceed", "violate"))
            if meter.get("kind") != "token-bucket" or exceed.get("drop") is not True or marks:
                raise NotModelledError("a conditioner that is not a dropping policer")
            _plain(conditioner)
            matches, written = conditioner.get("match"), conditioner.get("flows")
            policed = [
                name
                for name in sent
                # Only the first conditioner that matches a packet applies to it.
                if name not in metered
                and (written is None or selects(written, name))
                and (matches is None or self._port.holds(matches, groups[name]))
            ]
            metered.update(policed)
            if conditioner.get("per", "flow") == "flow" and any(groups[name].flows > 1 for name in policed):
                raise NotModelledError("policers per flow of a group of several flows")
            total, limit = sum(sent[name] for name in policed), rate_bps(meter["rate"])
            if total > limit:
                sent |= {name: sent[name] * limit / total for name in policed}
        return sent


Served = dict[str, tuple[float, float | None]]
"""Carried rate, bit/s, and waiting time, seconds, of each group by name; `None`: the time is unknown."""


class _Server:
    """Fluid models of the queue disciplines of a port."""

    def __init__(self, port: Port) -> None:
        self.port = port
        self.groups = {group.name: group for group in port.groups}
        self.kinds: dict[str, Callable[[Json, float, float, Mapping[str, float]], Served]] = {
            "priority": self._priority,
            "class-based": self._class_based,
            "htb": self._htb,
        }

    def serve(
        self, discipline: Json | None, capacity: float, base: float, demands: Mapping[str, float], limit: str
    ) -> Served:
        """Return the service of each group by a discipline with `capacity` bit/s; `demands` are by group, in bit/s.

        Guarantees that are fractions refer to `base` bit/s. `limit` is the buffer of a discipline without classes.
        Raises NotModelledError if the discipline has no model.
        """
        kind = "drop-tail" if discipline is None else str(discipline["kind"])
        if kind == "shaper":
            assert discipline is not None
            _plain(discipline)
            rate = rate_bps(discipline["rate"])
            return self.serve(discipline.get("discipline"), min(rate, capacity), rate, demands, limit)
        if kind in self.kinds:
            assert discipline is not None
            _plain(discipline)
            return self.kinds[kind](discipline, capacity, base, demands)
        total = sum(demands.values())
        if total <= capacity:
            return {name: (rate, 0.0) for name, rate in demands.items()}
        if kind in _BY_FLOW:
            groups = [self.groups[name] for name in demands]
            weighted = kind == "fair-queue" and (discipline or {}).get("weights") != "equal"
            if weighted and len({group.dscp >> 3 for group in groups}) > 1:
                raise NotModelledError(f"`{kind}` with weights by precedence")
            shares = max_min(capacity, [(demands[group.name], float(group.flows)) for group in groups])
            return {
                group.name: (share, 0.0 if share >= demands[group.name] else None)
                for group, share in zip(groups, shares, strict=True)
            }
        alike = len({self.groups[name].dscp for name in demands}) == 1
        if kind not in _SHARED and not (kind == "wred" and alike):
            raise NotModelledError(f"`{kind}` has no fluid model")
        full = self._full_s(limit, capacity, demands) if kind == "drop-tail" else None
        return {name: (rate * capacity / total, full) for name, rate in demands.items()}

    def _full_s(self, limit: str, capacity: float, demands: Mapping[str, float]) -> float | None:
        """Return the time to serve a full queue, seconds; `None`: the limit is neither bytes nor packets.

        For a limit in packets, the packets have the mean size of those that arrive.
        """
        if limit == "unlimited":
            return math.inf
        try:
            return _native.parse_bytes(limit) * 8 / capacity if capacity else math.inf
        except ValueError:
            pass
        if not limit.endswith("packets"):
            return None
        packets = sum(rate / self.groups[name].packet for name, rate in demands.items())
        mean = sum(demands.values()) / packets
        return int(limit.removesuffix("packets")) * mean * 8 / capacity if capacity else math.inf

    def _sorted(self, classes: Sequence[Json], demands: Mapping[str, float], default: int) -> list[dict[str, float]]:
        """Return a list with the demands of the groups in each class, by the names of the groups.

        Groups that match no class are in the class with the index `default`, which may be `len(classes)`.
        """
        class_of = self.port.classify(classes, [self.groups[name] for name in demands], default)
        by_class: list[dict[str, float]] = [{} for _ in range(max([len(classes), default + 1]))]
        for name, index in class_of.items():
            by_class[index][name] = demands[name]
        return by_class

    def _most(self, discipline: Json | None) -> float:
        """Return the lowest rate of a discipline's nested shapers, bit/s; infinity if it is not a shaper."""
        if discipline is None or discipline["kind"] != "shaper":
            return math.inf
        return min(rate_bps(discipline["rate"]), self._most(discipline.get("discipline")))

    def _priority(self, table: Json, capacity: float, base: float, demands: Mapping[str, float]) -> Served:
        """Return the service by strict priority: each level gets what the levels before it leave."""
        levels: list[Json] = table["levels"]
        names = [level["name"] for level in levels]
        by_level = self._sorted(levels, demands, names.index(table.get("default") or names[-1]))
        found: Served = {}
        for level, own in zip(levels, by_level, strict=True):
            served = self.serve(level.get("discipline"), capacity, base, own, str(level.get("limit", "")))
            capacity = max(capacity - sum(carried for carried, _ in served.values()), 0.0)
            found |= served
        return found

    def _class_based(self, table: Json, capacity: float, base: float, demands: Mapping[str, float]) -> Served:
        """Return the service by class-based queueing, docs/mechanisms/class-based.md."""
        classes: list[Json] = [*table["classes"], table.get("default") or {}]
        if table.get("base") is not None:
            base = rate_bps(table["base"])
        by_class = self._sorted(classes[:-1], demands, len(classes) - 1)
        total = sum(demands.values())
        found: Served = {}
        left = capacity
        strict = [i for i, class_ in enumerate(classes) if class_.get("priority") is not None]
        for level in sorted({classes[i]["priority"].get("level", 1) for i in strict}):
            own = [i for i in strict if classes[i]["priority"].get("level", 1) == level]
            admitted = {i: sum(by_class[i].values()) for i in own}
            for i in own:
                # The policer of a priority class acts only while the port is overloaded.
                rate = classes[i]["priority"].get("rate")
                if rate is not None and total > capacity:
                    admitted[i] = min(admitted[i], share_bps(rate, base))
            # Classes of one level are served in the order of arrival: all lose the same fraction.
            offered = sum(admitted.values())
            passed = min(left / offered, 1.0) if offered else 1.0
            for i in own:
                got, demand = admitted[i] * passed, sum(by_class[i].values())
                late = (
                    0.0
                    if passed == 1 or not demand
                    else self._full_s(str(classes[i].get("limit", "64packets")), got, by_class[i])
                )
                found |= {name: (rate * got / demand if demand else 0.0, late) for name, rate in by_class[i].items()}
            left = max(left - offered * passed, 0.0)
        rates = class_rates(classes, base)
        weighted = [i for i in range(len(classes)) if i not in strict]
        wanted = [
            (min(sum(by_class[i].values()), self._most(classes[i].get("discipline"))), rates[i]) for i in weighted
        ]
        for index, got in zip(weighted, max_min(left, wanted), strict=True):
            class_ = classes[index]
            limit = str(class_.get("limit", "64packets"))
            found |= self.serve(class_.get("discipline"), got, base, by_class[index], limit)
        return found

    def _htb(self, table: Json, capacity: float, base: float, demands: Mapping[str, float]) -> Served:
        """Return the service by HTB with leaves alone, or with one root and its leaves."""
        classes: list[Json] = table["classes"]
        inner = {class_["parent"] for class_ in classes if class_.get("parent") is not None}
        if len({class_.get("parent") for class_ in classes}) > 2 or any(
            class_.get("parent") is not None and class_["name"] in inner for class_ in classes
        ):
            raise NotModelledError("htb with more levels than a root and its leaves")
        for class_ in classes:
            _plain(class_)
        roots = [class_ for class_ in classes if class_["name"] in inner]
        leaves = [class_ for class_ in classes if class_["name"] not in inner]
        if table.get("default") is None:
            raise NotModelledError("htb without a default class")
        by_leaf = self._sorted(leaves, demands, [leaf["name"] for leaf in leaves].index(table["default"]))
        for root in roots:
            capacity = min(capacity, rate_bps(root.get("ceil") or root["rate"]))
        rates = [rate_bps(leaf["rate"]) for leaf in leaves]
        ceilings = [rate_bps(leaf.get("ceil") or leaf["rate"]) for leaf in leaves]
        wanted = [min(sum(own.values()), limit) for own, limit in zip(by_leaf, ceilings, strict=True)]
        # Guaranteed rates are served first. The remaining capacity goes to leaves in the order of priority, and within
        # a priority in proportion to their quanta.
        got = [min(want, rate) for want, rate in zip(wanted, rates, strict=True)]
        if sum(got) > capacity:
            raise NotModelledError("htb whose guaranteed rates exceed its capacity")
        quanta = [
            float(leaf.get("quantum") or min(max(rate / 8 / table.get("r2q", 10), 1000), 200_000))
            for leaf, rate in zip(leaves, rates, strict=True)
        ]
        for prio in sorted({leaf.get("prio", 0) for leaf in leaves}):
            alike = [i for i, leaf in enumerate(leaves) if leaf.get("prio", 0) == prio]
            more = max_min(capacity - sum(got), [(wanted[i] - got[i], quanta[i]) for i in alike])
            for i, extra in zip(alike, more, strict=True):
                got[i] += extra
        found: Served = {}
        for leaf, own, carried in zip(leaves, by_leaf, got, strict=True):
            found |= self.serve(leaf.get("discipline"), carried, base, own, str(leaf.get("limit", "")))
        return found


def _plain(table: Json | None) -> None:
    """Raise NotModelledError if the token bucket of a table counts other bytes than buffers do."""
    if table is not None and table.get("accounting", "0B") != "0B":
        raise NotModelledError("token buckets that count other bytes than buffers do (`accounting`)")
