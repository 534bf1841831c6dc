"""Checks the wheel and the source package in a folder.

The files of both packages are compared with those that git tracks; size and platform tag of the wheel are checked; and
the wheel is installed and used in an environment without Rust. Exits with a message if a check fails.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

WHEEL_MB = 10.0
"""Upper bound of the size of the wheel, MB: the extension with its WebAssembly interpreter takes 6.4, the lab 1.5."""

INSTALLED_MB = 300.0
"""Upper bound of the installed size with all dependencies, without the extra `plot`, MB."""


def only(folder: Path, pattern: str) -> Path:
    """Return the only file of the folder that matches; exits if there is none or more than one."""
    found = sorted(folder.glob(pattern))
    if len(found) != 1:
        sys.exit(f"expected one {pattern} in {folder}, found {[path.name for path in found]}")
    return found[0]


def tracked(prefix: str) -> set[str]:
    """Return the files below `prefix` that git tracks, relative to the repository."""
    command = ["git", "-C", str(ROOT), "ls-files", "--", prefix]
    return set(subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines())


def check_contents(wheel: Path, sdist: Path) -> None:
    """Exit if a package has files that are neither tracked by git nor built, or lacks files of `python/tailback`."""
    with zipfile.ZipFile(wheel) as archive:
        names = [name for name in archive.namelist() if not name.endswith("/")]
    packed = {f"python/{name}" for name in names if name.startswith("tailback/")}
    native = {name for name in packed if "/_native." in name and not name.endswith(".pyi")}
    if len(native) != 1:
        sys.exit(f"{wheel.name} has {len(native)} native modules instead of one: {sorted(native)}")
    with tarfile.open(sdist) as archive:
        sources = {member.name.partition("/")[2] for member in archive.getmembers() if member.isfile()} - {"PKG-INFO"}
    # Built by `make web` and `make lab`, not tracked; some files of the lab are not packed (pyproject.toml).
    home = ROOT / "python/tailback/web/built"
    files = {path for path in home.rglob("*") if path.is_file() and home / "lab" not in path.parents}
    files.add(home / "lab/index.html")
    built = {path.relative_to(ROOT).as_posix() for path in files}
    if not built:
        sys.exit("python/tailback/web/built is empty: run `make web lab`")
    known = tracked(".") | built
    wanted = {name for name in known if name.startswith("python/tailback/")}
    problems = [
        f"{wheel.name} has {name}, which is neither tracked nor built" for name in sorted(packed - native - wanted)
    ]
    problems += [f"{wheel.name} lacks {name}" for name in sorted(wanted - packed)]
    problems += [f"{sdist.name} has {name}, which is neither tracked nor built" for name in sorted(sources - known)]
    problems += [f"{sdist.name} lacks {name}" for name in sorted(wanted - sources)]
    if problems:
        sys.exit("\n".join(problems))
    print(f"{wheel.name}: {len(packed)} files, {wheel.stat().st_size / 1e6:.1f} MB; {sdist.name}: {len(sources)} files")


def without_rust() -> dict[str, str]:
    """Return the environment variables without those of Rust, and with a PATH without cargo and rustc."""
    env = {name: value for name, value in os.environ.items() if not name.startswith(("CARGO", "RUST", "VIRTUAL_ENV"))}
    folders = [folder for folder in env["PATH"].split(os.pathsep) if not Path(folder, "cargo").exists()]
    env["PATH"] = os.pathsep.join(folder for folder in folders if not Path(folder, "rustc").exists())
    return env


def check_platform(wheel: Path) -> None:
    """Exit if the wheel is too large, not for the stable ABI, or, on Linux, not of the manylinux tag of its name."""
    if "-abi3-" not in wheel.name:
        sys.exit(f"{wheel.name} is not for the stable ABI")
    if sys.platform == "linux":
        done = subprocess.run(
            [sys.executable, "-m", "auditwheel", "show", wheel], check=False, capture_output=True, text=True
        )
        tag = re.search(r"manylinux_\d+_\d+_\w+", done.stdout)
        if done.returncode or tag is None or tag[0] not in wheel.name:
            sys.exit(f"auditwheel rejects {wheel.name}:\n{done.stdout}{done.stderr}")
        print(f"auditwheel: consistent with {tag[0]}")
    if wheel.stat().st_size > WHEEL_MB * 1e6:
        sys.exit(f"{wheel.name} has {wheel.stat().st_size / 1e6:.1f} MB; at most {WHEEL_MB} MB are allowed")


def print_sizes(python: Path) -> float:
    """Print the size on disk of each installed package, largest first, and return the sum in MB."""
    done = subprocess.run([python, "-c", SIZES], check=True, capture_output=True, text=True)
    sizes: dict[str, int] = json.loads(done.stdout)
    for name, size in sorted(sizes.items(), key=lambda item: -item[1]):
        print(f"  {name:20} {size / 1e6:6.1f} MB")
    total = sum(sizes.values()) / 1e6
    print(f"  {'together':20} {total:6.1f} MB")
    return total


# Program that prints the size of each distribution, byte code included, without the tools of the environment.
SIZES = """
import importlib.metadata as m, json
found = {}
for d in m.distributions():
    if d.metadata["Name"] not in ("pip", "setuptools"):
        files = [d.locate_file(f) for f in d.files or ()]
        found[d.metadata["Name"]] = sum(f.stat().st_size for f in files if f.is_file())
print(json.dumps(found))
"""


def check_use(wheel: Path) -> None:
    """Install the wheel in an empty environment, and exit if a use of it fails.

    Without matplotlib: the README's first example, whose digest must be that of the README, a sweep, and the message of
    `tailback plot`. With `tailback[plot]`: `tailback plot` and a quick reproduction.
    """
    env = without_rust()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        subprocess.run([sys.executable, "-m", "venv", folder / "venv"], check=True)
        binaries = folder / "venv" / "bin"
        shutil.copy(ROOT / "docs" / "examples" / "merge.toml", folder)

        def call(*command: str | Path, code: int = 0) -> str:
            print("$", *(Path(word).name for word in command), flush=True)
            # From the empty folder, so that the sources are not imported in place of the wheel.
            done = subprocess.run(command, check=False, env=env, cwd=folder, capture_output=True, text=True)
            if done.returncode != code:
                sys.exit(f"exit code {done.returncode} instead of {code}:\n{done.stdout}{done.stderr}")
            return done.stdout + done.stderr

        pip: list[str | Path] = [binaries / "pip", "install", "--quiet", "--only-binary", ":all:"]
        call(*pip, wheel.resolve())
        if print_sizes(binaries / "python") > INSTALLED_MB:
            sys.exit(f"more than {INSTALLED_MB:.0f} MB are installed")
        # The output of the wheel must be that in the README.
        shown = re.search(r"^digest (\S+)", (ROOT / "README.md").read_text(encoding="utf-8"), re.MULTILINE)
        if shown is None or shown[1] not in call(binaries / "tailback", "run", "merge.toml", "--out", "run"):
            sys.exit("the README's first example has another digest")
        call(binaries / "tailback", "sweep", "merge.toml", "--reps", "1", "--set", "run.duration=10s", "--out", "sweep")
        if "No figures" not in (folder / "sweep" / "report.html").read_text(encoding="utf-8"):
            sys.exit("without matplotlib the report of a sweep should say that it has no figures")
        if "pip install 'tailback[plot]'" not in call(binaries / "tailback", "plot", "run", code=2):
            sys.exit("without matplotlib `tailback plot` should say what to install")
        call(*pip, f"{wheel.resolve()}[plot]")
        print_sizes(binaries / "python")
        call(binaries / "tailback", "plot", "run")
        call(binaries / "tailback", "reproduce", "lan-a1", "--quick", "--out", "out")
        if not (folder / "out" / "report.html").exists():
            sys.exit("`tailback reproduce` of the installed wheel wrote no out/report.html")


def main() -> None:
    """Check the packages of one folder."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="folder with one wheel and one source package")
    folder = parser.parse_args().folder
    wheel = only(folder, "*.whl")
    check_contents(wheel, only(folder, "*.tar.gz"))
    check_platform(wheel)
    check_use(wheel)
    print("the wheel works without Rust")


if __name__ == "__main__":
    main()
