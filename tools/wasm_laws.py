"""Users' components for `wasm_digest.py`: runs that must give equal results, and runs that must fail.

The components are those of `python/tests/laws` in WebAssembly text. In the module of the simulator they are called by
`crates/wasm/laws.mjs`, natively by an interpreter.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tailback import _native

__all__ = ["Failure", "Run", "failures", "runs", "written"]

ROOT = Path(__file__).resolve().parent.parent
LAWS = ROOT / "python" / "tests" / "laws"
FILES = ("cbr", "codel", "draws", "faults", "priority", "reno")
LIMIT_MS = 1000
"""Maximum duration of a call in the module of the simulator, ms of real time."""


@dataclass(frozen=True)
class Run:
    """A run in the module of the simulator, and runs in the native program that must have the same results."""

    name: str
    scenario: _native.Scenario
    equal: list[_native.Scenario]
    limit_ms: int | None = None
    """Limit of a call's duration, with which the run is in a worker; `None`: no limit."""


@dataclass(frozen=True)
class Failure:
    """A run that fails, or a scenario that is refused."""

    name: str
    toml: str
    parts: tuple[str, ...]
    """Parts of the error's text in the module and natively."""
    in_module: str = ""
    """Another part in the module only."""
    natively: str = ""
    """Another part in the native program only."""
    limit_ms: int | None = None


def written(folder: Path) -> list[Path]:
    """Write the components as modules into a folder, and return their paths."""
    paths = [folder / f"{name}.wasm" for name in FILES]
    for path in paths:
        path.write_bytes(_native.wat_to_wasm((LAWS / f"{path.stem}.wat").read_text(encoding="utf-8")))
    return paths


# Built-in CoDel and the parameters of the law, as in python/tests/test_compiled_laws.py.
CODEL = {
    '{ kind = "codel" }': "{}",
    '{ kind = "codel", target = "1ms", interval = "20ms" }': '{ target = "1ms", interval = "20ms" }',
    '{ kind = "codel", target = "20ms", mtu = "9kB" }': '{ target = "20ms", mtu = 9000 }',
}
QUEUES = """[
  { match = { dscp = "ef" }, limit = "8packets" },
  { match = { dscp = 0 }, limit = "30packets", discipline = { kind = "codel", target = "2ms" } },
  { name = "last" },
]""".replace("\n", " ")
"""Queues of the scheduler: the levels of `wasm_laws.toml`."""
DISCIPLINE, SOURCE, CONTROL = "network.discipline", "flows[0].source", "flows[1].transport.congestion-control"


def user(file: str, name: str, parameters: str = "{}") -> str:
    """Return a component of the kind `user`."""
    return f'{{ kind = "user", file = "{file}.wasm", class = "{name}", parameters = {parameters} }}'


def scheduler(file: str, name: str, parameters: str = "{}") -> str:
    """Return a discipline of the kind `user-scheduler`."""
    code = f'{{ file = "{file}.wasm", class = "{name}", parameters = {parameters} }}'
    return f'{{ kind = "user-scheduler", scheduler = {code}, queues = {QUEUES} }}'


def with_discipline(discipline: str) -> str:
    """Return the benchmark `red64` with another discipline."""
    text = (ROOT / "python" / "tailback" / "bench" / "red64.toml").read_text(encoding="utf-8")
    start = text.index("discipline = {")
    end = text.index("\n", start)
    return f"{text[:start]}discipline = {discipline}{text[end:]}"


def made(toml: str, folder: Path, *changes: tuple[str, str]) -> _native.Scenario:
    """Return a scenario whose components are in a folder, with changes."""
    return _native.Scenario.from_toml(toml, str(folder / "laws.toml")).with_set(list(changes))


def network() -> str:
    """Return the network with built-in components."""
    return (ROOT / "tools" / "wasm_laws.toml").read_text(encoding="utf-8")


def runs(folder: Path) -> list[Run]:
    """Return the runs; the components are in the folder."""
    found = []
    for built_in, parameters in CODEL.items():
        own, theirs = (
            made(with_discipline(discipline), folder, ("run.duration", "5s"))
            for discipline in (user("codel", "Codel", parameters), built_in)
        )
        found.append(Run(f"a queue law, {built_in}", own, [theirs, own]))
    draws = made(with_discipline(user("draws", "Draws", '{ rate = "2Mbit/s" }')), folder, ("run.duration", "5s"))
    found.append(Run("a queue law with draws", draws, [draws]))
    theirs = made(network(), folder)
    roles = {
        "a scheduler, strict priority": (DISCIPLINE, scheduler("priority", "Priority")),
        "a congestion control, Reno": (CONTROL, user("reno", "Reno")),
        "a source, constant bit rate": (
            SOURCE,
            user("cbr", "Cbr", '{ packet = "200B", interval = "3ms", jitter = 0.5 }'),
        ),
    }
    for name, change in roles.items():
        own = made(network(), folder, change)
        found.append(Run(name, own, [theirs, own]))
    own = made(network(), folder, *roles.values())
    found += [
        Run("components of three roles", own, [theirs, own]),
        Run("components of three roles in a worker", own, [theirs, own], 10 * LIMIT_MS),
    ]
    return found


# Parameters of the law with draws, and part of the text of the error.
REFUSED = {
    '{ mode = "no" }': "the mode is refused",
    "{ rate = 5 }": "`rate` is 5; write a rate",
    "{ rates = 5 }": "did you mean `rate`?",
    '{ rate = "20Mbit/s" }': "in `arrive` at 0.",
}
# Class in `faults.wat`, key of the scenario, and parts of the text of the error: the place, the call and its time.
ROLES = {
    "Queue": (DISCIPLINE, ("`Queue` of faults.wasm at ", ", in `arrive` at 1.")),
    "Scheduler": (DISCIPLINE, ("`Scheduler` of faults.wasm at ", ", in `select` at 1.")),
    "Control": (CONTROL, ("`Control` of faults.wasm at tcp[", "], in `acknowledged` at 1.")),
    "Source": (SOURCE, ("`Source` of faults.wasm at voice[", "], in `next` at 1 s: ")),
}
# Parts of the text of the errors by the number of the fault and the class: 4 to 6.
VALUES = {
    (4, "Queue"): "the wake-up at 1ps is before now",
    (4, "Scheduler"): "the wake-up at 1ps is before now",
    (4, "Control"): "the wake-up at 1ps is before now",
    (4, "Source"): "the burst at 1ps is before the last one",
    (5, "Queue"): "the verdict 7 is neither PASS (0) nor MARK (1) nor DROP (2)",
    (5, "Scheduler"): "queue 7 is chosen, but the queues are 0 to 2",
    (5, "Control"): "the window is NaN segments; it must be 1 to 1000000000",
    (5, "Source"): "a burst has 0 bytes; it must have 1 to 2^40",
    (6, "Control"): "the window is -3 segments; it must be 1 to 1000000000",
}


def failures(folder: Path) -> list[Failure]:
    """Return the failures; the components are in the folder."""
    found = [
        Failure(f"a refused law, {own}", with_discipline(user("draws", "Draws", own)), (part,))
        for own, part in REFUSED.items()
    ]
    found.append(
        Failure("a class of another role", with_discipline(user("reno", "Reno")), ("a queue-law has the role 0",))
    )

    def toml(name: str, fault: int) -> str:
        make = scheduler if name == "Scheduler" else user
        return made(network(), folder, (ROLES[name][0], make("faults", name, f"{{ fault = {fault} }}"))).to_toml()

    for name, (_, place) in ROLES.items():
        found += [
            Failure(f"{name}, a trap", toml(name, 1), (*place, "trap: ", "unreachable")),
            Failure(
                f"{name}, an endless loop",
                toml(name, 2),
                place,
                in_module=f"the call did not return within {LIMIT_MS / 1000:g} s, and its worker was ended",
                natively="the call took more than 100000000 steps",
                limit_ms=LIMIT_MS,
            ),
            Failure(f"{name}, an endless recursion", toml(name, 3), (*place, "trap: ", "stack")),
        ]
    found += [
        Failure(f"{name}, fault {fault}", toml(name, fault), (*ROLES[name][1], part))
        for (fault, name), part in VALUES.items()
    ]
    return found
