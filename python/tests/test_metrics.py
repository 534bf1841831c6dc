"""Metrics: their names, tables, JSON and series on the command line, their values, comparisons, and shown numbers."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest

import tailback as package  # The fixture `tailback` is the command.
from tailback.results.formatting import digits, quantity
from tailback.results.intervals import Interval, mean_interval
from tailback.results.metrics import METRICS, Measure, estimates, measures, resolution
from tailback.results.report import Report
from tailback.results.rows import ReportData

Cli = Callable[..., Any]

# Two ECN-capable TCP connections and a flow of datagrams through a queue that marks.
MARKED = """tailback = 1

[run]
duration = "3s"
warmup = "1s"
replications = 2

[hosts]
h = { count = 2 }
u = {}
d = {}

[switches.sw]
buffer = "60kB"
discipline = { kind = "codel", ecn = true }

[[links]]
between = ["h*", "sw"]
rate = "100Mbit/s"

[[links]]
between = ["u", "sw"]
rate = "100Mbit/s"

[[links]]
between = ["sw", "d"]
rate = "10Mbit/s"
delay = "5ms"

[[flows]]
name = "bulk"
from = "h*"
to = "d"
source = { kind = "bulk" }
transport = { kind = "tcp", ecn = "classic" }

[[flows]]
name = "datagrams"
from = "u"
to = "d"
source = { kind = "poisson", rate = "1Mbit/s", packet = "500B" }
"""


@pytest.fixture
def marked(tmp_path: Path) -> Path:
    path = tmp_path / "marked.toml"
    path.write_text(MARKED)
    return path


def headings(out: str) -> list[str]:
    """Return the columns of the table of flows, which is printed in several parts if it is wide."""
    lines = [line for line in out.splitlines() if line.strip().startswith("flows")]
    return ["flows", *(word for line in lines for word in re.split(r"\s{3,}", line.strip())[1:])]


def test_the_table_shows_the_requested_metrics(tailback: Cli, marked: Path) -> None:
    found = tailback("run", marked, "--metric", "goodput,jain", "--metric", "marks", "--quiet")
    assert headings(found.out) == ["flows", "goodput", "jain", "marks"]
    rows = {line.split("   ")[0].strip(): line for line in found.out.splitlines() if "±" in line}
    # No row for "datagrams": goodput and Jain's index need a transport, and marks are counted in total only.
    assert rows.keys() == {"bulk", "all flows"}
    assert "Mbit/s" in rows["bulk"]
    summary = tailback("run", marked, "--json").json["summary"]
    marks = next(row for row in summary if row["metric"] == "marks")
    assert (marks["scope"], marks["unit"]) == ("total", "packet")
    assert digits(marks["mean"], 4) in rows["all flows"]


def test_by_default_tables_show_goodput_and_marks_only_if_there_are_any(
    tailback: Cli, marked: Path, merge: Path
) -> None:
    default_columns = ["flows", "offered", "loss", "mean delay", "99 % delay", "throughput"]
    assert headings(tailback("run", merge, "--quiet").out) == default_columns
    assert "marked" not in tailback("run", merge).out
    found = tailback("run", marked, "--quiet").out
    assert headings(found) == [*default_columns, "goodput"]
    ports = found[found.index("Ports with") :].splitlines()
    assert "marked" in next(line for line in ports if "busy" in line).split()


def test_transfers_show_their_times_and_slowdown(tailback: Cli, marked: Path) -> None:
    transfers = 'application = { kind = "transfers", rate = "2Mbit/s", size = { kind = "fixed", size = "20kB" } }'
    marked.write_text(MARKED.replace('source = { kind = "bulk" }', transfers, 1))
    columns = headings(tailback("run", marked, "--quiet").out)
    assert columns[-4:] == ["goodput", "response", "99 % response", "slowdown"]


@pytest.mark.parametrize(
    ("name", "advice"),
    [
        # Near a name; a term with two metrics; near none, so that all are listed, from `offered` on; a malformed group.
        ("godput", "`goodput`"),
        ("fct", "`completion` or `response`"),
        ("zzz", "the metrics are offered"),
        ("goodput[", "goodput[data]"),
    ],
)
def test_a_metric_that_does_not_exist_is_refused_with_advice(
    tailback: Cli, marked: Path, name: str, advice: str
) -> None:
    for command in ("run", "sweep"):
        found = tailback(command, marked, "--metric", name)
        assert found.code == 2
        assert advice in found.err


def test_the_help_names_every_metric(tailback: Cli) -> None:
    for command in ("run", "sweep"):
        words = set(re.findall(r"\w+", tailback(command, "--help").out))
        assert words >= METRICS.keys()


def test_metrics_without_values_and_unknown_groups_are_reported(tailback: Cli, merge: Path) -> None:
    assert "goodput" in tailback("run", merge, "--metric", "goodput,loss").err
    assert tailback("run", merge, "--metric", "loss[data]").code == 2
    sweep = tailback("sweep", merge, "--set", "network.buffer=[10kB, 20kB]", "--metric", "loss[dta]")
    assert "loss[dta]" in sweep.err
    assert "loss[data]" in sweep.err


def test_a_sweep_shows_the_requested_metrics(tailback: Cli, marked: Path) -> None:
    grid = ["--set", "switches.sw.buffer=[30kB, 60kB]", "--reps", "1"]
    found = tailback("sweep", marked, *grid, "--metric", "goodput[bulk],jain")
    line = next(line for line in found.out.splitlines() if "switches.sw.buffer" in line)
    assert line.split() == ["switches.sw.buffer", "goodput[bulk]", "jain"]


def test_json_has_the_time_series_on_request(tailback: Cli, merge: Path) -> None:
    sampled = ("run", merge, "--set", "run.sample=10ms", "--set", "run.duration=100ms", "--set", "run.warmup=0s")
    assert "series" not in tailback(*sampled, "--json").json
    found = tailback(*sampled, "--json", "--series", "--reps", "2").json["series"]
    assert [row["seed"] for row in found] == [1, 2]
    # Samples are taken at the end of each interval; the last one is at the end of the run.
    assert [row["time_s"] for row in found] == [[pytest.approx(0.01 * k) for k in range(1, 11)]] * 2
    assert len(found[0]["ports"]["sw->d"]["queue_bytes"]) == 10
    assert "--json" in tailback(*sampled, "--series").err
    assert "run.sample" in tailback("run", merge, "--json", "--series").err


def test_jains_index_is_computed_from_goodputs(marked: Path) -> None:
    report = package.run(marked, replications=1).reports[0]
    data = cast(Any, copy.deepcopy(report.data))
    bulk = [flow for flow in data["flows"] if flow["group"] == "bulk"]
    # Shares of 1 and 3: (1 + 3)² / (2 · (1 + 9)) = 0.8.
    for flow, share in zip(bulk, (1000, 3000), strict=True):
        flow["transport"]["goodput_bytes"] = share
    found = measures(Report(cast(ReportData, data)))
    assert found[Measure("group", "bulk", "jain")] == pytest.approx(0.8)
    for flow in bulk:
        flow["transport"]["goodput_bytes"] = 0
    # If nothing arrived, the index is not defined.
    assert Measure("group", "bulk", "jain") not in measures(Report(cast(ReportData, data)))


def test_marks_are_the_sum_over_all_ports(marked: Path) -> None:
    report = package.run(marked, replications=1).reports[0]
    counted = [row["marked_packets"] for port in report.data["ports"] for row in port["classes"]]
    assert sum(counted) > 0
    assert measures(report)[Measure("total", "", "marks")] == sum(counted)


DELAY_P99 = Measure("group", "data", "delay_p99")


def test_the_interval_of_a_quantile_is_never_shown_narrower_than_a_bucket_of_its_histogram() -> None:
    # With 128 buckets per octave the relative error of a value is up to 1/256: 1 ms at 256 ms.
    (found,) = estimates([{DELAY_P99: 0.256}] * 3, 0.95)
    assert found.interval.half_width == 0
    # "± <1": half the interval is below 1 ms, the resolution.
    assert quantity(found.interval, DELAY_P99, found.resolution) == "256 ± <1 ms"
    # 400 ms / 256 = 1.5625 ms, shown with two significant digits.
    (found,) = estimates([{DELAY_P99: 0.4}] * 3, 0.95)
    assert quantity(found.interval, DELAY_P99, found.resolution) == "400 ± <1.6 ms"


def test_an_interval_wider_than_the_resolution_is_shown_unchanged() -> None:
    # Half the interval is 4.3027 s / √3 with s = 50.1 ms: 124.5 ms, shown with two digits.
    wide = mean_interval([0.2, 0.256, 0.3], 0.95)
    assert quantity(wide, DELAY_P99, resolution(DELAY_P99, {DELAY_P99: wide.mean})) == "252 ± 120 ms"


def test_a_mean_has_no_resolution() -> None:
    # It is computed from all packets, not from a histogram.
    mean = Measure("group", "data", "delay")
    (exact,) = estimates([{mean: 0.256}] * 3, 0.95)
    assert quantity(exact.interval, mean, exact.resolution) == "256 ± 0 ms"


def test_one_replication_shows_no_interval() -> None:
    single = Interval(0.256, lo=float("-inf"), hi=float("inf"), n=1)
    assert quantity(single, DELAY_P99, 0.001) == "256 ms"


def test_the_resolution_of_a_delay_variation_is_that_of_the_delays() -> None:
    # The minimum delay is 230.4 ms. A PDV of 25.6 ms is 256 ms minus the minimum, with the resolution of 256 ms, 1 ms.
    pdv = Measure("group", "data", "pdv_p99")
    assert resolution(pdv, {pdv: 0.0256, DELAY_P99: 0.256}) == pytest.approx(0.001)


def test_the_interval_of_a_difference_of_quantiles_is_never_shown_narrower_than_both_resolutions(
    tailback: Cli, merge: Path
) -> None:
    # The difference of equal runs is 0 in each replication; each quantile has a resolution of 1/256 of its value.
    compared = package.compare(package.run(merge), package.run(merge))
    found = next(d for d in compared.differences if d.measure.metric == "delay_p99")
    assert found.difference.half_width == 0
    assert sum(found.resolutions) == pytest.approx(2 * found.a.mean / 256)
    # The sum, some hundreds of µs, is shown with two significant digits: 303.04 as 300.
    (shown,) = re.findall(r"^0 ± <([1-9][0-9]0) µs$", quantity(found.difference, found.measure, sum(found.resolutions)))
    assert float(shown) == round(sum(found.resolutions) * 1e6, -1)
    assert "± <" in tailback("compare", merge, merge).out


def test_numbers_are_written_without_an_exponent() -> None:
    # 1245844 rounded to six significant digits; the last zero gives the magnitude.
    assert [digits(value, 6) for value in (1245844.0, 2957.0, 0.5, 0.0, 3e15)] == [
        "1245840",
        "2957",
        "0.5",
        "0",
        "3000000000000000",
    ]


def test_a_share_is_in_percent_and_an_index_is_not() -> None:
    value = Interval(0.983, 0.982, 0.984, 3)
    assert quantity(value, Measure("total", "", "loss")) == "98.3 ± 0.1 %"
    assert quantity(value, Measure("total", "", "jain")) == "0.983 ± 0.001"


def test_the_json_of_a_run_does_not_depend_on_the_metrics_of_the_table(tailback: Cli, marked: Path) -> None:
    whole = tailback("run", marked, "--json").out
    assert tailback("run", marked, "--json", "--metric", "loss").out == whole
    assert {"bulk", "datagrams"} == {row["name"] for row in json.loads(whole)["summary"] if row["scope"] == "group"}
