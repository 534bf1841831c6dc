"""Worst-case delays by network calculus, and the largest number of flows that meets the targets."""

import json
import math
from functools import partial
from pathlib import Path

import pytest
from click.testing import CliRunner

import tailback
from tailback.bounds.port import Port, delay_s
from tailback.bounds.worst_case import worst_case
from tailback.cli import cli
from tailback.errors import UsageError
from tailback.router.capacity import most_flows
from tailback.router.policy import import_configuration
from tailback.router.verdict import judge
from tailback.scenario import Scenario

CASES = Path(__file__).parent / "router"
LLQ = """
class-map VOICE
 match dscp ef
policy-map WAN
 class VOICE
  priority {kilobits}
 class class-default
  fair-queue
interface Serial0/0
 bandwidth 2048
 service-policy output WAN
"""
TRAFFIC = "name,dscp,rate,packet,count,model\ncalls,ef,80kbit/s,200,{calls},cbr\nfiles,0,4Mbit/s,1500,1,poisson\n"


def imported(kilobits: int = 400, calls: int = 4, **options):
    """Import the policy `LLQ` with a priority rate in kbit/s and a number of calls."""
    text = LLQ.format(kilobits=kilobits)
    return import_configuration("mqc", text, traffic=TRAFFIC.format(calls=calls), overhead="0", **options)


def test_the_bound_of_a_priority_class_is_its_burst_and_one_packet_of_the_others_at_the_link_rate():
    bound = worst_case(imported().check(), "ce", "sink")["calls"]
    # Four packets of 200 B may arrive together behind one of 1500 B in transmission: 2300 B at 256 kB/s. In addition,
    # four packets cross the access link, at 100 Mbit/s or more in at most 64 us, and each of the two cables takes 1 us.
    expected = (4 * 200 + 1500) / 256_000
    assert bound.seconds == pytest.approx(expected, abs=70e-6)
    assert bound.seconds > expected


@pytest.mark.parametrize(
    ("link", "seconds"),
    [
        ({}, 1e-6),
        ({"delay": "3ms"}, 3e-3),
        # 5 ns per metre.
        ({"length": "1000m"}, 5e-6),
        ({"length": "2km"}, 1e-5),
        ({"length": "500mm"}, 2.5e-9),
        # Links of a pattern have delays from 10 to 30 ms, so the bound takes the largest; jitter is added.
        ({"delay": ["10ms", "30ms"], "jitter": ["0s", "5ms"]}, 35e-3),
        ({"delay": ["30ms", "10ms"], "jitter": "1ms"}, 31e-3),
    ],
)
def test_the_delay_of_a_link_is_the_longest_that_the_document_allows(link, seconds):
    assert delay_s(link) == pytest.approx(seconds, rel=1e-12)


def test_framing_overhead_is_that_of_the_shortest_frame_of_a_divided_packet():
    link = {"between": ["a", "b"], "rate": "10Mbit/s"}
    flow = {"name": "f", "from": "h", "to": "b", "source": {"kind": "cbr", "packet": "1600B"}}
    document = {"network": {"framing": "ethernet"}, "switches": {"a": {}}, "links": [link], "flows": [flow]}
    # A packet of 1600 B is sent as 1500 B and 100 B of payload: frames of 1518 and 118 B, each with 20 B of preamble
    # and gap. `part` is the share of the frame in the shorter one.
    assert Port(document, "a", "b").part == pytest.approx(118 / 138)


def test_poisson_traffic_has_no_bound_and_overload_has_one_only_with_a_policer():
    bounds = worst_case(imported().check(), "ce", "sink")
    assert bounds["files"].seconds is None
    assert "the arrivals of `files` are not bounded" in bounds["files"].reason
    # 30 calls send 2.4 Mbit/s, or 2.67 Mbit/s with the shortest gaps: the policer bounds them, not the sources.
    policed = worst_case(imported(400, 30).check(), "ce", "sink")["calls"]
    # The policer's bucket holds 200 ms at 400 kbit/s, 10,000 B; one more packet of 200 B passes if the link is idle.
    assert policed.seconds == pytest.approx((10_000 + 200 + 1500) / 256_000, abs=0.001)
    # Without a policer nothing limits the calls.
    text = LLQ.format(kilobits=400).replace("priority 400", "priority")
    found = import_configuration("mqc", text, traffic=TRAFFIC.format(calls=30), overhead="0")
    unpoliced = worst_case(found.check(), "ce", "sink")["calls"]
    assert unpoliced.seconds is None
    assert "Mbit/s exceed the guaranteed" in unpoliced.reason


@pytest.mark.parametrize(
    ("case", "table"),
    [
        ("mqc/01-hier", "traffic"),
        ("mqc/20-percent-default", "traffic"),
        ("mqc/21-hub", "t21"),
        ("mqc/23-site", "t23"),
        ("mqc/24-two-prio", "traffic"),
        ("mqc/b-300", "tb"),
        ("mqc/b-320", "tb"),
        ("mqc/b-400", "tb"),
    ],
)
def test_no_packet_of_any_replication_exceeds_its_bound(case, table):
    text, traffic = (CASES / f"{case}.txt").read_text(), (CASES / "tables" / f"{table}.csv").read_text()
    scenario = import_configuration("mqc", text, traffic=traffic).check()
    bounds = {group: bound.seconds for group, bound in worst_case(scenario, "ce", "sink").items()}
    bounded = {group: seconds for group, seconds in bounds.items() if seconds is not None}
    assert bounded
    assert len(bounded) < len(bounds)
    for report in tailback.run(scenario.set(duration="12s"), replications=4).reports:
        for group, seconds in bounded.items():
            assert sum(flow["delivered"]["packets"] for flow in report.flows(group)) > 100
            assert report.max_delay_s(group) <= seconds


@pytest.mark.parametrize("counted", ["overhead 44", "overhead 44 linklayer atm", "mpu 64"])
@pytest.mark.parametrize("within", [False, True])
def test_a_shaper_that_counts_other_bytes_than_the_buffers_count_has_no_bound(counted, within):
    shaper = f"tbf rate 2mbit burst 10kb latency 50ms {counted}"
    if within:
        script = f"tc qdisc add dev eth0 root handle 1: prio\ntc qdisc add dev eth0 parent 1:1 handle 10: {shaper}\n"
        script += "tc filter add dev eth0 parent 1: protocol ip matchall flowid 1:1\n"
    else:
        script = f"tc qdisc add dev eth0 root handle 1: {shaper}\n"
    table = "name,dscp,rate,packet,count,model\ncalls,ef,80kbit/s,200,4,cbr\n"
    found = import_configuration("tc", script, traffic=table, rate="10Mbit/s")
    bound = worst_case(found.check(), "ce", "sink")["calls"]
    assert bound.seconds is None
    assert "accounting" in bound.reason
    # Without these options the shaper counts the bytes that buffers count, and there is a bound.
    plain = import_configuration("tc", script.replace(f" {counted}", ""), traffic=table, rate="10Mbit/s")
    assert worst_case(plain.check(), "ce", "sink")["calls"].seconds is not None


def test_a_class_with_a_share_is_bounded_by_its_share():
    # Two classes of 1 Mbit/s each, with a FIFO each, and sources of constant rate in both.
    text = """
class-map A
 match dscp af11
class-map B
 match dscp af21
policy-map P
 class A
  bandwidth 1000
 class B
  bandwidth 1000
interface Serial0/0
 bandwidth 2000
 service-policy output P
"""
    table = "name,dscp,rate,packet,count,model\na,af11,80kbit/s,500,10,cbr\nb,af21,880kbit/s,1500,1,cbr\n"
    scenario = import_configuration("mqc", text, traffic=table, overhead="0").check()
    bounds = worst_case(scenario, "ce", "sink")
    # Ten packets of 500 B at 125 kB/s. Start-time fair queueing may add one packet of the class at the rate of the
    # class and one packet of each class at the rate of the link.
    seconds = bounds["a"].seconds
    assert seconds == pytest.approx(5000 / 125_000 + 1500 / 125_000 + 2 * 1500 / 250_000, abs=0.001)
    for report in tailback.run(scenario.set(duration="12s"), replications=4).reports:
        assert report.max_delay_s("a") <= seconds
        assert report.max_delay_s("b") <= bounds["b"].seconds


def test_the_longest_delay_of_bursts_that_fill_the_policers_bucket_is_at_least_a_third_of_the_bound():
    document = imported(400).check().document
    calls, files = document["flows"]
    # Steady traffic has nine tenths of the bucket's rate. In addition, a burst of nine tenths of the bucket's 10 kB
    # arrives at once every 5 s; the bucket fills up between bursts.
    steady = {"kind": "cbr", "packet": "200B", "rate": "360kbit/s"}
    burst = {"kind": "cbr", "packet": "9kB", "interval": "5s", "phase": "zero"}
    flows = [
        {**calls, "count": 1, "source": steady},
        {**calls, "name": "burst", "count": 1, "from": "from-burst", "source": burst},
        files,
    ]
    hosts = {**document["hosts"], "from-burst": {}}
    access = {"between": ["from-burst", "ce"], "rate": "100Mbit/s"}
    framing = {"mtu": "1500B", "header": "0B", "min-frame": "0B", "overhead": "0B"}
    scenario = Scenario.from_document(
        {
            **document,
            "flows": flows,
            "hosts": hosts,
            "links": [access, *document["links"]],
            "network": {**document["network"], "framing": framing},
        }
    ).check()
    bound = worst_case(scenario, "ce", "sink")["burst"].seconds
    assert bound is not None
    reports = tailback.run(scenario.set(duration="32s"), replications=3).reports
    longest = max(report.max_delay_s("burst") for report in reports)
    assert longest <= bound <= 3 * longest
    # The transmission of the burst alone takes 9 kB / 256 kB/s.
    assert longest > 9000 / 256_000


def test_a_verdict_has_the_bound_and_the_longest_delay_and_the_json_has_the_bound():
    made = judge(imported(), duration="8s", replications=3, network_delay="30ms")
    calls = next(row for row in made.rows if row.group == "calls")
    assert calls.longest_s <= calls.bound.seconds
    assert calls.bound.seconds == pytest.approx(0.03 + (4 * 200 + 1500) / 256_000, abs=70e-6)
    written = {row["group"]: row for row in made.as_json()["rows"]}
    assert written["calls"]["bound_s"] == calls.bound.seconds
    assert written["files"]["bound_s"] is None
    assert any(sentence.startswith("Worst case by network calculus: calls") for sentence in made.sentences())


# --- Largest number of flows ---


def test_the_number_of_calls_that_fit_is_that_which_the_priority_rate_carries():
    # Six calls of 80 kbit/s fit into 500 kbit/s of priority; with a seventh the long-run loss is 1 - 500/560 = 11 %.
    judged = partial(judge, duration="22s", replications=3)
    found = most_flows(imported(500, 1), "calls", judged)
    assert (found.fits, found.breaks_at) == (6, 7)
    assert set(found.because) == {"loss", "MOS"}
    assert found.sentence() == f"calls: 6 flows fit; 7 do not ({', '.join(found.because)})."
    counts = [count for count, _ in found.tried]
    assert counts == sorted(counts)
    # A search that starts above the limit has the same result.
    assert most_flows(imported(500, 20), "calls", judged).fits == 6


def test_no_flow_fits_if_one_misses_the_target_and_a_group_without_targets_is_refused():
    judged = partial(judge, duration="8s", replications=3)
    found = most_flows(imported(40, 3), "calls", judged)
    assert (found.fits, found.breaks_at) == (0, 1)
    with pytest.raises(UsageError, match="`files` has no target"):
        most_flows(imported(), "files", judged)
    with pytest.raises(UsageError, match="there is no group `voice`"):
        most_flows(imported(), "voice", judged)


def test_the_command_reports_how_many_flows_fit(tmp_path):
    policy, table = tmp_path / "p.txt", tmp_path / "t.csv"
    policy.write_text(LLQ.format(kilobits=500))
    table.write_text(TRAFFIC.format(calls=5))
    options = ["--traffic", str(table), "--overhead", "0", "--duration", "22s", "--reps", "3"]
    options += ["--plot", str(tmp_path / "v.png"), "--until-breaks", "calls", "--json"]
    done = CliRunner().invoke(cli, ["verdict", "mqc", str(policy), *options], standalone_mode=False)
    found = json.loads(done.stdout)["until_breaks"]
    assert (found["fits"], found["breaks_at"]) == (6, 7)
    assert [row["flows"] for row in found["tried"]] == sorted(row["flows"] for row in found["tried"])
    assert not any(math.isnan(row["loss"]["mean"]) for row in found["tried"])
