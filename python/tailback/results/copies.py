"""Copies of the files that a scenario names, next to its results, so that its runs can be repeated from there."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path, PurePath
from typing import Any

from tailback.laws.copies import UserFile, user_files
from tailback.scenario import Scenario

__all__ = ["with_copied_files"]

_OUTSIDE = "files"
"""Folder for copies of files that are not in the scenario's folder."""


def with_copied_files(scenario: Scenario, folder: Path, more: Iterable[UserFile] = ()) -> Scenario:
    """Copy the files that a scenario names into a folder, and `more`; return the scenario with their new paths there.

    Traces are copied as they are now. Files with users' components are written as they were loaded, so that an edited
    file does not replace the one that the results are from.
    """
    document: Any = scenario.document
    is_same = True
    for index, file in scenario.files.items():
        name, source = PurePath(file), (Path(scenario.folder) / file).absolute()
        if _is_outside(name):
            name = PurePath(_OUTSIDE, f"{index}-{name.name}")
            document["flows"][index]["source"]["file"] = name.as_posix()
            is_same = False
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, folder / name)
    renamed = {}
    for one in dict.fromkeys((*user_files(scenario.native), *more)):
        name = PurePath(one.file)
        if _is_outside(name):
            name = PurePath(_OUTSIDE, one.digest[:16], name.name)
            renamed[one.file] = name.as_posix()
        for relative, content in one.sources.items():
            target = folder / name.parent / relative
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
    if renamed:
        document = _renamed(document, renamed)
        is_same = False
    return scenario if is_same else Scenario.from_document(document, str(folder))


def _is_outside(name: PurePath) -> bool:
    return name.is_absolute() or ".." in name.parts


def _renamed(part: Any, names: Mapping[str, str]) -> Any:
    """Return a part of a document with new paths of the files of users' components."""
    if isinstance(part, list):
        return [_renamed(one, names) for one in part]
    if not isinstance(part, Mapping):
        return part
    # The parameters of a component are its own, and may have any keys.
    made = {key: value if key == "parameters" else _renamed(value, names) for key, value in part.items()}
    if "class" in made and made.get("file") in names:
        made["file"] = names[made["file"]]
    return made
