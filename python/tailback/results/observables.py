"""Observables of an experiment: metrics of some flows or ports, computed from reports, in display units.

Each function returns an observable; its `flows`, `ports`, `port` and `where` are names or patterns as in `Report`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from tailback.errors import UsageError
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
"""Function that returns the number of events, such as losses, and the number of packets among which they occurred."""

_PERCENTILES = {"p50": "median", "p90": "90th percentile", "p99": "99th percentile", "p999": "99.9th percentile"}


@dataclass(frozen=True, slots=True)
class Observable:
    """A number that an experiment computes from the report of each replication."""

    name: str
    """Key in `results[...]`."""
    label: str
    """Label in figures and tables, such as "packet loss"."""
    unit: str
    """Display unit; empty for numbers without one."""
    value: Callable[[Report], float]
    """Returns the number in the display unit; NaN: the replication has none."""
    events: Events | None = None
    """Events that a count or a share is computed from, which claims of zero need; `None`: the observable has none."""
    lowest: float | None = 0.0
    """Minimum possible value, to which intervals are clipped; `None`: there is none."""
    precision: tuple[float, float] | None = None
    """Targets of `--full` for the interval's half width: a share of the mean, and a value in the display unit.

    The half width must meet at least one of the two. `None`: there is no target.
    """

    @property
    def title(self) -> str:
        """Label with the unit, for figures."""
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
    """Return the observable of a metric in its display unit; `value` returns it in the unit of the vocabulary."""
    factor, unit = _shown(metric)
    return Observable(name, label, unit, lambda report: factor * value(report), events, lowest, precision)


def loss(flows: str = "*", name: str = "loss", label: str = "packet loss") -> Observable:
    """Return the observable of packets lost per packet handed to the network, %."""
    return _observed(
        "loss",
        name,
        label,
        lambda report: report.loss(flows),
        events=lambda report: (report.dropped_packets(flows), report.offered_packets(flows)),
        precision=(0.1, 0.1),
    )


def drops_at(where: str, flows: str = "*", name: str = "drops", label: str = "") -> Observable:
    """Return the observable of packets lost at the ports that match `where`, such as `sw1->*`."""
    return _observed(
        "drops",
        name,
        label or f"packets lost at {where}",
        lambda report: report.drops_at(where, flows),
        events=lambda report: (report.drops_at(where, flows), report.offered_packets(flows)),
    )


def drops_outside(where: str, flows: str = "*", name: str = "drops_elsewhere", label: str = "") -> Observable:
    """Return the observable of packets lost at ports that do not match `where`."""
    return _observed(
        "drops",
        name,
        label or f"packets lost outside {where}",
        lambda report: report.drops_outside(where, flows),
        events=lambda report: (report.drops_outside(where, flows), report.offered_packets(flows)),
    )


def mean_delay(flows: str = "*", name: str = "delay", label: str = "mean delay") -> Observable:
    """Return the observable of the mean one-way delay of delivered packets, ms."""
    return _observed("delay", name, label, lambda report: report.mean_delay_s(flows), precision=(0.1, 0.0))


def max_delay(flows: str = "*", name: str = "max_delay", label: str = "maximum delay") -> Observable:
    """Return the observable of the maximum one-way delay of delivered packets, ms."""
    return _observed("delay_max", name, label, lambda report: report.max_delay_s(flows))


def delay_quantile(class_: int, quantile: str, name: str = "", label: str = "") -> Observable:
    """Return the observable of a quantile of one class's one-way delay, ms.

    `quantile` is `p50`, `p90`, `p99` or `p999`; others raise KeyError.
    """

    def value(report: Report) -> float:
        delay: dict[str, object] = {**report.data["classes"][class_]["delay"]}
        found = delay.get(f"{quantile}_s")
        return found if isinstance(found, float | int) else float("nan")

    text = label or f"{_PERCENTILES[quantile]} of the delay of class {class_}"
    return _observed(f"delay_{quantile}", name or f"{quantile}_class{class_}", text, value)


def throughput(flows: str = "*", name: str = "throughput", label: str = "throughput") -> Observable:
    """Return the observable of the payload delivered, Mbit/s, sum of the matching flows."""
    return _observed("throughput", name, label, lambda report: report.throughput_bps(flows), precision=(0.1, 0.0))


def offered(flows: str = "*", name: str = "offered", label: str = "offered load") -> Observable:
    """Return the observable of the payload handed to the network, Mbit/s, sum of the matching flows."""
    return _observed("offered", name, label, lambda report: report.offered_bps(flows))


def stopped(ports: str, name: str = "stopped", label: str = "", destination: str | None = None) -> Observable:
    """Return the observable of the share of time in which notifications stop the matching ports, %, mean over ports.

    Stops of a port, of a class and of a destination count; with `destination`, the name of a host, only those of this
    destination in all classes. Time in which no data waits counts as well: a port at which one destination is stopped
    may send to others all the time.
    """
    text = label or f"share of time with a stop in force, {ports}"
    return _observed("stopped", name, text, lambda report: report.stopped_share(ports, destination))


def held(ports: str, name: str = "held", label: str = "") -> Observable:
    """Return the observable of the share of time in which data waits while the port idles, %, mean over ports."""
    text = label or f"share of time data waits at an idle port, {ports}"
    return _observed("held", name, text, lambda report: report.held_share(ports))


def utilisation(port: str, name: str = "utilisation", label: str = "") -> Observable:
    """Return the observable of the share of time in which the matching ports send, %, mean over ports."""

    def value(report: Report) -> float:
        rows = report.ports(port)
        return 100 * sum(row["utilisation"] for row in rows) / len(rows)

    return Observable(name, label or f"utilisation of {port}", _shown("utilisation")[1], value)


def max_queue(ports: str, name: str = "max_queue", label: str = "") -> Observable:
    """Return the observable of the maximum backlog that any one class has at any of the matching ports, kB."""
    text = label or f"maximum queue, {ports}"
    return _observed("queue", name, text, lambda report: report.max_queue_bytes(ports))


def mean_queue(ports: str, name: str = "mean_queue", label: str = "") -> Observable:
    """Return the observable of the time average of the backlog, kB, summed over classes and matching ports."""
    text = label or f"mean queue, {ports}"
    return _observed("queue", name, text, lambda report: report.mean_queue_bytes(ports))


def port_loss(port: str, name: str = "loss", label: str = "packet loss") -> Observable:
    """Return the observable of packets dropped at the matching ports per packet that arrived there, %."""

    def counts(report: Report) -> tuple[int, int]:
        rows = [row for found in report.ports(port) for row in found["classes"]]
        return sum(row["dropped"]["packets"] for row in rows), sum(row["arrived"]["packets"] for row in rows)

    return _observed("loss", name, label, lambda report: report.port_loss(port), events=counts, precision=(0.1, 0.1))


def lost_rate(flows: str, name: str = "lost_rate", label: str = "lost payload") -> Observable:
    """Return the observable of the lost payload per measured second, Mbit/s, sum of the matching flows."""

    def value(report: Report) -> float:
        return 8e-6 * sum(row["dropped"]["bytes"] for row in report.flows(flows)) / report.measured_s

    return Observable(name, label, _shown("lost")[1], value, precision=(0.1, 0.05))


def goodput(flows: str = "*", name: str = "goodput", label: str = "goodput") -> Observable:
    """Return the observable of payload that applications got in order, each byte once, Mbit/s, sum of the flows."""
    return _observed("goodput", name, label, lambda report: report.goodput_bps(flows), precision=(0.1, 0.0))


def jain(flows: str = "*", name: str = "jain", label: str = "Jain's index") -> Observable:
    """Return the observable of Jain, Chiu and Hawe's fairness index of the matching flows' goodputs (1984).

    The index is 1 if all goodputs are equal, and 1/n if one of n flows has all of the goodput.
    """
    return _observed("jain", name, label, lambda report: report.jain(flows))


def marks(port: str, name: str = "marks", label: str = "marked packets") -> Observable:
    """Return the observable of packets marked per second, 1/s, sum of the matching ports."""

    def value(report: Report) -> float:
        rows = [row for found in report.ports(port) for row in found["classes"]]
        return sum(row["marked_packets"] for row in rows) / report.measured_s

    return _observed("mark_rate", name, label, value)


def jitter(group: str, name: str = "jitter", label: str = "jitter") -> Observable:
    """Return the observable of a group's interarrival jitter (RFC 3550), ms; needs `run.delay-variation`."""

    def value(report: Report) -> float:
        found = report.variation(group)["jitter_s"]
        return float("nan") if found is None else found

    return _observed("jitter", name, label, value, precision=(0.1, 0.0))


def pdv(group: str, quantile: Literal["p99", "p999"] = "p999", name: str = "pdv", label: str = "") -> Observable:
    """Return the observable of a quantile of a group's delay variation (PDV of RFC 5481), ms.

    Needs `run.delay-variation`. Raises UsageError for another quantile, which reports do not have.
    """
    if quantile not in {"p99", "p999"}:
        raise UsageError(f"reports have no quantile {quantile!r} of the delay variation; write 'p99' or 'p999'")
    key: Literal["pdv_p99_s", "pdv_p999_s"] = "pdv_p99_s" if quantile == "p99" else "pdv_p999_s"
    text = label or f"{_PERCENTILES[quantile]} of the delay variation"
    return _observed(key.removesuffix("_s"), name, text, lambda report: report.variation(group)[key])


def mos(group: str, name: str = "mos", label: str = "MOS", codec: str = "g.711") -> Observable:
    """Return the observable of the mean opinion score of a group's calls by the E-model (ITU-T G.107), 1 to 4.5.

    Needs `run.delay-variation`.
    """
    return _observed("mos", name, label, lambda report: quality.speech(report, group, codec=codec).mos, lowest=1.0)


def video_score(group: str, name: str = "video_score", label: str = "video score") -> Observable:
    """Return the observable of the quality of a group's video by ITU-T G.1070 (H.264, VGA, 30 frames/s), 1 to 5."""
    return _observed("mos", name, label, lambda report: quality.video(report, group), lowest=1.0)
