//! QCN's reaction point (IEEE 802.1Qau): a decrease by feedback, and recovery by itself.

use super::React;
use super::bcn::above_zero;
use crate::check;
use crate::cn::Feedback;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_document::Invalid;
use tailback_random::Rng;
use tailback_units::{Dur, Fraction, Rate, Size, Time};

/// Cycles of fast recovery.
const FAST: u32 = 5;

/// Reaction to QCN's messages (IEEE 802.1Qau-2010): a message remembers the rate as the target and takes `decrease`
/// × |Fb| of it, at most half. Then cycles of a byte counter and of a timer bring it back: five of fast recovery
/// halve the distance to the target; after those of either the target grows by `increase` (active), after those of both
/// by a multiple of `hyper`. Cycles are half as long when they are not of fast recovery.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Params {
    /// Gd, share taken away per unit of quantised feedback, above 0 and at most 1/126. Default 1/128.
    pub decrease: Fraction,
    /// Added to the target in each cycle of active increase, above 0. Default 5 Mbit/s.
    pub increase: Rate,
    /// The same of hyper-active increase, times the cycles that both have done in it; above 0. Default 50 Mbit/s.
    pub hyper: Rate,
    /// The lowest rate, above 0. Default 10 Mbit/s.
    pub floor: Rate,
    /// Wire bytes of a cycle of the byte counter, above 0. Default 150 kB.
    pub bytes: Size,
    /// Time of a cycle of the timer, above 0s. Default 15 ms.
    pub timer: Dur,
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
            point: 0,
            sent: 0,
            by_bytes: 0,
            due: now + self.timer,
            by_time: 0,
        }
    }
    /// Everything in range.
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
    point: u8,
    /// Bytes sent in this cycle, and cycles of bytes and of time since the last message.
    sent: u64,
    by_bytes: u32,
    /// When this cycle of the timer ends.
    due: Time,
    by_time: u32,
}

impl Qcn {
    /// A cycle has ended.
    fn step(&mut self) {
        let both = self.by_bytes.min(self.by_time);
        if both > FAST {
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
    fn byte_cycle(&self) -> u64 {
        self.params.bytes.0 / if self.by_bytes < FAST { 1 } else { 2 }
    }
    fn time_cycle(&self) -> Dur {
        Dur(self.params.timer.0 / if self.by_time < FAST { 1 } else { 2 })
    }
}

impl React for Qcn {
    fn hear(&mut self, now: Time, point: u8, feedback: Feedback, _rng: &mut Rng) -> bool {
        self.advance(now);
        let Feedback::Change(amount) = feedback else { return false };
        if amount >= 0.0 {
            return false;
        }
        self.point = point;
        // A message before the first cycle has ended leaves the target as it is.
        if self.by_bytes + self.by_time > 0 {
            self.target = self.rate;
        }
        let taken = (-amount * self.params.decrease.0).min(0.5);
        self.rate = (self.rate * (1.0 - taken)).max((self.params.floor.0 as f64).min(self.line));
        (self.sent, self.by_bytes, self.by_time, self.due) = (0, 0, 0, now + self.params.timer);
        true
    }
    fn sent(&mut self, _now: Time, bytes: u16) {
        self.sent += u64::from(bytes);
        let cycle = self.byte_cycle();
        if self.sent >= cycle {
            self.sent -= cycle;
            self.by_bytes += 1;
            self.step();
        }
    }
    fn advance(&mut self, now: Time) {
        while self.due <= now && !self.is_over() {
            self.by_time += 1;
            self.step();
            self.due += self.time_cycle();
        }
    }
    fn rate(&self) -> f64 {
        self.rate
    }
    fn stopped_until(&self) -> Time {
        Time::ZERO
    }
    fn point(&self) -> u8 {
        self.point
    }
    fn is_over(&self) -> bool {
        self.rate >= self.line
    }
}
