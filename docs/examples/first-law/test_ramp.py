"""Tests of the queue law `Ramp`: `python -m pytest` runs them."""

from pathlib import Path

import tailback
from tailback.run.conformance.check import check

HERE = Path(__file__).parent
DISCIPLINE = "switches.a.ports.b.discipline"
OURS = tailback.load(HERE / "scenario.toml").set(replications=1)
NO_LAW = OURS.set({DISCIPLINE: {"kind": "drop-tail"}})


def test_the_law_keeps_the_promises_of_its_interface():
    failed = [finding for finding in check(HERE / "ramp.py", "Ramp").findings if finding.status != "passed"]
    assert not failed


def test_packets_wait_less_than_in_a_queue_without_a_law():
    ours, theirs = (tailback.run(scenario).reports[0] for scenario in (OURS, NO_LAW))
    assert ours.mean_delay_s() < theirs.mean_delay_s()


def test_a_target_above_every_delay_gives_the_results_of_a_queue_without_a_law():
    high = OURS.set({f"{DISCIPLINE}.parameters": {"target": "100s"}})
    assert tailback.run(high).digest == tailback.run(NO_LAW).digest
