"""Page of a card: self-contained HTML."""

from __future__ import annotations

import re
from collections.abc import Mapping
from html import escape

from tailback import _native
from tailback.evaluation.card import OUTCOMES, UNCHANGED, WORDS, Against, Card, Graph, Plot, Row, Score, verdict
from tailback.evaluation.choice import CONFIDENCE
from tailback.evaluation.criteria import Limit
from tailback.plotting.plot import image
from tailback.results.formatting import digits
from tailback.results.intervals import Interval

__all__ = ["demand", "heading", "page", "sentence", "shown", "value_of"]

_MOST_DIGITS = 9


def page(found: Card, drawn: Mapping[str, bytes]) -> str:
    """Return the page of a card; `drawn` has its figures as SVG, by name."""
    name = escape(found.subject)
    role = found.guide.role
    title = f"Report card of {name} by {escape(found.guide.name)}"
    low, high = found.replications
    each = f"{low}" if low == high else f"{low} to {high}"
    state = "<p><strong>Interrupted: only finished replications are shown.</strong></p>" if found.interrupted else ""
    percent = f"{CONFIDENCE.value:.0%}".replace("%", " %")
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>{_CSS}</style>
</head>
<body>
<h1>{title}</h1>
<p class="reference">{"<br>".join(f"{escape(reference)}." for reference in found.guide.references)}</p>
<p class="reference">{escape(found.guide.checked)}</p>
{state}
<p>Tailback {escape(_native.version)}, <code>--{found.profile}</code>, base seed {found.seed}; {each} replications of
each scenario, {digits(found.packet_hops / 1e6, 4)} million packet-hops in {digits(found.cpu_s, 3)} processor seconds;
digest <code>{escape(found.digest)}</code>.</p>
<p>Each number is a mean over replications with its {percent} interval (Student's t). The words compare {name} with
another {role.title} in the same scenario with the same seeds, and stand in the column of {name}: <em>better</em> or
<em>worse</em> if the whole interval of the paired differences is on that side of zero, else <em>undecided</em>. A
criterion without a better direction has no word. Each comparison has its own {percent} interval, so among 100
comparisons of equal {role.plural} about five would be called better or worse. Arrows show the better direction.</p>
{_judged(found)}
{_summary(found)}
<h2>Sections</h2>
{_sections(found)}
{"".join(_row(row, found, drawn) for row in found.rows if row.scores)}
<h2>Choices</h2>
{_choices(found)}
{_refused(found)}
</body>
</html>
"""


def shown(interval: Interval) -> str:
    """Return a mean with its interval, as "12.3 [11.9, 12.7]"; a number that is exact has no interval.

    A narrow interval has as many digits as distinguish its ends from the mean. An interval without width has words
    instead: all replications have the same value.
    """
    if not interval.n:
        return "no value"
    if interval.n < 2:
        return digits(interval.mean, 4)
    if interval.lo == interval.hi:
        return f"{digits(interval.mean, 4)} (same in all replications)".replace("-", "\N{MINUS SIGN}")
    for count in range(4, _MOST_DIGITS + 1):
        mean, low, high = (digits(value, count) for value in (interval.mean, interval.lo, interval.hi))
        if len({mean, low, high}) == 3:
            break
    return f"{mean} [{low}, {high}]".replace("-", "\N{MINUS SIGN}")


def value_of(score: Score, name: str, interval: Interval) -> str:
    """Return the value of a subject in a score, or the words that stand in its place."""
    return score.absent.get(name) or shown(interval)


def sentence(text: str) -> str:
    """Return a note as a sentence: with a capital and a full stop."""
    return f"{text[:1].upper()}{text[1:]}." if text else ""


def demand(limit: Limit) -> str:
    """Return a limit as text, such as "at most 5"."""
    return f"{limit.side} {digits(limit.value, 4)}"


def heading(row: Row, found: Card) -> str:
    """Return the number and title of a section, after the name of its document if the guide has several."""
    document, slash, _ = row.section.partition("/")
    names = [one.title for one in found.rows if slash and one.section == document]
    return " ".join(filter(None, (*names, row.number, row.title)))


def _judged(found: Card) -> str:
    if not any(found.outcomes.values()):
        return ""
    return f"""<p>Some criteria have a limit, from the documents or chosen here, which the first table shows. A
criterion <em>passes</em> or <em>fails</em> if the whole interval of {escape(found.subject)} is on that side of the
limit, else it is <em>undecided</em>. RFC 9743 is a list of what to weigh, without pass or fail; by its text, Reno and
CUBIC do not avoid full buffers either.</p>"""


def _html(text: str) -> str:
    """Return a note as HTML; text in backticks is code."""
    return re.sub(r"`([^`]*)`", r"<code>\1</code>", escape(text))


def _summary(found: Card) -> str:
    if not found.against and not any(found.outcomes.values()):
        return ""
    head = "".join(f"<th>{word}</th>" for word in WORDS)
    name = escape(found.subject)
    rows = "".join(
        f"<tr><td>{name} against {escape(other)}</td>"
        + "".join(f'<td class="n {word}">{count}</td>' for word, count in found.words(other).items())
        + "</tr>"
        for other in found.against
    )
    table = (
        f"<table><thead><tr><th>number of criteria</th>{head}</tr></thead><tbody>{rows}</tbody></table>"
        if found.against
        else ""
    )
    return f"<h2>Summary</h2>{_limits(found)}{table}"


def _limits(found: Card) -> str:
    """Return the table of the criteria with a limit."""
    judged = [(row, score) for row in found.rows for score in row.scores if score.outcome is not None]
    if not judged:
        return ""
    counts = ", ".join(f"{found.outcomes[name]} {name}" for name in OUTCOMES)
    rows = "".join(
        f'<tr><td><a href="#s{row.section}">{escape(row.number)}</a></td>'
        f"<td>{escape(row.cases.get(score.case, ''))}</td>"
        f'<td>{escape(_label(score))}</td><td class="n">{shown(score.interval)}</td>'
        f"<td>{demand(score.limit)}</td><td>{escape(score.limit.source)}</td>"
        f'<td><span class="chip {score.outcome}">{score.outcome}</span></td></tr>'
        for row, score in judged
        if score.limit is not None
    )
    return f"""<p>Limits: {counts}.</p><div class="wide"><table><thead><tr><th></th><th>scenario</th><th>criterion</th>
<th>{escape(found.subject)}</th><th>limit</th><th>section, or reason</th><th></th></tr></thead>
<tbody>{rows}</tbody></table></div>"""


def _sections(found: Card) -> str:
    rows = []
    for row in found.rows:
        number = f'<a href="#s{row.section}">{row.number}</a>' if row.scores else row.number
        counts = [_counts(row, other) for other in found.against]
        judged = [f'<span class="chip {o}">{_MARKS[o]}&hairsp;{n}</span>' for o in OUTCOMES if (n := _outcomes(row, o))]
        limits = f"<td>{' '.join(judged)}</td>" if any(found.outcomes.values()) else ""
        rows.append(
            f'<tr class="level{row.level}"><td>{number}</td><td>{escape(row.title)}</td>'
            f'<td><span class="chip {row.status.replace(" ", "-")}">{row.status}</span></td>'
            f"<td>{_html(row.why)}</td>{limits}{''.join(f'<td>{count}</td>' for count in counts)}</tr>"
        )
    head = "".join(f"<th>against {escape(other)}</th>" for other in found.against)
    limits = "<th>limits</th>" if any(found.outcomes.values()) else ""
    return f"""<p>The last columns have the numbers of criteria by which {escape(found.subject)} is better (+), worse
(\N{MINUS SIGN}) or undecided (?).</p>
<div class="wide"><table class="sections">
<thead><tr><th></th><th>section</th><th>status</th><th>reason or note</th>{limits}{head}</tr></thead>
<tbody>{"".join(rows)}</tbody></table></div>"""


_MARKS = {"passes": "✓", "fails": "✗", "undecided": "?"}


def _outcomes(row: Row, name: str) -> int:
    return sum(score.outcome == name for score in row.scores)


def _counts(row: Row, other: str) -> str:
    words = [score.against[other].word for score in row.scores if other in score.against]
    signs = {"better": "+", "worse": "\N{MINUS SIGN}", "undecided": "?"}
    return " ".join(
        f'<span class="chip {word}">{signs[word]}&hairsp;{count}</span>'
        for word in WORDS
        if (count := words.count(word))
    )


def _row(row: Row, found: Card, drawn: Mapping[str, bytes]) -> str:
    blocks = []
    keys = [*(key for key in row.cases if key not in row.alone), ""]
    for key in keys:
        scores = [score for score in row.scores if score.case == key]
        if not scores:
            continue
        graph = next((graph for graph in found.graphs if graph.case == key), None)
        head = f"<h3>{escape(row.cases[key])}</h3>" if key else ""
        figures = _figure(graph, drawn, found) if graph else ""
        figures += "".join(_plot(one, drawn) for one in found.plots if one.section == row.section and one.case == key)
        blocks.append(f"{head}{_table(scores, found)}{figures}")
    if row.alone:
        blocks.append(_changed(row))
    blocks += [_plot(one, drawn) for one in found.plots if one.section == row.section and not one.case]
    why = f"<p>{_html(sentence(row.why))}</p>" if row.why else ""
    return f'<section id="s{row.section}"><h2>{escape(heading(row, found))}</h2>{why}{"".join(blocks)}</section>'


def _label(score: Score) -> str:
    return f"{score.label} ({score.unit})" if score.unit else score.label


def _table(scores: list[Score], found: Card) -> str:
    others = [other for other in found.against if any(other in {**score.against, **score.absent} for score in scores)]
    head = "".join(f"<th>{escape(other)}</th>" for other in others)
    body = ""
    for score in scores:
        arrow = {"lower": " ↓", "higher": " ↑", None: ""}[score.better]
        own = value_of(score, found.subject, score.interval)
        if score.limit is not None and score.outcome:
            chip = f'<span class="chip {score.outcome}">{score.outcome}</span>'
            own += f' {chip}<br><span class="limit">{demand(score.limit)}</span>'
        for result, names in score.verdicts.items():
            own += f'<br><span class="chip {result}">{escape(verdict(result, names))}</span>'
        cells = "".join(_cell(score, other) for other in others)
        body += f'<tr><td>{escape(_label(score))}{arrow}</td><td class="n own">{own}</td>{cells}</tr>'
    return f"""<div class="wide"><table>
<thead><tr><th>criterion</th><th>{escape(found.subject)}</th>{head}</tr></thead>
<tbody>{body}</tbody></table></div>"""


def _changed(row: Row) -> str:
    """Return the table of the cases that only the evaluated subject runs: a line for each change of a parameter."""
    by_case = {key: [score for score in row.scores if score.case == key] for key in row.cases if key in row.alone}
    first = next(iter(by_case.values()))
    head = "".join(
        f"<th>{escape(score.label)}{f' ({escape(score.unit)})' if score.unit else ''}</th>" for score in first
    )
    body = ""
    for key, scores in by_case.items():
        cells = ""
        for score in scores:
            against = score.against.get(UNCHANGED)
            chip = f' <span class="chip {against.word}">{against.word}</span>' if against and against.word else ""
            cells += f'<td class="n">{shown(score.interval)}{chip}</td>'
        body += f"<tr><td>{escape(row.cases[key])}</td>{cells}</tr>"
    return f"""<h3>Parameters</h3><p>The words compare a changed parameter with the parameters as they are.</p>
<div class="wide"><table><thead><tr><th></th>{head}</tr></thead><tbody>{body}</tbody></table></div>"""


def _cell(score: Score, other: str) -> str:
    """Return the cell of another subject; its tooltip has the difference, whose word is in the evaluated one's cell."""
    against: Against | None = score.against.get(other)
    if against is None:
        return f"<td>{score.absent.get(other, 'not run')}</td>"
    title = f"difference {shown(against.difference)}"
    return f'<td class="n" title="{escape(title)}">{shown(against.interval)}</td>'


def _plot(found: Plot, drawn: Mapping[str, bytes]) -> str:
    if found.name not in drawn:
        return ""
    return f"""<figure><img alt="{escape(found.title)}" src="{image(drawn[found.name])}">
<figcaption>{escape(found.caption)}</figcaption></figure>"""


def _figure(graph: Graph, drawn: Mapping[str, bytes], found: Card) -> str:
    if graph.name not in drawn:
        return ""
    title = f"Queueing delay against goodput: {escape(graph.title)}"
    return f"""<figure><img alt="{title}" src="{image(drawn[graph.name])}">
<figcaption>Queueing delay against goodput: for each {found.guide.role.title} the median (marker) and the ellipse of one
standard deviation of the points of all replications, one for each second. The upper left is better.</figcaption>
</figure>"""


def _choices(found: Card) -> str:
    rows = "".join(
        f"<tr><td>{escape(one.name)}</td><td>{escape(one.text)}</td><td>{escape(one.source)}</td></tr>"
        for one in found.guide.choices
    )
    return f"""<div class="wide"><table>
<thead><tr><th>choice</th><th>value</th><th>section, or reason</th></tr></thead>
<tbody>{rows}</tbody></table></div>"""


def _refused(found: Card) -> str:
    if not found.refused:
        return ""
    rows = "".join(f"<li>{escape(where)}: {escape(why)}</li>" for where, why in found.refused.items())
    return (
        f"<h2>Not run</h2><p>{found.guide.role.plural.capitalize()} that a scenario does not permit:</p><ul>{rows}</ul>"
    )


_CSS = """
:root { color-scheme: light; --line: #d9dde3; }
* { box-sizing: border-box; }
body { font: 15px/1.5 system-ui, sans-serif; color: #1b1f24; max-width: 1440px; margin: 0 auto; padding: 1.5rem; }
h1 { font-size: 1.6rem; margin: 0 0 .5rem; } h2 { font-size: 1.25rem; margin: 1.2rem 0 .3rem; }
h3 { font-size: 1rem; margin: 1rem 0 .2rem; }
section { border-top: 2px solid #1b1f24; margin-top: 2rem; }
.reference, figcaption { color: #57606a; } figcaption { font-size: 13.5px; }
code { font-family: ui-monospace, monospace; font-size: .92em; }
table { border-collapse: collapse; font-size: 13.5px; margin: .4rem 0; }
th, td { border: 1px solid var(--line); padding: .25rem .55rem; text-align: left; vertical-align: top; }
th { background: #f6f7f9; } .n { text-align: right; font-variant-numeric: tabular-nums; } .own { font-weight: 600; }
.sections .level0 td { background: #1b1f24; color: #fff; font-weight: 600; }
.sections .level1 td { background: #eef1f5; font-weight: 600; }
.limit { font-weight: 400; color: #57606a; font-size: 12px; }
.sections td:nth-child(n+5), .sections td:nth-child(1), .sections td:nth-child(3) { white-space: nowrap; }
.wide { overflow-x: auto; } figure { margin: .6rem 0; max-width: 1100px; } figure img { max-width: 100%; height: auto; }
.chip { font-size: 12px; font-weight: 600; padding: .05rem .45rem; border-radius: 9px; background: #eaeef2;
  display: inline-block; }
.chip.better, td.better, .chip.run, .chip.passes { background: #dff3e4; color: #116329; }
.chip.worse, td.worse, .chip.fails { background: #ffd9d6; color: #a40e26; }
.chip.undecided, td.undecided { background: #fff0c2; color: #7d4e00; }
.chip.not-selected { background: #fff; color: #57606a; }
.chip.missing { background: #ffd9d6; color: #a40e26; }
"""
