"""Dumbbell of section 3.1: hosts of each class of flows, two routers, and the bottleneck with the discipline."""

from __future__ import annotations

from collections.abc import Mapping

from tailback.evaluation import choices
from tailback.scenario import Scenario, Table, Value, kind, source, tcp

__all__ = ["BOTTLENECK", "REVERSE", "bulk", "call", "dumbbell", "friendly", "page_views", "starts", "two_bottlenecks"]

BOTTLENECK = "left->right"
"""Port with the discipline."""
REVERSE = "right->left"
"""Port of the reverse direction; its queue is unlimited unless a section has traffic in both directions."""

_BOTTLENECK_MS, _RECEIVER_MS = 1.0, 0.5
"""One-way propagation delays of the bottleneck and of the receivers' access links, ms; the senders' have the rest."""


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
    """Return the network without flows.

    For each class of flows in `rtts_ms`, there are hosts `send-CLASS` and `recv-CLASS` with this round-trip time.

    Args:
        discipline: Discipline at the bottleneck, in the direction from L to R.
        duration_s: Length of the run, s, warm-up included.
        warmup_s: Length of the warm-up, s.
        rtts_ms: Round-trip times without queueing by class, ms, at least 3.
        capacity_mbps: Capacity of the bottleneck, Mbit/s. Default: `choices.CAPACITY`.
        buffer: Buffer at the bottleneck, packets. Default: `choices.BUFFER` at `choices.CAPACITY` and `choices.RTT`.
        both: If true, the reverse direction of the bottleneck has the same discipline and buffer.

    """
    rate = choices.CAPACITY.value if capacity_mbps is None else capacity_mbps
    if buffer is None:
        bdp = choices.packets_of_delay(choices.CAPACITY.value, choices.RTT.value)
        buffer = max(round(choices.BUFFER.value * bdp), 1)
    port: Table = {"buffer": f"{buffer}packets", "discipline": dict(discipline)}
    made = (
        _empty(duration_s, warmup_s)
        .switch("left", ports={"right": port})
        .switch("right", ports={"left": port} if both else {})
        .link(["left", "right"], rate=f"{rate:g}Mbit/s", delay=f"{_BOTTLENECK_MS:g}ms")
    )
    for name, rtt in rtts_ms.items():
        made = _hosts(made, name, rtt, "left", "right")
    return made


def two_bottlenecks(discipline: Mapping[str, Value], duration_s: float, warmup_s: float, rtt_ms: float) -> Scenario:
    """Return a network of three routers in a row, with the discipline towards the next one at the first two.

    The hosts of the class `through` use both bottlenecks, those of `first` and `second` one of them. All have the
    round-trip time `rtt_ms`.
    """
    buffer = max(round(choices.BUFFER.value * choices.packets_of_delay(choices.CAPACITY.value, choices.RTT.value)), 1)
    port: Table = {"buffer": f"{buffer}packets", "discipline": dict(discipline)}
    rate, delay = f"{choices.CAPACITY.value}Mbit/s", f"{_BOTTLENECK_MS:g}ms"
    made = (
        _empty(duration_s, warmup_s)
        .switch("left", ports={"middle": port})
        .switch("middle", ports={"right": port})
        .switch("right")
        .link(["left", "middle"], rate=rate, delay=delay)
        .link(["middle", "right"], rate=rate, delay=delay)
    )
    made = _hosts(made, "through", rtt_ms, "left", "right", 2 * _BOTTLENECK_MS)
    return _hosts(_hosts(made, "first", rtt_ms, "left", "middle"), "second", rtt_ms, "middle", "right")


def _empty(duration_s: float, warmup_s: float) -> Scenario:
    """Return a document with the run's length and the series that the criteria need, without a network."""
    return Scenario(
        duration=f"{duration_s:g}s",
        warmup=f"{warmup_s:g}s",
        sample=f"{choices.SAMPLE.value}ms",
        delay_variation=True,
        record=["throughput-by-flow"],
        framing="none",
        buffer="unlimited",
    )


def _hosts(
    made: Scenario, name: str, rtt_ms: float, left: str, right: str, middle_ms: float = _BOTTLENECK_MS
) -> Scenario:
    """Add the hosts of a class at the routers `left` and `right`, between which the propagation takes `middle_ms`."""
    access = f"{choices.ACCESS.value}Mbit/s"
    rest = rtt_ms / 2 - middle_ms - _RECEIVER_MS
    return (
        made.host(f"send-{name}")
        .host(f"recv-{name}")
        .link([f"send-{name}", left], rate=access, delay=f"{rest:g}ms", jitter=f"{choices.JITTER.value:g}ms")
        .link([right, f"recv-{name}"], rate=access, delay=f"{_RECEIVER_MS:g}ms")
    )


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
    ends = (f"send-{path}", f"recv-{path}")
    from_, to = ends[::-1] if reverse else ends
    return made.flow(
        name,
        from_,
        to,
        source("bulk"),
        count=count,
        transport=friendly(**(transport or {})),
        start=start,
        start_spread="1s",
        probe=True,
    )


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
    ends = (f"send-{path}", f"recv-{path}")
    from_, to = ends[::-1] if reverse else ends
    return made.flow(name, from_, to, source("cbr", packet=f"{choices.VOICE.value}B", interval="20ms"))
