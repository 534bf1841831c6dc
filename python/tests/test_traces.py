"""Packet traces: rows, folders of parts, reading, filters, exports, and the state after interruptions."""

from __future__ import annotations

import errno
import json
import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from conftest import Ran

import tailback
from tailback import _native
from tailback.errors import EXIT_USAGE, OutputError, UsageError
from tailback.traces import writer
from tailback.traces.columns import Layout, columns, unframed
from tailback.traces.reader import open_traces

ROOT = Path(__file__).resolve().parents[2]

# A host sends three packets of 1000 B at 10 ms. At 8 Mbit/s each takes 1 ms, and 5 ms more to arrive. The first is sent
# at once, the second waits, and the third is dropped: 2000 B do not fit into 1500 B.
THREE = """
tailback = 1
[run]
duration = "30ms"
[network]
framing = { mtu = "1000B", header = "0B", min-frame = "0B", overhead = "0B" }
[hosts]
a = { buffer = "1500B" }
b = {}
[[links]]
between = ["a", "b"]
rate = "8Mbit/s"
delay = "5ms"
[[flows]]
name = "data"
from = "a"
to = "b"
start = "10ms"
source = { kind = "bulk", size = "3000B" }
"""
MS = 10**9
"""Picoseconds in a millisecond."""


@pytest.fixture
def three(tmp_path: Path) -> Path:
    """Return the path of the scenario `THREE`."""
    path = tmp_path / "three.toml"
    path.write_text(THREE)
    return path


def manifest(folder: Path, seed: int = 1) -> dict[str, Any]:
    """Return the manifest of the trace of a seed."""
    found: dict[str, Any] = json.loads((folder / f"seed-{seed}" / "trace.json").read_text())
    return found


def every_kind(mechanism: str = "") -> tailback.Scenario:
    """Return the scenario with every kind of source; `mechanism` is `mac` for PAUSE frames or `red` for RED."""
    scenario = tailback.load(ROOT / "tools" / "every_kind.toml")
    if mechanism == "mac":
        return scenario.set({"backpressure.signal": {"kind": "mac", "quanta": 1000}})
    if mechanism == "red":
        return scenario.set({"backpressure.scope": "none", "network.discipline.kind": "red"})
    return scenario


def test_the_rows_of_three_packets_are_those_calculated_by_hand(three: Path, tmp_path: Path) -> None:
    tailback.run(three, 1, 1, trace=tmp_path / "traces")
    rows = tailback.read_trace(tmp_path / "traces").collect()
    kept = rows.select("time_ps", "event", "sequence", "queue_packets", "queue_bytes", "reason", "seed")
    assert kept.rows() == [
        (10 * MS, "enqueue", 0, 0, 0, None, 1),
        (10 * MS, "dequeue", 0, 1, 1000, None, 1),
        (10 * MS, "enqueue", 1, 0, 0, None, 1),
        (10 * MS, "enqueue", 2, 1, 1000, None, 1),
        (10 * MS, "drop", 2, 1, 1000, "buffer full", 1),
        (11 * MS, "dequeue", 1, 1, 1000, None, 1),
        (16 * MS, "deliver", 0, None, None, None, 1),
        (17 * MS, "deliver", 1, None, None, None, 1),
    ]
    assert set(rows["port"]) == {"a->b"}
    assert set(rows["flow"]) == {"data"}
    assert set(rows["frame"]) == {"data"}
    assert set(rows["stamp_ps"]) == {10 * MS}
    assert {(*sizes,) for sizes in rows.select("payload_bytes", "size_bytes", "wire_bytes").rows()} == {(1000,) * 3}
    assert rows["packet"].n_unique() == 3


def test_the_digest_is_the_same_with_a_trace_and_the_hash_with_any_engine_and_threads(
    merge: Path, tmp_path: Path
) -> None:
    plain = tailback.run(merge, 1, 2)
    hashes = set()
    for number, settings in enumerate(
        [{}, {"engine": "plain"}, {"parallel": 2}, {"parallel": 3}, {"threads": 1}, {"engine": "plain", "parallel": 2}]
    ):
        folder = tmp_path / str(number)
        traced = tailback.run(merge, 1, 2, trace=folder, **settings)  # type: ignore[arg-type]
        assert traced.digest == plain.digest, settings
        assert [manifest(folder, seed)["digest"] for seed in (1, 2)] == [report.digest for report in plain.reports]
        hashes.add((manifest(folder, 1)["hash"], manifest(folder, 2)["hash"]))
    assert len(hashes) == 1
    assert len(*hashes) == 2, "each replication has its own hash"


def test_the_sums_of_rows_are_the_counters_of_the_report(merge: Path, tmp_path: Path) -> None:
    result = tailback.run(merge, 1, 1, warmup="0s", trace=tmp_path / "traces")
    rows = tailback.read_trace(tmp_path / "traces").collect()
    assert rows.filter(pl.col("event") == "drop").height > 0
    for port in result.reports[0].data["ports"]:
        of_port = rows.filter(pl.col("port") == port["name"])
        counts = port["classes"][0]
        for event, name in (("enqueue", "arrived"), ("drop", "dropped")):
            found = of_port.filter(pl.col("event") == event)
            assert found.height == counts[name]["packets"], (port["name"], event)
            assert found["size_bytes"].sum() == counts[name]["bytes"], (port["name"], event)


@pytest.mark.parametrize("mechanism", ["", "mac", "red"])
def test_rows_of_every_kind_have_the_same_hash_after_they_were_read_from_files(mechanism: str, tmp_path: Path) -> None:
    scenario = every_kind(mechanism)
    tailback.run(scenario, 7, 1, trace=tmp_path / "traces")
    (one,) = open_traces(tmp_path / "traces")
    assert one.verify() == one.manifest["hash"]
    rows = tailback.read_trace(tmp_path / "traces").collect()
    assert rows.height == one.manifest["rows"] > 1000
    frames = set(rows["frame"])
    assert (
        frames
        >= {"data", "ack", "syn"} | {"": {"queue", "xoff", "xon"}, "mac": {"queue", "pause"}, "red": set()}[mechanism]
    )
    # The names of the state's numbers are in the manifest.
    with_state = rows.filter(pl.col("state").is_not_null())
    assert with_state.is_empty() == (mechanism != "red")
    for port, number, length in with_state.select("port", "class", pl.col("state").list.len()).unique().rows():
        assert len(one.manifest["state_names"][port][number]) == length, (port, number)


def test_lists_of_unequal_lengths_are_read_as_they_were_written() -> None:
    # A chunk of three rows, of which the first and the third have SACK blocks.
    chunk = {}
    for column in columns():
        width = {"bool": 1, "uint8": 1, "uint16": 2, "uint32": 4, "uint64": 8, "float64": 8}[column.kind]
        empty = (b"", b"\0" * 12) if column.is_list else (b"\0" * 3 * width, b"\0" * 3 if column.is_optional else None)
        chunk[column.name] = empty
    numbers = b"".join(value.to_bytes(4, "little") for value in (5, 6, 9, 12, 7, 8))
    chunk["sack"] = (numbers, b"".join(count.to_bytes(4, "little") for count in (4, 0, 2)))
    names = {name: ["x"] for name in {column.names for column in columns()} - {None} if name}
    rows = Layout(names).frame(3, chunk)
    assert rows["sack"].to_list() == [[5, 6, 9, 12], None, [7, 8]]
    back = unframed(rows)
    assert back == {name: (numbers, extent or b"") for name, (numbers, extent) in chunk.items()}


def test_a_selection_is_the_same_part_of_the_whole_trace(merge: Path, tmp_path: Path) -> None:
    tailback.run(merge, 1, 1, trace=tmp_path / "whole")
    chosen = tailback.Trace(
        tmp_path / "part", flows=["data[1]"], ports=["sw->*"], events=["drop", "dequeue"], start=0.5, until="1500ms"
    )
    tailback.run(merge, 1, 1, trace=chosen)
    whole = tailback.read_trace(tmp_path / "whole").collect()
    part = tailback.read_trace(tmp_path / "part").collect()
    expected = whole.filter(
        (pl.col("flow") == "data[1]")
        & (pl.col("port") == "sw->d")
        & pl.col("event").is_in(["drop", "dequeue"])
        & pl.col("time_ps").is_between(5 * 10**11, 15 * 10**11)
    )
    assert 0 < part.height < whole.height
    assert part.equals(expected)
    assert manifest(tmp_path / "part")["selection"] == {
        "flows": ["data[1]"],
        "ports": ["sw->*"],
        "events": ["drop", "dequeue"],
        "start_ps": 5 * 10**11,
        "until_ps": 15 * 10**11,
    }


def test_a_flow_with_brackets_in_its_name_is_not_a_pattern(
    tailback: Callable[..., Ran], merge: Path, tmp_path: Path
) -> None:
    assert tailback("run", merge, "--trace", tmp_path / "traces", "--reps", "1").code == 0
    ran = tailback("trace", tmp_path / "traces", "--filter", "flow=data[2]", "--format", "json", "--limit", "5")
    assert [json.loads(line)["flow"] for line in ran.out.splitlines()] == ["data[2]"] * 5
    ran = tailback("trace", tmp_path / "traces", "--filter", "flow!=data", "--format", "csv")
    assert len(ran.out.splitlines()) == 1, "`data` is the group of all flows"


def test_a_name_that_matches_nothing_is_a_usage_error_with_the_nearest_name(
    tailback: Callable[..., Ran], merge: Path, tmp_path: Path
) -> None:
    for option, value, near in (
        ("--trace-flow", "dta", "`data`"),
        ("--trace-port", "sw->e", "`sw->d`"),
        ("--trace-event", "enque", "`enqueue`"),
        ("--trace-frame", "datas", "`data`"),
    ):
        ran = tailback("run", merge, "--trace", tmp_path / "traces", option, value)
        assert ran.code == 2, ran.err
        assert f"did you mean {near}?" in ran.err
    assert not (tmp_path / "traces").exists()
    ran = tailback("run", merge, "--trace-event", "drop")
    assert ran.code == 2
    assert "--trace DIR" in ran.err


def test_a_folder_with_content_is_only_replaced_with_force_and_only_if_it_has_traces(
    tailback: Callable[..., Ran], three: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "traces"
    assert tailback("run", three, "--trace", folder, "--reps", "2").code == 0
    refused = tailback("run", three, "--trace", folder)
    assert refused.code == 4
    assert "--force" in refused.err
    assert tailback("run", three, "--trace", folder, "--reps", "1", "--force").code == 0
    assert [path.name for path in folder.iterdir()] == ["seed-1"]
    (folder / "notes.txt").write_text("mine")
    refused = tailback("run", three, "--trace", folder, "--force")
    assert refused.code == 4
    assert "other files" in refused.err
    assert (folder / "notes.txt").read_text() == "mine"


NS2 = """\
+ 0.01 0 1 udp 1000 ------- 0 0.0 1.0 0 0
- 0.01 0 1 udp 1000 ------- 0 0.0 1.0 0 0
+ 0.01 0 1 udp 1000 ------- 0 0.0 1.0 1 1
+ 0.01 0 1 udp 1000 ------- 0 0.0 1.0 2 2
d 0.01 0 1 udp 1000 ------- 0 0.0 1.0 2 2
- 0.011 0 1 udp 1000 ------- 0 0.0 1.0 1 1
r 0.016 0 1 udp 1000 ------- 0 0.0 1.0 0 0
r 0.017 0 1 udp 1000 ------- 0 0.0 1.0 1 1
"""


def ns3(event: str, time: str, node: int, source: str, number: int) -> str:
    """Return the line of ns-3 for an event of packet `number` at the trace source `source` of a node."""
    # 1000 B of payload, 8 B of UDP and 20 B of IPv4; addresses are the numbers of nodes from 10.0.0.1 on.
    return (
        f"{event} {time} /NodeList/{node}/DeviceList/0/$ns3::PointToPointNetDevice/{source} "
        "ns3::PppHeader (Point-to-Point Protocol: IP (0x0021)) ns3::Ipv4Header (tos 0x0 DSCP Default ECN Not-ECT "
        f"ttl 64 id {number} protocol 17 offset (bytes) 0 flags [none] length: 1028 10.0.0.1 > 10.0.0.2) "
        "ns3::UdpHeader (length: 1008 49153 > 9) Payload (size=1000)\n"
    )


def test_the_text_of_ns_2_is_the_one_written_by_hand(tailback: Callable[..., Ran], three: Path, tmp_path: Path) -> None:
    assert tailback("run", three, "--trace", tmp_path / "traces", "--reps", "1").code == 0
    assert tailback("trace", tmp_path / "traces", "--format", "ns2").out == NS2
    limited = tailback("trace", tmp_path / "traces", "--format", "ns2", "--limit", "2", "--out", tmp_path / "run.tr")
    assert limited.code == 0
    assert (tmp_path / "run.tr").read_text() == "".join(NS2.splitlines(keepends=True)[:2])


def test_the_text_of_ns_3_is_the_one_written_by_hand(tailback: Callable[..., Ran], three: Path, tmp_path: Path) -> None:
    assert tailback("run", three, "--trace", tmp_path / "traces", "--reps", "1").code == 0
    assert tailback("trace", tmp_path / "traces", "--format", "ns3").out == "".join(
        [
            ns3("+", "0.01", 0, "TxQueue/Enqueue", 0),
            ns3("-", "0.01", 0, "TxQueue/Dequeue", 0),
            ns3("+", "0.01", 0, "TxQueue/Enqueue", 1),
            ns3("+", "0.01", 0, "TxQueue/Enqueue", 2),
            ns3("d", "0.01", 0, "TxQueue/Drop", 2),
            ns3("-", "0.011", 0, "TxQueue/Dequeue", 1),
            ns3("r", "0.016", 1, "MacRx", 0),
            ns3("r", "0.017", 1, "MacRx", 1),
        ]
    )


def test_filters_show_the_rows_that_meet_all_of_them(tailback: Callable[..., Ran], three: Path, tmp_path: Path) -> None:
    folder = tmp_path / "traces"
    assert tailback("run", three, "--trace", folder, "--reps", "2").code == 0

    def events(*conditions: str) -> list[str]:
        options = [part for text in conditions for part in ("--filter", text)]
        ran = tailback("trace", folder, "--seed", "1", "--format", "json", *options)
        assert ran.code == 0, ran.err
        return [f"{row['event']} {row['sequence']}" for row in map(json.loads, ran.out.splitlines())]

    assert events("event=drop") == ["drop 2"]
    assert events("event=drop,deliver", "sequence<2") == ["deliver 0", "deliver 1"]
    assert events("time_ps>=11ms", "time_ps<17ms") == ["dequeue 1", "deliver 0"]
    assert events("flow=d*", "port=a->b", "event!=enqueue", "sequence=2") == ["drop 2"]
    assert events("queue_bytes>=1kB", "event=dequeue") == ["dequeue 0", "dequeue 1"]
    assert events("measured=false") == []
    table = tailback("trace", folder, "--filter", "event=drop")
    assert table.out.count("10.000000 ms") == 2
    csv = tailback("trace", folder, "--format", "csv").out.splitlines()
    assert len(csv) == 1 + 2 * 8
    assert csv[0].startswith("seed,time_ps,event,")
    assert csv[-1].startswith(f"2,{17 * MS},deliver,")
    limited = tailback("trace", folder, "--format", "csv", "--limit", "10").out.splitlines()
    assert limited == csv[:11]
    for condition, advice in (
        ("evnt=drop", "did you mean event?"),
        ("event=dropp", "did you mean drop?"),
        ("event<drop", "with = or !="),
        ("drop", "is not a condition"),
        ("sequence=x", "not a number"),
    ):
        wrong = tailback("trace", folder, "--filter", condition)
        assert wrong.code == 2
        assert advice in wrong.err
    assert tailback("trace", folder, "--format", "ns2").code == 2
    assert tailback("trace", folder, "--seed", "9").code == 2
    assert tailback("trace", tmp_path / "none").code == 2
    (tmp_path / "empty").mkdir()
    assert tailback("trace", tmp_path / "empty").code == 4


def test_a_changed_part_is_noticed(tailback: Callable[..., Ran], three: Path, tmp_path: Path) -> None:
    folder = tmp_path / "traces"
    assert tailback("run", three, "--trace", folder, "--reps", "1").code == 0
    verified = tailback("trace", folder, "--verify")
    assert verified.code == 0
    assert f"8 rows, {manifest(folder)['hash']}: verified" in verified.out
    part = folder / "seed-1" / "part-00000.parquet"
    rows = pl.read_parquet(part)
    rows.with_columns(queue_bytes=pl.col("queue_bytes") + 1).write_parquet(part)
    changed = tailback("trace", folder, "--verify")
    assert changed.code == 4
    assert "damaged" in changed.err
    part.write_bytes(part.read_bytes()[:100])
    assert tailback("trace", folder).code == 4
    part.unlink()
    assert tailback("trace", folder, "--verify").code == 4


def test_after_a_full_disk_the_closed_parts_can_be_read(
    tailback: Callable[..., Ran], merge: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tailback import load
    from tailback import run as run_scenario

    folder = tmp_path / "traces"
    monkeypatch.setattr(writer, "PART_ROWS", 2000)
    monkeypatch.setattr(_native, "trace", in_small_chunks(_native.trace))
    rename, calls = Path.replace, []

    def full(path: Path, target: Path) -> Path:
        if path.name == "part-00002.parquet.tmp":
            calls.append(path)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return rename(path, target)

    monkeypatch.setattr(Path, "replace", full)
    ran = tailback("run", merge, "--trace", folder, "--reps", "1")
    assert ran.code == 4
    assert "disk is full" in ran.err
    assert calls
    monkeypatch.undo()
    rows = pl.read_parquet(folder / "seed-1" / "part-0000[01].parquet")
    assert rows.height == 4000
    assert sorted(path.name for path in (folder / "seed-1").iterdir()) == [
        "part-00000.parquet",
        "part-00001.parquet",
        "trace.json",
    ]
    assert manifest(folder)["state"] == "interrupted"
    run_scenario(load(merge), 1, 1, trace=tmp_path / "whole")
    whole = pl.read_parquet(tmp_path / "whole" / "seed-1" / "*.parquet")
    assert rows.equals(whole.head(4000))
    assert tailback("trace", folder, "--verify").code == 4


def in_small_chunks(trace: Callable[..., object]) -> Callable[..., object]:
    """Return the function of the core with chunks of 1000 rows, since a chunk is not divided into parts."""

    def call(scenario: object, seed: int, sink: Callable[[int, object], object], *arguments: object) -> object:
        def divided(count: int, chunk: dict[str, tuple[bytes, bytes | None]]) -> None:
            for start in range(0, count, 1000):
                size = min(1000, count - start)
                sink(size, {name: cut(chunk[name], name, start, size) for name in chunk})

        return trace(scenario, seed, divided, *arguments)

    kinds = {column.name: column for column in columns()}

    def cut(column: tuple[bytes, bytes | None], name: str, start: int, size: int) -> tuple[bytes, bytes | None]:
        numbers, extent = column
        if kinds[name].is_list:
            assert not any(extent or b""), "the scenario has no lists"
            return b"", b"\0" * 4 * size
        width = {"bool": 1, "uint8": 1, "uint16": 2, "uint32": 4, "uint64": 8, "float64": 8}[kinds[name].kind]
        part = None if extent is None else extent[start : start + size]
        return numbers[start * width : (start + size) * width], part

    return call


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 130), (signal.SIGKILL, -9)])
def test_after_a_signal_the_closed_parts_can_be_read(
    number: signal.Signals, code: int, merge: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "traces"
    command = [sys.executable, "-m", "tailback", "run", str(merge), "--set", "run.duration=100000s", "--reps", "1"]
    child = subprocess.Popen(
        [*command, "--trace", str(folder)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    part = folder / "seed-1" / "part-00000.parquet"
    deadline = time.monotonic() + 120
    while not part.exists() and child.poll() is None and time.monotonic() < deadline:
        time.sleep(0.05)
    child.send_signal(number)
    _, err = child.communicate(timeout=60)
    assert child.returncode == code, err
    found = manifest(folder)
    (one,) = open_traces(folder)
    rows = tailback.read_trace(folder).collect()
    assert rows.height == sum(frame.height for frame in one.frames()) >= writer.PART_ROWS
    assert rows["time_ps"].is_sorted()
    if number == signal.SIGKILL:
        assert found["state"] == "running"
    else:
        assert found["state"] == "interrupted"
        assert found["rows"] == rows.height
        assert found["parts"][-1] % 100_000 != 0, "the last part has the rows up to the signal, not whole chunks"
        assert not list(folder.glob("*/*.tmp"))


def test_a_stepped_simulation_gives_the_rows_of_a_run(merge: Path, tmp_path: Path) -> None:
    tailback.run(merge, 1, 1, trace=tmp_path / "traces")
    whole = tailback.read_trace(tmp_path / "traces").drop("seed").collect()
    with tailback.Simulation(merge, 1, trace=True) as simulation:
        taken = []
        while not simulation.done:
            simulation.step("313ms")
            taken.append(simulation.take_trace())
        assert sum(not rows.is_empty() for rows in taken) > 3
        assert pl.concat(taken).equals(whole)
        assert simulation.trace_hash == manifest(tmp_path / "traces")["hash"]
        assert simulation.take_trace().is_empty()
    with tailback.Simulation(merge, 1, trace=tailback.Trace(events=["drop"])) as simulation:
        simulation.run_until(simulation.end)
        assert simulation.take_trace().equals(whole.filter(pl.col("event") == "drop"))
    with tailback.Simulation(merge, 1) as simulation:
        assert simulation.trace_hash is None
        with pytest.raises(UsageError, match="trace=True"):
            simulation.take_trace()
    for trace, advice in (
        (tailback.Trace("folder"), "no directory"),
        (tailback.Trace(flows="data"), "list of names"),
        (tailback.Trace(ports=["x"]), "no port is named"),
        (tailback.Trace(start="5 s later"), "time|duration"),
    ):
        with pytest.raises(UsageError, match=advice):
            tailback.Simulation(merge, 1, trace=trace)


def test_a_trace_without_rows_can_be_read(three: Path, tmp_path: Path) -> None:
    tailback.run(three, 1, 1, trace=tailback.Trace(tmp_path / "traces", events=["mark"]))
    rows = tailback.read_trace(tmp_path / "traces").collect()
    assert rows.is_empty()
    assert rows.columns == ["seed", *(column.name for column in columns())]
    (one,) = open_traces(tmp_path / "traces")
    assert one.verify()
    assert [path.name for path in one.parts] == ["part-00000.parquet"], "a part without rows has the columns"
    with pytest.raises(OutputError, match="no trace"):
        tailback.read_trace(tmp_path / "none")


def test_every_column_of_a_quantity_has_its_unit_in_its_name_and_a_description() -> None:
    suffixes = {"ps": "_ps", "B": "_bytes", "packet": "_packets", "512 bit": "_quanta"}
    for column in columns():
        assert column.about.endswith("."), column.name
        assert column.unit == "" or column.name.endswith(suffixes[column.unit]), column.name


def test_the_documentation_has_every_column() -> None:
    page = (ROOT / "docs" / "traces.md").read_text(encoding="utf-8")
    for column in columns():
        assert f"| `{column.name}` |" in page, column.name


def test_a_sweep_and_a_reproduction_refuse_a_trace_and_say_how_to_trace_one_run(
    tailback: Callable[..., Any], tmp_path: Path
) -> None:
    study = ROOT / "docs" / "examples" / "study.toml"
    ran = tailback("sweep", study, "--trace", tmp_path / "traces", "--out", tmp_path / "sweep")
    assert (ran.code, list(tmp_path.iterdir())) == (EXIT_USAGE, [])
    command = shlex.split(ran.err.partition("the first: tailback ")[2])
    shorter = ["--set", "run.duration=3s"]
    assert tailback(*command, *shorter).code == 0
    assert tailback("trace", tmp_path / "traces", "--verify").code == 0
    ran = tailback("reproduce", "lan-a1", "--trace", tmp_path / "more", "--out", tmp_path / "out")
    assert (ran.code, (tmp_path / "out").exists()) == (EXIT_USAGE, False)
    assert "docs/traces.md" in ran.err
