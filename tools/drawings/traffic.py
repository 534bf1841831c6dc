"""Figures of sources and applications."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from drawings.common import (
    BLACK,
    BLUE,
    example,
    figure,
    first,
    gallery,
    interval,
    series,
)
from tailback import source, tcp
from tailback.gallery.lan.traffic_models.experiment import SIZES, STREAM, VIDEO
from tailback.plotting import plot
from tailback.results.report import Report
from tailback.scenario import Table
from tailback.scenario.kinds import DisciplineKind

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@figure("figures/stream.toml", slow=True)
def traffic() -> Figure:
    """Draw the arrivals of six models with the same mean rate, in bins of two lengths."""
    models = (
        ("poisson", source("poisson", packet="1500B", rate="10Mbit/s")),
        ("uniform-fixed", source("uniform-fixed", burst="24kB", rate="10Mbit/s")),
        ("uniform-uniform", source("uniform-uniform", burst="24kB", rate="10Mbit/s")),
        (
            "on-off, Pareto",
            source("on-off", packet="1500B", rate="50Mbit/s", on="50ms", off="200ms", distribution="pareto"),
        ),
        ("self-similar", source("self-similar", burst="24kB", rate="10Mbit/s")),
        ("self-similar, batches", source("self-similar", burst="24kB", rate="10Mbit/s", peak="batch")),
    )
    drawn = plot.new(2, len(models), width=4.3, height=1.5, sharex="col")
    fine, coarse = 0.01, 1.0
    for row, (name, model) in enumerate(models):
        scenario = example("figures/stream.toml", {"flows[f].source": model})
        delivered = series(first(scenario))["flows"]["f"]["delivered_bytes"]
        for column, (span, start, count) in enumerate(((fine, 50.0, 100), (coarse, 10.0, 100))):
            steps = round(span / fine)
            at = [round(start / fine) + steps * k for k in range(count + 1)]
            rates = [(delivered[b] - delivered[a]) * 8e-6 / span for a, b in pairwise(at)]
            axes = drawn.axes[2 * row + column]
            axes.bar([span * k for k in range(count)], rates, width=span, align="edge", color=plot.COLOURS[row])
            with plot.style():
                title = (name, "")[column]
                label = ("time (s), bins of 10 ms", "time (s), bins of 1 s")[column] if row == len(models) - 1 else ""
                plot.finish(axes, title=title, x=label, y="Mbit/s" if column == 0 else "", y_top=20)
            axes.set_xlim(0, span * count)
    return drawn


@figure("lan-traffic")
def video() -> Figure:
    """Draw the sizes of the frames of 30 s of generated video."""
    scenario = gallery("lan-traffic", {"run.duration": "31s"}, what=SIZES, traffic=VIDEO, mechanism="none", load=STREAM)
    delivered = series(first(scenario))["flows"]["data"]["delivered_bytes"]
    # Frames are 33 ms apart, and each one arrives within one sample, so each increase is the size of a frame.
    sizes = [b - a for a, b in pairwise(delivered) if b > a]
    drawn = plot.new(2, 1, width=4.3, height=2.6, width_ratios=[1, 2])
    near, far = drawn.axes
    near.bar(range(36), [size / 1e3 for size in sizes[300:336]], color=BLUE, width=0.8)
    groups = [sum(sizes[k : k + 12]) * 8 / 12 * 30 / 1e6 for k in range(0, len(sizes) - 12, 12)]
    far.step([0.4 * k for k in range(len(groups))], groups, where="post", color=BLUE)
    with plot.style():
        plot.finish(near, x="frame", y="frame (kB)")
        plot.finish(far, x="time (s)", y="rate (Mbit/s)")
    far.set_xlim(0, 30)
    return drawn


@figure("figures/transfers.toml", slow=True)
def applications() -> Figure:
    """Draw the slowdown of transfers against load: with TCP, and if all segments are sent at once, under DRR."""
    drawn = plot.new(1, 1, width=6.0, height=3.2)
    (axes,) = drawn.axes
    loads = (0.2, 0.4, 0.6, 0.8)
    at_once = tcp(segment="960B", initial_window=100_000, handshake=False)
    cases: dict[str, tuple[DisciplineKind, str, Table]] = {
        "all at once, DRR": ("drr", "unlimited", at_once),
        "TCP, FQ-CoDel": ("fq-codel", "200packets", tcp(segment="960B")),
        "TCP, drop-tail": ("drop-tail", "200packets", tcp(segment="960B")),
    }
    for index, (label, (name, buffer, connection)) in enumerate(cases.items()):
        points = []
        for load in loads:
            changes: Table = {
                "flows[transfers].application.rate": f"{0.96 * 10 * load:g}Mbit/s",
                "flows[transfers].transport": connection,
                "switches.r.ports.t": {"buffer": buffer, "discipline": {"kind": name}},
            }
            scenario = example("figures/transfers.toml", changes)
            points.append(interval(scenario, _slowdown, 4))
        plot.curve(axes, loads, points, label=label, index=index)
    with plot.style():
        fine = [0.02 * step for step in range(5, 44)]
        axes.plot(
            fine, [1 / (1 - load) for load in fine], color=BLACK, linestyle="--", linewidth=0.9, label="1/(1 - load)"
        )
        plot.finish(axes, x="load", y="mean slowdown", ticks=loads, legend="")
    return drawn


def _slowdown(report: Report) -> float:
    """Return the mean slowdown of the transfers."""
    slowdown = report.application("transfers")["slowdown"]
    assert slowdown is not None, "there are some"
    return slowdown["mean"]
