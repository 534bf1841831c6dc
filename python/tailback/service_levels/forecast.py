"""Forecasts of service levels: the growth of traffic at which a target breaks."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

from tailback import _native
from tailback.bounds.fluid import FluidPort, NotModelledError
from tailback.errors import UsageError
from tailback.run.simulate import run
from tailback.scenario import Scenario, Value
from tailback.service_levels.compliance import Target, check, groups, watchable

__all__ = ["Forecast", "break_point", "fluid_forecast", "forecast", "intervals_until"]

_STEPS = 64
"""Number of steps into which a forecast divides the range of factors."""


def break_point(value_at: Callable[[float], float], limit: float, low: float, high: float) -> float | None:
    """Return the load between `low` and `high` at which a value exceeds its limit, to a thousandth of the range.

    `value_at` returns the value for a load, such as the loss by a model of the policy, and must not fall as the load
    grows. `None`: the value at `high` keeps the limit. If the value at `low` exceeds it already, that is `low`.
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
class Forecast:
    """Factor by which some groups may grow until a target breaks."""

    target: Target
    factor: float | None
    """Smallest tried factor at which the target is missed; `None`: it is kept at the largest factor."""
    most: float
    """The largest factor tried."""


@dataclass(slots=True)
class _Grown:
    """Mean compliance with every target by the factor on the rates of some groups; every factor is run once."""

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
    """Find the factor by which some groups may grow until each target is kept in fewer than `keep` of the intervals.

    The rates of the growing groups are multiplied by one factor from 1 to `most`, which is bisected to a 64th of
    the range; all factors are run with the same seeds, and mean compliances are compared. It is assumed that
    more load never improves compliance.

    Args:
        scenario: Scenario to run.
        targets: Targets of its groups.
        growing: Groups whose rates grow; their sources must have a `rate`.
        interval: Length of an interval, such as "1s".
        keep: Share of intervals in which a target must be kept, above 0 to 1.
        most: The largest factor, above 1.
        seed: Seed of the first replication; default: the scenario's.
        replications: Number of replications of each factor; default: the scenario's.
        threads: Number of replications at a time; default: one per processor.

    Raises:
        UsageError: A group is unknown or its source has no rate, the interval is invalid or too long, or `keep` or
            `most` is out of range.

    """
    if not 0 < keep <= 1:
        raise UsageError(f"the share of intervals is {keep:g}; write a number above 0, at most 1")
    if not (math.isfinite(most) and most > 1):
        raise UsageError(f"the largest factor is {most:g}; write a number above 1")
    rates = _rates(scenario, growing)
    grown = _Grown(watchable(scenario, targets, interval), rates, targets, seed, replications, threads)

    def factor(i: int) -> float | None:
        return _first(lambda step: grown.compliance(1 + (most - 1) * step / _STEPS)[i] < keep, most)

    return [Forecast(target, factor(i), most) for i, target in enumerate(targets)]


def fluid_forecast(
    scenario: Scenario, targets: Sequence[Target], growing: Sequence[str], port: str | None = None, *, most: float = 4.0
) -> list[Forecast]:
    """Find the factors of `forecast` by the fluid model of a port, without a run.

    The model has the mean loss, and a delay above that of the path only while the group's queue overflows. Bursts, by
    which targets are missed at smaller factors, are not in the model.

    Args:
        scenario: As `tailback import` makes it: hosts with a link each to one switch, and a policy at one of its ports.
        targets: Targets of loss and delay.
        growing: Groups whose rates grow, all by the same factor.
        port: The port, such as `ce:sink`. Default: the only one with a policy.
        most: The largest factor, above 1.

    Raises:
        UsageError: A group is unknown, a target is of jitter, or the policy has no fluid model, with the reason.

    """
    if not (math.isfinite(most) and most > 1):
        raise UsageError(f"the largest factor is {most:g}; write a number above 1")
    names = groups(scenario)
    for group in (*growing, *(target.group for target in targets)):
        if group not in names:
            raise UsageError(f"there is no group of flows {group!r}; the groups are {', '.join(names)}")
    try:
        model = FluidPort(scenario, *_port(scenario, port))
        return [Forecast(target, _fluid_factor(model, target, growing, most), most) for target in targets]
    except NotModelledError as reason:
        raise UsageError(f"the fluid model has no forecast: {reason}; use simulation instead") from None


def _fluid_factor(model: FluidPort, target: Target, growing: Sequence[str], most: float) -> float | None:
    if target.jitter_s is not None:
        raise NotModelledError(f"`{target.group}` has a target of jitter, which the model lacks")

    def excess(factor: float) -> float:
        got = model(dict.fromkeys(growing, factor)).get(target.group)
        if got is None:
            raise NotModelledError(f"`{target.group}` does not leave by this port")
        over = [] if target.loss is None else [got.loss - target.loss]
        if target.delay_s is not None:
            if got.delay_s is None:
                raise NotModelledError(f"the length of the overflowing queue of `{target.group}` is unknown")
            over.append(got.delay_s - target.delay_s)
        # Rounding of a rate equal to the capacity is no loss.
        return max(over) - 1e-9

    return break_point(excess, 0.0, 1.0, most)


def intervals_until(factor: float, growth: float) -> int:
    """Return the number of intervals in which a load reaches `factor` times its value, growing by `growth` in each.

    `factor` is above 0, and `growth`, a share of the load, above 0.
    """
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
        raise UsageError(f"name a port with --port; the ports with a policy are: {ports}")
    return found[0]


def _first(is_broken: Callable[[int], bool], most: float) -> float | None:
    """Return the factor of the first step from 0 to `_STEPS` at which the target is missed; `None`: at no step."""
    if not is_broken(_STEPS):
        return None
    if is_broken(0):
        return 1.0
    low, high = 0, _STEPS
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if is_broken(middle) else (middle, high)
    return 1 + (most - 1) * high / _STEPS


def _rates(scenario: Scenario, growing: Sequence[str]) -> dict[str, float]:
    names = groups(scenario)
    rates = {}
    for group in growing:
        if group not in names:
            raise UsageError(f"there is no group of flows {group!r}; the groups are {', '.join(names)}")
        source = names[group].get("source")
        if not isinstance(source, Mapping) or "rate" not in source:
            raise UsageError(f"the source of {group!r} has no `rate`, so that its growth cannot be forecast")
        rates[group] = float(_native.parse_rate(str(source["rate"])))
    return rates
