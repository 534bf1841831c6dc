"""Adaptive replication: rounds of runs that add replications until the confidence intervals are narrow enough."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from typing import Generic, TypeVar

__all__ = ["Replicated", "grown"]

Unit = TypeVar("Unit")

_GROWTH = 1.5
"""Growth of the number of replications from one round to the next.

Each round tests the intervals once. With few tests, the coverage of the final intervals stays near the confidence
level.
"""


def grown(count: int, upper: int) -> int:
    """Return the number of replications of the next round: 1.5 times `count`, at least `count` + 2, at most `upper`."""
    return min(max(count + 2, math.ceil(count * _GROWTH)), upper)


class Replicated(ABC, Generic[Unit]):
    """Work that is replicated until its intervals are narrow enough.

    A unit is the scenario of a run, a cell of a study, or a point of an experiment. Each has a number of replications
    of its own.
    """

    @property
    @abstractmethod
    def max_replications(self) -> int:
        """Upper bound of the number of replications of a unit."""

    @abstractmethod
    def count(self, unit: Unit) -> int:
        """Return the number of finished replications of a unit."""

    @abstractmethod
    def advance(self, wanted: Mapping[Unit, int]) -> bool:
        """Run replications until each unit has at least its wanted number.

        Returns `False` if the runs were interrupted or the budget is used up.
        """

    @abstractmethod
    def imprecise(self) -> Iterable[Unit]:
        """Return the units that need more replications."""

    def replicate(self, first: Mapping[Unit, int]) -> None:
        """Run rounds until no unit needs more replications, or `advance` returns `False`.

        `first` has the number of replications of each unit in the first round. Later rounds add
        replications up to at most `max_replications` per unit.
        """
        wanted = dict(first)
        while wanted and self.advance(wanted):
            growing = ((unit, self.count(unit)) for unit in self.imprecise())
            upper = self.max_replications
            wanted = {unit: grown(count, upper) for unit, count in growing if count < upper}
