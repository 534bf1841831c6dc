"""Section 8.2: congestion levels, and varying load and capacity."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tailback.evaluation.aqm import choices
from tailback.evaluation.aqm.choices import flows_at
from tailback.evaluation.aqm.network import bulk, dumbbell, starts
from tailback.evaluation.case import Case, Entry, not_applicable, run
from tailback.evaluation.choice import Choice, Length
from tailback.evaluation.criteria import (
    Cloud,
    Criterion,
    delay_p99,
    fairness,
    goodput,
    largest_delay,
    loss,
    start_up,
    synchronisation,
    utilisation,
    waiting,
)
from tailback.evaluation.network import packets_of_delay
from tailback.scenario import Scenario, Value

__all__ = ["entries", "steady"]

_RTT = float(choices.RTT.value)


def entries() -> Iterable[Entry]:
    """Return the entries of sections 8.1 and 8.2."""
    yield not_applicable("8.1", "text without a test")
    yield not_applicable("8.2.1", "a definition; it gives the numbers of flows of rows 8.2.2 to 8.2.4")
    levels: tuple[tuple[str, str, Choice[float]], ...] = (
        ("8.2.2", "mild", choices.MILD),
        ("8.2.3", "medium", choices.MEDIUM),
        ("8.2.4", "heavy", choices.HEAVY),
    )
    for number, name, level in levels:
        flows = flows_at(level.value)
        yield run(number, steady(number, f"{name} congestion: {flows} TCP-friendly flows", flows=flows))
    yield run("8.2.5", _varying_load())
    yield run(
        "8.2.6",
        _varying_capacity("experiment 1", choices.PHASE.value, 6),
        _varying_capacity("experiment 2", choices.FAST_PHASE.value, 600),
        note=f"{flows_at(choices.MILD.value)} TCP-friendly flows; the buffer is one BDP of the higher capacity",
    )


def steady(
    key: str, title: str, *, flows: int, rtt_ms: float = _RTT, buffer: int | None = None, graph: bool = True
) -> Case:
    """Return the case of bulk flows and a client that opens connections.

    `buffer` is in packets; default: that of all rows. With `graph`, there is a delay-goodput graph.
    """

    def build(discipline: Mapping[str, Value], length: Length) -> Scenario:
        made = dumbbell(discipline, length.duration_s, length.warmup_s, {"a": rtt_ms}, buffer=buffer)
        return starts(bulk(made, "bulk", "a", flows), "a")

    criteria: tuple[Criterion, ...] = (
        goodput("bulk", "goodput"),
        waiting("bulk", rtt_ms, "queueing delay"),
        delay_p99("bulk", rtt_ms, "99 % queueing delay"),
        loss("bulk", label="packet loss"),
        fairness("bulk", "Jain's index of the goodputs"),
        synchronisation("bulk", rtt_ms),
        start_up(),
        utilisation(),
    )
    return Case(key, title, build, criteria, (Cloud("bulk", rtt_ms, "bulk TCP"),) if graph else ())


def _varying_load() -> Case:
    phase = choices.PHASE.value
    levels = [flows_at(choice.value) for choice in (choices.MILD, choices.MEDIUM, choices.HEAVY)]
    cycle = 3 * phase

    def build(discipline: Mapping[str, Value], length: Length) -> Scenario:
        # Whole cycles are measured, after one cycle of warm-up.
        cycles = max(length.duration_s // cycle, 2)
        made = dumbbell(discipline, cycles * cycle, cycle, {"a": _RTT})
        made = bulk(made, "bulk", "a", levels[0])
        more = (("bulk-medium", levels[1] - levels[0], 1), ("bulk-heavy", levels[2] - levels[1], 2))
        for name, count, first in more:
            made = bulk(made, name, "a", count, start=f"{first * phase}s")
        for turn in range(1, cycles):
            for name, _, first in more:
                made = made.at(f"{turn * cycle}s", flow=name, state="stop")
                made = made.at(f"{turn * cycle + first * phase}s", flow=name, state="start")
        return made

    every = "bulk*"
    cloud = Cloud("bulk", _RTT, f"the {levels[0]} flows of all phases")
    return Case(
        "8.2.5",
        f"{levels[0]}, {levels[1]} and {levels[2]} flows in turn, {phase} s each",
        build,
        (
            goodput(every, "goodput"),
            waiting("bulk", _RTT, "queueing delay"),
            delay_p99("bulk", _RTT, "99 % queueing delay"),
            largest_delay(cloud),
            loss(every, "loss", "packet loss"),
            utilisation(),
        ),
        (cloud,),
    )


def _varying_capacity(name: str, phase_s: float, phases: int) -> Case:
    flows = flows_at(choices.MILD.value)
    buffer = packets_of_delay(choices.FAST_CAPACITY.value, choices.RTT.value)
    cloud = Cloud("bulk", _RTT, "bulk TCP")

    def build(discipline: Mapping[str, Value], length: Length) -> Scenario:
        del length
        duration = phase_s * phases
        high, low = choices.FAST_CAPACITY.value, choices.CAPACITY.value
        made = dumbbell(discipline, duration, duration / 3, {"a": _RTT}, capacity_mbps=high, buffer=buffer)
        made = bulk(made, "bulk", "a", flows)
        document = made.document
        document["timeline"] = [
            {"at": f"{k * phase_s:g}s", "link": ["left", "right"], "rate": f"{low if k % 2 else high}Mbit/s"}
            for k in range(1, phases)
        ]
        return Scenario.from_document(document)

    return Case(
        f"8.2.6 {name}",
        f"{name}: {choices.FAST_CAPACITY.value} and {choices.CAPACITY.value} Mbit/s in turn, {phase_s:g} s each",
        build,
        (
            goodput("bulk", "goodput"),
            waiting("bulk", _RTT, "queueing delay"),
            delay_p99("bulk", _RTT, "99 % queueing delay"),
            largest_delay(cloud),
            loss("bulk", label="packet loss"),
        ),
        (cloud,),
    )
