"""Files with users' components, as they were loaded: for copies next to the results that they determine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePath

from tailback import _native
from tailback.laws import loading

__all__ = ["UserFile", "user_files"]


@dataclass(frozen=True, slots=True, eq=False)
class UserFile:
    """A file that a scenario names, and the modules that it imported from its folder."""

    file: str
    """Path of the file in the scenario."""
    digest: str
    """Hash of the contents, which is part of the scenario's hash."""
    sources: Mapping[str, bytes]
    """Contents by path relative to the folder of the file; the first one is that of the file."""


_KNOWN: dict[tuple[str, str], UserFile] = {}
"""Files by path and hash, so that scenarios with the same files share their contents."""


def user_files(scenario: _native.Scenario) -> tuple[UserFile, ...]:
    """Return the files of all users' components of a scenario, each once."""
    return tuple(dict.fromkeys(_known(*found) for found in scenario.user_files))


def _known(file: str, digest: str, content: bytes | None) -> UserFile:
    if (file, digest) not in _KNOWN:
        name = PurePath(file).name
        sources = loading.sources(digest, name) if content is None else {name: content}
        _KNOWN[file, digest] = UserFile(file, digest, sources)
    return _KNOWN[file, digest]
