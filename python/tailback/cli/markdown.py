"""Pages of the gallery in a terminal: Markdown source, wrapped to the width."""

from __future__ import annotations

import io
import re
import shutil
import sys
import textwrap
from collections.abc import Iterator, Sequence

__all__ = ["wrapped"]

_COLUMNS = 80
"""Maximum width of a line, characters, as in the explanations of kinds."""
_ITEM = re.compile(r"[ ]*(?:[-*]|\d+\.) +")
"""Beginning of a list item."""
_SHORT = 16
"""Maximum length, characters, of a cell that is not broken into lines, such as a number with its unit."""
_RULE = re.compile(r"[|: -]+")
"""Line between the head and the body of a table."""


def wrapped(text: str) -> str:
    """Return a page wrapped to 80 columns, or to the width of a narrower terminal.

    Indented text, such as drawings of networks, is not changed.
    """
    width = min(_COLUMNS, shutil.get_terminal_size().columns) if sys.stdout.isatty() else _COLUMNS
    return "\n".join(line.rstrip() for block in _blocks(text.splitlines()) for line in _fitted(block, width))


def _blocks(lines: Sequence[str]) -> Iterator[list[str]]:
    """Yield blocks that are wrapped as a whole: a paragraph, a list item or a table; other lines one by one."""
    block: list[str] = []
    for line in lines:
        is_table, in_table = line.startswith("|"), bool(block) and block[0].startswith("|")
        in_item = bool(block) and bool(_ITEM.match(block[0]))
        is_alone = not line.strip() or line.startswith("#") or (line.startswith("    ") and not in_item)
        if block and (is_alone or is_table != in_table or _ITEM.match(line)):
            yield block
            block = []
        if is_alone:
            yield [line]
        else:
            block.append(line)
    if block:
        yield block


def _fitted(block: list[str], width: int) -> list[str]:
    """Return the lines of a block, wrapped to `width` characters."""
    first = block[0]
    if first.startswith("|"):
        return _table(block, width)
    if not first.strip() or first.startswith("    "):
        return [first]
    item = _ITEM.match(first)
    hanging = " " * len(item[0]) if item else ""
    words = " ".join(line.strip() for line in block)
    start = first[: len(first) - len(first.lstrip())]
    return textwrap.wrap(
        words, width, initial_indent=start, subsequent_indent=hanging, break_long_words=False, break_on_hyphens=False
    )


def _table(rows: list[str], width: int) -> list[str]:
    """Return a table; if a row is wider than `width`, its cells are broken into lines."""
    if all(len(row) <= width for row in rows):
        return rows
    from rich.console import Console

    from tailback.cli.output import table

    cells = [[cell.strip() for cell in row.strip().strip("|").split("|")] for row in rows if not _RULE.fullmatch(row)]
    columns = len(cells[0])
    body = [[*row, *[""] * columns][:columns] for row in cells[1:]]
    words = max([i + 1 for i in range(columns) if any(len(row[i]) > _SHORT for row in body)], default=1)
    file = io.StringIO()
    Console(file=file, width=width, highlight=False, emoji=False, markup=False, color_system=None).print(
        table("", cells[0], body, words=words)
    )
    return [line for line in file.getvalue().splitlines() if line.strip()]
