"""Adaptive replication: rounds of runs, each with more replications where the intervals are still too wide."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from typing import Generic, TypeVar

__all__ = ["Replicated", "grown"]

Unit = TypeVar("Unit")

_GROWTH = 1.5
"""Factor between the replications of a round and those of the next one.

Each round tests the intervals once. Few tests keep the confidence level of a sequential test near its nominal value.
"""


def grown(count: int, most: int) -> int:
    """Return the number of replications of the next round: half as many again and at least two more, up to `most`."""
    return min(max(count + 2, math.ceil(count * _GROWTH)), most)


class Replicated(ABC, Generic[Unit]):
    """Work that is replicated until its intervals are narrow enough.

    A unit has replications of its own: the scenario of a run, a cell of a study, a point of an experiment.
    """

    @property
    @abstractmethod
    def most(self) -> int:
        """Upper bound of the replications of a unit."""

    @abstractmethod
    def count(self, unit: Unit) -> int:
        """Return the number of replications of a unit up to now."""

    @abstractmethod
    def advance(self, wanted: Mapping[Unit, int]) -> bool:
        """Run the missing ones of the wanted replications; `False` if it was interrupted or the budget is spent."""

    @abstractmethod
    def imprecise(self) -> Iterable[Unit]:
        """Return the units that need more replications."""

    def replicate(self, first: Mapping[Unit, int]) -> None:
        """Run rounds, the first with the given numbers of replications, until no unit needs more or may have more."""
        wanted = dict(first)
        while wanted and self.advance(wanted):
            growing = ((unit, self.count(unit)) for unit in self.imprecise())
            wanted = {unit: grown(count, self.most) for unit, count in growing if count < self.most}
