"""Which runs with code of users execute in worker processes: those in Python and machine code, not WebAssembly."""

from __future__ import annotations

import json
import shutil
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from compiled import build
from components import LAWS, dumbbell, read

import tailback as core
from tailback.laws import watchdog, workers
from tailback.run.cost import replication_cost
from tailback.study.store import read_runs

CODEL = '{{ kind = "user", file = "codel.{}", class = "Codel", parameters = {{ target = "2ms" }} }}'
MIXED = """{ kind = "user-scheduler", scheduler = { file = "priority.wat", class = "Priority" }, queues = [
    { match = { dscp = 0 }, discipline = CODEL }, { name = "last" }] }""".replace("\n", " ")
BUILT_IN = '{ kind = "codel", target = "2ms" }'


def put(folder: Path, form: str) -> None:
    """Put CoDel in a form into a folder."""
    if form == "so":
        build((LAWS / "codel.c").read_text(), folder / "codel.so")
    else:
        shutil.copy(LAWS / f"codel.{form}", folder)


def scenario(folder: Path, discipline: str, seconds: str = "1s") -> core.Scenario:
    """Return the network of two connections with a discipline."""
    return read(dumbbell(discipline, hosts=2, duration=seconds), folder)


@pytest.fixture
def jobs(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of the functions that worker processes are given."""
    found: list[str] = []
    called = workers.called

    def noted(function: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
        found.append(function.__name__)
        return called(function, *arguments, **options)

    monkeypatch.setattr(workers, "called", noted)
    return found


@pytest.mark.parametrize(("form", "apart"), [("wat", False), ("so", True), ("py", True)])
def test_webassembly_runs_in_this_process_and_other_code_of_users_in_a_worker(
    form: str, apart: bool, jobs: list[str], tmp_path: Path
) -> None:
    put(tmp_path, form)
    one = scenario(tmp_path, CODEL.format(form))
    built_in = json.loads(scenario(tmp_path, BUILT_IN).native.run(3))["digest"]
    jobs.clear()
    assert core.run(one, replications=1).reports[0].digest == built_in
    assert jobs == ["_in_this_worker"] * apart
    jobs.clear()
    replication_cost(one, trial_s=0.01)
    core.why(one, flow="tcp[1]", packet=0)
    # The trial, the names of flows and ports, and the explanation.
    assert jobs == ["_of_worker"] * 3 * apart


@pytest.mark.parametrize(("form", "apart"), [("wat", False), ("so", True), ("py", True)])
def test_one_component_that_needs_a_worker_takes_the_whole_run_there(
    form: str, apart: bool, jobs: list[str], tmp_path: Path
) -> None:
    put(tmp_path, form)
    shutil.copy(LAWS / "priority.wat", tmp_path)
    one = scenario(tmp_path, MIXED.replace("CODEL", CODEL.format(form)))
    jobs.clear()
    core.run(one, replications=1)
    assert jobs == ["_in_this_worker"] * apart


@pytest.mark.parametrize(("form", "watched"), [("wat", False), ("so", False), ("py", True)])
def test_a_watchdog_observes_calls_in_python_only(form: str, watched: bool, tmp_path: Path) -> None:
    put(tmp_path, form)
    with watchdog.guarded(scenario(tmp_path, CODEL.format(form)).native, None):
        assert [run.thread for run in watchdog._RUNS] == [threading.get_ident()] * watched


def test_cells_with_webassembly_run_on_the_threads_of_this_process(jobs: list[str], tmp_path: Path) -> None:
    put(tmp_path, "wat")
    targets = ["1ms", "5ms", "20ms"]
    folders = {"parameters.target": CODEL.format("wat"), "target": BUILT_IN}
    for key, discipline in folders.items():
        axes = {f"network.discipline.{key}": targets}
        one = scenario(tmp_path, discipline, "4s")
        core.sweep(one, axes, replications=1, threads=2, directory=tmp_path / key)
    assert jobs == []
    own, theirs = (sorted(run.digest for run in read_runs(tmp_path / key).runs.values()) for key in folders)
    assert len(set(own)) == 3
    assert own == theirs


FAULTS = {
    "unreachable": "trap:",
    "(loop $again (br $again))": "the call took more than 100000000 steps",
    "(drop (memory.grow (i32.const 1000)))": "its memory would grow beyond 16777216 bytes",
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_in_webassembly_is_no_end_of_this_process(fault: str, jobs: list[str], tmp_path: Path) -> None:
    text = (LAWS / "codel.wat").read_text()
    start = text.index('"tailback_Codel_answer"')
    place = text.index("(result i32)", start) + len("(result i32)")
    locals_end = place
    while text[locals_end:].lstrip().startswith("(local "):
        locals_end = text.index(")", text.index("(local ", locals_end)) + 1
    when = "(if (i64.ge_u (i64.load (local.get $call)) (i64.const 500000000000)) (then FAULT))".replace("FAULT", fault)
    (tmp_path / "codel.wat").write_text(text[:locals_end] + when + text[locals_end:])
    with pytest.raises(core.RunError) as failed:
        core.run(scenario(tmp_path, CODEL.format("wat")), replications=1)
    assert FAULTS[fault] in str(failed.value)
    assert "`Codel` of codel.wat at s->b, in `depart` at 0.50" in str(failed.value)
    assert jobs == []


@pytest.mark.parametrize("form", ["wat", "so", "py"])
def test_several_parts_are_refused_for_python_only(form: str, tailback: Callable[..., Any], tmp_path: Path) -> None:
    put(tmp_path, form)
    file = tmp_path / "scenario.toml"
    file.write_text(dumbbell(CODEL.format(form), hosts=2, duration="1s"))
    done = tailback("run", file, "--reps", "1", "--parallel", "2", "--json")
    if form == "py":
        assert done.code != 0
        assert "the scenario has a law in Python, which runs on one thread; write 1" in done.err
    else:
        assert done.code == 0
        whole = json.loads(core.load(file).native.run(3))["digest"]
        assert whole in done.out
