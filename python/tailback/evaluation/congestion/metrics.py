"""Section 2 of RFC 5166: metrics, with the rows that have them and the scenarios of those that need their own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from tailback.evaluation.case import Case, Curve, Entry, Fact, run
from tailback.evaluation.choice import Length
from tailback.evaluation.congestion import choices
from tailback.evaluation.congestion.common import RTT, long_flows, table
from tailback.evaluation.congestion.criteria import (
    convergence_time,
    product,
    rate_variation,
    share,
    smallest_share,
    variation_of_delay,
)
from tailback.evaluation.congestion.network import PATH, dumbbell
from tailback.evaluation.criteria import Cloud, fairness, synchronisation
from tailback.evaluation.network import bulk
from tailback.evaluation.subject import Subject
from tailback.results.report import Report
from tailback.scenario import Scenario, Value, source

__all__ = ["entries"]


def entries(subject: Subject, others: Sequence[Subject]) -> Iterable[Entry]:
    """Return the entries of section 2."""
    yield run(
        "rfc5166/2.1.1", note="goodput and utilisation are in all rows with long flows, such as row 6.1 of RFC 9743"
    )
    yield run(
        "rfc5166/2.1.2", note="mean and 99 % of the queueing delay are in the same rows; completion times in row 5.1.5"
    )
    yield run("rfc5166/2.1.3", note="in the same rows. Loss by corruption is separate only in row 6.4, which sets it")
    yield run(
        "rfc5166/2.2.1",
        note="rows 7.8 and 7.9 of RFC 9743, and row 5.3 of the suite. The smoothness in a regular pattern of drops is "
        "not measured",
    )
    flows = choices.FLOWS.value
    cloud = Cloud("bulk", RTT, "long flows")
    yield run(
        "rfc5166/2.2.2",
        long_flows(
            "5166 2.2.2",
            f"{flows} long flows",
            rate_variation("bulk", 1.0),
            rate_variation("bulk", 5.0),
            variation_of_delay(cloud),
            synchronisation("bulk", RTT),
            count=flows,
        ),
    )
    yield run(
        "rfc5166/2.3.1",
        long_flows(
            "5166 2.3.1",
            f"{flows} long flows of equal round-trip times",
            fairness("bulk", "Jain's index of the goodputs"),
            smallest_share("bulk", "1 - epsilon: smallest / largest goodput"),
            product("bulk"),
            count=flows,
        ),
    )
    yield run(
        "rfc5166/2.3.2",
        note="different round-trip times in row 6.2 of the suite, different numbers of links in row 6.3. With max-min "
        "fairness all goodputs would be equal in both",
    )
    yield run(
        "rfc5166/2.3.3",
        _convergence(),
        note="one direction of its definition, from 0 to a fair share. A congestion control without a slow-start "
        "threshold, such as BBR, starts as usual",
    )
    yield run(
        "rfc5166/2.4",
        note="rows 6.4, 7.3, 7.7 and 7.9 of RFC 9743; the goodput ratio is in row 6.4. Energy is not measured",
    )
    yield run(
        "rfc5166/2.5", note="row 7.6 of RFC 9743, which has senders only; failures of the link in rows 5.1.1 and 7.8"
    )
    everyone = (subject, *others)
    facts = (
        Fact(
            "parameters",
            "parameters of the congestion control",
            {one.name: len(one.parameters) for one in everyone},
        ),
        Fact(
            "explicit",
            "ECN in the evaluated transport (1: yes)",
            {one.name: float(one.table.get("ecn", "off") != "off") for one in everyone},
        ),
    )
    yield run(
        "rfc5166/2.6",
        facts=facts,
        note="complexity of code and state, and deployment with middleboxes, are for the authors to discuss",
    )
    yield run(
        "rfc5166/2.7", note="for traffic below best effort, row 5.2.1 of RFC 9743 has the goodput left to other flows"
    )
    yield run("rfc5166/2.8", note="mean opinion score of a call beside long flows, in row 5.2.2 of RFC 9743")


def _convergence() -> Case:
    interval, delta = float(choices.SETTLED.value), choices.DELTA.value

    def build(given: Mapping[str, Value], length: Length) -> Scenario:
        # The first flow is alone during the warm-up. The new one begins at its end, without slow start.
        begin = length.warmup_s
        made = bulk(dumbbell(length.duration_s, begin), "existing", PATH, dict(given))
        return made.flow(
            "new",
            f"send-{PATH}",
            f"recv-{PATH}",
            source("bulk"),
            transport=table(given, initial_window=2, initial_ssthresh=2),
            start=f"{begin}s",
            probe=True,
        )

    def points(report: Report) -> list[tuple[float, float]]:
        return share(report, "new", "existing", report.data["warmup_s"], interval)

    curve = Curve(
        "convergence",
        "convergence: share of a new flow",
        "time since the start of the new flow (s)",
        "share of both goodputs",
        points,
        "Share of a new flow, which starts without slow start beside one in equilibrium: means over replications and "
        "their intervals. A fair share is 0.5.",
        highest=1.0,
    )
    return Case(
        "5166 2.3.3",
        f"a new flow with a window of 2, without slow start, beside one in equilibrium; delta = {delta:g}",
        build,
        (convergence_time("new", "existing", interval, delta),),
        curves=(curve,),
    )
