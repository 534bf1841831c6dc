"""Fluid model of one cycle of a queue under back-pressure, and bounds of the thresholds that do not need the model.

Times in µs, levels in kB, rates in kB of frames (without preamble and gap) per µs. All links run at one rate; `FEEDERS`
of them feed the queue and are always backlogged. The overshoot is counted in whole frames.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from tailback.bounds.headroom import CONTROL, HEADER, NS_PER_M, OVERHEAD, headroom

__all__ = ["BUFFER_KB", "FRAME_KB", "Cycle", "cycle", "needed_kb", "overflows_above_kb", "starves_below_kb"]

FEEDERS = 2
BUFFER_KB = 50.0
# Rate of each link.
RATE_BPS = 1e9
# Maximum payload of a frame, bytes.
MTU = 1500
FRAME_KB = (MTU + HEADER) / 1e3
_FRAME_US = (MTU + HEADER + OVERHEAD) * 8e6 / RATE_BPS
_RATE = FRAME_KB / _FRAME_US
"""Rate of one link, kB of frames per µs."""
_ROOM_KB = BUFFER_KB // FRAME_KB * FRAME_KB
"""Part of the buffer that whole frames can use."""


def _round_trip_us(length_km: float) -> float:
    control_us = (CONTROL + OVERHEAD) * 8e6 / RATE_BPS
    return 2 * length_km * NS_PER_M + control_us


def _overshoot_kb(length_km: float) -> float:
    """Return the rise of the queue above the high threshold, kB.

    All frames that began before the stop took effect still arrive, as whole frames. The links resume together and their
    frames arrive together, which adds one frame per feeding link but one.
    """
    frames = math.ceil(_round_trip_us(length_km) / _FRAME_US)
    return (FEEDERS - 1) * (frames + 1) * FRAME_KB


def start_loop_us(length_km: float) -> float:
    """Return the time from the low threshold to the end of the first frame, which is stored and forwarded, µs."""
    return _round_trip_us(length_km) + _FRAME_US


def needed_kb(length_km: float) -> float:
    """Return the headroom of all feeders by the formula, kB: enough for any phases of frames and any output rate."""
    return FEEDERS * headroom(RATE_BPS, MTU, length_km * 1e3 * NS_PER_M * 1e-9, response_s=0).bytes / 1e3


def starves_below_kb(length_km: float) -> float:
    """Return the low threshold, kB, below which the queue empties before the first frame arrives (network calculus)."""
    return _RATE * start_loop_us(length_km)


def overflows_above_kb(length_km: float) -> float:
    """Return the high threshold, kB, above which the queue overflows the buffer."""
    return _ROOM_KB - _overshoot_kb(length_km)


@dataclass(frozen=True, slots=True)
class Cycle:
    """Utilisation and loss of one cycle."""

    utilisation: float
    """Utilisation of the output link, %."""
    loss: float
    """Share of the arriving bytes that are lost, %."""


def cycle(high: float, low: float, length_km: float) -> Cycle:
    """Return the utilisation and loss for two thresholds in % of the buffer, `low` below `high`.

    The queue rises through `high` and overshoots it. It then falls through `low` and on for `start_loop_us`, or until
    it is empty and the output link idles; then it rises again.
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
