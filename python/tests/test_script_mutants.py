"""The mutants of TCP that the RFC scripts must detect: the table fits the sources, and only the named scripts count."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

import script_mutants  # noqa: E402
from script_mutants import SCRIPTS, Mutant, failures, judge, mutants  # noqa: E402

SCRIPT_MUTANT = Mutant("RFC 1 section 2", "sends twice", "a.rs", "one", "two", ("rfc1-2-once",))
RECEIVER = {"receiver.rs", "reassembly.rs"}


@pytest.mark.parametrize("mutant", mutants(), ids=lambda mutant: f"{mutant.rule}, {mutant.breaks}")
def test_a_mutant_changes_one_place_and_names_scripts_of_its_rfc(mutant: Mutant) -> None:
    text = (ROOT / mutant.path).read_text(encoding="utf-8")
    assert text.count(mutant.before) == 1
    assert mutant.after != mutant.before
    assert mutant.scripts
    document, section = re.fullmatch(r"RFC (\d+) section ([\d.]+)", mutant.rule).groups()
    for script in mutant.scripts:
        cited = (ROOT / SCRIPTS / f"{script}.pkt").read_text(encoding="utf-8").splitlines()[0]
        assert f"RFC {document} " in cited, script
        assert re.search(rf"(?<![\d.]){re.escape(section)}(?![\d.])", cited), f"{script} cites {cited!r}"


def test_at_least_ten_rules_of_the_sender_are_broken() -> None:
    rules = {mutant.rule for mutant in mutants() if mutant.file not in RECEIVER}
    assert len(rules) >= 10
    documents = {int(rule.split()[1]) for rule in rules}
    assert documents >= {3042, 3168, 3708, 5681, 5682, 6298, 6582, 6675, 6928, 6937, 8257, 8985, 9406, 9438}


def test_every_script_has_a_mutant_that_it_must_detect() -> None:
    named = {script for mutant in mutants() for script in mutant.scripts}
    assert named == {path.stem for path in (ROOT / SCRIPTS).glob("*.pkt")}


@pytest.mark.parametrize(("text", "count"), [("two", 0), ("one one", 2)])
def test_a_text_that_does_not_occur_exactly_once_is_an_error(text: str, count: int) -> None:
    with pytest.raises(ValueError, match=f"occurs {count} times"):
        SCRIPT_MUTANT.applied(text)


def test_failing_scripts_are_read_from_the_list_of_the_test() -> None:
    # As `every_script_passes` of crates/transport/tests/packetdrill/main.rs prints them.
    output = "2 of 70 scripts fail:\nrfc1-2-once.pkt line 9, column 1: no\nrfc1-3.1-twice.pkt line 2, column 4: a.pkt\n"
    assert failures(output) == {"rfc1-2-once", "rfc1-3.1-twice"}


@pytest.mark.parametrize(
    ("passed", "output", "dead", "words"),
    [
        (False, "rfc1-2-once.pkt 1:1 x\nrfc1-3-more.pkt 1:1 x\n", True, "killed by rfc1-2-once and 1 more"),
        (False, "rfc1-3-more.pkt 1:1 x\n", False, "survives rfc1-2-once; others fail: rfc1-3-more"),
        (False, "error: could not compile\n", False, "no script fails"),
        (True, "", False, "survives: every script passes"),
    ],
)
def test_only_a_failure_of_the_named_script_kills_a_mutant(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, passed: bool, output: str, dead: bool, words: str
) -> None:
    source = tmp_path / SCRIPT_MUTANT.path
    source.parent.mkdir(parents=True)
    source.write_text("one")
    seen = []

    def run(tree: Path, _: Path) -> tuple[bool, str]:
        seen.append((tree / SCRIPT_MUTANT.path).read_text())
        return passed, output

    monkeypatch.setattr(script_mutants, "run", run)
    result = judge(SCRIPT_MUTANT, tmp_path, tmp_path / "target")
    assert (result[0], result[1].startswith(words)) == (dead, True), result
    assert (seen, source.read_text()) == (["two"], "one")
