"""Schedulers and traffic sources that the user has written in Python."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest
from components import LAWS, drops, report

import tailback as core

NETWORK = """
tailback = 1
[run]
duration = "2s"
seed = 3
sample = "100ms"
[network]
classes = 1
discipline = DISCIPLINE
buffer = "100packets"
[hosts]
a = { count = 3 }
b = {}
[switches.s]
[[links]]
between = ["a*", "s"]
rate = "100Mbit/s"
delay = "1ms"
[[links]]
between = ["s", "b"]
rate = "5Mbit/s"
delay = "1ms"
[[flows]]
name = "one"
from = "a1"
to = "b"
dscp = "ef"
source = { kind = "poisson", packet = "200B", rate = "1Mbit/s" }
[[flows]]
name = "two"
from = "a2"
to = "b"
dscp = "af11"
source = { kind = "poisson", packet = "1400B", sizes = "exponential", rate = "3Mbit/s" }
[[flows]]
name = "three"
from = "a3"
to = "b"
source = SOURCE
TRANSPORT
"""
BULK = '{ kind = "bulk" }'
TCP = 'transport = { kind = "tcp" }'
POISSON = '{ kind = "poisson", packet = "1000B", rate = "3Mbit/s" }'
QUEUES = (
    '[{ name = "ef", match = { dscp = ["ef"] } }, { name = "af", match = { dscp = ["af11"] }, limit = "20packets", '
    'discipline = { kind = "red" } }, { name = "rest", discipline = { kind = "codel" } }]'
)


def scenario(folder: Path, discipline: str, source: str = BULK, transport: str = TCP) -> core.Scenario:
    """Return a network with three flows over one link; files are in `folder`."""
    text = NETWORK.replace("DISCIPLINE", discipline).replace("SOURCE", source).replace("TRANSPORT", transport)
    return core.Scenario.from_toml(text, str(folder / "scenario.toml"))


def scheduler(name: str, parameters: str = "{}", file: str = "schedulers.py", queues: str = QUEUES) -> str:
    """Return a discipline with a scheduler of the user."""
    made = f'{{ file = "{file}", class = "{name}", parameters = {parameters} }}'
    return f'{{ kind = "user-scheduler", scheduler = {made}, queues = {queues} }}'


@pytest.mark.parametrize("engine", ["merged", "plain"])
@pytest.mark.parametrize(("source", "transport"), [(BULK, TCP), (POISSON, "")])
def test_priority_in_python_chooses_as_the_built_in_one(source: str, transport: str, engine: str) -> None:
    theirs = report(scenario(LAWS, f'{{ kind = "priority", levels = {QUEUES} }}', source, transport), engine=engine)
    ours = report(scenario(LAWS, scheduler("Priority"), source, transport), engine=engine)
    assert ours["digest"] == theirs["digest"]
    assert drops(ours) > 10


def test_round_robin_in_python_chooses_as_the_built_in_one() -> None:
    classes = (
        '[{ name = "ef", match = { dscp = ["ef"] }, weight = 1 }, { name = "af", match = { dscp = ["af11"] }, '
        'limit = "20packets", weight = 2, discipline = { kind = "red" } }]'
    )
    default = '{ weight = 3, discipline = { kind = "codel" } }'
    built_in = f'{{ kind = "wrr", count = "bytes", quantum = "1500B", classes = {classes}, default = {default} }}'
    theirs = report(scenario(LAWS, built_in))
    ours = report(scenario(LAWS, scheduler("RoundRobin", "{ quanta = [1500, 3000, 4500] }")))
    assert ours["digest"] == theirs["digest"]
    assert drops(ours) > 10


def written(folder: Path, body: str) -> core.Scenario:
    """Return the network with a scheduler whose class has this body."""
    lines = "\n".join("    " + line for line in body.splitlines())
    (folder / "mine.py").write_text(f"import tailback\n\nclass Mine(tailback.Scheduler):\n{lines}\n")
    return scenario(folder, scheduler("Mine", file="mine.py"))


FIRST = "def select(self, call):\n    return next(i for i, queue in enumerate(call.queues) if queue.ready)\n"


def test_a_scheduler_may_leave_the_link_idle_until_its_timer(tmp_path: Path) -> None:
    # One packet each 10 ms: 200 in 2 s by each port that has enough packets.
    body = """
probes = ("sent_packets",)
def start(self, call):
    self.sent_packets, self.free_ps = 0, 0
def select(self, call):
    if call.now_ps < self.free_ps:
        self.wake_ps = self.free_ps
        return None
    return next(i for i, queue in enumerate(call.queues) if queue.ready)
def sent(self, call):
    assert call.wire > 0 and call.size > 0
    self.sent_packets += 1
    self.free_ps = call.now_ps + 10_000_000_000
def timer(self, call):
    assert self.wake_ps is None and call.now_ps >= self.free_ps
"""
    found = report(written(tmp_path, body))
    sent = found["series"]["ports"]["s->b"]["state"]["sent_packets"]
    assert sent[-1] in (199, 200)
    assert max(after - before for before, after in pairwise(sent)) <= 10


def test_a_scheduler_sees_arrivals_and_the_state_of_its_queues(tmp_path: Path) -> None:
    body = (
        """
probes = ("arrived_packets", "sent_packets", "idle_times")
def start(self, call):
    assert len(call.queues) == 3 and all(queue.packets == 0 and not queue.ready for queue in call.queues)
    self.arrived_packets = self.sent_packets = self.idle_times = 0
def arrived(self, call):
    self.arrived_packets += 1
    assert call.queues[call.queue].packets > 0 and call.queues[call.queue].bytes >= call.size > 0
def sent(self, call):
    self.sent_packets += 1
def idle(self, call):
    self.idle_times += 1
    assert all(queue.packets == 0 for queue in call.queues)
"""
        + FIRST
    )
    found = report(written(tmp_path, body))
    port = next(port for port in found["ports"] if port["name"] == "s->b")
    state = found["series"]["ports"]["s->b"]["state"]
    counts = port["classes"][0]
    # The last packet may be in transmission.
    assert state["sent_packets"][-1] - counts["sent"]["packets"] in (0, 1)
    # Packets that a queue drops at their arrival are not reported.
    assert counts["sent"]["packets"] < state["arrived_packets"][-1] < counts["arrived"]["packets"]
    assert state["idle_times"][-1] > 0


@pytest.mark.parametrize(
    ("discipline", "message"),
    [
        (scheduler("Priority", queues="[]"), "there are no queues"),
        (scheduler("Constant", file="sources.py"), "is not derived from tailback.Scheduler"),
        (scheduler("Priority").replace("queues =", 'default = "gold", queues ='), "no queue is named `gold`"),
        (scheduler("Priority", "{ a = 1 }"), "`Priority` has no parameter `a`"),
        ('{ kind = "user-scheduler", queues = [{}] }', "scheduler"),
    ],
)
def test_a_scheduler_that_cannot_be_used_is_refused(discipline: str, message: str) -> None:
    with pytest.raises(core.ScenarioError) as refused:
        scenario(LAWS, discipline)
    assert message in str(refused.value)


def user(name: str, parameters: str = "{}", file: str = "sources.py") -> str:
    """Return a source of the user."""
    return f'{{ kind = "user", file = "{file}", class = "{name}", parameters = {parameters} }}'


@pytest.mark.parametrize("transport", ["", TCP])
def test_a_constant_source_in_python_emits_as_the_built_in_one(transport: str) -> None:
    built_in = '{ kind = "cbr", packet = "700B", interval = "2ms", phase = "zero" }'
    fifo = '{ kind = "drop-tail" }'
    theirs = report(scenario(LAWS, fifo, built_in, transport))
    ours = report(scenario(LAWS, fifo, user("Constant", '{ packet = 700, interval = "2ms" }'), transport))
    assert ours["digest"] == theirs["digest"]
    if not transport:
        assert next(flow for flow in ours["flows"] if flow["name"] == "three")["offered"]["packets"] == 1001


def test_a_poisson_source_draws_from_the_stream_of_its_flow() -> None:
    one = scenario(LAWS, '{ kind = "drop-tail" }', user("Poisson", '{ mean = "2ms" }'), "")
    found = [report(one, seed) for seed in (3, 3, 4)]
    assert found[0]["digest"] == found[1]["digest"] != found[2]["digest"]
    offered = next(flow for flow in found[0]["flows"] if flow["name"] == "three")["offered"]["packets"]
    # 1000 packets expected; five standard deviations are 158.
    assert abs(offered - 1000) < 158


def test_a_source_is_made_anew_after_a_stop(tmp_path: Path) -> None:
    body = """
import tailback

class Mine(tailback.Source):
    def start(self, call):
        assert not hasattr(self, "emitted")
        self.emitted = 0
    def next(self, call):
        self.emitted += 1
        return None if self.emitted > 5 else (call.now_ps + 1_000_000_000, 500)
"""
    (tmp_path / "mine.py").write_text(body)
    one = scenario(tmp_path, '{ kind = "drop-tail" }', user("Mine", file="mine.py"), "")
    change = '\n[[timeline]]\nat = "{}"\nflow = "three"\nstate = "{}"\n'
    timeline = change.format("1s", "stop") + change.format("1.2s", "start")
    again = core.Scenario.from_toml(one.to_toml() + timeline, str(tmp_path / "scenario.toml"))
    counts = [
        next(flow for flow in report(each)["flows"] if flow["name"] == "three")["delivered"]["bytes"]
        for each in (one, again)
    ]
    assert counts == [2500, 5000]


def test_a_source_must_define_next(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "import tailback\nclass Mine(tailback.Source):\n    def start(self, call): pass\n"
    )
    with pytest.raises(core.ScenarioError, match="does not define `next`"):
        scenario(tmp_path, '{ kind = "drop-tail" }', user("Mine", file="mine.py"), "")
