"""Tailback, a deterministic packet-level discrete-event network simulator: a Rust core and a Python package.

    import tailback

    result = tailback.run("scenario.toml", replications=10)
    print(result.summary())
    result.plot().savefig("run.png")

Scenarios are files (TOML or JSON), or are built step by step (`Scenario`). Results of at least two replications have
confidence intervals.
"""

from __future__ import annotations

import json
from typing import cast

from tailback import _native
from tailback.errors import Cancelled, ExecutorError, OutputError, RunError, ScenarioError, TailbackError, UsageError
from tailback.laws.congestion import CongestionControl
from tailback.laws.law import DROP, MARK, PASS, Law
from tailback.laws.native import NativeCongestionControl, NativeLaw, NativeScheduler, NativeSource
from tailback.laws.scheduler import Scheduler
from tailback.laws.source import Source
from tailback.results.intervals import Interval
from tailback.results.metrics import Measure
from tailback.results.report import Report
from tailback.run.capture import Capture
from tailback.run.result import Result
from tailback.run.simulate import Interrupted, run
from tailback.run.simulation import Simulation
from tailback.run.why import Explanation, why
from tailback.scenario import Precision, Scenario, discipline, kind, load, source, tcp
from tailback.scenario.warnings import ScenarioWarning
from tailback.study import FailedRuns, Study, Sweep
from tailback.study.compare import compare
from tailback.study.sweep import open_sweep, sweep
from tailback.traces.reader import read_trace
from tailback.traces.selection import Trace
from tailback.web.notebook import Lab

__version__ = _native.version

__all__ = [
    "DROP",
    "MARK",
    "PASS",
    "Cancelled",
    "Capture",
    "CongestionControl",
    "ExecutorError",
    "Explanation",
    "FailedRuns",
    "Interrupted",
    "Interval",
    "Lab",
    "Law",
    "Measure",
    "NativeCongestionControl",
    "NativeLaw",
    "NativeScheduler",
    "NativeSource",
    "OutputError",
    "Precision",
    "Report",
    "Result",
    "RunError",
    "Scenario",
    "ScenarioError",
    "ScenarioWarning",
    "Scheduler",
    "Simulation",
    "Source",
    "Study",
    "Sweep",
    "TailbackError",
    "Trace",
    "UsageError",
    "__version__",
    "compare",
    "discipline",
    "explain",
    "kind",
    "load",
    "names",
    "open_sweep",
    "read_trace",
    "run",
    "schema",
    "source",
    "sweep",
    "tcp",
    "why",
]


def names() -> dict[str, list[str]]:
    """Return the names of the registered kinds; the keys are categories: traffic models, queue disciplines etc."""
    return cast("dict[str, list[str]]", json.loads(_native.names()))


def explain(name: str) -> str | None:
    """Return the description of a kind and its parameters, with units and defaults; `None`: no kind has this name."""
    return _native.explain(name)


def schema() -> dict[str, object]:
    """Return the JSON Schema of the scenario document."""
    return cast("dict[str, object]", json.loads(_native.schema()))
