"""Studies of a system: replications with their values, kept in files to which an interrupted run is added."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from systems import LENGTHS, System

import tailback as tb
from tailback.errors import RunError
from tailback.results.intervals import Interval
from tailback.results.metrics import Measure, estimates, measures

REPLICATIONS = 10
"""Replications of a study; a study of fewer has the first of them, as a run with fewer replications would."""
FACTOR = 1000
"""Duration of a long run for the true values, as a multiple of the duration of a long study's runs."""
_LONG_RUNS = 5
_LONG_SEED = 1_000_001
"""First seed of the runs for the true values, above those of all studies."""
WARMUP_SHARE = 0.1
"""Warm-up of studies with a given one, as a share of the duration."""

Row = dict[Measure, float]
"""Measures of a replication."""


@dataclass(frozen=True)
class Setting:
    """A system with a load, a length and a warm-up: the studies of a row of the table."""

    system: System
    load: float
    length: str
    warmup: str
    """`given`, or `auto`."""

    @property
    def slug(self) -> str:
        """Name of the file of the studies."""
        name = self.system.name.lower().replace("/", "")
        return f"{name}-{self.load:g}-{self.length}-{self.warmup}.jsonl"

    def scenario(self, seed: int) -> tb.Scenario:
        """Return the scenario of the study with this seed."""
        duration = LENGTHS[self.length] * self.system.unit_s
        warmup = "auto" if self.warmup == "auto" else seconds(WARMUP_SHARE * duration)
        return self.system.scenario(self.load).set(duration=seconds(duration), warmup=warmup, seed=seed)


def seconds(value: float) -> str:
    """Return a duration in the form of a scenario, in whole nanoseconds."""
    return f"{value:.9f}s"


def seed_of(study: int) -> int:
    """Return the seed of a study, counted from 0: replication k has this seed plus k, so no two studies share one."""
    return 1 + REPLICATIONS * study


def wanted(system: System) -> list[Measure]:
    """Return the measures of a replication that are kept."""
    return [*(metric.measure for metric in system.metrics), *system.needed]


def simulate(setting: Setting, study: int) -> list[Row] | None:
    """Run a study, and return the kept measures of its replications; `None`: the run was refused (`RunError`)."""
    try:
        result = tb.run(setting.scenario(seed_of(study)), replications=REPLICATIONS, threads=1)
    except RunError:
        # With `warmup = "auto"`: no steady state was found.
        return None
    kept = wanted(setting.system)
    return [{key: row[key] for key in kept if key in row} for row in map(measures, result.reports)]


class Store:
    """File of the studies of a setting: a line that identifies the scenario, and then a line for each study."""

    def __init__(self, folder: Path, setting: Setting) -> None:
        """Open the file; one of another scenario or version is begun anew."""
        self.setting = setting
        self.path = folder / setting.slug
        self._head = json.dumps({"scenario": setting.scenario(seed_of(0)).effect, "version": tb.__version__})
        folder.mkdir(parents=True, exist_ok=True)
        text = self.path.read_text(encoding="utf-8") if self.path.exists() else ""
        # What follows the last end of a line was interrupted while it was written.
        lines = text[: text.rfind("\n") + 1].splitlines()
        self.studies: list[list[Row] | None] = []
        if not lines or lines[0] != self._head:
            lines = [self._head]
        self.studies = [self._row(line) for line in lines[1:]]
        clean = "".join(f"{line}\n" for line in lines)
        if clean != text:
            self.path.write_text(clean, encoding="utf-8")

    def _row(self, line: str) -> list[Row] | None:
        table: Mapping[str, list[float | None]] | None = json.loads(line)
        if table is None:
            return None
        keys = {str(key): key for key in wanted(self.setting.system)}
        columns = {keys[name]: values for name, values in table.items()}
        return [
            {key: value for key, values in columns.items() if (value := values[k]) is not None}
            for k in range(REPLICATIONS)
        ]

    def add(self, rows: list[Row] | None) -> None:
        """Add a study."""
        table = None
        if rows is not None:
            table = {str(key): [row.get(key) for row in rows] for key in wanted(self.setting.system)}
        with self.path.open("a", encoding="utf-8") as file:
            file.write(f"{json.dumps(table)}\n")
        self.studies.append(rows)

    def complete(self, count: int) -> Iterator[int]:
        """Run the missing ones of `count` studies, and yield the number of studies after each."""
        while len(self.studies) < count:
            self.add(simulate(self.setting, len(self.studies)))
            yield len(self.studies)


def long_runs(folder: Path, system: System, load: float) -> dict[str, Interval]:
    """Return the means over separate runs that are 1000 times as long as the long studies' runs, by metric."""
    duration = FACTOR * LENGTHS["long"] * system.unit_s
    # The transient is a millionth of this; a hundredth is left out nevertheless.
    scenario = system.scenario(load).set(duration=seconds(duration), warmup=seconds(duration / 100), seed=_LONG_SEED)
    path = folder / f"truth-{system.name.lower().replace('/', '')}-{load:g}.json"
    head = {"scenario": scenario.effect, "version": tb.__version__}
    kept = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    if kept.get("head") != head:
        reports = tb.run(scenario, replications=_LONG_RUNS, threads=1).reports
        rows = [{str(key): value for key, value in measures(report).items()} for report in reports]
        values = {metric.name: [row[str(metric.measure)] for row in rows] for metric in system.metrics}
        kept = {"head": head, "values": values}
        folder.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(kept), encoding="utf-8")
    found = {}
    for metric in system.metrics:
        [estimate] = estimates([{metric.measure: value} for value in kept["values"][metric.name]], 0.95)
        assert math.isfinite(estimate.interval.half_width)
        found[metric.name] = estimate.interval
    return found
