"""Warnings about a study: those of its scenarios, and those about settings or axes that change nothing."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from tailback.scenario.warnings import ScenarioWarning, accepted, gather, made, read

if TYPE_CHECKING:
    from tailback.study.document import Cell, Study
    from tailback.study.results import Run, Setting

__all__ = ["after", "before"]

_MAX_POINTS = 200
"""Maximum number of cells whose scenarios are checked for warnings: the first ones of the study."""

_NEUTRAL = frozenset({"run.engine", "run.confidence", "run.replications", "title", "description"})
"""Settings that never change results."""


def before(study: Study) -> list[ScenarioWarning]:
    """Return the warnings before any run: those of the scenarios, and about settings and axes that change nothing.

    Scenarios are checked in the first `_MAX_POINTS` cells, settings and axes in all cells.
    """
    cells = study.cells[:_MAX_POINTS]
    found = gather([cell.scenario.warnings for cell in cells], "points")
    if "no-effect" in accepted(study.base.run_config):
        return found
    for name in _idle(study.cells, lambda cell: cell.effect):
        found.append(_axis(study, name, "the network, the flows and the run are the same at all of them"))
    for path, value in study.document.get("set", {}).items():
        if study.without(path).amounts_to(study):
            found.append(
                made(
                    "no-effect",
                    f"`{path} = {value}` changes nothing at any point: network, flows and run are the same without it",
                    _overrides(study, path, value),
                )
            )
    return found


def after(study: Study, runs: Mapping[Setting, Sequence[Run]]) -> list[ScenarioWarning]:
    """Return the warnings about results: axes whose values gave the same runs at points that are otherwise equal.

    The list is empty if a point has no run, or if points have different numbers of runs.
    """
    if "no-effect" in accepted(study.base.run_config):
        return []
    known = set(_idle(study.cells, lambda cell: cell.effect))
    digests = {setting: tuple((run.seed, run.digest) for run in own) for setting, own in runs.items()}
    if not all(digests.values()) or len({len(own) for own in digests.values()}) > 1:
        return []
    return [
        _axis(study, name, "every run has the same digest at all of them", ran=True)
        for name in _idle(study.cells, lambda cell: digests[cell.setting])
        if name not in known and not set(study.paths_of(name)) <= _NEUTRAL
    ]


def _idle(cells: Sequence[Cell], key: Callable[[Cell], Hashable]) -> Iterator[str]:
    """Yield the names of axes along which `key` is constant, at all points that are otherwise equal."""
    names = dict.fromkeys(name for cell in cells for name, _ in cell.setting)
    for name in names:
        groups: dict[Hashable, list[Hashable]] = {}
        for cell in cells:
            others = tuple(pair for pair in cell.setting if pair[0] != name)
            groups.setdefault(others, []).append(key(cell))
        several = [group for group in groups.values() if len(group) > 1]
        if several and all(len(set(group)) == 1 for group in several):
            yield name


def _axis(study: Study, name: str, why: str, *, ran: bool = False) -> ScenarioWarning:
    values = list(dict.fromkeys(str(dict(cell.setting)[name]) for cell in study.cells))
    shown = ", ".join(values[:4]) + (", …" if len(values) > 4 else "")
    verb = "changed" if ran else "changes"
    paths = study.paths_of(name)
    advice = "vary it further, or leave it out" if ran or not paths else _overrides(study, paths[0], *values)
    return made("no-effect", f"`{name}` {verb} nothing at its values {shown}: {why}", advice)


def _overrides(study: Study, path: str, *values: object) -> str:
    """Return the core's advice about the settings that override this one, without the advice to accept the warning."""
    for value in values:
        # The core has no advice about the scenario's own value.
        for warning in read(study.base.native.without_effect([(path, str(value))])):
            return (warning.suggestion or "").partition("; to accept this")[0]
    return "vary another setting, or leave this one out"
