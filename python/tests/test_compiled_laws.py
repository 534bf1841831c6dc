"""Queue laws that the user has written in C, in Rust, in WebAssembly, and for numba."""

from __future__ import annotations

import json
import os
import re
import signal
import struct
import subprocess
import sys
from pathlib import Path

import pytest
from compiled import FORMS as COMPILED
from compiled import INCLUDE, build, put, write
from components import drops, dumbbell, marks, report
from test_laws import law, refusal, scenario, user

import tailback as core

FORMS = ("so", "wat")
# Later than 1 s, in the cell with n = 4.
SO_WHEN = "if (call->event == TAILBACK_ARRIVE && call->now_ps > 1000000000000u && self->n == 4) "
WAT_WHEN = """(if (i32.and (f64.eq (global.get $n) (f64.const 4))
    (i64.gt_u (i64.load (local.get $call)) (i64.const 1000000000000))) (then {}))"""


def when(form: str, body: str) -> str:
    """Return a body for calls after 1 s in the cell with n = 4."""
    return f"{SO_WHEN} {{ {body} }}" if form == "so" else WAT_WHEN.format(body)


@pytest.mark.parametrize("form", COMPILED)
@pytest.mark.parametrize("engine", ["merged", "plain"])
@pytest.mark.parametrize(
    ("built_in", "parameters"),
    [
        ('{ kind = "codel" }', "{}"),
        ('{ kind = "codel", target = "1ms", interval = "20ms" }', '{ target = "1ms", interval = "20ms" }'),
        ('{ kind = "codel", target = "20ms", mtu = "9kB" }', '{ target = "20ms", mtu = 9000 }'),
    ],
)
def test_compiled_codel_decides_as_the_built_in_one_about_every_packet(
    form: str, engine: str, built_in: str, parameters: str, tmp_path: Path
) -> None:
    theirs = report(scenario(tmp_path, built_in), engine=engine)
    ours = report(scenario(tmp_path, user(put(tmp_path, "codel", form), "Codel", parameters)), engine=engine)
    # The digest contains each packet's fate and delay.
    assert ours["digest"] == theirs["digest"]
    assert drops(ours) > 10


@pytest.mark.parametrize("form", COMPILED)
def test_compiled_codel_gives_the_same_packet_trace_and_time_series(form: str, tmp_path: Path) -> None:
    found = []
    for discipline in ('{ kind = "codel" }', user(put(tmp_path, "codel", form), "Codel")):
        native = scenario(tmp_path, discipline).native
        text, rows, trace_hash = core._native.trace(native, 3, lambda *_: None, ([], [], [], [], None, None))
        found.append((rows, trace_hash, json.loads(text)["series"]))
    assert found[0] == found[1]
    assert found[0][0] > 10_000


@pytest.mark.parametrize("parallel", [1, 2, 3])
@pytest.mark.parametrize("form", FORMS)
def test_several_threads_for_one_run_give_the_same_results(form: str, parallel: int, tmp_path: Path) -> None:
    one = scenario(tmp_path, user(put(tmp_path, "codel", form), "Codel"))
    whole = one.native.run(3)
    assert one.native.user_languages == ["native" if form == "so" else "wasm"]
    assert json.loads(one.native.run(3, parallel=parallel))["digest"] == json.loads(whole)["digest"]


@pytest.mark.parametrize("form", FORMS)
def test_a_fault_in_one_partition_ends_the_run(form: str, tmp_path: Path) -> None:
    body = when(form, "return 3;" if form == "so" else "(return (i32.const 3))")
    one = scenario(tmp_path, user(write(tmp_path, form, body), "Mine", "{ n = 4 }"))
    with pytest.raises(core.RunError, match=r"in `arrive` at 1\.000.* s: the component returned the status 3"):
        core.run(one, replications=1, parallel=3)


DRAWS = {
    "self.random() < 0.05": ("tailback_random(host) < 0.05", "(f64.lt (call $random) (f64.const 0.05))"),
    "self.below(20) == 3": ("tailback_below(host, 20) == 3", "(i64.eq (call $below (i64.const 20)) (i64.const 3))"),
    "self.exponential(0.5) > 1.5": (
        "tailback_exponential(host, 0.5) > 1.5",
        "(f64.gt (call $exponential (f64.const 0.5)) (f64.const 1.5))",
    ),
    "self.normal() > 1.6": ("tailback_normal(host) > 1.6", "(f64.gt (call $normal) (f64.const 1.6))"),
    "tailback.maths.ln(call.size) < 5 and self.random() < 0.1": (
        "tailback_ln(host, call->size) < 5 && tailback_random(host) < 0.1",
        """(if (result i32) (f64.lt (call $ln (f64.convert_i32_u (i32.load offset=60 (local.get $call)))) (f64.const 5))
             (then (f64.lt (call $random) (f64.const 0.1))) (else (i32.const 0)))""",
    ),
}


@pytest.mark.parametrize("condition", DRAWS)
@pytest.mark.parametrize("form", FORMS)
def test_draws_and_functions_are_those_of_a_law_in_python(form: str, condition: str, tmp_path: Path) -> None:
    head = "import tailback.maths"
    theirs = report(law(tmp_path, f"def arrive(self, call): return DROP if {condition} else PASS", head=head))
    in_c, in_wat = DRAWS[condition]
    drop = f"(if {in_wat} (then (i32.store offset=8 (local.get $answer) (i32.const 2))))"
    body = f"if ({in_c}) answer->verdict = TAILBACK_DROP;" if form == "so" else drop
    ours = report(scenario(tmp_path, user(write(tmp_path, form, body), "Mine")))
    assert ours["digest"] == theirs["digest"]
    assert drops(theirs) > 10


TIMER = {
    "so": """
if (call->event == TAILBACK_ARRIVE) self->arrivals--;
if (call->event == TAILBACK_START) answer->wake_ps = 250000000000u;
if (call->event == TAILBACK_TIMER) {
    if (answer->wake_ps != TAILBACK_NEVER) return tailback_fail(host, "the timer has not expired");
    self->arrivals++;
    answer->wake_ps = call->now_ps + 250000000000u;
}
""",
    "wat": """
(if (i32.eq (i32.load offset=56 (local.get $call)) (i32.const 1))
  (then (global.set $arrivals (f64.sub (global.get $arrivals) (f64.const 1)))))
(if (i32.eqz (i32.load offset=56 (local.get $call)))
  (then (i64.store (local.get $answer) (i64.const 250000000000))))
(if (i32.eq (i32.load offset=56 (local.get $call)) (i32.const 4))
  (then
    (if (i64.ne (i64.load (local.get $answer)) (i64.const -1)) (then unreachable))
    (global.set $arrivals (f64.add (global.get $arrivals) (f64.const 1)))
    (i64.store (local.get $answer) (i64.add (i64.load (local.get $call)) (i64.const 250000000000)))))
""",
}


# With arrivals, which do not write the answer: without the present wake-up in it, each of them would cancel the timer.
@pytest.mark.parametrize("events", [0b10001, 0b10011])
@pytest.mark.parametrize("form", FORMS)
def test_a_law_is_called_at_the_time_that_it_sets_and_its_state_is_recorded(
    form: str, events: int, tmp_path: Path
) -> None:
    found = report(scenario(tmp_path, user(write(tmp_path, form, TIMER[form], events=events), "Mine")))
    # Only timers are counted. At 0.25, 0.5, ... s: the sample at 4 s is taken after the timer of that instant.
    assert found["series"]["ports"]["s->b"]["state"]["arrivals"][-1] == 16


@pytest.mark.parametrize("form", FORMS)
def test_a_mark_is_a_drop_for_packets_without_ecn(form: str, tmp_path: Path) -> None:
    body = {
        "so": "if (call->queue_packets >= 20) answer->verdict = TAILBACK_MARK;",
        "wat": """(if (i64.ge_u (i64.load offset=16 (local.get $call)) (i64.const 20))
            (then (i32.store offset=8 (local.get $answer) (i32.const 1))))""",
    }
    one = scenario(tmp_path, user(write(tmp_path, form, body[form]), "Mine"))
    plain, ecn = report(one), report(one.set({"flows[tcp].transport.ecn": "classic"}))
    assert drops(plain) > 0 == marks(plain)
    assert marks(ecn) > 0 == drops(ecn)


@pytest.mark.parametrize("form", FORMS)
def test_a_stepped_run_raises_the_fault_at_the_step(form: str, tmp_path: Path) -> None:
    body = when(form, "return 3;" if form == "so" else "(return (i32.const 3))")
    simulation = core.Simulation(scenario(tmp_path, user(write(tmp_path, form, body), "Mine", "{ n = 4 }")))
    simulation.run_until("0.9s")
    with pytest.raises((core.RunError, RuntimeError), match="returned the status 3"):
        simulation.run_until("2s")


@pytest.mark.parametrize("form", FORMS)
def test_parameters_are_checked_when_the_scenario_is_loaded(form: str, tmp_path: Path) -> None:
    file = write(tmp_path, form, "")
    cases = [
        ('{ n = "2" }', '`n` is "2"; write a number'),
        ("{ m = 2 }", "there is no parameter `m`"),
        ("{ n = 2, other = 1 }", "there is no parameter `other`; the parameters are `n`"),
    ]
    for parameters, message in cases:
        error = refusal(tmp_path, user(file, "Mine", parameters))
        assert error.path == "network.discipline.parameters"
        assert message in str(error)
    draw = "tailback_random(host);" if form == "so" else "(drop (call $random))"
    error = refusal(tmp_path, user(write(tmp_path, form, "", create=draw), "Mine"))
    assert error.path == "network.discipline.parameters"
    assert "draws random numbers only in its calls" in str(error)


@pytest.mark.parametrize("form", FORMS)
def test_a_file_that_breaks_the_interface_is_refused_at_its_key(form: str, tmp_path: Path) -> None:
    file = write(tmp_path, form, "")
    assert "did you mean `Mine`?" in str(refusal(tmp_path, user(file, "Min")))
    error = refusal(tmp_path, user(file, "Other"))
    assert error.path == "network.discipline.class"
    assert "its classes are `Mine`" in str(error)
    assert "there is no file" in str(refusal(tmp_path, user(f"none.{form}", "Mine")))
    assert "is not Python source" in str(refusal(tmp_path, user("mine.txt", "Mine")))
    for name, keywords, message in (
        ("abi", {"abi": 2}, "it has version 2 of the interface, and this program has version 1"),
        ("events", {"events": 0}, "its events are 0x0"),
        ("unknown", {"events": 64}, "its events are 0x40"),
    ):
        error = refusal(tmp_path / name, user(write(tmp_path / name, form, "", **keywords), "Mine"))  # type: ignore[arg-type]
        assert error.path == "network.discipline.class"
        assert message in str(error)
        assert error.line == 8


RUN = """
import sys
import tailback
tailback.load(sys.argv[1]).native.run(3)
"""
ENDS = {
    "*(volatile int *)0 = 1;": -signal.SIGSEGV,
    "abort();": -signal.SIGABRT,
    "for (volatile int again = 1; again;) {}": None,
}
"""Ends of the process with a law in C: the signal, or `None` if it has to be killed."""


@pytest.mark.parametrize("body", ENDS)
def test_a_crash_or_an_endless_loop_leaves_a_note_of_the_law_the_call_and_the_time(body: str, tmp_path: Path) -> None:
    file = write(tmp_path, "so", when("so", body))
    toml = tmp_path / "scenario.toml"
    toml.write_text(dumbbell(user(file, "Mine", "{ n = 4 }")))
    note = tmp_path / "last"
    # 64 words, as crates/compiled/src/last_call.rs says.
    note.write_bytes(bytes(512))
    environment = {**os.environ, "TAILBACK_LAST_CALL": str(note)}
    command = [sys.executable, "-X", "faulthandler=0", "-c", RUN, str(toml)]
    process = subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL)
    try:
        process.wait(timeout=60 if ENDS[body] else 3)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    assert process.returncode == (ENDS[body] or -signal.SIGKILL)
    calls, now_ps, call, component = struct.unpack("=QQ16s480s", note.read_bytes())
    assert calls % 2 == 1
    assert calls > 100
    assert 10**12 < now_ps < 1.01 * 10**12
    assert call.rstrip(b"\0") == b"arrive"
    assert component.partition(b"\0")[0].decode().startswith("`Mine` of mine.so at ")


def test_without_a_fault_the_note_has_only_calls_that_have_ended(tmp_path: Path) -> None:
    toml = tmp_path / "scenario.toml"
    toml.write_text(dumbbell(user(write(tmp_path, "so", ""), "Mine")))
    note = tmp_path / "last"
    note.write_bytes(bytes(512))
    environment = {**os.environ, "TAILBACK_LAST_CALL": str(note)}
    subprocess.run([sys.executable, "-c", RUN, str(toml)], env=environment, check=True, timeout=60)
    (calls,) = struct.unpack_from("=Q", note.read_bytes())
    assert calls % 2 == 0
    assert calls > 1_000


def test_a_file_that_is_no_library_is_refused(tmp_path: Path) -> None:
    library = tmp_path / "mine.so"
    library.write_text("no library")
    assert f"{library} is no library for" in str(refusal(tmp_path, user("mine.so", "Mine")))
    write(tmp_path, "so", "")
    library.write_bytes(library.read_bytes()[:2000])
    error = refusal(tmp_path, user("mine.so", "Mine"))
    assert error.path == "network.discipline.file"
    assert f"{library} is no library for" in str(error)


def test_a_library_that_lacks_a_function_is_refused(tmp_path: Path) -> None:
    describe = """
        #include "tailback_law.h"
        void TAILBACK_EXPORT(tailback_Mine_describe)(tailback_description *out) {
            out->abi = TAILBACK_ABI;
            out->events = TAILBACK_BIT(TAILBACK_ARRIVE);
            PROBES
        }
        int32_t TAILBACK_EXPORT(tailback_Mine_create)(const tailback_host *host, void **self) {
            (void)host; (void)self; return 0;
        }
    """
    for probes, function in (("", "answer"), ('tailback_probes(out, "a");', "probe")):
        build(describe.replace("PROBES", probes), tmp_path / "mine.so")
        error = refusal(tmp_path, user("mine.so", "Mine"))
        assert f"it does not define the function `tailback_Mine_{function}`" in str(error)


def test_a_module_that_is_invalid_or_imports_something_else_is_refused(tmp_path: Path) -> None:
    write(tmp_path, "wat", "")
    binary = core._native.wat_to_wasm((tmp_path / "mine.wat").read_text())
    (tmp_path / "mine.wasm").write_bytes(binary)
    assert report(scenario(tmp_path, user("mine.wasm", "Mine")))["digest"]
    (tmp_path / "mine.wasm").write_bytes(binary[: len(binary) // 2])
    error = refusal(tmp_path, user("mine.wasm", "Mine"))
    assert error.path == "network.discipline.file"
    assert "is no valid WebAssembly module" in str(error)
    (tmp_path / "text.wat").write_text("(module (func")
    assert "is no valid WebAssembly module" in str(refusal(tmp_path, user("text.wat", "Mine")))
    imports = {
        '(import "env" "clock" (func $clock (result i64)))': "it imports `env.clock`",
        '(import "tailback" "clock" (func $clock (result i64)))': "it imports `tailback.clock`",
        '(import "tailback" "random" (global f64))': "it imports `tailback.random`",
        '(import "tailback" "exp" (func (param i64) (result f64)))': "`tailback.exp` with another type than from",
    }
    for text, message in imports.items():
        error = refusal(tmp_path, user(write(tmp_path, "wat", "", imports=text), "Mine"))
        assert message in str(error)
    for space in (4, 65536):
        error = refusal(tmp_path, user(write(tmp_path, "wat", "", space=space), "Mine"))
        assert f"`tailback_space` returned {space}; 1024 bytes at a multiple of 8 are needed" in str(error)
    lacking = (tmp_path / "mine.wat").read_text().replace("tailback_space", "other_space")
    (tmp_path / "mine.wat").write_text(lacking)
    assert "does not define the function `tailback_space`" in str(refusal(tmp_path, user("mine.wat", "Mine")))
    large = lacking.replace("other_space", "tailback_space").replace('"memory") 1', '"memory") 300')
    (tmp_path / "mine.wat").write_text(large)
    assert "its memory begins with 300 pages of 64 KiB; the limit is 16777216 bytes" in str(
        refusal(tmp_path, user("mine.wat", "Mine"))
    )


@pytest.mark.parametrize("form", FORMS)
def test_a_file_outside_the_folder_is_refused_unless_allowed(form: str, tmp_path: Path) -> None:
    write(tmp_path / "a", form, "")
    (tmp_path / "b").mkdir()
    discipline = user(f"../a/mine.{form}", "Mine")
    assert "outside the scenario's folder" in str(refusal(tmp_path / "b", discipline))
    text = dumbbell(discipline)
    assert core.Scenario.from_toml(text, str(tmp_path / "b" / "s.toml"), allow_files=True).native.has_user_code


@pytest.mark.parametrize("form", FORMS)
def test_a_law_that_is_compiled_again_has_another_hash_and_is_loaded_again(form: str, tmp_path: Path) -> None:
    limit = {
        "so": "if (call->queue_packets > {}) answer->verdict = TAILBACK_DROP;",
        "wat": """(if (i64.gt_u (i64.load offset=16 (local.get $call)) (i64.const {}))
            (then (i32.store offset=8 (local.get $answer) (i32.const 2))))""",
    }[form]
    found = []
    for packets in (20, 20, 15, 20):
        one = scenario(tmp_path, user(write(tmp_path, form, limit.format(packets)), "Mine"))
        found.append((one.hash, one.native.effect, report(one)["digest"]))
    assert found[0] == found[1] == found[3]
    assert all(first != second for first, second in zip(found[1], found[2], strict=True))


def test_the_header_declares_the_records_of_the_engine() -> None:
    header = (INCLUDE / "tailback_law.h").read_text()
    for record, fields in core._native.law_records().items():
        body = re.search(rf"typedef struct {record} {{(.*?)}} {record};", header, re.DOTALL)
        assert body, record
        # Types and names in their order; the types have no padding between them.
        declared = re.findall(r"^ +(\w+) (\w+)(?:\[(\d+)\])?;", body.group(1), re.MULTILINE)
        sizes = {"uint64_t": 8, "double": 8, "uint32_t": 4, "uint8_t": 1, "char": 1}
        offset, found = 0, []
        for kind, name, count in declared:
            found.append((name, offset))
            offset += sizes[kind] * int(count or 1)
        assert [*found, ("", offset)] == fields
