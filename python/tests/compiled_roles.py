"""A component of each role in C and in WebAssembly text, with a body for its calls."""

from __future__ import annotations

from pathlib import Path

from compiled import build

C_FORM = """
#include "tailback_law.h"
@head@
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

typedef struct Mine { double n, starts; } Mine;

__attribute__((constructor)) static void begin(void) { @loading@ }

void TAILBACK_EXPORT(tailback_Mine_describe)(tailback_description *out) {
    out->abi = TAILBACK_ABI;
    out->role = @role@;
    out->events = @events@;
    out->options = @options@;
    @describe@
}
int32_t TAILBACK_EXPORT(tailback_Mine_create)(const tailback_host *host, Mine **self) {
    *self = calloc(1, sizeof(Mine));
    (*self)->n = tailback_parameter(host, "n", TAILBACK_NUMBER, 0);
    @create@
    return 0;
}
int32_t TAILBACK_EXPORT(tailback_Mine_answer)(Mine *self, const tailback_@name@_call *call,
                                              tailback_@name@_answer *answer, const tailback_host *host) {
    (void)self; (void)call; (void)answer; (void)host;
    @body@
    return 0;
}
void TAILBACK_EXPORT(tailback_Mine_destroy)(Mine *self) {
    @destroy@
    free(self);
}
"""
# Bytes 0 to 8191 are lent to the host.
WAT_FORM = """
(module
  (import "tailback" "fail" (func $fail (param i32)))
  (import "tailback" "below" (func $below (param i64) (result i64)))
  (import "tailback" "exponential" (func $exponential (param f64) (result f64)))
  (import "tailback" "parameter" (func $parameter (param i32 i32 f64) (result f64)))
  (memory (export "memory") 1)
  (data (i32.const 8192) "n\\00it is odd\\00")
  (global $n (mut f64) (f64.const 0))
  (global $starts (mut i32) (i32.const 0))
  (func (export "tailback_space") (result i32) (i32.const 0))
  (func (export "tailback_Mine_describe") (param $out i32)
    (i32.store (local.get $out) (i32.const 1))
    (i32.store offset=4 (local.get $out) (i32.const @role@))
    (i32.store offset=8 (local.get $out) (i32.const @events@))
    (i32.store offset=252 (local.get $out) (i32.const @options@))
    @describe@)
  (func (export "tailback_Mine_create") (param $host i32) (param $self i32) (result i32)
    (global.set $n (call $parameter (i32.const 8192) (i32.const 0) (f64.const 0)))
    @create@
    (i32.const 0))
  (func $forever (loop $again (br $again)))
  (func $deep (call $deep))
  (func $begin @loading@)
  (start $begin)
  (func (export "tailback_Mine_answer")
    (param $self i32) (param $call i32) (param $answer i32) (param $host i32) (result i32)
    @body@
    (i32.const 0)))
"""
# Number of the role, and bit of the event that is handled: arrive, select, acknowledged, next.
ROLES = {"queue": (0, 2), "scheduler": (1, 4), "congestion": (2, 2), "source": (3, 2)}


def write(
    folder: Path, form: str, role: str, body: str = "", *, events: int | None = None, options: int = 0, **bodies: str
) -> str:
    """Write the component `Mine` of a role with a body for its calls; return the name of the file.

    `bodies` has statements for `loading`, `describe`, `create` and `destroy`, and for C a `head`.
    """
    folder.mkdir(exist_ok=True)
    number, event = ROLES[role]
    text = C_FORM if form == "so" else WAT_FORM
    parts = {"role": number, "events": event if events is None else events, "options": options, "name": role}
    none = dict.fromkeys(("head", "loading", "describe", "create", "destroy"), "")
    for name, part in {**parts, **none, **bodies, "body": body}.items():
        text = text.replace(f"@{name}@", str(part))
    if form == "so":
        build(text, folder / "mine.so")
    else:
        (folder / "mine.wat").write_text(text)
    return f"mine.{form}"
