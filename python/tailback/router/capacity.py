"""Capacity: the largest number of flows of a group for which it keeps its target.

    found = import_configuration("mqc", policy, traffic=table)
    made = most_flows(found, "calls")
    print(made.fits, made.breaks_at, made.because)

Each number of flows is judged as `tailback.router.verdict.judge` does, with the same seeds. The search doubles the
number until the target breaks and then halves the range, so it assumes that more flows never improve a result.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, cast

from tailback.errors import UsageError
from tailback.router.policy import Imported
from tailback.router.verdict import PolicyVerdict, Row
from tailback.scenario import Scenario

__all__ = ["MOST", "Capacity", "most_flows"]

MOST = 10_000
"""Most flows that are tried."""


@dataclass(frozen=True, slots=True)
class Capacity:
    """Largest number of flows of a group that fits."""

    group: str
    fits: int
    """The largest number that keeps the target; 0 if one flow does not."""
    breaks_at: int | None
    """Number above it, which misses the target; `None`: `MOST` flows keep it."""
    because: tuple[str, ...]
    """Targets that are missed there: `delay`, `variation`, `loss`, `MOS`."""
    tried: tuple[tuple[int, Row], ...]
    """Judged numbers of flows with the group's results, ascending."""

    def sentence(self) -> str:
        """The answer in words."""
        if self.breaks_at is None:
            return f"{self.group}: {self.fits} flows fit, and more were not tried."
        return f"{self.group}: {self.fits} fit; {self.breaks_at} break {', '.join(self.because)}."

    def as_json(self) -> dict[str, object]:
        """Plain values."""
        tried = [{"flows": flows, **row.as_json()} for flows, row in self.tried]
        answer = {"group": self.group, "fits": self.fits, "breaks_at": self.breaks_at, "because": list(self.because)}
        return {**answer, "tried": tried}


def most_flows(found: Imported, group: str, judged: Callable[[Imported], PolicyVerdict]) -> Capacity:
    """Find the largest number of flows of a group that keeps its target.

    Args:
        found: An imported configuration; raises ConfigurationError if it has errors.
        group: A group of the traffic table that is held to a target.
        judged: Judges an imported configuration, such as `lambda found: judge(found, duration="60s")`.

    Raises:
        UsageError: There is no such group, or it has no target.

    """
    document = found.check().document
    flows = cast("list[dict[str, Any]]", document["flows"])
    names = [flow["name"] for flow in flows]
    if group not in names:
        raise UsageError(f"there is no group `{group}` in the traffic table; there are {', '.join(names)}")
    index = names.index(group)
    tried: dict[int, Row] = {}

    def at(count: int) -> Row:
        if count not in tried:
            changed = [{**flow, "count": count} if i == index else flow for i, flow in enumerate(flows)]
            scenario = Scenario.from_document({**document, "flows": changed}).check()
            rows = judged(replace(found, scenario=scenario)).rows
            tried[count] = next(row for row in rows if row.group == group)
        return tried[count]

    first = at(int(flows[index].get("count", 1)))
    if first.objective is None:
        raise UsageError(f"nothing is asked of `{group}`: give it a target in the table")
    fits, breaks = _bracket(int(flows[index].get("count", 1)), lambda count: not at(count).misses)
    while breaks is not None and breaks - fits > 1:
        middle = (fits + breaks) // 2
        if at(middle).misses:
            breaks = middle
        else:
            fits = middle
    because = () if breaks is None else at(breaks).misses
    return Capacity(group, fits, breaks, because, tuple(sorted(tried.items())))


def _bracket(start: int, keeps: Callable[[int], bool]) -> tuple[int, int | None]:
    """A number that keeps the target, 0 at least, and one that breaks it, if any up to `MOST` does."""
    count = min(max(start, 1), MOST)
    if keeps(count):
        while count < MOST:
            more = min(2 * count, MOST)
            if not keeps(more):
                return count, more
            count = more
        return count, None
    while count > 1:
        fewer = count // 2
        if keeps(fewer):
            return fewer, count
        count = fewer
    return 0, 1
