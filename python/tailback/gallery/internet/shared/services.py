"""Parts that the experiments on differentiated services share: senders, queues, and rates with headers, by colour.

Packets have 1000 B, of which 40 B are headers; rates and targets include headers. Marked packets are green, unmarked
ones yellow.
"""

from __future__ import annotations

from statistics import fmean
from typing import Literal

from tailback.results.observables import Observable
from tailback.results.report import Report
from tailback.scenario import Value
from tailback.study.experiment.points import AxisValue, Settings

__all__ = [
    "CAPACITY",
    "COARSE_CLOCK",
    "ERED",
    "HEADERS",
    "MODERN",
    "QUEUES",
    "RENO",
    "RIO",
    "best_effort",
    "coloured",
    "entered",
    "goodput",
    "green_losses",
    "green_rate",
    "least_share",
    "rate",
    "sender",
    "unmarked_rate",
]

CAPACITY = 10.0
"""Rate of the bottleneck, Mbit/s."""
HEADERS = 1000 / 960
"""Ratio of a packet's size to its payload."""
# Senders: Reno with the timers of 1999, Reno with a fine clock, and a current sender.
COARSE_CLOCK, RENO, MODERN = "Reno, coarse clock", "Reno", "SACK"

ERED, RIO = "ered", "rio"
# Settings that RED has at each of its levels.
LEVEL: dict[str, Value] = {
    "weight": 0.002,
    "mean-packet": "1000B",
    "count": "packets",
    "byte-mode": False,
    "gentle": False,
}
QUEUES: dict[str, Value] = {
    ERED: {"kind": "ered", "red": {"min": "20kB", "max": "80kB", "max-p": 0.1, **LEVEL}},
    RIO: {
        "kind": "rio",
        "green": {"min": "80packets", "max": "99packets", "max-p": 0.02, **LEVEL},
        "yellow": {"min": "20packets", "max": "80packets", "max-p": 0.1, **LEVEL},
    },
}
"""Disciplines of the bottleneck, whose buffer is 100 kB."""

# Timers of 1999: a clock with ticks of 100 ms, and a minimum RTO of 0.5 s.
OLD_TIMERS: Settings = {"clock": "coarse", "granularity": "100ms", "min-rto": "500ms", "initial-rto": "3s"}


def sender(name: AxisValue, *groups: str) -> Settings:
    """Return the settings of a sender, `COARSE_CLOCK`, `RENO` or `MODERN`, for groups of flows.

    Raises KeyError for another name.
    """
    changes: dict[str, Settings] = {
        COARSE_CLOCK: {
            "recovery": {"kind": "reno"},
            "timers": OLD_TIMERS,
            "timestamps": False,
            "spurious-timeout": "off",
        },
        RENO: {
            "recovery": {"kind": "reno"},
            "timers": {"min-rto": "500ms"},
            "timestamps": True,
            "spurious-timeout": "off",
        },
        MODERN: {
            "recovery": {"kind": "sack"},
            "timers": {"min-rto": "200ms"},
            "timestamps": True,
            "spurious-timeout": "f-rto",
        },
    }
    return {f"flows[{group}].transport.{key}": value for group in groups for key, value in changes[str(name)].items()}


def goodput(report: Report, flows: str) -> float:
    """Return the sum of the goodputs of the flows of a pattern, headers included, in Mbit/s.

    A byte that is delivered twice counts once.
    """
    return 1e-6 * HEADERS * report.goodput_bps(flows)


def coloured(report: Report, colour: Literal["green", "yellow", "red"], flows: str) -> float:
    """Return the total rate of delivered packets of a colour of the flows of a pattern, headers included, in Mbit/s."""
    return 8e-6 * HEADERS * report.coloured_bytes(colour, flows) / report.measured_s


def rate(flows: str, name: str, label: str) -> Observable:
    """Return the observable of the total goodput of the flows of a pattern, headers included, Mbit/s."""
    return Observable(name, label, "Mbit/s", lambda report: goodput(report, flows), precision=(0.02, 0.02))


def entered(flows: str, name: str, label: str) -> Observable:
    """Return the observable of the total rate of the flows of a pattern into the network, headers included, Mbit/s.

    Retransmissions count. This is the rate that a marking engine observes.
    """
    return Observable(
        name, label, "Mbit/s", lambda report: 1e-6 * HEADERS * report.offered_bps(flows), precision=(0.02, 0.02)
    )


def best_effort(flows: str, name: str, label: str) -> Observable:
    """Return the observable of the mean goodput per flow of a pattern, headers included, Mbit/s."""
    return Observable(
        name, label, "Mbit/s", lambda report: goodput(report, flows) / len(report.flows(flows)), precision=(0.02, 0.01)
    )


def green_rate(flows: str, name: str, label: str) -> Observable:
    """Return the observable of the total rate of delivered marked packets of a pattern's flows, Mbit/s with headers."""
    return Observable(name, label, "Mbit/s", lambda report: coloured(report, "green", flows), precision=(0.02, 0.02))


def unmarked_rate(flows: str, name: str, label: str) -> Observable:
    """Return the observable of the mean rate of delivered unmarked packets per flow, headers included, Mbit/s."""

    def value(report: Report) -> float:
        return fmean([coloured(report, "yellow", flow["name"]) for flow in report.flows(flows)])

    return Observable(name, label, "Mbit/s", value, precision=(0.02, 0.01))


def green_losses(name: str = "marked_losses") -> Observable:
    """Return the observable of the number of lost marked packets, of all flows together."""

    def counts(report: Report) -> tuple[int, int]:
        rows = [colours["green"] for flow in report.flows() if (colours := flow["colours"]) is not None]
        return sum(row["dropped"]["packets"] for row in rows), sum(row["offered"]["packets"] for row in rows)

    return Observable(name, "marked packets lost", "packets", lambda report: float(counts(report)[0]), counts)


def least_share(name: str = "least") -> Observable:
    """Return the observable of the lowest goodput of any flow, in percent of an equal share of the link."""

    def value(report: Report) -> float:
        rates = report.goodputs_bps()
        return 100 * 1e-6 * HEADERS * min(rates) * len(rates) / CAPACITY

    return Observable(name, "lowest goodput of a flow, relative to an equal share", "%", value)
