"""Constant bit rate, compiled by numba: packets at even intervals with a random phase, each late by a random time."""

import numpy as np
from numba import carray, cfunc, from_dtype, types

import tailback
from tailback._native import parse_bytes
from tailback.laws.native import host_function
from tailback.laws.records import SOURCE_ANSWER, SOURCE_CALL

START = 0

# Interval, payload, upper bound of the lateness (0: none), and nominal time of the next packet.
STATE = np.dtype([("interval", "u8"), ("bytes", "u8"), ("jitter", "u8"), ("next", "u8")])
pointers = [types.CPointer(from_dtype(kind)) for kind in (STATE, SOURCE_CALL, SOURCE_ANSWER)]
below = host_function("below")


@cfunc(types.int32(*pointers, types.CPointer(types.uintp)))
def decide(state, calls, answers, host):
    s, call, answer = carray(state, 1)[0], carray(calls, 1)[0], carray(answers, 1)[0]
    if call.event == START:
        s.next = call.now_ps + below(host[0], s.interval)
        return 0
    answer.at_ps = s.next
    answer.bytes = s.bytes
    if s.jitter > 0:
        answer.at_ps += below(host[0], s.jitter + np.uint64(1))
    s.next += s.interval
    return 0


class Cbr(tailback.NativeSource):
    """Emits equal packets at even intervals."""

    events = ("start", "next")
    answer = decide.address

    def __init__(self, interval: str = "1ms", packet: str = "1000B", jitter: float = 0.0) -> None:
        interval_ps = self.picoseconds(interval)
        self.state = np.array([(interval_ps, parse_bytes(packet), int(jitter * interval_ps), 0)], STATE)
