"""Faults of components in Python: each kind in each role, in one cell of a sweep of ten."""

from __future__ import annotations

from pathlib import Path

import pytest
from faults import AFTER_PS, BASES, CALLS, FAULTY, check, limit_calls, with_component

COMPONENT = """
import ctypes, math, os, re, signal, sys, time
import tailback
from tailback import DROP, MARK, PASS
class Mine(tailback.BASE):
    paces = PACES
    def __init__(self, n=0):
        self.n = n
    def CALL(self, call):
        if self.n == FAULTY and call.now_ps >= AFTER_PS:
            FAULT
        NORMAL
"""
NORMAL = {
    "queue": "return PASS",
    "congestion": "pass",
    "scheduler": "return next(number for number, queue in enumerate(call.queues) if queue.ready)",
    "source": "return call.now_ps + (10**10 if call.bursts else 0), 100",
}

# Statement and part of the message. Faults of queue laws in `python/tests/test_workers.py` are not repeated here.
ANYWHERE = {
    "raise ValueError('no such packet')": "ValueError: no such packet",
    "raise KeyboardInterrupt": "KeyboardInterrupt",
    "sys.exit(3)": "SystemExit: 3",
    "raise tailback.Cancelled('no')": "Cancelled: no",
    "while True: pass": "LawTimeoutError",
    "ctypes.PyDLL(None).pause()": "the call did not return within 0.5 s, and its process was ended",
    "ctypes.string_at(0)": "its process was ended by SIGSEGV",
    "os._exit(3)": "its process exited with code 3",
    "self.missing += 1": "AttributeError",
    "self.below(0)": "n is 0",
    "self.exponential(-1.0)": "the mean is -1",
    "self.exponential(math.nan)": "the mean is NaN",
}
WAKE_UPS = {
    "self.wake_ps = call.now_ps - 1": "is before now",
    "self.wake_ps = -5": "wake_ps is -5",
    "self.wake_ps = math.nan": "wake_ps is nan",
    "self.wake_ps = math.inf": "wake_ps is inf",
    "self.wake_ps = True": "wake_ps is True",
}
ANSWERS = {
    "queue": {
        **WAKE_UPS,
        "return 3": "the verdict 3 is neither PASS (0) nor MARK (1) nor DROP (2)",
        "return -1": "the answer is -1",
        "return True": "the answer is True",
        "return 'drop'": "the answer is 'drop'",
        "return math.nan": "the answer is nan",
        "return -math.inf": "the answer is -inf",
        "return 10**30": "the answer is 1000000",
    },
    "congestion": {
        **WAKE_UPS,
        "self.cwnd = -1.0": "the window is -1 segments; it must be 1 to 1000000000",
        "self.cwnd = 0.5": "the window is 0.5 segments",
        "self.cwnd = math.nan": "the window is NaN segments",
        "self.cwnd = math.inf": "the window is inf segments",
        "self.cwnd = -math.inf": "the window is -inf segments",
        "self.cwnd = 'two'": "must be real number, not str",
        "self.ssthresh = 0.5": "the threshold is 0.5 segments",
        "self.ssthresh = -3.0": "the threshold is -3 segments",
        "self.ssthresh = math.nan": "the threshold is NaN segments",
        "self.rate = 5.0": "a rate is set, but the control does not declare that it paces",
        "self.rate = -5.0  # paces": "the rate is -5 segments/s",
        "self.rate = math.nan  # paces": "the rate is NaN segments/s",
        "self.rate = math.inf  # paces": "the rate is inf segments/s",
        "call.cwnd = 3": "has no attribute 'cwnd'",
    },
    "scheduler": {
        **WAKE_UPS,
        "return 3": "queue 3 is chosen, but the queues are 0 to 2",
        "return 2": "queue 2 is chosen, but no packet waits in it",
        "return -1": "the answer is -1; return the number of a queue, or None",
        "return math.nan": "the answer is nan",
        "return math.inf": "the answer is inf",
        "return 0.0": "the answer is 0.0",
        "return True": "the answer is True",
        "return call.queues[3]": "IndexError",
    },
    "source": {
        "return call.now_ps - 1, 100": "is before the last one, at",
        "return -5, 100": "write 0 to 2^64 - 1",
        "return math.nan, 100": "the answer is (nan, 100); return a time in whole picoseconds",
        "return math.inf, 100": "the answer is (inf, 100)",
        "return call.now_ps, 0": "a burst has 0 bytes; it must have 1 to 2^40",
        "return call.now_ps, -100": "-100",
        "return call.now_ps, math.nan": "nan); return a time in whole picoseconds",
        "return call.now_ps, 2**41": "it must have 1 to 2^40",
        "return call.now_ps, 100": "more than 1000000 bursts at one instant",
        "return call.now_ps, True": "True); return a time in whole picoseconds",
        "return 5": "the answer is 5",
        "return 0.5, 100": "the answer is (0.5, 100)",
        "self.wake_ps = 5": "a source has no timer",
    },
}
CASES = [
    (role, fault, part)
    for role, answers in ANSWERS.items()
    for fault, part in {**({} if role == "queue" else ANYWHERE), **answers}.items()
]


def written(folder: Path, role: str, fault: str) -> str:
    """Write the component `Mine` with a statement for the cell with the fault; return the name of the file."""
    parts = {
        "BASE": BASES[role],
        "PACES": "# paces" in fault,
        "CALL": CALLS[role],
        "FAULTY": FAULTY,
        "AFTER_PS": AFTER_PS,
        "FAULT": fault,
        "NORMAL": NORMAL[role],
    }
    text = COMPONENT
    for name, part in parts.items():
        text = text.replace(name, str(part))
    (folder / "mine.py").write_text(text)
    return "mine.py"


@pytest.mark.parametrize(("role", "fault", "part"), CASES)
def test_a_fault_ends_its_cell_and_the_other_nine_finish(
    role: str, fault: str, part: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    limit_calls(part, monkeypatch)
    file = written(tmp_path, role, fault)
    check(with_component(tmp_path, role, file), role, file, part)
