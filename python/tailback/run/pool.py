"""Replications on an executor: batches of them, in the order of the tasks, until done, failed or interrupted."""

from __future__ import annotations

import math
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, Executor, Future, wait
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from typing import Generic, TypeVar

from tailback import _native
from tailback.errors import Cancelled, ExecutorError, RunError
from tailback.results.report import Report
from tailback.run.executors import Backend, default_threads, given, open_backend
from tailback.scenario import Scenario, Variant

__all__ = ["Done", "Failed", "Outcome", "Pool", "Progress", "Task", "default_threads"]

Key = TypeVar("Key")
Value = TypeVar("Value")

Progress = Callable[[float, int], object]
"""Called in the caller's thread now and then with tasks done (a fraction counts) and the number of tasks."""

_POLL_S = 0.1
_CHECK_S = 1.0

_RECENT = 64
"""Number of the last replications over which the cost is averaged: points differ, and neighbours are similar."""


@dataclass(frozen=True, slots=True)
class Task(Generic[Key]):
    """One replication to run; `key` identifies its owner."""

    key: Key
    scenario: Scenario | Variant
    seed: int
    warmup_s: float | None = None
    engine: str | None = None
    parallel: int = 1
    """Threads on which the replication itself runs, at most."""


@dataclass(frozen=True, slots=True)
class Done(Generic[Key, Value]):
    """A finished replication, the kept part of its report, and its processor time."""

    key: Key
    value: Value
    cpu_s: float


@dataclass(frozen=True, slots=True)
class Failed(Generic[Key]):
    """A replication that could not be completed, with the error."""

    key: Key
    error: RunError


@dataclass(slots=True)
class Outcome(Generic[Key, Value]):
    """Results of some tasks, in the order of the tasks; `interrupted` if Ctrl-C cut them short."""

    done: list[Done[Key, Value]] = field(default_factory=list)
    interrupted: bool = False


@dataclass(slots=True)
class Batch(Generic[Key, Value]):
    """Results of some tasks in a row, in their order; fewer than the tasks if the batch was cut short."""

    results: list[Done[Key, Value] | Failed[Key]] = field(default_factory=list)


class Pool:
    """Runs tasks on an executor of the `concurrent.futures` protocol; use it as a context manager.

    Ctrl-C stops running tasks (within milliseconds on threads of this process) and keeps finished ones.
    """

    def __init__(self, threads: int | None = None, executor: Executor | Backend | None = None) -> None:
        """Take an executor, which its owner closes, or make threads."""
        self._own = executor is None
        if executor is None:
            self._backend = open_backend(workers=threads)
        else:
            self._backend = executor if isinstance(executor, Backend) else given(executor)
        self._cancel = _native.Cancel()

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, *_: object) -> None:
        self._cancel.cancel()
        if self._own:
            self._backend.close()

    def run(
        self,
        tasks: Sequence[Task[Key]],
        keep: Callable[[Key, Report], Value],
        progress: Progress | None = None,
        each: Callable[[Done[Key, Value]], object] | None = None,
        failed: Callable[[Failed[Key]], object] | None = None,
    ) -> Outcome[Key, Value]:
        """Run all tasks and wait; without `failed`, the first that fails stops the rest and raises its error.

        `keep` extracts the needed part of each report where it was made, so that reports are neither collected nor
        sent; for other processes it must be picklable. `each` is called in the caller's thread
        with finished tasks, in any order, and `failed` with failed ones while the others continue; an exception of
        either stops the rest. The loss of the executor itself always raises.
        """
        with _interrupts(self._cancel) as interrupted:
            outcome: Outcome[Key, Value] = Outcome(
                _Run(self._backend, self._cancel, tasks, keep, progress, each, failed)()
            )
            outcome.interrupted = interrupted()
        return outcome


class _Run(Generic[Key, Value]):
    """One call of `Pool.run`."""

    def __init__(
        self,
        backend: Backend,
        cancel: _native.Cancel,
        tasks: Sequence[Task[Key]],
        keep: Callable[[Key, Report], Value],
        progress: Progress | None,
        each: Callable[[Done[Key, Value]], object] | None,
        failed: Callable[[Failed[Key]], object] | None,
    ) -> None:
        self.backend = backend
        self.cancel = cancel
        self.tasks = tasks
        self.keep = keep
        self.progress = progress
        self.each = each
        self.failed = failed
        self.fractions = [0.0] * len(tasks)
        self.done: dict[int, Done[Key, Value]] = {}
        self.batches = _Batches(len(tasks), backend.batch_s)
        self.finished: SimpleQueue[Future[Batch[Key, Value]]] = SimpleQueue()
        self.running: dict[Future[Batch[Key, Value]], range] = {}

    def __call__(self) -> list[Done[Key, Value]]:
        error: BaseException | None = None
        try:
            self._all()
        except BaseException as raised:
            error = raised
            self.cancel.cancel()
        # Running tasks may still complete; on threads of this process the flag stops them.
        for future in list(self.running):
            future.cancel()
        wait([future for future in self.running if not future.cancelled()])
        for future in list(self.running):
            if not future.cancelled():
                try:
                    self._take(future)
                except BaseException as raised:
                    error = error or raised
        if error is not None:
            raise error
        return [self.done[index] for index in sorted(self.done)]

    def _all(self) -> None:
        checked = time.monotonic()
        while not self.cancel.cancelled:
            # A few at a time: a hundred thousand replications are not queued before the first result,
            # and the first results determine the size of a batch.
            while len(self.running) < 2 * self.backend.slots() + 1 and (batch := self.batches.next()):
                self._submit(batch)
            if not self.running:
                break
            with suppress(Empty):
                self._take(self.finished.get(timeout=_POLL_S))
            if self.progress:
                self.progress(sum(self.fractions), len(self.tasks))
            if time.monotonic() - checked > _CHECK_S:
                self.backend.check()
                checked = time.monotonic()

    def _submit(self, batch: range) -> None:
        tasks = [self.tasks[index] for index in batch]
        try:
            if self.backend.shares_memory:
                tell = self._setter(batch) if self.progress else None
                future = self.backend.executor.submit(run_batch, tasks, self.keep, self.cancel, tell)
            else:
                future = self.backend.executor.submit(run_batch, tasks, self.keep)
        except BrokenExecutor as error:
            raise ExecutorError(f"the executor is broken: {error}") from error
        self.running[future] = batch
        future.add_done_callback(self.finished.put)

    def _take(self, future: Future[Batch[Key, Value]]) -> None:
        batch = self.running.pop(future, None)
        if batch is None:
            return
        if future.cancelled():
            # Not cancelled here: the result is still awaited.
            self.backend.check()
            raise ExecutorError("the executor gave up a task that it had accepted")
        error = future.exception()
        if error is not None:
            raise error if isinstance(error, RunError) else _lost(error)
        results = future.result().results
        self.batches.note([one for one in results if isinstance(one, Done)])
        # A cancelled batch is shorter than its tasks.
        for index, one in zip(batch, results, strict=False):
            self.fractions[index] = 1.0
            if isinstance(one, Done):
                self.done[index] = one
                if self.each:
                    self.each(one)
            elif self.failed is None:
                raise one.error
            else:
                self.failed(one)

    def _setter(self, batch: range) -> Callable[[int, float], None]:
        def set_fraction(place: int, fraction: float) -> None:
            self.fractions[batch[place]] = fraction

        return set_fraction


class _Batches:
    """Cuts tasks into batches that take long enough to be worth handing over."""

    def __init__(self, count: int, batch_s: float) -> None:
        self._next = 0
        self._count = count
        self._batch_s = batch_s
        self._recent: list[float] = []

    def note(self, found: Sequence[Done[Key, Value]]) -> None:
        """Record the cost of replications."""
        self._recent = [*self._recent, *(done.cpu_s for done in found)][-_RECENT:]

    def next(self) -> range:
        """Return the next batch; empty after the last."""
        mean = sum(self._recent) / len(self._recent) if self._recent else math.inf
        # The first tasks are single: their cost is not known yet.
        size = max(math.ceil(self._batch_s / max(mean, 1e-6)), 1)
        batch = range(self._next, min(self._next + size, self._count))
        self._next = batch.stop
        return batch


def _lost(error: BaseException) -> BaseException:
    """Return errors of executors as ExecutorError; those of programming mistakes unchanged."""
    module = type(error).__module__.partition(".")[0]
    if isinstance(error, BrokenExecutor) or module in ("distributed", "asyncio", "submitit", "mpi4py"):
        what = str(error).strip().splitlines()
        return ExecutorError(f"the executor lost a task: {type(error).__name__}: {what[0] if what else ''}")
    return error


@contextmanager
def _interrupts(cancel: _native.Cancel) -> Iterator[Callable[[], bool]]:
    """Have the first Ctrl-C cancel instead of raising; the second one raises as usual.

    An exception out of a signal handler can strike while a lock is being taken and leave it taken for ever; futures
    are full of locks. Outside the main thread, or where the caller handles Ctrl-C already, nothing is changed. SIGTERM
    is treated alike where it means Ctrl-C, as on the command line.
    """
    came = False
    ours = [
        number
        for number in (signal.SIGINT, signal.SIGTERM)
        if threading.current_thread() is threading.main_thread()
        and signal.getsignal(number) is signal.default_int_handler
    ]

    def note(*_: object) -> None:
        nonlocal came
        came = True
        cancel.cancel()
        restore()

    def restore() -> None:
        for number in ours:
            signal.signal(number, signal.default_int_handler)

    for number in ours:
        signal.signal(number, note)
    try:
        yield lambda: came
    finally:
        restore()


def run_batch(
    tasks: Sequence[Task[Key]],
    keep: Callable[[Key, Report], Value],
    cancel: _native.Cancel | None = None,
    tell: Callable[[int, float], None] | None = None,
) -> Batch[Key, Value]:
    """Run some replications one after another, in any process; `tell` is called with place and fraction done."""
    batch: Batch[Key, Value] = Batch()
    for place, task in enumerate(tasks):
        if cancel is not None and cancel.cancelled:
            break
        try:
            batch.results.append(_run(task, keep, cancel, _at(tell, place) if tell else None))
        except Cancelled:
            break
        except RunError as error:
            batch.results.append(Failed(task.key, error))
    return batch


def _at(tell: Callable[[int, float], None], place: int) -> Callable[[float], None]:
    return lambda fraction: tell(place, fraction)


def _run(
    task: Task[Key],
    keep: Callable[[Key, Report], Value],
    cancel: _native.Cancel | None,
    tell: Callable[[float], None] | None,
) -> Done[Key, Value]:
    start = time.thread_time()
    try:
        text = task.scenario.native.run(task.seed, cancel, tell, task.engine, task.warmup_s, task.parallel)
    except RuntimeError as error:
        raise RunError(f"the run with seed {task.seed} failed: {error}") from error
    cpu_s = time.thread_time() - start
    value = keep(task.key, Report.from_json(text))
    if tell:
        tell(1.0)
    return Done(task.key, value, cpu_s)
