"""Robustness of the directory of a sweep: kills, full disks, damage, changed sweeps, and several clients."""

from __future__ import annotations

import errno
import json
import os
import random
import resource
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from reports import contents

import tailback
import tailback as core
from tailback import OutputError
from tailback.results import stored
from tailback.run import pool as parallel
from tailback.study import store as stores

Cli = Callable[..., Any]

AXES: dict[str, Any] = {"network.buffer": ["10kB", "20kB", "40kB"], "flows[data].source.rate": ["3Mbit/s", "4Mbit/s"]}


def shards(directory: Path) -> list[Path]:
    """Return the shards of a sweep's directory."""
    return sorted((directory / "shards").glob("*.parquet"))


def finished(directory: Path) -> set[tuple[str, int]]:
    """Return the runs on the disk, as scenario hash and seed."""
    return set(stores.read_runs(directory).runs)


def test_a_directory_reads_back_as_the_same_sweep(merge: Path, tmp_path: Path) -> None:
    found = tailback.sweep(merge, AXES, replications=2, directory=tmp_path / "s")
    assert found.digest == tailback.sweep(merge, AXES, replications=2).digest
    read = tailback.open_sweep(tmp_path / "s")
    assert read.runs == found.runs
    assert (read.digest, read.paths, read.confidence, read.interrupted) == (found.digest, found.paths, 0.95, False)


def test_a_second_call_runs_nothing(merge: Path, tmp_path: Path) -> None:
    first = tailback.sweep(merge, AXES, replications=2, directory=tmp_path / "s")
    before = shards(tmp_path / "s")
    again = tailback.sweep(merge, AXES, replications=2, directory=tmp_path / "s")
    assert shards(tmp_path / "s") == before
    assert again.digest == first.digest


def test_only_missing_runs_are_run_again(merge: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stores, "_MAX_RUNS", 4)
    whole = tailback.sweep(merge, AXES, replications=2, directory=tmp_path / "s")
    assert len(shards(tmp_path / "s")) >= 3
    shards(tmp_path / "s")[1].unlink()
    kept = finished(tmp_path / "s")
    calls: list[float] = []
    again = tailback.sweep(
        merge, AXES, replications=2, directory=tmp_path / "s", progress=lambda done, _: calls.append(done)
    )
    assert calls[0] >= len(kept)
    assert again.digest == whole.digest
    assert kept < finished(tmp_path / "s")


def test_a_damaged_shard_is_set_aside_and_its_runs_are_run_again(
    tailback: Cli, merge: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A shard is written after 30 s at the earliest, so that there is only one at the end, even on a slow machine.
    monkeypatch.setattr(stores, "_MIN_AGE_S", 30.0)
    call = ["sweep", merge, "--set", "network.buffer=[10kB, 20kB]", "--reps", "2", "--out", tmp_path / "s", "--json"]
    whole = tailback(*call).json
    (shard,) = shards(tmp_path / "s")
    data = bytearray(shard.read_bytes())
    data[len(data) // 2] ^= 1
    shard.write_bytes(data)
    assert tailback("sweep", "--status", tmp_path / "s", "--json").json["damaged_shards"] == 1
    again = tailback(*call)
    assert again.code == 0
    assert "is damaged" in again.err
    assert again.json["digest"] == whole["digest"]
    assert [path.name for path in (tmp_path / "s" / "shards").glob("*.spoilt")] == [f"{shard.stem}.spoilt"]


@pytest.mark.parametrize("cut", [0, 1, 100])
def test_a_truncated_shard_is_set_aside(merge: Path, tmp_path: Path, cut: int) -> None:
    whole = tailback.sweep(merge, AXES, replications=1, directory=tmp_path / "s")
    (shard,) = shards(tmp_path / "s")
    shard.write_bytes(shard.read_bytes()[:cut])
    again = tailback.sweep(merge, AXES, replications=1, directory=tmp_path / "s")
    assert again.digest == whole.digest
    assert len(again.notes) == 1


def test_another_sweep_in_the_directory_is_refused_with_the_difference(
    tailback: Cli, merge: Path, tmp_path: Path
) -> None:
    call = ["sweep", merge, "--set", "network.buffer=[10kB, 20kB]", "--reps", "2", "--out", tmp_path / "s"]
    assert tailback(*call).code == 0
    before = finished(tmp_path / "s")
    for change, words in [
        (["--set", "run.duration=1s"], "the points or their settings"),
        (["--seed", "5"], "the seed"),
        (["--reps", "3"], "the number of replications"),
    ]:
        refused = tailback(*call, *change)
        assert refused.code == 4, refused.err
        assert "holds another sweep" in refused.err
        assert words in refused.err
        assert "--extend" in refused.err
    merge.write_text(merge.read_text().replace('rate = "10Mbit/s"', 'rate = "9Mbit/s"', 1))
    assert "the scenario" in tailback(*call).err
    assert finished(tmp_path / "s") == before


def test_an_extended_sweep_uses_the_runs_that_are_stored(merge: Path, tmp_path: Path) -> None:
    tailback.sweep(merge, AXES, replications=3, directory=tmp_path / "s")
    before = finished(tmp_path / "s")
    more = AXES | {"network.buffer": ["20kB", "80kB"]}
    found = tailback.sweep(merge, more, replications=2, directory=tmp_path / "s", extend=True)
    assert found.digest == tailback.sweep(merge, more, replications=2).digest
    assert tailback.open_sweep(tmp_path / "s").digest == found.digest
    assert len(finished(tmp_path / "s") - before) == 4


def test_a_second_client_on_a_directory_is_refused(tailback: Cli, merge: Path, tmp_path: Path) -> None:
    call = ["sweep", merge, "--set", "network.buffer=[10kB]", "--reps", "1", "--out", tmp_path / "s"]
    assert tailback(*call).code == 0
    with stores._locked(tmp_path / "s"):
        refused = tailback(*call)
        assert refused.code == 4
        assert "another process is writing to" in refused.err
        assert f"process {os.getpid()}" in refused.err
    assert tailback(*call).code == 0


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EACCES, errno.EIO])
def test_a_disk_that_fails_during_a_sweep_loses_no_stored_run(
    merge: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    monkeypatch.setattr(stores, "_MAX_RUNS", 3)
    real, written = stores.write_file, []

    def failing(path: Path, content: bytes | str, **options: bool) -> Path:
        if str(path).endswith(".parquet"):
            if len(written) == 2:
                from tailback.results.directory import writing

                with writing(path):
                    raise OSError(number, os.strerror(number))
            written.append(path)
        return real(path, content, **options)

    monkeypatch.setattr(stores, "write_file", failing)
    with pytest.raises(OutputError, match="the same command again runs the missing ones"):
        tailback.sweep(merge, AXES, replications=3, directory=tmp_path / "s")
    kept = finished(tmp_path / "s")
    assert len(kept) >= 6
    assert not list((tmp_path / "s" / "shards").glob(".*"))
    monkeypatch.setattr(stores, "write_file", real)
    again = tailback.sweep(merge, AXES, replications=3, directory=tmp_path / "s")
    assert kept < finished(tmp_path / "s")
    assert again.digest == tailback.sweep(merge, AXES, replications=3).digest


def run_cli(*arguments: object, **options: Any) -> subprocess.CompletedProcess[str]:
    """Run the command line in a separate process."""
    command = [sys.executable, "-m", "tailback", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, **options)


def test_a_full_disk_ends_a_sweep_with_an_error_message_and_exit_code_4(merge: Path, tmp_path: Path) -> None:
    def no_room() -> None:
        # Maximum size of a file, bytes: the manifest fits, a shard does not.
        resource.setrlimit(resource.RLIMIT_FSIZE, (3500, 3500))

    call = ["sweep", merge, "--set", "network.buffer=[10kB]", "--reps", 40, "--out", tmp_path / "s"]
    failed = run_cli(*call, preexec_fn=no_room)
    assert failed.returncode == 4, failed.stderr
    assert "the disk is full" in failed.stderr
    assert "the same command again" in failed.stderr
    assert not shards(tmp_path / "s")
    assert run_cli(*call).returncode == 0


def test_a_directory_that_cannot_be_written_is_refused_before_the_runs(
    tailback: Cli, merge: Path, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")
    call = ["sweep", merge, "--set", "run.duration=[1000000s]", "--out"]
    for place in (tmp_path / "file", tmp_path / "file" / "below", Path("/proc/nowhere")):
        refused = tailback(*call, place)
        assert refused.code == 4, refused.err
    (tmp_path / "s" / "shards").mkdir(parents=True)
    if os.geteuid() != 0:
        (tmp_path / "s" / "shards").chmod(0o500)
        assert "not writable" in tailback(*call, tmp_path / "s").err


def test_shards_without_a_readable_manifest_are_not_overwritten(merge: Path, tmp_path: Path) -> None:
    tailback.sweep(merge, AXES, replications=1, directory=tmp_path / "s")
    (tmp_path / "s" / "sweep.json").write_text("{")
    with pytest.raises(OutputError, match=r"no readable sweep\.json"):
        tailback.sweep(merge, AXES, replications=1, directory=tmp_path / "s")


LONG = ["--set", "run.duration=40s", "--set", "network.buffer=[10kB, 20kB, 30kB, 40kB, 50kB, 60kB]", "--reps", "12"]


def kill_the_client(merge: Path, directory: Path, draws: random.Random, whole: str, kills: int) -> None:
    """Kill a sweep at `kills` random moments, let it finish, and check that no stored run is lost.

    `whole` is the expected digest: that of a sweep that was not killed.
    """
    call = [sys.executable, "-m", "tailback", "sweep", str(merge), *LONG, "--out", str(directory), "--json", "-q"]
    seen: set[tuple[str, int]] = set()
    while True:
        child = subprocess.Popen(call, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        if kills:
            # A random moment after the directory was created.
            deadline = time.monotonic() + 30
            while not (directory / "sweep.json").exists() and time.monotonic() < deadline and child.poll() is None:
                time.sleep(0.02)
            time.sleep(draws.uniform(0.0, 2.0))
            child.send_signal(signal.SIGKILL)
            kills -= 1
        out, err = child.communicate(timeout=120)
        now = finished(directory)
        assert seen <= now, "a run whose shard was on the disk is gone"
        seen = now
        if child.returncode == 0:
            assert json.loads(out)["digest"] == whole
            return
        assert child.returncode == -signal.SIGKILL, err


def whole_digest(merge: Path) -> str:
    """Return the digest of a sweep that is not killed."""
    done = run_cli("sweep", merge, *LONG, "--json", "-q")
    assert done.returncode == 0, done.stderr
    return str(json.loads(done.stdout)["digest"])


def test_a_killed_client_resumes_to_the_same_digest(merge: Path, tmp_path: Path) -> None:
    whole = whole_digest(merge)
    for trial in range(3):
        kill_the_client(merge, tmp_path / f"s{trial}", random.Random(f"client {trial}"), whole, 1)


@pytest.mark.slow
def test_twenty_killed_clients_resume_to_the_same_digest(merge: Path, tmp_path: Path) -> None:
    whole = whole_digest(merge)
    for trial in range(20):
        kill_the_client(merge, tmp_path / f"s{trial}", random.Random(f"client, long {trial}"), whole, 3)


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")
def test_ctrl_c_keeps_finished_points_and_exits_with_130(merge: Path, tmp_path: Path) -> None:
    call = [sys.executable, "-m", "tailback", "sweep", str(merge), "--out", str(tmp_path / "s"), "-q"]
    call += ["--set", "run.duration=[1s, 2s, 1000000s]", "--reps", "2", "--threads", "1"]
    child = subprocess.Popen(
        call, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )  # fmt: skip
    deadline = time.monotonic() + 60
    while not (tmp_path / "s" / "sweep.json").exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    time.sleep(2)
    child.send_signal(signal.SIGINT)
    _, err = child.communicate(timeout=60)
    assert child.returncode == 130, err
    assert "finished runs are kept" in err
    assert json.loads((tmp_path / "s" / "sweep.json").read_text())["state"] == "interrupted"
    finished_runs = {
        dict(setting)["run.duration"]: len(runs) for setting, runs in tailback.open_sweep(tmp_path / "s").runs.items()
    }
    assert finished_runs == {"1s": 1, "2s": 1, "1000000s": 0}
    assert (tmp_path / "s" / "report.html").exists()


def test_status_reports_finished_and_missing_runs(tailback: Cli, merge: Path, tmp_path: Path) -> None:
    out = tmp_path / "s"
    assert tailback("sweep", "--status", out).code == 4
    assert tailback("sweep", merge, "--set", "network.buffer=[10kB, 20kB]", "--reps", "2", "--out", out).code == 0
    found = tailback("sweep", "--status", out, "--json").json
    assert (found["state"], found["points"], found["runs_finished"], found["runs_missing"]) == ("complete", 2, 4, 0)
    manifest = json.loads((out / "sweep.json").read_text())
    # A client that is killed leaves such a manifest.
    begun = {**manifest, "state": "running", "replications": None, "digest": None}
    (out / "sweep.json").write_text(json.dumps(stored.sealed(begun)))
    shards(out)[0].unlink()
    found = tailback("sweep", "--status", out, "--json").json
    assert (found["state"], found["runs_missing"]) == ("stopped", 4)
    assert "runs missing" in tailback("sweep", "--status", out).out
    with stores._locked(out):
        assert tailback("sweep", "--status", out, "--json").json["state"] == "running"
    assert tailback("sweep", "--report", out).code == 0


def test_a_study_file_needs_no_options_and_contradicting_options_are_refused(
    tailback: Cli, merge: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(merge.parent)
    study = 'study = 1\nscenario = "merge.toml"\nreplications = 2\n[[axes]]\npath = "network.buffer"\n'
    Path("mine.toml").write_text(study + 'values = ["10kB", "20kB"]\n')
    done = tailback("sweep", "mine.toml")
    assert done.code == 0, done.err
    assert sorted(path.name for path in Path("mine.sweep").iterdir()) == [
        "lock",
        "report-static.html",
        "report.html",
        "results.parquet",
        "shards",
        "sweep.json",
    ]
    sections = contents(Path("mine.sweep/report.html").read_text())
    assert sections["figure-1"]["figures"]["figure-1"]["panels"]  # type: ignore[index]
    assert tailback("sweep", "mine.toml", "--set", "run.seed=1").code == 2
    assert tailback("sweep", "mine.toml", "--out", "one.parquet").code == 2
    assert tailback("sweep").code == 2
    assert tailback("sweep", "mine.toml", "--status", "mine.sweep").code == 2


def test_another_build_of_the_same_version_is_refused(
    merge: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    axes = {"network.buffer": ["10kB"]}
    begun = tailback.sweep(merge, axes, replications=1, directory=tmp_path / "s")
    monkeypatch.setattr("tailback.study.document.engine", lambda: "0" * 16)
    for extend in (False, True):
        with pytest.raises(OutputError, match=r"another build of Tailback .*two programs would be mixed"):
            tailback.sweep(merge, axes, replications=2, directory=tmp_path / "s", extend=extend)
    # Reading a sweep does not depend on the build.
    assert tailback.open_sweep(tmp_path / "s").digest == begun.digest


@pytest.mark.parametrize("text", ['{"sweep": 1}', "[1]", '{"sweep": 1, "identity": {}}', "", "{"])
def test_a_damaged_manifest_is_an_error_message(merge: Path, tmp_path: Path, tailback: Cli, text: str) -> None:
    command = ("sweep", merge, "--set", "network.buffer=[10kB,20kB]", "--reps", "1", "--out", tmp_path / "s", "-q")
    assert tailback(*command).code == 0
    (tmp_path / "s" / "sweep.json").write_text(text)
    for option in ("--status", "--report"):
        done = tailback("sweep", option, tmp_path / "s")
        assert (done.code, "sweep.json is not the manifest of a sweep" in done.err) == (4, True)
    again = tailback(*command)
    assert (again.code, "no readable sweep.json" in again.err) == (4, True)


def test_a_file_that_is_not_a_shard_is_set_aside(merge: Path, tmp_path: Path) -> None:
    first = tailback.sweep(merge, AXES, replications=1, directory=tmp_path / "s")
    foreign = b"no parquet at all"
    name = f"0-{stores._hash(foreign)}.parquet"
    (tmp_path / "s" / "shards" / name).write_bytes(foreign)
    again = tailback.sweep(merge, AXES, replications=1, directory=tmp_path / "s")
    assert again.digest == first.digest
    assert any(name in note for note in again.notes)
    assert (tmp_path / "s" / "shards" / name).with_suffix(".spoilt").exists()


def fail_runs(monkeypatch: pytest.MonkeyPatch, bad: Callable[[Any], bool]) -> None:
    """Let the runs of the tasks for which `bad` returns `True` fail, with the error of a panic of the engine."""
    run = parallel._run

    def run_or_fail(task: Any, *others: Any) -> Any:
        if bad(task):
            raise tailback.RunError(f"the run with seed {task.seed} failed: min > max")
        return run(task, *others)

    monkeypatch.setattr(parallel, "_run", run_or_fail)


def test_a_failed_run_does_not_prevent_the_others(
    tailback: Cli, merge: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "s"
    base = core.load(merge)
    culprit = base.set({"network.buffer": "20kB", "flows[data].source.rate": "4Mbit/s"}).hash
    fail_runs(monkeypatch, lambda task: task.scenario.hash == culprit and task.seed == 2)
    command = ["sweep", merge, "--reps", "2", "--seed", "1", "--out", out, "--json"]
    for path, values in AXES.items():
        command += ["--set", f"{path}=[{', '.join(values)}]"]
    failed = tailback(*command)
    assert failed.code == 4
    assert [(one["set"], one["seed"]) for one in failed.json["failures"]] == [
        ({"network.buffer": "20kB", "flows[data].source.rate": "4Mbit/s"}, 2)
    ]
    line = failed.err.strip().splitlines()[-1]
    assert line.startswith(
        "error: at network.buffer = 20kB, flows[data].source.rate = 4Mbit/s: the run with seed 2 failed"
    )
    assert len(finished(out)) == 2 * 6 - 1
    status = tailback("sweep", "--status", out, "--json").json
    assert (status["state"], status["runs_failed"], status["runs_missing"]) == ("failed", 1, 1)
    assert "min &gt; max" in (out / "report.html").read_text()
    # The message has a command that runs exactly this replication.
    monkeypatch.undo()
    words = shlex.split(line.partition("alone: ")[2])
    alone = tailback(*words[1:], "--out", tmp_path / "alone")
    assert alone.code == 0
    manifest = json.loads((tmp_path / "alone" / "manifest.json").read_text())
    assert core.open_sweep(out).hashes[tuple(failed.json["failures"][0]["set"].items())] == culprit
    assert [run["seed"] for run in manifest["replications"]] == [2]
    # The same command again runs the missing runs.
    again = tailback(*command)
    assert again.code == 0
    assert again.json["digest"] == core.sweep(merge, AXES, replications=2, seed=1).digest


def test_in_python_failed_runs_are_an_exception_with_the_results_of_the_others(
    merge: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fail_runs(monkeypatch, lambda task: task.seed == 3)
    with pytest.raises(core.FailedRuns, match="6 of 18 runs failed, the others are complete") as failed:
        core.sweep(merge, AXES, replications=3, seed=1)
    assert [len(runs) for runs in failed.value.sweep.runs.values()] == [2] * 6
    assert {failure.seed for failure in failed.value.sweep.failures} == {3}


def test_until_is_judged_by_the_runs_that_did_not_fail(merge: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fail_runs(monkeypatch, lambda task: task.seed == 2)
    with pytest.raises(core.FailedRuns) as failed:
        core.sweep(
            merge,
            seed=1,
            replications=3,
            until={"metric": "throughput", "relative": 1e-9, "max-replications": 6},
        )
    assert [sorted(run.seed for run in runs) for runs in failed.value.sweep.runs.values()] == [[1, 3, 4, 5, 6]]


def test_a_point_at_which_all_runs_fail_does_not_prevent_the_table(
    tailback: Cli, merge: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    culprit = core.load(merge).set({"network.buffer": "20kB"}).hash
    fail_runs(monkeypatch, lambda task: task.scenario.hash == culprit)
    done = tailback(
        "sweep", merge, "--reps", "2", "--out", tmp_path / "s", "--set", "network.buffer=[10kB, 20kB, 40kB]"
    )
    assert done.code == 4
    assert done.err.count("failed: min > max") == 2
    assert "40kB" in done.out


def test_a_sweep_does_not_write_into_a_run_directory(tailback: Cli, merge: Path, tmp_path: Path) -> None:
    assert tailback("run", merge, "--reps", "1", "--out", tmp_path / "r").code == 0
    refused = tailback("sweep", merge, "--out", tmp_path / "r")
    assert refused.code == 4
    assert "is the directory of a run" in refused.err
    assert not (tmp_path / "r" / "shards").exists()


def test_partial_files_of_a_killed_client_are_removed(merge: Path, tmp_path: Path) -> None:
    out = tmp_path / "s"
    first = core.sweep(merge, AXES, replications=1, directory=out)
    for name in (".sweep.json.abc.partial", ".results.parquet.abc.partial", "shards/.1.parquet.abc.partial"):
        (out / name).write_text("half")
    assert core.sweep(merge, AXES, replications=1, directory=out).digest == first.digest
    assert not list(out.rglob("*.partial"))


def test_a_sweep_stores_its_warnings(tailback: Cli, merge: Path, tmp_path: Path) -> None:
    out = tmp_path / "s"
    # Neither buffers that are never full nor the engine change a result.
    first = tailback(
        "sweep",
        merge,
        "--set",
        "network.buffer=[100MB, 200MB]",
        "--set",
        "run.engine=plain",
        "--reps",
        "1",
        "--out",
        out,
    )
    assert first.code == 0
    found = core.open_sweep(out).warnings
    assert {warning.name for warning in found} == {"no-effect"}
    for warning in found:
        assert warning.rendered.strip() in first.err
    again = tailback("sweep", "--report", out)
    assert (again.code, [w.rendered.strip() in again.err for w in found]) == (0, [True] * len(found))
    # Warnings that are read back equal those that were returned, with place and advice.
    study = core.load(merge)
    axes = {"network.buffer": ["100MB", "200MB"]}
    made = core.sweep(study, axes, fixed={"run.engine": "plain"}, replications=1, directory=tmp_path / "p")
    assert made.warnings
    assert core.open_sweep(tmp_path / "p").warnings == made.warnings


@pytest.mark.parametrize("late", ["write", "report"])
def test_a_signal_after_the_last_run_shows_the_command_that_writes_the_report(
    tailback: Cli, merge: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, late: str
) -> None:
    """SIGTERM, as a service manager sends it, loses no run while figures are drawn; the message shows the command."""
    out = tmp_path / "a sweep"
    command = ("sweep", merge, "--set", "network.buffer=[10kB, 20kB]", "--reps", "1", "--out", out)
    with monkeypatch.context() as patch:
        patch.setattr(core.Sweep, late, lambda *_: os.kill(os.getpid(), signal.SIGTERM))
        stopped = tailback(*command)
    assert stopped.code == 130
    assert not (out / "report.html").exists()
    line = stopped.err.strip().splitlines()[-1]
    assert line.startswith("error: interrupted; finished runs are kept. This command writes their report: ")
    assert tailback("sweep", "--status", out, "--json").json["state"] == "complete"
    # The message has a command that writes the report.
    assert tailback(*shlex.split(line.partition("report: ")[2])[1:]).code == 0
    assert (out / "report.html").exists()
    assert (out / "results.parquet").exists()


def test_sigterm_ends_a_sweep_like_ctrl_c(merge: Path, tmp_path: Path) -> None:
    long = core.load(merge).set(duration="2000s")
    (tmp_path / "long.toml").write_text(long.to_toml())
    command = [sys.executable, "-m", "tailback", "sweep", "long.toml", "--reps", "40", "--out", "s", "--threads", "1"]
    with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True) as child:
        while not shards(tmp_path / "s"):
            assert child.poll() is None
            time.sleep(0.05)
        child.send_signal(signal.SIGTERM)
        _, err = child.communicate(timeout=60)
    assert child.returncode == 130
    assert "interrupted; finished runs are kept" in err
    assert 0 < len(finished(tmp_path / "s")) < 40
