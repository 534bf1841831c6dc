"""Claims and their verdicts.

A claim has a condition with one or more checks. A check passes if the condition holds in the whole 99 % interval,
fails if it holds nowhere in the interval, and is undecided otherwise. A claim that an event never happens is decided by
the number of events instead.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from enum import Enum
from typing import Literal, Protocol

from tailback.results.intervals import Interval
from tailback.study.experiment.points import Point, ProfileName

__all__ = ["CONFIDENCE", "WORDS", "Check", "Claim", "Condition", "Kind", "Region", "Verdict", "judge"]

CONFIDENCE = 0.99
"""Confidence level of every interval of a claim."""


class Verdict(Enum):
    """Verdict of an interval on a claim."""

    PASS = "pass"
    FAIL = "fail"
    UNDECIDED = "undecided"
    """The interval contains both outcomes: more replications may decide."""
    NULL = "not asserted"
    """No assertion, for the reason that the check gives."""


@dataclass(frozen=True, slots=True)
class Region:
    """Values that satisfy a condition: those from `lo` to `hi`, in the unit of the quantity."""

    lo: float = -math.inf
    hi: float = math.inf
    closed: bool = True
    """`True` if `lo` and `hi` themselves satisfy the condition."""

    def __contains__(self, value: float) -> bool:
        if self.closed:
            return self.lo <= value <= self.hi
        return self.lo < value < self.hi

    def misses(self, interval: Interval) -> bool:
        """Return `True` if no value of the interval satisfies the condition."""
        if self.closed:
            return interval.hi < self.lo or interval.lo > self.hi
        return interval.hi <= self.lo or interval.lo >= self.hi

    def slack(self, interval: Interval) -> float:
        """Return the smaller of the distances from the interval's ends to those of the region; negative outside."""
        return min(interval.lo - self.lo, self.hi - interval.hi)


def judge(interval: Interval, region: Region) -> Verdict:
    """Return pass if the whole interval is in the region, fail if it is wholly outside, and otherwise undecided.

    With fewer than two replications the verdict is undecided, too.
    """
    if interval.n < 2 or math.isnan(interval.mean):
        return Verdict.UNDECIDED
    if interval.lo in region and interval.hi in region:
        return Verdict.PASS
    return Verdict.FAIL if region.misses(interval) else Verdict.UNDECIDED


@dataclass(frozen=True, slots=True)
class Check:
    """A condition at one point, or on one pair of points."""

    at: str
    """Point in words; empty if the condition has no free axis."""
    verdict: Verdict
    measured: Interval
    unit: str
    points: frozenset[Point]
    """Points of the experiment from which the interval comes."""
    slack: float = 0.0
    """Distance of the interval from the bound, in the unit; negative beyond the bound.

    For a claim that an event never happens: the number of packets, or minus the number of events. Of two checks with
    the same verdict, the one with less slack is worse.
    """
    packets: int | None = None
    """Number of packets, or of what `counted` names, among which no event is claimed to happen.

    `None`: the claim is another.
    """
    both_positive: bool = True
    """`False` if one side of a comparison is zero in all replications."""
    why: str = ""
    """Reason for which the check asserts nothing; otherwise empty."""
    counted: str = "packets"
    """Noun of the number in `packets`, in the plural."""

    @property
    def rank(self) -> tuple[int, float]:
        """Key that sorts checks from the worst to the best: by verdict, then by slack."""
        order = (Verdict.FAIL, Verdict.UNDECIDED, Verdict.PASS, Verdict.NULL)
        return order.index(self.verdict), self.slack

    def as_json(self) -> dict[str, object]:
        """Return the JSON form; `pass` is null if the verdict is "undecided" or "not asserted" (with `why`)."""
        return {
            "at": self.at,
            "measured": self.measured.as_json(self.unit),
            "pass": _PASSED[self.verdict],
            "verdict": self.verdict.value,
            **({"why": self.why} if self.why else {}),
            **self.seen(),
        }

    def seen(self) -> dict[str, object]:
        """Return the JSON entries `packets` and, unless it is "packets", `counted`; empty for other claims."""
        if self.packets is None:
            return {}
        return {"packets": self.packets, **({"counted": self.counted} if self.counted != "packets" else {})}


@dataclass(frozen=True)
class Condition:
    """One or more checks that must all hold (or, after `somewhere`, at least one of them)."""

    expected: str
    """The condition in words."""
    checks: tuple[Check, ...]
    """Checks, at least one; raises ValueError if there is none."""
    mode: Literal["all", "any"] = "all"
    """`any` if one check that holds is enough."""

    def __post_init__(self) -> None:
        if not self.checks:
            raise ValueError(f"the condition has no point: {self.expected}")

    def __bool__(self) -> bool:
        raise TypeError("a condition has no truth value: write quantity.within(lo, hi) instead of lo < quantity < hi")

    def __and__(self, other: Condition) -> Condition:
        """Return a condition with the checks of both; raises TypeError if one of them is a `somewhere`."""
        if "any" in (self.mode, other.mode):
            raise TypeError("a condition with `somewhere` cannot be combined with another; make two claims")
        return Condition(f"{self.expected}; {other.expected}", self.checks + other.checks)

    def somewhere(self) -> Condition:
        """Return a condition that holds when one of the points satisfies it."""
        return Condition(f"somewhere: {self.expected}", self.checks, "any")

    def where_both_positive(self) -> Condition:
        """Return the condition without assertions at points where one side is zero in all replications."""
        return self._without(lambda check: not check.both_positive, "one side is zero")

    def _without(self, unwanted: Callable[[Check], bool], why: str) -> Condition:
        checks = (replace(c, verdict=Verdict.NULL, why=why) if unwanted(c) else c for c in self.checks)
        return Condition(self.expected, tuple(checks), self.mode)

    @property
    def verdict(self) -> Verdict:
        """Verdict of all checks together; "not asserted" if every check asserts nothing, otherwise of the others."""
        found = {check.verdict for check in self.checks} - {Verdict.NULL}
        if not found:
            return Verdict.NULL
        first, last = (Verdict.PASS, Verdict.FAIL) if self.mode == "any" else (Verdict.FAIL, Verdict.PASS)
        if first in found:
            return first
        return Verdict.UNDECIDED if Verdict.UNDECIDED in found else last

    @property
    def worst(self) -> Check:
        """The check that decides: the worst of those that assert something, or with mode `any` the best."""
        pick = max if self.mode == "any" else min
        asserting = [check for check in self.checks if check.verdict is not Verdict.NULL]
        return pick(asserting or self.checks, key=lambda check: check.rank)

    @property
    def undecided_points(self) -> frozenset[Point]:
        """Points at which more replications may decide the condition; empty if it is decided."""
        if self.verdict is not Verdict.UNDECIDED:
            return frozenset()
        return _union(c.points for c in self.checks if c.verdict is Verdict.UNDECIDED)

    @property
    def why(self) -> str:
        """Reasons for which points assert nothing, each with the number of its points; empty if there are none."""
        reasons: dict[str, int] = {}
        for check in self.checks:
            if check.verdict is Verdict.NULL:
                reasons[check.why] = reasons.get(check.why, 0) + 1
        return "; ".join(f"{n} of {len(self.checks)} points not asserted: {why}" for why, n in reasons.items())


class Kind(Enum):
    """Use of a claim's verdict."""

    ASSERTED = "asserted"
    """The claim passes or fails, and the exit code depends on it."""
    UNASSERTED = "unasserted"
    """A sentence of the source that does not hold here, or may not: it has a verdict, which the exit code ignores."""
    CALIBRATED = "calibrated"
    """A parameter was chosen to meet the claim, so that agreement proves nothing about the source."""
    COMPARISON = "comparison"
    """A measured value without an expected one, for comparison with others."""


class Shown(Protocol):
    """An object with values to show, such as a `Quantity`."""

    def as_shown(self, why: str) -> Condition:
        """Return a condition that asserts nothing and shows the values."""


@dataclass(frozen=True)
class Claim:
    """A sentence, its source, and the condition that decides it."""

    id: str
    """Short identifier, unique in the experiment, such as `C1`."""
    text: str
    """Sentence that is understood without other claims, for tables."""
    source: str
    """Place in the source document, and how the claim follows from it: stated, derived, or reconstructed."""
    condition: Condition
    kind: Kind = Kind.ASSERTED
    reason: str = ""
    """Reason for which the claim is not asserted; of a calibrated claim, the parameter that was chosen to meet it."""
    headline: str = ""
    """The source's number or sentence in a few words, for the scoreboard; empty if the claim is not a headline."""

    @classmethod
    def comparison(cls, id: str, text: str, source: str, quantity: Shown, why: str) -> Claim:  # noqa: A002
        """Return a claim whose values are shown and not judged, such as a sensitivity or the result of a variant."""
        return cls(id, text, source, quantity.as_shown(why), Kind.COMPARISON, why)

    @classmethod
    def unasserted(
        cls,
        id: str,  # noqa: A002
        text: str,
        source: str,
        condition: Condition,
        why: str,
        headline: str = "",
    ) -> Claim:
        """Return a sentence of the source that is known not to hold here, or may not hold.

        Its interval decides its word (reproduced, not reproduced, undecided) at every run, but its `pass` in JSON is
        null. `why` is the reason why it does not hold, or may not.
        """
        return cls(id, text, source, condition, Kind.UNASSERTED, why, headline)

    @classmethod
    def calibrated(
        cls,
        id: str,  # noqa: A002
        text: str,
        source: str,
        condition: Condition,
        why: str,
        headline: str = "",
    ) -> Claim:
        """Return a claim that the experiment was calibrated to meet.

        It is decided like other claims, and the outcome is reported, but it counts neither as passed nor as failed:
        agreement shows that the calibration works, not that the source is right.
        """
        return cls(id, text, source, condition, Kind.CALIBRATED, why, headline)

    @property
    def word(self) -> str:
        """Result in the report: reproduced, not reproduced, undecided, calibrated or comparison."""
        if self.kind in (Kind.CALIBRATED, Kind.COMPARISON):
            return str(self.kind.value)
        return _WORDS[self.condition.verdict]

    def as_json(self, profile: ProfileName) -> dict[str, object]:
        """Return the JSON form of the claim; if `pass` is null, `why` has the reason.

        For an asserted claim that is undecided, `pass` is null in the profile `quick` and false in `full`.
        """
        condition = self.condition
        worst, verdict = condition.worst, condition.verdict
        passed = _PASSED[verdict] if self.kind is Kind.ASSERTED else None
        reasons = [condition.why] if condition.why and self.kind is not Kind.COMPARISON else []
        if self.reason:
            reasons.insert(0, self.reason)
        if self.kind is Kind.CALIBRATED:
            held = {Verdict.PASS: "it holds", Verdict.FAIL: "it does not hold"}.get(verdict, "it is undecided")
            reasons.insert(1, f"as calibrated, {held}")
        elif verdict is Verdict.UNDECIDED:
            n = worst.measured.n
            reasons.insert(
                0, f"undecided after {n} replications: the interval at the point shown contains both outcomes"
            )
            if profile == "full" and self.kind is Kind.ASSERTED:
                passed = False
        return {
            "id": self.id,
            "text": self.text,
            "source": self.source,
            "expected": condition.expected,
            "measured": worst.measured.as_json(worst.unit),
            "pass": passed,
            "verdict": self.word,
            **({"why": "; ".join(reasons)} if reasons else {}),
            **({"headline": self.headline} if self.headline else {}),
            "at": worst.at,
            "points": len(condition.checks),
            **worst.seen(),
            "checks": [check.as_json() for check in condition.checks],
        }


_WORDS = {
    Verdict.PASS: "reproduced",
    Verdict.FAIL: "not reproduced",
    Verdict.UNDECIDED: "undecided",
    # All checks assert nothing, such as strict comparisons of two losses that are both zero.
    Verdict.NULL: "undecided",
}
WORDS = ("reproduced", "not reproduced", "undecided", "calibrated", "comparison")
"""All values of `Claim.word`."""
_PASSED = {Verdict.PASS: True, Verdict.FAIL: False, Verdict.UNDECIDED: None, Verdict.NULL: None}


def undecided_points(claims: Iterable[Claim]) -> frozenset[Point]:
    """Return the points at which more replications may decide a claim."""
    # Comparisons are never undecided; unasserted and calibrated claims may be, and are decided like asserted ones.
    return _union(claim.condition.undecided_points for claim in claims)


def _union(sets: Iterable[frozenset[Point]]) -> frozenset[Point]:
    return frozenset(point for points in sets for point in points)
