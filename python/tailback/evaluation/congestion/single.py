"""Section 5.1 of RFC 9743: flows of one congestion control only."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tailback.evaluation.case import Case, Entry, run
from tailback.evaluation.choice import HERE, Length
from tailback.evaluation.congestion import choices
from tailback.evaluation.congestion.common import RTT, long_flows, usual
from tailback.evaluation.congestion.criteria import (
    goodput_ratio,
    outage_rate,
    recovery_time,
    sending_rate,
    smallest_share,
)
from tailback.evaluation.congestion.network import PATH, dumbbell, short_flows
from tailback.evaluation.criteria import (
    Cloud,
    completion,
    completion_p99,
    delay_p99,
    fairness,
    goodput,
    loss,
    utilisation,
    waiting,
)
from tailback.evaluation.network import bulk
from tailback.scenario import Scenario, Value

__all__ = ["entries"]

_BACKOFF = "RFC 9743 section 5.1.1"


def entries() -> Iterable[Entry]:
    """Return the entries of section 5.1."""
    yield run("rfc9743/5.1.1", _overload(), _outage())
    flows = choices.FLOWS.value
    deep = choices.DEEP.value
    yield run(
        "rfc9743/5.1.2",
        long_flows(
            "9743 5.1.2",
            f"buffer of {deep:g} BDP: {flows} long flows",
            waiting("bulk", RTT, "queueing delay").limited("at most", choices.DEEP_LIMIT.value, HERE),
            delay_p99("bulk", RTT, "99 % queueing delay"),
            goodput("bulk", "goodput"),
            utilisation(),
            count=flows,
            bdps=deep,
            graph=True,
        ),
    )
    yield run("rfc9743/5.1.3", *map(_shallow, choices.SHALLOW.value), _lossy())
    yield run("rfc9743/5.1.4", *map(_fair, (choices.SINGLE.value, choices.MANY.value)))
    yield run("rfc9743/5.1.5", _short(with_long=True), _short(with_long=False))


def _overload() -> Case:
    rate, count = choices.OVERLOAD_CAPACITY.value, choices.OVERLOAD_FLOWS.value
    return long_flows(
        "9743 5.1.1 overload",
        f"persistent congestion: {count} long flows, {rate} Mbit/s",
        sending_rate("bulk", RTT).limited("at most", choices.SENDING_LIMIT.value, _BACKOFF),
        loss("bulk", label="packet loss"),
        goodput_ratio("bulk"),
        utilisation(),
        fairness("bulk", "Jain's index"),
        count=count,
        capacity_mbps=rate,
    )


def _outage() -> Case:
    down = choices.OUTAGE.value

    def build(given: Mapping[str, Value], length: Length) -> Scenario:
        begin = length.warmup_s + 5
        made = dumbbell(begin + down + 75, length.warmup_s)
        made = bulk(made, "bulk", PATH, dict(given), choices.SINGLE.value)
        made = made.at(f"{begin}s", link=["left", "right"], state="down")
        return made.at(f"{begin + down}s", link=["left", "right"], state="up")

    return Case(
        "9743 5.1.1 outage",
        f"loss of all feedback: the link is down for {down} s, {choices.SINGLE.value} long flows",
        build,
        (
            outage_rate("bulk", 5 + down / 2, 5 + down, RTT).limited("at most", choices.SENDING_LIMIT.value, _BACKOFF),
            recovery_time("bulk", 5 + down, choices.CAPACITY.value),
        ),
    )


def _shallow(share: float) -> Case:
    count = choices.LOSS_FLOWS.value
    return long_flows(
        f"9743 5.1.3 {share:g} BDP",
        f"buffer of {share:g} BDP: {count} long flows",
        loss("bulk", label="packet loss").limited("at most", choices.LOSS_LIMIT.value, HERE),
        goodput("bulk", "goodput"),
        utilisation(),
        waiting("bulk", RTT, "queueing delay"),
        count=count,
        bdps=share,
    )


def _lossy() -> Case:
    percent = choices.RANDOM_LOSS.value
    return long_flows(
        "9743 5.1.3 random loss",
        f"{choices.SINGLE.value} long flows, random loss of {percent} %: the response to a high loss",
        sending_rate("bulk", RTT),
        goodput("bulk", "goodput", None),
        goodput_ratio("bulk"),
        loss=percent / 100,
    )


def _fair(count: int) -> Case:
    return long_flows(
        f"9743 5.1.4 {count} flows",
        f"{count} long flows of equal round-trip times",
        fairness("bulk", "Jain's index of the goodputs").limited("at least", choices.FAIR_LIMIT.value, HERE),
        smallest_share("bulk"),
        *usual(),
        count=count,
        graph=True,
    )


def _short(*, with_long: bool) -> Case:
    def build(given: Mapping[str, Value], length: Length) -> Scenario:
        made = short_flows(dumbbell(length.duration_s, length.warmup_s), "short", dict(given))
        return bulk(made, "bulk", PATH, dict(given), choices.SINGLE.value) if with_long else made

    criteria = [
        completion("short", "completion", "completion time of a short flow"),
        completion_p99("short", "completion_p99", "99 % completion time of a short flow"),
        loss("short", label="packet loss, short flows"),
    ]
    clouds: tuple[Cloud, ...] = ()
    if with_long:
        criteria += [goodput("bulk", "goodput, long flows"), waiting("bulk", RTT, "queueing delay, long flows")]
        clouds = (Cloud("bulk", RTT, "long flows"), Cloud("short", RTT, "short flows"))
    what = f"short flows and {choices.SINGLE.value} long flows" if with_long else "short flows only"
    return Case(f"9743 5.1.5 {'long' if with_long else 'alone'}", what, build, tuple(criteria), clouds)
