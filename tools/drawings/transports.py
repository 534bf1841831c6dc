"""Figures of TCP."""

from __future__ import annotations

from typing import TYPE_CHECKING

from drawings.common import (
    BLUE,
    ORANGE,
    example,
    figure,
    first,
    gallery,
    observed,
    series,
)
from tailback import Scenario, discipline, kind
from tailback.gallery.internet.shared.subtcp import RED_ECN, SUBTCP, TCP
from tailback.gallery.internet.subtcp_t1_link.experiment import T1, X
from tailback.plotting import plot

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from tailback.scenario import Value
    from tailback.scenario.kinds import Kind


@figure("figures/recovery.toml")
def tcp_recovery() -> Figure:
    """Draw the window of one connection through drop-tail, with each kind of loss recovery of TCP."""
    flavours: tuple[Kind, ...] = ("tahoe", "reno", "newreno", "sack")
    drawn = plot.new(1, len(flavours), width=8.4, height=1.4, sharex=True, sharey=True)
    for axes, name in zip(drawn.axes, flavours, strict=True):
        scenario = example("figures/recovery.toml", {"flows[tcp].transport.recovery": kind(name)})
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


PATH = "figures/path.toml"


def _path(control: Kind, buffer: str, rate: str, delay: str, **more: Value) -> Scenario:
    """Return docs/examples/figures/path.toml with a congestion control and other settings."""
    changes: dict[str, Value] = {
        "flows[tcp].transport.congestion-control": kind(control),
        "switches.r0.ports.r1.buffer": buffer,
        "links[1].rate": rate,
        "links[1].delay": delay,
    }
    return example(PATH, changes | more)


def _window_and_queue(panels: dict[str, tuple[Scenario, str]], segment: float = 1500) -> Figure:
    """Draw the outstanding and the queued segments of a flow in one panel for each scenario.

    `panels` has the title of each panel, and its scenario and flow; `segment` is the length of a packet, B.
    """
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


@figure(PATH, slow=True)
def cubic() -> Figure:
    """Draw one connection over a long path, with CUBIC and with NewReno."""
    names: dict[Kind, str] = {"reno": "NewReno", "cubic": "CUBIC"}
    return _window_and_queue(
        {title: (_path(name, "150packets", "50Mbit/s", "50ms"), "tcp") for name, title in names.items()}
    )


@figure(PATH)
def dctcp() -> Figure:
    """Draw two connections over a queue that marks above 20 packets, with DCTCP and with NewReno and ECN."""
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
    two: dict[str, Value] = {
        "hosts.s.count": 2,
        "hosts.t.count": 2,
        "run.duration": "200ms",
        "run.sample": "200us",
        "switches.r0.ports.r1.discipline": red,
    }
    names: dict[Kind, str] = {"reno": "NewReno with ECN", "dctcp": "DCTCP"}
    return _window_and_queue(
        {title: (_path(name, "250packets", "1Gbit/s", "100us", **two), "tcp[1]") for name, title in names.items()}
    )


@figure(PATH, slow=True)
def bbr() -> Figure:
    """Draw one connection over a buffer of two bandwidth-delay products, with both versions of BBR and with CUBIC."""
    shorter: dict[str, Value] = {"run.duration": "30s"}
    names: dict[Kind, str] = {"cubic": "CUBIC", "bbr": "BBR version 1", "bbr3": "BBR version 3"}
    return _window_and_queue(
        {title: (_path(name, "330packets", "50Mbit/s", "20ms", **shorter), "tcp") for name, title in names.items()}
    )


@figure("internet-e10", slow=True)
def subtcp() -> Figure:
    """Draw the loss of many connections, under Reno and under SubTCP."""
    drawn = plot.new(1, 1, width=6.0, height=3.2)
    (axes,) = drawn.axes
    counts = (25, 50, 100, 200, 300)
    for index, (hosts, label) in enumerate(((TCP, "Reno"), (SUBTCP, "SubTCP"))):
        points = []
        for count in counts:
            scenario = gallery("internet-e10", link=T1, hosts=hosts, discipline=RED_ECN, connections=count, x=X)
            points += observed(scenario, "internet-e10", ("loss",), 3)
        plot.curve(axes, counts, points, label=label, index=index)
    with plot.style():
        plot.finish(axes, x="connections over 1.5 Mbit/s", y="packets lost (%)", ticks=counts, legend="control")
    return drawn
