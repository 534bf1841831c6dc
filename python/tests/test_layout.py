"""The layers of the package, and which modules a module may import."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import tailback

PACKAGE = Path(tailback.__file__).parent
LAYERS = (
    "_native",
    "errors",
    "build",
    "maths",
    "laws",
    "scenario",
    "results",
    "plotting",
    "web",
    "pages",
    "traces",
    "run",
    "study",
    "bounds",
    "witness",
    "service_levels",
    "router",
    "reproduction",
    "gallery",
    "evaluation",
    "bench",
    "tailback",
    "cli",
    "__main__",
)
"""Modules and folders of the package, from the lowest layer up; `tailback` is its `__init__`.

A module may import from its own layer and from lower ones. Imports within functions count as well: they only keep the
start of the command line short and extras optional.
"""

TYPES_ONLY = {
    ("results.directory", "run.result"),
    ("plotting.experiment", "study.experiment.points"),
    ("plotting.experiment", "study.experiment.quantity"),
    ("plotting.grouped_bars", "study.experiment.points"),
    ("plotting.slides", "study.experiment.quantity"),
    ("plotting.sweep.figures", "study.results"),
    ("plotting.sweep.maps", "study.results"),
    ("plotting.xy", "study.results"),
}
"""Imports under `TYPE_CHECKING` from a higher layer, by modules that draw or write an object of the imported class.

Such a module never creates the object and imports nothing at run time, so that there is no import cycle.
"""

TERMS = ("Cell", "Measure", "Metric", "Report", "Result", "Scenario", "Study", "Sweep", "Verdict")
"""Terms of the manual: there must be exactly one class of each of these names."""


def module(path: Path) -> str:
    """Return the name of a module without `tailback.`; the package itself is `tailback`."""
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts) or "tailback"


MODULES = {module(path): ast.parse(path.read_text(encoding="utf-8")) for path in sorted(PACKAGE.rglob("*.py"))}


def is_for_types(node: ast.AST) -> bool:
    """Return `True` for a block `if TYPE_CHECKING:`."""
    return isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"


def targets(node: ast.AST) -> Iterator[str]:
    """Yield the modules of the package that an import names."""
    if isinstance(node, ast.ImportFrom):
        assert node.level == 0, f"line {node.lineno}: a relative import"
        for alias in node.names:
            full = f"{node.module}.{alias.name}".removeprefix("tailback.")
            if full in MODULES or full == "_native":
                yield full
            elif node.module == "tailback" or (node.module or "").startswith("tailback."):
                yield (node.module or "").removeprefix("tailback.")
    elif isinstance(node, ast.Import):
        yield from (
            name.removeprefix("tailback.") for alias in node.names if (name := alias.name).startswith("tailback")
        )


def imports(name: str, *, for_types: bool) -> set[str]:
    """Return the modules that a module imports, either under `TYPE_CHECKING` or at run time."""
    found = set()
    waiting: list[tuple[ast.AST, bool]] = [(MODULES[name], False)]
    while waiting:
        node, is_typed = waiting.pop()
        if is_typed == for_types:
            found |= set(targets(node))
        waiting += [(child, is_typed or is_for_types(node)) for child in ast.iter_child_nodes(node)]
    # The classes of the extension have stubs of their own.
    return {"_native" if target.startswith("_native") else target for target in found} - {name}


RUN_TIME = {name: imports(name, for_types=False) for name in MODULES}


def rank(name: str) -> int:
    """Return the index of a module's layer."""
    return LAYERS.index(name.partition(".")[0])


def test_every_module_belongs_to_a_layer() -> None:
    assert {name.partition(".")[0] for name in MODULES} | {"_native"} == set(LAYERS)


def test_no_module_imports_from_a_higher_layer() -> None:
    up = {(name, other) for name, others in RUN_TIME.items() for other in others if rank(other) > rank(name)}
    assert up == set()


def test_only_the_listed_modules_name_types_of_a_higher_layer() -> None:
    typed = {(name, other) for name in MODULES for other in imports(name, for_types=True) if rank(other) > rank(name)}
    assert typed == TYPES_ONLY


def test_modules_have_no_import_cycle() -> None:
    # `prepare` raises CycleError, which names the modules of the cycle.
    TopologicalSorter(RUN_TIME).prepare()


def test_tools_have_no_import_cycle() -> None:
    folder = PACKAGE.parents[1] / "tools"
    files = {".".join(path.relative_to(folder).with_suffix("").parts): path for path in folder.rglob("*.py")}
    found: dict[str, set[str]] = {}
    for name, path in files.items():
        nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
        whole = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
        for node in nodes:
            if isinstance(node, ast.ImportFrom):
                assert node.level == 0, f"{name}: a relative import"
                whole |= {f"{node.module}.{alias.name}" for alias in node.names} | {node.module or ""}
        found[name] = whole & files.keys() - {name}
    assert sum(map(len, found.values())) > 20
    TopologicalSorter(found).prepare()


def test_an_experiment_imports_nothing_from_another_group() -> None:
    experiments = [name for name in MODULES if name.startswith("gallery.") and name.count(".") >= 2]
    assert len(experiments) > 100
    for name in experiments:
        groups = {other.split(".")[1] for other in RUN_TIME[name] if other.startswith("gallery.")} - {"registry"}
        assert groups <= {name.split(".")[1]}, name


def test_each_term_of_the_manual_is_exactly_one_class() -> None:
    found: dict[str, list[str]] = {word: [] for word in TERMS}
    for name, tree in MODULES.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef) and node.name in found:
                found[node.name].append(name)
    assert {word: len(where) for word, where in found.items()} == dict.fromkeys(TERMS, 1), found


def test_the_architecture_names_the_layers_in_this_order() -> None:
    text = (PACKAGE.parents[1] / "docs" / "architecture.md").read_text(encoding="utf-8")
    section = text.partition("## The Python package")[2].partition("\n## ")[0]
    folders = re.findall(r"^\| `(\w+)/` \|", section, re.MULTILINE)
    assert folders == [layer for layer in LAYERS if (PACKAGE / layer).is_dir()]
