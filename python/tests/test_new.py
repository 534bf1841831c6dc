"""`tailback new`: each template is written, checked, tested and run; existing files stay."""

from __future__ import annotations

import os
import re
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

PACKAGE = str(Path(core.__file__).parents[1])
CORE = [
    ("law", "python"),
    *(("law", language) for language in ("c", "rust", "wat") if hasattr(core, "NativeLaw")),
    *(
        (kind, "python")
        for kind, name in {
            "congestion-control": "CongestionControl",
            "scheduler": "Scheduler",
            "source": "Source",
        }.items()
        if hasattr(core, name)
    ),
]
"""Templates of interfaces that the core has."""


def made(kind: str, language: str, tailback: Callable[..., Any]) -> Path:
    """Make a component in the current directory, and return its folder; skips the test without a compiler."""
    assert tailback("new", kind, "MyOwn", "--in", language).code == 0
    folder = Path("my_own")
    compiler = {"c": "cc", "rust": "rustc"}.get(language)
    if compiler is not None:
        if not (shutil.which(compiler) and shutil.which("make")):
            pytest.skip(f"there is no {compiler} or no make")
        path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        environment = {**os.environ, "PATH": path, "PYTHONPATH": PACKAGE}
        subprocess.run(["make"], cwd=folder, check=True, capture_output=True, env=environment)
    return folder


@pytest.mark.parametrize(("kind", "language"), CORE)
def test_a_template_passes_its_checks_and_tests_and_its_commands_run(
    kind: str, language: str, tailback: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    folder = made(kind, language, tailback)
    texts = [path.read_text() for path in folder.iterdir() if path.suffix != ".so"]
    assert not any(re.search("@[A-Z]+@", text) for text in texts)
    monkeypatch.chdir(folder)
    readme = Path("README.md").read_text()
    commands = [line.split("  ")[0] for line in readme.splitlines() if line.startswith("tailback ")]
    assert [command.split()[1] for command in commands][:2] == ["check", "run"]
    for command in commands:
        if "evaluate" not in command and "--set" not in command:
            effort = " --reps 1" if "run" in command or "sweep" in command.split() else ""
            done = tailback(*f"{command}{effort}".split()[1:])
            assert done.code == 0, f"{command}: {done.err}{done.out}"
    assert core.load("scenario.toml").warnings == ()
    shutil.rmtree("study.sweep", ignore_errors=True)
    tested = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"],
        env={"PYTHONPATH": PACKAGE, "PATH": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert tested.returncode == 0, tested.stdout + tested.stderr


def test_a_law_decides_equally_in_all_languages(
    tailback: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    digests = set()
    for kind, language in CORE:
        if kind == "law":
            (tmp_path / language).mkdir()
            monkeypatch.chdir(tmp_path / language)
            scenario = core.load(made(kind, language, tailback) / "scenario.toml")
            digests.add(core.run(scenario, replications=2).digest)
    assert len(digests) == 1


def test_the_sweep_and_the_evaluation_of_a_law_are_valid(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tailback.evaluation.subject import subject

    new.create("law", "x", "python", tmp_path)
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


def test_every_template_is_in_the_table() -> None:
    files = {f"{path.parent.name}/{path.name}" for path in new._FOLDER.rglob("*.in")}
    used = {
        f"{kind}/{source}"
        for (kind, _), one in new.TEMPLATES.items()
        for source in (*one.sources.values(), *new._COMMON[kind].values(), *new._ALWAYS.values())
    }
    assert used == files


def test_the_example_of_the_tutorial_is_the_template(tmp_path: Path) -> None:
    example = Path(__file__).resolve().parents[2] / "docs" / "examples" / "first-law"
    written = new.create("law", "ramp", "python", tmp_path)
    assert {path.name for path in written} == {path.name for path in example.iterdir() if path.is_file()}
    for path in written:
        assert (example / path.name).read_text() == path.read_text(), path.name
