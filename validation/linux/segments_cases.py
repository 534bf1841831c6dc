"""Cases of the segment-by-segment comparison, and the flows that differ with their reasons."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from cases import CASES as LISTED
from cases import Dumbbell, drawn, scenario

SEED = 1
"""Seed of the guest's sources."""


@dataclass(frozen=True)
class Case:
    """A dumbbell, of which the flows of the first sending or receiving host are compared."""

    dumbbell: Dumbbell
    receiver: bool = False
    """`True`: the acknowledgements of the receiving host are compared, not the segments of the sending one."""
    narrow: bool = False
    """`True`: receivers of a sender's case have Linux's default buffer, and windows are recorded."""
    flows: int = 10
    """Largest number of flows that are recorded, those that start first."""
    transmissions: int = 1500
    """Largest number of transmissions of a flow that are recorded."""
    known: Mapping[int, str] = field(default_factory=dict)
    """Reasons of the recorded flows that differ, by the number of the flow in the order of the SYNs, from 0."""

    @property
    def name(self) -> str:
        """Name of the dumbbell, and which end is compared."""
        return f"{self.dumbbell.name}{', receivers' if self.receiver else ', windows' if self.narrow else ''}"

    @property
    def windows(self) -> bool:
        """`True`: windows are recorded; otherwise receivers have buffers with which they never limit a sender."""
        return self.receiver or self.narrow

    def transport(self) -> dict[str, Any]:
        """Return the parameters of the flows' TCP: Linux's defaults."""
        document = json.loads(scenario(self.dumbbell, preset=True).native.to_json())
        return {key: value for key, value in document["flows"][0]["transport"].items() if key != "kind"}


def _of(name: str) -> Dumbbell:
    return next(one for one in [*LISTED, *drawn()] if one.name == name)


_QUEUE = (
    "likely: in Linux the first segments leave one after the other, as those before them have left the host's queue "
    "(`tcp_small_queue_check`), so that the last of them, which sets the timer, is sent in the next tick"
)
_PHASE = "open; the phase of BBR that was found may be another one than that of Linux"
CASES = [
    Case(_of("32 cubic fq-codel 20 Mbit/s 20 ms q=1000")),
    Case(
        _of("16 reno adaptive-red 1.5 Mbit/s 40-80 ms q=120"),
        known={0: "likely: the retransmission timeout is 63 ticks in Linux and 62 here, at the limit between both"},
    ),
    Case(_of("8 dctcp ecn codel 45 Mbit/s 5 ms q=300")),
    Case(_of("64 cubic drop-tail 10 Mbit/s 40-80 ms q=60")),
    Case(_of("24 cubic ecn fq-codel 5 Mbit/s 10-40 ms q=150")),
    Case(_of("156 cubic sfq 8.2 Mbit/s 48.9-130.1 ms q=20 reverse=39")),
    Case(_of("148 cubic ecn codel 18.7 Mbit/s 12.5-228.3 ms q=546 reverse=37")),
    Case(_of("128 dctcp ecn fq-codel 6.2 Mbit/s 18.7 ms q=100 onoff=0.15"), known={8: _QUEUE}),
    Case(_of("76 dctcp ecn codel 3.4 Mbit/s 86.2 ms q=100")),
    Case(_of("16 dctcp ecn red 4.6 Mbit/s 12.9-94.2 ms q=24 loss=0.002")),
    Case(_of("4 bbr drop-tail 10 Mbit/s 40 ms q=30")),
    Case(_of("4 bbr drop-tail 10 Mbit/s 40 ms q=120")),
    Case(
        _of("28 bbr codel 8.9 Mbit/s 21.4-77.9 ms q=100"),
        known={
            2: _PHASE,
            4: _PHASE,
            6: "the segment is paced; it leaves 244 us later here, and 240 us are allowed",
        },
    ),
    Case(
        _of("28 bbr codel 8.9 Mbit/s 21.4-77.9 ms q=100"),
        narrow=True,
        known={
            1: _PHASE,
            5: "the eight phases that are searched for have been found; the next one is not known",
            6: _PHASE,
        },
    ),
    Case(
        _of("72 bbr drop-tail 4.8 Mbit/s 47-176.1 ms q=120 short=0.2"),
        known={
            5: "open; a segment is paced 2 ms later in Linux",
            7: "open; after timeouts RACK considers segment 91 lost here, and not in Linux",
            8: "open; F-RTO sends a new segment here, and Linux the first one that is lost",
        },
    ),
    Case(_of("64 cubic drop-tail 10 Mbit/s 40-80 ms q=60"), receiver=True),
    Case(_of("156 cubic sfq 8.2 Mbit/s 48.9-130.1 ms q=20 reverse=39"), receiver=True),
    Case(_of("16 dctcp ecn red 4.6 Mbit/s 12.9-94.2 ms q=24 loss=0.002"), receiver=True),
    Case(_of("76 dctcp ecn codel 3.4 Mbit/s 86.2 ms q=100"), receiver=True),
    Case(_of("148 cubic ecn codel 18.7 Mbit/s 12.5-228.3 ms q=546 reverse=37"), receiver=True),
    Case(_of("72 cubic ecn sfb 2 Mbit/s 6.4 ms q=12"), receiver=True),
    Case(
        _of("28 bbr codel 8.9 Mbit/s 21.4-77.9 ms q=100"),
        receiver=True,
        known={0: "open; the window is four segments smaller here"},
    ),
]
"""Cases."""
