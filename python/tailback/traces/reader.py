"""Reading of finished traces: lazy frames, filters, the check of the hash, and text formats."""

from __future__ import annotations

import operator
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from tailback import _native
from tailback.errors import OutputError, UsageError
from tailback.results import stored
from tailback.traces.columns import Column, columns, schema, unframed
from tailback.traces.writer import MANIFEST, VERSION, replications

if TYPE_CHECKING:
    import polars as pl

__all__ = ["Stored", "condition", "open_traces", "read_trace"]

_SHAPE = {"state": str, "seed": int, "scenario_hash": str, "names": dict, "parts": list, "rows?": int, "hash?": str}
_AGAIN = "run the scenario again with --trace"


@dataclass(frozen=True, slots=True)
class Stored:
    """The trace of one replication in a folder."""

    folder: Path
    """Folder of the replication."""
    manifest: dict[str, Any]
    """Content of the folder's manifest."""

    @property
    def seed(self) -> int:
        """Seed of the replication."""
        return int(self.manifest["seed"])

    @property
    def parts(self) -> list[Path]:
        """Paths of the complete parts, in order of time; a part that was being written is left out."""
        return sorted(self.folder.glob("part-*.parquet"), key=lambda path: (len(path.name), path.name))

    def frames(self, chosen: pl.Expr | None = None) -> Iterator[pl.DataFrame]:
        """Yield the chosen rows of each part, in order; raises OutputError."""
        import polars as pl

        for part in self.parts:
            try:
                rows = pl.read_parquet(part)
            except (OSError, pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
                raise OutputError(f"{part} cannot be read: it is not a whole Parquet file; {_AGAIN}") from error
            if rows.schema != schema(self.manifest["names"]):
                raise OutputError(f"{part} is not a part of this trace: its columns differ; {_AGAIN}")
            yield rows if chosen is None else rows.filter(chosen)

    def scan(self) -> pl.LazyFrame:
        """Return the rows as a lazy frame, with the seed as the first column."""
        import polars as pl

        parts = self.parts
        rows = pl.scan_parquet(parts) if parts else pl.LazyFrame(schema=schema(self.manifest["names"]))
        return rows.select(pl.lit(self.seed, dtype=pl.UInt64).alias("seed"), pl.all())

    def text(self, form: Literal["ns2", "ns3"], chosen: pl.Expr | None = None) -> Iterator[str]:
        """Yield the lines of each part in a text format, one text per part; raises OutputError."""
        flows = [(int(start), int(end), bool(transport)) for start, end, transport in self.manifest["flow_ends"]]
        ports = [(int(start), int(end)) for start, end in self.manifest["port_ends"]]
        reader = _native.TraceReader(form, ports, flows)
        for rows in self.frames(chosen):
            yield reader.add(rows.height, unframed(rows))

    def verify(self) -> str:
        """Return the hash of the rows.

        Raises OutputError if it differs from the manifest's, or the run was not complete.
        """
        if self.manifest["state"] != "complete":
            raise OutputError(
                f"{self.folder} cannot be verified: the run did not reach its end ({self.manifest['state']})"
            )
        reader = _native.TraceReader()
        for rows in self.frames():
            try:
                reader.add(rows.height, unframed(rows))
            except ValueError as error:
                raise OutputError(f"{self.folder} is damaged: {error}; {_AGAIN}") from error
        if (reader.rows, reader.hash) != (self.manifest["rows"], self.manifest["hash"]):
            raise OutputError(
                f"{self.folder} is damaged: {reader.rows} rows have the hash {reader.hash}, but the run wrote "
                f"{self.manifest['rows']} rows with the hash {self.manifest['hash']}; {_AGAIN}"
            )
        return reader.hash


def open_traces(directory: str | PathLike[str]) -> list[Stored]:
    """Return the traces in a folder of traces, in ascending order of seeds, or that in the folder of one replication.

    Raises OutputError if there is no trace, or a manifest is damaged.
    """
    folder = Path(directory)
    found = [folder] if (folder / MANIFEST).is_file() else replications(folder)
    if not found:
        raise OutputError(f"{directory} has no trace (no {MANIFEST}); `tailback run SCENARIO --trace DIR` writes one")
    return [_open(path) for path in found]


def _open(folder: Path) -> Stored:
    path = folder / MANIFEST
    try:
        manifest = stored.parsed(stored.contents(path))
    except (OSError, ValueError) as error:
        raise OutputError(f"{path} cannot be read: {stored.reason(error)}; {_AGAIN}") from error
    if wrong := stored.unfit(manifest, {"trace": int}) or stored.unfit(manifest, _SHAPE):
        raise OutputError(f"{path} is not the manifest of a trace: {wrong}; {_AGAIN}")
    if manifest["trace"] != VERSION:
        raise OutputError(
            f"{path} has format version {manifest['trace']}, but this program reads version {VERSION}; "
            "use the program that wrote it"
        )
    return Stored(folder, manifest)


def read_trace(directory: str | PathLike[str]) -> pl.LazyFrame:
    """Return the rows of a packet trace as a lazy frame of Polars, with the seed as the first column.

        lost = tailback.read_trace("traces").filter(pl.col("event") == "drop").collect()

    `directory` is a folder of traces, or that of one replication in it. Rows are in ascending order of seeds, and for
    each seed in order of time. Of a run that was killed, the frame has the rows of all complete parts. Raises
    OutputError if there is no trace, or a manifest is damaged.
    """
    import polars as pl

    return pl.concat([one.scan() for one in open_traces(directory)])


_OPERATORS = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_CONDITION = re.compile(r"\s*(\w+)\s*(!=|<=|>=|=|<|>)(.*)", re.DOTALL)


def condition(texts: Sequence[str], names: dict[str, list[str]], groups: Sequence[str]) -> pl.Expr | None:
    """Return the filter for rows that meet all conditions, such as `flow=web*`, `event=drop,mark` or `time_ps>=2s`.

    `names` has the lists of names of the network, and `groups` the group of each of its flows. `None`: there is no
    condition. Raises UsageError for a wrong condition, or a name that matches nothing.
    """
    found: pl.Expr | None = None
    for text in texts:
        parsed = _CONDITION.fullmatch(text)
        if parsed is None:
            raise UsageError(f"{text!r} is not a condition; write for example event=drop, 'flow=web*' or 'time_ps>=2s'")
        name, sign, value = parsed[1], parsed[2], parsed[3].strip()
        column = _column(name)
        one = _named(column, sign, value, names, groups) if column.names else _compared(column, sign, value)
        found = one if found is None else found & one
    return found


def _column(name: str) -> Column:
    from difflib import get_close_matches

    known = {column.name: column for column in columns() if not column.is_list}
    if name not in known:
        near = get_close_matches(name, known, n=1)
        advice = f"did you mean {near[0]}?" if near else f"the columns are {', '.join(known)}"
        raise UsageError(f"a trace has no column {name!r}; {advice}")
    return known[name]


def _named(column: Column, sign: str, value: str, names: dict[str, list[str]], groups: Sequence[str]) -> pl.Expr:
    from difflib import get_close_matches

    import polars as pl

    if sign not in ("=", "!="):
        raise UsageError(f"{column.name} is a name; compare it with = or !=")
    assert column.names is not None
    known = names[column.names]
    chosen: list[str] = []
    for pattern in value.split(","):
        if pattern in known:
            fitting = [pattern]
        else:
            of_group = groups if column.names == "flows" else known
            fitting = [
                name
                for name, group in zip(known, of_group, strict=True)
                if fnmatchcase(name, pattern) or fnmatchcase(group, pattern)
            ]
        if not fitting:
            near = get_close_matches(pattern, known, n=1)
            advice = f"; did you mean {near[0]}?" if near else ""
            raise UsageError(f"no {column.name} of this trace is named {pattern!r}{advice}")
        chosen += fitting
    found = pl.col(column.name).is_in(chosen).fill_null(value=False)
    return found if sign == "=" else ~found


def _compared(column: Column, sign: str, value: str) -> pl.Expr:
    import polars as pl

    compare = _OPERATORS[sign]
    if column.kind == "bool":
        if value not in ("true", "false") or sign not in ("=", "!="):
            raise UsageError(f"{column.name} is true or false, not {value!r}")
        return compare(pl.col(column.name), value == "true").fill_null(value=False)  # type: ignore[no-any-return]
    try:
        number: float = float(value) if column.kind == "float64" else int(value)
    except ValueError:
        try:
            if column.unit == "ps":
                number = _native.parse_duration(value)
            elif column.unit == "B":
                number = _native.parse_bytes(value)
            else:
                raise ValueError(f"{value!r} is not a number") from None
        except ValueError as error:
            raise UsageError(f"{column.name}: {error}") from None
    return compare(pl.col(column.name), number).fill_null(value=False)  # type: ignore[no-any-return]
