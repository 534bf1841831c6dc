"""Effects of SONiC's CONFIG_DB on flows: results by hand calculation, and required remarks.

Rates are those of layer 3 (`overhead="none"`); ports are slow, so that few packets have to be simulated.
"""

import json

import pytest

import tailback
from tailback.router.policy import import_configuration
from tailback.router.verdict import judge

SAME = {str(number): str(number) for number in range(8)}
CODES = {"0": "0", "8": "1", "16": "2", "46": "5"}


def config(queues, schedulers, *, speed=10, port=None, maps=None, buffer="short", **tables):
    """Return a configuration of one port of `speed` Mbit/s with the given rows of QUEUE and SCHEDULER.

    `port` has further fields of PORT_QOS_MAP, `maps` the DSCP map, `buffer` the profile of all queues, and `tables`
    further tables.
    """
    bound = {"dscp_to_tc_map": "AZURE", "tc_to_queue_map": "AZURE", **(port or {})}
    made = {
        "PORT": {"Ethernet0": {"speed": str(speed)}},
        "DSCP_TO_TC_MAP": {"AZURE": maps or CODES},
        "TC_TO_QUEUE_MAP": {"AZURE": SAME},
        "SCHEDULER": schedulers,
        "PORT_QOS_MAP": {"Ethernet0": bound},
        "QUEUE": {f"Ethernet0|{queue}": row for queue, row in queues.items()},
        # Queue limits: 10 kB, which are 8 ms at 10 Mbit/s, and 125 kB, which are 100 ms.
        "BUFFER_POOL": {"egress_pool": {"type": "egress", "mode": "static", "size": "1000000"}},
        "BUFFER_PROFILE": {
            "short": {"pool": "egress_pool", "size": "2000", "static_th": "8000"},
            "long": {"pool": "egress_pool", "size": "25000", "static_th": "100000"},
        },
        "BUFFER_QUEUE": {"Ethernet0|0-7": {"profile": buffer}},
    }
    return json.dumps(made | tables, indent=2)


def dwrr(*weights):
    """Return DWRR schedulers s0, s1, … with the given weights."""
    return {f"s{index}": {"type": "DWRR", "weight": str(weight)} for index, weight in enumerate(weights)}


def read(text, traffic, **options):
    """Import a text with a traffic table; rates count layer 3."""
    return import_configuration("sonic", text, traffic=traffic, overhead="none", **options)


def simulated(text, traffic, *, duration="20s", **options):
    """Import a text, run one replication, and return its report."""
    found = read(text, traffic, duration=duration, **options)
    return tailback.run(found.check(), replications=1, threads=1).reports[0]


def rows(*flows, packet=1000):
    """Return a traffic table from a name, a code point and a rate in Mbit/s for each flow."""
    lines = [f"{name},{code},{rate}Mbit/s,{packet}" for name, code, rate in flows]
    return "name,dscp,rate,packet\n" + "\n".join(lines) + "\n"


THREE = rows(("a", 0, 10), ("b", 8, 10), ("c", 16, 10))


def test_weights_of_dwrr_are_shares_of_a_saturated_port():
    # As in the test plan of sonic-mgmt, weights of 5, 15 and 20 are 12.5 %, 37.5 % and 50 %.
    report = simulated(config({q: {"scheduler": f"s{q}"} for q in range(3)}, dwrr(5, 15, 20)), THREE)
    for name, share in (("a", 0.125), ("b", 0.375), ("c", 0.5)):
        assert report.throughput_bps(name) == pytest.approx(share * 10e6, rel=0.01)


def test_weights_of_14_and_15_are_not_the_same():
    # SONiC's template has both weights: 14/29 and 15/29 of 10 Mbit/s.
    text = config({0: {"scheduler": "s0"}, 1: {"scheduler": "[SCHEDULER|s1]"}}, dwrr(14, 15), maps={"8": "1"})
    report = simulated(text, rows(("a", 0, 10), ("b", 8, 10)))
    assert report.throughput_bps("a") == pytest.approx(10e6 * 14 / 29, rel=0.005)
    assert report.throughput_bps("b") == pytest.approx(10e6 * 15 / 29, rel=0.005)


@pytest.mark.parametrize(("kind", "shares"), [("WRR", (0.25, 0.75)), ("DWRR", (0.5, 0.5))])
def test_wrr_shares_by_packets_and_dwrr_by_bytes(kind, shares):
    # Packets of 500 B and 1500 B in queues of equal weight.
    text = config({"0-1": {"scheduler": "s"}}, {"s": {"type": kind, "weight": "2"}})
    traffic = "name,dscp,rate,packet\nshort,0,10Mbit/s,500\nlong,8,10Mbit/s,1500\n"
    report = simulated(text, traffic)
    assert report.throughput_bps("short") == pytest.approx(shares[0] * 10e6, rel=0.01)
    assert report.throughput_bps("long") == pytest.approx(shares[1] * 10e6, rel=0.01)


def test_a_strict_queue_is_served_first_and_the_others_share_the_rest():
    schedulers = dwrr(1, 3) | {"strict": {"type": "STRICT"}}
    text = config({0: {"scheduler": "s0"}, 1: {"scheduler": "s1"}, 5: {"scheduler": "strict"}}, schedulers)
    report = simulated(text, rows(("voice", "ef", 4), ("a", 0, 10), ("b", 8, 10)))
    assert report.loss("voice") == 0
    assert report.throughput_bps("a") == pytest.approx(6e6 / 4, rel=0.02)
    assert report.throughput_bps("b") == pytest.approx(6e6 * 3 / 4, rel=0.02)
    # Of two strict queues that with the higher number is served first: nothing is left for the other.
    text = config({"0-7": {"scheduler": "strict"}}, schedulers)
    report = simulated(text, rows(("low", 16, 8), ("high", "ef", 12)))
    assert report.throughput_bps("high") == pytest.approx(10e6, rel=0.01)
    assert report.throughput_bps("low") == pytest.approx(0, abs=0.05e6)


def test_a_peak_rate_is_in_bytes_per_second_and_limits_a_queue_or_the_port():
    # 125000 B/s limit the strict queue to 1 Mbit/s; 625000 B/s limit the port to 5 Mbit/s.
    schedulers = dwrr(1) | {
        "slow": {"type": "STRICT", "pir": "125000", "pbs": "8192"},
        "port": {"meter_type": "bytes", "pir": "625000", "pbs": "8192"},
    }
    queues = {0: {"scheduler": "s0"}, 5: {"scheduler": "slow"}}
    traffic = rows(("voice", "ef", 3), ("a", 0, 12))
    report = simulated(config(queues, schedulers), traffic)
    assert report.throughput_bps("voice") == pytest.approx(1e6, rel=0.01)
    assert report.throughput_bps("a") == pytest.approx(9e6, rel=0.01)
    report = simulated(config(queues, schedulers, port={"scheduler": "port"}), traffic)
    assert report.throughput_bps("voice") == pytest.approx(1e6, rel=0.01)
    assert report.throughput_bps("a") == pytest.approx(4e6, rel=0.01)


def wred(**fields):
    """Return a WRED profile with a ramp from 0 at 20 kB to 10 % at 60 kB, and changed fields."""
    profile = {"wred_green_enable": "true", "ecn": "ecn_none", "green_min_threshold": "20000"}
    profile |= {"green_max_threshold": "60000", "green_drop_probability": "10"} | fields
    return {"WRED_PROFILE": {"w": profile}}


def test_the_queue_settles_where_the_ramp_of_wred_drops_the_excess():
    # 10.5 Mbit/s into 10: 4.76 % must be dropped. The ramp from 0 at 20 kB to 10 % at 60 kB reaches that at
    # 20 + 40·0.476 = 39 kB, which take 31.2 ms; with its own 0.8 ms the delay of a packet is 32 ms.
    text = config({"0-7": {"scheduler": "s0", "wred_profile": "w"}}, dwrr(1), buffer="long", **wred())
    report = simulated(text, rows(("a", 0, 10.5)), duration="30s")
    assert report.loss("a") == pytest.approx(1 - 10 / 10.5, rel=0.05)
    assert report.mean_delay_s("a") == pytest.approx(0.032, rel=0.05)


def test_disabled_wred_fills_the_queue_and_equal_thresholds_limit_it():
    # If WRED is not enabled, the queue fills to its limit of 125 kB, 100 ms. With both thresholds at 40 kB the queue
    # stays at 40 kB, 32 ms.
    off = config(
        {"0-7": {"scheduler": "s0", "wred_profile": "w"}}, dwrr(1), buffer="long", **wred(wred_green_enable="false")
    )
    assert simulated(off, rows(("a", 0, 12))).mean_delay_s("a") == pytest.approx(0.1, rel=0.03)
    same = wred(green_min_threshold="40000", green_max_threshold="40000")
    text = config({"0-7": {"scheduler": "s0", "wred_profile": "w"}}, dwrr(1), buffer="long", **same)
    report = simulated(text, rows(("a", 0, 12)))
    assert report.mean_delay_s("a") == pytest.approx(0.032, rel=0.05)
    assert report.loss("a") == pytest.approx(1 - 10 / 12, rel=0.02)


def test_with_ecn_the_scenario_marks_ecn_capable_packets_and_reports_that_the_table_has_none():
    text = config({"0-7": {"scheduler": "s0", "wred_profile": "w"}}, dwrr(1), buffer="long", **wred(ecn="ecn_all"))
    traffic = "name,dscp,rate,packet,count,model,rtt\nbulk,0,,1000,4,tcp,20ms\n"
    found = read(text, traffic, duration="10s")
    assert [notice.text for notice in found.assumptions if "ECN" in notice.message] == ['"ecn": "ecn_all",']
    document = found.check().document
    document["flows"][0]["transport"]["ecn"] = "classic"
    report = tailback.run(tailback.Scenario.from_document(document), replications=1, threads=1).reports[0]
    assert report.loss("bulk") == 0
    # Without drops, marks keep the queue far below its limit of 100 ms.
    assert report.mean_delay_s("bulk") < 0.06


def test_the_queue_limit_is_the_reserve_plus_the_static_threshold():
    text = config({"0-7": {"scheduler": "s0"}}, dwrr(1), buffer="long")
    assert simulated(text, rows(("a", 0, 12))).mean_delay_s("a") == pytest.approx(0.1, rel=0.03)


def test_an_unmapped_code_point_has_traffic_class_0_and_each_input_port_has_its_own_map():
    text = config({"0-7": {"scheduler": "s0"}}, dwrr(1))
    assert read(text, rows(("a", 34, 1), ("b", 46, 1))).classes == {"queue-0": ["a"], "queue-5": ["b"]}
    tables = json.loads(text)
    tables["PORT"]["Ethernet4"] = {"speed": "10"}
    tables["DSCP_TO_TC_MAP"]["OTHER"] = {"46": "2"}
    tables["PORT_QOS_MAP"]["Ethernet4"] = {"dscp_to_tc_map": "OTHER"}
    traffic = "name,dscp,rate,packet,input\na,46,1Mbit/s,500,Ethernet0\nb,46,1Mbit/s,500,Ethernet4\n"
    assert read(json.dumps(tables), traffic).classes == {"queue-5": ["a"], "queue-2": ["b"]}


def test_vlan_priorities_choose_the_queue_if_the_port_trusts_them():
    tables = json.loads(config({"0-7": {"scheduler": "s0"}}, dwrr(1)))
    tables["DOT1P_TO_TC_MAP"] = {"STORAGE": {"0": "1", "1": "0", "5": "5"}}
    tables["PORT_QOS_MAP"]["Ethernet0"] = {"dot1p_to_tc_map": "STORAGE", "tc_to_queue_map": "AZURE"}
    traffic = "name,dscp,rate,packet,cos\na,46,1Mbit/s,500,5\nb,46,1Mbit/s,500,0\nc,46,1Mbit/s,500,1\n"
    found = read(json.dumps(tables), traffic)
    assert found.classes == {"queue-5": ["a"], "queue-1": ["b"], "queue-0": ["c"]}


VOICE = "name,dscp,rate,packet,count\nvoice,ef,80kbit/s,200,4\nbulk,0,12Mbit/s,1000,1\n"
STRICT = dwrr(1) | {"strict": {"type": "STRICT"}}
QUEUES = {0: {"scheduler": "s0"}, 5: {"scheduler": "strict"}}


def test_voice_in_a_strict_queue_survives():
    made = judge(read(config(QUEUES, STRICT), VOICE), duration="4s", replications=2)
    assert made.survives


@pytest.mark.parametrize(
    ("change", "line"),
    [
        (lambda t: t["PORT_QOS_MAP"]["Ethernet0"].update(pfc_enable="3,4"), '"pfc_enable": "3,4"'),
        (lambda t: t["SCHEDULER"]["s0"].update(cir="1000"), '"cir": "1000"'),
        (lambda t: t["SCHEDULER"]["s0"].update(pir="1000", meter_type="packets"), '"pir": "1000",'),
        (
            lambda t: (
                t["SCHEDULER"]["s0"].update(type="WRR")
                or t["QUEUE"].update({"Ethernet0|1": {"scheduler": "d"}})
                or t["SCHEDULER"].update(d={"type": "DWRR"})
            ),
            '"Ethernet0": {',
        ),
        (
            lambda t: t["BUFFER_PROFILE"].update(short={"pool": "egress_pool", "size": "0", "dynamic_th": "3"}),
            '"dynamic_th": "3"',
        ),
        (lambda t: t.update(BUFFER_PG={"Ethernet0|0": {"profile": "short"}}), '"BUFFER_PG": {'),
        (lambda t: t.update(NEW_TABLE={}), '"NEW_TABLE": {}'),
        (lambda t: t["QUEUE"]["Ethernet0|0"].update(shaper="x"), '"shaper": "x"'),
        (lambda t: t.update(ACL_RULE={"Q|R": {"SET_DSCP_ACTION": "10"}}), '"SET_DSCP_ACTION": "10"'),
    ],
)
def test_a_part_that_is_not_simulated_leaves_the_verdict_open(change, line):
    tables = json.loads(config(QUEUES, STRICT))
    change(tables)
    found = read(json.dumps(tables, indent=1), VOICE)
    assert line in [notice.text for notice in found.not_simulated]
    assert all(notice.line and notice.column for notice in found.not_simulated)
    assert judge(found, duration="4s", replications=1).outcome == "as-far-as-understood"


def test_a_part_of_another_port_that_is_not_simulated_has_no_effect():
    tables = json.loads(config(QUEUES, STRICT))
    tables["PORT"]["Ethernet4"] = {"speed": "10"}
    tables["SCHEDULER"]["other"] = {"type": "DWRR", "cir": "1000"}
    tables["PORT_QOS_MAP"]["Ethernet4"] = tables["PORT_QOS_MAP"]["Ethernet0"]
    tables["QUEUE"]["Ethernet4|0"] = {"scheduler": "other"}
    text = json.dumps(tables, indent=1)
    assert not read(text, VOICE, interface="Ethernet0").not_simulated
    assert read(text, VOICE, interface="Ethernet4").not_simulated
    # Both ports have queues, so that the option `interface` is required.
    assert "several interfaces" in read(text, VOICE).errors[0].message


@pytest.mark.parametrize(
    ("text", "line", "part"),
    [
        ('{"QUEUE": {', 1, "the text ends"),
        ('{\n"QUEUE": {},\n"QUEUE": {}\n}', 3, "line 2"),
        ('{\n"QUEUE": {"Ethernet0|0": {"scheduler": "no"}}\n}', 2, "there is no `no` in SCHEDULER"),
        ('{\n"SCHEDULER": {"s": {"type": "SP"}}\n}', 2, "type `SP`"),
        ("[" * 2000, 1, "nested deeper"),
    ],
)
def test_errors_name_their_line_and_prevent_a_scenario(text, line, part):
    found = read(text, VOICE)
    assert any(notice.line == line and part in notice.message for notice in found.errors)
    assert found.scenario is None


def test_without_a_speed_the_rate_is_requested_and_ipv6_has_the_same_queues():
    tables = json.loads(config(QUEUES, STRICT))
    del tables["PORT"]
    text = json.dumps(tables)
    assert "rate of `Ethernet0` is not known" in read(text, VOICE).errors[0].message
    traffic = "name,dscp,rate,packet,source\nvoice,ef,80kbit/s,200,2001:db8::1\n"
    found = read(text, traffic, rate="10Mbit/s")
    assert found.classes == {"queue-5": ["voice"]}
    assert not found.not_simulated
