"""Committed figures of the documentation equal newly drawn ones within a tolerance, which is tested here, too."""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

pytest.importorskip("matplotlib")

import tailback
from tailback.gallery.registry import EVERY

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = sorted((ROOT / "docs" / "examples" / "figures").glob("*.toml"))
PIE = (ROOT / "docs" / "figures" / "pie.svg").read_bytes()


@pytest.fixture
def tool(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    import drawing_compare

    return drawing_compare


@pytest.fixture
def figures(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Return all drawings by name."""
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    from drawings import FIGURES

    return FIGURES


def test_every_figure_names_its_scenario_on_every_page_that_shows_it(figures: dict[str, Any]) -> None:
    pages = [path for path in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")] if path.name != "figures.md"]
    texts = {page: page.read_text(encoding="utf-8") for page in pages}
    for name, drawing in figures.items():
        showing = [page for page, text in texts.items() if f"figures/{name}.svg)" in text]
        assert showing, name
        for page in showing:
            assert f"python tools/docs_figures.py {name}`" in texts[page], f"{page.name} has no command for {name}"
            for source in drawing.sources:
                words = f"`tailback reproduce {source}`" if source in EVERY else f"examples/{source})"
                assert words in texts[page], f"{page.name} does not name {source}, which {name} is drawn from"


def test_figures_without_a_scenario_are_drawings_and_formulas(figures: dict[str, Any]) -> None:
    without = {name for name, drawing in figures.items() if not drawing.sources}
    assert without == {"congestion-management", "wfq-finish-times", "wred-profiles"}


def test_no_drawing_builds_a_network_of_its_own() -> None:
    for path in sorted((ROOT / "tools" / "drawings").glob("*.py")):
        found = re.findall(r"Scenario\(|\.(?:host|switch|link|flow)\(", path.read_text(encoding="utf-8"))
        assert not found, f"{path.name}: {found}"


def test_a_drawing_from_another_scenario_than_it_states_fails(figures: dict[str, Any]) -> None:
    drawing = replace(figures["drop-tail"], sources=("figures/flood.toml",))
    with pytest.raises(AssertionError, match=r"drawn from \['figures/crowd.toml'\]"):
        drawing()


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.name)
def test_scenarios_of_figures_state_seed_and_description_give_no_warning_and_are_drawn(
    example: Path, figures: dict[str, Any]
) -> None:
    text = example.read_text(encoding="utf-8")
    assert re.search(r"\bseed = \d+", text)
    assert re.search(r'^description = """', text, re.MULTILINE)
    assert tailback.load(example).warnings == ()
    assert any(f"figures/{example.name}" in drawing.sources for drawing in figures.values())


def check(*options: str) -> None:
    """Check the committed figures; fails with the output of the tool if one differs."""
    command = [sys.executable, ROOT / "tools" / "docs_figures.py", "--check", *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_committed_figures_that_take_little_time_are_current() -> None:
    check("--quick")


@pytest.mark.slow
def test_all_committed_figures_are_current() -> None:
    check()


def longest_line() -> tuple[bytes, list[str]]:
    """Return the data of the longest line of the figure, and its steps."""
    path = max(re.findall(rb' d="([^"]*)"', PIE), key=len)
    return path, re.findall(r"[A-Za-z][^A-Za-z]*", path.decode())


def moved(by: float) -> bytes:
    """Return the figure with its longest line moved down by the given number of points."""
    path, steps = longest_line()
    x, y = steps[0][1:].split()
    rest = "".join(re.sub(r"V([\d.]+)", lambda found: f"V{float(found[1]) + by:.2f}", step) for step in steps[1:])
    assert not re.search("[LCQ]", rest), "all other steps are relative"
    return PIE.replace(path, f"M{x} {float(y) + by:.2f}{rest}".encode())


def test_a_line_may_move_by_less_than_the_tolerance(tool: ModuleType) -> None:
    assert tool.difference(PIE, PIE) == ""
    assert tool.difference(PIE, moved(tool.NEAR - 0.05)) == ""
    assert "points apart" in tool.difference(PIE, moved(tool.NEAR + 0.2))


def test_additional_vertices_on_a_line_do_not_matter_but_a_peak_or_a_missing_side_does(tool: ModuleType) -> None:
    frame = b'd="M41.18 116.01H596.07V3H41.18z"'
    assert frame in PIE
    assert tool.difference(PIE, PIE.replace(frame, b'd="M41.18 116.01H300H596.07V50V3H41.18z"')) == ""
    assert "points apart" in tool.difference(
        PIE, PIE.replace(frame, b'd="M41.18 116.01H300L310 20L320 116.01H596.07V3H41.18z"')
    )
    for other in (b'd="M41.18 116.01H596.07V3z"', b'd="M41.18 116.01H596.07V3H41.18"'):
        assert "points apart" in tool.difference(PIE, PIE.replace(frame, other))


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        (b">probability<", b">probabilities<", "text 'probability' against 'probabilities'"),
        (b'x="28.45" y="119.43"', b'x="28.85" y="119.43"', ""),
        (b'x="28.45" y="119.43"', b'x="30.45" y="119.43"', "2.00 points apart"),
        (b"stroke:#e69f00", b"stroke:#0072b2", "#e69f00"),
        (b'<use xlink:href="#b" x="133.66" y="116.01"/>', b"", "elements against"),
        (b'<path id="b" d="M0 0V3.5"', b'<path id="b" d="M0 0V7.5"', "4.00 points apart"),
        (b"translate(", b"translate(1", "points apart"),
        (b"rotate(-90)", b"rotate(-80)", "rotate"),
        (b'viewBox="0 0 604.8', b'viewBox="0 0 605.8', "size"),
    ],
)
def test_texts_colours_elements_positions_and_size_are_compared(
    tool: ModuleType, before: bytes, after: bytes, words: str
) -> None:
    assert before in PIE
    found = tool.difference(PIE, PIE.replace(before, after, 1))
    assert (words in found) if words else not found, found
