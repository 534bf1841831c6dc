"""A grid of settings times replications, into one Parquet file."""

from __future__ import annotations

import io
import json
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, cast

from tailback import _native
from tailback.errors import UsageError
from tailback.measures import Estimate, Measure, estimates, measures
from tailback.parallel import Pool, Progress, Task
from tailback.rundir import write_file
from tailback.running import seeds
from tailback.scenario import Scenario, Value, load, toml_value

if TYPE_CHECKING:
    import polars as pl

__all__ = ["Sweep", "parse_axes", "sweep"]

Setting = tuple[tuple[str, Value], ...]


@dataclass(frozen=True, slots=True)
class Run:
    """One replication at one point."""

    seed: int
    digest: str
    measures: Mapping[Measure, float]


@dataclass
class Sweep:
    """Every finished replication at every point of the grid."""

    paths: tuple[str, ...]
    confidence: float
    runs: dict[Setting, list[Run]]
    interrupted: bool = False

    def estimates(self) -> list[tuple[Setting, list[Estimate]]]:
        """Mean and interval of every metric at each point."""
        rows = ((point, [run.measures for run in runs]) for point, runs in self.runs.items())
        return [(point, estimates(found, self.confidence)) for point, found in rows]

    def frame(self) -> pl.DataFrame:
        """Return one row per point, replication and metric; the grid's paths are columns."""
        import polars as pl

        rows = [
            {
                **{path: value if isinstance(value, str | int | float) else toml_value(value) for path, value in point},
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
        return pl.DataFrame(rows, infer_schema_length=None)

    def write(self, path: str | PathLike[str]) -> Path:
        """Write the frame as one Parquet file; it appears complete or not at all. Raises OutputError."""
        state = "interrupted" if self.interrupted else "complete"
        about = {"version": _native.version, "state": state, "paths": list(self.paths)}
        buffer = io.BytesIO()
        self.frame().write_parquet(buffer, metadata={"tailback": json.dumps(about)})
        return write_file(path, buffer.getvalue())


def parse_axes(texts: Sequence[str]) -> tuple[dict[str, Value], dict[str, list[Value]]]:
    """Split `path=value` and `path=[a, b, c]` into settings for all points and axes of the grid.

    A value that is a list itself is written as a list of one list: `network.buffer=[["50kB", "20kB"]]`.
    """
    fixed: dict[str, Value] = {}
    axes: dict[str, list[Value]] = {}
    for text in texts:
        path, equals, value = text.partition("=")
        if not equals or not path.strip():
            raise UsageError(f"`{text}` is not path=value, such as flows[data].source.rate=[1Mbit/s, 2Mbit/s]")
        read = _read(value.strip())
        if isinstance(read, list):
            if not read:
                raise UsageError(f"`{text}` has no value to try")
            axes[path.strip()] = read
        else:
            fixed[path.strip()] = read
    return fixed, axes


def _read(text: str) -> Value:
    """Read TOML, or a list of words without quotes, or else a word."""
    try:
        return cast(Value, tomllib.loads(f"value = {text}")["value"])
    except tomllib.TOMLDecodeError:
        if text.startswith("[") and text.endswith("]"):
            return [_read(part.strip()) for part in text[1:-1].split(",") if part.strip()]
        return text


def sweep(
    scenario: Scenario | str | PathLike[str],
    axes: Mapping[str, Sequence[Value]],
    *,
    fixed: Mapping[str, Value] | None = None,
    seed: int | None = None,
    replications: int | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
) -> Sweep:
    """Run every combination of the axes' values; all points share their seeds (common random numbers)."""
    base = scenario if isinstance(scenario, Scenario) else load(scenario)
    points = [tuple(zip(axes, values, strict=True)) for values in product(*axes.values())]
    # All points are checked before the first one runs, each with the fixed values: those may make sense only together.
    scenarios = {point: base.set({**(fixed or {}), **dict(point)}) for point in points}
    config = next(iter(scenarios.values()), base).run_config
    first = cast(int, config["seed"]) if seed is None else seed
    count = cast(int, config["replications"]) if replications is None else replications
    if config["warmup"] == "auto":
        raise UsageError('a sweep needs a stated run.warmup, such as --set run.warmup=20s; "auto" is for single runs')
    tasks = [Task(point, scenarios[point].native, s) for s in seeds(first, count) for point in points]
    with Pool(threads) as pool:
        outcome = pool.run(tasks, lambda _, report: Run(report.seed, report.digest, measures(report)), progress)
    found = Sweep(tuple(axes), cast(float, config["confidence"]), {point: [] for point in points}, outcome.interrupted)
    for done in outcome.done:
        found.runs[done.key].append(done.value)
    return found
