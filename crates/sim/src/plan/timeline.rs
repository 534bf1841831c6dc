//! Changes during the run.

use super::NodeId;
use tailback_units::{Dur, Rate, Time};

/// A change during the run.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// Time of the change.
    pub at: Time,
    /// The change itself.
    pub what: ChangeKind,
}

/// Kind of a change.
#[derive(Clone, Debug, PartialEq)]
pub enum ChangeKind {
    /// A link, by index, goes down: frames on it are lost, queues wait, and both ends clear the notifications that they
    /// received over it.
    LinkDown(u32),
    /// A link comes up; congested queues send their notifications over it again.
    LinkUp(u32),
    /// Both sides of a link get a new rate from the next frame on.
    LinkRate(u32, Rate),
    /// A link gets a new delay from the next frame on; frames stay in order.
    LinkDelay(u32, Dur),
    /// A host starts or stops sending PAUSE frames continuously, as a faulty network adapter does.
    PauseStorm {
        /// The host.
        node: NodeId,
        /// `true`: the storm starts; `false`: it stops.
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
