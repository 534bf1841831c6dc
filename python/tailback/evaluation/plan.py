"""Plan of an evaluation: an entry for each section of the outline."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from tailback.errors import UsageError
from tailback.evaluation.case import Entry, missing, not_applicable, not_selected, run
from tailback.evaluation.choice import Length
from tailback.evaluation.guide import Guide
from tailback.evaluation.outline import children, is_within
from tailback.evaluation.subject import Subject

__all__ = ["check_sections", "plan"]


def plan(
    guide: Guide,
    subject: Subject,
    others: Sequence[Subject],
    only: Collection[str] = (),
    length: Length | None = None,
) -> list[Entry]:
    """Return the entries of all sections, in the order of the outline.

    With `only`, keys of sections, the sections that are neither below nor equal to one of them are not selected.
    `length` is the effort, by default that of the profile "quick".
    """
    check_sections(guide, only)
    found = {entry.section: entry for entry in guide.entries(subject, others, length or guide.lengths["quick"])}
    for section in reversed(guide.outline):
        # A section with subsections is below none of its own tests, so its status follows from theirs.
        if section.key not in found:
            below = [found[child.key] for child in children(guide.outline, section.key)]
            numbers = [child.number for child in children(guide.outline, section.key)]
            found[section.key] = _parent(section.key, numbers, below)
    return [_limited(found[section.key], only) for section in guide.outline]


def check_sections(guide: Guide, only: Collection[str]) -> None:
    """Check the keys of sections; raises UsageError for an unknown one."""
    known = [section.key for section in guide.outline]
    for key in only:
        if key not in known:
            raise UsageError(f"{key!r} is not a section of the card; the sections are {', '.join(known)}")


def _parent(key: str, numbers: Sequence[str], below: Sequence[Entry]) -> Entry:
    rows = f"see rows {numbers[0]} to {numbers[-1]}" if len(numbers) > 1 else f"see row {numbers[0]}"
    if any(entry.status == "run" for entry in below):
        return run(key, note=rows)
    if any(entry.status == "missing" for entry in below):
        return missing(key, rows)
    return not_applicable(key, rows)


def _limited(entry: Entry, only: Collection[str]) -> Entry:
    if not only or entry.status != "run":
        return entry
    chosen = any(is_within(entry.section, one) or is_within(one, entry.section) for one in only)
    return entry if chosen else not_selected(entry.section)
