"""Trial of a component: a worker process loads its file and makes an instance, before this process does.

A crash or an endless loop there is an error of the scenario, and not the end of this process.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from tailback import _native
from tailback.laws import workers

__all__ = ["ADVICE", "Problem", "Trial", "of_library", "role_of"]


class Problem(NamedTuple):
    """Reason why a component cannot be used."""

    key: str
    """Key of the document: "file", "class" or "parameters"."""
    message: str
    advice: str
    parameter: tuple[str, bool] | None = None
    """The parameter that is wrong, and `True` if the class has it; `None`: not a single one, or not known."""


Found = tuple[tuple[str, int, bool, int] | None, Problem | None]
"""Properties of a component (hash, events, whether it may mark, options), or the problem."""

ADVICE = "mend the file; it is run when the scenario is loaded"
"""Advice for a file that cannot be run."""
LOAD_LIMIT_S = 30.0
"""Maximum duration of a trial, s of real time."""
_MAX_PASSED = 10_000
"""Maximum number of remembered trials."""


@dataclass(frozen=True, slots=True)
class Trial:
    """Loading of a class, and the making of an instance, in a worker process."""

    role: str
    folder: Path
    """Folder of the scenario, relative to the current directory."""
    file: str
    """Path of the file, relative to the folder."""
    name: str
    """Name of the class."""
    allow_files: bool
    """Whether files outside the folder are permitted."""
    parameters: str
    """Parameters of the instance, JSON."""
    directory: Path = field(default_factory=Path.cwd)
    """Current directory."""

    def found(self, digest: str | None) -> Found:
        """Return the properties of the class, or the problem; also one of a worker that crashes or does not end.

        `digest` is the hash of everything that is loaded, `None` if it is not known: what has passed with this hash is
        not tried again.
        """
        known, properties = _PASSED.get(self, (None, None))
        if digest is not None and known == digest:
            return properties, None
        try:
            return workers.called(_loaded, self, limit_s=LOAD_LIMIT_S)
        except workers.WorkerError as error:
            # Of the points of a sweep, only some may have the problem.
            given = "" if self.parameters == "{}" else f" with the parameters {self.parameters}"
            return None, Problem("file", f"{Path(self.file).name} cannot be loaded{given}: {error}", ADVICE)

    def passed(self, digest: str, found: Found) -> None:
        """Note that the class needs no other trial as long as the hash is the same."""
        if len(_PASSED) > _MAX_PASSED:
            _PASSED.clear()
        _PASSED[self] = digest, found[0]


_PASSED: dict[Trial, tuple[str, tuple[str, int, bool, int] | None]] = {}
"""Trials without a problem, with the hashes of what was loaded, and the properties."""


def _loaded(trial: Trial, cancel: _native.Cancel, progress: workers.Progress) -> Found:
    """Load a class and make an instance, in a worker."""
    del cancel, progress
    folder = str(trial.folder)
    found, problem = _native.load_component(
        trial.role, folder, trial.file, trial.name, trial.allow_files, trial.parameters
    )
    return found, None if problem is None else Problem(*problem)


def of_library(role: str, folder: Path, file: str, name: str, allow_files: bool, parameters: str) -> Found | None:
    """Load a class of a library in a worker; `None`: this process is a worker, or cannot start one.

    The extension calls this function, and loads the library itself only to execute a run in this process. Raises
    OSError if the file cannot be read.
    """
    if not workers.is_needed():
        return None
    trial = Trial(role, folder, file, name, allow_files, parameters)
    digest = hashlib.sha256((folder / file).read_bytes()).hexdigest()
    found = trial.found(digest)
    if found[1] is None:
        trial.passed(digest, found)
    return found


def role_of(file: Path, name: str) -> str | None:
    """Return the role of a class of a library or module; `None`: the file cannot be loaded, or has no such class.

    A worker loads the file, as that of a scenario.
    """
    try:
        return workers.called(_role, file, name, limit_s=LOAD_LIMIT_S) if workers.is_needed() else _role(file, name)
    except workers.WorkerError:
        return None


def _role(file: Path, name: str, *_: object) -> str | None:
    """Return the role of a class of a file that this process loads; `None`: it cannot, or there is no such class."""
    try:
        return _native.compiled_role(str(file), name)
    except ValueError:
        return None
