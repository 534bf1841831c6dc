"""Comparison of a case on the kernel and on Tailback: intervals over seeds, and agreement within the tolerances."""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from tailback.results.intervals import Interval, mean_interval
from tailback.scenario import Scenario
from tailback.witness.kernel import GUEST, Kernel
from tailback.witness.network import Case
from tailback.witness.outcome import METRICS, Criterion, Outcome, Probe, on_kernel, on_tailback

__all__ = ["CONFIDENCE", "LEAST_SEEDS", "MOST_SEEDS", "Answers", "Line", "compare", "lines", "table"]

CONFIDENCE = 0.95
"""Confidence of the intervals, by Student's t over the seeds."""
LEAST_SEEDS, MOST_SEEDS = 5, 20
"""Seeds of a case: more are added until each interval is narrower than its tolerance."""


@dataclass(frozen=True)
class Answers:
    """Results of the kernel, which are kept in a folder."""

    kernel: Kernel
    folder: Path

    def key(self, case: Case, seed: int) -> str:
        """Return a hash of what determines the results: the kernel, the guest's programs, the case and the seed."""
        sources = [(GUEST / name).read_text(encoding="utf-8") for name in ("init.sh", "traffic.c")]
        question = "\n".join([self.kernel.identity(), *sources, case.script(seed), repr(case.port)])
        return hashlib.sha256(question.encode()).hexdigest()[:32]

    def of(self, case: Case, seed: int) -> Outcome:
        """Return the results of a case for a seed, from the folder if they are there; raises GuestError."""
        answer = self.folder / f"{self.key(case, seed)}.json"
        if not answer.exists():
            found = on_kernel(self.kernel, case, seed, answer.with_suffix(".log"))
            new = answer.with_suffix(".new")
            new.write_text(json.dumps(asdict(found)), encoding="utf-8")
            new.replace(answer)
        read = json.loads(answer.read_text(encoding="utf-8"))
        probes = {
            name: Probe(**{key: tuple(values) for key, values in one.items()}) for name, one in read["probes"].items()
        }
        return Outcome(**{**read, "probes": probes})


@dataclass(frozen=True)
class Line:
    """A metric of a case on both programs."""

    metric: str
    """Key of `METRICS`."""
    kernel: Interval
    ours: Interval

    @property
    def tolerance(self) -> float:
        """Permitted difference of the means, in the unit of the metric's field."""
        metric = METRICS[self.metric]
        return max(metric.relative * abs(self.kernel.mean), metric.least)

    @property
    def verdict(self) -> str:
        """Return `inside`, `outside`, `undecided` (an interval is wider than the tolerance), or `none` (no values)."""
        values = math.isnan(self.kernel.mean), math.isnan(self.ours.mean)
        if all(values):
            return "none"
        if any(values):
            return "outside"
        if max(self.kernel.half_width, self.ours.half_width) > self.tolerance:
            return "undecided"
        return "inside" if abs(self.kernel.mean - self.ours.mean) <= self.tolerance else "outside"

    def as_json(self) -> dict[str, Any]:
        """Return the JSON form; values without a number are null."""
        metric = METRICS[self.metric]
        return {
            "metric": self.metric,
            "kernel": self.kernel.as_json(metric.unit),
            "tailback": self.ours.as_json(metric.unit),
            "tolerance": self.tolerance if math.isfinite(self.tolerance) else None,
            "verdict": self.verdict,
        }


def lines(kernel: Sequence[Outcome], ours: Sequence[Outcome]) -> list[Line]:
    """Return the comparison of all metrics; each sequence has one outcome per seed.

    Seeds without a value of a metric are left out of it, if more than half of them have one.
    """

    def interval(outcomes: Sequence[Outcome], metric: str) -> Interval:
        values = [getattr(one, metric) for one in outcomes]
        # A seed without a value, such as one in which no probe arrived, is left out, unless that is the rule.
        known = [value for value in values if not math.isnan(value)]
        return mean_interval(known if 2 * len(known) > len(values) else values, CONFIDENCE)

    return [Line(metric, interval(kernel, metric), interval(ours, metric)) for metric in METRICS]


def compare(
    scenario: Scenario,
    case: Case,
    answers: Answers | Callable[[int], Outcome],
    *,
    least: int = LEAST_SEEDS,
    most: int = MOST_SEEDS,
    said: Callable[[int], None] | None = None,
) -> tuple[list[Line], list[Outcome], list[Outcome]]:
    """Return the comparison, and the outcomes of the kernel and of Tailback by seed.

    Seeds are added, from `least` to at most `most`, until no metric is undecided; Tailback's also up to `MOST_SEEDS`
    until its own intervals are narrower than the tolerances. `answers` gives the results of the kernel: it runs, or a
    function returns recorded ones by seed. `said` is called with the number of seeds of each round. Raises GuestError
    and the errors of a run.
    """
    ask = (lambda seed: answers.of(case, seed)) if isinstance(answers, Answers) else answers
    count, kernel = 0, list[Outcome]()
    goal = least
    while True:
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            kernel += pool.map(ask, range(count + 1, goal + 1))
        count = goal
        if said is not None:
            said(count)
        found, ours = _with_enough(scenario, case, kernel)
        if count >= most or all(line.verdict != "undecided" for line in found):
            return found, kernel, ours
        goal = min(most, count + 5)


def _with_enough(scenario: Scenario, case: Case, kernel: Sequence[Outcome]) -> tuple[list[Line], list[Outcome]]:
    """Return the comparison with so many seeds of Tailback that its intervals are narrower than the tolerances."""
    count = len(kernel)
    while True:
        ours = on_tailback(scenario, case, count)
        found = lines(kernel, ours)
        wide = any(line.ours.half_width > line.tolerance for line in found)
        if not wide or count >= MOST_SEEDS or count < LEAST_SEEDS:
            return found, ours
        count = min(MOST_SEEDS, count + 5)


def _text(metric: Criterion, interval: Interval) -> str:
    if math.isnan(interval.mean):
        return "none"
    value = f"{metric.scale * interval.mean:.{metric.digits}f}"
    # A single seed has no interval.
    half = "" if math.isinf(interval.half_width) else f" ± {metric.scale * interval.half_width:.{metric.digits}f}"
    return value + half


def table(found: Sequence[Line], *, empty: bool = False) -> list[list[str]]:
    """Return rows of texts: metric, kernel, Tailback, tolerance, verdict; metrics without values only with `empty`."""
    rows = []
    for line in found:
        if line.verdict == "none" and not empty:
            continue
        metric = METRICS[line.metric]
        title = f"{metric.title}, {metric.unit}" if metric.unit else metric.title
        tolerance = f"± {metric.scale * line.tolerance:.{metric.digits}f}"
        rows.append([title, _text(metric, line.kernel), _text(metric, line.ours), tolerance, line.verdict])
    return rows


def without_probes(outcome: Outcome) -> Mapping[str, Any]:
    """Return an outcome as a table for a file, without its samples; NaN is `None`."""
    values = asdict(replace(outcome, probes={}))
    values.pop("probes")
    return {key: None if math.isnan(value) else value for key, value in values.items()}
