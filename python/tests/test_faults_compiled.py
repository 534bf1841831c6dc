"""Faults of components in C and in WebAssembly: each kind in each role, in one cell of a sweep of ten."""

from __future__ import annotations

from pathlib import Path

import pytest
from compiled_roles import write
from faults import AFTER_PS, FAULTY, ROLES, check, limit_calls, with_component

# Behaviour without a fault: see `faults.BUILT_IN`.
NORMAL = {
    ("queue", "so"): "",
    ("congestion", "so"): "",
    ("scheduler", "so"): "for (answer->queue = 0; !tailback_queues(call)[answer->queue].ready;) answer->queue++;",
    (
        "source",
        "so",
    ): "answer->at_ps = call->now_ps + (call->bursts ? 10000000000u : 0); answer->bytes = 100;",
    ("queue", "wat"): "",
    ("congestion", "wat"): "",
    ("scheduler", "wat"): """(i32.store offset=8 (local.get $answer)
        (select (i32.const 0) (select (i32.const 1) (i32.const 2) (i32.load offset=80 (local.get $call)))
            (i32.load offset=56 (local.get $call))))""",
    ("source", "wat"): """(i64.store (local.get $answer) (i64.add (i64.load (local.get $call))
            (select (i64.const 0) (i64.const 10000000000) (i64.eqz (i64.load offset=8 (local.get $call))))))
        (i64.store offset=8 (local.get $answer) (i64.const 100))""",
}
WHEN = {
    "so": f"if (self->n == {FAULTY} && call->now_ps >= {AFTER_PS}u) {{{{ {{}} }}}}",
    "wat": f"""(if (i32.and (f64.eq (global.get $n) (f64.const {FAULTY}))
        (i64.ge_u (i64.load (local.get $call)) (i64.const {AFTER_PS}))) (then {{}}))""",
}

# Statements by form and role, and part of the message.
ANYWHERE = {
    "so": {
        "return 3;": "the component returned the status 3",
        'return tailback_fail(host, "it is odd");': "it is odd",
        "tailback_below(host, 0);": "`below` was called with 0",
        "tailback_exponential(host, NAN);": "`exponential` was called with the mean NaN",
        "tailback_exponential(host, -INFINITY);": "`exponential` was called with the mean -inf",
        'tailback_parameter(host, "n", TAILBACK_NUMBER, 0);': "only when it is made",
        "*(volatile int *)0 = 1;": "its process was ended by SIGSEGV",
        "abort();": "its process was ended by SIGABRT",
        "_Exit(3);": "its process exited with code 3",
        "for (volatile int again = 1; again;) {}": "the call did not return within 0.5 s, and its process was ended",
        "pause();": "the call did not return within 0.5 s, and its process was ended",
    },
    "wat": {
        "(return (i32.const 3))": "the component returned the status 3",
        "(call $fail (i32.const 8194)) (return (i32.const 1))": "it is odd",
        "(call $fail (i32.const 8194)) unreachable": "it is odd (trap: ",
        "(call $fail (i32.const 65536))": "the text at 65536 does not end with a zero",
        "(drop (call $below (i64.const 0)))": "`below` was called with 0",
        "(drop (call $exponential (f64.const nan)))": "`exponential` was called with the mean NaN",
        "(drop (call $exponential (f64.const -inf)))": "`exponential` was called with the mean -inf",
        "(drop (call $parameter (i32.const 8192) (i32.const 0) (f64.const 0)))": "only when it is made",
        "unreachable": "trap: wasm `unreachable` instruction executed",
        "(drop (i32.div_u (i32.const 1) (i32.const 0)))": "trap: integer divide by zero",
        "(drop (i64.trunc_f64_u (f64.const nan)))": "trap: ",
        "(drop (i32.load (i32.const 65536)))": "trap: out of bounds memory access",
        "(call $deep)": "trap: call stack exhausted",
        "(call $forever)": "the call took more than 100000000 steps",
        "(drop (memory.grow (i32.const 300)))": "its memory would grow beyond 16777216 bytes",
    },
}
ANSWERS = {
    ("queue", "so"): {
        "answer->verdict = 3;": "the verdict 3 is neither PASS (0) nor MARK (1) nor DROP (2)",
        "answer->verdict = (uint32_t)-1;": "the verdict 4294967295",
        "answer->wake_ps = call->now_ps - 1;": "is before now",
        "answer->wake_ps = 0;": "is before now",
    },
    ("queue", "wat"): {
        "(i32.store offset=8 (local.get $answer) (i32.const 3))": "the verdict 3 is neither",
        "(i64.store (local.get $answer) (i64.sub (i64.load (local.get $call)) (i64.const 1)))": "is before now",
    },
    ("congestion", "so"): {
        "answer->cwnd = NAN;": "the window is NaN segments; it must be 1 to 1000000000",
        "answer->cwnd = INFINITY;": "the window is inf segments",
        "answer->cwnd = -INFINITY;": "the window is -inf segments",
        "answer->cwnd = -1;": "the window is -1 segments",
        "answer->cwnd = 0.5;": "the window is 0.5 segments",
        "answer->ssthresh = NAN;": "the threshold is NaN segments",
        "answer->ssthresh = -3;": "the threshold is -3 segments",
        "answer->rate = 100;": "a rate is set, but the control does not declare that it paces",
        "answer->rate = NAN; /* paces */": "the rate is NaN segments/s",
        "answer->rate = INFINITY; /* paces */": "the rate is inf segments/s",
        "answer->rate = -5; /* paces */": "the rate is -5 segments/s",
        "answer->wake_ps = call->now_ps - 1;": "is before now",
    },
    ("congestion", "wat"): {
        "(f64.store (local.get $answer) (f64.const nan))": "the window is NaN segments",
        "(f64.store (local.get $answer) (f64.const inf))": "the window is inf segments",
        "(f64.store (local.get $answer) (f64.const -inf))": "the window is -inf segments",
        "(f64.store (local.get $answer) (f64.const -1))": "the window is -1 segments",
        "(f64.store (local.get $answer) (f64.const 0.5))": "the window is 0.5 segments",
        "(f64.store offset=8 (local.get $answer) (f64.const nan))": "the threshold is NaN segments",
        "(f64.store offset=16 (local.get $answer) (f64.const 100))": "does not declare that it paces",
        "(f64.store offset=16 (local.get $answer) (f64.const nan)) (; paces ;)": "the rate is NaN segments/s",
        "(f64.store offset=16 (local.get $answer) (f64.const inf)) (; paces ;)": "the rate is inf segments/s",
        "(i64.store offset=24 (local.get $answer) (i64.const 1))": "is before now",
    },
    ("scheduler", "so"): {
        "answer->queue = 7; return 0;": "queue 7 is chosen, but the queues are 0 to 2",
        "answer->queue = call->queues - 1; return 0;": "queue 2 is chosen, but no packet waits in it",
        "answer->wake_ps = call->now_ps - 1;": "is before now",
    },
    ("scheduler", "wat"): {
        "(i32.store offset=8 (local.get $answer) (i32.const 7)) (return (i32.const 0))": "queue 7 is chosen, but",
        "(i32.store offset=8 (local.get $answer) (i32.const 2)) (return (i32.const 0))": "but no packet waits in it",
        "(i64.store (local.get $answer) (i64.const 1))": "is before now",
    },
    ("source", "so"): {
        "answer->at_ps = call->now_ps - 1; answer->bytes = 1; return 0;": "is before the last one, at",
        "answer->at_ps = call->now_ps; answer->bytes = 0; return 0;": "a burst has 0 bytes; it must have 1 to 2^40",
        "answer->at_ps = call->now_ps; answer->bytes = (uint64_t)-100; return 0;": "it must have 1 to 2^40",
        "answer->at_ps = call->now_ps; answer->bytes = 1; return 0;": "more than 1000000 bursts at one instant",
    },
    ("source", "wat"): {
        "(i64.store (local.get $answer) (i64.load (local.get $call))) (return (i32.const 0))": "a burst has 0 bytes",
        """(i64.store (local.get $answer) (i64.const 1)) (i64.store offset=8 (local.get $answer) (i64.const 1))
            (return (i32.const 0))""": "is before the last one, at",
    },
}
CASES = [
    (role, form, fault, part)
    for form in ("so", "wat")
    for role in ROLES
    for fault, part in {**ANYWHERE[form], **ANSWERS[role, form]}.items()
]


@pytest.mark.parametrize(("role", "form", "fault", "part"), CASES)
def test_a_fault_ends_its_cell_and_the_other_nine_finish(
    role: str, form: str, fault: str, part: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    limit_calls(part, monkeypatch)
    file = write(tmp_path, form, role, WHEN[form].format(fault) + NORMAL[role, form], options=int("paces" in fault))
    check(with_component(tmp_path, role, file), role, file, part)
