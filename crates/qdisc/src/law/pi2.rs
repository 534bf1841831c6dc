//! The controller of PI² (De Schepper et al., CoNEXT 2016) and of DualPI2 (RFC 9332 appendix A): a
//! linear probability p'. Packets of scalable flows are marked with a multiple of p' as probability, those of classic
//! flows are marked or dropped with its square.

use crate::retune::Retune;
use crate::state::bytes_of;
use tailback_units::{Dur, Time};

/// Gains and times of the controller.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gains {
    /// Target delay.
    pub target: Dur,
    /// Time between two updates.
    pub update: Dur,
    /// Increase of p' at each update per second of delay above the target, Hz.
    pub alpha: f64,
    /// Increase of p' at each update per second by which the delay has risen since the last update, Hz.
    pub beta: f64,
}

/// State of the controller.
#[derive(Clone, Debug)]
pub struct Pi2 {
    gains: Gains,
    /// Upper bound of p'.
    max_p: f64,
    p: f64,
    /// Delay at the last update, seconds.
    old_delay: f64,
    /// Time of the next update.
    due: Time,
}

/// Limits p' to its new upper bound.
impl Retune for Pi2 {
    fn adopt(&mut self, now: Time, fresh: Pi2) {
        (self.gains, self.max_p) = (fresh.gains, fresh.max_p);
        self.p = self.p.min(self.max_p);
        self.due = self.due.min(now + self.gains.update);
    }
}

impl Pi2 {
    /// Returns a controller of p' from 0 to `max_p`, whose first update is due `gains.update` after
    /// the start of the run.
    pub fn new(gains: Gains, max_p: f64) -> Pi2 {
        Pi2 { gains, max_p, p: 0.0, old_delay: 0.0, due: Time::ZERO + gains.update }
    }
    /// Returns the time of the next [`Pi2::update`].
    pub fn next_update(&self) -> Time {
        self.due
    }
    /// Updates p' from the present queueing delay.
    pub fn update(&mut self, now: Time, delay: Dur) {
        let delay = delay.as_secs();
        let Gains { target, alpha, beta, update } = self.gains;
        let step = alpha * (delay - target.as_secs()) + beta * (delay - self.old_delay);
        self.p = (self.p + step).clamp(0.0, self.max_p);
        self.old_delay = delay;
        self.due = now + update;
    }
    /// Returns the size of the variables in bytes.
    pub fn state_bytes(&self) -> usize {
        bytes_of!(self; p, old_delay, due)
    }
    /// Returns p', the probability before it is squared or multiplied.
    pub fn p(&self) -> f64 {
        self.p
    }
    /// Returns the probability of a mark or drop of packets of classic flows, p'².
    pub fn classic(&self) -> f64 {
        self.p * self.p
    }
    /// Returns the probability of a mark of packets of scalable flows, k·p', at most 1; k is the coupling factor.
    pub fn scalable(&self, k: f64) -> f64 {
        f64::min(1.0, k * self.p)
    }
}
