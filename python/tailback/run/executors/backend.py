"""Properties of an executor that the pool needs and that the interface of `concurrent.futures` lacks."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass

from tailback.errors import UsageError

__all__ = ["Backend", "default_threads", "given", "missing", "nothing", "threads"]

LOCAL_BATCH_S = 0.1
"""Work per task on threads of this process, processor seconds; submitting a task costs microseconds."""

REMOTE_BATCH_S = 0.5
"""Work per task on other processes, processor seconds; submitting a task costs about ten milliseconds."""


def nothing() -> None:
    """Do nothing: default of `Backend.check` and `Backend.close`."""


@dataclass(frozen=True, slots=True)
class Backend:
    """An executor and its properties."""

    executor: Executor
    slots: Callable[[], int]
    """Function that returns the number of tasks that can run at the same time; it may change during a run."""
    batch_s: float
    """Processor seconds of work that the pool puts into one task."""
    shares_memory: bool = False
    """`True` if workers are threads of this process: runs report their progress and stop within milliseconds."""
    check: Callable[[], None] = nothing
    """Function that raises ExecutorError if the executor is lost; it is called about every second."""
    close: Callable[[], None] = nothing
    """Function that shuts the executor down; for an executor that the caller closes, it does nothing."""


def default_threads() -> int:
    """Return the number of processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def threads(workers: int | None = None) -> Backend:
    """Return the backend of a new executor of `workers` threads of this process; default: one per processor."""
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
    """Return the backend of a caller's executor, which `Backend.close` does not close.

    If the executor does not state its number of workers, the number of processors is assumed.
    """
    count = getattr(executor, "_max_workers", None) or default_threads()
    local = isinstance(executor, ThreadPoolExecutor)
    return Backend(executor, lambda: count, LOCAL_BATCH_S if local else REMOTE_BATCH_S, shares_memory=local)


def missing(error: ModuleNotFoundError, extra: str) -> UsageError:
    """Return the error of an optional package that is not installed, with the extra that installs it."""
    return UsageError(f"{error.name} is missing: pip install 'tailback[{extra}]'")
