"""Command `why`."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import click

from tailback.cli.options import SETTINGS, allow_files_option, json_option, settings_option
from tailback.cli.output import print_json, visible
from tailback.errors import UsageError

__all__ = ["why"]


@click.command(
    context_settings=SETTINGS,
    epilog="""\b
Examples:
  tailback why scenario.toml --flow 'data[3]'               its delivered packet with the largest delay
  tailback why runs/first --flow data --drop 1              its first dropped packet
  tailback why scenario.toml --flow data --at 1.2s --out why.svg
  tailback why scenario.toml --port 's1->h2' --worst queue""",
)
@click.argument("run", metavar="RUN", type=click.Path(exists=True, path_type=Path))
@click.option("--flow", metavar="NAME", help="The flow, such as data or data[3].")
@click.option("--packet", type=int, metavar="N", help="Its packet N, from 0, with all its transmissions.")
@click.option("--at", metavar="TIME", help="Its packet in the network at this time, or the first one after it.")
@click.option("--drop", type=int, metavar="N", help="Its Nth dropped packet, from 1.")
@click.option(
    "--worst",
    type=click.Choice(["delay", "drop", "queue"]),
    help="delay: its delivered packet with the largest delay (default); drop: its first dropped packet; "
    "queue: the queue of --port at its longest.",
)
@click.option("--port", metavar="NAME", help="A port, such as s1->h2, instead of a flow.")
@click.option("--seed", type=click.IntRange(min=0), help="Seed of the replication.")
@settings_option
@click.option(
    "--parallel",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="Maximum number of parts of the network.",
)
@allow_files_option
@json_option
@click.option("--out", type=click.Path(path_type=Path), help="Figure to write: .png, .svg or .pdf.")
def why(
    run: Path,
    flow: str | None,
    packet: int | None,
    at: str | None,
    drop: int | None,
    worst: Literal["delay", "drop", "queue"] | None,
    port: str | None,
    seed: int | None,
    settings: list[tuple[str, str]],
    parallel: int,
    allow_files: bool,
    as_json: bool,
    out: Path | None,
) -> None:
    """Explain why a packet was late or dropped, or of what a port's queue consisted.

    RUN is a scenario file, or a run directory, whose replication is simulated again and must have its digest again.
    """
    from tailback.run.why import why as explain
    from tailback.scenario import Scenario, load

    kinds: dict[str, Literal["png", "svg", "pdf"]] = {".png": "png", ".svg": "svg", ".pdf": "pdf"}
    if out is not None and out.suffix not in kinds:
        raise UsageError(f"the name of {out} does not end in .png, .svg or .pdf")
    source: Path | Scenario = run
    if settings:
        if run.is_dir():
            raise UsageError("--set needs a scenario file; a run directory is repeated as it is")
        source = load(run, allow_files=allow_files).with_texts(settings)
    found = explain(
        source,
        flow=flow,
        packet=packet,
        at=at,
        drop=drop,
        worst=worst,
        port=port,
        seed=seed,
        parallel=parallel,
        allow_files=allow_files,
    )
    if as_json:
        print_json(found.as_json())
    else:
        click.echo("\n".join(visible(line) for line in str(found).splitlines()))
    if out is not None:
        from tailback.plotting.plot import to_bytes
        from tailback.results.directory import write_file

        write_file(out, to_bytes(found.plot(), kinds[out.suffix]))
        click.echo(f"written: {out}", err=True)
