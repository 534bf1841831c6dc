"""Worker processes, in which the code of users runs: a crash or a hang ends a worker, and not this program.

A worker is an interpreter of its own, which is started by `called`, kept for the next call, and ends by itself when it
is idle or this process has ended. It does not import the caller's main module, so that scripts need no
`if __name__ == "__main__"`; `multiprocessing`, and the libraries built on it, need that.
"""

from __future__ import annotations

import atexit
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing import spawn
from multiprocessing.connection import Connection, Pipe
from pathlib import Path
from typing import Any, TypeVar

from tailback import _native
from tailback.errors import Cancelled
from tailback.laws import watchdog
from tailback.laws.last_call import Record, unnamed_file

__all__ = ["Job", "WorkerError", "called", "close_idle", "is_needed", "mark_inside", "takes"]

Value = TypeVar("Value")
Progress = Callable[[float], object]

_POLL_S = 0.1
"""Interval between checks of a worker, s of real time."""
_GRACE_S = 1.0
"""Time after the limit of a call, or after Ctrl-C, before the worker is killed: a call in Python ends by itself, s."""
_DUMP_S = 0.3
"""Wait for the frames of a hanging call, s."""
_MIN_AVAILABLE = 0.05
"""Share of the machine's memory that must be available; below it, a worker with a large share is killed."""
_LARGE = 0.25
"""Share of the machine's memory above which a worker is the cause of a shortage."""
_MAX_JOBS = 200
"""Number of jobs after which a worker is replaced, since laws may leave memory behind in their modules."""

_PACKAGE = Path(__file__).parents[1]
"""Folder of this package."""
_START = """
import sys
sys.path[:] = {path!r}
from importlib.util import module_from_spec, spec_from_file_location
spec = spec_from_file_location("tailback", {package!r} + "/__init__.py", submodule_search_locations=[{package!r}])
sys.modules["tailback"] = module = module_from_spec(spec)
spec.loader.exec_module(module)
from tailback.laws.child import main
main({descriptors!r})
"""
"""Program of a worker: it imports this package by its folder, since `sys.path` may have relative entries."""

_INSIDE = False
_IDLE: list[_Worker] = []
_LOCK = threading.Lock()


class WorkerError(RuntimeError):
    """A worker that crashed or hung; the message names the law, its call and the simulated time."""


class _EndedIdleError(Exception):
    """A worker that has ended after its time without a job, when a job was sent to it."""


@dataclass(frozen=True, slots=True)
class Job:
    """Work for a worker."""

    function: bytes
    """The pickled function and its arguments."""
    folder: str
    """Current directory."""
    path: list[str]
    """`sys.path`."""
    call_limit_s: float
    """Maximum duration of one call of a law, s of real time."""


def mark_inside() -> None:
    """Note that this process is a worker."""
    global _INSIDE
    _INSIDE = True


def is_needed() -> bool:
    """Return `True` if code of users shall run in another process: this one is no worker, and can start one."""
    return not _INSIDE and os.name == "posix"


def takes(scenario: _native.Scenario) -> bool:
    """Return `True` if runs of a scenario execute in a worker: it has code in Python or in machine code.

    Modules of WebAssembly are interpreted, with limits of steps and memory, so that they neither crash nor hang: they
    run on the threads of this process.
    """
    return is_needed() and any(language != "wasm" for language in scenario.user_languages)


def called(
    function: Callable[..., Value],
    *arguments: object,
    cancel: _native.Cancel | None = None,
    progress: Progress | None = None,
    limit_s: float | None = None,
    environment: Mapping[str, str] | None = None,
) -> Value:
    """Call a function of a module in a worker, with the arguments, a `Cancel` and a progress function.

    A call of a law that does not return within its limit, or after `cancel`, ends with its worker. The function is
    imported by the worker; its arguments, its result and its exceptions are pickled.

    Args:
        function: Function of a module.
        arguments: Arguments before the last two, `cancel` and `progress`.
        cancel: Ends the function if that checks it, and else the worker.
        progress: Called with the numbers that the function passes to its progress function.
        limit_s: Maximum duration, s of real time. Default: none, except for calls of laws.
        environment: Additional environment variables, for a worker of its own.

    Raises:
        WorkerError: The worker ended, or a limit was exceeded.
        Cancelled: The function or the worker was ended after `cancel`.

    """
    job = Job(pickle.dumps((function, arguments)), str(Path.cwd()), list(sys.path), watchdog.CALL_LIMIT_S)
    while True:
        worker = _Worker(environment) if environment else _taken()
        try:
            kind, value = worker.done(job, cancel, progress, limit_s)
            break
        except _EndedIdleError:
            worker.close()
        except BaseException:
            worker.close()
            raise
    if environment:
        worker.close()
    else:
        _give_back(worker)
    if kind == "error":
        raise value
    found: Value = value
    return found


def _taken() -> _Worker:
    """Return an idle worker, or a new one."""
    while True:
        with _LOCK:
            worker = _IDLE.pop() if _IDLE else None
        if worker is None:
            return _Worker()
        if worker.is_alive():
            return worker
        worker.close()


def _give_back(worker: _Worker) -> None:
    if worker.jobs >= _MAX_JOBS:
        worker.close()
        return
    with _LOCK:
        _IDLE.append(worker)


def close_idle(keep: int = 0) -> None:
    """End idle workers, except `keep` of them."""
    with _LOCK:
        closing, _IDLE[:] = _IDLE[keep:], _IDLE[:keep]
    for worker in closing:
        worker.close()


# A forked process must not use the workers of its parent.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_IDLE.clear)
atexit.register(close_idle)


_OF_GROUP = (signal.SIGINT, signal.SIGTERM)
"""Signals that a terminal or a service manager sends to all processes; this process decides what they end."""


@contextmanager
def _blocked(signals: Iterable[signal.Signals]) -> Iterator[None]:
    """Block signals in this thread; a process that is started meanwhile begins with them blocked."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, signals)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


class _Worker:
    """A process, and the connection to it."""

    def __init__(self, environment: Mapping[str, str] | None = None) -> None:
        self.jobs = 0
        self._record = Record()
        self._calls_before = self._record.calls
        """Numbers of calls of laws before the job."""
        self._frames = unnamed_file()
        self._connection: Connection
        self._connection, theirs = Pipe()
        descriptors = (theirs.fileno(), self._record.descriptor, self._frames)
        program = _START.format(path=list(sys.path), package=str(_PACKAGE), descriptors=descriptors)
        with theirs, _blocked(_OF_GROUP):
            # Closing the standard input ends the worker: see `_native.abort_at_end_of_input`.
            self._process = subprocess.Popen(
                [os.fsdecode(spawn.get_executable()), *["-O"] * sys.flags.optimize, "-P", "-c", program],
                stdin=subprocess.PIPE,
                pass_fds=descriptors,
                env={**os.environ, **(environment or {})},
            )

    def is_alive(self) -> bool:
        """Return `True` if the worker waits for a job: an idle one ends after some time."""
        return self._process.poll() is None and not self._connection.poll()

    def close(self) -> None:
        """End the process, and wait for its end."""
        self._process.kill()
        self._process.wait()
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._connection.close()
        self._record.close()
        os.close(self._frames)

    def done(
        self, job: Job, cancel: _native.Cancel | None, progress: Progress | None, limit_s: float | None
    ) -> tuple[str, Any]:
        """Return "value" and the result of a job, or "error" and its exception; raises as `called`."""
        self.jobs += 1
        self._calls_before = self.calls
        watch = _Watch(self, job.call_limit_s, limit_s)
        has_begun = False
        try:
            self._connection.send(job)
            while True:
                if self._connection.poll(_POLL_S):
                    kind, value = self._connection.recv()
                    has_begun = True
                    if kind not in ("begun", "progress"):
                        return kind, value
                    if kind == "progress" and progress is not None:
                        progress(value)
                elif cancel is not None and cancel.cancelled:
                    watch.cancel()
                watch.check()
        except (EOFError, ConnectionError):
            self._process.wait()
            if cancel is not None and cancel.cancelled:
                raise Cancelled("cancelled") from None
            if self._process.returncode == 0 and not has_begun and self.jobs > 1:
                raise _EndedIdleError from None
            raise WorkerError(self._ended()) from None

    def note_cancel(self) -> None:
        """Ask the worker to end its job."""
        with suppress(ConnectionError):
            self._connection.send(None)

    @property
    def calls(self) -> tuple[int, ...]:
        """Numbers of calls of laws begun and ended, by thread."""
        return self._record.calls

    def hung(self, limit_s: float, thread: int | None = None) -> WorkerError:
        """Return the error of a job, or of the call of a thread, that takes too long; its frames are those of now."""
        last = self._record.last(self._calls_before) if thread is None else self._record.read(thread)
        with suppress(OSError):
            # The handler of this signal, which is in C, writes the frames also while the interpreter's lock is held.
            self._process.send_signal(signal.SIGUSR1)
        time.sleep(_DUMP_S)
        what = f"{last}: the call" if last is not None and last.is_open else "the code"
        return WorkerError(f"{what} did not return within {limit_s:g} s, and its process was ended{self._traceback()}")

    def exhausts_memory(self) -> WorkerError | None:
        """Return the error of a worker that takes the rest of the memory; `None`: it does not, or it is not known."""
        try:
            pages = int(Path(f"/proc/{self._process.pid}/statm").read_text().split()[1])
            total, available = (_kilobytes(name) for name in ("MemTotal", "MemAvailable"))
        except (OSError, StopIteration):
            return None
        used = pages * os.sysconf("SC_PAGE_SIZE") / 1e3
        if available > _MIN_AVAILABLE * total or used < _LARGE * total:
            return None
        last = self._record.last(self._calls_before)
        what = "" if last is None else f"{last}: "
        return WorkerError(
            f"{what}its process had {used / 1e6:.1f} GB, nearly all memory of this machine, and was ended"
        )

    def _ended(self) -> str:
        """Return the message for a process that has ended by itself."""
        code, last = self._process.returncode, self._record.last(self._calls_before)
        how = f"was ended by {_signal_name(-code)}" if code < 0 else f"exited with code {code}"
        return f"{'' if last is None else f'{last}: '}its process {how}{self._traceback()}"

    def _traceback(self) -> str:
        """Return the frames of a crash or a hang in the form of a traceback, as lines to append to a message."""
        # The descriptor's position is shared with the process that writes.
        size = os.fstat(self._frames).st_size
        frames: list[str] = []
        for line in os.pread(self._frames, size, 0).decode(errors="replace").splitlines():
            if not line.startswith("  File "):
                continue
            if str(_PACKAGE) in line:
                break
            frames.append(line.replace(" in ", ", in ", 1))
        return "".join(f"\n{line}" for line in reversed(frames))


def _kilobytes(name: str) -> float:
    """Return an entry of /proc/meminfo, kB of 1000 bytes; raises OSError and StopIteration where there is none."""
    lines = Path("/proc/meminfo").read_text().splitlines()
    return int(next(line.split()[1] for line in lines if line.startswith(f"{name}:"))) * 1.024


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


class _Watch:
    """Limits of a job: of the whole, of each call of a law, and of the end after Ctrl-C."""

    def __init__(self, worker: _Worker, call_limit_s: float, limit_s: float | None) -> None:
        self._worker = worker
        self._call_limit_s = call_limit_s
        self._limit_s = limit_s
        self._begin = time.monotonic()
        self._calls = worker.calls
        self._since = [self._begin] * len(self._calls)
        """Time since which each thread has its number of calls."""
        self._cancelled_at: float | None = None

    def cancel(self) -> None:
        """Note that the job shall end; the first time, the worker is notified."""
        if self._cancelled_at is None:
            self._cancelled_at = time.monotonic()
            self._worker.note_cancel()

    def check(self) -> None:
        """Raise the error of an exceeded limit."""
        now = time.monotonic()
        if self._cancelled_at is not None and now - self._cancelled_at > _GRACE_S:
            raise Cancelled("cancelled")
        before, self._calls = self._calls, self._worker.calls
        for thread, calls in enumerate(self._calls):
            if calls != before[thread] or calls % 2 == 0:
                self._since[thread] = now
            elif now - self._since[thread] > self._call_limit_s + _GRACE_S:
                raise self._worker.hung(self._call_limit_s, thread)
        if self._limit_s is not None and now - self._begin > self._limit_s:
            raise self._worker.hung(self._limit_s)
        # The system would end another process, perhaps this one.
        if (error := self._worker.exhausts_memory()) is not None:
            raise error
