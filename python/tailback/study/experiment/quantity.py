"""Measured quantities over the points of an experiment; their comparisons give conditions.

Sums, differences and comparisons of two quantities are paired: they are taken replication by replication, and
replications of equal number have common random numbers at all points.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise

from tailback.results.intervals import Interval, mean_interval, ratio_interval
from tailback.study.experiment.claims import CONFIDENCE, Check, Condition, Region, Verdict, judge
from tailback.study.experiment.points import Axes, Axis, AxisValue, Point

__all__ = ["Key", "PointValues", "Quantity", "Selector", "matches"]

Key = tuple[tuple[str, AxisValue], ...]
"""Names and values of the free axes, which are not fixed to one value, in the order of the point's axes."""

Selector = AxisValue | list[AxisValue] | tuple[AxisValue, ...] | Callable[[AxisValue], bool]
"""Choice of values of an axis: one value, some values, or a function that returns `True` for the chosen ones."""


def matches(value: AxisValue, selector: Selector) -> bool:
    """Return `True` if a value equals the selector, is in it (a list or tuple), or satisfies it (a function)."""
    if callable(selector):
        return selector(value)
    if isinstance(selector, list | tuple):
        return value in selector
    return value == selector


@dataclass(frozen=True, slots=True)
class PointValues:
    """Values of a quantity at one point, or of a combination of quantities at several points."""

    values: Mapping[int, float]
    """Value by number of the replication."""
    points: frozenset[Point]
    """Points of the experiment from which the values come."""
    events: tuple[int, int] | None = None
    """Number of events, and of packets (or other things) among which they were counted, sums over all replications.

    `None`: the quantity counts no events.
    """

    def interval(self) -> Interval:
        """Return the mean and its 99 % interval over the replications."""
        return mean_interval([self.values[k] for k in sorted(self.values)], CONFIDENCE)


@dataclass(frozen=True, eq=False)
class Quantity:
    """A metric at a set of points, or arithmetic on metrics. Comparisons give a `Condition`, not a truth value."""

    experiment: Axes
    label: str
    """Label in conditions and figures."""
    unit: str
    """Unit of the values."""
    cells: Mapping[Key, PointValues]
    """Values by the values of the free axes."""
    lowest: float | None = None
    """Minimum possible value, to which intervals are clipped; `None`: no minimum."""
    factor: float = 1.0
    """Factor by which the metric was multiplied; a comparison of different factors is shown as a ratio."""

    # Access.

    @property
    def axes(self) -> tuple[str, ...]:
        """Names of the axes that are not fixed to one value."""
        return tuple(name for name, _ in next(iter(self.cells), ()))

    def axis(self, name: str) -> Axis:
        """Return one of the experiment's axes by its name; raises KeyError if there is none."""
        return self.experiment.axis(name)

    def values_of(self, axis: str) -> list[AxisValue]:
        """Return the values of a free axis, in the order of the points; raises KeyError if it is not free."""
        return list(dict.fromkeys(dict(key)[axis] for key in self.cells))

    def where(self, **selectors: Selector) -> Quantity:
        """Return the quantity at some of its points; an axis with a single value as its selector is no longer free.

        Raises KeyError if an axis is not free, or no point is chosen.
        """
        fixed = {name for name, s in selectors.items() if not callable(s) and not isinstance(s, list | tuple)}
        cells = {
            tuple((name, value) for name, value in key if name not in fixed): cell
            for key, cell in self.cells.items()
            if all(matches(dict(key)[name], selector) for name, selector in selectors.items())
        }
        if not cells:
            raise KeyError(f"no point of {self.experiment.id} is at {selectors}")
        return replace(self, cells=cells)

    def intervals(self) -> Iterator[tuple[dict[str, AxisValue], Interval]]:
        """Yield for each point the values of the free axes by name, and the mean and interval there."""
        for key, cell in self.cells.items():
            yield dict(key), cell.interval().clipped(self.lowest)

    def curve(self, x: str) -> tuple[list[AxisValue], list[Interval]]:
        """Return the values of `x`, and the intervals there; raises ValueError if `x` is not the only free axis."""
        if self.axes != (x,):
            raise ValueError(
                f"a curve of {self.label} along {x} needs all other axes fixed to one value; free are {self.axes}"
            )
        rows = list(self.intervals())
        return [row[0][x] for row in rows], [row[1] for row in rows]

    # Arithmetic, replication by replication.

    def __mul__(self, factor: float) -> Quantity:
        cells = {
            key: replace(cell, values={k: v * factor for k, v in cell.values.items()})
            for key, cell in self.cells.items()
        }
        return replace(self, label=f"{factor:g} · {self.label}", cells=cells, factor=self.factor * factor)

    __rmul__ = __mul__

    def __truediv__(self, divisor: float) -> Quantity:
        return replace(self * (1 / divisor), label=f"{self.label} / {divisor:g}")

    def __sub__(self, other: Quantity) -> Quantity:
        return self._paired(other, "\N{MINUS SIGN}", lambda a, b: a - b)

    def __add__(self, other: Quantity) -> Quantity:
        return self._paired(other, "+", lambda a, b: a + b)

    def _paired(self, other: Quantity, sign: str, combine: Callable[[float, float], float]) -> Quantity:
        cells = {}
        for key, left, right in self._pairs(other):
            common = sorted(left.values.keys() & right.values.keys())
            values = {k: combine(left.values[k], right.values[k]) for k in common}
            cells[key] = PointValues(values, left.points | right.points)
        label = f"{self.label} {sign} {other.label}"
        return Quantity(self.experiment, label, self.unit, cells)

    def _pairs(self, other: Quantity) -> Iterator[tuple[Key, PointValues, PointValues]]:
        """Yield key, own cell and cell of the other quantity for each point that both have.

        A quantity with fewer free axes is used at every value of the other's further axes. Raises ValueError if the
        units differ, if each has a free axis that the other lacks, or if there is no common point.
        """
        if self.unit != other.unit:
            raise ValueError(f"{self.label} is in {self.unit}, {other.label} in {other.unit}")
        few, many = sorted((self, other), key=lambda quantity: len(quantity.axes))
        if not set(few.axes) <= set(many.axes):
            raise ValueError(f"{self.label} varies along {self.axes}, {other.label} along {other.axes}")
        found = 0
        for key in many.cells:
            short = tuple((name, value) for name, value in key if name in few.axes)
            if short in few.cells:
                found += 1
                yield (
                    key,
                    *((few.cells[short], many.cells[key]) if few is self else (many.cells[key], few.cells[short])),
                )
        if not found:
            raise ValueError(f"{self.label} and {other.label} have no point in common")

    # Conditions.

    def __lt__(self, other: Quantity | float) -> Condition:
        return self._compare(other, "<")

    def __le__(self, other: Quantity | float) -> Condition:
        return self._compare(other, "≤")

    def __gt__(self, other: Quantity | float) -> Condition:
        return self._compare(other, ">")

    def __ge__(self, other: Quantity | float) -> Condition:
        return self._compare(other, "≥")

    def within(self, lo: float, hi: float) -> Condition:
        """Return the condition that the quantity is between `lo` and `hi`, inclusive."""
        region = Region(lo, hi)
        return Condition(f"{self.label} from {lo:g} to {hi:g} {self.unit}", tuple(self._checks(region)))

    def close_to(self, other: Quantity, relative: float) -> Condition:
        """Return the condition that the difference is at most `relative` (0 to 1) times the other quantity."""
        return (self <= other * (1 + relative)) & (self >= other * (1 - relative))

    def is_zero(self, counted: str = "packets") -> Condition:
        """Return the condition that no event was counted; raises TypeError if the metric counts no events.

        `counted` is a noun in the plural for the things among which events were counted: pages write "3,000 packets
        seen" or "192 changes of max_p seen".
        """

        def check(key: Key, cell: PointValues) -> Check:
            if cell.events is None:
                raise TypeError(
                    f"{self.label} counts no events, so it cannot be claimed to be zero; give an upper bound"
                )
            count, packets = cell.events
            verdict = Verdict.UNDECIDED if not packets else Verdict.FAIL if count else Verdict.PASS
            # A zero of fewer packets proves less: the point with the fewest is the worst.
            slack = -count if count else packets
            measured = self._shown(cell)
            return Check(
                self._at(key), verdict, measured, self.unit, cell.points, slack, packets=packets, counted=counted
            )

        return Condition(f"{self.label} is zero", tuple(check(key, cell) for key, cell in self.cells.items()))

    def equals(self, other: Quantity) -> Condition:
        """Return the condition that both quantities have the same value in every replication that both have."""
        checks = []
        for key, cell in (self - other).cells.items():
            differs = any(value != 0 for value in cell.values.values())
            verdict = Verdict.UNDECIDED if not cell.values else Verdict.FAIL if differs else Verdict.PASS
            checks.append(Check(self._at(key), verdict, cell.interval(), self.unit, cell.points))
        return Condition(f"{self.label} equals {other.label}", tuple(checks))

    def non_decreasing(self, along: str, tolerance: float) -> Condition:
        """Return the condition that the quantity falls by at most the tolerance at each step along an axis.

        The tolerance is in the quantity's unit. A step passes if the whole interval of its paired difference is above
        minus the tolerance, ends included; with a tolerance of 0, steps between equal means would stay undecided.
        """
        return self._monotone(along, tolerance, +1)

    def non_increasing(self, along: str, tolerance: float) -> Condition:
        """Return the condition that the quantity rises by at most the tolerance at each step; see `non_decreasing`."""
        return self._monotone(along, tolerance, -1)

    def as_shown(self, why: str) -> Condition:
        """Return a condition that asserts nothing and shows the values."""
        checks = (
            Check(self._at(key), Verdict.NULL, self._shown(cell), self.unit, cell.points, why=why)
            for key, cell in self.cells.items()
        )
        return Condition("shown, not judged", tuple(checks))

    # Construction of conditions.

    def _monotone(self, along: str, tolerance: float, sign: int) -> Condition:
        region = Region(lo=-tolerance)
        steps = self.values_of(along)
        axis = self.axis(along)
        checks = []
        for low, high in pairwise(steps):
            rise = (self.where(**{along: high}) - self.where(**{along: low})) * sign
            for key, cell in rise.cells.items():
                interval = cell.interval()
                step = f"{along} {axis.text(low)} to {axis.text(high)}"
                at = ", ".join(filter(None, [self._at(key), step]))
                checks.append(
                    Check(at, judge(interval, region), interval, self.unit, cell.points, region.slack(interval))
                )
        direction = "decreases" if sign > 0 else "increases"
        expected = f"{self.label} never {direction} along {along} by more than {tolerance:g} {self.unit}"
        return Condition(expected, tuple(checks))

    def _compare(self, other: Quantity | float, sign: str) -> Condition:
        strict = sign in "<>"
        if not isinstance(other, Quantity):
            region = Region(hi=other, closed=not strict) if sign in "<≤" else Region(lo=other, closed=not strict)
            return Condition(f"{self.label} {sign} {other:g} {self.unit}", tuple(self._checks(region)))
        small, large = (self, other) if sign in "<≤" else (other, self)
        region = Region(lo=0, closed=not strict)
        checks = []
        for key, left, right in small._pairs(large):
            common = sorted(left.values.keys() & right.values.keys())
            difference = mean_interval([right.values[k] - left.values[k] for k in common], CONFIDENCE)
            positive = [any(cell.values[k] > 0 for k in common) for cell in (left, right)]
            verdict, why = judge(difference, region), ""
            if strict and common and not any(positive):
                verdict, why = Verdict.NULL, "both sides are zero"
            shown, unit = difference, self.unit
            ratio = _unscaled_ratio(self, other, *((left, right) if small is self else (right, left)))
            if ratio is not None:
                shown, unit = ratio, "ratio"
            points = left.points | right.points
            slack = region.slack(difference)
            checks.append(Check(self._at(key), verdict, shown, unit, points, slack, None, all(positive), why))
        return Condition(f"{self.label} {sign} {other.label}", tuple(checks))

    def _checks(self, region: Region) -> Iterator[Check]:
        for key, cell in self.cells.items():
            interval = self._shown(cell)
            verdict = judge(interval, region)
            yield Check(self._at(key), verdict, interval, self.unit, cell.points, region.slack(interval))

    def _shown(self, cell: PointValues) -> Interval:
        return cell.interval().clipped(self.lowest)

    def _at(self, key: Key) -> str:
        return self.experiment.describe(dict(key))


def _unscaled_ratio(one: Quantity, other: Quantity, left: PointValues, right: PointValues) -> Interval | None:
    """Return the ratio of two metrics without their factors; `None`: the factors are equal, or it has no interval.

    `left` and `right` are the cells of `one` and `other`.
    """
    if one.factor == other.factor:
        return None
    a = {k: v / one.factor for k, v in left.values.items()}
    b = {k: v / other.factor for k, v in right.values.items()}
    return ratio_interval(a, b, CONFIDENCE)
