"""Schedulers, congestion controls and traffic sources that the user has compiled, and their faults."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import test_congestion_controls as controls
from compiled import FORMS as COMPILED
from compiled import WASM_TARGET, build, put, rust
from components import LAWS, drops, dumbbell, failure, marks, read, report

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


# Component `Mine` with a body for its calls.
C_FORM = """
#include "tailback_law.h"
#include <math.h>
#include <stdlib.h>

typedef struct Mine { double n, starts; } Mine;

void TAILBACK_EXPORT(tailback_Mine_describe)(tailback_description *out) {
    out->abi = TAILBACK_ABI;
    out->role = @role@;
    out->events = @events@;
    out->options = @options@;
}
int32_t TAILBACK_EXPORT(tailback_Mine_create)(const tailback_host *host, Mine **self) {
    *self = calloc(1, sizeof(Mine));
    (*self)->n = tailback_parameter(host, "n", TAILBACK_NUMBER, 0);
    return 0;
}
int32_t TAILBACK_EXPORT(tailback_Mine_answer)(Mine *self, const tailback_@name@_call *call,
                                              tailback_@name@_answer *answer, const tailback_host *host) {
    (void)self; (void)call; (void)answer; (void)host;
    @body@
    return 0;
}
void TAILBACK_EXPORT(tailback_Mine_destroy)(Mine *self) { free(self); }
"""
# Bytes 0 to 8191 are lent to the host.
WAT_FORM = """
(module
  (import "tailback" "fail" (func $fail (param i32)))
  (import "tailback" "parameter" (func $parameter (param i32 i32 f64) (result f64)))
  (memory (export "memory") 1)
  (data (i32.const 8192) "n\\00it is odd\\00")
  (global $n (mut f64) (f64.const 0))
  (global $starts (mut i32) (i32.const 0))
  (func (export "tailback_space") (result i32) (i32.const 0))
  (func (export "tailback_Mine_describe") (param $out i32)
    (i32.store (local.get $out) (i32.const 1))
    (i32.store offset=4 (local.get $out) (i32.const @role@))
    (i32.store offset=8 (local.get $out) (i32.const @events@))
    (i32.store offset=252 (local.get $out) (i32.const @options@)))
  (func (export "tailback_Mine_create") (param $host i32) (param $self i32) (result i32)
    (global.set $n (call $parameter (i32.const 8192) (i32.const 0) (f64.const 0)))
    (i32.const 0))
  (func $forever (loop $again (br $again)))
  (func (export "tailback_Mine_answer")
    (param $self i32) (param $call i32) (param $answer i32) (param $host i32) (result i32)
    @body@
    (i32.const 0)))
"""
# Name in the interface, number, and bit of the event that is handled: select, acknowledged, next.
ROLES = {"scheduler": (1, 4), "congestion": (2, 2), "source": (3, 2)}


def write(folder: Path, form: str, role: str, body: str, *, events: int | None = None, options: int = 0) -> str:
    """Write the component `Mine` of a role with a body for its calls; return the name of the file."""
    folder.mkdir(exist_ok=True)
    number, event = ROLES[role]
    text = C_FORM if form == "so" else WAT_FORM
    parts = {"role": number, "events": event if events is None else events, "options": options, "name": role}
    for name, part in {**parts, "body": body}.items():
        text = text.replace(f"@{name}@", str(part))
    if form == "so":
        build(text, folder / "mine.so")
    else:
        (folder / "mine.wat").write_text(text)
    return f"mine.{form}"


def with_mine(folder: Path, role: str, file: str) -> core.Scenario:
    """Return the network with the component `Mine` in its role."""
    if role == "scheduler":
        return scenario(folder, scheduler(file, "Mine"))
    if role == "congestion":
        return controls.scenario(folder, control(file, "Mine"))
    return scenario(folder, source=control(file, "Mine"))


# Behaviour before the fault: the second queue, that of the connections, is chosen if it is ready, else the first;
# the window stays; a packet leaves each 10 ms.
BEFORE = {
    ("scheduler", "so"): "answer->queue = tailback_queues(call)[1].ready ? 1 : tailback_queues(call)[0].ready ? 0 : 2;",
    ("congestion", "so"): "",
    ("source", "so"): "answer->at_ps = call->now_ps + 10000000000u; answer->bytes = 100;",
    ("scheduler", "wat"): """(i32.store offset=8 (local.get $answer)
        (select (i32.const 1) (select (i32.const 0) (i32.const 2) (i32.load offset=56 (local.get $call)))
            (i32.load offset=80 (local.get $call))))""",
    ("congestion", "wat"): "",
    ("source", "wat"): """(i64.store (local.get $answer) (i64.add (i64.load (local.get $call)) (i64.const 10000000000)))
        (i64.store offset=8 (local.get $answer) (i64.const 100))""",
}
WHEN = {
    "so": "if (call->now_ps >= 1000000000000u) {{ {} }}",
    "wat": "(if (i64.ge_u (i64.load (local.get $call)) (i64.const 1000000000000)) (then {}))",
}
STATUS = {
    ("so", "return 3;"): "the component returned the status 3",
    ("so", 'return tailback_fail(host, "it is odd");'): "it is odd",
    ("wat", "(return (i32.const 3))"): "the component returned the status 3",
    ("wat", "(call $fail (i32.const 8194)) (return (i32.const 1))"): "it is odd",
    ("wat", "unreachable"): "trap:",
    ("wat", "(call $forever)"): "took more than 100000000 steps",
}
FAULTS: dict[str, dict[tuple[str, str], str]] = {
    "congestion": {
        ("so", "answer->cwnd = NAN;"): "the window is NaN segments; it must be 1 to 1000000000",
        ("so", "answer->cwnd = 0.5;"): "the window is 0.5 segments",
        ("so", "answer->ssthresh = NAN;"): "the threshold is NaN segments",
        ("so", "answer->rate = 100;"): "a rate is set, but the control does not declare that it paces",
        ("so", "answer->wake_ps = call->now_ps - 1;"): "is before now",
        ("wat", "(f64.store (local.get $answer) (f64.const nan))"): "the window is NaN segments",
        ("wat", "(f64.store (local.get $answer) (f64.const 0.5))"): "the window is 0.5 segments",
        ("wat", "(f64.store offset=8 (local.get $answer) (f64.const nan))"): "the threshold is NaN segments",
        ("wat", "(f64.store offset=16 (local.get $answer) (f64.const 100))"): "does not declare that it paces",
        ("wat", "(i64.store offset=24 (local.get $answer) (i64.const 1))"): "is before now",
        **STATUS,
    },
    "scheduler": {
        ("so", "answer->queue = 7;"): "queue 7 is chosen, but the queues are 0 to 2",
        ("so", "answer->queue = call->queues - 1;"): "queue 2 is chosen, but no packet waits in it",
        ("so", "answer->wake_ps = call->now_ps - 1;"): "is before now",
        (
            "wat",
            "(i32.store offset=8 (local.get $answer) (i32.const 7))",
        ): "queue 7 is chosen, but the queues are 0 to 2",
        (
            "wat",
            "(i32.store offset=8 (local.get $answer) (i32.sub (i32.load offset=36 (local.get $call)) (i32.const 1)))",
        ): "queue 2 is chosen, but no packet waits in it",
        ("wat", "(i64.store (local.get $answer) (i64.const 1))"): "is before now",
        **STATUS,
    },
    "source": {
        ("so", "answer->at_ps = call->now_ps - 1;"): "is before the last one, at",
        ("so", "answer->bytes = 0;"): "a burst has 0 bytes; it must have 1 to 2^40",
        ("wat", "(i64.store (local.get $answer) (i64.const 1))"): "is before the last one, at",
        ("wat", "(i64.store offset=8 (local.get $answer) (i64.const 0))"): "a burst has 0 bytes",
        **STATUS,
    },
}
# The call and the instant of the fault; the source emits each 10 ms from 0 s on.
CALLS = {
    "scheduler": "in `select` at 1.0",
    "congestion": "in `acknowledged` at 1.0",
    "source": "in `next` at 1 s",
}
CASES = [(role, form, body) for role, faults in FAULTS.items() for form, body in faults]


@pytest.mark.parametrize(("role", "form", "body"), CASES)
def test_a_fault_names_the_component_the_call_and_the_instant(role: str, form: str, body: str, tmp_path: Path) -> None:
    file = write(tmp_path, form, role, BEFORE[role, form] + WHEN[form].format(body))
    message = failure(with_mine(tmp_path, role, file))
    for part in (f"`Mine` of {file} at ", CALLS[role], FAULTS[role][form, body]):
        assert part in message


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


RUST_FORM = """
#![allow(dead_code)]
mod tailback_law;
use tailback_law::*;

struct Mine { n: f64, texts: Vec<String> }

impl Component for Mine {
    type Role = @name@::Role;
    const EVENTS: u32 = @events@;
    fn new(host: &Host) -> Result<Mine, String> {
        Ok(Mine { n: host.number("n", 0.0), texts: vec!["one".to_owned()] })
    }
    fn answer(&mut self, call: &@name@::Call, answer: &mut @name@::Answer, _: &Host) -> Result<(), String> {
        @before@
        if call.now_ps >= 1_000_000_000_000 { @body@ }
        Ok(())
    }
}
component!(Mine);
"""
RUST_BEFORE = {
    "scheduler": "answer.queue = [1u32, 0].into_iter().find(|n| call.queues[*n as usize].ready == 1).unwrap_or(2);",
    "congestion": "answer.cwnd = call.cwnd;",
    "source": "*answer = source::Answer { at_ps: call.now_ps + 10_000_000_000, bytes: 100 };",
}
RUST_FAULTS = {
    'return Err(format!("it is odd: {}", self.n))': "it is odd: 0",
    "self.texts[1].clear()": "the len is 1 but the index is 1",
    "self.n = self.texts[0].parse().unwrap()": "ParseFloatError",
    'panic!("at {}", call.now_ps / 1_000_000_000_000)': "at 1",
}


@pytest.mark.parametrize("target", [None, WASM_TARGET])
@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("body", RUST_FAULTS)
def test_an_error_and_a_panic_in_rust_are_faults_with_their_messages(
    body: str, role: str, target: str | None, tmp_path: Path
) -> None:
    file = "mine.wasm" if target else "mine.so"
    text = RUST_FORM
    parts = {"name": role, "events": ROLES[role][1], "before": RUST_BEFORE[role], "body": body}
    for name, part in parts.items():
        text = text.replace(f"@{name}@", str(part))
    (tmp_path / file).write_bytes(rust(text, target))
    message = failure(with_mine(tmp_path, role, file))
    for part in (f"`Mine` of {file} at ", CALLS[role], RUST_FAULTS[body]):
        assert part in message


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
