"""Commands that draw and export results: plot, report, flent."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

import click

from tailback.cli.options import SETTINGS, allow_files_option
from tailback.errors import UsageError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from tailback.plotting.paper import Logarithmic
    from tailback.plotting.pictures import Run
    from tailback.run.result import Result

__all__ = ["flent", "plot", "report"]


@click.command(context_settings=SETTINGS)
@click.argument("what", metavar="DIR|SCENARIO", type=click.Path(exists=True, path_type=Path))
@click.option("--picture", metavar="NAME", help="Picture to draw, such as fct, cwnd or queue-composition; see below.")
@click.option("--of", "names", metavar="PATTERN", help="With --picture: the flows, groups or ports to draw.")
@click.option("--x", metavar="QUANTITY", help="Quantity of the x axis: time, an axis of a sweep, a metric, size, fct.")
@click.option(
    "--y", metavar="QUANTITY", help="Quantity of the y axis, such as 'goodput[*]', 'queue[sw1->*]', probe.NAME or cdf."
)
@click.option(
    "--between",
    nargs=2,
    type=float,
    metavar="S S",
    help="Part of the run to show, simulated s; with cwnd, rtt and time-sequence.",
)
@click.option("--log", type=click.Choice(["x", "y", "xy", "none"]), help="Logarithmic axes. Default: of the picture.")
@click.option(
    "--size", metavar="SIZE", default="column", show_default=True, help="column, page, 3.5in, 89mm or '3.5in x 2in'."
)
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    help="File to write: .png, .svg or .pdf. Default: DIR/plot.png, or SCENARIO with the suffix .png.",
)
@allow_files_option
def plot(
    what: Path,
    picture: str | None,
    names: str | None,
    x: str | None,
    y: str | None,
    between: tuple[float, float] | None,
    log: str | None,
    size: str,
    out: Path | None,
    allow_files: bool,
) -> None:
    """Draw a run directory, a sweep, or the network of a scenario file.

    For a run directory: throughput, loss and delay per group; with samples, also queues and the windows of flows with
    `probe` over time. For a scenario: nodes, links with rates, delays and buffers, and the directions of flows.

    With --picture or --x and --y: one figure for a publication, with texts as texts. A scenario is run for it, once and
    with the records that the figure needs. A sweep needs --x, one of its axes or a metric, and --y, a metric.

    Pictures: queue-cdf, delay-cdf, fct-cdf, fct, slowdown, cwnd, rtt, time-sequence, throughput, fairness,
    delay-throughput, queue-composition, heat-map.
    """
    from tailback.results.directory import RunDirectory, write_file

    is_figure = picture is not None or x is not None or y is not None
    target = out or (what / "plot.png" if what.is_dir() else what.with_suffix(".png"))
    kinds: dict[str, Literal["png", "svg", "pdf"]] = {".png": "png", ".svg": "svg", ".pdf": "pdf"}
    if target.suffix not in kinds:
        raise UsageError(f"the name of {target} does not end in .png, .svg or .pdf")
    if (x is None) != (y is None) or (picture is not None and x is not None):
        raise UsageError("a figure needs --x and --y together, or --picture alone")
    if between is not None and picture is None:
        raise UsageError("--between is for --picture with cwnd, rtt or time-sequence")
    if names is not None and picture is None:
        raise UsageError("--of chooses what --picture draws; with --x and --y write a pattern, such as 'goodput[web*]'")
    from tailback.plotting import plot as drawing

    if (what / "sweep.json").is_file():
        from tailback.plotting.xy import sweep_xy
        from tailback.study.sweep import open_sweep

        if x is None or y is None:
            raise UsageError(f"{what} is a sweep: write --x, one of its axes, and --y, a metric such as 'goodput[*]'")
        figure = sweep_xy(open_sweep(what), x, y, size=size, log=_axes(log))
    elif is_figure:
        run = RunDirectory(what) if what.is_dir() else _run_for_figure(what, picture, x, y, allow_files=allow_files)
        figure = _figure(run, picture, names, x, y, log, size, between)
    elif what.is_dir():
        stored = RunDirectory(what)
        metrics, series, nodes = (stored.table(name) for name in ("metrics", "series", "nodes"))
        figure = drawing.run_figure(metrics, series, nodes, stored.title, stored.confidence)
    else:
        from tailback.plotting.network import draw
        from tailback.scenario import load

        scenario = load(what, allow_files=allow_files)
        figure = draw(scenario, scenario.title)
    write_file(target, drawing.to_bytes(figure, kinds[target.suffix]))
    click.echo(str(target))


def _axes(log: str | None) -> Logarithmic:
    return cast("Logarithmic", "" if log in (None, "none") else log)


def _run_for_figure(file: Path, picture: str | None, x: str | None, y: str | None, *, allow_files: bool) -> Result:
    """Run a scenario once, with the records and samples that a figure needs, which change no result."""
    from tailback.plotting.needs import with_records
    from tailback.run.simulate import run as run_scenario
    from tailback.scenario import load

    scenario = load(file, allow_files=allow_files)
    return run_scenario(with_records(scenario, [text for text in (picture, x, y) if text]), replications=1)


def _figure(
    run: Run,
    picture: str | None,
    names: str | None,
    x: str | None,
    y: str | None,
    log: str | None,
    size: str,
    between: tuple[float, float] | None,
) -> Figure:
    if picture is not None:
        from inspect import signature

        from tailback.plotting.pictures import PICTURES
        from tailback.plotting.pictures import picture as draw

        options: dict[str, Any] = {"size": size}
        function = PICTURES.get(picture.replace("-", "_"))
        known = signature(function).parameters if function else ()
        if function and log is not None and "log" not in known:
            raise UsageError(f"the picture {picture} has no logarithmic axes")
        if function and between is not None and "between" not in known:
            raise UsageError(f"the picture {picture} is of the whole run: --between is for cwnd, rtt and time-sequence")
        options |= {"log": _axes(log)} if log is not None else {}
        options |= {"between": between} if between is not None else {}
        return draw(run, picture, *([] if names is None else [names]), **options)
    from tailback.plotting.xy import xy

    return xy(run, x or "", y or "", size=size, log=_axes(log))


@click.command(context_settings=SETTINGS)
@click.argument("directory", metavar="RUN|SWEEP", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--out", type=click.Path(path_type=Path), help="File to write. Default: DIR/report.html.")
def report(directory: Path, out: Path | None) -> None:
    """Write the page of a run directory or of a sweep: metrics with intervals, and charts to zoom into.

    The page is one file that needs no network. Next to it is a second one, with the suffix -static, that needs no
    JavaScript.
    """
    target = out or directory / "report.html"
    if (directory / "sweep.json").is_file():
        from tailback.study.sweep import open_sweep

        written = open_sweep(directory).report(target)
    else:
        from tailback.pages.document import write
        from tailback.pages.run import page

        written = write(page(directory), target)
    click.echo(str(written))


@click.command(context_settings=SETTINGS)
@click.argument("directory", metavar="DIR", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--out", type=click.Path(path_type=Path), help="File to write. Default: DIR/run.flent.gz.")
@click.option("--replication", type=int, default=0, show_default=True, help="Replication whose samples are written.")
def flent(directory: Path, out: Path | None, replication: int) -> None:
    """Write the samples of a run directory as a data file of flent (.flent.gz).

    The goodputs of flows, if `run.record` names "throughput-by-flow", or the throughputs of groups have the names of
    flent's test `tcp_nup`, so that its plots show them: flent -i DIR/run.flent.gz -p totals -o totals.pdf
    """
    from tailback.results import flent as export
    from tailback.results.directory import RunDirectory

    stored = RunDirectory(directory)
    content = export.document(stored.table("series"), stored.title, replication=replication)
    click.echo(str(export.write(content, out or directory / "run.flent.gz")))
