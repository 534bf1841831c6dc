"""edge-hard: sub-bands of fixed capacity, compared with shared guarantees, when video uses less than its sub-band."""

from __future__ import annotations

from collections.abc import Iterable

from tailback.gallery.edge.shared import customer_edge as ce
from tailback.plotting import experiment as fig
from tailback.results import observables as m
from tailback.scenario import Value
from tailback.study.experiment import Axis, Claim, Figure, Point, Profile, ProfileName, Results, Settings, grid

HARD, SHARED = "hard sub-bands", "iii CBWFQ"
VIDEO = (35, 30, 20, 10, 1)
"""Offered rates of video, Mbit/s; its sub-band has 35 Mbit/s."""


class SubBands(ce.AtTheEdge):
    """Throughput of all classes when the capacity that video does not use is wasted, or shared."""

    id = "edge-hard"
    title = "What hard sub-bands waste"
    reference = 'Mitroi and Stroescu, section 5: "the fixed sub-bands allocation might look uneconomic"'
    axes = (Axis("sub_bands", "sub-bands"), Axis("video", "video offered", "Mbit/s"))
    quick = Profile(duration="8s", warmup="2s", replications=3, max_replications=9, cpu_s=3)
    full = Profile(duration="62s", warmup="2s", replications=5, max_replications=30, cpu_s=40)
    metrics = (
        *(ce.class_loss(name) for name in ce.CLASSES),
        *(ce.class_delay(name) for name in ce.CLASSES),
        *(ce.class_throughput(name) for name in ce.CLASSES),
        m.throughput(),
    )

    def points(self, profile: ProfileName) -> Iterable[Point]:
        """Return the points: both policies with each rate of video."""
        del profile
        return grid(sub_bands=[HARD, SHARED], video=VIDEO)

    def settings(self, point: Point, profile: ProfileName) -> Settings:
        """Return the settings of hierarchical token buckets without borrowing, or class-based queues, and load."""
        del profile
        load: Settings = {"flows[af41].source.rate": f"{float(point['video']) / 10:g}Mbit/s"}
        if point["sub_bands"] == SHARED:
            return ce.policy(low_latency=False) | load
        leaves: list[Value] = [
            {"name": name, "match": name, "rate": rate, "ceil": rate, "limit": "64packets"}
            for name, share in ce.SHARES.items()
            for rate in [f"{share.rstrip('%')}Mbit/s"]
        ]
        return {ce.DISCIPLINE: {"kind": "htb", "classes": leaves, "default": "bulk"}} | load

    def claims(self, results: Results) -> Iterable[Claim]:
        """Return the claims: hard sub-bands waste unused capacity, and sharing harms no class."""
        hard, shared = results.where(sub_bands=HARD), results.where(sub_bands=SHARED)
        # Capacity that voice, bulk, AF3x and AF2x do not use in hard sub-bands, Mbit/s: what is unused without video.
        waste = 100 - 15 - 8 - 40
        return [
            Claim(
                "H1",
                "With hard sub-bands AF3x and AF2x get 20 Mbit/s each, within 0.3 Mbit/s, at every rate of video.",
                "derived: the ceiling of each class is 20 Mbit/s, and both offer more",
                hard["throughput_AF3x"].within(19.7, 20.3) & hard["throughput_AF2x"].within(19.7, 20.3),
            ),
            Claim(
                "H2",
                "With sharing and 10 Mbit/s of video or more, the throughput is 100 Mbit/s, within 0.4 Mbit/s: voice, "
                "bulk, AF3x and AF2x offer more than the rest of the link.",
                "derived: work conservation",
                shared.where(video=[35, 30, 20, 10])["throughput"].within(99.6, 100.1),
            ),
            Claim(
                "H3",
                f"With hard sub-bands and 1 Mbit/s of video, {waste - 1} Mbit/s are unused, within 1 Mbit/s, while "
                "AF3x loses a third and AF2x half of its packets, within 1 percentage point.",
                "derived: 100 - 15 - 8 - 2 · 20 - 1",
                hard.where(video=1)["throughput"].within(100 - waste, 102 - waste)
                & hard.where(video=1)["loss_AF3x"].within(32.4, 34.4)
                & hard.where(video=1)["loss_AF2x"].within(49, 51),
            ),
            Claim(
                "H4",
                "With sharing voice, video and bulk lose nothing.",
                "section 5",
                shared["loss_EF"].is_zero() & shared["loss_AF41"].is_zero() & shared["loss_AF1x"].is_zero(),
            ),
            Claim.comparison(
                "H5",
                "Delay of voice in its hard sub-band of 15 Mbit/s, which it fills, with 20 Mbit/s of video.",
                "not in the paper",
                hard.where(video=20)["delay_EF"],
                "at a load of 1 the queue is a random walk, so that the delay has no stationary mean",
            ),
        ]

    def figures(self, results: Results) -> Iterable[Figure]:
        """Yield the throughput, in total and by class, against the rate of video."""
        yield fig.compare(
            {name: results.where(sub_bands=name)["throughput"] for name in (HARD, SHARED)},
            "throughput",
            "Throughput of the link against the offered rate of video",
            x="video",
            claims=("H2", "H3"),
        )
        for key, name in (("hard", HARD), ("shared", SHARED)):
            at = results.where(sub_bands=name)
            yield fig.compare(
                {c: at[f"throughput_{c}"] for c in ce.CLASSES},
                f"classes-{key}",
                f"Throughput of each class, {name}",
                x="video",
                y="throughput",
                claims=("H1", "H4"),
            )
