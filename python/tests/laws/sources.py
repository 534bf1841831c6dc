"""Traffic sources after their definitions: constant rate, and Poisson arrivals."""

import tailback


class Constant(tailback.Source):
    """Emit packets of equal size at equal intervals, the first one at the start."""

    def __init__(self, packet=1000, interval="1ms"):
        """Take the payload in bytes and the interval."""
        self.packet = packet
        self.interval = self.picoseconds(interval)

    def next(self, call):
        """Return the next packet."""
        return call.now_ps + (self.interval if call.bursts else 0), self.packet


class Poisson(tailback.Source):
    """Emit packets of equal size with exponential intervals."""

    def __init__(self, packet=1000, mean="1ms"):
        """Take the payload in bytes and the mean interval."""
        self.packet = packet
        self.mean = self.picoseconds(mean)

    def next(self, call):
        """Return the next packet."""
        return call.now_ps + round(self.exponential(self.mean)), self.packet
