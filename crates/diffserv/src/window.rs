//! Time sliding window: an estimate of a stream's rate.

use tailback_units::{Dur, Rate, Time};

/// The rate estimator of Clark and Fang (IEEE/ACM ToN 6(4), 1998; RFC 2859 section 3): each packet is added to the
/// bytes of a window of length T at the last estimate. For a constant stream the estimate converges to its rate; after
/// a step of the rate it covers 1 − 1/e of the step within about T.
#[derive(Clone, Debug)]
pub struct SlidingWindow {
    /// Rate, bytes per second.
    rate: f64,
    /// Window, seconds.
    length: f64,
    /// Time of the last packet.
    front: Time,
}

impl SlidingWindow {
    /// Returns an estimate that starts at `rate`, over a window of `length`.
    pub fn new(length: Dur, rate: Rate) -> SlidingWindow {
        SlidingWindow { rate: rate.0 as f64 / 8.0, length: length.as_secs(), front: Time::ZERO }
    }
    /// Adds a packet; returns the new estimate, bytes per second.
    pub fn arrive(&mut self, now: Time, bytes: u32) -> f64 {
        let window = self.rate * self.length + f64::from(bytes);
        self.rate = window / (now.since(self.front).as_secs() + self.length);
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
