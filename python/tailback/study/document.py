"""A study: its axes, the design of its points, its mechanisms, and its replications with their stopping rule."""

from __future__ import annotations

import hashlib
import json
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from os import PathLike, fspath
from pathlib import Path
from typing import Any, cast

from tailback import _native
from tailback.build import engine
from tailback.errors import ScenarioError, UsageError
from tailback.laws.copies import UserFile, user_files
from tailback.results.metrics import METRICS, advice_on
from tailback.scenario import Scenario, Value, Variant, copied, load, read_document, toml_value
from tailback.scenario.warnings import ScenarioWarning
from tailback.study.design import points
from tailback.study.results import Setting
from tailback.study.warnings import before

__all__ = ["Cell", "Study", "Until", "is_study", "logarithmic"]


@dataclass(frozen=True, slots=True)
class Cell:
    """One scenario of a study: a point, with one of its mechanisms if it has any."""

    point: Setting
    """Values of the axes, without the mechanism."""
    mechanism: str | None
    """Name of the mechanism; `None`: the study has none."""
    variant: Variant
    """The base scenario with the changes of this cell."""
    hash: str
    """Hash of the cell's scenario."""
    effect: str
    """Hash of the cell's scenario without settings that have no effect."""
    user_files: tuple[UserFile, ...] = ()
    """Files with users' components that the cell's scenario names."""

    @property
    def scenario(self) -> Scenario:
        """The cell's scenario, made on access, because all scenarios of a large study do not fit into memory."""
        return self.variant.made()

    @property
    def setting(self) -> Setting:
        """The point's values by name; with a mechanism, `mechanism` is the last name."""
        return self.point if self.mechanism is None else (*self.point, ("mechanism", self.mechanism))


@dataclass(frozen=True, slots=True)
class _Change:
    """A path of the scenario with the value to be set, and the places of path and value in the study."""

    path: str
    value: Value
    path_at: str
    value_at: str


@dataclass(frozen=True, slots=True)
class Until:
    """Stopping rule of the replications of a point."""

    metric: str
    """Metric to which the rule applies, such as `goodput[data]`."""
    of_difference: bool
    """`True` if the rule applies to the difference of mechanisms, not to the metric itself."""
    relative: float
    """Target of the interval's half width as a share of the mean."""
    absolute: float
    """Target of the half width in the metric's unit."""
    max_replications: int
    """Upper bound of the replications of a point."""


class Study:
    """A checked study with its base scenario. Immutable."""

    def __init__(self, native: _native.Study, base: Scenario, *, is_file: bool = False) -> None:
        self._native = native
        self._is_file = is_file
        self.base = base
        """Base scenario, without the settings of the study."""
        self.document: dict[str, Any] = json.loads(native.to_json())
        """Study document as tables and lists."""
        config = self._config
        self.seed: int = self.document.get("seed", config["seed"])
        """Base seed: replication k of every point runs with `seed + k`."""
        self.confidence: float = self.document.get("confidence", config["confidence"])
        """Confidence level of the intervals, 0 to 1."""
        self.mechanisms: tuple[str, ...] = tuple(m["name"] for m in self.document.get("mechanisms", ()))
        """Names of the mechanisms, in the order of the study; empty: it has none."""
        self.until = self._until()
        """Stopping rule; `None`: every point has `replications` replications."""
        count: int = self.document.get("replications", config["replications"])
        self.replications = max(count, 2) if self.until else count
        """Minimum number of replications of each point."""

    @classmethod
    def load(cls, path: str | PathLike[str], text: str | None = None, *, allow_files: bool = False) -> Study:
        """Read a study file, or take `text` as its content if the file was read already.

        With `allow_files` the scenario may name files outside its folder. Raises ScenarioError with file, line and
        column if the study or its scenario is invalid, and OSError if a file cannot be read.
        """
        file = Path(fspath(path))
        text = read_document(path) if text is None else text
        native = _native.Study.from_toml(text, str(path))
        scenario = file.parent / json.loads(native.to_json())["scenario"]
        if not scenario.is_file():
            raise native.refuse("scenario", f"there is no file {scenario}", "write its path from the study's folder")
        inner = read_document(scenario)
        if is_study(inner):
            raise native.refuse("scenario", f"{scenario} is a study, not a scenario", "name its base scenario")
        return cls(native, load(scenario, inner, allow_files=allow_files), is_file=True)

    @classmethod
    def make(
        cls, base: Scenario, axes: Mapping[str, Sequence[Value] | Mapping[str, Value]], **document: object
    ) -> Study:
        """Return a study from Python values; raises ScenarioError.

        `axes` has a list of values or a table of a range by path; `document` has the other keys of a study file.
        """
        tables = [
            {"path": path, **({"range": dict(chosen)} if isinstance(chosen, Mapping) else {"values": list(chosen)})}
            for path, chosen in axes.items()
        ]
        given = {key: value for key, value in document.items() if value is not None}
        text = json.dumps(copied({"study": 1, "scenario": base.title or "scenario", "axes": tables, **given}))
        return cls(_native.Study.from_json(text), base)

    def with_effort(self, seed: int | None = None, replications: int | None = None) -> Study:
        """Return the study with another base seed or minimum number of replications; `None` keeps the study's own."""
        made = Study(self._native, self.base, is_file=self._is_file)
        if seed is not None:
            made.seed = seed
        if replications is not None:
            made.replications = max(replications, 2) if self.until else replications
        # Cells and warnings depend on neither the seed nor the number of replications.
        for name in ("cells", "warnings"):
            if name in self.__dict__:
                made.__dict__[name] = self.__dict__[name]
        return made

    @property
    def title(self) -> str:
        """The study's title, or else its scenario's."""
        return str(self.document.get("title") or self.base.title)

    @property
    def axes(self) -> tuple[str, ...]:
        """Names of the axes, in the order of the study, without the mechanism."""
        return tuple(map(_name, self.document.get("axes", ())))

    @property
    def is_drawn(self) -> bool:
        """`True` if the points are drawn at random and not combined from values."""
        return self.document["design"]["kind"] in ("random", "latin-hypercube")

    @cached_property
    def cells(self) -> tuple[Cell, ...]:
        """All scenarios of the study, checked. A point that was drawn twice occurs once.

        Raises ScenarioError if one is invalid, and UsageError if one has an automatic warm-up.
        """
        cells: dict[Setting, Cell] = {}
        for made in self._cells():
            cells.setdefault(made.setting, made)
        return tuple(cells.values())

    def command(self, cell: Cell, seed: int) -> str:
        """Return the shell command that runs one replication of a cell alone."""
        settings = [
            word for path, value in cell.variant.changes.items() for word in ("--set", f"{path}={toml_value(value)}")
        ]
        file = self.base.file or "SCENARIO.toml"
        return shlex.join(["tailback", "run", file, *settings, "--seed", str(seed), "--reps", "1"])

    @cached_property
    def warnings(self) -> tuple[ScenarioWarning, ...]:
        """Warnings before any run: about its points, and about settings or axes that change nothing."""
        return tuple(before(self))

    def paths_of(self, name: str) -> list[str]:
        """Return the paths that an axis sets; empty for mechanisms, each of which has paths of its own."""
        return [path for axis in self.document.get("axes", ()) if _name(axis) == name for path in _paths(axis)]

    def without(self, path: str) -> Study:
        """Return the study without one of its fixed settings (`set`)."""
        document = {key: value for key, value in self.document.items() if value is not None}
        document["set"] = {key: value for key, value in document.get("set", {}).items() if key != path}
        return Study(_native.Study.from_json(json.dumps(document)), self.base)

    def amounts_to(self, other: Study) -> bool:
        """Return `True` if every point has an equal effect in another study, but some point another document."""
        others = {cell.setting: cell for cell in other.cells}
        differs = False
        try:
            for cell in self._cells():
                if cell.setting not in others or cell.effect != others[cell.setting].effect:
                    return False
                differs |= cell.hash != others[cell.setting].hash
        except (ScenarioError, UsageError):
            # Without one of the other study's settings a point may be invalid.
            return False
        return differs

    @cached_property
    def hash(self) -> str:
        """Hash of everything on which the results depend, except the build of the engine."""
        results = {key: value for key, value in self.identity.items() if key != "engine"}
        return hashlib.sha256(json.dumps(results, sort_keys=True).encode()).hexdigest()[:32]

    @cached_property
    def identity(self) -> dict[str, object]:
        """Properties that must equal those in a sweep's directory for the study to be continued there."""
        return {
            "tailback": _native.version,
            "engine": engine(),
            "scenario": self.base.hash,
            "cells": [[dict(cell.setting), cell.hash] for cell in self.cells],
            "seed": self.seed,
            "replications": self.replications,
            "until": self.document.get("until"),
            "confidence": self.confidence,
        }

    @cached_property
    def _config(self) -> Mapping[str, Any]:
        return self._change(self._fixed()).run_config

    def _fixed(self) -> list[_Change]:
        return _changes(self.document.get("set", {}), "set")

    def _cells(self) -> Iterator[Cell]:
        axes = self.document.get("axes", [])
        variants = self.document.get("mechanisms") or [None]
        for chosen in points(self.document["design"], axes):
            values = [
                _Change(path, value, f"axes[{i}].path", f"axes[{i}].{where}")
                for i, (axis, (value, where)) in enumerate(zip(axes, chosen, strict=True))
                for path in _paths(axis)
            ]
            point = tuple((_name(axis), _hashable(value)) for axis, (value, _) in zip(axes, chosen, strict=True))
            for m, variant in enumerate(variants):
                own = _changes(variant["set"], f"mechanisms[{m}].set") if variant else []
                changes = [*self._fixed(), *values, *own]
                scenario = self._change(changes)
                if scenario.run_config["warmup"] == "auto":
                    raise UsageError(
                        'a sweep needs a stated run.warmup, such as --set run.warmup=20s; "auto" is for single runs'
                    )
                own_variant = Variant(self.base, {change.path: change.value for change in changes})
                name = variant and variant["name"]
                yield Cell(point, name, own_variant, scenario.hash, scenario.effect, user_files(scenario.native))

    def _change(self, changes: Sequence[_Change]) -> Scenario:
        """Return the base scenario with values set; a ScenarioError names the place in the study file."""
        if not changes:
            return self.base
        try:
            return self.base.set({change.path: change.value for change in changes})
        except ScenarioError as error:
            if not self._is_file:
                raise
            # The text of the error has the assignment that is wrong, in the form of the command line.
            wrong = [c for c in changes if f"{c.path}={toml_value(c.value)}" in error.rendered] or list(changes[-1:])
            about_path = not error.path or error.message.startswith("unknown key")
            place = wrong[0].path_at if about_path else wrong[0].value_at
            about = f"{error.path}: " if error.path else ""
            raise self._native.refuse(place, about + error.message, error.suggestion) from None

    def _until(self) -> Until | None:
        stated = self.document.get("until")
        if stated is None:
            return None
        metric = stated["metric"].partition("[")[0]
        if metric not in METRICS:
            raise self._native.refuse("until.metric", f"there is no metric `{metric}`", advice_on(metric))
        return Until(
            stated["metric"],
            stated["of"] == "difference",
            stated["relative"],
            stated["absolute"],
            stated["max-replications"],
        )


_ROOT_KEY = re.compile(r"""^[ \t]*["']?(study|tailback|scenario)["']?[ \t]*=""", re.MULTILINE)
_FIRST_TABLE = re.compile(r"^[ \t]*\[", re.MULTILINE)


def is_study(text: str) -> bool:
    """Return `True` if a text is a study: it has the key `study` or `scenario`, and not the key `tailback`.

    Only the keys before the first table are tested, by their form, so that a text that is not valid TOML is recognised.
    """
    table = _FIRST_TABLE.search(text)
    keys = set(_ROOT_KEY.findall(text[: table.start()] if table else text))
    return "tailback" not in keys and bool(keys & {"study", "scenario"})


def logarithmic(document: Mapping[str, Any]) -> frozenset[str]:
    """Return the names of the axes of a study document whose range has `scale = "log"`."""
    axes = (axis for axis in document.get("axes", ()) if axis.get("range", {}).get("scale") == "log")
    return frozenset(map(_name, axes))


def _changes(table: Mapping[str, Value], at: str) -> list[_Change]:
    return [_Change(path, value, f'{at}["{path}"]', f'{at}["{path}"]') for path, value in table.items()]


def _paths(axis: Mapping[str, Any]) -> list[str]:
    path = axis["path"]
    return [path] if isinstance(path, str) else list(path)


def _name(axis: Mapping[str, Any]) -> str:
    return str(axis.get("name") or _paths(axis)[0])


def _hashable(value: Value) -> Value:
    """Return a table or a list as text, which is hashable; other values as they are."""
    return value if isinstance(value, str | int | float) else toml_value(cast(Value, value))
