//! RACK: a segment is lost when one that was sent sufficiently later has been delivered (RFC 8985).

use crate::seq::before;
use std::collections::VecDeque;
use tailback_units::{Dur, Time};

/// State of RACK and of its tail loss probe.
#[derive(Debug, Default)]
pub(super) struct Rack {
    /// All transmissions in the order of their times; those overtaken by events are dropped when met.
    pub order: VecDeque<(Time, u32)>,
    /// The delivered transmission that was sent last.
    sent: Time,
    seq: u32,
    /// Its round-trip time.
    pub rtt: Dur,
    min_rtt: Dur,
    any: bool,
    /// One past the highest segment delivered.
    highest: u32,
    reordering: bool,
    /// Reordering window in quarters of the smallest round-trip time.
    quarters: u32,
    /// Recoveries that the window still stays widened.
    persist: u32,
    widened_at: Option<u32>,
    /// The segment after the last one when a probe was sent (TLP.end_seq), and whether the probe was
    /// a retransmission.
    pub probe: Option<(u32, bool)>,
}

/// Recoveries for which a widened reordering window stays (RFC 8985 section 6.2 step 4).
const PERSIST: u32 = 16;

impl Rack {
    pub fn new() -> Rack {
        Rack { quarters: 1, ..Rack::default() }
    }

    /// A segment whose last transmission was at `sent` is newly delivered (section 6.2 steps 1 to 3).
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

    /// Whether the latest delivered transmission came after this one.
    pub fn is_after(&self, sent: Time, seq: u32) -> bool {
        self.any && (sent < self.sent || (sent == self.sent && before(seq, self.seq)))
    }

    /// A duplicate was reported: the reordering window was too narrow (step 4).
    pub fn widen(&mut self, una: u32, next: u32) {
        if self.widened_at.is_none_or(|at| !before(una, at)) {
            self.widened_at = Some(next);
            self.quarters += 1;
            self.persist = PERSIST;
        }
    }

    /// A recovery has ended.
    pub fn recovered(&mut self) {
        if self.persist > 0 {
            self.persist -= 1;
            if self.persist == 0 {
                self.quarters = 1;
            }
        }
    }

    /// RACK_update_reo_wnd: how much later than the round trip a segment may come.
    pub fn window(&self, srtt: Dur, recovering: bool, many_sacked: bool) -> Dur {
        if !self.reordering && (recovering || many_sacked) {
            return Dur::ZERO;
        }
        let window = self.min_rtt * u64::from(self.quarters) / 4;
        // Without any sample there is no bound yet.
        if srtt == Dur::ZERO { window } else { window.min(srtt) }
    }
}
