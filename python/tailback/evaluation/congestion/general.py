"""Section 6 of RFC 9743: general use."""

from __future__ import annotations

from collections.abc import Iterable

from tailback.evaluation.case import Entry, missing, run
from tailback.evaluation.choice import Length
from tailback.evaluation.congestion import choices
from tailback.evaluation.congestion.common import long_flows, usual
from tailback.evaluation.congestion.criteria import goodput_ratio
from tailback.evaluation.criteria import goodput, jitter, loss, utilisation
from tailback.scenario import Scenario

__all__ = ["entries"]


def entries() -> Iterable[Entry]:
    """Return the entries of section 6."""
    count = choices.SINGLE.value
    cases = [long_flows("9743 6.1", f"10 Mbit/s, 100 ms, buffer of 1 BDP: {count} long flows", graph=True)]
    cases += [
        long_flows(f"9743 6.1 {rate} Mbit/s", f"{rate} Mbit/s", capacity_mbps=float(rate))
        for rate in choices.RATES.value
    ]
    cases += [long_flows(f"9743 6.1 {rtt} ms", f"{rtt} ms", rtt_ms=float(rtt)) for rtt in choices.DELAYS.value]
    cases += [long_flows(f"9743 6.1 {bdp:g} BDP", f"buffer of {bdp:g} BDP", bdps=bdp) for bdp in choices.DEPTHS.value]
    yield run("rfc9743/6.1", *cases)
    yield missing(
        "rfc9743/6.2",
        "Tailback has no tunnel with an outer IP header, so that marks cannot be copied or lost at its end (RFC 6040); "
        "its MPLS labels have no marks. Row 6.1 has none, as behind a tunnel that hides them",
    )
    yield run("rfc9743/6.3", note="row 6.1 and rows 4.4.2 and 4.4.3 of the suite: only queues lose packets")
    lossy = [
        long_flows(
            f"9743 6.4 loss {percent:g} %",
            f"random loss of {percent:g} %",
            *usual(),
            goodput_ratio("bulk"),
            loss=percent / 100,
        )
        for percent in choices.CORRUPTION.value
    ]
    rates = ", ".join(map(str, choices.FADING.value))
    fading = long_flows("9743 6.4 capacity", f"capacity of {rates} Mbit/s in turn", timeline=_fading, graph=True)
    waits = long_flows(
        "9743 6.4 jitter",
        f"media access delay of up to {choices.ACCESS_JITTER.value} ms",
        goodput("bulk", "goodput"),
        utilisation(),
        loss("bulk", label="packet loss"),
        jitter("bulk", "jitter"),
        jitter=f"{choices.ACCESS_JITTER.value}ms",
    )
    yield run("rfc9743/6.4", *lossy, fading, waits)


def _fading(made: Scenario, length: Length) -> Scenario:
    rates = choices.FADING.value
    document = made.document
    document["timeline"] = [
        {"at": f"{2 * k}s", "link": ["left", "right"], "rate": f"{rates[k % len(rates)]}Mbit/s"}
        for k in range(1, length.duration_s // 2)
    ]
    return Scenario.from_document(document)
