//! QCN's reaction point (IEEE 802.1Qau): a decrease by feedback, and recovery by itself.

use super::React;
use super::bcn::above_zero;
use crate::check;
use crate::congestion_notification::Feedback;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_document::Invalid;
use tailback_random::Rng;
use tailback_units::{Dur, Fraction, Rate, Size, Time};

/// Cycles of fast recovery.
const FAST: u32 = 5;

/// Ratio of target and rate above which the target is reduced (the standard's constant).
const FAR: f64 = 10.0;
/// Divisor of such a target in the first cycle.
const NEARER: f64 = 8.0;

/// Reaction to QCN's messages (IEEE 802.1Qau-2010; R. Pan's pseudo-code for it): a message takes `decrease` × |Fb| of the
/// rate, at most half, and what the rate was becomes the target, unless the byte counter has ended no cycle since the
/// message before. Then cycles of that counter and of a timer bring it back: five of fast recovery halve the distance to
/// the target; after those of either the target grows by `increase` (active), after those of both by a multiple of
/// `hyper`. At a cycle's end with either count at one, a target of more than ten times the rate is divided by eight
/// instead. Cycles are half as long when they are not of fast recovery.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Params {
    /// Gd, share taken away per unit of quantised feedback, above 0 and at most 1/126. Default 1/128.
    pub decrease: Fraction,
    /// Added to the target in each cycle of active increase, above 0. Default 5 Mbit/s.
    pub increase: Rate,
    /// Step of hyper-active increase, multiplied by the cycles that both counters have spent in it; above 0. Default 50 Mbit/s.
    pub hyper: Rate,
    /// The lowest rate, above 0. Default 10 Mbit/s.
    pub floor: Rate,
    /// Wire bytes of a cycle of the byte counter, above 0. Default 150 kB.
    pub bytes: Size,
    /// Time of a cycle of the timer, above 0s. Default 15 ms.
    pub timer: Dur,
    /// Random variation of each cycle's length, up and down, as a share of it, so that limiters do not step
    /// together. Default 0.15.
    pub jitter: Fraction,
}

impl Default for Params {
    fn default() -> Params {
        Params {
            decrease: Fraction(1.0 / 128.0),
            increase: Rate::mbit(5),
            hyper: Rate::mbit(50),
            floor: Rate::mbit(10),
            bytes: Size(150_000),
            timer: Dur::from_ms(15),
            jitter: Fraction(0.15),
        }
    }
}

impl Params {
    /// The law of a limiter on a line of this rate.
    pub fn build(&self, line: Rate, now: Time) -> Qcn {
        let line = line.0 as f64;
        Qcn {
            params: self.clone(),
            line,
            target: line,
            rate: line,
            left: self.bytes.0 as f64,
            by_bytes: 0,
            due: now + self.timer,
            by_time: 0,
        }
    }
    /// Refuses parameters out of range.
    ///
    /// # Errors
    /// The parameter at fault, and what to write.
    pub fn check(&self) -> Result<(), Invalid> {
        check::above("decrease", self.decrease.0, 0.0, 1.0 / 126.0)?;
        for (field, rate) in [("increase", self.increase), ("hyper", self.hyper), ("floor", self.floor)] {
            above_zero(field, rate)?;
        }
        if self.bytes.0 == 0 {
            return Err(Invalid::new("bytes", "a cycle of no bytes never ends; write a size such as \"150kB\""));
        }
        check::duration("timer", self.timer)
    }
}

/// The state of one limiter's rate.
#[derive(Debug)]
pub struct Qcn {
    params: Params,
    line: f64,
    target: f64,
    rate: f64,
    /// Bytes to send until this cycle of the byte counter ends, and cycles of bytes and of time since the last message.
    left: f64,
    by_bytes: u32,
    /// When this cycle of the timer ends.
    due: Time,
    by_time: u32,
}

impl Qcn {
    /// A cycle has ended.
    fn step(&mut self) {
        let both = self.by_bytes.min(self.by_time);
        if (self.by_bytes == 1 || self.by_time == 1) && self.target > FAR * self.rate {
            self.target /= NEARER;
        } else if both > FAST {
            self.target += self.params.hyper.0 as f64 * f64::from(both - FAST);
        } else if self.by_bytes.max(self.by_time) > FAST {
            self.target += self.params.increase.0 as f64;
        }
        self.target = self.target.min(self.line);
        self.rate = 0.5 * (self.rate + self.target);
        // Halving alone never arrives.
        if self.line - self.rate < 1e-3 * self.line {
            self.rate = self.line;
        }
    }
    /// Bytes of the byte counter's next cycle.
    fn byte_cycle(&self, rng: &mut Rng) -> f64 {
        self.params.bytes.0 as f64 * self.share(self.by_bytes, rng)
    }
    /// Time of the timer's next cycle.
    fn time_cycle(&self, rng: &mut Rng) -> Dur {
        Dur((self.params.timer.0 as f64 * self.share(self.by_time, rng)) as u64)
    }
    /// Returns the length of the cycle after `cycles` cycles, as a share of that of the first ones.
    fn share(&self, cycles: u32, rng: &mut Rng) -> f64 {
        let jitter = 1.0 + self.params.jitter.0 * (2.0 * rng.uniform() - 1.0);
        if cycles < FAST { jitter } else { 0.5 * jitter }
    }
}

impl React for Qcn {
    fn hear(&mut self, now: Time, _point: u16, feedback: Feedback, rng: &mut Rng) -> bool {
        self.advance(now, rng);
        let Feedback::Change(amount) = feedback else { return false };
        if amount >= 0.0 {
            return false;
        }
        // Messages before the byte counter's first cycle has ended leave the target as it is, whatever the timer did.
        if self.by_bytes > 0 {
            self.target = self.rate;
        }
        let taken = (-amount * self.params.decrease.0).min(0.5);
        self.rate = (self.rate * (1.0 - taken)).max((self.params.floor.0 as f64).min(self.line));
        (self.by_bytes, self.by_time) = (0, 0);
        self.left = self.byte_cycle(rng);
        self.due = now + self.time_cycle(rng);
        true
    }
    fn sent(&mut self, _now: Time, bytes: u16, rng: &mut Rng) {
        self.left -= f64::from(bytes);
        if self.left <= 0.0 {
            self.by_bytes += 1;
            self.step();
            self.left += self.byte_cycle(rng);
        }
    }
    fn advance(&mut self, now: Time, rng: &mut Rng) {
        while self.due <= now && !self.is_over() {
            self.by_time += 1;
            self.step();
            self.due += self.time_cycle(rng);
        }
    }
    fn rate(&self) -> f64 {
        self.rate
    }
    fn stopped_until(&self) -> Time {
        Time::ZERO
    }
    /// The standard's tag names the limiter, and no congestion point looks at it: all have the same here.
    fn point(&self) -> u16 {
        1
    }
    fn is_over(&self) -> bool {
        self.rate >= self.line
    }
}
