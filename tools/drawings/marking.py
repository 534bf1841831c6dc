"""Figures of meters, reservations and the queues that use colours."""

from __future__ import annotations

from typing import TYPE_CHECKING

from drawings.common import (
    BLACK,
    BLUE,
    CONFIDENCE,
    GREEN,
    ORANGE,
    RED,
    figure,
    first,
    interval,
    series,
)
from tailback import Scenario, discipline, kind, run, source, tcp
from tailback.plotting import plot
from tailback.results.intervals import Interval, mean_interval
from tailback.scenario import Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def loss_by_colour(queue: Table) -> Figure:
    """Draw the loss of each colour at a link of 10 Mbit/s, 12 Mbit/s arriving, against the share in profile."""
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
    """Return a link of 10 Mbit/s under enhanced RED, with the given number of best-effort connections."""
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
    """Goodput of a connection with a reservation, by mechanism."""
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
    """The marked and the best-effort window of a sender with a target, and its observed rate."""
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
