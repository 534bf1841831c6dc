"""Result of a run: replications, summary with confidence intervals, tables, figure, and run directory."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from tailback import _native
from tailback.build import engine
from tailback.results import tables
from tailback.results.coverage import Doubt, doubts, sparse
from tailback.results.formatting import headline, quantity
from tailback.results.metrics import Estimate, Measure, estimates, measures
from tailback.results.report import Report
from tailback.results.tables import TABLE_NAMES, TableName
from tailback.results.warnings import doubtful_intervals, wide_intervals
from tailback.run.plots import Plots
from tailback.scenario.warnings import ScenarioWarning, accepted

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

    from tailback.scenario import Scenario

__all__ = ["Result", "Warmup"]

State = Literal["complete", "interrupted"]
"""State of a run: `interrupted` by Ctrl-C, or `complete`."""


@dataclass(frozen=True, slots=True)
class Warmup:
    """Warm-up of a run: the measurement begins at its end."""

    method: Literal["stated", "auto"]
    """`stated` in the scenario (or the argument `warmup`), or found from a pilot run (`auto`)."""
    seconds: float | None = None
    """Length in simulated seconds; `None`: the pilot run was interrupted."""
    pilot_s: float | None = None
    """Length of the pilot run in simulated seconds; `None`: there was no complete pilot run."""

    @property
    def override_s(self) -> float | None:
        """Warm-up to pass to a run, s; `None`: the scenario states it."""
        return self.seconds if self.method == "auto" else None


_MAX_SIZE = 32_000_000
"""Total size of a result's reports as JSON, characters, above which further reports are compressed in memory.

Reports of this size take about 300 MB as Python objects.
"""


class Result:
    """Replications of one scenario. Its tables are Polars data frames; `tailback.results.tables` has their columns."""

    def __init__(self, scenario: Scenario, warmup: Warmup, confidence: float, base_seed: int) -> None:
        self.scenario = scenario
        self.warmup = warmup
        self.confidence = confidence
        """Confidence level of the intervals, 0 to 1."""
        self.base_seed = base_seed
        """Seed of replication 0; replication k has the seed `base_seed + k`."""
        self.state: State = "interrupted"
        """`complete`, or `interrupted` by Ctrl-C."""
        self.reports: list[Report] = []
        """Reports of the finished replications, in ascending order of seeds."""
        self._size = 0
        self.cpu_s = 0.0
        """Processor time of all replications, s."""
        self.is_precise: bool | None = None
        """`True` if the intervals meet `run.precision`.

        `None`: the scenario states no precision, or no round was complete.
        """

    def add(self, reports: Iterable[Report], cpu_s: float) -> None:
        """Add finished replications, which took `cpu_s` seconds of processor time together."""
        for report in reports:
            self.reports.append(report)
            self._size += report.size
            if self._size > _MAX_SIZE:
                report.pack()
        self.cpu_s += cpu_s
        for name in (*TABLE_NAMES, "_measured"):
            self.__dict__.pop(name, None)

    @property
    def title(self) -> str:
        """Title of the scenario."""
        return self.scenario.title

    @property
    def warmup_s(self) -> float:
        """End of the warm-up, simulated s; 0 without a finished replication."""
        return self.reports[0].data["warmup_s"] if self.reports else 0.0

    # Numbers.

    @property
    def seeds(self) -> list[int]:
        """Seed of each finished replication, in the order of `reports`."""
        return [report.seed for report in self.reports]

    @property
    def digest(self) -> str:
        """Hash over seeds and digests of all finished replications, after the version of the hash, `c` and a colon."""
        text = json.dumps([[report.seed, report.digest] for report in self.reports])
        return f"{_native.digest_version}c:{hashlib.sha256(text.encode()).hexdigest()[:32]}"

    @cached_property
    def _measured(self) -> list[dict[Measure, float]]:
        return [measures(report) for report in self.reports]

    def estimates(self) -> list[Estimate]:
        """Return mean and confidence interval of every metric of the summary."""
        return estimates(self._measured, self.confidence)

    def doubts(self) -> list[Doubt]:
        """Return the intervals whose replications are too short for the coverage of their level."""
        return doubts(self._measured, set[Measure]().union(*map(sparse, self.reports)))

    def summary(self) -> pl.DataFrame:
        """Return mean, interval (`lo`, `hi`) and number of replications (`n`) of each metric, in its `unit`.

        There is a row for each metric of all flows together, of each group and of each class.
        """
        import polars as pl

        rows = [estimate.as_json() for estimate in self.estimates()]
        schema = {
            **dict.fromkeys(("scope", "name", "metric"), pl.String),
            **dict.fromkeys(("mean", "lo", "hi"), pl.Float64),
            "n": pl.Int64,
            "unit": pl.String,
        }
        return pl.DataFrame(rows, schema=schema)

    @property
    def warnings(self) -> list[ScenarioWarning]:
        """Warnings about the scenario, its widest interval and doubtful ones, except those that `run.accept` names."""
        intended = accepted(self.scenario.run_config)
        wide = wide_intervals(self.estimates(), self.confidence, intended)
        return [*self.scenario.warnings, *wide, *doubtful_intervals(self.doubts(), intended)]

    # Tables.

    def table(self, name: TableName) -> pl.DataFrame:
        """Return the table of this name, computed in each call.

        The properties below, such as `flows`, keep their table until replications are added.
        """
        return tables.build(name, self.reports, self.base_seed)

    @cached_property
    def flows(self) -> pl.DataFrame:
        """One row per replication and flow."""
        return self.table("flows")

    @cached_property
    def transports(self) -> pl.DataFrame:
        """One row per replication and flow with a transport."""
        return self.table("transports")

    @cached_property
    def applications(self) -> pl.DataFrame:
        """One row per replication and group that an application drives."""
        return self.table("applications")

    @cached_property
    def classes(self) -> pl.DataFrame:
        """One row per replication and traffic class."""
        return self.table("classes")

    @cached_property
    def drops(self) -> pl.DataFrame:
        """One row per replication, flow, kind, port and reason of drops."""
        return self.table("drops")

    @cached_property
    def ports(self) -> pl.DataFrame:
        """One row per replication, output port and class."""
        return self.table("ports")

    @cached_property
    def nodes(self) -> pl.DataFrame:
        """One row per replication and node."""
        return self.table("nodes")

    @cached_property
    def transfers(self) -> pl.DataFrame:
        """One row per replication and transfer; empty without the record "transfers"."""
        return self.table("transfers")

    @cached_property
    def transport_changes(self) -> pl.DataFrame:
        """One row per replication and change of a transport; empty without the record "transport-changes"."""
        return self.table("transport_changes")

    @cached_property
    def queue_by_flow(self) -> pl.DataFrame:
        """One row per replication, sample, port and flow with waiting packets.

        Empty without the record "queue-by-flow".
        """
        return self.table("queue_by_flow")

    @cached_property
    def delays(self) -> pl.DataFrame:
        """One row per replication, class or group, and bucket of delays; empty without "delay-distribution"."""
        return self.table("delays")

    @property
    def omitted(self) -> dict[str, int]:
        """Number of rows that `run.record-limit` left out, by table, summed over replications.

        Complete tables are absent.
        """
        found = {"transfers": 0, "transport_changes": 0, "queue_by_flow": 0, "delays": 0}
        for report in self.reports:
            for name in found:
                found[name] += report.omitted(name)
        return {name: rows for name, rows in found.items() if rows}

    @cached_property
    def series(self) -> pl.DataFrame:
        """One row per replication, instant and sampled quantity; empty without `run.sample`."""
        return self.table("series")

    @cached_property
    def metrics(self) -> pl.DataFrame:
        """One row per replication and metric of the summary."""
        return self.table("metrics")

    def to_pandas(self, name: TableName = "flows") -> pd.DataFrame:
        """Return a table as a pandas data frame; raises ModuleNotFoundError without the extra `tailback[pandas]`."""
        try:
            return self.table(name).to_pandas()
        except ModuleNotFoundError as error:
            raise ModuleNotFoundError(
                f"{error.name} is missing: pip install 'tailback[pandas]', or use .{name} (Polars)", name=error.name
            ) from None

    @property
    def plot(self) -> Plots:
        """Pictures: `plot()` draws throughput, loss and delay of each group with intervals, and samples over time.

        `plot.cwnd()`, `plot.fct()` and others draw one picture for a publication. All raise UsageError without the
        extra `tailback[plot]`.
        """
        return Plots(self)

    def to_flent(self, path: str | PathLike[str], replication: int = 0) -> Path:
        """Write the samples of a replication as a data file of flent, and return its path.

        Goodputs are those of flows with the record "throughput-by-flow", or else of groups; see
        `tailback.results.flent`.

        Raises:
            UsageError: The run has no samples or no such replication, or the path does not end in `.flent.gz`.
            OutputError: The file could not be written.

        """
        from tailback.results import flent

        return flent.write(flent.document(self.series, self.title, replication=replication), path)

    # On disk.

    def manifest(self) -> dict[str, object]:
        """Return the manifest: data to repeat the run, digests of its results, and warnings."""
        return {
            "tailback": _native.version,
            "engine": engine(),
            "manifest": 1,
            "schema": self.reports[0].data["schema"] if self.reports else None,
            "state": self.state,
            "title": self.scenario.title,
            "scenario_hash": self.scenario.hash,
            "warmup": {
                "method": self.warmup.method,
                "seconds": self.warmup.seconds,
                **({} if self.warmup.pilot_s is None else {"pilot_s": self.warmup.pilot_s}),
            },
            "confidence": self.confidence,
            "precision_met": self.is_precise,
            "base_seed": self.base_seed,
            "replications": [{"seed": report.seed, "digest": report.digest} for report in self.reports],
            "digest": self.digest,
            **({"omitted": self.omitted} if self.omitted else {}),
            "warnings": [warning.as_json() for warning in self.warnings],
        }

    def write(self, directory: str | PathLike[str], *, replace: bool = False) -> Path:
        """Write the run directory and return its path; it is written completely or not at all.

        Args:
            directory: Path of the directory.
            replace: If true, an existing run directory is replaced.

        Raises:
            OutputError: The directory could not be written, or it is not empty and `replace` is false, or it is
                not empty and not a run directory.

        """
        from tailback.results.directory import write

        return write(self, directory, replace=replace)

    def __repr__(self) -> str:
        state = f"{len(self.reports)} replications, {self.state}"
        lines = [headline("Result", self.scenario.title, state), f"  {self.digest}"]
        for estimate in self.estimates():
            measure = estimate.measure
            # A mean of 0 marks is left out, since most scenarios have no marking.
            if measure.scope != "class" and (measure.metric != "marks" or estimate.interval.mean > 0):
                lines.append(f"  {measure!s:24} {quantity(estimate.interval, measure, estimate.resolution)}")
        return "\n".join(lines) + ">"

    def _repr_html_(self) -> str:
        return f"<p>{len(self.reports)} replications, {self.state}</p>{self.summary()._repr_html_()}"
