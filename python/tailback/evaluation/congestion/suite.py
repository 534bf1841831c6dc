"""TCP evaluation suite: basic scenarios, latency, throughput and fairness, with synthesised connection vectors."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from tailback.evaluation.case import Case, Entry, Ratio, Trend, missing, not_applicable, run
from tailback.evaluation.choice import Length
from tailback.evaluation.congestion import choices
from tailback.evaluation.congestion.common import table
from tailback.evaluation.congestion.criteria import (
    bytes_time,
    drop_rate,
    dropped,
    largest_step,
    mean_completion,
    port_delay,
    smallest_share,
    window_time,
)
from tailback.evaluation.congestion.network import dumbbell, parking_lot, standard, suite, vectors
from tailback.evaluation.criteria import Criterion, criterion, goodput, ratio, utilisation
from tailback.evaluation.network import REVERSE, bulk, packets_of_delay
from tailback.results.report import Report
from tailback.scenario import Scenario, Table, Value, source

__all__ = ["entries"]


def entries(length: Length) -> Iterable[Entry]:
    """Return the entries of the suite for an effort: quick evaluations have fewer loads, and one lower rate."""
    full = length.full
    yield run(
        "tcpeval/2",
        note="synthesised connection vectors: Poisson arrivals of transfers with Pareto sizes, and sessions with "
        "Pareto think times; the Tmix traces cannot be redistributed, and results are not comparable with theirs",
    )
    yield not_applicable(
        "tcpeval/3", "start-up of Tmix; here, measured after a warm-up, with intervals over replications"
    )
    yield run("tcpeval/4.1", note="the topology of all rows from 4.4.1 to 5.1")
    yield run("tcpeval/4.2", note="with `--quick`, a load of 85 %; with `--full`, 60, 85 and 110 %")
    yield run("tcpeval/4.3", note="all flows of the rows from 4.4.1 to 5.1 use the evaluated congestion control")
    loads = choices.LOADS.value if full else choices.LOADS.value[1:2]
    for place in _places(full):
        yield run(f"tcpeval/{place.section}", *(_basic(place, load) for load in loads), note=place.note)
    yield missing(
        "tcpeval/4.4.5", "Tailback has no medium access of IEEE 802.11; row 6.4 of RFC 9743 has its effects on a path"
    )
    yield run("tcpeval/4.5", note="of both directions in rows 4.4.1 to 4.4.6; completion times as well")
    yield _tradeoff(_places(full)[1])
    yield run(
        "tcpeval/5.2",
        *(_ramp_up(*rtts) for rtts in choices.RAMP_RTTS.value),
        note="central link of 10 Mbit/s; congestion controls without a slow-start threshold start as usual",
    )
    yield run(
        "tcpeval/5.3",
        _release(),
        _arrival("one step", 1, choices.STEP.value),
        _arrival(f"{choices.STEPS.value} steps", choices.STEPS.value, choices.STEP.value / choices.STEPS.value),
        note="the window is the sender's limit of data in flight",
    )
    yield _impact()
    yield _fairness(choices.FAIR_BUFFERS.value if full else choices.FAIR_BUFFERS.value[2:3])
    parking = choices.PARKING_LOADS.value if full else choices.PARKING_LOADS.value[-1:]
    yield run("tcpeval/6.3", *map(_parking, parking), _parking_bulk())


@dataclass(frozen=True, slots=True)
class _Place:
    """A basic scenario."""

    section: str
    title: str
    capacity_mbps: float
    central_ms: float
    buffer_ms: float
    edge_mbps: float
    note: str = ""
    back_mbps: float | None = None
    back_buffer_ms: float | None = None
    senders_ms: tuple[float, ...] = choices.RIGHT.value
    receivers_ms: tuple[float, ...] = choices.LEFT.value
    mean_kb: float = 60.0
    seconds: tuple[float, float] | None = None
    """Duration and warm-up, s, instead of those of the effort."""


def _shorter() -> tuple[float, float]:
    duration, warmup = choices.SHORTER.value
    return float(duration), float(warmup)


def _places(full: bool) -> tuple[_Place, ...]:
    edge = float(choices.EDGE.value)
    fast = None if full else _shorter()
    trans = float(choices.TRANS_RATE.value[0 if full else 1])
    return (
        _Place(
            "4.4.1",
            "data centre, 1 Gbit/s",
            1000.0,
            0.0,
            10.0,
            1000.0,
            senders_ms=(0.01, 0.1, 0.1),
            receivers_ms=(0.01, 0.01, 0.1),
            seconds=(10.0, 3.0) if full else (3.0, 1.0),
        ),
        _Place("4.4.2", "access link, 100 Mbit/s", 100.0, 2.0, 100.0, edge, seconds=fast),
        _Place(
            "4.4.3",
            f"trans-oceanic link, {trans:g} Mbit/s",
            trans,
            65.0,
            100.0,
            trans,
            "" if full else "with `--quick` all rates are a tenth of those of the suite",
            seconds=fast,
        ),
        _Place(
            "4.4.4",
            "geostationary satellite, 40 Mbit/s down, 4 Mbit/s up",
            40.0,
            300.0,
            100.0,
            edge,
            back_mbps=4.0,
            back_buffer_ms=1000.0,
        ),
        _Place(
            "4.4.6",
            "dial-up link, 64 kbit/s",
            0.064,
            5.0,
            1250.0,
            edge,
            "transfers of 6 kB on average",
            mean_kb=6.0,
            seconds=(1800.0, 300.0) if full else (600.0, 120.0),
        ),
    )


def _network(place: _Place, length: Length, buffer_ms: float | None = None) -> Scenario:
    duration, warmup = place.seconds or (length.duration_s, length.warmup_s)
    back = place.capacity_mbps if place.back_mbps is None else place.back_mbps
    behind = place.buffer_ms if place.back_buffer_ms is None else place.back_buffer_ms
    return suite(
        duration,
        warmup,
        capacity_mbps=place.capacity_mbps,
        back_mbps=back,
        central_ms=place.central_ms,
        buffer=packets_of_delay(place.capacity_mbps, place.buffer_ms if buffer_ms is None else buffer_ms),
        back_buffer=packets_of_delay(back, behind),
        edge_mbps=place.edge_mbps,
        senders_ms=place.senders_ms,
        receivers_ms=place.receivers_ms,
        sample_ms=max(10.0, min(1000.0, duration * 1000 / 600)),
    )


def _loaded(made: Scenario, place: _Place, load: float, transport: Table) -> Scenario:
    """Add connection vectors on the nine paths: the load from left to right, a share of it in the other direction."""
    back = place.capacity_mbps if place.back_mbps is None else place.back_mbps
    down, up = load / 100 * place.capacity_mbps / 9, load / 100 * choices.BACK.value * back / 9
    for i in (4, 5, 6):
        for j in (1, 2, 3):
            made = vectors(made, f"down{i}{j}", f"node{i}", f"node{j}", transport, down, mean_kb=place.mean_kb)
            made = vectors(made, f"up{i}{j}", f"node{j}", f"node{i}", transport, up, mean_kb=place.mean_kb)
    return made


def _basic(place: _Place, load: float) -> Case:
    def build(given: Mapping[str, Value], length: Length) -> Scenario:
        return _loaded(_network(place, length), place, load, dict(given))

    back = place.capacity_mbps if place.back_mbps is None else place.back_mbps
    return Case(
        f"tcpeval {place.section} {load:g} %",
        f"{place.title}, offered load of {load:g} %",
        build,
        (
            utilisation().of("utilisation", "utilisation of the central link"),
            drop_rate(),
            port_delay(place.capacity_mbps),
            mean_completion("down"),
            utilisation(REVERSE).of("utilisation_back", "utilisation, opposite direction"),
            drop_rate(REVERSE, "drop_rate_back", "packets dropped, opposite direction"),
            port_delay(back, REVERSE, "port_delay_back", "mean queueing delay, opposite direction"),
        ),
    )


def _tradeoff(place: _Place) -> Entry:
    cases, points = [], []
    load = choices.LOADS.value[1]
    for share in choices.TRADEOFF.value:
        buffer_ms = 100.0 * share

        def build(given: Mapping[str, Value], length: Length, buffer_ms: float = buffer_ms) -> Scenario:
            return _loaded(_network(place, length, buffer_ms), place, load, dict(given))

        key = f"tcpeval 5.1 {share:g} BDP"
        title = f"access link, offered load of {load} %, buffer of {100 * share:g} % of the BDP"
        criteria = (goodput("down*", "throughput"), drop_rate(), port_delay(place.capacity_mbps))
        cases.append(Case(key, title, build, criteria))
        points.append((share, key))
    trend = Trend(
        "tradeoff",
        "5.1 delay/throughput tradeoff",
        "mean queueing delay (ms)",
        "throughput (Mbit/s)",
        "goodput_down*",
        tuple(points),
        "Throughput against the mean queueing delay for buffers of 10, 20, 50, 100 and 200 % of the BDP, from left to "
        "right; 95 % intervals of the throughput.",
        across="port_delay",
    )
    return run("tcpeval/5.1", *cases, trends=(trend,))


def _background(made: Scenario, transport: Table, rate_mbps: float) -> Scenario:
    """Add the nodes of the suite and the background traffic on their nine paths to a dumbbell."""
    for k, delay in enumerate(choices.RIGHT.value, 4):
        made = made.host(f"node{k}").link([f"node{k}", "left"], rate="1Gbit/s", delay=f"{max(delay, 0.001):g}ms")
    for k, delay in enumerate(choices.LEFT.value, 1):
        made = made.host(f"node{k}").link(["right", f"node{k}"], rate="1Gbit/s", delay=f"{max(delay, 0.001):g}ms")
    each = choices.BACKGROUND.value / 100 * rate_mbps / 9
    for i in (4, 5, 6):
        for j in (1, 2, 3):
            made = vectors(made, f"down{i}{j}", f"node{i}", f"node{j}", transport, each, slots=8)
    return made


def _ramp_up(existing: int, new: int) -> Case:
    rate = float(choices.RAMP_RATE.value)

    def build(given: Mapping[str, Value], length: Length) -> Scenario:
        buffer = packets_of_delay(rate, choices.RAMP_BUFFER.value)
        made = dumbbell(
            length.duration_s + 60,
            length.warmup_s,
            rtts_ms={"old": existing, "new": new},
            capacity_mbps=rate,
            buffer=buffer,
        )
        made = _background(bulk(made, "existing", "old", dict(given)), dict(given), rate)
        # Slow start is disabled: its threshold is the initial window.
        return made.flow(
            "new",
            "send-new",
            "recv-new",
            source("bulk"),
            transport=table(given, initial_window=10, initial_ssthresh=10),
            start=f"{length.warmup_s}s",
            probe=True,
        )

    return Case(
        f"tcpeval 5.2 {existing} {new} ms",
        f"existing flow with {existing} ms, new flow with {new} ms, 50 % of background traffic",
        build,
        tuple(bytes_time("new", count) for count in choices.RAMP_BYTES.value),
    )


def _steps(length: Length) -> Scenario:
    at = choices.STEP_AT.value
    after = choices.STEP_AFTER.value if length.full else 40
    return dumbbell(at + after, at, capacity_mbps=float(choices.STEP_RATE.value), buffer=choices.STEP_BUFFER.value)


def _bdp() -> int:
    return packets_of_delay(choices.STEP_RATE.value, choices.RTT.value)


def _release() -> Case:
    at, step = choices.STEP_AT.value, choices.STEP.value

    def build(given: Mapping[str, Value], length: Length) -> Scenario:
        made = bulk(_steps(length), "bulk", "a", dict(given))
        model = source("cbr", rate=f"{step}Mbit/s", packet="1500B")
        return made.flow("cross", "send-a", "recv-a", model, stop=f"{at}s")

    return Case(
        "tcpeval 5.3 release",
        f"unresponsive traffic ends: {step} to 0 Mbit/s of {choices.STEP_RATE.value} Mbit/s",
        build,
        (
            *(window_time("bulk", at, percent, _bdp()) for percent in (60.0, 80.0, 90.0)),
            largest_step("bulk", at, 90.0, _bdp()),
            goodput("bulk", "goodput after the release"),
        ),
    )


def _arrival(title: str, steps: int, each_mbps: float) -> Case:
    at = choices.STEP_AT.value

    def build(given: Mapping[str, Value], length: Length) -> Scenario:
        made = bulk(_steps(length), "bulk", "a", dict(given))
        for k in range(steps):
            model = source("cbr", rate=f"{each_mbps:g}Mbit/s", packet="1500B")
            made = made.flow(f"cross{k}", "send-a", "recv-a", model, start=f"{at + k}s")
        return made

    return Case(
        f"tcpeval 5.3 {title}",
        f"unresponsive traffic begins: 0 to {choices.STEP.value} Mbit/s in {title}",
        build,
        (dropped("cross*", "packets of the unresponsive traffic dropped"), goodput("bulk", "goodput", None)),
    )


def _impact() -> Entry:
    cases, ratios = [], []
    rate = float(choices.RAMP_RATE.value)
    for load in choices.IMPACT_LOADS.value:
        for mixed in (False, True):

            def build(given: Mapping[str, Value], length: Length, load: float = load, mixed: bool = mixed) -> Scenario:
                made = suite(
                    length.duration_s,
                    length.warmup_s,
                    capacity_mbps=rate,
                    central_ms=2.0,
                    buffer=packets_of_delay(rate, choices.RAMP_BUFFER.value),
                    edge_mbps=1000.0,
                )
                each = load / 100 * rate / 18
                for camp, transport in (("A", standard("reno")), ("B", dict(given) if mixed else standard("reno"))):
                    for i in (4, 5, 6):
                        for j in (1, 2, 3):
                            ends = (f"node{i}", f"node{j}")
                            made = vectors(made, f"{camp}{i}{j}", *ends, transport, each, slots=10)
                return made

            name = "mix" if mixed else "baseline"
            who = "camp B the evaluated one" if mixed else "both camps standard TCP"
            cases.append(
                Case(
                    f"tcpeval 6.1 {load} % {name}",
                    f"{name}, offered load of {load} %: {who}",
                    build,
                    (
                        goodput("A*", "throughput, camp A (standard TCP)"),
                        goodput("B*", "throughput, camp B", None),
                        mean_completion("A", "completion time, camp A"),
                        mean_completion("B", "completion time, camp B"),
                        drop_rate(),
                        port_delay(rate),
                    ),
                    alone=not mixed,
                )
            )
        keys = (f"tcpeval 6.1 {load} % mix", f"tcpeval 6.1 {load} % baseline")
        ratios += [
            Ratio(f"gain_{load}", f"gain G of camp B, {load} %", *keys, "goodput_B*", None),
            Ratio(f"loss_{load}", f"loss L of camp A, {load} %", *keys, "goodput_A*", "higher"),
        ]
    return run(
        "tcpeval/6.1",
        *cases,
        ratios=tuple(ratios),
        note="central link of 10 Mbit/s; standard TCP is Reno with SACK, without ECN. L and G are throughputs in the "
        "mix divided by those in the baseline, in which both camps are standard TCP",
    )


def _fairness(buffers: Iterable[float]) -> Entry:
    cases = list(_pairs(buffers))
    trend = Trend(
        "fairness-rtt",
        "6.2 fairness and round-trip time",
        "round-trip time of the second flow (ms)",
        "goodput, second / first flow",
        "ratio",
        tuple((float(rtt), f"tcpeval 6.2 inter {rtt} ms, 1 BDP") for rtt in choices.FAIR_RTTS.value),
        "Goodput of a second flow divided by that of a first flow with 160 ms, beside background traffic of 50 %; 95 % "
        "intervals. 1 is an equal share.",
        logarithmic=True,
    )
    return run("tcpeval/6.2", *cases, trends=(trend,), note="central link of 10 Mbit/s, background traffic of 50 %")


def _pairs(buffers: Iterable[float]) -> Iterator[Case]:
    rate, longest = float(choices.RAMP_RATE.value), choices.FAIR_RTTS.value[-1]
    for share in buffers:
        buffer = max(round(share * packets_of_delay(rate, 100.0)), 1)
        for kind_of, rtt in [
            *(("intra", rtt) for rtt in choices.FAIR_RTTS.value),
            *(("inter", rtt) for rtt in choices.FAIR_RTTS.value),
        ]:
            first = longest if kind_of == "inter" else rtt

            def build(
                given: Mapping[str, Value],
                length: Length,
                first: int = first,
                second: int = rtt,
                buffer: int = buffer,
            ) -> Scenario:
                made = dumbbell(
                    length.duration_s,
                    length.warmup_s,
                    rtts_ms={"first": first, "second": second},
                    capacity_mbps=rate,
                    buffer=buffer,
                )
                made = bulk(bulk(made, "test1", "first", dict(given)), "test2", "second", dict(given), start="2s")
                return _background(made, dict(given), rate)

            what = f"160 and {rtt} ms" if kind_of == "inter" else f"both {rtt} ms"
            criteria = (ratio("test2", "test1", "ratio", "goodput, second / first flow"), drop_rate())
            if kind_of == "intra":
                criteria = (smallest_share("test*"), drop_rate())
            yield Case(
                f"tcpeval 6.2 {kind_of} {rtt} ms, {share:g} BDP", f"{what}, buffer of {share:g} BDP", build, criteria
            )


_PATHS = (
    ("path1", "node1", "node8"),
    ("path2", "node2", "node3"),
    ("path3", "node4", "node5"),
    ("path4", "node6", "node7"),
)


def _path_ratio() -> Criterion:
    """Return the goodput of the path over three bottlenecks divided by the mean of the other three."""

    def value(report: Report) -> float:
        others = report.goodput_bps("path[2-4]-*") / 3
        return report.goodput_bps("path1-*") / others if others else math.nan

    return criterion("ratio", "throughput, three bottlenecks / mean of one", "", value, None)


def _parking(load: float) -> Case:
    rate = float(choices.PARKING_RATE.value)

    def build(given: Mapping[str, Value], length: Length) -> Scenario:
        duration, warmup = (length.duration_s, length.warmup_s) if length.full else _shorter()
        made = parking_lot(duration, warmup, rate)
        for name, from_, to in _PATHS:
            made = vectors(made, name, from_, to, dict(given), load / 100 * rate, slots=60)
        return made

    return Case(
        f"tcpeval 6.3 {load} %",
        f"connection vectors, {load} % on each path: {2 * load} % on each bottleneck",
        build,
        (
            _path_ratio(),
            mean_completion("path1", "completion time, three bottlenecks"),
            mean_completion("path2", "completion time, first bottleneck only"),
            drop_rate("router1->router2", "drop_rate", "packets dropped, first bottleneck"),
        ),
    )


def _parking_bulk() -> Case:
    rate = float(choices.PARKING_RATE.value)

    def build(given: Mapping[str, Value], length: Length) -> Scenario:
        duration, warmup = (length.duration_s, length.warmup_s) if length.full else _shorter()
        made = parking_lot(duration, warmup, rate)
        for name, from_, to in _PATHS:
            made = made.flow(
                f"{name}-bulk", from_, to, source("bulk"), count=2, transport=dict(given), start_spread="1s", probe=True
            )
        return made

    return Case(
        "tcpeval 6.3 long flows",
        "two long flows on each path, an addition to the suite",
        build,
        (
            _path_ratio(),
            utilisation("router1->router2").of("utilisation_first", "utilisation of the first bottleneck"),
            drop_rate("router1->router2", "drop_rate", "packets dropped, first bottleneck"),
        ),
    )
