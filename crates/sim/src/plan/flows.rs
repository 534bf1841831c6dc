//! Flows and the random choice of their hosts. A flow takes only a few bytes, since a plan may have a hundred thousand
//! flows.

use super::NodeId;
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;
use tailback_traffic::Model;
use tailback_transport::Tcp;
use tailback_units::{Dur, Time};

/// A flow of packets. Parameters that flows share are stored once; mutable access to them through a flow first makes a
/// copy for that flow.
#[derive(Clone, Debug, PartialEq)]
pub struct FlowPlan {
    /// Unique name.
    pub name: FlowName,
    /// Sending host.
    pub from: NodeId,
    /// Receiving host.
    pub to: NodeId,
    /// Start of the source, to which [`FlowKind::start_spread`] adds a random delay.
    pub start: Time,
    /// Parameters shared with other flows.
    pub kind: Arc<FlowKind>,
}

const _: () = assert!(size_of::<FlowPlan>() <= 40);

/// Parameters that flows share.
#[derive(Clone, Debug, PartialEq)]
pub struct FlowKind {
    /// Name of the group under which the flows are reported, such as `data`.
    pub group: String,
    /// Traffic class, below [`Plan::classes`](super::Plan::classes).
    pub class: u8,
    /// Code point of the flows' packets and acknowledgements, 0 to 63 (RFC 2474).
    pub code: u8,
    /// Upper bound of the random delay of the start, uniform from 0.
    pub start_spread: Dur,
    /// Instant at which the source stops; [`Time::NEVER`]: it does not. Packets sent before are still forwarded, and a
    /// transport still retransmits them.
    pub stop: Time,
    /// Traffic model of the source.
    pub model: Model,
    /// Hosts from which sender and receiver are drawn in each run in place of `from` and `to`; `None`: the flows
    /// connect `from` and `to`.
    pub among: Option<Arc<Among>>,
    /// TCP connection that carries the flow; `None`: packets enter the network as the source generates them.
    pub transport: Option<Arc<Tcp>>,
    /// `true` if time series of the flow's state are recorded.
    pub probe: bool,
}

/// Name of a flow, usually derived from its group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FlowName {
    /// The name of the group, which then has no other flow.
    Group,
    /// The name of the group with an index, such as `data[3]`.
    Numbered(u32),
    /// A name that does not derive from the group.
    Own(Arc<String>),
}

impl FlowPlan {
    /// Returns the name, such as `data[3]`, for display.
    pub fn name(&self) -> impl fmt::Display {
        DisplayName(self)
    }
}

/// Name of a flow, formatted on demand.
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
    /// Candidates for the sender, at least one.
    pub from: Vec<NodeId>,
    /// Candidates for the receiver, at least one.
    pub to: Vec<NodeId>,
    /// Method of the draw.
    pub draw: Draw,
}

/// Random choice of the hosts of flows; sender and receiver of a flow always differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Draw {
    /// Sender and receiver are drawn uniformly, independently for each flow.
    Independent,
    /// Each flow has a fixed sender, and each sender gets a receiver of its own. The receivers are either the senders
    /// themselves (the permutation is then a single cycle) or the same number of other hosts.
    Permutation,
}
