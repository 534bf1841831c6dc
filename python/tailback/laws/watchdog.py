"""Watchdog over calls of user-defined laws: ends a call that does not return."""

from __future__ import annotations

import ctypes
import threading
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field

from tailback import _native
from tailback.errors import Cancelled

__all__ = ["CALL_LIMIT_S", "LawTimeoutError", "guarded", "watched"]

CALL_LIMIT_S = 10.0
"""Maximum duration of one call of a law, s of real time."""
_CANCEL_LIMIT_S = 0.5
"""Maximum duration of a call after Ctrl-C, s of real time."""
_POLL_S = 0.1
"""Interval between checks, s of real time."""


class LawTimeoutError(Exception):
    """A call of a law that did not return in time."""


@dataclass(eq=False)
class _Run:
    """Run with laws on one thread."""

    monitor: _native.LawMonitor
    thread: int
    cancel: _native.Cancel | None
    calls: int = 0
    since: float = field(default_factory=time.monotonic)


_RUNS: list[_Run] = []
_LOCK = threading.Lock()
_THREAD: threading.Thread | None = None


def guarded(scenario: _native.Scenario, cancel: _native.Cancel | None) -> AbstractContextManager[None]:
    """Watch the calls of laws as `watched` does if the scenario has laws in Python; others are not ended so."""
    return watched(cancel) if "python" in scenario.user_languages else nullcontext()


@contextmanager
def watched(cancel: _native.Cancel | None) -> Iterator[None]:
    """Watch the calls of laws on this thread: one that takes too long gets LawTimeoutError at its next instruction.

    A call that does not return after `cancel` gets Cancelled. A call that is in C code is ended when it returns.
    """
    global _THREAD
    run = _Run(_native.LawMonitor(), threading.get_ident(), cancel)
    with _LOCK:
        _RUNS.append(run)
        if _THREAD is None or not _THREAD.is_alive():
            _THREAD = threading.Thread(target=_watch, name="tailback-laws", daemon=True)
            _THREAD.start()
    try:
        yield
    finally:
        with _LOCK:
            _RUNS.remove(run)


def _watch() -> None:
    while True:
        time.sleep(_POLL_S)
        with _LOCK:
            if not _RUNS:
                global _THREAD
                _THREAD = None
                return
            for run in _RUNS:
                _check(run, time.monotonic())


def _check(run: _Run, now: float) -> None:
    calls = run.monitor.calls
    if calls != run.calls or calls % 2 == 0:
        run.calls, run.since = calls, now
        return
    cancelled = run.cancel is not None and run.cancel.cancelled
    if now - run.since > (_CANCEL_LIMIT_S if cancelled else CALL_LIMIT_S):
        kind = Cancelled if cancelled else LawTimeoutError
        # An exception of another thread can only be raised through the C interface.
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(run.thread), ctypes.py_object(kind))
        run.since = now
