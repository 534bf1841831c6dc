"""Writes docs/router-examples.md: configurations after public documents, and what is simulated of each.

The remarks are those of the importer; the other texts are in python/tests/samples_public.py. With --check, nothing is
written; the exit code is 1 if the page is stale.
"""

from __future__ import annotations

import argparse
import importlib
import sys
from pathlib import Path
from typing import Any

from tailback.router.policy import Imported, import_configuration

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "router-examples.md"
TESTS = ROOT / "python" / "tests"

_HEAD = """\
# Router configurations of others

Configurations after public documents of several platforms, with names and addresses of our own: the first lines of
each file name the document and say what was completed. For each: what is simulated, what is reported, and a traffic
table with an outcome that was computed by hand.
`test_flows_behind_a_public_configuration_have_the_results_computed_by_hand` runs all of them. Each line is simulated or
reported; lines that are "ignored" have no effect on queues. Remarks that can change the result are in **bold**.

Rows send at a constant rate; "gets" is the throughput at layer 3 of an overloaded row, or "all" if a row loses nothing.
`python tools/router_examples.py` writes this page. [What is understood and how it is mapped](import.md).
"""


def text() -> str:
    """Return the page."""
    sys.path.insert(0, str(TESTS))
    public: dict[str, Any] = importlib.import_module("samples_public").PUBLIC
    judging = importlib.import_module("judging")
    parts = [_HEAD, "\n| configuration | platform | simulated | by hand |\n|---|---|---|---|\n"]
    parts += [
        f"| [{name}](#{_anchor(name)}) | {one.platform} | {one.simulated} | {one.by_hand} |\n"
        for name, one in public.items()
    ]
    for name, one in public.items():
        file = TESTS / "router" / "public" / name
        language = "tc" if file.suffix == ".sh" else "mqc"
        rows = getattr(one.case, "rows", None)
        options = dict(getattr(one.case, "options", {}))
        table = None if rows is None else judging.csv(rows)
        found = import_configuration(language, file.read_text(), traffic=table, **options)  # type: ignore[arg-type]
        parts.append(f"\n## {name}\n\n[The text](../python/tests/router/public/{name})")
        parts.append("".join(f", `--{key} {value}`" for key, value in options.items()) + ".\n\n")
        if table is not None:
            parts.append(_traffic(table, one.case))
        parts.append(_reported(found))
    return "".join(parts)


def _anchor(name: str) -> str:
    """Return the fragment of the link to a configuration's heading."""
    return name.lower().replace(".", "")


def _traffic(table: str, case: Any) -> str:
    """Return a traffic table (CSV) as Markdown, with the expected outcome of each row in a last column."""
    head, *rows = (line.split(",") for line in table.splitlines())
    keep = [index for index, key in enumerate(head) if key not in ("src", "sport")]
    gets = {name: rate for name, rate in case.gets.items() if "+" not in name}
    lines = ["| " + " | ".join([*(head[index] for index in keep), "gets"]) + " |\n", "|---" * (len(keep) + 1) + "|\n"]
    for row in rows:
        outcome = (
            f"{gets[row[0]] / 1e6:.4g} Mbit/s" if row[0] in gets else "all" if row[0] in case.whole.split() else ""
        )
        lines.append("| " + " | ".join([*(row[index] for index in keep), outcome]) + " |\n")
    together = [
        f"{name.replace('+', ' and ')} together get {rate / 1e6:.4g} Mbit/s.\n"
        for name, rate in case.gets.items()
        if "+" in name
    ]
    return "".join(lines) + "\n" + "".join(together) + ("\n" if together else "")


def _reported(found: Imported) -> str:
    """Return all remarks with their lines; of remarks on ignored lines, only the line numbers."""
    lines = []
    for notice in found.notices:
        if notice.level == "ignored":
            continue
        place = f"line {notice.line}: " if notice.line else ""
        message = notice.message.replace("|", "\\|").replace("*", "\\*")
        shown = f"{place}{notice.level}: {message}"
        lines.append(f"- **{shown}**\n" if notice.affects else f"- {shown}\n")
    quiet = sorted({notice.line for notice in found.notices if notice.level == "ignored"})
    if quiet:
        lines.append(f"- ignored: line{'s' if len(quiet) > 1 else ''} {', '.join(map(str, quiet))}\n")
    return "Reported:\n\n" + ("".join(dict.fromkeys(lines)) or "- nothing\n")


def main() -> int:
    """Write or check the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; exit code 1 if the page is stale")
    check = parser.parse_args().check
    page = text()
    if check:
        fresh = PAGE.exists() and PAGE.read_text() == page
        print("fresh" if fresh else f"{PAGE.relative_to(ROOT)} is stale: run python tools/router_examples.py")
        return 0 if fresh else 1
    PAGE.write_text(page)
    return 0


if __name__ == "__main__":
    sys.exit(main())
