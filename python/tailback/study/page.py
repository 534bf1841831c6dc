"""The report of a sweep: one self-contained HTML page."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

from tailback import _native
from tailback.errors import UsageError
from tailback.results.formatting import digits, fixed, half_of
from tailback.results.intervals import Interval
from tailback.results.metrics import Measure

if TYPE_CHECKING:
    from tailback.plotting.sweep.figures import Picture
    from tailback.study.results import Contrast, Setting, Sweep

__all__ = ["page"]

_MAX_ROWS = 500
"""Maximum number of rows of a table, and of failures in the list; results.parquet has the rows of all tables."""

# Metrics of all flows together that are columns, if the sweep has them.
_COLUMNS = ("offered", "loss", "delay", "delay_p99", "throughput", "goodput", "completion")


def page(sweep: Sweep, metrics: Sequence[str] = ()) -> str:
    """Return the page as HTML; without matplotlib it has no figures.

    `metrics` are columns of the tables besides the usual ones, such as `jain` and `goodput[data]`.
    """
    columns = _columns(sweep, metrics)
    blocks = _figures(sweep)
    title = escape(sweep.title or "Sweep")
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
{_facts(sweep)}
{_failures(sweep)}
{"".join(blocks)}
{_differences(sweep, columns)}
{_means(sweep, columns)}
</body>
</html>
"""


def _figures(sweep: Sweep) -> list[str]:
    """Return the figures as HTML; without matplotlib, a note that they are missing."""
    try:
        from tailback.plotting import plot
        from tailback.plotting.sweep.figures import figures
    except UsageError as error:
        return [f"<p><strong>No figures:</strong> {escape(str(error))}</p>"]
    with plot.style():
        return [_figure(picture) for picture in figures(sweep)]


def _figure(picture: Picture) -> str:
    from tailback.plotting import plot

    title = escape(picture.title)
    source = plot.image(plot.to_bytes(picture.figure, "svg"))
    return f"""<figure><h2>{title}</h2><img alt="{title}" src="{source}">
<figcaption>{escape(picture.caption)}</figcaption></figure>
"""


def _failures(sweep: Sweep) -> str:
    if not sweep.failures:
        return ""
    lines = "".join(f"<li>{escape(str(failure))}</li>" for failure in sweep.failures[:_MAX_ROWS])
    return f"<h2>Failed runs</h2><p>Figures and means do not include these runs.</p><ul>{lines}</ul>"


def _facts(sweep: Sweep) -> str:
    runs = [run for runs in sweep.runs.values() for run in runs]
    counts = [len(found) for found in sweep.runs.values()]
    state = "<strong>Not complete: only finished runs are shown.</strong> " if sweep.interrupted else ""
    late = (
        f"At {sweep.imprecise} points the maximum number of replications was reached before the precision target. "
        if sweep.imprecise
        else ""
    )
    low, high = min(counts, default=0), max(counts, default=0)
    each = f"{low}" if low == high else f"{low} to {high}"
    return f"""<p>{state}{late}Tailback {escape(_native.version)}. {len(sweep.points())} points{_of_mechanisms(sweep)},
{each} replications each, with the same seeds at all points;
{digits(sum(run.packet_hops for run in runs) / 1e6, 4)} million packet-hops in
{digits(sum(run.cpu_s for run in runs), 4)} processor seconds. Intervals: Student's t, {sweep.confidence:.0%}.</p>
<p>Digest <code>{escape(sweep.digest)}</code></p>"""


def _of_mechanisms(sweep: Sweep) -> str:
    return f" for each of {len(sweep.mechanisms)} mechanisms" if sweep.mechanisms else ""


def _columns(sweep: Sweep, metrics: Sequence[str]) -> list[Measure]:
    seen = sweep.measures()
    totals = [m for name in _COLUMNS for m in seen if m == Measure("total", "", name)]
    groups = [m for m in seen if m.scope == "group" and m.metric in ("loss", "delay", "throughput", "goodput")]
    several = groups if len({m.name for m in groups}) > 1 else []
    judged = sweep.judged()
    named = [m for m in seen if str(m) in metrics]
    return list(dict.fromkeys([*([judged] if judged else []), *totals, *several, *named]))


def _means(sweep: Sweep, columns: Sequence[Measure]) -> str:
    rows = [
        (setting, [sweep.estimate(setting, m) for m in columns], len(runs))
        for setting, runs in list(sweep.runs.items())[:_MAX_ROWS]
    ]
    body = ""
    for setting, found, n in rows:
        cells = "".join(_cell(e.interval, e.measure, e.resolution) for e in found)
        body += f"<tr>{_setting(setting)}{cells}<td class=n>{n}</td></tr>"
    return _table("All points", [*sweep.paths, *map(_head, columns), "n"], body, len(sweep.runs))


def _differences(sweep: Sweep, columns: Sequence[Measure]) -> str:
    if len(sweep.mechanisms) < 2:
        return ""
    rows: dict[tuple[Setting, str], dict[Measure, Contrast]] = {}
    for c in sweep.differences(columns):
        rows.setdefault((c.point, c.mechanism), {})[c.measure] = c
    body = ""
    for (point, name), found in list(rows.items())[:_MAX_ROWS]:
        contrasts = (found.get(measure) for measure in columns)
        cells = "".join(
            _cell(c.difference, c.measure, c.resolution, starred=c.is_significant) if c else "<td></td>"
            for c in contrasts
        )
        body += f"<tr>{_setting((*point, ('mechanism', name)))}{cells}</tr>"
    title = f"Differences from {sweep.mechanisms[0]}, paired by replication (a star: the interval excludes zero)"
    return _table(title, [*sweep.paths, *map(_head, columns)], body, len(rows))


def _table(title: str, columns: Sequence[str], body: str, rows: int) -> str:
    head = "".join(f"<th>{escape(column)}</th>" for column in columns)
    more = f"<p>The first {_MAX_ROWS} of {rows}; all are in results.parquet.</p>" if rows > _MAX_ROWS else ""
    return f"""<details open><summary>{escape(title)}</summary><div class="wide"><table><thead><tr>{head}</tr></thead>
<tbody>{body}</tbody></table></div>{more}</details>"""


def _setting(setting: Setting) -> str:
    return "".join(f"<td>{escape(str(value))}</td>" for _, value in setting)


def _head(measure: Measure) -> str:
    unit = fixed(measure)[1]
    return f"{measure} ({unit})" if unit else str(measure)


def _cell(interval: Interval, measure: Measure, resolution: float, *, starred: bool = False) -> str:
    if not interval.n:
        return "<td></td>"
    scale, _ = fixed(measure)
    text = f"{digits(interval.mean * scale, 4)} {half_of(interval, scale, resolution)}".rstrip()
    text = text.replace("-", chr(0x2212)) + (" *" if starred else "")
    return f"<td class=n>{escape(text)}</td>"


_CSS = """
:root { color-scheme: light; }
body { font: 15px/1.5 system-ui, sans-serif; color: #1b1f24; max-width: 1440px; margin: 0 auto; padding: 1.5rem; }
h1 { font-size: 1.6rem; margin: 0 0 .5rem; } h2 { font-size: 1.2rem; margin: 0 0 .4rem; }
figure { margin: 2rem 0; } figure img { max-width: 100%; height: auto; }
figcaption { color: #57606a; font-size: 13.5px; }
code { font-family: ui-monospace, monospace; font-size: .92em; }
table { border-collapse: collapse; font-size: 13.5px; margin: .6rem 0; }
th, td { border: 1px solid #d9dde3; padding: .25rem .55rem; text-align: left; vertical-align: top; }
th { background: #f6f7f9; } .n { text-align: right; font-variant-numeric: tabular-nums; }
summary { cursor: pointer; font-weight: 600; } .wide { overflow-x: auto; }
"""
