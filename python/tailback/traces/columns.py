"""Conversion of the core's chunks of columns to Polars frames, and back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from tailback import _native

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import polars as pl

__all__ = ["Chunk", "Column", "Layout", "columns", "schema", "unframed"]


Chunk = dict[str, tuple[bytes, bytes | None]]
"""Columns of the core by name: for each its numbers and its extent, as bytes.

The extent of a column of lists is the length of each row's list (`uint32`); that of another column is a byte per row, 1
if the row has a value, or `None` if every row has one.
"""


class Column(NamedTuple):
    """A column of a trace."""

    name: str
    kind: str
    """Name of the type of the numbers in NumPy, such as `uint32`."""
    names: str | None
    """Key of the list of names into which the numbers are indices, such as `flows`; `None`: they are numbers."""
    is_list: bool
    is_optional: bool
    """`True` if a row may have no value."""
    unit: str
    """Unit; empty: the numbers have none."""
    about: str


@cache
def columns() -> tuple[Column, ...]:
    """Return all columns of a trace, in their order in frames and files."""
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


class Layout:
    """Types and names of the columns of a trace, from the lists of names of its network."""

    def __init__(self, names: Mapping[str, Sequence[str]]) -> None:
        import polars as pl

        self.types = schema(names)
        self._names = {name: pl.Series(list(own), dtype=pl.Enum(list(own))) for name, own in names.items()}

    def frame(self, count: int, chunk: Chunk) -> pl.DataFrame:
        """Return a chunk of `count` rows as a frame, with names instead of indices."""
        import numpy as np
        import polars as pl

        series = []
        for column in columns():
            numbers, extent = chunk[column.name]
            values = pl.Series(column.name, np.frombuffer(numbers, column.kind))
            if not column.is_list:
                if extent is not None:
                    valid = pl.Series(np.frombuffer(extent, bool))
                    values = values if valid.all() else values.zip_with(valid, pl.Series([None], dtype=values.dtype))
                values = self._named(column, values)
            else:
                sizes = np.frombuffer(extent or b"", np.uint32)
                values = _lists(self._named(column, values), sizes)
            series.append(values.alias(column.name))
        made = pl.DataFrame(series)
        assert made.height == count, "each column has a value for each row"
        return made

    def _named(self, column: Column, values: pl.Series) -> pl.Series:
        """Return the names whose indices the values are; if the column has no names, the values themselves."""
        import polars as pl

        return values if column.names is None else self._names[column.names].gather(values.cast(pl.UInt32))


def _lists(elements: pl.Series, lengths: npt.NDArray[np.uint32]) -> pl.Series:
    """Return consecutive elements divided into lists of the given lengths; an empty list becomes null."""
    import numpy as np
    import polars as pl

    kind = pl.List(elements.dtype)
    present = lengths > 0
    if not present.any():
        return pl.Series([None], dtype=kind).new_from_index(0, len(lengths))
    sizes = lengths[present]
    if (sizes == sizes[0]).all():
        lists = elements.reshape((len(sizes), int(sizes[0]))).cast(kind)
    else:
        rows = pl.Series("row", np.repeat(np.arange(len(sizes)), sizes))
        frame = pl.DataFrame([rows, elements.alias("values")])
        lists = frame.group_by("row", maintain_order=True).agg("values")["values"]
    place = pl.Series(np.cumsum(present) - 1).zip_with(pl.Series(present), pl.Series([None], dtype=pl.Int64))
    return lists.gather(place)


def unframed(rows: pl.DataFrame) -> dict[str, tuple[bytes, bytes]]:
    """Return the columns of a frame in the form of the core: the inverse of `Layout.frame`."""
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
