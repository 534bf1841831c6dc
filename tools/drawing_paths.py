"""Shortens the paths of SVG drawings: two decimals, relative steps, and fewer vertices in polylines."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import groupby, pairwise

TOLERANCE = 0.05
"""Maximum distance of a removed vertex from the remaining line, points."""
COLUMN = 0.1
"""Width of the columns, points, in each of which a thinned polyline keeps at most its first, lowest, highest and last
vertex.
"""

Point = tuple[float, float]

_STEPS = re.compile(r"([A-DF-Za-df-z])([^A-DF-Za-df-z]*)")
"""Expression for a command of a path and its numbers, which may have an exponent."""
_SPACE = re.compile(r" (?=-)")
_PER_COLUMN = 4
"""Maximum number of vertices of a column that are kept."""


def number(value: float) -> str:
    """Return a number with at most two decimals, without trailing zeros and without a zero before the point."""
    text = f"{value:.2f}".rstrip("0").rstrip(".")
    if text in ("-0", "0"):
        return "0"
    return text.replace("0.", ".", 1) if text.startswith(("0.", "-0.")) else text


def shortened(path: str, thinned: bool = False) -> str:
    """Return a path in fewer characters; a path with other commands than absolute M, L, Q, C and z is unchanged.

    Vertices of polylines within `TOLERANCE` of the remaining line are removed; with `thinned`, for lines that are
    neither dashed nor filled, also all vertices of each `COLUMN` except the extreme ones.
    """
    steps = [
        (letter, _points([round(float(value), 2) for value in values.split()]))
        for letter, values in _STEPS.findall(path)
    ]
    if {letter for letter, _ in steps} - set("MLQCz"):
        return path
    written, at, start = "", (0.0, 0.0), (0.0, 0.0)
    for letter, group in groupby(steps, key=lambda step: step[0]):
        parts = [points for _, points in group]
        if letter == "L":
            line = [at, *(point for points in parts for point in points)]
            line = simplified(columns(line) if thinned else line)
            written += "".join(_line(*ends) for ends in pairwise(line))
            at = line[-1]
            continue
        for points in parts:
            if letter == "M":
                start = points[0]
            written += _shorter(letter, points, at) if points else letter
            at = points[-1] if points else start
    return _repeated(written)


def columns(line: Sequence[Point]) -> list[Point]:
    """Return a line with at most the first, lowest, highest and last of consecutive vertices in one `COLUMN`."""
    kept: list[Point] = []
    for _, group in groupby(line, key=lambda point: int(point[0] // COLUMN)):
        points = list(group)
        if len(points) > _PER_COLUMN:
            order = range(len(points))
            low, high = min(order, key=lambda i: points[i][1]), max(order, key=lambda i: points[i][1])
            points = [points[i] for i in sorted({0, low, high, len(points) - 1})]
        kept += points
    return kept


def simplified(line: Sequence[Point]) -> list[Point]:
    """Return a line without vertices within `TOLERANCE` of it, by the method of Douglas and Peucker; the ends stay."""
    kept, spans = {0, len(line) - 1}, [(0, len(line) - 1)]
    while spans:
        first, last = spans.pop()
        far, distance = first, TOLERANCE
        for index in range(first + 1, last):
            if (here := _distance(line[index], line[first], line[last])) > distance:
                far, distance = index, here
        if far > first:
            kept.add(far)
            spans += [(first, far), (far, last)]
    return [line[index] for index in sorted(kept)]


def _distance(point: Point, first: Point, last: Point) -> float:
    """Return the distance of a point from the segment between two others."""
    x, y = point[0] - first[0], point[1] - first[1]
    dx, dy = last[0] - first[0], last[1] - first[1]
    length = dx * dx + dy * dy
    along = min(1.0, max(0.0, (x * dx + y * dy) / length)) if length else 0.0
    return float(((x - along * dx) ** 2 + (y - along * dy) ** 2) ** 0.5)


def _points(values: Sequence[float]) -> list[Point]:
    return list(zip(values[::2], values[1::2], strict=True))


def _line(first: Point, last: Point) -> str:
    """Return the shortest step from one point to another."""
    if first[1] == last[1]:
        return min("H" + number(last[0]), "h" + number(last[0] - first[0]), key=len)
    if first[0] == last[0]:
        return min("V" + number(last[1]), "v" + number(last[1] - first[1]), key=len)
    return _shorter("L", [last], first)


def _shorter(letter: str, points: Sequence[Point], at: Point) -> str:
    """Return a step with absolute or relative coordinates, whichever is shorter."""
    absolute = " ".join(f"{number(x)} {number(y)}" for x, y in points)
    relative = " ".join(f"{number(x - at[0])} {number(y - at[1])}" for x, y in points)
    return _SPACE.sub("", min(letter + absolute, letter.lower() + relative, key=lambda text: len(_SPACE.sub("", text))))


def _repeated(path: str) -> str:
    """Return a path without repeated letters of commands."""
    written, last = [], ""
    for letter, values in _STEPS.findall(path):
        if letter != last or letter in "MmZz":
            written.append(letter + values)
        else:
            written.append(values if values.startswith("-") else " " + values)
        last = letter
    return "".join(written)
