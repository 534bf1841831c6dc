"""Components in C, in Rust, in WebAssembly text and compiled by numba for the tests."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path

import pytest
from components import LAWS

import tailback as core

RUSTC = shutil.which("rustc")
WASM_TARGET = "wasm32-unknown-unknown"
INCLUDE = Path(core.__file__).parent / "include"
COMPILER = shutil.which("cc")

FORMS = {"so": "so", "wat": "wat", "rust": "so", "rust for wasm": "wasm", "numba": "py", "ctypes": "py"}
"""Forms of the components in the folder `laws`, with the suffix of the file that scenarios name."""


def put(folder: Path, name: str, form: str) -> str:
    """Put a component of the folder `laws` into a folder; return the name of the file.

    Without the compiler of the form, the test is skipped.
    """
    file = f"{name}.{FORMS[form]}"
    if form == "so":
        build((LAWS / f"{name}.c").read_text(), folder / file)
    elif form == "numba":
        pytest.importorskip("numba")
        shutil.copy(LAWS / f"{name}_numba.py", folder / file)
    elif form == "ctypes":
        build((LAWS / f"{name}.c").read_text(), folder / f"{name}.so")
        shutil.copy(LAWS / "by_ctypes.py", folder / file)
    elif form == "wat":
        shutil.copy(LAWS / file, folder)
    else:
        target = WASM_TARGET if form == "rust for wasm" else None
        (folder / file).write_bytes(rust((LAWS / f"{name}.rs").read_text(), target))
    return file


# The law `Mine` has the parameter `n`, and keeps a counter for its state variable.
C_LAW = """
#include "tailback_law.h"
#include <math.h>
#include <stdlib.h>

typedef struct Mine { double n, arrivals; } Mine;

void TAILBACK_EXPORT(tailback_Mine_describe)(tailback_description *out) {
    out->abi = @abi@;
    out->role = TAILBACK_QUEUE_LAW;
    out->events = @events@;
    out->marks = 1;
    out->state_bytes = sizeof(Mine);
    tailback_probes(out, "arrivals");
}
int32_t TAILBACK_EXPORT(tailback_Mine_create)(const tailback_host *host, Mine **self) {
    *self = calloc(1, sizeof(Mine));
    (*self)->n = tailback_parameter(host, "n", TAILBACK_NUMBER, 0);
    @create@
    return 0;
}
int32_t TAILBACK_EXPORT(tailback_Mine_answer)(Mine *self, const tailback_queue_call *call,
                                              tailback_queue_answer *answer, const tailback_host *host) {
    (void)self; (void)answer; (void)host;
    if (call->event == TAILBACK_ARRIVE) self->arrivals++;
    @answer@
    return 0;
}
double TAILBACK_EXPORT(tailback_Mine_probe)(const Mine *self, uint32_t number) { (void)number; return self->arrivals; }
void TAILBACK_EXPORT(tailback_Mine_destroy)(Mine *self) { free(self); }
"""

# Bytes 0 to 1023 are lent to the host.
WAT_LAW = """
(module
  (import "tailback" "fail" (func $fail (param i32)))
  (import "tailback" "random" (func $random (result f64)))
  (import "tailback" "below" (func $below (param i64) (result i64)))
  (import "tailback" "exponential" (func $exponential (param f64) (result f64)))
  (import "tailback" "normal" (func $normal (result f64)))
  (import "tailback" "parameter" (func $parameter (param i32 i32 f64) (result f64)))
  (import "tailback" "ln" (func $ln (param f64) (result f64)))
  @imports@
  (memory (export "memory") 1)
  (data (i32.const 1024) "n\\00arrivals\\00the queue is odd\\00")
  (global $n (mut f64) (f64.const 0))
  (global $arrivals (mut f64) (f64.const 0))
  (func (export "tailback_space") (result i32) (i32.const @space@))
  (func (export "tailback_Mine_describe") (param $out i32)
    (i32.store (local.get $out) (i32.const @abi@))
    (i32.store offset=8 (local.get $out) (i32.const @events@))
    (i32.store offset=12 (local.get $out) (i32.const 1))
    (i64.store offset=16 (local.get $out) (i64.const 16))
    (memory.copy (i32.add (local.get $out) (i32.const 24)) (i32.const 1026) (i32.const 9)))
  (func (export "tailback_Mine_create") (param $host i32) (param $self i32) (result i32)
    (global.set $n (call $parameter (i32.const 1024) (i32.const 0) (f64.const 0)))
    @create@
    (i32.const 0))
  (func $forever (loop $again (br $again)))
  (func $deep (call $deep))
  (func (export "tailback_Mine_answer")
    (param $self i32) (param $call i32) (param $answer i32) (param $host i32) (result i32)
    (if (i32.eq (i32.load offset=56 (local.get $call)) (i32.const 1))
      (then (global.set $arrivals (f64.add (global.get $arrivals) (f64.const 1)))))
    @answer@
    (i32.const 0))
  (func (export "tailback_Mine_probe") (param $self i32) (param $number i32) (result f64) (global.get $arrivals)))
"""


def write(
    folder: Path,
    file: str,
    answer: str = "",
    *,
    create: str = "",
    abi: int = 1,
    events: int = 2,
    space: int = 0,
    imports: str = "",
) -> str:
    """Write the law `Mine` with a body for its calls as `mine.so` or `mine.wat`; return the name of the file.

    `file` is "so" or "wat". Without a C compiler, the test is skipped.
    """
    folder.mkdir(exist_ok=True)
    path = folder / f"mine.{file}"
    law = C_LAW if file == "so" else WAT_LAW
    parts = {"answer": answer, "create": create, "abi": abi, "events": events, "space": space, "imports": imports}
    for name, text in parts.items():
        law = law.replace(f"@{name}@", str(text))
    if file == "so":
        build(law, path)
    else:
        path.write_text(law)
    return path.name


def build(source: str, library: Path) -> None:
    """Compile a law in C; skip the test if there is no compiler."""
    if COMPILER is None:
        pytest.skip("laws in C need a C compiler (cc)")
    flags = ["-std=c11", "-O2", "-Wall", "-Wextra", "-Werror", "-fPIC", "-shared", f"-I{INCLUDE}"]
    command = [COMPILER, *flags, "-x", "c", "-", "-o", str(library), "-lm"]
    done = subprocess.run(command, input=source, text=True, capture_output=True)
    assert done.returncode == 0, done.stderr


def need_rust(target: str | None) -> None:
    """Skip the test if there is no compiler of Rust for this machine, or for WASM_TARGET."""
    if RUSTC is None:
        pytest.skip("laws in Rust need rustc")
    sysroot = subprocess.run([RUSTC, "--print", "sysroot"], check=True, capture_output=True, text=True).stdout.strip()
    if target and not (Path(sysroot) / "lib" / "rustlib" / target).is_dir():
        pytest.skip(f"laws in Rust for WebAssembly need the target {target}")


@cache
def rust(source: str, target: str | None) -> bytes:
    """Compile a law in Rust, for this machine or for WASM_TARGET; skip the test if there is no compiler."""
    need_rust(target)
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(INCLUDE / "tailback_law.rs", folder)
        (Path(folder) / "law.rs").write_text(source)
        command = [RUSTC, "-O", "-D", "warnings", "--edition", "2024", "--crate-type", "cdylib", "-o", "law", "law.rs"]
        if target:
            command += ["--target", target]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return (Path(folder) / "law").read_bytes()
