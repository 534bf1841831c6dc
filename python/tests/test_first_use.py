"""The page "first steps" in a terminal of 80 columns: every command works, and no output is truncated."""

from __future__ import annotations

import doctest
import fcntl
import os
import pty
import re
import select
import shutil
import signal
import struct
import subprocess
import sys
import termios
import time
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "first-steps.md"
COLUMNS = 80
SECONDS = 120
"""Time limit of a command, s; the slowest takes a few seconds on an idle machine."""

_BLOCK = re.compile(r"^```(console|pycon)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_ESCAPE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_SECTION = "section of the page: "


@dataclass
class Step:
    """A command of the page, and the lines of output that the page shows below it."""

    command: str
    expected: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Shown:
    """Output of a terminal, and the exit code."""

    text: str
    code: int


@cache
def sections() -> dict[str, list[tuple[str, str]]]:
    """Return the code blocks of each section, as kind and text, by the heading of the section."""
    parts = re.split(r"^## (\d+\. .*)$", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
    return {
        heading: [(match[1], match[2]) for match in _BLOCK.finditer(text)]
        for heading, text in zip(parts[::2], parts[1::2], strict=True)
    }


def commands(heading: str) -> list[Step]:
    """Return the commands of a section with their expected output."""
    steps: list[Step] = []
    for kind, body in sections()[heading]:
        continued = False
        for line in body.splitlines() if kind == "console" else ():
            if continued:
                steps[-1].command += f"\n{line}"
            elif line.startswith("$ "):
                steps.append(Step(line[2:]))
            else:
                steps[-1].expected.append(line)
                continue
            continued = line.endswith("\\")
    return steps


def examples(heading: str) -> list[doctest.Example]:
    """Return the Python examples of a section."""
    bodies = [body for kind, body in sections()[heading] if kind == "pycon"]
    return [example for body in bodies for example in doctest.DocTestParser().get_examples(body)]


def in_terminal(command: list[str], folder: Path) -> Shown:
    """Run a command whose standard input, output and error are a terminal of 80 columns."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 40, COLUMNS, 0, 0))
    env = {name: value for name, value in os.environ.items() if name not in {"COLUMNS", "LINES", "NO_COLOR"}}
    env |= {"TERM": "xterm", "PATH": f"{folder / '.bin'}:{os.environ['PATH']}"}
    process = subprocess.Popen(
        command, cwd=folder, env=env, stdin=slave, stdout=slave, stderr=slave, start_new_session=True
    )
    os.close(slave)
    seen = b""
    end = time.monotonic() + SECONDS
    try:
        while select.select([master], [], [], max(0.0, end - time.monotonic()))[0]:
            try:
                part = os.read(master, 65536)
            except OSError:  # Linux signals the end of the output in this way, other systems by an empty read.
                break
            if not part:
                break
            seen += part
        code = process.wait(timeout=max(1.0, end - time.monotonic()))
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        os.close(master)
    text = _ESCAPE.sub("", seen.decode()).replace("\r\n", "\n")
    # A progress bar is overwritten after a carriage return and removed at the end.
    lines = (line.rpartition("\r")[2] for line in text.split("\n"))
    return Shown("\n".join(line for line in lines if "━" not in line), code)


@pytest.fixture(scope="module", params=["bash", "zsh"])
def shell(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    if shutil.which(name) is None:
        pytest.skip(f"{name} is not installed")
    return name


def workplace(folder: Path) -> Path:
    """Copy the files of the page into the folder, with a program `tailback` that runs this interpreter."""
    shutil.copytree(ROOT / "docs" / "examples", folder)
    program = folder / ".bin" / "tailback"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m tailback "$@"\n', encoding="utf-8")
    program.chmod(0o755)
    return folder


@pytest.fixture(scope="module")
def folder(shell: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder that all steps of a shell share, since later steps use files of earlier ones."""
    return workplace(tmp_path_factory.mktemp(shell) / "files")


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Run all Python examples of the page in one session, and return the output of each section."""
    folder = workplace(tmp_path_factory.mktemp("python") / "files")
    lines = [
        line
        for heading in sections()
        for line in (
            f"print({_SECTION + heading!r})",
            *(f"exec(compile({example.source!r}, '<page>', 'single'))" for example in examples(heading)),
        )
    ]
    (folder / "session.py").write_text("\n".join(lines) + "\n", encoding="utf-8")
    shown = in_terminal([sys.executable, "session.py"], folder)
    assert shown.code == 0, shown.text
    parts = re.split(f"^{_SECTION}(.*)$", shown.text, flags=re.MULTILINE)[1:]
    return dict(zip(parts[::2], parts[1::2], strict=True))


def check(text: str, expected: list[str]) -> None:
    """Check that the output has all lines of the page, none truncated, and that no line exceeds the terminal."""
    assert "Traceback" not in text
    assert "…" not in text
    assert "..." not in text
    for line in text.split("\n"):
        assert len(line) <= COLUMNS, line
    flat = " ".join(text.split())
    words = set(flat.split())
    for line in expected:
        # A wide table is split between columns, never within a cell; only sentences are wrapped.
        for cell in re.split(r"\s{2,}", line.strip()):
            if not cell or set(cell) <= {"─"}:
                continue
            is_sentence = len(cell.split()) > 6
            assert cell in flat or (is_sentence and set(cell.split()) <= words), f"{cell!r} is not in\n{text}"


def test_the_page_has_twenty_sections_and_each_has_a_command_or_an_example() -> None:
    assert [heading.partition(".")[0] for heading in sections()] == [str(n) for n in range(1, 21)]
    for heading in sections():
        assert commands(heading) or examples(heading), heading


@pytest.mark.parametrize("heading", [heading for heading in sections() if commands(heading)])
def test_the_commands_work_in_a_terminal_of_80_columns(shell: str, heading: str, folder: Path) -> None:
    # Without start files of the shell, so that settings of the user have no effect.
    start = [shell, "--norc", "-c"] if shell == "bash" else [shell, "-f", "-c"]
    for step in commands(heading):
        shown = in_terminal([*start, step.command], folder)
        assert shown.code == 0, f"{step.command}\n{shown.text}"
        check(shown.text, step.expected)


@pytest.mark.parametrize("heading", [heading for heading in sections() if examples(heading)])
def test_the_python_examples_print_the_output_on_the_page(heading: str, session: dict[str, str]) -> None:
    expected = "".join(example.want for example in examples(heading)).splitlines()
    assert expected
    assert [line.rstrip() for line in session[heading].strip("\n").splitlines()] == expected
    check(session[heading], expected)
