"""internet-e10: TCP and SubTCP with 25 to 300 connections on a T1 link, and with several X on a faster link.

On the faster link the buffer is X % of capacity times round trip.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from tailback.gallery.internet.shared import dumbbell, subtcp
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
from tailback.plotting import experiment as fig
from tailback.results import observables as m
from tailback.study.experiment import (
    Axis,
    Claim,
    Experiment,
    Figure,
    Point,
    Profile,
    ProfileName,
    Results,
    Settings,
    grid,
)

if TYPE_CHECKING:
    from tailback.study.experiment.quantity import Quantity

# Values of the axis `link`.
T1, T3 = "1.5 Mbit/s", "45 Mbit/s"
# SubTCP's growth per round trip on the T1 link, %.
X = 10
BUFFER_KB = 100
PIPE_KB = 350
"""Capacity times round trip of the fast link, kB: 45 Mbit/s times the mean of 62 ms."""
SWEPT = 100
"""Number of connections at the points with several X."""
# Disciplines that mark, at senders with ECN.
ECN = (RED_ECN, ADAPTIVE)
MANY = (100, 200, 300)
"""Numbers of connections with which SubTCP is compared with TCP senders that have a rule."""
RESOLUTION = 0.05
"""Largest difference of losses that count as equal, percentage points."""
NS2 = {25: (6.64, 1.61), 50: (16.04, 13.32), 100: (22.90, 21.35), 200: (28.27, 28.21), 300: (31.98, 30.80)}
"""Loss of ns-2.35 behind RED by number of connections, %: without and with ECN."""


class SubTcp(Experiment):
    """TCP and SubTCP behind drop-tail, RED, RED with ECN and adaptive RED with ECN."""

    id = "internet-e10"
    title = "SubTCP on a T1 link"
    reference = "Feng, thesis defence 1999, slides SubTCP and SubTCP Evaluation"
    axes = (
        Axis("link", "link"),
        Axis("hosts", "congestion control"),
        Axis("discipline", "discipline"),
        Axis("connections", "connections"),
        Axis("x", "X, and buffer as a share of capacity times round trip", "%"),
    )
    quick = Profile(duration="250s", warmup="50s", replications=3, max_replications=20, cpu_s=36)
    full = Profile(duration="550s", warmup="50s", replications=5, max_replications=20, cpu_s=350)
    metrics = (
        m.port_loss("a->b"),
        m.utilisation("a->b", label="utilisation"),
        m.mean_queue("a->b", label="mean queue"),
        m.jain("tcp"),
    )

    def points(self, profile: ProfileName) -> Iterable[Point]:
        """Return the points: T1 with all disciplines and forms of back-off, and the fast link with several X."""
        full = profile == "full"
        connections = (25, 50, 75, 100, 150, 200, 250, 300) if full else (25, 50, 100, 200, 300)
        at: dict[str, list[str]] = {"link": [T1]}
        points = grid(**at, hosts=(TCP, SUBTCP), discipline=(DROP_TAIL, RED, *ECN), connections=connections, x=[X])
        points += grid(**at, hosts=[RULE], discipline=ECN, connections=connections, x=[X])
        points += grid(**at, hosts=[NS2_TCP], discipline=(RED, *ECN), connections=list(NS2), x=[X])
        points += grid(**at, hosts=(BACKOFF, SUBTCP), discipline=[BOUNDED], connections=MANY[1:], x=[X])
        points += grid(**at, hosts=[BACKOFF], discipline=[ADAPTIVE], connections=MANY, x=[X])
        others = (subtcp.SUBTCP_RULE, subtcp.SUBTCP_PLAIN)
        points += grid(**at, hosts=others, discipline=ECN, connections=(connections if full else (100, 300)), x=[X])
        return points + grid(
            link=[T3],
            hosts=(TCP, SUBTCP),
            discipline=(DROP_TAIL, ADAPTIVE),
            connections=[SWEPT],
            x=((2, 5, 10, 20, 50, 100) if full else (5, 10, 50)),
        )

    def settings(self, point: Point, profile: ProfileName) -> Settings:
        """Return the settings of hosts, discipline, link and buffer."""
        hosts, discipline, x = str(point["hosts"]), str(point["discipline"]), float(point["x"])
        fast = point["link"] == T3
        buffer = round(PIPE_KB * x / 100) if fast else BUFFER_KB
        length: Settings = {"run.duration": "160s" if profile == "full" else "60s", "run.warmup": "30s"}
        return {
            **subtcp.settings(hosts, discipline, buffer, x / 100),
            "flows[tcp].count": point["connections"],
            "links[0].rate": "45Mbit/s" if fast else "1500kbit/s",
            **(length if fast else {}),
        }

    def claims(self, results: Results) -> Iterable[Claim]:
        """Return the claims on loss and utilisation by sender and discipline, and on the rationale of the slides."""
        t1 = results.where(link=T1, x=X)
        plain, rule, doubled, ns2, sub = (t1.where(hosts=hosts) for hosts in (TCP, RULE, BACKOFF, NS2_TCP, SUBTCP))
        many = {"connections": lambda n: float(n) >= 100}
        early = (RED, *ECN)
        yield Claim(
            "C1",
            "With 100 connections or more SubTCP loses no more than TCP without a rule for a window of one segment, "
            "behind RED, RED with ECN and adaptive RED with ECN.",
            "slides SubTCP Evaluation, loss rates; the range reconstructed",
            sub.where(discipline=early, **many)["loss"] <= plain.where(discipline=early, **many)["loss"],
            headline="SubTCP loses less from 25 to 300 connections (loss rates)",
        )
        yield Claim(
            "C2",
            "With 100 connections or more SubTCP loses no more than TCP with the rule of RFC 3168 behind RED with ECN.",
            "slides SubTCP Evaluation, loss rates; with another rule of the sender",
            sub.where(discipline=RED_ECN, **many)["loss"] <= rule.where(discipline=RED_ECN, **many)["loss"],
        )
        for tag, hosts, words in (
            ("rfc", rule, "the rule of RFC 3168"),
            ("backoff", doubled, "the rule of RFC 3168 and a timeout that doubles with each consecutive echo"),
            ("ns2", ns2, "ns-2.35's rules"),
        ):
            yield Claim.unasserted(
                f"C2-adaptive-{tag}",
                f"With 100 connections or more SubTCP loses no more than TCP with {words} behind adaptive RED with "
                f"ECN, within {RESOLUTION} percentage points.",
                "slides SubTCP Evaluation, loss rates; with another rule of the sender",
                sub.where(discipline=ADAPTIVE, connections=MANY)["loss"]
                - hosts.where(discipline=ADAPTIVE, connections=MANY)["loss"]
                <= RESOLUTION,
                "with few connections TCP with such a rule loses almost nothing; with a timeout that doubles, or "
                "ns-2.35's rules, it loses almost nothing with 300 connections either",
            )
        yield Claim.unasserted(
            "bound",
            "With 200 connections or more and a max_p of at most 1, SubTCP loses less than TCP whose timeout doubles "
            "with each consecutive echo, behind adaptive RED.",
            "sensitivity: the thesis has no bound",
            sub.where(discipline=BOUNDED)["loss"] < doubled.where(discipline=BOUNDED)["loss"],
            "with the bound not all packets are marked below the upper threshold, and the average reaches it",
        )
        yield Claim(
            "C3",
            "SubTCP uses at least 95 % of the T1 link, with any number of connections and any discipline.",
            "slides SubTCP Evaluation, link utilization; the bound reconstructed",
            sub.where(discipline=[DROP_TAIL, RED, *ECN])["utilisation"] >= 95,
            headline="SubTCP keeps the T1 link busy (link utilization)",
        )
        yield Claim(
            "C4",
            "Behind RED without ECN the loss of TCP on the T1 link grows with the number of connections.",
            "derived: more connections need more loss",
            plain.where(discipline=RED)["loss"].non_decreasing("connections", tolerance=0.1),
        )
        for tag, discipline, column in (("drop", RED, 0), ("ecn", RED_ECN, 1)):
            yield Claim.comparison(
                f"ns2-{tag}",
                f"Loss of TCP with ns-2.35's rules behind {discipline}. ns-2.35 loses "
                + ", ".join(f"{loss[column]} % ({n} connections)" for n, loss in NS2.items())
                + ".",
                "ns-2.35, one run each",
                t1.where(hosts=NS2_TCP, discipline=discipline, connections=list(NS2))["loss"],
                "a comparison",
            )
        fast = results.where(link=T3, connections=SWEPT)
        yield Claim(
            "C5",
            "With 100 connections at 45 Mbit/s, X = 10 % and a buffer of 10 % of capacity times round trip, SubTCP "
            "loses less than TCP, behind drop-tail and behind adaptive RED.",
            'slide Fixing TCP: "limit increase in aggregate TCP per RTT"; derived',
            fast.where(x=10, hosts=SUBTCP)["loss"] < fast.where(x=10, hosts=TCP)["loss"],
        )
        yield Claim(
            "C6",
            "With 100 connections at 45 Mbit/s, X = 10 % and a buffer of 10 % of capacity times round trip, SubTCP "
            "uses at least 95 % of the link, behind drop-tail and behind adaptive RED.",
            'slide Fixing TCP: "limit increase in aggregate TCP per RTT"; derived',
            fast.where(x=10, hosts=SUBTCP)["utilisation"] >= 95,
        )
        yield Claim.comparison(
            "jain",
            "Jain's index of the goodputs with 300 connections behind adaptive RED.",
            "not in the slides",
            t1.where(discipline=ADAPTIVE, connections=300)["jain"],
            "not judged: a flow sends one packet in 1.6 s on average, and intervals shrink by only 10 % per packet",
        )

    def figures(self, results: Results) -> Iterable[Figure]:
        """Yield the figures of the two slides, of the forms of back-off, and of several X."""
        t1 = results.where(link=T1, x=X)

        def lines(metric: str, hosts: Iterable[str], discipline: str) -> dict[str, Quantity]:
            return {name: t1.where(hosts=name, discipline=discipline)[metric] for name in hosts}

        for discipline, tag in ((DROP_TAIL, "drop-tail"), (RED, "red")):
            yield fig.compare(
                lines("loss", (TCP, SUBTCP), discipline),
                f"loss-{tag}",
                f"Loss on a T1 link, {discipline} without ECN",
                x="connections",
                claims=("C1", "C4") if tag == "red" else (),
            )
        for discipline, tag in ((RED_ECN, "red-ecn"), (ADAPTIVE, "adaptive")):
            yield fig.compare(
                lines(
                    "loss", (TCP, RULE, *((BACKOFF,) if discipline == ADAPTIVE else ()), NS2_TCP, SUBTCP), discipline
                ),
                f"loss-{tag}",
                f"Loss on a T1 link, {discipline}",
                x="connections",
                claims=("C1", "C2") if tag == "red-ecn" else ("C1", "C2-adaptive-rfc", "C2-adaptive-backoff"),
            )
        used = fig.panels(
            {name: t1.where(hosts=[TCP, RULE, SUBTCP], discipline=name)["utilisation"] for name in ECN},
            "utilisation",
            "Utilisation of the T1 link",
            "The axis begins at 96 %. Behind drop-tail and RED without ECN the utilisation is 100 % throughout.",
            x="connections",
            curves="hosts",
            claims=("C3",),
        )
        yield replace(used, draw=lambda: dumbbell.from_level(used, 96))
        ends = [100, 300] if results.profile == "quick" else t1["loss"].values_of("connections")
        yield fig.compare(
            {
                name: t1.where(hosts=name, discipline=ADAPTIVE, connections=list(ends))["loss"]
                for name in (TCP, RULE, subtcp.SUBTCP_PLAIN, subtcp.SUBTCP_RULE, SUBTCP)
            },
            "back-off",
            "Loss by form of back-off",
            "Adaptive RED with ECN. The loss depends less on the growth of windows than on the back-off, for which the "
            "slides give no formula.",
            x="connections",
        )
        fast = results.where(link=T3, connections=SWEPT)
        yield fig.compare(
            {
                f"{name}, {discipline}": fast.where(hosts=name, discipline=discipline)["loss"]
                for discipline in (DROP_TAIL, ADAPTIVE)
                for name in (TCP, SUBTCP)
            },
            "sweep",
            "Loss with a buffer of X % of capacity times round trip",
            f"45 Mbit/s, {SWEPT} connections. X is SubTCP's largest growth per round trip; for TCP only the buffer "
            "varies.",
            x="x",
            claims=("C5", "C6"),
        )
