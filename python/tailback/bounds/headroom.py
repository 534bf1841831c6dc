"""Headroom for PAUSE and PFC: the buffer above the high threshold that prevents loss, as a sum of terms in bytes.

headroom(10e9, mtu=1500, delay_s=0.5e-6).bytes  # of one link of 10 Gbit/s and 100 m
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from tailback.errors import UsageError

__all__ = ["NS_PER_M", "Headroom", "Term", "headroom", "pfc_headroom", "response_time_s"]

Counts = Literal["frame", "wire"]
"""Bytes that a buffer counts: "frame", those of frames, or "wire", preamble and gap as well."""

HEADER = 18
"""Bytes that Ethernet adds to the payload in a frame: addresses, type and frame check sequence."""
OVERHEAD = 20
"""Bytes of preamble and interframe gap of each frame."""
CONTROL = 64
"""Bytes of a PAUSE or PFC frame, without preamble and gap."""
NS_PER_M = 5
"""Propagation delay in fibre and copper, nanoseconds per metre."""
QUANTUM_BITS = 512
"""Pause quantum, bit times."""

_RESPONSE_QUANTA = ((100e6, 1), (1e9, 2), (10e9, 60), (25e9, 80), (40e9, 118), (100e9, 394))
"""Pairs of a rate, bit/s, and the longest response time of IEEE 802.3 Annex 31B up to this rate, pause quanta."""

_PFC_HIGHEST_BPS = 10e9
"""Highest rate at which the response time of the short formula for PFC is sufficient, bit/s."""


@dataclass(frozen=True, slots=True)
class Term:
    """One term of the headroom."""

    name: str
    """Cause of the bytes."""
    bytes: int
    """Value of the term, bytes, rounded up."""
    formula: str
    """Formula of the term, as text.

    R is the rate in bit/s, τ the propagation delay in one direction, t_r the response time and t_i the delays of the
    interfaces, in s; L_x, L_r and L_s, or MTU_r and MTU_s, are lengths of frames in bytes.
    """


@dataclass(frozen=True, slots=True)
class Headroom:
    """Bytes that may arrive from one link after the queue has exceeded its high threshold."""

    terms: Sequence[Term]
    """Terms of the sum."""
    source: str
    """Origin of the formula."""

    @property
    def bytes(self) -> int:
        """Sum of the terms, bytes for each link that feeds the buffer."""
        return sum(term.bytes for term in self.terms)


def response_time_s(rate_bps: float) -> float:
    """Return the longest response time that IEEE 802.3 Annex 31B permits at a rate in bit/s, seconds.

    The response time is that from the complete reception of a PAUSE frame to its effect. Raises UsageError above 100
    Gbit/s, where the limit is not known here.
    """
    for highest, quanta in _RESPONSE_QUANTA:
        if rate_bps <= highest:
            return quanta * QUANTUM_BITS / rate_bps
    raise UsageError("the longest response time of IEEE 802.3 is known here up to 100 Gbit/s only; set --response-time")


def headroom(
    rate_bps: float,
    mtu: int,
    delay_s: float,
    response_s: float | None = None,
    interface_s: float = 0.0,
    counts: Counts = "frame",
) -> Headroom:
    """Return the headroom for one link in the worst case, in which frames have just begun in both directions.

    Args:
        rate_bps: Rate of the feeding link, bit/s.
        mtu: Largest payload in bytes, the same in both directions.
        delay_s: Propagation delay in one direction, seconds.
        response_s: Response time of the peer, seconds. Default: the longest that the standard permits at the rate.
        interface_s: Sum of all further delays of the interfaces in both directions, seconds.
        counts: Bytes that the buffer counts: "frame", or "wire" for frames with preamble and gap.

    Raises:
        UsageError: `response_s` is `None`, and the rate is above 100 Gbit/s.

    """
    frame = mtu + HEADER
    response_s = response_time_s(rate_bps) if response_s is None else response_s

    def sent_in(seconds: float) -> int:
        # By rounding, a product that should be an integer may be slightly above it.
        return math.ceil(rate_bps * seconds / 8 - 1e-6)

    last = frame + (OVERHEAD if counts == "wire" else 0)
    last_formula = "L_s + 20" if counts == "wire" else "L_s (the buffer does not count preamble and gap)"
    terms = (
        Term("round trip on the cable", sent_in(2 * delay_s), "R · 2τ / 8"),
        Term("response time", sent_in(response_s), "R · t_r / 8"),
        Term("interface delays", sent_in(interface_s), "R · t_i / 8"),
        Term("frame that crosses the threshold", frame, "L_x"),
        Term("frame being sent on the reverse way", frame + OVERHEAD, "L_r + 20"),
        Term("notification", CONTROL + OVERHEAD, "64 + 20"),
        Term("frame just begun by the peer", last, last_formula),
    )
    return Headroom(terms, "worst case, all frames of the largest size")


def pfc_headroom(rate_bps: float, mtu: int, length_m: float) -> Headroom:
    """Return the headroom by the short formula that vendors publish for PFC.

    Its response time is 60 quanta, the longest at 10 Gbit/s. Up to 1 Gbit/s, the response time is at most 2 quanta, and
    the result is too large.

    Args:
        rate_bps: Rate of the link, bit/s.
        mtu: Largest frame in bytes; for `headroom`, in contrast, it is the largest payload.
        length_m: Length of the cable, metres.

    Raises:
        UsageError: The rate is above 10 Gbit/s, where 60 quanta are too few.

    """
    if rate_bps > _PFC_HIGHEST_BPS:
        raise UsageError("the short formula for PFC holds up to 10 Gbit/s only; leave out --pfc")
    cable = math.ceil(130 * length_m / 100 * rate_bps / 1e9 - 1e-6)
    terms = (
        Term("largest frame of the peer", mtu, "MTU_s"),
        Term("largest frame sent", mtu, "MTU_r"),
        Term("response time", 3840, "60 quanta · 64 B"),
        Term("cable", cable, "130 B per 100 m and Gbit/s"),
    )
    return Headroom(terms, "published short form for PFC")
