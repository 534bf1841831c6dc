"""Damaged sweeps, run directories and reproductions give the right numbers, or one error message with a remedy.

Each kind of damage in `damage.py` is done to each file, and then everything that reads the file is called. Damaged
parts may be left out, if that is reported, or run again. No number may differ from that of the undamaged directory,
and `OutputError` is the only exception that may be raised.
"""

from __future__ import annotations

import json
import math
import os
import random
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from damage import Damage, as_unprivileged_user, deadline, of_bytes, of_json, of_kind
from made_up import MadeUpExperiment

import tailback as core
from tailback import OutputError
from tailback.results.directory import read_manifest, read_table
from tailback.results.tables import TABLES
from tailback.study import store as stores
from tailback.study.document import Study
from tailback.study.experiment import Point
from tailback.study.experiment.results import Sample
from tailback.study.experiment.store import FILE, Store
from tailback.study.results import Sweep
from tailback.study.status import status
from tailback.study.sweep import study_of

MERGE = Path(__file__).with_name("merge.toml").read_text()

Cli = Callable[..., Any]

_ADVICE = re.compile(r"\b(choose|replace|restore|delete|move|run|use|free|change|give|makes|wait)\b", re.IGNORECASE)


@dataclass
class Faults:
    """Faults found so far; `end` shows the first 40."""

    found: list[str] = field(default_factory=list)
    calls: int = 0
    """Number of calls of readers."""
    refused: int = 0
    """Number of calls that raised an `OutputError`."""
    what: str = ""
    """Name of the damage that is present, for messages."""

    def call(self, reader: str, function: Callable[[], Any]) -> Any:
        """Return the result of a reader; `None` if it raised an exception or took longer than 5 s.

        An `OutputError` without advice or path, and every other exception, is recorded as a fault.
        """
        self.calls += 1
        try:
            with deadline(5):
                return function()
        except OutputError as error:
            self.refused += 1
            if "\n" in str(error) or not _ADVICE.search(str(error)) or "/" not in str(error):
                self.record(reader, f"a message without advice or path, or of several lines: {error}")
        except BaseException as error:
            self.record(reader, f"{type(error).__name__}: {str(error)[:200]}")
        return None

    def record(self, reader: str, text: str) -> None:
        """Record a fault of a reader under the present damage."""
        self.found.append(f"{self.what}: {reader}: {text}")

    def unless(self, is_right: bool, reader: str, text: str) -> None:
        """Record a fault of a reader unless the check `is_right` holds."""
        if not is_right:
            self.record(reader, text)

    def end(self, minimum: int) -> None:
        """Fail if there are faults, or fewer than `minimum` calls, or if hardly any or all calls were refused."""
        assert not self.found, f"{len(self.found)} faults\n" + "\n".join(self.found[:40])
        # The test is only useful if some calls succeed, and at least one in twenty is refused.
        assert self.calls >= minimum
        assert self.calls / 20 < self.refused < self.calls


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, Study, Sweep]]:
    """Yield the directory, study and results of a complete sweep: two mechanisms, two points, more than one shard."""
    directory = tmp_path_factory.mktemp("swept") / "s"
    scenario = core.Scenario.from_toml(MERGE).set(duration="500ms")
    study = study_of(
        scenario,
        {"network.buffer": ["10kB", "20kB"]},
        fixed={"flows[data].source.rate": "4Mbit/s"},
        mechanisms=[{"name": name, "set": {"backpressure.scope": name}} for name in ("none", "plain")],
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stores, "_MAX_RUNS", 3)
        yield directory, study, core.sweep(study, replications=2, directory=directory)


@pytest.fixture(autouse=True)
def without_slow_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Replace slow parts that read no file: figures, and `fsync`."""
    monkeypatch.setattr("tailback.study.page._figures", lambda _: [])
    monkeypatch.setattr("tailback.plotting.plot.run_figure", lambda *_: None)
    monkeypatch.setattr("tailback.plotting.plot.to_bytes", lambda *_: b"")
    monkeypatch.setattr(os, "fsync", lambda _: None)


class Swept:
    """Damages copies of a sweep directory and calls everything that reads them."""

    def __init__(self, swept: tuple[Path, Study, Sweep], folder: Path, cli: Cli) -> None:
        self.whole, self.study, self.found = swept
        self.read = core.open_sweep(self.whole)
        self.status = status(self.whole)
        self.folder = folder
        self.cli = cli
        self.faults = Faults()
        self.count = 0

    def damaged(self, name: str, damage: Damage, *, forged: bool = False) -> None:
        """Damage one file of a new copy, and read the copy. No hash detects forged files, whose numbers may differ."""
        what, do = damage
        self.count += 1
        here = self.folder / f"s{self.count}"
        shutil.copytree(self.whole, here)
        do(here / name)
        self.faults.what = f"{name}: {what}"
        self._look(here, forged)
        again = self.faults.call("sweep", lambda: core.sweep(self.study, replications=2, directory=here))
        if again is not None:
            self.faults.unless(again.digest == self.found.digest, "sweep", "another digest")
            self.faults.unless(_numbers(again) == _numbers(self.found), "sweep", "other runs")
            after = self.faults.call("open_sweep after sweep", lambda: core.open_sweep(here))
            self.faults.unless(after is None or after.digest == self.found.digest, "sweep", "does not last")
        shutil.rmtree(here)

    def _look(self, here: Path, forged: bool) -> None:
        call = self.faults.call
        read = call("open_sweep", lambda: core.open_sweep(here))
        state = call("status", lambda: status(here))
        if self.count % 10 == 0:
            done = call("sweep --report", lambda: self.cli("sweep", "--report", here))
            self._one_line(done, refused=read is None)
        if forged:
            if read is not None:
                call("what is done with it", lambda: (repr(read), read._repr_html_(), read.frame(), read.differences()))
            return
        if read is not None:
            self._right(read)
        if state is not None:
            state = {**state, "directory": self.status["directory"]}
            may_differ = {"state", "runs_finished", "runs_missing", "cpu_s", "cpu_s_left", "damaged_shards"}
            differing = {key for key in state if state[key] != self.status[key]}
            is_reported = bool(state["runs_missing"]) and state["state"] == "stopped"
            harmless = differing <= {"damaged_shards"}
            self.faults.unless(harmless or (is_reported and differing <= may_differ), "status", f"{differing} differ")

    def _right(self, read: Sweep) -> None:
        """Record a fault if data that were read differ from those written, or if missing runs are not reported."""
        missing = 0
        self.faults.unless(list(read.runs) == list(self.read.runs), "open_sweep", "other points")
        for mine, runs in zip(_numbers(read).values(), _numbers(self.read).values(), strict=True):
            missing += len(runs) - len(mine)
            self.faults.unless(all(run in runs for run in mine), "open_sweep", "another run")
        silent = not (read.interrupted and read.notes)
        self.faults.unless(
            not missing or not silent, "open_sweep", f"{missing} runs are missing, and this is not reported"
        )
        for name in ("paths", "confidence", "title", "mechanisms", "is_drawn", "hashes", "until", "logarithmic"):
            self.faults.unless(getattr(read, name) == getattr(self.read, name), "open_sweep", f"another {name}")
        for name in ("failures", "warnings", "imprecise"):
            self.faults.unless(getattr(read, name) == getattr(self.read, name), "open_sweep", f"another {name}")

    def _one_line(self, done: Any, *, refused: bool) -> None:
        if done is not None:
            self.faults.unless(done.code == (4 if refused else 0), "sweep --report", f"code {done.code}: {done.err}")
            errors = [line for line in done.err.splitlines() if line.startswith("error:")]
            self.faults.unless(len(errors) == (1 if refused else 0), "sweep --report", done.err)


def _numbers(sweep: Sweep) -> dict[Any, list[Any]]:
    """Return seed, digest, packet-hops and measures of the runs of a sweep, by point: all except their time."""
    return {
        point: [(run.seed, run.digest, run.packet_hops, sorted(run.measures.items())) for run in runs]
        for point, runs in sweep.runs.items()
    }


def without_hash(text: str) -> str:
    """Return a manifest without its hash, so that its changed content is not detected by the hash."""
    try:
        tree = json.loads(text)
    except (ValueError, RecursionError):
        return text
    if not isinstance(tree, dict):
        return text
    tree.pop("check", None)
    return json.dumps(tree)


def written(text: str) -> Callable[[Path], object]:
    """Return a function that replaces the content of a file by `text`."""
    return lambda path: path.write_bytes(text.encode("utf-8", "surrogatepass"))


def test_a_damaged_sweep_gives_the_right_numbers_or_an_error_message(
    swept: tuple[Path, Study, Sweep], tmp_path: Path, tailback: Cli
) -> None:
    made = Swept(swept, tmp_path, tailback)
    draws = random.Random("sweeps")
    names = sorted(str(path.relative_to(made.whole)) for path in made.whole.rglob("*"))
    assert len([name for name in names if name.endswith(".parquet")]) >= 2
    for name in names:
        for damage in of_kind():
            if not ((made.whole / name).is_dir() and "cut" in damage[0]):
                made.damaged(name, damage)
        if (made.whole / name).is_file() and not name.endswith("lock"):
            count = 12 if name == stores.MANIFEST else 3
            for damage in of_bytes((made.whole / name).stat().st_size, draws, count):
                made.damaged(name, damage)
    manifest = (made.whole / stores.MANIFEST).read_text()
    for what, text in of_json(manifest, draws, 40, each=5):
        made.damaged(stores.MANIFEST, (what, written(text)))
    made.faults.end(1000)


def test_a_forged_manifest_of_a_sweep_is_read_or_refused_with_an_error_message(
    swept: tuple[Path, Study, Sweep], tmp_path: Path, tailback: Cli
) -> None:
    made = Swept(swept, tmp_path, tailback)
    draws = random.Random("forged sweeps")
    manifest = (made.whole / stores.MANIFEST).read_text()
    for what, text in of_json(manifest, draws, 90, each=12):
        made.damaged(stores.MANIFEST, (what, written(without_hash(text))), forged=True)
    made.faults.end(500)


def test_an_intact_shard_with_an_impossible_table_is_set_aside(
    swept: tuple[Path, Study, Sweep], tmp_path: Path
) -> None:
    whole, study, found = swept
    shard = next(path for path in sorted((whole / "shards").iterdir()))
    frame = pl.read_parquet(shard)
    measures = frame["measures"].to_list()
    changed = {
        "without a column": frame.drop("seed"),
        "seeds as texts": frame.with_columns(pl.col("seed").cast(pl.String)),
        "seeds as reals": frame.with_columns(pl.col("seed").cast(pl.Float64)),
        "no seed": frame.with_columns(seed=pl.lit(None, pl.Int64)),
        "no digest": frame.with_columns(digest=pl.lit(None, pl.String)),
        "no metrics": frame.with_columns(measures=pl.lit(None, frame.schema["measures"])),
        "another column": frame.with_columns(more=pl.lit(1)),
        **{
            name: frame.with_columns(measures=pl.Series([[change, *row[1:]] for row in measures], dtype=kind))
            for kind in [frame.schema["measures"]]
            for name, change in {
                "an unknown metric": {**measures[0][0], "metric": "unknown"},
                "no value": {**measures[0][0], "value": None},
                "not a number": {**measures[0][0], "value": float("nan")},
                "infinity": {**measures[0][0], "value": float("inf")},
                "no scope": {**measures[0][0], "scope": None},
                "nothing": None,
            }.items()
        },
    }
    for number, (what, table) in enumerate(changed.items()):
        here = tmp_path / str(number)
        shutil.copytree(whole, here)
        table.write_parquet(here / "new")
        data = (here / "new").read_bytes()
        (here / "shards" / shard.name).unlink()
        (here / "shards" / f"0-{stores._hash(data)}.parquet").write_bytes(data)
        read = core.open_sweep(here)
        assert read.interrupted, what
        assert any("damaged" in note for note in read.notes), what
        assert core.sweep(study, replications=2, directory=here).digest == found.digest, what
        assert [path.suffix for path in (here / "shards").glob("0-*")] == [".spoilt"], what


def test_a_damaged_shard_that_is_set_aside_overwrites_no_earlier_one(
    swept: tuple[Path, Study, Sweep], tmp_path: Path
) -> None:
    whole, study, found = swept
    shutil.copytree(whole, tmp_path / "s")
    shard = next(path for path in sorted((tmp_path / "s" / "shards").iterdir()))
    shard.with_suffix(".spoilt").mkdir()
    shard.write_bytes(b"")
    assert core.sweep(study, replications=2, directory=tmp_path / "s").digest == found.digest
    assert shard.with_suffix(".1.spoilt").read_bytes() == b""


@pytest.mark.parametrize("whole", [True, False])
def test_runs_of_another_sweep_are_not_accepted(swept: tuple[Path, Study, Sweep], tmp_path: Path, whole: bool) -> None:
    """Manifest and shards are intact but of different sweeps; if `whole`, a shard has all runs with other digests."""
    directory, study, _ = swept
    other = study_of(study.base.set(duration="600ms"), {"network.buffer": ["10kB", "20kB"]})
    for name, made in (("a", study), ("b", other)):
        core.sweep(made, replications=2, directory=tmp_path / name)
    if whole:
        # An intact shard with all runs, whose digests were changed.
        frames = [pl.read_parquet(path) for path in sorted((directory / "shards").iterdir())]
        data = tmp_path / "data"
        pl.concat(frames).with_columns(digest=pl.lit("tb1:0")).write_parquet(data)
        shutil.rmtree(tmp_path / "a" / "shards")
        (tmp_path / "a" / "shards").mkdir()
        data.rename(tmp_path / "a" / "shards" / f"0-{stores._hash(data.read_bytes())}.parquet")
        with pytest.raises(OutputError, match="has other runs than its manifest states"):
            core.open_sweep(tmp_path / "a")
    else:
        shutil.rmtree(tmp_path / "a" / "shards")
        (tmp_path / "b" / "shards").rename(tmp_path / "a" / "shards")
        read = core.open_sweep(tmp_path / "a")
        assert (read.interrupted, sum(map(len, read.runs.values()))) == (True, 0)
        assert "8 finished runs are missing" in " ".join(read.notes)


def test_directories_of_versions_that_wrote_no_hashes_are_read(
    swept: tuple[Path, Study, Sweep], tmp_path: Path
) -> None:
    whole, study, found = swept
    shutil.copytree(whole, tmp_path / "s")
    result = core.run(core.Scenario.from_toml(MERGE).set(duration="200ms"), replications=2)
    result.write(tmp_path / "r")
    result.write(tmp_path / "other")
    for file in (tmp_path / "s" / "sweep.json", tmp_path / "r" / "manifest.json"):
        manifest = json.loads(file.read_text())
        file.write_text(json.dumps({k: v for k, v in manifest.items() if k not in ("check", "files", "warnings")}))
    assert core.open_sweep(tmp_path / "s").digest == found.digest
    assert core.sweep(study, replications=2, directory=tmp_path / "s").digest == found.digest
    assert len(core.compare(tmp_path / "r", tmp_path / "other").seeds) == 2


class Ran:
    """Damages copies of a run directory and calls everything that reads them."""

    def __init__(self, folder: Path, cli: Cli) -> None:
        scenario = core.Scenario.from_toml(MERGE).set(duration="500ms", sample="100ms")
        self.scenario = folder / "scenario.toml"
        self.scenario.write_text(scenario.to_toml())
        self.whole = core.run(scenario, replications=2).write(folder / "whole")
        self.other = core.run(scenario.set({"network.buffer": "10kB"}), replications=2).write(folder / "other")
        self.manifest = read_manifest(self.whole)
        self.tables = {name: read_table(self.whole, name) for name in _TABLES}
        self.comparison = repr(core.compare(self.whole, self.other))
        self.folder = folder
        self.cli = cli
        self.faults = Faults()
        self.count = 0

    def damaged(self, name: str, damage: Damage, *, forged: bool = False) -> None:
        what, do = damage
        self.count += 1
        here = self.folder / f"r{self.count}"
        shutil.copytree(self.whole, here)
        do(here / name)
        self.faults.what = f"{name}: {what}"
        call = self.faults.call
        manifest = call("read_manifest", lambda: read_manifest(here))
        for table in [name.removesuffix(".parquet")] if name.endswith(".parquet") else _TABLES[::4]:
            found = call(f"read_table {table}", lambda table=table: read_table(here, table))
            if found is not None and not forged:
                self.faults.unless(found.equals(self.tables[table]), f"read_table {table}", "other values")
        compared = call("compare", lambda: repr(core.compare(here, self.other)))
        again = call("compare in the opposite order", lambda: repr(core.compare(self.other, here)))
        if not forged:
            if manifest is not None:
                kept = {key: value for key, value in manifest.items() if key not in ("check", "chfck")}
                differs = any(kept.get(key) != value for key, value in self.manifest.items() if key != "check")
                self.faults.unless(not differs, "read_manifest", "another manifest")
            self.faults.unless(compared in (None, self.comparison), "compare", "other numbers")
            self.faults.unless((compared is None) == (again is None), "compare", "refused in one order only")
        if self.count % 10 == 0:
            for command, codes in ((["compare", here, self.other], (0, 4)), (["plot", here], (0, 4))):
                self._one_line(command, codes)
            self._one_line(["run", self.scenario, "--reps", "2", "--out", here], (4,))
        if self.count % 40 == 0 and (here / "manifest.json").exists():
            self._one_line(["run", self.scenario, "--reps", "2", "--out", here, "--force"], (0,))
            self.faults.unless(repr(core.compare(here, self.other)) == self.comparison, "run --force", "other numbers")
        shutil.rmtree(here)

    def _one_line(self, command: list[Any], codes: tuple[int, ...]) -> None:
        done = self.faults.call(str(command[0]), lambda: self.cli(*command))
        if done is not None:
            self.faults.unless(done.code in codes, str(command[0]), f"code {done.code}: {done.err}")
            errors = [line for line in done.err.splitlines() if line.startswith("error:")]
            self.faults.unless(len(errors) == (done.code == 4), str(command[0]), done.err)


_TABLES: Any = list(TABLES)


def test_a_damaged_run_directory_gives_the_right_numbers_or_an_error_message(tmp_path: Path, tailback: Cli) -> None:
    made = Ran(tmp_path, tailback)
    draws = random.Random("run directories")
    for path in sorted(made.whole.iterdir()):
        if path.name != "scenario.toml":
            few = path.suffix == ".parquet" and path.stem not in ("metrics", "series", "nodes")
            for damage in [*of_kind(), *of_bytes(path.stat().st_size, draws, 1 if few else 5)]:
                made.damaged(path.name, damage)
    for what, text in of_json((made.whole / "manifest.json").read_text(), draws, 40, each=5):
        made.damaged("manifest.json", (what, written(text)))
    made.faults.end(1500)


def test_a_forged_run_directory_is_read_or_refused_with_an_error_message(tmp_path: Path, tailback: Cli) -> None:
    made = Ran(tmp_path, tailback)
    draws = random.Random("forged run directories")
    for what, text in of_json((made.whole / "manifest.json").read_text(), draws, 40, each=12):
        made.damaged("manifest.json", (what, written(without_hash(text))), forged=True)
    whole = made.tables["metrics"]
    tables = {
        "without a column": whole.drop("value"),
        "texts for numbers": whole.with_columns(pl.col("value").cast(pl.String)),
        "no value": whole.with_columns(value=pl.lit(None, pl.Float64)),
        "infinity": whole.with_columns(value=pl.lit(float("inf"))),
        "an unknown metric": whole.with_columns(metric=pl.lit("unknown")),
        "no name": whole.with_columns(name=pl.lit(None, pl.String)),
        "no rows": whole.head(0),
        "another table": made.tables["flows"],
    }
    unsealed = {key: value for key, value in made.manifest.items() if key not in ("check", "files")}
    (made.whole / "manifest.json").write_text(json.dumps(unsealed))
    for what, table in tables.items():
        made.damaged("metrics.parquet", (what, lambda path, table=table: table.write_parquet(path)), forged=True)
    # In a directory of an earlier version, without hashes, damage is only found if the file cannot be read.
    for damage in of_bytes((made.whole / "metrics.parquet").stat().st_size, draws, 20):
        made.damaged("metrics.parquet", damage, forged=True)
    made.faults.end(500)


@pytest.mark.parametrize("name", ["manifest.json", "metrics.parquet", ""])
def test_a_run_directory_without_permissions_is_an_error_message(
    name: str,
) -> None:
    with readable_folder() as folder:
        scenario = core.Scenario.from_toml(MERGE).set(duration="200ms")
        result = core.run(scenario, replications=1)
        for each in ("a", "b"):
            result.write(folder / each)
        core.compare(folder / "a", folder / "b")
        (folder / "a" / name).chmod(0)
        with as_unprivileged_user():
            with pytest.raises(OutputError, match=r"ermission.*(--force|makes one)|not writable"):
                core.compare(folder / "a", folder / "b")
            with pytest.raises(OutputError, match=r"not writable|not empty"):
                result.write(folder / "a")


@pytest.mark.parametrize("name", ["sweep.json", "shards/*", "shards", "lock", ""])
def test_a_sweep_without_permissions_is_an_error_message(name: str, swept: tuple[Path, Study, Sweep]) -> None:
    whole, study, found = swept
    with readable_folder() as folder:
        here = folder / "s"
        shutil.copytree(whole, here)
        for path in [here, here / "shards"]:
            path.chmod(0o777)
        for path in here.glob(name) if name else [here]:
            path.chmod(0)
        with as_unprivileged_user():
            faults = Faults(what=name)
            read = faults.call("open_sweep", lambda: core.open_sweep(here))
            faults.call("status", lambda: status(here))
            again = faults.call("sweep", lambda: core.sweep(study, replications=2, directory=here))
        assert not faults.found
        assert read is None or (read.digest == found.digest and name == "lock")
        assert again is None


@contextmanager
def readable_folder() -> Iterator[Path]:
    """Make a folder with access for all users, which folders of pytest do not allow."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o777)
        yield folder


def test_a_damaged_reproduction_gives_the_right_samples_or_an_error_message(tmp_path: Path) -> None:
    experiment = MadeUpExperiment()
    point = Point(mechanism="none", rate=1)
    events = {"loss": (3, 100)}
    samples = [
        Sample(
            point, k, 1 + k, f"tb1:{k}", 1000, {"loss": 0.1 * k, "missing": math.nan}, events, {"x": (k, [0.5])}, True
        )
        for k in range(4)
    ]
    whole = tmp_path / "whole"
    with Store(whole, experiment) as store:
        for sample in samples:
            store.add("0" * 32, sample)
    data = (whole / FILE).read_bytes()
    draws = random.Random("reproductions")
    damages = [*of_kind(), *of_bytes(len(data), draws, 60)]
    for what, text in of_json(data.splitlines()[1].decode(), draws, 60):
        line = text.encode("utf-8", "surrogatepass")
        damages.append((what, written(b"\n".join([data.splitlines()[0], line, *data.splitlines()[2:], b""]).decode())))
    faults = Faults()
    for number, (what, do) in enumerate(damages):
        shutil.copytree(whole, tmp_path / str(number))
        do(tmp_path / str(number) / FILE)
        faults.what = what
        store = faults.call("Store", lambda: Store(tmp_path / str(number), experiment))  # noqa: B023
        if store is not None:
            with store:
                for sample in samples:
                    found = store.find("0" * 32, sample.seed, point, sample.replication)
                    faults.unless(found is None or repr(found) == repr(sample), "find", f"another sample: {found}")
    faults.end(200)
