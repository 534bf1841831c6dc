"""Reno after RFC 5681, with byte counting of two segments (RFC 3465)."""

import tailback


class Reno(tailback.CongestionControl):
    """Grow by a segment per round trip; halve at a loss, a mark and a timeout."""

    def __init__(self, limit=2):
        """Grow by at most `limit` segments per acknowledgement in slow start."""
        self.limit = limit
        self.after_timeout = False

    def acknowledged(self, call):
        """Grow the window (RFC 5681, section 3.1; RFC 3465, sections 2.1 to 2.3)."""
        if not call.window_limited or call.advanced == 0:
            return
        if self.cwnd < self.ssthresh:
            self.cwnd += min(call.advanced, 1 if self.after_timeout else self.limit)
            if self.cwnd >= self.ssthresh:
                self.after_timeout = False
        else:
            self.cwnd += (1 if self.limit == 1 else call.advanced) / self.cwnd

    def lost(self, call):
        """Halve the threshold (RFC 5681, equation 4); the sender sets the window."""
        self.ssthresh = max(call.in_flight * 0.5, 2.0)

    def timeout(self, call):
        """Halve the threshold; the sender sets the window to one segment."""
        self.lost(call)
        self.after_timeout = True

    def marked(self, _call):
        """Halve window and threshold (RFC 3168, section 6.1.2)."""
        half = self.cwnd * 0.5
        self.ssthresh = max(half, 2.0)
        self.cwnd = max(half, 1.0)
