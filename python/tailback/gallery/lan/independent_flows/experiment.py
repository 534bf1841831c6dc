"""lan-c1, independent flows: experiment C.1, two flows over one backbone, one of which congests its destination."""

from __future__ import annotations

from collections.abc import Iterable

from tailback.plotting import experiment as fig
from tailback.plotting.slides import Slide, on_one_scale
from tailback.results import observables as m
from tailback.study.experiment import (
    Axis,
    AxisValue,
    Claim,
    Experiment,
    Figure,
    Point,
    Profile,
    ProfileName,
    Results,
    Settings,
    grid,
)
from tailback.study.experiment.quantity import Selector

BACKPRESSURE: dict[AxisValue, Settings] = {
    "none": {"backpressure.scope": "none"},
    "plain": {"backpressure.scope": "plain"},
    "destination": {"backpressure.scope": "destination", "backpressure.partition": True},
    "destination, shared buffer": {"backpressure.scope": "destination", "backpressure.partition": False},
}
# Mechanism with which stopped destinations share one buffer.
SHARED = "destination, shared buffer"
OVERLOAD = 10
"""Data rate of S1 that exceeds the capacity of its slow link, Mbit/s."""
RESOLUTION = 0.05
"""Largest difference of losses that counts as equal, percentage points: a packet lost once in many minutes is no
evidence."""


class IndependentFlows(Experiment):
    """S1 to a 10 Mbit/s destination, S2 to a 100 Mbit/s one, over one backbone link."""

    id = "lan-c1"
    title = "Independent flows"
    reference = "Tobagi, Fraleigh and Noureddine, experiment C.1"
    axes = (
        Axis("mechanism", "mechanism"),
        Axis("rate", "S1 data rate", "Mbit/s"),
        Axis("burst", "S1 mean burst size", "kB"),
    )
    quick = Profile(duration="60s", warmup="20s", replications=5, max_replications=40, cpu_s=30)
    full = Profile(duration="260s", warmup="60s", replications=5, max_replications=100, cpu_s=170)
    metrics = (
        m.loss("s1", "s1_loss", "S1 packet loss"),
        m.loss("s2", "s2_loss", "S2 packet loss"),
        m.mean_delay("s1", "s1_delay", "S1 mean delay"),
        m.mean_delay("s2", "s2_delay", "S2 mean delay"),
        m.drops_at("sw2->*", name="drops_sw2", label="packets lost at sw2"),
        m.drops_outside("sw2->*", name="drops_sw1", label="packets lost outside sw2"),
        m.stopped("sw1->sw2", label="time the backbone is stopped"),
    )

    def points(self, profile: ProfileName) -> Iterable[Point]:
        """Return the points: the ranges of the slides; the shared buffer only with bursts of 48 and 96 kB."""
        rates = (2, 4, 6, 8, 9, 10) if profile == "full" else (2, 6, 8, 10)
        bursts = (6, 12, 24, 48, 96) if profile == "full" else (6, 24, 48, 96)
        every = grid(mechanism=BACKPRESSURE, rate=rates, burst=bursts)
        return [point for point in every if point["mechanism"] != SHARED or point["burst"] in (48, 96)]

    def settings(self, point: Point, profile: ProfileName) -> Settings:
        """Return the settings of S1 and of the notifications; S2 always sends 10 Mbit/s in bursts of 6 kB."""
        longer: Settings = {}
        if profile == "quick" and point["rate"] == OVERLOAD:
            # The excess of 0.25 to 0.3 Mbit/s takes up to 18 s to fill 550 kB, with random variation up to 36 s.
            longer = {"run.warmup": "40s", "run.duration": "100s"}
        return {
            **longer,
            **BACKPRESSURE[point["mechanism"]],
            "flows[s1].source.rate": f"{point['rate']}Mbit/s",
            "flows[s1].source.burst": f"{point['burst']}kB",
        }

    def claims(self, results: Results) -> Iterable[Claim]:
        """Return the claims on loss and delay of S2 under each mechanism, loss of S1, and place of the losses."""
        none, plain = results.where(mechanism="none"), results.where(mechanism="plain")
        destination, shared = results.where(mechanism="destination"), results.where(mechanism=SHARED)
        large = plain.where(burst=96)
        busy: dict[str, Selector] = {"burst": 96, "rate": lambda g: 6 <= float(g) <= 9}
        stable: dict[str, Selector] = {"rate": lambda g: float(g) <= 9, "burst": [48, 96]}
        small: dict[str, Selector] = {"burst": lambda burst: float(burst) < 48}
        return [
            Claim(
                "C1",
                "Without control S2 loses nothing: no link or buffer on its path is ever full.",
                "slide S2 Packet Loss without Congestion Control; derived",
                none["s2_loss"].is_zero(),
            ),
            Claim(
                "C2a",
                "With XON/XOFF the loss of S2 grows with the rate of S1, though S2 has another destination: no step "
                "of the rate lowers it by more than 0.1 percentage points.",
                "slide S2 Packet Loss with Xon/Xoff; derived",
                plain["s2_loss"].non_decreasing("rate", tolerance=0.1),
            ),
            Claim(
                "C2b",
                "With XON/XOFF and bursts of 96 kB, S2 loses packets at S1 rates of 6 Mbit/s and more.",
                "slide S2 Packet Loss with Xon/Xoff, whose curves are lost; derived: S1 fills the buffer in which "
                "S2's packets wait; the rate is from a prototype",
                large.where(rate=lambda rate: float(rate) >= 6)["s2_loss"] > 0,
            ),
            Claim(
                "C3a",
                "If only the congested destination is stopped, S2 loses nothing.",
                "slide S2 Packet Loss using Xon/Xoff with Destination, whose curves are lost; derived: S2 shares no "
                "resource with S1 that is ever exhausted",
                destination["s2_loss"].is_zero(),
            ),
            Claim(
                "C3b",
                "If both destinations share the 500 kB and only the congested one is stopped, the loss of S2 with "
                "bursts of 48 and 96 kB and up to 9 Mbit/s is less than a third of that with XON/XOFF; with 48 kB, or "
                "below 6 Mbit/s, it may exceed this third by 0.05 percentage points.",
                "conclusions of the slides; the bound from a prototype",
                (shared.where(**busy)["s2_loss"] < plain.where(**busy)["s2_loss"] / 3)
                & (shared.where(**stable)["s2_loss"] - plain.where(**stable)["s2_loss"] / 3 <= RESOLUTION),
            ),
            Claim.comparison(
                "C3c",
                "Loss of S2 at an S1 rate of 10 Mbit/s in bursts of 96 kB, if only the congested destination is "
                "stopped and both share the 500 kB.",
                "conclusions of the slides",
                shared.where(rate=10, burst=96)["s2_loss"],
                "at 10 Mbit/s S1 overloads its link permanently, so a shared buffer is always full under either "
                "control",
            ),
            Claim(
                "C4a",
                "If only the congested destination is stopped, the mean delay of S2 is within 10 % of that without "
                "control.",
                "conclusions of the slides; the bound from a prototype",
                destination["s2_delay"].close_to(none["s2_delay"], relative=0.1),
            ),
            Claim(
                "C4b",
                "With XON/XOFF and bursts of 96 kB the mean delay of S2 is more than five times that without control.",
                "conclusions of the slides; the bound from a prototype",
                large["s2_delay"] > 5 * none.where(burst=96)["s2_delay"],
                headline="not using destination information can increase packet delays",
            ),
            Claim(
                "C5a",
                "S1 loses less with XON/XOFF than without control with bursts of 48 kB or more, many of which do not "
                "fit into 50 kB; with smaller bursts its loss is at most 0.05 percentage points higher.",
                "slides S1 Packet Loss; derived",
                (plain.where(burst=[48, 96])["s1_loss"] < none.where(burst=[48, 96])["s1_loss"])
                & (plain.where(**small)["s1_loss"] - none.where(**small)["s1_loss"] <= RESOLUTION),
            ),
            Claim(
                "C5b",
                "S1 loses less if only its destination is stopped than with XON/XOFF, with bursts of 96 kB from 6 to "
                "9 Mbit/s; at other points its loss is at most 0.05 percentage points higher.",
                "slides S1 Packet Loss; derived",
                (destination.where(**busy)["s1_loss"] < plain.where(**busy)["s1_loss"])
                & (destination["s1_loss"] - plain["s1_loss"] <= RESOLUTION),
            ),
            Claim(
                "C6",
                "Under every control mechanism nothing is lost at the 50 kB buffer of sw2.",
                "derived: the 20 % of the buffer above the high threshold exceed the headroom of the one link that "
                "feeds it",
                results.where(mechanism=["plain", "destination", SHARED])["drops_sw2"].is_zero(),
            ),
        ]

    def figures(self, results: Results) -> Iterable[Figure]:
        """Yield the six slides, then loss and delay of S2 by mechanism."""
        words = {
            "none": ("none", "without congestion control"),
            "plain": ("plain", "with Xon/Xoff"),
            "destination": ("destination", "using Xon/Xoff with destination"),
        }
        s1_claims = {"none": (), "plain": ("C5a", "C6"), "destination": ("C5b",)}
        s2_claims = {"none": ("C1",), "plain": ("C2a", "C2b"), "destination": ("C3a",)}
        yield from on_one_scale(
            [
                Slide(f"s1-{name}", f"S1 packet loss {text}", at["s1_loss"], s1_claims[mechanism])
                for mechanism, (name, text) in words.items()
                for at in [results.where(mechanism=mechanism)]
            ]
        )
        caption = "Plotted against the data rate of S1; S2 always sends 10 Mbit/s in bursts of 6 kB."
        yield from on_one_scale(
            [
                Slide(
                    f"s2-{name}",
                    f"S2 packet loss {text}",
                    results.where(mechanism=mechanism)["s2_loss"],
                    s2_claims[mechanism],
                    caption if mechanism == "plain" else f"{caption} S2 loses nothing.",
                )
                for mechanism, (name, text) in words.items()
            ],
            x="rate",
            curves="burst",
        )
        by_mechanism = {str(name): results.where(mechanism=name) for name in BACKPRESSURE}
        losses = {name: at.where(burst=[48, 96])["s2_loss"] for name, at in by_mechanism.items()}
        delays = {name: at.where(burst=[48, 96])["s2_delay"] for name, at in by_mechanism.items()}
        yield fig.compare(
            losses, "s2-loss", "S2 packet loss by mechanism", x="rate", panel="burst", claims=("C3b", "C3c")
        )
        yield fig.compare(
            delays,
            "s2-delay",
            "S2 mean delay by mechanism",
            x="rate",
            panel="burst",
            y_scale="log",
            claims=("C4a", "C4b"),
        )
