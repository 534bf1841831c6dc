"""Records and samples that figures need, for scenarios that are run to be drawn."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import cast

from tailback import _native
from tailback.scenario import Scenario, Value

__all__ = ["with_records"]

_RECORDS = {
    "delay_cdf": "delay-distribution",
    "fct_cdf": "transfers",
    "fct": "transfers",
    "slowdown": "transfers",
    "size": "transfers",
    "start": "transfers",
    "retransmissions": "transfers",
    "cwnd": "transport-changes",
    "rtt": "transport-changes",
    "time_sequence": "transport-changes",
    "fairness": "throughput-by-flow",
    "goodput": "throughput-by-flow",
    "queue_composition": "queue-by-flow",
    "queue_min": "queue-extremes",
    "queue_max": "queue-extremes",
}
"""Record that a picture or quantity needs, by its name; others need samples only."""

_SAMPLES = 500
"""Number of samples in a run whose scenario sets no sampling interval."""


def with_records(scenario: Scenario, wanted: Sequence[str]) -> Scenario:
    """Return a scenario that records what pictures or quantities such as `goodput[*]` need.

    If the scenario sets no sampling interval, it gets one. Records and samples change no result.
    """
    config = scenario.run_config
    names = [re.sub(r"\[.*", "", text).strip().replace("-", "_") for text in wanted]
    records = sorted({*cast("Sequence[str]", config.get("record", ())), *(_RECORDS[n] for n in names if n in _RECORDS)})
    changes: dict[str, Value] = {"run.record": cast("Value", records)} if records else {}
    if config.get("sample") is None:
        step = _native.parse_duration(str(config["duration"])) // _SAMPLES
        changes["run.sample"] = f"{max(step // 1000, 1)}ns"
    return scenario.set(changes) if changes else scenario
