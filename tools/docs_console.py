"""Runs the commands and the Python sessions of the documentation, and compares their output with that on the pages.

A fenced block of kind `console` has commands after `$ ` and, below each, its output (standard output and error); a
block of kind `pycon` has a Python session. A block of kind `python` runs in the session of its page; what it prints is
not on the page. All blocks of a page run in one copy of docs/examples, except those with a comment
`<!-- not run: REASON -->` in the line before them. With --write, which is for intended changes, the output on the pages
is replaced.
"""

from __future__ import annotations

import argparse
import contextlib
import doctest
import io
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from difflib import unified_diff
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
EXAMPLES = ROOT / "docs" / "examples"
_BLOCK = re.compile(r"(?<! -->\n)^```(console|pycon|python)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def pages() -> list[Path]:
    """Return all pages with commands or sessions."""
    gallery = ROOT / "python" / "tailback" / "gallery" / "README.md"
    found = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")), gallery]
    return [page for page in found if page.exists() and _BLOCK.search(page.read_text(encoding="utf-8"))]


def refreshed(text: str, folder: Path) -> str:
    """Return the text of a page with the current output of its blocks."""
    variables: dict[str, object] = {"__name__": "__main__"}

    def block(match: re.Match[str]) -> str:
        kind, body = match[1], match[2]
        if kind == "python":
            _script(body, variables)
            return match[0]
        lines = _console(body, folder) if kind == "console" else _session(body, variables)
        return f"```{kind}\n" + "".join(line.rstrip() + "\n" for line in lines) + "```"

    return _BLOCK.sub(block, text)


def _console(body: str, folder: Path) -> Iterator[str]:
    """Yield the commands of a block, each followed by the lines of its current output."""
    for command in _commands(body):
        done = subprocess.run(
            ["bash", "-c", command],
            cwd=folder,
            env=os.environ | {"NO_COLOR": "1", "COLUMNS": "100", "PATH": f"{folder / '.bin'}:{os.environ['PATH']}"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        yield f"$ {command}"
        # Tables end with an empty line, which pages leave out.
        yield from done.stdout.rstrip().splitlines()


def _commands(body: str) -> Iterator[str]:
    """Yield the commands of a block; a command continues after a backslash at the end of a line."""
    lines = iter(body.splitlines())
    for line in lines:
        if line.startswith("$ "):
            command = line[2:]
            while command.endswith("\\"):
                command += "\n" + next(lines)
            yield command


def _session(body: str, variables: dict[str, object]) -> Iterator[str]:
    """Yield the lines of a Python session with its current output."""
    for example in doctest.DocTestParser().get_examples(body):
        first, *rest = example.source.splitlines()
        yield f">>> {first}"
        yield from (f"... {line}" for line in rest)
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            exec(compile(example.source, "<page>", "single"), variables)
        yield from out.getvalue().rstrip().splitlines()


def _script(body: str, variables: dict[str, object]) -> None:
    """Run a block of Python."""
    with contextlib.redirect_stdout(io.StringIO()):
        exec(compile(body, "<page>", "exec"), variables)


@contextlib.contextmanager
def workplace() -> Iterator[Path]:
    """Change into a copy of docs/examples and yield its path; its `.bin` has the `tailback` of this interpreter."""
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "examples"
        shutil.copytree(EXAMPLES, folder)
        program = folder / ".bin" / "tailback"
        program.parent.mkdir()
        program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m tailback "$@"\n', encoding="utf-8")
        program.chmod(0o755)
        os.chdir(folder)
        try:
            yield folder
        finally:
            os.chdir(before)


def main() -> int:
    """Compare or rewrite the given pages, by default all; return 1 if a page is stale and was not rewritten."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("pages", nargs="*", type=Path, help="default: all pages with commands or sessions")
    parser.add_argument("--write", action="store_true", help="write the current output to the pages")
    arguments = parser.parse_args()
    stale = 0
    output: Callable[[str], object] = print
    for page in [path.resolve() for path in arguments.pages] or pages():
        before = page.read_text(encoding="utf-8")
        with workplace() as folder:
            after = refreshed(before, folder)
        if after == before:
            continue
        stale += 1
        if arguments.write:
            page.write_text(after, encoding="utf-8")
            output(f"written: {page.relative_to(ROOT)}")
        else:
            name = str(page.relative_to(ROOT))
            output("".join(unified_diff(before.splitlines(True), after.splitlines(True), name, f"{name} (current)")))
    if stale and not arguments.write:
        output(f"{stale} pages are stale; if the change is intended: {sys.executable} tools/docs_console.py --write")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
