"""Runs experiments: replications at every point, then more at points that a claim or a precision target needs."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field

from tailback.errors import UsageError
from tailback.results.intervals import mean_interval
from tailback.results.report import Report
from tailback.run.adaptive import Replicated
from tailback.run.pool import Done, Outcome, Pool, Task
from tailback.scenario import Scenario
from tailback.study.experiment.claims import CONFIDENCE, WORDS, Claim, Kind, Verdict, undecided_points
from tailback.study.experiment.design import HOPS_PER_CPU_S, Experiment, Profile
from tailback.study.experiment.points import Point, ProfileName
from tailback.study.experiment.results import Results, Sample
from tailback.study.experiment.store import Store

__all__ = ["MAX_SEED", "Trial", "check_seed", "plan", "run", "verdicts", "words"]

MAX_SEED = 2**63 - 10**6
"""Largest base seed: a scenario's seed is below 2^63, and replications count up from the base."""

Watch = Callable[[str, float, int], object]
"""Progress callback: its arguments are the current step, and the numbers of finished and of planned replications.

The number of finished replications may have a fraction.
"""

Key = tuple[Point, int]
"""Point, and number of the replication."""


@dataclass
class Trial:
    """An experiment with the replications that have been run so far."""

    experiment: Experiment
    profile: ProfileName
    samples: dict[Point, list[Sample]]
    """Finished replications by point, in ascending order of their numbers; points in the experiment's order."""
    seed: int | None = None
    """Base seed of all points; `None`: that of each scenario."""
    interrupted: bool = False
    """`True` if Ctrl-C stopped the replications."""
    cpu_s: float = 0.0
    """Processor time of the replications that were run, s, without those from a store."""
    imprecise: int = 0
    """Number of points at which the precision targets were not met; 0 in `quick`, which has no targets."""
    resumed: int = 0
    """Number of replications that were read from the store of an earlier reproduction."""
    _scenarios: dict[Point, Scenario] = field(default_factory=dict)

    def take(self, outcome: Outcome[Key, Sample]) -> None:
        """Add finished replications."""
        for done in outcome.done:
            self.cpu_s += done.cpu_s
            self.samples[done.key[0]].append(done.value)
        for samples in self.samples.values():
            samples.sort(key=lambda sample: sample.replication)

    def resume(self, tasks: Iterable[Task[Key]], store: Store) -> list[Task[Key]]:
        """Add the replications that are in the store, and return the tasks of the others."""
        missing = []
        for task in tasks:
            point, replication = task.key
            found = store.find(task.scenario.hash, task.seed, point, replication)
            if found is None:
                missing.append(task)
            else:
                self.samples[point].append(found)
                self.resumed += 1
        return missing

    @property
    def results(self) -> Results:
        """Results so far."""
        return Results(self.experiment, self.profile, self.samples, frozenset())

    @property
    def claims(self) -> list[Claim]:
        """Claims about the results so far."""
        return list(self.experiment.claims(self.results))

    @property
    def packet_hops(self) -> int:
        """Number of packet-hops simulated so far."""
        return sum(sample.packet_hops for samples in self.samples.values() for sample in samples)

    @property
    def replications(self) -> tuple[int, int]:
        """Smallest and largest number of finished replications at a point."""
        counts = [len(samples) for samples in self.samples.values()]
        return min(counts), max(counts)

    def scenario(self, point: Point) -> Scenario:
        """Return the scenario of a point."""
        if point not in self._scenarios:
            self._scenarios[point] = self.experiment.at(point, self.profile)
        return self._scenarios[point]

    def base_seed(self, point: Point) -> int:
        """Return the seed of a point's replication 0; replication k has this seed plus k."""
        if self.seed is not None:
            return self.seed
        seed = self.scenario(point).run_config["seed"]
        assert isinstance(seed, int)
        return seed


def plan(experiment: Experiment, profile: ProfileName, seed: int | None = None) -> Trial:
    """Return a trial without runs, whose claims have the points on which they depend."""
    return Trial(experiment, profile, {point: [] for point in experiment.points(profile)}, check_seed(seed))


def check_seed(seed: int | None) -> int | None:
    """Return the base seed unchanged; raises UsageError if it is not `None` and not from 0 to `MAX_SEED`."""
    if seed is not None and not 0 <= seed <= MAX_SEED:
        raise UsageError(f"the base seed is {seed}; write 0 to {MAX_SEED}, since replication k has the seed base + k")
    return seed


def run(
    experiment: Experiment,
    profile: ProfileName,
    pool: Pool,
    watch: Watch | None = None,
    only: Collection[Point] | None = None,
    *,
    seed: int | None = None,
    store: Store | None = None,
) -> Trial:
    """Run one experiment until its claims are decided and its targets met, or its budget is spent.

    It also ends once all points concerned have the maximum number of replications. With `only`, other points are not
    run, and claims that depend on them stay undecided. With `seed`, replication k has the seed `seed + k` at every
    point, instead of the scenario's seed plus k. Replications in `store` are not run again, and new ones are stored as
    soon as they have finished; the results are the same with and without a store.
    """
    trial = plan(experiment, profile, seed)
    chosen = [point for point in trial.samples if only is None or point in only]
    replications = _Replications(trial, pool, watch, store)
    replications.replicate(dict.fromkeys(chosen, experiment.profile(profile).replications))
    if profile == "full" and not trial.interrupted:
        trial.imprecise = len(_imprecise(trial))
    return trial


@dataclass
class _Replications(Replicated[Point]):
    """Replications of an experiment; a unit is a point."""

    trial: Trial
    pool: Pool
    watch: Watch | None
    store: Store | None
    note: str = "running"
    """Reason for the current round of replications, for `watch`."""

    @property
    def effort(self) -> Profile:
        """Profile with the lengths and the budget of the experiment."""
        return self.trial.experiment.profile(self.trial.profile)

    @property
    def max_replications(self) -> int:
        return self.effort.max_replications

    def count(self, unit: Point) -> int:
        return len(self.trial.samples[unit])

    def advance(self, wanted: Mapping[Point, int]) -> bool:
        trial, experiment = self.trial, self.trial.experiment
        tasks = list(self._tasks(wanted))
        if not tasks:
            return False
        note = f"{experiment.id}: {self.note}"
        if self.watch:
            self.watch(note, 0, len(tasks))
        save = None
        if self.store is not None:
            tasks = trial.resume(tasks, self.store)
            save = _saver(trial, self.store)
        outcome = self.pool.run(tasks, _Keep(experiment), _relay(self.watch, note), save)
        trial.take(outcome)
        trial.interrupted = outcome.interrupted
        return not outcome.interrupted

    def imprecise(self) -> Iterable[Point]:
        """Return the points with an undecided claim or, in `full`, a missed target of precision.

        While asserted claims are undecided, only their points are returned, so that other claims do not spend the
        budget of those on which the exit code depends.
        """
        claims = self.trial.claims
        undecided = undecided_points(claims)
        imprecise = _imprecise(self.trial) if self.trial.profile == "full" else set[Point]()
        self.note = f"{len(undecided)} points undecided" + (f", {len(imprecise)} imprecise" if imprecise else "")
        more = {point for point in undecided | imprecise if self.count(point) < self.max_replications}
        asserted = more & undecided_points(claim for claim in claims if claim.kind is Kind.ASSERTED)
        return [point for point, samples in self.trial.samples.items() if samples and point in (asserted or more)]

    def _tasks(self, wanted: Mapping[Point, int]) -> Iterable[Task[Key]]:
        """Yield the missing replications, until the budget is spent.

        A point's first replications are always run, as their cost is unknown. The cost of a further one is estimated
        as the mean of the finished ones, in packet-hops, which are the same on every machine.
        """
        trial = self.trial
        budget = self.effort.cpu_s * HOPS_PER_CPU_S - trial.packet_hops
        upper = max(wanted.values(), default=0)
        for replication in range(upper):
            for point, count in wanted.items():
                finished = trial.samples[point]
                if not len(finished) <= replication < count:
                    continue
                budget -= sum(sample.packet_hops for sample in finished) / len(finished) if finished else 0
                if budget < 0:
                    return
                yield _task(trial, point, replication)


def _task(trial: Trial, point: Point, replication: int) -> Task[Key]:
    # Replications of equal number have equal seeds at all points with the same base seed: common random numbers.
    return Task((point, replication), trial.scenario(point), trial.base_seed(point) + replication)


@dataclass(frozen=True, slots=True)
class _Keep:
    """Callable that returns the sample of a report, in the worker that made the report."""

    experiment: Experiment

    def __call__(self, key: Key, report: Report) -> Sample:
        return _sample(self.experiment, *key, report)


def _sample(experiment: Experiment, point: Point, replication: int, report: Report) -> Sample:
    return Sample(
        point=point,
        replication=replication,
        seed=report.seed,
        digest=report.digest,
        packet_hops=report.data["packet_hops"],
        values={metric.name: metric.value(report) for metric in experiment.metrics},
        events={metric.name: metric.events(report) for metric in experiment.metrics if metric.events},
        traces={name: keep(report) for name, keep in experiment.traces.items()} if replication == 0 else {},
        traced=replication == 0,
    )


def _imprecise(trial: Trial) -> set[Point]:
    """Return the points at which a metric misses its precision target."""
    targets = [(metric.name, metric.precision) for metric in trial.experiment.metrics if metric.precision]
    found = set()
    for point, samples in trial.samples.items():
        for name, (relative, absolute) in targets:
            values = [sample.values[name] for sample in samples if not math.isnan(sample.values[name])]
            if values and not mean_interval(values, CONFIDENCE).is_precise(relative, absolute):
                found.add(point)
    return found


def _saver(trial: Trial, store: Store) -> Callable[[Done[Key, Sample]], object]:
    """Return a function that stores a replication as soon as it has finished."""
    return lambda done: store.add(trial.scenario(done.key[0]).hash, done.value)


def _relay(watch: Watch | None, note: str) -> Callable[[float, int], object] | None:
    if watch is None:
        return None
    show = watch
    return lambda done, total: show(note, done, total)


def verdicts(trials: Iterable[Trial]) -> dict[str, int]:
    """Return the number of asserted claims by verdict: `pass`, `fail` and `undecided`; `reported` counts all others.

    Others are unasserted and calibrated claims, comparisons, and claims of which no point asserts anything.
    """
    counts = {"pass": 0, "fail": 0, "undecided": 0, "reported": 0}
    for trial in trials:
        for claim in trial.claims:
            counts[_outcome(claim)] += 1
    return counts


def words(trials: Iterable[Trial]) -> dict[str, int]:
    """Return the number of claims by their word, such as `reproduced`, with 0 for words that no claim has."""
    counts = dict.fromkeys(WORDS, 0)
    for trial in trials:
        for claim in trial.claims:
            counts[claim.word] += 1
    return counts


def _outcome(claim: Claim) -> str:
    verdict = claim.condition.verdict
    return "reported" if claim.kind is not Kind.ASSERTED or verdict is Verdict.NULL else str(verdict.value)
