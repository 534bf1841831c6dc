"""Evaluation of congestion controls: outline, choices, criteria by hand, networks, and small evaluations."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import Ran

import tailback as package
from tailback.errors import ScenarioError, UsageError
from tailback.evaluation.aqm.guide import AQM
from tailback.evaluation.card import OUTCOMES, Card, Graph, Score, outcome
from tailback.evaluation.case import STATUSES
from tailback.evaluation.choice import HERE, Length, ProfileName
from tailback.evaluation.congestion import choices, criteria
from tailback.evaluation.congestion.choices import CHOICES
from tailback.evaluation.congestion.guide import CONGESTION
from tailback.evaluation.congestion.network import parking_lot, suite, vectors
from tailback.evaluation.congestion.outline import OUTLINE
from tailback.evaluation.criteria import Limit
from tailback.evaluation.evaluate import evaluate, guide_of
from tailback.evaluation.guide import Guide
from tailback.evaluation.outline import children
from tailback.evaluation.plan import plan
from tailback.evaluation.subject import TRANSPORT, Subject, kinds, subject
from tailback.results.intervals import Interval
from tailback.results.report import Report
from tailback.scenario import Table, source, tcp

Cli = Callable[..., Ran]

TINY = Length(duration_s=6, warmup_s=2, replications=2, max_replications=2)
"""Effort with which most scenarios take milliseconds."""
SMALL = Length(20, 8, 3, 3)


def of(text: str) -> Subject:
    return subject(text, TRANSPORT)


def possible() -> list[str]:
    """Return the congestion controls of TCP that need no further keys."""
    found = []
    for name in kinds(TRANSPORT.names):
        try:
            of(name)
        except ScenarioError:
            continue
        found.append(name)
    return found


# Outline and plan.


def test_the_outline_numbers_the_sections_of_each_document_without_gaps() -> None:
    # The tables of contents: sections 5 to 7 of RFC 9743, 2 of RFC 5166, 2 to 6 of the draft.
    chapters = {"rfc9743": ["5", "6", "7"], "rfc5166": ["2"], "tcpeval": ["2", "3", "4", "5", "6"]}
    assert [section.key for section in OUTLINE if not section.number] == list(chapters)
    for document, numbers in chapters.items():
        assert [section.number for section in children(OUTLINE, document)] == numbers
    for section in OUTLINE:
        below = [child.number for child in children(OUTLINE, section.key)]
        if section.number:
            assert below == [f"{section.number}.{k}" for k in range(1, len(below) + 1)]
    assert len({section.key for section in OUTLINE}) == len(OUTLINE)
    special = {section.number for section in OUTLINE if section.key.startswith("rfc9743/7.")}
    assert special == {f"7.{k}" for k in range(1, 12)}


@pytest.mark.parametrize("name", possible())
def test_every_section_has_one_row_with_a_status_and_a_reason_unless_it_is_run(name: str) -> None:
    found = plan(CONGESTION, of(name), [of("reno")] if name != "reno" else [])
    assert [entry.section for entry in found] == [section.key for section in OUTLINE]
    for entry in found:
        assert entry.status in STATUSES
        assert entry.why or entry.status == "run", entry.section
        assert entry.status != "run" or entry.cases or entry.facts or entry.why, entry.section
        assert entry.status == "run" or not (entry.cases or entry.facts), entry.section


@pytest.mark.parametrize("length", [CONGESTION.lengths["quick"], CONGESTION.lengths["full"]])
def test_keys_of_cases_names_of_criteria_and_names_of_figures_are_unique(length: Length) -> None:
    entries = plan(CONGESTION, of("cubic"), [], (), length)
    cases = [case for entry in entries for case in entry.cases]
    assert len({case.key for case in cases}) == len(cases)
    for case in cases:
        names = [criterion.observable.name for criterion in case.criteria]
        assert len(set(names)) == len(names), case.key
    figures = [trend.name for entry in entries for trend in entry.trends]
    figures += [curve.name for case in cases for curve in case.curves]
    assert len(set(figures)) == len(figures)


@pytest.mark.parametrize(("name", "effort"), [("cubic", "full"), ("dctcp", "quick")])
def test_every_scenario_is_valid(name: str, effort: ProfileName) -> None:
    chosen, length = of(name), CONGESTION.lengths[effort]
    for entry in plan(CONGESTION, chosen, [], (), length):
        for case in entry.cases:
            assert case.at(chosen, length).check() is not None, case.key


def test_trends_and_ratios_name_cases_and_criteria_of_their_section() -> None:
    for length in CONGESTION.lengths.values():
        for entry in plan(CONGESTION, of("cubic"), [], (), length):
            names = {case.key: {one.observable.name for one in case.criteria} for case in entry.cases}
            for trend in entry.trends:
                assert len(trend.points) >= 5
                for _, key in trend.points:
                    assert {trend.criterion, *filter(None, [trend.across])} <= names[key]
            for ratio in entry.ratios:
                assert ratio.criterion in names[ratio.case] & names[ratio.over]


@pytest.mark.parametrize(("guide", "name"), [(AQM, "codel"), (CONGESTION, "cubic")])
def test_the_figures_of_the_overview_exist(guide: Guide, name: str) -> None:
    entries = plan(guide, subject(name, guide.role), [])
    cases = [case for entry in entries for case in entry.cases]
    names = {Graph("", case.key, "", {}).name for case in cases if case.clouds}
    names |= {curve.name for case in cases for curve in case.curves}
    names |= {trend.name for entry in entries for trend in entry.trends}
    assert len(guide.overview) == 6
    assert set(guide.overview) <= names


def test_a_limited_plan_runs_the_named_sections_and_those_below_only() -> None:
    found = plan(CONGESTION, of("cubic"), [], ["rfc9743/5.1", "tcpeval"])
    ran = {entry.section for entry in found if entry.status == "run"}
    assert {"rfc9743", "rfc9743/5", "rfc9743/5.1", "rfc9743/5.1.5", "tcpeval/6.3"} <= ran
    assert not {one for one in ran if one.startswith(("rfc5166", "rfc9743/5.2", "rfc9743/6"))}
    with pytest.raises(UsageError, match="'rfc9743/9' is not a section"):
        plan(CONGESTION, of("cubic"), [], ["rfc9743/9"])


def test_every_choice_states_a_section_of_a_document_or_that_it_is_chosen_here() -> None:
    assert len(CHOICES) > 60
    for one in CHOICES:
        assert one.source.startswith((HERE, "RFC ", "tcpeval ")), one.name


# Limits.


def test_a_requirement_is_decided_only_if_the_whole_interval_is_on_one_side_of_the_limit() -> None:
    most, least = Limit("at most", 2.0, HERE), Limit("at least", 2.0, HERE)
    below, across, above = Interval(1.0, 0.5, 1.5, 8), Interval(1.0, 0.5, 2.5, 8), Interval(3.0, 2.5, 3.5, 8)
    assert [outcome(one, most) for one in (below, across, above)] == ["passes", "undecided", "fails"]
    assert [outcome(one, least) for one in (below, across, above)] == ["fails", "undecided", "passes"]
    exact = Interval(2.0, 2.0, 2.0, 8)
    assert (outcome(exact, most), outcome(exact, least)) == ("passes", "passes")
    assert outcome(Interval(1.0, -math.inf, math.inf, 1), most) == "undecided"
    assert outcome(below, None) is None
    assert outcome(Interval(math.nan, -math.inf, math.inf, 0), most) is None


def scores(found: Card, section: str) -> dict[tuple[str, str], Score]:
    return {(score.case, score.name): score for row in found.rows if row.section == section for score in row.scores}


def test_a_fixed_window_fails_the_protection_against_congestion_collapse_and_reno_passes_it() -> None:
    # A window of 10 segments that no loss reduces, in a share of a quarter of a packet per round-trip time.
    for name, expected in (("fixed", "fails"), ("reno", "passes")):
        found = evaluate(of(name), length=SMALL, only=["rfc9743/5.1.1"], threads=1)
        overload = scores(found, "rfc9743/5.1.1")["9743 5.1.1 overload", "sending_rate"]
        assert overload.outcome == expected, (name, overload.interval)


def test_the_first_bbr_fails_the_protection_against_high_loss_in_a_shallow_buffer_as_rfc_9743_says() -> None:
    # RFC 9743 section 5.1.3: a sustained rate of loss when several BBRv1 flows share a buffer below 1.5 BDP.
    found = {name: evaluate(of(name), length=SMALL, only=["rfc9743/5.1.3"], threads=1) for name in ("bbr", "cubic")}
    for name, expected in (("bbr", "fails"), ("cubic", "passes")):
        shallow = scores(found[name], "rfc9743/5.1.3")["9743 5.1.3 0.5 BDP", "loss_bulk"]
        assert shallow.outcome == expected, (name, shallow.interval)


def test_standard_tcp_has_a_gain_and_a_loss_of_exactly_1_against_itself() -> None:
    # The mix is then the baseline, with the same seeds (tcpeval section 6.1.3).
    found = evaluate(of("reno"), length=Length(20, 5, 4, 4), only=["tcpeval/6.1"], threads=1)
    ratios = [score for (case, _), score in scores(found, "tcpeval/6.1").items() if not case]
    assert [score.name for score in ratios] == ["gain_50", "loss_50", "gain_100", "loss_100"]
    assert {(score.interval.lo, score.interval.mean, score.interval.hi) for score in ratios} == {(1.0, 1.0, 1.0)}


def test_equal_congestion_controls_have_no_decided_comparison() -> None:
    same = of('{ kind = "reno", beta = 0.5 }')
    found = evaluate(of("reno"), [same], length=TINY, only=["rfc9743/5.2", "rfc9743/6.4"], threads=1)
    against = [score.against[same.name] for row in found.rows for score in row.scores if score.against]
    assert len(against) > 30
    assert {one.word for one in against} <= {"undecided", None}


# Criteria, with hand-made reports.


def made_up(**tables: object) -> Report:
    """Return a report from 1 s to 5 s, with two long flows of a group `bulk`, of which parts are replaced."""
    flow = {"group": "bulk", "delay": {"count": 10, "mean_s": 0.07}, "delivered": {"bytes": 0, "packets": 40}}
    counts = {"goodput_bytes": 3_000_000, "segments": 200, "retransmissions": 10, "acks_sent": 30, "acks_lost": 0}
    flows = [
        {**flow, "name": "bulk[1]", "offered": {"bytes": 4_000_000, "packets": 100}, "transport": counts},
        {
            **flow,
            "name": "bulk[2]",
            "offered": {"bytes": 4_000_000, "packets": 300},
            "transport": {**counts, "goodput_bytes": 1_000_000, "acks_sent": 50},
        },
    ]
    data = {"seed": 1, "digest": "", "warmup_s": 1.0, "end_s": 5.0, "flows": flows, "variation": {}, **tables}
    return Report(data)  # type: ignore[arg-type]


TIMES = [0.5 * k for k in range(11)]


def series(**own: list[int]) -> dict[str, object]:
    """Return samples at intervals of 0.5 s from 0 to 5 s of the payload of flows in order, each also a group."""
    by_flow = {name: {"delivered_bytes": values, "goodput_bytes": values} for name, values in own.items()}
    return {"time_s": TIMES, "by_flow": by_flow, "flows": {}, "transports": {}, "ports": {}}


def flows_named(*names: str) -> list[dict[str, object]]:
    return [{"group": name, "name": name} for name in names]


def test_rates_ratios_and_fairness_are_those_of_hand_made_counts() -> None:
    report = made_up()
    values = {
        # 400 packets of 2 flows in 4 s, 40 round-trip times of 100 ms.
        criteria.sending_rate("bulk", 100.0): 5.0,
        # 4 MB useful of 8 MB sent.
        criteria.goodput_ratio("bulk"): 50.0,
        # 20 of 400 segments.
        criteria.retransmissions("bulk"): 5.0,
        # 80 acknowledgements for 80 delivered packets.
        criteria.acknowledgements("bulk"): 1.0,
        criteria.smallest_share("bulk"): 1 / 3,
        # sqrt(3 · 1) over 2.
        criteria.product("bulk"): math.sqrt(3) / 2,
        # 4 MB in 4 s are 8 Mbit/s; of a share of 10 Mbit/s with headers, 1460/1500 of it payload.
        criteria.of_fair_share("bulk", 10.0, "share", ""): 100 * 8 / (10 * 1460 / 1500),
    }
    for criterion, expected in values.items():
        assert criterion.observable.value(report) == pytest.approx(expected), criterion.observable.name


def test_the_product_measure_is_zero_if_a_flow_is_starved() -> None:
    report = made_up()
    report.data["flows"][0]["transport"]["goodput_bytes"] = 0  # type: ignore[index]
    assert criteria.product("bulk").observable.value(report) == 0.0
    assert criteria.smallest_share("bulk").observable.value(report) == 0.0


def test_convergence_is_the_end_of_the_first_interval_with_a_fair_share() -> None:
    # Per second from the end of the warm-up at 1 s: shares 0, 1/4, 2/5 and 1/2. With delta = 0.2, 0.4 is fair.
    old = [0, 0, 0, 50, 100, 145, 190, 220, 250, 275, 300]
    new = [0, 0, 0, 0, 0, 15, 30, 50, 70, 95, 120]
    report = made_up(series=series(old=old, new=new), flows=flows_named("old", "new"))
    found = criteria.share(report, "new", "old", 1.0, 1.0)
    assert found == [pytest.approx(pair) for pair in [(1.0, 0.0), (2.0, 0.25), (3.0, 0.4), (4.0, 0.5)]]
    assert criteria.convergence_time("new", "old", 1.0, 0.2).observable.value(report) == 3.0
    # Without a fair share, the observed time counts.
    assert criteria.convergence_time("new", "old", 1.0, 0.0).observable.value(report) == 4.0
    slow = made_up(series=series(old=old, new=[0] * 11), flows=flows_named("old", "new"))
    assert criteria.convergence_time("new", "old", 1.0, 0.2).observable.value(slow) == 4.0


def test_times_to_bytes_count_from_the_end_of_the_warm_up() -> None:
    new = [0, 0, 0, 0, 0, 15, 30, 50, 70, 95, 120]
    report = made_up(series=series(new=new), flows=flows_named("new"))
    # 30 B have arrived by 3 s, 2 s after the start; 121 B never do.
    assert criteria.bytes_time("new", 30).observable.value(report) == 2.0
    assert criteria.bytes_time("new", 121).observable.value(report) == 4.0


def test_recovery_is_the_start_of_the_first_second_with_the_share_of_the_rate() -> None:
    # From 2 s on 500 kB per 0.5 s: 8 Mbit/s. The first whole second after 1 s with at least 4 Mbit/s begins at 1.5 s.
    useful = [0, 0, 0, 0, 0, 500_000, 1_000_000, 1_500_000, 2_000_000, 2_500_000, 3_000_000]
    report = made_up(series=series(bulk=useful), flows=flows_named("bulk"))
    assert criteria.recovery_time("bulk", 0.0, 8.0).observable.value(report) == pytest.approx(0.5)
    assert criteria.recovery_time("bulk", 0.0, 80.0).observable.value(report) == pytest.approx(4.0)


def test_an_outage_counts_the_packets_of_its_interval_only() -> None:
    sent = [0, 0, 10, 20, 30, 32, 34, 36, 38, 60, 80]
    table = {**series(), "flows": {"bulk": {"offered_packets": sent}}}
    # From 2 s to 4 s, 1 to 3 s after the warm-up: 8 packets of 2 flows in 20 round-trip times.
    value = criteria.outage_rate("bulk", 1.0, 3.0, 100.0).observable.value(made_up(series=table))
    assert value == pytest.approx(8 / 2 / 20)


def test_windows_reach_a_share_of_the_bandwidth_delay_product() -> None:
    windows = [9.0, 90.0, 20.0, 25.0, 31.0, 40.0, 58.0, 61.0, 81.0, 85.0, 90.0]
    table = {**series(), "transports": {"bulk": {"window_segments": windows}}}
    report = made_up(series=table)
    times = [criteria.window_time("bulk", 1.0, part, 100).observable.value(report) for part in (60.0, 80.0, 90.0, 95.0)]
    # 61 at 3.5 s, 81 at 4 s, 90 at 5 s; 95 never, so that the end of the run counts.
    assert times == [2.5, 3.0, 4.0, 4.0]
    # Up to 60 %, the steps after 1 s are 5, 6, 9, 18 and 3 segments; the next one, of 20, is after it.
    assert criteria.largest_step("bulk", 1.0, 60.0, 100).observable.value(report) == 18.0


def test_the_variation_of_a_rate_is_the_standard_deviation_over_the_mean() -> None:
    # Per second after the warm-up 10, 30, 10 and 30 B: mean 20, deviation 10; over two seconds 40 and 40.
    useful = [0, 0, 0, 5, 10, 25, 40, 45, 50, 65, 80]
    report = made_up(series=series(bulk=useful), flows=flows_named("bulk"))
    assert criteria.rate_variation("bulk", 1.0).observable.value(report) == pytest.approx(0.5)
    assert criteria.rate_variation("bulk", 2.0).observable.value(report) == pytest.approx(0.0)


def test_the_delay_of_a_port_is_its_backlog_over_its_rate() -> None:
    ports = [{"name": "left->right", "classes": [{"mean_bytes": 12_500.0}]}]
    # 12.5 kB at 10 Mbit/s take 10 ms.
    assert criteria.port_delay(10.0).observable.value(made_up(ports=ports)) == pytest.approx(10.0)


def test_completion_times_are_weighted_by_the_transfers_of_each_group() -> None:
    rows = {"down41": (1, 0.3), "down42": (3, 0.1), "up14": (5, 9.0), "down43": (0, None)}
    applications = {name: {"time": {"count": count, "mean_s": mean}} for name, (count, mean) in rows.items()}
    value = criteria.mean_completion("down").observable.value(made_up(applications=applications))
    assert value == pytest.approx(1e3 * (0.3 + 3 * 0.1) / 4)


# Networks.


def test_paths_of_the_suite_have_the_round_trip_times_of_its_table_1() -> None:
    # tcpeval section 4.1, table 1, ms, for a central link without delay; here it has 2 ms in each direction.
    table = {
        (1, 4): 4,
        (1, 5): 74,
        (1, 6): 150,
        (2, 4): 28,
        (2, 5): 98,
        (2, 6): 174,
        (3, 4): 54,
        (3, 5): 124,
        (3, 6): 200,
    }
    made = suite(2, 0, capacity_mbps=1000.0, central_ms=2.0, buffer=100, edge_mbps=1000.0)
    for i, j in table:
        for ends in ((i, j), (j, i)):
            name, from_, to = f"{ends[0]}to{ends[1]}", f"node{ends[0]}", f"node{ends[1]}"
            made = made.flow(name, from_, to, source("cbr", rate="100kbit/s", packet="125B"))
    report = package.run(made, 1, 1, threads=1).reports[0]
    for (i, j), rtt in table.items():
        both = sum(report.variation(name)["min_s"] for name in (f"{i}to{j}", f"{j}to{i}"))
        # The random delay of at most 0.012 ms, transmission, and 0.001 ms for links without delay.
        assert both == pytest.approx((rtt + 4) * 1e-3, abs=5e-5), (i, j)


def test_all_paths_of_the_parking_lot_have_a_round_trip_time_of_60_ms() -> None:
    # Figure 10; half of it in one direction.
    made = parking_lot(2, 0, 100.0)
    for name, from_, to in (("1", 1, 8), ("2", 2, 3), ("3", 4, 5), ("4", 6, 7)):
        made = made.flow(name, f"node{from_}", f"node{to}", source("cbr", rate="100kbit/s", packet="125B"))
    report = package.run(made, 1, 1, threads=1).reports[0]
    for name in "1234":
        assert report.variation(name)["min_s"] == pytest.approx(30e-3, abs=3e-4)


def test_connection_vectors_offer_the_nominal_load() -> None:
    # Far below the capacity, the goodput is the offered payload. Sizes are heavy-tailed, so the tolerance is wide.
    made = suite(120, 20, capacity_mbps=1000.0, central_ms=1.0, buffer=10_000, edge_mbps=1000.0, sample_ms=1000.0)
    made = vectors(made, "down", "node4", "node1", tcp(), 10.0)
    report = package.run(made, 1, 1, threads=1).reports[0]
    groups = {flow["group"] for flow in report.flows("down-*")}
    assert {"down-small", "down-large", "down-session", "down-session response"} == groups
    assert report.goodput_bps("down*") * 1e-6 == pytest.approx(10.0, rel=0.25)
    assert report.goodput_bps("down-small") * 1e-6 == pytest.approx(1.0, rel=0.4)


# Subjects.


def test_a_congestion_control_is_a_kind_an_inline_table_a_file_or_a_scenario(tmp_path: Path) -> None:
    plain: Table = {"kind": "tcp", "congestion-control": {"kind": "cubic"}}
    assert of("cubic") == Subject("cubic", plain, "", TRANSPORT)
    inline = of('{ kind = "cubic", beta = 0.5 }')
    assert (inline.name, inline.kind) == ("cubic beta=0.5", "cubic")
    whole = of('{ kind = "tcp", segment = "536B", congestion-control = { kind = "cubic" } }')
    assert (whole.name, whole.table["segment"]) == ("cubic segment=536B", "536B")
    file = tmp_path / "cc.toml"
    file.write_text('transport = { kind = "tcp", congestion-control = { kind = "cubic", beta = 0.5 } }\n')
    assert of(str(file)) == Subject("cubic beta=0.5", inline.table, str(tmp_path), TRANSPORT)
    flows = '[[flows]]\nname = "{}"\ntransport = {{ kind = "tcp", congestion-control = {{ kind = "{}" }} }}\n'
    file.write_text(flows.format("a", "cubic") + flows.format("b", "cubic"))
    assert of(str(file)).table == plain
    file.write_text(flows.format("a", "cubic") + flows.format("b", "reno"))
    with pytest.raises(UsageError, match="2 different transports"):
        of(str(file))


def test_a_user_defined_kind_is_wrapped_in_tcp_with_its_folder(tmp_path: Path) -> None:
    # The schema need not know the kind: only the check in a scenario decides.
    table = TRANSPORT.whole({"kind": "user", "file": "cc.py", "class": "Mine"})
    assert table == {"kind": "tcp", "congestion-control": {"kind": "user", "file": "cc.py", "class": "Mine"}}
    found = Subject("user", table, str(tmp_path), TRANSPORT)
    assert (found.kind, found.parameters) == ("user", {})
    table = TRANSPORT.whole({"kind": "user", "file": "cc.py", "class": "Mine", "parameters": {"gain": 0.5}})
    assert Subject("user", table, str(tmp_path), TRANSPORT).parameters == {"gain": 0.5}


def test_dctcp_has_ecn_unless_the_table_says_otherwise() -> None:
    assert of("dctcp").table["ecn"] == "classic"
    without = of('{ kind = "tcp", ecn = "off", congestion-control = { kind = "dctcp" } }')
    assert without.table["ecn"] == "off"
    assert "ecn" not in of("cubic").table


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        ("cubik", UsageError, "did you mean 'cubic'"),
        ('{ kind = "cubic", beta 0.5 }', UsageError, "is not an inline table"),
        ("{ beta = 0.5 }", ScenarioError, "has no `kind`"),
        ('{ kind = "cubic", bta = 0.5 }', ScenarioError, "bta"),
        ('{ kind = "rdma" }', UsageError, "not `rdma`"),
    ],
)
def test_other_texts_are_refused_with_advice(text: str, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        of(text)


def test_the_default_comparisons_are_known_kinds() -> None:
    assert set(guide_of(TRANSPORT).defaults) <= set(possible())
    assert set(choices.STANDARDS.value) <= set(possible())


# Runs.


def test_a_small_evaluation_runs_from_end_to_end() -> None:
    only = ["rfc9743/5", "rfc9743/7", "rfc5166", "tcpeval/5.2", "tcpeval/6.2"]
    found = evaluate(of("cubic"), [of("reno")], length=TINY, only=only)
    assert (found.replications, found.refused, found.interrupted) == ((2, 2), {}, False)
    for entry in plan(CONGESTION, of("cubic"), [], only, TINY):
        row = next(row for row in found.rows if row.section == entry.section)
        assert row.status == entry.status
        assert not entry.cases or any(score.interval.n == 2 for score in row.scores), entry.section
    assert {plot.name for plot in found.plots} == {"convergence", "fairness-rtt"}
    assert all(set(plot.lines) == {"cubic", "reno"} for plot in found.plots)
    assert sum(found.outcomes.values()) >= 11


# The command.


def test_the_command_writes_a_page_and_json_of_the_documented_form(tailback: Cli, tmp_path: Path) -> None:
    out = tmp_path / "card"
    only = ("--only", "rfc5166/2.3.3", "--only", "rfc9743/5.1.2")
    ran = tailback("evaluate", "--transport", "ledbat", "--against", "reno", *only, "--json", "--out", out)
    assert ran.code == 0
    found = ran.json
    assert found == json.loads((out / "card.json").read_text())
    assert (found["transport"], found["against"]) == ("ledbat", ["reno"])
    assert set(found["outcomes"]) == set(OUTCOMES)
    row = next(row for row in found["rows"] if row["section"] == "rfc9743/5.1.2")
    limited = row["metrics"][0]
    assert limited["limit"] == {"side": "at most", "value": 200, "source": HERE}
    # RFC 6817: the queueing delay of LEDBAT is at most its target of 100 ms.
    assert limited["outcome"] == "passes"
    curve = next(figure for figure in found["figures"] if figure["name"] == "convergence")
    assert set(curve["lines"]) == {"ledbat", "reno"}
    assert all(0 <= point["low"] <= point["mean"] <= point["high"] <= 1 for point in curve["lines"]["reno"])
    page = (out / "card.html").read_text()
    assert page.count("<img ") == 2
    assert "http" not in page
    assert all(f"<td>{section.title}</td>" in page for section in OUTLINE)


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        ((), 2, "either a discipline or"),
        (("codel", "--transport", "cubic"), 2, "either a discipline or"),
        (("--transport", "cubik"), 2, "did you mean 'cubic'"),
        (("--transport", "cubic", "--only", "5.1"), 2, "not a section"),
        (("--transport", "cubic", "--against", "codel"), 2, "neither a kind of congestion control"),
        (("--transport", '{ kind = "cubic", beta = 5 }'), 3, "beta"),
    ],
)
def test_wrong_arguments_are_refused_with_their_exit_codes(
    tailback: Cli, arguments: tuple[str, ...], code: int, message: str
) -> None:
    ran = tailback("evaluate", *arguments)
    assert (ran.code, ran.out) == (code, "")
    assert message in ran.err
