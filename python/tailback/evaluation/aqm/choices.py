"""Choices of the evaluation by RFC 7928: every number that it recommends, permits or leaves to the tester."""

from __future__ import annotations

import math

from tailback.evaluation.choice import HERE, SHARED, Choice, Choices
from tailback.evaluation.network import packets_of_delay

__all__ = ["CHOICES", "flows_at"]

_OWN = Choices()

TOPOLOGY = _OWN.add(
    "topology",
    "dumbbell: hosts of each class of flows - router L - bottleneck - router R - hosts",
    "",
    "section 3.1, figure 1",
)
CAPACITY = _OWN.add(
    "capacity of the bottleneck", 10, "Mbit/s", f"{HERE}: the lower of the two capacities of section 8.2.6"
)
FAST_CAPACITY = _OWN.add("higher capacity of section 8.2.6", 100, "Mbit/s", "section 8.2.6")
RTT = _OWN.add("round-trip time without queueing", 100, "ms", "section 6.2: flows of category I")
BUFFER = _OWN.add(
    "buffer at the bottleneck, in bandwidth-delay products",
    1.0,
    "",
    "section 3.2: one BDP, the same in all tests; with varying capacity, that of the higher one",
)
FRIENDLY = _OWN.add("TCP-friendly congestion control", "reno", "", "section 3.3: NewReno with SACK (RFC 5681)")
AGGRESSIVE = _OWN.add("aggressive congestion control", "cubic", "", "section 3.3: CUBIC")
SCAVENGER = _OWN.add("less-than-best-effort congestion control", "ledbat", "", "section 3.3: LEDBAT (RFC 6817)")
RECOVERY = _OWN.add(
    "loss recovery of all TCP flows", "SACK, RACK-TLP, proportional rate reduction", "", f"{HERE}: defaults of Linux"
)
WINDOW = _OWN.add("initial window", 10, "segments", f"section 7.2 for web pages; {HERE} for all others (RFC 6928)")
SINGLE_WINDOW = _OWN.add("initial window of the single flow", 3, "segments", "section 5.1.1")
WINDOWS = _OWN.add("initial windows of the application-limited flow", (3, 10), "segments", "section 5.1.2")
TRANSFER = _OWN.add(
    "transfer of the application-limited flow",
    50,
    "segments",
    "section 5.1.2: more than 10 and fewer than 100 packets; the number within the range is chosen here",
)
TRANSFER_GAP = _OWN.add(
    "mean time between these transfers (Poisson process)", 5, "s", f"{HERE}: several values of each run"
)
UNRESPONSIVE = _OWN.add(
    "rate of the unresponsive flow alone",
    12,
    "Mbit/s",
    "section 5.3: above the capacity of the bottleneck; the number is chosen here",
)
BESIDE = _OWN.add(
    "rate of the unresponsive flow beside TCP",
    7.5,
    "Mbit/s",
    "section 5.3: above half of the capacity and not above it; the number is chosen here",
)
SCAVENGER_TARGET = _OWN.add("target delay of LEDBAT", 5, "ms", "section 5.4")
SCAVENGER_GAIN = _OWN.add(
    "gain of LEDBAT", 1, "", f"{HERE}: section 5.4 recommends 10, and RFC 6817 section 2.5 allows at most 1"
)
SMALL = _OWN.add("smaller packets", 500, "B", "section 4.4")
RTTS = _OWN.add(
    "round-trip times of the flow of category II",
    (5, 50, 200, 560),
    "ms",
    "section 6.2: 5 ms to 560 ms; the points are chosen here",
)
PAGE_OBJECTS = _OWN.add("objects of a web page", 50, "", "section 7.2: at least 50")
OBJECT = _OWN.add(
    "size of an object, uniform",
    ("1kB", "29kB"),
    "",
    "section 7.2: at least 1 kB; the mean, about one initial window, is chosen here",
)
PARALLEL = _OWN.add("parallel connections of a web page", 6, "", "section 7.2")
THINK = _OWN.add("mean time between two pages, exponential", 1, "s", HERE)
CBR = _OWN.add("rate of the constant bit rate flow", 1, "Mbit/s", HERE)
VIDEO = _OWN.add("rate of the bursty video, 30 frames per second, each a burst", 1.5, "Mbit/s", HERE)
CHUNK = _OWN.add("video over TCP: size of a segment", "375kB", "", f"{HERE}: 2 s of 1.5 Mbit/s")
CHUNK_GAP = _OWN.add("video over TCP: time from a segment to the next request", 1, "s", HERE)
VOICE = _OWN.add("packet of a call each 20 ms, with RTP, UDP and IP headers", 200, "B", f"{HERE}: G.711")
MILD, MEDIUM, HEAVY = (
    _OWN.add(f"loss of drop-tail at {name} congestion", loss, "", f"section {section}: N = S sqrt(loss / 0.76)")
    for name, loss, section in (("mild", 0.001, "8.2.2"), ("medium", 0.005, "8.2.3"), ("heavy", 0.01, "8.2.4"))
)
PHASE = _OWN.add("phase of a congestion level, and slow phase of the capacity", 20, "s", "sections 8.2.5 and 8.2.6")
FAST_PHASE = _OWN.add("fast phase of the capacity", 0.1, "s", "section 8.2.6")
BUFFERS = _OWN.add(
    "buffers of the sensitivity rows, in bandwidth-delay products",
    (0.2, 0.5, 2.0, 10.0),
    "",
    f"{HERE}; section 3.2 names the buffer as a parameter",
)
SENSITIVE_RTTS = _OWN.add("round-trip times of the sensitivity rows", (20, 500), "ms", HERE)
LOADS = _OWN.add("flows of the sensitivity row of the load", (50,), "", HERE)
FACTORS = _OWN.add("factors of each numeric parameter", (0.5, 2.0), "", f"{HERE}; section 8.3 requires an analysis")
CHOICES: tuple[Choice[object], ...] = (*_OWN.rows, *SHARED.rows)
"""All choices, in the order of the page."""


def flows_at(loss: float) -> int:
    """Return the number of bulk flows N at which drop-tail would lose the share `loss`: 0.76·N²/S² (section 8.2.1).

    S is the sum of the bandwidth-delay product and the buffer, in packets.
    """
    bdp = packets_of_delay(CAPACITY.value, RTT.value)
    total = bdp + max(round(BUFFER.value * bdp), 1)
    return max(round(total * math.sqrt(loss / 0.76)), 1)
