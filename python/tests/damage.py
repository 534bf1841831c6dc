"""Damage to files such as disks, people and other programs cause.

Each damage has a name. Random damage is drawn from a generator that the caller seeds.
"""

from __future__ import annotations

import copy
import json
import os
import random
import shutil
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

__all__ = ["Damage", "as_unprivileged_user", "deadline", "of_bytes", "of_json", "of_kind", "replaced"]

Damage = tuple[str, Callable[[Path], object]]
"""Name of the damage, and the function that does it to a file."""

DEEP = 100_000
"""Levels of nesting, more than a recursive parser can follow."""


def of_bytes(size: int, draws: random.Random, count: int) -> Iterator[Damage]:
    """Yield damage to the bytes of a file of `size` bytes.

    `count` truncations, 3 * `count` flipped bits and `count` overwritten ranges are at random places. Other damage,
    such as a file of zeros or in another encoding, is always included.
    """
    for at in sorted({0, 1, 4, 8, size // 2, size - 8, size - 1} | {draws.randrange(size) for _ in range(count)}):
        yield f"cut at {at}", lambda path, at=at: path.write_bytes(path.read_bytes()[:at])  # type: ignore[misc]
    for _ in range(3 * count):
        at, bit = draws.randrange(size), 1 << draws.randrange(8)
        yield f"bit {bit:#x} of byte {at}", lambda path, at=at, bit=bit: _flip(path, at, bit)  # type: ignore[misc]
    for _ in range(count):
        at, new = draws.randrange(size), draws.randbytes(draws.choice((1, 7, 300)))
        yield f"{len(new)} bytes at {at}", lambda path, at=at, new=new: _overwrite(path, at, new)  # type: ignore[misc]
    at = draws.randrange(size)
    yield "zeros up to the end", lambda path: _overwrite(path, at, bytes(size - at))
    yield "nothing but zeros", lambda path: path.write_bytes(bytes(size))
    yield "bytes added", lambda path: path.write_bytes(path.read_bytes() + b"\0more")
    yield "its content twice", lambda path: path.write_bytes(2 * path.read_bytes())
    yield "not UTF-8", lambda path: _overwrite(path, size // 3, b"\xff\xfe\x80")
    yield "UTF-16", lambda path: path.write_bytes(path.read_bytes().decode("latin-1").encode("utf-16"))


def of_kind() -> Iterator[Damage]:
    """Yield damage that deletes the file, or replaces it by an empty file, a directory, a link or a pipe."""
    yield "deleted", _remove
    yield "empty", lambda path: (_remove(path), path.touch())
    yield "a directory", lambda path: (_remove(path), path.mkdir())
    yield "a directory with files", lambda path: (_remove(path), (path / "in").mkdir(parents=True))
    yield "a link to nowhere", lambda path: (_remove(path), path.symlink_to(path.parent / "no" / "where"))
    yield "a link to itself", lambda path: (_remove(path), path.symlink_to(path))
    yield "a link to a device", lambda path: (_remove(path), path.symlink_to(os.devnull))
    yield "a pipe without a writer", lambda path: (_remove(path), os.mkfifo(path))


_OTHERS: tuple[Any, ...] = (
    None,
    True,
    0,
    -1,
    3,
    0.5,
    1e308,
    10**30,
    -(10**30),
    float("nan"),
    float("inf"),
    "",
    "x",
    "\ud800",
    "1",
    [],
    {},
    [None],
    [[], "x"],
    {"x": 1},
    [{"x": []}, "x"],
)
"""Values of each type of JSON, with extreme numbers."""


def of_json(text: str, draws: random.Random, count: int, each: int = len(_OTHERS)) -> Iterator[tuple[str, str]]:
    """Yield names and texts of variants of a JSON document.

    Each value of the top level is replaced by `each` values drawn from `_OTHERS`, and `count` deeper values by one
    value each. Each key of the top level and `count // 4` deeper keys or entries are removed. Other variants have an
    unknown key, other content, deep nesting or a number of many digits.
    """
    tree = json.loads(text)
    inner = [path for path in _paths(tree) if len(path) > 1]
    changes: list[tuple[tuple[Any, ...], Any]] = [
        ((key,), other) for key in tree for other in draws.sample(_OTHERS, each)
    ]
    changes += [(draws.choice(inner), draws.choice(_OTHERS)) for _ in range(count)]
    for path, other in changes:
        yield f"{_name(path)} = {other!r}", json.dumps(replaced(tree, path, other))
    for path in [*((key,) for key in tree), *(draws.choice(inner) for _ in range(count // 4))]:
        yield f"without {_name(path)}", json.dumps(_without(tree, path))
    yield "an unknown key", json.dumps({**tree, "unknown": {"x": [1]}})
    yield "another document", json.dumps({"tailback": 1})
    for whole in ("null", "[]", "3", '"x"', "NaN", "1e999", "{", "[" * DEEP, '{"a":' * DEEP):
        yield f"only {whole[:8]}", whole
    first = next(iter(tree))
    yield "a value nested deep", text.replace("{", f'{{"deep": {"[" * DEEP}{"]" * DEEP},', 1)
    yield "a value nested 400 deep", text.replace("{", f'{{"deep": {"[" * 400}{"]" * 400},', 1)
    yield "a number of many digits", text.replace("{", f'{{"{first}": {"9" * 10_000},', 1)


def replaced(tree: Any, path: tuple[Any, ...], other: Any) -> Any:
    """Return a copy of a tree with the value at `path` replaced by `other`."""
    made = copy.deepcopy(tree)
    at = made
    for step in path[:-1]:
        at = at[step]
    at[path[-1]] = other
    return made


@contextmanager
def deadline(seconds: float) -> Iterator[None]:
    """Raise `AssertionError` if the block takes longer than `seconds`.

    A `TimeoutError` is an `OSError`, which the code under test would catch.
    """

    def late(*_: object) -> None:
        raise AssertionError(f"not done after {seconds} s")

    before = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@contextmanager
def as_unprivileged_user() -> Iterator[None]:
    """Run the block without the rights of root, for which file permissions have no effect."""
    mine = os.geteuid()
    if mine == 0:
        os.seteuid(65534)
    try:
        yield
    finally:
        if mine == 0:
            os.seteuid(mine)


def _flip(path: Path, at: int, bit: int) -> None:
    """Flip the bits of the mask `bit` in the byte with index `at`."""
    data = bytearray(path.read_bytes())
    data[at] ^= bit
    path.write_bytes(data)


def _overwrite(path: Path, at: int, new: bytes) -> None:
    """Overwrite the bytes from index `at` on."""
    data = bytearray(path.read_bytes())
    data[at : at + len(new)] = new
    path.write_bytes(data)


def _remove(path: Path) -> None:
    """Remove a file, a link or a directory."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink()


def _paths(tree: Any, here: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the paths of all values inside a tree, each below the path `here` of the tree."""
    items = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    return [path for key, value in items for path in [(*here, key), *_paths(value, (*here, key))]]


def _without(tree: Any, path: tuple[Any, ...]) -> Any:
    """Return a copy of a tree without the value at `path`."""
    made = copy.deepcopy(tree)
    at = made
    for step in path[:-1]:
        at = at[step]
    del at[path[-1]]
    return made


def _name(path: tuple[Any, ...]) -> str:
    """Return the steps of a path joined by dots."""
    return ".".join(map(str, path))
