"""Experiments of the gallery: replications, digests, claims, reports and the selection of experiments."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterable
from html import escape
from html.parser import HTMLParser
from pathlib import Path
from typing import ClassVar

import pytest
from reports import shown

from tailback.errors import UsageError
from tailback.gallery.registry import EVERY, EXPERIMENTS, GROUPS, ON_REQUEST, experiment, select
from tailback.plotting import experiment as figures
from tailback.reproduction import provenance
from tailback.reproduction.provenance import digest
from tailback.reproduction.reproduce import reproduce
from tailback.results import observables as m
from tailback.run.pool import Pool
from tailback.scenario import Scenario
from tailback.study.experiment import (
    Axis,
    Claim,
    Experiment,
    Figure,
    Observable,
    Point,
    Profile,
    Results,
    Settings,
    grid,
)
from tailback.study.experiment.claims import Kind
from tailback.study.experiment.design import HOPS_PER_CPU_S
from tailback.study.experiment.runner import plan, run

PAGE = """# Small

A page with a | pipe and `code`, and links to [itself](../lan_small/README.md),
[another](../merging_traffic/README.md#notice), [a file](../../../docs/x.md), [a heading](#notice) and [the web](https://example.org/).
"""
MERGE = Path(__file__).with_name("merge.toml").read_text()


def wait_until_busy(pid: int, cpu_s: float) -> None:
    """Wait until a child has used the given processor time, however slow the machine is."""
    ticks = os.sysconf("SC_CLK_TCK")
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        if (int(fields[11]) + int(fields[12])) / ticks >= cpu_s:
            return
        time.sleep(0.05)


class Small(Experiment):
    """Small experiment that runs in about a second."""

    id = "lan-small"
    title = "Small"
    reference = "nowhere"
    axes = (Axis("mechanism", "mechanism"), Axis("rate", "rate", "Mbit/s"))
    quick = Profile(duration="1s", warmup="100ms", replications=3, max_replications=9, cpu_s=5)
    full = Profile(duration="1s", warmup="100ms", replications=3, max_replications=9, cpu_s=5)
    metrics: ClassVar[tuple[Observable, ...]] = (
        m.loss(),
        m.mean_delay(),
        m.throughput(),
        m.offered(),
        m.max_queue("sw->d"),
    )
    traces: ClassVar = {"digest": lambda report: report.digest}

    @property
    def folder(self) -> str:
        return "lan_small"

    def points(self, profile: str) -> Iterable[Point]:
        del profile
        return grid(mechanism=("none", "plain"), rate=(1, 4))

    def settings(self, point: Point, profile: str) -> Settings:
        del profile
        return {"backpressure.scope": point["mechanism"], "flows[data].source.rate": f"{point['rate']}Mbit/s"}

    def claims(self, results: Results) -> Iterable[Claim]:
        none = results.where(mechanism="none")
        loss = none.where(rate=4)["loss"]
        yield Claim("C1", "Something is lost at 4 Mbit/s.", "made up", loss > 0, headline="<lost>")
        yield Claim("C2", "Hard to say: about as much as it is.", "made up", loss <= 4.4)
        yield Claim.comparison("C3", "The delay is shown.", "made up", none["delay"], "only shown <here>")

    def figures(self, results: Results) -> Iterable[Figure]:
        by_mechanism = {name: results.where(mechanism=name)["loss"] for name in ("none", "plain")}
        yield figures.both_views(results["loss"], "both", "Loss", x="rate", curves="mechanism", claims=("C1",))
        yield figures.compare(by_mechanism, "compare", "Loss", x="rate", y_scale="symlog")
        yield figures.panels({"loss": results["loss"]}, "panels", "Loss", x="rate", curves="mechanism")
        yield figures.traces({"saw": ([0.0, 1.0], [1.0, 2.0])}, "traces", "Saw", y="queue (kB)", levels={"high": 1.5})

    def read(self, name: str) -> str:
        return MERGE if name == "scenario.toml" else PAGE


def test_undecided_points_get_replications_and_others_do_not() -> None:
    with Pool() as pool:
        trial = run(Small(), "quick", pool)
    counts = {point: len(samples) for point, samples in trial.samples.items()}
    hard = Point(mechanism="none", rate=4)
    assert counts[hard] > 3
    assert all(n == 3 for point, n in counts.items() if point != hard)
    assert [s.seed for s in trial.samples[hard]] == list(range(1, counts[hard] + 1))


def test_asserted_claims_get_replications_before_unasserted_ones() -> None:
    hard, miss = Point(mechanism="none", rate=4), Point(mechanism="plain", rate=4)

    class Both(Small):
        def claims(self, results: Results) -> Iterable[Claim]:
            delay = results.where(mechanism="plain", rate=4)["delay"]
            # An interval always includes its own mean, so that this claim stays undecided.
            ((_, found),) = delay.intervals()
            yield Claim.unasserted("C1", "Below what it is.", "made up", delay <= found.mean, "a known miss")
            yield Claim("C2", "About as much as it is.", "made up", results.where(**hard)["loss"] <= 4.4)

    with Pool() as pool:
        whole = run(Both(), "quick", pool)
        first = sum(sample.packet_hops for samples in whole.samples.values() for sample in samples[:3])
        further = sum(sample.packet_hops for sample in whole.samples[hard][3:5])
        # A CPU budget for three replications of each point and two more of the hard one.
        enough = Profile("1s", "100ms", 3, 9, cpu_s=(first + further) / HOPS_PER_CPU_S + 1e-4)
        Both.quick = enough
        short = run(Both(), "quick", pool)
    assert len(whole.samples[miss]) == 9
    assert (len(short.samples[hard]), len(short.samples[miss])) == (5, 3)


def test_a_point_that_is_run_alone_by_settings_has_the_same_digest() -> None:
    with Pool() as pool:
        trial = run(Small(), "quick", pool)
    sample = trial.samples[Point(mechanism="plain", rate=4)][2]
    settings = {"run.duration": "1s", "run.warmup": "100ms", "backpressure.scope": "plain"}
    alone = Scenario.from_toml(MERGE).set(settings | {"flows[data].source.rate": "4Mbit/s"}).native.run(sample.seed)
    assert json.loads(alone)["digest"] == sample.digest
    assert trial.results.trace("digest", mechanism="plain", rate=4) == trial.samples[sample.point][0].digest


def test_seeds_count_up_from_the_base_seed_at_every_point() -> None:
    with Pool() as pool:
        trial = run(Small(), "quick", pool, seed=3_000_000)
        usual = run(Small(), "quick", pool)
    for point, samples in trial.samples.items():
        assert [s.seed for s in samples] == list(range(3_000_000, 3_000_000 + len(samples)))
        assert not {s.digest for s in samples} & {s.digest for s in usual.samples[point]}


def test_the_seed_option_reaches_every_experiment_and_is_in_the_json(
    tailback,  # type: ignore[no-untyped-def]
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    import polars as pl

    class Other(Small):
        id = "lan-other"

    monkeypatch.setattr("tailback.gallery.registry.select", lambda _: [Small(), Other()])
    found = tailback("reproduce", "all", "--seed", 7_000_000, "--out", tmp_path, "--json")
    assert found.json["seed"] == 7_000_000
    assert [shape["seed"] for shape in found.json["experiments"]] == [7_000_000, 7_000_000]
    assert tailback("reproduce", "all", "--out", tmp_path / "own", "--json").json["seed"] is None
    for name in ("lan-small", "lan-other"):
        samples = pl.read_parquet(tmp_path / name / "samples.parquet")
        assert (samples["seed"] == 7_000_000 + samples["replication"]).all()


@pytest.mark.parametrize("seed", ["-1", str(2**63 - 1), "many"])
def test_an_invalid_base_seed_is_refused(
    tailback,  # type: ignore[no-untyped-def]
    tmp_path: Path,
    seed: str,
) -> None:
    refused = tailback("reproduce", "lan-a1", "--seed", seed, "--out", tmp_path / "out")
    assert refused.code == 2
    assert seed in refused.err
    assert not (tmp_path / "out").exists()


def test_a_spent_budget_gives_the_same_replications_with_one_and_three_threads() -> None:
    class Poor(Small):
        quick = Profile(duration="1s", warmup="100ms", replications=3, max_replications=99, cpu_s=0.004)

    counts = []
    for threads in (1, 3):
        with Pool(threads) as pool:
            trial = run(Poor(), "quick", pool)
        counts.append([len(samples) for samples in trial.samples.values()])
        # The budget may be exceeded slightly, since the cost of a further replication is only estimated.
        assert trial.packet_hops <= 0.004 * HOPS_PER_CPU_S * 1.1
    assert counts[0] == counts[1]
    assert max(counts[0]) > 3


def test_the_profile_full_adds_replications_to_imprecise_points_of_decided_claims() -> None:
    class Decided(Small):
        full = Profile(duration="1s", warmup="100ms", replications=3, max_replications=6, cpu_s=5)

        def claims(self, results: Results) -> Iterable[Claim]:
            yield Claim("C1", "Something is sent.", "made up", results["offered"] > 0)

    with Pool() as pool:
        trial = run(Decided(), "full", pool)
    assert trial.replications[1] > 3
    assert trial.imprecise > 0


def test_only_chosen_points_are_run() -> None:
    point = Point(mechanism="none", rate=1)
    with Pool() as pool:
        trial = run(Small(), "quick", pool, only={point})
    assert [p for p, samples in trial.samples.items() if samples] == [point]


class _Outside(HTMLParser):
    """Parser that collects the external resources, internal links and ids of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self.inside: list[str] = []
        self.ids: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        del tag
        self.found += [v for k, v in attrs if k in ("src", "href") and v and not v.startswith(("data:", "#"))]
        self.inside += [v[1:] for k, v in attrs if k == "href" and v and v.startswith("#")]
        self.ids |= {v for k, v in attrs if k == "id" and v}


def test_the_report_loads_nothing_external_shows_every_claim_and_is_reproducible(tmp_path: Path) -> None:
    pages = []
    for out in ("a", "b"):
        found = reproduce([Small()], "quick", tmp_path / out)
        pages.append(shown((tmp_path / out / "report.html").read_text()))
        for name in ("both", "compare", "panels", "traces"):
            assert (tmp_path / out / "lan-small" / f"{name}.svg").stat().st_size > 1000
            assert (tmp_path / out / "lan-small" / f"{name}.png").exists()
    assert pages[0] == pages[1]
    parser = _Outside()
    parser.feed(pages[0])
    assert parser.found == ["report-static.html", "https://example.org/"]
    assert "lan-small" in parser.inside
    assert set(parser.inside) <= parser.ids
    for text in (
        "another",
        "a file",
        "a heading",
        "Something is lost",
        "undecided",
        "only shown &lt;here&gt;",
        "n = ",
        "<code>code</code>",
    ):
        assert text in pages[0], text
    # Headlines of the sources come first, then the verdicts, then the counts that decide the exit code.
    order = [
        pages[0].index(text) for text in ("Headlines", "&lt;lost&gt;", "Verdicts by experiment", "that are asserted")
    ]
    assert order == sorted(order)
    (shape,) = found.as_json()["experiments"]  # type: ignore[misc]
    origin = shape["provenance"]
    assert origin["command"] == "tailback reproduce lan-small --quick"
    # Once at the experiment and once at each figure.
    places = 1 + len(shape["figures"])
    assert pages[0].count(origin["digest"]) == pages[0].count(f"<code>{origin['command']}</code>") == places >= 5
    assert origin["digest"].encode() in (tmp_path / "a" / "lan-small" / "both.svg").read_bytes()
    (line,) = found.as_json()["headlines"]  # type: ignore[misc]
    assert (line["experiment"], line["claim"], line["source"], line["verdict"]) == (
        "lan-small",
        "C1",
        "<lost>",
        "reproduced",
    )
    assert {"id", "claims", "figures"} <= set(shape)
    for claim in shape["claims"]:
        assert {"text", "source", "expected", "measured", "pass"} <= set(claim)
        assert set(claim["measured"]) == {"mean", "lo", "hi", "n", "unit"}
        assert claim["pass"] is not None or claim["why"]
        assert len(claim["checks"]) == claim["points"]
        for check in claim["checks"]:
            assert check["at"] or claim["points"] == 1
            if claim["points"] > 1:
                assert f"<td>{escape(check['at'])}</td>" in pages[0]
    assert json.loads((tmp_path / "a" / "results.json").read_text()) == found.as_json()


def test_the_digest_of_an_experiment_is_that_of_its_runs_in_order() -> None:
    with Pool() as pool:
        trial = run(Small(), "quick", pool)
    first = digest(trial)
    point = Point(mechanism="none", rate=1)
    samples = trial.samples[point]
    trial.samples[point] = samples[:-1]
    shorter = digest(trial)
    trial.samples[point] = [samples[1], samples[0], *samples[2:]]
    assert len({first, shorter, digest(trial)}) == 3
    trial.samples[point] = samples
    assert digest(trial) == first
    assert re.fullmatch(r"tb2e:[0-9a-f]{32}", first)


def test_the_commit_ends_with_a_plus_if_the_sources_differ_from_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    module = tmp_path / "python" / "tailback" / "reproduction" / "provenance.py"
    module.parent.mkdir(parents=True)
    module.touch()
    (tmp_path / "Cargo.lock").touch()
    monkeypatch.setattr(provenance, "__file__", str(module))

    def git(*arguments: str) -> str:
        identity = ("-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false")
        done = subprocess.run(["git", *identity, *arguments], cwd=tmp_path, check=True, capture_output=True, text=True)
        return done.stdout.strip()

    def named() -> str:
        provenance.commit.cache_clear()
        return provenance.commit()

    try:
        assert named() == ""
        git("init")
        git("add", ".")
        git("commit", "-m", "all")
        head = git("rev-parse", "HEAD")
        assert named() == head
        # A changed README does not count as changed sources; a changed module does.
        (tmp_path / "README.md").write_text("new")
        assert named() == head
        module.write_text("new = 1")
        assert named() == f"{head}+"
    finally:
        provenance.commit.cache_clear()


def test_a_failed_claim_gives_exit_code_5_and_an_undecided_one_does_not(
    tailback,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,  # type: ignore[no-untyped-def]
) -> None:
    class Failing(Small):
        def claims(self, results: Results) -> Iterable[Claim]:
            yield Claim("C1", "Nothing is sent.", "made up", results["offered"] <= 0)

    registry = "tailback.gallery.registry.select"
    monkeypatch.setattr(registry, lambda _: [Small()])
    assert tailback("reproduce", "all", "--out", tmp_path).code == 0
    monkeypatch.setattr(registry, lambda _: [Failing()])
    failed = tailback("reproduce", "all", "--out", tmp_path, "--json")
    assert failed.code == 5
    assert failed.json["summary"]["fail"] == 1
    assert failed.json["experiments"][0]["claims"][0]["pass"] is False


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc to see that a child is at work")
def test_ctrl_c_during_reproduce_writes_the_report_and_exits_with_130(tmp_path: Path) -> None:
    out = tmp_path / "out"
    child = subprocess.Popen(
        [sys.executable, "-m", "tailback", "reproduce", "lan-a1", "--full", "--out", str(out), "-q"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    wait_until_busy(child.pid, 3)
    child.send_signal(signal.SIGINT)
    _, err = child.communicate(timeout=120)
    assert child.returncode == 130, err
    assert "Traceback" not in err
    report = shown((out / "report.html").read_text())
    assert "Interrupted" in report or "<tbody></tbody>" in report


def test_experiments_are_selected_by_id_group_or_all() -> None:
    assert [e.id for e in select("lan-a1")] == ["lan-a1"]
    assert [e.id for e in select("all")] == list(EXPERIMENTS)
    assert {e.group for e in select("lan")} == {"lan"}
    assert all(id.split("-")[0] in GROUPS for id in EVERY)  # noqa: A001


def test_experiments_on_request_are_selected_by_id_only() -> None:
    assert not set(ON_REQUEST) & set(EXPERIMENTS)
    for id in ON_REQUEST:  # noqa: A001
        assert [e.id for e in select(id)] == [id]
        assert id not in {e.id for what in ("all", *GROUPS) for e in select(what)}
    with pytest.raises(UsageError, match="did you mean internet-1999"):
        select("internet-199")


@pytest.mark.parametrize("id", EVERY)
def test_every_experiment_has_unique_names_valid_scenarios_and_a_complete_page(id: str) -> None:  # noqa: A002
    found = experiment(id)
    assert len({metric.name for metric in found.metrics}) == len(found.metrics)
    names = {axis.name for axis in found.axes}
    for profile in ("quick", "full"):
        points = list(found.points(profile))  # type: ignore[arg-type]
        assert all(set(point) <= names for point in points)
        for point in points:
            found.at(point, profile)  # type: ignore[arg-type]
        trial = plan(found, profile)  # type: ignore[arg-type]
        claims = trial.claims
        assert len({claim.id for claim in claims}) == len(claims)
    text = found.read("README.md")
    assert text.startswith("# ")
    for word in ("question", "notice", "reconstructed"):
        assert re.search(word, text, re.IGNORECASE), f"the page of {id} does not say: {word}"


@pytest.mark.parametrize("id", EXPERIMENTS)
def test_every_experiment_has_an_asserted_claim_that_a_quick_run_passes(id: str) -> None:  # noqa: A002
    found = experiment(id)
    claims = [claim for claim in plan(found, "quick").claims if claim.kind is Kind.ASSERTED]
    verdicts = []
    # Claims with few points are tried first; if a quick run leaves a claim undecided, the next one is tried.
    for claim in sorted(claims, key=lambda claim: len({p for check in claim.condition.checks for p in check.points})):
        points = {point for check in claim.condition.checks for point in check.points}
        with Pool() as pool:
            trial = run(found, "quick", pool, only=points)
        verdicts.append(next(c for c in trial.claims if c.id == claim.id).as_json("quick"))
        assert verdicts[-1]["pass"] is not False, verdicts
        if verdicts[-1]["pass"]:
            return
    pytest.fail(f"no claim is decided: {verdicts}")


def test_a_cell_of_the_matrix_has_the_scenario_of_the_experiment() -> None:
    matrix, own = experiment("internet-1999"), experiment("internet-e12")
    cell = Point(arm="e12 R2, 1000 kB, 400", floor="rfc3168", timers="10 ms, 0.2 s", workload="persistent")
    shared = {"run.duration": "60s", "run.warmup": "35s"}
    (point,) = (
        p
        for p in own.points("quick")
        if dict(p).items()
        >= {"floor": "rfc3168", "timers": "10 ms, 0.2 s", "set": "R2", "buffer": 1000, "sources": 400}.items()
    )
    assert matrix.at(cell, "quick").set(shared).document == own.at(point, "quick").set(shared).document


def test_the_claim_of_a_cell_of_the_matrix_is_reproduced() -> None:
    found = experiment("internet-1999")
    # ns-2.35 loses 9.845 % here with the rule for ECN echoes at a window of one segment. Without the rule senders send
    # at least as much.
    id = "e04.persistent.none.0.2s"  # noqa: A001
    (claim,) = (claim for claim in plan(found, "quick").claims if claim.id == id)
    points = {point for check in claim.condition.checks for point in check.points}
    with Pool() as pool:
        trial = run(found, "quick", pool, only=points)
    (decided,) = (claim for claim in trial.claims if claim.id == id)
    assert decided.word == "reproduced"
    assert decided.as_json("quick")["pass"] is None
