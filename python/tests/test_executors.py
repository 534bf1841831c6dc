"""Executors: Dask with a real scheduler, MPI with real ranks, submitit with local jobs, pools with killed workers."""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest

import tailback
from tailback.errors import ExecutorError, UsageError
from tailback.results.report import Report
from tailback.run.executors import open_backend
from tailback.run.pool import Pool, Task, run_batch
from tailback.study.experiment.points import Point
from tailback.study.store import read_runs
from tailback.study.sweep import sweep

Cli = Callable[..., Any]

AXES: dict[str, Any] = {"network.buffer": ["10kB", "20kB"], "flows[data].source.rate": ["3Mbit/s", "4Mbit/s"]}
DOCUMENT = """study = 1
scenario = "merge.toml"
replications = 20
set = { "run.duration" = "30s" }
[[axes]]
path = "network.buffer"
values = ["10kB", "20kB", "30kB", "40kB"]
[[axes]]
path = "flows[data].source.rate"
values = ["3Mbit/s", "4Mbit/s"]
"""


def seed_of(key: int, report: Report) -> tuple[int, int]:
    """Return the key of a task and the seed of its report."""
    return key, report.seed


def test_results_are_in_the_order_of_the_tasks_for_any_number_of_threads(merge: Path) -> None:
    scenario = tailback.load(merge).set(duration="200ms")
    tasks = [Task(k, scenario, k + 1) for k in range(200)]
    for threads in (1, 3):
        with Pool(threads) as pool:
            progress: list[float] = []
            each: list[int] = []
            outcome = pool.run(
                tasks,
                seed_of,
                lambda d, _, progress=progress: progress.append(d),
                lambda d, each=each: each.append(d.key),
            )  # type: ignore[misc]
        assert [done.value for done in outcome.done] == [(k, k + 1) for k in range(200)]
        assert sorted(each) == list(range(200))
        assert progress[-1] == 200


class Counting(Executor):
    """Executor that runs each batch in `submit`, and records the sizes of batches."""

    def __init__(self) -> None:
        self.sizes: list[int] = []

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        assert fn is run_batch
        self.sizes.append(len(args[0]))
        future: Future[Any] = Future()
        future.set_result(fn(*args, **kwargs))
        return future


def test_short_runs_are_submitted_in_batches_and_long_ones_alone(merge: Path) -> None:
    scenario = tailback.load(merge)
    short, long = Counting(), Counting()
    with Pool(executor=short) as pool:
        pool.run([Task(k, scenario.set(duration="101ms"), k) for k in range(500)], seed_of)
    assert sum(short.sizes) == 500
    assert max(short.sizes) > 50
    with Pool(executor=long) as pool:
        pool.run([Task(k, scenario.set(duration="1500s"), k) for k in range(3)], seed_of)
    assert long.sizes == [1, 1, 1]


def test_the_first_failure_stops_the_rest_and_keeps_finished_runs(merge: Path) -> None:
    scenario = tailback.load(merge).set(duration="101ms")
    kept: list[int] = []

    def keep(key: int, report: Report) -> int:
        if key == 30:
            raise tailback.RunError("no such luck")
        return report.seed

    with Pool(1) as pool, pytest.raises(tailback.RunError, match="no such luck"):
        pool.run([Task(k, scenario, k) for k in range(1000)], keep, each=lambda done: kept.append(done.key))
    assert set(range(30)) <= set(kept)
    assert len(kept) < 1000


def kill_own_process(key: int, report: Report) -> int:
    """Return the seed of a report, but kill the worker process at task 3."""
    if key == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return report.seed


def test_a_process_pool_gives_the_results_and_a_killed_worker_is_an_executor_error(merge: Path) -> None:
    scenario = tailback.load(merge)
    with ProcessPoolExecutor(1, get_context("spawn")) as executor, Pool(executor=executor) as pool:
        outcome = pool.run([Task(k, scenario, k + 1) for k in range(3)], seed_of)
        assert [done.value for done in outcome.done] == [(0, 1), (1, 2), (2, 3)]
        with pytest.raises(ExecutorError, match=r"lost a task|is broken"):
            pool.run([Task(k, scenario, k + 1) for k in range(5)], kill_own_process)


def test_points_and_experiments_of_the_gallery_can_be_pickled(merge: Path) -> None:
    import pickle

    from tailback.gallery.registry import experiment
    from tailback.study.experiment.runner import _Keep

    chosen = experiment("lan-a1")
    point = next(iter(chosen.points("quick")))
    assert pickle.loads(pickle.dumps(point)) == point
    assert hash(pickle.loads(pickle.dumps(point))) == hash(Point(**dict(point)))
    assert type(pickle.loads(pickle.dumps(_Keep(chosen))).experiment) is type(chosen)
    del merge


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"name": "dask"}, "needs --scheduler with an address"),
        ({"name": "threads", "scheduler": "tcp://x"}, "the executor is threads"),
        ({"name": "threads", "options": {"a": "b"}}, "needs the executor dask or slurm"),
        ({"name": "dask", "scheduler": "tls://x", "options": {"ca": "b"}}, "the options are tls_ca_file"),
        ({"name": "dask", "scheduler": "tls://x", "options": {"tls_ca_file": "no.pem"}}, "there is no such file"),
        ({"name": "dask", "scheduler": "tcp://x", "options": {"tls_ca_file": __file__}}, "begins with tls://"),
        ({"name": "dask", "scheduler": "tcp://x", "workers": 3}, "has no effect on"),
        ({"name": "slurm", "options": {"cluster": "local", "batch_s": "-1"}}, "above 0"),
    ],
)
def test_missing_invalid_and_unused_options_of_executors_are_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        open_backend(**arguments)


@pytest.mark.parametrize(("name", "package"), [("dask", "distributed"), ("mpi", "mpi4py"), ("slurm", "submitit")])
def test_a_missing_package_is_an_error_with_the_command_that_installs_it(
    name: Any, package: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    class Hidden:
        def find_spec(self, wanted: str, *_: object) -> None:
            if wanted.partition(".")[0] == package:
                raise ModuleNotFoundError(f"No module named {wanted!r}", name=package)

    for module in [m for m in sys.modules if m.partition(".")[0] == package]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setattr(sys, "meta_path", [Hidden(), *sys.meta_path])
    scheduler = "tcp://127.0.0.1:9" if name == "dask" else None
    with pytest.raises(UsageError, match=rf"{package} is missing: pip install 'tailback\[{name}\]'"):
        open_backend(name, scheduler=scheduler, folder=str(tmp_path))


# Dask, with a scheduler and two workers, each with a nanny, over loopback.


class Cluster:
    """A Dask scheduler and two workers, each in a separate process; started on first use."""

    def __init__(self, *tls: str) -> None:
        self.tls = tls
        self.nannies: list[subprocess.Popen[str]] = []
        self.scheduler: subprocess.Popen[str] | None = None
        self._address = ""

    @property
    def address(self) -> str:
        """Address of the scheduler, which is started if it does not run."""
        if self.scheduler is None or self.scheduler.poll() is not None:
            self.stop()
            self.begin()
        return self._address

    def begin(self) -> None:
        self.scheduler = self._start("scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard")
        assert self.scheduler.stderr is not None
        line = ""
        while "Scheduler at" not in line:
            line = self.scheduler.stderr.readline()
            assert line, "the scheduler did not start"
        found = re.search(r"(tcp|tls)://\S+", line)
        assert found is not None
        self._address = found[0]
        # The pipe has no reader from here on; if it filled up, the scheduler would block.
        self.scheduler.stderr.close()
        # Only reachable from this machine, since a worker runs any code that it is sent.
        options = ("--host", "127.0.0.1", "--nthreads", "1", "--no-dashboard")
        self.nannies = [self._start("worker", found[0], *options) for _ in range(2)]

    def _start(self, what: str, *arguments: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", f"distributed.cli.dask_{what}", *arguments, *self.tls]
        stderr = subprocess.PIPE if what == "scheduler" else subprocess.DEVNULL
        return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=stderr, text=True, start_new_session=True)

    def workers(self) -> list[int]:
        """Return the process ids of the workers, which are children of the nannies."""
        found = []
        for nanny in self.nannies:
            for task in Path(f"/proc/{nanny.pid}/task").glob("*/children"):
                found += [int(pid) for pid in task.read_text().split()]
        return [p for p in found if "spawn_main" in Path(f"/proc/{p}/cmdline").read_text() and alive(p)]

    def kill_scheduler(self) -> None:
        assert self.scheduler is not None
        os.killpg(self.scheduler.pid, signal.SIGKILL)
        self.scheduler.wait()

    def stop(self) -> None:
        for process in filter(None, (*self.nannies, self.scheduler)):
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def alive(pid: int) -> bool:
    """Return `True` if a process exists and is not a zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    pytest.importorskip("distributed")
    if not Path("/proc/self/stat").exists():
        pytest.skip("needs /proc to find the workers")
    made = Cluster()
    yield made
    made.stop()


@pytest.fixture
def study(merge: Path) -> Path:
    path = merge.with_name("study.toml")
    path.write_text(DOCUMENT)
    return path


def start(study: Path, directory: Path, address: str) -> subprocess.Popen[str]:
    """Start a sweep of a study on Dask, with the directory for its results."""
    command = [sys.executable, "-m", "tailback", "sweep", str(study), "--out", str(directory), "--json", "-q"]
    command += ["--executor", "dask", "--scheduler", address]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def finished(directory: Path) -> set[tuple[str, int]]:
    """Return the runs on the disk, as scenario hash and seed."""
    return set(read_runs(directory).runs) if (directory / "shards").is_dir() else set()


def wait_for_more(child: subprocess.Popen[str], directory: Path, than: int) -> bool:
    """Wait until more than `than` runs are on the disk or the child has ended; return `True` if it has not ended."""
    deadline = time.monotonic() + 90
    while child.poll() is None and len(finished(directory)) <= than:
        assert time.monotonic() < deadline, "nothing is written"
        time.sleep(0.05)
    return child.poll() is None


def sweep_through_kills(
    victim: str, kills: int, cluster: Cluster, study: Path, directory: Path, draws: random.Random
) -> tuple[str, int]:
    """Kill one process of a sweep up to `kills` times at random moments, and continue the sweep until it is complete.

    Returns the last digest and the number of kills. No run whose shard has been on the disk may be missing later.
    """
    hits = 0
    while True:
        child = start(study, directory, cluster.address)
        while hits < kills and wait_for_more(child, directory, len(finished(directory))):
            time.sleep(draws.uniform(0.0, 0.4))
            before = finished(directory)
            if child.poll() is not None or (victim == "worker" and not cluster.workers()):
                continue
            if victim == "worker":
                os.kill(draws.choice(cluster.workers()), signal.SIGKILL)
            elif victim == "scheduler":
                cluster.kill_scheduler()
            else:
                child.kill()
            hits += 1
            if victim != "worker":
                break
        out, err = child.communicate(timeout=180)
        assert "Traceback" not in err
        if hits:
            assert before <= finished(directory), "a run whose shard was on the disk is gone"
        if child.returncode == 0:
            return json.loads(out)["digest"], hits
        # The nanny replaces a dead worker; without its scheduler a sweep ends with an error message.
        assert victim != "worker", err
        assert child.returncode == (4 if victim == "scheduler" else -signal.SIGKILL), err
        if victim == "scheduler":
            assert "scheduler" in err or "executor" in err, err
            assert "the same command again runs the missing ones" in err


@pytest.mark.parametrize("victim", ["worker", "client", "scheduler"])
def test_killing_a_worker_client_or_scheduler_of_a_dask_sweep_loses_no_run(
    victim: str, cluster: Cluster, study: Path, tmp_path: Path
) -> None:
    kills_at_random_moments(victim, 1, cluster, study, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("victim", ["worker", "client", "scheduler"])
def test_twenty_kills_of_workers_clients_and_schedulers_of_dask_sweeps_lose_no_run(
    victim: str, cluster: Cluster, study: Path, tmp_path: Path
) -> None:
    for trial in range(20):
        kills_at_random_moments(victim, 1, cluster, study, tmp_path / str(trial))


def kills_at_random_moments(victim: str, kills: int, cluster: Cluster, study: Path, folder: Path) -> None:
    """Kill a process of sweeps `kills` times, and compare the digests with that of a sweep on threads."""
    hits = 0
    draws = random.Random(f"dask {victim} {folder.name}")
    for length in (2, 8, 32):
        # If the sweep ends before the process has been killed `kills` times, it is repeated with longer runs.
        study.write_text(DOCUMENT.replace("30s", f"{30 * length}s"))
        directory = folder / f"s{length}"
        digest, now = sweep_through_kills(victim, kills - hits, cluster, study, directory, draws)
        assert digest == tailback.sweep(study).digest
        hits += now
        if hits >= kills:
            return
    pytest.fail(f"only {hits} of {kills} kills came before the end")


def test_dask_and_threads_give_the_same_digests_for_sweep_run_and_gallery(
    cluster: Cluster, merge: Path, tmp_path: Path
) -> None:
    from tailback.gallery.registry import experiment
    from tailback.study.experiment.runner import plan, run

    chosen = experiment("lan-a1")
    few = list(plan(chosen, "quick").samples)[:2]
    backend = open_backend("dask", scheduler=cluster.address)
    try:
        swept = tailback.sweep(merge, AXES, replications=2, executor=backend, directory=tmp_path / "s")
        ran = tailback.run(merge, replications=4, executor=backend)
        with Pool(executor=backend) as pool:
            samples = run(chosen, "quick", pool, only=few).samples
    finally:
        backend.close()
    assert swept.digest == tailback.sweep(merge, AXES, replications=2).digest
    assert ran.digest == tailback.run(merge, replications=4).digest
    with Pool() as pool:
        assert run(chosen, "quick", pool, only=few).samples == samples


def test_dask_over_tls_gives_the_digest_of_threads(tailback: Cli, study: Path, tmp_path: Path) -> None:
    pytest.importorskip("distributed")
    if shutil.which("openssl") is None:
        pytest.skip("needs openssl to make a certificate")
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    make = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"]
    subprocess.run([*make, "-keyout", key, "-out", certificate], check=True, capture_output=True)
    files = ("--tls-ca-file", str(certificate), "--tls-cert", str(certificate), "--tls-key", str(key))
    encrypted = Cluster(*files, "--protocol", "tls")
    try:
        command = ["sweep", study, "--executor", "dask", "--scheduler", encrypted.address, "--json"]
        for name, file in (("tls_ca_file", certificate), ("tls_client_cert", certificate), ("tls_client_key", key)):
            command += ["--option", f"{name}={file}"]
        swept = tailback(*command, "--out", tmp_path / "s")
        assert swept.code == 0, swept.err
        assert swept.json["digest"] == sweep(study).digest
    finally:
        encrypted.stop()


def test_an_unreachable_scheduler_is_an_error(tailback: Cli, study: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("distributed")
    from tailback.run.executors import dask

    monkeypatch.setattr(dask, "_WAIT_S", 1.0)
    refused = tailback("sweep", study, "--executor", "dask", "--scheduler", "tcp://127.0.0.1:9")
    assert refused.code == 4
    assert "no Dask scheduler answers at tcp://127.0.0.1:9" in refused.err


def test_slurm_jobs_give_the_digest_of_threads(merge: Path, tmp_path: Path) -> None:
    pytest.importorskip("submitit")
    options = {"cluster": "local", "timeout_min": "5", "batch_s": "100"}
    backend = open_backend("slurm", folder=str(tmp_path / "jobs"), workers=2, options=options)
    try:
        found = tailback.sweep(merge, AXES, replications=1, executor=backend)
    finally:
        backend.close()
    assert found.digest == tailback.sweep(merge, AXES, replications=1).digest
    assert list((tmp_path / "jobs").glob("*_submitted.pkl")) or list((tmp_path / "jobs").iterdir())


def test_missing_slurm_is_an_error(tailback: Cli, study: Path, tmp_path: Path) -> None:
    pytest.importorskip("submitit")
    if shutil.which("srun"):
        pytest.skip("Slurm is there")
    refused = tailback("sweep", study, "--executor", "slurm", "--out", tmp_path / "s")
    assert refused.code == 2
    assert "submitit reports an error" in refused.err


def mpiexec() -> str:
    """Return the path of the MPI launcher next to this Python, or else on the path."""
    pytest.importorskip("mpi4py")
    found = shutil.which("mpiexec", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    if found is None:
        pytest.skip("there is no mpiexec")
    return found


def test_mpi_ranks_give_the_digest_of_threads(study: Path, tmp_path: Path) -> None:
    study.write_text(DOCUMENT.replace("30s", "2s"))
    call = [mpiexec(), "-n", "3", sys.executable, "-m", "mpi4py.futures", "-m", "tailback", "sweep", str(study)]
    call += ["--out", str(tmp_path / "s"), "--executor", "mpi", "--json", "-q"]
    done = subprocess.run(call, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["digest"] == tailback.sweep(study).digest


def test_mpi_without_mpiexec_is_refused_with_the_command_to_use(study: Path, tmp_path: Path) -> None:
    mpiexec()
    call = [sys.executable, "-m", "tailback", "sweep", str(study), "--executor", "mpi", "--out", str(tmp_path / "s")]
    done = subprocess.run(call, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2, done.stderr
    assert "mpiexec -n 4 python -m mpi4py.futures" in done.stderr
