"""Evaluation of a discipline or a congestion control by its guide: plan, runs, card and files."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from pathlib import Path

from tailback.errors import OutputError, UsageError
from tailback.evaluation.aqm.guide import AQM
from tailback.evaluation.card import Card, card
from tailback.evaluation.choice import Length, ProfileName
from tailback.evaluation.congestion.guide import CONGESTION
from tailback.evaluation.guide import Guide
from tailback.evaluation.plan import plan
from tailback.evaluation.runner import Watch, run_cases
from tailback.evaluation.subject import Role, Subject
from tailback.run.pool import Pool

__all__ = ["evaluate", "guide_of", "write"]

_GUIDES = {guide.role.key: guide for guide in (AQM, CONGESTION)}


def guide_of(role: Role) -> Guide:
    """Return the guide by which subjects of a role are evaluated."""
    return _GUIDES[role.key]


def evaluate(
    subject: Subject,
    others: Sequence[Subject] = (),
    *,
    profile: ProfileName = "quick",
    length: Length | None = None,
    only: Collection[str] = (),
    seed: int = 1,
    threads: int | None = None,
    watch: Watch | None = None,
) -> Card:
    """Run all sections with a subject and those to compare it with, and return the card.

    Args:
        subject: Discipline or congestion control to evaluate.
        others: Those to compare with, of the same role.
        profile: Effort, "quick" or "full".
        length: Lengths of runs and numbers of replications. Default: those of the profile.
        only: Keys of sections to run, such as "8.2", with their subsections. Default: all.
        seed: Base seed; replication k of each case runs with `seed + k`, with every subject.
        threads: Maximum number of replications that run at the same time. Default: one per processor.
        watch: Progress callback.

    Raises:
        UsageError: A section is unknown, a subject is given twice, or a seed is out of range.
        RunError: A replication failed.

    """
    names = [one.name for one in (subject, *others)]
    repeated = next((name for name in names if names.count(name) > 1), None)
    if repeated is not None:
        raise UsageError(f"{repeated!r} is given twice; compare with other {subject.role.plural}")
    guide = guide_of(subject.role)
    effort = length or guide.lengths[profile]
    entries = plan(guide, subject, others, only, effort)
    cases = [case for entry in entries for case in entry.cases]
    with Pool(threads) as pool:
        runs = run_cases(cases, (subject, *others), effort, seed, pool, watch)
    return card(guide, entries, runs, profile)


def write(found: Card, out: Path) -> Path:
    """Write the page, the JSON and the figures of a card into a directory; return the path of the page.

    Raises:
        OutputError: A file cannot be written.
        UsageError: matplotlib is missing.

    """
    from tailback.evaluation.drawing import pictures
    from tailback.evaluation.page import page

    drawn = pictures(found)
    try:
        (out / "figures").mkdir(parents=True, exist_ok=True)
        for name, svg in drawn.items():
            (out / "figures" / f"{name}.svg").write_bytes(svg)
        text = json.dumps(found.as_json(), indent=1, allow_nan=False)
        (out / "card.json").write_text(f"{text}\n", encoding="utf-8")
        report = out / "card.html"
        report.write_text(page(found, drawn), encoding="utf-8")
    except OSError as error:
        raise OutputError(f"{error.filename or out} cannot be written: {error.strerror}") from None
    return report
