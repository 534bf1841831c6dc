"""Figures of congestion notification."""

from __future__ import annotations

from typing import TYPE_CHECKING

from drawings.common import BLUE, GREEN, ORANGE, PINK, RED, figure, first, series
from tailback import Scenario, kind, source
from tailback.plotting import plot
from tailback.scenario import Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@figure
def bcn() -> Figure:
    """A queue and the rates of its four sources, two of which end half-way."""
    drawn = plot.new(1, 2, width=8.4, height=2.1, sharex=True)
    top, bottom = drawn.axes
    scenario = Scenario(duration="120ms", sample="100us").host("d")
    scenario = scenario.switch("core", buffer="150kB", latency="1us")
    scenario = scenario.link(["core", "d"], rate="10Gbit/s", delay="500ns")
    for k in range(1, 5):
        scenario = (
            scenario.host(f"h{k}")
            .switch(f"e{k}", latency="1us")
            .link([f"h{k}", f"e{k}"], rate="10Gbit/s", delay="500ns")
            .link([f"e{k}", "core"], rate="10Gbit/s", delay="500ns")
            .flow(
                f"f{k}",
                f"h{k}",
                "d",
                source("cbr", packet="1500B", rate="8Gbit/s"),
                stop="60ms" if k > 2 else "1s",
            )
        )
    limiters: Table = {"law": kind("bcn"), "buffer": "150kB"}
    scenario = scenario.set(
        {
            "switches.core.congestion-notification": kind("bcn"),
            **{f"switches.e{k}.rate-limiters": limiters for k in range(1, 5)},
        }
    )
    found = series(first(scenario))
    times = [1e3 * at for at in found["time_s"]]
    with plot.style():
        top.plot(times, [x / 1518 for x in found["ports"]["core->d"]["queue_bytes"]], color=BLUE, linewidth=0.9)
        top.axhline(16, color="#666666", linestyle="--", linewidth=0.9)
        for k, colour in zip(range(1, 5), (RED, GREEN, PINK, ORANGE), strict=True):
            state = found["ports"][f"e{k}->core"]["state"]
            rates = [1e-9 * x for x in state["rate_bps d"]]
            bottom.plot(times, rates, color=colour, linewidth=1.2, label=f"e{k}")
        plot.finish(top, y="core to d (frames)")
        plot.finish(bottom, x="time (ms)", y="rate (Gbit/s)", legend="limiter at")
    bottom.set_xlim(0, 120)
    bottom.set_ylim(0, 10.2)
    return drawn
