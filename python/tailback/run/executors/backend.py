"""Properties of an executor that the pool needs beyond the protocol of `concurrent.futures`."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass

from tailback.errors import UsageError

__all__ = ["Backend", "default_threads", "given", "missing", "nothing", "threads"]

LOCAL_BATCH_S = 0.1
"""Work per task on threads of this process, where handing a task over costs microseconds."""

REMOTE_BATCH_S = 0.5
"""Work per task where it travels to another process; handing one over costs some ten milliseconds."""


def nothing() -> None:
    """Do nothing: the check and the close of an executor that cannot be lost."""


@dataclass(frozen=True, slots=True)
class Backend:
    """An executor with properties that its protocol lacks."""

    executor: Executor
    slots: Callable[[], int]
    """Number of tasks that run at a time; may change while workers come and go."""
    batch_s: float
    """Processor seconds of work in one task."""
    shares_memory: bool = False
    """`True` if workers see this process's objects: then a run reports its progress and stops within milliseconds."""
    check: Callable[[], None] = nothing
    """Raises ExecutorError if the executor is lost; called about every second."""
    close: Callable[[], None] = nothing


def default_threads() -> int:
    """Return the number of processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def threads(workers: int | None = None) -> Backend:
    """Return threads of this process."""
    count = workers or default_threads()
    executor = ThreadPoolExecutor(count, thread_name_prefix="tailback")
    return Backend(
        executor,
        slots=lambda: count,
        batch_s=LOCAL_BATCH_S,
        shares_memory=True,
        close=lambda: executor.shutdown(wait=True, cancel_futures=True),
    )


def given(executor: Executor) -> Backend:
    """Return a caller's executor, which the caller closes."""
    count = getattr(executor, "_max_workers", None) or default_threads()
    local = isinstance(executor, ThreadPoolExecutor)
    return Backend(executor, lambda: count, LOCAL_BATCH_S if local else REMOTE_BATCH_S, shares_memory=local)


def missing(error: ModuleNotFoundError, extra: str) -> UsageError:
    """Return the message for an optional package that is not installed."""
    return UsageError(f"{error.name} is missing: pip install 'tailback[{extra}]'")
