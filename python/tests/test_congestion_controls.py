"""Congestion controls that the user has written in Python."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import tailback as core
from tailback import _native

LAWS = Path(__file__).with_name("laws")

NETWORK = """
tailback = 1
[run]
duration = "6s"
seed = 3
sample = "100ms"
[network]
discipline = DISCIPLINE
buffer = "60packets"
[hosts]
a = { count = 4 }
b = {}
[switches.s]
[[links]]
between = ["a*", "s"]
rate = "100Mbit/s"
delay = "10ms"
[[links]]
between = ["s", "b"]
rate = "5Mbit/s"
delay = "5ms"
[[flows]]
name = "tcp"
from = "a*"
to = "b"
source = { kind = "bulk" }
transport = { kind = "tcp", congestion-control = CONTROL }
probe = true
"""
DROP_TAIL = '{ kind = "drop-tail" }'
RED = '{ kind = "red", ecn = true }'
RENO = '{ kind = "user", file = "reno.py", class = "Reno" }'


def scenario(folder: Path, control: str, discipline: str = DROP_TAIL, keys: str = "") -> core.Scenario:
    """Return a dumbbell with four connections; files are in `folder`, `keys` are more keys of the transport."""
    text = NETWORK.replace("DISCIPLINE", discipline).replace("CONTROL", control + keys)
    return core.Scenario.from_toml(text, str(folder / "scenario.toml"))


def written(folder: Path, body: str, keys: str = "", parameters: str = "{}", **options: str) -> core.Scenario:
    """Return the dumbbell with a control whose class has this body."""
    folder.mkdir(exist_ok=True)
    lines = "\n".join("    " + line for line in body.splitlines())
    (folder / "mine.py").write_text(f"import math\nimport tailback\n\nclass Mine(tailback.CongestionControl):\n{lines}\n")
    control = f'{{ kind = "user", file = "mine.py", class = "Mine", parameters = {parameters} }}'
    return scenario(folder, control, keys=keys, **options)


def report(one: core.Scenario, seed: int = 3, engine: str | None = None) -> dict[str, Any]:
    """Return the report of one replication."""
    found: dict[str, Any] = json.loads(one.native.run(seed, None, None, engine))
    return found


def failure(one: core.Scenario) -> str:
    """Return the message of a run that fails."""
    with pytest.raises(core.RunError) as failed:
        core.run(one, replications=1)
    return str(failed.value)


@pytest.mark.parametrize("engine", ["merged", "plain"])
@pytest.mark.parametrize(
    ("discipline", "keys"),
    [
        (DROP_TAIL, ""),
        (RED, ', ecn = "classic"'),
        (RED, ', recovery = { kind = "newreno" }'),
        (DROP_TAIL, ', recovery = { kind = "tahoe" }, initial-ssthresh = 4'),
        (DROP_TAIL, ', spurious-timeout = "f-rto", dsack-undo = true, pacing = true'),
        ('{ kind = "drop-tail", limit = "3packets" }', ', recovery = { kind = "sack", rack = false }, ack-frequency = 1'),
    ],
)
def test_reno_in_python_decides_as_the_built_in_one_about_every_segment(
    discipline: str, keys: str, engine: str
) -> None:
    keys = keys.replace(", ack-frequency = 1", "")
    discipline = discipline.replace(', limit = "3packets"', "")
    theirs = report(scenario(LAWS, '{ kind = "reno" }', discipline, keys), engine=engine)
    ours = report(scenario(LAWS, RENO, discipline, keys), engine=engine)
    assert ours["digest"] == theirs["digest"]
    assert json.dumps(ours["flows"]) == json.dumps(theirs["flows"])
