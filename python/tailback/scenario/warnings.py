"""Warnings about valid scenarios: each with its place and advice."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import cast

__all__ = ["ScenarioWarning", "accepted", "gather", "made", "read"]


@dataclass(frozen=True, slots=True)
class ScenarioWarning:
    """A setting that makes little sense, or that a run did not honour."""

    name: str
    """Name of the warning, such as `overload`; `run.accept` with this name silences it."""
    message: str
    """One sentence with the numbers."""
    path: str = ""
    """Path in the document, such as `links[0].rate`; empty for the whole."""
    line: int | None = None
    """Line in the file, from 1; `None`: it has no place in a file."""
    column: int | None = None
    """Column in the line, from 1."""
    suggestion: str | None = None
    """Advice: a change, or the way to accept the warning."""
    rendered: str = ""
    """The whole as text: place, source line, caret and advice."""

    def as_json(self) -> dict[str, object]:
        """Return plain values, as manifests and `--json` have them."""
        return {
            "name": self.name,
            "message": self.message,
            "path": self.path,
            "line": self.line,
            "column": self.column,
            "suggestion": self.suggestion,
        }


def read(found: Iterable[Mapping[str, str | int | None]]) -> tuple[ScenarioWarning, ...]:
    """Take warnings from the core."""
    return tuple(ScenarioWarning(**dict(table)) for table in found)  # type: ignore[arg-type]


def made(name: str, message: str, advice: str) -> ScenarioWarning:
    """Return a warning without a place in the file."""
    suggestion = f'{advice}; if it is meant, write accept = ["{name}"] under [run]'
    return ScenarioWarning(
        name, message, suggestion=suggestion, rendered=f"warning: {message}\n  = help: {suggestion}\n"
    )


def gather(found: Sequence[Sequence[ScenarioWarning]], what: str) -> list[ScenarioWarning]:
    """Return the warnings of several scenarios, one for each name and place: the first, and their number."""
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
