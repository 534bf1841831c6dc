"""Captures: frames as pcapng, read by the independent reader of the tests and, where it is installed, by tshark."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import struct
import subprocess
import sys
import time
import zlib
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pcapng
import pytest

import tailback
from tailback import Capture, Scenario
from tailback.errors import EXIT_INTERRUPTED, EXIT_RUN, EXIT_USAGE

FIN, SYN, PSH, ACK, ECE, CWR = 1, 2, 8, 16, 64, 128
CHECKS = [option for name in ("ip", "tcp", "udp") for option in ("-o", f"{name}.check_checksum:TRUE")]
"""Options with which tshark verifies checksums."""
GROUPS = {"Sequence", "Comment"}
"""Groups of tshark's remarks that a capture may have: on sequence numbers, and its own comments."""


def bottleneck(transport: str, port: str = 'buffer = "20packets"', source: str = '{ kind = "bulk" }') -> str:
    """Return a scenario in which two senders share 10 Mbit/s to two receivers; `port` has the settings of that port."""
    return f"""
tailback = 1
run = {{ duration = "1200ms", seed = 1 }}
network = {{ framing = "none", buffer = "200packets" }}
hosts = {{ s = {{ count = 2 }}, r = {{ count = 2 }} }}
switches = {{ a = {{ ports = {{ b = {{ {port} }} }} }}, b = {{}} }}
links = [
  {{ between = ["s*", "a"], rate = "100Mbit/s", delay = "1ms" }},
  {{ between = ["a", "b"], rate = "10Mbit/s", delay = "5ms" }},
  {{ between = ["b", "r*"], rate = "100Mbit/s", delay = "1ms" }},
]
[[flows]]
name = "bulk"
from = "s*"
to = "r*"
pair = "zip"
start-spread = "100ms"
source = {source}
transport = {{ {transport} }}
"""


def lan(flows: str, more: str, switch: str = 'buffer = "30kB"', hosts: str = "count = 3") -> str:
    """Return a scenario in which hosts h1 to h3 send over two switches to d1 and d2, whose links have 100 Mbit/s."""
    return f"""
tailback = 1
run = {{ duration = "12ms", seed = 1, accept = ["overload"] }}
{more}
hosts = {{ h = {{ {hosts} }}, d = {{ count = 2 }} }}
switches = {{ s = {{ {switch} }}, e = {{ buffer = "60kB" }} }}
links = [
  {{ between = ["h*", "e"], rate = "1Gbit/s", delay = "1us" }},
  {{ between = ["e", "s"], rate = "1Gbit/s", delay = "1us" }},
  {{ between = ["s", "d*"], rate = "100Mbit/s", delay = "1us" }},
]
{flows}
"""


def figure(name: str) -> str:
    """Return the scenario of a figure of the manual."""
    return (EXAMPLES / "figures" / f"{name}.toml").read_text()


EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"
BURSTS = """
[[flows]]
name = "data"
from = "h*"
to = "d1"
class = 0
source = { kind = "poisson", packet = "1000B", rate = "50Mbit/s" }
"""
TWO_CLASSES = BURSTS + BURSTS.replace('"data"', '"bulk"').replace("class = 0", "class = 1").replace("d1", "d2")
RED = 'discipline = { kind = "red", min = "4packets", max = "12packets", max-p = 0.1, weight = 0.02, count = "packets"'
WEB = (EXAMPLES / "web.toml").read_text().replace('"120s"', '"3s"').replace('warmup = "20s"', 'warmup = "0s"')

SCENARIOS = {
    "tahoe without a handshake": bottleneck(
        'kind = "tcp", recovery = { kind = "tahoe" }, handshake = false, timestamps = false, '
        "delayed-ack = { every = 1 }"
    ),
    "new reno": bottleneck('kind = "tcp", recovery = { kind = "newreno" }, segment = "1000B", receive-window = 40'),
    "sack": bottleneck('kind = "tcp", congestion-control = { kind = "cubic" }'),
    "early drops": bottleneck('kind = "tcp"', RED + " }"),
    "classic ecn": bottleneck('kind = "tcp", ecn = "classic"', RED + ", ecn = true }"),
    "l4s": bottleneck(
        'kind = "tcp", ecn = "classic", ect = "ect1", congestion-control = { kind = "dctcp" }',
        'buffer = "100packets", discipline = { kind = "dualpi2" }',
    ),
    "losses on a link": bottleneck('kind = "tcp"', 'buffer = "100packets"').replace(
        'rate = "10Mbit/s", delay = "5ms"', 'rate = "10Mbit/s", delay = "5ms", loss = 0.01'
    ),
    "a slow host": bottleneck('kind = "tcp"')
    .replace('["s*", "a"], rate = "100Mbit/s"', '["s*", "a"], rate = "4Mbit/s"')
    .replace("s = { count = 2 }", 's = { count = 2, buffer = "15packets" }'),
    "applications": WEB,
    "classes": lan(TWO_CLASSES, "network = { classes = 2 }"),
    "code points and labels": bottleneck('kind = "tcp"')
    .replace('framing = "none", ', "")
    .replace('buffer = "20packets"', 'buffer = "20packets", mpls = { labels = 2, exp = { af31 = 3, ef = 5 } }')
    .replace('name = "bulk"', 'name = "bulk"\ndscp = "af31"'),
    "pause": lan(
        BURSTS, 'backpressure = { scope = "plain", signal = { kind = "mac", quanta = 500 }, end-stations = true }'
    ),
    "priority flow control": lan(
        TWO_CLASSES,
        "network = { classes = 2 }\n"
        'backpressure = { scope = "class", signal = { kind = "mac", quanta = 900 }, end-stations = true }',
    ),
    "stops by destination": lan(BURSTS, 'backpressure = { scope = "destination" }'),
    "rdma": re.sub("start = .*", "", figure("rack")).replace('"80ms"', '"1ms"').replace('"133.333us"', '"1ms"'),
    "bcn": figure("bcn").replace('"120ms"', '"2ms"').replace('"150kB" } }', '"150kB", tag-bytes = 8 } }'),
    "qcn": figure("qcn").replace('"400ms"', '"1ms"'),
}
TCP = ["tahoe without a handshake", "new reno", "sack", "early drops", "classic ecn", "l4s", "losses on a link"]
"""Scenarios of two senders that share a bottleneck."""


@pytest.fixture
def tshark() -> Callable[..., str]:
    """Return a function that runs tshark with its arguments; skip the test if tshark is missing.

    With TAILBACK_NEEDS_TSHARK in the environment, as in `.ci/run`, the test fails instead.
    """
    program = shutil.which("tshark")
    if program is None:
        message = "tshark is missing, so its view of captures is not tested: apt-get install tshark"
        if os.environ.get("TAILBACK_NEEDS_TSHARK"):
            pytest.fail(message)
        pytest.skip(message)

    def call(*arguments: str | Path) -> str:
        done = subprocess.run([program, *map(str, arguments)], capture_output=True, text=True, check=True)
        return done.stdout

    return call


def taken(text: str, path: Path, **choices: Any) -> tuple[dict[str, Any], pcapng.File]:
    """Run a scenario with a capture of whole frames; return the report and the content of the file."""
    capture = Capture(path, **{"snaplen": 0, **choices})
    result = tailback.run(Scenario.from_toml(text), replications=1, capture=capture)
    return result.reports[0].data, pcapng.read(path)


@dataclass
class Taken:
    """A run with a capture of all interfaces, both sides, and whole frames."""

    report: dict[str, Any]
    file: pcapng.File
    path: Path


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Taken]:
    """Return a function that runs a scenario by its name, once, with a capture."""

    @cache
    def call(name: str) -> Taken:
        path = tmp_path_factory.mktemp("capture") / "run.pcapng"
        return Taken(*taken(SCENARIOS[name], path), path)

    return call


def remarks(tshark: Callable[..., str], path: Path) -> Counter[str]:
    """Return the number of tshark's remarks by group."""
    found: Counter[str] = Counter()
    for line in tshark("-r", path, *CHECKS, "-q", "-z", "expert").splitlines():
        if row := re.match(r"\s+(\d+)\s+(\w+)\s+\S+\s+\S", line):
            found[row[2]] += int(row[1])
    return found


@pytest.mark.parametrize("name", SCENARIOS)
def test_tshark_finds_no_malformed_frame_and_no_wrong_checksum(
    name: str, whole: Callable[[str], Taken], tshark: Callable[..., str]
) -> None:
    found = remarks(tshark, whole(name).path)
    assert set(found) <= GROUPS, found
    shown = tshark("-r", whole(name).path, "-T", "fields", "-e", "frame.number").splitlines()
    assert len(shown) == len(whole(name).file.frames) > 100


def test_tshark_reports_a_flipped_bit(tmp_path: Path, tshark: Callable[..., str]) -> None:
    path = tmp_path / "run.pcapng"
    _, file = taken(SCENARIOS["sack"], path, ports=["s1->a"])
    frame = next(frame for frame in file.frames if frame.length > 1000).data
    data = bytearray(path.read_bytes())
    # A bit of the time to live, of the sequence number, and of the length of the IP header, which becomes 16 bytes.
    for at, flip, group in ((14 + 8, 1, "Checksum"), (14 + 20 + 5, 1, "Checksum"), (14, 1, "Protocol")):
        changed = bytearray(data)
        changed[data.index(frame) + at] ^= flip
        path.write_bytes(changed)
        assert remarks(tshark, path)[group] > 0


def test_tshark_shows_names_verdicts_and_identities(tmp_path: Path, tshark: Callable[..., str]) -> None:
    path = tmp_path / "run.pcapng"
    taken(SCENARIOS["sack"], path, sides="send")
    drops = tshark("-r", path, "-Y", "frame.verdict.ebpf_tc == 2", "-T", "fields", "-e", "frame.interface_name")
    assert set(drops.split()) == {"a->b"}
    shown = tshark("-r", path, "-N", "n", "-o", "nameres.use_external_name_resolver:FALSE", "-c", "1")
    assert re.search(r"s[12] → r[12]", shown)


@pytest.mark.parametrize("name", SCENARIOS)
def test_every_frame_has_right_lengths_and_checksums_and_one_identity_at_all_hops(
    name: str, whole: Callable[[str], Taken]
) -> None:
    file = whole(name).file
    sent: dict[int, dict[str, Any]] = {}
    last = 0
    for frame in file.frames:
        assert frame.time_ns >= last
        last = frame.time_ns
        fields = frame.fields
        if frame.packet is None:
            assert fields["type"] != 0x0800 or "synthetic" in frame.comment or "payload" in fields
            continue
        known = sent.setdefault(frame.packet, fields)
        for field in ("from", "to", "ports", "seq", "ack", "flags", "window", "options", "payload"):
            assert known.get(field) == fields.get(field)
    assert [row[2].decode() for row in file.interfaces] == list(
        dict.fromkeys(row[2].decode() for row in file.interfaces)
    )
    assert all(row[9] == b"\x09" for row in file.interfaces)
    counts = Counter(frame.interface for frame in file.frames)
    drops = Counter(frame.interface for frame in file.frames if frame.is_dropped)
    for row, statistics in zip(file.interfaces, file.statistics, strict=True):
        name = row[2].decode()
        assert struct.unpack("<QQ", statistics[4] + statistics[5]) == (counts[name], drops[name])


def retransmitted(frames: list[pcapng.Frame]) -> Counter[tuple[int, int]]:
    """Return, by the ports of each connection, the number of data segments whose first byte was sent before."""
    seen: dict[tuple[int, int], set[int]] = defaultdict(set)
    found: Counter[tuple[int, int]] = Counter()
    for frame in frames:
        fields = frame.fields
        if frame.is_outbound and fields.get("len", 0) > 0:
            ports = fields["ports"]
            found[ports] += fields["seq"] in seen[ports]
            seen[ports].add(fields["seq"])
    return found


@pytest.mark.parametrize("name", [*TCP, "a slow host", "applications"])
def test_retransmissions_counted_from_bytes_are_those_of_the_report(name: str, whole: Callable[[str], Taken]) -> None:
    report, file = whole(name).report, whole(name).file
    assert report["warmup_s"] == 0
    sent = defaultdict(list)
    for frame in file.frames:
        if frame.is_outbound and frame.fields.get("len", 0) > 0:
            sent[frame.interface.partition("->")[0], frame.fields["ports"][1]].append(frame)
    total = 0
    for index, flow in enumerate(report["flows"]):
        if flow["transport"] is None:
            continue
        # The receiver's port is 50000 plus the index of the flow.
        frames = sent[flow["from"], 50_000 + index]
        found = retransmitted(frames)
        assert sum(found.values()) == flow["transport"]["retransmissions"], flow["name"]
        total += sum(found.values())
        assert len(frames) == flow["transport"]["segments"]
    assert total > 0 or name == "l4s"


@pytest.mark.parametrize("name", TCP)
def test_tshark_counts_the_retransmissions_of_the_report(name: str, tmp_path: Path, tshark: Callable[..., str]) -> None:
    """At the sender's interface, tshark gives a retransmission one of four flags; each flagged frame repeats bytes."""
    path = tmp_path / "run.pcapng"
    report, file = taken(SCENARIOS[name], path, ports=["s1->a"])
    flags = " or ".join(
        f"tcp.analysis.{kind}"
        for kind in ("retransmission", "fast_retransmission", "spurious_retransmission", "out_of_order")
    )
    flagged = tshark("-r", path, "-Y", flags, "-T", "fields", "-e", "frame.number").split()
    found = retransmitted(file.frames)
    exact = next(flow for flow in report["flows"] if flow["from"] == "s1")["transport"]["retransmissions"]
    assert sum(found.values()) == exact
    assert abs(len(flagged) - exact) <= 0.01 * exact
    seen: set[int] = set()
    repeating = set()
    for number, frame in enumerate(file.frames, start=1):
        fields = frame.fields
        if frame.is_outbound and fields["len"] > 0:
            if fields["seq"] in seen:
                repeating.add(str(number))
            seen.add(fields["seq"])
    assert set(flagged) <= repeating


@pytest.mark.parametrize("name", TCP)
def test_a_gap_that_tshark_reports_at_the_receiver_is_a_drop_in_the_capture(
    name: str, whole: Callable[[str], Taken], tmp_path: Path, tshark: Callable[..., str]
) -> None:
    path = tmp_path / "receiver.pcapng"
    file = whole(name).file
    sender = address(file, "s1")
    lost = {frame.fields["seq"] for frame in file.frames if frame.is_dropped and frame.fields["from"] == sender}
    taken(SCENARIOS[name], path, ports=["r1->b"])
    shown = [part for name in ("tcp.seq_raw", "tcp.nxtseq", "tcp.analysis.lost_segment") for part in ("-e", name)]
    absolute = ("-o", "tcp.relative_sequence_numbers:FALSE")
    rows = tshark("-r", path, *absolute, "-Y", "tcp.len > 0", "-T", "fields", *shown)
    highest = 1
    gaps = 0
    for line in rows.splitlines():
        start, end, flagged = (*line.split("\t"), "")[:3]
        if flagged:
            gaps += 1
            assert any(highest <= seq < int(start) for seq in lost), line
        highest = max(highest, int(end))
    assert gaps == 0 or lost


def test_at_a_bottleneck_only_repairs_of_drops_seem_out_of_order_to_tshark(
    tmp_path: Path, tshark: Callable[..., str]
) -> None:
    path, sent = tmp_path / "run.pcapng", tmp_path / "sent.pcapng"
    _, file = taken(SCENARIOS["sack"], path, sides="send", ports=["a->b"])
    tshark("-r", path, "-Y", "!(frame.verdict.ebpf_tc == 2)", "-w", sent)
    lost = {(frame.fields["from"], frame.fields["seq"]) for frame in file.frames if frame.is_dropped}
    flags = "tcp.analysis.out_of_order or tcp.analysis.retransmission"
    shown = ("-o", "tcp.relative_sequence_numbers:FALSE", "-T", "fields", "-e", "ip.src", "-e", "tcp.seq_raw")
    flagged = [line.split() for line in tshark("-r", sent, "-Y", flags, *shown).splitlines()]
    assert flagged
    assert all((source, int(seq)) in lost for source, seq in flagged)


def address(file: pcapng.File, name: str) -> str:
    """Return the IP address of a node."""
    return next(address for address, known in file.names.items() if known == name)


def test_marks_are_those_of_the_report_and_their_echo_follows(tmp_path: Path) -> None:
    report, file = taken(SCENARIOS["classic ecn"], tmp_path / "run.pcapng", sides="send")
    marks = next(port for port in report["ports"] if port["name"] == "a->b")["classes"][0]["marked_packets"]
    marked = [frame for frame in file.frames if frame.options.get(7) == pcapng.PASSED]
    waiting = [frame for frame in file.frames if "waiting" in frame.comment and frame.interface == "a->b"]
    assert marks > 0
    # Packets are marked on arrival and captured when they are sent: marked packets that wait at the end are missing.
    assert marks - len(waiting) <= len(marked) <= marks
    assert all(frame.interface == "a->b" and frame.fields["ecn"] == 3 for frame in marked)
    assert all("marked (congestion experienced) at a->b" in frame.comment for frame in marked)
    assert all("probability 0." in frame.comment and "queue " in frame.comment for frame in marked)
    by_interface = defaultdict(list)
    for frame in file.frames:
        by_interface[frame.interface].append(frame.fields)
    echoes = [fields for fields in by_interface["r1->b"] if fields["flags"] & ECE and not fields["flags"] & SYN]
    reduced = [fields for fields in by_interface["s1->a"] if fields["flags"] & CWR and not fields["flags"] & SYN]
    flow = next(flow for flow in report["flows"] if flow["from"] == "s1")
    assert echoes
    # Each window reduction by an echo sends one CWR (RFC 3168 section 6.1.2), but the last may still be due.
    assert 0 <= flow["transport"]["ecn_reductions"] - len(reduced) <= 1
    handshake = [fields["flags"] for fields in by_interface["s1->a"] + by_interface["r1->b"] if fields["flags"] & SYN]
    assert sorted(handshake) == sorted([SYN | ECE | CWR, SYN | ACK | ECE])


def test_windows_and_options_are_those_of_the_scenario(tmp_path: Path) -> None:
    _, file = taken(SCENARIOS["new reno"], tmp_path / "reno.pcapng", sides="send")
    for frame in file.frames:
        fields = frame.fields
        # 40 segments of 1000 B, which need no window scale.
        assert fields["window"] == 40_000
        assert (2 in fields["options"]) == (3 in fields["options"]) == bool(fields["flags"] & SYN)
        assert 4 not in fields["options"]
        assert 5 not in fields["options"]
    syn = pcapng.dissect(file.frames[0])
    assert (syn["flags"], syn["seq"], syn["options"][2], syn["options"][3]) == (SYN, 0, b"\x03\xe8", b"\0")


def test_selective_acknowledgements_name_bytes_that_arrived_and_follow_a_gap(tmp_path: Path) -> None:
    _, file = taken(SCENARIOS["sack"], tmp_path / "run.pcapng", ports=["r1->b"])
    arrived: set[tuple[int, int]] = set()
    blocks = 0
    for frame in file.frames:
        fields = frame.fields
        if not frame.is_outbound:
            arrived.add((fields["seq"], fields["seq"] + fields["len"]))
            continue
        edges = struct.unpack(f">{len(fields['options'].get(5, b'')) // 4}I", fields["options"].get(5, b""))
        starts, ends = {start for start, _ in arrived}, {end for _, end in arrived}
        for start, end in zip(edges[::2], edges[1::2], strict=True):
            blocks += 1
            assert fields["ack"] < start < end
            assert start in starts
            assert end in ends
        assert fields["flags"] & SYN or fields["ack"] in ends | {1}
    assert blocks > 0


def test_time_stamps_are_microseconds_and_echo_the_segment(tmp_path: Path) -> None:
    _, file = taken(SCENARIOS["sack"], tmp_path / "run.pcapng", ports=["s1->a"])
    sent = set()
    for frame in file.frames:
        fields = frame.fields
        value, echo = struct.unpack(">II", fields["options"][8])
        assert value * 1000 <= frame.time_ns
        if frame.is_outbound:
            sent.add(value)
        else:
            assert echo in sent


def test_a_dropped_frame_has_the_reason_and_the_variables_of_the_discipline(tmp_path: Path) -> None:
    report, file = taken(SCENARIOS["early drops"], tmp_path / "run.pcapng", sides="send")
    port = next(port for port in report["ports"] if port["name"] == "a->b")
    drops = [frame for frame in file.frames if frame.is_dropped]
    assert len(drops) == port["classes"][0]["dropped"]["packets"] > 0
    assert all(frame.interface == "a->b" for frame in drops)
    early = [frame.comment for frame in drops if "early drop" in frame.comment]
    queue = r"dropped \(early drop\) at a->b, class 0; queue \d+ packets, \d+ B"
    pattern = queue + r"; average_packets [\d.]+; .*probability [\d.]+"
    assert early
    assert all(re.fullmatch(pattern, comment) for comment in early)


def test_a_frame_that_a_link_loses_is_shown_where_it_would_have_arrived(tmp_path: Path) -> None:
    report, file = taken(SCENARIOS["losses on a link"], tmp_path / "run.pcapng")
    lost = [frame for frame in file.frames if "link loss" in frame.comment]
    assert len(lost) == sum(port["lost_on_line"]["packets"] for port in report["ports"]) > 0
    sent = {(frame.interface, frame.packet) for frame in file.frames if frame.is_outbound}
    for frame in lost:
        back = "->".join(reversed(frame.interface.split("->")))
        assert not frame.is_outbound
        assert (back, frame.packet) in sent


def test_a_connection_without_a_handshake_gets_one_that_says_so(tmp_path: Path) -> None:
    _, file = taken(SCENARIOS["tahoe without a handshake"], tmp_path / "run.pcapng", ports=["s1->a"])
    first = file.frames[:3]
    assert [frame.fields["flags"] for frame in first] == [SYN, SYN | ACK, ACK]
    assert all("synthetic handshake" in frame.comment and frame.packet is None for frame in first)
    assert [frame.is_outbound for frame in first] == [True, False, True]
    # The model's first packet follows at the same instant, with the first byte.
    assert (file.frames[3].time_ns, pcapng.dissect(file.frames[3])["seq"]) == (first[0].time_ns, 1)
    assert not any("synthetic" in frame.comment for frame in file.frames[3:])


def test_a_capture_that_starts_later_has_the_same_bytes_and_a_handshake(tmp_path: Path) -> None:
    whole = taken(SCENARIOS["sack"], tmp_path / "whole.pcapng", ports=["s1->a"])[1].frames
    part = taken(SCENARIOS["sack"], tmp_path / "part.pcapng", ports=["s1->a"], start="1s", until="2s")[1].frames
    expected = [frame for frame in whole if 10**9 <= frame.time_ns <= 2 * 10**9]
    assert len(part) == len(expected) + 3
    assert part[3:] == expected


def test_each_connection_of_an_application_has_a_port_of_its_own_and_begins_at_its_first_byte(tmp_path: Path) -> None:
    _, file = taken(WEB, tmp_path / "run.pcapng", sides="send", flows=["files*"], ports=["server->far"])
    opened: dict[tuple[int, int], int] = {}
    for frame in file.frames:
        fields = frame.fields
        ports = fields["ports"]
        if fields["flags"] == SYN:
            assert ports not in opened
            opened[ports] = 1
        elif fields["len"] and fields["seq"] >= opened[ports]:
            # The sending host loses nothing, so that new data begins where the data before ended.
            assert fields["seq"] == opened[ports]
            opened[ports] += fields["len"]
    flows = {ports[1] for ports in opened}
    assert len(opened) > len(flows) > 1


def test_classes_are_priorities_of_a_vlan_tag_and_queues(tmp_path: Path) -> None:
    _, file = taken(SCENARIOS["classes"], tmp_path / "run.pcapng")
    for frame in file.frames:
        fields = frame.fields
        queue = struct.unpack("<I", frame.options[6])[0]
        # The lowest class has priority 0. Payload and IP header fill the model's 1000 B.
        assert fields["priority"] == 1 - queue
        assert (fields["total"], frame.length) == (1000, 1018)


def test_labels_are_at_ports_with_mpls_only(tmp_path: Path) -> None:
    _, file = taken(SCENARIOS["code points and labels"], tmp_path / "run.pcapng", sides="send")
    for frame in file.frames:
        fields = frame.fields
        assert fields["dscp"] == 26
        if frame.interface == "a->b":
            # AF31 is traffic class 3; the label is 16 plus the index of the receiver.
            assert [(exp, ttl) for _, exp, ttl in fields["labels"]] == [(3, 64), (3, 64)]
        else:
            assert not fields["labels"]


def test_pauses_are_the_frames_of_annex_31b_and_their_number_is_that_of_the_report(tmp_path: Path) -> None:
    report, file = taken(SCENARIOS["pause"], tmp_path / "run.pcapng", sides="send")
    pauses = [frame for frame in file.frames if frame.fields["type"] == 0x8808]
    assert len(pauses) == report["control_frames"] > 0
    for frame in pauses:
        fields = frame.fields
        assert fields["dst"] == bytes.fromhex("0180c2000001")
        operation, quanta = struct.unpack_from(">HH", fields["body"])
        assert operation == 1
        assert quanta in (0, 500)
        assert set(fields["body"][4:]) == {0}
        assert struct.unpack("<I", frame.options[2])[0] >> 2 == 0b010, "multicast"


def test_pfc_names_priorities_and_their_times(tmp_path: Path) -> None:
    _, file = taken(SCENARIOS["priority flow control"], tmp_path / "run.pcapng", sides="send")
    seen = set()
    for frame in file.frames:
        fields = frame.fields
        if fields["type"] == 0x8808:
            operation, vector, *times = struct.unpack_from(">HH8H", fields["body"])
            assert operation == 0x0101
            assert 0 < vector < 4
            assert all(time in (0, 900) for time in times[:2])
            assert times[2:] == [0] * 6
            seen.add(vector)
    assert {1, 2} <= seen


def test_a_stop_by_destination_lists_the_address_of_the_host(tmp_path: Path) -> None:
    _, file = taken(SCENARIOS["stops by destination"], tmp_path / "run.pcapng", sides="send")
    stops = [frame.fields["body"] for frame in file.frames if frame.fields["type"] == 0x88B6]
    assert {body[0] for body in stops} == {1, 2}
    node = int(address(file, "d1").split(".")[3])
    assert all(body[4:10] == bytes([2, 0, 0, 0, 0, node]) for body in stops)


def test_messages_of_congestion_points_have_the_bytes_of_their_formats(tmp_path: Path) -> None:
    for name, kind in (("bcn", 0x88B5), ("qcn", 0x22E7)):
        _, file = taken(SCENARIOS[name], tmp_path / "run.pcapng", sides="send")
        messages = [fields for frame in file.frames if (fields := frame.fields)["type"] == kind]
        hosts = {bytes([2, 0, 0, 0, 0, int(address(file, f"h{k}").split(".")[3])]) for k in range(1, 5)}
        assert messages
        assert all(fields["dst"] in hosts for fields in messages)
        if name == "bcn":
            levels = {struct.unpack_from(">h", fields["body"], 4)[0] for fields in messages}
            assert levels <= set(range(-4, 5))
            assert min(levels) < 0
            assert any("tag" in frame.fields for frame in file.frames)
        else:
            # Version 0 and a feedback of 6 bits.
            assert all(0 < int.from_bytes(fields["body"][:2]) <= 63 for fields in messages)


def test_rdma_has_sequence_numbers_and_an_invariant_check_sequence(tmp_path: Path) -> None:
    _, file = taken(SCENARIOS["rdma"], tmp_path / "run.pcapng", sides="send", ports=["h1->s", "d->s"])
    expected = 0
    kinds: Counter[int] = Counter()
    notified = 0
    for frame in file.frames:
        fields = frame.fields
        assert fields["ports"][1] == 4791
        body = fields["payload"]
        number = int.from_bytes(body[9:12])
        kinds[body[0]] += 1
        if frame.interface == "h1->s" and body[0] == 0x04:
            assert number == expected
            assert (len(body), body[8] >> 7) == (12 + 1000 + 4, 1)
            expected += 1
        elif body[0] == 0x11:
            notified += body[4] >> 6 & 1
            # The message sequence number is the number of the last packet plus one.
            assert int.from_bytes(body[13:16]) == number + 1
        start = len(frame.data) - fields["total"] if frame.length > 60 else 14
        packet = bytearray(frame.data[start : start + fields["total"]])
        for at in (1, 8, 10, 11, 26, 27, 32):
            packet[at] = 0xFF
        assert zlib.crc32(b"\xff" * 8 + packet[:-4]).to_bytes(4, "little") == packet[-4:]
    assert set(kinds) == {0x04, 0x11}
    assert notified > 0


def test_a_frame_is_cut_at_the_snap_length_and_keeps_its_length(tmp_path: Path) -> None:
    whole = taken(SCENARIOS["sack"], tmp_path / "whole.pcapng", ports=["s1->a"])[1]
    path = tmp_path / "cut.pcapng"
    tailback.run(Scenario.from_toml(SCENARIOS["sack"]), replications=1, capture=Capture(path, ports=["s1->a"]))
    cut = pcapng.read(path)
    assert (whole.snap, cut.snap) == ([0], [128])
    for full, part in zip(whole.frames, cut.frames, strict=True):
        assert part.data == full.data[:128]
        assert part.length == full.length


def test_a_packet_has_the_same_identity_at_every_hop_and_a_retransmission_another_one(tmp_path: Path) -> None:
    _, file = taken(SCENARIOS["sack"], tmp_path / "run.pcapng", sides="send", flows=["bulk[1]"])
    hops = defaultdict(list)
    for frame in file.frames:
        if frame.fields["len"] > 0 and "waiting" not in frame.comment:
            hops[frame.packet].append(frame)
    again = Counter(frames[0].fields["seq"] for frames in hops.values())
    assert max(again.values()) > 1
    for frames in hops.values():
        path = [frame.interface for frame in frames]
        # Packets that were sent shortly before the end have not passed all hops.
        assert path == ["s1->a", "a->b", "b->r1"][: len(path)]
        assert len(path) == 3 or frames[-1].is_dropped or frames[-1].time_ns > 1_100_000_000


def test_the_two_sides_of_a_link_add_up(tmp_path: Path) -> None:
    def frames(sides: str) -> list[pcapng.Frame]:
        return taken(SCENARIOS["early drops"], tmp_path / f"{sides}.pcapng", sides=sides)[1].frames

    send, receive, both = frames("send"), frames("receive"), frames("both")
    assert all(frame.is_outbound for frame in send)
    drops = [frame for frame in send if frame.is_dropped]
    # A dropped frame is in the captures of both sides.
    assert len(both) == len(send) + len(receive) - len(drops)
    # The first packet is a SYN of 40 B. Its transmission takes 10 ns per bit, and its propagation 1 ms.
    first, arrival = (next(frame for frame in side if frame.packet == both[0].packet) for side in (send, receive))
    assert arrival.time_ns - first.time_ns == 1_000_000 + 40 * 8 * 10
    assert (first.interface[:1], arrival.interface) == ("s", "->".join(reversed(first.interface.split("->"))))


def test_a_capture_changes_no_result_and_is_the_same_for_every_engine_and_number_of_threads(tmp_path: Path) -> None:
    scenario = Scenario.from_toml(SCENARIOS["applications"])
    plain = tailback.run(scenario, replications=1)
    files = set()
    for engine, parallel in (("merged", 1), ("plain", 1), ("merged", 2)):
        path = tmp_path / f"{engine}{parallel}.pcapng"
        result = tailback.run(scenario, replications=1, engine=engine, parallel=parallel, capture=Capture(path))  # type: ignore[arg-type]
        assert result.digest == plain.digest
        files.add(path.read_bytes())
    assert len(files) == 1


def test_times_are_rounded_to_the_nearest_nanosecond(tmp_path: Path) -> None:
    # 1000 B at 3 Gbit/s take 2666.667 ns. The initial window is ten segments.
    text = """
tailback = 1
run = { duration = "100us" }
network = { framing = "none" }
hosts = { a = {}, b = {} }
links = [{ between = ["a", "b"], rate = "3Gbit/s" }]
[[flows]]
name = "f"
from = "a"
to = "b"
source = { kind = "bulk" }
transport = { kind = "tcp", segment = "960B", handshake = false }
"""
    _, file = taken(text, tmp_path / "run.pcapng")
    data = [frame for frame in file.frames if frame.interface == "a->b" and frame.packet is not None]
    sent = [frame.time_ns for frame in data if frame.is_outbound]
    assert sent[:5] == [0, 2667, 5333, 8000, 10667]


def test_the_command_writes_a_file_for_each_replication(
    tailback: Callable[..., Any], merge: Path, tmp_path: Path
) -> None:
    path = tmp_path / "out.pcapng"
    ran = tailback("run", merge, "--reps", "1", "--seed", "7", "--pcap", path, "--snaplen", "0", "--json")
    assert ran.code == 0
    alone = pcapng.read(path)
    assert "seed 7" in alone.comments[0]
    tailback("run", merge, "--reps", "2", "--seed", "7", "--pcap", path, "--snaplen", "0")
    assert sorted(file.name for file in tmp_path.glob("out-*")) == ["out-seed7.pcapng", "out-seed8.pcapng"]
    assert pcapng.read(tmp_path / "out-seed7.pcapng").frames == alone.frames


def test_an_unknown_port_or_flow_is_refused_with_the_nearest_name(
    tailback: Callable[..., Any], merge: Path, tmp_path: Path
) -> None:
    path = tmp_path / "out.pcapng"
    ran = tailback("run", merge, "--pcap", path, "--pcap-flow", "dta")
    assert (ran.code, path.exists()) == (EXIT_USAGE, False)
    assert "capture: no flow is named `dta`; did you mean `data`?" in ran.err
    trace = tailback("run", merge, "--trace", tmp_path / "traces", "--trace-flow", "dta")
    assert (trace.code, trace.err.replace("trace: ", "capture: ")) == (ran.code, ran.err)
    ran = tailback("run", merge, "--pcap-port", "x")
    assert (ran.code, "need --pcap FILE" in ran.err) == (EXIT_USAGE, True)
    ran = tailback("run", merge, "--pcap", tmp_path)
    assert ran.code == EXIT_USAGE


def test_a_name_of_a_group_selects_its_flows_and_a_name_with_brackets_one(tmp_path: Path) -> None:
    scenario = Scenario.from_toml(SCENARIOS["sack"])

    def flows(file: str, pattern: str) -> set[int | None]:
        path = tmp_path / file
        tailback.run(scenario, replications=1, capture=Capture(path, flows=[pattern], ports=["a->b"], snaplen=0))
        return {frame.fields["ports"][1] for frame in pcapng.read(path).frames if frame.is_outbound}

    # The receiver of the flow with index k has port 50000 + k.
    assert flows("group.pcapng", "bulk") == {50000, 50001}
    assert flows("one.pcapng", "bulk[1]") == {50000}


def test_times_of_a_capture_without_an_instant_are_refused(
    tailback: Callable[..., Any], merge: Path, tmp_path: Path
) -> None:
    path = tmp_path / "out.pcapng"
    for times, message in (
        (("--pcap-from", "2s", "--pcap-until", "1s"), "capture: its last instant is before its first"),
        (("--pcap-from", "1000s"), "capture: its first instant is after the end of the run"),
    ):
        ran = tailback("run", merge, "--pcap", path, *times)
        assert (ran.code, message in ran.err, path.exists()) == (EXIT_USAGE, True, False), times


def test_a_full_disk_is_an_error_of_the_output(tailback: Callable[..., Any], merge: Path, tmp_path: Path) -> None:
    path = tmp_path / "full.pcapng"
    (tmp_path / "full.pcapng.tmp").symlink_to("/dev/full")
    ran = tailback("run", merge, "--reps", "1", "--pcap", path)
    assert ran.code == EXIT_RUN
    assert "the disk is full" in ran.err
    assert list(tmp_path.glob("full*")) == []


def test_an_interrupted_capture_can_be_read(tmp_path: Path) -> None:
    path = tmp_path / "run.pcapng"
    scenario = tmp_path / "long.toml"
    scenario.write_text(SCENARIOS["sack"].replace('"1200ms"', '"100000s"'))
    command = [sys.executable, "-m", "tailback", "run", scenario, "--reps", "1", "--pcap", path]
    with subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL) as run:
        aside = tmp_path / "run.pcapng.tmp"
        until = time.monotonic() + 60
        while (not aside.exists() or aside.stat().st_size < 3_000_000) and time.monotonic() < until:
            time.sleep(0.05)
        run.send_signal(signal.SIGINT)
        assert run.wait(60) == EXIT_INTERRUPTED
    assert not aside.exists()
    assert len(pcapng.read(path).frames) > 1000


def test_the_options_are_in_the_manual() -> None:
    text = (EXAMPLES.parent / "capture.md").read_text()
    assert all(option in text for option in ("--pcap", "--snaplen", "--pcap-port", "--pcap-flow", "--pcap-at"))
    assert json.dumps("frame.verdict.ebpf_tc")[1:-1] in text
