"""The command tune: searches for settings that meet targets."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tailback.cli.options import (
    SETTINGS,
    allow_files_option,
    json_option,
    quiet_option,
    reps_option,
    scenario_file,
    seed_option,
    settings_option,
    threads_option,
)
from tailback.cli.output import console, print_json, print_line, print_note, progress_bar, table
from tailback.cli.router import (
    interface_option,
    overhead_option,
    patched,
    policy_option,
    rate_option,
    traffic_option,
)
from tailback.errors import EXIT_CLAIM, EXIT_OK, EXIT_SCENARIO, OutputError

if TYPE_CHECKING:
    from tailback.router.policy import Configuration, Writable

__all__ = ["tune"]


@click.command(
    context_settings=SETTINGS,
    epilog="""\b
Examples:
  tailback tune scenario.toml --vary switches.ce.ports.sink.buffer=5packets..200packets \\
    --target 'voice.delay.p99<=20ms' --target 'data.loss<=1%'
  tailback tune scenario.toml --diff policy.txt \\
    --vary 'switches.ce.ports.sink.discipline.classes[VOICE].priority.rate=400kbit/s..600kbit/s' \\
    --target 'calls.loss<=0.1%'

\b
Metrics: loss, delay, delay.p99, jitter, pdv.p99, pdv.p999, throughput, goodput, mos.
Exit codes: 0 every target is met by the whole interval of its metric, 5 at least one target is not,
3 the configuration of --diff cannot express the settings.""",
)
@scenario_file
@click.option(
    "--vary", "varied", multiple=True, required=True, metavar="PATH=LO..HI|A|B", help="Setting to vary, and its values."
)
@click.option(
    "--target", "targets", multiple=True, required=True, metavar="GROUP.METRIC<=VALUE", help="Target to meet, <= or >=."
)
@click.option(
    "--cost", "costs", multiple=True, metavar="[WEIGHT*]PATH", help="Cost: weight (default 1) times the value."
)
@click.option("--steps", type=click.IntRange(min=2), default=16, show_default=True, help="Values to try in a range.")
@click.option("--budget", type=click.IntRange(min=1), default=200, show_default=True, help="Maximum candidates.")
@click.option(
    "--confirm",
    type=click.IntRange(min=2),
    default=10,
    show_default=True,
    help="Replications, with new seeds, that confirm a candidate.",
)
@click.option("--out", type=click.Path(path_type=Path), help="File to write the tuned scenario to.")
@click.option(
    "--diff",
    "original",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="POLICY",
    help="Configuration from which FILE was imported; the changes that it needs are printed as a diff.",
)
@click.option(
    "--language",
    type=click.Choice(["mqc", "tc"]),
    default="mqc",
    show_default=True,
    help="Language of the file of --diff.",
)
@interface_option
@policy_option
@rate_option
@overhead_option
@traffic_option
@settings_option
@allow_files_option
@seed_option
@reps_option
@threads_option
@json_option
@quiet_option
def tune(
    file: str,
    varied: tuple[str, ...],
    targets: tuple[str, ...],
    costs: tuple[str, ...],
    steps: int,
    budget: int,
    confirm: int,
    out: Path | None,
    original: Path | None,
    language: Writable,
    interface: str | None,
    policy: str | None,
    rate: str | None,
    overhead: str | None,
    traffic: Path | None,
    settings: list[tuple[str, str]],
    allow_files: bool,
    seed: int | None,
    reps: int | None,
    threads: int | None,
    as_json: bool,
    quiet: bool,
) -> int:
    """Search for the cheapest settings of the scenario FILE that meet all targets, and confirm them with new seeds."""
    from tailback.scenario import load
    from tailback.study import tune as search

    scenario = load(file, allow_files=allow_files).with_texts(settings)
    with progress_bar("candidates", quiet=quiet) as progress:
        found = search.tune(
            scenario,
            [search.parameter(text, steps) for text in varied],
            [search.target(text) for text in targets],
            [search.cost(text) for text in costs],
            budget=budget,
            replications=reps,
            confirmations=confirm,
            seed=seed,
            threads=threads,
            progress=progress,
        )
    tuned = scenario.with_texts(list(found.settings.items()))
    made = None if original is None else patched(language, tuned, original, traffic, interface, policy, rate, overhead)
    if as_json:
        print_json(found.as_json() | ({} if made is None or original is None else _patch_json(made, original.name)))
    else:
        console().print(
            table("", ("setting", "value"), [[path, value] for path, value in found.settings.items()], words=2)
        )
        rows = [
            [
                check.target.text,
                f"{check.interval.mean:.4g}",
                f"{check.interval.lo:.4g} to {check.interval.hi:.4g}",
                check.state,
            ]
            for check in found.checks
        ]
        console().print(table("", ("target", "mean", f"{100 * found.confidence:.4g}% interval", ""), rows))
        tried = f"all {found.tried} candidates" if found.is_exhaustive else f"{found.tried} chosen candidates"
        line = f"cost {found.cost:.6g}; {tried} tried; checked by {found.replications} replications with new seeds"
        print_line(line)
        for attempt in found.attempts:
            if attempt is not found.best:
                values = ", ".join(f"{path} = {value}" for path, value in attempt.settings.items())
                not_met = "; ".join(f"{c.target.text} {c.state}" for c in attempt.checks if c.state != "met")
                print_line(f"not confirmed: {values} ({not_met})")
        if made is not None and original is not None:
            _print_patch(made, original.name, quiet=quiet)
    if out is not None:
        try:
            out.write_text(tuned.to_toml(), encoding="utf-8")
        except OSError as error:
            raise OutputError(f"{out} cannot be written: {error.strerror}") from None
        if not quiet:
            print_note(f"written: {out}")
    if made is not None and made.errors:
        return EXIT_SCENARIO
    return EXIT_OK if found.is_met else EXIT_CLAIM


def _patch_json(made: Configuration, file: str) -> dict[str, object]:
    return {
        "diff": made.diff(file),
        "paste": made.paste,
        "changes": [asdict(change) for change in made.changes],
        "notices": [asdict(notice) for notice in made.notices],
    }


def _print_patch(made: Configuration, file: str, *, quiet: bool) -> None:
    for notice in made.notices:
        if notice.level == "error" or not quiet:
            print_note(str(notice))
    if made.errors:
        return
    # The diff is not wrapped to the terminal, since programs read it.
    click.echo(f"\n{made.diff(file)}" if made.changes else f"\n{file} needs no change", nl=not made.changes)
    if made.paste and made.changes:
        click.echo(f"\nCommands for the router:\n\n{made.paste}", nl=False)
