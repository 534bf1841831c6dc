"""Parts that internet-e15, -e16 and -e17 share: senders, rates lost and delivered, starved and misclassified flows."""

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
"""Rate of the bottleneck, Mbit/s."""
# Size of a packet, headers included.
PACKET_BITS = 8000
TCP = 400
"""Number of TCP flows."""
STARVED = 0.25
"""Share of the median goodput below which a TCP flow counts as starved."""

NO_ECN, Y1999, RFC3168 = "no ECN", "ECN, 1999", "ECN, RFC 3168"
NS2, BACKOFF = "ECN, ns-2", "ECN, RFC 3168 and back-off"
"""Senders. `Y1999` has ECN and no rule for an echo at a window of one segment. `NS2`: the sender of ns-2.35, since the
thesis was simulated with ns. `BACKOFF`: RFC 3168's rule, and a timeout that each further echo doubles."""

_FLOORS = {Y1999: "none", RFC3168: "rfc3168", NS2: "ns-2", BACKOFF: "backoff"}
_OF_NS2: Settings = {
    "flows[tcp].transport.limited-transmit": "always",
    "flows[tcp].transport.congestion-control": {"kind": "reno", "byte-counting": 1, "reduction": "window"},
}
"""Settings of ns-2.35's `Reno` other than its rule for echoes, see docs/validation.md."""


def sender(name: object) -> Settings:
    """Return the settings of a sender by name: ECN, and the rule for an echo at a window of one segment (`ecn-floor`).

    Any other name gives the settings of `Y1999`.
    """
    return {
        "flows[tcp].transport.ecn": "off" if name == NO_ECN else "classic",
        "flows[tcp].transport.ecn-floor": _FLOORS.get(str(name), "none"),
        **(_OF_NS2 if name == NS2 else {}),
    }


def lost_rate(flows: str, name: str, label: str) -> Observable:
    """Return the observable of the rate of the packets that the flows of a pattern lose, headers included, in Mbit/s.

    The slide's table of losses has this unit.
    """
    return Observable(
        name,
        label,
        "Mbit/s",
        lambda report: 1e-6 * PACKET_BITS * report.dropped_packets(flows) / report.measured_s,
        lambda report: (report.dropped_packets(flows), report.offered_packets(flows)),
        precision=(0.1, 0.05),
    )


def delivered_rate(report: Report, flows: str) -> float:
    """Return the rate of the packets delivered to the flows of a pattern, headers included, in Mbit/s."""
    return 1e-6 * PACKET_BITS * sum(f["delivered"]["packets"] for f in report.flows(flows)) / report.measured_s


def carried_rate(flows: str, name: str, label: str) -> Observable:
    """Return the observable of `delivered_rate`."""
    return Observable(name, label, "Mbit/s", lambda report: delivered_rate(report, flows), precision=(0.1, 0.0))


def starved_flows(report: Report) -> set[int]:
    """Return the numbers, from 0, of the TCP flows with less than `STARVED` times their median goodput."""
    rates = report.goodputs_bps("tcp")
    least = STARVED * median(rates)
    return {flow for flow, rate in enumerate(rates) if rate < least}


def covered_flows(report: Report, others: int, draw: int = 0) -> set[int]:
    """Return the numbers of the TCP flows that share each of their bins with an unresponsive flow, in this run.

    Flows are numbered as in the report: the TCP flows first, then the `others` unresponsive ones. `draw` is the number
    of the set of bins, 0 for the first.
    """
    seed = draws(report.seed, BOTTLENECK, draw + 1)[draw]
    unresponsive: Sequence[int] = range(TCP, TCP + others)
    return set(covered(seed, range(TCP), unresponsive))
