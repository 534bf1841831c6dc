"""lan-a2, rate mismatch: experiment A.2, a 100 Mbit/s link before a 10 Mbit/s port, without and with 802.3x."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from tailback.gallery.lan.shared.traffic_models import BATCHES, READINGS, SELF_SIMILAR, UNIFORM, data_source
from tailback.plotting import experiment as fig
from tailback.plotting.slides import Slide, on_one_scale
from tailback.results import observables as m
from tailback.results.report import Report
from tailback.study.experiment import (
    Axis,
    AxisValue,
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
from tailback.study.experiment.claims import Check

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

# Buffer before the slow link, kB.
BUFFER_KB = 50
FAST, SLOW = 100, 10
"""Rates into and out of the small buffer, Mbit/s."""
CAPACITY = 10 * 1500 / 1538
"""Payload that the slow link carries in full frames, Mbit/s."""
FRAMED = 1518 / 1500
"""Buffer bytes per payload byte in full frames."""
OVERLOAD = 10
"""Data rate above the slow link's capacity of 9.753 Mbit/s of payload, Mbit/s."""


def isolated_loss(burst_kb: AxisValue) -> float:
    """Return the loss in % of bursts that never meet, as at low load; their sizes are uniform from 0 to 2 `burst_kb`.

    While a burst of X bytes arrives, the share r/R = SLOW/FAST of it leaves; the excess over the buffer is lost. With
    X0, the largest burst without loss, the excess is (1 - r/R)(X - X0) for X > X0. Its mean is divided by that of X.
    """
    largest, kept = 2 * float(burst_kb), 1 - SLOW / FAST
    passes = BUFFER_KB / kept / FRAMED
    return 100 * kept * max(0.0, largest - passes) ** 2 / largest**2


def _floor(report: Report) -> float:
    """Return the loss in % of the realised load if the slow link is never idle, a lower bound for every mechanism."""
    return max(0.0, 100 * (1 - 1e6 * CAPACITY / report.offered_bps()))


class RateMismatch(Experiment):
    """One source of 1 to 10 Mbit/s from a 100 Mbit/s into a 10 Mbit/s link."""

    id = "lan-a2"
    title = "Rate mismatch"
    reference = "Tobagi, Fraleigh and Noureddine, experiment A.2"
    axes = (
        Axis("traffic", "traffic model"),
        Axis("mechanism", "mechanism"),
        Axis("burst", "mean burst size", "kB"),
        Axis("rate", "data rate", "Mbit/s"),
    )
    quick = Profile(duration="80s", warmup="20s", replications=5, max_replications=60, cpu_s=26)
    full = Profile(duration="420s", warmup="20s", replications=5, max_replications=80, cpu_s=280)
    metrics = (
        m.loss(),
        m.mean_delay(),
        m.drops_outside("sw1->*", name="drops_outside_sw1", label="packets lost outside the 500 kB buffer"),
        m.drops_outside("sw2->*", name="drops_outside_sw2", label="packets lost outside the 50 kB buffer"),
        m.offered(),
        Observable("floor", "loss if the slow link is never idle", "%", _floor, lowest=0.0),
    )

    def points(self, profile: ProfileName) -> Iterable[Point]:
        """Return the points: the ranges of the slides, which differ between the traffic models."""
        mechanism = ("none", "plain")
        bursts: tuple[int, ...]
        rates: tuple[int, ...]
        ss_rates: tuple[int, ...]
        if profile == "full":
            bursts, rates, ss_rates = (6, 12, 24, 48, 96), (1, 2, 3, 5, 6, 8, 9, 10), (2, 4, 6, 8)
        else:
            bursts, rates, ss_rates = (6, 12, 24, 48, 96), (1, 2, 5, 8, 10), (2, 5, 8)
        ss_bursts = [burst for burst in bursts if burst <= 48]
        uniform = grid(traffic=[UNIFORM], mechanism=mechanism, rate=rates, burst=bursts)
        return uniform + grid(traffic=READINGS, mechanism=mechanism, rate=ss_rates, burst=ss_bursts)

    def settings(self, point: Point, profile: ProfileName) -> Settings:
        """Return the settings of mechanism, source and length of the run.

        Runs with self-similar traffic or 1 Mbit/s are longer; at 10 Mbit/s measurement starts with full buffers.
        """
        source = data_source(point["traffic"], point["burst"], point["rate"])
        run: Settings = {}
        if point["traffic"] in READINGS:
            run = {"run.duration": "2020s" if profile == "full" else "200s"}
        elif point["rate"] == 1:
            # At this rate there are few packets, and C1 needs the loss to within 2 percentage points.
            run = {"run.duration": "2020s" if profile == "full" else "605s"}
        elif point["rate"] == OVERLOAD:
            # The excess of 0.25 to 0.3 Mbit/s takes up to 18 s to fill 550 kB.
            run = {"run.warmup": "30s", "run.duration": "430s" if profile == "full" else "140s"}
        return {"backpressure.scope": point["mechanism"], "flows[data].source": source, **run}

    def claims(self, results: Results) -> Iterable[Claim]:
        """Return the claims on isolated bursts, loss with XON/XOFF by traffic model, and places of the losses."""
        none, plain = results.where(mechanism="none"), results.where(mechanism="plain")
        uu_none, uu_plain = none.where(traffic=UNIFORM), plain.where(traffic=UNIFORM)
        transient = {"rate": lambda rate: float(rate) <= 5}
        medium = {"burst": lambda burst: float(burst) <= 48}
        large = {"burst": lambda burst: float(burst) >= 24}
        return [
            Claim(
                "C1",
                "At 1 Mbit/s, where bursts hardly meet, the loss of uniform bursts without control is that of the "
                "formula for isolated bursts, within 2 percentage points.",
                "derived: a burst arrives at 100 Mbit/s, leaves at 10 Mbit/s, and loses the bytes that exceed the "
                "buffer meanwhile",
                _near_oracle(uu_none.where(rate=1)["loss"]),
            ),
            Claim(
                "C2a",
                "With XON/XOFF nothing is lost of uniform bursts of up to 48 kB on average, up to 5 Mbit/s.",
                "slide Rate Mismatch, Packet Loss using XON/XOFF, uniform-uniform; the range from a prototype",
                uu_plain.where(**transient, **medium)["loss"].is_zero(),
                headline="XON/XOFF reduces loss due to rate mismatches",
            ),
            Claim(
                "C2b",
                "With XON/XOFF and uniform bursts of 96 kB at most 0.5 % is lost, up to 5 Mbit/s.",
                "slide Rate Mismatch, Packet Loss using XON/XOFF, uniform-uniform; the bound from a prototype",
                uu_plain.where(**transient, burst=96)["loss"] <= 0.5,
            ),
            Claim(
                "C3",
                "Even with XON/XOFF, packets of self-similar traffic with bursts of 48 kB are lost at one rate at "
                "least.",
                'slide Rate Mismatch, self-similar: "can have some loss in 500 KB buffers due to very large bursts"; '
                "stated",
                (plain.where(traffic=SELF_SIMILAR, burst=48)["loss"] > 0).somewhere(),
                headline="self-similar: can have some loss in 500 KB buffers due to very large bursts",
            ),
            Claim(
                "C3b",
                "Even with XON/XOFF, packets of Pareto bursts of 48 kB on average, each generated at one instant, are "
                "lost at every rate.",
                "slide Rate Mismatch, self-similar; derived: bursts above 600 kB, which overflow all buffers even "
                "alone, carry "
                "(14/600)^0.4 = 22 % of the bytes",
                plain.where(traffic=BATCHES, burst=48)["loss"] > 0,
            ),
            Claim(
                "C4",
                "With XON/XOFF all losses are at the 500 kB buffer of sw1, with every traffic model.",
                "slide Rate Mismatch, self-similar, stated. Derived for sw2: the 20 % of its buffer above the high "
                "threshold exceed the "
                "headroom of one 100 Mbit/s link",
                plain["drops_outside_sw1"].is_zero(),
            ),
            Claim(
                "C5",
                "Without control all losses are at the 50 kB buffer of sw2.",
                'slides Packet Loss without Congestion Control: "50 KB buffer becomes congested and drops packets"; '
                "stated",
                none["drops_outside_sw2"].is_zero(),
            ),
            Claim(
                "C6",
                "With uniform or Pareto bursts of 24 kB or more on average, each generated at one instant, less is "
                "lost with XON/XOFF than without control.",
                "derived: with XON/XOFF the same bursts can use 550 kB instead of 50 kB",
                plain.where(**large, traffic=[UNIFORM, BATCHES])["loss"]
                < none.where(**large, traffic=[UNIFORM, BATCHES])["loss"],
            ),
            Claim.calibrated(
                "C6b",
                "With self-similar traffic of 8 Mbit/s in bursts of 24 kB or more, less is lost with XON/XOFF than "
                "without control.",
                "derived as C6",
                plain.where(**large, traffic=SELF_SIMILAR, rate=8)["loss"]
                < none.where(**large, traffic=SELF_SIMILAR, rate=8)["loss"],
                "the rate was chosen after the result: with less load losses are too rare to be compared",
            ),
            Claim(
                "C7",
                "At 10 Mbit/s the loss with XON/XOFF is at least that of a slow link that is never idle, minus 0.4 "
                "percentage points.",
                "derived: the link carries at most 10 · 1500/1538 = 9.753 Mbit/s of payload, 2.5 % less than offered; "
                "550 kB that are full at the start of the measurement and empty at its end are 0.4 % of the load "
                "offered in 110 s",
                uu_plain.where(rate=OVERLOAD)["loss"] - uu_plain.where(rate=OVERLOAD)["floor"] >= -0.4,
            ),
            *(
                Claim.comparison(
                    name,
                    f"Loss at 8 Mbit/s in bursts of 24 kB, {traffic}, {words}.",
                    "slides Rate Mismatch, self-similar, whose curves are lost",
                    at.where(traffic=traffic, rate=8, burst=24)["loss"],
                    "the loss of self-similar traffic depends on the peak rate of its sources, which the slides do "
                    "not give",
                )
                for name, traffic, words, at in (
                    ("R1", SELF_SIMILAR, "without control", none),
                    ("R2", SELF_SIMILAR, "with XON/XOFF", plain),
                    ("R3", BATCHES, "without control", none),
                    ("R4", BATCHES, "with XON/XOFF", plain),
                )
            ),
        ]

    def figures(self, results: Results) -> Iterable[Figure]:
        """Yield the slides' losses by traffic model; the loss of isolated bursts; loss and delay by mechanism."""
        slides = (
            ("uu-none", UNIFORM, "none", "without congestion control", ("C5",)),
            ("uu-plain", UNIFORM, "plain", "using XON/XOFF", ("C2a", "C2b", "C7")),
            ("ss-none", SELF_SIMILAR, "none", "without congestion control", ("C5", "R1")),
            ("ss-plain", SELF_SIMILAR, "plain", "using XON/XOFF", ("C3", "C4", "R2")),
            ("batches-none", BATCHES, "none", "without congestion control", ("C5", "R3")),
            ("batches-plain", BATCHES, "plain", "using XON/XOFF", ("C3b", "C4", "R4")),
        )
        yield from on_one_scale(
            [
                Slide(
                    name,
                    f"Rate mismatch: packet loss {words}, {traffic}",
                    results.where(traffic=traffic, mechanism=mechanism)["loss"],
                    claims,
                )
                for name, traffic, mechanism, words, claims in slides
            ]
        )
        uniform = results.where(traffic=UNIFORM)
        yield Figure(
            "oracle",
            "Loss of isolated bursts",
            "Rate of 1 Mbit/s without control, uniform-uniform. Dashed: formula; a burst loses the bytes that exceed "
            "the buffer while it arrives.",
            lambda: _draw_oracle(uniform.where(mechanism="none", rate=1)["loss"]),
            claims=("C1",),
        )
        by_mechanism = {name: uniform.where(mechanism=name).where(burst=[24, 48, 96]) for name in ("none", "plain")}
        yield fig.compare(
            {name: at["loss"] for name, at in by_mechanism.items()},
            "mechanisms",
            "Packet loss by mechanism, uniform-uniform",
            x="rate",
            panel="burst",
            claims=("C6",),
        )
        yield fig.compare(
            {name: at["delay"] for name, at in by_mechanism.items()},
            "delay",
            "Mean delay by mechanism, uniform-uniform",
            "Not in the slides: packets that XON/XOFF saves arrive later.",
            x="rate",
            panel="burst",
            y_scale="log",
        )


def _near_oracle(loss: Quantity) -> Condition:
    """Return the condition that the loss is within 2 points of the formula at every burst size."""
    checks: list[Check] = []
    for burst in loss.values_of("burst"):
        expected = isolated_loss(burst)
        # A list of one value keeps the axis free, so that a check names its point.
        checks += loss.where(burst=[burst]).within(expected - 2, expected + 2).checks
    return Condition(f"{loss.label} within 2 points of the formula", tuple(checks))


def _draw_oracle(loss: Quantity) -> Drawing:
    from tailback.plotting import plot

    figure = plot.new()
    (axes,) = figure.axes
    bursts, intervals = loss.curve("burst")
    fine = [6 + 0.5 * step for step in range(181)]
    with plot.style():
        axes.plot(fine, [isolated_loss(burst) for burst in fine], linestyle="--", color="#666666", label="formula")
        ticks = [float(burst) for burst in bursts]
        means = [interval.mean for interval in intervals]
        reach = [[i.mean - i.lo for i in intervals], [i.hi - i.mean for i in intervals]]
        axes.errorbar(ticks, means, yerr=reach, fmt="o", color=plot.COLOURS[0], label="measured", clip_on=False)
        plot.finish(axes, x=loss.axis("burst").title, y="packet loss (%)", ticks=ticks)
    return figure
