//! The time sliding window: an estimate of a stream's rate.

use tailback_units::{Dur, Rate, Time};

/// The rate estimator of Clark and Fang (IEEE/ACM ToN 6(4), 1998; RFC 2859 section 3): each packet
/// is added to what the last estimate says came in a window of length T. For even packets the
/// estimate converges to their rate; after a step it has covered 1 − 1/e of it within about T.
#[derive(Clone, Debug)]
pub struct SlidingWindow {
    /// Bytes per second.
    rate: f64,
    /// Seconds.
    length: f64,
    front: Time,
}

impl SlidingWindow {
    /// An estimate that starts at `rate`, over a window of `length`.
    pub fn new(length: Dur, rate: Rate) -> SlidingWindow {
        SlidingWindow { rate: rate.0 as f64 / 8.0, length: length.as_secs(), front: Time::ZERO }
    }
    /// A packet arrives; the estimate with it, bytes per second.
    pub fn arrive(&mut self, now: Time, bytes: u32) -> f64 {
        let window = self.rate * self.length + f64::from(bytes);
        self.rate = window / (now.since(self.front).as_secs() + self.length);
        self.front = now;
        self.rate
    }
    /// The estimate with the last packet, bytes per second.
    pub fn last(&self) -> f64 {
        self.rate
    }
    /// The estimate at `now` if nothing has come since the last packet, bytes per second.
    pub fn at(&self, now: Time) -> f64 {
        self.rate * self.length / (now.since(self.front).as_secs() + self.length)
    }
}
