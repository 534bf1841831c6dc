"""A long reproduction that is killed resumes, and ends with the same results."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import ClassVar

import pytest

from tailback.errors import OutputError
from tailback.reproduction.reproduce import reproduce
from tailback.results import observables as m
from tailback.run.pool import Pool
from tailback.study.experiment import (
    Axis,
    Claim,
    Experiment,
    Figure,
    Observable,
    Point,
    Profile,
    Results,
    Settings,
    grid,
)
from tailback.study.experiment.runner import run
from tailback.study.experiment.store import FILE, Store, _hash

MERGE = Path(__file__).with_name("merge.toml").read_text()
CHILD = """
import sys
sys.path.insert(0, sys.argv[1])
from test_resume import Long
from tailback.reproduction.reproduce import reproduce
reproduce([Long()], "full", sys.argv[2], threads=1)
"""


class Long(Experiment):
    """Experiment that takes a few seconds and records a trace at every point."""

    id = "lan-long"
    title = "Long"
    reference = "nowhere"
    axes = (Axis("mechanism", "mechanism"), Axis("rate", "rate", "Mbit/s"))
    quick = full = Profile(duration="60s", warmup="100ms", replications=6, max_replications=9, cpu_s=60)
    metrics: ClassVar[tuple[Observable, ...]] = (
        m.loss(),
        m.mean_delay(),
        Observable("missing", "missing", "s", lambda _: float("nan")),
    )
    traces: ClassVar = {"digest": lambda report: {"is": ([report.digest, 1], (0.1, None), {})}}

    def points(self, profile: str) -> Iterable[Point]:
        del profile
        return grid(mechanism=("none", "plain"), rate=(1, 4))

    def settings(self, point: Point, profile: str) -> Settings:
        del profile
        return {"backpressure.scope": point["mechanism"], "flows[data].source.rate": f"{point['rate']}Mbit/s"}

    def claims(self, results: Results) -> Iterable[Claim]:
        none, plain = results.where(mechanism="none")["loss"], results.where(mechanism="plain")["loss"]
        yield Claim("C1", "Control helps.", "made up", plain <= none)

    def figures(self, results: Results) -> Iterable[Figure]:
        del results
        return ()

    def read(self, name: str) -> str:
        return MERGE if name == "scenario.toml" else "# Long\n"


def lines(folder: Path) -> list[bytes]:
    """Return the lines of the stored replications. The last line may be incomplete."""
    file = folder / Long.id / FILE
    return file.read_bytes().splitlines(keepends=True) if file.exists() else []


def keys(folder: Path) -> list[tuple[str, int]]:
    """Return scenario hash and seed of each stored replication."""
    return [(kept["scenario"], kept["seed"]) for kept in map(json.loads, lines(folder))]


def test_a_killed_reproduction_resumes_and_repeats_no_replication(tmp_path: Path) -> None:
    out, whole = tmp_path / "killed", tmp_path / "whole"
    child = subprocess.Popen([sys.executable, "-c", CHILD, str(Path(__file__).parent), str(out)])
    deadline = time.monotonic() + 120
    while len(lines(out)) < 4 and time.monotonic() < deadline:
        assert child.poll() is None, "the child ended before it could be killed"
        time.sleep(0.002)
    child.send_signal(signal.SIGKILL)
    assert child.wait() == -signal.SIGKILL
    before = [line for line in lines(out) if line.endswith(b"\n")]
    assert len(before) >= 4
    assert not (out / "report.html").exists()

    resumed: list[int] = []
    found = reproduce([Long()], "full", out, threads=1, finished=lambda trial, _: resumed.append(trial.resumed))
    assert resumed == [len(before)]
    assert lines(out)[: len(before)] == before
    assert len(set(keys(out))) == len(keys(out)) > len(before)

    assert reproduce([Long()], "full", whole, threads=1).as_json() == found.as_json()
    for name in ("report.html", "results.json"):
        assert (out / name).read_bytes() == (whole / name).read_bytes()


def test_an_incomplete_last_line_is_removed_and_all_others_are_used(tmp_path: Path) -> None:
    reproduce([Long()], "full", tmp_path, threads=1)
    kept = lines(tmp_path)
    (tmp_path / Long.id / FILE).write_bytes(b"".join(kept) + kept[0][:40])
    resumed: list[int] = []
    reproduce([Long()], "full", tmp_path, threads=1, finished=lambda trial, _: resumed.append(trial.resumed))
    assert (resumed, lines(tmp_path)) == ([len(kept)], kept)


def test_a_line_that_is_not_a_replication_is_an_error_with_its_number(tmp_path: Path) -> None:
    file = tmp_path / FILE
    file.write_text("\0\0\n")
    with pytest.raises(OutputError, match=r"line 1 cannot be read: .*; delete the line"):
        Store(tmp_path, Long())
    assert file.exists()


def test_traces_and_nan_are_restored(tmp_path: Path) -> None:
    experiment = Long()
    with Store(tmp_path, experiment) as store, Pool(1) as pool:
        first = run(experiment, "full", pool, store=store)
    with Store(tmp_path, experiment) as store:
        found = run(experiment, "full", NoTasks(), store=store)
    at = {"mechanism": "plain", "rate": 4}
    assert found.results.trace("digest", **at) == first.results.trace("digest", **at)
    assert repr(found.samples) == repr(first.samples)


def test_stored_replications_of_another_seed_or_program_are_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    point = Point(mechanism="none", rate=1)
    experiment = Long()
    with Store(tmp_path, experiment) as store, Pool(1) as pool:
        run(experiment, "full", pool, only={point}, store=store)
    with Store(tmp_path, experiment) as store, Pool(1) as pool:
        trial = run(experiment, "full", pool, only={point}, seed=1000, store=store)
        assert trial.resumed == 0
        # With the base seed 3 all replications except the last two are stored; the first one has to be run again, since
        # its trace is needed and was not stored.
        trial = run(experiment, "full", pool, only={point}, seed=3, store=store)
        assert trial.resumed == len(trial.samples[point]) - 3
    monkeypatch.setattr("tailback.study.experiment.store.engine", lambda: "another")
    with Store(tmp_path, experiment) as store, Pool(1) as pool:
        assert run(experiment, "full", pool, only={point}, store=store).resumed == 0


def test_the_hash_of_a_module_changes_with_its_code_and_not_with_its_words(tmp_path: Path) -> None:
    source = '''
"""An experiment."""
RATE = 1
"""Of the link."""
def measured(report):
    """Return the loss."""  # in percent
    return 100 * report.loss("tcp")
class One(Experiment):
    def claims(self, results):
        return [Claim("C1", "No loss.", "slide 3", results["loss"] == 0)]
def _missed(results, bound):
    return Claim("C2", f"Loss below {bound}.", results["loss"] < bound, why="unknown")
'''
    file = tmp_path / "module.py"

    def program(*changes: tuple[str, str]) -> str:
        text = source
        for old, new in changes:
            assert old in text
            text = text.replace(old, new)
        file.write_text(text)
        return _hash(file)

    words = [
        ("An experiment", "Another text"),
        ("Of the link", "Rate of the link"),
        ("Return the loss", "Loss of TCP"),
        ("# in percent", ""),
        ("No loss.", "TCP loses nothing."),
        ("Loss below", "Less lost than"),
        ("unknown", "the reason"),
    ]
    same = program()
    assert all(program(change) == same for change in words)
    code = [("RATE = 1", "RATE = 2"), ("100 *", "10 *"), ('"tcp"', '"udp"'), ("< bound", "<= bound")]
    assert len({same, *map(program, code)}) == 1 + len(code)


class NoTasks(Pool):
    """Pool that fails if there is a task."""

    def run(self, tasks, *rest):  # type: ignore[no-untyped-def]
        assert not tasks
        return super().run(tasks, *rest)
