"""Effects of RouterOS' queues on flows: results by hand calculation, and required remarks.

Rates are those of layer 3 (`overhead="none"`).
"""

from pathlib import Path

import pytest

import tailback
from tailback.router.policy import import_configuration
from tailback.router.verdict import judge

SAMPLES = Path(__file__).parents[2] / "crates/router/tests/routeros"
UDP = "name,dscp,rate,packet,protocol,destination-port\n"


def read(text, traffic, **options):
    """Import a text with a traffic table; rates count layer 3."""
    return import_configuration("routeros", text, traffic=traffic, overhead="none", **options)


def simulated(text, traffic, *, duration="20s", **options):
    """Import a text, run one replication, and return its report."""
    found = read(text, traffic, duration=duration, **options)
    return tailback.run(found.check(), replications=1, threads=1).reports[0]


def structure(*lines):
    """Return a configuration with packet marks for ports 3003 to 3005 and the given lines of the queue tree.

    The queues are those of MikroTik's page "HTB": 01 of 10 Mbit/s contains 02 and 03, and 02 contains 04 and 05.
    """
    marks = "".join(
        f"add chain=forward protocol=udp dst-port=300{n} action=mark-packet new-packet-mark=q{n} passthrough=no\n"
        for n in (3, 4, 5)
    )
    return "/ip firewall mangle\n" + marks + "/queue tree\n" + "".join(f"add {line}\n" for line in lines)


FIVE = UDP + "".join(f"q{n},0,10Mbit/s,1000,udp,300{n}\n" for n in (3, 4, 5))


@pytest.mark.parametrize(
    ("second", "leaves", "expected"),
    [
        # Examples of MikroTik's page "HTB": limit-at of 02; limit-at and priority of 03, 04 and 05; their throughputs.
        # Rates are in Mbit/s.
        (4, ((6, 1), (2, 3), (2, 5)), (6, 2, 2)),
        (4, ((2, 3), (2, 1), (2, 5)), (2, 6, 2)),
        (8, ((2, 1), (2, 3), (2, 5)), (2, 6, 2)),
    ],
)
def test_the_htb_examples_of_mikrotik_have_the_documented_results(second, leaves, expected):
    text = structure(
        "name=Queue01 parent=ether1 limit-at=0 max-limit=10M bucket-size=0.01",
        f"name=Queue02 parent=Queue01 limit-at={second}M max-limit=10M bucket-size=0.01",
        *(
            f"name=Queue0{n} parent=Queue0{1 if n == 3 else 2} packet-mark=q{n} limit-at={limit_at}M max-limit=10M "
            f"priority={priority} bucket-size=0.01"
            for n, (limit_at, priority) in zip((3, 4, 5), leaves, strict=True)
        ),
    )
    # The interface is faster than the queues, so that the queues determine the rates.
    report = simulated(text, FIVE, rate="100Mbit/s")
    for n, rate in zip((3, 4, 5), expected, strict=True):
        assert report.throughput_bps(f"q{n}") == pytest.approx(rate * 1e6, rel=0.02)


def test_a_sample_file_with_the_speed_of_its_interface_needs_no_rate():
    report = simulated((SAMPLES / "htb-two-limits.rsc").read_text(), FIVE)
    assert report.throughput_bps("q4") == pytest.approx(6e6, rel=0.05)


def test_max_limit_is_a_ceiling_and_the_default_queue_holds_ten_packets():
    # 3 Mbit/s into 2 Mbit/s: a third is lost. At most ten packets of 1000 B are queued: 40 ms, and 0.08 ms for itself.
    text = "/queue tree add name=up parent=ether1 max-limit=2M\n"
    report = simulated(text, "name,dscp,rate,packet\na,0,3Mbit/s,1000\n", rate="100Mbit/s")
    assert report.throughput_bps("a") == pytest.approx(2e6, rel=0.01)
    assert report.max_delay_s("a") == pytest.approx(0.04, rel=0.06)


def test_connection_marks_apply_to_both_directions():
    # The rule matches upload packets of a host; its mark also applies to download packets of the connection.
    text = """
/ip firewall mangle
add chain=prerouting action=mark-connection connection-mark=no-mark protocol=tcp dst-port=443 src-address=10.0.0.0/24 \\
    new-connection-mark=web passthrough=yes
add chain=prerouting action=mark-connection connection-mark=no-mark new-connection-mark=rest passthrough=yes
add chain=forward action=mark-packet connection-mark=web new-packet-mark=web passthrough=no
add chain=forward action=mark-packet connection-mark=rest new-packet-mark=rest passthrough=no
/queue tree
add name=down parent=bridge max-limit=10M
add name=web parent=down packet-mark=web limit-at=8M max-limit=10M priority=1
add name=rest parent=down packet-mark=rest,no-mark limit-at=1M max-limit=10M
"""
    columns = "name,dscp,rate,packet,protocol,source,destination,source-port,destination-port\n"
    traffic = columns + (
        "download,0,1Mbit/s,1000,tcp,203.0.113.1,10.0.0.7,443,50000\n"
        "upload,0,1Mbit/s,1000,tcp,10.0.0.7,203.0.113.1,50000,443\n"
        "other,0,1Mbit/s,1000,tcp,203.0.113.1,10.0.1.7,443,50000\n"
    )
    found = read(text, traffic, rate="100Mbit/s")
    assert found.classes == {"web": ["download", "upload"], "rest": ["other"]}
    assert not found.not_simulated


@pytest.mark.parametrize(
    ("rules", "inside"),
    [
        # With passthrough=no the first matching rule decides, otherwise the last one.
        (
            "add chain=forward protocol=udp action=mark-packet new-packet-mark=a passthrough=no\n"
            "add chain=forward dst-port=5060 protocol=udp action=mark-packet new-packet-mark=b passthrough=no\n",
            {"a": ["sip", "rtp"]},
        ),
        (
            "add chain=forward protocol=udp action=mark-packet new-packet-mark=a\n"
            "add chain=forward dst-port=5060 protocol=udp action=mark-packet new-packet-mark=b\n",
            {"b": ["sip"], "a": ["rtp"]},
        ),
        (
            "add chain=forward dst-port=5060 protocol=udp action=accept\n"
            "add chain=forward packet-mark=no-mark action=mark-packet new-packet-mark=a\n"
            "add chain=postrouting packet-mark=no-mark protocol=udp action=mark-packet new-packet-mark=b\n",
            {"b": ["sip"], "a": ["rtp", "web"]},
        ),
        (
            "add chain=prerouting action=jump jump-target=voip protocol=udp\n"
            "add chain=prerouting packet-mark=no-mark action=mark-packet new-packet-mark=b\n"
            "add chain=voip dst-port=5060 protocol=udp action=return\n"
            "add chain=voip action=mark-packet new-packet-mark=a passthrough=no\n",
            {"b": ["sip", "web"], "a": ["rtp"]},
        ),
        (
            "add chain=postrouting out-interface=ether2 action=mark-packet new-packet-mark=a\n"
            "add chain=postrouting out-interface=!ether2 dscp=46 action=mark-packet new-packet-mark=b\n",
            {"b": ["rtp"]},
        ),
        (
            "add chain=forward protocol=udp action=change-dscp new-dscp=10\n"
            "add chain=forward dscp=10 dst-port=5060 protocol=udp action=mark-packet new-packet-mark=a\n"
            "add chain=forward dscp=46 action=mark-packet new-packet-mark=b\n",
            {"a": ["sip"]},
        ),
    ],
)
def test_rules_of_the_firewall_choose_the_queue(rules, inside):
    tree = "/queue tree\n" + "".join(
        f"add name={name} parent=ether1 packet-mark={name} max-limit=1M\n" for name in "ab"
    )
    traffic = UDP + "sip,24,64kbit/s,200,udp,5060\nrtp,46,64kbit/s,200,udp,20000\nweb,0,64kbit/s,200,tcp,80\n"
    found = read("/ip firewall mangle\n" + rules + tree, traffic, rate="10Mbit/s")
    classes = {name: list(groups) for name, groups in found.classes.items() if name in "ab"}
    assert {name: sorted(groups) for name, groups in classes.items()} == {
        name: sorted(groups) for name, groups in inside.items()
    }


def test_a_mark_that_no_rule_sets_comes_from_the_traffic_table():
    text = "/queue tree\n" + "".join(
        f"add name={name} parent=ether1 packet-mark={mark} max-limit=1M\n"
        for name, mark in (("a", "gold"), ("b", "lead"))
    )
    found = read(text, "name,dscp,rate,packet,mark\nx,0,1Mbit/s,500,2\ny,0,1Mbit/s,500,1\n", rate="10Mbit/s")
    assert found.classes == {"b": ["x"], "a": ["y"]}
    assert any("gold 1, lead 2" in notice.message for notice in found.assumptions)
    unknown = read(text, "name,dscp,rate,packet\nx,0,1Mbit/s,500\n", rate="10Mbit/s")
    assert unknown.not_simulated


SIMPLE = """
/queue simple
add name=office target=10.1.2.0/24 max-limit=4M/8M
add name=phones parent=office target=10.1.2.16/28 limit-at=1M/1M max-limit=4M/8M priority=1/1
add name=desks parent=office target=10.1.2.128/25 limit-at=1M/1M max-limit=4M/8M
"""


def test_simple_queues_have_a_limit_for_each_direction():
    up = "name,dscp,rate,packet,source\nphone,ef,2Mbit/s,500,10.1.2.17\ndesk,0,6Mbit/s,1000,10.1.2.200\n"
    down = up.replace("source", "destination")
    report = simulated(SIMPLE, up, interface="simple-upload", rate="100Mbit/s")
    assert report.throughput_bps("phone") == pytest.approx(2e6, rel=0.02)
    assert report.throughput_bps("desk") == pytest.approx(2e6, rel=0.02)
    report = simulated(SIMPLE, down, interface="simple-download", rate="100Mbit/s")
    assert report.throughput_bps("phone") == pytest.approx(2e6, rel=0.02)
    assert report.throughput_bps("desk") == pytest.approx(6e6, rel=0.02)


@pytest.mark.parametrize("kind", ["kind=sfq", "kind=pcq pcq-classifier=src-address,dst-address,src-port,dst-port"])
def test_sfq_and_pcq_share_equally_and_a_fifo_does_not(kind):
    # 8 and 4 Mbit/s into 6 Mbit/s: 3 each with fair queueing; in a FIFO in proportion to the loads, 4 and 2.
    tree = "/queue tree add name=up parent=ether1 max-limit=6M queue=own\n"
    traffic = "name,dscp,rate,packet,model\na,0,8Mbit/s,1000,poisson\nb,0,4Mbit/s,1000,poisson\n"
    report = simulated(f"/queue type add name=own {kind}\n{tree}", traffic, rate="100Mbit/s")
    assert report.throughput_bps("a") == pytest.approx(3e6, rel=0.03)
    assert report.throughput_bps("b") == pytest.approx(3e6, rel=0.03)
    fifo = simulated(f"/queue type add name=own kind=pfifo pfifo-limit=20\n{tree}", traffic, rate="100Mbit/s")
    assert fifo.throughput_bps("a") == pytest.approx(4e6, rel=0.05)


def test_each_sub_queue_of_pcq_has_its_own_limit():
    # Each of the two sub-queues holds 50 KiB and is served at 3 Mbit/s: 136.5 ms.
    text = "/queue tree add name=up parent=ether1 max-limit=6M queue=pcq-upload-default\n"
    report = simulated(text, "name,dscp,rate,packet\na,0,8Mbit/s,1000\nb,0,8Mbit/s,1000\n", rate="100Mbit/s")
    assert report.mean_delay_s("a") == pytest.approx(51_200 * 8 / 3e6, rel=0.05)


VOICE = "name,dscp,rate,packet,count\nvoice,ef,80kbit/s,200,4\nbulk,0,12Mbit/s,1000,1\n"
TREE = """/ip firewall mangle
add chain=postrouting dscp=46 action=mark-packet new-packet-mark=voice passthrough=no
/queue tree
add name=up parent=ether1 max-limit=10M bucket-size=0.01
add name=voice parent=up packet-mark=voice limit-at=1M max-limit=10M priority=1
add name=rest parent=up packet-mark=no-mark limit-at=1M max-limit=10M
"""


def test_voice_with_a_guarantee_and_the_highest_priority_survives():
    assert judge(read(TREE, VOICE, rate="100Mbit/s"), duration="4s", replications=2).survives


@pytest.mark.parametrize(
    "line",
    [
        "/queue tree add name=x parent=up packet-mark=x max-limit=1M burst-limit=2M burst-threshold=1M burst-time=8s",
        "/queue type add name=p kind=pcq pcq-rate=512k\n/queue tree add name=x parent=up packet-mark=x queue=p",
        "/queue type add name=c kind=cake\n/queue tree add name=x parent=up packet-mark=x queue=c",
        "/queue tree add name=x parent=up packet-mark=x limit-at=9M max-limit=10M",
        "/queue tree add name=all parent=global max-limit=5M",
        "/queue simple add name=s target=10.0.0.0/8 max-limit=1M/1M",
        "/queue tree set up max-limit=5M",
        "/queue interface set ether1 queue=hotspot-default",
        "/ip firewall mangle add chain=forward packet-size=0-600 action=mark-packet new-packet-mark=voice",
        "/ip firewall mangle add chain=forward in-interface-list=WAN action=mark-packet new-packet-mark=voice",
        "/ip firewall filter add chain=forward action=fasttrack-connection connection-state=established",
        ":global x 1",
        "/no such menu add x=1",
    ],
)
def test_a_part_that_is_not_simulated_leaves_the_verdict_open(line):
    found = read(TREE + line + "\n", VOICE, rate="100Mbit/s", interface="ether1")
    assert found.not_simulated
    assert all(notice.line for notice in found.not_simulated)
    assert judge(found, duration="4s", replications=1).outcome == "as-far-as-understood"


@pytest.mark.parametrize(
    ("line", "column", "part"),
    [
        ("/queue tree add name=x parent=up max-limit=fast", 34, "`fast` is not a rate"),
        ("/queue tree add name=x parent=up priority=9", 34, "is not a priority"),
        ("/queue tree add name=x max-limit=1M", 1, "has no parent"),
        ("/queue tree add name=x parent=x", 1, "an ancestor of itself"),
        ("/queue tree add name=x parent=up queue=nowhere", 34, "no queue type"),
        ("/queue type add name=x", 1, "without a kind"),
        ("/ip firewall mangle add chain=forward action=mark-packet", 1, "without a valid new-packet-mark"),
    ],
)
def test_errors_name_their_line_and_column_and_prevent_a_scenario(line, column, part):
    found = read(TREE + line + "\n", VOICE, rate="100Mbit/s")
    number = TREE.count("\n") + 1
    assert (number, column) in [(notice.line, notice.column) for notice in found.errors if part in notice.message]
    assert found.scenario is None


def test_an_export_with_continued_lines_lists_jumps_and_quoted_names_is_read():
    text = (SAMPLES / "export-office.rsc").read_text()
    columns = "name,dscp,rate,packet,protocol,source,destination,source-port,destination-port,input\n"
    traffic = columns + (
        "phone,46,80kbit/s,200,udp,192.168.88.41,198.51.100.1,50000,20000,bridge\n"
        "laptop,0,1Mbit/s,1000,tcp,192.168.88.99,198.51.100.1,50000,443,bridge\n"
        "excluded,0,1Mbit/s,1000,tcp,192.168.88.99,203.0.113.9,50000,443,bridge\n"
        "mail,0,1Mbit/s,1000,tcp,192.168.88.99,198.51.100.1,50000,25,bridge\n"
    )
    # Packets that bypass the queues are sent at the rate of the link, which must be known.
    assert "not known" in read(text, traffic).errors[0].message
    found = read(text, traffic, rate="100Mbit/s")
    assert found.classes == {"VOIP": ["phone"], "WEB": ["laptop"], "REST": ["excluded", "mail"]}
    assert found.interface == "pppoe-out1"
    assert not found.not_simulated
    # A connection mark applies to replies as well; without a source port it is not known which packets are replies.
    vague = read(text, traffic.replace(",50000,", ",,"), rate="100Mbit/s")
    assert any("not state enough" in notice.message for notice in vague.assumptions)
