"""Less common parts of policies against hand calculation: ATM cells, IP versions, limits of single code points, service
curves, `fq`, `netem`, short frames, and entries of access lists that never apply.
"""

import pytest

import tailback
from tailback.bounds.worst_case import worst_case
from tailback.router.policy import import_configuration
from tailback.router.verdict import judge

HEAD = "name,dscp,rate,packet,count,model\n"


def read(language, text, table, **options):
    """Import a text with a traffic table."""
    return import_configuration(language, text, traffic=table, **options)


def simulated(language, text, table, *, duration="20s", **options):
    """Import a text, run one replication, and return its report."""
    found = read(language, text, table, duration=duration, **options)
    return tailback.run(found.check(), replications=1, threads=1).reports[0]


def messages(found, level):
    """Return line and text of the messages of a level."""
    return [(notice.line, notice.message) for notice in found.notices if notice.level == level]


# --- Cells of ATM ---

ATM = """
class-map match-any VOICE
 match dscp ef
policy-map WAN
 class VOICE
  priority {kilobits}
 class class-default
  queue-limit 4 packets
interface ATM0/0
 pvc 0/33
  vbr-nrt 512 512
  encapsulation {encapsulation}
  service-policy output WAN
"""
# Four calls of G.729 with 60 B every 20 ms: 200 packets per second, 96 kbit/s at layer 3.
CALLS = HEAD + "voice,ef,24kbit/s,60,4,cbr\nbulk,0,1Mbit/s,1500,1,cbr\n"


def test_priority_sized_for_layer_3_drops_calls_on_atm_and_the_link_carries_whole_cells():
    # Queueing counts 8 B of LLC/SNAP and 4 B of the circuit (Cisco, document 10420): 200 · 72 B are 115.2 kbit/s, of
    # which 96 pass. On the link 60 + 16 = 76 B take two cells: 166.7 packets of 106 B per second are 141.3 kbit/s. A
    # packet of 1500 + 16 B takes 32 cells, 1696 B: bulk has (512 - 141.3) · 1500 / 1696 kbit/s.
    text = ATM.format(kilobits=96, encapsulation="aal5snap")
    found = read("mqc", text, CALLS)
    assert found.link.rate_bps == 512_000
    report = simulated("mqc", text, CALLS, duration="60s")
    assert report.loss("voice") == pytest.approx(1 / 6, abs=0.01)
    assert report.throughput_bps("bulk") == pytest.approx((512e3 - 141.3e3) * 1500 / 1696, rel=0.01)
    # All calls pass if the priority rate is at least 115.2 kbit/s, the rate of the calls as counted.
    report = simulated("mqc", ATM.format(kilobits=116, encapsulation="aal5snap"), CALLS, duration="60s")
    assert report.loss("voice") == 0
    # 200 packets of 106 B per second take 169.6 kbit/s of the link.
    assert report.throughput_bps("bulk") == pytest.approx((512e3 - 169.6e3) * 1500 / 1696, rel=0.01)


def test_aal5mux_counts_four_bytes_per_packet_without_llc_and_snap():
    # 200 · 64 B count 102.4 kbit/s; 60 + 8 = 68 B take two cells as well.
    report = simulated("mqc", ATM.format(kilobits=96, encapsulation="aal5mux ip"), CALLS)
    assert report.loss("voice") == pytest.approx(1 - 96 / 102.4, abs=0.01)
    # The option `overhead` takes precedence over the encapsulation of the interface.
    text = ATM.format(kilobits=96, encapsulation="aal5snap")
    assert read("mqc", text, CALLS, overhead="atm-vc").link.overhead_bytes == 4
    assert read("mqc", text, CALLS, overhead="atm").link.overhead_bytes == 12


def test_an_atm_link_has_no_bound_and_a_second_circuit_is_not_simulated():
    text = ATM.format(kilobits=116, encapsulation="aal5snap")
    bounds = worst_case(read("mqc", text, CALLS).check(), "ce", "sink")
    assert bounds["voice"].seconds is None
    second = text + " pvc 0/34\n  service-policy output WAN\n"
    assert [line for line, message in messages(read("mqc", second, CALLS), "unsupported") if "circuit" in message] == [
        14
    ]
    # A circuit whose peak rate exceeds its sustained rate is not simulated.
    bursts = text.replace("vbr-nrt 512 512", "vbr-nrt 1024 512")
    assert messages(read("mqc", bursts, CALLS, rate="512kbit/s"), "unsupported")


# --- Versions of IP ---

BOTH = (
    "name,dscp,rate,packet,count,model,source,destination\n"
    "four,ef,80kbit/s,200,4,cbr,10.1.0.1,10.2.0.1\n"
    "six,ef,80kbit/s,200,4,cbr,2001:db8:1::1,2001:db8:2::1\n"
    "bulk,0,3Mbit/s,1500,1,cbr,10.1.0.9,10.2.0.9\n"
)
LLQ = """
class-map match-any VOICE
 match {words} ef
policy-map WAN
 class VOICE
  priority 800
 class class-default
interface Serial0/0
 bandwidth 2000
 service-policy output WAN
"""


@pytest.mark.parametrize(
    ("words", "inside"), [("ip dscp", {"four"}), ("dscp", {"four", "six"}), ("dscp ipv6", {"six"})]
)
def test_match_ip_dscp_matches_ipv4_only(words, inside):
    found = read("mqc", LLQ.format(words=words), BOTH)
    assert set(found.classes["VOICE"]) == inside
    report = simulated("mqc", LLQ.format(words=words), BOTH, duration="10s")
    for group in ("four", "six"):
        # Flows outside the class share the rest of the link with 3 Mbit/s of bulk and lose packets.
        assert (report.loss(group) == 0) == (group in inside)
    # If the table has no row with IPv6 addresses, the condition is on the code point alone.
    four = "\n".join(line for line in BOTH.splitlines() if not line.startswith("six"))
    document = read("mqc", LLQ.format(words="ip dscp"), four).check().document
    assert document["class-maps"] == {"VOICE": {"dscp": ["ef"]}}


PRIO = "tc qdisc add dev eth0 root handle 1: prio\n"
FILTER = "tc filter add dev eth0 parent 1: protocol {} prio 1 {} flowid 1:1\n"


@pytest.mark.parametrize(
    ("protocol", "words", "inside"),
    [
        ("ip", "u32 match ip dsfield 0xb8 0xfc", {"four"}),
        ("ipv6", "u32 match ip6 priority 0xb8 0xfc", {"six"}),
        ("ipv6", "u32 match ip6 dst 2001:db8:2::/48", {"six"}),
        ("ipv6", "u32 match ip6 dst 2001:db8:3::/48", set()),
        ("ipv6", "u32 match ip6 src 2001:db8:1::1 match ip6 priority 0xb8 0xfc", {"six"}),
        ("ipv6", "flower ip_tos 0xb8/0xfc src_ip 2001:db8:1::/64", {"six"}),
        ("all", "flower ip_tos 0xb8/0xfc", {"four", "six"}),
        ("ipv6", "matchall", {"six"}),
    ],
)
def test_filters_of_tc_match_the_ip_version_that_they_name(protocol, words, inside):
    found = read("tc", PRIO + FILTER.format(protocol, words), BOTH, rate="2Mbit/s")
    assert set(found.classes.get("1:1", ())) == inside
    assert not found.not_simulated
    report = simulated("tc", PRIO + FILTER.format(protocol, words), BOTH, rate="2Mbit/s", duration="8s")
    assert all(report.loss(group) == 0 for group in inside)


def test_ipv6_ports_and_rules_of_ip6tables_and_nft_choose_the_class():
    table = (
        "name,dscp,rate,packet,model,protocol,source,destination-port\n"
        "sip4,0,1Mbit/s,500,cbr,udp,10.0.0.1,5060\nsip6,0,1Mbit/s,500,cbr,udp,2001:db8::1,5060\n"
        "web6,0,1Mbit/s,500,cbr,tcp,2001:db8::1,80\n"
    )
    words = "u32 match ip6 protocol 17 0xff match ip6 dport 5060 0xffff"
    found = read("tc", PRIO + FILTER.format("ipv6", words), table, rate="9Mbit/s")
    assert found.classes["1:1"] == ["sip6"]
    marked = "ip6tables -t mangle -A POSTROUTING -p udp -s 2001:db8::/32 -j MARK --set-mark 7\n"
    text = PRIO + marked + FILTER.format("all", "handle 7 fw")
    assert read("tc", text, table, rate="9Mbit/s").classes["1:1"] == ["sip6"]
    nft = "nft add rule inet mangle postrouting ip6 saddr 2001:db8::/32 meta l4proto udp meta mark set 7\n"
    text = PRIO + nft + FILTER.format("all", "handle 7 fw")
    assert read("tc", text, table, rate="9Mbit/s").classes["1:1"] == ["sip6"]


# --- Limits of single code points ---

LIMITS = """
class-map match-any DATA
 match dscp af21 af23
policy-map WAN
 class DATA
  bandwidth percent 90
  queue-limit 64 packets
  {line}
interface Serial0/0
 bandwidth 2000
 service-policy output WAN
"""
# 3.2 Mbit/s at layer 3 for a link of 2 Mbit/s, half of it with each code point.
TWO = HEAD + "first,af21,1.6Mbit/s,1500,1,poisson\nlast,af23,1.6Mbit/s,1500,1,poisson\n"


@pytest.mark.parametrize(
    "line",
    [
        "queue-limit dscp af23 8 packets",
        "queue-limit dscp af23 percent 12",
        "queue-limit dscp af23 48 ms",
        # Catalysts list several code points before their limit.
        "queue-limit dscp af22 af23 percent 12",
        "queue-limit dscp values af22 af23 percent 12",
        "queue-limit dscp af23 af22 8",
    ],
)
def test_a_code_point_with_a_lower_limit_has_all_of_the_loss(line):
    # The queue stays near the limit of af23, 8 packets of 6 ms, far below 64: all of the excess, 1.2 Mbit/s, is dropped
    # from af23. 12 % of 64 are 7 packets; 48 ms at 1.8 Mbit/s are 10.8 kB, also 7 packets.
    report = simulated("mqc", LIMITS.format(line=line), TWO, overhead="none", duration="30s")
    assert report.loss("first") < 0.002
    assert report.loss("last") == pytest.approx(1.2 / 1.6, abs=0.03)
    # Without the limit of af23 both code points have the same loss ratio, 1.2 of 3.2 Mbit/s.
    report = simulated("mqc", LIMITS.format(line="!"), TWO, overhead="none", duration="30s")
    for group in ("first", "last"):
        assert report.loss(group) == pytest.approx(1.2 / 3.2, abs=0.03)


def test_random_detect_with_fair_queue_has_one_average_for_all_flows_which_is_reported():
    fair = "queue-limit 128 packets\n  fair-queue"
    early = (
        "random-detect dscp-based\n  random-detect exponential-weighting-constant 4\n  random-detect dscp af23 12 16 1"
    )
    text = LIMITS.format(line=f"{fair}\n  {early}")
    found = read("mqc", text, TWO, overhead="none")
    inside = found.check().document["switches"]["ce"]["ports"]["sink"]["discipline"]["classes"][0]["discipline"]
    assert inside["kind"] == "fair-queue-wred"
    assert inside["wred"]["profiles"]["af23"] == {"min": 12, "max": 16, "denominator": 1}
    assert any("no public source" in message for _, message in messages(found, "assumed"))
    assert not found.not_simulated
    # af21 sends 0.8 Mbit/s, less than half of the link. A quarter of the 1.6 Mbit/s of af23 must be dropped, so that
    # the average settles at a quarter of the way from 12 to 16 packets. By Little's law, with 66.7 and 100 packets per
    # second, 13 packets are queued, in addition to the one in transmission.
    table = TWO.replace("af21,1.6", "af21,0.8")
    report = simulated("mqc", text, table, overhead="none", duration="60s")
    assert report.loss("first") < 0.002
    assert report.loss("last") == pytest.approx(0.4 / 1.6, abs=0.03)
    waiting = 66.7 * report.mean_delay_s("first") + 100 * report.mean_delay_s("last") - 1
    assert waiting == pytest.approx(13, abs=1)
    assert report.mean_delay_s("last") < 0.14
    # Without random-detect the flow of af23 fills its own limit, a quarter of 128 packets; its packets are then dropped
    # until a quarter of that is left: 8 to 32 packets at 100 per second.
    report = simulated("mqc", LIMITS.format(line=fair), table, overhead="none", duration="60s")
    assert report.mean_delay_s("last") == pytest.approx(0.2, abs=0.03)


# --- Disciplines of Linux ---

HFSC = """
tc qdisc add dev eth0 root handle 1: hfsc default 20
tc class add dev eth0 parent 1: classid 1:1 hfsc sc rate 2mbit ul rate 2mbit
tc class add dev eth0 parent 1:1 classid 1:10 hfsc rt umax 1500b dmax 10ms rate 500kbit ls rate 500kbit
tc class add dev eth0 parent 1:1 classid 1:20 hfsc ls rate 1500kbit
tc filter add dev eth0 parent 1: protocol ip u32 match ip tos 0xb8 0xfc flowid 1:10
"""
SHORT = "tc qdisc add dev eth0 parent 1:20 pfifo limit 5\n"  # full within the warm-up
FOUR = HEAD + "voice,ef,80kbit/s,200,4,cbr\nbulk,0,5Mbit/s,1500,1,cbr\n"


def test_service_curves_of_tc_guarantee_a_delay_and_share_the_rest_of_the_upper_limit():
    found = read("tc", HFSC, FOUR, rate="10Mbit/s")
    assert not found.not_simulated
    assert found.classes == {"1:10": ["voice"], "1:20": ["bulk"]}
    report = simulated("tc", HFSC + SHORT, FOUR, rate="10Mbit/s")
    # Four calls count 200 · 214 B per second, 342.4 kbit/s; packets of 1514 B have the rest of 2 Mbit/s.
    assert report.loss("voice") == 0
    assert report.throughput_bps("bulk") == pytest.approx((2e6 - 342.4e3) * 1500 / 1514, rel=0.01)
    # Four packets that arrive together are served in 5.7 ms at 1.2 Mbit/s, the slope of 1500 B in 10 ms; a frame of
    # bulk in transmission adds 1.2 ms.
    assert report.max_delay_s("voice") < 5.8e-3 + 1.3e-3


def test_packets_without_an_hfsc_class_are_dropped_with_a_warning():
    text = HFSC.replace(" default 20", "")
    found = read("tc", text, FOUR, rate="10Mbit/s")
    assert any("dropped" in message for _, message in messages(found, "warning"))
    assert simulated("tc", text, FOUR, rate="10Mbit/s", duration="5s").loss("bulk") == 1


def test_netem_has_the_configured_delay_and_loss():
    text = "tc qdisc add dev eth0 root netem delay 40ms loss 2%\n"
    report = simulated("tc", text, HEAD + "voice,ef,800kbit/s,200,4,cbr\n", rate="100Mbit/s", overhead="none")
    # 200 B take 16 µs on the link; the loss of 36,000 packets in 18 s is 2 %, and three standard errors are 0.22 %.
    assert report.mean_delay_s("voice") == pytest.approx(40e-3, abs=0.1e-3)
    assert report.loss("voice") == pytest.approx(0.02, abs=0.003)
    assert not read("tc", text, FOUR, rate="100Mbit/s").not_simulated


@pytest.mark.parametrize(
    "words",
    [
        "delay 10ms 1ms 25%",
        "loss 1% 50%",
        "duplicate 1%",
        "corrupt 0.1%",
        "delay 5ms reorder 25% 50%",
        "loss state 1%",
        "delay 9ms 1ms distribution pareto",
        "slot 1ms 2ms",
        "rate 1mbit 20 48 5",
    ],
)
def test_options_of_netem_that_are_not_simulated_are_reported(words):
    found = read("tc", f"tc qdisc add dev eth0 root netem {words}\n", FOUR, rate="100Mbit/s")
    assert found.not_simulated
    assert not messages(found, "error")


def test_fq_shares_equally_and_queues_at_most_a_hundred_packets_of_a_flow():
    text = "tc qdisc add dev eth0 root fq\n"
    table = HEAD + "thin,ef,200kbit/s,200,1,cbr\nfat,0,30Mbit/s,1500,1,cbr\nother,0,30Mbit/s,500,1,cbr\n"
    found = read("tc", text, table, rate="10Mbit/s", overhead="none")
    assert not found.not_simulated
    short = "tc qdisc add dev eth0 root fq flow_limit 5\n"
    report = simulated("tc", short, table, rate="10Mbit/s", overhead="none", duration="6s")
    assert report.loss("thin") == 0
    for group in ("fat", "other"):
        assert report.throughput_bps(group) == pytest.approx(4.9e6, rel=0.01)
    report = simulated("tc", text, table, rate="10Mbit/s", overhead="none", duration="6s")
    # The fat flow has a hundred packets in its queue, served at 4.9 Mbit/s.
    assert report.mean_delay_s("fat") == pytest.approx(100 * 1500 * 8 / 4.9e6, rel=0.03)


def test_equal_queues_of_mq_are_simulated_as_one_and_different_ones_leave_the_verdict_open():
    alike = "tc qdisc add dev eth0 root handle 1: mq\n" + "".join(
        f"tc qdisc add dev eth0 parent 1:{n} fq_codel\n" for n in (1, 2)
    )
    found = read("tc", alike, FOUR, rate="10Mbit/s")
    assert not found.not_simulated
    assert any("one" in message and line == 1 for line, message in messages(found, "assumed"))
    differ = alike.replace("parent 1:2 fq_codel", "parent 1:2 pfifo limit 10")
    assert (
        judge(read("tc", differ, FOUR, rate="10Mbit/s"), duration="3s", replications=2).outcome
        == "as-far-as-understood"
    )


def test_linux_counts_short_frames_without_the_padding_that_the_link_carries():
    # 40 B and 14 B of Ethernet header count 54 B, not 60: 160 kbit/s are 160 · 40/54 = 118.5 kbit/s at layer 3.
    # (`qdisc_pkt_len_init` takes the length before the discipline; drivers pad frames after it.)
    text = (
        "tc qdisc add dev eth0 root handle 1: htb default 20\n"
        "tc class add dev eth0 parent 1: classid 1:20 htb rate 160kbit\n"
        "tc qdisc add dev eth0 parent 1:20 pfifo limit 5\n"
    )
    table = HEAD + "short,0,400kbit/s,40,1,cbr\n"
    assert simulated("tc", text, table).throughput_bps("short") == pytest.approx(160e3 * 40 / 54, rel=0.01)
    # The link carries 64 B with FCS and 20 B of preamble and gap: at 84 kbit/s these are 125 packets per second.
    text = "tc qdisc add dev eth0 root pfifo limit 5\n"
    report = simulated("tc", text, table, rate="84kbit/s")
    assert report.throughput_bps("short") == pytest.approx(125 * 40 * 8, rel=0.01)


# --- Entries that never apply ---

SHADOWED = """
ip access-list extended CALLS
 permit udp 10.0.0.0 0.255.255.255 any
 deny udp 10.1.0.0 0.0.255.255 any range 16384 32767
 permit tcp any any eq 5060
 permit tcp host 10.0.0.9 any eq 5060
class-map match-any VOICE
 match access-group name CALLS
 match precedence 5
 match dscp ef
policy-map WAN
 class VOICE
  priority 400
interface Serial0/0
 bandwidth 2000
 service-policy output WAN
"""


def test_entries_and_conditions_that_an_earlier_line_covers_are_named_with_both_lines():
    found = read("mqc", SHADOWED, FOUR)
    warned = [(line, message) for line, message in messages(found, "warning") if "never applies" in message]
    assert [line for line, _ in warned] == [4]
    assert "line 3" in warned[0][1]
    assert "permits" in warned[0][1]
    harmless = {line: message for line, message in messages(found, "ignored") if "line" in message}
    assert "line 5" in harmless[6]
    assert "line 9" in harmless[10]
