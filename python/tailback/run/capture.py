"""Captures: the frames of a replication as a pcapng file, for Wireshark, tshark and similar programs."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from difflib import get_close_matches
from fnmatch import fnmatchcase
from os import PathLike, fspath
from pathlib import Path
from typing import Literal

from tailback import _native
from tailback.errors import Cancelled, UsageError
from tailback.results.directory import writing
from tailback.scenario import Scenario

__all__ = ["Capture", "Sides", "captured"]

Sides = Literal["send", "receive", "both"]

_END_PS = 2**64 - 1
"""Last instant of a capture without an end."""
_MAX_SNAP = 262_144
"""Longest captured part of a frame that readers accept, bytes."""


@dataclass(frozen=True, slots=True)
class Capture:
    """Selection of the frames that a run captures, and the file for them.

    Times are text with a unit, such as "20ms". Patterns are names, in which `*` stands for any text and `?` for one
    character.
    """

    path: str | PathLike[str]
    """The file. With several replications, each has its own: `-seed` and the seed are appended to the name."""
    ports: Sequence[str] = ()
    """Patterns of ports, such as `left->right`, whose interfaces are captured; empty: all."""
    flows: Sequence[str] = ()
    """Patterns of flows, such as `data*`, that are captured; empty: all. Control frames are captured in any case."""
    sides: Sides = "both"
    """Instants: "send", when the transmission of a frame begins; "receive", when it has arrived; "both"."""
    snaplen: int = 128
    """Longest captured part of a frame, bytes; 0: whole frames."""
    start: str | None = None
    """First instant. Default: the beginning of the run."""
    until: str | None = None
    """Last instant. Default: the end of the run."""

    def check(self, scenario: Scenario, seed: int) -> None:
        """Check the choices; raises UsageError if one is out of range, or a pattern fits no port or flow."""
        if not 0 <= self.snaplen <= _MAX_SNAP:
            raise UsageError(f"the snap length is {self.snaplen}; write 0 (whole frames) to {_MAX_SNAP} bytes")
        if self.sides not in ("send", "receive", "both"):
            raise UsageError(f'the sides of a capture are {self.sides!r}; write "send", "receive" or "both"')
        for text in (self.start, self.until):
            if text is not None:
                _time(text)
        if self.ports or self.flows:
            ports, flows = _native.network_names(scenario.native, seed)
            _chosen("port", self.ports, ports)
            _chosen("flow", self.flows, flows)
        target = Path(fspath(self.path)).absolute()
        if target.is_dir():
            raise UsageError(f"{target} is a directory; write the name of a file, such as {target / 'run.pcapng'}")
        with writing(target), tempfile.TemporaryFile(dir=target.parent):
            pass

    def of_seed(self, seed: int) -> Capture:
        """Return the same selection with the file of a replication among several."""
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

    The file is written under another name, `.tmp` appended, and renamed at the end; also after an interruption, when
    it has the frames up to then.

    Raises:
        OutputError: The file could not be written, for example on a full disk. It is removed then.
        Cancelled: The run was interrupted.

    """
    ports, flows = None, None
    if capture.ports or capture.flows:
        all_ports, all_flows = _native.network_names(scenario, seed)
        ports = _chosen("port", capture.ports, all_ports)
        flows = _chosen("flow", capture.flows, all_flows)
    target = Path(fspath(capture.path)).absolute()
    aside = target.with_name(target.name + ".tmp")
    with writing(target):
        try:
            with aside.open("wb") as file:
                report: str | Cancelled
                try:
                    report = _native.capture(
                        scenario,
                        seed,
                        file.write,
                        sides=capture.sides,
                        snap=capture.snaplen,
                        ports=ports,
                        flows=flows,
                        from_ps=0 if capture.start is None else _time(capture.start),
                        until_ps=_END_PS if capture.until is None else _time(capture.until),
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
            aside.replace(target)
        except BaseException:
            with suppress(OSError):
                aside.unlink(missing_ok=True)
            raise
    if isinstance(report, Cancelled):
        raise report
    return report


def _time(text: str) -> int:
    try:
        return _native.parse_duration(text)
    except ValueError as error:
        raise UsageError(str(error)) from None


def _chosen(what: str, patterns: Sequence[str], names: Sequence[str]) -> list[bool] | None:
    """Return for each name whether it fits a pattern; `None`: there are no patterns.

    Raises UsageError if a pattern fits no name.
    """
    if not patterns:
        return None
    for pattern in patterns:
        if not any(_fits(name, pattern) for name in names):
            near = get_close_matches(pattern, names, n=1)
            advice = f"; did you mean {near[0]!r}?" if near else f"; there are {', '.join(names[:8])}"
            raise UsageError(f"there is no {what} {pattern!r}{advice}")
    return [any(_fits(name, pattern) for pattern in patterns) for name in names]


def _fits(name: str, pattern: str) -> bool:
    # Names have brackets, which a pattern means literally.
    return name == pattern or fnmatchcase(name, pattern.replace("[", "[[]"))
