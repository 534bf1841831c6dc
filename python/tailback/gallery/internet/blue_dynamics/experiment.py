"""internet-e13, Understanding Blue: RED and Blue while fifty connections are added every ten seconds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from itertools import pairwise
from statistics import fmean, pstdev
from typing import TYPE_CHECKING, cast

from tailback.gallery.internet.shared import blue, subtcp
from tailback.gallery.internet.shared.blue import BLUE
from tailback.gallery.internet.shared.dumbbell import offered_rate, sampled
from tailback.gallery.internet.shared.dumbbell import trace as queue_trace
from tailback.results import observables as m
from tailback.results.report import Report
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
    Results,
    Settings,
    grid,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

NS2, RFC, NONE = "ns-2.35", "RFC 3168", "none"
"""TCP's rule for an echo at a small window. The thesis used ns: `NS2` also has all other rules of ns-2.35's sender."""
FLOORS: dict[AxisValue, tuple[str, str]] = {
    NS2: ("ns2", "with ns-2.35's sender"),
    RFC: ("rfc", "with the rule of RFC 3168"),
    NONE: ("none", "without a rule"),
}
"""By rule: tag in the ids of claims and the names of figures, and the rule in words."""
# Names of the sets in figures.
NAMES = {"R2": "RED", "B4": "Blue", "B2": "Blue, slow"}
BUFFER_KB, RATE_MBPS = 500, 45
# Length of a step, number of steps, and connections added in each.
STEP_S, STEPS, PER_STEP = 10, 10, 50
ALL = tuple(range(1, STEPS + 1))
LATE = tuple(range(5, STEPS + 1))
"""Steps that the claims test: 250 to 500 connections."""
IDEAL_S = (25.0, 30.0)
"""Times in s of the picture of the ideal: the end of the third step, 150 connections."""
# Number of sampling intervals over which rates are averaged.
_BINS = 10

# Times in s and values.
Series = tuple[list[float], list[float]]


def _probability(report: Report) -> Series:
    """Return times in s and the marking probability: Blue's, or that of RED at its average queue."""
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


def _per_step(
    name: str, label: str, unit: str, of: Callable[[Report], Series], figure: Callable[[list[float]], float]
) -> list[Observable]:
    """Return a metric `<name>_<step>` for each step: the statistic `figure` of the series `of` in its last 5 s."""

    def at(step: int) -> Callable[[Report], float]:
        return lambda report: figure(next(_ends(of(report), [step])))

    return [Observable(f"{name}_{step}", f"{label}, {PER_STEP * step} connections", unit, at(step)) for step in ALL]


def _each_step(red: Results, blue_: Results, name: str, text: str) -> Condition:
    """Return the condition that Blue's deviation is below RED's in each of `LATE`; checks name their connections."""
    checks = [
        replace(check, at=", ".join(filter(None, (check.at, f"{PER_STEP * step} connections"))))
        for step in LATE
        for check in (blue_[f"{name}_{step}"] < red[f"{name}_{step}"]).checks
    ]
    return Condition(f"standard deviation of {text}, Blue < RED, in each step from the fifth on", tuple(checks))


# Mean over the steps of `LATE` of the range of the probability within the last 5 s of a step.
def _range(report: Report) -> float:
    return fmean(max(values) - min(values) for values in _ends(_probability(report), LATE))


def _rises(blue_: Results) -> Condition:
    """Return the condition that the mean probability falls by at most a decrement from each of `LATE` to the next."""
    checks = [
        replace(check, at=", ".join(filter(None, (check.at, f"{PER_STEP * (step - 1)} to {PER_STEP * step}"))))
        for step in LATE[1:]
        for check in (blue_[f"p_mean_{step}"] - blue_[f"p_mean_{step - 1}"] >= -BLUE["B4"][2]).checks
    ]
    return Condition("mean probability of a step minus that of the step before ≥ -0.002", tuple(checks))


def _leaps(report: Report) -> tuple[int, int]:
    """Return the number of spans of one freeze time with a rise by more than one increment, and that of all spans."""
    times, values = _probability(report)
    freeze = 0.1
    span = round(freeze / (times[1] - times[0]))
    rises = [later - now for now, later in zip(values, values[span:], strict=False)]
    return sum(rise > BLUE["B4"][1] + 1e-9 for rise in rises), len(rises)


# Number of packets lost from the first step of `LATE` on.
def _lost_late(report: Report) -> float:
    times, port = sampled(report)
    start = next(index for index, at in enumerate(times) if at >= STEP_S * (LATE[0] - 1))
    return float(port["dropped_packets"][-1] - port["dropped_packets"][start])


def _kept(report: Report) -> dict[str, Series]:
    """Return queue and probability of the whole run, and arrival and marking rates during `IDEAL_S`."""
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
    """50 to 500 connections share 45 Mbit/s with a buffer of 500 kB."""

    id = "internet-e13"
    title = "Understanding Blue"
    reference = "Feng, thesis defence 1999, slides Ideal Example (Blue) and Understanding Blue"
    axes = (Axis("floor", "rule for an echo at a window of one segment"), Axis("set", "discipline"))
    quick = Profile(duration="100s", warmup="5s", replications=4, max_replications=12, cpu_s=25)
    full = Profile(duration="100s", warmup="5s", replications=10, max_replications=60, cpu_s=120)
    metrics = (
        *_per_step("p_mean", "mean of the probability", "", _probability, fmean),
        *_per_step("q_sd", "standard deviation of the queue", "kB", _queue, pstdev),
        *_per_step("p_sd", "standard deviation of the probability", "", _probability, pstdev),
        Observable("p_range", "range of the probability in the last 5 s of a step, 250 to 500 connections", "", _range),
        Observable(
            "leaps", "spans of 100 ms with a rise by more than one increment", "", lambda r: float(_leaps(r)[0]), _leaps
        ),
        Observable("lost", "packets lost with 250 to 500 connections", "packets", _lost_late),
        m.utilisation("a->b", label="utilisation"),
    )
    traces = {"kept": _kept}  # noqa: RUF012

    def points(self, profile: ProfileName) -> Iterable[Point]:
        """Return the points: RED and Blue with each sender, and in full also Blue with slow steps."""
        return grid(floor=tuple(FLOORS), set=tuple(NAMES) if profile == "full" else ("R2", "B4"))

    def settings(self, point: Point, profile: ProfileName) -> Settings:
        """Return the settings of the discipline and of each group's sender."""
        del profile
        floor = {NS2: "ns-2", RFC: "rfc3168", NONE: "none"}[str(point["floor"])]
        hosts: Settings = {}
        for flow in (f"tcp{k}" for k in range(STEPS)):
            hosts |= {f"flows[{flow}].transport.ecn-floor": floor}
            if point["floor"] == NS2:
                hosts |= subtcp.of_ns2(flow)
        return blue.settings(str(point["set"]), BUFFER_KB) | hosts

    def claims(self, results: Results) -> Iterable[Claim]:
        """Return the claims on queue, probability, loss and utilisation, with each of the three senders."""
        red, blue_ = results.where(set="R2"), results.where(set="B4")
        red_ns, blue_ns = red.where(floor=NS2), blue_.where(floor=NS2)
        queues, marking = "slides Understanding Blue, queue length plots", "slides Understanding Blue, marking behavior"
        yield Claim(
            "C1",
            "With ns-2.35's sender the standard deviation of Blue's queue is less than that of RED's, in the last 5 s "
            "of each step from 250 to 500 connections.",
            f"{queues}; the measure reconstructed",
            _each_step(red_ns, blue_ns, "q_sd", "the queue"),
            headline="RED's queue swings, Blue's is steady (queue length plots)",
        )
        yield Claim(
            "C2",
            "With ns-2.35's sender the standard deviation of Blue's marking probability is less than that of RED's, "
            "in the last 5 s of each step from 250 to 500 connections.",
            f"{marking}; the measure reconstructed",
            _each_step(red_ns, blue_ns, "p_sd", "the probability"),
            headline="RED's marking swings, Blue's is steady (marking behavior)",
        )
        yield Claim(
            "C3",
            "Within the last 5 s of the steps from 250 to 500 connections RED's marking probability spans a wider "
            "range than Blue's, with each of the three senders.",
            f"{marking}; the measure reconstructed",
            red["p_range"] > blue_["p_range"],
        )
        yield Claim(
            "C4",
            "From step to step between 250 and 500 connections the mean of Blue's probability does not fall by more "
            "than one decrement.",
            "derived: more connections need a higher probability",
            _rises(blue_),
        )
        yield Claim(
            "C5",
            "In no span of one freeze time does Blue's probability rise by more than one increment.",
            "the algorithm on slide Example Blue Algorithm",
            blue_["leaps"].is_zero("spans of 100 ms"),
        )
        yield Claim(
            "C6",
            "RED and Blue both use 98 % of the link or more, with each of the three senders.",
            "reconstructed, as C5 of internet-e12 for Blue",
            results.where(set=["R2", "B4"])["utilisation"] >= 98,
        )
        for floor, (tag, words) in FLOORS.items():
            yield Claim.unasserted(
                f"C7-{tag}",
                f"{_capital(words)} RED loses no fewer packets than Blue, with 250 to 500 connections.",
                "reconstructed",
                red.where(floor=floor)["lost"] >= blue_.where(floor=floor)["lost"],
                {
                    NS2: "RED's losses come in a few bursts and vary between runs by more than Blue's mean loss",
                    RFC: (
                        "Blue detects a higher load by lost packets only and loses some at each step of the load, "
                        "while RED with a maximum probability of 1 and 500 kB marks early enough"
                    ),
                    NONE: (
                        "as with the rule of RFC 3168: Blue detects a higher load by lost packets only, while RED "
                        "marks early enough"
                    ),
                }[str(floor)],
            )
        for floor in (RFC, NONE):
            tag, words = FLOORS[floor]
            why = (
                "sensitivity to the sender, which is not the thesis': here no mark silences a window of two or three "
                "segments, so that RED's marks reduce the load less, and its queue swings less"
            )
            yield Claim.unasserted(
                f"C1-{tag}",
                f"{_capital(words)} the standard deviation of Blue's queue is less than that of RED's, in the last 5 "
                "s of each step from 250 to 500 connections.",
                f"{queues}; another sender than the thesis'",
                _each_step(red.where(floor=floor), blue_.where(floor=floor), "q_sd", "the queue"),
                why,
            )
            yield Claim.unasserted(
                f"C2-{tag}",
                f"{_capital(words)} the standard deviation of Blue's marking probability is less than that of RED's, "
                "in the last 5 s of each step from 250 to 500 connections.",
                f"{marking}; another sender than the thesis'",
                _each_step(red.where(floor=floor), blue_.where(floor=floor), "p_sd", "the probability"),
                "sensitivity to the sender, which is not the thesis'",
            )

    def figures(self, results: Results) -> Iterable[Figure]:
        """Yield the slides' plots and the ideal with ns-2.35's sender, the plots with the others, and all steps."""
        for floor, (tag, words) in FLOORS.items():
            kept = {
                name: cast("dict[str, Series]", results.trace("kept", floor=floor, set=name)) for name in ("R2", "B4")
            }
            yield Figure(
                f"queue-{tag}",
                f"Queue length, {words}",
                "First replication. 50 connections are added at each grey line. Dashed: the buffer.",
                lambda kept=kept: _over_time(kept, "queue", "queue (kB)", BUFFER_KB),  # type: ignore[misc]
                claims=("C1", "C7-ns2") if floor == NS2 else (f"C1-{tag}", f"C7-{tag}"),
            )
            yield Figure(
                f"marking-{tag}",
                f"Marking probability, {words}",
                "First replication. RED's probability follows its average queue; Blue's changes by one increment or "
                "decrement at most every 100 ms.",
                lambda kept=kept: _over_time(kept, "probability", "probability", 1.0),  # type: ignore[misc]
                claims=("C2", "C3", "C4", "C5") if floor == NS2 else (f"C2-{tag}",),
            )
            if floor == NS2:
                yield Figure(
                    "ideal",
                    "The ideal: marks at a steady rate keep the sources at the link's rate L",
                    "The end of the third step, 150 connections, with ns-2.35's sender. Above: arrival rate per 100 "
                    "ms, with L dashed; below: marked packets per second.",
                    lambda kept=kept: _ideal(kept),  # type: ignore[misc]
                    claims=("C1",),
                )
        yield Figure(
            "steps",
            "Standard deviation of queue and probability in the last 5 s of each step",
            "The claims use the steps right of the dotted line, 250 to 500 connections.",
            lambda: _steps(results),
            claims=("C1", "C2", "C1-rfc", "C2-rfc", "C1-none", "C2-none"),
        )


def _capital(words: str) -> str:
    return words[0].upper() + words[1:]


def _over_time(kept: dict[str, dict[str, Series]], what: str, y: str, top: float) -> Drawing:
    from tailback.plotting import plot

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
    from tailback.plotting import plot

    figure = plot.new(2, 2, width=5.2, height=2.4, sharex=True, sharey="row")
    for column, (name, series) in enumerate(kept.items()):
        for row, (what, y) in enumerate((("offered", "arrival rate (Mbit/s)"), ("marks", "marks per second"))):
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


def _steps(results: Results) -> Drawing:
    """Draw the standard deviations of queue and probability against the connections, one column per sender."""
    from tailback.plotting import plot

    figure = plot.new(len(FLOORS), 2, width=3.4, height=2.6, sharex=True, sharey="row")
    for row, (name, y) in enumerate((("q_sd", "s.d. of queue (kB)"), ("p_sd", "s.d. of probability"))):
        for column, floor in enumerate(FLOORS):
            axes = figure.axes[len(FLOORS) * row + column]
            with plot.style():
                for index, which in enumerate(("B4", "R2")):
                    at = results.where(floor=floor, set=which)
                    found = [next(i for _, i in at[f"{name}_{step}"].intervals()) for step in ALL]
                    plot.curve(axes, [PER_STEP * step for step in ALL], found, label=NAMES[which], index=index)
                axes.axvline(PER_STEP * (LATE[0] - 0.5), color="#888888", linestyle=":", linewidth=0.9)
                plot.finish(
                    axes,
                    title=str(floor) if row == 0 else "",
                    x="connections" if row else "",
                    y=y if column == 0 else "",
                    ticks=[100.0, 300.0, 500.0],
                )
                legend = axes.get_legend()
                if legend is not None and (row, column) != (0, len(FLOORS) - 1):
                    legend.remove()
    return figure
