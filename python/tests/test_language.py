"""The lint of comments and pages finds the words of the table in the glossary; the repository is free of them."""

from __future__ import annotations

import importlib.util
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from unittest.mock import MagicMock

import pytest

from tailback import _native
from tailback.gallery.registry import EVERY, experiment
from tailback.results.tables import TABLES
from tailback.study.experiment import Results
from tailback.study.experiment.runner import plan

ROOT = Path(__file__).resolve().parents[2]
LINT = ROOT / "tools" / "language.py"
BAD = {
    "question.rs": "/// Whether it is full.\npub fn full() {}\n",
    "value.rs": "/// None has a limit of its own.\npub struct Limit;\n",
    "phrase.rs": "fn f() {\n    // It tells the port so.\n}\n",
    "second-line.rs": "/// Number of packets\n/// of so many bytes.\npub struct Count;\n",
    "docstring.py": '"""What this is."""\n',
    "comment.py": "# Whoever comes first.\nx = 1\n",
    "page.md": "# Page\n\nIt goes by size.\n",
}
GOOD = {
    "value.rs": "/// `None`: no limit. The word `whoever` is quoted.\npub struct Limit;\n",
    "later.rs": "/// `true` if it is full, whether or not it is stopped.\npub fn full() {}\n",
    "code.rs": 'fn f() {\n    let text = "so many"; // counted\n}\n',
    "code.py": '"""Text."""\n\nx = "whoever"\n',
    "page.md": '# Page\n\n```sh\nwhoever\n```\n\nThe command `whoever` and "so many" are quoted.\n',
}

# Openings that refer to a previous sentence, which a row of a table does not have.
REFERS = re.compile(r"(?:It|Its|They|Them|There|And|Nor|So|The same|Then|These|Those|This)\b", re.IGNORECASE)


def lint(*paths: Path) -> subprocess.CompletedProcess[str]:
    """Run the lint on the paths."""
    return subprocess.run([sys.executable, str(LINT), *map(str, paths)], capture_output=True, text=True, check=False)


@pytest.mark.parametrize("name", BAD)
def test_forms_that_are_not_used_are_found_with_their_file(name: str, tmp_path: Path) -> None:
    """For each form the lint exits with 1 and names the file."""
    path = tmp_path / name
    path.write_text(BAD[name], encoding="utf-8")
    done = lint(path)
    assert done.returncode == 1
    assert f"{name}:" in done.stdout


@pytest.mark.parametrize("name", GOOD)
def test_code_and_quotations_have_no_findings(name: str, tmp_path: Path) -> None:
    """Code, literals and words within a sentence are no findings."""
    path = tmp_path / name
    path.write_text(GOOD[name], encoding="utf-8")
    done = lint(path)
    assert (done.stdout, done.returncode) == ("", 0)


def test_the_checked_files_use_the_words_of_the_glossary() -> None:
    """The paths in `CHECKED` of the lint have no finding."""
    done = lint()
    assert (done.stdout, done.returncode) == ("", 0)


def test_a_missing_path_is_an_error(tmp_path: Path) -> None:
    """A path that does not exist is an error, not a path without findings."""
    done = lint(tmp_path / "absent")
    assert done.returncode != 0
    assert "there is no" in done.stderr


def terms() -> set[str]:
    """Return the keys and columns that the glossary names."""
    text = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8").split("## Words that are not used")[0]
    rows = [line for line in text.splitlines() if line.startswith("| ")]
    return {name for row in rows for name in re.findall(r"`([^`]+)`", row.rsplit("|", 2)[1])}


def keys(schema: object) -> set[str]:
    """Return all keys of a document according to its JSON Schema."""
    if isinstance(schema, dict):
        return set(schema.get("properties", {})).union(*map(keys, schema.values()))
    if isinstance(schema, list):
        return set().union(*map(keys, schema))
    return set()


def test_the_glossary_has_each_key_and_each_column_and_no_other() -> None:
    """The glossary names a column without the statistic or unit that follows in its name."""
    listed = terms()
    known = keys(json.loads(_native.schema()))
    columns = {column for table in TABLES.values() for column in table}
    assert known <= listed, sorted(known - listed)
    named = {column: {name for name in listed if column == name or column.startswith(f"{name}_")} for column in columns}
    assert all(named.values()), [column for column, names in named.items() if not names]
    assert listed <= known.union(*named.values()), sorted(listed - known.union(*named.values()))


@pytest.fixture(scope="module")
def language() -> ModuleType:
    """Return the module of the lint."""
    spec = importlib.util.spec_from_file_location("language", LINT)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def sentences(id: str) -> Iterator[tuple[str, str]]:  # noqa: A002
    """Yield the texts of an experiment's claims and figures, each with its place."""
    trial = plan(experiment(id), "full")
    for claim in trial.claims:
        # Of the source only the text after `derived: ` is a sentence; the rest names a place.
        _, _, derived = claim.source.rpartition("derived: ")
        for name, text in (("text", claim.text), ("source", derived), ("reason", claim.reason)):
            yield f"{id}, claim {claim.id}, {name}", text
    for figure in trial.experiment.figures(trial.results):
        for name, text in (("title", figure.title), ("caption", figure.caption)):
            yield f"{id}, figure {figure.name}, {name}", text


@pytest.mark.parametrize("id", EVERY)
def test_each_text_of_a_claim_or_figure_is_understood_without_the_one_before(
    id: str,  # noqa: A002
    language: ModuleType,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """No text opens with a word that refers to another text, or has a word of the glossary's table."""
    monkeypatch.setattr(Results, "trace", lambda *_, **__: MagicMock())
    table = language.banned()
    found = []
    for place, text in sentences(id):
        if opening := REFERS.match(text):
            found.append(f"{place} opens with `{opening[0]}`: {text}")
        found += [f"{place}: {finding}" for finding in language.banned_words_in(text, table)]
    assert not found, "\n".join(found)
