"""Output of the commands: tables and JSON on stdout; progress, notes, warnings and errors on stderr."""

from __future__ import annotations

import json
import math
import os
import re
import shutil
import sys
import textwrap
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from tailback.run.pool import Progress

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
    from rich.segment import Segment
    from rich.table import Table
    from rich.text import Text

    from tailback.run.cost import Cost
    from tailback.scenario import Scenario
    from tailback.scenario.warnings import ScenarioWarning

__all__ = [
    "console",
    "facts",
    "fitted",
    "print_cost",
    "print_error",
    "print_json",
    "print_line",
    "print_note",
    "print_unchanged",
    "print_warnings",
    "progress_bar",
    "table",
    "visible",
    "watch_bar",
]

_WIDE = 160
"""Width, characters, of a table that is written to a file or a pipe."""


_CONTROL = re.compile("[\\x00-\\x08\\x0b-\\x1f\\x7f-\\x9f\\u061c\\u200e\\u200f\\u202a-\\u202e\\u2066-\\u2069]")
"""Characters that move the cursor, or colour or reorder text; an untrusted scenario may contain them in any text."""


def visible(text: str) -> str:
    """Return a text with control characters shown as escapes, so that a terminal does not interpret them."""
    return _CONTROL.sub(lambda found: ascii(found[0])[1:-1], text)


_SOURCE = re.compile(r"\s*\d*\s*\|")
"""Start of a source line in an error message; such a line is not wrapped, since carets below point into it."""


def fitted(text: str, *, hanging: int = 2, error: bool = False) -> str:
    """Return a text wrapped to the terminal's width, if stdout (with `error`: stderr) is a terminal.

    Lines are broken between words only; continuation lines are indented by `hanging` further characters.
    """
    if not (sys.stderr if error else sys.stdout).isatty():
        return text
    width = shutil.get_terminal_size().columns
    lines: list[str] = []
    for line in text.splitlines():
        if len(line) <= width or _SOURCE.match(line):
            lines.append(line)
            continue
        indent = line[: len(line) - len(line.lstrip())]
        further = indent + " " * hanging
        lines += textwrap.wrap(line, width, subsequent_indent=further, break_long_words=False, break_on_hyphens=False)
    return "\n".join(lines)


def print_line(text: str) -> None:
    """Print a line of results on stdout, wrapped to the width of a terminal."""
    click.echo(fitted(visible(text)))


def print_json(value: object) -> None:
    """Print JSON on stdout; the caller has replaced NaN and infinities, which JSON lacks, by null."""
    click.echo(json.dumps(value, indent=2, allow_nan=False))


def print_error(message: str) -> None:
    """Print an error on stderr."""
    label = click.style("error:", fg="red", bold=True) if _colour(sys.stderr.isatty()) else "error:"
    click.echo(label + fitted(f"error: {visible(message.rstrip())}", error=True).removeprefix("error:"), err=True)


_MAX_WARNINGS = 10
"""Maximum number of warnings that one call prints."""


def print_warnings(warnings: Sequence[ScenarioWarning], *, printed: Collection[ScenarioWarning] = ()) -> None:
    """Print warnings on stderr, each once and at most ten of them, except those of `printed`."""
    new = [warning for warning in dict.fromkeys(warnings) if warning not in printed]
    label = click.style("warning:", fg="yellow", bold=True) if _colour(sys.stderr.isatty()) else "warning:"
    for warning in new[:_MAX_WARNINGS]:
        text = f"warning: {warning.rendered.removeprefix('warning: ').rstrip()}"
        click.echo(label + fitted(text, error=True).removeprefix("warning:"), err=True)
    if len(new) > _MAX_WARNINGS:
        click.echo(f"{label} and {len(new) - _MAX_WARNINGS} more", err=True)


def print_unchanged(scenario: Scenario) -> None:
    """Print a note for each `--set` that did not change the scenario."""
    for setting in scenario.unchanged:
        print_note(f"{setting} changes nothing: the scenario has this value already")


def print_note(message: str) -> None:
    """Print a note on stderr."""
    click.echo(fitted(visible(message), error=True), err=True)


def print_cost(costs: Sequence[Cost], replications: int, threads: int | None, *, adaptive: bool, as_json: bool) -> None:
    """Print the estimated run time of `replications` replications in total; `costs` are those of trials at some points.

    The time for all else that a command does is not estimated, and the last line says so.

    With `adaptive`, the number of replications is a minimum, since intervals may require more. `threads` is the
    maximum number of replications that run at the same time; `None`: one per processor.
    """
    from tailback.run.cost import spoken
    from tailback.run.executors import default_threads

    at_once = min(default_threads() if threads is None else threads, replications)
    each = sum(cost.cpu_s for cost in costs) / len(costs)
    # The last round of replications may leave threads idle.
    seconds = each * math.ceil(replications / at_once)
    if as_json:
        whole = seconds if math.isfinite(seconds) else None
        print_json(
            {
                "trials": [
                    {"cpu_s": cost.cpu_s if math.isfinite(cost.cpu_s) else None, "tried": cost.tried} for cost in costs
                ],
                "replications": replications,
                "adaptive": adaptive,
                "threads": at_once,
                "seconds": whole,
            }
        )
        return
    lowest, highest = (spoken(pick(cost.cpu_s for cost in costs)) for pick in (min, max))
    range_ = f"about {lowest}" if lowest == highest else f"{lowest} to {highest}"
    what = "1 replication" if replications == 1 else f"{replications} replications"
    where = "1 thread" if at_once == 1 else f"{at_once} threads"
    part = min(cost.tried for cost in costs)
    tried = "measured over a whole one" if part == 1 else f"estimated from {100 * part:.2g} % of one"
    points = "" if len(costs) == 1 else f" at {len(costs)} points"
    print_line(f"one replication: {range_} of processor time ({tried}{points})")
    more = "; more if the intervals are too wide" if adaptive else ""
    print_line(f"{what} on {where}: about {spoken(seconds)}{more}")
    print_line("not included: start of the program, tables and figures, a few seconds; other programs that run")


def _colour(is_terminal: bool) -> bool:
    return is_terminal and not os.environ.get("NO_COLOR")


def console() -> Console:
    """Return the console for tables: as wide as the terminal, or 160 characters in a file or pipe."""
    from rich.console import Console

    class Plain(Console):
        def render_str(self, text: str, **options: Any) -> Text:
            return super().render_str(visible(text), **options)

    return Plain(highlight=False, markup=False, width=None if sys.stdout.isatty() else _WIDE, emoji=False)


_NARROW = 14
"""Minimum width, characters, to which a column of text is narrowed by breaking it into lines."""


@dataclass(frozen=True)
class Rows:
    """A table that adapts to the width of the terminal; words and numbers are never broken.

    If the table is too wide, columns of text are broken into lines first. If that does not suffice, columns of numbers
    are moved into further tables below, and if that does not suffice either, each row is written over several lines.
    """

    title: str
    columns: Sequence[str]
    """Headings."""
    rows: Sequence[Sequence[str]]
    """Cells of each row, one per column."""
    words: int
    """Number of leading columns of text; the others are numbers."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield one or more tables that fit into the width."""
        numbers = list(range(self.words, len(self.columns)))
        room = options.max_width
        blocks = [numbers]
        if self._width(numbers) > room:
            blocks = [[]]
            for column in numbers:
                if blocks[-1] and self._width([*blocks[-1], column]) > room:
                    blocks.append([])
                blocks[-1].append(column)
        if any(self._width(block) > room for block in blocks):
            yield from self._stacked()
            return
        for index, block in enumerate(blocks):
            part = self._part(block, self.title if index == 0 else "")
            for line in console.render_lines(part, options, pad=False):
                yield from _without_trailing_blanks(line)

    def _texts(self, column: int) -> list[str]:
        return [self.columns[column], *(row[column] for row in self.rows)]

    def _min_width(self, column: int) -> int:
        """Return the minimum width of a column, characters."""
        from rich.cells import cell_len

        whole = max(map(cell_len, self._texts(column)))
        if column >= self.words:
            return whole
        # Text may be broken into lines between words.
        longest = max((cell_len(word) for text in self._texts(column) for word in text.split()), default=0)
        return min(whole, max(_NARROW, longest))

    def _width(self, numbers: Sequence[int]) -> int:
        """Return the minimum width, characters, of a table of the columns of text and the columns `numbers`.

        There are three blanks between columns, and one at each end.
        """
        widths = [self._min_width(column) for column in (*range(self.words), *numbers)]
        return sum(widths) + 3 * (len(widths) - 1) + 2

    def _part(self, numbers: Sequence[int], title: str) -> Table:
        """Return a table of the columns of text and the columns `numbers`."""
        from rich import box
        from rich.table import Table
        from rich.text import Text

        heading = Text(title, style="bold") if title else None
        made = Table(title=heading, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
        chosen = [*range(self.words), *numbers]
        for column in chosen:
            is_word = column < self.words
            # Headings and cells are `Text`, so that brackets in a path are not read as markup.
            made.add_column(
                Text(self.columns[column]),
                justify="left" if is_word else "right",
                no_wrap=not is_word,
                min_width=self._min_width(column),
            )
        for row in self.rows:
            made.add_row(*(Text(row[column]) for column in chosen))
        return made

    def _stacked(self) -> Iterator[RenderableType]:
        """Yield each row over several lines, one per number, for a terminal too narrow for a table."""
        from rich.cells import cell_len
        from rich.text import Text

        if self.title:
            yield Text(self.title, style="bold")
        indent = max((cell_len(column) for column in self.columns[self.words :]), default=0)
        for row in self.rows:
            yield Text("")
            yield Text("  ".join(cell for cell in row[: self.words] if cell), style="bold", overflow="fold")
            for column, cell in zip(self.columns[self.words :], row[self.words :], strict=True):
                yield Text(f"  {column}{' ' * (indent - cell_len(column))}  {cell}", overflow="fold")


def _without_trailing_blanks(line: list[Segment]) -> Iterator[Segment]:
    from rich.segment import Segment

    while line and not line[-1].text.strip():
        line.pop()
    if line:
        line[-1] = Segment(line[-1].text.rstrip(), line[-1].style)
    yield from line
    yield Segment.line()


def table(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]], *, words: int = 1) -> Rows:
    """Return a table whose first `words` columns are text and whose others are numbers."""
    return Rows(visible(title), list(map(visible, columns)), [list(map(visible, row)) for row in rows], words)


def facts(rows: Sequence[Sequence[str]]) -> Text:
    """Return a text with a line for each pair (name, value), with the values aligned."""
    from rich.cells import cell_len
    from rich.text import Text

    widest = max((cell_len(name) for name, _ in rows), default=0)
    return Text("\n".join(f"{name}{' ' * (widest - cell_len(name))}  {value}" for name, value in rows), overflow="fold")


@contextmanager
def progress_bar(what: str, *, quiet: bool = False) -> Iterator[Progress | None]:
    """Show the progress of replications on stderr, with the label `what`, and yield the progress callback.

    The callback is `None` if stderr is not a terminal, or with `quiet`.
    """
    with watch_bar(quiet=quiet) as watch:
        if watch is None:
            yield None
        else:
            show = watch
            yield lambda done, total: show(what, done, total)


@contextmanager
def watch_bar(*, quiet: bool = False) -> Iterator[Callable[[str, float, int], object] | None]:
    """Show the current step and its progress on stderr, and yield the callback (step, done, total).

    The callback is `None` if stderr is not a terminal, or with `quiet`.
    """
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
