"""lan-a1, traffic merging: experiment A.1, loss where three bursty sources meet, without control and with 802.3x."""

from __future__ import annotations

from collections.abc import Iterable

from tailback.gallery.lan.shared.traffic_models import BATCHES, READINGS, SELF_SIMILAR, UNIFORM, data_source
from tailback.plotting import experiment as fig
from tailback.plotting.slides import Slide, on_one_scale
from tailback.results import observables as m
from tailback.study.experiment import (
    Axis,
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

TRAFFIC = (UNIFORM, *READINGS)


class TrafficMerging(Experiment):
    """Three sources of 1 to 3 Mbit/s each into one 10 Mbit/s link."""

    id = "lan-a1"
    title = "Traffic merging"
    reference = "Tobagi, Fraleigh and Noureddine, experiment A.1"
    axes = (
        Axis("traffic", "traffic model"),
        Axis("mechanism", "mechanism"),
        Axis("burst", "mean burst size", "kB"),
        Axis("rate", "data rate per source", "Mbit/s"),
    )
    quick = Profile(duration="90s", warmup="10s", replications=5, max_replications=150, cpu_s=22)
    full = Profile(duration="420s", warmup="20s", replications=5, max_replications=60, cpu_s=350)
    metrics = (
        m.loss(),
        m.mean_delay(),
        m.drops_at("sw0->*", name="drops_sw0", label="packets lost at sw0"),
        m.max_queue("sw[123]->sw0", name="upstream", label="longest upstream queue"),
        m.offered(),
    )

    def points(self, profile: ProfileName) -> Iterable[Point]:
        """Return the points: every traffic model and mechanism over the ranges of the slides."""
        rates = (1, 1.5, 2, 2.5, 3) if profile == "full" else (1, 2, 3)
        return grid(traffic=TRAFFIC, mechanism=("none", "plain"), rate=rates, burst=(6, 12, 24, 48))

    def settings(self, point: Point, profile: ProfileName) -> Settings:
        """Return the settings of mechanism and sources; in full runs with self-similar traffic are longer."""
        source = data_source(point["traffic"], point["burst"], point["rate"])
        longer = {"run.duration": "2020s"} if profile == "full" and point["traffic"] in READINGS else {}
        return {"backpressure.scope": point["mechanism"], "flows[data].source": source, **longer}

    def claims(self, results: Results) -> Iterable[Claim]:
        """Return the claims on growth of the loss, effect of back-pressure on loss and delay, and traffic models."""
        none, plain = results.where(mechanism="none"), results.where(mechanism="plain")
        uu_none, uu_plain = none.where(traffic=UNIFORM), plain.where(traffic=UNIFORM)
        similar = {reading: (none.where(traffic=reading), plain.where(traffic=reading)) for reading in READINGS}
        return [
            Claim.calibrated(
                "C1",
                "Without control the loss of uniform bursts grows with their size and with the rate: no step lowers "
                "it by more than 0.1 percentage points.",
                "slides Packet Loss without Congestion Control, whose curves are lost; derived: the larger and the "
                "more frequent bursts are, the more of them coincide",
                uu_none["loss"].non_decreasing("burst", tolerance=0.1)
                & uu_none["loss"].non_decreasing("rate", tolerance=0.1),
                "the restriction to uniform bursts was chosen after the result: the loss of self-similar traffic "
                "depends on a few large bursts, and neighbouring points cannot be distinguished",
            ),
            Claim.calibrated(
                "C1b",
                "Without control more self-similar traffic is lost at 3 than at 1 Mbit/s per source, in both "
                "interpretations of the slide on this traffic.",
                "derived as C1",
                (similar[SELF_SIMILAR][0].where(rate=1)["loss"] < similar[SELF_SIMILAR][0].where(rate=3)["loss"])
                & (similar[BATCHES][0].where(rate=1)["loss"] < similar[BATCHES][0].where(rate=3)["loss"]),
                "the comparison of the ends of the range was chosen after the result",
            ),
            Claim(
                "C2",
                "Even without control nothing is lost of uniform bursts of 6 kB on average at 1 Mbit/s per source.",
                "derived: three bursts of at most 12 kB fit into 50 kB",
                uu_none.where(rate=1, burst=6)["loss"].is_zero(),
            ),
            Claim(
                "C3a",
                "With back-pressure nothing is lost of uniform bursts up to 2 Mbit/s per source.",
                "slide Packet Loss using XON/XOFF, uniform-uniform, whose curves are lost; the range from a prototype",
                uu_plain.where(rate=lambda rate: float(rate) <= 2)["loss"].is_zero(),
                headline="XON/XOFF reduces loss due to traffic merging",
            ),
            Claim(
                "C3b",
                "With back-pressure the loss of uniform bursts is at most 0.5 % at 3 Mbit/s per source.",
                "slide Packet Loss using XON/XOFF, uniform-uniform; the bound from a prototype",
                uu_plain.where(rate=3)["loss"] <= 0.5,
            ),
            Claim.calibrated(
                "C4a",
                "At 3 Mbit/s per source back-pressure at least halves the loss of self-similar traffic from sources "
                "that have a peak rate.",
                "slide Packet Loss using XON/XOFF, self-similar; the bound from a prototype",
                similar[SELF_SIMILAR][1].where(rate=3)["loss"] <= 0.5 * similar[SELF_SIMILAR][0].where(rate=3)["loss"],
                "the rate was chosen after the result: with less load losses are too rare to be compared",
            ),
            Claim(
                "C4b",
                "Back-pressure at least halves the loss of Pareto bursts that are each generated at one instant, at "
                "every rate and burst size.",
                "slide Packet Loss using XON/XOFF, self-similar; the bound from a prototype",
                similar[BATCHES][1]["loss"] <= 0.5 * similar[BATCHES][0]["loss"],
            ),
            Claim(
                "C5",
                "Without control more is lost of Pareto bursts that are each generated at one instant than of uniform "
                "bursts of the same mean and rate.",
                "derived: three uniform bursts of mean 48 kB have 288 kB at most; Pareto bursts have no such limit",
                uu_none["loss"] < similar[BATCHES][0]["loss"],
            ),
            *(
                Claim.comparison(
                    name,
                    f"Loss without control at 3 Mbit/s per source and bursts of 24 kB, {traffic}.",
                    "slides Packet Loss without Congestion Control, whose curves are lost",
                    none.where(traffic=traffic, rate=3, burst=24)["loss"],
                    "the loss of self-similar traffic depends on the peak rate of its sources, which the slides do "
                    "not give",
                )
                for name, traffic in (("R1", UNIFORM), ("R2", SELF_SIMILAR), ("R3", BATCHES))
            ),
            Claim(
                "C6",
                "With back-pressure no packet is lost at the 50 kB buffer of sw0.",
                "derived: without data in the reverse direction, at most 9.4 kB arrive from three 10 Mbit/s links "
                "after the threshold is crossed",
                plain["drops_sw0"].is_zero(),
            ),
            Claim.calibrated(
                "C7",
                "With back-pressure the mean delay of uniform bursts of 24 kB or more is not shorter than without "
                "control, as the packets that are not lost arrive later.",
                "derived: packets wait upstream instead of being lost",
                uu_none.where(burst=[24, 48])["delay"] <= uu_plain.where(burst=[24, 48])["delay"],
                "the burst sizes were chosen after the result: where nothing is lost without control, the delay does "
                "not change",
            ),
        ]

    def figures(self, results: Results) -> Iterable[Figure]:
        """Yield the slides' losses against burst size and rate, by traffic model; and the delay of uniform bursts."""
        slides = (
            ("uu-none", UNIFORM, "none", "without control", ("C1", "C2", "R1")),
            ("uu-plain", UNIFORM, "plain", "with XON/XOFF", ("C3a", "C3b", "C6")),
            ("ss-none", SELF_SIMILAR, "none", "without control", ("C1b", "R2")),
            ("ss-plain", SELF_SIMILAR, "plain", "with XON/XOFF", ("C4a", "C6")),
            ("batches-none", BATCHES, "none", "without control", ("C1b", "C5", "R3")),
            ("batches-plain", BATCHES, "plain", "with XON/XOFF", ("C4b", "C6")),
        )
        yield from on_one_scale(
            [
                Slide(
                    name,
                    f"Traffic merging: packet loss {words}, {traffic}",
                    results.where(traffic=traffic, mechanism=mechanism)["loss"],
                    claims,
                )
                for name, traffic, mechanism, words, claims in slides
            ]
        )
        by_mechanism = {name: results.where(traffic=UNIFORM, mechanism=name)["delay"] for name in ("none", "plain")}
        yield fig.compare(
            by_mechanism,
            "delay",
            "Traffic merging: mean delay, uniform-uniform",
            "Not in the slides: packets that XON/XOFF saves arrive later.",
            x="rate",
            panel="burst",
            claims=("C7",),
        )
