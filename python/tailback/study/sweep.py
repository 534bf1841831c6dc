"""Sweeps: one call runs a study, or a scenario with axes, and returns and stores the results."""

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
"""Choice of points from the values of the axes, see `sweep`."""


def parse_axes(texts: Sequence[str]) -> tuple[dict[str, Value], dict[str, list[Value]]]:
    """Return settings for all points, from texts `path=value`, and axes of the grid, from `path=[a, b, c]`.

    A value that is a list itself is written as a list of one list: `network.buffer=[["50kB", "20kB"]]`. Raises
    UsageError if a text has no path or its list is empty, and ScenarioError if a value is nested too deeply.
    """
    fixed: dict[str, Value] = {}
    axes: dict[str, list[Value]] = {}
    for text in texts:
        path, equals, value = text.partition("=")
        if not equals or not path.strip():
            raise UsageError(
                f"`{text}` is not path=value or path=[value, ...], such as flows[data].source.rate=[1Mbit/s, 2Mbit/s]"
            )
        read = _read(value.strip())
        if isinstance(read, list):
            if not read:
                raise UsageError(f"`{text}` has an empty list; write at least one value")
            axes[path.strip()] = read
        else:
            fixed[path.strip()] = read
    return fixed, axes


def _read(text: str) -> Value:
    """Return the value of a text in TOML; otherwise a list, if it is in brackets, or the text itself as a word."""
    # Both readers below are recursive; check_depth raises ScenarioError for a value that is nested too deeply.
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
    """Run a study, or a scenario at points chosen from axes; all points share their seeds (common random numbers).

    Args:
        what: A study or the path of its file, or a scenario or the path of its file. A study states its axes, fixed
            values, mechanisms, design and stopping rule itself, so that those arguments are for a scenario only.
        axes: Values to try by path: a list, or a range such as {"from": "1Mbit/s", "to": "8Mbit/s", "steps": 4}.
        fixed: Values that all points have, by path.
        mechanisms: Settings by path for each mechanism by name; the first mechanism is compared with each other one.
        design: Choice of points: "grid" (all combinations), "list" (the first values of all axes, then the second
            ones, and so on), "random" or "latin-hypercube".
        samples: Number of points of a random or Latin-hypercube design, which requires it.
        design_seed: Seed of a random or Latin-hypercube design. Default 1.
        until: Stopping rule: adds replications at a point until an interval is narrow enough; keys of `[until]`.
        seed: Base seed; replication k runs with `seed + k`. Default: the study's or scenario's.
        replications: Minimum number of replications at each point. Default: the study's or scenario's.
        directory: Directory for all finished runs; a sweep that was stopped is resumed there. Default: no directory.
        extend: If true, `directory` may have another sweep, whose matching runs are used.
        threads: Maximum number of replications that run at the same time. Default: one per processor.
        executor: Any executor of `concurrent.futures`, or one of `tailback.run.executors`; the caller closes it.
        progress: Called repeatedly with the numbers of finished and of planned replications.

    Raises:
        ScenarioError: The study or one of its scenarios is wrong.
        UsageError: An argument for scenarios was given with a study, or a seed or number is out of range.
        OutputError: The directory is another sweep's, is in use by another process, or cannot be written.
        FailedRuns: Some runs failed; all others are in its `sweep`, and the failed ones in `sweep.failures`.
        RunError: The executor was lost; finished runs are in the directory.

    """
    if isinstance(what, str | PathLike):
        text = read_document(what)
        what = Study.load(what, text) if is_study(text) else load(what, text)
    if isinstance(what, Study):
        own = (axes, fixed, mechanisms, samples, design_seed, until)
        if any(own) or design != "grid":
            raise UsageError(
                "a study states its axes, fixed values, mechanisms, design and stopping rule itself; change them there"
            )
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
    upper = study.replications if study.until is None else max(study.replications, study.until.max_replications)
    check_seeds(study.seed, upper)
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
    """Return the study of a scenario at points chosen from axes; `document` has the other keys of a study file.

    Raises ScenarioError if a key, a path or a value is wrong.
    """
    return Study.make(base, axes or {}, set=dict(fixed or {}), **document)


def _until(until: Precision | Mapping[str, Value] | None) -> dict[str, Value] | None:
    if until is None:
        return None
    table = asdict(until) if isinstance(until, Precision) else dict(until)
    return {key.replace("_", "-"): value for key, value in table.items()}


def open_sweep(directory: str | PathLike[str]) -> Sweep:
    """Read a sweep's directory, finished or not; raises OutputError if it is not a sweep's, or is damaged."""
    return read(Path(fspath(directory)))
