"""Service level management: targets per group of flows, checked in every interval, and when they will break.

    targets = [Target("voice", delay_s=0.01, loss=0.001), Target("data", loss=0.05)]
    for found in check(report, targets):
        print(found.target.group, found.compliance, found.violations)

The report must have a time series (`[run] sample`, the length of an interval) and `delay-variation = true`. `watch`
runs a scenario with both and looks at all replications; `forecast` finds by how much some groups may grow until a
target breaks.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

from tailback import _native, tune
from tailback.errors import UsageError
from tailback.fluid import FluidPort, NotModelledError
from tailback.report import Report
from tailback.running import run
from tailback.scenario import Scenario, Value
from tailback.stats import Interval, mean_interval

__all__ = [
    "Checked",
    "Forecast",
    "Observed",
    "Target",
    "Violation",
    "Watched",
    "break_point",
    "check",
    "fluid_forecast",
    "forecast",
    "intervals_until",
    "observe",
    "targets",
    "watch",
]

_FIELDS = {"delay": "delay_s", "loss": "loss", "jitter": "jitter_s"}
_STEPS = 64
"""A forecast's resolution: the range of growth divided by this."""


@dataclass(frozen=True, slots=True)
class Target:
    """What a group of flows is promised in each interval; none promises nothing."""

    group: str
    delay_s: float | None = None
    """Mean one-way delay of what arrives in the interval."""
    loss: float | None = None
    """Packets lost per packet that was delivered or lost in the interval, 0 to 1."""
    jitter_s: float | None = None
    """RFC 3550's jitter at the end of the interval, mean over the flows."""


@dataclass(frozen=True, slots=True)
class Observed:
    """What a group of flows got in one interval; a delay is none if nothing arrived."""

    start_s: float
    end_s: float
    delay_s: float | None
    loss: float
    jitter_s: float
    throughput_pps: float
    """Packets delivered per second."""
    stuck_s: float | None = None
    """How long packets have waited at least, where all that was under way at the beginning still is at the end."""


@dataclass(frozen=True, slots=True)
class Violation:
    """An interval in which a target was missed."""

    start_s: float
    what: tuple[str, ...]
    """Of `delay`, `loss` and `jitter` those that were missed."""


@dataclass(frozen=True, slots=True)
class Checked:
    """A target over a run."""

    target: Target
    intervals: int
    violations: tuple[Violation, ...]

    @property
    def compliance(self) -> float:
        """Share of the intervals in which all was kept, 0 to 1; 1 without any."""
        return 1 - len(self.violations) / self.intervals if self.intervals else 1.0


def observe(report: Report, group: str) -> list[Observed]:
    """Return what a group got in each whole interval after the warm-up."""
    series = report.data["series"]
    if series is None or "offered_packets" not in series["flows"].get(group, {}):
        raise ValueError(f"no intervals of {group!r}: set `run.sample` and `run.delay-variation = true`")
    row, times = series["flows"][group], series["time_s"]
    first = next((i for i, at in enumerate(times) if at >= report.data["warmup_s"]), len(times))
    found = []
    for before, now in zip(range(first, len(times) - 1), range(first + 1, len(times)), strict=True):
        delivered = row["delivered_packets"][now] - row["delivered_packets"][before]
        dropped = row["dropped_packets"][now] - row["dropped_packets"][before]
        under_way = row["offered_packets"][before] - row["delivered_packets"][before] - row["dropped_packets"][before]
        stuck = under_way > 0 and not delivered and not dropped
        waited = row["delay_sum_s"][now] - row["delay_sum_s"][before]
        found.append(
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
    return found


def check(report: Report, targets: Iterable[Target]) -> list[Checked]:
    """Compare what each target's group got in each interval with what it was promised."""
    return [_check(target, observe(report, target.group)) for target in targets]


def _check(target: Target, intervals: Sequence[Observed]) -> Checked:
    violations = []
    for one in intervals:
        missed = []
        if target.delay_s is not None and _is_late(one, target.delay_s):
            missed.append("delay")
        if target.loss is not None and one.loss > target.loss:
            missed.append("loss")
        if target.jitter_s is not None and one.jitter_s > target.jitter_s:
            missed.append("jitter")
        if missed:
            violations.append(Violation(one.start_s, tuple(missed)))
    return Checked(target, len(intervals), tuple(violations))


def _is_late(one: Observed, limit: float) -> bool:
    if one.delay_s is not None:
        return one.delay_s > limit
    # Where nothing arrives at all though something was lost or is stuck, no delay was kept either.
    return one.loss > 0 or (one.stuck_s is not None and one.stuck_s > limit)


def break_point(value_at: Callable[[float], float], limit: float, low: float, high: float) -> float | None:
    """Forecast the load between `low` and `high` at which a value passes its limit, to a thousandth of the range.

    `value_at` tells the value for a load and never falls as the load grows, such as the loss that a model of the policy
    says. None if the limit holds up to `high`; `low` if it is broken there already.
    """
    if value_at(high) <= limit:
        return None
    if value_at(low) > limit:
        return low
    precision = (high - low) / 1000
    while high - low > precision:
        middle = (low + high) / 2
        low, high = (low, middle) if value_at(middle) > limit else (middle, high)
    return high


@dataclass(frozen=True, slots=True)
class Watched:
    """A target over the replications of a scenario."""

    target: Target
    compliance: Interval
    """Share of the intervals in which all was kept, 0 to 1, over the replications."""
    intervals: int
    """Of all replications together."""
    missed: Mapping[str, int]
    """In how many of them `delay`, `loss` and `jitter` were missed; without those that never were."""
    first_missed_s: float | None
    """The earliest beginning of a missed interval; none if there is none."""

    def is_kept(self, share: float) -> bool:
        """Whether the compliance's whole interval is at a share, 0 to 1, or above."""
        return self.compliance.lo >= share

    def as_json(self) -> dict[str, object]:
        """Plain values."""
        limits = {name: getattr(self.target, key) for name, key in _FIELDS.items()}
        return {
            "group": self.target.group,
            "target": {name: limit for name, limit in limits.items() if limit is not None},
            "compliance": self.compliance.as_json("1"),
            "intervals": self.intervals,
            "missed": dict(self.missed),
            "first_missed_s": self.first_missed_s,
        }


@dataclass(frozen=True, slots=True)
class Forecast:
    """By how much some groups may grow until a target breaks."""

    target: Target
    factor: float | None
    """The smallest factor tried at which it is broken; none if it is kept at the largest."""
    most: float
    """The largest factor tried."""


@dataclass(slots=True)
class _Grown:
    """Mean compliance of every target when some groups send so much more; every factor is run once."""

    scenario: Scenario
    rates: Mapping[str, float]
    targets: Sequence[Target]
    seed: int | None
    replications: int | None
    threads: int | None
    found: dict[float, list[float]] = field(default_factory=dict)

    def compliance(self, factor: float) -> list[float]:
        if factor not in self.found:
            grown: dict[str, Value] = {
                f"flows[{name}].source.rate": f"{round(factor * rate)}bit/s" for name, rate in self.rates.items()
            }
            reports = run(self.scenario.set(grown), self.seed, self.replications, self.threads).reports
            checked = [check(report, self.targets) for report in reports]
            self.found[factor] = [
                sum(row[i].compliance for row in checked) / len(checked) for i in range(len(self.targets))
            ]
        return self.found[factor]


def targets(texts: Iterable[str]) -> list[Target]:
    """Read targets as `tune` writes them, `voice.delay<=10ms`; those of one group are one target.

    Raises UsageError for anything but an upper limit of delay, loss or jitter, and for two limits of one kind.
    """
    found: dict[str, Target] = {}
    for text in texts:
        one = tune.target(text)
        if one.metric not in _FIELDS or one.sense != "<=":
            raise UsageError(
                f"{text!r} cannot be watched: write delay, loss or jitter and <=, such as voice.loss<=0.1%"
            )
        target = found.get(one.group, Target(one.group))
        name = _FIELDS[one.metric]
        if getattr(target, name) is not None:
            raise UsageError(f"{text!r} is the second limit of {one.group}'s {one.metric}")
        if not (math.isfinite(one.limit) and one.limit >= 0):
            raise UsageError(f"{text!r} is no limit: a delay, loss or jitter is 0 or more")
        limits = {key: getattr(target, key) for key in _FIELDS.values()} | {name: one.limit}
        found[one.group] = Target(one.group, **limits)
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
    """Run a scenario and compare every target with what its group got in each interval after the warm-up.

    Args:
        scenario: What is run; `run.sample` and `run.delay-variation` are set for it.
        targets: What is promised.
        interval: How long one is, such as "1s".
        seed: Of the first replication; default: the scenario's.
        replications: How many; default: the scenario's.
        threads: Default: one for each processor.
        progress: Called with how many replications are finished (fractions count), and of how many.

    Raises:
        UsageError: A target's group sends nothing, or the run holds no whole interval.
        ScenarioError: The scenario cannot be set so.

    """
    watched = _watchable(scenario, targets, interval)
    result = run(watched, seed, replications, threads, progress=progress)
    checked = [check(report, targets) for report in result.reports]
    return [_watched(target, [row[i] for row in checked], result.confidence) for i, target in enumerate(targets)]


def forecast(
    scenario: Scenario,
    targets: Sequence[Target],
    growing: Sequence[str],
    interval: str = "1s",
    *,
    keep: float = 0.95,
    most: float = 4.0,
    seed: int | None = None,
    replications: int | None = None,
    threads: int | None = None,
) -> list[Forecast]:
    """Find by which factor some groups may grow until each target is kept in fewer than `keep` of the intervals.

    The rates of the growing groups are multiplied by one factor from 1 to `most`, which is halved in until a 64th of
    the range is left; all factors are run with the same seeds, and mean compliances are compared. It is assumed that
    more load never keeps a target better.

    Args:
        scenario: What is run.
        targets: What is promised.
        growing: Groups whose sources have a rate.
        interval: How long one is, such as "1s".
        keep: The share of intervals in which a target is to be kept, above 0 to 1.
        most: The largest factor, above 1.
        seed: Of the first replication; default: the scenario's.
        replications: Of each factor; default: the scenario's.
        threads: Default: one for each processor.

    Raises:
        UsageError: A group is unknown or its source has no rate, or `keep` or `most` is out of range.

    """
    if not 0 < keep <= 1:
        raise UsageError(f"a share of intervals is above 0 and at most 1, not {keep:g}")
    if not (math.isfinite(most) and most > 1):
        raise UsageError(f"the largest growth is a factor above 1, not {most:g}")
    rates = _rates(scenario, growing)
    grown = _Grown(_watchable(scenario, targets, interval), rates, targets, seed, replications, threads)

    def factor(i: int) -> float | None:
        return _first(lambda step: grown.compliance(1 + (most - 1) * step / _STEPS)[i] < keep, most)

    return [Forecast(target, factor(i), most) for i, target in enumerate(targets)]


def fluid_forecast(
    scenario: Scenario, targets: Sequence[Target], growing: Sequence[str], port: str | None = None, *, most: float = 4.0
) -> list[Forecast]:
    """Find the same factors by the fluid model of a port, without a run.

    A loss is that of the long run, and a delay breaks where the group's queue overflows and is longer than the target
    allows: bursts, which break targets earlier, are not in the model.

    Args:
        scenario: As `tailback import` makes it: hosts with a link each to one switch, and a policy at one of its ports.
        targets: Of loss and delay.
        growing: Groups that send more, all by the same factor.
        port: The port, such as `ce:sink`. Default: the only one with a policy.
        most: The largest factor, above 1.

    Raises:
        UsageError: A group is unknown, a target is of jitter, or the policy has no fluid model, with the reason.

    """
    if not (math.isfinite(most) and most > 1):
        raise UsageError(f"the largest growth is a factor above 1, not {most:g}")
    names = _groups(scenario)
    for group in (*growing, *(target.group for target in targets)):
        if group not in names:
            raise UsageError(f"there is no group of flows {group!r}; there are {', '.join(names)}")
    try:
        model = FluidPort(scenario, *_port(scenario, port))
        return [Forecast(target, _fluid_factor(model, target, growing, most), most) for target in targets]
    except NotModelledError as reason:
        raise UsageError(f"no forecast by the fluid model: {reason}; leave it to simulation") from None


def _fluid_factor(model: FluidPort, target: Target, growing: Sequence[str], most: float) -> float | None:
    if target.jitter_s is not None:
        raise NotModelledError(f"fluids have no jitter, and `{target.group}` has a target of it")

    def excess(factor: float) -> float:
        got = model(dict.fromkeys(growing, factor)).get(target.group)
        if got is None:
            raise NotModelledError(f"`{target.group}` does not leave by this port")
        over = [] if target.loss is None else [got.loss - target.loss]
        if target.delay_s is not None:
            if got.delay_s is None:
                raise NotModelledError(f"how long the queue of `{target.group}` is where it overflows is not known")
            over.append(got.delay_s - target.delay_s)
        # Rounding of a rate that is just carried is no loss.
        return max(over) - 1e-9

    return break_point(excess, 0.0, 1.0, most)


def intervals_until(factor: float, growth: float) -> int:
    """Return how many intervals it takes until a load that grows by a part each interval is so many times as large."""
    return max(math.ceil(math.log(factor) / math.log1p(growth) - 1e-9), 0)


def _port(scenario: Scenario, name: str | None) -> tuple[str, str]:
    switches = cast("Mapping[str, Mapping[str, Mapping[str, object]]]", scenario.document.get("switches", {}))
    policies = ("discipline", "shaper", "conditioners")
    found = [
        (node, neighbour)
        for node, switch in switches.items()
        for neighbour, table in switch.get("ports", {}).items()
        if isinstance(table, Mapping) and any(table.get(key) for key in policies)
    ]
    if name is not None:
        node, colon, neighbour = name.partition(":")
        if colon and node in switches:
            return node, neighbour
        raise UsageError(f"there is no port {name!r}; write a switch and its neighbour, such as ce:sink")
    if len(found) != 1:
        ports = ", ".join(":".join(port) for port in found) or "none"
        raise UsageError(f"which port is meant? there are {ports} with a policy; name it with --port")
    return found[0]


def _first(is_broken: Callable[[int], bool], most: float) -> float | None:
    """Return the factor of the first broken step; none if none is."""
    if not is_broken(_STEPS):
        return None
    if is_broken(0):
        return 1.0
    low, high = 0, _STEPS
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if is_broken(middle) else (middle, high)
    return 1 + (most - 1) * high / _STEPS


def _watched(target: Target, checked: Sequence[Checked], confidence: float) -> Watched:
    violations = [violation for one in checked for violation in one.violations]
    missed = {name: sum(name in violation.what for violation in violations) for name in _FIELDS}
    return Watched(
        target,
        _share(mean_interval([one.compliance for one in checked], confidence)),
        sum(one.intervals for one in checked),
        {name: count for name, count in missed.items() if count},
        min((violation.start_s for violation in violations), default=None),
    )


def _share(found: Interval) -> Interval:
    """The part of an interval that is possible for a share."""
    return Interval(found.mean, max(found.lo, 0.0), min(found.hi, 1.0), found.n)


def _watchable(scenario: Scenario, targets: Sequence[Target], interval: str) -> Scenario:
    names = _groups(scenario)
    for target in targets:
        if target.group not in names:
            raise UsageError(f"there is no group of flows {target.group!r}; there are {', '.join(names)}")
    try:
        length = _native.parse_duration(interval)
    except ValueError as error:
        raise UsageError(f"{interval!r} is no interval: {error}") from None
    watched = scenario.set({"run.sample": interval, "run.delay-variation": True})
    duration, warmup = (watched.run_config[name] for name in ("duration", "warmup"))
    measured = _native.parse_duration(str(duration))
    if str(warmup) != "auto":
        measured -= _native.parse_duration(str(warmup))
    if length * 2 > measured:
        raise UsageError(
            f"intervals of {interval} do not fit: the run is measured for {measured * 1e-12:g} s, and the first "
            "interval begins with the first sample after the warm-up; shorten --interval or lengthen run.duration"
        )
    return watched


def _groups(scenario: Scenario) -> Mapping[str, Mapping[str, Value]]:
    flows = scenario.document.get("flows", [])
    assert isinstance(flows, list)
    return {str(flow["name"]): flow for flow in flows if isinstance(flow, dict)}


def _rates(scenario: Scenario, growing: Sequence[str]) -> dict[str, float]:
    names = _groups(scenario)
    rates = {}
    for group in growing:
        if group not in names:
            raise UsageError(f"there is no group of flows {group!r}; there are {', '.join(names)}")
        source = names[group].get("source")
        if not isinstance(source, Mapping) or "rate" not in source:
            raise UsageError(f"the source of {group!r} has no rate that could grow")
        rates[group] = float(_native.parse_rate(str(source["rate"])))
    return rates
