"""Section 4: packet sizes, ECN and scheduling; comparisons are part of every row."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tailback.evaluation.aqm import choices
from tailback.evaluation.aqm.choices import flows_at
from tailback.evaluation.aqm.fairness import pair
from tailback.evaluation.aqm.network import bulk, dumbbell
from tailback.evaluation.case import Case, Entry, not_applicable, run
from tailback.evaluation.choice import PACKET, Length
from tailback.evaluation.criteria import Cloud, goodput, loss, ratio, waiting
from tailback.evaluation.network import packets_of_delay
from tailback.evaluation.subject import Subject
from tailback.scenario import Scenario, Table, Value, source

__all__ = ["entries"]

_RTT = float(choices.RTT.value)


def entries(subject: Subject) -> Iterable[Entry]:
    """Return the entries of section 4."""
    yield not_applicable("4.1", "guidance without a test; followed: version, seed, scenarios and choices are stated")
    yield not_applicable("4.2", "guidance without a test; followed: each row has the metrics that fit its traffic")
    yield run(
        "4.3.1",
        note="each metric of each row is compared with the other disciplines in the same scenario, with the same seeds "
        "and the same buffer",
    )
    yield not_applicable("4.3.2", "a discussion; the rows 8.3, 11.2 and 12.2 have the numbers that it needs")
    flows = flows_at(choices.MILD.value) // 2
    yield run(
        "4.4",
        Case(
            "4.4",
            f"mild congestion: {flows} flows with packets of {choices.SMALL.value} B, {flows} of {PACKET.value} B",
            _sizes,
            (
                goodput("small", f"goodput, {choices.SMALL.value} B", None),
                goodput("large", f"goodput, {PACKET.value} B", None),
                ratio("large", "small", "ratio", f"goodput, {PACKET.value} B / {choices.SMALL.value} B"),
                loss("small", "loss_small", f"packet loss, {choices.SMALL.value} B"),
                loss("large", "loss_large", f"packet loss, {PACKET.value} B"),
                waiting("small", _RTT, f"queueing delay, {choices.SMALL.value} B"),
                waiting("large", _RTT, f"queueing delay, {PACKET.value} B"),
            ),
        ),
    )
    yield _ecn(subject)
    yield _scheduled(subject)


def _sizes(discipline: Mapping[str, Value], length: Length) -> Scenario:
    made = dumbbell(discipline, length.duration_s, length.warmup_s, {"a": _RTT})
    for name, size in (("small", choices.SMALL.value), ("large", PACKET.value)):
        made = bulk(made, name, "a", flows_at(choices.MILD.value) // 2, transport={"segment": f"{size - 40}B"})
    return made


def _ecn(subject: Subject) -> Entry:
    note = (
        "the tests of row 6.2 with ECN-capable flows (RFC 3168); disciplines with a parameter `ecn` have `ecn = true`. "
        "Row 6.2 has the same scenarios without ECN"
    )
    if not subject.accepts({"ecn": True}):
        note += f"; {subject.kind} has no parameter `ecn` and is run as it is"
    return run("4.5", *(pair("4.5", float(rtt), ecn=True) for rtt in choices.RTTS.value), note=note)


def _scheduled(subject: Subject) -> Entry:
    if not Subject(subject.name, _wrapped(subject.table), subject.folder).accepts({}):
        return not_applicable("4.6", f"{subject.kind} cannot be the discipline of a class of another discipline")
    case = Case(
        "4.6",
        "two classes in weighted round robin, each with the discipline: TCP, and an unresponsive flow",
        _classes,
        (
            goodput("friendly", "goodput, TCP class"),
            goodput("unresponsive", "goodput, unresponsive class", None),
            waiting("friendly", _RTT, "queueing delay, TCP class"),
            loss("friendly", label="packet loss, TCP class"),
        ),
        (Cloud("friendly", _RTT, "TCP class"), Cloud("unresponsive", _RTT, "unresponsive class")),
    )
    return run("4.6", case, note="row 5.3 has the same flows without classes")


def _wrapped(discipline: Mapping[str, Value]) -> Table:
    half = max(packets_of_delay(choices.CAPACITY.value, choices.RTT.value) // 2, 1)
    inner: Table = {"weight": 1, "limit": f"{half}packets", "discipline": dict(discipline)}
    return {
        "kind": "wrr",
        "count": "bytes",
        "classes": [{"name": "urgent", "match": {"dscp": "af11"}, **inner}],
        "default": inner,
    }


def _classes(discipline: Mapping[str, Value], length: Length) -> Scenario:
    made = dumbbell(_wrapped(discipline), length.duration_s, length.warmup_s, {"a": _RTT})
    made = bulk(made, "friendly", "a")
    return made.flow(
        "unresponsive",
        "send-a",
        "recv-a",
        source("cbr", rate=f"{choices.UNRESPONSIVE.value}Mbit/s", packet=f"{PACKET.value}B"),
        dscp="af11",
    )
