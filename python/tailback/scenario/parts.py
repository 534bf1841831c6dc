"""Partition of the network of one run among threads."""

from __future__ import annotations

import json
from dataclasses import dataclass

__all__ = ["Parts"]


@dataclass(frozen=True, slots=True)
class Parts:
    """Partition of a network; `str` describes it in one line."""

    nodes: tuple[tuple[str, ...], ...]
    """Names of the hosts and switches of each part."""
    cut: tuple[tuple[str, str], ...]
    """Links between nodes of different parts, by the names of their ends."""
    look_ahead_s: float | None
    """Lookahead, simulated s: time for which parts run independently; `None`: there are no links between parts."""

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
            return "1 part: this network cannot be divided, since its nodes share state without delay"
        sizes = ", ".join(str(len(part)) for part in self.nodes)
        links = f"{len(self.cut)} link{'' if len(self.cut) == 1 else 's'} between them"
        ahead = "" if self.look_ahead_s is None else f", look-ahead {self.look_ahead_s * 1e6:.6g} us"
        return f"{len(self)} parts of {sizes} nodes, {links}{ahead}"
