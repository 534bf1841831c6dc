"""The C interface as a native library: its header and its example."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
CRATE = ROOT / "crates" / "wasm"
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))


def test_the_header_declares_every_exported_function_except_those_for_memory_and_no_other() -> None:
    sources = "".join(path.read_text() for path in (CRATE / "src").rglob("*.rs"))
    exported = set(re.findall(r'extern "C" fn (tailback_\w+)', sources))
    header = (CRATE / "tailback.h").read_text()
    declared = set(re.findall(r"\b(tailback_\w+)\((?!\))", re.sub(r"/\*.*?\*/", "", header, flags=re.DOTALL)))
    # A C program passes pointers to its own memory, and needs no allocation in the module.
    assert exported - {"tailback_alloc", "tailback_free"} == declared
    assert len(declared) > 10


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler is installed")
def test_the_example_in_c_steps_changes_and_receives(tmp_path: Path) -> None:
    # The profile of the Rust tests, whose crates are compiled already.
    build = ["cargo", "build", "--locked", "--quiet", "--profile", "test", "-p", "tailback-wasm"]
    subprocess.run(build, cwd=ROOT, check=True, timeout=900)
    library = TARGET / "debug"
    program = tmp_path / "steps"
    flags = ["-std=c99", "-Wall", "-Wextra", "-Werror", f"-I{CRATE}"]
    link = [f"-L{library}", "-ltailback_wasm", f"-Wl,-rpath,{library}"]
    source = CRATE / "examples" / "steps.c"
    subprocess.run(["cc", *flags, str(source), *link, "-o", str(program)], check=True, timeout=120)
    done = subprocess.run([str(program)], capture_output=True, text=True, timeout=60, check=True)
    # Times in ps. The messages are sent at 10 and 60 ms; transmission of 1000 B takes 1 ms at 8 Mbit/s and 4 ms at
    # 2 Mbit/s, and propagation 5 ms. A line has time of arrival, number, bytes, time of sending, and flow of a message.
    assert done.stdout.splitlines() == [
        "now 90000000000",
        "16000000000 0 1000 10000000000 message",
        "69000000000 1 1000 60000000000 message",
    ]
