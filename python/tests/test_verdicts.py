"""Verdicts of claims on made-up samples, without simulation."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from made_up import results

from tailback.reproduction.page import _claim
from tailback.results.intervals import Interval
from tailback.study.experiment import Claim, Condition, Point, Results, Verdict
from tailback.study.experiment.claims import Region, judge, undecided_points

PASS, FAIL, UNDECIDED, NULL = Verdict.PASS, Verdict.FAIL, Verdict.UNDECIDED, Verdict.NULL


def one(values: Sequence[float], packets: int = 1000) -> Results:
    """Return results at one point, with the given losses in %, one per replication."""
    return results({("none", 1): values}, packets)


@pytest.mark.parametrize(
    ("lo", "hi", "region", "verdict"),
    [
        (1, 2, Region(hi=3), PASS),
        (1, 3, Region(hi=3), PASS),
        (1, 3, Region(hi=3, closed=False), UNDECIDED),
        (2, 4, Region(hi=3), UNDECIDED),
        (3, 4, Region(hi=3), UNDECIDED),
        (3, 4, Region(hi=3, closed=False), FAIL),
        (3.1, 4, Region(hi=3), FAIL),
        (0, 0, Region(lo=0), PASS),
        (0, 0, Region(lo=0, closed=False), FAIL),
        (0, 1, Region(lo=0, closed=False), UNDECIDED),
        (0.1, 1, Region(lo=0, closed=False), PASS),
        (-1, 1, Region(lo=0), UNDECIDED),
        (-2, -1, Region(lo=0), FAIL),
        (4, 5, Region(3, 6), PASS),
        (2, 5, Region(3, 6), UNDECIDED),
        (7, 8, Region(3, 6), FAIL),
    ],
)
def test_a_verdict_needs_the_whole_interval(lo: float, hi: float, region: Region, verdict: Verdict) -> None:
    assert judge(Interval((lo + hi) / 2, lo, hi, 5), region) is verdict


def test_one_replication_decides_nothing() -> None:
    assert judge(Interval(0.0, float("-inf"), float("inf"), 1), Region(hi=10)) is UNDECIDED


def test_a_claim_of_zero_needs_no_event_and_shows_the_number_of_packets() -> None:
    clean = one([0.0, 0.0, 0.0])["loss"].is_zero()
    assert clean.verdict is PASS
    assert clean.worst.packets == 3000
    assert one([0.0, 0.0, 0.1])["loss"].is_zero().verdict is FAIL
    assert one([0.0, 0.0], packets=0)["loss"].is_zero().verdict is UNDECIDED


def test_a_claim_of_zero_names_the_counted_events() -> None:
    steps = Claim("C1", "Never.", "made up", one([0.0, 0.0])["loss"].is_zero("changes of max_p"))
    shape = steps.as_json("quick")
    assert (shape["packets"], shape["counted"]) == (2000, "changes of max_p")
    assert [(check["packets"], check["counted"]) for check in shape["checks"]] == [(2000, "changes of max_p")]  # type: ignore[attr-defined]
    assert "2,000 changes of max_p seen" in _claim(shape)
    packets = Claim("C2", "Never.", "made up", one([0.0, 0.0])["loss"].is_zero()).as_json("quick")
    assert "counted" not in packets
    assert "2,000 packets seen" in _claim(packets)


def test_zero_cannot_be_claimed_of_a_quantity_without_counts() -> None:
    quantity = one([0.0, 0.0])["loss"]
    with pytest.raises(TypeError, match="upper bound"):
        (quantity - quantity).is_zero()


@pytest.mark.parametrize(
    ("small", "large", "strict", "loose"),
    [
        ([1.0, 1.1, 0.9], [3.0, 3.1, 2.9], PASS, PASS),
        ([3.0, 3.1, 2.9], [1.0, 1.1, 0.9], FAIL, FAIL),
        ([1.0, 1.1, 0.9], [1.0, 1.1, 0.9], FAIL, PASS),
        ([0.0, 0.0, 0.0], [0.0, 0.0, 0.0], NULL, PASS),
        ([0.0, 0.0, 0.0], [2.0, 2.1, 1.9], PASS, PASS),
        ([2.0, 2.1, 1.9], [0.0, 0.0, 0.0], FAIL, FAIL),
        ([0.0, 3.0, 1.0], [1.0, 2.0, 2.0], UNDECIDED, UNDECIDED),
        # Both vary in the same way: the paired difference is clear although the intervals of the means overlap.
        ([1.0, 5.0, 9.0], [1.5, 5.5, 9.5], PASS, PASS),
    ],
)
def test_comparisons_are_paired_and_strict_only_above_zero(
    small: list[float], large: list[float], strict: Verdict, loose: Verdict
) -> None:
    both = results({("plain", 1): small, ("none", 1): large})
    plain, none = both.where(mechanism="plain")["loss"], both.where(mechanism="none")["loss"]
    assert (plain < none).verdict is strict
    assert (none > plain).verdict is strict
    assert (plain <= none).verdict is loose
    assert (none >= plain).verdict is loose


def test_a_factor_is_shown_as_a_ratio_with_the_same_verdict() -> None:
    both = results({("plain", 1): [1.0, 1.1, 0.9, 1.0], ("none", 1): [4.0, 4.2, 3.8, 4.1]})
    plain, none = both.where(mechanism="plain")["loss"], both.where(mechanism="none")["loss"]
    half = plain <= 0.5 * none
    assert (half.verdict, half.worst.unit) == (PASS, "ratio")
    assert half.worst.measured.hi < 0.5
    assert (plain <= none / 5).verdict is FAIL
    five = none >= 3 * plain
    assert (five.verdict, round(five.worst.measured.mean, 1)) == (PASS, 4.0)


def test_a_loose_comparison_by_a_factor_holds_if_both_sides_are_zero() -> None:
    both = results({("plain", 1): [0.0, 0.0], ("none", 1): [0.0, 0.0]})
    condition = both.where(mechanism="plain")["loss"] <= 0.5 * both.where(mechanism="none")["loss"]
    assert condition.verdict is PASS


def test_a_claim_over_points_is_their_conjunction_and_shows_the_worst() -> None:
    r = results({("none", 1): [0.0, 0.0, 0.0], ("none", 2): [1.0, 1.1, 0.9], ("none", 3): [7.0, 7.1, 6.9]})
    condition = r.where(mechanism="none")["loss"] <= 5
    assert condition.verdict is FAIL
    assert condition.worst.at == "rate 3 Mbit/s"
    assert (r["loss"] <= 10).verdict is PASS
    assert (r["loss"] <= 10).worst.at == "mechanism none, rate 3 Mbit/s"


def test_only_undecided_points_request_replications() -> None:
    r = results({("none", 1): [0.0, 0.0, 0.0], ("none", 2): [1.0, 6.0, 2.0], ("none", 3): [2.0, 2.1, 1.9]})
    condition = r["loss"] <= 5
    assert condition.verdict is UNDECIDED
    assert condition.undecided_points == {Point(mechanism="none", rate=2)}
    assert undecided_points([Claim("C1", "", "", condition)]) == condition.undecided_points
    failed = condition & (r["loss"] <= 0.5)
    assert (failed.verdict, failed.undecided_points) == (FAIL, frozenset())


def test_points_at_which_both_sides_are_zero_do_not_count_and_are_reported() -> None:
    r = results(
        {("plain", 1): [0.0] * 3, ("none", 1): [0.0] * 3, ("plain", 2): [1.0, 1.1, 1.0], ("none", 2): [3.0, 3.1, 3.0]}
    )
    condition = r.where(mechanism="plain")["loss"] < r.where(mechanism="none")["loss"]
    assert condition.verdict is PASS
    assert condition.why == "1 of 2 points not asserted: both sides are zero"
    claim = Claim("C1", "text", "source", condition.where_both_positive())
    assert claim.as_json("quick")["pass"] is True


@pytest.mark.parametrize(
    ("values", "verdict"),
    [
        ([[0.0, 0.0, 0.0], [1.0, 1.1, 0.9], [2.0, 2.1, 1.9]], PASS),
        ([[1.0, 1.1, 0.9], [1.05, 1.1, 0.9], [2.0, 2.1, 1.9]], PASS),
        ([[1.0, 1.1, 0.9], [0.0, 0.1, 0.0], [2.0, 2.1, 1.9]], FAIL),
        ([[1.0, 3.0, 2.0], [2.0, 1.0, 3.0], [9.0, 9.1, 8.9]], UNDECIDED),
    ],
)
def test_a_monotone_claim_judges_each_step_against_the_tolerance(values: list[list[float]], verdict: Verdict) -> None:
    r = results({("none", rate): row for rate, row in enumerate(values, 1)})
    assert r["loss"].non_decreasing("rate", tolerance=0.5).verdict is verdict
    mirrored = results({("none", rate): row for rate, row in enumerate(reversed(values), 1)})
    assert mirrored["loss"].non_increasing("rate", tolerance=0.5).verdict is verdict


def test_somewhere_needs_one_point_that_satisfies_the_condition() -> None:
    r = results({("none", 1): [0.0, 0.0, 0.0], ("none", 2): [9.0, 9.1, 8.9], ("none", 3): [4.0, 6.0, 5.0]})
    assert (r["loss"] > 5).somewhere().verdict is PASS
    assert (r["loss"] > 5).somewhere().worst.at == "mechanism none, rate 2 Mbit/s"
    assert (r["loss"] > 5).somewhere().undecided_points == frozenset()
    assert (r["loss"] > 20).somewhere().verdict is FAIL


def test_equals_close_to_and_within_hold_for_equal_samples_and_not_for_twice_the_value() -> None:
    both = results({("plain", 1): [1.0, 1.1, 0.9], ("none", 1): [1.0, 1.1, 0.9]})
    plain, none = both.where(mechanism="plain")["loss"], both.where(mechanism="none")["loss"]
    assert plain.equals(none).verdict is PASS
    assert plain.equals(2 * none).verdict is FAIL
    assert plain.close_to(none, relative=0.1).verdict is PASS
    assert (2 * plain).close_to(none, relative=0.1).verdict is FAIL
    assert plain.within(0, 2).verdict is PASS


def test_intervals_of_non_negative_quantities_end_at_zero() -> None:
    assert (one([0.0, 0.0, 1.0])["loss"] >= 0).worst.measured.lo == 0


def test_undecided_is_null_in_quick_and_not_passed_in_full() -> None:
    claim = Claim("C1", "text", "source", one([1.0, 9.0, 5.0])["loss"] <= 5)
    quick, full = claim.as_json("quick"), claim.as_json("full")
    assert (quick["pass"], full["pass"]) == (None, False)
    assert quick["verdict"] == full["verdict"] == "undecided"
    assert "undecided after 3 replications" in str(quick["why"])


@pytest.mark.parametrize(
    ("values", "word"),
    [([1.0, 1.1, 0.9], "reproduced"), ([9.0, 9.1, 8.9], "not reproduced"), ([1.0, 9.0, 5.0], "undecided")],
)
def test_an_unasserted_claim_is_judged_by_its_interval_and_its_pass_is_null(values: list[float], word: str) -> None:
    claim = Claim.unasserted("C1", "text", "source", one(values)["loss"] <= 5, "hosts are not known")
    for profile in ("quick", "full"):
        found = claim.as_json(profile)  # type: ignore[arg-type]
        assert (found["pass"], found["verdict"]) == (None, word)
        assert "hosts are not known" in str(found["why"])


def test_a_calibrated_claim_keeps_its_word_and_states_whether_it_holds() -> None:
    claim = Claim.calibrated("C1", "text", "source", one([9.0, 9.1, 8.9])["loss"] <= 5, "ring chosen afterwards")
    found = claim.as_json("full")
    assert (found["pass"], found["verdict"]) == (None, "calibrated")
    assert found["why"] == "ring chosen afterwards; as calibrated, it does not hold"


def test_a_claim_over_several_points_shows_all_of_them() -> None:
    r = results({("plain", 1): [1.0, 1.1, 0.9], ("plain", 2): [9.0, 9.1, 8.9]})
    found = Claim("C1", "text", "source", r["loss"] <= 5).as_json("quick")
    assert found["verdict"] == "not reproduced"
    assert [check["pass"] for check in found["checks"]] == [True, False]  # type: ignore[index, attr-defined]


def test_a_comparison_is_null_and_says_why() -> None:
    claim = Claim.comparison("C1", "text", "source", one([1.0, 9.0, 5.0])["loss"], "another choice")
    found = claim.as_json("full")
    assert (found["pass"], found["why"], found["verdict"]) == (None, "another choice", "comparison")
    assert set(found["measured"]) == {"mean", "lo", "hi", "n", "unit"}  # type: ignore[call-overload]


def test_a_condition_is_not_a_truth_value() -> None:
    quantity = one([1.0, 2.0])["loss"]
    with pytest.raises(TypeError, match="within"):
        _ = 0 < quantity < 5


def test_unknown_axes_metrics_and_points_are_refused() -> None:
    r = results({("none", 1): [1.0], ("plain", 2): [1.0]})
    with pytest.raises(ValueError, match="no point in common"):
        _ = r.where(mechanism="none")["loss"] <= r.where(mechanism="plain")["loss"]
    with pytest.raises(KeyError, match="no axis"):
        r.where(speed=1)
    with pytest.raises(KeyError, match="no axis"):
        r["loss"].axis("speed")
    with pytest.raises(KeyError, match="does not measure"):
        _ = r["delay"]
    with pytest.raises(KeyError, match="no point"):
        r.where(rate=7)


def test_a_quantity_of_one_point_can_be_compared_with_many() -> None:
    r = results({("none", 1): [1.0, 1.1], ("plain", 1): [2.0, 2.1], ("plain", 2): [3.0, 3.1]})
    baseline = r.where(mechanism="none", rate=1)["loss"]
    condition: Condition = r.where(mechanism="plain")["loss"] >= baseline
    assert (condition.verdict, len(condition.checks)) == (PASS, 2)


def test_missing_replications_leave_a_claim_undecided() -> None:
    r = results({("none", 1): [0.0, 0.0, 0.0], ("none", 2): []})
    assert (r["loss"] <= 5).verdict is UNDECIDED
    assert r["loss"].is_zero().verdict is UNDECIDED
