"""Estimated cost of runs, from a trial of their beginning.

cost = replication_cost(load("large.toml"))
print(cost.cpu_s)
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from tailback import _native
from tailback.errors import Cancelled, RunError
from tailback.results.formatting import digits
from tailback.scenario import Scenario, Variant

__all__ = ["Cost", "replication_cost", "spoken", "spread"]


@dataclass(frozen=True, slots=True)
class Cost:
    """Cost of one replication."""

    cpu_s: float
    """Processor seconds of one replication on one thread, report included; infinite if the trial got nowhere."""
    tried: float
    """Simulated part of the replication, 0 to 1; 1 if it was run completely, so that the cost is measured."""


def replication_cost(
    scenario: Scenario | Variant,
    seed: int | None = None,
    *,
    trial_s: float = 1.0,
    engine: Literal["merged", "plain"] | None = None,
) -> Cost:
    """Run the beginning of a replication and return the estimated cost of the whole.

    The speed of the second half of the trial is extrapolated to the rest: at the beginning a network is empty and
    connections are few. A network whose load grows during the run, such as one with a timeline, takes longer than that.

    Args:
        scenario: What to run.
        seed: Seed of the replication. Default: the scenario's.
        trial_s: Seconds for the trial, once the network is built.
        engine: As for a run.

    Raises:
        RunError: The simulator failed within the trial.

    """
    cancel = _native.Cancel()
    begin = time.thread_time()
    ticks: list[tuple[float, float]] = []

    def tell(fraction: float) -> None:
        now = time.thread_time()
        ticks.append((now, fraction))
        if now - ticks[0][0] > trial_s:
            cancel.cancel()

    made = scenario if isinstance(scenario, Scenario) else scenario.made()
    base = int(str(made.run_config["seed"])) if seed is None else seed
    try:
        made.native.run(base, cancel, tell, engine, None, 1)
    except Cancelled:
        pass
    except RuntimeError as error:
        raise RunError(f"the trial with seed {base} failed: {error}") from error
    else:
        return Cost(time.thread_time() - begin, 1.0)
    (last, done) = ticks[-1]
    (middle, half) = ticks[len(ticks) // 2]
    if done <= half:
        return Cost(float("inf"), done)
    return Cost(last - begin + (1.0 - done) * (last - middle) / (done - half), done)


def spoken(seconds: float) -> str:
    """Return a length of time in two significant digits: `1.6 s`, `3 min`, `5.5 h`."""
    if not math.isfinite(seconds):
        return "more than can be told"
    for size, unit in ((86_400.0, "days"), (3600.0, "h"), (60.0, "min")):
        if seconds >= 1.5 * size:
            return f"{digits(seconds / size, 2)} {unit}"
    return f"{digits(seconds, 2)} s"


def spread(count: int, most: int) -> Sequence[int]:
    """Return at most `most` indices below `count`, evenly apart, the first and the last among them."""
    if count <= most:
        return range(count)
    return [round(k * (count - 1) / (most - 1)) for k in range(most)]
