"""Measurements of programs: processor time, elapsed time, instructions and peak memory, and Markdown tables of them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Run:
    """One run of a benchmark program."""

    hops: int
    """Packet-hops that the program counted; -1: it does not count."""
    cpu_s: float
    """User and system time of the whole process, with its start-up, seconds."""
    wall_s: float = 0.0
    """Time from the start of the process to its end, seconds."""

    @property
    def speed(self) -> float:
        """Packet-hops per CPU second, millions."""
        return self.hops / self.cpu_s / 1e6


def run(command: Sequence[str | Path], env: Mapping[str, str] | None = None) -> Run:
    """Run `command`, whose output has a line `RESULT … hops=N`, and return its measurements; exits if it fails."""
    words = [str(word) for word in command]
    started = time.monotonic()
    process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True, env={**os.environ, **(env or {})})
    assert process.stdout is not None
    output = process.stdout.read()
    # wait4 returns the usage of this child only; resource.getrusage would return the sum of all children.
    _, status, usage = os.wait4(process.pid, 0)
    ended = time.monotonic()
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        sys.exit(f"{' '.join(words)} ended with exit code {process.returncode}:\n{output}")
    results = [line.split()[1:] for line in output.splitlines() if line.startswith("RESULT ")]
    fields = dict(word.split("=", 1) for word in (results[-1] if results else []))
    if "hops" not in fields:
        sys.exit(f"{' '.join(words)} printed no line `RESULT … hops=N`:\n{output}")
    return Run(
        hops=int(fields["hops"]),
        cpu_s=usage.ru_utime + usage.ru_stime,
        wall_s=ended - started,
    )


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a Markdown table whose first column is aligned to the left, and the others to the right."""
    lines = [header, ["---", *["---:"] * (len(header) - 1)], *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def write(path: Path, text: str) -> None:
    """Print `text` and write it to the file at `path`."""
    print(text)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def instructions(command: Sequence[str], counted: str) -> tuple[int, int]:
    """Run `command` under callgrind; return the number of its instructions, and the N of `counted=N` in its output.

    Exits if the command fails. `counted` is `hops` or `offered`.
    """
    words = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", *command]
    result = subprocess.run(words, capture_output=True, text=True)
    taken = re.search(r"Collected : (\d+)", result.stderr)
    count = re.search(rf"\b{counted}=(\d+)", result.stdout)
    if result.returncode != 0 or taken is None or count is None:
        sys.exit(f"{' '.join(words)} failed:\n{result.stdout}{result.stderr}")
    return int(taken[1]), int(count[1])


def peak_mb(command: Sequence[str | Path]) -> float:
    """Run `command` and return its peak resident memory, MB of 10^6 bytes; Linux only. Exits if the command fails.

    The kernel's high-water mark is read every 5 ms until the program ends, since the usage that `wait4` returns
    includes the memory of this interpreter, from which the program was forked.
    """
    process = subprocess.Popen([str(word) for word in command], stdout=subprocess.DEVNULL)
    peak_kib = 0
    while process.poll() is None:
        status = Path(f"/proc/{process.pid}/status").read_text(encoding="utf-8")
        if mark := re.search(r"^VmHWM:\s*(\d+) kB", status, re.MULTILINE):
            peak_kib = max(peak_kib, int(mark[1]))
        time.sleep(0.005)
    if process.returncode != 0:
        sys.exit(f"{command} ended with exit code {process.returncode}")
    return peak_kib * 1024 / 1e6
