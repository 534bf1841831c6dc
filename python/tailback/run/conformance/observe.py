"""Runs of a law in a worker process, and what is seen of them."""

from __future__ import annotations

import datetime
import json
import random
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import FrameType
from typing import Any, cast

from tailback import _native
from tailback.laws import loading
from tailback.laws.watchdog import watched
from tailback.results.rows import ReportData
from tailback.run.conformance.networks import CASES, Case, Law

__all__ = ["Run", "Strange", "observed", "strange_calls"]

_CLOCKS = {"time", "time_ns", "monotonic", "monotonic_ns", "perf_counter", "perf_counter_ns", "process_time"}
_CLOCKS |= {"process_time_ns", "thread_time", "thread_time_ns", "localtime", "gmtime", "ctime"}
_DATES = {"now", "utcnow", "today"}


@dataclass(frozen=True, slots=True)
class Run:
    """One run of a case."""

    case: str
    engine: str
    fault: str | None
    """Description of the fault that ended the run; `None`: it finished."""
    digest: str = ""
    marked: int = 0
    """Number of packets that were marked."""
    lost: str | None = None
    """Flow whose packets are not all accounted for; `None`: there is none."""
    own: str = ""
    """Results of the flows "own" as JSON."""


def observed(
    law: Law, engines: Sequence[str], cancel: _native.Cancel, progress: Callable[[float], object]
) -> list[Run]:
    """Run all cases with each of the engines in turn; `progress` gets the index of the case that begins."""
    found: list[Run] = []
    for index, case in enumerate(CASES):
        progress(index)
        found += [_run(case, law, engine, cancel) for engine in engines]
    return found


def _run(case: Case, law: Law, engine: str, cancel: _native.Cancel) -> Run:
    scenario = case.scenario(law)
    try:
        with watched(cancel):
            text = scenario.native.run(1, cancel, None, engine)
    except _native.LawFault as error:
        return Run(case.name, engine, str(error))
    report = cast(ReportData, json.loads(text))
    own = [flow for flow in report["flows"] if flow["group"] == "own"]
    marked = sum(queue["marked_packets"] for port in report["ports"] for queue in port["classes"])
    return Run(case.name, engine, None, report["digest"], marked, _lost(report), json.dumps(own))


def _lost(report: ReportData) -> str | None:
    """Return the name of a flow whose packets were neither delivered nor dropped, and are not in the network."""
    for flow in report["flows"]:
        ends = (flow["delivered"], flow["dropped"], flow["in_network"])
        if flow["offered"]["packets"] != sum(end["packets"] for end in ends):
            return flow["name"]
    return None


@dataclass(frozen=True, slots=True)
class Strange:
    """Calls of a law that do not only depend on its arguments, and its calls in a wrong order."""

    calls: list[str]
    """Calls of clocks and of random number generators, each with its place."""
    late: str | None
    """Call with a time before that of the call before it; `None`: there is none."""


def strange_calls(law: Law, cancel: _native.Cancel, _: object) -> Strange:
    """Run cases with TCP while every call from the law's files is observed."""
    observer = _Observer()
    sys.setprofile(observer)
    try:
        runs = [_run(case, law, "merged", cancel) for case in CASES[:2]]
    finally:
        sys.setprofile(None)
    del runs
    return observer.found(law)


class _Observer:
    """Profile function that notes calls of clocks and of random number generators."""

    def __init__(self) -> None:
        self._calls: dict[tuple[str, int, str], None] = {}
        self._instances: dict[int, Any] = {}
        self._times: dict[int, int] = {}
        self._late: str | None = None

    def __call__(self, frame: FrameType, event: str, called: Any) -> None:
        if event == "c_call":
            name = _source_of_chance(called)
            # Functions of `random` that are written in Python call a generator.
            while frame.f_code.co_filename == random.__file__ and frame.f_back is not None:
                frame = frame.f_back
            if name is not None:
                self._calls[frame.f_code.co_filename, frame.f_lineno, name] = None
        elif event == "call" and frame.f_code.co_argcount == 2:
            self._note_time(frame)

    def _note_time(self, frame: FrameType) -> None:
        """Note the time of a call of the engine, whose arguments are the law and the call."""
        law, call = (frame.f_locals.get(name) for name in frame.f_code.co_varnames[:2])
        if call is not None and type(call).__module__ == "tailback._native" and hasattr(call, "now_ps"):
            self._instances[id(law)] = law
            before, self._times[id(law)] = self._times.get(id(law), 0), call.now_ps
            if call.now_ps < before:
                self._late = f"`{frame.f_code.co_name}` at {call.now_ps} ps, after a call at {before} ps"

    def found(self, law: Law) -> Strange:
        """Return what was noted about the files of a law."""
        module = loading.loaded(law.file)
        sources = {str(path): path for path in module.sources}
        calls = [f"{sources[file].name}, line {line}: {name}" for file, line, name in self._calls if file in sources]
        values = [value for one in self._instances.values() for value in vars(one).values()]
        values += vars(module.module).values()
        kinds = {type(value).__module__ for value in values}
        calls += sorted(f"{law.file.name}: a generator of {kind}" for kind in kinds if kind.startswith("numpy.random"))
        return Strange(calls, self._late)


def _source_of_chance(called: Any) -> str | None:
    """Return the name of a function that reads a clock or draws a number; `None`: it does neither."""
    owner, name = getattr(called, "__self__", None), getattr(called, "__name__", "")
    if isinstance(owner, random.Random):
        return f"random.{name}"
    if getattr(called, "__module__", None) == "time" and name in _CLOCKS:
        return f"time.{name}"
    if isinstance(owner, type) and issubclass(owner, datetime.date) and name in _DATES:
        return f"{owner.__name__}.{name}"
    return f"os.{name}" if name in ("urandom", "getrandom") else None
