"""The guest: an unmodified Linux kernel that runs as a program, with virtual time.

The clock of User-Mode Linux with `time-travel=inf-cpu` stops while the kernel works and jumps to the next timer, so
that results do not depend on the speed or the load of the machine (arch/um/kernel/time.c).
"""

from __future__ import annotations

import hashlib
import os
import platform
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

__all__ = ["GUEST", "PORT", "START_S", "GuestError", "Kernel"]

T = TypeVar("T")

GUEST = Path(__file__).resolve().parent / "guest"
"""Folder of the sources of the guest: init.sh, traffic.c, and build_kernel.sh with kernel.config."""
PORT = 5001
"""Port on which a sink listens."""
START_S = 5
"""Start of the sources, seconds of the guest's clock; all programs have started by then."""
LIMIT_S = 3600
"""Longest time of a run, seconds of the host's clock."""


class GuestError(Exception):
    """Raised if the guest fails or does not finish."""


@dataclass(frozen=True)
class Kernel:
    """A kernel built by build_kernel.sh, and the compiled traffic.c."""

    program: Path
    traffic: Path

    @classmethod
    def found(cls, program: Path, build: Path) -> Kernel | str:
        """Compile traffic.c in `build`, and return the kernel with it; if that fails, return the reason."""
        if (system := platform.system()) != "Linux":
            return f"needs Linux; this system is {system}"
        for tool, package in (("gcc", "gcc"), ("tc", "iproute2"), ("ip", "iproute2")):
            if shutil.which(tool, path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin") is None:
                return f"needs `{tool}` (Debian package {package})"
        if not os.access(program, os.X_OK):
            return f"needs the kernel {program}, which `tailback witness --build` builds in about 10 minutes"
        build.mkdir(parents=True, exist_ok=True)
        traffic = build / "traffic"
        command = ["gcc", "-O2", "-Wall", "-Wextra", "-Werror", str(GUEST / "traffic.c"), "-o", str(traffic), "-lm"]
        made = subprocess.run(command, capture_output=True, text=True, check=False)
        return cls(program.resolve(), traffic) if made.returncode == 0 else f"traffic.c: {made.stderr}"

    def identity(self) -> str:
        """Return the SHA-256 of the kernel's program, hexadecimal."""
        return hashlib.sha256(self.program.read_bytes()).hexdigest()

    def run(self, files: Mapping[str, str], read: Callable[[Path], T], keep: Path | None = None) -> T:
        """Run a case, and return what `read` makes of its folder.

        `files` has the texts of the files in the folder of the case, by name: `case.sh`, which the guest's init.sh
        executes, and those that it names. The log of the guest is written to `keep`. Raises GuestError.
        """
        with tempfile.TemporaryDirectory(prefix="tailback-guest-") as name:
            folder = Path(name)
            for file, text in files.items():
                (folder / file).write_text(text, encoding="utf-8")
            shutil.copy(self.traffic, folder / "traffic")
            command = [str(self.program), "mem=1G", "rootfstype=hostfs", "rootflags=/", "ro", "quiet"]
            command += [f"init={GUEST / 'init.sh'}", f"case={folder}", f"uml_dir={folder}/uml"]
            command += ["con=null", "con0=null,fd:1", "time-travel=inf-cpu"]
            try:
                output = subprocess.run(
                    command,
                    stdin=subprocess.DEVNULL,
                    capture_output=True,
                    text=True,
                    errors="replace",
                    timeout=LIMIT_S,
                    check=False,
                ).stdout
            except subprocess.TimeoutExpired as error:
                raise GuestError(f"the guest did not end within {LIMIT_S} s") from error
            finally:
                logs = [folder / "guest.log", folder / "policy.log"]
                log = "".join(path.read_text(encoding="utf-8", errors="replace") for path in logs if path.exists())
                if keep is not None:
                    keep.parent.mkdir(parents=True, exist_ok=True)
                    keep.write_text(log, encoding="utf-8")
            failed = folder / "failed"
            if failed.exists() or not (folder / "done").exists():
                reason = failed.read_text(encoding="utf-8") if failed.exists() else output[-2000:]
                raise GuestError(f"{reason}\n{log}")
            return read(folder)
