"""The documentation: shown outputs are real, the things that it names exist, and generated parts are current."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from functools import cache
from importlib.metadata import version
from pathlib import Path

import pytest

from tailback import _native
from tailback.gallery.registry import EVERY, EXPERIMENTS

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted(page for page in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")] if page.name != "CHANGELOG.md")
GALLERY = ROOT / "python" / "tailback" / "gallery" / "README.md"
_RUN = re.compile(r"^```(console|pycon|python)$", re.MULTILINE)
RUN = [page for page in [*PAGES, GALLERY] if _RUN.search(page.read_text(encoding="utf-8"))]

_LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
_CODE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
_TESTS = re.compile(r"^\*\*Tests\.\*\*(.*?)(?=\n\n|\Z)|^## Tests\n(.*?)(?=\n## |\Z)", re.MULTILINE | re.DOTALL)


def name(page: Path) -> str:
    """Return the path of a page relative to the repository."""
    return str(page.relative_to(ROOT))


def anchor(heading: str) -> str:
    """Return the URL fragment of a heading, as the usual renderers of Markdown derive it."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


@cache
def anchors(page: Path) -> set[str]:
    """Return the URL fragments of all headings of a page."""
    text = _CODE.sub("", page.read_text(encoding="utf-8"))
    return {anchor(heading) for heading in re.findall(r"^#+ (.+)$", text, re.MULTILINE)}


@cache
def known_tests() -> set[str]:
    """Return the names of all tests of the project and of the other functions of its crates and Python tests."""
    found: set[str] = set()
    for path in [*(ROOT / "crates").rglob("*.rs"), *(ROOT / "python" / "tests").rglob("*.py")]:
        if "target" not in path.parts:
            found |= set(re.findall(r"^\s*(?:fn|def) (\w+)", path.read_text(encoding="utf-8"), re.MULTILINE))
    # Each timeline script is a test with the name of its file.
    return found | {path.stem for path in (ROOT / "crates" / "transport" / "tests" / "scripts").iterdir()}


def pinned(package: str) -> bool:
    """Return `True` if the installed version made the shown outputs; other versions lay tables out differently."""
    text = (ROOT / "requirements" / "dev.txt").read_text(encoding="utf-8")
    return any(line.startswith(f"{package}=={version(package)} ") for line in text.splitlines())


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_the_targets_of_links_exist(page: Path) -> None:
    for target in _LINK.findall(_CODE.sub("", page.read_text(encoding="utf-8"))):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, fragment = target.partition("#")
        file = (page.parent / path).resolve() if path else page
        assert file.exists(), f"{name(page)} links to {target}"
        if fragment and file.suffix == ".md":
            assert fragment in anchors(file), f"{name(page)} links to {target}; there are {sorted(anchors(file))}"


@pytest.mark.parametrize("page", RUN, ids=name)
def test_commands_print_what_the_page_says(page: Path) -> None:
    others = [package for package in ("click", "rich", "polars") if not pinned(package)]
    if others:
        pytest.skip(f"the outputs were made with other versions of {', '.join(others)}")
    command = [sys.executable, ROOT / "tools" / "docs_console.py", page]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


_SHELL = re.compile(r"^```(console|sh)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_QUOTED = re.compile(r"""'[^']*'|"[^"]*"|\s#.*""")


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_commands_can_be_copied_into_zsh(page: Path) -> None:
    # bash passes a pattern without a match on unchanged; zsh, the shell of macOS, refuses the command.
    for kind, block in _SHELL.findall(page.read_text(encoding="utf-8")):
        lines = block.splitlines()
        commands = [line for line in lines if line.startswith(("$ ", "> "))] if kind == "console" else lines
        for command in commands:
            assert not re.search(r"[\[?]|\S\*|\*\S", _QUOTED.sub("", command)), f"{name(page)}: quote {command}"


def test_the_reference_of_the_document_is_made_from_the_schema() -> None:
    command = [sys.executable, ROOT / "tools" / "docs_reference.py", "--check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_tables_of_performance_are_made_from_the_recorded_measurements() -> None:
    command = [sys.executable, ROOT / "tools" / "performance.py", "--check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_index_of_rfcs_is_made_from_the_sources() -> None:
    command = [sys.executable, ROOT / "tools" / "rfc_index.py", "--check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_tables_of_rfc_scripts_are_made_from_the_scripts() -> None:
    command = [sys.executable, ROOT / "tools" / "rfc_scripts.py", "--check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_figure_has_a_command_that_draws_it() -> None:
    known = {call.replace("_", "-") for call in re.findall(r"^@figure\(.*\)\ndef (\w+)", figures(), re.MULTILINE)}
    # `reproduce` draws the figures of the results, and tools/report_cards.py those of report cards.
    elsewhere = {ROOT / "docs" / "results", ROOT / "docs" / "evaluate"}
    shown = {
        Path(target).stem
        for page in PAGES
        for target in _LINK.findall(page.read_text(encoding="utf-8"))
        if target.endswith(".svg") and page.parent not in elsewhere and page != ROOT / "docs" / "figures.md"
    }
    assert shown == known == {path.stem for path in (ROOT / "docs" / "figures").iterdir()}


def test_each_picture_of_the_results_is_of_an_experiment_that_exists() -> None:
    # `reproduce --full` draws these figures, tools/docs_results.py collects them.
    folder = ROOT / "docs" / "results"
    pictures = [path.relative_to(folder) for kind in ("svg", "png") for path in folder.rglob(f"*.{kind}")]
    assert {path.parts[0].removesuffix(".svg") for path in pictures} <= set(EXPERIMENTS)


def figures() -> str:
    """Return the sources of all modules that draw figures."""
    return "".join(page.read_text(encoding="utf-8") for page in sorted((ROOT / "tools" / "drawings").glob("*.py")))


def test_the_tests_that_pages_name_exist() -> None:
    named = {
        (name(page), test)
        for page in PAGES
        for part in _TESTS.findall(page.read_text(encoding="utf-8"))
        for test in re.findall(r"`(\w+_\w+_\w+)`", "".join(part))
    }
    assert named, "no page names a test"
    missing = sorted(f"{page}: {test}" for page, test in named if test not in known_tests())
    assert not missing, missing


@pytest.mark.parametrize(("example", "lines"), [("dumbbell.toml", 11), ("merge.toml", 12)])
def test_the_scenarios_of_the_front_page_are_files(example: str, lines: int) -> None:
    file = (ROOT / "docs" / "examples" / example).read_text(encoding="utf-8")
    assert f"```toml\n{file}```" in (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(file.splitlines()) == lines


def test_the_front_page_has_the_numbers_of_disciplines_and_experiments_and_each_discipline_has_a_mention() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    names: dict[str, list[str]] = json.loads(_native.names())
    assert f"{len(names['disciplines'])} queue disciplines (" in text
    assert f" {len(EVERY)} experiments of published work" in text
    every = (ROOT / "docs" / "mechanisms" / "README.md").read_text(encoding="utf-8")
    assert [name for name in names["disciplines"] if not re.search(rf"\b{name}\b", every)] == []
