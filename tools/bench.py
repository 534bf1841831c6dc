"""Writes a table of speed, peak memory and, if valgrind is installed, instructions per packet-hop of each workload.

The table is printed and written to the file of `--out`. Speed and memory are those of `tailback bench`: packet-hops per
CPU second of the run without start-up, and peak resident memory of the process with Python. Instructions are those of
the program tailback-bench. Their counts are the same each time for the same program, so they show changes that are
smaller than the random variation of CPU seconds on a shared machine.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
from pathlib import Path

import measure

# Two simulated durations of each workload: their difference excludes start-up and reading of the scenario.
DURATIONS = {
    "forward": ("50ms", "150ms"),
    "udpqueue": ("50s", "150s"),
    "red64": ("10s", "30s"),
    "tcp1000": ("2s", "6s"),
    "tcp4000": ("1s", "3s"),
    "tcp100000": ("100ms", "200ms"),
    "edge50": ("10s", "30s"),
    "dc10g": ("10ms", "30ms"),
    "net64": ("10ms", "30ms"),
    "leafspine128": ("100us", "300us"),
    "fattree1024": ("20us", "40us"),
    "lan-a1": ("40s", "120s"),
}


def instructions_and_hops(binary: str, workload: str, duration: str) -> tuple[int, int]:
    """Run a workload under callgrind, and return its instructions and its packet-hops."""
    return measure.instructions([binary, workload, f"run.duration={duration}", "run.warmup=0s"], "hops")


def instructions_per_hop(binary: str, workload: str) -> float:
    """Return the difference of the instructions of runs of two durations, divided by that of the packet-hops."""
    (short, few), (long, many) = (instructions_and_hops(binary, workload, duration) for duration in DURATIONS[workload])
    return (long - short) / (many - few)


def memory(megabytes: float | None) -> str:
    """Return a cell with a peak memory in MB; `None`: `tailback bench` cannot measure it on this system."""
    return "not measured" if megabytes is None else f"{megabytes:.0f}"


def main() -> None:
    """Measure all workloads."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", required=True, help="the program tailback-bench, of which instructions are counted")
    parser.add_argument("--tailback", required=True, help="the installed command, which measures speed and memory")
    parser.add_argument("--out", required=True, type=Path, help="file to write the table to")
    options = parser.parse_args()

    result = subprocess.run([options.tailback, "bench", "--json"], stdout=subprocess.PIPE, check=True, text=True)
    valgrind = shutil.which("valgrind") is not None
    if not valgrind:
        print("no instruction counts: they need valgrind (Debian package valgrind)")
    rows = []
    for run in json.loads(result.stdout):
        speed = measure.Run(run["packet_hops"], run["cpu_s"]).speed
        row = [run["workload"], f"{speed:.2f}", memory(run["rss_mb"])]
        rows.append(
            [*row, f"{instructions_per_hop(options.binary, run['workload']):.0f}" if valgrind else "not counted"]
        )
    header = [
        "workload",
        "million packet-hops per CPU second",
        "peak resident memory (MB)",
        "instructions per packet-hop",
    ]
    measure.write(options.out, measure.table(header, rows))


if __name__ == "__main__":
    main()
