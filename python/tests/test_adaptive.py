"""The loop of run, sweep and reproduce that adds replications until results are precise."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import pytest

from tailback.run.adaptive import Replicated, grown


class Units(Replicated[str]):
    """Units, each of which is precise once it has `enough` replications. Every round after the first `rounds` fails."""

    max_replications = 20  # type: ignore[assignment]

    def __init__(self, enough: Mapping[str, int], rounds: int = 99) -> None:
        self.enough = enough
        self.rounds = rounds
        self.have = dict.fromkeys(enough, 0)
        self.requested: list[dict[str, int]] = []

    def count(self, unit: str) -> int:
        return self.have[unit]

    def advance(self, wanted: Mapping[str, int]) -> bool:
        self.requested.append(dict(wanted))
        if len(self.requested) > self.rounds:
            return False
        self.have |= wanted
        return True

    def imprecise(self) -> Iterable[str]:
        return [unit for unit, enough in self.enough.items() if self.have[unit] < enough]


@pytest.mark.parametrize(("count", "most", "expected"), [(1, 99, 3), (3, 99, 5), (5, 99, 8), (8, 99, 12), (8, 10, 10)])
def test_a_round_adds_half_of_the_replications_and_at_least_two(count: int, most: int, expected: int) -> None:
    assert grown(count, most) == expected


def test_only_imprecise_units_get_more_replications_and_no_unit_exceeds_the_maximum() -> None:
    units = Units({"easy": 3, "hard": 9, "never": 1000})
    units.replicate(dict.fromkeys(units.enough, 3))
    assert units.have == {"easy": 3, "hard": 12, "never": 20}
    assert units.requested[1] == {"hard": 5, "never": 5}
    assert units.requested[-1] == {"never": 20}


def test_a_round_that_is_cut_short_is_the_last() -> None:
    units = Units({"hard": 9}, rounds=2)
    units.replicate({"hard": 3})
    assert len(units.requested) == 3
    assert units.have == {"hard": 5}


def test_without_units_there_is_no_round() -> None:
    units = Units({})
    units.replicate({})
    assert units.requested == []
