"""datacentre-blocking, exhaustion of an edge's memory by rate-limited frames: blocked traffic, and queue management."""

from __future__ import annotations

from collections.abc import Iterable
from fnmatch import fnmatch
from math import nan

from tailback.gallery.datacentre.shared.network import POLICIES
from tailback.plotting import experiment as fig
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
    grid,
)

# Ports with limiters, and the congested port.
EDGES = "es*->core"
CONGESTED = "core->ed1"
EXCHANGES = {"neighbour": 4, "same host": 1}
"""Number of connections with transactions of 10 kB over paths without congestion, by the host that sends them."""
SOURCE = "Bergamasco, July 2005, slide 6"


def _tps(group: str) -> Observable:
    """Return the observable of the number of transactions of 10 kB per second of a connection."""
    name = group.replace(" ", "_")

    def value(report: Report) -> float:
        return report.application(group)["completed"]["count"] / report.measured_s / EXCHANGES[group]

    return Observable(f"{name}_tps", f"{group}: throughput", "Tps", value)


def _latency(group: str) -> Observable:
    """Return the observable of the mean time of a transaction, us; NaN without transactions."""
    name = group.replace(" ", "_")

    def value(report: Report) -> float:
        return 1e6 * (report.application(group)["completed"]["mean_s"] or nan)

    return Observable(f"{name}_latency", f"{group}: latency", "us", value)


# Mean backlog of an edge's limiter, averaged over the edges, kB.
def _pool(report: Report) -> float:
    rows = [row for row in report.congestion()["limiters"] if fnmatch(row["port"], EDGES)]
    return 1e-3 * sum(row["mean_bytes"] for row in rows) / len(rows)


class Blocking(Experiment):
    """Bulk transfers that are rate-limited, and transactions at the same edges that are not."""

    id = "datacentre-blocking"
    title = "Blocking at the rate limiters' queues"
    reference = "Bergamasco, IEEE 802 Plenary, July 2005, slide 6"
    axes = (Axis("policy", "policy of the rate limiters"), Axis("memory", "memory of the limiters"))
    quick = Profile(duration="150ms", warmup="50ms", replications=6, max_replications=16, cpu_s=20)
    full = Profile(duration="1050ms", warmup="50ms", replications=8, max_replications=40, cpu_s=220)
    metrics = (
        *(_tps(group) for group in EXCHANGES),
        *(_latency(group) for group in EXCHANGES),
        *(
            m.drops_at(
                EDGES, flows=group, name=f"{group.replace(' ', '_')}_lost", label=f"{group}: frames lost at the edge"
            )
            for group in EXCHANGES
        ),
        m.stopped(
            "sn*->es*", name="neighbour_stopped", label=("share of time for which the neighbours' links are stopped")
        ),
        m.stopped("st*->es*", name="host_stopped", label="share of time for which the bulk senders' links are stopped"),
        Observable("limited", "mean queue of the rate limiters at an edge", "kB", _pool),
        m.utilisation(CONGESTED, name="carried", label="utilisation of the congested link"),
    )

    def points(self, profile: ProfileName) -> Iterable[Point]:
        """Return the points: the slides' four policies, with a shared memory and with separate memories."""
        del profile
        return grid(policy=POLICIES, memory=("shared", "own"))

    def settings(self, point: Point, profile: ProfileName) -> Settings:
        """Return the settings of memory, flow control and queue management."""
        del profile
        settings: dict[str, Value] = {"switches.es.rate-limiters.memory": point["memory"]}
        name = str(point["policy"])
        if name != "no flow control":
            settings["backpressure.scope"] = "plain"
        if name in ("drop", "mark"):
            settings["switches.es.rate-limiters.aqm"] = {"kind": "simple", "ecn": name == "mark"}
        if name == "mark":
            settings |= {f"flows[{flow}].transport.ecn": "classic" for flow in ("bulk", *EXCHANGES)}
        return settings

    def claims(self, results: Results) -> Iterable[Claim]:
        """Return the claims on the problem of slide 6 and its remedy, and claims of our own."""
        shared, own = results.where(memory="shared"), results.where(memory="own")
        bare, stopping = shared.where(policy="no flow control"), shared.where(policy="flow control")
        managed = shared.where(policy=["drop", "mark"])
        return [
            Claim(
                "K1",
                "With a shared memory and no flow control, rate-limited frames exhaust the memory: connections with no "
                "congestion on their path lose frames at the edge.",
                SOURCE + " (blocking due to buffer exhaustion); the measure is ours",
                (bare["neighbour_lost"] > 0) & (bare["same_host_lost"] > 0),
                headline="Issue: blocking at RL queues due to buffer exhaustion",
            ),
            Claim(
                "K2",
                "With separate memories and no flow control, connections with no congestion on their path lose no "
                "frame at the edge.",
                "derived: the default path alone never fills its buffer",
                own.where(policy="no flow control")["neighbour_lost"].is_zero()
                & own.where(policy="no flow control")["same_host_lost"].is_zero(),
            ),
            Claim(
                "K3",
                "With a shared memory and flow control, the link of a neighbour, which sends no rate-limited frame, "
                "is stopped for some of the time.",
                SOURCE,
                stopping["neighbour_stopped"] > 0,
            ),
            Claim(
                "K4",
                "With separate memories the link of a neighbour is never stopped under any policy.",
                "derived: a neighbour feeds no limiter",
                own["neighbour_stopped"] <= 0,
            ),
            Claim(
                "K5",
                "With a shared memory, queue management in the limiters, dropping or marking, reduces the time for "
                "which a neighbour's link is stopped.",
                SOURCE + ": an AQM mechanism to control buffer usage",
                (shared.where(policy="drop")["neighbour_stopped"] < stopping["neighbour_stopped"])
                & (shared.where(policy="mark")["neighbour_stopped"] < stopping["neighbour_stopped"]),
                headline="Solution: add an AQM mechanism to control buffer usage",
            ),
            Claim(
                "K6",
                "With a shared memory, queue management in the limiters, dropping or marking, shortens their mean "
                "queue.",
                SOURCE,
                (shared.where(policy="drop")["limited"] < stopping["limited"])
                & (shared.where(policy="mark")["limited"] < stopping["limited"]),
            ),
            Claim(
                "K7",
                "With a shared memory, a neighbour completes more transactions with queue management, dropping or "
                "marking, than with flow control alone.",
                "slides 6 and 12 (Ref2); no figures for this network",
                (shared.where(policy="drop")["neighbour_tps"] > stopping["neighbour_tps"])
                & (shared.where(policy="mark")["neighbour_tps"] > stopping["neighbour_tps"]),
            ),
            Claim(
                "K8",
                "With a shared memory and queue management the congested link is busy for more than 99 % of the time.",
                "derived: the bulk connections offer more than the link carries",
                managed["carried"] > 99,
            ),
            Claim.comparison(
                "K9",
                "Mean time of a neighbour's transactions.",
                "ours",
                results["neighbour_latency"],
                "the slides have no such figure",
            ),
            Claim(
                "K10",
                "With shared and with separate memories, a host that also sends bulk transfers completes more "
                "transactions with queue management, dropping or marking, than with flow control alone.",
                SOURCE + ", and slide 12 (Ref2); no figures for this network",
                (results.where(policy="drop")["same_host_tps"] > results.where(policy="flow control")["same_host_tps"])
                & (
                    results.where(policy="mark")["same_host_tps"]
                    > results.where(policy="flow control")["same_host_tps"]
                ),
            ),
        ]

    def figures(self, results: Results) -> Iterable[Figure]:
        """Yield throughput and latency of transactions, time in which links are stopped, and the limiters' queue."""
        for name, title, y, claims in (
            ("tps", "Transactions of 10 kB over paths without congestion", "throughput", ("K7", "K10")),
            ("latency", "Latency of transactions over paths without congestion", "latency", ("K9",)),
        ):
            for group in EXCHANGES:
                key = f"{group.replace(' ', '_')}_{name}"
                shown = results[key]
                curves = {f"{memory} memory": shown.where(memory=memory) for memory in ("shared", "own")}
                yield fig.compare(curves, key, f"{title}: {group}", x="policy", y=y, claims=claims)
        stopped = results["neighbour_stopped"]
        curves = {f"{memory} memory": stopped.where(memory=memory) for memory in ("shared", "own")}
        yield fig.compare(
            curves,
            "stopped",
            "Share of time for which the neighbours' links are stopped",
            x="policy",
            y="share of time",
            claims=("K3", "K4", "K5"),
        )
        limited = results["limited"]
        curves = {f"{memory} memory": limited.where(memory=memory) for memory in ("shared", "own")}
        yield fig.compare(
            curves,
            "limited",
            "Mean queue of the rate limiters at one edge",
            x="policy",
            y="mean queue",
            claims=("K6",),
        )
