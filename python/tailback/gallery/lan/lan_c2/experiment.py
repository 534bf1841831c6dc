"""E-C2, merging over the backbone: several congested destinations behind one link."""

from __future__ import annotations

from collections.abc import Iterable

from tailback.gallery import Axis, Claim, Experiment, Figure, Point, Profile, ProfileName, Results, Settings, grid
from tailback.gallery import figures as fig
from tailback.gallery import metrics as m
from tailback.gallery.quantity import Selector

UNIFORM, SELF_SIMILAR = "uniform-uniform", "self-similar"
MECHANISMS = ("none", "plain", "destination")
SHARED = "destination, shared buffer"
"""For the sensitivity: without a share of the buffer for each destination."""
WORDS = ("without control", "stopping the backbone", "stopping destinations")
RESOLUTION = 0.05
"""Differences of loss below this many points are not told apart: packets lost once in many minutes decide nothing."""
PAIRS = 3
"""Sources and destinations in the deck's figures, as reconstructed."""


class MergingOverTheBackbone(Experiment):
    """Three sources to a 10 Mbit/s destination each over one 100 Mbit/s backbone."""

    id = "lan-c2"
    title = "Merging over the backbone"
    reference = "Tobagi, Fraleigh and Noureddine, experiment C.2"
    axes = (
        Axis("traffic", "traffic model"),
        Axis("pairs", "sources and destinations"),
        Axis("mechanism", "mechanism"),
        Axis("rate", "data rate per source", "Mbit/s"),
        Axis("burst", "mean burst size", "kB"),
    )
    quick = Profile(duration="32s", warmup="4s", replications=5, max_replications=30, cpu_s=22)
    full = Profile(duration="220s", warmup="20s", replications=10, max_replications=100, cpu_s=800)
    metrics = (
        m.loss(),
        m.throughput(label="throughput of all sources"),
        m.mean_delay(),
        m.drops_at("sw1->*", name="drops_sw1", label="packets lost at sw1"),
        m.drops_at("sw2->*", name="drops_sw2", label="packets lost at sw2"),
        m.offered(),
    )

    def points(self, profile: ProfileName) -> Iterable[Point]:
        """The deck's ranges for both traffic models; other numbers of sources only in full."""
        bursts: tuple[int, ...] = (6, 24, 48) if profile == "quick" else (6, 12, 24, 48)
        rates: tuple[int, ...] = (2, 6, 9) if profile == "quick" else (2, 4, 6, 8, 9)
        uniform = grid(traffic=[UNIFORM], pairs=[PAIRS], mechanism=MECHANISMS, rate=(*rates, 10), burst=(*bursts, 96))
        similar = grid(traffic=[SELF_SIMILAR], pairs=[PAIRS], mechanism=MECHANISMS, rate=rates, burst=bursts)
        shared = Point(traffic=UNIFORM, pairs=PAIRS, mechanism=SHARED, rate=9, burst=48)
        more = grid(traffic=[UNIFORM], pairs=range(2, 9), mechanism=MECHANISMS, rate=[9], burst=[48])
        return [*uniform, *similar, shared, *(more if profile == "full" else [])]

    def settings(self, point: Point, profile: ProfileName) -> Settings:
        """One source model for all; a self-similar load takes longer to show itself."""
        pairs = point["pairs"]
        source = {"kind": point["traffic"], "burst": f"{point['burst']}kB", "rate": f"{point['rate']}Mbit/s"}
        longer = {"run.duration": "420s" if profile == "full" else "48s"} if point["traffic"] == SELF_SIMILAR else {}
        return {
            "backpressure.scope": "destination" if point["mechanism"] == SHARED else point["mechanism"],
            "backpressure.partition": point["mechanism"] != SHARED,
            "hosts.s.count": pairs,
            "hosts.d.count": pairs,
            "flows[data].source": source,
            **longer,
        }

    def claims(self, results: Results) -> Iterable[Claim]:
        """The checks of the specification; for self-similar traffic, what follows from its burst sizes."""
        deck = results.where(pairs=PAIRS)
        none, plain, destination = (deck.where(traffic=UNIFORM, mechanism=name) for name in MECHANISMS)
        ss_none, ss_plain, ss_destination = (deck.where(traffic=SELF_SIMILAR, mechanism=name) for name in MECHANISMS)
        stable: dict[str, Selector] = {"rate": lambda g: float(g) <= 9}
        large: dict[str, Selector] = {"burst": lambda burst: float(burst) >= 24}
        claims = [
            Claim(
                "C1",
                "Stopping destinations loses less than stopping the backbone, wherever both lose.",
                "slides Packet Loss using Xon/Xoff and with Destination; stated",
                (destination["loss"] < plain["loss"]).where_both_positive(),
            ),
            Claim(
                "C2",
                "Up to 9 Mbit/s, stopping destinations loses less than a third of what is lost without control: "
                "strictly so with bursts of 24 kB or more, within 0.05 points below.",
                "slide Packet Loss using Xon/Xoff with Destination; bound from the prototype",
                (destination.where(**stable, **large)["loss"] < none.where(**stable, **large)["loss"] / 3)
                & (destination.where(**stable)["loss"] - none.where(**stable)["loss"] / 3 <= RESOLUTION),
            ),
            Claim(
                "C3",
                "With large bursts at 9 Mbit/s or more, stopping the backbone can lose more than no control at all.",
                "derived: a stopped backbone idles while free destinations wait; prototype",
                (_at_least(plain, 24, 9)["loss"] > _at_least(none, 24, 9)["loss"]).somewhere(),
            ),
            Claim(
                "C4",
                "At 9 Mbit/s and bursts of 48 kB or more, stopping destinations carries at least 1.3 times as much as "
                "stopping the backbone.",
                "conclusions of the deck (throughput is limited without destinations); bound from the prototype",
                destination.where(rate=9, burst=[48, 96])["throughput"]
                >= 1.3 * plain.where(rate=9, burst=[48, 96])["throughput"],
            ),
            Claim(
                "C5",
                "With either control nothing is lost at the 50 kB buffers; what is lost is lost at the 500 kB.",
                "slide Packet Loss Using Xon/Xoff (500 KB buffer overflows); derived from the headroom",
                deck.where(mechanism=["plain", "destination"])["drops_sw2"].is_zero(),
            ),
            Claim(
                "C6",
                "Without control uniform bursts are lost at the 50 kB buffers: all with bursts below 24 kB, and 99.9 % "
                "above, where three hosts that send large bursts at once could fill the 500 kB.",
                "slide Packet Loss without Congestion Control (50 KB buffer overflows); stated",
                none.where(burst=lambda burst: float(burst) < 24)["drops_sw1"].is_zero()
                & (none.where(**large)["drops_sw1"] <= 0.001 * none.where(**large)["drops_sw2"]),
            ),
            Claim(
                "S1",
                "Small self-similar bursts lose more than uniform ones of the same mean without control.",
                "derived: uniform bursts of mean 6 kB fit into 50 kB, Pareto ones above 55 kB have 1/4 of the bytes",
                none.where(burst=6, rate=[2, 6])["loss"] < ss_none.where(burst=6, rate=[2, 6])["loss"],
            ),
            Claim(
                "S2",
                "Self-similar traffic loses less when destinations are stopped than without control.",
                "slides of the self-similar model; derived: 550 kB hold more than 50 kB",
                ss_destination["loss"] < ss_none["loss"],
            ),
            Claim(
                "S3",
                "Stopping destinations loses less of the self-similar traffic than stopping the backbone.",
                "slides of the self-similar model; derived as C1",
                (ss_destination["loss"] < ss_plain["loss"]).where_both_positive(),
            ),
            Claim(
                "S4",
                "No control saves all of the self-similar traffic with bursts of 24 kB or more on average: some bursts "
                "are larger than all buffers.",
                "derived: Pareto bursts of mean 24 kB and shape 1.4 have a sixth of their bytes in those above 600 kB",
                ss_destination.where(burst=lambda burst: float(burst) >= 24)["loss"] > 0,
            ),
            Claim(
                "S5",
                "At 9 Mbit/s, stopping the backbone carries less self-similar traffic than stopping destinations.",
                "conclusions of the deck; derived as C4",
                ss_plain.where(rate=9)["throughput"] < ss_destination.where(rate=9)["throughput"],
            ),
        ]
        claims.append(
            Claim.comparison(
                "P",
                "Loss at 9 Mbit/s and 48 kB when stopped destinations share one buffer.",
                "sensitivity",
                deck.where(traffic=UNIFORM, mechanism=SHARED, rate=9, burst=48)["loss"],
                "whether each destination has a buffer share of its own is not in the deck; by default it has",
            )
        )
        if results.profile == "full":
            claims += [
                Claim.comparison(
                    f"N{index}",
                    f"Loss with 8 sources of 9 Mbit/s each in bursts of 48 kB, {words}.",
                    "sensitivity",
                    results.where(traffic=UNIFORM, rate=9, burst=48, pairs=8, mechanism=name)["loss"],
                    "the deck does not say how many sources there were; three are our choice",
                )
                for index, (name, words) in enumerate(zip(MECHANISMS, WORDS, strict=True), 1)
            ]
        return claims

    def figures(self, results: Results) -> Iterable[Figure]:
        """The six slides, then what is carried, and in full the number of sources."""
        deck = results.where(pairs=PAIRS)
        words = {
            "none": ("none", "without congestion control"),
            "plain": ("plain", "using Xon/Xoff"),
            "destination": ("destination", "using Xon/Xoff with destination"),
        }
        claims = {
            (UNIFORM, "none"): ("C6",),
            (UNIFORM, "plain"): ("C1", "C3"),
            (UNIFORM, "destination"): ("C2", "C5"),
            (SELF_SIMILAR, "none"): ("S1",),
            (SELF_SIMILAR, "plain"): ("S3",),
            (SELF_SIMILAR, "destination"): ("S2", "S4"),
        }
        for traffic, short in ((UNIFORM, "uu"), (SELF_SIMILAR, "ss")):
            for mechanism, (name, text) in words.items():
                loss = deck.where(traffic=traffic, mechanism=mechanism)["loss"]
                title = f"Packet loss {text}, {traffic}"
                yield fig.both_views(loss, f"{short}-{name}", title, claims=claims[traffic, mechanism])
        for traffic, short, about in ((UNIFORM, "uu", ("C4",)), (SELF_SIMILAR, "ss", ("S5",))):
            at = deck.where(traffic=traffic)
            carried = {name: at.where(mechanism=name)["throughput"] for name in MECHANISMS}
            title = f"Throughput of all sources, {traffic}"
            yield fig.compare(carried, f"{short}-throughput", title, x="rate", panel="burst", claims=about)
        if results.profile == "full":
            at = results.where(traffic=UNIFORM, rate=9, burst=48)
            losses = {name: at.where(mechanism=name)["loss"] for name in MECHANISMS}
            title = "Packet loss by the number of sources, 9 Mbit/s each in bursts of 48 kB"
            yield fig.compare(losses, "sources", title, x="pairs", claims=("N1", "N2", "N3"))


def _at_least(results: Results, burst: float, rate: float) -> Results:
    """The points with bursts and rates that are no smaller."""
    return results.where(burst=lambda value: float(value) >= burst, rate=lambda value: float(value) >= rate)
