"""Drawings of datacentre-seed: the slides' table, the order of the policies, queues and rates, and choices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from tailback.gallery.datacentre.shared.network import POLICIES, trace
from tailback.study.experiment import Results

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

    from tailback.results.intervals import Interval

__all__ = ["buffers", "choices", "order", "table"]

Paper = Mapping[str, Sequence[float]]
"""The slides' values by metric, in the order of the policies."""


def table(chosen: Results, paper_rows: Paper) -> Drawing:
    """Draw the slides' table and the measured means with intervals, a panel per column of the table."""
    from tailback.plotting import plot

    figure = plot.new(3, 3, width=4.0, height=2.6)
    for axes, (name, paper) in zip(figure.axes, paper_rows.items(), strict=True):
        with plot.style():
            quantity = chosen[name]
            along, intervals = quantity.curve("policy")
            for k, (policy_, found) in enumerate(zip(along, intervals, strict=True)):
                row = POLICIES.index(str(policy_))
                label = "ours" if k == 0 else None
                axes.errorbar([found.mean], [row], xerr=_reach(found), fmt="o", color=plot.COLOURS[0], label=label)
            axes.plot(paper, range(len(POLICIES)), "x", color=plot.COLOURS[1], label="slides")
            axes.set_yticks(range(len(POLICIES)), list(POLICIES))
            axes.set_ylim(len(POLICIES) - 0.5, -0.5)
            # With more ticks numbers of five digits would touch each other.
            axes.locator_params(axis="x", nbins=5)
            axes.set_xlabel(f"{quantity.label.split(' [')[0]} ({quantity.unit})")
    handles, labels = figure.axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper right", ncols=2)
    return figure


def _reach(found: Interval) -> list[list[float]]:
    """Return the lengths of both sides of an interval, as error bars take them."""
    return [[max(found.mean - found.lo, 0)], [max(found.hi - found.mean, 0)]]


def order(over: Results, paper_rows: Paper) -> Drawing:
    """Draw the throughput of bulk and of on/off connections, a panel each.

    Rows are variants, combinations of framing, recovery and minimum RTO; policies have a colour each.
    """
    from tailback.plotting import plot

    figure = plot.new(2, 1, width=5.6, height=1.2 + 0.36 * len(over.samples) / len(POLICIES), sharey=True)
    for axes, name in zip(figure.axes, ("bulk_tps", "onoff_tps"), strict=True):
        rows: list[str] = []
        with plot.style():
            for point, found in over[name].intervals():
                row = f"{point['framing']}, {point['recovery']}, {point['floor']} ms"
                rows += [row] if row not in rows else []
                column = POLICIES.index(str(point["policy"]))
                height = rows.index(row) + 0.14 * (column - 1.5)
                label = str(point["policy"]) if len(rows) == 1 else None
                axes.errorbar(
                    [found.mean], [height], xerr=_reach(found), fmt="o", ms=4, color=plot.COLOURS[column], label=label
                )
            for column, value in enumerate(paper_rows[name]):
                axes.plot([value], [0.14 * (column - 1.5)], "x", color=plot.COLOURS[column])
            axes.set_yticks(range(len(rows)), rows)
            axes.set_ylim(len(rows) - 0.5, -0.5)
            axes.set_xlabel(f"{over[name].label.split(' [')[0]} (Tps)")
    handles, labels = figure.axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper right", ncols=4)
    return figure


def buffers(chosen: Results) -> Drawing:
    """Draw queues and rates over time, a row per policy."""
    from tailback.plotting import plot

    figure = plot.new(2, len(POLICIES), width=5.2, height=2.0, sharex=True)
    for row, name in enumerate(POLICIES):
        times, queue, limited, rates = trace(chosen.trace("series", policy=name))
        left, right = figure.axes[2 * row : 2 * row + 2]
        with plot.style():
            left.plot(times, limited, color=plot.COLOURS[1], linewidth=0.9, label="limiters at es1")
            left.plot(times, queue, color=plot.COLOURS[0], linewidth=0.9, label="core→es6")
            left.set_ylim(0, 220)
            left.set_ylabel("queue (kB)")
            left.set_title(name)
            for index, (key, values) in enumerate(rates.items()):
                right.plot(times, values, color=plot.COLOURS[2 + index], linewidth=0.9, label=f"es1 to {key}")
            right.set_ylim(0, 10.2)
            right.set_ylabel("rate (Gbit/s)")
            right.set_title("")
    figure.axes[0].legend(loc="upper right", ncols=2)
    figure.axes[1].legend(loc="upper right")
    for axes in figure.axes[-2:]:
        axes.set_xlabel("time (s)")
    return figure


def choices(results: Results, paper_rows: Paper) -> Drawing:
    """Draw the ratio of bulk to on/off throughput, a row per choice."""
    from tailback.plotting import plot

    figure = plot.new(1, 1, width=7.0, height=4.2)
    axes = figure.axes[0]
    paper = [a / b for a, b in zip(paper_rows["bulk_tps"], paper_rows["onoff_tps"], strict=True)]
    with plot.style():
        found_ratios = list(results["ratio"].intervals())
        names = list(dict.fromkeys(str(point["choice"]) for point, _ in found_ratios))
        seen: set[str] = set()
        for point, found in found_ratios:
            row = names.index(str(point["choice"]))
            column = POLICIES.index(str(point["policy"]))
            label = None if POLICIES[column] in seen else POLICIES[column]
            seen.add(POLICIES[column])
            height = row + 0.12 * (column - 1.5)
            axes.errorbar([found.mean], [height], xerr=_reach(found), fmt="o", color=plot.COLOURS[column], label=label)
        for column, value in enumerate(paper):
            label = "slides" if column == 0 else None
            axes.plot([value], [0.12 * (column - 1.5)], "x", color=plot.COLOURS[column], label=label)
        axes.set_yticks(range(len(names)), names)
        axes.set_ylim(len(names) - 0.5, -0.5)
        axes.set_xlabel("bulk throughput / on/off throughput")
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside right upper")
    return figure
