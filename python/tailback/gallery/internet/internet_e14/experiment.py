"""E14, Blue testbed: RED and Blue at a 10 Mbit/s link with next to no propagation delay."""

from __future__ import annotations

from collections.abc import Iterable

from tailback.gallery import (
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
from tailback.gallery import figures as fig
from tailback.gallery import metrics as m
from tailback.scenario import Value

PLAIN, RULE, DELAYED, FAST = "no rule", "RFC 3168", "no rule, delayed acks", "no rule, fast timers"
"""Hosts: without and with the rule for an echo at a window of one; delayed acknowledgements; timers of ns-2."""
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
MANY = {"connections": lambda n: float(n) >= 50}
SENSITIVITY = {
    RULE: "With the rule of RFC 3168",
    DELAYED: "With acknowledgements delayed by up to 200 ms, as BSD does,",
    FAST: "With ns-2's timers (tick of 10 ms, timeout of at least 0.2 s)",
}


class BlueTestbed(Experiment):
    """10 to 200 connections over 10 Mbit/s, 50 kB."""

    id = "internet-e14"
    title = "Blue on the testbed"
    reference = "Feng, thesis defence 1999, slides Implementation and Blue Evaluation"
    axes = (
        Axis("hosts", "hosts"),
        Axis("discipline", "discipline"),
        Axis("connections", "connections"),
    )
    quick = Profile(duration="80s", warmup="40s", replications=4, max_replications=20, cpu_s=22)
    full = Profile(duration="250s", warmup="50s", replications=5, max_replications=30, cpu_s=400)
    metrics = (m.port_loss("a->b"), m.utilisation("a->b", label="utilisation"), m.mean_queue("a->b"), m.jain("tcp"))

    def points(self, profile: ProfileName) -> Iterable[Point]:
        """All connections with the plain hosts; the other hosts are for sensitivity."""
        full = profile == "full"
        connections = (10, 25, 50, 75, 100, 150, 200) if full else (10, 50, 100, 200)
        others = connections if full else (50, 200)
        return grid(hosts=[PLAIN], discipline=tuple(DISCIPLINES), connections=connections) + grid(
            hosts=tuple(SENSITIVITY), discipline=(RED, BLUE), connections=others
        )

    def settings(self, point: Point, profile: ProfileName) -> Settings:
        """Discipline and hosts."""
        del profile
        hosts = point["hosts"]
        changed: Settings = {}
        if hosts == DELAYED:
            changed["flows[tcp].transport.delayed-ack"] = {"every": 2, "timeout": "200ms"}
        if hosts == FAST:
            changed["flows[tcp].transport.timers"] = {
                "clock": "coarse",
                "granularity": "10ms",
                "min-rto": "200ms",
                "initial-rto": "3s",
            }
        return {
            "flows[tcp].count": point["connections"],
            "flows[tcp].transport.ecn-floor": "rfc3168" if hosts == RULE else "none",
            "switches.a.ports.b.discipline": DISCIPLINES[point["discipline"]],
            **changed,
        }

    def claims(self, results: Results) -> Iterable[Claim]:
        """The checks of the specification with the plain hosts, and what the others change."""
        plain = results.where(hosts=PLAIN)
        red, blue = plain.where(discipline=RED), plain.where(discipline=BLUE)
        gap = red["loss"] - blue["loss"]
        yield Claim(
            "C1",
            "With 50 connections or more Blue loses less than RED.",
            "slide Blue Evaluation, loss rates; the number from the specification",
            blue.where(**MANY)["loss"] < red.where(**MANY)["loss"],
        )
        yield Claim(
            "C2",
            "Both use 95 % of the link or more.",
            "specification E14",
            plain.where(discipline=[RED, BLUE])["utilisation"] >= 95,
        )
        yield Claim(
            "C3",
            "The more connections, the more Blue saves.",
            "slide Blue Evaluation; specification E14",
            gap.non_decreasing("connections", tolerance=0.1) & (gap.where(connections=200) > gap.where(connections=50)),
        )
        for hosts, words in SENSITIVITY.items():
            at = results.where(hosts=hosts)
            tag = hosts.split(", ")[-1].split(" ")[0].lower()
            yield Claim.comparison(
                f"loss-{tag}",
                f"{words}: loss of RED less that of Blue.",
                "reconstructed hosts",
                at.where(discipline=RED)["loss"] - at.where(discipline=BLUE)["loss"],
                "sensitivity to what the slides do not say of the hosts",
            )
            yield Claim.comparison(
                f"utilisation-{tag}",
                f"{words}: utilisation with Blue.",
                "reconstructed hosts",
                at.where(discipline=BLUE)["utilisation"],
                "sensitivity to what the slides do not say of the hosts",
            )
        yield Claim.comparison(
            "jain",
            "Fairness, Jain's index of the goodputs.",
            "not in the slides",
            plain.where(discipline=[RED, BLUE])["jain"],
            "not judged: what the low loss costs, see the page",
        )
        yield Claim.comparison(
            "altq",
            "Utilisation with the constants of the ALTQ kernel, 0.125 up and 0.001 down.",
            "ALTQ source",
            plain.where(discipline=ALTQ)["utilisation"],
            "not judged: the slides do not say which constants were used",
        )

    def figures(self, results: Results) -> Iterable[Figure]:
        """Loss and utilisation against connections, and the other hosts."""
        plain = results.where(hosts=PLAIN)
        by_name = {name: plain.where(discipline=name) for name in (RED, BLUE, ALTQ)}
        yield fig.compare(
            {name: at["loss"] for name, at in by_name.items()},
            "loss",
            "Loss at the testbed's link",
            x="connections",
            claims=("C1", "C3"),
        )
        yield fig.compare(
            {name: at["utilisation"] for name, at in by_name.items()},
            "utilisation",
            "Utilisation of the testbed's link",
            x="connections",
            claims=("C2", "altq"),
        )
        yield fig.compare(
            {name: at["jain"] for name, at in by_name.items()},
            "fairness",
            "Fairness at the testbed's link",
            "Jain's index of the goodputs: 1 when all connections get the same. The buffer holds 33 packets.",
            x="connections",
            claims=("jain",),
        )
        words = {PLAIN: "plain hosts", RULE: "rule of RFC 3168", DELAYED: "delayed acks", FAST: "fast timers"}
        others = {text: results.where(hosts=hosts, discipline=[RED, BLUE]) for hosts, text in words.items()}
        for metric in ("loss", "utilisation"):
            yield fig.panels(
                {text: at[metric] for text, at in others.items()},
                f"hosts-{metric}",
                f"{'Loss' if metric == 'loss' else 'Utilisation'} with other hosts",
                "What the slides do not say of the hosts matters: for how much is lost, and for whether Blue fills the "
                "link.",
                x="connections",
                curves="discipline",
                claims=[f"{metric}-{tag}" for tag in ("rfc", "delayed", "fast")],
            )
