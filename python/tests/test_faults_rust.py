"""Faults of components in Rust, as libraries and as WebAssembly modules, in one cell of a sweep of ten."""

from __future__ import annotations

from pathlib import Path

import pytest
from compiled import WASM_TARGET, rust
from faults import AFTER_PS, CALLS, FAULTY, ROLES, check, limit_calls, with_component

import tailback as core

COMPONENT = """
mod tailback_law;
use tailback_law::*;

struct Mine { n: f64, name: String }

impl Component for Mine {
    type Role = @role@::Role;
    const EVENTS: u32 = bit(@role@::@CALL@);
    const PROBES: &'static [&'static str] = &[@PROBES@];
    fn new(host: &Host) -> Result<Mine, String> {
        let name = host.text("name").unwrap_or_default();
        if name == "refused" { return Err(format!("the name is {name}")); }
        if name == "bad" { panic!("the name is {name}"); }
        Ok(Mine { n: host.number("n", 0.0), name })
    }
    fn answer(&mut self, call: &@role@::Call, answer: &mut @role@::Answer, host: &Host) -> Result<(), String> {
        @NORMAL@
        if self.n != @FAULTY@ || call.now_ps < @AFTER_PS@ { return Ok(()); }
        match self.name.as_str() {
            "error" => return Err("it is odd".to_owned()),
            "mean" => { host.exponential(f64::NAN); }
            "index" => self.n = [0.0, 1.0][self.name.len()],
            "unwrap" => self.n = self.name.parse().unwrap(),
            "abort" => std::process::abort(),
            "loop" => loop { std::hint::black_box(self.n); },
            @ANSWERS@
            name => panic!("{name} is no name of {} letters", name.len()),
        }
        Ok(())
    }
    fn probe(&self, _number: u32) -> f64 { self.n }
}
component!(Mine);
"""
# Behaviour without a fault: see `faults.BUILT_IN`.
NORMAL = {
    "queue": "",
    "congestion": "",
    "scheduler": """
        let ready = call.queues.iter().position(|queue| queue.ready != 0);
        answer.queue = ready.map_or(scheduler::NONE, |number| number as u32);
    """,
    "source": """
        answer.at_ps = call.now_ps + if call.bursts > 0 { 10_000_000_000 } else { 0 };
        answer.bytes = 100;
    """,
}
# Statement and part of the message, by role and name.
ANSWERS = {
    "queue": {
        "answer": ("answer.verdict = 3", "the verdict 3 is neither"),
        "past": ("answer.wake_ps = call.now_ps - 1", "is before now"),
    },
    "congestion": {
        "answer": ("answer.cwnd = f64::NAN", "the window is NaN segments"),
        "past": ("answer.wake_ps = call.now_ps - 1", "is before now"),
    },
    "scheduler": {
        "answer": ("answer.queue = 7", "queue 7 is chosen, but the queues are 0 to 2"),
        "past": ("answer.wake_ps = call.now_ps - 1", "is before now"),
    },
    "source": {
        "answer": ("answer.bytes = 0", "a burst has 0 bytes"),
        "past": ("answer.at_ps = call.now_ps - 1", "is before the last one, at"),
    },
}
BOTH = {
    "error": "it is odd",
    "mean": "`exponential` was called with the mean NaN",
    "index": "the len is 2 but the index is 5",
    "unwrap": "ParseFloatError",
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
CASES = [
    (role, target, name, part)
    for role in ROLES
    for target, faults in FAULTS.items()
    for name, part in {**faults, **{name: part for name, (_, part) in ANSWERS[role].items()}}.items()
]


def component(folder: Path, role: str, target: str | None, parameters: str) -> core.Scenario:
    """Return the network with the component in its role."""
    answers = "".join(f'"{name}" => {statement},' for name, (statement, _) in ANSWERS[role].items())
    # State variables of sources are not recorded.
    probes = "" if role == "source" else '"n"'
    parts = {"role": role, "CALL": CALLS[role].upper(), "PROBES": probes, "NORMAL": NORMAL[role], "ANSWERS": answers}
    text = COMPONENT
    for name, part in {**parts, "FAULTY": f"{FAULTY}.0", "AFTER_PS": f"{AFTER_PS}"}.items():
        text = text.replace(f"@{name}@", part)
    file = "mine.wasm" if target else "mine.so"
    (folder / file).write_bytes(rust(text, target))
    return with_component(folder, role, file, parameters)


@pytest.mark.parametrize(("role", "target", "name", "part"), CASES)
def test_a_fault_ends_its_cell_and_the_other_nine_finish(
    role: str, target: str | None, name: str, part: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    limit_calls(part, monkeypatch)
    one = component(tmp_path, role, target, f'{{ n = 0, name = "{name}" }}')
    check(one, role, "mine.wasm" if target else "mine.so", part)


@pytest.mark.parametrize("target", [None, WASM_TARGET])
@pytest.mark.parametrize("name", ["refused", "bad"])
def test_a_refusal_or_a_panic_of_the_constructor_is_an_error_of_the_scenario(
    target: str | None, name: str, tmp_path: Path
) -> None:
    with pytest.raises(core.ScenarioError, match=f"the name is {name}") as refused:
        component(tmp_path, "queue", target, f'{{ n = 0, name = "{name}" }}')
    assert refused.value.path == "network.discipline.parameters"


@pytest.mark.parametrize("target", [None, WASM_TARGET])
def test_a_parameter_of_another_kind_is_refused(target: str | None, tmp_path: Path) -> None:
    with pytest.raises(core.ScenarioError, match="`name` is 5; write a text"):
        component(tmp_path, "queue", target, "{ name = 5 }")
