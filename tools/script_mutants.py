"""Breaks rules of RFCs in the sources of TCP, one at a time, and checks that the script of the rule fails.

The mutants are in `script_mutants.toml`, each with its rule and the scripts of crates/transport/tests/scripts that must
fail; other scripts may fail in addition. The sources are copied, first tested without a mutant, and then with each one.
The copy and cargo's target folder stay in the folder `--out`, so that the next call compiles only this workspace.
`--only TEXT` selects the mutants whose rule contains the text. The exit code is 1 if a mutant survives.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TABLE = Path(__file__).with_name("script_mutants.toml")
SOURCES = Path("crates", "transport", "src")
SCRIPTS = Path("crates", "transport", "tests", "scripts")
TEST = ["cargo", "test", "-p", "tailback-transport", "--test", "packetdrill", "--offline", "--locked"]
# The scripts run for less than a second, so that a build without optimisation is the quickest.
QUICK_BUILD = {"CARGO_PROFILE_TEST_OPT_LEVEL": "0", "CARGO_PROFILE_TEST_DEBUG": "false"}
LIMIT = 1200
"""Time after which a mutant counts as one that does not end, s; it includes the build."""


@dataclass(frozen=True)
class Mutant:
    """A change of the sources that breaks a rule."""

    rule: str
    """Section of the RFC, such as "RFC 5681 section 3.1"."""
    breaks: str
    """What the mutant does."""
    file: str
    """File below `SOURCES`."""
    before: str
    """Text that occurs once in the file."""
    after: str
    """Text that replaces it."""
    scripts: tuple[str, ...]
    """Scripts that must fail, without `.pkt`."""

    @property
    def path(self) -> Path:
        """Path of the file, relative to the workspace."""
        return SOURCES / self.file

    def applied(self, text: str) -> str:
        """Return the text of the file with the mutant.

        Raises `ValueError` if the text to replace does not occur exactly once.
        """
        count = text.count(self.before)
        if count != 1:
            raise ValueError(f"{self.rule}: {self.before!r} occurs {count} times in {self.path}; it must occur once")
        return text.replace(self.before, self.after)


def mutants() -> list[Mutant]:
    """Return the mutants of the table."""
    listed = tomllib.loads(TABLE.read_text(encoding="utf-8"))["mutant"]
    return [Mutant(**{**entry, "scripts": tuple(entry["scripts"])}) for entry in listed]


def copy(tree: Path) -> None:
    """Copy the workspace's sources to `tree`, whose former content is deleted."""
    shutil.rmtree(tree, ignore_errors=True)
    command = ["git", "ls-files", "Cargo.toml", "Cargo.lock", "crates"]
    listed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    for name in listed.splitlines():
        if (ROOT / name).is_file():
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            # The copies have new times, so that cargo compiles them even if an interrupted call has left a mutant.
            shutil.copyfile(ROOT / name, tree / name)


def run(tree: Path, target: Path) -> tuple[bool, str]:
    """Run the scripts; return `True` if all tests pass, and the output."""
    environment = {**os.environ, **QUICK_BUILD, "CARGO_TARGET_DIR": str(target)}
    try:
        done = subprocess.run(
            TEST, cwd=tree, env=environment, capture_output=True, text=True, timeout=LIMIT, check=False
        )
    except subprocess.TimeoutExpired:
        return False, f"it does not end within {LIMIT} s"
    return done.returncode == 0, done.stdout + done.stderr


def failures(output: str) -> set[str]:
    """Return the names of the scripts that fail, without `.pkt`."""
    return set(re.findall(r"^(\S+)\.pkt ", output, re.MULTILINE))


def judge(mutant: Mutant, tree: Path, target: Path) -> tuple[bool, str]:
    """Test a mutant; return `True` if its scripts fail, and the result in words."""
    path = tree / mutant.path
    original = path.read_text(encoding="utf-8")
    path.write_text(mutant.applied(original), encoding="utf-8")
    try:
        passed, output = run(tree, target)
    finally:
        path.write_text(original, encoding="utf-8")
    failed = failures(output)
    if passed:
        return False, "survives: every script passes"
    if not failed:
        return False, f"no script fails, but the run does:\n{output[-2000:]}"
    if missing := set(mutant.scripts) - failed:
        return False, f"survives {', '.join(sorted(missing))}; others fail: {', '.join(sorted(failed))}"
    others = len(failed) - len(mutant.scripts)
    return True, f"killed by {', '.join(mutant.scripts)}" + (f" and {others} more" if others else "")


def main() -> int:
    """Run the command; return the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--only", default="", help="only mutants whose rule contains this text, such as 'RFC 6298'")
    parser.add_argument(
        "--out", type=Path, default=ROOT / "out" / "script-mutants", help="folder for the copy and the build"
    )
    args = parser.parse_args()
    if shutil.which("cargo") is None:
        sys.exit("script_mutants: needs cargo; see https://rustup.rs")
    chosen = [mutant for mutant in mutants() if args.only in mutant.rule]
    if not chosen:
        sys.exit(f"script_mutants: no rule contains {args.only!r}")
    for mutant in chosen:
        try:
            mutant.applied((ROOT / mutant.path).read_text(encoding="utf-8"))
        except ValueError as error:
            sys.exit(f"script_mutants: {error}")
    folder = args.out.resolve()
    tree, target = folder / "tree", folder / "target"
    copy(tree)
    passed, output = run(tree, target)
    if not passed:
        sys.exit(f"script_mutants: the scripts fail without a mutant:\n{output[-4000:]}")
    killed = 0
    for mutant in chosen:
        dead, words = judge(mutant, tree, target)
        killed += dead
        print(f"{mutant.rule}: {mutant.breaks}: {words}", flush=True)
    rules = len({mutant.rule for mutant in chosen})
    print(f"{killed} of {len(chosen)} mutants, of {rules} sections, are killed by their scripts")
    return int(killed < len(chosen))


if __name__ == "__main__":
    sys.exit(main())
