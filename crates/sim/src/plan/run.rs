//! A run: the network, its traffic, and its length.

use super::{
    ApplicationPlan, Change, ConditionerPlan, FlowPlan, LabelPlan, LinkPlan, NodeId, NodeKind, NodePlan, Routes,
    SwitchPlan,
};
use tailback_units::{Dur, Time};

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

impl Plan {
    /// Returns the parameters of a node that is a switch.
    pub(crate) fn switch(&self, node: NodeId) -> Option<&SwitchPlan> {
        match &self.nodes[usize::from(node)].kind {
            NodeKind::Switch(switch) => Some(switch),
            NodeKind::Host(_) => None,
        }
    }
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
