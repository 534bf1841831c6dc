"""E8, the testbed of Adaptive RED, emulated: loss and utilisation over the number of connections."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import reduce
from operator import add
from typing import TYPE_CHECKING, cast

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
from tailback.gallery import figures as fig
from tailback.gallery import metrics as m
from tailback.gallery.internet import dumbbell
from tailback.gallery.internet.dumbbell import BOTTLENECK
from tailback.report import Report
from tailback.scenario import Value

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

BUFFER_KB, MIN_KB, MAX_KB, PACKET_BYTES = 50, 10.0, 40.0, 1500
SOURCES = (8, 16, 32, 64)
LAN, LONG = "local", "100 ms"
BSD, NS2 = "BSD", "ns-2.35"
AGGRESSIVE, CONSERVATIVE, ADAPTIVE = "aggressive", "conservative", "adaptive"
DETECTION: dict[str, tuple[float, dict[str, Value] | None]] = {
    AGGRESSIVE: (0.25, None),
    CONSERVATIVE: (0.016, None),
    ADAPTIVE: (0.1, {"kind": "feng", "alpha": 3.0, "beta": 2.0}),
}
NS2_HOST: Settings = {
    "flows[tcp].transport.timers": {
        "clock": "coarse",
        "granularity": "10ms",
        "min-rto": "200ms",
        "initial-rto": "3s",
    },
    "flows[tcp].transport.delayed-ack": {"every": 1},
}


def _final_max_p(report: Report) -> float:
    return dumbbell.sampled(report)[1]["state"]["max_probability"][-1]


class Testbed(Experiment):
    """Greedy transfers over a 10 Mbit/s bottleneck with static and Adaptive RED."""

    id = "internet-e08"
    title = "Adaptive RED on a testbed, emulated"
    reference = "Feng, thesis defence (1999), slides Implementation and Adaptive RED Performance"
    axes = (
        Axis("hosts", "timers"),
        Axis("path", "path"),
        Axis("detection", "early detection"),
        Axis("sources", "connections"),
    )
    quick = Profile(duration="80s", warmup="20s", replications=4, max_replications=20, cpu_s=25)
    full = Profile(duration="220s", warmup="20s", replications=10, max_replications=60, cpu_s=600)
    metrics = (
        m.port_loss(BOTTLENECK),
        m.utilisation(BOTTLENECK, label="utilisation"),
        m.mean_queue(BOTTLENECK, label="mean queue"),
        Metric("max_p", "max_p at the end", "", _final_max_p),
    )

    def points(self, profile: ProfileName) -> Iterable[Point]:
        """The testbed; the testbed over a long path; the testbed with ns-2's hosts."""
        del profile
        return [
            *grid(hosts=[BSD], path=[LAN, LONG], detection=DETECTION, sources=SOURCES),
            *grid(hosts=[NS2], path=[LAN], detection=DETECTION, sources=SOURCES),
        ]

    def settings(self, point: Point, profile: ProfileName) -> Settings:
        """RED, the path, the hosts' timers, and the number of connections."""
        del profile
        max_p, adaptive = DETECTION[str(point["detection"])]
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
            **red,
            "flows[tcp].count": point["sources"],
            "run.sample": "1s",
            **({"links[0].delay": "50ms"} if point["path"] == LONG else {}),
            **(NS2_HOST if point["hosts"] == NS2 else {}),
        }

    def claims(self, results: Results) -> Iterable[Claim]:
        """Adaptive RED on the testbed, and what each static setting does badly."""
        lan, long = results.where(hosts=BSD, path=LAN), results.where(hosts=BSD, path=LONG)
        ns2 = results.where(hosts=NS2, path=LAN)
        slide = "slide Adaptive RED Performance"
        return [
            Claim(
                "C1",
                "On the testbed Adaptive RED loses no more, averaged over the number of connections, than either "
                "static setting.",
                f"{slide}, Loss rates; the average reconstructed",
                (_mean(lan, ADAPTIVE) <= _mean(lan, AGGRESSIVE)) & (_mean(lan, ADAPTIVE) <= _mean(lan, CONSERVATIVE)),
            ),
            Claim(
                "C2",
                "It keeps the link at least 97 % busy.",
                f"{slide}, Link utilization; the bound reconstructed",
                lan.where(detection=ADAPTIVE)["utilisation"] >= 97,
            ),
            Claim(
                "C3",
                "Conservative detection loses the more the more connections there are.",
                f"{slide}, Loss rates; derived as in internet-e05",
                lan.where(detection=CONSERVATIVE)["loss"].non_decreasing("sources", tolerance=0.1)
                & (lan.where(detection=CONSERVATIVE, sources=64)["loss"] > 1),
            ),
            Claim(
                "C4",
                "Over a path of 100 ms aggressive detection wastes the link the more the fewer connections there are, "
                "and with 8 of them more than 5 %.",
                f"{slide}, Link utilization; the path reconstructed",
                long.where(detection=AGGRESSIVE)["utilisation"].non_decreasing("sources", tolerance=0.5)
                & (long.where(detection=AGGRESSIVE, sources=8)["utilisation"] < 95),
            ),
            Claim(
                "C5",
                "C1 does not hang on the hosts' timers: it holds with those of ns-2.35.",
                f"{slide}; sensitivity",
                (_mean(ns2, ADAPTIVE) <= _mean(ns2, AGGRESSIVE)) & (_mean(ns2, ADAPTIVE) <= _mean(ns2, CONSERVATIVE)),
            ),
            Claim.comparison(
                "C6",
                "Utilisation of Adaptive RED over a path of 100 ms.",
                "not in the deck",
                long.where(detection=ADAPTIVE)["utilisation"],
                "the queue of few connections swings across both thresholds there; each swing divides max_p by 3 and "
                "doubles it once, so that it runs down towards its bound",
            ),
        ]

    def figures(self, results: Results) -> Iterable[Figure]:
        """The deck's two figures, on both paths and with both kinds of hosts; max_p."""
        bsd = {kind: results.where(hosts=BSD, detection=kind) for kind in DETECTION}
        ns2 = {kind: results.where(hosts=NS2, path=LAN, detection=kind) for kind in DETECTION}
        yield fig.compare(
            {kind: at["loss"] for kind, at in bsd.items()},
            "loss",
            "Loss over the number of connections",
            x="sources",
            panel="path",
            claims=("C1", "C3"),
        )
        used = fig.compare(
            {kind: at["utilisation"] for kind, at in bsd.items()},
            "utilisation",
            "Utilisation over the number of connections",
            "The axis begins at 85 %.",
            x="sources",
            panel="path",
            claims=("C2", "C4", "C6"),
        )
        yield replace(used, draw=lambda: _from_85(used))
        yield fig.compare(
            {kind: at["loss"] for kind, at in ns2.items()},
            "loss-ns2-hosts",
            "Loss on the local network with ns-2.35's timers",
            x="sources",
            claims=("C5",),
        )
        yield Figure(
            "max-p",
            "Where Adaptive RED's max_p ends up",
            "One mark per replication. The settings' values are dashed; the lower bound is 0.0001.",
            lambda: _draw_max_p(results.where(detection=ADAPTIVE)),
            claims=("C6",),
        )


def _draw_max_p(results: Results) -> Drawing:
    from tailback import plot

    figure = plot.new(width=6.4)
    (axes,) = figure.axes
    with plot.style():
        for index, (hosts, path) in enumerate(((BSD, LAN), (NS2, LAN), (BSD, LONG))):
            at = results.where(hosts=hosts, path=path)
            marks = [
                (cast(int, point["sources"]) * 1.06 ** (index - 1), sample.values["max_p"])
                for point, samples in at.samples.items()
                for sample in samples
            ]
            x, y = zip(*marks, strict=True)
            axes.plot(x, y, "os^"[index], color=plot.COLOURS[index], alpha=0.7, label=f"{path} path, {hosts} timers")
        for static in (0.25, 0.016):
            axes.axhline(static, color="#666666", linestyle="--", linewidth=0.9)
        plot.finish(
            axes,
            x="connections",
            y="max_p",
            x_scale="log",
            y_scale="log",
            ticks=[float(n) for n in SOURCES],
            from_zero=False,
        )
        axes.set_ylim(5e-5, 1.5)
        axes.legend(loc="lower right")
    return figure


def _from_85(figure: Figure) -> Drawing:
    drawn = figure.draw()
    for axes in drawn.axes:
        axes.set_ylim(85, 100.5)
        for artist in (*axes.lines, *axes.collections):
            artist.set_clip_on(True)
    return drawn


def _mean(results: Results, detection: str) -> Quantity:
    """Loss averaged over the number of connections."""
    losses = [results.where(detection=detection, sources=n)["loss"] for n in SOURCES]
    return reduce(add, losses) / len(SOURCES)
