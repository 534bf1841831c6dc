"""Figures for pages: a drawing as data and as SVG."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tailback.pages.document import Picture

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["picture"]


def picture(figure: Figure) -> Picture:
    """Return a drawing for a page. Its layout is computed here, and does not change afterwards."""
    from tailback.plotting import chart, placement, plot

    placement.fix_legends(figure)
    with getattr(figure, "in_style", plot.style)():
        figure.draw_without_rendering()
        figure.set_layout_engine("none")
    return Picture(plot.svg_with_text(figure), chart.chart(figure))
