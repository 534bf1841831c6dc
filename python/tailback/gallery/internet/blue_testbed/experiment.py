"""internet-e14, Blue on the testbed: RED and Blue at a 10 Mbit/s link with almost no propagation delay."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from tailback.gallery.internet.shared import dumbbell, testbed
from tailback.plotting import experiment as fig
from tailback.results import observables as m
from tailback.scenario import Value
from tailback.study.experiment import (
    Axis,
    AxisValue,
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
    from matplotlib.figure import Figure as Drawing

BSD = "FreeBSD 2.2"
RULE, PLAIN, EVERY, BEAT, FAST = (
    "rule of RFC 3168",
    "retransmissions not ECN-capable",
    "acks at once",
    "acks on a heartbeat",
    "fast timers",
)
RED, BLUE, ALTQ = "RED", "Blue", "Blue of ALTQ"
DISCIPLINES: dict[AxisValue, dict[str, Value]] = {
    RED: {
        "kind": "red",
        "min": "10kB",
        "max": "40kB",
        "max-p": 1.0,
        "weight": 0.002,
        "mean-packet": "1500B",
        "count": "packets",
        "byte-mode": False,
        "gentle": False,
        "ecn": True,
    },
    BLUE: {"kind": "blue", "freeze": "50ms", "increment": 0.01, "decrement": 0.001, "ecn": True},
    ALTQ: {"kind": "blue", "form": "altq", "ecn": True},
}
# Selector of the numbers of connections that the claims use.
MANY = {"connections": lambda n: float(n) >= 50}
SENSITIVITY: dict[str, tuple[str, str, Settings]] = {
    RULE: (
        "rfc",
        "with the rule of RFC 3168 for an echo at a window of one",
        {"flows[tcp].transport.ecn-floor": "rfc3168"},
    ),
    PLAIN: (
        "plain",
        "where retransmissions are not ECN-capable, as RFC 3168 has it",
        {"flows[tcp].transport.ecn-retransmissions": False},
    ),
    EVERY: (
        "every",
        "where every segment is acknowledged at once",
        {"flows[tcp].transport.delayed-ack": {"every": 1}},
    ),
    BEAT: (
        "beat",
        "where delayed acknowledgements of all connections leave together, every 200 ms",
        testbed.HEARTBEAT,
    ),
    FAST: (
        "fast",
        "with ns-2's timers (clock tick of 10 ms, minimum RTO of 0.2 s)",
        {
            "flows[tcp].transport.timers": {
                "clock": "coarse",
                "granularity": "10ms",
                "min-rto": "200ms",
                "initial-rto": "3s",
            }
        },
    ),
}
"""By kind of hosts: tag in the ids of claims, words, and the settings that differ from the testbed's hosts."""


class BlueTestbed(Experiment):
    """10 to 200 connections share 10 Mbit/s with a buffer of 50 kB."""

    id = "internet-e14"
    title = "Blue on the testbed"
    reference = "Feng, thesis defence 1999, slides Implementation and Blue Evaluation"
    axes = (
        Axis("hosts", "hosts"),
        Axis("discipline", "discipline"),
        Axis("connections", "connections"),
    )
    quick = Profile(duration="80s", warmup="40s", replications=4, max_replications=20, cpu_s=22)
    full = Profile(duration="250s", warmup="50s", replications=5, max_replications=30, cpu_s=150)
    metrics = (m.port_loss("a->b"), m.utilisation("a->b", label="utilisation"), m.mean_queue("a->b"), m.jain("tcp"))

    def points(self, profile: ProfileName) -> Iterable[Point]:
        """Return the points: all numbers of connections with the testbed's hosts, some with the other hosts."""
        full = profile == "full"
        connections = (10, 25, 50, 75, 100, 150, 200) if full else (10, 50, 100, 200)
        others = connections if full else (50, 200)
        return grid(hosts=[BSD], discipline=tuple(DISCIPLINES), connections=connections) + grid(
            hosts=tuple(SENSITIVITY), discipline=(RED, BLUE), connections=others
        )

    def settings(self, point: Point, profile: ProfileName) -> Settings:
        """Return the settings of discipline, hosts and number of connections."""
        del profile
        hosts = str(point["hosts"])
        return {
            **testbed.FREEBSD,
            "flows[tcp].count": point["connections"],
            "switches.a.ports.b.discipline": DISCIPLINES[point["discipline"]],
            **(SENSITIVITY[hosts][2] if hosts in SENSITIVITY else {}),
        }

    def claims(self, results: Results) -> Iterable[Claim]:
        """Return the claims on loss and utilisation with the testbed's hosts, other hosts, and ALTQ's constants."""
        bsd = results.where(hosts=BSD)
        red, blue, altq = (bsd.where(discipline=name) for name in (RED, BLUE, ALTQ))
        gap = red["loss"] - blue["loss"]
        yield Claim.unasserted(
            "C1",
            "With the testbed's hosts and 50 or more connections, Blue loses less than RED.",
            "slide Blue Evaluation, loss rates; the number of connections reconstructed",
            blue.where(**MANY)["loss"] < red.where(**MANY)["loss"],
            "the claim holds with 50 and 200 connections; with 100, windows of one segment, each acknowledged after "
            "200 ms, "
            "cause no queue, and RED loses next to nothing",
            headline="On the testbed Blue loses less than RED (loss rates)",
        )
        yield Claim.unasserted(
            "C2",
            "With the testbed's hosts RED and Blue both use 95 % of the link or more.",
            "slide Blue Evaluation, link utilization; the bound reconstructed",
            bsd.where(discipline=[RED, BLUE])["utilisation"] >= 95,
            "with 50 connections Blue's marks reduce windows to one segment, whose acknowledgement is delayed by 200 "
            "ms",
            headline="On the testbed Blue keeps the link full (link utilization)",
        )
        yield Claim.unasserted(
            "C3",
            "With the testbed's hosts the loss that Blue saves (RED's minus Blue's) grows with the number of "
            "connections.",
            "slide Blue Evaluation; the criterion reconstructed",
            gap.non_decreasing("connections", tolerance=0.1) & (gap.where(connections=200) > gap.where(connections=50)),
            "the advantage does not grow from 50 to 100 connections: with 100, delayed acknowledgements keep RED's "
            "queue and loss low, too",
        )
        for hosts, (tag, words, _) in SENSITIVITY.items():
            at = results.where(hosts=hosts)
            less = at.where(discipline=BLUE, **MANY)["loss"] < at.where(discipline=RED, **MANY)["loss"]
            full = at.where(discipline=[RED, BLUE], **MANY)["utilisation"] >= 95
            one = (
                f"C1-{tag}",
                f"With 50 or more connections Blue loses less than RED, {words}.",
                "slide Blue Evaluation, loss rates; other hosts",
                less,
            )
            two = (
                f"C2-{tag}",
                f"With 50 or more connections RED and Blue both use 95 % of the link or more, {words}.",
                "slide Blue Evaluation, link utilization; other hosts",
                full,
            )
            for claim in (one, two):
                if hosts == EVERY:
                    # Without delayed acknowledgements only the buffer holds packets, and the slide is reproduced.
                    yield Claim(*claim)
                else:
                    why = "sensitivity to the hosts, which the slides do not describe"
                    yield Claim.unasserted(*claim, why)
        yield Claim.comparison(
            "jain",
            "Fairness under RED and Blue with the testbed's hosts: Jain's index of the goodputs.",
            "not on the slides",
            bsd.where(discipline=[RED, BLUE])["jain"],
            "not judged; the page discusses the price of a low loss",
        )
        yield Claim.unasserted(
            "altq-loss",
            "With the constants of the ALTQ kernel (0.125 up, 0.001 down) Blue loses less than RED, with 50 or more "
            "connections.",
            "ALTQ source; slide Blue Evaluation, loss rates",
            altq.where(**MANY)["loss"] < red.where(**MANY)["loss"],
            "the slides do not say which constants were used",
        )
        yield Claim.unasserted(
            "altq-utilisation",
            "With the constants of the ALTQ kernel (0.125 up, 0.001 down) Blue uses 95 % of the link or more.",
            "ALTQ source; slide Blue Evaluation, link utilization",
            altq["utilisation"] >= 95,
            "a step of 0.125 upwards takes 6 s to decay, during which too much is marked",
        )

    def figures(self, results: Results) -> Iterable[Figure]:
        """Yield loss, utilisation and fairness against connections; loss and utilisation with other hosts."""
        by_name = {name: results.where(hosts=BSD, discipline=name) for name in (RED, BLUE, ALTQ)}
        yield fig.compare(
            {name: at["loss"] for name, at in by_name.items()},
            "loss",
            "Loss against the number of connections",
            x="connections",
            claims=("C1", "C3", "altq-loss"),
        )
        used = fig.compare(
            {name: at["utilisation"] for name, at in by_name.items()},
            "utilisation",
            "Utilisation against the number of connections",
            "The axis begins at 70 %.",
            x="connections",
            claims=("C2", "altq-utilisation"),
        )
        yield replace(used, draw=lambda: dumbbell.from_level(used, 70))
        yield fig.compare(
            {name: at["jain"] for name, at in by_name.items()},
            "fairness",
            "Fairness against the number of connections",
            "Jain's index of the goodputs: 1 if all connections get the same. The buffer holds 33 packets.",
            x="connections",
            claims=("jain",),
        )
        for metric, claim, title, level in (
            ("loss", "C1", "Loss with other hosts", 0),
            ("utilisation", "C2", "Utilisation with other hosts", 70),
        ):
            yield Figure(
                f"hosts-{metric}",
                title,
                "The first panel has the testbed's hosts; each other panel differs from it in the one property in its "
                "title." + (f" The axis begins at {level} %." if level else ""),
                lambda metric=metric, level=level: _draw_others(results, metric, level),  # type: ignore[misc]
                claims=(claim, *(f"{claim}-{tag}" for tag, _, _ in SENSITIVITY.values())),
            )


def _draw_others(results: Results, metric: str, level: float) -> Drawing:
    from tailback.plotting import plot

    figure = plot.new(3, 2, width=3.4, height=2.7, sharex=True, sharey=True)
    for place, (axes, hosts) in enumerate(zip(figure.axes, (BSD, *SENSITIVITY), strict=True)):
        with plot.style():
            for index, name in enumerate((RED, BLUE)):
                along, found = results.where(hosts=hosts, discipline=name, **MANY)[metric].curve("connections")
                plot.curve(axes, along, found, label=name, index=index)
            plot.finish(
                axes,
                title=hosts,
                x="connections" if place > 2 else "",
                y=("packet loss (%)" if metric == "loss" else "utilisation (%)") if place % 3 == 0 else "",
                ticks=[50.0, 100.0, 200.0],
            )
        if level:
            axes.set_ylim(level, 100.5)
            for artist in (*axes.lines, *axes.collections):
                artist.set_clip_on(True)
        legend = axes.get_legend()
        if legend is not None and place:
            legend.remove()
    return figure
