"""Named flows behind configurations of Junos, compared with numbers computed by hand or published by Juniper.

Each number is derived in the test. Packet sizes in the tables are of layer 3; on Ethernet, queues and shapers count
14 B per packet in addition, policers of firewall filters do not.
"""

from pathlib import Path

import pytest
from click.testing import CliRunner

import tailback
from tailback.cli import cli
from tailback.router.policy import import_configuration
from tailback.router.verdict import judge

SAMPLES = Path(__file__).parents[2] / "crates" / "router" / "tests" / "junos"
HEAD = "name,dscp,rate,packet,count,model\n"


def sample(name, table, **options):
    """Import a sample file with a traffic table."""
    return import_configuration("junos", (SAMPLES / name).read_text(), traffic=table, **options)


def read(text, table, **options):
    """Import a text with a traffic table."""
    return import_configuration("junos", text, traffic=table, **options)


def report_of(found, duration="4s"):
    """Run one replication with a warm-up of 1 s, and return its report."""
    return tailback.run(found.check().set(duration=duration, warmup="1s"), replications=1, threads=1).reports[0]


def messages(found, level, affects=None):
    """Return the messages of a level, with `affects` only those that do or do not affect the verdict."""
    return [notice.message for notice in found.notices if notice.level == level and affects in {None, notice.affects}]


def class_of(found, group):
    """Return the class of a group of flows."""
    return next(name for name, groups in found.classes.items() if group in groups)


def port_of(found):
    """Return the port with the policy."""
    return found.check().document["switches"]["ce"]["ports"]["sink"]


FOUR = """
class-of-service {
    classifiers { dscp lan { import default;
        forwarding-class assured-forwarding { loss-priority low code-points [ af31 ]; } } }
    interfaces {
        fe-0/0/0 { scheduler-map wan; %s }
        fe-0/0/1 { unit 0 { classifiers { dscp lan; } } }
    }
    scheduler-maps { wan {
        forwarding-class best-effort scheduler be;
        forwarding-class assured-forwarding scheduler af;
        forwarding-class expedited-forwarding scheduler ef;
        forwarding-class network-control scheduler nc; } }
    schedulers {
        be { transmit-rate %s; buffer-size temporal 50k; %s }
        af { transmit-rate %s; buffer-size temporal 50k; %s }
        ef { transmit-rate percent 20; buffer-size temporal 50k; priority strict-high; %s }
        nc { transmit-rate percent 5; buffer-size temporal 50k; }
    }
}
"""
DEFAULTS = {"port": "", "be": "percent 25", "be_more": "", "af": "percent 50", "af_more": "", "ef": ""}


def four(**own):
    """Return the configuration `FOUR`, with values in place of `DEFAULTS`."""
    values = DEFAULTS | own
    return FOUR % tuple(values[key] for key in ("port", "be", "be_more", "af", "af_more", "ef"))


# --- Shares and priorities ---


def test_the_throughput_is_that_of_junipers_table_of_excess_bandwidth():
    # "Excess Rate and Excess Priority Configuration Examples", table 1: of 600, 500, 500 and 500 Mbit/s on 1 Gbit/s,
    # queues of 20 and 10 % with high priority get 566.67 and 283.33, queues of 10 and 5 % with low priority 100 and 50.
    # Here all rates are a tenth of the published ones.
    table = HEAD + "q0,8,60Mbit/s,1500,1,poisson\nq1,16,50Mbit/s,1500,1,poisson\n"
    table += "q2,24,50Mbit/s,1500,1,poisson\nq3,32,50Mbit/s,1500,1,poisson\n"
    found = sample("excess-rate-example.conf", table, rate="100Mbit/s", overhead="none")
    report = report_of(found)
    for name, offered, carried in [("q0", 60, 56.667), ("q1", 50, 28.333), ("q2", 50, 10), ("q3", 50, 5)]:
        assert (1 - report.loss(name)) * offered == pytest.approx(carried, rel=0.02), name
    assert not found.not_simulated


FLOODS = "bulk,0,100Mbit/s,1486,1,poisson\ndata,af31,100Mbit/s,1486,1,poisson\n"


def test_saturated_queues_of_one_priority_share_by_their_transmit_rates():
    table = HEAD + "calls,ef,80kbit/s,186,100,cbr\n" + FLOODS
    report = report_of(read(four(), table, overhead="14"))
    # Calls take 8 · 200/186 = 8.60 of 100 Mbit/s; the rest is shared 25 : 50 by bulk and data.
    remaining = 100 - 8 * 200 / 186
    for name, share in [("bulk", 1 / 3), ("data", 2 / 3)]:
        carried = (1 - report.loss(name)) * 100 * 1500 / 1486
        assert carried == pytest.approx(remaining * share, rel=0.02), name
    assert report.loss("calls") == 0


def test_a_packet_of_a_strict_queue_waits_for_at_most_one_packet_of_another_queue():
    table = HEAD + "calls,ef,80kbit/s,186,1,cbr\n" + FLOODS
    report = report_of(read(four(), table, overhead="14"))
    # The residual transmission of a packet of 1500 B takes 60 us on average and at most 120 us, the call's own packet
    # 16 us.
    assert report.mean_delay_s("calls") == pytest.approx(60e-6 + 16e-6, abs=25e-6)
    assert report.max_delay_s("calls") < 145e-6


def test_a_high_priority_queue_above_its_rate_is_served_after_queues_within_theirs():
    # Data has 50 % guaranteed with high priority, bulk 25 % with low priority; the remaining 25 % go to data alone.
    found = read(four(af_more="priority high;", be_more="priority low;"), HEAD + FLOODS, overhead="14")
    assert port_of(found)["discipline"]["kind"] == "htb"
    report = report_of(found)
    for name, carried in [("bulk", 25), ("data", 75)]:
        assert (1 - report.loss(name)) * 100 * 1500 / 1486 == pytest.approx(carried, rel=0.02), name


def test_exact_limits_a_queue_to_its_rate_on_an_idle_link():
    found = read(four(af="10m exact"), HEAD + "data,af31,40Mbit/s,1486,1,poisson\n", overhead="14")
    report = report_of(found)
    assert (1 - report.loss("data")) * 40 * 1500 / 1486 == pytest.approx(10, rel=0.02)
    # A full queue has 50 ms at 10 Mbit/s, 62.5 kB.
    assert report.mean_delay_s("data") == pytest.approx(50e-3, rel=0.05)


def test_rate_limit_drops_the_excess_and_queues_nothing():
    found = read(four(af="10m rate-limit"), HEAD + "data,af31,40Mbit/s,1486,1,poisson\n", overhead="14")
    report = report_of(found)
    assert (1 - report.loss("data")) * 40 * 1500 / 1486 == pytest.approx(10, rel=0.03)
    assert report.mean_delay_s("data") < 2e-3
    assert any("rate-limit" in message for message in messages(found, "assumed", affects=True))


def test_the_shaping_rate_of_a_queue_is_its_maximum_rate():
    found = read(four(af_more="shaping-rate percent 60;"), HEAD + "data,af31,100Mbit/s,1486,1,poisson\n", overhead="14")
    assert (1 - report_of(found).loss("data")) * 100 * 1500 / 1486 == pytest.approx(60, rel=0.02)


def test_a_remainder_is_the_rate_that_other_queues_leave():
    # 50, 20 and 5 % of 100 leave 25.
    found = read(four(be="remainder"), HEAD + FLOODS, overhead="14")
    classes = port_of(found)["discipline"]
    assert classes["default"]["bandwidth"] == "25%"
    report = report_of(found)
    assert (1 - report.loss("bulk")) * 100 * 1500 / 1486 == pytest.approx(100 / 3, rel=0.02)


def test_percentages_are_of_the_rate_of_the_port_shaper():
    found = read(four(port="shaping-rate 10m;"), HEAD + FLOODS, overhead="14")
    port = port_of(found)
    assert port["shaper"]["rate"] == "10000000bit/s"
    report = report_of(found)
    for name, carried in [("bulk", 10 / 3), ("data", 20 / 3)]:
        assert (1 - report.loss(name)) * 100 * 1500 / 1486 == pytest.approx(carried, rel=0.02), name


def test_without_a_scheduler_map_best_effort_has_95_and_network_control_5_percent():
    table = HEAD + "bulk,0,20Mbit/s,1486,1,poisson\nrouting,cs6,20Mbit/s,1486,1,poisson\n"
    found = sample("default-schedulers.set", table, overhead="14")
    report = report_of(found, "8s")
    for name, carried in [("bulk", 9.5), ("routing", 0.5)]:
        assert (1 - report.loss(name)) * 20 * 1500 / 1486 == pytest.approx(carried, rel=0.03), name
    assumed = messages(found, "assumed", affects=True)
    assert any("95 %" in message for message in assumed)
    assert any("ipprec-compatibility" in message for message in assumed)


def test_an_interface_without_statements_has_the_default_queues():
    table = HEAD + "bulk,0,2Gbit/s,1486,1,poisson\nrouting,cs6,1Mbit/s,1486,1,poisson\n"
    found = sample("default-schedulers.set", table, interface="ge-0/0/1")
    assert class_of(found, "routing") == "network-control"
    assert {own.get("name") for own in port_of(found)["discipline"]["classes"]} == {"network-control"}


# --- Classification ---


def test_voice_without_a_classifier_is_best_effort():
    text = four().replace("classifiers { dscp lan; }", "")
    found = read(text, HEAD + "calls,ef,80kbit/s,186,100,cbr\nrouting,cs6,10kbit/s,100,1,cbr\n")
    assert (class_of(found, "calls"), class_of(found, "routing")) == ("best-effort", "network-control")


def test_the_column_input_selects_the_classifier():
    text = four().replace("fe-0/0/1 {", "fe-0/0/2 { unit 0 { classifiers { inet-precedence default; } } } fe-0/0/1 {")
    head = "name,dscp,rate,packet,count,model,input\n"
    rows = (
        "a,af11,1Mbit/s,1000,1,cbr,fe-0/0/1\nb,cs5,1Mbit/s,1000,1,cbr,fe-0/0/1\nc,cs5,1Mbit/s,1000,1,cbr,fe-0/0/2.0\n"
    )
    found = read(text, head + rows)
    # The DSCP classifier of fe-0/0/1 does not map cs5; the precedence classifier of fe-0/0/2 maps precedence 5.
    assert class_of(found, "a") == "assured-forwarding"
    assert class_of(found, "b") == "best-effort"
    assert class_of(found, "c") == "expedited-forwarding"


def test_a_row_that_names_a_class_gets_a_code_point_of_that_class():
    found = read(four(), "name,class,rate,packet,count,model\ncalls,expedited-forwarding,80kbit/s,186,1,cbr\n")
    assert class_of(found, "calls") == "expedited-forwarding"
    assert found.check().document["flows"][0]["dscp"] == "ef"


EDGE = (
    "name,dscp,rate,packet,count,model,protocol,destination,destination-port,input\n"
    "calls,0,80kbit/s,200,40,cbr,udp,198.51.100.7,16400,ge-0/0/1.100\n"
    "mail,0,1Mbit/s,1000,1,cbr,tcp,198.51.100.7,25,ge-0/0/1.100\n"
    "web,0,1Mbit/s,1000,1,cbr,tcp,198.51.100.7,80,ge-0/0/1.100\n"
    "other,0,2Mbit/s,1000,1,cbr,tcp,198.51.100.7,80,ge-0/0/1.200\n"
)


def test_an_input_filter_classifies_polices_and_discards():
    found = sample("edge-filter-and-policers.conf", EDGE)
    assert found.interface == "ge-0/0/0"
    assert class_of(found, "calls") == "expedited-forwarding"
    report = report_of(found)
    # 40 · 80 kbit/s = 3.2 Mbit/s at layer 3 through a policer of 2 Mbit/s: policers do not count the Ethernet header
    # ("Understanding the Frame Length for Policing Packets").
    assert report.loss("calls") == pytest.approx(1 - 2 / 3.2, abs=0.02)
    assert report.loss("mail") == 1
    assert report.loss("web") == 0
    assert report.loss("other") == pytest.approx(0.5, abs=0.02)
    assert not found.not_simulated


def test_packets_that_no_term_matches_are_discarded():
    text = (SAMPLES / "edge-filter-and-policers.conf").read_text()
    found = read(text.replace("term rest {", "inactive: term rest {"), EDGE)
    report = report_of(found)
    assert report.loss("web") == 1
    assert report.loss("other") == pytest.approx(0.5, abs=0.02)


def test_an_output_filter_polices_a_forwarding_class():
    table = "name,dscp,rate,packet,count,model,input\ncalls,cs5,80kbit/s,200,12,cbr,fe-0/1/0\n"
    table += "bulk,0,3Mbit/s,1000,1,poisson,fe-0/1/0\n"
    found = sample("output-filter-and-three-colours.conf", table)
    report = report_of(found, "10s")
    # 960 kbit/s at layer 3 through a policer of 768 kbit/s.
    assert report.loss("calls") == pytest.approx(0.2, abs=0.02)
    # On the link a packet has 7 B of HDLC, flag and FCS in addition.
    remaining = 2048 - 768 * 207 / 200
    assert (1 - report.loss("bulk")) * 3000 == pytest.approx(remaining * 1000 / 1007, rel=0.03)


def test_a_two_rate_policer_discards_red_packets():
    table = "name,dscp,rate,packet,count,model,input\ndata,0,1.6Mbit/s,1000,1,cbr,fe-0/1/1\n"
    found = sample("output-filter-and-three-colours.conf", table)
    assert report_of(found, "10s").loss("data") == pytest.approx(1 - 1 / 1.6, abs=0.02)


FILTERED = """
interfaces { fe-0/0/0 { unit 0 { family inet { filter { output leaving; } } } }
             fe-0/0/1 { unit 0 { family inet { filter { input coming; } } } } }
firewall { family inet {
    filter coming {
        term first { from { protocol udp; } then { forwarding-class assured-forwarding; next term; } }
        term second { from { destination-port 5060; } then { forwarding-class expedited-forwarding; accept; } }
        term rest { then accept; } }
    filter leaving {
        term backup { from { source-address { 10.9.0.0/16; 10.9.1.0/24 except; } }
            then { forwarding-class network-control; } }
        term rest { then accept; } } } }
"""


def test_a_term_with_next_term_and_an_output_filter_classify():
    head = "name,dscp,rate,packet,count,model,protocol,source,destination-port\n"
    rows = [
        ("calls", "udp,10.1.0.1,5060", "expedited-forwarding"),
        ("stream", "udp,10.1.0.1,9000", "assured-forwarding"),
        ("web", "tcp,10.1.0.1,80", "best-effort"),
        ("backup", "tcp,10.9.2.1,80", "network-control"),
        ("not-backup", "tcp,10.9.1.1,80", "best-effort"),
    ]
    table = head + "".join(f"{name},0,100kbit/s,500,1,cbr,{columns}\n" for name, columns, _ in rows)
    found = read(four() + FILTERED, table)
    for name, _, chosen in rows:
        assert class_of(found, name) == chosen, name
    assert not found.not_simulated


POLICED = """
interfaces { fe-0/0/0 { unit 0 { family inet { filter { output leaving; } policer { output slow; } } } } }
firewall {
    policer slow { if-exceeding { bandwidth-limit 1m; burst-size-limit 15k; } then discard; }
    family inet { filter leaving {
        term mail { from { protocol tcp; destination-port 25; } then %s; }
        term rest { then accept; } } } }
"""


def test_the_output_filter_precedes_the_output_policer():
    table = "name,dscp,rate,packet,count,model,protocol,destination-port\n"
    table += "mail,0,500kbit/s,500,1,cbr,tcp,25\nweb,0,2Mbit/s,500,1,cbr,tcp,80\n"
    found = read(four() + POLICED % "discard", table)
    report = report_of(found)
    # The filter discards all mail, so that the policer has 2 Mbit/s for its 1 Mbit/s.
    assert report.loss("mail") == 1
    assert report.loss("web") == pytest.approx(0.5, abs=0.02)
    assert not found.not_simulated
    # In a router both policers act on mail, here only that of the filter.
    twice = read(four() + POLICED % "policer slow", table)
    assert any("output policer `slow`" in message for message in messages(twice, "unsupported"))


# --- Drop profiles ---


def test_drop_profiles_by_loss_priority_protect_in_profile_packets():
    table = HEAD + "inside,af31,100Mbit/s,1486,1,poisson\noutside,af32,20Mbit/s,1486,1,poisson\n"
    found = sample("drop-profiles-by-loss-priority.conf", table, overhead="14")
    profiles = port_of(found)["discipline"]["default"]["discipline"]["profiles"]
    # 50 ms at 90 Mbit/s are 562.5 kB, 378 packets of 1486 B: the ramps are 80 to 100 % and 20 to 60 % of them.
    assert (profiles["af31"]["min"], profiles["af31"]["max"]) == (302, 378)
    assert (profiles["af32"]["min"], profiles["af32"]["max"]) == (75, 226)
    report = report_of(found)
    # In-profile packets fill the queue up to their own ramp, at which all out-of-profile packets are dropped.
    assert report.loss("outside") > 0.99
    assert (1 - report.loss("inside")) * 100 * 1500 / 1486 == pytest.approx(100, rel=0.02)
    assert not found.not_simulated


def test_loss_priorities_set_by_a_filter_are_reported_as_not_simulated():
    text = (SAMPLES / "drop-profiles-by-loss-priority.conf").read_text()
    text += "firewall { family inet { filter f { term t { then { loss-priority high; accept; } } } } }\n"
    found = read(text, HEAD + "inside,af31,1Mbit/s,1486,1,poisson\n")
    assert any(
        "loss priority, which the code point does not determine" in notice.message for notice in found.not_simulated
    )


# --- Forms ---


def test_braces_and_set_lines_give_the_same_scenario():
    braces = "class-of-service { schedulers { s { transmit-rate percent 30 exact;\n"
    braces += "buffer-size temporal 20k; priority high; } }\n"
    braces += "scheduler-maps { m { forwarding-class best-effort scheduler s; } }\n"
    braces += "interfaces { ge-0/0/0 { scheduler-map m; shaping-rate 20m; } } }\n"
    lines = (
        "set class-of-service schedulers s transmit-rate percent 30\n"
        "set class-of-service schedulers s transmit-rate exact\n"
        "set class-of-service schedulers s buffer-size temporal 20k priority high\n"
        "set class-of-service scheduler-maps m forwarding-class best-effort scheduler s\n"
        "edit class-of-service interfaces\nset ge-0/0/0 scheduler-map m\nset ge-0/0/0 shaping-rate 20m\n"
    )
    table = HEAD + "bulk,0,50Mbit/s,1486,1,poisson\n"
    one, other = read(braces, table), read(lines, table)
    assert one.policies == other.policies
    assert one.check().document == other.check().document


def test_a_statement_takes_precedence_over_that_of_a_group():
    groups = "groups { g { class-of-service { interfaces { <fe-*> { shaping-rate 5m; } }\n"
    groups += "schedulers { be { transmit-rate percent 1; } } } } } apply-groups g;\n"
    found = read(groups + four(), HEAD + "bulk,0,1Mbit/s,1000,1,cbr\n", interface="fe-0/0/0")
    port = port_of(found)
    assert port["shaper"]["rate"] == "5000000bit/s"
    # The statement of the scheduler, 25 %, takes precedence over 1 % of the group.
    assert port["discipline"]["default"]["bandwidth"] == "1250000bit/s"


def test_a_session_log_is_replayed():
    found = sample("session-log.txt", HEAD + "calls,ef,80kbit/s,186,1,cbr\nbulk,0,1Mbit/s,1000,1,cbr\n")
    port = port_of(found)
    # The session deactivates the shaping rate and replaces the rate of 20 %.
    assert "shaper" not in port
    assert class_of(found, "calls") == "expedited-forwarding"
    calls = next(own for own in port["discipline"]["classes"] if own["name"] == "expedited-forwarding")
    assert (calls["rate"], calls["prio"]) == ("1000000000bit/s", 1)
    assert not found.errors


# --- Parts that are not simulated ---


UNSUPPORTED = (SAMPLES / "unsupported-features.conf").read_text()


@pytest.mark.parametrize(
    "line",
    [
        "no-fragmentation",
        "scheduler-map-chassis",
        "fragmentation-map voice-first",
        "        be {",
        "excess-rate percent 20",
        "excess-priority none",
        "overhead-accounting",
        "colour blue",
        "pfc;",
        "egress-shaping-overhead",
        "shaping-rate 1m",
        "input-list",
        "member-range",
    ],
)
def test_each_line_that_is_not_simulated_is_reported_and_affects_the_verdict(line):
    found = read(UNSUPPORTED, HEAD + "bulk,0,1Mbit/s,1000,1,cbr\n")
    numbers = {number for number, text in enumerate(UNSUPPORTED.splitlines(), 1) if line in text}
    lines = {notice.line for notice in found.not_simulated}
    assert lines & numbers, (line, sorted(lines))


def test_the_verdict_is_open_if_a_part_is_not_simulated(tmp_path):
    (tmp_path / "router.conf").write_text(UNSUPPORTED)
    (tmp_path / "traffic.csv").write_text(HEAD + "calls,ef,80kbit/s,200,2,cbr\n")
    arguments = ["verdict", "junos", str(tmp_path / "router.conf"), "--traffic", str(tmp_path / "traffic.csv")]
    arguments += ["--duration", "3s", "--reps", "2", "--plot", str(tmp_path / "plot.png")]
    done = CliRunner().invoke(cli, arguments, standalone_mode=False)
    assert done.return_value == 5, done.output
    assert "as far as the configuration is understood" in done.output


def test_voice_survives_in_a_configuration_that_is_simulated_completely():
    table = "name,dscp,rate,packet,count,model\ncalls,ef,80kbit/s,200,10,cbr\nbulk,0,200Mbit/s,1500,1,poisson\n"
    found = read(four(), table)
    assert not found.not_simulated
    assert judge(found, duration="3s", replications=2).outcome == "survives"


def test_a_part_that_the_port_does_not_use_does_not_affect_its_verdict():
    text = four() + "firewall { family inet { filter unused { term t { from { tcp-established; } then accept; } } } }\n"
    found = read(text, HEAD + "calls,ef,80kbit/s,200,10,cbr\n")
    assert any("tcp-established" in message for message in messages(found, "unsupported", affects=False))
    assert not found.not_simulated


@pytest.mark.parametrize("name", ["error-missing-names.conf", "error-braces.conf"])
def test_a_configuration_that_no_router_accepts_is_an_error(name):
    assert sample(name, HEAD + "bulk,0,1Mbit/s,1000,1,cbr\n").errors


def test_an_alias_that_is_not_bits_is_an_error_and_not_replaced_by_the_default_alias():
    # `ef` is a default alias of 101110 (Junos OS Class of Service User Guide, "Default CoS Values and Aliases").
    text = four() + "class-of-service { code-point-aliases { dscp { ef 10111; } } }\n"
    found = read(text, HEAD + "bulk,0,1Mbit/s,1000,1,cbr\n")
    assert any("alias `ef`" in error.message for error in found.errors)


def test_the_default_buffer_size_is_reported_as_an_assumption():
    text = four().replace("buffer-size temporal 50k;", "", 1)
    found = read(text, HEAD + "bulk,0,1Mbit/s,1000,1,cbr\n")
    assert any("500 ms" in message for message in messages(found, "assumed", affects=True))
