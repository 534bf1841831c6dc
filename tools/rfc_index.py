"""Writes docs/rfc-index.md: the files and the tests that cite each section of an RFC or draft.

A citation has the form "RFC 5681 section 3.1" (also "sections 4.1 and 4.2", "sections 5.4 to 5.7", "equation 3",
"appendix A"). In a file whose module documentation names only one document, "section 3.1" is a citation of that
document. With --check, nothing is written, and a stale page is an error.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "rfc-index.md"
SCRIPTS = ROOT / "crates" / "transport" / "tests" / "scripts"

_PART = r"(?:\d+|[A-Z]\b)(?:\.\d+)*[a-z]?"
_KIND = r"[Ss]ections?|[Aa]ppendix|appendices|[Ee]quations?"
_PARTS = rf"(?:{_KIND})\s+{_PART}(?:(?:,| and| to)\s+{_PART}(?!\w|\.\w))*"
_DOCUMENT = r"RFC \d+|draft-[a-z0-9]+(?:-[a-z0-9]+)+"
_CITATION = re.compile(rf"(?P<document>{_DOCUMENT})(?:'s)?(?:,? (?:\()?(?P<parts>{_PARTS}))?")
_BARE = re.compile(rf"(?P<parts>{_PARTS})")
_COMMENT = re.compile(r"^\s*(?://[/!]?|#)\s?")
_FUNCTION = re.compile(r"^(?P<indent>\s*)(?:pub(?:\([a-z]+\))? )?(?:const )?fn (?P<name>\w+)")

WHOLE = "whole"
"""Section of a citation that names only a document."""


@dataclass
class Rule:
    """Citations of a section."""

    sources: set[str] = field(default_factory=set)
    """Files outside tests that cite the section, relative to `crates`."""
    tests: set[str] = field(default_factory=set)
    """Names of the tests that cite it, or paths of files if the comment belongs to no single test."""


Index = dict[tuple[str, str], Rule]
"""Rules by document and section."""


def sections(parts: str | None) -> list[str]:
    """Return the sections in the text of a citation, such as "sections 4.1 and 4.2"; `WHOLE` if it has none."""
    if parts is None:
        return [WHOLE]
    kind = re.match(r"[A-Za-z]+", parts)
    assert kind
    prefix = {"e": "equation ", "a": "appendix "}.get(kind[0][0].lower(), "")
    found: list[str] = []
    for join, part in re.findall(rf"(,|and|to|{kind[0]})\s+({_PART})", parts):
        stem, _, last = part.rpartition(".")
        before = found[-1].removeprefix(prefix).rpartition(".") if found else ("", "", "")
        if join == "to" and before[0] == stem and before[2].isdigit() and last.isdigit():
            dotted = f"{stem}." if stem else ""
            found += [f"{prefix}{dotted}{n}" for n in range(int(before[2]) + 1, int(last) + 1)]
        else:
            found.append(prefix + part)
    return found


def comments(lines: list[str]) -> Iterator[tuple[int, str]]:
    """Yield consecutive comment lines as one text, and comments after code, each with the index of its first line."""
    start, text = 0, ""
    for number, line in [*enumerate(lines), (len(lines), "")]:
        mark = _COMMENT.match(line)
        if mark:
            start = start if text else number
            text += " " + line[mark.end() :].strip()
            continue
        if text:
            yield start, text
            text = ""
        _, slashes, rest = line.partition("// ")
        if slashes:
            yield number, rest


def citations(text: str, heading: str | None) -> Iterator[tuple[str, str]]:
    """Yield the documents and sections that a comment cites; `heading` is the document of sections that name none."""
    taken: list[tuple[int, int]] = []
    for found in _CITATION.finditer(text):
        taken.append(found.span())
        for section in sections(found["parts"]):
            yield found["document"], section
    if heading:
        for found in _BARE.finditer(text):
            of_a_paper = re.search(r"\b(?:19|20)\d\d, $", text[: found.start()])
            if not of_a_paper and not any(start <= found.start() < end for start, end in taken):
                for section in sections(found["parts"]):
                    yield heading, section


def heading_of(lines: list[str]) -> str | None:
    """Return the document that the module documentation of a file names; `None`: it names no document, or several."""
    text = " ".join(line for line in lines if line.startswith("//!"))
    documents = {found["document"] for found in _CITATION.finditer(text)}
    return documents.pop() if len(documents) == 1 else None


def test_at(lines: list[str], number: int) -> str | None:
    """Return the name of the test that contains or follows a comment; `None`: the comment belongs to no test."""
    below = number
    while below < len(lines) and (_COMMENT.match(lines[below]) or lines[below].lstrip().startswith("#[")):
        below += 1
    here = _FUNCTION.match(lines[below]) if below < len(lines) and not lines[number].startswith("//!") else None
    at = below
    if here is None:
        depth = len(lines[number]) - len(lines[number].lstrip())
        for at in range(number - 1, -1, -1):
            above = _FUNCTION.match(lines[at])
            if above and len(above["indent"]) < depth:
                here = above
                break
            if lines[at].strip() and len(lines[at]) - len(lines[at].lstrip()) == 0 and lines[at][0] != "}":
                break
    if here is None:
        return None
    marked = at - 1
    while marked >= 0 and (_COMMENT.match(lines[marked]) or lines[marked].lstrip().startswith("#[")):
        if lines[marked].strip() == "#[test]":
            return here["name"]
        marked -= 1
    return None


def read(path: Path, index: Index) -> None:
    """Add the citations of one Rust file to the index."""
    lines = path.read_text(encoding="utf-8").splitlines()
    is_test = "tests" in path.relative_to(ROOT).parts
    own = next((n for n, line in enumerate(lines) if line.strip() == "#[cfg(test)]"), len(lines))
    place = path.relative_to(ROOT / "crates").as_posix()
    for number, text in comments(lines):
        for document, section in citations(text, heading_of(lines)):
            rule = index[document, section]
            if is_test or number >= own:
                rule.tests.add(test_at(lines, number) or place)
            else:
                rule.sources.add(place)


def gather() -> Index:
    """Return all citations of the crates."""
    index: Index = defaultdict(Rule)
    for path in sorted((ROOT / "crates").rglob("*.rs")):
        if {"src", "tests"} & set(path.relative_to(ROOT / "crates").parts[1:2]):
            read(path, index)
    for path in sorted(SCRIPTS.glob("*.txt")):
        for _, text in comments(path.read_text(encoding="utf-8").splitlines()):
            for document, section in citations(text, None):
                index[document, section].tests.add(path.stem)
    for path in sorted(SCRIPTS.glob("*.pkt")):
        # Only the first line names what the script checks; its calculation may use other documents.
        for document, section in citations(path.read_text(encoding="utf-8").partition("\n")[0], None):
            index[document, section].tests.add(path.name)
    return versioned(index)


def versioned(index: Index) -> Index:
    """Return the index with citations of a draft without its version added to those with it."""
    versions = {re.sub(r"-\d\d$", "", document): document for document, _ in index if re.search(r"-\d\d$", document)}
    merged: Index = defaultdict(Rule)
    for (document, section), rule in index.items():
        into = merged[versions.get(document, document), section]
        into.sources |= rule.sources
        into.tests |= rule.tests
    return merged


def order(section: str) -> tuple[int, list[tuple[bool, int | str]]]:
    """Return the sort key of a section: first the whole document, then numbers, then equations, then appendices."""
    if section == WHOLE:
        return 0, []
    rank = 2 if section.startswith("equation") else 3 if section.startswith("appendix") else 1
    parts = re.findall(r"\d+|[A-Za-z]+", section.rpartition(" ")[2])
    return rank, [(part.isalpha(), int(part) if part.isdigit() else part) for part in parts]


def missing(index: Index, document: str, section: str) -> str:
    """Return the table's text for a section that no test cites: whether tests cite subsections of it."""
    within = "" if section == WHOLE else f"{section}."
    named = (part for (of, part), rule in index.items() if of == document and rule.tests)
    return "by section" if any(part.startswith(within) for part in named) else "none named"


def page(index: Index) -> str:
    """Return the page."""
    cited = sorted(
        {document for document, _ in index},
        key=lambda name: (name[0] == "d", int(name[4:]) if name[0] == "R" else 0, name),
    )
    implemented = [rule for rule in index.values() if rule.sources]
    named = sum(bool(rule.tests) for rule in implemented)
    lines = [
        "# Index of RFCs and drafts",
        "",
        "For each section that the Rust sources cite: the files of `crates` that implement it, and the tests that name",
        "it in their comments or in the heading of their file (then by its path). A test may check a rule and not name",
        'its section, so "none named" says no more than that no test cites it. "Whole" is a',
        "citation without a section.",
        "",
        f"The sources cite {len(implemented)} sections; tests name {named} of them.",
        "`python tools/rfc_index.py` writes this page from the sources.",
    ]
    for document in cited:
        lines += ["", f"## {document}", "", "| section | implemented in | tests |", "|---|---|---|"]
        for section in sorted((s for d, s in index if d == document), key=order):
            rule = index[document, section]
            sources = ", ".join(f"`{name}`" for name in sorted(rule.sources)) or "not named"
            tests = ", ".join(f"`{name}`" for name in sorted(rule.tests)) or missing(index, document, section)
            lines.append(f"| {section} | {sources} | {tests} |")
    return "\n".join(lines) + "\n"


def main() -> int:
    """Write or check the page."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="write nothing; exit code 1 if the page is stale")
    text = page(gather())
    if parser.parse_args().check:
        if not PAGE.exists() or PAGE.read_text(encoding="utf-8") != text:
            print(f"{PAGE.relative_to(ROOT)} is stale; run python tools/rfc_index.py")
            return 1
        return 0
    PAGE.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
