"""What becomes of named flows behind configurations of Cisco's dialects, against figures computed by hand.

Each figure is derived in the test. Packets of the tables are of layer 3; on Ethernet 14 B more of each are counted.
"""

from pathlib import Path

import pytest

import tailback
from tailback.router import import_configuration
from tailback.verdict import judge

CASES = Path(__file__).parent / "router"
VOICE = "class-map match-any VOICE\n match dscp ef\n"
HEAD = "name,dscp,rate,packet,count,model\n"
ETHERNET = 14


def case(name, table=None, **options):
    text = (CASES / "mqc" / name).read_text()
    if table is not None and "\n" not in table:
        table = (CASES / "tables" / table).read_text()
    return import_configuration("mqc", text, traffic=table, **options)


def read(text, table, **options):
    return import_configuration("mqc", text, traffic=table, **options)


def report_of(found, duration="6s"):
    return tailback.run(found.check().set(duration=duration, warmup="1s"), replications=1, threads=1).reports[0]


def outcome(found, duration="4s"):
    return judge(found, duration=duration, replications=2).outcome


def messages(found, level):
    return [notice.message for notice in found.notices if notice.level == level]


def class_of(found, group):
    return next(name for name, groups in found.classes.items() if group in groups)


def discipline(found):
    port = found.check().document["switches"]["ce"]["ports"]["sink"]
    return port["discipline"]


# --- Units ---


def test_a_shaper_in_mbps_lets_as_many_pass():
    found = case("05c-xr-shape.txt", HEAD + "calls,ef,80kbit/s,200,10,cbr\nbulk,0,40Mbit/s,1486,1,poisson\n")
    assert found.check().document["switches"]["ce"]["ports"]["sink"]["shaper"]["rate"] == "20000000bit/s"
    report = report_of(found)
    # Calls take 0.8 · 214/200 = 0.856 of 20 Mbit/s; the rest passes 19.144 · 1486/1500 = 18.97 of 40.
    assert report.loss("calls") == 0
    assert report.loss("bulk") == pytest.approx(1 - 18.97 / 40, abs=0.02)


def test_a_policer_in_mbps_drops_what_is_above():
    found = case("05b-iosxr-bw.txt", HEAD + "calls,ef,100kbit/s,186,100,cbr\n")
    # 10 Mbit/s at layer 3 are 10 · 200/186 = 10.75 Mbit/s with Ethernet's 14 B; 5 of them conform.
    assert report_of(found).loss("calls") == pytest.approx(1 - 5 / (10 * 200 / 186), abs=0.02)
    assert not found.not_simulated


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
        # 400 kbit/s for 100 ms are 5000 B.
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


def test_a_line_of_which_a_part_is_not_understood_has_no_effect_at_all():
    text = VOICE + "policy-map P\n class VOICE\n  bandwidth 400 furlongs\ninterface Serial0/0\n bandwidth 2000\n"
    text += " service-policy output P\n"
    found = read(text, HEAD + "calls,ef,80kbit/s,200,2,cbr\n")
    assert [notice.line for notice in found.not_simulated] == [5]
    assert "discipline" not in found.check().document["switches"]["ce"]["ports"]["sink"]
    assert outcome(found) == "as-far-as-understood"


def test_thresholds_in_time_are_packets_of_the_class_s_rate():
    text = (
        "class-map V\n match dscp af41\npolicy-map P\n class V\n  bandwidth 8 mbps\n  random-detect dscp af41 20 ms 40 ms\n"
        "  queue-limit 50 ms\n end-policy-map\ninterface GigabitEthernet0/0/0/1\n service-policy output P\n"
    )
    found = read(text, HEAD + "video,af41,4Mbit/s,1000,1,poisson\n")
    # 8 Mbit/s for 20 ms are 20 kB: 20 packets of 1000 B.
    assert discipline(found)["classes"][0]["discipline"]["profiles"]["af41"] == {"min": 20, "max": 40}
    assert any("packets of 1000 B" in message for message in messages(found, "assumed"))


# --- What the table says of labels ---


def test_flows_are_in_the_class_of_their_label_in_the_run_as_in_the_table():
    found = case("09-mpls-exp.txt", "traffic-exp2.csv", overhead="mpls")
    assert class_of(found, "voice") == "EXP5"
    report = report_of(found, "3s")
    # 0.32 of 100 Mbit/s is within the priority of 20 %; 120 Mbit/s of bulk fill the rest.
    assert report.loss("voice") == 0
    assert report.mean_delay_s("voice") < 1e-3 < report.mean_delay_s("bulk")
    assert report.loss("bulk") > 0.1


def test_the_precedence_stands_for_a_label_that_the_table_does_not_tell_and_that_is_said():
    found = case("09-mpls-exp.txt", HEAD + "voice,ef,80kbit/s,200,4,cbr\nbulk,0,120Mbit/s,1500,1,poisson\n")
    assert class_of(found, "voice") == "EXP5"
    assert report_of(found, "3s").loss("voice") == 0
    assert any("`voice`" in message and "labels" in message for message in messages(found, "assumed"))


# --- Policies for what arrives ---


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


def test_what_the_lan_marks_is_served_as_marked_by_the_wan():
    found = case("07-input-mark.txt", "traffic-unmarked.csv")
    assert found.interface == "GigabitEthernet0/1"
    assert class_of(found, "voice") == "VOICE"
    made = judge(found, duration="4s", replications=2)
    voice = next(row for row in made.rows if row.group == "voice")
    assert voice.code_point == 46
    assert voice.loss.mean == 0
    assert any("`voice`" in message and "GigabitEthernet0/0" in message for message in messages(found, "assumed"))


def test_an_input_policy_takes_away_a_code_point_that_the_sender_chose():
    found = read(BRANCH, BRANCH_TABLE)
    assert (class_of(found, "calls"), class_of(found, "fraud")) == ("VOICE", "default")
    report = report_of(found)
    # 1.5 Mbit/s without priority share what 0.32 · 204/200 of 1 Mbit/s leave; calls lose nothing.
    assert report.loss("calls") == 0
    assert report.loss("fraud") > 0.3
    # The interface follows from the senders' addresses.
    assert not any("come in by" in message for message in messages(found, "assumed"))


def test_the_column_input_decides_which_input_policy_applies():
    text = BRANCH + "interface GigabitEthernet0/1\n ip address 10.2.0.1 255.255.255.0\n"
    rows = BRANCH_TABLE.splitlines()
    table = "\n".join([rows[0] + ",input", rows[1] + ",Gi0/1", rows[2] + ",Gi0/1", rows[3] + ",gigabitethernet 0/0"])
    found = read(text, table)
    assert (class_of(found, "calls"), class_of(found, "fraud")) == ("default", "VOICE")


def test_an_input_policer_drops_before_the_output_queue():
    text = BRANCH.replace("  set dscp default", "  police 300000 8000 conform-action transmit exceed-action drop")
    found = read(text, BRANCH_TABLE.replace("fraud,ef", "fraud,af21"))
    report = report_of(found)
    # 1.5 Mbit/s come; 300 kbit/s of 1004 B per packet on the WAN side conform and fit behind the calls.
    passed = (1 - report.loss("fraud")) * 600 + (1 - report.loss("bulk")) * 900
    assert passed == pytest.approx(300 / 1.004, rel=0.05)
    assert report.loss("calls") == 0
    assert report.mean_delay_s("bulk") < 0.02


def test_a_policer_that_marks_down_moves_packets_to_another_class():
    text = BRANCH.replace(
        "  set dscp ef", "  police 160000 8000 conform-action set-dscp-transmit ef exceed-action set-dscp-transmit default"
    )
    report = report_of(read(text, BRANCH_TABLE))
    # Half of the calls' 326 kbit/s conform and lose nothing; the others queue with 1.5 Mbit/s for what is left and lose.
    assert 0.1 < report.loss("calls") < 0.5


def test_a_qos_group_of_the_input_policy_decides_the_class():
    text = BRANCH.replace("  set dscp ef", "  set qos-group 5").replace(" match dscp ef", " match qos-group 5")
    found = read(text, BRANCH_TABLE)
    assert class_of(found, "calls") == "VOICE"
    assert report_of(found).loss("calls") == 0


def test_an_unread_line_of_the_input_policy_leaves_the_verdict_open():
    text = BRANCH.replace("  set dscp ef", "  set dscp ef\n  set colour blue")
    found = read(text, BRANCH_TABLE.replace("600kbit/s", "60kbit/s").replace("900kbit/s", "90kbit/s"))
    assert found.not_simulated
    assert outcome(found) == "as-far-as-understood"


def test_several_input_policies_and_no_address_are_an_assumption_that_is_named():
    text = BRANCH + "interface GigabitEthernet0/1\n service-policy input LAN\n"
    table = "\n".join(line.rpartition(",")[0] for line in BRANCH_TABLE.splitlines())
    found = read(text, table)
    assert any("`calls`" in message and "not known" in message for message in messages(found, "assumed"))
    assert class_of(found, "calls") == "default"


# --- Nothing valid is refused ---


@pytest.mark.parametrize("name", sorted(path.name for path in (CASES / "mqc").iterdir() if path.name[:2] != "17"))
def test_no_valid_configuration_is_an_error(name):
    found = case(name, "traffic4.csv", rate="10Mbit/s")
    unwanted = [str(notice) for notice in found.errors if "choose with --" not in notice.message + (notice.advice or "")]
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
"""Configurations that do not say enough to be judged, and what they lack."""
OPEN = {
    "02-asr1k-3level.txt",
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
"""Configurations with a part that is not simulated: whatever the run gives, voice does not simply survive."""
