"""The report of a reproduction: the headlines, and a section with figures and claims for each experiment."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any, cast

from tailback.pages.document import Document, Picture, Section, place, wide
from tailback.plotting.experiment import Figure
from tailback.reproduction.prose import html
from tailback.reproduction.provenance import provenance
from tailback.reproduction.scoreboard import headlines, number
from tailback.study.experiment.claims import WORDS, Claim
from tailback.study.experiment.design import Experiment
from tailback.study.experiment.runner import Trial, verdicts, words

__all__ = ["Drawn", "Entry", "page"]

Json = Mapping[str, object]


@dataclass(frozen=True)
class Drawn:
    """A figure with its picture."""

    figure: Figure
    svg_with_text: str
    """The picture as SVG whose texts are texts, not outlines."""
    chart: Mapping[str, Any] | None
    """Data of the picture; `None`: it is no chart."""


@dataclass(frozen=True)
class Entry:
    """Content of the report for one experiment."""

    trial: Trial
    claims: Sequence[Claim]
    """Claims about the results of `trial`."""
    figures: Sequence[Figure]
    """Figures to be drawn, in the order of the section."""
    drawn: list[Drawn] = field(default_factory=list)
    """Figures of `figures` that have been drawn, in the same order."""


_SIGNS = {
    "reproduced": "✓",
    "not reproduced": "✗",
    "undecided": "?",
    "calibrated": "\N{EN DASH}",
    "comparison": "\N{EN DASH}",
}
"""Sign of a claim in the report, by its result, a value of `WORDS`."""
_POINT_SIGNS = {"pass": "✓", "fail": "✗", "undecided": "?", "not asserted": "\N{EN DASH}"}
"""Sign of a claim at one point, by the value of its `Verdict`."""


def page(entries: Sequence[Entry], version: str, groups: Mapping[str, str]) -> Document:
    """Return the page, with a section for each entry.

    `version` is that of Tailback. `groups` has the titles of the groups of experiments by name; a group without a title
    is shown by name.
    """
    trials = [entry.trial for entry in entries]
    profile = f"--{trials[0].profile}" if trials else ""
    seed = f", base seed <code>{trials[0].seed}</code>" if trials and trials[0].seed is not None else ""
    ids = {trial.experiment.folder: trial.experiment.id for trial in trials}
    head = f"""{_scoreboard(entries)}
<h2>Verdicts by experiment</h2>
<p>Version {escape(version)}, profile <code>{escape(profile)}</code>{seed}. Every interval is a 99 % interval over
replications, by Student's t, or by Fieller's method for ratios. A claim is <em>reproduced</em> when the whole interval
satisfies it, <em>not reproduced</em> when the whole interval violates it, and <em>undecided</em> otherwise.
<em>Calibrated</em>: a parameter was chosen to meet the claim, so that meeting it proves nothing about its source.
<em>Comparison</em>: a measured value without an expected one. For a claim over several points the deciding point is
shown first, usually the worst, and all points are listed.</p>
{_summary(entries, groups)}
{_counts(entries)}
<h2>Experiments</h2>"""
    sections = [_experiment(entry, ids, groups) for entry in entries]
    return Document("Tailback: reproduced figures and claims", head, sections, {word: _chip(word) for word in WORDS})


def _scoreboard(entries: Sequence[Entry]) -> str:
    """Return the table of the headlines, the best-known results of publications; empty if no claim is a headline."""
    rows = [
        f'<tr><td><a href="#{line.experiment}">{escape(line.experiment)}</a></td>'
        f"<td>{escape(str(line.claim['headline']))}</td>"
        f"<td>{_measured(cast(Json, line.claim['measured']))}{escape(_at(line.claim))}</td>"
        f"<td>{_chip(str(line.claim['verdict']))}</td></tr>"
        for line in headlines((entry.trial, entry.claims) for entry in entries)
    ]
    if not rows:
        return ""
    table = f"""<table class="scoreboard">
<thead><tr><th>experiment</th><th>source</th><th>measured here</th><th>verdict</th></tr></thead>
<tbody>{"".join(rows)}</tbody>
</table>"""
    return f"""<h2>Headlines</h2>
<p>The best-known results of each source, that is, publication, and the values measured here.</p>
{wide(table, "Headlines")}"""


def _summary(entries: Sequence[Entry], groups: Mapping[str, str]) -> str:
    """Return the table of the experiments with their numbers of claims by verdict, and the sums."""
    rows = []
    for entry in entries:
        experiment = entry.trial.experiment
        state = " (interrupted)" if entry.trial.interrupted else ""
        group = groups.get(experiment.group, experiment.group)
        rows.append(
            f'<tr><td><a href="#{experiment.id}">{escape(experiment.id)}</a></td>'
            f"<td>{escape(experiment.title)}{state}</td><td>{escape(group)}</td>"
            f"{_cells(words([entry.trial]))}</tr>"
        )
    total = _cells(words(entry.trial for entry in entries))
    head = "".join(f"<th>{word}</th>" for word in WORDS)
    table = f"""<table class="summary">
<thead><tr><th>experiment</th><th>title</th><th>group</th>{head}</tr></thead>
<tbody>{"".join(rows)}</tbody>
<tfoot><tr><td colspan="3">all</td>{total}</tr></tfoot>
</table>"""
    return wide(table, "Verdicts by experiment")


def _cells(counts: Mapping[str, int]) -> str:
    return "".join(f'<td class="n {_class(word) if n else "none"}">{n}</td>' for word, n in counts.items())


def _counts(entries: Sequence[Entry]) -> str:
    """Return a sentence with the numbers of claims that pass and fail.

    They decide the exit code, and show regressions. An unasserted or calibrated claim counts in neither, whatever its
    verdict in the report.
    """
    counts = verdicts(entry.trial for entry in entries)
    return (
        f"<p>Of the claims that are asserted, {counts['pass']} pass, {counts['fail']} fail and {counts['undecided']} "
        f"are undecided; {counts['reported']} further claims are shown but not asserted.</p>"
    )


def _class(word: str) -> str:
    """Return the CSS class of a verdict."""
    return word.replace(" ", "-")


def _chip(word: str) -> str:
    """Return a verdict with its sign."""
    return f'<span class="verdict {_class(word)}">{_SIGNS[word]} {word}</span>'


def _experiment(entry: Entry, ids: Mapping[str, str], groups: Mapping[str, str]) -> Section:
    """Return the section of an experiment; `ids` has the ids of all experiments of the page, by folder."""
    trial, experiment = entry.trial, entry.trial.experiment
    # Ids of the claims that are printed next to a figure.
    placed: set[str] = set()
    blocks = []
    claims = {claim.id: claim for claim in entry.claims}
    for drawn in entry.drawn:
        of_figure = [claims[claim] for claim in drawn.figure.claims]
        placed.update(claim.id for claim in of_figure)
        blocks.append(_figure(drawn, of_figure, trial))
    without_figure = [claim for claim in entry.claims if claim.id not in placed]
    if without_figure:
        blocks.append(f'<div class="claims alone">{_claims(without_figure, trial)}</div>')
    low, high = trial.replications
    effort = f"{len(trial.samples)} points, {low}" + (f" to {high}" if high > low else "") + " replications each"
    hops = f"{trial.packet_hops / 1e6:.0f} million packet-hops"
    imprecise = f"; precision target missed at {trial.imprecise} points" if trial.imprecise else ""
    content = f"""<p class="reference">{escape(experiment.reference)}. {effort}, {hops}{imprecise}.<br>
{_provenance(trial)}
{"<br><strong>Interrupted: only finished replications are shown.</strong>" if trial.interrupted else ""}</p>
{"".join(blocks)}
<div class="prose">{html(experiment.read("README.md"), ids)}</div>
<details><summary>All measured values</summary>{_values(trial)}</details>"""
    pictures = {_name(experiment, drawn): Picture(drawn.svg_with_text, drawn.chart) for drawn in entry.drawn}
    group = groups.get(experiment.group, experiment.group)
    return Section(experiment.id, experiment.title, group, content, pictures, words([trial]))


def _name(experiment: Experiment, drawn: Drawn) -> str:
    return f"{experiment.id}/{drawn.figure.name}"


_WIDE_COLUMNS = 3
"""Columns of a chart from which on its claims are below it instead of beside it."""
_LONG_CHARACTERS = 400
"""Length of a condition from which on only its beginning is shown at first."""


def _long(text: str) -> str:
    """Return a text; the rest of a long one is shown on demand."""
    if len(text) <= _LONG_CHARACTERS:
        return escape(text)
    end = text.rfind(" ", 0, _LONG_CHARACTERS // 2)
    return f"{escape(text[:end])} … <details><summary>the whole condition</summary>{escape(text)}</details>"


def _figure(drawn: Drawn, claims: Sequence[Claim], trial: Trial) -> str:
    figure = drawn.figure
    text = f"{escape(figure.caption)}<br>" if figure.caption else ""
    caption = f'<figcaption>{text}<span class="made">{_provenance(trial)}</span></figcaption>'
    beside = f'<div class="claims">{_claims(claims, trial)}</div>' if claims else ""
    # A chart with many columns needs the whole width; its claims are below.
    across = " across" if drawn.chart is not None and drawn.chart["columns"] >= _WIDE_COLUMNS else ""
    return f"""<div class="block{across}">
<figure><h3>{escape(figure.title)}</h3>{place(_name(trial.experiment, drawn), figure.title)}{caption}</figure>
{beside}</div>"""


def _provenance(trial: Trial) -> str:
    made = provenance(trial)
    where = f", commit <code>{made.commit}</code>" if made.commit else ""
    return (
        f"<code>{escape(made.command)}</code>, digest <code>{made.digest}</code>, version {escape(made.version)}{where}"
    )


def _claims(claims: Iterable[Claim], trial: Trial) -> str:
    return "".join(_claim(claim.as_json(trial.profile)) for claim in claims)


def _claim(claim: Json) -> str:
    word = str(claim["verdict"])
    notes = []
    if "packets" in claim:
        notes.append(f"{claim['packets']:,} {claim.get('counted', 'packets')} seen")
    notes += [str(claim[key]) for key in ("why",) if key in claim]
    notes.append(f"source: {claim['source']}")
    headline = escape(str(claim.get("headline", "")))
    quoted = f'<p class="headline">Headline of the source: {headline}</p>' if headline else ""
    return f"""<div class="claim {_class(word)}" data-verdict="{_class(word)}"><div>{_chip(word)}
<strong>{escape(str(claim["id"]))}</strong> {escape(str(claim["text"]))}</div>{quoted}
<dl>{_found(claim)}<dt>expected</dt><dd>{_long(str(claim["expected"]))}</dd></dl>{_points(claim)}
<p class="notes">{escape("; ".join(notes))}.</p></div>"""


def _found(claim: Json) -> str:
    """Return the interval at the deciding point; empty for a comparison over several points, which has none."""
    if claim["verdict"] == "comparison" and cast(int, claim["points"]) > 1:
        return ""
    return f"<dt>measured</dt><dd>{_measured(cast(Json, claim['measured']))}{escape(_at(claim))}</dd>"


def _points(claim: Json) -> str:
    """Return a table of the points of a claim, expanded only for a comparison; empty if there is one point."""
    checks = cast("Sequence[Json]", claim["checks"])
    if len(checks) < 2:
        return ""
    judged = claim["verdict"] != "comparison"
    rows = []
    for check in checks:
        why = f" {escape(str(check['why']))}" if judged and "why" in check else ""
        held = f"<td>{_POINT_SIGNS[str(check['verdict'])]}{why}</td>" if judged else ""
        seen = f", {check['packets']:,} {check.get('counted', 'packets')} seen" if "packets" in check else ""
        measured = _measured(cast(Json, check["measured"]))
        rows.append(f'<tr>{held}<td>{escape(str(check["at"]))}</td><td class="n">{measured}{seen}</td></tr>')
    state = "" if judged else " open"
    table = wide(f"<table>{''.join(rows)}</table>", "Points")
    return f"<details{state}><summary>all {len(checks)} points</summary>{table}</details>"


def _at(claim: Json) -> str:
    """Return the deciding point of a claim in words: the worst, or the best if one point is enough.

    Empty if all axes of the claim are fixed, so that it has one point.
    """
    if not claim["at"]:
        return ""
    points = cast(int, claim["points"])
    # `Condition.somewhere` adds "somewhere" before the expectation.
    best = str(claim["expected"]).startswith("somewhere")
    of = f", the {'best' if best else 'worst'} of {points} points" if points > 1 else ""
    return f" at {claim['at']}{of}"


def _measured(measured: Json) -> str:
    """Return the mean, the ends of the interval and the number of replications, from the JSON form of an interval."""
    unit = escape(str(measured["unit"]))
    ends = [number(cast("float | None", measured[end])) for end in ("lo", "hi")]
    mean = number(cast("float | None", measured["mean"]))
    return f"{mean} {unit} [{ends[0]}, {ends[1]}], n = {measured['n']}"


def _values(trial: Trial) -> str:
    """Return a table with a row for each point: the mean and the half width of each metric."""
    experiment, results = trial.experiment, trial.results
    quantities = [results[metric.name] for metric in experiment.metrics]
    head = "".join(f"<th>{escape(axis.title)}</th>" for axis in experiment.axes)
    head += "".join(f"<th>{escape(metric.title)}</th>" for metric in experiment.metrics) + "<th>n</th>"
    rows = []
    for row in zip(*(quantity.intervals() for quantity in quantities), strict=True):
        point = row[0][0]
        cells = "".join(f"<td>{escape(str(point.get(axis.name, '')))}</td>" for axis in experiment.axes)
        for _, interval in row:
            plain = interval.as_json("")
            half = number(interval.half_width) if plain["lo"] is not None else number(None)
            cells += f'<td class="n">{number(cast("float | None", plain["mean"]))} ± {half}</td>'
        rows.append(f"<tr>{cells}<td class='n'>{row[0][1].n}</td></tr>")
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"
    return wide(table, "All measured values")
