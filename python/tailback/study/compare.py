"""Comparison of two runs: differences paired by seed, with Student-t intervals."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

from tailback.errors import OutputError, UsageError
from tailback.results.directory import MANIFEST, read_manifest, read_table
from tailback.results.formatting import html_table, quantity
from tailback.results.intervals import Interval, mean_interval, paired_differences
from tailback.results.metrics import Measure, measures, resolution
from tailback.run.pool import Progress
from tailback.run.result import Result
from tailback.run.simulate import run
from tailback.scenario import load

__all__ = ["Comparison", "Difference", "compare"]

Run = Result | str | PathLike[str]
"""A result, the directory of a run, or the path of a scenario file, which is then run."""


@dataclass(frozen=True, slots=True)
class Difference:
    """A measure of both runs and its paired difference, B minus A."""

    measure: Measure
    a: Interval
    """Mean and interval of A, in the measure's unit."""
    b: Interval
    """Mean and interval of B, in the measure's unit."""
    difference: Interval
    """Mean and interval of B minus A, paired by seed, in the measure's unit."""
    resolutions: tuple[float, float] = (0.0, 0.0)
    """Upper bounds of the errors of A and of B, if they are quantiles, in the measure's unit; 0 for exact values."""

    @property
    def is_significant(self) -> bool:
        """`True` if the interval of the difference excludes zero; always `False` with a single pair."""
        return self.difference.lo > 0 or self.difference.hi < 0

    def as_json(self) -> dict[str, object]:
        """Return the JSON form: means in the measure's unit, and the interval of the difference."""
        measure, unit = self.measure, self.measure.unit
        head = {"scope": measure.scope, "name": measure.name, "metric": measure.metric, "unit": unit}
        sides = {"a": self.a.mean, "b": self.b.mean}
        return head | sides | {"difference": self.difference.as_json(unit), "significant": self.is_significant}


@dataclass(frozen=True, slots=True)
class Comparison:
    """All measures that both runs have, over the seeds that both have."""

    seeds: tuple[int, ...]
    """Seeds of the replications that both runs have, in ascending order."""
    confidence: float
    """Confidence level of the intervals, 0 to 1."""
    differences: tuple[Difference, ...]
    """Differences of all measures that both runs have."""

    def distinct(self) -> list[Difference]:
        """Return the differences without those that repeat others.

        The only class repeats all flows, and all flows repeat the only group. Marks, which are counted for all flows
        together only, are kept unless both runs have none.
        """
        names: dict[str, set[str]] = {}
        for difference in self.differences:
            names.setdefault(difference.measure.scope, set()).add(difference.measure.name)
        repeated = {"class"} if len(names.get("class", ())) == 1 else set()
        repeated |= {"total"} if len(names.get("group", ())) == 1 else set()
        return [
            d
            for d in self.differences
            if (d.a.mean + d.b.mean > 0 if d.measure.metric == "marks" else d.measure.scope not in repeated)
        ]

    def as_json(self) -> dict[str, object]:
        """Return the JSON form."""
        return {
            "seeds": list(self.seeds),
            "confidence": self.confidence,
            "differences": [difference.as_json() for difference in self.differences],
        }

    def __repr__(self) -> str:
        head = f"<Comparison: {len(self.seeds)} pairs, {self.confidence:.0%} intervals of B - A"
        shown = ((d, quantity(d.difference, d.measure, sum(d.resolutions))) for d in self.distinct())
        lines = [f"  {d.measure!s:24} {text}{' *' if d.is_significant else ''}" for d, text in shown]
        return "\n".join([head, *lines]) + ">"

    def _repr_html_(self) -> str:
        rows = [
            [
                str(d.measure),
                quantity(d.a, d.measure, d.resolutions[0]),
                quantity(d.b, d.measure, d.resolutions[1]),
                quantity(d.difference, d.measure, sum(d.resolutions)),
                "*" if d.is_significant else "",
            ]
            for d in self.distinct()
        ]
        about = f"{len(self.seeds)} pairs, {self.confidence:.0%} intervals; a star: the interval excludes zero"
        return html_table(about, ("metric", "A", "B", "B \N{MINUS SIGN} A", ""), rows)


def compare(
    a: Run,
    b: Run,
    *,
    seed: int | None = None,
    replications: int | None = None,
    threads: int | None = None,
    confidence: float = 0.95,
    progress: Progress | None = None,
    allow_files: bool = False,
) -> Comparison:
    """Compare two runs; scenario files are run first. If both are scenario files, they are run with the same seeds.

    Each component draws from a stream of its own, named after it. Components that both scenarios have draw the same
    random numbers with the same seed, so that the mean of paired differences usually has less variance than that of
    differences between independent runs.

    Args:
        a: First run: a result, a run's directory, or a scenario file.
        b: Second run; differences are `b` minus `a`.
        seed: Base seed of the scenario files; default: that of `a` if it is a scenario file, else that of `b`.
        replications: Number of replications of the scenario files; default: that of the file whose seed is used.
        threads: Maximum number of replications that run at the same time; default: one per processor.
        confidence: Confidence of the intervals, above 0 and below 1.
        progress: Called repeatedly with the numbers of finished and of planned replications of the file that is run.
        allow_files: If true, scenarios may name files outside their folders.

    Raises:
        ScenarioError: A scenario file is wrong.
        UsageError: The runs have no seed or no measure in common.
        OutputError: A directory is not that of a run, or is damaged.

    """
    if isinstance(a, str | PathLike) and not Path(a).is_dir():
        config = load(a, allow_files=allow_files).run_config
        seed = int(str(config["seed"])) if seed is None else seed
        replications = int(str(config["replications"])) if replications is None else replications
    left = _values(a, seed, replications, threads, progress, allow_files)
    right = _values(b, seed, replications, threads, progress, allow_files)
    seeds = tuple(sorted(left.keys() & right.keys()))
    if not seeds:
        raise UsageError(
            f"the runs have no seed in common (A has {_range(left)}, B has {_range(right)}), so nothing can be paired; "
            "run one of them again with the other's --seed"
        )
    keys = [key for key in left[seeds[0]] if all(key in run for s in seeds for run in (left[s], right[s]))]
    if not keys:
        raise UsageError("the runs have no measure in common: give flow groups the same names in both scenarios")
    means = [{key: math.fsum(run[s][key] for s in seeds) / len(seeds) for key in keys} for run in (left, right)]
    return Comparison(
        seeds,
        confidence,
        tuple(
            _difference(key, seeds, left, right, confidence, (resolution(key, means[0]), resolution(key, means[1])))
            for key in keys
        ),
    )


BySeed = Mapping[int, Mapping[Measure, float]]
"""Measures of each replication, by its seed."""


def _difference(
    key: Measure,
    seeds: tuple[int, ...],
    left: BySeed,
    right: BySeed,
    confidence: float,
    resolutions: tuple[float, float],
) -> Difference:
    a = {s: left[s][key] for s in seeds}
    b = {s: right[s][key] for s in seeds}
    return Difference(
        key,
        mean_interval(list(a.values()), confidence),
        mean_interval(list(b.values()), confidence),
        mean_interval(paired_differences(b, a), confidence),
        resolutions,
    )


def _values(
    given: Run,
    seed: int | None,
    replications: int | None,
    threads: int | None,
    progress: Progress | None,
    allow_files: bool,
) -> BySeed:
    if not isinstance(given, Result):
        if Path(given).is_dir():
            return _read(given)
        given = run(load(given, allow_files=allow_files), seed, replications, threads, progress=progress)
    return {report.seed: measures(report) for report in given.reports}


def _read(directory: str | PathLike[str]) -> BySeed:
    seeds = {run["seed"] for run in read_manifest(directory)["replications"]}
    found: dict[int, dict[Measure, float]] = {}
    for row in read_table(directory, "metrics").iter_rows(named=True):
        found.setdefault(row["seed"], {})[Measure(row["scope"], row["name"], row["metric"])] = row["value"]
    if found.keys() != seeds:
        raise OutputError(
            f"{directory}: metrics.parquet and {MANIFEST} have different replications; run the scenario again into "
            "another directory"
        )
    return found


def _range(runs: BySeed) -> str:
    return f"{min(runs)} to {max(runs)}" if runs else "none"
