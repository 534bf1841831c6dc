"""Parts that E15, E16 and E17 share: senders, disciplines, and measures of flows against their hashes."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from tailback.gallery.internet.shared.hashes import covered, draws
from tailback.results.report import Report
from tailback.study.experiment import Observable, Settings

__all__ = [
    "BACKOFF",
    "BOTTLENECK",
    "NO_ECN",
    "NS2",
    "RATE",
    "RFC3168",
    "STARVED",
    "TCP",
    "Y1999",
    "carried_rate",
    "covered_flows",
    "delivered_rate",
    "lost_rate",
    "sender",
    "starved_flows",
]

BOTTLENECK = "r0->r1"
RATE = 45.0
"""Of the bottleneck, Mbit/s."""
PACKET_BITS = 8000
TCP = 400
"""Number of TCP flows."""
STARVED = 0.25
"""A flow below this share of the median goodput is starved."""

NO_ECN, Y1999, RFC3168 = "no ECN", "ECN, 1999", "ECN, RFC 3168"
NS2, BACKOFF = "ECN, ns-2", "ECN, RFC 3168 and back-off"
"""ns-2.35's sender, the thesis having been simulated with ns; and one whose timeout each echo in a row doubles."""

_FLOORS = {Y1999: "none", RFC3168: "rfc3168", NS2: "ns-2", BACKOFF: "backoff"}
_OF_NS2: Settings = {
    "flows[tcp].transport.limited-transmit": "always",
    "flows[tcp].transport.congestion-control": {"kind": "reno", "byte-counting": 1, "reduction": "window"},
}
"""Other settings of ns-2.35's `Reno`, see docs/validation.md."""


def sender(name: object) -> Settings:
    """Return the settings of a kind of sender: ECN, and its rule at a window of one segment (`ecn-floor`)."""
    return {
        "flows[tcp].transport.ecn": "off" if name == NO_ECN else "classic",
        "flows[tcp].transport.ecn-floor": _FLOORS.get(str(name), "none"),
        **(_OF_NS2 if name == NS2 else {}),
    }


def lost_rate(flows: str, name: str, label: str) -> Observable:
    """Packets lost, headers included, in Mbit/s, as in the slide's table."""
    return Observable(
        name,
        label,
        "Mbit/s",
        lambda report: 1e-6 * PACKET_BITS * report.dropped_packets(flows) / report.measured_s,
        lambda report: (report.dropped_packets(flows), report.offered_packets(flows)),
        precision=(0.1, 0.05),
    )


def delivered_rate(report: Report, flows: str) -> float:
    """Packets delivered, headers included, in Mbit/s."""
    return 1e-6 * PACKET_BITS * sum(f["delivered"]["packets"] for f in report.flows(flows)) / report.measured_s


def carried_rate(flows: str, name: str, label: str) -> Observable:
    """Packets delivered, headers included, in Mbit/s."""
    return Observable(name, label, "Mbit/s", lambda report: delivered_rate(report, flows), precision=(0.1, 0.0))


def starved_flows(report: Report) -> set[int]:
    """Return the TCP flows that have less than a quarter of the median goodput."""
    rates = report.goodputs_bps("tcp")
    least = STARVED * median(rates)
    return {flow for flow, rate in enumerate(rates) if rate < least}


def covered_flows(report: Report, others: int, draw: int = 0) -> set[int]:
    """Return the TCP flows that share each of their bins with one of the others, by the run's own hashes.

    Flows are numbered as in the report, the TCP flows first; `draw` is that of the set of bins, 0 for the first.
    """
    seed = draws(report.seed, BOTTLENECK, draw + 1)[draw]
    unresponsive: Sequence[int] = range(TCP, TCP + others)
    return set(covered(seed, range(TCP), unresponsive))
