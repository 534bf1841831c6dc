"""internet-e20, packet marking in the sender: flows with and without a target share the remaining capacity equally."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, cast

from tailback.gallery.internet.shared import services
from tailback.gallery.internet.shared.dumbbell import BOTTLENECK, Trace
from tailback.gallery.internet.shared.services import coloured
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

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

INTEGRATED, TRANSPARENT, BLIND = "in the sender", "outside", "in the sender, never off"
MIXED, LOW, OVER = "1.5, 2 and 2.5", "0.3 each", "4, 5 and 6"
TARGETS: dict[str, tuple[float, float, float]] = {MIXED: (1.5, 2, 2.5), LOW: (0.3, 0.3, 0.3), OVER: (4, 5, 6)}
"""Targets of the three flows, Mbit/s, headers included; without marking each of nine flows gets 1.1."""
# The three flows with targets, from the lowest target to the highest.
NAMES = ("low", "middle", "high")
FEW, MANY = 6, 12
"""Numbers of best-effort flows."""
STARVED = 20
"""Percent of an equal share below which a flow is starved.
 If senders never turn marking off, the poorest flow gets 12 %. """


def _marked_share(report: Report) -> float:
    """Return the share of marked packets in the packets delivered to the three flows with targets, %."""
    marked = sum(coloured(report, "green", name) for name in NAMES)
    plain = sum(coloured(report, "yellow", name) for name in NAMES)
    return 100 * marked / (marked + plain)


def _windows(report: Report) -> Trace:
    """Return times in s and the windows of the flow with the highest target, in segments, by name."""
    series = report.data["series"]
    assert series is not None, "the point sets no run.sample"
    return series["time_s"], series["transports"]["high"]


class IntegratedMarking(Experiment):
    """Three flows with targets among flows without, marked by their senders or by engines in the network."""

    id = "internet-e20"
    title = "Packet marking in the sender"
    reference = "Feng, thesis defence (1999), part Differentiated services; Feng and others, ICNP 1998"
    axes = (
        Axis("engine", "marking engine"),
        Axis("targets", "targets (Mbit/s)"),
        Axis("others", "best-effort flows"),
        Axis("window", "window of the rate estimate", "ms"),
    )
    quick = Profile(duration="150s", warmup="50s", replications=4, max_replications=16, cpu_s=18)
    full = Profile(duration="840s", warmup="40s", replications=5, max_replications=30, cpu_s=110)
    metrics = (
        *(services.entered(name, name, f"rate into the network, {name} target") for name in NAMES),
        *(services.unmarked_rate(name, f"{name}_unmarked", f"unmarked rate, {name} target") for name in NAMES),
        *(services.green_rate(name, f"{name}_marked", f"marked rate, {name} target") for name in NAMES),
        services.unmarked_rate("best", "best", "mean rate of a best-effort flow"),
        Observable("marked", "share of marked packets, flows with a target", "%", _marked_share),
        services.least_share(),
        m.utilisation(BOTTLENECK, label="utilisation"),
    )
    traces = {"windows": _windows}  # noqa: RUF012

    def points(self, profile: ProfileName) -> Iterable[Point]:
        """Return the points: both engines, each set of targets, numbers of other flows, windows of the estimate."""
        windows = (100, 1000)
        both = (INTEGRATED, TRANSPARENT)
        return (
            grid(engine=both, targets=[MIXED], others=[FEW], window=[300])
            + grid(engine=[INTEGRATED], targets=[LOW], others=[FEW], window=[300])
            + grid(engine=[INTEGRATED, BLIND], targets=[OVER], others=[FEW], window=[300])
            + grid(engine=both if profile == "full" else [INTEGRATED], targets=[MIXED], others=[MANY], window=[300])
            + grid(engine=both if profile == "full" else [INTEGRATED], targets=[MIXED], others=[FEW], window=windows)
        )

    def settings(self, point: Point, profile: ProfileName) -> Settings:
        """Return the settings of each flow's marking, and of the number of best-effort flows."""
        settings: dict[str, Value] = {"flows[best].count": point["others"], "run.sample": "200ms"}
        if point["targets"] == OVER and point["engine"] != BLIND and profile == "quick":
            # Long enough for several periods of marking and of rest.
            settings["run.duration"] = "300s"
        window = f"{point['window']}ms"
        for name, target in zip(NAMES, TARGETS[str(point["targets"])], strict=True):
            control: dict[str, Value] = {"kind": "reno"}
            if point["engine"] == TRANSPARENT:
                meter: Value = {"kind": "adaptive", "target": f"{target:g}Mbit/s", "window": window}
                settings[f"flows[{name}].marking"] = {"meter": meter}
            else:
                control = {"kind": "packet-marking", "target": f"{target:g}Mbit/s", "window": window}
                if point["engine"] == BLIND:
                    control["strikes"] = 1000
            settings[f"flows[{name}].transport.congestion-control"] = control
        return settings

    def claims(self, results: Results) -> Iterable[Claim]:
        """Return the claims: targets are reached, and unmarked rates are equal if the sender marks."""
        source = "Feng and others 1998, from a summary; network and parameters reconstructed"
        usual = results.where(others=FEW, window=300)
        inside = usual.where(engine=INTEGRATED, targets=MIXED)
        outside = usual.where(engine=TRANSPARENT, targets=MIXED)

        def reached(chosen: Results) -> Condition:
            low, middle, high = (
                chosen[name].within(0.95 * target, 1.05 * target)
                for name, target in zip(NAMES, TARGETS[MIXED], strict=True)
            )
            return low & middle & high

        def equal(chosen: Results) -> Condition:
            low, middle, high = (chosen[f"{name}_unmarked"].close_to(chosen["best"], relative=0.15) for name in NAMES)
            return low & middle & high

        more = [inside[f"{name}_unmarked"] > outside[f"{name}_unmarked"] for name in NAMES]
        return [
            Claim(
                "I1",
                "If the sender marks, flows with targets of 1.5, 2 and 2.5 Mbit/s reach them within 5 %.",
                source,
                reached(inside),
            ),
            Claim(
                "I2",
                "If an engine outside the host marks, flows with targets of 1.5, 2 and 2.5 Mbit/s reach them within 5 "
                "%.",
                source,
                reached(outside),
            ),
            Claim(
                "I3",
                "If the sender marks, the unmarked rate of each flow with a target is within 15 % of that of a flow "
                "without one.",
                source,
                equal(inside),
            ),
            Claim(
                "I4",
                "If an engine outside the host marks, the unmarked rate of each flow with a target is lower than if "
                "the sender marks, so that more of its packets are marked.",
                source,
                more[0] & more[1] & more[2],
            ),
            Claim(
                "I5",
                "Flows whose share without marking is above their target mark less than 1 % of their packets.",
                source,
                usual.where(targets=LOW)["marked"] < 1,
            ),
            Claim(
                "I6",
                "With targets of 15 Mbit/s in total, the lowest goodput of a flow is higher if senders turn marking "
                "off when targets are out of reach than if they never do.",
                source,
                usual.where(engine=INTEGRATED, targets=OVER)["least"]
                > usual.where(engine=BLIND, targets=OVER)["least"],
            ),
            Claim.calibrated(
                "I6-starved",
                "With targets of 15 Mbit/s in total, and senders that turn marking off when targets are out of reach, "
                f"no flow gets less than {STARVED} % of an equal share.",
                "reconstructed: no flow starves",
                usual.where(engine=INTEGRATED, targets=OVER)["least"] >= STARVED,
                f"{STARVED} % was chosen after both results had been seen, above the 12 % of the poorest flow where "
                "senders never turn marking off",
            ),
            Claim.comparison(
                "I7",
                "Lowest goodput of a flow, relative to an equal share, with targets of 15 Mbit/s in total and senders "
                "that never turn marking off.",
                "not in the thesis",
                usual.where(engine=BLIND, targets=OVER)["least"],
                "not judged; it shows the benefit of detecting over-subscription",
            ),
            Claim(
                "I8",
                "If the sender marks and estimates its rate over 1 s instead of 300 ms, flows with targets of 1.5, 2 "
                "and 2.5 Mbit/s reach them within 5 %.",
                "not in the thesis: sensitivity",
                reached(results.where(engine=INTEGRATED, targets=MIXED, others=FEW, window=1000)),
            ),
            Claim.comparison(
                "I10",
                "Rate into the network of the flow with a target of 2 Mbit/s, if the sender estimates its rate over "
                "100 ms.",
                "not in the thesis: sensitivity",
                results.where(engine=INTEGRATED, targets=MIXED, others=FEW, window=100)["middle"],
                "an estimate over one round trip mistakes bursts for the rate, and marking stops too early: see the "
                "page",
            ),
            Claim.comparison(
                "I9",
                "Unmarked rate of the flow with a target of 2 Mbit/s, among twelve best-effort flows.",
                "not in the thesis: sensitivity",
                results.where(engine=INTEGRATED, targets=MIXED, others=MANY)["middle_unmarked"],
                "small best-effort windows need timeouts to repair losses, larger ones do not: see the page",
            ),
        ]

    def figures(self, results: Results) -> Iterable[Figure]:
        """Yield marked and unmarked rate of each flow; the unmarked rate by number of others; the two windows."""
        return [
            Figure(
                "parts",
                "Delivered rate of each flow with a target, marked and unmarked",
                "Black lines: the targets. Dashed: mean rate of a flow without a target.",
                lambda: _draw_parts(results),
                claims=("I1", "I2", "I3", "I4"),
            ),
            fig.compare(
                {
                    engine: results.where(engine=engine, targets=MIXED, window=300)["middle_unmarked"]
                    for engine in (INTEGRATED, TRANSPARENT)
                }
                | {"a flow without a target": results.where(engine=INTEGRATED, targets=MIXED, window=300)["best"]},
                "unmarked",
                "Unmarked rate of the flow with a target of 2 Mbit/s",
                x="others",
                claims=("I3", "I9"),
            ),
            Figure(
                "windows",
                "Marked and best-effort window of the flow with the highest target",
                "The sender marks. The loss of an unmarked segment halves the best-effort window only.",
                lambda: _draw_windows(results),
                claims=("I1",),
            ),
        ]


def _draw_parts(results: Results) -> Drawing:
    """Draw the marked and unmarked rate of each flow as stacked bars, one panel per engine."""
    from tailback.plotting import plot

    drawn = plot.new(2, width=3.8, height=3.2, sharey=True)
    for axes, engine in zip(drawn.axes, (INTEGRATED, TRANSPARENT), strict=True):
        chosen = results.where(engine=engine, targets=MIXED, others=FEW, window=300)
        for place, (name, target) in enumerate(zip(NAMES, TARGETS[MIXED], strict=True)):
            unmarked = _mean(chosen, f"{name}_unmarked")
            marked = _mean(chosen, f"{name}_marked")
            first = place == 0
            axes.bar(place, unmarked, color=plot.COLOURS[1], width=0.6, label="unmarked" if first else None)
            axes.bar(
                place, marked, bottom=unmarked, color=plot.COLOURS[0], width=0.6, label="marked" if first else None
            )
            axes.plot([place - 0.4, place + 0.4], [target, target], color="black", linewidth=1.2)
        axes.axhline(_mean(chosen, "best"), color="#666666", linewidth=0.9, linestyle="--")
        with plot.style():
            plot.finish(axes, title=engine, y="delivered (Mbit/s)" if engine == INTEGRATED else "")
        axes.set_xticks(range(3), [f"{target:g} Mbit/s" for target in TARGETS[MIXED]])
    drawn.axes[0].legend(loc="upper left", fontsize=8)
    return drawn


def _mean(results: Results, name: str) -> float:
    ((_, interval),) = results[name].intervals()
    return interval.mean


def _draw_windows(results: Results) -> Drawing:
    """Draw both windows over 40 s."""
    from tailback.plotting import plot

    drawn = plot.new(1, 1, width=7.2, height=2.8)
    (axes,) = drawn.axes
    trace = results.trace("windows", engine=INTEGRATED, targets=MIXED, others=FEW, window=300)
    times, shown = cast("Trace", trace)
    chosen = [index for index, at in enumerate(times) if 80 <= at <= 120]
    names = (("marked_window_segments", "marked"), ("best_effort_window_segments", "best effort"))
    for index, (name, label) in enumerate(names):
        values = [shown[name][at] for at in chosen]
        axes.plot([times[at] for at in chosen], values, color=plot.COLOURS[index], linewidth=1.0, label=label)
    with plot.style():
        plot.finish(axes, x="time (s)", y="window (segments)")
    axes.legend(loc="upper right", fontsize=8)
    return drawn
