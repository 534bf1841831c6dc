"""Measures other simulators and Tailback alternately on the same workloads, and writes a Markdown table of the ratios.

Absolute speeds drift on a shared machine, so each round runs Tailback and then the peer. The ratio of the speeds is
computed for each round, and the table has the median of these ratios.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import measure

PEERS = Path(__file__).resolve().parent.parent / "peers"
NS3_MODULES = ("core", "network", "internet", "point-to-point", "traffic-control", "applications")
WORKLOADS = ("forward", "udpqueue", "red64", "tcp1000", "tcp4000", "dc10g")
# Environment of the peers: simulated seconds of `dc10g`, whose default is 1.
PEER_ENV = {"DC_T": "0.2"}


class Absent(Exception):
    """A peer cannot be run on this machine; the message names the package to install."""


@dataclass(frozen=True)
class Peer:
    """Another simulator, or a bare event loop, that runs the same workloads."""

    name: str
    prepare: Callable[[Path], list[str]]
    """Builds the peer below the given folder if necessary; returns its command without workload; raises `Absent`."""
    arguments: list[str] = field(default_factory=list)
    """Arguments after the workload."""
    workloads: tuple[str, ...] = WORKLOADS
    """Workloads that the peer has; the C program `ceiling` would run `udpqueue` for any unknown name."""
    counting_arguments: list[str] = field(default_factory=list)
    """Arguments after the workload of a separate run that counts packet-hops; empty: the timed run counts them."""
    counting_env: dict[str, str] = field(default_factory=dict)
    """Environment of a separate run that counts packet-hops; empty: the timed run counts them."""


def need(program: str, package: str) -> str:
    """Return the path of a program; raises `Absent`, with the Debian package to install, if there is none."""
    path = shutil.which(program)
    if path is None:
        raise Absent(f"needs `{program}` (Debian package {package})")
    return path


def compiled(command: list[str], source: Path, program: Path, libraries: list[str], package: str) -> list[str]:
    """Compile `source` if `program` is missing or older than it, and return the command; raises `Absent` on failure."""
    if not program.exists() or program.stat().st_mtime < source.stat().st_mtime:
        program.parent.mkdir(parents=True, exist_ok=True)
        result = subprocess.run([*command, str(source), "-o", str(program), *libraries], capture_output=True, text=True)
        if result.returncode != 0:
            raise Absent(f"does not compile (Debian package {package}): {result.stderr.strip().splitlines()[0]}")
    return [str(program)]


def ns2(_: Path) -> list[str]:
    """Return the command of ns-2; raises `Absent`."""
    return [need("ns", "ns2"), str(PEERS / "ns2.tcl")]


def ns3(build: Path) -> list[str]:
    """Build the program for ns-3, and return its command; raises `Absent`."""
    compiler = [need("g++", "g++"), "-std=c++17", "-O3", "-march=native", "-w"]
    libraries = [f"-lns3-{module}" for module in NS3_MODULES]
    return compiled(compiler, PEERS / "ns3.cc", build / "ns3", libraries, "libns3-dev")


def ceiling(build: Path) -> list[str]:
    """Build the bare event loop in C, and return its command; raises `Absent`."""
    compiler = [need("gcc", "gcc"), "-O3", "-march=native"]
    return compiled(compiler, PEERS / "ceiling.c", build / "ceiling", ["-lm"], "gcc")


ALL = (
    Peer("ns-2", ns2, counting_arguments=["count"]),
    Peer("ns-3", ns3, counting_env={"COUNT": "1"}),
    Peer("C, 2 events per hop", ceiling, arguments=["2"], workloads=("forward", "udpqueue")),
    Peer("C, 1 event per hop", ceiling, arguments=["1"], workloads=("forward", "udpqueue")),
)


def compare(peer: Peer, command: list[str], ours: list[str], workload: str, rounds: int) -> list[str]:
    """Measure one peer on one workload; return a row of the table: names, median speeds of Tailback and peer, ratio."""
    counted = None
    if peer.counting_arguments or peer.counting_env:
        counted = measure.run([*command, workload, *peer.counting_arguments], {**PEER_ENV, **peer.counting_env}).hops
    own_speeds, peer_speeds = [], []
    for _ in range(rounds):
        own_speeds.append(measure.run([*ours, workload]).speed)
        timed = measure.run([*command, workload, *peer.arguments], PEER_ENV)
        peer_speeds.append(measure.Run(counted if counted is not None else timed.hops, timed.cpu_s).speed)
    ratio = statistics.median(a / b for a, b in zip(own_speeds, peer_speeds, strict=True))
    medians = (f"{statistics.median(speeds):.2f}" for speeds in (own_speeds, peer_speeds))
    return [f"{workload}, {peer.name}", *medians, f"{ratio:.2f}"]


def main() -> None:
    """Measure the installed peers."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--binary", required=True, help="the benchmark program of Tailback, tailback-bench")
    parser.add_argument("--build", required=True, type=Path, help="folder for the peers' programs")
    parser.add_argument("--out", required=True, type=Path, help="file to write the table to")
    parser.add_argument("--rounds", type=int, default=3, help="timed runs of each program (default 3)")
    parser.add_argument("--peer", action="append", help="only this peer; may be given several times")
    options = parser.parse_args()

    rows = []
    for peer in ALL:
        if options.peer and peer.name not in options.peer:
            continue
        try:
            command = peer.prepare(options.build)
        except Absent as reason:
            print(f"skipped: {peer.name} {reason}")
            continue
        for workload in peer.workloads:
            rows.append(compare(peer, command, [options.binary], workload, options.rounds))
            print(*rows[-1], sep=" | ", flush=True)
    header = ["workload, peer", "Tailback", "peer", "ratio"]
    note = (
        f"\nMillion packet-hops per CPU second of the whole process, and Tailback's divided by the peer's: medians of "
        f"{options.rounds} rounds, each of a run of Tailback and one of the peer.\n"
    )
    measure.write(options.out, measure.table(header, rows) + note)


if __name__ == "__main__":
    main()
