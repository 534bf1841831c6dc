"""Pool that runs replications in batches on an executor until all are done, or Ctrl-C or a failure stops them."""

from __future__ import annotations

import math
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, Executor, Future, wait
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from queue import Empty, SimpleQueue
from typing import Generic, TypeVar, cast

from tailback import _native
from tailback.errors import Cancelled, ExecutorError, RunError
from tailback.laws import workers
from tailback.laws.watchdog import guarded
from tailback.results.report import Report
from tailback.run.capture import Capture, captured
from tailback.run.executors import Backend, default_threads, given, open_backend
from tailback.scenario import Scenario, Variant
from tailback.traces.selection import Trace

__all__ = ["Done", "Failed", "Outcome", "Pool", "Progress", "Task", "default_threads"]

Key = TypeVar("Key")
Value = TypeVar("Value")

Progress = Callable[[float, int], object]
"""Progress callback, called repeatedly in the caller's thread.

Its arguments are the number of tasks done, which may have a fraction, and the number of all tasks.
"""

_POLL_S = 0.1
"""Maximum wait for a finished batch before the progress callback is called again, s."""
_CHECK_S = 1.0
"""Minimum interval between checks that the executor still works, s."""

_RECENT = 64
"""Number of recent replications whose mean cost determines the size of the next batch.

Neighbouring points of a sweep have similar costs.
"""


@dataclass(frozen=True, slots=True)
class Task(Generic[Key]):
    """One replication to run."""

    key: Key
    """Identifier of the task for its owner, such as a point and a replication."""
    scenario: Scenario | Variant
    seed: int
    """Seed of the replication."""
    warmup_s: float | None = None
    """Length of the warm-up, s; `None`: that of the scenario."""
    engine: str | None = None
    """Event engine, `merged` or `plain`; `None`: that of the scenario."""
    parallel: int = 1
    """Maximum number of threads of the replication itself."""
    trace: Trace | None = None
    """Packet trace to be written; `None`: no trace."""
    capture: Capture | None = None
    """Capture of the replication's frames; `None`: no capture."""


@dataclass(frozen=True, slots=True)
class Done(Generic[Key, Value]):
    """A finished replication."""

    key: Key
    value: Value
    """Kept part of the report: the result of `keep`."""
    cpu_s: float
    """Processor time of the replication, s."""


@dataclass(frozen=True, slots=True)
class Failed(Generic[Key]):
    """A replication that could not be completed, with the error."""

    key: Key
    error: RunError


@dataclass(slots=True)
class Outcome(Generic[Key, Value]):
    """Result of a call of `Pool.run`."""

    done: list[Done[Key, Value]] = field(default_factory=list)
    """Finished tasks, in the order of the tasks."""
    interrupted: bool = False
    """`True` if Ctrl-C was pressed; tasks that had not finished then are missing in `done`."""


@dataclass(slots=True)
class Batch(Generic[Key, Value]):
    """Results of consecutive tasks, in the order of the tasks; fewer than the tasks if the batch was cancelled."""

    results: list[Done[Key, Value] | Failed[Key]] = field(default_factory=list)


class Pool:
    """Runs tasks on an executor of the `concurrent.futures` protocol; use it as a context manager.

    A task whose scenario has code of the user, other than WebAssembly, executes in a worker process of its thread
    (`tailback.laws.workers`).

    After Ctrl-C, finished tasks are kept. Running tasks stop within milliseconds on threads of this process; in other
    processes they run to their end.
    """

    def __init__(self, threads: int | None = None, executor: Executor | Backend | None = None) -> None:
        """Use `executor`, which the caller closes, or else `threads` threads of this process.

        Default: one per processor.
        """
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
            # One worker is kept for the next run.
            workers.close_idle(keep=1)

    def run(
        self,
        tasks: Sequence[Task[Key]],
        keep: Callable[[Key, Report], Value],
        progress: Progress | None = None,
        each: Callable[[Done[Key, Value]], object] | None = None,
        failed: Callable[[Failed[Key]], object] | None = None,
    ) -> Outcome[Key, Value]:
        """Run all tasks and return their results.

        Without `failed`, the first failure stops all other tasks and is raised.

        Args:
            tasks: Replications to run.
            keep: Returns the needed part of a report. It is called on the worker that made the report, so that whole
                reports are not sent between processes; for executors with other processes it must be picklable.
            progress: Progress callback.
            each: Called in the caller's thread with each finished task, in any order; an exception from it stops all
                other tasks.
            failed: Called in the caller's thread with each failed task, while the other tasks continue; an exception
                from it stops them.

        Raises:
            RunError: A task failed, and there is no `failed`.
            ExecutorError: The executor broke, or cancelled a task.

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
        # Running tasks in other processes run to their end; on threads of this process, `cancel` stops them.
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
            # Only a few batches are queued: the size of a batch depends on the costs of the batches before it.
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
                on_progress = self._setter(batch) if self.progress else None
                future = self.backend.executor.submit(run_batch, tasks, self.keep, self.cancel, on_progress)
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
            # This class takes no future that it cancelled itself, so the executor must have cancelled this one.
            self.backend.check()
            raise ExecutorError("the executor cancelled a task that it had accepted")
        error = future.exception()
        if error is not None:
            raise error if isinstance(error, RunError) else _lost(error)
        results = future.result().results
        self.batches.note([result for result in results if isinstance(result, Done)])
        # A cancelled batch has fewer results than tasks.
        for index, result in zip(batch, results, strict=False):
            self.fractions[index] = 1.0
            if isinstance(result, Done):
                self.done[index] = result
                if self.each:
                    self.each(result)
            elif self.failed is None:
                raise result.error
            else:
                self.failed(result)

    def _setter(self, batch: range) -> Callable[[int, float], None]:
        def set_fraction(place: int, fraction: float) -> None:
            self.fractions[batch[place]] = fraction

        return set_fraction


class _Batches:
    """Divides tasks into batches of about `batch_s` processor seconds, so that the cost of submitting is small."""

    def __init__(self, count: int, batch_s: float) -> None:
        self._next = 0
        self._count = count
        self._batch_s = batch_s
        self._recent: list[float] = []

    def note(self, found: Sequence[Done[Key, Value]]) -> None:
        """Record the processor times of finished replications."""
        self._recent = [*self._recent, *(done.cpu_s for done in found)][-_RECENT:]

    def next(self) -> range:
        """Return the indices of the tasks of the next batch; empty after the last."""
        mean = sum(self._recent) / len(self._recent) if self._recent else math.inf
        # Until a cost is known, the mean is infinite and a batch has one task.
        size = max(math.ceil(self._batch_s / max(mean, 1e-6)), 1)
        batch = range(self._next, min(self._next + size, self._count))
        self._next = batch.stop
        return batch


def _lost(error: BaseException) -> BaseException:
    """Return an error of an executor's package as ExecutorError, and any other error unchanged."""
    module = type(error).__module__.partition(".")[0]
    if isinstance(error, BrokenExecutor) or module in ("distributed", "asyncio", "submitit", "mpi4py"):
        what = str(error).strip().splitlines()
        return ExecutorError(f"the executor lost a task: {type(error).__name__}: {what[0] if what else ''}")
    return error


@contextmanager
def _interrupts(cancel: _native.Cancel) -> Iterator[Callable[[], bool]]:
    """Let the first Ctrl-C set `cancel` instead of raising KeyboardInterrupt; the second one raises as usual.

    The context manager yields a function that returns `True` after the first Ctrl-C.

    KeyboardInterrupt could be raised while a future's lock is being acquired, and the lock would then never be
    released. Outside the main thread, and if the caller has a handler of its own, nothing is changed. SIGTERM is
    handled in the same way if it raises KeyboardInterrupt, as on the command line.
    """
    interrupted = False
    handled = [
        number
        for number in (signal.SIGINT, signal.SIGTERM)
        if threading.current_thread() is threading.main_thread()
        and signal.getsignal(number) is signal.default_int_handler
    ]

    def note(*_: object) -> None:
        nonlocal interrupted
        interrupted = True
        cancel.cancel()
        restore()

    def restore() -> None:
        for number in handled:
            signal.signal(number, signal.default_int_handler)

    for number in handled:
        signal.signal(number, note)
    try:
        yield lambda: interrupted
    finally:
        restore()


def run_batch(
    tasks: Sequence[Task[Key]],
    keep: Callable[[Key, Report], Value],
    cancel: _native.Cancel | None = None,
    on_progress: Callable[[int, float], None] | None = None,
) -> Batch[Key, Value]:
    """Run tasks one after another until `cancel` is set; workers of every kind call this function.

    `on_progress` is called with the index of a task in the batch and the finished fraction of the task, 0 to 1. A task
    that raises RunError gives a `Failed`, and the next tasks are run.
    """
    batch: Batch[Key, Value] = Batch()
    for place, task in enumerate(tasks):
        if cancel is not None and cancel.cancelled:
            break
        try:
            batch.results.append(_run(task, keep, cancel, _at(on_progress, place) if on_progress else None))
        except Cancelled:
            break
        except RunError as error:
            batch.results.append(Failed(task.key, error))
    return batch


def _at(on_progress: Callable[[int, float], None], place: int) -> Callable[[float], None]:
    return lambda fraction: on_progress(place, fraction)


def _run(
    task: Task[Key],
    keep: Callable[[Key, Report], Value],
    cancel: _native.Cancel | None,
    on_progress: Callable[[float], None] | None,
) -> Done[Key, Value]:
    native = task.scenario.native
    if workers.takes(native):
        text, cpu_s = _in_worker(task, cancel, on_progress)
    else:
        text, cpu_s = _simulated(task, native, cancel, on_progress)
    value = keep(task.key, Report.from_json(text))
    if on_progress:
        on_progress(1.0)
    return Done(task.key, value, cpu_s)


def _in_worker(
    task: Task[Key], cancel: _native.Cancel | None, on_progress: Callable[[float], None] | None
) -> tuple[str, float]:
    """Run a task in a worker process; return as `_simulated`, and raise RunError if the worker crashes or hangs."""
    try:
        # The key may be an object that only this process has.
        keyless: Task[object] = replace(cast("Task[object]", task), key=None)
        return workers.called(_in_this_worker, keyless, cancel=cancel, progress=on_progress)
    except workers.WorkerError as error:
        raise RunError(f"the run with seed {task.seed} failed: {error}") from error


def _in_this_worker(
    task: Task[object], cancel: _native.Cancel, on_progress: Callable[[float], None]
) -> tuple[str, float]:
    """Run a task in this process, which is a worker; return as `_simulated`."""
    return _simulated(task, task.scenario.native, cancel, on_progress)


def _simulated(
    task: Task[Key],
    native: _native.Scenario,
    cancel: _native.Cancel | None,
    on_progress: Callable[[float], None] | None,
) -> tuple[str, float]:
    """Run a task in this process; return its report as JSON, and its processor time, s."""
    start = time.thread_time()
    with guarded(native, cancel):
        text = _report(task, native, cancel, on_progress)
    return text, time.thread_time() - start


def _report(
    task: Task[Key],
    native: _native.Scenario,
    cancel: _native.Cancel | None,
    on_progress: Callable[[float], None] | None,
) -> str:
    """Run a task and return its report as JSON; raises RunError if the run fails."""
    try:
        if task.trace is None and task.capture is None:
            text = native.run(task.seed, cancel, on_progress, task.engine, task.warmup_s, task.parallel)
        if task.trace is not None:
            from tailback.traces.writer import write_trace

            text = write_trace(
                task.trace, native, task.seed, cancel, on_progress, task.engine, task.warmup_s, task.parallel
            )
        # A trace and a capture may select different packets, so each is written in a run of its own.
        if task.capture is not None:
            text = captured(
                task.capture,
                native,
                task.seed,
                cancel=cancel,
                progress=on_progress,
                engine=task.engine,
                warmup_s=task.warmup_s,
                parallel=task.parallel,
            )
    except RuntimeError as error:
        raise RunError(f"the run with seed {task.seed} failed: {error}") from error
    return text
