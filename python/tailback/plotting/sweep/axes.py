"""Axes of a sweep in figures: the position of each value, and the scale."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from tailback.plotting import plot
from tailback.results.units import display
from tailback.scenario import Value
from tailback.scenario.quantities import amount, quantities

__all__ = ["FLOWS", "MECHANISM", "Axis", "axis_of", "split", "words"]

MECHANISM = "mechanism"
"""Name of the axis of the study's mechanisms."""
FLOWS = "flows"
"""Name of the axis of the scenario's groups of flows."""

_MAX_SERIES = 5
"""Maximum number of curves in a panel."""


@dataclass(frozen=True, slots=True)
class Axis:
    """An axis of a study, with a position on a figure's axis for each of its values."""

    name: str
    """Name of the axis in the study, or `MECHANISM` or `FLOWS`."""
    unit: str
    """Display unit; empty for words and for numbers without a unit."""
    places: Mapping[Value, float | str]
    """Position of each value: its number in the unit, or a word."""
    is_logarithmic: bool = False
    """`True` if the study's range has `scale = "log"`."""

    @property
    def is_number(self) -> bool:
        """`True` if all values are numbers in the unit of the axis."""
        return all(isinstance(place, float) for place in self.places.values())

    @property
    def label(self) -> str:
        """Name with the unit."""
        return f"{self.name} ({self.unit})" if self.unit else self.name

    @property
    def numbers(self) -> list[float]:
        """Numbers of the values, ascending; empty for words."""
        return sorted({place for place in self.places.values() if isinstance(place, float)})

    @property
    def scale(self) -> plot.Scale:
        """Scale of the axis: logarithmic if the study's range is, or if that spaces values more evenly; else linear.

        The latter holds if there are at least three values, the largest is at least 8 times the smallest, and the
        middle one is relatively closer to the geometric than to the arithmetic mean of the two. An axis with words, or
        with values that are not above 0, is linear.
        """
        found = self.numbers
        if not self.is_number or not found or found[0] <= 0:
            return "linear"
        if self.is_logarithmic:
            return "log"
        if len(found) < 3 or found[-1] < 8 * found[0]:
            return "linear"
        middle = found[len(found) // 2]
        geometric, arithmetic = math.sqrt(found[0] * found[-1]), (found[0] + found[-1]) / 2
        return "log" if middle / geometric < arithmetic / middle else "linear"

    @property
    def ticks(self) -> list[float] | None:
        """Ticks at the values of a logarithmic axis; `None`: the axis is linear, or the ticks would not be readable.

        Readable are 2 to 6 ticks with distances of at least an eighth of the axis.
        """
        found = self.numbers
        if self.scale != "log" or not 2 <= len(found) <= 6:
            return None
        places = [math.log(number) for number in found]
        nearest = min(right - left for left, right in pairwise(places))
        return found if nearest >= (places[-1] - places[0]) / 8 else None


def axis_of(name: str, values: Iterable[Value], *, is_logarithmic: bool = False) -> Axis:
    """Return an axis for values: numbers in their common unit, quantities in their display unit, or else words."""
    distinct = list(dict.fromkeys(values))
    parts = {value: amount(value) for value in distinct}
    units = {part[1] for part in parts.values() if part}
    if all(parts.values()) and len(units) == 1:
        return Axis(name, units.pop(), {v: part[0] for v, part in parts.items() if part}, is_logarithmic)
    found = quantities(distinct)
    if found is not None and len(found.numbers) == len(distinct):
        scale, unit = display(found.unit, is_share=found.unit == "1")
        return Axis(name, unit, {value: number * scale for value, number in found.numbers.items()}, is_logarithmic)
    return Axis(name, "", {value: str(value) for value in distinct})


def words(axes: Sequence[Axis], values: Sequence[Value]) -> str:
    """Return a value of each axis as the name of a curve or a panel, such as "rate 2Mbit/s, red"."""
    named = (f"{axis.name.rpartition('.')[2]} " if axis.name not in (MECHANISM, FLOWS) else "" for axis in axes)
    return ", ".join(f"{name}{value}" for name, value in zip(named, values, strict=True))


def split(rest: Sequence[Axis]) -> tuple[list[Axis], list[Axis]]:
    """Return the axes whose combinations are drawn as curves, at most `_MAX_SERIES`, and the axes drawn as panels."""
    series: list[Axis] = []
    panels: list[Axis] = []
    for axis in sorted(rest, key=lambda axis: (axis.name != FLOWS, axis.name != MECHANISM, len(axis.places))):
        curves = math.prod(len(a.places) for a in [*series, axis])
        (series if curves <= _MAX_SERIES else panels).append(axis)
    return series, panels
