"""Sections 11 and 12: what can be measured of the cost, and the parameters that an operator may set."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tailback.evaluation.aqm import choices
from tailback.evaluation.aqm.choices import flows_at
from tailback.evaluation.aqm.stability import steady
from tailback.evaluation.case import Case, Entry, Fact, not_applicable, run
from tailback.evaluation.criteria import state_size
from tailback.evaluation.subject import Subject
from tailback.run import simulate
from tailback.scenario import Scenario, toml_value

__all__ = ["entries"]

_QUEUE_BYTES = 24
"""Size of a queue without the variables of its law, by the definition in docs/architecture.md."""


def entries(subject: Subject, others: Sequence[Subject]) -> Iterable[Entry]:
    """Return the entries of sections 11 and 12."""
    yield not_applicable("11.1", "text without a test")
    flows = flows_at(choices.HEAVY.value)
    base = steady("", "", flows=flows)
    absent = {one.name: "not declared" for one in (subject, *others) if not _declares_state(one)}
    title = f"heavy congestion: {flows} TCP-friendly flows"
    case = Case("11.2", title, base.build, (state_size(),), absent=absent)
    yield run(
        "11.2",
        case,
        note="measured: the largest state without packets, by the definition in docs/architecture.md. Operations per "
        "packet, timers and the cost in hardware are for the authors to discuss. The size of a law of your own is that "
        "of a queue and `state_bytes` of its class; without this declaration its size is not known",
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
    own = subject.component
    title = subject.kind if own is None else own.title
    note = f"parameters of {title}: {names or 'none'}. Row 8.3 has the effect of each numeric one"
    if any(one.component is not None and one.component.is_compiled for one in everyone):
        note += ". Of a compiled law, only the parameters in its table `parameters` are known here"
    yield run("12.2", note=note, facts=facts)


def _declares_state(one: Subject) -> bool:
    """Return `False` for a user's law without a declared size of its variables."""
    own = one.component
    if own is None:
        return True
    if not own.is_compiled:
        return own.declares_state
    # A compiled law always states a size; 0 is that of a law that counts nothing.
    made = Scenario.from_document(one.role.document(one.table), one.folder).set({"run.sample": "500ms"})
    series = simulate.run(made, 1, 1, threads=1).reports[0].data["series"]
    assert series is not None
    return max(series["ports"]["left->b"]["state"]["state_bytes"]) > _QUEUE_BYTES
