"""One call from a study, or from a scenario and axes, to stored results."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import asdict
from itertools import accumulate
from os import PathLike, fspath
from pathlib import Path
from typing import Literal, cast

from tailback.errors import UsageError
from tailback.run.executors import Backend
from tailback.run.pool import Pool, Progress
from tailback.run.simulate import check_seeds
from tailback.scenario import Precision, Scenario, Value, check_depth, load, read_document
from tailback.study.document import Study, is_study
from tailback.study.drive import drive, read
from tailback.study.results import FailedRuns, Sweep

__all__ = ["FailedRuns", "Sweep", "is_study", "open_sweep", "parse_axes", "study_of", "sweep"]

Design = Literal["grid", "list", "random", "latin-hypercube"]


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
    # Both readers below are recursive; a value that is nested too deeply is a ScenarioError.
    check_depth(max(accumulate((bracket in "[{") - (bracket in "]}") for bracket in text), default=0))
    try:
        return cast(Value, tomllib.loads(f"value = {text}")["value"])
    except tomllib.TOMLDecodeError:
        if text.startswith("[") and text.endswith("]"):
            return [_read(part.strip()) for part in text[1:-1].split(",") if part.strip()]
        return text


def sweep(
    what: Study | Scenario | str | PathLike[str],
    axes: Mapping[str, Sequence[Value] | Mapping[str, Value]] | None = None,
    *,
    fixed: Mapping[str, Value] | None = None,
    mechanisms: Mapping[str, Mapping[str, Value]] | None = None,
    design: Design = "grid",
    samples: int | None = None,
    design_seed: int | None = None,
    seed: int | None = None,
    replications: int | None = None,
    until: Precision | Mapping[str, Value] | None = None,
    directory: str | PathLike[str] | None = None,
    extend: bool = False,
    threads: int | None = None,
    executor: Executor | Backend | None = None,
    progress: Progress | None = None,
) -> Sweep:
    """Run a study, or a scenario at points chosen from axes; all share their seeds (common random numbers).

    Args:
        what: A study, the path of its file, or a scenario or its file; the next seven arguments are for a scenario.
        axes: By path, the values to try, or a range such as {"from": "1Mbit/s", "to": "8Mbit/s", "steps": 4}.
        fixed: Values that every point has, by path.
        mechanisms: Settings of each variant, by name; the others are compared with the first.
        design: Selection of the points of the axes.
        samples: Number of points of a random or Latin-hypercube design.
        design_seed: Seed of such a design.
        until: Adds replications at a point until an interval is narrow enough: keys of `[until]`.
        seed: Base seed; replication k runs with `seed + k`. Default: the study's or scenario's.
        replications: Least number of replications at each point. Default: the study's or scenario's.
        directory: Directory of all finished runs; a sweep that was stopped is resumed there.
        extend: Continue in the directory of another sweep, with its runs that are part of this one.
        threads: Number of replications at a time. Default: one per processor.
        executor: Any executor of `concurrent.futures`, or one of `tailback.run.executors`. Its owner closes it.
        progress: Called now and then with the replications done and their number.

    Raises:
        ScenarioError: The study or a scenario of it is wrong.
        OutputError: The directory cannot be used.
        FailedRuns: Some runs failed; all others are in its `sweep`, and the failed ones in `sweep.failures`.
        RunError: The executor was lost; finished runs are in the directory.

    """
    if isinstance(what, str | PathLike):
        text = read_document(what)
        what = Study.load(what, text) if is_study(text) else load(what, text)
    if isinstance(what, Study):
        own = (axes, fixed, mechanisms, samples, design_seed, until)
        if any(own) or design != "grid":
            raise UsageError("a study states its axes, mechanisms and design itself; change them there")
        study = what.with_effort(seed, replications)
    else:
        design_table: dict[str, Value | None] = {"kind": design, "samples": samples, "seed": design_seed}
        study = study_of(
            what,
            axes,
            fixed=fixed,
            design={key: value for key, value in design_table.items() if value is not None},
            mechanisms=[{"name": name, "set": dict(changes)} for name, changes in (mechanisms or {}).items()],
            until=_until(until),
            seed=seed,
            replications=replications,
        )
    most = study.replications if study.until is None else max(study.replications, study.until.max_replications)
    check_seeds(study.seed, most)
    with Pool(threads, executor) as pool:
        folder = None if directory is None else Path(fspath(directory))
        found = drive(study, pool, folder, extend=extend, progress=progress)
    if found.failures and not found.interrupted:
        raise FailedRuns(found)
    return found


def study_of(
    base: Scenario,
    axes: Mapping[str, Sequence[Value] | Mapping[str, Value]] | None = None,
    *,
    fixed: Mapping[str, Value] | None = None,
    **document: object,
) -> Study:
    """Return the study of a scenario at points chosen from axes; `document` has the other keys of a study file."""
    return Study.make(base, axes or {}, set=dict(fixed or {}), **document)


def _until(until: Precision | Mapping[str, Value] | None) -> dict[str, Value] | None:
    if until is None:
        return None
    table = asdict(until) if isinstance(until, Precision) else dict(until)
    return {key.replace("_", "-"): value for key, value in table.items()}


def open_sweep(directory: str | PathLike[str]) -> Sweep:
    """Read a sweep's directory, finished or not; raises OutputError if it is not one."""
    return read(Path(fspath(directory)))
