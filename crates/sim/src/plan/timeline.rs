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
    /// A link, by index, comes up; congested queues send their notifications over it again.
    LinkUp(u32),
    /// Both sides of a link, by index, get the same new rate from the next frame on.
    LinkRate(u32, Rate),
    /// A link, by index, gets a new propagation delay from the next frame on; frames stay in order.
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
    /// The back-pressure of a switch gets new detection thresholds.
    Thresholds {
        /// The switch.
        node: NodeId,
        /// Threshold above which congestion begins, as a fraction of the limit, 0 to 1.
        high: f64,
        /// Threshold below which congestion ends, as a fraction of the limit, 0 to `high`.
        low: f64,
    },
    /// The sides of a link, by index, get new rates from the next frame on.
    LinkRates(u32, [Rate; 2]),
    /// A link, by index, gets a new probability of loss, 0 to 1.
    LinkLoss(u32, f64),
    /// The sides of a link, by index, get new upper bounds of their jitter from the next frame on; frames stay in
    /// order.
    LinkJitter(u32, [Dur; 2]),
    /// A port's queues get new limits, new parameters of their discipline, or a shaper with other parameters. Waiting
    /// packets are kept even if they exceed a new limit.
    Queue {
        /// Port: twice the link plus the sending side.
        port: u32,
        /// Queue that differs from the present one in limits and parameters only ([`super::changes`]).
        queue: Box<QueuePlan>,
    },
    /// The memory of a switch's fabric gets another size or threshold. Waiting packets are kept.
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
        /// New parameters, which [`LimitersSpec::check_retune`] accepts.
        limiters: Box<LimitersSpec>,
    },
    /// A flow's source is replaced by one with other parameters, which starts at the time of the change.
    Source {
        /// Index of the flow.
        flow: u32,
        /// Traffic model, of the same kind as the present one.
        model: Box<Model>,
    },
    /// A flow sends payload in addition to that of its source.
    Inject {
        /// Index of the flow.
        flow: u32,
        /// Payload bytes, at least 1.
        bytes: u64,
    },
}

impl ChangeKind {
    /// Returns the link whose ports must be simulated with two events per packet because of this change: the departure
    /// of a packet there is not known at its arrival. `None`: no port is affected.
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
