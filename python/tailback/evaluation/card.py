"""Report card: a row for each section of the RFC, with metrics, intervals, and comparisons of paired differences."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from tailback import _native
from tailback.evaluation.case import Case, Entry, Status
from tailback.evaluation.choices import CHOICES, CONFIDENCE, ProfileName
from tailback.evaluation.criteria import Better
from tailback.evaluation.ellipse import Ellipse, ellipse
from tailback.evaluation.outline import OUTLINE
from tailback.evaluation.runner import Runs
from tailback.results.intervals import Interval, mean_interval, paired_differences

__all__ = ["UNCHANGED", "WORDS", "Against", "Card", "Graph", "Row", "Score", "Word", "card", "word"]

Word = Literal["better", "worse", "undecided"]
"""Result of a comparison, of the evaluated discipline with another one."""
WORDS: tuple[Word, ...] = ("better", "worse", "undecided")


UNCHANGED = "unchanged"
"""Name, in comparisons, of the evaluated discipline with its parameters as they are."""


def word(difference: Interval, better: Better) -> Word | None:
    """Return the result of a comparison from the interval of the differences, evaluated minus other discipline.

    "undecided": the interval contains zero, or is unbounded because there are fewer than two pairs. `None`: the
    criterion has no better direction.
    """
    if better is None:
        return None
    if difference.lo > 0:
        return "better" if better == "higher" else "worse"
    if difference.hi < 0:
        return "better" if better == "lower" else "worse"
    return "undecided"


@dataclass(frozen=True, slots=True)
class Against:
    """A criterion of another discipline, and the paired differences."""

    interval: Interval
    difference: Interval
    """Evaluated discipline minus this one, paired by seed."""
    word: Word | None

    def as_json(self) -> dict[str, object]:
        """Return the JSON form; null for ends that are unbounded."""
        return {**_ends(self.interval), "difference": _ends(self.difference), "word": self.word}


@dataclass(frozen=True, slots=True)
class Score:
    """A criterion of a case for the evaluated discipline, with comparisons by the name of the other discipline."""

    case: str
    name: str
    label: str
    unit: str
    better: Better
    interval: Interval
    against: Mapping[str, Against]

    def as_json(self) -> dict[str, object]:
        """Return the JSON form."""
        return {
            "case": self.case,
            "name": self.name,
            "label": self.label,
            "unit": self.unit,
            "better": self.better,
            **_ends(self.interval),
            "against": {name: other.as_json() for name, other in self.against.items()},
        }


@dataclass(frozen=True, slots=True)
class Row:
    """A section of the RFC with its result."""

    section: str
    title: str
    level: int
    """Depth of the section, 1 to 3."""
    status: Status
    why: str
    """Reason of a status other than "run", or a note."""
    scores: tuple[Score, ...]
    cases: Mapping[str, str]
    """Titles of the cases by key, in order."""
    alone: frozenset[str]
    """Keys of the cases that only the evaluated discipline runs."""

    def as_json(self) -> dict[str, object]:
        """Return the JSON form."""
        return {
            "section": self.section,
            "title": self.title,
            "status": self.status,
            "why": self.why,
            "cases": [{"case": key, "title": title} for key, title in self.cases.items()],
            "metrics": [score.as_json() for score in self.scores],
        }


@dataclass(frozen=True, slots=True)
class Graph:
    """Delay-goodput graph of a case: ellipses by class of traffic, then by discipline, the evaluated one first."""

    section: str
    case: str
    title: str
    ellipses: Mapping[str, Mapping[str, Ellipse]]

    @property
    def name(self) -> str:
        """Name of its file without a suffix."""
        return "delay-goodput-" + "".join(c if c.isalnum() or c == "." else "-" for c in self.case.lower())

    def as_json(self) -> dict[str, object]:
        """Return the JSON form; x is the queueing delay in ms, y the goodput in Mbit/s."""
        return {
            "name": self.name,
            "section": self.section,
            "case": self.case,
            "title": self.title,
            "x": "queueing delay (ms)",
            "y": "goodput (Mbit/s)",
            "classes": {
                group: {name: found.as_json() for name, found in by_name.items()}
                for group, by_name in self.ellipses.items()
            },
        }


@dataclass(frozen=True, slots=True)
class Card:
    """Report card of a discipline."""

    discipline: str
    against: tuple[str, ...]
    profile: ProfileName
    seed: int
    rows: tuple[Row, ...]
    graphs: tuple[Graph, ...]
    refused: Mapping[str, str]
    """Reasons why a discipline was not run in a case, by "case: discipline"."""
    replications: tuple[int, int]
    """Smallest and largest number of replications of a case."""
    packet_hops: int
    cpu_s: float
    """Processor time of all replications, s."""
    digest: str
    """Hash of the digests of all replications."""
    interrupted: bool

    def words(self, other: str) -> dict[Word, int]:
        """Return the number of criteria by the result of the comparison with another discipline."""
        found = [score.against[other].word for row in self.rows for score in row.scores if other in score.against]
        return {name: found.count(name) for name in WORDS}

    def as_json(self) -> dict[str, object]:
        """Return the JSON form."""
        return {
            "discipline": self.discipline,
            "against": list(self.against),
            "profile": self.profile,
            "seed": self.seed,
            "version": _native.version,
            "confidence": CONFIDENCE.value,
            "replications": list(self.replications),
            "packet_hops": self.packet_hops,
            "digest": self.digest,
            "interrupted": self.interrupted,
            "words": {other: self.words(other) for other in self.against},
            "rows": [row.as_json() for row in self.rows],
            "refused": dict(self.refused),
            "choices": [{"name": one.name, "value": one.text, "source": one.source} for one in CHOICES],
            "figures": [graph.as_json() for graph in self.graphs],
        }


def card(entries: Sequence[Entry], runs: Runs, profile: ProfileName) -> Card:
    """Return the card of an evaluation from its entries and runs."""
    titles = {section.number: section for section in OUTLINE}
    rows = tuple(_row(titles[e.number].title, titles[e.number].level, e, runs) for e in entries)
    counts = [len(samples) for samples in runs.samples.values()]
    return Card(
        runs.subjects[0].name,
        tuple(subject.name for subject in runs.subjects[1:]),
        profile,
        runs.seed,
        rows,
        tuple(_graphs(entries, runs)),
        {f"{case}: {name}": reason for (case, name), reason in runs.refused.items()},
        (min(counts, default=0), max(counts, default=0)),
        runs.packet_hops,
        runs.cpu_s,
        _digest(runs),
        runs.interrupted,
    )


def _row(title: str, level: int, entry: Entry, runs: Runs) -> Row:
    subject = runs.subjects[0].name
    status, why = entry.status, entry.why
    finished = [case for case in entry.cases if runs.samples.get((case.key, subject))]
    if entry.cases and not finished:
        reasons = [reason for case in entry.cases if (reason := runs.refused.get((case.key, subject)))]
        status, why = "missing", "; ".join(dict.fromkeys(reasons)) or "interrupted before it was run"
    scores = [score for case in finished for score in _scores(case, runs)] + list(_facts(entry, runs))
    cases = {case.key: case.title for case in finished}
    alone = frozenset(case.key for case in finished if case.alone)
    return Row(entry.number, title, level, status, why, tuple(scores), cases, alone)


def _scores(case: Case, runs: Runs) -> Iterator[Score]:
    subject, *others = (one.name for one in runs.subjects)
    for criterion in case.criteria:
        seen = criterion.observable
        own = runs.values(case.key, subject, seen.name)
        compared = {other: runs.values(case.key, other, seen.name) for other in others}
        if case.baseline:
            compared[UNCHANGED] = runs.values(case.baseline, subject, seen.name)
        against = {}
        for other, values in compared.items():
            if values:
                difference = mean_interval(paired_differences(own, values), CONFIDENCE.value)
                interval = mean_interval(list(values.values()), CONFIDENCE.value).clipped(seen.lowest)
                against[other] = Against(interval, difference, word(difference, criterion.better))
        interval = mean_interval(list(own.values()), CONFIDENCE.value).clipped(seen.lowest)
        yield Score(case.key, seen.name, seen.label, seen.unit, criterion.better, interval, against)


def _facts(entry: Entry, runs: Runs) -> Iterator[Score]:
    """Yield the scores of numbers that are exact: their intervals have width 0."""
    subject, *others = (one.name for one in runs.subjects)
    for fact in entry.facts:
        own = fact.values[subject]
        against = {name: Against(_exact(fact.values[name]), _exact(own - fact.values[name]), None) for name in others}
        yield Score("", fact.name, fact.label, "", None, _exact(own), against)


def _exact(value: float) -> Interval:
    return Interval(value, value, value, 1)


def _graphs(entries: Sequence[Entry], runs: Runs) -> Iterator[Graph]:
    for entry in entries:
        for case in entry.cases:
            found: dict[str, dict[str, Ellipse]] = {}
            for cloud in case.clouds:
                for subject in runs.subjects:
                    samples = runs.samples.get((case.key, subject.name), {})
                    points = [point for k in sorted(samples) for point in samples[k].clouds[cloud.title]]
                    if (summary := ellipse(points)) is not None:
                        found.setdefault(cloud.title, {})[subject.name] = summary
            if found:
                yield Graph(entry.number, case.key, case.title, found)


def _digest(runs: Runs) -> str:
    """Return the first 128 bits of SHA-256 over the cases, disciplines, seeds and digests, in hexadecimal."""
    found = hashlib.sha256()
    for (case, name), samples in runs.samples.items():
        for k in sorted(samples):
            found.update(f"{case} {name} {runs.seed + k} {samples[k].digest}\n".encode())
    return f"{_native.digest_version}c:{found.hexdigest()[:32]}"


def _ends(interval: Interval) -> dict[str, object]:
    ends = {"mean": interval.mean, "low": interval.lo, "high": interval.hi}
    finite: dict[str, object] = {name: value if math.isfinite(value) else None for name, value in ends.items()}
    return {**finite, "n": interval.n}
