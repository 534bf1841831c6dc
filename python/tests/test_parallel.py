"""A run on several threads gives the results of one thread, for all scenarios of the gallery and the benchmarks."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import tailback as tb
from tailback import Scenario, _native, bench
from tailback.scenario.parts import Parts

ROOT = Path(__file__).resolve().parent.parent.parent
SEED = 7
Cli = Callable[..., Any]
MERGE = Path(__file__).with_name("merge.toml").read_text()


def tool(name: str) -> ModuleType:
    """Import the module of the given name from `tools`."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "tools" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def scenarios() -> list[tuple[str, _native.Scenario]]:
    """Return the shortened scenarios of `tools/wasm_digest.py`: gallery, benchmarks, and `every_kind.toml`."""
    found: list[tuple[str, _native.Scenario]] = tool("wasm_digest").scenarios()
    return [(name, scenario.with_set([("run.sample", '"50ms"')])) for name, scenario in found]


def comparable(text: str) -> dict[str, object]:
    """Return a report without the number of events, which is larger with several parts."""
    return {**json.loads(text), "events": None}


@pytest.mark.parametrize(("parts", "step"), [(2, 1), (3, 4)])
def test_scenarios_give_the_same_report_in_two_or_three_parts(
    scenarios: list[tuple[str, _native.Scenario]], parts: int, step: int
) -> None:
    some = scenarios[::step]
    divided = 0
    for name, scenario in some:
        assert comparable(scenario.run_in_turn(SEED, parts)) == comparable(scenario.run(SEED)), name
        divided += len(Parts.from_json(scenario.parts(parts, SEED))) > 1
    # Scenarios with priority-based flow control are not divided.
    assert divided >= 0.9 * len(some), f"{divided} of {len(some)} were divided at all"


def test_every_scenario_gives_the_same_report_on_two_threads(scenarios: list[tuple[str, _native.Scenario]]) -> None:
    # With few events per lookahead the threads synchronise often, which is slow on a busy machine: runs are short.
    lengths: dict[str, str] = tool("wasm_digest").SHORT
    for name, scenario in scenarios:
        try:
            short = scenario.with_set([("run.duration", '"20ms"')])
        except _native.ScenarioError:  # the timeline of the scenario begins later
            short = scenario
        # Scenarios with fast links are shorter already.
        if "datacentre" in name or lengths.get(Path(name).stem, "").endswith(("ms", "us")):
            short = scenario
        assert comparable(short.run(SEED, parallel=2)) == comparable(short.run(SEED)), name


def test_a_mesh_of_64_switches_with_64_hosts_is_divided_into_two_parts_of_similar_size() -> None:
    # 128 nodes; a straight cut through 8 x 8 switches divides 8 links, whose propagation delay is 10 us.
    scenario = Scenario.from_native(bench.scenario("net64"))
    parts = scenario.parts(2)
    assert len(parts) == 2
    assert min(len(part) for part in parts.nodes) >= 48
    assert len(parts.cut) <= 16
    assert parts.look_ahead_s is not None
    assert parts.look_ahead_s > 10e-6
    assert "2 parts of" in str(parts)
    assert "look-ahead 10." in str(parts)


def test_one_part_has_no_cut_and_two_threads_give_the_digest_of_one() -> None:
    scenario = Scenario.from_toml(MERGE)
    one = scenario.parts(1)
    assert len(one) == 1
    assert one.cut == ()
    assert one.look_ahead_s is None
    assert str(one).startswith("1 part")
    assert tb.run(scenario, replications=2, parallel=2).digest == tb.run(scenario, replications=2).digest


def test_less_than_one_thread_is_refused() -> None:
    with pytest.raises(ValueError, match="parallel is 0"):
        tb.run(Scenario.from_toml(MERGE), replications=1, parallel=0)


def test_the_command_reports_the_number_of_parts_and_gives_the_same_results(tailback: Cli, tmp_path: Path) -> None:
    mesh = tmp_path / "mesh.toml"
    mesh.write_text(bench.scenario("net64").with_set([("run.duration", '"20ms"')]).to_toml())
    two = tailback("run", mesh, "--parallel", "2", "--json")
    assert two.err.startswith("2 parts of ")
    assert two.json["digest"] == tailback("run", mesh, "--json").json["digest"]
    assert tailback("run", mesh, "--parallel", "0").code == 2
