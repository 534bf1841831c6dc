"""Warnings as the commands and Python show them. Most texts are made, and tested, in Rust."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import tailback
from tailback.cli import main
from tailback.errors import EXIT_SCENARIO
from tailback.gallery.registry import EVERY, experiment
from tailback.results.intervals import mean_interval
from tailback.results.metrics import Estimate, Measure
from tailback.results.warnings import wide_intervals
from tailback.study.document import is_study

ROOT = Path(__file__).parents[2]
MERGE = (Path(__file__).parent / "merge.toml").read_text()
# Two hosts send 4.9 Mbit/s of payload each, times 12032/12000, since bursts have 64 B to twice 12 kB. Full frames have
# 1538 B on the wire for 1500 B of payload: 10.08 Mbit/s in total.
TOO_MUCH = MERGE.replace("4Mbit/s", "4.9Mbit/s").replace('duration = "2s"', 'duration = "200ms"')
OWN_BUFFER = MERGE.replace("sw = {}", 'sw = { buffer = "50kB" }').replace('duration = "2s"', 'duration = "200ms"')


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "net.toml"


def call(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    """Run the command line in this process; return exit code, standard output and standard error."""
    with pytest.raises(SystemExit) as stop:
        main(arguments)
    out, err = capsys.readouterr()
    return int(stop.value.code or 0), out, err


def test_a_warning_has_its_place_and_strict_makes_it_exit_code_3(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file.write_text(TOO_MUCH)
    code, out, err = call(capsys, "validate", str(file))
    assert code == 0
    assert "is valid" in out
    assert "warning: sw->d is offered at least 10.08Mbit/s" in err
    assert f"--> {file}:27:8" in err
    assert call(capsys, "validate", str(file), "--strict")[0] == EXIT_SCENARIO
    for command in ("run", "sweep"):
        axes = ("--set", "flows[0].source.burst=[12kB, 14kB]") if command == "sweep" else ()
        code, out, err = call(capsys, command, str(file), "--strict", "--reps", "1", *axes)
        assert (code, out) == (EXIT_SCENARIO, "")
        assert "nothing was run" in err
        code, out, err = call(capsys, command, str(file), "--reps", "1", "--json", *axes)
        assert code == 0
        assert [warning["name"] for warning in json.loads(out)["warnings"]] == ["overload"]
        assert err.count("warning:") == 1
    file.write_text(TOO_MUCH.replace("seed = 1", 'seed = 1\naccept = ["overload"]'))
    code, out, err = call(capsys, "run", str(file), "--strict", "--reps", "1", "--json")
    assert (code, err) == (0, "")
    assert json.loads(out)["warnings"] == []


def test_results_and_run_directories_keep_warnings(file: Path, tmp_path: Path) -> None:
    file.write_text(TOO_MUCH)
    result = tailback.run(file, replications=1)
    assert [(w.name, w.path, w.line, w.column) for w in result.warnings] == [("overload", "links[1].rate", 27, 8)]
    result.write(tmp_path / "run")
    kept = json.loads((tmp_path / "run" / "manifest.json").read_text())["warnings"]
    assert kept == [warning.as_json() for warning in result.warnings]
    assert "carries 10Mbit/s" in kept[0]["message"]


def test_a_setting_without_effect_gives_a_warning_and_one_with_an_effect_does_not(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file.write_text(OWN_BUFFER)
    code, _, err = call(capsys, "run", str(file), "--reps", "1", "--set", "network.buffer=80kB")
    assert code == 0
    assert "`network.buffer=80kB` changes nothing" in err
    assert "set `switches.*.buffer`" in err
    assert call(capsys, "run", str(file), "--reps", "1", "--strict", "--set", "network.buffer=80kB")[0] == EXIT_SCENARIO
    code, _, err = call(capsys, "run", str(file), "--reps", "1", "--strict", "--set", "switches.sw.buffer=80kB")
    assert (code, err) == (0, "")


def test_a_setting_equal_to_the_document_is_noted_without_a_warning(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file.write_text(OWN_BUFFER)
    same = ("--set", "switches.sw.buffer=50000B", "--strict")
    code, _, err = call(capsys, "validate", str(file), *same)
    assert (code, err) == (0, "switches.sw.buffer=50000B changes nothing: the scenario has this value already\n")
    assert call(capsys, "run", str(file), "--reps", "1", "-q", *same)[2] == ""
    # Each of two equal settings changes nothing in addition to the other.
    twice = ("--set", "switches.sw.buffer=20kB", "--set", "switches.sw.buffer=20kB")
    assert call(capsys, "validate", str(file), *twice)[2].count("the scenario has this value already") == 2


def test_an_axis_without_effect_gives_one_warning_before_the_runs(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file.write_text(OWN_BUFFER)
    axis = ("--set", "network.buffer=[20kB, 50kB, 80kB]", "--reps", "1")
    _, out, err = call(capsys, "sweep", str(file), *axis, "--json")
    assert err.count("warning:") == 1
    assert "`network.buffer` changes nothing at its values 20kB, 50kB, 80kB" in err
    assert "set `switches.*.buffer`" in err
    assert [warning["name"] for warning in json.loads(out)["warnings"]] == ["no-effect"]
    assert call(capsys, "sweep", str(file), *axis, "--strict")[0] == EXIT_SCENARIO
    # There is also one warning if there is a second axis.
    _, _, err = call(capsys, "sweep", str(file), *axis, "--set", "flows[0].source.rate=[3Mbit/s, 4Mbit/s]")
    assert err.count("warning:") == 1
    # An effect at one of the values is enough.
    _, _, err = call(capsys, "sweep", str(file), "--reps", "1", "--set", "switches.sw.buffer=[2kB, 1MB, 2MB]")
    assert err == ""


def test_an_axis_that_changed_no_result_gives_a_warning_after_the_runs(file: Path) -> None:
    # 2 x 1 Mbit/s never fill 1 MB: the scenarios differ, their results do not.
    file.write_text(OWN_BUFFER.replace("4Mbit/s", "1Mbit/s"))
    found = tailback.sweep(file, {"switches.sw.buffer": ["1MB", "2MB"]}, replications=2)
    assert [warning.name for warning in found.warnings] == ["no-effect"]
    assert "changed nothing at its values 1MB, 2MB: every run has the same digest" in found.warnings[0].message
    # Engines give equal results by design, so that there is no warning.
    assert tailback.sweep(file, {"run.engine": ["merged", "plain"]}, replications=2).warnings == []


def test_a_fixed_setting_without_effect_gives_a_warning(file: Path) -> None:
    file.write_text(OWN_BUFFER)
    axes = {"flows[0].source.rate": ["3Mbit/s", "4Mbit/s"]}
    found = tailback.sweep(file, axes, fixed={"network.buffer": "80kB"}, replications=1)
    assert [warning.name for warning in found.warnings] == ["no-effect"]
    assert "`network.buffer = 80kB` changes nothing at any point" in found.warnings[0].message
    for effective in ("80kB", "50kB"):
        assert tailback.sweep(file, axes, fixed={"switches.sw.buffer": effective}, replications=1).warnings == []


def estimate(metric: str, values: list[float]) -> Estimate:
    """Return the estimate of a metric of the group `data` from the values of replications."""
    return Estimate(Measure("group", "data", metric), mean_interval(values, 0.95))


def test_the_warning_of_a_wide_interval_names_the_replications_that_are_needed() -> None:
    # Mean 2, s = 1, n = 3: half-width 4.303/sqrt(3) = 2.484, 124 % of the mean. The target is a tenth, 0.2: 98
    # replications have 1.98472/sqrt(98) = 0.20049, 99 have 1.98447/sqrt(99) = 0.19945.
    [warning] = wide_intervals([estimate("loss", [1.0, 2.0, 3.0])], 0.95)
    assert warning.name == "wide-interval"
    assert "`loss[data]`" in warning.message
    assert "± 124% of the mean from 3 replications; about 99 are" in warning.message
    # Mean 1, s = 0.1414, n = 2: 12.706/sqrt(2) s = 127 %. 10 have 2.2622 s/sqrt(10) = 0.1012, 11 have
    # 2.2281 s/sqrt(11) = 0.0950. The normal quantile would give too few: (1.960 s / 0.1)^2 = 7.7.
    [warning] = wide_intervals([estimate("loss", [0.9, 1.1])], 0.95)
    assert "± 127% of the mean from 2 replications; about 11 are" in warning.message
    assert "--reps 11" in (warning.suggestion or "")
    # A mean of 10 has a half-width of 25 %.
    assert wide_intervals([estimate("delay", [9.0, 10.0, 11.0])], 0.95) == []
    # The limit is 50 %: a mean of 5 has 49.7 %, a mean of 4.9 has 50.7 %.
    assert wide_intervals([estimate("delay", [4.0, 5.0, 6.0])], 0.95) == []
    [warning] = wide_intervals([estimate("delay", [3.9, 4.9, 5.9])], 0.95)
    assert ": 4.9 s ± 51% of the mean" in warning.message
    # No warning: a loss near zero, a single replication, which has no interval, and thirty replications.
    assert wide_intervals([estimate("loss", [0.0, 0.0, 0.0001])], 0.95) == []
    assert wide_intervals([estimate("loss", [0.5])], 0.95) == []
    assert wide_intervals([estimate("loss", [0.0, 1.0] * 2 + [0.0] * 26)], 0.95) == []
    assert wide_intervals([estimate("loss", [1.0, 2.0, 3.0])], 0.95, {"wide-interval"}) == []


def test_no_more_than_ten_warnings_are_shown(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    transport = '{ kind = "tcp", ecn = "classic", ect = "ect1" }'
    flows = [
        f'[[flows]]\nname = "f{n}"\nfrom = "h1"\nto = "d"\ntransport = {transport}\nsource = {{ kind = "bulk" }}\n'
        for n in range(13)
    ]
    file.write_text(MERGE + "".join(flows))
    _, _, err = call(capsys, "validate", str(file))
    assert err.count("requests L4S") == 10
    assert err.rstrip().endswith("and 3 more")


def test_the_reference_lists_every_warning_by_name() -> None:
    page = (ROOT / "docs" / "warnings.md").read_text()
    names = tailback.schema()["$defs"]["WarningName"]["oneOf"]
    assert len(names) == 9
    for name in names:
        assert f"| `{name['const']}` |" in page


@pytest.mark.parametrize("id", EVERY)
def test_experiments_have_no_warning_that_they_do_not_accept(id: str) -> None:  # noqa: A002
    found = [*experiment(id).warnings("quick"), *experiment(id).warnings("full")]
    assert [warning.rendered for warning in found] == []


@pytest.mark.parametrize("example", sorted((ROOT / "docs" / "examples").glob("*.toml")), ids=lambda path: path.name)
def test_no_example_warns(example: Path) -> None:
    text = example.read_text()
    found = tailback.Study.load(example).warnings if is_study(text) else tailback.load(example).warnings
    assert [warning.rendered for warning in found] == []
