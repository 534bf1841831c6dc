"""Commands for components that the user writes: new, check."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tailback.cli.options import SETTINGS, allow_files_option, json_option, quiet_option
from tailback.cli.output import print_json, print_line, print_note, watch_bar
from tailback.errors import EXIT_CLAIM, EXIT_OK, ScenarioError, UsageError, unreadable
from tailback.laws.new import KINDS, LANGUAGES, create, missing

if TYPE_CHECKING:
    from tailback.run.conformance.check import Conformance
    from tailback.run.conformance.networks import Law

__all__ = ["check", "new"]


@click.command(
    context_settings=SETTINGS,
    epilog="""\b
Examples:
  tailback new law my-aqm --in python               my_aqm/ with my_aqm.py, a scenario and tests
  tailback new law my-aqm --in c --out laws         my_aqm.c and others in laws/
  tailback new scheduler my-wfq --in rust           my_wfq/ with my_wfq.rs and a Makefile
  tailback new congestion-control my-tcp            my_tcp/ with a congestion control

\b
Exit codes: 0 written, 2 unknown kind or language, 4 a file exists or could not be written.""",
)
@click.argument("kind", metavar="KIND", type=click.Choice(KINDS))
@click.argument("name", metavar="NAME")
@click.option(
    "--in", "language", type=click.Choice(tuple(LANGUAGES)), default="python", show_default=True, help="Language."
)
@click.option("--out", type=click.Path(path_type=Path), help="Directory of the files. Default: the name in lower case.")
@quiet_option
def new(kind: str, name: str, language: str, out: Path | None, quiet: bool) -> None:
    """Write a component to begin with: the code, a scenario that uses it, and tests.

    KIND is a law (of a queue), scheduler, congestion-control or source. Existing files are never overwritten.
    """
    found = create(kind, name, language, out)
    for path in found:
        print_line(str(path))
    if not quiet:
        if (need := missing(language)) is not None:
            print_note(need)
        print_note(f"the next commands are in {found[-1]}")


def _table(ctx: click.Context, parameter: click.Parameter, value: str | None) -> dict[str, Any] | None:
    """Return the table of a text in TOML."""
    del ctx
    if value is None:
        return None
    try:
        found = tomllib.loads(f"table = {value}")["table"]
    except tomllib.TOMLDecodeError:
        found = None
    if not isinstance(found, dict):
        raise click.BadParameter(f"{value!r} is not a table such as '{{ limit = 30 }}'", param=parameter)
    return found


@click.command(
    context_settings=SETTINGS,
    epilog="""\b
Examples:
  tailback check my_aqm.py                                   the only law of the file
  tailback check my_aqm.py --parameters '{ target = "1ms" }'
  tailback check scenario.toml                               the laws that the scenario names

\b
Exit codes: 0 all checks passed, 2 wrong usage, 3 the law cannot be loaded, 5 a check did not pass.""",
)
@click.argument("file", metavar="FILE", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--class", "name", metavar="NAME", help="Class to check, if the file has several.")
@click.option("--parameters", callback=_table, metavar="TABLE", help="Parameters of the law, an inline table of TOML.")
@allow_files_option
@json_option
@quiet_option
def check(
    file: Path, name: str | None, parameters: dict[str, Any] | None, allow_files: bool, as_json: bool, quiet: bool
) -> int:
    """Check a queue law or another component: promises of its interface, and repeatable results.

    FILE is the component, or a scenario with queue laws. It is run in small networks: with both event engines, a second
    time in the same process, and in another process.
    """
    from tailback.run.conformance.check import check_law, law_of, laws_of

    if file.suffix not in (".toml", ".json"):
        laws = [law_of(file, name, parameters or {})]
    else:
        if parameters is not None:
            raise UsageError("--parameters needs a file with a law; a scenario states its parameters")
        laws = _chosen(laws_of(file, allow_files=allow_files), name)
    with watch_bar(quiet=quiet) as bar:

        def watch(text: str) -> None:
            if bar is not None:
                bar(text, 0, 0)

        try:
            found = [check_law(law, watch) for law in laws]
        except ScenarioError as error:
            raise _at_option(error) from None
    if as_json:
        print_json(found[0].as_json() if len(found) == 1 else [one.as_json() for one in found])
    else:
        for one in found:
            _print(one)
    return EXIT_OK if all(one.passed for one in found) else EXIT_CLAIM


def _at_option(error: ScenarioError) -> ScenarioError:
    """Return an error of a small network with the option that caused it; other errors are unchanged."""
    _, found, key = error.path.partition(".parameters")
    if not found:
        return error
    return unreadable(
        f"--parameters{', ' if key else ''}{key.removeprefix('.')}", error.message, error.suggestion or ""
    )


def _chosen(laws: list[Law], name: str | None) -> list[Law]:
    """Return the laws with a name, or all without one."""
    found = [law for law in laws if name in (None, law.name)]
    if not found:
        raise UsageError(f"the scenario has no law {name!r}; its laws are {', '.join(law.name for law in laws)}")
    return found


def _print(found: Conformance) -> None:
    print_line(f"`{found.law.name}` of {found.law.file.name}")
    width = max(len(finding.name) for finding in found.findings)
    for finding in found.findings:
        print_line(f"  {finding.status:9}  {finding.name:{width}}  {finding.about}")
        if finding.status == "failed":
            lines = [*finding.message.splitlines(), f"cure: {finding.cure}"]
            print_line("\n".join(f"             {line}" for line in lines))
    passed = sum(finding.status == "passed" for finding in found.findings)
    here = f"repeatable {found.repeatable}" if found.repeatable else "not shown to be repeatable"
    print_line(f"{passed} of {len(found.findings)} checks passed; {here}")
