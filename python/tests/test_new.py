"""`tailback new`: each template is written, checked, tested and run; existing files stay."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import tailback as core
from tailback.errors import UsageError
from tailback.laws import new

MADE = [(kind, language) for kind, language in new.TEMPLATES]


@pytest.mark.parametrize(("kind", "language"), MADE)
def test_a_template_passes_its_checks_and_tests_and_its_commands_run(
    kind: str, language: str, tailback: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = tailback("new", kind, "MyAqm", "--in", language)
    assert done.code == 0
    folder = tmp_path / "my_aqm"
    assert sorted(done.out.splitlines()) == sorted(str(path.relative_to(tmp_path)) for path in folder.iterdir())
    assert all("@" not in path.read_text() for path in folder.iterdir())
    monkeypatch.chdir(folder)
    readme = (folder / "README.md").read_text()
    commands = [line.split("  ")[0] for line in readme.splitlines() if line.startswith("tailback ")]
    assert [command.split()[1] for command in commands] == ["check", "run", "sweep", "sweep", "plot", "evaluate"]
    for command in (commands[0], f"{commands[1]} --reps 1", f"{commands[3]} --reps 1", commands[4]):
        assert tailback(*command.split()[1:]).code == 0, command
    assert core.load("scenario.toml").warnings == ()
    shutil.rmtree("study.sweep")
    tested = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"],
        cwd=folder,
        env={"PYTHONPATH": ":".join(path for path in sys.path if path), "PATH": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert tested.returncode == 0, tested.stdout + tested.stderr


@pytest.mark.parametrize(("kind", "language"), MADE)
def test_the_sweep_and_the_evaluation_of_a_template_are_valid(
    kind: str, language: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tailback.evaluation.subject import subject

    new.create(kind, "x", language, tmp_path)
    monkeypatch.chdir(tmp_path)
    assert subject("discipline.toml").kind == "user"
    lines = Path("README.md").read_text().splitlines()
    (sweep,) = [line for line in lines if line.startswith("tailback sweep scenario.toml")]
    setting = sweep.partition("--set '")[2].rpartition("'")[0]
    found = core.study.sweep.parse_axes([setting])[1]
    short = core.load("scenario.toml").set(duration="6s", replications=1)
    assert len(core.sweep(short, found, replications=1).runs) == 3


@pytest.mark.parametrize("name", ["README.md", "x.py"])
def test_existing_files_are_never_overwritten(name: str, tailback: Callable[..., Any], tmp_path: Path) -> None:
    (tmp_path / name).write_text("mine")
    done = tailback("new", "law", "x", "--out", tmp_path)
    assert done.code == 4
    assert f"{name} exists" in done.err
    assert [path.name for path in tmp_path.iterdir()] == [name]
    assert (tmp_path / name).read_text() == "mine"


@pytest.mark.parametrize("kind", new.KINDS)
@pytest.mark.parametrize("language", new.LANGUAGES)
def test_a_kind_without_a_template_is_refused_by_name(
    kind: str, language: str, tailback: Callable[..., Any], tmp_path: Path
) -> None:
    if (kind, language) in new.TEMPLATES:
        return
    done = tailback("new", kind, "x", "--in", language, "--out", tmp_path / "out")
    assert done.code == 2
    assert f"there is no template of a {kind} in {language}" in done.err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("arguments", [("queue", "x"), ("law", "x", "--in", "perl"), ("law",)])
def test_an_unknown_kind_or_language_is_wrong_usage(arguments: tuple[str, ...], tailback: Callable[..., Any]) -> None:
    assert tailback("new", *arguments).code == 2


@pytest.mark.parametrize(
    ("name", "stem"),
    [("MyLaw", "my_law"), ("my-law", "my_law"), ("my_law", "my_law"), ("PIE2", "pie2"), ("a--b_", "a_b")],
)
def test_names_of_files_are_in_lower_case(name: str, stem: str) -> None:
    assert new.file_stem(name) == stem


@pytest.mark.parametrize("name", ["", "1a", "a.b", "a/b", "../a", "a b", "\N{LATIN SMALL LETTER E WITH ACUTE}"])
def test_names_that_are_no_names_of_classes_are_refused(name: str) -> None:
    with pytest.raises(UsageError, match="is not a name"):
        new.file_stem(name)


def test_every_template_folder_is_in_the_table_and_complete() -> None:
    folders = {path.name: {file.name for file in path.iterdir()} for path in new._FOLDER.iterdir() if path.is_dir()}
    assert {one.folder: set(one.files) for one in new.TEMPLATES.values()} == folders


def test_the_example_of_the_tutorial_is_the_template(tmp_path: Path) -> None:
    example = Path(__file__).resolve().parents[2] / "docs" / "examples" / "first-law"
    written = new.create("law", "ramp", "python", tmp_path)
    assert {path.name for path in written} == {path.name for path in example.iterdir() if path.is_file()}
    for path in written:
        assert (example / path.name).read_text() == path.read_text(), path.name
