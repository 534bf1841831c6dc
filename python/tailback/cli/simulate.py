"""Commands that run scenarios: run, compare, plot."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from tailback.cli.options import (
    SETTINGS,
    json_option,
    output_option,
    quiet_option,
    reps_option,
    scenario_file,
    seed_option,
    settings_option,
    strict_option,
    threads_option,
)
from tailback.cli.output import (
    console,
    print_error,
    print_json,
    print_note,
    print_unchanged,
    print_warnings,
    progress_bar,
    quantity,
    table,
)
from tailback.errors import EXIT_INTERRUPTED, EXIT_OK, EXIT_SCENARIO
from tailback.measures import Estimate

if TYPE_CHECKING:
    from tailback.cli.output import Rows
    from tailback.result import Result
    from tailback.scenario import Scenario

__all__ = ["compare", "plot", "run"]


def _load(file: str, settings: Sequence[tuple[str, str]]) -> Scenario:
    from tailback.scenario import load

    return load(file).with_texts(settings)


@click.command(
    context_settings=SETTINGS,
    epilog="""\b
Examples:
  tailback run scenario.toml --reps 10 --out runs/first
  tailback run scenario.toml --set 'flows[data].source.rate=3Mbit/s' --set run.duration=10s
  tailback run scenario.toml --seed 7 --reps 1      one replication again, same digest""",
)
@scenario_file
@seed_option
@reps_option
@settings_option
@output_option
@click.option("--force", is_flag=True, help="Replace the run directory given by --out.")
@click.option("--warmup", help='Unmeasured beginning, such as 20s, or "auto".')
@click.option("--engine", type=click.Choice(["merged", "plain"]), help="Both give the same results; plain is slower.")
@threads_option
@click.option(
    "--parallel",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="Parts of the network with a thread each, at most; same results. For one large run.",
)
@strict_option
@json_option
@quiet_option
def run(
    file: str,
    seed: int | None,
    reps: int | None,
    settings: list[tuple[str, str]],
    out: Path | None,
    force: bool,
    warmup: str | None,
    engine: Literal["merged", "plain"] | None,
    threads: int | None,
    parallel: int,
    strict: bool,
    as_json: bool,
    quiet: bool,
) -> int:
    """Run the scenario FILE and show losses, delays and throughput with their intervals.

    With --out, write a run directory: manifest, scenario and Parquet tables. Ctrl-C keeps the replications that are
    finished. What makes little sense is a warning; with --strict nothing is run then.
    """
    from tailback.rundir import check_target
    from tailback.running import Interrupted
    from tailback.running import run as run_scenario

    scenario = _load(file, settings)
    if not quiet:
        print_unchanged(scenario)
    print_warnings(scenario.warnings)
    if strict and scenario.warnings:
        print_error("nothing was run: there are warnings, and --strict was given")
        return EXIT_SCENARIO
    if out is not None:
        check_target(out, replace=force)
    interrupted = False
    try:
        with progress_bar(Path(file).name, quiet=quiet) as progress:
            result = run_scenario(
                scenario, seed, reps, threads, warmup=warmup, engine=engine, parallel=parallel, progress=progress
            )
    except Interrupted as stop:
        result, interrupted = stop.result, True
    if out is not None and result.reports:
        result.write(out, replace=force)
    if parallel > 1 and not quiet:
        print_note(str(scenario.parts(parallel, result.base_seed)))
    if as_json:
        print_json(_run_json(result))
    elif result.reports:
        _print_run(result)
    print_warnings(result.warnings, said=scenario.warnings)
    if out is not None and result.reports and not quiet:
        print_note(f"written: {out}")
    if interrupted:
        kept = (
            "they are kept in the run directory" if out is not None and result.reports else "no directory was written"
        )
        print_error(f"interrupted after {len(result.reports)} replications; {kept}")
        return EXIT_INTERRUPTED
    return EXIT_SCENARIO if strict and result.warnings else EXIT_OK


def _run_json(result: Result) -> dict[str, object]:
    return {**result.manifest(), "summary": [e.as_json() for e in result.estimates()], "ports": _ports(result)}


def _print_run(result: Result) -> None:
    out = console()
    n = len(result.reports)
    if result.is_precise is False:
        print_note("run.precision was not met: raise its max-replications, or run.duration")
    title = result.scenario.title or "run"
    warmup = result.warmup
    found = f"warm-up {warmup.seconds:.6g} s ({warmup.method})" if warmup.seconds is not None else ""
    out.print(f"{title}: {n} replication{'s' if n > 1 else ''}, seeds from {result.base_seed}, {found}", soft_wrap=True)
    out.print(f"digest {result.digest}", soft_wrap=True)
    out.print(_summary_table(result.estimates(), result.confidence))
    ports = [
        row
        for row in _ports(result)
        if any(row[name] for name in ("dropped_packets", "stopped_share", "held_share", "notifications_sent"))
    ]
    if ports:
        rows = [
            [
                str(row["port"]),
                f"{row['utilisation']:.1%}",
                f"{row['dropped_packets']:.6g}",
                f"{row['stopped_share']:.1%}",
                f"{row['held_share']:.1%}",
                f"{row['notifications_sent']:.6g}",
                f"{float(row['queue_max_bytes']) / 1e3:.4g} kB",
            ]
            for row in ports
        ]
        columns = ("port", "busy", "dropped", "stopped", "held", "notifications", "longest queue")
        title = "Ports that dropped, were stopped, held data or notified (means per replication)"
        out.print(table(title, columns, rows))


def _summary_table(estimates: Sequence[Estimate], confidence: float) -> Rows:
    """One row per group, class and total, one column per metric."""
    metrics = {
        "offered": "offered",
        "loss": "loss",
        "delay": "mean delay",
        "delay_p99": "99 % delay",
        "throughput": "throughput",
    }
    rows: dict[tuple[str, str], dict[str, str]] = {}
    for estimate in estimates:
        measure = estimate.measure
        key = (measure.scope, measure.name)
        rows.setdefault(key, {})[measure.metric] = quantity(estimate.interval, measure.unit)
    names = {"total": "all flows", "group": "{}", "class": "class {}"}
    counts = {scope: sum(key[0] == scope for key in rows) for scope in names}
    # A single class or group says the same as the line before it.
    shown = [s for s in ("group", "class", "total") if s == "group" or counts["group" if s == "total" else s] > 1]
    body = [
        [names[scope].format(name), *(cells.get(metric, "") for metric in metrics)]
        for scope in shown
        for (found, name), cells in rows.items()
        if found == scope
    ]
    return table(f"Means with {confidence:.0%} intervals", ("flows", *metrics.values()), body)


def _ports(result: Result) -> list[dict[str, str | float]]:
    """Means over replications for each port, those with most drops first."""
    found: dict[str, list[tuple[float, ...]]] = {}
    for report in result.reports:
        for port in report.data["ports"]:
            dropped = sum(row["dropped"]["packets"] for row in port["classes"])
            longest = max(row["max_bytes"] for row in port["classes"])
            stopped, held = (port[name] / report.measured_s for name in ("stopped_s", "held_s"))
            row = (dropped, port["utilisation"], stopped, held, port["notifications_sent"], longest)
            found.setdefault(port["name"], []).append(tuple(float(value) for value in row))
    names = ("dropped_packets", "utilisation", "stopped_share", "held_share", "notifications_sent", "queue_max_bytes")
    means = [
        {
            "port": port,
            **{name: sum(column) / len(rows) for name, column in zip(names, zip(*rows, strict=True), strict=True)},
        }
        for port, rows in found.items()
    ]
    return sorted(means, key=lambda row: (-float(row["dropped_packets"]), -float(row["held_share"]), str(row["port"])))


@click.command(
    context_settings=SETTINGS,
    epilog="""\b
Examples:
  tailback compare none.toml plain.toml --reps 10
  tailback compare runs/none runs/plain""",
)
@click.argument("a", type=click.Path(exists=True))
@click.argument("b", type=click.Path(exists=True))
@seed_option
@reps_option
@click.option(
    "--confidence", type=click.FloatRange(0, 1, min_open=True, max_open=True), default=0.95, show_default=True
)
@threads_option
@json_option
@quiet_option
def compare(
    a: str,
    b: str,
    seed: int | None,
    reps: int | None,
    confidence: float,
    threads: int | None,
    as_json: bool,
    quiet: bool,
) -> None:
    """Compare A and B, two run directories or two scenario files, by paired differences B minus A.

    Scenario files are run first, both with the same seeds. A star marks differences whose interval excludes zero.
    """
    from tailback.compare import compare as compare_runs

    with progress_bar("compare", quiet=quiet) as progress:
        found = compare_runs(
            a, b, seed=seed, replications=reps, threads=threads, confidence=confidence, progress=progress
        )
    if as_json:
        print_json(found.as_json())
        return
    rows = []
    for d in found.distinct():
        who = {"total": "all flows", "group": d.measure.name, "class": f"class {d.measure.name}"}[d.measure.scope]
        star = "*" if d.is_significant else ""
        unit = d.measure.unit
        rows.append(
            [who, d.measure.metric, quantity(d.a, unit), quantity(d.b, unit), quantity(d.difference, unit), star]
        )
    title = f"{len(found.seeds)} pairs, {confidence:.0%} intervals"
    console().print(table(title, ("flows", "metric", "A", "B", "B \N{MINUS SIGN} A", ""), rows, words=2))


@click.command(context_settings=SETTINGS)
@click.argument("what", metavar="DIR|SCENARIO", type=click.Path(exists=True, path_type=Path))
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    help="File to write: .png, .svg or .pdf. Default: DIR/plot.png, or SCENARIO with .png for its ending.",
)
def plot(what: Path, out: Path | None) -> None:
    """Draw a run directory, or the network of a scenario file.

    Of a run directory: throughput, loss and delay per group, and queues over time if sampled. Of a scenario: nodes,
    links with rates, delays and buffers, and which way flows go.
    """
    from tailback.errors import UsageError
    from tailback.rundir import read_manifest, read_table, write_file

    target = out or (what / "plot.png" if what.is_dir() else what.with_suffix(".png"))
    kinds: dict[str, Literal["png", "svg", "pdf"]] = {".png": "png", ".svg": "svg", ".pdf": "pdf"}
    if target.suffix not in kinds:
        raise UsageError(f"{target} should end in .png, .svg or .pdf")
    from tailback import plot as drawing

    if not what.is_dir():
        from tailback.scenario import load
        from tailback.topology import draw

        scenario = load(what)
        write_file(target, drawing.to_bytes(draw(scenario, scenario.title), kinds[target.suffix]))
        click.echo(str(target))
        return
    manifest, directory = read_manifest(what), what
    title, confidence = str(manifest["title"]), float(str(manifest["confidence"]))
    metrics, series, nodes = (read_table(directory, name) for name in ("metrics", "series", "nodes"))
    figure = drawing.run_figure(metrics, series, nodes, title, confidence)
    write_file(target, drawing.to_bytes(figure, kinds[target.suffix]))
    click.echo(str(target))
