"""datacentre-fct: flow completion times of published flow size distributions, by size and congestion control."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from tailback.gallery.datacentre.congestion_controls_compared.experiment import STEP
from tailback.plotting import experiment as fig
from tailback.results import observables as m
from tailback.results.report import Report
from tailback.results.rows import ApplicationRow, SizeSlowdownRow
from tailback.scenario import Value
from tailback.study.experiment import (
    Axis,
    AxisValue,
    Claim,
    Experiment,
    Figure,
    Observable,
    Point,
    Profile,
    ProfileName,
    Results,
    Settings,
    grid,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

NONE = "none"
CONTROLS: dict[AxisValue, str] = {
    NONE: "fixed",
    "DCTCP": "dctcp",
    "DCQCN": "dcqcn",
    "TIMELY": "timely",
    "HPCC": "hpcc",
    "Swift": "swift",
}
QUEUES = ("DCTCP", "DCQCN", "HPCC", "Swift")
"""Controls by marks, delay or telemetry whose target is a queue of tens of kB or less."""
# Sum of the rates of the 16 hosts' links.
HOSTS_MBIT = 16 * 10_000
PAYLOAD = 1000 / 1086
"""Payload per byte on the wire: 1000 B with 48 B of headers, 18 B of Ethernet's, 20 B of preamble and gap."""
# Upper ends of the bins of flow sizes; the last bin is open.
BINS = ("10 kB", "100 kB", "1 MB", "10 MB", "all larger")
STATISTICS = ("mean", "p50", "p95", "p99")


def _group(report: Report) -> ApplicationRow:
    return report.application("data")


# Function that returns a statistic of the slowdown of the flows in a bin; NaN without flows.
def _of_bin(at: int, statistic: str) -> Callable[[Report], float]:
    def value(report: Report) -> float:
        slowdown = _group(report)["slowdown_by_size"][at]["slowdown"]
        return math.nan if slowdown is None else dict(slowdown)[statistic]  # type: ignore[return-value]

    return value


def _mean_of(rows: list[SizeSlowdownRow]) -> float:
    """Return the mean slowdown of the flows of several bins; NaN without flows."""
    found = [(row["complete"], row["slowdown"]["mean"]) for row in rows if row["slowdown"] is not None]
    transfers = sum(count for count, _ in found)
    return sum(count * mean for count, mean in found) / transfers if transfers else math.nan


def _short(report: Report) -> float:
    return _mean_of(_group(report)["slowdown_by_size"][:2])


def _faster(report: Report) -> float:
    """Return 1 if any transfer was faster than over the idle path, else 0; NaN without transfers."""
    slowdown = _group(report)["slowdown"]
    return math.nan if slowdown is None else float(slowdown["min"] < 1)


def _unfinished(report: Report) -> float:
    """Return the share of the transfers that began and were not complete at the end, %; NaN without transfers."""
    begun = _group(report)["begun"]
    return 100 * (begun - _group(report)["time"]["count"]) / begun if begun else math.nan


def _key(at: int, statistic: str) -> str:
    return f"{statistic}_{at}"


class CompletionTimes(Experiment):
    """Poisson arrivals of published flow sizes in a leaf-spine, slowdowns by size."""

    id = "datacentre-fct"
    title = "Completion times of published mixes of flows"
    reference = "Alizadeh 2010, Greenberg 2009 and Roy 2015 (sizes); Li 2019 (slowdowns by size), all ACM SIGCOMM"
    axes = (Axis("mix", "mix of sizes"), Axis("load", "load"), Axis("control", "control"))
    quick = Profile(duration="80ms", warmup="5ms", replications=6, max_replications=10, cpu_s=40)
    full = Profile(duration="400ms", warmup="20ms", replications=5, max_replications=20, cpu_s=700)
    metrics = (
        m.loss(),
        Observable(
            "refused",
            "transfers refused for lack of a free connection",
            "",
            lambda report: float(_group(report)["refused"]),
        ),
        Observable("unfinished", "transfers not complete at the end", "%", _unfinished),
        Observable("faster", "share of runs with a transfer faster than over the idle path", "", _faster),
        Observable("short", "mean slowdown of flows up to 100 kB", "", _short, lowest=1),
        Observable("all", "mean slowdown", "", lambda r: _mean_of(_group(r)["slowdown_by_size"]), lowest=1),
        *(
            Observable(
                _key(at, statistic), f"{statistic} slowdown of flows up to {name}", "", _of_bin(at, statistic), lowest=1
            )
            for at, name in enumerate(BINS)
            for statistic in STATISTICS
        ),
    )

    def points(self, profile: ProfileName) -> Iterable[Point]:
        """Return the points: every control with web-search at two loads, in full with all mixes at three loads."""
        if profile == "quick":
            return grid(mix=["web-search"], load=(0.3, 0.6), control=CONTROLS)
        return grid(mix=("web-search", "data-mining", "hadoop"), load=(0.3, 0.6, 0.8), control=CONTROLS)

    def settings(self, point: Point, profile: ProfileName) -> Settings:
        """Return the settings of mix, load and control; arrivals end half-way through the run."""
        control = str(point["control"])
        rate = float(point["load"]) * HOSTS_MBIT * PAYLOAD
        mix: Value = {"kind": "transfers", "size": {"kind": str(point["mix"])}, "rate": f"{rate:.3f}Mbit/s"}
        chosen: Settings = {
            "flows[data].application": mix,
            "flows[data].stop": "40ms" if profile == "quick" else "200ms",
            "flows[data].transport.congestion-control": {"kind": CONTROLS[control]},
        }
        return {**chosen, "network.discipline": STEP} if control == "DCTCP" else chosen

    def claims(self, results: Results) -> Iterable[Claim]:
        """Return the claims: consequences of the definition of slowdown, and the papers' statements on short flows."""
        yield Claim(
            "C1",
            "With priority-based flow control no packet is lost under any congestion control.",
            "802.1Qbb",
            results["loss"].is_zero(),
        )
        yield Claim(
            "C2",
            "No flow is faster than over the idle path: every slowdown is at least 1.",
            "derived: the definition of the slowdown",
            results["faster"].within(0, 0),
        )
        yield Claim(
            "C3",
            "No transfer is refused: each finds a free connection among the three of its pair of hosts.",
            "derived: three connections for each pair of hosts are enough at these loads",
            results["refused"].within(0, 0),
        )
        short, none = results["short"].where(control=list(QUEUES)), results["short"].where(control=NONE)
        yield Claim(
            "C4",
            "At load 0.6 the mean slowdown of flows up to 100 kB is lower with DCTCP, DCQCN, HPCC and Swift than with "
            "flow control alone.",
            "derived: short transfers wait behind shorter queues; Alizadeh 2010, section 4",
            short.where(load=0.6) < none.where(load=0.6),
        )
        low, high = (results["all"].where(load=load) for load in (0.3, 0.6))
        yield Claim(
            "C5",
            "The mean slowdown of all flows is higher at load 0.6 than at load 0.3, under each congestion control.",
            "derived: queueing",
            low < high,
        )
        tail = results[_key(1, "p95")].where(mix="web-search", load=0.6)
        yield Claim(
            "C6",
            "At load 0.6 of web-search the 95th percentile of the slowdown of flows of 10 to 100 kB is lower with "
            "HPCC than with flow control alone.",
            "Li and others, SIGCOMM 2019, section 5",
            tail.where(control="HPCC") < tail.where(control=NONE),
        )
        yield Claim.comparison(
            "R1",
            "95th percentile of the slowdown of flows of 10 to 100 kB.",
            "not in the papers",
            results[_key(1, "p95")],
            "the papers measure other networks; this is a comparison in one network",
        )
        yield Claim.comparison(
            "R2",
            "Share of the transfers that were not complete at the end, and so count in no slowdown.",
            "not in the papers",
            results["unfinished"],
            "the larger the share, the less reliable the slowdowns of the largest flows",
        )

    def figures(self, results: Results) -> Iterable[Figure]:
        """Yield the slowdown by size at load 0.6, and the slowdown of short flows by load, for each mix."""
        for mix in results["short"].values_of("mix"):

            def draw(mix: AxisValue = mix) -> Drawing:
                return _by_size(results.where(mix=mix, load=0.6))

            yield Figure(
                f"by_size_{str(mix).replace('-', '_')}",
                f"Slowdown by size, {mix}, load 0.6",
                "Median, 95th and 99th percentile in each replication: means with 99 % intervals.",
                draw,
                ("C4", "C6"),
            )
            quantity = results["short"].where(mix=mix)
            curves = {str(control): quantity.where(control=control) for control in CONTROLS}
            yield fig.compare(
                curves,
                f"short_{str(mix).replace('-', '_')}",
                f"Mean slowdown of flows up to 100 kB, {mix}",
                x="load",
                y_scale="log",
                claims=("C4", "C5"),
            )


def _by_size(results: Results) -> Drawing:
    """Draw a panel per statistic, with a curve per control over the bins of size."""
    from tailback.plotting import plot

    statistics = STATISTICS[1:]
    drawn = plot.new(len(statistics), sharey=True, width=4.0)
    top = 1.0
    for axes, statistic in zip(drawn.axes, statistics, strict=True):
        with plot.style():
            for index, control in enumerate(CONTROLS):
                intervals = [
                    next(results[_key(at, statistic)].where(control=control).intervals())[1] for at in range(len(BINS))
                ]
                top = max([top, *(found.hi for found in intervals if math.isfinite(found.hi))])
                plot.curve(axes, list(range(len(BINS))), intervals, label=str(control), index=index)
            y = "slowdown" if statistic == statistics[0] else ""
            plot.finish(axes, title=statistic, x="size of the flow, up to", y=y, y_scale="log")
        axes.set_xticks(range(len(BINS)), BINS)
        legend = axes.get_legend()
        if legend is not None and statistic != statistics[-1]:
            legend.remove()
    # The axes share their scale, which is set after all curves are drawn; slowdowns are at least 1.
    drawn.axes[0].set_ylim(0.9, 1.1 * top)
    return drawn
