"""internet-e17: SFB with static hashes, and with hashes that change periodically, with and without a warm-up.

Warm-up here means that all packets also update the second set of bins before it comes into use (double buffering). It
has nothing to do with the warm-up of a run, in which nothing is measured.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from typing import TYPE_CHECKING, cast

from tailback.gallery.internet.shared.fairness import (
    NS2,
    RFC3168,
    STARVED,
    Y1999,
    carried_rate,
    lost_rate,
    sender,
    starved_flows,
)
from tailback.results import observables as m
from tailback.results.report import Report
from tailback.scenario import Value
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

STATIC, MOVING, COLD = "static", "moving", "moving, no warm-up"
FAST, FROZEN = "moving every 2 s, no freeze", "moving every 2 s"
"""Values of the axis `hash`: `COLD` starts each set with empty bins, `FAST` has a freeze time of 0.

The others, `FROZEN` too, have the published freeze time of 10 ms; all moving ones except `COLD` have a warm-up.
"""
NONE, EIGHT, REFORMED = "none", "8 flows of 5 Mbit/s", "one flow, reformed"
"""Values of the axis `others`; `NONE` is in fact one flow of 8 kbit/s."""
INTERVAL_S = {MOVING: 20, COLD: 20, FAST: 2, FROZEN: 2}
"""Time between changes of the hashes, s."""
REFORM_S = 50
"""Time at which the one flow of 45 Mbit/s reduces its rate below a fair share, s."""
GAP_MS, OPEN_US = 100, 200
"""Interval, ms, and length, µs, of the flow's bursts after `REFORM_S`: 1.1 packets per 100 ms, 0.09 Mbit/s."""
RECOVERED_BPS = 45e3
"""Delivered rate at and above which the reformed flow counts as recovered, bit/s: half of the rate that it sends."""
END_S = 110
"""Length of the runs with a reformed flow, s."""


def _reform() -> list[dict[str, Value]]:
    """Return the timeline that stops the flow at `REFORM_S`, and then starts it for each of its bursts."""
    changes: list[dict[str, Value]] = [{"at": f"{REFORM_S}s", "flow": "cbr", "state": "stop"}]
    for at_ms in range(REFORM_S * 1000 + GAP_MS // 2, END_S * 1000, GAP_MS):
        changes.append({"at": f"{at_ms}ms", "flow": "cbr", "state": "start"})
        changes.append({"at": f"{at_ms * 1000 + OPEN_US}us", "flow": "cbr", "state": "stop"})
    return changes


def _rates(report: Report) -> tuple[list[float], list[float]]:
    """Return the ends of the seconds in s, and the non-responsive flows' delivered rate in each second, bit/s.

    Both are empty if the run is not sampled.
    """
    series = report.data["series"]
    if series is None:
        return [], []
    delivered = series["flows"]["cbr"]["delivered_bytes"]
    return series["time_s"][1:], [8.0 * (b - a) for a, b in pairwise(delivered)]


def _recovery(report: Report) -> float:
    """Return the time in s from `REFORM_S` to the first two seconds with a mean rate of at least `RECOVERED_BPS`.

    The two seconds begin at a full second. If there are none, the time is that to the end of the run, 60 s; NaN if the
    run is not sampled.
    """
    times, rates = _rates(report)
    if not times:
        return float("nan")
    for (end, first), second in zip(zip(times, rates, strict=True), rates[1:], strict=False):
        if end - 1 >= REFORM_S and (first + second) / 2 >= RECOVERED_BPS:
            return end - 1 - REFORM_S
    return float(END_S - REFORM_S)


def _late(report: Report) -> tuple[int, int]:
    """Return 1 if recovery took more than two intervals, else 0; and the number of packets sent, as evidence."""
    return int(_recovery(report) > 2 * INTERVAL_S[MOVING]), report.offered_packets("cbr")


class MovingHash(Experiment):
    """Starved and reformed flows with static hashes, moving hashes, and moving hashes without double buffering."""

    id = "internet-e17"
    title = "SFB: the moving hash"
    reference = "Feng, thesis defence 1999, slide SFB with moving hash"
    axes = (
        Axis("hash", "hashes"),
        Axis("others", "non-responsive traffic"),
        Axis("sender", "TCP sender"),
    )
    quick = Profile(duration="100s", warmup="20s", replications=3, max_replications=20, cpu_s=80)
    full = Profile(duration="200s", warmup="20s", replications=8, max_replications=40, cpu_s=220)
    metrics = (
        Observable("starved", "starved TCP flows", "flows", lambda report: float(len(starved_flows(report)))),
        m.jain("tcp"),
        carried_rate("cbr", "cbr_carried", "non-responsive carried"),
        lost_rate("tcp", "tcp_lost", "TCP lost"),
        Observable("recovery", "time to recovery", "s", _recovery),
        Observable(
            "late",
            "share of runs with a recovery later than two intervals",
            "",
            lambda report: float(_late(report)[0]) if report.data["series"] else float("nan"),
            _late,
        ),
    )
    traces = {  # noqa: RUF012
        "goodputs": lambda report: [1e-6 * rate for rate in report.goodputs_bps("tcp")],
        "rates": _rates,
    }

    def points(self, profile: ProfileName) -> Iterable[Point]:
        """Return the points: the three values of `others`, each with the hashes and senders that its claims need."""
        del profile
        points = grid(hash=(STATIC, MOVING), others=[EIGHT], sender=(RFC3168, NS2, Y1999))
        points += grid(hash=[COLD], others=[EIGHT], sender=(RFC3168, NS2))
        points += grid(hash=[STATIC], others=[NONE], sender=(RFC3168, NS2))
        points += grid(hash=[MOVING], others=[NONE], sender=[RFC3168])
        points += grid(hash=[FAST, FROZEN], others=[EIGHT], sender=[RFC3168])
        return points + grid(hash=(STATIC, MOVING), others=[REFORMED], sender=[RFC3168])

    def settings(self, point: Point, profile: ProfileName) -> Settings:
        """Return the settings of a point: SFB as in internet-e15, but with its hashes; its sender and other flows."""
        del profile
        name = str(point["hash"])
        sfb: dict[str, Value] = {"kind": "sfb", "ecn": True}
        if name == FAST:
            sfb["freeze"] = "0s"
        if name in INTERVAL_S:
            sfb["rehash"] = {"interval": f"{INTERVAL_S[name]}s", "double-buffer": name != COLD}
        settings: Settings = {"switches.r0.ports.r1.discipline": sfb, **sender(point["sender"])}
        if point["others"] == NONE:
            return settings | {"flows[cbr].count": 1, "flows[cbr].source.rate": "8kbit/s"}
        if point["others"] == REFORMED:
            source: dict[str, Value] = {
                "kind": "cbr",
                "packet": "1000B",
                "rate": "45Mbit/s",
                "jitter": 1.0,
                "phase": "zero",
            }
            return settings | {
                "flows[cbr].count": 1,
                "flows[cbr].source": source,
                "timeline": _reform(),
                "run.sample": "1s",
                "run.duration": f"{END_S}s",
            }
        return settings

    def claims(self, results: Results) -> Iterable[Claim]:
        """Return the claims on starved flows, fairness, recovery, TCP's loss, and the effect of the warm-up."""
        eight = results.where(others=EIGHT)
        static, moving, cold = (eight.where(hash=name) for name in (STATIC, MOVING, COLD))
        waiting: dict[str, Selector] = {"sender": [RFC3168, NS2]}
        rfc, ns2, old = {"sender": RFC3168}, {"sender": NS2}, {"sender": Y1999}
        reformed = results.where(others=REFORMED, sender=RFC3168)
        slide = "slide SFB with moving hash"
        return [
            Claim(
                "H1",
                "With the sender of 1999, at most a quarter as many TCP flows starve with moving hashes as with "
                "static ones.",
                f"{slide}; the bound reconstructed",
                moving.where(**old)["starved"] <= 0.25 * static.where(**old)["starved"],
            ),
            Claim(
                "H2",
                "With RFC 3168, at most a quarter as many TCP flows starve with moving hashes as with static ones.",
                f"{slide}; the bound reconstructed",
                moving.where(**rfc)["starved"] <= 0.25 * static.where(**rfc)["starved"],
            ),
            Claim.unasserted(
                "H2-ns2",
                "With ns-2's sender, at most a quarter as many TCP flows starve with moving hashes as with static "
                "ones.",
                f"{slide}; the bound reconstructed",
                moving.where(**ns2)["starved"] <= 0.25 * static.where(**ns2)["starved"],
                "about as many starve without any non-responsive flow, because ns-2's sender doubles its timeout with "
                "each consecutive echo (H2b; M5 of internet-e16): the hashes do not starve these flows",
                headline="The moving hash frees misclassified flows: at most a quarter as many are starved",
            ),
            Claim.comparison(
                "H2b",
                "Starved flows with moving hashes and 8 non-responsive flows, minus those with static hashes and "
                "without any.",
                "not in the slides",
                moving.where(**waiting)["starved"] - results.where(others=NONE, hash=STATIC, **waiting)["starved"],
                "the number of flows that starve because of misclassification",
            ),
            Claim(
                "H3",
                "With RFC 3168, Jain's index of the TCP flows with moving hashes is at least that with static ones "
                "plus 0.1.",
                f"{slide}; the bound reconstructed. In a prototype from 0.68 (static) to 0.91 (moving)",
                moving.where(**rfc)["jain"] - static.where(**rfc)["jain"] >= 0.1,
            ),
            Claim.unasserted(
                "H3-1999",
                "With the sender of 1999, Jain's index of the TCP flows with moving hashes is at least that with "
                "static ones plus 0.1.",
                f"{slide}; the bound reconstructed",
                moving.where(**old)["jain"] - static.where(**old)["jain"] >= 0.1,
                "with static hashes the index is above 0.8 already, so that the gain is near the bound",
            ),
            Claim.unasserted(
                "H3-ns2",
                "With ns-2's sender, Jain's index of the TCP flows with moving hashes is at least that with static "
                "ones plus 0.1.",
                f"{slide}; the bound reconstructed. In a prototype from 0.68 (static) to 0.91 (moving)",
                moving.where(**ns2)["jain"] - static.where(**ns2)["jain"] >= 0.1,
                "the flows that doubled timeouts starve (H2-ns2) lower the index",
            ),
            Claim(
                "H4",
                "With RFC 3168, the non-responsive flows get no more with moving hashes than with static ones.",
                f"{slide}; derived. In a prototype from 8.2 (static) to 1.8 Mbit/s (moving)",
                moving.where(**rfc)["cbr_carried"] <= static.where(**rfc)["cbr_carried"],
            ),
            Claim.comparison(
                "H4-ns2",
                "Rate of the non-responsive flows with moving hashes minus that with static ones, ns-2's sender.",
                "not in the slides",
                moving.where(**ns2)["cbr_carried"] - static.where(**ns2)["cbr_carried"],
                "a sensitivity",
            ),
            Claim.comparison(
                "H5",
                "Rate of the non-responsive flows with moving hashes minus that with static ones, sender of 1999.",
                "not in the slides",
                moving.where(**old)["cbr_carried"] - static.where(**old)["cbr_carried"],
                "static hashes limit the 8 flows to about a fair share; each new set of bins has to find them again",
            ),
            Claim(
                "H6",
                "With moving hashes, the non-responsive flows get more without warm-up than with it.",
                "derived: without warm-up no flow is limited until the probabilities of its bins have risen again; "
                "ablation",
                cold["cbr_carried"] > moving.where(**waiting)["cbr_carried"],
            ),
            Claim(
                "H7",
                "With moving hashes, a flow that reduces its rate below a fair share recovers within two intervals on "
                "average.",
                "derived: the set of bins in use after the second change never had packets of its high rate",
                reformed.where(hash=MOVING)["recovery"] <= 2 * INTERVAL_S[MOVING],
            ),
            Claim.comparison(
                "H7b",
                "Share of runs with moving hashes in which the reformed flow recovers later than after two intervals.",
                "not in the slides",
                reformed.where(hash=MOVING)["late"],
                "a flow has recovered if half of its packets are delivered over 2 s; as it is not ECN-capable, about "
                "40 % of its packets are dropped in any case, so that with 22 packets in 2 s this is partly chance",
            ),
            Claim.unasserted(
                "H8",
                "A reformed flow recovers later with static hashes than with moving ones.",
                "derived: with static hashes the flow's probability has to fall from 1 in steps of 0.001, one for each "
                "packet that finds one of its bins empty",
                reformed.where(hash=STATIC)["recovery"] > reformed.where(hash=MOVING)["recovery"],
                "with static hashes the time depends on the flows that share the bins, and is anything from 0 s up",
            ),
            Claim.unasserted(
                "H9",
                "With moving hashes, 8 non-responsive flows, and RFC 3168 or ns-2's sender, TCP loses at most 0.1 "
                "Mbit/s.",
                "slide SFB: table of losses, 0.01; the tolerance is that of E15",
                moving.where(**waiting)["tcp_lost"] <= 0.1,
                "after each change the queue overflows until the new set of bins has reached its probabilities, "
                "although it was warmed for a whole interval; without unresponsive flows the loss is about the same",
            ),
            Claim.comparison(
                "H9-none",
                "Rate that TCP loses with moving hashes and without non-responsive flows, RFC 3168.",
                "not in the slides",
                results.where(others=NONE, hash=MOVING, sender=RFC3168)["tcp_lost"],
                "each change of the hashes causes this loss, with any traffic",
            ),
            Claim.comparison(
                "H10",
                "Rate of the non-responsive flows if the hashes change every 2 s and the freeze time is the published "
                "10 ms.",
                "derived: a probability rises from 0 to 1 in freeze time/d1 = 10 ms/0.005 = 2 s",
                eight.where(hash=FROZEN, sender=RFC3168)["cbr_carried"],
                "2 s are too short: a probability has just reached 1 when its set is replaced; SFB in Apple's kernel "
                "has 11 to 23 s",
            ),
            Claim.comparison(
                "H11",
                "Starved TCP flows if the hashes change every 2 s, without freeze time.",
                "reconstructed: the interval of 2 s",
                eight.where(hash=FAST, sender=RFC3168)["starved"],
                "a sensitivity; the price is TCP's loss at each change (figure Static hashes, moving ones, and moving "
                "ones without warm-up)",
            ),
        ]

    def figures(self, results: Results) -> Iterable[Figure]:
        """Yield the goodput of each flow, the reformed flow over time, and the results of all hashes."""
        kept = {
            f"{name}, {how}": cast(list[float], results.trace("goodputs", hash=name, others=EIGHT, sender=how))
            for how in (NS2, RFC3168)
            for name in (STATIC, MOVING)
        }
        yield Figure(
            "flows",
            "Goodput of each TCP flow, 8 non-responsive flows",
            "First replication. Orange: flows with less than a quarter of the median goodput (dashed).",
            lambda: _draw_flows(kept),
            claims=("H1", "H2", "H3"),
        )
        lines = {
            name: cast(
                tuple[list[float], list[float]], results.trace("rates", hash=name, others=REFORMED, sender=RFC3168)
            )
            for name in (STATIC, MOVING)
        }
        yield Figure(
            "reformed",
            "Delivered rate of a reformed flow",
            f"One flow of 45 Mbit/s that sends only 0.09 Mbit/s (dashed) from {REFORM_S} s on (dotted). RFC 3168, "
            "first replication, means over 2 s.",
            lambda: _draw_reformed(lines),
            claims=("H7", "H8"),
        )
        yield Figure(
            "ablation",
            "Static hashes, moving ones, and moving ones without warm-up",
            "8 non-responsive flows of 5 Mbit/s. A starved TCP flow has less than a quarter of the median goodput.",
            lambda: _draw_ablation(results.where(others=EIGHT)),
            claims=("H3", "H4", "H5", "H6", "H9", "H10", "H11"),
        )


def _draw_flows(kept: dict[str, list[float]]) -> Drawing:
    from statistics import median

    from tailback.plotting import plot

    figure = plot.new(2, 2, sharey=True, sharex=True, width=5.2, height=2.7)
    for index, (axes, (title, rates)) in enumerate(zip(figure.axes, kept.items(), strict=True)):
        least = STARVED * median(rates)
        with plot.style():
            for low, colour in ((False, plot.COLOURS[0]), (True, plot.COLOURS[1])):
                chosen = [flow for flow, rate in enumerate(rates) if (rate < least) == low]
                axes.plot([f + 1 for f in chosen], [rates[f] for f in chosen], ".", markersize=3.5, color=colour)
            axes.axhline(least, color="#666666", linestyle="--", linewidth=0.9)
            starved = sum(rate < least for rate in rates)
            x, y = "TCP flow" if index > 1 else "", "goodput (Mbit/s)" if index % 2 == 0 else ""
            plot.finish(axes, title=f"{title}: {starved} starved", x=x, y=y)
            axes.set_xlim(0, len(rates) + 1)
    return figure


def _draw_reformed(lines: dict[str, tuple[list[float], list[float]]]) -> Drawing:
    from tailback.plotting import plot

    figure = plot.new(width=7.0)
    (axes,) = figure.axes
    with plot.style():
        for index, (name, (times, rates)) in enumerate(lines.items()):
            smooth = [(a + b) / 2 * 1e-6 for a, b in pairwise(rates)]
            axes.plot(times[: len(smooth)], smooth, color=plot.COLOURS[index], label=name)
        axes.axhline(2e-6 * RECOVERED_BPS, color="#666666", linestyle="--", linewidth=0.9)
        axes.annotate("sent", (END_S, 2e-6 * RECOVERED_BPS), fontsize=8, ha="right", va="bottom")
        axes.axvline(REFORM_S, color="#666666", linestyle=":", linewidth=0.9)
        axes.set_xlim(REFORM_S - 10, END_S)
        plot.finish(axes, x="time (s)", y="delivered (Mbit/s)", y_scale="symlog", y_threshold=0.1, legend="hashes")
        axes.set_ylim(0, 3)
    return figure


def _draw_ablation(eight: Results) -> Drawing:
    from tailback.plotting import plot

    names = (STATIC, MOVING, COLD, FAST, FROZEN)
    shown = (
        ("starved", "starved TCP flows"),
        ("jain", "Jain's index"),
        ("cbr_carried", "non-responsive flows,\ndelivered (Mbit/s)"),
        ("tcp_lost", "TCP lost (Mbit/s)"),
    )
    figure = plot.new(4, sharey=True, width=2.9, height=3.4)
    for axes, (metric, label) in zip(figure.axes, shown, strict=True):
        with plot.style():
            for index, how in enumerate((RFC3168, NS2, Y1999)):
                here = eight.where(sender=how)[metric]
                for point, found in here.intervals():
                    row = names.index(str(point["hash"])) + 0.2 * (index - 1)
                    reach = [[max(found.mean - found.lo, 0)], [max(found.hi - found.mean, 0)]]
                    axes.errorbar(
                        [found.mean], [row], xerr=reach, fmt="osD"[index], color=plot.COLOURS[index], elinewidth=1.2,
                        label=how if point["hash"] == STATIC else None,
                    )  # fmt: skip
            axes.set_yticks(range(len(names)), [name.replace(", ", ",\n") for name in names])
            axes.set_ylim(len(names) - 0.5, -0.5)
            axes.set_xlabel(label)
            axes.set_xlim(left=0)
    with plot.style():
        figure.legend(*figure.axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=3, frameon=False)
    return figure
