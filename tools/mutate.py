"""Draws mutants of laws, schedulers, congestion control, recovery, ledger and event queue, and runs the tests on each.

A mutant that no test detects is a survivor: either a test is missing, or the mutant is equivalent to the original.
Survivors that were examined, and are equivalent or differ in nothing that a test could observe, are in `mutants.toml`
with the reason.

All mutants of a draw are compiled into one program (mutation_sites.py). A run without mutants records which tests reach
which mutant; then the tests of each mutant run, the shortest first, until one fails, hangs or crashes. The same command
resumes an interrupted run. The exit code is 1 if, with 95 % confidence, more than 3 % of all mutants survive.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import re
import resource
import shutil
import subprocess
import sys
import time
import tomllib
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from mutation_sites import RUNTIME, Site, instrumented, sites

ROOT = Path(__file__).resolve().parent.parent
ALLOWED = Path(__file__).with_name("mutants.toml")
AREAS = {
    "laws": ["crates/qdisc/src/law", "crates/qdisc/src/congestion_notification", "crates/transport/src/cc"],
    "schedulers": ["crates/qdisc/src/discipline"],
    "recovery": ["crates/transport/src/sender", "crates/transport/src/rtt.rs", "crates/transport/src/reassembly.rs"],
    "ledger": ["crates/sim/src/ledger.rs", "crates/sim/src/accounts.rs", "crates/sim/src/drop_causes.rs"],
    "event queue": ["crates/sim/src/event_queue"],
}
# Code that cannot change a result. For each file: an expression for names of functions, and one for the beginnings of
# lines; `$.` matches nothing.
LEFT_OUT: dict[str, tuple[str, str]] = {
    # The order of events is total, so neither the form of the queue nor the width of its buckets can affect a result.
    # This code chooses form and width, counts what the choice depends on (a wrong count only costs time), or gives
    # prefetch hints.
    "crates/sim/src/event_queue/calendar.rs": (
        r"resize|try_widen|fits_wide|list_threshold|shift_for_density",
        r"(self\.)?stats\.|self\.(stats|hints_enabled|since_wide_check|wide_failures) [+=]"
        r"|let (check|hint|ties|before) = |&& self\.overflow\.is_empty|&& !\(self\.hints_enabled|if !\(check &&"
        r"|if self\.stats\.|if events (>|<)|\} else if events > |hint\(Upcoming|self\.later\.peek_next"
        r"|self\.resize\(\);|self\.rebuild\(Some\(self\.shift\.saturating_sub\(3\)\), false, Vec::new",
    ),
    "crates/sim/src/event_queue/wheel.rs": (r"within|peek_next|in_wheel", r"$."),
    "crates/sim/src/event_queue/sorted.rs": (r"has_ties", r"$."),
    "crates/sim/src/event_queue/tournament.rs": (r"leaves_taken", r"$."),
    "crates/sim/src/event_queue/mod.rs": (
        r"$.",
        r"self\.stats\.|if self\.hints_enabled|hint\(Upcoming|Form::Tournament if self\.tournament\.leaves_taken",
    ),
    # Assertions of tests; a mutant of an assertion only checks less.
    "crates/transport/src/sender/board.rs": (r"audit", r"$."),
    "crates/transport/src/sender/show.rs": (r"audit", r"$."),
    # The number of bytes that packets access decides only about prefetching.
    "crates/sim/src/ledger.rs": (r"hot_bytes|prefetch_account", r"$."),
}
CRATES = ["qdisc", "transport", "sim"]
# The tests of the scenario crate run the code of the others through documents.
TESTED = ["tailback-qdisc", "tailback-transport", "tailback-sim", "tailback-scenario"]
TOLERATED = 0.03  # share of all mutants that may survive
# Failures of property tests are expected; their cases are not saved.
UNSAVED_FAILURES = {"PROPTEST_FAILURE_PERSISTENCE": "off"}
MEMORY_KIB = 3_000_000  # of the address space of a test program
# Environment for a quick build, since a draw of few mutants spends most of its time in the build.
QUICK_BUILD = {
    "CARGO_PROFILE_TEST_OPT_LEVEL": "1",
    "CARGO_PROFILE_TEST_DEBUG": "false",
    "RUSTFLAGS": "--cap-lints=allow",
}


Key: TypeAlias = "tuple[str, str, str, str]"
"""Identity of a mutant: `Site.key`."""


@dataclass
class Test:
    """A test of a test program, with its results of the run without mutants."""

    program: str
    name: str
    seconds: float = 0.0
    """Wall-clock time."""
    reached: list[int] = field(default_factory=list)
    """Numbers of the mutants whose code the test executes."""


def git(*words: str) -> str:
    """Return the output of a git command."""
    return subprocess.run(["git", *words], cwd=ROOT, check=True, capture_output=True, text=True).stdout


def population() -> list[Site]:
    """Return every mutant of the areas."""
    folders = [folder for area in AREAS.values() for folder in area]
    paths = [path for path in git("ls-files", *folders).split() if Path(path).suffix == ".rs"]
    found = [site for path in paths if "tests" not in Path(path).with_suffix("").parts for site in sites(ROOT, path)]
    return [site for site in found if not left_out(site)]


def left_out(site: Site) -> bool:
    """Return `True` if a mutant is in code that cannot change a result."""
    functions, lines = LEFT_OUT.get(site.path, (r"$.", r"$."))
    # A statement of several lines may have other code than that of its first line.
    listed = "\n" not in site.original and re.match(lines, site.before)
    return bool(re.fullmatch(functions, site.function) or listed)


class Draw:
    """Mutants that are drawn by a seed, with their build and results in a folder."""

    def __init__(self, folder: Path, seed: str, count: int, jobs: int, only: str) -> None:
        """Prepare the folder; the state of another draw or of other sources is not used."""
        self.folder, self.jobs = folder, jobs
        self.tree, self.state = folder / "tree", folder / "state.json"
        mutants = [site for site in population() if only in site.path]
        self.size = len(mutants)
        random.Random(seed).shuffle(mutants)
        self.queue, self.count = mutants, min(count, len(mutants))
        sources = git("ls-files", "-s", "crates", "Cargo.lock") + git("diff", "HEAD", "crates")
        self.key = f"{seed} {count} {only} {hashlib.sha256(sources.encode()).hexdigest()}"
        self.chosen: dict[int, Site] = {}
        self.unviable: list[Site] = []
        self.tests: list[Test] = []
        self.results: dict[int, str] = {}
        self.owners: dict[str, str] = {}
        """Folder of the crate of each test program."""
        self.seconds = 0.0
        """Processor time of all builds and tests of the draw, s."""
        self.counted = 0.0
        """Part of `seconds` that this call of the program has added, s."""

    # State.

    def load(self) -> bool:
        """Read the state of an earlier call of the same draw; return `False` if there is none."""
        if not self.state.exists():
            return False
        state = json.loads(self.state.read_text())
        if state["key"] != self.key:
            return False
        self.chosen = {int(number): Site(**site) for number, site in state["chosen"].items()}
        self.unviable = [Site(**site) for site in state["unviable"]]
        self.tests = [Test(**test) for test in state["tests"]]
        self.results = {int(number): result for number, result in state["results"].items()}
        self.seconds = state["seconds"]
        return True

    def save(self) -> None:
        """Write the state, so that an interrupted call leaves the earlier or the new file."""
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        total = used.ru_utime + used.ru_stime
        self.seconds, self.counted = self.seconds + total - self.counted, total
        state: dict[str, Any] = {
            "key": self.key,
            "chosen": {number: asdict(site) for number, site in self.chosen.items()},
            "unviable": [asdict(site) for site in self.unviable],
            "tests": [asdict(test) for test in self.tests],
            "results": self.results,
            "seconds": self.seconds,
        }
        part = self.state.with_suffix(".part")
        part.write_text(json.dumps(state))
        part.replace(self.state)

    # Build.

    def build(self) -> list[str]:
        """Compile the mutants and return the test programs; mutants that do not compile are replaced by others."""
        waiting = list(self.queue)
        self.chosen = {number: waiting.pop(0) for number in range(1, self.count + 1)}
        while wrong := self.refused(self.write()):
            for number in wrong:
                self.unviable.append(self.chosen.pop(number))
                if waiting:
                    self.chosen[number] = waiting.pop(0)
            print(f"{len(wrong)} mutants do not compile and are replaced", flush=True)
        done, messages = self.cargo(["test", "--no-run"], TESTED)
        if not done:
            sys.exit(complaint(messages))
        return [
            message["executable"] for message in messages if message.get("executable") and message["profile"]["test"]
        ]

    def refused(self, places: dict[str, dict[int, tuple[int, int]]]) -> set[int]:
        """Return the numbers of the mutants that do not compile; `places` is the result of `write`."""
        done, messages = self.cargo(["check", "--keep-going"], [f"tailback-{crate}" for crate in CRATES])
        wrong = self.blamed(messages, places)
        if not done and not wrong:
            sys.exit(complaint(messages))
        return wrong

    def cargo(self, words: list[str], packages: list[str]) -> tuple[bool, list[dict[str, Any]]]:
        """Run cargo on the tree with mutants; return `True` if it succeeds, and its messages in any case."""
        result = subprocess.run(
            ["cargo", *words, "--offline", "--message-format=json", *(f"-p{name}" for name in packages)],
            cwd=self.tree,
            env={**os.environ, **QUICK_BUILD, "CARGO_TARGET_DIR": str(self.folder / "target")},
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            check=False,
        )
        return result.returncode == 0, [json.loads(line) for line in result.stdout.splitlines() if line.startswith("{")]

    def write(self) -> dict[str, dict[int, tuple[int, int]]]:
        """Write the sources with the mutants; return the range of bytes of each mutant, by file."""
        by_path: dict[str, dict[int, Site]] = {}
        for number, site in self.chosen.items():
            by_path.setdefault(site.path, {})[number] = site
        places = {}
        # Tests also read examples and pages.
        listed = [path for path in git("ls-files").splitlines() if not path.startswith("docs/results")]
        present = [path for path in listed if (ROOT / path).is_file()]
        for path in present:
            content = (ROOT / path).read_bytes()
            if path in by_path:
                content, places[path] = instrumented(content, by_path[path])
            elif path in {f"crates/{crate}/src/lib.rs" for crate in CRATES}:
                content += RUNTIME.encode()
            target = self.tree / path
            if not target.exists() or target.read_bytes() != content:
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(content)
        # A file that was moved since an earlier call would be a second module of that name.
        for found in self.tree.rglob("*.rs"):
            if str(found.relative_to(self.tree)) not in present:
                found.unlink()
        return places

    def blamed(self, messages: list[dict[str, Any]], places: dict[str, dict[int, tuple[int, int]]]) -> set[int]:
        """Return the numbers of the mutants in whose ranges the compiler reports errors."""
        wrong: set[int] = set()
        for message in messages:
            if message["reason"] != "compiler-message" or message["message"]["level"] != "error":
                continue
            found: dict[bool, set[int]] = {True: set(), False: set()}
            for span in message["message"]["spans"]:
                for number, (begin, end) in places.get(span["file_name"], {}).items():
                    if begin <= span["byte_start"] and span["byte_end"] <= end:
                        found[span["is_primary"]].add(number)
            # Without an assignment that is left out, the error is at a later use of the variable.
            wrong |= found[True] or found[False]
        return wrong

    # Tests.

    def explore(self, programs: list[str]) -> None:
        """Run every test without mutants, and record its time and the mutants that it reaches."""
        for program in programs:
            listed = self.run(program, ["--list", "--format", "terse"], 60, {})[1]
            names = [line.removesuffix(": test") for line in listed.splitlines() if line.endswith(": test")]
            self.tests += [Test(program, name) for name in names]
        print(f"{len(self.tests)} tests run without mutants", flush=True)
        with ThreadPoolExecutor(self.jobs) as pool:
            passed = list(pool.map(self.measure, self.tests))
        for test, ok in zip(self.tests, passed, strict=True):
            if not ok:
                print(f"not used, since it is ignored or fails without mutants: {test.name}", flush=True)
        self.tests = [test for test, ok in zip(self.tests, passed, strict=True) if ok]

    def measure(self, test: Test) -> bool:
        """Run a test without mutants; return `True` if it passes."""
        reached = self.folder / "reached" / hashlib.sha256(f"{test.program} {test.name}".encode()).hexdigest()
        reached.parent.mkdir(exist_ok=True)
        reached.unlink(missing_ok=True)
        begun = time.monotonic()
        code, output = self.run(test.program, ["--exact", test.name], 1200, {"TAILBACK_REACHED": str(reached)})
        test.seconds = time.monotonic() - begun
        if reached.exists():
            test.reached = sorted({int(line) for line in reached.read_text().split()})
        return code == 0 and "1 passed" in output

    def run(self, program: str, words: list[str], seconds: float, extra: dict[str, str]) -> tuple[int | None, str]:
        """Run a test program for at most `seconds`; return its exit code (`None`: it did not end) and output."""
        manifest = self.tree / "crates" / self.owners[program]
        environment = {**os.environ, **UNSAVED_FAILURES, "CARGO_MANIFEST_DIR": str(manifest), **extra}
        # The limit of memory ends loops that allocate without end.
        command = ["sh", "-c", f'ulimit -v {MEMORY_KIB}; exec "$@"', "sh", program, "--test-threads=1", *words]
        try:
            result = subprocess.run(
                command, cwd=manifest, env=environment, capture_output=True, text=True, timeout=seconds, check=False
            )
        except subprocess.TimeoutExpired:
            return None, ""
        return result.returncode, result.stdout

    def judge(self, number: int) -> str:
        """Return the result of a mutant.

        It is `killed by TEST`, `hangs TEST`, `hangs one of FIRST ... LAST`, `crashes one of FIRST ... LAST`, or
        `survives N tests`, where N is the number of tests that reach the mutant.
        """
        tests = sorted((test for test in self.tests if number in test.reached), key=lambda test: test.seconds)
        for batch in batches(tests):
            names = [test.name for test in batch]
            limit = 20 + 10 * sum(test.seconds for test in batch)
            code, output = self.run(batch[0].program, ["--exact", *names], limit, {"TAILBACK_MUTANT": str(number)})
            if code is None:
                return f"hangs {names[0]}" if len(names) == 1 else f"hangs one of {names[0]} ... {names[-1]}"
            if code != 0:
                failed = [line for line in output.splitlines() if line.startswith("test ") and "FAILED" in line]
                return f"killed by {failed[0].split()[1]}" if failed else f"crashes one of {names[0]} ... {names[-1]}"
        return f"survives {len(tests)} tests"


def complaint(messages: list[dict[str, Any]]) -> str:
    """Return the first errors of a compilation whose errors are not in the code of a mutant."""
    errors = [one["message"]["rendered"] for one in messages if one["reason"] == "compiler-message"]
    return "\n".join(["mutate: compilation fails, with errors outside the code of mutants", *errors[:3]])


def batches(tests: list[Test]) -> list[list[Test]]:
    """Return batches of tests of one program each, in the given order.

    The maximum number of tests grows from 4 by a factor of 4; a batch of several tests takes less than 30 s.
    """
    result: list[list[Test]] = []
    size, waiting = 4, list(tests)
    while waiting:
        count, seconds = 1, waiting[0].seconds
        while count < min(size, len(waiting)) and seconds + waiting[count].seconds < 30:
            seconds += waiting[count].seconds
            count += 1
        batch, waiting = waiting[:count], waiting[count:]
        size *= 4
        programs = dict.fromkeys(test.program for test in batch)
        result += [[test for test in batch if test.program == program] for program in programs]
    return result


def allowed() -> dict[Key, str]:
    """Return the reasons of the examined survivors by `Site.key`."""
    listed = tomllib.loads(ALLOWED.read_text(encoding="utf-8"))["mutant"]
    return {(item["file"], item["function"], item["before"], item["after"]): item["reason"] for item in listed}


def fewer(survivors: int, count: int, share: float) -> float:
    """Return the probability of fewer than `survivors` survivors among `count` mutants, if `share` of all survive."""
    total, term = 0.0, (1 - share) ** count
    for k in range(survivors):
        total += term
        term *= (count - k) / (k + 1) * share / (1 - share)
    return total


def interval(survivors: int, count: int) -> tuple[float, float]:
    """Return the 95 % confidence interval of the share of survivors (Clopper and Pearson, Biometrika 26, 1934)."""
    low = bisected(lambda share: fewer(survivors, count, share) - 0.975) if survivors else 0.0
    high = bisected(lambda share: fewer(survivors + 1, count, share) - 0.025) if survivors < count else 1.0
    return low, high


def bisected(falling: Callable[[float], float]) -> float:
    """Return the zero of a decreasing function of a share, from 0 to 1."""
    low, high = 0.0, 1.0 - 1e-9
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (middle, high) if falling(middle) > 0 else (low, middle)
    return low


def main() -> int:
    """Run the command; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=500, help="number of mutants to draw (default 500)")
    parser.add_argument("--seed", help="seed of the draw (default: the first 8 hex digits of HEAD)")
    parser.add_argument("--only", default="", help="only files whose path contains this text")
    parser.add_argument(
        "--jobs", type=int, default=os.cpu_count() or 1, help="mutants tested at a time (default: processors)"
    )
    parser.add_argument("--out", type=Path, default=ROOT / "out" / "mutants", help="folder for build and results")
    args = parser.parse_args()
    if shutil.which("cargo") is None:
        sys.exit("mutate: needs cargo; see https://rustup.rs")
    seed = args.seed or git("rev-parse", "HEAD")[:8]
    folder = args.out.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    draw = Draw(folder, seed, args.count, args.jobs, args.only)
    stale = allowed().keys() - {site.key for site in draw.queue}
    if stale and not args.only:
        sys.exit("\n".join([f"mutate: {ALLOWED.name} lists mutants that do not exist:", *map(str, sorted(stale))]))
    print(f"{draw.count} of {draw.size} mutants, seed {seed}", flush=True)
    if not draw.load():
        programs = draw.build()
        draw.owners = {program: owner(program) for program in programs}
        draw.explore(programs)
        draw.save()
    draw.owners = {test.program: owner(test.program) for test in draw.tests}
    waiting = [number for number in draw.chosen if number not in draw.results]
    with ThreadPoolExecutor(args.jobs) as pool:
        for number, result in zip(waiting, pool.map(draw.judge, waiting), strict=True):
            draw.results[number] = result
            draw.save()
            print(f"{result:60.60}  {draw.chosen[number]}", flush=True)
    return report(draw)


def owner(program: str) -> str:
    """Return the folder of the crate of a test program, from the compiler's dependency file next to the program."""
    listed = Path(program).with_suffix(".d").read_text(encoding="utf-8")
    first = listed.split("crates/", 1)[1]
    return first.split("/", 1)[0]


def report(draw: Draw) -> int:
    """Print the survivors and their share; return the exit code."""
    known = allowed()
    survivors = [draw.chosen[number] for number, result in draw.results.items() if result.startswith("survives")]
    explained = [site for site in survivors if site.key in known]
    open_ones = [site for site in survivors if site.key not in known]
    count = len(draw.results)
    kinds = Counter(result.split()[0] for result in draw.results.values())
    print(f"\n{count} mutants: {dict(kinds)}; {len(draw.unviable)} others did not compile")
    for title, survivors_of_kind in [("Survivors with a reason", explained), ("Survivors", open_ones)]:
        print(f"\n{title}: {len(survivors_of_kind)}")
        for site in sorted(survivors_of_kind, key=lambda site: (site.path, site.line)):
            print(f"  {site}")
            if site.key in known:
                print(f"    {known[site.key]}")
    entries = draw.folder / "survivors.toml"
    entries.write_text("\n".join(entry(site) for site in open_ones), encoding="utf-8")
    low, high = interval(len(open_ones), count)
    print(
        f"\n{len(open_ones)} of {count} survive without a reason: {len(open_ones) / count:.1%},"
        f" 95 % interval {low:.1%} to {high:.1%}; as entries for {ALLOWED.name}: {entries}"
    )
    print(f"{draw.seconds / 60:.0f} CPU minutes")
    too_many = 1 - fewer(len(open_ones), count, TOLERATED) < 0.05
    if too_many:
        print(f"too many: with 95 % confidence more than {TOLERATED:.0%} of all mutants survive")
    return int(too_many)


def entry(site: Site) -> str:
    """Return a survivor as an entry for mutants.toml, with an empty reason."""
    fields = {"file": site.path, "function": site.function, "before": site.before, "after": site.after, "reason": ""}
    # Strings of JSON are valid TOML.
    lines = [f"{name} = {json.dumps(value, ensure_ascii=False)}" for name, value in fields.items()]
    return "\n".join(["[[mutant]]", *lines, ""])


if __name__ == "__main__":
    sys.exit(main())
