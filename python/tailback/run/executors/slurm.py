"""Slurm through submitit: each task is a job of its own, so tasks are minutes long."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Executor, Future
from dataclasses import dataclass
from typing import Any

from tailback.errors import ExecutorError, UsageError
from tailback.run.executors.backend import Backend, missing

__all__ = ["SlurmExecutor", "open_slurm"]

_BATCH_S = 300.0
"""Work per job: far above the seconds that a queue takes to start one."""

_POLL_S = 1.0
_RETRIES = 3


def open_slurm(folder: str, jobs: int, options: Mapping[str, str]) -> Backend:
    """Return an executor of Slurm jobs, at most `jobs` at a time.

    Options are submitit's, such as `slurm_partition`; `cluster` chooses submitit's executor ("slurm", or "local" for
    processes of this machine), and `batch_s` the processor seconds of work in a job.
    """
    given = {name: _number(value) for name, value in options.items()}
    cluster = given.pop("cluster", "slurm")
    batch_s = given.pop("batch_s", _BATCH_S)
    if not isinstance(batch_s, int | float) or batch_s <= 0:
        raise UsageError(f"batch_s is {batch_s!r}; it is a number of seconds above 0")
    executor = SlurmExecutor(folder, str(cluster), given)
    return Backend(
        executor,
        slots=lambda: jobs,
        batch_s=float(batch_s),
        close=lambda: executor.shutdown(wait=False, cancel_futures=True),
    )


def _number(text: str) -> int | float | str:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text


@dataclass
class _Pending:
    future: Future[Any]
    job: Any
    work: Callable[[], Any]
    tries: int = 1


class SlurmExecutor(Executor):
    """The protocol of `concurrent.futures` over submitit's jobs."""

    def __init__(self, folder: str, cluster: str, parameters: Mapping[str, int | float | str]) -> None:
        try:
            import submitit
        except ModuleNotFoundError as error:
            raise missing(error, "slurm") from None
        try:
            self._auto = submitit.AutoExecutor(folder=folder, cluster=cluster)
            self._auto.update_parameters(**parameters)
        except (RuntimeError, ValueError, NameError, TypeError) as error:
            raise UsageError(f"submitit refuses: {error}") from error
        self._pending: list[_Pending] = []
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._watcher = threading.Thread(target=self._watch, name="tailback-slurm", daemon=True)
        self._watcher.start()

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Queue a job."""
        if self._stop.is_set():
            raise RuntimeError("cannot schedule new futures after shutdown")

        def work() -> Any:
            return self._auto.submit(fn, *args, **kwargs)

        try:
            pending = _Pending(Future(), work(), work)
        except Exception as error:
            # submitit passes on the message of sbatch.
            raise ExecutorError(f"the job was not accepted: {error}") from error
        with self._lock:
            self._pending.append(pending)
        return pending.future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Stop; with `cancel_futures` jobs that have not ended are cancelled."""
        with self._lock:
            left = list(self._pending)
        if cancel_futures:
            for pending in left:
                pending.future.cancel()
                pending.job.cancel()
        elif wait:
            for pending in left:
                pending.future.exception()
        self._stop.set()
        self._watcher.join()

    def _watch(self) -> None:
        while not self._stop.wait(_POLL_S):
            with self._lock:
                looked_at = list(self._pending)
            gone = [pending for pending in looked_at if self._settle(pending)]
            with self._lock:
                self._pending = [pending for pending in self._pending if pending not in gone]

    def _settle(self, pending: _Pending) -> bool:
        """Pass on the result of a job; `False` if it has not ended."""
        if pending.future.cancelled():
            pending.job.cancel()
            return True
        try:
            if not pending.job.done():
                return False
            error = pending.job.exception()
            result = pending.job.result() if error is None else None
        except Exception as unreadable:
            error, result = unreadable, None
        if error is not None and "Uncompleted" in type(error).__name__ and pending.tries < _RETRIES:
            # Killed, not failed: a node went down, or the job was cancelled.
            pending.tries += 1
            pending.job = pending.work()
            return False
        if pending.future.set_running_or_notify_cancel():
            if error is None:
                pending.future.set_result(result)
            else:
                pending.future.set_exception(ExecutorError(f"job {pending.job.job_id} failed: {error}"))
        return True
