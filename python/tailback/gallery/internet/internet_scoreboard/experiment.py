"""The scoreboard: every registered queue discipline under heavy load, with ECN and without."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from functools import cache, reduce
from math import isnan
from operator import and_
from typing import TYPE_CHECKING, Any

from tailback import _native
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
from tailback.gallery.internet import dumbbell
from tailback.report import Report
from tailback.scenario import Value

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

BUFFER_KB = 100
RATE = 10e6
"""Of the bottleneck, bit/s."""
HEAVY = 100
"""Connections of the scoreboard itself; the others are in full only."""
OFF, ON = "off", "on"
ALWAYS_MARKS = ("dualpi2",)
"""Disciplines that mark without being told to."""
MARK_ALWAYS = ("red", "blue", "codel", "cobalt", "rem", "avq", "red-pd")
"""One queue, and a law that goes on marking at any probability that this load asks for."""
MARK_UP_TO = ("pie", "dualpi2")
"""One queue, and a law that drops what it might mark above a probability."""
DELAY_TARGET = ("codel", "pie", "cobalt", "dualpi2")
"""Disciplines of one queue that are told the delay they shall keep."""


OF_CLASSES = ("priority", "class-based", "wrr", "htb", "shaper")
"""Disciplines that serve others: by themselves they are FIFOs."""


@cache
def disciplines() -> tuple[str, ...]:
    """Every registered discipline that is more than a frame for others, in the registry's order."""
    names: dict[str, list[str]] = json.loads(_native.names())
    return tuple(name for name in names["disciplines"] if name not in OF_CLASSES)


@cache
def ecn_keys(name: str) -> tuple[str, ...]:
    """Paths of the keys that let a discipline mark, read from the schema: its own, or those of a law inside it."""
    schema = json.loads(_native.schema())

    def table(node: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the properties of what stands at a node."""
        for part in (node, *node.get("allOf", ()), *node.get("anyOf", ())):
            if "$ref" in part:
                return table(schema["$defs"][part["$ref"].rpartition("/")[2]])
            if "properties" in part:
                found: Mapping[str, Any] = part["properties"]
                return found
        return {}

    kinds: list[Mapping[str, Any]] = schema["$defs"]["Spec"]["oneOf"]
    own = next(table(kind) for kind in kinds if kind["title"] == name)
    return tuple("ecn" if key == "ecn" else f"{key}.ecn" for key in own if key == "ecn" or "ecn" in table(own[key]))


def marks(name: str) -> bool:
    """Whether a discipline can mark."""
    return bool(ecn_keys(name)) or name in ALWAYS_MARKS


def _queueing(report: Report) -> float:
    """Mean time that the queue takes to drain."""
    return 1e3 * 8 * report.mean_queue_bytes(dumbbell.BOTTLENECK) / RATE


def _marked(report: Report) -> float:
    """Share of the packets sent that were marked, percent."""
    rows = [row for port in report.ports(dumbbell.BOTTLENECK) for row in port["classes"]]
    sent = sum(row["sent"]["packets"] for row in rows)
    return 100 * sum(row["marked_packets"] for row in rows) / sent if sent else 0.0


class Scoreboard(Experiment):
    """All disciplines, one load."""

    id = "internet-scoreboard"
    title = "Scoreboard: every discipline under heavy load"
    reference = "Feng, thesis defence 1999: the goal of no loss, full utilisation and low delay"
    axes = (
        Axis("connections", "connections"),
        Axis("queue", "queue discipline"),
        Axis("ecn", "ECN"),
    )
    quick = Profile(duration="40s", warmup="10s", replications=3, max_replications=6, cpu_s=20)
    full = Profile(duration="120s", warmup="20s", replications=5, max_replications=20, cpu_s=600)
    metrics = (
        m.port_loss(dumbbell.BOTTLENECK),
        m.utilisation(dumbbell.BOTTLENECK, label="utilisation"),
        Metric("queueing", "mean queueing delay", "ms", _queueing, precision=(0.1, 0.5)),
        m.delay_quantile(0, "p99", "p99", "99 % of one-way delays are below"),
        m.goodput(),
        m.jain(),
        Metric("marked", "packets marked", "%", _marked),
        Metric(
            "timeouts",
            "timeouts",
            "1/s",
            lambda report: sum(row["timeouts"] for row in report.transports()) / report.measured_s,
        ),
    )

    def points(self, profile: ProfileName) -> Iterable[Point]:
        """Every discipline without ECN, and with it if it can mark; other loads in full."""
        loads = (25, HEAVY, 400) if profile == "full" else (HEAVY,)
        able = [name for name in disciplines() if marks(name)]
        return grid(connections=loads, queue=disciplines(), ecn=[OFF]) + grid(connections=loads, queue=able, ecn=[ON])

    def settings(self, point: Point, profile: ProfileName) -> Settings:
        """Each discipline with its defaults, and one buffer for all."""
        del profile
        name, ecn = str(point["queue"]), point["ecn"] == ON
        discipline: dict[str, Value] = {"kind": name}
        settings = dumbbell.bottleneck(BUFFER_KB, discipline)
        settings["flows[tcp].count"] = point["connections"]
        settings["flows[tcp].transport.ecn"] = "classic" if ecn else "off"
        for key in ecn_keys(name):
            # Some mark by default; what is off at the ends has no effect, and is off here too for the record.
            first, _, second = key.partition(".")
            discipline[first] = {second: ecn} if second else ecn
        return settings

    def claims(self, results: Results) -> Iterable[Claim]:
        """What must hold for all, and the scores."""
        heavy = results.where(connections=HEAVY)
        without = heavy.where(ecn=OFF)
        marking = heavy.where(ecn=ON, queue=list(MARK_ALWAYS))["loss"]
        targets = without.where(queue=list(DELAY_TARGET))["queueing"]
        return [
            Claim(
                "G1",
                "Without ECN no discipline comes near the goal of no loss: each loses more than 1 %.",
                "derived: 177 packets of delay and buffer are less than two for each of 100 connections, and TCP "
                "keeps its "
                "window so small by losses only",
                without["loss"] > 1,
            ),
            Claim(
                "G2",
                "Full utilisation is the easy part: without ECN the link is busy for more than 90 % of the time under "
                "every discipline.",
                "derived: with 100 connections those that back off are replaced by others",
                without["utilisation"] > 90,
            ),
            Claim(
                "G3",
                "One queue under a law that marks at any probability loses less with ECN than without.",
                "thesis: a mark asks for less without a loss; RFC 3168",
                marking < without.where(queue=list(MARK_ALWAYS))["loss"],
            ),
            Claim(
                "G5",
                "ECN does nothing for PIE and DualPI2 under this load: the loss is the same within a tenth.",
                "derived: above a probability of 10 % (RFC 8033 section 5.1) or 25 % (RFC 9332 section 4.2) they drop "
                "what they might mark, and this load needs more",
                reduce(
                    and_,
                    (
                        heavy.where(ecn=ON, queue=name)["loss"].close_to(
                            without.where(queue=name)["loss"], relative=0.1
                        )
                        for name in MARK_UP_TO
                    ),
                ),
            ),
            Claim(
                "G4",
                "Disciplines of one queue that are told a delay keep it shorter than drop-tail does.",
                "RFC 8289, 8033, 9332: it is what they are for",
                targets < without.where(queue="drop-tail")["queueing"],
            ),
            *(
                Claim.comparison(
                    f"S{index}", text, "not in the slides", heavy.where(ecn=ecn)[name], "a score; see the figure"
                )
                for index, (text, name, ecn) in enumerate(
                    (
                        ("Loss with ECN: the goal is 0 %.", "loss", ON),
                        ("Utilisation with ECN: the goal is 100 %.", "utilisation", ON),
                        ("Mean queueing delay with ECN: the goal is low.", "queueing", ON),
                        ("Mean queueing delay without ECN.", "queueing", OFF),
                        ("Goodput with ECN.", "goodput", ON),
                        ("Goodput without ECN.", "goodput", OFF),
                        ("Fairness without ECN.", "jain", OFF),
                    ),
                    1,
                )
            ),
        ]

    def figures(self, results: Results) -> Iterable[Figure]:
        """The board, one row for each discipline."""
        for load in results["loss"].values_of("connections"):
            board = results.where(connections=load)
            yield Figure(
                "scoreboard" if load == HEAVY else f"scoreboard-{load}",
                f"All disciplines, {load} connections over 10 Mbit/s",
                "Orange: without ECN; blue: with. The thesis' goal is at the left of the loss and of the delay, "
                "and at the "
                "right of the utilisation. Each discipline has its defaults and 100 kB (80 ms).",
                lambda board=board: _draw(board),  # type: ignore[misc]
                claims=("G1", "G2", "G3", "G4", "G5", "S1", "S2", "S3", "S5", "S7") if load == HEAVY else (),
            )


def _draw(board: Results) -> Drawing:
    from tailback import plot

    shown = (
        ("loss", "loss (%)"),
        ("utilisation", "utilisation (%)"),
        ("queueing", "mean queueing\ndelay (ms)"),
        ("p99", "99 % of delays\nbelow (ms)"),
        ("goodput", "goodput (Mbit/s)"),
        ("jain", "Jain's index"),
    )
    names = list(disciplines())
    figure = plot.new(len(shown), sharey=True, width=2.0, height=7.0)
    for axes, (name, label) in zip(figure.axes, shown, strict=True):
        with plot.style():
            for ecn, colour, shift in ((OFF, plot.COLOURS[1], -0.14), (ON, plot.COLOURS[0], 0.14)):
                for point, found in board.where(ecn=ecn)[name].intervals():
                    if isnan(found.mean):
                        continue
                    row = names.index(str(point["queue"])) + shift
                    reach = [[max(found.mean - found.lo, 0)], [max(found.hi - found.mean, 0)]]
                    axes.errorbar(
                        [found.mean], [row], xerr=reach, fmt="o", color=colour, markersize=3.5, elinewidth=1.0
                    )
            axes.set_yticks(range(len(names)), names)
            axes.set_ylim(len(names) - 0.5, -0.5)
            axes.set_xlabel(label)
            axes.grid(axis="y", alpha=0.25)
            if name in ("loss", "queueing"):
                axes.set_xlim(left=0)
    return figure
