"""E11, comparison of approaches: what each step saves with 300 connections on a T1 link."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from tailback.gallery import (
    Axis,
    Claim,
    Experiment,
    Figure,
    Point,
    Profile,
    ProfileName,
    Quantity,
    Results,
    Settings,
)
from tailback.gallery import metrics as m
from tailback.gallery.internet import subtcp
from tailback.gallery.internet.subtcp import ADAPTIVE, DROP_TAIL, RED, RED_ECN, RULE, SUBTCP, TCP
from tailback.gallery.internet.subtcp import NS2 as NS2_TCP

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

BARS = (
    (TCP, DROP_TAIL),
    (NS2_TCP, DROP_TAIL),
    (TCP, RED),
    (NS2_TCP, RED),
    (TCP, RED_ECN),
    (RULE, RED_ECN),
    (NS2_TCP, RED_ECN),
    (TCP, ADAPTIVE),
    (RULE, ADAPTIVE),
    (NS2_TCP, ADAPTIVE),
    (SUBTCP, RED_ECN),
    (SUBTCP, ADAPTIVE),
)
NS2 = {DROP_TAIL: 19.1, RED: 32.0, RED_ECN: 30.8, ADAPTIVE: 0.12}
"""Loss in % on ns-2.35."""


class Comparison(Experiment):
    """Drop-tail, RED, ECN, adaptive RED and SubTCP."""

    id = "internet-e11"
    title = "Approaches compared"
    reference = "Feng, thesis defence 1999, slide Comparison of Approaches"
    axes = (Axis("hosts", "hosts"), Axis("discipline", "discipline"))
    quick = Profile(duration="250s", warmup="50s", replications=4, max_replications=20, cpu_s=10)
    full = Profile(duration="1050s", warmup="50s", replications=10, max_replications=40, cpu_s=300)
    metrics = (m.port_loss("a->b"), m.utilisation("a->b", label="utilisation"), m.jain("tcp"))

    def points(self, profile: ProfileName) -> Iterable[Point]:
        """One per bar."""
        del profile
        return [Point(hosts=hosts, discipline=discipline) for hosts, discipline in BARS]

    def settings(self, point: Point, profile: ProfileName) -> Settings:
        """Hosts and discipline."""
        del profile
        return subtcp.settings(str(point["hosts"]), str(point["discipline"]))

    def claims(self, results: Results) -> Iterable[Claim]:
        """The order, step by step, under both rules."""
        loss = {bar: results.where(hosts=bar[0], discipline=bar[1])["loss"] for bar in BARS}
        source = "slide Comparison of Approaches; the order from memory, no numbers known"
        yield Claim(
            "C1",
            "Behind adaptive RED SubTCP loses no more than TCP, with the rule of RFC 3168 or without.",
            source,
            (loss[SUBTCP, ADAPTIVE] <= loss[TCP, ADAPTIVE]) & (loss[SUBTCP, ADAPTIVE] <= loss[RULE, ADAPTIVE]),
        )
        yield Claim(
            "C2",
            "With ECN, adaptive RED loses less than RED, with the rule or without.",
            source,
            (loss[TCP, ADAPTIVE] < loss[TCP, RED_ECN]) & (loss[RULE, ADAPTIVE] < loss[RULE, RED_ECN]),
        )
        yield Claim(
            "C3",
            "With the rule, RED with ECN loses less than RED.",
            source,
            loss[RULE, RED_ECN] < loss[TCP, RED],
        )
        yield Claim.comparison(
            "C3-none",
            "Without the rule: loss of RED less that of RED with ECN.",
            source,
            loss[TCP, RED] - loss[TCP, RED_ECN],
            "reported: RED marks at most a tenth of the packets and drops all above its upper threshold, so that ECN "
            "changes next to nothing",
        )
        for name, hosts in (("rule", RULE), ("none", TCP), ("ns2", NS2_TCP)):
            yield Claim.comparison(
                f"ratio-{name}",
                f"Adaptive RED loses much less than RED, by a factor of 5 or more, "
                f"{_words(hosts)}: a fifth of RED's loss less the adaptive one's. "
                f"{_factor(loss[hosts, RED_ECN], loss[hosts, ADAPTIVE])}",
                source,
                loss[hosts, RED_ECN] / 5 - loss[hosts, ADAPTIVE],
                "reported: the slides have no numbers",
            )
        yield Claim(
            "C4",
            "SubTCP uses 95 % of the link or more.",
            "slides SubTCP Evaluation, link utilization",
            results.where(hosts=SUBTCP)["utilisation"] >= 95,
        )
        for discipline, expected in NS2.items():
            yield Claim.comparison(
                f"ns2-{discipline.replace(', ', '-').replace(' ', '-').lower()}",
                f"Loss of TCP with ns-2.35's rules behind {discipline}; ns-2.35 has {expected} %.",
                "ns-2.35, one run",
                results.where(hosts=NS2_TCP, discipline=discipline)["loss"],
                "a comparison",
            )

    def figures(self, results: Results) -> Iterable[Figure]:
        """The slide, as points with intervals, and what it costs."""
        bars = {
            f"{hosts}: {discipline}": results.where(hosts=hosts, discipline=discipline) for hosts, discipline in BARS
        }
        yield Figure(
            "comparison",
            "Comparison of approaches, 300 connections on a T1 link",
            "The scale of the loss is linear below 0.1 %.",
            lambda: _bars({name: (at["loss"], at["jain"]) for name, at in bars.items()}),
            claims=("C1", "C2", "C3"),
        )


def _words(hosts: str) -> str:
    return {RULE: "with the rule", TCP: "without the rule", NS2_TCP: "with ns-2.35's rule"}[hosts]


def _factor(large: Quantity, small: Quantity) -> str:
    (a,), (b,) = ([interval for _, interval in q.intervals()] for q in (large, small))
    if not (a.n and b.n and b.mean):
        return ""
    return f"Here {a.mean:.3g} % against {b.mean:.3g} %, a factor of {a.mean / b.mean:.3g}."


def _bars(rows: Mapping[str, tuple[Quantity, Quantity]]) -> Drawing:
    from tailback import plot

    figure = plot.new(2, sharey=True, height=3.8)
    with plot.style():
        for index, (axes, title) in enumerate(
            zip(figure.axes, ("packet loss (%)", "Jain's index of goodputs"), strict=True)
        ):
            for row, (name, pair) in enumerate(rows.items()):
                ((_, interval),) = pair[index].intervals()
                colour = plot.COLOURS[
                    2 if name.startswith("SubTCP") else 1 if "RFC" in name else 3 if "ns-2" in name else 0
                ]
                reach = [[interval.mean - interval.lo], [interval.hi - interval.mean]]
                axes.barh(row, interval.mean, color=colour, alpha=0.75, height=0.65)
                axes.errorbar(interval.mean, row, xerr=reach, color="#222222", elinewidth=1.0)
                if index == 0:
                    axes.annotate(
                        f" {interval.mean:.3g}", (interval.hi, row), va="center", fontsize=8, annotation_clip=False
                    )
            axes.set_yticks(range(len(rows)), list(rows))
            axes.set_title(title)
            axes.grid(visible=False, axis="y")
        left, right = figure.axes
        left.invert_yaxis()
        left.set_xscale("symlog", linthresh=0.1)
        left.set_xticks([0, 0.1, 1, 10], ["0", "0.1", "1", "10"])
        left.set_xlim(0, 80)
        right.set_xlim(0, 1)
    return figure
