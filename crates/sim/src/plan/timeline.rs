//! Changes during the run.

use super::{Fabric, NodeId, QueuePlan};
use tailback_qdisc::congestion_notification::{LimitersSpec, cp};
use tailback_traffic::Model;
use tailback_units::{Dur, Rate, Time};

/// A change during the run.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// Time of the change.
    pub at: Time,
    /// Kind and parameters of the change.
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
    /// A flow, by index, stops sending.
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
    /// The sides of a link, by index, get new rates from the next frame on.
    LinkRates(u32, [Rate; 2]),
    /// A link gets a new probability of loss, 0 to 1.
    LinkLoss(u32, f64),
    /// Both sides of a link get new upper bounds of their jitter, from the next frame on; frames stay in order.
    LinkJitter(u32, [Dur; 2]),
    /// A port's queues get new limits, new parameters of their discipline, or a shaper with other parameters. Packets
    /// that wait are kept, also above a new limit.
    Queue {
        /// Port: twice the link plus the sending side.
        port: u32,
        /// Queue with the new parameters and the old structure ([`super::changes`]).
        queue: Box<QueuePlan>,
    },
    /// The memory of a switch's fabric gets another size or threshold. Packets that wait are kept.
    Memory {
        /// The switch.
        node: NodeId,
        /// Fabric of the same model.
        fabric: Fabric,
    },
    /// The congestion points of a switch get new parameters.
    CongestionPoints {
        /// The switch.
        node: NodeId,
        /// Law of the same kind.
        law: Box<cp::Spec>,
    },
    /// The rate limiters of a node get new parameters.
    RateLimiters {
        /// The host or switch.
        node: NodeId,
        /// Parameters with the old structure.
        limiters: Box<LimitersSpec>,
    },
    /// A flow's source is replaced by one with other parameters, which starts now.
    Source {
        /// The flow.
        flow: u32,
        /// Traffic model.
        model: Box<Model>,
    },
    /// A flow sends this number of payload bytes, at least 1, in addition to its source.
    Inject {
        /// The flow.
        flow: u32,
        /// Payload bytes.
        bytes: u64,
    },
}

impl ChangeKind {
    /// Returns the link whose ports take the general form because of this change: a packet's departure there does not
    /// follow from its arrival. `None`: no port is affected.
    pub(crate) fn link(&self) -> Option<u32> {
        match *self {
            ChangeKind::LinkDown(link)
            | ChangeKind::LinkUp(link)
            | ChangeKind::LinkRate(link, _)
            | ChangeKind::LinkRates(link, _)
            | ChangeKind::LinkDelay(link, _)
            | ChangeKind::LinkJitter(link, _) => Some(link),
            ChangeKind::Queue { port, .. } => Some(port / 2),
            _ => None,
        }
    }
}
