"""Faults of queue laws in Rust, as libraries and as WebAssembly modules, in one cell of a sweep of ten."""

from __future__ import annotations

from pathlib import Path

import pytest
from compiled import WASM_TARGET, rust
from faults import AFTER_PS, FAULTY, check, limit_calls, with_component

import tailback as core

LAW = """
mod tailback_law;
use tailback_law::*;

struct Mine { n: f64, name: String }

impl QueueLaw for Mine {
    const EVENTS: u32 = bit(ARRIVE);
    const PROBES: &'static [&'static str] = &["n"];
    fn new(host: &Host) -> Result<Mine, String> {
        let name = host.text("name").unwrap_or_default();
        if name == "refused" { return Err(format!("the name is {name}")); }
        if name == "bad" { panic!("the name is {name}"); }
        Ok(Mine { n: host.number("n", 0.0), name })
    }
    fn answer(&mut self, call: &QueueCall, answer: &mut QueueAnswer, host: &Host) -> Result<(), String> {
        if self.n != FAULTY || call.now_ps < AFTER_PS { return Ok(()); }
        match self.name.as_str() {
            "error" => return Err("the queue is odd".to_owned()),
            "verdict" => answer.verdict = 3,
            "past" => answer.wake_ps = call.now_ps - 1,
            "mean" => { host.exponential(f64::NAN); }
            "index" => answer.verdict = [0, 1][self.name.len()],
            "unwrap" => answer.verdict = self.name.parse().unwrap(),
            "abort" => std::process::abort(),
            "loop" => loop { std::hint::black_box(answer.verdict); },
            name => panic!("{name} is no name of {} letters", name.len()),
        }
        Ok(())
    }
    fn probe(&self, _number: u32) -> f64 { self.n }
}
queue_law!(Mine);
""".replace("FAULTY", f"{FAULTY}.0").replace("AFTER_PS", f"{AFTER_PS}")
BOTH = {
    "error": "the queue is odd",
    "verdict": "the verdict 3 is neither",
    "past": "is before now",
    "mean": "`exponential` was called with the mean NaN",
    "index": "the len is 2 but the index is 5",
    "unwrap": "InvalidDigit",
    # The text is longer than the buffer that the first reading offers.
    "x" * 300: "x is no name of 300 letters",
}
FAULTS = {
    None: {
        **BOTH,
        "abort": "its process was ended by SIGABRT",
        "loop": "the call did not return within 0.5 s, and its process was ended",
    },
    WASM_TARGET: {**BOTH, "abort": "trap: ", "loop": "the call took more than 100000000 steps"},
}
CASES = [(target, name, part) for target, faults in FAULTS.items() for name, part in faults.items()]


def law(folder: Path, target: str | None, name: str) -> core.Scenario:
    """Return the network with the law, whose fault has this name."""
    file = "mine.wasm" if target else "mine.so"
    (folder / file).write_bytes(rust(LAW, target))
    return with_component(folder, "queue", file, f'{{ n = 0, name = "{name}" }}')


@pytest.mark.parametrize(("target", "name", "part"), CASES)
def test_a_fault_ends_its_cell_and_the_other_nine_finish(
    target: str | None, name: str, part: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    limit_calls(part, monkeypatch)
    check(law(tmp_path, target, name), "queue", "mine.wasm" if target else "mine.so", part)


@pytest.mark.parametrize("target", [None, WASM_TARGET])
@pytest.mark.parametrize("name", ["refused", "bad"])
def test_a_refusal_or_a_panic_of_the_constructor_is_an_error_of_the_scenario(
    target: str | None, name: str, tmp_path: Path
) -> None:
    with pytest.raises(core.ScenarioError, match=f"the name is {name}") as refused:
        law(tmp_path, target, name)
    assert refused.value.path == "network.discipline.parameters"


@pytest.mark.parametrize("target", [None, WASM_TARGET])
def test_a_parameter_of_another_kind_is_refused(target: str | None, tmp_path: Path) -> None:
    file = "mine.wasm" if target else "mine.so"
    (tmp_path / file).write_bytes(rust(LAW, target))
    with pytest.raises(core.ScenarioError, match="`name` is 5; write a text"):
        with_component(tmp_path, "queue", file, "{ name = 5 }")
