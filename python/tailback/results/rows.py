"""Types of a report's rows, as the core writes them.

The suffix of a key is its unit: `_s` seconds, `_bps` bit/s, `_bytes` and `_packets` numbers of bytes and packets.

docs/statistics.md and the documentation of the core (`tailback_sim::report`) define the values.
"""

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
    """Number of packets, and sum of their bytes: payload in rows of flows and classes, buffer bytes at ports."""

    packets: int
    bytes: int


class DelayRow(TypedDict):
    """One-way delay, s, from a packet's generation to the arrival of its last bit, or another time that the key names.

    `count` is the number of values. `None`: there are no values. Quantiles are absent if no histogram was kept.
    """

    count: int
    mean_s: float | None
    max_s: float | None
    p50_s: NotRequired[float | None]
    p90_s: NotRequired[float | None]
    p99_s: NotRequired[float | None]
    p999_s: NotRequired[float | None]


class DropRow(TypedDict):
    """Packets lost at one place (`where`, such as a port `sw1->sw2`) for one reason.

    `handshake` is true if they are SYN or SYN-ACK packets; otherwise the key is absent.
    """

    where: str
    reason: str
    handshake: NotRequired[bool]
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
    """Counters of a flow's transport after the warm-up, and its state at the end.

    `acks_sent` and `acks_lost` count from the start of the run. `window` and `ssthresh` are in segments; `ssthresh` is
    `None` before the first congestion, `srtt_s` before the first sample. `ecn_reductions` are window reductions by ECN,
    `spurious` reductions undone after a spurious retransmission, and `probes` tail loss probes. `syn_timeouts` are
    timeouts of connections that were opening, each of which sends the SYN again; they are not among `timeouts` and
    `retransmissions`. `completion` has times from a write of the application to the arrival of its last byte.
    """

    goodput_bytes: int
    segments: int
    retransmissions: int
    timeouts: int
    fast_retransmits: int
    ecn_reductions: int
    spurious: int
    probes: int
    syn_timeouts: int
    acks_sent: int
    acks_lost: int
    window: float
    ssthresh: float | None
    srtt_s: float | None
    completion: DelayRow


class ColourRow(TypedDict):
    """Packets of one colour: when they enter the network (after a meter there), are delivered, or are dropped."""

    offered: Counter
    delivered: Counter
    dropped: Counter


class ColoursRow(TypedDict):
    """A flow's packets by colour, which meters on the path may change."""

    green: ColourRow
    yellow: ColourRow
    red: ColourRow


class ConditionerRow(TypedDict):
    """Packets that a conditioner metered, by colour, and those that its policer dropped (`policed`); buffer bytes."""

    name: str
    meter: str
    green: Counter
    yellow: Counter
    red: Counter
    policed: Counter


class VariationRow(TypedDict):
    """Delay variation, s: jitter (RFC 3550), PDV above the minimum delay and IPDV of consecutive packets (RFC 5481).

    `jitter_s` is the mean over the packets, `last_jitter_s` the value after the last packet, mean over the flows.
    `burst_ratio` is the mean length of bursts of losses divided by that of independent losses (BurstR of ITU-T G.107).
    `None`: too few packets arrived; for `burst_ratio`: no packet was lost.
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
    """A flow, with the counters of packets generated after the warm-up; only `reordered` counts from the start.

    `drops` are the losses of the packets generated after the warm-up, `carried_drops` the losses after the warm-up of
    packets generated during it, and `ack_drops` the losses of acknowledgements after the warm-up. If `carried_drops` or
    `ack_drops` would be empty, it is absent. SYN and SYN-ACK packets have rows of their own, with `handshake`. The sum
    of the three lists over all flows is the number of packets lost at all ports after the warm-up. `transport` is
    `None` if the flow has no transport, `colours` if no meter colours packets, and `variation` if there is no histogram
    of this flow's delay variation.
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
    """All flows of one traffic class, with the counters of packets generated after the warm-up."""


class SlowdownRow(TypedDict):
    """Slowdown of transfers: completion time divided by that over the idle path; 1 or more."""

    mean: float
    min: float
    max: float
    p50: float
    p90: float
    p95: float
    p99: float


class SizeSlowdownRow(TypedDict):
    """Slowdown of the transfers in a bin of sizes, up to `up_to_bytes` of payload; `None`: the last bin, which is open.

    `begun` is the number of transfers of these sizes that were begun, and `complete` the number of them that were
    complete at the end of the run.
    """

    up_to_bytes: int | None
    begun: int
    complete: int
    slowdown: SlowdownRow | None


class CompletedRow(TypedDict):
    """Number and mean completion time of the pages or transfers completed after the warm-up, whenever they began.

    `mean_s` is `None` if the number is 0.
    """

    count: int
    mean_s: float | None


class ApplicationRow(TypedDict):
    """An application of a group of flows: pages or transfers that were begun after the warm-up.

    `failed` pages have an exchange that timed out; `refused` transfers found no free connection. `time` is the
    completion time of pages or transfers, `exchange` that of single requests with their responses. `completed` are the
    pages or transfers that ended after the warm-up, including those that were begun during it.
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
    """One class at one output port after the warm-up, in buffer bytes.

    `queued` packets were waiting or in transmission at the end. `max_bytes` and `mean_bytes` are the maximum and the
    time average of the backlog, which excludes the packet in transmission.
    """

    arrived: Counter
    sent: Counter
    dropped: Counter
    queued: Counter
    marked_packets: int
    max_bytes: int
    mean_bytes: float


class HeadOfLineRow(TypedDict):
    """Packets that waited at a port when its neighbour stopped it for lack of memory, counted at each stop.

    `for_others_packets` of them were head-of-line blocked: bound for a port other than the neighbour's fullest. Both
    count from the start of the run.
    """

    held_up_packets: int
    for_others_packets: int


class DeadlockRow(_Class):
    """A deadlock in a class: a cycle of ports, each of which has waited since `since_s` for memory at the next one.

    The last one of `ports` waits for memory at the first.
    """

    ports: list[str]
    since_s: float


class StopRow(_Stopped):
    """Stops of one target at a port: a class (`None`: all) and a destination (`None`: all).

    `times` is the number of stops, and `stopped_s` the time during which such a stop was in force.
    """

    destination: str | None
    times: int
    stopped_s: float


class PortRow(TypedDict):
    """An output port.

    `utilisation` is the share of time in which the port sends, 0 to 1. `stopped_s` is the time during which a
    notification stopped the port, a class or a destination, with or without waiting data; `slowed_s` is that of
    notifications of a lower rate. `held_s` is the time during which data waited while the port idled. `input_max_bytes`
    is the maximum queue at the input of the crossbar switch at the other end of the link; frames that found it full are
    `refused_at_input`, and `lost_on_line` are those lost on the link. `notifications_lost` are control frames lost on a
    link that went down. `pause_storms` are pauses that the watchdog ended. Notifications and pause storms count from
    the start of the run; a notification is counted as received if the port obeys it. `rate_bps` is the rate of the link
    at the end. Keys without a value are absent.
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
    lost_on_line: Counter
    refused_at_input: Counter
    notifications_sent: int
    notifications_lost: NotRequired[int]
    notifications_received: int
    head_of_line: NotRequired[HeadOfLineRow]
    pause_storms: NotRequired[int]
    classes: list[PortClassRow]


class NodeRow(TypedDict):
    """A node, after the warm-up.

    `mean_bytes` is the time average of the backlog of all its ports, `max_queue_bytes` the maximum backlog of one class
    at one port, and `dropped_packets` counts drops in its queues and at its inputs.
    """

    name: str
    kind: str
    mean_bytes: float
    max_queue_bytes: int
    dropped_packets: int


class CongestionPointRow(_Class):
    """A congestion point: frames that arrived, frames that were sampled, and messages sent, by kind.

    `solicited` messages answer frames that requested one and were not sampled.
    """

    port: str
    number: int
    arrived: int
    sampled: int
    stop: int
    slower: int
    faster: int
    solicited: int


class LimitersRow(_Class):
    """The rate limiters of a port in a class.

    `stop`, `slower` and `faster` are the messages obeyed; `ignored` are messages to speed up during a stop, or from
    another congestion point than the last one that slowed the limiter. `tcp_above` are TCP frames that found their
    queue above the threshold, of which `tcp_signalled` were marked or dropped; `udp_refused` are dropped UDP frames,
    and `most_udp` is the maximum number of UDP frames in one limiter. `mean_bytes` and `max_bytes` are of the queues.
    """

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
    """Congestion notification; `unheard` is the number of messages for which there was no rate limiter."""

    points: list[CongestionPointRow]
    limiters: list[LimitersRow]
    unheard: int


class PortSeries(TypedDict):
    """Samples of a port: values at the instants `time_s`, counters and times since the start.

    `queue_min_bytes` and `queue_max_bytes`, with the record "queue-extremes", are the extremes since the previous
    sample. `stopped`: a notification stops the port, a class or a destination; `held`: data waits while the port idles.
    `stopped_s` and `held_s` are the times for which `stopped` and `held` were true. `state` has the state variables of
    the queue discipline by name, and `state_bytes`, the size of its state without packets; if there are several
    classes, names are prefixed by the class.
    """

    queue_bytes: list[int]
    queue_min_bytes: NotRequired[list[int]]
    queue_max_bytes: NotRequired[list[int]]
    stopped: list[bool]
    stopped_s: list[float]
    held: list[bool]
    held_s: list[float]
    sent_bytes: list[int]
    dropped_packets: list[int]
    marked_packets: list[int]
    state: dict[str, list[float]]


class FlowSeries(TypedDict):
    """Samples of a group of flows: counters since the start.

    All but `delivered_bytes` need `run.delay-variation`, and are of packets generated after the warm-up. `delay_sum_s`
    is the sum of the delays of the packets delivered so far, `jitter_s` the jitter (RFC 3550), mean over the flows.
    """

    delivered_bytes: list[int]
    offered_packets: NotRequired[list[int]]
    delivered_packets: NotRequired[list[int]]
    dropped_packets: NotRequired[list[int]]
    delay_sum_s: NotRequired[list[float]]
    jitter_s: NotRequired[list[float]]


class OwnSeries(TypedDict):
    """Samples of a flow: payload since the start.

    `delivered_bytes` arrived in any order, `goodput_bytes` were passed to the application in order. Without a
    transport, `goodput_bytes` is absent.
    """

    delivered_bytes: list[int]
    goodput_bytes: NotRequired[list[int]]


class TransferRecord(TypedDict):
    """Columns of the record of transfers, a value per transfer.

    `flow` is an index into `names`. `idle_s` is the completion time over the idle path. `completion_s` is `None` if the
    transfer was not complete at the end. `omitted` is the number of rows that `run.record-limit` left out.
    """

    names: list[str]
    flow: list[int]
    start_s: list[float]
    size_bytes: list[int]
    completion_s: list[float | None]
    idle_s: list[float | None]
    retransmissions: list[int]
    omitted: int


class ChangeRecord(TypedDict):
    """Columns of the record of changes of senders, a value per change; the values hold after the change.

    `flow` is an index into `names`. Sequence numbers are in segments. `omitted` is the number of rows that
    `run.record-limit` left out.
    """

    names: list[str]
    flow: list[int]
    time_s: list[float]
    window_segments: list[float]
    threshold_segments: list[float | None]
    outstanding_segments: list[int]
    smoothed_rtt_s: list[float | None]
    state: list[str]
    acknowledged_sequence: list[int]
    next_sequence: list[int]
    omitted: int


class QueueRecord(TypedDict):
    """Columns of the record of queues by flow: a value per sample, port and flow with waiting packets.

    `flow` is an index into `names`, and `port` one into `ports`.
    """

    names: list[str]
    flow: list[int]
    ports: list[str]
    port: list[int]
    time_s: list[float]
    waiting_packets: list[int]
    waiting_bytes: list[int]
    omitted: int


class DelayRecord(TypedDict):
    """Columns of the distribution of delays: number of packets by bucket; `delay_s` is the upper end of the bucket."""

    scope: list[str]
    name: list[str]
    delay_s: list[float]
    delivered_packets: list[int]
    omitted: int


class SeriesData(TypedDict):
    """Samples at the instants `time_s`, simulated s, including those of the warm-up.

    The keys of `ports` are names of ports, those of `flows` names of groups. `transports` (by name of the flow) and
    `meters` (by name of the meter) have the state variables of flows with `probe`, by name of the variable. `by_flow`
    (by name of the flow) is present with the record "throughput-by-flow".
    """

    time_s: list[float]
    ports: dict[str, PortSeries]
    flows: dict[str, FlowSeries]
    meters: dict[str, dict[str, list[float]]]
    transports: dict[str, dict[str, list[float]]]
    by_flow: NotRequired[dict[str, OwnSeries]]
    in_network_packets: list[int]


class ReportData(TypedDict):
    """Document that the core returns for one replication.

    `schema` is the version of the document's format. `end_s` and `warmup_s` are the ends of the run and of the warm-up
    in simulated seconds. `events` is the number of events handled, which depends on the engine. `packet_hops` are data
    packets transmitted over links, counted at each link, and `control_frames` PAUSE, PFC and notification frames, all
    since the start. `touched` is present if parameters were changed, or data injected, while the run was stepped
    through. The keys of mappings are names of groups of flows. `series` is `None` without `run.sample`. A record is
    present if `run.record` names it.
    """

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
    transfers: NotRequired[TransferRecord]
    transport_changes: NotRequired[ChangeRecord]
    queue_by_flow: NotRequired[QueueRecord]
    delays: NotRequired[DelayRecord]
