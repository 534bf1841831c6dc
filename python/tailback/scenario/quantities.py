"""Values of an axis as numbers: quantities with units, in the quantity's base unit."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from tailback import _native
from tailback.scenario.values import Value

__all__ = ["Quantities", "amount", "factor", "quantities"]

_AMOUNT = re.compile(r"\s*([0-9.]+)\s*(\D.*?)\s*")


def _packets(text: str) -> float:
    number = text.removesuffix("s").removesuffix("packet")
    if number == text:
        raise ValueError(f"{text} is no number of packets")
    return float(number)


def _share(text: str) -> float:
    if not text.rstrip().endswith("%"):
        raise ValueError(f"{text} is no percentage")
    return float(text.rstrip()[:-1]) / 100


_KINDS: tuple[tuple[str, str, Callable[[str], float]], ...] = (
    ("bps", "bit/s", _native.parse_rate),
    ("bytes", "B", _native.parse_bytes),
    # Divided, so that 20 ms are 0.02 s and not the adjacent floating-point number.
    ("s", "s", lambda text: _native.parse_duration(text) / 1e12),
    ("packets", "packet", _packets),
    ("ratio", "1", _share),
)
"""Ending of a column, unit, and parser of a text; as in the tables of a run (`tailback.results.tables`)."""


@dataclass(frozen=True, slots=True)
class Quantities:
    """An axis whose values are quantities of one kind."""

    suffix: str
    """Ending of its column: `bps`, `bytes`, `s`, `packets` or `ratio`."""
    unit: str
    """`bit/s`, `B`, `s`, `packet` or `1`."""
    numbers: Mapping[Value, float]
    """By value; words, such as "unlimited", have none."""


def quantities(values: Iterable[Value]) -> Quantities | None:
    """Read the values of an axis; `None`: they are plain numbers, words, or quantities of more than one kind."""
    distinct = list(dict.fromkeys(values))
    # Texts that begin with a digit are numbers: a kind that cannot read all of them is not that of the axis.
    meant = [value for value in distinct if isinstance(value, str) and value.strip()[:1].isdigit()]
    if not meant or any(not isinstance(value, str) for value in distinct):
        return None
    for suffix, unit, parse in _KINDS:
        try:
            return Quantities(suffix, unit, {value: float(parse(value)) for value in meant})
        except ValueError:
            continue
    return None


def factor(unit: str) -> tuple[str, float] | None:
    """Return the base unit of a unit, and the factor: `kB` is 1000 `B`."""
    found = quantities([f"1{unit}"])
    return None if found is None else (found.unit, found.numbers[f"1{unit}"])


def amount(value: Value) -> tuple[float, str] | None:
    """Split "1.5Mbit/s" into number and unit; numbers have the unit "". `None`: anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    if not isinstance(value, str):
        return float(value), ""
    found = _AMOUNT.fullmatch(value)
    try:
        return (float(found[1]), found[2]) if found else None
    except ValueError:
        return None
