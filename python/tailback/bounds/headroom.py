"""PAUSE and PFC headroom: bytes of buffer above the high threshold that prevent loss, as a sum of terms."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from tailback.errors import UsageError

__all__ = ["NS_PER_M", "Headroom", "Term", "headroom", "pfc_headroom", "response_time_s"]

Counts = Literal["frame", "wire"]
"""Bytes that a buffer counts: those of frames, or with preamble and gap."""

HEADER = 18
"""Bytes that Ethernet adds to the payload: addresses, type and frame check sequence."""
OVERHEAD = 20
"""Bytes of preamble and gap between frames."""
CONTROL = 64
"""Bytes of a PAUSE or PFC frame."""
NS_PER_M = 5
"""Propagation in fibre and copper, nanoseconds per metre."""
QUANTUM_BITS = 512
"""Pause quantum, bit times."""

_REACTION_QUANTA = ((100e6, 1), (1e9, 2), (10e9, 60), (25e9, 80), (40e9, 118), (100e9, 394))
"""Pairs of a rate, bit/s, and the longest reaction time of IEEE 802.3 Annex 31B up to this rate, pause quanta."""


@dataclass(frozen=True, slots=True)
class Term:
    """One term of the headroom."""

    name: str
    """Cause of the bytes."""
    bytes: int
    """Value of the term, bytes."""
    formula: str
    """Formula of the term, as text."""


@dataclass(frozen=True, slots=True)
class Headroom:
    """Bytes that may arrive from one link after the buffer's high threshold is exceeded."""

    terms: Sequence[Term]
    source: str
    """Origin of the formula."""

    @property
    def bytes(self) -> int:
        """Sum of the terms, bytes for each link that feeds the buffer."""
        return sum(term.bytes for term in self.terms)


def response_time_s(rate_bps: float) -> float:
    """Return the longest reaction time that IEEE 802.3 Annex 31B permits at a rate in bit/s, seconds.

    Raises UsageError above 100 Gbit/s.
    """
    for highest, quanta in _REACTION_QUANTA:
        if rate_bps <= highest:
            return quanta * QUANTUM_BITS / rate_bps
    raise UsageError("IEEE 802.3 limits the reaction time for rates up to 100 Gbit/s; set --response-time")


def headroom(
    rate_bps: float,
    mtu: int,
    delay_s: float,
    response_s: float | None = None,
    interface_s: float = 0.0,
    counts: Counts = "frame",
) -> Headroom:
    """Return the headroom in the worst case: the threshold is exceeded just after frames have begun in both directions.

    Args:
        rate_bps: Rate of the feeding link, bit/s.
        mtu: Largest payload in bytes, the same in both directions.
        delay_s: Propagation delay, one way, seconds.
        response_s: Time from the complete reception of the notification to its effect, seconds; default: the longest
            that the standard permits at the rate.
        interface_s: Sum of all further delays of the interfaces in both directions, seconds.
        counts: Bytes that the buffer counts: "frame", or "wire" for frames with preamble and gap.

    Raises:
        UsageError: `response_s` is absent, and the rate is above 100 Gbit/s.

    """
    frame = mtu + HEADER
    response_s = response_time_s(rate_bps) if response_s is None else response_s

    def time(seconds: float) -> int:
        # A product that should be an integer may be slightly above it.
        return math.ceil(rate_bps * seconds / 8 - 1e-6)

    last = frame + (OVERHEAD if counts == "wire" else 0)
    last_formula = "L_s + 20" if counts == "wire" else "L_s (the buffer does not count preamble and gap)"
    terms = (
        Term("round trip on the cable", time(2 * delay_s), "R · 2τ / 8"),
        Term("response time", time(response_s), "R · t_r / 8"),
        Term("interface delays", time(interface_s), "R · t_i / 8"),
        Term("frame that crosses the threshold", frame, "L_x"),
        Term("frame being sent on the reverse way", frame + OVERHEAD, "L_r + 20"),
        Term("notification", CONTROL + OVERHEAD, "64 + 20"),
        Term("frame just begun by the peer", last, last_formula),
    )
    return Headroom(terms, "worst case, all frames of the largest size")


def pfc_headroom(rate_bps: float, mtu: int, length_m: float) -> Headroom:
    """Return the headroom by the short formula that vendors publish for PFC.

    `rate_bps` is the rate of the link in bit/s, `mtu` the largest frame in bytes (not the largest payload as in
    `headroom`), and `length_m` the length of the cable in metres.
    """
    cable = math.ceil(130 * length_m / 100 * rate_bps / 1e9 - 1e-6)
    terms = (
        Term("largest frame of the peer", mtu, "MTU_s"),
        Term("largest frame sent", mtu, "MTU_r"),
        Term("response time", 3840, "60 quanta · 64 B"),
        Term("cable", cable, "130 B per 100 m and Gbit/s"),
    )
    return Headroom(terms, "published short form for PFC")
