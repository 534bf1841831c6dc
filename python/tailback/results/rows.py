"""Rows of a report, typed as the core writes them: units are in the keys' endings."""

from __future__ import annotations

from typing import NotRequired, TypedDict

__all__ = [
    "ApplicationRow",
    "ClassRow",
    "ColourRow",
    "ColoursRow",
    "CompletedRow",
    "ConditionerRow",
    "CongestionPointRow",
    "CongestionRow",
    "Counter",
    "DeadlockRow",
    "DelayRow",
    "DropRow",
    "FlowRow",
    "FlowSeries",
    "HeadOfLineRow",
    "LimitersRow",
    "NodeRow",
    "PortClassRow",
    "PortRow",
    "PortSeries",
    "ReportData",
    "SeriesData",
    "SizeSlowdownRow",
    "SlowdownRow",
    "StopRow",
    "TransportRow",
    "VariationRow",
]


class Counter(TypedDict):
    """Packets and their payload bytes."""

    packets: int
    bytes: int


class DelayRow(TypedDict):
    """One-way delay from generation to the last bit, in seconds; quantiles if a histogram was kept."""

    count: int
    mean_s: float | None
    max_s: float | None
    p50_s: NotRequired[float | None]
    p90_s: NotRequired[float | None]
    p99_s: NotRequired[float | None]
    p999_s: NotRequired[float | None]


class DropRow(TypedDict):
    """Packets lost at one place for one reason."""

    where: str
    reason: str
    packets: int


class _Counted(TypedDict):
    offered: Counter
    delivered: Counter
    dropped: Counter
    in_network: Counter
    delay: DelayRow


# Keywords of Python cannot be class attributes, hence the functional form of TypedDict.
_Class = TypedDict("_Class", {"class": int})
_From = TypedDict("_From", {"from": str})
_Stopped = TypedDict("_Stopped", {"class": int | None})


class TransportRow(TypedDict):
    """Counters of a flow's transport after the warm-up; `acks_sent` and `acks_lost` count from the start."""

    goodput_bytes: int
    segments: int
    retransmissions: int
    timeouts: int
    fast_retransmits: int
    ecn_reductions: int
    spurious: int
    probes: int
    acks_sent: int
    acks_lost: int
    window: float
    ssthresh: float | None
    srtt_s: float | None
    completion: DelayRow


class ColourRow(TypedDict):
    """Packets of one colour: at the source (after its meter), at the delivery and at the loss."""

    offered: Counter
    delivered: Counter
    dropped: Counter


class ColoursRow(TypedDict):
    """A flow's packets by colour, which meters on the path may change."""

    green: ColourRow
    yellow: ColourRow
    red: ColourRow


class ConditionerRow(TypedDict):
    """Traffic that a conditioner judged, and the part that it dropped; in buffer bytes."""

    name: str
    meter: str
    green: Counter
    yellow: Counter
    red: Counter
    policed: Counter


class VariationRow(TypedDict):
    """Delay variation in seconds: jitter (RFC 3550), PDV above the least and IPDV of consecutive packets (RFC 5481).

    `burst_ratio` is the mean run of losses per that of independent losses (BurstR of ITU-T G.107).
    """

    delay: DelayRow
    min_s: float
    jitter_s: float | None
    last_jitter_s: float
    pdv_mean_s: float
    pdv_p99_s: float
    pdv_p999_s: float
    ipdv_mean_s: float | None
    ipdv_p99_s: float | None
    ipdv_p999_s: float | None
    burst_ratio: float | None


class FlowRow(_Counted, _Class, _From):
    """A flow; its counters include the packets generated after the warm-up.

    `drops` are the losses of these. Two more lists complete them, so that the sum is the loss of all ports
    since the warm-up: `carried_drops` are of packets generated before its end, `ack_drops` of acknowledgements. Empty
    lists are absent.
    """

    name: str
    group: str
    to: str
    dscp: int
    reordered: int
    drops: list[DropRow]
    carried_drops: NotRequired[list[DropRow]]
    ack_drops: NotRequired[list[DropRow]]
    transport: TransportRow | None
    colours: ColoursRow | None
    variation: VariationRow | None


class ClassRow(_Counted, _Class):
    """All flows of one traffic class."""


class SlowdownRow(TypedDict):
    """Slowdown of transfers: time per time over an idle path, 1 or more."""

    mean: float
    min: float
    max: float
    p50: float
    p90: float
    p95: float
    p99: float


class SizeSlowdownRow(TypedDict):
    """Slowdowns of the transfers above the size of the bin before and up to this one's, `None` for the last, open bin.

    `complete` of those `begun` had arrived by the end.
    """

    up_to_bytes: int | None
    begun: int
    complete: int
    slowdown: SlowdownRow | None


class CompletedRow(TypedDict):
    """Pages or transfers complete from the warm-up to the end, whenever they began."""

    count: int
    mean_s: float | None


class ApplicationRow(TypedDict):
    """A group that an application drives: pages or transfers begun after the warm-up.

    `time` is that of pages or transfers, `exchange` that of single requests with their responses; `completed` counts
    those that ended in the measured time, for a throughput and a latency of the same ones.
    """

    begun: int
    failed: int
    refused: int
    time: DelayRow
    exchange: DelayRow
    slowdown: SlowdownRow | None
    slowdown_by_size: list[SizeSlowdownRow]
    completed: CompletedRow


class PortClassRow(TypedDict):
    """One class at one output port, from the warm-up to the end, in buffer bytes."""

    arrived: Counter
    sent: Counter
    dropped: Counter
    queued: Counter
    marked_packets: int
    max_bytes: int
    mean_bytes: float


class HeadOfLineRow(TypedDict):
    """Packets held by stops, and the head-of-line-blocked ones: bound for a port other than the neighbour's fullest."""

    held_up_packets: int
    for_others_packets: int


class DeadlockRow(_Class):
    """A circle of ports that wait for each other's memory, and its beginning."""

    ports: list[str]
    since_s: float


class StopRow(_Stopped):
    """Stop at a port by class (`None`: all) and destination (`None`: all): how often, how long."""

    destination: str | None
    times: int
    stopped_s: float


class PortRow(TypedDict):
    """An output port.

    `stopped_s` is the time during which a notification stopped the port, a class or a destination, also without waiting
    data; `slowed_s` the same for a notification of a lower rate; `held_s` the time during which data waited while the
    transmitter idled. `input_max_bytes` is the longest queue at the input of a crossbar switch behind the port.
    """

    name: str
    node: str
    to: str
    rate_bps: int
    utilisation: float
    stopped_s: float
    slowed_s: float
    held_s: float
    stops: NotRequired[list[StopRow]]
    input_max_bytes: NotRequired[int]
    notifications_sent: int
    notifications_received: int
    head_of_line: NotRequired[HeadOfLineRow]
    pause_storms: NotRequired[int]
    classes: list[PortClassRow]


class NodeRow(TypedDict):
    """A node; `max_queue_bytes` is the longest queue of one class at one of its ports."""

    name: str
    kind: str
    mean_bytes: float
    max_queue_bytes: int
    dropped_packets: int


class CongestionPointRow(_Class):
    """One congestion point: frames that arrived, sampled frames, and messages sent by kind."""

    port: str
    number: int
    arrived: int
    sampled: int
    stop: int
    slower: int
    faster: int
    solicited: int


class LimitersRow(_Class):
    """The rate limiters of one port in one class; bytes are of the limiters' queues."""

    port: str
    created: int
    removed: int
    mean_active: float
    stop: int
    slower: int
    faster: int
    ignored: int
    tcp_above: int
    tcp_signalled: int
    udp_refused: int
    most_udp: int
    mean_bytes: float
    max_bytes: int


class CongestionRow(TypedDict):
    """Congestion notification; `unheard` counts messages that found no rate limiters."""

    points: list[CongestionPointRow]
    limiters: list[LimitersRow]
    unheard: int


class PortSeries(TypedDict):
    """One port, sampled.

    `stopped` is true if a stop is in force at the instant, `held` if data waits while the transmitter idles;
    `stopped_s` and `held_s` are the sums of these times since the start. `state` has the values of the queue
    discipline's probe, and the size of its state without packets: `state_bytes`.
    """

    queue_bytes: list[int]
    stopped: list[bool]
    stopped_s: list[float]
    held: list[bool]
    held_s: list[float]
    sent_bytes: list[int]
    dropped_packets: list[int]
    marked_packets: list[int]
    state: dict[str, list[float]]


class FlowSeries(TypedDict):
    """One group of flows, sampled.

    All but the first exist with `delay-variation` only, for packets generated after the warm-up.
    """

    delivered_bytes: list[int]
    offered_packets: NotRequired[list[int]]
    delivered_packets: NotRequired[list[int]]
    dropped_packets: NotRequired[list[int]]
    delay_sum_s: NotRequired[list[float]]
    jitter_s: NotRequired[list[float]]


class SeriesData(TypedDict):
    """Samples at the instants `time_s`, warm-up included."""

    time_s: list[float]
    ports: dict[str, PortSeries]
    flows: dict[str, FlowSeries]
    meters: dict[str, dict[str, list[float]]]
    transports: dict[str, dict[str, list[float]]]
    in_network_packets: list[int]


class ReportData(TypedDict):
    """The document that the core returns for one replication."""

    version: str
    schema: int
    seed: int
    digest: str
    end_s: float
    warmup_s: float
    events: int
    touched: NotRequired[bool]
    packet_hops: int
    control_frames: int
    flows: list[FlowRow]
    classes: list[ClassRow]
    completions: dict[str, DelayRow]
    variation: dict[str, VariationRow]
    applications: dict[str, ApplicationRow]
    ports: list[PortRow]
    nodes: list[NodeRow]
    conditioners: list[ConditionerRow]
    congestion: NotRequired[CongestionRow]
    deadlocks: NotRequired[list[DeadlockRow]]
    series: SeriesData | None
