"""The scoreboard of headlines: each source's best-known results with the measured values and the verdicts."""

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
    """A line of the scoreboard."""

    experiment: str
    """Id of the experiment."""
    title: str
    """Title of the experiment."""
    claim: Json
    """JSON form of the claim."""

    def as_json(self) -> dict[str, object]:
        """Return the JSON form.

        `source` is the source's number or sentence, and `measured` the interval at the deciding point.
        """
        claim = self.claim
        keys = ("measured", "at", "points", "verdict", "pass")
        return {
            "experiment": self.experiment,
            "claim": claim["id"],
            "source": claim["headline"],
            **{key: claim[key] for key in keys},
        }


def headlines(found: Iterable[tuple[Trial, Iterable[Claim]]]) -> list[Headline]:
    """Return the lines of the claims that are headlines, in the order of the experiments."""
    return [
        Headline(trial.experiment.id, trial.experiment.title, claim.as_json(trial.profile))
        for trial, claims in found
        for claim in claims
        if claim.headline
    ]


def measured_text(measured: Json) -> str:
    """Return a mean with unit and interval, from the JSON form of an interval: such as `1.2 % [1.1, 1.3]`."""
    mean, lo, hi = (number(cast("float | None", measured[key])) for key in ("mean", "lo", "hi"))
    return f"{mean} {measured['unit']}".rstrip() + f" [{lo}, {hi}]"


def number(value: float | None) -> str:
    """Return a number with four significant digits; a dash for `None`, which JSON has for NaN and infinity."""
    return "\N{EN DASH}" if value is None else f"{value:.4g}".replace("-", "\N{MINUS SIGN}")
