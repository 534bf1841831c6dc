"""Named flows behind configurations of Cisco's dialects, compared with numbers computed by hand.

Each number is derived in the test. Packet sizes in the tables are of layer 3; on Ethernet 14 B per packet are counted
in addition.
"""

from pathlib import Path

import pytest
from click.testing import CliRunner

import tailback
from tailback.cli import cli
from tailback.router.policy import import_configuration
from tailback.router.verdict import judge

CASES = Path(__file__).parent / "router"
VOICE = "class-map match-any VOICE\n match dscp ef\n"
HEAD = "name,dscp,rate,packet,count,model\n"
FLOOD = HEAD + "voice,ef,80kbit/s,200,40,cbr\nbulk,0,300Mbit/s,1500,1,poisson\n"
ETHERNET = 14


def case(name, table=None, **options):
    """Import a file with a traffic table: CSV text, or the name of a file."""
    text = (CASES / "mqc" / name).read_text()
    if table is not None and "\n" not in table:
        table = (CASES / "tables" / table).read_text()
    return import_configuration("mqc", text, traffic=table, **options)


def read(text, table, **options):
    """Import a text with a traffic table."""
    return import_configuration("mqc", text, traffic=table, **options)


def report_of(found, duration="6s"):
    """Run one replication with a warm-up of 1 s, and return its report."""
    return tailback.run(found.check().set(duration=duration, warmup="1s"), replications=1, threads=1).reports[0]


def outcome(found, duration="4s"):
    """Return the outcome of the verdict, from two replications."""
    return judge(found, duration=duration, replications=2).outcome


def messages(found, level):
    """Return the messages of a level."""
    return [notice.message for notice in found.notices if notice.level == level]


def class_of(found, group):
    """Return the class of a group of flows."""
    return next(name for name, groups in found.classes.items() if group in groups)


def discipline(found):
    """Return the discipline of the port with the policy."""
    port = found.check().document["switches"]["ce"]["ports"]["sink"]
    return port["discipline"]


# --- Units ---


def test_a_shaper_in_mbps_passes_its_rate():
    found = case("05c-xr-shape.txt", HEAD + "calls,ef,80kbit/s,200,10,cbr\nbulk,0,40Mbit/s,1486,1,poisson\n")
    assert found.check().document["switches"]["ce"]["ports"]["sink"]["shaper"]["rate"] == "20000000bit/s"
    report = report_of(found)
    # Calls take 0.8 · 214/200 = 0.856 of 20 Mbit/s; of the 40 Mbit/s of bulk 19.144 · 1486/1500 = 18.97 pass.
    assert report.loss("calls") == 0
    assert report.loss("bulk") == pytest.approx(1 - 18.97 / 40, abs=0.02)


def test_a_policer_in_mbps_drops_the_excess():
    found = case("05b-iosxr-bw.txt", HEAD + "calls,ef,100kbit/s,186,100,cbr\n")
    # 10 Mbit/s at layer 3 are 10 · 200/186 = 10.75 Mbit/s with Ethernet's 14 B; 5 of them conform.
    assert report_of(found).loss("calls") == pytest.approx(1 - 5 / (10 * 200 / 186), abs=0.02)
    # IOS XR shares the rate that `bandwidth` leaves equally; this is the only part that is not simulated.
    assert ["equally" in notice.message for notice in found.not_simulated] == [True]


@pytest.mark.parametrize(
    ("line", "key", "value"),
    [
        ("bandwidth 10 mbps", "bandwidth", "10000000bit/s"),
        ("bandwidth 300 kbps", "bandwidth", "300000bit/s"),
        ("bandwidth 300", "bandwidth", "300000bit/s"),
        ("bandwidth 0.5 gbps", "bandwidth", "500000000bit/s"),
        ("bandwidth 10\n  queue-limit 200 kbytes", "limit", "200000B"),
        ("bandwidth 10\n  queue-limit 2 mbytes", "limit", "2000000B"),
        ("bandwidth 10\n  queue-limit 3000 bytes", "limit", "3000B"),
        # 100 ms at 400 kbit/s are 5000 B.
        ("bandwidth 400\n  queue-limit 100 ms", "limit", "5000B"),
        ("bandwidth 400\n  queue-limit 100000 us", "limit", "5000B"),
        ("bandwidth 10\n  queue-limit 99 packets", "limit", "99packets"),
    ],
)
def test_each_unit_of_a_class_is_honoured(line, key, value):
    text = f"class-map D\n match dscp af31\npolicy-map P\n class D\n  {line}\ninterface Gi0/0\n"
    text += " service-policy output P\n"
    found = read(text, HEAD + "data,af31,1Mbit/s,1000,1,poisson\n")
    assert discipline(found)["classes"][0][key] == value


def test_a_line_with_a_part_that_is_not_understood_has_no_effect():
    text = VOICE + "policy-map P\n class VOICE\n  bandwidth 400 furlongs\ninterface Serial0/0\n bandwidth 2000\n"
    text += " service-policy output P\n"
    found = read(text, HEAD + "calls,ef,80kbit/s,200,2,cbr\n")
    assert [notice.line for notice in found.not_simulated] == [5]
    assert "discipline" not in found.check().document["switches"]["ce"]["ports"]["sink"]
    assert outcome(found) == "as-far-as-understood"


def test_thresholds_in_time_are_converted_to_packets_at_the_rate_of_the_class():
    text = (
        "class-map V\n match dscp af41\npolicy-map P\n class V\n  bandwidth 8 mbps\n"
        "  random-detect dscp af41 20 ms 40 ms\n"
        "  queue-limit 50 ms\n end-policy-map\ninterface GigabitEthernet0/0/0/1\n service-policy output P\n"
    )
    found = read(text, HEAD + "video,af41,4Mbit/s,1000,1,poisson\n")
    # 20 ms at 8 Mbit/s are 20 kB, which are 20 packets of 1000 B.
    assert discipline(found)["classes"][0]["discipline"]["profiles"]["af41"] == {"min": 20, "max": 40}
    assert any("packets of 1000 B" in message for message in messages(found, "assumed"))


def test_the_inner_vlan_tag_is_not_confused_with_the_outer_one():
    # `match vlan inner 100` (IOS XE, IOS XR) tests the second tag; the column `vlan` of the table is the first.
    text = "class-map V\n match vlan inner 100\npolicy-map P\n class V\n  priority 400\ninterface Gi0/0\n"
    text += " service-policy output P\n"
    found = read(text, "name,dscp,rate,packet,vlan\ncalls,ef,80kbit/s,200,100\n")
    assert [notice.line for notice in found.not_simulated] == [2]
    assert class_of(found, "calls") != "V"


# --- Labels in the table ---


def test_flows_are_classified_by_the_label_of_the_table():
    found = case("09-mpls-exp.txt", "traffic-exp2.csv", overhead="mpls")
    assert class_of(found, "voice") == "EXP5"
    report = report_of(found, "3s")
    # Voice of 0.32 Mbit/s is within the priority of 20 % of 100 Mbit/s; bulk of 120 Mbit/s overloads the rest.
    assert report.loss("voice") == 0
    assert report.mean_delay_s("voice") < 1e-3 < report.mean_delay_s("bulk")
    assert report.loss("bulk") > 0.1


def test_without_a_label_in_the_table_the_precedence_is_assumed():
    found = case("09-mpls-exp.txt", HEAD + "voice,ef,80kbit/s,200,4,cbr\nbulk,0,120Mbit/s,1500,1,poisson\n")
    assert class_of(found, "voice") == "EXP5"
    assert report_of(found, "3s").loss("voice") == 0
    assert any("`voice`" in message and "MPLS" in message for message in messages(found, "assumed"))


# --- Input policies ---


BRANCH = """
class-map match-any RTP
 match access-group name RTP
class-map match-any VOICE
 match dscp ef
policy-map LAN
 class RTP
  set dscp ef
 class class-default
  set dscp default
policy-map WAN
 class VOICE
  priority 400
ip access-list extended RTP
 permit udp any any range 16384 32767
interface GigabitEthernet0/0
 ip address 10.1.0.1 255.255.255.0
 service-policy input LAN
interface Serial0/0
 bandwidth 1000
 service-policy output WAN
"""
BRANCH_TABLE = (
    "name,dscp,rate,packet,count,model,protocol,destination-port,source\n"
    "calls,0,80kbit/s,200,4,cbr,udp,16400,10.1.0.5\n"
    "fraud,ef,600kbit/s,1000,1,poisson,tcp,80,10.1.0.6\n"
    "bulk,0,900kbit/s,1000,1,poisson,tcp,80,10.1.0.7\n"
)


def test_marks_of_the_lan_input_policy_decide_the_class_at_the_wan():
    found = case("07-input-mark.txt", "traffic-unmarked.csv")
    assert found.interface == "GigabitEthernet0/1"
    assert class_of(found, "voice") == "VOICE"
    made = judge(found, duration="4s", replications=2)
    voice = next(row for row in made.rows if row.group == "voice")
    assert voice.code_point == 46
    assert voice.loss.mean == 0
    assert any("`voice`" in message and "GigabitEthernet0/0" in message for message in messages(found, "assumed"))


def test_an_input_policy_overwrites_the_code_point_of_the_sender():
    found = read(BRANCH, BRANCH_TABLE)
    assert (class_of(found, "calls"), class_of(found, "fraud")) == ("VOICE", "default")
    report = report_of(found)
    # Calls lose nothing and take 0.32 · 204/200 of 1 Mbit/s; the other 1.5 Mbit/s share the rest.
    assert report.loss("calls") == 0
    assert report.loss("fraud") > 0.3
    # The input interface follows from the addresses of the senders.
    assert not any("to arrive at" in message for message in messages(found, "assumed"))


def test_the_column_input_decides_which_input_policy_applies():
    text = BRANCH + "interface GigabitEthernet0/1\n ip address 10.2.0.1 255.255.255.0\n"
    rows = BRANCH_TABLE.splitlines()
    table = "\n".join([rows[0] + ",input", rows[1] + ",Gi0/1", rows[2] + ",Gi0/1", rows[3] + ",gigabitethernet 0/0"])
    found = read(text, table)
    assert (class_of(found, "calls"), class_of(found, "fraud")) == ("default", "VOICE")
    other = read(text, table.replace("Gi0/1", "Gi0/0"))
    assert (class_of(other, "calls"), class_of(other, "fraud")) == ("VOICE", "default")


def test_an_input_policer_drops_before_the_output_queue():
    text = BRANCH.replace("  set dscp default", "  police 300000 8000 conform-action transmit exceed-action drop")
    found = read(text, BRANCH_TABLE.replace("fraud,ef", "fraud,af21"))
    report = report_of(found)
    # 1.5 Mbit/s arrive; 300 kbit/s, in packets of 1004 B as counted on the WAN side, conform and fit next to the calls.
    passed = (1 - report.loss("fraud")) * 600 + (1 - report.loss("bulk")) * 900
    assert passed == pytest.approx(300 / 1.004, rel=0.05)
    assert report.loss("calls") == 0
    assert report.mean_delay_s("bulk") < 0.02


def test_a_policer_that_marks_down_moves_packets_to_another_class():
    text = BRANCH.replace(
        "  set dscp ef",
        "  police 160000 8000 conform-action set-dscp-transmit ef exceed-action set-dscp-transmit default",
    )
    report = report_of(read(text, BRANCH_TABLE))
    # Half of the 326 kbit/s of calls conform and lose nothing. The other half shares the remaining 837 kbit/s with
    # 1.5 Mbit/s, so that half of it is lost.
    assert report.loss("calls") == pytest.approx(0.5 * (1 - 837 / (163 + 1506)), abs=0.06)


def test_a_qos_group_of_the_input_policy_decides_the_class():
    text = BRANCH.replace("  set dscp ef", "  set qos-group 5").replace(" match dscp ef", " match qos-group 5")
    found = read(text, BRANCH_TABLE)
    assert class_of(found, "calls") == "VOICE"
    assert report_of(found).loss("calls") == 0


def test_a_mark_that_an_input_policer_writes_in_all_cases_decides_the_output_class():
    # Packets that conform, exceed and violate all get the same mark, and the policer drops no packet.
    marking = "  police cir 100000 conform-action set-dscp-transmit ef exceed-action set-dscp-transmit ef"
    text = BRANCH.replace("  set dscp ef", f"{marking} violate-action set-dscp-transmit ef")
    found = read(text, BRANCH_TABLE)
    assert class_of(found, "calls") == "VOICE"
    # 320 kbit/s of calls are within the 400 kbit/s of VOICE; the other 1.5 Mbit/s overload the link of 1 Mbit/s.
    assert report_of(found).loss("calls") == 0


def test_a_line_that_is_not_understood_in_the_input_policy_leaves_the_verdict_open():
    text = BRANCH.replace("  set dscp ef", "  set dscp ef\n  set colour blue")
    found = read(text, BRANCH_TABLE.replace("600kbit/s", "60kbit/s").replace("900kbit/s", "90kbit/s"))
    assert found.not_simulated
    assert outcome(found) == "as-far-as-understood"


def test_with_several_input_policies_and_no_address_the_assumption_is_reported():
    text = BRANCH + "interface GigabitEthernet0/1\n service-policy input LAN\n"
    table = "\n".join(line.rpartition(",")[0] for line in BRANCH_TABLE.splitlines())
    found = read(text, table)
    assert any("`calls`" in message and "may arrive" in message for message in messages(found, "assumed"))
    assert class_of(found, "calls") == "default"


# --- Valid configurations are not refused ---


@pytest.mark.parametrize("name", sorted(path.name for path in (CASES / "mqc").iterdir() if path.name[:2] != "17"))
def test_no_valid_configuration_is_an_error(name):
    found = case(name, "traffic4.csv", rate="10Mbit/s")
    unwanted = [
        str(notice) for notice in found.errors if "choose with --" not in notice.message + (notice.advice or "")
    ]
    assert not unwanted


REFUSED = {
    "10-pasted-noif-shape.txt": "rate",
    "12-dmvpn.txt": "",
    "04-nxos.txt": "rate",
    "04b-nxos-old.txt": "rate",
    "13-subif-legacy.txt": "rate",
    "16-arista.txt": "rate",
    "17-juniper.txt": "no interface",
    "27-nested-mixed.txt": "several interfaces",
}
"""Incomplete configurations, with text of the error."""
OPEN = {
    "03-catalyst9k.txt",
    "04-nxos.txt",
    "08-policer-only.txt",
    "12-dmvpn.txt",
    "13-subif-legacy.txt",
    "11-match-all-combo.txt",
    "14-misc.txt",
    "16-arista.txt",
    "18-inner.txt",
}
"""Configurations with a part that is not simulated, so that the verdict is never "survives"."""


@pytest.mark.parametrize("name", sorted(OPEN))
def test_a_configuration_with_a_part_that_is_not_simulated_never_has_the_verdict_survives(name):
    # With almost no traffic, only the part that is not simulated prevents the verdict.
    table = "name,dscp,rate,packet,count,vlan\nvoice,ef,8kbit/s,200,1,100\n"
    found = case(name, table, rate="100Mbit/s")
    assert found.not_simulated
    assert outcome(found) == "as-far-as-understood"


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_an_incomplete_configuration_is_refused_or_imported_with_a_reported_assumption(name):
    found = case(name, "traffic4.csv")
    if found.scenario is None:
        assert [notice for notice in found.errors if REFUSED[name] in notice.message]
    else:
        assert any("rate" in message for message in messages(found, "assumed"))


def test_each_case_is_either_simulated_completely_or_open_or_refused():
    names = {path.name for path in (CASES / "mqc").iterdir()}
    clear = {name for name in names if name not in OPEN and name not in REFUSED}
    assert OPEN | set(REFUSED) <= names
    assert clear == set(CLEAR)


CLEAR = {
    "02-asr1k-3level.txt": ("t02.csv", False),
    "01-hier.txt": ("traffic4.csv", False),
    "05-iosxr.txt": ("traffic4.csv", False),
    "05b-iosxr-bw.txt": ("t28.csv", False),
    "05c-xr-shape.txt": ("traffic4.csv", False),
    "06-gige-bandwidth-noshape.txt": ("t10.csv", False),
    "07-input-mark.txt": ("traffic-unmarked.csv", False),
    "09-mpls-exp.txt": ("traffic-exp2.csv", False),
    "15-misc.txt": ("t28.csv", False),
    "19-ratio.txt": ("t02.csv", False),
    "20-percent-default.txt": ("t02.csv", False),
    "21-hub.txt": ("t21.csv", False),
    "22-cos.txt": ("t22.csv", False),
    "23-site.txt": ("t23.csv", False),
    "23b.txt": ("t23.csv", False),
    "24-two-prio.txt": ("traffic4.csv", False),
    # There is no class for voice: it shares a FIFO of 200 Mbit/s with 300 Mbit/s of bulk.
    "25-shape-noclass.txt": (FLOOD, True),
    "26-qlimit-small.txt": ("traffic4.csv", False),
    # 24.6 Mbit/s, counted with Ethernet headers, reach a policer of 20 Mbit/s for all classes together.
    "28-pe.txt": ("t28.csv", True),
    "29-peak.txt": ("t29.csv", True),
    "30-be.txt": ("traffic4.csv", True),
    # For a while the excess over the priority rate fits into the burst; see
    # `test_traffic_above_the_priority_rate_counted_with_ppp_is_lost`.
    "b-300.txt": ("tb.csv", None),
    "b-320.txt": ("tb.csv", None),
    "b-400.txt": ("tb.csv", False),
}
"""Configurations that are simulated completely: their traffic table, and `True` if voice, or the first group if there
is no voice, loses packets; `None`: tested separately."""


@pytest.mark.parametrize("name", sorted(name for name, (_, loses) in CLEAR.items() if loses is not None))
def test_voice_loses_packets_exactly_where_expected(name):
    table, loses = CLEAR[name]
    found = case(name, table)
    report = report_of(found, "3s")
    groups = [row["group"] for row in report.flows()]
    voice = [group for group in groups if group.startswith(("voice", "calls"))] or groups[:1]
    assert (max(report.loss(group) for group in voice) > 0) == loses


@pytest.mark.parametrize(("name", "kilobits"), [("b-300.txt", 300), ("b-320.txt", 320)])
def test_traffic_above_the_priority_rate_counted_with_ppp_is_lost(name, kilobits):
    found = case(name, "tb.csv")
    # The burst of the policer, 200 ms of its rate, is used up during the warm-up.
    report = tailback.run(found.check().set(duration="40s", warmup="12s"), replications=1, threads=1).reports[0]
    assert report.loss("calls") == pytest.approx(1 - kilobits / (4 * 80 * 204 / 200), abs=0.01)
    assert (kilobits == 320) == (report.loss("calls") < 0.04)


def test_shape_peak_sends_committed_and_excess_burst():
    # 1 Mbit/s times 1 + 8000/8000 = 2 Mbit/s pass, of which 1000 of 1014 B are layer 3; 3 Mbit/s are offered.
    report = report_of(case("29-peak.txt", "t29.csv"))
    assert report.loss("data") == pytest.approx(1 - 2 / 3 / 1.014, abs=0.02)


# --- Names in the table and the configuration ---


def test_vlans_of_the_table_decide_the_class():
    table = "name,dscp,rate,packet,count,model,vlan\n"
    table += "a,ef,80kbit/s,200,4,cbr,100\nb,0,20Mbit/s,1486,1,poisson,100\nc,0,20Mbit/s,1486,1,poisson,200\n"
    found = case("02-asr1k-3level.txt", table)
    assert found.classes == {"CUST-A/VOICE": ["a"], "CUST-A/class-default": ["b"], "default": ["c"]}
    report = report_of(found)
    # VLAN 100 is shaped to 10 Mbit/s, of which calls take 0.34: 9.66 of 20 · 1500/1486 Mbit/s pass. The 20 Mbit/s of
    # VLAN 200 are within its 40 Mbit/s.
    assert report.loss("a") == 0
    assert report.loss("b") == pytest.approx(1 - 9.66 / (20 * 1500 / 1486), abs=0.02)
    assert report.loss("c") == 0


IPV6 = """
ipv6 access-list CALLS6
 sequence 10 deny udp 2001:db8:1::/64 any range 16384 32767
 permit udp 2001:db8::/32 any range 16384 32767
ip access-list extended ALL
 permit ip any any
class-map match-any V6
 match access-group name CALLS6
class-map match-any V4
 match access-group name ALL
policy-map P
 class V6
  priority 400
 class V4
  bandwidth 300
interface Serial0/0
 bandwidth 1000
 service-policy output P
"""


def test_ipv6_addresses_match_only_ipv6_lists():
    table = (
        "name,dscp,rate,packet,protocol,source,destination,destination-port\n"
        "calls,ef,80kbit/s,220,udp,2001:db8:2::1,2001:db8:9::1,16400\n"
        "denied,ef,80kbit/s,220,udp,2001:db8:1::1,2001:db8:9::1,16400\n"
        "four,ef,2Mbit/s,220,udp,10.0.0.1,10.0.0.2,16400\n"
    )
    found = read(IPV6, table)
    assert found.classes == {"V6": ["calls"], "default": ["denied"], "V4": ["four"]}
    report = report_of(found)
    assert (report.loss("calls"), report.loss("denied") < 0.01, report.loss("four") > 0.3) == (0, True, True)


def test_a_row_with_an_ipv6_and_an_ipv4_address_is_an_error():
    found = read(IPV6, "name,rate,packet,source,destination\na,1Mbit/s,99,2001:db8::1,10.0.0.1\n")
    assert [notice.source for notice in found.errors] == ["traffic"]


NBAR = """
class-map match-any GOLD
 match protocol attribute business-relevance business-relevant
class-map match-any AUDIO
 match protocol rtp audio
policy-map P
 class GOLD
  bandwidth percent 40
 class AUDIO
  priority percent 20
interface Serial0/0
 bandwidth 1000
 service-policy output P
"""


def test_nbar_protocols_are_matched_by_the_column_match():
    table = (
        "name,rate,packet,match\n"
        "erp,900kbit/s,1000,attribute business-relevance business-relevant; http\n"
        "calls,80kbit/s,200,rtp audio\nweb,900kbit/s,1000,http\n"
    )
    found = read(NBAR, table)
    assert found.classes == {"GOLD": ["erp"], "AUDIO": ["calls"], "default": ["web"]}
    assert not any("state enough" in message for message in messages(found, "assumed"))
    assert report_of(found).loss("calls") == 0


def test_rows_with_missing_values_are_named_once_per_condition():
    rows = "".join(f"r{n},80kbit/s,200\n" for n in range(20))
    found = read(NBAR, "name,rate,packet\n" + rows)
    doubts = [message for message in messages(found, "assumed") if "state enough" in message]
    assert len(doubts) == 2
    assert all("`r0`" in doubt and "`r11`" in doubt and "8 more" in doubt for doubt in doubts)


# --- NX-OS, EOS, Catalyst ---


NXOS = """
class-map type qos match-any VOICE
  match dscp 46
policy-map type qos CLASSIFY
  class VOICE
    set qos-group 7
policy-map type queuing OUT
  class type queuing c-out-8q-q7
    priority level 1
  class type queuing c-out-8q-q-default
    bandwidth remaining percent 100
interface Ethernet1/1
  bandwidth 10000
interface Ethernet1/2
  service-policy type qos input CLASSIFY
  bandwidth 10000
system qos
  service-policy type queuing output OUT
"""


def test_queues_of_system_qos_apply_to_all_interfaces_and_match_qos_groups():
    table = HEAD + "calls,ef,80kbit/s,200,10,cbr\nbulk,0,20Mbit/s,1486,1,poisson\n"
    found = read(NXOS, table, interface="Ethernet1/1")
    assert found.classes == {"c-out-8q-q7": ["calls"], "c-out-8q-q-default": ["bulk"]}
    report = report_of(found)
    assert report.loss("calls") == 0
    # Calls take 0.856 of 10 Mbit/s.
    assert report.loss("bulk") == pytest.approx(1 - 9.144 / (20 * 1500 / 1486), abs=0.02)
    assert read(NXOS, table).errors[0].advice == "choose with --interface: Ethernet1/1, Ethernet1/2"


# --- Parts without an effect on queues, and queueing parts that are not simulated ---


RUNNING = """version 15.7
hostname R1
!
aaa new-model
aaa authentication login default local
crypto isakmp policy 10
 encr aes
 group 14
banner motd ^C
policy-map IN A BANNER IS TEXT
^C
class-map match-any VOICE
 match dscp ef
policy-map P
 class VOICE
  priority 400
interface Serial0/0
 bandwidth 1000
 crypto map VPN
 service-policy output P
router bgp 65000
 neighbor 10.0.0.1 remote-as 65001
 address-family ipv4
  bandwidth is a word here
line vty 0 4
 transport input ssh
voice service voip
 sip
dial-peer voice 1 voip
 destination-pattern 1...
route-map OUT permit 10
 match ip address 1
 set local-preference 200
"""


def test_routing_telephony_and_access_have_no_effect_and_one_remark_each():
    found = read(RUNNING, HEAD + "calls,ef,80kbit/s,200,2,cbr\n")
    assert not found.not_simulated
    assert not found.errors
    ignored = [notice.line for notice in found.notices if notice.level == "ignored" and notice.line]
    # Line 19 is within the interface; the policy in the line after it is still read.
    assert ignored == [1, 2, 4, 5, 6, 9, 19, 21, 25, 27, 29, 31]
    assert outcome(found) == "survives"


@pytest.mark.parametrize(
    "line",
    [
        "interface Serial0/0\n ip rtp priority 16384 16383 50",
        "interface Serial0/0\n ppp multilink interleave",
        "interface Serial0/0\n ppp multilink fragment delay 10",
        "interface Serial0/0\n frame-relay traffic-shaping",
        "interface Serial0/0\n rate-limit output 256000 16000 24000 conform-action transmit exceed-action drop",
        "interface Serial0/0\n traffic-shape rate 256000",
        "interface Tunnel0\n ip nhrp map group G service-policy output P",
        "route-map PBR permit 10\n set ip precedence 5",
        "map-class frame-relay FRTS\n frame-relay cir 64000",
        "mls qos",
        "policy-map P\n class VOICE\n  queue-limit dscp ef 10",
        "an unknown command",
    ],
)
def test_queueing_and_marking_commands_that_are_not_simulated_leave_the_verdict_open(line):
    found = read(RUNNING + line + "\n", HEAD + "calls,ef,80kbit/s,200,2,cbr\n")
    assert found.not_simulated
    assert outcome(found) == "as-far-as-understood"


# --- Platforms ---


DEFAULTS = """
class-map D
 match dscp af31
policy-map P
 class D
  bandwidth 1000
  {line}
interface Serial0/0
 bandwidth 2000
 service-policy output P
"""


@pytest.mark.parametrize(
    ("platform", "limit"),
    [
        # Cisco IOS Quality of Service Solutions Command Reference: 64 packets.
        ("classic", "64packets"),
        ("hqf", "64packets"),
        # IOS XE QoS Congestion Management Configuration Guide: 50 ms in packets of 1500 B (here 4), but at least 64.
        ("xe", "64packets"),
        # IOS XR Modular QoS Command Reference: 100 ms · 1000 kbit/s / 8 = 12500 B.
        ("xr", "12500B"),
    ],
)
def test_a_class_without_a_limit_has_the_documented_limit_of_the_platform(platform, limit):
    found = read(DEFAULTS.format(line=""), HEAD + "data,af31,1Mbit/s,1000,1,poisson\n", platform=platform)
    assert discipline(found)["classes"][0]["limit"] == limit
    assert any("as stated" in message for message in messages(found, "assumed"))


@pytest.mark.parametrize(("platform", "precedence_5"), [("classic", 31), ("hqf", 30)])
def test_default_thresholds_are_those_of_the_platform(platform, precedence_5):
    text = DEFAULTS.format(line="random-detect").replace("af31", "cs5")
    found = read(text, HEAD + "data,cs5,1Mbit/s,1000,1,poisson\n", platform=platform)
    profile = discipline(found)["classes"][0]["discipline"]["profiles"]["5"]
    assert profile["min"] == precedence_5


def test_the_only_flow_of_a_fair_queue_in_a_class_holds_a_quarter_to_all_of_the_limit():
    text = DEFAULTS.format(line="fair-queue\n  queue-limit 40 packets")
    table = HEAD + "data,af31,4Mbit/s,996,1,cbr\n"
    # One flow of 4 Mbit/s on a link of 2 keeps its queue near the limit: 10 packets take 40 ms, 64 take 256 ms. Once
    # the limit is reached, packets of the flow are dropped until it holds less than a quarter of the limit, so that the
    # delay is between a quarter of the limit and all of it.
    assert 0.008 < report_of(read(text, table, platform="hqf")).mean_delay_s("data") < 0.042
    assert report_of(read(text, table, platform="classic")).mean_delay_s("data") > 0.06


def test_a_recognised_platform_is_reported_and_an_unknown_one_is_refused():
    found = case("05-iosxr.txt", "traffic4.csv")
    assert any("defaults of IOS XR, whose syntax this is" in message for message in messages(found, "assumed"))
    with pytest.raises(ValueError, match="`junos` is not a platform"):
        case("05-iosxr.txt", "traffic4.csv", platform="junos")


def test_the_equal_sharing_of_ios_xe_is_reported_as_not_simulated():
    found = read(DEFAULTS.format(line=""), HEAD + "data,af31,10kbit/s,1000,1,poisson\n", platform="xe")
    assert any("equally" in notice.message for notice in found.not_simulated)


def test_the_command_takes_a_platform(tmp_path):
    policy = tmp_path / "p.txt"
    policy.write_text(DEFAULTS.format(line=""))
    found = CliRunner().invoke(cli, ["import", "mqc", str(policy), "--platform", "xr"], standalone_mode=False)
    assert "12.5kB" in found.stdout
    assert "defaults of IOS XR, as stated" in found.stderr
