"""datacentre-udp, the second workload of July 2005: TCP, and bursts of UDP of a fifth of the bottleneck's rate."""

from __future__ import annotations

from collections.abc import Iterable

from tailback.gallery.datacentre.shared.network import (
    BOTTLENECK,
    POLICIES,
    WAITS_US,
    latency,
    limiters,
    mean_limited,
    policy,
    tps,
)
from tailback.plotting import experiment as fig
from tailback.results import observables as m
from tailback.results.report import Report
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


# Largest number of UDP frames in any limiter's queue.
def _most_udp(report: Report) -> float:
    return float(max(row["most_udp"] for row in limiters(report)))


class Udp(Experiment):
    """TCP as in the first workload, and 2 Gbit/s of UDP to the same destination."""

    id = "datacentre-udp"
    title = "BCN with TCP and UDP under four policies of the rate limiters"
    reference = "Bergamasco, IEEE 802 Plenary, July 2005, slide 9, workload 2 (no results there)"
    axes = (Axis("policy", "policy"),)
    quick = Profile(duration="700ms", warmup="100ms", replications=4, max_replications=6, cpu_s=25)
    full = Profile(duration="1050ms", warmup="50ms", replications=10, max_replications=40, cpu_s=100)
    metrics = (
        *(tps(group) for group in WAITS_US),
        *(latency(group) for group in WAITS_US),
        m.loss("udp", name="udp_loss", label="UDP packet loss"),
        m.throughput("udp", name="udp", label="UDP carried"),
        m.offered("udp", name="udp_offered", label="offered UDP load"),
        Observable("most_udp", "most UDP frames in a limiter's queue", "frames", _most_udp),
        m.drops_at("core->*", name="core_drops", label="frames lost in the core"),
        m.utilisation(BOTTLENECK),
        mean_limited(),
    )

    def points(self, profile: ProfileName) -> Iterable[Point]:
        """Return one point per policy."""
        del profile
        return grid(policy=POLICIES)

    def settings(self, point: Point, profile: ProfileName) -> Settings:
        """Return the settings of the policy."""
        del profile
        return policy(str(point["policy"]))

    def claims(self, results: Results) -> Iterable[Claim]:
        """Return claims of our own: the slides have no results for this workload."""
        none, flow, drop, mark = (results.where(policy=name) for name in POLICIES)
        managed = results.where(policy=["drop", "mark"])
        own = "derived: the slides have no results for workload 2"
        return [
            Claim(
                "U1",
                "With queue management, dropping or marking, no limiter holds more than 11 UDP frames.",
                "slide 7",
                managed["most_udp"] <= 11,
            ),
            Claim(
                "U2",
                "Under every policy the bottleneck is busy for more than 99 % of the time.",
                own,
                results["utilisation"] > 99,
            ),
            Claim(
                "U3",
                "No frame is lost in the core with flow control alone and with marking, where limiters drop no TCP "
                "frame.",
                own,
                results.where(policy=["flow control", "mark"])["core_drops"].is_zero(),
            ),
            Claim("U4", "With flow control alone no UDP packet is lost.", own, flow["udp_loss"].is_zero()),
            Claim(
                "U5",
                "More of the UDP traffic, which does not respond to congestion, is lost with queue management, "
                "dropping or marking, than without flow control.",
                own,
                (drop["udp_loss"] > none["udp_loss"]) & (mark["udp_loss"] > none["udp_loss"]),
            ),
            Claim(
                "U6",
                "The throughput of on/off connections is higher with queue management, dropping or marking, than "
                "without flow control.",
                own,
                (drop["onoff_tps"] > none["onoff_tps"]) & (mark["onoff_tps"] > none["onoff_tps"]),
            ),
            Claim.comparison(
                "U7", "Delivered UDP traffic.", own, results["udp"], "for comparison with the 2 Gbit/s offered"
            ),
            Claim.comparison(
                "U8", "Throughput of bulk connections.", own, results["bulk_tps"], "for comparison with workload 1"
            ),
            Claim.comparison(
                "U9", "Throughput of on/off connections.", own, results["onoff_tps"], "for comparison with workload 1"
            ),
        ]

    def figures(self, results: Results) -> Iterable[Figure]:
        """Yield the throughput of TCP connections, and the offered and delivered UDP traffic, under each policy."""
        yield fig.compare(
            {"bulk": results["bulk_tps"], "on/off": results["onoff_tps"]},
            "tcp",
            "TCP transactions per second of a connection",
            x="policy",
            y="throughput",
            claims=("U6", "U8", "U9"),
        )
        yield fig.compare(
            {"offered": results["udp_offered"], "carried": results["udp"]},
            "udp",
            "UDP traffic offered and delivered",
            x="policy",
            y="rate of UDP",
            claims=("U4", "U5", "U7"),
        )
