"""Sweeps of ten cells in which one cell has a component with a fault, for all roles and forms."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest
from components import dumbbell, read, report

import tailback as core
from tailback.laws import watchdog

ROLES = ("queue", "congestion", "scheduler", "source")
"""Roles of components, by the names of their records in the interface of compiled ones."""
BASES = dict(zip(ROLES, ("Law", "CongestionControl", "Scheduler", "Source"), strict=True))
"""Base classes of components in Python."""
CALLS = dict(zip(ROLES, ("arrive", "acknowledged", "select", "next"), strict=True))
"""Call in which the faults happen."""
FAULTY = 4
"""Value of the parameter `n` in the cell with the fault."""
AFTER_PS = 5 * 10**10
"""Time from which on the fault happens, when packets of all flows are under way."""

FLOWS = """[[flows]]
name = "voice"
from = "a*"
to = "b"
dscp = "ef"
source = SOURCE
[[flows]]
name = "tcp"
from = "a*"
to = "b"
source = { kind = "bulk", size = "14600B" }
transport = { kind = "tcp", congestion-control = CONTROL }
"""
QUEUES = '[{ match = { dscp = "ef" }, limit = "8packets" }, { match = { dscp = 0 } }, { name = "last" }]'
# Keys of the network, and behaviour of the components without a fault: all packets pass, queues have strict priority,
# a source emits 100 B each 10 ms, and the window never falls below the ten segments that a connection transfers.
BUILT_IN = {
    "DISCIPLINE": '{ kind = "drop-tail" }',
    "CONTROL": '{ kind = "reno" }',
    "SOURCE": '{ kind = "cbr", packet = "100B", interval = "10ms", phase = "zero" }',
}
PATHS = {
    "queue": "network.discipline.parameters.n",
    "congestion": "flows[tcp].transport.congestion-control.parameters.n",
    "scheduler": "network.discipline.scheduler.parameters.n",
    "source": "flows[voice].source.parameters.n",
}


def network(**changed: str) -> str:
    """Return a network that runs for 0.3 s with three sources and three connections; `changed` has keys of BUILT_IN."""
    flows, keys = FLOWS, BUILT_IN | changed
    for name in ("CONTROL", "SOURCE"):
        flows = flows.replace(name, keys[name])
    return dumbbell(keys["DISCIPLINE"], flows, hosts=3, duration="300ms")


def component(role: str, file: str, parameters: str = "{ n = 0 }") -> dict[str, str]:
    """Return the key of the network with the component `Mine` of a file in its role."""
    code = f'file = "{file}", class = "Mine", parameters = {parameters}'
    if role == "scheduler":
        return {"DISCIPLINE": f'{{ kind = "user-scheduler", scheduler = {{ {code} }}, queues = {QUEUES} }}'}
    key = {"queue": "DISCIPLINE", "congestion": "CONTROL", "source": "SOURCE"}[role]
    return {key: f'{{ kind = "user", {code} }}'}


def with_component(folder: Path, role: str, file: str, parameters: str = "{ n = 0 }") -> core.Scenario:
    """Return the network with the component `Mine` of a file of the folder in its role."""
    return read(network(**component(role, file, parameters)), folder)


@cache
def digest(role: str) -> str:
    """Return the digest of a run without a fault: with the built-in component that decides in the same way."""
    priority = {"DISCIPLINE": f'{{ kind = "priority", levels = {QUEUES} }}'}
    text = network(**(priority if role == "scheduler" else {}))
    found: str = report(read(text, Path(__file__).parent))["digest"]
    return found


def the_other_nine_finish(one: core.Scenario, path: str, expected: str) -> str:
    """Run a sweep over ten values of a parameter, and return the message of the cell with the fault.

    The digests of the other nine must be `expected`, that of a run without a fault.
    """
    with pytest.raises(core.FailedRuns, match="1 of 10 runs failed") as failed:
        # One thread has one worker, which goes on after a fault that has not ended it.
        core.sweep(one, {path: range(10)}, replications=1, seed=3, threads=1)
    found = failed.value.sweep
    (failure,) = found.failures
    assert [value for _, value in failure.point] == [FAULTY]
    digests = {point[0][1]: [run.digest for run in runs] for point, runs in found.runs.items()}
    assert digests == {n: [] if n == FAULTY else [expected] for n in range(10)}
    return failure.error


def limit_calls(part: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let calls take half a second if `part`, of the expected message, is about a call that does not return."""
    if "did not return" in part or "Timeout" in part:
        monkeypatch.setattr(watchdog, "CALL_LIMIT_S", 0.5)


def check(one: core.Scenario, role: str, file: str, part: str) -> None:
    """Run a sweep in which one cell has a fault; its message must name component, call and instant, and have `part`."""
    message = the_other_nine_finish(one, PATHS[role], digest(role))
    begin = rf"the run with seed 3 failed: `Mine` of {re.escape(file)} at \S+, in `{CALLS[role]}` at 0\.0[5-9]\d* s: "
    assert re.match(begin, message), message
    assert part in message, message
