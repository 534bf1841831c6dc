"""Fluid model of one cycle of a queue under back-pressure, and bounds of the thresholds that do not need the model.

`FEEDERS` links feed the queue and are always backlogged; one link drains it. All links have the same rate and the same
length. Times are in µs and queue lengths in kB of frames, without preamble and gap. The queue is a fluid, except that
its overshoot is counted in whole frames.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from tailback.bounds.headroom import CONTROL, HEADER, NS_PER_M, OVERHEAD, headroom

__all__ = ["BUFFER_KB", "FRAME_KB", "Cycle", "cycle", "needed_kb", "overflows_above_kb", "starves_below_kb"]

FEEDERS = 2
BUFFER_KB = 50.0
"""Buffer of the queue, kB."""
RATE_BPS = 1e9
"""Rate of each link, bit/s, including preamble and gap."""
MTU = 1500
"""Largest payload of a frame, bytes; all frames have it."""
FRAME_KB = (MTU + HEADER) / 1e3
"""Size of each frame, kB."""
_FRAME_US = (MTU + HEADER + OVERHEAD) * 8e6 / RATE_BPS
"""Transmission time of a frame with preamble and gap, µs."""
_RATE = FRAME_KB / _FRAME_US
"""Rate of each link, kB of frames per µs."""
_ROOM_KB = BUFFER_KB // FRAME_KB * FRAME_KB
"""Part of the buffer that whole frames can use, kB."""


def _control_loop_us(length_km: float) -> float:
    """Return the time from the crossing of a threshold until its effect reaches the queue, µs.

    It is the transmission time of the control frame, and the propagation over `length_km` in both directions.
    """
    control_us = (CONTROL + OVERHEAD) * 8e6 / RATE_BPS
    # ns per m equal µs per km.
    return 2 * length_km * NS_PER_M + control_us


def _overshoot_kb(length_km: float) -> float:
    """Return the highest rise of the queue above the high threshold, kB.

    Each feeding link delivers the frames that it began before the stop took effect, as whole frames, and the output
    link sends as many as one feeding link delivers. The feeding links resume together, so that their frames arrive
    together; this adds one frame for each feeding link except one.
    """
    frames = math.ceil(_control_loop_us(length_km) / _FRAME_US)
    return (FEEDERS - 1) * (frames + 1) * FRAME_KB


def start_loop_us(length_km: float) -> float:
    """Return the time from the crossing of the low threshold to the complete reception of the first new frame, µs.

    The reception must be complete because the frame is stored before it is forwarded.
    """
    return _control_loop_us(length_km) + _FRAME_US


def needed_kb(length_km: float) -> float:
    """Return the headroom that all feeding links together need, kB, with a response time of 0.

    It is the worst case of `tailback.bounds.headroom`, which holds for any phases of frames and any output rate.
    """
    return FEEDERS * headroom(RATE_BPS, MTU, length_km * 1e3 * NS_PER_M * 1e-9, response_s=0).bytes / 1e3


def starves_below_kb(length_km: float) -> float:
    """Return the low threshold, kB, below which the queue empties before the first new frame has arrived.

    It is the rate of the output link times `start_loop_us` (network calculus).
    """
    return _RATE * start_loop_us(length_km)


def overflows_above_kb(length_km: float) -> float:
    """Return the high threshold, kB, above which the overshoot exceeds the buffer and frames are lost."""
    return _ROOM_KB - _overshoot_kb(length_km)


@dataclass(frozen=True, slots=True)
class Cycle:
    """Utilisation and loss over one cycle of the queue, from one crossing of the low threshold to the next."""

    utilisation: float
    """Utilisation of the output link, %."""
    loss: float
    """Share of the bytes arriving in the cycle that are lost, %."""


def cycle(high: float, low: float, length_km: float) -> Cycle:
    """Return the utilisation and loss for two thresholds in % of the buffer, `low` below `high`.

    The queue rises through `high` and overshoots it; bytes that the buffer cannot hold are lost. It then falls through
    `low`, and begins to rise `start_loop_us` later. If it is empty before that, the output link idles meanwhile.
    """
    high_kb, low_kb = BUFFER_KB * high / 100, BUFFER_KB * low / 100
    rise = (FEEDERS - 1) * _RATE
    start = start_loop_us(length_km)
    turn = high_kb + _overshoot_kb(length_km)
    peak = min(turn, _ROOM_KB)
    idle = max(0.0, start - low_kb / _RATE)
    least = max(0.0, low_kb - _RATE * start)
    sending = (turn - least) / rise
    period = sending + (peak - low_kb) / _RATE + start
    return Cycle(100 * (1 - idle / period), 100 * (turn - peak) / (FEEDERS * _RATE * sending))
