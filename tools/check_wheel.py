"""Checks the packages in a folder: their contents against git, and the wheel in an environment that has no Rust."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

SCENARIO = """\
tailback = 1
[run]
duration = "2s"
replications = 2
[hosts]
h = { count = 2 }
d = {}
[switches]
sw = {}
[[links]]
between = ["[hd]*", "sw"]
rate = "10Mbit/s"
[[flows]]
name = "data"
from = "h*"
to = "d"
source = { kind = "poisson", rate = "2Mbit/s", packet = "1000B" }
"""


def only(folder: Path, pattern: str) -> Path:
    """Return the one file of the folder that matches."""
    found = sorted(folder.glob(pattern))
    if len(found) != 1:
        sys.exit(f"expected one {pattern} in {folder}, found {[path.name for path in found]}")
    return found[0]


def tracked(prefix: str) -> set[str]:
    """List the files under `prefix` that git knows, relative to the repository."""
    command = ["git", "-C", str(ROOT), "ls-files", "--", prefix]
    return set(subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines())


def check_contents(wheel: Path, sdist: Path) -> None:
    """Refuse stray files in either package, and missing ones in the wheel."""
    with zipfile.ZipFile(wheel) as archive:
        names = [name for name in archive.namelist() if not name.endswith("/")]
    packed = {f"python/{name}" for name in names if name.startswith("tailback/")}
    native = {name for name in packed if "/_native." in name and not name.endswith(".pyi")}
    if len(native) != 1:
        sys.exit(f"{wheel.name} holds {len(native)} native modules instead of one: {sorted(native)}")
    with tarfile.open(sdist) as archive:
        sources = {member.name.partition("/")[2] for member in archive.getmembers() if member.isfile()} - {"PKG-INFO"}
    known = tracked(".")
    wanted = {name for name in known if name.startswith("python/tailback/")}
    problems = [f"{wheel.name} holds {name}, which git does not know" for name in sorted(packed - native - wanted)]
    problems += [f"{wheel.name} lacks {name}" for name in sorted(wanted - packed)]
    problems += [f"{sdist.name} holds {name}, which git does not know" for name in sorted(sources - known)]
    problems += [f"{sdist.name} lacks {name}" for name in sorted(wanted - sources)]
    if problems:
        sys.exit("\n".join(problems))
    print(f"{wheel.name}: {len(packed)} files, {wheel.stat().st_size / 1e6:.1f} MB; {sdist.name}: {len(sources)} files")


def without_rust() -> dict[str, str]:
    """Copy the environment, with a search path on which there is no Rust."""
    env = {name: value for name, value in os.environ.items() if not name.startswith(("CARGO", "RUST", "VIRTUAL_ENV"))}
    folders = [folder for folder in env["PATH"].split(os.pathsep) if not Path(folder, "cargo").exists()]
    env["PATH"] = os.pathsep.join(folder for folder in folders if not Path(folder, "rustc").exists())
    return env


def check_use(wheel: Path) -> None:
    """Install the wheel into an empty environment, and import, run and reproduce with it."""
    env = without_rust()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        subprocess.run([sys.executable, "-m", "venv", folder / "venv"], check=True)
        binaries = folder / "venv" / "bin"
        (folder / "scenario.toml").write_text(SCENARIO, encoding="utf-8")
        commands: tuple[list[str | Path], ...] = (
            [binaries / "pip", "install", "--quiet", "--only-binary", ":all:", wheel.resolve()],
            [binaries / "python", "-c", "import tailback, tailback._native; print('imported', tailback.__version__)"],
            [binaries / "tailback", "run", "scenario.toml", "--out", "run"],
            [binaries / "tailback", "reproduce", "lan-a1", "--quick", "--out", "out"],
        )
        for command in commands:
            print("$", *(Path(word).name for word in command), flush=True)
            # Run from the empty folder, so that the sources cannot stand in for the wheel.
            subprocess.run(command, check=True, env=env, cwd=folder)
        if not (folder / "out" / "report.html").exists():
            sys.exit("`tailback reproduce` of the installed wheel wrote no out/report.html")


def main() -> None:
    """Check the packages of one folder."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="folder that holds one wheel and one source package")
    folder = parser.parse_args().folder
    wheel = only(folder, "*.whl")
    check_contents(wheel, only(folder, "*.tar.gz"))
    check_use(wheel)
    print("the wheel works without Rust")


if __name__ == "__main__":
    main()
