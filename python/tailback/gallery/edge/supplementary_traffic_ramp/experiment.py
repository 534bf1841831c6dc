"""edge-ramp: the supplementary traffic of AF2x and AF3x, from nothing to twice that of Table 1."""

from __future__ import annotations

from collections.abc import Iterable

from tailback.gallery.edge.shared import customer_edge as ce
from tailback.plotting import experiment as fig
from tailback.results import observables as m
from tailback.study.experiment import (
    Axis,
    Claim,
    Condition,
    Figure,
    Point,
    Profile,
    ProfileName,
    Results,
    Settings,
    grid,
)

FIFO, CBWFQ, LLQ, WRED = "i FIFO", "iii CBWFQ", "iv LLQ", "v WRED"
LOADS = (0, 25, 50, 75, 100, 150, 200)
"""Supplementary traffic, % of Table 1: 93.06 to 153.0 Mbit/s in total."""
# Classes without supplementary traffic.
UNHARMED = ("EF", "AF41", "AF1x")


class Ramp(ce.AtTheEdge):
    """Loss and delay of all classes against the supplementary traffic of AF2x and AF3x."""

    id = "edge-ramp"
    title = "The supplementary traffic as a ramp"
    reference = 'Mitroi and Stroescu, Table 1 and section 5: "without any prejudice to other traffic categories"'
    axes = (Axis("configuration", "configuration"), Axis("extra", "supplementary traffic", "%"))
    quick = Profile(duration="8s", warmup="2s", replications=3, max_replications=9, cpu_s=6)
    full = Profile(duration="62s", warmup="2s", replications=5, max_replications=30, cpu_s=80)
    metrics = (
        *(ce.class_loss(name) for name in ce.CLASSES),
        *(ce.class_delay(name) for name in ce.CLASSES),
        m.loss(),
        m.offered(),
    )

    def points(self, profile: ProfileName) -> Iterable[Point]:
        """Return the points: configurations i, iii, iv and v with each load."""
        del profile
        return grid(configuration=[FIFO, CBWFQ, LLQ, WRED], extra=LOADS)

    def settings(self, point: Point, profile: ProfileName) -> Settings:
        """Return the settings of policy and load."""
        del profile
        load = ce.sources(float(point["extra"]) / 100)
        if point["configuration"] == FIFO:
            return ce.drop_tail() | load
        inside = ce.wred_inside() if point["configuration"] == WRED else None
        return ce.policy(low_latency=point["configuration"] != CBWFQ, inside=inside) | load

    def claims(self, results: Results) -> Iterable[Claim]:
        """Return the claims: nothing is lost at base load; above it, losses by class and policy."""
        planned = results.where(configuration=[CBWFQ, LLQ, WRED])
        above = planned.where(extra=lambda extra: float(extra) >= 50)
        fifo = results.where(configuration=FIFO)
        return [
            Claim(
                "R1",
                "At the base load of 93.06 Mbit/s nothing is lost with any configuration.",
                "derived: the port has 100 Mbit/s",
                results.where(extra=0)["loss"].is_zero(),
            ),
            Claim(
                "R2",
                "The flows offer 93.06 Mbit/s without and 123.04 Mbit/s with the supplementary traffic, within 0.1 "
                "Mbit/s.",
                "Table 1",
                results.where(extra=0)["offered"].within(92.96, 93.16)
                & results.where(extra=100)["offered"].within(122.94, 123.14),
            ),
            *(
                Claim(
                    f"R3-{number}",
                    f"With CBWFQ, LLQ and WRED (iii to v) {name} loses nothing at any load of supplementary traffic.",
                    "section 5",
                    planned[f"loss_{name}"].is_zero(),
                )
                for number, name in enumerate(UNHARMED, start=1)
            ),
            *(
                Claim(
                    f"R4-{number}",
                    f"With CBWFQ, LLQ and WRED (iii to v) {name} has the loss of the fluid model, within 1 percentage "
                    "point, with supplementary traffic of 50 % or more.",
                    "derived: weighted max-min",
                    _fluid(above, name),
                )
                for number, name in enumerate(("AF3x", "AF2x"), start=1)
            ),
            Claim(
                "R5",
                "With FIFO (i) and 123 Mbit/s or more, every class loses more than 15 %.",
                "figures 8 and 9",
                ce.all_of(fifo.where(extra=[100, 150, 200])[f"loss_{name}"] > 15 for name in ce.CLASSES),
            ),
            Claim(
                "R6",
                "With CBWFQ, LLQ and WRED (iii to v) the delays of EF, AF41 and AF1x with 200 % of the supplementary "
                "traffic are within 15 % of those with 100 %.",
                "section 5; the bound reconstructed",
                ce.all_of(
                    planned.where(extra=200)[f"delay_{name}"].close_to(planned.where(extra=100)[f"delay_{name}"], 0.15)
                    for name in UNHARMED
                ),
            ),
        ]

    def figures(self, results: Results) -> Iterable[Figure]:
        """Yield loss and delay of each class against the supplementary traffic."""
        for configuration in (FIFO, LLQ, WRED):
            at = results.where(configuration=configuration)
            key = configuration.split(" ", 1)[1].lower()
            yield fig.compare(
                {name: at[f"loss_{name}"] for name in ce.CLASSES},
                f"loss-{key}",
                f"Loss of each class, {configuration}",
                "Supplementary traffic of 100 % is Table 1: 123.04 Mbit/s offered to a port of 100 Mbit/s.",
                x="extra",
                y="packet loss",
                claims=("R1", "R3-1", "R4-1", "R5"),
            )
        yield fig.compare(
            {name: results.where(configuration=WRED)[f"delay_{name}"] for name in ce.CLASSES},
            "delay",
            "Delay of each class, v WRED",
            x="extra",
            y="mean delay",
            claims=("R6",),
        )


# Condition that a class's loss is within 1 percentage point of the fluid model's at each load.
def _fluid(results: Results, name: str) -> Condition:
    conditions = []
    for extra in results["loss"].values_of("extra"):
        loss = ce.fluid_losses(float(extra) / 100)[name]
        conditions.append(results.where(extra=[extra])[f"loss_{name}"].within(max(loss - 1, 0), loss + 1))
    return ce.all_of(conditions)
