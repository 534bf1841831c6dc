"""Service level management: targets per group of flows, checked in every interval, and forecasts of violations.

    targets = [Target("voice", delay_s=0.01, loss=0.001), Target("data", loss=0.05)]
    for found in check(report, targets):
        print(found.target.group, found.compliance, found.violations)

The report must have a time series (`[run] sample`, the length of an interval) and `delay-variation = true`. `watch`
runs a scenario with both and checks all replications; `forecast` finds the factor by which some groups may grow until a
target is missed, by simulation, and `fluid_forecast` by a model.
"""

from __future__ import annotations

from tailback.service_levels.compliance import (
    Checked,
    Observed,
    Target,
    Violation,
    Watched,
    check,
    observe,
    targets,
    watch,
)
from tailback.service_levels.forecast import Forecast, break_point, fluid_forecast, forecast, intervals_until

__all__ = [
    "Checked",
    "Forecast",
    "Observed",
    "Target",
    "Violation",
    "Watched",
    "break_point",
    "check",
    "fluid_forecast",
    "forecast",
    "intervals_until",
    "observe",
    "targets",
    "watch",
]
