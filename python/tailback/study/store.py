"""The directory of a sweep: a manifest, shards that appear completely or not at all, and a lock.

A shard is named after the hash of its bytes, so that a damaged one is detected. Each of its rows is a run,
identified by the hash of its scenario and its seed. Runs in a shard are not run again; all others are.
"""

from __future__ import annotations

import errno
import hashlib
import io
import json
import math
import os
import socket
import stat
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, cast

from tailback.errors import OutputError
from tailback.results import stored
from tailback.results.directory import MANIFEST as RUN_MANIFEST
from tailback.results.directory import check_writable, write_file, writing
from tailback.results.metrics import METRICS, Measure
from tailback.scenario.warnings import ScenarioWarning
from tailback.study.results import Failure, Run

if TYPE_CHECKING:
    import polars as pl

__all__ = ["MANIFEST", "Key", "Store", "is_running", "read_manifest", "read_runs"]

Key = tuple[str, int]
"""Hash of the scenario, and seed."""

MANIFEST = "sweep.json"
"""Name of the manifest's file in a sweep's directory."""
_VERSION = 1
_SHAPE = {
    "state": str,
    "digest": (str, None),
    "replications": ([int], None),
    "title": str,
    "begun": str,
    "axes": [str],
    "mechanisms": [str],
    "is_drawn": bool,
    "identity": {
        "tailback?": str,
        "engine?": str,
        "scenario": str,
        "seed": int,
        "replications": int,
        "until": ({"metric": str}, None),
        "confidence": float,
        "cells": [list],
    },
    "failures?": [{"set": dict, "seed": int, "error": str, "command": str}],
    "warnings?": [
        {
            **dict.fromkeys(("name", "message", "path", "rendered"), str),
            **dict.fromkeys(("line", "column"), (int, None)),
            "suggestion": (str, None),
        }
    ],
    "study?": {"axes?": [{"path": (str, [str]), "name?": (str, None), "range?": ({"scale?": str}, None)}]},
}
"""Shape of the manifest; one of another shape is damaged, or was written by another program."""
_SHARDS = "shards"
_LOCK = "lock"

_MIN_AGE_S = 1.0
_MAX_AGE_S = 30.0
_AGE_OF_ELAPSED = 0.005
_MAX_RUNS = 2000
"""Maximum number of runs of a shard.

A finished run starts the write of a shard if the last write was more than 0.5 % of the sweep's time so far ago, but at
least 1 s and at most 30 s, or if `_MAX_RUNS` runs are waiting. This bounds the work that a kill loses, and the number
of shards.
"""


@dataclass(frozen=True, slots=True)
class _Found:
    """Runs in the shards of a directory."""

    runs: dict[Key, Run]
    spoilt: list[Path]
    """Paths of the damaged shards."""


class Store:
    """A sweep's directory, to be written while `opened` holds its lock."""

    def __init__(self, directory: Path, identity: Mapping[str, object], about: Mapping[str, object]) -> None:
        """Set the directory, the identity of its sweep, and further entries of the manifest; nothing is written."""
        self.directory = directory
        self.identity = dict(identity)
        """Properties that must equal those of the sweep in the directory."""
        self.about = dict(about)
        """Further entries of the manifest."""
        self.notes: list[str] = []
        """Notes for the user about damaged shards."""
        self.warnings: Sequence[ScenarioWarning] = ()
        """Warnings for the manifest; to be set before `state`."""
        self._lock: IO[str] | None = None
        self._started = self._written = time.monotonic()
        self._waiting: list[tuple[Key, Run]] = []
        self.runs: dict[Key, Run] = {}
        """All finished runs: those read by `opened`, and those added since then."""

    @contextmanager
    def opened(self, *, extend: bool = False) -> Iterator[Store]:
        """Take the lock, read the finished runs, and hold the lock within the context.

        Raises:
            OutputError: The directory is another sweep's (without `extend`), is in use by another process, or cannot
                be written.

        """
        with writing(self.directory):
            if (self.directory / RUN_MANIFEST).exists():
                raise OutputError(
                    f"{self.directory} is the directory of a run, not of a sweep; choose another directory"
                )
        check_writable(self.directory / _SHARDS)
        with _locked(self.directory):
            self._begin(extend)
            yield self

    def _begin(self, extend: bool) -> None:
        before, why = _manifest(self.directory)
        if before is None and _shards(self.directory):
            raise OutputError(
                f"{self.directory} has shards but no readable {MANIFEST} ({why}), so that the sweep of the shards is "
                f"unknown. Restore {MANIFEST} from a copy, or choose another directory"
            )
        if before is not None and (other := _other_program(before["identity"], self.identity)):
            raise OutputError(
                f"{self.directory} was begun by {other}: runs of two programs would be mixed. Choose another directory"
            )
        if before is not None and not extend:
            changed = _changed(cast("Mapping[str, object]", before["identity"]), self.identity)
            if changed:
                raise OutputError(
                    f"{self.directory} holds another sweep: {changed}. Choose another directory, or use its matching "
                    "runs with --extend"
                )
        if before is not None:
            self.about["begun"] = before["begun"]
        # Temporary files of a killed process are removed; no other process writes here while the lock is held.
        for folder in (self.directory, self.directory / _SHARDS):
            for partial in folder.glob(".*.partial"):
                with suppress(OSError):
                    partial.unlink()
        found = read_runs(self.directory)
        for path in found.spoilt:
            with writing(path):
                path.rename(_free(path.with_suffix(".spoilt")))
            self.notes.append(f"{path.name} is damaged: its runs are run again, and the file is kept as *.spoilt")
        self.runs = found.runs
        self.state("running")

    def add(self, key: Key, run: Run) -> None:
        """Add a finished run, which is written to the disk by `flush` or with a later run; raises OutputError."""
        self.runs[key] = run
        self._waiting.append((key, run))
        now = time.monotonic()
        age = min(max(_MIN_AGE_S, _AGE_OF_ELAPSED * (now - self._started)), _MAX_AGE_S)
        if now - self._written >= age or len(self._waiting) >= _MAX_RUNS:
            self.flush()

    def flush(self) -> None:
        """Write waiting runs to the disk; if that raises OutputError, they are still waiting."""
        if self._waiting:
            data = _encoded(self._waiting)
            name = f"{time.time_ns():020d}-{_hash(data)}.parquet"
            write_file(self.directory / _SHARDS / name, data, durable=True)
            self._waiting = []
        self._written = time.monotonic()

    def state(
        self,
        state: str,
        digest: str | None = None,
        counts: list[int] | None = None,
        failures: Sequence[Failure] = (),
    ) -> None:
        """Write the manifest; raises OutputError.

        `state` is `running`, `interrupted`, `failed` or `complete`. `digest` is that of a complete sweep, and `counts`
        has the number of replications of each cell, once it is final.
        """
        end = {
            "digest": digest,
            "replications": counts,
            "failures": [failure.as_json() for failure in failures],
            "warnings": [asdict(warning) for warning in self.warnings],
        }
        manifest = {"sweep": _VERSION, "state": state, **end, **self.about, "identity": self.identity}
        write_file(self.directory / MANIFEST, json.dumps(stored.sealed(manifest), indent=1) + "\n", durable=True)


def read_manifest(directory: Path) -> dict[str, Any]:
    """Read the manifest of a sweep's directory; raises OutputError."""
    found, why = _manifest(directory)
    if found is not None:
        return found
    if why == _NONE:
        raise OutputError(f"{directory} is not a sweep's directory: {why}; `tailback sweep --out DIRECTORY` makes one")
    advice = "restore it from a copy, or run the sweep again into another directory"
    raise OutputError(f"{directory / MANIFEST} is not the manifest of a sweep: {why}; {advice}")


def is_running(directory: Path) -> bool:
    """Return `True` if a process holds the lock of the directory; `False` also if the lock cannot be opened."""
    try:
        with _lock_file(directory, os.O_RDONLY) as file:
            return not _lock(file, shared=True)
    except OSError:
        return False


def read_runs(directory: Path) -> _Found:
    """Read all shards; damaged ones are left out and listed in `spoilt`. Raises OutputError if one is not readable."""
    import polars as pl

    runs: dict[Key, Run] = {}
    spoilt = []
    for path in _shards(directory):
        try:
            data = stored.contents(path)
        except OSError as error:
            if error.errno in (errno.EACCES, errno.EPERM, errno.EIO):
                advice = "make it readable, or move it away, after which its runs are run again"
                raise OutputError(f"{path} cannot be read: {stored.reason(error)}; {advice}") from error
            # It is a directory, a pipe, or a broken link.
            spoilt.append(path)
            continue
        if path.stem.rpartition("-")[2] != _hash(data):
            spoilt.append(path)
            continue
        try:
            runs.update(_decoded(data))
        except (OSError, ValueError, pl.exceptions.PolarsError, pl.exceptions.PanicException):
            # The bytes match the hash, but are not a shard of this format.
            spoilt.append(path)
    return _Found(runs, spoilt)


def _shards(directory: Path) -> list[Path]:
    """Return the paths of all shards, in the order in which they were written."""
    folder = directory / _SHARDS
    try:
        # `glob` would skip files without read permission.
        return sorted(path for path in folder.iterdir() if path.suffix == ".parquet" and path.name[0] != ".")
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        advice = "make it readable, or choose another directory"
        raise OutputError(f"{folder} cannot be read: {stored.reason(error)}; {advice}") from error


def _free(path: Path) -> Path:
    """Return the path if it does not exist, or else the first unused path with a number before the suffix."""
    names = (path, *(path.with_suffix(f".{n}{path.suffix}") for n in range(1, 10_000)))
    return next(name for name in names if not os.path.lexists(name))


_NONE = f"it has no {MANIFEST}"
"""Reason of `_manifest` for a directory without a manifest."""


def _manifest(directory: Path) -> tuple[dict[str, Any] | None, str]:
    """Return the manifest and "", or `None` and the reason why it cannot be used.

    Raises OutputError if another user or version of the program may be able to read it.
    """
    path = directory / MANIFEST
    try:
        found = stored.parsed(stored.contents(path))
    except (FileNotFoundError, NotADirectoryError):
        return None, _NONE
    except ValueError as error:
        return None, str(error)
    except OSError as error:
        if error.errno in (errno.EACCES, errno.EPERM, errno.EIO):
            advice = "make it readable, or choose another directory"
            raise OutputError(f"{path} cannot be read: {stored.reason(error)}; {advice}") from error
        return None, stored.reason(error)
    if wrong := stored.unfit(found, {"sweep": int}):
        return None, wrong
    if found["sweep"] != _VERSION:
        reason = f"has format version {found['sweep']}, but this program reads version {_VERSION}"
        raise OutputError(f"{path} {reason}; use the program that wrote it, or choose another directory")
    wrong = stored.unfit(found, _SHAPE) or _unfit(found)
    return (None, wrong) if wrong else (found, "")


def _unfit(manifest: Mapping[str, Any]) -> str:
    """Return the contradiction in a manifest of the right shape; empty if there is none."""
    identity = manifest["identity"]
    names = [*manifest["axes"], *(["mechanism"] if manifest["mechanisms"] else [])]
    for cell in identity["cells"]:
        if len(cell) != 2 or stored.unfit(cell[0], dict) or stored.unfit(cell[1], str):
            return "a point is not a pair of a setting and a hash"
        wrong = (stored.unfit(value, (str, int, float, bool)) for value in cell[0].values())
        if list(cell[0]) != names or any(wrong):
            return "a point does not have a value for each axis"
        if manifest["mechanisms"] and cell[0]["mechanism"] not in manifest["mechanisms"]:
            return "a point has an unknown mechanism"
    counts = manifest["replications"] or []
    if counts and len(counts) != len(identity["cells"]):
        return "the lists of replications and of points have different lengths"
    if not 0.0 < identity["confidence"] < 1.0 or min([identity["seed"], identity["replications"], *counts]) < 0:
        return "a number is out of range"
    return ""


def _other_program(before: Mapping[str, object], now: Mapping[str, object]) -> str:
    """Return the program that began a sweep in words; empty if it is this one."""
    if before.get("tailback") != now["tailback"]:
        return f"Tailback {before.get('tailback')}, and this is Tailback {now['tailback']}"
    if before.get("engine") != now["engine"]:
        return (
            f"another build of Tailback {now['tailback']} (engine {before.get('engine')}, and this is engine "
            f"{now['engine']})"
        )
    return ""


def _changed(before: Mapping[str, object], now: Mapping[str, object]) -> str:
    """Return the differences of two sweeps in words; empty if there are none."""
    words = {
        "scenario": "the scenario",
        "cells": "the points or their settings",
        "seed": "the seed",
        "replications": "the number of replications",
        "until": "the stopping rule",
        "confidence": "the confidence",
    }
    # Through JSON, as `before` was: it turns tuples into lists.
    now = json.loads(json.dumps(now))
    differing = [word for key, word in words.items() if before.get(key) != now.get(key)]
    return f"{' and '.join(differing)} changed" if differing else ""


def _hash(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:16]


def _schema() -> dict[str, Any]:
    import polars as pl

    texts = {name: pl.String() for name in ("scope", "name", "metric")}
    return {
        "scenario": pl.String(),
        "seed": pl.Int64(),
        "digest": pl.String(),
        "packet_hops": pl.Int64(),
        "cpu_s": pl.Float64(),
        "measures": pl.List(pl.Struct({**texts, "value": pl.Float64()})),
    }


def _encoded(rows: list[tuple[Key, Run]]) -> bytes:
    import polars as pl

    frame = pl.DataFrame(
        {
            "scenario": [key[0] for key, _ in rows],
            "seed": [key[1] for key, _ in rows],
            "digest": [run.digest for _, run in rows],
            "packet_hops": [run.packet_hops for _, run in rows],
            "cpu_s": [run.cpu_s for _, run in rows],
            "measures": [
                [{"scope": m.scope, "name": m.name, "metric": m.metric, "value": v} for m, v in run.measures.items()]
                for _, run in rows
            ],
        },
        schema=_schema(),
    )
    buffer = io.BytesIO()
    frame.write_parquet(buffer)
    return buffer.getvalue()


def _decoded(data: bytes) -> dict[Key, Run]:
    """Return the runs of a shard; raises ValueError or an error of Polars if the data are not a shard."""
    import polars as pl

    frame: pl.DataFrame = pl.read_parquet(io.BytesIO(data))
    if frame.schema != pl.Schema(_schema()):
        raise ValueError("the columns are not those of a shard")
    runs = {}
    for row in frame.iter_rows(named=True):
        if None in row.values() or any(m is None or None in m.values() for m in row["measures"]):
            raise ValueError("a value is missing")
        measures = {Measure(m["scope"], m["name"], m["metric"]): m["value"] for m in row["measures"]}
        if any(key.metric not in METRICS or not math.isfinite(value) for key, value in measures.items()):
            raise ValueError("a metric is unknown, or its value is not a finite number")
        runs[row["scenario"], row["seed"]] = Run(row["seed"], row["digest"], measures, row["packet_hops"], row["cpu_s"])
    return runs


def _lock_file(directory: Path, flags: int) -> IO[str]:
    """Open the file of the lock; raises OSError, also if it is not a regular file."""
    handle = os.open(directory / _LOCK, flags | getattr(os, "O_NONBLOCK", 0), 0o666)
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise OSError(f"{_LOCK} is not a regular file")
    # The content of the file, the name of the process that holds the lock, is only for messages.
    return os.fdopen(handle, "r+" if flags & os.O_RDWR else "r", encoding="utf-8", errors="replace")


@contextmanager
def _locked(directory: Path) -> Iterator[None]:
    """Hold the directory's lock; the operating system frees it when the process ends."""
    try:
        file = _lock_file(directory, os.O_RDWR | os.O_CREAT)
    except OSError as error:
        advice = f"delete {_LOCK} there, or choose another directory"
        raise OutputError(f"{directory} cannot be locked: {stored.reason(error)}; {advice}") from error
    with file:
        if not _lock_soon(file):
            holder = file.read(200).strip()
            raise OutputError(
                f"another process is writing to {directory}{f' ({holder})' if holder else ''}; wait for it, or end it"
            )
        # On a full disk the name of the process is not written, but the lock is held.
        with suppress(OSError):
            file.truncate(0)
            file.write(f"process {os.getpid()} on {socket.gethostname()}")
            file.flush()
        yield


def _lock_soon(file: IO[str]) -> bool:
    """Try twice to take the lock, as another process may hold it briefly for `is_running`."""
    if _lock(file):
        return True
    time.sleep(0.2)
    return _lock(file)


def _lock(file: IO[str], *, shared: bool = False) -> bool:
    """Take the lock, which is held while the file is open; `False` if another process has it."""
    try:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(file.fileno(), (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
