"""internet-e04: loss and mean queue of RED with and without ECN, against the number of connections."""

from __future__ import annotations

from collections.abc import Iterable
from typing import cast

from tailback.gallery.internet.shared import dumbbell
from tailback.gallery.internet.shared.dumbbell import BOTTLENECK
from tailback.plotting import experiment as fig
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

BUFFER_KB, MAX_P = 80, 0.1
OFF, ON = "no ECN", "ECN"
RFC, BACKOFF, NS2 = "ECN, RFC 3168", "ECN, RFC 3168 and back-off", "ECN, ns-2"
"""ECN with a rule for an echo at a window of one segment. With plain "ECN", the mode of 1999, senders continue."""
FLOORS = {ON: "none", RFC: "rfc3168", BACKOFF: "backoff", NS2: "ns-2"}
SOURCES = (8, 16, 32, 48, 64)


class EcnLoss(Experiment):
    """RED that drops, and RED that marks, for senders with four rules for an echo at a window of one segment."""

    id = "internet-e04"
    title = "RED with and without ECN"
    reference = "Feng, thesis defence (1999), slides ECN, and RED and Packet Loss"
    axes = (Axis("ecn", "congestion notification"), Axis("sources", "connections"))
    quick = Profile(duration="120s", warmup="20s", replications=4, max_replications=24, cpu_s=25)
    full = Profile(duration="220s", warmup="20s", replications=10, max_replications=60, cpu_s=130)
    metrics = (
        m.port_loss(BOTTLENECK),
        m.utilisation(BOTTLENECK, label="utilisation"),
        m.mean_queue(BOTTLENECK, label="mean queue"),
        m.marks(BOTTLENECK),
    )

    def points(self, profile: ProfileName) -> Iterable[Point]:
        """Return the points: RED without ECN, and with ECN and each rule, with each number of connections."""
        del profile
        return grid(ecn=[OFF, *FLOORS], sources=SOURCES)

    def settings(self, point: Point, profile: ProfileName) -> Settings:
        """Return the settings of ECN, at hosts and queue or at neither, and of the number of connections."""
        del profile
        on = point["ecn"] != OFF
        return {
            **dumbbell.red(BUFFER_KB, MAX_P, ecn=on),
            "flows[tcp].count": point["sources"],
            "flows[tcp].transport.ecn": "classic" if on else "off",
            "flows[tcp].transport.ecn-floor": FLOORS.get(str(point["ecn"]), "none"),
        }

    def claims(self, results: Results) -> Iterable[Claim]:
        """Return the claims: ECN avoids most of the loss with moderate loads, but not with high ones."""
        off, on = results.where(ecn=OFF), results.where(ecn=ON)
        moderate = {"sources": lambda n: int(cast(int, n)) <= 32}
        return [
            Claim(
                "C1",
                "With 8 to 32 connections the loss with ECN is at most half of that without.",
                'slide ECN: "Without ECN, packet loss rates will remain high"; the factor reconstructed',
                on.where(**moderate)["loss"] <= 0.5 * off.where(**moderate)["loss"],
            ),
            Claim(
                "C2",
                "With 64 connections more than 1 % is lost even with ECN, with each rule for a window of one segment.",
                'slide RED and Packet Loss: "Even with ECN, RED does not eliminate packet loss"; the bound '
                "reconstructed",
                results.where(ecn=list(FLOORS), sources=64)["loss"] > 1,
                headline='"Even with ECN, RED does not eliminate packet loss": more than 1 % with 64 connections',
            ),
            Claim(
                "C3",
                "With 8 to 64 connections the utilisation of the link with ECN is at most 0.5 percentage points below "
                "that without.",
                "reconstructed: ECN does not avoid loss by sending less",
                on["utilisation"] - off["utilisation"] >= -0.5,
            ),
            Claim.comparison(
                "C4",
                "Loss with 64 connections by the senders' rule for an echo at a window of one segment.",
                "RFC 3168, section 6.1.2; ns-2.35",
                results.where(ecn=list(FLOORS), sources=64)["loss"],
                "a sensitivity: the slide does not name the rule",
            ),
        ]

    def figures(self, results: Results) -> Iterable[Figure]:
        """Yield loss, mean queue and marks against the number of connections."""
        by_kind = {name: results.where(ecn=name) for name in (OFF, *FLOORS)}
        yield fig.compare(
            {name: at["loss"] for name, at in by_kind.items()},
            "loss",
            "Loss with RED, buffer 80 kB",
            x="sources",
            claims=("C1", "C2", "C4"),
        )
        yield fig.compare(
            {name: at["mean_queue"] for name, at in by_kind.items()},
            "mean-queue",
            "Mean queue against the number of connections",
            "RED's max_th is 64 kB.",
            x="sources",
        )
        yield fig.compare(
            {name: at["marks"] for name, at in by_kind.items() if name != OFF},
            "marks",
            "Marks per second",
            "The curves coincide: RED's marking depends only on its average queue, not on the senders' rule.",
            x="sources",
        )
