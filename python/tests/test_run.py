"""Runs from Python: seeds, digests, tables, intervals, warm-up, progress and run directories."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

import tailback
from tailback import Precision, RunError, Scenario, load, run
from tailback.results.tables import TABLES, units

MERGE = Path(__file__).with_name("merge.toml").read_text()


@pytest.fixture(scope="module")
def result() -> tailback.Result:
    """Return the result of four replications of merge.toml."""
    return run(Scenario.from_toml(MERGE), replications=4)


def test_replication_k_runs_with_seed_plus_k_and_can_be_run_alone(result: tailback.Result) -> None:
    assert result.seeds == [1, 2, 3, 4]
    alone = run(Scenario.from_toml(MERGE), seed=3, replications=1)
    assert alone.reports[0].digest == result.reports[2].digest


def test_threads_and_engine_do_not_change_the_digest(result: tailback.Result) -> None:
    scenario = Scenario.from_toml(MERGE)
    assert run(scenario, replications=4, threads=1).digest == result.digest
    assert run(scenario, replications=4, threads=3, engine="plain").digest == result.digest


def test_the_summary_has_an_interval_on_every_number(result: tailback.Result) -> None:
    summary = result.summary()
    assert summary.columns == ["scope", "name", "metric", "mean", "lo", "hi", "n", "unit"]
    assert (summary["lo"] <= summary["mean"]).all()
    assert (summary["mean"] <= summary["hi"]).all()
    assert (summary["n"] == 4).all()
    loss = summary.filter((pl.col("scope") == "group") & (pl.col("metric") == "loss"))
    mean = sum(report.loss("data") for report in result.reports) / 4
    assert loss["mean"].item() == pytest.approx(mean)


def test_every_table_has_its_columns_and_packets_add_up(result: tailback.Result) -> None:
    for name, columns in TABLES.items():
        assert getattr(result, name).columns == list(columns)
    flows = result.flows
    assert flows.height == 4 * 2
    balance = (
        flows["offered_packets"] - flows["delivered_packets"] - flows["dropped_packets"] - flows["in_network_packets"]
    )
    assert (balance == 0).all()
    measured = result.drops.filter(pl.col("kind") == "data")
    assert measured["packets"].sum() == flows["dropped_packets"].sum()
    assert result.series.height == 0


def test_series_are_recorded_on_request() -> None:
    series = run(Scenario.from_toml(MERGE).set(sample="100ms"), replications=1).series
    assert set(series["quantity"]) >= {"queue_bytes", "in_network_packets", "delivered_bytes"}
    assert series["time_s"].max() == pytest.approx(2.0, abs=0.11)


def test_units_of_columns_are_in_the_metadata_of_files(result: tailback.Result, tmp_path: Path) -> None:
    assert units("flows")["delay_mean_s"] == "s"
    assert units("ports")["rate_bps"] == "bit/s"
    directory = result.write(tmp_path / "run")
    metadata = pl.read_parquet_metadata(directory / "flows.parquet")
    assert json.loads(metadata["tailback.units"]) == units("flows")
    assert json.loads(metadata["tailback"])["digest"] == result.digest


def test_only_counts_of_packets_have_the_unit_packet() -> None:
    counts = {name: units(table).get(name) for table in TABLES for name in TABLES[table] if name.endswith("_count")}
    without = ("completion_count", "time_count", "exchange_count", "completed_count")
    assert counts == {"delay_count": "packet", **dict.fromkeys(without)}
    assert units("drops") == {"packets": "packet"}


def test_the_pandas_frame_of_flows_has_the_same_number_of_offered_packets(result: tailback.Result) -> None:
    frame = result.to_pandas("flows")
    assert frame["offered_packets"].sum() == result.flows["offered_packets"].sum()


def test_a_result_has_a_plot_a_text_and_an_html_form(result: tailback.Result) -> None:
    figure = result.plot()
    labels = [axes.get_xlabel() for axes in figure.axes]
    assert labels == ["throughput (Mbit/s)", "packet loss (%)", "mean delay (ms)"]
    assert "data" in repr(result)
    assert "<table" in result._repr_html_()


def test_warm_up_by_pilot_is_recorded_and_the_same_for_a_replication_alone() -> None:
    scenario = Scenario.from_toml(MERGE).set(warmup="auto", duration="10s")
    both = run(scenario, replications=2)
    assert both.warmup.method == "auto"
    assert both.warmup.seconds is not None
    assert 0 <= both.warmup.seconds < 5
    assert both.reports[0].data["warmup_s"] == pytest.approx(both.warmup.seconds)
    alone = run(scenario, seed=2, replications=1)
    assert alone.reports[0].digest == both.reports[1].digest


def test_no_steady_state_is_an_error_that_names_the_setting() -> None:
    # A host has an unbounded queue and generates twice the rate of its link, so that the queue never stops growing.
    overload = MERGE.replace('rate = "4Mbit/s"', 'rate = "20Mbit/s"').replace('warmup = "100ms"', 'warmup = "auto"')
    with pytest.raises(RunError, match=r"run\.warmup"):
        run(Scenario.from_toml(overload))


def test_replications_are_added_until_the_interval_is_narrow_enough_or_the_maximum_is_reached() -> None:
    scenario = Scenario.from_toml(MERGE)
    config = {"metric": "delay", "relative": 0.05, "absolute": 0.0, "max-replications": 60}
    found = run(scenario.set({"run.precision": config}))
    delay = next(e.interval for e in found.estimates() if str(e.measure) == "delay")
    assert delay.n > 3
    assert delay.half_width <= 0.05 * delay.mean or delay.n == 60
    assert Precision().metric == "loss"


def test_a_run_directory_loads_as_the_scenario_that_was_run(result: tailback.Result, tmp_path: Path) -> None:
    directory = result.write(tmp_path / "run")
    manifest = json.loads((directory / "manifest.json").read_text())
    assert manifest["state"] == "complete"
    assert [row["seed"] for row in manifest["replications"]] == result.seeds
    assert load(directory / "scenario.toml").hash == manifest["scenario_hash"]
    assert manifest["digest"] == result.digest


def test_progress_is_reported_in_the_callers_thread_and_ends_with_all_replications() -> None:
    import threading

    calls: list[tuple[float, int, int]] = []
    run(Scenario.from_toml(MERGE), progress=lambda done, total: calls.append((done, total, threading.get_ident())))
    assert calls[-1][:2] == (3.0, 3)
    assert {thread for *_, thread in calls} == {threading.get_ident()}


def test_zero_replications_are_refused() -> None:
    with pytest.raises(ValueError, match="write 1 to"):
        run(Scenario.from_toml(MERGE), replications=0)


def test_a_group_that_is_a_whole_class_has_the_quantiles_of_the_class() -> None:
    classes = Scenario.from_toml(MERGE).set({"network.classes": 2, "flows[data].class": 1})
    summary = run(classes, replications=2).summary().filter(pl.col("metric") == "delay_p99")
    group, whole = (summary.filter(pl.col("scope") == scope)["mean"] for scope in ("group", "class"))
    assert group.item() == whole[-1] > 0


def test_colours_are_counted_by_conditioners_and_by_flows() -> None:
    meter = {"kind": "token-bucket", "rate": "1Mbit/s", "burst": "10kB"}
    scenario = Scenario.from_toml(MERGE).set({"flows[data].marking": {"meter": meter, "police": "red"}})
    report = run(scenario, replications=1).reports[0]
    (judged,) = report.data["conditioners"]
    assert judged["name"] == "data"
    assert judged["red"] == judged["policed"]
    assert judged["policed"]["packets"] > 0
    assert report.coloured_bytes("red", "data") == 0
    assert report.coloured_bytes("green") == sum(flow["delivered"]["bytes"] for flow in report.flows())
    rows = [colours for flow in report.flows("data") if (colours := flow["colours"]) is not None]
    assert sum(row["red"]["offered"]["packets"] for row in rows) == judged["policed"]["packets"]
    assert {drop["reason"] for drop in report.drops("data")} >= {"policed"}


def test_time_stopped_and_time_with_data_held_back_are_counted_separately(merge: Path) -> None:
    # Two hosts with links of 10 Mbit/s send into one of 10 Mbit/s; notifications stop packets to one destination.
    scenario = tailback.load(merge).backpressure(scope="destination", end_stations=True, high=0.5, low=0.2)
    report = tailback.run(scenario.set({"run.sample": "1ms"}), replications=1).reports[0]
    (port,) = report.ports("h1->sw")
    assert report.stopped_share("h1->sw") == pytest.approx(port["stopped_s"] / report.measured_s)
    assert report.stopped_share("h1->sw", destination="d") == pytest.approx(report.stopped_share("h1->sw"))
    assert report.stopped_share("h1->sw", class_=0) == 0, "no notification named a class"
    assert 0 < report.held_share("h1->sw") <= 1
    assert port["held_s"] != port["stopped_s"]
    series = report.data["series"]
    assert series is not None
    sampled = series["ports"]["h1->sw"]
    # The series counts from the start of the run, the totals of the report from the end of the warm-up.
    assert sampled["stopped_s"][-1] >= port["stopped_s"] > 0
    assert any(sampled["stopped"])
    assert not any(
        stopped for stopped, total in zip(sampled["stopped"], sampled["stopped_s"], strict=True) if not total
    )


@pytest.mark.parametrize("title", ["", "Two into one", "A title " * 20, 'It\'s "quoted" ' * 9])
def test_the_repr_of_results_fits_into_80_columns(title: str) -> None:
    scenario = Scenario.from_toml(MERGE).set({"title": title, "run.duration": "200ms"})
    swept = tailback.sweep(
        scenario, {"network.buffer": ["10kB", "20kB"]}, mechanisms={"a": {}, "b": {"backpressure.scope": "plain"}}
    )
    for made in (run(scenario, replications=2), swept):
        lines = repr(made).splitlines()
        assert max(map(len, lines)) <= 80
        assert made.digest in repr(made)
        assert title[:12] in lines[0].replace("\\", "")
