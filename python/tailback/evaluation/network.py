"""Networks of evaluations: the dumbbell with hosts of each class of flows, two routers, and the bottleneck."""

from __future__ import annotations

from collections.abc import Mapping

from tailback.evaluation.choice import ACCESS, JITTER, PACKET, SAMPLE
from tailback.scenario import Scenario, Table, Value, source

__all__ = ["BOTTLENECK", "MIDDLE_MS", "REVERSE", "bulk", "call", "dumbbell", "empty", "hosts", "packets_of_delay"]

BOTTLENECK = "left->right"
"""Port of the bottleneck in the direction of the data."""
REVERSE = "right->left"
"""Port of the reverse direction; its queue is unlimited unless a section has traffic in both directions."""

MIDDLE_MS = 1.0
"""One-way propagation delay of the bottleneck, ms."""
_RECEIVER_MS = 0.5
"""One-way propagation delay of the receivers' access links, ms; the senders' have the rest."""


def packets_of_delay(rate_mbps: float, rtt_ms: float) -> int:
    """Return the bandwidth-delay product in packets of `PACKET`, rounded to the nearest number, at least 1."""
    return max(round(rate_mbps * 1e6 * rtt_ms * 1e-3 / 8 / PACKET.value), 1)


def dumbbell(
    discipline: Mapping[str, Value],
    duration_s: float,
    warmup_s: float,
    rtts_ms: Mapping[str, float],
    *,
    capacity_mbps: float,
    buffer: int,
    both: bool = False,
    loss: float | None = None,
    jitter: str | None = None,
    receivers: Mapping[str, Value] | None = None,
) -> Scenario:
    """Return the network without flows.

    For each class of flows in `rtts_ms`, there are hosts `send-CLASS` and `recv-CLASS` with this round-trip time.

    Args:
        discipline: Discipline at the bottleneck, in the direction from L to R.
        duration_s: Length of the run, s, warm-up included.
        warmup_s: Length of the warm-up, s.
        rtts_ms: Round-trip times without queueing by class, ms, at least 3.
        capacity_mbps: Capacity of the bottleneck, Mbit/s.
        buffer: Buffer at the bottleneck, packets.
        both: If true, the reverse direction of the bottleneck has the same discipline and buffer.
        loss: Probability of random loss on the bottleneck's link. Default: 0.
        jitter: Upper bound of the random delay on the bottleneck's link. Default: 0.
        receivers: Discipline at the ports towards the receivers. Default: drop-tail.

    """
    port: Table = {"buffer": f"{buffer}packets", "discipline": dict(discipline)}
    ports: dict[str, Value] = {"left": port} if both else {}
    if receivers is not None:
        ports |= {f"recv-{name}": {"discipline": dict(receivers)} for name in rtts_ms}
    made = (
        empty(duration_s, warmup_s)
        .switch("left", ports={"right": port})
        .switch("right", ports=ports)
        .link(["left", "right"], rate=f"{capacity_mbps:g}Mbit/s", delay=f"{MIDDLE_MS:g}ms", loss=loss, jitter=jitter)
    )
    for name, rtt in rtts_ms.items():
        made = hosts(made, name, rtt, "left", "right")
    return made


def empty(duration_s: float, warmup_s: float, sample_ms: float = SAMPLE.value, *, by_flow: bool = True) -> Scenario:
    """Return a document with the run's length and the series that the criteria need, without a network.

    With `by_flow`, the series have the payload of each flow, which graphs need.
    """
    return Scenario(
        duration=f"{duration_s:g}s",
        warmup=f"{warmup_s:g}s",
        sample=f"{sample_ms:g}ms",
        delay_variation=True,
        record=["throughput-by-flow"] if by_flow else [],
        framing="none",
        buffer="unlimited",
    )


def hosts(
    made: Scenario,
    name: str,
    rtt_ms: float,
    left: str,
    right: str,
    middle_ms: float = MIDDLE_MS,
    access_mbps: float = ACCESS.value,
) -> Scenario:
    """Add the hosts of a class at the routers `left` and `right`, between which the propagation takes `middle_ms`."""
    rate = f"{access_mbps:g}Mbit/s"
    rest = rtt_ms / 2 - middle_ms - _RECEIVER_MS
    return (
        made.host(f"send-{name}")
        .host(f"recv-{name}")
        .link([f"send-{name}", left], rate=rate, delay=f"{rest:g}ms", jitter=f"{JITTER.value:g}ms")
        .link([right, f"recv-{name}"], rate=rate, delay=f"{_RECEIVER_MS:g}ms")
    )


def bulk(
    made: Scenario,
    name: str,
    path: str,
    transport: Table,
    count: int = 1,
    *,
    reverse: bool = False,
    start: str | None = None,
) -> Scenario:
    """Add `count` long-lived flows that always have data, which start within a second.

    `path` is the class of the hosts, and `reverse` sends from the receivers to the senders.
    """
    ends = (f"send-{path}", f"recv-{path}")
    from_, to = ends[::-1] if reverse else ends
    return made.flow(
        name, from_, to, source("bulk"), count=count, transport=transport, start=start, start_spread="1s", probe=True
    )


def call(made: Scenario, name: str, path: str, packet: int, *, reverse: bool = False) -> Scenario:
    """Add one direction of a call: a packet of `packet` bytes each 20 ms."""
    ends = (f"send-{path}", f"recv-{path}")
    from_, to = ends[::-1] if reverse else ends
    return made.flow(name, from_, to, source("cbr", packet=f"{packet}B", interval="20ms"))
