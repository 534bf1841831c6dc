"""Figures for publication: their style, sizes and common parts.

The style is the file `tailback.mplstyle` of this package, which also matplotlib itself can use:
`matplotlib.pyplot.style.use("tailback.plotting.tailback")`. Texts remain texts in SVG and PDF.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from tailback.errors import UsageError
from tailback.plotting import plot

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["STYLE", "WIDTHS", "Logarithmic", "Size", "figure_of", "inches", "label", "legend_beside", "paper_style"]

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
        found = [_length(part, size) for part in re.split(r"\s*[x\N{MULTIPLICATION SIGN},]\s*", size.strip())]
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


def legend_beside(figure: Figure, axes: Axes, *, title: str = "", columns: int = 3) -> None:
    """Draw the legend below the axes, where it covers no data, if there is more than one curve or a title."""
    handles, labels = axes.get_legend_handles_labels()
    if len(handles) > 1 or (handles and title):
        figure.legend(
            handles, labels, loc="outside lower center", ncols=min(columns, len(handles)), title=title or None
        )
