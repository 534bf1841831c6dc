"""How the commands print: tables and JSON on stdout; progress and errors on stderr."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from tailback.parallel import Progress
from tailback.stats import Interval

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

__all__ = [
    "console",
    "print_error",
    "print_json",
    "print_note",
    "progress_bar",
    "quantity",
    "table",
    "watch_bar",
]

_WIDE = 160
"""Columns of a table that goes into a file or a pipe."""


def print_json(value: object) -> None:
    """Print JSON on stdout; not a number becomes null beforehand, since JSON has none."""
    click.echo(json.dumps(value, indent=2, allow_nan=False))


def print_error(message: str) -> None:
    """Print an error on stderr."""
    label = click.style("error:", fg="red", bold=True) if _colour(sys.stderr.isatty()) else "error:"
    click.echo(f"{label} {message.rstrip()}", err=True)


def print_note(message: str) -> None:
    """Print something on stderr that is neither a result nor an error."""
    click.echo(message, err=True)


def _colour(is_terminal: bool) -> bool:
    return is_terminal and not os.environ.get("NO_COLOR")


def console() -> Console:
    """Return the console for tables: as wide as the terminal, or wide enough for a file."""
    from rich.console import Console

    return Console(highlight=False, markup=False, width=None if sys.stdout.isatty() else _WIDE, emoji=False)


def table(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]], *, words: int = 1) -> Table:
    """Return a table whose first `words` columns are text and whose others are numbers."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    heading = Text(title, style="bold") if title else None
    made = Table(title=heading, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    for index, column in enumerate(columns):
        # Text, here and below: brackets in a path are not markup.
        made.add_column(Text(column), justify="left" if index < words else "right", no_wrap=index > 0)
    for row in rows:
        made.add_row(*(Text(cell) for cell in row))
    return made


_PREFIXES = {
    "s": ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns")),
    "bit/s": ((1e9, "Gbit/s"), (1e6, "Mbit/s"), (1e3, "kbit/s"), (1.0, "bit/s")),
}


def quantity(interval: Interval, unit: str) -> str:
    """Return a mean with half its interval in a readable unit; loss in percent."""
    scale, shown = 1.0, unit
    if unit == "1":
        scale, shown = 0.01, "%"
    elif unit in _PREFIXES:
        steps = _PREFIXES[unit]
        scale, shown = next(((s, u) for s, u in steps if abs(interval.mean) >= s), steps[-1])
    text = digits(interval.mean / scale, 4)
    if interval.n > 1:
        text += f" ± {digits(interval.half_width / scale, 2)}"
    return f"{text} {shown}".rstrip()


def digits(value: float, significant: int) -> str:
    """Return a number with so many significant digits, and without an exponent unless it is tiny."""
    return f"{float(f'{value:.{significant}g}'):.12g}"


@contextmanager
def progress_bar(what: str, *, quiet: bool = False) -> Iterator[Progress | None]:
    """Show replications done on stderr, if that is a terminal."""
    with watch_bar(quiet=quiet) as watch:
        if watch is None:
            yield None
        else:
            told = watch
            yield lambda done, total: told(what, done, total)


@contextmanager
def watch_bar(*, quiet: bool = False) -> Iterator[Callable[[str, float, int], object] | None]:
    """Show what is going on and how much of it is done on stderr, if that is a terminal."""
    if quiet or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, TaskProgressColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bars

    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    with Bars(*columns, console=Console(stderr=True), transient=True) as bars:
        task = bars.add_task("", total=None)
        last = ""

        def watch(what: str, done: float, total: int) -> None:
            nonlocal last
            if what != last:
                bars.reset(task)
                last = what
            bars.update(task, description=what, completed=done, total=total or None)

        yield watch
