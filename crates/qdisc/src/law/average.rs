//! Common parts of RED and WRED: the average of the queue, and the functions that turn it into a
//! probability (Floyd and Jacobson, IEEE/ACM ToN 1(4), 1993).

use super::Form;
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
    /// Beginning of the idle time. `None`: the queue is not idle, or idle times do not age the average.
    idle_since: Option<Time>,
    /// Packets of the mean size that the link sends per second.
    packets_per_second: f64,
    /// Form of the ageing: by a power, or by the table of Linux.
    form: Form,
}

impl Average {
    /// Returns an average of zero, for a link that has been idle since time zero.
    pub fn new(weight: f64, idle_form: Idle, packets_per_second: f64, form: Form) -> Average {
        let idle_since = (idle_form != Idle::None).then_some(Time::ZERO);
        Average { value: 0.0, weight, idle_form, idle_since, packets_per_second, form }
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
            Idle::Original | Idle::None => self.aged(now.since(since), 0.0),
        };
    }
    /// Takes a sample as Linux does (`red_calc_qavg` of `include/net/red.h`), whose average is a multiple of the weight:
    /// the sample is compared with the whole part of the average. An average of packets is thus half a packet larger than
    /// that of [`Average::sample`] where the queue is steady.
    pub fn sample_whole(&mut self, now: Time, waiting: f64) {
        self.value = match self.idle_since.take() {
            Some(since) => self.aged(now.since(since), 0.0),
            None => self.value + self.weight * (waiting - self.value.floor()),
        };
    }
    /// Returns the average aged by an idle time, and by `more` samples of an empty queue, which form "linux" does not have.
    fn aged(&self, idle: Dur, more: f64) -> f64 {
        if self.form == Form::Linux {
            return self.aged_by_table(idle);
        }
        let missed = (self.packets_per_second * idle.as_secs()).floor();
        self.value * maths::pow(1.0 - self.weight, missed + more)
    }
    /// Returns the average aged by an idle time as Linux does (`red_calc_qavg_from_idle_time`), with the table that tc computes
    /// (`tc_red_eval_idle_damping`): it has the number of halvings for each multiple of a cell of 2^`log` µs, and an idle
    /// time of less than one halving lowers the average linearly. tc's table is in ticks of 64 ns, and the kernel's idle times
    /// are in microseconds, so that the average ages by another time constant than that of the weight.
    fn aged_by_table(&self, idle: Dur) -> f64 {
        /// Ticks of the kernel's packet schedulers per second.
        const TICKS: f64 = 15_625_000.0;
        /// Number of entries of the table.
        const CELLS: f64 = 256.0;
        /// Largest number of halvings.
        const MOST: f64 = 31.0;
        let per_tick = -maths::ln_1p(-self.weight) / (TICKS / self.packets_per_second).ceil();
        let power_of_two = |log: u32| (1_u64 << log) as f64;
        // A weight of 1 has an infinite rate; the cells are then of 1 µs.
        let log = (0..31).find(|log| MOST / per_tick / power_of_two(*log) < 2.0 * CELLS).unwrap_or(31);
        let cell = power_of_two(log);
        let idle = ((idle.0 / Dur::from_us(1).0) as f64).min((CELLS - 1.0) * cell);
        let place = (idle / cell).floor();
        let halvings = match place {
            0.0 => 0.0,
            _ if place == CELLS - 1.0 => MOST,
            _ => (place * cell * per_tick).floor().min(MOST),
        };
        // The kernel's average is in whole multiples of the weight.
        let average = self.value / self.weight;
        let (half, less) = ((average / 2.0).floor(), (average * idle / cell).floor());
        let aged = if halvings >= 1.0 {
            (average / power_of_two(halvings as u32)).floor()
        } else if less < half {
            average - less
        } else {
            half
        };
        aged * self.weight
    }
    /// Returns the average as an arrival at `now` would find it, without the sample of that arrival.
    pub fn at(&self, now: Time) -> f64 {
        match self.idle_since {
            Some(since) => self.aged(now.since(since), 0.0),
            None => self.value,
        }
    }
    /// Notes that an idle time has begun, unless idle times do not age the average. Further calls until the next sample have
    /// no effect.
    pub fn idle(&mut self, now: Time) {
        if self.idle_form != Idle::None {
            self.found_empty(now);
        }
    }
    /// Notes that a dequeue has found no packet: an idle time begins, also with `Idle::None`, unless one has begun already.
    pub fn found_empty(&mut self, now: Time) {
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
