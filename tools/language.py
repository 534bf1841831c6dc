"""Checks the language of comments, docstrings and pages.

Usage: python tools/language.py [PATH...]. Default: the paths of `CHECKED`.

The words are those of the table "Words that are not used" in docs/glossary.md. Code is not checked, nor, in prose, text
in backticks or double quotes and the targets of links. Prints the findings with their places; the exit code is 1 if
there are any, or if a path does not exist.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
GLOSSARY = ROOT / "docs" / "glossary.md"
# Paths that must have no findings; a test checks them.
CHECKED: tuple[str, ...] = (
    "CONTRIBUTING.md",
    "README.md",
    "crates/bench",
    "crates/compiled",
    "crates/diffserv",
    "crates/document",
    "crates/measure",
    "crates/parallel",
    "crates/py",
    "crates/qdisc",
    "crates/random",
    "crates/router",
    "crates/scenario",
    "crates/sim",
    "crates/traffic",
    "crates/transport",
    "crates/units",
    "crates/user",
    "crates/wasm",
    "docs",
    "fuzz",
    "python/tailback",
    "python/tests",
    "tools",
    "validation",
)
# Generated pages, which are skipped in directories. Their sources are checked instead: doc comments and templates here,
# the texts of experiments by python/tests/test_language.py.
GENERATED: tuple[str, ...] = ("docs/results", "docs/router-examples.md", "docs/scenarios.md")
# Plain phrases that contain a word of the table and are allowed: "two ways to divide it", "so long that it overflows".
PLAIN = re.compile(
    r"\bways (?:to|of \w+ing|in which)\b|\bin (?:\w+ )?ways\b|\bunless told otherwise\b"
    r"|\bso (?:many|much|long|often)\b(?=[^.;:]* that\b)",
    re.IGNORECASE,
)
# A doc comment begins with the item or its action, not with a question word or a negative pronoun.
OPENINGS = re.compile(r"(What|Whether|None|Who|Whose|How|Nobody|Nothing)\b(?!:)")
SUFFIXES = {".rs", ".py", ".pyi", ".md"}

# A comment, a docstring or a line of a page: number of its first line, `True` for a doc comment or a docstring, text.
Paragraph = tuple[int, bool, str]


def banned() -> list[tuple[re.Pattern[str], str]]:
    """Return the expressions of the glossary's table of words that are not used, each with its replacement."""
    section = GLOSSARY.read_text(encoding="utf-8").split("## Words that are not used", 1)[1].split("\n## ", 1)[0]
    rows = [line.strip("|").split("|") for line in section.splitlines() if line.startswith("| ")]
    found = []
    for left, right, *_ in rows[1:]:
        forms = "|".join(re.escape(form.strip()) for form in left.split(";"))
        found.append((re.compile(rf"\b(?:{forms})\b", re.IGNORECASE), right.strip()))
    return found


def rust(text: str) -> Iterator[Paragraph]:
    """Yield the comments of a Rust source that have lines of their own; adjacent lines of one kind are joined."""
    first, lines, kind = 0, [], ""
    for number, line in enumerate([*text.splitlines(), ""], start=1):
        found = re.match(r"\s*(///|//!|//)(?!/)\s?(.*)", line)
        if found and found[1] == kind:
            lines.append(found[2])
            continue
        if lines:
            yield first, kind != "//", " ".join(lines)
        first, kind, lines = (number, found[1], [found[2]]) if found else (0, "", [])


def python(text: str) -> Iterator[Paragraph]:
    """Yield the docstrings of modules, classes and functions, and each line that is a comment, of a Python source."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            docstring = ast.get_docstring(node)
            if docstring:
                yield node.body[0].lineno, True, " ".join(docstring.split())
    for number, line in enumerate(text.splitlines(), start=1):
        found = re.match(r"\s*#(?!!)\s?(.*)", line)
        if found:
            yield number, False, found[1]


def markdown(text: str) -> Iterator[Paragraph]:
    """Yield the lines of a page, except blocks of code and the table of words that are not used."""
    fenced = listed = False
    for number, line in enumerate(text.splitlines(), start=1):
        if line.startswith("```"):
            fenced = not fenced
        if line.startswith("## "):
            listed = line == "## Words that are not used"
        if not fenced and not listed:
            yield number, False, line


def banned_words_in(prose: str, table: list[tuple[re.Pattern[str], str]]) -> Iterator[str]:
    """Yield the first occurrence of each row of the table in a text, with its replacement and the text around it."""
    prose = PLAIN.sub("``", prose)
    for form, replacement in table:
        hit = form.search(prose)
        if hit:
            yield f"`{hit[0]}`; write {replacement}: {prose[max(0, hit.start() - 30) : hit.end() + 30]}"


READERS = {".rs": rust, ".py": python, ".pyi": python, ".md": markdown}


def findings(path: Path) -> Iterator[str]:
    """Yield the findings in a file, each with its place."""
    table = banned()
    for number, opens, paragraph in READERS[path.suffix](path.read_text(encoding="utf-8")):
        place = f"{path}:{number}"
        prose = re.sub(r"`[^`]*`|\"[^\"]*\"|\]\([^)]*\)", "``", paragraph)
        found = OPENINGS.match(prose) if opens else None
        if found:
            yield f"{place}: a doc comment begins with `{found[0]}`; name the item, or its action: {paragraph[:60]}"
        yield from (f"{place}: {finding}" for finding in banned_words_in(prose, table))


def files(paths: list[str]) -> Iterator[Path]:
    """Yield the files at or below the paths, which are relative to the repository.

    Generated files and directories `target` in directories, and files with a suffix that is not in `SUFFIXES`, are
    skipped.
    """
    generated = [ROOT / name for name in GENERATED]
    for name in paths:
        path = ROOT / name
        if not path.exists():
            sys.exit(f"there is no {path}")
        inside = (each for each in path.rglob("*") if not any(each.is_relative_to(page) for page in generated))
        found = sorted(each for each in inside if each.is_file()) if path.is_dir() else [path]
        yield from (each for each in found if each.suffix in SUFFIXES and "target" not in each.parts)


def main() -> None:
    """Check the paths and print the findings."""
    found = [finding for path in files(sys.argv[1:] or list(CHECKED)) for finding in findings(path)]
    for finding in found:
        print(finding.removeprefix(f"{ROOT}/"))
    if found:
        sys.exit(f"{len(found)} findings")


if __name__ == "__main__":
    main()
