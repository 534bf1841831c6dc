"""E-A1, traffic merging: loss where three bursty sources meet, without control and with 802.3x."""

from __future__ import annotations

from collections.abc import Iterable

from tailback.gallery import Axis, Claim, Experiment, Figure, Point, Profile, ProfileName, Results, Settings, grid
from tailback.gallery import figures as fig
from tailback.gallery import metrics as m

UNIFORM, SELF_SIMILAR = "uniform-uniform", "self-similar"


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
    quick = Profile(duration="65s", warmup="5s", replications=3, max_replications=150, cpu_s=25)
    full = Profile(duration="420s", warmup="20s", replications=5, max_replications=60, cpu_s=1200)
    metrics = (
        m.loss(),
        m.mean_delay(),
        m.drops_at("sw0->*", name="drops_sw0", label="packets lost at sw0"),
        m.max_queue("sw[123]->sw0", name="upstream", label="longest upstream queue"),
        m.offered(),
    )

    def points(self, profile: ProfileName) -> Iterable[Point]:
        """Every traffic model and mechanism over the deck's ranges."""
        bursts = (6, 12, 24, 48) if profile == "full" else (6, 24, 48)
        rates = (1, 1.5, 2, 2.5, 3) if profile == "full" else (1, 2, 3)
        return grid(traffic=(UNIFORM, SELF_SIMILAR), mechanism=("none", "plain"), rate=rates, burst=bursts)

    def settings(self, point: Point, profile: ProfileName) -> Settings:
        """One source model for all three; a self-similar load takes longer to show itself."""
        source = {"kind": point["traffic"], "burst": f"{point['burst']}kB", "rate": f"{point['rate']}Mbit/s"}
        longer = {"run.duration": "2020s"} if profile == "full" and point["traffic"] == SELF_SIMILAR else {}
        return {"backpressure.scope": point["mechanism"], "flows[data].source": source, **longer}

    def claims(self, results: Results) -> Iterable[Claim]:
        """C1 to C7 of the specification."""
        none, plain = results.where(mechanism="none"), results.where(mechanism="plain")
        uu_none, uu_plain = none.where(traffic=UNIFORM), plain.where(traffic=UNIFORM)
        ss_none, ss_plain = none.where(traffic=SELF_SIMILAR), plain.where(traffic=SELF_SIMILAR)
        return [
            Claim(
                "C1",
                "Without control, loss grows with the burst size and with the rate.",
                "slides Packet Loss without Congestion Control; stated",
                none["loss"].non_decreasing("burst", tolerance=0.1)
                & none["loss"].non_decreasing("rate", tolerance=0.1),
            ),
            Claim(
                "C2",
                "Small bursts at 1 Mbit/s lose nothing even without control.",
                "derived: three bursts of at most 12 kB fit into 50 kB",
                uu_none.where(rate=1, burst=6)["loss"].is_zero(),
            ),
            Claim(
                "C3a",
                "Back-pressure removes all loss up to 2 Mbit/s per source.",
                "slide Packet Loss using XON/XOFF, uniform-uniform; stated",
                uu_plain.where(rate=lambda rate: float(rate) <= 2)["loss"].is_zero(),
            ),
            Claim(
                "C3b",
                "At 3 Mbit/s per source it leaves at most 0.5 %.",
                "slide Packet Loss using XON/XOFF, uniform-uniform; bound from the prototype",
                uu_plain.where(rate=3)["loss"] <= 0.5,
            ),
            Claim(
                "C4",
                "Back-pressure at least halves the loss of self-similar traffic.",
                "slide Packet Loss using XON/XOFF, self-similar; bound from the prototype",
                ss_plain["loss"] <= 0.5 * ss_none["loss"],
            ),
            Claim(
                "C5",
                "Self-similar traffic loses more than uniform traffic of the same burst size and rate.",
                "both slides Packet Loss without Congestion Control; stated",
                uu_none["loss"] < ss_none["loss"],
            ),
            Claim(
                "C6",
                "With back-pressure no packet is lost at the 50 kB buffer.",
                "derived: with no data the other way, three 10 Mbit/s links bring 9.4 kB at most after the threshold",
                plain["drops_sw0"].is_zero(),
            ),
            Claim(
                "C7",
                "What is no longer lost arrives later: the mean delay does not fall.",
                "derived",
                none["delay"] <= plain["delay"],
            ),
        ]

    def figures(self, results: Results) -> Iterable[Figure]:
        """The four slides, each in both views."""
        slides = (
            ("uu-none", UNIFORM, "none", "without control", ("C1", "C2")),
            ("uu-plain", UNIFORM, "plain", "with XON/XOFF", ("C3a", "C3b", "C6")),
            ("ss-none", SELF_SIMILAR, "none", "without control", ("C1", "C5")),
            ("ss-plain", SELF_SIMILAR, "plain", "with XON/XOFF", ("C4", "C6")),
        )
        for name, traffic, mechanism, words, claims in slides:
            loss = results.where(traffic=traffic, mechanism=mechanism)["loss"]
            yield fig.both_views(loss, name, f"Packet loss {words}, {traffic}", claims=claims)
        delays = {name: results.where(traffic=UNIFORM, mechanism=name)["delay"] for name in ("none", "plain")}
        yield fig.compare(delays, "delay", "Mean delay, uniform-uniform", x="rate", panel="burst", claims=("C7",))
