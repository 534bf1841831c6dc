"""Choices of an evaluation: numbers that its guide recommends, permits or leaves to the tester, with their sources."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Generic, Literal, TypeVar

__all__ = [
    "ACCESS",
    "CLOUD",
    "CONFIDENCE",
    "HERE",
    "JITTER",
    "PACKET",
    "SAMPLE",
    "SHARED",
    "Choice",
    "Choices",
    "Length",
    "ProfileName",
]

T = TypeVar("T")

ProfileName = Literal["quick", "full"]
"""Effort of an evaluation."""

HERE = "chosen here"
"""Source of a choice that the guide leaves to the tester."""


@dataclass(frozen=True, slots=True)
class Choice(Generic[T]):
    """A value with its source."""

    name: str
    value: T
    unit: str
    """Unit; empty for texts that have one, and for words."""
    source: str
    """Section of the guide, or `HERE` with the reason."""

    @property
    def text(self) -> str:
        """Value with its unit."""
        shown = ", ".join(map(str, self.value)) if isinstance(self.value, tuple) else str(self.value)
        return f"{shown} {self.unit}".rstrip()


@dataclass(frozen=True, slots=True)
class Choices:
    """Choices in the order of the page."""

    rows: list[Choice[object]] = field(default_factory=list)

    def add(self, name: str, value: T, unit: str, source: str) -> Choice[T]:
        """Add a choice, and return it."""
        made = Choice(name, value, unit, source)
        self.rows.append(made)  # type: ignore[arg-type]
        return made


SHARED = Choices()
"""Choices of all evaluations."""

PACKET = SHARED.add("packet of TCP, with headers of TCP and IP, without framing", 1500, "B", HERE)
ACCESS = SHARED.add("capacity of the access links", 1000, "Mbit/s", f"{HERE}: no congestion outside the bottleneck")
JITTER = SHARED.add(
    "random delay per packet on the senders' access links, at most",
    1.2,
    "ms",
    f"{HERE}: one packet time at 10 Mbit/s, against phase effects (Floyd and Jacobson, 1992)",
)
CLOUD = SHARED.add("interval of one point of a delay-goodput graph", 1, "s", HERE)
SAMPLE = SHARED.add(
    "sampling interval of the series, for loss synchronisation and the graphs",
    100,
    "ms",
    f"{HERE}: one round-trip time of most scenarios",
)
CONFIDENCE = SHARED.add("confidence of all intervals", 0.95, "", HERE)


@dataclass(frozen=True, slots=True)
class Length:
    """Effort of a profile."""

    duration_s: int
    """Length of a run, s, warm-up included; a section may need a longer one."""
    warmup_s: int
    """Initial part of a run that is not measured, s."""
    replications: int
    """Number of replications of the first round, at least 2."""
    max_replications: int
    """Maximum number of replications."""
    full: bool = False
    """`True` if scenarios have all their loads and their full rates."""
