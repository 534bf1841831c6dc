"""Networks and readings that the tests of users' components share."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import tailback as core

LAWS = Path(__file__).with_name("laws")
"""Folder with components of the tests."""

BULK = """[[flows]]
name = "tcp"
from = "a*"
to = "b"
source = { kind = "bulk" }
transport = { kind = "tcp" }
"""
"""A greedy connection from each host."""


def dumbbell(discipline: str, flows: str = BULK, hosts: int = 4, duration: str = "4s") -> str:
    """Return the text of a scenario: hosts `a`, a switch `s` with this discipline and a link of 5 Mbit/s to `b`."""
    return f"""
tailback = 1
[run]
duration = "{duration}"
seed = 3
sample = "100ms"
[network]
discipline = {discipline}
buffer = "60packets"
[hosts]
a = {{ count = {hosts} }}
b = {{}}
[switches.s]
[[links]]
between = ["a*", "s"]
rate = "100Mbit/s"
delay = "10ms"
[[links]]
between = ["s", "b"]
rate = "5Mbit/s"
delay = "5ms"
{flows}"""


def read(text: str, folder: Path) -> core.Scenario:
    """Return the scenario of a text whose files are in `folder`."""
    return core.Scenario.from_toml(text, str(folder / "scenario.toml"))


def report(one: core.Scenario, seed: int = 3, engine: str | None = None) -> dict[str, Any]:
    """Return the report of one replication."""
    found: dict[str, Any] = json.loads(one.native.run(seed, None, None, engine))
    return found


def drops(found: dict[str, Any]) -> int:
    """Return the number of packets that all queues dropped."""
    return sum(queue["dropped"]["packets"] for port in found["ports"] for queue in port["classes"])


def marks(found: dict[str, Any]) -> int:
    """Return the number of packets that all queues marked."""
    return sum(queue["marked_packets"] for port in found["ports"] for queue in port["classes"])


def failure(one: core.Scenario) -> str:
    """Return the message of a run that fails."""
    with pytest.raises(core.RunError) as failed:
        core.run(one, replications=1)
    return str(failed.value)
