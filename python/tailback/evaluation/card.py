"""Report card: a row for each section of the RFC, with metrics, intervals, and comparisons of paired differences."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Literal

from tailback import _native
from tailback.evaluation.case import Case, Curve, Entry, Status, Trend
from tailback.evaluation.choice import CONFIDENCE, ProfileName
from tailback.evaluation.criteria import Better, Limit
from tailback.evaluation.ellipse import Ellipse, ellipse
from tailback.evaluation.guide import Guide
from tailback.evaluation.outline import Section
from tailback.evaluation.runner import Runs
from tailback.results.intervals import Interval, mean_interval, paired_differences, ratio_interval

__all__ = [
    "OUTCOMES",
    "UNCHANGED",
    "WORDS",
    "Against",
    "Card",
    "Graph",
    "Outcome",
    "Plot",
    "Row",
    "Score",
    "Word",
    "card",
    "outcome",
    "verdict",
    "word",
]

Word = Literal["better", "worse", "undecided"]
"""Result of a comparison, of the evaluated subject with another one."""
WORDS: tuple[Word, ...] = ("better", "worse", "undecided")

Outcome = Literal["passes", "fails", "undecided"]
"""Result of the comparison of an interval with a limit."""
OUTCOMES: tuple[Outcome, ...] = ("passes", "fails", "undecided")


UNCHANGED = "unchanged"
"""Name, in comparisons, of the evaluated subject with its parameters as they are."""


def word(difference: Interval, better: Better) -> Word | None:
    """Return the result of a comparison from the interval of the differences, evaluated minus other subject.

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


def verdict(result: Word, names: Sequence[str]) -> str:
    """Return the text of equal results of comparisons, such as "better than pie, red": of the evaluated subject."""
    return f"{result} {'against' if result == 'undecided' else 'than'} {', '.join(names)}"


def outcome(interval: Interval, limit: Limit | None) -> Outcome | None:
    """Return the result of a requirement: decided only if the whole interval is on one side of the limit.

    `None`: there is no limit, or no replication has a value.
    """
    if limit is None or not interval.n:
        return None
    low, high = interval.lo <= limit.value, interval.hi <= limit.value
    if limit.side == "at least":
        low, high = interval.hi >= limit.value, interval.lo >= limit.value
    return "passes" if high else "undecided" if low else "fails"


@dataclass(frozen=True, slots=True)
class Against:
    """A criterion of another subject, and the paired differences."""

    interval: Interval
    difference: Interval
    """Evaluated subject minus this one, paired by seed."""
    word: Word | None

    def as_json(self) -> dict[str, object]:
        """Return the JSON form; null for ends that are unbounded."""
        return {**_ends(self.interval), "difference": _ends(self.difference), "word": self.word}


@dataclass(frozen=True, slots=True)
class Score:
    """A criterion of a case for the evaluated subject, with comparisons by the name of the other subject."""

    case: str
    name: str
    label: str
    unit: str
    better: Better
    interval: Interval
    against: Mapping[str, Against]
    limit: Limit | None = None
    absent: Mapping[str, str] = field(default_factory=dict)
    """Words in place of the values of subjects that have none, by name."""

    @property
    def verdicts(self) -> dict[Word, list[str]]:
        """Names of the other subjects by the result of the comparison with them."""
        named = {
            one: [name for name, other in self.against.items() if name != UNCHANGED and other.word == one]
            for one in WORDS
        }
        return {one: names for one, names in named.items() if names}

    @property
    def outcome(self) -> Outcome | None:
        """Result of the requirement; `None`: there is none."""
        return outcome(self.interval, self.limit)

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
            "absent": dict(self.absent),
            "limit": None if self.limit is None else asdict(self.limit),
            "outcome": self.outcome,
        }


@dataclass(frozen=True, slots=True)
class Row:
    """A section of the RFC with its result."""

    section: str
    """Key of the section in the outline."""
    number: str
    """Number within the document; empty for the row of a document."""
    title: str
    level: int
    """Depth of the section, 1 to 3; 0 for a document."""
    status: Status
    why: str
    """Reason of a status other than "run", or a note."""
    scores: tuple[Score, ...]
    cases: Mapping[str, str]
    """Titles of the cases by key, in order."""
    alone: frozenset[str]
    """Keys of the cases that only the evaluated subject runs."""

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
    """Delay-goodput graph of a case: ellipses by class of traffic, then by subject, the evaluated one first."""

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
class Plot:
    """Figure of means with their intervals over an abscissa, by subject, the evaluated one first."""

    section: str
    case: str
    """Key of the case of a curve; empty for a trend over cases."""
    name: str
    title: str
    x: str
    y: str
    caption: str
    logarithmic: bool
    lines: Mapping[str, Sequence[tuple[float, Interval]]]

    def as_json(self) -> dict[str, object]:
        """Return the JSON form."""
        return {
            "name": self.name,
            "section": self.section,
            "case": self.case,
            "title": self.title,
            "x": self.x,
            "y": self.y,
            "lines": {name: [{"x": x, **_ends(y)} for x, y in points] for name, points in self.lines.items()},
        }


@dataclass(frozen=True, slots=True)
class Card:
    """Report card of a discipline or a congestion control."""

    guide: Guide
    subject: str
    against: tuple[str, ...]
    profile: ProfileName
    seed: int
    rows: tuple[Row, ...]
    graphs: tuple[Graph, ...]
    plots: tuple[Plot, ...]
    refused: Mapping[str, str]
    """Reasons why a subject was not run in a case, by "case: subject"."""
    replications: tuple[int, int]
    """Smallest and largest number of replications of a case."""
    packet_hops: int
    cpu_s: float
    """Processor time of all replications, s."""
    digest: str
    """Hash of the digests of all replications."""
    interrupted: bool

    def words(self, other: str) -> dict[Word, int]:
        """Return the number of criteria by the result of the comparison with another subject."""
        found = [score.against[other].word for row in self.rows for score in row.scores if other in score.against]
        return {name: found.count(name) for name in WORDS}

    @property
    def outcomes(self) -> dict[Outcome, int]:
        """Number of requirements by their result."""
        found = [score.outcome for row in self.rows for score in row.scores]
        return {name: found.count(name) for name in OUTCOMES}

    def as_json(self) -> dict[str, object]:
        """Return the JSON form."""
        return {
            self.guide.role.key: self.subject,
            "against": list(self.against),
            "profile": self.profile,
            "seed": self.seed,
            "version": _native.version,
            "confidence": CONFIDENCE.value,
            "replications": list(self.replications),
            "packet_hops": self.packet_hops,
            "digest": self.digest,
            "interrupted": self.interrupted,
            "outcomes": self.outcomes,
            "words": {other: self.words(other) for other in self.against},
            "rows": [row.as_json() for row in self.rows],
            "refused": dict(self.refused),
            "choices": [{"name": one.name, "value": one.text, "source": one.source} for one in self.guide.choices],
            "figures": [*(graph.as_json() for graph in self.graphs), *(plot.as_json() for plot in self.plots)],
        }


def card(guide: Guide, entries: Sequence[Entry], runs: Runs, profile: ProfileName) -> Card:
    """Return the card of an evaluation from its entries and runs."""
    sections = {section.key: section for section in guide.outline}
    rows = tuple(_row(sections[entry.section], entry, runs) for entry in entries)
    counts = [len(samples) for samples in runs.samples.values()]
    return Card(
        guide,
        runs.subjects[0].name,
        tuple(subject.name for subject in runs.subjects[1:]),
        profile,
        runs.seed,
        rows,
        tuple(_graphs(entries, runs)),
        tuple(_plots(entries, rows, runs)),
        {f"{case}: {name}": reason for (case, name), reason in runs.refused.items()},
        (min(counts, default=0), max(counts, default=0)),
        runs.packet_hops,
        runs.cpu_s,
        _digest(runs),
        runs.interrupted,
    )


def _row(section: Section, entry: Entry, runs: Runs) -> Row:
    subject = runs.subjects[0].name
    status, why = entry.status, entry.why
    finished = [case for case in entry.cases if runs.samples.get((case.key, subject))]
    if entry.cases and not finished:
        reasons = [reason for case in entry.cases if (reason := runs.refused.get((case.key, subject)))]
        status, why = "missing", "; ".join(dict.fromkeys(reasons)) or "interrupted before it was run"
    scores = [score for case in finished for score in _scores(case, runs)]
    scores += [*_ratios(entry, runs), *_facts(entry, runs)]
    cases = {case.key: case.title for case in finished}
    alone = frozenset(case.key for case in finished if case.alone)
    return Row(section.key, section.number, section.title, section.level, status, why, tuple(scores), cases, alone)


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
                # An evaluated subject without a value is not compared.
                result = None if subject in case.absent else word(difference, criterion.better)
                against[other] = Against(interval, difference, result)
        interval = mean_interval(list(own.values()), CONFIDENCE.value).clipped(seen.lowest)
        yield Score(
            case.key,
            seen.name,
            seen.label,
            seen.unit,
            criterion.better,
            interval,
            against,
            criterion.limit,
            case.absent,
        )


def _ratios(entry: Entry, runs: Runs) -> Iterator[Score]:
    """Yield the ratios, with intervals by Fieller's theorem; the words are those of paired differences of the cases."""
    subject, *others = (one.name for one in runs.subjects)
    for one in entry.ratios:
        below = runs.values(one.over, subject, one.criterion)
        found = {
            name: ratio_interval(runs.values(one.case, name, one.criterion), below, CONFIDENCE.value)
            for name in (subject, *others)
        }
        own = found[subject]
        if own is None:
            continue
        numerator = runs.values(one.case, subject, one.criterion)
        against = {}
        for other in others:
            if (interval := found[other]) is not None:
                pairs = paired_differences(numerator, runs.values(one.case, other, one.criterion))
                difference = mean_interval(pairs, CONFIDENCE.value)
                against[other] = Against(interval, difference, word(difference, one.better))
        yield Score("", one.name, one.label, "", one.better, own, against)


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
                yield Graph(entry.section, case.key, case.title, found)


def _plots(entries: Sequence[Entry], rows: Sequence[Row], runs: Runs) -> Iterator[Plot]:
    for entry, row in zip(entries, rows, strict=True):
        for trend in entry.trends:
            lines = {one.name: points for one in runs.subjects if (points := _trend(trend, row, one.name, runs))}
            if lines:
                t = trend
                yield Plot(row.section, "", t.name, t.title, t.x, t.y, t.caption, t.logarithmic, lines)
        for case in entry.cases:
            for curve in case.curves:
                lines = {
                    one.name: points for one in runs.subjects if (points := _curve(curve, case.key, one.name, runs))
                }
                if lines:
                    c = curve
                    yield Plot(row.section, case.key, c.name, c.title, c.x, c.y, c.caption, False, lines)


def _trend(trend: Trend, row: Row, name: str, runs: Runs) -> list[tuple[float, Interval]]:
    points = []
    for x, key in trend.points:
        scores = {score.name: score for score in row.scores if score.case == key}
        found = _of(scores.get(trend.criterion), name, runs)
        at = _of(scores.get(trend.across), name, runs).mean if trend.across else x
        if found.n and math.isfinite(at):
            points.append((at, found))
    return points


def _of(score: Score | None, name: str, runs: Runs) -> Interval:
    """Return the interval of a subject in a score; without replications if there is none."""
    if score is not None and name == runs.subjects[0].name:
        return score.interval
    if score is not None and name in score.against:
        return score.against[name].interval
    return mean_interval([], CONFIDENCE.value)


def _curve(curve: Curve, case: str, name: str, runs: Runs) -> list[tuple[float, Interval]]:
    by_x: dict[float, list[float]] = {}
    for sample in runs.samples.get((case, name), {}).values():
        for x, y in sample.curves[curve.name]:
            if not math.isnan(y):
                by_x.setdefault(x, []).append(y)
    points = [(x, mean_interval(by_x[x], CONFIDENCE.value).clipped(0.0)) for x in sorted(by_x)]
    return [(x, replace(one, hi=min(one.hi, curve.highest))) for x, one in points]


def _digest(runs: Runs) -> str:
    """Return the first 128 bits of SHA-256 over the cases, subjects, seeds and digests, in hexadecimal."""
    found = hashlib.sha256()
    for (case, name), samples in runs.samples.items():
        for k in sorted(samples):
            found.update(f"{case} {name} {runs.seed + k} {samples[k].digest}\n".encode())
    return f"{_native.digest_version}c:{found.hexdigest()[:32]}"


def _ends(interval: Interval) -> dict[str, object]:
    ends = {"mean": interval.mean, "low": interval.lo, "high": interval.hi}
    finite: dict[str, object] = {name: value if math.isfinite(value) else None for name, value in ends.items()}
    return {**finite, "n": interval.n}
