"""Components of the files in C, in a library that Python loads itself; a state has the layout of the variables."""

import ctypes
from pathlib import Path

import numpy as np

import tailback
from tailback._native import parse_bytes

# Each test has the component of one file in the library: the address of the others is 0.
LIBRARY = ctypes.CDLL(str(Path(__file__).with_suffix(".so")))


def address(name: str) -> int:
    """Return the address of the function that answers calls of a class."""
    function = getattr(LIBRARY, f"tailback_{name}_answer", None)
    return 0 if function is None else ctypes.cast(function, ctypes.c_void_p).value or 0


class Codel(tailback.NativeLaw):
    """Controlled delay: drops at departure."""

    events = ("depart", "empty")
    answer = address("Codel")
    marks = False
    probes = ("dropping", "count")
    state_bytes = 34
    layout = np.dtype(
        [
            *((name, "u8") for name in ("target", "interval", "mtu", "first_above", "drop_next")),
            *((name, "u4") for name in ("count", "lastcount", "dropping", "after")),
        ]
    )

    def __init__(self, target: str = "5ms", interval: str = "100ms", mtu: int = 1514) -> None:
        self.state = np.zeros(1, self.layout)
        self.state["target"] = self.picoseconds(target)
        self.state["interval"] = self.picoseconds(interval)
        self.state["mtu"] = mtu

    @property
    def dropping(self) -> int:
        return int(self.state["dropping"][0])

    @property
    def count(self) -> int:
        return int(self.state["count"][0])


class Reno(tailback.NativeCongestionControl):
    """Grows by a segment per round trip; halves at a loss, a mark and a timeout."""

    events = ("acknowledged", "lost", "marked", "timeout")
    answer = address("Reno")

    def __init__(self, limit: int = 2) -> None:
        self.state = np.array([(limit, 0)], [("limit", "u4"), ("after_timeout", "i4")])


class Priority(tailback.NativeScheduler):
    """Serves the first queue with a packet that may leave."""

    events = ("select",)
    answer = address("Priority")


class Cbr(tailback.NativeSource):
    """Emits equal packets at even intervals."""

    events = ("start", "next")
    answer = address("Cbr")

    def __init__(self, interval: str = "1ms", packet: str = "1000B", jitter: float = 0.0) -> None:
        interval_ps = self.picoseconds(interval)
        self.state = np.array([interval_ps, parse_bytes(packet), int(jitter * interval_ps), 0], "u8")
