"""E13, Understanding Blue: fifty more connections every ten seconds, and what RED and Blue make of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise
from statistics import fmean, pstdev
from typing import TYPE_CHECKING, cast

from tailback.gallery import (
    Axis,
    Claim,
    Experiment,
    Figure,
    Metric,
    Point,
    Profile,
    ProfileName,
    Results,
    Settings,
    grid,
)
from tailback.gallery import metrics as m
from tailback.gallery.internet import blue
from tailback.gallery.internet.blue import BLUE
from tailback.gallery.internet.dumbbell import offered_rate, sampled
from tailback.gallery.internet.dumbbell import trace as queue_trace
from tailback.report import Report

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

RFC, NONE = "RFC 3168", "none"
"""What TCP does on an echo at a window of one segment."""
RULES = (RFC, NONE)
NAMES = {"R2": "RED", "B4": "Blue", "B2": "Blue, slow"}
BUFFER_KB, RATE_MBPS = 500, 45
STEP_S, STEPS = 10, 10
EARLY, LATE = (1, 2, 3), tuple(range(5, STEPS + 1))
"""Steps 1 to 3 are 50 to 150 connections; from step 5 on the specification looks."""
IDEAL_S = (25.0, 30.0)
"""The end of the third step, 150 connections."""
_BINS = 10

Series = tuple[list[float], list[float]]


def _probability(report: Report) -> Series:
    """Times and the marking probability: Blue's, or what RED's average stands for."""
    times, port = sampled(report)
    return times, port["state"]["probability"]


def _queue(report: Report) -> Series:
    times, port = sampled(report)
    return times, [1e-3 * level for level in port["queue_bytes"]]


def _ends(series: Series, steps: Iterable[int]) -> Iterator[list[float]]:
    """Yield the values in the last 5 s of each step."""
    times, values = series
    for step in steps:
        end = STEP_S * step
        yield [value for at, value in zip(times, values, strict=True) if end - 5 <= at < end]


def _spread(name: str, label: str, unit: str, of: Callable[[Report], Series], steps: Iterable[int]) -> Metric:
    chosen = tuple(steps)
    return Metric(name, label, unit, lambda report: fmean(pstdev(values) for values in _ends(of(report), chosen)))


def _range(report: Report) -> float:
    return fmean(max(values) - min(values) for values in _ends(_probability(report), LATE))


def _least_rise(report: Report) -> float:
    means = [fmean(values) for values in _ends(_probability(report), LATE)]
    return min(b - a for a, b in pairwise(means))


def _leaps(report: Report) -> tuple[int, int]:
    """In how many spans of one freeze time the probability rises by more than one increment; and out of how many."""
    times, values = _probability(report)
    freeze = 0.1
    span = round(freeze / (times[1] - times[0]))
    rises = [later - now for now, later in zip(values, values[span:], strict=False)]
    return sum(rise > BLUE["B4"][1] + 1e-9 for rise in rises), len(rises)


def _lost_late(report: Report) -> float:
    times, port = sampled(report)
    start = next(index for index, at in enumerate(times) if at >= STEP_S * (LATE[0] - 1))
    return float(port["dropped_packets"][-1] - port["dropped_packets"][start])


def _kept(report: Report) -> dict[str, Series]:
    """Queue and probability throughout, and rates in the stretch of the ideal's picture."""
    found = queue_trace(report, *IDEAL_S)
    times, series = found
    marked = series["marked"]
    kept = range(0, len(times), _BINS)
    rate = [(marked[j] - marked[i]) / (times[j] - times[i]) for i, j in pairwise(kept)]
    return {
        "queue": _queue(report),
        "probability": _probability(report),
        "offered": offered_rate(found, _BINS),
        "marks": ([(times[i] + times[j]) / 2 for i, j in pairwise(kept)], rate),
    }


class UnderstandingBlue(Experiment):
    """50 to 500 connections over 45 Mbit/s, 500 kB."""

    id = "internet-e13"
    title = "Understanding Blue"
    reference = "Feng, thesis defence 1999, slides Ideal Example (Blue) and Understanding Blue"
    axes = (Axis("floor", "answer to an echo at a window of one"), Axis("set", "discipline"))
    quick = Profile(duration="100s", warmup="5s", replications=4, max_replications=12, cpu_s=25)
    full = Profile(duration="100s", warmup="5s", replications=10, max_replications=60, cpu_s=200)
    metrics = (
        _spread("q_sd_early", "deviation of the queue, 50 to 150 connections", "kB", _queue, EARLY),
        _spread("q_sd", "deviation of the queue, 250 to 500 connections", "kB", _queue, LATE),
        _spread("p_sd_early", "deviation of the probability, 50 to 150 connections", "", _probability, EARLY),
        _spread("p_sd", "deviation of the probability, 250 to 500 connections", "", _probability, LATE),
        Metric("p_range", "range of the probability within 5 s, 250 to 500 connections", "", _range),
        Metric(
            "p_rise",
            "least rise of the mean probability from step to step, from 250 connections on",
            "",
            _least_rise,
            lowest=None,
        ),
        Metric("leaps", "spans of 100 ms with more than one increment", "", lambda r: float(_leaps(r)[0]), _leaps),
        Metric("lost", "packets lost with 250 to 500 connections", "packets", _lost_late),
        m.utilisation("a->b", label="utilisation"),
    )
    traces = {"kept": _kept}  # noqa: RUF012

    def points(self, profile: ProfileName) -> Iterable[Point]:
        """RED and Blue under both rules; slow Blue in full."""
        return grid(floor=RULES, set=tuple(NAMES) if profile == "full" else ("R2", "B4"))

    def settings(self, point: Point, profile: ProfileName) -> Settings:
        """Only the discipline and the rule change."""
        del profile
        floor = "rfc3168" if point["floor"] == RFC else "none"
        rule: Settings = {f"flows[tcp{k}].transport.ecn-floor": floor for k in range(STEPS)}
        return blue.settings(str(point["set"]), BUFFER_KB) | rule

    def claims(self, results: Results) -> Iterable[Claim]:
        """The checks of the specification."""
        red, blue_ = results.where(set="R2"), results.where(set="B4")
        yield Claim(
            "C1",
            "From 250 connections on, within the last 5 s of each step, the deviation of Blue's probability is less "
            "than a fifth of that of RED's.",
            "slides Understanding Blue, marking behavior; specification E13",
            blue_["p_sd"] <= 0.2 * red["p_sd"],
        )
        yield Claim(
            "C2",
            "RED's probability spans a wider range than Blue's.",
            "the same",
            red["p_range"] > blue_["p_range"],
        )
        yield Claim(
            "C3a",
            "With the rule of RFC 3168 Blue's queue deviates less than RED's from 250 connections on, on average over "
            "the steps.",
            "slides Understanding Blue, queue length plots; specification E13",
            blue_.where(floor=RFC)["q_sd"] < red.where(floor=RFC)["q_sd"],
        )
        yield Claim(
            "C3b",
            "With 50 to 150 connections it deviates less than half as much, with the rule and without.",
            "the same slides; the range of connections was chosen after the runs, see the page",
            blue_["q_sd_early"] <= 0.5 * red["q_sd_early"],
        )
        yield Claim.comparison(
            "C3c",
            "Without the rule, from 250 connections on: deviation of Blue's queue less that of RED's.",
            "specification E13",
            blue_.where(floor=NONE)["q_sd"] - red.where(floor=NONE)["q_sd"],
            "not reproduced without the rule: windows are near one segment, their acknowledgements clock the queue, "
            "and RED's stands still as well as Blue's",
        )
        yield Claim(
            "C4",
            "From 250 connections on, from step to step, the mean of Blue's probability does not fall by more than one "
            "decrement.",
            "derived: more connections need a higher probability; specification E13",
            blue_["p_rise"] >= -BLUE["B4"][2],
        )
        yield Claim(
            "C5",
            "In no span of one freeze time does Blue's probability rise by more than one increment.",
            "the algorithm on slide Example Blue Algorithm",
            blue_["leaps"].is_zero(),
        )
        yield Claim(
            "C6",
            "Both use 98 % of the link or more.",
            "specification E12(e), asked of both",
            results.where(set=["R2", "B4"])["utilisation"] >= 98,
        )
        yield Claim.comparison(
            "C7",
            "Packets lost from 250 connections on, RED's less Blue's. The specification expects no fewer with RED.",
            "specification E13",
            red["lost"] - blue_["lost"],
            "not reproduced: Blue learns of a higher load from lost packets only and pays some for each step of the "
            "load, while RED with a maximum probability of 1 and 500 kB marks early enough",
        )

    def figures(self, results: Results) -> Iterable[Figure]:
        """The slides: queue, marking, and the ideal."""
        for rule, tag, words in ((RFC, "rule", "with the rule of RFC 3168"), (NONE, "none", "without the rule")):
            kept = {
                name: cast("dict[str, Series]", results.trace("kept", floor=rule, set=name)) for name in ("R2", "B4")
            }
            yield Figure(
                f"queue-{tag}",
                f"Queue length, {words}",
                "First replication; 50 more connections at each grey line. Dashed: the buffer.",
                lambda kept=kept: _over_time(kept, "queue", "queue (kB)", BUFFER_KB),  # type: ignore[misc]
                claims=("C3a", "C3b") if rule == RFC else ("C3b", "C3c", "C7"),
            )
            yield Figure(
                f"marking-{tag}",
                f"Marking probability, {words}",
                "RED's follows its average queue; Blue's moves by one increment or decrement at most every 100 ms.",
                lambda kept=kept: _over_time(kept, "probability", "probability", 1.0),  # type: ignore[misc]
                claims=("C1", "C2", "C4", "C5"),
            )
        kept = {name: cast("dict[str, Series]", results.trace("kept", floor=RFC, set=name)) for name in ("R2", "B4")}
        yield Figure(
            "ideal",
            "The ideal: marks at a steady rate keep the sources at L",
            "The end of the third step, 150 connections, with the rule. What comes to the link per 100 ms (L dashed), "
            "and how many of its packets are marked.",
            lambda: _ideal(kept),
            claims=("C3b",),
        )


def _over_time(kept: dict[str, dict[str, Series]], what: str, y: str, top: float) -> Drawing:
    from tailback import plot

    figure = plot.new(1, len(kept), width=8.0, height=2.5, sharex=True, sharey=True)
    for index, (axes, (name, series)) in enumerate(zip(figure.axes, kept.items(), strict=True)):
        times, values = series[what]
        with plot.style():
            for step in range(STEP_S, STEP_S * STEPS, STEP_S):
                axes.axvline(step, color="#bbbbbb", linewidth=0.8)
            axes.plot(times, values, linewidth=0.7, color=plot.COLOURS[1 - index])
            axes.axhline(top, color="#666666", linestyle="--", linewidth=0.9)
            plot.finish(axes, title=NAMES[name], x="time (s)" if index == len(kept) - 1 else "", y=y)
            axes.set_xlim(0, STEP_S * STEPS)
            axes.set_ylim(0, 1.05 * top)
    return figure


def _ideal(kept: dict[str, dict[str, Series]]) -> Drawing:
    from tailback import plot

    figure = plot.new(2, 2, width=5.2, height=2.4, sharex=True, sharey="row")
    for column, (name, series) in enumerate(kept.items()):
        for row, (what, y) in enumerate((("offered", "arrives (Mbit/s)"), ("marks", "marks per second"))):
            axes = figure.axes[2 * row + column]
            with plot.style():
                axes.plot(*series[what], linewidth=1.1, color=plot.COLOURS[1 - column])
                if what == "offered":
                    axes.axhline(RATE_MBPS, color="#666666", linestyle="--", linewidth=0.9)
                plot.finish(
                    axes,
                    title=NAMES[name] if row == 0 else "",
                    x="time (s)" if row else "",
                    y=y if column == 0 else "",
                )
                axes.set_xlim(*IDEAL_S)
    return figure
