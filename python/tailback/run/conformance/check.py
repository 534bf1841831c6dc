"""Checks of a user's queue law: the promises of its interface, and repeatable results.

    from tailback.run.conformance.check import check

    assert check("mylaw.py").passed

The law is run in worker processes, in the networks of `networks.CASES`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from os import PathLike, fspath
from pathlib import Path
from typing import Literal, TypeVar, cast

from tailback.errors import UsageError
from tailback.laws import trial, workers
from tailback.laws.classes import Role, roles_of
from tailback.run.conformance.networks import CASES, MARKED, Law
from tailback.run.conformance.observe import Run, Strange, observed, strange_calls
from tailback.scenario import Value, load

__all__ = ["Conformance", "Finding", "Status", "check", "check_law", "law_of", "laws_of"]

Status = Literal["passed", "failed", "undecided"]
"""Result of a check; "undecided": a fault has ended the runs that it needs."""
Watch = Callable[[str], object]
"""Function that is called with a text about the progress."""

_FIRST = ("merged", "plain", "merged")
"""Engines of the runs in the first process; the third run repeats the first."""
_SEEDS = ("1", "2")
"""Values of PYTHONHASHSEED, which determine the order of sets of texts."""


@dataclass(frozen=True, slots=True)
class Finding:
    """Result of one check."""

    name: str
    about: str
    """Claim that is checked."""
    status: Status
    message: str = ""
    """Description of the failure."""
    cure: str = ""

    def as_json(self) -> dict[str, str]:
        """Return the finding as JSON."""
        names = ("name", "about", "status", "message", "cure")
        return {name: value for name in names if (value := getattr(self, name))}


@dataclass(frozen=True, slots=True)
class Conformance:
    """Results of all checks of a law."""

    law: Law
    findings: list[Finding]

    @property
    def passed(self) -> bool:
        """`True` if no check failed."""
        return all(finding.status == "passed" for finding in self.findings)

    @property
    def repeatable(self) -> str | None:
        """Equal results in all runs on this machine: "here"; `None`: they differ, or could not be compared.

        "everywhere": equal runs of a WebAssembly module, which has the same bits on every machine.
        """
        names = {"same process", "other process", "engines", "own random numbers"}
        if any(finding.status != "passed" for finding in self.findings if finding.name in names):
            return None
        return "everywhere" if self.law.language == "wasm" else "here"

    def as_json(self) -> dict[str, object]:
        """Return the results as JSON."""
        return {
            "check": 1,
            "file": str(self.law.file),
            "class": self.law.name,
            "parameters": dict(self.law.parameters),
            "passed": self.passed,
            "repeatable": self.repeatable,
            "checks": [finding.as_json() for finding in self.findings],
        }


def laws_of(path: str | PathLike[str], *, allow_files: bool = False) -> list[Law]:
    """Return the laws that a scenario names, each once; raises UsageError if there is none, and ScenarioError."""
    scenario = load(path, allow_files=allow_files)
    found: list[Law] = []
    waiting: list[tuple[str, object]] = [("", scenario.document)]
    while waiting:
        key, part = waiting.pop()
        if isinstance(part, list):
            waiting += [(key, value) for value in part]
        elif isinstance(part, dict):
            if key == "discipline" and part.get("kind") == "user":
                file = (Path(scenario.folder) / part["file"]).absolute()
                law = Law(file, part["class"], part.get("parameters", {}))
                found += [] if law in found else [law]
            waiting += part.items()
    if not found:
        raise UsageError(f'{fspath(path)} has no law of a user; write discipline = {{ kind = "user", ... }}')
    return found


def law_of(path: str | PathLike[str], name: str | None, parameters: Mapping[str, Value]) -> Law:
    """Return the law of a file; without a name, the only `Law` of a file of Python. Raises UsageError."""
    file = Path(fspath(path)).absolute()
    roles = roles_of(file) if file.suffix == ".py" else {}
    if name is None:
        if len(roles) != 1:
            there = f"the classes {', '.join(roles)}" if roles else "no class that is found by its base tailback.Law"
            raise UsageError(f"{file.name} has {there}; name the class with --class")
        (name,) = roles
    role = roles.get(name, "law") if file.suffix == ".py" else _compiled_role(file, name)
    return Law(file, name, parameters, role)


def _compiled_role(file: Path, name: str) -> Role:
    """Return the interface of a class of a library or module; "law" for one that the loader refuses with its reason."""
    role = trial.role_of(file, name)
    return "law" if role is None or role == "queue-law" else cast("Role", role)


def check(
    path: str | PathLike[str],
    name: str | None = None,
    parameters: Mapping[str, Value] | None = None,
    *,
    watch: Watch | None = None,
) -> Conformance:
    """Check a law of a Python file.

    Args:
        path: Path of the file.
        name: Name of the class. Default: the only law of the file.
        parameters: Parameters of the law.
        watch: Called with a text about the progress.

    Raises:
        ScenarioError: The law cannot be loaded, or refuses the parameters.
        UsageError: The file cannot be read, or the class must be named.

    """
    return check_law(law_of(path, name, parameters or {}), watch)


def check_law(law: Law, watch: Watch | None = None) -> Conformance:
    """Check a law; raises as `check`."""
    CASES[0].scenario(law).check()
    note = watch or (lambda _: None)
    # The calls of compiled code cannot be observed; a WebAssembly module can make no other calls.
    observable = law.language == "python"
    chance = _chance(_attempt(strange_calls, law, note=lambda _: note("calls"))) if observable else []
    begun = {"case": CASES[0].name}

    def begin(index: float) -> None:
        begun["case"] = CASES[int(index)].name
        note(begun["case"])

    first, second = (
        _attempt(observed, law, engines, note=begin, environment={"PYTHONHASHSEED": seed})
        for engines, seed in zip((_FIRST, _FIRST[:1]), _SEEDS, strict=True)
    )
    runs = first if isinstance(first, list) else [Run(begun["case"], "merged", str(first))]
    again = second if isinstance(second, list) else []
    is_marking = all(warning.name != "no-marks" for warning in MARKED.scenario(law).warnings)
    return Conformance(law, [*_promises(runs, law.role, is_marking), *chance, *_repetitions(runs, again)])


Result = TypeVar("Result")


def _attempt(
    function: Callable[..., Result],
    *arguments: object,
    note: Callable[[float], object],
    environment: Mapping[str, str] | None = None,
) -> Result | workers.WorkerError:
    """Return the result of a function in a worker of its own, or the error of a crash or a hang."""
    try:
        apart = environment or {"PYTHONHASHSEED": _SEEDS[0]}
        return workers.called(function, *arguments, progress=note, environment=apart)
    except workers.WorkerError as error:
        return error


_ANSWERS: Mapping[Role, tuple[str, str]] = {
    "law": (
        "each answer is PASS, MARK, DROP or None",
        "return PASS, MARK, DROP or None from `arrive` and `depart`",
    ),
    "scheduler": (
        "each answer is the number of a queue that is ready, or None",
        "return from `select` the number of a queue whose `ready` is true",
    ),
    "congestion-control": (
        "window, threshold and rate are in their ranges",
        "keep `self.cwnd` and `self.ssthresh` at 1 segment or more, and `self.rate` at 0 or more",
    ),
    "source": (
        "each burst has a time that is not before the last one, and 1 byte or more",
        "return from `next` a time of `call.now_ps` or later and a number of bytes",
    ),
}
"""Claim and cure of the check of answers."""
_FAULTS = {
    "returns in time": (
        "each call returns within 10 s, and does not end its process",
        ("did not return", "LawTimeoutError", "its process "),
        "look for an endless loop; call no function that waits, ends the program or reads memory by address",
    ),
    "answers": (
        "",
        (
            "the answer ",
            "the verdict ",
            "is chosen, but",
            "the window is",
            "the threshold is",
            "the rate is",
            "the burst at",
            "a burst has",
        ),
        "",
    ),
    "wake-ups": (
        "each time in `wake_ps` is a whole number of picoseconds, and not before now",
        ("the wake-up at", "the timer at", "wake_ps is"),
        "set `self.wake_ps` to `call.now_ps` plus a positive number of picoseconds, or to None",
    ),
    "no exception": ("no call raises an exception", ("",), "mend the line that the message names"),
}
"""Claim, texts in the message of a fault, and cure of the checks of faults; a fault belongs to the first that fits."""


def _promises(runs: list[Run], role: Role, is_marking: bool) -> list[Finding]:
    """Return the findings about faults, marks and conservation."""
    answers, answers_cure = _ANSWERS[role]
    faults: dict[str, str] = {}
    for run in runs:
        if run.fault is not None:
            kind = next(name for name, (_, texts, _) in _FAULTS.items() if any(text in run.fault for text in texts))
            faults.setdefault(kind, f"{run.case}: {run.fault}")
    found = [
        _judged(name, about or answers, faults.get(name), cure or answers_cure)
        for name, (about, _, cure) in _FAULTS.items()
    ]
    marked = next((run for run in runs if run.marked and not is_marking), None)
    if role == "law":
        found.append(
            _judged(
                "marks",
                "a law with `marks = False` never marks",
                f"{marked.case}: {marked.marked} packets were marked" if marked else None,
                "remove `marks = False`, or answer DROP in place of MARK",
            )
        )
    lost = next((run for run in runs if run.lost), None)
    about = "each packet is delivered, dropped or in the network at the end"
    report = "this is an error of Tailback: report it with the law"
    missing = f"{lost.case}: packets of {lost.lost} are missing" if lost else None
    return [*found, _judged("conservation", about, missing, report)]


def _judged(name: str, about: str, message: str | None, cure: str) -> Finding:
    return Finding(name, about, "failed", message, cure) if message else Finding(name, about, "passed")


def _chance(strange: Strange | workers.WorkerError) -> list[Finding]:
    """Return the findings about random numbers, clocks and the order of calls."""
    chance = ("own random numbers", "no call of a clock or of another random number generator")
    order = ("time", "the times of an instance's calls never decrease")
    if not isinstance(strange, Strange):
        return [Finding(*chance, "undecided"), Finding(*order, "undecided")]
    cure = "use self.random(), self.below(n), self.exponential(mean) or self.normal(), and call.now_ps for the time"
    report = "this is an error of Tailback: report it with the law"
    return [_judged(*chance, "; ".join(strange.calls), cure), _judged(*order, strange.late, report)]


def _repetitions(runs: list[Run], again: list[Run]) -> list[Finding]:
    """Return the findings about equal results of repeated runs."""
    merged = [run for run in runs if run.engine == "merged"]
    first = {run.case: run for run in reversed(merged)}
    repeated = [run for run in merged if run is not first[run.case]]
    plain = [run for run in runs if run.engine == "plain"]
    process = "let no decision depend on the order of a set, on `hash` or `id`, or on variables of the environment"
    shared = "keep state in `self`, set in `__init__`; class and module variables are shared by all instances and runs"
    return [
        _compared("same process", "a second run in the same process is equal", first, repeated, shared),
        _compared("other process", "a run in another process is equal, with other hashes", first, again, process),
        _compared("engines", "both engines give equal results", first, plain, shared),
        _independent(first, shared),
    ]


def _compared(name: str, about: str, first: Mapping[str, Run], others: list[Run], cure: str) -> Finding:
    """Return the finding about runs that must equal the first run of their case."""
    pairs = [(first[run.case], run) for run in others if run.fault is None and first[run.case].fault is None]
    different = [run.case for one, run in pairs if one.digest != run.digest]
    if different:
        return Finding(name, about, "failed", f"the results differ: {', '.join(different)}", cure)
    return Finding(name, about, "passed" if len(pairs) == len(CASES) else "undecided")


def _independent(first: Mapping[str, Run], cure: str) -> Finding:
    """Return the finding about the last two cases, in which only a part without a connection differs."""
    name, about = "instances", "an instance does not depend on the traffic of other queues"
    quiet, loud = (first.get(case.name) for case in CASES[-2:])
    if quiet is None or loud is None or quiet.fault or loud.fault:
        return Finding(name, about, "undecided")
    if quiet.own == loud.own:
        return Finding(name, about, "passed")
    return Finding(name, about, "failed", "traffic in another network changes the results", cure)
