"""internet-scoreboard: every queue discipline and the thesis' proposals under heavy load, without ECN and with it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from tailback.gallery.internet.heavy_load_every_discipline import rows
from tailback.gallery.internet.heavy_load_every_discipline.drawing import draw
from tailback.gallery.internet.heavy_load_every_discipline.rows import OFF, ON, board
from tailback.gallery.internet.shared import dumbbell, tcpmodel
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
    Quantity,
    Results,
    Settings,
)

RATE = 10e6
"""Rate of the bottleneck, bit/s."""
PACKET_BITS = 8000
HEAVY = 100
"""Number of connections of the scoreboard itself; 25 and 400 are run in full only."""
DELAY_TARGET = ("codel", "pie", "cobalt", "dualpi2")
"""Disciplines of one queue with a target delay."""
LEFT_MS, BOTTLENECK_MS, RIGHT_MS = (20, 5, 1, 5, 20), 10, (1, 5, 20, 5, 1)
"""One-way delays of the scenario's links, ms."""
SENDING_S = 1.2e-3
"""Transmission time of a packet and its acknowledgement over all links, s."""

MISSED: Mapping[str, str] = {
    "G2-early": (
        "AVQ aims at 98 % by its own law, and its queue (3 ms) is too short for the rule of √N; CHOKe, with each "
        "packet that matches, takes a second packet of the connection out of the queue; adaptive RED of 2001 has a "
        "queue of 5.3 ms and is at the bound (98.8 %)"
    ),
    "G3-cobalt": (
        "the Blue part of COBALT drops and never marks: the overflows of the start raise Blue's probability to 0.18, "
        "which takes 45 "
        "s to fall to 0; after that nothing is lost, but a quick run ends before"
    ),
    "G3-pi": (
        "the constants of PI belong to another load: a queue 50 packets above the reference raises the probability by "
        "0.0005 per second, so that it takes ten minutes to the 0.3 that this load needs"
    ),
    "G3-rem": (
        "the constants of REM belong to another load: the price that means a probability of 0.35 takes 100 s, which "
        "only the "
        "runs of --full have"
    ),
    "G3-sfb": (
        "a bin's probability rises at 13 packets, and 23 bins share a buffer of 100 packets, which overflows before "
        "bins are full"
    ),
    "T2-adaptive": "adaptive RED leaves next to nothing to improve: the TCP of 1999 loses less than 0.1 % behind it",
    "T3-B2": (
        "steps of 0.0025 per 100 ms take 14 s to the 0.35 that this load needs, and steps downwards are a tenth of "
        "that: the mean includes the overflows on the way"
    ),
}
"""Reasons, as far as they are known, of claims that are known not to hold."""


def _queueing(report: Report) -> float:
    """Return the mean time in ms that the queue takes to drain."""
    return 1e3 * 8 * report.mean_queue_bytes(dumbbell.BOTTLENECK) / RATE


def _marked(report: Report) -> float:
    """Return the share of the sent packets that were marked, percent."""
    found = [row for port in report.ports(dumbbell.BOTTLENECK) for row in port["classes"]]
    sent = sum(row["sent"]["packets"] for row in found)
    return 100 * sum(row["marked_packets"] for row in found) / sent if sent else 0.0


def needed_loss(response: tcpmodel.Response, connections: int, queueing_ms: float, busy: float = 1.0) -> float:
    """Return the loss in % at which this number of connections just fills the link, by a TCP model.

    `queueing_ms` is the mean queueing delay, and `busy` the share of time, from 0 to 1, for which the link sends.
    Connections have random ends, so that each of the 25 pairs of access delays has the same weight.
    """
    pairs = [(left, right) for left in LEFT_MS for right in RIGHT_MS]
    trips = [2e-3 * (left + BOTTLENECK_MS + right) + SENDING_S + 1e-3 * queueing_ms for left, right in pairs]
    share = busy * RATE / PACKET_BITS * len(pairs) / connections
    return 100 * tcpmodel.loss_needed(response, trips, share)


def _per(response: tcpmodel.Response, report: Report) -> float:
    """Return the loss divided by the loss that a model needs at the discipline's mean queue and utilisation."""
    busy = report.utilisation(dumbbell.BOTTLENECK)
    return (
        100
        * report.port_loss(dumbbell.BOTTLENECK)
        / needed_loss(response, len(report.transports()), _queueing(report), busy)
    )


class Scoreboard(Experiment):
    """Every discipline, and the thesis' proposals, under one load."""

    id = "internet-scoreboard"
    title = "Scoreboard: every discipline under heavy load"
    reference = "Feng, thesis defence 1999: the goal of no loss, full utilisation and low delay"
    axes = (
        Axis("connections", "connections"),
        Axis("queue", "queue discipline"),
        Axis("ecn", "ECN"),
    )
    quick = Profile(duration="40s", warmup="10s", replications=3, max_replications=12, cpu_s=35)
    full = Profile(duration="120s", warmup="20s", replications=5, max_replications=20, cpu_s=800)
    metrics = (
        m.port_loss(dumbbell.BOTTLENECK),
        m.utilisation(dumbbell.BOTTLENECK, label="utilisation"),
        Observable("queueing", "mean queueing delay", "ms", _queueing, precision=(0.1, 0.5)),
        m.delay_quantile(0, "p99", "p99", "one-way delay, 99th percentile"),
        m.goodput(),
        m.jain(),
        Observable("marked", "packets marked", "%", _marked),
        Observable(
            "timeouts",
            "timeouts",
            "1/s",
            lambda report: sum(row["timeouts"] for row in report.transports()) / report.measured_s,
        ),
        Observable("waiting", "loss, relative to the model of TCP with timeouts", "", lambda r: _per(tcpmodel.pftk, r)),
        Observable(
            "smooth", "loss, relative to the model of TCP without timeouts", "", lambda r: _per(tcpmodel.square_root, r)
        ),
    )

    def points(self, profile: ProfileName) -> Iterable[Point]:
        """Return the points: every row without ECN, and with it if the row can mark; in full also at other loads."""
        loads = (HEAVY, 25, 400) if profile == "full" else (HEAVY,)
        return [
            Point(connections=load, queue=row.name, ecn=ecn)
            for load in loads
            for ecn in (OFF, ON)
            for row in board().values()
            if ecn in row.ecn
        ]

    def settings(self, point: Point, profile: ProfileName) -> Settings:
        """Return the settings of the row's discipline and sender; the buffer is the same for all rows."""
        del profile
        row = board()[str(point["queue"])]
        return {"flows[tcp].count": point["connections"], **row.settings(str(point["ecn"]))}

    def claims(self, results: Results) -> Iterable[Claim]:
        """Return the claims: consequences of TCP models, the effect of marks, the thesis' statements, the scores."""
        heavy = results.where(connections=HEAVY)
        without, ecn = heavy.where(ecn=OFF), heavy.where(ecn=ON)
        usual: list[AxisValue] = [row.name for row in board().values() if not row.sender]
        early = [name for name in usual if name not in rows.ONLY_OVERFLOW]
        targets = without.where(queue=list(DELAY_TARGET))["queueing"]
        plain = without.where(queue=usual)
        return [
            _claim(
                "G1",
                "Without ECN the loss of each discipline is at least what the model of TCP with timeouts needs at the "
                "discipline's mean queue, and at most what the model without timeouts needs.",
                "derived: Padhye et al. 1998 and Mathis et al. 1997, for 100 connections with round trips of 24 to "
                "100 ms plus the queueing delay",
                (plain["waiting"] >= 1) & (plain["smooth"] <= 1),
            ),
            _claim(
                "G1-Reno",
                "With Reno, the sender of the model, drop-tail's loss is that of the model with timeouts, within a "
                "factor of 2.",
                "derived: Padhye et al. 1998",
                without.where(queue=rows.RENO)["waiting"].within(0.5, 2),
            ),
            _claim(
                "G2",
                "Without ECN, disciplines that drop only when the buffer is full keep the link busy for more than "
                "99.9 % of the time.",
                "derived: the buffer of 100 packets is more than the path's 68, so that the queue does not run empty "
                "even if all windows are halved at once",
                without.where(queue=list(rows.ONLY_OVERFLOW))["utilisation"] > 99.9,
            ),
            _claim(
                "G2-early",
                "Without ECN, disciplines that drop before the buffer is full keep the link busy for more than 99 % "
                "of the time.",
                "derived: 68 / √100 packets, or 5.4 ms, are enough for 100 windows that are not synchronised "
                "(Appenzeller, Keslassy and McKeown, SIGCOMM 2004)",
                without.where(queue=early)["utilisation"] > 99,
            ),
            *_marking(without, ecn),
            _claim(
                "G4",
                "Without ECN, disciplines of one queue with a target delay have a lower mean queueing delay than "
                "drop-tail.",
                "RFC 8289, 8033, 9332: the purpose of these disciplines",
                targets < without.where(queue="drop-tail")["queueing"],
            ),
            *_thesis(without, ecn),
            *(
                Claim.comparison(
                    f"S{index}",
                    text,
                    "not on the slides",
                    heavy.where(ecn=ecn)[name],
                    "a score, not judged; see the figure",
                )
                for index, (text, name, ecn) in enumerate(
                    (
                        ("Loss with ECN: the goal is 0 %.", "loss", ON),
                        ("Utilisation with ECN: the goal is 100 %.", "utilisation", ON),
                        ("Mean queueing delay with ECN: the goal is a low delay.", "queueing", ON),
                        ("Mean queueing delay without ECN.", "queueing", OFF),
                        ("Goodput with ECN.", "goodput", ON),
                        ("Goodput without ECN.", "goodput", OFF),
                        ("Fairness without ECN: Jain's index of the goodputs.", "jain", OFF),
                    ),
                    1,
                )
            ),
        ]

    def figures(self, results: Results) -> Iterable[Figure]:
        """Yield the board, one figure per load, with one row for each discipline."""
        shown = [claim.id for claim in self.claims(results)]
        for load in results["loss"].values_of("connections"):
            found = results.where(connections=load)
            yield Figure(
                "scoreboard" if load == HEAVY else f"scoreboard-{load}",
                f"All disciplines, {load} connections over 10 Mbit/s",
                "Orange squares: without ECN; blue circles: with ECN. Green lines: the thesis' goal of no loss, a "
                "full link and no queue, and the largest possible goodput and Jain's index. Grey bars: the loss "
                "without ECN that models of TCP with timeouts (left end) and without (right end) need at the row's "
                "own queue. Each discipline has its defaults, the thesis' proposals the thesis' parameters, and all a "
                "buffer of 100 kB (80 ms).",
                lambda found=found, load=load: draw(found, int(load), needed_loss),  # type: ignore[misc]
                claims=tuple(shown) if load == HEAVY else (),
            )


def _claim(id: str, text: str, source: str, condition: Condition, headline: str = "") -> Claim:  # noqa: A002
    """Return a claim, which is asserted unless it is known not to hold."""
    if id in MISSED:
        return Claim.unasserted(id, text, source, condition, MISSED[id], headline)
    return Claim(id, text, source, condition, headline=headline)


def _marking(without: Results, ecn: Results) -> Iterable[Claim]:
    """Yield a claim on the effect of ECN for each discipline of one queue that can mark.

    The claim depends on the probabilities at which the discipline marks: all, or only those up to a limit.
    """
    for row in board().values():
        if row.group not in (rows.ONE, rows.APART) or ON not in row.ecn:
            continue
        of = re.sub(r"[^a-z0-9]+", "-", row.name).strip("-")
        marked, dropped = ecn.where(queue=row.name)["loss"], without.where(queue=row.name)["loss"]
        if row.name in rows.TURNED_OFF:
            yield _claim(
                f"G5-{of}",
                f"With ECN, {row.name} loses as much as without ECN, within 10 %.",
                f"derived: {rows.TURNED_OFF[row.name]}; this load needs more marks",
                marked.close_to(dropped, relative=0.1),
            )
        elif row.name in rows.LIMITED:
            yield Claim.calibrated(
                f"G3-{of}",
                f"With ECN, {row.name} loses at least half of what it loses without ECN.",
                f"derived: {rows.LIMITED[row.name]}; this load needs more marks",
                marked >= 0.5 * dropped,
                "first claimed as a loss with ECN equal to that without, within 10 %, which holds for FRED only: what "
                "the others mark up to their limits they need not drop",
            )
        else:
            yield _claim(
                f"G3-{of}",
                f"With ECN, {row.name} loses at most half of what it loses without ECN.",
                "thesis: a mark slows a sender without a loss; one queue, and a law that marks at any probability; "
                "the factor is that of internet-e04",
                marked <= 0.5 * dropped,
            )


def _thesis(without: Results, ecn: Results) -> Iterable[Claim]:
    """Yield the thesis' statements on its proposals, with a current sender unless the row has another."""
    slides = "slides SubTCP and Comparison of Approaches"
    blue = "slides Blue; the parameters from memory of the publications, the margin that of internet-e12"

    def loss(name: str) -> Quantity:
        return ecn.where(queue=name)["loss"]

    yield _claim(
        "T1",
        "With ECN, adaptive RED loses less than RED with max_p 0.1.",
        "slides Adaptive RED and Comparison of Approaches",
        loss(rows.ADAPTIVE) < loss(rows.RED),
    )
    yield _claim(
        "T2-RED",
        "Behind RED with ECN, SubTCP loses less than the TCP of 1999.",
        slides,
        loss(rows.RED_SUBTCP) < loss(rows.RED_1999),
    )
    yield _claim(
        "T2-adaptive",
        "Behind adaptive RED with ECN, SubTCP loses less than the TCP of 1999.",
        slides,
        loss(rows.ADAPTIVE_SUBTCP) < loss(rows.ADAPTIVE_1999),
    )
    yield _claim(
        "T2-drop",
        "Without ECN SubTCP loses less than TCP, behind drop-tail, behind RED and behind adaptive RED.",
        slides,
        (without.where(queue=rows.SUBTCP)["loss"] < without.where(queue="drop-tail")["loss"])
        & (without.where(queue=rows.RED_SUBTCP)["loss"] < without.where(queue=rows.RED)["loss"])
        & (without.where(queue=rows.ADAPTIVE_SUBTCP)["loss"] < without.where(queue=rows.ADAPTIVE)["loss"]),
    )
    for name, label in ((rows.BLUE, "B4"), ("blue", "B2")):
        yield _claim(
            f"T3-{label}",
            f"With ECN and equal buffers Blue ({label}) loses no more than RED with max_p 1, within 0.05 percentage "
            "points.",
            blue,
            loss(name) - loss(rows.RED_STEEP) <= 0.05,
        )
    for index, name in enumerate((rows.ADAPTIVE, rows.ADAPTIVE_SUBTCP, rows.BLUE), 4):
        found = ecn.where(queue=name)
        yield _claim(
            f"T{index}",
            f"The row '{name}' with ECN reaches the goal: less than 0.1 % lost, the link busy for more than 95 % of "
            "the time, and a shorter mean queue than that of drop-tail without ECN.",
            "the goal of the slides; the bounds are those of internet-e05 (no loss) and internet-e10 (utilisation)",
            (found["loss"] < 0.1)
            & (found["utilisation"] > 95)
            & (found["queueing"] < without.where(queue="drop-tail")["queueing"]),
        )
