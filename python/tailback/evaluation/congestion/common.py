"""Cases of long flows of one congestion control, which most sections share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tailback.evaluation.case import Case
from tailback.evaluation.choice import Length
from tailback.evaluation.congestion import choices
from tailback.evaluation.congestion.network import PATH, dumbbell
from tailback.evaluation.criteria import Cloud, Criterion, delay_p99, goodput, loss, utilisation, waiting
from tailback.evaluation.network import bulk
from tailback.scenario import Scenario, Table, Value

__all__ = ["RTT", "Build", "long_flows", "table", "usual"]

RTT = float(choices.RTT.value)
Build = Callable[[Mapping[str, Value], Length], Scenario]


def table(given: Mapping[str, Value], **values: Value) -> Table:
    """Return the table of a transport with keys changed; underscores in names stand for hyphens."""
    return {**given, **{name.replace("_", "-"): value for name, value in values.items()}}


def usual(rtt_ms: float = RTT, group: str = "bulk") -> tuple[Criterion, ...]:
    """Return goodput, delays, loss and utilisation of long flows."""
    return (
        goodput(group, "goodput"),
        utilisation(),
        waiting(group, rtt_ms, "queueing delay"),
        delay_p99(group, rtt_ms, "99 % queueing delay"),
        loss(group, label="packet loss"),
    )


def long_flows(
    key: str,
    title: str,
    *criteria: Criterion,
    count: int = choices.SINGLE.value,
    rtt_ms: float = RTT,
    graph: bool = False,
    changed: Mapping[str, Value] | None = None,
    variants: Mapping[str, Value] | None = None,
    timeline: Callable[[Scenario, Length], Scenario] | None = None,
    duration_s: float = 0.0,
    measured_s: float = 0.0,
    **network: Any,
) -> Case:
    """Return the case of `count` long flows over the dumbbell; `network` has keys of it.

    `changed` are keys of the transport, and `timeline` adds changes and other flows. A run has a length of at least
    `duration_s`, of which at least `measured_s` are after the warm-up. Without criteria, they are the
    usual ones.
    """

    def build(given: Mapping[str, Value], length: Length) -> Scenario:
        duration = max(length.duration_s, duration_s, length.warmup_s + measured_s)
        made = dumbbell(duration, length.warmup_s, rtt_ms=rtt_ms, **network)
        made = bulk(made, "bulk", PATH, {**given, **(changed or {})}, count)
        return made if timeline is None else timeline(made, length)

    clouds = (Cloud("bulk", rtt_ms, "long flows"),) if graph else ()
    return Case(key, title, build, criteria or usual(rtt_ms), clouds, variants=variants)
