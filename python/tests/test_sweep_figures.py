"""Output of a sweep: figures of its report, its table, its data frame, and its text and HTML forms."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from matplotlib.figure import Figure
from test_metrics import MARKED

import tailback
from tailback.plotting.sweep.axes import axis_of
from tailback.plotting.sweep.figures import figures
from tailback.results.metrics import Measure
from tailback.scenario.quantities import quantities

Cli = Callable[..., Any]

STUDY = """study = 1
scenario = "marked.toml"
replications = 2

[[axes]]
name = "buffer"
path = "switches.sw.buffer"
range = { from = "20kB", to = "2000kB", steps = 5, scale = "log" }

[until]
metric = "goodput[bulk]"
relative = 0.5
max-replications = 2
"""


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("study")
    (folder / "marked.toml").write_text(MARKED.replace('duration = "3s"', 'duration = "1.5s"'))
    (folder / "study.toml").write_text(STUDY)
    tailback.sweep(folder / "study.toml", directory=folder / "study.sweep")
    return folder / "study.sweep"


@pytest.fixture(scope="module")
def swept(directory: Path) -> tailback.Sweep:
    return tailback.open_sweep(directory)


def labels(figure: Figure) -> list[str]:
    """Return the labels of the y axes of a figure."""
    return [axes.get_ylabel() for axes in figure.axes]


def test_the_report_shows_groups_and_the_metric_of_until(swept: tailback.Sweep) -> None:
    means, groups = figures(swept)
    assert labels(means.figure)[0] == "goodput of bulk (Mbit/s)"
    assert "goodput[bulk]" in means.caption
    assert groups.title == "Groups of flows"
    assert labels(groups.figure)[:2] == ["goodput (Mbit/s)", "loss (%)"]
    (legend,) = groups.figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["bulk", "datagrams"]
    # The curve has the means of the group in Mbit/s, in the order of increasing buffers.
    bulk = Measure("group", "bulk", "goodput")
    by_hand = [swept.interval(setting, bulk).mean / 1e6 for setting in swept.runs]
    curve = next(c for c in groups.figure.axes[0].containers if c.get_label() == "bulk")
    assert list(curve.lines[0].get_ydata()) == pytest.approx(by_hand)
    assert "<th>goodput[bulk] (Mbit/s)</th>" in page(swept)


def page(swept: tailback.Sweep) -> str:
    """Return the HTML of the report of a sweep, in the form without scripts."""
    from tailback.study.page import page

    return page(swept).static()


def test_at_most_three_panels_are_in_a_row(swept: tailback.Sweep) -> None:
    for picture in figures(swept):
        assert len(picture.figure.axes) > 3
        columns = {round(axes.get_position().x0, 2) for axes in picture.figure.axes}
        assert len(columns) <= 3
        assert picture.figure.get_size_inches()[0] <= 14


def test_a_logarithmic_range_has_a_logarithmic_axis_and_labels_that_do_not_overlap(swept: tailback.Sweep) -> None:
    figure = figures(swept)[0].figure
    figure.canvas.draw()
    for axes in figure.axes:
        assert axes.get_xscale() == "log"
        shown = [label for label in axes.get_xticklabels(which="both") if label.get_text()]
        # The labels are the values of the range in kB, with equal ratios from 20 to 2000.
        assert [label.get_text() for label in shown] == ["20", "63.25", "200", "632.5", "2000"]
        boxes = sorted((label.get_window_extent() for label in shown), key=lambda box: box.x0)
        assert all(left.x1 < right.x0 for left, right in pairwise(boxes))


def test_a_logarithmic_axis_of_less_than_a_decade_has_labels_at_1_2_and_5() -> None:
    from tailback.plotting import plot

    figure = plot.new()
    (axes,) = figure.axes
    values = [10.0, 12.0, 15.0, 20.0, 28.0, 40.0, 60.0]
    axes.plot(values, values)
    plot.finish(axes, x_scale="log")
    figure.canvas.draw()
    low, high = axes.get_xlim()
    ticks = [float(tick) for tick in axes.xaxis.get_majorticklocs() if low <= tick <= high]
    assert [axes.xaxis.get_major_formatter()(tick) for tick in ticks] == ["10", "20", "50"]
    assert not any(label.get_text() for label in axes.get_xticklabels(which="minor"))


def test_the_table_of_a_sweep_shows_the_metric_of_until(tailback: Cli, directory: Path) -> None:
    study = directory.with_name("study.toml")
    found = tailback("sweep", study, "--out", directory)
    line = next(line for line in found.out.splitlines() if line.strip().startswith("buffer"))
    assert line.split() == ["buffer", "loss", "delay", "throughput", "goodput[bulk]"]


def test_an_axis_of_quantities_has_a_column_of_numbers(merge: Path, tmp_path: Path) -> None:
    axes: dict[str, Any] = {
        "network.buffer": ["16kB", "0.032MB"],
        "links[0].delay": ["10us", "1ms"],
        "links[0].rate": ["10Mbit/s"],
        "run.seed": [3],
    }
    found = tailback.sweep(merge, axes, fixed={"run.duration": "200ms"}, replications=1)
    frame = found.frame()
    assert frame["network.buffer"].unique(maintain_order=True).to_list() == ["16kB", "0.032MB"]
    assert frame["network.buffer_bytes"].unique(maintain_order=True).to_list() == [16000.0, 32000.0]
    assert frame["links[0].delay_s"].unique(maintain_order=True).to_list() == [1e-5, 1e-3]
    assert frame["links[0].rate_bps"].unique().to_list() == [1e7]
    assert frame["run.seed"].dtype == pl.Int64
    assert not [column for column in frame.columns if column.startswith("run.seed_")]
    found.write(tmp_path / "sweep.parquet")
    read = pl.read_parquet(tmp_path / "sweep.parquet")
    assert read["network.buffer_bytes"].dtype == pl.Float64
    metadata = pl.read_parquet_metadata(tmp_path / "sweep.parquet")
    assert json.loads(metadata["tailback.units"]) == {
        "network.buffer_bytes": "B",
        "links[0].delay_s": "s",
        "links[0].rate_bps": "bit/s",
    }


def test_quantities_of_one_unit_become_numbers_and_other_values_do_not() -> None:
    def numbers(*values: Any) -> Any:
        found = quantities(values)
        return found and (found.unit, dict(found.numbers))

    assert numbers("20ms", "1s") == ("s", {"20ms": 0.02, "1s": 1.0})
    assert numbers("50kB", "unlimited") == ("B", {"50kB": 50000.0})
    assert numbers("5packets", "1 packet") == ("packet", {"5packets": 5.0, "1 packet": 1.0})
    assert numbers("80%") == ("1", {"80%": 0.8})
    assert numbers("50kB", "5packets") is None
    assert numbers("codel", "red") is None
    assert numbers(1, 2.5) is None


def test_values_with_different_prefixes_have_one_unit_in_figures() -> None:
    axis = axis_of("buffer", ["125kB", "1MB", "4MB"])
    assert (axis.unit, axis.numbers) == ("kB", [125.0, 1000.0, 4000.0])


def test_sweeps_and_comparisons_have_a_short_text_and_html_form(swept: tailback.Sweep, merge: Path) -> None:
    text = repr(swept)
    assert len(text) < 200
    assert text.splitlines()[0].endswith(": 5 points")
    assert "2 replications each, complete" in text
    assert swept.digest in text
    html = swept._repr_html_()
    assert html.count("<tr>") == 6
    assert "632.5kB" in html
    assert "goodput[bulk]" in html
    compared = tailback.compare(tailback.run(merge), tailback.run(merge, seed=1))
    assert re.search(r"loss\[data\] +0 ± 0 %", repr(compared))
    assert len(repr(compared)) < 1500
    assert compared._repr_html_().count("<tr>") == 1 + len(compared.distinct())


def test_a_table_in_a_notebook_escapes_what_it_shows(merge: Path) -> None:
    found = tailback.sweep(tailback.load(merge).set({"title": "<b>&"}), {"network.buffer": ["10kB"]}, replications=1)
    assert "&lt;b&gt;&amp;" in found._repr_html_()


def test_the_repr_of_a_scenario_counts_nodes_links_and_groups() -> None:
    # 3 + 1 hosts and 2 switches; 3 links from the hosts, 1 between the switches, 1 to d.
    base = (
        tailback.Scenario(duration="1s", buffer="50kB", title="two")
        .host("h", count=3)
        .host("d")
        .switch("s")
        .switch("t")
    )
    built = (
        base.link(["h*", "s"], rate="10Mbit/s")
        .link(["s", "t"], rate="10Mbit/s")
        .link(["t", "d"], rate="10Mbit/s")
        .flow("data", "h*", "d", tailback.source("cbr", rate="1Mbit/s", packet="1000B"))
    )
    assert repr(built) == "<Scenario 'two': 4 hosts, 2 switches, 5 links, 1 group of flows>"
    assert repr(base).startswith("<Scenario 'two': not valid: there are no links")


def test_the_status_of_a_sweep_is_a_list_without_a_heading(tailback: Cli, directory: Path) -> None:
    lines = tailback("sweep", "--status", directory).out.splitlines()
    assert lines[0].split() == ["directory", str(directory)]
    assert not any("─" in line or line != line.rstrip() for line in lines)
