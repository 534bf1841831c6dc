"""What an experiment states: its points, how each changes the scenario, what is measured, and how long."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib import resources
from itertools import product
from typing import TYPE_CHECKING, ClassVar, Literal

from tailback.results.report import Report
from tailback.scenario import Scenario, Value
from tailback.scenario.warnings import ScenarioWarning, gather

if TYPE_CHECKING:
    from tailback.plotting.experiment import Figure
    from tailback.study.experiment.claims import Claim
    from tailback.study.experiment.metrics import Metric
    from tailback.study.experiment.results import Results

__all__ = ["Axis", "AxisValue", "Experiment", "Point", "Profile", "ProfileName", "Settings", "grid"]

AxisValue = str | int | float
Settings = dict[str, Value]
"""Paths in the scenario document with the values they take, as in `--set`."""
ProfileName = Literal["quick", "full"]

HOPS_PER_CPU_S = 5e6
"""Packet-hops that one processor second counts for in a budget.

Budgets are declared in seconds but kept in packet-hops, so that a slow machine and a fast one end with the same
replications and the same report.
"""


@dataclass(frozen=True, slots=True)
class Axis:
    """One parameter that an experiment varies."""

    name: str
    label: str
    """For the figure's axis, such as "mean burst size"."""
    unit: str = ""

    def text(self, value: AxisValue) -> str:
        """Return a value with its unit."""
        shown = f"{value:g}" if isinstance(value, float) else str(value)
        return f"{shown} {self.unit}".rstrip()

    @property
    def title(self) -> str:
        """Label and unit, for a figure."""
        return f"{self.label} ({self.unit})" if self.unit else self.label


class Point(Mapping[str, AxisValue]):
    """One combination of the axes' values. Immutable; equal points are the same point."""

    __slots__ = ("_hash", "_values")

    def __init__(self, **values: AxisValue) -> None:
        self._values = values
        self._hash = hash(tuple(sorted(values.items(), key=lambda item: item[0])))

    def __getitem__(self, name: str) -> AxisValue:
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __reduce__(self) -> tuple[object, ...]:
        """Travel to another process by value: hashes of texts differ from one to the next."""
        return _point, (self._values,)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Point) and self._values == other._values

    def __hash__(self) -> int:
        return self._hash

    def __repr__(self) -> str:
        return "Point(" + ", ".join(f"{name}={value!r}" for name, value in self._values.items()) + ")"


def _point(values: dict[str, AxisValue]) -> Point:
    return Point(**values)


def grid(**axes: Iterable[AxisValue]) -> list[Point]:
    """Return every combination of the given values."""
    lists = [list(values) for values in axes.values()]
    return [Point(**dict(zip(axes, values, strict=True))) for values in product(*lists)]


@dataclass(frozen=True, slots=True)
class Profile:
    """How much effort an experiment takes."""

    duration: str
    """Length of one run, warm-up included, such as "60s"."""
    warmup: str
    """The part of it that is not measured."""
    replications: int = 3
    """At every point, at least 3."""
    max_replications: int = 24
    """At any point, however undecided a claim is."""
    cpu_s: float = 30.0
    """Budget of the whole experiment in processor seconds of `HOPS_PER_CPU_S` packet-hops each."""

    def __post_init__(self) -> None:
        if not 3 <= self.replications <= self.max_replications:
            raise ValueError("an interval needs 3 replications or more, and max_replications is no fewer")


class Experiment(ABC):
    """A base scenario, the points to run it at, and what should come out.

    Subclass it in `experiment.py` next to `scenario.toml` and `README.md`; the README of the gallery shows how.
    """

    id: ClassVar[str]
    """Such as `lan-a1`: group and number; the folder is `lan/lan_a1`."""
    title: ClassVar[str]
    reference: ClassVar[str]
    """Which pages or slides of which document this reproduces."""
    axes: ClassVar[tuple[Axis, ...]]
    quick: ClassVar[Profile]
    full: ClassVar[Profile]
    metrics: ClassVar[tuple[Metric, ...]]
    traces: ClassVar[Mapping[str, Callable[[Report], object]]] = {}
    """Things to keep of the first replication at each point, such as a time series for a figure."""

    @abstractmethod
    def points(self, profile: ProfileName) -> Iterable[Point]:
        """Return the points to run; `full` may have more."""

    @abstractmethod
    def settings(self, point: Point, profile: ProfileName) -> Settings:
        """Return what this point changes in the base scenario."""

    @abstractmethod
    def claims(self, results: Results) -> Iterable[Claim]:
        """Return the claims; called again whenever replications have been added."""

    @abstractmethod
    def figures(self, results: Results) -> Iterable[Figure]:
        """Return the figures; called once, at the end."""

    def scenario(self, point: Point) -> str:
        """Return which file of the folder is the base of a point."""
        del point
        return "scenario.toml"

    # What follows is the same for all experiments.

    def __reduce__(self) -> tuple[object, ...]:
        """Travel to another process by name: an experiment has no state of its own."""
        return type(self), ()

    @property
    def group(self) -> str:
        """The part of the id before the first hyphen."""
        return self.id.split("-", 1)[0]

    def profile(self, name: ProfileName) -> Profile:
        """Return one of the two profiles."""
        return self.quick if name == "quick" else self.full

    def axis(self, name: str) -> Axis:
        """Return an axis by its name."""
        return next(axis for axis in self.axes if axis.name == name)

    def describe(self, point: Mapping[str, AxisValue]) -> str:
        """Return a point in words, such as "rate 3 Mbit/s, burst 48 kB"."""
        return ", ".join(f"{name} {self.axis(name).text(value)}" for name, value in point.items())

    def read(self, name: str) -> str:
        """Read a file of the experiment's folder."""
        package = type(self).__module__.rpartition(".")[0]
        return resources.files(package).joinpath(name).read_text(encoding="utf-8")

    @cached_property
    def _bases(self) -> dict[str, Scenario]:
        return {}

    def base(self, name: str = "scenario.toml") -> Scenario:
        """Return a base scenario of the folder."""
        if name not in self._bases:
            self._bases[name] = Scenario.from_toml(self.read(name), f"{self.id}/{name}")
        return self._bases[name]

    def at(self, point: Point, profile: ProfileName) -> Scenario:
        """Return the scenario of a point: base, then the profile's length, then the point's settings."""
        effort = self.profile(profile)
        length: Settings = {"run.duration": effort.duration, "run.warmup": effort.warmup}
        return self.base(self.scenario(point)).set(length | self.settings(point, profile))

    def warnings(self, profile: ProfileName) -> list[ScenarioWarning]:
        """Return what looks wrong in the scenarios of all points and is not accepted there."""
        return gather([self.at(point, profile).warnings for point in self.points(profile)], f"points of {self.id}")
