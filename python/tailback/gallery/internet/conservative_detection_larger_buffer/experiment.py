"""internet-e06: conservative early detection and 32 sources with a larger buffer."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, cast

from tailback.gallery.internet.shared import dumbbell
from tailback.gallery.internet.shared.dumbbell import BOTTLENECK, Trace
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
    from matplotlib.figure import Figure as Drawing

FIXED, SCALED = "as for 100 kB", "20 and 80 % of the buffer"
AGGRESSIVE, CONSERVATIVE = 0.25, 0.016
SLIDE_KB = 120
ENOUGH_KB = 600
"""Largest buffer, kB; with thresholds of 20 and 80 % of it max_p = 0.016 is enough for 32 sources, see the README."""


class LargerBuffer(Experiment):
    """A max_p that is too low for the load, with buffers from 100 to 600 kB."""

    id = "internet-e06"
    title = "Conservative detection with a larger buffer"
    reference = "Feng, thesis defence (1999), slide Conservative Early Detection, 32 sources, Qlen = 120 KB"
    axes = (
        Axis("max_p", "max_p"),
        Axis("thresholds", "thresholds"),
        Axis("buffer", "buffer", "kB"),
    )
    quick = Profile(duration="120s", warmup="20s", replications=3, max_replications=24, cpu_s=20)
    full = Profile(duration="220s", warmup="20s", replications=10, max_replications=60, cpu_s=100)
    metrics = (
        m.port_loss(BOTTLENECK),
        m.utilisation(BOTTLENECK, label="utilisation"),
        m.mean_queue(BOTTLENECK, label="mean queue"),
    )
    traces = {"queue": lambda report: dumbbell.trace(report, stop=100.0) if report.data["series"] else None}  # noqa: RUF012

    def points(self, profile: ProfileName) -> Iterable[Point]:
        """Return the points: the slide's buffer and others, with thresholds that stay and that grow with the buffer."""
        del profile
        buffers = (100, SLIDE_KB, 200, 300, 450, ENOUGH_KB)
        return [
            *grid(max_p=[CONSERVATIVE], thresholds=[FIXED, SCALED], buffer=buffers),
            *grid(max_p=[AGGRESSIVE], thresholds=[FIXED], buffer=[SLIDE_KB]),
        ]

    def settings(self, point: Point, profile: ProfileName) -> Settings:
        """Return the settings of the buffer, and of thresholds of 20 and 80 kB or of 20 and 80 % of the buffer."""
        del profile
        size = float(point["buffer"])
        base_kb = 100.0 if point["thresholds"] == FIXED else size
        return {
            **dumbbell.red(size, point["max_p"], low_kb=0.2 * base_kb, high_kb=0.8 * base_kb, ecn=True),
            **({"run.sample": "20ms"} if point["buffer"] == SLIDE_KB else {}),
        }

    def claims(self, results: Results) -> Iterable[Claim]:
        """Return the claims: a larger buffer does not compensate for a max_p that is too low."""
        conservative = results.where(max_p=CONSERVATIVE)
        fixed, scaled = conservative.where(thresholds=FIXED)["loss"], conservative.where(thresholds=SCALED)["loss"]
        slide = "slide Conservative Early Detection, Qlen = 120 KB"
        return [
            Claim(
                "C1",
                "With conservative detection, 32 sources and a buffer of 120 kB more than 1 % is lost, whether the "
                "thresholds stay or grow with the buffer.",
                f"{slide}; the bound reconstructed. ns-2.35 loses 8.3 % with fixed thresholds",
                conservative.where(buffer=SLIDE_KB)["loss"] > 1,
                headline="A buffer of 120 kB does not help conservative detection",
            ),
            Claim(
                "C2",
                "With aggressive detection, 32 sources and a buffer of 120 kB less than 0.1 % is lost.",
                "slide Aggressive Early Detection; the bound reconstructed",
                results.where(max_p=AGGRESSIVE, buffer=SLIDE_KB)["loss"] < 0.1,
            ),
            Claim(
                "C3",
                "With conservative detection and thresholds of 20 and 80 kB more than 5 % is lost with any buffer "
                "from 100 to 600 kB.",
                "derived: the average cannot stay above max_th, since RED drops everything there",
                fixed > 5,
            ),
            Claim(
                "C4",
                "With conservative detection and thresholds of 20 and 80 % of the buffer, the loss falls with the "
                "buffer: it is above 0.1 % with 300 kB and below 0.1 % with 600 kB.",
                "derived: the queue must lengthen the round trip until 32 sources need no more marks than RED gives: "
                "2 N²/(R C)² is 1.07 % at a max_th of 370 kB, a buffer of 460 kB",
                (scaled.where(buffer=300) > 0.1)
                & (scaled.where(buffer=ENOUGH_KB) < 0.1)
                & scaled.non_increasing("buffer", tolerance=0.5),
            ),
        ]

    def figures(self, results: Results) -> Iterable[Figure]:
        """Yield the slide's panel; loss and mean queue against buffer."""
        shown = ((CONSERVATIVE, FIXED, 20, 80), (CONSERVATIVE, SCALED, 24, 96), (AGGRESSIVE, FIXED, 20, 80))
        kept = {
            f"max_p {max_p:g}, thresholds {thresholds}": cast(
                Trace, results.trace("queue", max_p=max_p, thresholds=thresholds, buffer=SLIDE_KB)
            )
            for max_p, thresholds, _, _ in shown
        }
        levels = [{"min_th": low, "max_th": high, "buffer": SLIDE_KB} for _, _, low, high in shown]
        yield Figure(
            "queue",
            "Queue in a buffer of 120 kB, 32 sources",
            "First replication. Thin: the queue; thick: RED's average queue.",
            lambda: dumbbell.draw_queues(kept, levels, top=125),
            claims=("C1", "C2"),
        )
        conservative = results.where(max_p=CONSERVATIVE)
        by_thresholds = {name: conservative.where(thresholds=name) for name in (FIXED, SCALED)}
        for metric, name, title, claims in (
            ("loss", "loss", "Loss against buffer, max_p = 0.016, 32 sources", ("C1", "C3", "C4")),
            ("mean_queue", "mean-queue", "Mean queue against buffer, max_p = 0.016, 32 sources", ("C4",)),
        ):
            curves = {words: at[metric] for words, at in by_thresholds.items()}
            drawn = fig.compare(curves, name, title, x="buffer", claims=claims)
            yield replace(drawn, draw=partial(_wide, drawn))


def _wide(figure: Figure) -> Drawing:
    """Draw a figure wide enough for the ticks of 100 and 120 kB."""
    drawn = figure.draw()
    drawn.set_size_inches(8.5, 3.6)
    return drawn
