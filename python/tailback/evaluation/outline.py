"""Outline of a guide: its sections, each of which is a row of the card."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["Section", "children", "is_within"]


@dataclass(frozen=True, slots=True)
class Section:
    """A section of a guide, or one of its documents if it has several."""

    key: str
    """Number, such as "8.2.2"; in a guide of several documents "rfc9743/5.1", or "rfc9743" for the document itself."""
    title: str
    number: str
    """Number within the document; empty for a document."""

    @property
    def level(self) -> int:
        """Depth: 0 for a document, 1 for section 8, 3 for section 8.2.2."""
        return self.number.count(".") + 1 if self.number else 0


def is_within(key: str, outer: str) -> bool:
    """Return `True` if a section is `outer`, or below it."""
    return key == outer or key.startswith((f"{outer}.", f"{outer}/"))


def children(outline: Sequence[Section], key: str) -> list[Section]:
    """Return the sections directly below a section or document, in order."""
    level = next(one.level for one in outline if one.key == key)
    return [one for one in outline if one.level == level + 1 and one.key != key and is_within(one.key, key)]
