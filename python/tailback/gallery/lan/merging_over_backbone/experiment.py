"""lan-c2, merging over the backbone: experiment C.2, several congested destinations behind one link."""

from __future__ import annotations

from collections.abc import Iterable

from tailback.gallery.lan.shared.traffic_models import BATCHES, READINGS, SELF_SIMILAR, UNIFORM, data_source
from tailback.plotting import experiment as fig
from tailback.plotting.slides import Slide, on_one_scale
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
from tailback.study.experiment.quantity import Selector

MECHANISMS = ("none", "plain", "destination")
SHARED = "destination, shared buffer"
"""Mechanism of comparison P: stopped destinations share one buffer."""
# Words for `MECHANISMS`, in the same order.
WORDS = ("without control", "stopping the backbone", "stopping destinations")
RESOLUTION = 0.05
"""Largest difference of losses that counts as equal, percentage points: a packet lost once in many minutes is no
evidence."""
PAIRS = 3
"""Number of sources and destinations in the slides' figures, as reconstructed."""
CAPACITY = 10 * 1500 / 1538
"""Payload that a slow link carries in full frames, Mbit/s."""
RATE_CHOSEN = "the rate was chosen after the result: with less load losses are too rare to be compared"
"""Reason why claims on self-similar traffic at 9 Mbit/s are calibrated."""
OVERLOAD = 10
"""Data rate per source that exceeds the capacity of the slow links, Mbit/s."""


def _floor(report: Report) -> float:
    """Return the loss in % of the realised load if the slow links are never idle, a lower bound for any mechanism."""
    lost = sum(max(0.0, 1e-6 * report.offered_bps(flow["name"]) - CAPACITY) for flow in report.flows("data"))
    return 100 * lost / (1e-6 * report.offered_bps())


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
    quick = Profile(duration="60s", warmup="20s", replications=5, max_replications=30, cpu_s=34)
    full = Profile(duration="260s", warmup="60s", replications=5, max_replications=100, cpu_s=500)
    metrics = (
        m.loss(),
        m.throughput(label="throughput of all sources"),
        m.mean_delay(),
        m.drops_at("sw1->*", name="drops_sw1", label="packets lost at sw1"),
        m.drops_at("sw2->*", name="drops_sw2", label="packets lost at sw2"),
        m.offered(),
        Observable("floor", "loss if the slow links are never idle", "%", _floor, lowest=0.0),
    )

    def points(self, profile: ProfileName) -> Iterable[Point]:
        """Return the points: the slides' ranges for both traffic models; in full also other numbers of sources."""
        bursts: tuple[int, ...] = (6, 24, 48) if profile == "quick" else (6, 12, 24, 48)
        rates: tuple[int, ...] = (2, 6, 9) if profile == "quick" else (2, 4, 6, 8, 9)
        uniform = grid(traffic=[UNIFORM], pairs=[PAIRS], mechanism=MECHANISMS, rate=(*rates, 10), burst=(*bursts, 96))
        few = bursts[:2] if profile == "quick" else bursts
        similar = grid(traffic=READINGS, pairs=[PAIRS], mechanism=MECHANISMS, rate=rates, burst=few)
        shared = Point(traffic=UNIFORM, pairs=PAIRS, mechanism=SHARED, rate=9, burst=48)
        more = grid(traffic=[UNIFORM], pairs=range(2, 9), mechanism=MECHANISMS, rate=[9], burst=[48])
        return [*uniform, *similar, shared, *(more if profile == "full" else [])]

    def settings(self, point: Point, profile: ProfileName) -> Settings:
        """Return the settings of notifications, number of pairs and sources.

        In an overload measurement starts when the buffers are full.
        """
        pairs = point["pairs"]
        source = data_source(point["traffic"], point["burst"], point["rate"])
        longer: Settings = {}
        if point["traffic"] in READINGS:
            longer = {"run.duration": "460s" if profile == "full" else "60s"}
        elif point["rate"] == OVERLOAD and profile == "quick":
            # The excess of 0.25 to 0.3 Mbit/s takes up to 18 s to fill 550 kB, with random variation up to 36 s.
            longer = {"run.warmup": "40s", "run.duration": "110s"}
        return {
            "backpressure.scope": "destination" if point["mechanism"] == SHARED else point["mechanism"],
            "backpressure.partition": point["mechanism"] != SHARED,
            "hosts.s.count": pairs,
            "hosts.d.count": pairs,
            "flows[data].source": source,
            **longer,
        }

    def claims(self, results: Results) -> Iterable[Claim]:
        """Return the claims on the order of the mechanisms, the places of losses, and self-similar traffic."""
        three = results.where(pairs=PAIRS)
        none, plain, destination = (three.where(traffic=UNIFORM, mechanism=name) for name in MECHANISMS)
        stable: dict[str, Selector] = {"rate": lambda g: float(g) <= 9}
        large: dict[str, Selector] = {"burst": lambda burst: float(burst) >= 24}
        claims = [
            Claim(
                "C1",
                "With uniform bursts, less is lost if only congested destinations are stopped than with XON/XOFF, "
                "which stops the backbone, at every point at which packets are lost with both.",
                "slides Packet Loss using Xon/Xoff and with Destination, whose curves are lost; derived: if one "
                "destination is stopped, the other links go on sending",
                (destination["loss"] < plain["loss"]).where_both_positive(),
            ),
            Claim(
                "C2",
                "With uniform bursts and up to 9 Mbit/s, the loss if only congested destinations are stopped is less "
                "than a third of that without control; with bursts below 24 kB it may exceed this third by 0.05 "
                "percentage points.",
                "slide Packet Loss using Xon/Xoff with Destination; the bound from a prototype",
                (destination.where(**stable, **large)["loss"] < none.where(**stable, **large)["loss"] / 3)
                & (destination.where(**stable)["loss"] - none.where(**stable)["loss"] / 3 <= RESOLUTION),
            ),
            Claim(
                "C3",
                "With bursts of 24 kB or more at 9 Mbit/s or more, more is lost with XON/XOFF, which stops the "
                "backbone, than without control at one point at least.",
                "derived: a stopped backbone idles while packets to destinations without congestion wait; the range "
                "from a prototype",
                (_at_least(plain, 24, 9)["loss"] > _at_least(none, 24, 9)["loss"]).somewhere(),
            ),
            Claim(
                "C4",
                "At 9 Mbit/s in bursts of 48 kB or more, the throughput if only congested destinations are stopped is "
                "at least 1.3 times that with XON/XOFF, which stops the backbone.",
                "conclusions of the slides (throughput is limited without destinations); the bound from a prototype",
                destination.where(rate=9, burst=[48, 96])["throughput"]
                >= 1.3 * plain.where(rate=9, burst=[48, 96])["throughput"],
                headline="not using destination information can limit the achievable throughput",
            ),
            Claim(
                "C5",
                "Under either control nothing is lost at the 50 kB buffers of sw2; all losses are at the 500 kB "
                "buffer of sw1.",
                "slide Packet Loss Using Xon/Xoff (500 KB buffer overflows); derived from the headroom",
                three.where(mechanism=["plain", "destination"])["drops_sw2"].is_zero(),
            ),
            Claim(
                "C5b",
                "With XON/XOFF the 500 kB buffers overflow at high data rates: packets are lost there at 9 and "
                "10 Mbit/s with bursts of 24 kB or more.",
                'slide Packet Loss Using Xon/Xoff: "500 KB buffer overflows and drops packets at high data rates"; '
                "stated; the rates from a prototype",
                _at_least(plain, 24, 9)["drops_sw1"] > 0,
                headline="XON/XOFF: 500 KB buffer overflows and drops packets at high data rates",
            ),
            Claim(
                "C5c",
                "With XON/XOFF nothing is lost at the 500 kB buffer at 2 Mbit/s with bursts of 48 kB or less.",
                "slide Packet Loss using Xon/Xoff with Destination, which speaks of high data rates; the range from "
                "a prototype",
                plain.where(rate=2, burst=lambda burst: float(burst) <= 48)["drops_sw1"].is_zero(),
            ),
            Claim(
                "C6",
                "Without control the losses of uniform bursts are at the 50 kB buffers: all of them with bursts below "
                "24 kB, and 99.9 % with larger bursts, where three hosts that send at once could fill the 500 kB.",
                "slide Packet Loss without Congestion Control (50 KB buffer overflows); stated",
                none.where(burst=lambda burst: float(burst) < 24)["drops_sw1"].is_zero()
                & (none.where(**large)["drops_sw1"] <= 0.001 * none.where(**large)["drops_sw2"]),
                headline="no control: 50 KB buffer overflows and drops packets",
            ),
            Claim(
                "C7",
                "With uniform bursts at 10 Mbit/s the loss with every mechanism is at least that of slow links that "
                "are never idle, minus 0.65 percentage points.",
                "derived: a slow link carries at most 10 · 1500/1538 Mbit/s; 550 kB that are full at the start of the "
                "measurement and empty at its end are 0.63 % of the load offered in 70 s",
                _overloaded(three)["loss"] - _overloaded(three)["floor"] >= -0.65,
            ),
            *_similar(three, none),
        ]
        claims.append(
            Claim.comparison(
                "P",
                "Loss at 9 Mbit/s in bursts of 48 kB if stopped destinations share one buffer.",
                "sensitivity",
                three.where(traffic=UNIFORM, mechanism=SHARED, rate=9, burst=48)["loss"],
                "the slides do not say whether each destination has a buffer share of its own; by default it has",
            )
        )
        if results.profile == "full":
            claims += [
                Claim.comparison(
                    f"N{index}",
                    f"Loss with 8 sources of 9 Mbit/s each in bursts of 48 kB; mechanism: {words}.",
                    "sensitivity",
                    results.where(traffic=UNIFORM, rate=9, burst=48, pairs=8, mechanism=name)["loss"],
                    "the slides do not state the number of sources; three are our choice",
                )
                for index, (name, words) in enumerate(zip(MECHANISMS, WORDS, strict=True), 1)
            ]
        return claims

    def figures(self, results: Results) -> Iterable[Figure]:
        """Yield the slides' losses by traffic model; throughput; in full also the loss by number of sources."""
        three = results.where(pairs=PAIRS)
        words = {
            "none": ("none", "without congestion control"),
            "plain": ("plain", "using Xon/Xoff"),
            "destination": ("destination", "using Xon/Xoff with destination"),
        }
        claims = {
            (UNIFORM, "none"): ("C6",),
            (UNIFORM, "plain"): ("C1", "C3", "C5b", "C5c"),
            (UNIFORM, "destination"): ("C2", "C5", "C7"),
            (SELF_SIMILAR, "none"): ("S1", "R1"),
            (SELF_SIMILAR, "plain"): ("S3", "R2"),
            (SELF_SIMILAR, "destination"): ("S2", "R3"),
            (BATCHES, "none"): ("B1",),
            (BATCHES, "plain"): ("B3",),
            (BATCHES, "destination"): ("B2", "B4"),
        }
        for traffic, short in ((UNIFORM, "uu"), (SELF_SIMILAR, "ss"), (BATCHES, "batches")):
            yield from on_one_scale(
                [
                    Slide(
                        f"{short}-{name}",
                        f"Packet loss {text}, {traffic}",
                        three.where(traffic=traffic, mechanism=mechanism)["loss"],
                        claims[traffic, mechanism],
                    )
                    for mechanism, (name, text) in words.items()
                ]
            )
        for traffic, short, about in (
            (UNIFORM, "uu", ("C4",)),
            (SELF_SIMILAR, "ss", ("S5",)),
            (BATCHES, "batches", ("B5",)),
        ):
            at = three.where(traffic=traffic)
            carried = {name: at.where(mechanism=name)["throughput"] for name in MECHANISMS}
            title = f"Throughput of all sources, {traffic}"
            yield fig.compare(carried, f"{short}-throughput", title, x="rate", panel="burst", claims=about)
        if results.profile == "full":
            at = results.where(traffic=UNIFORM, rate=9, burst=48)
            losses = {name: at.where(mechanism=name)["loss"] for name in MECHANISMS}
            title = "Packet loss by the number of sources, 9 Mbit/s each in bursts of 48 kB"
            yield fig.compare(losses, "sources", title, x="pairs", claims=("N1", "N2", "N3"))


def _at_least(results: Results, burst: float, rate: float) -> Results:
    """Return the results with at least this burst size in kB and rate in Mbit/s."""
    return results.where(burst=lambda value: float(value) >= burst, rate=lambda value: float(value) >= rate)


def _overloaded(three: Results) -> Results:
    """Return the results of uniform bursts at 10 Mbit/s, where measurement starts with full buffers."""
    return three.where(traffic=UNIFORM, rate=OVERLOAD)


def _similar(three: Results, uniform: Results) -> Iterable[Claim]:
    """Yield the claims on self-similar traffic of three sources: S for sources with a peak rate, B for batches.

    `uniform` has the results of uniform bursts without control.
    """
    large: dict[str, Selector] = {"burst": lambda burst: float(burst) >= 24}
    for letter, traffic in (("S", SELF_SIMILAR), ("B", BATCHES)):
        none, plain, destination = (three.where(traffic=traffic, mechanism=name) for name in MECHANISMS)
        slides = f"slides of the self-similar model, interpreted as {traffic}"
        if traffic == BATCHES:
            yield Claim(
                "B1",
                "Without control more is lost of Pareto bursts of mean 6 kB, each generated at one instant, than of "
                "uniform bursts of the same mean, at 2 and 6 Mbit/s.",
                "derived: uniform bursts of mean 6 kB fit into 50 kB; Pareto bursts above 55 kB carry a quarter of "
                "the bytes",
                uniform.where(burst=6, rate=[2, 6])["loss"] < none.where(burst=6, rate=[2, 6])["loss"],
            )
            yield Claim.calibrated(
                "B4",
                "At 9 Mbit/s in Pareto bursts of 24 kB or more, each generated at one instant, packets are lost even "
                "if congested destinations are stopped: some bursts exceed all buffers.",
                "derived: of Pareto bursts of mean 24 kB and shape 1.4, those above 600 kB carry a sixth of the bytes",
                destination.where(**large, rate=9)["loss"] > 0,
                RATE_CHOSEN,
            )
        else:
            yield Claim(
                "S1",
                "Without control packets of self-similar traffic of 9 Mbit/s per source are lost with every burst "
                "size.",
                slides + '; "50 KB buffer overflows and drops packets"; stated',
                none.where(rate=9)["loss"] > 0,
            )
        yield Claim.calibrated(
            f"{letter}2",
            f"At 9 Mbit/s, less is lost if only congested destinations are stopped than without control, {traffic}.",
            slides + "; derived: 550 kB hold more than 50 kB",
            destination.where(rate=9)["loss"] < none.where(rate=9)["loss"],
            RATE_CHOSEN,
        )
        yield Claim.calibrated(
            f"{letter}3",
            f"At 9 Mbit/s, less is lost if only congested destinations are stopped than with XON/XOFF, {traffic}.",
            slides + "; derived as C1",
            destination.where(rate=9)["loss"] < plain.where(rate=9)["loss"],
            RATE_CHOSEN,
        )
        yield Claim(
            f"{letter}5",
            "At 9 Mbit/s, throughput is lower with XON/XOFF than if only congested destinations are stopped, "
            f"{traffic}.",
            "conclusions of the slides; derived as C4",
            plain.where(rate=9)["throughput"] < destination.where(rate=9)["throughput"],
        )
    for number, (mechanism, words) in enumerate(zip(MECHANISMS, WORDS, strict=True), 1):
        yield Claim.comparison(
            f"R{number}",
            f"Loss of self-similar traffic at 6 Mbit/s in bursts of 24 kB; mechanism: {words}.",
            "slides of the self-similar model, whose curves are lost",
            three.where(traffic=SELF_SIMILAR, mechanism=mechanism, rate=6, burst=24)["loss"],
            "the loss of self-similar traffic depends on the peak rate of its sources, which the slides do not give",
        )
