"""Run directories: manifest, scenario and Parquet tables, written to a temporary directory that is then renamed."""

from __future__ import annotations

import errno
import glob
import io
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tailback.errors import OutputError
from tailback.results import stored, tables
from tailback.results.copies import with_copied_files
from tailback.results.tables import TABLE_NAMES, TableName

if TYPE_CHECKING:
    import polars as pl

    from tailback.run.result import Result

__all__ = [
    "MANIFEST",
    "RunDirectory",
    "check_target",
    "check_writable",
    "new_directory",
    "read_manifest",
    "read_table",
    "write",
    "write_file",
    "writing",
]

MANIFEST = "manifest.json"
"""Name of the manifest's file in a run directory."""
_VERSION = 1
"""Version of the format of a run directory."""
_OLD = ".old"
"""Suffix of the directory to which a run directory is moved while it is replaced."""
_SHAPE = {
    "tailback": str,
    "state": str,
    "title": str,
    "scenario_hash": str,
    "confidence": float,
    "base_seed": int,
    "digest": str,
    "replications": [{"seed": int, "digest": str}],
    "files?": dict,
}
"""Shape of a manifest, see `stored.unfit`."""
_LATER = ("transfers", "transport_changes", "queue_by_flow", "delays")
"""Tables that run directories of earlier versions lack."""
_AGAIN = "run the scenario again into another directory, or into this one with --force"
"""Advice of errors about unreadable or damaged files."""


def write(result: Result, directory: str | PathLike[str], *, replace: bool = False) -> Path:
    """Write a result as a run directory and return its path.

    Raises OutputError if the path cannot be used (see `check_target`) or a file cannot be written.
    """
    manifest = result.manifest()
    about = {key: value for key, value in manifest.items() if key in ("tailback", "scenario_hash", "digest")}

    def fill(folder: Path) -> None:
        (folder / "scenario.toml").write_text(with_copied_files(result.scenario, folder).to_toml(), encoding="utf-8")
        for name in TABLE_NAMES:
            # Encoded in memory first, so that a full disk raises an OSError of the system, not an error of Polars.
            buffer = io.BytesIO()
            result.table(name).write_parquet(buffer, metadata=tables.parquet_metadata(name, about))
            (folder / f"{name}.parquet").write_bytes(buffer.getbuffer())
        files = {path.relative_to(folder).as_posix(): path for path in sorted(folder.rglob("*")) if path.is_file()}
        hashes = {name: stored.digest_of(path.read_bytes()) for name, path in files.items()}
        # The manifest is written last, so that a directory with a manifest is complete.
        text = json.dumps(stored.sealed({**manifest, "files": hashes}), indent=2)
        (folder / MANIFEST).write_text(text + "\n", encoding="utf-8")

    return new_directory(directory, fill, replace=replace)


def check_target(directory: str | PathLike[str], *, replace: bool = False) -> Path:
    """Return the resolved path of a run directory to be written, and create the directory that contains it.

    Raises OutputError if the path is not writable, or is a file or a directory with content; with `replace`, a run
    directory may have content. Call it before a run, so that no results are lost. A run directory whose replacement
    was interrupted is moved back first.
    """
    # Links are followed, since the rename at the end would replace a link itself; a cycle of links stays a link.
    target = Path(os.path.realpath(fspath(directory)))
    with writing(target):
        if target.is_symlink():
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
        if target.is_dir() and any(target.iterdir()):
            if not replace:
                raise OutputError(
                    f"{target} exists and is not empty; choose another directory, or replace it with --force"
                )
            if not (target / MANIFEST).exists():
                raise OutputError(
                    f"{target} is not a run directory (no {MANIFEST}), so it is not replaced; choose another directory"
                )
        elif target.exists() and not target.is_dir():
            raise OutputError(f"{target} is a file; choose another name for the run directory")
    for old in _replaced(target):
        with writing(target):
            old.rename(target)
            old.parent.rmdir()
        return check_target(directory, replace=replace)
    with writing(target):
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=target.parent):
            pass
    return target


def new_directory(directory: str | PathLike[str], fill: Callable[[Path], None], *, replace: bool = False) -> Path:
    """Write a directory completely or not at all, and return its path.

    `fill` writes the files to the temporary directory that it is given, which is then synced and renamed. Raises
    OutputError if the path cannot be used (see `check_target`) or a file cannot be written.
    """
    target = check_target(directory, replace=replace)
    with writing(target):
        temporary = Path(tempfile.mkdtemp(prefix=f".{target.name}.", suffix=".partial", dir=target.parent))
        try:
            fill(temporary)
            for file in temporary.rglob("*"):
                _sync(file)
            _sync(temporary)
            temporary.chmod(0o777 & ~_umask())
            if target.is_dir() and any(target.iterdir()):
                old = Path(tempfile.mkdtemp(prefix=f".{target.name}.", suffix=_OLD, dir=target.parent))
                target.rename(old / "run")
                temporary.rename(target)
                shutil.rmtree(old, ignore_errors=True)
            else:
                temporary.rename(target)
            _sync(target.parent)
        except BaseException:
            shutil.rmtree(temporary, ignore_errors=True)
            raise
    return target


def _replaced(target: Path) -> Iterator[Path]:
    """Yield the old run directories of `target` if it is missing because a process was killed while it replaced it."""
    with suppress(OSError):
        if not target.exists():
            for old in sorted(target.parent.glob(f".{glob.escape(target.name)}.*{_OLD}")):
                if (old / "run" / MANIFEST).exists():
                    yield old / "run"


def check_writable(directory: Path) -> None:
    """Create a directory, if it is missing, and check that files can be created in it; raises OutputError."""
    with writing(directory):
        directory.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=directory):
            pass


def write_file(path: str | PathLike[str], content: str | bytes, *, durable: bool = False) -> Path:
    """Write a file completely or not at all, and return its path; raises OutputError.

    With `durable`, the directory of the file is synced too, so that its name survives a power failure.
    """
    target = Path(fspath(path)).absolute()
    data = content.encode() if isinstance(content, str) else content
    with writing(target):
        target.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".partial", dir=target.parent)
        temporary = Path(name)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            temporary.chmod(0o666 & ~_umask())
            temporary.replace(target)
            if durable:
                _sync(target.parent)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
    return target


def read_manifest(directory: str | PathLike[str]) -> dict[str, Any]:
    """Return the manifest of a run directory; raises OutputError if it is missing, unreadable or damaged."""
    path = Path(fspath(directory)) / MANIFEST
    try:
        found = stored.parsed(stored.contents(path))
    except (FileNotFoundError, NotADirectoryError):
        old = next(_replaced(path.parent.absolute()), None)
        where = (
            f"; its replacement was interrupted, and the old directory is {old}: move it back"
            if old
            else "; `tailback run --out DIRECTORY` makes one"
        )
        raise OutputError(f"{directory} is not a run directory: it has no {MANIFEST}{where}") from None
    except (OSError, ValueError) as error:
        raise OutputError(f"{path} cannot be read: {stored.reason(error)}; {_AGAIN}") from error
    if wrong := stored.unfit(found, {"manifest": int}) or stored.unfit(found, _SHAPE):
        raise OutputError(f"{path} is not the manifest of a run: {wrong}; {_AGAIN}")
    if found["manifest"] != _VERSION:
        raise OutputError(
            f"{path} has format version {found['manifest']}, but this program reads version {_VERSION}; "
            "use the program that wrote it"
        )
    return found


class RunDirectory:
    """A run directory for figures: title, confidence level, end of the warm-up, and tables, read when they are used."""

    def __init__(self, directory: str | PathLike[str]) -> None:
        """Read the manifest; raises OutputError."""
        manifest = read_manifest(directory)
        self._directory = directory
        self._files = manifest.get("files") or {}
        self.title = str(manifest["title"])
        """Title of the scenario."""
        self.confidence = float(manifest["confidence"])
        """Confidence level of the intervals, 0 to 1."""
        self.warmup_s = float((manifest.get("warmup") or {}).get("seconds") or 0.0)
        """End of the warm-up, simulated s; 0 if the manifest states none."""

    def table(self, name: TableName) -> pl.DataFrame:
        """Return a table; empty if the version that wrote the directory did not have it yet. Raises OutputError."""
        if name in _LATER and f"{name}.parquet" not in self._files:
            return tables.build(name, [], 0)
        return read_table(self._directory, name)


def read_table(directory: str | PathLike[str], name: TableName) -> pl.DataFrame:
    """Return a table of a run directory; raises OutputError if it is missing, damaged or changed."""
    import polars as pl

    files = read_manifest(directory).get("files", {})
    path = Path(fspath(directory)) / f"{name}.parquet"
    try:
        data = stored.contents(path)
    except (OSError, ValueError) as error:
        raise OutputError(f"{path} cannot be read: {stored.reason(error)}; {_AGAIN}") from error
    if path.name in files and files[path.name] != stored.digest_of(data):
        raise OutputError(f"{path} is damaged: its hash differs from that in {MANIFEST}; {_AGAIN}")
    try:
        table = pl.read_parquet(io.BytesIO(data))
    except (OSError, pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        raise OutputError(f"{path} cannot be read: it is not a Parquet file; {_AGAIN}") from error
    if wrong := tables.unfit(name, table):
        raise OutputError(f"{path} is not the table of a run: {wrong}; {_AGAIN}")
    return table


def _sync(path: Path) -> None:
    """Sync a file or directory, so that a full disk is detected before the rename."""
    if os.name == "nt" and path.is_dir():
        return  # Windows cannot open directories
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _umask() -> int:
    """Return the file mode creation mask of the process, which can only be read by setting it."""
    mask = os.umask(0o022)
    os.umask(mask)
    return mask


@contextmanager
def writing(target: Path) -> Iterator[None]:
    """Convert an OSError of a write to `target` into an OutputError with advice."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            reason = "the disk is full; free some space, or choose another disk"
        elif error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
            reason = "the directory is not writable; choose another, or change its permissions"
        elif error.errno in (errno.EEXIST, errno.ENOTDIR, errno.EISDIR, errno.ENOTEMPTY, errno.ELOOP):
            reason = f"the path cannot be used ({error.strerror}); move the file there away, or choose another name"
        else:
            reason = f"{error.strerror or error}; choose another place, or try again"
        raise OutputError(f"{target} was not written: {reason}. No incomplete file was left") from error
