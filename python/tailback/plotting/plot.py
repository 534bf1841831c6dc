"""Figures in a common style. Functions return matplotlib objects and leave the choice of the backend to the caller.

matplotlib is the extra `tailback[plot]`; importing this module without it raises UsageError.
"""

from __future__ import annotations

import io
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, cast
from weakref import WeakKeyDictionary

from tailback.errors import UsageError
from tailback.results.intervals import Interval, mean_interval

try:
    import matplotlib as mpl
    from matplotlib.artist import Artist
    from matplotlib.figure import Figure
    from matplotlib.text import Text
    from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter
except ModuleNotFoundError as error:
    raise UsageError(f"figures need {error.name}, which is missing: pip install 'tailback[plot]'") from None

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.axes import Axes
    from matplotlib.backend_bases import RendererBase

__all__ = [
    "COLOURS",
    "Scale",
    "curve",
    "finish",
    "image",
    "intervals_of",
    "keep_intervals",
    "look",
    "new",
    "ramp",
    "run_figure",
    "style",
    "svg_with_text",
    "to_bytes",
]

Scale = Literal["linear", "log", "symlog"]
"""Scale of an axis; `symlog` is linear near zero and logarithmic above."""

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#8c6d31")
"""Okabe and Ito's palette, which colour-blind readers can distinguish; for series without an order."""

_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")

# Any, because the valid names depend on the version of matplotlib.
_STYLE: Any = {
    "figure.facecolor": "white",
    "figure.dpi": 110,
    "savefig.dpi": 110,
    "font.family": "DejaVu Sans",  # part of matplotlib, so that figures are the same everywhere
    "font.size": 10,
    "axes.titlesize": 10,
    "axes.titlelocation": "left",
    "figure.titlesize": 12,
    "figure.titleweight": "bold",
    "axes.labelsize": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#e4e4e4",
    "grid.linewidth": 0.8,
    "lines.linewidth": 1.6,
    "lines.markersize": 5,
    "errorbar.capsize": 2.5,
    "legend.frameon": False,
    "legend.fontsize": 9,
    "xtick.labelsize": 9,
    "ytick.labelsize": 9,
    # Without a constant salt equal figures would have different bytes.
    "svg.hashsalt": "tailback",
    "svg.fonttype": "path",
}


_DASHES = ("-", "--", ":", "-.")


class Look(NamedTuple):
    """Colour, marker and dashes of a curve."""

    colour: str
    mark: str
    dashes: str


def look(index: int) -> Look:
    """Return the look of a curve by its number; the first 64 have different pairs of colour and marker.

    The dashes change after eight curves, so that the first 32 differ without markers, too.
    """
    turn, within = divmod(index, len(COLOURS))
    return Look(COLOURS[within], _MARKERS[(within + turn) % len(_MARKERS)], _DASHES[turn % len(_DASHES)])


@contextmanager
def style() -> Iterator[None]:
    """Apply the style within the context only."""
    with mpl.rc_context(_STYLE):
        yield


_common = style  # for `new`, in which the parameter `style` hides the function


class _Figure(Figure):
    """A figure that a notebook shows without pyplot, and in whose texts dollar signs are ordinary characters."""

    in_style: Callable[[], AbstractContextManager[None]] = staticmethod(style)
    """Applies the style in which the figure was made, within a context; formats of files depend on it."""

    def savefig(self, fname: Any, **options: Any) -> None:
        """Write the figure, in the style in which it was made."""
        with self.in_style():
            super().savefig(fname, **options)

    def draw(self, renderer: RendererBase) -> None:
        """Draw the figure; of its texts, only matplotlib's labels of logarithmic ticks are parsed as formulas."""
        for text in self.findobj(Text):
            # matplotlib writes labels of ticks of logarithmic axes as formulas.
            text.set_parse_math("\\mathdefault" in text.get_text())
        super().draw(renderer)

    def _repr_png_(self) -> bytes:
        return to_bytes(self, "png")


def new(
    columns: int = 1,
    rows: int = 1,
    *,
    width: float = 5.2,
    height: float = 3.6,
    style: Callable[[], AbstractContextManager[None]] | None = None,
    **options: Any,
) -> Figure:
    """Return an empty figure with a grid of axes (`figure.axes`), whose panels have `width` and `height`, inches.

    `style` replaces the common style. `options` are those of `Figure.subplots`, such as `sharey`.
    """
    in_style = style or _common
    with in_style():
        figure = _Figure(figsize=(width * columns, height * rows), layout="constrained")
        figure.in_style = in_style
        figure.subplots(rows, columns, **options)
        return figure


def ramp(count: int) -> list[str]:
    """Return `count` colours for values that have an order, from light to dark, all visible on white."""
    from matplotlib.colors import to_hex

    colours = mpl.colormaps["viridis_r"]
    return [to_hex(colours(0.22 + 0.78 * (i / max(count - 1, 1)))) for i in range(count)]


def curve(
    axes: Axes,
    x: Sequence[float | str],
    y: Sequence[Interval],
    *,
    label: str = "",
    index: int = 0,
    colour: str | None = None,
    dashed: bool = False,
) -> None:
    """Draw means with their intervals as bars; a mean whose interval is unbounded has no bar.

    `index` chooses the marker, the dashes unless `dashed` and, without `colour`, the colour. Values of x that are words
    are not connected by lines.
    """
    # A line between words would suggest values between them.
    line = "none" if any(isinstance(value, str) for value in x) else "--" if dashed else look(index).dashes
    means = [interval.mean for interval in y]
    below = [_bar(interval.mean - interval.lo) for interval in y]
    above = [_bar(interval.hi - interval.mean) for interval in y]
    drawn = axes.errorbar(
        [float(value) if isinstance(value, int | float) else value for value in x],
        means,
        yerr=[below, above],
        label=label or None,
        color=colour or look(index).colour,
        marker=look(index).mark,
        linestyle=line,
        elinewidth=1.0,
        clip_on=False,
        zorder=3,
    )
    keep_intervals(cast("Artist", drawn.lines[0]), y)


_INTERVALS: WeakKeyDictionary[Artist, Sequence[Interval]] = WeakKeyDictionary()


def keep_intervals(artist: Artist, intervals: Sequence[Interval]) -> None:
    """Keep the intervals of the points of a curve, or of the group of bars of which `artist` is the first.

    Drawn bars can be cut at the edge of the axes, and do not say how many replications there are.
    """
    _INTERVALS[artist] = intervals


def intervals_of(artist: Artist) -> Sequence[Interval] | None:
    """Return the intervals kept for an artist; `None`: there are none."""
    return _INTERVALS.get(artist)


def _bar(length: float) -> float:
    """Return the length of a half error bar; 0 for an unbounded interval."""
    return length if 0 <= length < float("inf") else 0.0


def finish(
    axes: Axes,
    *,
    title: str = "",
    x: str = "",
    y: str = "",
    y_scale: Scale = "linear",
    x_scale: Scale = "linear",
    y_threshold: float = 0.1,
    y_top: float = 0.0,
    ticks: Sequence[float] | None = None,
    legend: str = "",
    from_zero: bool = True,
) -> None:
    """Label the axes and set their scales.

    `x` and `y` are the labels, `ticks` the measured values of x, and `legend` the title of the legend, which is drawn
    if curves have labels. With `from_zero`, a y axis that is not logarithmic starts at 0 and reaches at least to
    `y_top`, so that small values look small. `y_threshold` is the end of the linear part of a symlog axis.
    """
    axes.set_title(title)
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    if x_scale != "linear":
        # Before the artists below, which would otherwise widen this axis to the bounds of the linear one.
        axes.set_xscale(x_scale)
    if x_scale == "log":
        low, high = axes.get_xbound()
        # Few ticks, all labelled; the labels that matplotlib gives minor ticks on axes of a decade or less are removed.
        decades = math.log10(high / low) if low > 0 else math.inf
        subs = (1.0, 2.0, 5.0) if decades < 1.7 else (1.0, 3.0) if decades < 3 else (1.0,)
        axes.xaxis.set_major_locator(LogLocator(subs=subs, numticks=7))
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:.12g}"))
        axes.xaxis.set_minor_formatter(NullFormatter())
    if y_scale == "symlog":
        # Linear up to the threshold, so that zero is on the axis.
        axes.set_yscale("symlog", linthresh=y_threshold)
    else:
        axes.set_yscale(y_scale)
    if from_zero and y_scale != "log":
        # An invisible line keeps zero and y_top in view, without a margin below zero. The rest of the axis follows the
        # drawn data, also in panels that share the axis.
        frame = axes.plot(axes.get_xbound(), (0, y_top), color="none", scalex=False)[0]
        frame.sticky_edges.y.append(0)
    if y_scale == "linear":
        axes.yaxis.set_major_locator(MaxNLocator(nbins=6))
    if y_scale == "log":
        # Delays rarely span two decades, so that ticks at powers of ten only would often leave a single label.
        axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    if y_scale != "linear":
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    if ticks:
        axes.set_xticks(list(ticks), [f"{tick:g}" for tick in ticks])
        axes.minorticks_off()
    if axes.get_legend_handles_labels()[0]:
        axes.legend(title=legend or None, title_fontsize=9)


def image(data: bytes, kind: Literal["svg", "png"] = "svg") -> str:
    """Return an image as a data URL, for a self-contained page."""
    import base64

    mime = {"svg": "image/svg+xml", "png": "image/png"}[kind]
    return f"data:{mime};base64,{base64.b64encode(data).decode()}"


def to_bytes(figure: Figure, kind: Literal["svg", "png", "pdf"], about: str = "") -> bytes:
    """Return the content of a figure's file, without a date, so that equal figures have equal bytes.

    `about` is the description in its metadata.
    """
    dates: Mapping[str, dict[str, None]] = {"svg": {"Date": None}, "pdf": {"CreationDate": None}, "png": {}}
    description = {"Subject" if kind == "pdf" else "Description": about} if about else {}
    buffer = io.BytesIO()
    in_style = getattr(figure, "in_style", style)
    with in_style():
        dpi = 160 if in_style is _common else 300
        figure.savefig(
            buffer, format=kind, metadata={**dates[kind], **description}, dpi=dpi if kind == "png" else "figure"
        )
    return buffer.getvalue()


def svg_with_text(figure: Figure) -> str:
    """Return a figure as an SVG element for a page: its texts are texts, in the fonts of the reader."""
    buffer = io.StringIO()
    with getattr(figure, "in_style", style)(), mpl.rc_context({"svg.fonttype": "none"}):
        # Not the method of `_Figure`, which would apply its own style again.
        Figure.savefig(figure, buffer, format="svg", metadata={"Date": None})
    text = buffer.getvalue()
    return text[text.index("<svg") :]


def run_figure(
    metrics: pl.DataFrame, series: pl.DataFrame, nodes: pl.DataFrame, title: str, confidence: float
) -> Figure:
    """Draw a run: throughput, loss and mean delay of each group, and samples of replication 0 over time.

    The samples are those of the longest queues (of switches, if there are any) and of the largest windows of flows with
    `probe`, up to four of each. `metrics`, `series` and `nodes` are tables of a result, and `confidence` is the level
    of the intervals.
    """
    import polars as pl

    groups = metrics.filter(pl.col("scope") == "group")
    names = groups["name"].unique(maintain_order=True).to_list()
    queues = series.filter(pl.col("quantity") == "queue_bytes")
    # Queues of hosts are left out if there are switches.
    switches = nodes.filter(pl.col("kind") == "switch")["node"].unique().to_list()
    if switches:
        queues = queues.filter(pl.col("name").str.split("->").list.first().is_in(switches))
    windows = series.filter(pl.col("quantity") == "window_segments")
    below = [(queues, 1e-3, "queue (kB)", "longest queues")] if len(queues) else []
    if len(windows):
        below.append((windows, 1.0, "window (segments)", "largest windows"))
    rows = 1 + len(below)
    figure = new(3, rows, width=4.0, height=max(2.0, 0.35 * len(names) + 1.2))
    panels = (
        ("throughput", 1e-6, "throughput (Mbit/s)"),
        ("loss", 100.0, "packet loss (%)"),
        ("delay", 1e3, "mean delay (ms)"),
    )
    with style():
        for axes, (metric, scale, label) in zip(figure.axes[:3], panels, strict=True):
            found = groups.filter(pl.col("metric") == metric)
            values = {name: [scale * v for v in found.filter(pl.col("name") == name)["value"]] for name in names}
            _dots(axes, {name: mean_interval(list(v), confidence) for name, v in values.items()}, label)
        for axes in figure.axes[1:3]:
            axes.set_yticklabels([])
        n = metrics["replication"].n_unique()
        figure.suptitle(
            f"{title or 'Run'}: {n} replications, bars are {confidence:.0%} intervals", x=0.01, ha="left", fontsize=11
        )
        for axes in figure.axes[3:]:
            axes.remove()
        for row, (samples, scale, label, legend) in enumerate(below, start=1):
            _over_time(figure, row, samples, scale, label, legend)
    return figure


def _dots(axes: Axes, intervals: Mapping[str, Interval], label: str) -> None:
    """Draw one row per name: a mean with its interval, on an axis from zero."""
    rows = range(len(intervals))
    means = [interval.mean for interval in intervals.values()]
    below = [_bar(i.mean - i.lo) for i in intervals.values()]
    above = [_bar(i.hi - i.mean) for i in intervals.values()]
    axes.errorbar(means, list(rows), xerr=[below, above], fmt="o", color=COLOURS[0], elinewidth=1.2, clip_on=False)
    axes.set_yticks(list(rows), list(intervals))
    axes.set_ylim(len(intervals) - 0.4, -0.6)
    axes.set_xlim(0, max([i.mean + b for i, b in zip(intervals.values(), above, strict=True)], default=0) * 1.05 or 1)
    axes.set_xlabel(label)


def _over_time(figure: Figure, row: int, samples: pl.DataFrame, scale: float, label: str, legend: str) -> None:
    """Draw the four series with the largest samples of the first replication in row `row` of the grid."""
    import polars as pl

    grid = figure.axes[0].get_gridspec()
    assert grid is not None
    axes = figure.add_subplot(grid[row, :])
    first = samples.filter(pl.col("replication") == pl.col("replication").min())
    longest = first.group_by("name").agg(pl.col("value").max()).sort("value", "name", descending=[True, False])
    for index, name in enumerate(longest["name"].head(4)):
        rows = first.filter(pl.col("name") == name)
        axes.plot(rows["time_s"], rows["value"] * scale, color=COLOURS[index], linewidth=0.9, label=name)
    finish(axes, x="time (s)", y=label)
    axes.set_xlim(0, float(first["time_s"].tail(1).item()))
    axes.legend(title=f"{legend}\nof replication 0", loc="upper left", bbox_to_anchor=(1.0, 1.0), title_fontsize=9)
