"""Results of an experiment by point and replication, also before all replications have finished."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from tailback.results.observables import Observable
from tailback.study.experiment.points import Axes, Axis, AxisValue, Point, ProfileName
from tailback.study.experiment.quantity import Key, PointValues, Quantity, Selector, matches

__all__ = ["Measured", "Results", "Sample"]


@dataclass(frozen=True, slots=True)
class Sample:
    """One replication at one point."""

    point: Point
    replication: int
    """Number of the replication, from 0."""
    seed: int
    """Seed of the replication."""
    digest: str
    """Digest of its report."""
    packet_hops: int
    """Data packets transmitted over links, counted at each link."""
    values: Mapping[str, float]
    """Value of each metric by its name, in the metric's unit; NaN: the replication has none."""
    events: Mapping[str, tuple[int, int]]
    """Number of events, and of the packets among which they were counted, by name of each metric that counts events."""
    traces: Mapping[str, object] = field(default_factory=dict)
    """Data of the experiment's `traces` by name."""
    traced: bool = False
    """`True` if `traces` is complete; only replication 0 of a point has traces."""


class Measured(Axes, Protocol):
    """An object with axes and metrics, such as an `Experiment`."""

    @property
    def axes(self) -> tuple[Axis, ...]:
        """All axes."""

    @property
    def metrics(self) -> tuple[Observable, ...]:
        """All metrics."""


class Results:
    """Measured quantities by name: `results["loss"]`, or `results.where(mechanism="plain")["loss"]` for some points."""

    def __init__(
        self,
        experiment: Measured,
        profile: ProfileName,
        samples: Mapping[Point, Sequence[Sample]],
        fixed: frozenset[str],
    ) -> None:
        """Set the samples by point; `fixed` has the names of the axes that are not free in quantities."""
        self.experiment = experiment
        self.profile: ProfileName = profile
        self.samples = samples
        self._fixed = fixed
        self._name = ""

    def where(self, **selectors: Selector) -> Results:
        """Return the results at some points; a selector is a value of its axis, a list of values, or a test of values.

        An axis with a single value as its selector is no longer free, so that quantities at two of its values can be
        compared point by point: `r.where(mechanism="plain")["loss"] <= r.where(mechanism="none")["loss"]`. Raises
        KeyError if there is no such axis or point.
        """
        unknown = selectors.keys() - {axis.name for axis in self.experiment.axes}
        if unknown:
            raise KeyError(f"{self.experiment.id} has no axis {', '.join(sorted(unknown))}")
        chosen = {
            point: samples
            for point, samples in self.samples.items()
            if all(name in point and matches(point[name], selector) for name, selector in selectors.items())
        }
        if not chosen:
            raise KeyError(f"no point of {self.experiment.id} ({self.profile}) is at {selectors}")
        single = {n: s for n, s in selectors.items() if isinstance(s, str | int | float)}
        results = Results(self.experiment, self.profile, chosen, self._fixed | single.keys())
        results._name = ", ".join(
            filter(None, [self._name, *map(str, (_short(self.experiment, n, v) for n, v in single.items()))])
        )
        return results

    def __getitem__(self, metric: str) -> Quantity:
        """Return the quantity of a metric; raises KeyError if the experiment does not measure it."""
        found = next((m for m in self.experiment.metrics if m.name == metric), None)
        if found is None:
            known = ", ".join(m.name for m in self.experiment.metrics)
            raise KeyError(f"{self.experiment.id} does not measure {metric!r}; it measures {known}")
        cells: dict[Key, PointValues] = {}
        for point, samples in self.samples.items():
            key = tuple((name, value) for name, value in point.items() if name not in self._fixed)
            values = {s.replication: v for s in samples if not math.isnan(v := s.values[metric])}
            counted = [s.events[metric] for s in samples if metric in s.events]
            events = (sum(e[0] for e in counted), sum(e[1] for e in counted)) if found.events else None
            cells[key] = PointValues(values, frozenset([point]), events)
        label = f"{found.label} [{self._name}]" if self._name else found.label
        return Quantity(self.experiment, label, found.unit, cells, found.lowest)

    def trace(self, name: str, **selectors: AxisValue) -> object:
        """Return the data of an entry of `traces`, of the first replication at the only point that matches.

        Raises KeyError if no point or several points match, or if the replication has not finished.
        """
        chosen = self.where(**selectors).samples if selectors else self.samples
        if len(chosen) != 1:
            raise KeyError(f"{len(chosen)} points of {self.experiment.id} match {selectors}; give a value per axis")
        samples = next(iter(chosen.values()))
        if not samples:
            raise KeyError(f"no replication at {selectors} has finished")
        return samples[0].traces[name]


def _short(experiment: Measured, name: str, value: AxisValue) -> str:
    """Return a fixed axis for a label: a word alone, or a number with the axis's name."""
    text = experiment.axis(name).text(value)
    return text if isinstance(value, str) else f"{name} {text}"
