"""datacentre-loop, BCN's control loop: its delay measured, then increased by longer links."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from statistics import pstdev

from tailback.gallery.datacentre.shared.network import idle
from tailback.plotting import experiment as fig
from tailback.results import observables as m
from tailback.results.report import Report
from tailback.study.experiment import (
    Axis,
    Claim,
    Experiment,
    Figure,
    Observable,
    Point,
    Profile,
    ProfileName,
    Results,
    Settings,
    grid,
)

BOTTLENECK = "core->d"
FRAME_US = 1538 * 8 / 10_000
"""Time of a full frame on a link of 10 Gbit/s, us."""
# Delay of the control loop on the slide, us.
SLIDE_US = 3.0


def _once(report: Report) -> float:
    """Return the time from the first message to the last arrival of a frame that was sent before the stop, us.

    NaN at points of the sweep.
    """
    series = report.data["series"]
    assert series is not None, "once.toml sets run.sample"
    port = series["ports"].get(BOTTLENECK)
    if port is None or report.data["end_s"] > 1e-3:
        return float("nan")
    messages = port["state"]["messages"]
    sent_at = next(at for at, count in zip(series["time_s"], messages, strict=True) if count > 0)
    arrived = [sent + queued for sent, queued in zip(port["sent_bytes"], port["queue_bytes"], strict=True)]
    steps = [at for (a, b), at in zip(pairwise(arrived), series["time_s"][1:], strict=True) if b > a + 1000]
    # The stop is a gap of the arrivals much longer than a frame.
    last = next(a for a, b in pairwise([*steps, 1.0]) if a > sent_at and b - a > 3 * FRAME_US * 1e-6)
    return 1e6 * (last - sent_at)


# Standard deviation of the congested queue after the warm-up, kB.
def _deviation(report: Report) -> float:
    series = report.data["series"]
    assert series is not None, "settings set run.sample"
    queue = series["ports"][BOTTLENECK]["queue_bytes"]
    return pstdev(1e-3 * x for at, x in zip(series["time_s"], queue, strict=True) if at >= report.data["warmup_s"])


class Loop(Experiment):
    """The loop delay, and its effect on the queue and utilisation of the congested link."""

    id = "datacentre-loop"
    title = "BCN's control loop, measured and swept"
    reference = "Bergamasco, IEEE 802 Plenary, July 2005, slide 9"
    axes = (Axis("part", "part"), Axis("delay", "link delay", "us"))
    quick = Profile(duration="150ms", warmup="50ms", replications=4, max_replications=12, cpu_s=8)
    full = Profile(duration="1050ms", warmup="50ms", replications=8, max_replications=40, cpu_s=60)
    metrics = (
        Observable("loop", "delay of the control loop", "us", _once),
        Observable("deviation", "standard deviation of the queue", "kB", _deviation),
        m.mean_queue(BOTTLENECK, label="mean queue"),
        m.max_queue(BOTTLENECK, label="longest queue"),
        m.utilisation(BOTTLENECK),
        idle(BOTTLENECK),
    )

    def points(self, profile: ProfileName) -> Iterable[Point]:
        """Return the points: the loop delay with links of three delays, and the sweep."""
        swept = (0.5, 5.0, 20.0, 50.0) if profile == "quick" else (0.5, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0)
        return grid(part=("once",), delay=(0.5, 5.0, 20.0)) + grid(part=("sweep",), delay=swept)

    def scenario(self, point: Point) -> str:
        """Return the scenario of the point's part."""
        return "once.toml" if point["part"] == "once" else "scenario.toml"

    def settings(self, point: Point, profile: ProfileName) -> Settings:
        """Return the settings of the delay of the links between edges and core, and of sampling."""
        del profile
        once = point["part"] == "once"
        length: Settings = {"run.duration": "200us", "run.warmup": "0s", "run.sample": "50ns"}
        return {"links[1].delay": f"{point['delay']}us", **(length if once else {"run.sample": "50us"})}

    def claims(self, results: Results) -> Iterable[Claim]:
        """Return the claims on the loop delay with short and long links, and on utilisation and oscillation."""
        once, sweep = results.where(part="once"), results.where(part="sweep")
        return [
            Claim(
                "O1",
                "The delay of the control loop is 3 us plus at most one frame of 1.23 us in transmission, within 0.2 "
                "us.",
                "slide 9: about 3 us; derived: 1 + 0.5 + 1 + 0.5 us, and 84 B of the message",
                once.where(delay=0.5)["loop"].within(SLIDE_US, SLIDE_US + FRAME_US + 0.2),
            ),
            Claim(
                "O2",
                "With links of 20 us instead of 0.5 us between edge and core the delay of the control loop grows by "
                "twice the difference, 39 us, within the time of a frame.",
                "derived: the message and the frames each cross the link once",
                (once.where(delay=20.0)["loop"] - once.where(delay=0.5)["loop"]).within(
                    39 - FRAME_US - 0.1, 39 + FRAME_US + 0.1
                ),
            ),
            Claim(
                "O3",
                "With a control loop of 3 us the congested link is busy for more than 99 % of the time.",
                "derived: the equilibrium keeps the queue from running empty",
                sweep.where(delay=0.5)["utilisation"] > 99,
            ),
            Claim(
                "O4",
                "The standard deviation of the queue is larger with links of 50 us between edge and core than with "
                "links of 0.5 us.",
                "derived: with the same gains, a longer delay makes a control loop less stable",
                sweep.where(delay=50.0)["deviation"] > sweep.where(delay=0.5)["deviation"],
            ),
            Claim.comparison(
                "O5",
                "Idle time of the congested link by the delay of the links between edge and core.",
                "not in the slides",
                sweep["idle"],
                "a sweep without a claim",
            ),
        ]

    def figures(self, results: Results) -> Iterable[Figure]:
        """Yield queue and idle time of the congested link by the delay of the links."""
        sweep = results.where(part="sweep")
        yield fig.compare(
            {"mean": sweep["mean_queue"], "longest": sweep["max_queue"], "standard deviation": sweep["deviation"]},
            "queue",
            "Queue by the delay of the links between edges and core",
            "Four saturating sources; the buffer holds 150 kB.",
            x="delay",
            y="queue",
            claims=("O4",),
        )
        yield fig.compare(
            {"": sweep["idle"]}, "idle", "Idle time of the congested link", x="delay", claims=("O3", "O5")
        )
