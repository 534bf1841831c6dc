"""Figures of internet-e12: loss and fairness against buffer, loss against number of sources, loss against delay."""

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
"""Numbers of connections on the slides; one panel each."""
TICKS = (100, 300, 500, 700, 1000)
"""Buffers at the ticks of the x axis, kB."""
KB_PER_MS = 45e3 / 8e3
"""Rate of the bottleneck, kB per ms."""


def _ms(kb: Any) -> Any:
    """Return the times in ms in which the bottleneck sends numbers of kB."""
    return kb / KB_PER_MS


def _kb(ms: Any) -> Any:
    """Return the numbers of kB that the bottleneck sends in times in ms."""
    return ms * KB_PER_MS


def draw_losses(results: Results, names: list[str], *, linear: bool) -> Drawing:
    """Draw loss against buffer, one panel per number of connections and one curve per set of parameters in `names`.

    With `linear` each panel has its own linear axis of loss, for losses far above zero. Otherwise the panels share an
    axis that is linear up to 0.01 % and logarithmic above.
    """
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
    """Draw the loss of Blue (B4) with 100 kB and of RED (R2) with 1000 kB against the number of sources.

    Persistent connections are in the left panel, on/off sources in the right one. Each row is a combination: rule for
    echoes, timers, workload and number of sources. Rules with a single number of sources are left out, as are senders
    without ECN. The curves of a rule have one colour, those of other timers than its first ones are paler.
    """
    from tailback.plotting import plot

    figure = plot.new(2, sharey=True, height=4.2)
    for axes, workload in zip(figure.axes, (PERSISTENT, ON_OFF), strict=True):
        chosen = [(rule, timers, n) for rule, timers, of_row, n in rows if of_row == workload and rule in FLOORS]
        senders: dict[tuple[str, str], set[int]] = {}
        for rule, timers, n in chosen:
            senders.setdefault((rule, timers), set()).add(n)
        curves_of = [sender for sender, numbers in senders.items() if len(numbers) > 1]
        with plot.style():
            for index, (rule, timers) in enumerate(curves_of):
                numbers: list[AxisValue] = sorted(senders[rule, timers])
                at = results.where(floor=rule, timers=timers, workload=workload, sources=numbers)
                colour = plot.COLOURS[list(FLOORS).index(rule)]
                opacity = 1.0 if timers == next(t for r, t in senders if r == rule) else 0.45
                for name, buffer, dashed in (("B4", 100, False), ("R2", 1000, True)):
                    along, intervals = at.where(set=name, buffer=buffer)["loss"].curve("sources")
                    order = sorted(range(len(along)), key=lambda i: float(along[i]))
                    plot.curve(
                        axes,
                        [along[i] for i in order],
                        [intervals[i] for i in order],
                        label=f"{'RED 1000 kB' if dashed else 'Blue 100 kB'}, {FLOORS[rule]}, {timers}",
                        index=index,
                        colour=colour,
                        dashed=dashed,
                    )
                    for artist in axes.containers[-1].get_children():
                        artist.set_alpha(opacity)
                    if len(along) < 3:
                        axes.containers[-1][0].set_linestyle("none")
                        axes.containers[-1][0].set_fillstyle("none" if dashed else "full")
            plot.finish(
                axes,
                title="persistent connections" if workload == PERSISTENT else "on/off sources",
                x="connections" if workload == PERSISTENT else "sources",
                y="packet loss (%)" if workload == PERSISTENT else "",
                y_scale="symlog",
                y_threshold=0.01,
                y_top=40,
                ticks=sorted({n for _, _, n in chosen}),
            )
    _one_legend(figure)
    return figure


def draw_trade_off(by_rule: Mapping[str, Results]) -> Drawing:
    """Draw loss against mean queueing delay, one panel per number of connections, one line per discipline and rule.

    `by_rule` has the results by the name of the rule for echoes. The area of a mark grows with the buffer.
    """
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
    """Draw Jain's index of the goodputs against buffer, one panel per number of connections.

    `by_rule` has the results by the name of the rule for echoes; there is one curve per discipline and rule.
    """
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
