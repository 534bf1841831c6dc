"""Comparison with the kernel packet by packet: the same arrivals at the same discipline, and the fate of each packet.

    python validation/linux/replay.py [--cases REGEX] [--runs 10] [--kernel PROGRAM] [--out FOLDER] [--record]
                                      [--recorded] [--page PAGE]

Disciplines without random numbers must have the same fates, in the same order; for those with random numbers the
numbers of drops and marks of RUNS runs on either program are compared by a permutation test. With `--record` the
results of the kernel are written to replayed.json.xz, with which `--recorded` compares without a kernel.

Exits with 1 if a case differs that has no known reason, or the guest fails; with 0, after a line that begins with
SKIPPED, if the kernel or a tool is missing.
"""

from __future__ import annotations

import argparse
import json
import lzma
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from arrivals import FLOWS, LOADS, PHASE_NS
from compare import rewrite
from records import compiled, earlier, read
from replay_cases import CASES, Case
from replay_runs import SHIFT_NS, Difference, Fate, Fates, difference, history, on_kernel, on_tailback

from tailback.witness.kernel import GuestError, Kernel

RECORDED = Path(__file__).resolve().with_name("replayed.json.xz")
"""Results of the kernel by case, with the hash of the kernel and the command that made them."""
BEGIN, END = "<!-- validation/linux/replay.py writes from here -->", "<!-- to here -->"
STEP_NS = 256
"""Largest difference between the times at which a packet leaves, nanoseconds.

A step of the guest's clock, by which a timer may be late."""
LEVEL = 0.01
"""Smallest p-value at which the distributions of a random discipline count as equal."""
PERMUTATIONS = 9999


def pack(case: Case, fates: Fates) -> dict[str, Any]:
    """Return the fates in a form that compresses well.

    `letters` has a letter for each packet, `order` the packets that left, each as the difference from the one before,
    and `waits` for each of these the steps of the clock from the end of the transmission of the one before, or from its
    own arrival if that is later.
    """
    planned = case.arrivals()
    left = sorted((fate.left_ns, i) for i, fate in enumerate(fates) if fate.left_ns is not None)
    numbers = [i for _, i in left]
    order = [b - a for a, b in zip([0, *numbers], numbers, strict=False)]
    waits, free = [], 0
    for time, number in left:
        waits.append(time - max(free, planned[number].time_ns))
        free = time + planned[number].bytes * STEP_NS
    return {"letters": "".join(fate.letter for fate in fates), "order": order, "waits": waits}


def unpack(case: Case, packed: dict[str, Any]) -> list[Fate]:
    """Return the fates from their packed form."""
    planned = case.arrivals()
    times: dict[int, int] = {}
    number = free = 0
    for step, wait in zip(packed["order"], packed["waits"], strict=True):
        number += step
        times[number] = max(free, planned[number].time_ns) + wait
        free = times[number] + planned[number].bytes * STEP_NS
    return [Fate(times.get(i), letter == "m") for i, letter in enumerate(packed["letters"])]


def counts(case: Case, fates: Fates) -> list[int]:
    """Return the numbers of drops, and then of marks, of each flow in each phase."""
    made = {letter: np.zeros((FLOWS, len(LOADS)), int) for letter in "dm"}
    for one, fate in zip(case.arrivals(), fates, strict=True):
        if fate.letter in made:
            made[fate.letter][one.flow, min(one.time_ns // PHASE_NS, len(LOADS) - 1)] += 1
    return [int(n) for letter in "dm" for n in made[letter].ravel()]


def p_value(theirs: Sequence[Sequence[int]], ours: Sequence[Sequence[int]]) -> float:
    """Return the p-value of the hypothesis that the counts of both programs have the same distribution.

    The statistic is the sum over all counts of the squared difference of the means, divided by the variance over all
    runs; its distribution is that over random exchanges of the runs of both programs.
    """
    every = np.array([*theirs, *ours], float)
    varied = every[:, every.std(axis=0) > 0]
    if varied.size == 0:
        return 1.0
    scaled = varied / varied.std(axis=0)
    rng = np.random.default_rng(1)

    def statistic(order: Any) -> float:
        means = [scaled[part].mean(axis=0) for part in (order[: len(theirs)], order[len(theirs) :])]
        return float(((means[0] - means[1]) ** 2).sum())

    found = statistic(np.arange(len(every)))
    larger = sum(statistic(rng.permutation(len(every))) >= found * (1 - 1e-12) for _ in range(PERMUTATIONS))
    return (larger + 1) / (PERMUTATIONS + 1)


@dataclass(frozen=True)
class Row:
    """Comparison of a case."""

    case: Case
    lost: str
    """Dropped and marked packets on Linux, and here."""
    equal: bool
    found: str
    """The difference, or the p-value."""


def exact(case: Case, theirs: Fates, ours: Fates) -> Row:
    """Return the comparison of a discipline without random numbers."""
    made: Difference = difference(theirs, ours)
    equal = made.first is None and made.late_ns <= STEP_NS
    text = f"{len(made.other)} other fates, {len(made.moved)} other places, {made.late_ns} ns"
    numbers = [sum(fate.letter == letter for fate in fates) for fates in (theirs, ours) for letter in "dm"]
    return Row(case, "{} + {} | {} + {}".format(*numbers), equal, text)


def distributed(case: Case, theirs: Sequence[Sequence[int]], ours: Sequence[Sequence[int]]) -> Row:
    """Return the comparison of a discipline with random numbers, from the counts of the runs."""
    half = FLOWS * len(LOADS)
    means = [
        float(np.mean([sum(run[part]) for run in runs]))
        for runs in (theirs, ours)
        for part in (slice(half), slice(half, None))
    ]
    p = p_value(theirs, ours)
    lost = "{:.1f} + {:.1f} | {:.1f} + {:.1f}".format(*means)
    return Row(case, lost, p >= LEVEL, f"p = {p:.4f}, {len(theirs)} + {len(ours)} runs")


def shifts(count: int) -> list[int]:
    """Return the shift of the arrivals of each run, nanoseconds."""
    return [run * SHIFT_NS for run in range(count)]


def ours_of(case: Case, runs: int) -> list[list[int]]:
    """Return the counts of runs of a random discipline on Tailback."""
    found = (on_tailback(case, later_ns=later, seed=seed) for seed, later in enumerate(shifts(runs), 1))
    return [counts(case, fates) for fates in found]


def compared(case: Case, record: dict[str, Any]) -> Row:
    """Compare a case with the recorded results of the kernel."""
    kept = record["cases"][case.name]
    if case.random:
        return distributed(case, kept, ours_of(case, len(kept)))
    return exact(case, unpack(case, kept), on_tailback(case))


def read_record() -> dict[str, Any]:
    """Return the recorded results: `kernel`, `command`, and `cases` by name."""
    return read(RECORDED)


def measured(case: Case, kernel: Kernel, program: Path, runs: int, build: Path) -> Any:
    """Return the results of the kernel in the form in which they are recorded; raises GuestError."""
    log = build / f"{re.sub('[^a-z]+', '-', case.name)}.log"
    if not case.random:
        return pack(case, on_kernel(case, kernel, program, keep=log))
    return [counts(case, on_kernel(case, kernel, program, later_ns=later, keep=log)) for later in shifts(runs)]


def markdown(rows: Sequence[Row]) -> str:
    """Return the table of the page."""
    lines = [
        "| case | dropped + marked on Linux | here | equal | difference | known reason |",
        "|---|---:|---:|---|---|---|",
    ]
    for row in rows:
        cells = [row.case.name, row.lost, "yes" if row.equal else "no", row.found, row.case.known]
        lines += [f"| {' | '.join(cells)} |"]
    return "\n".join(lines) + "\n"


def main() -> int:
    """Run the cases, write the results, and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", default="", help="only cases whose name matches this regular expression")
    parser.add_argument("--runs", type=int, default=10, help="runs of a discipline with random numbers; default 10")
    parser.add_argument("--out", type=Path, default=Path("out/validation"), help="folder; default out/validation")
    parser.add_argument("--kernel", type=Path, help="program built by build_kernel.sh; default: OUT/kernel/linux")
    parser.add_argument("--recorded", action="store_true", help="compare with the recorded results, without a kernel")
    parser.add_argument("--record", action="store_true", help="write the results of the kernel to the recorded ones")
    parser.add_argument("--page", type=Path, help="page whose marked region the table replaces")
    options = parser.parse_args()
    build = options.out / "replay"
    chosen = [case for case in CASES if re.search(options.cases, case.name)]
    rows: list[Row] = []
    failed = False
    record: dict[str, Any] = {"cases": {}}
    kernel: Kernel | str = ""
    if options.recorded:
        record = read_record()
        chosen = [case for case in chosen if case.name in record["cases"]]
    else:
        kernel = Kernel.found(options.kernel or options.out / "kernel" / "linux", build)
        if isinstance(kernel, str):
            print(f"SKIPPED: {kernel}")
            return 0
        program = compiled("replay", build)
        record = earlier(RECORDED, kernel) or record
        record |= {"kernel": kernel.identity(), "command": " ".join(sys.argv)}
    for case in chosen:
        if isinstance(kernel, Kernel):
            try:
                record["cases"][case.name] = measured(case, kernel, program, options.runs, build)
            except GuestError as error:
                print(f"{case.name}: {error}", file=sys.stderr)
                failed = True
                continue
            if options.record:
                with lzma.open(RECORDED, "wt", encoding="utf-8") as file:
                    json.dump(record, file)
        row = compared(case, record)
        rows.append(row)
        failed |= row.equal == bool(case.known)
        print(
            f"{'equal' if row.equal else 'DIFFERS'}: {case.name}: {row.lost} dropped + marked; {row.found}", flush=True
        )
        if not row.equal and not case.random and not case.known:
            print(history(case, unpack(case, record["cases"][case.name]), on_tailback(case)))
    print(f"{sum(row.equal for row in rows)} of {len(rows)} cases are equal")
    if options.page:
        rewrite(options.page, (BEGIN, END), markdown(rows))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
