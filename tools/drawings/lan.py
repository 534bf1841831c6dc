"""Figures of the LAN: back-pressure, switch models, headroom."""

from __future__ import annotations

from typing import TYPE_CHECKING

from drawings.common import (
    BLUE,
    CONFIDENCE,
    DOCS,
    RED,
    between,
    figure,
    first,
    interval,
    levels,
    merge,
    queue_kb,
    series,
    shade,
)
from tailback import Scenario, kind, run, source
from tailback.bounds.headroom import headroom
from tailback.plotting import plot
from tailback.results.intervals import mean_interval
from tailback.results.report import Report
from tailback.scenario.kinds import Kind

if TYPE_CHECKING:
    from matplotlib.figure import Figure


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
    """Figure by `tailback plot` of the tutorial's run with time series."""
    text = (DOCS / "examples" / "office.toml").read_text(encoding="utf-8")
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
        plot.finish(drawn.axes[1], x="time (ms); shaded: edge2 is stopped", y="edge2 to core (kB)")
    return drawn


@figure
def fill_rate() -> Figure:
    """The same overload seen by the two detectors."""
    drawn = plot.new(1, 1, width=8.4, height=2.6)
    (axes,) = drawn.axes
    detectors: dict[Kind, str] = {"watermark": RED, "fill-rate": BLUE}
    for name, colour in detectors.items():
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
    """Traffic of a notified neighbour: all or nothing, or slower."""
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
    """Video with bursty data of a lower class: the effect of each mechanism on both."""
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
    """A flow that shares a backbone with another one, whose destination is congested."""
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
                # Packets that cross in the measured time, whenever they were generated: at saturation packets wait for
                # long.
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
    models: tuple[Kind, ...] = ("output-queued", "cut-through")
    for index, model in enumerate(models):
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
    """Losses against the room above the high threshold, and the room by the formula."""
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
