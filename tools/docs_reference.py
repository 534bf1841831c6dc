"""Writes docs/scenarios.md, the reference of the scenario document, from `tailback schema`.

The meaning, form, range and default of a key are those of the schema, which is generated from the types of the core.
The other text is in tools/scenarios.md. With --check, nothing is written, and a stale page is an error.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import tailback

HERE = Path(__file__).resolve().parent
TEMPLATE = HERE / "scenarios.md"
PAGE = HERE.parent / "docs" / "scenarios.md"
Node = Mapping[str, Any]

ORDER = re.findall(
    r"\S+",
    """
    tailback title description run network backpressure hosts switches links flows timeline
    kind name at between link flow switch from to pair class
    request scope detection notify addresses partition response signal response-time end-stations
    high low window horizon
    duration warmup seed replications confidence precision sample metric relative absolute
    classes routing framing count buffer discipline model latency ports obeys mtu header min-frame overhead
    file format loop scale-to packet burst size sizes rate interval on off slot load memory alpha
    service think main object objects parallel connections timeout median sigma mean least most
    number body tail
    delay length loss jitter phase fps smooth sources alpha-size alpha-gap distribution shape truncate
    start stop source application state
    """,
)
"""Keys in the usual order of writing; all others follow in alphabetical order."""

# Units in the pattern of a quantity: its last group, such as `(mm|m|km)`, before spaces and the end.
_UNIT = re.compile(r"\(((?:[\wµ/?\[\]]+\|?)+)\)\\s\*\$$")


class Schema:
    """JSON Schema of the scenario document, with methods that follow its references."""

    def __init__(self, root: Node) -> None:
        self.root = root

    def alternatives(self, node: Node) -> list[Node]:
        """Return the alternatives of a node, with references and choices resolved, and without null."""
        if "$ref" in node:
            return self.alternatives(self.root["$defs"][node["$ref"].rpartition("/")[2]])
        for choice in ("oneOf", "anyOf"):
            if choice in node:
                return [found for part in node[choice] for found in self.alternatives(part)]
        return [] if node.get("type") == "null" else [node]

    def tables(self, node: Node, within: tuple[str, ...] = ()) -> list[Node]:
        """Return the tables that a node may be, or may contain in a list or under keys chosen by the user.

        `within` are the references followed so far; a reference to one of them has no tables, so recursion ends.
        """
        if node.get("$ref") in within:
            return []
        within = (*within, node["$ref"]) if "$ref" in node else within
        found: list[Node] = []
        for part in self.alternatives(node):
            if "properties" in part:
                found.append(part)
            elif isinstance(part.get("additionalProperties"), dict):
                found += self.tables(part["additionalProperties"], within)
            elif "items" in part and part.get("type") == "array":
                found += self.tables(part["items"], within)
        return found


def form(schema: Schema, node: Node) -> str:
    """Return the form of a value, the text of the column "written as"."""
    format_name = str(node.get("format", ""))
    if format_name and not re.fullmatch(r"u?int\d*|double|float", format_name):
        return format_name
    if "$ref" in node:
        return form(schema, schema.root["$defs"][node["$ref"].rpartition("/")[2]])
    for choice in ("oneOf", "anyOf"):
        if choice in node:
            parts = [part for part in node[choice] if part.get("type") != "null"]
            found = dict.fromkeys(form(schema, part) for part in parts)
            all_have_kind = all(part.get("properties", {}).get("kind") for part in schema.alternatives(node))
            return "table with `kind`: " + ", ".join(found) if len(parts) > 1 and all_have_kind else " or ".join(found)
    kind = node.get("properties", {}).get("kind", {}).get("const")
    if kind:
        return f"`{kind}`"
    if "const" in node:
        return f'`"{node["const"]}"`'
    if "enum" in node:
        return " or ".join(f'`"{value}"`' for value in node["enum"])
    if isinstance(node.get("additionalProperties"), dict):
        inner = form(schema, node["additionalProperties"])
        return "table of tables by name" if "table" in inner else f"table of {inner}, by name"
    name = node.get("type")
    name = str(name[0] if isinstance(name, list) else name)
    names = {"integer": "whole number", "boolean": "true or false", "array": "list", "string": "text"}
    names["object"] = "table"
    return names.get(name, name)


def default(node: Node, required: bool) -> str:
    """Return "required", the default as TOML, or "absent" if there is none or it is an empty list or table."""
    if required:
        return "required"
    value = node.get("default")
    if value is None or value in ([], {}):
        return "absent"
    return f"`{_toml(value)}`"


def _toml(value: object) -> str:
    if isinstance(value, Mapping):
        inner = ", ".join(f"{key} = {_toml(found)}" for key, found in sorted(value.items(), key=_rank))
        return f"{{ {inner} }}"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return json.dumps(value, ensure_ascii=False)


def _rank(item: tuple[str, object]) -> tuple[int, str]:
    key = item[0]
    return (ORDER.index(key) if key in ORDER else len(ORDER), key)


def one_line(text: object) -> str:
    """Return a description as one line for a cell of a table."""
    return " ".join(str(text or "").split()).replace("|", "\\|")


def table(schema: Schema, node: Node) -> Iterator[str]:
    """Yield the lines of a Markdown table with a row for each key; no lines if `kind` is the only key."""
    keys = [(key, found) for key, found in sorted(node["properties"].items(), key=_rank) if key != "kind"]
    if not keys:
        return
    yield "| key | written as | default | meaning |"
    yield "|---|---|---|---|"
    for key, found in keys:
        about = found.get("description") or next((p.get("description") for p in schema.alternatives(found)), "")
        choices = [part for part in schema.alternatives(found) if "const" in part and part.get("description")]
        listed = "".join(f'<br>`"{part["const"]}"`: {one_line(part["description"])}' for part in choices)
        required = key in node.get("required", ())
        mark = " *Tunable.*" if found.get("x-tunable") else ""
        cells = (f"`{key}`", form(schema, found), default(found, required), one_line(about) + mark + listed)
        yield f"| {' | '.join(cells)} |"


def inner_tables(schema: Schema, node: Node, seen: set[str]) -> Iterator[tuple[str, Sequence[Node]]]:
    """Yield each key whose value is a table, with its possible tables, and add them to `seen`.

    Keys whose tables are in `seen` are left out: their tables are already on the page.
    """
    for key, found in sorted(node["properties"].items(), key=_rank):
        tables = schema.tables(found)
        name = json.dumps(tables, sort_keys=True)
        if tables and name not in seen:
            seen.add(name)
            yield key, tables


def section(schema: Schema, name: str, seen: set[str]) -> Iterator[str]:
    """Yield one section of the document with its tables."""
    node = schema.root["properties"][name]
    (top,) = schema.tables(node)
    seen.add(json.dumps([top], sort_keys=True))
    yield one_line(node.get("description")) + "\n"
    yield from _lines(table(schema, top))
    yield from _below(schema, top, seen)


def _below(schema: Schema, node: Node, seen: set[str]) -> Iterator[str]:
    """Yield the lines of the tables below a table, each followed by those below it; tables in `seen` are left out."""
    for key, tables in inner_tables(schema, node, seen):
        if all("kind" in part["properties"] for part in tables):
            yield f"### {key}: kinds\n"
            for part in tables:
                yield f'#### `{{ kind = "{part["properties"]["kind"]["const"]}" }}`\n'
                yield one_line(part.get("description")) + "\n"
                yield from _lines(table(schema, part), "No parameters.\n")
        else:
            # Without kinds the alternatives are one table and lists of the same, so the first is enough.
            yield f"### {key}\n"
            yield one_line(tables[0].get("description")) + "\n"
            yield from _lines(table(schema, tables[0]))
        for part in tables:
            yield from _below(schema, part, seen)


def _lines(rows: Iterator[str], otherwise: str = "") -> Iterator[str]:
    """Yield the rows of a table as one block, with an empty line after it; `otherwise` if there are no rows."""
    found = "\n".join(rows)
    if found:
        yield found + "\n"
    elif otherwise:
        yield otherwise


def units(schema: Schema) -> str:
    """Return the rows of the table of units, from the patterns in the schema."""
    found: dict[str, tuple[str, str]] = {}

    def visit(node: object) -> None:
        if isinstance(node, Mapping):
            match = _UNIT.search(str(node.get("pattern", "")))
            if match and "format" in node and node["format"] not in found:
                spelled = [unit for part in match[1].split("|") for unit in _spelled(part)]
                written = ", ".join(f'`"{example}"`' for example in node.get("examples", ()))
                found[node["format"]] = (", ".join(f"`{unit}`" for unit in spelled), written)
            for inner in node.values():
                visit(inner)
        elif isinstance(node, list):
            for inner in node:
                visit(inner)

    visit(schema.root)
    return "\n".join(f"| {name} | {spelled} | {written} |" for name, (spelled, written) in sorted(found.items()))


def _spelled(pattern: str) -> list[str]:
    """Return the units that a pattern such as `[kM]?B` matches."""
    match = re.fullmatch(r"\[(\w+)\](\??)(.*)", pattern)
    if not match:
        return [pattern]
    letters, optional, rest = match.groups()
    return ([rest] if optional else []) + [letter + rest for letter in letters]


def page(root: Node) -> str:
    """Return the page for a schema: the template, in which each line that begins with @ is replaced.

    `@example` is replaced by the smallest scenario, `@units` by the rows of the units, `@document` by the table of the
    sections, and `@section NAME` by the tables of a section.
    """
    schema = Schema(root)
    seen: set[str] = set()

    def filled(match: re.Match[str]) -> str:
        what, _, name = match[1].partition(" ")
        if what == "example":
            return (PAGE.parent / "examples" / "merge.toml").read_text(encoding="utf-8").rstrip()
        if what == "units":
            return units(schema)
        if what == "document":
            return "\n".join(table(schema, schema.root))
        return "\n".join(section(schema, name, seen)).rstrip()

    return re.sub(r"^@(.+)$", filled, TEMPLATE.read_text(encoding="utf-8"), flags=re.MULTILINE)


def main() -> int:
    """Write or check the page."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing; exit code 1 if the page is stale")
    parser.add_argument("--schema", type=Path, help="JSON file with the schema; default: that of the package")
    arguments = parser.parse_args()
    schema = json.loads(arguments.schema.read_text(encoding="utf-8")) if arguments.schema else tailback.schema()
    text = page(schema)
    if not arguments.check:
        PAGE.write_text(text, encoding="utf-8")
        return 0
    if PAGE.exists() and PAGE.read_text(encoding="utf-8") == text:
        return 0
    print(f"docs/{PAGE.name} is stale; run: python tools/docs_reference.py")
    return 1


if __name__ == "__main__":
    sys.exit(main())
