"""Section 6: fairness between flows of different round-trip times."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tailback.evaluation.aqm import choices
from tailback.evaluation.aqm.network import bulk, dumbbell
from tailback.evaluation.case import Case, Entry, not_applicable, run
from tailback.evaluation.choice import Length
from tailback.evaluation.criteria import Cloud, fairness, goodput, loss, marks, ratio, waiting
from tailback.scenario import Scenario, Value

__all__ = ["entries", "pair"]

_RTT = float(choices.RTT.value)


def entries() -> Iterable[Entry]:
    """Return the entries of section 6."""
    yield not_applicable("6.1", "text without a test")
    yield run(
        "6.2",
        *(pair("6.2", float(rtt)) for rtt in choices.RTTS.value),
        note="one TCP-friendly flow of each category; the buffer is that of all rows",
    )
    yield run("6.3", note="goodput of each category, their ratio, and losses are in row 6.2")


def pair(section: str, rtt: float, *, ecn: bool = False) -> Case:
    """Return the case of one flow of each category, with the round-trip time of category II."""
    transport: dict[str, Value] = {"ecn": "classic"} if ecn else {}

    def build(discipline: Mapping[str, Value], length: Length) -> Scenario:
        made = dumbbell(discipline, length.duration_s, length.warmup_s, {"a": _RTT, "b": rtt})
        return bulk(bulk(made, "I", "a", transport=transport), "II", "b", transport=transport)

    criteria = [
        goodput("I", "goodput, category I", None),
        goodput("II", "goodput, category II", None),
        ratio("II", "I", "ratio", "goodput, category II / category I"),
        fairness("I*", "Jain's index of both goodputs"),
        loss("I", label="packet loss, category I", better=None),
        loss("II", label="packet loss, category II", better=None),
        waiting("I", _RTT, "queueing delay, category I"),
    ]
    return Case(
        f"{section} {rtt:g} ms",
        f"category I: {_RTT:g} ms, category II: {rtt:g} ms",
        build,
        (*criteria, marks()) if ecn else tuple(criteria),
        (Cloud("I", _RTT, "category I"), Cloud("II", rtt, "category II")),
        variants={"ecn": True} if ecn else None,
    )
