"""Records of a run: transfers, changes of transports, queues and throughput by flow, extremes, delays, and flent."""

from __future__ import annotations

import gzip
import json
import math
import re
from pathlib import Path

import polars as pl
import pytest

import tailback as tb
from tailback.errors import ScenarioError, UsageError
from tailback.results.directory import RunDirectory

RECORDS = (
    "transfers",
    "transport-changes",
    "throughput-by-flow",
    "queue-by-flow",
    "queue-extremes",
    "delay-distribution",
)


def network(**run: object) -> tb.Scenario:
    """Return two senders of random transfers over a link of 4 Mbit/s; further options are those of `Scenario`."""
    options = {"duration": "4s", "warmup": "1s", "sample": "20ms", "framing": "none", "per_flow_delay": True, **run}
    base = tb.Scenario(**options)  # type: ignore[arg-type]
    made = (
        base.host("s", count=2)
        .host("t")
        .switch("a", ports={"b": {"buffer": "30kB"}})
        .switch("b")
        .link(["s*", "a"], rate="100Mbit/s", delay="2ms")
        .link(["a", "b"], rate="4Mbit/s", delay="5ms")
        .link(["b", "t"], rate="100Mbit/s", delay="1ms")
    )
    bursts = tb.source("uniform-uniform", burst="60kB", rate="1500kbit/s")
    return made.flow("web", "s*", "t", bursts, transport={"kind": "tcp"}, probe=True)


@pytest.fixture(scope="module")
def result() -> tb.Result:
    """Return a run of two replications with all records."""
    return tb.run(network(record=RECORDS), replications=2)


def test_retransmissions_of_transfers_add_up_to_those_of_their_flow_in_a_run_without_warm_up() -> None:
    run = tb.run(network(warmup="0s", record=["transfers"]), replications=2)
    by_flow = run.transfers.group_by("seed", "flow").agg(pl.col("retransmissions").sum()).sort("seed", "flow")
    expected = run.transports.select("seed", "flow", "retransmissions").sort("seed", "flow")
    assert by_flow.rows() == expected.rows()
    assert by_flow["retransmissions"].sum() > 10
    assert run.omitted == {}


def test_slowdown_is_at_least_one_and_completion_times_are_those_of_the_report(result: tb.Result) -> None:
    complete = result.transfers.drop_nulls("completion_s")
    assert (complete["slowdown"] >= 1).all()
    late = complete.filter(pl.col("start_s") >= 1).group_by("seed").agg(pl.len(), pl.col("completion_s").mean())
    for seed, count, mean in late.rows():
        report = next(report for report in result.reports if report.seed == seed)
        assert report.data["completions"]["web"]["count"] == count
        assert report.data["completions"]["web"]["mean_s"] == pytest.approx(mean)


def test_bytes_by_flow_add_up_to_the_queue_at_every_sample(result: tb.Result) -> None:
    sums = result.queue_by_flow.group_by("seed", "time_s", "port").agg(pl.col("waiting_bytes").sum().alias("sum"))
    queues = result.series.filter(pl.col("quantity") == "queue_bytes").rename({"name": "port"})
    joined = queues.join(sums, on=["seed", "time_s", "port"], how="left").with_columns(pl.col("sum").fill_null(0))
    assert (joined["sum"] == joined["value"]).all()
    assert joined["sum"].max() > 20_000


def test_throughput_by_flow_adds_up_to_that_of_the_group(result: tb.Result) -> None:
    delivered = result.series.filter(pl.col("quantity") == "delivered_bytes")
    flows = delivered.filter(pl.col("scope") == "flow").group_by("seed", "time_s").agg(pl.col("value").sum())
    groups = delivered.filter(pl.col("scope") == "group").select("seed", "time_s", "value")
    assert flows.sort("seed", "time_s").rows() == groups.sort("seed", "time_s").rows()
    goodput = result.series.filter(pl.col("quantity") == "goodput_bytes")
    last = goodput.filter(pl.col("time_s") == goodput["time_s"].max())
    assert last["value"].sum() <= groups.filter(pl.col("time_s") == groups["time_s"].max())["value"].sum()


def test_extremes_enclose_the_samples_and_exceed_them(result: tb.Result) -> None:
    wide = result.series.filter(pl.col("name") == "a->b").pivot(on="quantity", index=["seed", "time_s"], values="value")
    assert (wide["queue_min_bytes"] <= wide["queue_bytes"]).all()
    assert (wide["queue_bytes"] <= wide["queue_max_bytes"]).all()
    assert (wide["queue_max_bytes"] > wide["queue_bytes"]).any()


def test_changes_agree_with_samples_of_the_same_time(result: tb.Result) -> None:
    changes = result.transport_changes.filter(pl.col("seed") == 1, pl.col("flow") == "web[1]")
    assert set(changes["state"]) >= {"opening", "open", "recovery"}
    samples = result.series.filter(
        pl.col("seed") == 1, pl.col("name") == "web[1]", pl.col("quantity") == "window_segments"
    )
    joined = samples.sort("time_s").join_asof(changes.sort("time_s"), on="time_s", strategy="backward")
    known = joined.drop_nulls("window_segments")
    assert (known["value"] == known["window_segments"]).all()
    assert known.height > 100


def test_the_distribution_of_delays_has_all_packets_and_the_mean_of_the_report(result: tb.Result) -> None:
    delays = result.delays.filter(pl.col("scope") == "class", pl.col("seed") == 1)
    whole = result.classes.filter(pl.col("seed") == 1)
    assert delays["delivered_packets"].sum() == whole["delay_count"].item()
    mean = (delays["delay_s"] * delays["delivered_packets"]).sum() / delays["delivered_packets"].sum()
    assert mean == pytest.approx(whole["delay_mean_s"].item(), rel=1 / 128)
    assert delays["delay_s"].max() == whole["delay_max_s"].item()
    assert set(result.delays["scope"]) == {"class", "group"}


def test_records_change_no_result_with_either_engine_and_in_parts(result: tb.Result) -> None:
    assert tb.run(network(), replications=2).digest == result.digest
    plain = tb.run(network(record=RECORDS, engine="plain"), replications=2)
    parts = tb.run(network(record=RECORDS), replications=2, parallel=3)
    for name in ("transfers", "transport_changes", "queue_by_flow", "delays", "series"):
        assert plain.table(name).equals(result.table(name)), name
        assert parts.table(name).equals(result.table(name)), name


def test_rows_above_the_limit_are_counted(result: tb.Result, tmp_path: Path) -> None:
    few = tb.run(network(record=RECORDS, record_limit=20), replications=2)
    assert few.transfers.height == 20 * 2
    assert few.omitted["transfers"] == result.transfers.height - 40
    assert few.omitted["transport_changes"] == result.transport_changes.height - 40
    few.write(tmp_path / "run")
    assert json.loads((tmp_path / "run" / "manifest.json").read_text())["omitted"] == few.omitted


def test_a_record_at_samples_without_samples_is_refused_with_its_place() -> None:
    text = network(record=["queue-by-flow"]).to_toml().replace('sample = "20ms"\n', "")
    with pytest.raises(ScenarioError, match='"queue-by-flow" is recorded at samples') as caught:
        tb.Scenario.from_toml(text).native  # noqa: B018
    assert caught.value.path == "run.record"
    assert caught.value.line == 1 + text[: text.index("record")].count("\n")
    with pytest.raises(ScenarioError, match="0 is not a number of rows"):
        network(record_limit=0).native  # noqa: B018
    with pytest.raises(ScenarioError, match="did you mean `transfers`"):
        network(record=["transfer"]).native  # noqa: B018


def test_a_run_directory_has_the_tables_of_the_result(result: tb.Result, tmp_path: Path) -> None:
    stored = RunDirectory(result.write(tmp_path / "run"))
    assert stored.warmup_s == result.warmup_s == 1.0
    for name in ("transfers", "transport_changes", "queue_by_flow", "delays"):
        assert stored.table(name).equals(result.table(name))


def test_a_data_file_of_flent_has_its_keys_and_the_goodputs_of_the_flows(result: tb.Result, tmp_path: Path) -> None:
    path = result.to_flent(tmp_path / "run.flent.gz")
    content = json.loads(gzip.decompress(path.read_bytes()))
    # The keys and the version that flent's ResultSet.serialise writes.
    assert set(content) == {"metadata", "version", "x_values", "results", "raw_values"}
    assert content["version"] == 4
    results = content["results"]
    assert {"TCP upload::1", "TCP upload::2", "TCP upload sum", "TCP upload avg", "Ping (ms) ICMP"} <= set(results)
    assert all(len(column) == len(content["x_values"]) == 200 for column in results.values())
    goodput = result.series.filter(pl.col("quantity") == "goodput_bytes", pl.col("seed") == 1)
    last = goodput.filter(pl.col("time_s") == 4.0)["value"].sum()
    assert math.fsum(results["TCP upload sum"]) * 0.02 * 1e6 / 8 == pytest.approx(last)
    assert result.to_flent(tmp_path / "again.flent.gz").read_bytes() == path.read_bytes()
    with pytest.raises(UsageError, match=r"does not end in .flent.gz"):
        result.to_flent(tmp_path / "run.json")
    with pytest.raises(UsageError, match="replication 2 has no samples"):
        result.to_flent(path, replication=2)


def test_the_command_line_states_rows_left_out_and_writes_data_files_of_flent(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from tailback.cli import main

    scenario = tmp_path / "s.toml"
    scenario.write_text(network(record=RECORDS, record_limit=3, replications=1).to_toml())
    for arguments, code in (
        (["run", str(scenario), "--out", str(tmp_path / "run"), "--reps", "1"], 0),
        (["flent", str(tmp_path / "run")], 0),
        (["flent", str(tmp_path / "run"), "--out", str(tmp_path / "run.json")], 2),
        (["flent", str(tmp_path / "run"), "--replication", "1"], 2),
        (["flent", str(tmp_path)], 4),
    ):
        with pytest.raises(SystemExit) as caught:
            main(arguments)
        assert caught.value.code == code, arguments
    assert (tmp_path / "run" / "run.flent.gz").is_file()
    shown = re.sub(r"\s+", " ", capsys.readouterr().err)
    assert re.search(r"\d+ rows of the table transfers are left out, since they are above run.record-limit", shown)


def test_flent_reads_the_data_file(result: tb.Result, tmp_path: Path) -> None:
    resultset = pytest.importorskip("flent.resultset", reason="flent is not installed")
    read = resultset.ResultSet.load_file(str(result.to_flent(tmp_path / "run.flent.gz")))
    assert read.x_values == [pytest.approx(0.02 * (index + 1)) for index in range(200)]
    assert "TCP upload sum" in read.series_names
