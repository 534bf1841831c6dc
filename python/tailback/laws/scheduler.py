"""Base class of schedulers in Python."""

from __future__ import annotations

from typing import ClassVar

from tailback import _native
from tailback.laws.component import Component

__all__ = ["Scheduler"]


class Scheduler(_native.Component, Component):
    """Scheduler: chooses, at each transmission, the queue that sends.

    A scenario names the class and lists the queues: `discipline = { kind = "user-scheduler", scheduler = { file =
    "mine.py", class = "Mine" }, queues = [...] }`. Each port has an instance of its own, made with the table
    `parameters` as keyword arguments.

    `call.queues` has the states of the queues, in the order of the list. A scheduler repeats its results if it uses
    only its arguments, its own attributes, and numbers drawn with `random`, `below`, `exponential` and `normal`.

    Times are whole picoseconds. A scheduler that wants to be called at a time sets `wake_ps`; the engine then calls
    `timer` once, with `wake_ps` None again, and requests a queue if packets wait.
    """

    state_bytes: ClassVar[int] = 0
    """Size of the scheduler's variables, bytes, for the column `state_bytes` of time series."""

    def __init__(self) -> None:
        """Make the scheduler of one port; a derived class takes its parameters as keyword arguments.

        A scheduler without `__init__` has no parameters, and refuses any.
        """

    def start(self, call: _native.SchedulerCall) -> None:
        """Begin: called once, at time 0 before the first packet."""

    def arrived(self, call: _native.SchedulerCall) -> None:
        """Note that a packet has been admitted to the queue `call.queue`."""

    def select(self, call: _native.SchedulerCall) -> int | None:
        """Return the number of a queue that is ready, or None to send nothing now.

        It may turn out that no packet of the chosen queue may leave now, for example because its discipline drops them
        all. The queue is then not ready, and `select` is called again.
        """

    def sent(self, call: _native.SchedulerCall) -> None:
        """Note that a packet of the queue `call.queue` with `call.wire` bytes is sent."""

    def timer(self, call: _native.SchedulerCall) -> None:
        """Act at the time of `wake_ps`."""

    def idle(self, call: _native.SchedulerCall) -> None:
        """Note that the transmitter has become free and all queues are empty."""
