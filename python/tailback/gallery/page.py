"""The report: one page that stands alone, every figure beside the claims that it shows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import cast

from tailback.gallery.claims import Claim
from tailback.gallery.figures import Figure
from tailback.gallery.registry import GROUPS
from tailback.gallery.runner import Study, verdicts
from tailback.plot import image

__all__ = ["Drawn", "Entry", "page"]

Json = Mapping[str, object]


@dataclass(frozen=True)
class Drawn:
    """A figure with its picture."""

    figure: Figure
    svg: bytes


@dataclass(frozen=True)
class Entry:
    """All that the report shows of one experiment."""

    study: Study
    claims: Sequence[Claim]
    figures: Sequence[Figure]
    drawn: list[Drawn] = field(default_factory=list)
    """Those of the figures that have been drawn."""


_VERDICTS = {
    "reproduced": ("pass", "✓ reproduced"),
    "not reproduced": ("fail", "✗ not reproduced"),
    "undecided": ("undecided", "? undecided"),
    "calibrated": ("reported", "\N{EN DASH} calibrated"),
    "comparison": ("reported", "\N{EN DASH} comparison"),
}


def page(entries: Sequence[Entry], version: str) -> str:
    """Return the whole page."""
    studies = [entry.study for entry in entries]
    profile = f"--{studies[0].profile}" if studies else ""
    sections = "\n".join(_experiment(entry) for entry in entries)
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Tailback: reproduced figures and claims</title>
<style>{_CSS}</style>
</head>
<body>
<header>
<h1>Tailback: reproduced figures and claims</h1>
<p>Version {escape(version)}, profile <code>{escape(profile)}</code>. Every interval is a 99 % Student-t interval over
replications. A claim passes when the whole interval satisfies it, fails when the whole interval violates it, and is
undecided in between. A claim over several points shows its worst one.</p>
{_summary(entries)}
</header>
<main>
{sections}
</main>
</body>
</html>
"""


def _summary(entries: Sequence[Entry]) -> str:
    rows = []
    for entry in entries:
        experiment = entry.study.experiment
        counts = verdicts([entry.study])
        state = " (interrupted)" if entry.study.interrupted else ""
        cells = "".join(
            f'<td class="n {kind if n else "none"}">{n}</td>'
            for kind in ("pass", "fail", "undecided", "reported")
            for n in [counts[kind]]
        )
        group = GROUPS[experiment.group]
        rows.append(
            f'<tr><td><a href="#{experiment.id}">{escape(experiment.id)}</a></td>'
            f"<td>{escape(experiment.title)}{state}</td><td>{escape(group)}</td>{cells}</tr>"
        )
    total = verdicts(entry.study for entry in entries)
    sums = "".join(f'<td class="n">{total[kind]}</td>' for kind in ("pass", "fail", "undecided", "reported"))
    return f"""<table class="summary">
<thead><tr><th>experiment</th><th>title</th><th>group</th><th>pass</th><th>fail</th><th>undecided</th><th>reported</th>
</tr></thead>
<tbody>{"".join(rows)}</tbody>
<tfoot><tr><td colspan="3">all</td>{sums}</tr></tfoot>
</table>"""


def _experiment(entry: Entry) -> str:
    study, experiment = entry.study, entry.study.experiment
    shown: set[str] = set()
    blocks = []
    claims = {claim.id: claim for claim in entry.claims}
    for drawn in entry.drawn:
        own = [claims[id] for id in drawn.figure.claims]  # noqa: A001
        shown.update(claim.id for claim in own)
        blocks.append(_figure(drawn, own, study))
    rest = [claim for claim in entry.claims if claim.id not in shown]
    if rest:
        blocks.append(f'<div class="claims alone">{_claims(rest, study)}</div>')
    low, high = study.replications
    effort = f"{len(study.samples)} points, {low}" + (f" to {high}" if high > low else "") + " replications each"
    hops = f"{study.packet_hops / 1e6:.0f} million packet-hops"
    late = f"; precision target missed at {study.imprecise} points" if study.imprecise else ""
    return f"""<section id="{experiment.id}">
<h2><span class="id">{escape(experiment.id)}</span> {escape(experiment.title)}</h2>
<p class="reference">{escape(experiment.reference)}. {effort}, {hops}{late}.
{"<strong>Interrupted: what is shown is what was finished.</strong>" if study.interrupted else ""}</p>
<div class="page">{_markdown(_without_title(experiment.read("README.md")))}</div>
{"".join(blocks)}
<details><summary>All measured values</summary>{_values(study)}</details>
</section>"""


def _figure(drawn: Drawn, claims: Sequence[Claim], study: Study) -> str:
    figure = drawn.figure
    caption = f"<figcaption>{escape(figure.caption)}</figcaption>" if figure.caption else ""
    beside = f'<div class="claims">{_claims(claims, study)}</div>' if claims else ""
    return f"""<div class="block">
<figure><img src="{image(drawn.svg)}" alt="{escape(figure.title)}">{caption}</figure>
{beside}</div>"""


def _claims(claims: Iterable[Claim], study: Study) -> str:
    return "".join(_claim(claim.as_json(study.profile)) for claim in claims)


def _claim(claim: Json) -> str:
    kind, words = _VERDICTS[str(claim["verdict"])]
    notes = []
    if claim["at"]:
        notes.append(f"at {claim['at']}{_of(claim)}")
    if "packets" in claim:
        notes.append(f"{claim['packets']:,} packets seen")
    notes += [str(claim[key]) for key in ("why",) if key in claim]
    notes.append(f"source: {claim['source']}")
    return f"""<div class="claim {kind}"><div><span class="verdict">{words}</span>
<strong>{escape(str(claim["id"]))}</strong> {escape(str(claim["text"]))}</div>
<dl><dt>measured</dt><dd>{_measured(cast(Json, claim["measured"]))}</dd>
<dt>expected</dt><dd>{escape(str(claim["expected"]))}</dd></dl>
<p class="notes">{escape("; ".join(notes))}.</p></div>"""


def _of(claim: Json) -> str:
    points = cast(int, claim["points"])
    return f" (worst of {points})" if points > 1 and claim["verdict"] != "comparison" else ""


def _measured(measured: Json) -> str:
    unit = escape(str(measured["unit"]))
    ends = [number(cast("float | None", measured[end])) for end in ("lo", "hi")]
    mean = number(cast("float | None", measured["mean"]))
    return f"{mean} {unit} [{ends[0]}, {ends[1]}], n = {measured['n']}"


def number(value: float | None) -> str:
    """Return four digits, which is more than any interval here deserves; a dash for none."""
    return "\N{EN DASH}" if value is None else f"{value:.4g}".replace("-", "\N{MINUS SIGN}")


def _values(study: Study) -> str:
    experiment, results = study.experiment, study.results
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
    return f'<div class="wide"><table><thead><tr>{head}</tr></thead><tbody>{"".join(rows)}</tbody></table></div>'


def _without_title(text: str) -> str:
    """The page's first heading is the section's already."""
    first, _, rest = text.partition("\n")
    return rest if first.startswith("# ") else text


def _markdown(text: str) -> str:
    from markdown_it import MarkdownIt

    return cast(str, MarkdownIt("commonmark").enable("table").render(text))


_CSS = """
:root { color-scheme: light; --line: #d9dde3; --soft: #f6f7f9; }
* { box-sizing: border-box; }
body { font: 15px/1.5 system-ui, sans-serif; color: #1b1f24; max-width: 1440px; margin: 0 auto; padding: 1.5rem; }
h1 { font-size: 1.6rem; margin: 0 0 .5rem; } h2 { font-size: 1.3rem; margin: 0 0 .3rem; }
section { border-top: 2px solid #1b1f24; margin-top: 2.5rem; padding-top: 1rem; }
.id { font-family: ui-monospace, monospace; background: var(--soft); padding: 0 .35em; border-radius: 4px; }
.reference { color: #57606a; margin: 0 0 .5rem; }
.page { max-width: 46rem; }
pre { background: var(--soft); padding: .7rem 1rem; overflow-x: auto; font-size: 13px; }
code { font-family: ui-monospace, monospace; font-size: .92em; }
table { border-collapse: collapse; font-size: 13.5px; margin: .6rem 0; }
th, td { border: 1px solid var(--line); padding: .25rem .55rem; text-align: left; vertical-align: top; }
th { background: var(--soft); } .n { text-align: right; font-variant-numeric: tabular-nums; }
tfoot td { font-weight: 600; }
td.pass { background: #dff3e4; } td.fail { background: #ffd9d6; } td.undecided { background: #fff0c2; }
td.none { color: #9aa3ad; }
.block { display: grid; grid-template-columns: minmax(0, 63fr) minmax(0, 37fr); gap: 1.2rem; margin: 1.2rem 0;
  align-items: start; }
.block > figure:only-child { grid-column: 1 / -1; max-width: 860px; }
figure { margin: 0; } figcaption { color: #57606a; font-size: 13.5px; } figure img { width: 100%; height: auto; }
.claim { border: 1px solid var(--line); border-left: 6px solid #9aa3ad; border-radius: 4px; padding: .5rem .7rem;
  margin-bottom: .6rem; background: #fff; break-inside: avoid; }
.claims.alone { columns: 2; column-gap: 1.2rem; }
.claim.pass { border-left-color: #1a7f37; } .claim.fail { border-left-color: #cf222e; }
.claim.undecided { border-left-color: #bf8700; }
.verdict { font-size: 12px; font-weight: 600; padding: .05rem .45rem; border-radius: 9px; background: #eaeef2;
  white-space: nowrap; }
.pass .verdict { background: #dff3e4; color: #116329; } .fail .verdict { background: #ffd9d6; color: #a40e26; }
.undecided .verdict { background: #fff0c2; color: #7d4e00; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: 0 .7rem; margin: .35rem 0 0; font-size: 13px; }
p.notes { margin: .3rem 0 0; font-size: 12.5px; color: #57606a; }
dt { color: #57606a; } dd { margin: 0; }
details { margin: .8rem 0; } summary { cursor: pointer; } .wide { overflow-x: auto; }
@media (max-width: 800px) { .block { grid-template-columns: 1fr; } .claims.alone { columns: 1; } }
@media print { body { max-width: none; } details { display: none; } }
"""
