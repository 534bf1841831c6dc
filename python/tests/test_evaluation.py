"""Evaluation by RFC 7928: outline, choices, comparisons, ellipses, and small evaluations from end to end."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from conftest import Ran

import tailback as package
from tailback.errors import ScenarioError, UsageError
from tailback.evaluation import criteria
from tailback.evaluation.aqm import choices
from tailback.evaluation.aqm.choices import CHOICES, flows_at
from tailback.evaluation.aqm.guide import AQM
from tailback.evaluation.aqm.network import dumbbell
from tailback.evaluation.aqm.outline import OUTLINE
from tailback.evaluation.aqm.sensitivity import scaled
from tailback.evaluation.card import UNCHANGED, WORDS, card, word
from tailback.evaluation.case import STATUSES
from tailback.evaluation.choice import HERE, Length
from tailback.evaluation.criteria import Cloud, delay_p99, waiting
from tailback.evaluation.ellipse import ellipse
from tailback.evaluation.evaluate import evaluate
from tailback.evaluation.network import packets_of_delay
from tailback.evaluation.outline import children
from tailback.evaluation.plan import plan
from tailback.evaluation.runner import Runs, Sample, run_cases
from tailback.evaluation.subject import Subject, kinds, split, subject
from tailback.results.intervals import Interval
from tailback.results.report import Report
from tailback.run.pool import Pool
from tailback.scenario import source

Cli = Callable[..., Ran]

TINY = Length(duration_s=6, warmup_s=2, replications=2, max_replications=2)
"""Effort with which a scenario takes milliseconds."""


def others(*names: str) -> list[Subject]:
    return [subject(name) for name in names]


# Outline and plan.


def test_the_outline_has_chapters_4_to_12_and_numbers_subsections_without_gaps() -> None:
    numbers = [section.number for section in OUTLINE]
    assert [number for number in numbers if "." not in number] == [str(chapter) for chapter in range(4, 13)]
    for number in numbers:
        below = [child.number for child in children(OUTLINE, number)]
        assert below == [f"{number}.{k}" for k in range(1, len(below) + 1)]
    assert sum(len(children(OUTLINE, number)) for number in numbers) + 9 == len(numbers), (
        "each subsection has its section"
    )


def test_the_outline_has_the_sections_that_the_evaluation_suite_of_ns_3_cites() -> None:
    # A. Deepak, K. S. Shravya and M. P. Tahiliani, WNS3 2017; the comments of its scenarios.
    cited = {
        "4.5": "ECN",
        "5.1.1": "Same Initial Congestion Window",
        "5.1.2": "Different Initial Congestion Windows",
        "5.2": "Aggressive",
        "5.3": "Unresponsive",
        "5.4": "Less-than-Best-Effort",
        "8.2.2": "Mild",
        "8.2.3": "Medium",
        "8.2.4": "Heavy",
        "8.2.5": "Varying the Congestion Level",
        "8.2.6": "Varying Available Capacity",
    }
    titles = {section.number: section.title for section in OUTLINE}
    assert all(words in titles[number] for number, words in cited.items())


@pytest.mark.parametrize("name", kinds())
def test_every_section_has_one_row_with_a_status_and_a_reason_unless_it_is_run(name: str) -> None:
    found = plan(AQM, Subject(name, {"kind": name}), others("drop-tail") if name != "drop-tail" else [])
    assert [entry.section for entry in found] == [section.number for section in OUTLINE]
    for entry in found:
        assert entry.status in STATUSES
        assert entry.why or entry.status == "run", entry.section
        # A section that is run has tests or numbers of its own, subsections, or a note on where they are.
        assert entry.status != "run" or entry.cases or entry.facts or entry.why, entry.section
        assert entry.status == "run" or not (entry.cases or entry.facts), entry.section


def test_keys_of_cases_and_names_of_criteria_are_unique() -> None:
    for name in ("codel", "red", "dualpi2"):
        cases = [case for entry in plan(AQM, subject(name), []) for case in entry.cases]
        assert len({case.key for case in cases}) == len(cases)
        for case in cases:
            names = [criterion.observable.name for criterion in case.criteria]
            assert len(set(names)) == len(names), case.key


def test_a_limited_plan_runs_the_named_sections_and_those_below_only() -> None:
    found = {entry.section: entry.status for entry in plan(AQM, subject("codel"), [], ["8.2", "5.1.1"])}
    ran = {number for number, status in found.items() if status == "run"}
    assert ran == {"5", "5.1", "5.1.1", "8", "8.2", "8.2.2", "8.2.3", "8.2.4", "8.2.5", "8.2.6"}
    with pytest.raises(UsageError, match=r"'8\.9' is not a section"):
        plan(AQM, subject("codel"), [], ["8.9"])


# Choices.


def test_every_choice_states_a_section_of_the_rfc_or_that_it_is_chosen_here() -> None:
    assert len(CHOICES) > 30
    for one in CHOICES:
        assert "section" in one.source or one.source.startswith(HERE), one.name


def test_the_numbers_of_flows_are_those_of_the_loss_model_by_hand() -> None:
    # 10 Mbit/s · 100 ms = 125 kB = 83.3 packets of 1500 B; with an equal buffer S = 166.
    assert packets_of_delay(10, 100) == 83
    # N = 166 · sqrt(0.001 / 0.76) = 6.02; 166 · sqrt(0.005 / 0.76) = 13.46; 166 · sqrt(0.01 / 0.76) = 19.04.
    assert [flows_at(level.value) for level in (choices.MILD, choices.MEDIUM, choices.HEAVY)] == [6, 13, 19]


# Comparisons.


def test_a_comparison_is_decided_by_the_interval_of_the_differences_and_never_by_the_means() -> None:
    below, above = Interval(-2.0, -3.0, -1.0, 8), Interval(2.0, 1.0, 3.0, 8)
    assert (word(below, "lower"), word(above, "lower")) == ("better", "worse")
    assert (word(below, "higher"), word(above, "higher")) == ("worse", "better")
    assert word(Interval(-100.0, -201.0, 1.0, 8), "lower") == "undecided"
    assert word(Interval(-1.0, -2.0, 0.0, 8), "lower") == "undecided"
    assert word(Interval(-1.0, -math.inf, math.inf, 1), "lower") == "undecided"
    assert word(below, None) is None


def sampled(by_name: Mapping[str, list[float]]) -> Runs:
    """Return runs of one case with hand-made values of the goodput, a list for each discipline."""
    case = next(case for entry in plan(AQM, subject("codel"), []) for case in entry.cases if case.key == "5.1.1")
    names = [criterion.observable.name for criterion in case.criteria]
    runs = Runs({case.key: case}, tuple(Subject(name, {"kind": "codel"}) for name in by_name), 1)
    for name, values in by_name.items():
        runs.samples[case.key, name] = {
            k: Sample("", 0, dict.fromkeys(names, value), {cloud.title: [] for cloud in case.clouds})
            for k, value in enumerate(values)
        }
    return runs


def test_differences_are_paired_by_seed() -> None:
    # Means 11 and 10 with standard deviations above 5: only the pairs show that the first is always larger by 1.
    runs = sampled({"codel": [5.0, 11.0, 17.0], "pie": [4.0, 10.0, 16.0], "red": [16.0, 4.0, 10.0]})
    entry = next(entry for entry in plan(AQM, subject("codel"), []) if entry.section == "5.1.1")
    row = card(AQM, [entry], runs, "quick").rows[0]
    goodput = next(score for score in row.scores if score.name == "goodput_bulk")
    assert goodput.interval.mean == pytest.approx(11.0)
    pie, red = goodput.against["pie"], goodput.against["red"]
    assert (pie.difference.lo, pie.difference.hi, pie.word) == (1.0, 1.0, "better")
    assert red.difference.mean == pytest.approx(1.0)
    assert red.word == "undecided"
    # t(0.975, 2) = 4.3027; the differences -11, 7 and 7 have the mean 1 and the standard deviation sqrt(108).
    assert red.difference.half_width == pytest.approx(4.302653 * math.sqrt(108 / 3), rel=1e-5)


def test_a_case_without_a_finished_replication_is_missing_with_the_reason() -> None:
    entry = next(entry for entry in plan(AQM, subject("codel"), []) if entry.section == "5.1.1")
    runs = sampled({"codel": []})
    assert (row := card(AQM, [entry], runs, "quick").rows[0]).status == "missing"
    assert row.why == "interrupted before it was run"
    runs.refused["5.1.1", "codel"] = "a buffer is too small"
    assert card(AQM, [entry], runs, "quick").rows[0].why == "a buffer is too small"


def test_equal_disciplines_have_no_decided_comparison() -> None:
    # Tail drop is the default victim, so that both are the same discipline under two names.
    same = subject('{ kind = "drop-tail", victim = "tail" }')
    found = evaluate(subject("drop-tail"), [same], length=TINY, only=["5.2", "8.2.3", "9.1"], threads=1)
    against = [score.against[same.name] for row in found.rows for score in row.scores if score.against]
    assert len(against) > 15
    assert {one.word for one in against} <= {"undecided", None}
    assert {(one.difference.lo, one.difference.hi) for one in against if one.interval.n} == {(0.0, 0.0)}


# Ellipses.


def test_an_ellipse_of_points_on_the_axes_has_the_closed_form() -> None:
    # Variances with the divisor n: (4 + 4)/4 = 2 and (1 + 1)/4 = 1/2, without covariance.
    found = ellipse([(7.0, 3.0), (3.0, 3.0), (5.0, 4.0), (5.0, 2.0)])
    assert found is not None
    assert found.mean == found.median == (5.0, 3.0)
    assert found.covariance == pytest.approx((2.0, 0.0, 0.5))
    assert found.axes == pytest.approx((math.sqrt(2), math.sqrt(0.5)))
    assert found.angle == pytest.approx(0.0)


def test_an_ellipse_turns_with_its_points_and_its_outline_is_at_mahalanobis_distance_1() -> None:
    turn = math.radians(30)
    points = [
        (x * math.cos(turn) - y * math.sin(turn), x * math.sin(turn) + y * math.cos(turn))
        for x, y in [(2.0, 0.0), (-2.0, 0.0), (0.0, 1.0), (0.0, -1.0)]
    ]
    found = ellipse(points)
    assert found is not None
    assert found.axes == pytest.approx((math.sqrt(2), math.sqrt(0.5)))
    assert found.angle == pytest.approx(turn)
    xx, xy, yy = found.covariance
    determinant = xx * yy - xy * xy
    for x, y in found.outline():
        dx, dy = x - found.mean[0], y - found.mean[1]
        assert (yy * dx * dx - 2 * xy * dx * dy + xx * dy * dy) / determinant == pytest.approx(1.0)


def test_the_median_of_a_cloud_is_not_its_mean_and_no_points_have_no_ellipse() -> None:
    found = ellipse([(0.0, 0.0), (0.0, 1.0), (9.0, 5.0)])
    assert found is not None
    assert (found.median, found.mean) == ((0.0, 1.0), (3.0, 2.0))
    assert ellipse([]) is None


def test_points_of_a_graph_are_delay_without_propagation_and_goodput_per_second() -> None:
    made = dumbbell({"kind": "drop-tail"}, 12, 2, {"a": 100.0}).flow(
        "cbr", "send-a", "recv-a", source("cbr", rate="500kbit/s", packet="1000B")
    )
    report = package.run(made, 1, 1, threads=1).reports[0]
    points = Cloud("cbr", 100.0).points(report)
    assert len(points) in (9, 10)
    # 1000 B at 10 Mbit/s and twice at 1 Gbit/s take 0.816 ms; the random delay of the access link is 0.6 ms on average.
    assert sum(delay for delay, _ in points) / len(points) == pytest.approx(1.416, abs=0.1)
    assert sum(rate for _, rate in points) / len(points) == pytest.approx(0.5, rel=0.02)
    assert waiting("cbr", 100.0).observable.value(report) == pytest.approx(1.416, abs=0.1)
    # The random delay is at most 1.2 ms; a quantile's error is at most 1/256 of the delay of about 52 ms.
    assert 1.8 < delay_p99("cbr", 100.0).observable.value(report) < 2.25


# Criteria.


def made_up(**tables: object) -> Report:
    """Return a report with two long flows of a group `bulk`, of which parts are replaced."""
    flow = {"group": "bulk", "delay": {"count": 10, "mean_s": 0.07}, "delivered": {"bytes": 0, "packets": 0}}
    counts = {"goodput_bytes": 3_000_000, "acks_sent": 100, "acks_lost": 3}
    flows = [
        {**flow, "name": "bulk[1]", "transport": counts},
        {**flow, "name": "bulk[2]", "transport": {**counts, "acks_sent": 300, "acks_lost": 1}},
        {**flow, "name": "other", "group": "other", "transport": {**counts, "goodput_bytes": 1_500_000}},
    ]
    data = {"seed": 1, "digest": "", "warmup_s": 1.0, "end_s": 5.0, "flows": flows, "variation": {}, **tables}
    return Report(data)  # type: ignore[arg-type]


def test_ratios_and_lost_acknowledgements_are_those_of_hand_made_counts() -> None:
    # 6 MB over 1.5 MB; 4 of 400 acknowledgements.
    assert criteria.ratio("bulk", "other", "r", "ratio").observable.value(made_up()) == 4.0
    assert criteria.acknowledgements_lost("bulk", "a", "lost").observable.value(made_up()) == 1.0


def test_synchronisation_is_the_mean_share_of_flows_in_epochs_of_a_round_trip_time() -> None:
    # One-way delay 70 ms, propagation 50 ms: an epoch is 120 ms, and the sampling interval of 100 ms. Both flows
    # reduce their windows at 2.0 s and 2.2 s, in one epoch; only the first does at 4.0 s: shares of 1 and 1/2.
    times = [round(0.1 * k, 1) for k in range(50)]
    first = [10.0 if at < 2.0 else 7.0 if at < 4.0 else 5.0 for at in times]
    second = [10.0 if at < 2.2 else 7.0 for at in times]
    transports = {"bulk[1]": {"window_segments": first}, "bulk[2]": {"window_segments": second}}
    report = made_up(series={"time_s": times, "transports": transports})
    assert criteria.synchronisation("bulk", 100.0).observable.value(report) == pytest.approx(75.0)


def test_the_state_is_the_largest_of_its_samples_without_those_of_other_ports() -> None:
    ports = {"left->right": {"state": {"state_bytes": [40, 58, 44]}}, "right->left": {"state": {"state_bytes": [99]}}}
    assert criteria.state_size().observable.value(made_up(series={"ports": ports})) == 58


def test_a_call_of_which_no_packet_arrives_has_the_lowest_score() -> None:
    assert criteria.speech("voice", "score").observable.value(made_up()) == 1.0


# Disciplines.


def test_a_discipline_is_a_kind_an_inline_table_or_a_file(tmp_path: Path) -> None:
    assert subject("codel") == Subject("codel", {"kind": "codel"})
    inline = subject('{ kind = "pie", target = "20ms" }')
    assert (inline.name, inline.table) == ("pie target=20ms", {"kind": "pie", "target": "20ms"})
    file = tmp_path / "law.toml"
    file.write_text('discipline = { kind = "pie", target = "20ms" }\n')
    assert subject(str(file)) == Subject("pie target=20ms", inline.table, str(tmp_path))


def test_parameters_are_those_of_the_schema_with_the_given_values() -> None:
    found = subject('{ kind = "codel", target = "10ms" }').parameters
    assert found["target"] == "10ms"
    assert found["interval"] == "100ms"
    assert "kind" not in found
    # A kind that the schema does not have, such as a law in a file, has the parameters that are given.
    assert Subject("mine", {"kind": "mine", "file": "law.py", "gain": 0.5}).parameters == {
        "file": "law.py",
        "gain": 0.5,
    }


def test_lists_of_disciplines_are_separated_by_commas_outside_of_tables() -> None:
    assert split("codel, pie,red") == ["codel", "pie", "red"]
    text = '{ kind = "pie", target = "20ms" },{ kind = "red", adaptive = { kind = "floyd", interval = "1s" } },codel'
    assert [part[:14] for part in split(text)] == ['{ kind = "pie"', '{ kind = "red"', "codel"]


def test_numeric_parameters_are_scaled_and_others_are_not() -> None:
    assert scaled("5ms", 2.0) == "10ms"
    assert scaled("1514B", 0.5) == "757B"
    assert scaled("2.5 Mbit/s", 2.0) == "5Mbit/s"
    assert (scaled(0.125, 2.0), scaled(3, 0.5), scaled(1, 0.5)) == (0.25, 2, 1)
    assert [scaled(value, 2.0) for value in (True, None, "exact", "0s", 0, 0.0, "law.py", [1])] == [None] * 8


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        ("codle", UsageError, "did you mean 'codel'"),
        ("nothing-like-it", UsageError, "tailback list"),
        ('{ kind = "pie", target 20ms }', UsageError, "is not an inline table"),
        ('{ target = "20ms" }', ScenarioError, "has no `kind`"),
        ('{ kind = "pie", goal = "20ms" }', ScenarioError, "goal"),
        ('{ kind = "pie", target = "0s" }', ScenarioError, "target"),
    ],
)
def test_other_texts_are_refused_with_advice(text: str, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        subject(text)


# Runs.


def test_a_small_evaluation_runs_from_end_to_end() -> None:
    only = ["4", "5", "6", "7", "8.2.3", "9", "10", "11", "12"]
    found = evaluate(subject("codel"), others("drop-tail"), length=TINY, only=only)
    rows = {row.section: row for row in found.rows}
    assert [row.section for row in found.rows] == [section.number for section in OUTLINE]
    assert (found.replications, found.refused, found.interrupted) == ((2, 2), {}, False)
    tested = {"4.4", "4.5", "4.6", "5.1.1", "5.1.2", "5.2", "5.3", "6.2", "7.2", "8.2.3", "9.1", "9.2", "10.2", "11.2"}
    assert {number for number, row in rows.items() if row.scores} - {"5.4"} == tested | {"12.2"}
    # Without a long enough warm-up some quantities, such as completion times, have no value, but the rates have one.
    for number in tested - {"11.2"}:
        assert any(score.interval.n == 2 and score.interval.mean > 0 for score in rows[number].scores), number
    assert rows["8.2.2"].status == "not selected"


def test_the_queueing_delay_of_codel_is_below_that_of_drop_tail_at_heavy_congestion() -> None:
    # The purpose of the law; with a standing queue in a buffer of 100 ms, 20 s decide it.
    found = evaluate(subject("codel"), others("drop-tail"), length=Length(20, 8, 3, 3), only=["8.2.4"])
    scores = {score.name: score for row in found.rows for score in row.scores}
    assert scores["queueing_delay_bulk"].against["drop-tail"].word == "better"
    assert scores["utilisation"].interval.mean > 90


def test_a_changed_parameter_is_compared_with_the_parameters_as_they_are() -> None:
    given = subject('{ kind = "drop-tail", packets = 40 }')
    found = evaluate(given, length=Length(20, 8, 3, 3), only=["8.3"])
    row = next(row for row in found.rows if row.section == "8.3")
    delay = {score.case: score for score in row.scores if score.name == "queueing_delay_bulk"}
    half, double = delay["8.3 packets x0.5"], delay["8.3 packets x2"]
    assert (half.against[UNCHANGED].word, double.against[UNCHANGED].word) == ("better", "worse")
    assert half.interval.mean < delay["8.3 parameters"].interval.mean < double.interval.mean


def test_a_discipline_that_a_scenario_refuses_is_not_run_in_it() -> None:
    cases = [case for entry in plan(AQM, subject("codel"), []) for case in entry.cases if case.key == "5.1.1"]
    broken = Subject("broken", {"kind": "codel", "target": "0s"})
    with Pool(1) as pool:
        runs = run_cases(cases, [subject("codel"), broken], TINY, 1, pool)
    assert list(runs.samples) == [("5.1.1", "codel")]
    assert "target" in runs.refused["5.1.1", "broken"]


def test_ctrl_c_keeps_the_finished_replications() -> None:
    # The signal comes once the work of two replications is done, of about 100; the others are stopped.
    program = """
import os, signal
from tailback.evaluation.choice import Length
from tailback.evaluation.evaluate import evaluate
from tailback.evaluation.subject import subject

signal.signal(signal.SIGINT, signal.default_int_handler)
calls = []

def watch(_, done, planned):
    if done >= 2 and not calls:
        calls.append(1)
        os.kill(os.getpid(), signal.SIGINT)

found = evaluate(subject("codel"), length=Length(60, 2, 9, 9), only=["5", "7"], threads=1, watch=watch)
whys = [row.why for row in found.rows]
print(found.interrupted, "interrupted before it was run" in whys, found.packet_hops > 0)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=False)
    assert done.stdout.split() == ["True", "True", "True"], done.stderr


def test_a_discipline_that_is_given_twice_is_refused() -> None:
    with pytest.raises(UsageError, match="'pie' is given twice"):
        evaluate(subject("codel"), others("pie", "pie"), length=TINY)


def test_replications_are_added_until_the_evaluated_discipline_is_known_precisely() -> None:
    # A full queue of equal packets at a constant rate has one delay and one loss; completion times of pages vary.
    length = Length(6, 2, 2, 4)
    found = evaluate(subject("drop-tail"), length=length, only=["5.3", "7.2"], threads=1)
    counts = {score.case: score.interval.n for row in found.rows for score in row.scores}
    assert counts["5.3 alone"] == 2
    assert max(n for case, n in counts.items() if case.startswith("7.2")) == 4


def test_the_varying_phases_change_the_load_and_the_capacity() -> None:
    entries = plan(AQM, subject("drop-tail"), [])
    cases = {case.key: case for entry in entries for case in entry.cases}
    load = cases["8.2.5"].at(subject("drop-tail"), Length(120, 60, 2, 2)).document
    assert {flow["name"]: flow["count"] for flow in load["flows"]} == {
        "bulk": 6,
        "bulk-medium": 7,
        "bulk-heavy": 6,
    }
    stops = [(row["at"], row["flow"], row["state"]) for row in load["timeline"]]
    assert stops == [
        ("60s", "bulk-medium", "stop"),
        ("80s", "bulk-medium", "start"),
        ("60s", "bulk-heavy", "stop"),
        ("100s", "bulk-heavy", "start"),
    ]
    fast = cases["8.2.6 experiment 2"].at(subject("drop-tail"), TINY).document
    changes = [(row["at"], row["rate"]) for row in fast["timeline"]]
    assert changes[:3] == [("0.1s", "10Mbit/s"), ("0.2s", "100Mbit/s"), ("0.3s", "10Mbit/s")]


def test_flows_of_a_class_have_its_round_trip_time() -> None:
    made = dumbbell({"kind": "drop-tail"}, 20, 0, {"a": 100.0, "b": 5.0})
    for name, path in (("one", "a"), ("two", "b")):
        made = made.flow(name, f"send-{path}", f"recv-{path}", source("cbr", rate="100kbit/s", packet="1500B"))
    report = package.run(made, 1, 1, threads=1).reports[0]
    # Half of the round-trip time, and the transmission of 1500 B at 10 Mbit/s and twice at 1 Gbit/s: 1.224 ms. The
    # smallest of 160 random delays from 0 to 1.2 ms is below 0.1 ms with a probability of 1 - 1e-6.
    for name, half_s in (("one", 50e-3), ("two", 2.5e-3)):
        assert 1.224e-3 <= report.variation(name)["min_s"] - half_s < 1.324e-3


# The command.


def test_the_command_writes_a_page_and_json_of_the_documented_form(tailback: Cli, tmp_path: Path) -> None:
    out = tmp_path / "card"
    ran = tailback("evaluate", "codel", "--against", "drop-tail", "--only", "5.1.1", "--json", "--out", out)
    assert ran.code == 0
    found = ran.json
    assert found == json.loads((out / "card.json").read_text())
    assert (found["discipline"], found["against"], found["profile"]) == ("codel", ["drop-tail"], "quick")
    assert len(found["rows"]) == len(OUTLINE)
    row = next(row for row in found["rows"] if row["section"] == "5.1.1")
    assert row["status"] == "run"
    assert row["metrics"][0].keys() >= {"name", "unit", "mean", "low", "high", "against"}
    against = row["metrics"][0]["against"]["drop-tail"]
    assert against["word"] in WORDS
    assert against["difference"]["low"] <= against["difference"]["mean"] <= against["difference"]["high"]
    assert all(choice["source"] for choice in found["choices"])
    (figure,) = found["figures"]
    assert (out / "figures" / f"{figure['name']}.svg").read_bytes().startswith(b"<?xml")
    page = (out / "card.html").read_text()
    assert page.count("<img ") == 1
    assert 'src="data:image/svg+xml;base64,' in page
    assert "http" not in page.replace("http-equiv", "")
    assert all(f"<td>{section.title}</td>" in page for section in OUTLINE)


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("codle",), 2, "did you mean 'codel'"),
        (("codel", "--only", "3.1"), 2, "not a section"),
        (("codel", "--against", "pie,codel"), 2, "given twice"),
        (("codel", "--against", "piee"), 2, "did you mean 'pie'"),
        (('{ kind = "codel", target = 5 }',), 3, "target"),
        (("codel", "--seed", str(2**63)), 2, "base seed"),
    ],
)
def test_wrong_arguments_are_refused_with_their_exit_codes(
    tailback: Cli, arguments: tuple[str, ...], code: int, message: str
) -> None:
    ran = tailback("evaluate", *arguments)
    assert (ran.code, ran.out) == (code, "")
    assert message in ran.err


def test_a_file_without_a_discipline_is_an_invalid_scenario(tailback: Cli, tmp_path: Path) -> None:
    file = tmp_path / "law.toml"
    file.write_text('kind = "codel"\n')
    ran = tailback("evaluate", file)
    assert ran.code == 3
    assert "no table `discipline`" in ran.err
    file.write_text("discipline = {")
    assert tailback("evaluate", file).code == 3


def test_the_default_comparisons_are_known_kinds() -> None:
    assert set(AQM.defaults) <= set(kinds())
