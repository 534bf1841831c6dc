//! State that few senders need, allocated at first use.

use super::reserve::{Marks, Reserve};
use super::sampler::Sampler;
use super::state::RareCounts;
use crate::cc::{Profile, Window};
use crate::rtt::Rounds;
use crate::seq::before;
use crate::wire::Block;
use std::collections::VecDeque;
use tailback_units::Time;

/// Pacing, the control's timer, and the sampler of the delivery rate.
#[derive(Debug, Default)]
pub(super) struct Pace {
    /// Earliest time of the next segment.
    pub release: Time,
    /// `true` if a segment waits only for `release`.
    pub holds: bool,
    /// Number of data segments that the connection has sent, retransmissions included.
    pub sent: u64,
    /// Sampler of the delivery rate; `None` if the control does not use it.
    pub sampler: Option<Box<Sampler>>,
}

impl Pace {
    /// Returns the state that a control with this profile needs from the start; `None`: none. `as_linux`: by the rules of
    /// Linux; `handshake`: the connection begins with a SYN.
    pub fn new(profile: &Profile, as_linux: bool, handshake: bool) -> Option<Pace> {
        let sampler = profile.samples_rate.then(|| Box::new(Sampler::new(as_linux, handshake)));
        (profile.samples_rate || profile.wakes).then(|| Pace { sampler, ..Pace::default() })
    }
}

/// Cold state of a sender.
#[derive(Debug, Default)]
pub(super) struct ColdState {
    /// Segments that are not full, in order: index among all segments offered since the start, and payload bytes.
    pub short: VecDeque<(u64, u16)>,
    /// Window before the last reduction. `None`: the reduction cannot be undone.
    pub prior: Option<Window>,
    /// Time of the first retransmission of this recovery, for Eifel; [`Time::NEVER`]: not retransmitted yet. `None`:
    /// Eifel waits for no acknowledgement.
    pub eifel: Option<Time>,
    /// Retransmissions since the last reduction, for `dsack-undo`. `None`: duplicates undo nothing.
    pub dsack_watch: Option<DsackWatch>,
    /// Deviations of the round-trip time, for `timers.form = "linux"`.
    pub rounds: Rounds,
    /// Use of the window, for `window-validation = "round"`.
    pub window_use: WindowUse,
    /// Transmissions before the time that pacing allows, in Linux, in order: their time, and the later one that their
    /// timestamp has.
    pub early: VecDeque<(Time, Time)>,
    /// Counts of rare events.
    pub counts: RareCounts,
    /// State of the reservation; `None`: there is none.
    pub reserve: Option<Box<Reserve>>,
    /// Marks of the outstanding segments.
    pub marks: Marks,
}

impl ColdState {
    /// Returns the timestamp of the transmission at `echo`, whose acknowledgement arrives at `now`. Transmissions before
    /// it are forgotten once their timestamps are over.
    pub fn stamp(&mut self, now: Time, echo: Time) -> Time {
        while self.early.front().is_some_and(|(sent, stamp)| *sent < echo && *stamp < now) {
            self.early.pop_front();
        }
        self.early.iter().find(|(sent, _)| *sent == echo).map_or(echo, |(_, stamp)| *stamp)
    }

    /// Processes the report of a duplicate. Returns `true` if duplicates have been reported for all retransmissions
    /// since the last reduction (RFC 3708 section 3), so that no segment was lost.
    pub fn all_retransmissions_duplicated(&mut self, reported: Block) -> bool {
        let Some(dsack_watch) = &mut self.dsack_watch else { return false };
        if dsack_watch.unreported == 0 || before(reported.start, dsack_watch.from) {
            return false;
        }
        dsack_watch.unreported = dsack_watch.unreported.saturating_sub(reported.end.wrapping_sub(reported.start));
        dsack_watch.unreported == 0
    }
}

/// Retransmissions since a reduction (RFC 3708 section 3).
#[derive(Clone, Copy, Debug)]
pub(super) struct DsackWatch {
    /// First segment not acknowledged at the reduction.
    pub from: u32,
    /// Number of retransmissions since the reduction plus those outstanding at the reduction, minus the duplicates
    /// reported.
    pub unreported: u32,
}

/// Use of the window in a round trip (Linux's `tcp_cwnd_validate`).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct WindowUse {
    /// Maximum number of segments outstanding.
    pub flight: u32,
    /// Segment whose acknowledgement ends the round trip.
    pub until: u32,
}

impl WindowUse {
    /// Records that the segments `una` to `max - 1` are outstanding.
    pub fn record(&mut self, una: u32, max: u32) {
        let flight = max.wrapping_sub(una);
        if !before(una, self.until) || flight > self.flight {
            *self = WindowUse { flight, until: max };
        }
    }
}
