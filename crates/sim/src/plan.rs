//! What to simulate, as plain data: the hand-over from a scenario to the engine.
//!
//! Names have been resolved to indices, units to integers and patterns to lists; the engine checks
//! nothing again that the scenario crate has checked, except by assertion.

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

/// A whole run, before its first event.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Hosts and switches.
    pub nodes: Vec<NodePlan>,
    /// Full-duplex links.
    pub links: Vec<LinkPlan>,
    /// Flows of packets from one host to another.
    pub flows: Vec<FlowPlan>,
    /// What sends over some of the flows in place of their models.
    pub applications: Vec<ApplicationPlan>,
    /// Next hops.
    pub routes: Routes,
    /// How many bytes a payload takes in a buffer and on the wire.
    pub framing: Framing,
    /// Number of traffic classes, 1 to 8; class 0 is the highest.
    pub classes: u8,
    /// The run's seed: all streams derive from it.
    pub seed: u64,
    /// Packets born before this instant are carried but not measured.
    pub warmup: Time,
    /// The run's last instant; events at it still happen.
    pub end: Time,
    /// Interval of the time series; none records no series.
    pub sample: Option<Dur>,
    /// Whether each flow keeps a delay histogram of its own (each class always has one).
    pub per_flow_delay: bool,
    /// Whether the variation of delays is measured, by group of flows and where each flow keeps a
    /// histogram also by flow.
    pub delay_variation: bool,
    /// Meters, markers and policers.
    pub conditioners: Vec<ConditionerPlan>,
    /// Links over which packets go with a stack of MPLS labels; at most one for each port.
    pub labels: Vec<LabelPlan>,
    /// Changes at given instants, in order of time.
    pub timeline: Vec<Change>,
    /// Which engine to use; both give the same digest.
    pub engine: Engine,
}

/// How the engine carries packets over FIFO ports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Engine {
    /// One event per hop where a port is a plain FIFO that nothing can stop.
    #[default]
    Merged,
    /// Two events per hop everywhere: slower and simpler, kept as the reference.
    Plain,
}

/// Which length of a packet counts where. All lengths in bytes.
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
    /// What a buffer counts.
    pub buffer: Length,
}

/// One of the three lengths of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Length {
    /// What the source handed over.
    Payload,
    /// Payload and header, padded to the least frame.
    Frame,
    /// Frame, preamble and gap.
    Wire,
}

/// A host or a switch.
#[derive(Clone, Debug)]
pub struct NodePlan {
    /// Unique name.
    pub name: String,
    /// What it is.
    pub kind: NodeKind,
}

/// What a node is.
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
    /// Whether it obeys back-pressure notifications.
    pub obeys: bool,
    /// Rate limiters in its ports; none has no reaction point here.
    pub limiters: Option<Box<LimitersSpec>>,
}

/// A switch's parameters.
#[derive(Clone, Debug)]
pub struct SwitchPlan {
    /// Time from the end of reception to the output queue.
    pub latency: Dur,
    /// Where frames wait and how they get across.
    pub fabric: Fabric,
    /// What it does about congestion; none does nothing but drop.
    pub backpressure: Option<BackPressure>,
    /// The congestion points at its output queues, but for those with rate limiters; none has none. In all
    /// the network there are at most [`Tag::MAX_POINTS`] of them, or 65535 if their law reads no tags.
    pub notification: Option<Box<cp::Spec>>,
    /// Rate limiters in its ports towards other switches; none has no reaction points.
    pub limiters: Option<Box<LimitersSpec>>,
    /// What it does about PAUSE frames without end; none obeys them.
    pub watchdog: Option<Watchdog>,
}

/// A switch's memory and crossing.
#[derive(Clone, Debug, PartialEq)]
pub enum Fabric {
    /// Non-blocking; frames wait at the output only.
    OutputQueued,
    /// Output queues share one memory under dynamic thresholds (Choudhury and Hahne 1998): a queue
    /// may hold at most alpha times the free memory.
    SharedMemory {
        /// The whole memory in buffer bytes.
        memory: u64,
        /// Share of the free memory that one queue may take, above 0.
        alpha: f64,
    },
    /// Output queues in one memory that is accounted by input and class, with headroom for what arrives
    /// after a neighbour was told to stop (802.1Qbb).
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
        /// Limit of each queue, of an output and class at an input, in buffer bytes; `u64::MAX` is none but the memory.
        output_buffer: u64,
        /// Crossing speed relative to the output's rate, at least 1.
        speedup: f64,
    },
    /// Output queues; a frame may leave while its tail still arrives.
    CutThrough {
        /// Bytes of the frame that must have arrived before the decision.
        header: u32,
    },
}

/// A switch's memory as priority-based flow control has it. All in buffer bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SharedBufferPlan {
    /// The whole memory.
    pub memory: u64,
    /// An input's class may take one part in two to this power of what is free, 0 to 16.
    pub shift: u8,
    /// What each input and class has to itself.
    pub reserve: u64,
    /// How far below its threshold an input's class must fall before its neighbour goes on.
    pub resume: u64,
    /// What each input and class has for frames that come after its neighbour was told to stop; none is
    /// what its link needs.
    pub headroom: Option<u64>,
}

/// What a switch does about a neighbour that keeps one of its ports paused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Watchdog {
    /// A pause that lasts so long is a storm: it is ignored from then on.
    pub after: Dur,
    /// PAUSE frames are obeyed again when none has come for so long.
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
    /// What the line carries of a frame beyond its wire bytes, never less than these. Neither end of a link that has one
    /// is a cut-through switch.
    pub accounting: Option<Accounting>,
    /// The egress queue of each side.
    pub queue: [QueuePlan; 2],
}

impl fmt::Debug for LinkPlan {
    /// Without what is absent, so that the effect of documents without it stays what it was.
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
    /// Packets in a FIFO between the discipline and the shaper or the line, at least 1; none without.
    pub ring: Option<u32>,
    /// What delays packets until they conform; none without.
    pub shaper: Option<ShaperPlan>,
}

/// A shaper in front of a line: what leaves in any interval of length t is at most burst + rate · t.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShaperPlan {
    /// Rate after shaping, above 0.
    pub rate: Rate,
    /// Depth of the bucket in bytes, above 0.
    pub burst: u64,
    /// Bytes counted of each packet beyond what buffers count.
    pub accounting: tailback_qdisc::Accounting,
}

/// A traffic conditioner (RFC 2475): a meter that gives packets a colour, and perhaps a policer that
/// drops some.
#[derive(Clone, Debug, PartialEq)]
pub struct ConditionerPlan {
    /// Unique name, such as `data` or `edge->core egress 1`.
    pub name: String,
    /// Where it works.
    pub place: Place,
    /// The flows that it is for, ascending; none is all, their acknowledgements included. At a port
    /// the first conditioner that is for a packet's flow takes it.
    pub flows: Option<Vec<u32>>,
    /// Of these flows' packets, those that it is for; none is all. Only at ports.
    pub matches: Option<Match>,
    /// Whether each flow has a meter of its own, rather than one for all.
    pub per_flow: bool,
    /// By what the stream is judged; sizes are those that buffers count, and `accounting`.
    pub meter: tailback_diffserv::Meter,
    /// Bytes that the meter counts of each packet beyond what buffers count.
    pub accounting: tailback_qdisc::Accounting,
    /// Packets of this colour and of worse ones are dropped.
    pub police: Option<tailback_diffserv::Colour>,
    /// What is done with green, yellow and red packets.
    pub actions: [Action; 3],
}

/// What a conditioner does with a packet of a colour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Action {
    /// It is dropped.
    pub drop: bool,
    /// It gets this code point, 0 to 63.
    pub dscp: Option<u8>,
    /// The upper three bits of its code point become this, 0 to 7.
    pub precedence: Option<u8>,
    /// It moves into this class, below [`Plan::classes`].
    pub class: Option<u8>,
}

/// Where a conditioner works. Ports are numbered by twice their link and the side that sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Where a flow enters the network: in the sending host, before its queue.
    Source,
    /// Before the queue of a port.
    Egress {
        /// The port.
        port: u32,
    },
    /// Behind the line of a port, in the switch that it leads to.
    Ingress {
        /// The port.
        port: u32,
    },
}

/// A label stack (RFC 3031, RFC 3032) on the packets that leave by a port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LabelPlan {
    /// The port: twice the link and the side that sends.
    pub port: u32,
    /// Entries of the stack, 4 bytes each.
    pub labels: u8,
    /// What the traffic class field has to do with the code point under the labels.
    pub tunnel: Tunnel,
    /// The traffic class field of packets that get their labels here, by code point.
    pub exp: Box<[u8; 64]>,
}

/// Tunnelling models of differentiated services over MPLS (RFC 3270 section 2.6), told apart where the
/// labels are taken off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tunnel {
    /// What the labels say goes into the packet.
    Uniform,
    /// The packet keeps its code point; the port by which it leaves the tunnel still goes by the labels.
    Pipe,
    /// The packet keeps its code point, and the port by which it leaves the tunnel goes by that.
    ShortPipe,
}

/// An application and the flows that carry it. Its name, group, start and stop are those of its first
/// flow; a flow is part of one application, and its model is not asked.
#[derive(Clone, Debug)]
pub enum ApplicationPlan {
    /// A client and its server.
    Session {
        /// What the client does: any but transfers.
        law: Arc<Application>,
        /// Flows for requests and for responses, as many pairs as there are requests at a time, at
        /// least one. The first request flow's ends are those of all.
        channels: Vec<[u32; 2]>,
    },
    /// Transfers, each on a free one of these flows, all of which have a transport.
    Transfers {
        /// How large they are and how often they come: of kind transfers.
        law: Arc<Application>,
        /// At least one.
        flows: Vec<u32>,
    },
}

impl ApplicationPlan {
    /// Its first flow.
    pub fn first(&self) -> u32 {
        match self {
            ApplicationPlan::Session { channels, .. } => channels[0][0],
            ApplicationPlan::Transfers { flows, .. } => flows[0],
        }
    }
    /// What it does.
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
    /// How.
    pub draw: Draw,
}

/// How the ends of flows are drawn. No flow's receiver is its sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Draw {
    /// Both uniformly, each flow for itself.
    Independent,
    /// The sender stays, and each has a receiver of its own. There are as many receivers as senders,
    /// which are all of them (then the permutation is one cycle) or none of them.
    Permutation,
}

/// Detection, notification and response of a switch (Tobagi, Fraleigh and Noureddine). What is watched are its output
/// queues; of a crossbar the inputs, of which each tells the neighbour behind it alone.
#[derive(Clone, Debug, PartialEq)]
pub struct BackPressure {
    /// What a notification names, and so what stops.
    pub scope: Scope,
    /// When an output queue counts as congested.
    pub detection: Detection,
    /// Whom a congested queue notifies.
    pub notify: Notify,
    /// Where a destination list comes from.
    pub addresses: Addresses,
    /// Each destination's virtual queue has the class's whole limit to itself.
    pub partition: bool,
    /// What a notified neighbour does.
    pub response: Response,
    /// How notifications travel.
    pub signal: Signal,
    /// From the full reception of a notification to its effect.
    pub response_time: Dur,
    /// Whether hosts are notified too.
    pub end_stations: bool,
}

/// What a notification names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Nothing: the whole port stops (802.3x).
    Plain,
    /// The class of the congested queue.
    Class,
    /// Destination addresses.
    Destination,
    /// Destination addresses within the class of the congested queue.
    ClassDestination,
}

/// When an output queue counts as congested.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Detection {
    /// Occupancy above `high` of the limit, until below `low`.
    Watermark {
        /// Fraction of the limit, 0 to 1.
        high: f64,
        /// Fraction of the limit, 0 to `high`.
        low: f64,
    },
    /// Occupancy as forecast over `horizon` from its growth over the last `window`, never below the
    /// occupancy itself: above `high` of the limit, until the forecast is below `low`.
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

/// Whom a congested queue notifies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notify {
    /// Every neighbour but the one behind the congested port.
    All,
    /// Only those that have sent into the congested queue since it last was empty.
    Feeding,
}

/// Where a destination list comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Addresses {
    /// The frames in the congested buffer, and later arrivals while it is congested.
    Buffer,
    /// All addresses reached through the congested port.
    FilteringDatabase,
}

/// What a notified neighbour does with the traffic in scope.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Response {
    /// Stops it.
    Block,
    /// Slows it: the rate is multiplied by `decrease` at the notification and at each `interval`
    /// while it lasts, not below `floor`; once cleared it grows by `increase` each `interval`.
    /// Rates are fractions of the link's rate.
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

/// How notifications travel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// One control frame for XOFF and one for XON per congested queue, remembered by the receiver
    /// until cleared: the idealised mechanism of the deck.
    OnOff,
    /// 802.3x Annex 31B or 802.1Qbb frames with quanta, refreshed while congested.
    Mac {
        /// Quanta of 512 bit times in each XOFF, 1 to 65535.
        quanta: u16,
    },
}

/// A change at a given instant.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// When.
    pub at: Time,
    /// What.
    pub what: ChangeKind,
}

/// What changes.
#[derive(Clone, Debug, PartialEq)]
pub enum ChangeKind {
    /// A link, by index, stops carrying: frames on it are lost, queues wait, and both ends forget
    /// the notifications that came over it.
    LinkDown(u32),
    /// A link carries again; queues that are congested by then notify over it anew.
    LinkUp(u32),
    /// Both sides of a link take a new rate from the next frame on.
    LinkRate(u32, Rate),
    /// A link takes a new delay from the next frame on (order is kept).
    LinkDelay(u32, Dur),
    /// A host begins to send PAUSE frames without end, as a broken adapter does, or stops that.
    PauseStorm {
        /// The host.
        node: NodeId,
        /// Whether it begins.
        on: bool,
    },
    /// A flow, by index, starts or resumes sending.
    FlowStart(u32),
    /// A flow stops sending.
    FlowStop(u32),
    /// A switch's thresholds become these fractions.
    Thresholds {
        /// The switch.
        node: NodeId,
        /// Fraction of the limit, 0 to 1.
        high: f64,
        /// Fraction of the limit, 0 to `high`.
        low: f64,
    },
}
