"""Reno after RFC 5681, with byte counting of two segments (RFC 3465), compiled by numba."""

import numpy as np
from numba import carray, cfunc, from_dtype, njit, types

import tailback
from tailback.laws.records import CONGESTION_ANSWER, CONGESTION_CALL

ACKNOWLEDGED, LOST, MARKED, TIMEOUT = 1, 2, 3, 4

# Segments by which an acknowledgement in slow start increases the window at most, and whether a timeout was last.
STATE = np.dtype([("limit", "i8"), ("after_timeout", "i8")])
pointers = [types.CPointer(from_dtype(kind)) for kind in (STATE, CONGESTION_CALL, CONGESTION_ANSWER)]


@njit
def acknowledged(s, call, answer):
    # RFC 5681, section 3.1; RFC 3465, sections 2.1 to 2.3.
    if call.window_limited == 0 or call.advanced == 0:
        return
    if call.cwnd < call.ssthresh:
        answer.cwnd += min(np.int64(call.advanced), 1 if s.after_timeout else s.limit)
        if answer.cwnd >= call.ssthresh:
            s.after_timeout = 0
    else:
        answer.cwnd += (1 if s.limit == 1 else np.int64(call.advanced)) / call.cwnd


@cfunc(types.int32(*pointers, types.voidptr))
def decide(state, calls, answers, _host):
    s, call, answer = carray(state, 1)[0], carray(calls, 1)[0], carray(answers, 1)[0]
    if call.event == ACKNOWLEDGED:
        acknowledged(s, call, answer)
    elif call.event == MARKED:
        # RFC 3168, section 6.1.2.
        answer.ssthresh = max(call.cwnd * 0.5, 2.0)
        answer.cwnd = max(call.cwnd * 0.5, 1.0)
    else:
        # RFC 5681, equation 4; the sender sets the window.
        if call.event == TIMEOUT:
            s.after_timeout = 1
        answer.ssthresh = max(call.in_flight * 0.5, 2.0)
    return 0


class Reno(tailback.NativeCongestionControl):
    """Grows by a segment per round trip; halves at a loss, a mark and a timeout."""

    events = ("acknowledged", "lost", "marked", "timeout")
    answer = decide.address

    def __init__(self, limit: int = 2) -> None:
        self.state = np.array([(limit, 0)], STATE)
