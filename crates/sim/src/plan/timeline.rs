//! Changes during the run.

use super::NodeId;
use tailback_units::{Dur, Rate, Time};

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
