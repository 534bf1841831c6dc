"""Made-up results for tests of the evaluation of results."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from tailback.study.experiment import Axis, Claim, Experiment, Figure, Observable, Point, Profile, Results
from tailback.study.experiment.results import Sample

__all__ = ["results"]


class MadeUpExperiment(Experiment):
    """Experiment with two axes, one metric and no claims."""

    id = "lan-made"
    title = "Made up"
    reference = "nowhere"
    axes = (Axis("mechanism", "mechanism"), Axis("rate", "rate", "Mbit/s"))
    quick = full = Profile(duration="1s", warmup="0s")
    metrics = (Observable("loss", "packet loss", "%", lambda _: 0.0, lambda _: (0, 0)),)

    def points(self, profile: str) -> Iterable[Point]:
        del profile
        return ()

    def settings(self, point: Point, profile: str) -> dict[str, object]:  # type: ignore[override]
        del point, profile
        return {}

    def claims(self, results: Results) -> Iterable[Claim]:
        del results
        return ()

    def figures(self, results: Results) -> Iterable[Figure]:
        del results
        return ()


def results(table: Mapping[tuple[str, float], Sequence[float]], packets: int = 1000) -> Results:
    """Return results with the given losses in %, one per replication, by mechanism and rate in Mbit/s.

    `packets` is the number of packets sent in each replication; numbers of lost packets are rounded.
    The samples themselves name no point.
    """
    samples = {
        Point(mechanism=mechanism, rate=rate): [
            Sample(Point(), k, 1 + k, "", 0, {"loss": value}, {"loss": (round(value * packets / 100), packets)})
            for k, value in enumerate(values)
        ]
        for (mechanism, rate), values in table.items()
    }
    return Results(MadeUpExperiment(), "quick", samples, frozenset())
