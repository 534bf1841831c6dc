"""Untrusted scenarios cannot read files outside their folder, block, exhaust the stack, or control the terminal."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import tailback as core

Cli = Callable[..., Any]

SCENARIO = """\
tailback = 1
title = "film"
run = {{ duration = "1s", replications = 1 }}
hosts = {{ a = {{}}, b = {{}} }}
links = [{{ between = ["a", "b"], rate = "10Mbit/s" }}]
[[flows]]
name = "film"
from = "a"
to = "b"
source = {{ kind = "trace", file = "{file}", format = "terse-bytes", fps = 25 }}
"""
# Size of a video frame in bytes, one per line.
TRACE = "1000\n" * 20


@pytest.fixture
def film(tmp_path: Path) -> Callable[[str], Path]:
    """Return a function that writes a scenario with a trace of the given name into the folder `own`.

    One trace is in this folder, another one, `secret.txt`, outside of it.
    """
    (tmp_path / "secret.txt").write_text(TRACE)
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "film.txt").write_text(TRACE)

    def write(file: str) -> Path:
        path = tmp_path / "own" / "film.toml"
        path.write_text(SCENARIO.format(file=file))
        return path

    return write


def test_a_scenario_reads_files_of_its_own_folder(tailback: Cli, film: Callable[[str], Path]) -> None:
    assert tailback("run", film("film.txt")).code == 0


@pytest.mark.parametrize("how", ["above", "absolute", "link"])
def test_files_outside_the_folder_of_a_scenario_need_permission(
    how: str, tailback: Cli, film: Callable[[str], Path], tmp_path: Path
) -> None:
    if how == "link":
        (tmp_path / "own" / "link.txt").symlink_to(tmp_path / "secret.txt")
    file = {"above": "../secret.txt", "absolute": str(tmp_path / "secret.txt"), "link": "link.txt"}[how]
    path = film(file)
    for command in (["run"], ["validate"], ["sweep"], ["plot"]):
        refused = tailback(*command, path)
        assert refused.code == 3
        assert "outside the scenario's folder" in refused.err
        assert "--allow-files" in refused.err
        assert "1000" not in refused.err, "the content of the file is shown"
    with pytest.raises(core.ScenarioError, match="allow_files=True"):
        core.load(path)
    allowed = tailback("run", path, "--allow-files", "--out", tmp_path / "run", "--json")
    assert allowed.code == 0
    # A run directory contains a copy of the file, so that its scenario needs no permission.
    again = tailback("run", tmp_path / "run" / "scenario.toml", "--json")
    assert again.code == 0
    assert again.json["digest"] == allowed.json["digest"]
    # Derived and unpickled scenarios keep the permission.
    scenario = core.load(path, allow_files=True).set(duration="500ms")
    assert pickle.loads(pickle.dumps(scenario)) == scenario


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_named_pipe_as_a_trace_is_refused(tailback: Cli, film: Callable[[str], Path], tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "own" / "pipe.txt")
    refused = tailback("validate", film("pipe.txt"))
    assert refused.code == 3
    assert "not a regular file" in refused.err


def test_control_characters_are_shown_escaped(tailback: Cli, merge: Path) -> None:
    text = merge.read_text()
    assert 'title = "' in text
    # Colour, window title, carriage return, right-to-left override, and the 8-bit form of CSI.
    evil = r"\u001b[31m\u001b]0;pwned\u0007\r\u202e\u009b2J"
    merge.write_text(text.replace('title = "', f'title = "{evil}', 1))
    shown = tailback("run", merge)
    assert shown.code == 0
    assert r"\x1b[31m\x1b]0;pwned\x07\r\u202e\x9b2J" in shown.out
    unknown = tailback("run", merge, "--set", "run.\x1b[31mred=1")
    wrong = text.replace("[run]", '[run]\n"\\u001b[31m" = 1', 1) if "[run]" in text else text
    merge.write_text(wrong)
    refused = tailback("validate", merge)
    assert refused.code == 3
    for output in (shown.out, shown.err, unknown.err, refused.err):
        assert not any((ord(c) < 32 and c not in "\n\t") or 0x7F <= ord(c) < 0xA0 for c in output), output
        assert "\u202e" not in output


DEEP = 100_000
LISTS = "[" * DEEP + "]" * DEEP
TABLES = "{a=" * DEEP + "1" + "}" * DEEP
DOTS = "x" + ".a" * (DEEP // 2)


def run_in_process(*arguments: object) -> subprocess.CompletedProcess[str]:
    """Run the command line in a separate process, so that a stack overflow does not end the tests."""
    command = [sys.executable, "-m", "tailback", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("lists.toml", f"tailback = 1\nx = {LISTS}\n"),
        ("open.toml", f"tailback = 1\nx = {'[' * DEEP}\n"),
        ("tables.toml", f"tailback = 1\nx = {TABLES}\n"),
        ("dots.toml", f"tailback = 1\n{DOTS} = 1\n"),
        ("heading.toml", f"tailback = 1\n[{DOTS}]\n"),
        ("entry.toml", f"tailback = 1\n[[{DOTS}]]\n"),
        ("study.toml", f'study = 1\nscenario = "merge.toml"\nx = {LISTS}\n'),
        ("dots-study.toml", f'study = 1\nscenario = "merge.toml"\n{DOTS} = 1\n'),
        ("axis-study.toml", f'study = 1\nscenario = "merge.toml"\n[[axes]]\npath = "{DOTS}"\nvalues = [1]\n'),
        ("lists.json", f'{{"tailback": 1, "x": {LISTS}}}'),
        ("tables.json", '{"a": ' * DEEP + "1" + "}" * DEEP),
    ],
    ids=lambda value: value if len(value) < 20 else "",
)
def test_a_document_that_is_nested_too_deep_is_an_error_message(
    tmp_path: Path, merge: Path, name: str, text: str
) -> None:
    del merge
    (tmp_path / name).write_text(text)
    refused = run_in_process("sweep" if "study" in name else "run", tmp_path / name)
    assert refused.returncode == 3, refused.stderr[-300:]
    assert "nested too deep" in refused.stderr or "has 50001 steps" in refused.stderr
    assert name in refused.stderr or name.endswith(".json")
    # Only the part of the line around the error is shown.
    assert len(refused.stderr) < 1000


@pytest.mark.parametrize("command", ["validate", "run", "sweep"])
@pytest.mark.parametrize("setting", [f"{DOTS}=1", f"run.duration={LISTS[:DEEP]}", f"run.duration={TABLES[:DEEP]}"])
def test_a_setting_that_is_nested_too_deep_is_an_error_message(merge: Path, command: str, setting: str) -> None:
    refused = run_in_process(command, merge, "--set", setting)
    assert refused.returncode == 3, refused.stderr[-300:]
    assert refused.stderr.startswith("error: ")
    assert len(refused.stderr) < 1000


def nested(kind: type, depth: int = DEEP) -> Any:
    """Return lists or tables nested to the given depth; the innermost one is empty."""
    made = kind()
    for _ in range(depth):
        made = [made] if kind is list else {"a": made}
    return made


@pytest.mark.parametrize("kind", [list, dict])
def test_values_that_are_nested_too_deep_are_scenario_errors(merge: Path, kind: type) -> None:
    deep, scenario = nested(kind), core.load(merge)
    other = {**scenario.document, "x": deep}
    for make in (
        lambda: core.Scenario.from_document(other).check(),
        lambda: core.Scenario.from_document(deep if kind is dict else {"x": deep}).check(),
        lambda: core.Scenario(duration="1s", discipline=nested(dict)).check(),
        lambda: scenario.set({"run.duration": deep}),
        lambda: scenario.flow("more", "h*", "d", {"kind": deep}),
        lambda: scenario.host("more", buffer=deep),
        lambda: core.sweep(scenario, {"run.duration": [deep]}),
        lambda: core.sweep(scenario, fixed={"run.duration": deep}),
        lambda: core.sweep(scenario, mechanisms={"a": {"run.duration": deep}, "b": {}}),
    ):
        with pytest.raises(core.ScenarioError, match="nested too deep"):
            make()
    # Deep but finite nesting is checked like other values.
    with pytest.raises(core.ScenarioError, match="unknown key"):
        core.Scenario.from_document({**scenario.document, "x": nested(kind, 90)}).check()
