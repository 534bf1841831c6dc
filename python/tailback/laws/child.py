"""Program of a worker process: receives jobs, and sends their results; see `tailback.laws.workers`."""

from __future__ import annotations

import faulthandler
import io
import os
import pickle
import resource
import signal
import sys
import threading
import time
from contextlib import suppress
from multiprocessing.connection import Connection
from queue import Empty, SimpleQueue

from tailback import _native
from tailback.errors import Cancelled, RunError
from tailback.laws import watchdog
from tailback.laws.workers import Job, WorkerError, mark_inside

__all__ = ["main"]

_IDLE_S = 60.0
"""Time without a job after which the process ends, s of real time."""
_PROGRESS_S = 0.05
"""Minimum interval between messages about the progress, s of real time."""


def main(descriptors: tuple[int, int, int]) -> None:
    """Execute jobs from a connection until it is closed; the descriptors are those of `_Worker`."""
    connection, record, frames = descriptors
    # Ctrl-C reaches all processes of the terminal; the process that has started this one decides what ends. The signals
    # were blocked until now.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {number})
    _native.abort_at_end_of_input()
    sys.stdin = io.StringIO()
    # The frames of a crash are in its message, so that no file with the memory is needed.
    with suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
    faulthandler.enable(frames, all_threads=False)
    faulthandler.register(signal.SIGUSR1, frames, all_threads=False)
    _native.record_calls(record)
    mark_inside()
    _Jobs(Connection(connection)).execute()


class _Jobs:
    """Jobs of a connection. A thread receives them, since a request to end may arrive during a job."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._waiting: SimpleQueue[Job] = SimpleQueue()
        self._cancel = _native.Cancel()
        self._told_at = 0.0
        threading.Thread(target=self._receive, name="tailback-jobs", daemon=True).start()

    def _receive(self) -> None:
        try:
            while True:
                message = self._connection.recv()
                if message is None:
                    self._cancel.cancel()
                else:
                    self._cancel = _native.Cancel()
                    self._waiting.put(message)
        except (EOFError, OSError):
            os._exit(0)

    def execute(self) -> None:
        """Execute jobs until there is none for some time."""
        with suppress(Empty):
            while True:
                job = self._waiting.get(timeout=_IDLE_S)
                self._connection.send(("begun", None))
                os.chdir(job.folder)
                sys.path[:] = job.path
                watchdog.CALL_LIMIT_S = job.call_limit_s
                answer = self._answer(job)
                for stream in (sys.stdout, sys.stderr):
                    with suppress(OSError, ValueError, AttributeError):
                        stream.flush()
                self._connection.send_bytes(answer)

    def _answer(self, job: Job) -> bytes:
        """Return the pickled result of a job, or its exception."""
        try:
            function, arguments = pickle.loads(job.function)
            return pickle.dumps(("value", function(*arguments, self._cancel, self._progress)))
        except Exception as error:
            # Without a request to end, the law itself has raised Cancelled.
            is_of_law = isinstance(error, Cancelled) and not self._cancel.cancelled
            return _pickled(_fault(error) if is_of_law else error)
        except BaseException as error:
            # Ctrl-C is ignored here, so that the law itself has raised KeyboardInterrupt, SystemExit or another one.
            return _pickled(_fault(error))

    def _progress(self, fraction: float) -> None:
        now = time.monotonic()
        if now - self._told_at > _PROGRESS_S:
            self._told_at = now
            self._connection.send(("progress", fraction))


def _fault(error: BaseException) -> WorkerError:
    """Return the error of an exception that a law has raised and that is no Exception; its notes name the call."""
    notes: list[str] = getattr(error, "__notes__", [])
    return WorkerError("\n".join(notes) or f"{type(error).__name__}: {error}")


def _pickled(error: Exception) -> bytes:
    """Return an exception for the other process; one that cannot be pickled becomes a RunError with its text."""
    with suppress(Exception):
        found = pickle.dumps(("error", error))
        pickle.loads(found)
        return found
    kind = Cancelled if isinstance(error, Cancelled) else RunError
    return pickle.dumps(("error", kind(f"{type(error).__name__}: {error}")))
