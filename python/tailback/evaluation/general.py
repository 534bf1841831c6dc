"""Section 4: packet sizes, ECN and scheduling; comparisons are part of every row."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tailback.evaluation import choices
from tailback.evaluation.case import Case, Entry, not_applicable, run
from tailback.evaluation.choices import Length, flows_at
from tailback.evaluation.criteria import Cloud, goodput, loss, marks, utilisation, waiting
from tailback.evaluation.network import bulk, dumbbell
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
    yield not_applicable("4.3.2", "a discussion; the rows 11.2 and 12.2 have the numbers that it needs")
    yield run(
        "4.4",
        Case(
            "4.4",
            "packets of 200 B and of 1500 B among TCP flows, medium congestion",
            _sizes,
            (
                loss("small", "loss_small", "packet loss, 200 B"),
                loss("large", "loss_large", "packet loss, 1500 B"),
                waiting("small", _RTT, "queueing delay, 200 B"),
                waiting("large", _RTT, "queueing delay, 1500 B"),
            ),
        ),
    )
    yield _ecn(subject)
    yield _scheduled(subject)


def _sizes(discipline: Mapping[str, Value], length: Length) -> Scenario:
    made = dumbbell(discipline, length.duration_s, length.warmup_s, {"a": _RTT})
    made = bulk(made, "bulk", "a", flows_at(choices.MEDIUM.value))
    for name, size in (("small", 200), ("large", choices.PACKET.value)):
        made = made.flow(name, "send-a", "recv-a", source("poisson", rate="500kbit/s", packet=f"{size}B"))
    return made


def _ecn(subject: Subject) -> Entry:
    note = (
        "flows are ECN-capable (RFC 3168); disciplines with a parameter `ecn` have `ecn = true`. Row 8.2.3 has the "
        "same scenario without ECN"
    )
    if not subject.accepts({"ecn": True}):
        note += f"; {subject.kind} has no parameter `ecn` and is run as it is"
    case = Case(
        "4.5",
        "medium congestion, ECN-capable flows",
        lambda discipline, length: bulk(
            dumbbell(discipline, length.duration_s, length.warmup_s, {"a": _RTT}),
            "bulk",
            "a",
            flows_at(choices.MEDIUM.value),
            transport={"ecn": "classic"},
        ),
        (
            goodput("bulk", "goodput"),
            waiting("bulk", _RTT, "queueing delay"),
            loss("bulk", label="packet loss"),
            marks(),
            utilisation(),
        ),
        (Cloud("bulk", _RTT, "bulk TCP"),),
        variants={"ecn": True},
    )
    return run("4.5", case, note=note)


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
    return run("4.6", case, note="row 5.3 has the same traffic without classes")


def _wrapped(discipline: Mapping[str, Value]) -> Table:
    half = max(choices.packets_of_delay(choices.CAPACITY.value, choices.RTT.value) // 2, 1)
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
        source("cbr", rate=f"{choices.UNRESPONSIVE.value}Mbit/s", packet=f"{choices.PACKET.value}B"),
        dscp="af11",
    )
