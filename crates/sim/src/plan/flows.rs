//! Flows: what each is, in few bytes, since a plan may have a hundred thousand.

use super::{Among, NodeId};
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;
use tailback_traffic::Model;
use tailback_transport::Tcp;
use tailback_units::{Dur, Time};

/// A flow of packets. What it has in common with others is kept once for all of them and read as if it were its own;
/// written, it becomes its own.
#[derive(Clone, Debug)]
pub struct FlowPlan {
    /// Unique name.
    pub name: FlowName,
    /// Sending host.
    pub from: NodeId,
    /// Receiving host.
    pub to: NodeId,
    /// When the source starts.
    pub start: Time,
    /// What it has in common with others.
    pub kind: Arc<FlowKind>,
}

const _: () = assert!(size_of::<FlowPlan>() <= 40);

/// What flows have in common.
#[derive(Clone, Debug)]
pub struct FlowKind {
    /// Name of the group that they are reported with, such as `data`.
    pub group: String,
    /// Traffic class, below [`Plan::classes`](super::Plan::classes).
    pub class: u8,
    /// Code point of their packets and their acknowledgements, 0 to 63 (RFC 2474).
    pub code: u8,
    /// The start is drawn uniformly from `start` to so much later.
    pub start_spread: Dur,
    /// When the source stops; packets already sent go on, and a transport repeats them if need be.
    pub stop: Time,
    /// What they send.
    pub model: Model,
    /// Draws sender and receiver anew in each run from these, in place of `from` and `to`.
    pub among: Option<Arc<Among>>,
    /// TCP that carries them; none hands packets to the network as the source makes them.
    pub transport: Option<Arc<Tcp>>,
    /// Whether time series of their state are kept.
    pub probe: bool,
}

/// A flow's name: as a rule it follows from that of its group.
#[derive(Clone, Debug)]
pub enum FlowName {
    /// That of the group: it is alone there.
    Group,
    /// That of the group with a number, such as `data[3]`.
    Numbered(u32),
    /// Another.
    Own(Arc<String>),
}

impl FlowPlan {
    /// Its name, such as `data[3]`, to be written out.
    pub fn name(&self) -> impl fmt::Display {
        Written(self)
    }
}

/// The name of a flow.
struct Written<'a>(&'a FlowPlan);

impl fmt::Display for Written<'_> {
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
