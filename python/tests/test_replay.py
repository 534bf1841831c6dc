"""The same arrivals at the disciplines of a Linux kernel and of Tailback, packet by packet.

The fates on the kernel are recorded in validation/linux/replayed.json.xz, with the command that has made them.
"""

from __future__ import annotations

import importlib
import shutil
import subprocess
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from types import ModuleType

import pytest

FOLDER = Path(__file__).resolve().parents[2] / "validation" / "linux"


@pytest.fixture(scope="module")
def replay() -> Iterator[ModuleType]:
    """Return validation/linux/replay.py."""
    sys.path.insert(0, str(FOLDER))
    yield importlib.import_module("replay")
    sys.path.remove(str(FOLDER))


def names(random: bool) -> list[str]:
    """Return the names of the recorded cases with or without random numbers."""
    sys.path.insert(0, str(FOLDER))
    cases = importlib.import_module("replay_cases").CASES
    sys.path.remove(str(FOLDER))
    return [case.name for case in cases if case.random == random]


def of(replay: ModuleType, name: str) -> object:
    return next(case for case in replay.CASES if case.name == name)


@pytest.mark.parametrize("name", names(random=False))
def test_each_packet_has_its_fate_and_place_of_the_kernel(replay: ModuleType, name: str) -> None:
    case = of(replay, name)
    theirs = replay.unpack(case, replay.read_record()["cases"][name])
    ours = replay.on_tailback(case)
    row = replay.exact(case, theirs, ours)
    if case.known:
        # If the fates have become equal, the reason must be removed from the case and the page.
        assert not row.equal
    else:
        assert row.equal, f"{row.found}\n{replay.history(case, theirs, ours)}"


@pytest.mark.parametrize("name", names(random=True))
def test_drops_of_random_disciplines_have_the_distribution_of_the_kernels(replay: ModuleType, name: str) -> None:
    case = of(replay, name)
    row = replay.compared(case, replay.read_record())
    assert row.equal != bool(case.known), row.found


def test_the_permutation_test_distinguishes_means_that_differ_by_their_deviation(replay: ModuleType) -> None:
    # Two sets of 8 runs that are the same, and two whose counts do not overlap: of all 16!/(8! 8!) = 12870 divisions
    # only the two with all small counts in one half have so large a difference, so that p is about 2/12870.
    same = [[n, 10 + n % 2] for n in range(8)]
    assert replay.p_value(same, same) == 1
    assert replay.p_value(same, [[n + 100, m] for n, m in same]) < 0.001


def test_arrivals_are_those_of_the_recorded_fates(replay: ModuleType) -> None:
    arrivals = importlib.import_module("arrivals").arrivals()
    times = [one.time_ns for one in arrivals]
    assert len(arrivals) == len(replay.read_record()["cases"]["pfifo"]["letters"])
    assert all(b - a >= 2048 for a, b in pairwise(times))
    assert all(time % 512 == 0 for time in times)
    assert all(one.bytes % 2 == 0 and 64 <= one.bytes <= 1500 for one in arrivals)


def test_packed_fates_are_unpacked_as_they_were(replay: ModuleType) -> None:
    case = of(replay, "pfifo")
    fates = [replay.Fate(one.time_ns + 7 * i, i % 3 == 0) for i, one in enumerate(case.arrivals())]
    fates[5] = replay.Fate(None)
    assert replay.unpack(case, replay.pack(case, fates)) == fates


def test_a_fate_a_place_or_a_time_that_differs_is_found(replay: ModuleType) -> None:
    fate = replay.Fate
    theirs = [fate(0), fate(100), fate(None), fate(300)]
    assert replay.difference(theirs, theirs).first is None
    assert replay.difference(theirs, [fate(0), fate(100), fate(200), fate(300)]).other == [2]
    assert replay.difference(theirs, [fate(0), fate(100, True), fate(None), fate(300)]).other == [1]
    swapped = replay.difference(theirs, [fate(100), fate(0), fate(None), fate(300)])
    # Each of the three packets has another one before it: none, packet 0 and packet 1 became packet 1, none and 0.
    assert (swapped.moved, swapped.late_ns) == ([0, 1, 3], 100)


@pytest.mark.skipif(shutil.which("gcc") is None, reason="needs gcc")
def test_the_program_of_the_guest_is_compiled_without_warnings(replay: ModuleType, tmp_path: Path) -> None:
    program = replay.compiled("replay", tmp_path)
    assert subprocess.run([program], capture_output=True, check=False).returncode == 2
