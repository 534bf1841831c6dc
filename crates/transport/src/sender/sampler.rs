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
    /// Numbers the segments from `seq` on; none must be outstanding.
    pub fn start_at(&mut self, seq: u32) {
        self.base = seq;
    }

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

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Time {
        Time::ZERO + Dur::from_ms(ms)
    }

    /// Windows of `window` segments through a link of one segment per ms and a round trip of 50 ms;
    /// the samples of `n` acknowledgements.
    fn samples(window: u32, n: u32) -> Vec<RateSample> {
        let mut sampler = Sampler::default();
        let mut free = 0;
        let mut acks = VecDeque::new();
        let mut send = |sampler: &mut Sampler, seq: u32, now: u64, in_flight, acks: &mut VecDeque<u64>| {
            sampler.sent(seq, at(now), in_flight);
            free = now.max(free) + 1;
            acks.push_back(free + 49);
        };
        for seq in 0..window {
            send(&mut sampler, seq, 0, seq, &mut acks);
        }
        (0..n)
            .filter_map(|seq| {
                let now = acks.pop_front().expect("one for each segment");
                sampler.delivered(seq, at(now));
                sampler.advance(seq + 1);
                let sample = sampler.sample(Dur::from_ms(50));
                send(&mut sampler, seq + window, now, window - 1, &mut acks);
                sample
            })
            .collect()
    }

    fn rate(sample: &RateSample) -> f64 {
        f64::from(sample.delivered) / sample.interval.as_secs()
    }

    #[test]
    fn a_full_link_gives_its_rate_and_a_small_window_what_it_sends() {
        let full = samples(200, 1_000);
        assert!(full[400..].iter().all(|s| (rate(s) - 1_000.0).abs() < 1.0), "{:?}", full.last());
        // Ten segments a round trip of 50 ms, and no overestimate by their coming in a burst.
        let small = samples(10, 1_000);
        assert!(small[400..].iter().all(|s| (rate(s) - 200.0).abs() < 1.0), "{:?}", small.last());
        let last = full.last().expect("there are samples");
        assert_eq!((last.total_delivered, last.sent_in_flight, last.app_limited), (1_000, 200, false));
    }

    #[test]
    fn a_segment_counts_once_and_losses_since_it_was_sent_are_told() {
        let mut sampler = Sampler::default();
        sampler.sent(0, at(0), 0);
        sampler.sent(1, at(0), 1);
        sampler.lost(1);
        sampler.sent(0, at(60), 1);
        sampler.delivered(1, at(100));
        let sample = sampler.sample(Dur::from_ms(50)).expect("long enough");
        assert_eq!((sample.delivered, sample.lost), (1, 1));
        sampler.delivered(1, at(120));
        sampler.delivered(0, at(120));
        sampler.advance(2);
        let sample = sampler.sample(Dur::from_ms(50)).expect("long enough");
        assert_eq!((sample.total_delivered, sample.lost), (2, 0));
    }

    #[test]
    fn samples_are_limited_by_the_application_until_what_was_in_flight_is_delivered() {
        let mut sampler = Sampler::default();
        sampler.sent(0, at(0), 0);
        sampler.app_limited(1);
        sampler.sent(1, at(10), 1);
        sampler.delivered(0, at(50));
        assert!(!sampler.sample(Dur::from_ms(50)).expect("long enough").app_limited);
        sampler.delivered(1, at(60));
        assert!(sampler.sample(Dur::from_ms(50)).expect("long enough").app_limited);
        sampler.sent(2, at(60), 0);
        sampler.delivered(2, at(110));
        assert!(!sampler.sample(Dur::from_ms(50)).expect("long enough").app_limited);
    }

    #[test]
    fn an_interval_below_the_smallest_round_trip_gives_no_sample() {
        let mut sampler = Sampler::default();
        sampler.sent(0, at(0), 0);
        sampler.delivered(0, at(30));
        assert!(sampler.sample(Dur::from_ms(50)).is_none());
    }
}
