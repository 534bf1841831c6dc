"""Figures of internet-e12: loss against buffer, the headline by number of sources, delay and fairness."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tailback.gallery.internet.shared.blue import curves
from tailback.gallery.internet.shared.senders import FLOORS, ON_OFF, PERSISTENT
from tailback.study.experiment.points import AxisValue
from tailback.study.experiment.results import Results

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

__all__ = ["draw_fairness", "draw_headline", "draw_losses", "draw_trade_off"]

SOURCES = (400, 1600)
TICKS = (100, 300, 500, 700, 1000)
KB_PER_MS = 45e3 / 8e3
"""Rate of the bottleneck, kB per ms."""


def _ms(kb: Any) -> Any:
    return kb / KB_PER_MS


def _kb(ms: Any) -> Any:
    return ms * KB_PER_MS


def draw_losses(results: Results, names: list[str], *, linear: bool) -> Drawing:
    """Draw loss against buffer, one panel per number of connections; `linear` is for losses that are not near zero."""
    from tailback.plotting import plot

    figure = plot.new(2, sharey=not linear, height=4.0)
    for axes, sources in zip(figure.axes, SOURCES, strict=True):
        at = results.where(sources=sources)
        with plot.style():
            curves(axes, lambda name, at=at: at.where(set=name)["loss"], names, "buffer")  # type: ignore[misc]
            plot.finish(
                axes,
                title=f"{sources} connections",
                x="buffer (kB)",
                y="packet loss (%)" if sources == SOURCES[0] else "",
                y_scale="linear" if linear else "symlog",
                y_threshold=0.01,
                y_top=5 if linear else 30,
                ticks=TICKS,
            )
            top = axes.secondary_xaxis("top", functions=(_ms, _kb))
            top.set_xlabel("buffer (ms)")
    _one_legend(figure)
    return figure


def draw_headline(results: Results, rows: Sequence[tuple[str, str, str, int]]) -> Drawing:
    """Draw both runs of the headline against the number of sources: persistent left, on/off right."""
    from tailback.plotting import plot

    figure = plot.new(2, sharey=True, height=4.2)
    for axes, load in zip(figure.axes, (PERSISTENT, ON_OFF), strict=True):
        kinds = dict.fromkeys((floor, timer) for floor, timer, of, _ in rows if of == load and floor in FLOORS)
        several = [k for k in kinds if len({n for f, t, of, n in rows if (f, t, of) == (*k, load)}) > 1]
        with plot.style():
            for index, (floor, timer) in enumerate(several):
                numbers: list[AxisValue] = sorted({n for f, t, of, n in rows if (f, t, of) == (floor, timer, load)})
                at = results.where(floor=floor, timers=timer, workload=load, sources=numbers)
                colour = plot.COLOURS[list(FLOORS).index(floor)]
                other = 0.45 if timer != next(t for f, t in kinds if f == floor) else 1.0
                for name, buffer, dashed in (("B4", 100, False), ("R2", 1000, True)):
                    along, intervals = at.where(set=name, buffer=buffer)["loss"].curve("sources")
                    order = sorted(range(len(along)), key=lambda i: float(along[i]))
                    plot.curve(
                        axes,
                        [along[i] for i in order],
                        [intervals[i] for i in order],
                        label=f"{'RED 1000 kB' if dashed else 'Blue 100 kB'}, {FLOORS[floor]}, {timer}",
                        index=index,
                        colour=colour,
                        dashed=dashed,
                    )
                    for artist in axes.containers[-1].get_children():
                        artist.set_alpha(other)
                    if len(along) < 3:
                        axes.containers[-1][0].set_linestyle("none")
                        axes.containers[-1][0].set_fillstyle("none" if dashed else "full")
            plot.finish(
                axes,
                title="persistent connections" if load == PERSISTENT else "on/off sources",
                x="sources",
                y="packet loss (%)" if load == PERSISTENT else "",
                y_scale="symlog",
                y_threshold=0.01,
                y_top=40,
                ticks=sorted({n for floor, _, of, n in rows if of == load and floor in FLOORS}),
            )
    _one_legend(figure)
    return figure


def draw_trade_off(by_rule: Mapping[str, Results]) -> Drawing:
    """Draw loss against mean queueing delay, one panel per number of connections."""
    from tailback.plotting import plot

    figure = plot.new(2, sharey=True, height=4.0)
    for axes, sources in zip(figure.axes, SOURCES, strict=True):
        with plot.style():
            for index, (name, (rule, results)) in enumerate((n, r) for r in by_rule.items() for n in ("R2", "B4")):
                at = results.where(sources=sources, set=name)
                x = [i.mean for i in at["queueing"].curve("buffer")[1]]
                y = [i.mean for i in at["loss"].curve("buffer")[1]]
                sizes = [8 + 0.09 * float(b) for b in at["loss"].values_of("buffer")]
                axes.plot(x, y, color=plot.COLOURS[index], label=f"{name}, {rule}", clip_on=False)
                axes.scatter(x, y, s=sizes, color=plot.COLOURS[index], clip_on=False, zorder=3)
            plot.finish(
                axes,
                title=f"{sources} connections",
                x="mean queueing delay (ms)",
                y="packet loss (%)" if sources == SOURCES[0] else "",
                y_scale="symlog",
                y_threshold=0.01,
                y_top=30,
            )
            axes.set_xlim(0, 180)
    _one_legend(figure)
    return figure


def draw_fairness(by_rule: Mapping[str, Results]) -> Drawing:
    """Draw Jain's index against buffer, one panel per number of connections."""
    from tailback.plotting import plot

    figure = plot.new(2, sharey=True, height=4.0)
    for axes, sources in zip(figure.axes, SOURCES, strict=True):
        with plot.style():
            for index, (name, (rule, results)) in enumerate((n, r) for r in by_rule.items() for n in ("R2", "B4")):
                along, intervals = results.where(sources=sources, set=name)["jain"].curve("buffer")
                plot.curve(axes, along, intervals, label=f"{name}, {rule}", index=index)
            plot.finish(
                axes,
                title=f"{sources} connections",
                x="buffer (kB)",
                y="Jain's index" if sources == SOURCES[0] else "",
                y_top=1.0,
                ticks=TICKS,
            )
    _one_legend(figure)
    return figure


def _one_legend(figure: Drawing) -> None:
    """Draw one legend right of the panels, with each curve once."""
    from tailback.plotting import plot

    found: dict[str, Any] = {}
    for axes in figure.axes:
        handles, labels = axes.get_legend_handles_labels()
        found |= {label: handle for label, handle in zip(labels, handles, strict=True) if label not in found}
        if legend := axes.get_legend():
            legend.remove()
    with plot.style():
        figure.legend(found.values(), found.keys(), loc="outside right center")
