"""lan-alternatives, alternatives that the slides list: detection by fill rate, and response by rate control."""

from __future__ import annotations

from collections.abc import Iterable

from tailback.plotting import experiment as fig
from tailback.results import observables as m
from tailback.scenario import Table
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
from tailback.study.experiment.quantity import Selector

MISMATCH, BACKBONE, SOURCE = "A.2 rate mismatch", "C.2 backbone", "C.3 source"
FILES = {MISMATCH: "mismatch.toml", BACKBONE: "backbone.toml", SOURCE: "source.toml"}
WATERMARK: Table = {"kind": "watermark", "high": 0.8, "low": 0.7}
FILL_RATE: Table = {"kind": "fill-rate", "high": 0.8, "low": 0.7, "window": "2ms", "horizon": "5ms"}
BLOCK: Table = {"kind": "block"}
RATE: Table = {"kind": "rate", "decrease": 0.5, "floor": 0.01, "increase": 0.05, "interval": "5ms"}

# No control, and the combinations of a detection and a response.
NONE, WB, FB, WR, FR = "none", "watermark, block", "fill rate, block", "watermark, rate", "fill rate, rate"
LAWS: dict[str, tuple[Table, Table]] = {
    WB: (WATERMARK, BLOCK),
    FB: (FILL_RATE, BLOCK),
    WR: (WATERMARK, RATE),
    FR: (FILL_RATE, RATE),
}
PLAIN, DESTINATION = "plain", "destination"
# Network and scope, by the first part of the names of figures.
NETWORKS = {
    "a2": (MISMATCH, PLAIN),
    "c2-plain": (BACKBONE, PLAIN),
    "c2-destination": (BACKBONE, DESTINATION),
    "c3-plain": (SOURCE, PLAIN),
    "c3-destination": (SOURCE, DESTINATION),
}
LAW = "the result of our law with its default parameters; the slides name the alternative and give no law"


class Alternatives(Experiment):
    """Fill rate compared with watermarks, and rate control with block and unblock, on A.2, C.2 and C.3."""

    id = "lan-alternatives"
    title = "Fill-rate detection and rate control"
    reference = "Tobagi, Fraleigh and Noureddine, slides Congestion Control Mechanism (1) and (2)"
    axes = (
        Axis("network", "network"),
        Axis("scope", "scope"),
        Axis("law", "detection and response"),
        Axis("rate", "data rate per source", "Mbit/s"),
    )
    quick = Profile(duration="30s", warmup="5s", replications=5, max_replications=24, cpu_s=11)
    full = Profile(duration="220s", warmup="20s", replications=5, max_replications=30, cpu_s=140)
    metrics = (
        m.loss(),
        m.drops_at("sw2->*", name="drops_sw2", label="packets lost at the 50 kB buffer"),
        m.mean_delay(),
        m.throughput(label="throughput of all sources"),
        m.stopped("sw1->sw2", label="time the backbone is stopped"),
    )

    def points(self, profile: ProfileName) -> Iterable[Point]:
        """Return the points: each network, scope and law with bursts of 48 kB at several rates.

        Without control the scope has no effect, but each scope has its own run.
        """
        found: list[Point] = []
        for network, scope in NETWORKS.values():
            rates: tuple[int, ...] = (2, 5, 8) if network == MISMATCH else (4, 6, 8)
            if profile == "full":
                rates = (2, 3, 5, 6, 8, 9) if network == MISMATCH else (2, 4, 6, 8, 9)
            found += grid(network=[network], scope=[scope], law=(NONE, *LAWS), rate=rates)
        return found

    def scenario(self, point: Point) -> str:
        """Return the file of the point's network."""
        return FILES[str(point["network"])]

    def settings(self, point: Point, profile: ProfileName) -> Settings:
        """Return the settings of rate, scope, detection and response.

        Both detections have the same thresholds; all other parameters are the laws' defaults.
        """
        del profile
        rate: Settings = {"flows[data].source.rate": f"{point['rate']}Mbit/s"}
        if point["law"] == NONE:
            return {**rate, "backpressure.scope": "none"}
        detection, response = LAWS[str(point["law"])]
        return {
            **rate,
            "backpressure.scope": point["scope"],
            "backpressure.detection": detection,
            "backpressure.response": response,
        }

    def claims(self, results: Results) -> Iterable[Claim]:
        """Return the claims that follow from the headroom; results of our laws' parameters are not judged."""
        by_law = {law: results.where(law=law) for law in (NONE, *LAWS)}
        mismatch = {law: at.where(network=MISMATCH, scope=PLAIN) for law, at in by_law.items()}
        source = {law: at.where(network=SOURCE) for law, at in by_law.items()}
        moderate: dict[str, Selector] = {"rate": [4, 6]}
        return [
            Claim(
                "A1",
                "With watermarks, block and unblock, nothing is lost at the 50 kB buffers in any network.",
                "derived: the 10 kB above the high threshold exceed the headroom of the link that feeds the buffer",
                by_law[WB]["drops_sw2"].is_zero(),
            ),
            Claim(
                "A2",
                "With watermarks and rate control packets are lost at the 50 kB buffer of A.2: half of 100 Mbit/s is "
                "still five times the slow link's rate, and fills the 10 kB above the threshold in 2 ms, before the "
                "next step after 5 ms.",
                "derived: the headroom that is needed if the neighbour goes on sending",
                mismatch[WR]["drops_sw2"] > 0,
            ),
            Claim(
                "A3",
                "In A.2 with rate control, less is lost with detection by fill rate than with watermarks.",
                "derived: the neighbour slows down while more of the buffer is free",
                mismatch[FR]["loss"] < mismatch[WR]["loss"],
            ),
            Claim(
                "A4",
                "In A.2 less is lost than without control with each of three combinations: fill rate and block, "
                "watermarks and rate control, fill rate and rate control.",
                "derived: with each of them packets wait in the 500 kB of sw1 instead of being lost",
                (mismatch[FB]["loss"] < mismatch[NONE]["loss"])
                & (mismatch[WR]["loss"] < mismatch[NONE]["loss"])
                & (mismatch[FR]["loss"] < mismatch[NONE]["loss"]),
            ),
            Claim(
                "A5",
                "In C.3, where hosts obey notifications, watermarks with block and unblock lose nothing, with either "
                "scope.",
                'slides of C.3: "extra buffers eliminate loss", "packet loss is eliminated"; stated',
                source[WB]["loss"].is_zero(),
            ),
            Claim(
                "A6",
                "In C.3, where hosts obey notifications, packets are lost with watermarks and rate control, at 4 and "
                "6 Mbit/s per source.",
                "derived, as A2",
                source[WR].where(**moderate)["loss"] > 0,
            ),
            *(
                Claim.comparison(
                    f"R{number}",
                    f"{text}, at 8 Mbit/s per source in bursts of 48 kB.",
                    "slides Congestion Control Mechanism; laws reconstructed",
                    by_law[law].where(network=network, scope=scope, rate=8)[metric],
                    LAW,
                )
                for number, (text, law, network, scope, metric) in enumerate(REPORTED, 1)
            ),
        ]

    def figures(self, results: Results) -> Iterable[Figure]:
        """Yield loss, delay and throughput by law in each network and scope."""
        for name, (network, scope) in NETWORKS.items():
            at = results.where(network=network, scope=scope)
            where = network if network == MISMATCH else f"{network}, scope {scope}"
            for metric, words, scale in (
                ("loss", "Packet loss", "linear"),
                ("delay", "Mean delay", "log"),
                ("throughput", "Throughput", "linear"),
            ):
                yield fig.compare(
                    {law: at.where(law=law)[metric] for law in (NONE, *LAWS)},
                    f"{name}-{metric}",
                    f"{words}, {where}",
                    "Bursts of 48 kB.",
                    x="rate",
                    y_scale="log" if scale == "log" else "linear",
                    claims=_CLAIMS.get((name, metric), ()),
                )


# Text, law, network, scope and metric of the comparisons R1 to R5.
REPORTED = (
    ("Loss with fill rate and block in A.2", FB, MISMATCH, PLAIN, "loss"),
    ("Loss with fill rate and block in C.2, scope plain", FB, BACKBONE, PLAIN, "loss"),
    ("Loss with watermark and block in C.2, scope plain", WB, BACKBONE, PLAIN, "loss"),
    ("Loss with watermark and rate control in C.2, scope plain", WR, BACKBONE, PLAIN, "loss"),
    ("Loss with fill rate and rate control in C.2, scope destination", FR, BACKBONE, DESTINATION, "loss"),
)
_CLAIMS = {
    ("a2", "loss"): ("A1", "A2", "A3", "A4", "R1"),
    ("c2-plain", "loss"): ("R2", "R3", "R4"),
    ("c2-destination", "loss"): ("R5",),
    ("c3-plain", "loss"): ("A5", "A6"),
}
