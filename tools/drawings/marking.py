"""Figures of meters, of reservations, and of the queues that use colours."""

from __future__ import annotations

from typing import TYPE_CHECKING

from drawings.common import (
    BLACK,
    BLUE,
    CONFIDENCE,
    GREEN,
    ORANGE,
    RED,
    example,
    figure,
    first,
    gallery,
    observed,
    series,
)
from tailback import discipline, kind, run
from tailback.gallery.internet.marking_in_sender.experiment import FEW, INTEGRATED, MIXED
from tailback.gallery.internet.shared.services import ERED, MODERN
from tailback.gallery.internet.tcp_with_reservation.experiment import ADAPTIVE, FINE, FIXED, PLAIN
from tailback.plotting import plot
from tailback.results.intervals import Interval, mean_interval
from tailback.scenario import Table, Value

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def loss_by_colour(queue: Table) -> Figure:
    """Draw the loss of each colour at a link of 10 Mbit/s with a load of 12 Mbit/s, against the load in profile."""
    drawn = plot.new(1, 1, width=6.4, height=3.0)
    (axes,) = drawn.axes
    profiles = (1, 2, 4, 6, 8, 9, 10, 11)
    losses: dict[str, list[Interval]] = {"green": [], "yellow": []}
    for rate in profiles:
        changes: dict[str, Value] = {"switches.sw.ports.d.discipline": queue}
        for name, part in (("in", rate), ("out", 12 - rate)):
            changes[f"flows[{name}].source.rate"] = f"{1000 * part / 6:.0f}kbit/s"
        scenario = example("figures/colours.toml", changes)
        for name, colour in (("in", "green"), ("out", "yellow")):
            reports = run(scenario, replications=3).reports
            losses[colour].append(mean_interval([100 * report.loss(name) for report in reports], CONFIDENCE))
    for index, (colour, name) in ((2, ("green", "in profile (green)")), (4, ("yellow", "out of profile (yellow)"))):
        plot.curve(axes, profiles, losses[colour], label=name, index=index)
    with plot.style():
        plot.finish(axes, x="in-profile load (Mbit/s) of 12, link of 10", y="loss (%)", ticks=profiles)
    return drawn


@figure("figures/colours.toml", slow=True)
def rio() -> Figure:
    """Draw the loss by colour under RIO."""
    return loss_by_colour(discipline("rio"))


@figure("figures/colours.toml", slow=True)
def ered() -> Figure:
    """Draw the loss by colour under enhanced RED."""
    red = {"min": "20packets", "max": "80packets", "mean-packet": "1000B"}
    return loss_by_colour(discipline("ered", red=red))


METERS: dict[str, Table] = {
    "token-bucket": kind("token-bucket", rate="1Mbit/s", burst="10kB"),
    "sr-tcm": kind("sr-tcm", cir="1Mbit/s", cbs="10kB", ebs="10kB"),
    "tr-tcm": kind("tr-tcm", cir="1Mbit/s", cbs="10kB", pir="2Mbit/s", pbs="10kB"),
    "tsw2cm": kind("tsw2cm", cir="1Mbit/s"),
    "tsw3cm": kind("tsw3cm", cir="1Mbit/s", pir="2Mbit/s"),
}


@figure("figures/meters.toml")
def markers() -> Figure:
    """Draw the shares of colours at four loads, for each meter."""
    drawn = plot.new(len(METERS), width=2.2, height=2.6, sharey=True)
    loads = (0.5, 1, 2, 4)
    colours = (("green", GREEN), ("yellow", ORANGE), ("red", RED))
    for axes, (name, meter) in zip(drawn.axes, METERS.items(), strict=True):
        for place, load in enumerate(loads):
            rate = f"{1000 * load:.0f}kbit/s"
            changes: Table = {"flows[data].source.rate": rate, "flows[data].marking.meter": meter}
            scenario = example("figures/meters.toml", changes)
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


@figure("internet-e18", slow=True)
def reservation() -> Figure:
    """Draw the goodput of a connection with a reservation, for each mechanism."""
    drawn = plot.new(1, 1, width=6.4, height=3.4)
    (axes,) = drawn.axes
    rates = (1, 2, 3, 4, 5, 6, 7)
    for index, name in enumerate((PLAIN, FINE, ADAPTIVE, FIXED)):
        points = []
        for rate in rates:
            scenario = gallery("internet-e18", mechanism=name, rate=rate, sender=MODERN, queue=ERED)
            points += observed(scenario, "internet-e18", ("reserved",), 3)
        plot.curve(axes, rates, points, label=name, index=index)
    axes.plot(rates, rates, color="#888888", linewidth=0.8, linestyle="--", label="the reservation")
    with plot.style():
        plot.finish(axes, x="reservation (Mbit/s)", y="goodput, headers included (Mbit/s)", ticks=rates)
    return drawn


@figure("internet-e20")
def packet_marking() -> Figure:
    """Draw the marked window, the best-effort window and the observed rate of a sender with a target of 2.5 Mbit/s."""
    drawn = plot.new(1, 2, width=8.4, height=2.1, sharex=True)
    changes = {"run.duration": "60s", "run.warmup": "0s", "run.sample": "100ms"}
    scenario = gallery("internet-e20", changes, engine=INTEGRATED, targets=MIXED, others=FEW, window=300)
    found = series(first(scenario))
    shown = found["transports"]["high"]
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
