"""Parameters of a user's class: names, defaults, and messages about those that it refuses."""

from __future__ import annotations

import difflib
import inspect
import json
import re
import traceback
from collections.abc import Mapping
from typing import Any

from tailback.laws.component import NotADuration
from tailback.laws.loading import traceback_text

__all__ = ["defaults", "refusal"]

_WORD = re.compile(r"\w+")

Refusal = tuple[str, str | None, str | None, bool]
"""Message, advice or `None`, the parameter or `None`, and `True` if the class has that parameter."""


def _of(law: type) -> tuple[dict[str, inspect.Parameter], bool]:
    """Return the parameters of `__init__` that have a name, and whether it takes others, too."""
    # A class may set `__signature__` or have a metaclass; `__init__` is what receives the table.
    found = list(inspect.signature(law.__init__).parameters.values())[1:]  # type: ignore[misc]
    named = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    is_open = any(one.kind is inspect.Parameter.VAR_KEYWORD for one in found)
    return {one.name: one for one in found if one.kind in named}, is_open


def defaults(law: type) -> dict[str, Any]:
    """Return the parameters of a class with their defaults; `None`: a parameter without a default, or `None` itself."""
    known, _ = _of(law)
    return {name: None if one.default is inspect.Parameter.empty else one.default for name, one in known.items()}


def refusal(law: type, parameters: str, error: Exception) -> Refusal:
    """Return what is wrong with the `parameters` (JSON) of a class whose `__init__` has raised `error`."""
    given: dict[str, Any] = json.loads(parameters)
    return _of_names(law, given) or _of_duration(law, given, error) or (traceback_text(error), None, None, True)


def _of_names(law: type, given: Mapping[str, object]) -> Refusal | None:
    """Return the refusal of a parameter that the class does not have, or of one that it needs; `None`: neither."""
    known, is_open = _of(law)
    unknown = [name for name in given if name not in known and not is_open]
    if unknown:
        near = difflib.get_close_matches(unknown[0], known, 1)
        start = f"did you mean `{near[0]}`? " if near else ""
        listed = f"its parameters: {', '.join(known)}" if known else "the class takes no parameters"
        return f"`{law.__name__}` has no parameter `{unknown[0]}`", f"{start}{listed}", unknown[0], False
    needed = [name for name, one in known.items() if one.default is inspect.Parameter.empty and name not in given]
    if needed:
        names = " and ".join(f"`{name}`" for name in needed)
        return f"`{law.__name__}` needs {names}", f"write {names} into the table `parameters`", None, True
    return None


def _of_duration(law: type, given: Mapping[str, object], error: Exception) -> Refusal | None:
    """Return the refusal of a value that is no duration; `None`: the error is another one."""
    if not isinstance(error, NotADuration):
        return None
    value = error.value
    named = [name for name, one in given.items() if type(one) is type(value) and one == value]
    if len(named) > 1:
        # Of several parameters with this value, it is the one that the line of the call names.
        words = {
            word for frame in traceback.extract_tb(error.__traceback__) for word in _WORD.findall(frame.line or "")
        }
        named = [name for name in named if name in words]
    if len(named) != 1:
        # The value is a default of the class, or made by it: the traceback shows the place.
        return traceback_text(error), error.advice, None, True
    return f"`{named[0]}` of `{law.__name__}` expects a duration: {error.reason}", error.advice, named[0], True
