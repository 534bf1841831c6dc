"""Figures of the disciplines with classes, of routers' fair queueing, and of weighted RED."""

from __future__ import annotations

from typing import TYPE_CHECKING

from matplotlib.patches import Rectangle

from drawings.common import BLACK, BLUE, GREEN, ORANGE, PINK, RED, SKY, figure
from tailback.plotting import plot

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def box(axes: Axes, x: float, y: float, width: float, height: float, text: str, colour: str = BLACK) -> None:
    """Draw a box with text in it."""
    axes.add_patch(_rectangle(x, y, width, height, colour))
    axes.text(x + width / 2, y + height / 2, text, ha="center", va="center", fontsize=8)


def _rectangle(x: float, y: float, width: float, height: float, colour: str) -> Rectangle:
    return Rectangle((x, y), width, height, fill=False, edgecolor=colour, linewidth=1.2)


def arrow(axes: Axes, start: tuple[float, float], end: tuple[float, float]) -> None:
    """Draw an arrow."""
    axes.annotate("", xy=end, xytext=start, arrowprops={"arrowstyle": "->", "color": BLACK, "linewidth": 1.0})


@figure()
def congestion_management() -> Figure:
    """Draw the stages of a port: classification, dropping, queues, scheduling, shaping."""
    drawn = plot.new(1, 1, width=7.4, height=3.0)
    (axes,) = drawn.axes
    with plot.style():
        axes.set_xlim(0, 15.4)
        axes.set_ylim(0, 6)
        axes.axis("off")
        box(axes, 0.3, 2.2, 2.0, 1.6, "classifier\nclass maps")
        names = ("priority", "class A", "class B", "default")
        for place, (name, colour) in enumerate(zip(names, (RED, BLUE, GREEN, PINK), strict=True)):
            y = 4.6 - 1.4 * place
            arrow(axes, (2.3, 3.0), (3.1, y + 0.45))
            what = "policer" if place == 0 else "tail drop,\nRED, WRED"
            box(axes, 3.1, y, 1.7, 0.9, what, colour)
            for k in range(4):
                axes.add_patch(_rectangle(5.2 + 0.5 * k, y + 0.1, 0.5, 0.7, colour))
            axes.text(6.2, y + 0.95, name, ha="center", va="bottom", fontsize=8, color=colour)
            arrow(axes, (4.8, y + 0.45), (5.2, y + 0.45))
            arrow(axes, (7.2, y + 0.45), (8.2, 3.0))
        box(axes, 8.2, 2.2, 2.0, 1.6, "scheduler")
        box(axes, 10.7, 2.2, 1.6, 1.6, "transmit\nring")
        box(axes, 12.8, 2.2, 1.4, 1.6, "shaper")
        arrow(axes, (10.2, 3.0), (10.7, 3.0))
        arrow(axes, (12.3, 3.0), (12.8, 3.0))
        arrow(axes, (14.2, 3.0), (15.2, 3.0))
        axes.text(14.8, 3.2, "line", ha="center", fontsize=8)
    return drawn


# For each flow: its name, its weight, and arrival time and transmission time of its packets, both in ms.
FLOWS = (
    ("A, weight 2", 2.0, ((0.0, 1.0), (0.0, 1.0), (0.0, 1.0))),
    ("B, weight 1", 1.0, ((0.0, 1.0), (0.0, 1.0))),
    ("C, weight 1", 1.0, ((1.5, 0.5), (1.5, 0.5))),
)


def fluid() -> list[tuple[int, float, float]]:
    """Return flow index, start and finish (ms) of each packet in a fluid server, which shares by weights."""
    step = 1e-3
    queues = [[(at, length) for at, length in packets] for _, _, packets in FLOWS]
    started: list[float | None] = [None] * len(queues)
    done: list[tuple[int, float, float]] = []
    now = 0.0
    while any(queues):
        busy = [f for f, queue in enumerate(queues) if queue and queue[0][0] <= now]
        total = sum(FLOWS[f][1] for f in busy)
        for f in busy:
            began = started[f]
            started[f] = began = now if began is None else began
            at, left = queues[f][0]
            left -= step * FLOWS[f][1] / total
            queues[f][0] = (at, left)
            if left <= step / 4:
                done.append((f, began, now + step))
                queues[f].pop(0)
                started[f] = None
        now += step
    return done


@figure()
def wfq_finish_times() -> Figure:
    """Draw packets in a fluid server, and on a link under WFQ, which sends them in the order of their finish times."""
    drawn = plot.new(1, 1, width=6.8, height=3.0)
    (axes,) = drawn.axes
    finished = sorted(fluid(), key=lambda packet: (round(packet[2], 2), packet[0]))
    colours = (BLUE, ORANGE, GREEN)
    lengths = [[length for _, length in packets] for _, _, packets in FLOWS]
    free = 0.0
    with plot.style():
        for f, (name, _, _) in enumerate(FLOWS):
            axes.text(-0.1, 3.0 - f, name, ha="right", va="center", fontsize=8)
        axes.text(-0.1, -0.4, "link under WFQ", ha="right", va="center", fontsize=8)
        for f, began, end in finished:
            axes.barh(3.0 - f, end - began, left=began, height=0.6, color=colours[f], edgecolor="white")
            axes.text((began + end) / 2, 3.0 - f, f"{end:.2g}", ha="center", va="center", fontsize=7, color="white")
            length = lengths[f].pop(0)
            axes.barh(-0.4, length, left=free, height=0.6, color=colours[f], edgecolor="white")
            free += length
        axes.set_yticks([])
        axes.set_xlabel("time (ms at the rate of the link); numbers are finish times in the fluid server")
        axes.set_xlim(0, 6.2)
    return drawn


def slope(low: float, high: float, denominator: float) -> tuple[list[float], list[float]]:
    """Return abscissas (packets) and ordinates (%) of the curve of a profile's drop probability.

    `low` and `high` are the thresholds; at `high` the probability is 1/`denominator`.
    """
    return [0, low, high, high, 64], [0, 0, 100 / denominator, 100, 100]


@figure()
def wred_profiles() -> Figure:
    """Draw the drop probability against the average queue: one profile, and a profile for each code point."""
    drawn = plot.new(2, 1, width=7.4, height=2.9)
    one, many = drawn.axes
    with plot.style():
        one.plot(*slope(20, 40, 10), color=BLUE)
        for name, low, high, colour in (
            ("AF2x", 24, 42, RED),
            ("AF3x", 26, 42, BLUE),
            ("not conforming", 10, 30, ORANGE),
            ("EF (default)", 36, 40, SKY),
        ):
            many.plot(*slope(low, high, 10), color=colour, label=name)
        one.set_title("RED: min 20, max 40, denominator 10", fontsize=9)
        many.set_title("WRED: a profile for each code point", fontsize=9)
        many.legend(fontsize=9, frameon=False, loc="upper left")
        for axes in (one, many):
            axes.set_xlim(0, 56)
            axes.set_ylim(0, 105)
            axes.set_xlabel("average queue (packets)")
            axes.set_ylabel("drop probability (%)")
    return drawn
