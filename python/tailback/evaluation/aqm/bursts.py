"""Section 7: burst absorption, the traffic mixes of figure 2."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tailback.evaluation.aqm import choices
from tailback.evaluation.aqm.network import bulk, dumbbell, page_views
from tailback.evaluation.case import Case, Entry, not_applicable, run
from tailback.evaluation.choice import PACKET, Length
from tailback.evaluation.criteria import Cloud, completion, delay_p99, goodput, jitter, loss, waiting
from tailback.scenario import Scenario, Value, source

__all__ = ["constant", "entries"]

_RTT = float(choices.RTT.value)


def entries() -> Iterable[Entry]:
    """Return the entries of section 7."""
    yield not_applicable("7.1", "text without a test")
    cases = (("I", False, False), ("II", False, True), ("III", True, False), ("IV", True, True))
    yield run("7.2", *(_mix(*case) for case in cases))


def constant(made: Scenario, name: str, path: str) -> Scenario:
    """Add a flow of constant bit rate."""
    return made.flow(
        name, f"send-{path}", f"recv-{path}", source("cbr", rate=f"{choices.CBR.value}Mbit/s", packet="1000B")
    )


def _mix(number: str, video: bool, long: bool) -> Case:
    def build(discipline: Mapping[str, Value], length: Length) -> Scenario:
        made = dumbbell(discipline, length.duration_s, length.warmup_s, {"a": _RTT})
        made = constant(page_views(made, "web", "a"), "cbr", "a")
        if video:
            model = source("video", rate=f"{choices.VIDEO.value}Mbit/s", packet=f"{PACKET.value}B")
            made = made.flow("video", "send-a", "recv-a", model)
        return bulk(made, "bulk", "a") if long else made

    criteria = [
        completion("web", "page", "completion time of a page"),
        loss("web response", "loss_web", "packet loss, web"),
        loss("cbr", label="packet loss, CBR"),
        waiting("cbr", _RTT, "queueing delay, CBR"),
        delay_p99("cbr", _RTT, "99 % queueing delay, CBR"),
        jitter("cbr", "jitter, CBR"),
    ]
    if video:
        criteria += [loss("video", label="packet loss, video"), delay_p99("video", _RTT, "99 % queueing delay, video")]
    if long:
        criteria.append(goodput("bulk", "goodput, bulk TCP"))
    words = ["web", "CBR", *(["bursty video"] if video else []), *(["one bulk TCP flow"] if long else [])]
    clouds = [("web response", "web"), ("cbr", "CBR")]
    clouds += [("video", "video")] if video else []
    clouds += [("bulk", "bulk TCP")] if long else []
    return Case(
        f"7.2 case {number}",
        f"case {number}: {', '.join(words)}",
        build,
        tuple(criteria),
        tuple(Cloud(group, _RTT, label) for group, label in clouds),
    )
