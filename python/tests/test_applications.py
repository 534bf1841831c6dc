"""Applications in the document, in reports and tables, and on the command line."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import tailback

WEB = Path(__file__).resolve().parents[2] / "docs" / "examples" / "web.toml"


@pytest.fixture(scope="module")
def result() -> tailback.Result:
    return tailback.run(tailback.load(WEB).set(duration="40s", warmup="10s"), replications=2)


def test_each_application_reports_its_exchanges_times_and_slowdown(result: tailback.Result) -> None:
    for report in result.reports:
        assert set(report.data["applications"]) == {"web", "query", "files"}
        web, query, files = (report.application(name) for name in ("web", "query", "files"))
        # A page has one exchange per object.
        assert web["exchange"]["count"] > web["time"]["count"] > 20
        assert web["slowdown"] is None
        # Two users with a think time Z of 100 ms and the response time R: the throughput is X = N/(R + Z).
        mean = query["time"]["mean_s"]
        assert mean is not None
        assert query["time"]["count"] / report.measured_s == pytest.approx(2 / (mean + 0.1), rel=0.02)
        # The exchange of a request of 200 B takes at least the round-trip time of 40 ms.
        assert mean > 0.04
        assert (web["failed"], query["failed"], files["refused"]) == (0, 0, 0)
        assert files["slowdown"] is not None
        assert files["slowdown"]["mean"] > 1
        by_size = files["slowdown_by_size"]
        assert [row["up_to_bytes"] for row in by_size] == [10_000, 100_000, 1_000_000, 10_000_000, None]
        assert sum(row["complete"] for row in by_size) == files["time"]["count"]
        assert web["slowdown_by_size"] == []
        # Responses are separate flows, and each packet is counted once.
        for group in ("query", "query response"):
            (flows, [first, *_]) = (report.flows(group), report.flows(group))
            assert len(flows) == 2
            counted = (first["offered"]["packets"], first["delivered"]["packets"], first["dropped"]["packets"])
            assert counted[0] == counted[1] + counted[2] + first["in_network"]["packets"]
        with pytest.raises(KeyError, match="group 'download' has no application; groups with one: files, query, web"):
            report.application("download")


def test_the_table_and_the_summary_of_a_result_have_applications(result: tailback.Result) -> None:
    table = result.applications
    assert table["group"].to_list() == ["files", "query", "web"] * 2
    assert table.filter(table["group"] == "files")["slowdown_mean"].null_count() == 0
    assert table.filter(table["group"] == "web")["slowdown_mean"].null_count() == 2
    shown = {str(estimate.measure) for estimate in result.estimates()}
    assert {"response[web]", "response_p99[query]", "slowdown[files]"} <= shown


def test_requests_over_datagrams_need_a_timeout_and_fail_if_a_packet_is_lost(tmp_path: Path) -> None:
    document = """
        tailback = 1
        run = { duration = "60s", replications = 1 }
        hosts = { a = {}, b = {} }
        switches = { s = {} }
        [[links]]
        between = ["a", "s"]
        rate = "10Mbit/s"
        [[links]]
        between = ["s", "b"]
        rate = "10Mbit/s"
        loss = 0.2
        [[flows]]
        name = "ask"
        from = "a"
        to = "b"
        [flows.application]
        kind = "request-response"
        request = { kind = "fixed", size = "100B" }
        response = { kind = "fixed", size = "100B" }
        think = { kind = "exponential", mean = "20ms" }
        TIMEOUT
    """
    with pytest.raises(tailback.ScenarioError, match="would wait for ever") as refused:
        tailback.Scenario.from_toml(document.replace("TIMEOUT", ""))
    assert refused.value.path == "flows[0].application"
    file = tmp_path / "ask.toml"
    file.write_text(document.replace("TIMEOUT", 'timeout = "50ms"'))
    command = [sys.executable, "-m", "tailback", "run", str(file), "--json"]
    ran = subprocess.run(command, capture_output=True, text=True, check=True)
    assert json.loads(ran.stdout)
    report = tailback.run(file).reports[0]
    ask = report.application("ask")
    assert ask["failed"] / ask["begun"] == pytest.approx(1 - 0.8**2, abs=0.05)
    assert ask["begun"] - ask["failed"] - ask["exchange"]["count"] in (0, 1)
