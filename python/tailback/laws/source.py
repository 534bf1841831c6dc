"""Base class of traffic sources in Python."""

from __future__ import annotations

from tailback import _native
from tailback.laws.component import Component

__all__ = ["Source"]


class Source(_native.Component, Component):
    """Traffic source: times and sizes of the bursts of a flow.

    A scenario names the class: `source = { kind = "user", file = "mine.py", class = "Mine" }`. Each flow has an
    instance of its own, made with the table `parameters` as keyword arguments, and a new one after each stop. The host
    cuts a burst into packets; a flow with a transport writes it to its connection.

    A source repeats its results if it uses only its arguments, its own attributes, and numbers drawn with `random`,
    `below`, `exponential` and `normal`; `tailback.maths` replaces `math`.
    """

    def __init__(self) -> None:
        """Make the source of one flow; a derived class takes its parameters as keyword arguments.

        A source without `__init__` has no parameters, and refuses any.
        """

    def start(self, call: _native.SourceCall) -> None:
        """Begin: the flow starts at `call.now_ps`."""

    def next(self, call: _native.SourceCall) -> tuple[int, int] | None:
        """Return time (picoseconds) and payload (bytes) of the next burst, or None if there is none.

        The time must not be before `call.now_ps`, that of the last burst.
        """
