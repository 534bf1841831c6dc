"""Prints the instructions per arriving packet of each discipline of `internet-rivals`.

The load is `overload` of tailback-bench: the same packets arrive at the same times under every discipline, and the link
is always busy. The engine is the plain one, since the merged one has a faster form of port for drop-tail and RED. A
discipline's additional cost is its instructions per arriving packet minus those of drop-tail. For each discipline two
runs of different durations are counted: their difference excludes start-up and the filling of the queue. The counts are
those of valgrind, and are the same each time for the same program. The table is printed and written to the file of
`--out`; without valgrind nothing is written.
"""

from __future__ import annotations

import argparse
import platform
import shutil
from pathlib import Path

import measure
from tailback import __version__
from tailback.gallery.internet.non_responsive_flow_every_discipline.experiment import QUEUES, discipline_of
from tailback.scenario import Value, toml_value

# Simulated durations of the two runs.
SHORT, LONG = "5s", "10s"
BASE = "drop-tail"
"""Discipline whose instructions are subtracted from those of the others."""


def instructions_and_packets(binary: str, queue: dict[str, Value], buffer: str, duration: str) -> tuple[int, int]:
    """Run the load under callgrind, and return its instructions and the number of packets that arrived."""
    at = "switches.r0.ports.r1"
    settings = [f"{at}.discipline={toml_value(queue)}", f"{at}.buffer={buffer}"]
    settings += [f"run.duration={duration}", 'run.engine="plain"']
    return measure.instructions([binary, "overload", *settings], "offered")


def per_packet(binary: str, queue: dict[str, Value], buffer: str) -> float:
    """Return the difference of the instructions of two runs, divided by that of the arriving packets."""
    (short, few), (long, many) = (
        instructions_and_packets(binary, queue, buffer, duration) for duration in (SHORT, LONG)
    )
    return (long - short) / (many - few)


def main() -> None:
    """Count the instructions of all disciplines, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", required=True, help="the benchmark program, tailback-bench")
    parser.add_argument("--out", required=True, type=Path, help="file to write the table to")
    options = parser.parse_args()
    if shutil.which("valgrind") is None:
        print("skipped: instruction counts need valgrind (Debian package valgrind)")
        return

    counts = {}
    for name in QUEUES:
        queue, buffer = discipline_of(name)
        counts[name] = per_packet(options.binary, queue, buffer)
        print(f"{name}: {counts[name]:.0f}", flush=True)
    rows = [[name, f"{n - counts[BASE]:.0f}", f"{n:.0f}"] for name, n in counts.items()]
    header = [
        "discipline",
        f"instructions per arriving packet minus those of {BASE}",
        "instructions per arriving packet",
    ]
    about = f"Tailback {__version__}, {platform.machine()}, `overload` from {SHORT} to {LONG}\n\n"
    measure.write(options.out, about + measure.table(header, rows))


if __name__ == "__main__":
    main()
