"""internet-e09: growth of the windows of 10 to 100 connections in one round trip, the calculation behind SubTCP."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, cast

from tailback.results.report import Report
from tailback.scenario import Table
from tailback.study.experiment import (
    Axis,
    AxisValue,
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

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

TCP, SUBTCP = "TCP", "SubTCP"
CONTROLS: dict[AxisValue, Table] = {
    TCP: {"kind": "reno"},
    SUBTCP: {"kind": "subtcp", "x": 0.1, "back-off": "none"},
}
SHARED = 100
"""Sum of all windows at the start, segments of 1 kB."""
START_S, ROUND_S = 0.15, 0.1
"""Time after the echo at which all connections have halved their windows, and round trip without queueing, s."""

# Times in s and values.
Series = tuple[list[float], list[float]]


def _windows(report: Report) -> Series:
    """Return times in s and the sum of all windows in kB."""
    series = report.data["series"]
    assert series is not None
    flows = list(series["transports"].values())
    return series["time_s"], [sum(flow["window_segments"][i] for flow in flows) for i in range(len(series["time_s"]))]


def _at(report: Report, when: float) -> float:
    times, sums = _windows(report)
    return next(value for at, value in zip(times, sums, strict=True) if at >= when)


class Growth(Experiment):
    """Sum of the windows of 10 to 100 connections that share 100 kB."""

    id = "internet-e09"
    title = "Growth in one round trip"
    reference = "Feng, thesis defence 1999, slides Fixing TCP"
    axes = (Axis("control", "congestion control"), Axis("connections", "connections"))
    quick = Profile(duration="500ms", warmup="0s", replications=3, max_replications=3, cpu_s=5)
    full = Profile(duration="500ms", warmup="0s", replications=3, max_replications=3, cpu_s=5)
    metrics = (
        Observable("before", "sum of windows at the start", "kB", lambda report: _at(report, START_S)),
        Observable("after", "sum of windows after one round trip", "kB", lambda report: _at(report, START_S + ROUND_S)),
    )
    traces = {"windows": _windows}  # noqa: RUF012

    def points(self, profile: ProfileName) -> Iterable[Point]:
        """Return the points: the slide's 10 and 100 connections and some numbers between, with both controls."""
        numbers = (10, 20, 25, 50, 100) if profile == "full" else (10, 20, 50, 100)
        return grid(control=tuple(CONTROLS), connections=numbers)

    def settings(self, point: Point, profile: ProfileName) -> Settings:
        """Return the settings of the connections; each begins with twice its share, which an echo halves."""
        del profile
        share = SHARED // int(point["connections"])
        return {
            "flows[tcp].count": point["connections"],
            "flows[tcp].transport.initial-window": 2 * share,
            "flows[tcp].transport.congestion-control": CONTROLS[point["control"]],
        }

    def claims(self, results: Results) -> Iterable[Claim]:
        """Return the claims on the slides' sums; w acknowledgements add slightly less than 1 to a window of w."""
        tcp, sub = results.where(control=TCP), results.where(control=SUBTCP)
        slides = "slides Fixing TCP; stated"
        return [
            Claim("C0", "At the start the sum of all windows is 100 kB.", slides, results["before"].within(100, 100)),
            Claim(
                "C1",
                "After one round trip the sum of the windows of 10 TCP connections is 110 kB (within 1 kB).",
                slides,
                tcp.where(connections=10)["after"].within(109, 111),
            ),
            Claim(
                "C2",
                "After one round trip the sum of the windows of 100 TCP connections is 200 kB (within 1 kB).",
                slides,
                tcp.where(connections=100)["after"].within(199, 201),
                headline="100 sources: 100 % increase per round trip",
            ),
            Claim(
                "C3",
                "After one round trip the sum of the windows with SubTCP and X = 10 % is 110 kB (within 1 kB), with "
                "any number of connections.",
                "slides Fixing TCP and SubTCP; derived",
                sub["after"].within(109, 111),
                headline="SubTCP: at most X = 10 % per round trip",
            ),
        ]

    def figures(self, results: Results) -> Iterable[Figure]:
        """Yield the sum of the windows over time."""
        kept = {
            (control, n): cast(Series, results.trace("windows", control=control, connections=n))
            for control in CONTROLS
            for n in (10, 100)
        }
        yield Figure(
            "growth",
            "Sum of all windows over time",
            f"From {START_S} s on, when all connections have halved their windows. Dashed: 110 and 200 kB.",
            lambda: _draw(kept),
            claims=("C1", "C2", "C3"),
        )


def _draw(kept: dict[tuple[AxisValue, int], Series]) -> Drawing:
    from tailback.plotting import plot

    figure = plot.new(2, sharey=True)
    for axes, n in zip(figure.axes, (10, 100), strict=True):
        with plot.style():
            for index, control in enumerate(CONTROLS):
                times, sums = kept[control, n]
                axes.plot(
                    times,
                    sums,
                    color=plot.COLOURS[index],
                    label=str(control),
                    linewidth=2.4 - 0.9 * index,
                    linestyle="--" if index else "-",
                )
            for level in (110, 200):
                axes.axhline(level, color="#666666", linestyle="--", linewidth=0.9)
            plot.finish(
                axes,
                title=f"{n} connections of {SHARED // n} kB each",
                x="time (s)",
                y="sum of windows (kB)" if n == 10 else "",
                y_top=300,
            )
            axes.set_xlim(START_S, START_S + 2.4 * ROUND_S)
            axes.set_ylim(0, 320)
    return figure
