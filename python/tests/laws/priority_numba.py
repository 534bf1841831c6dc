"""Strict priority, compiled by numba: the first queue that is ready sends."""

from numba import carray, cfunc, from_dtype, types

import tailback
from tailback.laws.records import SCHEDULER_ANSWER, SCHEDULER_CALL

pointers = [types.CPointer(from_dtype(kind)) for kind in (SCHEDULER_CALL, SCHEDULER_ANSWER)]


@cfunc(types.int32(types.voidptr, *pointers, types.voidptr))
def decide(_state, calls, answers, _host):
    call, answer = carray(calls, 1)[0], carray(answers, 1)[0]
    for number in range(call.queues):
        if call.states[number].ready == 1:
            answer.queue = number
            break
    return 0


class Priority(tailback.NativeScheduler):
    """Serves the first queue with a packet that may leave."""

    events = ("select",)
    answer = decide.address
