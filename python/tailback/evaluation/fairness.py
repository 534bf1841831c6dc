"""Section 6: fairness between flows of different round-trip times."""

from __future__ import annotations

from collections.abc import Iterable

from tailback.evaluation import choices
from tailback.evaluation.case import Case, Entry, not_applicable, run
from tailback.evaluation.criteria import Cloud, fairness, goodput, loss, ratio, waiting
from tailback.evaluation.network import bulk, dumbbell

__all__ = ["entries"]

_RTT = float(choices.RTT.value)


def entries() -> Iterable[Entry]:
    """Return the entries of section 6."""
    yield not_applicable("6.1", "text without a test")
    yield run(
        "6.2",
        *(_pair(float(rtt)) for rtt in choices.RTTS.value),
        note="one TCP-friendly flow of each category; the buffer is that of all rows",
    )
    yield run("6.3", note="goodput of each category, their ratio, and losses are in row 6.2")


def _pair(rtt: float) -> Case:
    return Case(
        f"6.2 {rtt:g} ms",
        f"category I: {_RTT:g} ms, category II: {rtt:g} ms",
        lambda discipline, length: bulk(
            bulk(dumbbell(discipline, length.duration_s, length.warmup_s, {"a": _RTT, "b": rtt}), "I", "a"), "II", "b"
        ),
        (
            goodput("I", "goodput, category I", None),
            goodput("II", "goodput, category II", None),
            ratio("II", "I", "ratio", "goodput, category II / category I"),
            fairness("I*", "Jain's index of both goodputs"),
            loss("I", label="packet loss, category I", better=None),
            loss("II", label="packet loss, category II", better=None),
            waiting("I", _RTT, "queueing delay, category I"),
        ),
        (Cloud("I", _RTT, "category I"), Cloud("II", rtt, "category II")),
    )
