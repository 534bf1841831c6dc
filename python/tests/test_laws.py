"""Queue laws that the user has written in Python."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from components import LAWS, drops, dumbbell, failure, marks, read, report

import tailback as core
from tailback import maths
from tailback.laws import watchdog


def scenario(folder: Path, discipline: str) -> core.Scenario:
    """Return a dumbbell whose switch has a discipline; files are in `folder`."""
    return read(dumbbell(discipline), folder)


def law(folder: Path, body: str, name: str = "Mine", parameters: str = "{}", head: str = "") -> core.Scenario:
    """Return the dumbbell with a law whose class has this body."""
    folder.mkdir(exist_ok=True)
    lines = "\n".join("    " + line for line in body.splitlines())
    imports = f"import math\nimport tailback\nfrom tailback import DROP, MARK, PASS\n{head}\n"
    text = f"{imports}class Mine(tailback.Law):\n{lines}\n"
    (folder / "mine.py").write_text(text)
    return scenario(folder, user("mine.py", name, parameters))


def user(file: str, name: str, parameters: str = "{}") -> str:
    """Return a discipline of the kind `user`."""
    return f'{{ kind = "user", file = "{file}", class = "{name}", parameters = {parameters} }}'


def refusal(folder: Path, discipline: str) -> core.ScenarioError:
    """Return the error of a scenario that is refused."""
    with pytest.raises(core.ScenarioError) as refused:
        scenario(folder, discipline)
    return refused.value


@pytest.mark.parametrize("engine", ["merged", "plain"])
@pytest.mark.parametrize(
    ("built_in", "parameters"),
    [
        ('{ kind = "codel" }', "{}"),
        ('{ kind = "codel", target = "1ms", interval = "20ms" }', '{ target = "1ms", interval = "20ms" }'),
        ('{ kind = "codel", target = "20ms", mtu = "9kB" }', '{ target = "20ms", mtu = 9000 }'),
    ],
)
def test_codel_in_python_decides_as_the_built_in_one_about_every_packet(
    engine: str, built_in: str, parameters: str, tmp_path: Path
) -> None:
    (tmp_path / "codel.py").write_text((LAWS / "codel.py").read_text())
    theirs = report(scenario(tmp_path, built_in), engine=engine)
    ours = report(scenario(tmp_path, user("codel.py", "Codel", parameters)), engine=engine)
    # The digest contains each packet's fate and delay.
    assert ours["digest"] == theirs["digest"]
    assert drops(ours) > 10


def test_codel_in_python_gives_the_same_packet_trace_and_time_series(tmp_path: Path) -> None:
    (tmp_path / "codel.py").write_text((LAWS / "codel.py").read_text())
    found = []
    for discipline in ('{ kind = "codel" }', user("codel.py", "Codel")):
        native = scenario(tmp_path, discipline).native
        text, rows, trace_hash = core._native.trace(native, 3, lambda *_: None, ([], [], [], [], None, None))
        found.append((rows, trace_hash, json.loads(text)["series"]))
    assert found[0] == found[1]
    assert found[0][0] > 10_000


def test_draws_come_from_the_stream_of_the_port(tmp_path: Path) -> None:
    body = "def arrive(self, call):\n    return DROP if self.random() < 0.05 else PASS"
    one = law(tmp_path, body)
    digests = [report(one, seed)["digest"] for seed in (3, 3, 4)]
    assert digests[0] == digests[1] != digests[2]
    # A second law that draws nothing has no influence on the stream: only the port's own draws count.
    again = law(tmp_path / "other", body + "\ndef idle(self, call): pass")
    assert report(again)["digest"] == digests[0]


def test_a_law_is_called_at_the_time_that_it_sets(tmp_path: Path) -> None:
    body = """
probes = ("calls", "late_ps")
def __init__(self):
    self.calls, self.late_ps, self.due = 0, 0, 0
def start(self, call):
    assert call.now_ps == 0 and call.rate_bps in (5_000_000, 100_000_000)
    self.wake_ps = self.due = 250_000_000_000
def timer(self, call):
    assert self.wake_ps is None
    self.calls += 1
    self.late_ps += call.now_ps - self.due
    self.wake_ps = self.due = call.now_ps + 250_000_000_000
"""
    found = report(law(tmp_path, body))
    state = found["series"]["ports"]["s->b"]["state"]
    # At 0.25, 0.5, ... s: the sample at 4 s is taken after the timer of that instant.
    assert state["calls"][-1] == 16
    assert state["late_ps"][-1] == 0


def test_a_call_has_the_packet_the_queue_and_the_link(tmp_path: Path) -> None:
    body = """
def arrive(self, call):
    if call.rate_bps == 5_000_000:
        assert call.limit_packets == 60 and call.limit_bytes is None
        assert call.full == (call.queue_packets == 60)
    if call.payload > 0:
        assert call.size == 1518 and call.payload == 1460, call
        assert call.ecn == 0 and not call.ect and call.dscp == 0 and call.colour == 0 and call.traffic_class == 0
        assert call.sojourn_ps == 0 and 0 <= call.flow < 4
def depart(self, call):
    assert call.sojourn_ps <= call.now_ps and abs(call.sojourn_s - call.sojourn_ps * 1e-12) < 1e-15
    assert call.queue_packets < 60 and not call.full
"""
    assert report(law(tmp_path, body))["packet_hops"] > 1_000


def test_a_mark_is_a_drop_for_packets_without_ecn(tmp_path: Path) -> None:
    body = "def arrive(self, call):\n    return MARK if call.queue_packets >= 20 else PASS"
    plain = report(law(tmp_path, body))
    ecn = report(law(tmp_path, body).set({"flows[tcp].transport.ecn": "classic"}))
    assert drops(plain) > 0 == marks(plain)
    assert marks(ecn) > 0 == drops(ecn)


def test_every_queue_has_a_law_of_its_own_also_inside_classes(tmp_path: Path) -> None:
    body = """
probes = ("arrivals",)
def __init__(self): self.arrivals = 0
def arrive(self, call): self.arrivals += 1
"""
    found = report(law(tmp_path, body))
    states = {name: port["state"] for name, port in found["series"]["ports"].items()}
    arrivals = {name: state["arrivals"][-1] for name, state in states.items() if "arrivals" in state}
    assert arrivals["s->b"] > 1_000
    assert len({count for name, count in arrivals.items() if name != "s->b"}) > 1
    inner = user("mine.py", "Mine")
    nested = scenario(
        tmp_path, f'{{ kind = "priority", levels = [{{ match = {{ dscp = 0 }}, discipline = {inner} }}] }}'
    )
    assert report(nested)["digest"]


def test_a_timer_that_expires_for_ever_at_one_instant_is_refused(tmp_path: Path) -> None:
    body = "def start(self, call): self.wake_ps = 10\ndef timer(self, call): self.wake_ps = call.now_ps"
    assert "must be followed by a later wake-up" in failure(law(tmp_path, body))


def test_a_state_variable_that_is_no_number_ends_the_run(tmp_path: Path) -> None:
    body = "probes = ('name',)\nname = 'text'\ndef arrive(self, call): pass"
    assert "in `probes`" in failure(law(tmp_path, body))


def test_a_call_that_never_returns_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watchdog, "CALL_LIMIT_S", 0.3)
    message = failure(law(tmp_path, "def depart(self, call):\n    while call.now_ps > 10**12: pass"))
    assert "LawTimeoutError" in message
    assert "in `depart` at 1." in message


def test_ctrl_c_ends_a_call_that_never_returns(tmp_path: Path) -> None:
    one = law(tmp_path, "def depart(self, call):\n    while True: pass")
    cancel = core._native.Cancel()
    stopped: list[type[BaseException]] = []

    def work() -> None:
        with watchdog.watched(cancel):
            try:
                one.native.run(3, cancel)
            except BaseException as error:
                stopped.append(type(error))

    thread = threading.Thread(target=work)
    thread.start()
    time.sleep(0.3)
    cancel.cancel()
    thread.join(timeout=30)
    assert stopped == [core.Cancelled]


def test_a_stepped_run_raises_the_fault_at_the_step(tmp_path: Path) -> None:
    one = law(tmp_path, "def arrive(self, call):\n    if call.now_ps > 10**12: raise ValueError('late')")
    simulation = core.Simulation(one)
    simulation.run_until("0.9s")
    with pytest.raises((core.RunError, RuntimeError), match="ValueError: late"):
        simulation.run_until("2s")


def test_a_law_that_cannot_be_loaded_is_refused_at_its_key(tmp_path: Path) -> None:
    law(tmp_path, "def arrive(self, call): pass")
    (tmp_path / "broken.py").write_text("def f(:\n")
    (tmp_path / "raises.py").write_text("import nothing_of_this_name\n")
    (tmp_path / "empty.py").write_text("import tailback\nclass Mine(tailback.Law): pass\nclass Other: pass\n")
    cases = [
        ("none.py", "Mine", "{}", "file", "there is no file"),
        ("mine.txt", "Mine", "{}", "file", "is not Python source"),
        ("", "Mine", "{}", "file", "it is empty"),
        ("broken.py", "Mine", "{}", "file", "SyntaxError"),
        ("raises.py", "Mine", "{}", "file", "ModuleNotFoundError"),
        ("mine.py", "Min", "{}", "class", "did you mean `Mine`?"),
        ("mine.py", "", "{}", "class", "it is empty"),
        ("empty.py", "Mine", "{}", "class", "handles no event"),
        ("empty.py", "Other", "{}", "class", "is not derived from tailback.Law"),
        ("mine.py", "Mine", "{ gain = 1 }", "parameters.gain", "has no parameter `gain`"),
    ]
    for file, name, parameters, key, message in cases:
        error = refusal(tmp_path, user(file, name, parameters))
        assert error.path == f"network.discipline.{key}", file
        assert message in str(error), file
        assert error.line == 8, file


def test_a_file_outside_the_folder_is_refused_unless_allowed(tmp_path: Path) -> None:
    law(tmp_path / "a", "def arrive(self, call): pass")
    (tmp_path / "b").mkdir()
    discipline = user("../a/mine.py", "Mine")
    assert "outside the scenario's folder" in str(refusal(tmp_path / "b", discipline))
    text = dumbbell(discipline)
    assert core.Scenario.from_toml(text, str(tmp_path / "b" / "s.toml"), allow_files=True).native.has_user_code


def test_the_hash_of_a_scenario_changes_with_the_source_and_with_what_it_imports(tmp_path: Path) -> None:
    body = "def arrive(self, call): return DROP if call.queue_packets > LIMIT else PASS"
    found = []
    # The sources of the imported module have equal lengths, and may have equal times.
    for limit, text in [(20, body), (20, body), (15, body), (15, body + "  # changed")]:
        (tmp_path / "limits.py").write_text(f"LIMIT = {limit}\n")
        one = law(tmp_path, text, head="from limits import LIMIT")
        found.append((one.hash, one.native.effect, report(one)["digest"]))
    assert found[0] == found[1]
    assert len({one for one, _, _ in found}) == 3
    assert len({effect for _, effect, _ in found}) == 3
    assert found[1][2] != found[2][2] == found[3][2]


def test_several_threads_for_one_run_are_refused(tmp_path: Path) -> None:
    one = law(tmp_path, "def arrive(self, call): pass")
    with pytest.raises(ValueError, match="has a law in Python, which runs on one thread"):
        core.run(one, replications=1, parallel=2)


def test_a_law_draws_only_in_its_calls() -> None:
    class Mine(core.Law):
        pass

    for draw in (Mine().random, Mine().normal, lambda: Mine().below(3), lambda: Mine().exponential(1.0)):
        with pytest.raises(RuntimeError, match="only in its calls"):
            draw()


def test_the_pinned_functions_agree_with_those_of_the_platform() -> None:
    import math

    for x in (1e-9, 0.3, 1.0, 2.5, 40.0):
        for ours, theirs in ((maths.ln, math.log), (maths.exp, math.exp), (maths.sin, math.sin), (maths.cos, math.cos)):
            assert ours(x) == pytest.approx(theirs(x), rel=1e-14)
        assert maths.log2(x) == pytest.approx(math.log2(x), rel=1e-14)
        assert maths.ln_1p(x) == pytest.approx(math.log1p(x), rel=1e-14)
        assert maths.exp_m1(x) == pytest.approx(math.expm1(x), rel=1e-14)
        assert maths.ln_gamma(x) == pytest.approx(math.lgamma(x), rel=1e-12)
        assert maths.power(x, 0.7) == pytest.approx(x**0.7, rel=1e-14)


def test_a_run_from_the_command_line_reports_the_fault(tailback: Callable[..., Any], tmp_path: Path) -> None:
    law(tmp_path, "def arrive(self, call):\n    if call.now_ps > 10**12: raise ValueError('late')")
    file = tmp_path / "scenario.toml"
    file.write_text(dumbbell(user("mine.py", "Mine")))
    failed = tailback("run", file, "--reps", "1")
    assert failed.code == 4
    assert "`Mine` of mine.py at " in failed.err
    assert "ValueError: late" in failed.err
    file.write_text(dumbbell(user("mine.py", "Yours")))
    refused = tailback("validate", file)
    assert refused.code == 3
    assert "has no class `Yours`" in refused.err
