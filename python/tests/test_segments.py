"""Senders and receivers of Tailback against recorded ones of a Linux kernel, segment by segment.

The segments are recorded in validation/linux/segments.json.xz, with the commands that have made them.
"""

from __future__ import annotations

import importlib
import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tailback import _native

FOLDER = Path(__file__).resolve().parents[2] / "validation" / "linux"


@pytest.fixture(scope="module")
def segments() -> Iterator[ModuleType]:
    """Return validation/linux/segments.py."""
    sys.path.insert(0, str(FOLDER))
    yield importlib.import_module("segments")
    sys.path.remove(str(FOLDER))


@pytest.fixture(scope="module")
def record(segments: ModuleType) -> Any:
    return segments.read_record()


def names() -> list[str]:
    """Return the names of all cases."""
    sys.path.insert(0, str(FOLDER))
    cases = importlib.import_module("segments_cases").CASES
    sys.path.remove(str(FOLDER))
    return [case.name for case in cases]


def of(segments: ModuleType, name: str) -> Any:
    return next(case for case in segments.CASES if case.name == name)


@pytest.mark.parametrize("name", names())
def test_each_flow_transmits_as_the_kernels_unless_it_has_a_known_reason(
    segments: ModuleType, record: Any, name: str
) -> None:
    case = of(segments, name)
    rows = segments.compared(case, segments.recorded_flows(case, record))
    differing = {row.flow: (segments.described(row), segments.history(row)) for row in rows if not row.equal}
    # If a flow has become equal, its reason must be removed from the case and the page.
    assert set(differing) == set(case.known), differing
    assert all(row.found["equal"] == row.transmissions for row in rows if row.equal)


def test_the_page_has_the_tables_of_today(segments: ModuleType, record: Any) -> None:
    page = (FOLDER.parents[1] / "docs" / "witness-segments.md").read_text(encoding="utf-8")
    results = [(case, segments.compared(case, segments.recorded_flows(case, record))) for case in segments.CASES]
    assert segments.markdown(results) in page


@pytest.mark.parametrize(
    ("section", "key", "value"),
    [("recovery", "form", "rfc"), ("timers", "tick", None), ("timers", "form", "rfc"), ("recovery", "tlp", False)],
)
def test_with_another_rule_most_flows_differ(
    segments: ModuleType, record: Any, section: str, key: str, value: object
) -> None:
    case = of(segments, "64 cubic drop-tail 10 Mbit/s 40-80 ms q=60")
    other = case.transport()
    assert other[section][key] != value
    other[section][key] = value
    rows = segments.compared(case, segments.recorded_flows(case, record), other)
    assert sum(row.equal for row in rows) <= len(rows) // 2


def test_bbr_of_the_draft_differs(segments: ModuleType, record: Any) -> None:
    case = of(segments, "72 bbr drop-tail 4.8 Mbit/s 47-176.1 ms q=120 short=0.2")
    other = case.transport()
    other["congestion-control"]["form"] = "rfc"
    rows = segments.compared(case, segments.recorded_flows(case, record), other)
    assert not any(row.equal for row in rows if row.transmissions > 200)


def test_a_timestamp_that_is_ahead_of_its_transmission_is_recorded(segments: ModuleType, record: Any) -> None:
    # Only paced senders have such timestamps, of the segments that they do not pace.
    ahead = {
        case.name: sum(one.ahead_ms > 0 for events in segments.recorded_flows(case, record) for one in events)
        for case in segments.CASES
        if not case.receiver
    }
    assert ahead["72 bbr drop-tail 4.8 Mbit/s 47-176.1 ms q=120 short=0.2"] > 0
    assert not any(count for name, count in ahead.items() if "bbr" not in name)


def test_a_receiver_without_linuxs_rules_differs(segments: ModuleType, record: Any) -> None:
    case = of(segments, "64 cubic drop-tail 10 Mbit/s 40-80 ms q=60, receivers")
    other = case.transport()
    other["delayed-ack"]["form"] = "rfc"
    del other["receive-buffer"]
    # Without a buffer there are no windows, which would already differ.
    unknown = importlib.import_module("segments_runs").UNKNOWN
    flows = [[replace(one, window=unknown) for one in events] for events in segments.recorded_flows(case, record)]
    rows = segments.compared(case, flows, other)
    assert not any(row.equal for row in rows)


def test_a_transmission_that_is_moved_left_out_or_changed_is_found(segments: ModuleType, record: Any) -> None:
    runs = importlib.import_module("segments_runs")
    case = of(segments, "8 dctcp ecn codel 45 Mbit/s 5 ms q=300")
    events = segments.recorded_flows(case, record)[0]
    text = json.dumps(case.transport())
    sent = [i for i, one in enumerate(events) if one.sent]
    number = sent[700]
    assert runs.followed(text, events, receiver=False)["first"] is None
    for changed in (
        [*events[:number], *events[number + 1 :]],
        [*events[:number], runs.Event(events[number].time_ns, True, events[number].number + 1), *events[number + 1 :]],
        [runs.Event(one.time_ns + (10**6 if i >= number and one.sent else 0), one.sent, one.number, one.flags,
                    one.echo_ns, one.ahead_ms, one.blocks) for i, one in enumerate(events)],
    ):  # fmt: skip
        found = runs.followed(text, sorted(changed, key=lambda one: one.time_ns), receiver=False)
        assert found["first"] is not None
        assert 690 <= found["equal"] <= 701


def test_packed_events_are_unpacked_as_they_were(segments: ModuleType, record: Any) -> None:
    for case in segments.CASES:
        packed = record["cases"][case.name][0]
        assert (
            segments.pack(segments.unpack(packed, case.receiver, case.windows), case.receiver, case.windows) == packed
        )


def test_a_malformed_record_is_refused(segments: ModuleType, record: Any) -> None:
    case = of(segments, "16 reno adaptive-red 1.5 Mbit/s 40-80 ms q=120")
    packed = record["cases"][case.name][0]
    for column in ("times", "numbers", "flags"):
        with pytest.raises(ValueError, match="zip"):
            segments.unpack({**packed, column: packed[column][:-1]}, case.receiver, case.windows)
    with pytest.raises(ValueError, match="more acknowledgements"):
        segments.unpack({**packed, "echoes": [*packed["echoes"], 0]}, case.receiver, case.windows)
    # Windows that are missing are not compared as unknown ones.
    with pytest.raises(KeyError, match="windows"):
        segments.unpack(packed, case.receiver, windows=True)
    text = json.dumps(case.transport())
    for events, message in [
        ([[0, 5, 0], [0, 4, 1]], "earlier"),
        ([[1, 5, 1, 0, 0, 9]], "no transmission"),
        ([[0, 5, 0], [1, 9, 3, 0, 5, 9]], "not transmitted before"),
        ([[0, 5]], "another form"),
        ([[0, 5, 0], [1, 9, 0, 0, 5, 9, 2]], "another form"),
        ([[0, 5, 0], [1, 9, 0, 0, 5]], "another form"),
        ([[0, 5, 2**32]], "another form"),
    ]:
        with pytest.raises(ValueError, match=message):
            _native.follow_sender(text, events)
    with pytest.raises(ValueError, match="another form"):
        _native.follow_receiver(text, [[1, 5, 0]])
    for transport in ("{", '{"segment": "0B"}', '{"speed": 1}'):
        with pytest.raises(ValueError):  # noqa: PT011
            _native.follow_sender(transport, [])


def test_a_case_without_events_is_equal(segments: ModuleType) -> None:
    text = json.dumps(segments.CASES[0].transport())
    expected = {"equal": 0, "late_ps": 0, "first": None, "phases": []}
    assert json.loads(_native.follow_sender(text, [])) == expected


def test_the_commands_of_the_guest_record_the_first_host(segments: ModuleType, tmp_path: Path) -> None:
    runs = importlib.import_module("segments_runs")
    # 64 flows of 4 hosts, 40 ms to the first: 19 ms to it from the router, and 500 us from the other one.
    for name, delay_ns in (("64 cubic drop-tail 10 Mbit/s 40-80 ms q=60", 19_000_000), (names()[-1], 500_000)):
        commands, host = runs.script(of(segments, name), tmp_path / "segments")
        assert (host.delay_ns, host.rate_bps) == (delay_ns, 10**9)
        assert f"inside {host.node} {tmp_path / 'segments'} {host.device} /run/case/segments" in commands


@pytest.mark.usefixtures("segments")
def test_arrivals_are_those_behind_the_link_and_end_with_the_transfers() -> None:
    runs = importlib.import_module("segments_runs")
    host = runs.Host("n", "l", delay_ns=1000, rate_bps=10**9, end_ns=10_000)
    lines = [
        "5120 < 9 5001 7 8 16 63 0 52 0 3 4",
        "6000 > 9 5001 8 7 16 63 0 1500 1448 3 4",
        "9000 < 9 5001 7 8 16 63 0 52 0 3 4",
    ]
    # 5120 + 1000 + 416 = 6536 ns, which the clock shows as 25 * 256 ns; 9000 + 1416 ns is after the end.
    assert [(one.time_ns, one.sent) for one in runs.segments(lines, host)] == [(6000, True), (6400, False)]


@pytest.mark.skipif(shutil.which("gcc") is None, reason="needs gcc")
def test_the_program_of_the_guest_is_compiled_without_warnings(segments: ModuleType, tmp_path: Path) -> None:
    program = segments.compiled("segments", tmp_path)
    assert subprocess.run([program], capture_output=True, check=False).returncode == 2
