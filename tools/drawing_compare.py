"""Compares the appearance of two SVG drawings, with a tolerance for versions of matplotlib and FreeType.

Texts and elements, their order and their styles must be equal. Positions may differ by `NEAR`: each vertex of a line
must be within that distance of the corresponding line of the other drawing, so that two lines along the same course
are equal although their vertices differ. The pixels of images are not compared.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from xml.etree import ElementTree

from drawing_text import HREF, SVG

NEAR = 1.5
"""Maximum distance between elements of equal drawings, points.

Versions of FreeType have different sizes of letters: between matplotlib 3.10 and 3.11, axes move by 0.6 points, and
legends by 1.2 points.
"""

Point = tuple[float, float]
Line = list[Point]

_STEP = re.compile(r"([A-Za-z])|(-?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?)")
_RULE = re.compile(r"\.(\w+)\{([^}]*)\}")
_TRANSLATED = re.compile(r"translate\(([-\d.]+)[ ,]+([-\d.]+)\)")
_REFERENCE = re.compile(r"url\(#[^)]*\)")
_SIZES = {"M": 2, "L": 2, "H": 1, "V": 1, "Q": 4, "C": 6, "Z": 0}


@dataclass(frozen=True, slots=True)
class Shape:
    """An element with its text, style and geometry."""

    kind: str
    """`path`, `text` or `image`."""
    text: str
    """Characters of a text; empty for other elements."""
    style: tuple[tuple[str, str], ...]
    """Properties with their values, in the order of their names."""
    lines: tuple[tuple[Point, ...], ...]
    """Lines of a path, two opposite corners of an image, or the position of a text; in points."""


def difference(first: bytes, second: bytes) -> str:
    """Return the first difference of two SVG files in words; empty if the drawings look the same."""
    one, other = (ElementTree.fromstring(drawing) for drawing in (first, second))
    if one.get("viewBox") != other.get("viewBox"):
        return f"size {one.get('viewBox')} against {other.get('viewBox')}"
    a, b = list(_shapes(one)), list(_shapes(other))
    texts = [[shape.text for shape in shapes if shape.kind == "text"] for shapes in (a, b)]
    if texts[0] != texts[1]:
        left, right = next((pair for pair in zip(*texts, strict=False) if pair[0] != pair[1]), ("", ""))
        return f"text {left!r} against {right!r}" if left != right else "number of texts"
    if len(a) != len(b):
        return f"{len(a)} elements against {len(b)}"
    for left, right in zip(a, b, strict=True):
        if (left.kind, left.text, left.style) != (right.kind, right.text, right.style):
            return f"{left.kind} {dict(left.style)} against {right.kind} {dict(right.style)}"
        if len(left.lines) != len(right.lines):
            return f"{left.kind} of {len(left.lines)} lines against {len(right.lines)}"
        apart = max((_apart(p, q) for p, q in zip(left.lines, right.lines, strict=True)), default=0.0)
        if apart > NEAR:
            where = left.lines[0][0]
            return f"{left.kind} {left.text!r} at {where[0]:.0f}, {where[1]:.0f}: {apart:.2f} points apart"
    return ""


def _shapes(root: ElementTree.Element) -> Iterator[Shape]:
    """Yield the visible elements of a drawing, in their order."""
    rules = {
        name: _declared(body) for style in root.iter(f"{SVG}style") for name, body in _RULE.findall(style.text or "")
    }
    known = {element.attrib["id"]: element for element in root.iter() if "id" in element.attrib}
    hidden = {f"{SVG}{tag}" for tag in ("metadata", "style", "defs")}

    def visit(element: ElementTree.Element, at: Point, outer: Mapping[str, str]) -> Iterator[Shape]:
        if element.tag in hidden:
            return
        moved = _TRANSLATED.match(element.get("transform", ""))
        # The part of a transform after the translation is compared as text.
        rest = _TRANSLATED.sub("", element.get("transform", ""), count=1)
        at = (at[0] + float(moved[1]), at[1] + float(moved[2])) if moved else at
        style = {**outer, **rules.get(element.get("class", ""), {}), **_declared(element.get("style", ""))}
        if rest:
            style["transform"] = rest
        place = (at[0] + float(element.get("x", 0)), at[1] + float(element.get("y", 0)))
        shown = tuple(sorted((key, _REFERENCE.sub("clip", value)) for key, value in style.items()))
        if element.tag == f"{SVG}path":
            yield Shape("path", "", shown, tuple(tuple(_moved(line, at)) for line in _lines(element.get("d", ""))))
        elif element.tag == f"{SVG}use":
            yield from visit(known[element.get(HREF, "")[1:]], place, style)
        elif element.tag == f"{SVG}text":
            yield Shape("text", element.text or "", shown, ((place,),))
        elif element.tag == f"{SVG}image":
            size = (float(element.get("width", 0)), float(element.get("height", 0)))
            # Equal pixels are compressed to different bytes by different versions of zlib.
            yield Shape("image", "", shown, ((place, (place[0] + size[0], place[1] + size[1])),))
        for child in element:
            yield from visit(child, at, style)

    for top in root:
        yield from visit(top, (0.0, 0.0), {})


def _declared(text: str) -> dict[str, str]:
    """Return the properties in a `style` attribute or a rule, with their values."""
    parts = [part.partition(":") for part in text.split(";")]
    return {key.strip(): value.strip() for key, _, value in parts if value}


def _moved(line: Line, by: Point) -> Iterator[Point]:
    """Yield the points of a line after a translation."""
    return ((x + by[0], y + by[1]) for x, y in line)


def _lines(path: str) -> Iterator[Line]:
    """Yield the lines of a path; curves are represented by their control points."""
    letter, numbers, line, at, start = "", list[float](), list[Point](), (0.0, 0.0), (0.0, 0.0)
    for found, value in _STEP.findall(path):
        if found:
            letter = found
            if letter in "Zz":
                line.append(start)
                at = start
            continue
        numbers.append(float(value))
        if len(numbers) < _SIZES[letter.upper()]:
            continue
        base = at if letter.islower() else (0.0, 0.0)
        match letter.upper():
            case "H":
                points = [(base[0] + numbers[0], at[1])]
            case "V":
                points = [(at[0], base[1] + numbers[0])]
            case _:
                points = [(base[0] + x, base[1] + y) for x, y in zip(numbers[::2], numbers[1::2], strict=True)]
        numbers = []
        if letter in "Mm":
            if line:
                yield line
            line, start = [], points[0]
            letter = "L" if letter == "M" else "l"
        line += points
        at = points[-1]
    if line:
        yield line


def _apart(one: Sequence[Point], other: Sequence[Point]) -> float:
    """Return 0 if each vertex of either line is within `NEAR` of the other, else the distance of one that is not."""
    return max(_beside(one, other), _beside(other, one))


def _beside(points: Sequence[Point], line: Sequence[Point]) -> float:
    """Return the distance of the first point that is not within `NEAR` of the line; 0: there is no such point.

    Points are compared in order with the part of the line after the segment near the previous point. The result is at
    least twice `NEAR` even if the point is near an earlier part of the line.
    """
    if len(line) == 1:
        distance = max(math.dist(point, line[0]) for point in points)
        return distance if distance > NEAR else 0.0
    segments = list(pairwise(line))
    at = 0
    for point in points:
        near = (index for index in range(at, len(segments)) if _distance(point, *segments[index]) <= NEAR)
        segment_index = next(near, None)
        if segment_index is None:
            return max(min(_distance(point, *segment) for segment in segments), 2 * NEAR)
        at = segment_index
    return 0.0


def _distance(point: Point, first: Point, last: Point) -> float:
    """Return the distance of a point from a segment."""
    x, y = point[0] - first[0], point[1] - first[1]
    dx, dy = last[0] - first[0], last[1] - first[1]
    length = dx * dx + dy * dy
    along = min(1.0, max(0.0, (x * dx + y * dy) / length)) if length else 0.0
    return math.hypot(x - along * dx, y - along * dy)
