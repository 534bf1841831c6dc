"""Subjects of an evaluation, disciplines or congestion controls: their texts on the command line, their parameters."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import cast

from tailback import _native
from tailback.errors import ScenarioError, UsageError, unreadable
from tailback.evaluation.component import COMPILED, Component, component, component_of_file
from tailback.laws.classes import Role as UserRole
from tailback.scenario import Scenario, Table, Value, read_document, toml_value

__all__ = ["DISCIPLINE", "TRANSPORT", "Role", "Subject", "kinds", "split", "subject"]


@dataclass(frozen=True, slots=True)
class Role:
    """Part of a scenario that is evaluated: the discipline of the bottleneck, or the congestion control of flows."""

    key: str
    """Key of the table in files, and of the name in the JSON of a card."""
    title: str
    """Name in texts, such as "discipline"."""
    plural: str
    names: str
    """Key of the kinds in the names of the core."""
    example: str
    """Inline table, as an example in messages."""
    inner: tuple[str, ...]
    """Keys that lead from the table to that of the kind and its parameters."""
    definition: tuple[str, ...]
    """Keys that lead to the forms of the kinds in the definitions of the schema."""
    whole: Callable[[Table], Table]
    """Returns the table of a scenario for a given one, which may be the inner table only."""
    document: Callable[[Table], Table]
    """Returns a small scenario with a table, by which the table is checked."""
    found: Callable[[Mapping[str, object]], object]
    """Returns the table in a file; `None`: there is none."""
    user: UserRole
    """Role of the user's components that are evaluated."""

    def part(self, table: Mapping[str, Value]) -> Mapping[str, Value]:
        """Return the table of the kind and its parameters."""
        for key in self.inner:
            table = cast("Mapping[str, Value]", table[key])
        return table


def _port(table: Table) -> Table:
    return (
        Scenario(duration="1s", framing="none")
        .host("a")
        .host("b")
        .switch("left", ports={"b": {"buffer": "83packets", "discipline": table}})
        .link(["a", "left"], rate="1Gbit/s")
        .link(["left", "b"], rate="10Mbit/s")
        .flow("data", "a", "b", {"kind": "cbr", "rate": "1Mbit/s", "packet": "1000B"})
        .document
    )


def _connection(table: Table) -> Table:
    return (
        Scenario(duration="1s", framing="none")
        .host("a")
        .host("b")
        .link(["a", "b"], rate="10Mbit/s")
        .flow("data", "a", "b", {"kind": "bulk"}, transport=table)
        .document
    )


_CONTROL = "congestion-control"


def _transport(given: Table) -> Table:
    """Return the table of a transport for that of a congestion control or of a transport.

    DCTCP has ECN unless the table says otherwise, since it needs the marks (RFC 8257 section 3).
    """
    if given["kind"] not in json.loads(_native.names())["transports"]:
        given = {"kind": "tcp", _CONTROL: given}
    if given["kind"] != "tcp":
        raise UsageError(f"congestion controls are evaluated with the transport `tcp`, not `{given['kind']}`")
    control = given.get(_CONTROL, {"kind": "reno"})
    table: Table = {**given, _CONTROL: control}
    if isinstance(control, Mapping) and control.get("kind") == "dctcp":
        table.setdefault("ecn", "classic")
    return table


def _of_flows(document: Mapping[str, object]) -> object:
    """Return the table `transport` of a file, or the only one of the flows of a scenario."""
    if "transport" in document:
        return document["transport"]
    groups = document.get("flows")
    rows = groups if isinstance(groups, list) else []
    tables = [row["transport"] for row in rows if isinstance(row, dict) and "transport" in row]
    different = [table for k, table in enumerate(tables) if table not in tables[:k]]
    if len(different) > 1:
        raise UsageError(
            f"the flows of the scenario have {len(different)} different transports; write the one to evaluate as "
            "`transport = { ... }` in a file of its own"
        )
    return different[0] if different else None


DISCIPLINE = Role(
    "discipline",
    "discipline",
    "disciplines",
    "disciplines",
    '{ kind = "pie", target = "20ms" }',
    (),
    ("Network", "properties", "discipline"),
    lambda table: table,
    _port,
    lambda document: document.get("discipline"),
    "law",
)
TRANSPORT = Role(
    "transport",
    "congestion control",
    "congestion controls",
    "congestion-controls",
    '{ kind = "cubic", beta = 0.5 }',
    (_CONTROL,),
    ("Cc",),
    _transport,
    _connection,
    _of_flows,
    "congestion-control",
)


@dataclass(frozen=True, slots=True)
class Subject:
    """A discipline or a congestion control to evaluate or to compare with."""

    name: str
    """Kind, with the parameters that are given, such as "pie target=20ms"."""
    table: Table
    """Value of `discipline` or of `transport` in a scenario."""
    folder: str = ""
    """Folder to which paths of files in the table are relative."""
    role: Role = DISCIPLINE

    @property
    def kind(self) -> str:
        """Name of the kind."""
        return str(self.role.part(self.table)["kind"])

    def with_values(self, values: Mapping[str, Value]) -> Subject:
        """Return the subject with keys of its table changed; the name stays."""
        return Subject(self.name, {**self.table, **values}, self.folder, self.role)

    def accepts(self, values: Mapping[str, Value]) -> bool:
        """Return `True` if a scenario with these keys is valid."""
        try:
            self.with_values(values).check()
        except ScenarioError:
            return False
        return True

    def check(self) -> None:
        """Check the table in a small scenario; raises ScenarioError."""
        Scenario.from_document(self.role.document(self.table), self.folder).check()

    @property
    def component(self) -> Component | None:
        """The user's component; `None`: the kind is a built-in one."""
        return component(self.role.part(self.table), self.folder)

    @property
    def parameters_given(self) -> int:
        """Number of parameters that the table gives."""
        own = self.component
        return len(self.table) - 1 if own is None else len(own.given)

    def change(self, name: str, value: Value) -> dict[str, Value]:
        """Return the keys of the table by which the parameter `name` has this value."""
        own = self.component
        return {name: value} if own is None else own.change(name, value)

    @property
    def parameters(self) -> dict[str, Value | None]:
        """Parameters with their values: those given, else the defaults; `None`: a parameter without a default.

        A kind that the schema does not describe has only the parameters that are given. A user's component has those of
        its table `parameters` and, if it is a class of Python, those of `__init__`.
        """
        if (own := self.component) is not None:
            return own.parameters
        described = {
            name: value for name, value in _defaults(self.role.definition, self.kind).items() if name != "kind"
        }
        given = {name: value for name, value in self.role.part(self.table).items() if name != "kind"}
        return {**described, **given}


@cache
def kinds(role: str = DISCIPLINE.names) -> tuple[str, ...]:
    """Return the names of the kinds of a role, by its key in the names of the core."""
    return tuple(json.loads(_native.names())[role])


@cache
def _defaults(definition: tuple[str, ...], kind: str) -> dict[str, Value | None]:
    """Return the parameters of a kind with their defaults by the schema; empty for a kind that it does not have."""
    definitions = json.loads(_native.schema())["$defs"]
    found = definitions
    for key in definition:
        found = found[key]
    if "$ref" in found:
        found = definitions[found["$ref"].rpartition("/")[2]]
    for form in found["oneOf"]:
        properties = form.get("properties", {})
        if properties.get("kind", {}).get("const") == kind:
            return {name: body.get("default") for name, body in properties.items()}
    return {}


def split(text: str) -> list[str]:
    """Return the parts of a list with commas; those within braces, brackets and quotes do not separate."""
    parts = re.findall(r"(?:\{(?:[^{}]|\{[^{}]*\})*\}|\"[^\"]*\"|\[[^\]]*\]|[^,])+", text)
    return [part.strip() for part in parts if part.strip()]


def subject(text: str, role: Role = DISCIPLINE) -> Subject:
    """Return the subject of a text: a kind, an inline table, or a TOML file that has the table.

    Raises:
        UsageError: The text is none of these.
        ScenarioError: The file or the table is invalid.

    """
    found = _read(text.strip(), role)
    found.check()
    return found


def _read(text: str, role: Role) -> Subject:
    key = role.key
    if text.startswith("{"):
        try:
            table = tomllib.loads(f"{key} = {text}")[key]
        except tomllib.TOMLDecodeError as error:
            raise UsageError(
                f"{text!r} is not an inline table: {error}; write, for example, '{role.example}'"
            ) from None
        return _named(table, "", text, role)
    names = kinds(role.names)
    if text in names:
        return Subject(text, role.whole({"kind": text}), "", role)
    if Path(text).suffix in (".py", *COMPILED) and Path(text).is_file():
        return _named(component_of_file(Path(text), role.user), str(Path(text).parent), text, role)
    if Path(text).is_file():
        advice = f"write `{key} = {{ kind = ... }}`"
        try:
            document = tomllib.loads(read_document(text))
        except tomllib.TOMLDecodeError as error:
            raise unreadable(text, f"the file is not TOML: {error}", advice) from None
        table = role.found(document)
        if not isinstance(table, dict):
            raise unreadable(text, f"the file has no table `{key}`", advice)
        return _named(table, str(Path(text).parent), text, role)
    near = get_close_matches(text, names, n=1)
    advice = f"did you mean {near[0]!r}?" if near else "`tailback list` shows the kinds"
    raise UsageError(f"{text!r} is neither a kind of {role.title}, nor an inline table, nor a file; {advice}")


def _named(table: object, folder: str, where: str, role: Role) -> Subject:
    if not isinstance(table, dict) or not isinstance(table.get("kind"), str):
        advice = f"write, for example, {role.key} = {role.example}"
        raise unreadable(where, f"the {role.title} has no `kind`", advice)
    whole = role.whole(cast(Table, table))
    part = role.part(whole)
    if not isinstance(part, dict) or not isinstance(part.get("kind"), str):
        raise unreadable(where, f"the {role.title} has no `kind`", f"write, for example, {role.example}")
    # Keys that were given with the table around that of the kind, such as `ecn` of a transport.
    outer = table if role.inner and table["kind"] == whole["kind"] else {}
    own = component(part, folder)
    title, shown = (part["kind"], part) if own is None else (own.title, own.given)
    values = " ".join(
        f"{name}={value if isinstance(value, str) else toml_value(value)}"
        for name, value in {**shown, **outer}.items()
        if name not in ("kind", *role.inner)
    )
    return Subject(f"{title} {values}".rstrip(), whole, folder, role)
