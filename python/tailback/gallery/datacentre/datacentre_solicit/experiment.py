"""How long a limiter that was stopped takes to get an idle link back, with and without the Solicit bit."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, ClassVar, cast

from tailback.gallery import (
    Axis,
    Claim,
    Experiment,
    Figure,
    Metric,
    Point,
    Profile,
    ProfileName,
    Results,
    Settings,
    grid,
)
from tailback.report import Report

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

EDGE = "e1->core"
FREE_S = 0.005
"""The others stop sending then."""
BACK = 5e9
"""Half of the line, bit/s."""


def _rate(report: Report) -> tuple[list[float], list[float]]:
    """Times from the instant at which the link falls free, ms, and the limiter's rate, bit/s."""
    series = report.data["series"]
    assert series is not None, "the scenario sets run.sample"
    state = series["ports"][EDGE]["state"]
    rates = next((values for key, values in state.items() if key.startswith("rate_bps ")), None)
    times = [1e3 * (at - FREE_S) for at in series["time_s"]]
    return times, rates or [1e10] * len(times)


def _recovery(report: Report) -> float:
    """Time until the limiter has half the line again, ms; the length of the run if it never has."""
    times, rates = _rate(report)
    found = [at for at, rate in zip(times, rates, strict=True) if at >= 0 and rate >= BACK]
    return found[0] if found else times[-1]


def _lowest(report: Report) -> float:
    return 1e-6 * min(_rate(report)[1])


class Solicit(Experiment):
    """One limiter stopped by others' burst."""

    id = "datacentre-solicit"
    title = "Recovery with and without the Solicit bit"
    reference = "Bergamasco, IEEE 802 Plenary, July 2005, slide 4"
    axes = (Axis("bit", "Solicit bit"),)
    quick = Profile(duration="400ms", warmup="5ms", replications=16, max_replications=40, cpu_s=7)
    full = Profile(duration="1s", warmup="5ms", replications=40, max_replications=200, cpu_s=100)
    metrics = (
        Metric("recovery", "time until half the line", "ms", _recovery),
        Metric("lowest", "lowest rate", "Mbit/s", _lowest),
    )
    traces: ClassVar = {"rate": _rate}

    def points(self, profile: ProfileName) -> Iterable[Point]:
        """With and without."""
        del profile
        return grid(bit=("on", "off"))

    def settings(self, point: Point, profile: ProfileName) -> Settings:
        """The core answers the bit or not; a queue that counts as full early stops more often."""
        del profile
        return {"run.sample": "100us", "switches.core.congestion-notification.solicit": point["bit"] == "on"}

    def claims(self, results: Results) -> Iterable[Claim]:
        """Faster, as a ratio."""
        on, off = results.where(bit="on"), results.where(bit="off")
        return [
            Claim(
                "L1",
                "With the bit a stopped limiter recovers at least twice as fast.",
                "slide 4",
                on["recovery"] <= 0.5 * off["recovery"],
            ),
            Claim.comparison(
                "L2",
                "Time until half the line.",
                "slide 4 (no figures)",
                results["recovery"],
                "the slides name no times",
            ),
            Claim.comparison(
                "L3", "The lowest rate.", "slide 4", results["lowest"], "how far the limiters were pushed down"
            ),
        ]

    def figures(self, results: Results) -> Iterable[Figure]:
        """The rate after the link falls free."""
        yield Figure(
            "rate",
            "The limiter's rate after the link falls free",
            "One replication with and one without the bit; dashed: Rsolicit of 100 Mbit/s.",
            lambda: _draw(results),
            claims=("L1", "L2"),
        )


def _draw(results: Results) -> Drawing:
    from tailback import plot

    figure = plot.new(1, 1, width=7.0, height=3.6)
    axes = figure.axes[0]
    with plot.style():
        end = 0.0
        for index, bit in enumerate(("on", "off")):
            times, rates = cast(tuple[list[float], list[float]], results.trace("rate", bit=bit))
            # What comes after the last change needs no room.
            end = max([end, *(at for at, a, b in zip(times, rates, rates[1:], strict=False) if a != b)])
            axes.plot(
                times,
                [1e-6 * r for r in rates],
                color=plot.COLOURS[index],
                label=f"Solicit bit {bit}",
                drawstyle="steps-post",
            )
        axes.axhline(100, color="#666666", linestyle="--", linewidth=0.9)
        axes.set_yscale("log")
        axes.set_xlim(-5, 1.25 * end)
        axes.set_xlabel("time since the link fell free (ms)")
        axes.set_ylabel("rate (Mbit/s)")
        axes.legend(loc="lower right")
    return figure
