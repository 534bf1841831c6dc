"""The four traffic models of the deck compared: bursts, memory, and loss at one load."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, ClassVar, cast

from tailback.gallery.lan.shared.traffic_models import BATCHES, SELF_SIMILAR, UNIFORM, UNIFORM_FIXED, data_source
from tailback.gallery.lan.traffic_models.memory import hurst, variance_time
from tailback.plotting import experiment as fig
from tailback.results import observables as m
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
    Quantity,
    Results,
    Settings,
    grid,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

MEMORY, SIZES, SWITCH = "memory", "sizes", "switch"
"""Purpose of a point: hours in bins of 0.1 s, a minute in bins of 1 ms, or packets lost in A.2's switch."""
POISSON, VIDEO = "Poisson", "video"
UNCUT, BATCHES_UNCUT = "self-similar, uncut", "self-similar, batches, uncut"
BURST = 6
"""Mean burst in kB where memory is measured: the least of the deck's, so that many cycles fit into a run."""
LARGE_BURST = 24
"""Mean burst in kB elsewhere."""
STREAM = 1.5
"""Rate of a video stream, Mbit/s; the loads are one, three and five of it."""
LOADS = (STREAM, 3 * STREAM, 5 * STREAM)
MODELS = (POISSON, UNIFORM_FIXED, UNIFORM, SELF_SIMILAR, BATCHES, VIDEO)
MEASURED = (*MODELS, UNCUT, BATCHES_UNCUT)
PEAKS = (5, 10, 100)
"""Other peak rates of a source, per its mean rate; 50 is the default."""

BIN_S = 0.1
BLOCKS = (1, 2, 5, 10, 20, 50, 100, 200, 300, 450, 600, 900, 1200, 2000, 3000, 5000)
"""Lengths of the variance-time plot, in bins; up to a fiftieth of all are used."""
FIRST_FITTED = 10
"""The slope is fitted from 10 bins on: 1 s, a mean cycle of a source (100 · 8 · 6 kB / 4.5 Mbit/s)."""


def _source(traffic: AxisValue, burst: int, load: AxisValue) -> Table:
    if traffic == POISSON:
        return {"kind": "poisson", "packet": "1500B", "rate": f"{load}Mbit/s"}
    if traffic == VIDEO:
        return {"kind": "video", "rate": f"{STREAM}Mbit/s"}
    if traffic in (UNCUT, BATCHES_UNCUT):
        like = SELF_SIMILAR if traffic == UNCUT else BATCHES
        return {**data_source(like, burst, load), "truncate": "none"}
    if isinstance(traffic, str) and traffic.startswith(_PEAK):
        peak = int(traffic.removeprefix(_PEAK)) * float(load) / 100
        return {**data_source(SELF_SIMILAR, burst, load), "peak": f"{peak:g}Mbit/s"}
    return data_source(traffic, burst, load)


_PEAK = "self-similar, peak "


def _bins(report: Report, width: int = 1) -> list[float]:
    """Bytes that arrived in each bin, or group of bins, all flows together; empty without samples."""
    series = report.data["series"]
    if series is None:
        return []
    sums = [sum(values) for values in zip(*(row["delivered_bytes"] for row in series["flows"].values()), strict=True)]
    return [float(b - a) for a, b in pairwise(sums[::width])]


def _memory(report: Report) -> list[float]:
    """The bins of a point that is for memory; empty elsewhere."""
    return _bins(report) if report.measured_s > 1000 else []


def _blocks(bins: Sequence[float]) -> list[int]:
    return [block for block in BLOCKS if block <= len(bins) / 50]


def _hurst(report: Report) -> float:
    bins = _memory(report)
    return hurst(bins, [block for block in _blocks(bins) if block >= FIRST_FITTED]) if bins else math.nan


def _variation(seconds: float) -> Callable[[Report], float]:
    """Standard deviation of the bytes in intervals of the given seconds, in percent of their mean."""

    def value(report: Report) -> float:
        bins = _memory(report)
        (found,) = variance_time(bins, [round(seconds / BIN_S)]) if bins else [math.nan]
        return 100 * math.sqrt(found)

    return value


class TrafficModels(Experiment):
    """Poisson, uniform-fixed, uniform-uniform, self-similar in two readings, and video."""

    id = "lan-traffic"
    title = "Traffic models"
    reference = "Tobagi, Fraleigh and Noureddine, slides Traffic Models"
    axes = (
        Axis("what", "measured"),
        Axis("traffic", "traffic model"),
        Axis("mechanism", "mechanism"),
        Axis("load", "load", "Mbit/s"),
    )
    quick = Profile(duration="140s", warmup="20s", replications=5, max_replications=20, cpu_s=26)
    full = Profile(duration="620s", warmup="20s", replications=5, max_replications=20, cpu_s=110)
    metrics = (
        Observable("hurst", "Hurst parameter of the bytes", "", _hurst),
        Observable("varies_100ms", "standard deviation of the bytes in 0.1 s", "% of the mean", _variation(0.1)),
        Observable("varies_1s", "standard deviation of the bytes in 1 s", "% of the mean", _variation(1.0)),
        m.loss(),
        m.offered(),
        m.drops_outside("sw*->*", name="drops_elsewhere", label="packets lost anywhere but at switches"),
    )
    traces: ClassVar = {
        "plot": lambda report: variance_time(bins, _blocks(bins)) if (bins := _memory(report)) else [],
        "bins": lambda report: _memory(report)[: 60 * 300],
        "fine": lambda report: [] if report.measured_s > 1000 else _bins(report),
    }

    def points(self, profile: ProfileName) -> Iterable[Point]:
        """Memory and burst sizes of each model at one load; loss at three, and for other peak rates."""
        del profile
        middle = LOADS[1]
        return [
            *grid(what=[MEMORY], traffic=MEASURED, mechanism=["none"], load=[middle]),
            *grid(what=[SIZES], traffic=MODELS, mechanism=["none"], load=[middle]),
            *grid(what=[SWITCH], traffic=MODELS, mechanism=("none", "plain"), load=LOADS),
            *grid(what=[SWITCH], traffic=[f"{_PEAK}{peak}" for peak in PEAKS], mechanism=("none", "plain"), load=LOADS),
        ]

    def scenario(self, point: Point) -> str:
        """Losses are A.2's."""
        return "mismatch.toml" if point["what"] == SWITCH else "scenario.toml"

    def settings(self, point: Point, profile: ProfileName) -> Settings:
        """The source, the length of the run, and the width of the bins."""
        burst = BURST if point["what"] == MEMORY else LARGE_BURST
        settings: Settings = {"flows[data].source": _source(point["traffic"], burst, point["load"])}
        if point["traffic"] == VIDEO:
            settings["flows[data].count"] = round(float(point["load"]) / STREAM)
        if point["what"] == SWITCH:
            return {**settings, "backpressure.scope": point["mechanism"]}
        if point["what"] == SIZES:
            return {**settings, "run.warmup": "0s", "run.duration": "60s", "run.sample": "1ms"}
        # 2^18 bins where the estimate itself is claimed.
        length = "26215s" if profile == "full" or point["traffic"] == UNCUT else "6000s"
        # Whole bursts as packets: the structure of a burst has no effect on bins of 0.1 s, and would cost time.
        framing: Table = {"mtu": "65535B", "header": "0B", "min-frame": "0B", "overhead": "0B"}
        run: Settings = {"run.warmup": "0s", "run.duration": length, "run.sample": "100ms", "network.framing": framing}
        if point["traffic"] in (SELF_SIMILAR, UNCUT):
            settings["flows[data].source.packet"] = f"{BURST}kB"
        return {**settings, **run}

    def claims(self, results: Results) -> Iterable[Claim]:
        """Consequences of the definitions for memory and loss."""
        memory = results.where(what=MEMORY, mechanism="none", load=LOADS[1])
        of = {traffic: memory.where(traffic=traffic) for traffic in MEASURED}
        lost = results.where(what=SWITCH)
        none, plain = lost.where(mechanism="none"), lost.where(mechanism="plain")
        return [
            Claim(
                "H1",
                "Poisson, uniform-fixed and uniform-uniform traffic has no long memory: H is 1/2.",
                "derived: independent bursts of finite variance at independent gaps of finite variance",
                memory.where(traffic=[POISSON, UNIFORM_FIXED, UNIFORM])["hurst"].within(0.4, 0.6),
            ),
            Claim(
                "H2",
                "Self-similar traffic has a Hurst parameter of 0.8 in bytes, within 0.1, if bursts are not cut.",
                'slide Self-Similar Data Traffic Model ("accurately models real backbone Ethernet traffic"); derived: '
                "(3 - 1.4) / 2, Taqqu, Willinger and Sherman 1997",
                of[UNCUT]["hurst"].within(0.7, 0.9),
                headline="self-similar: accurately models real backbone Ethernet traffic",
            ),
            Claim(
                "H3",
                "The bytes of self-similar traffic have more memory than those of bursts of the same sizes that are "
                "there at once, both cut at 5 MB.",
                "derived: independent sizes outweigh the memory of the gaps, over all times in which bursts vary more",
                of[SELF_SIMILAR]["hurst"] > of[BATCHES]["hurst"],
            ),
            Claim(
                "H4",
                "With bursts cut at 5 MB self-similar traffic still has more memory than uniform traffic.",
                "derived: on periods last up to 18 s at the peak rate of 2.25 Mbit/s",
                of[SELF_SIMILAR]["hurst"] > of[UNIFORM]["hurst"],
            ),
            *(
                Claim.comparison(
                    f"H5{letter}",
                    f"Hurst parameter of the bytes, {traffic}.",
                    "slides Traffic Models",
                    of[traffic]["hurst"],
                    why,
                )
                for letter, traffic, why in (
                    ("a", SELF_SIMILAR, "cut at 5 MB, as in the experiments: memory ends where the longest bursts do"),
                    (
                        "b",
                        BATCHES,
                        "cut at 5 MB, as in the experiments: with a finite variance some memory of the gaps",
                    ),
                    ("c", BATCHES_UNCUT, "1/2 by theory; sizes of infinite variance, so estimates scatter widely"),
                    (
                        "d",
                        VIDEO,
                        "a generator; its scenes last some 4 s, so that seconds have memory and minutes none; the "
                        "deck's film may have had more",
                    ),
                )
            ),
            *(
                Claim.comparison(
                    f"V{number}",
                    f"Standard deviation of the bytes in {words}, self-similar.",
                    "calibration of the default peak rate",
                    of[SELF_SIMILAR][metric],
                    f"measured Ethernet would have {measured} % at this load, by the model that Norros (1995) fitted "
                    "to it: sqrt(a/m) t^(H - 1) with a = 262.8 kbit s and H = 0.76, numbers from memory",
                )
                for number, words, metric, measured in (
                    (1, "0.1 s", "varies_100ms", 42),
                    (2, "1 s", "varies_1s", 24),
                )
            ),
            Claim(
                "L1",
                "Poisson packets lose nothing in A.2's switch at any of the loads.",
                "derived: M/D/1 at 0.77 of the link has 33 packets waiting once in 10^7",
                none.where(traffic=POISSON)["loss"].is_zero(),
            ),
            Claim(
                "L2",
                "Bursts of one size lose less than bursts of uniform sizes with the same mean.",
                "derived: both have the same gaps, and half of the uniform bursts are larger",
                (none.where(traffic=UNIFORM_FIXED)["loss"] < none.where(traffic=UNIFORM)["loss"]).where_both_positive(),
            ),
            Claim(
                "L3",
                "Pareto bursts that are there at once lose more than uniform ones of the same mean at every load.",
                "derived: a uniform burst of mean 24 kB fits into 50 kB by itself, Pareto ones above 55 kB have "
                "(6.9/55)^0.4 = 44 % of the bytes",
                none.where(traffic=UNIFORM)["loss"] < none.where(traffic=BATCHES)["loss"],
            ),
            Claim(
                "L4",
                "XON/XOFF loses less of every model than no control, wherever that loses anything.",
                "derived: the same arrivals find eleven times the buffer",
                (plain.where(traffic=MODELS)["loss"] < none.where(traffic=MODELS)["loss"]).where_both_positive(),
            ),
            *(
                Claim.comparison(
                    f"P{number}",
                    f"Loss without control at 4.5 Mbit/s, {traffic}{words}.",
                    "sensitivity: the deck gives no peak rate",
                    none.where(traffic=traffic, load=LOADS[1])["loss"],
                    "the faster the sources send while they are on, the fewer of them are on at once, and the more the "
                    "load varies",
                )
                for number, (traffic, words) in enumerate(
                    (
                        *((f"{_PEAK}{peak}", " times the mean rate") for peak in PEAKS[:2]),
                        (SELF_SIMILAR, ", peak 50 times the mean rate (the default)"),
                        (f"{_PEAK}{PEAKS[2]}", " times the mean rate"),
                        (BATCHES, ""),
                    ),
                    1,
                )
            ),
        ]

    def figures(self, results: Results) -> Iterable[Figure]:
        """Bytes at three scales, the variance-time plot, the Hurst parameters, burst sizes, and loss at one load."""
        memory = results.where(what=MEMORY, mechanism="none", load=LOADS[1])
        lost = results.where(what=SWITCH)
        yield Figure(
            "scales",
            "Bytes in bins of 10 ms, 1 s and 30 s, 4.5 Mbit/s",
            "Columns: ever longer bins, 60 each, cut off at 20 Mbit/s. What has no long memory becomes smooth to the "
            "right. Bursts of 6 kB on average in bins of 1 s and 30 s, of 24 kB in those of 10 ms.",
            lambda: _draw_scales(results),
            claims=("H1", "H2", "H3"),
        )
        yield Figure(
            "variance-time",
            "Variance-time plot of the bytes",
            "Variance of the mean over a time, relative to the squared mean. Dashed: slopes of H = 0.5 and 0.8. One "
            "replication each.",
            lambda: _draw_variance_time(results),
            claims=("H1", "H2", "H3", "H4"),
        )
        yield Figure(
            "hurst",
            "Hurst parameter of the bytes, from 1 s to a fiftieth of a run",
            "Dashed: 0.5, no memory, and 0.8, that of the sum of many sources with Pareto periods of shape 1.4.",
            lambda: _draw_hurst({name: memory.where(traffic=name)["hurst"] for name in MEASURED}),
            claims=("H1", "H2", "H3", "H4", "H5a", "H5b", "H5c", "H5d"),
        )
        yield Figure(
            "sizes",
            "Bytes that come at once",
            "Share of milliseconds with traffic that have at least so many bytes. A burst that is there at once falls "
            "into one of them, or two; self-similar sources with a peak rate spread theirs.",
            lambda: _draw_sizes(results),
        )
        for mechanism, words in (("none", "without control"), ("plain", "with XON/XOFF")):
            at = lost.where(mechanism=mechanism)
            yield fig.compare(
                {name: at.where(traffic=name)["loss"] for name in MODELS},
                f"loss-{mechanism}",
                f"Packet loss at equal load in A.2's switches, {words}",
                "Bursts of 24 kB on average; video of 1, 3 and 5 streams.",
                x="load",
                y_scale="symlog",
                claims=("L1", "L2", "L3", "L4") if mechanism == "none" else ("L4",),
            )
        slow, fast = (
            {f"peak {peak} times the mean": f"{_PEAK}{peak}" for peak in some} for some in (PEAKS[:2], PEAKS[2:])
        )
        peaks = {**slow, "peak 50 times, the default": SELF_SIMILAR, **fast, "batches": BATCHES}
        yield fig.compare(
            {name: lost.where(mechanism="none", traffic=traffic)["loss"] for name, traffic in peaks.items()},
            "peaks",
            "Packet loss of self-similar traffic by the peak rate of its sources",
            "Without control. The deck gives no peak rate.",
            x="load",
            y_scale="symlog",
            claims=[f"P{number}" for number in range(1, 6)],
        )


def _trace(results: Results, name: str, what: str, traffic: str) -> list[float]:
    return cast(list[float], results.trace(name, what=what, traffic=traffic, mechanism="none", load=LOADS[1]))


def _draw_scales(results: Results) -> Drawing:
    from tailback.plotting import plot

    figure = plot.new(3, len(MODELS), width=3.4, height=1.25, sharey=True)
    count = 60
    for row, traffic in enumerate(MODELS):
        fine = _trace(results, "fine", SIZES, traffic)
        coarse = _trace(results, "bins", MEMORY, traffic)
        for column, (bins, per, width) in enumerate(((fine, 10, 0.01), (coarse, 10, 1.0), (coarse, 300, 30.0))):
            axes = figure.axes[3 * row + column]
            rates = [8e-6 * sum(bins[k * per : (k + 1) * per]) / width for k in range(count)]
            axes.bar([width * k for k in range(count)], rates, width=width, align="edge", color=plot.COLOURS[row])
            with plot.style():
                last = row == len(MODELS) - 1
                plot.finish(
                    axes,
                    title=traffic if column == 0 else "",
                    x=f"time (s), bins of {width:g} s" if last else "",
                    y="Mbit/s" if column == 0 else "",
                )
            axes.set_xlim(0, width * count)
            axes.set_ylim(0, 20)
    return figure


def _draw_variance_time(results: Results) -> Drawing:
    from tailback.plotting import plot

    figure = plot.new(width=7.0, height=4.4)
    (axes,) = figure.axes
    across = [BIN_S * block for block in BLOCKS]
    with plot.style():
        for index, traffic in enumerate(MEASURED):
            found = _trace(results, "plot", MEMORY, traffic)
            axes.plot(across[: len(found)], found, marker=".", color=plot.COLOURS[index % 8], label=traffic)
        for memory, level in ((0.5, 1e-2), (0.8, 3e-1)):
            line = [level * (value / across[0]) ** (2 * memory - 2) for value in across]
            axes.plot(across, line, linestyle="--", linewidth=0.9, color="#666666")
            axes.annotate(
                f"H = {memory:g}", (across[-1], line[-1]), fontsize=8, xytext=(4, 0), textcoords="offset points"
            )
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_xlabel("averaged over (s)")
        axes.set_ylabel("variance / mean²")
        axes.legend(loc="upper left", bbox_to_anchor=(1.1, 1.0))
    return figure


def _draw_hurst(quantities: Mapping[str, Quantity]) -> Drawing:
    from tailback.plotting import plot

    figure = plot.new(width=7.0, height=3.2)
    (axes,) = figure.axes
    with plot.style():
        for row, quantity in enumerate(quantities.values()):
            ((_, interval),) = quantity.intervals()
            reach = [[interval.mean - interval.lo], [interval.hi - interval.mean]]
            axes.errorbar([interval.mean], [row], xerr=reach, fmt="o", color=plot.COLOURS[row % 8])
        axes.set_yticks(range(len(quantities)), list(quantities))
        axes.invert_yaxis()
        for level in (0.5, 0.8):
            axes.axvline(level, linestyle="--", linewidth=0.9, color="#666666")
        axes.set_xlim(0.3, 1.0)
        axes.set_xlabel("Hurst parameter")
    return figure


def _draw_sizes(results: Results) -> Drawing:
    from tailback.plotting import plot

    figure = plot.new(width=7.0, height=4.0)
    (axes,) = figure.axes
    with plot.style():
        for index, traffic in enumerate(MODELS):
            found = sorted(1e-3 * value for value in _trace(results, "fine", SIZES, traffic) if value > 0)
            share = [1 - k / len(found) for k in range(len(found))]
            axes.step(*_thinned(found, share), where="post", color=plot.COLOURS[index], label=traffic)
        axes.axvline(50, linestyle="--", linewidth=0.9, color="#666666")
        axes.annotate("50 kB", (50, 1.0), xytext=(3, -2), textcoords="offset points", fontsize=8, va="top")
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_xlabel("bytes in 1 ms (kB)")
        axes.set_ylabel("share with at least so many")
        axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return figure


def _thinned(x: Sequence[float], y: Sequence[float]) -> tuple[list[float], list[float]]:
    """At most some 400 of the points, all of the last 100: enough for a line, and the tail whole."""
    step = max(1, len(x) // 300)
    kept = [k for k in range(len(x)) if k % step == 0 or k >= len(x) - 100]
    return [x[k] for k in kept], [y[k] for k in kept]
