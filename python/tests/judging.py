"""Traffic tables of sample configurations, and the outcome of each row by hand calculation.

A table has a line for each row: name, code point, rate, bytes at layer 3, further columns as `key=value`. Rows send
at a constant rate with wandering gaps by default. Expectations are rates of layer 3 in bit/s, delays
in seconds.
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
    """A traffic table behind a configuration, and its outcome."""

    rows: str
    gets: Mapping[str, float] = field(default_factory=dict)
    """Throughput of a row, or of several joined by `+`."""
    whole: str = ""
    """Rows that lose nothing."""
    within: Mapping[str, float] = field(default_factory=dict)
    """No packet of the row takes longer."""
    waits: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    """The mean delay of a row lies between the two."""
    loses_less: tuple[tuple[str, str, float], ...] = ()
    """The first row's loss is less than that part of the second one's."""
    open: tuple[str, ...] = ()
    """Words of the remarks on parts that are not simulated, one each; all other configurations have none."""
    duration: str = "20s"
    """Throughput counts from the start, when all buckets are full: in a hundred times the largest they are 1 %."""
    settled: str = "1s"
    """Time at which queues are full, s: delays count from then on, in a separate run."""
    exact: float = 0.02
    """Permitted relative deviation from the expected throughput."""
    options: Mapping[str, str] = field(default_factory=dict)
    """Of the import: rate, overhead, interface."""


@dataclass(frozen=True)
class Refused:
    """A configuration from which no scenario is made, and words of its errors, one each."""

    errors: tuple[str, ...]


def on_ethernet(rate: float, size: int = 1500) -> float:
    """Layer 3 of packets that fill an Ethernet line: 14 B of header, 4 of check sequence, 20 of preamble and gap."""
    return rate * size / (size + 38)


def on_serial(rate: float, size: int = 1500) -> float:
    """Layer 3 of packets that fill a serial line: 4 B of PPP or HDLC, 3 of check sequence and flag."""
    return rate * size / (size + 7)


def on_atm(rate: float, size: int = 1500) -> float:
    """Layer 3 of packets that fill a line of ATM: 8 B of LLC/SNAP and 8 of AAL5's trailer, cells of 48 of 53 B."""
    return rate * size / (math.ceil((size + 16) / 48) * 53)


def shaped(rate: float, size: int = 1500, header: int = 14) -> float:
    """Layer 3 of packets that fill a token bucket, which counts the header: 14 B of Ethernet by default."""
    return rate * size / (size + header)


def csv(rows: str) -> str:
    """Return the table in the importer's form."""
    lines = [line.split() for line in rows.strip().splitlines()]
    keys = list(dict.fromkeys(cell.split("=", 1)[0] for line in lines for cell in line[4:]))
    made = [",".join(["name", "dscp", "rate", "packet", *keys])]
    for line in lines:
        own = dict(cell.split("=", 1) for cell in line[4:])
        rate = line[2].replace("k", "kbit/s").replace("M", "Mbit/s")
        made.append(",".join([line[0], line[1], rate, line[3], *(own.get(key, "") for key in keys)]))
    return "\n".join(made) + "\n"


def imported(language: Language, text: str, case: Case) -> Imported:
    """The configuration with the table of the case."""
    return import_configuration(language, text, traffic=csv(case.rows), **case.options)  # type: ignore[arg-type]


def ran(found: Imported, case: Case, warmup: str) -> Report:
    """One run that measures after the warm-up."""
    scenario = found.check().set(duration=case.duration, warmup=warmup)
    return tailback.run(scenario, replications=1, threads=1).reports[0]


def _throughput(report: Report, names: str) -> float:
    return sum(report.throughput_bps(name) for name in names.split("+"))


def check(language: Language, text: str, case: Case | Refused) -> None:
    """Run the case, or import one that is refused, and compare with the expected outcome."""
    if isinstance(case, Refused):
        found = import_configuration(language, text, rate="10Mbit/s")
        said = [str(error) for error in found.errors]
        assert found.scenario is None
        assert len(said) == len(case.errors), said
        for expected, error in zip(case.errors, said, strict=True):
            assert expected in error
        return
    found = imported(language, text, case)
    assert not found.errors, [str(error) for error in found.errors]
    said = [str(notice) for notice in found.not_simulated]
    assert len(said) == len(case.open), said
    for expected in case.open:
        assert any(expected in line for line in said), (expected, said)
    report = ran(found, case, "0s")
    names = {line.split()[0] for line in case.rows.strip().splitlines()}
    offered = sum(report.offered_bps(name) for name in names)
    for flows, expected in case.gets.items():
        # A row without throughput had an idle line at the start.
        absolute = 0.002 * offered if expected == 0 else 0
        assert _throughput(report, flows) == pytest.approx(expected, rel=case.exact, abs=absolute), flows
    for name in case.whole.split():
        assert report.offered_packets(name) > 10, name
        assert report.loss(name) == 0, name
    for name, longest in case.within.items():
        assert report.max_delay_s(name) <= longest, (name, report.max_delay_s(name))
    later = ran(found, case, case.settled) if case.waits else report
    for name, (least, most) in case.waits.items():
        assert least <= later.mean_delay_s(name) <= most, (name, later.mean_delay_s(name))
    for first, second, part in case.loses_less:
        assert report.loss(first) < part * report.loss(second), (report.loss(first), report.loss(second))
    # Each row is in one class, and states whether it loses, or is not judged.
    judged = {name for flows in case.gets for name in flows.split("+")} | set(case.whole.split())
    judged |= {name for pair in case.loses_less for name in pair[:2]}
    assert judged == names, names - judged
