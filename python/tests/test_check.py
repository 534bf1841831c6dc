"""`tailback check`: laws that keep every promise pass, and laws that break one are caught by name."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import tailback as core
from tailback.laws import watchdog
from tailback.run.conformance import check as checking
from tailback.run.conformance.check import Conformance, check
from tailback.run.conformance.networks import CASES, Law
from tailback.run.conformance.observe import Run, Strange

CODEL = Path(__file__).with_name("laws") / "codel.py"

HEAD = """
import ctypes, datetime, os, random, time
from random import choice
import tailback
from tailback import DROP, MARK, PASS
"""

BROKEN = {
    "return DROP if random.random() < 0.05 else PASS": {"own random numbers", "same process", "other process"},
    "return DROP if choice([0, 0, 0, 1]) else PASS": {"own random numbers", "same process", "other process"},
    "return DROP if random.Random(call.sequence).random() < 0.05 else PASS": {"own random numbers"},
    "return DROP if time.perf_counter_ns() // 1000 % 7 == 0 else PASS": {"own random numbers", "same process"},
    "time.time()": {"own random numbers"},
    "datetime.datetime.now()": {"own random numbers"},
    "os.urandom(1)": {"own random numbers"},
    "return DROP if list({'a', 'b', 'c', 'd', 'e', 'f'}).index('c') == call.sequence % 6 else PASS": {"other process"},
    "return DROP if hash(f'{call.sequence}') % 20 == 0 else PASS": {"other process"},
    "Mine.count += 1; return DROP if Mine.count % 50 == 0 else PASS": {"same process", "instances"},
    "SEEN.append(1); return DROP if len(SEEN) % 50 == 0 else PASS": {"same process", "instances"},
    "self.seen.append(1); return DROP if len(self.seen) % 50 == 0 else PASS": {"same process", "instances"},
    "return MARK if call.queue_packets > 2 else PASS": {"marks"},
    "return 3": {"answers"},
    "return True": {"answers"},
    "self.wake_ps = call.now_ps - 1": {"wake-ups"},
    "self.wake_ps = 1.5": {"wake-ups"},
    "return DROP if call.queue_packets / call.sojourn_ps > 1 else PASS": {"no exception"},
    "return DROP if call.ecn and 1 // (call.ecn - 2) else PASS": {"no exception"},
    "while call.now_ps > 10**11: pass": {"returns in time"},
    "ctypes.string_at(0)": {"returns in time"},
    "os._exit(0)": {"returns in time"},
}
"""Bodies of `arrive`, and the checks that must not pass; a body that ends the run leaves others undecided."""


def written(folder: Path, body: str, more: str = "") -> Path:
    """Write a law with this method `arrive`, and return its file."""
    path = folder / "mine.py"
    text = (
        f"{HEAD}\nSEEN = []\nclass Mine(tailback.Law):\n    marks = False\n    count = 0\n    seen = []\n"
        f"    def arrive(self, call):\n        {body}\n{more}"
    )
    path.write_text(text)
    return path


def not_passed(found: Conformance) -> set[str]:
    """Return the names of the checks that failed."""
    return {finding.name for finding in found.findings if finding.status == "failed"}


@pytest.mark.parametrize("body", BROKEN)
def test_a_law_that_breaks_a_promise_is_caught(body: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watchdog, "CALL_LIMIT_S", 0.5)
    found = check(written(tmp_path, body))
    assert not_passed(found) >= BROKEN[body]
    assert not found.passed
    failed = [finding for finding in found.findings if finding.status == "failed"]
    assert all(finding.message and finding.cure for finding in failed)
    if BROKEN[body] == {"own random numbers"}:
        assert not_passed(found) == BROKEN[body]


@pytest.mark.parametrize(
    "body", ["pass", "return DROP if self.random() < 0.1 else PASS", "self.x = {1, 2}; return DROP"]
)
def test_a_law_that_keeps_every_promise_passes(body: str, tmp_path: Path) -> None:
    found = check(written(tmp_path, body))
    assert not_passed(found) == set()
    assert found.passed
    assert found.repeatable == "here"


def test_codel_passes_and_its_state_is_its_own() -> None:
    found = check(CODEL, parameters={"target": "1ms"})
    assert found.passed, not_passed(found)


def test_a_call_of_a_clock_is_named_with_its_line(tmp_path: Path) -> None:
    file = written(tmp_path, "self.late()", "    def late(self):\n        return time.monotonic()\n")
    (finding,) = [finding for finding in check(file).findings if finding.name == "own random numbers"]
    line = file.read_text().splitlines().index("        return time.monotonic()") + 1
    assert finding.message == f"mine.py, line {line}: time.monotonic"


def test_a_generator_of_numpy_is_found_in_an_instance(tmp_path: Path) -> None:
    more = "    def start(self, call):\n        import numpy\n        self.rng = numpy.random.default_rng(1)\n"
    assert "own random numbers" in not_passed(check(written(tmp_path, "pass", more)))


def test_clocks_of_other_modules_are_not_those_of_the_law(tmp_path: Path) -> None:
    # `logging` reads the clock at each record.
    more = "    def start(self, call):\n        import logging\n        logging.getLogger('x').debug('begin')\n"
    assert check(written(tmp_path, "pass", more)).passed


def test_a_fault_leaves_the_comparisons_undecided(tmp_path: Path) -> None:
    found = check(written(tmp_path, "return 3"))
    undecided = {finding.name for finding in found.findings if finding.status == "undecided"}
    assert undecided == {"same process", "other process", "engines", "instances"}
    assert found.repeatable is None


def test_lost_packets_and_calls_back_in_time_are_failures() -> None:
    # No law can cause them, so that the results of the runs are made up.
    runs = [Run("TCP", "merged", None, "d", 0, "tcp[1]")]
    lost = {finding.name: finding for finding in checking._promises(runs, "law", is_marking=True)}
    assert lost["conservation"].status == "failed"
    assert "tcp[1]" in lost["conservation"].message
    late = {finding.name: finding for finding in checking._chance(Strange([], "`arrive` at 1 ps"))}
    assert late["time"].status == "failed"


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_each_network_calls_the_law_and_has_the_load_that_its_name_says(case: Any, tmp_path: Path) -> None:
    body = "self.full = getattr(self, 'full', 0) + call.full"
    report = json.loads(case.scenario(Law(written(tmp_path, body), "Mine")).native.run(1))
    busiest = max(port["utilisation"] for port in report["ports"])
    dropped = sum(queue["dropped"]["packets"] for port in report["ports"] for queue in port["classes"])
    assert report["packet_hops"] > 200
    if case.name in ("overload", "a buffer of one packet", "priorities", "changing rates", "a loud neighbour"):
        assert dropped > 0
    if case.name == "overload":
        assert busiest > 0.95
    if case.name == "idle periods":
        assert busiest < 0.2
    own = [flow for flow in report["flows"] if flow["group"] == "own"]
    assert bool(own) == case.name.endswith("neighbour")


def test_a_module_of_webassembly_repeats_its_results_on_every_machine() -> None:
    findings = [checking.Finding(name, "", "passed") for name in ("same process", "other process", "engines")]
    for name, words in (("x.wasm", "everywhere"), ("x.wat", "everywhere"), ("x.so", "here"), ("x.py", "here")):
        assert Conformance(Law(Path(name), "X"), findings).repeatable == words
    failed = [*findings[:2], checking.Finding("engines", "", "undecided")]
    assert Conformance(Law(Path("x.wasm"), "X"), failed).repeatable is None


COMPONENTS = {
    "CongestionControl": """
    def acknowledged(self, call):
        self.cwnd = ANSWER
    def lost(self, call):
        self.ssthresh = max(call.in_flight / 2, 2.0)
    timeout = lost
""",
    "Scheduler": """
    def select(self, call):
        ready = [number for number, queue in enumerate(call.queues) if queue.ready]
        return ANSWER
""",
    "Source": """
    def next(self, call):
        return ANSWER
""",
}
"""Bodies of other components by their base class."""
ANSWERS = {
    ("CongestionControl", "self.cwnd + call.advanced / self.cwnd"): set(),
    ("CongestionControl", "0.0"): {"answers"},
    ("CongestionControl", "self.cwnd + random.random()"): {"own random numbers", "same process", "other process"},
    ("Scheduler", "min(ready, default=None)"): set(),
    ("Scheduler", "0"): {"answers"},
    ("Scheduler", "'first'"): {"answers"},
    ("Scheduler", "random.choice(ready) if ready else None"): {"own random numbers", "same process", "other process"},
    ("Source", "(call.now_ps + 2 * 10**9, 1000)"): set(),
    ("Source", "(call.now_ps - 1, 1000)"): {"answers"},
    ("Source", "(call.now_ps + 2 * 10**9, 0)"): {"answers"},
    ("Source", "(call.now_ps + 10**9 + SEEN.append(1) + len(SEEN), 1000)"): {"no exception"},
    ("Source", "(call.now_ps + 10**9 + (SEEN.append(1) or len(SEEN)), 1000)"): {"same process", "instances"},
}
"""Answers of other components, and the checks that fail."""


@pytest.mark.parametrize(("base", "answer"), ANSWERS)
def test_other_components_are_checked_too(base: str, answer: str, tmp_path: Path) -> None:
    if not hasattr(core, base):
        pytest.skip(f"the core has no {base}")
    file = tmp_path / "mine.py"
    body = COMPONENTS[base].replace("ANSWER", answer)
    file.write_text(f"{HEAD}\nSEEN = []\nclass Mine(tailback.{base}):\n{body}")
    found = check(file)
    assert not_passed(found) >= ANSWERS[base, answer]
    assert found.passed == (not ANSWERS[base, answer]), not_passed(found)
    assert "marks" not in {finding.name for finding in found.findings}


ROLES = {"codel": "law", "priority": "scheduler", "reno": "congestion-control", "cbr": "source"}


@pytest.mark.parametrize("name", ROLES)
def test_a_compiled_component_is_checked_in_the_role_that_it_states(name: str) -> None:
    found = check(CODEL.with_name(f"{name}.wat"), name.capitalize())
    assert found.law.role == ROLES[name]
    assert found.passed, not_passed(found)
    assert found.repeatable == "everywhere"


def test_a_compiled_class_that_does_not_exist_is_refused_by_the_loader() -> None:
    with pytest.raises(core.ScenarioError, match=r"reno\.wat has no class `Remo`"):
        check(CODEL.with_name("reno.wat"), "Remo")


def test_the_command_prints_each_check_and_its_cure(tailback: Callable[..., Any], tmp_path: Path) -> None:
    file = written(tmp_path, "time.time()")
    done = tailback("check", file)
    assert done.code == 5
    assert "failed     own random numbers" in done.out
    assert "mine.py, line 13: time.time" in done.out
    assert "cure: use self.random()" in done.out
    assert "11 of 12 checks passed; not shown to be repeatable" in done.out
    found = tailback("check", file, "--json")
    assert found.code == 5
    assert (found.json["passed"], found.json["repeatable"], found.json["class"]) == (False, None, "Mine")
    statuses = {row["name"]: row["status"] for row in found.json["checks"]}
    assert statuses["own random numbers"] == "failed"
    assert set(statuses.values()) == {"passed", "failed"}
    written(tmp_path, "pass")
    done = tailback("check", file, "--class", "Mine", "--parameters", "{}")
    assert (done.code, "12 of 12 checks passed; repeatable here" in done.out) == (0, True)


def test_the_command_checks_the_laws_of_a_scenario(tailback: Callable[..., Any], tmp_path: Path) -> None:
    written(tmp_path, "return DROP if self.n else PASS", "    def __init__(self, n=0):\n        self.n = n\n")
    text = core.Scenario(
        duration="1s",
        discipline={"kind": "user", "file": "mine.py", "class": "Mine", "parameters": {"n": 1}},
    )
    (tmp_path / "scenario.json").write_text(
        json.dumps(
            text.host("a")
            .host("b")
            .link(["a", "b"], rate="1Mbit/s")
            .flow("data", "a", "b", {"kind": "bulk"}, transport={"kind": "tcp"})
            .document
        )
    )
    found = tailback("check", tmp_path / "scenario.json", "--json")
    assert found.code == 0, found.out
    assert found.json["parameters"] == {"n": 1}
    assert tailback("check", tmp_path / "scenario.json", "--class", "Other").code == 2
    assert tailback("check", tmp_path / "scenario.json", "--parameters", "{ n = 2 }").code == 2


def test_wrong_calls_of_the_command_are_refused(tailback: Callable[..., Any], tmp_path: Path, merge: Path) -> None:
    file = written(tmp_path, "pass", "class Second(tailback.Law):\n    def idle(self, call): pass\n")
    several = tailback("check", file)
    assert several.code == 2
    assert "has the classes Mine, Second; name the class with --class" in several.err
    assert tailback("check", file, "--class", "Second").code == 0
    assert tailback("check", file, "--class", "Third").code == 3
    assert tailback("check", file, "--class", "Mine", "--parameters", "{ gain = 1 }").code == 3
    assert tailback("check", file, "--parameters", "gain").code == 2
    assert tailback("check", merge).code == 2
    assert tailback("check", tmp_path / "none.py").code == 2
    (tmp_path / "broken.py").write_text("def f(:\n")
    assert tailback("check", tmp_path / "broken.py").code == 3
