import json
from pathlib import Path

import pytest
from click.testing import CliRunner

import tailback
from tailback import _native
from tailback.cli import cli
from tailback.gallery.registry import experiment
from tailback.router import (
    ConfigurationError,
    export_configuration,
    import_configuration,
    translate_configuration,
)
from tailback.scenario import Scenario
from tailback.verdict import judge, service

SAMPLES = Path(__file__).parents[2] / "crates/router/tests"
REFERENCE = Path(__file__).parents[2] / "docs/examples/edge-v.txt"
"""Configuration v of the gallery's edge-configs, as a router has it."""
REFUSED_BY_EXPORT = {
    # htb lets the rates of classes exceed the link; a policy of a router may not promise more than there is.
    ("flower-ports.sh", "mqc"): "reserve 350 %",
    ("warnings-htb.sh", "mqc"): "reserve 200 %",
    # The guarantees of a policy for 155 Mbit/s, on the 10 Mbit/s that this test states.
    ("mpls-pe-core.txt", "mqc"): "reserve 1472 %",
    ("precedence-wred.txt", "mqc"): "reserve",
    # A plain FIFO is no policy.
    ("bfifo-root.sh", "mqc"): "there is no policy",
}
"""What an exporter refuses to write because a router would not take it, with what it says."""
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
    return [("mqc", f) for f in [REFERENCE, *sorted((SAMPLES / "mqc").glob("*.txt"))]] + [
        ("tc", f) for f in sorted((SAMPLES / "tc").glob("*.sh"))
    ]


def run_cli(*arguments: str):
    return CliRunner().invoke(cli, list(arguments), standalone_mode=False)


def test_the_reference_configuration_in_cisco_text_gives_the_digest_of_the_native_scenario():
    text = REFERENCE.read_text()
    imported = import_configuration("mqc", text, traffic=table_1()).check().document
    native = Scenario.from_toml(experiment("edge-configs").read("scenario.toml"))
    document = native.document
    # The same flows over the same links; what is imported is the policy.
    document["switches"]["ce2"]["ports"]["ce1"] = imported["switches"]["ce"]["ports"]["sink"]
    document["class-maps"] = imported["class-maps"]
    flows = [{**flow, "from": "tester", "to": "sink"} for flow in imported["flows"]]
    document["flows"] = flows
    translated = Scenario.from_document(document).set(duration="3s", warmup="1s")
    expected = native.set(duration="3s", warmup="1s")
    assert tailback.run(translated, replications=2).digest == tailback.run(expected, replications=2).digest


@pytest.mark.parametrize(("language", "file"), samples(), ids=lambda value: getattr(value, "name", value))
def test_every_sample_is_refused_with_a_reason_or_runs(language, file):
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
        again = import_configuration(to, written.text, rate="1Gbit/s")
        errors = [str(notice) for notice in again.notices if notice.level == "error"]
        assert not errors, written.text


def test_voice_survives_within_its_priority_and_not_beyond():
    good = judge(import_configuration("mqc", LLQ.format(kilobits=900), traffic=TRAFFIC), duration="6s", replications=3)
    assert good.survives
    assert good.sentences()[0] == "Voice survives."
    calls = next(row for row in good.rows if row.group == "calls")
    assert (calls.policy_class, calls.service, calls.code_point) == ("VOICE", 0, 46)
    assert calls.mos is not None
    assert calls.mos.mean > 4
    bad = judge(import_configuration("mqc", LLQ.format(kilobits=400), traffic=TRAFFIC), duration="6s", replications=3)
    calls = next(row for row in bad.rows if row.group == "calls")
    # 800 kbit/s are offered, and a busy link lets 400 of them pass.
    assert calls.loss.mean == pytest.approx(0.5, abs=0.05)
    assert "loss" in calls.misses
    assert not bad.survives


def test_what_a_packet_is_for_follows_its_code_point():
    assert [service(code) for code in (46, 34, 26, 18, 10, 8, 0)] == [0, 1, 3, 3, 4, None, None]


def test_access_lists_are_resolved_on_the_rows_of_the_table():
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
    doubts = [notice for notice in found.notices if "`unknown` does not say enough" in notice.message]
    assert doubts


def test_an_error_has_line_column_and_advice_and_exit_code_3(tmp_path):
    file = tmp_path / "bad.txt"
    file.write_text("policy-map P\n class class-default\n  bandwith percent 10\n  bandwidth percent 200\n")
    done = run_cli("import", "mqc", str(file), "--json")
    found = json.loads(done.stdout)
    assert done.return_value == 3
    assert found["scenario"] is None
    levels = {notice["line"]: (notice["level"], notice["column"]) for notice in found["notices"]}
    assert levels[3] == ("unsupported", 3)
    assert levels[4] == ("error", 21)


def test_what_import_writes_runs_and_export_writes_what_import_reads(tmp_path):
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
    assert second["hosts"] == {"src": {}, "sink": {}}


def test_a_command_gives_a_verdict_and_a_plot(tmp_path):
    policy, table, plot = tmp_path / "p.txt", tmp_path / "t.csv", tmp_path / "v.png"
    policy.write_text(LLQ.format(kilobits=400))
    table.write_text(TRAFFIC)
    options = ("--traffic", str(table), "--plot", str(plot), "--duration", "4s", "--reps", "2")
    done = run_cli("verdict", "mqc", str(policy), *options)
    assert done.return_value == 5
    assert "Voice does not survive: calls" in done.stdout
    assert plot.read_bytes().startswith(b"\x89PNG")


def test_a_cisco_policy_translated_into_tc_is_read_by_the_other_reader():
    made = translate_configuration("mqc", LLQ.format(kilobits=900), "tc")
    found = import_configuration("tc", made.text, rate="2Mbit/s")
    assert not found.errors
    assert "htb" in made.text
    assert found.scenario is not None


def test_an_unknown_language_or_port_is_a_sentence():
    with pytest.raises(ValueError, match="no language `junos`"):
        _native.import_router("junos", "")
    scenario = import_configuration("mqc", LLQ.format(kilobits=900), traffic=TRAFFIC).check()
    found = export_configuration("mqc", scenario, "nowhere:else")
    assert [notice.level for notice in found.notices] == ["error"]
