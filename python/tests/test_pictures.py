"""Pictures for publications: their data, formats and sizes, the requirements of each, and `tailback plot`."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from test_records import RECORDS, network

import tailback as tb
from tailback.cli import main
from tailback.errors import UsageError
from tailback.results.report import jain_index

pytest.importorskip("matplotlib")

from tailback.plotting import pictures, plot
from tailback.plotting.needs import with_records
from tailback.plotting.paper import STYLE, inches
from tailback.plotting.xy import SAMPLED, sweep_xy, xy


@pytest.fixture(scope="module")
def result() -> tb.Result:
    """Return a run of one replication with all records."""
    return tb.run(network(record=RECORDS), replications=1)


def lines(figure: Any) -> dict[str, Any]:
    """Return the lines of a figure by label."""
    return {line.get_label(): line for line in figure.axes[0].get_lines()}


@pytest.mark.parametrize("name", pictures.PICTURES)
def test_every_picture_has_axes_with_words_fits_a_column_and_keeps_text_as_text(name: str, result: tb.Result) -> None:
    figure = pictures.picture(result, name.replace("_", "-"))
    assert figure.get_size_inches()[0] == 3.5
    axes = figure.axes[0]
    assert axes.get_xlabel()
    assert axes.get_ylabel() or name == "heat_map"
    svg = plot.to_bytes(figure, "svg").decode()
    assert plot.to_bytes(pictures.picture(result, name), "svg").decode() == svg
    assert axes.get_xlabel() in re.findall(r"<text[^>]*>([^<]*)<", svg)
    # Type 3 fonts, which publishers refuse, have /Type3; type 42 is embedded as /CIDFontType2 or /TrueType.
    pdf = plot.to_bytes(figure, "pdf")
    assert b"/Type3" not in pdf


@pytest.mark.parametrize("name", pictures.PICTURES)
def test_a_run_without_records_and_samples_names_the_option_to_set(name: str) -> None:
    bare = tb.run(network(sample=None).set(duration="1200ms"), replications=1)
    if name == "delay_throughput":
        assert pictures.picture(bare, name).axes
        return
    with pytest.raises(UsageError, match=r"set (record = \[\"[a-z-]+\"\]|sample) in \[run\]|set record|set sample"):
        pictures.picture(bare, name)


@pytest.mark.parametrize("name", pictures.PICTURES)
def test_a_scenario_gets_the_records_that_a_picture_needs(name: str) -> None:
    bare = with_records(network(sample=None).set(duration="2s"), [name])
    assert pictures.picture(tb.run(bare, replications=1), name).axes


def test_distributions_begin_at_the_smallest_value_with_zero_and_end_at_the_largest_with_one(result: tb.Result) -> None:
    # By hand: one of four values is at most 1, two are at most 2, and all are at most 3.
    assert pictures.distribution([3.0, 1.0, 2.0, 3.0]) == ([1, 1, 2, 2, 3, 3], [0, 0.25, 0.25, 0.5, 0.5, 1.0])
    assert pictures.distribution([1.0, 5.0], [3, 1]) == ([1, 1, 5, 5], [0, 0.75, 0.75, 1.0])
    for figure in (result.plot.queue_cdf(), result.plot.delay_cdf(), result.plot.fct_cdf()):
        for line in figure.axes[0].get_lines():
            assert (line.get_ydata()[0], line.get_ydata()[-1]) == (0, 1)
            assert list(line.get_xdata()) == sorted(line.get_xdata())


def test_the_time_sequence_rises_where_a_trace_has_first_transmissions_and_has_a_band_at_retransmissions(
    tmp_path: Path,
) -> None:
    scenario = network(record=RECORDS)
    run = tb.run(scenario, replications=1, trace=tb.Trace(tmp_path / "trace", flows=["web*"], frames=["data"]))
    changes = run.transport_changes
    rows = tb.read_trace(tmp_path / "trace").collect()
    retransmissions = 0
    for flow in changes["flow"].unique():
        figure = run.plot.time_sequence(flow)
        sent, last = lines(figure)["sent"], lines(figure)["acknowledged"].get_xdata()[-1]
        begin = changes.filter(changes["flow"] == flow)["acknowledged_sequence"][0]
        expected: dict[int, float] = {}
        repeated = []
        own = rows.filter((rows["flow"] == flow) & (rows["event"] == "enqueue")).unique("packet", maintain_order=True)
        for time, sequence in zip(own["stamp_ps"], own["sequence"], strict=True):
            repeated.extend([time * 1e-12] if sequence in expected else [])
            expected.setdefault(sequence, time * 1e-12)
        # The line is the number of the segment after the last one that was sent.
        drawn: dict[int, float] = {}
        for time, height in zip(sent.get_xdata(), sent.get_ydata(), strict=True):
            for sequence in range(len(drawn), int(height)):
                drawn[sequence] = time
        assert {n + begin: pytest.approx(t, abs=1e-9) for n, t in drawn.items()} == expected
        bands = [(patch.get_x(), patch.get_x() + patch.get_width()) for patch in figure.axes[0].patches]
        for time in repeated:
            assert time <= last
            assert any(low - 1e-9 <= time <= high + 1e-9 for low, high in bands), (flow, time)
        retransmissions += len(repeated)
    assert retransmissions > 20


def test_the_window_on_the_picture_is_that_of_the_table(result: tb.Result) -> None:
    own = lines(result.plot.cwnd("web[1]"))["web[1]"]
    table = result.transport_changes.filter(result.transport_changes["flow"] == "web[1]")
    assert list(own.get_ydata()) == table["window_segments"].to_list()


def test_jain_index_of_one_of_four_is_a_quarter_and_of_equals_one() -> None:
    assert jain_index([0, 0, 0, 5]) == 0.25
    assert jain_index([2, 2, 2]) == 1


def test_sizes_are_columns_pages_and_lengths() -> None:
    assert inches("column")[0] == 3.5
    assert inches("page") == (7.16, pytest.approx(7.16 * 0.42))
    assert inches("89mm")[0] == pytest.approx(3.504, abs=1e-3)
    assert inches("3.5in x 2in") == (3.5, 2.0)
    for wrong in ("3.5 furlong", "0in", "1in x 2in x 3in"):
        with pytest.raises(UsageError):
            inches(wrong)


def test_the_style_file_is_readable_by_matplotlib_itself() -> None:
    import matplotlib as mpl

    found = mpl.rc_params_from_file(str(STYLE), use_default_template=False)
    assert (found["svg.fonttype"], found["pdf.fonttype"]) == ("none", 42)
    colours = [f"#{colour}".replace("##", "#") for colour in found["axes.prop_cycle"].by_key()["color"]]
    assert tuple(colours) == plot.COLOURS


@pytest.mark.parametrize("quantity", SAMPLED)
def test_every_sampled_quantity_can_be_drawn_over_time_and_as_a_distribution(quantity: str, result: tb.Result) -> None:
    assert xy(result, "time", f"{quantity}[*]" if quantity != "in_network" else quantity).axes
    assert xy(result, quantity, "cdf").axes


def test_quantities_that_do_not_belong_together_or_exist_are_refused(result: tb.Result) -> None:
    assert xy(result, "size", "fct[web]", log="xy").axes
    assert xy(result, "delay", "throughput[*]").axes
    for x, y, words in (
        ("time", "gooput", "did you mean goodput"),
        ("delay", "speed", "there is no quantity"),
        ("time", "queue[nowhere*]", "no name matches"),
        ("time", "goodput[", "is not a quantity"),
    ):
        with pytest.raises(UsageError, match=words):
            xy(result, x, y)


def test_a_metric_of_a_sweep_is_drawn_over_an_axis_with_a_curve_for_each_group(tmp_path: Path) -> None:
    base = network(sample=None).set(duration="1500ms")
    swept = tb.sweep(
        base, {"links[1].rate": ["2Mbit/s", "4Mbit/s", "8Mbit/s"]}, replications=2, directory=tmp_path / "s"
    )
    figure = sweep_xy(swept, "links[1].rate", "throughput[*]", log="x")
    assert figure.axes[0].get_xlabel() == "links[1].rate (Mbit/s)"
    assert figure.axes[0].get_xscale() == "log"
    assert sweep_xy(swept, "delay", "throughput").axes
    main_out = str(tmp_path / "f.svg")
    with pytest.raises(SystemExit) as caught:
        main(["plot", str(tmp_path / "s"), "--x", "links[1].rate", "--y", "loss[*]", "--out", main_out])
    assert caught.value.code == 0
    with pytest.raises(UsageError, match="there is no quantity"):
        sweep_xy(swept, "links[1].rate", "speed")


def test_plot_on_the_command_line(result: tb.Result, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = str(result.write(tmp_path / "run"))
    scenario = tmp_path / "s.toml"
    scenario.write_text(network(sample=None).set(duration="1500ms").to_toml())
    out = str(tmp_path / "f.pdf")

    def call(*arguments: str) -> int:
        with pytest.raises(SystemExit) as caught:
            main(["plot", *arguments])
        return int(str(caught.value.code))

    assert call(run, "--x", "time", "--y", "goodput[*]", "--size", "3.5in", "--out", out) == 0
    assert Path(out).read_bytes().startswith(b"%PDF")
    assert call(run, "--picture", "cwnd", "--of", "web[[]1]", "--out", out) == 0
    assert call(str(scenario), "--picture", "fct", "--log", "x", "--out", out) == 0
    assert call(run, "--picture", "time-sequence", "--between", "1", "2", "--out", out) == 0
    assert call(run, "--picture", "fct", "--between", "1", "2", "--out", out) == 2
    assert call(run, "--x", "time", "--out", out) == 2
    assert call(run, "--picture", "cwdn", "--out", out) == 2
    assert call(run, "--picture", "cwnd", "--log", "x", "--out", out) == 2
    assert call(run, "--picture", "cwnd", "--size", "9 miles", "--out", out) == 2
    scenario.write_text("tailback = 1\n[run]\nduration = 3\n")
    assert call(str(scenario), "--picture", "fct", "--out", out) == 3
    assert call(str(tmp_path), "--picture", "fct", "--out", out) == 4
    assert "is not a run directory" in capsys.readouterr().err
