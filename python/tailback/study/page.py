"""The report of a sweep: a page with figures and tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from typing import TYPE_CHECKING

from tailback import _native
from tailback.errors import UsageError
from tailback.pages.document import Document, Section, place, wide
from tailback.results.formatting import digits, fixed, half_of
from tailback.results.intervals import Interval
from tailback.results.metrics import Measure

if TYPE_CHECKING:
    from tailback.study.results import Contrast, Setting, Sweep

__all__ = ["page"]

_OPEN = 2
"""Number of figures that are open at first."""
_MAX_ROWS = 500
"""Maximum number of rows of a table, and of failures in the list; results.parquet has the rows of all tables."""

# Metrics of all flows together that are columns, if the sweep has them.
_COLUMNS = ("offered", "loss", "delay", "delay_p99", "throughput", "goodput", "completion")


def page(sweep: Sweep, metrics: Sequence[str] = ()) -> Document:
    """Return the page; without matplotlib it has no figures.

    `metrics` are columns of the tables besides the usual ones, such as `jain` and `goodput[data]`.

    Raises:
        UsageError: A file for browsers is not installed.

    """
    columns = _columns(sweep, metrics)
    sections = [*_figures(sweep), *_differences(sweep, columns), _means(sweep, columns)]
    return Document(sweep.title or "Sweep", _facts(sweep) + _failures(sweep), sections)


def _figures(sweep: Sweep) -> Iterator[Section]:
    """Yield the sections of the figures, the first ones open; without matplotlib, a note that they are missing."""
    try:
        from tailback.pages.figure import picture
        from tailback.plotting import plot
        from tailback.plotting.sweep.figures import figures
    except UsageError as error:
        yield Section("no-figures", "No figures", "", f"<p>{escape(str(error))}</p>", shows_id=False, is_open=True)
        return
    with plot.style():
        drawings = figures(sweep)
    for number, drawn in enumerate(drawings):
        name = f"figure-{number + 1}"
        caption = f"<figcaption>{escape(drawn.caption)}</figcaption>" if drawn.caption else ""
        html = f'<div class="block"><figure>{place(name, drawn.title)}{caption}</figure></div>'
        pictures = {name: picture(drawn.figure)}
        yield Section(name, drawn.title, "", html, pictures, shows_id=False, is_open=number < _OPEN)


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


def _means(sweep: Sweep, columns: Sequence[Measure]) -> Section:
    rows = [
        (setting, [sweep.estimate(setting, m) for m in columns], len(runs))
        for setting, runs in list(sweep.runs.items())[:_MAX_ROWS]
    ]
    body = ""
    for setting, found, n in rows:
        cells = "".join(_cell(e.interval, e.measure, e.resolution) for e in found)
        body += f"<tr>{_setting(setting)}{cells}<td class=n>{n}</td></tr>"
    return _table("points", "All points", [*sweep.paths, *map(_head, columns), "n"], body, len(sweep.runs))


def _differences(sweep: Sweep, columns: Sequence[Measure]) -> Iterator[Section]:
    if len(sweep.mechanisms) < 2:
        return
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
    yield _table("differences", title, [*sweep.paths, *map(_head, columns)], body, len(rows))


def _table(name: str, title: str, columns: Sequence[str], body: str, rows: int) -> Section:
    head = "".join(f"<th>{escape(column)}</th>" for column in columns)
    more = f"<p>The first {_MAX_ROWS} of {rows}; all are in results.parquet.</p>" if rows > _MAX_ROWS else ""
    table = f"<table><thead><tr>{head}</tr></thead>\n<tbody>{body}</tbody></table>"
    return Section(name, title, "", wide(table, title) + more, shows_id=False, is_open=True)


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
