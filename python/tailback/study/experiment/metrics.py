"""What an experiment measures in each report: losses in percent, delays in ms, rates in Mbit/s, queues in kB."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from tailback.results import quality
from tailback.results.report import Report

__all__ = [
    "Metric",
    "delay_quantile",
    "drops_at",
    "drops_outside",
    "goodput",
    "held",
    "jain",
    "jitter",
    "loss",
    "lost_rate",
    "marks",
    "max_delay",
    "max_queue",
    "mean_delay",
    "mean_queue",
    "mos",
    "offered",
    "pdv",
    "port_loss",
    "stopped",
    "throughput",
    "utilisation",
    "video_score",
]

Events = Callable[[Report], tuple[int, int]]


@dataclass(frozen=True, slots=True)
class Metric:
    """A number per replication. NaN means that the replication has none."""

    name: str
    """Key in `results[...]`."""
    label: str
    """For figures and tables, such as "packet loss"."""
    unit: str
    value: Callable[[Report], float]
    events: Events | None = None
    """Of a count or a share of events: how many, and out of how many packets. Claims of zero need it."""
    lowest: float | None = 0.0
    """The least value that is possible; intervals are cut there."""
    precision: tuple[float, float] | None = None
    """Target of `--full` for the interval's half width: a share of the mean, and a number in the unit."""

    @property
    def title(self) -> str:
        """Label and unit, for a figure."""
        return f"{self.label} ({self.unit})" if self.unit else self.label


def loss(flows: str = "*", name: str = "loss", label: str = "packet loss") -> Metric:
    """Packets lost per packets handed to the network, in percent."""
    return Metric(
        name,
        label,
        "%",
        lambda report: 100 * report.loss(flows),
        lambda report: (report.dropped_packets(flows), report.offered_packets(flows)),
        precision=(0.1, 0.1),
    )


def drops_at(where: str, flows: str = "*", name: str = "drops", label: str = "") -> Metric:
    """Packets lost at the ports that match, such as `sw1->*`."""
    return Metric(
        name,
        label or f"packets lost at {where}",
        "packets",
        lambda report: float(report.drops_at(where, flows)),
        lambda report: (report.drops_at(where, flows), report.offered_packets(flows)),
    )


def drops_outside(where: str, flows: str = "*", name: str = "drops_elsewhere", label: str = "") -> Metric:
    """Packets lost anywhere but at the ports that match."""
    return Metric(
        name,
        label or f"packets lost outside {where}",
        "packets",
        lambda report: float(report.drops_outside(where, flows)),
        lambda report: (report.drops_outside(where, flows), report.offered_packets(flows)),
    )


def mean_delay(flows: str = "*", name: str = "delay", label: str = "mean delay") -> Metric:
    """Mean one-way delay of delivered packets, in ms."""
    return Metric(name, label, "ms", lambda report: 1e3 * report.mean_delay_s(flows), precision=(0.1, 0.0))


def max_delay(flows: str = "*", name: str = "max_delay", label: str = "longest delay") -> Metric:
    """Longest one-way delay of a delivered packet, in ms."""
    return Metric(name, label, "ms", lambda report: 1e3 * report.max_delay_s(flows))


def delay_quantile(class_: int, quantile: str, name: str = "", label: str = "") -> Metric:
    """Quantile `p50`, `p90`, `p99` or `p999` of one class's delay, in ms."""

    def value(report: Report) -> float:
        delay: dict[str, object] = {**report.data["classes"][class_]["delay"]}
        found = delay.get(f"{quantile}_s")
        return 1e3 * found if isinstance(found, float | int) else float("nan")

    return Metric(name or f"{quantile}_class{class_}", label or f"{quantile} delay of class {class_}", "ms", value)


def throughput(flows: str = "*", name: str = "throughput", label: str = "throughput") -> Metric:
    """Payload delivered, in Mbit/s, all matching flows together."""
    return Metric(name, label, "Mbit/s", lambda report: 1e-6 * report.throughput_bps(flows), precision=(0.1, 0.0))


def offered(flows: str = "*", name: str = "offered", label: str = "realised load") -> Metric:
    """Payload handed to the network, in Mbit/s, all matching flows together."""
    return Metric(name, label, "Mbit/s", lambda report: 1e-6 * report.offered_bps(flows))


def stopped(ports: str, name: str = "stopped", label: str = "", destination: str | None = None) -> Metric:
    """Share of time for which a stop was in force at the matching ports, in percent; with a destination, of that one.

    Whether or not data waited for it: a port where one destination is stopped may send to others all the time.
    """
    text = label or f"time a stop is in force, {ports}"
    return Metric(name, text, "%", lambda report: 100 * report.stopped_share(ports, destination))


def held(ports: str, name: str = "held", label: str = "") -> Metric:
    """Share of time in which data waited at the matching ports while they sent nothing, in percent."""
    text = label or f"time data waits for an idle link, {ports}"
    return Metric(name, text, "%", lambda report: 100 * report.held_share(ports))


def utilisation(port: str, name: str = "utilisation", label: str = "") -> Metric:
    """Share of time for which the matching ports were sending, in percent, on average."""

    def value(report: Report) -> float:
        rows = report.ports(port)
        return 100 * sum(row["utilisation"] for row in rows) / len(rows)

    return Metric(name, label or f"utilisation of {port}", "%", value)


def max_queue(ports: str, name: str = "max_queue", label: str = "") -> Metric:
    """Longest queue of one class at the matching ports, in kB."""
    text = label or f"longest queue, {ports}"
    return Metric(name, text, "kB", lambda report: 1e-3 * report.max_queue_bytes(ports))


def mean_queue(ports: str, name: str = "mean_queue", label: str = "") -> Metric:
    """Mean of the bytes that wait at the matching ports together, in kB."""
    text = label or f"mean queue, {ports}"
    return Metric(name, text, "kB", lambda report: 1e-3 * report.mean_queue_bytes(ports))


def port_loss(port: str, name: str = "loss", label: str = "packet loss") -> Metric:
    """Packets dropped at the matching ports per packet that arrived there, in percent; a mark is no loss."""

    def counts(report: Report) -> tuple[int, int]:
        rows = [row for found in report.ports(port) for row in found["classes"]]
        return sum(row["dropped"]["packets"] for row in rows), sum(row["arrived"]["packets"] for row in rows)

    return Metric(name, label, "%", lambda report: 100 * report.port_loss(port), counts, precision=(0.1, 0.1))


def lost_rate(flows: str, name: str = "lost_rate", label: str = "lost") -> Metric:
    """Payload of the matching flows that was lost, in Mbit/s."""

    def value(report: Report) -> float:
        return 8e-6 * sum(row["dropped"]["bytes"] for row in report.flows(flows)) / report.measured_s

    return Metric(name, label, "Mbit/s", value, precision=(0.1, 0.05))


def goodput(flows: str = "*", name: str = "goodput", label: str = "goodput") -> Metric:
    """Payload that reached applications in order, each byte counted once, in Mbit/s, all matching flows together."""
    return Metric(name, label, "Mbit/s", lambda report: 1e-6 * report.goodput_bps(flows), precision=(0.1, 0.0))


def jain(flows: str = "*", name: str = "jain", label: str = "Jain's index") -> Metric:
    """Jain, Chiu and Hawe's fairness index of the matching flows' goodputs (1984).

    It is 1 when all are equal and 1/n when one has everything.
    """
    return Metric(name, label, "", lambda report: report.jain(flows))


def marks(port: str, name: str = "marks", label: str = "marks") -> Metric:
    """Packets marked at the matching ports per second."""

    def value(report: Report) -> float:
        rows = [row for found in report.ports(port) for row in found["classes"]]
        return sum(row["marked_packets"] for row in rows) / report.measured_s

    return Metric(name, label, "1/s", value)


def jitter(group: str, name: str = "jitter", label: str = "jitter") -> Metric:
    """RFC 3550's interarrival jitter, mean over the packets of a group, in ms; needs `run.delay-variation`."""

    def value(report: Report) -> float:
        found = report.variation(group)["jitter_s"]
        return float("nan") if found is None else 1e3 * found

    return Metric(name, label, "ms", value, precision=(0.1, 0.0))


def pdv(group: str, quantile: str = "p999", name: str = "pdv", label: str = "") -> Metric:
    """Quantile `p99` or `p999` of a group's delay above its least (RFC 5481), in ms; needs `run.delay-variation`."""
    key: Literal["pdv_p99_s", "pdv_p999_s"] = "pdv_p99_s" if quantile == "p99" else "pdv_p999_s"
    text = label or f"{quantile} delay variation"
    return Metric(name, text, "ms", lambda report: 1e3 * report.variation(group)[key])


def mos(group: str, name: str = "mos", label: str = "MOS", codec: str = "g.711") -> Metric:
    """Mean opinion score of a group's calls by the E-model (ITU-T G.107); needs `run.delay-variation`."""
    return Metric(name, label, "", lambda report: quality.speech(report, group, codec=codec).mos, lowest=1.0)


def video_score(group: str, name: str = "video_score", label: str = "video score") -> Metric:
    """Score of a group's video streams by ITU-T G.1070, H.264 at VGA size and 30 frames a second."""
    return Metric(name, label, "", lambda report: quality.video(report, group), lowest=1.0)
