"""Doubts about intervals: their theory, the warning, and the trial of the intervals (validation/intervals)."""

from __future__ import annotations

import importlib
import json
import math
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from scipy import stats

import tailback as tb
from tailback.results.coverage import RATIOS, Doubt, Kind, doubts, skewness_limit
from tailback.results.metrics import Measure, measures
from tailback.results.warnings import doubtful_intervals

ROOT = Path(__file__).parents[2]
MERGE = Path(__file__).parent / "merge.toml"


@pytest.fixture
def trial(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(ROOT / "validation" / "intervals"))
    return importlib.import_module("coverage")


def ratio(load: float, reward: np.ndarray) -> float:
    """Return skewness over coefficient of variation of the integral of a reward over a long time in M/M/1.

    The reward is a function of the number in the system, 0 to the length of the array. With the generator Q and centred
    g the cumulants per time are c1 = E f, c2 = 2 E[f g1] and c3 = 6 E[f g2], where Q g1 = c1 - f and Q g2 = c2/2 -
    (f - c1) g1. In a birth-and-death process the differences of g follow from the sums of the right side up to a state.
    """
    share = load ** np.arange(len(reward))
    share /= share.sum()

    def solve(right: np.ndarray) -> np.ndarray:
        steps = np.cumsum(share * right)[:-1] / (load * share[:-1])
        found = np.concatenate([[0.0], np.cumsum(steps)])
        return found - share @ found

    c1 = share @ reward
    centred = reward - c1
    g1 = solve(-centred)
    c2 = 2 * share @ (centred * g1)
    g2 = solve(c2 / 2 - centred * g1)
    c3 = 6 * share @ (centred * g2)
    return float(c3 * c1 / c2**2)


def test_the_ratios_are_those_of_a_queue_with_a_load_near_1() -> None:
    number = np.arange(3500.0)
    assert ratio(0.99, number) == pytest.approx(RATIOS["mean"], rel=0.01)
    # At a low load the mean is less skewed: 5.25 at 0.5, by the same sums.
    assert ratio(0.5, np.arange(60.0)) == pytest.approx(5.25, rel=1e-6)
    # ln 0.01 / ln 0.99 = 458: 1 % of the time more are in the system.
    assert ratio(0.99, (number > 458).astype(float)) == pytest.approx(RATIOS["quantile"], rel=0.01)
    # Moments of a geometric number with mean 1000, success 0.001: m2 = (2 - p)/p^2, m3 = (p^2 - 6p + 6)/p^3.
    p = 0.001
    assert (p * p - 6 * p + 6) / p**3 / p / ((2 - p) / p**2) ** 2 == pytest.approx(RATIOS["events"], rel=0.01)


def clustered(generator: np.random.Generator, power: float, skewness: float, n: int, samples: int) -> np.ndarray:
    """Return samples of n sums of a Poisson number of exponential variables to a power, minus their mean."""
    first, second, third = (math.gamma(1 + k * power) for k in (1, 2, 3))
    # The cumulants are those moments times the mean number.
    number = (third / second**1.5 / skewness) ** 2
    counts = generator.poisson(number, samples * n)
    clusters = generator.exponential(size=counts.sum()) ** power
    owners = np.repeat(np.arange(samples * n), counts)
    sums = np.bincount(owners, weights=clusters, minlength=samples * n)
    return sums.reshape(samples, n) - number * first


@pytest.mark.parametrize("n", [3, 5, 10, 20])
@pytest.mark.parametrize(("kind", "power"), [("events", 1.0), ("mean", 2.7)])
def test_at_the_limit_the_interval_of_clustered_variables_covers_their_mean_in_93_percent_of_cases(
    n: int, kind: Kind, power: float
) -> None:
    drawn = clustered(np.random.default_rng(1), power, skewness_limit(kind, n), n, 20_000)
    half = stats.t.ppf(0.975, n - 1) * drawn.std(axis=1, ddof=1) / math.sqrt(n)
    covered = float(np.mean(np.abs(drawn.mean(axis=1)) <= half))
    # Twenty thousand samples have a standard error of 0.18 %.
    assert 0.925 <= covered <= 0.945


def group(metric: str) -> Measure:
    return Measure("group", "data", metric)


def rows(**values: list[float]) -> list[dict[Measure, float]]:
    """Return the measures of replications from the values of each metric."""
    return [{group(key): one[k] for key, one in values.items()} for k in range(3)]


def test_doubts_are_those_calculated_by_hand() -> None:
    # Three values have a limit of sqrt(0.09 * 10) = 0.949. Mean 2 and s = 1: 1.5 * 1/2 = 0.75; mean 1 and s = 1: 1.5.
    assert doubts(rows(loss=[0.01, 0.02, 0.03])) == []
    [doubt] = doubts(rows(loss=[0.0, 0.01, 0.02]))
    assert (doubt.measure, doubt.n) == (group("loss"), 3)
    assert doubt.skewness == pytest.approx(1.5)
    # A skewness falls with the square root of the length: (1.5/0.949)^2 = 2.25/0.9.
    assert doubt.longer == pytest.approx(2.5)
    # Times have a limit of sqrt(0.15 * 10) = 1.22.
    # A 99th percentile that is 36.05 above the mean is that of an exponential wait with mean 10: s = 1 is a tenth, and
    # 7.5 a tenth is 0.75. With 18.03 the mean wait is 5: 1.5. That the mean is large by propagation changes nothing.
    tail = math.log(100) - 1
    assert doubts(rows(delay=[1000.0, 1001.0, 1002.0], delay_p99=[1001 + 10 * tail] * 3)) == []
    [doubt] = doubts(rows(delay=[1000.0, 1001.0, 1002.0], delay_p99=[1001 + 5 * tail] * 3))
    assert (doubt.measure, doubt.skewness) == (group("delay"), pytest.approx(1.5))
    # Quantiles have a limit of sqrt(0.12 * 10) = 1.095. s = 8 is 0.8 of a mean wait of 10: 1.875 * 0.8 = 1.5; s = 5 has
    # 0.9375.
    assert doubts(rows(response=[100.0] * 3, response_p99=[10 * tail + x for x in (95.0, 100.0, 105.0)])) == []
    high = [10 * tail + 100 + step for step in (-8.0, 0.0, 8.0)]
    [doubt] = doubts(rows(response=[100.0] * 3, response_p99=high))
    assert (doubt.measure, doubt.skewness) == (group("response_p99"), pytest.approx(1.5))
    # The delays of a transport are regulated by it, unlike its completion times.
    assert doubts(rows(delay=[4.0, 5.0, 6.0], goodput=[1.0, 1.0, 1.0])) == []
    # Three values, of which the largest is called the 99th percentile: s = 1 of the mean of 5 is 1.5, and there is no
    # doubt about a percentile.
    few = rows(completion=[4.0, 5.0, 6.0], completion_p99=[5.0, 6.0, 7.0])
    assert [doubt.skewness for doubt in doubts(few, {group("completion")})] == pytest.approx([1.5])
    # Without the quantile the whole mean counts as wait: s = 1 of 5 is 7.5 / 5.
    [doubt] = doubts(rows(completion=[4.0, 5.0, 6.0]))
    assert doubt.skewness == pytest.approx(1.5)


def test_there_is_no_doubt_about_equal_values_single_replications_other_metrics_and_repeated_groups() -> None:
    assert doubts(rows(loss=[0.0, 0.0, 0.0], delay=[1.0, 1.0, 1.0])) == []
    assert doubts(rows(loss=[0.0, 0.01, 0.02])[:1]) == []
    assert doubts(rows(throughput=[0.0, 1.0, 50.0], jain=[0.1, 0.5, 1.0])) == []
    alike = [{Measure("total", "", "loss"): x, Measure("class", "0", "loss"): x, group("loss"): x} for x in (0, 1, 2)]
    assert [doubt.measure for doubt in doubts(alike)] == [group("loss")]
    more = [{**row, Measure("group", "other", "loss"): 1.0} for row in alike]
    assert [doubt.measure.scope for doubt in doubts(more)] == ["total", "group"]


def test_the_warning_names_the_worst_measures_and_the_length_that_is_needed() -> None:
    # (3/1.04)^2 = 8.3.
    found = [Doubt(group(metric), 5, skewness, 1.04) for metric, skewness in (("loss", 1.2), ("delay", 3.0))]
    [warning] = doubtful_intervals(found)
    assert warning.name == "doubtful-interval"
    assert "intervals of `delay[data]`, `loss[data]`: their values have an estimated skewness of 3," in warning.message
    assert "about 9 times as long" in (warning.suggestion or "")
    many = [Doubt(Measure("group", name, "loss"), 5, 2.0, 1.04) for name in "abcde"]
    assert "`loss[c]` and 2 more" in doubtful_intervals(many)[0].message
    assert doubtful_intervals(found, {"doubtful-interval"}) == []
    assert doubtful_intervals([]) == []


def test_a_run_with_short_replications_warns_and_can_accept_it() -> None:
    # Loss of about 3 % in bursts, in a tenth of a second.
    scenario = tb.load(MERGE).set(duration="200ms", warmup="100ms")
    found = tb.run(scenario, replications=5, threads=1)
    assert "doubtful-interval" in [warning.name for warning in found.warnings]
    assert group("delay") in [doubt.measure for doubt in found.doubts()]
    silent = tb.run(scenario.set(accept=["doubtful-interval"]), replications=5, threads=1)
    assert silent.digest == found.digest
    assert "doubtful-interval" not in [warning.name for warning in silent.warnings]


def test_the_closed_forms_of_the_trial_are_those_calculated_by_hand(trial: ModuleType) -> None:
    del trial
    systems = importlib.import_module("systems")
    # 1 + 1/2 + 1/4 states, of which the last loses.
    assert systems.mm1k_loss(0.5, 2) == pytest.approx(0.25 / 1.75)
    assert systems.mm1k_loss(1.0, 4) == pytest.approx(0.2)
    # 1/(1 - 0.8) = 5, and e^-4.60517 = 1 %.
    assert systems.mm1_sojourn(0.8, 1.0) == pytest.approx(5.0)
    assert systems.mm1_quantile(0.8, 1.0, 0.99) == pytest.approx(23.02585)
    # (1 + 2 + 3 + 4)^2 / (4 * (1 + 4 + 9 + 16)).
    assert systems.jain((1, 2, 3, 4)) == pytest.approx(100 / 120)


def small(trial: ModuleType, warmup: str) -> object:
    """Return the setting of the shortest runs."""
    return next(one for one in trial.settings("^mm1-0.5-short") if one.warmup == warmup)


def test_studies_share_no_seed_and_smaller_ones_are_runs_with_fewer_replications(trial: ModuleType) -> None:
    studies = importlib.import_module("studies")
    seeds = [studies.seed_of(study) + k for study in range(1000) for k in range(studies.REPLICATIONS)]
    assert len(set(seeds)) == 10_000
    assert max(seeds) < studies._LONG_SEED
    setting = small(trial, "auto")
    kept = studies.simulate(setting, 7)
    run = tb.run(setting.scenario(71), replications=3, threads=1)
    expected = [{key: measures(report)[key] for key in studies.wanted(setting.system)} for report in run.reports]
    assert kept[:3] == expected
    # The warning of the table is that of the run.
    for slug in ("^mm1-0.8-short-given", "^mm110-0.5-short-given", "^tcp-0.8-short-given"):
        [setting] = trial.settings(slug)
        run = tb.run(setting.scenario(71), replications=3, threads=1)
        under_trial = studies.wanted(setting.system)
        warned = [doubt for doubt in run.doubts() if doubt.measure in under_trial]
        assert warned == doubts(studies.simulate(setting, 7)[:3])


def test_interrupted_studies_are_continued(trial: ModuleType, tmp_path: Path) -> None:
    studies = importlib.import_module("studies")
    setting = small(trial, "given")
    store = studies.Store(tmp_path, setting)
    assert list(store.complete(3)) == [1, 2, 3]
    whole = store.path.read_text()
    # The end of the last line is missing, as after an end of the program while it was written.
    store.path.write_text(whole[:-5])
    again = studies.Store(tmp_path, setting)
    assert len(again.studies) == 2
    assert list(again.complete(3)) == [3]
    assert again.path.read_text() == whole
    assert again.studies == store.studies
    # A file of another version is begun anew.
    store.path.write_text(whole.replace(tb.__version__, "0.0.0"))
    assert studies.Store(tmp_path, setting).studies == []


def test_a_cell_counts_covered_missed_and_refused_studies(trial: ModuleType) -> None:
    cells = importlib.import_module("cells")
    setting = small(trial, "auto")
    delay = next(metric.measure for metric in setting.system.metrics if metric.name == "mean")

    def study(*values: float) -> list[dict[Measure, float]]:
        return [{delay: value} for value in values * 4][:10]

    # With a true mean of 2 the interval of (1, 2, 3) contains it, that of (1, 1.001, 1.002) is below, and that of equal
    # values has no width.
    done = [study(1.0, 2.0, 3.0), study(1.0, 1.001, 1.002), study(5.0), None]
    truths = [cells.Truth("M/M/1", name, 0.5, 2.0, True, 2.0, 2.0) for name in ("mean", "p99")]
    found = cells.count(setting, done, truths)
    cell = next(one for one in found if (one.metric, one.replications) == ("mean", 3))
    assert (cell.studies, cell.refused, cell.covered, cell.below, cell.without) == (3, 1, 1, 1, 1)
    # s = 1 of a mean of 2, which counts as wait since there is no quantile: 3.75; the others have far less.
    assert cell.warned == 1
    assert cell.is_outside
    assert not cell.fires


def test_a_coverage_of_93_and_97_percent_is_inside(trial: ModuleType) -> None:
    del trial
    cells = importlib.import_module("cells")

    def cell(covered: int, warned: int) -> bool:
        made = cells.Cell("M/M/1", "mean", 0.5, "short", "given", 3, 1000, 0, covered, 0, 0, warned)
        assert made.fires == (warned > 500)
        return bool(made.is_outside)

    assert [cell(covered, 500) for covered in (929, 930, 970, 971)] == [True, False, False, True]
    assert not cell(950, 501)


def test_the_page_has_the_tables_of_the_recorded_counts(trial: ModuleType) -> None:
    record = json.loads(trial.RECORDED.read_text())
    cells, table = importlib.import_module("cells"), importlib.import_module("table")
    known = [cells.Truth(**row) for row in record["truths"]]
    text = table.markdown(known, [cells.Cell(**row) for row in record["cells"]])
    page = (ROOT / "docs" / "statistics.md").read_text()
    assert page.partition(trial.BEGIN)[2].partition(trial.END)[0] == f"\n\n{text}\n"
    # The simulated queues are those of the closed forms: within three half-widths of the long runs' 95 % intervals.
    for truth in known:
        middle, half = (truth.lo + truth.hi) / 2, (truth.hi - truth.lo) / 2
        assert abs(truth.value - middle) <= 3 * half
        assert half < 0.02 * truth.value or (truth.metric, truth.load) == ("loss", 0.5)
