"""Unresponsive data: RED against tail drop, and the effect of a longer queue."""

from __future__ import annotations

from collections.abc import Iterable

from tailback.gallery.edge.shared import customer_edge as ce
from tailback.plotting import experiment as fig
from tailback.study.experiment import Axis, Claim, Figure, Point, Profile, ProfileName, Results, Settings, grid

TAIL, RED = "tail drop", "RED"
LIMITS = (16, 32, 64, 128, 256)
"""Packets of the class; RED's thresholds are a quarter and three quarters of it."""
STEADY, BURSTY = "over capacity", "bursty, within capacity"


class Droppers(ce.AtTheEdge):
    """RED cannot slow sources that do not respond."""

    id = "edge-red-udp"
    title = "RED and tail drop for traffic that does not respond"
    reference = 'Mitroi and Stroescu, sections 2 and 3 f: "in this case it is better to use tail drop"'
    axes = (Axis("traffic", "AF3x"), Axis("dropper", "dropper"), Axis("limit", "limit of the class", "packets"))
    quick = Profile(duration="12s", warmup="2s", replications=3, max_replications=12, cpu_s=5)
    full = Profile(duration="122s", warmup="2s", replications=5, max_replications=30, cpu_s=100)
    metrics = (ce.class_loss("AF3x"), ce.class_delay("AF3x"), ce.class_loss("EF"))

    def points(self, profile: ProfileName) -> Iterable[Point]:
        """Both droppers and kinds of traffic over the limit."""
        del profile
        return grid(traffic=[STEADY, BURSTY], dropper=[TAIL, RED], limit=LIMITS)

    def settings(self, point: Point, profile: ProfileName) -> Settings:
        """Limit and dropper of AF3x. Bursty sources send 30 kB at a time and 20 Mbit/s in all."""
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
        """Above capacity the loss is the same; of bursts RED loses more; a larger limit adds delay."""
        steady, bursty = results.where(traffic=STEADY), results.where(traffic=BURSTY)
        loss, delay = "loss_AF3x", "delay_AF3x"
        expected = ce.fluid_losses()["AF3x"]
        tail = steady.where(dropper=TAIL)
        return [
            Claim(
                "U1",
                f"Over capacity both droppers lose {expected:.1f} %, within a point, at every limit: what does not "
                "respond "
                "loses its excess, whoever chooses.",
                "section 3 f; derived",
                steady[loss].within(expected - 1, expected + 1),
            ),
            Claim(
                "U2",
                "Of bursts that a class has room for on average, RED loses more than tail drop with the same limit.",
                'section 3 f: "better to use tail drop"',
                bursty.where(dropper=RED, limit=[64, 128])[loss] > bursty.where(dropper=TAIL, limit=[64, 128])[loss],
            ),
            Claim(
                "U3",
                "With tail drop a longer queue loses fewer packets of bursts, and makes them wait longer.",
                'section 2: "Higher queue length will assure a less packet amount, but it also introduces higher '
                'delay"',
                bursty.where(dropper=TAIL)[loss].non_increasing("limit", tolerance=0.05)
                & bursty.where(dropper=TAIL)[delay].non_decreasing("limit", tolerance=0.5),
            ),
            Claim(
                "U4",
                "Over capacity a longer queue loses as much and only makes what it delivers wait: 256 packets more "
                "than three "
                "times as long as 64.",
                "derived",
                tail.where(limit=256)[delay] > 3 * tail.where(limit=64)[delay],
            ),
        ]

    def figures(self, results: Results) -> Iterable[Figure]:
        """Loss and delay over the limit, and the additional loss of bursts under RED."""
        for metric, name, title in (
            ("loss_AF3x", "loss", "Loss of AF3x over the limit of its queue"),
            ("delay_AF3x", "delay", "Delay of AF3x over the limit of its queue"),
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
            {"RED less tail drop": loss[RED] - loss[TAIL]},
            "difference",
            "Bursts: loss with RED less loss with tail drop",
            "Paired differences of replications with the same bursts, 99 % intervals.",
            x="limit",
            y="loss more",
            claims=("U2",),
        )
