"""C.2 with other switches: frames wait at outputs or at inputs, in one queue, by output, or by destination."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from tailback.gallery import (
    Axis,
    AxisValue,
    Experiment,
    Metric,
    Point,
    Profile,
    ProfileName,
    Settings,
    grid,
)
from tailback.gallery import metrics as m
from tailback.report import Report
from tailback.scenario import Table

if TYPE_CHECKING:
    pass

OWN, ALL = "one each", "all three"
OUTPUT, FIFO1, VOQ1 = "output queues", "input FIFOs in sw1", "VOQ in sw1"
FIFO, MEMORY, LIMITS = "input FIFOs", "VOQ, one memory", "VOQ, limits"
NONE, PLAIN, DESTINATION = "none", "plain", "destination"
ROOM_KB, EDGE_KB, DESTINATIONS = 500, 50, 3
"""All memory of sw1, of each output of sw2, and how many of these there are."""
INPUT_KB = ROOM_KB // 3
"""Of each of the three inputs of sw1, where frames wait there: the same memory in all."""
SHARED_KB = EDGE_KB * DESTINATIONS
"""Of the one input of sw2 that is fed."""

Model = Mapping[str, Table]


def _fifo(kb: int) -> Table:
    return {"kind": "input-fifo", "buffer": f"{kb}kB"}


def _voq(kb: int, queue_kb: int | None = None) -> Table:
    limit: Table = {} if queue_kb is None else {"output-buffer": f"{queue_kb}kB"}
    return {"kind": "virtual-output-queues", "buffer": f"{kb}kB", **limit}


MODELS: dict[AxisValue, Model] = {
    OUTPUT: {},
    FIFO1: {"sw1": _fifo(INPUT_KB)},
    VOQ1: {"sw1": _voq(INPUT_KB)},
    FIFO: {"sw1": _fifo(INPUT_KB), "sw2": _fifo(SHARED_KB)},
    MEMORY: {"sw1": _voq(INPUT_KB), "sw2": _voq(SHARED_KB)},
    LIMITS: {"sw1": _voq(INPUT_KB, INPUT_KB), "sw2": _voq(SHARED_KB, EDGE_KB)},
}
CONTROLS: dict[AxisValue, tuple[str, ...]] = {
    OUTPUT: (NONE, PLAIN, DESTINATION),
    FIFO1: (PLAIN, DESTINATION),
    VOQ1: (PLAIN, DESTINATION),
    FIFO: (NONE, PLAIN),
    MEMORY: (NONE, PLAIN, DESTINATION),
    LIMITS: (NONE, PLAIN, DESTINATION),
}
TRACED = ((OUTPUT, PLAIN), (VOQ1, PLAIN), (LIMITS, PLAIN), (OUTPUT, DESTINATION))
TRACE_S = 1.0
TRACE_RATE, TRACE_BURST = 6, 48


def _lost_at_sw2(report: Report) -> int:
    """Frames lost at the queues of sw2, or refused at its input."""
    refused = "input buffer full"
    return sum(
        drop["packets"]
        for drop in report.drops()
        if drop["where"].startswith("sw2->") or (drop["where"], drop["reason"]) == ("sw1->sw2", refused)
    )


def _stops(report: Report) -> tuple[list[float], list[float], list[float]] | None:
    """From the end of the warm-up: times in s, and for how many ms of each sample sw1 was stopped, and held data."""
    series = report.data["series"]
    if series is None:
        return None
    start = report.data["warmup_s"]
    port = series["ports"]["sw1->sw2"]
    first = next(n for n, at in enumerate(series["time_s"]) if at >= start)
    last = next((n for n, at in enumerate(series["time_s"]) if at >= start + TRACE_S), len(series["time_s"]))
    totals = ([value - values[first] for value in values[first:last]] for values in (port["stopped_s"], port["held_s"]))
    stopped, held = totals
    return [at - start for at in series["time_s"][first:last]], stopped, held


class QueueStructures(Experiment):
    """Three sources and destinations of C.2 over switches of six structures, with equal memory."""

    id = "lan-queues"
    title = "Queue structures and back-pressure"
    reference = "Tobagi, Fraleigh and Noureddine, experiment C.2 and slide Simulation Model"
    axes = (
        Axis("to", "destinations of a source"),
        Axis("queues", "queues of the switches"),
        Axis("mechanism", "mechanism"),
        Axis("rate", "data rate per source", "Mbit/s"),
        Axis("burst", "mean burst size", "kB"),
    )
    quick = Profile(duration="40s", warmup="20s", replications=4, max_replications=16, cpu_s=30)
    full = Profile(duration="220s", warmup="20s", replications=8, max_replications=40, cpu_s=500)
    metrics = (
        m.loss(),
        m.throughput(label="throughput of all sources"),
        m.mean_delay(),
        Metric(
            "lost_sw2",
            "packets lost at sw2",
            "packet",
            lambda report: float(_lost_at_sw2(report)),
            lambda report: (_lost_at_sw2(report), report.offered_packets()),
        ),
        m.stopped("sw1->sw2", label="time a stop is in force at sw1"),
        m.held("sw1->sw2", label="time data waits at sw1 for an idle backbone"),
    )
    traces = {"stops": _stops}  # noqa: RUF012

    def points(self, profile: ProfileName) -> Iterable[Point]:
        """Every structure with the mechanisms that it can follow."""
        rates = (2, 4, 6, 8, 9) if profile == "full" else (6, 9)
        found: list[Point] = []
        for queues, controls in CONTROLS.items():
            found += grid(to=[OWN], queues=[queues], mechanism=controls, rate=rates, burst=(24, 48))
            found += grid(to=[ALL], queues=[queues], mechanism=controls, rate=rates, burst=[48])
        return found

    def settings(self, point: Point, profile: ProfileName) -> Settings:
        """The models of both switches; the hosts' traffic; time series where a figure shows them."""
        del profile
        to, queues, mechanism = point["to"], point["queues"], point["mechanism"]
        found: Settings = {"backpressure.scope": mechanism}
        for switch, model in MODELS[queues].items():
            found[f"switches.{switch}.model"] = model
        if queues == FIFO1 and mechanism == DESTINATION:
            # It obeys, but could not itself say whom to stop; nobody listens to it anyway.
            found["switches.sw1.backpressure"] = {"scope": "none"}
        rate = float(point["rate"])
        each = rate / DESTINATIONS if to == ALL else rate
        found["flows[data].pair"] = "all" if to == ALL else "zip"
        found["flows[data].source.rate"] = f"{each * 1e6:.0f}bit/s"
        found["flows[data].source.burst"] = f"{point['burst']}kB"
        if to == OWN and (queues, mechanism) in TRACED and (rate, point["burst"]) == (TRACE_RATE, TRACE_BURST):
            found["run.sample"] = "1ms"
        return found
