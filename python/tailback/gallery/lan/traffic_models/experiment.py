"""lan-traffic, the four traffic models of the slides compared: bursts, long memory, and loss at equal loads."""

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
"""What a point measures: memory over an hour or more in bins of 0.1 s, bytes per millisecond over a minute, or the loss
in A.2's switches."""
POISSON, VIDEO = "Poisson", "video"
UNCUT, BATCHES_UNCUT = "self-similar, uncut", "self-similar, batches, uncut"
BURST = 6
"""Mean burst where memory is measured, kB: the smallest of the slides, so that a run has many cycles."""
LARGE_BURST = 24
"""Mean burst where sizes or losses are measured, kB."""
STREAM = 1.5
"""Rate of a video stream, Mbit/s; the loads are those of one, three and five streams."""
# Loads, Mbit/s.
LOADS = (STREAM, 3 * STREAM, 5 * STREAM)
MODELS = (POISSON, UNIFORM_FIXED, UNIFORM, SELF_SIMILAR, BATCHES, VIDEO)
MEASURED = (*MODELS, UNCUT, BATCHES_UNCUT)
PEAKS = (5, 10, 100)
"""Peak rates of a source other than the default of 50, as multiples of its mean rate."""

# Width of a bin where memory is measured.
BIN_S = 0.1
BLOCKS = (1, 2, 5, 10, 20, 50, 100, 200, 300, 450, 600, 900, 1200, 2000, 3000, 5000)
"""Block lengths of the variance-time plot, in bins; those up to a fiftieth of the run are used."""
FIRST_FITTED = 10
"""Shortest block of the fitted slope, in bins: 1 s, a mean cycle of a source (100 · 8 · 6 kB / 4.5 Mbit/s)."""


# Source of a host: burst size in kB, load in Mbit/s.
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
    """Return the bytes of all flows that arrived in each group of `width` bins; empty without samples."""
    series = report.data["series"]
    if series is None:
        return []
    sums = [sum(values) for values in zip(*(row["delivered_bytes"] for row in series["flows"].values()), strict=True)]
    return [float(b - a) for a, b in pairwise(sums[::width])]


def _memory(report: Report) -> list[float]:
    """Return the bins of a point where memory is measured; empty at other points."""
    return _bins(report) if report.measured_s > 1000 else []


# Block lengths of the variance-time plot, in bins: those up to a fiftieth of the run.
def _blocks(bins: Sequence[float]) -> list[int]:
    return [block for block in BLOCKS if block <= len(bins) / 50]


# Hurst parameter of the bytes; NaN at points where memory is not measured.
def _hurst(report: Report) -> float:
    bins = _memory(report)
    return hurst(bins, [block for block in _blocks(bins) if block >= FIRST_FITTED]) if bins else math.nan


def _variation(seconds: float) -> Callable[[Report], float]:
    """Return the function that measures the standard deviation of the bytes in intervals, in % of the mean."""

    def value(report: Report) -> float:
        bins = _memory(report)
        (found,) = variance_time(bins, [round(seconds / BIN_S)]) if bins else [math.nan]
        return 100 * math.sqrt(found)

    return value


class TrafficModels(Experiment):
    """Poisson, uniform-fixed, uniform-uniform, self-similar in two interpretations, and video traffic."""

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
        m.drops_outside("sw*->*", name="drops_elsewhere", label="packets lost outside the switches"),
    )
    traces: ClassVar = {
        "plot": lambda report: variance_time(bins, _blocks(bins)) if (bins := _memory(report)) else [],
        "bins": lambda report: _memory(report)[: 60 * 300],
        "fine": lambda report: [] if report.measured_s > 1000 else _bins(report),
    }

    def points(self, profile: ProfileName) -> Iterable[Point]:
        """Return the points: memory and sizes of each model at one load; loss at three loads, also by peak rate."""
        del profile
        middle = LOADS[1]
        return [
            *grid(what=[MEMORY], traffic=MEASURED, mechanism=["none"], load=[middle]),
            *grid(what=[SIZES], traffic=MODELS, mechanism=["none"], load=[middle]),
            *grid(what=[SWITCH], traffic=MODELS, mechanism=("none", "plain"), load=LOADS),
            *grid(what=[SWITCH], traffic=[f"{_PEAK}{peak}" for peak in PEAKS], mechanism=("none", "plain"), load=LOADS),
        ]

    def scenario(self, point: Point) -> str:
        """Return A.2's network for losses, and a single link otherwise."""
        return "mismatch.toml" if point["what"] == SWITCH else "scenario.toml"

    def settings(self, point: Point, profile: ProfileName) -> Settings:
        """Return the settings of the source, of the length of the run, and of the width of the bins."""
        burst = BURST if point["what"] == MEMORY else LARGE_BURST
        settings: Settings = {"flows[data].source": _source(point["traffic"], burst, point["load"])}
        if point["traffic"] == VIDEO:
            settings["flows[data].count"] = round(float(point["load"]) / STREAM)
        if point["what"] == SWITCH:
            return {**settings, "backpressure.scope": point["mechanism"]}
        if point["what"] == SIZES:
            return {**settings, "run.warmup": "0s", "run.duration": "60s", "run.sample": "1ms"}
        # 2^18 bins where the value of the Hurst parameter is claimed.
        length = "26215s" if profile == "full" or point["traffic"] == UNCUT else "6000s"
        # Whole bursts as packets: the structure of a burst has no effect on bins of 0.1 s, and would cost time.
        framing: Table = {"mtu": "65535B", "header": "0B", "min-frame": "0B", "overhead": "0B"}
        run: Settings = {"run.warmup": "0s", "run.duration": length, "run.sample": "100ms", "network.framing": framing}
        if point["traffic"] in (SELF_SIMILAR, UNCUT):
            settings["flows[data].source.packet"] = f"{BURST}kB"
        return {**settings, **run}

    def claims(self, results: Results) -> Iterable[Claim]:
        """Return the claims on memory and loss that follow from the models' definitions, and comparisons."""
        memory = results.where(what=MEMORY, mechanism="none", load=LOADS[1])
        by_model = {traffic: memory.where(traffic=traffic) for traffic in MEASURED}
        lost = results.where(what=SWITCH)
        none, plain = lost.where(mechanism="none"), lost.where(mechanism="plain")
        return [
            Claim(
                "H1",
                "Poisson, uniform-fixed and uniform-uniform traffic has no long memory: its Hurst parameter is 0.5, "
                "within 0.1.",
                "derived: independent bursts of finite variance at independent gaps of finite variance",
                memory.where(traffic=[POISSON, UNIFORM_FIXED, UNIFORM])["hurst"].within(0.4, 0.6),
            ),
            Claim(
                "H2",
                "The bytes of self-similar traffic have a Hurst parameter of 0.8, within 0.1, if bursts are not "
                "truncated.",
                'slide Self-Similar Data Traffic Model ("accurately models real backbone Ethernet traffic"); derived: '
                "(3 - 1.4) / 2, Taqqu, Willinger and Sherman 1997",
                by_model[UNCUT]["hurst"].within(0.7, 0.9),
                headline="self-similar: accurately models real backbone Ethernet traffic",
            ),
            Claim(
                "H3",
                "The Hurst parameter of the bytes is larger with self-similar traffic from sources with a peak rate "
                "than with bursts of the same sizes each generated at one instant, both truncated at 5 MB.",
                "derived: the variance of independent sizes outweighs the memory of the gaps",
                by_model[SELF_SIMILAR]["hurst"] > by_model[BATCHES]["hurst"],
            ),
            Claim(
                "H4",
                "With bursts truncated at 5 MB the Hurst parameter of self-similar traffic is still larger than that "
                "of uniform-uniform traffic.",
                "derived: on periods last up to 18 s at the peak rate of 2.25 Mbit/s",
                by_model[SELF_SIMILAR]["hurst"] > by_model[UNIFORM]["hurst"],
            ),
            *(
                Claim.comparison(
                    f"H5{letter}",
                    f"Hurst parameter of the bytes, {traffic}.",
                    "slides Traffic Models",
                    by_model[traffic]["hurst"],
                    why,
                )
                for letter, traffic, why in (
                    (
                        "a",
                        SELF_SIMILAR,
                        "truncated at 5 MB, as in the experiments: memory ends at the duration of the longest bursts",
                    ),
                    (
                        "b",
                        BATCHES,
                        "truncated at 5 MB, as in the experiments: as the variance is finite, some memory of the gaps "
                        "remains",
                    ),
                    (
                        "c",
                        BATCHES_UNCUT,
                        "0.5 by theory; the sizes have infinite variance, so estimates scatter widely",
                    ),
                    (
                        "d",
                        VIDEO,
                        "a generator with scenes of about 4 s, so that there is memory over seconds and none over "
                        "minutes; the slides' film may have had more",
                    ),
                )
            ),
            *(
                Claim.comparison(
                    f"V{number}",
                    f"Standard deviation of the bytes in {words} relative to their mean, self-similar traffic at 4.5 "
                    "Mbit/s.",
                    "calibration of the default peak rate",
                    by_model[SELF_SIMILAR][metric],
                    f"measured Ethernet traffic would have {measured} % at this load, by the model that Norros (1995) "
                    "fitted to it: sqrt(a/m) t^(H - 1) with a = 262.8 kbit s and H = 0.76, parameters quoted from "
                    "memory",
                )
                for number, words, metric, measured in (
                    (1, "0.1 s", "varies_100ms", 42),
                    (2, "1 s", "varies_1s", 24),
                )
            ),
            Claim(
                "L1",
                "Poisson traffic loses no packet in A.2's switch without control at 1.5, 4.5 and 7.5 Mbit/s.",
                "derived: in M/D/1 at a load of 0.77, 33 packets wait with a probability of about 10^-7",
                none.where(traffic=POISSON)["loss"].is_zero(),
            ),
            Claim(
                "L2",
                "Without control less is lost of bursts of one size than of bursts of uniformly distributed sizes "
                "with the same mean, at loads at which packets of both are lost.",
                "derived: both have the same gaps, and half of the uniform bursts are larger",
                (none.where(traffic=UNIFORM_FIXED)["loss"] < none.where(traffic=UNIFORM)["loss"]).where_both_positive(),
            ),
            Claim(
                "L3",
                "Without control more is lost of Pareto bursts that are each generated at one instant than of uniform "
                "bursts of the same mean, at every load.",
                "derived: a single uniform burst of mean 24 kB fits into 50 kB; Pareto bursts above 55 kB carry "
                "(6.9/55)^0.4 = 44 % of the bytes",
                none.where(traffic=UNIFORM)["loss"] < none.where(traffic=BATCHES)["loss"],
            ),
            Claim(
                "L4",
                "With every traffic model less is lost with XON/XOFF than without control, at loads at which packets "
                "are lost with both.",
                "derived: with XON/XOFF the same bursts can use 550 kB instead of 50 kB",
                (plain.where(traffic=MODELS)["loss"] < none.where(traffic=MODELS)["loss"]).where_both_positive(),
            ),
            *(
                Claim.comparison(
                    f"P{number}",
                    f"Loss without control at 4.5 Mbit/s, {traffic}{words}.",
                    "sensitivity: the slides give no peak rate",
                    none.where(traffic=traffic, load=LOADS[1])["loss"],
                    "the higher the peak rate, the fewer sources are on at the same time, and the more the load varies",
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
        """Yield bytes at three time scales, variance-time plot, Hurst parameters, bytes per millisecond, and loss."""
        memory = results.where(what=MEMORY, mechanism="none", load=LOADS[1])
        lost = results.where(what=SWITCH)
        yield Figure(
            "scales",
            "Bytes in bins of 10 ms, 1 s and 30 s, 4.5 Mbit/s",
            "Bins get longer from left to right, 60 in each panel; values above 20 Mbit/s are cut off. Traffic "
            "without long memory becomes smooth to the right. Bursts of 6 kB on average for bins of 1 s and 30 s, of "
            "24 kB for bins of 10 ms.",
            lambda: _draw_scales(results),
            claims=("H1", "H2", "H3"),
        )
        yield Figure(
            "variance-time",
            "Variance-time plot of the bytes",
            "Variance of the mean over a time, divided by the squared mean. Dashed: slopes of H = 0.5 and 0.8. First "
            "replication.",
            lambda: _draw_variance_time(results),
            claims=("H1", "H2", "H3", "H4"),
        )
        yield Figure(
            "hurst",
            "Hurst parameter of the bytes, from 1 s to a fiftieth of a run",
            "Dashed: 0.5, without long memory, and 0.8, the sum of many sources with Pareto periods of shape 1.4.",
            lambda: _draw_hurst({name: memory.where(traffic=name)["hurst"] for name in MEASURED}),
            claims=("H1", "H2", "H3", "H4", "H5a", "H5b", "H5c", "H5d"),
        )
        yield Figure(
            "sizes",
            "Distribution of the bytes in a millisecond",
            "Share of the milliseconds with traffic that have at least the number of bytes on the x axis. A burst "
            "that is generated at one instant arrives within one or two milliseconds; self-similar sources with a "
            "peak rate send each burst over a longer time.",
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
        peaks = {**slow, "peak 50 times the mean (default)": SELF_SIMILAR, **fast, "batches": BATCHES}
        yield fig.compare(
            {name: lost.where(mechanism="none", traffic=traffic)["loss"] for name, traffic in peaks.items()},
            "peaks",
            "Packet loss of self-similar traffic by the peak rate of its sources",
            "Without control. The slides give no peak rate.",
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
        axes.set_xlabel("averaging time (s)")
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
        axes.set_ylabel("share of milliseconds with at least these bytes")
        axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return figure


def _thinned(x: Sequence[float], y: Sequence[float]) -> tuple[list[float], list[float]]:
    """Return at most about 400 of the points, among them the last 100, so that the tail is complete."""
    step = max(1, len(x) // 300)
    kept = [k for k in range(len(x)) if k % step == 0 or k >= len(x) - 100]
    return [x[k] for k in kept], [y[k] for k in kept]
