"""Files of recorded results of the kernel, and the programs of the guest that make them."""

from __future__ import annotations

import json
import lzma
import subprocess
from pathlib import Path
from typing import Any

from tailback.witness.kernel import Kernel

HERE = Path(__file__).resolve().parent


def compiled(name: str, build: Path) -> Path:
    """Compile NAME.c of this folder in `build`, and return the program; raises CalledProcessError."""
    build.mkdir(parents=True, exist_ok=True)
    program = (build / name).resolve()
    flags = ["-O2", "-Wall", "-Wextra", "-Werror"]
    subprocess.run(["gcc", *flags, str(HERE / f"{name}.c"), "-o", str(program)], check=True)
    return program


def read(recorded: Path) -> dict[str, Any]:
    """Return the recorded results."""
    with lzma.open(recorded, "rt", encoding="utf-8") as file:
        record: dict[str, Any] = json.load(file)
    return record


def earlier(recorded: Path, kernel: Kernel) -> dict[str, Any] | None:
    """Return the recorded results; `None`: there are none, or those of another kernel."""
    record = read(recorded) if recorded.exists() else None
    return record if record and record["kernel"] == kernel.identity() else None
