"""Equilibrium of RED and N TCP sources: RED marks the share of packets that the sources need.

The sources need p = 2 N²/(R C)², with the link's rate C in packets per second and the round-trip time R in s, which
includes the queueing delay (Misra, Gong and Towsley, SIGCOMM 2000, section 3). RED with a marking probability p_b
marks one packet in (3/p_b - 1)/2 on average, since gaps between marks are uniform
on 1/p_b to 2/p_b - 1 packets (Floyd and Jacobson 1993, method 2, as in ns-2 with `wait`).
"""

from __future__ import annotations

# RED's minimum and maximum threshold.
MIN_KB, MAX_KB = 20.0, 80.0
PACKETS_PER_S = 1250.0
"""Rate of the link: 10 Mbit/s in packets of 1000 B, so that 1 packet is 1 kB."""
ROUND_TRIP_S = 0.0532
"""Mean two-way propagation over all pairs of hosts, s."""


def needed(sources: float, queue_kb: float) -> float:
    """Return the share of packets (0 to 1) to be marked so that the sources' load is the link's rate with a queue."""
    pipe = ROUND_TRIP_S * PACKETS_PER_S + queue_kb
    return min(1.0, 2 * sources**2 / pipe**2)


def marked(max_p: float, average_kb: float) -> float:
    """Return the share of packets (0 to 1) that RED marks at an average queue; 1 from `MAX_KB` up, where RED drops."""
    if average_kb < MIN_KB:
        return 0.0
    if average_kb >= MAX_KB:
        return 1.0
    probability = max_p * (average_kb - MIN_KB) / (MAX_KB - MIN_KB)
    return 2 * probability / (3 - probability)


def resting_queue(sources: float, max_p: float) -> float:
    """Return the queue in kB at which RED marks the share that the sources need; `MAX_KB` if no lower queue does."""
    low, high = MIN_KB, MAX_KB
    for _ in range(60):
        middle = (low + high) / 2
        if marked(max_p, middle) < needed(sources, middle):
            low = middle
        else:
            high = middle
    return high
