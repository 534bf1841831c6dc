"""Search for the cheapest settings of a scenario that keep stated targets.

    found = tune(
        scenario,
        vary=[parameter("switches.ce.ports.sink.buffer=10packets..200packets")],
        targets=[target("voice.delay.p99<=20ms"), target("data.loss<=1%")],
    )
    print(found.settings, found.is_met)

All candidates are run with the same seeds, so that they differ by their settings and not by chance. If there are at
most `budget` candidates, all are run; otherwise SciPy's differential evolution (Storn and Price 1997) chooses
them, with a fixed seed. The cheapest candidate that kept the targets is confirmed with new seeds, so that the reported
intervals are not those by which it was chosen. If it is not confirmed, the next cheapest is tried with other seeds and
a smaller error probability: (1 - confidence) / 2^(i-1) in attempt i. A target limits one side of an interval, so
attempt i reports a missed target as met with at most half its error probability, and by the union bound all attempts
together do so with a probability of at most 1 - confidence.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Literal, TypeAlias, cast

from tailback import _native
from tailback.errors import ScenarioError, UsageError
from tailback.results import quality
from tailback.results.intervals import Interval, mean_interval
from tailback.results.metrics import VOCABULARY
from tailback.results.report import Report
from tailback.run.simulate import run
from tailback.scenario import Scenario

__all__ = ["Attempt", "Checked", "Cost", "Parameter", "Target", "Tuned", "cost", "parameter", "target", "tune"]

_CONFIRMATION = 100_000
"""Difference of the base seeds of the search and the first confirmation, and of successive confirmations."""

_ATTEMPTS = 5
"""Maximum number of attempts, each of which runs a candidate with new seeds."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """A setting of the scenario with the values to try; those of a range ascend."""

    path: str
    """Path, as for `--set`."""
    choices: tuple[str, ...]
    """Values to try, as for `--set`."""
    numbers: tuple[float, ...]
    """Cost of each value: the number in its text, without regard to the unit, or else its index from 0."""


@dataclass(frozen=True, slots=True)
class Target:
    """A bound for a group of flows, such as `voice.delay.p99<=20ms`."""

    group: str
    """Name of the group of flows."""
    metric: str
    """Name of the metric, with dots, such as `delay.p99`."""
    sense: Literal["<=", ">="]
    """Direction: "<=" for an upper, ">=" for a lower bound."""
    limit: float
    """Bound in the metric's unit: seconds, bit/s, or a number such as a ratio."""
    text: str
    """Target as it was written."""

    def excess(self, value: float) -> float:
        """Return how far a value misses the limit, as a share of the limit; 0 or less if the value keeps it.

        For a limit of 0, the share is of 0.001. The excess of NaN, a metric without a value, is infinite.
        """
        if math.isnan(value):
            return math.inf
        missed = value - self.limit if self.sense == "<=" else self.limit - value
        return missed / (abs(self.limit) or 1e-3)


@dataclass(frozen=True, slots=True)
class Cost:
    """Cost of a setting: the weight times the number of its value (`Parameter.numbers`)."""

    path: str
    """Path of a varied parameter."""
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class Checked:
    """A target with the interval of its metric over the replications of the confirmation."""

    target: Target
    interval: Interval

    @property
    def state(self) -> Literal["met", "missed", "undecided"]:
        """Result: "met" if the whole interval keeps the limit, "missed" if no value of it does, else "undecided"."""
        ends = [self.target.excess(end) for end in (self.interval.lo, self.interval.hi)]
        if max(ends) <= 0:
            return "met"
        return "missed" if min(ends) > 0 else "undecided"


@dataclass(frozen=True, slots=True)
class Attempt:
    """A candidate that was run with new seeds, to confirm it."""

    settings: Mapping[str, str]
    """Values of the candidate by path."""
    cost: float
    """Sum of the costs of its settings."""
    checks: Sequence[Checked]
    """Targets with their intervals, in the order of the targets."""
    confidence: float
    """Confidence level of the intervals, 0 to 1; it rises with each attempt."""

    @property
    def is_met(self) -> bool:
        """`True` if every target is met with its whole interval."""
        return all(check.state == "met" for check in self.checks)

    def as_json(self) -> dict[str, object]:
        """Return the JSON form."""
        checks = [
            {
                "target": check.target.text,
                "state": check.state,
                **check.interval.as_json(_unit(check.target.metric)),
            }
            for check in self.checks
        ]
        return {
            "settings": dict(self.settings),
            "cost": self.cost,
            "met": self.is_met,
            "confidence": self.confidence,
            "targets": checks,
        }


@dataclass(frozen=True, slots=True)
class Tuned:
    """Result of a search: the attempts to confirm its cheapest candidates."""

    attempts: Sequence[Attempt]
    """Attempts in ascending order of cost; if one is confirmed, it is the last."""
    tried: int
    """Number of candidates of the search."""
    is_exhaustive: bool
    """`True` if all candidates were run."""
    replications: int
    """Number of replications of each attempt."""

    @property
    def best(self) -> Attempt:
        """The confirmed attempt, or else the cheapest one."""
        return self.attempts[-1] if self.attempts[-1].is_met else self.attempts[0]

    @property
    def settings(self) -> Mapping[str, str]:
        """Values of the best attempt by path."""
        return self.best.settings

    @property
    def cost(self) -> float:
        """Cost of the best attempt."""
        return self.best.cost

    @property
    def checks(self) -> Sequence[Checked]:
        """Targets of the best attempt."""
        return self.best.checks

    @property
    def confidence(self) -> float:
        """Confidence of the intervals of `checks`."""
        return self.best.confidence

    @property
    def is_met(self) -> bool:
        """`True` if every target is met with its whole interval."""
        return self.best.is_met

    def as_json(self) -> dict[str, object]:
        """Return the JSON form."""
        return {
            **self.best.as_json(),
            "tried": self.tried,
            "exhaustive": self.is_exhaustive,
            "replications": self.replications,
            "attempts": [attempt.as_json() for attempt in self.attempts],
        }


_Figure: TypeAlias = Callable[[Report, str], float]
"""Function that returns a metric of a group of flows from a report, in the metric's unit."""


def _of_arrivals(figure: _Figure) -> _Figure:
    """Return a metric that is NaN if no packet of the group arrived, for example if higher classes use all capacity."""

    def found(report: Report, group: str) -> float:
        starved = bool(report.data["variation"]) and group not in report.data["variation"]
        return math.nan if starved else figure(report, group)

    return found


_METRICS: Mapping[str, _Figure] = {
    "loss": lambda report, group: report.loss(group),
    "delay": lambda report, group: report.mean_delay_s(group),
    "delay.p99": _of_arrivals(lambda report, group: report.variation(group)["delay"].get("p99_s") or math.nan),
    "jitter": _of_arrivals(lambda report, group: report.variation(group)["jitter_s"] or 0.0),
    "pdv.p99": _of_arrivals(lambda report, group: report.variation(group)["pdv_p99_s"]),
    "pdv.p999": _of_arrivals(lambda report, group: report.variation(group)["pdv_p999_s"]),
    "throughput": lambda report, group: report.throughput_bps(group),
    "goodput": lambda report, group: report.goodput_bps(group),
    "mos": _of_arrivals(lambda report, group: quality.speech(report, group).mos),
}
"""Metrics of targets by name."""


def _unit(metric: str) -> str:
    """Return the unit of a target's metric, whose name has dots instead of the vocabulary's underscores."""
    return VOCABULARY[metric.replace(".", "_")].unit


def parameter(text: str, steps: int = 16) -> Parameter:
    """Return the parameter of a text `path=lo..hi`, with up to `steps` values in equal steps, or `path=a|b|c`.

    Both ends of a range have the same unit, as in 10packets..100packets; the unit of the first may be left out. Raises
    UsageError if the text has another form, the units of the ends differ, or the lower end is not first.
    """
    path, equals, values = text.partition("=")
    path, values = path.strip(), values.strip()
    if not equals or not path or not values:
        raise UsageError(f"{text!r} is not path=lo..hi or path=a|b|c, such as network.buffer=10packets..100packets")
    low, dots, high = values.partition("..")
    if not dots:
        choices = tuple(value.strip() for value in values.split("|"))
        found = [_number(choice) for choice in choices]
        numbers = tuple(float(place) if number is None else number[0] for place, number in enumerate(found))
        return Parameter(path, choices, numbers)
    first, last = _number(low), _number(high)
    if first is None or last is None or (first[1] or last[1]) != last[1]:
        raise UsageError(
            f"{values!r} is not a range: write two numbers with the same unit, such as 10packets..100packets"
        )
    if first[0] > last[0]:
        raise UsageError(f"{values!r} is not a range: write the lower end first")
    unit = last[1]
    whole = first[0].is_integer() and last[0].is_integer() and "." not in values.replace("..", "")
    span = last[0] - first[0]
    count = max(2, min(steps, int(span) + 1 if whole else steps)) if span else 1
    points = [first[0] + span * k / max(count - 1, 1) for k in range(count)]
    points = sorted({float(round(point)) for point in points}) if whole else points
    written = tuple(f"{int(point)}{unit}" if whole else f"{point:.6g}{unit}" for point in points)
    return Parameter(path, written, tuple(points))


def _number(text: str) -> tuple[float, str] | None:
    """Return the number and the unit of a text such as `10packets`; `None`: the text has another form."""
    found = re.fullmatch(r"\s*(-?\d+(?:\.\d+)?)\s*([A-Za-z%/]*)\s*", text)
    return None if found is None else (float(found[1]), found[2])


def target(text: str) -> Target:
    """Return the target of a text `group.metric<=value` or `group.metric>=value`, such as `voice.delay.p99<=20ms`.

    The value is a duration, a rate, a number or a percentage, depending on the metric. Raises UsageError if the text
    has another form.
    """
    found = re.fullmatch(r"\s*(.+?)\s*(<=|>=)\s*(\S+)\s*", text)
    if found is None:
        raise UsageError(
            f"{text!r} is not a target: write group.metric<=value or group.metric>=value, such as voice.delay.p99<=20ms"
        )
    name, sense, value = found.groups()
    # A group's name may have dots; the metric is at the end.
    metric = next((m for m in sorted(_METRICS, key=len, reverse=True) if name.endswith(f".{m}")), None)
    if metric is None:
        raise UsageError(
            f"{name!r} is not group.metric, such as voice.delay.p99; the metrics are {', '.join(_METRICS)}"
        )
    group = name.removesuffix(f".{metric}")
    return Target(group, metric, "<=" if sense == "<=" else ">=", _limit(metric, value), text.strip())


def _limit(metric: str, value: str) -> float:
    unit = _unit(metric)
    try:
        if unit == "s":
            return _native.parse_duration(value) * 1e-12
        if unit == "bit/s":
            return float(_native.parse_rate(value))
        return float(value.removesuffix("%")) / (100 if value.endswith("%") else 1)
    except ValueError as error:
        raise UsageError(f"{value!r} cannot limit {metric}: {error}") from None


def cost(text: str) -> Cost:
    """Return the cost of a text `path` or `weight*path`; the default weight is 1. Raises UsageError."""
    weight, star, path = text.rpartition("*")
    try:
        return Cost(path.strip(), float(weight) if star else 1.0)
    except ValueError:
        raise UsageError(f"{text!r} is not a cost: write a path or weight*path, such as 0.5*network.buffer") from None


def tune(
    scenario: Scenario,
    vary: Sequence[Parameter],
    targets: Sequence[Target],
    costs: Sequence[Cost] = (),
    *,
    budget: int = 200,
    replications: int | None = None,
    confirmations: int = 10,
    seed: int | None = None,
    threads: int | None = None,
    progress: Callable[[int, int], object] | None = None,
) -> Tuned:
    """Search for the cheapest candidate that keeps all targets.

    Args:
        scenario: Base scenario.
        vary: Parameters of the scenario to vary, at least one.
        targets: Targets to keep, at least one.
        costs: Costs of varied paths. Default: each parameter costs 0 at its smallest value and 1 at its largest.
        budget: Maximum number of candidates.
        replications: Number of replications of each candidate. Default: the scenario's.
        confirmations: Number of replications of each attempt to confirm a candidate, at least 2.
        seed: Base seed. Default: the scenario's.
        threads: Maximum number of replications that run at the same time. Default: one per processor.
        progress: Called after each candidate that is a valid scenario, with the number of candidates tried, and
            `budget`.

    Raises:
        UsageError: An argument is wrong, or there are more candidates than the budget and SciPy is missing.

    """
    scenario = _checked(scenario, vary, targets, costs, confirmations)
    base = _whole(scenario, "seed") if seed is None else seed
    search = _Search(scenario, vary, targets, costs, base, replications, threads, progress, budget)
    candidates = math.prod(len(one.choices) for one in vary)
    exhaustive = candidates <= budget
    if exhaustive:
        for point in itertools.product(*(range(len(one.choices)) for one in vary)):
            search(point)
    else:
        _evolve(search, budget)
    # Chosen are the cheapest candidates that keep the targets, or else the one that misses them least.
    order = sorted(search.seen, key=lambda point: (search.seen[point], point))
    chosen = [point for point in order if search.seen[point][0] == 0][:_ATTEMPTS] or order[:1]
    attempts: list[Attempt] = []
    for point in chosen:
        attempts.append(_confirm(search, point, len(attempts), confirmations))
        if attempts[-1].is_met:
            break
    return Tuned(attempts, len(search.seen), exhaustive, confirmations)


def _confirm(search: _Search, point: tuple[int, ...], before: int, confirmations: int) -> Attempt:
    """Run a candidate with new seeds, as the attempt after `before` earlier ones."""
    scenario = search.scenario.with_texts(list(search.settings(point).items()))
    first = search.seed + (1 + before) * _CONFIRMATION
    reports = run(scenario, first, confirmations, search.threads).reports
    error = 1 - cast(float, scenario.run_config["confidence"])
    confidence = 1 - error / 2**before
    checks = [
        Checked(goal, mean_interval([_METRICS[goal.metric](report, goal.group) for report in reports], confidence))
        for goal in search.targets
    ]
    return Attempt(search.settings(point), search.cost(point), checks, confidence)


class _Search:
    """Candidates that have been run; a candidate is a tuple with the index of each parameter's value."""

    def __init__(
        self,
        scenario: Scenario,
        vary: Sequence[Parameter],
        targets: Sequence[Target],
        costs: Sequence[Cost],
        seed: int,
        replications: int | None,
        threads: int | None,
        progress: Callable[[int, int], object] | None,
        budget: int,
    ) -> None:
        self.scenario, self.vary, self.targets, self.costs = scenario, vary, targets, costs
        self.seed, self.replications, self.threads = seed, replications, threads
        self.progress, self.budget = progress, budget
        self.seen: dict[tuple[int, ...], tuple[float, float]] = {}
        """For each candidate the sum of its positive excesses over the targets, and its cost.

        The sum is 0 if all targets are kept, and infinite for an invalid scenario.
        """

    def settings(self, point: Sequence[int]) -> dict[str, str]:
        return {varied.path: varied.choices[place] for varied, place in zip(self.vary, point, strict=True)}

    def cost(self, point: Sequence[int]) -> float:
        if not self.costs:
            return math.fsum(
                (one.numbers[place] - min(one.numbers)) / ((max(one.numbers) - min(one.numbers)) or 1)
                for one, place in zip(self.vary, point, strict=True)
            )
        values = {one.path: one.numbers[place] for one, place in zip(self.vary, point, strict=True)}
        return math.fsum(one.weight * values[one.path] for one in self.costs)

    def __call__(self, point: Sequence[int]) -> tuple[float, float]:
        key = tuple(int(place) for place in point)
        if key in self.seen:
            return self.seen[key]
        try:
            result = run(
                self.scenario.with_texts(list(self.settings(key).items())), self.seed, self.replications, self.threads
            )
        except ScenarioError:
            # Some candidates are not valid scenarios, such as shares with a sum above 1.
            self.seen[key] = (math.inf, self.cost(key))
            return self.seen[key]
        missed = 0.0
        for goal in self.targets:
            values = [_METRICS[goal.metric](report, goal.group) for report in result.reports]
            missed += max(0.0, goal.excess(math.fsum(values) / len(values)))
        self.seen[key] = (missed, self.cost(key))
        if self.progress is not None:
            self.progress(len(self.seen), self.budget)
        return self.seen[key]


def _evolve(search: _Search, budget: int) -> None:
    try:
        from scipy.optimize import differential_evolution
    except ModuleNotFoundError:
        raise UsageError(
            "more candidates than the budget need SciPy: pip install 'tailback[tune]', or raise --budget"
        ) from None
    sizes = [len(one.choices) for one in search.vary]
    ends = search.cost([size - 1 for size in sizes]), search.cost([0] * len(sizes))
    scale = (abs(max(ends)) + abs(min(ends))) or 1.0

    class BudgetSpent(Exception):
        pass

    def objective(point: Sequence[float]) -> float:
        if len(search.seen) >= budget:
            raise BudgetSpent
        missed, price = search([round(place) for place in point])
        # Costs are scaled to about 1, so that a candidate that misses a target is worse than any that keeps all.
        return price / scale if missed == 0 else 10.0 + min(missed, 1e6)

    with suppress(BudgetSpent):
        differential_evolution(
            objective,
            [(0, size - 1) for size in sizes],
            integrality=[True] * len(sizes),
            rng=search.seed,
            popsize=max(4, min(15, budget // (8 * len(sizes)))),
            maxiter=1000,
            tol=0.0,
            polish=False,
        )


def _checked(
    scenario: Scenario, vary: Sequence[Parameter], targets: Sequence[Target], costs: Sequence[Cost], confirmations: int
) -> Scenario:
    if not vary or not targets:
        raise UsageError("tune needs at least one parameter to vary and at least one target")
    if confirmations < 2:
        raise UsageError("an interval needs at least 2 confirmations")
    paths = [one.path for one in vary]
    for one in costs:
        if one.path not in paths:
            raise UsageError(f"the cost {one.path!r} is not a varied path; these are {', '.join(paths)}")
    groups = [str(flow["name"]) for flow in scenario.document["flows"]]  # type: ignore[union-attr, index, call-overload]
    for goal in targets:
        if goal.group not in groups:
            raise UsageError(
                f"the target {goal.text!r} names no group of the scenario; the groups are {', '.join(groups)}"
            )
    if any(goal.metric in ("delay.p99", "jitter", "pdv.p99", "pdv.p999", "mos") for goal in targets):
        return scenario.set({"run.delay-variation": True})
    return scenario


def _whole(scenario: Scenario, key: str) -> int:
    value = scenario.run_config.get(key)
    return value if isinstance(value, int) else 0
