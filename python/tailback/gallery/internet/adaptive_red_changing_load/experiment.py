"""internet-e07, Adaptive RED: a load that changes between 8 and 32 sources, and a max_p that is fixed or adapts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from statistics import fmean
from typing import TYPE_CHECKING, cast

from tailback.gallery.internet.shared import dumbbell
from tailback.gallery.internet.shared.dumbbell import BOTTLENECK, Trace
from tailback.results import observables as m
from tailback.results.intervals import Interval
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
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

# Buffer, and RED's minimum and maximum threshold.
BUFFER_KB, MIN_KB, MAX_KB = 100, 20.0, 80.0
PERIOD_S = 20
"""Length of a phase: 8 sources from 0 s, 32 from 20 s, 8 from 40 s, and so on."""
SETTLED_S = 5
"""Time at the beginning of each phase that is not measured, s."""
# Divisor and factor of a change of max_p.
DECREASE, INCREASE = 3.0, 2.0
AGGRESSIVE, CONSERVATIVE, ADAPTIVE = "aggressive", "conservative", "adaptive"
FLOYD = "Floyd 2001"
FREEZE_S = (1, 2, 5, 10)
"""Minimum time between changes of max_p, s: the "freeze" of the slide, which gives no value. `ADAPTIVE` has none."""
HELD = {seconds: f"adaptive, freeze {seconds} s" for seconds in FREEZE_S}
# The three settings of the slides.
SHOWN = (AGGRESSIVE, CONSERVATIVE, ADAPTIVE)
# Initial max_p and the table `adaptive` of RED, by setting; `None`: max_p is constant.
DETECTION: dict[str, tuple[float, dict[str, Value] | None]] = {
    AGGRESSIVE: (0.25, None),
    CONSERVATIVE: (0.016, None),
    ADAPTIVE: (0.1, {"kind": "feng", "alpha": DECREASE, "beta": INCREASE}),
    **{
        name: (0.1, {"kind": "feng", "alpha": DECREASE, "beta": INCREASE, "freeze": f"{seconds}s"})
        for seconds, name in HELD.items()
    },
    FLOYD: (0.1, {"kind": "floyd"}),
}


def _settled(report: Report, many: bool) -> Iterator[int]:
    """Yield the indices of the samples after the warm-up and after the first `SETTLED_S` of their phase.

    With `many` the phases are those of 32 sources, otherwise those of 8.
    """
    times, _ = dumbbell.sampled(report)
    for index in dumbbell.measured(report):
        phase, since = divmod(times[index], PERIOD_S)
        if (phase % 2 == 1) == many and since >= SETTLED_S:
            yield index


def _in_phase(
    name: str, label: str, unit: str, many: bool, value: Callable[[Report], Sequence[float] | None]
) -> Observable:
    """Return the observable of the mean of a time series over all phases of 32 (`many`) or of 8 sources."""

    def measure(report: Report) -> float:
        values = value(report)
        return float("nan") if values is None else fmean(values[index] for index in _settled(report, many))

    return Observable(f"{name}_{32 if many else 8}", f"{label} with {32 if many else 8} sources", unit, measure)


def _queue_kb(report: Report) -> list[float]:
    return [1e-3 * size for size in dumbbell.sampled(report)[1]["queue_bytes"]]


def _max_p(report: Report) -> list[float]:
    return dumbbell.sampled(report)[1]["state"]["max_probability"]


def _odd_steps(report: Report) -> tuple[int, int]:
    """Return the number of changes of max_p that are not up to two doublings and two divisions by 3, and of all.

    Between two samples max_p may change more than once.
    """
    factors = [INCREASE**up / DECREASE**down for up in range(3) for down in range(3)]
    ratios = [after / before for before, after in dumbbell.changes(_max_p(report))]
    odd = [ratio for ratio in ratios if not any(abs(ratio / factor - 1) < 1e-9 for factor in factors)]
    return len(odd), len(ratios)


class AdaptiveRed(Experiment):
    """8 sources, and 24 more in every second phase of 20 s."""

    id = "internet-e07"
    title = "Adaptive RED under a changing load"
    reference = "Feng, thesis defence (1999), slides Adaptive RED, Evaluation, Static Early Detection, Adaptive RED"
    axes = (Axis("detection", "early detection"),)
    quick = Profile(duration="180s", warmup="20s", replications=4, max_replications=24, cpu_s=25)
    full = Profile(duration="420s", warmup="20s", replications=10, max_replications=60, cpu_s=120)
    metrics = (
        m.port_loss(BOTTLENECK),
        m.utilisation(BOTTLENECK, label="utilisation"),
        _in_phase("queue", "mean queue", "kB", False, _queue_kb),
        _in_phase("queue", "mean queue", "kB", True, _queue_kb),
        _in_phase("max_p", "mean max_p", "", False, _max_p),
        _in_phase("max_p", "mean max_p", "", True, _max_p),
        Observable(
            "odd_steps",
            "changes of max_p by factors other than 2 and 1/3",
            "",
            lambda r: float(_odd_steps(r)[0]),
            _odd_steps,
        ),
        Observable("steps", "changes of max_p", "", lambda r: float(_odd_steps(r)[1])),
    )
    traces = {"queue": lambda report: dumbbell.trace(report, stop=180.0)}  # noqa: RUF012

    def points(self, profile: ProfileName) -> Iterable[Point]:
        """Return the points: the slides' three settings, the adaptive one with a freeze, and Floyd's Adaptive RED."""
        del profile
        return [Point(detection=name) for name in DETECTION]

    def settings(self, point: Point, profile: ProfileName) -> Settings:
        """Return the settings of max_p, of its adaptation, and of the changes of the load until the end of the run."""
        end = int(self.profile(profile).duration.removesuffix("s"))
        max_p, adaptive = DETECTION[str(point["detection"])]
        return {
            **dumbbell.red(BUFFER_KB, max_p, ecn=True, adaptive=adaptive),
            "timeline": [
                {"at": f"{at}s", "flow": "more", "state": "stop" if index % 2 == 0 else "start"}
                for index, at in enumerate(range(2 * PERIOD_S, end, PERIOD_S))
            ],
        }

    def claims(self, results: Results) -> Iterable[Claim]:
        """Return the claims: neither static setting suits both loads; the adaptive one does."""
        aggressive, conservative, adaptive = (results.where(detection=name) for name in SHOWN)
        slide = "slides Evaluation, Static Early Detection and Adaptive RED"
        return [
            Claim(
                "C1",
                "Adaptive RED loses at most 0.3 times what conservative detection loses.",
                f"{slide}; the factor from ns-2.35: 0.195 % (adaptive), 3.89 % (conservative)",
                adaptive["loss"] <= 0.3 * conservative["loss"],
                headline="Adaptive RED follows a load of 8 to 32 sources",
            ),
            Claim(
                "C2",
                "With 8 sources the mean queue of Adaptive RED is longer than that of aggressive detection.",
                f"{slide}; ns-2.35: 32 packets (adaptive), 25 (aggressive)",
                adaptive["queue_8"] > aggressive["queue_8"],
            ),
            Claim(
                "C3",
                "Adaptive RED uses the link as well as either static setting, within 0.5 percentage points.",
                f"{slide}; the tolerance reconstructed",
                (adaptive["utilisation"] - aggressive["utilisation"] >= -0.5)
                & (adaptive["utilisation"] - conservative["utilisation"] >= -0.5),
            ),
            Claim(
                "C4",
                "The mean of Adaptive RED's max_p is larger with 32 sources than with 8.",
                "slide Adaptive RED, max_p; ns-2.35: 0.114 to 0.171 with 32 sources, 0.057 to 0.114 with 8",
                adaptive["max_p_32"] > adaptive["max_p_8"],
            ),
            Claim(
                "C5",
                "Adaptive RED's max_p changes by factors of 2 upwards and 3 downwards only, with any freeze.",
                "slide Adaptive RED; the factors from ns-2.35 (feng_adaptive_)",
                results.where(detection=[ADAPTIVE, *HELD.values()])["odd_steps"].is_zero("changes of max_p"),
            ),
            Claim(
                "C6",
                "Conservative detection's mean queue with 32 sources is within 10 % of max_th; aggressive detection's "
                "with 8 sources is near min_th, below 32 kB.",
                "slide Static Early Detection; the bounds reconstructed, as in internet-e05",
                conservative["queue_32"].within(0.9 * MAX_KB, 1.1 * MAX_KB)
                & (aggressive["queue_8"] < MIN_KB + 0.2 * (MAX_KB - MIN_KB)),
            ),
            *(
                Claim.unasserted(
                    f"C1-{seconds}s",
                    f"With a freeze of {seconds} s Adaptive RED loses at most 0.3 times what conservative detection "
                    "loses, and uses the link as well as either static setting, within 0.5 percentage points.",
                    'slide Adaptive RED: "Freeze max_p after changes", without a time; sensitivity to the time',
                    (results.where(detection=name)["loss"] <= 0.3 * conservative["loss"])
                    & (results.where(detection=name)["utilisation"] - aggressive["utilisation"] >= -0.5)
                    & (results.where(detection=name)["utilisation"] - conservative["utilisation"] >= -0.5),
                    "the load changes every 20 s, and with a long freeze max_p follows late",
                )
                for seconds, name in HELD.items()
            ),
            Claim.comparison(
                "C7",
                "Loss with Floyd's Adaptive RED of 2001 under the same load.",
                "S. Floyd, R. Gummadi and S. Shenker, 2001",
                results.where(detection=FLOYD)["loss"],
                "later than the slides; it raises max_p by at most 0.01 every 0.5 s, so that it lags behind each step "
                "of the load",
            ),
        ]

    def figures(self, results: Results) -> Iterable[Figure]:
        """Yield the queue over time under three settings; max_p over time; loss, utilisation and mean queue of all."""
        kept = {name: cast(Trace, results.trace("queue", detection=name)) for name in DETECTION}
        levels = {"min_th": MIN_KB, "max_th": MAX_KB, "buffer": BUFFER_KB}
        yield Figure(
            "queues",
            "Queue while the load changes between 8 and 32 sources",
            "First replication. Grey background: 32 sources, else 8. Thin: the queue; thick: RED's average queue.",
            lambda: _shaded(dumbbell.draw_queues({name: kept[name] for name in SHOWN}, levels)),
            claims=("C2", "C6"),
        )
        yield Figure(
            "max-p",
            "max_p over time while the load changes between 8 and 32 sources",
            "First replication. Dashed: max_p of the two static settings. Grey background: 32 sources, else 8.",
            lambda: _draw_max_p({name: kept[name] for name in (ADAPTIVE, HELD[5], FLOYD)}),
            claims=("C4", "C5"),
        )
        yield Figure(
            "phases",
            "Loss, utilisation and mean queue of each setting",
            "Mean queues leave out the first 5 s of each phase of 8 or 32 sources.",
            lambda: _bars(results),
            claims=("C1", "C2", "C3"),
        )


def _shaded(figure: Drawing) -> Drawing:
    for axes in figure.axes:
        end = axes.get_xlim()[1]
        for start in range(PERIOD_S, int(end), 2 * PERIOD_S):
            axes.axvspan(start, min(start + PERIOD_S, end), color="#eeeeee", zorder=0)
    return figure


def _draw_max_p(lines: dict[str, Trace]) -> Drawing:
    from tailback.plotting import plot

    figure = plot.new(width=8.0, height=3.6)
    (axes,) = figure.axes
    with plot.style():
        for index, (name, (times, series)) in enumerate(lines.items()):
            axes.step(times, series["max_p"], where="post", color=plot.COLOURS[index], label=name)
            axes.set_xlim(times[0], times[-1])
        for static in (0.25, 0.016):
            axes.axhline(static, color="#666666", linestyle="--", linewidth=0.9)
        plot.finish(axes, x="time (s)", y="max_p", y_scale="log", from_zero=False)
        axes.set_ylim(0.01, 0.5)
        axes.minorticks_off()
        axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return _shaded(figure)


def _top(interval: Interval, metric: str) -> float:
    """Return the interval's upper end; a utilisation is at most 100 %."""
    return min(interval.hi, 100.0) if metric == "utilisation" else interval.hi


def _bars(results: Results) -> Drawing:
    from tailback.plotting import plot

    figure = plot.new(3, width=4.0, height=3.4)
    names = list(DETECTION)
    panels = (
        (("loss",), "packet loss (%)"),
        (("utilisation",), "utilisation (%)"),
        (("queue_8", "queue_32"), "mean queue (kB)"),
    )
    for axes, (metrics, label) in zip(figure.axes, panels, strict=True):
        with plot.style():
            for index, metric in enumerate(metrics):
                intervals = [next(i for _, i in results.where(detection=name)[metric].intervals()) for name in names]
                places = [row + 0.12 * (2 * index - len(metrics) + 1) for row in range(len(names))]
                axes.errorbar(
                    [i.mean for i in intervals],
                    places,
                    xerr=[[i.mean - i.lo for i in intervals], [_top(i, metric) - i.mean for i in intervals]],
                    fmt="os"[index],
                    color=plot.COLOURS[index],
                    label=metric.replace("queue_", "") + " sources" if len(metrics) > 1 else None,
                )
            axes.set_yticks(range(len(names)), names if axes is figure.axes[0] else [""] * len(names))
            axes.set_ylim(len(names) - 0.5, -0.5)
            axes.set_xlabel(label)
            if metrics != ("utilisation",):
                axes.set_xlim(left=0)
            if len(metrics) > 1:
                axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return figure
