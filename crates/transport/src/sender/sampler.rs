//! Samples of the delivery rate (draft-cheng-iccrg-delivery-rate-estimation-02).

use crate::cc::RateSample;
use std::collections::VecDeque;
use tailback_units::{Dur, Time};

/// State of delivery at the transmission of a segment. Names in brackets are those of section 3.1.2 of the draft.
#[derive(Clone, Copy, Debug)]
struct Mark {
    /// Time of the transmission.
    sent: Time,
    /// Number of segments delivered before the transmission (P.delivered).
    delivered: u64,
    /// Time of the last delivery before the transmission (P.delivered_time).
    delivered_at: Time,
    /// Transmission time of the first segment of the sample's send interval (P.first_sent_time).
    first_sent: Time,
    /// Number of segments outstanding, this one included.
    in_flight: u32,
    /// Number of segments lost before the transmission.
    lost: u64,
    /// `true` if the application limited the rate at the transmission (P.is_app_limited).
    app_limited: bool,
    /// `true` once the segment has been delivered.
    counted: bool,
}

/// Sampler of the delivery rate.
#[derive(Debug, Default)]
pub(super) struct Sampler {
    /// Segment of the first mark.
    base: u32,
    /// Marks of the outstanding segments, from `base` on.
    marks: VecDeque<Mark>,
    /// Number of segments delivered since the start of the connection (C.delivered).
    delivered: u64,
    /// Time of the last delivery (C.delivered_time).
    delivered_at: Time,
    /// Transmission time of the newest segment delivered (C.first_sent_time).
    first_sent: Time,
    /// Number of segments lost since the start of the connection.
    lost: u64,
    /// Number of deliveries until which samples count as limited by the application (C.app_limited); zero: the
    /// application does not limit the rate.
    app_limited: u64,
    /// Mark of the newest segment delivered since the last sample; `None`: no segment was.
    newest: Option<Mark>,
    /// `true`: times are in whole microseconds, as in Linux (`tcp_mstamp`).
    microseconds: bool,
}

impl Sampler {
    /// Returns the state before the first segment; `as_linux`: by the rules of Linux, in which times are in whole
    /// microseconds, and a SYN (`handshake`) counts as delivered.
    pub fn new(as_linux: bool, handshake: bool) -> Sampler {
        Sampler { microseconds: as_linux, delivered: u64::from(as_linux && handshake), ..Sampler::default() }
    }

    /// Sets the number of the first segment. No segment may be outstanding.
    pub fn start_at(&mut self, seq: u32) {
        self.base = seq;
    }

    /// Records the transmission of segment `seq`, with `in_flight` other segments outstanding. `starts`: the intervals
    /// start anew, since there is nothing to deliver.
    pub fn sent(&mut self, seq: u32, now: Time, in_flight: u32, starts: bool) {
        let now = self.stamp(now);
        if starts {
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

    /// Records the first delivery of segment `seq`; later deliveries of the segment have no effect.
    pub fn delivered(&mut self, seq: u32, now: Time) {
        let Some(mark) = self.marks.get_mut(seq.wrapping_sub(self.base) as usize) else { return };
        if mark.counted {
            return;
        }
        mark.counted = true;
        let mark = *mark;
        self.delivered += 1;
        self.delivered_at = self.stamp(now);
        let newer = |old: &Mark| (mark.delivered, mark.sent) >= (old.delivered, old.sent);
        if self.newest.as_ref().is_none_or(newer) {
            self.newest = Some(mark);
            self.first_sent = mark.sent;
        }
    }

    /// Records deliveries of `segments` that had been delivered before, at `now`.
    pub fn delivered_again(&mut self, segments: u32, now: Time) {
        self.delivered += u64::from(segments);
        self.delivered_at = self.stamp(now);
    }

    /// Returns a time in the unit of the sampler.
    fn stamp(&self, time: Time) -> Time {
        if self.microseconds { Time(time.0 - time.0 % Dur::from_us(1).0) } else { time }
    }

    /// Discards the marks of all segments before `una`, which are acknowledged.
    pub fn advance(&mut self, una: u32) {
        while self.base != una && self.marks.pop_front().is_some() {
            self.base = self.base.wrapping_add(1);
        }
    }

    /// Adds `segments` to the number of lost segments.
    pub fn lost(&mut self, segments: u32) {
        self.lost += u64::from(segments);
    }

    /// Records that the window has room and the application has nothing to send, with `in_flight` segments outstanding.
    pub fn app_limited(&mut self, in_flight: u32) {
        self.app_limited = (self.delivered + u64::from(in_flight)).max(1);
    }

    /// Returns `true` while samples count as limited by the application.
    pub fn is_app_limited(&self) -> bool {
        self.app_limited != 0
    }

    /// Returns the sample of an acknowledgement, whose deliveries have been recorded before. `None`: there was no
    /// delivery, or the interval is zero or below `min_rtt`.
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

    /// Returns the samples of the first `n` acknowledgements, in order, with a window of `window` segments, a link of
    /// one segment per ms and a round-trip time of 50 ms without queueing.
    fn samples(window: u32, n: u32) -> Vec<RateSample> {
        let mut sampler = Sampler::default();
        let mut link_free_at = 0;
        let mut acks = VecDeque::new();
        let mut send = |sampler: &mut Sampler, seq: u32, now: u64, in_flight, acks: &mut VecDeque<u64>| {
            sampler.sent(seq, at(now), in_flight, in_flight == 0);
            link_free_at = now.max(link_free_at) + 1;
            acks.push_back(link_free_at + 49);
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

    /// Returns the delivery rate of a sample, segments per second.
    fn rate(sample: &RateSample) -> f64 {
        f64::from(sample.delivered) / sample.interval.as_secs()
    }

    #[test]
    fn the_rate_is_that_of_a_full_link_or_of_a_small_window() {
        let full = samples(200, 1_000);
        assert!(full[400..].iter().all(|s| (rate(s) - 1_000.0).abs() < 1.0), "{:?}", full.last());
        // Ten segments per 50 ms are 200 per second. Their arrival in a burst does not raise the rate.
        let small = samples(10, 1_000);
        assert!(small[400..].iter().all(|s| (rate(s) - 200.0).abs() < 1.0), "{:?}", small.last());
        let last = full.last().expect("there are samples");
        assert_eq!((last.total_delivered, last.sent_in_flight, last.app_limited), (1_000, 200, false));
    }

    #[test]
    fn a_segment_counts_once_and_a_sample_has_the_losses_since_its_transmission() {
        let mut sampler = Sampler::default();
        sampler.sent(0, at(0), 0, true);
        sampler.sent(1, at(0), 1, false);
        sampler.lost(1);
        sampler.sent(0, at(60), 1, false);
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
    fn samples_are_limited_by_the_application_until_the_segments_in_flight_at_the_limit_are_delivered() {
        let mut sampler = Sampler::default();
        sampler.sent(0, at(0), 0, true);
        sampler.app_limited(1);
        sampler.sent(1, at(10), 1, false);
        sampler.delivered(0, at(50));
        assert!(!sampler.sample(Dur::from_ms(50)).expect("long enough").app_limited);
        sampler.delivered(1, at(60));
        assert!(sampler.sample(Dur::from_ms(50)).expect("long enough").app_limited);
        sampler.sent(2, at(60), 0, true);
        sampler.delivered(2, at(110));
        assert!(!sampler.sample(Dur::from_ms(50)).expect("long enough").app_limited);
    }

    #[test]
    fn an_interval_below_the_minimum_rtt_gives_no_sample() {
        let mut sampler = Sampler::default();
        sampler.sent(0, at(0), 0, true);
        sampler.delivered(0, at(30));
        assert!(sampler.sample(Dur::from_ms(50)).is_none());
    }

    /// Section 3.2 of the draft: the intervals start anew with a transmission when nothing is outstanding.
    #[test]
    fn an_idle_time_does_not_lengthen_the_interval() {
        let mut sampler = Sampler::default();
        sampler.sent(0, at(0), 0, true);
        sampler.sent(1, at(10), 1, false);
        sampler.delivered(0, at(50));
        sampler.delivered(1, at(60));
        sampler.advance(2);
        assert!(sampler.marks.is_empty());
        // Both were delivered since the first was sent, and nothing had been delivered when the second was.
        let sample = sampler.sample(Dur::ZERO).expect("two deliveries");
        assert_eq!((sample.delivered, sample.interval), (2, Dur::from_ms(60)));
        sampler.sent(2, at(1_000), 0, true);
        sampler.delivered(2, at(1_050));
        let sample = sampler.sample(Dur::ZERO).expect("a delivery");
        assert_eq!((sample.delivered, sample.interval), (1, Dur::from_ms(50)));
    }

    /// Section 3.3: the sample is that of the segment sent last, of several at the same time that of the last one.
    #[test]
    fn of_segments_sent_at_the_same_time_the_last_one_is_sampled() {
        let mut sampler = Sampler::default();
        (0..3).for_each(|seq| sampler.sent(seq, at(0), seq, seq == 0));
        (0..3).for_each(|seq| sampler.delivered(seq, at(50)));
        assert_eq!(sampler.sample(Dur::ZERO).map(|sample| sample.sent_in_flight), Some(3));
    }

    /// Section 3.4: samples are limited until the segments in flight at the limit and one more are delivered.
    #[test]
    fn segments_sent_before_the_end_of_the_limit_are_limited() {
        let mut sampler = Sampler::default();
        sampler.sent(0, at(0), 0, true);
        sampler.sent(1, at(0), 1, false);
        sampler.app_limited(2);
        let mut limited = Vec::new();
        for seq in 2..6 {
            sampler.delivered(seq - 2, at(50 * u64::from(seq)));
            sampler.sample(Dur::ZERO);
            sampler.sent(seq, at(50 * u64::from(seq)), 1, false);
            limited.push(sampler.marks[seq as usize].app_limited);
        }
        assert_eq!(limited, [true, true, false, false]);
    }
}
