"""The command sweep: runs studies and grids, prints their status, and writes their reports."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tailback.cli.options import (
    SETTINGS,
    allow_files_option,
    estimate_option,
    executor_options,
    json_option,
    metric_option,
    open_executor,
    quiet_option,
    reps_option,
    seed_option,
    strict_option,
    threads_option,
    untraced_option,
)
from tailback.cli.output import (
    console,
    facts,
    print_cost,
    print_error,
    print_json,
    print_line,
    print_note,
    print_warnings,
    progress_bar,
    table,
)
from tailback.errors import EXIT_INTERRUPTED, EXIT_OK, EXIT_RUN, EXIT_SCENARIO, UsageError
from tailback.results.formatting import digits, quantity

if TYPE_CHECKING:
    from tailback.results.metrics import Measure
    from tailback.run.executors import ExecutorName
    from tailback.study import Sweep

__all__ = ["sweep"]

_MAX_ROWS = 60
"""Maximum number of rows of a printed table."""
_MAX_FAILURES = 10
"""Maximum number of failures that are printed."""

_TRIALS = 12
"""Maximum number of cells at which an estimate runs a trial."""
_TRIAL_S = 0.4
"""Processor time of each trial, s; at most `_TRIALS` trials take about five seconds."""


@click.command(
    context_settings=SETTINGS,
    epilog="""\b
Examples:
  tailback sweep study.toml                    into study.sweep; called again, runs only what is missing
  tailback sweep study.toml --executor dask --scheduler tcp://head:8786
  tailback sweep --status study.sweep
  tailback sweep scenario.toml --out sweep.parquet \\
      --set 'flows[data].source.rate=[1Mbit/s, 2Mbit/s, 3Mbit/s]' --set 'backpressure.scope=[none, plain]'""",
)
@click.argument("file", metavar="[FILE]", required=False, type=click.Path(exists=True, dir_okay=False, readable=True))
@click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="PATH=[A,B,C]",
    help="For a scenario: values to try, or one value for all points; may be repeated.",
)
@allow_files_option
@seed_option
@reps_option
@click.option("--out", type=click.Path(path_type=Path), help="Directory or Parquet file to write.")
@click.option("--extend", is_flag=True, help="Add points or replications to the directory of an earlier sweep.")
@executor_options
@threads_option
@click.option("--status", type=click.Path(path_type=Path), metavar="DIR", help="Print the progress of a sweep.")
@click.option("--report", type=click.Path(path_type=Path), metavar="DIR", help="Write the report of the finished runs.")
@metric_option(
    "Columns of the table, such as goodput,'goodput[data]', also of report.html; default: loss, delay, throughput and "
    "the metric of until."
)
@strict_option
@estimate_option
@untraced_option
@json_option
@quiet_option
def sweep(
    file: str | None,
    settings: tuple[str, ...],
    allow_files: bool,
    seed: int | None,
    reps: int | None,
    out: Path | None,
    extend: bool,
    executor: ExecutorName,
    scheduler: str | None,
    options: Sequence[tuple[str, str]],
    threads: int | None,
    status: Path | None,
    report: Path | None,
    metrics: list[str],
    strict: bool,
    estimate: bool,
    trace: Path | None,
    as_json: bool,
    quiet: bool,
) -> int:
    """Run the study FILE, or the scenario FILE at every combination of the given values.

    All points share their seeds. Finished runs are kept in a directory; the same command, called again, runs only what
    is missing there. The results of a scenario can be written to a single Parquet file instead; without --out they are
    only printed. Valid but suspicious settings, and axes that change nothing, are warnings; with --strict, a study with
    warnings is not run.
    """
    if status is not None or report is not None:
        if file is not None:
            raise click.UsageError("--status and --report take the directory of a sweep; remove FILE")
        return _status(status, as_json) if status is not None else _report(Path(str(report)), metrics, quiet)
    if file is None:
        raise click.UsageError("Missing argument 'FILE'.")
    from tailback.run.cost import replication_cost, spread
    from tailback.scenario import load, read_document
    from tailback.study.document import Study
    from tailback.study.results import FailedRuns
    from tailback.study.store import MANIFEST
    from tailback.study.sweep import is_study, parse_axes, study_of
    from tailback.study.sweep import sweep as run_sweep

    # The file is read only once, since it may be a pipe.
    text = read_document(file)
    study = is_study(text)
    if study and settings:
        raise UsageError("--set is for scenarios; write the setting into the study file")
    if study and out is None:
        out = Path(Path(file).stem + ".sweep")
    single = out if out is not None and out.suffix == ".parquet" else None
    if single and study:
        raise UsageError(f"{single} is the name of a file; the results of a study are written to a directory")
    directory = out if single is None else None
    fixed, axes = parse_axes(settings)
    if study:
        whole = Study.load(file, text, allow_files=allow_files)
    else:
        whole = study_of(load(file, text, allow_files=allow_files), axes, fixed=fixed)
    if trace is not None:
        cell = whole.cells[0]
        command = f"{whole.command(cell, whole.seed if seed is None else seed)} {shlex.join(['--trace', str(trace)])}"
        raise UsageError(f"a sweep writes no packet traces; trace a run of one point, such as the first: {command}")
    print_warnings(whole.warnings)
    if strict and whole.warnings:
        print_error("nothing was run, because of warnings and --strict")
        return EXIT_SCENARIO
    if estimate:
        cells = [whole.cells[place] for place in spread(len(whole.cells), _TRIALS)]
        costs = [replication_cost(cell.variant, seed, trial_s=_TRIAL_S) for cell in cells]
        count = (whole.replications if reps is None else reps) * len(whole.cells)
        print_cost(costs, count, threads, adaptive=whole.until is not None, as_json=as_json)
        return EXIT_OK
    slurm = str((directory or Path()) / "slurm")
    try:
        with (
            open_executor(executor, scheduler, options, threads, slurm) as backend,
            progress_bar(Path(file).name, quiet=quiet) as progress,
        ):
            try:
                found = run_sweep(
                    whole,
                    seed=seed,
                    replications=reps,
                    directory=directory,
                    extend=extend,
                    executor=backend,
                    progress=progress,
                )
            except FailedRuns as error:
                found = error.sweep
        _write(found, directory, single, metrics, quiet)
        _print(found, as_json, metrics)
    except KeyboardInterrupt:
        # Ctrl-C was pressed before the first run or after the last, for example while figures were drawn. During the
        # runs it does not raise KeyboardInterrupt: the sweep is then `interrupted`.
        if directory is None or not (directory / MANIFEST).exists():
            raise
        command = shlex.join(["tailback", "sweep", "--report", str(directory)])
        print_error(f"interrupted; finished runs are kept. This command writes their report: {command}")
        return EXIT_INTERRUPTED
    print_warnings(found.warnings, printed=whole.warnings)
    for failure in found.failures[:_MAX_FAILURES]:
        print_error(str(failure))
    if len(found.failures) > _MAX_FAILURES:
        print_error(f"and {len(found.failures) - _MAX_FAILURES} more runs failed")
    if found.interrupted:
        print_error("interrupted; finished runs are kept" if out is not None else "interrupted")
        return EXIT_INTERRUPTED
    if found.failures:
        return EXIT_RUN
    return EXIT_SCENARIO if strict and found.warnings else EXIT_OK


def _write(found: Sweep, directory: Path | None, single: Path | None, metrics: Sequence[str], quiet: bool) -> None:
    if not quiet:
        for note in found.notes:
            print_note(note)
        if found.imprecise:
            print_note(f"`until` was not met at {found.imprecise} points: raise max-replications or run.duration")
    if not any(found.runs.values()):
        return
    if single is not None:
        found.write(single)
    elif directory is not None:
        found.write(directory / "results.parquet")
        found.report(directory / "report.html", metrics)
    if (single or directory) is not None and not quiet:
        print_note(f"written: {single or directory}")


def _print(found: Sweep, as_json: bool, metrics: Sequence[str]) -> None:
    points = found.estimates()
    if as_json:
        differences = [
            {
                "set": dict(c.point),
                "mechanism": c.mechanism,
                "scope": c.measure.scope,
                "name": c.measure.name,
                "metric": c.measure.metric,
                "difference": c.difference.as_json(c.measure.unit),
                "significant": c.is_significant,
            }
            for c in found.differences()
        ]
        print_json(
            {
                "interrupted": found.interrupted,
                "digest": found.digest,
                "failures": [failure.as_json() for failure in found.failures],
                "warnings": [warning.as_json() for warning in found.warnings],
                "points": [{"set": dict(point), "summary": [e.as_json() for e in rows]} for point, rows in points],
                **({"differences": differences} if found.mechanisms else {}),
            }
        )
        return
    shown = found.shown(metrics)
    for name in metrics:
        if name not in map(str, shown):
            known = ", ".join(map(str, found.measures())) or "none, since no run has finished"
            print_note(f"no point has the metric {name}; the metrics are {known}")
    body = []
    for point, rows in points[:_MAX_ROWS]:
        cells = {e.measure: quantity(e.interval, e.measure, e.resolution) for e in rows}
        body.append([*(str(value) for _, value in point), *(cells.get(measure, "") for measure in shown)])
    whose = "All flows together" if all(measure.scope == "total" for measure in shown) else "All flows, or those named"
    title = f"{whose}, means with {found.confidence:.0%} intervals"
    console().print(table(title, (*found.paths, *map(str, shown)), body, words=len(found.paths)))
    if len(points) > _MAX_ROWS:
        print_note(f"and {len(points) - _MAX_ROWS} more points")
    if found.mechanisms:
        _print_differences(found, shown)
    if found.directory is not None and not found.interrupted and not found.failures:
        print_line(f"digest {found.digest}")


def _print_differences(found: Sweep, shown: Sequence[Measure]) -> None:
    """Print the paired differences of the mechanisms from the first one; a star marks intervals that exclude 0."""
    first, axes = next(iter(found.mechanisms)), found.paths[:-1]
    cells: dict[tuple[str, ...], dict[Measure, str]] = {}
    for c in found.differences(shown):
        star = " *" if c.is_significant else "  "
        name = (*(str(value) for _, value in c.point), c.mechanism)
        cells.setdefault(name, {})[c.measure] = quantity(c.difference, c.measure, c.resolution) + star
    body = [[*name, *(texts.get(measure, "") for measure in shown)] for name, texts in cells.items()]
    if body:
        title = f"Differences from {first}, paired by seed; *: the interval excludes 0"
        headings = (*axes, "mechanism", *(f"{measure}  " for measure in shown))
        console().print(table(title, headings, body[:_MAX_ROWS], words=len(found.paths)))


def _status(directory: Path, as_json: bool) -> int:
    from tailback.study.status import status

    found = status(directory)
    if as_json:
        print_json(found)
        return EXIT_OK
    rows = [
        [key.replace("_", " "), digits(value, 6) if isinstance(value, float) else str(value)]
        for key, value in found.items()
        if value not in (None, "")
    ]
    console().print(facts(rows))
    return EXIT_OK


def _report(directory: Path, metrics: Sequence[str], quiet: bool) -> int:
    from tailback.study.sweep import open_sweep

    found = open_sweep(directory)
    _write(found, directory, None, metrics, quiet)
    print_warnings(found.warnings)
    if quiet or any(found.runs.values()):
        return EXIT_OK
    print_note("no run has finished yet")
    return EXIT_OK
