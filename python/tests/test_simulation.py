"""Stepping through a run from Python: the results of a whole run, views, changes, injected data."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
import textwrap
from pathlib import Path
from types import ModuleType
from typing import Literal, cast

import polars as pl
import pytest

import tailback
from tailback import ScenarioError, Simulation, UsageError, _native

ROOT = Path(__file__).resolve().parent.parent.parent
SEED = 7

# A frame of 1000 B takes 1 ms on the link from s to b; one is generated every 2 ms, the first at 0.
LINE = tailback.Scenario.from_toml(
    """
    tailback = 1
    [run]
    duration = "1s"
    tunable = ["links[0].rate", "flows[data].source.rate", "flows[data].state", "switches.s.buffer"]
    [network]
    framing = "none"
    [hosts]
    a = {}
    b = {}
    [switches.s]
    buffer = "100kB"
    [[links]]
    between = ["s", "b"]
    rate = "8Mbit/s"
    delay = "10ms"
    [[links]]
    between = ["a", "s"]
    rate = "800Mbit/s"
    delay = "0s"
    [[flows]]
    name = "data"
    from = "a"
    to = "b"
    source = { kind = "cbr", rate = "4Mbit/s", packet = "1000B", phase = "zero" }
    """
)


def tool(name: str, folder: str = "tools") -> ModuleType:
    """Import the module of the given name from a folder of the repository."""
    spec = importlib.util.spec_from_file_location(name, ROOT / folder / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def scenarios() -> list[tuple[str, _native.Scenario]]:
    """Return the shortened scenarios of `tools/wasm_digest.py`: gallery, benchmarks, and `every_kind.toml`."""
    found: list[tuple[str, _native.Scenario]] = tool("wasm_digest").scenarios()
    return found


@pytest.mark.parametrize("steps", [1, 7, 1000])
def test_a_run_in_steps_gives_the_report_of_a_run_to_the_end(
    scenarios: list[tuple[str, _native.Scenario]], steps: int
) -> None:
    for name, scenario in scenarios:
        stepped = _native.Simulation(scenario, SEED)
        for step in range(1, steps + 1):
            stepped.run_until(stepped.end_ps * step // steps)
        assert stepped.done
        assert json.loads(stepped.report()) == json.loads(scenario.run(SEED)), name


def test_views_between_the_steps_change_no_result(scenarios: list[tuple[str, _native.Scenario]]) -> None:
    for name, scenario in scenarios[::5]:
        stepped = _native.Simulation(scenario, SEED)
        for step in range(1, 6):
            stepped.run_until(stepped.end_ps * step // 5)
            view = json.loads(stepped.view())
            for port in view["ports"].values():
                for queue in port["classes"]:
                    assert sum(flow["bytes"] for flow in queue["by_flow"].values()) == queue["queued"]["bytes"], name
        assert json.loads(stepped.report())["digest"] == json.loads(scenario.run(SEED))["digest"], name


def test_times_are_seconds_or_text_and_steps_end_with_the_run() -> None:
    with Simulation(LINE) as simulation:
        assert (simulation.now, simulation.end, simulation.done) == (0.0, 1.0, False)
        simulation.step("250ms")
        simulation.step(0.25)
        assert simulation.now == 0.5
        assert simulation.next_event == pytest.approx(0.5, abs=0.002)
        simulation.run_until(0.1)
        assert simulation.now == 0.5, "an instant in the past does nothing"
        simulation.step("2s")
        assert (simulation.now, simulation.done) == (1.0, True)


def test_a_changed_run_has_the_digest_of_the_scenario_that_it_exports() -> None:
    with Simulation(LINE, seed=3) as simulation:
        simulation.run_until("100ms")
        assert simulation.port("s->b")["queue_bytes"] == 0
        assert simulation.change("links[0].rate", "2Mbit/s") == pytest.approx(0.1)
        simulation.run_until("300ms")
        # At 2 Mbit/s a frame takes 4 ms: in the 200 ms since the change 100 frames have arrived and 50 have been sent.
        assert simulation.port("s->b")["queue_bytes"] == pytest.approx(50_000, abs=1_000)
        simulation.change({"switches.s.buffer": "20kB", "flows[data].source.rate": "6Mbit/s"}, at="400ms")
        simulation.inject("data", "5kB", at=0.6)
        simulation.change("flows[data].state", "stop", at="700ms")
        exported = simulation.scenario()
        assert simulation.touched
        report = simulation.finish()
    assert report.data["touched"]
    alone = tailback.run(exported, seed=3, replications=1).reports[0]
    assert alone.digest == report.digest
    assert "touched" not in alone.data
    assert tailback.run(LINE, seed=3, replications=1).reports[0].digest != report.digest


def test_an_observer_is_called_at_its_times_and_changes_no_result() -> None:
    plain = tailback.run(LINE, seed=3, replications=1).reports[0]
    seen: list[tuple[float, int]] = []
    with Simulation(LINE, seed=3) as simulation:
        simulation.run_until("50ms")
        stop = simulation.observe(
            lambda: seen.append((simulation.now, simulation.flow("data")["offered"]["packets"])),
            every="100ms",
        )
        simulation.run_until("380ms")
        simulation.step("70ms")
        stop()
        stop()
        report = simulation.finish()
    # One frame is generated every 2 ms, the first at 0 and another at the instant of each call.
    assert seen == [(0.15, 76), (0.25, 126), (0.35, 176), (0.45, 226)]
    assert report.digest == plain.digest


def test_what_an_observer_changes_is_in_the_exported_scenario() -> None:
    with Simulation(LINE, seed=3) as simulation:

        def law() -> None:
            waits = simulation.port("s->b")["queue_bytes"] > 0
            simulation.change("links[0].rate", "8Mbit/s" if waits else "2Mbit/s")

        stop = simulation.observe(law, every="50ms")
        simulation.run_until("900ms")
        stop()
        exported = simulation.scenario()
        report = simulation.finish()
    changes = cast(list[dict[str, object]], exported.document["timeline"])
    assert len(changes) == 18
    assert [change["at"] for change in changes[:2]] == ["50000000.001ns", "100000000.001ns"]
    assert {str(change["set"]) for change in changes} == {
        "{'links[0].rate': '2Mbit/s'}",
        "{'links[0].rate': '8Mbit/s'}",
    }
    assert tailback.run(exported, seed=3, replications=1).reports[0].digest == report.digest


def test_an_observer_that_raises_ends_the_step_at_its_time() -> None:
    with Simulation(LINE) as simulation:

        def ends() -> None:
            raise LookupError("enough")

        stop = simulation.observe(ends, every="70ms")
        with pytest.raises(LookupError, match="enough"):
            simulation.run_until("200ms")
        assert simulation.now == pytest.approx(0.07)
        stop()
        simulation.run_until("200ms")
        assert simulation.now == pytest.approx(0.2)


@pytest.mark.parametrize("call", ["step", "run_until", "jump", "finish", "report"])
def test_an_observer_cannot_run_the_simulation(call: str) -> None:
    with Simulation(LINE) as simulation:
        times = {"finish": (), "report": ()}.get(call, ("10ms",))
        simulation.observe(lambda: getattr(simulation, call)(*times), every="20ms")
        with pytest.raises(UsageError, match="an observer cannot run the simulation"):
            simulation.run_until("100ms")
        assert simulation.now == pytest.approx(0.02)


def test_an_observer_that_closes_the_simulation_ends_the_step() -> None:
    simulation = Simulation(LINE)
    simulation.observe(simulation.close, every="20ms")
    simulation.run_until("100ms")
    with pytest.raises(UsageError, match="closed"):
        _ = simulation.now


def test_an_interval_of_zero_is_refused_and_a_jump_back_starts_a_new_interval() -> None:
    with Simulation(LINE) as simulation:
        with pytest.raises(UsageError, match="interval above zero"):
            simulation.observe(lambda: None, every=0)
        seen: list[float] = []
        simulation.observe(lambda: seen.append(simulation.now), every="100ms")
        simulation.run_until("250ms")
        assert simulation.jump("130ms")
        simulation.run_until("350ms")
    assert seen == pytest.approx([0.1, 0.2, 0.23, 0.33])


@pytest.mark.parametrize("engine", ["merged", "plain"])
def test_an_observer_of_the_trace_gets_the_rows_of_each_instant_once_and_in_order(
    engine: Literal["merged", "plain"],
) -> None:
    with Simulation(LINE, trace=True, engine=engine) as plain:
        plain.run_until(plain.end)
        whole, trace_hash = plain.take_trace(), plain.trace_hash
    observed: list[pl.DataFrame] = []
    instants: list[float] = []
    with Simulation(LINE, trace=True, engine=engine) as simulation:

        def observe(rows: pl.DataFrame) -> None:
            observed.append(rows)
            instants.append(simulation.now)

        simulation.observe_trace(observe)
        simulation.run_until("300ms")
        simulation.run_until(simulation.end)
        assert simulation.take_trace().is_empty()
        assert simulation.trace_hash == trace_hash
    assert len(whole) > 2000
    assert pl.concat(observed).equals(whole)
    for rows, instant in zip(observed, instants, strict=True):
        assert rows["time_ps"].unique().to_list() == [round(instant * 10**12)]
    with Simulation(LINE) as simulation, pytest.raises(UsageError, match="no trace"):
        simulation.observe_trace(observed.append)


def test_an_observer_of_the_trace_can_answer_a_drop_at_once() -> None:
    scenario = LINE.set({"switches.s.buffer": "10kB", "links[0].rate": "2Mbit/s"})
    with Simulation(scenario, trace=tailback.Trace(events=["drop"])) as simulation:
        dropped_s: list[float] = []

        def answer(rows: pl.DataFrame) -> None:
            dropped_s.extend(time / 10**12 for time in rows["time_ps"])
            simulation.change("links[0].rate", "8Mbit/s")

        simulation.observe_trace(answer)
        simulation.run_until("1s")
        # At 2 Mbit/s the queue of 10 kB is full after about 10 frames of 4 ms; at 8 Mbit/s there are no more drops.
        assert len(dropped_s) == 1
        (change,) = cast(list[dict[str, str]], simulation.scenario().document["timeline"])
        assert _native.parse_duration(change["at"]) == round(dropped_s[0] * 10**12) + 1


def test_delivered_data_has_its_times_and_its_flow() -> None:
    with Simulation(LINE) as simulation:
        simulation.record_delivered("b")
        simulation.run_until("20ms")
        # 10 us of transmission from a to s, 1 ms from s to b, and 10 ms of propagation.
        first, *others = simulation.take_delivered()
        assert (first.flow, first.sequence, first.bytes) == ("data", 0, 1000)
        assert (first.born_s, first.time_s) == (0.0, pytest.approx(0.011010))
        assert [packet.sequence for packet in others] == [1, 2, 3, 4]
        assert simulation.take_delivered() == []


def test_a_jump_back_gives_the_same_state_again() -> None:
    with Simulation(LINE) as simulation:
        simulation.change("links[0].rate", "2Mbit/s", at="200ms")
        simulation.run_until("500ms")
        before = simulation.view()
        simulation.run_until("900ms")
        assert simulation.jump("500ms")
        assert simulation.view() == before
        assert (simulation.replays, simulation.now) == (1, 0.5)
        assert not simulation.jump("600ms")


def test_invalid_keys_values_times_sizes_and_names_are_errors_that_change_nothing() -> None:
    simulation = Simulation(LINE)
    for key, value, message in [
        ("links[1].rate", "5Mbit/s", "run.tunable"),
        ("links[0].rate", "fast", "fast"),
        ("links[0]", "5Mbit/s", "run.tunable"),
        ("flows[data].source.kind", "poisson", "run.tunable"),
    ]:
        with pytest.raises(ScenarioError, match=message.replace(".", r"\.")):
            simulation.change(key, value)
    for time in (-1.0, float("nan"), float("inf"), 1e300, "soon", "5"):
        with pytest.raises(UsageError):
            simulation.run_until(time)
    for call in (
        (lambda: simulation.change("links[0].rate")),
        (lambda: simulation.change({"links[0].rate": "5Mbit/s"}, 1)),
    ):
        with pytest.raises(UsageError, match="a key and its value"):
            call()
    for size in (-1, 2**64, "5ms"):
        with pytest.raises(UsageError):
            simulation.inject("data", size)
    with pytest.raises(ScenarioError, match="out of range"):
        simulation.inject("data", 0)
    for look in (simulation.port, simulation.flow, simulation.node, simulation.record_delivered):
        with pytest.raises(KeyError, match="nothing-of-this-name"):
            look("nothing-of-this-name")
    assert not simulation.touched
    assert simulation.finish().digest == tailback.run(LINE, replications=1).reports[0].digest
    with pytest.raises(UsageError, match="closed"):
        simulation.step("1ms")


def test_an_automatic_warm_up_a_negative_seed_and_a_report_within_the_warm_up_are_refused() -> None:
    with pytest.raises(UsageError, match="warm-up"):
        Simulation(LINE, warmup="auto")
    with pytest.raises(UsageError, match="seed"):
        Simulation(LINE, seed=-1)
    with Simulation(LINE, warmup="500ms") as simulation:
        simulation.run_until("400ms")
        with pytest.raises(UsageError, match="warm-up"):
            simulation.report()
        simulation.run_until("600ms")
        assert simulation.report().measured_s == pytest.approx(0.1)


def test_ctrl_c_ends_a_step_and_the_simulation_can_be_continued() -> None:
    program = textwrap.dedent(
        """
        import os, signal, threading, time
        import tailback
        from tailback import bench
        scenario = tailback.Scenario.from_native(bench.scenario("net64")).set(duration="1000s")
        simulation = tailback.Simulation(scenario)
        threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
        try:
            simulation.run_until("1000s")
        except KeyboardInterrupt:
            print("interrupted", 0 < simulation.now < 1000)
        before = simulation.now
        simulation.step("1us")
        print("continued", simulation.now > before)
        """
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=False)
    assert done.stdout.splitlines() == ["interrupted True", "continued True"], done.stderr


def test_the_example_of_a_learned_law_ends_with_at_least_the_reward_of_the_initial_law() -> None:
    example = tool("control_law", "docs/examples")
    environment = example.Environment(example.scenario("1s"))
    fixed = example.episode(environment, (0.0, 0.0), seed=1)
    _, learned = example.learn(environment, rounds=1)
    assert learned >= fixed
    seen, info = environment.reset(seed=1)
    assert (seen, info) == ((0.0, 0.0), {})
    over = False
    steps = 0
    while not over:
        _, reward, terminated, over, values = environment.step(5.0)
        assert reward <= 1.001
        assert not terminated
        steps += 1
    assert steps == 50
    assert values["time_s"] == 1.0
    exported = environment.scenario()
    # The target is 5 ms from the start, so that the actions change nothing and are not in the timeline.
    assert "timeline" not in exported.document
    environment.close()
