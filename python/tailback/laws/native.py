"""Base class of queue laws in machine code that the process has compiled, such as with numba."""

from __future__ import annotations

from typing import ClassVar

from tailback import _native
from tailback.laws.law import Law

__all__ = ["NativeLaw", "host_functions"]


class NativeLaw(Law):
    """Queue law whose decisions are a compiled function.

    The function has the signature `int32 answer(void *state, const call *, answer *, const host *)` of the header
    `tailback_law.h`, whose records `tailback.laws.records` has for numpy. An instance has the parameters in its
    `state`, which `__init__` makes and the function reads and writes.

    A crash of the function ends the process in which the run executes. A failure of numba inside a `cfunc` is printed
    and not passed on: return a status other than 0.
    """

    events: ClassVar[tuple[str, ...]] = ()
    """Events for which the function is called: "start", "arrive", "depart", "empty", "timer" and "idle"."""
    answer: ClassVar[int] = 0
    """Address of the function, such as `decide.address` of a `numba.cfunc`."""
    state: object
    """Variables of the instance: an array of numpy or a bytearray, which keeps its length."""

    def __init_subclass__(cls, **kwargs: object) -> None:
        """Make the loader see the events as methods of the class."""
        super().__init_subclass__(**kwargs)
        for event in cls.events:
            if not hasattr(Law, event):
                raise ValueError(f"there is no event `{event}`")
            setattr(cls, event, _compiled)


def _compiled(_law: Law, _call: _native.Call) -> int | None:
    """Stand for an event that the compiled function handles."""
    raise NotImplementedError("the compiled function is called by the engine only")


def host_functions() -> dict[str, int]:
    """Return the addresses of the host's functions by their names in `tailback_host` of the header.

    `fail`, `random`, `below`, `exponential`, `normal` and `parameter` take the context as their first argument, which
    is the first word of the host. `llvmlite.binding.add_symbol` makes an address known to numba.
    """
    return _native.host_functions()
