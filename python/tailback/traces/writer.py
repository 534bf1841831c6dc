"""Folders of traces: a folder for each replication, with a manifest and Parquet parts.

A part is written under a temporary name, synced and renamed, so that after a full disk or a kill all parts with their
final names are complete.
"""

from __future__ import annotations

import io
import json
import os
import shutil
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tailback import _native
from tailback.errors import Cancelled, OutputError, UsageError
from tailback.results.directory import write_file, writing
from tailback.traces.columns import Chunk, Layout, columns

if TYPE_CHECKING:
    from collections.abc import Callable

    import polars as pl

    from tailback.traces.selection import Trace

__all__ = ["MANIFEST", "PART_ROWS", "VERSION", "Writer", "prepare", "replications", "write_trace"]

MANIFEST = "trace.json"
"""Name of the manifest in the folder of a replication."""
VERSION = 1
"""Version of the format of a folder."""
PART_ROWS = 500_000
"""Minimum number of rows of a part, except the last one."""
_PREFIX = "seed-"


def replications(directory: Path) -> list[Path]:
    """Return the folders of replications in a folder of traces, in order of their seeds."""
    found = [path for path in directory.glob(f"{_PREFIX}*") if path.name.removeprefix(_PREFIX).isdecimal()]
    return sorted((path for path in found if path.is_dir()), key=lambda path: int(path.name.removeprefix(_PREFIX)))


def prepare(trace: Trace) -> Path:
    """Create and return the folder of a trace; with `trace.replace`, earlier traces in it are removed.

    Raises UsageError if the trace has no directory, and OutputError if the folder cannot be created, has traces that
    are not to be replaced, or has other files.
    """
    if trace.directory is None:
        raise UsageError("the trace has no directory; state one, such as trace=Trace('traces/first')")
    target = Path(os.path.realpath(trace.directory))
    with writing(target):
        if target.exists() and not target.is_dir():
            raise OutputError(f"{target} is a file; choose another name for the folder of traces")
        if target.is_dir() and any(target.iterdir()):
            own = replications(target)
            if not trace.replace:
                raise OutputError(
                    f"{target} exists and is not empty; choose another directory, or replace it with --force"
                )
            if set(own) != set(target.iterdir()):
                raise OutputError(
                    f"{target} has other files than traces, so it is not replaced; choose another directory"
                )
            for folder in own:
                shutil.rmtree(folder)
        target.mkdir(parents=True, exist_ok=True)
    return target


class Writer:
    """Writes the chunks of one replication's trace."""

    def __init__(self, folder: Path, manifest: dict[str, Any]) -> None:
        """Create the folder and its manifest; `manifest["names"]` has the lists of names of the network."""
        self._folder = folder
        self._manifest = manifest
        self._layout = Layout(manifest["names"])
        self._frames: list[pl.DataFrame] = []
        self._waiting = 0
        self._parts: list[int] = []
        with writing(folder):
            folder.mkdir(parents=True, exist_ok=True)
        self._write_manifest("running")

    def add(self, count: int, chunk: Chunk) -> None:
        """Add a chunk of `count` rows, and write the part if it is full; raises OutputError."""
        self._frames.append(self._layout.frame(count, chunk))
        self._waiting += count
        if self._waiting >= PART_ROWS:
            self._write_part()

    def close(self, state: str, **found: object) -> None:
        """Write the waiting rows as the last part, and the final manifest with `state` and the entries `found`.

        Raises OutputError.
        """
        if self._waiting or not self._parts:
            self._write_part()
        self._write_manifest(state, rows=sum(self._parts), **found)

    def abandon(self) -> None:
        """Note in the manifest, if it can be written, that the trace ended early; the waiting rows are lost."""
        with suppress(OutputError):
            self._write_manifest("interrupted", rows=sum(self._parts))

    def _write_manifest(self, state: str, **found: object) -> None:
        manifest = {**self._manifest, "state": state, "parts": self._parts, **found}
        write_file(self._folder / MANIFEST, json.dumps(manifest, indent=1) + "\n", durable=True)

    def _write_part(self) -> None:
        import polars as pl

        rows = pl.concat(self._frames, rechunk=False) if self._frames else pl.DataFrame(schema=self._layout.types)
        self._frames.clear()
        self._waiting = 0
        # Encoded in memory first, so that a full disk raises an OSError of the system, not an error of Polars.
        buffer = io.BytesIO()
        units = {column.name: column.unit for column in columns() if column.unit}
        rows.write_parquet(buffer, row_group_size=100_000, metadata={"tailback.units": json.dumps(units)})
        name = f"part-{len(self._parts):05}.parquet"
        temporary, target = self._folder / f"{name}.tmp", self._folder / name
        with writing(target):
            try:
                with temporary.open("wb") as file:
                    file.write(buffer.getbuffer())
                    file.flush()
                    os.fsync(file.fileno())
                temporary.replace(target)
            except BaseException:
                temporary.unlink(missing_ok=True)
                raise
        self._parts.append(rows.height)


def write_trace(
    trace: Trace,
    scenario: _native.Scenario,
    seed: int,
    cancel: _native.Cancel | None = None,
    progress: Callable[[float], object] | None = None,
    engine: str | None = None,
    warmup_s: float | None = None,
    parallel: int = 1,
) -> str:
    """Run a replication, write its trace, and return its report as JSON.

    Raises OutputError if the trace cannot be written, and Cancelled if the run was interrupted; the rows up to then are
    written.
    """
    assert trace.directory is not None, "`prepare` has checked the directory"
    network = trace.network(scenario, seed)
    manifest = {
        "trace": VERSION,
        "tailback": _native.version,
        "title": scenario.title,
        "scenario_hash": scenario.hash,
        "seed": seed,
        "warmup_s": warmup_s,
        "selection": trace.as_json(),
        "columns": [
            {"name": column.name, "unit": column.unit, "about": column.about, "names": column.names}
            for column in columns()
        ],
        **network,
    }
    writer = Writer(Path(os.path.realpath(trace.directory)) / f"{_PREFIX}{seed}", manifest)
    try:
        report, _, found = _native.trace(
            scenario, seed, writer.add, trace.chosen(), cancel, progress, engine, warmup_s, parallel
        )
    except (Cancelled, KeyboardInterrupt):
        writer.close("interrupted")
        raise
    except BaseException:
        writer.abandon()
        raise
    writer.close("complete", hash=found, digest=json.loads(report)["digest"])
    return report
