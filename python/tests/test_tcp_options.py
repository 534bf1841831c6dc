"""Options of the transport for the behaviour of ns-2.35, and ECT(1), from Python down to the engine."""

from __future__ import annotations

import re

import pytest

import tailback as tb
from tailback.scenario import Table

ADAPTIVE = tb.discipline(
    "red", min="20packets", max="80packets", max_p=0.1, count="packets", ecn=True, adaptive={"kind": "feng"}
)


def merge(transport: Table, flows: int = 20, rate: str = "1500kbit/s", queue: Table = ADAPTIVE) -> tb.Result:
    """Run bulk flows over one bottleneck with a buffer of 100 packets."""
    scenario = (
        tb.Scenario(duration="40s", warmup="10s", framing="none", buffer="unlimited")
        .host("s", count=flows)
        .host("t", count=flows)
        .switch("a", ports={"b": {"buffer": "100packets", "discipline": queue}})
        .switch("b")
        .link(["a", "b"], rate=rate, delay="20ms")
        .link(["s*", "a"], rate="100Mbit/s", delay=["1ms", "20ms"])
        .link(["b", "t*"], rate="100Mbit/s", delay="1ms")
        .flow("tcp", "s*", "t*", tb.source("bulk"), pair="zip", start_spread="1s", transport=transport)
    )
    return tb.run(scenario, replications=2)


def test_waiting_for_a_timeout_at_small_windows_reduces_loss() -> None:
    """100 windows of one segment do not fit into a T1 link and its buffer."""
    loss = {}
    for floor in ("none", "rfc3168", "backoff", "ns-2"):
        result = merge(tb.tcp(segment="960B", ecn="classic", ecn_floor=floor), 100)
        loss[floor] = sum(report.port_loss("a->b") for report in result.reports) / 2
    assert loss["none"] > 0.05
    # One segment per timeout is less load than one per round trip, one per backed-off timeout even less.
    assert loss["rfc3168"] < loss["none"]
    assert all(loss[floor] < min(loss["rfc3168"], 0.9 * loss["none"]) for floor in ("backoff", "ns-2"))


@pytest.mark.parametrize(("floor", "cure"), [(True, '"backoff" (which `true` meant'), (False, 'write "none"')])
def test_the_former_booleans_of_ecn_floor_are_refused_with_advice(floor: bool, cure: str) -> None:
    """No former meaning of `true` or `false` is assumed silently."""
    with pytest.raises(tb.ScenarioError, match=re.escape(cure)):
        merge(tb.tcp(ecn="classic", ecn_floor=floor), 2)


def test_no_flow_starves_because_of_ecn_echoes_that_it_has_answered() -> None:
    """After a timeout in slow start the receiver echoes until CWR arrives, which retransmissions may not carry."""
    red = tb.discipline("red", min="20packets", max="80packets", max_p=0.25, count="packets", ecn=True)
    transport = tb.tcp(
        segment="1000B", ecn="classic", recovery=tb.kind("newreno"), timestamps=False, handshake=False, initial_window=2
    )
    for report in merge(transport, 8, "10Mbit/s", red).reports:
        rates = report.goodputs_bps()
        assert min(rates) > 0.2 * max(rates)


@pytest.mark.parametrize(
    ("options", "changed"),
    [
        ({"recovery": tb.kind("newreno")}, {"limited_transmit": "always"}),
        ({"recovery": tb.kind("sack", prr=False, rack=False, tlp=False, forget=True)}, {"limited_transmit": "always"}),
        ({}, {"recovery": tb.kind("newreno", exit="open")}),
        ({}, {"recovery": tb.kind("sack", prr=False, rack=False, tlp=False, pipe="count", forget=True)}),
        ({}, {"congestion_control": tb.kind("reno", reduction="window")}),
        ({}, {"congestion_control": tb.kind("reno", hystart=True)}),
    ],
)
def test_each_option_reaches_the_engine(options: Table, changed: Table) -> None:
    """A run with the changed option has another digest."""
    drop_tail = tb.discipline("drop-tail")
    runs = [merge(tb.tcp(segment="960B", **more), queue=drop_tail) for more in (options, {**options, **changed})]
    plain, other = ([report.data["digest"] for report in run.reports] for run in runs)
    assert plain != other


def test_ect_1_has_less_delay_than_ect_0_under_dualpi2() -> None:
    """DualPI2 distinguishes ECT(1) from ECT(0)."""
    queue = tb.discipline("dualpi2")
    # A packet takes 1.2 ms, so that the step of 1 ms in the L queue keeps windows at a few packets.
    runs = [merge(tb.tcp(ecn="classic", ect=ect), 4, "10Mbit/s", queue) for ect in ("ect0", "ect1")]
    delays = [run.reports[0].data["flows"][0]["delay"]["mean_s"] for run in runs]
    assert delays[1] < delays[0]
