"""Files with hashes, so that files that were damaged, truncated or overwritten are detected when they are read.

A document contains the hash of its content under `check`, and the hashes of its accompanying files. A document without
`check` was written by an earlier version and is accepted if it has the right shape.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any

__all__ = ["contents", "digest_of", "parsed", "reason", "sealed", "unfit"]

_CHECK = "check"
"""Key of a document's own hash."""


def contents(path: Path) -> bytes:
    """Return the content of a regular file; raises OSError for other files, since reading a pipe could block."""
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise OSError("it is not a regular file")
        with os.fdopen(handle, "rb", closefd=False) as file:
            return file.read()
    finally:
        os.close(handle)


def digest_of(data: bytes) -> str:
    """Return the SHA-256 of a file's content in hexadecimal, as `sha256sum` prints it."""
    return hashlib.sha256(data).hexdigest()


def sealed(document: Mapping[str, object], *, with_nan: bool = False) -> dict[str, object]:
    """Return a document with the hash of its content under `check`.

    Raises ValueError if a number is NaN or infinite, unless `with_nan` is true.
    """
    return {**document, _CHECK: _check(document, with_nan)}


def parsed(data: bytes, *, with_nan: bool = False) -> dict[str, Any]:
    """Return the document of a file's content; raises ValueError if it is invalid or its `check` is wrong.

    NaN and infinite numbers are invalid, unless `with_nan` is true.
    """
    try:
        found = json.loads(data.decode("utf-8"), parse_constant=float if with_nan else _no_number)
    except UnicodeDecodeError as error:
        raise ValueError(f"byte {error.start} is not UTF-8 text") from None
    except json.JSONDecodeError as error:
        raise ValueError(f"it is not JSON at line {error.lineno}, column {error.colno}") from None
    except RecursionError:
        raise ValueError("its tables and lists are nested too deeply") from None
    if not isinstance(found, dict):
        raise ValueError("it is not a table")
    try:
        check = _check(found, with_nan)
    except RecursionError:
        raise ValueError("its tables and lists are nested too deeply") from None
    if found.get(_CHECK, check) != check:
        raise ValueError("it is damaged: its content does not match its check")
    return found


def _check(document: Mapping[str, object], with_nan: bool) -> str:
    content = {key: value for key, value in document.items() if key != _CHECK}
    # Lone surrogates are rejected, too, by the encoding below: they cannot be printed.
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=with_nan)
    return digest_of(text.encode("utf-8"))[:32]


def _no_number(word: str) -> None:
    raise ValueError(f"{word} is not a number of JSON")


def reason(error: Exception) -> str:
    """Return the reason of a failed read, without the path, which the caller's message has."""
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


def unfit(value: object, shape: object, name: str = "it") -> str:
    """Return in words how a value first differs from a shape, calling the value `name`; empty if it does not differ.

    A shape is a type, a value, a list with the shape of all items, a tuple of alternative shapes, or a table of shapes
    by key, in which keys that end in a question mark are optional.
    """
    if isinstance(shape, tuple):
        return "" if any(not unfit(value, inner, name) for inner in shape) else f"{name} has a wrong type"
    if isinstance(shape, list):
        if not isinstance(value, list):
            return f"{name} is not a list"
        return next(filter(None, (unfit(item, shape[0], f"{name}[{i}]") for i, item in enumerate(value))), "")
    if isinstance(shape, dict):
        if not isinstance(value, dict):
            return f"{name} is not a table"
        for key, inner in shape.items():
            bare = key.removesuffix("?")
            if bare in value:
                if found := unfit(value[bare], inner, bare if name == "it" else f"{name}.{bare}"):
                    return found
            elif bare == key:
                return f"{name} has no {key}"
        return ""
    if not isinstance(shape, type):
        return "" if value == shape and type(value) is type(shape) else f"{name} is not {shape!r}"
    is_of_type = isinstance(value, shape) or (shape is float and isinstance(value, int))
    if not is_of_type or (isinstance(value, bool) and shape is not bool):
        return f"{name} has a wrong type"
    # Counts and seeds are below 2^63.
    is_huge = abs(value) >= 2**63 if isinstance(value, int) else isinstance(value, float) and not math.isfinite(value)
    return f"{name} is out of range" if is_huge else ""
