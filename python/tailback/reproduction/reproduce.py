"""Runs experiments and writes the results: figures, samples, claims as JSON, and the report."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from tailback import _native
from tailback.pages.document import write
from tailback.plotting.experiment import Figure
from tailback.reproduction.networks import networks
from tailback.reproduction.page import Drawn, Entry, page
from tailback.reproduction.provenance import commit, provenance
from tailback.reproduction.scoreboard import Headline, headlines
from tailback.results.directory import write_file
from tailback.run.executors import Backend
from tailback.run.pool import Pool
from tailback.study.experiment.design import Experiment
from tailback.study.experiment.points import ProfileName
from tailback.study.experiment.runner import Trial, Watch, check_seed, run, verdicts, words
from tailback.study.experiment.store import Store
from tailback.web import read

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

__all__ = ["Reproduction", "reproduce"]

_UNDECIDED_OF = 20
"""With `--quick`, one in this number of asserted claims may be undecided, but at least one claim."""


@dataclass
class Reproduction:
    """Result of a reproduction."""

    profile: ProfileName
    seed: int | None = None
    """Base seed of all experiments; `None`: that of each scenario."""
    entries: list[Entry] = field(default_factory=list)
    """Results of the experiments that were run, in the order of the runs."""
    interrupted: bool = False
    """`True` if Ctrl-C stopped the reproduction before all experiments had finished."""
    report: Path | None = None
    """Path of report.html; `None`: it was not written."""

    @property
    def counts(self) -> dict[str, int]:
        """Number of asserted claims that `pass`, `fail` and are `undecided`, and of other claims (`reported`)."""
        return verdicts(entry.trial for entry in self.entries)

    @property
    def words(self) -> dict[str, int]:
        """Number of claims by result, such as `reproduced`."""
        return words(entry.trial for entry in self.entries)

    @property
    def headlines(self) -> list[Headline]:
        """Headlines of the sources with the measured values."""
        return headlines((entry.trial, entry.claims) for entry in self.entries)

    @property
    def undecided_allowed(self) -> int:
        """Permitted number of undecided claims: 0 in `full`.

        In `quick` a twentieth of the asserted claims, at least 1.
        """
        total = sum(n for kind, n in self.counts.items() if kind != "reported")
        return 0 if self.profile == "full" else max(1, total // _UNDECIDED_OF)

    @property
    def passed(self) -> bool:
        """`True` if no claim has failed and no more are undecided than allowed."""
        counts = self.counts
        return not counts["fail"] and counts["undecided"] <= self.undecided_allowed

    def as_json(self) -> dict[str, object]:
        """Return the JSON form: claims and figures of every experiment, and the summary."""
        return {
            "tailback": _native.version,
            "profile": self.profile,
            "seed": self.seed,
            "commit": commit() or None,
            "interrupted": self.interrupted,
            "passed": self.passed,
            "summary": self.counts,
            "verdicts": self.words,
            "headlines": [line.as_json() for line in self.headlines],
            "experiments": [experiment_json(entry) for entry in self.entries],
        }


def experiment_json(entry: Entry) -> dict[str, object]:
    """Return the JSON form of one experiment's claims and figures."""
    trial = entry.trial
    low, high = trial.replications
    return {
        "id": trial.experiment.id,
        "title": trial.experiment.title,
        "profile": trial.profile,
        "seed": trial.seed,
        "provenance": provenance(trial).as_json(),
        "interrupted": trial.interrupted,
        "replications": {"least": low, "most": high},
        "packet_hops": trial.packet_hops,
        "imprecise_points": trial.imprecise,
        "claims": [claim.as_json(trial.profile) for claim in entry.claims],
        "figures": [
            {
                "name": figure.name,
                "title": figure.title,
                "caption": figure.caption,
                "claims": list(figure.claims),
                "file": f"{trial.experiment.id}/{figure.name}.svg",
            }
            for figure in entry.figures
        ],
    }


def reproduce(
    experiments: Sequence[Experiment],
    profile: ProfileName = "quick",
    out: str | PathLike[str] | None = None,
    *,
    seed: int | None = None,
    threads: int | None = None,
    watch: Watch | None = None,
    finished: Callable[[Trial, int], object] | None = None,
    executor: Executor | Backend | None = None,
    groups: Mapping[str, str] | None = None,
) -> Reproduction:
    """Run experiments and, with `out`, write their figures, samples and claims, and the report.

    After Ctrl-C the results cover the finished replications, the report states that, and `interrupted` is true. With
    `full` and `out`, every finished replication is stored at once. If the function is called again after Ctrl-C, or
    after the process was killed, it resumes from the stored replications, and the results are the same.

    Args:
        experiments: Experiments to run, in this order.
        profile: Effort: "quick" or "full".
        out: Directory to write to, with a folder for each experiment. Default: nothing is written.
        seed: Base seed; replication k has the seed `seed + k` at every point. Default: that of each scenario.
        threads: Maximum number of replications that run at the same time. Default: one per processor.
        watch: Called with the current step and the numbers of finished and of planned replications; both are 0 in
            steps without replications.
        finished: Called with each finished experiment and its number, from 1.
        executor: Any executor of `concurrent.futures`, or one of `tailback.run.executors`; the caller closes it.
        groups: Titles of the groups of experiments by name, for the report.

    Raises:
        UsageError: The seed is out of range, or this installation lacks the files for browsers.
        OutputError: `out` cannot be written, or has damaged replications.
        RunError: A run failed, or the executor was lost.

    """
    found = Reproduction(profile, check_seed(seed))
    folder = None if out is None else Path(out)
    if folder is not None:
        # An error before the runs, too, if the page cannot be made.
        read("report.js")
        # The file is written first, so that an unwritable directory is an error before the runs.
        write_file(folder / "results.json", json.dumps({"profile": profile, "experiments": []}) + "\n")
    # Figures are drawn while the next experiment runs, on a single thread, since matplotlib's settings are global.
    artist = ThreadPoolExecutor(1, thread_name_prefix="tailback-figures")
    pictures: list[tuple[Entry, Future[list[Drawn]]]] = []
    try:
        with Pool(threads, executor) as pool:
            for number, experiment in enumerate(experiments, 1):
                place = f"{number} of {len(experiments)}, " if len(experiments) > 1 else ""
                with _store(folder, experiment, profile) as store:
                    trial = run(experiment, profile, pool, _within(watch, place), seed=seed, store=store)
                found.interrupted = trial.interrupted
                if any(trial.samples.values()):
                    entry = Entry(trial, trial.claims, _figures(trial) if folder else [])
                    found.entries.append(entry)
                    if folder is not None:
                        _write(entry, folder / experiment.id)
                        home = folder / experiment.id
                        made = provenance(trial)
                        about = f"{made.command}, digest {made.digest}, version {made.version}"
                        together = _together(entry.figures)
                        pictures += [(entry, artist.submit(_draw, group, home, about)) for group in together]
                if trial.interrupted:
                    break
                if finished:
                    finished(trial, number)
        if watch and pictures:
            watch("drawing figures", 0, 0)
        for entry, picture in pictures:
            entry.drawn.extend(picture.result())
            order = [figure.name for figure in entry.figures]
            entry.drawn.sort(key=lambda drawn: order.index(drawn.figure.name))
    except KeyboardInterrupt:
        found.interrupted = True
    finally:
        artist.shutdown(wait=True, cancel_futures=True)
        # The report of the finished experiments is written after an error, too.
        if folder is not None:
            found.report = write(page(found.entries, _native.version, groups or {}), folder / "report.html")
            write_file(folder / "results.json", json.dumps(found.as_json(), indent=2) + "\n")
    return found


def _store(folder: Path | None, experiment: Experiment, profile: ProfileName) -> AbstractContextManager[Store | None]:
    """Return the store of replications of `full`; those of `quick` are not stored."""
    return nullcontext() if folder is None or profile == "quick" else Store(folder / experiment.id, experiment)


def _within(watch: Watch | None, place: str) -> Watch | None:
    """Return a callback that calls `watch` with `place`, such as "2 of 5, ", before the name of each step."""
    if watch is None:
        return None
    show = watch
    return lambda what, done, total: show(f"{place}{what}", done, total)


def _figures(trial: Trial) -> list[Figure]:
    """Return the figures of the networks, then the experiment's own.

    The list is empty if the trial was interrupted, as curves could be missing.
    """
    if trial.interrupted:
        return []
    return [*networks(trial.experiment, trial.profile), *trial.experiment.figures(trial.results)]


def _together(figures: Sequence[Figure]) -> list[list[Figure]]:
    """Return groups of figures with the same y axis (`share`); each other figure is a group of its own."""
    groups: dict[str, list[Figure]] = {}
    for figure in figures:
        groups.setdefault(f"share {figure.share}" if figure.share else f"alone {figure.name}", []).append(figure)
    return list(groups.values())


def _draw(figures: Sequence[Figure], home: Path, about: str) -> list[Drawn]:
    """Draw the figures of a group, give them the same y axis if there are several, and write them."""
    from tailback.plotting import placement

    pictures = [figure.draw() for figure in figures]
    if len(pictures) > 1:
        placement.share_scale(pictures)
    return [_save(figure, picture, home, about) for figure, picture in zip(figures, pictures, strict=True)]


def _save(figure: Figure, picture: Drawing, home: Path, about: str) -> Drawn:
    from tailback.plotting import chart, placement, plot

    with plot.style():
        # A letter of the title is about a ninth of an inch wide.
        lines = textwrap.wrap(figure.title, int(9 * picture.get_figwidth()))
        picture.suptitle("\n".join(lines), x=0.01, ha="left")
        placement.settle(picture)
        # The layout is computed once, so that both files have the same.
        picture.draw_without_rendering()
        picture.set_layout_engine("none")
    write_file(home / f"{figure.name}.svg", plot.to_bytes(picture, "svg", about))
    write_file(home / f"{figure.name}.png", plot.to_bytes(picture, "png", about))
    return Drawn(figure, plot.svg_with_text(picture), chart.chart(picture))


def _write(entry: Entry, home: Path) -> None:
    _write_samples(entry.trial, home)
    write_file(home / "results.json", json.dumps(experiment_json(entry), indent=2) + "\n")


def _write_samples(trial: Trial, home: Path) -> None:
    """Write the metrics of all replications to samples.parquet, so that they can be analysed without new runs."""
    import io

    import polars as pl

    experiment = trial.experiment
    rows = [
        {
            **{axis.name: sample.point.get(axis.name) for axis in experiment.axes},
            "replication": sample.replication,
            "seed": sample.seed,
            **{f"{metric.name}": sample.values[metric.name] for metric in experiment.metrics},
            "packet_hops": sample.packet_hops,
            "digest": sample.digest,
        }
        for samples in trial.samples.values()
        for sample in samples
    ]
    units = {axis.name: axis.unit for axis in experiment.axes} | {m.name: m.unit for m in experiment.metrics}
    buffer = io.BytesIO()
    metadata = {"tailback.units": json.dumps(units), "tailback": json.dumps({"version": _native.version})}
    pl.DataFrame(rows, infer_schema_length=None).write_parquet(buffer, metadata=metadata)
    write_file(home / "samples.parquet", buffer.getvalue())
