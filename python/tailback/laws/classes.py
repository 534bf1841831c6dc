"""Classes of users' files, found without running them."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Literal

from tailback.errors import UsageError

__all__ = ["BASES", "Role", "roles_of"]

Role = Literal["law", "congestion-control", "scheduler", "source"]
"""Interface of a component, as in `tailback new`."""

BASES: dict[Role, str] = {
    "law": "Law",
    "congestion-control": "CongestionControl",
    "scheduler": "Scheduler",
    "source": "Source",
}
"""Names of the base classes; those of compiled components have the prefix "Native"."""
_ROLES = {base: role for role, base in BASES.items()}


def roles_of(file: Path) -> dict[str, Role]:
    """Return the interface of each class of a file with a base of this package; the file is not run."""
    try:
        tree = ast.parse(file.read_bytes())
    except OSError as error:
        raise UsageError(f"{file} cannot be read: {error.strerror}") from None
    except (SyntaxError, ValueError):
        # The loader reports the error with its place.
        return {"Law": "law"}
    found: dict[str, Role] = {}
    for node in tree.body:
        for base in node.bases if isinstance(node, ast.ClassDef) else ():
            name = ast.unparse(base).rpartition(".")[2]
            # A class may be derived from another one of the file.
            if isinstance(node, ast.ClassDef) and (role := _ROLES.get(name.removeprefix("Native")) or found.get(name)):
                found[node.name] = role
    return found
