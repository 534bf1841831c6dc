"""datacentre-bench: BCN, QCN, DCTCP, DCQCN, TIMELY, HPCC and Swift over the same incast and the same permutation."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from typing import TYPE_CHECKING, ClassVar, cast

from tailback.plotting import experiment as fig
from tailback.results import observables as m
from tailback.results.report import Report
from tailback.scenario import Value
from tailback.study.experiment import (
    Axis,
    AxisValue,
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

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

NONE = "none"
CONTROLS: dict[AxisValue, Value] = {
    NONE: {"kind": "fixed"},
    "BCN": {"kind": "fixed"},
    "QCN": {"kind": "fixed"},
    "DCTCP": {"kind": "dctcp"},
    "DCQCN": {"kind": "dcqcn"},
    "TIMELY": {"kind": "timely"},
    "HPCC": {"kind": "hpcc"},
    "Swift": {"kind": "swift"},
}
"""Congestion control of the connections: none ("fixed") with flow control alone and with BCN and QCN."""
# Kind of congestion notification, by control.
NOTIFICATION = {"BCN": "bcn", "QCN": "qcn"}
FRAME_KB = 1.066
"""Full segment in a buffer, kB: 1000 B, 48 B of headers and 18 B of Ethernet's."""
STEP: dict[str, Value] = {
    "kind": "red",
    "min": "97.5kB",
    "max": "97.5kB",
    "max-p": 1,
    "weight": 1,
    "mean-packet": "1kB",
    "byte-mode": False,
    "gentle": False,
    "wait": False,
    "ecn": True,
    "above-max": "mark",
}
"""Marking at DCTCP's threshold for 10 Gbit/s: 65 packets of 1500 B."""
FILES: dict[AxisValue, str] = {"incast": "scenario.toml", "permutation": "permutation.toml"}
SENDERS = 15
"""Number of senders of the incast: h2 to h16."""
DURATIONS: dict[ProfileName, dict[AxisValue, Settings]] = {
    "quick": {
        "incast": {"run.duration": "300ms", "run.warmup": "100ms", "run.sample": "5ms"},
        "permutation": {"run.duration": "50ms", "run.warmup": "25ms"},
    },
    "full": {
        "incast": {"run.duration": "1s", "run.warmup": "200ms", "run.sample": "5ms"},
        "permutation": {"run.duration": "300ms", "run.warmup": "100ms"},
    },
}
"""Durations of the runs by profile and pattern of traffic.
 TIMELY, the slowest control, needs 80 ms to fill the incast's link, and longer until its shares settle. """
Shares = tuple[list[float], list[list[float]]]
"""Ends of the intervals, s, and each sender's rate in them, Gbit/s on the wire; empty without samples."""


def _layer_2(law: str) -> Settings:
    """Return the settings of BCN ("bcn") or QCN ("qcn"): points in all switches and limiters in all hosts."""
    point: Value = {"kind": law}
    return {
        "network.discipline": {"kind": "drop-tail"},
        "hosts.h.rate-limiters": {"law": {"kind": law}, "buffer": "150kB"},
        "switches.leaf.congestion-notification": point,
        "switches.spine.congestion-notification": point,
    }


def _shares(report: Report) -> Shares:
    """Return the rate of each sender of the incast over time."""
    series = report.data["series"]
    if series is None:
        return [], []
    times = series["time_s"]
    sent = [series["ports"][f"h{host}->leaf{1 + (host - 1) // 4}"]["sent_bytes"] for host in range(2, SENDERS + 2)]
    width = times[1] - times[0]
    return times[1:], [[8e-9 * (b - a) / width for a, b in pairwise(bytes_)] for bytes_ in sent]


def _jain(shares: Shares) -> list[float]:
    """Return Jain's index of the senders' rates in each interval; 1 if all rates are 0."""
    across = zip(*shares[1], strict=True)
    return [sum(x) ** 2 / (len(x) * sum(y * y for y in x)) if any(x) else 1.0 for x in across]


def _most(report: Report) -> float:
    """Return the share of the two flows with the most delivered bytes in all delivered bytes, %."""
    got = sorted(flow["delivered"]["bytes"] for flow in report.data["flows"])
    return 100 * sum(got[-2:]) / sum(got)


def _pauses(report: Report) -> float:
    """Return the number of PFC frames that all ports sent, per millisecond of the run, warm-up included."""
    return report.data["control_frames"] / report.data["end_s"] / 1e3


class Bench(Experiment):
    """Seven congestion controls and flow control alone, two patterns of traffic, one set of metrics."""

    id = "datacentre-bench"
    title = "Congestion controls of data centres on one bench"
    reference = (
        "Bergamasco 2005; IEEE 802.1Qau; Alizadeh 2010, Zhu 2015, Mittal 2015, Li 2019 and Kumar 2020, all ACM SIGCOMM"
    )
    axes = (Axis("traffic", "traffic"), Axis("control", "control"))
    quick = Profile(duration="300ms", warmup="100ms", replications=5, max_replications=8, cpu_s=50)
    full = Profile(duration="1s", warmup="200ms", replications=5, max_replications=20, cpu_s=300)
    metrics = (
        m.loss(),
        m.goodput(),
        m.jain(),
        m.mean_queue("leaf*->h1"),
        m.max_queue("leaf*->h1"),
        m.mean_delay(),
        Observable("pauses", "PFC frames per millisecond", "1/ms", _pauses),
        Observable("most", "share of the two largest flows", "%", _most),
    )
    traces: ClassVar = {"shares": _shares}

    def points(self, profile: ProfileName) -> Iterable[Point]:
        """Return the points: every control with both patterns of traffic."""
        del profile
        return grid(traffic=FILES, control=CONTROLS)

    def scenario(self, point: Point) -> str:
        """Return the scenario of the point's pattern of traffic."""
        return FILES[point["traffic"]]

    def settings(self, point: Point, profile: ProfileName) -> Settings:
        """Return the settings of control and duration, of DCTCP's marking, and of BCN's and QCN's limiters."""
        control = str(point["control"])
        chosen: Settings = {
            **DURATIONS[profile][point["traffic"]],
            "flows[data].transport.congestion-control": CONTROLS[control],
        }
        if control == "DCTCP":
            return {**chosen, "network.discipline": STEP}
        return {**chosen, **_layer_2(NOTIFICATION[control])} if control in NOTIFICATION else chosen

    def claims(self, results: Results) -> Iterable[Claim]:
        """Return the claims: the papers' statements on single controls that this network can test, and comparisons."""
        incast = results.where(traffic="incast")
        queue = incast["mean_queue"]
        hpcc, dcqcn = queue.where(control="HPCC"), queue.where(control="DCQCN")
        paper = "Li and others, SIGCOMM 2019, section 5"
        yield Claim(
            "C1",
            "With priority-based flow control no packet is lost under any control.",
            "802.1Qbb",
            results["loss"].is_zero(),
        )
        yield Claim(
            "C2",
            "The mean queue at the receiver's port in the incast is shorter with HPCC than with DCQCN.",
            paper,
            hpcc < dcqcn,
        )
        yield Claim(
            "C3",
            "Jain's index of the incast's flows is above 0.95 with Swift.",
            "Kumar and others, SIGCOMM 2020, section 4",
            incast["jain"].where(control="Swift") > 0.95,
        )
        yield Claim(
            "C4",
            "The mean queue at the receiver's port in the incast is shorter with each congestion control than with "
            "flow control alone.",
            "derived: with flow control the queue grows until it stops the inputs",
            queue.where(control=[control for control in CONTROLS if control != NONE]) < queue.where(control=NONE),
        )
        yield Claim(
            "C5",
            "With BCN the mean queue in the incast is between 8 and 24 frames, that is, within 50 % of the equilibrium "
            "of 16 frames.",
            "Bergamasco 2005: T+0 is the equilibrium; the bounds are reconstructed",
            queue.where(control="BCN").within(8 * FRAME_KB, 24 * FRAME_KB),
        )
        fairness = (
            "Zhu and others, ECN or Delay, CoNEXT 2016, section 4: TIMELY has no unique fixed point; the bound is ours"
        )
        yield Claim(
            "C6",
            "With TIMELY two of the fifteen senders have more than half of the traffic delivered in the incast.",
            fairness,
            incast["most"].where(control="TIMELY") > 50,
            headline="TIMELY: no unique fixed point, unequal shares",
        )
        permutation = results.where(traffic="permutation")
        others = [control for control in CONTROLS if control != NONE]
        yield Claim.comparison(
            "R1",
            "Goodput of all flows in the incast.",
            "not in the papers",
            incast["goodput"],
            "the papers measure other networks; this is a comparison in one network",
        )
        yield Claim.comparison(
            "R2",
            "Jain's index of the incast's flows.",
            "not in the papers",
            incast["jain"],
            "over the measured time, without the start; 1/15 if one sender has all",
        )
        yield Claim.comparison(
            "R3",
            "Goodput of all flows in the permutation minus that with flow control alone.",
            "not in the papers",
            permutation["goodput"].where(control=others) - permutation["goodput"].where(control=NONE),
            "paired: each replication draws one permutation and one hash for all controls, and the goodput depends "
            "mostly on which flows share an uplink",
        )

    def figures(self, results: Results) -> Iterable[Figure]:
        """Yield the goodput in each pattern, and the incast's queue and shares over time."""
        incast, permutation = (results.where(traffic=traffic) for traffic in FILES)
        yield fig.compare({"": incast["goodput"]}, "goodput_incast", "Goodput, incast", x="control", claims=("R1",))
        yield Figure(
            "shares_incast",
            "Shares of the incast's senders",
            "First replication, in intervals of 5 ms. Upper panel: Jain's index, 1/15 if one sender has all (dashed). "
            "Lower panel: the rates of TIMELY's fifteen senders.",
            lambda: _draw_shares(incast),
            claims=("C3", "C6", "R2"),
        )
        none = permutation["goodput"].where(control=NONE)
        others = [control for control in CONTROLS if control != NONE]
        yield fig.compare(
            {"": permutation["goodput"].where(control=others) - none},
            "goodput_permutation",
            "Goodput in the permutation minus that with flow control alone",
            "Paired: the same permutation and hash for all controls.",
            x="control",
            y="difference of goodput",
            claims=("R3",),
        )
        yield fig.compare(
            {"": incast["mean_queue"]},
            "mean_queue",
            "Mean queue at the receiver's port, incast",
            x="control",
            y_scale="symlog",
            claims=("C2", "C4", "C5"),
        )


def _draw_shares(incast: Results) -> Drawing:
    from tailback.plotting import plot

    figure = plot.new(1, 2, width=7.6, height=3.0, sharex=True)
    index, rates = figure.axes
    with plot.style():
        for number, control in enumerate(CONTROLS):
            shares = cast(Shares, incast.trace("shares", control=control))
            colour = plot.COLOURS[number % len(plot.COLOURS)]
            index.plot(shares[0], _jain(shares), linewidth=1.2, color=colour, label=str(control))
            if control == "TIMELY":
                for sender in shares[1]:
                    rates.plot(shares[0], sender, linewidth=0.9)
        index.axhline(1 / SENDERS, color="#666666", linestyle="--", linewidth=0.9)
        index.set_ylim(0, 1.05)
        index.set_ylabel("Jain's index")
        rates.set_ylim(0, 10.2)
        rates.set_ylabel("TIMELY, rate (Gbit/s)")
        rates.set_xlabel("time (s)")
    handles, labels = index.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside right upper")
    return figure
