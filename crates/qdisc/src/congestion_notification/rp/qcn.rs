//! QCN's reaction point (IEEE 802.1Qau): decrease by feedback, and increase without feedback.

use super::React;
use super::bcn::above_zero;
use crate::check;
use crate::congestion_notification::Feedback;
use crate::retune::{Retune, scaled};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_document::Invalid;
use tailback_random::Rng;
use tailback_units::{Dur, Fraction, Rate, Size, Time};

/// Number of cycles of each counter in fast recovery.
const FAST: u32 = 5;

/// Ratio of target to rate above which the target is reduced (the standard's constant).
const MAX_TARGET_RATIO: f64 = 10.0;
/// Divisor that reduces a target above [`MAX_TARGET_RATIO`] times the rate.
const TARGET_DIVISOR: f64 = 8.0;

/// Reaction to QCN's messages (IEEE 802.1Qau-2010; R. Pan's pseudo-code for it): a message reduces the rate by the
/// share `decrease` × |Fb|, at most by half. The rate before the message becomes the target, unless the byte counter
/// has completed no cycle since the previous message. Afterwards the rate recovers in cycles of a byte counter and of a
/// timer: at the end of each cycle the distance to the target is halved. During the first five cycles of both counters
/// (fast recovery) the target is constant. Once one counter has completed five, each further cycle adds `increase` to
/// the target (active increase); once both have, a multiple of `hyper` (hyper-active increase). While a counter has
/// completed exactly one cycle, a target of more than ten times the rate is divided by eight instead. After its fifth
/// cycle, the cycles of a counter are half as long.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Params {
    /// Decrease Gd per unit of quantised feedback, as a share of the rate, above 0 and at most 1/126.
    /// Default 1/128.
    pub decrease: Fraction,
    /// Increment of the target per cycle of active increase, above 0. Default 5 Mbit/s.
    pub increase: Rate,
    /// Increment of the target per cycle of hyper-active increase, multiplied by the number of cycles that both
    /// counters have spent in it; above 0. Default 50 Mbit/s.
    pub hyper: Rate,
    /// Minimum rate, above 0. Default 10 Mbit/s.
    pub floor: Rate,
    /// Wire bytes per cycle of the byte counter, above 0. Default 150 kB.
    pub bytes: Size,
    /// Duration of a cycle of the timer, above 0s and at most 24h. Default 15 ms.
    pub timer: Dur,
    /// Random variation of each cycle's length to either side, uniform, as a share of the length, 0 to 1, so that
    /// limiters are not synchronised. Default 0.15.
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
    /// Returns the law of a limiter that is set up at `now` on a link of rate `line`.
    pub fn build(&self, line: Rate, now: Time) -> Qcn {
        let line = line.0 as f64;
        Qcn {
            params: self.clone(),
            line,
            target: line,
            rate: line,
            bytes_left: self.bytes.0 as f64,
            by_bytes: 0,
            due: now + self.timer,
            by_time: 0,
        }
    }
    /// Refuses parameters out of range.
    ///
    /// # Errors
    /// If a parameter is invalid; the error names the parameter and says what to write.
    pub fn check(&self) -> Result<(), Invalid> {
        check::above("decrease", self.decrease.0, 0.0, 1.0 / 126.0)?;
        for (field, rate) in [("increase", self.increase), ("hyper", self.hyper), ("floor", self.floor)] {
            above_zero(field, rate)?;
        }
        if self.bytes.0 == 0 {
            return Err(Invalid::new("bytes", "the size is zero; write a size above zero, such as \"150kB\""));
        }
        check::duration("timer", self.timer)
    }
}

/// The state of one limiter's rate.
#[derive(Debug)]
pub struct Qcn {
    params: Params,
    /// Rate of the link, bit/s.
    line: f64,
    /// Target of the recovery, bit/s.
    target: f64,
    /// Rate of the limiter, bit/s.
    rate: f64,
    /// Wire bytes to send until this cycle of the byte counter ends.
    bytes_left: f64,
    /// Number of completed cycles of the byte counter since the last message.
    by_bytes: u32,
    /// End of this cycle of the timer.
    due: Time,
    /// Number of completed cycles of the timer since the last message.
    by_time: u32,
}

impl Qcn {
    /// Adapts target and rate at the end of a cycle.
    fn step(&mut self) {
        let both = self.by_bytes.min(self.by_time);
        if (self.by_bytes == 1 || self.by_time == 1) && self.target > MAX_TARGET_RATIO * self.rate {
            self.target /= TARGET_DIVISOR;
        } else if both > FAST {
            self.target += self.params.hyper.0 as f64 * f64::from(both - FAST);
        } else if self.by_bytes.max(self.by_time) > FAST {
            self.target += self.params.increase.0 as f64;
        }
        self.target = self.target.min(self.line);
        self.rate = 0.5 * (self.rate + self.target);
        // By halving the distance alone the rate would never reach that of the link.
        if self.line - self.rate < 1e-3 * self.line {
            self.rate = self.line;
        }
    }
    /// Returns the length of the byte counter's next cycle, wire bytes.
    fn byte_cycle(&self, rng: &mut Rng) -> f64 {
        self.params.bytes.0 as f64 * self.relative_length(self.by_bytes, rng)
    }
    /// Returns the duration of the timer's next cycle.
    fn time_cycle(&self, rng: &mut Rng) -> Dur {
        Dur((self.params.timer.0 as f64 * self.relative_length(self.by_time, rng)) as u64)
    }
    /// Returns the length of the next cycle after `cycles` cycles, as a multiple of the nominal
    /// length in fast recovery.
    fn relative_length(&self, cycles: u32, rng: &mut Rng) -> f64 {
        let jitter = 1.0 + self.params.jitter.0 * (2.0 * rng.uniform() - 1.0);
        if cycles < FAST { jitter } else { 0.5 * jitter }
    }
}

/// Scales the rest of the byte counter's cycle in proportion to its new length. The present cycle of the timer ends no
/// later than the longest cycle that begins at `now`. Clamps rate and target to their new bounds.
impl Retune for Qcn {
    fn adopt(&mut self, now: Time, fresh: Qcn) {
        self.bytes_left = scaled(self.bytes_left, self.params.bytes, fresh.params.bytes);
        (self.params, self.line) = (fresh.params, fresh.line);
        let longest = self.params.timer.0 as f64 * (1.0 + self.params.jitter.0);
        self.due = self.due.min(now + Dur(longest as u64));
        self.target = self.target.min(self.line);
        self.rate = self.rate.clamp((self.params.floor.0 as f64).min(self.line), self.line);
    }
}

impl React for Qcn {
    fn hear(&mut self, now: Time, _point: u16, feedback: Feedback, rng: &mut Rng) -> bool {
        self.advance(now, rng);
        let Feedback::Change(amount) = feedback else { return false };
        if amount >= 0.0 {
            return false;
        }
        // A message before the end of the byte counter's first cycle does not change the target, whatever the timer
        // has done.
        if self.by_bytes > 0 {
            self.target = self.rate;
        }
        let reduction = (-amount * self.params.decrease.0).min(0.5);
        self.rate = (self.rate * (1.0 - reduction)).max((self.params.floor.0 as f64).min(self.line));
        (self.by_bytes, self.by_time) = (0, 0);
        self.bytes_left = self.byte_cycle(rng);
        self.due = now + self.time_cycle(rng);
        true
    }
    fn sent(&mut self, _now: Time, bytes: u16, rng: &mut Rng) {
        self.bytes_left -= f64::from(bytes);
        if self.bytes_left <= 0.0 {
            self.by_bytes += 1;
            self.step();
            self.bytes_left += self.byte_cycle(rng);
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
    /// Returns 1 always: the standard's tag identifies the limiter, and congestion points do not read the tag.
    fn point(&self) -> u16 {
        1
    }
    fn is_over(&self) -> bool {
        self.rate >= self.line
    }
}
