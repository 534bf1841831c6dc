"""edge-priority: priority queueing of the traffic of Table 1, with increasing traffic in the highest level."""

from __future__ import annotations

from collections.abc import Iterable

from tailback.gallery.edge.shared import customer_edge as ce
from tailback.plotting import experiment as fig
from tailback.scenario import Value
from tailback.study.experiment import Axis, Claim, Figure, Point, Profile, ProfileName, Results, Settings, grid

PQ, LLQ = "PQ", "iv LLQ"
VOICE = (15, 30, 60, 90, 110)
"""Offered rates of voice, Mbit/s; Table 1 has 15."""
# Name, class maps and limit in packets of each level.
_LEVELS = (
    ("high", ["voice"], 20),
    ("medium", ["video"], 40),
    ("normal", ["critical", "noncritical"], 60),
    ("low", ["bulk"], 80),
)


class Starvation(ce.AtTheEdge):
    """Throughput of all classes with priority queueing and with LLQ over the rate of voice."""

    id = "edge-priority"
    title = "Strict priority starves lower levels"
    reference = 'Mitroi and Stroescu, section 3 b: "it will take over the resources … or even to its elimination"'
    axes = (Axis("scheduler", "scheduler"), Axis("voice", "voice offered", "Mbit/s"))
    quick = Profile(duration="8s", warmup="2s", replications=3, max_replications=9, cpu_s=3)
    full = Profile(duration="62s", warmup="2s", replications=5, max_replications=30, cpu_s=40)
    metrics = (
        *(ce.class_loss(name) for name in ce.CLASSES),
        *(ce.class_delay(name) for name in ce.CLASSES),
        *(ce.class_throughput(name) for name in ce.CLASSES),
    )

    def points(self, profile: ProfileName) -> Iterable[Point]:
        """Return the points: both schedulers with voice from its planned rate to more than the link's."""
        del profile
        return grid(scheduler=[PQ, LLQ], voice=VOICE)

    def settings(self, point: Point, profile: ProfileName) -> Settings:
        """Return the settings of four levels with their usual limits, or configuration iv, and the rate of voice."""
        del profile
        load: Settings = {"flows[ef].source.rate": f"{float(point['voice']) / 10:g}Mbit/s"}
        if point["scheduler"] == LLQ:
            return ce.policy(low_latency=True) | load
        levels: list[Value] = [
            {"name": name, "match": match, "limit": f"{limit}packets"} for name, match, limit in _LEVELS
        ]
        return {ce.DISCIPLINE: {"kind": "priority", "levels": levels}} | load

    def claims(self, results: Results) -> Iterable[Claim]:
        """Return the claims: lower levels starve as voice grows, and LLQ's policer prevents that."""
        pq, llq = results.where(scheduler=PQ), results.where(scheduler=LLQ)
        return [
            Claim(
                "P1",
                "With priority queueing and the traffic of Table 1, the lowest level, AF1x, loses more than 99 %.",
                "section 3 b",
                pq.where(voice=15)["loss_AF1x"] > 99,
            ),
            Claim(
                "P2",
                "With priority queueing and the traffic of Table 1, EF and AF41 lose nothing.",
                "derived: the two highest levels offer 45 Mbit/s",
                pq.where(voice=15)["loss_EF"].is_zero() & pq.where(voice=15)["loss_AF41"].is_zero(),
            ),
            Claim(
                "P3",
                "With priority queueing and 90 Mbit/s of voice, AF3x loses more than 99 % of its packets and video "
                "two thirds, within 3 percentage points.",
                "derived: 10 of 30 Mbit/s are left",
                (pq.where(voice=90)["loss_AF3x"] > 99) & pq.where(voice=90)["loss_AF41"].within(63.7, 69.7),
            ),
            Claim(
                "P4",
                "With priority queueing and 110 Mbit/s of voice, each other class gets less than 0.1 Mbit/s.",
                'section 3 b: "serves only real time traffic"',
                ce.all_of(pq.where(voice=110)[f"throughput_{name}"] < 0.1 for name in ("AF41", "AF3x", "AF2x", "AF1x")),
            ),
            Claim(
                "P5",
                "With LLQ, whose policer limits voice under congestion, voice gets 15 Mbit/s, within 0.5 Mbit/s, at "
                "every offered rate, and AF1x and video lose nothing.",
                "derived: the policer's rate is 15 % of 100 Mbit/s",
                llq["throughput_EF"].within(14.5, 15.5) & llq["loss_AF1x"].is_zero() & llq["loss_AF41"].is_zero(),
            ),
        ]

    def figures(self, results: Results) -> Iterable[Figure]:
        """Yield the throughput of each class against the offered rate of voice."""
        for scheduler, key in ((PQ, "pq"), (LLQ, "llq")):
            at = results.where(scheduler=scheduler)
            yield fig.compare(
                {name: at[f"throughput_{name}"] for name in ce.CLASSES},
                f"throughput-{key}",
                f"Throughput of each class, {'priority queueing' if scheduler == PQ else scheduler}",
                x="voice",
                y="throughput",
                claims=("P1", "P3", "P4") if scheduler == PQ else ("P5",),
            )
