"""Cost of a replication, estimated from a trial that runs its beginning.

    cost = replication_cost(load("large.toml"))
    print(cost.cpu_s)

The module also has two helpers for estimates: a length of time in words, and evenly spaced points of a sweep.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from tailback import _native
from tailback.errors import Cancelled, RunError
from tailback.laws.watchdog import guarded
from tailback.results.formatting import digits
from tailback.run.apart import apart
from tailback.scenario import Scenario, Variant

__all__ = ["Cost", "replication_cost", "spoken", "spread"]


@dataclass(frozen=True, slots=True)
class Cost:
    """Processor time of one replication."""

    cpu_s: float
    """Processor seconds of one replication on one thread, with its report; infinite if the trial made no progress."""
    tried: float
    """Fraction of the replication that the trial simulated, 0 to 1; with 1 the cost is measured, not estimated."""


def replication_cost(
    scenario: Scenario | Variant,
    seed: int | None = None,
    *,
    trial_s: float = 1.0,
    engine: Literal["merged", "plain"] | None = None,
) -> Cost:
    """Run the beginning of a replication and return the estimated cost of the whole.

    The speed in the second half of the trial is extrapolated, since the network is empty at the beginning. A run whose
    load grows later, for example by its timeline, takes longer than the estimate.

    Args:
        scenario: Scenario to run.
        seed: Seed of the replication. Default: the scenario's.
        trial_s: Processor seconds after which the trial ends, without those for building the network.
        engine: Event engine, "merged" or "plain". Default: the scenario's.

    Raises:
        RunError: The simulator failed in the trial.

    """
    made = scenario if isinstance(scenario, Scenario) else scenario.made()
    base = int(str(made.run_config["seed"])) if seed is None else seed
    return apart(f"the trial with seed {base} failed", made, _tried, made, base, trial_s, engine)


def _tried(made: Scenario, seed: int, trial_s: float, engine: str | None) -> Cost:
    """Return the cost of a replication from a trial in this process."""
    cancel = _native.Cancel()
    begin = time.thread_time()
    ticks: list[tuple[float, float]] = []

    def note_progress(fraction: float) -> None:
        now = time.thread_time()
        ticks.append((now, fraction))
        if now - ticks[0][0] > trial_s:
            cancel.cancel()

    try:
        with guarded(made.native, cancel):
            made.native.run(seed, cancel, note_progress, engine, None, 1)
    except Cancelled:
        pass
    except RuntimeError as error:
        raise RunError(f"the trial with seed {seed} failed: {error}") from error
    else:
        return Cost(time.thread_time() - begin, 1.0)
    (end, done) = ticks[-1]
    (middle, done_by_middle) = ticks[len(ticks) // 2]
    if done <= done_by_middle:
        return Cost(float("inf"), done)
    return Cost(end - begin + (1.0 - done) * (end - middle) / (done - done_by_middle), done)


def spoken(seconds: float) -> str:
    """Return a length of time, s, as text with two significant digits, such as `1.6 s`, `3 min`, `5.5 h`, `2 days`.

    Infinity is "an unknown time".
    """
    if not math.isfinite(seconds):
        return "an unknown time"
    for size, unit in ((86_400.0, "days"), (3600.0, "h"), (60.0, "min")):
        if seconds >= 1.5 * size:
            return f"{digits(seconds / size, 2)} {unit}"
    return f"{digits(seconds, 2)} s"


def spread(count: int, upper: int) -> Sequence[int]:
    """Return at most `upper` evenly spaced indices from 0 to `count` - 1, ends included; `upper` is at least 2."""
    if count <= upper:
        return range(count)
    return [round(k * (count - 1) / (upper - 1)) for k in range(upper)]
