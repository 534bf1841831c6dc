"""Figures of packet loss with the same y axis, so that slides of a source can be compared by eye."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tailback.plotting import experiment as fig
from tailback.plotting.experiment import Figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

    from tailback.study.experiment.quantity import Quantity

__all__ = ["Slide", "on_one_scale"]


@dataclass(frozen=True)
class Slide:
    """A slide of packet loss; `name`, `title`, `claims` and `caption` are those of its `Figure`."""

    name: str
    title: str
    loss: Quantity
    """Packet loss, %, over two axes."""
    claims: Sequence[str] = ()
    caption: str = ""


def on_one_scale(slides: Sequence[Slide], *, x: str = "burst", curves: str = "rate") -> Iterator[Figure]:
    """Yield a figure for each slide, with its loss over the axes `x` and `curves`; all have the same y axis.

    The axis is linear up to 0.1 % and logarithmic above, so that zero, a packet in a thousand and half of all packets
    can be distinguished and compared between slides.
    """
    top = 1.0
    for slide in slides:
        for _, interval in slide.loss.intervals():
            # NaN (no finished run) and infinite ends (too few replications) are skipped.
            top = max([top, *(value for value in (interval.mean, interval.hi) if value == value and value <= 100)])
    for slide in slides:
        shown = fig.both_views(
            slide.loss,
            slide.name,
            slide.title,
            slide.caption,
            x=x,
            curves=curves,
            y_scale="symlog",
            claims=slide.claims,
        )
        yield replace(shown, draw=_Within(shown, 1.15 * top))


@dataclass(frozen=True)
class _Within:
    """Callable that draws a figure with a given upper end of the y axes."""

    figure: Figure
    top: float

    def __call__(self) -> Drawing:
        drawn = self.figure.draw()
        for axes in drawn.axes:
            axes.set_ylim(0, self.top)
        return drawn
