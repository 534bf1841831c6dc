"""Confidence intervals over replications: Student's t for means and paired differences, Fieller's for ratios."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from tailback import _native

__all__ = ["Interval", "mean_interval", "paired_differences", "ratio_interval", "t_quantile"]


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean with its two-sided confidence interval, which is unbounded with fewer than two replications."""

    mean: float
    """Mean over replications; NaN: there is no replication."""
    lo: float
    """Lower end, in the unit of the mean; -inf: unbounded."""
    hi: float
    """Upper end, in the unit of the mean; inf: unbounded."""
    n: int
    """Number of replications."""

    @property
    def half_width(self) -> float:
        """Half of the interval's width, in the unit of the mean."""
        return (self.hi - self.lo) / 2

    def clipped(self, lowest: float | None) -> Interval:
        """Return the interval with ends of at least `lowest`; `None`: the interval is unchanged."""
        if lowest is None or self.lo >= lowest:
            return self
        return Interval(self.mean, lowest, max(self.hi, lowest), self.n)

    def is_precise(self, relative: float, absolute: float) -> bool:
        """Return `True` if the half width is at most `relative` times the mean, or at most `absolute` in its unit."""
        return self.half_width <= max(relative * abs(self.mean), absolute)

    def as_json(self, unit: str) -> dict[str, object]:
        """Return the JSON form; an unbounded end becomes null, since JSON has no infinity."""
        ends = {"lo": self.lo, "hi": self.hi}
        finite = {name: value if math.isfinite(value) else None for name, value in ends.items()}
        return {"mean": self.mean if math.isfinite(self.mean) else None, **finite, "n": self.n, "unit": unit}


@lru_cache(maxsize=4096)
def t_quantile(confidence: float, dof: int) -> float:
    """Return t with P(|T| <= t) = `confidence` for Student's t with `dof` degrees of freedom, 1 or more."""
    return _native.t_quantile(0.5 + confidence / 2, float(dof))


def mean_interval(values: Sequence[float], confidence: float) -> Interval:
    """Return the mean of independent values and its two-sided Student-t interval; `confidence` is above 0, below 1.

    Equal values give an interval of width 0. For a discrete outcome, such as no loss in any replication, that
    understates the uncertainty, so claims of zero also state the number of packets.
    """
    n = len(values)
    if n == 0:
        return Interval(math.nan, -math.inf, math.inf, 0)
    mean = math.fsum(values) / n
    if n == 1:
        return Interval(mean, -math.inf, math.inf, 1)
    if min(values) == max(values):
        return Interval(values[0], values[0], values[0], n)
    variance = math.fsum((v - mean) ** 2 for v in values) / (n - 1)
    half = t_quantile(confidence, n - 1) * math.sqrt(variance / n)
    return Interval(mean, mean - half, mean + half, n)


def paired_differences(left: Mapping[int, float], right: Mapping[int, float]) -> list[float]:
    """Return `left` minus `right` for each replication that both have, in ascending order of the replications.

    The keys are the numbers or the seeds of replications.
    """
    return [left[k] - right[k] for k in sorted(left.keys() & right.keys())]


def ratio_interval(left: Mapping[int, float], right: Mapping[int, float], confidence: float) -> Interval | None:
    """Return the ratio of the means of `left` and `right` with Fieller's interval, paired by replication.

    The interval contains exactly those ratios c for which the Student-t interval of left - c·right contains zero, so a
    claim about the ratio and one about that difference always agree. `None`: there are fewer than two pairs, or the
    interval of the mean of `right` contains zero, so that no bounded interval exists.
    """
    common = sorted(left.keys() & right.keys())
    n = len(common)
    if n < 2:
        return None
    a = [left[k] for k in common]
    b = [right[k] for k in common]
    mean_a, mean_b = math.fsum(a) / n, math.fsum(b) / n
    t2n = t_quantile(confidence, n - 1) ** 2 / n
    var_a = math.fsum((x - mean_a) ** 2 for x in a) / (n - 1) * t2n
    var_b = math.fsum((y - mean_b) ** 2 for y in b) / (n - 1) * t2n
    cov = math.fsum((x - mean_a) * (y - mean_b) for x, y in zip(a, b, strict=True)) / (n - 1) * t2n
    # (mean_a - c·mean_b)^2 <= var_a - 2c·cov + c^2·var_b is quadratic in c; it bounds c if the leading
    # coefficient is above zero, that is if the interval of mean_b excludes zero.
    leading = mean_b**2 - var_b
    if leading <= 0:
        return None
    middle = mean_a * mean_b - cov
    root = math.sqrt(max(middle**2 - leading * (mean_a**2 - var_a), 0.0))
    return Interval(mean_a / mean_b, (middle - root) / leading, (middle + root) / leading, n)
