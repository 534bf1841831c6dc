"""E15 on every rival discipline: what one non-responsive flow takes, what it costs TCP, what isolation costs."""

from __future__ import annotations

from collections.abc import Iterable
from math import isnan
from typing import TYPE_CHECKING

from tailback.gallery import (
    Axis,
    Claim,
    Experiment,
    Figure,
    Metric,
    Point,
    Profile,
    ProfileName,
    Quantity,
    Results,
    Settings,
    grid,
)
from tailback.gallery import metrics as m
from tailback.gallery.internet.internet_e15.fairness import RATE, TCP, carried_rate, lost_rate, starved_flows
from tailback.gallery.internet.internet_e15.queues import RED, SFB, SFQ_RED, discipline
from tailback.report import Report
from tailback.scenario import Value

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

FAIR = RATE / (TCP + 1)
PLAIN = ("drop-tail", "drop-head", "blue", "codel", "pie", "pi", "rem", "avq", "cobalt", "dualpi2")
"""Disciplines that do not tell flows apart, besides RED."""
PARTLY = ("choke", "sred", "fred", "red-pd")
"""Those that tell flows apart to some degree."""
FAIR_QUEUES = ("sfq", "drr", "wfq", "wf2q-plus", "stfq", "scfq", "virtual-clock", "fq-codel", "fq-pie")
ECN_SFB = "sfb, with ECN"
SUMMED = {RED: RED, SFQ_RED: SFQ_RED, ECN_SFB: SFB}
QUEUES = (RED, *PLAIN, *PARTLY, ECN_SFB, SFQ_RED, *FAIR_QUEUES)


def _state_bytes(report: Report) -> float:
    """Largest sample of what the discipline keeps about flows; NaN where it does not tell."""
    series = report.data["series"]
    found = series["ports"]["r0->r1"]["state"].get("state_bytes", []) if series else []
    return max(found, default=float("nan"))


class Rivals(Experiment):
    """The workload of E15 under every discipline."""

    id = "internet-rivals"
    title = "One non-responsive flow under every discipline"
    reference = "Feng, Kandlur, Saha and Shin, INFOCOM 2001, against RFC 8033, 8289, 8290 and others"
    axes = (Axis("queue", "queue discipline"),)
    quick = Profile(duration="60s", warmup="20s", replications=3, max_replications=6, cpu_s=30)
    full = Profile(duration="200s", warmup="20s", replications=5, max_replications=20, cpu_s=600)
    metrics = (
        lost_rate("tcp", "tcp_lost", "TCP lost"),
        lost_rate("cbr", "cbr_lost", "non-responsive lost"),
        carried_rate("cbr", "cbr_carried", "non-responsive carried"),
        m.goodput("tcp", name="goodput", label="TCP goodput"),
        m.mean_queue("r0->r1", label="mean queue"),
        m.jain("tcp"),
        Metric(
            "unequal",
            "drop ratio of TCP less that of the other flow",
            "points",
            lambda report: 100 * (report.loss("tcp") - report.loss("cbr")),
            lowest=None,
        ),
        Metric("starved", "starved TCP flows", "flows", lambda report: float(len(starved_flows(report)))),
        Metric("state", "state about flows", "bytes", _state_bytes),
    )

    def points(self, profile: ProfileName) -> Iterable[Point]:
        """Every discipline."""
        del profile
        return grid(queue=QUEUES)

    def settings(self, point: Point, profile: ProfileName) -> Settings:
        """Defaults of each; 200 kB, and 400 kB where flows have queues of their own, as on the slide."""
        del profile
        name = str(point["queue"])
        queue: dict[str, Value]
        if name in SUMMED:
            queue, buffer = discipline(SUMMED[name], name == ECN_SFB)
        else:
            queue, buffer = {"kind": name}, "400kB" if name in FAIR_QUEUES else "200kB"
        ecn = name == ECN_SFB
        return {
            "switches.r0.ports.r1.discipline": queue,
            "switches.r0.ports.r1.buffer": buffer,
            "flows[tcp].transport.ecn": "classic" if ecn else "off",
            "flows[tcp].transport.ecn-floor": "rfc3168" if ecn else "none",
            "run.sample": "5s",
        }

    def claims(self, results: Results) -> Iterable[Claim]:
        """Who isolates, and what everybody lets through, loses and keeps."""
        unfair = results.where(queue=[RED, "codel", "pie"])
        return [
            Claim(
                "V1",
                "RED, CoDel and PIE do not isolate: the non-responsive flow gets more than 20 of 45 Mbit/s.",
                "derived: without a look at flows all packets are dropped alike, and who sends most gets most",
                unfair["cbr_carried"] > 20,
            ),
            Claim(
                "V2",
                "With RED and PIE, which drop at random, TCP and the other flow lose the same share, within 2 points.",
                "derived: identity of the table of E15",
                results.where(queue=[RED, "pie"])["unequal"].within(-2, 2),
            ),
            Claim(
                "V3",
                "FQ-CoDel isolates better than SFQ+RED: the non-responsive flow gets less than its 1/46.",
                "derived: 1024 queues instead of 46 for 401 flows",
                results.where(queue="fq-codel")["cbr_carried"] < results.where(queue=SFQ_RED)["cbr_carried"],
            ),
            *(
                Claim.comparison(number, text, "not in the slides", results[name], "reported for all; see the figure")
                for number, text, name in (
                    ("V4", "What the non-responsive flow gets.", "cbr_carried"),
                    ("V5", "What TCP loses.", "tcp_lost"),
                    ("V6", "The mean queue.", "mean_queue"),
                    ("V7", "TCP flows below a quarter of the median.", "starved"),
                )
            ),
            Claim.comparison(
                "V8",
                "What isolation costs in state.",
                "not in the slides; SFB: 46 bins",
                results.where(queue=["sred", "fred", "red-pd", SFQ_RED, *FAIR_QUEUES])["state"],
                "bytes kept about flows, where the discipline tells",
            ),
        ]

    def figures(self, results: Results) -> Iterable[Figure]:
        """All disciplines in rows."""
        yield Figure(
            "rivals",
            "Every discipline against one non-responsive flow",
            "Dashed: a fair share of 0.112 Mbit/s. No ECN except with SFB. Blue: no look at flows; orange: some; "
            "green: queues by flow. State is shown where the discipline tells it.",
            lambda: _draw(results),
            claims=("V1", "V3", "V4", "V5", "V6", "V7", "V8"),
        )


def _draw(results: Results) -> Drawing:
    from tailback import plot

    shown = (
        ("cbr_carried", "non-responsive\ncarried (Mbit/s)", "log"),
        ("tcp_lost", "TCP lost (Mbit/s)", "linear"),
        ("mean_queue", "mean queue (kB)", "linear"),
        ("starved", "starved TCP flows", "linear"),
        ("state", "state (bytes)", "log"),
    )
    figure = plot.new(5, sharey=True, width=2.5, height=6.2)
    for axes, (name, label, scale) in zip(figure.axes, shown, strict=True):
        with plot.style():
            quantity: Quantity = results[name]
            for point, found in quantity.intervals():
                row = QUEUES.index(str(point["queue"]))
                if isnan(found.mean):
                    continue
                reach = [[max(found.mean - found.lo, 0)], [max(found.hi - found.mean, 0)]]
                colour = plot.COLOURS[0 if row < len(PLAIN) + 1 else 1 if row < len(PLAIN) + len(PARTLY) + 2 else 2]
                axes.errorbar([found.mean], [row], xerr=reach, fmt="o", color=colour, elinewidth=1.2)
            axes.set_yticks(range(len(QUEUES)), list(QUEUES))
            axes.set_ylim(len(QUEUES) - 0.5, -0.5)
            axes.set_xlabel(label)
            if scale == "log":
                axes.set_xscale("log")
                if name == "cbr_carried":
                    axes.set_xlim(0.05, 60)
                    axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
                    axes.axvline(FAIR, color="#666666", linestyle="--", linewidth=0.9)
            else:
                axes.set_xlim(left=0)
    return figure
