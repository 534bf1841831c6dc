"""The pages of docs/results, written here for a small experiment."""

from __future__ import annotations

import importlib.util
import json
import re
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType
from typing import ClassVar

import pytest

from tailback.plotting import experiment as figures
from tailback.reproduction.reproduce import reproduce
from tailback.results import observables as m
from tailback.study.experiment import (
    Axis,
    Claim,
    Experiment,
    Figure,
    Observable,
    Point,
    Profile,
    Results,
    Settings,
    grid,
)

ROOT = Path(__file__).resolve().parents[2]
MERGE = Path(__file__).with_name("merge.toml").read_text()


class Board(Experiment):
    """Experiment with a claim of each kind of verdict except undecided, and two figures."""

    id = "lan-board"
    title = "Board, with a comma"
    reference = "nowhere"
    axes = (Axis("mechanism", "mechanism"), Axis("rate", "rate", "Mbit/s"))
    quick = full = Profile(duration="1s", warmup="100ms", replications=3, max_replications=3, cpu_s=5)
    metrics: ClassVar[tuple[Observable, ...]] = (m.loss(), m.offered())

    def points(self, profile: str) -> Iterable[Point]:
        del profile
        return grid(mechanism=("none", "plain"), rate=(1, 4))

    def settings(self, point: Point, profile: str) -> Settings:
        del profile
        return {"backpressure.scope": point["mechanism"], "flows[data].source.rate": f"{point['rate']}Mbit/s"}

    def claims(self, results: Results) -> Iterable[Claim]:
        sent = results["offered"]
        yield Claim("C1", "Something is sent.", "slide 1; stated", sent > 0, headline="all | of it")
        yield Claim.unasserted("C2", "Nothing is sent.", "slide 2; stated", sent <= 0, "it is sent")
        yield Claim.calibrated("C3", "Not too much.", "slide 3", sent <= 100, "chosen afterwards")
        yield Claim.comparison("C4", "All of it.", "made up", sent, "another choice")
        yield Claim("C5", "No frame is lost.", "made up", results["loss"].is_zero("frames"))

    def figures(self, results: Results) -> Iterable[Figure]:
        loss = results["loss"]
        yield figures.both_views(loss, "both", "Loss", "Caption.", x="rate", curves="mechanism", claims=("C1",))
        yield figures.compare({"all": results.where(mechanism="none")["loss"]}, "one", "Loss alone", x="rate")

    def read(self, name: str) -> str:
        return MERGE if name == "scenario.toml" else "# Board\n"


@pytest.fixture
def tool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    spec = importlib.util.spec_from_file_location("docs_results", ROOT / "tools" / "docs_results.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "TARGET", tmp_path / "docs" / "results")
    monkeypatch.setattr(module, "EXPERIMENTS", (Board.id, "lan-absent"))
    monkeypatch.setattr(module, "folder", lambda name: f"lan/{name}")
    return module


def test_the_pages_have_every_claim_every_point_and_every_figure_and_lose_stale_files(
    tool: ModuleType, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    found = reproduce([Board()], "quick", out, seed=77)
    stale = tool.TARGET / "lan-board" / "stale.svg"
    stale.parent.mkdir(parents=True)
    stale.touch()
    assert tool.write(out) > 0
    assert not stale.exists()

    page = (tool.TARGET / "lan.md").read_text()
    (shape,) = found.as_json()["experiments"]  # type: ignore[misc]
    origin = shape["provenance"]
    assert origin["command"] == "tailback reproduce lan-board --quick --seed 77"
    # Once at the experiment and once at each of its figures.
    for text in (origin["command"], origin["digest"], f"version {origin['tailback']}"):
        assert page.count(text) == 1 + len(shape["figures"]) >= 3, text
    for word in ("reproduced", "not reproduced", "calibrated", "comparison"):
        assert f"| {word} | C" in page
    for text in ("slide 2; stated", "it is sent", "chosen afterwards", "another choice", "Caption.", "lan-absent"):
        assert text in page, text
    # Once in the row of the claim, and once at each of its four points.
    assert len(re.findall(r"\d frames seen", page)) == 5
    assert "packets seen" not in page
    # Each of the five claims lists all four points.
    assert page.count("| mechanism plain, rate 4 Mbit/s |") == 5
    pictures = re.findall(r"!\[[^\]]*\]\(([^)]+)\)", page)
    assert [Path(picture).stem for picture in pictures] == [figure["name"] for figure in shape["figures"]]
    assert {"both", "one"} <= {Path(picture).stem for picture in pictures}
    assert all((tool.TARGET / picture).stat().st_size > 1000 for picture in pictures)

    index = (tool.TARGET / "README.md").read_text()
    assert index.index("## Headlines") < index.index("## Verdicts by experiment")
    assert "all \\| of it" in index
    assert "| 1 | 2 | 0 | 1 | 1 |" in index
    assert "lan.md#lan-board-board-with-a-comma" in index
    tool.write(out)
    assert (tool.TARGET / "lan.md").read_text() == page


def test_results_that_are_not_run_again_keep_their_commit(
    tool: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Other(Board):
        id = "lan-other"

    monkeypatch.setattr(tool, "EXPERIMENTS", (Board.id, Other.id))
    reproduce([Board()], "quick", tmp_path / "first")
    reproduce([Other()], "quick", tmp_path / "second")
    tool.write(tmp_path / "first")
    kept = tool.TARGET / Board.id / "results.json"
    before = json.loads(kept.read_text())
    before["provenance"]["commit"] = "earlier"
    kept.write_text(json.dumps(before))
    assert "Not run for these pages: lan-other." in (tool.TARGET / "lan.md").read_text()

    tool.write(tmp_path / "second")
    page, index = ((tool.TARGET / name).read_text() for name in ("lan.md", "README.md"))
    assert "Not run" not in page
    assert "commit `earlier`" in page
    assert "`earlier` (1 experiments)" in index
    for folder in (Board.id, Other.id):
        assert f"({folder}/one.svg)" in page
        assert (tool.TARGET / folder / "one.svg").exists()


def test_a_large_drawing_is_stored_as_png(tool: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reproduce([Board()], "quick", tmp_path / "out")
    monkeypatch.setattr(tool, "MAX_DRAWING", 10)
    tool.write(tmp_path / "out")
    names = [path.name for path in (tool.TARGET / "lan-board").iterdir()]
    assert {"both.png", "one.png"} <= set(names)
    assert not [name for name in names if name.endswith(".svg")]


def test_a_directory_without_results_is_refused_and_leaves_the_pages_unchanged(
    tool: ModuleType, tmp_path: Path
) -> None:
    tool.TARGET.mkdir(parents=True)
    (tool.TARGET / "lan.md").write_text("kept")
    with pytest.raises(SystemExit, match="there are no results"):
        tool.write(tmp_path)
    assert (tool.TARGET / "lan.md").read_text() == "kept"
