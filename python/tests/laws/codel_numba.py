"""CoDel from the pseudo-code of RFC 8289, section 5, compiled by numba."""

import math

import numpy as np
from numba import carray, cfunc, from_dtype, njit, types

import tailback
from tailback import DROP, PASS
from tailback.laws.records import QUEUE_ANSWER, QUEUE_CALL

# Events, and what the dequeue has done with the packet before: a dequeue of the RFC may take several packets.
DEPART = 2
NOTHING, FIRST_DROP, FURTHER_DROP = 0, 1, 2

STATE = np.dtype(
    [
        *((name, "i8") for name in ("target", "interval", "mtu", "first_above", "drop_next", "count", "lastcount")),
        *((name, "i8") for name in ("dropping", "after")),
    ]
)
state_type, call_type, answer_type = (from_dtype(kind) for kind in (STATE, QUEUE_CALL, QUEUE_ANSWER))


@njit
def control_law(s, t):
    return t + np.int64(s.interval / math.sqrt(s.count))


@njit
def ok_to_drop(s, call, now):
    if np.int64(call.sojourn_ps) < s.target or np.int64(call.queue_bytes) <= s.mtu:
        s.first_above = 0
        return False
    if s.first_above == 0:
        s.first_above = now + s.interval
        return False
    return now > s.first_above


@njit
def begin(s, now):
    s.dropping = 1
    delta = s.count - s.lastcount
    s.count = delta if delta > 1 and now < s.drop_next + 16 * s.interval else 1
    s.drop_next = control_law(s, now)
    s.lastcount = s.count


@njit
def depart(s, call, now):
    ok = ok_to_drop(s, call, now)
    after = s.after
    s.after = NOTHING
    if after == FIRST_DROP:
        begin(s, now)
        return PASS
    if after == FURTHER_DROP:
        if ok:
            s.drop_next = control_law(s, s.drop_next)
    elif s.dropping == 0:
        if ok:
            s.after = FIRST_DROP
            return DROP
        return PASS
    if not ok:
        s.dropping = 0
    if s.dropping == 1 and now >= s.drop_next:
        s.count += 1
        s.after = FURTHER_DROP
        return DROP
    return PASS


@njit
def empty(s, now):
    s.first_above = 0
    after = s.after
    s.after = NOTHING
    if after == FIRST_DROP:
        begin(s, now)
    else:
        s.dropping = 0


@cfunc(types.int32(*(types.CPointer(kind) for kind in (state_type, call_type, answer_type)), types.voidptr))
def decide(state, calls, answers, _host):
    s, call, answer = carray(state, 1)[0], carray(calls, 1)[0], carray(answers, 1)[0]
    now = np.int64(call.now_ps)
    if call.event == DEPART:
        answer.verdict = depart(s, call, now)
    else:
        empty(s, now)
    return 0


class Codel(tailback.NativeLaw):
    """Controlled delay: drops at departure."""

    events = ("depart", "empty")
    answer = decide.address
    marks = False
    probes = ("dropping", "count")
    state_bytes = 34

    def __init__(self, target: str = "5ms", interval: str = "100ms", mtu: int = 1514) -> None:
        self.state = np.zeros(1, STATE)
        self.state["target"] = self.picoseconds(target)
        self.state["interval"] = self.picoseconds(interval)
        self.state["mtu"] = mtu

    @property
    def dropping(self) -> int:
        return int(self.state["dropping"][0])

    @property
    def count(self) -> int:
        return int(self.state["count"][0])
