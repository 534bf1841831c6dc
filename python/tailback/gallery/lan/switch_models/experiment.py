"""lan-models: throughput, delay and loss of switch models under uniform traffic."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from tailback.plotting import experiment as fig
from tailback.results import observables as m
from tailback.scenario import Table
from tailback.study.experiment import (
    Axis,
    AxisValue,
    Claim,
    Condition,
    Experiment,
    Figure,
    Point,
    Profile,
    ProfileName,
    Quantity,
    Results,
    Settings,
    grid,
)
from tailback.study.experiment.claims import Check

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

OUTPUT, FIFO, VOQ1, VOQ2, CUT = "output-queued", "input FIFO", "VOQ", "VOQ, speed-up 2", "cut-through"
PARTED, SHARED = "output-queued, 15 kB a port", "shared memory, 8 times 15 kB"
ROOM = "1MB"
"""Buffer of an input, large enough never to be empty in saturation."""
# Buffer of a port if the memory is divided among the ports, kB.
PORT_KB = 15

# Settings of the switch.
Model = Mapping[str, Table | str]
MODELS: dict[AxisValue, Model] = {
    OUTPUT: {"model": {"kind": "output-queued"}},
    FIFO: {"model": {"kind": "input-fifo", "buffer": ROOM}},
    VOQ1: {"model": {"kind": "virtual-output-queues", "buffer": ROOM, "speedup": 1.0}},
    VOQ2: {"model": {"kind": "virtual-output-queues", "buffer": ROOM, "speedup": 2.0}},
    CUT: {"model": {"kind": "cut-through", "header": "64B"}},
    PARTED: {"model": {"kind": "output-queued"}, "buffer": f"{PORT_KB}kB"},
    SHARED: {"model": {"kind": "shared-memory", "memory": f"{8 * PORT_KB}kB", "alpha": 4.0}},
}
# Models with ample memory, whose delay is compared, and those whose memory is small, whose loss is compared.
LOSSLESS, LOSSY = (OUTPUT, FIFO, VOQ1, VOQ2, CUT), (PARTED, SHARED)
PORTS, OVERLOAD = 8, 130
"""Number of inputs and of outputs, and the offered load in % at which inputs are never empty."""
KAROL = {2: 75.0, 3: 68.25, 4: 65.53, 5: 63.99, 6: 63.02, 7: 62.34, 8: 61.84}
"""Saturation throughput of input FIFOs in % by the number of ports (Karol, Hluchyj and Morgan 1987, table I)."""
LIMIT = 58.58
"""Saturation throughput for infinitely many ports, %: 2 minus the square root of 2."""
# Slots of the Bernoulli sources in the time of a frame.
SLOTS_PER_FRAME = 100
# Time of a full frame on a link of 100 Mbit/s: 1538 B with preamble and gap.
FRAME_US = 123.04
SAVED_US = (1538 - 64) * 8 / 100
"""Delay that a cut-through switch saves per frame, µs: it waits for 64 instead of 1538 bytes at 100 Mbit/s."""


class SwitchModels(Experiment):
    """One switch between equal numbers of senders and receivers at 100 Mbit/s."""

    id = "lan-models"
    title = "Switch models side by side"
    reference = "Tobagi, Fraleigh and Noureddine, slide Simulation Model; Karol, Hluchyj and Morgan 1987"
    axes = (
        Axis("model", "switch model"),
        Axis("ports", "ports each way"),
        Axis("load", "offered load per port", "%"),
    )
    quick = Profile(duration="1200ms", warmup="200ms", replications=4, max_replications=24, cpu_s=10)
    full = Profile(duration="10200ms", warmup="200ms", replications=5, max_replications=40, cpu_s=90)
    metrics = (
        m.utilisation("sw->to*", label="utilisation of the output links"),
        m.mean_delay(),
        m.loss(),
    )

    def points(self, profile: ProfileName) -> Iterable[Point]:
        """Return the points: each model up to saturation; saturated input FIFOs by ports; small memories."""
        loads = (10, 20, 30, 40, 50, 55, 60, 70, 80, 90, 95) if profile == "full" else (10, 30, 50, 55, 70, 80, 90)
        fifo = [load for load in loads if load <= 55] + [60]
        counts = (*KAROL, 12, 16, 24) if profile == "full" else (2, 3, 4, 6, PORTS, 16)
        found = grid(model=[name for name in LOSSLESS if name != FIFO], ports=[PORTS], load=(*loads, OVERLOAD))
        found += grid(model=[FIFO], ports=[PORTS], load=fifo)
        found += grid(model=[FIFO], ports=counts, load=[OVERLOAD])
        return found + grid(model=LOSSY, ports=[PORTS], load=[load for load in loads if load >= 70])

    def settings(self, point: Point, profile: ProfileName) -> Settings:
        """Return the settings of model, ports, and sources of equal rate from each sender to each receiver."""
        ports, load = int(point["ports"]), float(point["load"]) / 100
        source: Table = {
            "kind": "bernoulli",
            "packet": "1500B",
            # Slots much shorter than a frame make the destinations of successive frames independent.
            "slot": f"{FRAME_US * 1e6 / SLOTS_PER_FRAME:.0f}ps",
            "load": load / ports / SLOTS_PER_FRAME,
        }
        longer = {"run.duration": "2200ms"} if point["load"] == OVERLOAD and profile == "quick" else {}
        return {
            "switches.sw": MODELS[point["model"]],
            "hosts.from.count": ports,
            "hosts.to.count": ports,
            "flows[data].source": source,
            **longer,
        }

    def claims(self, results: Results) -> Iterable[Claim]:
        """Return the claims: saturation compared with theory, order of the delays, and loss with a shared memory."""
        saturated = results.where(load=OVERLOAD)["utilisation"]
        fifo = saturated.where(model=FIFO)
        delays = {name: results.where(model=name, ports=PORTS)["delay"] for name in LOSSLESS}
        half = {name: delay.where(load=50) for name, delay in delays.items()}
        stored, cut = (delays[name].where(load=lambda load: float(load) <= 90) for name in (OUTPUT, CUT))
        carried = results.where(model=FIFO, ports=PORTS, load=[10, 30, 50, 55])
        return [
            Claim(
                "M1",
                "The saturation throughput of input FIFOs with 2 to 8 ports is within half a percentage point of that "
                "of Karol, Hluchyj and Morgan: 75 % for 2 ports, 61.84 % for 8.",
                "Karol, Hluchyj and Morgan 1987, table I",
                _at_each(fifo),
            ),
            Claim(
                "M2",
                "With 16 ports the saturation throughput of input FIFOs is between that for 8 ports, 61.84 %, and the "
                "limit for many, 58.58 %.",
                "Karol, Hluchyj and Morgan 1987",
                fifo.where(ports=16).within(LIMIT, KAROL[8]),
            ),
            Claim(
                "M3",
                "In saturation with 8 ports the output links are busy for at least 98 % of the time with virtual "
                "output queues, even without speed-up, as with output queues and cut-through.",
                "derived: an output is busy as long as any input has a frame for it; 100 % in the limit",
                saturated.where(model=[OUTPUT, VOQ1, VOQ2, CUT]) >= 98,
            ),
            Claim(
                "M4",
                "Up to a load of 55 %, input FIFOs with 8 ports lose nothing.",
                "derived: below saturation",
                carried["loss"].is_zero(),
            ),
            Claim(
                "M5",
                "At a load of 50 % the mean delay increases in the order output queues, virtual output queues with a "
                "speed-up of 2, virtual output queues without speed-up, input FIFOs.",
                "derived: frames wait for the output, then also for the crossing, a slower crossing, and the head of "
                "the queue",
                (half[OUTPUT] < half[VOQ2]) & (half[VOQ2] < half[VOQ1]) & (half[VOQ1] < half[FIFO]),
            ),
            Claim(
                "M6",
                "Up to a load of 90 % the mean delay with cut-through is shorter than with output queues by 118 µs, "
                "the time of storing a frame, within 5 %.",
                "derived: every frame is in its output queue earlier by this time, so the queue is the same, shifted "
                "in time",
                (stored - cut).within(0.95e-3 * SAVED_US, 1.05e-3 * SAVED_US),
            ),
            Claim(
                "M7",
                "At loads of 70 % and more, with 8 ports, less is lost with a shared memory of 120 kB than with 15 kB "
                "per port.",
                "derived: a queue can use the memory that others leave free (Hluchyj and Karol 1988)",
                results.where(model=SHARED)["loss"] < results.where(model=PARTED)["loss"],
            ),
        ]

    def figures(self, results: Results) -> Iterable[Figure]:
        """Yield saturation by ports and by model, and delay and loss by load."""
        fifo = results.where(model=FIFO, load=OVERLOAD)["utilisation"]
        yield Figure(
            "saturation",
            "Saturation of input FIFOs",
            "Crosses: Karol, Hluchyj and Morgan 1987. Dashed: the limit for infinitely many ports, 58.58 %.",
            lambda: _draw_saturation(fifo),
            claims=("M1", "M2"),
        )
        below = results.where(ports=PORTS, load=lambda load: load != OVERLOAD)
        yield fig.compare(
            {name: below.where(model=name)["delay"] for name in LOSSLESS},
            "delay",
            "Mean delay by load, 8 ports",
            "Includes the wait at the host and all transmission times. Crossing takes the time of a frame without "
            "speed-up.",
            x="load",
            y_scale="log",
            claims=("M5", "M6"),
        )
        yield Figure(
            "throughput",
            "Throughput in saturation, 8 ports",
            "Offered load of 130 %.",
            lambda: _draw_throughput(results.where(ports=PORTS, load=OVERLOAD)["utilisation"]),
            claims=("M1", "M3"),
        )
        yield fig.compare(
            {name: below.where(model=name)["loss"] for name in LOSSY},
            "memory",
            "Packet loss with finite memory, 8 ports",
            "A shared memory of 120 kB, of which a queue may use four times the free part, compared with 15 kB per "
            "port.",
            x="load",
            y_scale="symlog",
            claims=("M7",),
        )


def _at_each(fifo: Quantity) -> Condition:
    """Return the condition that the throughput is within half a percentage point of `KAROL` at each number of ports."""
    checks: list[Check] = []
    for ports in fifo.values_of("ports"):
        if (theory := KAROL.get(int(ports))) is not None:
            # A list of one value keeps the axis free, so that a check names its point.
            checks += fifo.where(ports=[ports]).within(theory - 0.5, theory + 0.5).checks
    return Condition(f"{fifo.label} within 0.5 points of the theory", tuple(checks))


def _draw_saturation(fifo: Quantity) -> Drawing:
    from tailback.plotting import plot

    figure = plot.new()
    (axes,) = figure.axes
    along, intervals = fifo.curve("ports")
    with plot.style():
        plot.curve(axes, along, intervals, label="measured")
        axes.plot(list(KAROL), list(KAROL.values()), "x", color=plot.COLOURS[1], markersize=9, label="theory")
        axes.axhline(LIMIT, color="#666666", linestyle="--", linewidth=1, label=f"limit of many ports, {LIMIT:.1f} %")
        x, y = fifo.axis("ports").title, "utilisation of the output links (%)"
        plot.finish(axes, x=x, y=y, ticks=[float(n) for n in along], from_zero=False)
    return figure


def _draw_throughput(saturated: Quantity) -> Drawing:
    from tailback.plotting import plot

    figure = plot.new(width=7.4, height=2.6)
    (axes,) = figure.axes
    rows = list(saturated.intervals())
    names = [str(point["model"]) for point, _ in rows]
    with plot.style():
        means = [interval.mean for _, interval in rows]
        reach = [[i.mean - i.lo for _, i in rows], [i.hi - i.mean for _, i in rows]]
        axes.barh(names, means, xerr=reach, color=plot.COLOURS[0], ecolor="black", height=0.6, capsize=2.5)
        axes.invert_yaxis()
        theory = f"input FIFO in theory, {KAROL[PORTS]:.1f} %"
        axes.axvline(KAROL[PORTS], color="#666666", linestyle="--", linewidth=1, label=theory)
        axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))
        axes.set_xlim(0, 100)
        axes.set_xlabel("utilisation of the output links (%)")
        axes.grid(visible=False, axis="y")
    return figure
