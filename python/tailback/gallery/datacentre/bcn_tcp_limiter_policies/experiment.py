"""datacentre-seed, the simulation of July 2005 with TCP only: four policies of the rate limiters, and a table."""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from itertools import product
from operator import and_
from typing import ClassVar

from tailback.gallery.datacentre.bcn_tcp_limiter_policies import drawings
from tailback.gallery.datacentre.shared.network import (
    BOTTLENECK,
    POLICIES,
    WAITS_US,
    edge_settings,
    identity,
    latency,
    mean_limited,
    policy,
    series,
    tps,
    transactions,
)
from tailback.results import observables as m
from tailback.results.report import Report
from tailback.scenario import Value
from tailback.study.experiment import (
    Axis,
    Claim,
    Experiment,
    Figure,
    Observable,
    Point,
    Profile,
    ProfileName,
    Results,
    Settings,
)
from tailback.study.experiment.claims import Condition
from tailback.study.experiment.quantity import Quantity

PAPER = {
    "bulk_tps": (67.17, 63.00, 61.83, 59.17),
    "bulk_latency": (15_220, 15_970, 16_249, 17_043),
    "onoff_tps": (25.92, 32.92, 33.42, 36.67),
    "onoff_latency": (27_880, 20_337, 19_570, 16_873),
    "ref1_tps": (6702, 7108, 7210, 7419),
    "ref1_latency": (132.8, 124.30, 122.33, 119.21),
    "ref2_tps": (30_334, 31_038, 31_307, 31_362),
    "ref2_latency": (31.97, 31.22, 30.94, 30.89),
    "carried": (9.85, 10.00, 10.00, 10.00),
}
"""Values of slides 11 and 12 in the order of the policies: Tps of a connection, latencies in us, and Gbit/s."""
MAGNITUDES = {
    "bulk_tps": 0.05,
    "bulk_latency": 0.05,
    "onoff_tps": 0.05,
    "onoff_latency": 0.05,
    "ref1_tps": 0.14,
    "ref1_latency": 0.14,
    "ref2_tps": 0.08,
    "ref2_latency": 0.08,
    "carried": 0.02,
}
"""Permitted relative deviation of the measured means from the slides' values."""
NEWRENO: Value = {"kind": "newreno"}
SACK: Value = {"kind": "sack", "prr": False, "rack": False, "tlp": False}
RECOVERIES: dict[str, Value] = {"NewReno": NEWRENO, "SACK": SACK}
FRAMINGS = ("none", "ethernet")
FLOORS_MS = (20, 30, 50)
SET = tuple(product(FRAMINGS, RECOVERIES, FLOORS_MS))
"""Variants over which the order of the policies is asserted: framing, TCP's loss recovery, minimum RTO in ms.

A minimum RTO of 200 ms, a usual one, would contradict the slide's mean of 28 ms for a transaction.
"""
# Main variant: framing, loss recovery, minimum RTO in ms.
MAIN = ("none", "NewReno", 30)
QUICK_SET = (MAIN, ("ethernet", "NewReno", 20), ("none", "SACK", 50), ("ethernet", "SACK", 30))
"""A third of the variants, in which each value occurs."""
CHOSEN, EARLIER = "as chosen", "persistent, SACK, 1 ms"
CHOICES = (
    CHOSEN,
    EARLIER,
    "on/off persistent",
    "bulk fresh too",
    "RTO of 1 ms",
    "RTO of 10 ms",
    "windows of 64 kB",
    "equilibrium of 16",
    "gains doubled",
    "SR2 at es5",
    "limiter per flow",
    "one memory",
)
"""Choices that the slides leave open. Each changes one property of the main variant, `EARLIER` five."""
# Path of the setting that on/off transfers have new or persistent connections.
FRESH = "flows[on/off].application.connections"


def _carried(report: Report) -> float:
    """Return the rate of the bottleneck link, Gbit/s, with headers; without preamble and gap in the main variant."""
    return 10 * report.utilisation(BOTTLENECK)


def _ratio(report: Report) -> float:
    bulk, onoff = (transactions(report, group) for group in ("bulk", "on/off"))
    return bulk / onoff if onoff else float("nan")


def _each(key: str, value: Value, flows: Iterable[str] = WAITS_US) -> Settings:
    return {f"flows[{flow}].{key}": value for flow in flows}


def _timeout(floor_ms: float) -> Settings:
    return _each("transport.timers.min-rto", f"{floor_ms:g}ms")


# Receive windows of 64 kB for the reference connections.
WIDE = _each("transport.receive-window", 44, ("ref1", "ref2"))
CHANGES: dict[str, Settings] = {
    CHOSEN: {},
    EARLIER: {
        "network.framing": "ethernet",
        FRESH: "persistent",
        **_each("transport.recovery", SACK),
        **_timeout(1),
        **WIDE,
    },
    "on/off persistent": {FRESH: "persistent"},
    "bulk fresh too": {"flows[bulk].application.connections": "fresh"},
    "RTO of 1 ms": _timeout(1),
    "RTO of 10 ms": _timeout(10),
    "windows of 64 kB": WIDE,
    "equilibrium of 16": {
        "switches.core.congestion-notification": {"kind": "bcn"},
        "switches.core.buffer": "150kB",
    },
    "gains doubled": edge_settings("rate-limiters.law", {"kind": "bcn", "decrease": 0.125, "increase": "100Mbit/s"}),
    "SR2 at es5": {"links[2].between": ["sr2", "es5"]},
    "limiter per flow": edge_settings("rate-limiters.filter", "flow"),
    "one memory": edge_settings("rate-limiters.memory", "shared"),
}


def _at(policies: Iterable[str], chosen: Iterable[tuple[str, str, int]], choice: str = CHOSEN) -> list[Point]:
    return [
        Point(policy=policy_, framing=framing, recovery=recovery, floor=floor, choice=choice)
        for framing, recovery, floor in chosen
        for policy_ in policies
    ]


def _near(found: Quantity, values: Iterable[float], relative: float) -> Condition:
    """Return the condition that each policy's value differs from the slide's by at most the share `relative`."""
    conditions = [
        found.where(policy=name).within((1 - relative) * value, (1 + relative) * value)
        for name, value in zip(POLICIES, values, strict=True)
    ]
    return reduce(and_, conditions)


class Seed(Experiment):
    """Bulk, on/off and reference connections under four policies."""

    id = "datacentre-seed"
    title = "BCN with TCP under four policies of the rate limiters"
    reference = "Bergamasco, IEEE 802 Plenary, July 2005, slides 8 to 16"
    axes = (
        Axis("policy", "policy"),
        Axis("framing", "framing"),
        Axis("recovery", "loss recovery"),
        Axis("floor", "minimum RTO", "ms"),
        Axis("choice", "choice"),
    )
    quick = Profile(duration="700ms", warmup="200ms", replications=8, max_replications=40, cpu_s=220)
    full = Profile(duration="1200ms", warmup="200ms", replications=5, max_replications=60, cpu_s=1200)
    metrics = (
        *(tps(group) for group in WAITS_US),
        *(latency(group) for group in WAITS_US),
        *(identity(group) for group in WAITS_US),
        Observable("carried", "rate of the bottleneck link", "Gbit/s", _carried, precision=(0.005, 0.0)),
        Observable("ratio", "bulk throughput / on/off throughput", "", _ratio),
        m.drops_at("core->*", name="core_drops", label="frames lost in the core"),
        m.drops_at("es*->core", name="edge_drops", label="frames lost at the edges"),
        m.marks("es*->core", name="marks", label="frames marked at the edges"),
        m.mean_queue(BOTTLENECK, label="mean queue of the bottleneck"),
        m.max_queue(BOTTLENECK, label="longest queue of the bottleneck"),
        mean_limited(),
    )
    traces: ClassVar = {"series": series}

    def points(self, profile: ProfileName) -> Iterable[Point]:
        """Return the points: all policies over the variants and choices, in quick over a third of the variants.

        In quick, `EARLIER` is the only other choice, with two policies.
        """
        if profile == "quick":
            return _at(POLICIES, QUICK_SET) + _at(("drop", "mark"), (MAIN,), EARLIER)
        others = [point for choice in CHOICES[1:] for point in _at(POLICIES, (MAIN,), choice)]
        return _at(POLICIES, (MAIN, *(one for one in SET if one != MAIN))) + others

    def settings(self, point: Point, profile: ProfileName) -> Settings:
        """Return the settings of policy, variant and choice."""
        del profile
        chosen: Settings = {
            "network.framing": str(point["framing"]),
            **_each("transport.recovery", RECOVERIES[str(point["recovery"])]),
            **_timeout(float(point["floor"])),
        }
        return {"run.sample": "1ms", **policy(str(point["policy"])), **chosen, **CHANGES[str(point["choice"])]}

    def claims(self, results: Results) -> Iterable[Claim]:
        """Return the claims on the order of the policies, then on the slides' magnitudes, which are calibrated."""
        over = results.where(choice=CHOSEN)
        newreno = [over.where(policy=name, recovery="NewReno") for name in POLICIES]
        sack = [over.where(policy=name, recovery="SACK") for name in POLICIES]
        _, flow_over, drop_over, mark_over = (over.where(policy=name) for name in POLICIES)
        framing, recovery, floor = MAIN
        chosen = over.where(framing=framing, recovery=recovery, floor=floor)
        none, flow, drop, mark = (chosen.where(policy=name) for name in POLICIES)
        slide = "slides 11 and 12, stated"
        table = "slide 11, stated"

        def less(a: Results, b: Results) -> Condition:
            """Return the condition that bulk throughput is lower and on/off throughput higher in `a` than in `b`."""
            return (a["bulk_tps"] < b["bulk_tps"]) & (a["onoff_tps"] > b["onoff_tps"])

        yield Claim(
            "S1",
            "With NewReno, flow control lowers the throughput of bulk connections and raises that of on/off "
            "connections.",
            f"{table} (67.17 to 63.00 and 25.92 to 32.92 Tps)",
            less(newreno[1], newreno[0]),
            headline="flow control: on/off 25.92 to 32.92 Tps",
        )
        yield Claim.unasserted(
            "S2",
            "With SACK, flow control lowers the throughput of bulk connections and raises that of on/off connections.",
            f"{table}, which does not name its TCP",
            less(sack[1], sack[0]),
            "with SACK the losses at a full limiter are repaired with few timeouts, so that flow control gains "
            "little: 0.9 to 1.7 Tps without preamble and gaps, 0.5 to 0.9 Tps with them",
        )
        yield Claim(
            "S3",
            "Queue management that drops lowers the throughput of bulk connections and raises that of on/off "
            "connections, compared with flow control alone.",
            f"{table} (63.00 to 61.83 and 32.92 to 33.42 Tps)",
            less(drop_over, flow_over),
        )
        yield Claim(
            "S4",
            "Queue management that marks lowers the throughput of bulk connections and raises that of on/off "
            "connections, compared with dropping.",
            f"{table} (61.83 to 59.17 and 33.42 to 36.67 Tps)",
            less(mark_over, drop_over),
            headline="marking is best for on/off: 36.67 Tps, dropping 33.42",
        )
        yield Claim(
            "S5",
            "From no flow control to flow control, dropping and marking, the latency of bulk transactions rises at "
            "each step and that of on/off transactions falls.",
            f"{table} (15.2, 16.0, 16.2, 17.0 ms; 27.9, 20.3, 19.6, 16.9 ms)",
            (none["bulk_latency"] < flow["bulk_latency"])
            & (flow["bulk_latency"] < drop["bulk_latency"])
            & (drop["bulk_latency"] < mark["bulk_latency"])
            & (none["onoff_latency"] > flow["onoff_latency"])
            & (flow["onoff_latency"] > drop["onoff_latency"])
            & (drop["onoff_latency"] > mark["onoff_latency"]),
        )
        yield Claim(
            "S6",
            "The ratio of bulk to on/off throughput falls at each step from no flow control to flow control, dropping "
            "and marking.",
            "derived from slide 11: 2.59, 1.91, 1.85, 1.61",
            (none["ratio"] > flow["ratio"]) & (flow["ratio"] > drop["ratio"]) & (drop["ratio"] > mark["ratio"]),
        )
        yield Claim(
            "S7",
            "With flow control, alone or with dropping or marking, the bottleneck carries at least 9.9 Gbit/s.",
            f"{table} (10.00)",
            (flow["carried"] >= 9.9) & (drop["carried"] >= 9.9) & (mark["carried"] >= 9.9),
        )
        yield Claim.unasserted(
            "S8",
            "Without flow control the bottleneck carries between 9.80 and 9.90 Gbit/s.",
            table,
            none["carried"].within(9.80, 9.90),
            "twelve connections of each kind keep the limiters from running empty",
        )
        yield Claim.unasserted(
            "S9",
            "The throughput of Ref1, which crosses the congested link, rises from no flow control to flow control, "
            "dropping and marking.",
            "slide 12, stated (6702, 7108, 7210, 7419 Tps)",
            (none["ref1_tps"] < flow["ref1_tps"])
            & (flow["ref1_tps"] < drop["ref1_tps"])
            & (drop["ref1_tps"] < mark["ref1_tps"]),
            "Ref1's limiter at es5 shares nothing with the limiters at the other edges; it gains only with drops, "
            "where "
            "the bottleneck's queue is empty at times",
            headline="Ref1 gains 11 %",
        )
        yield Claim.unasserted(
            "S10",
            "The throughput of Ref2, which shares only an edge with limited traffic, rises from no flow control to "
            "flow control, dropping and marking.",
            "slide 12, stated (30334, 31038, 31307, 31362 Tps)",
            (none["ref2_tps"] < flow["ref2_tps"])
            & (flow["ref2_tps"] < drop["ref2_tps"])
            & (drop["ref2_tps"] < mark["ref2_tps"]),
            "Ref2's frames are in no limiter. If they share one memory with the limiters (a choice), it gains, but "
            "tenfold: 3,400, 9,300, 31,800 and 29,000 Tps",
            headline="Ref2 gains 3 %",
        )
        yield Claim(
            "S11",
            "Under every policy the latency of Ref2 is below 40 us, and that of Ref1 more than three times as long.",
            "derived from slide 12: 31 us, and 119 to 133 us",
            (chosen["ref2_latency"] < 40) & (chosen["ref1_latency"] > 3 * chosen["ref2_latency"]),
        )
        keeping, dropping = (
            chosen.where(policy=["flow control", "mark"]),
            chosen.where(policy=["no flow control", "drop"]),
        )
        yield Claim(
            "S12",
            "No frame is lost in the core with flow control alone and with marking, where limiters drop nothing.",
            "derived: BCN keeps the core's queue short",
            keeping["core_drops"].is_zero(),
        )
        yield Claim.unasserted(
            "S13",
            "No frame is lost in the core without flow control and with dropping, where limiters drop frames.",
            "derived: BCN keeps the core's queue short",
            dropping["core_drops"].is_zero(),
            "in one of some tens of runs a few frames are lost: several connections of an edge resume after timeouts "
            "at the same time, at rates that the limiters have kept",
        )
        yield Claim(
            "S14",
            "With flow control alone no frame is lost at the edges; frames are lost there only without flow control "
            "and with dropping, and marked only with marking.",
            "derived from the definitions of the policies",
            flow["edge_drops"].is_zero()
            & (none["marks"] <= 0)
            & (flow["marks"] <= 0)
            & (drop["marks"] <= 0)
            & (none["edge_drops"] > 0)
            & (drop["edge_drops"] > 0)
            & (mark["marks"] > 0),
        )
        buffers = "slides 13 to 16 (curves not recovered); derived: the policies aim at shorter queues"
        yield Claim(
            "S15",
            "The mean backlog of the rate limiters is shorter with queue management, dropping or marking, than with "
            "flow control alone.",
            buffers,
            (drop["limited"] < flow["limited"]) & (mark["limited"] < flow["limited"]),
        )
        yield Claim.unasserted(
            "S16",
            "The mean backlog of the rate limiters is shorter with marking than with dropping.",
            buffers,
            mark["limited"] < drop["limited"],
            "a loss from a new connection's small window causes a timeout, during which it sends nothing; a mark only "
            "halves the window",
        )
        yield Claim(
            "S17",
            "The throughput of a connection times (latency + wait) is 1 within 3 % for every group under every policy.",
            "derived: a closed loop",
            chosen["bulk_loop"].within(0.97, 1.03)
            & chosen["onoff_loop"].within(0.97, 1.03)
            & chosen["ref1_loop"].within(0.97, 1.03)
            & chosen["ref2_loop"].within(0.97, 1.03),
        )
        for number, (name, relative) in enumerate(MAGNITUDES.items(), start=18):
            values = ", ".join(f"{value:g}" for value in PAPER[name])
            yield Claim.calibrated(
                f"S{number}",
                f"The results are within {100 * relative:g} % of the slides' without flow control, with flow control, "
                f"with dropping and with marking: {chosen[name].label.split(' [')[0]} "
                f"({values} {chosen[name].unit}).",
                slide,
                _near(chosen[name], PAPER[name], relative),
                "new connections for on/off transfers, framing, recovery, minimum RTO and the reference connections' "
                "windows were chosen after the slides' numbers were seen",
                headline=f"on/off: {values} Tps" if name == "onoff_tps" else "",
            )
        yield Claim.comparison(
            "S27",
            "On/off throughput with marking minus that with dropping, by choice.",
            "sensitivity of what the slides leave open",
            results.where(policy="mark", framing=framing, recovery=recovery, floor=floor)["onoff_tps"]
            - results.where(policy="drop", framing=framing, recovery=recovery, floor=floor)["onoff_tps"],
            "the slides have 3.25 Tps; with persistent connections the difference is zero",
        )
        yield Claim.comparison(
            "S28",
            "Ratio of bulk to on/off throughput by choice and policy.",
            "sensitivity of what the slides leave open",
            results.where(framing=framing, recovery=recovery, floor=floor)["ratio"],
            "not judged: the slides have one ratio for each policy",
        )
        yield Claim.comparison(
            "S29",
            "Throughput of Ref2 by choice and policy.",
            "sensitivity of what the slides leave open; slide 6: blocking at limiters' queues due to buffer exhaustion",
            results.where(framing=framing, recovery=recovery, floor=floor)["ref2_tps"],
            "the slides have 30,334 to 31,362 Tps: a larger gain than with separate memories, a smaller one than with "
            "one memory",
        )

    def figures(self, results: Results) -> Iterable[Figure]:
        """Yield the slides' table, the order of the policies over the variants, queues and rates, and the choices."""
        framing, recovery, floor = MAIN
        main = results.where(framing=framing, recovery=recovery, floor=floor)
        chosen = main.where(choice=CHOSEN)
        yield Figure(
            "table",
            "The slides' results and ours",
            "Crosses: slides 11 and 12. Dots: measured means with 99 % intervals.",
            lambda: drawings.table(chosen, PAPER),
            claims=("S5", "S7", "S8", "S9", "S10", *(f"S{number}" for number in range(18, 27))),
        )
        yield Figure(
            "order",
            "Order of the policies over the variants",
            "Mean and 99 % interval at each combination of framing, recovery and minimum RTO; the first is the main "
            "variant. Crosses: slide 11.",
            lambda: drawings.order(results.where(choice=CHOSEN), PAPER),
            claims=("S1", "S2", "S3", "S4"),
        )
        yield Figure(
            "buffers",
            "Queues at the bottleneck and at the first edge's rate limiters",
            "First replication of each policy. Slides 13 to 16 show the same quantities; their curves were not "
            "recovered.",
            lambda: drawings.buffers(chosen),
            claims=("S12", "S13", "S15", "S16"),
        )
        yield Figure(
            "choices",
            "Effect of the choices that the slides leave open",
            "Ratio of bulk to on/off throughput. Crosses: slides.",
            lambda: drawings.choices(main, PAPER),
            claims=("S6", "S27", "S28", "S29"),
        )
