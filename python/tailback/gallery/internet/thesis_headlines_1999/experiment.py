"""The 1999 matrix: the TCP, timers and workloads with which each headline of the thesis is reproduced."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from statistics import pstdev
from typing import cast

from tailback.gallery.internet.shared.dumbbell import sampled
from tailback.gallery.internet.shared.fairness import covered_flows, starved_flows
from tailback.gallery.internet.shared.senders import FLOORS, TIMERS
from tailback.gallery.internet.thesis_headlines_1999.arms import ANY, ARMS
from tailback.gallery.internet.thesis_headlines_1999.drawing import draw_numbers, draw_words
from tailback.gallery.internet.thesis_headlines_1999.headlines import HEADLINES, LATE, Headline
from tailback.results.report import Report
from tailback.scenario import Scenario
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

NAN = float("nan")
STEP_S = 10.0
CHAPTERS = {
    "adaptive": "ECN and Adaptive RED",
    "subtcp": "SubTCP and Adaptive RED on a T1 link",
    "blue": "Blue with a tenth of RED's buffer",
    "understanding": "Blue: queue, marking, and the testbed",
    "sfb": "SFB and a non-responsive flow of 45 Mbit/s, or eight of 5",
}


def _bottleneck(report: Report) -> str:
    names = {port["name"] for port in report.data["ports"]}
    (found,) = names & {"a->b", "r0->r1"}
    return found


def _unresponsive(report: Report) -> int:
    """Return the number of flows that do not respond."""
    return sum(group == "cbr" for group in (flow["group"] for flow in report.flows()))


def _lost(group: str) -> Callable[[Report], float]:
    def value(report: Report) -> float:
        if not _unresponsive(report):
            return NAN
        return 8e-3 * report.dropped_packets(group) / report.measured_s

    return value


def _starved(report: Report) -> float:
    return float(len(starved_flows(report))) if _unresponsive(report) else NAN


def _covered_starved(report: Report) -> float:
    others = _unresponsive(report)
    covered = covered_flows(report, others) if others > 1 else set[int]()
    return 100 * len(covered & starved_flows(report)) / len(covered) if covered else NAN


def _deviation(what: str, step: int) -> Callable[[Report], float]:
    """Return the function that measures a standard deviation in the last 5 s of a step of internet-e13.

    `what` is "queue" (kB) or "probability".
    """

    def value(report: Report) -> float:
        # Only the scenario of internet-e13 has samples.
        if report.data["series"] is None:
            return NAN
        times, port = sampled(report)
        end = STEP_S * step
        chosen = [index for index, at in enumerate(times) if end - 5 <= at < end]
        if what == "queue":
            return 1e-3 * pstdev(port["queue_bytes"][index] for index in chosen)
        probability = port["state"]["probability"]
        return pstdev(probability[index] for index in chosen)

    return value


class Matrix(Experiment):
    """Every headline with every rule for an echo at a window of one segment, all timers, and both workloads."""

    id = "internet-1999"
    title = "Which 1999? The headlines of the thesis with every sender, timer and workload"
    reference = "Feng, thesis defence 1999, slides with results of simulation and testbed"
    axes = (
        Axis("arm", "run"),
        Axis("floor", "rule for an ECN echo at a window of one segment"),
        Axis("timers", "tick and minimum RTO"),
        Axis("workload", "workload"),
    )
    # No more than three replications at a point, even where a claim is undecided, bound the time of a quick run.
    quick = Profile(duration="60s", warmup="35s", replications=3, max_replications=3, cpu_s=6000)
    full = Profile(duration="200s", warmup="100s", replications=8, max_replications=20, cpu_s=60000)
    metrics = (
        Observable("loss", "packet loss", "%", lambda report: 100 * report.port_loss(_bottleneck(report))),
        Observable("utilisation", "utilisation", "%", lambda report: 100 * report.utilisation(_bottleneck(report))),
        Observable("tcp_lost", "TCP lost", "Mbit/s", _lost("tcp")),
        Observable("cbr_lost", "non-responsive lost", "Mbit/s", _lost("cbr")),
        Observable("starved", "starved TCP flows", "flows", _starved),
        Observable("covered_starved", "share of covered flows that is starved", "%", _covered_starved),
        *(
            Observable(
                f"q_sd_{step}",
                f"standard deviation of the queue, {50 * step} connections",
                "kB",
                _deviation("queue", step),
            )
            for step in LATE
        ),
        *(
            Observable(
                f"p_sd_{step}",
                f"standard deviation of the marking probability, {50 * step} connections",
                "",
                _deviation("probability", step),
            )
            for step in LATE
        ),
    )

    def scenario(self, point: Point) -> str:
        """Return the id of the experiment whose scenario is the base of a point; `base` takes it."""
        return ARMS[str(point["arm"])].of

    def base(self, name: str = "scenario.toml") -> Scenario:
        """Return the base scenario of the experiment with this id."""
        from tailback.gallery.registry import experiment

        if name not in self._bases:
            self._bases[name] = experiment(name).base()
        return self._bases[name]

    def points(self, profile: ProfileName) -> Iterable[Point]:
        """Return the points: each arm once in each cell whose choices can affect it."""
        del profile
        return list(
            dict.fromkeys(
                _point(arm, floor, timers, workload)
                for headline in HEADLINES
                for workload in headline.workloads
                for arm in headline.arms
                for floor, timers in _columns()
            )
        )

    def settings(self, point: Point, profile: ProfileName) -> Settings:
        """Return the settings of the arm's discipline and numbers, and of the cell's rule, timers and workload."""
        return ARMS[str(point["arm"])].settings(point, profile)

    def claims(self, results: Results) -> Iterable[Claim]:
        """Yield one claim per headline and cell, decided by its interval; no claim is asserted."""
        for headline in HEADLINES:
            for workload in headline.workloads:
                for floor, timers in _columns():
                    if (cell := _cell(headline, floor, timers)) is not None:
                        yield _claim(results, headline, workload, *cell)

    def figures(self, results: Results) -> Iterable[Figure]:
        """Yield the table of all cells' verdicts, then a table of numbers for each part of the thesis."""
        claims = {claim.id: claim for claim in self.claims(results)}
        rows = {(h, workload): _row(claims, h, workload) for h in HEADLINES for workload in h.workloads}
        yield Figure(
            "words",
            "Headlines reproduced by sender, timers and workload",
            "Blue and a tick: reproduced; orange and a cross: not reproduced; grey and a question mark: undecided, the "
            "interval contains both outcomes. Columns: four rules for an ECN echo at a window of one segment, each "
            "with three timers (clock tick and minimum RTO). Thick frame: the cell nearest to the source's own "
            "conditions. On/off sources were published for E12; elsewhere they are a sensitivity.",
            lambda: draw_words(rows),
        )
        for chapter, title in CHAPTERS.items():
            chosen = {key: row for key, row in rows.items() if key[0].chapter == chapter}
            yield Figure(
                chapter,
                title,
                "Mean and 99 % interval of the quantity that each row names. Blue and a tick: reproduced; orange and a "
                "cross: not reproduced; grey and a question mark: undecided. Thick frame: the cell nearest to the "
                "source's own conditions. A row over several steps shows the worst step.",
                lambda chosen=chosen: draw_numbers(chosen),  # type: ignore[misc]
            )


def _columns() -> Iterator[tuple[str, str]]:
    return ((floor, timers) for floor in FLOORS for timers in TIMERS)


def _point(arm: str, floor: str, timers: str, workload: str) -> Point:
    return Point(arm=arm, floor=floor if ARMS[arm].ruled else ANY, timers=timers, workload=workload)


def _cell(headline: Headline, floor: str, timers: str) -> tuple[str, str] | None:
    """Return the cell's rule and timers. If no arm has a rule, one cell is for all rules, and the others are `None`."""
    if any(ARMS[arm].ruled for arm in headline.arms):
        return floor, timers
    return (ANY, timers) if floor == next(iter(FLOORS)) else None


def claim_id(headline: Headline, workload: str, floor: str, timers: str) -> str:
    """Return the id of a claim, such as `e12-1600.on-off.ns-2.0.5s`."""
    return ".".join((headline.id, workload.replace("/", "-"), floor, timers.split(", ")[1].replace(" ", "")))


def _claim(results: Results, headline: Headline, workload: str, floor: str, timers: str) -> Claim:
    def at(arm: str) -> Results:
        return results.where(**cast("dict[str, str]", dict(_point(arm, floor, timers, workload))))

    rule = {ANY: "with any rule", **FLOORS}[floor]
    own = (floor, timers) in headline.own or (floor == ANY and timers in {t for _, t in headline.own})
    if workload not in headline.published:
        why = "a sensitivity: this workload is not the source's"
    elif own:
        why = "the cell nearest to the source's own conditions, which the source does not state in full"
    else:
        why = "a cell of the matrix, which shows the choices on which the headline depends"
    return Claim.unasserted(
        claim_id(headline, workload, floor, timers),
        f"{headline.sentence} Rule at a window of one segment: {rule}; tick and minimum RTO: {timers}; {workload} "
        "sources.",
        headline.source,
        headline.condition(at),
        why,
    )


def _row(claims: dict[str, Claim], headline: Headline, workload: str) -> dict[tuple[str, str], Claim]:
    """Return the claims of a row by rule and timers; those for any rule are repeated."""
    found = {}
    for floor, timers in _columns():
        for of in (floor, ANY):
            claim = claims.get(claim_id(headline, workload, of, timers))
            if claim is not None:
                found[floor, timers] = claim
    return found
