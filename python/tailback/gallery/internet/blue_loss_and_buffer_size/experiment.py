"""internet-e12, Blue evaluation: loss against buffer size, and the load at which RED needs ten times Blue's buffer."""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from operator import and_

from tailback.gallery.internet.blue_loss_and_buffer_size.drawings import (
    draw_fairness,
    draw_headline,
    draw_losses,
    draw_trade_off,
)
from tailback.gallery.internet.shared import blue
from tailback.gallery.internet.shared.blue import BLUE, RED, freeze_s
from tailback.gallery.internet.shared.senders import (
    BACKOFF,
    BSD,
    FLOORS,
    NONE,
    NS2,
    NS2_TIMERS,
    ON_OFF,
    PERSISTENT,
    RFC,
    THESIS,
    TIMERS,
    sender,
    timers,
    workload,
)
from tailback.results import observables as m
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
    Results,
    Settings,
    grid,
)
from tailback.study.experiment.quantity import Quantity, Selector

DROP = "no ECN"
"""Value of the axis `floor` for senders without ECN, which get no echoes."""
MAIN = {RFC: NS2_TIMERS, NS2: NS2_TIMERS, NONE: THESIS, BACKOFF: NS2_TIMERS, DROP: NS2_TIMERS}
"""Timers with which each rule is judged: those of ns-2.35, so that results can be compared with it. Without a rule, the
mode of 1999, they are those calibrated in internet-e15."""
SOURCES = (400, 1600)
"""Numbers of connections on the slides."""
PUBLISHED = (1000, 4000)
"""Numbers of on/off sources in the publication."""
BEYOND = (3200, 4000)
"""Numbers of persistent connections with which the headline is asserted."""
BYTES_PER_MS = 45e3 / 8
"""Rate of the bottleneck, bytes per ms."""
# Blue's and RED's buffer in the headline, kB.
SMALL, LARGE = 100, 1000
# Buffers of the full profile, kB.
BUFFERS = (100, 200, 300, 500, 700, 1000)
# Sets of RED and Blue in the headline and the comparisons.
TYPICAL = ("R2", "B4")
LARGE_WEIGHTS = ("R2", "R3", "R4")
"""RED's sets that Blue is compared with. With the smaller weight of R1 RED reacts slowly, more like Blue."""
RESOLUTION = 0.05
"""Largest difference of losses that count as equal, percentage points."""
NS2_LOSS = {400: 4.40, 1600: 3.92}
"""Loss in % of R2 with 100 kB in ns-2.35, by number of connections."""
HEADLINE = "slides Blue Evaluation; published claim, from memory"
# Parts of the ids of claims and the names of figures, by rule and by timers.
TAGS = {RFC: "rule", BACKOFF: "doubling", NS2: "ns2", NONE: "none", DROP: "drop"}
TIMER_TAGS = {NS2_TIMERS: "0.2s", THESIS: "0.5s", BSD: "1s"}


class BlueEvaluation(Experiment):
    """400 to 4000 connections share 45 Mbit/s with buffers of 100 to 1000 kB."""

    id = "internet-e12"
    title = "Blue against RED: loss and buffer size"
    reference = "Feng, thesis defence 1999, slides Blue Evaluation"
    axes = (
        Axis("floor", "rule for an echo at a window of one segment"),
        Axis("timers", "clock tick and minimum RTO"),
        Axis("workload", "workload"),
        Axis("sources", "connections"),
        Axis("set", "discipline"),
        Axis("buffer", "buffer", "kB"),
    )
    quick = Profile(duration="50s", warmup="35s", replications=3, max_replications=12, cpu_s=160)
    full = Profile(duration="120s", warmup="60s", replications=4, max_replications=12, cpu_s=1500)
    metrics = (
        m.port_loss("a->b"),
        m.utilisation("a->b", label="utilisation"),
        m.mean_queue("a->b", label="mean queue"),
        Observable(
            "queueing",
            "mean queueing delay",
            "ms",
            lambda report: report.mean_queue_bytes("a->b") / BYTES_PER_MS,
        ),
        m.jain("tcp"),
    )

    def points(self, profile: ProfileName) -> Iterable[Point]:
        """Return the points of the slides' curves, by rule, and the headline's pairs with more timers and sources."""
        full = profile == "full"
        points: list[Point] = []
        for floor in (RFC, NONE):
            if full:
                points += _grid(floor, SOURCES, (*RED, *BLUE), BUFFERS)
            else:
                points += _grid(floor, SOURCES, TYPICAL, (SMALL, 300, LARGE))
                points += _grid(floor, SOURCES, ("R1", "R3", "B2"), (SMALL, LARGE))
        points += _grid(NS2, SOURCES, TYPICAL, BUFFERS if full else (SMALL, LARGE))
        points += _grid(DROP, SOURCES, TYPICAL, BUFFERS if full else (SMALL, LARGE))
        for floor, timer, load, sources in _headlines(profile):
            points += _pair(floor, timer, load, sources)
        return list(dict.fromkeys(points))

    def settings(self, point: Point, profile: ProfileName) -> Settings:
        """Return the settings of discipline, buffer, number of connections, sender, timers and workload."""
        name, buffer, floor = str(point["set"]), float(point["buffer"]), point["floor"]
        ecn = floor != DROP
        return {
            **blue.settings(name, buffer, ecn=ecn),
            "flows[tcp].count": point["sources"],
            "flows[tcp].transport.ecn": "classic" if ecn else "off",
            **(sender(floor) if ecn else {}),
            **timers(point["timers"]),
            **workload(point["workload"]),
            **(_longer(point) if profile == "quick" else {}),
        }

    def claims(self, results: Results) -> Iterable[Claim]:
        """Return the claims on loss, utilisation and delay, and the headline's claim for each combination."""
        rfc, none = (
            results.where(floor=f, timers=MAIN[f], workload=PERSISTENT, sources=list(SOURCES)) for f in (RFC, NONE)
        )
        both = (rfc, none)
        sets = _sets(results)
        blues = tuple(name for name in BLUE if name in sets)
        large = [name for name in LARGE_WEIGHTS if name in sets]
        yield Claim(
            "C1",
            "With 400 and 1600 connections, the rule of RFC 3168 or no rule, any set of parameters and any buffer, "
            f"Blue loses no more than RED with a weight of 0.002 or more, within {RESOLUTION} percentage points.",
            "slides Blue Evaluation; published claim, from memory; resolution reconstructed",
            _all(
                r.where(set=b, **_buffers(r, b, d))["loss"] - r.where(set=d, **_buffers(r, b, d))["loss"] <= RESOLUTION
                for r in both
                for b in blues
                for d in large
            ),
        )
        yield Claim(
            "C2",
            "With 400 and 1600 connections Blue's loss does not grow with the buffer, with any of its sets and within "
            f"{RESOLUTION} percentage points: neither with the rule of RFC 3168 nor, with the timers that internet-e15 "
            "calibrates, without a rule.",
            "published claim, from memory; resolution reconstructed; timers as calibrated in internet-e15",
            _all(r.where(set=b)["loss"].non_increasing("buffer", RESOLUTION) for r in both for b in blues),
        )
        yield Claim(
            "C3a",
            "Without a rule and with 100 kB, 1600 connections lose more than 400 do, with every set of Blue's and "
            "with RED's smallest weight.",
            "derived: the minimum load is one segment per round trip and connection",
            _all(_more(none.where(buffer=SMALL), name) for name in _sets(none) if name not in large),
        )
        yield Claim(
            "C3b",
            "With the rule of RFC 3168 and with 100 kB, 1600 connections lose more than 400 do, with every set of "
            "Blue's and with RED's smallest weight.",
            "derived as C3a: more connections need more marks or losses",
            _all(_more(rfc.where(buffer=SMALL), name) for name in _sets(rfc) if name not in large),
        )
        slow = "published claim, from memory: a small weight makes RED act like Blue"
        yield Claim(
            "C4",
            "With the rule of RFC 3168, 100 kB and 400 connections, RED loses less with a weight of 0.0002 than with "
            "0.02.",
            slow,
            rfc.where(buffer=SMALL, sources=400, set="R1")["loss"]
            < rfc.where(buffer=SMALL, sources=400, set="R3")["loss"],
        )
        yield Claim.unasserted(
            "C4-none",
            "Without a rule, with 100 kB and 400 connections, RED loses less with a weight of 0.0002 than with 0.02.",
            slow,
            none.where(buffer=SMALL, sources=400, set="R1")["loss"]
            < none.where(buffer=SMALL, sources=400, set="R3")["loss"],
            "without a rule nearly every packet must be marked at any average queue, so that the weight hardly matters",
        )
        yield Claim(
            "C5",
            "With 400 and 1600 connections, the rule of RFC 3168 or no rule, Blue uses 98 % of the link or more.",
            "reconstructed",
            _all(r.where(set=blues)["utilisation"] >= 98 for r in both),
        )
        at_400 = rfc.where(buffer=SMALL, sources=400)
        yield Claim(
            "C6",
            "With the rule of RFC 3168, 100 kB and 400 connections, Blue loses less than a tenth of what RED with a "
            "weight of 0.002 or more loses.",
            "derived from the headline of the slides: the comparison at equal buffers",
            _all(at_400.where(set=b)["loss"] <= 0.1 * at_400.where(set=r)["loss"] for b in blues for r in large),
        )
        yield Claim.unasserted(
            "C6-none",
            "Without a rule, with 100 kB and 400 connections, Blue (B4) loses less than a tenth of what RED (R2) "
            "loses.",
            "derived from the headline of the slides: the comparison at equal buffers",
            none.where(buffer=SMALL, sources=400, set="B4")["loss"]
            <= 0.1 * none.where(buffer=SMALL, sources=400, set="R2")["loss"],
            "400 connections send at least 400 packets per round trip, for which link and buffer together barely have "
            "room, and no marking can prevent the loss",
        )
        for row in _headlines(results.profile):
            yield _headline(results, *row)
        yield Claim(
            "C7",
            "With Blue and a buffer of 100 kB the mean queueing delay is at most 17.8 ms.",
            "slide Blue Evaluation: 100 KB (17.8 ms); by construction",
            _all(r.where(buffer=SMALL, set=blues)["queueing"] <= 17.8 for r in both),
        )
        for n in SOURCES:
            for floor in (RFC, NONE, NS2):
                yield Claim.comparison(
                    f"R2-{n}-{TAGS[floor]}",
                    f"Loss of RED (R2) with 100 kB and {n} connections, {_words(floor)}; ns-2.35: {NS2_LOSS[n]} %.",
                    "ns-2.35, one run",
                    _at(results, floor, sources=n, set="R2", buffer=SMALL)["loss"],
                    "not judged: another simulator, whose sender has ns-2.35's rule",
                )
        for floor in (RFC, NONE):
            yield Claim.comparison(
                f"delay-{TAGS[floor]}",
                f"Mean queueing delay of RED (R2) with 1000 kB and 400 and 1600 connections, {_words(floor)}; "
                "ns-2.35: 71 to 105 ms.",
                "ns-2.35, one run",
                _at(results, floor, sources=list(SOURCES), set="R2", buffer=LARGE)["queueing"],
                "not judged: another simulator",
            )
            yield Claim.comparison(
                f"jain-{TAGS[floor]}",
                f"Fairness with 1600 connections and 100 kB, {_words(floor)}: Jain's index of their goodputs.",
                "not on the slides",
                _at(results, floor, sources=1600, buffer=SMALL, set=list(TYPICAL))["jain"],
                "not judged; it shows the price of a low loss",
            )

    def figures(self, results: Results) -> Iterable[Figure]:
        """Yield loss against buffer with RFC 3168's rule, no rule and no ECN; the headline; delay; fairness."""
        both = tuple(f"C{n}" for n in (1, 2, 4, 6))
        for floor, claims in (
            (RFC, (*both, "C3b")),
            (NONE, (*both[:2], "C3a", "C4-none", "C6-none")),
            (DROP, ("F-400-drop", "F-1600-drop")),
        ):
            at = results.where(floor=floor, timers=MAIN[floor], workload=PERSISTENT, sources=list(SOURCES))
            names = [name for name in _sets(at) if floor != DROP or name in TYPICAL]
            linear = floor != RFC
            yield Figure(
                f"loss-{TAGS[floor]}",
                f"Loss against buffer, {_words(floor)}",
                "RED: orange, dashed; Blue: blue, solid. Points are not joined where fewer than three buffers were run."
                + ("" if linear else " The axis includes zero; its scale is linear below 0.01 %."),
                lambda at=at, names=names, linear=linear: draw_losses(at, names, linear=linear),  # type: ignore[misc]
                claims=claims,
            )
        rows = _headlines(results.profile)
        yield Figure(
            "headline",
            "The headline: Blue with 100 kB against RED with 1000 kB",
            "Left: persistent connections; right: the publication's on/off sources; one colour per rule, paler with "
            "other timers than the rule's main ones. Points are not joined, and RED's are hollow, where fewer than "
            "three numbers of sources were run. The axis includes zero; its scale is linear below 0.01 %.",
            lambda: draw_headline(results, rows),
            claims=tuple(
                dict.fromkeys(
                    _headline_id(floor, timer, load, n) for floor, timer, load, n in rows if timer == MAIN[floor]
                )
            ),
        )
        yield Figure(
            "delay",
            "Loss against mean queueing delay",
            "One line per discipline and rule, from 100 kB (small mark) to 1000 kB (large mark). Lower left is better.",
            lambda: draw_trade_off(_main(results)),
            claims=("C7", "delay-rule", "delay-none"),
        )
        yield Figure(
            "fairness",
            "Fairness against buffer",
            "Jain's index of the goodputs over the measured part of a run: 1 if all connections get the same.",
            lambda: draw_fairness(_main(results)),
            claims=("jain-rule", "jain-none"),
        )


def _grid(floor: str, sources: Iterable[int], sets: Iterable[str], buffers: Iterable[int]) -> list[Point]:
    return grid(
        floor=[floor], timers=[MAIN[floor]], workload=[PERSISTENT], sources=sources, set=sets, buffer=buffers
    )  # fmt: skip


def _pair(floor: str, timer: str, load: str, sources: int) -> list[Point]:
    """Return the headline's two points: Blue with the small buffer, and RED with the large one."""
    return [
        Point(floor=floor, timers=timer, workload=load, sources=sources, set=name, buffer=buffer)
        for name, buffer in (("B4", SMALL), ("R2", LARGE))
    ]


# Rule for echoes, timers, workload and number of sources.
Row = tuple[str, str, str, int]


def _headlines(profile: ProfileName) -> list[Row]:
    """Return the combinations with which Blue (100 kB) is compared with RED (1000 kB), each once."""
    full = profile == "full"
    rules = (RFC, BACKOFF, NS2, NONE) if full else (RFC, NS2, NONE)
    rows: list[Row] = []
    for n in SOURCES:
        rows += [(floor, MAIN[floor], PERSISTENT, n) for floor in (*rules, DROP)]
        rows += [(NS2, THESIS, PERSISTENT, n)]
    for n in PUBLISHED:
        rows += [(floor, MAIN[floor], ON_OFF, n) for floor in rules]
    for n in (2000, 2400, *BEYOND) if full else BEYOND:
        rows += [(floor, MAIN[floor], PERSISTENT, n) for floor in (rules if full else (RFC, BACKOFF, NS2))]
    # Sensitivity of the verdict to the timers.
    rows += [(floor, timer, PERSISTENT, 1600) for floor in (RFC, NONE) for timer in TIMERS]
    rows += [(NS2, BSD, PERSISTENT, 3200)]
    if full:
        numbers = (*SOURCES, 2000, 2400, *BEYOND)
        rows += [(floor, timer, PERSISTENT, n) for floor in (RFC, NS2, NONE) for timer in TIMERS for n in numbers]
        rows += [(floor, timer, ON_OFF, n) for floor in (RFC, NS2, NONE) for timer in TIMERS for n in PUBLISHED]
    return list(dict.fromkeys(rows))


def _headline_id(floor: str, timer: str, load: str, n: int) -> str:
    parts = [f"F-{n}", *(["on-off"] if load == ON_OFF else []), TAGS[floor]]
    return "-".join([*parts, *([TIMER_TAGS[timer]] if timer != MAIN[floor] else [])])


def _headline(results: Results, floor: str, timer: str, load: str, n: int) -> Claim:
    """Return the claim that Blue with 100 kB loses less than RED with 1000 kB, for one combination.

    The claim is asserted for combinations in which it holds with a wide margin. With a doubling timeout and 3200 or
    4000 persistent connections the margin is a factor of ten.
    """
    at = results.where(floor=floor, timers=timer, workload=load, sources=n)
    small, large = at.where(set="B4", buffer=SMALL)["loss"], at.where(set="R2", buffer=LARGE)["loss"]
    who = (
        f"{n} {'on/off sources' if load == ON_OFF else 'connections'}, {_words(floor)}, "
        f"clock tick and minimum RTO of {timer}"
    )
    words = (
        "slides' number of connections"
        if n in SOURCES and load == PERSISTENT
        else "published workload"
        if load == ON_OFF
        else ""
    )
    source = (
        f"{HEADLINE}; {words}" if words else "the claim of the slides with more connections than on the slides; derived"
    )
    id = _headline_id(floor, timer, load, n)  # noqa: A001
    shown = floor == NS2 and timer == MAIN[floor] and words and n != min(PUBLISHED)
    headline = f"{n} sources: Blue with 100 kB loses less than RED with 1000 kB" if shown else ""
    main, many = timer == MAIN[floor], n in BEYOND and load == PERSISTENT
    if floor in (BACKOFF, NS2) and many and main:
        text = f"Blue with 100 kB loses less than a tenth of what RED loses with 1000 kB: {who}."
        return Claim(id, text, source, small <= 0.1 * large)
    text = f"Blue with 100 kB loses less than RED with 1000 kB: {who}."
    published = floor in (RFC, NS2) and load == ON_OFF and n == max(PUBLISHED)
    if main and (published or (floor == RFC and (many or n == 1600))):
        return Claim(id, text, source, large - small > 0, headline=headline)
    return Claim.unasserted(id, text, source, large - small > 0, _why(floor, timer, n, load), headline)


def _why(floor: str, timer: str, n: int, load: str) -> str:
    if floor == DROP:
        return (
            "without ECN loss is the only signal: sources need a certain loss whichever discipline drops, and a "
            "higher one with a smaller buffer"
        )
    if floor == NONE:
        return (
            "windows cannot shrink below one segment: whether 1000 kB are enough for all of them, and how much a "
            "timeout slows a source, depends on their number and on the timers, which the slides do not state"
        )
    if (n == 400 and load == PERSISTENT) or (n == 1000 and load == ON_OFF):
        return "RED with 1000 kB has room for a packet of every connection, loses next to nothing, and cannot be beaten"
    if floor == RFC and timer != MAIN[floor]:
        return (
            "sensitivity: a longer minimum RTO lowers the minimum load, which is one segment per timeout and connection"
        )
    return (
        "a timeout that doubles lowers the minimum load, so that RED with 1000 kB loses nothing with this number of "
        "sources"
    )


def _longer(point: Point) -> Settings:
    """Return the duration and warm-up of a quick run if the point needs longer ones than the profile's.

    Blue's slowest set, B2, takes 40 s from a probability of 0 to 1. With the rule of RFC 3168 Blue loses few packets,
    and without a rule the two losses of the headline at 1600 connections differ little; these points are measured for
    longer. Only points with up to 1600 persistent connections have times of their own.
    """
    name, buffer = str(point["set"]), float(point["buffer"])
    if name in BLUE and freeze_s(name) > 10:
        return {"run.duration": "80s", "run.warmup": "60s"}
    if point["workload"] == ON_OFF or int(point["sources"]) > max(SOURCES):
        return {}
    if point["floor"] == RFC and name in BLUE:
        return {"run.duration": "80s", "run.warmup": "40s"}
    if point["floor"] == NONE and point["sources"] == 1600 and (name, buffer) in (("B4", SMALL), ("R2", LARGE)):
        return {"run.duration": "90s"}
    return {}


def _at(results: Results, floor: str, **selectors: object) -> Results:
    return results.where(floor=floor, timers=MAIN[floor], workload=PERSISTENT, **selectors)  # type: ignore[arg-type]


def _main(results: Results) -> dict[str, Results]:
    """Return the results with 400 and 1600 connections, with RFC 3168's rule and without one, by the rule's name."""
    return {FLOORS[floor]: _at(results, floor, sources=list(SOURCES)) for floor in (RFC, NONE)}


def _buffers(results: Results, *names: str) -> dict[str, Selector]:
    """Return the selector of the buffers with which each of the named sets was simulated."""
    of = [results.where(set=name)["loss"].values_of("buffer") for name in names]
    return {"buffer": [value for value in of[0] if all(value in others for others in of)]}


def _sets(results: Results) -> list[str]:
    return [str(name) for name in results["loss"].values_of("set")]


def _all(conditions: Iterable[Condition]) -> Condition:
    return reduce(and_, conditions)


def _more(results: Results, name: str) -> Condition:
    loss: Quantity = results.where(set=name)["loss"]
    return loss.where(sources=1600) > loss.where(sources=400)


def _words(floor: str) -> str:
    return {
        RFC: "rule of RFC 3168",
        BACKOFF: "rule of RFC 3168 with a doubling timeout",
        NS2: "ns-2.35's sender",
        NONE: "no rule",
        DROP: "no ECN",
    }[floor]
