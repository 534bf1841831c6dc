//! RACK: a segment is considered lost when another one that was sent sufficiently later has been delivered (RFC 8985).

use crate::seq::before;
use std::collections::VecDeque;
use tailback_units::{Dur, Time};

/// State of RACK and of the tail loss probe.
#[derive(Debug, Default)]
pub(super) struct Rack {
    /// Transmissions (time, segment) in the order of their times. Entries may be outdated, and are removed when they
    /// reach the front.
    pub order: VecDeque<(Time, u32)>,
    /// Time of the delivered transmission that was sent last (RACK.xmit_ts).
    sent: Time,
    /// Segment of that transmission.
    seq: u32,
    /// Round-trip time of that transmission (RACK.rtt).
    pub rtt: Dur,
    /// Minimum round-trip time; zero before the first sample.
    min_rtt: Dur,
    /// `true` after the first delivery.
    any: bool,
    /// Segment after the highest one delivered.
    highest: u32,
    /// `true` once reordering has been detected.
    reordering: bool,
    /// Reordering window in quarters of the minimum round-trip time (RACK.reo_wnd_mult), at least 1.
    quarters: u32,
    /// Remaining number of recoveries for which the window stays widened (RACK.reo_wnd_persist).
    persist: u32,
    /// First segment that had not been transmitted when the window was last widened. `None`: it was never widened.
    widened_at: Option<u32>,
    /// Outstanding tail loss probe: first, the first segment never transmitted after the probe was sent (TLP.end_seq);
    /// second, `true` if the probe was a retransmission. `None`: no probe is outstanding.
    pub probe: Option<(u32, bool)>,
}

/// Number of recoveries for which the reordering window stays widened (RFC 8985 section 6.2 step 4).
const PERSIST: u32 = 16;

impl Rack {
    pub fn new() -> Rack {
        Rack { quarters: 1, ..Rack::default() }
    }

    /// Processes the delivery of segment `seq` at `now`, whose last transmission was at `sent` (section 6.2 steps 1 to
    /// 3). `retransmitted`: it was ever retransmitted; `echo`: the echoed timestamp.
    pub fn delivered(&mut self, seq: u32, sent: Time, retransmitted: bool, now: Time, echo: Time) {
        if !self.any {
            self.highest = seq;
        }
        if before(self.highest, seq.wrapping_add(1)) {
            self.highest = seq.wrapping_add(1);
        } else if !retransmitted {
            self.reordering = true;
        }
        let rtt = now.since(sent);
        if retransmitted && (echo < sent || rtt < self.min_rtt) {
            // The original may have been delivered, not the retransmission.
            return;
        }
        if !retransmitted {
            self.min_rtt = if self.min_rtt == Dur::ZERO { rtt } else { self.min_rtt.min(rtt) };
        }
        if !self.any || self.sent < sent || (self.sent == sent && before(self.seq, seq)) {
            self.sent = sent;
            self.seq = seq;
            self.rtt = rtt;
            self.any = true;
        }
    }

    /// Returns `true` if the delivered transmission that was sent last came after the transmission of `seq` at `sent`.
    pub fn is_after(&self, sent: Time, seq: u32) -> bool {
        self.any && (sent < self.sent || (sent == self.sent && before(seq, self.seq)))
    }

    /// Widens the reordering window at the report of a duplicate, at most once per round trip (step 4). `una`: first
    /// segment not acknowledged; `next`: first segment never transmitted.
    pub fn widen(&mut self, una: u32, next: u32) {
        if self.widened_at.is_none_or(|at| !before(una, at)) {
            self.widened_at = Some(next);
            self.quarters += 1;
            self.persist = PERSIST;
        }
    }

    /// Processes the end of a recovery: after [`PERSIST`] recoveries the window is no longer widened.
    pub fn recovered(&mut self) {
        if self.persist > 0 {
            self.persist -= 1;
            if self.persist == 0 {
                self.quarters = 1;
            }
        }
    }

    /// Returns the reordering window (RACK_update_reo_wnd). `many_sacked`: at least `dup-thresh` segments are SACKed.
    pub fn window(&self, srtt: Dur, recovering: bool, many_sacked: bool) -> Dur {
        if !self.reordering && (recovering || many_sacked) {
            return Dur::ZERO;
        }
        let window = self.min_rtt * u64::from(self.quarters) / 4;
        // The bound SRTT does not apply before the first sample.
        if srtt == Dur::ZERO { window } else { window.min(srtt) }
    }
}
