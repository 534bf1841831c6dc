"""Results of a sweep: every finished replication at every point, with intervals, differences and tables."""

from __future__ import annotations

import hashlib
import io
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tailback import _native
from tailback.errors import RunError
from tailback.results.directory import write_file
from tailback.results.formatting import headline, html_table, quantity
from tailback.results.intervals import Interval, mean_interval, paired_differences
from tailback.results.metrics import Estimate, Measure, estimates, resolution
from tailback.scenario import Value
from tailback.scenario.quantities import quantities
from tailback.scenario.warnings import ScenarioWarning

if TYPE_CHECKING:
    import polars as pl

__all__ = ["Contrast", "FailedRuns", "Failure", "Run", "Setting", "Sweep"]

Setting = tuple[tuple[str, Value], ...]
"""Values of the axes at a point by name; with mechanisms, `mechanism` is the last name."""


@dataclass(frozen=True, slots=True)
class Run:
    """One replication at one point."""

    seed: int
    """Seed of the replication."""
    digest: str
    """Digest of its report."""
    measures: Mapping[Measure, float]
    """Values in the units of the measures."""
    packet_hops: int = 0
    """Data packets transmitted over links, counted at each link."""
    cpu_s: float = 0.0
    """Processor time, s."""


@dataclass(frozen=True, slots=True)
class Failure:
    """A replication at a point that could not be completed."""

    point: Setting
    """Point, with the mechanism if there are mechanisms."""
    seed: int
    """Seed of the replication."""
    error: str
    """Message of the error."""
    command: str
    """Shell command that repeats this run alone."""

    def __str__(self) -> str:
        """Return point, error and command in one line."""
        at = ", ".join(f"{name} = {value}" for name, value in self.point)
        return f"{f'at {at}: ' if at else ''}{self.error.rstrip('.')}. To repeat it alone: {self.command}"

    def as_json(self) -> dict[str, object]:
        """Return the JSON form, as in the manifest of a sweep."""
        return {"set": dict(self.point), "seed": self.seed, "error": self.error, "command": self.command}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Failure:
        """Return a failure from its JSON form."""
        return cls(tuple(data["set"].items()), data["seed"], data["error"], data["command"])


@dataclass(frozen=True, slots=True)
class Contrast:
    """Difference of a mechanism from the first one at a point, paired by replication."""

    point: Setting
    """Point, without a mechanism."""
    mechanism: str
    """Name of the mechanism."""
    measure: Measure
    difference: Interval
    """The mechanism's value minus that of the first mechanism, in the measure's unit."""
    resolution: float = 0.0
    """Upper bound of the error of a difference of quantiles, in the measure's unit; 0 for exact values."""

    @property
    def is_significant(self) -> bool:
        """`True` if the interval excludes zero."""
        return self.difference.lo > 0 or self.difference.hi < 0


@dataclass(repr=False)
class Sweep:
    """Every finished replication at every point of a study."""

    paths: tuple[str, ...]
    """Names of the axes; with mechanisms, `mechanism` is the last."""
    confidence: float
    """Confidence level of the intervals, 0 to 1."""
    runs: dict[Setting, list[Run]]
    """Runs by point, in the order of the study; replications in the order of their seeds."""
    interrupted: bool = False
    """`True` if Ctrl-C stopped the sweep before all runs had finished."""
    title: str = ""
    """Title of the study, or an empty text."""
    mechanisms: tuple[str, ...] = ()
    """Names of the mechanisms, of which the first one is the reference of differences."""
    is_drawn: bool = False
    """`True` if points are random draws, which are shown as clouds and not as curves."""
    hashes: Mapping[Setting, str] = field(default_factory=dict)
    """Hash of the scenario at each point."""
    directory: Path | None = None
    """Directory of the sweep; `None`: the sweep was not written."""
    imprecise: int = 0
    """Number of points that reached the maximum number of replications before `until` was met."""
    notes: list[str] = field(default_factory=list)
    """Notes for the user, such as about a shard that could not be read."""
    until: str | None = None
    """Metric of the stopping rule `until`, such as `goodput[data]`."""
    logarithmic: frozenset[str] = frozenset()
    """Names of the axes whose range has `scale = "log"`."""
    failures: list[Failure] = field(default_factory=list)
    """Replications that could not be completed; no estimate includes them."""
    warnings: list[ScenarioWarning] = field(default_factory=list)
    """Warnings about the study, and about axes that changed no result."""

    @property
    def digest(self) -> str:
        """Hash over the hashes of scenarios, seeds and digests of all runs, which is the same with any executor."""
        rows = [[self.hashes.get(at, ""), run.seed, run.digest] for at, runs in self.runs.items() for run in runs]
        return f"{_native.digest_version}s:{hashlib.sha256(json.dumps(rows).encode()).hexdigest()[:32]}"

    def estimates(self) -> list[tuple[Setting, list[Estimate]]]:
        """Return the mean and interval of every metric at each point, in the order of the study."""
        rows = ((point, [run.measures for run in runs]) for point, runs in self.runs.items())
        return [(point, estimates(found, self.confidence)) for point, found in rows]

    def interval(self, point: Setting, measure: Measure) -> Interval:
        """Return the mean and interval of one metric at one point; raises KeyError if there is no such point."""
        return mean_interval([r.measures[measure] for r in self.runs[point] if measure in r.measures], self.confidence)

    def estimate(self, point: Setting, measure: Measure) -> Estimate:
        """Return the estimate of one metric at one point: mean, interval, and the resolution of a quantile."""
        interval = self.interval(point, measure)
        # The resolution of a quantile of the delay variation depends on the means of two further metrics.
        others = (Measure(measure.scope, measure.name, name) for name in ("delay_p99", "pdv_p99"))
        means = {m: self.interval(point, m).mean for m in others if measure.metric.startswith("pdv")}
        means = {m: mean for m, mean in means.items() if not math.isnan(mean)}
        return Estimate(measure, interval, resolution(measure, {**means, measure: interval.mean}))

    def judged(self) -> Measure | None:
        """Return the metric of `until`; `None` if there is no stopping rule, or no run has the metric."""
        return next((measure for measure in self.measures() if str(measure) == self.until), None)

    def measures(self) -> list[Measure]:
        """Return the metrics that the first replication at any point has, in the order of first occurrence."""
        return list(dict.fromkeys(key for runs in self.runs.values() for run in runs[:1] for key in run.measures))

    def points(self) -> list[Setting]:
        """Return the points without their mechanisms, in the order of the study."""
        return list(dict.fromkeys(self.split(setting)[0] for setting in self.runs))

    def split(self, setting: Setting) -> tuple[Setting, str | None]:
        """Return a setting without its mechanism, and the mechanism; `None`: the study has no mechanisms."""
        return (setting[:-1], str(setting[-1][1])) if self.mechanisms else (setting, None)

    def differences(self, only: Sequence[Measure] | None = None) -> list[Contrast]:
        """Return the difference of each mechanism from the first, at each point and in each metric that both have.

        `only` has the wanted metrics; default: all. The list is empty without mechanisms.
        """
        found = []
        for point in self.points() if self.mechanisms else []:
            first, *others = ((name, self.runs.get((*point, ("mechanism", name)), [])) for name in self.mechanisms)
            for name, runs in others:
                for measure in only or self.measures():
                    values = paired_differences(_by_seed(runs, measure), _by_seed(first[1], measure))
                    if values:
                        settings = ((*point, ("mechanism", each)) for each in (name, first[0]))
                        error = sum(self.estimate(setting, measure).resolution for setting in settings)
                        found.append(Contrast(point, name, measure, mean_interval(values, self.confidence), error))
        return found

    def frame(self) -> pl.DataFrame:
        """Return one row per point, replication and metric.

        Each axis has a column of its name, with the values as they were written. An axis of quantities has a second
        column with numbers in bit/s, bytes, seconds, packets or as a ratio, whose name ends in the unit, such as
        `network.buffer_bytes` for `network.buffer`. The number is null where the value is a word, such as "unlimited".
        """
        import polars as pl

        numbers = self._numbers()
        rows = [
            {
                **dict(point),
                **{column: values.get(dict(point)[name]) for name, (column, _, values) in numbers.items()},
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
        schema = dict.fromkeys((column for column, _, _ in numbers.values()), pl.Float64)
        return pl.DataFrame(rows, infer_schema_length=None, strict=False, schema_overrides=schema)

    def _numbers(self) -> dict[str, tuple[str, str, Mapping[Value, float]]]:
        """Return (name of the column, unit, number of each value) by the name of each axis of quantities."""
        found: dict[str, tuple[str, str, Mapping[Value, float]]] = {}
        for name in self.paths:
            axis = quantities(dict(setting)[name] for setting in self.runs)
            # If an axis has the name of this column, the column is left out.
            if axis is not None and (column := f"{name}_{axis.suffix}") not in self.paths:
                found[name] = (column, axis.unit, axis.numbers)
        return found

    def write(self, path: str | PathLike[str]) -> Path:
        """Write the frame as one Parquet file, completely or not at all; raises OutputError."""
        state = "interrupted" if self.interrupted else "failed" if self.failures else "complete"
        about = {"version": _native.version, "state": state, "paths": list(self.paths), "digest": self.digest}
        buffer = io.BytesIO()
        units = json.dumps({column: unit for column, unit, _ in self._numbers().values()})
        self.frame().write_parquet(buffer, metadata={"tailback": json.dumps(about), "tailback.units": units})
        return write_file(path, buffer.getvalue())

    def report(self, path: str | PathLike[str], metrics: Sequence[str] = ()) -> Path:
        """Write the report, an HTML page with figures and tables, and next to it the form without scripts.

        `metrics` are columns of the tables besides the usual ones, such as `jain` and `goodput[data]`.

        Raises:
            UsageError: A file for browsers is not installed.
            OutputError: A file cannot be written.

        """
        from tailback.pages.document import write
        from tailback.study.page import page

        return write(page(self, metrics), path)

    def __repr__(self) -> str:
        state = "interrupted" if self.interrupted else "complete"
        if self.failures:
            state = f"{len(self.failures)} runs failed"
        counts = [len(runs) for runs in self.runs.values()]
        low, high = min(counts, default=0), max(counts, default=0)
        each = f"{low}" if low == high else f"{low} to {high}"
        of = f" for each of {len(self.mechanisms)} mechanisms" if self.mechanisms else ""
        head = headline("Sweep", self.title, f"{len(self.points())} points{of}")
        return f"{head}\n  {each} replications each, {state}\n  {self.digest}>"

    def _repr_html_(self) -> str:
        measures = self.shown()
        rows = [
            [*(str(value) for _, value in setting), *(self._cell(setting, measure) for measure in measures)]
            for setting in list(self.runs)[:_MAX_ROWS]
        ]
        cut = f", the first {_MAX_ROWS} of {len(self.runs)} rows" if len(self.runs) > _MAX_ROWS else ""
        about = f"{self.title or 'Sweep'}: means with {self.confidence:.0%} intervals{cut}"
        return html_table(about, [*self.paths, *map(str, measures)], rows)

    def shown(self, metrics: Sequence[str] = ()) -> list[Measure]:
        """Return the metrics of a short table: those of `metrics`, such as `goodput[data]`, that the sweep has.

        Default: loss, delay and throughput of all flows, and the metric of `until`.
        """
        seen = {str(measure): measure for measure in self.measures()}
        names = dict.fromkeys(metrics or [*_SHOWN, *([self.until] if self.until else [])])
        return [seen[name] for name in names if name in seen]

    def _cell(self, setting: Setting, measure: Measure) -> str:
        found = self.estimate(setting, measure)
        return quantity(found.interval, measure, found.resolution) if found.interval.n else ""


_SHOWN = ("loss", "delay", "throughput")
_MAX_ROWS = 40
"""Upper bound of the number of rows of the table in a notebook."""


class FailedRuns(RunError):
    """Error of a sweep with failed runs; `sweep` has all other runs, and `sweep.failures` the failed ones."""

    def __init__(self, sweep: Sweep) -> None:
        """Make the message from the number of failures and the first of them."""
        first, count = sweep.failures[0], len(sweep.failures)
        total = count + sum(map(len, sweep.runs.values()))
        super().__init__(f"{count} of {total} runs failed, the others are complete. The first failure: {first}")
        self.sweep = sweep


def _by_seed(runs: Sequence[Run], measure: Measure) -> dict[int, float]:
    return {run.seed: run.measures[measure] for run in runs if measure in run.measures}
