"""edge-slm: targets for every class, checked each second at several loads, and forecasts of their violation."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, cast

from tailback import service_levels
from tailback.gallery.edge.shared import customer_edge as ce
from tailback.plotting import experiment as fig
from tailback.results import observables as m
from tailback.results.report import Report
from tailback.service_levels import Target
from tailback.study.experiment import (
    Axis,
    AxisValue,
    Claim,
    Condition,
    Figure,
    Observable,
    Point,
    Profile,
    ProfileName,
    Results,
    Settings,
    grid,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

FIFO, WRED = "i FIFO", "v WRED"
LOADS = (0, 15, 30, 45, 60, 80, 100)
"""Supplementary traffic, % of Table 1."""
NEAR = 5
"""Half-width of the range around a forecast in which no claim is made, because intervals differ; percentage points."""
TARGETS = {
    "EF": Target("ef", delay_s=0.01, loss=0.001, jitter_s=0.001),
    "AF41": Target("af41", delay_s=0.02, loss=0.001, jitter_s=0.005),
    "AF3x": Target("af31", delay_s=0.05, loss=0.01),
    "AF2x": Target("af21", delay_s=0.05, loss=0.05),
    "AF1x": Target("af11", delay_s=0.05, loss=0.001),
}
"""Targets by class; each is checked for one group of the class's flows."""


# Observable of the share of intervals in which a class keeps its targets, %.
def _compliance(name: str) -> Observable:
    def value(report: Report) -> float:
        (found,) = service_levels.check(report, [TARGETS[name]])
        return 100 * found.compliance

    return Observable(f"compliance_{name}", f"compliance of {name}", "%", value)


def forecast(name: str, *, planned: bool) -> float | None:
    """Return the supplementary traffic in % of Table 1 at which a class's loss in the fluid model exceeds its target.

    With `planned` the model is that of configuration v, else that of FIFO (configuration i). `None`: the loss does not
    exceed the target up to 200 %. Raises KeyError for an unknown class.
    """
    limit = TARGETS[name].loss
    assert limit is not None

    def loss(extra: float) -> float:
        if planned:
            return ce.fluid_losses(extra / 100)[name] / 100
        total = sum(ce.offered(group, extra / 100) for group in ce.GROUPS)
        return max(0.0, 1 - ce.LINK / total)

    return service_levels.break_point(loss, limit, 0.0, 200.0)


def _intervals(report: Report) -> dict[str, list[tuple[float, float]]]:
    """Return, for each class, the beginning of each interval, s, and the loss in it, %."""
    return {
        name: [(one.start_s, 100 * one.loss) for one in service_levels.observe(report, target.group)]
        for name, target in TARGETS.items()
    }


class ServiceLevels(ce.AtTheEdge):
    """Share of seconds in which each class keeps its targets, over the load."""

    id = "edge-slm"
    title = "Service level management"
    reference = "Mitroi and Stroescu, section 5, and their reference 17"
    axes = (Axis("configuration", "configuration"), Axis("extra", "supplementary traffic", "%"))
    quick = Profile(duration="22s", warmup="2s", replications=3, max_replications=9, cpu_s=8)
    full = Profile(duration="122s", warmup="2s", replications=5, max_replications=30, cpu_s=90)
    metrics = (
        *(_compliance(name) for name in TARGETS),
        m.loss("af2[123]", "loss_AF2x", "loss of AF2x"),
        m.mos("ef", "mos", "MOS of voice, G.711", codec="g.711-plc"),
        m.video_score("af41", "video", "score of video, G.1070"),
    )
    traces = {"intervals": _intervals}  # noqa: RUF012

    def points(self, profile: ProfileName) -> Iterable[Point]:
        """Return the points: configurations i and v with each load."""
        del profile
        return grid(configuration=[FIFO, WRED], extra=LOADS)

    def settings(self, point: Point, profile: ProfileName) -> Settings:
        """Return the settings of policy, load, and intervals of one second."""
        del profile
        made = ce.sources(float(point["extra"]) / 100) | {"run.sample": "1s"}
        if point["configuration"] == FIFO:
            return ce.drop_tail() | made
        return ce.policy(low_latency=True, inside=ce.wred_inside()) | made

    def claims(self, results: Results) -> Iterable[Claim]:
        """Return the claims: targets are kept below the forecast and missed above it; scores of voice and video."""
        fifo, planned = results.where(configuration=FIFO), results.where(configuration=WRED)
        return [
            *(
                Claim(
                    f"S1-{number}",
                    _sentence(name, WRED, planned=True),
                    "derived: the fluid model of the policy",
                    _breaks(planned, name, forecast(name, planned=True)),
                )
                for number, name in enumerate(TARGETS, start=1)
            ),
            *(
                Claim(
                    f"S2-{number}",
                    _sentence(name, FIFO, planned=False),
                    "derived: with FIFO all classes lose the same share, the excess over the link's rate",
                    _breaks(fifo, name, forecast(name, planned=False)),
                )
                for number, name in enumerate(TARGETS, start=1)
            ),
            Claim(
                "S3",
                "With WRED (v) voice has a MOS of 4 or more and video a score of 4 or more at every load.",
                "section 5; G.107 and G.1070",
                (planned["mos"] >= 4.0) & (planned["video"] >= 4.0),
            ),
            Claim(
                "S4",
                "With FIFO (i) and 100 % of the supplementary traffic voice has a MOS below 3 and video a score below "
                "2.",
                "section 4; G.107 and G.1070",
                (fifo.where(extra=100)["mos"] < 3) & (fifo.where(extra=100)["video"] < 2),
            ),
        ]

    def figures(self, results: Results) -> Iterable[Figure]:
        """Yield compliance and scores against the load, and the loss in each second of two runs."""
        for name, key in ((FIFO, "fifo"), (WRED, "wred")):
            yield fig.compare(
                {c: results.where(configuration=name)[f"compliance_{c}"] for c in TARGETS},
                f"compliance-{key}",
                f"Share of intervals in which a class keeps its targets, {name}",
                "Intervals of one second. Claims S1 and S2 have the forecasts.",
                x="extra",
                y="compliance",
                claims=("S1-3", "S1-4") if name == WRED else ("S2-1", "S2-4"),
            )
        for metric, title in (("mos", "MOS of voice"), ("video", "Score of video")):
            yield fig.compare(
                {name: results.where(configuration=name)[metric] for name in (FIFO, WRED)},
                metric,
                f"{title} against the supplementary traffic",
                x="extra",
                claims=("S3", "S4"),
            )
        yield Figure(
            "intervals",
            "Loss in each second with v WRED, with 30 and 60 % of the supplementary traffic",
            "First replication. Dashed: the targets of AF2x (5 %) and AF3x (1 %).",
            lambda: _draw(
                {
                    f"{extra} %": cast(
                        "dict[str, list[tuple[float, float]]]",
                        results.trace("intervals", configuration=WRED, extra=extra),
                    )
                    for extra in (30, 60)
                }
            ),
            claims=("S1-3", "S1-4"),
        )


def _sentence(name: str, configuration: str, *, planned: bool) -> str:
    at = forecast(name, planned=planned)
    if at is None:
        return (
            f"With {configuration} the targets of {name}, which are forecast to be kept at every load, are kept in "
            "95 % of the intervals or more."
        )
    return (
        f"With {configuration} the targets of {name}, whose loss is forecast to exceed its target at {at:.0f} % of the "
        f"supplementary traffic, are kept in 95 % of the intervals or more at loads more than {NEAR} percentage points "
        "below, and in 5 % or less at loads more than that above."
    )


def _breaks(results: Results, name: str, at: float | None) -> Condition:
    """Return the condition that 95 % or more of the intervals comply below the forecast `at`, and 5 % or less above.

    Loads within `NEAR` of the forecast are left out. `None`: all loads are below the forecast.
    """
    quantity = results[f"compliance_{name}"]
    below: list[AxisValue] = [extra for extra in LOADS if at is None or extra < at - NEAR]
    above: list[AxisValue] = [extra for extra in LOADS if at is not None and extra > at + NEAR]
    found = [quantity.where(extra=below) >= 95] if below else []
    found += [quantity.where(extra=above) <= 5] if above else []
    first, *rest = found
    for condition in rest:
        first &= condition
    return first


def _draw(runs: dict[str, dict[str, list[tuple[float, float]]]]) -> Drawing:
    from tailback.plotting import plot

    figure = plot.new(len(runs), sharey=True, width=4.6, height=3.2)
    for index, (axes, (load, classes)) in enumerate(zip(figure.axes, runs.items(), strict=True)):
        with plot.style():
            for number, (name, values) in enumerate(classes.items()):
                colour = plot.COLOURS[number]
                axes.step(
                    [at for at, _ in values], [loss for _, loss in values], where="post", label=name, color=colour
                )
                if (limit := TARGETS[name].loss) is not None and name in ("AF2x", "AF3x"):
                    axes.axhline(100 * limit, color=colour, linestyle="--", linewidth=0.9)
            plot.finish(axes, title=f"{load} of the supplementary traffic", x="time (s)", y="" if index else "loss (%)")
            legend = axes.get_legend()
            if legend is not None and index < len(runs) - 1:
                legend.remove()
            elif legend is not None:
                axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return figure
