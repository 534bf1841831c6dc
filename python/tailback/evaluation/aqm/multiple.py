"""Section 10: two routers with the discipline, one after the other."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tailback.evaluation.aqm import choices
from tailback.evaluation.aqm.choices import flows_at
from tailback.evaluation.aqm.network import bulk, two_bottlenecks
from tailback.evaluation.case import Case, Entry, not_applicable, run
from tailback.evaluation.choice import Length
from tailback.evaluation.criteria import Cloud, goodput, loss, ratio, utilisation, waiting
from tailback.scenario import Scenario, Value

__all__ = ["entries"]

_RTT = float(choices.RTT.value)


def entries() -> Iterable[Entry]:
    """Return the entries of section 10."""
    yield not_applicable("10.1", "text without a test")
    flows = flows_at(choices.MILD.value) // 2
    case = Case(
        "10.2",
        f"{flows} TCP-friendly flows through both bottlenecks, {flows} through each of them alone",
        _build,
        (
            goodput("through", "goodput, both bottlenecks"),
            goodput("first", "goodput, first bottleneck only", None),
            goodput("second", "goodput, second bottleneck only", None),
            ratio("through", "second", "ratio", "goodput, both bottlenecks / second only"),
            waiting("through", _RTT, "queueing delay, both bottlenecks"),
            loss("through", label="packet loss, both bottlenecks"),
            utilisation("left->middle").of("utilisation_first", "utilisation of the first bottleneck"),
            utilisation("middle->right").of("utilisation_second", "utilisation of the second bottleneck"),
        ),
        (Cloud("through", _RTT, "both bottlenecks"), Cloud("second", _RTT, "second bottleneck only")),
    )
    note = (
        "the flows of row 8.2.2, half from senders A and half from senders B (figure 3). Flows through the first "
        "bottleneck alone are added, so that it is one. Both have the same discipline; mixtures are not run"
    )
    note = (
        "the flows of row 8.2.2, half from senders A and half from senders B (figure 3). Flows through the first "
        "bottleneck alone are added, so that it is one. Both have the same discipline; mixtures are not run"
    )
    yield run("10.2", case, note=note)


def _build(discipline: Mapping[str, Value], length: Length) -> Scenario:
    flows = flows_at(choices.MILD.value) // 2
    made = two_bottlenecks(discipline, length.duration_s, length.warmup_s, _RTT)
    for name in ("through", "first", "second"):
        made = bulk(made, name, name, flows)
    return made
