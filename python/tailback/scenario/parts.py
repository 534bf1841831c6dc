"""Partition of the network of one large run among threads."""

from __future__ import annotations

import json
from dataclasses import dataclass

__all__ = ["Parts"]


@dataclass(frozen=True, slots=True)
class Parts:
    """The parts of a run; `str` is a sentence about them."""

    nodes: tuple[tuple[str, ...], ...]
    """The names of each part's hosts and switches."""
    cut: tuple[tuple[str, str], ...]
    """Links between parts, by the names of their ends."""
    look_ahead_s: float | None
    """Lookahead in simulated seconds: time for which each part runs independently; `None`: no links between them."""

    @staticmethod
    def from_json(text: str) -> Parts:
        """Read the core's JSON."""
        data = json.loads(text)
        return Parts(
            tuple(tuple(part) for part in data["parts"]),
            tuple((a, b) for a, b in data["cut"]),
            data["look_ahead_s"],
        )

    def __len__(self) -> int:
        return len(self.nodes)

    def __str__(self) -> str:
        if len(self) == 1:
            return "1 part: what this network shares at one instant keeps it together"
        sizes = ", ".join(str(len(part)) for part in self.nodes)
        links = f"{len(self.cut)} link{'' if len(self.cut) == 1 else 's'} between them"
        ahead = "" if self.look_ahead_s is None else f", look-ahead {self.look_ahead_s * 1e6:.6g} us"
        return f"{len(self)} parts of {sizes} nodes, {links}{ahead}"
