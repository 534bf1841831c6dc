"""What looks wrong although it is allowed: said once, with its place and what to change."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import TYPE_CHECKING, cast

from tailback.stats import t_quantile

if TYPE_CHECKING:
    from tailback.measures import Estimate

__all__ = ["ScenarioWarning", "accepted", "gather", "made", "read", "wide_intervals"]


@dataclass(frozen=True, slots=True)
class ScenarioWarning:
    """Something that makes little sense, or that a run did not honour."""

    name: str
    """What it is about, such as `overload`; `run.accept` with this name silences it."""
    message: str
    """One sentence with the numbers."""
    path: str = ""
    """Where in the document, such as `links[0].rate`; empty for the whole."""
    line: int | None = None
    """Line in the file, from 1; none where it has no place in a file."""
    column: int | None = None
    """Column in the line, from 1."""
    suggestion: str | None = None
    """What to change, or how to say that it is meant."""
    rendered: str = ""
    """The whole as text: place, source line, caret and advice."""

    def as_json(self) -> dict[str, object]:
        """Return plain values, as manifests and `--json` have them."""
        return {
            "name": self.name,
            "message": self.message,
            "path": self.path,
            "line": self.line,
            "column": self.column,
            "suggestion": self.suggestion,
        }


def read(found: Iterable[Mapping[str, str | int | None]]) -> tuple[ScenarioWarning, ...]:
    """Take warnings from the core."""
    return tuple(ScenarioWarning(**dict(table)) for table in found)  # type: ignore[arg-type]


def made(name: str, message: str, advice: str) -> ScenarioWarning:
    """Return a warning that is about no place in the file."""
    suggestion = f'{advice}; if it is meant, write accept = ["{name}"] under [run]'
    return ScenarioWarning(
        name, message, suggestion=suggestion, rendered=f"warning: {message}\n  = help: {suggestion}\n"
    )


def gather(found: Sequence[Sequence[ScenarioWarning]], what: str) -> list[ScenarioWarning]:
    """Return the warnings of several scenarios, one for each name and place: the first, and of how many it is."""
    places: dict[tuple[str, str], list[ScenarioWarning]] = {}
    for own in found:
        for warning in {(warning.name, warning.path): warning for warning in own}.values():
            places.setdefault((warning.name, warning.path), []).append(warning)
    gathered = []
    for first, *more in places.values():
        if more or len(found) > 1:
            count = f"{first.message} (at {1 + len(more)} of {len(found)} {what})"
            first = replace(first, message=count, rendered=first.rendered.replace(first.message, count, 1))
        gathered.append(first)
    return gathered


_TOO_WIDE = 0.5
"""Half an interval's width, as a share of the mean, from which on it tells little."""
_WIDTH = 0.1
"""What is aimed at: the default of `run.precision.relative`."""
_ABSOLUTE = {"loss": 0.001}
"""Widths that are narrow enough whatever the mean, such as of next to no loss: the default of `run.precision`."""
_ENOUGH = 30
"""With so many replications the width is what somebody wanted to know."""


def wide_intervals(
    found: Iterable[Estimate], confidence: float, accepted: Collection[str] = ()
) -> list[ScenarioWarning]:
    """Return a warning about the widest interval of loss, delay and throughput, if it is too wide to tell.

    How many replications would be needed is the least n with t(n - 1) s / √n ≤ h, s being the standard deviation over
    replications, h a tenth of the mean, and t Student's quantile (Law, Simulation Modeling and Analysis, 4.5). With the
    normal quantile in its place, few replications would seem to be enough that are not.
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
    # share is t s / (√n mean).
    deviation = share * math.sqrt(n) / t_quantile(confidence, n - 1)
    needed = _replications(deviation, confidence)
    mean = estimate.interval.mean
    message = (
        f"the interval of `{estimate.measure}` is too wide to tell: {mean:.3g} ± {share:.0%} of it from {n} "
        f"replications; about {needed} would bring it to ± {_WIDTH:.0%}"
    )
    return [made("wide-interval", message, f"run longer, or more often: --reps {needed}")]


def _replications(deviation: float, confidence: float) -> int:
    """Return the least number of replications whose interval has `_WIDTH`; `deviation` is a share of the mean, too."""
    normal = NormalDist().inv_cdf(0.5 + confidence / 2)
    # Student's quantile is above the normal one, so that fewer than this are never enough.
    n = max(2, math.ceil((normal * deviation / _WIDTH) ** 2))
    while t_quantile(confidence, n - 1) * deviation > _WIDTH * math.sqrt(n):
        n += 1
    return n


def accepted(run_config: Mapping[str, object]) -> frozenset[str]:
    """Return the names of warnings that a scenario's `[run]` accepts."""
    return frozenset(cast("Sequence[str]", run_config.get("accept", ())))
