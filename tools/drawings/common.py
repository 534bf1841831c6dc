"""Shared parts of figures: scenarios, measurements, elements of drawings, and the register of figures."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tailback import Scenario, Study, run
from tailback.gallery.registry import EVERY, experiment, folder
from tailback.plotting import plot
from tailback.results.intervals import Interval, mean_interval
from tailback.results.report import Report
from tailback.results.rows import SeriesData
from tailback.scenario import Table, Value
from tailback.study.experiment import AxisValue, Point

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
CONFIDENCE = 0.95
"""Confidence of the intervals in figures."""
BLUE, RED, GREEN, PINK, ORANGE, SKY, BLACK, BROWN = plot.COLOURS

Draw = Callable[[], "Figure"]


@dataclass(frozen=True, slots=True)
class Drawing:
    """A figure and its sources."""

    draw: Draw
    sources: tuple[str, ...]
    """Ids of experiments, and files below `docs/examples`; empty: the figure needs no simulation."""
    slow: bool
    """`True` if the figure takes more than 0.25 processor seconds."""

    def __call__(self) -> Figure:
        """Draw the figure; raises AssertionError if the sources that it read are not `sources`."""
        _loaded.clear()
        drawn = self.draw()
        assert _loaded == set(self.sources), f"drawn from {sorted(_loaded)}, not from {sorted(self.sources)}"
        return drawn


FIGURES: dict[str, Drawing] = {}
_loaded: set[str] = set()
"""Sources that were read since the start of the current drawing."""


def figure(*sources: str, slow: bool = False) -> Callable[[Draw], Draw]:
    """Register a drawing under its function's name, with the sources that it reads by `example` and `gallery`."""

    def register(draw: Draw) -> Draw:
        FIGURES[draw.__name__.replace("_", "-")] = Drawing(draw, sources, slow)
        return draw

    return register


def path_of(source: str) -> Path:
    """Return the path of a source's scenario or study; for an experiment, that of its `scenario.toml`."""
    if source in EVERY:
        return ROOT / "python" / "tailback" / "gallery" / folder(source) / "scenario.toml"
    return DOCS / "examples" / source


def example(name: str, settings: Mapping[str, Value] | None = None) -> Scenario:
    """Return the scenario of a file below `docs/examples`, with changed settings."""
    _loaded.add(name)
    return Scenario.from_toml(path_of(name).read_text(encoding="utf-8"), name).set(settings or {})


def study(name: str) -> Study:
    """Return the study of a file below `docs/examples`."""
    _loaded.add(name)
    return Study.load(path_of(name))


def gallery(id: str, settings: Mapping[str, Value] | None = None, /, **point: AxisValue) -> Scenario:  # noqa: A002
    """Return the scenario of an experiment at a point, as in the profile `quick`, with changed settings."""
    _loaded.add(id)
    return experiment(id).at(Point(**point), "quick").set(settings or {})


def first(scenario: Scenario) -> Report:
    """Run one replication, and return its report."""
    return run(scenario, replications=1).reports[0]


def series(report: Report) -> SeriesData:
    """Return a report's time series; the scenario must have `run.sample`."""
    found = report.data["series"]
    assert found is not None, "the scenario samples"
    return found


def queue_kb(found: SeriesData, *ports: str) -> list[float]:
    """Return the samples of the queue length, kB, summed over the given ports."""
    return [sum(values) / 1e3 for values in zip(*(found["ports"][port]["queue_bytes"] for port in ports), strict=True)]


def between(found: SeriesData, start: float, end: float, values: Sequence[float]) -> tuple[list[float], list[float]]:
    """Return the sample times from `start` to `end` (both s), in ms after `start`, and the values at these times."""
    kept = [(1e3 * (t - start), v) for t, v in zip(found["time_s"], values, strict=True) if start <= t <= end]
    return [t for t, _ in kept], [v for _, v in kept]


def shade(axes: Axes, found: SeriesData, port: str, start: float, end: float) -> None:
    """Shade the times at which a port is stopped, between `start` and `end` in s; the axis is in ms after `start`."""
    times, stopped = between(found, start, end, [float(value) for value in found["ports"][port]["stopped"]])
    axes.fill_between(
        times, 0, stopped, step="post", color=SKY, alpha=0.25, linewidth=0, transform=axes.get_xaxis_transform()
    )


def observed(scenario: Scenario, id: str, names: Sequence[str], replications: int) -> list[Interval]:  # noqa: A002
    """Return the means of an experiment's observables over replications, with their intervals."""
    known = {metric.name: metric for metric in experiment(id).metrics}
    reports = run(scenario, replications=replications).reports
    return [mean_interval([known[name].value(report) for report in reports], CONFIDENCE).clipped(0) for name in names]


def interval(scenario: Scenario, measure: Callable[[Report], float], replications: int = 5) -> Interval:
    """Return the mean of `measure` over replications, with its interval."""
    return mean_interval([measure(report) for report in run(scenario, replications=replications).reports], CONFIDENCE)


def levels(axes: Axes, marks: Mapping[str, float], right: float) -> None:
    """Draw a horizontal line at each level of `marks`, with its name at the abscissa `right`."""
    for name, level in marks.items():
        axes.axhline(level, color="#888888", linewidth=0.8, linestyle="--", zorder=1)
        axes.text(right, level, f" {name}", va="center", ha="left", fontsize=8, color="#555555")


CROWD, FLOOD = "figures/crowd.toml", "figures/flood.toml"


def bottleneck(
    queue: Table,
    *,
    flood: bool = False,
    ecn: bool = False,
    average: str = "",
    state: Mapping[str, tuple[str, float]] | None = None,
) -> Figure:
    """Draw the queue of a TCP dumbbell under a discipline, and the state of the discipline, over 30 s.

    The scenario is docs/examples/figures/crowd.toml or, with `flood`, flood.toml, whose goodputs are drawn, too.
    `average` names a state in bytes or packets that is drawn with the queue. `state` has an entry for each further
    panel: name of the state, its label on the axis, and the factor by which it is multiplied.
    """
    scenario = example(FLOOD if flood else CROWD, {"switches.r0.ports.r1.discipline": queue})
    if ecn:
        scenario = scenario.set({f"flows[{name}].transport.ecn": "classic" for name in ("tcp", "crowd")})
    found = series(first(scenario))
    port = found["ports"]["r0->r1"]
    shown = state or {}
    rows = 1 + flood + len(shown)
    drawn = plot.new(1, rows, width=8.4, height=1.9 if rows > 1 else 2.4, sharex=True)
    times = found["time_s"]
    top, *others = drawn.axes
    # A packet has 1000 B of payload and 40 B of headers.
    top.plot(
        times,
        [waiting / 1040 for waiting in port["queue_bytes"]],
        color=BLUE,
        linewidth=0.8,
        label="queue" if average else None,
    )
    if average:
        scale = 1 / 1040 if average.endswith("bytes") else 1.0
        top.plot(times, [scale * v for v in port["state"][average]], color=RED, linewidth=1.2, label="average")
    with plot.style():
        plot.finish(top, y="queue (packets)", y_top=20)
    if flood:
        goodputs(others.pop(0), found)
    for axes, (name, (words, factor)) in zip(others, shown.items(), strict=True):
        axes.plot(times, [factor * v for v in port["state"][name]], color=ORANGE, linewidth=1.0)
        with plot.style():
            plot.finish(axes, y=words)
    shaded = "a source of 8 Mbit/s that does not respond" if flood else "32 more connections"
    for axes in drawn.axes:
        axes.axvspan(10, 30, color=SKY, alpha=0.15, linewidth=0)
        axes.set_xlim(0, 30)
    drawn.axes[-1].set_xlabel(f"time (s); shaded: {shaded}")
    return drawn


def goodputs(axes: Axes, found: SeriesData) -> None:
    """Draw the goodput of the flood, and the mean goodput of the eight connections, averaged over one second."""
    # 20 samples of 50 ms. The dashed line is the equal share of nine flows in 10 Mbit/s.
    span = 20
    for name, words, share, colour in (("tcp", "a connection, mean of 8", 8, BLUE), ("flood", "the flood", 1, RED)):
        delivered = found["flows"][name]["delivered_bytes"]
        rates = [(b - a) * 8e-6 / (span * 0.05) / share for a, b in zip(delivered, delivered[span:], strict=False)]
        axes.plot(found["time_s"][span:], rates, color=colour, linewidth=1.2, label=words)
    axes.axhline(10 / 9, color="#888888", linewidth=0.8, linestyle="--", zorder=1)
    with plot.style():
        plot.finish(axes, y="goodput (Mbit/s)", y_top=2)
