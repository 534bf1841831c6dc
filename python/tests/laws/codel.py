"""CoDel from the pseudo-code of RFC 8289, section 5."""

import math

import tailback
from tailback import DROP, PASS
from tailback._native import Call


class Codel(tailback.Law):
    """Controlled delay: drops at departure."""

    marks = False
    probes = ("dropping", "count")
    # As the built-in law counts: two times, a flag for one of them, two counters, a state and what was done before.
    state_bytes = 34

    def __init__(self, target: str = "5ms", interval: str = "100ms", mtu: int = 1514) -> None:
        self.target_ps = self.picoseconds(target)
        self.interval_ps = self.picoseconds(interval)
        self.mtu = mtu
        self.first_above_ps: int | None = None
        self.drop_next_ps = 0
        self.count = self.lastcount = 0
        self.dropping = False
        # A dequeue of the RFC may take several packets: what it has done with the one before.
        self.after: str | None = None

    def control_law(self, t: int) -> int:
        return t + int(self.interval_ps / math.sqrt(self.count))

    def ok_to_drop(self, call: Call) -> bool:
        if call.sojourn_ps < self.target_ps or call.queue_bytes <= self.mtu:
            self.first_above_ps = None
            return False
        if self.first_above_ps is None:
            self.first_above_ps = call.now_ps + self.interval_ps
            return False
        return call.now_ps > self.first_above_ps

    def depart(self, call: Call) -> int:
        ok, after, self.after = self.ok_to_drop(call), self.after, None
        if after == "first":
            self.begin(call.now_ps)
            return PASS
        if after == "drop":
            if ok:
                self.drop_next_ps = self.control_law(self.drop_next_ps)
        elif not self.dropping:
            if ok:
                self.after = "first"
                return DROP
            return PASS
        self.dropping = self.dropping and ok
        if self.dropping and call.now_ps >= self.drop_next_ps:
            self.count += 1
            self.after = "drop"
            return DROP
        return PASS

    def empty(self, call: Call) -> None:
        self.first_above_ps = None
        after, self.after = self.after, None
        if after == "first":
            self.begin(call.now_ps)
        else:
            self.dropping = False

    def begin(self, now: int) -> None:
        self.dropping = True
        delta = self.count - self.lastcount
        recent = now < self.drop_next_ps + 16 * self.interval_ps
        self.count = delta if delta > 1 and recent else 1
        self.drop_next_ps = self.control_law(now)
        self.lastcount = self.count
