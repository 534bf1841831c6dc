"""lan-a1-tcp, experiment A.1 with TCP: loss, retransmissions and delivery times where three sources meet, by scope."""

from __future__ import annotations

from collections.abc import Iterable

from tailback.gallery.lan.shared import tcp_sources as tcp
from tailback.plotting import experiment as fig
from tailback.study.experiment import Claim, Experiment, Figure, Point, Profile, ProfileName, Results, Settings


class TrafficMergingWithTcp(Experiment):
    """Three TCP sources into one 10 Mbit/s link."""

    id = "lan-a1-tcp"
    title = "Traffic merging with TCP sources"
    reference = "Tobagi, Fraleigh and Noureddine, experiment A.1, with sources that respond"
    axes = tcp.AXES
    quick = Profile(duration="45s", warmup="5s", replications=3, max_replications=12, cpu_s=12)
    full = Profile(duration="420s", warmup="20s", replications=5, max_replications=40, cpu_s=140)
    metrics = tcp.METRICS

    def points(self, profile: ProfileName) -> Iterable[Point]:
        """Return the points: the ranges of A.1, in quick a part of them."""
        return (
            tcp.points((1, 2, 3), (24, 48)) if profile == "quick" else tcp.points((1, 1.5, 2, 2.5, 3), (6, 12, 24, 48))
        )

    def settings(self, point: Point, profile: ProfileName) -> Settings:
        """Return the settings of the notifications' scope and of the sources."""
        del profile
        return tcp.settings(point)

    def claims(self, results: Results) -> Iterable[Claim]:
        """Return the claims on loss and goodput that are derived, and comparisons of other results."""
        none, controlled = results.where(mechanism="none"), results.where(mechanism=list(tcp.CONTROLLED))
        endless = results.where(traffic=tcp.ENDLESS, rate=10, burst=0)
        worst = results.where(traffic=tcp.BURSTS, rate=3, burst=48)
        return [
            Claim(
                "T1",
                "Under every scope of back-pressure no segment is lost.",
                "derived: a window of 64 kB fits into the 500 kB of each of the first switches",
                controlled["loss"].is_zero(),
            ),
            Claim(
                "T2",
                "Without control segments of endless transfers are lost.",
                "derived: TCP opens its window until something is lost, and three of 64 kB do not fit into 50 kB",
                none.where(traffic=tcp.ENDLESS)["loss"] > 0,
            ),
            Claim(
                "T3",
                "Endless transfers fill the link under every mechanism: their goodput is more than 95 % of the link's "
                "9.49 Mbit/s.",
                "derived: 50 kB keep the link busy for 40 ms, far longer than the round-trip time without queues",
                endless["goodput"] > 0.95 * tcp.LINE_MBPS,
            ),
            Claim(
                "T4",
                "With one class and one destination the goodput of endless transfers is the same under the selective "
                "scopes as with XON/XOFF, within 2 %.",
                "derived: all traffic is of the class and to the destination that the notifications name",
                endless.where(mechanism=["class", "destination", "class-destination"])["goodput"].close_to(
                    endless.where(mechanism="plain")["goodput"], relative=0.02
                ),
            ),
            *(
                Claim.comparison(
                    f"T5{letter}",
                    f"99th percentile of the time to deliver a burst of 48 kB at 3 Mbit/s, {words}.",
                    "not in the slides",
                    worst.where(mechanism=mode)["completion_p99"],
                    "a tail loss probe repairs the loss of a burst's last segments after two round trips, so that it "
                    "cannot be derived whether delivery is faster with or without control",
                )
                for letter, words, mode in (("a", "without control", "none"), ("b", "with XON/XOFF", "plain"))
            ),
            Claim.comparison(
                "T6",
                "Share of segments that are retransmitted at 3 Mbit/s in bursts of 48 kB without control.",
                "not in the slides",
                worst.where(mechanism="none")["again"],
                "the slides have no TCP",
            ),
            Claim.comparison(
                "T7",
                "Share of segments that are retransmitted under back-pressure, all of them spuriously.",
                "not in the slides",
                controlled["again"],
                "a timeout or probe while a burst waits is no loss; their number depends on TCP's variant",
            ),
        ]

    def figures(self, results: Results) -> Iterable[Figure]:
        """Yield loss, delivery times and retransmissions by rate, with a panel for each burst size."""
        bursts = results.where(traffic=tcp.BURSTS)
        for metric, name, title, claims in (
            ("loss", "loss", "Packet loss", ("T1",)),
            ("completion", "completion", "Mean time to deliver a burst", ()),
            ("completion_p99", "completion-p99", "99th percentile of the time to deliver a burst", ("T5a", "T5b")),
            ("again", "again", "Retransmitted share of segments", ("T6", "T7")),
        ):
            curves = {mode: bursts.where(mechanism=mode)[metric] for mode in tcp.MODES}
            yield fig.compare(curves, name, title, x="rate", panel="burst", claims=claims)
