"""Figures of congestion and flow control in data centres."""

from __future__ import annotations

from typing import TYPE_CHECKING

from drawings.common import BLUE, GREEN, ORANGE, PINK, RED, example, figure, first, queue_kb, series
from tailback import Scenario, kind
from tailback.plotting import plot
from tailback.scenario import Table, Value

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLOURS = (RED, GREEN, PINK, ORANGE)
RACK = "figures/rack.toml"


def rack(control: Table, duration: float, *, join: float, delay: str = "1us", queue: Table | None = None) -> Scenario:
    """Return docs/examples/figures/rack.toml with a congestion control and a duration in ms.

    Hosts start `join` ms apart; `delay` is that of each link, and `queue` the discipline of all ports.
    """
    changes: dict[str, Value] = {
        "run": {"duration": f"{duration:g}ms", "sample": f"{duration / 600:g}ms", "seed": 1},
        "links[0].delay": delay,
        "links[1].delay": delay,
    }
    for k in range(1, 5):
        changes[f"flows[f{k}].start"] = f"{join * (k - 1):g}ms"
        changes[f"flows[f{k}].transport.congestion-control"] = control
    return example(RACK, changes | ({"network.discipline": queue} if queue else {}))


def shares(scenario: Scenario, span: int = 6) -> Figure:
    """Draw the queue of a rack's bottleneck, and the goodput of each sender, averaged over `span` samples."""
    found = series(first(scenario))
    times = [1e3 * at for at in found["time_s"]]
    drawn = plot.new(1, 2, width=8.4, height=2.1, sharex=True)
    top, bottom = drawn.axes
    with plot.style():
        top.plot(times, queue_kb(found, "s->d"), color=BLUE, linewidth=0.9)
        for k, colour in enumerate(COLOURS, start=1):
            delivered = found["flows"][f"f{k}"]["delivered_bytes"]
            past = [1e-3 * (b - a) for a, b in zip(found["time_s"], found["time_s"][span:], strict=False)]
            rates = [8e-12 * (b - a) / t for a, b, t in zip(delivered, delivered[span:], past, strict=False)]
            bottom.plot(times[span:], rates, color=colour, linewidth=1.2, label=f"h{k}")
        plot.finish(top, y="queue (kB)")
        plot.finish(bottom, x="time (ms)", y="goodput (Gbit/s)", legend="sender")
    bottom.set_xlim(0, times[-1])
    bottom.set_ylim(0, 10)
    return drawn


@figure(RACK)
def dcqcn() -> Figure:
    """Draw four senders that start one after another, under DCQCN."""
    return shares(rack(kind("dcqcn"), 80, join=10))


@figure(RACK)
def hpcc() -> Figure:
    """Draw four senders that start one after another, under HPCC."""
    return shares(rack(kind("hpcc"), 12, queue=kind("drop-tail"), join=1.5, delay="5us"))


@figure(RACK)
def swift() -> Figure:
    """Draw four senders that start one after another, under Swift."""
    return shares(rack(kind("swift"), 8, queue=kind("drop-tail"), join=1))


@figure(RACK)
def timely() -> Figure:
    """Draw four senders that begin at once, at line rate or at their equal shares."""
    drawn = plot.new(1, 2, width=8.4, height=2.1, sharex=True)
    top, bottom = drawn.axes
    for start, words, colour in ((1.0, "line rate", RED), (0.25, "a quarter of it", GREEN)):
        scenario = rack(kind("timely", start=start), 120, queue=kind("drop-tail"), join=0)
        found = series(first(scenario))
        times = [1e3 * at for at in found["time_s"]]
        span = 6
        sent = found["ports"]["s->d"]["sent_bytes"]
        rates = [8e-9 * (b - a) / (1e-3 * (times[span] - times[0])) for a, b in zip(sent, sent[span:], strict=False)]
        with plot.style():
            top.plot(times, queue_kb(found, "s->d"), color=colour, linewidth=0.9)
            bottom.plot(times[span:], rates, color=colour, linewidth=1.2, label=words)
    with plot.style():
        plot.finish(top, y="queue (kB)")
        plot.finish(bottom, x="time (ms)", y="all four (Gbit/s)", legend="begin at")
    bottom.set_xlim(0, 120)
    bottom.set_ylim(0, 10.2)
    return drawn


@figure("figures/qcn.toml", slow=True)
def qcn() -> Figure:
    """Draw a queue, and the rates of four sources, of which two end half-way, under QCN."""
    drawn = plot.new(1, 2, width=8.4, height=2.1, sharex=True)
    top, bottom = drawn.axes
    found = series(first(example("figures/qcn.toml")))
    times = [1e3 * at for at in found["time_s"]]
    with plot.style():
        top.plot(times, queue_kb(found, "core->d"), color=BLUE, linewidth=0.9)
        # The default equilibrium of QCN, kB.
        top.axhline(26, color="#666666", linestyle="--", linewidth=0.9)
        for k, colour in enumerate(COLOURS, start=1):
            rates = [1e-9 * x for x in found["ports"][f"h{k}->core"]["state"]["rate_bps d"]]
            bottom.plot(times, rates, color=colour, linewidth=1.2, label=f"h{k}")
        plot.finish(top, y="core to d (kB)")
        plot.finish(bottom, x="time (ms)", y="rate (Gbit/s)", legend="limiter at")
    bottom.set_xlim(0, 400)
    bottom.set_ylim(0, 10.2)
    return drawn


@figure("figures/pfc.toml", slow=True)
def priority_flow_control() -> Figure:
    """Draw the queue to which two hosts send, and the times at which they and a third host are stopped."""
    drawn = plot.new(1, 2, width=8.4, height=2.1, sharex=True)
    top, bottom = drawn.axes
    found = series(first(example("figures/pfc.toml")))
    times = [1e3 * at for at in found["time_s"]]
    with plot.style():
        top.plot(times, queue_kb(found, "s->d1"), color=BLUE, linewidth=1.0)
        for k, colour in enumerate(COLOURS[:3], start=1):
            stopped = found["ports"][f"h{k}->s"]["stopped"]
            bottom.fill_between(times, k - 0.3, [k + 0.3 if s else k - 0.3 for s in stopped], step="post", color=colour)
        plot.finish(top, y="s to d1 (kB)")
        plot.finish(bottom, x="time (ms)", y="stopped", from_zero=False)
    bottom.set_yticks([1, 2, 3], ["h1", "h2", "h3"])
    bottom.set_ylim(0.5, 3.5)
    bottom.set_xlim(0, 3)
    return drawn
