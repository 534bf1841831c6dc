"""Service level management: targets per group of flows, checked in every interval, and when they will break.

    targets = [Target("voice", delay_s=0.01, loss=0.001), Target("data", loss=0.05)]
    for found in check(report, targets):
        print(found.target.group, found.compliance, found.violations)

The report must have a time series (`[run] sample`, the length of an interval) and `delay-variation = true`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from tailback.report import Report

__all__ = ["Checked", "Observed", "Target", "Violation", "break_point", "check", "observe"]


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
        waited = row["delay_sum_s"][now] - row["delay_sum_s"][before]
        found.append(
            Observed(
                times[before],
                times[now],
                waited / delivered if delivered else None,
                dropped / (delivered + dropped) if delivered + dropped else 0.0,
                row["jitter_s"][now],
                delivered / (times[now] - times[before]),
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
        # Where nothing arrives at all though something was lost, no delay was kept either.
        if target.delay_s is not None and (one.delay_s > target.delay_s if one.delay_s is not None else one.loss > 0):
            missed.append("delay")
        if target.loss is not None and one.loss > target.loss:
            missed.append("loss")
        if target.jitter_s is not None and one.jitter_s > target.jitter_s:
            missed.append("jitter")
        if missed:
            violations.append(Violation(one.start_s, tuple(missed)))
    return Checked(target, len(intervals), tuple(violations))


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
