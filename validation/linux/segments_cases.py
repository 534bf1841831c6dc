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
    """Whether the acknowledgements of the receiving host are compared, not the segments of the sending one."""
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
    return next(one for one in [*LISTED, *drawn()] if isinstance(one, Dumbbell) and one.name == name)


CASES = [
    Case(_of("32 cubic fq-codel 20 Mbit/s 20 ms q=1000")),
    Case(_of("16 reno adaptive-red 1.5 Mbit/s 40-80 ms q=120")),
    Case(_of("8 dctcp ecn codel 45 Mbit/s 5 ms q=300")),
    Case(_of("64 cubic drop-tail 10 Mbit/s 40-80 ms q=60")),
    Case(_of("24 cubic ecn fq-codel 5 Mbit/s 10-40 ms q=150")),
    Case(_of("156 cubic sfq 8.2 Mbit/s 48.9-130.1 ms q=20 reverse=39")),
    Case(_of("148 cubic ecn codel 18.7 Mbit/s 12.5-228.3 ms q=546 reverse=37")),
    Case(_of("128 dctcp ecn fq-codel 6.2 Mbit/s 18.7 ms q=100 onoff=0.15")),
    Case(_of("4 bbr drop-tail 10 Mbit/s 40 ms q=30"), seeds=16),
    Case(_of("64 cubic drop-tail 10 Mbit/s 40-80 ms q=60"), receiver=True),
]
"""Cases."""
