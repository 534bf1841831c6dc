"""Copies of files with users' components in the directories of runs and sweeps, from which the runs can be repeated."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from compiled import build
from components import LAWS, dumbbell

import tailback as core
from tailback.results.directory import read_manifest

LAW = """import tailback
import thresholds
from parts import verdicts
class Mine(tailback.Law):
    def __init__(self, n=0):
        self.n = n
    def arrive(self, call):
        return verdicts.FULL if call.queue_packets > thresholds.LIMIT + self.n else tailback.PASS
"""
MINE = '{ kind = "user", file = "FILE", class = "Mine", parameters = { n = 0 } }'
CODEL = '{{ kind = "user", file = "{}", class = "Codel", parameters = {{ target = "2ms", interval = "20ms" }} }}'


def put(folder: Path, form: str) -> str:
    """Put a component into the folder `laws` of a folder; return the discipline."""
    laws = folder / "laws"
    laws.mkdir(parents=True)
    if form == "py":
        (laws / "mine.py").write_text(LAW)
        (laws / "thresholds.py").write_text("LIMIT = 10\n")
        (laws / "parts").mkdir()
        (laws / "parts" / "__init__.py").touch()
        (laws / "parts" / "verdicts.py").write_text("from tailback import DROP as FULL\n")
        return MINE.replace("FILE", "laws/mine.py")
    if form == "so":
        build((LAWS / "codel.c").read_text(), laws / "codel.so")
    else:
        shutil.copy(LAWS / "codel.wat", laws)
    return CODEL.format(f"laws/codel.{form}")


def spoil(folder: Path) -> None:
    """Edit all components of a folder, so that they give other results or do not run."""
    for path in folder.rglob("laws/**/*"):
        if path.is_file():
            # Another file in its place, not other bytes in it: a library may be mapped.
            path.unlink()
            path.write_text("LIMIT = 40" if path.name == "thresholds.py" else "nonsense")


def fresh(*arguments: object) -> dict[str, Any]:
    """Return the answer of a command with `--json` in a new process, which has no component in memory."""
    command = [sys.executable, "-m", "tailback", *map(str, arguments), "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize("form", ["py", "so", "wat"])
def test_a_run_is_repeated_from_its_directory_after_the_component_was_edited(form: str, tmp_path: Path) -> None:
    file = tmp_path / "here" / "scenario.toml"
    discipline = put(file.parent, form)
    file.write_text(dumbbell(discipline, hosts=2, duration="2s"))
    scenario = core.load(file)
    result = core.run(scenario, replications=2)
    out = tmp_path / "out"
    # The edit precedes the copy, which has the component as it was loaded.
    spoil(file.parent)
    result.write(out)
    manifest = read_manifest(out)
    copies = {name for name in manifest["files"] if name.startswith("laws/")}
    python = {"laws/mine.py", "laws/thresholds.py", "laws/parts/__init__.py", "laws/parts/verdicts.py"}
    assert copies == (python if form == "py" else {f"laws/codel.{form}"})
    assert "/here/" not in (out / "scenario.toml").read_text()

    again = fresh("run", out / "scenario.toml", "--reps", "2")
    assert again["digest"] == manifest["digest"]
    assert core.load(out / "scenario.toml").hash == manifest["scenario_hash"] == scenario.hash
    why = fresh("why", out, "--flow", "tcp[1]", "--packet", "3")
    assert why["digest"] == manifest["replications"][0]["digest"]


def test_files_outside_the_folder_of_the_scenario_are_copied_and_renamed(tmp_path: Path) -> None:
    put(tmp_path / "there", "py")
    put(tmp_path / "far", "wat")
    queues = f"""[
        {{ match = {{ dscp = 0 }}, discipline = {MINE.replace("FILE", "../there/laws/mine.py")} }},
        {{ name = "last", discipline = {CODEL.format(tmp_path / "far" / "laws" / "codel.wat")} }},
    ]""".replace("\n", " ")
    folder = tmp_path / "here"
    folder.mkdir()
    shutil.copy(LAWS / "priority.wat", folder)
    code = '{ file = "priority.wat", class = "Priority" }'
    text = dumbbell(f'{{ kind = "user-scheduler", scheduler = {code}, queues = {queues} }}', hosts=2, duration="2s")
    (folder / "scenario.toml").write_text(text)
    scenario = core.load(folder / "scenario.toml", allow_files=True)
    result = core.run(scenario, replications=1)
    out = result.write(tmp_path / "out")
    for name in ("there", "far", "here"):
        shutil.rmtree(tmp_path / name)
    assert str(tmp_path) not in (out / "scenario.toml").read_text()
    assert fresh("run", out / "scenario.toml", "--reps", "1")["digest"] == read_manifest(out)["digest"]
    found = {Path(name).name for name in read_manifest(out)["files"] if name.startswith("files/")}
    assert found == {"mine.py", "thresholds.py", "__init__.py", "verdicts.py", "codel.wat"}


def test_an_edit_between_two_runs_of_one_process_gives_each_its_own_copy(tmp_path: Path) -> None:
    file = tmp_path / "scenario.toml"
    file.write_text(dumbbell(put(tmp_path, "py"), hosts=2, duration="2s"))
    results = []
    for limit in (10, 20):
        (tmp_path / "laws" / "thresholds.py").write_text(f"LIMIT = {limit}\n")
        results.append((limit, core.run(file, replications=1)))
    for limit, result in results:
        out = result.write(tmp_path / f"out-{limit}")
        assert (out / "laws" / "thresholds.py").read_text() == f"LIMIT = {limit}\n"


@pytest.mark.parametrize("form", ["py", "wat"])
def test_a_cell_of_a_sweep_is_repeated_from_its_directory(
    form: str, tailback: Callable[..., Any], tmp_path: Path
) -> None:
    folder, out = tmp_path / "here", tmp_path / "out"
    file = folder / "scenario.toml"
    discipline = put(folder, form)
    file.write_text(dumbbell(discipline, hosts=2, duration="2s"))
    # One cell has another file than the base scenario.
    shutil.copytree(folder / "laws", folder / "other")
    name = discipline.partition('file = "laws/')[2].partition('"')[0]
    axis = f'network.discipline.file=["laws/{name}", "other/{name}"]'
    command = ("sweep", file, "--set", axis, "--set", 'network.buffer=["20packets", "40packets"]')
    done = tailback(*command, "--reps", "1", "--out", out, "-q")
    assert done.code == 0, done.err
    cells = core.open_sweep(out).runs
    shutil.rmtree(folder)
    assert len(cells) == 4
    for setting, (run,) in cells.items():
        changes = [word for path, value in setting for word in ("--set", f'{path}="{value}"')]
        again = fresh("run", out / "scenario.toml", *changes, "--seed", run.seed, "--reps", "1")
        assert again["replications"][0]["digest"] == run.digest


def test_a_sweep_without_components_has_no_copies(tailback: Callable[..., Any], tmp_path: Path) -> None:
    file, out = tmp_path / "scenario.toml", tmp_path / "out"
    file.write_text(dumbbell('{ kind = "codel" }', hosts=2, duration="1s"))
    assert tailback("sweep", file, "--set", 'network.buffer=["20packets"]', "--reps", "1", "--out", out, "-q").code == 0
    assert not list(out.rglob("*.toml"))
