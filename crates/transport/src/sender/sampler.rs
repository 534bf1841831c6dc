//! Samples of the delivery rate (draft-cheng-iccrg-delivery-rate-estimation-02).

use crate::cc::RateSample;
use std::collections::VecDeque;
use tailback_units::{Dur, Time};

/// The state of delivery when a segment was sent.
#[derive(Clone, Copy, Debug)]
struct Mark {
    sent: Time,
    delivered: u64,
    delivered_at: Time,
    first_sent: Time,
    in_flight: u32,
    lost: u64,
    app_limited: bool,
    counted: bool,
}

/// Counts deliveries and samples their rate.
#[derive(Debug, Default)]
pub(super) struct Sampler {
    base: u32,
    marks: VecDeque<Mark>,
    delivered: u64,
    delivered_at: Time,
    first_sent: Time,
    lost: u64,
    /// Deliveries up to here are limited by the application; zero if none are.
    app_limited: u64,
    newest: Option<Mark>,
}

impl Sampler {
    /// Segment `seq` is transmitted, `in_flight` being outstanding without it.
    pub fn sent(&mut self, seq: u32, now: Time, in_flight: u32) {
        if in_flight == 0 {
            self.first_sent = now;
            self.delivered_at = now;
        }
        let mark = Mark {
            sent: now,
            delivered: self.delivered,
            delivered_at: self.delivered_at,
            first_sent: self.first_sent,
            in_flight: in_flight + 1,
            lost: self.lost,
            app_limited: self.app_limited != 0,
            counted: false,
        };
        match self.marks.get_mut(seq.wrapping_sub(self.base) as usize) {
            Some(old) => *old = mark,
            None => self.marks.push_back(mark),
        }
    }

    /// Segment `seq` is delivered, for the first time.
    pub fn delivered(&mut self, seq: u32, now: Time) {
        let Some(mark) = self.marks.get_mut(seq.wrapping_sub(self.base) as usize) else { return };
        if mark.counted {
            return;
        }
        mark.counted = true;
        self.delivered += 1;
        self.delivered_at = now;
        let mark = *mark;
        let newer = |old: &Mark| (mark.delivered, mark.sent) >= (old.delivered, old.sent);
        if self.newest.as_ref().is_none_or(newer) {
            self.newest = Some(mark);
            self.first_sent = mark.sent;
        }
    }

    /// All before `una` is acknowledged.
    pub fn advance(&mut self, una: u32) {
        while self.base != una && self.marks.pop_front().is_some() {
            self.base = self.base.wrapping_add(1);
        }
    }

    /// Segments are taken for lost.
    pub fn lost(&mut self, segments: u32) {
        self.lost += u64::from(segments);
    }

    /// The window has room and the application nothing to send.
    pub fn app_limited(&mut self, in_flight: u32) {
        self.app_limited = (self.delivered + u64::from(in_flight)).max(1);
    }

    /// The sample of an acknowledgement, after its deliveries; none where it would be too short to
    /// be believed.
    pub fn sample(&mut self, min_rtt: Dur) -> Option<RateSample> {
        if self.app_limited != 0 && self.delivered > self.app_limited {
            self.app_limited = 0;
        }
        let mark = self.newest.take()?;
        let interval = mark.sent.since(mark.first_sent).max(self.delivered_at.since(mark.delivered_at));
        if interval < min_rtt || interval == Dur::ZERO {
            return None;
        }
        Some(RateSample {
            delivered: (self.delivered - mark.delivered) as u32,
            interval,
            prior_delivered: mark.delivered,
            total_delivered: self.delivered,
            sent_in_flight: mark.in_flight,
            lost: (self.lost - mark.lost) as u32,
            app_limited: mark.app_limited,
        })
    }
}
