"""Loading of files with user-defined laws; the extension calls `load`."""

from __future__ import annotations

import difflib
import hashlib
import importlib.machinery
import importlib.util
import sys
import traceback
from dataclasses import dataclass
from pathlib import Path
from threading import RLock
from types import ModuleType

from tailback import _native
from tailback.laws import workers
from tailback.laws.component import Component
from tailback.laws.congestion import CongestionControl
from tailback.laws.law import Law
from tailback.laws.new import missing
from tailback.laws.scheduler import Scheduler
from tailback.laws.source import Source
from tailback.laws.trial import ADVICE, Problem, Trial

__all__ = ["load", "loaded", "local_modules", "sources", "traceback_text"]


@dataclass(frozen=True)
class Interface:
    """Interface that a component implements."""

    base: type[Component]
    options: tuple[str, ...] = ()
    """Attributes of the class that are `True` or `False`, in the order of the bits of `Loaded.options`."""
    needed: str = ""
    """Method that the class must define; "": any of them."""


_OPTIONS = ("paces", "owns_recovery", "handles_echoes", "samples_rate")

INTERFACES = {
    "queue-law": Interface(Law),
    "congestion-control": Interface(CongestionControl, options=_OPTIONS),
    "scheduler": Interface(Scheduler, needed="select"),
    "source": Interface(Source, needed="next"),
}
"""Interfaces by the name of the role."""

Found = tuple[type | None, str, int, bool, int, Problem | None]
"""Class, hash of its sources, a bit for each event that it handles, whether it may mark packets, a bit for each option,
and a problem."""

_LOCK = RLock()
"""Guards the loaded modules: scenarios may be loaded in several threads."""


@dataclass(frozen=True)
class _Module:
    """A file that has been run."""

    module: ModuleType
    digest: str
    sources: dict[Path, bytes]
    """Sources of the file and of the modules that it imported from its folder."""


_MODULES: dict[Path, _Module] = {}
_RUN: dict[str, _Module] = {}
"""All modules that have been run, by hash: also those whose file has changed since."""
_LOCAL: dict[str, Path] = {}
"""Modules of users' folders in `sys.modules`, with their files."""


def load(role: str, folder: Path, file: str, name: str, allow_files: bool, parameters: str = "{}") -> Found:
    """Load the class `name` of a file, for the interface `role`.

    A worker process does the same first, and makes an instance with the `parameters` (JSON).

    Returns:
        The class and its properties and `None`; or, if the class cannot be loaded, a description of the problem at the
        end.

    """
    interface, all_events = INTERFACES[role], _native.component_events[role]
    path = folder / file
    problem = _refused(folder, path, allow_files)
    if problem is not None:
        return _not_found(problem)
    trial = Trial(role, folder, file, name, allow_files, parameters)
    tried = None
    if workers.is_needed():
        known = _MODULES.get(path.resolve())
        tried = trial.found(known.digest if known is not None and _is_current(known) else None)
        if tried[1] is not None:
            return _not_found(tried[1])
    with _LOCK:
        try:
            found = _module(path.resolve())
            if tried is not None:
                trial.passed(found.digest, tried)
        except Exception as error:
            message = f"{path} does not run:\n{traceback_text(error)}"
            return _not_found(Problem("file", message, _advice(error)))
    law = getattr(found.module, name, None)
    if not (isinstance(law, type) and issubclass(law, interface.base) and law is not interface.base):
        return _not_found(_no_class(found.module, path, name, law, interface.base))
    handled = [event for event in all_events if getattr(law, event) is not getattr(interface.base, event)]
    if not handled:
        advice = f"define at least one of {', '.join(all_events)}"
        return _not_found(Problem("class", f"`{name}` handles no event", advice))
    if interface.needed and interface.needed not in handled:
        problem = Problem("class", f"`{name}` does not define `{interface.needed}`", f"define `{interface.needed}`")
        return _not_found(problem)
    events = sum(1 << all_events.index(event) for event in handled)
    options = sum(1 << bit for bit, option in enumerate(interface.options) if getattr(law, option))
    return law, found.digest, events, bool(getattr(law, "marks", False)), options, None


def _advice(error: Exception) -> str:
    """Return the advice for a file that does not run because of an exception."""
    lacks_numba = isinstance(error, ModuleNotFoundError) and error.name == "numba"
    return (missing("numba") if lacks_numba else None) or ADVICE


def _not_found(problem: Problem) -> Found:
    """Return the result of loading a class that cannot be loaded."""
    return None, "", 0, False, 0, problem


def _refused(folder: Path, path: Path, allow_files: bool) -> Problem | None:
    """Return the problem of a path that may not be read or has another suffix, `None` if there is none."""
    if path.suffix != ".py":
        return Problem("file", f"`{path.name}` is not Python source", "write the path of a file that ends with .py")
    if not path.is_file():
        return Problem("file", f"there is no file `{path}`", "give the path relative to the scenario's file")
    if not allow_files and not path.resolve().is_relative_to(folder.resolve()):
        return Problem(
            "file",
            f"`{path}` is outside the scenario's folder",
            "its code would run; if you trust this scenario, allow it with --allow-files (in Python: allow_files=True)",
        )
    return None


def _no_class(module: ModuleType, path: Path, name: str, found: object, base: type[Component]) -> Problem:
    """Return the problem that the file has no component of this name that is derived from `base`."""
    example = f"class Mine(tailback.{base.__name__}):"
    if found is not None:
        message = f"`{name}` of {path.name} is not derived from tailback.{base.__name__}"
        return Problem("class", message, f"write `{example}`")
    known = [key for key, value in vars(module).items() if isinstance(value, type) and issubclass(value, base)]
    known = [key for key in known if key != base.__name__]
    near = difflib.get_close_matches(name, known, 1)
    if near:
        advice = f"did you mean `{near[0]}`?"
    elif known:
        advice = f"its classes are {', '.join(known)}"
    else:
        advice = f"write `{example}` in the file"
    return Problem("class", f"{path.name} has no class `{name}`", advice)


def loaded(path: Path) -> _Module:
    """Return a file that has been loaded; raises KeyError if it has not."""
    return _MODULES[path.resolve()]


def _is_current(known: _Module) -> bool:
    """Return `True` if no source of a module has changed since it was run."""
    return all(_read(source) == text for source, text in known.sources.items())


def _module(path: Path) -> _Module:
    """Return the module of a file; it is run again if it, or a module that it imported, has changed."""
    known = _MODULES.get(path)
    if known is not None and _is_current(known):
        return known
    # Modules of another folder may have the same names, and those of this folder may have changed.
    for name in _LOCAL:
        sys.modules.pop(name, None)
    _LOCAL.clear()
    before = set(sys.modules)
    text = path.read_bytes()
    name = f"_tailback_user_{hashlib.sha256(str(path).encode()).hexdigest()[:16]}"
    loader = importlib.machinery.SourceFileLoader(name, str(path))
    spec = importlib.util.spec_from_loader(name, loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    sys.path.insert(0, str(path.parent))
    importlib.invalidate_caches()
    # Stored bytecode is chosen by the time and size of the source, which may be equal after a quick change.
    writes, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    try:
        exec(compile(text, str(path), "exec"), module.__dict__)
    finally:
        sys.path.remove(str(path.parent))
        sys.dont_write_bytecode = writes
    _LOCAL.update(local_modules(path.parent, before))
    sources = {path: text, **{source: _read(source) for source in _LOCAL.values()}}
    made = _Module(module, _digest(path.parent, sources), sources)
    _MODULES[path] = _RUN[made.digest] = made
    return made


def sources(digest: str, name: str) -> dict[str, bytes]:
    """Return the sources with this hash, by path relative to the folder of the file, which is the first.

    The file gets the `name`: that of a link to it may be another one than its own.
    """
    (path, text), *others = _RUN[digest].sources.items()
    return {name: text, **{other.relative_to(path.parent).as_posix(): content for other, content in others}}


def local_modules(folder: Path, before: set[str]) -> dict[str, Path]:
    """Return the files of the modules below `folder` that are imported now and were not among `before`, by name."""
    found = {}
    for name, module in list(sys.modules.items()):
        source = getattr(module, "__file__", None)
        if name not in before and source and Path(source).resolve().is_relative_to(folder):
            found[name] = Path(source).resolve()
    return {name: path for name, path in found.items() if not name.startswith("_tailback_user_")}


def _read(path: Path) -> bytes:
    """Return the content of a file, empty if it does not exist any more."""
    try:
        return path.read_bytes()
    except OSError:
        return b""


def _digest(folder: Path, sources: dict[Path, bytes]) -> str:
    """Return the hash of the sources, the version of this package and that of the interpreter."""
    found = hashlib.sha256(f"{_native.version}\n{sys.implementation.name} {sys.version}\n".encode())
    for path in sorted(sources):
        found.update(f"{path.relative_to(folder)}\n{len(sources[path])}\n".encode())
        found.update(sources[path])
    return found.hexdigest()


def traceback_text(error: BaseException) -> str:
    """Return the traceback of an exception, without the frames of this package's `laws`."""
    own = Path(__file__).parent
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if Path(frame.filename).parent != own]
    lines = [*traceback.format_list(frames), *traceback.format_exception_only(error)]
    return "".join(lines).rstrip()
