"""Observables of an experiment: metrics of the vocabulary, taken from some flows or ports, in display units."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from tailback.results import quality
from tailback.results.metrics import VOCABULARY
from tailback.results.report import Report
from tailback.results.units import display

__all__ = [
    "Observable",
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
class Observable:
    """A number that an experiment takes from the report of each replication; NaN if the replication has none."""

    name: str
    """Key in `results[...]`."""
    label: str
    """For figures and tables, such as "packet loss"."""
    unit: str
    value: Callable[[Report], float]
    events: Events | None = None
    """Of a count or a share of events: number of events and of packets. Claims of zero need it."""
    lowest: float | None = 0.0
    """Least possible value; intervals are clipped there."""
    precision: tuple[float, float] | None = None
    """Target of `--full` for the interval's half width: a share of the mean, and a number in the unit."""

    @property
    def title(self) -> str:
        """Label and unit, for a figure."""
        return f"{self.label} ({self.unit})" if self.unit else self.label


def _shown(metric: str) -> tuple[float, str]:
    """Return the factor from a metric's unit to its display unit, and the display unit."""
    known = VOCABULARY[metric]
    return display(known.unit, is_share=known.is_share)


def _observed(
    metric: str,
    name: str,
    label: str,
    value: Callable[[Report], float],
    *,
    events: Events | None = None,
    lowest: float = 0.0,
    precision: tuple[float, float] | None = None,
) -> Observable:
    """Return the observable of a metric: `value` gives it in the vocabulary's unit, the observable in display units."""
    factor, unit = _shown(metric)
    return Observable(name, label, unit, lambda report: factor * value(report), events, lowest, precision)


def loss(flows: str = "*", name: str = "loss", label: str = "packet loss") -> Observable:
    """Packets lost per packets handed to the network, in percent."""
    return _observed(
        "loss",
        name,
        label,
        lambda report: report.loss(flows),
        events=lambda report: (report.dropped_packets(flows), report.offered_packets(flows)),
        precision=(0.1, 0.1),
    )


def drops_at(where: str, flows: str = "*", name: str = "drops", label: str = "") -> Observable:
    """Packets lost at the ports that match, such as `sw1->*`."""
    return _observed(
        "drops",
        name,
        label or f"packets lost at {where}",
        lambda report: report.drops_at(where, flows),
        events=lambda report: (report.drops_at(where, flows), report.offered_packets(flows)),
    )


def drops_outside(where: str, flows: str = "*", name: str = "drops_elsewhere", label: str = "") -> Observable:
    """Packets lost anywhere but at the ports that match."""
    return _observed(
        "drops",
        name,
        label or f"packets lost outside {where}",
        lambda report: report.drops_outside(where, flows),
        events=lambda report: (report.drops_outside(where, flows), report.offered_packets(flows)),
    )


def mean_delay(flows: str = "*", name: str = "delay", label: str = "mean delay") -> Observable:
    """Mean one-way delay of delivered packets, in ms."""
    return _observed("delay", name, label, lambda report: report.mean_delay_s(flows), precision=(0.1, 0.0))


def max_delay(flows: str = "*", name: str = "max_delay", label: str = "longest delay") -> Observable:
    """Longest one-way delay of a delivered packet, in ms."""
    return _observed("delay_max", name, label, lambda report: report.max_delay_s(flows))


def delay_quantile(class_: int, quantile: str, name: str = "", label: str = "") -> Observable:
    """Quantile `p50`, `p90`, `p99` or `p999` of one class's delay, in ms."""

    def value(report: Report) -> float:
        delay: dict[str, object] = {**report.data["classes"][class_]["delay"]}
        found = delay.get(f"{quantile}_s")
        return found if isinstance(found, float | int) else float("nan")

    text = label or f"{quantile} delay of class {class_}"
    return _observed(f"delay_{quantile}", name or f"{quantile}_class{class_}", text, value)


def throughput(flows: str = "*", name: str = "throughput", label: str = "throughput") -> Observable:
    """Payload delivered, in Mbit/s, all matching flows together."""
    return _observed("throughput", name, label, lambda report: report.throughput_bps(flows), precision=(0.1, 0.0))


def offered(flows: str = "*", name: str = "offered", label: str = "realised load") -> Observable:
    """Payload handed to the network, in Mbit/s, all matching flows together."""
    return _observed("offered", name, label, lambda report: report.offered_bps(flows))


def stopped(ports: str, name: str = "stopped", label: str = "", destination: str | None = None) -> Observable:
    """Share of time for which a stop was in force at the matching ports, in percent; with a destination, of that one.

    It counts also while no data waited: a port where one destination is stopped may send to others all the time.
    """
    text = label or f"time a stop is in force, {ports}"
    return _observed("stopped", name, text, lambda report: report.stopped_share(ports, destination))


def held(ports: str, name: str = "held", label: str = "") -> Observable:
    """Share of time in which data waited at the matching ports while they sent nothing, in percent."""
    text = label or f"time data waits for an idle link, {ports}"
    return _observed("held", name, text, lambda report: report.held_share(ports))


def utilisation(port: str, name: str = "utilisation", label: str = "") -> Observable:
    """Share of time for which the matching ports were sending, in percent, on average."""

    def value(report: Report) -> float:
        rows = report.ports(port)
        return 100 * sum(row["utilisation"] for row in rows) / len(rows)

    return Observable(name, label or f"utilisation of {port}", _shown("utilisation")[1], value)


def max_queue(ports: str, name: str = "max_queue", label: str = "") -> Observable:
    """Longest queue of one class at the matching ports, in kB."""
    text = label or f"longest queue, {ports}"
    return _observed("queue", name, text, lambda report: report.max_queue_bytes(ports))


def mean_queue(ports: str, name: str = "mean_queue", label: str = "") -> Observable:
    """Mean of the bytes waiting at the matching ports together, in kB."""
    text = label or f"mean queue, {ports}"
    return _observed("queue", name, text, lambda report: report.mean_queue_bytes(ports))


def port_loss(port: str, name: str = "loss", label: str = "packet loss") -> Observable:
    """Packets dropped at the matching ports per packet that arrived there, in percent; a mark is no loss."""

    def counts(report: Report) -> tuple[int, int]:
        rows = [row for found in report.ports(port) for row in found["classes"]]
        return sum(row["dropped"]["packets"] for row in rows), sum(row["arrived"]["packets"] for row in rows)

    return _observed("loss", name, label, lambda report: report.port_loss(port), events=counts, precision=(0.1, 0.1))


def lost_rate(flows: str, name: str = "lost_rate", label: str = "lost") -> Observable:
    """Payload of the matching flows that was lost, in Mbit/s."""

    def value(report: Report) -> float:
        return 8e-6 * sum(row["dropped"]["bytes"] for row in report.flows(flows)) / report.measured_s

    return Observable(name, label, _shown("lost")[1], value, precision=(0.1, 0.05))


def goodput(flows: str = "*", name: str = "goodput", label: str = "goodput") -> Observable:
    """Payload that reached applications in order, each byte counted once, in Mbit/s, all matching flows together."""
    return _observed("goodput", name, label, lambda report: report.goodput_bps(flows), precision=(0.1, 0.0))


def jain(flows: str = "*", name: str = "jain", label: str = "Jain's index") -> Observable:
    """Jain, Chiu and Hawe's fairness index of the matching flows' goodputs (1984).

    It is 1 when all are equal and 1/n when one has everything.
    """
    return _observed("jain", name, label, lambda report: report.jain(flows))


def marks(port: str, name: str = "marks", label: str = "marks") -> Observable:
    """Packets marked at the matching ports per second."""

    def value(report: Report) -> float:
        rows = [row for found in report.ports(port) for row in found["classes"]]
        return sum(row["marked_packets"] for row in rows) / report.measured_s

    return _observed("mark_rate", name, label, value)


def jitter(group: str, name: str = "jitter", label: str = "jitter") -> Observable:
    """RFC 3550's interarrival jitter, mean over the packets of a group, in ms; needs `run.delay-variation`."""

    def value(report: Report) -> float:
        found = report.variation(group)["jitter_s"]
        return float("nan") if found is None else found

    return _observed("jitter", name, label, value, precision=(0.1, 0.0))


def pdv(group: str, quantile: str = "p999", name: str = "pdv", label: str = "") -> Observable:
    """Quantile `p99` or `p999` of a group's delay above its least (RFC 5481), in ms; needs `run.delay-variation`."""
    key: Literal["pdv_p99_s", "pdv_p999_s"] = "pdv_p99_s" if quantile == "p99" else "pdv_p999_s"
    text = label or f"{quantile} delay variation"
    return _observed(key.removesuffix("_s"), name, text, lambda report: report.variation(group)[key])


def mos(group: str, name: str = "mos", label: str = "MOS", codec: str = "g.711") -> Observable:
    """Mean opinion score of a group's calls by the E-model (ITU-T G.107); needs `run.delay-variation`."""
    return _observed("mos", name, label, lambda report: quality.speech(report, group, codec=codec).mos, lowest=1.0)


def video_score(group: str, name: str = "video_score", label: str = "video score") -> Observable:
    """Score of a group's video streams by ITU-T G.1070, H.264 at VGA size and 30 frames a second."""
    return _observed("mos", name, label, lambda report: quality.video(report, group), lowest=1.0)
