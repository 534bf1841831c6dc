"""Disciplines to evaluate: their texts on the command line, and their parameters by the schema."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import cast

from tailback import _native
from tailback.errors import ScenarioError, UsageError, unreadable
from tailback.scenario import Scenario, Table, Value, read_document, toml_value

__all__ = ["Subject", "kinds", "split", "subject"]


@dataclass(frozen=True, slots=True)
class Subject:
    """A discipline to evaluate or to compare with."""

    name: str
    """Kind, with the parameters that are given, such as "pie target=20ms"."""
    table: Table
    """Value of `discipline` in a scenario."""
    folder: str = ""
    """Folder to which paths of files in the table are relative."""

    @property
    def kind(self) -> str:
        """Name of the kind."""
        return str(self.table["kind"])

    def with_values(self, values: Mapping[str, Value]) -> Subject:
        """Return the discipline with parameters changed; the name stays."""
        return Subject(self.name, {**self.table, **values}, self.folder)

    def accepts(self, values: Mapping[str, Value]) -> bool:
        """Return `True` if a scenario with these parameters is valid."""
        try:
            self.with_values(values).check()
        except ScenarioError:
            return False
        return True

    def check(self) -> None:
        """Check the discipline at a port; raises ScenarioError."""
        document = (
            Scenario(duration="1s", framing="none")
            .host("a")
            .host("b")
            .switch("left", ports={"b": {"buffer": "83packets", "discipline": self.table}})
            .link(["a", "left"], rate="1Gbit/s")
            .link(["left", "b"], rate="10Mbit/s")
            .flow("data", "a", "b", {"kind": "cbr", "rate": "1Mbit/s", "packet": "1000B"})
            .document
        )
        Scenario.from_document(document, self.folder).check()

    @property
    def parameters(self) -> dict[str, Value | None]:
        """Parameters with their values: those given, else the defaults; `None`: a parameter without a default.

        A kind that the schema does not describe has only the parameters that are given.
        """
        described = {name: value for name, value in _defaults(self.kind).items() if name != "kind"}
        given = {name: value for name, value in self.table.items() if name != "kind"}
        return {**described, **given}


@cache
def kinds() -> tuple[str, ...]:
    """Return the names of the kinds of disciplines."""
    return tuple(json.loads(_native.names())["disciplines"])


@cache
def _defaults(kind: str) -> dict[str, Value | None]:
    """Return the parameters of a kind with their defaults by the schema; empty for a kind that it does not have."""
    definitions = json.loads(_native.schema())["$defs"]
    discipline = definitions["Network"]["properties"]["discipline"]["$ref"].rpartition("/")[2]
    for form in definitions[discipline]["oneOf"]:
        properties = form.get("properties", {})
        if properties.get("kind", {}).get("const") == kind:
            return {name: body.get("default") for name, body in properties.items()}
    return {}


def split(text: str) -> list[str]:
    """Return the parts of a list with commas; those within braces, brackets and quotes do not separate."""
    parts = re.findall(r"(?:\{(?:[^{}]|\{[^{}]*\})*\}|\"[^\"]*\"|\[[^\]]*\]|[^,])+", text)
    return [part.strip() for part in parts if part.strip()]


def subject(text: str) -> Subject:
    """Return the discipline of a text: a kind, an inline table, or a TOML file with the key `discipline`.

    Raises:
        UsageError: The text is none of these.
        ScenarioError: The file or the discipline is invalid.

    """
    found = _read(text.strip())
    found.check()
    return found


def _read(text: str) -> Subject:
    if text.startswith("{"):
        try:
            table = tomllib.loads(f"discipline = {text}")["discipline"]
        except tomllib.TOMLDecodeError as error:
            raise UsageError(
                f'{text!r} is not an inline table: {error}; write, for example, \'{{ kind = "pie", target = "20ms" }}\''
            ) from None
        return _named(table, "", text)
    if text in kinds():
        return Subject(text, {"kind": text})
    if Path(text).is_file():
        try:
            document = tomllib.loads(read_document(text))
        except tomllib.TOMLDecodeError as error:
            raise unreadable(text, f"the file is not TOML: {error}", "write `discipline = { kind = ... }`") from None
        if not isinstance(document.get("discipline"), dict):
            raise unreadable(text, "the file has no table `discipline`", "write `discipline = { kind = ... }`")
        return _named(document["discipline"], str(Path(text).parent), text)
    near = get_close_matches(text, kinds(), n=1)
    advice = f"did you mean {near[0]!r}?" if near else "`tailback list` shows the kinds"
    raise UsageError(f"{text!r} is neither a kind of discipline, nor an inline table, nor a file; {advice}")


def _named(table: object, folder: str, where: str) -> Subject:
    if not isinstance(table, dict) or not isinstance(table.get("kind"), str):
        raise unreadable(where, "the discipline has no `kind`", 'write, for example, discipline = { kind = "codel" }')
    values = " ".join(
        f"{name}={value if isinstance(value, str) else toml_value(value)}"
        for name, value in table.items()
        if name != "kind"
    )
    return Subject(f"{table['kind']} {values}".rstrip(), cast(Table, table), folder)
