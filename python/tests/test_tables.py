"""Tables in terminals of any width: no name or number is broken or truncated."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest
from rich.console import Console

from tailback.cli.output import table

MERGE = Path(__file__).with_name("merge.toml")
COLUMNS = ("flows", "offered", "loss", "throughput", "delay mean", "delay 99 %")
ROWS = [
    [name, "9.077 ± 0.15 Mbit/s", "0.3129 ± 0.012 %", "9.01 ± 0.1 Mbit/s", "97.63 ± 13 ms", "668 ± 2 ms"]
    for name in ("data", "switches.core.ports[server]", "voice")
]


def printed(width: int, *args: object, **named: object) -> list[str]:
    """Return the lines of a table on a terminal of the given width."""
    console = Console(width=width, highlight=False, markup=False, color_system=None)
    with console.capture() as capture:
        console.print(table(*args, **named))  # type: ignore[arg-type]
    return capture.get().splitlines()


@pytest.mark.parametrize("width", [40, 60, 80, 100, 120, 200])
def test_no_name_or_number_is_broken_at_any_width(width: int) -> None:
    lines = printed(width, "Means", COLUMNS, ROWS)
    assert all(len(line) <= width and line == line.rstrip() for line in lines)
    text = "\n".join(lines)
    for cell in {*COLUMNS[1:], *(cell for row in ROWS for cell in row)}:
        assert cell in text, cell
    # Each number appears once per row; each name once in each part of a table that had to be split.
    for cell in ROWS[0][1:]:
        assert text.count(cell) == len(ROWS)
    tables = sum("───" in line for line in lines) or 1
    assert [text.count(row[0]) for row in ROWS] == [tables] * len(ROWS)


def test_sentences_are_wrapped_before_a_table_is_split() -> None:
    sentence = "A sentence that is much longer than what a terminal shows in a line beside all that is measured."
    lines = printed(80, "", ("id", "claim", "measured"), [["C1", sentence, "0.1 [0.2, 0.3] Mbit/s"]], words=2)
    assert sum("Mbit/s" in line for line in lines) == 1
    assert sum("C1" in line for line in lines) == 1
    assert set(sentence.split()) <= set(" ".join(lines).split())


@pytest.mark.parametrize("width", [60, 80, 120])
def test_the_first_command_shows_whole_names_and_numbers_in_a_terminal(width: int, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tailback", "run", str(MERGE), "--quiet"]
    whole = subprocess.run(command, check=True, capture_output=True, text=True, cwd=tmp_path).stdout
    master, slave = pty.openpty()
    env = os.environ | {"COLUMNS": str(width), "LINES": "50", "NO_COLOR": "1", "TERM": "xterm"}
    process = subprocess.Popen(command, stdout=slave, stderr=slave, cwd=tmp_path, env=env)
    os.close(slave)
    seen = b""
    while True:
        try:
            part = os.read(master, 65536)
        except OSError:
            break
        if not part:
            break
        seen += part
    assert process.wait() == 0
    os.close(master)
    shown = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", seen.decode()).replace("\r", "")
    assert "…" not in shown
    assert all(len(line) <= width for line in shown.splitlines() if "───" in line or " ± " in line)
    numbers = re.findall(r"\d[\d.]*(?: ± [\d.]+)? (?:%|ms|s|kB|Mbit/s|bit/s)", whole)
    assert len(numbers) > 5
    for number in numbers:
        assert number in shown, number
