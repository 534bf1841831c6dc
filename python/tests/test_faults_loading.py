"""Faults while a component is loaded and made: the program goes on, and says which call of which class it was."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from compiled_roles import write
from components import read, report
from faults import (
    FAULTY,
    PATHS,
    ROLES,
    component,
    digest,
    limit_calls,
    network,
    the_other_nine_finish,
    with_component,
)

import tailback as core
from tailback.run.conformance.check import check

# A compiler removes a constructor that does nothing but write to a constant address.
CRASH = "static int *volatile nowhere; *(volatile int *)nowhere = 1;"
# Statement and end of the message.
ENDS = {
    CRASH: "its process was ended by SIGSEGV",
    "_Exit(0);": "its process exited with code 0",
    "pause();": "the call did not return within 0.5 s, and its process was ended",
}
CALLS = {"loading": "dlopen", "describe": "describe", "create": "create", "destroy": "destroy"}
"""Places of statements in a library, with the name of the call in messages."""
KEYS = {
    "queue": "network.discipline.file",
    "congestion": "flows[0].transport.congestion-control.file",
    "scheduler": "network.discipline.scheduler.file",
    "source": "flows[0].source.file",
}


def refused(folder: Path, role: str, file: str) -> core.ScenarioError:
    """Return the error of the network with a component that cannot be loaded."""
    with pytest.raises(core.ScenarioError) as found:
        with_component(folder, role, file)
    return found.value


@pytest.mark.parametrize("place", CALLS)
@pytest.mark.parametrize("end", ENDS)
def test_a_library_that_ends_or_blocks_its_process_while_it_is_loaded_is_refused(
    end: str, place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    limit_calls(ENDS[end], monkeypatch)
    error = refused(tmp_path, "queue", write(tmp_path, "so", "queue", **{place: end}))
    call = f"`Mine` of mine.so, in `{CALLS[place]}`"
    assert error.message == f'mine.so cannot be loaded with the parameters {{"n":0}}: {call}: {ENDS[end]}'
    assert error.path == "network.discipline.file"
    assert error.line == 8


@pytest.mark.parametrize("role", ROLES)
def test_a_crash_of_a_constructor_is_an_error_at_the_key_of_each_role(role: str, tmp_path: Path) -> None:
    error = refused(tmp_path, role, write(tmp_path, "so", role, create=CRASH))
    assert "`Mine` of mine.so, in `create`: its process was ended by SIGSEGV" in error.message
    assert error.path.replace("flows[1]", "flows[0]") == KEYS[role]


@pytest.mark.parametrize(
    ("place", "where"),
    [("loading", "at its start: "), ("describe", "in `describe`: "), ("create", "in `create`: ")],
)
@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("unreachable", "trap: wasm `unreachable` instruction executed"),
        ("(call $forever)", "more than 100000000 steps"),
    ],
)
def test_a_module_that_traps_or_has_no_end_while_it_is_loaded_is_refused(
    body: str, reason: str, place: str, where: str, tmp_path: Path
) -> None:
    error = refused(tmp_path, "queue", write(tmp_path, "wat", "queue", **{place: body}))
    assert where in error.message
    assert reason in error.message


def test_a_run_and_a_sweep_from_the_command_line_report_a_crash_of_a_constructor(
    tailback: Callable[..., Any], tmp_path: Path
) -> None:
    write(tmp_path, "so", "source", create=f"if ((*self)->n == {FAULTY}) {{ {CRASH} }}")
    file = tmp_path / "scenario.toml"
    file.write_text(network(**component("source", "mine.so")))
    path, crash = PATHS["source"], "`Mine` of mine.so, in `create`: its process was ended by SIGSEGV"
    failed = tailback("run", file, "--set", f"{path}={FAULTY}")
    assert failed.code == 3
    assert crash in failed.err
    # A point that cannot be loaded is found before any run: the sweep is refused, and its directory is not made.
    out = tmp_path / "out"
    cells = "[" + ", ".join(map(str, range(10))) + "]"
    failed = tailback("sweep", file, "--set", f"{path}={cells}", "--reps", "1", "--out", out)
    assert failed.code == 3
    assert crash in failed.err
    assert f'with the parameters {{"n":{FAULTY}}}' in failed.err
    assert not out.exists()
    assert tailback("run", file, "--reps", "1", "-q").code == 0
    file.write_text(network(**component("source", "mine.so", f"{{ n = {FAULTY} }}")))
    for command in ("validate", "check"):
        failed = tailback(command, file)
        assert failed.code == 3, command
        assert crash in failed.err


def test_a_constructor_that_crashes_only_in_the_run_ends_its_cell_and_the_other_nine_finish(tmp_path: Path) -> None:
    # It makes a file at its trial; with the file, it crashes.
    noted = tmp_path / "noted"
    create = f"""
    if ((*self)->n == {FAULTY}) {{
        if (access("{noted}", F_OK) == 0) {{ {CRASH} }}
        close(creat("{noted}", 0600));
    }}
    """
    write(tmp_path, "so", "queue", create=create, head="#include <fcntl.h>")
    message = the_other_nine_finish(with_component(tmp_path, "queue", "mine.so"), PATHS["queue"], digest("queue"))
    assert message == ("the run with seed 3 failed: `Mine` of mine.so, in `create`: its process was ended by SIGSEGV")


def test_this_process_executes_a_library_only_for_a_run_of_its_own(tmp_path: Path) -> None:
    loading = f'char path[512]; snprintf(path, 512, "{tmp_path}/pid-%d", getpid()); fclose(fopen(path, "w"));'
    write(tmp_path, "so", "queue", loading=loading, head="#include <stdio.h>")
    one = with_component(tmp_path, "queue", "mine.so")
    assert core.run(one, replications=2).reports[0].data["digest"] == digest("queue")
    core.sweep(one, {PATHS["queue"]: range(3)}, replications=1)
    executed = {path.name for path in tmp_path.glob("pid-*")}
    assert executed
    assert f"pid-{os.getpid()}" not in executed
    assert report(one)["digest"] == digest("queue")
    assert (tmp_path / f"pid-{os.getpid()}").exists()


def test_a_check_executes_a_library_in_workers_only(tmp_path: Path) -> None:
    loading = f'char path[512]; snprintf(path, 512, "{tmp_path}/pid-%d", getpid()); fclose(fopen(path, "w"));'
    body = "answer->at_ps = call->now_ps + 10000000000u; answer->bytes = 100;"
    write(tmp_path, "so", "source", body, loading=loading, head="#include <stdio.h>")
    found = check(tmp_path / "mine.so", "Mine")
    assert found.law.role == "source"
    executed = {path.name for path in tmp_path.glob("pid-*")}
    assert executed
    assert f"pid-{os.getpid()}" not in executed
    write(tmp_path, "so", "source", body, describe=CRASH)
    with pytest.raises(
        core.ScenarioError, match=r"`Mine` of mine\.so, in `describe`: its process was ended by SIGSEGV"
    ):
        check(tmp_path / "mine.so", "Mine")


def test_a_library_that_changed_after_loading_is_refused(tmp_path: Path) -> None:
    write(tmp_path, "so", "queue")
    one = with_component(tmp_path, "queue", "mine.so")
    write(tmp_path, "so", "queue", "self->starts++;")
    with pytest.raises(core.RunError, match=r"differs in .* of this worker"):
        core.run(one, replications=1)
    with pytest.raises(RuntimeError, match=r"mine\.so differs from the file that was loaded; load the scenario again"):
        one.native.run(3)


def test_a_crash_in_one_language_is_not_attributed_to_another(tmp_path: Path) -> None:
    # The law is called for each segment of the source in C, which has been called immediately before.
    write(tmp_path, "so", "source", "answer->at_ps = call->now_ps + 1000000000u; answer->bytes = 100;")
    (tmp_path / "mine.py").write_text(
        "import ctypes\nimport tailback\nclass Mine(tailback.Law):\n    def __init__(self, n): pass\n"
        "    def arrive(self, call):\n        if call.now_ps > 10**11: ctypes.string_at(0)\n"
    )
    text = network(**component("queue", "mine.py"), **component("source", "mine.so"))
    with pytest.raises(core.RunError, match=r"`Mine` of mine\.py at \S+, in `arrive` at 0\.1.* s: .* SIGSEGV"):
        core.run(read(text, tmp_path), replications=1)


def test_the_trial_of_a_cell_is_not_repeated(tmp_path: Path) -> None:
    loading = f'FILE *file = fopen("{tmp_path}/made", "a"); fputc(10, file); fclose(file);'
    write(tmp_path, "so", "queue", create=loading, head="#include <stdio.h>")
    one = with_component(tmp_path, "queue", "mine.so")
    made = tmp_path / "made"
    before = made.read_text()
    for _ in range(3):
        with_component(tmp_path, "queue", "mine.so")
    assert made.read_text() == before
    assert json.loads(one.native.to_json())
