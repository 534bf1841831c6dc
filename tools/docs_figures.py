"""Draws the figures of the documentation, each by a small experiment of its own.

    python tools/docs_figures.py              all of them, about a minute
    python tools/docs_figures.py merge video  some

The same version gives the same files: seeds are fixed, and the drawings carry no dates.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from tailback import Scenario, discipline, kind, plot, run, source, sweep, tcp
from tailback.headroom import headroom
from tailback.report import Report, SeriesData
from tailback.scenario import Table, Value
from tailback.stats import Interval, mean_interval
from tailback.study.figures import figures

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FOLDER = Path(__file__).resolve().parent.parent / "docs" / "figures"
CONFIDENCE = 0.95
BLUE, RED, GREEN, PINK, ORANGE, SKY, BLACK, BROWN = plot.COLOURS

Draw = Callable[[], "Figure"]
FIGURES: dict[str, Draw] = {}


def figure(draw: Draw) -> Draw:
    """Register a drawing under its function's name."""
    FIGURES[draw.__name__.replace("_", "-")] = draw
    return draw


# --- What several figures share ---------------------------------------------------------------------------------


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
    """Return a report's time series, which its scenario asked for."""
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
    """Draw the queue of a TCP dumbbell under a discipline, and what its law shows, over 30 s.

    Eight connections send all the time. From 10 s on there are 32 more or, if `flood`, a source of 8 Mbit/s that
    does not respond; then the goodputs are shown. `average` is a state in bytes or packets that goes with the queue;
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
    """Draw what the flood gets, and what each of the eight connections gets on average, over one second each."""
    span = 20
    for name, words, share, colour in (("tcp", "a connection, mean of 8", 8, BLUE), ("flood", "the flood", 1, RED)):
        delivered = found["flows"][name]["delivered_bytes"]
        rates = [(b - a) * 8e-6 / (span * 0.05) / share for a, b in zip(delivered, delivered[span:], strict=False)]
        axes.plot(found["time_s"][span:], rates, color=colour, linewidth=1.2, label=words)
    axes.axhline(10 / 9, color="#888888", linewidth=0.8, linestyle="--", zorder=1)
    with plot.style():
        plot.finish(axes, y="goodput (Mbit/s)", y_top=2)


def save(name: str, drawn: Figure) -> Path:
    """Write a figure."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    path = FOLDER / f"{name}.svg"
    path.write_bytes(plot.to_bytes(drawn, "svg"))
    return path


# --- The figures ------------------------------------------------------------------------------------------------


@figure
def merging() -> Figure:
    """The queues where three hosts merge, without and with back-pressure."""
    start, end = 20.0, 24.0
    drawn = plot.new(1, 2, width=8.4, height=2.2, sharex=True)
    top, bottom = drawn.axes
    upstream = ("edge1->core", "edge2->core", "edge3->core")
    for scope, words, colour in (("none", "without back-pressure", RED), ("plain", "with 802.3x", BLUE)):
        report = first(merge(scope, sample="2ms", duration="30s"))
        found = series(report)
        lost = report.dropped_packets()
        top.plot(*between(found, start, end, queue_kb(found, "core->d")), color=colour, linewidth=1.0)
        label = f"{words}: {lost} of {report.offered_packets()} packets lost in 25 s"
        bottom.plot(*between(found, start, end, queue_kb(found, *upstream)), color=colour, linewidth=1.0, label=label)
    levels(top, {"full": 50, "high": 40, "low": 35}, 1e3 * (end - start))
    with plot.style():
        plot.finish(top, y="core (kB)", y_top=55)
        plot.finish(bottom, x="time (ms)", y="three edges (kB)")
        bottom.legend(loc="upper right")
        for axes in drawn.axes:
            axes.set_xlim(0, 1e3 * (end - start))
    return drawn


@figure
def plot_of_a_run() -> Figure:
    """What `tailback plot` draws of the tutorial's run with time series."""
    text = (FOLDER.parent / "examples" / "office.toml").read_text(encoding="utf-8")
    changes = {"backpressure.scope": "plain", "run.sample": "10ms", "run.duration": "15s"}
    return run(Scenario.from_toml(text).set(changes)).plot()


@figure
def watermark() -> Figure:
    """One episode after another: a queue between its two thresholds, and the neighbour that it stops."""
    start, end = 20.0, 22.0
    found = series(first(merge("plain", sample="1ms", duration="30s")))
    congested = [t for t, q in zip(found["time_s"], queue_kb(found, "core->d"), strict=True) if t > start and q > 40]
    start = congested[0] - 0.02
    end = start + 0.16
    found = series(first(merge("plain", sample="100us", duration=f"{end + 0.01:.3f}s")))
    drawn = plot.new(1, 2, width=8.4, height=2.1, sharex=True)
    for axes, port, words in zip(drawn.axes, ("core->d", "edge2->core"), ("core to d", "edge2 to core"), strict=True):
        shade(axes, found, "edge2->core", start, end)
        axes.plot(*between(found, start, end, queue_kb(found, port)), color=BLUE, linewidth=1.2)
        with plot.style():
            plot.finish(axes, y=f"{words} (kB)")
        axes.set_xlim(0, 1e3 * (end - start))
    levels(drawn.axes[0], {"high": 40, "low": 35}, 1e3 * (end - start))
    with plot.style():
        plot.finish(drawn.axes[1], x="time (ms); shaded: edge2 has frames and is stopped", y="edge2 to core (kB)")
    return drawn


@figure
def fill_rate() -> Figure:
    """The same overload seen by the two detectors."""
    drawn = plot.new(1, 1, width=8.4, height=2.6)
    (axes,) = drawn.axes
    for name, colour in (("watermark", RED), ("fill-rate", BLUE)):
        scenario = (
            Scenario(duration="80ms", sample="50us")
            .host("h", count=2)
            .host("d")
            .switch("edge", count=2, buffer="500kB")
            .switch("core", buffer="50kB")
            .link(["h*", "edge*"], rate="20Mbit/s")
            .link(["edge*", "core"], rate="20Mbit/s")
            .link(["core", "d"], rate="10Mbit/s")
            .flow("data", "h*", "d", source("bulk", size="100kB"), start="2ms")
            .backpressure(scope="plain", detection=kind(name), response_time="2ms")
        )
        found = series(first(scenario))
        axes.plot(*between(found, 0, 0.08, queue_kb(found, "core->d")), color=colour, label=name, linewidth=1.2)
    levels(axes, {"full": 50, "high": 40, "low": 35}, 80)
    with plot.style():
        plot.finish(axes, x="time (ms)", y="core to d (kB)", y_top=55)
    axes.set_xlim(0, 80)
    return drawn


@figure
def rate_response() -> Figure:
    """What a notified neighbour sends: all or nothing, or slower."""
    drawn = plot.new(1, 2, width=8.4, height=2.1, sharex=True)
    top, bottom = drawn.axes
    responses = (("block", kind("block"), RED), ("rate", kind("rate"), BLUE))
    for name, response, colour in responses:
        scenario = (
            Scenario(duration="150ms", sample="1ms")
            .host("h", count=2)
            .host("d")
            .switch("edge", count=2, buffer="500kB")
            .switch("core", buffer="50kB")
            .link(["h*", "edge*"], rate="10Mbit/s")
            .link(["edge*", "core"], rate="10Mbit/s")
            .link(["core", "d"], rate="10Mbit/s")
            .flow("data", "h*", "d", source("cbr", packet="1500B", rate="8Mbit/s"), stop="120ms")
            .backpressure(scope="plain", response=response)
        )
        found = series(first(scenario))
        sent = found["ports"]["edge1->core"]["sent_bytes"]
        # A frame takes 1.2 ms, so a rate needs more than one sample.
        span = 10
        rates = [0.0] * span + [(b - a) * 8e-3 / span for a, b in zip(sent, sent[span:], strict=False)]
        top.plot(*between(found, 0, 0.15, queue_kb(found, "core->d")), color=colour, linewidth=1.2)
        bottom.plot(*between(found, 0, 0.15, rates), color=colour, linewidth=1.2, label=name)
    levels(top, {"high": 40, "low": 35}, 150)
    with plot.style():
        plot.finish(top, y="core to d (kB)")
        plot.finish(bottom, x="time (ms)", y="edge1 sends (Mbit/s)", legend="response")
    bottom.set_xlim(0, 150)
    return drawn


@figure
def per_class() -> Figure:
    """Video beside bursty data of a lower class: what each mechanism does to both."""
    drawn = plot.new(2, 1, width=4.3, height=3.2)
    rates = (1, 3, 5, 6, 7)
    for panel, (group, title) in enumerate((("video", "video, class 0"), ("data", "data, class 1"))):
        for index, scope in enumerate(("none", "plain", "class")):
            points = []
            for rate in rates:
                scenario = (
                    Scenario(duration="65s", warmup="5s", classes=2, buffer="50kB")
                    .host("v", count=2)
                    .host("s")
                    .host("d")
                    .switch("sw1")
                    .switch("sw2", buffer="500kB")
                    .switch("sw3")
                    .link(["v*", "sw1"], rate="100Mbit/s")
                    .link(["sw1", "sw2"], rate="100Mbit/s")
                    .link(["s", "sw2"], rate="100Mbit/s")
                    .link(["sw2", "sw3"], rate="100Mbit/s")
                    .link(["sw3", "d"], rate="10Mbit/s")
                    .flow("video", "v*", "d", source("video"), class_=0)
                    .flow("data", "s", "d", source("uniform-uniform", burst="96kB", rate=f"{rate}Mbit/s"), class_=1)
                    .backpressure(scope=scope)
                )
                points.append(interval(scenario, lambda report, g=group: 100 * report.loss(g), 8))  # type: ignore[misc]
            plot.curve(drawn.axes[panel], rates, points, label=scope, index=index)
        with plot.style():
            plot.finish(
                drawn.axes[panel], title=title, x="data rate (Mbit/s)", y="packet loss (%)", ticks=rates, legend="scope"
            )
    return drawn


@figure
def per_destination() -> Figure:
    """An innocent flow that shares a backbone with one that congests."""
    drawn = plot.new(2, 1, width=4.3, height=3.2)
    rates = (2, 4, 6, 8, 9)
    metrics = (
        ("s2", "mean delay of s2 (ms)", lambda report: 1e3 * report.mean_delay_s("s2"), "log"),
        ("s1", "packet loss of s1 (%)", lambda report: 100 * report.loss("s1"), "linear"),
    )
    for panel, (_, label, measure, scale) in enumerate(metrics):
        for index, scope in enumerate(("none", "plain", "destination")):
            points = []
            for rate in rates:
                scenario = (
                    Scenario(duration="65s", warmup="5s", buffer="50kB")
                    .host("a", count=2)
                    .host("b", count=2)
                    .switch("sw1", buffer="500kB")
                    .switch("sw2")
                    .link(["a*", "sw1"], rate="100Mbit/s")
                    .link(["sw1", "sw2"], rate="100Mbit/s")
                    .link(["sw2", "b1"], rate="10Mbit/s")
                    .link(["sw2", "b2"], rate="100Mbit/s")
                    .flow("s1", "a1", "b1", source("uniform-uniform", burst="96kB", rate=f"{rate}Mbit/s"))
                    .flow("s2", "a2", "b2", source("uniform-uniform", burst="6kB", rate="10Mbit/s"))
                    .backpressure(scope=scope)
                )
                points.append(interval(scenario, measure))
            plot.curve(drawn.axes[panel], rates, points, label=scope, index=index)
        with plot.style():
            plot.finish(
                drawn.axes[panel],
                x="rate of s1 (Mbit/s)",
                y=label,
                y_scale="log" if scale == "log" else "linear",
                ticks=rates,
                legend="scope",
            )
    return drawn


KAROL = {2: 0.75, 3: 0.6825, 4: 0.6553, 5: 0.6399, 6: 0.6302, 7: 0.6234, 8: 0.6184}
"""Saturation throughput of a synchronous N x N switch with input FIFOs (Karol, Hluchyj and Morgan 1987, table I)."""


@figure
def saturation() -> Figure:
    """Throughput of saturated switches with uniform destinations."""
    drawn = plot.new(1, 1, width=6.4, height=3.4)
    (axes,) = drawn.axes
    sizes = (2, 3, 4, 6, 8, 12, 16)
    models = (
        ("input-fifo", kind("input-fifo", buffer="10MB")),
        ("virtual-output-queues, speedup 1", kind("virtual-output-queues", buffer="10MB")),
        ("virtual-output-queues, speedup 2", kind("virtual-output-queues", buffer="10MB", speedup=2.0)),
        ("output-queued", kind("output-queued")),
    )
    for index, (name, model) in enumerate(models):
        points = []
        for size in sizes:
            scenario = (
                Scenario(duration="700ms", warmup="200ms", framing="none")
                .host("i", count=size)
                .host("o", count=size)
                .switch("sw", model=model, buffer="100MB")
                .link(["i*", "sw"], rate="100Mbit/s", delay="0s")
                .link(["sw", "o*"], rate="100Mbit/s", delay="0s")
                .flow("f", "i*", "o*", source("poisson", packet="1000B", rate=f"{110_000 / size:g}kbit/s"), pair="all")
            )

            def used(report: Report) -> float:
                # What crosses in the measured time, whenever it was born: at saturation packets wait for long.
                ports = report.ports("sw->o*")
                return sum(port["utilisation"] for port in ports) / len(ports)

            points.append(interval(scenario, used, 3))
        plot.curve(axes, sizes, points, label=name, index=index)
    axes.plot(list(KAROL), list(KAROL.values()), "k+", markersize=9, label="Karol et al. 1987, table I", zorder=4)
    axes.axhline(2 - 2**0.5, color="#888888", linewidth=0.8, linestyle="--")
    axes.text(16, 2 - 2**0.5 - 0.008, "2 - √2", fontsize=8, color="#555555", va="top", ha="right")
    with plot.style():
        plot.finish(axes, x="ports in and out", y="output utilisation", ticks=sizes, from_zero=False)
        axes.set_ylim(0.5, 1.02)
        axes.legend(loc="center right", bbox_to_anchor=(1.0, 0.52))
    return drawn


@figure
def shared_memory() -> Figure:
    """The longest queue under dynamic thresholds when several ports are overloaded at once."""
    drawn = plot.new(1, 1, width=6.0, height=3.2)
    (axes,) = drawn.axes
    memory, hot = 200.0, (1, 2, 3, 4, 6, 8)
    for index, alpha in enumerate((0.5, 1.0, 2.0)):
        points = []
        for count in hot:
            scenario = (
                Scenario(duration="2s", warmup="500ms")
                .host("i", count=count)
                .host("o", count=count)
                .switch("sw", buffer="unlimited", model=kind("shared-memory", memory=f"{memory:g}kB", alpha=alpha))
                .link(["i*", "sw"], rate="100Mbit/s")
                .link(["sw", "o*"], rate="10Mbit/s")
                .flow("f", "i*", "o*", source("poisson", packet="1000B", rate="30Mbit/s"))
            )
            points.append(interval(scenario, lambda r: r.mean_queue_bytes("sw->o*") / 1e3 / len(r.ports("sw->o*")), 3))
        plot.curve(axes, hot, points, label=f"{alpha:g}", index=index)
        theory = [alpha * memory / (1 + alpha * count) for count in hot]
        axes.plot(hot, theory, color=plot.COLOURS[index], linestyle=":", linewidth=1.0)
    with plot.style():
        plot.finish(axes, x="overloaded ports", y="mean queue of each (kB)", ticks=hot, legend="alpha")
    return drawn


@figure
def cut_through() -> Figure:
    """Delay of a full frame over a chain of idle switches."""
    drawn = plot.new(1, 1, width=6.0, height=3.2)
    (axes,) = drawn.axes
    hops = (1, 2, 3, 4, 5, 6)
    for index, model in enumerate(("output-queued", "cut-through")):
        delays = []
        for count in hops:
            scenario = (
                Scenario(duration="50ms")
                .host("a")
                .host("b")
                .switch("sw", count=count, model=kind(model))
                .link(["a", "sw1"], rate="100Mbit/s")
                .link([f"sw{count}", "b"], rate="100Mbit/s")
                .flow("f", "a", "b", source("cbr", packet="1500B", interval="5ms"))
            )
            for at in range(1, count):
                scenario = scenario.link([f"sw{at}", f"sw{at + 1}"], rate="100Mbit/s")
            delays.append(mean_interval([1e6 * first(scenario).mean_delay_s()], CONFIDENCE))
        plot.curve(axes, hops, delays, label="store and forward" if index == 0 else model, index=index)
    with plot.style():
        plot.finish(axes, x="switches on the way", y="delay (µs)", ticks=hops)
    return drawn


@figure
def headroom_needed() -> Figure:
    """Losses against the room left above the high threshold, and what the formula asks for."""
    drawn = plot.new(1, 1, width=6.4, height=3.2)
    (axes,) = drawn.axes
    buffer, links = 50_000, 3
    for index, length in enumerate(("200m", "1km")):
        rooms = (1, 2, 3, 4, 5, 6, 8, 10, 12, 14, 16, 18, 20)
        metres = {"200m": 200, "1km": 1000}[length]
        points = []
        for room in rooms:
            scenario = (
                Scenario(duration="10s")
                .host("h", count=links)
                .host("d")
                .switch("edge", count=links, buffer="2MB")
                .switch("core", buffer=f"{buffer}B")
                .link(["h*", "edge*"], rate="1Gbit/s")
                .link(["edge*", "core"], rate="1Gbit/s", length=length)
                .link(["core", "d"], rate="100Mbit/s")
                .flow("data", "h*", "d", source("uniform-uniform", burst="96kB", rate="25Mbit/s"))
                .backpressure(scope="plain", high=1 - room * 1e3 / buffer, low=0.5, response_time="1024ns")
            )
            points.append(interval(scenario, lambda report: float(report.drops_at("core->d")), 3).clipped(0))
        plot.curve(axes, rooms, points, label=length, index=index)
        need = headroom(1e9, 1500, metres * 5e-9, 1024e-9).bytes * links / 1e3
        axes.axvline(need, color=plot.COLOURS[index], linestyle=":", linewidth=1.2)
    with plot.style():
        plot.finish(
            axes,
            x="room above the high threshold (kB); dotted: formula for three links",
            y="packets lost at core in 10 s",
            y_scale="symlog",
            y_threshold=1,
            legend="cable",
        )
    return drawn


@figure
def traffic() -> Figure:
    """Arrivals of four models of one mean rate, at two scales of time."""
    models = (
        ("poisson", source("poisson", packet="1500B", rate="10Mbit/s")),
        ("uniform-uniform", source("uniform-uniform", burst="24kB", rate="10Mbit/s")),
        (
            "on-off, Pareto",
            source("on-off", packet="1500B", rate="50Mbit/s", on="50ms", off="200ms", distribution="pareto"),
        ),
        ("self-similar", source("self-similar", burst="24kB", rate="10Mbit/s")),
    )
    drawn = plot.new(2, len(models), width=4.3, height=1.5, sharex="col")
    fine, coarse = 0.01, 1.0
    for row, (name, model) in enumerate(models):
        scenario = (
            Scenario(duration="111s", sample="10ms", buffer="unlimited")
            .host("a")
            .host("b")
            .switch("sw")
            .link(["a", "sw"], rate="10Gbit/s", delay="0s")
            .link(["sw", "b"], rate="10Gbit/s", delay="0s")
            .flow("f", "a", "b", model)
        )
        delivered = series(first(scenario))["flows"]["f"]["delivered_bytes"]
        for column, (span, start, count) in enumerate(((fine, 50.0, 100), (coarse, 10.0, 100))):
            steps = round(span / fine)
            at = [round(start / fine) + steps * k for k in range(count + 1)]
            rates = [(delivered[b] - delivered[a]) * 8e-6 / span for a, b in pairwise(at)]
            axes = drawn.axes[2 * row + column]
            axes.bar([span * k for k in range(count)], rates, width=span, align="edge", color=plot.COLOURS[row])
            with plot.style():
                title = (name, "")[column]
                label = ("time (s), bins of 10 ms", "time (s), bins of 1 s")[column] if row == len(models) - 1 else ""
                plot.finish(axes, title=title, x=label, y="Mbit/s" if column == 0 else "", y_top=20)
            axes.set_xlim(0, span * count)
    return drawn


@figure
def video() -> Figure:
    """The sizes of 30 s of generated video frames."""
    scenario = (
        Scenario(duration="31s", sample="1ms", buffer="unlimited")
        .host("a")
        .host("b")
        .switch("sw")
        .link(["a", "sw"], rate="10Gbit/s", delay="0s")
        .link(["sw", "b"], rate="10Gbit/s", delay="0s")
        .flow("f", "a", "b", source("video"))
    )
    delivered = series(first(scenario))["flows"]["f"]["delivered_bytes"]
    # A frame is a burst that is over within a sample; frames are 33 ms apart.
    sizes = [b - a for a, b in pairwise(delivered) if b > a]
    drawn = plot.new(2, 1, width=4.3, height=2.6, width_ratios=[1, 2])
    near, far = drawn.axes
    near.bar(range(36), [size / 1e3 for size in sizes[300:336]], color=BLUE, width=0.8)
    groups = [sum(sizes[k : k + 12]) * 8 / 12 * 30 / 1e6 for k in range(0, len(sizes) - 12, 12)]
    far.step([0.4 * k for k in range(len(groups))], groups, where="post", color=BLUE)
    with plot.style():
        plot.finish(near, x="frame", y="frame (kB)")
        plot.finish(far, x="time (s)", y="rate over twelve frames (Mbit/s)")
    far.set_xlim(0, 30)
    return drawn


@figure
def drop_head() -> Figure:
    """The delay of what gets through an overloaded FIFO, dropping at either end."""
    drawn = plot.new(1, 1, width=6.0, height=3.0)
    (axes,) = drawn.axes
    loads = (0.8, 0.9, 1.0, 1.1, 1.3, 1.6, 2.0)
    for index, name in enumerate(("drop-tail", "drop-head")):
        points = []
        for load in loads:
            scenario = (
                Scenario(duration="40s", warmup="2s", framing="none", buffer="50kB", discipline=discipline(name))
                .host("a")
                .host("b")
                .switch("sw")
                .link(["a", "sw"], rate="100Mbit/s")
                .link(["sw", "b"], rate="10Mbit/s")
                .flow("f", "a", "b", source("poisson", packet="1000B", rate=f"{load * 10:g}Mbit/s"))
            )
            points.append(interval(scenario, lambda report: 1e3 * report.mean_delay_s()))
        plot.curve(axes, loads, points, label=name, index=index)
    with plot.style():
        plot.finish(axes, x="offered load", y="mean delay (ms)", ticks=loads)
    return drawn


@figure
def drop_tail() -> Figure:
    """A bottleneck under drop-tail."""
    return bottleneck(discipline("drop-tail"))


PROBABILITY = {"probability": ("probability", 1.0)}
RED_BAND = kind("red", min="20packets", max="60packets", mean_packet="1040B", count="packets")
"""RED with a band that suits the dumbbell; the rest is the default."""


def red_band() -> Table:
    """Return the same as a nested table."""
    return {key: value for key, value in RED_BAND.items() if key != "kind"}


@figure
def red() -> Figure:
    """A bottleneck under RED."""
    return bottleneck(RED_BAND, average="average_packets", state=PROBABILITY)


@figure
def red_adaptive() -> Figure:
    """A bottleneck under the adaptive RED of Floyd et al."""
    queue = {**RED_BAND, "adaptive": kind("floyd")}
    return bottleneck(queue, average="average_packets", state={"max_probability": ("max-p", 1.0)})


@figure
def blue() -> Figure:
    """A bottleneck under Blue."""
    return bottleneck(discipline("blue", ecn=True), ecn=True, state=PROBABILITY)


@figure
def sfb() -> Figure:
    """A bottleneck under stochastic fair Blue."""
    return bottleneck(discipline("sfb"), flood=True, state={"max_probability": ("largest probability", 1.0)})


@figure
def sfq() -> Figure:
    """A bottleneck under stochastic fairness queueing."""
    return bottleneck(discipline("sfq"), flood=True)


@figure
def sfq_red() -> Figure:
    """A bottleneck under stochastic fairness queueing with RED."""
    band = {**red_band(), "min": "2packets", "max": "6packets", "weight": 0.02}
    return bottleneck(discipline("sfq-red", buckets=16, red=band), flood=True)


@figure
def drr() -> Figure:
    """A bottleneck under deficit round robin."""
    return bottleneck(discipline("drr"), flood=True)


@figure
def fred() -> Figure:
    """A bottleneck under FRED."""
    return bottleneck(discipline("fred", mean_packet="1040B"), flood=True, average="average_packets")


@figure
def sred() -> Figure:
    """A bottleneck under stabilized RED."""
    return bottleneck(discipline("sred"), flood=True, state={"estimated_flows": ("estimated flows", 1.0)})


@figure
def choke() -> Figure:
    """A bottleneck under CHOKe."""
    return bottleneck(discipline("choke", red=red_band()), flood=True, average="average_packets")


@figure
def red_pd() -> Figure:
    """A bottleneck under RED-PD."""
    filters = {"largest_filter_probability": ("filter's probability", 1.0)}
    return bottleneck(discipline("red-pd", red=red_band()), flood=True, average="average_packets", state=filters)


@figure
def codel() -> Figure:
    """A bottleneck under CoDel."""
    return bottleneck(discipline("codel"), state={"count": ("count", 1.0)})


@figure
def fq_codel() -> Figure:
    """A bottleneck under FQ-CoDel."""
    return bottleneck(discipline("fq-codel"), flood=True)


@figure
def pie() -> Figure:
    """A bottleneck under PIE."""
    return bottleneck(discipline("pie"), state=PROBABILITY)


@figure
def fq_pie() -> Figure:
    """A bottleneck under FQ-PIE."""
    largest = {"largest_probability": ("largest probability", 1.0)}
    return bottleneck(discipline("fq-pie"), flood=True, state=largest)


@figure
def cobalt() -> Figure:
    """A bottleneck under COBALT."""
    return bottleneck(discipline("cobalt"), flood=True, state=PROBABILITY)


@figure
def dualpi2() -> Figure:
    """A bottleneck under DualPI2, with classic traffic only."""
    return bottleneck(discipline("dualpi2"), state={"base_probability": ("p'", 1.0)})


@figure
def pi() -> Figure:
    """A bottleneck under PI."""
    return bottleneck(discipline("pi", mean_packet="1040B"), state=PROBABILITY)


@figure
def rem() -> Figure:
    """A bottleneck under REM."""
    return bottleneck(discipline("rem", mean_packet="1040B"), state=PROBABILITY)


@figure
def avq() -> Figure:
    """A bottleneck under the adaptive virtual queue."""
    rate = {"virtual_rate_bits_per_second": ("virtual rate (Mbit/s)", 1e-6)}
    return bottleneck(discipline("avq", mean_packet="1040B"), state=rate)


def loss_by_colour(queue: Table) -> Figure:
    """Draw the loss of each colour at a link of 10 Mbit/s, 12 Mbit/s arriving, against what is in profile."""
    drawn = plot.new(1, 1, width=6.4, height=3.0)
    (axes,) = drawn.axes
    profiles = (1, 2, 4, 6, 8, 9, 10, 11)
    losses: dict[str, list[Interval]] = {"green": [], "yellow": []}
    for rate in profiles:
        scenario = (
            Scenario(duration="32s", warmup="2s", framing="none", buffer="unlimited")
            .host("h", count=6)
            .host("d")
            .switch("sw", ports={"d": {"buffer": "100packets", "discipline": queue}})
            .link(["h*", "sw"], rate="100Mbit/s", delay="1ms")
            .link(["sw", "d"], rate="10Mbit/s", delay="1ms")
        )
        for name, part, colour in (("in", rate, "green"), ("out", 12 - rate, "yellow")):
            load = source("poisson", packet="1000B", rate=f"{1000 * part / 6:.0f}kbit/s")
            marking = {"meter": kind("fixed", colour=colour)}
            scenario = scenario.flow(name, "h*", "d", load, marking=marking)
        for name, colour in (("in", "green"), ("out", "yellow")):
            reports = run(scenario, replications=3).reports
            losses[colour].append(mean_interval([100 * report.loss(name) for report in reports], CONFIDENCE))
    for index, (colour, name) in ((2, ("green", "in profile (green)")), (4, ("yellow", "out of profile (yellow)"))):
        plot.curve(axes, profiles, losses[colour], label=name, index=index)
    with plot.style():
        plot.finish(axes, x="in-profile load (Mbit/s) of 12, link of 10", y="loss (%)", ticks=profiles)
    return drawn


@figure
def rio() -> Figure:
    """Loss by colour under RIO."""
    return loss_by_colour(discipline("rio"))


@figure
def ered() -> Figure:
    """Loss by colour under enhanced RED."""
    red = {"min": "20packets", "max": "80packets", "mean-packet": "1000B"}
    return loss_by_colour(discipline("ered", red=red))


METERS: dict[str, Table] = {
    "token-bucket": kind("token-bucket", rate="1Mbit/s", burst="10kB"),
    "sr-tcm": kind("sr-tcm", cir="1Mbit/s", cbs="10kB", ebs="10kB"),
    "tr-tcm": kind("tr-tcm", cir="1Mbit/s", cbs="10kB", pir="2Mbit/s", pbs="10kB"),
    "tsw2cm": kind("tsw2cm", cir="1Mbit/s"),
    "tsw3cm": kind("tsw3cm", cir="1Mbit/s", pir="2Mbit/s"),
}


@figure
def markers() -> Figure:
    """Shares of colours at four loads, by meter."""
    drawn = plot.new(len(METERS), width=2.2, height=2.6, sharey=True)
    loads = (0.5, 1, 2, 4)
    colours = (("green", GREEN), ("yellow", ORANGE), ("red", RED))
    for axes, (name, meter) in zip(drawn.axes, METERS.items(), strict=True):
        for place, load in enumerate(loads):
            scenario = (
                Scenario(duration="60s", framing="none", buffer="unlimited")
                .host("s")
                .host("d")
                .switch("sw")
                .link(["s", "sw"], rate="100Mbit/s", delay="0s")
                .link(["sw", "d"], rate="100Mbit/s", delay="0s")
                .flow(
                    "data",
                    "s",
                    "d",
                    source("poisson", packet="1000B", rate=f"{1000 * load:.0f}kbit/s"),
                    marking={"meter": meter},
                )
            )
            (judged,) = first(scenario).data["conditioners"]
            counts = {"green": judged["green"], "yellow": judged["yellow"], "red": judged["red"]}
            total = sum(count["packets"] for count in counts.values())
            bottom = 0.0
            for colour, shade_of in colours:
                share = counts[colour]["packets"] / total
                axes.bar(place, share, bottom=bottom, color=shade_of, width=0.7)
                bottom += share
        with plot.style():
            plot.finish(axes, title=name, x="load (Mbit/s)", y="share of packets" if name == "token-bucket" else "")
        axes.set_xticks(range(len(loads)), [f"{load:g}" for load in loads])
    return drawn


def service(others: int, duration: str, warmup: str = "0s", sample: str | None = None) -> Scenario:
    """Return a link of 10 Mbit/s under enhanced RED, with so many connections that are best effort."""
    red = {"min": "20packets", "max": "80packets", "mean-packet": "1040B", "count": "packets"}
    yellow = {"meter": kind("fixed", colour="yellow")}
    return (
        Scenario(duration=duration, warmup=warmup, sample=sample, framing="none", buffer="unlimited")
        .host("s", count=others)
        .host("t", count=others)
        .host("x")
        .host("y")
        .switch("r0", ports={"r1": {"buffer": "100packets", "discipline": discipline("ered", red=red)}})
        .switch("r1")
        .link(["r0", "r1"], rate="10Mbit/s", delay="10ms")
        .link(["s*", "r0"], rate="100Mbit/s", delay=["9ms", "11ms"])
        .link(["x", "r0"], rate="100Mbit/s", delay="10ms")
        .link(["r1", "t*"], rate="100Mbit/s", delay="5ms")
        .link(["r1", "y"], rate="100Mbit/s", delay="5ms")
        .flow("best", "s*", "t*", source("bulk"), start_spread="1s", transport=tcp(segment="1000B"), marking=yellow)
    )


@figure
def reservation() -> Figure:
    """Goodput of a connection with a reservation, by how it uses it."""
    drawn = plot.new(1, 1, width=6.4, height=3.4)
    (axes,) = drawn.axes
    rates = (1, 2, 3, 4, 5, 6, 7)
    uses: dict[str, Table] = {
        "plain": {},
        "fine timer": {"transmission": kind("timed")},
        "adaptive window": {"window": "excess"},
        "both": {"window": "excess", "transmission": kind("timed")},
    }
    for index, (name, use) in enumerate(uses.items()):
        points = []
        for rate in rates:
            reserved = tcp(segment="1000B", reservation={"rate": f"{rate}Mbit/s", "burst": "10kB", **use})
            scenario = service(6, duration="60s", warmup="10s").flow("x", "x", "y", source("bulk"), transport=reserved)
            points.append(interval(scenario, lambda report: 1.04e-6 * report.goodput_bps("x"), 3))
        plot.curve(axes, rates, points, label=name, index=index)
    axes.plot(rates, rates, color="#888888", linewidth=0.8, linestyle="--", label="the reservation")
    with plot.style():
        plot.finish(axes, x="reservation (Mbit/s)", y="goodput, headers included (Mbit/s)", ticks=rates)
    return drawn


@figure
def packet_marking() -> Figure:
    """The marked and the best-effort window of a sender with a target, and what it observes."""
    drawn = plot.new(1, 2, width=8.4, height=2.1, sharex=True)
    marking = tcp(segment="1000B", congestion_control=kind("packet-marking", target="2500kbit/s"))
    scenario = service(9, duration="60s", sample="100ms")
    scenario = scenario.flow("x", "x", "y", source("bulk"), probe=True, transport=marking)
    found = series(first(scenario))
    shown = found["transports"]["x"]
    windows, rate = drawn.axes
    windows.plot(found["time_s"], shown["marked_window_segments"], color=BLUE, linewidth=1.0, label="marked")
    windows.plot(
        found["time_s"], shown["best_effort_window_segments"], color=ORANGE, linewidth=1.0, label="best effort"
    )
    rate.plot(found["time_s"], [1e-6 * value for value in shown["observed_bit_s"]], color=BLACK, linewidth=0.9)
    rate.axhline(2.5, color="#888888", linewidth=0.8, linestyle="--")
    with plot.style():
        plot.finish(windows, y="window (segments)")
        plot.finish(rate, x="time (s)", y="observed (Mbit/s)")
    windows.legend(loc="upper right", fontsize=8)
    return drawn


@figure
def fair_queueing() -> Figure:
    """The delay of a sparse flow among backlogged ones, under each kind of tags."""
    drawn = plot.new(1, 1, width=6.4, height=3.4)
    (axes,) = drawn.axes
    crowds = (2, 4, 8, 16, 32)
    for index, name in enumerate(("drr", "scfq", "stfq", "virtual-clock", "wfq", "wf2q-plus")):
        points = []
        for count in crowds:
            # Half of its fair share, in packets that come at random instants.
            sparse = source("poisson", packet="1000B", rate=f"{5000 / (count + 1):.0f}kbit/s")
            scenario = (
                Scenario(duration="32s", warmup="2s", framing="none", buffer="unlimited")
                .host("g", count=count)
                .host("s")
                .host("d")
                .switch("sw", ports={"d": {"buffer": f"{20 * count}packets", "discipline": discipline(name)}})
                .link(["g*", "sw"], rate="100Mbit/s", delay="0s")
                .link(["s", "sw"], rate="100Mbit/s", delay="0s")
                .link(["sw", "d"], rate="10Mbit/s", delay="0s")
                .flow("greedy", "g*", "d", source("poisson", packet="1000B", rate=f"{20_000 / count:.0f}kbit/s"))
                .flow("sparse", "s", "d", sparse)
            )
            points.append(interval(scenario, lambda report: 1e3 * report.mean_delay_s("sparse"), 3))
        plot.curve(axes, crowds, points, label=name, index=index)
    with plot.style():
        plot.finish(axes, x="backlogged flows beside it", y="mean delay of the sparse flow (ms)", ticks=crowds)
    return drawn


@figure
def tcp_recovery() -> Figure:
    """The window of one connection through drop-tail, with each way of recovery."""
    flavours = ("tahoe", "reno", "newreno", "sack")
    drawn = plot.new(1, len(flavours), width=8.4, height=1.4, sharex=True, sharey=True)
    for axes, name in zip(drawn.axes, flavours, strict=True):
        scenario = (
            Scenario(duration="20s", sample="20ms", framing="none", buffer="unlimited")
            .host("s")
            .host("t")
            .switch("r0", ports={"r1": {"buffer": "30packets"}})
            .switch("r1")
            .link(["s", "r0"], rate="100Mbit/s", delay="1ms")
            .link(["r0", "r1"], rate="4Mbit/s", delay="28ms")
            .link(["r1", "t"], rate="100Mbit/s", delay="1ms")
            .flow("tcp", "s", "t", source("bulk"), probe=True, transport=tcp(segment="1000B", recovery=kind(name)))
        )
        report = first(scenario)
        found = series(report)
        shown = found["transports"]["tcp"]

        def label(words: str, first: bool = name == flavours[0]) -> str | None:
            return words if first else None

        axes.plot(found["time_s"], shown["window_segments"], color=BLUE, linewidth=1.0, label=label("window"))
        axes.plot(
            found["time_s"], shown["outstanding_segments"], color=ORANGE, linewidth=0.8, label=label("outstanding")
        )
        with plot.style():
            plot.finish(axes, title=name, y="segments")
        axes.set_xlim(0, 20)
    drawn.axes[-1].set_xlabel("time (s)")
    return drawn


@figure
def subtcp() -> Figure:
    """Loss of many connections, with windows that grow by one segment and by a tenth."""
    drawn = plot.new(1, 1, width=6.0, height=3.2)
    (axes,) = drawn.axes
    counts = (25, 50, 100, 200, 400)
    for index, name in enumerate(("reno", "subtcp")):
        points = []
        for count in counts:
            connection = tcp(segment="1000B", ecn="classic", congestion_control=kind(name))
            scenario = (
                Scenario(duration="60s", warmup="20s", framing="none", buffer="unlimited")
                .host("s", count=count)
                .host("t", count=count)
                .switch("r0", ports={"r1": {"buffer": "150packets", "discipline": discipline("blue", ecn=True)}})
                .switch("r1")
                .link(["r0", "r1"], rate="10Mbit/s", delay="10ms")
                .link(["s*", "r0"], rate="100Mbit/s", delay=["9ms", "29ms"])
                .link(["r1", "t*"], rate="100Mbit/s", delay="1ms")
                .flow("tcp", "s*", "t*", source("bulk"), pair="zip", start_spread="1s", transport=connection)
            )
            points.append(interval(scenario, lambda report: 100 * report.port_loss("r0->r1"), 3).clipped(0))
        plot.curve(axes, counts, points, label=name, index=index)
    with plot.style():
        plot.finish(axes, x="connections over 10 Mbit/s", y="packets lost (%)", ticks=counts, legend="control")
    return drawn


@figure
def applications() -> Figure:
    """The slowdown of transfers by load: all segments at once through fair queueing, and TCP."""
    drawn = plot.new(1, 1, width=6.0, height=3.2)
    (axes,) = drawn.axes
    loads = (0.2, 0.4, 0.6, 0.8)
    at_once = tcp(segment="960B", initial_window=100_000, handshake=False)
    cases = {
        "all at once, DRR": ("drr", "unlimited", at_once),
        "TCP, FQ-CoDel": ("fq-codel", "200packets", tcp(segment="960B")),
        "TCP, drop-tail": ("drop-tail", "200packets", tcp(segment="960B")),
    }
    for index, (label, (name, buffer, connection)) in enumerate(cases.items()):
        points = []
        for load in loads:
            size = kind("exponential", mean="200kB")
            transfers = kind("transfers", size=size, rate=f"{0.96 * 10 * load:g}Mbit/s")
            scenario = (
                Scenario(duration="320s", warmup="20s", framing="none", buffer="unlimited")
                .host("s")
                .host("t")
                .switch("r", ports={"t": {"buffer": buffer, "discipline": discipline(name)}})
                .link(["s", "r"], rate="1Gbit/s", delay="1ms")
                .link(["r", "t"], rate="10Mbit/s", delay="9ms")
                .flow("transfers", "s", "t", application=transfers, count=300, transport=connection)
            )
            points.append(interval(scenario, _slowdown, 4))
        plot.curve(axes, loads, points, label=label, index=index)
    with plot.style():
        fine = [0.02 * step for step in range(5, 44)]
        axes.plot(
            fine, [1 / (1 - load) for load in fine], color=BLACK, linestyle="--", linewidth=0.9, label="1/(1 - load)"
        )
        plot.finish(axes, x="load", y="mean slowdown", ticks=loads, legend="")
    return drawn


def _slowdown(report: Report) -> float:
    """Return the mean slowdown of the transfers."""
    slowdown = report.application("transfers")["slowdown"]
    assert slowdown is not None, "there are some"
    return slowdown["mean"]


@figure
def sweep_map() -> Figure:
    """Loss over load and buffer for docs/examples/study.toml's mechanisms, as a sweep's report draws it."""
    axes: dict[str, Mapping[str, Value]] = {
        "flows[data].source.rate": {"from": "2.4Mbit/s", "to": "3.2Mbit/s", "steps": 5},
        "switches.core.buffer": {"from": "12.5kB", "to": "100kB", "steps": 4, "scale": "log"},
    }
    variants = {"drop": {"backpressure.scope": "none"}, "stop": {"backpressure.scope": "plain"}}
    found = sweep(merge("none", duration="20s", warmup="2s"), axes, mechanisms=variants, replications=5)
    return next(picture.figure for picture in figures(found) if picture.title == "Map of loss (%)")


def main() -> int:
    """Draw the figures named, or all."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", nargs="*", choices=[[], *FIGURES], help="default: all")
    arguments = parser.parse_args()
    for name in arguments.names or FIGURES:
        print(save(name, FIGURES[name]()).relative_to(FOLDER.parent.parent))
    return 0


if __name__ == "__main__":
    sys.exit(main())
