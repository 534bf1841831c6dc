"""Figures of sweeps."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from drawings.common import (
    figure,
    merge,
)
from tailback.plotting.sweep.figures import figures
from tailback.scenario import Value
from tailback.study.sweep import sweep

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@figure
def sweep_map() -> Figure:
    """Loss over load and buffer for docs/examples/study.toml's mechanisms, as a sweep's report draws it."""
    axes: dict[str, Mapping[str, Value]] = {
        "flows[data].source.rate": {"from": "2.4Mbit/s", "to": "3.2Mbit/s", "steps": 5},
        "switches.core.buffer": {"from": "12.5kB", "to": "100kB", "steps": 4, "scale": "log"},
    }
    variants = {"drop": {"backpressure.scope": "none"}, "stop": {"backpressure.scope": "plain"}}
    found = sweep(merge("none", duration="20s", warmup="2s"), axes, mechanisms=variants, replications=5)
    return next(picture.figure for picture in figures(found) if picture.title == "Map of loss (%)")
