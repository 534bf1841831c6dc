"""The scoreboard of headlines: what each source is known for, beside what was measured and the word for it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import cast

from tailback.study.experiment.claims import Claim
from tailback.study.experiment.runner import Trial

__all__ = ["Headline", "headlines", "measured_text", "number"]

Json = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Headline:
    """One line of the scoreboard."""

    experiment: str
    title: str
    claim: Json
    """As the reports hold it."""

    def as_json(self) -> dict[str, object]:
        """Return the line; `source` is what the source says or prints, `measured` is at the claim's deciding point."""
        claim = self.claim
        keys = ("measured", "at", "points", "verdict", "pass")
        return {
            "experiment": self.experiment,
            "claim": claim["id"],
            "source": claim["headline"],
            **{key: claim[key] for key in keys},
        }


def headlines(found: Iterable[tuple[Trial, Iterable[Claim]]]) -> list[Headline]:
    """Return the claims that the sources are known for, in the order of the experiments."""
    return [
        Headline(trial.experiment.id, trial.experiment.title, claim.as_json(trial.profile))
        for trial, claims in found
        for claim in claims
        if claim.headline
    ]


def measured_text(measured: Json) -> str:
    """Return a mean with its interval and unit."""
    mean, lo, hi = (number(cast("float | None", measured[key])) for key in ("mean", "lo", "hi"))
    return f"{mean} {measured['unit']}".rstrip() + f" [{lo}, {hi}]"


def number(value: float | None) -> str:
    """Return four digits, which is more than any interval here deserves; a dash for none."""
    return "\N{EN DASH}" if value is None else f"{value:.4g}".replace("-", "\N{MINUS SIGN}")
