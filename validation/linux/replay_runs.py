"""The fates of the same packets on a Linux kernel and on Tailback, and their differences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from arrivals import FLOWS, LOADS, PHASE_NS
from replay_cases import DEVICE, Case

import tailback as tb
from tailback.witness.kernel import PORT, START_S, GuestError, Kernel

HERE = Path(__file__).resolve().parent
START_NS = -(-START_S * 10**9 // 1024) * 1024
"""Time of the first possible arrival on the guest's clock, nanoseconds.

A multiple of CoDel's unit of time (codel_get_time), since Tailback's run begins with one, too."""
SHIFT_NS = 3000 * 1024
"""Shift of the arrivals from one run of a random discipline to the next, nanoseconds.

Ten runs cover the phases of a timer of 30 ms."""
LATE_NS = 256
"""Largest delay of a packet by the sender in cases with random numbers, nanoseconds; a step of the guest's clock."""
DRAIN_S = 3
"""Time after the last phase in which packets may leave, seconds."""
END_S = -(-len(LOADS) * PHASE_NS // 10**9) + DRAIN_S
"""Length of a run, seconds."""


@dataclass(frozen=True)
class Fate:
    """Fate of a packet."""

    left_ns: int | None
    """Time at which it left the queue, nanoseconds since the first possible arrival; `None`: it was dropped."""
    marked: bool = False

    @property
    def letter(self) -> str:
        """`d` for a dropped packet, `m` for a marked one, `.` for one that was only delivered."""
        return "d" if self.left_ns is None else "m" if self.marked else "."


Fates = Sequence[Fate]


def script(case: Case, program: Path, later_ns: int) -> str:
    """Return the commands of the guest."""
    tos = " ".join(str(case.tos(flow)) for flow in range(FLOWS))
    batch = "\n".join(case.tc)
    sender = f"10.0.0.2 {PORT} {START_NS + later_ns} {case.handle} /run/case/arrivals /run/case/sent {tos}"
    return f"""\
node a
node b
pair a {DEVICE} 10.0.0.1 b {DEVICE} 10.0.0.2
settings a tcp_ecn=0 {DEVICE}
settings b tcp_ecn=0 {DEVICE}
inside a tc -batch - <<END || failed 'the discipline'
{batch}
END
inside b {program} receive {PORT} {START_S + END_S} /run/case/arrived || failed receiver &
pids+=($!)
inside a {program} send {sender} || failed sender &
pids+=($!)
finish() {{ inspect a {DEVICE}; }}
"""


def on_kernel(case: Case, kernel: Kernel, program: Path, *, later_ns: int = 0, keep: Path | None = None) -> list[Fate]:
    """Return the fates on the kernel, with all arrivals `later_ns` later; raises GuestError."""
    planned = case.arrivals()

    def read(folder: Path) -> list[Fate]:
        sent = [int(line) for line in (folder / "sent").read_text(encoding="utf-8").splitlines()]
        late = [time - one.time_ns for time, one in zip(sent, planned, strict=True)]
        # In some runs another process of the guest reads the clock before a packet, which then is a step late; this
        # does not matter for distributions.
        if max(late) > (LATE_NS if case.random else 0):
            raise GuestError(f"{sum(map(bool, late))} packets were sent up to {max(late)} ns late")
        fates = [Fate(None)] * len(planned)
        for line in (folder / "arrived").read_text(encoding="utf-8").splitlines():
            number, time, size, tos = map(int, line.split())
            if size != planned[number].bytes or fates[number].left_ns is not None:
                raise GuestError(f"packet {number} arrived twice, or with {size} B")
            fates[number] = Fate(time - START_NS - later_ns, tos & 3 == 3)
        return fates

    lines = "".join(f"{one.time_ns} {one.flow} {one.bytes}\n" for one in planned)
    return kernel.run({"case.sh": script(case, program, later_ns), "arrivals": lines}, read, keep)


def on_tailback(case: Case, *, later_ns: int = 0, seed: int = 1) -> list[Fate]:
    """Return the fates on Tailback, with all arrivals `later_ns` later."""
    planned = case.arrivals()
    numbers: list[list[int]] = [[] for _ in range(FLOWS)]
    for number, one in enumerate(planned):
        numbers[one.flow].append(number)
    made = case.scenario(str(HERE / "arrivals.py"), END_S, later_ns)
    trace = tb.Trace(ports=["r->b"], events=["enqueue", "dequeue", "drop", "mark"])
    with tb.Simulation(made, seed=seed, trace=trace) as simulation:
        simulation.run_until(f"{END_S}s")
        rows = simulation.take_trace()
    fates: list[Fate | None] = [None] * len(planned)
    arrived: set[int] = set()
    marked: set[int] = set()
    for row in rows.sort("turn").iter_rows(named=True):
        number = numbers[int(row["flow"][1:])][row["sequence"]]
        match row["event"]:
            case "enqueue":
                # No packet is sent twice, and each arrives at its time.
                expected = ((planned[number].time_ns + later_ns) * 1000, planned[number].bytes)
                if number in arrived or (row["time_ps"], row["size_bytes"]) != expected:
                    raise ValueError(f"packet {number} arrives at {row['time_ps']} ps instead of {expected[0]} ps")
                arrived.add(number)
            case "mark":
                marked.add(number)
            case "drop":
                fates[number] = Fate(None)
            case "dequeue":
                fates[number] = Fate(row["time_ps"] // 1000 - later_ns, number in marked)
    found = [fate for fate in fates if fate is not None]
    if len(found) < len(planned):
        raise ValueError(f"{len(planned) - len(found)} packets have no fate")
    return found


@dataclass(frozen=True)
class Difference:
    """Difference of the fates on Tailback from those on the kernel."""

    other: list[int]
    """Packets with another fate: dropped, marked or delivered unmarked."""
    moved: list[int]
    """Packets that both programs deliver, but that do not leave after the same packet."""
    late_ns: int
    """Largest difference between the times at which a packet leaves, nanoseconds."""

    @property
    def first(self) -> int | None:
        """First packet with another fate or place."""
        return min([*self.other, *self.moved], default=None)


def difference(theirs: Fates, ours: Fates) -> Difference:
    """Compare the fates of all packets."""

    def before(fates: Fates) -> dict[int, int]:
        """Return the packet that has left before each packet that has left."""
        left = sorted((fate.left_ns, i) for i, fate in enumerate(fates) if fate.left_ns is not None)
        return {i: last for (_, i), (_, last) in zip(left, [(0, -1), *left], strict=False)}

    pairs = list(zip(theirs, ours, strict=True))
    places = before(theirs), before(ours)
    late = [abs(a.left_ns - b.left_ns) for a, b in pairs if a.left_ns is not None and b.left_ns is not None]
    return Difference(
        [i for i, (a, b) in enumerate(pairs) if a.letter != b.letter],
        [i for i, last in places[0].items() if places[1].get(i, last) != last],
        max(late, default=0),
    )


def history(case: Case, theirs: Fates, ours: Fates, around: int = 10) -> str:
    """Return what both programs do with the packets about the first one that differs."""
    first = difference(theirs, ours).first
    if first is None:
        return ""
    lines = []
    for number, one in enumerate(case.arrivals()):
        if abs(number - first) > around:
            continue
        cells = [
            "dropped" if fate.left_ns is None else f"{fate.left_ns} ns{' marked' if fate.marked else ''}"
            for fate in (theirs[number], ours[number])
        ]
        star = "*" if number == first else " "
        lines.append(
            f"{star}{number}: flow {one.flow}, {one.bytes} B at {one.time_ns} ns: Linux {cells[0]}, here {cells[1]}"
        )
    return "\n".join(lines)
