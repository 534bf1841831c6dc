"""Compliance with service levels: targets per group of flows, checked in every interval of a run."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from tailback import _native
from tailback.errors import UsageError
from tailback.results.intervals import Interval, mean_interval
from tailback.results.report import Report
from tailback.run.simulate import run
from tailback.scenario import Scenario, Value
from tailback.study import tune

__all__ = [
    "Checked",
    "Observed",
    "Target",
    "Violation",
    "Watched",
    "check",
    "groups",
    "observe",
    "targets",
    "watch",
    "watchable",
]

_FIELDS = {"delay": "delay_s", "loss": "loss", "jitter": "jitter_s"}
"""Fields of `Target`, by the name of the metric in texts."""


@dataclass(frozen=True, slots=True)
class Target:
    """Upper bounds for a group of flows in each interval; `None`: no such bound."""

    group: str
    """Name of the group."""
    delay_s: float | None = None
    """Mean one-way delay of packets that arrive in the interval, s.

    An interval without arrivals misses it if packets were lost in it, or were stuck for longer (`Observed.stuck_s`).
    """
    loss: float | None = None
    """Packets lost per packet that was delivered or lost in the interval, 0 to 1."""
    jitter_s: float | None = None
    """Jitter (RFC 3550) at the end of the interval, mean over the flows, s."""


@dataclass(frozen=True, slots=True)
class Observed:
    """Service of a group of flows in one interval."""

    start_s: float
    """Beginning of the interval, simulated s."""
    end_s: float
    """End of the interval, simulated s."""
    delay_s: float | None
    """Mean one-way delay of packets that arrived in the interval, s; `None`: no packet arrived."""
    loss: float
    """Packets lost per packet that was delivered or lost in the interval, 0 to 1; 0 if there was none."""
    jitter_s: float
    """Jitter (RFC 3550) at the end of the interval, mean over the flows, s."""
    throughput_pps: float
    """Packets delivered per second."""
    stuck_s: float | None = None
    """Length of the interval, s, if packets were under way at its beginning, and no packet was delivered or lost in it.

    The length is a lower bound of the delays of these packets. `None`: no packets were under way, or some were
    delivered or lost.
    """


@dataclass(frozen=True, slots=True)
class Violation:
    """An interval in which a target was missed."""

    start_s: float
    """Beginning of the interval, simulated s."""
    what: tuple[str, ...]
    """Those of `delay`, `loss` and `jitter` that were missed, in this order."""


@dataclass(frozen=True, slots=True)
class Checked:
    """A target compared with all intervals of one run."""

    target: Target
    intervals: int
    """Number of intervals."""
    violations: tuple[Violation, ...]
    """Intervals in which a bound was missed, in order of time."""

    @property
    def compliance(self) -> float:
        """Share of the intervals in which all bounds were kept, 0 to 1; 1 without intervals."""
        return 1 - len(self.violations) / self.intervals if self.intervals else 1.0


def observe(report: Report, group: str) -> list[Observed]:
    """Return a group's service in each whole interval after the warm-up, in order of time.

    The first interval begins with the first sample after the warm-up. Raises ValueError if the report has no samples of
    the group, or none of its delays and losses.
    """
    series = report.data["series"]
    if series is None or "offered_packets" not in series["flows"].get(group, {}):
        raise ValueError(f"the report has no samples of {group!r}: set `run.sample` and `run.delay-variation = true`")
    row, times = series["flows"][group], series["time_s"]
    first = next((i for i, at in enumerate(times) if at >= report.data["warmup_s"]), len(times))
    observed = []
    for before, now in zip(range(first, len(times) - 1), range(first + 1, len(times)), strict=True):
        delivered = row["delivered_packets"][now] - row["delivered_packets"][before]
        dropped = row["dropped_packets"][now] - row["dropped_packets"][before]
        under_way = row["offered_packets"][before] - row["delivered_packets"][before] - row["dropped_packets"][before]
        stuck = under_way > 0 and not delivered and not dropped
        waited = row["delay_sum_s"][now] - row["delay_sum_s"][before]
        observed.append(
            Observed(
                times[before],
                times[now],
                waited / delivered if delivered else None,
                dropped / (delivered + dropped) if delivered + dropped else 0.0,
                row["jitter_s"][now],
                delivered / (times[now] - times[before]),
                times[now] - times[before] if stuck else None,
            )
        )
    return observed


def check(report: Report, targets: Iterable[Target]) -> list[Checked]:
    """Compare each target with its group's service in each interval, in the order of the targets.

    Raises ValueError as `observe`.
    """
    return [_check(target, observe(report, target.group)) for target in targets]


def _check(target: Target, intervals: Sequence[Observed]) -> Checked:
    violations = []
    for interval in intervals:
        missed = []
        if target.delay_s is not None and _is_late(interval, target.delay_s):
            missed.append("delay")
        if target.loss is not None and interval.loss > target.loss:
            missed.append("loss")
        if target.jitter_s is not None and interval.jitter_s > target.jitter_s:
            missed.append("jitter")
        if missed:
            violations.append(Violation(interval.start_s, tuple(missed)))
    return Checked(target, len(intervals), tuple(violations))


def _is_late(interval: Observed, limit: float) -> bool:
    """Return `True` if the delay target of `limit` seconds was missed in an interval."""
    if interval.delay_s is not None:
        return interval.delay_s > limit
    # No packet arrived. If some were lost, or stuck for longer than the limit, the delay target is missed too.
    return interval.loss > 0 or (interval.stuck_s is not None and interval.stuck_s > limit)


@dataclass(frozen=True, slots=True)
class Watched:
    """A target compared with all intervals of the replications of a scenario."""

    target: Target
    compliance: Interval
    """Share of the intervals in which all bounds were kept, 0 to 1, over the replications."""
    intervals: int
    """Number of intervals of all replications."""
    missed: Mapping[str, int]
    """Number of intervals in which a bound was missed, by the bound: `delay`, `loss` or `jitter`; without zeros."""
    first_missed_s: float | None
    """Earliest beginning of an interval in which a bound was missed, simulated s; `None`: there is none."""

    def is_kept(self, share: float) -> bool:
        """Return `True` if the whole confidence interval of the compliance is at least a share, 0 to 1."""
        return self.compliance.lo >= share

    def as_json(self) -> dict[str, object]:
        """Return the JSON form."""
        limits = {name: getattr(self.target, key) for name, key in _FIELDS.items()}
        return {
            "group": self.target.group,
            "target": {name: limit for name, limit in limits.items() if limit is not None},
            "compliance": self.compliance.as_json("1"),
            "intervals": self.intervals,
            "missed": dict(self.missed),
            "first_missed_s": self.first_missed_s,
        }


def targets(texts: Iterable[str]) -> list[Target]:
    """Return targets from texts such as `voice.delay<=10ms`: one for each group, with all its limits.

    The targets are in the order of the first text of each group. Raises UsageError if a text is not an upper limit of
    delay, loss or jitter, or is a second limit of the same metric.
    """
    found: dict[str, Target] = {}
    for text in texts:
        parsed = tune.target(text)
        if parsed.metric not in _FIELDS or parsed.sense != "<=":
            raise UsageError(
                f"{text!r} is not a target: write an upper limit of delay, loss or jitter, such as voice.loss<=0.1%"
            )
        target = found.get(parsed.group, Target(parsed.group))
        name = _FIELDS[parsed.metric]
        if getattr(target, name) is not None:
            raise UsageError(f"{text!r} is the second limit of {parsed.group}'s {parsed.metric}")
        if not (math.isfinite(parsed.limit) and parsed.limit >= 0):
            raise UsageError(f"{text!r} is not a limit: write a delay, loss or jitter of 0 or more")
        limits = {key: getattr(target, key) for key in _FIELDS.values()} | {name: parsed.limit}
        found[parsed.group] = Target(parsed.group, **limits)
    return list(found.values())


def watch(
    scenario: Scenario,
    targets: Sequence[Target],
    interval: str = "1s",
    *,
    seed: int | None = None,
    replications: int | None = None,
    threads: int | None = None,
    progress: Callable[[float, int], object] | None = None,
) -> list[Watched]:
    """Run a scenario and compare every target with its group's service in each interval after the warm-up.

    The results are in the order of the targets.

    Args:
        scenario: Scenario to run; `run.sample` and `run.delay-variation` are set in it.
        targets: Targets of its groups.
        interval: Length of an interval, such as "1s".
        seed: Seed of the first replication; default: the scenario's.
        replications: Number of replications; default: the scenario's.
        threads: Number of replications at a time; default: one per processor.
        progress: Called with the number of finished replications, which may be a fraction, and that of all.

    Raises:
        UsageError: A target's group is not in the scenario, or the interval is invalid or too long for the run.
        ScenarioError: The scenario is invalid with these samples.

    """
    watched = watchable(scenario, targets, interval)
    result = run(watched, seed, replications, threads, progress=progress)
    checked = [check(report, targets) for report in result.reports]
    return [_watched(target, [row[i] for row in checked], result.confidence) for i, target in enumerate(targets)]


def _watched(target: Target, checked: Sequence[Checked], confidence: float) -> Watched:
    """Return a target compared with all replications, from `checked`, which has one entry for each replication."""
    violations = [violation for replication in checked for violation in replication.violations]
    missed = {name: sum(name in violation.what for violation in violations) for name in _FIELDS}
    return Watched(
        target,
        _share(mean_interval([replication.compliance for replication in checked], confidence)),
        sum(replication.intervals for replication in checked),
        {name: count for name, count in missed.items() if count},
        min((violation.start_s for violation in violations), default=None),
    )


def _share(found: Interval) -> Interval:
    """Return the interval of a share, clipped to 0 to 1."""
    return Interval(found.mean, max(found.lo, 0.0), min(found.hi, 1.0), found.n)


def watchable(scenario: Scenario, targets: Sequence[Target], interval: str) -> Scenario:
    """Return the scenario with `sample` set to `interval`, and with `delay-variation`.

    Raises UsageError if a target's group is not in the scenario, or the interval is invalid or too long for the run.
    """
    names = groups(scenario)
    for target in targets:
        if target.group not in names:
            raise UsageError(f"there is no group of flows {target.group!r}; the groups are {', '.join(names)}")
    try:
        length = _native.parse_duration(interval)
    except ValueError as error:
        raise UsageError(f"{interval!r} is not an interval: {error}") from None
    watched = scenario.set({"run.sample": interval, "run.delay-variation": True})
    duration, warmup = (watched.run_config[name] for name in ("duration", "warmup"))
    measured = _native.parse_duration(str(duration))
    if str(warmup) != "auto":
        measured -= _native.parse_duration(str(warmup))
    if length * 2 > measured:
        raise UsageError(
            f"intervals of {interval} are too long: the run is measured for {measured * 1e-12:g} s, and the first "
            "interval begins with the first sample after the warm-up; reduce --interval or raise run.duration"
        )
    return watched


def groups(scenario: Scenario) -> Mapping[str, Mapping[str, Value]]:
    """Return the table of each group of flows in a scenario's document, by name."""
    flows = scenario.document.get("flows", [])
    assert isinstance(flows, list)
    return {str(flow["name"]): flow for flow in flows if isinstance(flow, dict)}
