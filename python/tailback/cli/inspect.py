"""Commands that run no simulation: list, validate, schema, explain."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING

import click

from tailback import _native
from tailback.cli.options import (
    SETTINGS,
    allow_files_option,
    json_option,
    scenario_file,
    settings_option,
    strict_option,
)
from tailback.cli.output import fitted, print_error, print_json, print_unchanged, print_warnings
from tailback.errors import EXIT_OK, EXIT_SCENARIO, ScenarioError, UsageError
from tailback.scenario import load, read_document

if TYPE_CHECKING:
    from tailback.study import Study

__all__ = ["explain", "list_", "schema", "validate"]


@click.command("list", context_settings=SETTINGS)
@json_option
def list_(as_json: bool) -> None:
    """List experiments, benchmark workloads and registered kinds."""
    import tailback
    from tailback.bench import WORKLOADS
    from tailback.gallery.registry import EVERY, GROUPS, ON_REQUEST, experiment

    found = [experiment(id) for id in EVERY]  # noqa: A001
    if as_json:
        about = [
            {
                "id": e.id,
                "group": e.group,
                "title": e.title,
                "reference": e.reference,
                "on_request": e.id in ON_REQUEST,
            }
            for e in found
        ]
        print_json({"experiments": about, "workloads": list(WORKLOADS), "kinds": tailback.names()})
        return
    for group, title in GROUPS.items():
        rows = [e for e in found if e.group == group and e.id not in ON_REQUEST]
        if rows:
            click.echo(fitted(f"{title} (tailback reproduce {group})"))
            for e in rows:
                click.echo(fitted(f"  {e.id:16} {e.title}", hanging=17))
    click.echo("\nOn request only: not part of a group or of all (tailback reproduce ID)")
    for e in found:
        if e.id in ON_REQUEST:
            click.echo(fitted(f"  {e.id:16} {e.title}", hanging=17))
    click.echo("\nBenchmark workloads (tailback bench NAME)")
    for name, text in WORKLOADS.items():
        click.echo(fitted(f"  {name:16} {text}", hanging=17))
    click.echo("\nKinds (tailback explain NAME)")
    for what, kinds in tailback.names().items():
        click.echo(fitted(f"  {what:16} {', '.join(kinds)}", hanging=17))


@click.command(
    context_settings=SETTINGS,
    epilog="""\b
Examples:
  tailback validate scenario.toml
  tailback validate scenario.toml --set 'links[0].rate=1Gbit/s' --json""",
)
@scenario_file
@settings_option
@allow_files_option
@strict_option
@json_option
def validate(file: str, settings: list[tuple[str, str]], allow_files: bool, strict: bool, as_json: bool) -> int:
    """Check the scenario or study FILE and show each error with its place and a correction.

    Valid but suspicious settings are warnings.
    """
    from tailback.study.document import Study, is_study

    try:
        # The file is read only once, since it may be a pipe.
        text = read_document(file)
        if is_study(text):
            if settings:
                raise UsageError("--set is for scenarios; write the setting into the study file")
            return _valid_study(file, Study.load(file, text, allow_files=allow_files), strict, as_json)
        scenario = load(file, text, allow_files=allow_files).with_texts(settings).check()
    except ScenarioError as error:
        if as_json:
            found = {"valid": False, "file": file, "errors": error.problems, "rendered": error.rendered}
            print_json({**found, "warnings": []})
        else:
            print_error(error.rendered.removeprefix("error: "))
        return EXIT_SCENARIO
    print_unchanged(scenario)
    print_warnings(scenario.warnings)
    if as_json:
        found = {"valid": True, "file": file, "errors": [], "hash": scenario.hash, "title": scenario.title}
        print_json({**found, "warnings": [warning.as_json() for warning in scenario.warnings]})
    else:
        click.echo(f"{file} is valid ({scenario.hash})")
    return EXIT_SCENARIO if strict and scenario.warnings else EXIT_OK


def _valid_study(file: str, study: Study, strict: bool, as_json: bool) -> int:
    points = len(study.cells)
    print_warnings(study.warnings)
    if as_json:
        found = {"valid": True, "file": file, "errors": [], "hash": study.hash, "title": study.title}
        print_json({**found, "points": points, "warnings": [warning.as_json() for warning in study.warnings]})
    else:
        click.echo(f"{file} is a valid study of {points} points ({study.hash})")
    return EXIT_SCENARIO if strict and study.warnings else EXIT_OK


@click.command(
    context_settings=SETTINGS,
    epilog="""\b
Editors that read JSON Schema complete and check scenario files with it:
  tailback schema > tailback.schema.json
  first line of the scenario file:   #:schema ./tailback.schema.json""",
)
@click.option("--study", is_flag=True, help="Print the schema of study files.")
def schema(study: bool) -> None:
    """Print the JSON Schema of scenario files, or of study files."""
    click.echo(_native.study_schema() if study else _native.schema())


@click.command(
    context_settings=SETTINGS,
    epilog="""\b
Examples:
  tailback explain uniform-uniform
  tailback explain lan-a1""",
)
@click.argument("name")
def explain(name: str) -> None:
    """Explain the kind NAME and its parameters, or show the page of an experiment."""
    import tailback
    from tailback.gallery.registry import EVERY, experiment

    if name in EVERY:
        from tailback.cli.markdown import wrapped

        click.echo(wrapped(experiment(name).read("README.md").rstrip()))
        return
    text = _native.explain(name)
    if text is None:
        known = [*EVERY, *(kind for kinds in tailback.names().values() for kind in kinds)]
        near = get_close_matches(name, known, n=1)
        advice = f"; did you mean {near[0]}?" if near else "; `tailback list` shows all"
        raise UsageError(f"there is no kind or experiment {name!r}{advice}")
    # Continuation lines are indented below the description of their parameter.
    click.echo(fitted(text.rstrip(), hanging=8))
