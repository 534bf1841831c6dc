"""Guides of evaluations: the documents whose sections are the rows of a card, and what follows from them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from tailback.evaluation.case import Entry
from tailback.evaluation.choice import Choice, Length, ProfileName
from tailback.evaluation.outline import Section
from tailback.evaluation.subject import Role, Subject

__all__ = ["Guide"]


@dataclass(frozen=True, slots=True)
class Guide:
    """Documents that say how to evaluate subjects of a role, and the scenarios that follow them."""

    role: Role
    name: str
    """Name in titles, such as "RFC 7928"."""
    references: tuple[str, ...]
    checked: str
    """Statement of how the outline and the numbers were compared with the documents."""
    outline: tuple[Section, ...]
    entries: Callable[[Subject, Sequence[Subject], Length], Iterable[Entry]]
    """Returns the entries that are not derived from those below: for a subject, those to compare with, an effort."""
    choices: tuple[Choice[object], ...]
    defaults: tuple[str, ...]
    """Names of the subjects to compare with, unless others are given."""
    overview: tuple[str, ...]
    """Names of the figures of the overview."""
    lengths: Mapping[ProfileName, Length]
    """Effort of each profile."""
