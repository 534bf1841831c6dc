"""Writes python/tailback/scenario/kinds.py: names of kinds as types, so that type checkers find misspelt names.

With --check, only compares the file with the schema; the exit code is 1 if they differ.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from pathlib import Path

from tailback import _native

FILE = Path(__file__).resolve().parent.parent / "python" / "tailback" / "scenario" / "kinds.py"

_HEAD = '''"""Names of kinds as types, for type checkers. Generated from the schema by tools/kinds.py."""

from __future__ import annotations

from typing import Literal, TypeAlias

__all__ = ["DisciplineKind", "Kind", "SourceKind"]
'''


def text() -> str:
    """Return the source of the module."""
    names: dict[str, list[str]] = json.loads(_native.names())
    return _HEAD + "".join(
        [
            _type("SourceKind", names["sources"], "Name of a traffic model."),
            _type("DisciplineKind", names["disciplines"], "Name of a queue discipline."),
            _type("Kind", sorted(set(_kinds(json.loads(_native.schema())))), "Value of any key `kind`."),
        ]
    )


def _type(name: str, kinds: list[str], about: str) -> str:
    """Return the source of a type that is one of the names in `kinds`, with `about` as its docstring."""
    lines = "".join(f'    "{kind}",\n' for kind in kinds)
    return f'\n{name}: TypeAlias = Literal[\n{lines}]\n"""{about}"""\n'


def _kinds(node: object) -> Iterator[str]:
    """Yield every value that a key `kind` may have anywhere in the schema."""
    if isinstance(node, dict):
        kind = node.get("properties", {}).get("kind", {})
        if "const" in kind:
            yield kind["const"]
    for inner in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
        yield from _kinds(inner)


def main() -> int:
    """Write or check the file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; exit code 1 if the file is stale")
    check = parser.parse_args().check
    source = text()
    if not check:
        FILE.write_text(source, encoding="utf-8")
        return 0
    if not FILE.exists() or FILE.read_text(encoding="utf-8") != source:
        print(f"{FILE} is stale: run tools/kinds.py", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
