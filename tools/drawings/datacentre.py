"""Figures of congestion and flow control in data centres."""

from __future__ import annotations

from typing import TYPE_CHECKING

from drawings.common import BLUE, GREEN, ORANGE, PINK, RED, figure, first, queue_kb, series
from tailback import Scenario, kind, source
from tailback.plotting import plot
from tailback.scenario import Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLOURS = (RED, GREEN, PINK, ORANGE)
MARKING: Table = {
    **kind("red", min="5kB", max="200kB", weight=1, mean_packet="1kB", max_p=0.1, above_max="mark"),
    "byte-mode": False,
    "gentle": False,
    "independent": True,
    "ecn": True,
}
"""DCQCN's marking, with ten times the probability of the paper: at 10 Gbit/s four senders need 1.6 %."""


def rack(control: Table, duration: float, queue: Table, *, join: float, delay: str = "1us") -> Scenario:
    """Return four hosts at 10 Gbit/s that send to one; each joins `join` ms after the one before."""
    scenario = (
        Scenario(duration=f"{duration:g}ms", sample=f"{duration / 600:g}ms", buffer="4MB", discipline=queue)
        .host("h", count=4)
        .host("d")
        .switch("s")
        .link(["h*", "s"], rate="10Gbit/s", delay=delay)
        .link(["s", "d"], rate="10Gbit/s", delay=delay)
    )
    for k in range(1, 5):
        transport = kind("rdma", congestion_control=control)
        scenario = scenario.flow(
            f"f{k}", f"h{k}", "d", source("bulk"), start=f"{join * (k - 1):g}ms", transport=transport
        )
    return scenario


def shares(scenario: Scenario, span: int = 6) -> Figure:
    """Draw the queue of a rack's bottleneck, and the goodput of each sender, over `span` samples each."""
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


@figure
def dcqcn() -> Figure:
    """Four senders join one after another."""
    return shares(rack(kind("dcqcn"), 80, MARKING, join=10))


@figure
def hpcc() -> Figure:
    """Four senders join one after another."""
    return shares(rack(kind("hpcc"), 12, kind("drop-tail"), join=1.5, delay="5us"))


@figure
def swift() -> Figure:
    """Four senders join one after another."""
    return shares(rack(kind("swift"), 8, kind("drop-tail"), join=1))


@figure
def timely() -> Figure:
    """Four senders begin at once, at line rate and at their shares."""
    drawn = plot.new(1, 2, width=8.4, height=2.1, sharex=True)
    top, bottom = drawn.axes
    for start, words, colour in ((1.0, "line rate", RED), (0.25, "a quarter of it", GREEN)):
        scenario = rack(kind("timely", start=start), 120, kind("drop-tail"), join=0)
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


@figure
def qcn() -> Figure:
    """A queue and the rates of its four sources, two of which end half-way."""
    drawn = plot.new(1, 2, width=8.4, height=2.1, sharex=True)
    top, bottom = drawn.axes
    scenario = Scenario(duration="400ms", sample="400us").host("d")
    scenario = scenario.switch("core", buffer="150kB", latency="1us")
    scenario = scenario.link(["core", "d"], rate="10Gbit/s", delay="500ns")
    for k in range(1, 5):
        scenario = (
            scenario.host(f"h{k}")
            .link([f"h{k}", "core"], rate="10Gbit/s", delay="500ns")
            .flow(
                f"f{k}",
                f"h{k}",
                "d",
                source("cbr", packet="1500B", rate="8Gbit/s"),
                stop="200ms" if k > 2 else "1s",
            )
        )
    limiters: Table = {"law": kind("qcn"), "buffer": "150kB"}
    scenario = scenario.set(
        {
            "switches.core.congestion-notification": kind("qcn"),
            **{f"hosts.h{k}.rate-limiters": limiters for k in range(1, 5)},
        }
    )
    found = series(first(scenario))
    times = [1e3 * at for at in found["time_s"]]
    with plot.style():
        top.plot(times, queue_kb(found, "core->d"), color=BLUE, linewidth=0.9)
        top.axhline(26, color="#666666", linestyle="--", linewidth=0.9)
        for k, colour in enumerate(COLOURS, start=1):
            rates = [1e-9 * x for x in found["ports"][f"h{k}->core"]["state"]["rate_bps d"]]
            bottom.plot(times, rates, color=colour, linewidth=1.2, label=f"h{k}")
        plot.finish(top, y="core to d (kB)")
        plot.finish(bottom, x="time (ms)", y="rate (Gbit/s)", legend="limiter at")
    bottom.set_xlim(0, 400)
    bottom.set_ylim(0, 10.2)
    return drawn


@figure
def priority_flow_control() -> Figure:
    """Two hosts that fill a shared buffer, and a third whose port leads elsewhere."""
    drawn = plot.new(1, 2, width=8.4, height=2.1, sharex=True)
    top, bottom = drawn.axes
    scenario = (
        Scenario(duration="3ms", sample="2us", buffer="unlimited")
        .host("h", count=3)
        .host("d", count=2)
        .switch("s", model=kind("shared-buffer", memory="1MB"))
        .link(["h*", "s"], rate="10Gbit/s", delay="1us")
        .link(["s", "d*"], rate="10Gbit/s", delay="1us")
        .backpressure(scope="class", signal=kind("mac"), end_stations=True)
    )
    for k, to in ((1, 1), (2, 1), (3, 2)):
        transport = kind("rdma", congestion_control=kind("fixed"))
        scenario = scenario.flow(f"f{k}", f"h{k}", f"d{to}", source("bulk"), stop="2ms", transport=transport)
    found = series(first(scenario))
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
