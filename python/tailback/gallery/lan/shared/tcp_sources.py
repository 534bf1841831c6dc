"""Shared parts of the LAN experiments with TCP sources: scopes of back-pressure, points, settings and metrics."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tailback.results import observables as m
from tailback.results.report import Report
from tailback.study.experiment import Axis, Observable, Point, Settings, grid

__all__ = ["AXES", "BURSTS", "CONTROLLED", "ENDLESS", "LINE_MBPS", "METRICS", "MODES", "points", "settings"]

MODES = ("none", "plain", "class", "destination", "class-destination")
"""Scopes of notifications; "none" is without control."""
# Scopes with control.
CONTROLLED = MODES[1:]
BURSTS, ENDLESS = "bursts", "endless transfers"
LINE_MBPS = 10 * 1460 / 1538
"""Payload that a link of 10 Mbit/s carries in full segments, Mbit/s: 1460 of 1538 B on the wire."""
AXES = (
    Axis("traffic", "transfers"),
    Axis("mechanism", "mechanism"),
    Axis("rate", "data rate per source", "Mbit/s"),
    Axis("burst", "mean burst size", "kB"),
)


def points(rates: Sequence[float], bursts: Sequence[int]) -> Iterable[Point]:
    """Return the points: bursts under every scope, and endless transfers.

    Rates are in Mbit/s, burst sizes in kB. The points of endless transfers have a rate of 10 and a burst size of 0.
    """
    return grid(traffic=[BURSTS], mechanism=MODES, rate=rates, burst=bursts) + grid(
        traffic=[ENDLESS], mechanism=MODES, rate=[10], burst=[0]
    )


def settings(point: Point) -> Settings:
    """Return the settings of a point's scope and sources, and random starts."""
    burst = {"kind": "uniform-uniform", "burst": f"{point['burst']}kB", "rate": f"{point['rate']}Mbit/s"}
    source = {"kind": "bulk"} if point["traffic"] == ENDLESS else burst
    # Random starts of the endless transfers make replications differ.
    return {
        "backpressure.scope": point["mechanism"],
        "flows[data].source": source,
        "flows[data].start-spread": "1s",
    }


# Number of retransmissions or timeouts (`key`) per segment, %.
def _per_segment(report: Report, key: str) -> float:
    rows = report.transports()
    counts = {"retransmissions": [r["retransmissions"] for r in rows], "timeouts": [r["timeouts"] for r in rows]}
    segments = sum(row["segments"] for row in rows)
    return 100 * sum(counts[key]) / segments if segments else 0.0


# Mean ("mean") or 99th percentile ("p99") of the time to deliver a burst, ms; NaN without bursts.
def _completion(report: Report, key: str) -> float:
    done = report.data["completions"].get("data")
    values = {} if done is None else {"mean": done["mean_s"], "p99": done.get("p99_s")}
    found = values.get(key)
    return float("nan") if found is None else 1e3 * found


METRICS = (
    m.loss(),
    m.goodput(label="goodput of all sources"),
    Observable("again", "retransmitted share of segments", "%", lambda report: _per_segment(report, "retransmissions")),
    Observable("timeouts", "timeouts per segment", "%", lambda report: _per_segment(report, "timeouts")),
    Observable("completion", "mean time to deliver a burst", "ms", lambda report: _completion(report, "mean")),
    Observable(
        "completion_p99",
        "99th percentile of the time to deliver a burst",
        "ms",
        lambda report: _completion(report, "p99"),
    ),
)
