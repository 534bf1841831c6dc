"""Measures one version of Tailback and writes the tables of docs/performance.md, between their markers.

    make performance                                   all parts except the peers, then the page; minutes
    make performance PERFORMANCE="--parts seconds"     only the named parts; they are instructions, memory, seconds,
                                                       disciplines, threads and peers
    python tools/performance.py --write                only the page, from docs/performance.json
    python tools/performance.py --check                compares the page with docs/performance.json

Each measurement is written to docs/performance.json as soon as it is finished, so a run that was stopped can be
resumed. The file belongs to one program, identified by the hash of `tailback-bench`: with another program everything is
measured again, so that no table shows two versions. Peers have their own date and version, since they are measured less
often.

Instruction counts are those of valgrind, and are the same each time. Seconds are measured in rounds, each of one run of
every workload; the page shows the median of the rounds, with the load of the machine, on which seconds depend.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import platform
import re
import shutil
import statistics
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import bench
import bench_disciplines
import bench_peers
import measure
from tailback import __version__
from tailback.gallery.internet.non_responsive_flow_every_discipline.experiment import QUEUES, discipline_of

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "performance.md"
DATA = ROOT / "docs" / "performance.json"
PARTS = ("instructions", "memory", "seconds", "disciplines", "threads", "peers")
ROUNDS = 5
"""Number of rounds in which seconds are measured."""
PARALLEL = "net64"
"""Workload that is run on one and on two threads."""

Json = dict[str, Any]


def about(binary: Path) -> Json:
    """Return date, version, commit and hash of the program, and the machine and the tools of a measurement."""
    text = Path("/proc/cpuinfo").read_text(encoding="utf-8") if Path("/proc/cpuinfo").exists() else ""
    model = re.search(r"^model name\s*: (.*)$", text, re.MULTILINE)
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "tailback": __version__,
        "commit": engine(),
        "program": hashlib.sha256(binary.read_bytes()).hexdigest()[:16],
        "machine": f"{model[1].strip() if model else platform.processor()}, {platform.machine()}",
        "processors": os.cpu_count(),
        "rustc": _first_line("rustc", "--version"),
        "valgrind": _first_line("valgrind", "--version"),
    }


def engine() -> str:
    """Return the commit that last changed the engine, with "+" if the sources differ from it."""
    sources = ("Cargo.toml", "Cargo.lock", "crates")
    found = _git("log", "-1", "--format=%h", "--abbrev=12", "--", *sources)
    return found + ("+" if _git("status", "--porcelain", "--", *sources) else "")


def _git(*arguments: str) -> str:
    done = subprocess.run(["git", "-C", str(ROOT), *arguments], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def _first_line(*command: str) -> str:
    if shutil.which(command[0]) is None:
        return "none"
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return (done.stdout or done.stderr).splitlines()[0].partition(" (")[0].replace("valgrind-", "valgrind ").strip()


def load() -> float:
    """Return the load of the machine: the mean number of runnable processes in the last minute."""
    return round(os.getloadavg()[0], 1)


class Store:
    """Measurements of one program, in a file."""

    def __init__(self, binary: Path) -> None:
        """Open the file; measurements of another program than `binary` are dropped, except those of peers."""
        self.data: Json = json.loads(DATA.read_text(encoding="utf-8")) if DATA.exists() else {}
        now = about(binary)
        if self.data.get("about", {}).get("program") != now["program"]:
            self.data = {"about": now} | {key: self.data[key] for key in ("peers",) if key in self.data}
        self.data["about"]["date"] = now["date"]

    def part(self, name: str) -> Json:
        """Return the measurements of a part, to which new ones can be added."""
        found: Json = self.data.setdefault(name, {})
        return found

    def save(self) -> None:
        """Write the file."""
        DATA.write_text(json.dumps(self.data, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def instructions(store: Store, binary: Path) -> None:
    """Count instructions per packet-hop of each workload."""
    part = store.part("instructions")
    for workload in bench.DURATIONS:
        if workload not in part:
            part[workload] = round(bench.instructions_per_hop(str(binary), workload))
            print(f"{workload}: {part[workload]} instructions per packet-hop", flush=True)
            store.save()


def memory(store: Store, binary: Path) -> None:
    """Measure the peak of each workload's resident memory, which does not depend on the load of the machine."""
    part = store.part("memory")
    for workload in bench.DURATIONS:
        if workload not in part:
            part[workload] = round(measure.peak_mb([binary, workload]))
            print(f"{workload}: {part[workload]} MB", flush=True)
            store.save()


def seconds(store: Store, binary: Path) -> None:
    """Measure the packet-hops per CPU second of each workload, in rounds."""
    part = store.part("seconds")
    for turn in range(ROUNDS):
        for workload in bench.DURATIONS:
            runs = part.setdefault(workload, [])
            if len(runs) > turn:
                continue
            run = measure.run([binary, workload])
            runs.append({"speed": round(run.speed, 2), "load": load()})
            print(f"{workload}: {run.speed:.2f} million packet-hops per CPU second", flush=True)
            store.save()


def disciplines(store: Store, binary: Path) -> None:
    """Count instructions per arriving packet of each discipline."""
    part = store.part("disciplines")
    for name in QUEUES:
        if name not in part:
            queue, buffer = discipline_of(name)
            part[name] = round(bench_disciplines.per_packet(str(binary), queue, buffer))
            print(f"{name}: {part[name]} instructions per packet", flush=True)
            store.save()


def threads(store: Store, binary: Path) -> None:
    """Measure the elapsed and the CPU seconds of one large run on one and on two threads, alternately."""
    part = store.part("threads")
    for turn in range(ROUNDS):
        for count in ("1", "2"):
            runs = part.setdefault(count, [])
            if len(runs) > turn:
                continue
            run = measure.run([binary, PARALLEL, f"parallel={count}"])
            runs.append({"wall_s": round(run.wall_s, 2), "cpu_s": round(run.cpu_s, 2), "load": load()})
            print(f"{PARALLEL}, {count} threads: {run.wall_s:.2f} s", flush=True)
            store.save()


def peers(store: Store, binary: Path) -> None:
    """Measure the installed peers and Tailback alternately; earlier measurements are not used."""
    rows: dict[str, list[str]] = {}
    missing = []
    for peer in bench_peers.ALL:
        try:
            command = peer.prepare(ROOT / "target" / "peers")
        except bench_peers.Absent as reason:
            missing.append(peer.name)
            print(f"skipped: {peer.name} {reason}")
            continue
        for workload in peer.workloads:
            row = bench_peers.compare(peer, command, [str(binary)], workload, 3)
            rows[row[0]] = row[1:]
            print(*row, sep=" | ", flush=True)
    if rows:
        store.data["peers"] = {"about": about(binary), "missing": missing, "load": load(), "rows": rows}
        store.save()


MEASURE: dict[str, Callable[[Store, Path], None]] = {
    "instructions": instructions,
    "memory": memory,
    "seconds": seconds,
    "disciplines": disciplines,
    "threads": threads,
    "peers": peers,
}


def origin(of: Json) -> str:
    """Return a sentence about date, program and machine of a measurement; `of` is the result of `about`."""
    tools = ", ".join(str(of[tool]) for tool in ("rustc", "valgrind") if of[tool] != "none")
    return (
        f"Measured on {of['date']}: Tailback {of['tailback']}, crates at commit `{of['commit']}`, release build with "
        f"link-time optimisation; {of['machine']}, {of['processors']} processors; {tools}."
    )


def busy(loads: list[float], processors: int) -> str:
    """Return a sentence about the load of the machine; `loads` has the load at each measurement."""
    if max(loads) <= processors:
        return f"The machine was nearly idle (load of at most {max(loads):.1f} on {processors} processors)."
    between = f"{min(loads):.1f} to {max(loads):.1f}" if min(loads) < max(loads) else f"{max(loads):.1f}"
    return (
        f"The machine did other work at the same time (load {between} on {processors} processors), so these seconds "
        "are longer than those of an idle machine: compare them with each other only."
    )


def tables(data: Json) -> dict[str, str]:
    """Return the text between each pair of markers of the page, by the name of the markers."""
    of = data["about"]
    counted = data.get("instructions", {})
    timed = all(len(data.get("seconds", {}).get(name, [])) >= ROUNDS for name in bench.DURATIONS)
    peak = data.get("memory", {})
    header = ["workload", "instructions per packet-hop", "peak resident memory (MB)"]
    rows = [
        [f"`{name}`", str(counted.get(name, "not counted")), str(peak.get(name, "not taken"))]
        for name in bench.DURATIONS
    ]
    about_seconds = "Seconds have not been taken with this version.\n"
    if timed:
        header.append("million packet-hops per CPU second")
        for row, name in zip(rows, bench.DURATIONS, strict=True):
            row.append(f"{statistics.median(run['speed'] for run in data['seconds'][name]):.1f}")
        loads = [run["load"] for runs in data["seconds"].values() for run in runs]
        about_seconds = f"Seconds are medians of {ROUNDS} rounds. {busy(loads, of['processors'])}\n"
    written = {"workloads": f"{origin(of)}\n\n{measure.table(header, rows)}\n{about_seconds}"}

    costs = data.get("disciplines", {})
    if base := costs.get(bench_disciplines.BASE):
        header = [
            "discipline",
            "instructions per arriving packet minus those of drop-tail",
            "instructions per arriving packet",
        ]
        rows = [[name, f"{n - base}".replace("-", "\N{MINUS SIGN}"), str(n)] for name, n in costs.items()]
        written["disciplines"] = f"{origin(of)}\n\n{measure.table(header, rows)}"
    else:
        written["disciplines"] = "Not measured with this version.\n"

    if len(data.get("threads", {}).get("2", [])) == ROUNDS:
        by = data["threads"]
        rows = [
            [words, *(f"{statistics.median(run[key] for run in by[count]):.2f}" for count in ("1", "2"))]
            for words, key in (("seconds", "wall_s"), ("CPU seconds", "cpu_s"))
        ]
        loads = [run["load"] for runs in by.values() for run in runs]
        written["threads"] = (
            f"{origin(of)} Medians of {ROUNDS} alternating rounds. {busy(loads, of['processors'])}\n\n"
            f"{measure.table([f'`{PARALLEL}`', 'one thread', 'two threads'], rows)}"
        )
    else:
        written["threads"] = "Not measured with this version.\n"

    if found := data.get("peers"):
        header = ["workload, peer", "Tailback", "peer", "ratio"]
        without = f" Not installed there: {', '.join(found['missing'])}." if found["missing"] else ""
        rows = [[name, *row] for name, row in found["rows"].items()]
        written["peers"] = (
            f"{origin(found['about'])}{without} Million packet-hops per CPU second of the whole process, medians of 3 "
            f"runs in turn. {busy([found['load']], found['about']['processors'])}\n\n{measure.table(header, rows)}"
        )
    else:
        written["peers"] = "No peer has been measured by this command yet.\n"
    return written


def page(data: Json, text: str) -> str:
    """Return the page with its tables filled in."""
    for name, inside in tables(data).items():
        begin, end = f"<!-- {name}: written by make performance -->\n", f"<!-- end of {name} -->\n"
        if text.count(begin) != 1 or text.count(end) != 1:
            raise SystemExit(f"{PAGE.name} has no markers of {name}")
        head, _, rest = text.partition(begin)
        _, _, tail = rest.partition(end)
        text = f"{head}{begin}\n{inside}\n{end}{tail}"
    return text


def main() -> int:
    """Measure what is missing, and write or check the page; return 1 if a checked page differs, else 0."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", type=Path, help="the benchmark program, tailback-bench")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS[:-1], help="default: all but peers")
    parser.add_argument("--write", action="store_true", help="measure nothing, write the page")
    parser.add_argument("--check", action="store_true", help="measure and write nothing, compare the page")
    options = parser.parse_args()
    if not options.write and not options.check:
        if options.binary is None:
            parser.error("--binary is missing")
        counts = [part for part in ("instructions", "disciplines") if part in options.parts]
        if counts and shutil.which("valgrind") is None:
            print(f"skipped: {', '.join(counts)} need valgrind (Debian package valgrind)")
        store = Store(options.binary)
        for part in options.parts:
            if part not in counts or shutil.which("valgrind"):
                MEASURE[part](store, options.binary)
        store.save()
    text = PAGE.read_text(encoding="utf-8")
    written = page(json.loads(DATA.read_text(encoding="utf-8")), text)
    if options.check:
        if written != text:
            print("docs/performance.md differs from docs/performance.json; run: python tools/performance.py --write")
        return int(written != text)
    PAGE.write_text(written, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
