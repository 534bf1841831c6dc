"""lan-class-destination: traffic that each scope of notification stops though it does not cause the congestion."""

from __future__ import annotations

from collections.abc import Iterable

from tailback.plotting import experiment as fig
from tailback.results import observables as m
from tailback.study.experiment import (
    Axis,
    Claim,
    Condition,
    Experiment,
    Figure,
    Point,
    Profile,
    ProfileName,
    Results,
    Settings,
    grid,
)

MECHANISMS = ("none", "plain", "class", "destination", "class-destination")
EDGE, LARGE_EDGE = 50, 500
"""Buffer of the edge switch, kB: that of video and bursty data, and a larger one for comparisons R1 to R4."""


class ClassAndDestination(Experiment):
    """Video and bursts to one host, and other data of the bursts' class to another host."""

    id = "lan-class-destination"
    title = "Class and destination together"
    reference = "Tobagi, Fraleigh and Noureddine, conclusions"
    axes = (
        Axis("mechanism", "mechanism"),
        Axis("rate", "rate of the bursts", "Mbit/s"),
        Axis("burst", "mean burst size", "kB"),
        Axis("edge", "buffer of the edge switch", "kB"),
    )
    quick = Profile(duration="45s", warmup="5s", replications=5, max_replications=20, cpu_s=8)
    full = Profile(duration="125s", warmup="10s", replications=16, max_replications=80, cpu_s=140)
    metrics = (
        m.loss("video", "video_loss", "video packet loss"),
        m.loss("bystander", "bystander_loss", "packet loss of the bystander"),
        m.loss("bursts", "bursts_loss", "packet loss of the bursts"),
        m.mean_delay("video", "video_delay", "video mean delay"),
        m.mean_delay("bystander", "bystander_delay", "mean delay of the bystander"),
        m.delay_quantile(0, "p99", "video_p99", "p99 video delay"),
    )

    def points(self, profile: ProfileName) -> Iterable[Point]:
        """Return the points: every scope, up to the rate at which bursts and video fill the slow link."""
        large = grid(mechanism=MECHANISMS, rate=[7], burst=[96], edge=[LARGE_EDGE])
        if profile == "full":
            return grid(mechanism=MECHANISMS, rate=(1, 3, 5, 7), burst=(24, 96), edge=[EDGE]) + large
        return grid(mechanism=MECHANISMS, rate=(3, 5, 7), burst=[96], edge=[EDGE]) + large

    def settings(self, point: Point, profile: ProfileName) -> Settings:
        """Return the settings of the scope, of rate and size of the bursts, and of the edge switch's buffer."""
        del profile  # only the length differs between the profiles
        return {
            "backpressure.scope": point["mechanism"],
            "flows[bursts].source.rate": f"{point['rate']}Mbit/s",
            "flows[bursts].source.burst": f"{point['burst']}kB",
            "switches.sw1.buffer": f"{point['edge']}kB",
        }

    def claims(self, results: Results) -> Iterable[Claim]:
        """Return the claims: which of video and bystander each scope protects, and the loss of the bursts."""
        larger = results.where(edge=LARGE_EDGE, rate=7, burst=96)
        results = results.where(edge=EDGE)
        high = results.where(rate=7, burst=96)
        by_class, by_destination = results.where(mechanism="class"), results.where(mechanism="destination")
        both, none = results.where(mechanism="class-destination"), results.where(mechanism="none")
        conclusions = "conclusions of the slides; derived"
        return [
            Claim(
                "C1a",
                "With class and destination in notifications no video packet is lost.",
                conclusions,
                both["video_loss"].is_zero(),
            ),
            Claim(
                "C1b",
                "With class and destination in notifications no packet of the bystander is lost.",
                conclusions,
                both["bystander_loss"].is_zero(),
            ),
            Claim(
                "C1c",
                "With class and destination in notifications the mean delay of the bystander is within 10 % of that "
                "without control.",
                conclusions,
                both["bystander_delay"].close_to(none["bystander_delay"], relative=0.1),
            ),
            Claim(
                "C2a",
                "If notifications name only the class, no video packet is lost.",
                conclusions,
                by_class["video_loss"].is_zero(),
            ),
            Claim(
                "C2b",
                "If notifications name only the class, packets of the bystander, which is in the congested class, are "
                "lost at 7 Mbit/s.",
                conclusions,
                high.where(mechanism="class")["bystander_loss"] > 0,
            ),
            Claim(
                "C3a",
                "If notifications name only the destination, no packet of the bystander is lost.",
                conclusions,
                by_destination["bystander_loss"].is_zero(),
            ),
            Claim(
                "C3b",
                "If notifications name only the destination, packets of the video, which goes to the congested host, "
                "are lost at 7 Mbit/s.",
                conclusions,
                high.where(mechanism="destination")["video_loss"] > 0,
            ),
            Claim(
                "C4",
                "With plain XON/XOFF packets of the video and of the bystander are lost at 7 Mbit/s.",
                conclusions,
                (high.where(mechanism="plain")["video_loss"] > 0)
                & (high.where(mechanism="plain")["bystander_loss"] > 0),
            ),
            Claim(
                "C5",
                "Less of the bursts is lost with every control mechanism than without control.",
                "derived: 550 kB can store more than 50 kB",
                _less(results, "bursts_loss"),
            ),
            Claim(
                "C6",
                "The mean delay of video if notifications name class and destination is at most that if they name "
                "only the destination.",
                "derived: with class and destination the video is never stopped",
                both["video_delay"] <= by_destination["video_delay"],
            ),
            *(
                Claim.comparison(
                    name,
                    f"{text} at 7 Mbit/s if the edge switch has 500 kB.",
                    "sensitivity",
                    larger.where(mechanism=mechanism)[metric],
                    "the small edge buffer is a calibrated choice: this is the value with a large one",
                )
                for name, text, mechanism, metric in (
                    ("R1", "Video loss with destination alone", "destination", "video_loss"),
                    ("R2", "Mean delay of video with destination alone", "destination", "video_delay"),
                    ("R3", "Loss of the bystander with class alone", "class", "bystander_loss"),
                    ("R4", "Mean delay of the bystander with class alone", "class", "bystander_delay"),
                )
            ),
        ]

    def figures(self, results: Results) -> Iterable[Figure]:
        """Yield loss and delay of the video and of the bystander, and loss of the bursts, by mechanism."""
        large = {name: results.where(mechanism=name, burst=96, edge=EDGE) for name in MECHANISMS}
        rows = (
            ("video_loss", "video-loss", "Video packet loss", ("C1a", "C2a", "C3b", "C4", "R1")),
            ("bystander_loss", "bystander-loss", "Packet loss of the bystander", ("C1b", "C2b", "C3a", "R3")),
            ("bursts_loss", "bursts-loss", "Packet loss of the bursts", ("C5",)),
            ("video_delay", "video-delay", "Mean delay of the video", ("C6", "R2")),
            ("bystander_delay", "bystander-delay", "Mean delay of the bystander", ("C1c", "R4")),
        )
        caption = "Bursts of 96 kB on average; two video streams of 1.5 Mbit/s; the bystander sends 10 Mbit/s."
        for metric, name, title, claims in rows:
            curves = {mechanism: at[metric] for mechanism, at in large.items()}
            yield fig.compare(curves, name, title, caption, x="rate", claims=claims)


def _less(results: Results, metric: str) -> Condition:
    """Return the condition that the metric is lower under every control mechanism than without."""
    none = results.where(mechanism="none")[metric]
    conditions = [results.where(mechanism=name)[metric] < none for name in MECHANISMS[1:]]
    joined = conditions[0]
    for condition in conditions[1:]:
        joined = joined & condition
    return joined
