"""Values of a document: kinds with parameters, conversion to TOML, and reading of files."""

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
"""Value in a document; quantities are texts with a unit, such as "10Mbit/s"."""
Table: TypeAlias = dict[str, Value]
"""Table of a document: values by key."""


def kind(name: Kind, **parameters: Value) -> Table:
    """Return the table of a kind with its parameters, which is not checked; underscores in names become hyphens.

    `tailback.names()` lists the kinds, and `tailback.explain(name)` describes the parameters of a kind.
    """
    return {"kind": name, **keys(parameters)}


def source(name: SourceKind, **parameters: Value) -> Table:
    """Return the table of a traffic model, such as `source("cbr", rate="1Mbit/s", packet="1000B")`."""
    return kind(name, **parameters)


def discipline(name: DisciplineKind, **parameters: Value) -> Table:
    """Return the table of a queue discipline, such as `discipline("drop-tail")`."""
    return kind(name, **parameters)


def tcp(**parameters: Value) -> Table:
    """Return the table of TCP as a transport, such as `tcp(recovery="sack", ecn="classic")`."""
    return kind("tcp", **parameters)


def read_document(path: str | PathLike[str]) -> str:
    """Return the text of a scenario or study file; "-" is standard input, which can be read once.

    Raises:
        ScenarioError: The file is not UTF-8 text.
        OSError: The file cannot be read.

    """
    data = sys.stdin.buffer.read() if str(path) == "-" else Path(fspath(path)).read_bytes()
    # UTF-16 text of ASCII letters without a byte order mark is valid UTF-8, too, with a zero byte beside each letter.
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) or b"\0" in data:
        advice = "save it as UTF-8; in Windows PowerShell `>` writes UTF-16, and `| Out-File -Encoding utf8` does not"
        raise unreadable(str(path), "the file seems to be UTF-16; a document is UTF-8 text", advice)
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        message = f"line {line} is not UTF-8 text: byte {data[error.start]:#04x} at offset {error.start}"
        raise unreadable(str(path), message, "save the file as UTF-8") from None


def toml_value(value: Value, _depth: int = 0) -> str:
    """Return a value as one line of TOML, as `--set` reads it; raises ScenarioError if it is nested too deeply."""
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
"""Maximum nesting of tables and lists, as in the core; valid documents have about ten levels."""


def check_depth(depth: int) -> None:
    """Raise ScenarioError if `depth` exceeds the maximum nesting of tables and lists."""
    if depth > _MAX_DEPTH:
        advice = "no key of a document is nested deeper than about ten tables"
        raise unreadable("<scenario>", f"tables and lists are nested too deep: more than {_MAX_DEPTH} levels", advice)


def copied(value: object, depth: int = 0) -> object:
    """Return a deep copy of tables and lists; raises ScenarioError if they are nested too deeply, as in a cycle."""
    if isinstance(value, Mapping):
        check_depth(depth)
        return {key: copied(item, depth + 1) for key, item in value.items()}
    if isinstance(value, list | tuple):
        check_depth(depth)
        return [copied(item, depth + 1) for item in value]
    return value


def keys(table: Mapping[str, Value]) -> Table:
    """Return a table with Python names converted to keys of a document, such as `response_time` to `response-time`.

    Underscores at the end, as in `from_`, are removed.
    """
    return {key.rstrip("_").replace("_", "-"): value for key, value in table.items()}


def given(**options: Value | None) -> Table:
    """Return the options that are not `None`, with names converted to keys of a document."""
    return keys({key: value for key, value in options.items() if value is not None})
