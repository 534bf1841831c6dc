"""Sections 5.2 and 5.3 of RFC 9743: flows of other congestion controls, real-time flows, and discussions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tailback.evaluation.case import Case, Entry, not_applicable, run
from tailback.evaluation.choice import HERE, Length
from tailback.evaluation.congestion import choices
from tailback.evaluation.congestion.common import RTT
from tailback.evaluation.congestion.criteria import of_fair_share
from tailback.evaluation.congestion.network import PATH, dumbbell, short_flows, standard
from tailback.evaluation.criteria import (
    Cloud,
    completion,
    completion_p99,
    delay_p99,
    goodput,
    jitter,
    loss,
    ratio,
    speech,
    waiting,
)
from tailback.evaluation.network import bulk, call
from tailback.scenario import Scenario, Value, source

__all__ = ["entries"]


def entries() -> Iterable[Entry]:
    """Return the entries of sections 5.2 and 5.3."""
    yield run(
        "rfc9743/5.2.1",
        *map(_beside, choices.STANDARDS.value),
        note="the words compare the harm to the existing flows with that by the other congestion controls in the same "
        "place. The backoff without feedback, which section 5.2 requires, is in row 5.1.1",
    )
    yield run(
        "rfc9743/5.2.2",
        _media(),
        note="the call and the video have a constant rate. Missing: media with a congestion control of its own, such "
        "as NADA (RFC 8698) or SCReAM (RFC 8298), which Tailback does not have",
    )
    yield run("rfc9743/5.2.3", _short_of("cubic"), _short_beside("cubic"))
    yield not_applicable(
        "rfc9743/5.3.1", "a text of the authors: deviations from RFC 2914 and RFC 7141 and their reasons"
    )
    yield not_applicable("rfc9743/5.3.2", "a text of the authors; what can be counted is in row 2.6 of RFC 5166")


def _beside(name: str) -> Case:
    count = choices.SINGLE.value

    def build(given: Mapping[str, Value], length: Length) -> Scenario:
        made = bulk(dumbbell(length.duration_s, length.warmup_s), "existing", PATH, standard(name), count)
        return bulk(made, "new", PATH, dict(given), count)

    half = choices.CAPACITY.value / 2
    return Case(
        f"9743 5.2.1 {name}",
        f"{count} flows of {name} and {count} of the evaluated one",
        build,
        (
            of_fair_share("existing", half, "existing_share", f"goodput of {name}, share of a fair one").limited(
                "at least", choices.STARVED.value, HERE
            ),
            goodput("existing", f"goodput, {name}"),
            goodput("new", "goodput, evaluated", None),
            ratio("new", "existing", "ratio", f"goodput, evaluated / {name}"),
            loss("existing", label=f"packet loss, {name}"),
            waiting("existing", RTT, f"queueing delay, {name}"),
            delay_p99("existing", RTT, f"99 % queueing delay, {name}"),
        ),
        (Cloud("existing", RTT, name), Cloud("new", RTT, "evaluated")),
    )


def _media() -> Case:
    def build(given: Mapping[str, Value], length: Length) -> Scenario:
        made = dumbbell(length.duration_s, length.warmup_s)
        made = call(made, "voice", PATH, choices.VOICE.value)
        made = call(made, "voice-back", PATH, choices.VOICE.value, reverse=True)
        video = source("video", rate=f"{choices.MEDIA.value}Mbit/s", packet="1200B")
        made = made.flow("video", f"send-{PATH}", f"recv-{PATH}", video)
        return bulk(made, "bulk", PATH, dict(given), choices.SINGLE.value)

    return Case(
        "9743 5.2.2",
        f"a call, a video, and {choices.SINGLE.value} long flows",
        build,
        (
            speech("voice", "mean opinion score of the call"),
            delay_p99("voice", RTT, "99 % queueing delay, call"),
            jitter("voice", "jitter, call"),
            loss("voice", label="packet loss, call"),
            loss("video", label="packet loss, video"),
            delay_p99("video", RTT, "99 % queueing delay, video"),
            goodput("bulk", "goodput, long flows"),
        ),
        (Cloud("voice", RTT, "call"), Cloud("video", RTT, "video"), Cloud("bulk", RTT, "long flows")),
    )


def _short_of(name: str) -> Case:
    """Return the case of short flows of an existing congestion control beside long flows of the evaluated one."""

    def build(given: Mapping[str, Value], length: Length) -> Scenario:
        made = short_flows(dumbbell(length.duration_s, length.warmup_s), "short", standard(name))
        return bulk(made, "bulk", PATH, dict(given), choices.SINGLE.value)

    return Case(
        f"9743 5.2.3 short {name}",
        f"short flows of {name}, {choices.SINGLE.value} long flows of the evaluated one",
        build,
        (
            completion("short", "completion", f"completion time of a short flow, {name}"),
            completion_p99("short", "completion_p99", f"99 % completion time of a short flow, {name}"),
            loss("short", label=f"packet loss, short flows of {name}"),
            goodput("bulk", "goodput, long flows"),
        ),
    )


def _short_beside(name: str) -> Case:
    """Return the case of short flows of the evaluated congestion control beside long flows of an existing one."""

    def build(given: Mapping[str, Value], length: Length) -> Scenario:
        made = short_flows(dumbbell(length.duration_s, length.warmup_s), "short", dict(given))
        return bulk(made, "bulk", PATH, standard(name), choices.SINGLE.value)

    return Case(
        f"9743 5.2.3 long {name}",
        f"short flows of the evaluated one, {choices.SINGLE.value} long flows of {name}",
        build,
        (
            completion("short", "completion", "completion time of a short flow"),
            completion_p99("short", "completion_p99", "99 % completion time of a short flow"),
            goodput("bulk", f"goodput, long flows of {name}"),
            loss("bulk", label=f"packet loss, long flows of {name}"),
        ),
    )
