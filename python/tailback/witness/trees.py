"""Disciplines with classes, `htb` and `priority`, as commands of Linux's tc: classes, filters and disciplines below.

A class is found by the code point of a packet, as in the scenario: each class has filters (u32) for the code points of
which its `match` is the first to hold. Classes have the numbers of their order, which is the order of their turns.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tailback import _native
from tailback.bounds.port import burst_bytes, code_point
from tailback.witness.disciplines import Options, Refused, command

__all__ = ["Translation", "translated"]

Table = Mapping[str, Any]

ROOT = 0x10
"""Major number of the first discipline; those below have the following ones."""
POINTS = 64
"""Number of code points."""
DIRECT = 1000
"""Packets that may wait unshaped in an HTB without a default class, as in the scenario."""


@dataclass(frozen=True)
class Translation:
    """A discipline in the syntax of tc, with the disciplines of its classes."""

    root: str
    """The discipline itself, which has the handle `ROOT`, such as `htb default 2 …`."""
    below: tuple[str, ...]
    """Further commands without `tc`, the verb `add` and the device: `class parent 10: classid 10:1 htb …`."""
    notes: tuple[str, ...]
    """What the kernel does otherwise."""


def translated(discipline: Table, buffer: str, rate_bps: int, beyond: int = 0) -> Translation:
    """Return a discipline, which may have classes, as commands of tc.

    `discipline` is the table of a scenario with its defaults, `buffer` the limit of the queue, `rate_bps` the rate of
    the link, bit/s, and `beyond` the bytes per packet, 0 or more, that the kernel counts and the scenario's buffers do
    not. Raises Refused.
    """
    tree = _Tree(rate_bps, beyond)
    root = tree.add(discipline, buffer, f"{ROOT:x}")
    return Translation(root, tuple(tree.below), tuple(tree.notes))


class _Tree:
    """Commands of a tree."""

    def __init__(self, rate_bps: int, beyond: int) -> None:
        self._rate_bps = rate_bps
        self._beyond = beyond
        self._majors = itertools.count(ROOT + 1)
        self.below: list[str] = []
        self.notes: list[str] = []

    def add(self, table: Table, buffer: str, major: str) -> str:
        """Add what is below a discipline with this major number, and return the discipline itself."""
        made = {"htb": self._htb, "priority": self._priority}.get(table["kind"])
        if made is None:
            text, notes = command(table, buffer, self._rate_bps)
            self.notes += notes
            return text
        options = Options(table["kind"], {key: value for key, value in table.items() if key != "kind"})
        text = made(options, buffer, major)
        options.finish()
        self.notes += options.notes
        return text

    def _leaf(self, table: Table | None, limit: str, parent: str) -> None:
        """Add the discipline of a class; `None`: a FIFO with tail drop."""
        major = f"{next(self._majors):x}"
        # A discipline must exist before its classes.
        place = len(self.below)
        text = self.add(table or {"kind": "drop-tail"}, limit, major)
        self.below.insert(place, f"qdisc parent {parent} handle {major}: {text}")

    def _priority(self, options: Options, buffer: str, major: str) -> str:
        levels = options.take("levels")
        names = [level.get("name") for level in levels]
        default = options.take("default") or ("normal" if "normal" in names else None)
        rest = len(levels) - 1 if default is None else names.index(default)
        if not 2 <= len(levels) <= 16:
            raise Refused(f"priority: Linux 6.1 has 2 to 16 bands (prio_tune), not {len(levels)}")
        limits = [level.get("limit") or "64packets" for level in levels]
        _own_limits("priority", limits, buffer)
        self._filters("priority", [level.get("match") for level in levels], range(1, len(levels) + 1), major)
        for band, (level, limit) in enumerate(zip(levels, limits, strict=True), 1):
            own = Options("priority", {key: value for key, value in level.items() if key not in ("name", "match")})
            own.take("limit")
            self._leaf(own.take("discipline"), limit, f"{major}:{band}")
            own.finish()
        # Packets of no filter have the band of their priority (SO_PRIORITY), which Linux derives from the code point.
        return f"prio bands {len(levels)} priomap {' '.join([str(rest)] * 16)}"

    def _htb(self, options: Options, buffer: str, major: str) -> str:
        classes = options.take("classes")
        numbers = {one["name"]: f"{number:x}" for number, one in enumerate(classes, 1)}
        parents = {one.get("parent") for one in classes}
        leaves = [one for one in classes if one["name"] not in parents]
        default, accounting = options.take("default"), options.take("accounting")
        limits = [one.get("limit") or "1000packets" for one in leaves]
        _own_limits("htb", limits if default else [*limits, f"{DIRECT}packets"], buffer)
        for one in classes:
            parent = numbers[one["parent"]] if one.get("parent") else ""
            own = Options("htb", {key: value for key, value in one.items() if key not in ("name", "parent", "match")})
            text = self._class(own, one["name"], accounting, one["name"] not in parents)
            self.below.append(f"class parent {major}:{parent} classid {major}:{numbers[one['name']]} htb {text}")
            own.take("limit"), own.take("discipline")
            own.finish()
        own_numbers = [int(numbers[one["name"]], 16) for one in leaves]
        self._filters("htb", [one.get("match") for one in leaves], own_numbers, major)
        for one, limit in zip(leaves, limits, strict=True):
            self._leaf(one.get("discipline"), limit, f"{major}:{numbers[one['name']]}")
        return f"htb{f' default {numbers[default]}' if default else ''} r2q {options.take('r2q')} direct_qlen {DIRECT}"

    def _class(self, options: Options, name: str, accounting: str | Table, leaf: bool) -> str:
        """Return the parameters of a class of HTB."""
        rate = options.take("rate")
        ceil = options.take("ceil") or rate
        words = [f"rate {_native.parse_rate(rate)}bit ceil {_native.parse_rate(ceil)}bit"]
        for key, at in (("burst", rate), ("cburst", ceil)):
            written = options.take(key)
            # htb/params.rs: 1 ms at the rate and 1600 B, which tc does not have by default: it adds a tick of its own.
            size = int(burst_bytes("1ms", at)) + 1600 if written is None else max(1, int(burst_bytes(written, at)))
            real = _bucket(size, _native.parse_rate(at))
            if size - real >= 1:
                self.notes.append(
                    f"htb: the {key} of `{name}` has {real:.0f} B in Linux 6.1, not {size} B (ticks of 64 ns, of which "
                    "tc takes those in whole microseconds)"
                )
            words.append(f"{key} {size}")
        prio, quantum = options.take("prio"), options.take("quantum")
        if leaf:
            words.append(f"prio {prio}")
        if quantum is not None:
            words.append(f"quantum {_native.parse_bytes(quantum)}")
        words += self._counted(options.take("accounting") or accounting)
        return " ".join(words)

    def _counted(self, accounting: str | Table) -> Iterator[str]:
        """Yield what the buckets of a class count for a packet."""
        table: Table = {"bytes": accounting} if isinstance(accounting, str) else accounting
        more = int(str(table.get("bytes", "0B")).removesuffix("B")) - self._beyond
        if more < 0:
            raise Refused(
                f"htb: tc adds at least 0 B per packet, and the guest counts {self._beyond} B more than buffers do, "
                f"so that `accounting` must be at least {self._beyond}B"
            )
        if more:
            yield f"overhead {more}"
        if least := table.get("least"):
            yield f"mpu {_native.parse_bytes(least)}"
        if table.get("cells"):
            yield "linklayer atm"

    def _filters(self, kind: str, matches: Sequence[object], numbers: Sequence[int], major: str) -> None:
        """Add the filters of classes with these matches (`None`: no packets) and minor numbers."""
        points: dict[int, list[int]] = {number: [] for number in numbers}
        for point in range(POINTS):
            for match, number in zip(matches, numbers, strict=True):
                if match is not None and _holds(kind, match, point):
                    points[number].append(point)
                    break
        for number in numbers:
            for value, mask in _blocks(points[number]):
                selector = f"u32 match ip dsfield {value << 2:#04x} {mask << 2:#04x}"
                self.below.append(f"filter parent {major}: protocol ip prio 1 {selector} flowid {major}:{number:x}")


def _own_limits(kind: str, limits: Sequence[str], buffer: str) -> None:
    """Refuse a common limit of all classes that could be reached before those of the classes."""
    if buffer == "unlimited":
        return
    parse = (lambda text: int(text.removesuffix("packets"))) if buffer.endswith("packets") else _native.parse_bytes
    same = all(limit.endswith("packets") == buffer.endswith("packets") for limit in limits)
    if not same or sum(map(parse, limits)) > parse(buffer):
        raise Refused(
            f"{kind}: Linux 6.1 has no limit of all classes together; the limits of the classes may have a sum of at "
            f"most {buffer}, or write an unlimited buffer"
        )


def _bucket(size: int, rate_bps: int) -> float:
    """Return the bytes of a bucket of which tc has been given `size` (tc_calc_xmittime of iproute2)."""
    ticks = int(8e6 * size / rate_bps) * 1000 // 64
    return ticks * 64e-9 * rate_bps / 8


def _holds(kind: str, match: object, point: int) -> bool:
    """Return `True` if a match holds for a code point; raises Refused for other conditions than on code points."""
    if isinstance(match, str):
        raise Refused(f"{kind}: the guest has no class maps such as `{match}`")
    if isinstance(match, list):
        return any(_holds(kind, one, point) for one in match)
    assert isinstance(match, Mapping)
    return all(_condition(kind, key, value, point) for key, value in match.items() if value is not None)


def _condition(kind: str, key: str, value: Any, point: int) -> bool:
    values = value if isinstance(value, list) else [value]
    match key:
        case "dscp":
            return point in [code_point(one) for one in values]
        # No packet of the guest has a label of MPLS.
        case "precedence" | "exp":
            return point >> 3 in values
        case "any":
            return any(_holds(kind, one, point) for one in values)
        case "all":
            return all(_holds(kind, one, point) for one in values)
        case "not":
            return not _holds(kind, value, point)
    raise Refused(f"{kind}: the guest finds classes by code points, not by `{key}`")


def _blocks(points: Sequence[int], first: int = 0, size: int = POINTS) -> Iterator[tuple[int, int]]:
    """Yield code points as values and masks of 6 bits, as few as the sizes of powers of two permit."""
    own = [point for point in points if first <= point < first + size]
    if len(own) == size:
        yield first, POINTS - size
    elif own:
        half = size // 2
        yield from _blocks(own, first, half)
        yield from _blocks(own, first + half, half)
