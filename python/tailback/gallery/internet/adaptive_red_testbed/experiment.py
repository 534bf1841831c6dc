"""internet-e08, the testbed of Adaptive RED, emulated: loss and utilisation against the number of connections."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import reduce
from operator import add, and_
from typing import TYPE_CHECKING, cast

from tailback.gallery.internet.shared import dumbbell, testbed
from tailback.gallery.internet.shared.dumbbell import BOTTLENECK
from tailback.plotting import experiment as fig
from tailback.results import observables as m
from tailback.results.report import Report
from tailback.scenario import Value
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
    Quantity,
    Results,
    Settings,
    grid,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

# Buffer, RED's minimum and maximum threshold, and size of a packet.
BUFFER_KB, MIN_KB, MAX_KB, PACKET_BYTES = 50, 10.0, 40.0, 1500
SOURCES = (8, 16, 32, 64)
LAN, LONG = "local network", "path of 100 ms"
BSD, NS2, MODERN, BEAT = "FreeBSD 2.2", "ns-2.35", "segments counted", "acks on a heartbeat"
AGGRESSIVE, CONSERVATIVE, ADAPTIVE = "aggressive", "conservative", "adaptive"
# Initial max_p and the table `adaptive` of RED, by setting; `None`: max_p is constant.
DETECTION: dict[str, tuple[float, dict[str, Value] | None]] = {
    AGGRESSIVE: (0.25, None),
    CONSERVATIVE: (0.016, None),
    ADAPTIVE: (0.1, {"kind": "feng", "alpha": 3.0, "beta": 2.0}),
}
FREEZE_S = (0, 1, 2, 5, 10)
"""Values of the minimum time between changes of max_p, s: the "freeze" of the slide, which gives no value."""
CHOSEN_S = 5
"""Freeze that is shown with the static settings, s; chosen after all of `FREEZE_S` had been simulated."""
OTHERS: dict[str, Settings] = {
    BSD: {},
    NS2: {
        "flows[tcp].transport.timers": {
            "clock": "coarse",
            "granularity": "10ms",
            "min-rto": "200ms",
            "initial-rto": "3s",
        },
        "flows[tcp].transport.delayed-ack": {"every": 1},
    },
    BEAT: testbed.HEARTBEAT,
    # Windows grow by acknowledged segments (RFC 3465 of 2003) and not by acknowledgements: twice as fast with delayed
    # acknowledgements.
    MODERN: {"flows[tcp].transport.congestion-control": {"kind": "reno", "byte-counting": 2}},
}
"""Settings in which each kind of host differs from the testbed's."""


def _freeze(seconds: int) -> str:
    return f"with a freeze of {seconds} s" if seconds else "without a freeze"


def _final_max_p(report: Report) -> float:
    return dumbbell.sampled(report)[1]["state"]["max_probability"][-1]


class Testbed(Experiment):
    """Greedy transfers over a 10 Mbit/s bottleneck with static and Adaptive RED."""

    id = "internet-e08"
    title = "Adaptive RED on a testbed, emulated"
    reference = "Feng, thesis defence (1999), slides Implementation and Adaptive RED Performance"
    axes = (
        Axis("hosts", "hosts"),
        Axis("path", "path"),
        Axis("detection", "early detection"),
        Axis("freeze", "freeze", "s"),
        Axis("sources", "connections"),
    )
    quick = Profile(duration="80s", warmup="20s", replications=4, max_replications=20, cpu_s=32)
    full = Profile(duration="220s", warmup="20s", replications=10, max_replications=60, cpu_s=260)
    metrics = (
        m.port_loss(BOTTLENECK),
        m.utilisation(BOTTLENECK, label="utilisation"),
        m.mean_queue(BOTTLENECK, label="mean queue"),
        Observable("max_p", "max_p at the end", "", _final_max_p),
    )

    def points(self, profile: ProfileName) -> Iterable[Point]:
        """Return the points: both paths with every freeze; other hosts on one path each."""
        few = SOURCES if profile == "full" else (8, 64)
        static = [AGGRESSIVE, CONSERVATIVE]
        return [
            *grid(hosts=[BSD], path=[LAN, LONG], detection=static, freeze=[0], sources=SOURCES),
            *grid(hosts=[BSD], path=[LAN, LONG], detection=[ADAPTIVE], freeze=FREEZE_S, sources=SOURCES),
            *grid(hosts=[NS2, BEAT], path=[LAN], detection=static, freeze=[0], sources=SOURCES),
            *grid(hosts=[NS2, BEAT], path=[LAN], detection=[ADAPTIVE], freeze=[CHOSEN_S], sources=SOURCES),
            *grid(hosts=[MODERN], path=[LONG], detection=static, freeze=[0], sources=few),
            *grid(hosts=[MODERN], path=[LONG], detection=[ADAPTIVE], freeze=FREEZE_S, sources=few),
        ]

    def settings(self, point: Point, profile: ProfileName) -> Settings:
        """Return the settings of RED and its freeze, the path, the hosts, and the number of connections."""
        del profile
        max_p, adaptive = DETECTION[str(point["detection"])]
        if adaptive is not None:
            adaptive = {**adaptive, "freeze": f"{point['freeze']}s"}
        red = dumbbell.red(
            BUFFER_KB,
            max_p,
            ecn=True,
            low_kb=MIN_KB,
            high_kb=MAX_KB,
            packet_bytes=PACKET_BYTES,
            adaptive=adaptive,
        )
        return {
            **testbed.FREEBSD,
            **(testbed.LARGE_SOCKETS if point["path"] == LONG else {}),
            **OTHERS[str(point["hosts"])],
            **red,
            "flows[tcp].count": point["sources"],
            "run.sample": "1s",
            **({"links[0].delay": "50ms"} if point["path"] == LONG else {}),
        }

    def claims(self, results: Results) -> Iterable[Claim]:
        """Return the claims on Adaptive RED, and on the defect of each static setting."""
        lan, long = results.where(hosts=BSD, path=LAN), results.where(hosts=BSD, path=LONG)
        ns2, beat = (results.where(hosts=hosts, path=LAN) for hosts in (NS2, BEAT))
        modern = results.where(hosts=MODERN, path=LONG)
        slide = "slide Adaptive RED Performance"
        static = {name: long.where(detection=name, freeze=0) for name in (AGGRESSIVE, CONSERVATIVE)}

        def adaptive(at: Results, seconds: int) -> Results:
            return at.where(detection=ADAPTIVE, freeze=seconds)

        def better(at: Results, seconds: int) -> Condition:
            """Return the condition that Adaptive RED's mean loss is at most that of each static setting."""
            mean = _mean(adaptive(at, seconds))
            return reduce(
                and_, (mean <= _mean(at.where(detection=name, freeze=0)) for name in (AGGRESSIVE, CONSERVATIVE))
            )

        yield Claim(
            "C1",
            "On the testbed Adaptive RED with any freeze from 1 to 10 s loses no more than either static setting, "
            "averaged over the numbers of connections.",
            f"{slide}, Loss rates; the averaging is reconstructed",
            reduce(and_, (better(lan, seconds) for seconds in FREEZE_S if seconds)),
            headline="Adaptive RED loses less than either static setting (loss rates)",
        )
        yield Claim.unasserted(
            "C1-0s",
            "Without a freeze Adaptive RED loses no more on the testbed than either static setting, averaged over the "
            "numbers of connections.",
            f"{slide}, Loss rates, where max_p is frozen after changes; sensitivity to the freeze",
            better(lan, 0),
            "with 64 connections the loss varies so much between runs that a quick run does not always decide",
        )
        yield Claim(
            "C2",
            "On the testbed's own path of 1 ms every setting keeps the link at least 97 % busy.",
            "derived: nearly all of the round trip is queueing delay, so that the queue never runs empty; the bound "
            "reconstructed",
            lan["utilisation"] >= 97,
        )
        yield Claim(
            "C3",
            "On the testbed's own path of 1 ms the loss of conservative detection grows with the number of "
            "connections, and is above 1 % with 64.",
            f"{slide}, Loss rates; derived as in internet-e05",
            lan.where(detection=CONSERVATIVE, freeze=0)["loss"].non_decreasing("sources", tolerance=0.1)
            & (lan.where(detection=CONSERVATIVE, freeze=0, sources=64)["loss"] > 1),
        )
        yield Claim(
            "C4",
            "Over a path of 100 ms aggressive detection leaves more than 5 % of the link unused with 8 connections, "
            "and less with 16, 32 and 64 than with 8.",
            f"{slide}, Link utilization; the path reconstructed",
            reduce(
                and_,
                (
                    static[AGGRESSIVE].where(sources=n)["utilisation"]
                    > static[AGGRESSIVE].where(sources=8)["utilisation"]
                    for n in SOURCES[1:]
                ),
                static[AGGRESSIVE].where(sources=8)["utilisation"] < 95,
            ),
        )
        yield Claim(
            "C5",
            f"With the timers and acknowledgements of ns-2.35, Adaptive RED with a freeze of {CHOSEN_S} s loses no "
            "more than either static setting on the testbed, averaged over the numbers of connections.",
            f"{slide}; sensitivity",
            better(ns2, CHOSEN_S),
        )
        yield Claim.unasserted(
            "C5-beat",
            "Where hosts release the delayed acknowledgements of all connections together, every 200 ms, Adaptive RED "
            f"with a freeze of {CHOSEN_S} s loses no more than either static setting on the testbed, averaged over "
            "the numbers of connections.",
            f"{slide}; sensitivity",
            better(beat, CHOSEN_S),
            "BSD releases them per host; in the simulation the timers of all hosts coincide, so that segments come in "
            "bursts, of which aggressive detection loses fewer",
        )
        yield Claim.calibrated(
            "C6",
            f"Over a path of 100 ms Adaptive RED with a freeze of {CHOSEN_S} s keeps the link at least 98 % busy with "
            "any number of connections, and busier with 8 than aggressive detection does.",
            f"{slide}, Link utilization; path and bound reconstructed",
            (adaptive(long, CHOSEN_S)["utilisation"] >= 98)
            & (
                adaptive(long, CHOSEN_S).where(sources=8)["utilisation"]
                > static[AGGRESSIVE].where(sources=8)["utilisation"]
            ),
            f"the freeze of {CHOSEN_S} s was chosen after 0, 1, 2, 5 and 10 s had been seen",
            headline="Adaptive RED keeps the link full at any load (link utilization)",
        )
        for seconds in FREEZE_S:
            if seconds != CHOSEN_S:
                yield Claim.unasserted(
                    f"C6-{seconds}s",
                    f"Over a path of 100 ms Adaptive RED {_freeze(seconds)} keeps the link at least 98 % busy with "
                    "any number of connections, and busier with 8 than aggressive detection does.",
                    f"{slide}, Link utilization; sensitivity to the freeze",
                    (adaptive(long, seconds)["utilisation"] >= 98)
                    & (
                        adaptive(long, seconds).where(sources=8)["utilisation"]
                        > static[AGGRESSIVE].where(sources=8)["utilisation"]
                    ),
                    "with few connections the queue swings across both thresholds; without a freeze each swing "
                    "divides max_p by 3 and doubles it once, so that max_p falls from swing to swing",
                )
        for seconds in (0, CHOSEN_S):
            yield Claim.unasserted(
                f"C6-counted-{seconds}s",
                "Over a path of 100 ms, with windows that grow by segments and not by acknowledgements, Adaptive RED "
                f"{_freeze(seconds)} keeps the link at least 98 % busy, and busier with 8 connections than aggressive "
                "detection does.",
                f"{slide}, Link utilization; sensitivity to the hosts",
                (adaptive(modern, seconds)["utilisation"] >= 98)
                & (
                    adaptive(modern, seconds).where(sources=8)["utilisation"]
                    > modern.where(detection=AGGRESSIVE, freeze=0, sources=8)["utilisation"]
                ),
                "hosts that count segments are not the testbed's: their windows grow twice as fast and swing "
                "further, and then the "
                "freeze decides",
            )
        for name in (AGGRESSIVE, CONSERVATIVE):
            yield Claim.comparison(
                f"C6-{name}",
                f"Utilisation with {name} detection over a path of 100 ms.",
                "for comparison with C6",
                static[name]["utilisation"],
                "the static settings for comparison with Adaptive RED; conservative detection pays with loss (figure "
                '"loss")',
            )

    def figures(self, results: Results) -> Iterable[Figure]:
        """Yield the slides' two figures, on both paths and with other hosts; the freeze; max_p."""
        static = {AGGRESSIVE: 0, CONSERVATIVE: 0}
        chosen = static | {ADAPTIVE: CHOSEN_S}
        bsd = {kind: results.where(hosts=BSD, detection=kind, freeze=seconds) for kind, seconds in chosen.items()}
        bsd["adaptive, no freeze"] = results.where(hosts=BSD, detection=ADAPTIVE, freeze=0)
        adaptive = f"Adaptive RED: with a freeze of {CHOSEN_S} s, and without a freeze."
        yield fig.compare(
            {kind: at["loss"] for kind, at in bsd.items()},
            "loss",
            "Loss against the number of connections",
            adaptive,
            x="sources",
            panel="path",
            claims=("C1", "C3"),
        )
        used = fig.compare(
            {kind: at["utilisation"] for kind, at in bsd.items()},
            "utilisation",
            "Utilisation against the number of connections",
            f"{adaptive} The axis begins at 92 %.",
            x="sources",
            panel="path",
            claims=("C2", "C4", "C6", "C6-0s"),
        )
        yield replace(used, draw=lambda: dumbbell.from_level(used, 92))
        yield Figure(
            "freeze",
            "Utilisation against the freeze over a path of 100 ms",
            "One curve per number of connections. Dotted: aggressive detection with 8 connections. Left: the "
            "testbed's hosts; right: hosts whose windows grow by segments.",
            lambda: _draw_freeze(results),
            claims=("C6", *(f"C6-{s}s" for s in FREEZE_S if s != CHOSEN_S), "C6-counted-0s", f"C6-counted-{CHOSEN_S}s"),
        )
        yield fig.compare(
            {
                kind: results.where(hosts=NS2, path=LAN, detection=kind, freeze=seconds)["loss"]
                for kind, seconds in chosen.items()
            },
            "loss-ns2-hosts",
            "Loss on the local network with ns-2.35's timers and acknowledgements",
            x="sources",
            claims=("C5",),
        )
        yield Figure(
            "max-p",
            "Adaptive RED's max_p at the end of a run",
            "One mark per replication, with the testbed's hosts. Dashed: max_p of the two static settings. The lower "
            "bound of max_p is 0.0001.",
            lambda: _draw_max_p(results.where(hosts=BSD, detection=ADAPTIVE)),
            claims=("C6", "C6-0s"),
        )


def _draw_freeze(results: Results) -> Drawing:
    """Draw utilisation against the freeze, one curve per number of connections, one panel per kind of host."""
    from tailback.plotting import plot

    figure = plot.new(2, sharey=True)
    for axes, hosts in zip(figure.axes, (BSD, MODERN), strict=True):
        at = results.where(hosts=hosts, path=LONG, detection=ADAPTIVE)
        numbers = at["utilisation"].values_of("sources")
        colours = dict(zip(SOURCES, plot.ramp(len(SOURCES)), strict=True))
        with plot.style():
            for index, n in enumerate(numbers):
                along, found = at.where(sources=n)["utilisation"].curve("freeze")
                plot.curve(axes, along, found, label=str(n), index=index, colour=colours[cast(int, n)])
            beside = results.where(hosts=hosts, path=LONG, detection=AGGRESSIVE, freeze=0, sources=8)["utilisation"]
            axes.axhline(next(i for _, i in beside.intervals()).mean, color="#666666", linestyle=":", linewidth=1.1)
            plot.finish(
                axes,
                title=hosts,
                x="freeze (s)",
                y="utilisation (%)" if hosts == BSD else "",
                ticks=[float(s) for s in FREEZE_S],
                legend="connections",
            )
        axes.set_ylim(80, 100.6)
        for artist in (*axes.lines, *axes.collections):
            artist.set_clip_on(True)
    return figure


def _draw_max_p(results: Results) -> Drawing:
    from tailback.plotting import plot

    figure = plot.new(2, width=4.8, sharey=True)
    for axes, path in zip(figure.axes, (LAN, LONG), strict=True):
        with plot.style():
            for index, seconds in enumerate((0, 1, CHOSEN_S)):
                marks = [
                    (cast(int, point["sources"]) * 1.08 ** (index - 1), sample.values["max_p"])
                    for point, samples in results.where(path=path, freeze=seconds).samples.items()
                    for sample in samples
                ]
                x, y = zip(*marks, strict=True)
                axes.plot(x, y, "os^"[index], color=plot.COLOURS[index], alpha=0.7, label=_freeze(seconds))
            for static in (0.25, 0.016):
                axes.axhline(static, color="#666666", linestyle="--", linewidth=0.9)
            plot.finish(
                axes,
                title=path,
                x="connections",
                y="max_p at the end" if path == LAN else "",
                x_scale="log",
                y_scale="log",
                ticks=[float(n) for n in SOURCES],
                from_zero=False,
            )
            axes.set_ylim(5e-5, 1.5)
            axes.minorticks_off()
            if path == LONG:
                axes.legend(loc="lower right")
    return figure


def _mean(results: Results) -> Quantity:
    """Return the loss averaged over the numbers of connections."""
    losses = [results.where(sources=n)["loss"] for n in SOURCES]
    return reduce(add, losses) / len(SOURCES)
