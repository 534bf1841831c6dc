"""A scenario on both programs: what `tailback witness` and the page of cases use."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tailback.errors import UsageError
from tailback.scenario import Scenario
from tailback.witness import cache
from tailback.witness.comparison import Answers, Line, compare, table, without_probes
from tailback.witness.kernel import Kernel
from tailback.witness.network import Case, case
from tailback.witness.outcome import Outcome

__all__ = ["Witnessed", "port_of", "witnessed"]


@dataclass(frozen=True)
class Witnessed:
    """A comparison with the outcomes of all seeds."""

    scenario: Scenario
    case: Case
    identity: str
    """SHA-256 of the kernel's program."""
    lines: list[Line]
    kernel: list[Outcome]
    ours: list[Outcome]

    @property
    def seeds(self) -> int:
        """Number of seeds."""
        return len(self.kernel)

    def rows(self) -> list[list[str]]:
        """Return the table of the comparison as texts."""
        return table(self.lines)

    def verdict(self) -> str:
        """Return a sentence: how many metrics are inside the tolerances, and which are not."""
        compared = [line for line in self.lines if line.verdict != "none"]
        inside = [line for line in compared if line.verdict == "inside"]
        rest = [f"{line.metric} is {line.verdict}" for line in compared if line.verdict != "inside"]
        return f"{len(inside)} of {len(compared)} metrics are inside the tolerances" + (
            f": {', '.join(rest)}" if rest else "."
        )

    def as_json(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {
            "port": "->".join(self.case.port),
            "seeds": self.seeds,
            "kernel": self.identity,
            "notes": list(self.case.notes),
            "metrics": [line.as_json() for line in self.lines],
            "runs": {
                "kernel": [without_probes(one) for one in self.kernel],
                "tailback": [without_probes(one) for one in self.ours],
            },
        }

    def write(self, folder: Path) -> None:
        """Write `witness.json` and, if the scenario has bulk transfers, `windows.svg` into a folder, which is made."""
        from tailback.witness.picture import windows

        folder.mkdir(parents=True, exist_ok=True)
        text = json.dumps(self.as_json(), indent=1, allow_nan=False)
        (folder / "witness.json").write_text(text + "\n", encoding="utf-8")
        figure = windows(self.scenario, self.case, self.kernel[0])
        if figure is not None:
            figure.savefig(folder / "windows.svg")


def port_of(text: str) -> tuple[str, str]:
    """Return node and neighbour of a port such as `r0:r1`; raises UsageError."""
    node, colon, neighbour = text.partition(":")
    if not (node and colon and neighbour):
        raise UsageError(f"a port is NODE:NEIGHBOUR, such as r0:r1, not {text!r}")
    return node, neighbour


def witnessed(
    scenario: Scenario,
    kernel: Kernel,
    port: tuple[str, str] | None = None,
    *,
    least: int,
    most: int,
    said: Callable[[int], None] | None = None,
    folder: Path | None = None,
) -> Witnessed:
    """Run a scenario on both programs and compare; results of the kernel are kept in `folder`, by default the cache.

    Raises Refused, GuestError, and the errors of a run.
    """
    made = case(scenario, port)
    answers = Answers(kernel, cache.folder() / "answers" if folder is None else folder)
    answers.folder.mkdir(parents=True, exist_ok=True)
    found, theirs, ours = compare(scenario, made, answers, least=least, most=most, said=said)
    return Witnessed(scenario, made, kernel.identity(), found, theirs, ours)
