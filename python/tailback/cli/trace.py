"""Command that reads packet traces."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Literal

import click

from tailback.cli.options import SETTINGS, quiet_option
from tailback.cli.output import console, print_line, print_note, table
from tailback.errors import UsageError

if TYPE_CHECKING:
    import polars as pl

    from tailback.traces.reader import Stored

__all__ = ["trace"]

_SHOWN = ("time", "event", "frame", "port", "flow", "sequence", "size_bytes", "queue_bytes", "reason")
"""Columns of the table."""
_TABLE_ROWS = 20
"""Number of rows of the table without --limit."""


@click.command(
    context_settings=SETTINGS,
    epilog="""\b
Examples:
  tailback trace traces --filter event=drop
  tailback trace traces --filter 'flow=web*' --filter 'time_ps>=2s' --format csv --out web.csv
  tailback trace traces --seed 7 --format ns2 --out run.tr
  tailback trace traces --verify""",
)
@click.argument("directory", metavar="DIR", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--seed", type=click.IntRange(min=0), help="Only the replication with this seed.")
@click.option(
    "--filter",
    "filters",
    multiple=True,
    metavar="CONDITION",
    help="Only rows that meet it: a column, one of = != < <= > >=, and a value. Names may be patterns, and several "
    "separated by commas. May be repeated: rows must meet all.",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(["table", "csv", "json", "ns2", "ns3"]),
    default="table",
    show_default=True,
    help="json: an object in each line; ns2, ns3: text formats of these simulators.",
)
@click.option("--out", type=click.Path(path_type=Path, dir_okay=False), help="File to write instead of stdout.")
@click.option("--limit", type=click.IntRange(min=1), help="Maximum number of rows. Default: 20 in a table, else all.")
@click.option("--verify", is_flag=True, help="Compare the hash of the rows with that of the run.")
@quiet_option
def trace(
    directory: Path,
    seed: int | None,
    filters: tuple[str, ...],
    form: Literal["table", "csv", "json", "ns2", "ns3"],
    out: Path | None,
    limit: int | None,
    verify: bool,
    quiet: bool,
) -> None:
    """Show, filter, verify or export the packet trace in DIR, which `tailback run --trace DIR` has written."""
    from tailback.traces.reader import condition, open_traces

    traces = [stored for stored in open_traces(directory) if seed is None or stored.seed == seed]
    if not traces:
        known = ", ".join(str(stored.seed) for stored in open_traces(directory))
        raise UsageError(f"{directory} has no replication with the seed {seed}; its seeds are {known}")
    if verify:
        for stored in traces:
            print_line(f"seed {stored.seed}: {stored.manifest['rows']} rows, {stored.verify()}: verified")
        return
    if form in ("ns2", "ns3") and len(traces) > 1:
        raise UsageError(f"the format {form} has one replication: choose it by --seed")
    if not quiet:
        for stored in traces:
            if stored.manifest["state"] != "complete":
                print_note(f"the trace of seed {stored.seed} is not complete ({stored.manifest['state']})")
    chosen = [condition(filters, stored.manifest["names"], stored.manifest["flow_groups"]) for stored in traces]
    if form == "table" and out is None:
        _show(list(zip(traces, chosen, strict=True)), limit or _TABLE_ROWS)
        return
    written = 0
    with _target(out) as file:
        for number, (stored, own) in enumerate(zip(traces, chosen, strict=True)):
            for text, rows in _texts(
                stored, own, form, None if limit is None else limit - written, heading=number == 0
            ):
                file.write(text)
                written += rows
    if out is not None and not quiet:
        print_note(f"written: {out}")


def _show(traces: list[tuple[Stored, pl.Expr | None]], limit: int) -> None:
    """Print a table of the first `limit` rows of each trace, with the number of all rows."""
    for stored, chosen in traces:
        found = 0
        body: list[list[str]] = []
        for rows in stored.frames(chosen):
            found += rows.height
            first = rows.head(limit - len(body)).iter_rows(named=True)
            body += [[_cell(name, row) for name in _SHOWN] for row in first]
        shown = f", {len(body)} shown" if len(body) < found else ""
        title = f"seed {stored.seed}: {found} rows{shown}"
        console().print(table(title, [name.removesuffix("_bytes") for name in _SHOWN], body, words=5))


def _cell(name: str, row: dict[str, object]) -> str:
    if name == "time":
        return f"{int(str(row['time_ps'])) / 1e9:.6f} ms"
    value = row[name]
    if name.endswith("_bytes") and value is not None:
        return f"{value} B"
    return "" if value is None else str(value)


def _texts(
    stored: Stored, chosen: pl.Expr | None, form: str, limit: int | None, *, heading: bool
) -> Iterator[tuple[str, int]]:
    """Yield the text of each part in a format, and its number of rows, up to `limit` rows; `None`: all rows."""
    if form in ("ns2", "ns3"):
        left = limit
        for text in stored.text("ns2" if form == "ns2" else "ns3", chosen):
            lines = text.splitlines(keepends=True)
            kept = lines if left is None else lines[:left]
            left = None if left is None else left - len(kept)
            yield "".join(kept), len(kept)
            if left == 0:
                return
        return
    left = limit
    for rows in stored.frames(chosen):
        part = rows if left is None else rows.head(left)
        left = None if left is None else left - part.height
        yield _lines(part.insert_column(0, _seeds(stored.seed, part.height)), form, heading=heading), part.height
        heading = False
        if left == 0:
            return


def _seeds(seed: int, count: int) -> pl.Series:
    import polars as pl

    return pl.Series("seed", [seed], dtype=pl.UInt64).new_from_index(0, count)


def _lines(rows: pl.DataFrame, form: str, *, heading: bool) -> str:
    """Return rows as JSON lines or CSV, the latter with the names of the columns if `heading`."""
    import polars as pl

    if form == "json":
        # Polars 1.30 cannot write lists of enumerations.
        names = [name for name, kind in rows.schema.items() if isinstance(kind, pl.List) and kind.inner == pl.Enum]
        return rows.with_columns(pl.col(names).cast(pl.List(pl.String))).write_ndjson()
    lists = [
        pl.col(name).cast(pl.List(pl.String)).list.join(" ") for name, kind in rows.schema.items() if kind == pl.List
    ]
    return rows.with_columns(lists).write_csv(include_header=heading)


@contextmanager
def _target(out: Path | None) -> Iterator[IO[str]]:
    """Yield standard output, or a temporary file that is renamed to `out` when it is complete; raises OutputError."""
    from tailback.results.directory import writing

    if out is None:
        yield sys.stdout
        return
    temporary = out.with_name(f".{out.name}.partial")
    with writing(out):
        try:
            with temporary.open("w", encoding="utf-8") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(out)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
