"""Queues that internet-e15 compares, and the losses on the slide."""

from __future__ import annotations

from tailback.gallery.internet.shared.fairness import RATE, TCP
from tailback.scenario import Value

RED, SFQ_RED, SFB = "RED", "SFQ+RED", "SFB"
STEEP, ANY = "SFB, d1 = 100 d2", "SFB, any full bin drops"
"""`STEEP`: steps of 0.02 up and 0.0002 down instead of 0.005 and 0.001. `ANY`: a packet is dropped if any of its bins
is full, as in the paper's figure."""
UNCOUNTED, PRESSURE, HOLD, SLOW = "SFB, uncounted", "SFB, pressure", "SFB, hold", "SFB, frozen for 50 ms"
KEEP, DOWN = "SFB, keep", "SFB, decrements frozen for 100 ms"
"""Variants of the penalty box, the same words in the scenario (`boxed`), and of the freeze time. `KEEP`: other flows do
not lower the bins of flows in the box. `SLOW`: both steps are frozen for 50 ms. `DOWN`: decrements have a freeze timer
of their own."""
DEPART = "SFB, lowered at departures"
"""A bin's probability is lowered when its last packet departs, as in Feng's code for ns, and not when an arrival finds
the bin empty."""
FLOOR = 0.5
"""Minimum RTO in s, calibrated so that RED's row of the slide is reproduced."""
# Equal share of the bottleneck for each TCP flow and the unresponsive one, Mbit/s.
FAIR = RATE / (TCP + 1)

SLIDE = {RED: (3.07, 10.32), SFQ_RED: (2.53, 43.94), SFB: (0.01, 44.84)}
"""Rates lost by TCP and by the unresponsive flow on the slide, Mbit/s."""

_RED: dict[str, Value] = {
    "max-p": 1.0,
    "weight": 0.002,
    "mean-packet": "1000B",
    "count": "packets",
    "byte-mode": False,
    "gentle": False,
}
_BOX = {UNCOUNTED: "uncounted", PRESSURE: "pressure", HOLD: "hold", KEEP: "keep"}


def discipline(queue: object, ecn: bool, size: float = 1.0) -> tuple[dict[str, Value], str]:
    """Return a queue's discipline and buffer; `size` is the ratio of the buffer to that of the slide.

    RED's thresholds, and SFB's limit of a bin in packets, scale with the buffer. Any unknown name gives plain SFB.
    """
    if queue == RED:
        low, high = f"{40 * size:g}kB", f"{160 * size:g}kB"
        return {"kind": "red", "min": low, "max": high, "ecn": ecn, **_RED}, f"{200 * size:g}kB"
    if queue == SFQ_RED:
        # 400 kB / 46 buckets = 8.7 kB each; thresholds at 20 and 80 % of that.
        red: dict[str, Value] = {"min": f"{round(1740 * size)}B", "max": f"{round(6960 * size)}B", "ecn": ecn, **_RED}
        return {"kind": "sfq-red", "buckets": 46, "red": red}, f"{400 * size:g}kB"
    sfb: dict[str, Value] = {"kind": "sfb", "ecn": ecn}
    if size != 1:
        # 1.5 times the fair share of a bin; for the slide's 200 packets in 23 bins that is 13, the default.
        sfb |= {"bin-size": round(1.5 * 200 * size / 23)}
    if queue == STEEP:
        sfb |= {"increment": 0.02, "decrement": 0.0002}
    elif queue == ANY:
        sfb |= {"bin-full": "drop-any"}
    elif queue == SLOW:
        sfb |= {"freeze": "50ms"}
    elif queue == DOWN:
        sfb |= {"freeze-down": "100ms"}
    elif queue == DEPART:
        sfb |= {"lower-at": "departure"}
    elif queue in _BOX:
        sfb |= {"penalty-box": {"boxed": _BOX[str(queue)]}}
    return sfb, f"{200 * size:g}kB"
