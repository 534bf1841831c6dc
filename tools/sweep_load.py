"""Measures the processor utilisation of a sweep, on threads and on a Dask scheduler with a worker per processor.

"Busy" is the processor time of the sweep divided by the product of elapsed time and processors; on a shared machine,
other programs limit it. "Wanted" also includes the time for which threads were ready and waited for a processor, and
can exceed 100 %. Linux only.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import tailback
from tailback.run.executors import Backend, default_threads, open_backend
from tailback.scenario import Value

EXAMPLE = Path(__file__).resolve().parent.parent / "docs" / "examples" / "merge.toml"


@dataclass(frozen=True)
class Measured:
    """Measurements of one sweep."""

    name: str
    digest: str
    wall_s: float
    cpu_s: float
    wait_s: float
    """Time for which threads were ready to run and had no processor, summed over threads, s."""
    work_s: float
    """Processor time of the simulator only, s."""

    def row(self, cores: int, first: Measured) -> str:
        """Return a row of the table for `cores` processors; last: elapsed time divided by that of `first`."""
        busy = self.cpu_s / (cores * self.wall_s)
        wanted = (self.cpu_s + self.wait_s) / (cores * self.wall_s)
        work = self.work_s / self.cpu_s
        ratio = self.wall_s / first.wall_s
        return f"| {self.name} | {self.wall_s:.1f} | {busy:.1%} | {wanted:.1%} | {work:.1%} | {ratio:.2f} |"


def measure(name: str, points: int, duration: str, backend: Backend, workers: list[int]) -> Measured:
    """Run a sweep of the given number of points, one replication each, in this process and the worker processes."""
    scenario = tailback.load(EXAMPLE).set({"run.duration": duration, "run.warmup": "0s"})
    rates: dict[str, Value] = {"from": "1Mbit/s", "to": "3Mbit/s", "digits": 6}
    with TemporaryDirectory() as folder:
        begun, (used, waited) = time.monotonic(), used_s([os.getpid(), *workers])
        found = tailback.sweep(
            scenario,
            {"flows[data].source.rate": rates},
            design="random",
            samples=points,
            replications=1,
            directory=folder,
            executor=backend,
        )
        wall_s, (cpu_s, wait_s) = time.monotonic() - begun, used_s([os.getpid(), *workers])
    work_s = sum(run.cpu_s for runs in found.runs.values() for run in runs)
    return Measured(name, found.digest, wall_s, cpu_s - used, wait_s - waited, work_s)


def used_s(processes: list[int]) -> tuple[float, float]:
    """Return the seconds for which the threads of some processes ran, and for which they waited for a processor."""
    ran, waited = 0.0, 0.0
    for pid in processes:
        for thread in Path(f"/proc/{pid}/task").iterdir():
            first, second, _ = (thread / "schedstat").read_text().split()
            ran, waited = ran + int(first) / 1e9, waited + int(second) / 1e9
    return ran, waited


@contextlib.contextmanager
def dask(count: int) -> Iterator[tuple[str, list[int]]]:
    """Start a scheduler and `count` workers of one thread each; yield the scheduler's address and the process ids.

    Workers have no nannies, since the processes that a nanny starts would not be measured.
    """
    python = [sys.executable, "-m"]
    scheduler = subprocess.Popen(
        [*python, "distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard"],
        stderr=subprocess.PIPE,
        text=True,
    )
    processes = [scheduler]
    try:
        assert scheduler.stderr is not None
        address = next(m[0] for line in scheduler.stderr if (m := re.search(r"tcp://\S+", line)))
        command = [*python, "distributed.cli.dask_worker", address, "--nthreads", "1", "--no-dashboard", "--no-nanny"]
        processes += [subprocess.Popen(command, stderr=subprocess.DEVNULL, text=True) for _ in range(count)]
        yield address, [process.pid for process in processes]
    finally:
        for process in processes:
            process.send_signal(signal.SIGKILL)
            process.wait()


def main() -> None:
    """Measure threads and Dask alternately, and print a table; exits if their digests differ."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--points", type=int, default=10_000, help="number of points (default 10,000)")
    parser.add_argument("--duration", default="70s", help="simulated length of a run (default 70s: about 8 ms of work)")
    parser.add_argument("--rounds", type=int, default=1, help="number of alternating measurements (default 1)")
    options = parser.parse_args()
    cores = default_threads()
    print(f"{options.points} points, {cores} processors, load of other programs {os.getloadavg()[0]:.1f}\n")
    print("| executor | wall, s | busy | wanted | simulator, share of busy | wall, ratio to threads |")
    print("|---|---|---|---|---|---|")
    with dask(cores) as (address, pids):
        remote = open_backend("dask", scheduler=address)
        deadline = time.monotonic() + 30
        while remote.slots() < cores and time.monotonic() < deadline:
            time.sleep(1)
            remote.check()
        for _ in range(options.rounds):
            local = open_backend()
            first = measure("threads", options.points, options.duration, local, [])
            local.close()
            print(first.row(cores, first), flush=True)
            second = measure("Dask", options.points, options.duration, remote, pids)
            print(second.row(cores, first), flush=True)
            if first.digest != second.digest:
                sys.exit("the two gave different results")
        remote.close()


if __name__ == "__main__":
    main()
