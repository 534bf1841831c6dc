"""Where the kernel and its results are kept."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from tailback.errors import RunError
from tailback.witness.kernel import GUEST

__all__ = ["build", "folder", "kernel"]


def folder() -> Path:
    """Return the folder of the witness in the user's cache: `XDG_CACHE_HOME`, by default `~/.cache`."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "tailback" / "witness"


def kernel() -> Path:
    """Return the kernel's program: `TAILBACK_KERNEL`, by default one in the cache."""
    return Path(os.environ.get("TAILBACK_KERNEL") or folder() / "kernel" / "linux")


def build(program: Path) -> None:
    """Build the kernel, unless it is there; its version and hash are printed on stdout. Raises RunError."""
    made = subprocess.run(["bash", str(GUEST / "build_kernel.sh"), str(program.parent)], check=False)
    if made.returncode:
        raise RunError(f"the kernel was not built (exit code {made.returncode})")
    if program.name != "linux":
        raise RunError(f"the kernel was built as {program.parent / 'linux'}, not as {program}")
