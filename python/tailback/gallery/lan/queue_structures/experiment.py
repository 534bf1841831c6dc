"""lan-queues, C.2 with other switches: frames wait at outputs or inputs, in one queue, by output, or by destination."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import TYPE_CHECKING, cast

from tailback.plotting import experiment as fig
from tailback.results import observables as m
from tailback.results.report import Report
from tailback.scenario import Table
from tailback.study.experiment import (
    Axis,
    AxisValue,
    Claim,
    Experiment,
    Figure,
    Observable,
    Point,
    Profile,
    ProfileName,
    Results,
    Settings,
    grid,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

# Destinations of a source.
OWN, ALL = "one each", "all three"
OUTPUT, FIFO1, VOQ1 = "output queues", "input FIFOs in sw1", "VOQ in sw1"
MEMORY, LIMITS = "VOQ, one memory", "VOQ, limits"
NONE, PLAIN, DESTINATION = "none", "plain", "destination"
ROOM_KB, EDGE_KB, DESTINATIONS = 500, 50, 3
"""Memory of sw1 and of each output of sw2, kB; number of the outputs of sw2."""
INPUT_KB = ROOM_KB // 3
"""Memory of each of the three inputs of sw1 if frames wait there, kB: a third of `ROOM_KB`."""
SHARED_KB = EDGE_KB * DESTINATIONS
"""Memory of the one input of sw2 that receives data, kB."""
SPEEDUP = 10.0
"""Speed-up of the crossbar in sw2: rate of its input, which carries one frame at a time, divided by the rate of an
output."""

# Switch models by the name of the switch.
Model = Mapping[str, Table]


def _fifo(kb: int) -> Table:
    return {"kind": "input-fifo", "buffer": f"{kb}kB"}


def _voq(kb: int, queue_kb: int | None = None, speedup: float = 1.0) -> Table:
    limit: Table = {} if queue_kb is None else {"output-buffer": f"{queue_kb}kB"}
    return {"kind": "virtual-output-queues", "buffer": f"{kb}kB", "speedup": speedup, **limit}


MODELS: dict[AxisValue, Model] = {
    OUTPUT: {},
    FIFO1: {"sw1": _fifo(INPUT_KB)},
    VOQ1: {"sw1": _voq(INPUT_KB)},
    MEMORY: {"sw1": _voq(INPUT_KB), "sw2": _voq(SHARED_KB, speedup=SPEEDUP)},
    LIMITS: {"sw1": _voq(INPUT_KB, INPUT_KB), "sw2": _voq(SHARED_KB, EDGE_KB, SPEEDUP)},
}
# Mechanisms that are run with each queue structure.
CONTROLS: dict[AxisValue, tuple[str, ...]] = {
    OUTPUT: (NONE, PLAIN, DESTINATION),
    FIFO1: (PLAIN, DESTINATION),
    VOQ1: (PLAIN, DESTINATION),
    MEMORY: (NONE, PLAIN, DESTINATION),
    LIMITS: (NONE, PLAIN, DESTINATION),
}
# Queues and mechanisms of the figure "stops", the time that it shows in s, and its rate in Mbit/s and burst size in kB.
TRACED = ((OUTPUT, PLAIN), (VOQ1, PLAIN), (LIMITS, PLAIN), (OUTPUT, DESTINATION))
TRACE_S = 0.4
TRACE_RATE, TRACE_BURST = 6, 48


def _lost_at_sw2(report: Report) -> int:
    """Return the number of frames lost at the queues of sw2, or at its input because the input's buffer is full."""
    refused = "input buffer full"
    return sum(
        drop["packets"]
        for drop in report.drops()
        if drop["where"].startswith("sw2->") or (drop["where"], drop["reason"]) == ("sw1->sw2", refused)
    )


def _stops(report: Report) -> tuple[list[float], list[float], list[float]] | None:
    """Return three series in s, counted from the end of the warm-up; `None` without samples.

    The first has the times of the samples. The others have, up to each of these times, the total time for which sw1's
    backbone port was stopped, and that for which data waited there while nothing was sent.
    """
    series = report.data["series"]
    if series is None:
        return None
    start = report.data["warmup_s"]
    port = series["ports"]["sw1->sw2"]
    first = next(n for n, at in enumerate(series["time_s"]) if at >= start)
    last = next((n for n, at in enumerate(series["time_s"]) if at >= start + TRACE_S), len(series["time_s"]))
    totals = ([value - values[first] for value in values[first:last]] for values in (port["stopped_s"], port["held_s"]))
    stopped, held = totals
    return [at - start for at in series["time_s"][first:last]], stopped, held


class QueueStructures(Experiment):
    """The three sources and destinations of C.2 over switches of five queue structures with equal memory."""

    id = "lan-queues"
    title = "Queue structures and back-pressure"
    reference = "Tobagi, Fraleigh and Noureddine, experiment C.2 and slide Simulation Model"
    axes = (
        Axis("to", "destinations of a source"),
        Axis("queues", "queues of the switches"),
        Axis("mechanism", "mechanism"),
        Axis("rate", "data rate per source", "Mbit/s"),
        Axis("burst", "mean burst size", "kB"),
    )
    quick = Profile(duration="40s", warmup="20s", replications=4, max_replications=16, cpu_s=30)
    full = Profile(duration="220s", warmup="20s", replications=4, max_replications=40, cpu_s=240)
    metrics = (
        m.loss(),
        m.throughput(label="throughput of all sources"),
        m.mean_delay(),
        Observable(
            "lost_sw2",
            "packets lost at sw2",
            "packet",
            lambda report: float(_lost_at_sw2(report)),
            lambda report: (_lost_at_sw2(report), report.offered_packets()),
        ),
        m.stopped("sw1->sw2", label="time a stop is in force at sw1"),
        m.held("sw1->sw2", label="time data waits at sw1 for an idle backbone"),
    )
    traces = {"stops": _stops}  # noqa: RUF012

    def points(self, profile: ProfileName) -> Iterable[Point]:
        """Return the points: every queue structure with its mechanisms in `CONTROLS`."""
        rates = (2, 4, 6, 8, 9) if profile == "full" else (6, 9)
        bursts = (24, 48) if profile == "full" else (48,)
        found: list[Point] = []
        for queues, controls in CONTROLS.items():
            found += grid(to=[OWN], queues=[queues], mechanism=controls, rate=rates, burst=bursts)
            found += grid(to=[ALL], queues=[queues], mechanism=controls, rate=rates, burst=[48])
        return found

    def settings(self, point: Point, profile: ProfileName) -> Settings:
        """Return the settings of both switches and of the hosts' traffic; points of the figure "stops" are sampled."""
        del profile
        to, queues, mechanism = point["to"], point["queues"], point["mechanism"]
        found: Settings = {"backpressure.scope": mechanism}
        for switch, model in MODELS[queues].items():
            found[f"switches.{switch}.model"] = model
        if queues == OUTPUT and mechanism == DESTINATION:
            # A queue for each destination, with a third of the memory each.
            found["switches.sw1.buffer"] = f"{INPUT_KB}kB"
        if queues == FIFO1 and mechanism == DESTINATION:
            # An input FIFO obeys notifications but cannot name addresses; no node would obey sw1's notifications.
            found["switches.sw1.backpressure"] = {"scope": "none"}
        rate = float(point["rate"])
        each = rate / DESTINATIONS if to == ALL else rate
        found["flows[data].pair"] = "all" if to == ALL else "zip"
        found["flows[data].source.rate"] = f"{each * 1e6:.0f}bit/s"
        found["flows[data].source.burst"] = f"{point['burst']}kB"
        if to == OWN and (queues, mechanism) in TRACED and (rate, point["burst"]) == (TRACE_RATE, TRACE_BURST):
            found["run.sample"] = "1ms"
        return found

    def claims(self, results: Results) -> Iterable[Claim]:
        """Return the claims on the order of the structures by loss and delay.

        The slides have numbers for their own switches only.
        """
        own, every = (results.where(to=to) for to in (OWN, ALL))
        large = own.where(burst=48, rate=lambda rate: float(rate) >= TRACE_RATE)
        last = every.where(rate=9)
        listed = [point for point in TABLE if point != (OUTPUT, DESTINATION)]
        return [
            Claim(
                "Q1",
                "With XON/XOFF and with control by destination nothing is lost at sw2, which has the headroom, with "
                "any queue structure.",
                "derived: the 20 % of the memory above the high threshold exceed the headroom of one link at 100 "
                "Mbit/s",
                results.where(mechanism=[PLAIN, DESTINATION])["lost_sw2"].is_zero(),
            ),
            Claim(
                "Q2",
                "With one destination for each source, from 6 Mbit/s up in bursts of 48 kB, less is lost with "
                "XON/XOFF and a queue for each input of sw1 than with XON/XOFF and one queue of the same memory at "
                "its output.",
                "derived: the queues are served in turn, so that no burst blocks the packets to other destinations "
                "for long",
                large.where(queues=VOQ1, mechanism=PLAIN)["loss"] < large.where(queues=OUTPUT, mechanism=PLAIN)["loss"],
            ),
            Claim(
                "Q3",
                "With one destination for each source, from 6 Mbit/s up in bursts of 48 kB, the mean delay under "
                "XON/XOFF is shorter with a queue for each input of sw1 than with one queue at its output.",
                "derived as Q2",
                large.where(queues=VOQ1, mechanism=PLAIN)["delay"]
                < large.where(queues=OUTPUT, mechanism=PLAIN)["delay"],
            ),
            Claim(
                "Q4",
                "With a queue for each input of sw1 and XON/XOFF at 9 Mbit/s in bursts of 48 kB, more is lost if each "
                "source sends to all destinations than if each sends to one.",
                "derived: each input's queue then holds frames to all destinations, and XOFF stops them all",
                last.where(queues=VOQ1, mechanism=PLAIN, burst=48)["loss"]
                > large.where(queues=VOQ1, mechanism=PLAIN, rate=9)["loss"],
            ),
            Claim(
                "Q5",
                "If each source sends to all destinations and notifications name the destination, more is lost with "
                "input FIFOs in sw1 than with virtual output queues, which can skip stopped frames.",
                "derived: the head of an input's FIFO blocks frames to other destinations",
                every.where(queues=FIFO1, mechanism=DESTINATION)["loss"]
                > every.where(queues=VOQ1, mechanism=DESTINATION)["loss"],
            ),
            Claim(
                "Q6",
                "With one destination for each source, loss and delay are the same with input FIFOs and with virtual "
                "output queues in sw1.",
                "derived: all frames of an input go to one output and destination, so both are one queue per input",
                own.where(queues=FIFO1)["loss"].equals(own.where(queues=VOQ1)["loss"])
                & own.where(queues=FIFO1)["delay"].equals(own.where(queues=VOQ1)["delay"]),
            ),
            Claim(
                "Q7",
                "Without control less is lost if the outputs of sw2 share their memory than if it is divided among "
                "them.",
                "derived: a queue can use the memory that others leave free (Hluchyj and Karol 1988)",
                results.where(queues=MEMORY, mechanism=NONE)["loss"]
                < results.where(queues=LIMITS, mechanism=NONE)["loss"],
            ),
            Claim(
                "Q8",
                "If single destinations are stopped, a stop is in force at the backbone port for longer than data "
                "waits there while nothing is sent.",
                "derived: the port is idle only if all the data that waits is stopped",
                own.where(queues=[OUTPUT, VOQ1, LIMITS], mechanism=DESTINATION)["held"]
                < own.where(queues=[OUTPUT, VOQ1, LIMITS], mechanism=DESTINATION)["stopped"],
            ),
            *(
                Claim.comparison(
                    f"L{index}",
                    "Loss at 9 Mbit/s in bursts of 48 kB if each source sends to all destinations; switches: "
                    f"{queues}; scope of notifications: {mechanism}.",
                    "comparison",
                    last.where(queues=queues, mechanism=mechanism, burst=48)["loss"],
                    "the slides show no such switch; the figure also has the loss with output queues and control by "
                    "destination",
                )
                for index, (queues, mechanism) in enumerate(listed, 1)
            ),
        ]

    def figures(self, results: Results) -> Iterable[Figure]:
        """Yield loss and delay by queue structure, the times for which the backbone port is stopped, and throughput."""
        at = results.where(rate=9, burst=48)
        about = "9 Mbit/s per source in bursts of 48 kB; the memory of each switch is the same in all rows."
        names = ("Q2", "Q4", "Q5", "Q7")
        yield Figure("loss", "Packet loss by queue structure", about, lambda: _draw_rows(at, "loss"), claims=names)
        yield Figure("delay", "Mean delay by queue structure", about, lambda: _draw_rows(at, "delay"), claims=("Q3",))
        kept = {
            (queues, mechanism): results.trace(
                "stops", to=OWN, queues=queues, mechanism=mechanism, rate=TRACE_RATE, burst=TRACE_BURST
            )
            for queues, mechanism in TRACED
        }
        yield Figure(
            "stops",
            "Times for which sw1's backbone port is stopped, and for which it holds data while it sends nothing",
            f"{TRACE_RATE} Mbit/s per source in bursts of {TRACE_BURST} kB, one destination each; first replication. "
            "Light areas without dark ones: one destination is stopped while packets to the others are sent.",
            lambda: _draw_stops(kept),
            claims=("Q8",),
        )
        by_rate = {
            f"{queues}, {mechanism}": results.where(to=OWN, queues=queues, mechanism=mechanism, burst=48)["throughput"]
            for queues, mechanism in TRACED
        }
        title = "Throughput of all sources, one destination each, bursts of 48 kB"
        yield fig.compare(by_rate, "throughput", title, x="rate", y="throughput of all sources")


# All queue structures with their mechanisms.
TABLE = tuple((queues, mechanism) for queues, controls in CONTROLS.items() for mechanism in controls)
# Index into `plot.COLOURS` by mechanism.
COLOUR_OF = {NONE: 6, PLAIN: 1, DESTINATION: 0}


def _draw_rows(at: Results, name: str) -> Drawing:
    """Draw a row for each structure, a mark for each mechanism, and a panel for each set of destinations."""
    from tailback.plotting import plot

    figure = plot.new(2, width=4.6, height=3.2, sharex=True, sharey=True)
    rows = list(CONTROLS)
    for axes, to in zip(figure.axes, (OWN, ALL), strict=True):
        with plot.style():
            for place, mechanism in enumerate((NONE, PLAIN, DESTINATION)):
                shown = [queues for queues in rows if mechanism in CONTROLS[queues]]
                found = [
                    next(iter(at.where(to=to, queues=queues, mechanism=mechanism)[name].intervals()))[1]
                    for queues in shown
                ]
                means = [interval.mean for interval in found]
                reach = [[i.mean - max(i.lo, 0.0) for i in found], [i.hi - i.mean for i in found]]
                ys = [rows.index(queues) + 0.22 * (place - 1) for queues in shown]
                colour = plot.COLOURS[COLOUR_OF[mechanism]]
                axes.errorbar(means, ys, xerr=reach, fmt="osD"[place], color=colour, label=mechanism)
            axes.set_yticks(range(len(rows)), [str(queues) for queues in rows])
            axes.set_title(f"destinations of a source: {to}")
            axes.set_xlabel(f"{at[name].label.partition(' [')[0]} ({at[name].unit})")
            axes.grid(visible=False, axis="y")
    figure.axes[0].set_ylim(len(rows) - 0.5, -0.5)
    figure.axes[0].set_xlim(left=0)
    with plot.style():
        figure.legend(*figure.axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
    return figure


def _draw_stops(kept: Mapping[tuple[str, str], object]) -> Drawing:
    from tailback.plotting import plot

    figure = plot.new(1, len(kept), width=9.0, height=1.0, sharex=True)
    for axes, ((queues, mechanism), trace) in zip(figure.axes, kept.items(), strict=True):
        times, stopped, held = cast(tuple[list[float], list[float], list[float]], trace)
        with plot.style():
            for values, colour, label in ((stopped, plot.COLOURS[5], "stopped"), (held, plot.COLOURS[1], "holds data")):
                share = [
                    0.0,
                    *((b - a) / (y - x) for (a, b), (x, y) in zip(pairwise(values), pairwise(times), strict=True)),
                ]
                axes.fill_between(times, 0, share, color=colour, linewidth=0, step="pre", label=label)
            axes.set_title(f"{queues}, {mechanism}", fontsize=9)
            axes.set_yticks([])
            axes.set_ylim(0, 1)
            axes.set_xlim(times[0], times[-1])
    with plot.style():
        figure.axes[-1].set_xlabel("time after the warm-up (s)")
        figure.legend(*figure.axes[0].get_legend_handles_labels(), loc="outside lower right", ncols=2)
    return figure
