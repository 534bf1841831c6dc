"""`tailback new`: each template is written, checked, tested and run; existing files stay."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from compiled import WASM_TARGET, need_rust

import tailback as core
from tailback.errors import UsageError
from tailback.laws import new

PACKAGE = str(Path(core.__file__).parents[1])


def made(kind: str, language: str, tailback: Callable[..., Any]) -> Path:
    """Make a component in the current directory, and return its folder; skips the test without the language's tools."""
    done = tailback("new", kind, "MyOwn", "--in", language)
    assert done.code == 0
    need = new.missing(language)
    if need is not None:
        assert need in done.err
        pytest.skip(need)
    folder = Path("my_own")
    if language in ("c", "rust"):
        make(folder)
    return folder


def make(folder: Path, *targets: str) -> None:
    """Run `make` in the folder of a component."""
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "PYTHONPATH": PACKAGE}
    subprocess.run(["make", *targets], cwd=folder, check=True, capture_output=True, env=environment)


@pytest.mark.parametrize("kind", new.KINDS)
@pytest.mark.parametrize("language", new.LANGUAGES)
def test_a_template_passes_its_checks_and_tests_and_its_commands_run(
    kind: str, language: str, tailback: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    folder = made(kind, language, tailback)
    texts = [path.read_text() for path in folder.iterdir() if path.is_file() and path.suffix != ".so"]
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


@pytest.mark.parametrize("kind", new.KINDS)
@pytest.mark.parametrize("language", [language for language in new.LANGUAGES if language != "python"])
def test_a_component_decides_equally_in_python_and_in_another_language(
    kind: str, language: str, tailback: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = []
    for one in ("python", language):
        (tmp_path / one).mkdir()
        monkeypatch.chdir(tmp_path / one)
        scenario = core.load(made(kind, one, tailback) / "scenario.toml").set(duration="10s")
        found.append(core.run(scenario, replications=2).digest)
    assert found[0] == found[1]


@pytest.mark.parametrize("kind", new.KINDS)
def test_a_component_in_rust_decides_equally_as_a_webassembly_module(
    kind: str, tailback: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    folder = made(kind, "rust", tailback)
    need_rust(WASM_TARGET)
    make(folder, "my_own.wasm")
    text = (folder / "scenario.toml").read_text()
    scenarios = [text, text.replace("my_own.so", "my_own.wasm")]
    assert scenarios[0] != scenarios[1]
    found = [core.Scenario.from_toml(one, str(folder / "scenario.toml")).set(duration="10s") for one in scenarios]
    assert len({core.run(one, replications=1).digest for one in found}) == 1


def test_what_a_language_needs_is_named_if_it_is_missing(
    tailback: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    monkeypatch.setattr(shutil, "which", lambda _: None)
    for language, text in (("numba", "python -m pip install numba"), ("rust", "rustup"), ("c", "C compiler")):
        done = tailback("new", "source", "x", "--in", language, "--out", tmp_path / language)
        assert done.code == 0
        assert f"a component in {language} needs" in done.err
        assert text in done.err
    for language in ("python", "wat"):
        done = tailback("new", "source", "x", "--in", language, "--out", tmp_path / language)
        assert "a component in" not in done.err


def test_a_component_of_numba_without_numba_is_refused_with_the_way_to_install_it(
    tailback: Callable[..., Any], tmp_path: Path
) -> None:
    if new.missing("numba") is None:
        pytest.skip("numba is installed")
    for kind in new.KINDS:
        tailback("new", kind, "x", "--in", "numba", "--out", tmp_path / kind)
        done = tailback("check", tmp_path / kind / "x.py", "--class", "X")
        assert done.code == 3
        assert "install it with `python -m pip install numba`" in done.err


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


@pytest.mark.parametrize(("kind", "language"), [("queue", "python"), ("law", "perl")])
def test_a_kind_or_language_without_a_template_is_refused_by_name(kind: str, language: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=f"there is no template of a {kind} in {language}"):
        new.create(kind, "x", language, tmp_path / "out")
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


def test_every_template_is_used_by_a_kind() -> None:
    files = {f"{path.parent.name}/{path.name}" for path in new._FOLDER.rglob("*.in")}
    used = set()
    for kind in new.KINDS:
        more = (*new._MORE.get(kind, {}).values(), *new._COMMON.values())
        names = {source for language in new.LANGUAGES.values() for source in (*language.sources.values(), *more)}
        used |= {f"{kind if (new._FOLDER / kind / name).exists() else 'all'}/{name}" for name in names}
    assert used == files


def test_the_example_of_the_tutorial_is_the_template(tmp_path: Path) -> None:
    example = Path(__file__).resolve().parents[2] / "docs" / "examples" / "first-law"
    written = new.create("law", "ramp", "python", tmp_path)
    assert {path.name for path in written} == {path.name for path in example.iterdir() if path.is_file()}
    for path in written:
        assert (example / path.name).read_text() == path.read_text(), path.name
