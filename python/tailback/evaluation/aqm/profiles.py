"""Section 9: a mix of applications, and traffic in both directions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tailback.evaluation.aqm import choices
from tailback.evaluation.aqm.bursts import constant
from tailback.evaluation.aqm.choices import flows_at
from tailback.evaluation.aqm.network import bulk, call, dumbbell, friendly, page_views, starts
from tailback.evaluation.case import Case, Entry, run
from tailback.evaluation.choice import Length
from tailback.evaluation.criteria import (
    Cloud,
    acknowledgements_lost,
    completion,
    delay_p99,
    fairness,
    goodput,
    jitter,
    loss,
    speech,
    start_up,
    waiting,
)
from tailback.scenario import Scenario, Value, kind

__all__ = ["entries"]

_RTT = float(choices.RTT.value)


def entries() -> Iterable[Entry]:
    """Return the entries of section 9."""
    clouds = (
        ("voice", "call"),
        ("web response", "web"),
        ("cbr", "CBR"),
        ("video response", "video over TCP"),
        ("bulk", "bulk TCP"),
    )
    yield run(
        "9.1",
        Case(
            "9.1",
            "a call in both directions, 6 users of web pages, CBR, video over TCP, 5 bulk TCP flows",
            _mix,
            (
                speech("voice", "mean opinion score of the call"),
                delay_p99("voice", _RTT, "99 % queueing delay, call"),
                jitter("voice", "jitter, call"),
                loss("voice", label="packet loss, call"),
                completion("web", "page", "completion time of a page"),
                loss("cbr", label="packet loss, CBR"),
                waiting("cbr", _RTT, "queueing delay, CBR"),
                completion("video", "segment", "completion time of a video segment"),
                goodput("bulk", "goodput, bulk TCP"),
            ),
            tuple(Cloud(group, _RTT, label) for group, label in clouds),
        ),
        note="the video is sent in segments over TCP, without a change of its bit rate: Tailback has no application "
        "that adapts it",
    )
    yield run(
        "9.2",
        Case(
            "9.2",
            f"{flows_at(choices.MILD.value)} TCP-friendly flows in each direction, the discipline in both",
            _both,
            (
                goodput("down", "goodput, downlink"),
                goodput("up", "goodput, uplink"),
                waiting("down", _RTT, "queueing delay, downlink"),
                waiting("up", _RTT, "queueing delay, uplink"),
                loss("down", label="packet loss, downlink"),
                loss("up", label="packet loss, uplink"),
                fairness("down", "Jain's index, downlink"),
                fairness("up", "Jain's index, uplink").of("jain_up", "Jain's index, uplink"),
                acknowledgements_lost("down", "acks_down", "lost acknowledgements of the downlink's data"),
                acknowledgements_lost("up", "acks_up", "lost acknowledgements of the uplink's data"),
                start_up(),
            ),
            (Cloud("down", _RTT, "downlink"), Cloud("up", _RTT, "uplink")),
        ),
    )


def _mix(discipline: Mapping[str, Value], length: Length) -> Scenario:
    made = dumbbell(discipline, length.duration_s, length.warmup_s, {"a": _RTT})
    made = call(call(made, "voice", "a"), "voice-back", "a", reverse=True)
    made = constant(page_views(made, "web", "a", 6), "cbr", "a")
    application = kind(
        "request-response",
        request=kind("fixed", size="300B"),
        response=kind("fixed", size=choices.CHUNK.value),
        think=kind("fixed", time=f"{choices.CHUNK_GAP.value}s"),
    )
    made = made.flow("video", "recv-a", "send-a", application=application, transport=friendly())
    return bulk(made, "bulk", "a", 5)


def _both(discipline: Mapping[str, Value], length: Length) -> Scenario:
    flows = flows_at(choices.MILD.value)
    made = dumbbell(discipline, length.duration_s, length.warmup_s, {"a": _RTT}, both=True)
    made = bulk(bulk(made, "down", "a", flows), "up", "a", flows, reverse=True)
    return starts(made, "a")
