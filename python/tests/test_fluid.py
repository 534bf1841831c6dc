"""The fluid model of a port against hand calculation and against runs, and forecasts that use it."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tailback import run
from tailback.bounds.fluid import NotModelledError, fluid, max_min
from tailback.errors import UsageError
from tailback.router.policy import import_configuration
from tailback.scenario import Scenario
from tailback.service_levels import fluid_forecast, intervals_until, targets

CLASSES = """
class-map VOICE
 match dscp ef
class-map A
 match dscp af31
class-map B
 match dscp af21
policy-map EDGE
 class VOICE
  priority percent 15
 class A
  bandwidth percent 40
  queue-limit 100 packets
 class B
  bandwidth percent 20
 class class-default
interface Serial0/0
 bandwidth 10000
 service-policy output EDGE
"""
ROWS = """name,dscp,rate,packet
voice,ef,1.2Mbit/s,1000
a,af31,{a}Mbit/s,1000
b,af21,4Mbit/s,1000
rest,be,0.5Mbit/s,1000
"""


def _edge(a: float, configuration: str = CLASSES) -> Scenario:
    """Return the scenario of a configuration in which class A is offered `a` Mbit/s."""
    found = import_configuration("mqc", configuration, traffic=ROWS.format(a=a), rate="10Mbit/s", overhead="0")
    assert found.scenario is not None
    return found.scenario


def test_max_min_divides_the_rate_that_a_demand_does_not_need_among_the_others_by_weight() -> None:
    # A rate of 8.8 for demands of 1, 6 and 4 with weights 1, 4 and 2: the first gets 1, the others share 7.8 as 2 : 1.
    assert max_min(8.8, [(1.0, 1.0), (6.0, 4.0), (4.0, 2.0)]) == pytest.approx([1.0, 5.2, 2.6])
    assert max_min(0.0, [(1.0, 1.0)]) == [0.0]
    assert max_min(5.0, [(1.0, 0.0), (2.0, 1.0)]) == [0.0, 2.0]


def test_overloaded_classes_share_what_priority_and_underloaded_classes_leave() -> None:
    # Of 10 Mbit/s voice takes 1.2 and the default class 0.5; A and B share 8.3 Mbit/s as 4 : 2, 5.533 and 2.767 Mbit/s.
    got = fluid(_edge(6.0), "ce", "sink")
    assert (got["voice"].loss, got["rest"].loss) == (pytest.approx(0), pytest.approx(0))
    assert got["a"].carried_bps == pytest.approx(8.3e6 * 2 / 3)
    assert got["a"].loss == pytest.approx(1 - 8.3 * 2 / 3 / 6)
    assert got["b"].loss == pytest.approx(1 - 8.3 / 3 / 4)
    # A full queue of 100 packets of 1000 B, served at 5.533 Mbit/s.
    assert got["a"].queue_s == pytest.approx(100 * 8000 / (8.3e6 * 2 / 3))


def test_the_policer_of_priority_acts_under_congestion_only() -> None:
    # Voice sends 3 Mbit/s: 1.5 Mbit/s pass if the link is congested, all of it otherwise.
    assert fluid(_edge(6.0), "ce", "sink", {"voice": 2.5})["voice"].carried_bps == pytest.approx(1.5e6)
    assert fluid(_edge(1.0), "ce", "sink", {"voice": 2.5})["voice"].loss == 0


def test_overloaded_priority_without_a_policer_fills_its_queue_and_starves_the_others() -> None:
    # Priority sends 12 Mbit/s into 10: a sixth is lost, its queue of 64 packets of 8 kbit takes 51 ms, and the other
    # classes get nothing.
    scenario = _edge(6.0, CLASSES.replace("priority percent 15", "priority"))
    got = fluid(scenario, "ce", "sink", {"voice": 10.0})
    assert got["voice"].loss == pytest.approx(1 / 6)
    assert got["voice"].queue_s == pytest.approx(64 * 8000 / 10e6)
    assert [got[name].carried_bps for name in ("a", "b", "rest")] == [0.0, 0.0, 0.0]
    louder = scenario.set({"flows[voice].source.rate": "12Mbit/s", "run.duration": "6s", "run.warmup": "1s"})
    report = run(louder, replications=1).reports[0]
    assert report.loss("voice") == pytest.approx(1 / 6, abs=0.01)
    assert report.mean_delay_s("voice") == pytest.approx(64 * 8000 / 10e6, rel=0.05)


def test_a_shaper_within_a_class_keeps_the_limit_of_the_class() -> None:
    # The shaper of A passes 3 of 6 Mbit/s; its queue of 100 packets of 8 kbit takes 267 ms.
    got = fluid(
        _edge(6.0, CLASSES.replace("bandwidth percent 40", "bandwidth percent 40\n  shape average 3000000")),
        "ce",
        "sink",
    )
    assert got["a"].carried_bps == pytest.approx(3e6)
    assert got["a"].queue_s == pytest.approx(100 * 8000 / 3e6)


def test_losses_of_a_run_agree_with_the_fluid_model() -> None:
    scenario = _edge(6.0)
    predicted = fluid(scenario, "ce", "sink")
    report = run(scenario.set({"run.duration": "30s", "run.warmup": "2s"}), replications=1).reports[0]
    for name, got in predicted.items():
        assert report.loss(name) == pytest.approx(got.loss, abs=0.01), name


def test_percentages_within_a_class_are_of_that_class() -> None:
    # Percentages of the child policy are of the 4 Mbit/s that the class is guaranteed, not of 10: priority has 20 % of
    # 4 Mbit/s, and next to class B with 1.6 Mbit/s the default class has the remaining 1.6 Mbit/s.
    nested = """
class-map VOICE
 match dscp ef
class-map B
 match dscp af21
class-map match-any SITE
 match dscp ef
 match dscp af21
 match dscp af31
policy-map CHILD
 class VOICE
  priority percent 20
 class B
  bandwidth 1600
 class class-default
policy-map PARENT
 class SITE
  bandwidth 4000
  service-policy CHILD
 class class-default
interface Serial0/0
 bandwidth 10000
 service-policy output PARENT
"""
    rows = (
        "name,dscp,rate,packet\nvoice,ef,1Mbit/s,1000\na,af31,4Mbit/s,1000\nb,af21,4Mbit/s,1000\nrest,be,9Mbit/s,1000\n"
    )
    found = import_configuration("mqc", nested, traffic=rows, rate="10Mbit/s", overhead="0")
    assert found.scenario is not None
    # Of the site's 4 Mbit/s priority has 0.8, class B 1.6, and the child's default class the unreserved 1.6.
    expected = {"voice": 0.2, "a": 0.6, "b": 0.6, "rest": 1 - 6 / 9}
    predicted = fluid(found.scenario, "ce", "sink")
    report = run(found.scenario.set({"run.duration": "30s", "run.warmup": "2s"}), replications=1).reports[0]
    for name, loss in expected.items():
        assert predicted[name].loss == pytest.approx(loss, abs=1e-6), name
        assert report.loss(name) == pytest.approx(loss, abs=0.015), name


def test_percentages_and_the_unreserved_rate_of_an_interface_are_of_its_bandwidth() -> None:
    # `bandwidth 10000` on a link of 100 Mbit/s: percentages and the unreserved rate are of 10 Mbit/s, not of 100.
    fast = CLASSES.replace("Serial0/0", "FastEthernet0/0").replace(" class B\n  bandwidth percent 20\n", "")
    rows = "name,dscp,rate,packet\na,af31,80Mbit/s,1000\nrest,be,80Mbit/s,1000\n"
    found = import_configuration("mqc", fast, traffic=rows, overhead="0")
    assert found.scenario is not None
    got = fluid(found.scenario, "ce", "sink")
    # Of 10 Mbit/s A reserves 4 and voice 1.5; the default class has the weight of the remaining 4.5.
    assert got["a"].carried_bps / got["rest"].carried_bps == pytest.approx(4 / 4.5)


HTB = """tc qdisc add dev eth0 root handle 1: htb default 20
tc class add dev eth0 parent 1: classid 1:1 htb rate 10mbit
tc class add dev eth0 parent 1:1 classid 1:10 htb rate 2mbit ceil 10mbit prio 0
tc class add dev eth0 parent 1:1 classid 1:20 htb rate 3mbit ceil 6mbit prio 1
tc class add dev eth0 parent 1:1 classid 1:30 htb rate 1mbit ceil 10mbit prio 1
tc filter add dev eth0 parent 1: protocol ip u32 match ip dsfield 0xb8 0xfc flowid 1:10
tc filter add dev eth0 parent 1: protocol ip u32 match ip dsfield 0x68 0xfc flowid 1:30
"""


def test_htb_serves_guarantees_first_and_lends_by_priority_and_quantum() -> None:
    rows = "name,dscp,rate,packet\nfirst,ef,3Mbit/s,1000\nmiddle,be,9Mbit/s,1000\nlast,af31,9Mbit/s,1000\n"
    found = import_configuration("tc", HTB, traffic=rows, rate="100Mbit/s", overhead="0")
    assert found.scenario is not None
    got = fluid(found.scenario, "ce", "sink")
    # 2 + 3 + 1 Mbit/s are guaranteed. Of the remaining 4 the first class borrows 1; the others share 3 Mbit/s by their
    # quanta of 37,500 and 12,500 B, as 3 : 1.
    assert got["first"].loss == pytest.approx(0)
    assert got["middle"].carried_bps == pytest.approx(3e6 + 2.25e6)
    assert got["last"].carried_bps == pytest.approx(1e6 + 0.75e6)
    report = run(found.scenario.set({"run.duration": "30s", "run.warmup": "2s"}), replications=1).reports[0]
    for name, one in got.items():
        assert report.loss(name) == pytest.approx(one.loss, abs=0.02), name


@pytest.mark.parametrize(
    ("script", "rows", "reason"),
    [
        ("tc qdisc add dev eth0 root red limit 60000 avpkt 1000", "a,be,9Mbit/s,1000,tcp\n", "depends on the network"),
        (HTB.replace(" default 20", ""), "a,be,9Mbit/s,1000,cbr\n", "htb without a default"),
    ],
)
def test_disciplines_without_a_fluid_model_are_refused_with_the_reason(script: str, rows: str, reason: str) -> None:
    text = f"name,dscp,rate,packet,model\n{rows}"
    found = import_configuration("tc", script, traffic=text, rate="10Mbit/s", overhead="0")
    assert found.scenario is not None
    with pytest.raises(NotModelledError, match=reason):
        fluid(found.scenario, "ce", "sink")


def test_policers_of_arriving_packets_are_not_applied_to_those_that_leave() -> None:
    scenario = _edge(3.0)
    policer = {"meter": {"kind": "token-bucket", "rate": "1Mbit/s", "burst": "15kB"}, "exceed": {"drop": True}}
    # A offers 3 Mbit/s. A policer at the port to the sink passes 1 Mbit/s of all groups; one that meters packets from
    # the sink does nothing to them.
    port = "switches.ce.ports.sink.conditioners"
    assert fluid(scenario.set({port: [{**policer, "flows": "a"}]}), "ce", "sink")["a"].carried_bps == pytest.approx(1e6)
    from_sink = scenario.set({port: [{**policer, "flows": "a", "direction": "ingress"}]})
    assert fluid(from_sink, "ce", "sink")["a"].carried_bps == pytest.approx(3e6)
    source = next(link["between"] for link in scenario.document["links"] if "sink" not in link["between"])
    neighbour = next(end for end in source if end != "ce")
    at_input = scenario.set({f"switches.ce.ports.{neighbour}.conditioners": [{**policer, "direction": "ingress"}]})
    with pytest.raises(NotModelledError, match="at the input of the switch"):
        fluid(at_input, "ce", "sink")


def test_an_atm_link_has_no_fluid_model() -> None:
    cells = CLASSES.replace("interface Serial0/0", "interface ATM0/0")
    found = import_configuration("mqc", cells, traffic=ROWS.format(a=6), rate="10Mbit/s")
    assert found.scenario is not None
    with pytest.raises(NotModelledError, match="the link carries other bytes"):
        fluid(found.scenario, "ce", "sink")


def test_a_forecast_is_the_factor_at_which_the_target_is_missed() -> None:
    # With 3 Mbit/s in A, B loses nothing: 3 + 4 < 8.3. B loses 20 % when it gets 3.2 Mbit/s, that is when A sends 5.1.
    (found,) = fluid_forecast(_edge(3.0), targets(["b.loss<=20%"]), ["a"])
    assert found.factor == pytest.approx(5.1 / 3, abs=0.004)
    # The queue of A holds 100 packets. Once A sends more than 5.533 Mbit/s it is full, and its delay is 145 ms.
    late, kept = fluid_forecast(_edge(3.0), targets(["a.delay<=140ms", "voice.delay<=20ms"]), ["a"])
    assert late.factor == pytest.approx(8.3 * 2 / 3 / 3, abs=0.004)
    assert kept.factor is None


@pytest.mark.parametrize(
    ("flows", "policed"),
    [
        # By name or pattern, of the whole name (docs/scenarios.md, conditioners).
        ("data1", {"data1"}),
        ("data", {"data"}),
        ("data*", {"data", "data1", "data2"}),
        ("data?", {"data1", "data2"}),
        ("data[!1]", {"data2"}),
        (None, {"data", "data1", "data2", "voice"}),
    ],
)
@pytest.mark.parametrize("by", ["flows", "match"])
def test_policers_and_class_maps_select_groups_by_name_or_pattern(
    flows: str | None, policed: set[str], by: str
) -> None:
    rows = "name,dscp,rate,packet\n" + "".join(
        f"{name},be,1Mbit/s,1000\n" for name in ("data", "data1", "data2", "voice")
    )
    found = import_configuration("mqc", CLASSES, traffic=rows, rate="10Mbit/s", overhead="0")
    assert found.scenario is not None
    # Without `accounting`, each group offers about 1 Mbit/s; all of them pass at most 0.2 Mbit/s.
    conditioner: dict[str, Any] = {
        "meter": {"kind": "token-bucket", "rate": "0.2Mbit/s", "burst": "10kB"},
        "exceed": {"drop": True},
        "per": "group",
    }
    if flows is not None:
        conditioner |= {"flows": flows} if by == "flows" else {"match": {"flows": flows}}
    port = {"switches[ce].ports.sink": {"conditioners": [conditioner]}}
    services = fluid(found.scenario.set(port), "ce", "sink")
    assert {name for name, service in services.items() if service.loss > 0.5} == policed


def test_growth_per_interval_gives_the_number_of_intervals() -> None:
    # 1.1^5 = 1.611, 1.1^4 = 1.464.
    assert intervals_until(1.6, 0.1) == 5
    assert intervals_until(1.0, 0.1) == 0
    assert intervals_until(1.21, 0.1) == 2
    assert math.isclose(1.1**2, 1.21)


@pytest.mark.parametrize(
    ("texts", "growing", "port", "message"),
    [
        (["b.jitter<=1ms"], ["a"], None, "which the model lacks"),
        (["c.loss<=1%"], ["a"], None, "no group of flows 'c'"),
        (["b.loss<=1%"], ["c"], None, "no group of flows 'c'"),
        (["b.loss<=1%"], ["a"], "nowhere", "no port 'nowhere'"),
        (["b.loss<=1%"], ["a"], "ce:nowhere", "no port 'ce:nowhere'"),
    ],
)
def test_forecasts_of_unknown_metrics_groups_and_ports_are_refused(
    texts: list[str], growing: list[str], port: str | None, message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        fluid_forecast(_edge(3.0), targets(texts), growing, port)


def test_watch_names_the_interval_in_which_the_target_is_missed_and_needs_a_growing_group(
    tailback: Callable[..., Any], tmp_path: Path
) -> None:
    path = tmp_path / "edge.toml"
    path.write_text(_edge(3.0).to_toml())
    line = ["watch", path, "--target", "b.loss<=20%", "--grow", "a", "--growth", 10, "--by", "fluid", "--quiet"]
    done = tailback(*line, "--set", "run.duration=6s", "--reps", 2)
    assert done.code == 0
    # The target breaks at a factor of 1.7; the first power of 1.1 above it is 1.1^6 = 1.77.
    assert "forecast by the fluid model: the target of b breaks at 1.7 times the rate of a" in " ".join(
        done.out.split()
    )
    assert "growing by 10 % each interval, in interval 6, 6 s from now" in " ".join(done.out.split())
    alone = tailback("watch", path, "--target", "b.loss<=20%", "--growth", 10)
    assert alone.code == 2
    assert "--grow" in alone.err
