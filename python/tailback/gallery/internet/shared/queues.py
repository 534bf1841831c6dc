"""The queues that E15 compares, and the slide's numbers."""

from __future__ import annotations

from tailback.gallery.internet.shared.fairness import RATE, TCP
from tailback.scenario import Value

RED, SFQ_RED, SFB = "RED", "SFQ+RED", "SFB"
STEEP, ANY = "SFB, d1 = 100 d2", "SFB, any full bin drops"
"""Steps of 0.02 and 0.0002 instead of 0.005 and 0.001; and the rule of the paper's figure for full bins."""
UNCOUNTED, PRESSURE, HOLD, SLOW = "SFB, uncounted", "SFB, pressure", "SFB, hold", "SFB, frozen for 50 ms"
KEEP, DOWN = "SFB, keep", "SFB, decrements frozen for 100 ms"
"""Boxed flows' bins are not lowered by other flows; decrements have their own timer."""
DEPART = "SFB, lowered at departures"
"""Bins fall when their last packet leaves, as in Feng's code for ns, and not when an arrival finds them empty."""
FLOOR = 0.5
"""Least retransmission timeout in s with which RED's row is reproduced; the calibrated choice."""
FAIR = RATE / (TCP + 1)

SLIDE = {RED: (3.07, 10.32), SFQ_RED: (2.53, 43.94), SFB: (0.01, 44.84)}
"""Lost by TCP and by the other flow, Mbit/s."""

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
    """Return a queue with `size` times the slide's buffer; thresholds that are shares of the buffer scale with it."""
    if queue == RED:
        low, high = f"{40 * size:g}kB", f"{160 * size:g}kB"
        return {"kind": "red", "min": low, "max": high, "ecn": ecn, **_RED}, f"{200 * size:g}kB"
    if queue == SFQ_RED:
        # 400 kB in 46 buckets are 8.7 kB each; thresholds at 20 and 80 % of that.
        red: dict[str, Value] = {"min": f"{round(1740 * size)}B", "max": f"{round(6960 * size)}B", "ecn": ecn, **_RED}
        return {"kind": "sfq-red", "buckets": 46, "red": red}, f"{400 * size:g}kB"
    sfb: dict[str, Value] = {"kind": "sfb", "ecn": ecn}
    if size != 1:
        # Half as much again as a fair share of 200 packets in 23 bins, which is the default of 13.
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
