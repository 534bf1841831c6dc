"""Components of the user as subjects of an evaluation: their names, parameters and declared sizes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from tailback.errors import UsageError
from tailback.laws.classes import BASES, Role, roles_of
from tailback.laws.loading import load
from tailback.laws.parameters import defaults
from tailback.scenario import Table, Value

__all__ = ["COMPILED", "Component", "component", "component_of_file"]

COMPILED = (".so", ".dylib", ".dll", ".wasm", ".wat")
"""Suffixes of files whose classes cannot be listed."""
_TABLES: dict[str, tuple[str, ...]] = {"user": (), "user-scheduler": ("scheduler",)}
"""Kinds of the user's components, with the keys that lead to the table of file, class and parameters."""


@dataclass(frozen=True, slots=True)
class Component:
    """A component of the user: the table with its file, class and parameters."""

    table: Mapping[str, Value]
    keys: tuple[str, ...]
    """Keys that lead to the table from that of the kind."""
    folder: str
    interfaces: tuple[str, ...]
    """Interfaces that its class may implement."""

    @property
    def title(self) -> str:
        """Name for readers: the class and the name of the file."""
        return f"{self.table['class']} of {Path(str(self.table['file'])).name}"

    @property
    def given(self) -> Mapping[str, Value]:
        """Parameters that the table gives."""
        return cast("Mapping[str, Value]", self.table.get("parameters", {}))

    @property
    def is_compiled(self) -> bool:
        """`True` for machine code and WebAssembly, whose parameters are not listed."""
        return Path(str(self.table["file"])).suffix in COMPILED

    @property
    def law(self) -> type | None:
        """The class; `None`: it is compiled, or cannot be loaded."""
        if self.is_compiled:
            return None
        name, file = str(self.table["class"]), str(self.table["file"])
        folder, given = Path(self.folder), json.dumps(dict(self.given))
        tried = (load(one, folder, file, name, allow_files=False, parameters=given)[0] for one in self.interfaces)
        return next((law for law in tried if law is not None), None)

    @property
    def parameters(self) -> dict[str, Value | None]:
        """Parameters with their values: those given, else the defaults of `__init__`; `None`: there is no default."""
        law = self.law
        known = {} if law is None else defaults(law)
        # A default may be any object; its text is for readers only.
        plain = bool | int | float | str | None
        shown = {name: value if isinstance(value, plain) else repr(value) for name, value in known.items()}
        return {**shown, **self.given}

    @property
    def declares_state(self) -> bool:
        """`True` if the class, which is not compiled, or one of its bases declares `state_bytes`."""
        law = self.law
        own = [] if law is None else [part for part in law.__mro__ if not part.__module__.startswith("tailback.")]
        return any("state_bytes" in vars(part) for part in own)

    def change(self, name: str, value: Value) -> dict[str, Value]:
        """Return the keys of the kind's table by which the parameter `name` has this value."""
        parameters: Table = {**self.given, name: value}
        if not self.keys:
            return {"parameters": parameters}
        return {self.keys[0]: {**self.table, "parameters": parameters}}


def component(part: Mapping[str, Value], folder: str) -> Component | None:
    """Return the component that a table of a kind names; `None`: the kind is built-in, or the table is incomplete."""
    kind = part["kind"]
    if kind not in _TABLES:
        return None
    keys = _TABLES[str(kind)]
    inner: object = part[keys[0]] if keys and keys[0] in part else part
    if not isinstance(inner, Mapping) or not {"file", "class"} <= inner.keys():
        return None
    interfaces = ("scheduler",) if keys else ("queue-law", "congestion-control")
    return Component(inner, keys, folder, interfaces)


def component_of_file(path: Path, role: Role) -> Table:
    """Return the table for the only class of a file that has a role.

    Raises:
        UsageError: The file has no such class or several, or is compiled, so that its classes are not known.

    """
    example = f'{{ kind = "user", file = "{path}", class = "NAME" }}'
    if path.suffix in COMPILED:
        raise UsageError(f"{path.name} is compiled, so that its classes are not known here; name one: '{example}'")
    roles = roles_of(path)
    names = [name for name, found in roles.items() if found == role]
    if len(names) == 1:
        return {"kind": "user", "file": path.name, "class": names[0]}
    if names:
        raise UsageError(f"{path.name} has the classes {', '.join(names)}; name one: '{example}'")
    what = f"no class that is derived from tailback.{BASES[role]}"
    there = ", ".join(f"{name} ({found})" for name, found in roles.items())
    advice = ""
    if role == "law" and "scheduler" in roles.values():
        advice = (
            '; a scheduler needs its queues: write discipline = { kind = "user-scheduler", ... } into a file of TOML'
        )
    elif role == "law" and "congestion-control" in roles.values():
        advice = "; a congestion control is evaluated with --transport"
    elif role == "congestion-control" and "law" in roles.values():
        advice = "; a law is evaluated without --transport"
    raise UsageError(f"{path.name} has {what}" + (f"; its classes: {there}" if there else "") + advice)
