"""Pages: drawings as data, the two forms of a page, and the page of a run."""

import json
import math
import re
from pathlib import Path

import pytest
from click.testing import CliRunner
from matplotlib.figure import Figure
from reports import Links, contents, shown, unpack

import tailback
from tailback.cli import cli
from tailback.pages.document import Document, Picture, Section, place
from tailback.plotting import plot
from tailback.plotting.chart import chart
from tailback.results.intervals import Interval

SCENARIO = """
tailback = 1
title = "A & B <at> a link"
[run]
duration = "2s"
sample = "100ms"
replications = 2
[hosts]
a = {}
b = {}
[switches.s]
[[links]]
between = ["a", "s"]
rate = "10Mbit/s"
[[links]]
between = ["s", "b"]
rate = "2Mbit/s"
[[flows]]
name = "data"
from = "a"
to = "b"
source = { kind = "poisson", rate = "1.5Mbit/s", packet = "1000B" }
"""


def drawn(figure: Figure) -> dict[str, object]:
    figure.draw_without_rendering()
    found = chart(figure)
    assert found is not None
    return found


def items(found: dict[str, object], kind: str, panel: int = 0) -> list[dict[str, object]]:
    return [item for item in found["panels"][panel]["items"] if item["kind"] == kind]  # type: ignore[index]


def test_a_curve_has_its_values_intervals_and_replications() -> None:
    figure = plot.new()
    intervals = [Interval(1.0, 0.5, 1.5, 4), Interval(2.0, -math.inf, math.inf, 1), Interval(math.nan, 0.0, 0.0, 0)]
    plot.curve(figure.axes[0], [10, 20, 40], intervals, label="RED", index=1)
    plot.finish(figure.axes[0], title="loss", x="flows", y="loss (%)", ticks=[10, 20, 40], legend="queue")
    found = drawn(figure)
    (line,) = items(found, "line")
    assert (line["x"], line["y"]) == ([10, 20, 40], [1, 2, None])
    # An end that is unbounded is null, not the end of the drawn bar.
    assert (line["y_lo"], line["y_hi"], line["n"]) == ([0.5, None, 0], [1.5, None, 0], [4, 1, 0])
    assert (line["label"], line["colour"], line["marker"]) == ("RED", plot.COLOURS[1], "s")
    (panel,) = found["panels"]  # type: ignore[misc]
    assert panel["title"] == "loss"  # type: ignore[index]
    assert panel["x"]["ticks"] == [[10, "10"], [20, "20"], [40, "40"]]  # type: ignore[index]
    assert panel["legend"] == {"title": "queue", "entries": [["RED", plot.COLOURS[1]]]}  # type: ignore[index]


def test_every_kind_of_artist_becomes_an_item_at_its_place() -> None:
    figure = plot.new(2, sharey=True)
    left, right = figure.axes
    left.plot([0, 1, 2], [1, 4, 2], drawstyle="steps-post", color="#ff0000", label="steps")
    left.axhline(3.0, linestyle="--", color="#00ff00")
    left.axvline(0.0, color="#0000ff")
    left.axvspan(0.5, 1.5, color="#123456", alpha=0.25)
    left.fill_between([0, 1], [0, 0], [1, 2], color="#abcdef")
    left.annotate("limit", (1.0, 3.0), xycoords=("axes fraction", "data"))
    right.bar(["a", "b"], [1.5, 2.5], yerr=[[0.5, 0.5], [0.25, 0.25]], label="bars")
    right.scatter([0, 1], [3, 4], color="#654321")
    found = drawn(figure)
    assert (found["rows"], found["columns"]) == (1, 2)
    (steps,) = items(found, "line")
    assert (steps["x"], steps["y"], steps["step"], steps["colour"]) == ([0, 1, 2], [1, 4, 2], True, "#ff0000")
    rules = items(found, "rule")
    assert [(rule["axis"], rule["at"], "dash" in rule) for rule in rules] == [("y", 3, True), ("x", 0, False)]
    (span,) = items(found, "span")
    assert (span["axis"], span["ends"], span["opacity"]) == ("x", [0.5, 1.5], 0.25)
    (area,) = items(found, "area")
    assert set(zip(area["x"][0], area["y"][0], strict=True)) == {(0, 0), (1, 0), (1, 2), (0, 1)}  # type: ignore[index]
    (text,) = items(found, "text")
    assert (text["text"], text["at"], text["frame"]) == ("limit", [1, 3], "ad")
    (bars,) = items(found, "bars", 1)
    assert bars["boxes"] == [[-0.4, 0, 0.4, 1.5], [0.6, 0, 1.4, 2.5]]
    assert (bars["lo"], bars["hi"]) == ([1, 2], [1.75, 2.75])
    ticks = found["panels"][1]["x"]["ticks"]  # type: ignore[index]
    assert ticks == [[0, "a"], [1, "b"]]
    assert [panel.get("share_y", 0) for panel in found["panels"]] == [0, 0]  # type: ignore[attr-defined]
    assert [panel.get("share_x", 0) for panel in found["panels"]] == [0, 1]  # type: ignore[attr-defined]


@pytest.mark.parametrize("scale", ["linear", "log", "symlog"])
def test_axes_keep_scale_and_limits(scale: plot.Scale) -> None:
    figure = plot.new()
    (axes,) = figure.axes
    axes.plot([1, 2], [1, 1000])
    plot.finish(axes, y="delay", y_scale=scale, y_threshold=0.5)
    axes.set_ylim(0.1, 2000)
    axis = drawn(figure)["panels"][0]["y"]  # type: ignore[index]
    assert axis["range"] == [0.1, 2000]
    assert axis.get("scale", "linear") == scale
    assert axis.get("threshold") == (0.5 if scale == "symlog" else None)


def test_a_value_that_holds_from_the_point_before_reaches_the_last_point() -> None:
    figure = plot.new()
    figure.axes[0].plot([1, 2, 4], [5, 6, 7], drawstyle="steps-pre")
    (line,) = items(drawn(figure), "line")
    # 6 holds from 1 to 2, and 7 from 2 to 4.
    assert (line["x"], line["y"], line["step"]) == ([1, 1, 2, 4], [5, 6, 7, 7], True)


def test_intervals_without_points_are_those_of_bars_or_the_drawing_is_no_chart() -> None:
    for kept in (True, False):
        figure = plot.new()
        bars = figure.axes[0].bar([0], [2.0])
        figure.axes[0].errorbar([0], [2.0], yerr=[[0.5], [0.5]], fmt="none")
        if kept:
            plot.keep_intervals(bars[0], [Interval(2.0, 1.5, 2.5, 3)])
        figure.draw_without_rendering()
        found = chart(figure)
        assert (found is not None) == kept
        if found is not None:
            assert [(bar["lo"], bar["n"]) for bar in items(found, "bars")] == [([1.5], [3])]


def test_a_curve_without_points_has_empty_lists() -> None:
    figure = Figure()
    axes = figure.subplots()
    axes.plot([], [], label="nothing measured")
    axes.scatter([], [], color="red")
    axes.plot([0, 1], [2, 3])
    found = chart(figure)
    assert found is not None
    assert sorted(item["x"] for item in found["panels"][0]["items"]) == [[], [], [0.0, 1.0]]


def test_a_drawing_that_is_no_chart_has_no_data() -> None:
    image = plot.new()
    image.axes[0].imshow([[0.0, 1.0], [1.0, 0.0]])
    network = plot.new()
    network.axes[0].axis("off")
    arrow = plot.new()
    arrow.axes[0].annotate("", (0, 0), (1, 1), arrowprops={"arrowstyle": "->"})
    for figure in (image, network, arrow):
        figure.draw_without_rendering()
        assert chart(figure) is None


def test_the_texts_of_an_svg_for_pages_are_texts() -> None:
    figure = plot.new()
    plot.finish(figure.axes[0], x="flows", y="loss (%)")
    found = plot.svg_with_text(figure)
    assert found.startswith("<svg")
    assert ">loss (%)</text>" in found


DOCUMENT = Document(
    "Title & more",
    '<p><a href="#one">one</a></p>',
    [
        Section("one", "First <section>", "group", f"<p>words</p>{place('f', 'figure')}",
                {"f": Picture("<svg><text>label</text></svg>", {"panels": []})}, {"reproduced": 2}),
        Section("two", "Second", "group", place("g", "drawing"), {"g": Picture("<svg>drawing</svg>")}),
    ],
    {"reproduced": "<span>reproduced</span>"},
)  # fmt: skip


def test_a_page_packs_its_sections_and_loads_nothing() -> None:
    page = DOCUMENT.interactive("other.html")
    found = contents(page)
    assert found["one"]["figures"] == {"f": {"panels": []}}
    # What is no chart is shown as it was drawn.
    assert found["two"]["figures"] == {"g": "<svg>drawing</svg>"}
    texts = json.loads(unpack(re.search(r'id="texts">([^<]*)<', page)[1]))  # type: ignore[index]
    assert texts["one"] == "one first <section> words "
    links = Links(page)
    assert {target for target in links.targets if target.startswith("#")} <= {f"#{name}" for name in links.ids}
    assert "other.html" in links.targets
    assert links.loaded == ["data:,"]
    assert len(links.ids) == len(set(links.ids))
    assert page.count("</script>") == 4
    assert page == DOCUMENT.interactive("other.html")


def test_the_form_without_scripts_has_every_figure_as_svg() -> None:
    page = DOCUMENT.static()
    assert "<script" not in page
    assert "data-figure" not in page
    assert "<text>label</text>" in page
    assert "<svg>drawing</svg>" in page
    links = Links(page)
    assert set(links.targets) == {"#one", "#two"} <= {f"#{name}" for name in links.ids}


def test_a_run_has_a_page_with_its_metrics_and_figures(tmp_path: Path) -> None:
    result = tailback.run(tailback.Scenario.from_toml(SCENARIO))
    result.write(tmp_path / "run")
    done = CliRunner().invoke(cli, ["report", str(tmp_path / "run")])
    assert done.exit_code == 0, done.output
    page = (tmp_path / "run" / "report.html").read_text()
    assert "A &amp; B &lt;at&gt; a link" in page
    assert result.digest in page
    found = contents(page)
    assert list(found)[:2] == ["summary", "overview"]
    throughput = next(e for e in result.estimates() if str(e.measure.metric) == "throughput")
    assert f"{throughput.interval.mean / 1e6:.4g}" in str(found["summary"]["html"])
    charts = [figure for section in found.values() for figure in section["figures"].values()]  # type: ignore[attr-defined]
    assert sum(isinstance(figure, dict) for figure in charts) >= 3
    # What the run has not recorded is named with its cure.
    assert "transport-changes" in str(found["missing"]["html"])
    assert "<svg" in (tmp_path / "run" / "report-static.html").read_text()


def test_a_sweep_has_the_page_that_it_was_written_with(tmp_path: Path) -> None:
    scenario = tailback.Scenario.from_toml(SCENARIO)
    tailback.sweep(scenario, {"run.duration": ["1s", "2s"]}, replications=2, directory=tmp_path / "sweep")
    (tmp_path / "other").mkdir()
    made = tailback.open_sweep(tmp_path / "sweep").report(tmp_path / "other" / "report.html")
    done = CliRunner().invoke(cli, ["report", str(tmp_path / "sweep")])
    assert done.exit_code == 0, done.output
    assert (tmp_path / "sweep" / "report.html").read_text() == made.read_text()
    assert "<table" in shown(made.read_text())


def test_a_folder_that_is_no_run_is_refused(tmp_path: Path) -> None:
    done = CliRunner().invoke(cli, ["report", str(tmp_path)], catch_exceptions=True)
    assert isinstance(done.exception, tailback.OutputError)
    assert "is not a run directory" in str(done.exception)
    assert not list(tmp_path.iterdir())
