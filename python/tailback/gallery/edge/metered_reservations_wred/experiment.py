"""edge-intserv: flows with reservations in a class with WRED, with one profile or one for non-conforming packets."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Literal

from tailback.gallery.edge.shared import customer_edge as ce
from tailback.plotting import experiment as fig
from tailback.results.report import Report
from tailback.study.experiment import (
    Axis,
    Claim,
    Figure,
    Observable,
    Point,
    Profile,
    ProfileName,
    Results,
    Settings,
    grid,
)

BLIND, AWARE = "one profile", "a profile for what does not conform"
RESERVED = (0.5, 1.0, 1.5, 2.0)
"""Reserved rate of each flow of AF3x, Mbit/s; a flow sends 2.5 to 3.3 Mbit/s."""
AF3X = ce.CLASSES["AF3x"]


# Observable of the loss of AF3x's packets of a colour, %; the events are lost and offered packets.
def _loss(colour: Literal["green", "red"]) -> Observable:
    def counts(report: Report) -> tuple[int, int]:
        rows = [c[colour] for f in report.flows("af3[123]") if (c := f["colours"]) is not None]
        return sum(r["dropped"]["packets"] for r in rows), sum(r["offered"]["packets"] for r in rows)

    def value(report: Report) -> float:
        lost, sent = counts(report)
        return 100 * lost / sent if sent else float("nan")

    word = "conforming" if colour == "green" else "non-conforming"
    return Observable(f"loss_{colour}", f"loss of {word} packets", "%", value, counts)


class Reservations(ce.AtTheEdge):
    """Loss of conforming and non-conforming packets with meters at the sources and WRED."""

    id = "edge-intserv"
    title = "Reservations metered, and WRED"
    reference = (
        'Mitroi and Stroescu, section 3 g: "in the case of IntServ architecture, WRED will discard, first of all, '
        'packets which are not conform"'
    )
    axes = (Axis("profile", "WRED"), Axis("reserved", "reserved by each flow", "Mbit/s"))
    quick = Profile(duration="12s", warmup="4s", replications=3, max_replications=12, cpu_s=3)
    full = Profile(duration="122s", warmup="4s", replications=5, max_replications=30, cpu_s=60)
    metrics = (_loss("green"), _loss("red"), ce.class_loss("AF3x"), ce.class_delay("AF3x"))

    def points(self, profile: ProfileName) -> Iterable[Point]:
        """Return the points: one profile and two, with each reservation."""
        del profile
        return grid(profile=[BLIND, AWARE], reserved=RESERVED)

    def settings(self, point: Point, profile: ProfileName) -> Settings:
        """Return the settings of a meter for each flow of AF3x, and of WRED with one profile or two."""
        del profile
        meter = {"kind": "token-bucket", "rate": f"{point['reserved']}Mbit/s", "burst": "15kB"}
        inside = ce.wred_inside()
        if point["profile"] == AWARE:
            # The queue settles at the thresholds of the excess, far below those of conforming packets.
            inside["critical"] = ce.wred(42, 60, AF3X, nonconforming={"min": 5, "max": 20, "denominator": 1})
        return ce.policy(low_latency=True, inside=inside) | {
            f"flows[{group}].marking": {"meter": meter, "per": "flow"} for group in AF3X
        }

    def claims(self, results: Results) -> Iterable[Claim]:
        """Return the claims: with two profiles only packets that exceed the reservation are lost."""
        blind, aware = results.where(profile=BLIND), results.where(profile=AWARE)
        expected = ce.fluid_losses()["AF3x"]
        return [
            Claim(
                "I1",
                "With a profile for non-conforming packets, no conforming packet is lost.",
                "section 3 g",
                aware["loss_green"].is_zero(),
            ),
            Claim(
                "I2",
                "With a profile for non-conforming packets, non-conforming packets have a higher loss than conforming "
                "ones, at every reservation.",
                "section 3 g",
                aware["loss_red"] > aware["loss_green"],
            ),
            Claim(
                "I3",
                f"AF3x as a whole loses {expected:.1f} % with either profile, within 1 percentage point.",
                "derived: the fluid model's loss of a class that exceeds its share",
                results["loss_AF3x"].within(expected - 1, expected + 1),
            ),
            Claim(
                "I4",
                "With one profile for all packets, the losses of conforming and non-conforming packets differ by at "
                "most 3 percentage points.",
                "derived: with one profile WRED does not distinguish them; the bound reconstructed",
                (blind["loss_red"] - blind["loss_green"]).within(-3, 3),
            ),
        ]

    def figures(self, results: Results) -> Iterable[Figure]:
        """Yield the loss of conforming and of non-conforming packets against the reservation."""
        yield fig.panels(
            {
                "conforming packets": replace(results["loss_green"], label="loss"),
                "non-conforming packets": replace(results["loss_red"], label="loss"),
            },
            "loss",
            "Loss of conforming and non-conforming packets of AF3x",
            x="reserved",
            curves="profile",
            claims=("I1", "I2", "I4"),
        )
