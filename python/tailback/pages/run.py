"""The page of a run directory: summary with intervals, figures, and the scenario."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING

from tailback.errors import UsageError
from tailback.pages.document import Document, Picture, Section, place, wide
from tailback.pages.figure import picture
from tailback.results.directory import MANIFEST, RunDirectory, read_manifest
from tailback.results.formatting import quantity
from tailback.results.metrics import Estimate, Measure, estimates

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["page"]

_PICTURES = {
    "throughput": "Throughput over time",
    "fairness": "Fairness of the goodputs over time (Jain's index)",
    "delay_throughput": "Throughput and delay of each group",
    "queue_cdf": "Distribution of the queues at the samples",
    "queue_composition": "Who fills the queue",
    "delay_cdf": "Distribution of the one-way delays of packets",
    "fct_cdf": "Distribution of the completion times of transfers",
    "fct": "Completion time by size of the transfer",
    "slowdown": "Slowdown by size of the transfer",
    "cwnd": "Congestion windows",
    "rtt": "Smoothed round-trip times",
    "time_sequence": "Sequence numbers over time",
    "heat_map": "Utilisation of the ports over time",
}
"""Titles of the pictures that a run can have, in their order on the page."""


def page(directory: str | PathLike[str]) -> Document:
    """Return the page of a run directory.

    Pictures for which the run has no data are listed at the end, each with what to set in the scenario.

    Raises:
        UsageError: matplotlib, or a file for browsers, is not installed.
        OutputError: The directory is no run directory, or is damaged.

    """
    folder = Path(fspath(directory))
    manifest = read_manifest(folder)
    run = RunDirectory(folder)
    found = _estimates(run)
    title = run.title or folder.resolve().name
    state = (
        "" if manifest["state"] == "complete" else " <strong>Interrupted: only finished replications count.</strong>"
    )
    n = len(manifest["replications"])
    seeds = f"{manifest['base_seed']} to {manifest['base_seed'] + n - 1}" if n > 1 else str(manifest["base_seed"])
    warnings = "".join(f"<li>{escape(str(warning.get('message', warning)))}</li>" for warning in manifest["warnings"])
    command = f"tailback run {folder / 'scenario.toml'} --seed {manifest['base_seed']} --reps {n}"
    head = f"""<p>{n} replications with the seeds {seeds}; warm-up until {run.warmup_s:g} s; intervals of
{run.confidence:.0%} by Student's t.{state}</p>
<p class="made"><code>{escape(command)}</code>, digest
<code>{escape(str(manifest["digest"]))}</code>, version {escape(str(manifest["tailback"]))}</p>
{f"<h2>Warnings</h2><ul>{warnings}</ul>" if warnings else ""}"""
    sections = [
        Section("summary", "Metrics", "", _table(found), shows_id=False, is_open=True),
        *_figures(run),
        Section("scenario", "Scenario", "", _scenario(folder), shows_id=False),
    ]
    return Document(title, head, sections)


def _estimates(run: RunDirectory) -> list[Estimate]:
    rows: dict[int, dict[Measure, float]] = {}
    for row in run.table("metrics").iter_rows(named=True):
        measure = Measure(row["scope"], row["name"], row["metric"])
        rows.setdefault(row["replication"], {})[measure] = row["value"]
    return estimates([rows[number] for number in sorted(rows)], run.confidence)


def _table(found: list[Estimate]) -> str:
    """Return a table with a row for each metric and a column for all flows together, each group and each class."""
    columns = dict.fromkeys((e.measure.scope, e.measure.name) for e in found)
    cells = {(e.measure.metric, (e.measure.scope, e.measure.name)): e for e in found}
    head = "".join(f"<th>{escape(name or 'all flows')}</th>" for _, name in columns)
    body = ""
    for metric in dict.fromkeys(e.measure.metric for e in found):
        shown = [cells.get((metric, column)) for column in columns]
        values = "".join(
            f'<td class="n">{escape(quantity(e.interval, e.measure, e.resolution))}</td>' if e else "<td></td>"
            for e in shown
        )
        body += f"<tr><th>{escape(metric.replace('_', ' '))}</th>{values}</tr>"
    table = f"<table><thead><tr><th>metric</th>{head}</tr></thead><tbody>{body}</tbody></table>"
    return wide(table, "Metrics")


def _figures(run: RunDirectory) -> Iterator[Section]:
    from tailback.plotting import plot
    from tailback.plotting.pictures import PICTURES

    metrics, series, nodes = (run.table(name) for name in ("metrics", "series", "nodes"))
    overview = plot.run_figure(metrics, series, nodes, "", run.confidence)
    yield _section("overview", "Overview", overview)
    missing = []
    for name, title in _PICTURES.items():
        try:
            figure = PICTURES[name](run, size="page")
        except UsageError as error:
            missing.append(f"<li>{escape(title)}: {escape(str(error))}</li>")
        else:
            yield _section(name.replace("_", "-"), title, figure)
    if missing:
        yield Section("missing", "Figures without data", "", f"<ul>{''.join(missing)}</ul>", shows_id=False)


def _section(name: str, title: str, figure: Figure) -> Section:
    shown: Picture = picture(figure)
    html = f'<div class="block"><figure>{place(name, title)}</figure></div>'
    return Section(name, title, "", html, {name: shown}, shows_id=False, is_open=name == "overview")


def _scenario(folder: Path) -> str:
    from tailback.results import stored

    try:
        text = stored.contents(folder / "scenario.toml").decode("utf-8")
    except (OSError, ValueError) as error:
        return f"<p>scenario.toml, which {MANIFEST} names, cannot be read: {escape(stored.reason(error))}</p>"
    return f'<pre tabindex="0">{escape(text)}</pre>'
