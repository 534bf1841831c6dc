"""docs/architecture.md agrees with the sources: crates and their dependencies, files, event order and quoted code."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
CRATES = {
    path.parent.name: tomllib.loads(path.read_text(encoding="utf-8"))
    for path in sorted((ROOT / "crates").glob("*/Cargo.toml"))
}


def drawn() -> list[str]:
    """Return the crates of the drawing from top to bottom, where crates without dependencies come first."""
    block = PAGE.split("```")[1].split("python/tailback/")[0]
    # Keep only the arrows: descriptions follow after three spaces.
    arrows = re.sub(r"\s{3,}(?=[a-z])[^←\n]*$", "", block, flags=re.MULTILINE)
    return re.findall(rf"\b(?:{'|'.join(CRATES)})\b", arrows)


def dependencies(crate: str) -> set[str]:
    """Return the crates of this workspace that a crate depends on."""
    return {name.removeprefix("tailback-") for name in CRATES[crate]["dependencies"] if name.startswith("tailback-")}


def test_each_crate_is_drawn() -> None:
    assert set(drawn()) == set(CRATES)


@pytest.mark.parametrize("crate", CRATES)
def test_a_crate_depends_only_on_those_drawn_above_it(crate: str) -> None:
    order = list(dict.fromkeys(drawn()))
    assert dependencies(crate) <= set(order[: order.index(crate)])


def test_the_files_in_the_table_of_the_engines_modules_exist() -> None:
    rows = PAGE.split("## Modules of the engine", 1)[1].split("## Packets", 1)[0]
    named = re.findall(r"`([a-z_]+/?(?:[a-z_]+\.rs|[a-z_]+/)?(?:\.rs)?)`", rows)
    files = [name for name in named if name.endswith((".rs", "/"))]
    assert len(files) > 20
    assert [name for name in files if not (ROOT / "crates" / "sim" / "src" / name).exists()] == []


@pytest.mark.parametrize("crate", [name for name, manifest in CRATES.items() if "test" in manifest])
def test_each_file_of_the_integration_tests_is_compiled_into_a_test_program(crate: str) -> None:
    # With `autotests = false` a file without an entry is not compiled, and its tests would never run.
    assert CRATES[crate]["package"]["autotests"] is False
    folder = ROOT / "crates" / crate / "tests"
    main = folder / "main.rs"
    modules = set(re.findall(r"^mod (\w+);", main.read_text(encoding="utf-8"), re.MULTILINE))
    shared = {path.parent.name for path in folder.glob("*/mod.rs")}
    assert modules == {path.stem for path in folder.glob("*.rs")} - {"main"} | shared
    programs = {ROOT / "crates" / crate / target["path"] for target in CRATES[crate]["test"]}
    assert programs == {main, *folder.glob("*/main.rs")}


def test_the_order_of_events_and_the_sizes_of_the_queues_forms_are_those_of_the_event_queue() -> None:
    table = PAGE.split("## The order of events", 1)[1].split("## The two engines", 1)[0]
    folder = ROOT / "crates" / "sim" / "src" / "event_queue"
    key, source = ((folder / name).read_text(encoding="utf-8") for name in ("key.rs", "mod.rs"))
    kinds = re.findall(r"^    (\w+),$", key.split("enum Kind {", 1)[1].split("\n}", 1)[0], re.MULTILINE)
    assert re.findall(r"^\| \d+ \| `(\w+)` \|", table, re.MULTILINE) == kinds
    list_max, tree = re.search(r"LIST_MAX: usize = (\d+)", source), re.search(r"Tree = Tournament<(\d+)", source)
    assert list_max is not None
    assert tree is not None
    words = re.sub(r"\s+", " ", table)
    assert f"up to {list_max[1]} events in a sorted list, up to {tree[1]} in a tournament tree" in words


def test_the_disciplines_that_share_one_file_are_those_of_the_registry() -> None:
    (row,) = re.findall(r"^\| `discipline/managed.rs` \|[^|]*\|([^|]*)\|$", PAGE, re.MULTILINE)
    registry = (ROOT / "crates" / "qdisc" / "src" / "registry.rs").read_text(encoding="utf-8")
    assert set(re.findall(r"`([\w-]+)`", row)) == set(re.findall(r'"([\w-]+)" => \w+\([^)]*=> Managed<', registry))


def test_the_lines_that_the_page_adds_to_registries_are_in_a_registry() -> None:
    added = re.findall(r"^\+(?!\+)( .*)$", PAGE, re.MULTILINE)
    assert len(added) == 2
    registries = [(ROOT / "crates" / crate / "src" / "registry.rs").read_text() for crate in ("qdisc", "transport")]
    for line in added:
        assert any(line.strip() in text for text in registries), line


def test_the_code_that_the_page_quotes_is_that_of_the_source() -> None:
    source = re.sub(r"\s+", " ", "".join(p.read_text() for p in (ROOT / "crates" / "qdisc" / "src").rglob("codel.rs")))
    quoted = re.findall(r"^```rust\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    assert len(quoted) == 2
    for code in quoted:
        assert re.sub(r"\s+", " ", code).strip() in source, code
