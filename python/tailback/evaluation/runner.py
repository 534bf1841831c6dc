"""Runs of an evaluation: each case with each subject, with the same seeds, until the intervals are narrow enough."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from tailback.errors import ScenarioError
from tailback.evaluation.case import Case
from tailback.evaluation.choice import CONFIDENCE, Length
from tailback.evaluation.subject import Subject
from tailback.results.intervals import mean_interval
from tailback.results.report import Report
from tailback.run.adaptive import Replicated
from tailback.run.pool import Pool, Task
from tailback.run.simulate import check_seeds
from tailback.scenario import Scenario

__all__ = ["Runs", "Sample", "Watch", "run_cases"]

Watch = Callable[[str, float, int], object]
"""Progress callback: its arguments are the current step, and the numbers of finished and of planned replications."""

Key = tuple[str, str, int]
"""Key of a case, name of a subject, and number of the replication."""


@dataclass(frozen=True, slots=True)
class Sample:
    """Kept part of a replication."""

    digest: str
    packet_hops: int
    values: Mapping[str, float]
    """Criteria by name; NaN: the replication has no value."""
    clouds: Mapping[str, Sequence[tuple[float, float]]]
    """Points of the delay-goodput graph by title: ms and Mbit/s."""
    curves: Mapping[str, Sequence[tuple[float, float]]] = field(default_factory=dict)
    """Points of the curves by name."""


@dataclass
class Runs:
    """Replications of all cases."""

    cases: Mapping[str, Case]
    """Cases by key."""
    subjects: tuple[Subject, ...]
    """Subjects, the evaluated one first."""
    seed: int
    """Seed of replication 0 of every case; replication k has this seed plus k."""
    samples: dict[tuple[str, str], dict[int, Sample]] = field(default_factory=dict)
    """Finished replications by their number, for each case and subject."""
    refused: dict[tuple[str, str], str] = field(default_factory=dict)
    """Reason why a subject cannot be run in a case."""
    interrupted: bool = False
    cpu_s: float = 0.0
    """Processor time of all replications, s."""

    def values(self, case: str, subject: str, criterion: str) -> dict[int, float]:
        """Return the values of a criterion by replication, without those that are NaN; empty if they mean nothing."""
        if subject in self.cases[case].absent:
            return {}
        found = self.samples.get((case, subject), {})
        return {k: v for k in sorted(found) if not math.isnan(v := found[k].values[criterion])}

    @property
    def packet_hops(self) -> int:
        """Number of packet-hops of all replications."""
        return sum(sample.packet_hops for samples in self.samples.values() for sample in samples.values())


def run_cases(
    cases: Sequence[Case],
    subjects: Sequence[Subject],
    length: Length,
    seed: int,
    pool: Pool,
    watch: Watch | None = None,
) -> Runs:
    """Run all cases; after Ctrl-C, the finished replications are returned.

    Raises:
        UsageError: A seed is out of range.
        RunError: A replication failed.

    """
    check_seeds(seed, length.max_replications)
    runs = Runs({case.key: case for case in cases}, tuple(subjects), seed)
    replications = _Replications(runs, length, pool, watch)
    replications.prepare()
    runnable = [case.key for case in cases if replications.subjects_of(case.key)]
    replications.replicate(dict.fromkeys(runnable, length.replications))
    return runs


@dataclass
class _Replications(Replicated[str]):
    """Replications of an evaluation; a unit is a case with all its subjects."""

    runs: Runs
    length: Length
    pool: Pool
    watch: Watch | None
    scenarios: dict[tuple[str, str], Scenario] = field(default_factory=dict)
    note: str = "running"

    def prepare(self) -> None:
        """Build all scenarios, and note those that a subject refuses."""
        for key, case in self.runs.cases.items():
            for subject in self.runs.subjects[:1] if case.alone else self.runs.subjects:
                try:
                    self.scenarios[key, subject.name] = case.at(subject, self.length).check()
                except ScenarioError as error:
                    self.runs.refused[key, subject.name] = f"{error.path}: {error.message}"
                else:
                    self.runs.samples[key, subject.name] = {}

    def subjects_of(self, key: str) -> list[str]:
        """Return the names of the subjects that are run in a case."""
        return [name for case, name in self.scenarios if case == key]

    @property
    def max_replications(self) -> int:
        return self.length.max_replications

    def count(self, unit: str) -> int:
        return min(len(self.runs.samples[unit, name]) for name in self.subjects_of(unit))

    def advance(self, wanted: Mapping[str, int]) -> bool:
        runs = self.runs
        tasks = [
            Task((key, name, k), self.scenarios[key, name], runs.seed + k)
            for key, count in wanted.items()
            for name in self.subjects_of(key)
            for k in range(count)
            if k not in runs.samples[key, name]
        ]
        outcome = self.pool.run(tasks, _Keep(runs.cases), self._relay(len(tasks)))
        for done in outcome.done:
            key, name, k = done.key
            runs.samples[key, name][k] = done.value
            runs.cpu_s += done.cpu_s
        runs.interrupted = outcome.interrupted
        return not outcome.interrupted

    def imprecise(self) -> Iterable[str]:
        """Return the cases in which a criterion of the evaluated subject misses its precision target."""
        name = self.runs.subjects[0].name
        found = []
        for key, case in self.runs.cases.items():
            if (key, name) not in self.scenarios:
                continue
            for criterion in case.criteria:
                target = criterion.observable.precision
                values = list(self.runs.values(key, name, criterion.observable.name).values())
                if target and values and not mean_interval(values, CONFIDENCE.value).is_precise(*target):
                    found.append(key)
                    break
        self.note = f"{len(found)} scenarios imprecise"
        return found

    def _relay(self, total: int) -> Callable[[float, int], object] | None:
        if self.watch is None:
            return None
        show, note = self.watch, self.note
        show(note, 0, total)
        return lambda done, planned: show(note, done, planned)


@dataclass(frozen=True, slots=True)
class _Keep:
    """Callable that returns the sample of a report, in the worker that made the report."""

    cases: Mapping[str, Case]

    def __call__(self, key: Key, report: Report) -> Sample:
        case = self.cases[key[0]]
        return Sample(
            report.digest,
            report.data["packet_hops"],
            {one.observable.name: one.observable.value(report) for one in case.criteria},
            {cloud.title: cloud.points(report) for cloud in case.clouds},
            {curve.name: curve.points(report) for curve in case.curves},
        )
