"""Traffic tables of sample configurations, and the expected result of each row by hand calculation.

A table has a line for each row: name, code point, rate (a number with `k` or `M` for kbit/s or Mbit/s), packet size at
layer 3 in bytes, and further columns as `key=value`. By default a row sends at a constant rate with gaps that vary at
random. Expected throughputs are rates of layer 3 in bit/s, delays are in seconds.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import pytest

import tailback
from tailback.results.report import Report
from tailback.router.policy import Imported, Language, import_configuration

__all__ = ["Case", "Refused", "check", "csv", "imported", "on_atm", "on_ethernet", "on_serial", "ran", "shaped"]

KBIT, MBIT = 1e3, 1e6


@dataclass(frozen=True)
class Case:
    """A traffic table for a configuration, and the expected results of its rows."""

    rows: str
    gets: Mapping[str, float] = field(default_factory=dict)
    """Expected throughput of a row, or of the sum of several rows joined by `+`, bit/s at layer 3."""
    whole: str = ""
    """Names of the rows that lose nothing, separated by spaces."""
    within: Mapping[str, float] = field(default_factory=dict)
    """Upper bound on the maximum delay of a row, s."""
    waits: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    """Lower and upper bound on the mean delay of a row, s."""
    loses_less: tuple[tuple[str, str, float], ...] = ()
    """Triples (row, other row, factor): the loss of the row is less than the factor times the loss of the other row."""
    open: tuple[str, ...] = ()
    """Text contained in each remark on a part that is not simulated; empty: there must be no such remark."""
    duration: str = "20s"
    """Duration of the run. Throughput is measured from the start, when all token buckets are full. The duration is
    about a hundred times the time in which the largest bucket fills, so that its initial content is 1 % of the result.
    """
    settled: str = "1s"
    """Warm-up of the separate run that measures `waits`: the time by which queues are full."""
    exact: float = 0.02
    """Permitted relative deviation from the expected throughput."""
    options: Mapping[str, str] = field(default_factory=dict)
    """Options of the import: rate, overhead, interface and others."""


@dataclass(frozen=True)
class Refused:
    """A configuration that is refused, and text contained in each of its errors, in their order."""

    errors: tuple[str, ...]


def on_ethernet(rate: float, size: int = 1500) -> float:
    """Return the layer 3 rate that fills an Ethernet link: 14 B of header, 4 B of FCS, 20 B of preamble and gap."""
    return rate * size / (size + 38)


def on_serial(rate: float, size: int = 1500) -> float:
    """Return the layer 3 rate that fills a serial link: per packet 4 B of PPP or HDLC, 3 B of FCS and flag."""
    return rate * size / (size + 7)


def on_atm(rate: float, size: int = 1500) -> float:
    """Return the layer 3 rate that fills an ATM link: 8 B of LLC/SNAP, 8 B of AAL5 trailer, 48 B in a cell of 53 B."""
    return rate * size / (math.ceil((size + 16) / 48) * 53)


def shaped(rate: float, size: int = 1500, header: int = 14) -> float:
    """Return the layer 3 rate through a token bucket of `rate` that counts the header: 14 B of Ethernet by default."""
    return rate * size / (size + header)


def csv(rows: str) -> str:
    """Return the table as CSV, as the importer reads it."""
    lines = [line.split() for line in rows.strip().splitlines()]
    keys = list(dict.fromkeys(cell.split("=", 1)[0] for line in lines for cell in line[4:]))
    made = [",".join(["name", "dscp", "rate", "packet", *keys])]
    for line in lines:
        own = dict(cell.split("=", 1) for cell in line[4:])
        rate = line[2].replace("k", "kbit/s").replace("M", "Mbit/s")
        made.append(",".join([line[0], line[1], rate, line[3], *(own.get(key, "") for key in keys)]))
    return "\n".join(made) + "\n"


def imported(language: Language, text: str, case: Case) -> Imported:
    """Import the configuration with the traffic table of the case."""
    return import_configuration(language, text, traffic=csv(case.rows), **case.options)  # type: ignore[arg-type]


def ran(found: Imported, case: Case, warmup: str) -> Report:
    """Run one replication with the duration of the case and the given warm-up, and return its report."""
    scenario = found.check().set(duration=case.duration, warmup=warmup)
    return tailback.run(scenario, replications=1, threads=1).reports[0]


def _throughput(report: Report, names: str) -> float:
    """Return the sum of the throughputs of the groups whose names `+` joins, bit/s."""
    return sum(report.throughput_bps(name) for name in names.split("+"))


def check(language: Language, text: str, case: Case | Refused) -> None:
    """Import the configuration, and check its errors, or the results of a run, against the case."""
    if isinstance(case, Refused):
        found = import_configuration(language, text, rate="10Mbit/s")
        messages = [str(error) for error in found.errors]
        assert found.scenario is None
        assert len(messages) == len(case.errors), messages
        for expected, error in zip(case.errors, messages, strict=True):
            assert expected in error
        return
    found = imported(language, text, case)
    assert not found.errors, [str(error) for error in found.errors]
    messages = [str(notice) for notice in found.not_simulated]
    assert len(messages) == len(case.open), messages
    for expected in case.open:
        assert any(expected in line for line in messages), (expected, messages)
    report = ran(found, case, "0s")
    names = {line.split()[0] for line in case.rows.strip().splitlines()}
    offered = sum(report.offered_bps(name) for name in names)
    for flows, expected in case.gets.items():
        # Some packets of a row with an expected throughput of zero pass at the start, while queues are empty.
        absolute = 0.002 * offered if expected == 0 else 0
        assert _throughput(report, flows) == pytest.approx(expected, rel=case.exact, abs=absolute), flows
    for name in case.whole.split():
        assert report.offered_packets(name) > 10, name
        assert report.loss(name) == 0, name
    for name, longest in case.within.items():
        assert report.max_delay_s(name) <= longest, (name, report.max_delay_s(name))
    later = ran(found, case, case.settled) if case.waits else report
    for name, (lower, upper) in case.waits.items():
        assert lower <= later.mean_delay_s(name) <= upper, (name, later.mean_delay_s(name))
    for first, second, part in case.loses_less:
        assert report.loss(first) < part * report.loss(second), (report.loss(first), report.loss(second))
    # No row of the table may be left without an expectation of its throughput or loss.
    judged = {name for flows in case.gets for name in flows.split("+")} | set(case.whole.split())
    judged |= {name for pair in case.loses_less for name in pair[:2]}
    assert judged == names, names - judged
