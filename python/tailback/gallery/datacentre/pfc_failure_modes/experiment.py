"""datacentre-pfc: deadlock, head-of-line blocking and pause storms under priority-based flow control."""

from __future__ import annotations

import math
from collections.abc import Iterable

from tailback.plotting import experiment as fig
from tailback.results import observables as m
from tailback.results.report import Report
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

RING, STORM = "ring", "storm"
# Settings by case and remedy.
REMEDIES: dict[AxisValue, dict[AxisValue, dict[str, Value]]] = {
    RING: {
        "none": {},
        "up*/down* routes": {"network.routing": "up-down"},
        "watchdog": {"switches.s.watchdog": {"after": "500us", "restore": "200us"}},
    },
    STORM: {"none": {}, "watchdog": {"switches.leaf.watchdog": {"after": "200us", "restore": "2ms"}}},
}
FILES: dict[AxisValue, str] = {RING: "ring.toml", STORM: "scenario.toml"}


def _deadlocks(report: Report) -> float:
    """Return the number of cycles of ports that wait for each other at the end of the run."""
    return float(len(report.data.get("deadlocks", [])))


def _victim(report: Report) -> float:
    """Return the throughput of the storm's victim, Mbit/s; NaN in the ring, which has none."""
    found = [flow["delivered"]["bytes"] for flow in report.data["flows"] if flow["group"] == "victim"]
    return sum(found) * 8e-6 / (report.data["end_s"] - report.data["warmup_s"]) if found else math.nan


def _innocent(report: Report) -> float:
    """Return the share of the packets held by stops whose own path was not stopped, %; NaN without such packets."""
    found = [port["head_of_line"] for port in report.data["ports"] if "head_of_line" in port]
    held = sum(h["held_up_packets"] for h in found)
    return 100 * sum(h["for_others_packets"] for h in found) / held if held else math.nan


class FlowControl(Experiment):
    """A ring that deadlocks and a host that sends PAUSE frames continuously, with and without remedies."""

    id = "datacentre-pfc"
    title = "What priority-based flow control can do wrong"
    reference = "IEEE 802.1Qbb; Guo and others, RDMA over Commodity Ethernet at Scale, SIGCOMM 2016"
    axes = (Axis("case", "case"), Axis("remedy", "remedy"))
    quick = Profile(duration="12ms", warmup="1ms", replications=3, max_replications=6, cpu_s=4)
    full = Profile(duration="12ms", warmup="1ms", replications=10, max_replications=40, cpu_s=10)
    metrics = (
        m.loss(),
        m.throughput(),
        Observable("victim", "throughput of the victim", "Mbit/s", _victim),
        Observable("deadlocks", "deadlocked cycles of ports at the end", "", _deadlocks),
        Observable("innocent", "share of stopped packets that were head-of-line blocked", "%", _innocent),
    )

    def points(self, profile: ProfileName) -> Iterable[Point]:
        """Return the points: each case without and with its remedies."""
        del profile
        return [point for case, remedies in REMEDIES.items() for point in grid(case=[case], remedy=remedies)]

    def scenario(self, point: Point) -> str:
        """Return the scenario of the point's case."""
        return FILES[point["case"]]

    def settings(self, point: Point, profile: ProfileName) -> Settings:
        """Return the settings of the remedy; the ring, which soon deadlocks, is measured from its start."""
        del profile
        start: dict[str, Value] = {"run.warmup": "0s"} if point["case"] == RING else {}
        return start | REMEDIES[point["case"]][point["remedy"]]

    def claims(self, results: Results) -> Iterable[Claim]:
        """Return the claims on the ring's deadlock, up*/down* routes, and a watchdog during a storm."""
        ring, storm = results.where(case=RING), results.where(case=STORM)
        bare, routed = ring.where(remedy="none"), ring.where(remedy="up*/down* routes")
        cycle = "a cyclic dependency of buffers (Dally and Towles, chapter 14)"
        yield Claim(
            "C1",
            "Without a remedy the ring ends in one deadlock, which the report lists.",
            cycle,
            bare["deadlocks"].within(1, 1),
        )
        yield Claim("C2", "In the ring without a remedy no packet is lost.", "802.1Qbb", bare["loss"].is_zero())
        yield Claim(
            "C3", "With up*/down* routes the ring has no deadlock.", "Schroeder 1991", routed["deadlocks"].within(0, 0)
        )
        yield Claim(
            "C4",
            "With up*/down* routes the ring delivers at least twice as much as without a remedy.",
            "derived: the deadlock comes within the first milliseconds",
            routed["throughput"] >= 2 * bare["throughput"],
        )
        none, guarded = storm.where(remedy="none"), storm.where(remedy="watchdog")
        yield Claim(
            "C5",
            "With a watchdog the throughput of the storm's victim is at least 1.5 times that without.",
            "Guo and others, SIGCOMM 2016, section 4.3; the factor is derived from a storm of 6 of the 11 ms measured",
            guarded["victim"] >= 1.5 * none["victim"],
        )
        yield Claim.comparison(
            "R1",
            "Share of the packets held by stops that were head-of-line blocked, as their own path was not stopped, "
            "without a remedy.",
            "not in the papers",
            none["innocent"],
            "no paper states a number for this network",
        )

    def figures(self, results: Results) -> Iterable[Figure]:
        """Yield the throughput with each remedy, one figure per case."""
        for case in FILES:
            yield fig.compare(
                {"": results.where(case=case)["throughput"]}, f"{case}", f"Throughput by remedy, {case}", x="remedy"
            )
