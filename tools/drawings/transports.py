"""Figures of TCP."""

from __future__ import annotations

from typing import TYPE_CHECKING

from drawings.common import (
    BLUE,
    ORANGE,
    figure,
    first,
    interval,
    series,
)
from tailback import Scenario, discipline, kind, plot, source, tcp

if TYPE_CHECKING:
    from matplotlib.figure import Figure


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
