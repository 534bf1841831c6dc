//! Common parts of RED and WRED: the average of the queue, and the functions that turn it into a
//! probability (Floyd and Jacobson, IEEE/ACM ToN 1(4), 1993).

use crate::Watch;
use crate::state::bytes_of;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_random::maths;
use tailback_units::Time;

/// Ageing of the average queue by idle time, in which the link could have sent m packets of the mean size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Idle {
    /// As if m + 1 packets had found the queue empty; idle from when the transmitter fell free.
    #[default]
    #[serde(rename = "ns")]
    Ns,
    /// As if m packets had; idle from when the last packet left the queue (1993, figure 2).
    #[serde(rename = "1993")]
    Original,
}

impl Idle {
    /// Returns the event with which idle time begins.
    pub(crate) fn watch(self) -> Watch {
        match self {
            Idle::Ns => Watch::Idle,
            Idle::Original => Watch::Empty,
        }
    }
}

/// An exponentially weighted moving average of the queue, taken at arrivals and aged while the link
/// is idle.
#[derive(Clone, Debug)]
pub struct Average {
    value: f64,
    weight: f64,
    idle_form: Idle,
    idle_since: Option<Time>,
    /// Mean packets that the link sends in a second.
    packets_per_second: f64,
}

impl Average {
    /// Zero, of a link that is idle from time zero on.
    pub fn new(weight: f64, idle_form: Idle, packets_per_second: f64) -> Average {
        Average { value: 0.0, weight, idle_form, idle_since: Some(Time::ZERO), packets_per_second }
    }
    /// The queue as it is.
    #[inline]
    pub fn value(&self) -> f64 {
        self.value
    }
    /// The weight of a new sample.
    pub fn weight(&self) -> f64 {
        self.weight
    }
    /// Size of its variables in bytes.
    pub fn state_bytes(&self) -> usize {
        bytes_of!(self; value, idle_since)
    }
    /// Takes a sample at an arrival that finds `waiting` packets or bytes.
    #[inline]
    pub fn sample(&mut self, now: Time, waiting: f64) {
        if self.idle_since.is_some() {
            return self.sample_after_idling(now, waiting);
        }
        let kept = 1.0 - self.weight;
        self.value = self.value * kept + self.weight * waiting;
    }
    #[inline(never)]
    fn sample_after_idling(&mut self, now: Time, waiting: f64) {
        let kept = 1.0 - self.weight;
        let Some(since) = self.idle_since.take() else { return };
        if self.idle_form == Idle::Ns && self.value * kept == 0.0 {
            // An average of 0 needs no ageing, as always with a weight of 1.
            self.value = self.weight * waiting;
            return;
        }
        let missed = (self.packets_per_second * now.since(since).as_secs()).floor();
        self.value = match self.idle_form {
            Idle::Ns => self.value * maths::pow(kept, missed + 1.0) + self.weight * waiting,
            Idle::Original => self.value * maths::pow(kept, missed),
        };
    }
    /// The queue has run empty. Calls until the next sample change nothing.
    pub fn idle(&mut self, now: Time) {
        self.idle_since.get_or_insert(now);
    }
    /// Notes a change of the link's rate.
    pub fn set_packets_per_second(&mut self, packets_per_second: f64) {
        self.packets_per_second = packets_per_second;
    }
}

/// The probability on the slope from 0 at `min` to `max_p` at `max`.
#[inline]
pub fn ramp(average: f64, min: f64, max: f64, max_p: f64) -> f64 {
    max_p * (average - min) / (max - min)
}

/// `p` so modified that the gaps between choices are uniform: `spent` is p times the number of
/// packets since the last choice.
#[inline]
pub fn spread(p: f64, spent: f64) -> f64 {
    if spent < 1.0 { p / (1.0 - spent) } else { 1.0 }
}
