"""Dumbbell of section 3.1, and the traffic of TCP-friendly senders."""

from __future__ import annotations

from collections.abc import Mapping

from tailback.evaluation import network
from tailback.evaluation.aqm import choices
from tailback.evaluation.network import MIDDLE_MS, empty, hosts, packets_of_delay
from tailback.scenario import Scenario, Table, Value, kind, tcp

__all__ = ["buffer_packets", "bulk", "call", "dumbbell", "friendly", "page_views", "starts", "two_bottlenecks"]


def buffer_packets() -> int:
    """Return the buffer of all rows that name no other, packets."""
    bdp = packets_of_delay(choices.CAPACITY.value, choices.RTT.value)
    return max(round(choices.BUFFER.value * bdp), 1)


def dumbbell(
    discipline: Mapping[str, Value],
    duration_s: float,
    warmup_s: float,
    rtts_ms: Mapping[str, float],
    *,
    capacity_mbps: float | None = None,
    buffer: int | None = None,
    both: bool = False,
) -> Scenario:
    """Return the dumbbell with the capacity and the buffer of `choices`, unless others are given."""
    return network.dumbbell(
        discipline,
        duration_s,
        warmup_s,
        rtts_ms,
        capacity_mbps=choices.CAPACITY.value if capacity_mbps is None else capacity_mbps,
        buffer=buffer_packets() if buffer is None else buffer,
        both=both,
    )


def two_bottlenecks(discipline: Mapping[str, Value], duration_s: float, warmup_s: float, rtt_ms: float) -> Scenario:
    """Return a network of three routers in a row, with the discipline towards the next one at the first two.

    The hosts of the class `through` use both bottlenecks, those of `first` and `second` one of them. All have the
    round-trip time `rtt_ms`.
    """
    port: Table = {"buffer": f"{buffer_packets()}packets", "discipline": dict(discipline)}
    rate, delay = f"{choices.CAPACITY.value}Mbit/s", f"{MIDDLE_MS:g}ms"
    made = (
        empty(duration_s, warmup_s)
        .switch("left", ports={"middle": port})
        .switch("middle", ports={"right": port})
        .switch("right")
        .link(["left", "middle"], rate=rate, delay=delay)
        .link(["middle", "right"], rate=rate, delay=delay)
    )
    made = hosts(made, "through", rtt_ms, "left", "right", 2 * MIDDLE_MS)
    return hosts(hosts(made, "first", rtt_ms, "left", "middle"), "second", rtt_ms, "middle", "right")


def friendly(**parameters: Value) -> Table:
    """Return the transport of a TCP-friendly sender; `parameters` are those of TCP."""
    return tcp(
        **{
            "congestion_control": {"kind": choices.FRIENDLY.value},
            "initial_window": choices.WINDOW.value,
            **parameters,
        }
    )


def bulk(
    made: Scenario,
    name: str,
    path: str,
    count: int = 1,
    *,
    reverse: bool = False,
    start: str | None = None,
    transport: Mapping[str, Value] | None = None,
) -> Scenario:
    """Add `count` long-lived TCP flows that always have data, which start within a second.

    `path` is the class of the hosts, `reverse` sends from the receivers to the senders, and `transport` has parameters
    of TCP.
    """
    return network.bulk(made, name, path, friendly(**(transport or {})), count, reverse=reverse, start=start)


def page_views(made: Scenario, name: str, path: str, count: int = 1) -> Scenario:
    """Add `count` users who load web pages from the senders, one page after the other (section 7.2)."""
    size = kind("uniform", least=choices.OBJECT.value[0], most=choices.OBJECT.value[1])
    application = kind(
        "web",
        main=size,
        object=size,
        objects=kind("fixed", number=choices.PAGE_OBJECTS.value),
        parallel=choices.PARALLEL.value,
        think=kind("exponential", mean=f"{choices.THINK.value}s"),
    )
    return made.flow(name, f"recv-{path}", f"send-{path}", application=application, count=count, transport=friendly())


def starts(made: Scenario, path: str) -> Scenario:
    """Add a client that opens connections one after the other, each for a request and a response of one segment.

    The time of an exchange is the flow start-up time of section 2.2 plus the delay of the response.
    """
    application = kind(
        "request-response",
        connections="fresh",
        request=kind("fixed", size="300B"),
        response=kind("fixed", size="1460B"),
        think=kind("exponential", mean=f"{choices.THINK.value}s"),
    )
    return made.flow("start", f"recv-{path}", f"send-{path}", application=application, transport=friendly())


def call(made: Scenario, name: str, path: str, *, reverse: bool = False) -> Scenario:
    """Add one direction of a call (G.711)."""
    return network.call(made, name, path, choices.VOICE.value, reverse=reverse)
