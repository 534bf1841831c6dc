//! Sources of flows.

use crate::conditioning::NONE;
use crate::plan::{FlowPlan, Plan};
use std::collections::BTreeMap;
use tailback_qdisc::Traits;
use tailback_random::Rng;
use tailback_traffic::{Burst, Source, user};
use tailback_units::Time;

/// Source of a flow without a transport.
#[derive(Debug)]
pub(super) struct Flow {
    /// Generator of bursts; `None`: the source has not started, or was stopped.
    pub(super) source: Option<Source>,
    pub(super) rng: Rng,
    /// Next burst, due at `next.at`.
    pub(super) next: Burst,
    /// Instant at which the source stops.
    pub(super) stop: Time,
    /// Port by which packets leave the sending host towards the receiver.
    pub(super) port: u32,
    /// Receiving host.
    pub(super) to: u16,
    /// Traits of the flow's packets: first of those generated during the warm-up, then of those generated later.
    pub(super) traits: [Traits; 2],
    /// Code point of the flow's packets.
    pub(super) code: u8,
    /// Sequence number of the next packet.
    pub(super) seq: u32,
    /// Lengths of the last packet, a cache: most packets of a flow have equal lengths.
    pub(super) last: LastLengths,
    /// Index of the conditioner at the flow's entry, or [`NONE`].
    pub conditioner: u32,
}

/// Payload, buffer bytes and wire bytes of a flow's last packet.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LastLengths {
    pub(super) payload: u32,
    pub(super) size: u32,
    pub(super) wire: u32,
}

/// Source of a flow with a transport.
#[derive(Debug)]
pub(super) struct Writer {
    /// Next burst, due at `next.at`.
    pub(super) next: Burst,
    /// Generator of the bursts; `None`: the source has not started, or has a single burst.
    pub(super) drawn: Option<Box<Drawn>>,
}

/// A source and its random stream; when the source is restarted, the random stream continues.
#[derive(Debug)]
pub(super) struct Drawn {
    /// Generator of bursts; `None`: the source was stopped.
    pub(super) source: Option<Source>,
    pub(super) rng: Rng,
}

/// Returns the random stream of a flow's source.
pub(super) fn stream(plan: &Plan, flow: &FlowPlan) -> Rng {
    Rng::named(plan.seed, &format!("source {}", flow.name()))
}

impl Flow {
    pub fn new(flow: &FlowPlan, port: u32, plan: &Plan) -> Flow {
        Flow {
            source: None,
            rng: stream(plan, flow),
            next: Burst::NONE,
            stop: flow.stop,
            port,
            to: flow.to,
            code: flow.code,
            traits: [false, true].map(|measured| Traits::data(flow.class, measured)),
            seq: 0,
            last: LastLengths::default(),
            conditioner: NONE,
        }
    }
}

impl Writer {
    pub fn new() -> Writer {
        Writer { next: Burst::NONE, drawn: None }
    }
}

/// Drops the source and rewinds its random stream to the state after the last burst emitted.
pub(super) fn stop_source(source: &mut Option<Source>, rng: &mut Rng) {
    if let Some(source) = source.take() {
        source.give_back(rng);
    }
}

/// A user-defined source of a flow, which outlives the stops of the flow.
#[derive(Debug)]
pub(super) struct UserSource {
    law: user::Shared,
    /// `true` if the source has been started.
    used: bool,
}

impl UserSource {
    /// Returns the source of a flow that has not started.
    pub fn new(law: user::Shared) -> UserSource {
        UserSource { law, used: false }
    }
}

/// Gives a source that has just started its user-defined law, if it has one.
pub(super) fn give_law(sources: &mut BTreeMap<u32, UserSource>, flow: u32, source: &mut Source, rng: &mut Rng) {
    if let Source::User(source) = source
        && let Some(user) = sources.get_mut(&flow)
    {
        source.install(&user.law, user.used, rng);
        user.used = true;
    }
}
