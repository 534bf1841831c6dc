"""Arrivals of the packet-by-packet comparison with the kernel: one rule, from which both programs get the same packets.

`Replay` is the traffic source of a flow on Tailback's side; replay.py writes the same arrivals to a file for the guest.
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass
from functools import cache

import tailback

FLOWS = 6
"""Number of flows."""
RATE_BPS = 31_250_000
"""Rate of the link or shaper behind which the packets wait, bit/s: 256 ns per byte, a step of the guest's clock."""
GRID_NS = 512
"""All times of arrivals are multiples, nanoseconds; all sizes are even, and buckets have an odd number of bytes.

So packets that wait leave between two multiples: no packet arrives at the instant of a departure."""
GAP_NS = 4 * GRID_NS
"""Smallest time between two arrivals, nanoseconds."""
SHARES = (0.08, 0.27, 0.25, 0.20, 0.02, 0.18)
"""Part of each flow in the bytes."""
LOADS = (0.5, 1.3, 0.0, 2.5, 0.9, 1.6, 0.2, 1.1)
"""Load of each phase, as a fraction of `RATE_BPS`; without arrivals in the third phase, the queue runs empty."""
BUSY = (1.4, 1.8, 1.3, 2.2, 1.5, 1.9, 1.3, 1.6)
"""Loads of the phases of arrivals that never let the queue run empty."""
PHASE_NS = 200_000_000
"""Length of a phase, nanoseconds."""
LEAST, MOST = 64, 1500
"""Smallest and largest packet with its IP header, bytes."""


@dataclass(frozen=True)
class Arrival:
    """A packet that arrives at the queue."""

    time_ns: int
    """Time since the first possible arrival, nanoseconds."""
    flow: int
    bytes: int
    """Length with the IP header, bytes."""


@cache
def arrivals(seed: int = 1, *, busy: bool = False) -> tuple[Arrival, ...]:
    """Return the arrivals of a seed with the loads `LOADS` or `BUSY`, in the order of their times.

    All times differ by at least `GAP_NS`. Flows 0 and 4 have small packets (200 B at nearly equal intervals, 64 B as a
    Poisson process), flows 1 and 3 are
    Poisson processes (1500 B, and uniform sizes), flows 2 and 5 have bursts (8 to 40 packets of 1500 B, 40 us apart,
    and 5 to 30 packets of uniform sizes, as close as `GAP_NS` permits).
    """
    found: list[tuple[float, int, int]] = []
    for flow, share in enumerate(SHARES):
        rng = random.Random(f"{seed} {flow}")
        for phase, load in enumerate(BUSY if busy else LOADS):
            if load:
                found += _phase(rng, flow, phase * PHASE_NS, share * load * RATE_BPS / 8e9)
    made: list[Arrival] = []
    last = 0
    for time, flow, size in sorted(found):
        last = max(round(time / GRID_NS) * GRID_NS, last + GAP_NS)
        made.append(Arrival(last, flow, size))
    return tuple(made)


def _phase(rng: random.Random, flow: int, begin: float, rate: float) -> list[tuple[float, int, int]]:
    """Return the arrivals of a flow in a phase that begins at a time; the mean rate is in bytes per nanosecond."""
    bursts = {2: (8, 40, 40_000.0), 5: (5, 30, 0.0)}
    sizes = {0: (200, 200), 1: (MOST, MOST), 2: (MOST, MOST), 3: (LEAST, MOST), 4: (LEAST, LEAST), 5: (LEAST, MOST)}
    low, high = sizes[flow]
    least, most, spacing = bursts.get(flow, (1, 1, 0.0))
    mean = (least + most) / 2 * (low + high) / 2 / rate
    made = []
    time = begin
    while True:
        time += mean * rng.uniform(0.9, 1.1) if flow == 0 else -math.log(1 - rng.random()) * mean
        count = rng.randint(least, most)
        if time + count * spacing >= begin + PHASE_NS:
            return made
        made += [(time + i * spacing, flow, 2 * rng.randint(low // 2, high // 2)) for i in range(count)]


class Replay(tailback.Source):
    """Source of a flow: one burst, which is one packet, for each of its arrivals."""

    def __init__(self, flow: int = 0, seed: int = 1, busy: bool = False, later_ns: int = 0, link_ps: int = 0) -> None:
        """Prepare the arrivals of a flow, `later_ns` later; a byte takes `link_ps` on the link to the queue."""
        own = [one for one in arrivals(seed, busy=busy) if one.flow == flow]
        self.left = iter([((one.time_ns + later_ns) * 1000 - link_ps * one.bytes, one.bytes) for one in own])

    def next(self, call: tailback.SourceCall) -> tuple[int, int] | None:
        """Return the time of the next packet, picoseconds, and its bytes."""
        del call
        return next(self.left, None)
