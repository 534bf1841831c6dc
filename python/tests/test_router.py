"""Import, export and verdicts of router configurations, and results of flows against hand calculation."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

import tailback
from tailback import _native
from tailback.cli import cli
from tailback.errors import UsageError
from tailback.gallery.registry import experiment
from tailback.router.objectives import objective_of, service
from tailback.router.policy import (
    ConfigurationError,
    export_configuration,
    import_configuration,
    translate_configuration,
)
from tailback.router.verdict import judge
from tailback.scenario import Scenario

SAMPLES = Path(__file__).parents[2] / "crates/router/tests"
REFERENCE = Path(__file__).parents[2] / "docs/examples/edge-v.txt"
"""Configuration v of the gallery's edge-configs as Cisco text."""
REFUSED_BY_EXPORT = {
    # In htb the rates of classes may exceed the link; in a Cisco policy reservations may not.
    ("flower-ports.sh", "mqc"): "reserve 350 %",
    ("warnings-htb.sh", "mqc"): "reserve 200 %",
    # A plain FIFO has no policy.
    ("bfifo-root.sh", "mqc"): "there is no policy",
}
"""Samples that the exporter refuses, by file and language, with text of the error."""
TRAFFIC = "name,dscp,rate,packet,count,model\ncalls,ef,80kbit/s,200,10,cbr\nfiles,0,4Mbit/s,1500,1,poisson\n"
LLQ = """
class-map VOICE
 match dscp ef
policy-map WAN
 class VOICE
  priority {kilobits}
 class class-default
  fair-queue
interface Serial0/0
 bandwidth 2000
 service-policy output WAN
"""


def table_1() -> str:
    """Return the traffic of table 1 of the gallery's edge-configs as a traffic table."""
    rows = [
        ("ef", 1.5, 10),
        ("af41", 3, 10),
        ("af31", 2.502, 4),
        ("af32", 3.336, 3),
        ("af33", 3.336, 3),
        ("af21", 3.336, 4),
        ("af22", 4.446, 3),
        ("af23", 4.446, 3),
        ("af11", 0.666, 4),
        ("af12", 0.888, 3),
        ("af13", 0.888, 3),
    ]
    return "name,dscp,rate,packet,count\n" + "".join(f"{n},{n},{r}Mbit/s,1500,{c}\n" for n, r, c in rows)


def samples() -> list[tuple[str, Path]]:
    """Return language and file of every sample configuration."""
    return [("mqc", f) for f in [REFERENCE, *sorted((SAMPLES / "mqc").glob("*.txt"))]] + [
        ("tc", f) for f in sorted((SAMPLES / "tc").glob("*.sh"))
    ]


def run_cli(*arguments: str):
    """Run the command line in this process."""
    return CliRunner().invoke(cli, list(arguments), standalone_mode=False)


def test_the_reference_configuration_in_cisco_text_gives_the_digest_of_the_native_scenario():
    text = REFERENCE.read_text()
    imported = import_configuration("mqc", text, traffic=table_1(), overhead="0").check().document
    native = Scenario.from_toml(experiment("edge-configs").read("scenario.toml"))
    document = native.document
    # The native scenario gets the policy, class maps and flows of the import, and keeps its links.
    document["switches"]["ce2"]["ports"]["ce1"] = imported["switches"]["ce"]["ports"]["sink"]
    document["class-maps"] = imported["class-maps"]
    flows = [{**flow, "from": "tester", "to": "sink"} for flow in imported["flows"]]
    document["flows"] = flows
    translated = Scenario.from_document(document).set(duration="3s", warmup="1s")
    expected = native.set(duration="3s", warmup="1s")
    assert tailback.run(translated, replications=2).digest == tailback.run(expected, replications=2).digest


@pytest.mark.parametrize(("language", "file"), samples(), ids=lambda value: getattr(value, "name", value))
def test_every_sample_is_refused_with_a_reason_or_runs(language, file):
    found = import_configuration(language, file.read_text(), duration="4s")
    if any("is not known; give it with --rate" in str(error) for error in found.errors):
        found = import_configuration(language, file.read_text(), rate="10Mbit/s", duration="4s")
    if found.scenario is None:
        assert found.errors
        with pytest.raises(ConfigurationError):
            found.check()
        return
    report = tailback.run(found.scenario, replications=1, threads=1).reports[0]
    assert report.utilisation("ce->sink") > 0
    for to in ("mqc", "tc"):
        written = export_configuration(to, found.scenario)
        refused = REFUSED_BY_EXPORT.get((file.name, to))
        if refused:
            assert written.text == ""
            assert any(refused in str(error) for error in written.errors), written.errors
            continue
        assert not written.errors, [str(error) for error in written.errors]
        again = import_configuration(to, written.text, rate="1Gbit/s" if to == "tc" else None)
        errors = [str(notice) for notice in again.notices if notice.level == "error"]
        assert not errors, written.text


def test_voice_survives_within_its_priority_and_not_beyond():
    good = judge(import_configuration("mqc", LLQ.format(kilobits=900), traffic=TRAFFIC), duration="6s", replications=3)
    assert good.survives
    assert good.sentences()[0] == "Voice survives."
    calls = next(row for row in good.rows if row.group == "calls")
    assert (calls.policy_class, calls.is_voice, calls.code_point) == ("VOICE", True, 46)
    assert calls.mos is not None
    assert calls.mos.mean > 4
    bad = judge(import_configuration("mqc", LLQ.format(kilobits=400), traffic=TRAFFIC), duration="6s", replications=3)
    calls = next(row for row in bad.rows if row.group == "calls")
    # 800 kbit/s are offered, and on a congested link the policer passes 400.
    assert calls.loss.mean == pytest.approx(0.5, abs=0.05)
    assert "loss" in calls.misses
    assert not bad.survives


def test_the_service_of_a_packet_follows_from_its_code_point():
    assert [service(code) for code in (46, 34, 26, 18, 10, 8, 0)] == [0, 1, 3, 3, 4, None, None]


def test_access_lists_are_applied_to_the_rows_of_the_table():
    text = (SAMPLES / "mqc/wan-edge-t1-voice.txt").read_text()
    table = (
        "name,dscp,rate,packet,protocol,dport,source,destination,sport\n"
        "calls,0,64kbit/s,200,udp,16400,10.0.0.1,10.1.0.1,16400\n"
        "setup,0,8kbit/s,100,tcp,1720,10.0.0.1,10.1.0.1,40000\n"
        "web,0,1Mbit/s,1500,tcp,80,10.0.0.1,10.1.0.1,40001\n"
        "unknown,0,1kbit/s,100,,,,,\n"
    )
    found = import_configuration("mqc", text, traffic=table)
    assert found.classes == {"VOICE": ["calls"], "CALL-CONTROL": ["setup"], "class-default": ["web", "unknown"]}
    doubts = [notice for notice in found.notices if "`unknown` does not state enough" in notice.message]
    assert doubts


def test_remarks_and_errors_have_line_and_column_and_an_error_has_exit_code_3(tmp_path):
    file = tmp_path / "bad.txt"
    file.write_text("policy-map P\n class class-default\n  bandwith percent 10\n  bandwidth percent 200\n")
    done = run_cli("import", "mqc", str(file), "--json")
    found = json.loads(done.stdout)
    assert done.return_value == 3
    assert found["scenario"] is None
    levels = {notice["line"]: (notice["level"], notice["column"]) for notice in found["notices"]}
    assert levels[3] == ("unsupported", 3)
    assert levels[4] == ("error", 21)


def test_an_imported_file_runs_and_its_export_can_be_imported(tmp_path):
    policy, table, out = tmp_path / "p.txt", tmp_path / "t.csv", tmp_path / "s.toml"
    policy.write_text(LLQ.format(kilobits=900))
    table.write_text(TRAFFIC)
    done = run_cli("import", "mqc", str(policy), "--traffic", str(table), "--out", str(out), "-q")
    assert done.return_value == 0
    scenario = tailback.load(out)
    assert tailback.run(scenario.set(duration="3s"), replications=1).reports[0].loss("calls") == 0
    done = run_cli("export", "mqc", str(out), "-q")
    assert done.return_value == 0
    again = import_configuration("mqc", done.stdout, traffic=TRAFFIC)
    first, second = scenario.document, again.check().document
    assert first["switches"]["ce"]["ports"] == json.loads(again.check().native.to_json())["switches"]["ce"]["ports"]
    assert second["hosts"] == {"from-calls": {}, "from-files": {}, "sink": {}}


def test_the_verdict_command_prints_the_verdict_and_writes_a_plot(tmp_path):
    policy, table, plot = tmp_path / "p.txt", tmp_path / "t.csv", tmp_path / "v.png"
    policy.write_text(LLQ.format(kilobits=400))
    table.write_text(TRAFFIC)
    options = ("--traffic", str(table), "--plot", str(plot), "--duration", "4s", "--reps", "2")
    done = run_cli("verdict", "mqc", str(policy), *options)
    assert done.return_value == 5
    assert "Voice does not survive: calls" in done.stdout
    assert plot.read_bytes().startswith(b"\x89PNG")


def test_a_cisco_policy_translated_into_tc_can_be_imported_as_tc():
    made = translate_configuration("mqc", LLQ.format(kilobits=900), "tc")
    found = import_configuration("tc", made.text, rate="2Mbit/s")
    assert not found.errors
    assert "htb" in made.text
    assert found.scenario is not None


def test_an_unknown_language_or_port_is_an_error():
    with pytest.raises(ValueError, match="no language `vyos`"):
        _native.import_router("vyos", "")
    with pytest.raises(ValueError, match="`junos` can only be imported, not exported; use mqc or tc"):
        _native.export_router("junos", "{}")
    scenario = import_configuration("mqc", LLQ.format(kilobits=900), traffic=TRAFFIC).check()
    found = export_configuration("mqc", scenario, "nowhere:else")
    assert [notice.level for notice in found.notices] == ["error"]


# --- Results of named flows against hand calculation ---

CASES = Path(__file__).parent / "router"


def verdict_of(case: str, table: str, **options):
    """Return the import of a case with a traffic table, its verdict, and the rows of the verdict by group."""
    file = CASES / case
    language = "tc" if file.suffix == ".sh" else "mqc"
    found = import_configuration(
        language, file.read_text(), traffic=(CASES / "tables" / f"{table}.csv").read_text(), **options
    )
    made = judge(found, duration="12s", replications=3)
    return found, made, {row.group: row for row in made.rows}


def levels(found, level: str) -> list[str]:
    """Return the messages of a level."""
    return [notice.message for notice in found.notices if notice.level == level]


def test_a_policy_within_a_shaped_class_has_no_second_limit_around_it():
    # 4 calls of 80 kbit/s, with 14 B of Ethernet header per 200 B, need 342 of the 400 kbit/s of priority. Bulk traffic
    # only fills the queue of its own class.
    _, made, rows = verdict_of("mqc/23-site.txt", "t23")
    assert rows["voice"].loss.hi == 0
    assert made.survives
    # Both sites together: 12 Mbit/s minus 2 x 0.856 of voice are left for 2 x 9.5 x 1514/1500 Mbit/s of bulk.
    _, made, rows = verdict_of("mqc/21-hub.txt", "t21")
    assert rows["voice-a"].loss.hi == rows["voice-b"].loss.hi == 0
    passed = (12 - 2 * 0.8 * 214 / 200) / (2 * 9.5 * 1514 / 1500)
    assert rows["bulk-a"].loss.mean == pytest.approx(1 - passed, abs=0.02)
    assert rows["bulk-b"].loss.mean == pytest.approx(1 - passed, abs=0.02)


def test_a_hub_with_marking_on_the_lan_and_nested_priority_agrees_with_the_hand_calculation():
    examples = Path(__file__).parents[2] / "docs/examples"
    text, table = ((examples / name).read_text() for name in ("hub.txt", "hub.csv"))
    found = import_configuration("mqc", text, traffic=table)
    made = judge(found, duration="12s", replications=3)
    rows = {row.group: row for row in made.rows}
    assert made.survives
    # 12 Mbit/s minus 2 x 10 calls of 80 kbit/s, with 14 B per 200 B, are left for 2 x 9.5 Mbit/s, with 14 B per 1500 B.
    remaining = 12 - 2 * 0.8 * 214 / 200
    for site in ("a", "b"):
        voice, bulk = rows[f"voice-{site}"], rows[f"bulk-{site}"]
        assert (voice.code_point, voice.loss.hi) == (46, 0)
        assert voice.delay_p99.hi < 3 * 1514 * 8 / 12e6
        assert bulk.loss.mean == pytest.approx(1 - remaining / (2 * 9.5 * 1514 / 1500), abs=0.02)
        # The queue of 64 packets is full and served at half of the rate that voice leaves.
        assert bulk.delay.mean == pytest.approx(64 * 1514 * 8 / (remaining / 2 * 1e6), rel=0.03)
    # Without the input policy of the LAN voice is not in the priority class: it queues with bulk, and loses packets.
    unmarked = judge(import_configuration("mqc", text.replace(" service-policy input MARK\n", ""), traffic=table))
    assert not unmarked.survives
    assert next(row for row in unmarked.rows if row.group == "voice-a").loss.mean > 0.2


def test_voice_survives_in_a_prio_discipline_within_an_htb_class():
    _, made, rows = verdict_of("tc/19-htb-prio.sh", "t23")
    assert rows["voice"].loss.hi == 0
    assert made.survives


def test_bandwidth_does_not_slow_the_link_and_a_policy_without_a_shaper_gives_a_warning():
    found, _, rows = verdict_of("mqc/06-gige-bandwidth-noshape.txt", "traffic")
    assert found.link is not None
    assert (found.link.rate_bps, found.link.base_bps) == (1_000_000_000, 2_000_000)
    assert any("`bandwidth` does not limit" in message for message in levels(found, "warning"))
    # Transfers with a round-trip time of zero fill the gigabit link instead of 2 Mbit/s.
    assert rows["web"].offered.mean > 0.8e9
    # With the shaper that a provider requires there are no warnings.
    text = (CASES / "mqc/06-gige-bandwidth-noshape.txt").read_text()
    shaped = text.replace("service-policy output WAN", "service-policy output SHAPE")
    shaped += "policy-map SHAPE\n class class-default\n  shape average 2000000\n  service-policy WAN\n"
    found = import_configuration("mqc", shaped, traffic=TRAFFIC)
    assert not any("`bandwidth`" in message for message in levels(found, "warning"))


@pytest.mark.parametrize(
    ("case", "table", "rate"),
    [
        ("mqc/10-pasted-noif-shape.txt", "t10", "10Mbit/s"),
        ("mqc/04b-nxos-old.txt", "t04b", "1Gbit/s"),
        ("tc/10-nodefault-police.sh", "t10", "10Mbit/s"),
    ],
)
def test_an_unknown_link_rate_is_requested_and_never_guessed(case, table, rate):
    found = import_configuration("tc" if case.endswith(".sh") else "mqc", (CASES / case).read_text())
    assert any("state it with --rate" in str(error) for error in found.errors)
    # With the rate of the link given, calls lose nothing.
    _, _, rows = verdict_of(case, table, rate=rate)
    assert rows["voice"].loss.hi == 0


@pytest.mark.parametrize(
    ("name", "rate_bps"),
    [
        ("FourHundredGigE0/0/0/1", 400e9),
        ("HundredGigE0/0/0/1", 100e9),
        ("FortyGigabitEthernet1/1/1", 40e9),
        ("TwentyFiveGigE1/0/1", 25e9),
        ("TenGigabitEthernet1/1", 10e9),
        ("TwoGigabitEthernet1/0/1", 2.5e9),
        ("FastEthernet0/0", 100e6),
        ("Serial0/0", 1.544e6),
    ],
)
def test_the_rate_of_a_link_follows_from_the_name_of_the_interface(name, rate_bps):
    text = LLQ.format(kilobits=900).replace(" bandwidth 2000\n", "").replace("Serial0/0", name)
    found = import_configuration("mqc", text, traffic=TRAFFIC)
    assert found.link is not None
    assert found.link.rate_bps == rate_bps


def test_a_link_of_unknown_rate_behind_a_shaper_is_assumed_to_be_10_times_faster():
    text = (CASES / "mqc/23b.txt").read_text()
    pasted = text[: text.index("interface")]
    found = import_configuration("mqc", pasted, traffic=TRAFFIC, overhead="0")
    assert found.link is not None
    assert found.link.rate_bps == 20_000_000
    assert any("10 times the rate of its shaper" in notice.message for notice in found.assumptions)
    _, _, rows = verdict_of("mqc/23b.txt", "t23", overhead="0")
    calls = judge(import_configuration("mqc", pasted, traffic=(CASES / "tables/t23.csv").read_text(), overhead="0"))
    voice = next(row for row in calls.rows if row.group == "voice")
    # The assumed rate of the link has no effect on voice: the shaper of 2 Mbit/s limits the load of either link.
    assert voice.loss.hi == rows["voice"].loss.hi == 0


def test_peak_shaping_sends_both_bursts_in_each_interval():
    # A CIR of 1 Mbit/s with Bc = Be passes 2 Mbit/s; 3 Mbit/s in packets of 1500 B + 14 B of Ethernet are offered.
    _, _, rows = verdict_of("mqc/29-peak.txt", "t29")
    assert rows["data"].loss.mean == pytest.approx(1 - 2 / (3 * 1514 / 1500), abs=0.02)


def test_rates_count_the_link_layer_that_is_stated():
    # 4 calls of 80 kbit/s fill `priority 320` at layer 3. With 18 B per 200 B they need 348.8 kbit/s: 8.3 % is lost.
    policy = (CASES / "mqc/b-320.txt").read_text()
    table = (CASES / "tables/tb.csv").read_text()
    losses = {}
    for overhead in ("none", "dot1q"):
        found = import_configuration("mqc", policy, traffic=table, overhead=overhead)
        made = judge(found, duration="40s", replications=3)
        losses[overhead] = next(row for row in made.rows if row.is_voice).loss.mean
    assert losses["none"] < 0.002
    assert losses["dot1q"] == pytest.approx(1 - 320 / 348.8, abs=0.015)


def test_an_invalid_overhead_is_refused(tmp_path):
    policy = tmp_path / "p.txt"
    policy.write_text(LLQ.format(kilobits=900))
    for bad in ("ethernt", "-1", "256", "nan", ""):
        done = CliRunner().invoke(cli, ["import", "mqc", str(policy), "--overhead", bad])
        assert done.exit_code != 0, bad
    with pytest.raises(ValueError, match="`ethernt` is not an overhead"):
        import_configuration("mqc", LLQ.format(kilobits=900), overhead="ethernt")


def test_a_line_that_is_not_understood_in_the_judged_policy_prevents_the_verdict_survives(tmp_path):
    unread = LLQ.format(kilobits=900).replace("  priority 900", "  priority 900\n  priority-boost 7")
    found = import_configuration("mqc", unread, traffic=TRAFFIC)
    made = judge(found, duration="6s", replications=3)
    assert [notice.line for notice in made.not_simulated] == [7]
    assert (made.outcome, made.survives) == ("as-far-as-understood", False)
    assert made.sentences()[0] == "Voice survives as far as the configuration is understood."
    assert made.as_json()["not_simulated"][0]["line"] == 7
    policy, table = tmp_path / "p.txt", tmp_path / "t.csv"
    policy.write_text(unread)
    table.write_text(TRAFFIC)
    options = ("--traffic", str(table), "--plot", str(tmp_path / "v.png"), "--duration", "6s", "--reps", "3")
    done = run_cli("verdict", "mqc", str(policy), *options)
    assert done.return_value == 5
    assert "as far as the configuration is understood" in done.stdout
    # The same line in a policy that the interface does not use has no effect on the verdict.
    other = LLQ.format(kilobits=900) + "policy-map OTHER\n class class-default\n  priority-boost 7\n"
    found = import_configuration("mqc", other, traffic=TRAFFIC)
    assert any(notice.level == "unsupported" for notice in found.notices)
    assert judge(found, duration="6s", replications=3).survives


# --- Targets of groups ---


def test_a_target_is_a_service_or_limits_and_anything_else_is_refused():
    limits = objective_of(0, "delay<=80ms loss<=0.5% variation<=30ms mos>=3.8")
    assert limits is not None
    assert (limits.delay_s, limits.loss, limits.variation_s, limits.mos) == (
        pytest.approx(0.08),
        0.005,
        pytest.approx(0.03),
        3.8,
    )
    # ITU-T Y.1541, table 1, class 0: delay 100 ms, delay variation 50 ms, loss 1e-3; G.114 recommends up to 150 ms.
    voice = objective_of(0, "voice")
    assert voice is not None
    assert (voice.y1541, voice.delay_s, voice.variation_s, voice.loss, voice.mos) == (0, 0.1, 0.05, 1e-3, 3.6)
    longer = objective_of(46, None, bounds="g.114")
    assert longer is not None
    assert (longer.delay_s, longer.loss) == (0.15, 1e-3)
    assert objective_of(46, "none") is None
    assert objective_of(0, None) is None
    for bad in (
        "",
        "voise",
        "delay<=",
        "delay<=-1ms",
        "loss<=2",
        "loss>=1%",
        "mos<=3",
        "mos>=9",
        "delay<=nan",
        "loss<=nan",
    ):
        with pytest.raises(UsageError, match="is not a target"):
            objective_of(46, bad)
    with pytest.raises(UsageError, match="no bounds"):
        objective_of(46, None, bounds="g114")  # type: ignore[arg-type]


def test_a_target_of_the_table_replaces_that_of_the_code_point(tmp_path):
    table = (
        "name,dscp,rate,packet,count,model,target\n"
        "calls,ef,80kbit/s,200,10,cbr,none\n"
        "files,0,4Mbit/s,1500,1,poisson,loss<=1%\n"
    )
    found = import_configuration("mqc", LLQ.format(kilobits=900), traffic=table)
    made = judge(found, duration="6s", replications=3)
    calls, files = made.rows
    assert (calls.objective, files.misses) == (None, ("loss",))
    assert made.sentences()[0].startswith("There is no voice in the traffic table")
    policy, traffic = tmp_path / "p.txt", tmp_path / "t.csv"
    policy.write_text(LLQ.format(kilobits=900))
    traffic.write_text(table.replace("loss<=1%", "loss<=1"))
    options = ("--traffic", str(traffic), "--plot", str(tmp_path / "v.png"), "--duration", "6s", "--reps", "2")
    assert run_cli("verdict", "mqc", str(policy), *options).return_value == 0
    traffic.write_text(table.replace("loss<=1%", "often"))
    assert CliRunner().invoke(cli, ["verdict", "mqc", str(policy), *options]).exit_code != 0


def test_the_bound_of_g_114_admits_what_class_0_does_not():
    found = import_configuration("mqc", LLQ.format(kilobits=900), traffic=TRAFFIC)
    outcomes = {}
    for bounds in ("y.1541", "g.114"):
        made = judge(found, network_delay="120ms", duration="6s", replications=3, bounds=bounds)
        outcomes[bounds] = next(row for row in made.rows if row.is_voice).misses
    assert outcomes == {"y.1541": ("delay",), "g.114": ()}


def test_the_round_trip_time_of_the_table_is_part_of_the_path():
    # One transfer over 100 Mbit/s with a buffer of 64 packets. With a round-trip time of zero it fills the link. With
    # 400 ms the window, after the overshoot of slow start, grows by one segment per round trip and stays far below the
    # 3,333 segments that would fill the link.
    text = LLQ.format(kilobits=900).replace("Serial0/0", "FastEthernet0/0").replace(" bandwidth 2000\n", "")
    table = "name,dscp,rate,packet,count,model,rtt\nfile,0,,1500,1,tcp,{}\n"
    busy = {}
    for rtt in ("0s", "400ms"):
        found = import_configuration("mqc", text, traffic=table.format(rtt))
        report = tailback.run(found.check().set(duration="12s"), replications=1).reports[0]
        busy[rtt] = report.utilisation("ce->sink")
        if rtt != "0s":
            # Half of the round-trip time is the delay from source to destination.
            assert report.mean_delay_s("file") > 0.2
    assert busy["0s"] > 0.95
    assert busy["400ms"] < 0.8
    zero = import_configuration("mqc", text, traffic=table.format("0s"))
    assert any("without a round-trip time" in notice.message for notice in zero.assumptions)
    refused = import_configuration("mqc", text, traffic=table.format("61s"))
    assert any("is not a round-trip time" in notice.message for notice in refused.errors)


# --- Warnings before a run ---


def warned(text: str, traffic: str = TRAFFIC, language: str = "mqc", **options) -> list[str]:
    """Return the warnings of an import."""
    found = import_configuration(language, text, traffic=traffic, **options)
    return [notice.message for notice in found.notices if notice.level == "warning"]


def test_a_class_that_no_packet_can_reach_gives_a_warning():
    both = """
class-map match-all VOICE
 match dscp ef
 match dscp cs5
class-map match-any WIDE
 match dscp af31 af32
class-map NARROW
 match dscp af31
policy-map WAN
 class VOICE
  priority 300
 class WIDE
  bandwidth 300
 class NARROW
  bandwidth 100
interface Serial0/0
 bandwidth 2000
 service-policy output WAN
"""
    found = warned(both)
    assert any("class `VOICE` of `WAN` never gets a packet: no DSCP" in message for message in found)
    assert any("class `NARROW` of `WAN` never gets a packet" in m and "in earlier classes: WIDE" in m for m in found)
    assert not any("class `WIDE`" in message for message in found)
    mended = both.replace("match-all", "match-any").replace("class WIDE\n  bandwidth 300\n ", "")
    assert not any("never gets a packet" in message for message in warned(mended))
    # A code point does not decide whether an access list matches, so that there is no warning.
    listed = both.replace("match dscp cs5", "match access-group 101").replace("match-all", "match-any")
    listed += "access-list 101 permit udp any any\n"
    assert not any("`VOICE`" in message and "never" in message for message in warned(listed))


def test_unlimited_or_insufficient_priority_gives_a_warning():
    # 10 calls of 80 kbit/s with 4 B of HDLC per 200 B need 816 kbit/s.
    assert any(
        "priority rate of 800 kbit/s, but its flows send 816 kbit/s" in m for m in warned(LLQ.format(kilobits=800))
    )
    assert not any("priority rate" in message for message in warned(LLQ.format(kilobits=816)))
    assert not any("priority rate" in message for message in warned(LLQ.format(kilobits=800), overhead="0"))
    unlimited = LLQ.format(kilobits=800).replace("priority 800", "priority")
    assert any("priority without a rate" in message for message in warned(unlimited))
    policed = LLQ.format(kilobits=800).replace("priority 800", "priority\n  police 900000")
    assert not any("priority" in message for message in warned(policed))
    # Within a shaper the percentage is of the shaped rate: 20 % of 2 Mbit/s are 400 kbit/s.
    nested = (CASES / "mqc/23-site.txt").read_text()
    table = "name,dscp,rate,packet,count,model,destination\nvoice,ef,80kbit/s,200,5,cbr,10.1.0.5\n"
    assert any(
        "priority rate of 400 kbit/s, but its flows send 428 kbit/s" in message for message in warned(nested, table)
    )


def test_a_group_starved_by_priority_misses_its_targets():
    # Bulk has strict priority and offers 12 Mbit/s to a link of 10: packets of the other groups wait for ever, and are
    # not dropped.
    script = """tc qdisc add dev eth0 root handle 1: prio bands 2 priomap 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1
tc qdisc add dev eth0 parent 1:2 handle 20: pfifo limit 100000
tc filter add dev eth0 parent 1: protocol ip prio 1 u32 match ip dsfield 0x28 0xfc flowid 1:1
"""
    lines = ["bulk,af11,12Mbit/s,1000,", "calls,ef,80kbit/s,200,voice", "data,0,1Mbit/s,1000,loss<=1%"]
    table = "\n".join(["name,dscp,rate,packet,target", *lines])
    found = import_configuration("tc", script, traffic=table, rate="10Mbit/s", overhead="0")
    made = judge(found, duration="4s", replications=2)
    rows = {row.group: row for row in made.rows}
    assert rows["calls"].misses == ("nothing arrived", "delay", "variation", "loss", "MOS")
    assert rows["data"].misses == ("nothing arrived", "loss")
    assert made.outcome != "survives"
    assert "nan" not in json.dumps(made.as_json()).lower()
    assert "nan" not in " ".join(rows["calls"].cells())
