//! State that few senders need, allocated at first use.

use super::reserve::{Marks, Reserve};
use super::sampler::Sampler;
use super::state::RareCounts;
use crate::cc::Window;
use crate::seq::before;
use crate::wire::Block;
use std::collections::VecDeque;
use tailback_units::Time;

/// Pacing, and the sampler of the delivery rate.
#[derive(Debug, Default)]
pub(super) struct Pace {
    /// Earliest time of the next segment.
    pub release: Time,
    /// `true` if a segment waits for that time only.
    pub holds: bool,
    /// Sampler of the delivery rate; `None` if the control does not use it.
    pub sampler: Option<Box<Sampler>>,
}

/// Cold state of a sender.
#[derive(Debug, Default)]
pub(super) struct ColdState {
    /// Segments that are not full: their index among all segments offered, and payload bytes.
    pub short: VecDeque<(u64, u16)>,
    /// Window before the last reduction. `None`: the reduction cannot be undone.
    pub prior: Option<Window>,
    /// Transmission of the first retransmission of this recovery, for Eifel; [`Time::NEVER`] before it. `None`: Eifel
    /// awaits no acknowledgement.
    pub eifel: Option<Time>,
    /// Retransmissions since the last reduction, for `dsack-undo`.
    pub doubt: Option<Doubt>,
    /// Use of the window, for `window-validation = "round"`.
    pub used: Used,
    pub counts: RareCounts,
    pub reserve: Option<Box<Reserve>>,
    pub marks: Marks,
}

impl ColdState {
    /// Processes the report of a duplicate; returns `true` if all retransmissions since the last reduction have arrived
    /// twice (RFC 3708 section 3), so that no segment was lost.
    pub fn was_needless(&mut self, reported: Block) -> bool {
        let Some(doubt) = &mut self.doubt else { return false };
        if doubt.unreported == 0 || before(reported.start, doubt.from) {
            return false;
        }
        doubt.unreported = doubt.unreported.saturating_sub(reported.end.wrapping_sub(reported.start));
        doubt.unreported == 0
    }
}

/// Retransmissions since a reduction (RFC 3708 section 3).
#[derive(Clone, Copy, Debug)]
pub(super) struct Doubt {
    /// First segment not acknowledged at the reduction.
    pub from: u32,
    /// Number of retransmissions since the reduction plus those outstanding at the reduction, minus the duplicates
    /// reported.
    pub unreported: u32,
}

/// Use of the window in a round trip (Linux's `tcp_cwnd_validate`).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Used {
    /// Maximum of the segments outstanding.
    pub flight: u32,
    /// Segment whose acknowledgement ends the round trip.
    pub until: u32,
}

impl Used {
    /// Records that the segments `una` to `max - 1` are outstanding.
    pub fn note(&mut self, una: u32, max: u32) {
        let flight = max.wrapping_sub(una);
        if !before(una, self.until) || flight > self.flight {
            *self = Used { flight, until: max };
        }
    }
}
