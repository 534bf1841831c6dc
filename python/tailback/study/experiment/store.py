"""Finished replications on disk, so that a long reproduction that was stopped or killed can be resumed."""

from __future__ import annotations

import ast
import hashlib
import json
import re
import sys
from collections.abc import Iterator
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from tailback import _native
from tailback.build import engine
from tailback.errors import OutputError
from tailback.results import stored
from tailback.results.directory import writing
from tailback.study.experiment.design import Experiment
from tailback.study.experiment.points import Point
from tailback.study.experiment.results import Sample

__all__ = ["FILE", "Store"]

_SHAPE = {
    "program": str,
    "scenario": str,
    "seed": int,
    "digest": str,
    "packet_hops": int,
    "values": dict,
    "events": dict,
    "traces": dict,
    "traced": bool,
}

FILE = "runs.jsonl"
"""Name of the file in the experiment's folder; each line is a finished replication."""

_MEASURING = (
    "tailback.results.metrics",
    "tailback.results.observables",
    "tailback.results.quality",
    "tailback.results.report",
    "tailback.results.rows",
    "tailback.results.synchronisation",
    "tailback.results.units",
)
"""Modules outside the gallery that determine the values, events and traces that are kept of a run."""

_TUPLE = "()"
"""Only key of a JSON object that represents a tuple; its value is the list of the items."""


class Store:
    """Replications of one experiment by scenario and seed, in a file; a context manager that closes the file.

    A line of the file is used only if this program wrote it: the same version, the same engine (by the bytes of the
    extension), and sources of the experiment and its metrics that are equal up to words. Other lines are skipped, and
    stay in the file.
    """

    def __init__(self, folder: Path, experiment: Experiment) -> None:
        """Open the file of the folder, and read the replications in it; raises OutputError if it is damaged."""
        self._file = folder / FILE
        self._program = _program(experiment)
        self._known: dict[tuple[str, int], Sample] = {}
        with writing(folder):
            folder.mkdir(parents=True, exist_ok=True)
            whole = 0
            for number, line in enumerate(self._lines(), 1):
                whole += len(line)
                try:
                    self._take(line)
                except (ValueError, RecursionError) as error:
                    raise OutputError(
                        f"{self._file}: line {number} cannot be read: {error}; delete the line to run its replication "
                        "again, or the file to run all of them"
                    ) from error
            if self._file.exists():
                # A line that was being written when the program was killed is incomplete, and is cut off.
                with self._file.open("r+b") as file:
                    file.truncate(whole)
            self._out = self._file.open("ab")

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self._out.close()

    def find(self, scenario: str, seed: int, point: Point, replication: int) -> Sample | None:
        """Return the finished run of the scenario with this hash and seed, as a replication at a point.

        `None`: there is none, or it has no traces although replication 0 needs them.
        """
        found = self._known.get((scenario, seed))
        # With another base seed a later replication becomes the first, which needs traces.
        if found is None or (replication == 0 and not found.traced):
            return None
        return replace(found, point=point, replication=replication)

    def add(self, scenario: str, sample: Sample) -> None:
        """Append a finished replication of the scenario with this hash; raises OutputError.

        The line is handed to the operating system, so that it survives if the process is killed.
        """
        traces = {name: _packed(value) for name, value in sample.traces.items() if _is_plain(value)}
        kept = {
            "program": self._program,
            "scenario": scenario,
            "seed": sample.seed,
            "digest": sample.digest,
            "packet_hops": sample.packet_hops,
            "values": dict(sample.values),
            "events": {name: list(pair) for name, pair in sample.events.items()},
            "traces": traces,
            # If a trace cannot be stored, the replication is run again, as figures need all traces.
            "traced": sample.traced and len(traces) == len(sample.traces),
        }
        with writing(self._file):
            self._out.write(json.dumps(stored.sealed(kept, with_nan=True), separators=(",", ":")).encode() + b"\n")
            self._out.flush()

    def _lines(self) -> Iterator[bytes]:
        if not self._file.exists():
            return
        if not self._file.is_file():
            raise OutputError(f"{self._file} is not a regular file; move it away, or choose another directory")
        with self._file.open("rb") as file:
            for line in file:
                if not line.endswith(b"\n"):
                    return
                yield line

    def _take(self, line: bytes) -> None:
        """Add the replication of a line; raises ValueError if the line is damaged."""
        kept = stored.parsed(line, with_nan=True)
        if wrong := stored.unfit(kept, _SHAPE):
            raise ValueError(wrong)
        if kept["program"] != self._program:
            return
        pairs = [stored.unfit(pair, [int]) or len(pair) != 2 for pair in kept["events"].values()]
        if any(pairs) or not all(isinstance(value, int | float) for value in kept["values"].values()):
            raise ValueError("a value is not a number")
        self._known[kept["scenario"], kept["seed"]] = Sample(
            point=Point(),
            replication=-1,
            seed=kept["seed"],
            digest=kept["digest"],
            packet_hops=kept["packet_hops"],
            values=kept["values"],
            events={name: (pair[0], pair[1]) for name, pair in kept["events"].items()},
            traces={name: _unpacked(value) for name, value in kept["traces"].items()},
            traced=kept["traced"],
        )


def _is_plain(value: Any) -> bool:
    """Return `True` if a value is unchanged by `_packed`, JSON and `_unpacked`."""
    if type(value) is dict:
        return _TUPLE not in value and all(type(key) is str and _is_plain(item) for key, item in value.items())
    if type(value) in (list, tuple):
        return all(map(_is_plain, value))
    return value is None or type(value) in (bool, int, float, str)


def _packed(value: Any) -> Any:
    """Return a value with its tuples marked, since JSON turns them into lists."""
    if isinstance(value, dict):
        return {key: _packed(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        items = [_packed(item) for item in value]
        return {_TUPLE: items} if isinstance(value, tuple) else items
    return value


def _unpacked(value: Any) -> Any:
    if isinstance(value, list):
        return [_unpacked(item) for item in value]
    if isinstance(value, dict):
        if isinstance(value.get(_TUPLE), list):
            return tuple(_unpacked(item) for item in value[_TUPLE])
        return {key: _unpacked(item) for key, item in value.items()}
    return value


def _program(experiment: Experiment) -> str:
    """Return a hash of the engine and the sources that determine an experiment's samples.

    The sources are the modules of the gallery that the experiment uses, and those of metrics. Changes of pages do not
    change the hash, nor do changes of words: comments, docstrings and the texts of claims and figures.
    """
    own = type(experiment).__module__
    # Modules of metrics are imported here, so that the hash does not depend on other imports of the process.
    # An experiment is GALLERY.group.folder.module; parts that experiments share are in modules of GALLERY, too.
    shared = own.rsplit(".", 3)[0] + "."
    modules = [sys.modules[name] for name in _used(own, shared, {own})] + [import_module(name) for name in _MEASURING]
    files = {Path(file) for module in modules if (file := getattr(module, "__file__", None))}
    parts = [f"{_native.version} {engine()}", *sorted(f"{file.name} {_hash(file)}" for file in files)]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:32]


def _hash(file: Path) -> str:
    """Return a hash of a module's code without its words."""
    code = _Code().visit(ast.parse(file.read_bytes()))
    return hashlib.sha256(ast.dump(code).encode()).hexdigest()


class _Code(ast.NodeTransformer):
    """Removes the parts of a module that determine no sample: docstrings, claims, figures and their texts."""

    _WORDED = re.compile(r"_?claim|Claim(\.\w+)?|Figure", re.ASCII)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        """Remove the methods that judge or draw results."""
        return ast.Pass() if node.name in ("claims", "figures") else self.generic_visit(node)

    def visit_Expr(self, node: ast.Expr) -> ast.AST:
        """Remove docstrings, of attributes too."""
        return ast.Pass() if isinstance(node.value, ast.Constant) else self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """Remove the texts of a claim or a figure; conditions stay."""
        if self._WORDED.fullmatch(ast.unparse(node.func)):
            node.args = [value for value in node.args if not _is_text(value)]
            node.keywords = [keyword for keyword in node.keywords if not _is_text(keyword.value)]
        return self.generic_visit(node)


def _is_text(node: ast.AST) -> bool:
    """Return `True` for a string literal, with or without values in it."""
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))


def _used(name: str, shared: str, seen: set[str]) -> set[str]:
    """Return `seen` with the names of all modules below `shared` that a module uses, directly or not."""
    for value in vars(sys.modules[name]).values():
        other = value.__name__ if isinstance(value, ModuleType) else getattr(value, "__module__", None)
        if isinstance(other, str) and other.startswith(shared) and other not in seen and other in sys.modules:
            seen.add(other)
            _used(other, shared, seen)
    return seen
