"""edge-tcp: AF2x and AF3x as TCP, with tail drop, the paper's WRED, a faster average, a steep and a narrow profile."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from statistics import fmean, pstdev
from typing import TYPE_CHECKING, cast

from tailback.gallery.edge.shared import customer_edge as ce
from tailback.plotting import experiment as fig
from tailback.plotting import grouped_bars
from tailback.results import observables as m
from tailback.results.report import Report
from tailback.results.synchronisation import backoff_shares, synchronisation_index
from tailback.scenario import Value
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

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

TAIL, PAPER, QUICK, STEEP, NARROW = (
    "tail drop",
    "WRED 24, 26 to 42",
    "the same, fast average",
    "WRED 5 to 15",
    "WRED 40 to 42",
)
ALL = (TAIL, PAPER, QUICK, STEEP, NARROW)
DATA = (*ce.CLASSES["AF3x"], *ce.CLASSES["AF2x"])
TEN, FLOWS = 10, (10, 30, 60)
"""Numbers of flows in a class: Table 1 has ten."""
COUNTED = (TAIL, PAPER, QUICK)
"""Droppers that are also run with more flows."""
ROUND_TRIP_S = 0.021
"""Round trip without the class's queue, s: propagation and transmit ring."""
WINDOW_S = 0.2
"""Length of the windows in which throughput is measured, s."""
SHOWN_S = (10.0, 20.0)
"""Part of a run in the figure of windows, s."""
Trace = tuple[list[float], list[float]]
"""Times in seconds, and values."""


def _thresholds(profile: str) -> tuple[tuple[int, int, int], tuple[int, int, int]]:
    """Return minimum threshold and maximum threshold in packets and the denominator of WRED, for AF3x and for AF2x."""
    return {
        PAPER: ((26, 42, 10), (24, 42, 10)),
        QUICK: ((26, 42, 10), (24, 42, 10)),
        STEEP: ((5, 15, 2), (5, 15, 2)),
        NARROW: ((40, 42, 1), (40, 42, 1)),
    }[profile]


def _index(report: Report) -> float:
    """Return the mean of both classes' synchronisation indices."""
    # Round trip, s, and time in which a full queue of 64 frames of 12 kbit drains at the 23.5 Mbit/s of a class.
    epoch = ROUND_TRIP_S + 64 * 12e-3 / 23.5
    return fmean(synchronisation_index(backoff_shares(report, epoch, key)) for key in ("af3", "af2"))


def _rates(report: Report, groups: Sequence[str]) -> list[float]:
    """Return the total throughput of the groups in each window of `WINDOW_S` after the warm-up, Mbit/s."""
    series = report.data["series"]
    assert series is not None
    times = series["time_s"]
    step = max(1, round(WINDOW_S / (times[1] - times[0])))
    first = next(i for i, at in enumerate(times) if at >= report.data["warmup_s"])
    totals = [sum(series["flows"][group]["delivered_bytes"][i] for group in groups) for i in range(len(times))]
    ends = range(first + step, len(times), step)
    return [8e-6 * (totals[i] - totals[i - step]) / (times[i] - times[i - step]) for i in ends]


# Standard deviation of the data's throughput in windows, % of its mean.
def _fluctuation(report: Report) -> float:
    rates = _rates(report, DATA)
    return 100 * pstdev(rates) / fmean(rates)


def _windows(report: Report) -> Trace:
    """Return times, s, and the sum of the congestion windows of AF3x, segments, in `SHOWN_S`."""
    series = report.data["series"]
    assert series is not None
    chosen = [i for i, at in enumerate(series["time_s"]) if SHOWN_S[0] <= at <= SHOWN_S[1]]
    flows = [found["window_segments"] for name, found in series["transports"].items() if name.startswith("af3")]
    return [series["time_s"][i] for i in chosen], [sum(window[i] for window in flows) for i in chosen]


class Responsive(ce.AtTheEdge):
    """Synchronisation, fluctuation, delay and loss of TCP with each dropper."""

    id = "edge-tcp"
    title = "Data as TCP under tail drop and WRED"
    reference = (
        'Mitroi and Stroescu, sections 3 e to g and 4: "driving to flows fluctuation because of global synchronisation"'
    )
    axes = (Axis("profile", "dropper of AF2x and AF3x"), Axis("flows", "flows in each of AF2x and AF3x"))
    quick = Profile(duration="25s", warmup="5s", replications=4, max_replications=12, cpu_s=10)
    full = Profile(duration="125s", warmup="5s", replications=8, max_replications=30, cpu_s=120)
    metrics = (
        Observable("index", "synchronisation index", "", _index),
        Observable("fluctuation", "fluctuation of the data's throughput", "%", _fluctuation),
        m.goodput("af[23][123]", "goodput", "goodput of AF2x and AF3x"),
        ce.class_delay("AF3x"),
        ce.class_delay("AF2x"),
        ce.class_loss("AF3x"),
        ce.class_loss("EF"),
        ce.class_loss("AF1x"),
    )
    traces = {"windows": _windows}  # noqa: RUF012

    def points(self, profile: ProfileName) -> Iterable[Point]:
        """Return the points: each dropper with ten flows in a class, and those in `COUNTED` with more."""
        del profile
        return grid(profile=ALL, flows=[TEN]) + grid(profile=COUNTED, flows=FLOWS[1:])

    def settings(self, point: Point, profile: ProfileName) -> Settings:
        """Return the settings of long TCP transfers in AF2x and AF3x with a round trip of 20 ms, and of the dropper."""
        del profile
        tcp: dict[str, Value] = {"kind": "tcp", "segment": "1460B"}
        flows: Settings = {}
        for group in DATA:
            flows |= {
                f"flows[{group}].source": {"kind": "bulk"},
                f"flows[{group}].count": ce.TABLE_1[group].flows * int(point["flows"]) // TEN,
                f"flows[{group}].transport": tcp,
                f"flows[{group}].probe": True,
                f"flows[{group}].start-spread": "2s",
            }
        inside: dict[str, Value] | None = None
        if point["profile"] != TAIL:
            thresholds = _thresholds(str(point["profile"]))
            exponent = 4 if point["profile"] == QUICK else 9
            inside = {
                name: ce.wred(low, high, ce.CLASSES[key], denominator=denominator, exponent=exponent)
                for (name, key), (low, high, denominator) in zip(
                    (("critical", "AF3x"), ("noncritical", "AF2x")), thresholds, strict=True
                )
            }
        return ce.policy(low_latency=True, inside=inside) | flows | {"links[0].delay": "10ms", "run.sample": "20ms"}

    def claims(self, results: Results) -> Iterable[Claim]:
        """Return the claims on synchronisation, fluctuation, delay and loss."""
        at = {name: results.where(profile=name, flows=TEN) for name in ALL}
        many = {flows: results.where(flows=flows) for flows in FLOWS[1:]}
        return [
            Claim.unasserted(
                "C1",
                "With ten flows in a class, the synchronisation index with tail drop is higher than with the paper's "
                "WRED.",
                'section 3 e: tail drop leads to "global synchronisation", which WRED avoids',
                at[TAIL]["index"] > at[PAPER]["index"],
                "an average over 512 arrivals lags behind ten flows by several round trips, so that WRED drops for "
                "that time and then not at all; C1b shows that the lag is the cause",
                headline="tail drop synchronises TCP, WRED prevents it",
            ),
            *(
                Claim(
                    f"C1-{flows}",
                    f"With {flows} flows in a class the synchronisation index of tail drop, of the paper's WRED, and "
                    "of that WRED with a fast average is lower than with ten.",
                    "G. Appenzeller, I. Keslassy and N. McKeown, SIGCOMM 2004, section 3: flows desynchronise as their "
                    "number grows",
                    ce.all_of(many[flows].where(profile=name)["index"] < at[name]["index"] for name in COUNTED),
                )
                for flows in FLOWS[1:]
            ),
            Claim(
                "C1b",
                "With the paper's WRED, the synchronisation index with an average over 16 arrivals is lower than over "
                "512.",
                "derived: the lag of the average, compared with the round trip",
                at[QUICK]["index"] < at[PAPER]["index"],
            ),
            Claim(
                "C2",
                "With the paper's WRED the delay of AF3x and of AF2x is less than with tail drop.",
                "figure 7",
                (at[PAPER]["delay_AF3x"] < at[TAIL]["delay_AF3x"]) & (at[PAPER]["delay_AF2x"] < at[TAIL]["delay_AF2x"]),
            ),
            Claim(
                "C3",
                "With the steep profile (5 to 15) the throughput of data fluctuates more than with the paper's WRED.",
                'section 4: "a more aggressive profile driving to flows fluctuation"',
                at[STEEP]["fluctuation"] > at[PAPER]["fluctuation"],
            ),
            Claim(
                "C4",
                "With the narrow profile (40 to 42) the synchronisation index is higher than with the paper's WRED.",
                'section 3 f: "an improper difference between minimum and maximum threshold could lead to global '
                'synchronisation"',
                at[NARROW]["index"] > at[PAPER]["index"],
            ),
            Claim(
                "C5",
                "Voice and bulk data lose nothing with any dropper and number of flows.",
                "section 5",
                results["loss_EF"].is_zero() & results["loss_AF1x"].is_zero(),
            ),
            Claim(
                "C6",
                "The goodput of AF2x and AF3x is more than 42 of the 47 Mbit/s that the other classes leave, with "
                "tail drop and with the paper's WRED.",
                "derived: long transfers fill the capacity that is left; the bound reconstructed",
                (at[TAIL]["goodput"] > 42) & (at[PAPER]["goodput"] > 42),
            ),
            *(
                Claim.comparison(
                    f"C7-{number}",
                    f"Synchronisation index of ten flows in a class; dropper: {name.replace('the same', PAPER)}.",
                    "not in the paper",
                    at[name]["index"],
                    "the paper does not define a measure of synchronisation",
                )
                for number, name in enumerate(at, start=1)
            ),
        ]

    def figures(self, results: Results) -> Iterable[Figure]:
        """Yield the measures of each dropper, windows over time, and the index against the number of flows."""
        names = ALL
        yield Figure(
            "measures",
            "Synchronisation, fluctuation and delay",
            "Synchronisation index: share of congestion epochs in which more than half of a class's flows back off. "
            "Fluctuation: standard deviation of the throughput of AF2x and AF3x in windows of 0.2 s, in % of its mean. "
            "Ten flows in a class.",
            lambda: _draw(results),
            claims=("C1", "C1b", "C2", "C3", "C4"),
        )
        yield Figure(
            "windows",
            "Sum of the congestion windows of AF3x",
            "First replication, ten flows. The sum falls steeply when many flows back off together.",
            partial(
                _draw_windows,
                {name: cast("Trace", results.trace("windows", profile=name, flows=TEN)) for name in names},
            ),
            claims=("C1", "C4"),
        )
        yield fig.compare(
            {name: results.where(profile=name)["index"] for name in COUNTED},
            "flows",
            "Synchronisation index against the number of flows in a class",
            "Share of congestion epochs in which more than half of a class's flows back off.",
            x="flows",
            claims=("C1-30", "C1-60"),
        )


def _draw(results: Results) -> Drawing:
    from tailback.plotting import plot

    figure = plot.new(3, width=3.9, height=3.4)
    names = ALL
    for axes, (metric, y) in zip(
        figure.axes,
        (("index", "synchronisation index"), ("fluctuation", "fluctuation (%)"), ("delay_AF3x", "delay of AF3x (ms)")),
        strict=True,
    ):
        found = [grouped_bars.only(list(results.where(profile=n, flows=TEN)[metric].intervals())) for n in names]
        with plot.style():
            reach = [[max(i.mean - i.lo, 0) for i in found], [max(i.hi - i.mean, 0) for i in found]]
            bars = axes.bar(range(len(names)), [i.mean for i in found], color=plot.COLOURS[: len(names)])
            plot.keep_intervals(bars[0], found)
            axes.errorbar(
                range(len(names)), [i.mean for i in found], yerr=reach, fmt="none", ecolor="#333333", capsize=2
            )
            axes.set_xticks(range(len(names)), names, rotation=30, ha="right", fontsize=8)
            plot.finish(axes, y=y)
            axes.set_ylim(bottom=0)
    return figure


def _draw_windows(kept: dict[str, Trace]) -> Drawing:
    from tailback.plotting import plot

    figure = plot.new(1, len(kept), width=8.0, height=1.7, sharex=True, sharey=True)
    for index, (axes, (name, (times, windows))) in enumerate(zip(figure.axes, kept.items(), strict=True)):
        with plot.style():
            axes.plot(times, windows, color=plot.COLOURS[index], linewidth=1.0)
            plot.finish(axes, title=name, x="time (s)" if index == len(kept) - 1 else "", y="segments")
            axes.set_xlim(times[0], times[-1])
    return figure
