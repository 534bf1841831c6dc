"""lan-thresholds, sweep of both thresholds: loss if the high one is too high, starvation if the low one is too low."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, cast

from tailback.gallery.lan.high_and_low_threshold.fluid import (
    BUFFER_KB,
    FRAME_KB,
    cycle,
    needed_kb,
    overflows_above_kb,
    starves_below_kb,
)
from tailback.plotting import experiment as fig
from tailback.results import observables as m
from tailback.results.report import Report
from tailback.results.rows import SeriesData
from tailback.study.experiment import (
    Axis,
    AxisValue,
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

SATURATED, BURSTY = "saturated", "bursty"
SOURCES: dict[AxisValue, dict[str, str]] = {
    SATURATED: {"kind": "poisson", "rate": "700Mbit/s", "packet": "1500B"},
    BURSTY: {"kind": "uniform-uniform", "rate": "450Mbit/s", "burst": "24kB"},
}
OVERLOAD = 100 * (1 - 1000 * 1500 / 1538 / 1400)
"""Loss of the saturated sources without control, %."""
# Length of the feeding links in the sweep, and in the slides' LANs, km.
LONG_KM, SHORT_KM = 10, 0.2
# Thresholds of the slides, %.
SLIDES = {"high": 80, "low": 70}
# High and low thresholds of the sweep, %.
HIGHS = (30, 40, 50, 60, 70, 80, 90, 95, 100)
LOWS = (5, 15, 25, 35, 50, 65, 80, 90)
NEVER = 100
"""A queue is never above its limit, so this high threshold never acts."""
# High threshold, low threshold and words of the traced points.
TRACED = (
    (50, 35, "both thresholds in range"),
    (90, 35, "the high threshold is too high"),
    (50, 5, "the low threshold is too low"),
)
# Time that the figure "queue" shows, s.
TRACE_S = 3e-3


def _lost(report: Report) -> float:
    """Return the share of the packets arriving at the merging port that are lost there, %."""
    arrived, dropped = _counts(report)
    return 100 * dropped / arrived if arrived else float("nan")


# Numbers of packets that arrived at the merging port, and that were lost there.
def _counts(report: Report) -> tuple[int, int]:
    rows = [row for port in report.ports("sw0->d") for row in port["classes"]]
    return sum(row["arrived"]["packets"] for row in rows), sum(row["dropped"]["packets"] for row in rows)


def _trace(report: Report) -> tuple[list[float], list[float]] | None:
    """Return the merging port's queue for `TRACE_S` after the warm-up: times in ms, levels in kB.

    `None` without samples.
    """
    series: SeriesData | None = report.data["series"]
    if series is None:
        return None
    start = report.data["warmup_s"]
    pairs = zip(series["time_s"], series["ports"]["sw0->d"]["queue_bytes"], strict=True)
    shown = [(1e3 * (at - start), 1e-3 * level) for at, level in pairs if start <= at <= start + TRACE_S]
    return [at for at, _ in shown], [level for _, level in shown]


def _cycle(report: Report) -> tuple[list[float], list[float], list[bool]] | None:
    """Return the first cycle of XOFF and XON after the warm-up, with some samples before and after it.

    Times in ms, levels in kB, and for each time whether sw1 is stopped. `None` without samples.
    """
    series: SeriesData | None = report.data["series"]
    if series is None:
        return None
    queue, stopped = series["ports"]["sw0->d"]["queue_bytes"], series["ports"]["sw1->sw0"]["stopped"]
    begun = [n for n in range(1, len(stopped)) if stopped[n] and not stopped[n - 1]]
    first, following = [n for n in begun if series["time_s"][n] >= report.data["warmup_s"]][:2]
    shown = range(max(first - 60, 0), min(following + 20, len(queue)))
    start = series["time_s"][shown[0]]
    return (
        [1e3 * (series["time_s"][n] - start) for n in shown],
        [1e-3 * queue[n] for n in shown],
        [stopped[n] for n in shown],
    )


class Thresholds(Experiment):
    """Two 1 Gbit/s links of 10 km into one, with all pairs of a low and a higher high threshold."""

    id = "lan-thresholds"
    title = "High and low threshold"
    reference = "Tobagi, Fraleigh and Noureddine, slide Congestion Detection"
    axes = (
        Axis("load", "load"),
        Axis("length", "length of the feeding links", "km"),
        Axis("low", "low threshold", "%"),
        Axis("high", "high threshold", "%"),
    )
    quick = Profile(duration="220ms", warmup="20ms", replications=4, max_replications=24, cpu_s=10)
    full = Profile(duration="2020ms", warmup="20ms", replications=5, max_replications=40, cpu_s=100)
    metrics = (
        Observable(
            "lost",
            "packets lost at the merging port",
            "%",
            _lost,
            lambda report: _counts(report)[::-1],
            precision=(0.1, 0.1),
        ),
        m.utilisation("sw0->d", label="utilisation of the output link"),
        m.mean_delay("data"),
    )
    traces = {"queue": _trace, "cycle": _cycle}  # noqa: RUF012

    def points(self, profile: ProfileName) -> Iterable[Point]:
        """Return the points: all pairs of a low and a higher high threshold, and the slides' pair over 200 m.

        In quick, bursty traffic has two low thresholds only.
        """
        pairs = grid(load=[SATURATED], length=[LONG_KM], low=LOWS, high=HIGHS)
        pairs += grid(load=[BURSTY], length=[LONG_KM], low=LOWS if profile == "full" else (5, 35), high=HIGHS)
        return [pair for pair in pairs if float(pair["low"]) < float(pair["high"])] + [
            Point(load=load, length=SHORT_KM, **{k: SLIDES[k] for k in ("low", "high")}) for load in SOURCES
        ]

    def settings(self, point: Point, profile: ProfileName) -> Settings:
        """Return the settings of the merging switch's thresholds, of the links' length and of the sources.

        The upstream switches keep the thresholds of the slides.
        """
        high, low = float(point["high"]) / 100, float(point["low"]) / 100
        longer = {"run.duration": "4020ms" if profile == "full" else "620ms"} if point["load"] == BURSTY else {}
        traced = point["load"] == SATURATED and (point["high"], point["low"]) in [pair[:2] for pair in TRACED]
        return {
            "switches.sw0.backpressure.detection": {"kind": "watermark", "high": high, "low": low},
            "links[1].length": f"{float(point['length']) * 1e3:g}m",
            "flows[data].source": SOURCES[point["load"]],
            **longer,
            **({"run.sample": "5us"} if traced else {}),
        }

    def claims(self, results: Results) -> Iterable[Claim]:
        """Return the claims: thresholds with and without loss or idling; loss and utilisation by the fluid model."""
        long, short = results.where(length=LONG_KM), results.where(length=SHORT_KM)
        saturated = long.where(load=SATURATED)
        acting = saturated.where(high=lambda high: high != NEVER)
        room = 100 * (1 - needed_kb(LONG_KM) / BUFFER_KB)
        late = 100 * overflows_above_kb(LONG_KM) / BUFFER_KB
        enough = 100 * starves_below_kb(LONG_KM) / BUFFER_KB
        frame = 100 * FRAME_KB / BUFFER_KB
        return [
            Claim(
                "T1",
                "Nothing is lost if the buffer above the high threshold is at least the headroom of both links.",
                'slide Congestion Detection: "low enough to handle packets that arrive before congestion control '
                'actions take effect"; the amount derived from the headroom formula (lan-headroom)',
                long.where(high=lambda high: float(high) <= room)["lost"].is_zero(),
            ),
            Claim(
                "T2",
                "With saturated sources, packets are lost if the high threshold is at least one frame above the "
                "highest level from which the queue can rise for one control loop and still fit into the buffer.",
                "derived: the whole frames that arrive during one control loop",
                saturated.where(high=lambda high: float(high) >= late + frame)["lost"] > 0,
            ),
            Claim(
                "T3",
                "With saturated sources, the output link never idles if the low threshold is at least one frame above "
                "the bytes that the link sends in one control loop.",
                'slide Congestion Detection: "high enough to prevent starvation before congestion control actions are '
                'reversed"; the amount from network calculus: no underflow if XON >= R times loop',
                saturated.where(low=lambda low: float(low) >= enough + frame)["utilisation"] >= 99.99,
            ),
            Claim(
                "T4",
                "With saturated sources, the output link idles for more than 1 % of the time if the low threshold is "
                "at most half of the bytes that it sends in one control loop.",
                "derived as T3",
                acting.where(low=lambda low: float(low) <= enough / 2)["utilisation"] < 99,
            ),
            Claim(
                "T5",
                "With saturated sources, the utilisation of the output link is that of the fluid model of one cycle, "
                "within 2 percentage points.",
                "derived: the model in fluid.py",
                _near(acting["utilisation"], lambda low, high: cycle(high, low, LONG_KM).utilisation),
            ),
            Claim(
                "T6",
                "With saturated sources, the loss at the merging port is that of the fluid model of one cycle, within "
                "2 percentage points.",
                "derived: the model in fluid.py",
                _near(acting["lost"], lambda low, high: cycle(high, low, LONG_KM).loss),
            ),
            Claim(
                "T7",
                "With a high threshold of 100 %, which never acts, the loss of the saturated sources is within 2 "
                "percentage points of that of the overload without control.",
                "derived: 1400 Mbit/s of payload are offered to a link that carries 975 Mbit/s",
                saturated.where(high=NEVER)["lost"].within(OVERLOAD - 2, OVERLOAD + 2),
            ),
            Claim(
                "T8",
                "With bursty traffic of 90 % load, the utilisation of the output link is lower with a low threshold "
                "of 5 % than with one of 35 %.",
                "derived: the link cannot catch up after idling, and the packets wait at the hosts",
                _at_load(long, low=5) < _at_load(long, low=35),
            ),
            Claim(
                "T9",
                "With links of 200 m and the slides' thresholds of 80 and 70 % no packet is lost, and saturated "
                "sources keep the output link busy.",
                "slides, high threshold 80 %, low threshold 70 %; derived: 10 kB above the high threshold for a "
                "headroom of 9.8 kB",
                short["lost"].is_zero() & (short.where(load=SATURATED)["utilisation"] >= 99.99),
            ),
        ]

    def figures(self, results: Results) -> Iterable[Figure]:
        """Yield loss and utilisation by both thresholds, their comparison with the fluid model, and the queue."""
        saturated = results.where(length=LONG_KM, load=SATURATED)
        bursty = results.where(length=LONG_KM, load=BURSTY)
        yield Figure(
            "map",
            "Loss and utilisation by thresholds, saturated",
            "Loss begins right of the solid line, where the queue, still rising for one control loop, no longer fits "
            "into the buffer. Starvation begins below the dashed line, where the low threshold is less than the bytes "
            "that the link sends in one loop. A high threshold of 100 % never acts.",
            lambda: _maps(saturated["lost"], saturated["utilisation"]),
            claims=("T1", "T2", "T3", "T4"),
        )
        yield Figure(
            "fluid",
            "Loss and utilisation compared with the fluid model, saturated",
            "Dashed: fluid model of a queue that rises for one control loop after it has crossed the high threshold, "
            "and falls for one after the low threshold.",
            lambda: _against_fluid(saturated),
            claims=("T5", "T6"),
        )
        yield fig.panels(
            {"load of 90 %": bursty.where(low=[5, 15, 35, 65])["lost"]},
            "bursty-loss",
            "Loss at the merging port, bursty",
            "Load of 90 % in bursts of 24 kB.",
            x="high",
            curves="low",
        )
        yield fig.panels(
            {"load of 90 %": bursty.where(low=[5, 15, 35, 65])["delay"]},
            "bursty-delay",
            "Mean delay, bursty",
            "Load of 90 % in bursts of 24 kB. Starvation lowers the link's capacity below the load, so that the wait "
            "at the hosts keeps growing.",
            x="high",
            curves="low",
            y_scale="log",
            claims=("T8",),
        )
        high, low, _ = TRACED[0]
        once = results.trace("cycle", load=SATURATED, length=LONG_KM, low=low, high=high)
        yield Figure(
            "cycle",
            "A buffer with its thresholds, and one cycle of XOFF and XON",
            f"The queue of the merging port with thresholds of {high} and {low} %, first replication. The stop is in "
            "force at the neighbours (shaded) from half a round trip after the queue has crossed the high threshold "
            "until half a round trip after it has crossed the low one: the queue overshoots into the headroom and "
            "undershoots into the reserve.",
            lambda: _draw_cycle(cast(tuple[list[float], list[float], list[bool]], once), high, low),
        )
        lines = {}
        for high, low, words in TRACED:
            kept = results.trace("queue", load=SATURATED, length=LONG_KM, low=low, high=high)
            lines[f"{high} and {low} %: {words}"] = cast(tuple[list[float], list[float]], kept)
        yield fig.traces(
            lines,
            "queue",
            "Queue of the merging port",
            "First replication.",
            x="time (ms)",
            y="queue (kB)",
            levels={"buffer": BUFFER_KB},
            claims=("T1", "T3"),
        )


def _draw_cycle(once: tuple[list[float], list[float], list[bool]], high: int, low: int) -> Drawing:
    from tailback.plotting import plot

    times, levels, stopped = once
    marks = {"buffer": BUFFER_KB, "high threshold": high * BUFFER_KB / 100, "low threshold": low * BUFFER_KB / 100}
    figure = plot.new(width=8.0, height=3.4)
    (axes,) = figure.axes
    with plot.style():
        shade = axes.get_xaxis_transform()
        axes.fill_between(
            times, 0, stopped, step="post", color=plot.COLOURS[5], alpha=0.3, linewidth=0, transform=shade
        )
        for name, level in marks.items():
            axes.axhline(level, color="#666666", linestyle="--", linewidth=1)
            axes.text(times[-1], level, f" {name}", va="center", fontsize=9, color="#444444")
        axes.plot(times, levels, color=plot.COLOURS[0], linewidth=1.2)
        between = [(marks["buffer"] + marks["high threshold"]) / 2, marks["low threshold"] / 5]
        for name, level in zip(
            ("headroom: bytes that still arrive", "reserve: bytes sent meanwhile"), between, strict=True
        ):
            # The words of the headroom are left of the queue's maximum, those of the reserve below it.
            at = times[0] if level > marks["low threshold"] else times[0] + 0.25 * (times[-1] - times[0])
            axes.text(at, level, f" {name}", va="center", fontsize=9, color="#444444")
        plot.finish(axes, x="time (ms); shaded: the neighbours are stopped", y="queue (kB)")
        axes.set_xlim(times[0], times[-1])
        axes.set_ylim(0, 1.05 * BUFFER_KB)
    return figure


# Utilisation of the output link by bursty traffic with a low threshold in %.
def _at_load(results: Results, low: int) -> Quantity:
    return results.where(load=BURSTY, low=low, high=[50, 60, 70])["utilisation"]


def _near(quantity: Quantity, fluid: Callable[[float, float], float]) -> Condition:
    """Return the condition that the quantity is within 2 points of the fluid model at every pair of thresholds."""
    checks: list[Check] = []
    for point, _ in quantity.intervals():
        expected = fluid(float(point["low"]), float(point["high"]))
        # Lists of one value keep both axes free, so that a check names its point.
        one = quantity.where(low=[point["low"]], high=[point["high"]])
        checks += one.within(expected - 2, expected + 2).checks
    return Condition(f"{quantity.label} within 2 points of the fluid model", tuple(checks))


def _maps(lost: Quantity, utilisation: Quantity) -> Drawing:
    from tailback.plotting import plot

    figure = plot.new(2, sharey=True)
    late_high = 100 * overflows_above_kb(LONG_KM) / BUFFER_KB
    late_low = 100 * starves_below_kb(LONG_KM) / BUFFER_KB
    for axes, quantity, title, colours in zip(
        figure.axes, (lost, utilisation), ("packets lost (%)", "utilisation (%)"), ("Oranges", "Blues_r"), strict=True
    ):
        with plot.style():
            _map(axes, quantity, colours)
            axes.axvline(_position(HIGHS, late_high), color="#222222", linewidth=1.2)
            axes.axhline(_position(LOWS, late_low), color="#222222", linewidth=1.2, linestyle="--")
            y = "low threshold (%)" if axes is figure.axes[0] else ""
            plot.finish(axes, title=title, x="high threshold (%)", y=y, from_zero=False)
            axes.set_xticks(range(len(HIGHS)), [str(high) for high in HIGHS])
            axes.set_yticks(range(len(LOWS)), [str(low) for low in LOWS])
            axes.grid(visible=False)
    return figure


def _map(axes: Axes, quantity: Quantity, colours: str) -> None:
    rows = [[float("nan")] * len(HIGHS) for _ in LOWS]
    for point, interval in quantity.intervals():
        column, row = HIGHS.index(cast(int, point["high"])), LOWS.index(cast(int, point["low"]))
        rows[row][column] = interval.mean
        text = f"{interval.mean:.1f}" if interval.mean not in (0, 100) else f"{interval.mean:.0f}"
        axes.text(column, row, text, ha="center", va="center", fontsize=8)
    low, high = (80, 104) if quantity.label.startswith("utilisation") else (0, 25)
    axes.imshow(rows, origin="lower", aspect="auto", cmap=colours, vmin=low, vmax=high)


def _position(ticks: Sequence[int], value: float) -> float:
    """Return the position of a value on an axis of categories."""
    for index, (left, right) in enumerate(pairwise(ticks)):
        if left <= value <= right:
            return index + (value - left) / (right - left)
    return -0.5 if value < ticks[0] else len(ticks) - 0.5


def _against_fluid(saturated: Results) -> Drawing:
    from tailback.plotting import plot

    figure = plot.new(2)
    left, right = figure.axes

    def acts(high: AxisValue) -> bool:
        return high != NEVER

    with plot.style():
        for index, low in enumerate((5, 25, 50)):
            along, intervals = saturated.where(low=low, high=acts)["lost"].curve("high")
            plot.curve(left, along, intervals, label=f"{low} %", index=index)
            fine = [float(along[0]) + 0.5 * step for step in range(int(2 * (float(along[-1]) - float(along[0]))) + 1)]
            left.plot(fine, [cycle(x, low, LONG_KM).loss for x in fine], "--", color=plot.COLOURS[index], linewidth=1)
        for index, high in enumerate((40, 60, 95)):
            along, intervals = saturated.where(high=high)["utilisation"].curve("low")
            plot.curve(right, along, intervals, label=f"{high} %", index=index)
            fine = [5 + 0.5 * step for step in range(int(2 * (float(along[-1]) - 5)) + 1)]
            shown = [cycle(high, x, LONG_KM).utilisation for x in fine]
            right.plot(fine, shown, "--", color=plot.COLOURS[index], linewidth=1)
        plot.finish(left, x="high threshold (%)", y="packets lost (%)", ticks=HIGHS[:-1], legend="low threshold")
        plot.finish(
            right,
            x="low threshold (%)",
            y="utilisation of the output link (%)",
            ticks=LOWS,
            legend="high threshold",
            from_zero=False,
        )
    return figure
