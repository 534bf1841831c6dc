"""Queue laws in machine code that the Python process has compiled."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from components import LAWS, drops, failure, report
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
from tailback.laws.records import ANSWER, CALL

@cfunc(types.int32(types.CPointer(types.int64), types.CPointer(from_dtype(CALL)), types.CPointer(from_dtype(ANSWER)),
       types.CPointer(types.uintp)))
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


def test_a_law_without_an_address_or_a_state_is_refused(tmp_path: Path) -> None:
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
    (tmp_path / "mine.py").write_text(text.replace('events = ("arrive",)', 'events = ("arive",)'))
    assert "there is no event `arive`" in str(refusal(tmp_path, user("mine.py", "Mine")))


def test_the_layouts_are_those_of_the_engine() -> None:
    for record, dtype in (("tailback_queue_call", records.CALL), ("tailback_queue_answer", records.ANSWER)):
        fields = [(name, dtype.fields[name][1]) for name in dtype.names or ()] if dtype.fields else []
        assert [*fields, ("", dtype.itemsize)] == _native.law_records()[record]


@pytest.mark.parametrize("engine", ["merged", "plain"])
@pytest.mark.parametrize(
    ("built_in", "parameters"),
    [
        ('{ kind = "codel" }', "{}"),
        ('{ kind = "codel", target = "1ms", interval = "20ms" }', '{ target = "1ms", interval = "20ms" }'),
        ('{ kind = "codel", target = "20ms", mtu = "9kB" }', '{ target = "20ms", mtu = 9000 }'),
    ],
)
def test_codel_compiled_by_numba_decides_as_the_built_in_one_about_every_packet(
    engine: str, built_in: str, parameters: str, tmp_path: Path
) -> None:
    pytest.importorskip("numba")
    (tmp_path / "codel.py").write_text((LAWS / "codel_numba.py").read_text())
    theirs = report(scenario(tmp_path, built_in), engine=engine)
    ours = report(scenario(tmp_path, user("codel.py", "Codel", parameters)), engine=engine)
    assert ours["digest"] == theirs["digest"]
    assert drops(ours) > 10


def test_codel_compiled_by_numba_gives_the_same_packet_trace_and_time_series(tmp_path: Path) -> None:
    pytest.importorskip("numba")
    (tmp_path / "codel.py").write_text((LAWS / "codel_numba.py").read_text())
    found = []
    for discipline in ('{ kind = "codel" }', user("codel.py", "Codel")):
        one = scenario(tmp_path, discipline).native
        text, rows, trace_hash = _native.trace(one, 3, lambda *_: None, ([], [], [], [], None, None))
        found.append((rows, trace_hash, json.loads(text)["series"]))
    assert found[0] == found[1]
    assert found[0][0] > 10_000


NUMBA_DRAWS = """
import llvmlite.binding
import numpy as np
from numba import carray, cfunc, from_dtype, types
import tailback
from tailback.laws.native import host_functions
from tailback.laws.records import ANSWER, CALL

llvmlite.binding.add_symbol("tailback_random", host_functions()["random"])
random = types.ExternalFunction("tailback_random", types.float64(types.uintp))

@cfunc(types.int32(types.CPointer(types.uint8), types.CPointer(from_dtype(CALL)), types.CPointer(from_dtype(ANSWER)),
       types.CPointer(types.uintp)))
def decide(state, calls, answers, host):
    if random(host[0]) < 0.05:
        carray(answers, 1)[0].verdict = 2
    return 0

class Mine(tailback.NativeLaw):
    events = ("arrive",)
    answer = decide.address
    def __init__(self): self.state = bytearray(8)
"""


def test_draws_of_numba_are_those_of_a_law_in_python(tmp_path: Path) -> None:
    pytest.importorskip("numba")
    theirs = report(law(tmp_path / "a", "def arrive(self, call):\n    return DROP if self.random() < 0.05 else PASS"))
    (tmp_path / "mine.py").write_text(NUMBA_DRAWS)
    ours = report(scenario(tmp_path, user("mine.py", "Mine")))
    assert ours["digest"] == theirs["digest"]


def test_the_functions_of_the_host_have_addresses() -> None:
    functions = native.host_functions()
    assert {"random", "below", "exponential", "normal", "fail", "parameter", "ln", "pow"} <= set(functions)
    assert all(address > 0 for address in functions.values())
    assert np.unique(list(functions.values())).size == len(functions)
