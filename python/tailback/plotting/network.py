"""Drawings of networks, made from the scenario document: nodes, links with their rates, and paths of flows.

Nodes are in columns by their position on the paths of the flows, senders on the left. Nodes with the same role, such
as twenty hosts whose names differ only in their numbers and whose links are equal, are drawn as one symbol if there are
more than `MOST_ALIKE` of them.
"""

from __future__ import annotations

import itertools
import json
import math
import re
from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, TypedDict

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from tailback.scenario import Scenario

__all__ = ["MOST_ALIKE", "MOST_DRAWN", "Network", "Part", "draw", "lay_out", "network_of"]

MOST_ALIKE = 4
"""Maximum number of nodes with the same role that have a symbol each; more nodes share one symbol."""
MOST_ASKED = 400
"""Maximum number of nodes of a network that is laid out; a larger network is described in words."""
MOST_DRAWN = 26
"""Maximum number of symbols of a readable drawing; a network that needs more is described in words."""

SENDER, RECEIVER, BOTH, SILENT, SWITCH = "#0072b2", "#009e73", "#8c6d31", "#999999", "#444444"
"""Colours of hosts that send, that receive, that do both or neither, and of switches."""


class Link(TypedDict):
    """A full-duplex link.

    `rate_bps` and `buffer_bytes` have a value for each of `ends`: that of the port by which this end sends.
    `buffer_bytes` is the limit of the highest traffic class; `None`: unlimited. `delay_s` is the propagation delay.
    """

    ends: list[str]
    rate_bps: list[int]
    delay_s: float
    buffer_bytes: list[int | None]


@dataclass(frozen=True)
class Network:
    """Nodes, links and flows of a scenario."""

    nodes: Mapping[str, str]
    """Kind of each node by its name: `host` or `switch`."""
    links: Sequence[Link]
    flows: Sequence[tuple[str, str, str]]
    """Flows as (sender, receiver, group)."""

    @cached_property
    def neighbours(self) -> dict[str, list[tuple[str, Link, int]]]:
        """Links of each node, as (neighbour, link, index of the node in the link's `ends`)."""
        found: dict[str, list[tuple[str, Link, int]]] = {name: [] for name in self.nodes}
        for link in self.links:
            for side in (0, 1):
                found[link["ends"][side]].append((link["ends"][1 - side], link, side))
        return found

    @cached_property
    def senders(self) -> dict[str, set[str]]:
        """Groups of flows by the host that sends them."""
        return self._ends(0)

    @cached_property
    def receivers(self) -> dict[str, set[str]]:
        """Groups of flows by the host that receives them."""
        return self._ends(1)

    def _ends(self, which: int) -> dict[str, set[str]]:
        """Return the groups of flows by their host at index `which`: 0 for senders, 1 for receivers."""
        found: dict[str, set[str]] = defaultdict(set)
        for flow in self.flows:
            found[flow[which]].add(flow[2])
        return found

    def ways(self, of: Mapping[str, Part]) -> list[list[str]]:
        """Return a path, as the names of its nodes, for each pair of symbols (sender, receiver) with flows.

        `of` has the symbol of each node by the node's name.
        """
        ends = {(id(of[sender]), id(of[receiver])): (sender, receiver) for sender, receiver, _ in self.flows}
        return [self.way(*pair) for pair in ends.values()]

    def ways_out(self, of: Mapping[str, Part]) -> list[list[str]]:
        """Return a path for each pair of symbols with flows between them, in one direction only.

        If there are flows in both directions, the path is that of the group with the shortest name; the other direction
        is assumed to carry the replies.
        """
        ends: dict[frozenset[int], tuple[str, str]] = {}
        for sender, receiver, _ in sorted(self.flows, key=lambda flow: (len(flow[2]), flow[2])):
            ends.setdefault(frozenset((id(of[sender]), id(of[receiver]))), (sender, receiver))
        return [self.way(*pair) for pair in ends.values()]

    def way(self, start: str, end: str) -> list[str]:
        """Return the names of the nodes of a path with the fewest hops, ends included; empty if there is no path."""
        previous: dict[str, str] = {start: start}
        ahead = deque([start])
        while ahead and end not in previous:
            node = ahead.popleft()
            for neighbour, _, _ in self.neighbours[node]:
                # Only switches forward packets.
                if neighbour not in previous and (neighbour == end or self.nodes[neighbour] == "switch"):
                    previous[neighbour] = node
                    ahead.append(neighbour)
        path = [end]
        while path[-1] != start:
            if path[-1] not in previous:
                return []
            path.append(previous[path[-1]])
        return path[::-1]


def network_of(scenario: Scenario) -> Network:
    """Return the network of a scenario, with the seed of its first replication."""
    found = json.loads(scenario.native.network(int(str(scenario.run_config["seed"]))))
    return Network(dict(found["nodes"]), found["links"], [(f[0], f[1], f[2]) for f in found["flows"]])


@dataclass
class Part:
    """Symbol of a drawing: a node, or several nodes with the same role."""

    names: list[str]
    """Names of the nodes, at least one."""
    kind: str
    """Kind of the nodes: `host` or `switch`."""
    x: float = 0.0
    """Column, from 0 on the left."""
    y: float = 0.0
    """Row, downwards; 0 is the middle of the column."""

    @property
    def label(self) -> str:
        """Name of the node; of several nodes the first and the last name, and their number."""
        if len(self.names) == 1:
            return self.names[0]
        return f"{self.names[0]} … {self.names[-1]}\n({len(self.names)})"


def draw(scenario: Scenario | Network, title: str = "") -> Figure:
    """Draw the network of a scenario: circles are hosts, boxes are switches.

    If links have different rates, the slowest ones are red. A network that is too large is described in words instead.
    """
    from tailback.plotting import plot

    network = scenario if isinstance(scenario, Network) else network_of(scenario)
    parts = lay_out(network)
    if not parts:
        return _in_words(network, title)
    columns = 1 + max(part.x for part in parts)
    rows = max(Counter(part.x for part in parts).values())
    figure = plot.new(width=min(2.0 * columns + 1.6, 11.0), height=max(1.7, 0.62 * rows + 0.9))
    (axes,) = figure.axes
    with plot.style():
        axes.axis("off")
        _links(axes, network, parts)
        for part in parts:
            _node(axes, network, part)
        ys = [part.y for part in parts]
        axes.set_xlim(-0.75, columns - 0.25)
        axes.set_ylim(max(ys) + 0.75, min(ys) - 0.6)
        if title:
            axes.set_title(title)
    return figure


def lay_out(network: Network) -> list[Part]:
    """Return the symbols with their places; empty if the network has too many nodes or needs too many symbols."""
    if len(network.nodes) > MOST_ASKED:
        return []
    for by_group in (True, False):
        if len(parts := _parts(network, by_group)) <= MOST_DRAWN:
            _place(network, parts)
            return parts
    return []


def _parts(network: Network, by_group: bool) -> list[Part]:
    """Return the symbols of the nodes; many nodes with the same role are one symbol.

    Nodes have the same role if they have the same kind, names that differ in numbers only, the same groups of flows
    (without `by_group`, groups are not distinguished), and equal links to nodes of the same roles. Roles are refined
    until nothing changes (Weisfeiler and Leman).
    """

    def groups(found: set[str]) -> object:
        return tuple(sorted(found)) if by_group else bool(found)

    stem = {name: re.sub(r"\d+", "#", name) for name in network.nodes}
    empty: set[str] = set()
    role: dict[str, object] = {
        name: (
            kind,
            stem[name],
            *(groups(ends.get(name, empty)) for ends in (network.senders, network.receivers)),
        )
        for name, kind in network.nodes.items()
    }
    for _ in network.nodes:
        numbers = {key: number for number, key in enumerate(dict.fromkeys(role.values()))}
        links = {
            name: tuple(
                sorted(
                    (numbers[role[other]], link["rate_bps"][side], link["rate_bps"][1 - side])
                    for other, link, side in found
                )
            )
            for name, found in network.neighbours.items()
        }
        finer: dict[str, object] = {name: (numbers[role[name]], links[name]) for name in network.nodes}
        if len(set(finer.values())) == len(numbers):
            break
        role = finer
    together: dict[object, list[str]] = defaultdict(list)
    for name in network.nodes:
        together[role[name]].append(name)
    found = []
    for names in together.values():
        kind = network.nodes[names[0]]
        drawn = [names] if len(names) > MOST_ALIKE else [[name] for name in names]
        found += [Part(list(group), kind) for group in drawn]
    return found


def _place(network: Network, parts: Sequence[Part]) -> None:
    """Set the column of each symbol by its position on the flows' paths, and its row so that few links cross."""
    of = {name: part for part in parts for name in part.names}
    # Indices of the symbols to the right of each symbol, by its index.
    ahead: dict[int, set[int]] = defaultdict(set)
    index = {id(part): number for number, part in enumerate(parts)}
    # Between two symbols, the direction of more paths counts as forward; the other direction is ignored.
    steps: Counter[tuple[int, int]] = Counter()
    for path in network.ways_out(of):
        for node, following in itertools.pairwise(path):
            if of[node] is not of[following]:
                steps[index[id(of[node])], index[id(of[following])]] += 1
    for (a, b), count in sorted(steps.items(), key=lambda item: (-item[1], item[0])):
        if count >= steps[b, a] and a not in ahead[b] and not _reaches(ahead, b, a):
            ahead[a].add(b)
    # The column of a symbol is the length of the longest path to it.
    column = dict.fromkeys(range(len(parts)), 0)
    for _ in parts:
        for a, nexts in ahead.items():
            for b in nexts:
                column[b] = max(column[b], column[a] + 1)
    # A sender is placed one column before its first switch, and a node on no path beside its neighbour.
    onto = {b for nexts in ahead.values() for b in nexts}
    for number, part in enumerate(parts):
        if ahead[number] and number not in onto:
            column[number] = min(column[b] for b in ahead[number]) - 1
        elif not ahead[number] and number not in onto:
            beside = [column[index[id(of[other])]] for name in part.names for other, _, _ in network.neighbours[name]]
            column[number] = max(beside, default=0) + (part.kind == "host")
    used = sorted(set(column.values()))
    stacks: dict[int, list[Part]] = {place: [] for place in range(len(used))}
    for number, part in enumerate(parts):
        part.x = float(used.index(column[number]))
        stacks[int(part.x)].append(part)
    # Symbols are sorted by the mean row of their neighbours, in a few rounds, since each round moves the neighbours.
    for _ in range(6):
        for stack in stacks.values():
            for row, part in enumerate(stack):
                part.y = row - (len(stack) - 1) / 2
        for stack in stacks.values():
            stack.sort(key=lambda part: _mean_row(network, of, part))
    for stack in stacks.values():
        for row, part in enumerate(stack):
            part.y = row - (len(stack) - 1) / 2


def _reaches(ahead: Mapping[int, Iterable[int]], start: int, end: int) -> bool:
    """Return `True` if `end` is `start` or can be reached from it along `ahead`."""
    seen, todo = {start}, [start]
    while todo:
        for b in ahead.get(todo.pop(), ()):
            if b == end:
                return True
            if b not in seen:
                seen.add(b)
                todo.append(b)
    return start == end


def _mean_row(network: Network, of: Mapping[str, Part], part: Part) -> float:
    """Return the mean row of a symbol's neighbours in other columns; without such neighbours, its own row."""
    ys = [of[other].y for name in part.names for other, _, _ in network.neighbours[name] if of[other].x != part.x]
    return sum(ys) / len(ys) if ys else part.y


def _links(axes: Axes, network: Network, parts: Sequence[Part]) -> None:
    of = {name: part for part in parts for name in part.names}
    bundles: dict[tuple[int, int], list[Link]] = defaultdict(list)
    for link in network.links:
        a, b = (of[end] for end in link["ends"])
        if a is not b:
            bundles[id(a), id(b)].append(link)
    by_id = {id(part): part for part in parts}
    used = {step for path in network.ways(of) for step in itertools.pairwise(path)}
    rates = [rate for link in network.links for rate in link["rate_bps"]]
    slowest, fastest = min(rates), max(rates)
    labelled: set[tuple[float, float, str]] = set()
    ordered = sorted(bundles.items(), key=lambda item: abs(by_id[item[0][0]].y + by_id[item[0][1]].y))
    for (a_id, b_id), links in ordered:
        a, b = by_id[a_id], by_id[b_id]
        rate = min(min(link["rate_bps"]) for link in links)
        width = 1.0 + 0.6 * math.log10(rate / slowest)
        colour = "#d55e00" if rate == slowest < fastest else "#777777"
        # Links between nodes in one column are curved, so that they do not cross other nodes.
        if a.x == b.x:
            bow = {"arrowstyle": "-", "connectionstyle": "arc3,rad=0.35", "color": colour, "linewidth": width}
            axes.annotate("", (a.x, a.y), (b.x, b.y), arrowprops=bow, zorder=1)
        else:
            axes.plot([a.x, b.x], [a.y, b.y], color=colour, linewidth=width, zorder=1)
        forth, back = (any((link["ends"][s], link["ends"][1 - s]) in used for link in links) for s in (0, 1))
        _arrows(axes, (a, b), forth, back, colour)
        words = _words(links, forth, back)
        # Equal adjacent links are labelled once.
        if (key := (min(a.x, b.x), max(a.x, b.x), words)) not in labelled:
            labelled.add(key)
            x, y = (a.x + b.x) / 2, (a.y + b.y) / 2
            axes.text(x, y - 0.08, words, ha="center", va="bottom", fontsize=7.5, zorder=4, linespacing=1.05,
                      bbox={"facecolor": "white", "alpha": 0.85, "edgecolor": "none", "pad": 0.6})  # fmt: skip


def _arrows(axes: Axes, ends: tuple[Part, Part], forth: bool, back: bool, colour: str) -> None:
    for (a, b), flows in ((ends, forth), (ends[::-1], back)):
        if flows and a.x != b.x:
            at, to = ((a.x + (b.x - a.x) * s, a.y + (b.y - a.y) * s) for s in (0.76, 0.84))
            axes.annotate("", to, at, arrowprops={"arrowstyle": "-|>", "color": colour, "linewidth": 0}, zorder=2)


def _words(links: Sequence[Link], forth: bool, back: bool) -> str:
    """Return the rates, delays and buffers, in words, of links that are drawn as one line.

    `forth` is `True` if flows use the direction from the first to the second end, and `back` for the other direction.
    The buffer is given if it is the same for all links in the directions in use.
    """
    rates = {tuple(link["rate_bps"]) for link in links}
    low, high = min(min(pair) for pair in rates), max(max(pair) for pair in rates)
    both = all(pair[0] == pair[1] for pair in rates)
    words = _rate(low) if low == high else f"{_rate(low)} {'to' if both else 'and'} {_rate(high)}"
    delays = [link["delay_s"] for link in links]
    words += f", {_time(min(delays))}" + (f" to {_time(max(delays))}" if max(delays) > min(delays) else "")
    sides = [side for side, flows in ((0, forth), (1, back)) if flows]
    buffers = {link["buffer_bytes"][side] for link in links for side in sides} - {None}
    if len(buffers) == 1:
        words += f"\nbuffer {_size(buffers.pop() or 0)}"
    return words


def _rate(bps: int) -> str:
    for unit, size in (("Gbit/s", 1e9), ("Mbit/s", 1e6), ("kbit/s", 1e3)):
        if bps >= size:
            return f"{bps / size:.4g} {unit}"
    return f"{bps} bit/s"


def _time(seconds: float) -> str:
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size * 0.9999:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"


def _size(size: int) -> str:
    for unit, unit_bytes in (("MB", 1e6), ("kB", 1e3)):
        if size >= unit_bytes:
            return f"{size / unit_bytes:.4g} {unit}"
    return f"{size} B"


def _node(axes: Axes, network: Network, part: Part) -> None:
    sends = sorted(set().union(*(network.senders.get(name, set()) for name in part.names)))
    receives = sorted(set().union(*(network.receivers.get(name, set()) for name in part.names)))
    colour = {(True, False): SENDER, (False, True): RECEIVER, (True, True): BOTH}.get(
        (bool(sends), bool(receives)), SILENT
    )
    is_group = len(part.names) > 1
    if part.kind == "switch":
        shape, colour, size = "s", SWITCH, 19.0
    else:
        shape, size = "o", 15.0
    if is_group:
        axes.plot(
            [part.x + 0.03], [part.y + 0.05], shape, color="white", markeredgecolor=colour, markersize=size, zorder=3
        )
    axes.plot([part.x], [part.y], shape, color=colour, markersize=size, zorder=3)
    axes.text(part.x, part.y + 0.3, part.label, ha="center", va="top", fontsize=8.5, zorder=5, linespacing=1.0)
    if sends and not receives:
        axes.text(part.x - 0.17, part.y, f"{_few(sends)} →", ha="right", va="center", fontsize=8, color=colour)
    elif receives and not sends:
        axes.text(part.x + 0.17, part.y, f"→ {_few(receives)}", ha="left", va="center", fontsize=8, color=colour)
    elif sends:
        words = _few(sorted({*sends, *receives}))
        axes.text(part.x, part.y - 0.3, f"↔ {words}", ha="center", va="bottom", fontsize=8, color=colour)


def _few(groups: Sequence[str]) -> str:
    return ", ".join(groups) if len(groups) <= 3 else f"{', '.join(groups[:2])}, … ({len(groups)})"


def _in_words(network: Network, title: str) -> Figure:
    """Return a figure that describes a network in words, for one that is too large to be drawn."""
    from tailback.plotting import plot

    kinds = Counter(network.nodes.values())
    ends = Counter(
        (*sorted(network.nodes[end] for end in link["ends"]), _rate(min(link["rate_bps"]))) for link in network.links
    )
    lines = [f"{kinds['host']} hosts, {kinds['switch']} switches, {len(network.links)} links"]
    lines += [f"{count} links of {rate} between {a} and {b}" for (a, b, rate), count in sorted(ends.items())]
    groups = Counter(group for _, _, group in network.flows)
    lines += [f"flows {group}: {count} pairs of hosts" for group, count in sorted(groups.items())[:12]]
    figure = plot.new(width=7.0, height=0.17 * len(lines) + 0.4)
    (axes,) = figure.axes
    with plot.style():
        axes.axis("off")
        axes.text(0, 1, "\n".join(lines), va="top", ha="left", fontsize=9, transform=axes.transAxes)
        if title:
            axes.set_title(title)
    return figure
