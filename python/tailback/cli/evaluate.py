"""The command evaluate: characterises a queue discipline by RFC 7928."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from tailback.cli.options import SETTINGS, json_option, quiet_option, seed_option
from tailback.cli.output import console, print_error, print_json, print_line, print_note, table, watch_bar
from tailback.errors import EXIT_INTERRUPTED, EXIT_OK

if TYPE_CHECKING:
    from tailback.evaluation.card import Card, Row
    from tailback.evaluation.choices import ProfileName

__all__ = ["evaluate"]


@click.command(
    context_settings=SETTINGS,
    epilog="""\b
Examples:
  tailback evaluate codel                                    against drop-tail, pie and red
  tailback evaluate '{ kind = "pie", target = "20ms" }' --against pie,fq-codel
  tailback evaluate law.toml --only 8.2 --out out/law        a file with discipline = { ... }

\b
Exit codes: 0 evaluated, 2 unknown discipline or section, 3 invalid discipline, 4 a run failed,
130 interrupted (the card has the finished replications).""",
)
@click.argument("discipline", metavar="DISCIPLINE")
@click.option(
    "--against",
    metavar="NAME,…",
    help="Disciplines to compare with, in the same forms. Default: drop-tail, codel, pie and red.",
)
@click.option("--quick", "profile", flag_value="quick", default=True, help="Runs of a minute (default).")
@click.option("--full", "profile", flag_value="full", help="Runs of five minutes, and more replications.")
@click.option("--only", multiple=True, metavar="SECTION", help="Section of RFC 7928, such as 8.2; may be repeated.")
@seed_option
@click.option(
    "--jobs",
    "--threads",
    "jobs",
    type=click.IntRange(min=1),
    help="Replications at a time; default: one per processor.",
)
@click.option("--out", type=click.Path(path_type=Path), help="Directory for card.html, card.json and figures.")
@json_option
@quiet_option
def evaluate(
    discipline: str,
    against: str | None,
    profile: str,
    only: tuple[str, ...],
    seed: int | None,
    jobs: int | None,
    out: Path | None,
    as_json: bool,
    quiet: bool,
) -> int:
    """Characterise a queue discipline by RFC 7928: one row for each of its sections 4 to 12.

    DISCIPLINE is a kind, an inline table, or a TOML file with the key `discipline`. Each scenario is run with all
    disciplines and the same seeds; "better" and "worse" are decided by intervals of paired differences.
    """
    from tailback.evaluation.evaluate import DEFAULTS, write
    from tailback.evaluation.evaluate import evaluate as evaluate_all
    from tailback.evaluation.subject import split, subject

    chosen = subject(discipline)
    others = [subject(text) for text in (DEFAULTS if against is None else split(against))]
    if against is None:
        others = [other for other in others if other.name != chosen.name]
    name: ProfileName = "full" if profile == "full" else "quick"
    with watch_bar(quiet=quiet) as watch:
        found = evaluate_all(
            chosen, others, profile=name, only=only, seed=1 if seed is None else seed, threads=jobs, watch=watch
        )
    if out is not None:
        report = write(found, out)
        if not quiet:
            print_note(f"card: {report}")
    if as_json:
        print_json(found.as_json())
    else:
        _print(found)
    if found.interrupted:
        print_error("interrupted; the card has the finished replications")
        return EXIT_INTERRUPTED
    return EXIT_OK


def _print(found: Card) -> None:
    screen = console()
    rows = [
        [row.section, row.title, row.status, *(_counts(row, other) for other in found.against)] for row in found.rows
    ]
    screen.print(table(f"{found.discipline} by RFC 7928", ("", "section", "status", *found.against), rows, words=3))
    for other in found.against:
        counts = ", ".join(f"{count} {word}" for word, count in found.words(other).items())
        print_line(f"against {other}: {counts}")


def _counts(row: Row, other: str) -> str:
    words = [str(score.against[other].word) for score in row.scores if other in score.against]
    signs = (("better", "+"), ("worse", "-"), ("undecided", "?"))
    return " ".join(f"{words.count(word)}{sign}" for word, sign in signs if word in words)
