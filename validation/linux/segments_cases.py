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
    flows: int = 10
    """Largest number of flows that are recorded, those that start first."""
    transmissions: int = 1500
    """Largest number of transmissions of a flow that are recorded."""
    seeds: int = 1
    """Number of seeds of the congestion control's random numbers, of which the best one counts."""
    known: Mapping[int, str] = field(default_factory=dict)
    """Reasons of the recorded flows that differ, by the number of the flow in the order of the SYNs, from 0."""

    @property
    def name(self) -> str:
        """Name of the dumbbell, and which end is compared."""
        return f"{self.dumbbell.name}{', receivers' if self.receiver else ''}"

    def transport(self) -> dict[str, Any]:
        """Return the parameters of the flows' TCP: Linux's defaults."""
        document = json.loads(scenario(self.dumbbell, preset=True).native.to_json())
        return {key: value for key, value in document["flows"][0]["transport"].items() if key != "kind"}


def _of(name: str) -> Dumbbell:
    return next(one for one in [*LISTED, *drawn()] if one.name == name)


_TICKS = (
    "likely: the wait has 63 ticks here, the longest on the first level of the wheel if the wheel's clock is that of "
    "the next tick, as in the model; if it is that of the current tick, as after `forward_timer_base`, the timer is on "
    "the second level and ends with a slot of eight ticks (`calc_wheel_index`)"
)
CASES = [
    Case(_of("32 cubic fq-codel 20 Mbit/s 20 ms q=1000")),
    Case(_of("16 reno adaptive-red 1.5 Mbit/s 40-80 ms q=120")),
    Case(_of("8 dctcp ecn codel 45 Mbit/s 5 ms q=300")),
    Case(_of("64 cubic drop-tail 10 Mbit/s 40-80 ms q=60")),
    Case(
        _of("24 cubic ecn fq-codel 5 Mbit/s 10-40 ms q=150"),
        known={0: "open; the retransmission timeout has 59 ticks in Linux and 58 here"},
    ),
    Case(
        _of("156 cubic sfq 8.2 Mbit/s 48.9-130.1 ms q=20 reverse=39"),
        known={
            4: "open; after a duplicate SACK for the retransmission of a timeout Linux sends new data, as if segment "
            "261 were not lost",
        },
    ),
    Case(
        _of("148 cubic ecn codel 18.7 Mbit/s 12.5-228.3 ms q=546 reverse=37"),
        known={5: _TICKS},
    ),
    Case(_of("128 dctcp ecn fq-codel 6.2 Mbit/s 18.7 ms q=100 onoff=0.15")),
    Case(_of("4 bbr drop-tail 10 Mbit/s 40 ms q=30"), seeds=16),
    Case(
        _of("64 cubic drop-tail 10 Mbit/s 40-80 ms q=60"),
        receiver=True,
        known={
            0: "12 instead of 16 quick acknowledgements after a pause: at most the window divided by two segments "
            "(`tcp_incr_quickack`), and the window at 6267.092 ms is 36 KiB, since segments out of order fill the "
            "buffer; the model has no window"
        },
    ),
]
"""Cases."""
