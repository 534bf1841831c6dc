"""Cases: the scenarios of a section with their criteria; entries: the sections with their cases or a reason."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from tailback.evaluation.choices import Length
from tailback.evaluation.criteria import Cloud, Criterion
from tailback.evaluation.subject import Subject
from tailback.scenario import Scenario, Value

__all__ = ["STATUSES", "Case", "Entry", "Fact", "Status", "missing", "not_applicable", "run"]

Status = Literal["run", "not applicable", "missing"]
"""Status of a section."""
STATUSES: tuple[Status, ...] = ("run", "not applicable", "missing")


@dataclass(frozen=True, slots=True)
class Case:
    """A scenario of a section, which is run with each discipline."""

    key: str
    """Name that is unique in the evaluation, such as "8.2.2"."""
    title: str
    build: Callable[[Mapping[str, Value], Length], Scenario]
    """Returns the scenario with a discipline at the bottleneck."""
    criteria: tuple[Criterion, ...]
    clouds: tuple[Cloud, ...] = ()
    """Classes of traffic of the delay-goodput graph; no graph if there is none."""
    variants: Mapping[str, Value] | None = None
    """Parameters that are changed in each discipline that accepts them; `None`: the disciplines as they are."""
    alone: bool = False
    """`True` if only the evaluated discipline is run, as for its own parameters."""
    baseline: str = ""
    """Key of the case with which this one is compared, too; empty: none."""

    def at(self, subject: Subject, length: Length) -> Scenario:
        """Return the scenario with a discipline."""
        chosen = subject
        if self.variants and subject.accepts(self.variants):
            chosen = subject.with_values(self.variants)
        # The scenario is made anew, since paths of files in the discipline are relative to its folder.
        return Scenario.from_document(self.build(chosen.table, length).document, chosen.folder)


@dataclass(frozen=True, slots=True)
class Fact:
    """A number that needs no run, such as the number of parameters, for each discipline by name."""

    name: str
    label: str
    values: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Entry:
    """A section with its cases, or with the reason why it has no test."""

    number: str
    status: Status
    why: str = ""
    """Reason of a status other than "run"; in a section that is run, a note."""
    cases: tuple[Case, ...] = ()
    facts: tuple[Fact, ...] = ()


def run(number: str, *cases: Case, note: str = "", facts: tuple[Fact, ...] = ()) -> Entry:
    """Return the entry of a section that is run."""
    return Entry(number, "run", note, cases, facts)


def not_applicable(number: str, why: str) -> Entry:
    """Return the entry of a section without a test for this discipline; `why` is the reason."""
    return Entry(number, "not applicable", why)


def missing(number: str, why: str) -> Entry:
    """Return the entry of a section that Tailback does not test; `why` is the reason."""
    return Entry(number, "missing", why)
