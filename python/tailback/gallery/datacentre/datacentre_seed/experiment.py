"""The simulation of July 2005 with TCP only: four policies of the rate limiters, and the slides' table of results."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, ClassVar

from tailback.gallery import (
    Axis,
    Claim,
    Experiment,
    Figure,
    Metric,
    Point,
    Profile,
    ProfileName,
    Results,
    Settings,
    grid,
)
from tailback.gallery import metrics as m
from tailback.gallery.datacentre.network import (
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
    trace,
    transactions,
)
from tailback.report import Report
from tailback.scenario import Value

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing


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
"""Slides 11 and 12, in the order of the policies."""
VARIANTS = (
    "as chosen",
    "equilibrium of 16",
    "window kept",
    "RTO of 10 ms",
    "gains doubled",
    "SR2 at es5",
    "limiter per flow",
)
QUICK_VARIANTS = 3
"""Choices that the slides leave open, each changed by itself; the first changes none."""


def _carried(report: Report) -> float:
    """What the bottleneck's link carries, preamble and gaps included, as on the slide."""
    return 10 * report.utilisation(BOTTLENECK)


def _ratio(report: Report) -> float:
    bulk, onoff = (transactions(report, group) for group in ("bulk", "on/off"))
    return bulk / onoff if onoff else float("nan")


class Seed(Experiment):
    """Bulk, on/off and reference connections under four policies."""

    id = "datacentre-seed"
    title = "BCN with TCP under four policies of the rate limiters"
    reference = "Bergamasco, IEEE 802 Plenary, July 2005, slides 8 to 16"
    axes = (Axis("policy", "policy"), Axis("variant", "choice"))
    quick = Profile(duration="1200ms", warmup="200ms", replications=4, max_replications=40, cpu_s=230)
    full = Profile(duration="1200ms", warmup="200ms", replications=10, max_replications=60, cpu_s=600)
    metrics = (
        *(tps(group) for group in WAITS_US),
        *(latency(group) for group in WAITS_US),
        *(identity(group) for group in WAITS_US),
        Metric("carried", "carried by the bottleneck", "Gbit/s", _carried, precision=(0.005, 0.0)),
        Metric("ratio", "bulk transactions per on/off transaction", "", _ratio),
        m.drops_at("core->*", name="core_drops", label="frames lost in the core"),
        m.drops_at("es*->core", name="edge_drops", label="frames lost at the edges"),
        m.marks("es*->core", name="marks", label="frames marked at the edges"),
        m.mean_queue(BOTTLENECK, label="mean queue of the bottleneck"),
        m.max_queue(BOTTLENECK, label="longest queue of the bottleneck"),
        mean_limited(),
    )
    traces: ClassVar = {"series": series}

    def points(self, profile: ProfileName) -> Iterable[Point]:
        """All policies as chosen; with `quick` few of the other choices, at one."""
        quick = profile == "quick"
        ends = POLICIES[:1] if quick else POLICIES
        others = VARIANTS[1 : QUICK_VARIANTS if quick else None]
        return grid(policy=POLICIES, variant=VARIANTS[:1]) + grid(policy=ends, variant=others)

    def settings(self, point: Point, profile: ProfileName) -> Settings:
        """A policy and a choice."""
        del profile
        changes: dict[str, dict[str, Value]] = {
            "as chosen": {},
            "equilibrium of 16": {
                "switches.core.congestion-notification": {"kind": "bcn"},
                "switches.core.buffer": "150kB",
            },
            "window kept": {f"flows[{flow}].transport.slow-start-restart": False for flow in WAITS_US},
            "RTO of 10 ms": {f"flows[{flow}].transport.timers.min-rto": "10ms" for flow in WAITS_US},
            "gains doubled": edge_settings(
                "rate-limiters.law", {"kind": "bcn", "decrease": 0.125, "increase": "100Mbit/s"}
            ),
            "SR2 at es5": {"links[2].between": ["sr2", "es5"]},
            "limiter per flow": edge_settings("rate-limiters.filter", "flow"),
        }
        return {"run.sample": "1ms", **policy(str(point["policy"])), **changes[str(point["variant"])]}

    def claims(self, results: Results) -> Iterable[Claim]:
        """The checks of the slides' table: orderings asserted, magnitudes reported."""
        chosen = results.where(variant=VARIANTS[0])
        at = {name: chosen.where(policy=name) for name in POLICIES}

        none, flow, drop, mark = (at[name] for name in POLICIES)
        slide = "slides 11 and 12"
        derived = "derived: a closed loop"
        yield Claim(
            "S1",
            "Flow control and queue management take from bulk connections and give to on/off ones: bulk throughput is "
            "largest without flow control and on/off throughput smallest.",
            slide,
            (none["bulk_tps"] > flow["bulk_tps"])
            & (none["bulk_tps"] > drop["bulk_tps"])
            & (none["bulk_tps"] > mark["bulk_tps"])
            & (none["onoff_tps"] < flow["onoff_tps"])
            & (none["onoff_tps"] < drop["onoff_tps"])
            & (none["onoff_tps"] < mark["onoff_tps"]),
        )
        yield Claim(
            "S2",
            "Queue management takes more from bulk connections than flow control alone.",
            slide,
            (flow["bulk_tps"] > drop["bulk_tps"]) & (flow["bulk_tps"] > mark["bulk_tps"]),
        )
        yield Claim.comparison(
            "S3",
            "Marking against dropping: the slides have on/off connections gain 10 %.",
            slide,
            mark["onoff_tps"] - drop["onoff_tps"],
            "not reproduced: TCP with selective acknowledgements repairs 1 % of losses nearly without timeouts",
        )
        yield Claim(
            "S4",
            "Latencies go the other way: without flow control bulk transactions are fastest and on/off ones slowest.",
            slide,
            (none["bulk_latency"] < flow["bulk_latency"])
            & (none["bulk_latency"] < mark["bulk_latency"])
            & (none["onoff_latency"] > flow["onoff_latency"])
            & (none["onoff_latency"] > mark["onoff_latency"]),
        )
        yield Claim(
            "S5",
            "The bulk-to-on/off ratio of throughputs falls with flow control, and again with queue management.",
            "derived from slide 11: 2.59, 1.91, 1.85, 1.61",
            (none["ratio"] > flow["ratio"]) & (flow["ratio"] > drop["ratio"]) & (flow["ratio"] > mark["ratio"]),
        )
        yield Claim(
            "S6",
            "The bottleneck carries at least 9.7 Gbit/s without flow control and 9.9 with it.",
            slide,
            (none["carried"] >= 9.7) & (flow["carried"] >= 9.9) & (drop["carried"] >= 9.9) & (mark["carried"] >= 9.9),
        )
        yield Claim.comparison(
            "S7",
            "The first reference connection: the slides have it gain in the order of the policies, by 11 % in all.",
            slide,
            mark["ref1_tps"] - none["ref1_tps"],
            "not reproduced: it loses a little; its limiter at es5 shares nothing with the policies at the other edges",
        )
        yield Claim.comparison(
            "S8",
            "The second reference connection: on the slides it gains 3 %.",
            slide,
            mark["ref2_tps"] - none["ref2_tps"],
            "not reproduced: frames that no limiter holds pass by all of them, under every policy",
        )
        yield Claim("S9", "The second's latency is below 40 us under every policy.", slide, chosen["ref2_latency"] < 40)
        yield Claim.calibrated(
            "S10",
            "That of the first, which crosses the congestion, is more than three times as long.",
            slide,
            chosen["ref1_latency"] > 3 * chosen["ref2_latency"],
            "the equilibrium of 48 frames was chosen for it; with 16 it is 2.5 times as long",
        )
        yield Claim("S11", "The core loses nothing.", slide, chosen["core_drops"].is_zero())
        yield Claim(
            "S12",
            "With flow control alone no frame is lost anywhere; marks are set only where the policy is to mark.",
            "derived",
            flow["edge_drops"].is_zero()
            & (none["marks"] <= 0)
            & (flow["marks"] <= 0)
            & (drop["marks"] <= 0)
            & (none["edge_drops"] > 0)
            & (drop["edge_drops"] > 0)
            & (mark["marks"] > 0),
        )
        yield Claim(
            "S13",
            "The rate limiters' queues are shorter with queue management than with flow control alone.",
            "slides 13 to 16 (curves not recovered)",
            (drop["limited"] < flow["limited"]) & (mark["limited"] < flow["limited"]),
        )
        yield Claim(
            "S14",
            "Throughput times (latency + wait) is 1 within 3 % for every group under every policy.",
            derived,
            chosen["bulk_loop"].within(0.97, 1.03)
            & chosen["onoff_loop"].within(0.97, 1.03)
            & chosen["ref1_loop"].within(0.97, 1.03)
            & chosen["ref2_loop"].within(0.97, 1.03),
        )
        for number, (name, paper) in enumerate(PAPER.items(), start=15):
            values = ", ".join(f"{value:g}" for value in paper)
            yield Claim.comparison(
                f"S{number}",
                f"{chosen[name].label}: {values} on the slides.",
                slide,
                chosen[name],
                "TCP's variant and BCN's gains are not on the slides: magnitudes are for comparison",
            )
        yield Claim.comparison(
            "S24",
            "What the bulk-to-on/off ratio is when one choice is changed.",
            "sensitivity of what the slides leave open",
            results.where(variant=VARIANTS)["ratio"],
            "sensitivity",
        )

    def figures(self, results: Results) -> Iterable[Figure]:
        """The table, the buffers, and the choices."""
        chosen = results.where(variant=VARIANTS[0])
        yield Figure(
            "table",
            "The slides' results and ours",
            "Crosses: slides 11 and 12. Dots: measured, with 99 % intervals.",
            lambda: _table(chosen),
            claims=("S1", "S2", "S3", "S4", "S6", "S7", "S8", "S9", "S10"),
        )
        yield Figure(
            "buffers",
            "Queues at the bottleneck and at the first edge's rate limiters",
            "One replication of each policy; the slides' figures 13 to 16, whose curves were not recovered.",
            lambda: _buffers(chosen),
            claims=("S11", "S13"),
        )
        yield Figure(
            "choices",
            "What the choices do that the slides leave open",
            "Bulk transactions per on/off transaction; crosses: slides.",
            lambda: _choices(results),
            claims=("S5", "S24"),
        )


def _table(chosen: Results) -> Drawing:
    from tailback import plot

    figure = plot.new(3, 3, width=4.0, height=2.6)
    for axes, (name, paper) in zip(figure.axes, PAPER.items(), strict=True):
        with plot.style():
            quantity = chosen[name]
            along, intervals = quantity.curve("policy")
            for k, (policy_, found) in enumerate(zip(along, intervals, strict=True)):
                row = POLICIES.index(str(policy_))
                reach = [[max(found.mean - found.lo, 0)], [max(found.hi - found.mean, 0)]]
                axes.errorbar(
                    [found.mean], [row], xerr=reach, fmt="o", color=plot.COLOURS[0], label="ours" if k == 0 else None
                )
            axes.plot(paper, range(len(POLICIES)), "x", color=plot.COLOURS[1], label="slides")
            axes.set_yticks(range(len(POLICIES)), list(POLICIES))
            axes.set_ylim(len(POLICIES) - 0.5, -0.5)
            axes.set_xlabel(f"{quantity.label.split(' [')[0]} ({quantity.unit})")
    figure.axes[0].legend(loc="best")
    return figure


def _buffers(chosen: Results) -> Drawing:
    from tailback import plot

    figure = plot.new(2, len(POLICIES), width=5.2, height=2.0, sharex=True)
    for row, name in enumerate(POLICIES):
        times, queue, limited, rates = trace(chosen.trace("series", policy=name))
        left, right = figure.axes[2 * row : 2 * row + 2]
        with plot.style():
            left.plot(times, limited, color=plot.COLOURS[1], linewidth=0.9, label="limiters at es1")
            left.plot(times, queue, color=plot.COLOURS[0], linewidth=0.9, label="core→es6")
            left.set_ylim(0, 220)
            left.set_ylabel("queue (kB)")
            left.set_title(name)
            for index, (key, values) in enumerate(rates.items()):
                right.plot(times, values, color=plot.COLOURS[2 + index], linewidth=0.9, label=f"es1 to {key}")
            right.set_ylim(0, 10.2)
            right.set_ylabel("rate (Gbit/s)")
            right.set_title("")
    figure.axes[0].legend(loc="upper right", ncols=2)
    figure.axes[1].legend(loc="upper right")
    for axes in figure.axes[-2:]:
        axes.set_xlabel("time (s)")
    return figure


def _choices(results: Results) -> Drawing:
    from tailback import plot

    figure = plot.new(1, 1, width=7.0, height=4.2)
    axes = figure.axes[0]
    paper = [a / b for a, b in zip(PAPER["bulk_tps"], PAPER["onoff_tps"], strict=True)]
    with plot.style():
        found_ratios = list(results.where(variant=VARIANTS)["ratio"].intervals())
        variants = [name for name in VARIANTS if any(point["variant"] == name for point, _ in found_ratios)]
        seen: set[str] = set()
        for point, found in found_ratios:
            row = variants.index(str(point["variant"]))
            column = POLICIES.index(str(point["policy"]))
            reach = [[max(found.mean - found.lo, 0)], [max(found.hi - found.mean, 0)]]
            label = None if POLICIES[column] in seen else POLICIES[column]
            seen.add(POLICIES[column])
            height = row + 0.12 * (column - 1.5)
            axes.errorbar([found.mean], [height], xerr=reach, fmt="o", color=plot.COLOURS[column], label=label)
        for column, value in enumerate(paper):
            label = "slides" if column == 0 else None
            axes.plot([value], [0.12 * (column - 1.5)], "x", color=plot.COLOURS[column], label=label)
        axes.set_yticks(range(len(variants)), variants)
        axes.set_ylim(len(variants) - 0.5, -0.5)
        axes.set_xlabel("bulk transactions per on/off transaction")
        axes.legend(loc="lower right")
    return figure
