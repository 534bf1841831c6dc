"""Capacity: the largest number of flows of a group with which the group keeps its target.

    found = import_configuration("mqc", policy, traffic=table)
    capacity = most_flows(found, "calls", lambda changed: judge(changed, duration="60s"))
    print(capacity.fits, capacity.breaks_at, capacity.because)

The caller's function, such as `tailback.router.verdict.judge`, judges each number of flows, and should use the same
seeds each time. The search doubles the number until the target is missed, or halves it until the target is kept, and
then bisects the range. It assumes that more flows never improve a result. A target that is undecided counts as kept.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, cast

from tailback.errors import UsageError
from tailback.router.policy import Imported
from tailback.router.verdict import PolicyVerdict, Row
from tailback.scenario import Scenario

__all__ = ["MAX_FLOWS", "Capacity", "most_flows"]

MAX_FLOWS = 10_000
"""Maximum number of flows that is tried."""


@dataclass(frozen=True, slots=True)
class Capacity:
    """Largest number of flows of a group with which the group keeps its target."""

    group: str
    """Name of the group."""
    fits: int
    """Largest number of flows that keeps the target; 0: one flow misses it."""
    breaks_at: int | None
    """Smallest number of flows that misses the target, `fits` + 1; `None`: `MAX_FLOWS` flows keep it."""
    because: tuple[str, ...]
    """Targets missed with `breaks_at` flows, as in `Row.misses`; empty if `breaks_at` is `None`."""
    tried: tuple[tuple[int, Row], ...]
    """Pairs of a number of flows that was judged, and the results of the group with it, ascending by number."""

    def sentence(self) -> str:
        """Return the result in one sentence."""
        if self.breaks_at is None:
            return f"{self.group}: {self.fits} flows fit; more were not tried."
        return f"{self.group}: {self.fits} flows fit; {self.breaks_at} do not ({', '.join(self.because)})."

    def as_json(self) -> dict[str, object]:
        """Return the JSON form."""
        tried = [{"flows": flows, **row.as_json()} for flows, row in self.tried]
        answer = {"group": self.group, "fits": self.fits, "breaks_at": self.breaks_at, "because": list(self.because)}
        return {**answer, "tried": tried}


def most_flows(found: Imported, group: str, judged: Callable[[Imported], PolicyVerdict]) -> Capacity:
    """Find the largest number of flows of a group, 0 to `MAX_FLOWS`, with which the group keeps its target.

    Args:
        found: An imported configuration.
        group: A group of the traffic table that has a target.
        judged: Function that judges `found` with another number of flows, such as
            `lambda changed: judge(changed, duration="60s")`.

    Raises:
        UsageError: There is no such group, or it has no target.
        ConfigurationError: `found` has errors.

    """
    document = found.check().document
    flows = cast("list[dict[str, Any]]", document["flows"])
    names = [flow["name"] for flow in flows]
    if group not in names:
        raise UsageError(f"there is no group `{group}` in the traffic table; the groups are {', '.join(names)}")
    index = names.index(group)
    tried: dict[int, Row] = {}

    def row_with(count: int) -> Row:
        if count not in tried:
            changed = [{**flow, "count": count} if i == index else flow for i, flow in enumerate(flows)]
            scenario = Scenario.from_document({**document, "flows": changed}).check()
            rows = judged(replace(found, scenario=scenario)).rows
            tried[count] = next(row for row in rows if row.group == group)
        return tried[count]

    first = row_with(int(flows[index].get("count", 1)))
    if first.objective is None:
        raise UsageError(f"`{group}` has no target: write one in the column `target` of the traffic table")
    fits, breaks = _bracket(int(flows[index].get("count", 1)), lambda count: not row_with(count).misses)
    while breaks is not None and breaks - fits > 1:
        middle = (fits + breaks) // 2
        if row_with(middle).misses:
            breaks = middle
        else:
            fits = middle
    because = () if breaks is None else row_with(breaks).misses
    return Capacity(group, fits, breaks, because, tuple(sorted(tried.items())))


def _bracket(start: int, keeps: Callable[[int], bool]) -> tuple[int, int | None]:
    """Return a number of flows that keeps the target, or 0, and a larger one that misses it.

    Numbers are doubled or halved from `start` on. The result is `MAX_FLOWS` and `None` if `MAX_FLOWS` flows keep it.
    """
    count = min(max(start, 1), MAX_FLOWS)
    if keeps(count):
        while count < MAX_FLOWS:
            more = min(2 * count, MAX_FLOWS)
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
