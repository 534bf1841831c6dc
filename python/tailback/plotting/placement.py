"""Final corrections of figures.

Time axes end where their series end, error bars end at the edge of the axes, legends cover no curve, and curves that
coincide are named in a note. Figures that are compared get the same y axis.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np
from matplotlib.collections import LineCollection
from matplotlib.container import ErrorbarContainer
from matplotlib.lines import Line2D
from matplotlib.markers import CARETDOWN, CARETLEFT, CARETRIGHT, CARETUP
from matplotlib.path import Path
from matplotlib.transforms import Bbox

_Place = Literal[
    "upper right",
    "upper left",
    "lower left",
    "lower right",
    "center right",
    "center left",
    "upper center",
    "lower center",
]

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.legend import Legend

__all__ = ["coincident", "covers_something", "fix_legends", "settle", "share_scale"]

_PLACES: tuple[_Place, ...] = (
    "upper right",
    "upper left",
    "lower left",
    "lower right",
    "center right",
    "center left",
    "upper center",
    "lower center",
)
_NEAR_PX = 1.5
"""Maximum distance in pixels of points that are drawn on top of each other."""
_PAD_PX = 3.0
"""Margin around a legend, pixels."""
_CHARACTER_IN = 0.062
"""Width of a character of notes, inches."""


def share_scale(figures: Sequence[Figure]) -> None:
    """Set the same limits of the y axis in all figures, so that they can be compared by eye.

    Raises ValueError if the y axes have different scales, such as linear and logarithmic.
    """
    every = [axes for figure in figures for axes in figure.axes]
    kinds = {axes.get_yscale() for axes in every}
    if len(kinds) > 1:
        raise ValueError(f"figures that share a scale have y axes of several kinds: {', '.join(sorted(kinds))}")
    ends = [axes.get_ylim() for axes in every]
    for axes in every:
        axes.set_ylim(min(lo for lo, _ in ends), max(hi for _, hi in ends))


def settle(figure: Figure) -> None:
    """Correct the limits of time axes, the error bars and the legends of a drawn figure, and name coincident curves."""
    _fill_with_time(figure)
    fix_legends(figure)
    # Bars are cut before the layout: artists far outside their axes would leave the axes no room.
    for axes in figure.axes:
        _keep_within(axes)
    figure.draw_without_rendering()
    for axes in figure.axes:
        _name_coincident(axes)
    figure.draw_without_rendering()
    for axes in figure.axes:
        if (legend := axes.get_legend()) is not None:
            _clear(figure, axes, legend)


def fix_legends(figure: Figure) -> None:
    """Put legends inside their axes at one place, since the search for the best one takes seconds for long curves."""
    for axes in figure.axes:
        legend = axes.get_legend()
        if legend is not None and legend.get_bbox_to_anchor() is axes.bbox:
            legend.set_loc(_PLACES[0])


# Time.


def _fill_with_time(figure: Figure) -> None:
    """Set the limits of time axes to the ends of their series, in all panels that share them; explicit limits stay."""
    for bottom in figure.axes:
        if not bottom.get_xlabel().startswith("time (") or not bottom.get_autoscalex_on():
            continue
        panels = [axes for axes in figure.axes if bottom.get_shared_x_axes().joined(axes, bottom)]
        lines = [line for axes in panels for line in axes.lines if line.get_transform() == axes.transData]
        along = [np.asarray(line.get_xdata(orig=False), dtype=float) for line in lines if line.get_color() != "none"]
        seen = np.concatenate(along) if along else np.empty(0)
        if len(seen) and np.ptp(seen) > 0:
            bottom.set_xlim(float(seen.min()), float(seen.max()))


# Bars.


def _keep_within(axes: Axes) -> None:
    """Cut bars that reach beyond the axes, such as to zero on a logarithmic axis, and end them with an arrow there."""
    limits = {0: axes.get_xlim(), 1: axes.get_ylim()}
    for container in axes.containers:
        if not isinstance(container, ErrorbarContainer):
            continue
        # `data` is None for intervals without a curve, which the types of matplotlib do not state.
        data, caps, bars = cast(Any, container.lines)
        for bar in bars:
            _cut(axes, bar, limits)
        for cap in caps:
            _hide_outside(cap, limits)
        if data is not None and _outside(data, limits).any():
            data.set_clip_on(True)
    axes.set_xlim(limits[0])
    axes.set_ylim(limits[1])


def _cut(axes: Axes, bars: LineCollection, limits: dict[int, tuple[float, float]]) -> None:
    """Cut a set of bars, all vertical or all horizontal, at the ends of the axis along which they lie."""
    # A bar at NaN has an empty segment.
    segments = [np.array(segment, dtype=float).reshape(-1, 2) for segment in bars.get_segments()]
    lengths = [np.ptp(segment, axis=0) for segment in segments if len(segment) == 2]
    along = 1 if not lengths or sum(part[1] for part in lengths) >= sum(part[0] for part in lengths) else 0
    lo, hi = sorted(limits[along])
    arrows: dict[float, list[tuple[float, float]]] = {lo: [], hi: []}
    for segment in segments:
        if len(segment) != 2 or np.isnan(segment).any():
            continue
        beyond = {lo: segment[:, along].min() < lo, hi: segment[:, along].max() > hi}
        for end, is_beyond in beyond.items():
            if is_beyond:
                tip = segment[0].copy()
                tip[along] = end
                arrows[end].append((tip[0], tip[1]))
        segment[:, along] = segment[:, along].clip(lo, hi)
    bars.set_segments(segments)
    markers = {lo: (CARETLEFT, CARETDOWN)[along], hi: (CARETRIGHT, CARETUP)[along]}
    for end, tips in arrows.items():
        if tips:
            x, y = zip(*tips, strict=True)
            style: Any = {"marker": markers[end], "linestyle": "none", "color": bars.get_color()[0], "clip_on": False}
            axes.add_artist(Line2D(x, y, markersize=6, zorder=4, **style))


def _hide_outside(line: Line2D, limits: dict[int, tuple[float, float]]) -> None:
    """Remove the points of a line that are outside the axes."""
    outside = _outside(line, limits)
    if outside.any():
        y = np.array(line.get_ydata(orig=False), dtype=float)
        y[outside] = np.nan
        line.set_ydata(y)


def _outside(line: Line2D, limits: dict[int, tuple[float, float]]) -> np.ndarray[Any, Any]:
    """Return an array with `True` for each of a line's points that is outside the axes by more than rounding."""
    found = []
    for axis, data in enumerate((line.get_xdata(orig=False), line.get_ydata(orig=False))):
        lo, hi = sorted(limits[axis])
        slack = 1e-9 * (hi - lo)
        values = np.asarray(data, dtype=float)
        found.append((values < lo - slack) | (values > hi + slack))
    return found[0] | found[1]


# Curves that hide one another.


def coincident(axes: Axes) -> list[list[str]]:
    """Return the labels of curves whose means coincide at every point, a list for each group of such curves."""
    curves: list[tuple[str, np.ndarray[Any, Any]]] = []
    for container in axes.containers:
        label = str(container.get_label())
        line = cast(Any, container.lines[0]) if isinstance(container, ErrorbarContainer) else None
        if line is not None and label[:1] not in ("", "_"):
            points = np.asarray(line.get_xydata(), dtype=float)
            if len(points) > 1:
                curves.append((label, axes.transData.transform(points)))
    groups: list[list[str]] = []
    for (first, a), (second, b) in combinations(curves, 2):
        if a.shape != b.shape or not np.allclose(a, b, rtol=0, atol=_NEAR_PX, equal_nan=True):
            continue
        for group in groups:
            if first in group:
                if second not in group:
                    group.append(second)
                break
        else:
            groups.append([first, second])
    return groups


def _name_coincident(axes: Axes) -> None:
    groups = coincident(axes)
    if not groups or axes.texts:
        # A panel with a text, such as "0 of N packets", needs no further note.
        return
    # A label such as "plain: 0 of 1,234" starts with the name.
    text = "; ".join(f"{' / '.join(label.partition(': 0 of ')[0] for label in group)} coincide" for group in groups)
    figure = axes.get_figure(root=True)
    assert figure is not None
    free = axes.get_window_extent().width / figure.dpi - 0.09 * len(axes.get_title(loc="left")) - 0.2
    lines = textwrap.wrap(text, max(18, int(free / _CHARACTER_IN)))
    axes.set_title("\n".join(lines), loc="right", fontsize=8, color="#57606a")


# Legends.


def _clear(figure: Figure, axes: Axes, legend: Legend) -> None:
    """Move a legend to a place in its axes where it covers nothing, or else outside; one that is outside stays."""
    if legend.get_bbox_to_anchor() is not axes.bbox:
        return
    for place in _PLACES:
        legend.set_loc(place)
        if not covers_something(axes, legend):
            return
    width = legend.get_window_extent().width / figure.dpi + 0.15
    right = max(other.get_position().x1 for other in figure.axes)
    others = [other for other in figure.axes if other is not axes and other.get_legend() is not None]
    if axes.get_position().x1 < right - 0.01 and not others:
        # The only legend of panels in a row is drawn to the right of the last one.
        texts = [text.get_text() for text in legend.get_texts()]
        title = legend.get_title().get_text()
        handles = [handle for handle in legend.legend_handles if handle is not None]
        figure.legend(handles, texts, title=title or None, title_fontsize=9, loc="outside right upper")
        legend.remove()
    else:
        legend.set_loc("upper left")
        legend.set_bbox_to_anchor((1.0, 1.0), transform=axes.transAxes)
    figure.set_figwidth(figure.get_figwidth() + width)


def covers_something(axes: Axes, legend: Legend) -> bool:
    """Return `True` if a legend covers anything that is drawn in the axes."""
    box = legend.get_window_extent().padded(_PAD_PX)
    return any(_meets(path, box, is_filled) for path, is_filled in _drawn(axes)) or any(
        text.get_visible() and text.get_text() and box.overlaps(text.get_window_extent()) for text in axes.texts
    )


def _drawn(axes: Axes) -> Iterator[tuple[Path, bool]]:
    """Yield the paths drawn in the axes, in pixels, each with `True` if it is filled."""
    artists = [artist for artist in axes.get_children() if isinstance(artist, Line2D) and artist.get_visible()]
    for line in artists:
        if str(line.get_color()) == "none":
            continue
        path = line.get_transform().transform_path(line.get_path())
        yield (_dots(path.vertices) if line.get_linestyle() in ("None", "none", "") else path), False
    for collection in axes.collections:
        offsets = np.asarray(collection.get_offsets(), dtype=float)
        if len(offsets) and np.any(offsets):
            yield _dots(collection.get_offset_transform().transform(offsets)), False
            continue
        for path in collection.get_paths():
            yield collection.get_transform().transform_path(path), not isinstance(collection, LineCollection)
    for patch in axes.patches:
        yield patch.get_transform().transform_path(patch.get_path()), True


def _dots(points: Any) -> Path:
    """Return a path with a short stroke at each point."""
    points = np.asarray(points, dtype=float)
    points = points[np.isfinite(points).all(axis=1)]
    strokes = np.repeat(points, 2, axis=0)
    strokes[1::2, 1] += 0.01
    return Path(strokes, [Path.MOVETO, Path.LINETO] * len(points)) if len(points) else Path(np.empty((0, 2)))


def _meets(path: Path, box: Bbox, is_filled: bool) -> bool:
    """Return `True` if a path, or with `is_filled` its inside, overlaps a box."""
    if not np.size(path.vertices):
        return False
    return bool(path.cleaned(remove_nans=True).intersects_bbox(box, filled=is_filled))
