"""The command lab: serves the page in which the simulator runs in the browser."""

from __future__ import annotations

from pathlib import Path

import click

from tailback.cli.options import SETTINGS, allow_files_option, seed_option, settings_option
from tailback.cli.output import print_line
from tailback.errors import UsageError

__all__ = ["lab"]


@click.command(
    context_settings=SETTINGS,
    epilog="""\b
Examples:
  tailback lab                                     the scenarios of the gallery
  tailback lab scenario.toml                       a scenario
  tailback lab runs/first --no-browser             the scenario of a run directory

The server answers only programs on this machine. Ctrl-C ends it.""",
)
@click.argument("what", metavar="[SCENARIO|RUN]", required=False, type=click.Path(exists=True, path_type=Path))
@settings_option
@allow_files_option
@seed_option
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="TCP port. Default: a free one.")
@click.option("--no-browser", is_flag=True, help="Print the address, and do not open a browser.")
def lab(
    what: Path | None,
    settings: list[tuple[str, str]],
    allow_files: bool,
    seed: int | None,
    port: int,
    no_browser: bool,
) -> None:
    """Open the lab, a page in which the simulator runs: queues and frames that move, values to change, plots.

    SCENARIO is a scenario file, RUN a run directory. Without it, the page begins with a small scenario of its own.
    """
    import webbrowser

    from tailback.scenario import load
    from tailback.web.address import opening
    from tailback.web.lab import LOOPBACK, served

    fragment = ""
    if what is None and (settings or seed is not None):
        raise UsageError("--set and --seed need a scenario")
    if what is not None:
        file = what / "scenario.toml" if what.is_dir() else what
        scenario = load(file, allow_files=allow_files).with_texts(settings)
        # The text as it was written has comments.
        as_written = file.suffix == ".toml" and not settings
        fragment = opening(scenario, file.read_text(encoding="utf-8") if as_written else None, seed)
    with served(port) as server:
        url = f"http://{LOOPBACK}:{server.server_port}/index.html{fragment}"
        print_line(f"The lab is at {url}")
        if not no_browser:
            webbrowser.open(url)
        server.serve_forever()
