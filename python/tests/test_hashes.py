"""The share of flows that collide in the hashes of Stochastic Fair Blue, as experiments compute it."""

from __future__ import annotations

import pytest

from tailback.gallery.internet.shared.hashes import covered, draws, formula, mean_covered

FLOWS = 400


@pytest.mark.parametrize("others", [1, 4, 8])
def test_the_mean_number_of_covered_flows_equals_that_computed_seed_by_seed(others: int) -> None:
    seeds = draws(12345, "r0->r1", 30)
    one_by_one = [len(covered(seed, range(FLOWS), range(FLOWS, FLOWS + others))) for seed in seeds]
    assert mean_covered(seeds, FLOWS, others) == sum(one_by_one) / len(seeds)


@pytest.mark.parametrize("others", [4, 8])
def test_the_mean_number_of_covered_flows_agrees_with_the_formula(others: int) -> None:
    # All flows of a draw share its hashes, so that the standard deviation over draws is 3.7 (4 others) and 8.6 flows
    # (8 others); that of the mean of 5,000 draws is 70 times smaller.
    mean = mean_covered(draws(7, "r0->r1", 5_000), FLOWS, others)
    assert mean == pytest.approx(FLOWS * formula(others), abs=3 * {4: 3.7, 8: 8.6}[others] / 70)
