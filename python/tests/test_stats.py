"""Confidence intervals of means, differences and ratios, compared with scipy and with their definitions."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from tailback.results.intervals import Interval, mean_interval, paired_differences, ratio_interval, t_quantile

values = st.floats(-1e6, 1e6).map(lambda x: round(x, 6))


@given(st.lists(values, min_size=2, max_size=40), st.sampled_from([0.9, 0.95, 0.99]))
def test_the_mean_interval_equals_that_of_scipy(data: list[float], confidence: float) -> None:
    found = mean_interval(data, confidence)
    if min(data) == max(data):
        assert found.lo == found.hi == found.mean
        return
    lo, hi = scipy_stats.t.interval(confidence, len(data) - 1, loc=sum(data) / len(data), scale=scipy_stats.sem(data))
    scale = max(abs(lo), abs(hi), 1e-6)
    assert found.lo == pytest.approx(lo, abs=1e-7 * scale)
    assert found.hi == pytest.approx(hi, abs=1e-7 * scale)


@pytest.mark.parametrize("dof", [1, 2, 3, 9, 30, 200])
@pytest.mark.parametrize("confidence", [0.5, 0.9, 0.95, 0.99, 0.999])
def test_the_t_quantile_equals_that_of_scipy(dof: int, confidence: float) -> None:
    assert t_quantile(confidence, dof) == pytest.approx(scipy_stats.t.ppf(0.5 + confidence / 2, dof), rel=1e-9)


def test_one_value_has_no_interval_which_json_writes_as_null() -> None:
    found = mean_interval([3.0], 0.99)
    assert found.as_json("ms") == {"mean": 3.0, "lo": None, "hi": None, "n": 1, "unit": "ms"}
    assert mean_interval([], 0.99).as_json("ms")["mean"] is None


def test_equal_values_have_an_interval_without_width() -> None:
    assert mean_interval([0.1] * 7, 0.99) == Interval(0.1, 0.1, 0.1, 7)


def test_differences_are_paired_by_replication_not_by_position() -> None:
    assert paired_differences({0: 5.0, 2: 7.0, 3: 1.0}, {0: 1.0, 1: 100.0, 2: 3.0}) == [4.0, 4.0]


@given(st.lists(st.tuples(st.floats(0.0, 10.0), st.floats(5.0, 10.0)), min_size=3, max_size=20))
def test_fiellers_interval_has_the_ratios_for_which_the_paired_difference_may_be_zero(
    pairs: list[tuple[float, float]],
) -> None:
    numerators = {k: round(a, 3) for k, (a, _) in enumerate(pairs)}
    denominators = {k: round(b, 3) for k, (_, b) in enumerate(pairs)}
    found = ratio_interval(numerators, denominators, 0.99)
    if found is None:
        return
    width = found.hi - found.lo
    if width < 1e-6:
        return
    for ratio, inside in [
        (found.mean, True),
        (found.lo + 0.01 * width, True),
        (found.hi - 0.01 * width, True),
        (found.lo - 0.01 * width, False),
        (found.hi + 0.01 * width, False),
    ]:
        difference = mean_interval([numerators[k] - ratio * denominators[k] for k in numerators], 0.99)
        assert (difference.lo <= 0 <= difference.hi) == inside


def test_a_ratio_whose_denominator_may_be_zero_has_no_bounded_interval() -> None:
    assert ratio_interval({0: 1.0, 1: 2.0, 2: 1.0}, {0: 0.0, 1: 5.0, 2: -1.0}, 0.99) is None
    assert ratio_interval({0: 1.0}, {0: 1.0}, 0.99) is None


def test_an_interval_is_precise_relative_to_the_mean_or_absolutely() -> None:
    assert Interval(100, 91, 109, 5).is_precise(0.1, 0.0)
    assert not Interval(100, 80, 120, 5).is_precise(0.1, 1.0)
    assert Interval(0, -0.05, 0.05, 5).is_precise(0.1, 0.1)
    assert not Interval(math.nan, -math.inf, math.inf, 0).is_precise(0.1, 0.1)
