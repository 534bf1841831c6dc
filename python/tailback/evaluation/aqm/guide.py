"""Guide for queue disciplines: RFC 7928."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tailback.evaluation.aqm import (
    bursts,
    discussion,
    fairness,
    general,
    multiple,
    profiles,
    sensitivity,
    stability,
    transports,
)
from tailback.evaluation.aqm.choices import CHOICES
from tailback.evaluation.aqm.outline import OUTLINE, REFERENCE
from tailback.evaluation.case import Entry
from tailback.evaluation.choice import Length
from tailback.evaluation.guide import Guide
from tailback.evaluation.subject import DISCIPLINE, Subject

__all__ = ["AQM"]


def _entries(subject: Subject, others: Sequence[Subject], length: Length) -> Iterator[Entry]:
    del length
    yield from general.entries(subject)
    yield from transports.entries()
    yield from fairness.entries()
    yield from bursts.entries()
    yield from stability.entries()
    yield from sensitivity.entries(subject)
    yield from profiles.entries()
    yield from multiple.entries()
    yield from discussion.entries(subject, others)


AQM = Guide(
    DISCIPLINE,
    "RFC 7928",
    (REFERENCE,),
    "The numbers and titles of the sections and the values in the last table were compared with the text of the RFC.",
    OUTLINE,
    _entries,
    CHOICES,
    ("drop-tail", "codel", "pie", "red"),
    tuple(f"delay-goodput-{key}" for key in ("5.1.1", "5.2", "8.2.2", "8.2.3", "8.2.4", "4.5-50-ms")),
    {"quick": Length(60, 20, 8, 16), "full": Length(300, 60, 10, 60, full=True)},
)
