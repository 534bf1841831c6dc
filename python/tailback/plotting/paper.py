"""Figures for publication: their style, sizes and common parts.

The style is the file `tailback.mplstyle` of this package, which also matplotlib itself can use:
`matplotlib.pyplot.style.use("tailback.plotting.tailback")`. Texts remain texts in SVG and PDF.
"""

from __future__ import annotations

import math
import re
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from tailback.errors import UsageError
from tailback.plotting import plot

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = [
    "STYLE",
    "WIDTHS",
    "Logarithmic",
    "Size",
    "figure_of",
    "has_height",
    "inches",
    "label",
    "legend_beside",
    "paper_style",
]

STYLE = Path(__file__).with_name("tailback.mplstyle")
"""Style file of matplotlib."""

WIDTHS = {"column": 3.5, "page": 7.16}
"""Widths of a column and of a page of two columns, inches (IEEE and ACM)."""

Size = str | float | tuple[float, float]
"""Size of a figure: `column`, `page`, a width such as `3.5in` or `89mm`, or width and height, such as `3.5in x 2in`.

Numbers are inches.
"""

Logarithmic = Literal["", "x", "y", "xy"]
"""Axes that are logarithmic."""

_UNITS = {"in": 1.0, "cm": 1 / 2.54, "mm": 1 / 25.4, "pt": 1 / 72}
"""Inches of each unit."""
_SHAPE, _WIDE_SHAPE = 0.66, 0.42
"""Height of a figure relative to its width, if only the width is given: for widths up to 5 inches, and above."""


class _Inches(NamedTuple):
    width: float
    height: float


def inches(size: Size, shape: float | None = None) -> _Inches:
    """Return width and height in inches; `shape` is the height relative to the width, if the size has none.

    Raises:
        UsageError: The size cannot be read, or a length is not from 0.5 to 50 inches.

    """
    if isinstance(size, tuple):
        found = [float(length) for length in size]
    elif isinstance(size, int | float):
        found = [float(size)]
    else:
        found = [_length(part, size) for part in _lengths(size)]
    if len(found) == 1:
        found.append(found[0] * (shape or (_SHAPE if found[0] <= 5 else _WIDE_SHAPE)))
    if len(found) != 2 or not all(0.5 <= length <= 50 for length in found):
        raise UsageError(f"{size!r} is not the size of a figure: lengths are from 0.5in to 50in")
    return _Inches(*found)


def _length(text: str, size: str) -> float:
    if text in WIDTHS:
        return WIDTHS[text]
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(in|cm|mm|pt)?", text)
    if match is None:
        raise UsageError(f"{size!r} is not a size: write column, page, 3.5in, 89mm or 3.5in x 2in")
    return float(match[1]) * _UNITS[match[2] or "in"]


@contextmanager
def paper_style() -> Iterator[None]:
    """Apply the style for publication within the context only."""
    import matplotlib.style

    with matplotlib.style.context([STYLE]):
        yield


def has_height(size: Size) -> bool:
    """Return `True` if a size has both width and height."""
    return isinstance(size, tuple) or (isinstance(size, str) and len(_lengths(size)) == 2)


def _lengths(size: str) -> list[str]:
    return re.split(r"\s*[x\N{MULTIPLICATION SIGN},]\s*", size.strip())


def figure_of(size: Size, *, rows: int = 1, shape: float | None = None, **options: Any) -> Figure:
    """Return an empty figure of this size with `rows` axes one above the other, in the style for publication."""
    width, height = inches(size, shape)
    return plot.new(1, rows, width=width, height=height / rows, style=paper_style, **options)


def label(axes: Axes, x: str, y: str, log: Logarithmic = "", *, title: str = "") -> None:
    """Label the axes, which begin at zero unless they are logarithmic."""
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    axes.set_title(title)
    if "x" in log:
        axes.set_xscale("log")
    if "y" in log:
        axes.set_yscale("log")
    else:
        axes.set_ylim(bottom=0)
    _plain_ticks(axes, log)


def _plain_ticks(axes: Axes, log: Logarithmic) -> None:
    """Write the ticks of logarithmic axes as plain numbers."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    for which, axis, bounds in (("x", axes.xaxis, axes.get_xbound()), ("y", axes.yaxis, axes.get_ybound())):
        if which in log:
            decades = math.log10(bounds[1] / bounds[0]) if bounds[0] > 0 else 9
            subs = (1.0, 2.0, 5.0) if decades < 2 else (1.0,)
            axis.set_major_locator(LogLocator(subs=subs, numticks=9))
            axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
            axis.set_minor_formatter(NullFormatter())


def legend_beside(figure: Figure, axes: Axes, *, title: str = "", columns: int = 3, may_grow: bool = False) -> None:
    """Draw the legend below the axes, where it covers no data, if there is more than one curve or a title.

    It has at most `columns` columns, and fewer if it would be wider than the figure; then long labels are wrapped. With
    `may_grow`, the figure becomes higher by what the legend needs beyond a third of it.

    Raises:
        UsageError: The legend would leave no room for the axes.

    """
    handles, labels = axes.get_legend_handles_labels()
    if len(handles) < 2 and not (handles and title):
        return
    most = figure.bbox.width
    tries = [(count, 1000) for count in range(min(columns, len(handles)), 0, -1)] + [(1, k) for k in range(60, 10, -5)]
    for count, wide in tries:
        texts = [textwrap.fill(text, wide) for text in labels]
        legend = figure.legend(handles, texts, loc="outside lower center", ncols=count, title=title or None)
        size = legend.get_window_extent()
        if size.width <= most or (count, wide) == tries[-1]:
            break
        legend.remove()
    more = (size.height - figure.bbox.height / 3) / figure.dpi
    if may_grow and more > 0:
        figure.set_figheight(figure.get_figheight() + more)
    elif size.height > 0.75 * figure.bbox.height:
        needed = figure.get_figheight() + more
        raise UsageError(f"the legend has {len(labels)} entries: the figure must be {needed:.1f} inches high")
