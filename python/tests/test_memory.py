"""Large sweeps and many replications need little memory."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import tailback
from tailback.run import result as results
from tailback.study import Study


def test_a_study_keeps_no_scenario_of_its_points(merge: Path) -> None:
    study = Study.make(tailback.load(merge), {"network.buffer": [f"{k}kB" for k in range(10, 60)]})
    first = study.cells[0]
    assert first.scenario is not first.scenario, "the scenario of a cell is kept"
    assert first.scenario.hash == first.hash
    assert first.variant.changes == {"network.buffer": "10kB"}
    assert all(cell.variant.base is study.base for cell in study.cells)


def test_packed_reports_give_the_same_tables(merge: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = tailback.run(merge, replications=20)
    monkeypatch.setattr(results, "_MAX_SIZE", 0)
    packed = tailback.run(merge, replications=20)
    assert all(report._data is None and report._text is None for report in packed.reports)
    assert packed.digest == whole.digest
    for name in ("flows", "ports", "drops", "metrics"):
        assert packed.table(name).equals(whole.table(name)), name
    assert packed.summary().equals(whole.summary())
    # Only the reports that were read last are unpacked.
    assert 0 < sum(report._data is not None for report in packed.reports) <= 8


def test_a_packed_report_takes_less_than_a_quarter_of_its_json(merge: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(results, "_MAX_SIZE", 0)
    (report,) = tailback.run(merge, replications=1).reports
    written = len(json.dumps(report.data))
    assert report._packed is not None
    assert 4 * len(report._packed) < written
