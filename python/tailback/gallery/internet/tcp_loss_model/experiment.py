"""internet-e03: the loss model p = (N MSS C / (L RTT))², compared with measured losses."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import reduce
from operator import and_
from typing import TYPE_CHECKING, cast

from tailback.gallery.internet.shared import dumbbell
from tailback.gallery.internet.shared.dumbbell import BOTTLENECK
from tailback.plotting import experiment as fig
from tailback.results import observables as m
from tailback.study.experiment import (
    Axis,
    Claim,
    Condition,
    Experiment,
    Figure,
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

DROP_TAIL, RED = "drop-tail", "RED"
BUFFER_KB, RED_MAX_P = 80, 0.1
SOURCES = (4, 8, 16, 32, 64, 128)
USUAL_MS, LONG_MS = 10, 59
"""One-way delays of the bottleneck, ms. The longer one doubles the round trip of 8 sources, 98 ms with the queue."""
# Size of the headers and usual size of a packet, bytes.
HEADER, USUAL_BYTES = 40, 1000
PACKETS_BYTES = (500, USUAL_BYTES, 1500)
C_PERIODIC = math.sqrt(1.5)
"""C for one acknowledgement per segment and losses at equal intervals; the slides have √3 by mistake (README)."""


def model(sources: float, packet_bytes: float, delay_ms: float, queue_kb: float) -> float:
    """Return the loss in % by the slides' formula, at most 100.

    The round trip includes the mean queue `queue_kb`; `delay_ms` is the one-way delay of the bottleneck.
    """
    # 10.2 and 6.4 ms are the mean delays of the senders' and receivers' access links.
    packets_per_s = 10e6 / 8 / packet_bytes
    round_trip_s = 2e-3 * (delay_ms + 10.2 + 6.4) + queue_kb / 1250
    return 100 * min(1.0, (sources * C_PERIODIC / (packets_per_s * round_trip_s)) ** 2)


class LossModel(Experiment):
    """TCP over a 10 Mbit/s link: loss by number of sources, round trip and size of segments."""

    id = "internet-e03"
    title = "The loss model of TCP"
    reference = "Feng, thesis defence (1999), slides TCP Revisited and Comments on Model"
    axes = (
        Axis("queue", "queue"),
        Axis("delay", "one-way delay of the bottleneck link", "ms"),
        Axis("packet", "packet", "B"),
        Axis("sources", "connections"),
    )
    quick = Profile(duration="140s", warmup="20s", replications=4, max_replications=24, cpu_s=30)
    full = Profile(duration="420s", warmup="20s", replications=10, max_replications=60, cpu_s=250)
    metrics = (
        m.port_loss(BOTTLENECK),
        m.utilisation(BOTTLENECK, label="utilisation"),
        m.mean_queue(BOTTLENECK, label="mean queue"),
    )

    def points(self, profile: ProfileName) -> Iterable[Point]:
        """Return the points: all numbers of sources with both queues; other round trips and packets with drop-tail."""
        del profile
        return [
            *grid(queue=[DROP_TAIL, RED], delay=[USUAL_MS], packet=[USUAL_BYTES], sources=SOURCES),
            *grid(queue=[DROP_TAIL], delay=[LONG_MS], packet=[USUAL_BYTES], sources=(8, 16, 32)),
            *grid(queue=[DROP_TAIL], delay=[USUAL_MS], packet=[500, 1500], sources=(8, 16, 32)),
        ]

    def settings(self, point: Point, profile: ProfileName) -> Settings:
        """Return the settings of queue, delay of the bottleneck, number of sources and size of segments."""
        del profile
        drop_tail = dumbbell.bottleneck(BUFFER_KB, {"kind": "drop-tail"})
        return {
            **(drop_tail if point["queue"] == DROP_TAIL else dumbbell.red(BUFFER_KB, RED_MAX_P, ecn=False)),
            "links[0].delay": f"{point['delay']}ms",
            "flows[tcp].count": point["sources"],
            "flows[tcp].transport.segment": f"{cast(int, point['packet']) - HEADER}B",
        }

    def claims(self, results: Results) -> Iterable[Claim]:
        """Return the claims on the growth of the loss with N, and on the effects of round trip and segment size."""
        usual = results.where(delay=USUAL_MS, packet=USUAL_BYTES)
        drop_tail = results.where(queue=DROP_TAIL)
        comments = "slide Comments on Model"
        low, high = 2.0**0.9, 4.0
        by_packet = drop_tail.where(delay=USUAL_MS, sources=[8, 16, 32])["loss"]
        by_delay = drop_tail.where(packet=USUAL_BYTES, sources=[8, 16, 32])["loss"]
        return [
            Claim(
                "C1",
                "From 4 to 16 connections the loss grows between linearly and quadratically: by a factor of 2 to 4 "
                "when their number doubles.",
                f'{comments}: "Loss rates as a function of N between linear and quadratic"',
                _doubling(usual["loss"], (4, 8), 2.0, high),
                headline="loss grows with N between linearly and quadratically",
            ),
            Claim.unasserted(
                "C1-32",
                "From 16 to 32 connections the loss grows by a factor of 2 to 4.",
                f'{comments}: "Loss rates as a function of N between linear and quadratic"',
                _doubling(usual["loss"], (16,), 2.0, high),
                "timeouts flatten the curve: the exponent is about 1",
            ),
            Claim.calibrated(
                "C1-32-0.9",
                "From 16 to 32 connections the loss grows by a power of their number of 0.9 to 2.",
                f"{comments}; the bound reconstructed",
                _doubling(usual["loss"], (16,), low, high),
                "0.9 was chosen instead of 1 because the measured exponent is about 1",
            ),
            Claim(
                "C2",
                "From 64 to 128 connections the loss grows at most linearly: timeouts, not windows, limit the sources.",
                f'{comments}: "No retransmission timeouts - [Padhye98]" as what the model leaves out; derived',
                usual.where(sources=128)["loss"] <= 2 * usual.where(sources=64)["loss"],
            ),
            Claim(
                "C3",
                "The loss does not decrease when the number of connections doubles.",
                f'{comments}: "Reducing N - [Balakrishnan98]"',
                usual["loss"].non_decreasing("sources", tolerance=0.1),
            ),
            Claim(
                "C4",
                "With drop-tail and 8, 16 or 32 connections the loss is lower if the round trip is longer.",
                f'{comments}: "Increasing RTT - [Villamizar94]"',
                by_delay.where(delay=LONG_MS) < by_delay.where(delay=USUAL_MS),
            ),
            Claim(
                "C5",
                "With drop-tail and 8 connections, doubling the round trip (queueing included) divides the loss by "
                "2 to 4.",
                "derived from the model: an exponent of 1 to 2",
                (by_delay.where(delay=USUAL_MS, sources=8) >= 2 * by_delay.where(delay=LONG_MS, sources=8))
                & (by_delay.where(delay=USUAL_MS, sources=8) <= 4 * by_delay.where(delay=LONG_MS, sources=8)),
            ),
            Claim(
                "C6",
                "With drop-tail and 8, 16 or 32 connections the loss is lower if segments are smaller.",
                f'{comments}: "Decreasing MSS - [Feng98]"',
                (by_packet.where(packet=500) < by_packet.where(packet=1000))
                & (by_packet.where(packet=1000) < by_packet.where(packet=1500)),
            ),
        ]

    def figures(self, results: Results) -> Iterable[Figure]:
        """Yield measured and modelled losses against N, and losses by round trip and by packet size."""
        usual = results.where(delay=USUAL_MS, packet=USUAL_BYTES)
        yield Figure(
            "model",
            "Measured and modelled loss against the number of connections",
            "Dashed: p = (N MSS C/(L RTT))², at most 1, with C = √(3/2) and a round trip that includes the measured "
            "mean queue. Dotted: lines of slope 1 and 2.",
            lambda: _against_model({name: usual.where(queue=name) for name in (DROP_TAIL, RED)}),
            claims=("C1", "C1-32", "C1-32-0.9", "C2", "C3"),
        )
        drop_tail = results.where(queue=DROP_TAIL, sources=[8, 16, 32])
        yield fig.compare(
            {
                f"{words} round trip": drop_tail.where(packet=USUAL_BYTES, delay=delay)["loss"]
                for delay, words in ((USUAL_MS, "usual"), (LONG_MS, "doubled"))
            },
            "round-trip",
            "Loss with two round trips, drop-tail of 80 kB",
            x="sources",
            claims=("C4", "C5"),
        )
        yield fig.compare(
            {f"{size} B": drop_tail.where(delay=USUAL_MS, packet=size)["loss"] for size in PACKETS_BYTES},
            "segment",
            "Loss with three packet sizes, drop-tail of 80 kB",
            x="sources",
            claims=("C6",),
        )


def _doubling(loss: Quantity, sources: Sequence[int], low: float, high: float) -> Condition:
    """Return the condition that from each number of sources to twice that the loss grows by `low` to `high`."""
    steps = [(loss.where(sources=n), loss.where(sources=2 * n)) for n in sources]
    return reduce(and_, ((two >= low * one) & (two <= high * one) for one, two in steps))


def _against_model(by_queue: Mapping[str, Results]) -> Drawing:
    from tailback.plotting import plot

    figure = plot.new(2, sharey=True)
    for index, (axes, (name, results)) in enumerate(zip(figure.axes, by_queue.items(), strict=True)):
        along, intervals = results["loss"].curve("sources")
        numbers = [float(n) for n in along]
        queues = [interval.mean for interval in results["mean_queue"].curve("sources")[1]]
        with plot.style():
            plot.curve(axes, numbers, intervals, label="measured", index=index)
            modelled = [model(n, USUAL_BYTES, USUAL_MS, queue) for n, queue in zip(numbers, queues, strict=True)]
            axes.plot(numbers, modelled, "--", color="#444444", label="model")
            middle = intervals[2].mean
            for slope in (1, 2):
                line = [middle * (n / numbers[2]) ** slope for n in numbers]
                axes.plot(numbers, line, ":", color="#888888", linewidth=1)
                apart = (0, 12) if slope == 1 else (14, -4)
                axes.annotate(
                    f"slope {slope}", (numbers[0], line[0]), xytext=apart, textcoords="offset points", fontsize=8
                )
            y = "packet loss (%)" if index == 0 else ""
            plot.finish(
                axes, title=name, x="connections", y=y, x_scale="log", y_scale="log", ticks=numbers, from_zero=False
            )
            axes.set_ylim(0.1, 110)
            axes.legend(loc="lower right")
    return figure
