"""Traffic models of the slides of Tobagi and others, by the names on the experiments' axes."""

from __future__ import annotations

from tailback.scenario import Table
from tailback.study.experiment import AxisValue

__all__ = ["BATCHES", "READINGS", "SELF_SIMILAR", "UNIFORM", "UNIFORM_FIXED", "data_source"]

UNIFORM_FIXED = "uniform-fixed"
UNIFORM = "uniform-uniform"
SELF_SIMILAR = "self-similar"
"""Sum of on-off sources with a peak rate: self-similar in bytes."""
BATCHES = "self-similar, batches"
"""Bursts of Pareto size, each generated at one instant, as the slide says literally. Not self-similar in bytes."""
READINGS = (SELF_SIMILAR, BATCHES)
"""Both interpretations of the slide on self-similar traffic."""


def data_source(traffic: AxisValue, burst_kb: AxisValue, rate_mbit: AxisValue) -> Table:
    """Return the source of one host by traffic model, mean burst size in kB and rate in Mbit/s."""
    size: Table = {"burst": f"{burst_kb}kB", "rate": f"{rate_mbit}Mbit/s"}
    if traffic == BATCHES:
        return {"kind": "self-similar", "peak": "batch", **size}
    return {"kind": traffic, **size}
