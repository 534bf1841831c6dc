"""Doubts about confidence intervals: replications that are too short for intervals with the coverage of their level.

Student's interval of the mean of n values has a lower coverage than its level if the distribution of the values is
skewed. From a few values their skewness cannot be estimated: that of three values is at most 0.71. It is therefore
derived from their standard deviation s. Over a time that is long compared with its relaxation, a sum over a queue is
nearly one over independent clusters; with a Poisson number of clusters whose contributions have the moments m1, m2 and
m3, the skewness divided by the coefficient of variation is m3 m1 / m2². That ratio does not depend on the length of
the run; `RATIOS` has it for each kind of metric, and `skewness_limit` the skewness from which there is a doubt.

docs/statistics.md has the coverage of intervals with and without a doubt.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from tailback.results.metrics import Measure
from tailback.results.report import Report

__all__ = ["RATIOS", "Doubt", "Kind", "doubts", "skewness_limit", "sparse"]

Kind = Literal["events", "mean", "quantile"]
"""Kind of a metric: a count of events, the mean of times, or a high quantile of times."""

RATIOS: dict[Kind, float] = {"events": 1.5, "mean": 7.5, "quantile": 1.875}
"""Skewness of the values of replications divided by s/θ, where θ is the scale of the metric, by kind of metric.

- `events`, θ the mean: losses come in clusters of geometric sizes, as long as a queue is full, with the moments 1, 2
  and 6 of a long geometric distribution. 6 · 1 / 2² = 1.5.
- `mean`, θ the mean wait: the mean of a queue in heavy traffic, which is a reflected Brownian motion. With drift -1 and
  variance 1 its integral over a time t has, for large t, the cumulants t/2, t/2 and 15t/4 (a perturbation of its
  generator). (15/4) · (1/2) / (1/2)² = 7.5.
- `quantile`, θ the mean wait: for a high quantile, the clusters are excursions above it. The time that a Brownian
  motion with drift -1 and variance 1 spends above its start has the transform 2 / (1 + √(1 + 2q)), with the moments
  1/2, 1 and 15/4. (15/4) · (1/2) / 1² = 1.875. As waits are exponential above the quantile, the relative deviation of
  the time above it is that of the quantile divided by the mean wait, to the first order.
"""

_TAILS = {"delay": "delay_p99", "completion": "completion_p99", "response": "response_p99"}
"""Mean times, and the quantile of each from which, with the mean, the mean wait is computed."""
_WAITS = math.log(100) - 1
"""99th percentile minus mean of an exponential variable, divided by its mean."""
_FEW = 100
"""Number of values below which their 99th percentile is the maximum."""


@dataclass(frozen=True, slots=True)
class Doubt:
    """An interval whose coverage is probably more than 2 percentage points below a level of 95 %."""

    measure: Measure
    n: int
    """Number of replications."""
    skewness: float
    """Estimated skewness of the values of the replications, above the limit."""
    limit: float
    """Result of `skewness_limit`."""

    @property
    def longer(self) -> float:
        """Factor by which the replications would have to be longer for a skewness at the limit, above 1."""
        return (self.skewness / self.limit) ** 2


_LIMITS: dict[Kind, float] = {"events": 0.09, "mean": 0.15, "quantile": 0.12}
"""Square of the limit of the skewness divided by n + 7, by kind of metric; `skewness_limit` states where it is from."""


def skewness_limit(kind: Kind, n: int) -> float:
    """Return the skewness of n independent values at which their Student-t interval of 95 % has a coverage of 93 %.

    For large n the coverage is below the level by 2 z φ(z) ((z⁴ + 2 z² - 3) g² / 18 - (z² - 3) k / 12) / n (P. Hall,
    Annals of Statistics 16(3), 1988), where g is the skewness, k the excess kurtosis and z = 1.96. For 3 to 30 values
    this expansion is much too high, so that the limit is from the coverage of variables with known clusters: a Poisson
    number of exponential ones for events, and for means of the power 2.7 of exponential ones, which have the k / g² of
    the queue in heavy traffic, 2.35. At √(0.09 (n + 7)) and √(0.15 (n + 7)) these coverages are 93 to 94 %. That of
    quantiles was chosen by the coverage in M/M/1 with a load of 0.7, as their skewness is not small enough for theory.
    """
    return math.sqrt(_LIMITS[kind] * (n + 7))


def sparse(report: Report) -> set[Measure]:
    """Return the mean times of groups that have fewer than 100 values in a replication, and thus no 99th percentile."""
    counts = {Measure("group", name, "completion"): row["count"] for name, row in report.data["completions"].items()}
    for name, application in report.data["applications"].items():
        counts[Measure("group", name, "response")] = application["time"]["count"]
    for flow in report.data["flows"]:
        key = Measure("group", flow["group"], "delay")
        counts[key] = counts.get(key, 0) + flow["delay"]["count"]
    return {key for key, count in counts.items() if count < _FEW}


def doubts(rows: Sequence[Mapping[Measure, float]], few: Collection[Measure] = ()) -> list[Doubt]:
    """Return the doubts about the intervals of loss and of times, in the order of the measures in `rows`.

    `rows` has the measures of each replication; `few` are the mean times that have too few values for a 99th percentile
    (`sparse`). Left out are classes, all flows if they are a single group, intervals of width 0, and the delays of
    flows with a transport, which regulates the queue: their distribution is not that of an open queue.
    """
    keys = dict.fromkeys(key for row in rows for key in row if key.scope != "class")
    groups = {key.name for key in keys if key.scope == "group"}
    found = []
    for key in keys:
        if key.scope == "total" and len(groups) == 1:
            continue
        values = _values(rows, key)
        scale, kind = _scale(rows, key, few)
        if kind is None or len(values) < 2 or scale <= 0:
            continue
        mean = math.fsum(values) / len(values)
        deviation = math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (len(values) - 1))
        skewness = RATIOS[kind] * deviation / scale
        limit = skewness_limit(kind, len(values))
        if skewness > limit:
            found.append(Doubt(key, len(values), skewness, limit))
    return found


def _values(rows: Sequence[Mapping[Measure, float]], key: Measure) -> list[float]:
    return [row[key] for row in rows if key in row]


def _scale(
    rows: Sequence[Mapping[Measure, float]], key: Measure, few: Collection[Measure]
) -> tuple[float, Kind | None]:
    """Return the scale of a measure, in its unit, and its kind; `None`: nothing is known of its skewness."""
    if key.metric == "loss":
        return _mean(rows, key), "events"
    time = next((time for time, tail in _TAILS.items() if key.metric in (time, tail)), None)
    if time is None or (time == "delay" and _values(rows, replace(key, metric="goodput"))):
        return math.nan, None
    center = replace(key, metric=time)
    mean, high = _mean(rows, center), _mean(rows, replace(key, metric=_TAILS[time]))
    if key.metric != time:
        return (math.nan, None) if center in few else ((high - mean) / _WAITS, "quantile")
    # Without the quantile the wait is not known apart from transmission and propagation; it is at most the mean.
    return (mean if math.isnan(high) or center in few else (high - mean) / _WAITS), "mean"


def _mean(rows: Sequence[Mapping[Measure, float]], key: Measure) -> float:
    """Return the mean over replications; NaN: there is no value."""
    values = _values(rows, key)
    return math.fsum(values) / len(values) if values else math.nan
