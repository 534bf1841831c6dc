"""Captures of the frames of a replication as pcapng files, for Wireshark, tshark and similar programs."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from os import PathLike, fspath
from pathlib import Path
from typing import Literal

from tailback import _native
from tailback.errors import Cancelled, UsageError
from tailback.results.directory import writing
from tailback.scenario import Scenario
from tailback.traces.selection import Chosen, Trace

__all__ = ["Capture", "Sides", "captured"]

Sides = Literal["send", "receive", "both"]

_MAX_SNAP = 262_144
"""Maximum snap length that readers of pcapng accept, bytes."""


@dataclass(frozen=True, slots=True)
class Capture:
    """Selection of the frames that a run captures, and the file for them.

    Names may be patterns, as in scenarios and in the selection of a `Trace`.
    """

    path: str | PathLike[str]
    """Path of the file.

    With several replications, each has a file of its own: `run.pcapng` becomes `run-seed7.pcapng`.
    """
    ports: Sequence[str] = ()
    """Ports, such as `left->right`, whose interfaces are captured; empty: all."""
    flows: Sequence[str] = ()
    """Flows or groups of flows, such as `data*`; empty: all. Control frames are captured in any case."""
    sides: Sides = "both"
    """Instants: "send", when the transmission of a frame begins; "receive", when it has arrived; "both"."""
    snaplen: int = 128
    """Number of bytes captured of longer frames, at most 262144; 0: whole frames."""
    start: float | str | None = None
    """First instant of the capture, seconds or text such as "20ms"; `None`: the beginning of the run."""
    until: float | str | None = None
    """Last instant of the capture, in the same form; `None`: the end of the run."""

    def check(self, scenario: Scenario, seed: int) -> None:
        """Check the selection and the path.

        Raises UsageError if a value is out of range, a pattern matches no port or flow, or the path is a directory, and
        OutputError if its directory is not writable.
        """
        if not 0 <= self.snaplen <= _MAX_SNAP:
            raise UsageError(f"the snap length is {self.snaplen}; write 0 (whole frames) to {_MAX_SNAP} bytes")
        if self.sides not in ("send", "receive", "both"):
            raise UsageError(f'the sides of a capture are {self.sides!r}; write "send", "receive" or "both"')
        self._selection.network(scenario.native, seed, of="capture")
        target = Path(fspath(self.path)).absolute()
        if target.is_dir():
            raise UsageError(f"{target} is a directory; write the name of a file, such as {target / 'run.pcapng'}")
        with writing(target), tempfile.TemporaryFile(dir=target.parent):
            pass

    @property
    def _selection(self) -> Trace:
        return Trace(flows=self.flows, ports=self.ports, start=self.start, until=self.until)

    def chosen(self) -> Chosen:
        """Return the selection in the form of the core; raises UsageError if it is invalid."""
        return self._selection.chosen(of="capture")

    def of_seed(self, seed: int) -> Capture:
        """Return the same selection with a file of its own for the replication with this seed."""
        path = Path(fspath(self.path))
        return Capture(
            path.with_name(f"{path.stem}-seed{seed}{path.suffix}"),
            self.ports,
            self.flows,
            self.sides,
            self.snaplen,
            self.start,
            self.until,
        )


def captured(
    capture: Capture,
    scenario: _native.Scenario,
    seed: int,
    *,
    cancel: _native.Cancel | None = None,
    progress: Callable[[float], object] | None = None,
    engine: str | None = None,
    warmup_s: float | None = None,
    parallel: int = 1,
) -> str:
    """Run a replication, write its capture, and return its report as JSON.

    The file is written under its name with `.tmp` appended, and renamed at the end. It is kept after an interruption,
    and then has the frames up to the interruption.

    Raises:
        OutputError: The file could not be written, for example on a full disk; an incomplete file is removed.
        Cancelled: The run was interrupted.

    """
    target = Path(fspath(capture.path)).absolute()
    temporary = target.with_name(target.name + ".tmp")
    with writing(target):
        try:
            with temporary.open("wb") as file:
                report: str | Cancelled
                try:
                    report = _native.capture(
                        scenario,
                        seed,
                        file.write,
                        sides=capture.sides,
                        snap=capture.snaplen,
                        chosen=capture.chosen(),
                        comments=[f"{scenario.title or 'run'}, seed {seed}, scenario {scenario.hash}"],
                        engine=engine,
                        warmup_s=warmup_s,
                        parallel=parallel,
                        cancel=cancel,
                        progress=progress,
                    )
                except Cancelled as stop:
                    report = stop
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(target)
        except BaseException:
            with suppress(OSError):
                temporary.unlink(missing_ok=True)
            raise
    if isinstance(report, Cancelled):
        raise report
    return report
