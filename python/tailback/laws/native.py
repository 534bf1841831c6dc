"""Base classes of components in machine code that the process has compiled, such as with numba."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any, ClassVar

from tailback import _native
from tailback.laws.component import Component
from tailback.laws.congestion import CongestionControl
from tailback.laws.law import Law
from tailback.laws.scheduler import Scheduler
from tailback.laws.source import Source

__all__ = [
    "NativeComponent",
    "NativeCongestionControl",
    "NativeLaw",
    "NativeScheduler",
    "NativeSource",
    "host_function",
    "host_functions",
]


class NativeComponent(Component):
    """Component whose decisions are a compiled function.

    The function has the signature `int32 answer(void *state, const call *, answer *, const host *)` of the header
    `tailback_law.h`, whose records `tailback.laws.records` has for numpy. An instance has the parameters in its
    `state`, which `__init__` makes and the function reads and writes.

    A crash of the function ends the process in which the run executes. A failure of numba inside a `cfunc` is printed
    and not passed on: return a status other than 0.
    """

    events: ClassVar[tuple[str, ...]] = ()
    """Events for which the function is called: names of methods of the interface, such as "depart"."""
    answer: ClassVar[int] = 0
    """Address of the function, such as `decide.address` of a `numba.cfunc`."""
    state: object = None
    """Variables of the instance: an array of numpy or a bytearray, which keeps its length; None: a null pointer."""
    state_bytes: ClassVar[int] = 0
    """Size of the component's variables, bytes, for the column `state_bytes` of time series."""

    def __init_subclass__(cls, **kwargs: object) -> None:
        """Make the loader see the events as methods of the class."""
        super().__init_subclass__(**kwargs)
        known = {event for events in _native.component_events.values() for event in events}
        for event in cls.events:
            if event not in known or not hasattr(cls, event):
                raise ValueError(f"there is no event `{event}`")
            setattr(cls, event, _compiled)


class NativeLaw(NativeComponent, Law):
    """Queue law whose decisions are a compiled function."""


class NativeScheduler(NativeComponent, Scheduler):
    """Scheduler whose decisions are a compiled function."""


class NativeCongestionControl(NativeComponent, CongestionControl):
    """Congestion control whose decisions are a compiled function, which sets the window in its answer."""


class NativeSource(NativeComponent, Source):
    """Traffic source whose bursts are the answers of a compiled function."""


def _compiled(_component: Component, _call: object) -> Any:
    """Stand for an event that the compiled function handles."""
    raise NotImplementedError("the compiled function is called by the engine only")


def host_functions() -> dict[str, int]:
    """Return the addresses of the host's functions by their names in `tailback_host` of the header.

    `fail`, `random`, `below`, `exponential`, `normal` and `parameter` take the context as their first argument, which
    is the first word of the host. `host_function` has them as functions that numba can call.
    """
    return _native.host_functions()


_REAL = ctypes.c_double
_CONTEXT = ctypes.c_size_t
_DRAWS = {
    "random": ctypes.CFUNCTYPE(_REAL, _CONTEXT),
    "below": ctypes.CFUNCTYPE(ctypes.c_uint64, _CONTEXT, ctypes.c_uint64),
    "exponential": ctypes.CFUNCTYPE(_REAL, _CONTEXT, _REAL),
    "normal": ctypes.CFUNCTYPE(_REAL, _CONTEXT),
}
"""Types of the functions that draw random numbers."""


def host_function(name: str) -> Callable[..., Any]:
    """Return a draw or a function with the same bits on every platform, which `numba.cfunc` and `numba.njit` can call.

    "random", "below", "exponential" and "normal" draw from the random stream of the instance. Their first argument is
    the context, `host[0]` if `host` is a pointer to `numba.types.uintp`. The others are functions of numbers: "ln",
    "ln_1p", "log2", "exp", "exp_m1", "sin", "cos", "ln_gamma" and "pow".

    Raises:
        ValueError: There is no such function.

    """
    address = host_functions().get(name)
    if address is None or name in ("fail", "parameter"):
        raise ValueError(f"there is no function `{name}` for compiled code of Python")
    if name in _DRAWS:
        return _DRAWS[name](address)
    return ctypes.CFUNCTYPE(_REAL, *[_REAL] * (2 if name == "pow" else 1))(address)
