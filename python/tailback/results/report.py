"""One replication's report: the core's numbers, and common sums over flows and ports."""

from __future__ import annotations

import json
import math
import threading
import zlib
from collections import deque
from collections.abc import Iterator
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

__all__ = ["Report"]


class _Unpacked:
    """Cache of the packed reports that were read last, with their documents: tables read one report after the other."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._reports: deque[Report] = deque()
        self._lock = threading.Lock()

    def keep(self, report: Report) -> None:
        """Add a report, and drop the document of the oldest one."""
        with self._lock:
            self._reports.append(report)
            if len(self._reports) > self._most:
                self._reports.popleft()._data = None


_UNPACKED = _Unpacked(8)


class Report:
    """One replication. `data` is the whole document; the methods add up over flows or ports.

    Wherever a method takes `flows`, it is a group or flow name, or a pattern such as `s[12]` or `video*`; the
    default is all of them. A name that matches no flow raises KeyError.
    """

    def __init__(self, data: ReportData) -> None:
        self._data: ReportData | None = data
        self._text: str | None = None
        self._packed: bytes | None = None
        self._seed, self._digest = data["seed"], data["digest"]

    @classmethod
    def from_json(cls, text: str) -> Report:
        """Read the core's JSON."""
        made = cls(cast(ReportData, json.loads(text)))
        made._text = text
        return made

    @property
    def data(self) -> ReportData:
        """The whole document."""
        data = self._data
        if data is None:
            assert self._packed is not None, "what was let go of is packed"
            data = cast(ReportData, json.loads(zlib.decompress(self._packed)))
            self._data = data
            _UNPACKED.keep(self)
        return data

    @property
    def size(self) -> int:
        """Characters of the document as the core wrote it; 0 for one made in Python."""
        return len(self._text or "")

    def pack(self) -> None:
        """Keep the document compressed, at some hundredth of its size in Python; it is decompressed on access."""
        if self._text is not None:
            self._packed = zlib.compress(self._text.encode(), 1)
            self._text = self._data = None

    def __repr__(self) -> str:
        return f"Report(seed={self.seed}, digest={self.digest!r}, packet_hops={self.data['packet_hops']})"

    @property
    def seed(self) -> int:
        """The replication's own seed: running the scenario with it gives the same digest."""
        return self._seed

    @property
    def digest(self) -> str:
        """Versioned hash over the integers of the results."""
        return self._digest

    @property
    def measured_s(self) -> float:
        """Length of the measured part of the run in seconds."""
        return self.data["end_s"] - self.data["warmup_s"]

    def flows(self, flows: str = "*") -> list[FlowRow]:
        """Return the flows whose group or name matches."""
        found = [f for f in self.data["flows"] if _matches(f["group"], flows) or _matches(f["name"], flows)]
        if not found:
            known = ", ".join(dict.fromkeys(f["group"] for f in self.data["flows"])) or "none"
            raise KeyError(f"no flow matches {flows!r}; the groups are {known}")
        return found

    def ports(self, ports: str = "*") -> list[PortRow]:
        """Return the output ports whose name, such as `sw1->sw2`, matches."""
        found = [p for p in self.data["ports"] if _matches(p["name"], ports)]
        if not found:
            raise KeyError(
                f"no port matches {ports!r}; the ports are {', '.join(p['name'] for p in self.data['ports'])}"
            )
        return found

    def offered_packets(self, flows: str = "*") -> int:
        """Packets handed to the network."""
        return sum(f["offered"]["packets"] for f in self.flows(flows))

    def dropped_packets(self, flows: str = "*") -> int:
        """Packets lost anywhere."""
        return sum(f["dropped"]["packets"] for f in self.flows(flows))

    def loss(self, flows: str = "*") -> float:
        """Packets lost per packet handed to the network, 0 to 1; 0 when nothing was sent."""
        offered = self.offered_packets(flows)
        return self.dropped_packets(flows) / offered if offered else 0.0

    def mean_delay_s(self, flows: str = "*") -> float:
        """Mean one-way delay of the delivered packets in seconds; NaN when none arrived."""
        rows = [f["delay"] for f in self.flows(flows)]
        count = sum(d["count"] for d in rows)
        total = math.fsum(d["count"] * (d["mean_s"] or 0.0) for d in rows)
        return total / count if count else math.nan

    def max_delay_s(self, flows: str = "*") -> float:
        """Longest one-way delay of a delivered packet in seconds; NaN when none arrived."""
        longest = [d for f in self.flows(flows) if (d := f["delay"]["max_s"]) is not None]
        return max(longest, default=math.nan)

    def throughput_bps(self, flows: str = "*") -> float:
        """Payload delivered per measured second, in bit/s, of packets generated after the warm-up."""
        return sum(f["delivered"]["bytes"] for f in self.flows(flows)) * 8 / self.measured_s

    def offered_bps(self, flows: str = "*") -> float:
        """Payload handed to the network per measured second, in bit/s."""
        return sum(f["offered"]["bytes"] for f in self.flows(flows)) * 8 / self.measured_s

    def transports(self, flows: str = "*") -> list[TransportRow]:
        """Return the counters of the matching flows' transports; empty if no flow has a transport."""
        return [t for f in self.flows(flows) if (t := f["transport"]) is not None]

    def goodputs_bps(self, flows: str = "*") -> list[float]:
        """Goodput of each matching flow in bit/s: payload that reached its application in order, each byte once.

        For a flow without a transport all delivered payload counts.
        """
        useful = (t["goodput_bytes"] if (t := f["transport"]) else f["delivered"]["bytes"] for f in self.flows(flows))
        return [count * 8 / self.measured_s for count in useful]

    def goodput_bps(self, flows: str = "*") -> float:
        """The goodput of all matching flows together, in bit/s."""
        return math.fsum(self.goodputs_bps(flows))

    def jain(self, flows: str = "*") -> float:
        """Jain, Chiu and Hawe's fairness index of the matching flows' goodputs x, (Σx)²/(n·Σx²) (DEC-TR-301, 1984).

        It is 1 when all are equal and 1/n if one of n has everything; NaN if all are zero.
        """
        rates = self.goodputs_bps(flows)
        squares = sum(rate * rate for rate in rates)
        return sum(rates) ** 2 / (len(rates) * squares) if squares else math.nan

    def application(self, group: str) -> ApplicationRow:
        """Return the counters of an application, by its group's name."""
        found = self.data["applications"]
        if group not in found:
            raise KeyError(f"no application is named {group!r}; there are {', '.join(found) or 'none'}")
        return found[group]

    def variation(self, group: str) -> VariationRow:
        """Return the delay variation of a group of flows; only for runs with `delay-variation`."""
        found = self.data["variation"]
        if group not in found:
            known = ", ".join(found) or "no group; set `run.delay-variation = true`"
            raise KeyError(f"the variation of {group!r} was not measured, but that of {known}")
        return found[group]

    def congestion(self) -> CongestionRow:
        """Return the counters of congestion points and rate limiters; KeyError if there are none."""
        if "congestion" not in self.data:
            raise KeyError("the scenario has neither congestion points nor rate limiters")
        return self.data["congestion"]

    def port_loss(self, port: str) -> float:
        """Packets dropped per packet that arrived at the matching ports, 0 to 1; 0 when none arrived."""
        rows = [c for p in self.ports(port) for c in p["classes"]]
        arrived = sum(c["arrived"]["packets"] for c in rows)
        return sum(c["dropped"]["packets"] for c in rows) / arrived if arrived else 0.0

    def utilisation(self, port: str) -> float:
        """Share of the measured time, 0 to 1, during which the matching ports transmitted, on average."""
        found = self.ports(port)
        return math.fsum(p["utilisation"] for p in found) / len(found)

    def coloured_bytes(self, colour: Literal["green", "yellow", "red"], flows: str = "*") -> int:
        """Payload delivered with a colour by the matching flows; all of it is green without meters."""
        total = 0
        for flow in self.flows(flows):
            if (colours := flow["colours"]) is not None:
                total += colours[colour]["delivered"]["bytes"]
            elif colour == "green":
                total += flow["delivered"]["bytes"]
        return total

    def drops(self, flows: str = "*") -> Iterator[DropRow]:
        """Yield each flow's drops by place and reason."""
        for flow in self.flows(flows):
            yield from flow["drops"]

    def ack_drops(self, flows: str = "*") -> Iterator[DropRow]:
        """Yield the acknowledgements lost after the warm-up, by place and reason, of each flow with a transport."""
        for flow in self.flows(flows):
            yield from flow.get("ack_drops", [])

    def drops_at(self, where: str, flows: str = "*") -> int:
        """Packets lost at the ports that match `where`."""
        return sum(d["packets"] for d in self.drops(flows) if _matches(d["where"], where))

    def drops_outside(self, where: str, flows: str = "*") -> int:
        """Packets lost anywhere but at the ports that match `where`."""
        return sum(d["packets"] for d in self.drops(flows) if not _matches(d["where"], where))

    def stopped_share(self, ports: str, destination: str | None = None, class_: int | None = None) -> float:
        """Share of the measured time, 0 to 1, for which a stop was in force at the matching ports, on average.

        Of any scope; or, with a destination or a class or both, of notifications with exactly that scope. It counts
        also while no data waits: see `held_share`.
        """
        found = self.ports(ports)
        if destination is None and class_ is None:
            times = [p["stopped_s"] for p in found]
        else:
            stops = (stop for p in found for stop in p.get("stops", []))
            times = [s["stopped_s"] for s in stops if (s["destination"], s["class"]) == (destination, class_)]
        return math.fsum(times) / len(found) / self.measured_s

    def held_share(self, ports: str) -> float:
        """Share of the measured time, 0 to 1, in which data waited while the transmitter idled, on average.

        For any reason: a stop, a rate limiter, a shaper, or a link that is down.
        """
        found = self.ports(ports)
        return math.fsum(p["held_s"] for p in found) / len(found) / self.measured_s

    def max_queue_bytes(self, ports: str, class_: int | None = None) -> int:
        """Longest queue of the matching ports, of one class or of any, in buffer bytes."""
        return max(
            row["max_bytes"]
            for port in self.ports(ports)
            for index, row in enumerate(port["classes"])
            if class_ is None or index == class_
        )

    def mean_queue_bytes(self, ports: str) -> float:
        """Mean bytes waiting at the matching ports, all classes and ports added up."""
        return math.fsum(row["mean_bytes"] for port in self.ports(ports) for row in port["classes"])


def _matches(name: str, pattern: str) -> bool:
    """`True` if a name is the pattern itself, or fits it: `data[1]` is also the name of a flow."""
    return name == pattern or fnmatchcase(name, pattern)
