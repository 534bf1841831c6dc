//! Time sliding window: an estimate of a stream's rate.

use tailback_units::{Dur, Rate, Time};

/// The rate estimator of Clark and Fang (IEEE/ACM ToN 6(4), 1998; RFC 2859 section 3). At each packet, its bytes are
/// added to those that the last estimate gives for a window of length T; the sum is divided by T plus the time since
/// the last packet. For a constant stream the estimate converges to its rate; after a step of the rate it covers
/// 1 − 1/e of the step within about T.
#[derive(Clone, Debug)]
pub struct SlidingWindow {
    /// Rate, bytes per second.
    rate: f64,
    /// Window, seconds.
    length: f64,
    /// Time of the last packet; zero before the first one.
    front: Time,
}

impl SlidingWindow {
    /// Returns an estimate that starts at `rate`, over a window of `length`.
    pub fn new(length: Dur, rate: Rate) -> SlidingWindow {
        SlidingWindow { rate: rate.0 as f64 / 8.0, length: length.as_secs(), front: Time::ZERO }
    }
    /// Adds a packet that arrives at `now`; returns the new estimate, bytes per second.
    pub fn arrive(&mut self, now: Time, bytes: u32) -> f64 {
        let window_bytes = self.rate * self.length + f64::from(bytes);
        self.rate = window_bytes / (now.since(self.front).as_secs() + self.length);
        self.front = now;
        self.rate
    }
    /// Returns the estimate as of the last packet, bytes per second.
    pub fn last(&self) -> f64 {
        self.rate
    }
    /// Returns the estimate at `now` if no packet has arrived since the last one, bytes per second.
    pub fn at(&self, now: Time) -> f64 {
        self.rate * self.length / (now.since(self.front).as_secs() + self.length)
    }
}
