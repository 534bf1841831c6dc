"""Points of an experiment: axes with units, combinations of their values, and descriptions of points."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Literal, Protocol

from tailback.scenario import Value

__all__ = ["Axes", "Axis", "AxisValue", "Point", "ProfileName", "Settings", "grid"]

AxisValue = str | int | float
"""Value of an axis at a point: a number in the axis's unit, or a word."""
Settings = dict[str, Value]
"""Values by path in the scenario document, as for `--set`."""
ProfileName = Literal["quick", "full"]
"""Effort of an experiment: `quick` has short runs and possibly fewer points, `full` long runs at all points."""


@dataclass(frozen=True, slots=True)
class Axis:
    """One parameter that an experiment varies."""

    name: str
    """Name of its values in a `Point`, such as `burst`."""
    label: str
    """Label in figures and tables, such as "mean burst size"."""
    unit: str = ""
    """Unit of its values; empty for words and for numbers without a unit."""

    def text(self, value: AxisValue) -> str:
        """Return a value as text, with the unit if there is one, such as "48 kB"."""
        shown = f"{value:g}" if isinstance(value, float) else str(value)
        return f"{shown} {self.unit}".rstrip()

    @property
    def title(self) -> str:
        """Label, with the unit in brackets if there is one, for a figure."""
        return f"{self.label} ({self.unit})" if self.unit else self.label


class Point(Mapping[str, AxisValue]):
    """One combination of values, by the names of the axes. Immutable and hashable.

    Points are equal if they have the same axes with equal values, whatever the order of the axes.
    """

    __slots__ = ("_hash", "_values")

    def __init__(self, **values: AxisValue) -> None:
        self._values = values
        self._hash = hash(tuple(sorted(values.items(), key=lambda item: item[0])))

    def __getitem__(self, name: str) -> AxisValue:
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle by value, because the hashes of texts differ between processes."""
        return _point, (self._values,)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Point) and self._values == other._values

    def __hash__(self) -> int:
        return self._hash

    def __repr__(self) -> str:
        return "Point(" + ", ".join(f"{name}={value!r}" for name, value in self._values.items()) + ")"


def _point(values: dict[str, AxisValue]) -> Point:
    return Point(**values)


def grid(**axes: Iterable[AxisValue]) -> list[Point]:
    """Return a point for every combination of the given values; the last axis varies fastest."""
    lists = [list(values) for values in axes.values()]
    return [Point(**dict(zip(axes, values, strict=True))) for values in product(*lists)]


class Axes(Protocol):
    """Interface of an object with axes along which quantities vary, such as an `Experiment`."""

    @property
    def id(self) -> str:
        """Id of the experiment, for messages."""

    def axis(self, name: str) -> Axis:
        """Return an axis by its name; raises KeyError if there is none."""

    def describe(self, point: Mapping[str, AxisValue]) -> str:
        """Return a point in words, such as "rate 3 Mbit/s, burst 48 kB"."""
