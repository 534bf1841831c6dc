"""E8, the testbed of Adaptive RED, emulated: loss and utilisation over the number of connections."""

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

BUFFER_KB, MIN_KB, MAX_KB, PACKET_BYTES = 50, 10.0, 40.0, 1500
SOURCES = (8, 16, 32, 64)
LAN, LONG = "local network", "path of 100 ms"
BSD, NS2, MODERN, BEAT = "FreeBSD 2.2", "ns-2.35", "segments counted", "acks on a heartbeat"
AGGRESSIVE, CONSERVATIVE, ADAPTIVE = "aggressive", "conservative", "adaptive"
DETECTION: dict[str, tuple[float, dict[str, Value] | None]] = {
    AGGRESSIVE: (0.25, None),
    CONSERVATIVE: (0.016, None),
    ADAPTIVE: (0.1, {"kind": "feng", "alpha": 3.0, "beta": 2.0}),
}
FREEZE_S = (0, 1, 2, 5, 10)
"""Least time between changes of max_p. The slide says "freeze" and gives no value."""
CHOSEN_S = 5
"""The freeze that E8 shows next to the static settings; chosen after all were simulated."""
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
    # Windows grow by the segments acknowledged (RFC 3465 of 2003), not by acknowledgements, twice as fast with delayed
    # acknowledgements.
    BEAT: testbed.HEARTBEAT,
    MODERN: {"flows[tcp].transport.congestion-control": {"kind": "reno", "byte-counting": 2}},
}
"""Differences from the testbed's hosts."""


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
        """The testbed and the same over a long path, with each freeze; both with other hosts."""
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
        """RED and its freeze, the path, the hosts, and the number of connections."""
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
        """Adaptive RED on the testbed, and the defect of each static setting."""
        lan, long = results.where(hosts=BSD, path=LAN), results.where(hosts=BSD, path=LONG)
        ns2, beat = (results.where(hosts=hosts, path=LAN) for hosts in (NS2, BEAT))
        modern = results.where(hosts=MODERN, path=LONG)
        slide = "slide Adaptive RED Performance"
        static = {name: long.where(detection=name, freeze=0) for name in (AGGRESSIVE, CONSERVATIVE)}

        def adaptive(at: Results, seconds: int) -> Results:
            return at.where(detection=ADAPTIVE, freeze=seconds)

        def better(at: Results, seconds: int) -> Condition:
            """Loss averaged over the number of connections is no larger than that of either static setting."""
            mean = _mean(adaptive(at, seconds))
            return reduce(
                and_, (mean <= _mean(at.where(detection=name, freeze=0)) for name in (AGGRESSIVE, CONSERVATIVE))
            )

        yield Claim(
            "C1",
            "On the testbed Adaptive RED loses no more, averaged over the number of connections, than either static "
            "setting, with any freeze from 1 to 10 s.",
            f"{slide}, Loss rates; the average reconstructed",
            reduce(and_, (better(lan, seconds) for seconds in FREEZE_S if seconds)),
            headline="Adaptive RED loses less than either static setting (loss rates)",
        )
        yield Claim.unasserted(
            "C1-0s",
            "The same without a freeze, which the slide asks for.",
            f"{slide}, Loss rates; sensitivity to the freeze",
            better(lan, 0),
            "the loss with 64 connections differs from run to run, so that a quick run does not always decide",
        )
        yield Claim(
            "C2",
            "On the testbed's own path every setting keeps the link at least 97 % busy.",
            "derived: the queue makes the round trip, and it never runs empty; the bound reconstructed",
            lan["utilisation"] >= 97,
        )
        yield Claim(
            "C3",
            "Conservative detection loses the more the more connections there are.",
            f"{slide}, Loss rates; derived as in internet-e05",
            lan.where(detection=CONSERVATIVE, freeze=0)["loss"].non_decreasing("sources", tolerance=0.1)
            & (lan.where(detection=CONSERVATIVE, freeze=0, sources=64)["loss"] > 1),
        )
        yield Claim(
            "C4",
            "Over a path of 100 ms aggressive detection wastes more than 5 % of the link with 8 connections, and less "
            "with more.",
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
            "C1 does not hang on the hosts: it holds with those of ns-2.35.",
            f"{slide}; sensitivity",
            better(ns2, CHOSEN_S),
        )
        yield Claim.unasserted(
            "C5-beat",
            "It holds where delayed acknowledgements of all connections leave together, every 200 ms.",
            f"{slide}; sensitivity",
            better(beat, CHOSEN_S),
            "BSD does so per host; here the beats of all hosts fall together, so that sources come in bursts, of which "
            "aggressive detection loses less",
        )
        yield Claim.calibrated(
            "C6",
            f"Over that path Adaptive RED with a freeze of {CHOSEN_S} s keeps the link at least 98 % busy with any "
            "number of connections, and busier with 8 than aggressive detection does.",
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
                    f"The same {_freeze(seconds)}.",
                    f"{slide}, Link utilization; sensitivity to the freeze",
                    (adaptive(long, seconds)["utilisation"] >= 98)
                    & (
                        adaptive(long, seconds).where(sources=8)["utilisation"]
                        > static[AGGRESSIVE].where(sources=8)["utilisation"]
                    ),
                    "with few connections the queue swings across both thresholds; without a rest each swing divides "
                    "max_p by 3 and doubles it once, so that it runs down",
                )
        for seconds in (0, CHOSEN_S):
            yield Claim.unasserted(
                f"C6-counted-{seconds}s",
                f"The same {_freeze(seconds)}, where windows grow by segments, not by acknowledgements.",
                f"{slide}, Link utilization; sensitivity to the hosts",
                (adaptive(modern, seconds)["utilisation"] >= 98)
                & (
                    adaptive(modern, seconds).where(sources=8)["utilisation"]
                    > modern.where(detection=AGGRESSIVE, freeze=0, sources=8)["utilisation"]
                ),
                "not the testbed's hosts: windows that grow twice as fast swing further, and then the freeze decides",
            )
        for name in (AGGRESSIVE, CONSERVATIVE):
            yield Claim.comparison(
                f"C6-{name}",
                f"Utilisation with {name} detection over that path.",
                "beside C6",
                static[name]["utilisation"],
                "the static settings beside Adaptive RED; conservative detection pays with loss (figure)",
            )

    def figures(self, results: Results) -> Iterable[Figure]:
        """The deck's two figures, on both paths and with other hosts; the freeze; max_p."""
        static = {AGGRESSIVE: 0, CONSERVATIVE: 0}
        chosen = static | {ADAPTIVE: CHOSEN_S}
        bsd = {kind: results.where(hosts=BSD, detection=kind, freeze=seconds) for kind, seconds in chosen.items()}
        bsd["adaptive, no freeze"] = results.where(hosts=BSD, detection=ADAPTIVE, freeze=0)
        adaptive = f"Adaptive: with a freeze of {CHOSEN_S} s, and without."
        yield fig.compare(
            {kind: at["loss"] for kind, at in bsd.items()},
            "loss",
            "Loss over the number of connections",
            adaptive,
            x="sources",
            panel="path",
            claims=("C1", "C3"),
        )
        used = fig.compare(
            {kind: at["utilisation"] for kind, at in bsd.items()},
            "utilisation",
            "Utilisation over the number of connections",
            f"{adaptive} The axis begins at 92 %.",
            x="sources",
            panel="path",
            claims=("C2", "C4", "C6", "C6-0s"),
        )
        yield replace(used, draw=lambda: dumbbell.from_level(used, 92))
        yield Figure(
            "freeze",
            "What the freeze does, over a path of 100 ms",
            "One curve per number of connections. Dotted: aggressive detection with 8 connections. Left, the testbed's "
            "hosts; right, windows that grow by segments.",
            lambda: _draw_freeze(results),
            claims=("C6", *(f"C6-{s}s" for s in FREEZE_S if s != CHOSEN_S), "C6-counted-0s", f"C6-counted-{CHOSEN_S}s"),
        )
        yield fig.compare(
            {
                kind: results.where(hosts=NS2, path=LAN, detection=kind, freeze=seconds)["loss"]
                for kind, seconds in chosen.items()
            },
            "loss-ns2-hosts",
            "Loss on the local network with ns-2.35's timers",
            x="sources",
            claims=("C5",),
        )
        yield Figure(
            "max-p",
            "Where Adaptive RED's max_p ends up",
            "One mark per replication, on the testbed's hosts. The static settings' values are dashed; the lower bound "
            "is 0.0001.",
            lambda: _draw_max_p(results.where(hosts=BSD, detection=ADAPTIVE)),
            claims=("C6", "C6-0s"),
        )


def _draw_freeze(results: Results) -> Drawing:
    """Utilisation over the freeze, by number of connections, with two kinds of hosts."""
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
    """Loss averaged over the number of connections."""
    losses = [results.where(sources=n)["loss"] for n in SOURCES]
    return reduce(add, losses) / len(SOURCES)
