"""E-C3, controlling the source: merging over the backbone with hosts that obey the notifications."""

from __future__ import annotations

from collections.abc import Iterable

from tailback.gallery import Axis, Claim, Experiment, Figure, Point, Profile, ProfileName, Results, Settings, grid
from tailback.gallery import figures as fig
from tailback.gallery import metrics as m
from tailback.gallery.quantity import Selector

MECHANISMS = ("none", "plain", "destination")
QUICK_RATES = (2, 6, 9, 10)
"""Rates at which the quick profile has all burst sizes."""


class ControllingTheSource(Experiment):
    """Three sources to a 10 Mbit/s destination each; notifications reach the hosts."""

    id = "lan-c3"
    title = "Controlling the source"
    reference = "Tobagi, Fraleigh and Noureddine, experiment C.3"
    axes = (
        Axis("mechanism", "mechanism"),
        Axis("rate", "data rate per source", "Mbit/s"),
        Axis("burst", "mean burst size", "kB"),
    )
    quick = Profile(duration="45s", warmup="5s", replications=5, max_replications=30, cpu_s=22)
    full = Profile(duration="220s", warmup="20s", replications=10, max_replications=100, cpu_s=350)
    metrics = (
        m.loss(),
        m.mean_delay(),
        m.throughput(label="throughput of all sources"),
        m.mean_queue("s?->sw1", name="host_queue", label="mean bytes waiting [in all hosts]"),
        m.mean_queue("sw*->*", name="switch_queue", label="mean bytes waiting [in both switches]"),
    )

    def points(self, profile: ProfileName) -> Iterable[Point]:
        """The deck's ranges; the delay figure is at 48 kB and has more rates."""
        if profile == "full":
            return grid(mechanism=MECHANISMS, rate=(2, 4, 6, 7, 8, 9, 10), burst=(6, 12, 24, 48, 96))
        every = grid(mechanism=MECHANISMS, rate=(2, 4, 6, 7, 8, 9, 10), burst=(6, 24, 48, 96))
        return [point for point in every if point["burst"] == 48 or point["rate"] in QUICK_RATES]

    def settings(self, point: Point, profile: ProfileName) -> Settings:
        """The same source for all."""
        del profile  # only the length differs between the profiles
        return {
            "backpressure.scope": point["mechanism"],
            "flows[data].source.rate": f"{point['rate']}Mbit/s",
            "flows[data].source.burst": f"{point['burst']}kB",
        }

    def claims(self, results: Results) -> Iterable[Claim]:
        """The checks of the specification; the delays at 10 Mbit/s are reported and not judged."""
        none, plain, destination = (results.where(mechanism=name) for name in MECHANISMS)
        to_nine: dict[str, Selector] = {"rate": lambda g: 2 <= float(g) <= 9, "burst": 48}
        middle: dict[str, Selector] = {"rate": [6, 7, 8], "burst": 48}
        return [
            Claim(
                "C1",
                "With XON/XOFF down to the hosts nothing is lost, at any rate and burst size.",
                "slide Packet Loss Using Xon/Xoff (extra buffers eliminate loss); stated",
                plain["loss"].is_zero(),
            ),
            Claim(
                "C2",
                "Stopping destinations down to the hosts loses nothing either.",
                "slide Packet Loss using Xon/Xoff with Destination (packet loss is eliminated); stated",
                destination["loss"].is_zero(),
            ),
            Claim(
                "C3a",
                "What is no longer lost is delayed: no control has the shortest mean delay, from 2 to 9 Mbit/s.",
                "slide Packet Delay; derived",
                none.where(**to_nine)["delay"] < destination.where(**to_nine)["delay"],
            ),
            Claim(
                "C3b",
                "Stopping destinations delays less than stopping everything, from 2 to 9 Mbit/s.",
                "slide Packet Delay (smaller increase in delay); stated",
                destination.where(**to_nine)["delay"] < plain.where(**to_nine)["delay"],
            ),
            Claim(
                "C4",
                "From 6 to 8 Mbit/s, stopping everything delays at least twice as long as stopping destinations.",
                "slide Packet Delay; bound from the prototype",
                plain.where(**middle)["delay"] >= 2 * destination.where(**middle)["delay"],
            ),
            *(
                Claim.comparison(
                    name,
                    f"Mean delay at 10 Mbit/s, stopping {words}.",
                    "slide Packet Delay",
                    at.where(rate=10, burst=48)["delay"],
                    "at 10 Mbit/s the slow links are overloaded (9.753 Mbit/s of payload is their limit): the queues "
                    "in the hosts grow as long as the run lasts, and the order may be either",
                )
                for name, words, at in (("C5a", "everything", plain), ("C5b", "destinations", destination))
            ),
        ]

    def figures(self, results: Results) -> Iterable[Figure]:
        """The four slides, and where the bytes wait."""
        words = {
            "none": ("without congestion control", ()),
            "plain": ("using Xon/Xoff", ("C1",)),
            "destination": ("using Xon/Xoff with destination", ("C2",)),
        }
        rates = results.where(rate=list(QUICK_RATES)) if results.profile == "quick" else results
        for mechanism, (text, claims) in words.items():
            loss = rates.where(mechanism=mechanism)["loss"]
            yield fig.both_views(loss, f"loss-{mechanism}", f"Packet loss {text}", claims=claims)
        below_ten: dict[str, Selector] = {"burst": 48, "rate": lambda g: float(g) < 10}
        delays = {name: results.where(mechanism=name, burst=48)["delay"] for name in MECHANISMS}
        below = {name: results.where(mechanism=name, **below_ten)["delay"] for name in MECHANISMS}
        yield fig.compare(
            below,
            "delay",
            "Packet delay, bursts of 48 kB",
            "Up to 9 Mbit/s, where the slow links are not overloaded.",
            x="rate",
            claims=("C3a", "C3b", "C4"),
        )
        caption = "At 10 Mbit/s the delay under control grows with the length of the run."
        yield fig.compare(
            delays,
            "delay-to-10",
            "Packet delay up to 10 Mbit/s",
            caption,
            x="rate",
            y_scale="log",
            claims=("C5a", "C5b"),
        )
        waits = {
            f"{name}, {where}": results.where(mechanism=name, **below_ten)[metric]
            for name in ("plain", "destination")
            for where, metric in (("hosts", "host_queue"), ("switches", "switch_queue"))
        }
        yield fig.compare(waits, "queues", "Where the bytes wait, bursts of 48 kB", x="rate")
