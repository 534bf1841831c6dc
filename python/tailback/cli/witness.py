"""The command witness: a scenario on an unmodified Linux kernel in virtual time, beside the simulator."""

from __future__ import annotations

from pathlib import Path

import click

from tailback.cli.options import SETTINGS, allow_files_option, settings_option
from tailback.cli.output import console, print_json, print_line, print_note, table
from tailback.errors import RunError, UsageError

__all__ = ["witness"]


@click.command(
    context_settings=SETTINGS,
    epilog="""\b
Examples:
  tailback witness --build                      build the kernel, once (about 10 minutes of two cores)
  tailback witness dumbbell.toml                compare a scenario
  tailback witness dumbbell.toml --out linux    and write the results, and pictures of windows and round-trip times

The kernel runs as a program with virtual time (User-Mode Linux); no root is needed.
What Linux 6.1 does not have is refused.""",
)
@click.argument(
    "file", metavar="SCENARIO", required=False, type=click.Path(exists=True, dir_okay=False, path_type=Path)
)
@settings_option
@allow_files_option
@click.option(
    "--build", is_flag=True, help="Build the kernel if it is not there, from Debian's package linux-source-6.1."
)
@click.option(
    "--kernel", type=click.Path(path_type=Path), help="Kernel's program, or where to build it. Default: the cache."
)
@click.option(
    "--port", metavar="NODE:NEIGHBOUR", help="Port to compare. Default: that of the slowest link with most flows."
)
@click.option("--seeds", type=click.IntRange(min=2), default=5, show_default=True, help="Smallest number of seeds.")
@click.option("--most", type=click.IntRange(min=2), default=20, show_default=True, help="Largest number of seeds.")
@click.option("--out", type=click.Path(path_type=Path), help="Folder for results and pictures.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON on stdout.")
@click.option("--quiet", "-q", is_flag=True, help="No notes on stderr.")
def witness(
    file: Path | None,
    settings: list[tuple[str, str]],
    allow_files: bool,
    build: bool,
    kernel: Path | None,
    port: str | None,
    seeds: int,
    most: int,
    out: Path | None,
    as_json: bool,
    quiet: bool,
) -> None:
    """Run a SCENARIO on an unmodified Linux kernel in virtual time, and compare the results.

    Hosts and switches become network namespaces, ports get the kernel's own disciplines, and TCP flows the kernel's own
    TCP. Seeds are added until each interval is narrower than its tolerance.
    """
    from tailback.scenario import load
    from tailback.witness import cache, run
    from tailback.witness.disciplines import Refused
    from tailback.witness.kernel import GuestError, Kernel

    program = cache.kernel() if kernel is None else kernel
    if build:
        cache.build(program)
    elif file is None:
        raise UsageError("give a SCENARIO, or --build")
    if file is None:
        return
    if most < seeds:
        raise UsageError("--most is smaller than --seeds")
    scenario = load(file, allow_files=allow_files).with_texts(settings)
    found = Kernel.found(program, cache.folder())
    if isinstance(found, str):
        raise RunError(f"there is no kernel to compare with: {found}")
    try:
        made = run.witnessed(
            scenario,
            found,
            None if port is None else run.port_of(port),
            least=seeds,
            most=most,
            said=None if quiet else lambda count: print_note(f"{count} seeds on the kernel"),
        )
    except Refused as error:
        raise UsageError(f"{file}: {error}") from error
    except GuestError as error:
        raise RunError(f"the guest failed: {error}") from error
    if out is not None:
        made.write(out)
    if as_json:
        print_json(made.as_json())
        return
    for note in made.case.notes:
        print_note(note)
    title = f"{made.case.port[0]}->{made.case.port[1]}, {made.seeds} seeds, 95 % intervals"
    console().print(table(title, ["metric", "Linux", "Tailback", "tolerance", ""], made.rows()))
    print_line(made.verdict())
