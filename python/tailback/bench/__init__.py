"""Benchmark workloads, which are ordinary scenarios, and measurements of the core's speed."""

from __future__ import annotations

import time
from dataclasses import dataclass
from importlib import resources

from tailback import _native
from tailback.errors import UsageError

__all__ = ["WORKLOADS", "Measurement", "measure", "scenario"]

WORKLOADS = {
    "forward": "16 CBR flows over five 10 Gbit/s hops",
    "udpqueue": "Poisson packets at load 0.9 into one 10 Mbit/s link",
    "red64": "64 NewReno flows over 10 Mbit/s with RED",
    "tcp1000": "1000 NewReno flows over 100 Mbit/s, drop-tail",
    "tcp4000": "4000 NewReno flows over 400 Mbit/s, drop-tail",
    "tcp100000": "100,000 NewReno flows over 10 Gbit/s, drop-tail",
    "edge50": "50 flows at a customer edge: low-latency queue, WRED in two classes, transmit ring",
    "dc10g": "31 DCTCP flows in a 10 Gbit/s rack of 16 hosts",
    "net64": "256 UDP and 64 TCP flows in a mesh of 64 switches, 1 Gbit/s",
    "leafspine128": "128 hosts at 100 Gbit/s, flows of web search at load 0.6, DCQCN and priority-based flow control",
    "fattree1024": "1024 hosts at 100 Gbit/s, flows of web search at load 0.5, HPCC and priority-based flow control",
    "lan-a1": "three bursty sources merging under back-pressure",
}
"""Descriptions of the workloads by name; the scenario of each is in a TOML file of this package."""


@dataclass(frozen=True, slots=True)
class Measurement:
    """One run of a workload."""

    workload: str
    packet_hops: int
    """Number of data packets transmitted over links, counted at each link."""
    events: int
    """Number of events that the engine handled."""
    cpu_s: float
    """Processor time of the run on all its threads, s, without start-up and reading of the scenario."""
    wall_s: float
    """Elapsed time of the run, s."""
    rss_mb: float | None
    """Peak resident memory of the process, MB of 10^6 bytes; `None`: the system does not report it."""

    @property
    def hops_per_cpu_s(self) -> float:
        """Packet-hops per second of processor time."""
        return self.packet_hops / self.cpu_s

    def as_json(self) -> dict[str, object]:
        """Return the JSON form."""
        return {
            "workload": self.workload,
            "packet_hops": self.packet_hops,
            "events": self.events,
            "cpu_s": round(self.cpu_s, 6),
            "wall_s": round(self.wall_s, 6),
            "rss_mb": None if self.rss_mb is None else round(self.rss_mb, 2),
        }


def scenario(workload: str) -> _native.Scenario:
    """Return the scenario of a workload; raises UsageError if there is no such workload."""
    if workload not in WORKLOADS:
        raise UsageError(f"there is no workload {workload!r}; the workloads are {', '.join(WORKLOADS)}")
    name = f"{workload}.toml"
    return _native.Scenario.from_toml(resources.files(__name__).joinpath(name).read_text(encoding="utf-8"), name)


def measure(workload: str, parallel: int = 1) -> Measurement:
    """Run a workload once, with seed 1, on at most `parallel` threads including the caller's.

    Raises UsageError if there is no such workload.
    """
    prepared = scenario(workload)
    start, wall = time.process_time(), time.perf_counter()
    packet_hops, events = prepared.count(1, parallel=parallel)
    cpu_s, wall_s = time.process_time() - start, time.perf_counter() - wall
    return Measurement(workload, packet_hops, events, cpu_s, wall_s, _rss_mb())


def _rss_mb() -> float | None:
    """Return the peak resident memory of this process, MB of 10^6 bytes; `None`: the system does not report it."""
    try:
        import resource
    except ImportError:  # not on Windows
        return None
    import sys

    # `ru_maxrss` is in bytes on macOS, and in KiB elsewhere.
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6
