"""Service level management: targets per group of flows, checked in every interval, and forecasts of violations.

    targets = [Target("voice", delay_s=0.01, loss=0.001), Target("data", loss=0.05)]
    for checked in check(report, targets):
        print(checked.target.group, checked.compliance, checked.violations)

The scenario of the report must set `sample`, the length of an interval, and `delay-variation = true` in `[run]`.
`watch` runs a scenario with both settings and checks all replications. `forecast` and `fluid_forecast` find the factor
by which some groups may grow until a target is missed: `forecast` by simulation, `fluid_forecast` by a model.
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
