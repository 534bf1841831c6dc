"""Commands that run scenarios: run, compare."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from tailback.cli.options import (
    SETTINGS,
    allow_files_option,
    capture_options,
    chosen_capture,
    estimate_option,
    json_option,
    metric_option,
    output_option,
    quiet_option,
    reps_option,
    scenario_file,
    seed_option,
    settings_option,
    strict_option,
    threads_option,
    trace_options,
)
from tailback.cli.output import (
    console,
    print_cost,
    print_error,
    print_json,
    print_line,
    print_note,
    print_unchanged,
    print_warnings,
    progress_bar,
    table,
)
from tailback.errors import EXIT_INTERRUPTED, EXIT_OK, EXIT_SCENARIO, UsageError
from tailback.results.formatting import digits, quantity
from tailback.results.metrics import METRICS, Estimate
from tailback.traces.selection import Trace

if TYPE_CHECKING:
    from tailback.cli.output import Rows
    from tailback.run.capture import Sides
    from tailback.run.result import Result
    from tailback.scenario import Scenario

__all__ = ["compare", "run"]


def _load(file: str, settings: Sequence[tuple[str, str]], allow_files: bool) -> Scenario:
    from tailback.scenario import load

    return load(file, allow_files=allow_files).with_texts(settings)


@click.command(
    context_settings=SETTINGS,
    epilog="""\b
Examples:
  tailback run scenario.toml --reps 10 --out runs/first
  tailback run scenario.toml --set 'flows[data].source.rate=3Mbit/s' --set run.duration=10s
  tailback run scenario.toml --seed 7 --reps 1      one replication; the same digest each time
  tailback run scenario.toml --metric goodput,jain,marks
  tailback run scenario.toml --reps 1 --pcap run.pcapng --pcap-port 'left->right'""",
)
@scenario_file
@seed_option
@reps_option
@settings_option
@allow_files_option
@output_option
@click.option("--force", is_flag=True, help="Replace the directories given by --out and --trace.")
@click.option("--warmup", help='Length of the warm-up, which is not measured, such as 20s, or "auto".')
@click.option("--engine", type=click.Choice(["merged", "plain"]), help="Event engine; same results, plain is slower.")
@threads_option
@click.option(
    "--parallel",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="Maximum number of parts of the network, each on a thread of its own; same results. For one large run.",
)
@trace_options
@metric_option("Columns of the table of flows, instead of the default ones.")
@strict_option
@estimate_option
@json_option
@capture_options
@click.option("--series", is_flag=True, help="With --json: include the time series; needs run.sample.")
@quiet_option
def run(
    file: str,
    seed: int | None,
    reps: int | None,
    settings: list[tuple[str, str]],
    allow_files: bool,
    out: Path | None,
    force: bool,
    warmup: str | None,
    engine: Literal["merged", "plain"] | None,
    threads: int | None,
    parallel: int,
    trace: Path | None,
    trace_flow: tuple[str, ...],
    trace_port: tuple[str, ...],
    trace_event: list[str],
    trace_frame: list[str],
    trace_from: str | None,
    trace_until: str | None,
    metrics: list[str],
    strict: bool,
    estimate: bool,
    as_json: bool,
    series: bool,
    quiet: bool,
    pcap: Path | None,
    snaplen: int | None,
    pcap_at: Sides | None,
    pcap_ports: tuple[str, ...],
    pcap_flows: tuple[str, ...],
    pcap_from: str | None,
    pcap_until: str | None,
) -> int:
    """Run the scenario FILE and show loss, delay and throughput with their confidence intervals.

    With --out, write a run directory: manifest, scenario and Parquet tables. Ctrl-C keeps the finished replications.
    With --trace, write a row for each event of a packet; results are the same. Valid but suspicious settings are
    warnings; with --strict, a scenario with warnings is not run.
    """
    from tailback.results.directory import check_target
    from tailback.run.cost import replication_cost
    from tailback.run.simulate import Interrupted
    from tailback.run.simulate import run as run_scenario

    if series and not as_json:
        raise UsageError("--series needs --json; --out writes the time series to series.parquet")
    if scoped := next((name for name in metrics if "[" in name), None):
        raise UsageError(f"write {scoped.partition('[')[0]} instead of {scoped}: the table has a row for each group")
    traced = Trace(trace, trace_flow, trace_port, trace_event, trace_frame, trace_from, trace_until, force)
    if trace is None and traced.as_json():
        raise UsageError("the options --trace-... select rows of a trace; write its folder by --trace DIR")
    capture = chosen_capture(pcap, snaplen, pcap_at, pcap_ports, pcap_flows, pcap_from, pcap_until)
    scenario = _load(file, settings, allow_files)
    if series and scenario.run_config.get("sample") is None:
        raise UsageError("the scenario samples no time series; set the interval, such as --set run.sample=10ms")
    if not quiet:
        print_unchanged(scenario)
    print_warnings(scenario.warnings)
    if strict and scenario.warnings:
        print_error("nothing was run, because of warnings and --strict")
        return EXIT_SCENARIO
    if estimate:
        count = int(str(scenario.run_config["replications"])) if reps is None else reps
        whole = scenario if warmup in (None, "auto") else scenario.set(warmup=warmup)
        cost = replication_cost(whole, seed, engine=engine)
        adaptive = scenario.run_config.get("precision") is not None
        print_cost([cost], count, threads, adaptive=adaptive, as_json=as_json)
        return EXIT_OK
    if out is not None:
        check_target(out, replace=force)
    interrupted = False
    try:
        with progress_bar(Path(file).name, quiet=quiet) as progress:
            result = run_scenario(
                scenario,
                seed,
                reps,
                threads,
                warmup=warmup,
                engine=engine,
                parallel=parallel,
                trace=None if trace is None else traced,
                capture=capture,
                progress=progress,
            )
    except Interrupted as stop:
        result, interrupted = stop.result, True
    if out is not None and result.reports:
        result.write(out, replace=force)
    if parallel > 1 and not quiet:
        print_note(str(scenario.parts(parallel, result.base_seed)))
    if as_json:
        print_json(_run_json(result, series=series))
    elif result.reports:
        _print_run(result, metrics)
    print_warnings(result.warnings, printed=scenario.warnings)
    for name, rows in result.omitted.items():
        print_note(f"{rows} rows of the table {name} are left out, since they are above run.record-limit")
    if out is not None and result.reports and not quiet:
        print_note(f"written: {out}")
    if trace is not None and not quiet:
        print_note(f"trace: {trace}; `tailback trace {trace}` shows it")
    if interrupted:
        kept = "they are in the run directory" if out is not None and result.reports else "no directory was written"
        print_error(f"interrupted after {len(result.reports)} replications; {kept}")
        return EXIT_INTERRUPTED
    return EXIT_SCENARIO if strict and result.warnings else EXIT_OK


def _run_json(result: Result, *, series: bool) -> dict[str, object]:
    document = {**result.manifest(), "summary": [e.as_json() for e in result.estimates()], "ports": _ports(result)}
    if series:
        document["series"] = [{"seed": report.seed, **(report.data["series"] or {})} for report in result.reports]
    return document


def _print_run(result: Result, metrics: Sequence[str]) -> None:
    out = console()
    n = len(result.reports)
    if result.is_precise is False:
        print_note("run.precision was not met: raise its max-replications, or run.duration")
    title = result.scenario.title or "run"
    warmup = result.warmup
    found = f"warm-up {warmup.seconds:.6g} s ({warmup.method})" if warmup.seconds is not None else ""
    print_line(f"{title}: {n} replication{'s' if n > 1 else ''}, seeds from {result.base_seed}, {found}")
    print_line(f"digest {result.digest}")
    estimates = result.estimates()
    seen = {e.measure.metric for e in estimates}
    for name in metrics:
        if name not in seen:
            print_note(f"no flows of this run have the metric {name}: {METRICS[name].about}")
    out.print(_summary_table(estimates, result.confidence, metrics or _default_metrics(seen)))
    noteworthy = ("dropped_packets", "marked_packets", "stopped_share", "held_share", "notifications_sent")
    ports = [row for row in _ports(result) if any(row[name] for name in noteworthy)]
    if ports:
        absent = {name for name in ("dropped_acks", "marked_packets") if not any(row[name] for row in ports)}
        columns = {name: show for name, show in _PORT_COLUMNS.items() if name not in absent}
        rows = [[str(row["port"]), *(show(float(row[name])) for name, (_, show) in columns.items())] for row in ports]
        title = "Ports with drops, marks, stops, held data or notifications (means)"
        out.print(table(title, ("port", *(heading for heading, _ in columns.values())), rows))


_PORT_COLUMNS: dict[str, tuple[str, Callable[[float], str]]] = {
    "utilisation": ("busy", lambda share: f"{share:.1%}"),
    "dropped_packets": ("dropped", lambda count: digits(count, 6)),
    "dropped_acks": ("of these ACKs", lambda count: digits(count, 6)),
    "marked_packets": ("marked", lambda count: digits(count, 6)),
    "stopped_share": ("stopped", lambda share: f"{share:.1%}"),
    "held_share": ("held", lambda share: f"{share:.1%}"),
    "notifications_sent": ("notifications", lambda count: digits(count, 6)),
    "queue_max_bytes": ("longest queue", lambda size: f"{digits(size / 1e3, 4)} kB"),
}
"""Columns of the table of ports by key of `_ports`: heading, and formatter of a mean."""


_NOT_IN_QUEUES = ("link loss", "link down", "input buffer full", "policed")
"""Drop causes that the counters of a port's queues do not include."""


def _default_metrics(seen: Collection[str]) -> list[str]:
    """Return the default columns: metrics of packets, and those of `seen` that transports and applications have."""
    chosen = ["offered", "loss", "delay", "delay_p99", "throughput"]
    times = ("response", "response_p99", "slowdown") if "response" in seen else ("completion", "completion_p99")
    return chosen + [name for name in ("goodput", *times) if name in seen]


def _summary_table(estimates: Sequence[Estimate], confidence: float, metrics: Sequence[str]) -> Rows:
    """Return a table with a row per group, per class and for all flows, and a column per metric.

    Rows that would repeat another one, or have none of the metrics, are left out.
    """
    rows: dict[tuple[str, str], dict[str, str]] = {}
    for estimate in estimates:
        measure = estimate.measure
        key = (measure.scope, measure.name)
        shown = quantity(estimate.interval, measure, estimate.resolution)
        rows.setdefault(key, {})[measure.metric] = shown
    names = {"total": "all flows", "group": "{}", "class": "class {}"}
    counts = {scope: sum(key[0] == scope for key in rows) for scope in names}
    # A single class repeats all flows, and all flows repeat a single group, except for metrics of all flows only.
    wanted = [s for s in ("group", "class", "total") if s == "group" or counts["group" if s == "total" else s] > 1]
    groups = {metric for (scope, _), cells in rows.items() if scope == "group" for metric in cells}
    if set(metrics) & (rows.get(("total", ""), {}).keys() - groups) and "total" not in wanted:
        wanted.append("total")
    body = [
        [names[scope].format(name), *(cells.get(metric, "") for metric in metrics)]
        for scope in wanted
        for (found, name), cells in rows.items()
        if found == scope and any(metric in cells for metric in metrics)
    ]
    headings = (METRICS[metric].title or metric for metric in metrics)
    return table(f"Means with {confidence:.0%} intervals", ("flows", *headings), body)


def _ports(result: Result) -> list[dict[str, str | float]]:
    """Return a row for each port with means over replications, in descending order of drops, then of held data."""
    found: dict[str, list[dict[str, float]]] = {}
    for report in result.reports:
        acks: Counter[str] = Counter()
        for drop in report.ack_drops():
            if drop["reason"] not in _NOT_IN_QUEUES:
                acks[drop["where"]] += drop["packets"]
        for port in report.data["ports"]:
            row = {
                "dropped_packets": sum(c["dropped"]["packets"] for c in port["classes"]),
                "dropped_acks": acks[port["name"]],
                "marked_packets": sum(c["marked_packets"] for c in port["classes"]),
                "utilisation": port["utilisation"],
                "stopped_share": port["stopped_s"] / report.measured_s,
                "held_share": port["held_s"] / report.measured_s,
                "notifications_sent": port["notifications_sent"],
                "queue_max_bytes": max(c["max_bytes"] for c in port["classes"]),
            }
            found.setdefault(port["name"], []).append(row)
    means: list[dict[str, str | float]] = [
        {"port": port, **{name: sum(row[name] for row in rows) / len(rows) for name in rows[0]}}
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
@allow_files_option
@seed_option
@reps_option
@click.option(
    "--confidence",
    type=click.FloatRange(0.5, 0.999999),
    default=0.95,
    show_default=True,
    help="Confidence level of the intervals.",
)
@threads_option
@json_option
@quiet_option
def compare(
    a: str,
    b: str,
    allow_files: bool,
    seed: int | None,
    reps: int | None,
    confidence: float,
    threads: int | None,
    as_json: bool,
    quiet: bool,
) -> None:
    """Compare A and B, two run directories or two scenario files, by paired differences B minus A.

    Scenario files are run first, with the same seeds. A star marks differences whose confidence interval excludes zero.
    """
    from tailback.study.compare import compare as compare_runs

    with progress_bar("compare", quiet=quiet) as progress:
        found = compare_runs(
            a,
            b,
            seed=seed,
            replications=reps,
            threads=threads,
            confidence=confidence,
            progress=progress,
            allow_files=allow_files,
        )
    if as_json:
        print_json(found.as_json())
        return
    rows = []
    for d in found.distinct():
        flows = {"total": "all flows", "group": d.measure.name, "class": f"class {d.measure.name}"}[d.measure.scope]
        star = "*" if d.is_significant else ""
        cells = zip((d.a, d.b, d.difference), (*d.resolutions, sum(d.resolutions)), strict=True)
        rows.append([flows, d.measure.metric, *(quantity(interval, d.measure, r) for interval, r in cells), star])
    title = f"{len(found.seeds)} pairs, {confidence:.0%} intervals"
    console().print(table(title, ("flows", "metric", "A", "B", "B \N{MINUS SIGN} A", ""), rows, words=2))
