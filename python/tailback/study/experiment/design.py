"""Experiments: points with their settings, observables, claims, figures, and profiles (length of runs, budget)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib import resources
from typing import ClassVar

from tailback.plotting.experiment import Figure
from tailback.results.observables import Observable
from tailback.results.report import Report
from tailback.scenario import Scenario
from tailback.scenario.warnings import ScenarioWarning, gather
from tailback.study.experiment.claims import Claim
from tailback.study.experiment.points import Axis, AxisValue, Point, ProfileName, Settings
from tailback.study.experiment.results import Results

__all__ = ["HOPS_PER_CPU_S", "Experiment", "Profile"]

HOPS_PER_CPU_S = 5e6
"""Number of packet-hops that a budget counts as one second of processor time.

Budgets are written in seconds but counted in packet-hops, so that a slow and a fast machine end with the same number of
replications and the same report.
"""


@dataclass(frozen=True, slots=True)
class Profile:
    """Length of the runs, number of replications and budget of an experiment.

    Raises ValueError unless 3 <= replications <= max_replications.
    """

    duration: str
    """Length of one run, warm-up included, such as "60s"."""
    warmup: str
    """Initial part of a run that is not measured, such as "20s"."""
    replications: int = 3
    """Minimum number of replications at each point, at least 3."""
    max_replications: int = 24
    """Maximum number of replications at each point, at least `replications`."""
    cpu_s: float = 30.0
    """Budget of the whole experiment in processor seconds of `HOPS_PER_CPU_S` packet-hops each, above 0.

    The first replications of each point run even if they exceed the budget.
    """

    def __post_init__(self) -> None:
        if not 3 <= self.replications <= self.max_replications:
            raise ValueError("replications must be at least 3 and at most max_replications")


class Experiment(ABC):
    """A base scenario, its points, and the claims about the results.

    Subclass it in `experiment.py` next to `scenario.toml` and `README.md`; the README of the gallery shows how.
    """

    id: ClassVar[str]
    """Id: a group, a hyphen and a name, such as `lan-a1`; it stays when the folder is renamed."""
    title: ClassVar[str]
    """Title of the experiment, understandable by itself."""
    reference: ClassVar[str]
    """Document, with the pages or slides, that the experiment reproduces."""
    axes: ClassVar[tuple[Axis, ...]]
    """Parameters in which the points differ."""
    quick: ClassVar[Profile]
    """Profile of `--quick`."""
    full: ClassVar[Profile]
    """Profile of `--full`, which also has targets of precision."""
    metrics: ClassVar[tuple[Observable, ...]]
    """Quantities that are measured in each run, with different names."""
    traces: ClassVar[Mapping[str, Callable[[Report], object]]] = {}
    """Functions, by name, that extract data from the report of each point's first replication.

    An example is a time series for a figure.
    """

    @abstractmethod
    def points(self, profile: ProfileName) -> Iterable[Point]:
        """Return the points to run, in the order of tables and figures; `full` may have more than `quick`."""

    @abstractmethod
    def settings(self, point: Point, profile: ProfileName) -> Settings:
        """Return the settings by which a point differs from its base scenario with the profile's length of runs."""

    @abstractmethod
    def claims(self, results: Results) -> Iterable[Claim]:
        """Return the claims about the results; called again after replications have been added."""

    @abstractmethod
    def figures(self, results: Results) -> Iterable[Figure]:
        """Return the figures; called once, after the last replication."""

    def scenario(self, point: Point) -> str:
        """Return the name of the file with a point's base scenario, in the experiment's folder."""
        del point
        return "scenario.toml"

    # Subclasses do not override the members below.

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle by the name of the class, as an experiment has no state of its own."""
        return type(self), ()

    @property
    def group(self) -> str:
        """Part of the id before the first hyphen."""
        return self.id.split("-", 1)[0]

    @property
    def folder(self) -> str:
        """Name of the experiment's folder; empty for an experiment outside a package."""
        return type(self).__module__.rpartition(".")[0].rpartition(".")[2]

    def profile(self, name: ProfileName) -> Profile:
        """Return the profile `quick` or `full`."""
        return self.quick if name == "quick" else self.full

    def axis(self, name: str) -> Axis:
        """Return an axis by its name; raises KeyError if there is none."""
        found = next((axis for axis in self.axes if axis.name == name), None)
        if found is None:
            raise KeyError(f"{self.id} has no axis {name!r}; the axes are {', '.join(axis.name for axis in self.axes)}")
        return found

    def describe(self, point: Mapping[str, AxisValue]) -> str:
        """Return a point as text, such as "rate 3 Mbit/s, burst 48 kB"; raises KeyError if an axis is unknown."""
        return ", ".join(f"{name} {self.axis(name).text(value)}" for name, value in point.items())

    def read(self, name: str) -> str:
        """Return the text of a file in the experiment's folder; raises OSError if it cannot be read."""
        package = type(self).__module__.rpartition(".")[0]
        return resources.files(package).joinpath(name).read_text(encoding="utf-8")

    @cached_property
    def _bases(self) -> dict[str, Scenario]:
        return {}

    def base(self, name: str = "scenario.toml") -> Scenario:
        """Return the base scenario in a file of the experiment's folder, which is read once per process.

        Raises OSError if it cannot be read, and ScenarioError if it is invalid.
        """
        if name not in self._bases:
            self._bases[name] = Scenario.from_toml(self.read(name), f"{self.id}/{name}")
        return self._bases[name]

    def at(self, point: Point, profile: ProfileName) -> Scenario:
        """Return the scenario of a point: base, then the profile's duration and warm-up, then its settings."""
        effort = self.profile(profile)
        length: Settings = {"run.duration": effort.duration, "run.warmup": effort.warmup}
        return self.base(self.scenario(point)).set(length | self.settings(point, profile))

    def warnings(self, profile: ProfileName) -> list[ScenarioWarning]:
        """Return the warnings about the scenarios of all points, merged, without those that the scenarios accept."""
        return gather([self.at(point, profile).warnings for point in self.points(profile)], f"points of {self.id}")
