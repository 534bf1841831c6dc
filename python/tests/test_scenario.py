"""Scenarios in Python: the builder, TOML, errors, and the literal types of kinds."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailback import Precision, Scenario, ScenarioError, load, names, source
from tailback.scenario import Value, toml_value
from tailback.scenario.kinds import DisciplineKind, SourceKind

MERGE = Path(__file__).with_name("merge.toml").read_text()


def built() -> Scenario:
    """Return the scenario of merge.toml, made by the builder."""
    return (
        Scenario(title="Two into one", duration="2s", warmup="100ms", seed=1, replications=3, buffer="20kB")
        .host("h", count=2)
        .host("d")
        .switch("sw")
        .link(["h*", "sw"], rate="10Mbit/s", delay="1us")
        .link(["sw", "d"], rate="10Mbit/s", delay="1us")
        .flow("data", "h*", "d", source("uniform-uniform", burst="12kB", rate="4Mbit/s"))
    )


def test_the_builder_makes_the_document_of_the_file(merge: Path) -> None:
    assert built() == load(merge) == Scenario.from_toml(MERGE)
    assert built().hash == load(merge).hash


def test_a_scenario_written_as_toml_reads_back_equal() -> None:
    scenario = (
        built().backpressure(scope="class", high=0.9, low=0.5, response_time="1us").at("1s", flow="data", state="stop")
    )
    assert Scenario.from_toml(scenario.to_toml()) == scenario


def test_methods_of_a_scenario_return_a_changed_copy() -> None:
    base = built()
    before = base.to_toml()
    changed = base.backpressure(scope="plain").set({"flows[data].source.rate": "1Mbit/s"}).set(duration="1s")
    assert base.to_toml() == before
    assert changed.document["flows"][0]["source"]["rate"] == "1Mbit/s"  # type: ignore[index]
    assert changed.run_config["duration"] == "1s"


def test_a_change_of_the_returned_document_does_not_change_the_scenario() -> None:
    base = built()
    base.document["run"]["duration"] = "9s"  # type: ignore[index]
    assert base.document["run"]["duration"] == "2s"  # type: ignore[index]


def test_a_stopping_rule_has_the_same_values_in_the_document() -> None:
    rule = Precision(metric="delay", relative=0.2, absolute=0.002, max_replications=50)
    assert Scenario(duration="1s", precision=rule).document["run"]["precision"] == {  # type: ignore[index]
        "metric": "delay",
        "relative": 0.2,
        "absolute": 0.002,
        "max-replications": 50,
    }


def test_an_error_has_path_line_and_advice(tmp_path: Path) -> None:
    path = tmp_path / "wrong.toml"
    path.write_text(MERGE.replace('"4Mbit/s"', '"4Mbps"'))
    with pytest.raises(ScenarioError) as error:
        load(path)
    assert error.value.path == "flows[0].source.rate"
    assert error.value.line == 34
    assert "Mbit/s" in error.value.rendered
    assert error.value.problems[0]["line"] == 34


def test_a_flow_from_an_unknown_host_is_an_error_of_check_and_not_of_the_builder() -> None:
    scenario = built().flow("more", "nowhere", "d", source("poisson", packet="1kB", rate="1Mbit/s"))
    with pytest.raises(ScenarioError, match="nowhere"):
        scenario.check()


def test_a_second_host_of_the_same_name_is_refused_by_the_builder() -> None:
    with pytest.raises(ValueError, match="has 'd' already"):
        built().host("d")


def test_the_listed_sources_and_disciplines_are_those_of_the_literal_types() -> None:
    assert names()["sources"] == list(get_args(SourceKind))
    assert names()["disciplines"] == list(get_args(DisciplineKind))


json_values = st.recursive(
    st.booleans()
    | st.integers(-(2**62), 2**62)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["C"])),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(st.characters(exclude_categories=["C"])), inner, max_size=3)
    ),
)


@given(json_values)
def test_a_value_is_written_as_toml_that_reads_back(value: Value) -> None:
    assert tomllib.loads(f"value = {toml_value(value)}")["value"] == value


def test_the_module_of_the_literal_types_is_generated_from_the_schema() -> None:
    tool = Path(__file__).resolve().parents[2] / "tools" / "kinds.py"
    done = subprocess.run([sys.executable, tool, "--check"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_type_checker_finds_misspelt_kinds_and_a_source_in_place_of_a_discipline(tmp_path: Path) -> None:
    program = tmp_path / "typo.py"
    program.write_text(
        "from tailback import discipline, kind, source\n"
        'valid = [source("uniform-uniform"), discipline("fq-codel"), kind("watermark")]\n'
        'source("uniform-unifrom")\n'
        'discipline("fqcodel")\n'
        'discipline("cbr")\n'
        'kind("watermrk")\n'
    )
    command = [sys.executable, "-m", "mypy", "--no-incremental", "--follow-imports=silent", str(program)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    found = re.findall(r"typo\.py:(\d+): error:.*\[arg-type\]", done.stdout)
    assert found == ["3", "4", "5", "6"], done.stdout + done.stderr
