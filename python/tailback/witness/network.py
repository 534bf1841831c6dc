"""A scenario as a case of the guest: nodes, links, disciplines and sources.

A direction of a link is, at its beginning, a token bucket (HTB) with the rate of the link and a bucket of one byte
(`_bucket`), so that packets leave at the ends of the transmissions of those before them, with the discipline of the
port as its leaf; and at its end a netem with the rate, which adds the transmission time, the delay, the jitter and the
loss.
"""

from __future__ import annotations

import json
import math
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from tailback import _native
from tailback.bounds.port import code_point
from tailback.scenario import Scenario
from tailback.witness.disciplines import UNLIMITED_PACKETS, Refused
from tailback.witness.kernel import PORT, START_S
from tailback.witness.trees import ROOT, translated

__all__ = ["Case", "Flows", "Link", "case"]

Table = Mapping[str, Any]

CONTROLS = {"reno": "reno", "cubic": "cubic", "bbr": "bbr", "dctcp": "dctcp"}
"""Congestion controls of Linux 6.1 by those of scenarios."""
GIVES_UP_S = 127
"""Time after which Linux gives up a connection whose SYN has been sent 7 times, with timeouts of 1, 2, 4 to 64 s
(`tcp_syn_retries` of 6)."""
RECEIVE_BUFFER = (131_072, 64_000_000)
"""Size of a receive buffer of the guest at the start, and its largest size, bytes (`tcp_rmem` in init.sh)."""
STEP_S = 0.005
"""Interval of the samples of the queue, seconds."""
CLOCK_S = 256e-9
"""Step of the guest's clock (`TIMER_MULTIPLIER` in arch/um/kernel/time.c), seconds."""
SLOW = 0.002
"""Part of the transmission time of 1500 B above which a step of the clock leads to a larger bucket.

On slower links the bucket stays that of the recorded results: 99.85 % of the rate at 85.6 Mbit/s, 99.93 % at 45 Mbit/s.
"""
HASHING = frozenset({"fq_codel", "fq_pie", "sfb", "sfq", "cake"})
"""Kinds of the kernel's disciplines that find a packet's queue by a hash of its flow."""


@dataclass(frozen=True)
class Link:
    """A link between two nodes, with what its directions do."""

    number: int
    ends: tuple[str, str]
    rates_bps: tuple[int, int]
    """Rate of each direction, from the first end and from the second."""
    delay_s: float
    jitter_s: float
    loss: float
    disciplines: tuple[str, str]
    """Discipline of the port at each end, in the syntax of tc."""
    notes: tuple[str, ...] = ()
    """What the kernel's disciplines do otherwise than those of the scenario."""
    below: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())
    """Classes, filters and disciplines below the discipline at each end, as in `Translation.below`."""

    def adaptive(self, end: int) -> list[str]:
        """Return the major numbers of the disciplines at an end, 0 or 1, that adapt RED, hexadecimal."""
        majors = [f"{ROOT:x}"] if " adaptive" in self.disciplines[end] else []
        return majors + [
            one.partition(" handle ")[2].partition(":")[0] for one in self.below[end] if " adaptive" in one
        ]

    def address(self, end: int) -> str:
        """Return the address of an end, 0 or 1."""
        return f"10.{100 + self.number // 256}.{self.number % 256}.{end + 1}"

    def device(self) -> str:
        """Return the name of the devices at both ends."""
        return f"l{self.number}"


@dataclass(frozen=True)
class Flows:
    """Equal flows between two hosts."""

    group: str
    sender: str
    receiver: str
    count: int
    model: str
    """`tcp`, `transfers`, `cbr`, `poisson` or `onoff`."""
    code_point: int
    spread_s: float = 0
    """Time within which the flows start, seconds."""
    control: str = ""
    """Congestion control in Linux."""
    mss: int = 0
    """Largest segment with its options, bytes."""
    ecn: bool = False
    sack: bool = True
    timestamps: bool = False
    bytes: int = 0
    """Packet with its IP header, or mean size of a transfer, bytes."""
    rate_bps: float = 0
    """Rate at layer 3 while sending, bit/s."""
    wander: float = 0
    times_s: tuple[float, float] = (0, 0)
    """Means of the on and off periods, or the mean interval between transfers and 0, seconds."""
    sizes: str = ""
    """Distribution of the sizes of transfers: `fixed` or `exponential`."""


@dataclass(frozen=True)
class Case:
    """Nodes, links and flows of a run in the guest."""

    nodes: tuple[str, ...]
    links: tuple[Link, ...]
    flows: tuple[Flows, ...]
    warmup_s: float
    end_s: float
    """Length of the run with its warm-up, seconds."""
    frame_overhead: int
    """Bytes that the scenario counts in addition to the IP packet; the kernel's own count has 14."""
    port: tuple[str, str]
    """Node and neighbour of the port that is measured."""
    notes: tuple[str, ...] = ()
    """Differences between the scenario and the case."""

    def script(self, seed: int) -> str:
        """Return the commands of the guest for a seed."""
        return "\n".join(_script(self, seed)) + "\n"

    def watched(self) -> tuple[Link, int]:
        """Return the link of the port that is measured, and the end at which the port is."""
        for link in self.links:
            if set(link.ends) == set(self.port):
                return link, link.ends.index(self.port[0])
        raise Refused(f"there is no link between {self.port[0]} and {self.port[1]}")


def case(scenario: Scenario, port: tuple[str, str] | None = None) -> Case:
    """Return the case of a scenario; raises Refused for what the kernel or the guest does not have.

    `port` is the node and the neighbour of the port that is measured; `None`: the port of the slowest link that most
    flows use.
    """
    document = json.loads(scenario.native.to_json())
    drawn = json.loads(scenario.native.network(1))
    _only(document, {"tailback", "title", "run", "network", "hosts", "switches", "links", "flows"}, "the scenario")
    network = document.get("network", {})
    known = {"buffer", "classes", "discipline", "framing", "routing"}
    _only(network, known, "network")
    _equal(network, "network", classes=1)
    framing = str(network.get("framing", "ethernet"))
    overhead = {"none": 0, "ethernet": 38}.get(framing)
    if overhead is None:
        raise Refused(f"the guest has no framing such as `{network['framing']}`")
    # Buffers count Ethernet's header and check sequence, the guest the preamble and the gap, too.
    links = tuple(_links(document, drawn, network, {"none": 0, "ethernet": 20}[framing]))
    flows, notes = _flows(document, drawn)
    run = document["run"]
    if run["warmup"] == "auto":
        raise Refused('the guest needs a stated warm-up, such as warmup = "10s"')
    if len({flow.group for flow in flows if flow.model in ("cbr", "poisson")}) > 1:
        notes.append("delays are not compared, since several groups have `cbr` or `poisson` sources")
    nodes = tuple(name for name, _ in drawn["nodes"])
    made = Case(
        nodes,
        links,
        tuple(flows),
        _native.parse_duration(run["warmup"]) * 1e-12,
        _native.parse_duration(run["duration"]) * 1e-12,
        overhead,
        port or _busiest(links, flows, nodes),
        tuple(dict.fromkeys([*(note for link in links for note in link.notes), *notes])),
    )
    made.watched()
    _acknowledged(made)
    return made


def _acknowledged(made: Case) -> None:
    """Refuse trees on the paths of acknowledgements with another code point than in the scenario."""
    for flow in made.flows:
        if flow.model not in ("tcp", "transfers") or not flow.code_point:
            continue
        for link, end in _path(made.links, made.nodes, flow.receiver, flow.sender):
            if link.below[end]:
                port = f"{link.ends[end]}->{link.ends[1 - end]}"
                raise Refused(
                    f"flows.{flow.group}: its acknowledgements have the code point 0 in the guest, not "
                    f"{flow.code_point}, by which the port {port} finds their class"
                )


def _only(table: Table, known: set[str], where: str) -> None:
    """Refuse the keys of a table that the guest does not know."""
    left = sorted(key for key, value in table.items() if key not in known and value not in (None, [], {}))
    if left:
        raise Refused(f"{where}: the guest has no `{left[0]}`")


def _equal(table: Table, where: str, **values: Any) -> None:
    """Refuse keys that have other values than those of the guest."""
    for name, value in values.items():
        key = name.replace("_", "-")
        if table.get(key) not in (None, value):
            raise Refused(f"{where}: the guest has only `{key} = {value!r}`, not {table[key]!r}")


def _links(document: Table, drawn: Table, network: Table, beyond: int) -> Iterator[Link]:
    """Yield the links; the guest counts `beyond` bytes per packet more than the scenario's buffers."""
    for number, link in enumerate(drawn["links"]):
        first, second = link["ends"]
        written = _written(document["links"], first, second)
        _only(written, {"between", "rate", "delay", "jitter", "loss"}, f"link {first}, {second}")
        rates = tuple(link["rate_bps"])
        jitter = written.get("jitter", "0s")
        loss = written.get("loss", 0.0)
        if not isinstance(jitter, str) or not isinstance(loss, int | float):
            raise Refused(f"link {first}, {second}: the guest has one `jitter` and one `loss` for both directions")
        one, other = (
            translated(*_port(document, network, *ends), rate, beyond)
            for ends, rate in (((first, second), rates[0]), ((second, first), rates[1]))
        )
        yield Link(
            number,
            (first, second),
            (rates[0], rates[1]),
            link["delay_s"],
            _native.parse_duration(jitter) * 1e-12,
            loss,
            (one.root, other.root),
            (*one.notes, *other.notes),
            (one.below, other.below),
        )


def _written(links: Sequence[Table], first: str, second: str) -> Table:
    """Return the table of a link; its ends may be patterns."""
    for link in links:
        a, b = link["between"]
        for one, other in ((first, second), (second, first)):
            if fnmatchcase(one, a) and fnmatchcase(other, b):
                return link
    raise Refused(f"the guest cannot find the table of the link between {first} and {second}")


def _port(document: Table, network: Table, node: str, neighbour: str) -> tuple[Table, str]:
    """Return the discipline and the buffer of a port."""
    buffer, discipline = network.get("buffer", "unlimited"), network["discipline"]
    for section, known in (
        ("hosts", {"buffer", "discipline", "count", "obeys", "ports"}),
        ("switches", {"buffer", "discipline", "count", "latency", "model", "ports"}),
    ):
        for name, table in document.get(section, {}).items():
            if node != name and not (table.get("count") and node.removeprefix(name).isdigit()):
                continue
            _only(table, known, f"{section}.{name}")
            _equal(table, f"{section}.{name}", latency="0s", model={"kind": "output-queued"}, obeys=True)
            buffer, discipline = table.get("buffer", buffer), table.get("discipline", discipline)
            for pattern, port in (table.get("ports") or {}).items():
                if fnmatchcase(neighbour, pattern):
                    _only(port, {"buffer", "discipline"}, f"{section}.{name}.ports.{pattern}")
                    buffer, discipline = port.get("buffer", buffer), port.get("discipline", discipline)
    if not isinstance(buffer, str):
        raise Refused(f"the port {node}->{neighbour}: the guest has one buffer, not {buffer!r}")
    return discipline, buffer


def _flows(document: Table, drawn: Table) -> tuple[list[Flows], list[str]]:
    flows, notes = [], []
    for flow in document["flows"]:
        pairs = [(sender, receiver) for sender, receiver, group in drawn["flows"] if group == flow["name"]]
        known = {"class", "from", "to", "name", "pair", "start", "start-spread", "count", "dscp"}
        where = f"flows.{flow['name']}"
        _only(flow, known | {"source", "application", "transport"}, where)
        _equal(flow, where, start="0s", **{"class": 0})
        count = flow.get("count") or 1
        for sender, receiver in pairs:
            made, found = _flow(flow, sender, receiver, count, where)
            flows.append(made)
            notes += [note for note in found if note not in notes]
    return flows, notes


def _flow(flow: Table, sender: str, receiver: str, count: int, where: str) -> tuple[Flows, list[str]]:
    """Return the flows of a group between two hosts, and the differences from the scenario."""
    own: dict[str, Any] = {
        "group": flow["name"],
        "sender": sender,
        "receiver": receiver,
        "count": count,
        "code_point": code_point(flow.get("dscp") or 0),
        "spread_s": _native.parse_duration(flow.get("start-spread") or "0s") * 1e-12,
    }
    source = flow.get("application") or flow["source"]
    kind = source["kind"]
    transport = flow.get("transport")
    if kind in ("bulk", "transfers"):
        own |= (tcp := _tcp(transport, where))[0]
        if kind == "bulk":
            if source.get("size"):
                raise Refused(f"{where}: the guest has bulk transfers without a size")
            return Flows(model="tcp", **own), tcp[1]
        if own["spread_s"]:
            raise Refused(f"{where}: the guest has no `start-spread` for transfers")
        sizes = source["size"]
        if sizes["kind"] == "fixed":
            mean = _native.parse_bytes(sizes["size"])
        elif sizes["kind"] == "exponential":
            mean = _native.parse_bytes(sizes["mean"])
        else:
            raise Refused(f"{where}: the guest has transfers of fixed or exponential size, not `{sizes['kind']}`")
        if source.get("interval"):
            interval = _native.parse_duration(source["interval"]) * 1e-12
        else:
            interval = 8 * mean / _native.parse_rate(source["rate"])
        # One program for the group starts the transfers, as the scenario's Poisson process does.
        own["count"] = 1
        busy = (
            f"{where}: at most {count} transfers at a time in the scenario, any number on Linux, each on its own port; "
            "disciplines that hash flows treat the transfers of a flow alike: write a larger `count`"
        )
        made = Flows(model="transfers", bytes=mean, times_s=(interval, 0), sizes=sizes["kind"], **own)
        return made, [*tcp[1], busy]
    if transport is not None:
        raise Refused(f"{where}: the guest has TCP with bulk transfers and transfers only")
    if own["spread_s"]:
        raise Refused(f"{where}: the guest has no `start-spread` for this source")
    packet = _native.parse_bytes(source["packet"])
    if packet > 1500:
        raise Refused(f"{where}: the guest has packets of at most 1500 B without TCP")
    if kind in ("cbr", "poisson"):
        _only(source, {"kind", "packet", "rate", "interval", "wander", "phase", "sizes", "jitter"}, where)
        _equal(source, where, phase="random", sizes="fixed", jitter=0.0)
        if source.get("rate"):
            rate = float(_native.parse_rate(source["rate"]))
        else:
            rate = 8 * packet / (_native.parse_duration(source["interval"]) * 1e-12)
        return Flows(model=kind, bytes=packet, rate_bps=rate, wander=source.get("wander") or 0, **own), []
    if kind == "on-off":
        _only(source, {"kind", "packet", "rate", "on", "off", "distribution", "shape"}, where)
        _equal(source, where, distribution="exponential")
        on, off = (_native.parse_duration(source[key]) * 1e-12 for key in ("on", "off"))
        rate = _native.parse_rate(source["rate"])
        return Flows(model="onoff", bytes=packet, rate_bps=rate, times_s=(on, off), **own), []
    raise Refused(f"{where}: the guest has no source such as `{kind}`")


def _tcp(transport: Table | None, where: str) -> tuple[dict[str, Any], list[str]]:
    """Return the settings of TCP, and the differences from the scenario."""
    if transport is None or transport["kind"] != "tcp":
        raise Refused(f"{where}: the guest has TCP only")
    kind = transport["congestion-control"]["kind"]
    if kind not in CONTROLS:
        raise Refused(f"{where}: Linux 6.1 has no congestion control such as `{kind}` (BBR is version 1)")
    recovery = transport["recovery"]["kind"]
    if recovery not in ("sack", "newreno"):
        raise Refused(f"{where}: Linux 6.1 has no recovery such as `{recovery}`")
    if transport["ecn"] not in ("off", "classic") or transport.get("receive-window") is not None:
        raise Refused(f"{where}: the guest has no receive window, and no ECN such as {transport['ecn']!r}")
    segment, header = (_native.parse_bytes(transport[key]) for key in ("segment", "header"))
    notes = [f"{where}: TCP has Linux's own parameters, apart from congestion control, ECN, SACK, timestamps and sizes"]
    if transport.get("preset") is None:
        notes.append(f'{where}: `preset = "linux-6.1"` selects those of Linux\'s parameters that Tailback has')
    notes += _buffer(transport, where)
    timestamps = bool(transport["timestamps"])
    if header + segment > 1500:
        raise Refused(f"{where}: the guest has packets of at most 1500 B")
    own = 52 if timestamps else 40
    if header != own:
        notes.append(
            f"{where}: headers of {own} B instead of {header} B; packets have {segment + header} B in both "
            f"programs, and their payload is {segment + header - own} B instead of {segment} B"
        )
    return {
        "control": CONTROLS[kind],
        "mss": segment + header - 40,
        "ecn": transport["ecn"] != "off",
        "sack": recovery == "sack",
        "timestamps": timestamps,
    }, notes


def _buffer(transport: Table, where: str) -> list[str]:
    """Return how the guest's receive buffers (`tcp_rmem` in init.sh) differ from the scenario's."""
    buffer = transport.get("receive-buffer")
    if buffer is None:
        return [
            f"{where}: the guest's receive buffers, which grow from 128 KiB, may limit the window (`receive-buffer`)"
        ]
    sizes = [_native.parse_bytes(buffer[key]) for key in ("initial", "max")]
    if sizes == list(RECEIVE_BUFFER):
        return []
    guest, own = (f"{initial} B, and at most {most} B" for initial, most in (RECEIVE_BUFFER, sizes))
    return [f"{where}: the guest's receive buffers have {guest}, instead of {own}"]


def _routes(links: Sequence[Link], nodes: Sequence[str], goal: str) -> dict[str, tuple[Link, int]]:
    """Return for each node the link towards a goal, on a shortest path, and the end at which the node is."""
    at: dict[str, list[tuple[Link, int]]] = {node: [] for node in nodes}
    for link in links:
        for end in (0, 1):
            at[link.ends[end]].append((link, end))
    found: dict[str, tuple[Link, int]] = {}
    queue = deque([goal])
    while queue:
        node = queue.popleft()
        for link, end in at[node]:
            other = link.ends[1 - end]
            if other != goal and other not in found:
                found[other] = (link, 1 - end)
                queue.append(other)
    return found


def _path(links: Sequence[Link], nodes: Sequence[str], sender: str, receiver: str) -> Iterator[tuple[Link, int]]:
    routes = _routes(links, nodes, receiver)
    node = sender
    while node != receiver:
        link, end = routes[node]
        yield link, end
        node = link.ends[1 - end]


def _busiest(links: Sequence[Link], flows: Sequence[Flows], nodes: Sequence[str]) -> tuple[str, str]:
    """Return the port of the slowest link on the paths of the flows; of equal ones that of most flows."""
    uses: dict[tuple[str, str], tuple[int, int]] = {}
    for flow in flows:
        for link, end in _path(links, nodes, flow.sender, flow.receiver):
            key = (link.ends[end], link.ends[1 - end])
            rate, count = uses.get(key, (link.rates_bps[end], 0))
            uses[key] = (rate, count + flow.count)
    return min(uses, key=lambda key: (uses[key][0], -uses[key][1]))


def _script(case: Case, seed: int) -> Iterator[str]:
    names = {node: f"n{i}" for i, node in enumerate(case.nodes)}
    tcp = [flow for flow in case.flows if flow.model in ("tcp", "transfers")]
    yield from (f"node {name}" for name in names.values())
    for link in case.links:
        a, b = (names[node] for node in link.ends)
        yield f"pair {a} {link.device()} {link.address(0)} {b} {link.device()} {link.address(1)}"
    if any(flow.control == "dctcp" for flow in tcp):
        # A namespace can have DCTCP by default only if every process may use it (tcp_set_default_congestion_control).
        allowed = " ".join(dict.fromkeys(["reno", "cubic", *(flow.control for flow in tcp)]))
        yield f"echo {allowed} >/proc/sys/net/ipv4/tcp_allowed_congestion_control"
    goals = sorted({node for flow in case.flows for node in (flow.sender, flow.receiver)})
    routes: dict[str, list[str]] = {node: [] for node in case.nodes}
    addresses = {}
    for goal in goals:
        link, end = next((link, link.ends.index(goal)) for link in case.links if goal in link.ends)
        addresses[goal] = link.address(end)
        for node, (via, own) in _routes(case.links, case.nodes, goal).items():
            routes[node].append(
                f"route replace {link.address(end)}/32 via {via.address(1 - own)} src {via.address(own)}"
            )
    commands = [word for node in case.nodes for line in _disciplines(case, node) for word in line.split()]
    hashes = any(kind in HASHING for kind in commands)
    for node, name in names.items():
        inner = [f"i{link.number}" for link in case.links if node in link.ends and _netem(case, link, node)]
        lines = [line for device in inner for line in (f"link add {device} type ifb", f"link set {device} up")]
        # Hosts have no segmentation offload, so that a segment is a packet from the beginning.
        lines += [f"link set {link.device()} gso_max_segs 1" for link in case.links if node in link.ends]
        yield f"ip -n {name} -batch - <<END\n" + "\n".join(lines + routes[node]) + "\nEND"
        ends = [flow for flow in tcp if node in (flow.sender, flow.receiver)]
        yield f"settings {name} {_sysctls(ends, hashes, case.end_s)!r} " + " ".join(
            link.device() for link in case.links if node in link.ends
        )
        yield f"inside {name} tc -batch - <<END || failed 'the disciplines of {node}'"
        yield from _disciplines(case, node)
        yield "END"
        for link in case.links:
            for major in link.adaptive(link.ends.index(node)) if node in link.ends else ():
                adapt = f"$traffic adapt {link.device()} {major}"
                yield f"inside {name} {adapt} || failed 'the adaptation of RED at {node}'"
    start, last = START_S, START_S + case.end_s
    warm = START_S + case.warmup_s
    for node in sorted({flow.receiver for flow in case.flows}):
        sink = f"sink {PORT} {warm:g} {last:g} /run/case/sink-{names[node]} /run/case/arrived-{names[node]}"
        # It runs until the guest is halted.
        yield f"(inside {names[node]} $traffic {sink} || failed 'the sink of {node}') &"
    link, at = case.watched()
    watched = names[link.ends[at]]
    yield f"launch {watched} watch {link.device()} 1 {STEP_S:g} {warm:g} {last:g} /run/case/queue"
    for i, flow in enumerate(case.flows):
        own_seed = 1000 * seed + i
        to = f"{addresses[flow.receiver]} {PORT} {flow.code_point << 2}"
        sender = names[flow.sender]
        match flow.model:
            case "tcp":
                args = f"{flow.count} {flow.control} {flow.mss} {flow.spread_s:g} {own_seed} {start} {last:g}"
                yield f"launch {sender} tcp {to} {args} {warm:g} /run/case/flows-{i} {1 if i < 3 else 0}"
            case "transfers":
                args = f"{flow.control} {flow.mss} {flow.sizes} {flow.bytes} {flow.times_s[0]:.9f}"
                yield f"launch {sender} transfers {to} {args} {own_seed} {start} {last:g}"
            case "onoff":
                args = f"{flow.count} {flow.bytes} {flow.rate_bps:.0f} {flow.times_s[0]:g} {flow.times_s[1]:g}"
                yield f"launch {sender} onoff {to} {args} {own_seed} {start} {last:g}"
            case _:
                args = f"{flow.count} {flow.bytes} {flow.rate_bps:.0f} {flow.model} {flow.wander:g}"
                yield f"launch {sender} udp {to} {args} {own_seed} {start} {last:g}"
                device = next(link.device() for link in case.links if flow.sender in link.ends)
                yield f"launch {sender} record {device} out /run/case/sent-{i} {last:g}"
    yield f"finish() {{ inspect {watched} {link.device()}; }}"


def _sysctls(flows: Sequence[Flows], hashes: bool, end_s: float) -> str:
    """Return the settings of a node; a node has one for all its connections.

    `hashes`: a discipline hashes flows; `end_s`: length of the run, seconds.
    """
    settings: dict[str, str] = {"tcp_timestamps": "0", "tcp_sack": "1", "tcp_ecn": "0"}
    seen: dict[str, set[str]] = {}
    for flow in flows:
        own = {
            "tcp_timestamps": str(int(flow.timestamps)),
            "tcp_sack": str(int(flow.sack)),
            "tcp_ecn": str(int(flow.ecn)),
        }
        # DCTCP's receiver must have DCTCP, too: it echoes marks by its own rule.
        own["tcp_congestion_control"] = flow.control
        for key, value in own.items():
            seen.setdefault(key, set()).add(value)
        settings |= own
    for key, values in seen.items():
        if len(values) > 1 and key != "tcp_congestion_control":
            raise Refused(
                f"all TCP flows of a host have one setting of {key} in Linux, not {' and '.join(sorted(values))}"
            )
    if len(seen.get("tcp_congestion_control", ())) > 1 and "dctcp" in seen["tcp_congestion_control"]:
        raise Refused("a host of Linux with DCTCP has no flows of another congestion control in this guest")
    if hashes and flows:
        # A connection has a hash of its own, which a timeout changes (`sk_rethink_txhash`). In the guest routers see
        # it (`skb_get_hash`), so that a flow would change its queue; behind a network card they hash addresses and
        # ports.
        settings["../core/txrehash"] = "0"
    if flows and end_s >= GIVES_UP_S:
        # An endless transfer does not give up (`tcp_write_timeout`). These are the largest values.
        settings |= {"tcp_syn_retries": "127", "tcp_retries2": "255"}
    return " ".join(f"{key}={value}" for key, value in settings.items())


def _disciplines(case: Case, node: str) -> Iterator[str]:
    """Yield the commands of tc for the devices of a node."""
    # The kernel counts the Ethernet header.
    correction = case.frame_overhead - 14
    for link in case.links:
        if node not in link.ends:
            continue
        end = link.ends.index(node)
        rate = link.rates_bps[end]
        device = link.device()
        if rate:
            yield f"qdisc add dev {device} root handle 1: stab overhead {correction} htb default 1"
            size = _bucket(rate) if (link, end) == case.watched() else 1
            bucket = f"rate {rate}bit ceil {rate}bit burst {size} cburst {size} quantum 1600"
            yield f"class add dev {device} parent 1: classid 1:1 htb {bucket}"
            yield f"qdisc add dev {device} parent 1:1 handle {ROOT:x}: {link.disciplines[end]}"
            yield from (one.replace(" ", f" add dev {device} ", 1) for one in link.below[end])
        netem = _netem(case, link, node)
        if netem:
            inner = f"i{link.number}"
            yield f"qdisc add dev {device} handle ffff: ingress"
            redirect = f"matchall action mirred egress redirect dev {inner}"
            yield f"filter add dev {device} parent ffff: protocol ip prio 1 {redirect}"
            yield f"qdisc add dev {inner} root netem limit {UNLIMITED_PACKETS} {netem}"


def _bucket(rate: int) -> int:
    """Return the size of the bucket of the measured port with this rate in bit/s, bytes.

    HTB starts each transmission up to two steps of the clock late, and a bucket of one byte forgets that time: the link
    is then slower by up to 0.3 % at 100 Mbit/s. A bucket of four steps makes up for it with the next packet.
    """
    step = CLOCK_S * rate / 8
    return math.ceil(4 * step) if step > SLOW * 1500 else 1


def _netem(case: Case, link: Link, node: str) -> str:
    """Return the parameters of netem for the packets that a node receives from a link; empty: none are needed."""
    words = []
    if link.delay_s or link.jitter_s:
        words.append(f"delay {(link.delay_s + link.jitter_s / 2) * 1e6:.3f}us")
    if link.jitter_s:
        words.append(f"{link.jitter_s / 2 * 1e6:.3f}us")
    if rate := link.rates_bps[1 - link.ends.index(node)]:
        # A packet is received when its transmission ends; the kernel counts the Ethernet header.
        words.append(f"rate {rate}bit {case.frame_overhead - 14}")
    if link.loss:
        words.append(f"loss {100 * link.loss:g}%")
    return " ".join(words)
