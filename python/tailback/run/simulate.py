"""Run of a scenario: its replications, warm-up and stopping rule."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from os import PathLike
from typing import Literal, cast

from tailback import _native
from tailback.errors import RunError, UsageError
from tailback.results.metrics import estimates, measures
from tailback.results.report import Report
from tailback.run.adaptive import Replicated
from tailback.run.apart import apart
from tailback.run.capture import Capture
from tailback.run.executors import Backend
from tailback.run.pool import Pool, Progress, Task, default_threads
from tailback.run.result import Result, Warmup
from tailback.scenario import Scenario, load
from tailback.traces.selection import Trace

__all__ = ["Interrupted", "check_seeds", "run", "seeds"]


class Interrupted(KeyboardInterrupt):
    """Ctrl-C during a run; `result` has the finished replications, possibly none."""

    def __init__(self, result: Result) -> None:
        super().__init__(f"interrupted after {len(result.reports)} replications")
        self.result = result


@dataclass(frozen=True, slots=True)
class _Precision:
    """Table `run.precision` of a scenario; see `tailback.scenario.Precision`."""

    metric: str
    relative: float
    absolute: float
    max_replications: int


MAX_SEED = 2**63 - 1
"""Largest seed of a replication."""
MAX_PARTS = 1024
"""Maximum number of threads of one replication, the upper bound of `parallel`."""
MAX_REPLICATIONS = 100_000
"""Maximum number of replications, as in a scenario."""


def seeds(base: int, replications: int) -> list[int]:
    """Return the seeds of replications 0 to `replications` - 1: replication k has the seed `base` + k."""
    return [base + k for k in range(replications)]


def check_seeds(base: int, replications: int) -> None:
    """Check the number of replications and the range of their seeds.

    Raises ValueError if the number is below 1, and UsageError if it is too large or a seed is out of range.
    """
    if replications < 1:
        raise ValueError(f"replications is {replications}; write 1 to {MAX_REPLICATIONS}")
    if replications > MAX_REPLICATIONS:
        raise UsageError(f"replications is {replications}; write 1 to {MAX_REPLICATIONS}")
    upper = MAX_SEED - replications + 1
    if not 0 <= base <= upper:
        raise UsageError(f"the base seed is {base}; write 0 to {upper}, since replication k has the seed base + k")


def run(
    scenario: Scenario | str | PathLike[str],
    seed: int | None = None,
    replications: int | None = None,
    threads: int | None = None,
    *,
    warmup: str | None = None,
    engine: Literal["merged", "plain"] | None = None,
    parallel: int = 1,
    trace: Trace | str | PathLike[str] | None = None,
    capture: Capture | None = None,
    progress: Progress | None = None,
    executor: Executor | Backend | None = None,
) -> Result:
    """Run all replications of a scenario and return their results.

    Args:
        scenario: A scenario, or the path of its file.
        seed: Base seed; replication k runs with `seed + k`. Default: the scenario's.
        replications: Number of replications; with `run.precision`, the number in the first round. Default: the
            scenario's.
        threads: Maximum number of replications that run at the same time. Default: the number of processors, divided by
            `parallel`.
        warmup: Length of the warm-up, such as "20s", or "auto". Default: the scenario's.
        engine: Event engine, "merged" or "plain"; both give the same digest. Default: the scenario's.
        parallel: Maximum number of parts into which the network of each replication is divided, 1 to 1024, each on a
            thread of its own; the digest does not depend on it. For few large replications; see `Scenario.parts`.
        trace: Packet trace to be written, or the directory for a trace of everything; see `Trace`. The digest does not
            depend on it.
        capture: Selection of frames that are written as pcapng, a file for each replication.
        progress: Called repeatedly with the number of replications done, which may have a fraction, and the number of
            all replications of the round.
        executor: Any executor of `concurrent.futures`, or one of `tailback.run.executors`; the caller closes it.
            Default: threads of this process.

    Raises:
        ScenarioError: The scenario is invalid; the message has the place and a correction.
        UsageError: A seed is out of range, a number of replications or parts is too large, or a capture names no port.
        ValueError: A number of replications or parts is below 1.
        RunError: No steady state was found for an automatic warm-up, or the simulator failed.
        OutputError: The trace or a capture cannot be written.
        Interrupted: Ctrl-C was pressed; the `result` of the exception has the finished replications.

    """
    if not isinstance(scenario, Scenario):
        scenario = load(scenario)
    if warmup is not None:
        scenario = scenario.set(warmup=warmup)
    config = scenario.run_config
    base = cast(int, config["seed"]) if seed is None else seed
    count = cast(int, config["replications"]) if replications is None else replications
    precision = _precision(config)
    check_seeds(base, count if precision is None else max(count, precision.max_replications))
    if parallel < 1:
        raise ValueError(f"parallel is {parallel}; write 1 to {MAX_PARTS} threads")
    if parallel > MAX_PARTS:
        raise UsageError(f"parallel is {parallel}; write 1 to {MAX_PARTS} threads")
    if capture is not None:
        apart("the capture failed", scenario, _check_capture, capture, scenario, base)
    if threads is None and executor is None and parallel > 1:
        threads = max(default_threads() // parallel, 1)
    if trace is not None:
        from tailback.traces.writer import prepare

        trace = trace if isinstance(trace, Trace) else Trace(trace)
        apart("the trace failed", scenario, _check_trace, trace, scenario, base)
        trace = replace(trace, directory=prepare(trace))
    confidence = cast(float, config["confidence"])
    with Pool(threads, executor) as pool:
        start = _warmup(scenario, engine, parallel, pool)
        result = Result(scenario, start or Warmup("auto"), confidence, base)
        if start is None:
            raise Interrupted(result)
        captures = _Captures(capture, several=count > 1 or precision is not None)
        _Replications(result, pool, precision, engine, parallel, trace, captures, progress).replicate({None: count})
    result.state = "complete"
    return result


def _check_trace(trace: Trace, scenario: Scenario, seed: int) -> None:
    trace.network(scenario.native, seed)


def _check_capture(capture: Capture, scenario: Scenario, seed: int) -> None:
    capture.check(scenario, seed)


@dataclass(frozen=True, slots=True)
class _Captures:
    """Capture of a run, from which the capture of each replication is derived."""

    capture: Capture | None
    several: bool
    """`True` if there may be several replications, each with a file of its own."""

    def of(self, seed: int) -> Capture | None:
        return self.capture.of_seed(seed) if self.capture is not None and self.several else self.capture


@dataclass(frozen=True, slots=True)
class _Replications(Replicated[None]):
    """Replications of one scenario, which is the only unit, `None`."""

    result: Result
    pool: Pool
    precision: _Precision | None
    engine: str | None
    parallel: int
    trace: Trace | None
    captures: _Captures
    progress: Progress | None

    @property
    def max_replications(self) -> int:
        return 0 if self.precision is None else self.precision.max_replications

    def count(self, unit: None) -> int:
        del unit
        return len(self.result.reports)

    def advance(self, wanted: Mapping[None, int]) -> bool:
        """Run the missing replications; raises Interrupted with the finished ones."""
        result = self.result
        missing = seeds(result.base_seed, wanted[None])[len(result.reports) :]
        warmup_s = result.warmup.override_s
        tasks = [
            Task(
                None,
                result.scenario,
                seed,
                warmup_s,
                self.engine,
                self.parallel,
                trace=self.trace,
                capture=self.captures.of(seed),
            )
            for seed in missing
        ]
        outcome = self.pool.run(tasks, _whole, self.progress)
        # After Ctrl-C a later replication may have finished before an earlier one; all finished ones are kept.
        result.add([done.value for done in outcome.done], sum(done.cpu_s for done in outcome.done))
        if outcome.interrupted:
            raise Interrupted(result)
        return True

    def imprecise(self) -> Iterable[None]:
        if self.precision is None:
            return []
        self.result.is_precise = _precise(self.result.reports, self.precision, self.result.confidence)
        return [] if self.result.is_precise else [None]


def _whole(_: None, report: Report) -> Report:
    return report


def _warmup(scenario: Scenario, engine: str | None, parallel: int, pool: Pool) -> Warmup | None:
    """Return the stated warm-up, or the one that MSER-5 finds in a pilot run; `None`: the pilot run was interrupted.

    The warm-up must be at most half of the run. The pilot run has the seed of the scenario, not the base seed, so that
    a replication that is repeated alone has the same warm-up and the same digest.
    """
    config = scenario.run_config
    if config["warmup"] != "auto":
        return Warmup("stated", _seconds(cast(str, config["warmup"])))
    seed = cast(int, config["seed"])
    duration_s = _seconds(cast(str, config["duration"]))
    for factor in _native.pilot_lengths:
        pilot, sample_ps = scenario.pilot(factor)
        outcome = pool.run([Task(None, pilot, seed, 0.0, engine, parallel)], _whole)
        if not outcome.done:
            return None
        series = outcome.done[0].value.data["series"]
        assert series is not None, "a run with a sample interval has a series"
        end_ps = scenario.native.truncation_ps([float(value) for value in series["in_network_packets"]], sample_ps)
        if end_ps is not None:
            return Warmup("auto", end_ps * 1e-12, factor * duration_s)
    raise RunError(
        f"no steady state was found, even in a pilot run of {factor * duration_s:g} s: the number of packets in the "
        'network keeps drifting. Raise run.duration, or, if the drift is intended, set run.warmup, such as "20s"'
    )


def _precision(config: Mapping[str, object]) -> _Precision | None:
    stated = cast("Mapping[str, object] | None", config.get("precision"))
    if stated is None:
        return None
    return _Precision(
        cast(str, stated["metric"]),
        cast(float, stated["relative"]),
        cast(float, stated["absolute"]),
        cast(int, stated["max-replications"]),
    )


def _precise(reports: Sequence[Report], precision: _Precision, confidence: float) -> bool:
    intervals = {str(e.measure): e.interval for e in estimates([measures(r) for r in reports], confidence)}
    interval = intervals.get(precision.metric)
    # A metric without a value is absent, such as the delay if no packet was delivered; more replications are not run.
    return interval is None or interval.is_precise(precision.relative, precision.absolute)


def _seconds(duration: str) -> float:
    return _native.parse_duration(duration) * 1e-12
