"""Queue law `Ramp`; see `tailback.Law` for its interface."""

import tailback
from tailback import MARK, PASS


class Ramp(tailback.Law):
    """Marks or drops departing packets with a probability that grows with the time that they have waited.

    The probability is 0 up to `target`, and 1 from `target` + `ramp` on. The last packet of the queue always passes.
    """

    probes = ("probability",)

    def __init__(self, target: str = "5ms", ramp: str = "100ms") -> None:
        self.target_ps = self.picoseconds(target)
        self.ramp_ps = self.picoseconds(ramp)
        self.probability = 0.0

    def depart(self, call):
        """Decide about the packet that leaves the queue: MARK drops packets that are not ECN-capable."""
        if call.queue_packets == 0:
            return PASS
        excess_ps = max(call.sojourn_ps - self.target_ps, 0)
        self.probability = min(excess_ps / self.ramp_ps, 1.0)
        return MARK if self.random() < self.probability else PASS
