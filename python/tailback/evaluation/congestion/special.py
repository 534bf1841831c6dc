"""Section 7 of RFC 9743: special cases."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from tailback.evaluation.case import Case, Entry, missing, not_applicable, run
from tailback.evaluation.choice import Length
from tailback.evaluation.congestion import choices
from tailback.evaluation.congestion.common import RTT, long_flows, usual
from tailback.evaluation.congestion.criteria import acknowledgements, exchange_time, recovery_time, retransmissions
from tailback.evaluation.congestion.network import PATH, dumbbell
from tailback.evaluation.criteria import (
    Cloud,
    delay_p99,
    goodput,
    largest_delay,
    loss,
    marks,
    utilisation,
    waiting,
)
from tailback.evaluation.network import BOTTLENECK, MIDDLE_MS, bulk, empty
from tailback.evaluation.subject import Subject
from tailback.scenario import Scenario, Table, Value, kind, source

__all__ = ["entries"]

_LINK: list[Value] = ["left", "right"]


def entries(subject: Subject) -> Iterable[Entry]:
    """Return the entries of section 7."""
    yield _queues(subject)
    yield missing(
        "rfc9743/7.2",
        "Tailback has no network transport circuit breaker (RFC 8084), and the RFC leaves its interval and threshold "
        "to the operator; row 5.1.1 has the loss in persistent congestion, by which one would be triggered",
    )
    step = choices.DELAY_STEP.value
    yield run(
        "rfc9743/7.3",
        _delays("step", f"the minimum round-trip time rises by {step} ms after the warm-up", _risen),
        _delays(
            "alternating",
            f"the minimum round-trip time changes by {step} ms every {choices.DELAY_PERIOD.value} s",
            _alternating,
        ),
    )
    yield run("rfc9743/7.4", _thing(), note="the volume of acknowledgements and retransmissions stands for the energy")
    rtt = choices.HIGH_DELAY.value
    yield run(
        "rfc9743/7.5",
        long_flows(
            "9743 7.5", f"{choices.SINGLE.value} long flows, {rtt} ms", rtt_ms=float(rtt), duration_s=120, graph=True
        ),
        note="row 4.4.4 of the suite has short transfers over such a path",
    )
    yield run(
        "rfc9743/7.6",
        _unresponsive(),
        note="a sender that does not respond. Missing: receivers that acknowledge what they have not received or hide "
        "marks, routers that change marks, and attackers, since the receivers and routers of Tailback follow their "
        "protocols",
    )
    random = choices.REORDERING.value
    yield run(
        "rfc9743/7.7",
        long_flows(
            "9743 7.7",
            f"each packet is delayed by up to {random} ms at random after the bottleneck",
            goodput("bulk", "goodput"),
            utilisation(),
            retransmissions("bulk"),
            loss("bulk", label="packet loss"),
            receivers={"kind": "netem", "delay": f"{random // 2}ms", "jitter": f"{random // 2}ms"},
        ),
        note="the transport's loss detection (RACK) takes part in the result",
    )
    yield run(
        "rfc9743/7.8",
        _break(),
        note="a sudden onset of congestion is in row 5.3 of the suite, and in row 5.1.1 a longer outage",
    )
    yield run("rfc9743/7.9", _other_path())
    yield not_applicable("rfc9743/7.10", "a connection uses one path; Tailback has no multipath transport")
    yield run(
        "rfc9743/7.11",
        _incast(marking=False),
        _incast(marking=True),
        note="the second scenario has ECN-capable flows, if the transport permits it, and a switch that marks each "
        "packet above a threshold. Row 4.4.1 of the suite has the traffic of many connections",
    )


def _queues(subject: Subject) -> Entry:
    """Return the entry of other disciplines, without ECN and with it."""
    plain = {"codel": "CoDel", "pie": "PIE", "fq-codel": "FQ-CoDel"}
    cases = [
        long_flows(
            f"9743 7.1 {name}",
            f"{title}, without ECN",
            *usual(),
            count=choices.FLOWS.value,
            discipline={"kind": name},
            variants={"ecn": "off"},
            graph=name == "codel",
        )
        for name, title in plain.items()
    ]
    # An L4S sender has ECT(1), by which DualPI2 classifies it; of the congestion controls here, DCTCP is scalable.
    scalable: dict[str, Value] = {"ecn": "classic", "ect": "ect1"} if subject.kind == "dctcp" else {"ecn": "classic"}
    for name, title, table in (
        ("codel ECN", "CoDel, with ECN", {"kind": "codel", "ecn": True}),
        ("fq-codel ECN", "FQ-CoDel, with ECN", {"kind": "fq-codel", "ecn": True}),
        ("dualpi2 ECN", "DualPI2 (L4S), with ECN", {"kind": "dualpi2"}),
    ):
        cases.append(
            long_flows(
                f"9743 7.1 {name}",
                title,
                *usual(),
                marks(),
                count=choices.FLOWS.value,
                discipline=table,
                variants=scalable if name.startswith("dualpi2") else {"ecn": "classic"},
            )
        )
    return run(
        "rfc9743/7.1",
        *cases,
        note=f"{choices.FLOWS.value} long flows. With ECN, the flows are ECN-capable if the transport permits it; the "
        "disciplines have their defaults",
    )


def _delays(name: str, title: str, timeline: Callable[[Scenario, Length], Scenario]) -> Case:
    return long_flows(
        f"9743 7.3 {name}",
        title,
        goodput("bulk", "goodput"),
        utilisation(),
        loss("bulk", label="packet loss"),
        retransmissions("bulk"),
        timeline=timeline,
    )


def _far() -> str:
    return f"{MIDDLE_MS + choices.DELAY_STEP.value / 2:g}ms"


def _risen(made: Scenario, length: Length) -> Scenario:
    return made.at(f"{length.warmup_s}s", link=_LINK, delay=_far())


def _alternating(made: Scenario, length: Length) -> Scenario:
    period = choices.DELAY_PERIOD.value
    for k in range(1, -(-length.duration_s // period)):
        made = made.at(f"{k * period}s", link=_LINK, delay=_far() if k % 2 else f"{MIDDLE_MS:g}ms")
    return made


def _thing() -> Case:
    rtt = float(choices.THING_RTT.value)
    return long_flows(
        "9743 7.4",
        f"{choices.SINGLE.value} long flows, {choices.THING_RATE.value} kbit/s, packets of "
        f"{choices.THING_PACKET.value} B",
        goodput("bulk", "goodput"),
        utilisation(),
        waiting("bulk", rtt, "queueing delay"),
        loss("bulk", label="packet loss"),
        retransmissions("bulk"),
        acknowledgements("bulk"),
        rtt_ms=rtt,
        capacity_mbps=choices.THING_RATE.value / 1000,
        buffer=20,
        changed={"segment": f"{choices.THING_PACKET.value - 40}B"},
        duration_s=120,
    )


def _unresponsive() -> Case:
    rate = choices.UNRESPONSIVE.value

    def onset(made: Scenario, length: Length) -> Scenario:
        del length
        return made.flow("cbr", f"send-{PATH}", f"recv-{PATH}", source("cbr", rate=f"{rate:g}Mbit/s", packet="1500B"))

    return long_flows(
        "9743 7.6",
        f"{choices.SINGLE.value} long flows and an unresponsive one of {rate:g} Mbit/s",
        goodput("bulk", "goodput, long flows"),
        loss("bulk", label="packet loss, long flows"),
        loss("cbr", label="packet loss, unresponsive flow"),
        waiting("bulk", RTT, "queueing delay, long flows"),
        utilisation(),
        timeline=onset,
    )


def _break() -> Case:
    down = choices.BREAK.value

    def build(given: Mapping[str, Value], length: Length) -> Scenario:
        begin = length.warmup_s + 10
        made = bulk(dumbbell(begin + down + 30, length.warmup_s), "bulk", PATH, dict(given), choices.SINGLE.value)
        made = made.at(f"{begin}s", link=_LINK, state="down")
        return made.at(f"{begin + down}s", link=_LINK, state="up")

    return Case(
        "9743 7.8",
        f"the link is down for {down} s, {choices.SINGLE.value} long flows",
        build,
        (
            recovery_time("bulk", 10 + down, choices.CAPACITY.value),
            goodput("bulk", "goodput, with the outage"),
            retransmissions("bulk"),
        ),
    )


def _other_path() -> Case:
    cloud = Cloud("bulk", RTT, "long flows")

    def change(made: Scenario, length: Length) -> Scenario:
        begin, back = length.warmup_s + 5, length.warmup_s + 20
        delay = f"{MIDDLE_MS + choices.OTHER_DELAY.value / 2:g}ms"
        made = made.at(f"{begin}s", link=_LINK, rate=f"{choices.OTHER_RATE.value:g}Mbit/s", delay=delay)
        return made.at(f"{back}s", link=_LINK, rate=f"{choices.CAPACITY.value}Mbit/s", delay=f"{MIDDLE_MS:g}ms")

    return long_flows(
        "9743 7.9",
        f"for 15 s, {choices.OTHER_RATE.value:g} Mbit/s and {choices.OTHER_DELAY.value} ms more",
        goodput("bulk", "goodput"),
        loss("bulk", label="packet loss"),
        largest_delay(cloud),
        utilisation(),
        recovery_time("bulk", 20, choices.CAPACITY.value, 0.8),
        timeline=change,
        measured_s=30,
        graph=True,
    )


def _incast(*, marking: bool) -> Case:
    """Return the case of responses that meet at one port: drop-tail, or with a threshold for marks."""
    count = choices.RESPONDERS.value
    discipline: Table = {"kind": "drop-tail"}
    if marking:
        threshold = f"{choices.INCAST_THRESHOLD.value}packets"
        discipline = {"kind": "red", "count": "packets", "min": threshold, "max": threshold, "weight": 1}
        discipline |= {"gentle": False, "ecn": True, "above-max": "mark"}

    def build(given: Mapping[str, Value], length: Length) -> Scenario:
        del length
        # Responses from `count` hosts meet at the port towards the client.
        made = empty(3, 0.5, 10).switch(
            "left",
            ports={"right": {"buffer": f"{choices.INCAST_BUFFER.value}packets", "discipline": discipline}},
        )
        made = made.host("right").link(["left", "right"], rate="1Gbit/s", delay="20us")
        made = made.host("server", count=count).link(["server*", "left"], rate="1Gbit/s", delay="20us")
        application = kind(
            "request-response",
            request=kind("fixed", size="300B"),
            response=kind("fixed", size="64kB"),
            think=kind("exponential", mean=f"{choices.THINK.value}ms"),
        )
        return made.flow("query", "right", "server*", application=application, transport=dict(given))

    return Case(
        f"9743 7.11{' marks' if marking else ''}",
        f"incast: {count} hosts respond with 64 kB each to one client, 1 Gbit/s, 80 us, "
        + (f"marks above {choices.INCAST_THRESHOLD.value} packets" if marking else "drop-tail"),
        build,
        (
            exchange_time("query", "time of a response"),
            loss("query response", "loss_response", "packet loss, responses"),
            delay_p99("query response", 0.08, "99 % queueing delay, responses"),
            utilisation(BOTTLENECK),
            *((marks(),) if marking else ()),
        ),
        variants={"ecn": "classic"} if marking else None,
    )
