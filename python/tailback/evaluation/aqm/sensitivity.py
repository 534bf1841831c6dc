"""Section 8.3: sensitivity to buffer, round-trip time and load, and to each numeric parameter of the discipline."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from tailback.evaluation.aqm import choices
from tailback.evaluation.aqm.choices import flows_at
from tailback.evaluation.aqm.stability import steady
from tailback.evaluation.case import Case, Entry, run
from tailback.evaluation.criteria import delay_p99, goodput, loss, waiting
from tailback.evaluation.network import packets_of_delay
from tailback.evaluation.subject import Subject
from tailback.scenario import Value

__all__ = ["entries", "scaled"]

_RTT = float(choices.RTT.value)
_DEFAULT = "8.3 parameters"


def entries(subject: Subject) -> Iterable[Entry]:
    """Return the entry of section 8.3."""
    flows = flows_at(choices.MEDIUM.value)
    bdp = packets_of_delay(choices.CAPACITY.value, choices.RTT.value)
    cases: list[Case] = []
    for share in choices.BUFFERS.value:
        buffer = max(round(share * bdp), 1)
        title = f"medium congestion, buffer {share:g} BDP ({buffer} packets)"
        cases.append(steady(f"8.3 buffer {share:g} BDP", title, flows=flows, buffer=buffer, graph=False))
    for rtt in choices.SENSITIVE_RTTS.value:
        title = f"{flows} TCP-friendly flows, round-trip time {rtt} ms"
        cases.append(steady(f"8.3 RTT {rtt} ms", title, flows=flows, rtt_ms=float(rtt), graph=False))
    cases += [
        steady(f"8.3 {count} flows", f"{count} TCP-friendly flows", flows=count, graph=False)
        for count in choices.LOADS.value
    ]
    parameters = list(_parameters(subject))
    note = (
        "sensitivity is measured; the stability analysis of the control law, which the RFC requires of the authors of "
        "an AQM, is in its paper"
    )
    if len(parameters) < 2:
        note += f"; {subject.name} has no numeric parameter with a value"
    if subject.component is not None and subject.component.is_compiled:
        note += "; of a compiled law, the parameters that its table `parameters` has are varied"
    yield run("8.3", *cases, *parameters, note=note)


def _parameters(subject: Subject) -> Iterator[Case]:
    flows = flows_at(choices.MEDIUM.value)
    base = steady("", "", flows=flows)
    criteria = (
        goodput("bulk", "goodput"),
        waiting("bulk", _RTT, "queueing delay"),
        delay_p99("bulk", _RTT, "99 % queueing delay"),
        loss("bulk", label="packet loss"),
    )
    yield Case(_DEFAULT, "medium congestion, parameters as they are", base.build, criteria, alone=True)
    for name, value in subject.parameters.items():
        for factor in choices.FACTORS.value:
            changed = scaled(value, factor)
            if changed is None or not subject.accepts(subject.change(name, changed)):
                continue
            yield Case(
                f"8.3 {name} x{factor:g}",
                f"{name}: {changed} instead of {value}",
                base.build,
                criteria,
                variants=subject.change(name, changed),
                alone=True,
                baseline=_DEFAULT,
            )


def scaled(value: Value | None, factor: float) -> Value | None:
    """Return a number, or a quantity such as "5ms", times a factor; `None`: the value is neither, or is 0.

    Whole numbers stay whole, and at least 1.
    """
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, int):
        return max(round(value * factor), 1) if value else None
    if isinstance(value, float):
        return value * factor if value else None
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([A-Za-zµ/]+)\s*", value) if isinstance(value, str) else None
    if found is None or float(found[1]) == 0:
        return None
    return f"{float(found[1]) * factor:g}{found[2]}"
