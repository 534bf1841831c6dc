"""Files for browsers that `make web` builds from the folder `web` of the repository: scripts, style sheets, the lab."""

from __future__ import annotations

from importlib.resources import files
from typing import TYPE_CHECKING

from tailback.errors import UsageError

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

__all__ = ["folder", "read"]


def folder() -> Traversable:
    """Return the folder of the built files.

    Raises:
        UsageError: They were not built.

    """
    built = files(__name__) / "built"
    if not built.is_dir():
        raise UsageError("this installation has no files for browsers: run `make web` in the source folder")
    return built


def read(name: str) -> str:
    """Return the text of a built file, such as `report.js`.

    Raises:
        UsageError: The file was not built.

    """
    file = folder() / name
    if not file.is_file():
        raise UsageError(f"this installation has no file {name} for browsers: run `make web` in the source folder")
    return file.read_text(encoding="utf-8")
