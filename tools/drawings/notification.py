"""Figures of congestion notification."""

from __future__ import annotations

from typing import TYPE_CHECKING

from drawings.common import BLUE, GREEN, ORANGE, PINK, RED, example, figure, first, series
from tailback.plotting import plot

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@figure("figures/bcn.toml")
def bcn() -> Figure:
    """Draw a queue, and the rates of four sources, of which two end half-way, under BCN."""
    drawn = plot.new(1, 2, width=8.4, height=2.1, sharex=True)
    top, bottom = drawn.axes
    found = series(first(example("figures/bcn.toml")))
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
