"""Runs a study, and reads the directory of a sweep.

The first round runs the replications that are missing; later rounds add replications where intervals are too wide.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext, suppress
from pathlib import Path

from tailback.errors import OutputError, RunError
from tailback.results.copies import with_copied_files
from tailback.results.directory import write_file, writing
from tailback.results.intervals import mean_interval, paired_differences
from tailback.results.metrics import measures
from tailback.results.report import Report
from tailback.run.adaptive import Replicated
from tailback.run.pool import Done, Failed, Pool, Progress, Task
from tailback.scenario.warnings import ScenarioWarning
from tailback.study.document import Cell, Study, Until, logarithmic
from tailback.study.results import Failure, Run, Sweep
from tailback.study.store import Key, Store, read_manifest, read_runs
from tailback.study.warnings import after

__all__ = ["drive", "read"]


def drive(
    study: Study,
    pool: Pool,
    directory: Path | None = None,
    *,
    extend: bool = False,
    progress: Progress | None = None,
) -> Sweep:
    """Run the missing runs of a study; with a directory, store every finished run there.

    A run that fails does not stop the others; it is among the sweep's `failures`, and the next call repeats it. With
    `extend` the directory may have another sweep, whose matching runs are used. `progress` is called with the numbers
    of finished and of planned runs; both include runs that were read from the directory.

    Raises:
        OutputError: The directory is another sweep's, is in use by another process, or cannot be written.
        RunError: The executor was lost; finished runs are in the directory.
        ScenarioError: A point is not a valid scenario.
        UsageError: A point has an automatic warm-up.

    """
    # All cells are checked before the first one runs.
    cells = study.cells
    store = None if directory is None else Store(directory, study.identity, _about(study))
    if store is not None:
        store.warnings = study.warnings
    with nullcontext() if store is None else store.opened(extend=extend):
        if store is not None and any(cell.user_files for cell in cells):
            _copy(study, cells, store.directory)
        return _Drive(study, cells, pool, store, progress)()


def _copy(study: Study, cells: Sequence[Cell], directory: Path) -> None:
    """Write the base scenario and the files with users' components of all cells, so that each run can be repeated."""
    with writing(directory):
        files = (one for cell in cells for one in cell.user_files)
        write_file(directory / "scenario.toml", with_copied_files(study.base, directory, files).to_toml())


class _Drive(Replicated[int]):
    """Replications of a study; a unit is the index of a cell in `cells`."""

    def __init__(
        self, study: Study, cells: Iterable[Cell], pool: Pool, store: Store | None, progress: Progress | None
    ) -> None:
        self.study = study
        self.cells = list(cells)
        self.pool = pool
        self.store = store
        self.progress = progress
        self.runs: dict[Key, Run] = {} if store is None else store.runs
        self.failures: dict[Key, str] = {}
        self.wanted = [study.replications] * len(self.cells)
        self.interrupted = False

    def __call__(self) -> Sweep:
        self.replicate(dict(enumerate(self.wanted)))
        interrupted = self.interrupted
        found = self._sweep(interrupted)
        found.warnings = [*self.study.warnings, *([] if interrupted else after(self.study, found.runs))]
        if self.store:
            self.store.flush()
            self.store.warnings = found.warnings
            if interrupted:
                self.store.state("interrupted", failures=found.failures)
            elif found.failures:
                self.store.state("failed", counts=self.wanted, failures=found.failures)
            else:
                self.store.state("complete", found.digest, self.wanted)
        return found

    @property
    def max_replications(self) -> int:
        return 0 if self.study.until is None else self.study.until.max_replications

    def count(self, unit: int) -> int:
        return self.wanted[unit]

    def advance(self, wanted: Mapping[int, int]) -> bool:
        for index, count in wanted.items():
            self.wanted[index] = count
        if tasks := self._missing():
            self.interrupted = self._run(tasks)
        return not self.interrupted

    def imprecise(self) -> Iterable[int]:
        return [] if self.study.until is None else self._imprecise(self.study.until)

    def _missing(self) -> list[Task[Key]]:
        """Return the missing replications, those of low number first, so that all points advance together."""
        tasks: dict[Key, Task[Key]] = {}
        for k in range(max(self.wanted, default=0)):
            for cell, wanted in zip(self.cells, self.wanted, strict=True):
                key = (cell.hash, self.study.seed + k)
                if k < wanted and key not in self.runs and key not in self.failures:
                    tasks.setdefault(key, Task(key, cell.variant, key[1]))
        return list(tasks.values())

    def _run(self, tasks: list[Task[Key]]) -> bool:
        """Run tasks, and return `True` if Ctrl-C interrupted them.

        With a store, the message of a RunError states that finished runs are kept.
        """
        before = len({(c.hash, k) for c, n in zip(self.cells, self.wanted, strict=True) for k in range(n)}) - len(tasks)
        progress = self.progress
        shown = None if progress is None else (lambda done, total: progress(before + done, before + total))
        try:
            outcome = self.pool.run(tasks, keep, shown, self._add, self._note)
            if self.store:
                self.store.flush()
        except RunError as error:
            if self.store is None:
                raise
            # After any error, finished runs are written to the disk, unless that fails as well.
            with suppress(OutputError):
                self.store.flush()
            kept = f"Finished runs are in {self.store.directory}; the same command again runs the missing ones"
            raise type(error)(f"{str(error).rstrip('.')}. {kept}") from error
        return outcome.interrupted

    def _add(self, done: Done[Key, Run]) -> None:
        run = Run(done.value.seed, done.value.digest, done.value.measures, done.value.packet_hops, done.cpu_s)
        if self.store:
            self.store.add(done.key, run)
        else:
            self.runs[done.key] = run

    def _note(self, failed: Failed[Key]) -> None:
        """Record a failure; other runs continue."""
        self.failures[failed.key] = str(failed.error)

    def _imprecise(self, until: Until) -> list[int]:
        """Return the indices of the cells whose interval is too wide.

        If the stopping rule is about differences, both cells of a difference with too wide an interval are returned.

        A cell's number of replications depends only on the results of the cell, or of its point, so that a sweep that
        was stopped and resumed runs the same replications as one that was not.
        """
        found = set()
        firsts = {
            cell.point: i for i, cell in enumerate(self.cells) if cell.mechanism in (None, *self.study.mechanisms[:1])
        }
        for index, cell in enumerate(self.cells):
            values = self._values(index, until.metric)
            compared = {index}
            if until.of_difference:
                first = firsts[cell.point]
                if first == index:
                    continue
                compared.add(first)
                numbers = paired_differences(values, self._values(first, until.metric))
            else:
                numbers = list(values.values())
            # If no run has the metric, such as a delay if no packet was delivered, more replications do not help.
            interval = mean_interval(numbers, self.study.confidence)
            if numbers and not interval.is_precise(until.relative, until.absolute):
                found |= compared
        return sorted(found)

    def _values(self, index: int, metric: str) -> Mapping[int, float]:
        """Return the value of a metric by seed, in a cell's finished replications that have the metric."""
        cell = self.cells[index]
        keys = ((cell.hash, self.study.seed + k) for k in range(self.wanted[index]))
        runs = (self.runs[key] for key in keys if key in self.runs)
        rows = ((run.seed, next((v for m, v in run.measures.items() if str(m) == metric), None)) for run in runs)
        return {seed: value for seed, value in rows if value is not None}

    def _sweep(self, interrupted: bool) -> Sweep:
        keys = [
            [(cell.hash, self.study.seed + k) for k in range(wanted)]
            for cell, wanted in zip(self.cells, self.wanted, strict=True)
        ]
        imprecise = 0 if interrupted else len(list(self.imprecise()))
        names = (*self.study.axes, *(("mechanism",) if self.study.mechanisms else ()))
        return Sweep(
            names,
            self.study.confidence,
            {
                c.setting: [self.runs[k] for k in of_cell if k in self.runs]
                for c, of_cell in zip(self.cells, keys, strict=True)
            },
            interrupted,
            self.study.title,
            self.study.mechanisms,
            self.study.is_drawn,
            {cell.setting: cell.hash for cell in self.cells},
            self.store.directory if self.store else None,
            imprecise,
            self.store.notes if self.store else [],
            self.study.until.metric if self.study.until else None,
            logarithmic(self.study.document),
            [
                Failure(cell.setting, key[1], self.failures[key], self.study.command(cell, key[1]))
                for cell, of_cell in zip(self.cells, keys, strict=True)
                for key in of_cell
                if key in self.failures
            ],
        )


def keep(key: Key, report: Report) -> Run:
    """Return the part of a report that a sweep keeps."""
    del key
    return Run(report.seed, report.digest, measures(report), report.data["packet_hops"])


def _about(study: Study) -> dict[str, object]:
    """Return the entries of the manifest that a reader of the directory needs in addition to the runs."""
    return {
        "hash": study.hash,
        "title": study.title,
        "begun": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "axes": list(study.axes),
        "mechanisms": list(study.mechanisms),
        "is_drawn": study.is_drawn,
        "study": study.document,
        "scenario": json.loads(study.base.native.to_json()),
    }


def read(directory: Path) -> Sweep:
    """Read a sweep's directory, which another process may be writing, or may have left when it was killed.

    Raises OutputError if the directory is not a sweep's directory, or its manifest is damaged or contradicts the runs.
    """
    manifest = read_manifest(directory)
    runs = read_runs(directory)
    by_scenario: dict[str, list[Run]] = {}
    for (scenario, _), run in sorted(runs.runs.items()):
        by_scenario.setdefault(scenario, []).append(run)
    identity = manifest["identity"]
    cells = [(tuple(setting.items()), scenario) for setting, scenario in identity["cells"]]
    first = identity["seed"]
    # An extended directory may contain runs that are not part of its present sweep.
    counts = manifest["replications"] or [2**63] * len(cells)
    own = {
        setting: [run for run in by_scenario.get(scenario, []) if first <= run.seed < first + count]
        for (setting, scenario), count in zip(cells, counts, strict=True)
    }
    notes = [f"{path.name} is damaged and left out" for path in runs.spoilt]
    missing = sum(manifest["replications"] or ()) - sum(map(len, own.values()))
    is_whole = manifest["state"] == "complete" and missing <= 0
    if manifest["state"] == "complete" and not is_whole:
        notes.append(f"{missing} finished runs are missing from the shards; the sweep's command runs them again")
    found = Sweep(
        (*manifest["axes"], *(("mechanism",) if manifest["mechanisms"] else ())),
        identity["confidence"],
        own,
        not is_whole,
        manifest["title"],
        tuple(manifest["mechanisms"]),
        manifest["is_drawn"],
        dict(cells),
        directory,
        notes=notes,
        failures=[Failure.from_json(row) for row in manifest.get("failures") or ()],
        until=identity["until"] and identity["until"]["metric"],
        logarithmic=logarithmic(manifest.get("study", {})),
        warnings=[ScenarioWarning(**row) for row in manifest.get("warnings", ())],
    )
    if is_whole and found.digest != manifest["digest"]:
        raise OutputError(
            f"{directory} has other runs than its manifest states (digest of the runs {found.digest}, of the manifest "
            f"{manifest['digest']}); run the sweep again into another directory"
        )
    return found
