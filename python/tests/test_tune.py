"""Searches for the cheapest setting that meets targets, compared with queueing theory and with exhaustive searches."""

import pytest

from tailback.errors import UsageError
from tailback.router.policy import import_configuration
from tailback.scenario import Scenario, source
from tailback.study.tune import cost, parameter, target, tune


def queue() -> Scenario:
    """Return an M/D/1/K queue: Poisson packets of 1000 B at 8 Mbit/s on a link of 10 Mbit/s."""
    return (
        Scenario(duration="22s", warmup="2s", framing="none", buffer="unlimited", replications=3)
        .host("a")
        .host("b")
        .switch("sw", ports={"b": {"buffer": "50packets"}})
        .link(["a", "sw"], rate="10Gbit/s")
        .link(["sw", "b"], rate="10Mbit/s")
        .flow("data", "a", "b", source("poisson", packet="1000B", rate="8Mbit/s"))
    )


BUFFER = "switches.sw.ports.b.buffer"


def loss(places: int) -> float:
    """Return the loss of M/D/1/K at a load of 0.8 with `places` waiting places, by the embedded chain of departures."""
    import math

    load = 0.8
    # Probability of k arrivals during a service, and weight of n packets in the system after a departure.
    arrivals = [math.exp(-load) * load**k / math.factorial(k) for k in range(places + 2)]
    weights = [1.0]
    for n in range(places):
        total = weights[n] - arrivals[n] * weights[0] - sum(arrivals[n - j + 1] * weights[j] for j in range(1, n + 1))
        weights.append(total / arrivals[0])
    p0 = weights[0] / sum(weights[: places + 1])
    return 1 - 1 / (p0 + load)


def test_the_smallest_buffer_that_meets_a_loss_target_is_within_one_packet_of_that_of_queueing_theory():
    limit = 0.01
    # One waiting place more or less changes the loss by a third.
    smallest = next(k for k in range(1, 50) if loss(k) <= limit)
    found = tune(queue(), [parameter(f"{BUFFER}=1packets..20packets", 20)], [target("data.loss<=1%")], [cost(BUFFER)])
    assert found.is_exhaustive
    assert abs(found.cost - smallest) <= 1
    assert found.settings == {BUFFER: f"{int(found.cost)}packets"}
    again = tune(queue(), [parameter(f"{BUFFER}=1packets..20packets", 20)], [target("data.loss<=1%")], [cost(BUFFER)])
    assert again.as_json() == found.as_json()


def test_evolution_finds_the_link_rate_of_the_exhaustive_search():
    vary = [parameter(f"{BUFFER}=1packets..20packets", 20), parameter("links[1].rate=9Mbit/s..14Mbit/s", 6)]
    goals = [target("data.loss<=0.5%"), target("data.delay<=3ms")]
    prices = [cost(f"0.01*{BUFFER}"), cost("links[1].rate")]
    base = queue().set(duration="8s")
    exhaustive = tune(base, vary, goals, prices, budget=120, replications=1, confirmations=2)
    evolved = tune(base, vary, goals, prices, budget=80, replications=1, confirmations=2)
    assert exhaustive.is_exhaustive
    assert not evolved.is_exhaustive
    assert evolved.tried <= 80
    # The rate dominates the cost; evolution may end with another buffer.
    assert evolved.settings["links[1].rate"] == exhaustive.settings["links[1].rate"]
    assert evolved.cost >= exhaustive.cost


def test_a_target_that_no_candidate_meets_is_reported_as_missed():
    found = tune(queue(), [parameter(f"{BUFFER}=1packets|2packets")], [target("data.loss<=0.01%")], replications=1)
    assert not found.is_met
    assert found.checks[0].state == "missed"
    assert found.settings == {BUFFER: "2packets"}


def test_a_candidate_that_the_confirmation_refutes_is_followed_by_the_next_cheapest():
    # Two seconds of one replication are a small sample: the cheapest candidates meet the target by chance.
    base = queue().set(duration="3s", warmup="1s")
    places = [parameter(f"{BUFFER}=1packets..30packets", 30)]
    found = tune(base, places, [target("data.loss<=1%")], [cost(BUFFER)], replications=1, confirmations=20)
    assert len(found.attempts) > 1
    assert found.is_met
    assert found.best is found.attempts[-1]
    assert [attempt.is_met for attempt in found.attempts] == [False] * (len(found.attempts) - 1) + [True]
    assert [attempt.cost for attempt in found.attempts] == sorted(attempt.cost for attempt in found.attempts)
    # The error probability is halved at each further attempt: 5 %, 2.5 %, 1.25 %, ...
    assert [round(1 - attempt.confidence, 9) for attempt in found.attempts] == [
        round(0.05 / 2**k, 9) for k in range(len(found.attempts))
    ]
    # By theory the confirmed buffer is large enough.
    assert loss(int(found.cost)) <= 0.01
    assert [one["met"] for one in found.as_json()["attempts"]] == [attempt.is_met for attempt in found.attempts]


@pytest.mark.parametrize(
    ("read", "text", "message"),
    [
        (parameter, "network.buffer", "is not path=lo..hi"),
        (parameter, "a=10packets..2kB", "is not a range"),
        (parameter, "a=20..10", "lower end first"),
        (target, "voice.delay<20ms", "is not a target"),
        (target, "voice.colour<=20ms", "metrics are"),
        (target, "voice.delay<=20", "cannot limit delay"),
        (cost, "much*a", "is not a cost"),
    ],
)
def test_malformed_parameters_targets_and_costs_are_refused_with_advice(read, text, message):
    with pytest.raises(UsageError, match=message):
        read(text)


def test_unknown_groups_of_targets_and_paths_of_costs_are_refused():
    with pytest.raises(UsageError, match="the groups are data"):
        tune(queue(), [parameter(f"{BUFFER}=1packets|2packets")], [target("voice.loss<=1%")])
    with pytest.raises(UsageError, match="is not a varied path"):
        tune(queue(), [parameter(f"{BUFFER}=1packets|2packets")], [target("data.loss<=1%")], [cost("other")])


@pytest.mark.parametrize(
    "wanted", ["calls.mos>=3.6", "calls.delay.p99<=50ms", "calls.pdv.p99<=9ms", "calls.jitter<=9ms"]
)
def test_a_setting_under_which_a_group_starves_misses_its_target(wanted):
    # Bulk has strict priority over the calls, and with 12 Mbit/s it fills the link of 10 Mbit/s: no call arrives.
    script = """tc qdisc add dev eth0 root handle 1: prio bands 2 priomap 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1
tc filter add dev eth0 parent 1: protocol ip prio 1 u32 match ip dsfield 0x28 0xfc flowid 1:1
"""
    table = "name,dscp,rate,packet\nbulk,af11,1Mbit/s,1000\ncalls,ef,80kbit/s,200"
    made = import_configuration("tc", script, traffic=table, rate="10Mbit/s", overhead="0").check()
    rate = "flows[bulk].source.rate"
    found = tune(made.set(duration="4s"), [parameter(f"{rate}=12Mbit/s|5Mbit/s")], [target(wanted)], replications=2)
    assert found.is_met
    assert found.settings == {rate: "5Mbit/s"}
