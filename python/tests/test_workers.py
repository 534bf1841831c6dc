"""Worker processes for runs with code of users: equal results, and faults that end one run of ten."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from multiprocessing.connection import Pipe
from pathlib import Path
from typing import Any

import pytest
from components import dumbbell

import tailback as core
from tailback.laws import trial, watchdog, workers
from tailback.laws.last_call import Record
from tailback.run.cost import replication_cost
from tailback.study.store import read_runs

linux = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="the states of processes are read from /proc")

MINE = '{ kind = "user", file = "mine.py", class = "Mine", parameters = { n = 0 } }'
NETWORK = dumbbell(MINE, hosts=2, duration="3s")

LAW = """
import ctypes, math, os, re, signal, sys, time
from pathlib import Path
import tailback
from tailback import DROP, MARK, PASS
HERE = Path(__file__).parent
class Mine(tailback.Law):
    def __init__(self, n=0):
        self.n = n
    def arrive(self, call):
        if self.n == 4 and call.now_ps > 10**12 and (HERE / "broken").exists():
            FAULT
        return DROP if call.queue_packets > 20 + self.n else PASS
"""

FAULTS = {
    "raise ValueError('no such packet')": "ValueError: no such packet",
    "return 7": "the verdict 7 is neither PASS (0) nor MARK (1) nor DROP (2)",
    "return math.nan": "the answer is nan",
    "self.wake_ps = call.now_ps - 1": "is before now",
    "while True: pass": "LawTimeoutError",
    "ctypes.CDLL(None).pause()": "did not return within 0.5 s, and its process was ended",
    "ctypes.PyDLL(None).pause()": "did not return within 0.5 s, and its process was ended",
    "time.sleep(1000)": "did not return within 0.5 s, and its process was ended",
    "re.match('(a+)+$', 'a' * 64 + 'b')": "did not return within 0.5 s, and its process was ended",
    "ctypes.string_at(0)": "its process was ended by SIGSEGV",
    "os.kill(os.getpid(), signal.SIGKILL)": "its process was ended by SIGKILL",
    "os.abort()": "its process was ended by SIGABRT",
    "os._exit(3)": "its process exited with code 3",
    "sys.exit(3)": "SystemExit: 3",
    "raise KeyboardInterrupt": "KeyboardInterrupt",
    "raise MemoryError": "MemoryError",
    "raise tailback.Cancelled('no')": "Cancelled: no",
    "self.arrive(call)": "RecursionError",
}


def written(folder: Path, fault: str = "pass", network: str = NETWORK) -> Path:
    """Write a law with a fault that is present as long as there is a file `broken`, and return its scenario."""
    folder.mkdir(exist_ok=True)
    (folder / "mine.py").write_text(LAW.replace("FAULT", fault))
    (folder / "broken").touch()
    path = folder / "scenario.toml"
    path.write_text(network)
    return path


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_in_one_cell_of_ten_is_named_and_the_others_are_stored_and_resumed(
    fault: str, tailback: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watchdog, "CALL_LIMIT_S", 0.5)
    file = written(tmp_path, fault)
    out = tmp_path / "out"
    cells = ", ".join(map(str, range(10)))
    command = ("sweep", file, "--set", f"network.discipline.parameters.n=[{cells}]", "--reps", "1", "--out", out)
    failed = tailback(*command, "-q")
    assert failed.code == 4
    assert len(read_runs(out).runs) == 9
    (failure,) = core.open_sweep(out).failures
    message = failure.error
    assert "the run with seed 3 failed: `Mine` of mine.py at " in message
    assert ", in `arrive` at 1.0" in message
    assert FAULTS[fault] in message
    assert "1.0" in failed.out + failed.err
    (tmp_path / "broken").unlink()
    before = {key: run.digest for key, run in read_runs(out).runs.items()}
    resumed = tailback(*command, "-q")
    assert resumed.code == 0
    after = {key: run.digest for key, run in read_runs(out).runs.items()}
    assert len(after) == 10
    assert before.items() <= after.items()


def test_a_crash_and_a_hang_in_c_code_name_the_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watchdog, "CALL_LIMIT_S", 0.5)
    for name, fault in {"crash": "ctypes.string_at(0)", "hang": "ctypes.PyDLL(None).pause()"}.items():
        file = written(tmp_path / name, fault)
        with pytest.raises(core.RunError) as failed:
            core.run(core.load(file).set({"network.discipline.parameters.n": 4}), replications=1)
        line = LAW.partition("FAULT")[0].count("\n") + 1
        assert f'mine.py", line {line}, in arrive' in str(failed.value)
        assert "child.py" not in str(failed.value)


@linux
def test_a_law_that_takes_all_memory_is_ended_before_the_system_ends_another_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fault = "for _ in range(40): self.taken = [bytearray(10**7), getattr(self, 'taken', None)]; time.sleep(0.1)"
    scenario = core.load(written(tmp_path, fault)).set({"network.discipline.parameters.n": 4})
    # As on a machine with 1.2 GB that has nothing left.
    monkeypatch.setattr(workers, "_kilobytes", {"MemTotal": 1.2e6, "MemAvailable": 1e4}.get)
    with pytest.raises(core.RunError, match=r"in `arrive` at 1\.0.* s: its process had 0\.3 GB, nearly all memory"):
        core.run(scenario, replications=1)
    # With more left, it goes on; the call ends by the limit of its time.
    monkeypatch.setattr(workers, "_kilobytes", {"MemTotal": 1.2e6, "MemAvailable": 1e5}.get)
    monkeypatch.setattr(watchdog, "CALL_LIMIT_S", 1.0)
    with pytest.raises(core.RunError, match="LawTimeoutError"):
        core.run(scenario, replications=1)


def test_report_trace_and_capture_of_a_worker_are_those_of_this_process(tmp_path: Path) -> None:
    scenario = core.load(written(tmp_path))
    here = json.loads(scenario.native.run(3))
    assert core.run(scenario, replications=1).reports[0].data == here
    core.run(scenario, replications=1, trace=tmp_path / "trace", capture=core.Capture(tmp_path / "run.pcapng"))
    chosen: Any = ([], [], [], [], None, None)
    _, rows, trace_hash = core._native.trace(scenario.native, 3, lambda *_: None, chosen)
    manifest = json.loads((tmp_path / "trace" / "seed-3" / "trace.json").read_text())
    assert (manifest["rows"], manifest["hash"]) == (rows, trace_hash)
    captured: list[bytes] = []
    core._native.capture(
        scenario.native,
        3,
        captured.append,
        sides="both",
        snap=128,
        chosen=chosen,
        comments=[f"run, seed 3, scenario {scenario.hash}"],
    )
    assert (tmp_path / "run.pcapng").read_bytes() == b"".join(captured)


def test_progress_of_a_worker_arrives_and_processor_time_is_that_of_the_worker(tmp_path: Path) -> None:
    file = written(tmp_path, network=NETWORK.replace('"3s"', '"1200s"'))
    seen: list[float] = []
    result = core.run(file, replications=1, progress=lambda done, _: seen.append(done))
    assert any(0.0 < done < 1.0 for done in seen)
    assert result.cpu_s > 0.05


def test_cells_run_in_several_processes_and_never_in_this_one(tmp_path: Path) -> None:
    noted = "(HERE / f'pid-{os.getpid()}').touch(); time.sleep(0.3)"
    file = written(tmp_path, "pass", NETWORK)
    text = LAW.replace("FAULT", "pass").replace(
        "self.n = n", f"self.n = n\n    def start(self, call):\n        {noted}"
    )
    (tmp_path / "mine.py").write_text(text)
    core.sweep(file, {"network.discipline.parameters.n": range(6)}, replications=1, threads=2)
    pids = {path.name for path in tmp_path.glob("pid-*")}
    assert len(pids) == 2
    assert f"pid-{os.getpid()}" not in pids


def test_workers_end_after_the_run_except_one(tmp_path: Path) -> None:
    file = written(tmp_path)
    core.sweep(file, {"network.discipline.parameters.n": range(6)}, replications=1, threads=3)
    assert len(workers._IDLE) == 1
    (kept,) = workers._IDLE
    workers.close_idle()
    assert kept._process.poll() is not None


def test_a_worker_is_replaced_after_its_share_of_jobs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    workers.close_idle()
    monkeypatch.setattr(workers, "_MAX_JOBS", 3)
    noted = "(HERE / f'pid-{os.getpid()}').touch()"
    file = written(tmp_path)
    text = LAW.replace("FAULT", "pass").replace(
        "self.n = n", f"self.n = n\n    def start(self, call):\n        {noted}"
    )
    (tmp_path / "mine.py").write_text(text)
    core.run(file, replications=9, threads=1)
    assert 3 <= len(list(tmp_path.glob("pid-*"))) <= 4


def test_a_job_that_meets_the_end_of_an_idle_worker_is_given_to_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scenario = core.load(written(tmp_path))
    expected = core.run(scenario, replications=1).digest
    (idle,) = workers._IDLE
    # As a worker does that has waited for its time; the check before the job comes too early to see it.
    monkeypatch.setattr(workers._Worker, "is_alive", lambda _: True)
    idle._connection.close()
    ours, theirs = Pipe()
    theirs.close()
    idle._connection = ours
    idle._process.kill()
    idle._process.wait()
    idle._process.returncode = 0
    assert core.run(scenario, replications=1).digest == expected


# In `__init__`, the call is named before the reason.
LOADING = {
    "ctypes.string_at(0)": "its process was ended by SIGSEGV",
    "while True: pass": "did not return within 1 s, and its process was ended",
    "os._exit(0)": "its process exited with code 0",
    "sys.exit(3)": "SystemExit: 3",
    "raise ValueError('no')": "ValueError: no",
}


@pytest.mark.parametrize("place", ["module", "__init__"])
@pytest.mark.parametrize("fault", LOADING)
def test_a_crash_or_a_hang_while_a_law_is_loaded_is_an_error_of_the_document(
    fault: str, place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if fault == "while True: pass":
        # The trial has a limit, and so has the call in it; the latter begins when the process has started.
        monkeypatch.setattr(*((trial, "LOAD_LIMIT_S") if place == "module" else (watchdog, "CALL_LIMIT_S")), 1.0)
    file = written(tmp_path)
    text = (
        LAW.replace("self.n = n", fault) if place == "__init__" else LAW.replace("class Mine", f"{fault}\nclass Mine")
    )
    (tmp_path / "mine.py").write_text(text)
    with pytest.raises(core.ScenarioError) as refused:
        core.load(file)
    message = str(refused.value)
    assert LOADING[fault] in message
    if "process" in LOADING[fault]:
        where = "`Mine` of mine.py, in `__init__`: " if place == "__init__" else ""
        assert f'mine.py cannot be loaded with the parameters {{"n":0}}: {where}' in message
    assert refused.value.path.startswith("network.discipline.")
    assert refused.value.line == 8


def test_a_law_that_changed_after_loading_is_refused(tmp_path: Path) -> None:
    scenario = core.load(written(tmp_path))
    (tmp_path / "mine.py").write_text(LAW.replace("FAULT", "pass # changed"))
    with pytest.raises(core.RunError, match="differs in"):
        core.run(scenario, replications=1)


def test_estimate_and_why_survive_a_crash(tmp_path: Path) -> None:
    scenario = core.load(written(tmp_path, "ctypes.string_at(0)")).set({"network.discipline.parameters.n": 4})
    with pytest.raises(core.RunError, match="SIGSEGV"):
        replication_cost(scenario)
    with pytest.raises(core.RunError, match="SIGSEGV"):
        core.why(scenario, flow="tcp[1]", worst="drop")
    (tmp_path / "broken").unlink()
    assert core.why(scenario, flow="tcp[1]", worst="drop").digest == json.loads(scenario.native.run(3))["digest"]
    assert replication_cost(scenario).cpu_s > 0


def test_a_crash_at_the_start_of_a_law_is_no_crash_of_this_process(tmp_path: Path) -> None:
    text = LAW.replace("FAULT", "pass").replace(
        "def arrive", "def start(self, call):\n        os.abort()\n    def arrive"
    )
    file = written(tmp_path)
    (tmp_path / "mine.py").write_text(text)
    scenario = core.load(file)
    for call in (
        lambda: core.run(scenario, replications=1, trace=tmp_path / "trace"),
        lambda: core.run(scenario, replications=1, capture=core.Capture(tmp_path / "run.pcapng")),
        lambda: core.why(scenario, port="s->b"),
    ):
        with pytest.raises(core.RunError, match=r"`Mine` of mine.py at .*, in `start` at 0 s: .* SIGABRT"):
            call()


def test_a_law_runs_in_processes_of_other_executors(tmp_path: Path) -> None:
    scenario = core.load(written(tmp_path, "ctypes.string_at(0)"))
    with ProcessPoolExecutor(1, get_context("spawn")) as executor:
        there = core.run(scenario, replications=2, executor=executor)
        assert there.digest == core.run(scenario, replications=2).digest
        with pytest.raises(core.RunError, match="SIGSEGV"):
            core.run(scenario.set({"network.discipline.parameters.n": 4}), replications=1, executor=executor)


def started(arguments: list[str], folder: Path) -> subprocess.Popen[str]:
    """Start a program in a process group of its own."""
    return subprocess.Popen(
        [sys.executable, *arguments],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
    )


def awaited(condition: Callable[[], object], limit_s: float = 30.0) -> None:
    """Wait until a condition is true."""
    end = time.monotonic() + limit_s
    while not condition():
        assert time.monotonic() < end, "the condition is not met in time"
        time.sleep(0.05)


def is_running(pid: int) -> bool:
    """Return `True` if there is such a process and it is no zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


HANGS = ["while True: pass", "ctypes.CDLL(None).pause()", "ctypes.PyDLL(None).pause()"]


@linux
@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
@pytest.mark.parametrize("hang", HANGS)
def test_the_end_of_the_program_ends_a_hanging_law(hang: str, ending: signal.Signals, tmp_path: Path) -> None:
    file = written(tmp_path, f"(HERE / 'pid').write_text(f'{{os.getpid()}}.')\n            {hang}")
    pid = tmp_path / "pid"
    program = started(["-m", "tailback", "run", str(file), "--set", "network.discipline.parameters.n=4"], tmp_path)
    awaited(lambda: pid.exists() and pid.read_text().endswith("."))
    worker = int(pid.read_text()[:-1])
    assert is_running(worker)
    begin = time.monotonic()
    if ending == signal.SIGINT:
        # As a terminal does: all processes of the group get it.
        os.killpg(program.pid, ending)
    else:
        program.send_signal(ending)
    program.communicate()
    assert program.returncode == (-9 if ending == signal.SIGKILL else 130)
    awaited(lambda: not is_running(worker), 5)
    assert time.monotonic() - begin < 8


def test_a_script_without_a_guard_of_its_main_module_runs(tmp_path: Path) -> None:
    written(tmp_path)
    (tmp_path / "script.py").write_text(
        "import tailback\nprint('begin')\nprint(tailback.run('scenario.toml', replications=2).state)\n"
    )
    program = started(["script.py"], tmp_path)
    out, err = program.communicate()
    assert (out, program.returncode) == ("begin\ncomplete\n", 0), err


def test_a_module_of_the_folder_with_a_name_of_the_standard_library_is_not_imported_by_a_worker(tmp_path: Path) -> None:
    written(tmp_path)
    (tmp_path / "queue.py").write_text("raise ImportError('the wrong queue')\n")
    program = started(["-P", "-m", "tailback", "run", "scenario.toml", "--reps", "1", "-q"], tmp_path)
    _, err = program.communicate()
    assert program.returncode == 0, err


def test_the_record_names_the_call_in_progress() -> None:
    record = Record()
    before = record.calls
    assert record.last(before) is None
    words, text = memoryview(record._memory).cast("Q"), memoryview(record._memory)
    # The third thread is in its second call, the first one has ended a later one.
    for thread, calls, now_ps in ((0, 2, 2_000_000_000_000), (2, 3, 1_500_000_000_000)):
        words[64 * thread], words[64 * thread + 1] = calls, now_ps
        text[512 * thread + 16 : 512 * thread + 22] = b"arrive"
        text[512 * thread + 32 : 512 * thread + 37] = "\N{GREEK SMALL LETTER ALPHA}->b".encode()
    assert str(record.last(before)) == "\N{GREEK SMALL LETTER ALPHA}->b, in `arrive` at 1.5 s"
    words[128] = 4
    assert str(record.last(before)) == "\N{GREEK SMALL LETTER ALPHA}->b, after `arrive` at 2 s"
    assert record.last(record.calls) is None
    words.release()
    text.release()
    record.close()
