"""Warnings about valid but suspicious scenarios and results, with places and advice."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import cast

__all__ = ["ScenarioWarning", "accepted", "gather", "made", "read"]


@dataclass(frozen=True, slots=True)
class ScenarioWarning:
    """A warning about a suspicious setting or result."""

    name: str
    """Name of the warning, such as `overload`; `run.accept` with this name silences it."""
    message: str
    """The warning in one sentence, with its numbers."""
    path: str = ""
    """Path in the document, such as `links[0].rate`; empty: the whole document, or a result."""
    line: int | None = None
    """Line in the file, from 1; `None`: the warning has no place in a file."""
    column: int | None = None
    """Column in the line, from 1; `None`: the warning has no place in a file."""
    suggestion: str | None = None
    """Advice, such as a change and how to accept the warning; `None`: there is no advice."""
    rendered: str = ""
    """Full text: message, place, source line with a caret, and advice."""

    def as_json(self) -> dict[str, object]:
        """Return the JSON form, as in manifests and `--json`."""
        return {
            "name": self.name,
            "message": self.message,
            "path": self.path,
            "line": self.line,
            "column": self.column,
            "suggestion": self.suggestion,
        }


def read(found: Iterable[Mapping[str, str | int | None]]) -> tuple[ScenarioWarning, ...]:
    """Return the warnings that the core returned as tables."""
    return tuple(ScenarioWarning(**dict(table)) for table in found)  # type: ignore[arg-type]


def made(name: str, message: str, advice: str) -> ScenarioWarning:
    """Return a warning without a place in a file; its suggestion is `advice` and how to accept the warning."""
    suggestion = f'{advice}; to accept this, write accept = ["{name}"] under [run]'
    return ScenarioWarning(
        name, message, suggestion=suggestion, rendered=f"warning: {message}\n  = help: {suggestion}\n"
    )


def gather(found: Sequence[Sequence[ScenarioWarning]], what: str) -> list[ScenarioWarning]:
    """Return the warnings of several scenarios, one for each name and path, with the number of scenarios that have it.

    `what` names the scenarios in the message, such as "points".
    """
    places: dict[tuple[str, str], list[ScenarioWarning]] = {}
    for own in found:
        for warning in {(warning.name, warning.path): warning for warning in own}.values():
            places.setdefault((warning.name, warning.path), []).append(warning)
    gathered = []
    for first, *more in places.values():
        if more or len(found) > 1:
            count = f"{first.message} (at {1 + len(more)} of {len(found)} {what})"
            first = replace(first, message=count, rendered=first.rendered.replace(first.message, count, 1))
        gathered.append(first)
    return gathered


def accepted(run_config: Mapping[str, object]) -> frozenset[str]:
    """Return the names of warnings that a scenario's `[run]` accepts."""
    return frozenset(cast("Sequence[str]", run_config.get("accept", ())))
