"""Formatting of results: means ± half their interval in readable units, first lines of `repr`, and HTML tables."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

from tailback.results.intervals import Interval
from tailback.results.metrics import Measure
from tailback.results.units import display

__all__ = ["digits", "fixed", "half_of", "headline", "html_table", "quantity"]

_PREFIXES = {
    "s": ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns")),
    "bit/s": ((1e9, "Gbit/s"), (1e6, "Mbit/s"), (1e3, "kbit/s"), (1.0, "bit/s")),
}
"""Display units by base unit: pairs of their size in base units and their name, the largest first."""


def quantity(interval: Interval, measure: Measure, resolution: float = 0.0) -> str:
    """Return a mean ± half its interval in a readable unit, shares in percent; without an interval, the mean alone.

    `resolution` is that of a quantile, in the measure's unit. If half the interval is below it, the resolution is shown
    instead: `44.16 ± <0.17 ms`.
    """
    unit = measure.unit
    scale, shown = 1.0, "" if unit in ("1", "packet") else unit
    if measure.is_share:
        scale, shown = 0.01, "%"
    elif unit in _PREFIXES:
        steps = _PREFIXES[unit]
        size = max(abs(interval.mean), resolution if interval.half_width < resolution else 0.0)
        scale, shown = next(((s, u) for s, u in steps if size >= s), steps[-1])
    half = half_of(interval, 1 / scale, resolution)
    return " ".join(part for part in (digits(interval.mean / scale, 4), half, shown) if part)


def half_of(interval: Interval, scale: float = 1.0, resolution: float = 0.0) -> str:
    """Return half an interval, as `± 0.15`, or the resolution of a quantile if that is larger, as `± <0.17`.

    The text is empty with fewer than two replications. `scale` is the factor from the unit of the interval and the
    resolution to the unit shown. All values of a quantile are often in one bucket of its histogram, and an interval of
    width 0 would suggest more precision than there is.
    """
    if interval.n < 2:
        return ""
    half = interval.half_width
    return f"± <{digits(resolution * scale, 2)}" if half < resolution else f"± {digits(half * scale, 2)}"


def fixed(measure: Measure) -> tuple[float, str]:
    """Return the factor to the display unit of a metric, and the unit, for columns and axes; see `display`."""
    return display(measure.unit, is_share=measure.is_share)


def digits(value: float, significant: int) -> str:
    """Return a number rounded to `significant` digits; only magnitudes below 0.0001 have an exponent."""
    if not math.isfinite(value):
        return f"{value:g}"
    rounded = float(f"{value:.{significant}g}")
    return f"{rounded:.0f}" if abs(rounded) >= 1e12 else f"{rounded:.12g}"


_COLUMNS = 80
"""Default width of a terminal, characters."""


def headline(kind: str, title: str, state: str) -> str:
    """Return `<kind 'title': state`, the first line of a `repr`.

    The title is cut so that the line has 80 characters.
    """
    quoted = repr(title)
    room = max(_COLUMNS - len(f"<{kind} : {state}"), 12)
    if len(quoted) > room:
        quoted = f"{quoted[: room - 2]}…{quoted[-1]}"
    return f"<{kind} {quoted}: {state}"


def html_table(about: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return an HTML table for a notebook, with the line `about` above it; all arguments are plain text."""
    head = "".join(f"<th>{escape(column)}</th>" for column in columns)
    body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<p>{escape(about)}</p><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
