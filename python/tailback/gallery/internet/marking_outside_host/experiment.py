"""internet-e19, packet marking outside the host: groups of connections that reach a target bandwidth together."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, cast

from tailback.gallery.internet.shared import services
from tailback.gallery.internet.shared.dumbbell import BOTTLENECK, PORT, Trace
from tailback.gallery.internet.shared.services import RIO, coloured
from tailback.plotting import experiment as fig
from tailback.results import observables as m
from tailback.results.report import Report
from tailback.scenario import Value
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
from tailback.study.experiment.claims import Condition
from tailback.study.experiment.quantity import Selector

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

ONE, EACH, TWO, OVER, DETECTED, UNDER_RIO = (
    "one group",
    "each flow",
    "two groups",
    "over-subscribed",
    "over-subscribed, detected",
    "one group, RIO",
)
FLOWS = 4
"""Number of flows in each group."""
SILVER: dict[str, float] = {TWO: 4, OVER: 8, DETECTED: 8}
"""Target of the second group, Mbit/s, by case; in other cases the group is best effort."""
# Usual increment of the marking probability.
STEP = 0.01
BELOW, ABOVE = (2,), (4, 6)
"""Targets of the first group, Mbit/s, below and above its share without marking, which is 2.5."""
STARVED = 10
"""Percent of an equal share below which a flow is starved."""
PLAIN: dict[str, Value] = {"meter": {"kind": "fixed", "colour": "yellow"}}


def _marked_share(report: Report) -> float:
    """Return the share of marked packets in the packets delivered to the first group, %."""
    return 100 * coloured(report, "green", "gold") / (8e-6 * services.HEADERS * _delivered(report) / report.measured_s)


def _delivered(report: Report) -> int:
    return sum(flow["delivered"]["bytes"] for flow in report.flows("gold"))


def _probability(report: Report) -> Trace:
    """Return times in s, and the marking probability of each engine that a group shares, by group."""
    series = report.data["series"]
    assert series is not None, "the point sets no run.sample"
    return series["time_s"], {
        name: shown["probability"] for name, shown in series["meters"].items() if "probability" in shown
    }


class TransparentMarking(Experiment):
    """Marking engines for groups of four connections among sixteen connections."""

    id = "internet-e19"
    title = "Packet marking outside the host"
    reference = "Feng, thesis defence (1999), part Differentiated services; Feng and others, ICNP 1998"
    axes = (
        Axis("case", "case"),
        Axis("target", "target of the first group", "Mbit/s"),
        Axis("step", "increment"),
    )
    quick = Profile(duration="120s", warmup="40s", replications=4, max_replications=16, cpu_s=18)
    full = Profile(duration="680s", warmup="80s", replications=5, max_replications=30, cpu_s=130)
    metrics = (
        services.entered("gold", "gold", "rate into the network, first group"),
        services.entered("silver", "silver", "rate into the network, second group"),
        services.rate("gold", "goodput", "goodput of the first group"),
        services.best_effort("best", "best", "mean goodput of a best-effort flow"),
        Observable("marked", "share of marked packets, first group", "%", _marked_share),
        services.least_share(),
        Observable(
            "poorest",
            "lowest goodput of a flow of the first group",
            "Mbit/s",
            lambda r: min(map(_rate, r.goodputs_bps("gold"))),
        ),
        m.jain("gold"),
        m.utilisation(BOTTLENECK, label="utilisation"),
    )
    traces = {"probability": _probability}  # noqa: RUF012

    def points(self, profile: ProfileName) -> Iterable[Point]:
        """Return the points: one group with several targets and increments, and the other cases."""
        targets = (1, 2, 3, 4, 6, 8) if profile == "full" else (*BELOW, *ABOVE)
        steps = (0.001, 0.002, 0.005, 0.05, 0.2) if profile == "full" else (0.005, 0.05)
        return (
            grid(case=[ONE], target=targets, step=[STEP])
            + grid(case=[EACH], target=ABOVE, step=[STEP])
            + grid(case=[TWO], target=[3], step=[STEP])
            + grid(case=[OVER, DETECTED], target=[6], step=[STEP])
            + grid(case=[ONE], target=[4], step=steps)
            + grid(case=[UNDER_RIO], target=[4], step=[STEP])
        )

    def settings(self, point: Point, profile: ProfileName) -> Settings:
        """Return the settings of the two groups' engines, and of the discipline."""
        case = str(point["case"])
        more: dict[str, Value] = {"patience": "5s", "rest": "60s"} if case == DETECTED else {}

        def engine(target: float, per: str) -> Value:
            meter: dict[str, Value] = {
                "kind": "adaptive",
                "target": f"{target:g}Mbit/s",
                "increment": point["step"],
                **more,
            }
            return {"per": per, "meter": meter}

        target = float(point["target"])
        gold = engine(target / FLOWS, "flow") if case == EACH else engine(target, "group")
        settings: dict[str, Value] = {
            "flows[gold].marking": gold,
            "flows[silver].marking": engine(SILVER[case], "group") if case in SILVER else PLAIN,
            "run.sample": "500ms",
        }
        if case == DETECTED and profile == "quick":
            # Long enough for several periods of marking and of rest.
            settings["run.duration"] = "350s"
        if case == UNDER_RIO:
            settings[f"{PORT}.discipline"] = services.QUEUES[RIO]
        return settings

    def claims(self, results: Results) -> Iterable[Claim]:
        """Return the claims: targets are reached, marking stops if not needed, and no flow starves."""
        source = "Feng and others 1998, from a summary; network and parameters reconstructed"
        usual = results.where(step=STEP)
        one = usual.where(case=ONE)
        steps = results.where(case=ONE, target=4)
        two = usual.where(case=TWO)
        below: dict[str, Selector] = {"target": list(BELOW)}
        return [
            Claim(
                "P1",
                "One marking engine for a group of four connections brings the group within 5 % of targets of 4 and "
                "of 6 Mbit/s.",
                source,
                _reached(one, "gold", 4) & _reached(one, "gold", 6),
            ),
            Claim(
                "P2",
                "With one marking engine for each of four connections, their total rate is within 5 % of targets of 4 "
                "and of 6 Mbit/s.",
                source,
                _reached(usual.where(case=EACH), "gold", 4) & _reached(usual.where(case=EACH), "gold", 6),
            ),
            Claim(
                "P3",
                "Two groups with targets of 3 and 4 Mbit/s both reach them within 5 %.",
                source,
                two["gold"].within(0.95 * 3, 1.05 * 3) & two["silver"].within(0.95 * 4, 1.05 * 4),
            ),
            Claim(
                "P4",
                "A group whose share without marking is above its target marks less than 1 % of its packets.",
                source,
                one.where(**below)["marked"] < 1,
            ),
            Claim(
                "P5",
                "With targets of 14 Mbit/s in total, and engines that never turn marking off, a best-effort flow gets "
                "less than 5 % of an equal share.",
                "derived: enhanced RED drops unmarked packets first",
                usual.where(case=OVER)["least"] < 5,
            ),
            Claim(
                "P6",
                "With targets of 14 Mbit/s in total, and engines that detect over-subscription and turn marking off "
                f"for a minute, no flow gets less than {STARVED} % of an equal share.",
                source,
                usual.where(case=DETECTED)["least"] >= STARVED,
            ),
            Claim(
                "P7",
                "One marking engine brings a group within 5 % of a target of 4 Mbit/s with half and with five times "
                "the usual increment, and under RIO.",
                "not in the thesis: sensitivity",
                steps.where(step=[0.005, 0.05])["gold"].within(0.95 * 4, 1.05 * 4)
                & usual.where(case=UNDER_RIO)["gold"].within(0.95 * 4, 1.05 * 4),
            ),
            Claim.comparison(
                "P8",
                "Lowest goodput of a connection in a group of four with a common target of 4 Mbit/s.",
                "not in the thesis",
                one.where(target=4)["poorest"],
                "not judged: no source says how a group shares its target",
            ),
        ]

    def figures(self, results: Results) -> Iterable[Figure]:
        """Yield rate and share of marked packets against the target, and the probability over time."""
        usual = results.where(step=STEP)
        one, each = usual.where(case=ONE), usual.where(case=EACH)
        return [
            fig.compare(
                {
                    "one engine for the group": one["gold"],
                    "one engine for each flow": each["gold"],
                    "goodput, one engine for the group": one["goodput"],
                },
                "reached",
                "Rate into the network and goodput of the group, against its target",
                "Four connections among sixteen share 10 Mbit/s; without marking the four get 2.5 Mbit/s.",
                x="target",
                claims=("P1", "P2"),
            ),
            fig.compare(
                {"one engine for the group": one["marked"], "one engine for each flow": each["marked"]},
                "marked",
                "Share of marked packets of the group, against its target",
                x="target",
                claims=("P4",),
            ),
            Figure(
                "probability",
                "Marking probability over time",
                "Left: two groups with targets of 3 and 4 Mbit/s, which they reach. Middle and right: targets of 6 "
                "and 8 Mbit/s, more than the link carries, without and with detection of over-subscription.",
                lambda: _draw(results),
                claims=("P3", "P5", "P6"),
            ),
        ]


def _reached(results: Results, name: str, target: float) -> Condition:
    """Return the condition that a group's rate is within 5 % of its target."""
    return results.where(target=target)[name].within(0.95 * target, 1.05 * target)


def _rate(bps: float) -> float:
    return 1e-6 * services.HEADERS * bps


def _draw(results: Results) -> Drawing:
    """Draw the probabilities of both engines, one panel per case."""
    from tailback.plotting import plot

    drawn = plot.new(3, width=3.2, height=2.8, sharey=True)
    for axes, (case, target) in zip(drawn.axes, ((TWO, 3), (OVER, 6), (DETECTED, 6)), strict=True):
        times, shown = cast("Trace", results.trace("probability", case=case, target=target, step=STEP))
        for index, (name, values) in enumerate(shown.items()):
            label = f"{name}, {target if name == 'gold' else SILVER[case]:g} Mbit/s"
            axes.plot(times[-len(values) :], values, color=plot.COLOURS[index], linewidth=1.0, label=label)
        with plot.style():
            plot.finish(axes, title=case, x="time (s)", y="marking probability" if case == TWO else "")
        axes.set_ylim(0, 1.05)
        axes.legend(loc="lower right", fontsize=8)
    return drawn
