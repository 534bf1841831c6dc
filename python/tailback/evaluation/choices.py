"""Choices of the evaluation: every number that RFC 7928 recommends, permits or leaves to the tester, in one place."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Generic, Literal, TypeVar

__all__ = ["CHOICES", "HERE", "Choice", "Length", "ProfileName", "flows_at", "length_of", "packets_of_delay"]

T = TypeVar("T")

ProfileName = Literal["quick", "full"]
"""Effort of an evaluation."""

HERE = "chosen here"
"""Source of a choice that the RFC leaves to the tester."""

CHOICES: list[Choice[object]] = []
"""All choices, in the order of the page."""


@dataclass(frozen=True, slots=True)
class Choice(Generic[T]):
    """A value with its source."""

    name: str
    value: T
    unit: str
    """Unit; empty for texts that have one, and for words."""
    source: str
    """Section of RFC 7928, or `HERE` with the reason."""

    @property
    def text(self) -> str:
        """Value with its unit."""
        shown = ", ".join(map(str, self.value)) if isinstance(self.value, tuple) else str(self.value)
        return f"{shown} {self.unit}".rstrip()


def _choice(name: str, value: T, unit: str, source: str) -> Choice[T]:
    made = Choice(name, value, unit, source)
    CHOICES.append(made)  # type: ignore[arg-type]
    return made


TOPOLOGY = _choice(
    "topology",
    "dumbbell: hosts of each class of flows - router L - bottleneck - router R - hosts",
    "",
    "section 3.1, figure 1",
)
CAPACITY = _choice(
    "capacity of the bottleneck", 10, "Mbit/s", f"{HERE}: the lower of the two capacities of section 8.2.6"
)
FAST_CAPACITY = _choice("higher capacity of section 8.2.6", 100, "Mbit/s", "section 8.2.6")
RTT = _choice("round-trip time without queueing", 100, "ms", "section 6.2: flows of category I")
PACKET = _choice("packet of TCP, with headers of TCP and IP, without framing", 1500, "B", HERE)
BUFFER = _choice(
    "buffer at the bottleneck, in bandwidth-delay products",
    1.0,
    "",
    "section 3.2: one BDP; with varying capacity, that of the higher one",
)
ACCESS = _choice("capacity of the access links", 1000, "Mbit/s", f"{HERE}: no congestion outside the bottleneck")
JITTER = _choice(
    "random delay per packet on the senders' access links, at most",
    1.2,
    "ms",
    f"{HERE}: one packet time at 10 Mbit/s, against phase effects (Floyd and Jacobson, 1992)",
)
FRIENDLY = _choice("TCP-friendly congestion control", "reno", "", "section 3.3: NewReno with SACK (RFC 5681)")
AGGRESSIVE = _choice("aggressive congestion control", "cubic", "", "section 3.3: CUBIC")
SCAVENGER = _choice("less-than-best-effort congestion control", "ledbat", "", "section 3.3: LEDBAT (RFC 6817)")
RECOVERY = _choice(
    "loss recovery of all TCP flows", "SACK, RACK-TLP, proportional rate reduction", "", f"{HERE}: defaults of Linux"
)
WINDOW = _choice("initial window", 10, "segments", "section 5.1.1")
WINDOWS = _choice("initial windows of the application-limited flow", (3, 10), "segments", "section 5.1.2")
TRANSFER = _choice(
    "transfer of the application-limited flow",
    50,
    "segments",
    "section 5.1.2: more than 10 and fewer than 100 packets; the number within the range is chosen here",
)
TRANSFER_GAP = _choice(
    "mean time between these transfers (Poisson process)", 5, "s", f"{HERE}: several values of each run"
)
UNRESPONSIVE = _choice(
    "rate of the unresponsive flow",
    12,
    "Mbit/s",
    "section 5.3: above the capacity of the bottleneck; the number is chosen here",
)
RTTS = _choice(
    "round-trip times of the flow of category II",
    (5, 50, 200, 560),
    "ms",
    "section 6.2: 5 ms to 560 ms; the points are chosen here",
)
PAGE_OBJECTS = _choice("objects of a web page", 50, "", "section 7.2: at least 50")
OBJECT = _choice(
    "size of an object, uniform",
    ("1kB", "29kB"),
    "",
    "section 7.2: at least 1 kB; the mean, about one initial window, is chosen here",
)
PARALLEL = _choice("parallel connections of a web page", 6, "", "section 7.2")
THINK = _choice("mean time between two pages, exponential", 1, "s", HERE)
CBR = _choice("rate of the constant bit rate flow", 1, "Mbit/s", HERE)
VIDEO = _choice("rate of the bursty video, 30 frames per second, each a burst", 1.5, "Mbit/s", HERE)
CHUNK = _choice("video over TCP: size of a segment", "375kB", "", f"{HERE}: 2 s of 1.5 Mbit/s")
CHUNK_GAP = _choice("video over TCP: time from a segment to the next request", 1, "s", HERE)
VOICE = _choice("packet of a call each 20 ms, with RTP, UDP and IP headers", 200, "B", f"{HERE}: G.711")
MILD, MEDIUM, HEAVY = (
    _choice(f"loss of drop-tail at {name} congestion", loss, "", f"section {section}: N = S sqrt(loss / 0.76)")
    for name, loss, section in (("mild", 0.001, "8.2.2"), ("medium", 0.005, "8.2.3"), ("heavy", 0.01, "8.2.4"))
)
PHASE = _choice("phase of a congestion level, and slow phase of the capacity", 20, "s", "sections 8.2.5 and 8.2.6")
FAST_PHASE = _choice("fast phase of the capacity", 0.1, "s", "section 8.2.6")
BUFFERS = _choice(
    "buffers of the sensitivity rows, in bandwidth-delay products",
    (0.2, 0.5, 2.0, 10.0),
    "",
    f"{HERE}; section 3.2 names the buffer as a parameter",
)
SENSITIVE_RTTS = _choice("round-trip times of the sensitivity rows", (20, 500), "ms", HERE)
LOADS = _choice("flows of the sensitivity row of the load", (50,), "", HERE)
FACTORS = _choice("factors of each numeric parameter", (0.5, 2.0), "", f"{HERE}; section 8.3 requires an analysis")
CLOUD = _choice("interval of one point of a delay-goodput graph", 1, "s", HERE)
SAMPLE = _choice(
    "sampling interval of the series, for loss synchronisation and the graphs",
    100,
    "ms",
    f"{HERE}: one round-trip time",
)
CONFIDENCE = _choice("confidence of all intervals", 0.95, "", HERE)


@dataclass(frozen=True, slots=True)
class Length:
    """Effort of a profile."""

    duration_s: int
    """Length of a run, s, warm-up included; a section may need a longer one."""
    warmup_s: int
    """Initial part of a run that is not measured, s."""
    replications: int
    """Number of replications of the first round, at least 2."""
    max_replications: int
    """Maximum number of replications."""


_LENGTHS: dict[ProfileName, Length] = {"quick": Length(60, 20, 8, 16), "full": Length(300, 60, 10, 60)}


def length_of(profile: ProfileName) -> Length:
    """Return the effort of a profile."""
    return _LENGTHS[profile]


def packets_of_delay(rate_mbps: float, rtt_ms: float) -> int:
    """Return the bandwidth-delay product in packets of `PACKET`, rounded to the nearest number, at least 1."""
    return max(round(rate_mbps * 1e6 * rtt_ms * 1e-3 / 8 / PACKET.value), 1)


def flows_at(loss: float) -> int:
    """Return the number of bulk flows N at which drop-tail would lose the share `loss`: 0.76·N²/S² (section 8.2.1).

    S is the sum of the bandwidth-delay product and the buffer, in packets.
    """
    bdp = packets_of_delay(CAPACITY.value, RTT.value)
    total = bdp + max(round(BUFFER.value * bdp), 1)
    return max(round(total * math.sqrt(loss / 0.76)), 1)
