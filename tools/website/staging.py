"""Pages of the repository as sources of the site: copied with the files to which they link, samples with links."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

from samples import ROOT
from website.runnable import Links

__all__ = ["normal", "stage", "tracked"]

_LINK = re.compile(r"(?<!\\)(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^()\s]+)\)")
_FENCE = re.compile(r"^(```|~~~).*?^\1\s*$", re.MULTILINE | re.DOTALL)


def tracked(pattern: str) -> list[Path]:
    """Return the files that git tracks and that match a pattern, relative to the repository."""
    listed = subprocess.run(
        ["git", "-C", str(ROOT), "ls-files", "--", pattern], check=True, capture_output=True, text=True
    )
    return [Path(line) for line in listed.stdout.splitlines()]


def stage(pages: list[Path], target: Path) -> None:
    """Copy pages with the files to which they link; a link to a folder, or to Rust's sources, becomes its text.

    Samples and scenario files that the lab can run get a link to it.
    """
    known = set(pages)
    for page in pages:
        text = (ROOT / page).read_text(encoding="utf-8")
        place = target / page
        place.parent.mkdir(parents=True, exist_ok=True)
        links = Links(page)
        linked = partial(_linked, page=page, known=known, target=target, links=links)
        place.write_text(_outside_fences(links.after_samples(text), linked), encoding="utf-8")


def _outside_fences(text: str, change: Callable[[str], str]) -> str:
    """Apply a change to a page, but not to its blocks of code."""
    parts, last = [], 0
    for fence in _FENCE.finditer(text):
        parts += [change(text[last : fence.start()]), fence[0]]
        last = fence.end()
    return "".join([*parts, change(text[last:])])


def _linked(text: str, page: Path, known: set[Path], target: Path, links: Links) -> str:
    def one(found: re.Match[str]) -> str:
        mark, words, address = found.groups()
        if re.match(r"[a-z]+:|#", address):
            return found[0]
        path, _, anchor = address.partition("#")
        file = normal(page.parent / path)
        if (ROOT / file).is_dir():
            readme = file / "README.md"
            if readme not in known:
                return words
            return f"{mark}[{words}]({path.rstrip('/')}/README.md{'#' + anchor if anchor else ''})"
        if file in known:
            return found[0]
        if not (ROOT / file).is_file():
            sys.exit(f"{page}: the link {address} leads nowhere")
        copy = target / file
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / file, copy)
        # Sphinx copies pictures and downloads; an anchor in them would be one of a viewer of the repository.
        return found[0] if mark else f"{{download}}`{_plain(words)} <{path}>`{links.after_file(file)}"

    return _LINK.sub(one, text)


def _plain(words: str) -> str:
    """Return the text of a link without marks of Markdown, which a role cannot contain."""
    return words.replace("`", "").replace("<", "(").replace(">", ")")


def normal(path: Path) -> Path:
    """Return a relative path without `.` and `..`."""
    parts: list[str] = []
    for part in path.parts:
        if part == "..":
            parts.pop()
        elif part != ".":
            parts.append(part)
    return Path(*parts)
