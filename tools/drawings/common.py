"""Shared parts of figures: small scenarios, their measurement, and the register of figures."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tailback import Scenario, run, source, tcp
from tailback.plotting import plot
from tailback.results.intervals import Interval, mean_interval
from tailback.results.report import Report
from tailback.results.rows import SeriesData
from tailback.scenario import Table

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

DOCS = Path(__file__).resolve().parent.parent.parent / "docs"
CONFIDENCE = 0.95
BLUE, RED, GREEN, PINK, ORANGE, SKY, BLACK, BROWN = plot.COLOURS

Draw = Callable[[], "Figure"]
FIGURES: dict[str, Draw] = {}
SLOW = frozenset(
    {
        *("applications", "bbr", "cubic", "drop-head", "ered", "fair-queueing", "headroom-needed", "merging"),
        *("per-class", "per-destination", "plot-of-a-run", "priority-flow-control", "qcn", "red-pd", "rem"),
        *("reservation", "rio", "saturation", "sfb", "shared-memory", "subtcp", "sweep-map", "traffic", "watermark"),
    }
)
"""Figures that take more than a quarter of a processor second each, 31 s together; the others take 6 s together."""


def figure(draw: Draw) -> Draw:
    """Register a drawing under its function's name."""
    FIGURES[draw.__name__.replace("_", "-")] = draw
    return draw


def merge(scope: str, **run_options: str) -> Scenario:
    """Three hosts, each behind a 500 kB switch, merge at a 50 kB switch: docs/examples/merge.toml."""
    links = [(["h*", "edge*"], "10Mbit/s"), (["edge*", "core"], "10Mbit/s"), (["core", "d"], "10Mbit/s")]
    scenario = (
        Scenario(duration="60s", warmup="5s")
        .host("h", count=3)
        .host("d")
        .switch("edge", count=3, buffer="500kB")
        .switch("core", buffer="50kB")
        .flow("data", "h*", "d", source("uniform-uniform", burst="24kB", rate="3Mbit/s"))
        .backpressure(scope=scope)
    )
    for between, rate in links:
        scenario = scenario.link(between, rate=rate)
    return scenario.set(**run_options) if run_options else scenario


def first(scenario: Scenario) -> Report:
    """Return the first replication's report."""
    return run(scenario, replications=1).reports[0]


def series(report: Report) -> SeriesData:
    """Return a report's time series; the scenario must have `run.sample`."""
    found = report.data["series"]
    assert found is not None, "the scenario samples"
    return found


def queue_kb(found: SeriesData, *ports: str) -> list[float]:
    """Return the bytes waiting at some ports together, in kB."""
    return [sum(values) / 1e3 for values in zip(*(found["ports"][port]["queue_bytes"] for port in ports), strict=True)]


def between(found: SeriesData, start: float, end: float, values: Sequence[float]) -> tuple[list[float], list[float]]:
    """Return the instants in milliseconds after `start` and the values, from `start` to `end` in seconds."""
    kept = [(1e3 * (t - start), v) for t, v in zip(found["time_s"], values, strict=True) if start <= t <= end]
    return [t for t, _ in kept], [v for _, v in kept]


def shade(axes: Axes, found: SeriesData, port: str, start: float, end: float) -> None:
    """Shade the times during which a port was stopped."""
    times, stopped = between(found, start, end, [float(value) for value in found["ports"][port]["stopped"]])
    axes.fill_between(
        times, 0, stopped, step="post", color=SKY, alpha=0.25, linewidth=0, transform=axes.get_xaxis_transform()
    )


def interval(scenario: Scenario, measure: Callable[[Report], float], replications: int = 5) -> Interval:
    """Return a measure's mean over replications."""
    return mean_interval([measure(report) for report in run(scenario, replications=replications).reports], CONFIDENCE)


def levels(axes: Axes, marks: Mapping[str, float], right: float) -> None:
    """Draw horizontal lines with their names at the right edge."""
    for name, level in marks.items():
        axes.axhline(level, color="#888888", linewidth=0.8, linestyle="--", zorder=1)
        axes.text(right, level, f" {name}", va="center", ha="left", fontsize=8, color="#555555")


def bottleneck(
    queue: Table,
    *,
    flood: bool = False,
    ecn: bool = False,
    average: str = "",
    state: Mapping[str, tuple[str, float]] | None = None,
) -> Figure:
    """Draw the queue of a TCP dumbbell under a discipline, and the state of its law, over 30 s.

    Eight connections send all the time. From 10 s on there are 32 more or, if `flood`, a source of 8 Mbit/s that does
    not respond; then the goodputs are shown. `average` is a state in bytes or packets that is drawn with the queue;
    `state` gives each further panel's name and factor.
    """
    connection = tcp(segment="1000B", ecn="classic" if ecn else "off")
    scenario = (
        Scenario(duration="30s", sample="50ms", framing="none", buffer="unlimited")
        .host("s", count=8)
        .host("t", count=8)
        .host("x", count=1 if flood else 32)
        .host("y", count=1 if flood else 32)
        .switch("r0", ports={"r1": {"buffer": f"{DUMBBELL_PLACES}packets", "discipline": queue}})
        .switch("r1")
        .link(["r0", "r1"], rate="10Mbit/s", delay="10ms")
        .link(["s*", "r0"], rate="100Mbit/s", delay=["9ms", "29ms"])
        .link(["x*", "r0"], rate="100Mbit/s", delay="19ms" if flood else ["9ms", "29ms"])
        .link(["r1", "t*"], rate="100Mbit/s", delay="1ms")
        .link(["r1", "y*"], rate="100Mbit/s", delay="1ms")
        .flow("tcp", "s*", "t*", source("bulk"), pair="zip", start_spread="1s", transport=connection)
    )
    if flood:
        scenario = scenario.flow("flood", "x1", "y1", source("cbr", packet="1040B", rate="8Mbit/s"), start="10s")
    else:
        scenario = scenario.flow(
            "crowd",
            "x*",
            "y*",
            source("bulk"),
            pair="zip",
            start="10s",
            start_spread="1s",
            transport=connection,
        )
    found = series(first(scenario))
    port = found["ports"]["r0->r1"]
    shown = state or {}
    rows = 1 + flood + len(shown)
    drawn = plot.new(1, rows, width=8.4, height=1.9 if rows > 1 else 2.4, sharex=True)
    times = found["time_s"]
    top, *others = drawn.axes
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


DUMBBELL_PLACES = 150
"""Waiting places at the bottleneck: twice the product of rate and round-trip time, in packets of 1040 B."""


def goodputs(axes: Axes, found: SeriesData) -> None:
    """Draw the goodput of the flood, and the mean of the eight connections, over one second each."""
    span = 20
    for name, words, share, colour in (("tcp", "a connection, mean of 8", 8, BLUE), ("flood", "the flood", 1, RED)):
        delivered = found["flows"][name]["delivered_bytes"]
        rates = [(b - a) * 8e-6 / (span * 0.05) / share for a, b in zip(delivered, delivered[span:], strict=False)]
        axes.plot(found["time_s"][span:], rates, color=colour, linewidth=1.2, label=words)
    axes.axhline(10 / 9, color="#888888", linewidth=0.8, linestyle="--", zorder=1)
    with plot.style():
        plot.finish(axes, y="goodput (Mbit/s)", y_top=2)
