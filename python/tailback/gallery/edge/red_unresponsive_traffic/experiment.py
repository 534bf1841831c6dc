"""edge-red-udp, data that do not respond to congestion: RED and tail drop, and the effect of a longer queue."""

from __future__ import annotations

from collections.abc import Iterable

from tailback.gallery.edge.shared import customer_edge as ce
from tailback.plotting import experiment as fig
from tailback.study.experiment import Axis, Claim, Figure, Point, Profile, ProfileName, Results, Settings, grid

TAIL, RED = "tail drop", "RED"
LIMITS = (16, 32, 64, 128, 256)
"""Limits of the class in packets; RED's thresholds are a quarter and three quarters of the limit."""
STEADY, BURSTY = "over capacity", "bursty, within capacity"


class Droppers(ce.AtTheEdge):
    """Loss and delay of sources that do not respond, with RED and with tail drop."""

    id = "edge-red-udp"
    title = "RED and tail drop for traffic that does not respond"
    reference = 'Mitroi and Stroescu, sections 2 and 3 f: "in this case it is better to use tail drop"'
    axes = (Axis("traffic", "AF3x"), Axis("dropper", "dropper"), Axis("limit", "limit of the class", "packets"))
    quick = Profile(duration="12s", warmup="2s", replications=3, max_replications=12, cpu_s=5)
    full = Profile(duration="122s", warmup="2s", replications=5, max_replications=30, cpu_s=100)
    metrics = (ce.class_loss("AF3x"), ce.class_delay("AF3x"), ce.class_loss("EF"))

    def points(self, profile: ProfileName) -> Iterable[Point]:
        """Return the points: traffic above capacity and bursts below it, both droppers, and each limit."""
        del profile
        return grid(traffic=[STEADY, BURSTY], dropper=[TAIL, RED], limit=LIMITS)

    def settings(self, point: Point, profile: ProfileName) -> Settings:
        """Return the settings of limit, dropper and sources of AF3x.

        Bursty sources send bursts of 30 kB, in total 20 Mbit/s.
        """
        del profile
        limit = int(point["limit"])
        inside = {"critical": ce.wred(max(limit // 4, 1), 3 * limit // 4, ce.CLASSES["AF3x"])}
        made = ce.policy(low_latency=True, inside=inside if point["dropper"] == RED else None)
        made[f"{ce.DISCIPLINE}.classes[2].limit"] = f"{limit}packets"
        if point["traffic"] == BURSTY:
            made |= {
                f"flows[{group}].source": {"kind": "uniform-fixed", "burst": "30kB", "rate": "2Mbit/s"}
                for group in ce.CLASSES["AF3x"]
            }
        return made

    def claims(self, results: Results) -> Iterable[Claim]:
        """Return the claims on loss above capacity, on bursts under RED, and on the effect of a larger limit."""
        steady, bursty = results.where(traffic=STEADY), results.where(traffic=BURSTY)
        loss, delay = "loss_AF3x", "delay_AF3x"
        expected = ce.fluid_losses()["AF3x"]
        tail = steady.where(dropper=TAIL)
        return [
            Claim(
                "U1",
                f"If AF3x offers more than its capacity, it loses {expected:.1f} %, within 1 percentage point, with "
                "RED and with tail drop and at every limit.",
                "section 3 f; derived",
                steady[loss].within(expected - 1, expected + 1),
            ),
            Claim(
                "U2",
                "If bursts of AF3x have a mean rate below capacity, RED loses more than tail drop with the same "
                "limit, for limits of 64 and 128 packets.",
                'section 3 f: "better to use tail drop"',
                bursty.where(dropper=RED, limit=[64, 128])[loss] > bursty.where(dropper=TAIL, limit=[64, 128])[loss],
            ),
            Claim(
                "U3",
                "With tail drop, the loss of bursts does not rise with the limit, and their delay does not fall.",
                'section 2: "Higher queue length will assure a less packet amount, but it also introduces higher '
                'delay"',
                bursty.where(dropper=TAIL)[loss].non_increasing("limit", tolerance=0.05)
                & bursty.where(dropper=TAIL)[delay].non_decreasing("limit", tolerance=0.5),
            ),
            Claim(
                "U4",
                "If AF3x offers more than its capacity, its delay with tail drop and a limit of 256 packets is more "
                "than three times that with a limit of 64.",
                "derived: a queue that is four times as long takes four times as long to drain",
                tail.where(limit=256)[delay] > 3 * tail.where(limit=64)[delay],
            ),
        ]

    def figures(self, results: Results) -> Iterable[Figure]:
        """Yield loss and delay against the limit, and the additional loss of bursts with RED."""
        for metric, name, title in (
            ("loss_AF3x", "loss", "Loss of AF3x against the limit of its queue"),
            ("delay_AF3x", "delay", "Delay of AF3x against the limit of its queue"),
        ):
            yield fig.compare(
                {dropper: results.where(dropper=dropper)[metric] for dropper in (TAIL, RED)},
                name,
                title,
                x="limit",
                panel="traffic",
                claims=("U1", "U3", "U4"),
            )
        loss = {dropper: results.where(traffic=BURSTY, dropper=dropper)["loss_AF3x"] for dropper in (TAIL, RED)}
        yield fig.compare(
            {"RED minus tail drop": loss[RED] - loss[TAIL]},
            "difference",
            "Loss of bursts with RED minus that with tail drop",
            "Paired differences of replications with the same bursts, 99 % intervals.",
            x="limit",
            y="difference of loss",
            claims=("U2",),
        )
