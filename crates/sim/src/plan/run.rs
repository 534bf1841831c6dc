//! A run: the network, its traffic, its duration, and what it records.

use super::{
    ApplicationPlan, Change, ConditionerPlan, FlowPlan, LabelPlan, LinkPlan, NodeId, NodeKind, NodePlan, Record,
    Routes, SwitchPlan, TracePlan,
};
use tailback_units::{Dur, Time};

/// A run before its first event.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Hosts and switches.
    pub nodes: Vec<NodePlan>,
    /// Full-duplex links.
    pub links: Vec<LinkPlan>,
    /// Flows of packets between hosts.
    pub flows: Vec<FlowPlan>,
    /// Applications, which drive some of the flows in place of their traffic models.
    pub applications: Vec<ApplicationPlan>,
    /// Next hops from each node to each destination.
    pub routes: Routes,
    /// Bytes that are added to payloads, and the length that counts against buffer limits.
    pub framing: Framing,
    /// Number of traffic classes, 1 to 8; class 0 is the highest.
    pub classes: u8,
    /// Seed of the run; all random streams derive from it.
    pub seed: u64,
    /// End of the warm-up; packets generated before this instant are forwarded but not measured.
    pub warmup: Time,
    /// Last instant of the run; events at this instant are still handled.
    pub end: Time,
    /// Interval of the time series; `None`: no series.
    pub sample: Option<Dur>,
    /// `true` if each flow has its own delay histogram; each class always has one.
    pub per_flow_delay: bool,
    /// `true` if delay variation is measured: for each group of flows, and for each flow if `per_flow_delay` is set.
    pub delay_variation: bool,
    /// Records besides the statistics.
    pub record: Record,
    /// Meters, markers and policers.
    pub conditioners: Vec<ConditionerPlan>,
    /// MPLS label stacks, at most one per port.
    pub labels: Vec<LabelPlan>,
    /// Changes during the run, in ascending order of time; changes at one instant are applied in the order of the list.
    pub timeline: Vec<Change>,
    /// Parts of the network that may be changed while the run is stepped through, besides those that the timeline
    /// changes.
    pub tunable: Tunable,
    /// Packet trace; `None`: the run writes none.
    pub trace: Option<Box<TracePlan>>,
    /// Event scheme; both give the same digest.
    pub engine: Engine,
}

impl Plan {
    /// Returns the parameters of a node that is a switch.
    pub(crate) fn switch(&self, node: NodeId) -> Option<&SwitchPlan> {
        match &self.nodes[usize::from(node)].kind {
            NodeKind::Switch(switch) => Some(switch),
            NodeKind::Host(_) => None,
        }
    }
}

/// Parts of a network that may be changed while a run is stepped through. The choice has no effect on results.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tunable {
    /// Indices of the links that may be changed, or whose queues may be changed, ascending; their ports are simulated
    /// with two events per packet even under [`Engine::Merged`].
    pub links: Vec<u32>,
    /// Hosts that may start storms of PAUSE frames during the run.
    pub storms: Vec<NodeId>,
}

/// Event scheme of FIFO ports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Engine {
    /// One event per hop at ports at which the departure of a packet is known when it arrives, two at other ports.
    #[default]
    Merged,
    /// Two events per hop at every port: slower and simpler, the reference for `Merged`.
    Plain,
}

/// Lengths of a packet, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Framing {
    /// Maximum payload of one packet, bytes.
    pub mtu: u32,
    /// Bytes added to the payload to form a frame (Ethernet: 14 of header and 4 of check sequence).
    pub header: u32,
    /// Minimum frame length, bytes; shorter frames are padded (Ethernet: 64).
    pub min_frame: u32,
    /// Bytes added to the frame on the wire (Ethernet: 8 of preamble and 12 of inter-frame gap).
    pub overhead: u32,
    /// Length that counts against buffer limits.
    pub buffer: Length,
}

/// Part of a packet whose bytes are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Length {
    /// Payload: the bytes that the source handed over.
    Payload,
    /// Payload and header, padded to [`Framing::min_frame`].
    Frame,
    /// Frame, preamble and inter-frame gap.
    Wire,
}
