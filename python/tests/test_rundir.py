"""Run directories: failures while writing, replacement, traces, links and damaged files."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

import tailback as tb
from tailback import OutputError, Scenario, run
from tailback.results.directory import new_directory, read_manifest, read_table, write_file

MERGE = Path(__file__).with_name("merge.toml").read_text()


def test_a_failure_while_writing_leaves_nothing(tmp_path: Path) -> None:
    def fill(folder: Path) -> None:
        (folder / "half").write_text("half")
        raise OSError(28, "No space left on device")

    with pytest.raises(OutputError, match="the disk is full"):
        new_directory(tmp_path / "run", fill)
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_is_an_error_message_and_exit_code_4(merge: Path, tmp_path: Path) -> None:
    # A limit on the size of files has the effect of a disk that fills up while the tables are written.
    code = (
        "import resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000));"
        "from tailback.cli import main; main(sys.argv[1:])"
    )
    out = tmp_path / "runs"
    out.mkdir()
    command = [sys.executable, "-c", code, "run", str(merge), "--out", str(out / "run"), "-q"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 4, done.stderr
    assert "the disk is full" in done.stderr
    assert "Traceback" not in done.stderr
    assert list(out.iterdir()) == []
    assert resource.getrlimit(resource.RLIMIT_FSIZE) != (2000, 2000), "only the child process has the limit"


def test_an_output_path_that_cannot_be_written_is_refused(merge: Path, tmp_path: Path, tailback) -> None:  # type: ignore[no-untyped-def]
    found = tailback("run", merge, "--out", merge / "run")
    assert found.code == 4
    assert "was not written" in found.err
    if os.geteuid() != 0:
        sealed = tmp_path / "sealed"
        sealed.mkdir(mode=0o500)
        assert "not writable" in tailback("run", merge, "--out", sealed / "run").err


def test_only_a_run_directory_is_replaced_and_only_on_request(tmp_path: Path) -> None:
    result = run(Scenario.from_toml(MERGE), replications=2)
    target = result.write(tmp_path / "run")
    with pytest.raises(OutputError, match="--force"):
        result.write(target)
    more = run(Scenario.from_toml(MERGE), replications=3)
    more.write(target, replace=True)
    assert len(read_manifest(target)["replications"]) == 3
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "thesis.tex").write_text("years of work")
    with pytest.raises(OutputError, match="is not replaced"):
        result.write(mine, replace=True)
    assert (mine / "thesis.tex").exists()
    assert {path.name for path in tmp_path.iterdir()} == {"run", "mine"}


def test_a_run_can_be_written_into_an_empty_directory(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    run(Scenario.from_toml(MERGE), replications=1).write(tmp_path / "run")
    assert (tmp_path / "run" / "manifest.json").exists()


def test_a_failed_write_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_file(tmp_path / "a", "old")

    def fails(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fails)
    with pytest.raises(OutputError):
        write_file(tmp_path / "a", "new")
    assert (tmp_path / "a").read_text() == "old"
    assert len(list(tmp_path.iterdir())) == 1


def test_missing_and_damaged_files_of_a_run_directory_are_reported(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="no manifest"):
        read_manifest(tmp_path)
    (tmp_path / "manifest.json").write_text("{")
    with pytest.raises(OutputError, match="cannot be read"):
        read_manifest(tmp_path)
    (tmp_path / "metrics.parquet").write_text("not parquet")
    with pytest.raises(OutputError, match="cannot be read"):
        read_table(tmp_path, "metrics")


def test_a_run_directory_has_copies_of_the_traces_of_its_scenario(merge: Path, tmp_path: Path) -> None:
    trace = 'kind = "trace", file = "films/film.txt", format = "terse-bytes", fps = 25'
    merge.write_text(merge.read_text().replace('kind = "uniform-uniform", burst = "12kB", rate = "4Mbit/s"', trace))
    (merge.parent / "films").mkdir()
    (merge.parent / "films" / "film.txt").write_text("1000\n2000\n")
    result = run(tb.load(merge).set(duration="1s"), replications=1)
    saved = result.write(tmp_path / "run")
    assert tb.load(saved / "scenario.toml").hash == result.scenario.hash
    # A file outside the folder of the scenario is copied as well, so that the saved run needs no permission to read it.
    merge.write_text(merge.read_text().replace("films/film.txt", "../film.txt"))
    (merge.parent.parent / "film.txt").write_text("1000\n2000\n")
    above = run(tb.load(merge, allow_files=True).set(duration="1s"), replications=1)
    saved = above.write(tmp_path / "above")
    assert (saved / "files" / "0-film.txt").read_text() == "1000\n2000\n"
    assert run(tb.load(saved / "scenario.toml"), replications=1).digest == above.digest


def test_a_replacement_that_was_cut_off_is_reported_and_undone(merge: Path, tmp_path: Path) -> None:
    result = run(tb.load(merge), replications=1)
    saved = result.write(tmp_path / "run")
    # A replacement renames the old directory and then the new one. After the first rename, it was interrupted.
    aside = tmp_path / ".run.x1y2.old"
    aside.mkdir()
    saved.rename(aside / "run")
    with pytest.raises(
        OutputError, match=r"its replacement was interrupted, and the old directory is .*\.run\.x1y2\.old"
    ):
        read_manifest(tmp_path / "run")
    with pytest.raises(OutputError, match="exists and is not empty"):
        result.write(tmp_path / "run")
    assert read_manifest(tmp_path / "run")["digest"] == result.digest
    assert not aside.exists()


@pytest.mark.parametrize("target", ["empty", "nowhere", "run"])
def test_a_symbolic_link_to_the_output_is_followed_and_kept(tmp_path: Path, target: str) -> None:
    result = run(Scenario.from_toml(MERGE), replications=1)
    (tmp_path / "empty").mkdir()
    result.write(tmp_path / "run")
    (tmp_path / "latest").symlink_to(target)
    result.write(tmp_path / "latest", replace=target == "run")
    assert (tmp_path / "latest").is_symlink()
    assert read_manifest(tmp_path / target)["digest"] == result.digest


def test_a_link_to_itself_is_refused_before_the_run(tailback, merge: Path, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    (tmp_path / "latest").symlink_to("latest")
    refused = tailback("run", merge, "--set", "run.duration=5000s", "--out", tmp_path / "latest")
    assert refused.code == 4
    assert "the path cannot be used" in refused.err
