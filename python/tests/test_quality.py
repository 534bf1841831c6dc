"""Delay variation in reports, the quality of calls and video, and targets with forecasts."""

from __future__ import annotations

import math
from pathlib import Path
from typing import cast

import pytest

import tailback
from tailback import service_levels
from tailback.errors import UsageError
from tailback.results import observables, quality, synchronisation
from tailback.results.metrics import measures
from tailback.results.rows import ReportData
from tailback.service_levels import Target

EXAMPLES = Path(__file__).resolve().parents[2] / "docs" / "examples"
CALLS = """
tailback = 1
run = { duration = "20s", warmup = "1s", sample = "1s", delay-variation = true, per-flow-delay = true }
network = { framing = "none" }
hosts = { a = {}, b = {}, c = {} }
switches = { sw = {} }
links = [
  { between = ["a", "sw"], rate = "100Mbit/s" },
  { between = ["c", "sw"], rate = "100Mbit/s" },
  { between = ["sw", "b"], rate = "10Mbit/s" },
]
[[flows]]
name = "call"
from = "a"
to = "b"
count = 2
source = { kind = "cbr", packet = "200B", rate = "64kbit/s" }
[[flows]]
name = "data"
from = "c"
to = "b"
source = { kind = "poisson", packet = "1500B", rate = "8Mbit/s" }
"""


@pytest.fixture(scope="module")
def report() -> tailback.Report:
    """Return the report of two CBR calls and a Poisson stream that share a queue."""
    return tailback.run(tailback.Scenario.from_toml(CALLS), replications=1).reports[0]


def test_variation_is_of_the_delays_of_the_group(report: tailback.Report) -> None:
    row = report.variation("call")
    assert row["delay"]["count"] == sum(f["delivered"]["packets"] for f in report.flows("call"))
    assert row["delay"]["mean_s"] == pytest.approx(report.mean_delay_s("call"))
    assert row["pdv_mean_s"] == pytest.approx(report.mean_delay_s("call") - row["min_s"])
    assert 0 < row["pdv_mean_s"] < row["pdv_p99_s"] < row["pdv_p999_s"]
    assert row["burst_ratio"] is None
    flow = report.flows("call")[0]["variation"]
    assert flow is not None
    assert flow["jitter_s"] == pytest.approx(row["jitter_s"], rel=0.3)


def test_the_time_series_ends_with_the_totals(report: tailback.Report) -> None:
    series = report.data["series"]
    assert series is not None
    calls = series["flows"]["call"]
    assert calls["offered_packets"][-1] == report.offered_packets("call")
    assert calls["delay_sum_s"][-1] / calls["delivered_packets"][-1] == pytest.approx(report.mean_delay_s("call"))
    assert len(calls["jitter_s"]) == len(series["time_s"])


def test_without_delay_variation_in_the_document_the_error_names_the_setting() -> None:
    run = tailback.run(tailback.load(EXAMPLES / "first.toml"), replications=1).reports[0]
    assert run.data["variation"] == {}
    group = run.data["flows"][0]["group"]
    with pytest.raises(KeyError, match="delay-variation"):
        run.variation(group)


def test_the_summary_has_the_jitter_of_each_group(report: tailback.Report) -> None:
    found = {str(key): value for key, value in measures(report).items()}
    jitter = report.variation("data")["jitter_s"]
    assert found["jitter[data]"] == jitter
    assert found["pdv_p999[data]"] == report.variation("data")["pdv_p999_s"]


def test_a_call_has_the_rating_of_g_107_without_delay_and_a_lower_one_with_delay() -> None:
    assert quality.call(0.0).rating == pytest.approx(93.2, abs=0.05)
    assert quality.call(0.0).mos == pytest.approx(4.41, abs=0.005)
    assert quality.call(0.15).rating > 88 > quality.call(0.25).rating


def test_an_unknown_codec_and_a_loss_above_1_are_refused() -> None:
    with pytest.raises(ValueError, match=r"g\.711, g\.711-plc"):
        quality.call(0.0, codec="g.999")
    with pytest.raises(ValueError, match="from 0 to 1"):
        quality.call(0.0, 2.0)


def test_calls_over_a_short_queue_have_a_mos_above_3_5_and_meet_class_0(report: tailback.Report) -> None:
    # 1 % of the packets arrives too late for the play-out buffer, which costs G.711 without PLC half a point of MOS.
    assert 3.5 < quality.speech(report, "call").mos < 4.0 < quality.speech(report, "call", codec="g.711-plc").mos
    assert quality.service_class(report, "call") == 0
    assert quality.violations(report, "call", 0) == []
    assert not math.isnan(quality.video(report, "data"))


def test_targets_are_checked_in_every_interval(report: tailback.Report) -> None:
    kept, missed = service_levels.check(report, [Target("call", delay_s=1.0, loss=0.5), Target("call", delay_s=1e-9)])
    assert (kept.intervals, kept.compliance, kept.violations) == (19, 1.0, ())
    assert missed.compliance == 0.0
    assert {violation.what for violation in missed.violations} == {("delay",)}
    observed = service_levels.observe(report, "call")
    delivered = sum(one.throughput_pps * (one.end_s - one.start_s) for one in observed)
    assert delivered == pytest.approx(report.variation("call")["delay"]["count"], rel=0.02)


def test_a_break_point_is_the_load_at_which_the_value_exceeds_its_limit() -> None:
    assert service_levels.break_point(lambda load: load**2, 0.25, 0.0, 1.0) == pytest.approx(0.5, abs=0.002)
    assert service_levels.break_point(lambda load: load, 2.0, 0.0, 1.0) is None
    assert service_levels.break_point(lambda load: load + 1, 0.5, 0.0, 1.0) == 0.0


TWO = """
tailback = 1
run = { duration = "21s", warmup = "1s", replications = 3 }
network = { framing = "none", buffer = "100packets" }
hosts = { a = {}, b = {}, c = {} }
switches = { sw = {} }
links = [
  { between = ["a", "sw"], rate = "100Mbit/s" },
  { between = ["c", "sw"], rate = "100Mbit/s" },
  { between = ["sw", "b"], rate = "10Mbit/s" },
]
[[flows]]
name = "call"
from = "a"
to = "b"
source = { kind = "cbr", packet = "200B", rate = "1Mbit/s" }
[[flows]]
name = "data"
from = "c"
to = "b"
source = { kind = "cbr", packet = "1500B", rate = "4Mbit/s", wander = 0.1 }
"""


def test_a_forecast_is_the_factor_at_which_a_target_is_missed_and_watch_counts_the_intervals() -> None:
    scenario = tailback.Scenario.from_toml(TWO)
    promised = service_levels.targets(["call.loss<=1%", "data.delay<=5ms"])
    assert promised == [Target("call", loss=0.01), Target("data", delay_s=0.005)]
    kept = service_levels.watch(scenario, promised)
    assert [(one.intervals, one.compliance.mean, one.missed) for one in kept] == [(60, 1.0, {})] * 2
    assert all(one.is_kept(1.0) for one in kept)
    call, data = service_levels.forecast(scenario, promised, ["data"])
    # With the rate of data multiplied by f the load is 1 + 4 f Mbit/s on a link of 10 Mbit/s. The loss exceeds 1 % for
    # f > 2.275, and the queue grows for f > 2.25. The results are the next multiples of 3/64, the step of the search.
    assert call.factor == pytest.approx(1 + 28 * 3 / 64)
    assert data.factor == pytest.approx(1 + 27 * 3 / 64)
    alone = service_levels.forecast(scenario, promised[:1], ["call"], most=1.5)
    assert alone[0].factor is None
    crowded = scenario.set({"flows[data].source.rate": "12Mbit/s"})
    (missed,) = service_levels.watch(crowded, promised[:1])
    assert (missed.compliance.mean, missed.missed, missed.is_kept(0.5)) == (0.0, {"loss": 60}, False)
    assert service_levels.forecast(crowded, promised[:1], ["data"])[0].factor == 1.0


def test_a_starved_group_misses_its_delay_target() -> None:
    # A higher class fills the link, and the buffer is unlimited: packets of the lower class wait for ever.
    scenario = tailback.Scenario.from_toml(TWO).set(
        {
            "network.classes": 2,
            "network.buffer": "unlimited",
            "flows[data].source.rate": "20Mbit/s",
            "flows[call].class": 1,
            "run.replications": 2,
        }
    )
    (found,) = service_levels.watch(scenario, [Target("call", delay_s=0.5, loss=0.01)])
    # Only packets that are sent after the warm-up count, so in the first interval of each run no packet was overdue.
    assert (found.intervals, found.missed) == (40, {"delay": 38})


@pytest.mark.parametrize(
    ("texts", "words"),
    [
        (["call.mos>=4"], "delay, loss or jitter"),
        (["call.loss>=1%"], "delay, loss or jitter"),
        (["call.loss<=nan"], "of 0 or more"),
        (["call.loss<=-1"], "of 0 or more"),
        (["call.loss<=1%", "call.loss<=2%"], "second limit"),
    ],
)
def test_targets_that_cannot_be_watched_are_refused(texts: list[str], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        service_levels.targets(texts)


def test_invalid_targets_intervals_and_growing_flows_are_refused() -> None:
    scenario = tailback.Scenario.from_toml(TWO)
    bulk = scenario.set({"flows[data].source": {"kind": "bulk"}, "flows[data].transport": {"kind": "tcp"}})
    promised = [Target("call", loss=0.01)]
    with pytest.raises(UsageError, match="no group of flows 'cal'"):
        service_levels.watch(scenario, [Target("cal", loss=0.01)])
    with pytest.raises(UsageError, match="are too long"):
        service_levels.watch(scenario, promised, "15s")
    with pytest.raises(UsageError, match="is not an interval"):
        service_levels.watch(scenario, promised, "soon")
    with pytest.raises(UsageError, match="no `rate`"):
        service_levels.forecast(bulk, promised, ["data"])
    with pytest.raises(UsageError, match="above 1"):
        service_levels.forecast(scenario, promised, ["data"], most=1.0)


def test_backoff_shares_are_fractions_of_the_senders_that_back_off_in_the_same_epoch(report: tailback.Report) -> None:
    # Both sources reduce their window at 4 s and 4.1 s, one of them again at 10 s.
    times = [0.1 * i for i in range(200)]
    windows = {"a": [10.0] * 200, "b": [10.0] * 200}
    windows["a"][40:] = [5.0] * 160
    windows["b"][41:] = [5.0] * 159
    windows["b"][100:] = [2.0] * 100
    rows = {name: {"window_segments": window} for name, window in windows.items()}
    series = {**(report.data["series"] or {}), "time_s": times, "transports": rows}
    made = tailback.Report(cast(ReportData, {**report.data, "series": series}))
    shares = synchronisation.backoff_shares(made, 0.2)
    assert shares == [1.0, 0.5]
    assert synchronisation.synchronisation_index(shares) == 0.5


def test_the_observable_of_delay_variation_refuses_a_quantile_that_reports_do_not_have() -> None:
    assert observables.pdv("call", "p99").label == "99th percentile of the delay variation"
    with pytest.raises(UsageError, match=r"write 'p99' or 'p999'"):
        observables.pdv("call", "p50")  # type: ignore[arg-type]
