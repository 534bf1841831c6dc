"""TCP on whole networks against closed forms of the literature."""

from __future__ import annotations

import math
from itertools import pairwise
from statistics import fmean

import pytest

import tailback as tb
from tailback import Report, Result, Scenario, run
from tailback.gallery.internet.shared.tcpmodel import pftk
from tailback.scenario import Table

SEGMENT = 1000
"""Payload of a segment, bytes."""
PACKET = SEGMENT + 40
"""Length of a packet with its headers, bytes."""
BULK = tb.source("bulk")
# RFC 5681 without later refinements, which the formulas do not model.
BARE: Table = {
    "segment": f"{SEGMENT}B",
    "handshake": False,
    "initial_window": 2,
    "spurious_timeout": "off",
    "limited_transmit": False,
    "slow_start_restart": False,
}
COUNTED = tb.kind("sack", prr=False, rack=False, tlp=False)
"""Recovery by SACK as in RFC 6675, which detects losses by counting segments."""


def ack_every(every: int) -> Table:
    """Return options for an acknowledgement per `every` segments, and for growth per acknowledgement, not per byte."""
    return {
        "delayed_ack": {"every": every, "timeout": "100ms"},
        "congestion_control": tb.kind("reno", byte_counting=1),
    }


def path(
    transport: Table, *, loss: float, rtt: float, duration: str, warmup: str = "20s", sample: str | None = None
) -> Scenario:
    """Return a scenario of one flow over a link of 1 Gbit/s with random loss; `rtt` is in seconds."""
    return (
        Scenario(duration=duration, warmup=warmup, framing="none", buffer="unlimited", sample=sample)
        .host("a")
        .host("b")
        .link(["a", "b"], rate="1Gbit/s", delay=f"{rtt * 500:g}ms", loss=loss)
        .flow("tcp", "a", "b", BULK, transport=transport, probe=sample is not None)
    )


def dumbbell(
    flows: int,
    *,
    rate: float = 10,
    buffer: int = 80,
    delays: tuple[str, str] = ("9ms", "29ms"),
    discipline: Table | None = None,
    duration: str = "60s",
    warmup: str = "10s",
    **transport: tb.scenario.Value,
) -> Scenario:
    """Return a scenario of bulk flows over a bottleneck; `rate` is in Mbit/s, `buffer` in packets.

    `delays` are the one-way delays of the first and of the last sender's link. Those of the others are evenly spaced.
    """
    port: Table = {"buffer": f"{buffer * PACKET}B"}
    if discipline is not None:
        port["discipline"] = discipline
    return (
        Scenario(duration=duration, warmup=warmup, framing="none", buffer="unlimited")
        .host("s", count=flows)
        .host("t", count=flows)
        .switch("r0", ports={"r1": port})
        .switch("r1")
        .link(["s*", "r0"], rate="100Mbit/s", delay=list(delays))
        .link(["r0", "r1"], rate=f"{rate:g}Mbit/s", delay="10ms")
        .link(["r1", "t*"], rate="100Mbit/s", delay="1ms")
        .flow("tcp", "s*", "t*", BULK, pair="zip", start_spread="1s", transport=tb.tcp(**{**BARE, **transport}))
    )


def red(**changes: tb.scenario.Value) -> Table:
    """Return RED with thresholds of 16 and 64 packets, and changed parameters."""
    return tb.discipline("red", **{"min": "16packets", "max": "64packets", "max_p": 0.1, "weight": 0.002, **changes})


def series(report: Report, quantity: str) -> list[float]:
    """Return the time series of a quantity of the flow."""
    found = report.data["series"]
    assert found is not None
    return found["transports"]["tcp"][quantity]


def segments_per_s(result: Result) -> float:
    """Return the mean goodput over replications, segments/s."""
    return fmean(report.goodput_bps() for report in result.reports) / 8 / SEGMENT


# Mathis, Semke, Mahdavi and Ott 1997, table 1: independent losses, every or every second segment acknowledged.
@pytest.mark.parametrize(("every", "constant"), [(1, 1.31), (2, 0.93)])
@pytest.mark.parametrize("loss", [0.001, 0.01])
def test_goodput_under_random_loss_follows_the_formula_of_mathis(every: int, constant: float, loss: float) -> None:
    transport = tb.tcp(**{**BARE, **ack_every(every), "recovery": COUNTED})
    result = run(path(transport, loss=loss, rtt=0.1, duration=f"{20 + 1 / loss:g}s", sample="1s"), replications=4)
    # The model uses the measured RTT, which delayed acknowledgements increase.
    rtt = fmean(t for report in result.reports for t in series(report, "smoothed_rtt_s")[20:])
    assert segments_per_s(result) == pytest.approx(constant / (rtt * math.sqrt(loss)), rel=0.15)


# With a loss of 5 % and every second segment acknowledged, Reno sends 20 % less than the model, which assumes that no
# acknowledgement is lost; ns-2 agrees with Tailback.
@pytest.mark.parametrize(
    ("every", "loss"), [(1, 0.001), (1, 0.01), (1, 0.02), (1, 0.05), (2, 0.001), (2, 0.01), (2, 0.02)]
)
def test_the_rate_of_reno_is_within_20_percent_of_padhyes_model(every: int, loss: float) -> None:
    assert reno_sends(every, loss, "1000s") == pytest.approx(pftk(loss, 0.1, 1.0, every), rel=0.2)


@pytest.mark.slow
@pytest.mark.parametrize("every", [1, 2])
@pytest.mark.parametrize("loss", [0.0005, 0.002, 0.005, 0.01, 0.02])
def test_the_rate_of_reno_over_a_long_time_is_within_12_percent_of_padhyes_model(every: int, loss: float) -> None:
    assert reno_sends(every, loss, "20000s") == pytest.approx(pftk(loss, 0.1, 1.0, every), rel=0.12)


def reno_sends(every: int, loss: float, duration: str) -> float:
    """Return the mean rate at which Reno sends segments, with retransmissions, segments/s."""
    timers = {"min-rto": "1s", "initial-rto": "1s"}
    transport = tb.tcp(**{**BARE, **ack_every(every), "recovery": tb.kind("reno"), "timers": timers})
    result = run(path(transport, loss=loss, rtt=0.1, duration=duration), replications=3)
    return fmean(report.transports()[0]["segments"] / report.measured_s for report in result.reports)


@pytest.mark.parametrize("recovery", ["reno", "newreno", "sack"])
@pytest.mark.parametrize("share", [0.02, 0.25, 0.5, 0.75, 1.0])
def test_the_utilisation_by_one_flow_is_that_of_its_sawtooth(recovery: str, share: float) -> None:
    # The bandwidth-delay product of 10 Mbit/s and 83.2 ms is 100 packets, and the buffer holds `share` of it. The
    # window rises from (1 + share)/2 to 1 + share products; the link is not full while the window is below one product.
    scenario = dumbbell(
        1,
        buffer=round(100 * share),
        delays=("30.6ms", "30.6ms"),
        duration="400s",
        warmup="50s",
        recovery=COUNTED if recovery == "sack" else tb.kind(recovery),
        **ack_every(1),
    )
    (report,) = run(scenario, replications=1).reports
    expected = 0.75 * (1 + share) ** 2 / (1 + share + share**2)
    assert report.utilisation("r0->r1") == pytest.approx(expected, abs=0.015)


@pytest.mark.parametrize(("every", "counting"), [(1, 1), (2, 2)])
def test_slow_start_doubles_the_window_each_round_trip(every: int, counting: int) -> None:
    transport = tb.tcp(
        **{**BARE, "delayed_ack": {"every": every}, "congestion_control": tb.kind("reno", byte_counting=counting)}
    )
    scenario = path(transport, loss=0.0, rtt=0.1, duration="1s", warmup="0s", sample="100ms")
    windows = series(run(scenario, replications=1).reports[0], "window_segments")[:8]
    assert windows[-1] >= 128
    for before, after in pairwise(windows[1:]):
        assert after == pytest.approx(2 * before, rel=0.02)


@pytest.mark.parametrize("discipline", [None, red()])
def test_flows_over_equal_paths_have_a_fairness_index_above_0_95(discipline: Table | None) -> None:
    scenario = dumbbell(8, delays=("10ms", "10ms"), discipline=discipline, duration="120s")
    for report in run(scenario, replications=3).reports:
        rates = report.goodputs_bps()
        assert sum(rates) ** 2 / (len(rates) * sum(rate**2 for rate in rates)) > 0.95


def test_the_ratio_of_rates_is_between_the_ratio_of_round_trip_times_and_its_square() -> None:
    # The ratio of rates is the ratio of RTTs to a power between 1 and 2 (Lakshman and Madhow 1997). Without the queue
    # the RTTs are 2 · (4 + 10 + 1) = 30 ms and 2 · (34 + 10 + 1) = 90 ms.
    scenario = dumbbell(2, delays=("4ms", "34ms"), discipline=red(), duration="200s")
    result = run(scenario, replications=3)
    near, far = (fmean(report.goodputs_bps()[i] for report in result.reports) for i in range(2))
    queue = fmean(report.mean_queue_bytes("r0->r1") * 8 / 10e6 for report in result.reports)
    ratio = (0.090 + queue) / (0.030 + queue)
    assert ratio < near / far < ratio**2


@pytest.mark.parametrize("discipline", [None, red(), red(ecn=True), tb.discipline("codel"), tb.discipline("sfb")])
def test_packets_are_conserved_and_littles_law_holds(discipline: Table | None) -> None:
    scenario = dumbbell(8, discipline=discipline, warmup="0s", ecn="classic").set(per_flow_delay=True)
    (report,) = run(scenario, replications=1).reports
    assert report.dropped_packets() + sum(t["ecn_reductions"] for t in report.transports()) > 0
    waited = 0.0
    for i, flow in enumerate(report.flows()):
        outcomes = ("delivered", "dropped", "in_network")
        for unit in ("packets", "bytes"):
            assert flow["offered"][unit] == sum(flow[part][unit] for part in outcomes)  # type: ignore[literal-required]
        fixed = 0.010 + 0.001 + (0.009 + 0.020 * i / 7) + PACKET * 8 * (1 / 100e6 + 1 / 10e6 + 1 / 100e6)
        assert flow["delay"]["mean_s"] is not None
        waited += flow["delay"]["count"] * (flow["delay"]["mean_s"] - fixed)
    backlog = 0.0
    for port in report.ports():
        for row in port["classes"]:
            assert row["arrived"]["packets"] == sum(row[part]["packets"] for part in ("sent", "dropped", "queued"))
            backlog += row["mean_bytes"]
    # The backlog, but not the delays, includes the waiting times of packets that are dropped or queued at the end.
    assert backlog / PACKET * report.measured_s == pytest.approx(waited, rel=0.02)


@pytest.mark.parametrize("discipline", [None, red(ecn=True), tb.discipline("fq-codel")])
def test_threads_and_engine_do_not_change_a_digest_with_transports(discipline: Table | None) -> None:
    scenario = dumbbell(16, discipline=discipline, duration="15s", warmup="2s", ecn="classic", handshake=True)
    expected = run(scenario, replications=3, threads=1).digest
    assert run(scenario, replications=3, threads=3).digest == expected
    assert run(scenario, replications=3, threads=1, engine="plain").digest == expected
    assert run(scenario, replications=3, seed=2).digest != expected


def losses(flows: int, *, replications: int = 3, **changes: tb.scenario.Value) -> float:
    """Return the mean loss at the bottleneck, as a fraction of the arriving packets."""
    scenario = dumbbell(flows, **{"warmup": "20s", "duration": "100s", **changes})  # type: ignore[arg-type]
    return fmean(report.port_loss("r0->r1") for report in run(scenario, replications=replications).reports)


@pytest.mark.parametrize("discipline", [None, red()])
def test_loss_grows_up_to_quadratically_with_the_flows_and_more_slowly_with_many(discipline: Table | None) -> None:
    # p = (N MSS C / (L RTT))^2. The RTT includes the queue, which grows with N, so that the exponent is below 2.
    found = {n: losses(n, discipline=discipline, **ack_every(1)) for n in (4, 8, 16, 32, 64)}
    exponents = {n: math.log2(found[2 * n] / found[n]) for n in (4, 8, 16, 32)}
    assert all(1.2 < exponents[n] <= 2 for n in (4, 8))
    assert exponents[32] < exponents[16] < exponents[8]


def test_loss_falls_with_the_round_trip_time_and_with_smaller_segments() -> None:
    base = losses(16, discipline=red(), delays=("10ms", "10ms"))
    longer = losses(16, discipline=red(), delays=("40ms", "40ms"))
    smaller = losses(16, discipline=red(), delays=("10ms", "10ms"), segment="500B")
    assert 2 < base / longer < 4.5
    assert smaller < base
