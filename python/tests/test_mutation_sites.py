"""Mutants of Rust sources: the places where they are made, and the instrumented source that is compiled."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
pytest.importorskip("tree_sitter_rust")

from mutation_sites import Site, instrumented, sites  # noqa: E402

SOURCE = """
const LIMIT: u32 = 10;
#[derive(Debug)]
struct Queue { used: u32 }
impl Queue {
    /// Adds.
    fn add(&mut self, more: u32) -> bool {
        if self.used + more > LIMIT && more > 0 {
            return false;
        }
        self.used += more;
        true
    }
    fn never(&self) -> bool {
        false
    }
}
impl std::fmt::Display for Queue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.used + 1)
    }
}
#[cfg(test)]
mod tests {
    #[test]
    fn one() {
        assert_eq!(1 + 1, 2);
    }
}
"""


def found(tmp_path: Path) -> list[Site]:
    """Return the mutants of `SOURCE`."""
    (tmp_path / "queue.rs").write_text(SOURCE)
    return sites(tmp_path, "queue.rs")


def test_constants_text_and_tests_have_no_mutants(tmp_path: Path) -> None:
    lines = {SOURCE.splitlines()[site.line - 1].strip() for site in found(tmp_path)}
    assert lines == {
        "fn add(&mut self, more: u32) -> bool {",
        "if self.used + more > LIMIT && more > 0 {",
        "self.used += more;",
        "fn never(&self) -> bool {",
    }


def test_operators_numbers_statements_and_returned_values_are_changed(tmp_path: Path) -> None:
    changes = {(site.original, site.changed) for site in found(tmp_path)}
    assert ("more > 0", "(more) >= (0)") in changes
    assert ("more > 0", "(more) < (0)") in changes
    assert ("self.used + more > LIMIT && more > 0", "(self.used + more > LIMIT) || (more > 0)") in changes
    assert ("self.used += more;", "self.used -= more;") in changes
    assert ("self.used += more;", "") in changes
    assert ("0", "1") in changes
    assert {site.changed for site in found(tmp_path) if site.form == "entry" and site.function == "add"} == {
        "return true;",
        "return false;",
    }


def test_a_constant_function_gets_no_mutant_that_returns_the_same(tmp_path: Path) -> None:
    assert [site.changed for site in found(tmp_path) if site.function == "never"] == ["return true;"]


def test_the_key_of_a_mutant_is_unique_and_does_not_depend_on_other_lines(tmp_path: Path) -> None:
    before = found(tmp_path)
    assert len({site.key for site in before}) == len(before)
    (tmp_path / "queue.rs").write_text("// A line more.\n" + SOURCE)
    assert {site.key for site in sites(tmp_path, "queue.rs")} == {site.key for site in before}


def test_the_instrumented_source_with_all_mutants_off_is_the_original(tmp_path: Path) -> None:
    chosen = dict(enumerate(found(tmp_path), 1))
    text, places = instrumented(SOURCE.encode(), chosen)
    code = text.decode()
    assert sorted(int(n) for n in re.findall(r"mutants::on\((\d+)\)", code)) == sorted(chosen)
    assert all(0 <= begin < end for begin, end in places.values())
    # Undo the instrumentation from the inside out: keep the `else` branches, remove mutants in front of statements.
    value = re.compile(r"\(/\*m(\d+)\*/if crate::mutants::on\(\1\) \{[^{}]*\} else \{ ([^{}]*) \}/\*m\1\.\*/\)")
    statement = re.compile(r"/\*m(\d+)\*/ if crate::mutants::on\(\1\) \{[^{}]*\} else \{ ([^{}]*) \} /\*m\1\.\*/")
    entry = re.compile(r"/\*m(\d+)\*/ if crate::mutants::on\(\1\) \{[^{}]*\} /\*m\1\.\*/")
    for _ in range(10):
        code = entry.sub("", statement.sub(r"\2", value.sub(r"\2", code)))
    assert code == SOURCE
