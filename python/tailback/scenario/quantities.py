"""Quantities with units as numbers in their base units, for the axes of sweeps."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from tailback import _native
from tailback.scenario.values import Value

__all__ = ["Quantities", "amount", "factor", "quantities"]

_AMOUNT = re.compile(r"\s*([0-9.]+)\s*(\D.*?)\s*")


def _packets(text: str) -> float:
    """Return the number of a text such as `50packets`; raises ValueError for another form."""
    number = text.removesuffix("s").removesuffix("packet")
    if number == text:
        raise ValueError(f"{text} is not a number of packets, such as 50packets")
    return float(number)


def _share(text: str) -> float:
    """Return the ratio of a percentage such as `1.5%`; raises ValueError for another form."""
    if not text.rstrip().endswith("%"):
        raise ValueError(f"{text} is not a percentage, such as 1.5%")
    return float(text.rstrip()[:-1]) / 100


_KINDS: tuple[tuple[str, str, Callable[[str], float]], ...] = (
    ("bps", "bit/s", _native.parse_rate),
    ("bytes", "B", _native.parse_bytes),
    # Divided, so that 20 ms are 0.02 s and not the adjacent floating-point number.
    ("s", "s", lambda text: _native.parse_duration(text) / 1e12),
    ("packets", "packet", _packets),
    ("ratio", "1", _share),
)
"""Suffix of a column's name, unit, and parser of each kind of quantity, as in `tailback.results.tables`."""


@dataclass(frozen=True, slots=True)
class Quantities:
    """Values of an axis that are quantities of one kind."""

    suffix: str
    """Suffix of the column's name: `bps`, `bytes`, `s`, `packets` or `ratio`."""
    unit: str
    """Base unit: `bit/s`, `B`, `s`, `packet` or `1`."""
    numbers: Mapping[Value, float]
    """Number of each value in the base unit; words, such as "unlimited", are absent."""


def quantities(values: Iterable[Value]) -> Quantities | None:
    """Return the quantities of an axis.

    `None`: a value is not a text, no value begins with a digit, or no kind of quantity fits all values that do.
    """
    distinct = list(dict.fromkeys(values))
    # Texts that begin with a digit are quantities; the kind of the axis is the first one that can read all of them.
    texts = [value for value in distinct if isinstance(value, str) and value.strip()[:1].isdigit()]
    if not texts or any(not isinstance(value, str) for value in distinct):
        return None
    for suffix, unit, parse in _KINDS:
        try:
            return Quantities(suffix, unit, {value: float(parse(value)) for value in texts})
        except ValueError:
            continue
    return None


def factor(unit: str) -> tuple[str, float] | None:
    """Return the base unit of a unit, and the factor to it: `kB` is 1000 `B`; `None`: the unit is unknown."""
    found = quantities([f"1{unit}"])
    return None if found is None else (found.unit, found.numbers[f"1{unit}"])


def amount(value: Value) -> tuple[float, str] | None:
    """Return number and unit of a value such as "1.5Mbit/s"; the unit of a number is "". `None`: another value."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    if not isinstance(value, str):
        return float(value), ""
    found = _AMOUNT.fullmatch(value)
    try:
        return (float(found[1]), found[2]) if found else None
    except ValueError:
        return None
