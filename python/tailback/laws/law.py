"""Base class of queue laws in Python."""

from __future__ import annotations

from typing import ClassVar, Final

from tailback import _native
from tailback.laws.component import Component

__all__ = ["DROP", "MARK", "PASS", "Law"]

PASS: Final = 0
"""Answer of a law: the packet is queued, or sent."""
MARK: Final = 1
"""Answer of a law: the packet is marked if it is ECN-capable (RFC 3168), else dropped."""
DROP: Final = 2
"""Answer of a law: the packet is dropped."""


class Law(_native.Component, Component):
    """Queue law: decides about each packet of a FIFO, at its arrival and at its departure.

    A scenario names the class: `discipline = { kind = "user", file = "mylaw.py", class = "MyLaw" }`. Each queue has an
    instance of its own, made with the table `parameters` as keyword arguments. The engine calls the methods that the
    class defines. `arrive` and `depart` return PASS, MARK, DROP or None, which means PASS.

    A law repeats its results if its decisions depend only on its arguments, its own attributes, and numbers drawn with
    `random`, `below`, `exponential` and `normal`: these come from the random stream of the queue's port. Use
    `tailback.maths` in place of `math`, whose results differ between platforms in the last bit.

    Times are whole picoseconds. A law that wants to be called at a time sets `wake_ps`; the engine then calls `timer`
    once, with `wake_ps` None again.
    """

    marks: ClassVar[bool] = True
    """`False` if the law never answers MARK; used by warnings about flows whose ECN has no effect."""
    state_bytes: ClassVar[int] = 0
    """Size of the law's variables, bytes, for the column `state_bytes` of time series."""

    def __init__(self) -> None:
        """Make the law of one queue; a derived class takes its parameters as keyword arguments.

        A law without `__init__` has no parameters, and refuses any.
        """

    def start(self, call: _native.Call) -> int | None:
        """Begin: called once per queue, at time 0 before the first packet."""

    def arrive(self, call: _native.Call) -> int | None:
        """Decide about an arriving packet. If `call.full`, it is dropped whatever the answer."""

    def depart(self, call: _native.Call) -> int | None:
        """Decide about the packet that leaves the queue; after DROP, the next packet is taken."""

    def empty(self, call: _native.Call) -> int | None:
        """Note that a packet was wanted for transmission and none waits."""

    def timer(self, call: _native.Call) -> int | None:
        """Act at the time of `wake_ps`."""

    def idle(self, call: _native.Call) -> int | None:
        """Note that the transmitter has become free and the queue is empty."""
