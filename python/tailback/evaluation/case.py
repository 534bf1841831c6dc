"""Cases: the scenarios of a section with their criteria; entries: the sections with their cases or a reason."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from tailback.evaluation.choice import Length
from tailback.evaluation.criteria import Better, Cloud, Criterion
from tailback.evaluation.subject import Subject
from tailback.results.report import Report
from tailback.scenario import Scenario, Value

__all__ = [
    "STATUSES",
    "Case",
    "Curve",
    "Entry",
    "Fact",
    "Ratio",
    "Status",
    "Trend",
    "missing",
    "not_applicable",
    "not_selected",
    "run",
]

Status = Literal["run", "not applicable", "missing", "not selected"]
"""Status of a section."""
STATUSES: tuple[Status, ...] = ("run", "not applicable", "missing", "not selected")


@dataclass(frozen=True, slots=True)
class Curve:
    """A quantity of each replication over an abscissa, such as time; the card has its mean over replications."""

    name: str
    """Name of the figure's file without a suffix."""
    title: str
    x: str
    """Label of the abscissa."""
    y: str
    points: Callable[[Report], Sequence[tuple[float, float]]]
    """Returns the points of a replication; the abscissae are the same in all replications."""
    caption: str
    highest: float = math.inf
    """Largest possible value, to which intervals are clipped; the smallest is 0."""


@dataclass(frozen=True, slots=True)
class Trend:
    """A figure of a criterion over the cases of a section, such as a ratio of goodputs over the round-trip time."""

    name: str
    """Name of the figure's file without a suffix."""
    title: str
    x: str
    """Label of the abscissa."""
    y: str
    criterion: str
    points: tuple[tuple[float, str], ...]
    """Abscissa and key of each case."""
    caption: str
    logarithmic: bool = False
    """`True` if the abscissa is logarithmic."""
    across: str = ""
    """Criterion of which the mean is the abscissa, instead of that of `points`; empty: none."""


@dataclass(frozen=True, slots=True)
class Case:
    """A scenario of a section, which is run with each subject."""

    key: str
    """Name that is unique in the evaluation, such as "8.2.2"."""
    title: str
    build: Callable[[Mapping[str, Value], Length], Scenario]
    """Returns the scenario with the table of a subject, such as a discipline at the bottleneck."""
    criteria: tuple[Criterion, ...]
    clouds: tuple[Cloud, ...] = ()
    """Classes of traffic of the delay-goodput graph; no graph if there is none."""
    variants: Mapping[str, Value] | None = None
    """Parameters that are changed in each subject that accepts them; `None`: the subjects as they are."""
    alone: bool = False
    """`True` if only the evaluated subject is run, as for its own parameters."""
    baseline: str = ""
    """Key of the case with which this one is compared, too; empty: none."""
    curves: tuple[Curve, ...] = ()
    absent: Mapping[str, str] = field(default_factory=dict)
    """Words in place of the values of subjects, by name, that are run and whose values mean nothing."""

    def at(self, subject: Subject, length: Length) -> Scenario:
        """Return the scenario with a subject."""
        chosen = subject
        if self.variants and subject.accepts(self.variants):
            chosen = subject.with_values(self.variants)
        # The scenario is made anew, since paths of files in the table are relative to its folder.
        return Scenario.from_document(self.build(chosen.table, length).document, chosen.folder)


@dataclass(frozen=True, slots=True)
class Fact:
    """A number that needs no run, such as the number of parameters, for each subject by name."""

    name: str
    label: str
    values: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Ratio:
    """Ratio of the means of a criterion in two cases, of which only the evaluated subject runs the second."""

    name: str
    label: str
    case: str
    """Key of the case of the numerator."""
    over: str
    """Key of the case of the denominator."""
    criterion: str
    better: Better


@dataclass(frozen=True, slots=True)
class Entry:
    """A section with its cases, or with the reason why it has no test."""

    section: str
    """Key of the section in the outline."""
    status: Status
    why: str = ""
    """Reason of a status other than "run"; in a section that is run, a note."""
    cases: tuple[Case, ...] = ()
    facts: tuple[Fact, ...] = ()
    trends: tuple[Trend, ...] = ()
    ratios: tuple[Ratio, ...] = ()


def run(
    section: str,
    *cases: Case,
    note: str = "",
    facts: tuple[Fact, ...] = (),
    trends: tuple[Trend, ...] = (),
    ratios: tuple[Ratio, ...] = (),
) -> Entry:
    """Return the entry of a section that is run."""
    return Entry(section, "run", note, cases, facts, trends, ratios)


def not_applicable(section: str, why: str) -> Entry:
    """Return the entry of a section without a test for this subject; `why` is the reason."""
    return Entry(section, "not applicable", why)


def missing(section: str, why: str) -> Entry:
    """Return the entry of a section that Tailback does not test; `why` is the reason."""
    return Entry(section, "missing", why)


def not_selected(section: str) -> Entry:
    """Return the entry of a section that is left out because only others were requested."""
    return Entry(section, "not selected", "only other sections were requested")
