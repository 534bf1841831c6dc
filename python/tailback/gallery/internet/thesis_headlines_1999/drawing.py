"""The matrix as drawn tables: a row per headline and workload, a column per rule and timers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from tailback.gallery.internet.shared.senders import FLOORS, ON_OFF, TIMERS, equivalent
from tailback.gallery.internet.thesis_headlines_1999.headlines import Headline
from tailback.results.intervals import Interval
from tailback.study.experiment.claims import Claim

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

__all__ = ["Row", "Rows", "draw_numbers", "draw_words", "number"]

Row = Mapping[tuple[str, str], Claim]
"""Claims by rule and timers."""
# Rows of a table by headline and workload.
Rows = Mapping[tuple[Headline, str], Row]

_LOOKS = {
    "reproduced": ("#bcdcf0", "\N{CHECK MARK}"),
    "not reproduced": ("#f9cfae", "\N{MULTIPLICATION X}"),
    "undecided": ("#e6e6e6", "?"),
}
"""Colour and sign of a verdict: both, for print and for colour-blind readers."""
_WIDE, _LABEL = 0.92, 3.05
"""Widths of a column and of the rows' labels in inches."""


def number(value: float) -> str:
    """Return a number with three significant digits, all digits from 100 up, and an exponent below 0.001."""
    text = (
        f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}" if abs(value) >= 0.001 or not value else f"{value:.0e}"
    )
    return text.replace("-", "\N{MINUS SIGN}")


def draw_words(rows: Rows) -> Drawing:
    """Draw a table of the verdicts' signs with a row for each headline and workload."""
    return _table(rows, 0.30, lambda claim: _LOOKS[claim.word][1], 9.0, one_line=True)


def draw_numbers(rows: Rows) -> Drawing:
    """Draw a table with sign, mean and interval in each cell, and a row for each headline and workload."""

    def text(claim: Claim) -> str:
        found: Interval = claim.condition.worst.measured
        if not found.n:
            return ""
        return f"{_LOOKS[claim.word][1]} {number(found.mean)}\n[{number(found.lo)}, {number(found.hi)}]"

    return _table(rows, 0.47, text, 6.6, one_line=False)


def _table(rows: Rows, tall: float, text: object, size: float, *, one_line: bool) -> Drawing:
    from matplotlib.patches import Rectangle

    from tailback.plotting import plot

    columns = [(floor, timers) for floor in FLOORS for timers in TIMERS]
    wide = 0.5 if one_line else _WIDE
    label = 4.6 if one_line else _LABEL
    head, foot = 0.75, 0.35
    height = tall * len(rows) + head + foot
    width = label + wide * len(columns) + 0.2
    figure = plot.new(width=width, height=height)
    (axes,) = figure.axes
    assert callable(text)
    with plot.style():
        _frame(axes, width, height)
        for group, name in enumerate(FLOORS.values()):
            x = label + wide * len(TIMERS) * group
            axes.text(
                x + wide * len(TIMERS) / 2, height - 0.2, name, ha="center", va="center", fontsize=9, weight="bold"
            )
            for index, timers in enumerate(TIMERS):
                axes.text(
                    x + wide * (index + 0.5), height - 0.52, timers.replace(", ", "\n"), ha="center", va="center",
                    fontsize=7,
                )  # fmt: skip
        before = ""
        for line, ((headline, workload), row) in enumerate(rows.items()):
            y = height - head - tall * (line + 1)
            words = headline.label.replace("\n", " ") if one_line else headline.label
            axes.text(0.03, y + tall / 2, words, va="center", fontsize=7.2)
            tag = workload if workload in headline.published else f"{workload}*"
            if headline.sources and workload == ON_OFF:
                tag = f"{equivalent(headline.sources, workload)} {tag}"
            axes.text(label - 0.06, y + tall / 2, tag, va="center", ha="right", fontsize=7.2, color="#555555")
            for index, key in enumerate(columns):
                claim = row.get(key)
                if claim is None:
                    continue
                x = label + wide * index
                colour, _ = _LOOKS[claim.word]
                axes.add_patch(Rectangle((x, y), wide, tall, facecolor=colour, edgecolor="white", linewidth=1.2))
                axes.text(x + wide / 2, y + tall / 2, text(claim), ha="center", va="center", fontsize=size)
                if key in headline.own:
                    axes.add_patch(
                        Rectangle(
                            (x + 0.02, y + 0.02),
                            wide - 0.04,
                            tall - 0.04,
                            fill=False,
                            edgecolor="#222222",
                            linewidth=1.6,
                        )
                    )
            if line and headline.experiment != before:
                axes.plot([0.03, width - 0.2], [y + tall, y + tall], color="#999999", linewidth=0.7)
            before = headline.experiment
        for group in range(1, len(FLOORS)):
            x = label + wide * len(TIMERS) * group
            axes.plot([x, x], [foot, height - 0.05], color="#666666", linewidth=0.8)
        axes.text(
            0.03, 0.13, "* a sensitivity: not the source's workload. Timers: clock tick, minimum RTO.", fontsize=7.2
        )
        for index, (word, (colour, sign)) in enumerate(_LOOKS.items()):
            x = width - 0.2 - 1.35 * (len(_LOOKS) - index)
            axes.add_patch(Rectangle((x, 0.04), 0.22, 0.2, facecolor=colour))
            axes.text(x + 0.11, 0.14, sign, ha="center", va="center", fontsize=7.2)
            axes.text(x + 0.28, 0.14, word, va="center", fontsize=7.2)
    return figure


def _frame(axes: Axes, width: float, height: float) -> None:
    """Set the panel's units to inches, and hide the axes."""
    axes.set_xlim(0, width)
    axes.set_ylim(0, height)
    axes.axis("off")
