"""BCN, QCN, DCTCP, DCQCN, TIMELY, HPCC and Swift over the same incast and the same permutation."""

from __future__ import annotations

from collections.abc import Iterable

from tailback.gallery import (
    Axis,
    AxisValue,
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
from tailback.gallery import figures as fig
from tailback.gallery import metrics as m
from tailback.report import Report
from tailback.scenario import Value

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
"""What the connections do. With flow control alone, and with BCN and QCN, which slow them down below, nothing."""
NOTIFICATION = {"BCN": "bcn", "QCN": "qcn"}
FRAME_KB = 1.066
"""A full segment in a buffer: 1000 B, 48 B of headers and 18 B of Ethernet's."""
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
"""DCTCP's threshold at 10 Gbit/s: 65 packets of 1500 B."""
FILES: dict[AxisValue, str] = {"incast": "scenario.toml", "permutation": "permutation.toml"}


def _layer_2(law: str) -> Settings:
    """Congestion points in all switches and rate limiters in all hosts, each with the constants of 10 Gbit/s."""
    point: Value = {"kind": law}
    return {
        "network.discipline": {"kind": "drop-tail"},
        "hosts.h.rate-limiters": {"law": {"kind": law}, "buffer": "150kB"},
        "switches.leaf.congestion-notification": point,
        "switches.spine.congestion-notification": point,
    }


def _pauses(report: Report) -> float:
    """PAUSE frames sent, all ports together, per millisecond since the start."""
    return report.data["control_frames"] / report.data["end_s"] / 1e3


class Bench(Experiment):
    """Seven congestion controls and none, two patterns of traffic, one set of metrics."""

    id = "datacentre-bench"
    title = "Congestion controls of data centres on one bench"
    reference = (
        "Bergamasco 2005; IEEE 802.1Qau; Alizadeh 2010, Zhu 2015, Mittal 2015, Li 2019 and Kumar 2020, all ACM SIGCOMM"
    )
    axes = (Axis("traffic", "traffic"), Axis("control", "control"))
    quick = Profile(duration="30ms", warmup="15ms", replications=4, max_replications=6, cpu_s=22)
    full = Profile(duration="200ms", warmup="50ms", replications=5, max_replications=20, cpu_s=600)
    metrics = (
        m.loss(),
        m.goodput(),
        m.jain(),
        m.mean_queue("leaf*->h1"),
        m.max_queue("leaf*->h1"),
        m.mean_delay(),
        Metric("pauses", "PAUSE frames per millisecond", "1/ms", _pauses),
    )

    def points(self, profile: ProfileName) -> Iterable[Point]:
        """Every control over both patterns."""
        del profile
        return grid(traffic=FILES, control=CONTROLS)

    def scenario(self, point: Point) -> str:
        """Return one file for each pattern."""
        return FILES[point["traffic"]]

    def settings(self, point: Point, profile: ProfileName) -> Settings:
        """The control; DCTCP has the threshold of its paper, BCN and QCN their points and limiters."""
        del profile
        control = str(point["control"])
        chosen: Settings = {"flows[data].transport.congestion-control": CONTROLS[control]}
        if control == "DCTCP":
            return {**chosen, "network.discipline": STEP}
        return {**chosen, **_layer_2(NOTIFICATION[control])} if control in NOTIFICATION else chosen

    def claims(self, results: Results) -> Iterable[Claim]:
        """What the papers say of each, where it can be seen here."""
        incast = results.where(traffic="incast")
        queue = incast["mean_queue"]
        hpcc, dcqcn = queue.where(control="HPCC"), queue.where(control="DCQCN")
        paper = "Li and others, SIGCOMM 2019, section 5"
        yield Claim("C1", "Priority-based flow control loses nothing.", "802.1Qbb", results["loss"].is_zero())
        yield Claim("C2", "With HPCC the queue of the incast is shorter than with DCQCN.", paper, hpcc < dcqcn)
        yield Claim(
            "C3",
            "Swift shares the incast fairly: Jain's index is above 0.95.",
            "Kumar and others, SIGCOMM 2020, section 4",
            incast["jain"].where(control="Swift") > 0.95,
        )
        yield Claim(
            "C4",
            "Each keeps the queue of the incast shorter than flow control alone does.",
            "derived: flow control lets the queue grow until it stops the inputs",
            queue.where(control=[control for control in CONTROLS if control != NONE]) < queue.where(control=NONE),
        )
        yield Claim(
            "C5",
            "BCN's mean queue in the incast is within half of its equilibrium of 16 frames.",
            "Bergamasco 2005: T+0 is the equilibrium; the bounds are reconstructed",
            queue.where(control="BCN").within(8 * FRAME_KB, 24 * FRAME_KB),
        )
        yield Claim.comparison(
            "R1",
            "Goodput of all flows in the incast.",
            "this bench",
            incast["goodput"],
            "the papers measure other networks; shown beside each other here",
        )
        yield Claim.comparison(
            "R2",
            "Goodput of all flows in the permutation.",
            "this bench",
            results.where(traffic="permutation")["goodput"],
            "it depends on which flows the hash puts together",
        )

    def figures(self, results: Results) -> Iterable[Figure]:
        """Goodput in each pattern, and the incast's queue."""
        for traffic in FILES:
            goodput = results.where(traffic=traffic)["goodput"]
            yield fig.compare({"": goodput}, f"goodput_{traffic}", f"Goodput, {traffic}", x="control")
        queue = results.where(traffic="incast")["mean_queue"]
        yield fig.compare(
            {"": queue}, "mean_queue", "Mean queue at the receiver's port, incast", x="control", y_scale="symlog"
        )
