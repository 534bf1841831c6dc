"""Time series of windows and meters in the table, in files and in figures."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import tailback as tb
from tailback import _native
from tailback.scenario import Table

CONTROLS = [name for name in json.loads(_native.names())["congestion-controls"] if name != "user"]


def probed(transport: Table, **flow: object) -> tb.Scenario:
    """Return a scenario of three flows with `probe` over a link of 4 Mbit/s; the third flow starts at 1.5 s."""
    base = tb.Scenario(duration="3s", warmup="1s", sample="100ms", framing="none", buffer="unlimited")
    made = (
        base.host("s", count=3)
        .host("t")
        .switch("a", ports={"b": {"buffer": "40kB"}})
        .switch("b")
        .link(["s*", "a"], rate="100Mbit/s", delay="2ms")
        .link(["a", "b"], rate="4Mbit/s", delay="5ms")
        .link(["b", "t"], rate="100Mbit/s", delay="1ms")
    )
    for number, start in ((1, "0s"), (2, "0s"), (3, "1500ms")):
        more = {"transport": transport, "start": start, "probe": True, **flow}
        made = made.flow(f"f{number}", f"s{number}", "t", tb.source("bulk"), **more)  # type: ignore[arg-type]
    return made


@pytest.mark.parametrize("control", CONTROLS)
def test_windows_of_every_congestion_control_are_in_the_table_in_the_run_directory_and_in_the_figure(
    control: str, tmp_path: Path
) -> None:
    kind = "rdma" if control in ("dcqcn", "timely", "hpcc", "swift") else "tcp"
    try:
        scenario = probed({"kind": kind, "congestion-control": {"kind": control}})
        result = tb.run(scenario, replications=1)
    except tb.ScenarioError:
        assert control == "packet-marking", "only this control needs a target rate"
        scenario = probed({"kind": kind, "congestion-control": {"kind": control, "target": "1Mbit/s"}})
        result = tb.run(scenario, replications=1)
    series = result.series
    flows = series.filter(series["scope"] == "flow")
    assert {"window_segments", "threshold_segments", "smoothed_rtt_s"} <= set(flows["quantity"])
    samples = series.filter(series["quantity"] == "in_network_packets").height
    # Each quantity has a row for each sample, also if its value is missing.
    rows = flows.group_by("name", "quantity").len()["len"]
    assert set(rows) == {samples}
    result.write(tmp_path / "run")
    assert (tmp_path / "run" / "series.parquet").exists()
    # The figure has a panel of windows, whose curves are those of the table.
    drawn = {axes.get_ylabel(): axes for axes in result.plot().axes}
    assert "queue (kB)" in drawn
    lines = drawn["window (segments)"].get_lines()
    lines = [line for line in lines if not str(line.get_label()).startswith("_")]
    found = flows.filter(flows["quantity"] == "window_segments")
    assert {str(line.get_label()) for line in lines} == set(found["name"])
    for line in lines:
        assert list(line.get_ydata()) == list(found.filter(found["name"] == str(line.get_label()))["value"])


def test_meters_of_probed_flows_are_in_the_table() -> None:
    marking: Table = {"meter": {"kind": "adaptive", "target": "1Mbit/s"}}
    series = tb.run(probed({"kind": "tcp"}, marking=marking), replications=1).series
    meters = series.filter(series["scope"] == "meter")
    assert set(meters["name"]) == {"f1", "f2", "f3"}
    samples = series.filter(series["quantity"] == "in_network_packets").height
    assert set(meters.group_by("name", "quantity").len()["len"]) == {samples}
    late = meters.filter((meters["name"] == "f3") & (meters["quantity"] == "observed_bit_s"))
    assert late.filter(late["time_s"] < 1.5)["value"].max() == 0
    assert late["value"].max() > 0
