//! Flows and the draw of their ends. Flows are stored in few bytes each, since a plan may have a hundred thousand.

use super::NodeId;
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;
use tailback_traffic::Model;
use tailback_transport::Tcp;
use tailback_units::{Dur, Time};

/// A flow of packets. Parameters shared with other flows are stored once, and are copied when a flow's own are changed.
#[derive(Clone, Debug)]
pub struct FlowPlan {
    /// Unique name.
    pub name: FlowName,
    /// Sending host.
    pub from: NodeId,
    /// Receiving host.
    pub to: NodeId,
    /// Start of the source.
    pub start: Time,
    /// Parameters shared with other flows.
    pub kind: Arc<FlowKind>,
}

const _: () = assert!(size_of::<FlowPlan>() <= 40);

/// Parameters that flows share.
#[derive(Clone, Debug)]
pub struct FlowKind {
    /// Name of the group under which they are reported, such as `data`.
    pub group: String,
    /// Traffic class, below [`Plan::classes`](super::Plan::classes).
    pub class: u8,
    /// Code point of their packets and their acknowledgements, 0 to 63 (RFC 2474).
    pub code: u8,
    /// Upper bound of a random delay of the start, uniform.
    pub start_spread: Dur,
    /// Stop of the source; packets sent before continue, and a transport retransmits them if needed.
    pub stop: Time,
    /// Traffic model of the source.
    pub model: Model,
    /// Hosts from which sender and receiver are drawn in each run, in place of `from` and `to`.
    pub among: Option<Arc<Among>>,
    /// TCP that carries the flow; `None`: packets enter the network as the source generates them.
    pub transport: Option<Arc<Tcp>>,
    /// `true` if time series of their state are recorded.
    pub probe: bool,
}

/// Name of a flow, usually derived from its group.
#[derive(Clone, Debug)]
pub enum FlowName {
    /// The name of the group: the only flow in it.
    Group,
    /// The name of the group with an index, such as `data[3]`.
    Numbered(u32),
    /// Another name.
    Own(Arc<String>),
}

impl FlowPlan {
    /// Returns the name, such as `data[3]`, for display.
    pub fn name(&self) -> impl fmt::Display {
        DisplayName(self)
    }
}

/// Displays the name of a flow.
struct DisplayName<'a>(&'a FlowPlan);

impl fmt::Display for DisplayName<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let group = &self.0.kind.group;
        match &self.0.name {
            FlowName::Group => f.write_str(group),
            FlowName::Numbered(number) => write!(f, "{group}[{number}]"),
            FlowName::Own(name) => f.write_str(name),
        }
    }
}

impl Deref for FlowPlan {
    type Target = FlowKind;
    #[inline]
    fn deref(&self) -> &FlowKind {
        &self.kind
    }
}

impl DerefMut for FlowPlan {
    fn deref_mut(&mut self) -> &mut FlowKind {
        Arc::make_mut(&mut self.kind)
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
