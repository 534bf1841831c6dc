"""Types of the state of a network at an instant, as the core writes it.

The suffix of a key is its unit: `_s` seconds, `_ps` picoseconds, `_bps` bit/s. Times are since the start of the run.
"""

from __future__ import annotations

from typing import NotRequired, TypedDict

from tailback.results.rows import Counter

__all__ = ["ClassView", "FlowView", "NodeView", "PortView", "ReceiverView", "SenderView", "Transmission", "View"]


class Transmission(TypedDict):
    """A data packet in transmission."""

    flow: str
    """Name of the flow; acknowledgements have the name of their flow followed by " (ack)"."""
    sequence: int
    """Sequence number: counted in packets, or in segments for flows with a transport."""
    bytes: int
    """Size in bytes, as buffers count it."""
    end_s: float
    """End of the transmission."""


class ClassView(TypedDict):
    """Queue of a class at a port."""

    queued: Counter
    """Packets and bytes waiting."""
    by_flow: dict[str, Counter]
    """Packets and bytes waiting, by flow."""


class PortView(TypedDict):
    """State of an output port and its link."""

    rate_bps: int
    """Rate of the link."""
    delay_s: float
    """Propagation delay of the link plus latency of the neighbour."""
    up: bool
    """`True` if the link is up."""
    queue_bytes: int
    """Bytes waiting, of all classes."""
    classes: list[ClassView]
    """Queues, the highest class first."""
    transmission: NotRequired[Transmission]
    """Data packet in transmission; absent: there is none."""
    on_link_frames: int
    """Number of frames on the link, including control frames and the frame in transmission."""
    control_frames: int
    """Number of control frames that wait for transmission."""
    sent_bytes: int
    """Bytes of completed transmissions since the start."""
    dropped_packets: int
    """Packets dropped since the start."""
    marked_packets: int
    """Packets marked since the start."""
    stopped: bool
    """`True` if a notification that stops the port, a class or a destination is in force."""
    stopped_s: float
    """Time since the start during which `stopped` was true."""
    held: bool
    """`True` if data waits while the transmitter is idle."""
    held_s: float
    """Time since the start during which data waited while the transmitter was idle."""
    wake_s: NotRequired[float]
    """Time at which the discipline or the port acts next by itself, such as the end of a pause; absent: never."""
    state: dict[str, float]
    """State variables of the discipline; if there are several classes, the name is prefixed by the class."""


class NodeView(TypedDict):
    """State of a host or switch."""

    at_inputs: dict[str, Counter]
    """Packets that wait at the inputs of a crossbar, or are crossing it, by flow."""
    shared_bytes: NotRequired[int]
    """Used bytes of the memory that the queues of the switch share; absent: the queues share no memory."""


class SenderView(TypedDict):
    """State of a sender of a transport."""

    phase: str
    """"closed", "opening", "open", "reduced", "recovery" or "loss"."""
    unacknowledged: int
    """Number of the oldest segment that is not acknowledged."""
    next: int
    """Number of the next segment to send."""
    timer_s: NotRequired[float]
    """Time at which the next timer expires (retransmission, probe or pacing); absent: no timer is set."""
    state: dict[str, float]
    """Windows in segments, times in seconds, and the variables of the congestion control."""


class ReceiverView(TypedDict):
    """State of a receiver of a transport."""

    next: int
    """Number of the next segment expected in order."""
    delivered_bytes: int
    """Payload delivered to the application in order."""
    timer_s: NotRequired[float]
    """Time at which the timer of the delayed acknowledgement expires; absent: it is not set."""


class FlowView(TypedDict):
    """State of a flow since the start, warm-up included."""

    offered: Counter
    """Packets and payload handed to the network."""
    delivered: Counter
    """Packets and payload that arrived at the destination, retransmissions included."""
    dropped: Counter
    """Packets and payload dropped."""
    in_network: Counter
    """Packets and payload in the network now."""
    source_s: NotRequired[float]
    """Time of the next packet or write of the source; absent: there is none, or an application drives the flow."""
    sender: NotRequired[SenderView]
    """State of the sender; absent: the flow has no transport."""
    receiver: NotRequired[ReceiverView]
    """State of the receiver; absent: the flow has no transport."""


class View(TypedDict):
    """State of the network at an instant."""

    time_s: float
    """Instant, seconds since the start."""
    time_ps: int
    """Instant, picoseconds since the start."""
    next_event_s: float | None
    """Time of the next event; `None`: no event is pending."""
    nodes: dict[str, NodeView]
    """Hosts and switches, by name."""
    ports: dict[str, PortView]
    """Output ports, by name."""
    flows: dict[str, FlowView]
    """Flows, by name."""
