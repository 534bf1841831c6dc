"""Guide for congestion controls: RFC 9743, RFC 5166 and the TCP evaluation suite."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tailback.evaluation.case import Entry
from tailback.evaluation.choice import Length
from tailback.evaluation.congestion import general, metrics, mixed, single, special, suite
from tailback.evaluation.congestion.choices import CHOICES
from tailback.evaluation.congestion.outline import CHECKED, OUTLINE, REFERENCES
from tailback.evaluation.guide import Guide
from tailback.evaluation.subject import TRANSPORT, Subject

__all__ = ["CONGESTION"]


def _entries(subject: Subject, others: Sequence[Subject], length: Length) -> Iterator[Entry]:
    yield from single.entries()
    yield from mixed.entries()
    yield from general.entries()
    yield from special.entries(subject)
    yield from metrics.entries(subject, others)
    yield from suite.entries(length)


CONGESTION = Guide(
    TRANSPORT,
    "RFC 9743, RFC 5166 and the TCP evaluation suite",
    REFERENCES,
    CHECKED,
    OUTLINE,
    _entries,
    CHOICES,
    ("reno", "cubic", "bbr"),
    (
        "delay-goodput-9743-6.1",
        "delay-goodput-9743-5.1.2",
        "delay-goodput-9743-7.1-codel",
        "tradeoff",
        "convergence",
        "fairness-rtt",
    ),
    {"quick": Length(60, 20, 5, 8), "full": Length(300, 60, 10, 60, full=True)},
)
