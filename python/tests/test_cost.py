"""Estimates of the time that runs take: the arithmetic, with a simulated clock and simulator, and the commands."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tailback.errors import Cancelled, RunError
from tailback.run import cost as costs
from tailback.run.cost import replication_cost, spoken, spread


class _Core:
    """Simulated clock and simulator. A run takes `build` seconds, and then `steps[i]` seconds for each equal part `i`.

    If `fails`, the run fails after its first part. Unless `moves`, it reports no progress.
    """

    user_languages = ()
    run_config = {"seed": 7}  # noqa: RUF012

    def __init__(self, build: float, steps: list[float], fails: bool = False, moves: bool = True) -> None:
        self.now, self.build, self.steps = 100.0, build, steps
        self.fails, self.moves = fails, moves
        self.native = self
        self.seeds: list[int] = []

    def made(self) -> _Core:
        return self

    def run(self, seed: int, cancel: Any, progress: Callable[[float], None], *_: object) -> str:
        self.seeds.append(seed)
        self.now += self.build
        for number, step in enumerate(self.steps):
            self.now += step
            progress((number + 1) / len(self.steps) if self.moves else 0.0)
            if cancel.cancelled:
                raise Cancelled
            if self.fails:
                raise RuntimeError("it burst")
        return "{}"


def _cost(core: _Core, monkeypatch: pytest.MonkeyPatch, trial_s: float = 1.0) -> costs.Cost:
    """Return the estimate of a trial of `trial_s` seconds on the simulated clock."""
    monkeypatch.setattr(costs.time, "thread_time", lambda: core.now)
    return replication_cost(core, trial_s=trial_s)  # type: ignore[arg-type]


def test_the_remainder_of_a_run_is_estimated_at_the_speed_of_the_second_half_of_the_trial(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Building takes 5 s, the first 5 of 100 parts 0.1 s each, the others 0.3 s each. The first report of progress is at
    # 5.1 s. The trial of 2 s ends with the first part that is done after 7.1 s: after 4 more parts of 0.1 s and 6 of
    # 0.3 s, at 7.3 s, when 11 parts are done. In the second half of the trial a part takes 0.3 s, so the estimate is
    # 7.3 + 89 * 0.3 = 34.0 s. The whole run would take 5 + 5 * 0.1 + 95 * 0.3 = 34.0 s.
    found = _cost(_Core(5.0, [0.1] * 5 + [0.3] * 95), monkeypatch, trial_s=2.0)
    assert found.tried == pytest.approx(0.11)
    assert found.cpu_s == pytest.approx(34.0)


def test_a_run_that_ends_within_the_trial_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    assert _cost(_Core(0.25, [0.01] * 10), monkeypatch) == costs.Cost(pytest.approx(0.35), 1.0)


def test_a_run_without_progress_has_an_infinite_estimate(monkeypatch: pytest.MonkeyPatch) -> None:
    assert _cost(_Core(0.0, [1.0] * 4, moves=False), monkeypatch).cpu_s == math.inf


def test_a_failed_trial_is_an_error_with_its_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(RunError, match="the trial with seed 7 failed: it burst"):
        _cost(_Core(0.0, [0.1] * 3, fails=True), monkeypatch)


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0.0123, "0.012 s"),
        (89.0, "89 s"),
        (90.0, "1.5 min"),
        (5400.0, "1.5 h"),
        (864_000.0, "10 days"),
        (math.inf, "an unknown time"),
    ],
)
def test_durations_are_shown_in_a_suitable_unit(seconds: float, words: str) -> None:
    assert spoken(seconds).startswith(words)


def test_trials_of_a_sweep_are_spread_over_its_points() -> None:
    assert list(spread(3, 12)) == [0, 1, 2]
    assert list(spread(101, 5)) == [0, 25, 50, 75, 100]


def test_run_with_estimate_prints_the_estimate_and_writes_no_results(
    tailback: Callable[..., Any], merge: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    done = tailback("run", merge, "--estimate", "--reps", 7, "--threads", 2, "--out", out)
    assert done.code == 0
    assert "one replication: about" in done.out
    assert "7 replications on 2 threads: about" in done.out
    # A short run takes less time than the start of the program and the figures.
    assert "not included: start of the program, tables and figures" in done.out
    assert not out.exists()


def test_the_estimate_of_a_sweep_counts_replications_at_all_points(
    tailback: Callable[..., Any], merge: Path, tmp_path: Path
) -> None:
    out, axis = tmp_path / "s", "network.buffer=[20kB, 40kB, 60kB]"
    done = tailback("sweep", merge, "--set", axis, "--reps", 4, "--estimate", "--json", "--threads", 1, "--out", out)
    assert done.code == 0, done.err
    assert (done.json["replications"], done.json["threads"], len(done.json["trials"])) == (12, 1, 3)
    mean = sum(trial["cpu_s"] for trial in done.json["trials"]) / 3
    assert done.json["seconds"] == pytest.approx(12 * mean)
    assert not out.exists()
