"""internet-e02: loss with RED and with drop-tail, without ECN."""

from __future__ import annotations

from collections.abc import Iterable
from typing import cast

from tailback.gallery.internet.shared import dumbbell
from tailback.gallery.internet.shared.dumbbell import BOTTLENECK
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

DROP_TAIL, RED = "drop-tail", "RED"
# Number of connections on the slide, and buffer where it is not varied.
SLIDE_SOURCES, USUAL_KB = 64, 80
BUFFERS_KB = (20, 50, 80, 100, 200)
SOURCES = (8, 16, 32, SLIDE_SOURCES, 128)
MAX_P = 0.1


class RedAndLoss(Experiment):
    """Drop-tail and RED compared over the buffer and over the number of connections."""

    id = "internet-e02"
    title = "RED does not lower loss"
    reference = "Feng, thesis defence (1999), slide RED and Packet Loss: 64 connections, 10 Mbps link"
    axes = (
        Axis("queue", "queue"),
        Axis("sources", "connections"),
        Axis("buffer", "buffer", "kB"),
    )
    quick = Profile(duration="120s", warmup="20s", replications=4, max_replications=24, cpu_s=30)
    full = Profile(duration="220s", warmup="20s", replications=10, max_replications=60, cpu_s=120)
    metrics = (
        m.port_loss(BOTTLENECK),
        m.utilisation(BOTTLENECK, label="utilisation"),
        m.mean_queue(BOTTLENECK, label="mean queue"),
    )

    def points(self, profile: ProfileName) -> Iterable[Point]:
        """Return the points: 64 connections with each buffer, and each number of connections with 80 kB."""
        del profile
        queues = (DROP_TAIL, RED)
        # Figures and claim C4 need the numbers of connections in ascending order.
        return [
            *grid(queue=queues, sources=[n for n in SOURCES if n < SLIDE_SOURCES], buffer=[USUAL_KB]),
            *grid(queue=queues, sources=[SLIDE_SOURCES], buffer=BUFFERS_KB),
            *grid(queue=queues, sources=[n for n in SOURCES if n > SLIDE_SOURCES], buffer=[USUAL_KB]),
        ]

    def settings(self, point: Point, profile: ProfileName) -> Settings:
        """Return the settings of the queue and of the number of connections."""
        del profile
        size = float(point["buffer"])
        drop_tail = dumbbell.bottleneck(size, {"kind": "drop-tail"})
        queue = drop_tail if point["queue"] == DROP_TAIL else dumbbell.red(size, MAX_P, ecn=False)
        return {**queue, "flows[tcp].count": point["sources"]}

    def claims(self, results: Results) -> Iterable[Claim]:
        """Return the claims: RED loses about as much as drop-tail, and both lose more with more connections."""
        drop_tail, red = results.where(queue=DROP_TAIL), results.where(queue=RED)
        slide = 'slide RED and Packet Loss, 64 connections, 10 Mbps: "Impact of RED on loss rates minimal"'
        few = {"sources": lambda n: int(cast(int, n)) <= SLIDE_SOURCES}
        return [
            Claim(
                "C1",
                "With 64 connections the loss with RED is within 25 % of that with drop-tail, at every buffer.",
                f"{slide}; the tolerance reconstructed",
                red.where(sources=SLIDE_SOURCES)["loss"].close_to(drop_tail.where(sources=SLIDE_SOURCES)["loss"], 0.25),
                headline="Impact of RED on loss rates minimal (64 connections, 10 Mbit/s)",
            ),
            Claim(
                "C2",
                "With 64 connections RED and drop-tail both lose more than 1 %, at every buffer.",
                f"{slide}; the bound reconstructed",
                results.where(sources=SLIDE_SOURCES)["loss"] > 1,
            ),
            Claim(
                "C3",
                "With 8 to 64 connections and a buffer of 80 kB, the loss with RED is within 25 % of that with "
                "drop-tail.",
                'slide RED and Packet Loss: "Loss rates are a first order function of TCP"; the tolerance '
                "reconstructed",
                red.where(buffer=USUAL_KB, **few)["loss"].close_to(
                    drop_tail.where(buffer=USUAL_KB, **few)["loss"], 0.25
                ),
            ),
            Claim(
                "C4",
                "With a buffer of 80 kB the loss grows with the number of connections, from 8 to 128, with RED and "
                "with drop-tail.",
                "slide Comments on Model; stated",
                results.where(buffer=USUAL_KB)["loss"].non_decreasing("sources", tolerance=0.1),
            ),
            Claim.comparison(
                "C5",
                "Loss with RED minus that with drop-tail, with 128 connections and a buffer of 80 kB.",
                "ns-2.35: RED loses 37 % more than drop-tail",
                red.where(sources=128, buffer=USUAL_KB)["loss"] - drop_tail.where(sources=128, buffer=USUAL_KB)["loss"],
                "outside the slide's 64 connections",
            ),
        ]

    def figures(self, results: Results) -> Iterable[Figure]:
        """Yield the loss against buffer and number of connections, and the mean queue against buffer."""
        by_queue = {name: results.where(queue=name) for name in (DROP_TAIL, RED)}
        over_buffer = {name: at.where(sources=SLIDE_SOURCES) for name, at in by_queue.items()}
        over_sources = {name: at.where(buffer=USUAL_KB) for name, at in by_queue.items()}
        yield fig.compare(
            {name: at["loss"] for name, at in over_buffer.items()},
            "loss-buffer",
            "Loss of 64 connections at 10 Mbit/s",
            x="buffer",
            claims=("C1", "C2"),
        )
        yield fig.compare(
            {name: at["loss"] for name, at in over_sources.items()},
            "loss-sources",
            "Loss against the number of connections, buffer of 80 kB",
            x="sources",
            claims=("C3", "C4"),
        )
        yield fig.compare(
            {name: at["mean_queue"] for name, at in over_buffer.items()},
            "mean-queue",
            "Mean queue with 64 connections",
            x="buffer",
        )
