"""Figures of internet-e15: goodput of each flow, table of losses, variants of SFB, and RED by minimum RTO."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tailback.gallery.internet.shared.fairness import BACKOFF, NO_ECN, NS2, RFC3168, Y1999
from tailback.gallery.internet.shared.queues import FAIR, FLOOR, RED, SFB, SFQ_RED, SLIDE
from tailback.study.experiment import Point, Quantity, Results

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing


def draw_flows(kept: dict[str, tuple[list[float], float]]) -> Drawing:
    """Draw the slide's three panels: goodput of each TCP flow with each discipline.

    `kept` has, by discipline, the goodputs of the TCP flows and that of the non-responsive flow, Mbit/s.
    """
    from tailback.plotting import plot

    figure = plot.new(3, sharey=True, width=3.7, height=3.3)
    for index, (axes, (queue, (rates, other))) in enumerate(zip(figure.axes, kept.items(), strict=True)):
        with plot.style():
            axes.plot(range(1, len(rates) + 1), rates, ".", markersize=3, color=plot.COLOURS[0])
            axes.axhline(FAIR, color="#666666", linestyle="--", linewidth=0.9)
            plot.finish(axes, title=queue, x="TCP flow", y="" if index else "goodput (Mbit/s)", y_top=0.6)
            axes.set_ylim(0, 0.6)
            axes.annotate(
                f"non-responsive flow: {other:.2f} Mbit/s",
                (0.97, 0.97),
                xycoords="axes fraction",
                ha="right",
                va="top",
                fontsize=9,
                color=plot.COLOURS[1],
                bbox={"facecolor": "white", "edgecolor": "none", "pad": 1.5},
            )
    return figure


def _rows(axes: Axes, rows: Sequence[tuple[str, Quantity, float | None]], x: str, scale: float | None) -> None:
    """Draw one row per label, quantity and slide's number: the mean with its interval, and the number if there is one.

    `scale` is the end of the linear part of a symlog axis; `None`: the axis is linear.
    """
    from tailback.plotting import plot

    with plot.style():
        for row, (_, quantity, slide) in enumerate(rows):
            ((_, found),) = quantity.intervals()
            reach = [[max(found.mean - found.lo, 0)], [max(found.hi - found.mean, 0)]]
            axes.errorbar([found.mean], [row], xerr=reach, fmt="o", color=plot.COLOURS[0], elinewidth=1.2, zorder=3)
            if slide is not None:
                axes.plot([slide], [row], "D", color=plot.COLOURS[1], markersize=6, fillstyle="none")
            axes.annotate(
                f"{found.mean:.2f}",
                (found.mean, row),
                xytext=(0, 5),
                textcoords="offset points",
                ha="center",
                va="bottom",
                fontsize=8,
                annotation_clip=False,
            )
        axes.set_yticks(range(len(rows)), [label for label, _, _ in rows])
        axes.set_ylim(len(rows) - 0.5, -0.6)
        axes.set_xlabel(x)
        if scale:
            axes.set_xscale("symlog", linthresh=scale)
            axes.set_xlim(left=0)
            axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")


def draw_table(at: Results) -> Drawing:
    """Draw the slide's table and the measured values as rows."""
    from tailback.plotting import plot

    chosen = [(RED, NO_ECN)] + [(queue, how) for queue in (SFQ_RED, SFB) for how in (Y1999, RFC3168, NS2)]
    figure = plot.new(2, sharey=True, width=4.6, height=4.2)
    for axes, side, name, text in zip(
        figure.axes, (0, 1), ("tcp_lost", "cbr_lost"), ("TCP lost", "non-responsive lost"), strict=True
    ):
        rows = [
            (f"{queue}\n{how}", at.where(queue=queue, sender=how)[name], SLIDE[queue][side]) for queue, how in chosen
        ]
        _rows(axes, rows, f"{text} (Mbit/s)", 0.01 if side == 0 else None)
    figure.axes[1].set_xlim(0, 48)
    return figure


def draw_variants(at: Results) -> Drawing:
    """Draw the non-responsive flow's delivered rate and TCP's loss with each variant of SFB."""
    from tailback.plotting import plot

    names = [name for name in at["tcp_lost"].values_of("queue") if str(name).startswith(SFB)]
    chosen = [
        (name, how)
        for name in names
        for how in (Y1999, RFC3168, BACKOFF, NS2)
        if Point(queue=name, sender=how, floor=FLOOR, rate=45) in at.samples
    ]
    figure = plot.new(2, sharey=True, width=4.6, height=0.58 * len(chosen) + 0.6)
    for axes, name, slide, text in zip(
        figure.axes, ("cbr_carried", "tcp_lost"), (0.16, 0.01), ("non-responsive delivered", "TCP lost"), strict=True
    ):
        rows = [(f"{queue}\n{how}", at.where(queue=queue, sender=how)[name], slide) for queue, how in chosen]
        _rows(axes, rows, f"{text} (Mbit/s)", 0.01 if name == "tcp_lost" else None)
    figure.axes[0].set_xlim(left=0)
    return figure


def draw_floor(red: Results) -> Drawing:
    """Draw the losses of TCP and of the non-responsive flow with RED against the minimum RTO."""
    from tailback.plotting import plot

    figure = plot.new(2)
    for axes, name, side, title in zip(
        figure.axes, ("tcp_lost", "cbr_lost"), (0, 1), ("TCP", "non-responsive flow"), strict=True
    ):
        with plot.style():
            along, found = red[name].curve("floor")
            plot.curve(axes, along, found, label="measured", index=side)
            if side == 0:
                along, expected = red["tcp_identity"].curve("floor")
                axes.plot(
                    [float(x) for x in along], [i.mean for i in expected], "--", color="#666666", label="identity"
                )
            axes.axhline(SLIDE[RED][side], color="#222222", linestyle=":", label="slide")
            ticks = [float(x) for x in along]
            y = "lost (Mbit/s)" if side == 0 else ""
            plot.finish(axes, title=title, x=red["tcp_lost"].axis("floor").title, y=y, ticks=ticks)
    return figure
