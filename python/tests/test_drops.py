"""Lost packets in results: the table of drops by kind, place and reason, and the table of ports."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import tailback as package

Cli = Callable[..., Any]

# Bulk data in both directions, so that acknowledgements, which are not ECN-capable, are dropped where data are marked.
BOTH_WAYS = """tailback = 1
run = { duration = "2s", warmup = "500ms", replications = 2 }

[network]
discipline = { kind = "red", ecn = true, min = "6kB", max = "18kB", byte-mode = false }
buffer = "100kB"

[hosts]
a = { count = 3 }
b = { count = 3 }

[switches]
left = {}
right = {}

[[links]]
between = ["a*", "left"]
rate = "100Mbit/s"

[[links]]
between = ["b*", "right"]
rate = "100Mbit/s"

[[links]]
between = ["left", "right"]
rate = "40Mbit/s"
delay = "2ms"

[[flows]]
name = "there"
from = "a*"
to = "b*"
source = { kind = "bulk" }
transport = { kind = "tcp", ecn = "classic" }

[[flows]]
name = "back"
from = "b*"
to = "a*"
source = { kind = "bulk" }
transport = { kind = "tcp", ecn = "classic" }
"""


@pytest.fixture
def both_ways(tmp_path: Path) -> Path:
    path = tmp_path / "both-ways.toml"
    path.write_text(BOTH_WAYS)
    return path


def test_the_table_of_drops_agrees_with_the_counters_of_ports_and_flows(both_ways: Path) -> None:
    result = package.run(both_ways)
    by_place = result.drops.group_by("seed", "where").agg(pl.col("packets").sum())
    by_port = result.ports.group_by("seed", "port").agg(pl.col("dropped_packets").sum())
    by_port = by_port.filter(pl.col("dropped_packets") > 0)
    assert sorted(by_place.rows()) == sorted(by_port.rows())
    acks = result.drops.filter(pl.col("kind") == "acknowledgement")
    assert acks["packets"].sum() > 20
    assert set(acks["reason"]) <= {"early drop", "buffer full"}
    assert set(result.drops["kind"]) <= {"data", "data of the warm-up", "acknowledgement", "handshake"}
    # The counters of flows count data packets only.
    data = result.drops.filter(pl.col("kind") == "data")["packets"].sum()
    assert data == result.flows["dropped_packets"].sum()


def test_the_table_of_ports_has_the_number_of_dropped_acknowledgements_only_if_there_are_any(
    tailback: Cli, both_ways: Path, merge: Path
) -> None:
    found = tailback("run", both_ways, "--json", "--reps", "1").json["ports"]
    report = package.run(both_ways, replications=1).reports[0]
    by_port: dict[str, int] = {}
    for drop in report.ack_drops():
        by_port[drop["where"]] = by_port.get(drop["where"], 0) + drop["packets"]
    assert {row["port"]: row["dropped_acks"] for row in found if row["dropped_acks"]} == by_port
    out = tailback("run", both_ways, "--reps", "1").out
    line = next(line for line in out.splitlines() if "busy" in line)
    assert re.split(r"\s{3,}", line.strip())[:4] == ["port", "busy", "dropped", "of these ACKs"]
    assert "ACKs" not in tailback("run", merge).out
