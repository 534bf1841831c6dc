"""Makes SVG files of matplotlib smaller, with the same appearance.

    python tools/drawing_weight.py FILE...    rewrites the files in place

Text that matplotlib drew as outlines, except formulas, becomes `<text>` of the same width; numbers have two decimals;
equal styles become one class; elements that draw nothing, groups without attributes and unused identifiers are removed;
vertices of polylines within `drawing_paths.TOLERANCE` of the remaining line are removed. The metadata is kept. The same
input gives the same output; a file that was not written by matplotlib, or was already made smaller, is unchanged.
"""

from __future__ import annotations

import argparse
import html
import math
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import count, product
from pathlib import Path
from string import ascii_lowercase
from xml.etree import ElementTree

from drawing_paths import number, shortened
from drawing_text import HREF, SVG, as_text

MAX_DRAWING = 60_000
"""Upper bound on the size of a committed drawing, bytes."""
FAMILY = "DejaVu Sans, Verdana, sans-serif"

Style = dict[str, str]

_NAMESPACES = {
    "": SVG[1:-1],
    "xlink": HREF[1:].partition("}")[0],
    "dc": "http://purl.org/dc/elements/1.1/",
    "cc": "http://creativecommons.org/ns#",
    "rdf": "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
}
_DEFAULTS = b"*{stroke-linejoin: round; stroke-linecap: butt}"
"""Style sheet that each SVG file of matplotlib has."""
_COMMENT = "comment"
_JOINS = ("stroke-linejoin", "stroke-linecap")
_HYPHENS = re.compile("- (?=-)")
"""Form in which matplotlib writes -- in a comment, where XML forbids it."""
_COORDINATE = re.compile(r"[-+.\d]+(?:e[-+]?\d+)?")
_TURNED = re.compile(r"(?<=translate\()[^)]*|(?<=rotate\()[^)]*")
_TARGET = re.compile(r"(?<=url\(#)[^)]+|(?<=^#).+")


def lighter(drawing: bytes) -> bytes:
    """Return a drawing of matplotlib in fewer bytes, with the same appearance; other drawings are unchanged."""
    if _DEFAULTS not in drawing:
        return drawing
    for prefix, address in _NAMESPACES.items():
        ElementTree.register_namespace(prefix, address)
    builder = ElementTree.TreeBuilder(comment_factory=_comment, insert_comments=True)
    root = ElementTree.fromstring(drawing, ElementTree.XMLParser(target=builder))
    definitions: dict[str, ElementTree.Element] = {}
    body = list(_flattened(root, definitions))
    metadata = [element for element in body if element.tag == f"{SVG}metadata"]
    drawn = [element for element in body if element.tag != f"{SVG}metadata"]
    used = _used(drawn, definitions)
    _rename(used, drawn)
    styles = _styles(used, drawn)
    drawn = list(_joined(drawn, styles))
    elements = _all([*used.values(), *drawn])
    for element in elements:
        _shorten(element, styles[element])
    sheet = _classes(elements, styles)

    # Attributes of the root are inherited; a style sheet for all elements would override the styles of a `use`.
    root.attrib |= {"font-family": FAMILY, "stroke-linejoin": "round"}
    root[:] = metadata
    for tag, text, inner in (("style", sheet, ()), ("defs", None, used.values())):
        if text or inner:
            child = ElementTree.SubElement(root, f"{SVG}{tag}")
            child.text = text
            child.extend(inner)
    root.extend(drawn)
    ElementTree.indent(root, space="")
    written: bytes = ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)
    return written.replace(b" />", b"/>") + b"\n"


def _comment(text: str | None) -> ElementTree.Element:
    element = ElementTree.Element(_COMMENT)
    element.text = text
    return element


def _flattened(
    parent: ElementTree.Element, definitions: dict[str, ElementTree.Element]
) -> Iterator[ElementTree.Element]:
    """Yield the drawn elements of a parent, without groups that have no attributes; collect definitions."""
    label = ""
    for child in parent:
        if child.tag == _COMMENT:
            label = _HYPHENS.sub("-", html.unescape((child.text or "")[1:-1]))
        elif child.tag == f"{SVG}defs":
            definitions.update((inner.attrib["id"], inner) for inner in child if "id" in inner.attrib)
        elif child.tag == f"{SVG}g":
            inside = list(_flattened(child, definitions))
            child.attrib.pop("id", None)
            written = as_text(label, child.attrib, inside) if label else None
            label = ""
            if written is not None:
                yield written
            elif not child.attrib:
                yield from inside
            elif inside:
                child[:] = inside
                yield child
        elif child.tag != f"{SVG}path" or child.get("d", "").strip():
            yield child


def _used(
    drawn: Iterable[ElementTree.Element], definitions: dict[str, ElementTree.Element]
) -> dict[str, ElementTree.Element]:
    """Return the referenced definitions by identifier, in the order of their first use."""
    used: dict[str, ElementTree.Element] = {}
    for top in drawn:
        for element in top.iter():
            for target in (found for value in element.attrib.values() for found in _TARGET.findall(value)):
                if target in definitions and target not in used:
                    used |= _used([definitions[target]], definitions) | {target: definitions[target]}
    return used


def _style(element: ElementTree.Element) -> Style:
    """Remove the style, and the clip path of a line or an area, from an element, and return them."""
    parts = [part.partition(":") for part in element.attrib.pop("style", "").split(";")]
    style = {key.strip(): value.strip() for key, _, value in parts if value}
    if element.tag == f"{SVG}path" and "clip-path" in element.attrib:
        style["clip-path"] = element.attrib.pop("clip-path")
    return style


def _all(tops: Iterable[ElementTree.Element]) -> list[ElementTree.Element]:
    return [element for top in tops for element in top.iter()]


def _rename(used: dict[str, ElementTree.Element], drawn: Iterable[ElementTree.Element]) -> None:
    """Replace the identifiers of the used definitions by short ones, and remove all others."""
    names = dict(zip(used, _names(), strict=False))
    for element in _all([*used.values(), *drawn]):
        element.attrib.pop("id", None)
        for key, value in element.attrib.items():
            element.set(key, _TARGET.sub(lambda found: names.get(found[0], found[0]), value))
    for old, new in names.items():
        definition = used.pop(old)
        definition.attrib = {"id": new, **definition.attrib}
        used[new] = definition


def _styles(
    used: dict[str, ElementTree.Element], drawn: Iterable[ElementTree.Element]
) -> dict[ElementTree.Element, Style]:
    """Remove and return the styles of elements; those of a `use` without properties that its definition sets."""
    elements = _all([*used.values(), *drawn])
    styles = {element: _style(element) for element in elements}
    for element in elements:
        if element.tag == f"{SVG}use" and (definition := used.get(element.get(HREF, "")[1:])) is not None:
            own = {*styles[definition], *_JOINS} - {"opacity"}
            styles[element] = {key: value for key, value in styles[element].items() if key not in own}
    return styles


def _shorten(element: ElementTree.Element, style: Style) -> None:
    """Round the numbers of an element's attributes, and shorten its path."""
    for key, value in element.attrib.items():
        if key in ("x", "y", "width", "height"):
            element.set(key, number(float(value)))
        elif key == "transform":
            element.set(key, _TURNED.sub(lambda found: " ".join(map(number, map(float, found[0].split()))), value))
        elif key == "d":
            thinned = style.get("fill") == "none" and "stroke-dasharray" not in style
            element.set(key, shortened(value, thinned))


def _joined(
    drawn: Iterable[ElementTree.Element], styles: dict[ElementTree.Element, Style]
) -> Iterator[ElementTree.Element]:
    """Yield the elements; consecutive lines, or bars from left to right, with the same opaque style become one path."""
    last: ElementTree.Element | None = None
    right = math.inf
    for element in drawn:
        style = styles[element]
        if element.tag != f"{SVG}path" or set(element.attrib) != {"d"} or any("opacity" in key for key in style):
            last = None
            yield element
            continue
        sides = [round(float(value), 2) for value in _COORDINATE.findall(element.attrib["d"])[::2]]
        # Overlapping areas would become one area with another outline.
        beside = style.get("fill") == "none" or ("stroke" not in style and min(sides) >= right)
        if last is not None and beside and style == styles[last]:
            last.set("d", last.attrib["d"] + element.attrib["d"])
        else:
            yield element
            last = element
        right = max(sides)


def _names() -> Iterator[str]:
    """Yield the names a, b, ..., z, aa, ab, ..."""
    for length in count(1):
        yield from map("".join, product(ascii_lowercase, repeat=length))


def _classes(elements: list[ElementTree.Element], styles: dict[ElementTree.Element, Style]) -> str:
    """Set the style of each element, as a class if other elements have the same style; return the style sheet."""
    texts = {element: ";".join(f"{key}:{value}" for key, value in styles[element].items()) for element in elements}
    counted = Counter(text for text in texts.values() if text)
    classes = dict(zip((text for text, times in counted.items() if times > 1), _names(), strict=False))
    for element, text in texts.items():
        if text in classes:
            element.set("class", classes[text])
        elif text:
            element.set("style", text)
    return "".join(f".{name}{{{text}}}\n" for text, name in classes.items())


def main() -> int:
    """Rewrite the named files."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("files", nargs="+", type=Path)
    for path in parser.parse_args().files:
        before = path.read_bytes()
        after = lighter(before)
        path.write_bytes(after)
        print(f"{path}: {len(before)} -> {len(after)} bytes" + " (too large)" * (len(after) > MAX_DRAWING))
    return 0


if __name__ == "__main__":
    sys.exit(main())
