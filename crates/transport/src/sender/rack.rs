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
    /// `true` if `min_rtt` is that of the handshake.
    of_handshake: bool,
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
    /// `true` if the rules of Linux apply (`tcp_recovery.c`): `rtt` is that of the segment delivered last, of which those
    /// acknowledged cumulatively come after those acknowledged selectively; the handshake's round-trip time counts in
    /// `min_rtt`; losses are marked only by an acknowledgement that delivers.
    pub as_linux: bool,
    /// Segment and round-trip time of the delivery with the highest number in this acknowledgement. `None`: it has
    /// delivered nothing so far.
    pub last: Option<(u32, Dur)>,
    /// `true` if the last acknowledgement delivered a segment, or a reduction was undone since (`rack.advanced`).
    pub advanced: bool,
    /// Outstanding tail loss probe: first, the first segment never transmitted after the probe was sent (TLP.end_seq);
    /// second, `true` if the probe was a retransmission. `None`: no probe is outstanding.
    pub probe: Option<(u32, bool)>,
}

/// Number of recoveries for which the reordering window stays widened (RFC 8985 section 6.2 step 4).
const PERSIST: u32 = 16;

impl Rack {
    /// Returns the state before the first delivery; `as_linux`: by the rules of Linux.
    pub fn new(as_linux: bool) -> Rack {
        Rack { quarters: 1, as_linux, ..Rack::default() }
    }

    /// Records the round-trip time of the handshake, the first measurement of the connection (section 6.2 step 1). The
    /// first one of data replaces it: a SYN has less transmission time than a segment, and the section recommends a
    /// minimum of recent measurements.
    pub fn opened(&mut self, rtt: Dur) {
        self.min_rtt = rtt;
        self.of_handshake = !self.as_linux;
    }

    /// Lowers the minimum round-trip time to that of the connection, which includes echoed timestamps of retransmissions
    /// (`tcp_ack_update_rtt`).
    pub fn observe(&mut self, min: Dur) {
        self.min_rtt = self.min_rtt.min(min);
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
        // Linux has timestamps in ms (`tcp_skb_spurious_retrans`).
        let ms = |time: Time| time.0 / Dur::from_ms(1).0;
        let earlier = if self.as_linux { ms(echo) < ms(sent) } else { echo < sent };
        if retransmitted && (earlier || rtt < self.min_rtt) {
            // The original may have been delivered, not the retransmission.
            return;
        }
        if !retransmitted {
            let first = self.min_rtt == Dur::ZERO || self.of_handshake;
            self.min_rtt = if first { rtt } else { self.min_rtt.min(rtt) };
            self.of_handshake = false;
        }
        if self.last.is_none_or(|(last, _)| before(last, seq)) {
            self.last = Some((seq, rtt));
        }
        if !self.any || self.sent < sent || (self.sent == sent && before(self.seq, seq)) {
            self.sent = sent;
            self.seq = seq;
            self.rtt = rtt;
            self.any = true;
        }
    }

    /// Ends an acknowledgement, of which `cumulative` is `last` after its cumulative part.
    pub fn end_acknowledgement(&mut self, cumulative: Option<(u32, Dur)>) {
        let last = cumulative.or(self.last.take());
        self.advanced |= last.is_some();
        if let Some((_, rtt)) = last.filter(|_| self.as_linux) {
            self.rtt = rtt;
        }
    }

    /// Returns `true` if the delivered transmission that was sent last came after the transmission of `seq` at `sent`.
    pub fn is_after(&self, sent: Time, seq: u32) -> bool {
        self.any && (sent < self.sent || (sent == self.sent && before(seq, self.seq)))
    }

    /// Returns `true` if the report of a duplicate that ends before segment `end` widens the reordering window: in Linux only
    /// after reordering, and if the duplicate is not that of a probe (`tcp_dsack_seen`).
    pub fn may_widen(&self, end: u32) -> bool {
        !self.as_linux || (self.reordering && self.probe.is_none_or(|(probe, _)| probe != end))
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

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Time {
        Time::ZERO + Dur::from_ms(ms)
    }
    const MS: fn(u64) -> Dur = Dur::from_ms;

    /// Processes the delivery at `now` ms of a segment that was sent at `sent` ms and, with `again`, sent before.
    fn deliver(rack: &mut Rack, seq: u32, sent: u64, now: u64, again: bool) {
        rack.delivered(seq, at(sent), again, at(now), at(sent));
    }

    /// RFC 8985 section 6.2 step 3, and step 4: before any reordering the window is zero in recovery or once three
    /// segments are SACKed, and afterwards a quarter of the minimum round-trip time. Segment numbers wrap.
    #[test]
    fn an_original_below_the_highest_delivered_segment_is_reordering_and_a_retransmission_is_not() {
        for start in [5, 3_000_000_000, u32::MAX - 1] {
            let seq = |n: u32| start.wrapping_add(n);
            let mut rack = Rack::new(false);
            assert!(!rack.is_after(Time::ZERO, start.wrapping_sub(1)), "nothing is delivered");
            deliver(&mut rack, seq(0), 10, 110, false);
            deliver(&mut rack, seq(1), 10, 110, false);
            deliver(&mut rack, seq(5), 11, 111, false);
            deliver(&mut rack, seq(2), 12, 112, true);
            assert_eq!([rack.window(MS(100), true, false), rack.window(MS(100), false, true)], [Dur::ZERO; 2]);
            assert_eq!(rack.window(MS(100), false, false), MS(25));
            deliver(&mut rack, seq(3), 10, 113, false);
            assert_eq!([rack.window(MS(100), true, false), rack.window(MS(100), false, true)], [MS(25); 2]);
            // The window is at most SRTT, if that is known.
            assert_eq!([rack.window(MS(20), true, true), rack.window(Dur::ZERO, true, true)], [MS(20), MS(25)]);
        }
    }

    /// Section 6.2 steps 1 and 2: RACK follows the delivered transmission that was sent last, of several at the same time
    /// that of the highest segment. It ignores a retransmission whose acknowledgement may be for the original: it came
    /// before the retransmission could cause it, or within less than the minimum round-trip time.
    #[test]
    fn rack_follows_the_transmission_sent_last_except_for_doubtful_retransmissions() {
        let mut rack = Rack::new(false);
        deliver(&mut rack, 7, 20, 120, false);
        assert_eq!(rack.rtt, MS(100));
        // Sent earlier, or at the same time with a lower number: no change.
        deliver(&mut rack, 8, 19, 121, false);
        deliver(&mut rack, 6, 20, 122, false);
        assert_eq!(rack.rtt, MS(100));
        deliver(&mut rack, 9, 20, 123, false);
        assert_eq!(rack.rtt, MS(103));
        deliver(&mut rack, 4, 21, 131, false);
        assert_eq!(rack.rtt, MS(110));
        for (sent, seq, after) in [(20, 100, true), (21, 3, true), (21, 4, false), (21, 5, false), (22, 1, false)] {
            assert_eq!(rack.is_after(at(sent), seq), after, "segment {seq} sent at {sent} ms");
        }
        // The minimum round-trip time is 100 ms.
        deliver(&mut rack, 10, 100, 199, true);
        assert_eq!(rack.rtt, MS(110));
        rack.delivered(10, at(100), true, at(250), at(99));
        assert_eq!(rack.rtt, MS(110));
        deliver(&mut rack, 10, 100, 200, true);
        assert_eq!(rack.rtt, MS(100));
        // A retransmission does not lower the minimum of the originals, and a shorter original does.
        deliver(&mut rack, 11, 200, 260, false);
        assert_eq!(rack.window(Dur::ZERO, true, true), MS(15));
    }

    /// Section 6.2 steps 1 and 2: until a segment of data is measured, the minimum is the round-trip time of the handshake,
    /// so that an earlier acknowledgement of the first retransmission is doubtful.
    #[test]
    fn the_handshake_gives_the_first_minimum() {
        let mut rack = Rack::new(false);
        rack.opened(MS(100));
        assert_eq!(rack.window(Dur::ZERO, false, false), MS(25));
        deliver(&mut rack, 0, 400, 450, true);
        assert!(!rack.is_after(at(100), 1), "50 ms after a retransmission the original was acknowledged");
        deliver(&mut rack, 1, 100, 220, false);
        assert_eq!((rack.rtt, rack.window(Dur::ZERO, false, false)), (MS(120), MS(30)));
        deliver(&mut rack, 2, 110, 210, false);
        assert_eq!(rack.window(Dur::ZERO, false, false), MS(25));
    }

    /// Section 6.2 step 4: the window grows by a quarter at most once per round trip, and stays widened for 16 recoveries
    /// after the last report of a duplicate.
    #[test]
    fn the_window_is_widened_once_a_round_trip_and_for_16_recoveries() {
        let mut rack = Rack::new(false);
        deliver(&mut rack, 0, 10, 110, false);
        let window = |rack: &Rack| rack.window(Dur::ZERO, false, false);
        rack.recovered();
        for (una, next, quarters) in [(10, 20, 2), (19, 25, 2), (20, 30, 3), (29, 40, 3), (35, 45, 4)] {
            rack.widen(una, next);
            assert_eq!(window(&rack), MS(25 * quarters), "segment {una}");
        }
        (0..15).for_each(|_| rack.recovered());
        assert_eq!(window(&rack), MS(100));
        rack.recovered();
        assert_eq!(window(&rack), MS(25));
        rack.recovered();
        rack.widen(50, 60);
        assert_eq!(window(&rack), MS(50));
        (0..15).for_each(|_| rack.recovered());
        assert_eq!(window(&rack), MS(50));
    }
}
