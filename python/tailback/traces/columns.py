"""Chunks of columns as Polars frames, and back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, NamedTuple, cast

from tailback import _native

if TYPE_CHECKING:
    import polars as pl

    from tailback._native import TraceChunk

__all__ = ["Column", "columns", "frame", "schema", "unframed"]


class Column(NamedTuple):
    """A column of a trace."""

    name: str
    kind: str
    """Type of the numbers, as in NumPy."""
    names: str | None
    """List of names of which the numbers are the indices."""
    is_list: bool
    is_optional: bool
    """`True` if a row may have no value."""
    unit: str
    """Unit; empty: none."""
    about: str


@cache
def columns() -> tuple[Column, ...]:
    """Return all columns in order."""
    return tuple(Column(*column) for column in _native.trace_columns())


def schema(names: Mapping[str, Sequence[str]]) -> dict[str, pl.DataType]:
    """Return the types of the columns of a frame, from the lists of names of a network."""
    import polars as pl

    found: dict[str, pl.DataType] = {}
    enums = {name: pl.Enum(list(values)) for name, values in names.items()}
    kinds = {
        "bool": pl.Boolean(),
        "uint8": pl.UInt8(),
        "uint16": pl.UInt16(),
        "uint32": pl.UInt32(),
        "uint64": pl.UInt64(),
        "float64": pl.Float64(),
    }
    for column in columns():
        kind = kinds[column.kind] if column.names is None else enums[column.names]
        found[column.name] = pl.List(kind) if column.is_list else kind
    return found


def frame(count: int, chunk: TraceChunk, types: Mapping[str, pl.DataType]) -> pl.DataFrame:
    """Return a chunk of `count` rows as a frame with the types of `schema`."""
    import numpy as np
    import polars as pl

    series = []
    for column in columns():
        numbers, extent = chunk[column.name]
        kind = types[column.name]
        if not column.is_list:
            values = pl.Series(column.name, np.frombuffer(numbers, column.kind)).cast(kind)
            if extent is not None:
                valid = pl.Series(np.frombuffer(extent, bool))
                values = values if valid.all() else values.zip_with(valid, pl.Series([None], dtype=kind))
        else:
            lengths = np.frombuffer(extent or b"", np.uint32)
            values = _lists(np.frombuffer(numbers, column.kind), lengths, cast("pl.List", kind)).alias(column.name)
        series.append(values)
    made = pl.DataFrame(series)
    assert made.height == count or count == 0, "each column has a value for each row"
    return made


def _lists(flat: object, lengths: object, kind: pl.List) -> pl.Series:
    """Return the lists of these lengths of consecutive elements; an empty list is null."""
    import numpy as np
    import polars as pl

    sizes = np.asarray(lengths)
    present = sizes > 0
    if not present.any():
        return pl.Series([None] * len(sizes), dtype=kind)
    found = sizes[present]
    elements = pl.Series("values", np.asarray(flat))
    if (found == found[0]).all():
        lists = elements.reshape((len(found), int(found[0]))).cast(pl.List(elements.dtype))
    else:
        rows = pl.Series("row", np.repeat(np.arange(len(found)), found))
        lists = pl.DataFrame([rows, elements]).group_by("row", maintain_order=True).agg("values")["values"]
    place = pl.Series(np.cumsum(present) - 1)
    place = place.zip_with(pl.Series(present), pl.Series([None], dtype=place.dtype))
    return lists.gather(place).cast(kind)


def unframed(rows: pl.DataFrame) -> dict[str, tuple[bytes, bytes]]:
    """Return the columns of a frame for the core, the inverse of `frame`."""
    import numpy as np
    import polars as pl

    found = {}
    for column in columns():
        values = rows[column.name]
        if column.is_list:
            lengths = values.list.len().fill_null(0).cast(pl.UInt32).to_numpy()
            extent = lengths.tobytes()
            values = values.drop_nulls().explode()
        else:
            extent = values.is_not_null().to_numpy().tobytes() if values.null_count() else b""
        if column.names is not None:
            values = values.to_physical()
        numbers = (values.cast(pl.UInt8) if column.kind == "bool" else values).fill_null(0).to_numpy()
        found[column.name] = (numbers.astype(np.dtype(column.kind), copy=False).tobytes(), extent)
    return found
