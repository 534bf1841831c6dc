"""lan-buffers, places where packets wait: the buffers of A.1 and A.2 without control and with 802.3x."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, cast

from tailback.bounds.headroom import headroom
from tailback.plotting import experiment as fig
from tailback.results import observables as m
from tailback.results.report import Report
from tailback.results.rows import SeriesData
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
from tailback.study.experiment.quantity import Selector

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

MERGING, MISMATCH = "traffic merging", "rate mismatch"
FILES = {MERGING: "merging.toml", MISMATCH: "mismatch.toml"}
RATES: dict[str, tuple[int, ...]] = {MERGING: (1, 2, 3), MISMATCH: (2, 5, 8)}
BOTTLENECK, UPSTREAM = "sw?->d", "sw[123]->sw[02]"
"""Ports of both networks: the bottleneck with 50 kB, and those with 500 kB that feed it."""
# High threshold of the bottleneck's buffer.
HIGH_KB = 40
# Size of a full frame, kB.
FRAME_KB = 1.518
# Burst size, kB, of the points of claims B2, B4 and B5, and of the traces.
BUSIEST = {"burst": 48}
# Time shown before and after the longest upstream queue.
WINDOW_S = 0.6

# Times in s, and queues in kB by port.
Trace = tuple[list[float], dict[str, list[float]]]


def bound_kb(report: Report) -> float:
    """Return the bound of the bottleneck's queue under control, kB: high threshold plus each feeding link's headroom.

    No data goes in the reverse direction, so the headroom's term for a frame in that direction is left out.
    """
    bound = float(HIGH_KB)
    for port in report.ports(UPSTREAM):
        terms = headroom(port["rate_bps"], 1500, 1e-6, response_s=0).terms
        bound += sum(term.bytes for term in terms if "reverse" not in term.name) / 1e3
    return bound


def _beyond(name: str, label: str, ports: str, bound: Callable[[Report], float]) -> Observable:
    """Return an observable that is 1 if a queue of `ports` was ever longer than a bound in kB, else 0.

    The evidence for `is_zero` is the number of packets.
    """

    def longer(report: Report) -> int:
        return int(report.max_queue_bytes(ports) > 1e3 * bound(report))

    return Observable(name, label, "", longer, lambda report: (longer(report), report.offered_packets()))


def _trace(report: Report) -> Trace | None:
    """Return the times in s and the queues in kB by port, over the whole run; `None` without samples."""
    series: SeriesData | None = report.data["series"]
    if series is None:
        return None
    names = [port["name"] for pattern in (BOTTLENECK, UPSTREAM) for port in report.ports(pattern)]
    return series["time_s"], {name: [1e-3 * q for q in series["ports"][name]["queue_bytes"]] for name in names}


class DistributedBuffers(Experiment):
    """The networks of A.1 and A.2, and the occupancy of their buffers."""

    id = "lan-buffers"
    title = "Distributed buffers at work"
    reference = "Tobagi, Fraleigh and Noureddine, notes to the experiments A"
    axes = (
        Axis("network", "network"),
        Axis("mechanism", "mechanism"),
        Axis("burst", "mean burst size", "kB"),
        Axis("rate", "data rate per source", "Mbit/s"),
    )
    quick = Profile(duration="125s", warmup="5s", replications=4, max_replications=24, cpu_s=8)
    full = Profile(duration="420s", warmup="20s", replications=5, max_replications=40, cpu_s=60)
    metrics = (
        m.mean_queue(BOTTLENECK, name="mean_bottleneck", label="mean queue [bottleneck]"),
        m.mean_queue(UPSTREAM, name="mean_upstream", label="mean queue [upstream, all switches]"),
        m.max_queue(BOTTLENECK, name="max_bottleneck", label="longest queue [bottleneck]"),
        m.max_queue(UPSTREAM, name="max_upstream", label="longest queue [upstream]"),
        Observable("mean_all", "mean queue [bottleneck and upstream]", "kB", lambda report: 1e-3 * _all(report)),
        _beyond("used_upstream", "1 if an upstream queue exceeded one frame", UPSTREAM, lambda _: FRAME_KB),
        _beyond(
            "beyond_headroom", "1 if the bottleneck's queue exceeded threshold plus headroom", BOTTLENECK, bound_kb
        ),
        m.loss(),
        m.utilisation(BOTTLENECK, label="utilisation of the slow link"),
    )
    traces = {"queues": _trace}  # noqa: RUF012

    def points(self, profile: ProfileName) -> Iterable[Point]:
        """Return the points: both networks with the slides' rates, which differ between them."""
        bursts = (6, 12, 24, 48) if profile == "full" else (12, 48)
        found: list[Point] = []
        for network, rates in RATES.items():
            found += grid(network=[network], mechanism=("none", "plain"), burst=bursts, rate=rates)
        return found

    def scenario(self, point: Point) -> str:
        """Return the file of the point's network."""
        return FILES[str(point["network"])]

    def settings(self, point: Point, profile: ProfileName) -> Settings:
        """Return the settings of mechanism and load; the busiest point of each network is sampled."""
        del profile
        busiest = point["rate"] == max(RATES[str(point["network"])]) and point["burst"] == BUSIEST["burst"]
        return {
            "backpressure.scope": point["mechanism"],
            "flows[data].source.burst": f"{point['burst']}kB",
            "flows[data].source.rate": f"{point['rate']}Mbit/s",
            **({"run.sample": "2ms"} if busiest else {}),
        }

    def claims(self, results: Results) -> Iterable[Claim]:
        """Return the claims on the places of the waiting bytes, loss and utilisation, with and without control."""
        none, plain = results.where(mechanism="none"), results.where(mechanism="plain")
        at_high: dict[str, Selector] = {**BUSIEST, "rate": [3, 5, 8]}
        return [
            Claim(
                "B1",
                "Without control the 500 kB buffers are not used: at most one frame waits in any of them.",
                "derived: their links are as fast as those that feed them",
                none["used_upstream"].is_zero(),
            ),
            Claim(
                "B2",
                "With XON/XOFF and bursts of 48 kB an upstream queue exceeds 50 kB, the size of the bottleneck's "
                "buffer, at 3 (A.1), 5 and 8 Mbit/s (A.2).",
                'notes to the experiments A: "more efficiently using the distributed buffering resources"; stated',
                plain.where(**at_high)["max_upstream"] > 50,
            ),
            Claim(
                "B3",
                "With XON/XOFF the bottleneck's queue stays below the high threshold plus the headroom of 3.1 kB per "
                "link that feeds it.",
                "derived: the headroom formula (lan-headroom) without reverse traffic",
                plain["beyond_headroom"].is_zero(),
            ),
            Claim(
                "B4",
                "With XON/XOFF the mean backlog of the network is larger than without control, and the loss lower, "
                "with bursts of 48 kB at 3 (A.1), 5 and 8 Mbit/s (A.2).",
                'notes to the experiments A: "reduces packet loss by more efficiently using the distributed buffering '
                'resources"; stated',
                (plain.where(**at_high)["mean_all"] > none.where(**at_high)["mean_all"])
                & (plain.where(**at_high)["loss"] < none.where(**at_high)["loss"]),
            ),
            Claim(
                "B5",
                "With XON/XOFF the slow link's utilisation is higher than without, with bursts of 48 kB at 3 (A.1), 5 "
                "and 8 Mbit/s (A.2).",
                "derived: packets that are not lost are sent over the slow link",
                plain.where(**at_high)["utilisation"] > none.where(**at_high)["utilisation"],
            ),
        ]

    def figures(self, results: Results) -> Iterable[Figure]:
        """Yield mean and longest queues, at the bottleneck and upstream, and queues during one congestion episode."""
        for name, network in (("merging", MERGING), ("mismatch", MISMATCH)):
            at = results.where(network=network)
            for kind, words in (("mean", "Mean queues"), ("max", "Longest queues")):
                shown = {
                    f"{place}, {mechanism}": at.where(mechanism=mechanism)[f"{kind}_{place}"]
                    for place in ("bottleneck", "upstream")
                    for mechanism in ("none", "plain")
                }
                caption = "Upstream queues are summed over the switches." if kind == "mean" else ""
                claims = ("B4",) if kind == "mean" else ("B1", "B2", "B3")
                yield fig.compare(
                    shown, f"{name}-{kind}", f"{words}, {network}", caption, x="rate", panel="burst", claims=claims
                )
            yield self._through_one_congestion(name, network, at)

    def _through_one_congestion(self, name: str, network: str, at: Results) -> Figure:
        rate = max(RATES[network])
        kept = {
            mechanism: cast(Trace, at.trace("queues", mechanism=mechanism, rate=rate, **BUSIEST))
            for mechanism in ("none", "plain")
        }
        return Figure(
            f"{name}-queues",
            f"Queues during one congestion episode, {network}",
            f"First replication at {rate} Mbit/s in bursts of 48 kB, around the longest upstream queue with XON/XOFF; "
            "the same period without control. Dashed: thresholds of the 50 kB buffer.",
            lambda: _draw(kept),
            claims=("B2", "B3"),
        )


# Mean backlog of the bottleneck and of all upstream ports together, bytes.
def _all(report: Report) -> float:
    return report.mean_queue_bytes(BOTTLENECK) + report.mean_queue_bytes(UPSTREAM)


def _draw(kept: dict[str, Trace]) -> Drawing:
    from tailback.plotting import plot

    times, queues = kept["plain"]
    total = [max(levels) for levels in zip(*list(queues.values())[1:], strict=True)]
    middle = times[total.index(max(total))]
    figure = plot.new(1, 2, width=8.0, height=2.6, sharex=True, sharey=True)
    with plot.style():
        for axes, (mechanism, (across, lines)) in zip(figure.axes, kept.items(), strict=True):
            chosen = [i for i, at in enumerate(across) if abs(at - middle) <= WINDOW_S]
            for index, (port, levels) in enumerate(lines.items()):
                axes.plot(
                    [across[i] - middle for i in chosen],
                    [levels[i] for i in chosen],
                    color=plot.COLOURS[index],
                    linewidth=1.1,
                    label=port,
                )
            for level in (35, HIGH_KB):
                axes.axhline(level, color="#666666", linestyle="--", linewidth=0.8)
            x = "time (s)" if axes is figure.axes[-1] else ""
            plot.finish(axes, title=mechanism, x=x, y="queue (kB)")
    return figure
