"""Looks of many curves, legends within the figure, state variables, and the columns of a sweep's page."""

from __future__ import annotations

import re
import shutil
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from components import LAWS, dumbbell, read
from conftest import Ran
from reports import contents, shown

import tailback as tb
from tailback.errors import UsageError

pytest.importorskip("matplotlib")

from tailback.plotting import plot
from tailback.plotting.xy import sweep_xy, xy

Cli = Callable[..., Ran]

PLAIN = '{ kind = "codel" }'
FLOWS = """[[flows]]
name = "g{k}"
from = "a1"
to = "b"
source = {{ kind = "poisson", rate = "{k}00kbit/s", packet = "500B" }}
"""


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> tb.Sweep:
    """Return a sweep of 24 points with three axes."""
    folder = tmp_path_factory.mktemp("sweep")
    one = read(dumbbell(PLAIN, duration="200ms"), folder)
    axes = {
        "network.buffer": ["10packets", "20packets", "30packets", "40packets"],
        "links[1].rate": ["2Mbit/s", "4Mbit/s", "8Mbit/s"],
        "hosts.a.count": [2, 3],
    }
    return tb.sweep(one, axes, replications=2, directory=folder / "s")


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> tb.Result:
    """Return a run with a law of the user that has state variables, and a congestion control that has none."""
    folder = tmp_path_factory.mktemp("law")
    shutil.copy(LAWS / "codel.py", folder)
    return tb.run(read(dumbbell('{ kind = "user", file = "codel.py", class = "Codel" }'), folder), replications=1)


def test_the_looks_of_64_curves_differ_and_those_of_32_also_without_markers() -> None:
    looks = [plot.look(k) for k in range(64)]
    assert len({(one.colour, one.mark) for one in looks}) == 64
    assert len({(one.colour, one.dashes) for one in looks[:32]}) == 32
    assert [one.colour for one in looks[:8]] == list(plot.COLOURS)


def drawn(figure: Any) -> list[tuple[str, str]]:
    """Return colour and marker of each entry of the legend, whose marker is that of the curve."""
    handles = figure.axes[0].get_legend_handles_labels()[0]
    return [(handle.lines[0].get_color(), handle.lines[0].get_marker()) for handle in handles]


def assert_legend_fits(figure: Any) -> None:
    """Check that legend and axes are in the figure, and that the layout has been possible."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        plot.to_bytes(figure, "png")
    (legend,) = figure.legends
    whole, box = figure.bbox, legend.get_window_extent()
    assert box.x0 >= whole.x0 - 1
    assert box.x1 <= whole.x1 + 1
    assert box.y0 >= whole.y0 - 1
    # The legend is below the axes with their labels.
    assert box.y1 <= figure.axes[0].get_tightbbox().y0 + 1
    assert figure.axes[0].get_window_extent().height > 0.2 * figure.get_figwidth() * figure.dpi


@pytest.mark.parametrize(("x", "curves"), [("delay", 24), ("links[1].rate", 8), ("network.buffer", 6)])
def test_curves_of_a_sweep_differ_and_their_legend_fits(swept: tb.Sweep, x: str, curves: int) -> None:
    for size in ("column", "7in"):
        figure = sweep_xy(swept, x, "goodput", size=size)
        found = drawn(figure)
        assert len(found) == len(set(found)) == curves
        assert_legend_fits(figure)


def test_the_names_in_a_legend_are_the_ends_of_the_paths_that_distinguish_them(swept: tb.Sweep) -> None:
    labels = sweep_xy(swept, "delay", "goodput").axes[0].get_legend_handles_labels()[1]
    assert labels[0] == "buffer = 10packets, rate = 2Mbit/s, count = 2"


def test_a_legend_without_room_in_a_given_size_is_an_error(swept: tb.Sweep) -> None:
    with pytest.raises(UsageError, match=r"the legend has 24 entries: the figure must be \d+\.\d inches high"):
        sweep_xy(swept, "delay", "goodput", size="3.5in x 2.5in")


def test_no_group_is_left_out_of_a_figure_of_metrics(tmp_path: Path) -> None:
    flows = "".join(FLOWS.format(k=k) for k in range(1, 12))
    figure = xy(tb.run(read(dumbbell(PLAIN, flows, duration="1s"), tmp_path), replications=2), "delay", "throughput")
    assert len(set(drawn(figure))) == 11
    assert_legend_fits(figure)


def test_a_state_variable_is_drawn_over_time_and_as_a_distribution(recorded: tb.Result) -> None:
    figure = xy(recorded, "time", "probe.count[s->b]")
    (line,) = figure.axes[0].get_lines()
    rows = recorded.table("series")
    own = rows.filter((rows["quantity"] == "count") & (rows["name"] == "s->b"))
    assert list(line.get_ydata()) == own["value"].to_list()
    assert max(line.get_ydata()) >= 1
    assert figure.axes[0].get_ylabel() == "count"
    assert xy(recorded, "probe.count", "cdf").axes[0].get_xlabel() == "count"
    # A unit at the end of the name is that of the label.
    assert xy(recorded, "time", "probe.state_bytes").axes[0].get_ylabel() == "state (kB)"


def test_an_unknown_state_variable_lists_those_of_the_run(recorded: tb.Result) -> None:
    with pytest.raises(UsageError, match=r"no state variable 'cont'.*probe\.count, probe\.dropping"):
        xy(recorded, "time", "probe.cont")


def test_the_metrics_of_the_option_are_columns_of_the_sweeps_page(tailback: Cli, swept: tb.Sweep) -> None:
    assert swept.directory is not None
    page = Path(swept.directory) / "report.html"
    done = tailback("sweep", "--report", swept.directory)
    assert done.code == 0
    assert "<th>jain</th>" not in shown(page.read_text())
    assert tailback("sweep", "--report", swept.directory, "--metric", "jain").code == 0
    table = str(contents(page.read_text())["points"]["html"])
    heads = re.findall(r"<th>(.*?)</th>", table)
    assert "jain" in heads
    # Two or three hosts with a connection each share a link: an index from 1/3 to 1.
    for row in re.findall(r"<tr>(<td>.*?)</tr>", table):
        cells = re.findall(r"<td[^>]*>(.*?)</td>", row)
        assert 1 / 3 <= float(cells[heads.index("jain")].split()[0]) <= 1.0
