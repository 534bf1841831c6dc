"""Figures of the queue disciplines."""

from __future__ import annotations

from typing import TYPE_CHECKING

from drawings.common import BLUE, CROWD, FLOOD, RED, bottleneck, example, figure, first, interval, queue_kb, series
from tailback import discipline, kind
from tailback.plotting import plot
from tailback.scenario import Table
from tailback.scenario.kinds import DisciplineKind

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@figure("dumbbell.toml")
def dumbbell() -> Figure:
    """Draw the queue of docs/examples/dumbbell.toml, as a FIFO and under CoDel."""
    drawn = plot.new(1, 1, width=8.4, height=2.6)
    (axes,) = drawn.axes
    for name, words, colour in (("drop-tail", "FIFO", RED), ("codel", "CoDel", BLUE)):
        scenario = example("dumbbell.toml", {"switches.left.discipline.kind": name, "run.sample": "100ms"})
        report = first(scenario)
        found = series(report)
        # 10 Mbit/s are 1.25 kB per ms.
        delays = [kilobytes / 1.25 for kilobytes in queue_kb(found, "left->right")]
        call = 1e3 * report.mean_delay_s("call")
        label = f"{words}: one-way delay of the call {call:.0f} ms"
        axes.plot(found["time_s"], delays, color=colour, linewidth=1.0, label=label)
    with plot.style():
        plot.finish(axes, x="time (s)", y="queue (ms)")
        axes.set_xlim(0, 60)
        axes.legend(loc="center right")
    return drawn


@figure("figures/overload.toml", slow=True)
def drop_head() -> Figure:
    """Draw the delay of packets in an overloaded FIFO that drops at its head or at its tail."""
    drawn = plot.new(1, 1, width=6.0, height=3.0)
    (axes,) = drawn.axes
    loads = (0.8, 0.9, 1.0, 1.1, 1.3, 1.6, 2.0)
    ends: tuple[DisciplineKind, ...] = ("drop-tail", "drop-head")
    for index, name in enumerate(ends):
        points = []
        for load in loads:
            changes: Table = {"network.discipline.kind": name, "flows[f].source.rate": f"{load * 10:g}Mbit/s"}
            scenario = example("figures/overload.toml", changes)
            points.append(interval(scenario, lambda report: 1e3 * report.mean_delay_s()))
        plot.curve(axes, loads, points, label=name, index=index)
    with plot.style():
        plot.finish(axes, x="offered load", y="mean delay (ms)", ticks=loads)
    return drawn


@figure(CROWD)
def drop_tail() -> Figure:
    """Draw a bottleneck under drop-tail."""
    return bottleneck(discipline("drop-tail"))


PROBABILITY = {"probability": ("probability", 1.0)}
RED_BAND = kind("red", min="20packets", max="60packets", mean_packet="1040B", count="packets")
"""RED with thresholds for the dumbbell; other parameters are the defaults."""


def red_band() -> Table:
    """Return the parameters of `RED_BAND`, without its kind, for disciplines that have RED as a part."""
    return {key: value for key, value in RED_BAND.items() if key != "kind"}


@figure(CROWD)
def red() -> Figure:
    """Draw a bottleneck under RED."""
    return bottleneck(RED_BAND, average="average_packets", state=PROBABILITY)


@figure(CROWD)
def red_adaptive() -> Figure:
    """Draw a bottleneck under the adaptive RED of Floyd et al."""
    queue = {**RED_BAND, "adaptive": kind("floyd")}
    return bottleneck(queue, average="average_packets", state={"max_probability": ("max-p", 1.0)})


@figure(CROWD)
def blue() -> Figure:
    """Draw a bottleneck under Blue."""
    return bottleneck(discipline("blue", ecn=True), ecn=True, state=PROBABILITY)


@figure(FLOOD, slow=True)
def sfb() -> Figure:
    """Draw a bottleneck under stochastic fair Blue."""
    return bottleneck(discipline("sfb"), flood=True, state={"max_probability": ("largest probability", 1.0)})


@figure(FLOOD)
def sfq() -> Figure:
    """Draw a bottleneck under stochastic fairness queueing."""
    return bottleneck(discipline("sfq"), flood=True)


@figure(FLOOD)
def sfq_red() -> Figure:
    """Draw a bottleneck under stochastic fairness queueing with RED."""
    band = {**red_band(), "min": "2packets", "max": "6packets", "weight": 0.02}
    return bottleneck(discipline("sfq-red", buckets=16, red=band), flood=True)


@figure(FLOOD)
def drr() -> Figure:
    """Draw a bottleneck under deficit round robin."""
    return bottleneck(discipline("drr"), flood=True)


@figure(FLOOD)
def fred() -> Figure:
    """Draw a bottleneck under FRED."""
    return bottleneck(discipline("fred", mean_packet="1040B"), flood=True, average="average_packets")


@figure(FLOOD)
def sred() -> Figure:
    """Draw a bottleneck under stabilized RED."""
    return bottleneck(discipline("sred"), flood=True, state={"estimated_flows": ("estimated flows", 1.0)})


@figure(FLOOD)
def choke() -> Figure:
    """Draw a bottleneck under CHOKe."""
    return bottleneck(discipline("choke", red=red_band()), flood=True, average="average_packets")


@figure(FLOOD, slow=True)
def red_pd() -> Figure:
    """Draw a bottleneck under RED-PD."""
    filters = {"largest_filter_probability": ("filter's probability", 1.0)}
    return bottleneck(discipline("red-pd", red=red_band()), flood=True, average="average_packets", state=filters)


@figure(CROWD)
def codel() -> Figure:
    """Draw a bottleneck under CoDel."""
    return bottleneck(discipline("codel"), state={"count": ("count", 1.0)})


@figure(FLOOD)
def fq_codel() -> Figure:
    """Draw a bottleneck under FQ-CoDel."""
    return bottleneck(discipline("fq-codel"), flood=True)


@figure(CROWD)
def pie() -> Figure:
    """Draw a bottleneck under PIE."""
    return bottleneck(discipline("pie"), state=PROBABILITY)


@figure(FLOOD)
def fq_pie() -> Figure:
    """Draw a bottleneck under FQ-PIE."""
    largest = {"largest_probability": ("largest probability", 1.0)}
    return bottleneck(discipline("fq-pie"), flood=True, state=largest)


@figure(FLOOD)
def cobalt() -> Figure:
    """Draw a bottleneck under COBALT."""
    return bottleneck(discipline("cobalt"), flood=True, state=PROBABILITY)


@figure(CROWD)
def dualpi2() -> Figure:
    """Draw a bottleneck under DualPI2, with classic traffic only."""
    return bottleneck(discipline("dualpi2"), state={"base_probability": ("p'", 1.0)})


@figure(CROWD)
def pi() -> Figure:
    """Draw a bottleneck under PI."""
    return bottleneck(discipline("pi", mean_packet="1040B"), state=PROBABILITY)


@figure(CROWD, slow=True)
def rem() -> Figure:
    """Draw a bottleneck under REM."""
    return bottleneck(discipline("rem", mean_packet="1040B"), state=PROBABILITY)


@figure(CROWD)
def avq() -> Figure:
    """Draw a bottleneck under the adaptive virtual queue."""
    rate = {"virtual_rate_bits_per_second": ("virtual rate (Mbit/s)", 1e-6)}
    return bottleneck(discipline("avq", mean_packet="1040B"), state=rate)


@figure("figures/sparse.toml", slow=True)
def fair_queueing() -> Figure:
    """Draw the delay of a sparse flow among backlogged flows, under DRR and the tag-based disciplines."""
    drawn = plot.new(1, 1, width=6.4, height=3.4)
    (axes,) = drawn.axes
    crowds = (2, 4, 8, 16, 32)
    tags: tuple[DisciplineKind, ...] = ("drr", "scfq", "stfq", "virtual-clock", "wfq", "wf2q-plus")
    for index, name in enumerate(tags):
        points = []
        for count in crowds:
            changes: Table = {
                "hosts.g.count": count,
                "switches.sw.ports.d": {"buffer": f"{20 * count}packets", "discipline": {"kind": name}},
                "flows[greedy].source.rate": f"{20_000 / count:.0f}kbit/s",
                "flows[sparse].source.rate": f"{5000 / (count + 1):.0f}kbit/s",
            }
            scenario = example("figures/sparse.toml", changes)
            points.append(interval(scenario, lambda report: 1e3 * report.mean_delay_s("sparse"), 3))
        plot.curve(axes, crowds, points, label=name, index=index)
    with plot.style():
        plot.finish(axes, x="backlogged flows beside it", y="mean delay of the sparse flow (ms)", ticks=crowds)
    return drawn
