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
from tailback import Scenario, discipline, kind, source, tcp
from tailback.plotting import plot

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from tailback.scenario import Table
    from tailback.scenario.kinds import Kind


@figure
def tcp_recovery() -> Figure:
    """The window of one connection through drop-tail, with each kind of recovery."""
    flavours: tuple[Kind, ...] = ("tahoe", "reno", "newreno", "sack")
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


def _path(
    control: Table,
    queue: Table,
    rate: str,
    delay: str,
    *,
    count: int = 1,
    duration: str = "60s",
    sample: str = "20ms",
) -> Scenario:
    """Bulk connections over one bottleneck whose control is this."""
    transport = tcp(segment="1460B", ecn="classic", congestion_control=control)
    return (
        Scenario(duration=duration, sample=sample, framing="none", buffer="unlimited")
        .host("s", count=count)
        .host("t", count=count)
        .switch("r0", ports={"r1": queue})
        .switch("r1")
        .link(["s*", "r0"], rate="10Gbit/s", delay="0ms")
        .link(["r0", "r1"], rate=rate, delay=delay)
        .link(["r1", "t*"], rate="10Gbit/s", delay="0ms")
        .flow("tcp", "s*", "t*", source("bulk"), pair="zip", probe=True, transport=transport)
    )


def _window_and_queue(panels: dict[str, tuple[Scenario, str]], segment: float = 1500) -> Figure:
    """Draw the outstanding and the waiting segments, a panel each."""
    drawn = plot.new(1, len(panels), width=8.4, height=1.8, sharex=True, sharey=True)
    for axes, (title, (scenario, flow)) in zip(drawn.axes, panels.items(), strict=True):
        found = series(first(scenario))
        outstanding = found["transports"][flow]["outstanding_segments"]
        waiting = [bytes_ / segment for bytes_ in found["ports"]["r0->r1"]["queue_bytes"]]
        labels = ("outstanding", "waiting") if axes is drawn.axes[0] else (None, None)
        axes.plot(found["time_s"], outstanding, color=BLUE, linewidth=1.0, label=labels[0])
        axes.plot(found["time_s"], waiting, color=ORANGE, linewidth=0.8, label=labels[1])
        with plot.style():
            plot.finish(axes, title=title, x="time (s)", y="segments")
        axes.set_xlim(0, found["time_s"][-1])
    return drawn


@figure
def cubic() -> Figure:
    """One connection over a long path: CUBIC and NewReno."""
    queue: Table = {"buffer": "150packets"}
    names: dict[Kind, str] = {"reno": "NewReno", "cubic": "CUBIC"}
    return _window_and_queue(
        {title: (_path(kind(name), queue, "50Mbit/s", "50ms"), "tcp") for name, title in names.items()}
    )


@figure
def dctcp() -> Figure:
    """Two connections over a queue that marks above 20 packets: DCTCP, and NewReno with ECN."""
    red = discipline(
        "red",
        ecn=True,
        min="30kB",
        max="30kB",
        max_p=1,
        above_max="mark",
        weight=1,
        mean_packet="1500B",
        byte_mode=False,
        gentle=False,
    )
    queue: Table = {"buffer": "250packets", "discipline": red}
    names: dict[Kind, str] = {"reno": "NewReno with ECN", "dctcp": "DCTCP"}
    return _window_and_queue(
        {
            title: (_path(kind(name), queue, "1Gbit/s", "100us", count=2, duration="200ms", sample="200us"), "tcp[1]")
            for name, title in names.items()
        }
    )


@figure
def bbr() -> Figure:
    """One connection over a buffer of two bandwidth-delay products: both versions and CUBIC."""
    queue: Table = {"buffer": "330packets"}
    names: dict[Kind, str] = {"cubic": "CUBIC", "bbr": "BBR version 1", "bbr3": "BBR version 3"}
    return _window_and_queue(
        {title: (_path(kind(name), queue, "50Mbit/s", "20ms", duration="30s"), "tcp") for name, title in names.items()}
    )


@figure
def subtcp() -> Figure:
    """Loss of many connections, with windows that grow by one segment and by a tenth."""
    drawn = plot.new(1, 1, width=6.0, height=3.2)
    (axes,) = drawn.axes
    counts = (25, 50, 100, 200, 400)
    controls: tuple[Kind, ...] = ("reno", "subtcp")
    for index, name in enumerate(controls):
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
