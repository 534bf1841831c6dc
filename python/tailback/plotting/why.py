"""Figures of explanations: the hops of a packet over time, and the composition of queues."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tailback.plotting.plot import new, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["figure"]

_PARTS = {
    "source_ps": ("in the source", "#bbbbbb"),
    "input_ps": ("at the input of the switch", "#8c6d31"),
    "behind_ps": ("behind other frames", "#0072b2"),
    "stopped_ps": ("stopped by a notification", "#d55e00"),
    "slowed_ps": ("slowed by a notification", "#e69f00"),
    "down_ps": ("link down", "#000000"),
    "held_ps": ("held: shaper, limiter or discipline", "#cc79a7"),
    "serialisation_ps": ("transmission", "#009e73"),
    "propagation_ps": ("propagation", "#56b4e9"),
}
"""Name and colour of each part of a hop's time, by its key."""
_FLOWS = ("#332288", "#88ccee", "#117733", "#ddcc77", "#cc6677", "#882255", "#aa4499")
"""Colours of flows, other than those of the parts of time (P. Tol, muted scheme: distinct to colour-blind readers)."""
_MAX_FLOWS = 7
"""Maximum number of flows in a bar; the others are one part."""


def figure(story: Mapping[str, Any]) -> Figure:
    """Return the figure of an explanation: of a packet, or of a port's queue."""
    with style():
        return _port(story) if "worst" in story else _packet(story)


def _packet(story: Mapping[str, Any]) -> Figure:
    hops: Sequence[Mapping[str, Any]] = story["hops"]
    bars = [hop for hop in hops if hop["before"]]
    ratios = {"height_ratios": [len(hops), max(len(bars), 1)]} if bars else {}
    rows = 2 if bars else 1
    drawn = new(1, rows, width=8.4, height=(2.4 + 0.34 * (len(hops) + len(bars))) / rows, gridspec_kw=ratios)
    axes = drawn.axes[0]
    start = int(story["from_ps"])
    longest = max(int(story["until_ps"]) - start, 1)
    scale, unit = _unit(longest)
    seen: set[str] = set()
    for place, hop in enumerate(hops):
        at = int(hop["from_ps"])
        for key, (name, colour) in _PARTS.items():
            length = int(hop["waits"][key])
            if not length:
                continue
            label = "" if name in seen else name
            seen.add(name)
            axes.barh(place, length / scale, left=(at - start) / scale, color=colour, label=label, height=0.6)
            at += length
        axes.annotate(
            f" {_time(int(hop['until_ps']) - int(hop['from_ps']))}",
            ((int(hop["until_ps"]) - start) / scale, place),
            xytext=(8 if hop["dropped"] else 0, 0),
            textcoords="offset points",
            va="center",
            fontsize=9,
        )
        if hop["dropped"]:
            axes.plot([(int(hop["until_ps"]) - start) / scale], [place], "x", color="#d55e00", markersize=9, mew=2.5)
    axes.set_xlim(0, 1.13 * longest / scale)
    _places(axes, [str(hop["port"]) for hop in hops])
    axes.set_xlabel(f"time since the packet was sent, {unit}")
    axes.set_title(_wrapped(str(story["verdict"])))
    if seen:
        drawn.legend(*axes.get_legend_handles_labels(), loc="outside lower left", ncols=3)
    if bars:
        _composition(drawn.axes[1], [str(hop["port"]) for hop in bars], [hop["before"] for hop in bars])
        drawn.axes[1].set_title("bytes before it in the queue, by flow")
    return drawn


def _port(story: Mapping[str, Any]) -> Figure:
    rows = story["blame"][:_MAX_FLOWS]
    count = 1 + max(len(rows), 1)
    ratios = {"height_ratios": [1, max(len(rows), 1)]}
    drawn = new(1, 2, width=8.4, height=(2.2 + 0.34 * count) / 2, gridspec_kw=ratios)
    worst = story["worst"]
    _composition(drawn.axes[0], ["at its longest"], [worst["shares"]])
    drawn.axes[0].set_title(_wrapped(str(story["verdict"])))
    axes = drawn.axes[1]
    axes.barh(range(len(rows)), [100 * float(row["share"]) for row in rows], color="#777777", height=0.6)
    for place, row in enumerate(rows):
        if row["dropped_packets"]:
            text = f" {row['dropped_packets']} dropped"
            axes.annotate(text, (100 * float(row["share"]), place), va="center", fontsize=9)
    _places(axes, [f"{row['flow']}, class {row['class']}" for row in rows])
    axes.set_xlim(0, 113)
    axes.set_xlabel("part of the queue over the run, %")
    return drawn


def _places(axes: Axes, names: Sequence[str]) -> None:
    """Label the bars, the first at the top, all of the same thickness."""
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(max(len(names), 1) - 0.4, -0.6)


def _composition(axes: Axes, names: Sequence[str], queues: Sequence[Sequence[Mapping[str, Any]]]) -> None:
    """Draw a bar for each queue with its bytes by flow, in kB."""
    totals: dict[str, int] = {}
    for queue in queues:
        for share in queue:
            totals[str(share["flow"])] = totals.get(str(share["flow"]), 0) + int(share["bytes"])
    largest = sorted(totals, key=lambda flow: -totals[flow])[:_MAX_FLOWS]
    colours = {flow: _FLOWS[place % len(_FLOWS)] for place, flow in enumerate(largest)}
    seen: set[str] = set()
    for place, queue in enumerate(queues):
        left = 0.0
        parts: dict[str, int] = {}
        for share in queue:
            name = str(share["flow"]) if share["flow"] in colours else "other flows"
            parts[name] = parts.get(name, 0) + int(share["bytes"])
        for name, count in parts.items():
            label = "" if name in seen else name
            seen.add(name)
            axes.barh(place, count / 1e3, left=left, color=colours.get(name, "#bbbbbb"), label=label, height=0.6)
            left += count / 1e3
    _places(axes, names)
    axes.set_xlabel("kB")
    axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))


def _unit(longest_ps: int) -> tuple[float, str]:
    """Return the size in picoseconds, and the name, of the unit for times up to `longest_ps`."""
    for scale, unit in ((1e12, "s"), (1e9, "ms"), (1e6, "µs")):
        if longest_ps >= scale:
            return scale, unit
    return 1e3, "ns"


def _time(ps: int) -> str:
    scale, unit = _unit(ps)
    return f"{ps / scale:.3g} {unit}"


def _wrapped(text: str, width: int = 96) -> str:
    from textwrap import fill

    return fill(text, width)
