"""Rows of the scoreboard, the TCP models behind its expectations, and claims that fail when they should."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

import tailback as tb
from tailback import _native
from tailback.gallery.internet.congestion_collapse.experiment import copies, left_over, most_given
from tailback.gallery.internet.heavy_load_every_discipline import drawing, rows
from tailback.gallery.internet.heavy_load_every_discipline.experiment import needed_loss
from tailback.gallery.internet.shared import tcpmodel
from tailback.gallery.registry import experiment
from tailback.study.experiment import Claim, Point, Results, Verdict
from tailback.study.experiment.results import Sample

# Disciplines without a row, since they contain other disciplines or emulate a link.
WITHOUT_ROW = {"priority", "class-based", "wrr", "htb", "shaper", "hfsc", "netem", "user", "user-scheduler"}


def test_every_registered_discipline_and_proposal_has_a_row_in_a_group_and_a_place() -> None:
    registered = set(json.loads(_native.names())["disciplines"]) - WITHOUT_ROW
    assert registered <= set(rows.board())
    proposed = {row.name for row in rows.board().values() if row.group == rows.THESIS}
    assert {rows.ADAPTIVE, rows.RED, rows.BLUE, rows.SFB_MOVING, rows.SUBTCP, rows.ADAPTIVE_SUBTCP} <= proposed
    heights, _ = drawing.places()
    assert len(set(heights.values())) == len(rows.board())
    groups = [row.group for row in rows.board().values()]
    assert groups == sorted(groups, key=rows.GROUPS.index)


def test_every_single_queue_discipline_that_marks_has_a_claim() -> None:
    marking = {name for name, row in rows.board().items() if row.group in (rows.ONE, rows.APART) and rows.ON in row.ecn}
    stated = {claim.id for claim in claims(made(0.0, 100.0)) if claim.id.startswith(("G3-", "G5-"))}
    assert len(stated) == len(marking)
    assert "G3-pi" in stated
    assert {"pi", *rows.LIMITED, *rows.TURNED_OFF} <= marking


def test_the_variant_with_ecn_differs_only_in_ecn() -> None:
    path = "switches.a.ports.b.discipline"
    for row in rows.board().values():
        if row.ecn == (rows.OFF, rows.ON):
            off, on = (row.settings(ecn)[path] for ecn in row.ecn)
            assert json.dumps(on).replace('"ecn": true', '"ecn": false') == json.dumps(off)
    rio = rows.board()["rio"].settings(rows.ON)[path]
    assert isinstance(rio, dict)
    assert rio["yellow"] == {**_default("rio", "yellow"), "ecn": True}
    assert rio["yellow"]["max"] == "30packets"


def _default(name: str, key: str) -> dict[str, object]:
    """Return the defaults of a table inside a discipline that has `ecn`."""
    return dict(rows.ecn_keys(name)[key])


@pytest.mark.parametrize("response", [tcpmodel.pftk, tcpmodel.square_root])
def test_at_the_needed_loss_the_carried_load_is_the_capacity(response: tcpmodel.Response) -> None:
    trips = [0.05, 0.1, 0.2]
    loss = tcpmodel.loss_needed(response, trips, 100, unresponsive=30)
    assert (1 - loss) * (30 + sum(response(loss, trip) for trip in trips)) == pytest.approx(100)


def test_one_connection_needs_the_loss_of_the_square_root_law_and_nearly_the_same_with_timeouts() -> None:
    # 166 segments in flight at 1250 per second need p = 1.5 / 166², which is small enough for 1 - p ≈ 1.
    found = tcpmodel.loss_needed(tcpmodel.square_root, [0.1328], 1250)
    assert found == pytest.approx(1.5 / 166**2, rel=1e-3)
    assert tcpmodel.loss_needed(tcpmodel.pftk, [0.1328], 1250) == pytest.approx(found, rel=0.05)


def test_a_hundred_connections_at_a_full_buffer_need_a_loss_of_11_to_29_percent() -> None:
    # By hand with an RTT of 134.4 ms for all: W = 1250 · 0.1344 / 100 = 1.68; p = 0.278 solves (1 - p) √(1.5 / p) = W.
    assert needed_loss(tcpmodel.square_root, 100, 80) == pytest.approx(28.5, abs=0.5)
    assert needed_loss(tcpmodel.pftk, 100, 80) == pytest.approx(11.5, abs=0.5)


def test_the_number_of_copies_is_the_number_of_timer_periods_in_a_round_trip() -> None:
    assert [copies(521, ms) for ms in (100, 200, 300, 400, 600)] == [(5, 6), (2, 3), (1, 2), (1, 2), (1, 1)]


def test_the_rate_that_an_unresponsive_flow_leaves_is_within_its_bounds() -> None:
    assert left_over(2.0) == pytest.approx(100 * 128 / 1500)
    assert left_over(0.5) == pytest.approx(50 + 100 * 128 / 1500)
    assert left_over(0.5) < most_given(0.5, 0.26) < 60
    assert left_over(2.0) < most_given(2.0, 0.26) < 14


def made(loss: float, busy: float) -> Results:
    """Return results with equal values at all points: loss in %, utilisation (`busy`) in %, 1 for other metrics."""
    board = experiment("internet-scoreboard")
    values = {metric.name: 1.0 for metric in board.metrics} | {"loss": loss, "utilisation": busy}
    sample = Sample(Point(), 0, 1, "", 0, values, {"loss": (0, 1)})
    samples = {
        point: [replace(sample, point=point, replication=k) for k in range(3)] for point in board.points("quick")
    }
    return Results(board, "quick", samples, frozenset())


def claims(results: Results) -> list[Claim]:
    """Return the claims of results."""
    return list(results.experiment.claims(results))


@pytest.mark.parametrize(
    ("connections", "queue", "failing"), [(2, "codel", ("G2", "G2-early", "T4")), (4, "drr", ("G1", "G1-Reno", "T4"))]
)
def test_claims_for_a_hundred_connections_fail_with_few_connections(
    connections: int, queue: str, failing: tuple[str, ...]
) -> None:
    board = experiment("internet-scoreboard")
    scenario = board.at(Point(connections=connections, queue=queue, ecn="off"), "quick")
    reports = tb.run(scenario, replications=8).reports
    measured = [{metric.name: metric.value(report) for metric in board.metrics} for report in reports]
    samples = {
        point: [replace(found[0], replication=k, values=values) for k, values in enumerate(measured)]
        for point, found in made(0.0, 0.0).samples.items()
    }
    verdicts = {c.id: c.condition.verdict for c in claims(Results(board, "quick", samples, frozenset()))}
    assert {key: verdicts[key] for key in failing} == dict.fromkeys(failing, Verdict.FAIL)
