"""Values of a document: kinds with parameters, TOML text, and files read as text."""

from __future__ import annotations

import codecs
import json
import sys
from collections.abc import Mapping, Sequence
from os import PathLike, fspath
from pathlib import Path
from typing import TypeAlias

from tailback.errors import unreadable
from tailback.scenario.kinds import DisciplineKind, Kind, SourceKind

__all__ = [
    "Table",
    "Value",
    "check_depth",
    "copied",
    "discipline",
    "given",
    "keys",
    "kind",
    "read_document",
    "source",
    "tcp",
    "toml_value",
]

Value: TypeAlias = "str | int | float | bool | Sequence[Value] | Mapping[str, Value]"
Table: TypeAlias = dict[str, Value]


def kind(name: Kind, **parameters: Value) -> Table:
    """Return a registered kind with its parameters; `response_time` is written `response-time`.

    `tailback.names()` lists the kinds and `tailback.explain(name)` describes the parameters of one.
    """
    return {"kind": name, **keys(parameters)}


def source(name: SourceKind, **parameters: Value) -> Table:
    """Return a traffic model, such as `source("cbr", rate="1Mbit/s", packet="1000B")`."""
    return kind(name, **parameters)


def discipline(name: DisciplineKind, **parameters: Value) -> Table:
    """Return a queue discipline, such as `discipline("drop-tail")`."""
    return kind(name, **parameters)


def tcp(**parameters: Value) -> Table:
    """Return TCP as a flow's transport, such as `tcp(recovery="sack", ecn="classic")`."""
    return kind("tcp", **parameters)


def read_document(path: str | PathLike[str]) -> str:
    """Return the text of a scenario or study file; "-" is standard input, which can be read once.

    Raises:
        ScenarioError: It is not UTF-8 text.

    """
    data = sys.stdin.buffer.read() if str(path) == "-" else Path(fspath(path)).read_bytes()
    # UTF-16 without a byte order mark is valid UTF-8 too, with a zero after every letter.
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) or b"\0" in data:
        advice = "save it as UTF-8; in Windows PowerShell `>` writes UTF-16, and `| Out-File -Encoding utf8` does not"
        raise unreadable(str(path), "this looks like UTF-16, and a document is UTF-8 text", advice)
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        message = f"line {line} is not UTF-8 text: byte {data[error.start]:#04x} stands at offset {error.start}"
        raise unreadable(str(path), message, "save the file as UTF-8") from None


def toml_value(value: Value, _depth: int = 0) -> str:
    """Write a value in the form that `--set` reads: TOML on one line; raises ScenarioError if nested too deeply."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)  # a JSON string is a TOML basic string
    if isinstance(value, int | float):
        return repr(value)
    check_depth(_depth)
    if isinstance(value, Mapping):
        items = (f"{toml_value(key)} = {toml_value(item, _depth + 1)}" for key, item in value.items())
        return "{" + ", ".join(items) + "}"
    return "[" + ", ".join(toml_value(item, _depth + 1) for item in value) + "]"


_MAX_DEPTH = 100
"""Upper bound of the nesting of tables and lists; documents have some ten levels, the core's readers permit these."""


def check_depth(depth: int) -> None:
    """Raise ScenarioError if tables and lists are nested too deeply."""
    if depth > _MAX_DEPTH:
        advice = "no key of a document is nested deeper than about ten tables"
        raise unreadable("<scenario>", "tables and lists are nested too deep", advice)


def copied(value: object, depth: int = 0) -> object:
    """Return a copy of tables and lists; raises ScenarioError if they contain themselves."""
    if isinstance(value, Mapping):
        check_depth(depth)
        return {key: copied(item, depth + 1) for key, item in value.items()}
    if isinstance(value, list | tuple):
        check_depth(depth)
        return [copied(item, depth + 1) for item in value]
    return value


def keys(table: Mapping[str, Value]) -> Table:
    """Write Python names as the document's keys."""
    return {key.rstrip("_").replace("_", "-"): value for key, value in table.items()}


def given(**options: Value | None) -> Table:
    """Return the given values, with the document's keys."""
    return keys({key: value for key, value in options.items() if value is not None})
