"""Plan of an evaluation: an entry for each section of the outline."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from tailback.errors import UsageError
from tailback.evaluation import (
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
from tailback.evaluation.case import Entry, missing, not_applicable, run
from tailback.evaluation.outline import OUTLINE, children
from tailback.evaluation.subject import Subject

__all__ = ["check_sections", "plan"]


def plan(subject: Subject, others: Sequence[Subject], only: Collection[str] = ()) -> list[Entry]:
    """Return the entries of all sections, in the order of the outline.

    With `only`, numbers of sections, the sections that are neither below nor equal to one of them are missing.
    """
    check_sections(only)
    found = {entry.number: entry for entry in _entries(subject, others)}
    for section in reversed(OUTLINE):
        # A section with subsections is below none of its own tests, so its status follows from theirs.
        if section.number not in found:
            below = [found[child.number] for child in children(section.number)]
            found[section.number] = _parent(section.number, below)
    return [_limited(found[section.number], only) for section in OUTLINE]


def check_sections(only: Collection[str]) -> None:
    """Check the numbers of sections; raises UsageError for an unknown one."""
    known = [section.number for section in OUTLINE]
    for number in only:
        if number not in known:
            raise UsageError(f"{number!r} is not a section of the card; the sections are {', '.join(known)}")


def _entries(subject: Subject, others: Sequence[Subject]) -> Iterator[Entry]:
    yield from general.entries(subject)
    yield from transports.entries()
    yield from fairness.entries()
    yield from bursts.entries()
    yield from stability.entries()
    yield from sensitivity.entries(subject)
    yield from profiles.entries()
    yield from multiple.entries()
    yield from discussion.entries(subject, others)


def _parent(number: str, below: Sequence[Entry]) -> Entry:
    rows = f"see rows {below[0].number} to {below[-1].number}"
    if any(entry.status == "run" for entry in below):
        return run(number, note=rows)
    if any(entry.status == "missing" for entry in below):
        return missing(number, rows)
    return not_applicable(number, rows)


def _limited(entry: Entry, only: Collection[str]) -> Entry:
    if not only or entry.status != "run":
        return entry
    chosen = any(entry.number == one or entry.number.startswith(f"{one}.") for one in only)
    above = any(one.startswith(f"{entry.number}.") for one in only)
    return entry if chosen or above else missing(entry.number, "left out: only other sections were requested")
