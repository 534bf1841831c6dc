"""Sections 11 and 12: what can be measured of the cost, and the parameters that an operator may set."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tailback.evaluation.aqm import choices
from tailback.evaluation.aqm.choices import flows_at
from tailback.evaluation.aqm.stability import steady
from tailback.evaluation.case import Case, Entry, Fact, not_applicable, run
from tailback.evaluation.criteria import state_size
from tailback.evaluation.subject import Subject
from tailback.scenario import toml_value

__all__ = ["entries"]


def entries(subject: Subject, others: Sequence[Subject]) -> Iterable[Entry]:
    """Return the entries of sections 11 and 12."""
    yield not_applicable("11.1", "text without a test")
    flows = flows_at(choices.HEAVY.value)
    base = steady("", "", flows=flows)
    case = Case("11.2", f"heavy congestion: {flows} TCP-friendly flows", base.build, (state_size(),))
    yield run(
        "11.2",
        case,
        note="measured: the largest state without packets, by the definition in docs/architecture.md. Operations per "
        "packet, timers and the cost in hardware are for the authors to discuss. The size of a law of your own is that "
        "of a queue and `state_bytes` of its class, 0 unless the class declares it",
    )
    yield not_applicable("12.1", "text without a test")
    everyone = (subject, *others)
    facts = (
        Fact("parameters", "parameters of the discipline", {one.name: len(one.parameters) for one in everyone}),
        Fact("set", "parameters set for this evaluation", {one.name: one.parameters_given for one in everyone}),
    )
    names = ", ".join(
        f"{name} = {'(no default)' if value is None else toml_value(value)}"
        for name, value in subject.parameters.items()
    )
    note = f"parameters of {subject.kind}: {names or 'none'}. Row 8.3 has the effect of each numeric one"
    if any(one.kind == "user" for one in everyone):
        note += ". Of a law of your own, only the parameters in its table `parameters` are known here"
    yield run("12.2", note=note, facts=facts)
