"""What came of a sweep: every finished replication at every point, with intervals, differences and tables."""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from tailback import _native
from tailback.measures import Estimate, Measure, estimates
from tailback.rundir import write_file
from tailback.scenario import Value
from tailback.stats import Interval, mean_interval, paired_differences
from tailback.warning import ScenarioWarning

if TYPE_CHECKING:
    import polars as pl

__all__ = ["Contrast", "Run", "Setting", "Sweep"]

Setting = tuple[tuple[str, Value], ...]
"""The axes' values at a point by name; with mechanisms, `mechanism` is the last name."""


@dataclass(frozen=True, slots=True)
class Run:
    """One replication at one point."""

    seed: int
    digest: str
    measures: Mapping[Measure, float]
    packet_hops: int = 0
    cpu_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Contrast:
    """How a mechanism differs from the first one at a point, paired by replication."""

    point: Setting
    mechanism: str
    measure: Measure
    difference: Interval
    """The mechanism minus the first."""

    @property
    def is_significant(self) -> bool:
        """Whether the interval excludes zero."""
        return self.difference.lo > 0 or self.difference.hi < 0


@dataclass
class Sweep:
    """Every finished replication at every point of a study."""

    paths: tuple[str, ...]
    """Names of what is varied; with mechanisms, `mechanism` is the last."""
    confidence: float
    runs: dict[Setting, list[Run]]
    """By point, in the order of the study; replications in the order of their seeds."""
    interrupted: bool = False
    title: str = ""
    mechanisms: tuple[str, ...] = ()
    is_drawn: bool = False
    """Whether points are random draws, which are shown as clouds and not as curves."""
    hashes: Mapping[Setting, str] = field(default_factory=dict)
    """Hash of the scenario at each point."""
    directory: Path | None = None
    imprecise: int = 0
    """At how many points replications ended before `until` was met."""
    notes: list[str] = field(default_factory=list)
    """What happened that the user should know, such as a shard that could not be read."""
    warnings: list[ScenarioWarning] = field(default_factory=list)
    """What looks wrong in the study, and axes that changed no result."""

    @property
    def digest(self) -> str:
        """Hash over scenarios, seeds and digests of all runs: equal for equal results, however they came about."""
        rows = [[self.hashes.get(at, ""), run.seed, run.digest] for at, runs in self.runs.items() for run in runs]
        return "tb1s:" + hashlib.sha256(json.dumps(rows).encode()).hexdigest()[:32]

    def estimates(self) -> list[tuple[Setting, list[Estimate]]]:
        """Mean and interval of every metric at each point."""
        rows = ((point, [run.measures for run in runs]) for point, runs in self.runs.items())
        return [(point, estimates(found, self.confidence)) for point, found in rows]

    def interval(self, point: Setting, measure: Measure) -> Interval:
        """Mean and interval of one metric at one point."""
        return mean_interval([r.measures[measure] for r in self.runs[point] if measure in r.measures], self.confidence)

    def measures(self) -> list[Measure]:
        """Every metric that was seen anywhere, in the order of the first point that has it."""
        return list(dict.fromkeys(key for runs in self.runs.values() for run in runs[:1] for key in run.measures))

    def points(self) -> list[Setting]:
        """The points without their mechanisms."""
        return list(dict.fromkeys(self.split(setting)[0] for setting in self.runs))

    def split(self, setting: Setting) -> tuple[Setting, str | None]:
        """Take the mechanism from a setting."""
        return (setting[:-1], str(setting[-1][1])) if self.mechanisms else (setting, None)

    def differences(self, only: Sequence[Measure] | None = None) -> list[Contrast]:
        """How each mechanism differs from the first, at each point and in each metric that both have."""
        found = []
        for point in self.points() if self.mechanisms else []:
            first, *others = ((name, self.runs.get((*point, ("mechanism", name)), [])) for name in self.mechanisms)
            for name, runs in others:
                for measure in only or self.measures():
                    values = paired_differences(_by_seed(runs, measure), _by_seed(first[1], measure))
                    if values:
                        found.append(Contrast(point, name, measure, mean_interval(values, self.confidence)))
        return found

    def frame(self) -> pl.DataFrame:
        """Return one row per point, replication and metric; the axes are columns."""
        import polars as pl

        rows = [
            {
                **dict(point),
                "seed": run.seed,
                "digest": run.digest,
                "scope": key.scope,
                "name": key.name,
                "metric": key.metric,
                "unit": key.unit,
                "value": value,
            }
            for point, runs in self.runs.items()
            for run in runs
            for key, value in run.measures.items()
        ]
        return pl.DataFrame(rows, infer_schema_length=None, strict=False)

    def write(self, path: str | PathLike[str]) -> Path:
        """Write the frame as one Parquet file; it appears complete or not at all. Raises OutputError."""
        state = "interrupted" if self.interrupted else "complete"
        about = {"version": _native.version, "state": state, "paths": list(self.paths), "digest": self.digest}
        buffer = io.BytesIO()
        self.frame().write_parquet(buffer, metadata={"tailback": json.dumps(about)})
        return write_file(path, buffer.getvalue())

    def report(self, path: str | PathLike[str]) -> Path:
        """Write the report: one HTML page with figures and tables. Raises OutputError."""
        from tailback.study.page import page

        return write_file(path, page(self))


def _by_seed(runs: Sequence[Run], measure: Measure) -> dict[int, float]:
    return {run.seed: run.measures[measure] for run in runs if measure in run.measures}
