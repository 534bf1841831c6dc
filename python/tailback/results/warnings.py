"""Warnings about results: intervals that are too wide for a conclusion, or of replications that are too short."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from statistics import NormalDist

from tailback.results.coverage import Doubt
from tailback.results.intervals import t_quantile
from tailback.results.metrics import Estimate
from tailback.scenario.warnings import ScenarioWarning, made

__all__ = ["doubtful_intervals", "wide_intervals"]

_TOO_WIDE = 0.5
"""Half width of an interval, as a share of the mean, above which the interval is too wide."""
_TARGET = 0.1
"""Half width, as a share of the mean, for which replications are advised: the default of `run.precision.relative`."""
_ABSOLUTE = {"loss": 0.001}
"""Half widths that are narrow enough for any mean, in the metric's unit: the default of `run.precision.absolute`."""
_ENOUGH = 30
"""Number of replications at and above which no warning is given: the width is then assumed to be intended."""


def wide_intervals(
    found: Iterable[Estimate], confidence: float, accepted: Collection[str] = ()
) -> list[ScenarioWarning]:
    """Return a list with a warning about the widest interval, relative to its mean, if it is too wide for a conclusion.

    Intervals of loss, delay and throughput of groups and of all flows are compared; `confidence` is their level. Left
    out are intervals over one replication or over 30 or more, those with a mean of 0, and unbounded ones. The list is
    empty if no other interval is too wide, or if `accepted` has the name of the warning, `wide-interval`.

    The advised number of replications is the smallest n with t(n - 1) s / √n ≤ h, where s is the standard deviation
    over replications, h a tenth of the mean, and t(n - 1) the quantile of Student's distribution with n - 1 degrees of
    freedom for a two-sided interval of this level (Law, Simulation Modeling and Analysis, 4.5). The normal
    quantile instead of t(n - 1) would give too small a number.
    """
    if "wide-interval" in accepted:
        return []
    worst: tuple[float, Estimate] | None = None
    for estimate in found:
        measure, interval = estimate.measure, estimate.interval
        if measure.scope == "class" or measure.metric not in ("loss", "delay", "throughput"):
            continue
        if not 2 <= interval.n < _ENOUGH or interval.mean == 0 or not math.isfinite(interval.half_width):
            continue
        share = interval.half_width / abs(interval.mean)
        absolute = _ABSOLUTE.get(measure.metric, 0.0)
        if not interval.is_precise(_TOO_WIDE, absolute) and (worst is None or share > worst[0]):
            worst = (share, estimate)
    if worst is None:
        return []
    share, estimate = worst
    n = estimate.interval.n
    # share = t s / (√n mean), so the standard deviation as a share of the mean, s / mean, is share √n / t.
    deviation = share * math.sqrt(n) / t_quantile(confidence, n - 1)
    needed = _replications(deviation, confidence)
    unit = "" if estimate.measure.unit == "1" else f" {estimate.measure.unit}"
    message = (
        f"the interval of `{estimate.measure}` is too wide for a conclusion: {estimate.interval.mean:.3g}{unit} "
        f"± {share:.0%} of the mean from {n} replications; about {needed} are needed for ± {_TARGET:.0%}"
    )
    return [made("wide-interval", message, f"raise run.duration, or the replications: --reps {needed}")]


_NAMED = 3
"""Maximum number of measures that a warning names."""


def doubtful_intervals(found: Sequence[Doubt], accepted: Collection[str] = ()) -> list[ScenarioWarning]:
    """Return a list with a warning that names the measures of doubts, that with the largest skewness first.

    The list is empty if there are no doubts, or if `accepted` has the name of the warning, `doubtful-interval`.
    """
    if not found or "doubtful-interval" in accepted:
        return []
    ordered = sorted(found, key=lambda doubt: -doubt.longer)
    worst = ordered[0]
    names = ", ".join(f"`{doubt.measure}`" for doubt in ordered[:_NAMED])
    others = f" and {len(ordered) - _NAMED} more" if len(ordered) > _NAMED else ""
    message = (
        f"the replications are too short for the interval{'s' if len(ordered) > 1 else ''} of {names}{others}: their "
        f"values have an estimated skewness of {worst.skewness:.2g}, and with more than "
        f"{worst.limit:.2g} an interval over {worst.n} contains the true value less often than it states"
    )
    return [made("doubtful-interval", message, f"make the measured time about {math.ceil(worst.longer)} times as long")]


def _replications(deviation: float, confidence: float) -> int:
    """Return the smallest number of replications with a half width of at most `_TARGET`.

    `deviation` is the standard deviation over replications as a share of the mean.
    """
    normal = NormalDist().inv_cdf(0.5 + confidence / 2)
    # Student's quantile is above the normal one, so the number by the normal quantile is a lower bound.
    n = max(2, math.ceil((normal * deviation / _TARGET) ** 2))
    while t_quantile(confidence, n - 1) * deviation > _TARGET * math.sqrt(n):
        n += 1
    return n
