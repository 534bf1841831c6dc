"""Imports between the files of a crate, and between crates, have no cycles; the reader of the sources is tested, too.

There is an arrow from a file to each file of the same crate that defines a name which it uses, by `use` or by a path in
the code. Re-exports (`pub use`) are followed to the definition, so that a `mod.rs` that only re-exports adds no arrows.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest
from test_architecture import drawn

ROOT = Path(__file__).resolve().parents[2]
CRATES = sorted(path.parent.name for path in (ROOT / "crates").glob("*/Cargo.toml"))

SKIPPED = re.compile(
    r"""//[^\n]*|/\*.*?\*/|b?r(?P<hashes>\#+)".*?"(?P=hashes)|b?r?"(?:\\.|[^"\\])*"|b?'(?:\\.[^']*|[^'\\])'""",
    re.DOTALL,
)
"""Comments and literals, which are not code. (A lifetime has no closing quote, so it does not match.)"""

Module = tuple[str, ...]
"""Path of a module from the root of the crate; the root itself is the empty path."""


@dataclass
class File:
    """Code of a module, the names that it defines, imported names with their paths, and modules imported by `*`."""

    code: str
    defines: set[str]
    imports: dict[str, Module] = field(default_factory=dict)
    globs: list[Module] = field(default_factory=list)


RECURSIVE = {
    "qdisc": [
        ("discipline::class_based", "registry", "Spec"),
        ("discipline::classes", "registry", "Spec"),
        ("discipline::classes", "registry", "Discipline"),
        ("discipline::hfsc::params", "registry", "Spec"),
        ("discipline::htb::params", "registry", "Spec"),
        ("discipline::levels", "registry", "Spec"),
        ("discipline::shaper", "registry", "Spec"),
        ("discipline::shaper", "registry", "Discipline"),
        ("discipline::wrr", "registry", "Spec"),
    ]
}
"""Arrows that are left out, by crate, as (from, to, name): disciplines of the registry may contain others of it."""


def without_tests(code: str) -> str:
    """Return a source without its modules of unit tests."""
    while found := re.search(r"#\[cfg\(test\)\]\s*(?:#\[[^\]]*\]\s*)*mod \w+ \{", code):
        depth, end = 1, found.end()
        while depth:
            depth += {"{": 1, "}": -1}.get(code[end], 0)
            end += 1
        code = code[: found.start()] + code[end:]
    return re.sub(r"#\[cfg\(test\)\]\s*mod \w+;", "", code)


def expand(tree: str, before: Module = ()) -> Iterator[tuple[Module, str]]:
    """Yield the paths of a tree of imports such as `a::{b, c::d as e}`, each with the name that it has here."""
    head, brace, rest = tree.partition("{")
    if not brace:
        path, _, name = tree.partition(" as ")
        parts = (*before, *path.strip().split("::"))
        if parts[-1] == "self":
            parts = parts[:-1]
        yield parts, name.strip() or parts[-1]
        return
    depth, start, inner = 0, 0, rest.rstrip().removesuffix("}")
    for at, char in enumerate(inner + ","):
        depth += {"{": 1, "}": -1}.get(char, 0)
        if char == "," and depth == 0:
            if inner[start:at].strip():
                yield from expand(inner[start:at], (*before, *head.strip().removesuffix("::").split("::")))
            start = at + 1


def read(text: str) -> File:
    """Return a source without comments, literals and unit tests, and the names that it defines."""
    code = without_tests(SKIPPED.sub(lambda found: '""' if '"' in found[0] else " ", text))
    names = re.findall(r"\b(?:fn|struct|enum|union|trait|type|const|static|macro_rules!|mod)\s+(\w+)", code)
    return File(code, set(names))


class Crate:
    """The modules of a crate and the arrows between them."""

    def __init__(self, sources: dict[Module, str]) -> None:
        self.files = {module: read(text) for module, text in sources.items()}
        for module, file in self.files.items():
            for found in re.finditer(r"\buse ([^;]+);", file.code):
                for path, name in expand(" ".join(found[1].split())):
                    full = self.absolute(path, module)
                    if full is None:
                        continue
                    if path[-1] == "*":
                        file.globs.append(full[:-1])
                    else:
                        file.imports[name] = full
            file.code = re.sub(r"\buse [^;]+;", "", file.code)

    def absolute(self, path: Module, module: Module) -> Module | None:
        """Return a path as seen from the root of the crate; `None` if it is of another crate or local to the file."""
        base: Module
        if path[0] == "crate":
            base, path = (), path[1:]
        elif path[0] in ("self", "super"):
            base = module
            while path and path[0] in ("self", "super"):
                base, path = base[:-1] if path[0] == "super" else base, path[1:]
        elif (*module, path[0]) in self.files:
            base = module
        elif path[0] in self.files[module].imports and path[0] != self.files[module].imports[path[0]][0]:
            base, path = self.files[module].imports[path[0]], path[1:]
        else:
            whole = [other for other in self.files[module].globs if (*other, path[0]) in self.files]
            if not whole:
                return None
            base = whole[0]
        return (*base, *path)

    def home(self, path: Module, seen: frozenset[Module] = frozenset()) -> Module | None:
        """Return the module that defines the item of a path; `None` if the path names a module, which is no arrow."""
        if path in self.files or path in seen:
            return None
        at = max(n for n in range(len(path)) if path[:n] in self.files)
        module, name = path[:at], path[at]
        file = self.files[module]
        seen |= {path}
        if name in file.imports:
            return self.home((*file.imports[name], *path[at + 1 :]), seen)
        if name not in file.defines:
            for other in file.globs:
                if found := self.home((*other, *path[at:]), seen):
                    return found if name in self.files[found].defines else None
        return module

    def arrows(self, module: Module) -> dict[Module, set[str]]:
        """Return the modules that define the names which this one uses, with these names."""
        file = self.files[module]
        paths = list(file.imports.values())
        inline = re.finditer(r"(?<![\w:$])(?:\w+::)+\w+", file.code)
        paths += [full for found in inline if (full := self.absolute(tuple(found[0].split("::")), module))]
        words = set(re.findall(r"\b\w+\b", file.code))
        for other in file.globs:
            if other in self.files:
                names = words & (self.files[other].defines | self.files[other].imports.keys())
                paths += [(*other, name) for name in names]
        arrows: dict[Module, set[str]] = {}
        for path in paths:
            target = self.home(path)
            if target is not None and target != module:
                arrows.setdefault(target, set()).add(path[-1])
        return arrows

    def graph(self) -> dict[str, dict[str, set[str]]]:
        """Return all arrows; the root of the crate is called `lib`."""
        text = "::".join
        return {
            text(module) or "lib": {text(other) or "lib": names for other, names in self.arrows(module).items()}
            for module in self.files
        }


def sources(crate: str) -> dict[Module, str]:
    """Return the sources of a crate by module."""
    found: dict[Module, str] = {}
    folder = ROOT / "crates" / crate / "src"
    for path in sorted(folder.rglob("*.rs")):
        module = path.relative_to(folder).with_suffix("").parts
        if module[-1] == "tests":
            continue
        if module[-1] == "mod" or module in (("lib",), ("main",)):
            module = module[:-1]
        found[module] = path.read_text(encoding="utf-8")
    return found


@cache
def graph(crate: str) -> dict[str, dict[str, set[str]]]:
    """Return all arrows of a crate."""
    return Crate(sources(crate)).graph()


def cycle(arrows: dict[str, dict[str, set[str]]]) -> list[str]:
    """Return the arrows of an import cycle, each with the imported names; empty if there is no cycle."""
    try:
        TopologicalSorter(arrows).prepare()
    except CycleError as error:
        # The sorter names each file before the one that imports it.
        files = error.args[1]
        pairs = [(files[i + 1], files[i]) for i in range(len(files) - 1)]
        return [f"{one} -> {other}: {', '.join(sorted(arrows[one][other]))}" for one, other in pairs]
    return []


@pytest.mark.parametrize("crate", CRATES)
def test_files_of_a_crate_have_no_import_cycle(crate: str) -> None:
    used = {one: {other: set(names) for other, names in others.items()} for one, others in graph(crate).items()}
    for one, other, name in RECURSIVE.get(crate, ()):
        # Raises KeyError for an exception that is no longer needed.
        used[one][other].remove(name)
        if not used[one][other]:
            del used[one][other]
    assert cycle(used) == []


def test_a_crate_uses_only_crates_drawn_above_it() -> None:
    used: dict[str, dict[str, set[str]]] = {}
    for crate in CRATES:
        code = "\n".join(read(text).code for text in sources(crate).values())
        names = set(re.findall(r"\btailback_(\w+)\b", code)) & set(CRATES) - {crate}
        used[crate] = {name: {name} for name in names}
    assert sum(map(len, used.values())) > 30
    assert cycle(used) == []
    order = list(dict.fromkeys(drawn()))
    up = {(crate, other) for crate in CRATES for other in used[crate] if order.index(other) > order.index(crate)}
    assert up == set()


def test_known_imports_are_found() -> None:
    assert sum(len(others) for crate in CRATES for others in graph(crate).values()) > 1500
    for crate, one, other in [
        ("transport", "params::tcp", "registry"),
        ("transport", "registry", "cc::bbr3"),
        ("transport", "sender::send", "sender"),
        ("qdisc", "law::pie", "law::arrival"),
        ("qdisc", "discipline::managed", "fifo"),
        ("qdisc", "registry", "discipline::htb::tree"),
        ("sim", "world::transmit", "world"),
        ("sim", "world", "event_queue::key"),
        ("router", "mqc::import", "mqc::reader"),
        ("scenario", "build", "build::builder"),
    ]:
        assert other in graph(crate)[one], (crate, one, other)


SEEDS = {
    "each other": {"a": "use crate::b::B; pub struct A;", "b": "use super::a::A; pub struct B;"},
    "a path in the code": {"a": "use crate::b::B; pub struct A;", "b": "pub struct B; fn f() { crate::a::A::new() }"},
    "a folder and its file": {"a": "mod c; use c::C; pub struct A;", "a::c": "use super::A; pub struct C;"},
    "through a re-export": {
        "": "pub use a::A; pub use b::B;",
        "a": "use crate::B; pub struct A;",
        "b": "use crate::A; pub struct B;",
    },
    "everything of a module": {"a": "use crate::b::*; pub struct A(B);", "b": "use crate::{a::{A}}; pub struct B;"},
    "under another name": {"a": "use crate::b as c; struct A(c::B);", "b": "use crate::a::A as D; pub struct B;"},
    "three": {
        "a": "use crate::b::f; pub const A: u8 = 0;",
        "b": "use crate::c::C; pub fn f() {}",
        "c": "use crate::a::A; pub trait C {}",
    },
}


@pytest.mark.parametrize("seed", SEEDS.values(), ids=SEEDS)
def test_an_import_cycle_is_found(seed: dict[str, str]) -> None:
    assert cycle(Crate({tuple(name.split("::")) if name else (): text for name, text in seed.items()}).graph()) != []


@pytest.mark.parametrize(
    "seed",
    [
        {"a": "use crate::b::B; pub struct A;", "b": "pub struct B; // use crate::a::A;"},
        {"a": "use crate::b::B; pub struct A;", "b": "pub struct B; #[cfg(test)] mod tests { use crate::a::A; }"},
        {"a": "use crate::b::B; pub struct A;", "b": 'pub struct B; const TEXT: &str = "crate::a::A";'},
        {"a": "pub use c::C; mod c;", "a::c": "pub struct C;", "b": "use crate::a::C;"},
    ],
)
def test_imports_without_a_cycle_pass(seed: dict[str, str]) -> None:
    assert cycle(Crate({tuple(name.split("::")): text for name, text in seed.items()}).graph()) == []
