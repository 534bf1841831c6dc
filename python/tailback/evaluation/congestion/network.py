"""Networks and traffic of the evaluation of congestion controls."""

from __future__ import annotations

from collections.abc import Mapping

from tailback.evaluation import network
from tailback.evaluation.choice import JITTER
from tailback.evaluation.congestion import choices
from tailback.evaluation.network import empty, packets_of_delay
from tailback.scenario import Scenario, Table, Value, kind

__all__ = ["PATH", "dumbbell", "parking_lot", "short_flows", "standard", "suite", "vectors"]

PATH = "a"
"""Class of the hosts of most scenarios."""


def dumbbell(
    duration_s: float,
    warmup_s: float,
    *,
    rtt_ms: float | None = None,
    rtts_ms: Mapping[str, float] | None = None,
    capacity_mbps: float | None = None,
    bdps: float | None = None,
    buffer: int | None = None,
    discipline: Mapping[str, Value] | None = None,
    loss: float | None = None,
    jitter: str | None = None,
    receivers: Mapping[str, Value] | None = None,
) -> Scenario:
    """Return the dumbbell with the values of `choices`, unless others are given.

    `bdps` is the buffer in bandwidth-delay products of the scenario's capacity and round-trip time.
    """
    rate = choices.CAPACITY.value if capacity_mbps is None else capacity_mbps
    rtt = choices.RTT.value if rtt_ms is None else rtt_ms
    share = choices.BUFFER.value if bdps is None else bdps
    return network.dumbbell(
        discipline or {"kind": choices.DISCIPLINE.value},
        duration_s,
        warmup_s,
        rtts_ms or {PATH: rtt},
        capacity_mbps=rate,
        buffer=max(round(share * packets_of_delay(rate, rtt)), 2) if buffer is None else buffer,
        loss=loss,
        jitter=jitter,
        receivers=receivers,
    )


def standard(name: str) -> Table:
    """Return the transport with a congestion control of Tailback and its defaults."""
    return {"kind": "tcp", "congestion-control": {"kind": name}}


def short_flows(made: Scenario, name: str, transport: Table) -> Scenario:
    """Add short flows: transfers on new connections, with Poisson arrivals."""
    application = kind(
        "transfers",
        size=kind("exponential", mean=choices.SHORT_SIZE.value),
        rate=f"{choices.SHORT_RATE.value}Mbit/s",
    )
    return made.flow(name, f"send-{PATH}", f"recv-{PATH}", application=application, count=60, transport=transport)


def _size(mean_kb: float) -> Table:
    return kind("pareto", mean=f"{mean_kb:g}kB", shape=1.2, truncate=f"{mean_kb * 250 / 3:g}kB")


def vectors(
    made: Scenario,
    name: str,
    from_: str,
    to: str,
    transport: Table,
    rate_mbps: float,
    *,
    mean_kb: float = 60.0,
    slots: int = 20,
) -> Scenario:
    """Add synthesised connection vectors from a host to another one, with a mean payload rate.

    A tenth of the payload is in connections with packets of 536 B. A fifth of the rest is of sessions with think times,
    rounded to whole sessions.
    """
    small = rate_mbps * choices.SMALL.value / 100
    each = mean_kb * 8e-3 / 2.0
    sessions = round((rate_mbps - small) / 5 / each)
    for group, payload, table in (
        (f"{name}-small", small, {**transport, "segment": "496B"}),
        (f"{name}-large", rate_mbps - small - sessions * each, transport),
    ):
        application = kind("transfers", size=_size(mean_kb), rate=f"{round(payload * 1e6)}bit/s")
        made = made.flow(group, from_, to, application=application, count=slots, transport=table)
    if sessions:
        application = kind(
            "request-response",
            request=kind("fixed", size="300B"),
            response=_size(mean_kb),
            think=kind("pareto", mean="2s", shape=1.5),
        )
        made = made.flow(f"{name}-session", to, from_, application=application, count=sessions, transport=transport)
    return made


def suite(
    duration_s: float,
    warmup_s: float,
    *,
    capacity_mbps: float,
    back_mbps: float | None = None,
    central_ms: float,
    buffer: int,
    back_buffer: int | None = None,
    edge_mbps: float,
    senders_ms: tuple[float, ...] = choices.RIGHT.value,
    receivers_ms: tuple[float, ...] = choices.LEFT.value,
    sample_ms: float = 100.0,
    by_flow: bool = False,
) -> Scenario:
    """Return the dumbbell of the TCP evaluation suite (figure 2), without traffic.

    Nodes 4 to 6 are at the router `left` and nodes 1 to 3 at the router `right`, so that the direction with the higher
    load is from left to right. Packets of nodes 4 to 6 have a random delay of at most `JITTER`.
    """
    back = capacity_mbps if back_mbps is None else back_mbps
    drop: Table = {"kind": choices.DISCIPLINE.value}
    made = (
        empty(duration_s, warmup_s, sample_ms, by_flow=by_flow)
        .switch("left", ports={"right": {"buffer": f"{buffer}packets", "discipline": drop}})
        .switch("right", ports={"left": {"buffer": f"{back_buffer or buffer}packets", "discipline": drop}})
        .link(["left", "right"], rate=[f"{capacity_mbps:g}Mbit/s", f"{back:g}Mbit/s"], delay=_delay(central_ms))
    )
    jitter = min(JITTER.value, 12.0 / capacity_mbps)
    for k, delay in enumerate(senders_ms, 4):
        made = made.host(f"node{k}").link(
            [f"node{k}", "left"], rate=f"{edge_mbps:g}Mbit/s", delay=_delay(delay), jitter=f"{jitter:g}ms"
        )
    for k, delay in enumerate(receivers_ms, 1):
        made = made.host(f"node{k}").link(["right", f"node{k}"], rate=f"{edge_mbps:g}Mbit/s", delay=_delay(delay))
    return made


def _delay(ms: float) -> str:
    return f"{max(ms, 0.001):g}ms"


def parking_lot(duration_s: float, warmup_s: float, capacity_mbps: float) -> Scenario:
    """Return three bottlenecks in a row (figure 10), without traffic; all paths have a round-trip time of 60 ms.

    The hosts of path 1 use all bottlenecks, those of paths 2, 3 and 4 one each.
    """
    buffer = packets_of_delay(capacity_mbps, choices.PARKING_BUFFER.value)
    port: Table = {"buffer": f"{buffer}packets", "discipline": {"kind": choices.DISCIPLINE.value}}
    made = empty(duration_s, warmup_s, by_flow=False)
    for k in (1, 2, 3):
        made = made.switch(f"router{k}", ports={f"router{k + 1}": port})
    made = made.switch("router4")
    for k in (1, 2, 3):
        made = made.link([f"router{k}", f"router{k + 1}"], rate=f"{capacity_mbps:g}Mbit/s", delay="10ms")
    jitter = f"{min(JITTER.value, 12.0 / capacity_mbps):g}ms"
    for node, router, delay in (
        (1, 1, 0),
        (8, 4, 0),
        (2, 1, 10),
        (3, 2, 10),
        (4, 2, 10),
        (5, 3, 10),
        (6, 3, 10),
        (7, 4, 10),
    ):
        made = made.host(f"node{node}").link(
            [f"node{node}", f"router{router}"], rate="1Gbit/s", delay=_delay(delay), jitter=jitter
        )
    return made
