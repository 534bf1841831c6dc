"""Queue laws in machine code that the Python process has compiled."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from components import drops, failure, report
from faults import AFTER_PS, FAULTY, check, limit_calls, with_component
from test_laws import law, refusal, scenario, user

import tailback as core
from tailback import _native
from tailback.laws import native, records

# A function of Python behind a C function: as slow as Python, but with the interface of compiled ones.
BY_CTYPES = """
import ctypes, os
import numpy as np
import tailback
from tailback import DROP

class Call(ctypes.Structure):
    _fields_ = [("head", ctypes.c_uint64 * 7), ("event", ctypes.c_uint32), ("tail", ctypes.c_uint8 * 28)]
class Answer(ctypes.Structure):
    _fields_ = [("wake_ps", ctypes.c_uint64), ("verdict", ctypes.c_uint32), ("reserved", ctypes.c_uint32)]
class State(ctypes.Structure):
    _fields_ = [("limit", ctypes.c_uint64), ("arrivals", ctypes.c_uint64), ("n", ctypes.c_uint64)]

P = ctypes.POINTER
@ctypes.CFUNCTYPE(ctypes.c_int32, P(State), P(Call), P(Answer), P(ctypes.c_void_p))
def decide(state, call, answer, host):
    now, _, packets, *_ = call[0].head
    state[0].arrivals += 1
    if packets >= state[0].limit:
        answer[0].verdict = DROP
    BODY
    return 0

class Mine(tailback.NativeLaw):
    events = ("arrive",)
    answer = ctypes.cast(decide, ctypes.c_void_p).value
    probes = ("arrivals",)
    def __init__(self, limit=20, n=0):
        self.state = np.array([(limit, 0, n)], dtype=[("limit", "u8"), ("arrivals", "u8"), ("n", "u8")])
    @property
    def arrivals(self):
        return int(self.state["arrivals"][0])
"""


def by_ctypes(folder: Path, body: str = "pass", parameters: str = "{}") -> core.Scenario:
    """Return the dumbbell with a law behind a C function."""
    folder.mkdir(exist_ok=True)
    (folder / "mine.py").write_text(BY_CTYPES.replace("BODY", body))
    return scenario(folder, user("mine.py", "Mine", parameters))


def test_a_law_behind_a_c_function_decides_as_the_same_law_in_python(tmp_path: Path) -> None:
    body = "probes = ('arrivals',)\ndef __init__(self, limit=20): self.limit, self.arrivals = limit, 0\n"
    body += "def arrive(self, call):\n    self.arrivals += 1\n"
    body += "    return DROP if call.queue_packets >= self.limit else PASS"
    theirs = report(law(tmp_path / "a", body, parameters="{ limit = 12 }"))
    ours = report(by_ctypes(tmp_path / "b", parameters="{ limit = 12 }"))
    assert (ours["digest"], ours["series"]) == (theirs["digest"], theirs["series"])
    assert drops(ours) > 10


STATE = 'self.state = np.array([(limit, 0, n)], dtype=[("limit", "u8"), ("arrivals", "u8"), ("n", "u8")])'
FAULTS = {
    "return 3": "the component returned the status 3",
    "answer[0].verdict = 9": "the verdict 9 is neither",
    "answer[0].wake_ps = now - 1": "is before now",
    "ctypes.string_at(0)": "its process was ended by SIGSEGV",
    "os.abort()": "its process was ended by SIGABRT",
    "while True: pass": "the call did not return within 0.5 s, and its process was ended",
}


@pytest.mark.parametrize("line", FAULTS)
def test_a_fault_ends_its_cell_and_the_other_nine_finish(
    line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    limit_calls(FAULTS[line], monkeypatch)
    fault = f"if now >= {AFTER_PS} and state[0].n == {FAULTY}:\n        {line}"
    (tmp_path / "mine.py").write_text(BY_CTYPES.replace("BODY", fault))
    check(with_component(tmp_path, "queue", "mine.py", "{ n = 0, limit = 1000 }"), "queue", "mine.py", FAULTS[line])


NUMBA = """
import numpy as np
from numba import carray, cfunc, from_dtype, types
import tailback
from tailback.laws.records import QUEUE_ANSWER, QUEUE_CALL

@cfunc(types.int32(types.CPointer(types.int64), types.CPointer(from_dtype(QUEUE_CALL)),
       types.CPointer(from_dtype(QUEUE_ANSWER)), types.CPointer(types.uintp)))
def decide(state, calls, answers, host):
    call, answer = carray(calls, 1)[0], carray(answers, 1)[0]
    if carray(state, 1)[0] == FAULTY and call.now_ps >= AFTER_PS:
        FAULT
    return 0

class Mine(tailback.NativeLaw):
    events = ("arrive",)
    answer = decide.address
    def __init__(self, n=0): self.state = np.array([n], dtype=np.int64)
"""
NUMBA_FAULTS = {
    "return 3": "the component returned the status 3",
    "answer.verdict = 9": "the verdict 9 is neither",
    "answer.wake_ps = call.now_ps - 1": "is before now",
    "carray(state, 1 << 44)[1 << 43] = 1": "its process was ended by SIGSEGV",
    "while answer.verdict == 0: carray(answers, 1)[0].verdict = 0": "the call did not return within 0.5 s",
}


@pytest.mark.parametrize("line", NUMBA_FAULTS)
def test_a_fault_of_numba_ends_its_cell_and_the_other_nine_finish(
    line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("numba")
    limit_calls(NUMBA_FAULTS[line], monkeypatch)
    text = NUMBA.replace("FAULTY", f"{FAULTY}").replace("AFTER_PS", f"{AFTER_PS}").replace("FAULT", line)
    (tmp_path / "mine.py").write_text(text)
    check(with_component(tmp_path, "queue", "mine.py"), "queue", "mine.py", NUMBA_FAULTS[line])


def test_a_component_without_an_address_or_with_an_unknown_event_is_refused(tmp_path: Path) -> None:
    one = by_ctypes(tmp_path)
    text = (tmp_path / "mine.py").read_text()
    assert report(one)["digest"]
    for old, new, message in (
        ("    answer = ctypes.cast(decide, ctypes.c_void_p).value\n", "", "answer is 0"),
        (STATE, "self.state = bytes(16)", "state is read-only"),
        (STATE, "self.state = 7", "a bytes-like object is required"),
    ):
        (tmp_path / "mine.py").write_text(text.replace(old, new))
        assert message in failure(scenario(tmp_path, user("mine.py", "Mine")))
    # `select` is an event of schedulers, and `random` a method without an event.
    for event in ("arive", "select", "random"):
        (tmp_path / "mine.py").write_text(text.replace('events = ("arrive",)', f'events = ("{event}",)'))
        assert f"there is no event `{event}`" in str(refusal(tmp_path, user("mine.py", "Mine")))


def test_a_component_without_a_state_gets_a_null_pointer(tmp_path: Path) -> None:
    by_ctypes(tmp_path)
    text = (tmp_path / "mine.py").read_text().replace(STATE, "pass")
    text = text.replace("    now, _, packets", "    return 7 if not state else 8\n    now, _, packets")
    (tmp_path / "mine.py").write_text(text)
    assert "returned the status 7" in failure(scenario(tmp_path, user("mine.py", "Mine")))


def test_the_layouts_are_those_of_the_engine() -> None:
    layouts = _native.law_records()
    roles = ("queue", "scheduler", "congestion", "source")
    names = [f"{role}_{kind}" for role in roles for kind in ("call", "answer")] + ["queue_state"]
    assert {name.upper() for name in names} == set(records.__all__)
    for name in names:
        dtype = getattr(records, name.upper())
        found = [(field, dtype.fields[field][1]) for field in dtype.names]
        expected = layouts[f"tailback_{name}"]
        if name == "scheduler_call":
            # The states of up to 250 queues follow the record.
            expected = [*expected[:-1], ("states", expected[-1][1]), ("", expected[-1][1] + 250 * 24)]
        assert [*found, ("", dtype.itemsize)] == expected


DRAWS = {
    "random": ("random(host[0]) < 0.05", "self.random() < 0.05"),
    "below": ("below(host[0], 20) == 3", "self.below(20) == 3"),
    "exponential": ("exponential(host[0], 0.5) > 1.5", "self.exponential(0.5) > 1.5"),
    "normal": ("normal(host[0]) > 1.6", "self.normal() > 1.6"),
    "ln": ("ln(calls[0].size) < 5", "maths.ln(call.size) < 5"),
    "pow": ("pow(calls[0].size, 0.5) < 10", "maths.power(call.size, 0.5) < 10"),
}
"""Conditions in compiled code and in Python, by the function of the host that they use."""
OF_CTYPES = """
import ctypes
import tailback
from tailback.laws.native import host_function

class Call(ctypes.Structure):
    _fields_ = [("head", ctypes.c_uint64 * 7), ("event", ctypes.c_uint32), ("size", ctypes.c_uint32)]
class Answer(ctypes.Structure):
    _fields_ = [("wake_ps", ctypes.c_uint64), ("verdict", ctypes.c_uint32), ("reserved", ctypes.c_uint32)]

NAME = host_function("NAME")
P = ctypes.POINTER
@ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, P(Call), P(Answer), P(ctypes.c_size_t))
def decide(state, calls, answers, host):
    if CONDITION:
        answers[0].verdict = 2
    return 0

class Mine(tailback.NativeLaw):
    events = ("arrive",)
    answer = ctypes.cast(decide, ctypes.c_void_p).value
"""
OF_NUMBA = """
import tailback
from numba import carray, cfunc, from_dtype, types
from tailback.laws.native import host_function
from tailback.laws.records import QUEUE_ANSWER, QUEUE_CALL

NAME = host_function("NAME")

@cfunc(types.int32(types.voidptr, types.CPointer(from_dtype(QUEUE_CALL)), types.CPointer(from_dtype(QUEUE_ANSWER)),
       types.CPointer(types.uintp)))
def decide(state, pointer, answers, host):
    calls = carray(pointer, 1)
    if CONDITION:
        carray(answers, 1)[0].verdict = 2
    return 0

class Mine(tailback.NativeLaw):
    events = ("arrive",)
    answer = decide.address
"""


@pytest.mark.parametrize("text", [OF_CTYPES, OF_NUMBA], ids=["ctypes", "numba"])
@pytest.mark.parametrize("name", DRAWS)
def test_draws_and_functions_of_the_host_are_those_of_a_law_in_python(name: str, text: str, tmp_path: Path) -> None:
    if text is OF_NUMBA:
        pytest.importorskip("numba")
    compiled, python = DRAWS[name]
    body = f"def arrive(self, call): return DROP if {python} else PASS"
    theirs = report(law(tmp_path / "a", body, head="from tailback import maths"))
    (tmp_path / "mine.py").write_text(text.replace("NAME", name).replace("CONDITION", compiled))
    ours = report(scenario(tmp_path, user("mine.py", "Mine")))
    assert ours["digest"] == theirs["digest"]
    assert drops(theirs) > 10


def test_a_function_of_the_host_that_compiled_code_cannot_call_is_refused() -> None:
    for name in ("parameter", "fail", "arctan"):
        with pytest.raises(ValueError, match=f"there is no function `{name}`"):
            native.host_function(name)
    assert native.host_function("ln")(math.e) == 1.0
    assert native.host_function("pow")(2.0, 10.0) == 1024.0


def test_the_functions_of_the_host_have_addresses() -> None:
    functions = native.host_functions()
    assert {"random", "below", "exponential", "normal", "fail", "parameter", "ln", "pow"} <= set(functions)
    assert all(address > 0 for address in functions.values())
    assert np.unique(list(functions.values())).size == len(functions)
