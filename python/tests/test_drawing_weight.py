"""Drawings in the documentation are small files, and text, lines and areas are where matplotlib drew them."""

from __future__ import annotations

import json
import math
import random
import re
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from types import ModuleType
from xml.etree import ElementTree

import pytest

plt = pytest.importorskip("matplotlib.pyplot")

from tailback.plotting import plot  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
SVG = "{http://www.w3.org/2000/svg}"
HREF = "{http://www.w3.org/1999/xlink}href"

COMMITTED = [path for path in (ROOT / "docs").rglob("*.svg") if "results" not in path.parts]

Draw = Callable[["plt.Axes"], object]


@pytest.fixture
def tool(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    import drawing_weight

    return drawing_weight


@pytest.fixture
def paths(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    import drawing_paths

    return drawing_paths


def drawn(draw: Draw, about: str = "") -> bytes:
    """Return a drawing of axes as SVG of matplotlib, with a description."""
    with plot.style():
        figure, axes = plt.subplots(figsize=(4, 3))
        draw(axes)
    try:
        return plot.to_bytes(figure, "svg", about)
    finally:
        plt.close(figure)


def texts(drawing: bytes) -> dict[str | None, ElementTree.Element]:
    """Return the `<text>` elements of a drawing by their text."""
    return {element.text: element for element in ElementTree.fromstring(drawing).iter(f"{SVG}text")}


def distance(point: tuple[float, float], line: list[tuple[float, float]]) -> float:
    """Return the distance of a point from a polyline, approximated by 500 points on each segment."""
    found = math.inf
    for (x, y), (u, v) in pairwise(line):
        if min(x, u) - 0.1 <= point[0] <= max(x, u) + 0.1:
            found = min(found, *(math.dist(point, (x + (u - x) * k / 500, y + (v - y) * k / 500)) for k in range(501)))
    return found


def references(root: ElementTree.Element) -> Iterator[str]:
    """Yield the identifiers to which a drawing refers."""
    for element in root.iter():
        yield from (value[1:] for key, value in element.attrib.items() if key == HREF and value.startswith("#"))
    yield from re.findall(r"url\(#([^)]+)\)", ElementTree.tostring(root, encoding="unicode"))


@pytest.mark.parametrize("path", COMMITTED, ids=lambda path: path.stem)
def test_committed_drawings_are_light(tool: ModuleType, path: Path) -> None:
    drawing = path.read_bytes()
    assert len(drawing) <= tool.MAX_DRAWING
    assert tool.lighter(drawing) == drawing


def heavy(results: Path, largest: int) -> list[str]:
    """Return the names of drawings above `largest` bytes, of experiments run with digest version 2 or later.

    Results of earlier versions were drawn before drawings were made lighter; they are replaced when they are run again.
    """
    found = []
    for file in sorted(results.glob("*/results.json")):
        version = re.match(r"tb(\d*)", json.loads(file.read_text(encoding="utf-8"))["provenance"]["digest"])
        if version is not None and int(version[1] or 1) >= 2:
            found += [path.name for path in sorted(file.parent.glob("*.svg")) if path.stat().st_size > largest]
    return found


def test_drawings_of_results_of_this_digest_version_are_light(tool: ModuleType) -> None:
    assert heavy(ROOT / "docs" / "results", tool.MAX_DRAWING) == []


def test_a_heavy_drawing_of_a_result_is_found_by_the_digest_version(tmp_path: Path) -> None:
    for name, digest in (("old", "tb1e:00"), ("oldest", "tbe:00"), ("new", "tb2e:00"), ("newer", "tb12e:00")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "results.json").write_text(json.dumps({"provenance": {"digest": digest}}))
        (tmp_path / name / f"{name}.svg").write_bytes(b"x" * 11)
        (tmp_path / name / "light.svg").write_bytes(b"x" * 10)
    assert sorted(heavy(tmp_path, 10)) == ["new.svg", "newer.svg"]


def test_only_the_pages_of_results_link_to_their_pictures() -> None:
    # The format may change between SVG and PNG when results are drawn again; other pages link to sections instead.
    for page in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "python").rglob("*.md")]:
        if "results" not in page.relative_to(ROOT).parts:
            found = re.findall(r"\([^)]*results/[^)]*\.(?:png|svg)\)", page.read_text(encoding="utf-8"))
            assert not found, f"{page.relative_to(ROOT)} links to {found}"


def test_a_lighter_drawing_stays_as_it_is_and_keeps_its_description(tool: ModuleType) -> None:
    before = drawn(
        lambda axes: axes.plot([1, 2, 3], [3, 1, 2], "o-", label="a line") and axes.legend(), "digest 0x12 & more"
    )
    after = tool.lighter(before)
    assert len(after) < len(before) / 3
    assert tool.lighter(before) == after == tool.lighter(after)
    described = ElementTree.fromstring(after).find(".//{http://purl.org/dc/elements/1.1/}description")
    assert described is not None
    assert described.text == "digest 0x12 & more"


def test_all_that_a_drawing_refers_to_is_in_it(tool: ModuleType) -> None:
    def draw(axes: plt.Axes) -> None:
        axes.bar([1, 2], [3, 4], hatch="/", edgecolor="black")
        axes.scatter([1, 2], [3, 4])
        axes.set_yscale("log")

    root = ElementTree.fromstring(tool.lighter(drawn(draw)))
    known = [element.attrib["id"] for element in root.iter() if "id" in element.attrib]
    assert len(known) == len(set(known)) > 4
    assert set(references(root)) == set(known)


@pytest.mark.parametrize(
    "label", ["R&D <b> 5 µs > 4", "a--b---c", "offered flow, fifo", "two  spaces", "&lt; &amp;amp;", "±3 % → √2"]
)
def test_text_survives_at_its_place_and_width(tool: ModuleType, label: str) -> None:
    figure, axes = plt.subplots(figsize=(4, 3), dpi=72)
    with plot.style():
        title = axes.set_title(label, fontweight="bold", color="#123456")
        turned = axes.set_ylabel(label)
        drawing = tool.lighter(plot.to_bytes(figure, "svg"))
    found = [text for text in ElementTree.fromstring(drawing).iter(f"{SVG}text") if text.text == label]
    boxes = {text: text.get_window_extent() for text in (title, turned)}
    plt.close(figure)
    flat = next(text for text in found if "x" in text.attrib)
    steep = next(text for text in found if "rotate(-90)" in text.get("transform", ""))
    assert float(flat.attrib["textLength"]) == pytest.approx(boxes[title].width, abs=2)
    assert float(steep.attrib["textLength"]) == pytest.approx(boxes[turned].height, abs=2)
    assert float(flat.attrib["x"]) == pytest.approx(boxes[title].x0, abs=2)
    assert "font-weight:bold" in flat.get("style", "")
    assert "fill:#123456" in flat.get("style", "")


@pytest.mark.parametrize(("first", "second", "known"), [("24", "4c", True), ("41", "69", True), ("24", "69", False)])
def test_glyphs_named_by_index_or_by_code_point_become_text(
    tool: ModuleType, first: str, second: str, known: bool
) -> None:
    # "Ai" in DejaVu Sans: glyph indices 0x24 and 0x4c, or, in matplotlib up to 3.10, code points 0x41 and 0x69.
    glyphs = [ElementTree.Element(f"{SVG}use", {HREF: f"#DejaVuSans-{name}"}) for name in (first, second)]
    about = {"transform": "translate(10 20) scale(0.1 -0.1)"}
    # matplotlib up to 3.9 places glyphs by `x`.
    for place, value in (("transform", "translate(68.4 0)"), ("x", "68.4")):
        glyphs[1].attrib.pop("transform", None)
        glyphs[1].set(place, value)
        written = tool.as_text("Ai", about, glyphs)
        assert (written is not None and written.text == "Ai") == known
        if written is not None:
            assert float(written.attrib["textLength"]) == pytest.approx(6.84 + 2.78, abs=0.02)


def test_a_power_of_ten_keeps_its_raised_exponent(tool: ModuleType) -> None:
    def draw(axes: plt.Axes) -> None:
        axes.set_xlim(1, 2)
        axes.set_yscale("log")
        axes.set_ylim(500, 2000)
        axes.minorticks_off()

    drawing = tool.lighter(drawn(draw))
    assert not texts(drawing).keys() & {"10", "103", "3"}
    (label,) = (group for group in ElementTree.fromstring(drawing).iter(f"{SVG}g") if len(group) == 3)
    one, zero, three = label
    assert len({one.get(HREF), zero.get(HREF), three.get(HREF)}) == 3
    assert "scale" not in one.get("transform", "") + zero.get("transform", "")
    assert three.attrib["transform"].endswith("scale(0.7)")


def test_numbers_have_two_decimals(paths: ModuleType) -> None:
    assert [paths.number(value) for value in (0, -0.001, 0.5, -0.25, 10, 3.14159, 1e-7, 1e6)] == [
        *("0", "0", ".5", "-.25", "10", "3.14", "0", "1000000")
    ]
    assert paths.shortened("M 1e-05 2 \nL 3.456 1e+02 \n") == "M0 2l3.46 98"
    assert paths.shortened("M 10 20 L 10 30 L 40 30 L 10 20 z") == "M10 20V30H40L10 20z"


def test_rounding_does_not_accumulate(paths: ModuleType) -> None:
    line = [(0.014 * i, math.sin(i)) for i in range(2000)]
    written = paths.shortened("M " + " L ".join(f"{x} {y}" for x, y in line))
    x = 0.0
    for letter, values in re.findall(r"([A-Za-z])([^A-Za-z]*)", written):
        numbers = [float(value) for value in re.findall(r"-?[\d.]+", values)]
        xs = numbers if letter in "Hh" else [] if letter in "Vv" else numbers[::2]
        x = x + sum(xs) if letter.islower() else xs[-1] if xs else x
    assert x == pytest.approx(line[-1][0], abs=0.006)


def test_removed_vertices_are_on_the_remaining_line(paths: ModuleType) -> None:
    draw = random.Random(7)
    line, y = [], 0.0
    for i in range(400):
        y += draw.uniform(-0.05, 0.05)
        line.append((0.2 * i, y))
    kept = paths.simplified(line)
    assert len(kept) < len(line) / 2
    assert paths.simplified(kept) == kept
    assert max(distance(point, kept) for point in line) <= paths.TOLERANCE + 0.001


def test_extremes_of_a_dense_line_survive(paths: ModuleType) -> None:
    draw = random.Random(7)
    line = [(0.001 * i, round(draw.uniform(0, 10), 2)) for i in range(20_000)]
    line[5_003], line[12_345] = (5.003, 99.0), (12.345, -99.0)
    kept = paths.columns(line)
    assert len(kept) <= 4 * 201
    assert kept[0] == line[0]
    assert kept[-1] == line[-1]
    assert {line[5_003], line[12_345]} <= set(kept)
    text = "M " + " L ".join(f"{x} {y}" for x, y in line)
    thinned = paths.shortened(text, thinned=True)
    assert len(thinned) < len(text) / 10
    assert len(thinned) < len(paths.shortened(text)), "only open lines without dashes lose their middle vertices"


@pytest.mark.parametrize(("width", "areas"), [(1.0, 1), (0.5, 1), (1.5, 3)])
def test_bars_become_one_area_unless_they_overlap(tool: ModuleType, width: float, areas: int) -> None:
    drawing = tool.lighter(drawn(lambda axes: axes.bar([1, 2, 3], [3, 4, 5], width=width, color="#0072b2")))
    root = ElementTree.fromstring(drawing)
    sheet = "".join(element.text or "" for element in root.iter(f"{SVG}style"))
    blue = re.findall(r"\.(\w+)\{fill:#0072b2", sheet)
    bars = [path for path in root.iter(f"{SVG}path") if path.get("class") in blue or "#0072b2" in path.get("style", "")]
    assert len(bars) == areas
    assert sum(bar.attrib["d"].upper().count("M") for bar in bars) == 3
