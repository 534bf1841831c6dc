"""Report of one replication: the results of the core, and sums, means and maxima over flows and ports."""

from __future__ import annotations

import json
import math
import threading
import zlib
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Literal, cast

from tailback.results.rows import (
    ApplicationRow,
    CongestionRow,
    DropRow,
    FlowRow,
    PortRow,
    ReportData,
    TransportRow,
    VariationRow,
)

__all__ = ["Report", "jain_index"]


class _Unpacked:
    """Decompressed documents of packed reports, at most `capacity`; the one decompressed first is dropped first."""

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._reports: deque[Report] = deque()
        self._lock = threading.Lock()

    def keep(self, report: Report) -> None:
        """Add a report whose document was just decompressed; above the capacity, drop the document added first."""
        with self._lock:
            self._reports.append(report)
            if len(self._reports) > self._capacity:
                self._reports.popleft()._data = None


# Documents of packed reports in this process that are kept decompressed.
_UNPACKED = _Unpacked(8)


def jain_index(values: Sequence[float]) -> float:
    """Return Jain, Chiu and Hawe's fairness index of n values, 1/n to 1 (DEC-TR-301); NaN if all are 0."""
    squares = sum(value * value for value in values)
    return sum(values) ** 2 / (len(values) * squares) if squares else math.nan


class Report:
    """Results of one replication. `data` is the whole document; methods return rows of it, sums, means and maxima.

    The argument `flows` of methods is the name of a group or flow, or a pattern such as `s[12]` or `video*`; default:
    all flows. `ports` and `port` are names or patterns of output ports, such as `sw1->*`. Methods raise KeyError if no
    flow or port matches them. `where` is also a name or pattern of ports, but need not match any.
    """

    def __init__(self, data: ReportData) -> None:
        self._data: ReportData | None = data
        self._text: str | None = None
        self._packed: bytes | None = None
        self._seed, self._digest = data["seed"], data["digest"]

    @classmethod
    def from_json(cls, text: str) -> Report:
        """Return the report with the document that the core returned as JSON."""
        made = cls(cast(ReportData, json.loads(text)))
        made._text = text
        return made

    @property
    def data(self) -> ReportData:
        """The whole document, decompressed if the report is packed."""
        data = self._data
        if data is None:
            assert self._packed is not None, "a report without its document is packed"
            data = cast(ReportData, json.loads(zlib.decompress(self._packed)))
            self._data = data
            _UNPACKED.keep(self)
        return data

    @property
    def size(self) -> int:
        """Size of the document as JSON, characters; 0: the report was not made by `from_json`, or is packed."""
        return len(self._text or "")

    def pack(self) -> None:
        """Compress the document to about a hundredth of its size in memory; it is decompressed on access.

        A report that was not made by `from_json`, or is packed already, stays as it is.
        """
        if self._text is not None:
            self._packed = zlib.compress(self._text.encode(), 1)
            self._text = self._data = None

    def __repr__(self) -> str:
        return f"Report(seed={self.seed}, digest={self.digest!r}, packet_hops={self.data['packet_hops']})"

    @property
    def seed(self) -> int:
        """Seed of the replication: a run of the scenario with this seed gives the same digest."""
        return self._seed

    @property
    def digest(self) -> str:
        """Hash of all integer results (docs/statistics.md), after the version of the hash and a colon."""
        return self._digest

    @property
    def measured_s(self) -> float:
        """Measured time in simulated seconds, from the end of the warm-up to the end of the run."""
        return self.data["end_s"] - self.data["warmup_s"]

    def omitted(self, record: str) -> int:
        """Return the number of rows of a record, such as `transfers`, that `run.record-limit` left out.

        0 without it.
        """
        found = cast("Mapping[str, Mapping[str, int]]", self.data).get(record)
        return found["omitted"] if found else 0

    def flows(self, flows: str = "*") -> list[FlowRow]:
        """Return the rows of the flows whose group or name matches, in the order of the document."""
        found = [f for f in self.data["flows"] if _matches(f["group"], flows) or _matches(f["name"], flows)]
        if not found:
            known = ", ".join(dict.fromkeys(f["group"] for f in self.data["flows"])) or "none"
            raise KeyError(f"no flow matches {flows!r}; the groups are {known}")
        return found

    def ports(self, ports: str = "*") -> list[PortRow]:
        """Return the rows of the output ports whose name, such as `sw1->sw2`, matches, in the order of the document."""
        found = [p for p in self.data["ports"] if _matches(p["name"], ports)]
        if not found:
            raise KeyError(
                f"no port matches {ports!r}; the ports are {', '.join(p['name'] for p in self.data['ports'])}"
            )
        return found

    def offered_packets(self, flows: str = "*") -> int:
        """Return the number of packets handed to the network after the warm-up."""
        return sum(f["offered"]["packets"] for f in self.flows(flows))

    def dropped_packets(self, flows: str = "*") -> int:
        """Return the number of packets that were handed to the network after the warm-up and lost."""
        return sum(f["dropped"]["packets"] for f in self.flows(flows))

    def loss(self, flows: str = "*") -> float:
        """Return packets lost per packet handed to the network after the warm-up, 0 to 1; 0 if there was no packet."""
        offered = self.offered_packets(flows)
        return self.dropped_packets(flows) / offered if offered else 0.0

    def mean_delay_s(self, flows: str = "*") -> float:
        """Return the mean one-way delay over all delivered packets of the flows, s; NaN if no packet arrived."""
        rows = [f["delay"] for f in self.flows(flows)]
        count = sum(d["count"] for d in rows)
        total = math.fsum(d["count"] * (d["mean_s"] or 0.0) for d in rows)
        return total / count if count else math.nan

    def max_delay_s(self, flows: str = "*") -> float:
        """Return the maximum one-way delay of the delivered packets, s; NaN if no packet arrived."""
        longest = [d for f in self.flows(flows) if (d := f["delay"]["max_s"]) is not None]
        return max(longest, default=math.nan)

    def throughput_bps(self, flows: str = "*") -> float:
        """Return the delivered payload of packets generated after the warm-up, per measured second, bit/s."""
        return sum(f["delivered"]["bytes"] for f in self.flows(flows)) * 8 / self.measured_s

    def offered_bps(self, flows: str = "*") -> float:
        """Return the payload handed to the network after the warm-up, per measured second, bit/s."""
        return sum(f["offered"]["bytes"] for f in self.flows(flows)) * 8 / self.measured_s

    def transports(self, flows: str = "*") -> list[TransportRow]:
        """Return the counters of the matching flows' transports, in the order of the flows; empty if there are none."""
        return [t for f in self.flows(flows) if (t := f["transport"]) is not None]

    def goodputs_bps(self, flows: str = "*") -> list[float]:
        """Return the goodput of each matching flow, bit/s, in the order of the flows.

        Goodput is the payload that the application got in order, each byte once; for a flow without a transport, all
        delivered payload.
        """
        useful = (t["goodput_bytes"] if (t := f["transport"]) else f["delivered"]["bytes"] for f in self.flows(flows))
        return [count * 8 / self.measured_s for count in useful]

    def goodput_bps(self, flows: str = "*") -> float:
        """Return the sum of the goodputs of the matching flows, bit/s."""
        return math.fsum(self.goodputs_bps(flows))

    def jain(self, flows: str = "*") -> float:
        """Return Jain, Chiu and Hawe's fairness index of the matching flows' goodputs x: (Σx)²/(n·Σx²) (DEC-TR-301).

        It is 1 if all goodputs are equal, 1/n if one of n flows has all of the goodput, and NaN if all are zero.
        """
        return jain_index(self.goodputs_bps(flows))

    def application(self, group: str) -> ApplicationRow:
        """Return the counters of the application that drives a group of flows; raises KeyError if there is none."""
        found = self.data["applications"]
        if group not in found:
            raise KeyError(f"group {group!r} has no application; groups with one: {', '.join(found) or 'none'}")
        return found[group]

    def variation(self, group: str) -> VariationRow:
        """Return the delay variation of a group of flows; raises KeyError if it was not measured.

        It is measured with `run.delay-variation = true`, if a packet of the group arrived.
        """
        found = self.data["variation"]
        if group not in found:
            known = ", ".join(found) or "none; set `run.delay-variation = true`"
            raise KeyError(f"the delay variation of {group!r} was not measured; groups with it: {known}")
        return found[group]

    def congestion(self) -> CongestionRow:
        """Return the counters of congestion points and rate limiters; raises KeyError if the scenario has none."""
        if "congestion" not in self.data:
            raise KeyError("the scenario has neither congestion points nor rate limiters")
        return self.data["congestion"]

    def port_loss(self, port: str) -> float:
        """Return packets dropped per packet that arrived at the matching ports, 0 to 1; 0 if no packet arrived."""
        rows = [c for p in self.ports(port) for c in p["classes"]]
        arrived = sum(c["arrived"]["packets"] for c in rows)
        return sum(c["dropped"]["packets"] for c in rows) / arrived if arrived else 0.0

    def utilisation(self, port: str) -> float:
        """Return the share of the measured time, 0 to 1, in which the matching ports transmit, mean over ports."""
        found = self.ports(port)
        return math.fsum(p["utilisation"] for p in found) / len(found)

    def coloured_bytes(self, colour: Literal["green", "yellow", "red"], flows: str = "*") -> int:
        """Return the delivered payload of packets with a colour, bytes; in a scenario without meters all are green."""
        total = 0
        for flow in self.flows(flows):
            if (colours := flow["colours"]) is not None:
                total += colours[colour]["delivered"]["bytes"]
            elif colour == "green":
                total += flow["delivered"]["bytes"]
        return total

    def drops(self, flows: str = "*") -> Iterator[DropRow]:
        """Yield the losses of packets generated after the warm-up: for each flow, rows by port and reason."""
        for flow in self.flows(flows):
            yield from flow["drops"]

    def ack_drops(self, flows: str = "*") -> Iterator[DropRow]:
        """Yield the losses of acknowledgements after the warm-up: for each flow, rows by port and reason."""
        for flow in self.flows(flows):
            yield from flow.get("ack_drops", [])

    def drops_at(self, where: str, flows: str = "*") -> int:
        """Return the number of lost packets in `drops` at the ports that match `where`; 0 if no port matches."""
        return sum(d["packets"] for d in self.drops(flows) if _matches(d["where"], where))

    def drops_outside(self, where: str, flows: str = "*") -> int:
        """Return the number of lost packets in `drops` at the ports that do not match `where`."""
        return sum(d["packets"] for d in self.drops(flows) if not _matches(d["where"], where))

    def stopped_share(self, ports: str, destination: str | None = None, class_: int | None = None) -> float:
        """Return the share of the measured time, 0 to 1, in which notifications stop the ports, mean over ports.

        Stops of a port, of a class and of a destination count. With `destination` (name of a host), `class_` (number of
        a class) or both, only stops of exactly this target count: with a destination alone, stops of all its classes
        together, and not stops of one class. Time in which no data waits counts as well, unlike in `held_share`.
        """
        found = self.ports(ports)
        if destination is None and class_ is None:
            times = [p["stopped_s"] for p in found]
        else:
            stops = (stop for p in found for stop in p.get("stops", []))
            times = [s["stopped_s"] for s in stops if (s["destination"], s["class"]) == (destination, class_)]
        return math.fsum(times) / len(found) / self.measured_s

    def held_share(self, ports: str) -> float:
        """Return the share of the measured time, 0 to 1, in which data waits while the port idles, mean over ports.

        The reason may be a stop, a rate limiter, a shaper, or a link that is down.
        """
        found = self.ports(ports)
        return math.fsum(p["held_s"] for p in found) / len(found) / self.measured_s

    def max_queue_bytes(self, ports: str, class_: int | None = None) -> int:
        """Return the maximum backlog that any one class has at any of the matching ports, buffer bytes.

        With `class_`, the number of a class, only the backlog of this class counts; raises ValueError if no matching
        port has the class.
        """
        return max(
            row["max_bytes"]
            for port in self.ports(ports)
            for index, row in enumerate(port["classes"])
            if class_ is None or index == class_
        )

    def mean_queue_bytes(self, ports: str) -> float:
        """Return the time average of the backlog, buffer bytes, summed over all classes of all matching ports."""
        return math.fsum(row["mean_bytes"] for port in self.ports(ports) for row in port["classes"])


def _matches(name: str, pattern: str) -> bool:
    """Return `True` if a name equals a pattern or matches it.

    As a pattern, the name `data[1]` would match only `data1`.
    """
    return name == pattern or fnmatchcase(name, pattern)
