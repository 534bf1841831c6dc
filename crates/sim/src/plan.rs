//! Input of the engine: the network, its traffic and the run, as plain data.
//!
//! Names have been resolved to indices, units to integers and patterns to lists. The scenario crate has checked the
//! plan; the engine only asserts.

mod flows;

pub use crate::routes::{GROUP, NO_ROUTE, Routes, Row, Spread};
pub use flows::{FlowKind, FlowName, FlowPlan};
use std::fmt;
use std::sync::Arc;
use tailback_qdisc::Accounting;
use tailback_qdisc::classify::Match;
#[expect(unused_imports, reason = "for the documentation")]
use tailback_qdisc::congestion_notification::Tag;
use tailback_qdisc::congestion_notification::{LimitersSpec, cp};
use tailback_traffic::Application;
use tailback_units::{Dur, Rate, Time};

/// Index of a node in [`Plan::nodes`].
pub type NodeId = u16;

/// A run before its first event.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Hosts and switches.
    pub nodes: Vec<NodePlan>,
    /// Full-duplex links.
    pub links: Vec<LinkPlan>,
    /// Flows of packets from one host to another.
    pub flows: Vec<FlowPlan>,
    /// Applications, which drive some of the flows in place of the flows' models.
    pub applications: Vec<ApplicationPlan>,
    /// Next hops.
    pub routes: Routes,
    /// Length of packets in a buffer and on the wire.
    pub framing: Framing,
    /// Number of traffic classes, 1 to 8; class 0 is the highest.
    pub classes: u8,
    /// Seed of the run; all random streams derive from it.
    pub seed: u64,
    /// End of the warm-up; packets generated before this instant are not measured.
    pub warmup: Time,
    /// Last instant of the run; events at it are handled.
    pub end: Time,
    /// Interval of the time series; `None`: no series.
    pub sample: Option<Dur>,
    /// `true` if each flow has its own delay histogram; each class always has one.
    pub per_flow_delay: bool,
    /// `true` if delay variation is measured, by group of flows, and by flow if each flow has a histogram.
    pub delay_variation: bool,
    /// Meters, markers and policers.
    pub conditioners: Vec<ConditionerPlan>,
    /// MPLS label stacks, at most one per port.
    pub labels: Vec<LabelPlan>,
    /// Changes during the run, in order of time.
    pub timeline: Vec<Change>,
    /// Engine; both give the same digest.
    pub engine: Engine,
}

/// Treatment of FIFO ports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Engine {
    /// One event per hop at ports where departures are known in advance.
    #[default]
    Merged,
    /// Two events per hop everywhere: slower and simpler, the reference for the other.
    Plain,
}

/// Lengths of a packet, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Framing {
    /// Largest payload of one packet.
    pub mtu: u32,
    /// Added to the payload to make a frame (Ethernet: 14 of header and 4 of check sequence).
    pub header: u32,
    /// A shorter frame is padded to this (Ethernet: 64).
    pub min_frame: u32,
    /// Added to the frame on the wire (Ethernet: 8 of preamble and 12 of gap).
    pub overhead: u32,
    /// Length that buffers count.
    pub buffer: Length,
}

/// Length of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Length {
    /// Payload: the bytes that the source handed over.
    Payload,
    /// Payload and header, padded to the shortest frame.
    Frame,
    /// Frame, preamble and gap.
    Wire,
}

/// A host or a switch.
#[derive(Clone, Debug)]
pub struct NodePlan {
    /// Unique name.
    pub name: String,
    /// Host or switch, with its parameters.
    pub kind: NodeKind,
}

/// Kind of a node.
#[derive(Clone, Debug)]
pub enum NodeKind {
    /// An end station.
    Host(HostPlan),
    /// A switch.
    Switch(SwitchPlan),
}

/// An end station's parameters.
#[derive(Clone, Debug)]
pub struct HostPlan {
    /// `true` if it obeys back-pressure notifications.
    pub obeys: bool,
    /// Rate limiters in its ports; `None`: the host is not a reaction point.
    pub limiters: Option<Box<LimitersSpec>>,
}

/// A switch's parameters.
#[derive(Clone, Debug)]
pub struct SwitchPlan {
    /// Time from the end of reception to the output queue.
    pub latency: Dur,
    /// Switch model: memory and crossing.
    pub fabric: Fabric,
    /// Back-pressure; `None`: the switch only drops.
    pub backpressure: Option<BackPressure>,
    /// Congestion points at its output queues, except those with rate limiters; `None`: no congestion points. A network
    /// has at most [`Tag::MAX_POINTS`] of them, or 65535 if their law reads no tags.
    pub notification: Option<Box<cp::Spec>>,
    /// Rate limiters in its ports towards other switches; `None`: the switch is not a reaction point.
    pub limiters: Option<Box<LimitersSpec>>,
    /// Watchdog against endless PAUSE frames; `None`: all are obeyed.
    pub watchdog: Option<Watchdog>,
}

/// Switch model.
#[derive(Clone, Debug, PartialEq)]
pub enum Fabric {
    /// Non-blocking; frames wait at the output only.
    OutputQueued,
    /// Output queues that share a memory under dynamic thresholds (Choudhury and Hahne 1998): the limit of a queue is
    /// alpha times the free memory.
    SharedMemory {
        /// Memory in buffer bytes.
        memory: u64,
        /// Factor of the free memory, above 0.
        alpha: f64,
    },
    /// Output queues in a memory that is accounted by input and class, with headroom for frames that arrive after their
    /// sender was notified to stop (IEEE 802.1Qbb).
    SharedBuffer(SharedBufferPlan),
    /// A crossbar with one FIFO per input: its head blocks what is behind (Karol et al. 1987).
    InputFifo {
        /// Limit of each input's FIFO in buffer bytes.
        buffer: u64,
    },
    /// A crossbar with one queue per input and output.
    VirtualOutputQueues {
        /// Limit of each input's memory in buffer bytes.
        buffer: u64,
        /// Limit of each queue (output and class) at an input in buffer bytes; `u64::MAX`: only the memory limits it.
        output_buffer: u64,
        /// Crossing speed relative to the output's rate, at least 1.
        speedup: f64,
    },
    /// Output queues; a frame may leave before its tail has arrived.
    CutThrough {
        /// Bytes of a frame that must have arrived before it is forwarded.
        header: u32,
    },
}

/// Memory of a switch with priority-based flow control, in buffer bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SharedBufferPlan {
    /// Memory of the switch.
    pub memory: u64,
    /// Dynamic threshold: an input's class may use the free memory / 2^shift; 0 to 16.
    pub shift: u8,
    /// Reserve of each input and class.
    pub reserve: u64,
    /// Distance below the threshold at which a stopped neighbour resumes.
    pub resume: u64,
    /// Headroom of each input and class for frames that arrive after their sender was notified to stop; `None`: as the
    /// link requires.
    pub headroom: Option<u64>,
}

/// PAUSE watchdog: ignores a neighbour that keeps a port paused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Watchdog {
    /// Duration beyond which a pause is a storm and is ignored.
    pub after: Dur,
    /// Time without a PAUSE after which PAUSE frames are obeyed again.
    pub restore: Dur,
}

/// A full-duplex link. Side 0 sends from `ends[0]`, side 1 from `ends[1]`.
#[derive(Clone)]
pub struct LinkPlan {
    /// The two nodes.
    pub ends: [NodeId; 2],
    /// Rate of each side.
    pub rate: [Rate; 2],
    /// Propagation delay.
    pub delay: Dur,
    /// Probability that a frame is lost on the link, 0 to 1.
    pub loss: f64,
    /// Largest extra delay of each side's frames, uniform, drawn per frame; order is kept.
    pub jitter: [Dur; 2],
    /// Bytes that the link carries of a frame in addition to its wire bytes; not below these. `None`: no others. Neither
    /// end of a link that has one is a cut-through switch.
    pub accounting: Option<Accounting>,
    /// Egress queue of each side.
    pub queue: [QueuePlan; 2],
}

impl fmt::Debug for LinkPlan {
    /// Leaves out absent fields, so that the text of plans without them is the same as before these fields existed.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let LinkPlan { ends, rate, delay, loss, jitter, accounting, queue } = self;
        let mut shown = f.debug_struct("LinkPlan");
        let _ = shown.field("ends", ends).field("rate", rate).field("delay", delay);
        let _ = shown.field("loss", loss).field("jitter", jitter);
        if let Some(accounting) = accounting {
            let _ = shown.field("accounting", accounting);
        }
        shown.field("queue", queue).finish()
    }
}

/// The queue of one output port.
#[derive(Clone, Debug, PartialEq)]
pub struct QueuePlan {
    /// Registered name of the discipline (`tailback_qdisc::registry`).
    pub discipline: tailback_qdisc::Spec,
    /// Limit of each class in buffer bytes; `u64::MAX` is unbounded.
    pub limits: Vec<u64>,
    /// Limit of each class in packets; `u64::MAX` is unbounded.
    pub places: Vec<u64>,
    /// Capacity of the transmit ring between the discipline and the transmitter, packets, at least 1; `None`: no ring.
    pub ring: Option<u32>,
    /// Shaper; `None`: no shaper.
    pub shaper: Option<ShaperPlan>,
}

/// A shaper: the bytes that leave in any interval of length t are at most burst + rate · t.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShaperPlan {
    /// Rate after shaping, above 0.
    pub rate: Rate,
    /// Depth of the bucket in bytes, above 0.
    pub burst: u64,
    /// Bytes counted of each packet in addition to buffer bytes.
    pub accounting: tailback_qdisc::Accounting,
}

/// A traffic conditioner (RFC 2475): a meter that colours packets, and optionally a policer.
#[derive(Clone, Debug, PartialEq)]
pub struct ConditionerPlan {
    /// Unique name, such as `data` or `edge->core egress 1`.
    pub name: String,
    /// Place in the network.
    pub place: Place,
    /// Flows that it conditions, ascending; `None`: all, their acknowledgements included. At a port the first
    /// conditioner that matches a packet applies.
    pub flows: Option<Vec<u32>>,
    /// Packets of these flows that it conditions; `None`: all. Only at ports.
    pub matches: Option<Match>,
    /// `true`: a meter per flow; `false`: one for all.
    pub per_flow: bool,
    /// Meter; sizes are buffer bytes and `accounting`.
    pub meter: tailback_diffserv::Meter,
    /// Bytes that the meter counts of each packet in addition to buffer bytes.
    pub accounting: tailback_qdisc::Accounting,
    /// Lowest colour that is dropped, with all worse ones; `None`: the policer drops no packets.
    pub police: Option<tailback_diffserv::Colour>,
    /// Actions for green, yellow and red packets.
    pub actions: [Action; 3],
}

/// Action of a conditioner on packets of a colour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Action {
    /// `true` if they are dropped.
    pub drop: bool,
    /// New code point, 0 to 63.
    pub dscp: Option<u8>,
    /// New value of the upper three bits of the code point, 0 to 7.
    pub precedence: Option<u8>,
    /// New class, below [`Plan::classes`].
    pub class: Option<u8>,
}

/// Place of a conditioner. Port numbers are twice the link plus the sending side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// At a flow's entry to the network: in the sending host, before its queue.
    Source,
    /// Before the queue of a port.
    Egress {
        /// The port.
        port: u32,
    },
    /// Behind the link of a port, in the switch at its end.
    Ingress {
        /// The port.
        port: u32,
    },
}

/// A label stack (RFC 3031, RFC 3032) on the packets that leave by a port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LabelPlan {
    /// Port number: twice the link plus the sending side.
    pub port: u32,
    /// Entries of the stack, 4 bytes each.
    pub labels: u8,
    /// Relation of the traffic class field to the code point under the labels.
    pub tunnel: Tunnel,
    /// Traffic class field of packets that are labelled here, by code point.
    pub exp: Box<[u8; 64]>,
}

/// Tunnelling models of differentiated services over MPLS (RFC 3270 section 2.6); they differ where the labels are
/// popped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tunnel {
    /// The traffic class of the labels is written into the packet.
    Uniform,
    /// The packet keeps its code point; the port by which it leaves the tunnel still schedules by the labels.
    Pipe,
    /// The packet keeps its code point, and the port by which it leaves the tunnel schedules by it.
    ShortPipe,
}

/// An application and the flows that carry it. Its name, group, start and stop are those of its first flow; a flow
/// belongs to at most one application, and its own model is not used.
#[derive(Clone, Debug)]
pub enum ApplicationPlan {
    /// A client and its server.
    Session {
        /// Behaviour of the client: any kind but transfers.
        law: Arc<Application>,
        /// Pairs of flows, for requests and for responses; as many as there are concurrent requests, at least one. All
        /// have the ends of the first request flow.
        channels: Vec<[u32; 2]>,
    },
    /// Transfers, each on an idle one of these flows, all of which have a transport.
    Transfers {
        /// Sizes and arrivals: of kind transfers.
        law: Arc<Application>,
        /// At least one.
        flows: Vec<u32>,
    },
}

impl ApplicationPlan {
    /// Returns its first flow.
    pub fn first(&self) -> u32 {
        match self {
            ApplicationPlan::Session { channels, .. } => channels[0][0],
            ApplicationPlan::Transfers { flows, .. } => flows[0],
        }
    }
    /// Returns its parameters.
    pub fn law(&self) -> &Arc<Application> {
        match self {
            ApplicationPlan::Session { law, .. } | ApplicationPlan::Transfers { law, .. } => law,
        }
    }
}

/// Hosts among which the ends of a group's flows are drawn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Among {
    /// Senders, at least one.
    pub from: Vec<NodeId>,
    /// Receivers, at least one.
    pub to: Vec<NodeId>,
    /// Method of the draw.
    pub draw: Draw,
}

/// Draw of the ends of flows; sender and receiver of a flow always differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Draw {
    /// Both uniformly, independently for each flow.
    Independent,
    /// Senders stay, and each gets a receiver of its own. The receivers are either the senders (then the permutation is
    /// one cycle) or as many other hosts.
    Permutation,
}

/// Detection, notification and response of a switch (Tobagi, Fraleigh and Noureddine). Output queues are watched, of a
/// crossbar the inputs, each of which notifies only the neighbour behind it.
#[derive(Clone, Debug, PartialEq)]
pub struct BackPressure {
    /// Traffic that a notification names, and so stops.
    pub scope: Scope,
    /// Detection of congestion in an output queue.
    pub detection: Detection,
    /// Neighbours that a congested queue notifies.
    pub notify: Notify,
    /// Source of the destination addresses in notifications.
    pub addresses: Addresses,
    /// `true`: each destination's virtual queue has the whole limit of the class.
    pub partition: bool,
    /// Response of a notified neighbour.
    pub response: Response,
    /// Signalling of notifications.
    pub signal: Signal,
    /// Time from the full reception of a notification to its effect.
    pub response_time: Dur,
    /// `true` if hosts are notified too.
    pub end_stations: bool,
}

/// Traffic that a notification names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// The whole port (IEEE 802.3 PAUSE).
    Plain,
    /// The class of the congested queue.
    Class,
    /// Destination addresses.
    Destination,
    /// Destination addresses within the class of the congested queue.
    ClassDestination,
}

/// Detection of congestion in an output queue.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Detection {
    /// Occupancy above `high` of the limit; ends below `low`.
    Watermark {
        /// Fraction of the limit, 0 to 1.
        high: f64,
        /// Fraction of the limit, 0 to `high`.
        low: f64,
    },
    /// Occupancy as forecast over `horizon` from its growth over the last `window`, not below the occupancy itself:
    /// above `high` of the limit; ends when the forecast is below `low`.
    FillRate {
        /// Fraction of the limit, 0 to 1.
        high: f64,
        /// Fraction of the limit, 0 to `high`.
        low: f64,
        /// Time over which growth is measured.
        window: Dur,
        /// Time over which it is extrapolated.
        horizon: Dur,
    },
}

/// Neighbours that a congested queue notifies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notify {
    /// Every neighbour but the one behind the congested port.
    All,
    /// Only those that sent into the congested queue since it was last empty.
    Feeding,
}

/// Source of the destination addresses in notifications.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Addresses {
    /// Destinations of the frames in the congested buffer, and of later arrivals while it is congested.
    Buffer,
    /// All destinations reached through the congested port.
    FilteringDatabase,
}

/// Response of a notified neighbour to the traffic in scope.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Response {
    /// Stops it.
    Block,
    /// Slows it: the rate is multiplied by `decrease` at the notification and at each `interval` while it is in force,
    /// not below `floor`; then it grows by `increase` each `interval`. Rates are fractions of the link's rate.
    Rate {
        /// Factor, above 0 and below 1.
        decrease: f64,
        /// Fraction of the link's rate, above 0 and at most 1.
        floor: f64,
        /// Fraction of the link's rate, above 0 and at most 1.
        increase: f64,
        /// Time between steps.
        interval: Dur,
    },
}

/// Signalling of notifications.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// A control frame for XOFF and one for XON per congested queue, stored by the receiver until cleared: the idealised
    /// mechanism of Tobagi, Fraleigh and Noureddine.
    OnOff,
    /// PAUSE (IEEE 802.3 annex 31B) or PFC (IEEE 802.1Qbb) frames with quanta, refreshed while congested.
    Mac {
        /// Quanta of 512 bit times in each XOFF, 1 to 65535.
        quanta: u16,
    },
}

/// A change during the run.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// Instant.
    pub at: Time,
    /// Change.
    pub what: ChangeKind,
}

/// Kind of a change.
#[derive(Clone, Debug, PartialEq)]
pub enum ChangeKind {
    /// A link, by index, goes down: frames on it are lost, queues wait, and both ends clear the notifications received
    /// over it.
    LinkDown(u32),
    /// A link comes up; queues that are congested notify over it again.
    LinkUp(u32),
    /// Both sides of a link take a new rate from the next frame on.
    LinkRate(u32, Rate),
    /// A link takes a new delay from the next frame on (order is kept).
    LinkDelay(u32, Dur),
    /// A host begins or ends to send PAUSE frames without end, as a broken network adapter does.
    PauseStorm {
        /// The host.
        node: NodeId,
        /// `true`: begins; `false`: ends.
        on: bool,
    },
    /// A flow, by index, starts or resumes sending.
    FlowStart(u32),
    /// A flow stops sending.
    FlowStop(u32),
    /// A switch gets new detection thresholds.
    Thresholds {
        /// The switch.
        node: NodeId,
        /// Fraction of the limit, 0 to 1.
        high: f64,
        /// Fraction of the limit, 0 to `high`.
        low: f64,
    },
}
