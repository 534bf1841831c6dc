"""The command evaluate: report cards of queue disciplines (RFC 7928) and of congestion controls (RFC 9743)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from tailback.cli.options import SETTINGS, json_option, quiet_option, seed_option
from tailback.cli.output import console, print_error, print_json, print_line, print_note, table, watch_bar
from tailback.errors import EXIT_INTERRUPTED, EXIT_OK, UsageError

if TYPE_CHECKING:
    from tailback.evaluation.card import Card, Row
    from tailback.evaluation.choice import ProfileName

__all__ = ["evaluate"]


@click.command(
    context_settings=SETTINGS,
    epilog="""\b
Examples:
  tailback evaluate codel                                    against drop-tail, pie and red
  tailback evaluate '{ kind = "pie", target = "20ms" }' --against pie,fq-codel
  tailback evaluate law.toml --only 8.2 --out out/law        a file with discipline = { ... }
  tailback evaluate my_aqm.py                                the only law of the file, with its defaults
  tailback evaluate --transport cubic                        against reno and bbr
  tailback evaluate --transport '{ kind = "cubic", beta = 0.5 }' --only rfc9743/5.2
  tailback evaluate --transport scenario.toml                the transport of the scenario's flows

\b
Exit codes: 0 evaluated, 2 unknown name or section, 3 invalid table or file, 4 a run failed,
130 interrupted (the card has the finished replications).""",
)
@click.argument("discipline", metavar="[DISCIPLINE]", required=False)
@click.option(
    "--transport",
    metavar="CC",
    help="Congestion control to evaluate instead of a discipline, in the same forms.",
)
@click.option(
    "--against",
    metavar="NAME,…",
    help="Subjects to compare with, in the same forms. Default: drop-tail, codel, pie, red; or reno, cubic, bbr.",
)
@click.option("--quick", "profile", flag_value="quick", default=True, help="Runs of a minute (default).")
@click.option("--full", "profile", flag_value="full", help="Runs of five minutes, and more replications.")
@click.option(
    "--only",
    multiple=True,
    metavar="SECTION",
    help="Section: 8.2, or rfc9743/5.2; may be repeated.",
)
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
    discipline: str | None,
    transport: str | None,
    against: str | None,
    profile: str,
    only: tuple[str, ...],
    seed: int | None,
    jobs: int | None,
    out: Path | None,
    as_json: bool,
    quiet: bool,
) -> int:
    """Characterise a queue discipline by RFC 7928, or a congestion control by RFC 9743, RFC 5166 and the TCP suite.

    DISCIPLINE is a kind, an inline table, a TOML file with the key `discipline`, or a file of Python with one law; CC
    likewise, with the key `transport` at the top or in the flows of a scenario. Each section is a row. Each
    scenario is run with all subjects and the same seeds; "better" and "worse" are decided by intervals of paired
    differences, "passes" and "fails" by the interval against a limit.
    """
    from tailback.evaluation.evaluate import evaluate as evaluate_all
    from tailback.evaluation.evaluate import guide_of, write
    from tailback.evaluation.subject import DISCIPLINE, TRANSPORT, split, subject

    if (discipline is None) == (transport is None):
        raise UsageError("name either a discipline or, with --transport, a congestion control")
    role = DISCIPLINE if transport is None else TRANSPORT
    chosen = subject(discipline or transport or "", role)
    others = [subject(text, role) for text in (guide_of(role).defaults if against is None else split(against))]
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
    judged = any(found.outcomes.values())
    rows = [
        [
            row.number,
            row.title,
            row.status,
            *([_limits(row)] if judged else []),
            *(_counts(row, other) for other in found.against),
        ]
        for row in found.rows
    ]
    heads = ("", "section", "status", *(["limits"] if judged else []), *(f"against {one}" for one in found.against))
    screen.print(table(f"{found.subject} by {found.guide.name}", heads, rows, words=4 if judged else 3))
    if judged:
        print_line(f"limits: {', '.join(f'{count} {outcome}' for outcome, count in found.outcomes.items())}")
    for other in found.against:
        counts = ", ".join(f"{word} {count}" for word, count in found.words(other).items())
        print_line(f"{found.subject} against {other}, number of criteria: {counts}")


def _limits(row: Row) -> str:
    found = [str(score.outcome) for score in row.scores if score.outcome]
    return ", ".join(f"{found.count(name)} {name}" for name in dict.fromkeys(found))


def _counts(row: Row, other: str) -> str:
    words = [str(score.against[other].word) for score in row.scores if other in score.against]
    signs = (("better", "+"), ("worse", "-"), ("undecided", "?"))
    return " ".join(f"{words.count(word)}{sign}" for word, sign in signs if word in words)
