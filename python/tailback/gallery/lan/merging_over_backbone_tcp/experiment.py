"""lan-c2-tcp, experiment C.2 with TCP: cost of stopping a backbone for responsive sources, by scope."""

from __future__ import annotations

from collections.abc import Iterable

from tailback.gallery.lan.shared import tcp_sources as tcp
from tailback.plotting import experiment as fig
from tailback.study.experiment import Claim, Experiment, Figure, Point, Profile, ProfileName, Results, Settings


class BackboneWithTcp(Experiment):
    """Three TCP sources to a 10 Mbit/s destination each over one 100 Mbit/s backbone."""

    id = "lan-c2-tcp"
    title = "Merging over the backbone with TCP sources"
    reference = "Tobagi, Fraleigh and Noureddine, experiment C.2, with sources that respond"
    axes = tcp.AXES
    quick = Profile(duration="34s", warmup="4s", replications=3, max_replications=12, cpu_s=12)
    full = Profile(duration="220s", warmup="20s", replications=5, max_replications=40, cpu_s=260)
    metrics = tcp.METRICS

    def points(self, profile: ProfileName) -> Iterable[Point]:
        """Return the points: the ranges of C.2, in quick a part of them."""
        return (
            tcp.points((2, 6, 9), (48, 96)) if profile == "quick" else tcp.points((2, 4, 6, 8, 9), (6, 12, 24, 48, 96))
        )

    def settings(self, point: Point, profile: ProfileName) -> Settings:
        """Return the settings of the notifications' scope and of the sources."""
        del profile
        return tcp.settings(point)

    def claims(self, results: Results) -> Iterable[Claim]:
        """Return the claims on loss, goodput and delivery time that are derived, and comparisons of other results."""
        none, controlled = results.where(mechanism="none"), results.where(mechanism=list(tcp.CONTROLLED))
        endless = results.where(traffic=tcp.ENDLESS, rate=10, burst=0)
        worst = results.where(traffic=tcp.BURSTS, rate=9, burst=96)
        selective = worst.where(mechanism=["destination", "class-destination"])
        return [
            Claim(
                "T1",
                "Under every scope of back-pressure no segment is lost.",
                "derived: three windows of 64 kB fit into the buffer of sw1, where each destination has 500 kB of its "
                "own",
                controlled["loss"].is_zero(),
            ),
            Claim(
                "T2",
                "Without control segments of endless transfers are lost.",
                "derived: TCP opens its window until something is lost, and 64 kB do not fit into 50 kB",
                none.where(traffic=tcp.ENDLESS)["loss"] > 0,
            ),
            Claim(
                "T3",
                "If only the congested destination is stopped, endless transfers fill all three links: their goodput "
                "is more than 95 % of 28.5 Mbit/s in total.",
                "derived: each destination's queue of 50 kB keeps its link busy for 40 ms, and is the only queue that "
                "stops it",
                endless.where(mechanism=["destination", "class-destination"])["goodput"] > 0.95 * 3 * tcp.LINE_MBPS,
            ),
            Claim(
                "T4",
                "Bursts of 96 kB at 9 Mbit/s are delivered sooner if only the congested destination is stopped than "
                "with XON/XOFF.",
                "conclusions of the slides; derived: a stopped backbone delays bursts to idle destinations",
                selective["completion"] < worst.where(mechanism="plain")["completion"],
            ),
            Claim(
                "T5",
                "With one class, the goodput of endless transfers if notifications name the class is within 2 % of "
                "that with XON/XOFF, since stopping the class stops the backbone.",
                "derived: all traffic is of the class that the notification names",
                endless.where(mechanism="class")["goodput"].close_to(
                    endless.where(mechanism="plain")["goodput"], relative=0.02
                ),
            ),
            *(
                Claim.comparison(number, text, "not in the slides", quantity, "the slides have no TCP")
                for number, text, quantity in (
                    (
                        "T6",
                        "Goodput of endless transfers with XON/XOFF, which stops the whole backbone.",
                        endless.where(mechanism="plain")["goodput"],
                    ),
                    (
                        "T7",
                        "Goodput of endless transfers without control.",
                        endless.where(mechanism="none")["goodput"],
                    ),
                    (
                        "T8",
                        "Time to deliver a burst of 96 kB at 9 Mbit/s without control.",
                        worst.where(mechanism="none")["completion"],
                    ),
                    (
                        "T9",
                        "Share of segments that are retransmitted without control, bursts of 96 kB at 9 Mbit/s.",
                        worst.where(mechanism="none")["again"],
                    ),
                    (
                        "T10",
                        "Share of segments that are retransmitted under back-pressure, all of them spuriously.",
                        controlled["again"],
                    ),
                )
            ),
        ]

    def figures(self, results: Results) -> Iterable[Figure]:
        """Yield loss, delivery times and retransmissions by rate, with a panel for each burst size."""
        bursts = results.where(traffic=tcp.BURSTS)
        for metric, name, title, claims in (
            ("loss", "loss", "Packet loss", ("T1",)),
            ("completion", "completion", "Mean time to deliver a burst", ("T4", "T8")),
            ("completion_p99", "completion-p99", "99th percentile of the time to deliver a burst", ()),
            ("again", "again", "Retransmitted share of segments", ("T9", "T10")),
        ):
            curves = {mode: bursts.where(mechanism=mode)[metric] for mode in tcp.MODES}
            yield fig.compare(curves, name, title, x="rate", panel="burst", claims=claims)
