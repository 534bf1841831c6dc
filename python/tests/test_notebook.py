"""The lab in a notebook: the scenario is checked, and the widget has the page of the lab.

web/test/widget.test.mjs shows it in a browser.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from test_lab import SCENARIO, _opened

import tailback
from tailback.web.notebook import _widget_class

TRACE = 'source = { kind = "trace", file = "frames.txt", format = "terse-bits", fps = 25.0, scale-to = "1.5Mbit/s" }\n'


@pytest.fixture
def built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of built files with a short page and a short widget."""
    (tmp_path / "lab").mkdir()
    (tmp_path / "lab" / "index.html").write_text("<html>ü", encoding="utf-8")
    (tmp_path / "widget.js").write_text("export default {}", encoding="utf-8")
    monkeypatch.setattr("tailback.web.notebook.folder", lambda: tmp_path)
    monkeypatch.setattr("tailback.web.folder", lambda: tmp_path)
    _widget_class.cache_clear()
    return tmp_path


def scenario(folder: Path, text: str = SCENARIO) -> Path:
    file = folder / "scenario.toml"
    file.write_text(text, encoding="utf-8")
    return file


def test_a_file_is_opened_as_it_was_written_with_its_seed_or_another(tmp_path: Path) -> None:
    file = scenario(tmp_path, "# A comment\n" + SCENARIO)
    found = _opened(tailback.Lab(file).fragment)
    assert found["seed"] == "7"
    assert found["variants"] == [{"text": "# A comment\n" + SCENARIO, "sets": [], "tunable": [], "timeline": []}]
    assert _opened(tailback.Lab(str(file), seed=9).fragment)["seed"] == "9"


def test_a_scenario_of_python_is_opened_with_its_changes(tmp_path: Path) -> None:
    changed = tailback.load(scenario(tmp_path)).set({"links[0].rate": "20Mbit/s"})
    lab = tailback.Lab(changed)
    (variant,) = _opened(lab.fragment)["variants"]  # type: ignore[misc]
    assert tailback.Scenario.from_toml(variant["text"]).hash == changed.hash
    assert lab.scenario is changed


def test_mistakes_are_errors_of_the_call(tmp_path: Path) -> None:
    with pytest.raises(tailback.ScenarioError, match="unknown key `durration`"):
        tailback.Lab(scenario(tmp_path, SCENARIO.replace("duration", "durration")))
    with pytest.raises(FileNotFoundError):
        tailback.Lab(tmp_path / "none.toml")
    with pytest.raises(ValueError, match="height of 0 pixels"):
        tailback.Lab(scenario(tmp_path), height=0)


def test_what_the_lab_cannot_run_is_refused(tmp_path: Path) -> None:
    (tmp_path / "frames.txt").write_text("1000\n2000\n", encoding="utf-8")
    lines = [TRACE if line.startswith("source") else line for line in SCENARIO.splitlines(keepends=True)]
    with pytest.raises(tailback.UsageError, match="does not read files"):
        tailback.Lab(scenario(tmp_path, "".join(lines)))
    (tmp_path / "law.py").write_text(
        "import tailback\nclass Mine(tailback.Law):\n    def arrive(self, call):\n        return 0\n", encoding="utf-8"
    )
    user = '[network]\ndiscipline = { kind = "user", file = "law.py", class = "Mine" }\n[hosts]'
    with pytest.raises(tailback.UsageError, match="does not run user-defined components"):
        tailback.Lab(scenario(tmp_path, SCENARIO.replace("[hosts]", user)))


def test_the_widget_has_the_page_the_address_and_the_height(built: Path) -> None:
    pytest.importorskip("anywidget")
    lab = tailback.Lab(scenario(built), height=500)
    widget = lab.widget
    assert widget.page == "<html>ü".encode()
    assert (widget.fragment, widget.height) == (lab.fragment, 500)
    assert {"page", "fragment", "height"} <= set(widget.keys)
    assert lab.widget is widget
    assert "application/vnd.jupyter.widget-view+json" in str(lab._repr_mimebundle_())
    assert {kind: "network" for kind in ("http:", "https:") if kind in str(widget._esm)} == {}


def test_without_anywidget_the_cell_says_how_to_install_it(built: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "anywidget", None)
    lab = tailback.Lab(scenario(built))
    assert "pip install 'tailback[notebook]'" in lab._repr_mimebundle_()["text/plain"]
    with pytest.raises(tailback.UsageError, match="needs anywidget"):
        _ = lab.widget


def test_without_the_built_page_the_cell_says_so(built: Path) -> None:
    (built / "lab" / "index.html").unlink()
    assert "make lab" in tailback.Lab(scenario(built))._repr_mimebundle_()["text/plain"]
