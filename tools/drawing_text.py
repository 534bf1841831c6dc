"""Converts text that matplotlib drew as outlines in SVG files back to text."""

from __future__ import annotations

import math
import re
from functools import cache
from pathlib import Path
from xml.etree import ElementTree

import matplotlib
from matplotlib import ft2font
from matplotlib.ft2font import FT2Font

from drawing_paths import number

SVG = "{http://www.w3.org/2000/svg}"
HREF = "{http://www.w3.org/1999/xlink}href"

_WEIGHTS = {"DejaVuSans": "", "DejaVuSans-Bold": "bold"}
_LIGATURES = {"ffi": "\ufb03", "ffl": "\ufb04", "ff": "\ufb00", "fi": "\ufb01", "fl": "\ufb02"}
# In matplotlib 3.9, the oldest supported version, the flag has another name.
_UNSCALED = ft2font.LoadFlags.NO_SCALE if hasattr(ft2font, "LoadFlags") else getattr(ft2font, "LOAD_NO_SCALE")  # noqa: B009
_FONT_UNITS = 100
"""Units per em in which matplotlib places glyphs."""
_PLACE = re.compile(r"translate\(([^ )]+) ([^ )]+)\)(?: rotate\(([^ )]+)\))? scale\(([^ )]+) -\4\)")
_MOVED = re.compile(r"translate\(([^ )]+) 0\)")


@cache
def _font(name: str) -> FT2Font:
    # matplotlib before 3.11 does not accept a Path.
    return FT2Font(str(Path(matplotlib.get_data_path()) / "fonts" / "ttf" / f"{name}.ttf"))


def as_text(label: str, attributes: dict[str, str], glyphs: list[ElementTree.Element]) -> ElementTree.Element | None:
    """Return glyphs as a `<text>` element; `None`: they are not the label's characters on one line, but a formula.

    `label` is the text that was drawn, and `attributes` are those of the group of the glyphs.
    """
    place = _PLACE.fullmatch(attributes.get("transform", ""))
    found = [glyph.get(HREF, "").removeprefix("#").rpartition("-") for glyph in glyphs]
    # In matplotlib 3.9 the position of a glyph is its `x`.
    moves = [_MOVED.fullmatch(glyph.get("transform", f"translate({glyph.get('x', 0)} 0)")) for glyph in glyphs]
    name = found[0][0] if found else ""
    if not place or not all(moves) or name not in _WEIGHTS:
        return None
    font = _font(name)
    joined = label
    for letters, ligature in _LIGATURES.items():
        joined = joined.replace(letters, ligature)
    # Glyphs are named by their index in the font; before matplotlib 3.11, by their code point, and without ligatures.
    by_index, by_code = [font.get_char_index(ord(c)) for c in joined], [ord(c) for c in label]
    named = [identifier[2] for identifier in found]
    if {identifier[:2] for identifier in found} != {(name, "-")} or not label.strip():
        return None
    if named == [f"{index:x}" for index in by_index]:
        drawn = joined
    elif named == [f"{code:x}" for code in by_code]:
        drawn = label
    else:
        return None
    indices = [font.get_char_index(ord(character)) for character in drawn]
    first, last = len(drawn) - len(drawn.lstrip()), len(drawn.rstrip()) - 1
    offsets = [float(move[1]) for move in moves if move]
    advance = font.load_glyph(indices[last], flags=_UNSCALED).horiAdvance * _FONT_UNITS / font.units_per_EM
    x, y, angle, scale = float(place[1]), float(place[2]), float(place[3] or 0), float(place[4])
    # Viewers do not draw leading spaces.
    x += math.cos(math.radians(angle)) * offsets[first] * scale
    y += math.sin(math.radians(angle)) * offsets[first] * scale
    written = ElementTree.Element(f"{SVG}text")
    written.text = label.strip()
    if angle:
        written.set("transform", f"translate({number(x)} {number(y)})rotate({number(angle)})")
    else:
        written.attrib |= {"x": number(x), "y": number(y)}
    if len(written.text) > 1:
        written.set("textLength", number((offsets[last] + advance - offsets[first]) * scale))
    if "  " in written.text:
        written.set("{http://www.w3.org/XML/1998/namespace}space", "preserve")
    weight = f"; font-weight: {_WEIGHTS[name]}" if _WEIGHTS[name] else ""
    inherited = f"; {attributes['style']}" if "style" in attributes else ""
    written.set("style", f"font-size: {number(scale * _FONT_UNITS)}px{weight}{inherited}")
    return written
