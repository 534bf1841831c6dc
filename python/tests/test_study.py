"""Studies: their files, the choice of points, and the results of their runs."""

from __future__ import annotations

import pickle
import shlex
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from scipy.stats import kstest

import tailback
from tailback import ScenarioError, Study
from tailback.plotting.sweep.figures import figures
from tailback.results.metrics import Measure
from tailback.study.design import points

Cli = Callable[..., Any]

LOSS = Measure("total", "", "loss")

STUDY = """study = 1
title = "Load and buffer"
scenario = "merge.toml"
replications = 3
set = { "run.duration" = "1s" }

[[axes]]
name = "load"
path = "flows[data].source.rate"
values = ["3Mbit/s", "4.5Mbit/s"]

[[axes]]
name = "buffer"
path = "network.buffer"
range = { from = "10kB", to = "40kB", steps = 3, scale = "log" }

[[mechanisms]]
name = "drop"

[[mechanisms]]
name = "stop"
set = { "backpressure.scope" = "plain", "backpressure.end-stations" = true }
"""


@pytest.fixture
def study(merge: Path) -> Path:
    """Return the path of the study `STUDY` next to its scenario."""
    path = merge.with_name("study.toml")
    path.write_text(STUDY)
    return path


def test_a_study_is_a_grid_of_points_for_each_mechanism(study: Path) -> None:
    found = Study.load(study)
    assert [dict(cell.setting) for cell in found.cells[:4]] == [
        {"load": "3Mbit/s", "buffer": "10kB", "mechanism": "drop"},
        {"load": "3Mbit/s", "buffer": "10kB", "mechanism": "stop"},
        {"load": "3Mbit/s", "buffer": "20kB", "mechanism": "drop"},
        {"load": "3Mbit/s", "buffer": "20kB", "mechanism": "stop"},
    ]
    assert len(found.cells) == 12
    last = found.cells[-1].scenario.document
    assert last["run"]["duration"] == "1s"  # type: ignore[call-overload, index]
    assert last["backpressure"]["end-stations"] is True  # type: ignore[call-overload, index]


@pytest.mark.parametrize(
    ("right", "wrong", "line", "message"),
    [
        ("title =", "titel =", 2, "did you mean `title`?"),
        ('values = ["3Mbit/s"', 'values = ["3Mbps"', 10, "Mbit/s"),
        ('"flows[data].source.rate"', '"flows[dat].source.rate"', 9, "did you mean `data`?"),
        ('"backpressure.scope" = "plain"', '"backpressure.scope" = "plian"', 22, "did you mean `plain`?"),
        ('"run.duration" = "1s"', '"run.duratoin" = "1s"', 5, "did you mean `duration`?"),
        ('scenario = "merge.toml"', 'scenario = "absent.toml"', 3, "there is no file"),
        ("replications = 3", 'replications = 3\nuntil = { metric = "los" }', 5, "did you mean `loss`?"),
    ],
)
def test_mistakes_are_shown_in_the_study_file(
    tailback: Cli, study: Path, right: str, wrong: str, line: int, message: str
) -> None:
    assert right in STUDY
    study.write_text(STUDY.replace(right, wrong, 1))
    found = tailback("sweep", study, "--out", study.with_suffix(".sweep"))
    assert found.code == 3, found.err
    assert f"{study}:{line}:" in found.err
    assert message in found.err


def test_validate_reports_the_points_of_a_study_or_its_error_and_schema_describes_studies(
    tailback: Cli, study: Path
) -> None:
    assert tailback("validate", study, "--json").json["points"] == 12
    assert "valid study of 12 points" in tailback("validate", study).out
    assert tailback("schema", "--study").json["properties"]["mechanisms"]
    study.write_text(STUDY.replace("3Mbit/s", "3Mbps", 1))
    assert tailback("validate", study).code == 3


def axis(**table: object) -> dict[str, Any]:
    """Return an axis of the path `x` with the given keys."""
    return {"path": "x", **table}


def between(low: object, high: object, **more: object) -> dict[str, Any]:
    """Return an axis with a range of values, by default linear and with four digits."""
    return axis(range={"from": low, "to": high, "scale": "linear", "digits": 4, **more})


def test_ranges_keep_their_unit_their_ends_and_whole_numbers() -> None:
    def values(table: dict[str, Any]) -> list[object]:
        return [point[0][0] for point in points({"kind": "grid"}, [table])]

    assert values(between("1Mbit/s", "4Mbit/s", steps=3)) == ["1Mbit/s", "2.5Mbit/s", "4Mbit/s"]
    assert values(between("1kB", "1000kB", steps=4, scale="log")) == ["1kB", "10kB", "100kB", "1000kB"]
    assert values(between("100000 B", "300000B", steps=3)) == ["100000 B", "200000B", "300000B"]
    assert values(between(1, 4, steps=3)) == [1, 2, 4]
    assert values(between(0.1, 0.4, steps=4)) == [0.1, 0.2, 0.3, 0.4]
    assert values(between(8, 1, steps=2)) == [8, 1]
    # Ends with different prefixes: 125 · 2^k kB up to 4 MB, rising and falling.
    rising = ["125kB", "250kB", "500kB", "1000kB", "2000kB", "4MB"]
    assert values(between("125kB", "4MB", steps=6, scale="log")) == rising
    assert values(between("4MB", "125kB", steps=3)) == ["4MB", "2.062MB", "125kB"]
    assert values(between("500us", "1.5ms", steps=3)) == ["500us", "1000us", "1.5ms"]
    assert values(between("500kbit/s", "1Mbit/s", steps=3)) == ["500kbit/s", "750kbit/s", "1Mbit/s"]


def test_a_list_pairs_the_values_of_its_axes() -> None:
    chosen = points({"kind": "list"}, [axis(values=["a", "b"]), between(1, 3, steps=2)])
    assert [[value for value, _ in point] for point in chosen] == [["a", 1], ["b", 3]]


def test_a_latin_hypercube_has_one_sample_in_every_slice_of_every_axis() -> None:
    design = {"kind": "latin-hypercube", "samples": 50, "seed": 7}
    found = [[value for value, _ in point] for point in points(design, [between(0.0, 1.0), between("1ms", "51ms")])]
    for values in ([row[0] for row in found], [(float(row[1].removesuffix("ms")) - 1) / 50 for row in found]):
        assert sorted(int(value * 50) for value in values) == list(range(50))
    again = points(design, [between(0.0, 1.0), between("1ms", "51ms")])
    assert [[value for value, _ in point] for point in again] == found
    other = points({**design, "seed": 8}, [between(0.0, 1.0), between("1ms", "51ms")])
    assert [[value for value, _ in point] for point in other] != found


def test_the_command_of_a_failed_run_can_be_pasted_into_a_shell(study: Path) -> None:
    # For a shell, brackets are patterns and spaces are separators; printf prints each of its arguments on a line.
    folder = study.with_name("a folder")
    folder.mkdir()
    for name in ("merge.toml", "study.toml"):
        study.with_name(name).rename(folder / name)
    checked = Study.load(folder / "study.toml")
    words = checked.command(checked.cells[0], 7)
    assert shlex.split(words)[:3] == ["tailback", "run", str(folder / "merge.toml")]
    shells = [shell for shell in ("sh", "bash", "zsh") if shutil.which(shell)]
    assert shells
    for shell in shells:
        printed = subprocess.run(
            [shell, "-c", words.replace("tailback", "printf '%s\\n'", 1)], capture_output=True, text=True, check=True
        ).stdout.splitlines()
        assert printed[:2] == ["run", str(folder / "merge.toml")], shell
        assert 'flows[data].source.rate="3Mbit/s"' in printed, shell


def test_random_draws_are_uniform_along_a_range_and_over_values() -> None:
    design = {"kind": "random", "samples": 2000}
    ranged, listed = between(1.0, 100.0, scale="log", digits=15), axis(values=["a", "b", "c"])
    found = list(points(design, [ranged, listed]))
    import math

    assert kstest([math.log(p[0][0], 100) for p in found], "uniform").pvalue > 1e-3
    # The number of draws of a value is binomial, of mean 2000/3 and variance 2000 · 1/3 · 2/3.
    counts = [sum(p[1][0] == name for p in found) for name in "abc"]
    assert all(abs(n - 2000 / 3) < 5 * math.sqrt(2000 * 2 / 9) for n in counts), counts


def test_points_that_are_drawn_twice_are_run_once(merge: Path) -> None:
    found = tailback.sweep(merge, {"network.buffer": ["10kB", "20kB"]}, design="random", samples=20, replications=1)
    assert len(found.runs) == 2


def test_mechanisms_share_seeds_and_are_compared_by_paired_differences(study: Path) -> None:
    found = tailback.sweep(study)
    assert {run.seed for runs in found.runs.values() for run in runs} == {1, 2, 3}
    offered = Measure("total", "", "offered")
    for contrast in found.differences([offered]):
        assert (contrast.difference.lo, contrast.difference.hi) == (0, 0)
    a, b = (found.runs[("load", "4.5Mbit/s"), ("buffer", "10kB"), ("mechanism", name)] for name in ("drop", "stop"))
    by_hand = [y.measures[LOSS] - x.measures[LOSS] for x, y in zip(a, b, strict=True)]
    contrast = next(c for c in found.differences([LOSS]) if dict(c.point) == {"load": "4.5Mbit/s", "buffer": "10kB"})
    assert contrast.difference.mean == pytest.approx(sum(by_hand) / 3)
    assert contrast.is_significant


def test_replications_are_added_until_the_interval_is_narrow_enough(merge: Path) -> None:
    until = {"metric": "loss", "absolute": 0.01, "relative": 1e-9, "max_replications": 40}
    found = tailback.sweep(merge, {"flows[data].source.rate": ["1Mbit/s", "4.5Mbit/s"]}, replications=2, until=until)
    calm, busy = (found.runs[point] for point in found.runs)
    assert len(calm) == 2
    assert 2 < len(busy) <= 40
    assert found.imprecise == 0
    at = list(found.runs)[1]
    assert found.interval(at, LOSS).half_width <= 0.01
    # A sweep with the busy point's number of replications has the same runs at that point.
    plain = tailback.sweep(merge, {"flows[data].source.rate": ["4.5Mbit/s"]}, replications=len(busy))
    assert plain.runs[at] == busy or [r.digest for r in plain.runs[at]] == [r.digest for r in busy]


def test_until_of_a_difference_adds_replications_to_both_mechanisms_until_the_difference_is_precise(
    study: Path,
) -> None:
    text = STUDY + '\n[until]\nmetric = "loss"\nof = "difference"\nabsolute = 0.02\nrelative = 1e-9\n'
    study.write_text(text)
    found = tailback.sweep(study)
    by_point: dict[object, set[int]] = {}
    for setting, runs in found.runs.items():
        by_point.setdefault(setting[:-1], set()).add(len(runs))
    assert all(len(counts) == 1 for counts in by_point.values()), by_point
    assert found.imprecise == 0
    assert all(c.difference.half_width <= 0.02 for c in found.differences([LOSS]))


def test_the_digest_depends_on_the_replications_and_not_on_the_number_of_threads(merge: Path) -> None:
    axes: dict[str, Any] = {"network.buffer": ["10kB", "20kB"]}
    digests = {tailback.sweep(merge, axes, threads=threads, replications=2).digest for threads in (1, 3)}
    assert len(digests) == 1
    assert tailback.sweep(merge, axes, replications=3).digest not in digests


def test_scenarios_are_pickled_by_value_and_another_version_is_refused(merge: Path) -> None:
    base = tailback.load(merge)
    again = pickle.loads(pickle.dumps(base))
    assert again == base
    assert again.hash == base.hash
    assert pickle.loads(pickle.dumps(base.set(duration="1s"))).hash == base.set(duration="1s").hash
    rebuild, sent = base.__reduce__()
    with pytest.raises(tailback.RunError, match="install the same"):
        rebuild(*sent[:3], "0.0.0", False)  # type: ignore[operator, index]


def test_a_pickled_scenario_whose_trace_has_changed_is_refused(merge: Path) -> None:
    text = merge.read_text().replace(
        'kind = "uniform-uniform", burst = "12kB", rate = "4Mbit/s"',
        'kind = "trace", file = "film.txt", format = "terse-bytes", fps = 25',
    )
    merge.write_text(text)
    film = merge.with_name("film.txt")
    film.write_text("1000\n2000\n")
    scenario = tailback.load(merge).set(duration="1s")
    sent = pickle.dumps(scenario)
    assert pickle.loads(sent).hash == scenario.hash
    film.write_text("1000\n3000\n")
    with pytest.raises(tailback.RunError, match="a file that the scenario names differs"):
        pickle.loads(sent)


def test_figures_show_curves_differences_and_maps(study: Path) -> None:
    grid = tailback.sweep(study)
    titles = [picture.title for picture in figures(grid)]
    assert titles[:2] == ["Means", "Differences from drop"]
    # The scale of the range decides: the values span too little for a logarithmic axis by default.
    assert figures(grid)[0].figure.axes[0].get_xscale() == "log"
    assert [title for title in titles if title.startswith("Map of")] == [
        "Map of loss (%)",
        "Map of delay (ms)",
        "Map of delay p99 (ms)",
        "Map of throughput (Mbit/s)",
    ]
    drawn = tailback.sweep(
        study.with_name("merge.toml"),
        {
            "network.buffer": {"from": "10kB", "to": "40kB"},
            "flows[data].source.rate": {"from": "3Mbit/s", "to": "4Mbit/s"},
        },
        design="latin-hypercube",
        samples=4,
        replications=2,
    )
    clouds, plane = figures(drawn)
    assert len(clouds.figure.axes) == 8
    assert plane.title == "Map of buffer and rate"
    assert figures(tailback.sweep(study.with_name("merge.toml"), {}, replications=1)) == []


def test_an_automatic_warm_up_an_unknown_setting_and_axes_of_a_study_are_refused(merge: Path) -> None:
    with pytest.raises(tailback.UsageError, match=r"stated run\.warmup"):
        tailback.sweep(merge, {"network.buffer": ["10kB"]}, fixed={"run.warmup": "auto"})
    with pytest.raises(ScenarioError, match="nonsense"):
        tailback.sweep(merge, {"run.nonsense": [1]})
    with pytest.raises(tailback.UsageError, match="itself"):
        tailback.sweep(Study.make(tailback.load(merge), {}), {"network.buffer": ["10kB"]})
