"""Congestion controls that the user has written in Python."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from components import LAWS, dumbbell, failure, read, report

import tailback as core
from tailback import _native

FLOWS = """[[flows]]
name = "tcp"
from = "a*"
to = "b"
source = { kind = "bulk" }
transport = { kind = "tcp", congestion-control = CONTROL }
probe = true
"""
DROP_TAIL = '{ kind = "drop-tail" }'
RED = '{ kind = "red", ecn = true }'
RENO = '{ kind = "user", file = "reno.py", class = "Reno" }'


def scenario(folder: Path, control: str, discipline: str = DROP_TAIL, keys: str = "") -> core.Scenario:
    """Return a dumbbell with four connections; files are in `folder`, `keys` are more keys of the transport."""
    return read(dumbbell(discipline, FLOWS.replace("CONTROL", control + keys), duration="6s"), folder)


def written(folder: Path, body: str, keys: str = "", parameters: str = "{}", **options: str) -> core.Scenario:
    """Return the dumbbell with a control whose class has this body."""
    folder.mkdir(exist_ok=True)
    lines = "\n".join("    " + line for line in body.splitlines())
    (folder / "mine.py").write_text(
        f"import math\nimport tailback\n\nclass Mine(tailback.CongestionControl):\n{lines}\n"
    )
    control = f'{{ kind = "user", file = "mine.py", class = "Mine", parameters = {parameters} }}'
    return scenario(folder, control, keys=keys, **options)


@pytest.mark.parametrize("engine", ["merged", "plain"])
@pytest.mark.parametrize(
    ("discipline", "keys"),
    [
        (DROP_TAIL, ""),
        (RED, ', ecn = "classic"'),
        (RED, ', recovery = { kind = "newreno" }'),
        (DROP_TAIL, ', recovery = { kind = "tahoe" }, initial-ssthresh = 4'),
        (DROP_TAIL, ', spurious-timeout = "f-rto", dsack-undo = true, pacing = true'),
        (DROP_TAIL, ', recovery = { kind = "sack", rack = false, prr = false }'),
    ],
)
def test_reno_in_python_decides_as_the_built_in_one_about_every_segment(
    discipline: str, keys: str, engine: str
) -> None:
    theirs = report(scenario(LAWS, '{ kind = "reno" }', discipline, keys), engine=engine)
    ours = report(scenario(LAWS, RENO, discipline, keys), engine=engine)
    assert ours["digest"] == theirs["digest"]
    assert json.dumps(ours["flows"]) == json.dumps(theirs["flows"])
    assert any(flow["transport"]["retransmissions"] or flow["transport"]["ecn_reductions"] for flow in ours["flows"])


def test_reno_in_python_gives_the_same_packet_trace_and_time_series() -> None:
    found = []
    for control in ('{ kind = "reno" }', RENO):
        native = scenario(LAWS, control, RED, ', ecn = "classic"').native
        text, rows, trace_hash = _native.trace(native, 3, lambda *_: None, ([], [], [], [], None, None))
        found.append((rows, trace_hash, json.loads(text)["series"]))
    assert found[0] == found[1]
    assert found[0][0] > 10_000


REQUESTS = """
tailback = 1
[run]
duration = "20s"
[network]
buffer = "20packets"
[hosts]
a = {}
b = {}
[[links]]
between = ["a", "b"]
rate = "2Mbit/s"
delay = "20ms"
[[flows]]
name = "rpc"
from = "a"
to = "b"
[flows.application]
kind = "request-response"
request = { kind = "fixed", size = "2kB" }
response = { kind = "fixed", size = "60kB" }
think = { kind = "exponential", mean = "200ms" }
connections = "fresh"
[flows.transport]
kind = "tcp"
congestion-control = CONTROL
"""


def test_each_new_connection_has_a_new_instance() -> None:
    found = [
        report(core.Scenario.from_toml(REQUESTS.replace("CONTROL", control), str(LAWS / "scenario.toml")))
        for control in ('{ kind = "reno" }', RENO)
    ]
    assert found[0]["digest"] == found[1]["digest"]
    assert json.dumps(found[0]["flows"]) == json.dumps(found[1]["flows"])


def series(found: dict[str, Any]) -> dict[str, list[float]]:
    """Return the first flow's time series, with the state of its congestion control."""
    flow: dict[str, list[float]] = found["series"]["transports"]["tcp[1]"]
    return flow


def test_a_call_has_the_state_of_the_sender(tmp_path: Path) -> None:
    body = """
def start(self, call):
    assert self.cwnd == 10 and self.ssthresh == math.inf and self.rate == 0 and call.srtt_ps == 0
    assert call.rtt_ps is None and call.rtt_s is None and call.delivered == 0 and call.payload == 1460
    self.rounds = self.acknowledged_segments = self.losses = self.marks = self.timeouts = self.segments = 0
def acknowledged(self, call):
    assert call.delivered >= 1 and call.advanced >= 0 and not call.recovering and call.delivery_rate is None
    assert call.min_rtt_ps <= call.srtt_ps and call.min_rtt_ps >= 30_000_000_000
    assert call.rtt_ps is None or call.rtt_ps >= call.min_rtt_ps and abs(call.rtt_s - call.rtt_ps * 1e-12) < 1e-12
    assert call.in_flight <= call.in_flight_before
    self.acknowledged_segments += call.delivered
    self.rounds += call.round
    self.cwnd += call.delivered / self.cwnd
def lost(self, call):
    assert 0 < call.in_flight <= self.cwnd + 3
    self.losses += 1
    self.ssthresh = max(2.0, self.cwnd / 2)
def sent(self, call):
    self.segments += 1
probes = ("rounds", "acknowledged_segments", "losses", "segments")
"""
    found = report(written(tmp_path, body))
    sender = found["flows"][0]["transport"]
    assert sender["retransmissions"] > 0
    state = series(found)
    assert state["losses"][-1] > 0
    assert state["rounds"][-1] > 20
    assert state["segments"][-1] >= state["acknowledged_segments"][-1] > 300


def test_a_paced_control_sends_at_its_rate(tmp_path: Path) -> None:
    # 100 segments of 1460 B per second and flow: 1.168 Mbit/s each, 4.67 of 5 Mbit/s.
    body = """
paces = True
owns_recovery = True
def start(self, call):
    self.cwnd, self.rate = 1000.0, 100.0
"""
    found = report(written(tmp_path, body))
    delivered = sum(flow["transport"]["goodput_bytes"] for flow in found["flows"])
    assert sum(flow["transport"]["retransmissions"] for flow in found["flows"]) == 0
    # 6 s less a round trip.
    assert 0.98 * 400 * 1460 * 5.9 < delivered < 400 * 1460 * 6


def test_a_control_is_called_at_the_time_that_it_sets(tmp_path: Path) -> None:
    body = """
probes = ("calls", "late_ps")
def start(self, call):
    self.calls, self.late_ps = 0, 0
    self.wake_ps = self.due = call.now_ps + 250_000_000_000
def lost(self, call):
    self.ssthresh = 20.0
def timer(self, call):
    assert self.wake_ps is None
    self.calls += 1
    self.late_ps += call.now_ps - self.due
    self.wake_ps = self.due = call.now_ps + 250_000_000_000
    self.cwnd = 1.0 + self.calls
"""
    found = report(written(tmp_path, body))
    state = series(found)
    assert state["calls"][-1] >= 23
    assert state["late_ps"][-1] == 0
    assert state["window_segments"][-1] == 1.0 + state["calls"][-1]


def test_a_control_may_respond_to_echoes_by_itself(tmp_path: Path) -> None:
    body = """
handles_echoes = True
probes = ("echoes",)
def start(self, call):
    self.echoes = 0
def acknowledged(self, call):
    self.echoes += call.ece
    self.cwnd = max(2.0, self.cwnd - 0.5) if call.ece else self.cwnd + 1 / self.cwnd
def lost(self, call):
    self.ssthresh = 10.0
def marked(self, call):
    assert False, "the control handles echoes"
"""
    found = report(written(tmp_path, body, discipline=RED, keys=', ecn = "classic"'))
    assert series(found)["echoes"][-1] > 10


def test_a_control_that_owns_recovery_keeps_its_window(tmp_path: Path) -> None:
    body = """
owns_recovery = True
samples_rate = True
probes = ("in_recovery", "rates")
def start(self, call):
    self.cwnd = 40.0
    self.in_recovery = self.rates = 0
def acknowledged(self, call):
    self.in_recovery += call.recovering
    self.rates += call.delivery_rate is not None and call.delivery_rate > 0
"""
    found = report(written(tmp_path, body))
    state = series(found)
    assert set(state["window_segments"][1:]) == {40.0}
    assert state["in_recovery"][-1] > 10
    assert state["rates"][-1] > 100


def test_draws_come_from_the_stream_of_the_connection(tmp_path: Path) -> None:
    body = """
def acknowledged(self, call):
    self.cwnd = 2.0 + 20.0 * self.random()
def lost(self, call):
    self.ssthresh = 5.0
"""
    one = written(tmp_path, body)
    digests = [report(one, seed)["digest"] for seed in (3, 3, 4)]
    assert digests[0] == digests[1] != digests[2]


def test_a_loss_must_set_the_threshold(tmp_path: Path) -> None:
    # The sender sets the window to the threshold, which is infinite at first.
    grows = "def acknowledged(self, call):\n    self.cwnd += 1\n"
    for body in (grows, grows + "def lost(self, call):\n    self.cwnd = 5.0"):
        failed = failure(written(tmp_path, body))
        assert "in `lost` at " in failed
        assert "the threshold is infinite after a loss" in failed


@pytest.mark.parametrize(
    ("control", "message"),
    [
        ('{ kind = "user", file = "reno.py", class = "Rano" }', "reno.py has no class `Rano`"),
        ('{ kind = "user", file = "codel.py", class = "Codel" }', "is not derived from tailback.CongestionControl"),
        ('{ kind = "user", file = "none.py", class = "Reno" }', "there is no file"),
        (
            '{ kind = "user", file = "reno.py", class = "Reno", parameters = { limits = 2 } }',
            "did you mean `limit`?",
        ),
    ],
)
def test_a_control_that_cannot_be_loaded_is_refused(control: str, message: str) -> None:
    with pytest.raises(core.ScenarioError, match="error") as refused:
        scenario(LAWS, control)
    assert message in str(refused.value)


def test_the_hash_of_a_scenario_contains_the_source_of_the_control(tmp_path: Path) -> None:
    hashes = set()
    for text in ("1.0", "1.0", "2.0"):
        one = written(tmp_path, f"def acknowledged(self, call):\n    self.cwnd += {text}")
        hashes.add((one.native.hash, one.native.effect))
    assert len(hashes) == 2
