"""Pages of report cards: where the words of comparisons stand, what replaces values, and the cards of the docs."""

from __future__ import annotations

import re
from collections.abc import Callable
from html import unescape
from pathlib import Path
from types import ModuleType

import pytest
from conftest import Ran

from tailback.evaluation.aqm.guide import AQM
from tailback.evaluation.card import Against, Card, Row, Score, verdict
from tailback.evaluation.criteria import Better
from tailback.evaluation.page import page, shown
from tailback.results.intervals import Interval

Cli = Callable[..., Ran]
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def cards(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """Return the tool that writes the cards of the docs."""
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    import report_cards

    return report_cards


def made_up(score: Score) -> Card:
    """Return a card of `mine` against `pie` and `red` with one row."""
    row = Row("5.1.1", "5.1.1", "Senders", 3, "run", "", (score,), {"5.1.1": "one flow"}, frozenset())
    return Card(AQM, "mine", ("pie", "red"), "quick", 1, (row,), (), (), {}, (8, 8), 0, 0.0, "d", interrupted=False)


def score(better: Better, own: float, pie: float, red: float) -> Score:
    """Return a criterion with half-widths of 1, also of the differences, of which the words are made."""

    def around(mean: float) -> Interval:
        return Interval(mean, mean - 1, mean + 1, 8)

    against = {
        name: Against(around(value), around(own - value), "better" if own < value - 1 else "worse")
        for name, value in (("pie", pie), ("red", red))
    }
    return Score("5.1.1", "delay", "queueing delay", "ms", better, around(own), against)


def cells(text: str, label: str) -> list[str]:
    """Return the texts of the cells of the table row, of HTML or Markdown, that begins with a label."""
    if "<td>" in text:
        line = next(found for found in re.findall(r"<tr>(.*?)</tr>", text) if found.startswith(f"<td>{label}"))
        return [unescape(re.sub(r"<[^>]*>", " ", cell)) for cell in re.findall(r"<td[^>]*>(.*?)</td>", line)]
    line = next(found for found in text.splitlines() if found.startswith(f"| {label}"))
    return [cell.strip() for cell in line.strip("|").split("|")]


@pytest.mark.parametrize("form", ["html", "markdown"])
def test_the_words_of_comparisons_stand_in_the_cell_of_the_evaluated_subject(form: str, cards: ModuleType) -> None:
    # A lower delay than that of pie, a higher one than that of red.
    found = made_up(score("lower", 10.0, 20.0, 5.0))
    text = page(found, {}) if form == "html" else cards.markdown(found)
    _, own, pie, red = cells(text, "queueing delay (ms)")
    assert "10 [9, 11]" in own
    assert "better than pie" in own
    assert "worse than red" in own
    assert (pie.strip(), red.strip()) == ("20 [19, 21]", "5 [4, 6]")


@pytest.mark.parametrize("form", ["html", "markdown"])
def test_the_counts_of_the_summary_name_the_subject_of_the_words(form: str, cards: ModuleType) -> None:
    found = made_up(score("lower", 10.0, 20.0, 5.0))
    text = page(found, {}) if form == "html" else cards.markdown(found)
    assert [cell.strip() for cell in cells(text, "mine against pie")] == ["mine against pie", "1", "0", "0"]
    assert [cell.strip() for cell in cells(text, "mine against red")] == ["mine against red", "0", "1", "0"]


def test_equal_results_are_one_text() -> None:
    assert verdict("better", ["pie", "red"]) == "better than pie, red"
    assert verdict("undecided", ["pie"]) == "undecided against pie"


def test_an_interval_without_width_says_that_the_replications_are_the_same() -> None:
    assert shown(Interval(58.0, 58.0, 58.0, 8)) == "58 (same in all replications)"
    assert shown(Interval(12.3, 11.9, 12.7, 8)) == "12.3 [11.9, 12.7]"
    # With four digits both ends would be 9.999.
    assert shown(Interval(9.99895, 9.99893, 9.99897, 8)) == "9.99895 [9.99893, 9.99897]"
    # A single number, such as the number of parameters, has no interval.
    assert (shown(Interval(6.0, 6.0, 6.0, 1)), shown(Interval(0.0, 0.0, 0.0, 0))) == ("6", "no value")


def test_the_words_instead_of_a_value_are_shown_for_each_subject(cards: ModuleType) -> None:
    none = Interval(float("nan"), float("nan"), float("nan"), 0)
    state = Score("5.1.1", "state", "state", "B", "lower", none, {}, absent={"mine": "not declared", "red": "unknown"})
    for text in (page(made_up(state), {}), cards.markdown(made_up(state))):
        found = [cell.strip() for cell in cells(text, "state (B)")]
        assert found[1] == "not declared"
        assert found[-1] == "unknown"


def test_sections_that_were_not_requested_are_not_selected(tailback: Cli) -> None:
    ran = tailback("evaluate", "codel", "--against", "drop-tail", "--only", "12.2", "--json")
    found = {row["section"]: (row["status"], row["why"]) for row in ran.json["rows"]}
    assert found["12.2"][0] == found["12"][0] == "run"
    assert found["5.1.1"] == found["8"] == ("not selected", "only other sections were requested")
    # A section without a test has none in either case.
    assert found["7.1"][0] == "not applicable"


def test_the_tool_for_cards_covers_those_of_the_docs(cards: ModuleType) -> None:
    """One command, `make cards`, writes every page and figure of the folder, and each card is on a page of the docs."""
    names = sorted(cards.KINDS)
    assert sorted(path.stem for path in cards.FOLDER.glob("*.md")) == names
    assert sorted(path.stem for path in cards.FOLDER.glob("*.svg")) == names
    linked = {
        name
        for page_of in ("evaluate.md", "evaluate-transport.md")
        for name in re.findall(r"\(evaluate/([a-z0-9-]+)\.md\)", (ROOT / "docs" / page_of).read_text(encoding="utf-8"))
    }
    assert linked == set(names)
    recipe = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert re.search(r"^cards:.*\n\t\$\(BIN\)/python tools/report_cards\.py$", recipe, re.MULTILINE)
