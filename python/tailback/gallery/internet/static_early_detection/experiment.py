"""internet-e05: static early detection with an aggressive and a conservative max_p, for 8 and 32 sources with ECN."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, cast

from tailback.gallery.internet.shared import dumbbell
from tailback.gallery.internet.shared.dumbbell import BOTTLENECK, Trace
from tailback.gallery.internet.static_early_detection.equilibrium import MAX_KB, MIN_KB, marked, needed, resting_queue
from tailback.results import observables as m
from tailback.results.report import Report
from tailback.study.experiment import (
    Axis,
    Claim,
    Condition,
    Experiment,
    Figure,
    Observable,
    Point,
    Profile,
    ProfileName,
    Quantity,
    Results,
    Settings,
    grid,
)
from tailback.study.experiment.claims import Check

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

BUFFER_KB = 100
AGGRESSIVE, CONSERVATIVE = 0.25, 0.016
WORDS = {AGGRESSIVE: "aggressive", CONSERVATIVE: "conservative"}
FEW, MANY = 8, 32
# One-way delays of the bottleneck link, ms: the usual path and the longer one.
SHORT_MS, LONG_MS = 10, 50
# The slides' four panels: max_p and number of sources.
CASES = ((AGGRESSIVE, FEW), (AGGRESSIVE, MANY), (CONSERVATIVE, FEW), (CONSERVATIVE, MANY))
# Start and end of the figure "red-example", s.
CLOSE_UP_S = (40.0, 50.0)


def _lossy_seconds(report: Report) -> float:
    """Return the share of the measured seconds in which the bottleneck dropped packets, %."""
    times, port = dumbbell.sampled(report)
    by_second: dict[int, list[int]] = {}
    for at, dropped in zip(times, port["dropped_packets"], strict=True):
        if at >= report.data["warmup_s"]:
            by_second.setdefault(int(at), []).append(dropped)
    lossy = [counts[-1] > counts[0] for counts in by_second.values()]
    return 100 * sum(lossy) / len(lossy)


def _signals(report: Report) -> float:
    """Return the share of the packets arriving at the bottleneck that were marked or dropped, %."""
    rows = [row for port in report.ports(BOTTLENECK) for row in port["classes"]]
    arrived = sum(row["arrived"]["packets"] for row in rows)
    return 100 * sum(row["marked_packets"] + row["dropped"]["packets"] for row in rows) / arrived


class StaticDetection(Experiment):
    """RED with ECN and a constant max_p under two loads."""

    id = "internet-e05"
    title = "Static early detection"
    reference = "Feng, thesis defence (1999), slides RED Experiments to Conservative Early Detection, and RED Example"
    axes = (
        Axis("delay", "one-way delay of the bottleneck link", "ms"),
        Axis("max_p", "max_p"),
        Axis("sources", "sources"),
    )
    quick = Profile(duration="120s", warmup="20s", replications=4, max_replications=24, cpu_s=20)
    full = Profile(duration="220s", warmup="20s", replications=10, max_replications=60, cpu_s=80)
    metrics = (
        m.port_loss(BOTTLENECK),
        m.utilisation(BOTTLENECK, label="utilisation"),
        m.mean_queue(BOTTLENECK, label="mean queue"),
        m.marks(BOTTLENECK),
        dumbbell.mean_average(),
        dumbbell.share_of_time("empty", "time with an empty queue", 0, 0),
        dumbbell.share_of_time(
            "between", "time with the average between the thresholds", MIN_KB, MAX_KB, of_average=True
        ),
        Observable("lossy", "share of seconds with loss", "%", _lossy_seconds),
        Observable("signals", "packets marked or dropped", "%", _signals),
    )
    traces = {"queue": lambda report: dumbbell.trace(report, stop=100.0)}  # noqa: RUF012

    def points(self, profile: ProfileName) -> Iterable[Point]:
        """Return the points: the slides' four cases, and those of 8 sources also on a longer path."""
        del profile
        return [
            *grid(delay=[SHORT_MS], max_p=[AGGRESSIVE, CONSERVATIVE], sources=[FEW, MANY]),
            *grid(delay=[LONG_MS], max_p=[AGGRESSIVE, CONSERVATIVE], sources=[FEW]),
        ]

    def settings(self, point: Point, profile: ProfileName) -> Settings:
        """Return the settings of max_p, of the number of sources, and of the delay of the bottleneck link."""
        del profile
        return {
            **dumbbell.red(BUFFER_KB, point["max_p"], ecn=True),
            "flows[tcp].count": point["sources"],
            "links[0].delay": f"{point['delay']}ms",
        }

    def claims(self, results: Results) -> Iterable[Claim]:
        """Return the claims on the slides' four panels, and on the causes: path, equilibrium and number of marks."""
        short, long = results.where(delay=SHORT_MS), results.where(delay=LONG_MS)
        aggressive, conservative = short.where(max_p=AGGRESSIVE), short.where(max_p=CONSERVATIVE)
        a8, a32 = aggressive.where(sources=FEW), aggressive.where(sources=MANY)
        c8, c32 = conservative.where(sources=FEW), conservative.where(sources=MANY)
        slide = "slides Aggressive and Conservative Early Detection"
        return [
            Claim(
                "C1",
                "With aggressive detection the mean queue of 8 sources is below min_th + 0.2 (max_th - min_th), and "
                "below that of 32 sources.",
                f"{slide}; the bound reconstructed",
                (a8["mean_queue"] < MIN_KB + 0.2 * (MAX_KB - MIN_KB)) & (a8["mean_queue"] < a32["mean_queue"]),
            ),
            Claim(
                "C2",
                "Aggressive detection suits 32 sources: loss is below 0.1 %, utilisation at least 99 %, and the "
                "average is between the thresholds for at least 99 % of the time.",
                f"{slide}; bounds reconstructed",
                (a32["loss"] < 0.1) & (a32["utilisation"] >= 99) & (a32["between"] >= 99),
            ),
            Claim(
                "C3",
                "Conservative detection suits 8 sources: loss is below 0.1 %, utilisation at least 99 %, and the "
                "average is between the thresholds for at least 99 % of the time.",
                f"{slide}; bounds reconstructed",
                (c8["loss"] < 0.1) & (c8["utilisation"] >= 99) & (c8["between"] >= 99),
            ),
            Claim(
                "C4",
                "Conservative detection does not suit 32 sources: more than 1 % is lost, and at least 5 times the loss "
                "with aggressive detection.",
                f"{slide}; the factor reconstructed. ns-2.35 loses 7.27 %",
                (c32["loss"] > 1) & (c32["loss"] >= 5 * a32["loss"]),
                headline="Conservative detection, 32 sources: continuous loss, even with ECN",
            ),
            Claim(
                "C5",
                "With conservative detection and 32 sources the average queue is within 10 % of max_th, and packets "
                "are lost in at least 90 % of all seconds.",
                f"{slide}: continuous loss; the bounds reconstructed",
                c32["average"].within(0.9 * MAX_KB, 1.1 * MAX_KB) & (c32["lossy"] >= 90),
            ),
            Claim(
                "C6",
                "On a path with 80 ms more round trip, the utilisation of 8 sources with aggressive detection is at "
                "least 2 percentage points below that with conservative detection.",
                "slide Aggressive Early Detection; the longer path reconstructed",
                long.where(max_p=CONSERVATIVE)["utilisation"] - long.where(max_p=AGGRESSIVE)["utilisation"] >= 2,
            ),
            Claim.calibrated(
                "C7",
                "The average queue is within 30 % of that at which RED marks the share of packets that the sources "
                "need, in all four cases.",
                "derived: the sources need 2 N²/(R C)² marks per packet",
                _near_rest(short["average"]),
                "the 30 % were chosen after the measurement: 15 to 50 % fewer marks than the fluid model needs",
            ),
            Claim(
                "C8",
                "With aggressive detection, 32 sources get 6 to 16 times the marks per second of 8 sources.",
                "slide RED and Packet Loss: a notification reduces the load by 1/(2N), so 16 times as many at equal "
                "round trips; the lower bound reconstructed (ns-2.35 has 6.1)",
                (a32["marks"] >= 6 * a8["marks"]) & (a32["marks"] <= 16 * a8["marks"]),
            ),
        ]

    def figures(self, results: Results) -> Iterable[Figure]:
        """Yield the slides' four panels, the equilibrium, ten seconds of two cases, and the longer path."""
        kept = {
            (max_p, sources): cast(Trace, results.trace("queue", delay=SHORT_MS, max_p=max_p, sources=sources))
            for max_p, sources in CASES
        }
        yield Figure(
            "queues",
            "Queue under static early detection",
            "First replication, 10 Mbit/s, buffer of 100 kB. Thin: the queue; thick: RED's average queue.",
            lambda: _four(kept),
            claims=("C1", "C2", "C3", "C4", "C5"),
        )
        yield Figure(
            "equilibrium",
            "Equilibrium of the average queue",
            "Falling: the share of packets to be marked so that the load of N sources is the link's rate; a longer "
            "queue lengthens the round trip and so lowers it. Rising: the share that RED marks, with uniformly "
            "distributed gaps. Points: measured, marks and drops together.",
            lambda: _equilibrium(results.where(delay=SHORT_MS)),
            claims=("C7", "C8"),
        )
        yield Figure(
            "red-example",
            "RED example: too much and too little early detection",
            "Ten seconds of the first replication. Below: the load that arrives at the bottleneck, averaged over "
            "0.2 s; dashed: the bottleneck's rate L. Left, with 80 ms more round trip: each burst of marks lowers the "
            "load below L, until the queue is empty. Right: marks are too rare to bring the load below L, and the "
            "excess is dropped.",
            lambda: _examples(
                cast(Trace, results.trace("queue", delay=LONG_MS, max_p=AGGRESSIVE, sources=FEW)),
                kept[CONSERVATIVE, MANY],
            ),
            claims=("C5", "C6"),
        )
        long = {
            f"{WORDS[max_p]}, {FEW} sources": cast(
                Trace, results.trace("queue", delay=LONG_MS, max_p=max_p, sources=FEW)
            )
            for max_p in (AGGRESSIVE, CONSERVATIVE)
        }
        yield Figure(
            "long-path",
            "Queue under static early detection on a longer path",
            "First replication. The bottleneck's one-way delay is 50 ms instead of 10 ms.",
            lambda: dumbbell.draw_queues(long, LEVELS),
            claims=("C6",),
        )


LEVELS = {"min_th": MIN_KB, "max_th": MAX_KB, "buffer": BUFFER_KB}


def _near_rest(average: Quantity) -> Condition:
    """Return the condition that the average is within 30 % of the equilibrium in every case."""
    checks: list[Check] = []
    for point, _ in average.intervals():
        expected = resting_queue(float(point["sources"]), float(point["max_p"]))
        # Lists of one value keep both axes free, so that a check names its point.
        one = average.where(max_p=[point["max_p"]], sources=[point["sources"]])
        checks += one.within(0.7 * expected, 1.3 * expected).checks
    return Condition(f"{average.label} within 30 % of the equilibrium", tuple(checks))


def _four(kept: Mapping[tuple[float, int], Trace]) -> Drawing:
    from tailback.plotting import plot

    figure = plot.new(2, 2, width=5.6, height=2.7, sharex=True, sharey=True)
    for index, (axes, (max_p, sources)) in enumerate(zip(figure.axes, CASES, strict=True)):
        title = f"{WORDS[max_p]} (max_p {max_p:g}), {sources} sources"
        dumbbell.draw_queue(axes, kept[max_p, sources], LEVELS, ink=plot.COLOURS[index // 2], title=title)
        axes.set_ylim(0, 105)
        axes.set_xlabel("time (s)" if index > 1 else "")
        axes.set_ylabel("queue (kB)" if index % 2 == 0 else "")
    return figure


def _equilibrium(short: Results) -> Drawing:
    from tailback.plotting import plot

    figure = plot.new(width=6.6, height=4.2)
    (axes,) = figure.axes
    fine = [0.25 * step for step in range(1, 440)]
    with plot.style():
        for sources, dash in ((FEW, ":"), (MANY, "-.")):
            axes.plot(
                fine, [100 * needed(sources, q) for q in fine], dash, color="#444444", label=f"{sources} sources need"
            )
        for index, max_p in enumerate((AGGRESSIVE, CONSERVATIVE)):
            line = [MIN_KB + 0.5 * step for step in range(1, 120)]
            ink = plot.COLOURS[index]
            axes.plot(line, [100 * marked(max_p, q) for q in line], color=ink, label=f"RED, max_p {max_p:g}")
            axes.plot([MAX_KB, MAX_KB], [100 * marked(max_p, MAX_KB - 1e-9), 100], color=ink)
            at = short.where(max_p=max_p)
            for sources in (FEW, MANY):
                x = next(i for _, i in at.where(sources=sources)["average"].intervals())
                y = next(i for _, i in at.where(sources=sources)["signals"].intervals())
                axes.errorbar(
                    [x.mean],
                    [y.mean],
                    xerr=[[x.mean - x.lo], [x.hi - x.mean]],
                    yerr=[[y.mean - y.lo], [y.hi - y.mean]],
                    fmt="o" if sources == FEW else "s",
                    color=ink,
                    label=f"measured, {sources} sources, {max_p:g}",
                    zorder=3,
                )
        plot.finish(axes, x="average queue (kB)", y="packets marked or dropped (%)", y_scale="log", from_zero=False)
        axes.set_ylim(0.1, 100)
        axes.set_xlim(0, 105)
        axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return figure


def _examples(aggressive: Trace, conservative: Trace) -> Drawing:
    from tailback.plotting import plot

    figure = plot.new(2, 2, width=5.6, height=2.5, sharex="col", sharey="row")
    titles = (f"aggressive, {FEW} sources, long path", f"conservative, {MANY} sources")
    for column, (title, found) in enumerate(zip(titles, (aggressive, conservative), strict=True)):
        times, series = found
        first, last = (next(i for i, at in enumerate(times) if at >= edge) for edge in CLOSE_UP_S)
        near: Trace = (times[first:last], {name: values[first:last] for name, values in series.items()})
        upper, lower = figure.axes[column], figure.axes[2 + column]
        dumbbell.draw_queue(upper, near, LEVELS, ink=plot.COLOURS[column], title=title)
        _events(upper, near)
        upper.set_ylim(0, 130)
        with plot.style():
            lower.plot(*dumbbell.offered_rate(near, 10), color=plot.COLOURS[column])
            lower.axhline(10, color="#666666", linestyle="--", linewidth=0.9)
            lower.annotate("L", (1.01, 10), xycoords=("axes fraction", "data"), va="center", annotation_clip=False)
            plot.finish(lower, x="time (s)", y="load (Mbit/s)" if column == 0 else "")
        upper.set_yticks([0, 20, 40, 60, 80, 100])
        upper.set_ylabel("queue (kB)" if column == 0 else "")
    return figure


def _events(axes: Axes, near: Trace) -> None:
    """Draw ticks above the queue at the times at which packets were marked and dropped."""
    from tailback.plotting import plot

    times, series = near
    for name, height, ink in (("marked", 124, plot.COLOURS[2]), ("dropped", 112, plot.COLOURS[1])):
        counts = series[name]
        at = [times[i] for i in range(1, len(times)) if counts[i] > counts[i - 1]]
        axes.plot(at, [height] * len(at), "|", color=ink, markersize=6)
        axes.annotate(name, (1.01, height), xycoords=("axes fraction", "data"), fontsize=8, va="center", color=ink)
