"""Figures of the LAN: back-pressure, switch models, headroom."""

from __future__ import annotations

from typing import TYPE_CHECKING

from drawings.common import (
    BLUE,
    CONFIDENCE,
    RED,
    between,
    example,
    figure,
    first,
    gallery,
    interval,
    levels,
    observed,
    queue_kb,
    series,
    shade,
)
from tailback import kind, run
from tailback.gallery.lan.pause_headroom.experiment import LARGE, SHORT_KM, STANDARD_US, needed_kb
from tailback.gallery.lan.switch_models.experiment import FIFO, KAROL, LIMIT, OUTPUT, VOQ1, VOQ2
from tailback.gallery.lan.switch_models.experiment import OVERLOAD as SATURATING
from tailback.plotting import plot
from tailback.results.intervals import mean_interval
from tailback.scenario import Value
from tailback.scenario.kinds import Kind
from tailback.study.experiment import AxisValue

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@figure("merge.toml", slow=True)
def merging() -> Figure:
    """Draw the queues where the traffic of three hosts merges, without and with back-pressure."""
    start, end = 20.0, 24.0
    drawn = plot.new(1, 2, width=8.4, height=2.2, sharex=True)
    top, bottom = drawn.axes
    upstream = ("edge1->core", "edge2->core", "edge3->core")
    for scope, words, colour in (("none", "without back-pressure", RED), ("plain", "with 802.3x", BLUE)):
        report = first(example("merge.toml", {"backpressure.scope": scope, "run.sample": "2ms", "run.duration": "30s"}))
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


@figure("office.toml", slow=True)
def plot_of_a_run() -> Figure:
    """Draw the tutorial's run with time series, as `tailback plot` does."""
    changes = {"backpressure.scope": "plain", "run.sample": "10ms", "run.duration": "15s"}
    return run(example("office.toml", changes)).plot()


MERGING: dict[str, AxisValue] = {"traffic": "uniform-uniform", "mechanism": "plain", "rate": 3, "burst": 24}
"""Point of lan-a1: three sources of 3 Mbit/s each in bursts of 24 kB, under 802.3x."""


@figure("lan-a1", slow=True)
def watermark() -> Figure:
    """Draw a stop by 802.3x: the queue that crosses its thresholds, and the queue of the neighbour that is stopped."""
    coarse = series(first(gallery("lan-a1", {"run.sample": "1ms", "run.duration": "12s"}, **MERGING)))
    queue = queue_kb(coarse, "sw0->d")
    start = next(t for t, q in zip(coarse["time_s"], queue, strict=True) if t > 11 and q > 40) - 0.02
    end = start + 0.16
    changes = {"run.sample": "100us", "run.duration": f"{end + 0.01:.3f}s"}
    found = series(first(gallery("lan-a1", changes, **MERGING)))
    drawn = plot.new(1, 2, width=8.4, height=2.1, sharex=True)
    for axes, port, words in zip(drawn.axes, ("sw0->d", "sw2->sw0"), ("sw0 to d", "sw2 to sw0"), strict=True):
        shade(axes, found, "sw2->sw0", start, end)
        axes.plot(*between(found, start, end, queue_kb(found, port)), color=BLUE, linewidth=1.2)
        with plot.style():
            plot.finish(axes, y=f"{words} (kB)")
        axes.set_xlim(0, 1e3 * (end - start))
    levels(drawn.axes[0], {"high": 40, "low": 35}, 1e3 * (end - start))
    with plot.style():
        plot.finish(drawn.axes[1], x="time (ms); shaded: sw2 is stopped", y="sw2 to sw0 (kB)")
    return drawn


@figure("figures/detection.toml")
def fill_rate() -> Figure:
    """Draw the response of the two detectors to the same overload."""
    drawn = plot.new(1, 1, width=8.4, height=2.6)
    (axes,) = drawn.axes
    detectors: dict[Kind, str] = {"watermark": RED, "fill-rate": BLUE}
    for name, colour in detectors.items():
        scenario = example("figures/detection.toml", {"backpressure.detection": kind(name)})
        found = series(first(scenario))
        axes.plot(*between(found, 0, 0.08, queue_kb(found, "core->d")), color=colour, label=name, linewidth=1.2)
    levels(axes, {"full": 50, "high": 40, "low": 35}, 80)
    with plot.style():
        plot.finish(axes, x="time (ms)", y="core to d (kB)", y_top=55)
    axes.set_xlim(0, 80)
    return drawn


@figure("figures/response.toml")
def rate_response() -> Figure:
    """Draw the traffic of a notified neighbour that stops, or that sends at a lower rate."""
    drawn = plot.new(1, 2, width=8.4, height=2.1, sharex=True)
    top, bottom = drawn.axes
    responses = (("block", kind("block"), RED), ("rate", kind("rate"), BLUE))
    for name, response, colour in responses:
        scenario = example("figures/response.toml", {"backpressure.response": response})
        found = series(first(scenario))
        sent = found["ports"]["edge1->core"]["sent_bytes"]
        # A frame takes 1.2 ms, so rates are averaged over several samples.
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


@figure("lan-b1", slow=True)
def per_class() -> Figure:
    """Draw the loss of video, and of bursty data of a lower class, under each mechanism."""
    drawn = plot.new(2, 1, width=4.3, height=3.2)
    rates = (1, 3, 5, 6, 7)
    for index, scope in enumerate(("none", "plain", "class")):
        points = [
            observed(
                gallery("lan-b1", layout="chosen", mechanism=scope, burst=96, rate=rate),
                "lan-b1",
                ("video_loss", "data_loss"),
                8,
            )
            for rate in rates
        ]
        for axes, losses in zip(drawn.axes, zip(*points, strict=True), strict=True):
            plot.curve(axes, rates, losses, label=scope, index=index)
    for axes, title in zip(drawn.axes, ("video, class 0", "data, class 1"), strict=True):
        with plot.style():
            plot.finish(axes, title=title, x="data rate (Mbit/s)", y="packet loss (%)", ticks=rates, legend="scope")
    return drawn


@figure("lan-c1", slow=True)
def per_destination() -> Figure:
    """Draw the delay of a flow that shares a backbone with a flow to a congested destination."""
    drawn = plot.new(2, 1, width=4.3, height=3.2)
    rates = (2, 4, 6, 8, 9)
    delay, loss = drawn.axes
    for index, scope in enumerate(("none", "plain", "destination")):
        points = [
            observed(gallery("lan-c1", mechanism=scope, burst=96, rate=rate), "lan-c1", ("s2_delay", "s1_loss"), 5)
            for rate in rates
        ]
        for axes, values in zip(drawn.axes, zip(*points, strict=True), strict=True):
            plot.curve(axes, rates, values, label=scope, index=index)
    with plot.style():
        plot.finish(
            delay, x="rate of s1 (Mbit/s)", y="mean delay of s2 (ms)", y_scale="log", ticks=rates, legend="scope"
        )
        plot.finish(loss, x="rate of s1 (Mbit/s)", y="packet loss of s1 (%)", ticks=rates, legend="scope")
    return drawn


@figure("lan-models", slow=True)
def saturation() -> Figure:
    """Draw the throughput of saturated switches with uniform destinations."""
    drawn = plot.new(1, 1, width=6.4, height=3.4)
    (axes,) = drawn.axes
    sizes = (2, 3, 4, 6, 8, 12, 16)
    names = {
        FIFO: "input-fifo",
        VOQ1: "virtual-output-queues, speedup 1",
        VOQ2: "virtual-output-queues, speedup 2",
        OUTPUT: "output-queued",
    }
    for index, (model, name) in enumerate(names.items()):
        points = []
        for size in sizes:
            scenario = gallery("lan-models", {"run.duration": "1200ms"}, model=model, ports=size, load=SATURATING)
            points += observed(scenario, "lan-models", ("utilisation",), 3)
        plot.curve(axes, sizes, points, label=name, index=index)
    axes.plot(list(KAROL), list(KAROL.values()), "k+", markersize=9, label="Karol et al. 1987, table I", zorder=4)
    axes.axhline(LIMIT, color="#888888", linewidth=0.8, linestyle="--")
    axes.text(16, LIMIT - 0.8, "2 - √2", fontsize=8, color="#555555", va="top", ha="right")
    with plot.style():
        plot.finish(axes, x="ports in and out", y="output utilisation (%)", ticks=sizes, from_zero=False)
        axes.set_ylim(50, 102)
        axes.legend(loc="center right", bbox_to_anchor=(1.0, 0.52))
    return drawn


@figure("figures/shared-memory.toml", slow=True)
def shared_memory() -> Figure:
    """Draw the mean queue of a port under dynamic thresholds against the number of overloaded ports."""
    drawn = plot.new(1, 1, width=6.0, height=3.2)
    (axes,) = drawn.axes
    memory, hot = 200.0, (1, 2, 3, 4, 6, 8)
    for index, alpha in enumerate((0.5, 1.0, 2.0)):
        points = []
        for count in hot:
            changes: dict[str, Value] = {
                "hosts.i.count": count,
                "hosts.o.count": count,
                "switches.sw.model.alpha": alpha,
            }
            scenario = example("figures/shared-memory.toml", changes)
            points.append(interval(scenario, lambda r: r.mean_queue_bytes("sw->o*") / 1e3 / len(r.ports("sw->o*")), 3))
        plot.curve(axes, hot, points, label=f"{alpha:g}", index=index)
        theory = [alpha * memory / (1 + alpha * count) for count in hot]
        axes.plot(hot, theory, color=plot.COLOURS[index], linestyle=":", linewidth=1.0)
    with plot.style():
        plot.finish(axes, x="overloaded ports", y="mean queue of each (kB)", ticks=hot, legend="alpha")
    return drawn


@figure("figures/chain.toml")
def cut_through() -> Figure:
    """Draw the delay of a frame of maximum size over a chain of idle switches."""
    drawn = plot.new(1, 1, width=6.0, height=3.2)
    (axes,) = drawn.axes
    hops = (1, 2, 3, 4, 5, 6)
    models: tuple[Kind, ...] = ("output-queued", "cut-through")
    for index, model in enumerate(models):
        delays = []
        for count in hops:
            changes: dict[str, Value] = {"switches.sw.model": kind(model), "flows[f].to": f"b{count}"}
            scenario = example("figures/chain.toml", changes)
            delays.append(mean_interval([1e6 * first(scenario).mean_delay_s()], CONFIDENCE))
        plot.curve(axes, hops, delays, label="store and forward" if index == 0 else model, index=index)
    with plot.style():
        plot.finish(axes, x="switches on the way", y="delay (µs)", ticks=hops)
    return drawn


@figure("lan-headroom", slow=True)
def headroom_needed() -> Figure:
    """Draw the overshoot of the high threshold against cable length and response time, and the computed headroom."""
    drawn = plot.new(2, 1, width=4.3, height=3.0, sharey=True)
    sweeps: tuple[tuple[str, tuple[float, ...], str], ...] = (
        ("length", (0.2, 2, 4, 6, 10), "cable (km), response time 1.024 µs"),
        ("response", (1.024, 20, 40, 60, 100), "response time (µs), cable of 200 m"),
    )
    for axes, (name, values, words) in zip(drawn.axes, sweeps, strict=True):
        points = []
        for value in values:
            point = {"length": SHORT_KM, "response": STANDARD_US, name: value}
            points += observed(gallery("lan-headroom", buffer=LARGE, **point), "lan-headroom", ("overshoot",), 3)
        plot.curve(axes, values, points, label="measured", index=0)
        needed = [needed_kb(value, STANDARD_US) if name == "length" else needed_kb(SHORT_KM, value) for value in values]
        axes.plot(values, needed, color="#666666", linestyle="--", label="formula")
        with plot.style():
            label = "overshoot (kB)" if name == "length" else ""
            plot.finish(axes, x=words, y=label, ticks=values)
    return drawn
