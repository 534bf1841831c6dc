"""Schedulers, congestion controls and traffic sources that the user has compiled."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import test_congestion_controls as controls
from compiled import FORMS as COMPILED
from compiled import put
from compiled_roles import write
from components import LAWS, drops, dumbbell, marks, read, report

import tailback as core

FORMS = ("so", "wat")

FLOWS = """[[flows]]
name = "voice"
from = "a*"
to = "b"
dscp = "ef"
source = SOURCE
[[flows]]
name = "tcp"
from = "a*"
to = "b"
source = { kind = "bulk" }
transport = { kind = "tcp" }
TIMELINE
"""
CBR = '{ kind = "cbr", packet = "200B", interval = "3ms", jitter = 0.5 }'
RESTARTS = "".join(
    f'[[timeline]]\nat = "{at}"\nflow = "voice"\nstate = "{state}"\n'
    for at, state in (("1s", "stop"), ("1.2s", "start"), ("2.0005s", "start"))
)
QUEUES = """[
    { match = { dscp = "ef" }, limit = "8packets" },
    { match = { dscp = 0 }, limit = "30packets", discipline = { kind = "codel", target = "2ms" } },
    { name = "last" },
]"""


def control(file: str, name: str = "Reno", parameters: str = "{}") -> str:
    """Return a congestion control of the kind `user`."""
    return f'{{ kind = "user", file = "{file}", class = "{name}", parameters = {parameters} }}'


def scheduler(file: str, name: str = "Priority", parameters: str = "{}") -> str:
    """Return a discipline of the kind `user-scheduler`."""
    code = f'{{ file = "{file}", class = "{name}", parameters = {parameters} }}'
    return f'{{ kind = "user-scheduler", scheduler = {code}, queues = {QUEUES} }}'.replace("\n", " ")


def scenario(
    folder: Path, discipline: str = controls.DROP_TAIL, source: str = CBR, timeline: str = "", seconds: str = "3s"
) -> core.Scenario:
    """Return a dumbbell with three constant-rate flows and three connections."""
    flows = FLOWS.replace("SOURCE", source).replace("TIMELINE", timeline)
    return read(dumbbell(discipline, flows, hosts=3, duration=seconds), folder)


def trace(one: core.Scenario) -> tuple[int, str]:
    """Return the number of events of the packet trace, and its hash."""
    _, rows, found = core._native.trace(one.native, 3, lambda *_: None, ([], [], [], [], None, None))
    return rows, found


PRIORITY = f'{{ kind = "priority", levels = {QUEUES} }}'.replace("\n", " ")
TRANSPORTS = [
    (controls.DROP_TAIL, "", "{}"),
    (controls.RED, ', ecn = "classic"', "{}"),
    (controls.RED, ', recovery = { kind = "newreno" }', "{}"),
    (controls.DROP_TAIL, ', recovery = { kind = "tahoe" }, initial-ssthresh = 4', "{}"),
    (controls.DROP_TAIL, ', spurious-timeout = "f-rto", dsack-undo = true, pacing = true', "{}"),
]


@pytest.mark.parametrize("form", COMPILED)
@pytest.mark.parametrize("engine", ["merged", "plain"])
@pytest.mark.parametrize(("discipline", "keys", "parameters"), TRANSPORTS)
def test_compiled_reno_decides_as_the_built_in_one_about_every_segment(
    form: str, engine: str, discipline: str, keys: str, parameters: str, tmp_path: Path
) -> None:
    theirs = report(controls.scenario(tmp_path, '{ kind = "reno" }', discipline, keys), engine=engine)
    user = control(put(tmp_path, "reno", form), parameters=parameters)
    ours = report(controls.scenario(tmp_path, user, discipline, keys), engine=engine)
    assert ours["digest"] == theirs["digest"]
    assert json.dumps(ours["flows"]) == json.dumps(theirs["flows"])
    assert drops(ours) + marks(ours) > 10


@pytest.mark.parametrize("form", COMPILED)
def test_a_parameter_of_compiled_reno_has_the_effect_that_it_has_in_python(form: str, tmp_path: Path) -> None:
    shutil.copy(LAWS / "reno.py", tmp_path)
    files = ("reno.py", put(tmp_path, "reno", form))
    theirs, ours = (report(controls.scenario(tmp_path, control(file, parameters="{ limit = 1 }"))) for file in files)
    default = report(controls.scenario(tmp_path, control(files[1])))
    assert ours["digest"] == theirs["digest"] != default["digest"]


@pytest.mark.parametrize("form", COMPILED)
def test_compiled_reno_gives_the_same_packet_trace(form: str, tmp_path: Path) -> None:
    user = control(put(tmp_path, "reno", form))
    theirs, ours = (trace(controls.scenario(tmp_path, one)) for one in ('{ kind = "reno" }', user))
    assert ours == theirs
    assert ours[0] > 10_000


@pytest.mark.parametrize("form", COMPILED)
@pytest.mark.parametrize("engine", ["merged", "plain"])
def test_compiled_priority_chooses_as_the_built_in_one_at_every_transmission(
    form: str, engine: str, tmp_path: Path
) -> None:
    user = scheduler(put(tmp_path, "priority", form))
    theirs, ours = (scenario(tmp_path, one) for one in (PRIORITY, user))
    found = report(ours, engine=engine)
    assert found["digest"] == report(theirs, engine=engine)["digest"]
    assert drops(found) > 10
    assert trace(ours) == trace(theirs)


@pytest.mark.parametrize("form", COMPILED)
@pytest.mark.parametrize("timeline", ["", RESTARTS])
@pytest.mark.parametrize("engine", ["merged", "plain"])
def test_compiled_cbr_emits_as_the_built_in_one(form: str, timeline: str, engine: str, tmp_path: Path) -> None:
    parameters = '{ packet = "200B", interval = "3ms", jitter = 0.5 }'
    user = control(put(tmp_path, "cbr", form), "Cbr", parameters)
    theirs, ours = (scenario(tmp_path, source=one, timeline=timeline) for one in (CBR, user))
    assert report(ours, engine=engine)["digest"] == report(theirs, engine=engine)["digest"]
    assert trace(ours) == trace(theirs)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("parallel", [2, 3])
def test_several_threads_for_one_run_give_the_same_results(form: str, parallel: int, tmp_path: Path) -> None:
    text = dumbbell(scheduler(put(tmp_path, "priority", form)), FLOWS.replace("TIMELINE", ""), hosts=3, duration="3s")
    text = text.replace("SOURCE", control(put(tmp_path, "cbr", form), "Cbr"))
    reno = f'{{ kind = "tcp", congestion-control = {control(put(tmp_path, "reno", form))} }}'
    text = text.replace('{ kind = "tcp" }', reno)
    one = core.Scenario.from_toml(text, str(tmp_path / "s.toml")).native
    whole = json.loads(one.run(3))
    assert one.user_languages == ["native" if form == "so" else "wasm"]
    assert json.loads(one.run(3, parallel=parallel))["digest"] == whole["digest"]


def with_mine(folder: Path, role: str, file: str) -> core.Scenario:
    """Return the network with the component `Mine` in its role."""
    if role == "scheduler":
        return scenario(folder, scheduler(file, "Mine"))
    if role == "congestion":
        return controls.scenario(folder, control(file, "Mine"))
    return scenario(folder, source=control(file, "Mine"))


PACED = {
    "so": "answer->rate = 50; answer->cwnd = 1e6;",
    "wat": """(f64.store offset=16 (local.get $answer) (f64.const 50))
        (f64.store (local.get $answer) (f64.const 1e6))""",
}


@pytest.mark.parametrize("form", FORMS)
def test_a_control_that_declares_it_sets_the_pacing_rate(form: str, tmp_path: Path) -> None:
    found = report(
        controls.scenario(tmp_path, control(write(tmp_path, form, "congestion", PACED[form], options=1), "Mine"))
    )
    # The initial window of 10 segments, then 50 segments/s from the first round trip of 30 ms on, for 6 s.
    assert [abs(flow["offered"]["packets"] - 308) < 10 for flow in found["flows"]] == [True] * 4
    assert drops(found) == 0


STARTS = {
    ("congestion", "so"): "if (call->event == TAILBACK_CONGESTION_START && self->starts++ > 0) return 9;",
    ("source", "so"): """
if (call->event == TAILBACK_SOURCE_START) return self->starts++ > 0 ? 9 : 0;
answer->at_ps = call->now_ps + 10000000000u;
answer->bytes = 100;
""",
    ("congestion", "wat"): """
(if (i32.eqz (i32.load offset=56 (local.get $call)))
  (then
    (if (global.get $starts) (then (return (i32.const 9))))
    (global.set $starts (i32.const 1))))
""",
    ("source", "wat"): """
(if (i32.eqz (i32.load offset=16 (local.get $call)))
  (then
    (if (global.get $starts) (then (return (i32.const 9))))
    (global.set $starts (i32.const 1))
    (return (i32.const 0))))
(i64.store (local.get $answer) (i64.add (i64.load (local.get $call)) (i64.const 10000000000)))
(i64.store offset=8 (local.get $answer) (i64.const 100))
""",
}
FRESH = """
application = { kind = "request-response", connections = "fresh", request = REQUEST, response = RESPONSE }
""".replace("REQUEST", '{ kind = "fixed", size = "1kB" }').replace("RESPONSE", '{ kind = "fixed", size = "20kB" }')


@pytest.mark.parametrize("form", FORMS)
def test_each_new_connection_has_a_control_without_earlier_calls(form: str, tmp_path: Path) -> None:
    file = write(tmp_path, form, "congestion", STARTS["congestion", form], events=1)
    text = dumbbell(controls.DROP_TAIL, controls.FLOWS.replace("CONTROL", control(file, "Mine")), duration="6s")
    text = text.replace('source = { kind = "bulk" }', FRESH)
    found = report(core.Scenario.from_toml(text, str(tmp_path / "scenario.toml")))
    assert found["applications"]["tcp"]["begun"] > 40


@pytest.mark.parametrize("form", FORMS)
def test_each_new_start_of_a_flow_has_a_source_without_earlier_calls(form: str, tmp_path: Path) -> None:
    file = write(tmp_path, form, "source", STARTS["source", form], events=3)
    one = scenario(tmp_path, source=control(file, "Mine"), timeline=RESTARTS)
    assert report(one)["digest"]


@pytest.mark.parametrize("form", FORMS)
def test_a_component_of_another_role_is_refused(form: str, tmp_path: Path) -> None:
    files = {name: put(tmp_path, name, form) for name in ("codel", "reno", "priority", "cbr")}
    code = '{{ kind = "user", file = "{}", class = "{}" }}'
    cases: list[tuple[Callable[[], Any], str, str]] = [
        (
            lambda: scenario(tmp_path, code.format(files["reno"], "Reno")),
            "network.discipline.class",
            "it has the role 2, and a queue-law has the role 0",
        ),
        (
            lambda: scenario(tmp_path, scheduler(files["codel"], "Codel")),
            "network.discipline.scheduler.class",
            "it has the role 0, and a scheduler has the role 1",
        ),
        (
            lambda: controls.scenario(tmp_path, control(files["cbr"], "Cbr")),
            "flows[0].transport.congestion-control.class",
            "it has the role 3, and a congestion-control has the role 2",
        ),
        (
            lambda: scenario(tmp_path, source=control(files["priority"], "Priority")),
            "flows[0].source.class",
            "it has the role 1, and a source has the role 3",
        ),
    ]
    for make, path, message in cases:
        with pytest.raises(core.ScenarioError) as refused:
            make()
        assert refused.value.path == path
        assert message in str(refused.value)


@pytest.mark.parametrize("form", FORMS)
def test_a_description_that_does_not_fit_the_role_is_refused(form: str, tmp_path: Path) -> None:
    cases = [
        ("congestion", 2, 16, "`options` is 0x10; write a combination of the bits in 0xf"),
        ("congestion", 256, 0, "its events are 0x100"),
        ("scheduler", 2, 0, "its events are 0x2; a scheduler needs the bits 0x4"),
        ("scheduler", 4, 1, "`options` is 1; write 0 for a component of this role"),
        ("source", 1, 0, "its events are 0x1; a source needs the bits 0x2"),
    ]
    for number, (role, events, options, message) in enumerate(cases):
        folder = tmp_path / str(number)
        file = write(folder, form, role, "", events=events, options=options)
        with pytest.raises(core.ScenarioError) as refused:
            with_mine(folder, role, file)
        assert message in str(refused.value)


def test_a_module_with_a_scheduler_lends_room_for_the_states_of_all_queues(tmp_path: Path) -> None:
    text = (LAWS / "priority.wat").read_text()
    space = '"tailback_space") (result i32) (i32.const '
    for at, refused in ((65536 - 8192, False), (65536 - 8184, True)):
        (tmp_path / "priority.wat").write_text(text.replace(f"{space}0", f"{space}{at}"))
        if refused:
            with pytest.raises(core.ScenarioError, match="8192 bytes at a multiple of 8 are needed"):
                scenario(tmp_path, scheduler("priority.wat"))
        else:
            assert report(scenario(tmp_path, scheduler("priority.wat")))["digest"]
