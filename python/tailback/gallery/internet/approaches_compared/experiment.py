"""internet-e11, comparison of approaches: loss with 300 connections on a T1 link, from drop-tail to SubTCP."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from tailback.gallery.internet.shared import subtcp
from tailback.gallery.internet.shared.subtcp import (
    ADAPTIVE,
    BACKOFF,
    BOUNDED,
    DROP_TAIL,
    RED,
    RED_ECN,
    RULE,
    SUBTCP,
    TCP,
)
from tailback.gallery.internet.shared.subtcp import NS2 as NS2_TCP
from tailback.results import observables as m
from tailback.study.experiment import (
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

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

# Sender and discipline of each bar, from top to bottom.
BARS = (
    (TCP, DROP_TAIL),
    (NS2_TCP, DROP_TAIL),
    (TCP, RED),
    (NS2_TCP, RED),
    (TCP, RED_ECN),
    (RULE, RED_ECN),
    (BACKOFF, RED_ECN),
    (NS2_TCP, RED_ECN),
    (TCP, ADAPTIVE),
    (RULE, ADAPTIVE),
    (BACKOFF, ADAPTIVE),
    (NS2_TCP, ADAPTIVE),
    (BACKOFF, BOUNDED),
    (NS2_TCP, BOUNDED),
    (SUBTCP, RED_ECN),
    (SUBTCP, ADAPTIVE),
    (SUBTCP, BOUNDED),
)
NS2 = {DROP_TAIL: 19.1, RED: 32.0, RED_ECN: 30.8, ADAPTIVE: 0.12}
"""Loss in % in ns-2.35, by discipline."""


class Comparison(Experiment):
    """300 connections of TCP or SubTCP on a T1 link, behind drop-tail, RED, RED with ECN and adaptive RED."""

    id = "internet-e11"
    title = "Approaches compared"
    reference = "Feng, thesis defence 1999, slide Comparison of Approaches"
    axes = (Axis("hosts", "hosts"), Axis("discipline", "discipline"))
    quick = Profile(duration="250s", warmup="50s", replications=4, max_replications=20, cpu_s=10)
    full = Profile(duration="1050s", warmup="50s", replications=10, max_replications=40, cpu_s=100)
    metrics = (m.port_loss("a->b"), m.utilisation("a->b", label="utilisation"), m.jain("tcp"))

    def points(self, profile: ProfileName) -> Iterable[Point]:
        """Return one point per bar."""
        del profile
        return [Point(hosts=hosts, discipline=discipline) for hosts, discipline in BARS]

    def settings(self, point: Point, profile: ProfileName) -> Settings:
        """Return the settings of hosts and discipline."""
        del profile
        return subtcp.settings(str(point["hosts"]), str(point["discipline"]))

    def claims(self, results: Results) -> Iterable[Claim]:
        """Return the claims on the order of the approaches, step by step, with each sender."""
        loss = {bar: results.where(hosts=bar[0], discipline=bar[1])["loss"] for bar in BARS}
        source = "slide Comparison of Approaches; the order from memory, no numbers known"
        yield Claim(
            "C1",
            "Behind adaptive RED with ECN, SubTCP loses less than TCP without a rule for small windows, and less than "
            "TCP with the rule of RFC 3168.",
            source,
            (loss[SUBTCP, ADAPTIVE] < loss[TCP, ADAPTIVE]) & (loss[SUBTCP, ADAPTIVE] < loss[RULE, ADAPTIVE]),
            headline="SubTCP behind adaptive RED loses least",
        )
        for tag, hosts in (("backoff", BACKOFF), ("ns2", NS2_TCP)):
            yield Claim.unasserted(
                f"C1-{tag}",
                f"Behind adaptive RED with ECN, SubTCP loses no more than TCP {_words(hosts)}.",
                source,
                loss[SUBTCP, ADAPTIVE] <= loss[hosts, ADAPTIVE],
                "such a sender waits longer with each consecutive echo, and with an unbounded maximum probability it "
                "loses next to nothing, so that SubTCP has nothing to improve",
            )
        yield Claim(
            "C2",
            "With ECN, adaptive RED loses less than RED, for TCP without a rule, with the rule of RFC 3168 and with "
            "that of ns-2.35.",
            source,
            (loss[TCP, ADAPTIVE] < loss[TCP, RED_ECN])
            & (loss[RULE, ADAPTIVE] < loss[RULE, RED_ECN])
            & (loss[NS2_TCP, ADAPTIVE] < loss[NS2_TCP, RED_ECN]),
        )
        yield Claim(
            "ratio-ns2",
            f"With ECN, adaptive RED loses less than a fifth of what RED loses, for TCP {_words(NS2_TCP)}.",
            f"{source}; 'much less' is read as less than a fifth",
            loss[NS2_TCP, ADAPTIVE] <= 0.2 * loss[NS2_TCP, RED_ECN],
            headline="Adaptive RED loses much less than RED with ECN",
        )
        for tag, hosts in (("backoff", BACKOFF), ("rule", RULE), ("none", TCP)):
            yield Claim.unasserted(
                f"ratio-{tag}",
                f"With ECN, adaptive RED loses less than a fifth of what RED loses, for TCP {_words(hosts)}.",
                f"{source}; 'much less' is read as less than a fifth",
                loss[hosts, ADAPTIVE] <= 0.2 * loss[hosts, RED_ECN],
                "the sender is not that of the thesis; without a doubling timeout 300 senders of one segment per "
                "timeout or "
                "per round trip do not fit into link and buffer, however many are marked",
            )
        for tag, hosts, plain in (("rule", RULE, TCP), ("ns2", NS2_TCP, NS2_TCP)):
            yield Claim(
                f"C3-{tag}",
                f"RED with ECN loses less than RED without ECN, for TCP {_words(hosts)}.",
                source,
                loss[hosts, RED_ECN] < loss[plain, RED],
            )
        yield Claim.unasserted(
            "C3-none",
            "RED with ECN loses less than RED without ECN, for TCP without a rule for small windows.",
            source,
            loss[TCP, RED_ECN] < loss[TCP, RED],
            "below its upper threshold RED marks at most a tenth of the packets, and above it drops all, so that ECN "
            "changes next to nothing",
        )
        for tag, hosts in (("backoff", BACKOFF), ("ns2", NS2_TCP)):
            yield Claim.unasserted(
                f"bound-{tag}",
                f"If max_p were bounded by 1, SubTCP would lose less than TCP {_words(hosts)}, behind adaptive RED.",
                "sensitivity: the thesis has no bound",
                loss[SUBTCP, BOUNDED] < loss[hosts, BOUNDED],
                "with the bound fewer packets are marked below the upper threshold, and the average queue reaches it",
            )
        yield Claim(
            "C4",
            "SubTCP uses 95 % of the link or more, behind RED with ECN and behind adaptive RED.",
            "slides SubTCP Evaluation, link utilization",
            results.where(hosts=SUBTCP, discipline=[RED_ECN, ADAPTIVE])["utilisation"] >= 95,
        )
        for discipline, expected in NS2.items():
            yield Claim.comparison(
                f"ns2-{discipline.replace(', ', '-').replace(' ', '-').lower()}",
                f"Loss of TCP with ns-2.35's rules behind {discipline}; ns-2.35: {expected} %.",
                "ns-2.35, one run",
                results.where(hosts=NS2_TCP, discipline=discipline)["loss"],
                "not judged: one run of another simulator",
            )

    def figures(self, results: Results) -> Iterable[Figure]:
        """Yield the slide as bars with intervals: loss, and fairness as its price."""
        bars = {
            f"{hosts}: {discipline}": results.where(hosts=hosts, discipline=discipline) for hosts, discipline in BARS
        }
        yield Figure(
            "comparison",
            "Comparison of approaches, 300 connections on a T1 link",
            "The scale of the loss is linear below 0.1 %. Bars: means; lines: 99 % intervals.",
            lambda: _bars({name: (at["loss"], at["jain"]) for name, at in bars.items()}),
            claims=("C1", "C2", "ratio-ns2", "C3-ns2"),
        )


def _words(hosts: str) -> str:
    return {
        TCP: "without a rule for small windows",
        RULE: "with the rule of RFC 3168",
        BACKOFF: "with the rule of RFC 3168 and a timeout that each consecutive echo doubles",
        NS2_TCP: "with the rules of ns-2.35",
    }[hosts]


def _bars(rows: Mapping[str, tuple[Quantity, Quantity]]) -> Drawing:
    from tailback.plotting import plot

    figure = plot.new(2, sharey=True, height=5.0)
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
