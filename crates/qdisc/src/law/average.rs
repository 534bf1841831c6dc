//! Common parts of RED and WRED: the average of the queue, and the functions that turn it into a
//! probability (Floyd and Jacobson, IEEE/ACM ToN 1(4), 1993).

use crate::Watch;
use crate::retune::Retune;
use crate::state::bytes_of;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_random::maths;
use tailback_units::{Dur, Time};

/// Ageing of the average queue by an idle time in which the link could have sent m packets of the mean
/// size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Idle {
    /// By m + 1 samples of an empty queue; the idle time begins when the transmitter becomes free.
    #[default]
    #[serde(rename = "ns")]
    Ns,
    /// By m samples of an empty queue; the idle time begins when the last packet leaves the queue
    /// (1993, figure 2).
    #[serde(rename = "1993")]
    Original,
    /// Not at all: only arrivals change the average. A scheduler that never asks an empty queue for packets, such as HTB
    /// and TBF in Linux, hides from RED that its queue is empty (`red_dequeue`).
    #[serde(rename = "none")]
    None,
}

impl Idle {
    /// Returns the event with which idle time begins.
    pub(crate) fn watch(self) -> Watch {
        match self {
            Idle::Ns => Watch::Idle,
            Idle::Original => Watch::Empty,
            Idle::None => Watch::Nothing,
        }
    }
}

/// An exponentially weighted moving average of the queue, sampled at arrivals and aged by idle
/// times.
#[derive(Clone, Debug)]
pub struct Average {
    /// Average queue in packets or bytes.
    value: f64,
    /// Weight of a new sample, above 0 and at most 1.
    weight: f64,
    idle_form: Idle,
    /// Beginning of the idle time. `None`: the queue is not idle.
    idle_since: Option<Time>,
    /// Packets of the mean size that the link sends per second.
    packets_per_second: f64,
}

impl Average {
    /// Returns an average of zero, for a link that has been idle since time zero.
    pub fn new(weight: f64, idle_form: Idle, packets_per_second: f64) -> Average {
        Average { value: 0.0, weight, idle_form, idle_since: Some(Time::ZERO), packets_per_second }
    }
    /// Returns the average, in packets or bytes.
    #[inline]
    pub fn value(&self) -> f64 {
        self.value
    }
    /// Returns the weight of a new sample.
    pub fn weight(&self) -> f64 {
        self.weight
    }
    /// Returns the size of the variables in bytes.
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
            // An average of 0 needs no ageing; with a weight of 1 this branch is always taken.
            self.value = self.weight * waiting;
            return;
        }
        self.value = match self.idle_form {
            Idle::Ns => self.aged(now.since(since), 1.0) + self.weight * waiting,
            Idle::Original => self.aged(now.since(since), 0.0),
            Idle::None => self.value * kept + self.weight * waiting,
        };
    }
    /// Takes a sample as Linux does (`red_calc_qavg` of `include/net/red.h`), whose average is a multiple of the weight:
    /// the sample is compared with the whole part of the average. An average of packets is thus half a packet larger than
    /// that of [`Average::sample`] where the queue is steady.
    pub fn sample_whole(&mut self, now: Time, waiting: f64) {
        self.value = match self.idle_since.take() {
            Some(since) if self.idle_form != Idle::None => {
                (self.aged(now.since(since), 0.0) / self.weight).floor() * self.weight
            }
            _ => self.value + self.weight * (waiting - self.value.floor()),
        };
    }
    /// Returns the average aged by an idle time, and by `more` samples of an empty queue.
    fn aged(&self, idle: Dur, more: f64) -> f64 {
        let missed = (self.packets_per_second * idle.as_secs()).floor();
        self.value * maths::pow(1.0 - self.weight, missed + more)
    }
    /// Returns the average as an arrival at `now` would find it, without the sample of that arrival.
    pub fn at(&self, now: Time) -> f64 {
        match self.idle_since {
            Some(since) if self.idle_form != Idle::None => self.aged(now.since(since), 0.0),
            _ => self.value,
        }
    }
    /// Notes that an idle time has begun. Further calls until the next sample have no effect.
    pub fn idle(&mut self, now: Time) {
        self.idle_since.get_or_insert(now);
    }
    /// Sets the number of packets of the mean size that the link sends per second.
    pub fn set_packets_per_second(&mut self, packets_per_second: f64) {
        self.packets_per_second = packets_per_second;
    }
}

/// Keeps the average and the beginning of the idle time.
impl Retune for Average {
    fn adopt(&mut self, _now: Time, fresh: Average) {
        *self = Average { value: self.value, idle_since: self.idle_since, ..fresh };
    }
}

/// Returns the probability at `average` on the line from 0 at `min` to `max_p` at `max`.
#[inline]
pub fn ramp(average: f64, min: f64, max: f64, max_p: f64) -> f64 {
    max_p * (average - min) / (max - min)
}

/// Returns `p` modified so that the gaps between choices are uniformly distributed: p / (1 − `accumulated`), or 1 if
/// `accumulated` is 1 or more. `accumulated` is p times the number of packets since the last choice.
#[inline]
pub fn uniform_gaps(p: f64, accumulated: f64) -> f64 {
    if accumulated < 1.0 { p / (1.0 - accumulated) } else { 1.0 }
}
