"""Replications on threads: the core runs without the GIL, so one thread per processor keeps all of them busy."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from queue import Empty, SimpleQueue
from typing import Generic, TypeVar

from tailback import _native
from tailback.errors import Cancelled, RunError
from tailback.report import Report

__all__ = ["Done", "Outcome", "Pool", "Progress", "Task", "default_threads"]

Key = TypeVar("Key")
Value = TypeVar("Value")

Progress = Callable[[float, int], object]
"""Called in the caller's thread now and then with tasks done (a fraction counts) and the number of tasks."""

_POLL_S = 0.1


def default_threads() -> int:
    """As many as this process may use processors."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@dataclass(frozen=True, slots=True)
class Task(Generic[Key]):
    """One replication to run; `key` says whose."""

    key: Key
    scenario: _native.Scenario
    seed: int
    warmup_s: float | None = None
    engine: str | None = None


@dataclass(frozen=True, slots=True)
class Done(Generic[Key, Value]):
    """A finished replication, what was kept of its report, and the processor time that it took."""

    key: Key
    value: Value
    cpu_s: float


@dataclass(slots=True)
class Outcome(Generic[Key, Value]):
    """What came of some tasks, in the order of the tasks; `interrupted` when Ctrl-C cut them short."""

    done: list[Done[Key, Value]] = field(default_factory=list)
    interrupted: bool = False


class Pool:
    """Runs tasks on an executor of the `concurrent.futures` protocol; use it as a context manager.

    Ctrl-C stops what is running within milliseconds and keeps what is finished.
    """

    def __init__(self, threads: int | None = None, executor: Executor | None = None) -> None:
        self._own = executor is None
        threads = threads or default_threads()
        self._executor = executor or ThreadPoolExecutor(threads, thread_name_prefix="tailback")
        self._window = 64 + 2 * threads
        self._cancel = _native.Cancel()

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, *_: object) -> None:
        self._cancel.cancel()
        if self._own:
            self._executor.shutdown(wait=True, cancel_futures=True)

    def run(
        self, tasks: Sequence[Task[Key]], keep: Callable[[Key, Report], Value], progress: Progress | None = None
    ) -> Outcome[Key, Value]:
        """Run all tasks and wait; the first that fails stops the rest and raises its error.

        `keep` turns each report into what is wanted of it, in the worker's thread, so that reports do not pile up.
        """
        fractions = [0.0] * len(tasks)
        finished: SimpleQueue[Future[Done[Key, Value]]] = SimpleQueue()
        futures: list[Future[Done[Key, Value]]] = []
        waiting = iter(enumerate(tasks))
        left = 0
        with _interrupts(self._cancel) as interrupted:
            while not self._cancel.cancelled:
                # A few at a time: a hundred thousand replications are not queued before the first result is looked at.
                for index, task in islice(waiting, self._window - left):
                    tell = _setter(fractions, index) if progress else None
                    futures.append(self._executor.submit(_run, task, keep, self._cancel, tell))
                    futures[-1].add_done_callback(finished.put)
                    left += 1
                if not left:
                    break
                try:
                    if finished.get(timeout=_POLL_S).exception() is not None:
                        self._cancel.cancel()
                    left -= 1
                except Empty:
                    pass
                if progress:
                    progress(sum(fractions), len(tasks))
            for future in futures:
                future.cancel()
            wait([future for future in futures if not future.cancelled()])
        return Outcome(list(_results(futures)), interrupted())


@contextmanager
def _interrupts(cancel: _native.Cancel) -> Iterator[Callable[[], bool]]:
    """Have the first Ctrl-C cancel instead of raising; the second one raises as usual.

    An exception out of a signal handler can strike while a lock is being taken and leave it taken for ever; futures
    are full of locks. Outside the main thread, or where the caller handles Ctrl-C already, nothing is changed.
    """
    came = False

    def note(*_: object) -> None:
        nonlocal came
        came = True
        cancel.cancel()
        signal.signal(signal.SIGINT, signal.default_int_handler)

    ours = (
        threading.current_thread() is threading.main_thread()
        and signal.getsignal(signal.SIGINT) is signal.default_int_handler
    )
    if ours:
        signal.signal(signal.SIGINT, note)
    try:
        yield lambda: came
    finally:
        if ours:
            signal.signal(signal.SIGINT, signal.default_int_handler)


def _setter(fractions: list[float], index: int) -> Callable[[float], None]:
    def set_fraction(fraction: float) -> None:
        fractions[index] = fraction

    return set_fraction


def _results(futures: Iterable[Future[Done[Key, Value]]]) -> Iterable[Done[Key, Value]]:
    for future in futures:
        if future.cancelled():
            continue
        error = future.exception()
        if error is None:
            yield future.result()
        elif not isinstance(error, Cancelled):
            raise error


def _run(
    task: Task[Key],
    keep: Callable[[Key, Report], Value],
    cancel: _native.Cancel,
    progress: Callable[[float], None] | None,
) -> Done[Key, Value]:
    start = time.thread_time()
    try:
        text = task.scenario.run(task.seed, cancel, progress, task.engine, task.warmup_s)
    except RuntimeError as error:
        raise RunError(f"the run with seed {task.seed} failed: {error}") from error
    cpu_s = time.thread_time() - start
    value = keep(task.key, Report.from_json(text))
    if progress:
        progress(1.0)
    return Done(task.key, value, cpu_s)
