"""Writes the tables of docs/rfc-scripts.md: the scripts in packetdrill's language, by section of an RFC.

A script begins with the comments `// RFC 5681 section 3.1`, `// checks: …` and, if a Linux kernel does not pass it,
`// not on linux: …` with the reason. With --check, nothing is written, and a stale page is an error.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections import defaultdict

from rfc_index import ROOT, SCRIPTS, citations, order

PAGE = ROOT / "docs" / "rfc-scripts.md"
BEGIN, END = "<!-- tables: tools/rfc_scripts.py -->", "<!-- end of the tables -->"


def paragraph(lines: list[str], key: str) -> str | None:
    """Return the comment that begins with `key`, up to an empty comment or the next key; `None`: there is none."""
    found: list[str] = []
    for line in lines:
        text = line.removeprefix("//").strip()
        if found and (not line.startswith("//") or not text or re.match(r"(?:[a-z]+ ){0,2}[a-z]+: ", text)):
            break
        if found or text.startswith(f"{key}: "):
            found.append(text)
    return " ".join(found).removeprefix(f"{key}: ") if found else None


def tables() -> str:
    """Return the tables, one for each document; exit if a script lacks a comment."""
    rows: dict[str, list[tuple[str, str, str, str]]] = defaultdict(list)
    for path in sorted(SCRIPTS.glob("*.pkt")):
        lines = path.read_text(encoding="utf-8").splitlines()
        cited = list(citations(lines[0], None))
        checks = paragraph(lines, "checks")
        if not cited or checks is None:
            raise SystemExit(f"{path.name}: the first lines name a section and what is checked")
        differs = paragraph(lines, "not on linux") or "no"
        for document, section in cited:
            rows[document].append((section, path.name, checks, differs))
    parts = [f"{len(list(SCRIPTS.glob('*.pkt')))} scripts."]
    for document in sorted(rows, key=lambda name: int(name[4:])):
        parts += ["", f"### {document}", "", "| section | script | checks | differs from Linux |", "|---|---|---|---|"]
        for section, name, checks, differs in sorted(rows[document], key=lambda row: (order(row[0]), row[1])):
            link = f"[{name}](../crates/transport/tests/scripts/{name})"
            parts.append(f"| {section} | {link} | {checks} | {differs} |")
    return "\n".join(parts)


def main() -> int:
    """Write or check the tables of the page."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="write nothing; exit code 1 if the page is stale")
    check = parser.parse_args().check
    old = PAGE.read_text(encoding="utf-8")
    before, _, rest = old.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not end:
        raise SystemExit(f"{PAGE.relative_to(ROOT)} has no place for the tables: {BEGIN} … {END}")
    new = f"{before}{BEGIN}\n\n{tables()}\n\n{END}{after}"
    if check and new != old:
        print(f"{PAGE.relative_to(ROOT)} is stale; run python tools/rfc_scripts.py")
        return 1
    if not check:
        PAGE.write_text(new, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
