"""The command that reproduces published figures."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from tailback.cli.options import (
    SETTINGS,
    executor_options,
    json_option,
    open_executor,
    quiet_option,
    seed_option,
    strict_option,
    threads_option,
    untraced_option,
)
from tailback.cli.output import console, print_error, print_json, print_note, print_warnings, table, watch_bar
from tailback.errors import EXIT_CLAIM, EXIT_INTERRUPTED, EXIT_OK, EXIT_SCENARIO, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from click.shell_completion import CompletionItem

    from tailback.reproduction.reproduce import Reproduction
    from tailback.run.executors import ExecutorName
    from tailback.study.experiment.points import ProfileName
    from tailback.study.experiment.runner import Trial

__all__ = ["reproduce"]


def _complete(ctx: click.Context, parameter: click.Parameter, incomplete: str) -> Sequence[CompletionItem]:
    from click.shell_completion import CompletionItem

    from tailback.gallery.registry import EVERY, GROUPS

    del ctx, parameter
    return [CompletionItem(name) for name in ("all", *GROUPS, *EVERY) if name.startswith(incomplete)]


@click.command(
    context_settings=SETTINGS,
    epilog="""\b
Examples:
  tailback reproduce                         all experiments, quick; report in out/report.html
  tailback reproduce lan-a1 --out /tmp/a1    one experiment
  tailback reproduce lan --seed 3000000      the same with other random numbers
  tailback reproduce lan --full              narrow intervals, all points: takes hours""",
)
@click.argument("what", metavar="[ID|GROUP|all]", default="all", shell_complete=_complete)
@click.option("--quick", "profile", flag_value="quick", default=True, help="Few points, short runs (default).")
@click.option(
    "--full",
    "profile",
    flag_value="full",
    help="All points, to ±10 % of the mean or ±0.1 percentage points of a share.",
)
@click.option(
    "--out", type=click.Path(path_type=Path), default=Path("out"), show_default=True, help="Directory to write."
)
@seed_option
@executor_options
@threads_option
@strict_option
@untraced_option
@json_option
@quiet_option
def reproduce(
    what: str,
    profile: str,
    out: Path,
    seed: int | None,
    executor: ExecutorName,
    scheduler: str | None,
    options: Sequence[tuple[str, str]],
    threads: int | None,
    strict: bool,
    trace: Path | None,
    as_json: bool,
    quiet: bool,
) -> int:
    """Reproduce published figures and check their claims: an experiment, a group, or all.

    Writes report.html, which needs no other file, and figures, samples and claims of each experiment. The exit code is
    5 if a claim fails, or if more claims are undecided than the profile allows. Ctrl-C keeps finished experiments. With
    --full, the same command with the same --out resumes a run that was stopped or killed.
    """
    if trace is not None:
        raise UsageError(
            "a reproduction writes no packet traces; trace a run of one point, as docs/traces.md shows under "
            "'Runs of sweeps and experiments'"
        )
    from tailback.gallery.registry import GROUPS, select
    from tailback.reproduction.reproduce import reproduce as reproduce_all

    chosen = select(what)
    name: ProfileName = "full" if profile == "full" else "quick"
    if strict and (warnings := [warning for one in chosen for warning in one.warnings(name)]):
        print_warnings(warnings)
        print_error("nothing was run, because of warnings and --strict")
        return EXIT_SCENARIO
    with open_executor(executor, scheduler, options, threads) as backend, watch_bar(quiet=quiet) as watch:
        report_trial = None if quiet or name == "quick" else _reporter(len(chosen))
        found = reproduce_all(
            chosen, name, out, seed=seed, watch=watch, finished=report_trial, executor=backend, groups=GROUPS
        )
    if as_json:
        print_json(found.as_json())
    else:
        _print(found)
    if not quiet:
        print_note(f"report: {found.report}")
    if found.interrupted:
        print_error("interrupted; the report contains the finished experiments")
        return EXIT_INTERRUPTED
    if not found.passed:
        counts = found.counts
        print_error(
            f"{counts['fail']} claims failed, {counts['undecided']} undecided "
            f"(at most {found.undecided_allowed} are allowed with --{found.profile})"
        )
        return EXIT_CLAIM
    return EXIT_OK


def _reporter(experiments: int) -> Callable[[Trial, int], None]:
    """Return a function that reports each finished experiment on stderr, since a full reproduction takes hours."""

    def report_trial(trial: Trial, number: int) -> None:
        counts = ", ".join(f"{n} {word}" for word, n in words([trial]).items() if n)
        low, high = trial.replications
        effort = (
            f"{len(trial.samples)} points, {low} to {high} replications"
            if high > low
            else (f"{len(trial.samples)} points, {low} replications")
        )
        resumed = f", {trial.resumed} from an earlier call" if trial.resumed else ""
        print_note(f"{number} of {experiments}: {trial.experiment.id}: {counts} ({effort}{resumed})")

    from tailback.study.experiment.runner import words

    return report_trial


def _print(found: Reproduction) -> None:
    from tailback.reproduction.scoreboard import measured_text

    screen = console()
    board = [
        [
            line.experiment,
            str(line.claim["headline"]),
            measured_text(_table(line.claim["measured"])),
            str(line.claim["verdict"]),
        ]
        for line in found.headlines
    ]
    if board:
        columns = ("experiment", "source", "measured here", "verdict")
        screen.print(table("Headlines", columns, board, words=4))
    rows = []
    for entry in found.entries:
        for claim in entry.claims:
            data = claim.as_json(found.profile)
            measured = _table(data["measured"])
            shown = [str(data["verdict"]), claim.text, measured_text(measured), str(measured["n"])]
            rows.append([entry.trial.experiment.id, claim.id, *shown])
    columns_of_claims = ("experiment", "claim", "verdict", "text", "measured (worst point)", "n")
    screen.print(table("Claims, 99 % intervals", columns_of_claims, rows, words=4))
    screen.print(", ".join(f"{n} {word}" for word, n in found.words.items()))
    screen.print("asserted: " + ", ".join(f"{n} {kind}" for kind, n in found.counts.items() if kind != "reported"))


def _table(value: object) -> dict[str, object]:
    assert isinstance(value, dict)
    return value
