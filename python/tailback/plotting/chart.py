"""Drawings as data: what the browser needs to draw a figure again, zoom into it, and show its values."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, cast

import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.collections import LineCollection, PathCollection, PolyCollection
from matplotlib.colors import to_hex
from matplotlib.container import BarContainer, ErrorbarContainer
from matplotlib.figure import Figure
from matplotlib.legend import Legend
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.text import Annotation, Text
from matplotlib.ticker import FixedLocator

from tailback.plotting import plot

__all__ = ["Json", "chart"]

Json = dict[str, Any]

_DIGITS = 6
"""Significant digits of a coordinate; a screen shows four."""


class _CannotShowError(Exception):
    """The drawing has a part that is no curve, bar, area, rule or text."""


def chart(figure: Figure) -> Json | None:
    """Return the data of a drawn figure in JSON form; `None`: it is no chart, such as a drawing of a network.

    The form is described in `web/src/charts/data.ts`. The figure has its final layout.
    """
    panels = [axes for axes in figure.axes if axes.get_visible()]
    try:
        found = [_panel(axes, panels) for axes in panels]
        # The title of the drawing is that of the figure, which the page prints.
        title = figure.get_suptitle()
        texts = [text.get_text() for text in figure.texts if text.get_text() not in ("", title)]
        legends = [_legend(legend) for legend in figure.legends]
    except _CannotShowError:
        return None
    if not found:
        return None
    rows, columns = _size(panels)
    width, height = (float(length) for length in figure.get_size_inches())
    return _without_empty(
        {"rows": rows, "columns": columns, "aspect": _short(height / width), "panels": found, "texts": texts,
         "legends": legends}
    )  # fmt: skip


def _size(panels: Sequence[Axes]) -> tuple[int, int]:
    grids = [spec.get_topmost_subplotspec().get_gridspec() for axes in panels if (spec := axes.get_subplotspec())]
    return max((grid.nrows for grid in grids), default=1), max((grid.ncols for grid in grids), default=1)


def _panel(axes: Axes, panels: Sequence[Axes]) -> Json:
    spec = axes.get_subplotspec()
    if not axes.axison or axes.images or spec is None or axes.child_axes:
        raise _CannotShowError
    place = spec.get_topmost_subplotspec()
    items: list[Json] = []
    # Artists that belong to a container are parts of its item.
    used: set[Any] = set()
    # Intervals that were drawn together with bars are in the item of the bars.
    of_bars = [container.errorbar for container in axes.containers if isinstance(container, BarContainer)]
    for container in axes.containers:
        if any(container is other for other in of_bars):
            continue
        if isinstance(container, ErrorbarContainer):
            items.append(_with_bars(axes, container, used))
        elif isinstance(container, BarContainer):
            items.append(_bars(container, used))
            if container.errorbar is not None:
                used.update(_parts(container.errorbar))
    for artist in axes.get_children():
        if artist not in used and artist.get_visible():
            items += _item(axes, artist)
    legend = axes.get_legend()
    shares = {
        f"share_{name}": next(i for i, other in enumerate(panels) if other is axes or group.joined(axes, other))
        for name, group in (("x", axes.get_shared_x_axes()), ("y", axes.get_shared_y_axes()))
    }
    return _without_empty(
        {
            "at": [place.rowspan.start, place.colspan.start, len(place.rowspan), len(place.colspan)],
            "title": axes.get_title() or axes.get_title("left"),
            "note": axes.get_title("right"),
            "x": _axis(axes.xaxis, axes.get_xlim()),
            "y": _axis(axes.yaxis, axes.get_ylim()),
            **shares,
            "items": [_with_lists(item) for item in sorted(items, key=lambda item: item.pop("order"))],
            "legend": _legend(legend) if legend is not None and legend.get_visible() else None,
        }
    )


def _axis(axis: Axis, limits: tuple[float, float]) -> Json:
    scale = axis.get_scale()
    if scale not in ("linear", "log", "symlog"):
        raise _CannotShowError
    lo, hi = (float(limit) for limit in limits)
    ticks = None
    labels = axis.get_majorticklabels()
    fixed = isinstance(axis.get_major_locator(), FixedLocator) or axis.have_units()
    if fixed:
        within = min(lo, hi), max(lo, hi)
        # Ticks in view, with their words.
        pairs = zip(axis.get_majorticklocs(), labels, strict=False)
        ticks = [[_short(at), text.get_text()] for at, text in pairs if within[0] <= at <= within[1]]
    threshold = getattr(axis.get_transform(), "linthresh", None) if scale == "symlog" else None
    return _without_empty(
        {
            "label": axis.get_label_text(),
            "scale": scale if scale != "linear" else "",
            "threshold": threshold,
            "range": [_short(lo), _short(hi)],
            "ticks": ticks,
        }
    )


def _legend(legend: Legend) -> Json:
    handles: Iterable[Any] = legend.legend_handles
    entries = []
    for handle, text in zip(handles, legend.get_texts(), strict=True):
        entries.append([text.get_text(), _entry_colour(handle)])
    return {"title": legend.get_title().get_text(), "entries": entries}


def _entry_colour(handle: Any) -> str:
    if isinstance(handle, ErrorbarContainer | BarContainer):
        handle = (handle.lines if isinstance(handle, ErrorbarContainer) else handle.patches)[0]
    if isinstance(handle, Line2D):
        return _colour(handle.get_color())
    if isinstance(handle, Patch):
        return _colour(handle.get_facecolor())
    # The handle of a curve with intervals is a collection of lines.
    name = "get_color" if isinstance(handle, LineCollection) else "get_facecolor"
    faces: Any = getattr(handle, name, lambda: ())()
    return _colour(faces[0]) if len(faces) else "#666666"


# Items.


def _item(axes: Axes, artist: Any) -> list[Json]:
    """Return the items of an artist that is in no container."""
    if artist in axes.spines.values() or artist in (axes.xaxis, axes.yaxis, axes.patch, axes.title):
        return []
    if isinstance(artist, Legend):
        return []
    if isinstance(artist, Line2D):
        return _line(axes, artist)
    if isinstance(artist, Text):
        return _text(axes, artist)
    if isinstance(artist, Patch):
        return [_patch(axes, artist)]
    if isinstance(artist, PolyCollection):
        return [_area(axes, artist)]
    if isinstance(artist, LineCollection):
        return [_segments(artist)]
    if isinstance(artist, PathCollection):
        return [_scatter(artist)]
    raise _CannotShowError


def _line(axes: Axes, line: Line2D) -> list[Json]:
    colour = line.get_color()
    if isinstance(colour, str) and colour == "none":
        return []
    x, y = (np.asarray(data, dtype=float) for data in (line.get_xdata(orig=False), line.get_ydata(orig=False)))
    common = {"colour": _colour(colour), "dash": line.get_linestyle() not in ("-", "None", "none", " ", ""),
              "label": _label(line), "order": line.get_zorder()}  # fmt: skip
    transform = line.get_transform()
    if transform == axes.get_yaxis_transform(which="grid") and len(set(y)) == 1:
        return [_without_empty({"kind": "rule", "axis": "y", "at": _short(y[0]), **common})]
    if transform == axes.get_xaxis_transform(which="grid") and len(set(x)) == 1:
        return [_without_empty({"kind": "rule", "axis": "x", "at": _short(x[0]), **common})]
    if transform != axes.transData:
        raise _CannotShowError
    style = line.get_drawstyle()
    if style == "steps-pre":
        # A value holds from the x before; the browser knows only values that hold to the next x.
        x, y = np.concatenate([x[:1], x]), np.concatenate([y, y[-1:]])
        style = "steps-post"
    if style not in ("default", "steps-post"):
        raise _CannotShowError
    marker = line.get_marker()
    return [
        _without_empty(
            {
                "kind": "line",
                **common,
                "x": _numbers(x),
                "y": _numbers(y),
                "width": _short(line.get_linewidth()),
                "step": style == "steps-post",
                "marker": str(marker) if marker not in ("None", "none", "", " ", None) else "",
                "bare": line.get_linestyle() in ("None", "none", " ", ""),
                "opacity": line.get_alpha(),
            }
        )
    ]


def _parts(container: ErrorbarContainer) -> list[Any]:
    data, caps, bars = cast(Any, container.lines)
    return [*([data] if data is not None else []), *caps, *bars]


def _with_bars(axes: Axes, container: ErrorbarContainer, used: set[Any]) -> Json:
    """Return the item of points with intervals; without a known interval, the ends are those of the drawn bars."""
    data, _, bars = cast(Any, container.lines)
    used.update(_parts(container))
    if data is None:
        firsts = [other.patches[0] for other in axes.containers if isinstance(other, BarContainer) and other.patches]
        if not any(plot.intervals_of(first) for first in firsts):
            raise _CannotShowError
        # The item of the bars has the intervals.
        return {"kind": "line", "x": [], "y": [], "order": 0}
    item = _line(axes, data)[0]
    item["label"] = _name(container)
    intervals = plot.intervals_of(data)
    if intervals is not None:
        item["y_lo"], item["y_hi"] = (_numbers([getattr(i, end) for i in intervals]) for end in ("lo", "hi"))
        item["n"] = [interval.n for interval in intervals]
        return _without_empty(item)
    # matplotlib keeps the bars of x before those of y.
    of = [name for name, has in (("x", container.has_xerr), ("y", container.has_yerr)) if has]
    for name, collection in zip(of, bars, strict=True):
        column = "xy".index(name)
        ends = [(segment[:, column].min(), segment[:, column].max()) for segment in collection.get_segments()]
        if len(ends) == len(item["x"]):
            item[f"{name}_lo"], item[f"{name}_hi"] = _numbers([e[0] for e in ends]), _numbers([e[1] for e in ends])
    return _without_empty(item)


def _bars(container: BarContainer, used: set[Any]) -> Json:
    patches = list(container)
    used.update(patches)
    if not patches:
        raise _CannotShowError
    boxes = []
    for patch in patches:
        box = patch.get_bbox()
        boxes.append([_short(value) for value in (box.x0, box.y0, box.x1, box.y1)])
    colours = [_colour(patch.get_facecolor()) for patch in patches]
    item = {
        "kind": "bars",
        "boxes": boxes,
        "colour": colours[0] if len(set(colours)) == 1 else "",
        "colours": colours if len(set(colours)) > 1 else None,
        "label": _name(container),
        "sideways": container.orientation == "horizontal",
        "opacity": patches[0].get_alpha(),
        "order": patches[0].get_zorder(),
    }
    intervals = plot.intervals_of(patches[0])
    if intervals is not None:
        item["lo"], item["hi"] = (_numbers([getattr(i, end) for i in intervals]) for end in ("lo", "hi"))
        item["n"] = [interval.n for interval in intervals]
    elif container.errorbar is not None:
        _, _, bars = cast(Any, container.errorbar.lines)
        column = 0 if item["sideways"] else 1
        segments = bars[0].get_segments()
        item["lo"] = _numbers([segment[:, column].min() for segment in segments])
        item["hi"] = _numbers([segment[:, column].max() for segment in segments])
    return _without_empty(item)


def _patch(axes: Axes, patch: Patch) -> Json:
    """Return the item of a shaded span (`axhspan`, `axvspan`) or of a polygon in data coordinates."""
    transform = patch.get_data_transform()
    common = {"colour": _colour(patch.get_facecolor()), "opacity": _short(_alpha(patch.get_facecolor())),
              "label": _label(patch), "order": patch.get_zorder()}  # fmt: skip
    corners = patch.get_patch_transform().transform_path(patch.get_path()).vertices
    xs, ys = np.asarray(corners)[:, 0], np.asarray(corners)[:, 1]
    if transform == axes.get_yaxis_transform(which="grid"):
        return _without_empty({"kind": "span", "axis": "y", "ends": _numbers([ys.min(), ys.max()]), **common})
    if transform == axes.get_xaxis_transform(which="grid"):
        return _without_empty({"kind": "span", "axis": "x", "ends": _numbers([xs.min(), xs.max()]), **common})
    if transform != axes.transData:
        raise _CannotShowError
    return _without_empty({"kind": "area", "x": [_numbers(xs)], "y": [_numbers(ys)], **common})


def _area(axes: Axes, collection: PolyCollection) -> Json:
    if len(collection.get_facecolor()) == 0 or collection.get_array() is not None:
        raise _CannotShowError
    face = collection.get_facecolor()[0]
    spans = {"x": axes.get_xaxis_transform(which="grid"), "y": axes.get_yaxis_transform(which="grid")}
    paths = [np.asarray(path.vertices) for path in collection.get_paths()]
    common = {"colour": _colour(face), "opacity": _short(_alpha(face)), "label": _label(collection),
              "order": collection.get_zorder()}  # fmt: skip
    if any(collection.get_transform() == transform for transform in spans.values()):
        raise _CannotShowError
    return _without_empty(
        {"kind": "area", "x": [_numbers(p[:, 0]) for p in paths], "y": [_numbers(p[:, 1]) for p in paths], **common}
    )


def _segments(collection: LineCollection) -> Json:
    """Return the item of separate lines, such as those of `vlines`."""
    xs: list[float | None] = []
    ys: list[float | None] = []
    for segment in collection.get_segments():
        points = np.asarray(segment, dtype=float)
        xs += [*_numbers(points[:, 0]), None]
        ys += [*_numbers(points[:, 1]), None]
    colours = collection.get_colors()
    return _without_empty(
        {"kind": "line", "x": xs, "y": ys, "colour": _colour(colours[0]), "label": _label(collection),
         "width": _short(float(cast(Any, collection).get_linewidths()[0])), "order": collection.get_zorder()}
    )  # fmt: skip


def _scatter(collection: PathCollection) -> Json:
    offsets = np.asarray(collection.get_offsets(), dtype=float)
    faces = [_colour(face) for face in cast(Any, collection.get_facecolor())]
    if not faces:
        raise _CannotShowError
    return _without_empty(
        {
            "kind": "line",
            "bare": True,
            "marker": "o",
            "x": _numbers(offsets[:, 0]),
            "y": _numbers(offsets[:, 1]),
            "colour": faces[0],
            "colours": faces if len(set(faces)) > 1 else None,
            "label": _label(collection),
            "order": collection.get_zorder(),
        }
    )


def _text(axes: Axes, text: Text) -> list[Json]:
    if isinstance(text, Annotation) and text.arrow_patch is not None:
        raise _CannotShowError
    words = text.get_text()
    if not words:
        return []
    frame = None
    if isinstance(text, Annotation):
        coordinates, (x, y) = text.xycoords, text.xy
        names = coordinates if isinstance(coordinates, tuple) else (coordinates, coordinates)
        words_of = {"data": "d", "axes fraction": "a"}
        frame = "".join(words_of.get(str(name), "?") for name in names)
        offset = text.xyann if text.anncoords == "offset points" else (0.0, 0.0)
        if text.anncoords not in ("offset points", coordinates):
            raise _CannotShowError
        if text.anncoords == coordinates:
            x, y = text.xyann
    else:
        offset = (0.0, 0.0)
        x, y = text.get_unitless_position()
        transform = text.get_transform()
        if transform == axes.transData:
            frame = "dd"
        elif transform == axes.transAxes:
            frame = "aa"
        elif transform == axes.get_xaxis_transform(which="grid"):
            frame = "da"
        elif transform == axes.get_yaxis_transform(which="grid"):
            frame = "ad"
    if frame is None or "?" in frame:
        # Titles at the other places of the axes.
        if text in (axes._left_title, axes._right_title):  # type: ignore[attr-defined]
            return []
        raise _CannotShowError
    return [
        _without_empty(
            {
                "kind": "text",
                "at": [_short(float(x)), _short(float(y))],
                "frame": frame if frame != "dd" else "",
                "offset": [float(value) for value in offset] if any(offset) else None,
                "text": words,
                "align": text.get_horizontalalignment(),
                "baseline": text.get_verticalalignment(),
                "colour": _colour(text.get_color()),
                "size": _short(float(text.get_fontsize())),
                "turned": bool(text.get_rotation()),
                "order": text.get_zorder(),
            }
        )
    ]


# Values.


def _name(container: Any) -> str:
    label = str(container.get_label() or "")
    return "" if label.startswith("_") else label


def _label(artist: Any) -> str:
    label = str(artist.get_label() or "")
    return "" if label.startswith("_") else label


def _colour(colour: Any) -> str:
    return to_hex(colour)


def _alpha(colour: Any) -> float:
    return float(colour[3]) if len(colour) == 4 else 1.0


def _short(value: float) -> float:
    """Return the value with few digits, as an integer if it is one."""
    rounded = float(f"{float(value):.{_DIGITS}g}")
    return int(rounded) if rounded.is_integer() and abs(rounded) < 1e15 else rounded


def _numbers(values: Any) -> list[float | None]:
    """Return the values with few digits; what is not finite, such as a gap in a curve, becomes null."""
    return [_short(value) if math.isfinite(value) else None for value in map(float, values)]


def _with_lists(item: Json) -> Json:
    """Return an item with its lists, which are empty if nothing was measured, such as a curve without points."""
    lists = {"line": ("x", "y"), "area": ("x", "y"), "bars": ("boxes",)}.get(item["kind"], ())
    return item | {key: [] for key in lists if key not in item}


def _without_empty(item: Json) -> Json:
    """Return the item without the keys whose values are the defaults of the browser's reader."""
    # Not `in`, by which 0 would be equal to False.
    return {key: value for key, value in item.items() if not (value is None or value is False or value in ("", []))}
