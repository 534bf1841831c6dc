"""The tables of docs/performance.md, and measurements for them: they can be resumed, and never mix two programs."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def tool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """Return the tool with a separate data file and two short workloads."""
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    import performance

    monkeypatch.setattr(performance, "DATA", tmp_path / "performance.json")
    monkeypatch.setattr(performance.bench, "DURATIONS", {"forward": ("1s", "2s"), "red64": ("1s", "2s")})
    return performance


@pytest.fixture
def binary(tmp_path: Path) -> Path:
    path = tmp_path / "bench"
    path.write_bytes(b"one")
    return path


def test_peak_memory_that_a_system_cannot_measure_has_a_cell_of_its_own(tool: ModuleType) -> None:
    assert [tool.bench.memory(megabytes) for megabytes in (None, 51.6)] == ["not measured", "52"]


def counts(tool: ModuleType, monkeypatch: pytest.MonkeyPatch, value: float, stop: str = "") -> list[str]:
    """Replace the counting of instructions by a constant; return a list that collects the counted workloads.

    At the workload `stop` the counting is interrupted.
    """
    counted: list[str] = []

    def count(_: str, workload: str) -> float:
        if workload == stop:
            raise KeyboardInterrupt
        counted.append(workload)
        return value

    monkeypatch.setattr(tool.bench, "instructions_per_hop", count)
    return counted


def test_an_interrupted_measurement_resumes(tool: ModuleType, binary: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    counts(tool, monkeypatch, 300, stop="red64")
    with pytest.raises(KeyboardInterrupt):
        tool.instructions(tool.Store(binary), binary)
    counted = counts(tool, monkeypatch, 400)
    tool.instructions(tool.Store(binary), binary)
    assert counted == ["red64"]
    assert json.loads(tool.DATA.read_text())["instructions"] == {"forward": 300, "red64": 400}


def test_measurements_of_another_program_are_dropped_except_those_of_peers(
    tool: ModuleType, binary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    counts(tool, monkeypatch, 300)
    store = tool.Store(binary)
    tool.instructions(store, binary)
    store.data["peers"] = {
        "about": tool.about(binary),
        "missing": [],
        "load": 0.5,
        "rows": {"forward, ns-2": ["9", "1", "9"]},
    }
    store.save()
    binary.write_bytes(b"two")
    data: dict[str, Any] = tool.Store(binary).data
    assert "instructions" not in data
    assert data["peers"]["about"]["program"] != data["about"]["program"]
    written = tool.tables(data)
    assert "| `forward` | not counted | not taken |" in written["workloads"]
    assert "| forward, ns-2 | 9 | 1 | 9 |" in written["peers"]


def test_speed_is_shown_only_after_all_rounds_and_with_the_load(tool: ModuleType, binary: Path) -> None:
    data = tool.Store(binary).data | {"instructions": {"forward": 300, "red64": 400}, "memory": {"forward": 11}}
    runs = [{"speed": speed, "load": 5.0} for speed in (1.0, 9.0, 2.0, 3.0)]
    data["seconds"] = {"forward": list(runs), "red64": list(runs)}
    assert "CPU second" not in tool.tables(data)["workloads"]
    for found in data["seconds"].values():
        found.append({"speed": 4.0, "load": 6.0})
    data["about"]["processors"] = 2
    written = tool.tables(data)["workloads"]
    assert "| `forward` | 300 | 11 | 3.0 |" in written
    assert "(load 5.0 to 6.0 on 2 processors)" in written
    data["about"]["processors"] = 8
    assert "nearly idle" in tool.tables(data)["workloads"]


def test_the_page_keeps_its_text_and_needs_its_markers(tool: ModuleType, binary: Path) -> None:
    data = tool.Store(binary).data
    text = (ROOT / "docs" / "performance.md").read_text(encoding="utf-8")
    once = tool.page(data, text)
    assert tool.page(data, once) == once != text
    assert once.split("## Earlier measurements")[1] == text.split("## Earlier measurements")[1]
    with pytest.raises(SystemExit, match="no markers of threads"):
        tool.page(data, text.replace("<!-- end of threads -->", ""))


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="peak memory is read from /proc")
def test_peak_memory_is_that_of_the_program_and_not_of_the_interpreter_that_starts_it(tool: ModuleType) -> None:
    # `sleep` needs less than 30 MB, and this interpreter more. A child with an array of 80 MB needs 80 to 120 MB.
    array = bytearray(b"x") * 60_000_000
    assert tool.measure.peak_mb(["sleep", "0.2"]) < 30
    assert len(array) == 60_000_000
    command = [sys.executable, "-c", "import time; array = bytearray(b'x') * 80_000_000; time.sleep(0.2)"]
    assert 80 < tool.measure.peak_mb(command) < 120


def test_each_peer_is_measured_on_the_workloads_that_it_supports(tool: ModuleType) -> None:
    usage = (ROOT / "peers" / "ceiling.c").read_text(encoding="utf-8").split("usage: ceiling ", 1)[1].split(" ", 1)[0]
    for peer in tool.bench_peers.ALL:
        known = usage.split("|") if peer.name.startswith("C,") else tool.bench_peers.WORKLOADS
        assert set(peer.workloads) == set(known), peer.name
