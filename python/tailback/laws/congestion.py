"""Base class of congestion controls in Python."""

from __future__ import annotations

from typing import ClassVar

from tailback import _native
from tailback.laws.component import Component

__all__ = ["CongestionControl"]


class CongestionControl(_native.CongestionControl, Component):
    """Congestion control: sets the window and the pacing rate of a connection.

    A scenario names the class in the transport of a flow:
    `congestion-control = { kind = "user", file = "mine.py", class = "Mine" }`. Each sender has an instance of its own,
    made with the table `parameters` as keyword arguments, and a new one for each new connection. The engine calls the
    methods that the class defines; they set `self.cwnd` and `self.ssthresh` (segments), and with `paces = True`
    `self.rate` (segments per second).

    The sender detects and repairs losses; it sets the window to `self.ssthresh` at a loss, and to one segment after a
    timeout, as RFC 5681 says. With `owns_recovery = True` the control sets the window at these times, too.

    A control repeats its results if it uses only its arguments, its own attributes, and numbers drawn with `random`,
    `below`, `exponential` and `normal`; `tailback.maths` replaces `math`.
    """

    paces: ClassVar[bool] = False
    """`True` if the control sets `self.rate`."""
    owns_recovery: ClassVar[bool] = False
    """`True` if the control sets the window during loss recovery and after a timeout, too."""
    handles_echoes: ClassVar[bool] = False
    """`True` if the control responds to echoes of marks (`call.ece`) in `acknowledged`, and `marked` is not called."""
    samples_rate: ClassVar[bool] = False
    """`True` if acknowledgements carry samples of the delivery rate."""

    def __init__(self) -> None:
        """Make the control of one sender; a derived class takes its parameters as keyword arguments.

        A control without `__init__` has no parameters, and refuses any.
        """

    def start(self, call: _native.CongestionCall) -> None:
        """Begin: the connection opens. `self.cwnd` is the initial window."""

    def acknowledged(self, call: _native.CongestionCall) -> None:
        """Process an acknowledgement of `call.delivered` segments, outside loss recovery unless `owns_recovery`."""

    def lost(self, call: _native.CongestionCall) -> None:
        """Set `self.ssthresh`: duplicate or selective acknowledgements indicate a loss, and recovery begins."""

    def marked(self, call: _native.CongestionCall) -> None:
        """Set `self.cwnd` and `self.ssthresh`: the receiver echoes a mark; at most once per window."""

    def timeout(self, call: _native.CongestionCall) -> None:
        """Set `self.ssthresh`: the retransmission timer has expired for a segment for the first time."""

    def sent(self, call: _native.CongestionCall) -> None:
        """Note that a segment is transmitted."""

    def timer(self, call: _native.CongestionCall) -> None:
        """Act at the time of `wake_ps`."""

    def spurious(self, call: _native.CongestionCall) -> None:
        """Restore the state before the last reduction, which was spurious; the window is restored already."""
