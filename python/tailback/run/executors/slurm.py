"""Executor of Slurm through submitit: each batch of tasks is a job, so a batch has minutes of work."""

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
"""Default work per job, processor seconds: much more than the seconds that Slurm takes to start a job."""

_POLL_S = 1.0
"""Interval between checks of the jobs, s."""
_RETRIES = 3
"""Maximum number of submissions of a job that is killed, the first one included."""


def open_slurm(folder: str, jobs: int, options: Mapping[str, str]) -> Backend:
    """Return an executor of Slurm jobs, at most `jobs` at a time, whose files and logs are in `folder`.

    Options are submitit's, such as `slurm_partition`, and two more: `cluster`, submitit's executor ("slurm", the
    default, or "local": processes of this machine), and `batch_s`, processor seconds of work per job (default: 300).

    Raises:
        UsageError: The package is missing, or an option is wrong.

    """
    given = {name: _number(value) for name, value in options.items()}
    cluster = given.pop("cluster", "slurm")
    batch_s = given.pop("batch_s", _BATCH_S)
    if not isinstance(batch_s, int | float) or batch_s <= 0:
        raise UsageError(f"batch_s is {batch_s!r}; write a number of seconds above 0, such as 300")
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
    """A job that has not ended, with the future of its result."""

    future: Future[Any]
    job: Any
    work: Callable[[], Any]
    """Function that submits the job again and returns it."""
    tries: int = 1
    """Number of submissions so far."""


class SlurmExecutor(Executor):
    """Executor with the interface of `concurrent.futures`, whose tasks are jobs of submitit."""

    def __init__(self, folder: str, cluster: str, parameters: Mapping[str, int | float | str]) -> None:
        try:
            import submitit
        except ModuleNotFoundError as error:
            raise missing(error, "slurm") from None
        try:
            self._auto = submitit.AutoExecutor(folder=folder, cluster=cluster)
            self._auto.update_parameters(**parameters)
        except (RuntimeError, ValueError, NameError, TypeError) as error:
            raise UsageError(f"submitit reports an error: {error}") from error
        self._pending: list[_Pending] = []
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._watcher = threading.Thread(target=self._watch, name="tailback-slurm", daemon=True)
        self._watcher.start()

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Submit a job; raises ExecutorError if Slurm rejects it."""
        if self._stop.is_set():
            raise RuntimeError("cannot schedule new futures after shutdown")

        def work() -> Any:
            return self._auto.submit(fn, *args, **kwargs)

        try:
            pending = _Pending(Future(), work(), work)
        except Exception as error:
            # The message is that of sbatch.
            raise ExecutorError(f"the job was rejected: {error}") from error
        with self._lock:
            self._pending.append(pending)
        return pending.future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Stop the executor.

        With `cancel_futures`, jobs that have not ended are cancelled; else, with `wait`, their ends are awaited.
        """
        with self._lock:
            remaining = list(self._pending)
        if cancel_futures:
            for pending in remaining:
                pending.future.cancel()
                pending.job.cancel()
        elif wait:
            for pending in remaining:
                pending.future.exception()
        self._stop.set()
        self._watcher.join()

    def _watch(self) -> None:
        while not self._stop.wait(_POLL_S):
            with self._lock:
                known = list(self._pending)
            ended = [pending for pending in known if self._settle(pending)]
            with self._lock:
                self._pending = [pending for pending in self._pending if pending not in ended]

    def _settle(self, pending: _Pending) -> bool:
        """Set the result of the future of a job that has ended; return `False` if it runs, or is submitted again."""
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
            # The job was killed, for example by the failure of a node.
            pending.tries += 1
            pending.job = pending.work()
            return False
        if pending.future.set_running_or_notify_cancel():
            if error is None:
                pending.future.set_result(result)
            else:
                pending.future.set_exception(ExecutorError(f"job {pending.job.job_id} failed: {error}"))
        return True
