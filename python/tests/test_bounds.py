"""Worst-case delays by network calculus, and the largest number of flows."""

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
    text = LLQ.format(kilobits=kilobits)
    return import_configuration("mqc", text, traffic=TRAFFIC.format(calls=calls), overhead="0", **options)


def test_the_bound_of_a_priority_class_is_its_burst_and_one_packet_of_the_others_at_the_rate_of_the_line():
    bound = worst_case(imported().check(), "ce", "sink")["calls"]
    # Four packets of 200 B may come together, behind one of 1500 B that is under way: 2300 B at 256 kB/s. Before that,
    # four packets over the access line of 100 Mbit/s or more, and 1 us of cable on either side.
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
        # The links of a pattern have delays from 10 to 30 ms, so the bound has the longest; jitter in either direction.
        ({"delay": ["10ms", "30ms"], "jitter": ["0s", "5ms"]}, 35e-3),
        ({"delay": ["30ms", "10ms"], "jitter": "1ms"}, 31e-3),
    ],
)
def test_the_delay_of_a_link_is_the_longest_that_the_document_allows(link, seconds):
    assert delay_s(link) == pytest.approx(seconds, rel=1e-12)


def test_the_share_of_the_line_that_rates_count_is_that_of_the_shortest_packet_of_a_write():
    link = {"between": ["a", "b"], "rate": "10Mbit/s"}
    flow = {"name": "f", "from": "h", "to": "b", "source": {"kind": "cbr", "packet": "1600B"}}
    document = {"network": {"framing": "ethernet"}, "switches": {"a": {}}, "links": [link], "flows": [flow]}
    # 1500 B and 100 B of payload: frames of 1518 and 118 B, with 20 B of preamble and gap each.
    assert Port(document, "a", "b").part == pytest.approx(118 / 138)


def test_what_is_sent_without_a_bucket_or_beyond_its_share_has_no_bound():
    bounds = worst_case(imported().check(), "ce", "sink")
    assert bounds["files"].seconds is None
    assert "the arrivals of `files` are not bounded" in bounds["files"].reason
    # 30 calls send 2.4 Mbit/s, 2.67 at their quickest: the policer bounds them, not the sources.
    policed = worst_case(imported(400, 30).check(), "ce", "sink")["calls"]
    # Its bucket holds the bytes of 400 kbit/s in 200 ms, and one packet finds no queue.
    assert policed.seconds == pytest.approx((10_000 + 200 + 1500) / 256_000, abs=0.001)
    # Without a policer nothing holds them back.
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
def test_a_shaper_that_counts_other_bytes_than_buffers_gives_no_bound(counted, within):
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
    # The same with the bytes that buffers count has one.
    plain = import_configuration("tc", script.replace(f" {counted}", ""), traffic=table, rate="10Mbit/s")
    assert worst_case(plain.check(), "ce", "sink")["calls"].seconds is not None


def test_a_class_with_a_share_is_bounded_by_its_share():
    # Two classes of 1 Mbit/s each, both of sources with a constant rate, behind a FIFO each.
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
    # Ten packets of 500 B at 125 kB/s; start-time fair queueing may be late by one packet of the class at its rate and
    # one of each class at the rate of the line.
    seconds = bounds["a"].seconds
    assert seconds == pytest.approx(5000 / 125_000 + 1500 / 125_000 + 2 * 1500 / 250_000, abs=0.001)
    for report in tailback.run(scenario.set(duration="12s"), replications=4).reports:
        assert report.max_delay_s("a") <= seconds
        assert report.max_delay_s("b") <= bounds["b"].seconds


def test_sources_that_fill_the_policers_bucket_come_within_a_third_of_the_bound():
    document = imported(400).check().document
    calls, files = document["flows"]
    # Every 5 s nine tenths of the bucket of 10 kB at once, on top of nine tenths of its rate: the bucket fills up in
    # between.
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
    # The burst alone takes 9 kB / 256 kB/s.
    assert longest > 9000 / 256_000


def test_a_verdict_carries_the_bound_and_the_longest_delay():
    made = judge(imported(), duration="8s", replications=3, network_delay="30ms")
    calls = next(row for row in made.rows if row.group == "calls")
    assert calls.longest_s <= calls.bound.seconds
    assert calls.bound.seconds == pytest.approx(0.03 + (4 * 200 + 1500) / 256_000, abs=70e-6)
    written = {row["group"]: row for row in made.as_json()["rows"]}
    assert written["calls"]["bound_s"] == calls.bound.seconds
    assert written["files"]["bound_s"] is None
    assert any(sentence.startswith("Worst case by network calculus: calls") for sentence in made.sentences())


# --- Largest number of flows ---


def test_as_many_calls_fit_as_the_priority_has_room_for():
    # 500 kbit/s of priority have room for six calls of 80 kbit/s; a seventh loses 1 - 500/560 = 11 % in the long run.
    judged = partial(judge, duration="22s", replications=3)
    found = most_flows(imported(500, 1), "calls", judged)
    assert (found.fits, found.breaks_at) == (6, 7)
    assert set(found.because) == {"loss", "MOS"}
    assert found.sentence() == f"calls: 6 flows fit; 7 do not ({', '.join(found.because)})."
    counts = [count for count, _ in found.tried]
    assert counts == sorted(counts)
    # From above the same.
    assert most_flows(imported(500, 20), "calls", judged).fits == 6


def test_none_fits_where_one_breaks_the_target_and_only_a_target_can_break():
    judged = partial(judge, duration="8s", replications=3)
    found = most_flows(imported(40, 3), "calls", judged)
    assert (found.fits, found.breaks_at) == (0, 1)
    with pytest.raises(UsageError, match="`files` has no target"):
        most_flows(imported(), "files", judged)
    with pytest.raises(UsageError, match="there is no group `voice`"):
        most_flows(imported(), "voice", judged)


def test_the_command_tells_how_many_fit(tmp_path):
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
