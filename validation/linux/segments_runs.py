"""The segments of the connections of a host of the guest."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

from cases import scenario
from segments_cases import SEED, Case

from tailback import _native
from tailback.witness.kernel import PORT, GuestError, Kernel
from tailback.witness.network import case as case_of

FIN, SYN, RST, PSH, ACK, ECE, CWR = 1, 2, 4, 8, 16, 64, 128
"""Flags of a segment (RFC 9293 section 3.1)."""
SYN_NUMBER = 2**32 - 1
"""Number of a SYN in place of that of a segment (`tailback._native.follow_sender`)."""
CE = 3
"""Code point of a marked packet in the last two bits of the TOS byte (RFC 3168 section 5)."""
UNKNOWN = 2**32 - 1
"""Window that is not recorded."""
SCALE = 10
"""Scale of the guest's windows, with a largest receive buffer of 64 MB (`tcp_select_initial_window`)."""
STEP_NS = 256
"""Step of the guest's clock, nanoseconds (`TIMER_MULTIPLIER` in arch/um/kernel/time.c)."""
WIDE = 16_000_000
"""Receive buffer with which the window never limits a sender, bytes."""


@dataclass(frozen=True)
class Host:
    """A host whose segments are recorded."""

    node: str
    device: str
    delay_ns: int
    """Delay from the recorder to TCP, nanoseconds, without the transmission time."""
    rate_bps: int
    """Rate of the host's link, bit/s."""
    end_ns: int
    """End of the transfers, nanoseconds of the guest's clock."""


def _found(pattern: str, script: str) -> tuple[str, ...]:
    found = re.search(pattern, script, re.MULTILINE)
    if found is None:
        raise ValueError(f"the commands of the guest have no line {pattern!r}")
    return found.groups()


def host_of(script: str, receiver: bool) -> Host:
    """Return the first sending host of a guest's commands, or the host that receives from it."""
    sender, address = _found(r"^launch (n\d+) tcp (\S+) ", script)
    node = _found(rf"^pair \S+ \S+ \S+ (n\d+) \S+ {re.escape(address)}$", script)[0] if receiver else sender
    (device,) = _found(rf"^settings {node} .* (l\d+)$", script)
    part = script[script.index(f"inside {node} tc -batch") :]
    delay, rate = _found(rf"^qdisc add dev i{device[1:]} root netem .*delay ([\d.]+)us rate (\d+)bit", part)
    (end,) = _found(rf"\$traffic sink {PORT} \d+ (\d+)", script)
    return Host(node, device, round(float(delay) * 1000), int(rate), int(end) * 10**9)


def script(case: Case, program: Path) -> tuple[str, Host]:
    """Return the commands of the guest, and the host that is recorded."""
    made = case_of(scenario(case.dumbbell)).script(SEED)
    host = host_of(made, case.receiver)
    sinks = re.findall(rf"^\(inside (n\d+) \$traffic sink {PORT}", made, re.MULTILINE)
    # Without recorded windows they must not limit the sender.
    setting = f'echo "4096 {WIDE} 64000000" >tcp_rmem'
    wide = [] if case.windows else sinks
    own = [f"inside {node} sh -c 'cd /proc/sys/net/ipv4; {setting}' || failed window" for node in wide]
    end = f"{host.end_ns // 10**9}"
    own.append(
        f"inside {host.node} {program} {host.device} /run/case/segments {end} || failed 'the recorder' &\npids+=($!)"
    )
    at = made.index("(inside ", made.index("\n(inside "))
    return made[:at] + "\n".join(own) + "\n" + made[at:], host


@dataclass(frozen=True)
class Segment:
    """A segment as segments.c records it."""

    time_ns: int
    """Time of its transmission, or of its arrival at TCP, nanoseconds of the guest's clock."""
    sent: bool
    ports: tuple[int, int]
    """Port of the host, and port of the other end."""
    sequence: int
    acknowledged: int
    flags: int
    window: int
    """Window in the header, without its scale."""
    tos: int
    payload: int
    value: int
    """Timestamp (RFC 7323)."""
    echo: int
    """Timestamp that is echoed."""
    blocks: tuple[int, ...]
    """Selective acknowledgement: the first sequence number of each block, and the one after its last."""


def segments(lines: Sequence[str], host: Host) -> list[Segment]:
    """Return the segments of the recorder until the end of the transfers in the order of their times at TCP.

    The recorder sees a segment that arrives before the netem of the host's link, which adds the delay and the
    transmission time, and transmits one segment after the other. The times of arrivals are those that the guest's clock
    shows, as the recorder's are: an answer is at the same time or later.
    """
    read: list[Segment] = []
    free = 0
    for line in lines:
        first, direction, *rest = line.split()
        own, other, sequence, acknowledged, flags, window, tos, size, payload, value, echo, *blocks = map(int, rest)
        time = int(first)
        if direction == "<":
            free = max(free, time + host.delay_ns) + round(size * 8e9 / host.rate_bps)
            time = free - free % STEP_NS
        fields = (sequence, acknowledged, flags, window, tos, payload, value, echo)
        read.append(Segment(time, direction == ">", (own, other), *fields, blocks=tuple(blocks)))
    return sorted((one for one in read if one.time_ns < host.end_ns), key=lambda one: (one.time_ns, one.sent))


@dataclass(frozen=True)
class Event:
    """A segment with data or a SYN, or an acknowledgement, at one end of a connection."""

    time_ns: int
    sent: bool
    number: int
    """Number of the segment, `SYN_NUMBER` for a SYN, or of the next segment that the acknowledgement expects."""
    flags: int = 0
    """Sum of the flags of `tailback._native.follow_sender`."""
    echo_ns: int = 0
    """Acknowledgement that advances, at a sender: time of the first transmission with the timestamp that it echoes."""
    ahead_ms: int = 0
    """Time by which that timestamp is later than the transmission, which was not paced, milliseconds."""
    blocks: tuple[int, ...] = ()
    """Acknowledgement: first segment of each block, and the one after its last; at most three blocks."""
    window: int = UNKNOWN
    """Window of an acknowledgement in full segments."""
    round_ms: int = 0
    """Segment at a receiver: time since the acknowledgement whose timestamp it echoes, milliseconds."""


def flows(read: Sequence[Segment], mss: int, receiver: bool, windows: bool) -> list[list[Event]]:
    """Return the events of each connection to the sink, in the order of the SYNs.

    A receiver of the model measures the round-trip time of the handshake with the first data, the kernel with the
    acknowledgement of the handshake, which comes earlier or even in another round. So the SYN has a time at which both
    measure the same. Raises GuestError if a segment is not full: the model counts segments.
    """
    found: dict[tuple[int, int], list[Segment]] = {}
    for one in read:
        # Transfers in the other direction have the port of the sink at the other end.
        if one.ports[0 if receiver else 1] == PORT:
            found.setdefault(one.ports, []).append(one)
    return [_flow(one, mss, receiver, windows) for one in found.values()]


def _flow(read: Sequence[Segment], mss: int, receiver: bool, windows: bool) -> list[Event]:
    made: list[Event] = []
    start: int | None = None
    # Times of the first transmissions by their timestamps, with what these are ahead, and the last acknowledgement.
    first: dict[int, tuple[int, int]] = {}
    clock: int | None = None
    last = 0
    # A receiver: arrival of the last SYN, number of SYN-ACKs, and the offset of its clock of timestamps; and the
    # round-trip time that it measures with the answer to the SYN-ACK, ns.
    opened = offers = own_clock = 0
    handshake_ns: int | None = None

    def number(sequence: int) -> int:
        assert start is not None
        segment, rest = divmod((sequence - start - 1) % 2**32, mss)
        if rest:
            raise GuestError(f"sequence number {sequence} is no multiple of {mss} B after that of the SYN, {start}")
        return segment

    for one in read:
        is_data = one.sent != receiver
        if is_data and one.flags & SYN:
            start = one.sequence
        if start is None:
            raise GuestError("the connection of a port does not begin with a SYN")
        if is_data:
            if one.flags & SYN:
                opened = one.time_ns
            elif receiver and handshake_ns is None:
                # If the SYN-ACK was sent again, the timestamp that is echoed, in ms (`tcp_synack_rtt_meas`).
                passed = (own_clock + one.time_ns // 10**6 - one.echo) % 2**32
                handshake_ns = one.time_ns - opened if offers == 1 else max(passed, 1) * 10**6
            if not (one.flags & SYN or one.payload):
                continue
            if one.payload not in (0, mss):
                raise GuestError(f"a segment has {one.payload} B instead of {mss} B")
            at = SYN_NUMBER if one.flags & SYN else number(one.sequence)
            if one.sent:
                # Timestamps are in ms, and those of Linux the earliest departures of paced segments (tcp_wstamp_ns).
                offset = (one.value - one.time_ns // 10**6) % 2**32
                clock = offset if clock is None else clock
                ahead = (offset - clock) % 2**32
                first.setdefault(one.value, (one.time_ns, ahead if 1 < ahead < 2**31 else 0))
            if receiver and one.payload and made and made[-1].number == SYN_NUMBER:
                made[-1] = replace(made[-1], time_ns=one.time_ns - (handshake_ns or 0))
            event = Event(one.time_ns, one.sent, at, _flags(one) if receiver else 0)
            if receiver and one.payload:
                passed = (own_clock + one.time_ns // 10**6 - one.echo) % 2**32
                event = replace(event, round_ms=passed)
            made.append(event)
        elif receiver and one.flags & SYN:
            own_clock = (one.value - one.time_ns // 10**6) % 2**32
            offers += 1
            continue
        elif one.flags & ACK:
            at = 0 if one.flags & SYN else number(one.acknowledged)
            advances = not receiver and (at > last or bool(one.flags & SYN))
            last = max(at, last)
            blocks = tuple(number(limit) for limit in one.blocks[:6])
            echo = first[one.echo] if advances else (0, 0)
            # The window of a SYN-ACK has no scale (RFC 7323 section 2.2).
            scale = 0 if one.flags & SYN else SCALE
            window = (one.window << scale) // mss if windows else UNKNOWN
            made.append(Event(one.time_ns, one.sent, at, _flags(one), echo[0], echo[1], blocks, window))
    return made


def _flags(one: Segment) -> int:
    """Return the flags of a segment as `tailback._native` names them: those of its SYN differ from those of others."""
    if one.flags & SYN and not one.flags & ACK:
        return 1 + 16 * bool(one.flags & ECE and one.flags & CWR)
    code = one.tos & CE
    marks = 4 * bool(one.flags & PSH) + 16 * bool(one.flags & CWR) + (8 if code == CE else 32 * bool(code))
    marks *= bool(one.payload)
    return bool(one.flags & SYN) + 2 * bool(one.flags & ECE) + marks


Packed = dict[str, Any]
"""Events in a form that compresses well, by column."""


def pack(events: Sequence[Event], receiver: bool, windows: bool) -> Packed:
    """Return the events in columns of small numbers.

    `sent` has `>` or `<` for each event, `times` the differences of the times, and `flags` the flags. `numbers` are the
    differences from the end of the segments so far, or from the acknowledgement before. `echoes`, `ahead` and `blocks`
    have an entry for each acknowledgement: the number of transmissions since the one that it echoes, what its timestamp
    is ahead, and the limits of the blocks as differences, the first one from the acknowledgement. `windows` has the
    window of each acknowledgement, if they are recorded, and `rounds`, of a receiver, the time of each segment since
    what it echoes.
    """
    made: Packed = {"sent": "", "times": [], "numbers": [], "flags": [], "echoes": [], "ahead": [], "blocks": []}
    made |= {"windows": []} if windows else {}
    made |= {"rounds": []} if receiver else {}
    end = last = before = 0
    places: dict[int, int] = {}
    for event in events:
        made["sent"] += ">" if event.sent else "<"
        made["times"].append(event.time_ns - before)
        made["flags"].append(event.flags)
        before = event.time_ns
        if event.sent != receiver:
            if event.sent:
                places[event.time_ns] = len(places)
            syn = event.number == SYN_NUMBER
            made["numbers"].append(None if syn else event.number - end)
            if receiver:
                made["rounds"].append(event.round_ms)
            end = end if syn else max(end, event.number + 1)
        else:
            made["numbers"].append(event.number - last)
            last = event.number
            made["echoes"].append(len(places) - places[event.echo_ns] if event.echo_ns else 0)
            made["ahead"].append(event.ahead_ms)
            limits = [event.number, *event.blocks]
            made["blocks"].append([b - a for a, b in pairwise(limits)])
            if windows:
                made["windows"].append(event.window)
    return made


def unpack(packed: Packed, receiver: bool, windows: bool) -> list[Event]:
    """Return the events from their packed form; raises ValueError or IndexError if it is none."""
    made: list[Event] = []
    end = last = time = 0
    places: list[int] = []
    echoes, ahead, blocks = (iter(packed[name]) for name in ("echoes", "ahead", "blocks"))
    offered, rounds = iter(packed["windows"] if windows else ()), iter(packed["rounds"] if receiver else ())
    columns = (packed[name] for name in ("sent", "times", "numbers", "flags"))
    for letter, step, number, flags in zip(*columns, strict=True):
        time += step
        sent = letter == ">"
        if sent != receiver:
            if sent:
                places.append(time)
            at = SYN_NUMBER if number is None else end + number
            end = end if number is None else max(end, at + 1)
            made.append(Event(time, sent, at, flags, round_ms=next(rounds) if receiver else 0))
        else:
            last += number
            back, later, steps = next(echoes), next(ahead), next(blocks)
            limits = tuple(accumulate(steps, initial=last))[1:]
            echo = places[len(places) - back] if back else 0
            window = next(offered) if windows else UNKNOWN
            made.append(Event(time, sent, last, flags, echo, later, limits, window))
    if next(echoes, None) is not None:
        raise ValueError("there are more acknowledgements than events")
    return made


def followed(transport: str, events: Sequence[Event], receiver: bool) -> dict[str, Any]:
    """Return the comparison of a flow with the model: `equal`, `late_ps`, `first` and, of a sender, `phases`.

    They are those of `tailback._native.follow_sender`.
    """
    rows = []
    for one in events:
        head = [0 if one.sent else 1, one.time_ns * 1000, one.number]
        if one.sent == receiver:
            # A timestamp that is ahead is known in ms only.
            echo_ns = (one.echo_ns // 10**6 + one.ahead_ms) * 10**6 if one.ahead_ms else one.echo_ns
            rows.append([*head, one.flags, *([] if receiver else [echo_ns * 1000]), one.window, *one.blocks])
        else:
            # Timestamps are in ms.
            asked_ms = max(one.time_ns // 10**6 - one.round_ms, 0)
            rows.append([*head, one.flags, asked_ms * 10**9] if receiver else head)
    follow = _native.follow_receiver if receiver else _native.follow_sender
    found: dict[str, Any] = json.loads(follow(transport, rows))
    return found


def on_kernel(case: Case, kernel: Kernel, program: Path, keep: Path | None = None) -> list[list[Event]]:
    """Return the events of the recorded host's flows in a run on the kernel; raises GuestError."""
    commands, host = script(case, program)

    def read(folder: Path) -> list[list[Event]]:
        lines = (folder / "segments").read_text(encoding="utf-8").splitlines()
        made = flows(segments(lines, host), case.dumbbell.segment, case.receiver, case.windows)
        flows_of_host = case.dumbbell.flows // case.dumbbell.hosts
        # The SYNs of some flows may be lost until the end of the run, and a receiver does not know of them.
        if len(made) > flows_of_host or (len(made) < flows_of_host and not case.receiver) or not made:
            raise GuestError(f"{len(made)} connections were recorded")
        return made

    return kernel.run({"case.sh": commands}, read, keep)
