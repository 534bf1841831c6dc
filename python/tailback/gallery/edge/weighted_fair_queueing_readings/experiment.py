"""edge-wfq: readings of "WFQ" with the traffic of Table 1, compared with the paper and with max-min shares."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING

from tailback.bounds.fluid import max_min
from tailback.gallery.edge.shared import customer_edge as ce
from tailback.plotting import grouped_bars
from tailback.scenario import Value
from tailback.study.experiment import (
    Axis,
    Claim,
    Condition,
    Figure,
    Point,
    Profile,
    ProfileName,
    Results,
    Settings,
    grid,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

FIFO, ONE, HOLD, PRECEDENCE, EQUAL, DISTRIBUTED, TEXTBOOK, LONG_EQUAL = (
    "FIFO",
    "(a) one queue",
    "(b) hold queue of 40",
    "by precedence",
    "(c) equal weights",
    "distributed",
    "textbook",
    "equal weights, long hold queue",
)
READINGS: dict[str, dict[str, Value]] = {
    FIFO: {"kind": "drop-tail"},
    ONE: {"kind": "fair-queue", "key": "one", "hold": "40packets"},
    HOLD: {"kind": "fair-queue", "queues": "per-flow", "weights": "precedence", "hold": "40packets"},
    PRECEDENCE: {"kind": "fair-queue", "queues": "per-flow", "weights": "precedence"},
    EQUAL: {"kind": "fair-queue", "queues": "per-flow", "weights": "equal"},
    DISTRIBUTED: {
        "kind": "fair-queue",
        "queues": "per-flow",
        "weights": "equal",
        "threshold": "4000packets",
        "aggregate": "40packets",
        "individual": "20packets",
    },
    TEXTBOOK: {"kind": "wfq"},
    LONG_EQUAL: {"kind": "fair-queue", "queues": "per-flow", "weights": "equal", "hold": "4000packets"},
}
"""Discipline of each reading; flows are not hashed, so that no two share a queue by accident."""
ORACLES = (PRECEDENCE, LONG_EQUAL, TEXTBOOK)
"""Readings whose losses are compared with max-min shares."""
# Readings whose loss of voice is reported.
MAIN = (ONE, HOLD, PRECEDENCE, EQUAL, DISTRIBUTED)


def expected(by_precedence: bool) -> dict[str, float]:
    """Return the loss of each column of Table 1 in % if the flows share the link's rate by weighted max-min.

    A flow's weight is its precedence plus 1 with `by_precedence`, else 1.
    """
    demands = [
        (row.rate, 1.0 + int(group.removeprefix("af")[0]) if group != "ef" else 6.0)
        if by_precedence
        else (row.rate, 1.0)
        for group, row in ce.TABLE_1.items()
        for _ in range(row.flows)
    ]
    shares = iter(max_min(ce.LINK, demands))
    losses = {}
    for group, row in ce.TABLE_1.items():
        own = [next(shares) for _ in range(row.flows)]
        losses[group] = 100 * (1 - own[0] / row.rate)
    return losses


class Readings(ce.AtTheEdge):
    """Loss and delay of each column of Table 1 with each reading of WFQ."""

    id = "edge-wfq"
    title = "Readings of weighted fair queueing"
    reference = "Mitroi and Stroescu, figures 7 to 9, configuration ii"
    axes = (Axis("reading", "WFQ"),)
    quick = Profile(duration="12s", warmup="2s", replications=3, max_replications=12, cpu_s=5)
    full = Profile(duration="122s", warmup="2s", replications=5, max_replications=30, cpu_s=60)
    metrics = (
        *(ce.group_loss(group) for group in ce.GROUPS),
        *(ce.group_delay(group) for group in ce.GROUPS),
        *(ce.group_jitter(group) for group in ("ef", "af41")),
        ce.LEVELS,
    )

    def points(self, profile: ProfileName) -> Iterable[Point]:
        """Return one point per reading."""
        del profile
        return grid(reading=READINGS)

    def settings(self, point: Point, profile: ProfileName) -> Settings:
        """Return the settings of the reading's discipline and of the port's limit.

        Only FIFO and the textbook's WFQ use the port's limit.
        """
        reading = str(point["reading"])
        limit = {FIFO: "40packets", TEXTBOOK: "1000packets"}.get(reading, "unlimited")
        # A conversation that exceeds its threshold drops arrivals until it is below a quarter of it. The losses
        # therefore vary slowly, and their means need long runs.
        long: Settings = {"run.duration": "62s"} if profile == "quick" and reading in ORACLES else {}
        made: Settings = {ce.DISCIPLINE: READINGS[reading], f"{ce.PORT}.buffer": limit}
        return {**made, **long}

    def claims(self, results: Results) -> Iterable[Claim]:
        """Return the claims: one queue is FIFO; other readings have max-min shares, and differ from the paper."""
        at = {reading: results.where(reading=reading) for reading in READINGS}
        one, fifo = at[ONE], at[FIFO]

        def near(reading: str, *, by_precedence: bool) -> Condition:
            losses = expected(by_precedence).items()
            return ce.all_of(at[reading][f"loss_{g}"].within(max(loss - 1, 0), loss + 1) for g, loss in losses)

        return [
            Claim(
                "W1",
                "WFQ with all flows in one queue (a) has the loss of FIFO within 0.5 percentage points and its delay "
                "within 2 %, for every column of Table 1.",
                "derived: a fair queue with one conversation is a FIFO",
                ce.all_of(
                    [
                        *((one[f"loss_{g}"] - fifo[f"loss_{g}"]).within(-0.5, 0.5) for g in ce.GROUPS),
                        *(one[f"delay_{g}"].close_to(fifo[f"delay_{g}"], 0.02) for g in ce.GROUPS),
                    ]
                ),
            ),
            Claim(
                "W2",
                "WFQ with all flows in one queue (a) has two of the paper's three results: voice loses more than 10 %, "
                "and all delays are equal within 2 %.",
                "figures 7 and 8",
                ce.all_of(
                    [one["loss_ef"] > 10, *(one[f"delay_{g}"].close_to(one["delay_ef"], 0.02) for g in ce.GROUPS)]
                ),
                headline="under WFQ voice loses over 10 %, data wait as long as voice",
            ),
            Claim(
                "W2b",
                "Only reading (a) of WFQ has both results, a loss of voice above 10 % and equal delays: by precedence, "
                "distributed and with the textbook's WFQ voice loses less than 1 %; in (b), (c) and with a long hold "
                "queue the delay of AF23 is more than 1.3 times that of voice.",
                "derived: max-min shares, and limits that flows share",
                ce.all_of(
                    [
                        *(at[reading]["loss_ef"] < 1 for reading in (PRECEDENCE, DISTRIBUTED, TEXTBOOK)),
                        *(at[r]["delay_af23"] > 1.3 * at[r]["delay_ef"] for r in (HOLD, EQUAL, LONG_EQUAL)),
                    ]
                ),
            ),
            *(
                Claim.unasserted(
                    f"W9-{number}",
                    f"With the reading '{reading}' the losses of data have exactly three levels, as the paper reports.",
                    'figure 9: "concentrated on 3 levels in the case of FIFO and WFQ"',
                    at[reading]["levels"].within(3, 3),
                    f"levels are more than {ce.GAP:g} percentage points apart; max-min with equal weights has 0, 22.8 "
                    "and 42.0 %, with weights by precedence 0, 17.8, 38.4 and 53.8 %",
                )
                for number, reading in enumerate(READINGS, start=1)
            ),
            Claim(
                "W3",
                "With a hold queue of 40 frames (b), fewer than there are flows, voice loses more than 10 % and video "
                "more than 15 %, but the delay of AF23 is more than 1.3 times that of voice.",
                "derived: a full hold queue drops arrivals of all flows",
                (at[HOLD]["loss_ef"] > 10)
                & (at[HOLD]["loss_af41"] > 15)
                & (at[HOLD]["delay_af23"] > 1.3 * at[HOLD]["delay_ef"]),
            ),
            Claim(
                "W4",
                "With equal weights and the usual hold queue of 1000 frames (c), the delay of AF22 is more than 100 "
                "ms, whereas in the paper data wait as long as voice.",
                "derived: a flow that sends more than its max-min share fills its queue",
                at[EQUAL]["delay_af22"] > 100,
            ),
            Claim(
                "W5",
                "With weights by precedence, with which the hold queue of 1000 frames never fills, every column has "
                "the loss of weighted max-min, within 1 percentage point.",
                "derived: water-filling with weights precedence + 1",
                near(PRECEDENCE, by_precedence=True),
            ),
            Claim(
                "W6",
                "With equal weights and a hold queue that never fills, every column has the loss of max-min, within 1 "
                "percentage point: data have exactly three levels, 0, 22.8 and 42.0 %.",
                "derived: water-filling",
                near(LONG_EQUAL, by_precedence=False),
            ),
            Claim(
                "W7",
                "With the textbook's WFQ and a buffer of 1000 frames, which when full drops a frame of the longest "
                "queue, every column has the loss of max-min with equal weights, within 1 percentage point.",
                "derived: water-filling",
                near(TEXTBOOK, by_precedence=False),
            ),
            *(
                Claim.comparison(
                    f"W8-{number}",
                    f"Loss of voice with the reading '{reading}'.",
                    "figure 8: more than 10 %",
                    at[reading]["loss_ef"],
                    "not the reading of edge-configs" if reading != ONE else "the reading of edge-configs",
                )
                for number, reading in enumerate(MAIN, start=1)
            ),
        ]

    def figures(self, results: Results) -> Iterable[Figure]:
        """Yield loss and delay of each reading, with the losses of max-min."""
        yield Figure(
            "loss",
            "Loss with each reading of WFQ",
            "Diamonds: max-min with the weights of the panel. Only with all flows in one queue does voice lose as "
            "much as the paper reports while all delays are equal; only with equal weights do the losses of data have "
            "three levels.",
            partial(_draw, results, "loss", "loss (%)"),
            claims=("W1", "W2", "W3", "W5", "W6"),
        )
        yield Figure(
            "delay",
            "Delay with each reading of WFQ",
            "Mean one-way delay, on a logarithmic axis.",
            partial(_draw, results, "delay", "delay (ms)"),
            claims=("W1", "W2", "W3", "W4"),
        )


def _draw(results: Results, what: str, y: str) -> Drawing:
    from tailback.plotting import plot

    shown = (ONE, HOLD, EQUAL, LONG_EQUAL, PRECEDENCE, DISTRIBUTED, TEXTBOOK, FIFO)
    figure = plot.new(4, 2, sharey=True, sharex=True, width=3.3, height=2.9)
    for index, (axes, reading) in enumerate(zip(figure.axes, shown, strict=True)):
        at = results.where(reading=reading)
        found = [grouped_bars.only(list(at[f"{what}_{group}"].intervals())) for group in ce.GROUPS]
        means = [i.mean for i in found]
        with plot.style():
            bars = axes.bar(range(len(found)), means, color=plot.COLOURS[0])
            plot.keep_intervals(bars[0], found)
            reach = [[min(max(i.mean - i.lo, 0), 0.95 * i.mean) for i in found], [max(i.hi - i.mean, 0) for i in found]]
            axes.errorbar(
                range(len(found)), means, yerr=reach, fmt="none", ecolor="#333333", elinewidth=0.9, capsize=1.5
            )
            if what == "loss" and reading in ORACLES:
                losses = expected(reading == PRECEDENCE).values()
                axes.plot(range(len(found)), list(losses), "D", color=plot.COLOURS[1], markersize=5, fillstyle="none")
            plot.finish(axes, title=reading, y="" if index % 4 else y)
            if what == "delay":
                axes.set_yscale("log")
            axes.set_xlim(-0.7, len(found) - 0.3)
            axes.set_xticks(range(len(found)), [g.upper() for g in ce.GROUPS], rotation=60, fontsize=8)
    return figure
