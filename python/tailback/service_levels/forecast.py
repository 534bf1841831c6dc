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
    """Return a load between `low` and `high` at which a value exceeds its limit, by bisection.

    The smallest such load is lower by at most a thousandth of the range. `value_at` returns the value for a load, such
    as the loss by a model of the policy, and must not fall as the load grows. `None`: the value at `high` keeps the
    limit. If the value at `low` already exceeds the limit, the result is `low`.
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
    """Factor by which some groups may grow until a target is missed."""

    target: Target
    factor: float | None
    """Smallest tried factor, 1 to `most`, at which the target is missed; `None`: the target is kept even at `most`."""
    most: float
    """Largest factor tried, above 1."""


@dataclass(slots=True)
class _Grown:
    """A scenario in which the rates of some groups grow by a factor; every factor is run only once."""

    scenario: Scenario
    rates: Mapping[str, float]
    """Rates of the growing groups at a factor of 1, bit/s, by name."""
    targets: Sequence[Target]
    seed: int | None
    replications: int | None
    threads: int | None
    known: dict[float, list[float]] = field(default_factory=dict)
    """Results of `compliance`, by factor."""

    def compliance(self, factor: float) -> list[float]:
        """Return the mean compliance with each target over the replications, 0 to 1, in the order of the targets."""
        if factor not in self.known:
            grown: dict[str, Value] = {
                f"flows[{name}].source.rate": f"{round(factor * rate)}bit/s" for name, rate in self.rates.items()
            }
            reports = run(self.scenario.set(grown), self.seed, self.replications, self.threads).reports
            checked = [check(report, self.targets) for report in reports]
            self.known[factor] = [
                sum(row[i].compliance for row in checked) / len(checked) for i in range(len(self.targets))
            ]
        return self.known[factor]


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

    The rates of the growing groups are multiplied by one factor from 1 to `most`, which is bisected to a 64th of the
    range. All factors are run with the same seeds, and the mean compliance over the replications is compared with
    `keep`. It is assumed that more load never improves compliance. The results are in the order of the targets.

    Args:
        scenario: Scenario to run.
        targets: Targets of its groups.
        growing: Groups whose rates grow; their sources must have a `rate`.
        interval: Length of an interval, such as "1s".
        keep: Share of intervals in which a target must be kept, above 0 to 1.
        most: Largest factor, above 1.
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
    """Find the smallest factor at which each target is missed in the fluid model of a port, without a run.

    The model gives the mean loss, and a delay: that of the path, plus that of a full queue if the group's queue
    overflows. It has no bursts, because of which targets may be missed at smaller factors. Factors are bisected to a
    thousandth of the range. The results are in the order of the targets.

    Args:
        scenario: As `tailback import` makes it: hosts with a link each to one switch, and a policy at one of its ports.
        targets: Targets of loss and delay.
        growing: Groups whose rates grow, all by the same factor.
        port: Switch and neighbour of the port, such as `ce:sink`. Default: the only port with a policy.
        most: Largest factor, above 1.

    Raises:
        UsageError: A group or the port's switch is unknown, no or several ports have a policy and `port` is `None`, a
            target is of jitter, `most` is out of range, or the policy has no fluid model; the message gives the reason.

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
    """Return `Forecast.factor` of a target; raises NotModelledError if the model cannot decide it."""
    if target.jitter_s is not None:
        raise NotModelledError(f"`{target.group}` has a target of jitter, which the model lacks")

    def excess(factor: float) -> float:
        service = model(dict.fromkeys(growing, factor)).get(target.group)
        if service is None:
            raise NotModelledError(f"`{target.group}` does not leave by this port")
        over = [] if target.loss is None else [service.loss - target.loss]
        if target.delay_s is not None:
            if service.delay_s is None:
                raise NotModelledError(f"the length of the overflowing queue of `{target.group}` is unknown")
            over.append(service.delay_s - target.delay_s)
        # If the rate equals the capacity, rounding may give a tiny loss, which is not an excess.
        return max(over) - 1e-9

    return break_point(excess, 0.0, 1.0, most)


def intervals_until(factor: float, growth: float) -> int:
    """Return the number of intervals after which a load has reached `factor` times its value.

    In each interval the load grows by the share `growth`, such as 0.02. Both arguments must be above 0. The result is 0
    if `factor` is at most 1.
    """
    return max(math.ceil(math.log(factor) / math.log1p(growth) - 1e-9), 0)


def _port(scenario: Scenario, name: str | None) -> tuple[str, str]:
    """Return switch and neighbour of a port by its name; `None`: of the only port with a policy."""
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
        links = cast("Sequence[Mapping[str, Sequence[str]]]", scenario.document.get("links", []))
        if colon and node in switches and any({node, neighbour} == set(link["between"]) for link in links):
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
    """Return the rates of the sources of the growing groups, bit/s, by name."""
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
