//! Common part of the rate laws of BCN and ECM: additive increase and multiplicative decrease by the amount of the
//! feedback, a stop of random duration, and drift.

use super::React;
use crate::check;
use crate::congestion_notification::Feedback;
use crate::retune::Retune;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_document::Invalid;
use tailback_random::Rng;
use tailback_units::{Dur, Rate, Time};

/// Upper bound on the number of doublings of the longest stop, and of halvings of the rate after a stop.
const MAX_HITS: u32 = 10;

/// Growth of the rate with time, without messages.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Drift {
    /// Increment of the rate per step, above 0.
    pub step: Rate,
    /// Time between steps, above 0s and at most 24h.
    pub every: Dur,
}

impl Drift {
    /// Refuses a step of 0, and a time of 0 or above 24 h.
    ///
    /// # Errors
    /// If a parameter is invalid; the error names the parameter and says what to write.
    pub fn check(&self) -> Result<(), Invalid> {
        if self.step.0 == 0 {
            return Err(Invalid::new("step", "the step is zero; write a rate above zero, such as \"1Mbit/s\""));
        }
        check::duration("every", self.every)
    }
}

/// Constants of the law; rates in bit/s, feedback in the units of [`Feedback::Change`].
#[derive(Clone, Debug)]
pub struct Constants {
    /// Decrease per unit of feedback, as a share of the rate.
    pub decrease: f64,
    /// Largest decrease by one message, as a share of the rate.
    pub most: f64,
    /// Increase per unit of feedback, bit/s.
    pub increase: f64,
    /// Minimum rate, bit/s.
    pub floor: f64,
    /// Rate after the first stop, bit/s.
    pub restart: f64,
    /// `true` if each further stop before an increase halves the rate after the stop.
    pub halve: bool,
    /// Longest duration of a first stop. Each further stop before an increase doubles it, up to 1024-fold.
    pub stop: Dur,
    /// Rate below which frames have the Solicit bit, bit/s; 0: never.
    pub solicit: f64,
    /// Growth of the rate with time. `None`: no growth.
    pub drift: Option<Drift>,
}

/// The state of one limiter's rate.
#[derive(Debug)]
pub struct Aimd {
    constants: Constants,
    /// Rate of the link, bit/s.
    line: f64,
    /// Rate of the limiter, bit/s.
    rate: f64,
    /// End of the last stop.
    until: Time,
    /// Congestion point that last slowed the limiter; 0: none yet.
    point: u16,
    /// Number of stops since the last increase.
    hits: u32,
    /// Time of the last step of the drift.
    drifted: Time,
}

impl Aimd {
    /// Returns the state of a limiter that is set up at `now`, at the rate of the link (`line`).
    ///
    /// If the link is slower than the minimum rate, the rate of the link is the minimum, and no message slows the
    /// limiter down.
    pub fn new(mut constants: Constants, line: Rate, now: Time) -> Aimd {
        let line = line.0 as f64;
        constants.floor = constants.floor.min(line);
        Aimd { constants, line, rate: line, until: Time::ZERO, point: 0, hits: 0, drifted: now }
    }
    /// Adds the steps of the drift up to `now`.
    fn drift(&mut self, now: Time) {
        let Some(drift) = &self.constants.drift else { return };
        let steps = now.since(self.drifted).0 / drift.every.0;
        if steps > 0 {
            self.drifted += Dur(steps * drift.every.0);
            self.rate = (self.rate + steps as f64 * drift.step.0 as f64).min(self.line);
        }
    }
}

/// Clamps the rate to its new bounds. The first step of a new or changed drift is one period after `now`.
impl Retune for Aimd {
    fn adopt(&mut self, now: Time, fresh: Aimd) {
        if self.constants.drift != fresh.constants.drift {
            self.drift(now);
            self.drifted = now;
        }
        (self.constants, self.line) = (fresh.constants, fresh.line);
        self.rate = self.rate.clamp(self.constants.floor, self.line);
    }
}

impl React for Aimd {
    fn hear(&mut self, now: Time, point: u16, feedback: Feedback, rng: &mut Rng) -> bool {
        self.advance(now, rng);
        let constants = &self.constants;
        match feedback {
            Feedback::Stop => {
                // Messages about frames that were in flight at the stop cause no second stop.
                if self.until > now {
                    return false;
                }
                let doublings = self.hits.min(MAX_HITS);
                self.hits += 1;
                self.point = point;
                self.until =
                    now + Dur((rng.uniform() * (constants.stop.0 as f64 * f64::from(1u32 << doublings))) as u64);
                let divisor = if constants.halve { f64::from(1u32 << doublings) } else { 1.0 };
                self.rate = (constants.restart / divisor).clamp(constants.floor, self.line);
            }
            Feedback::Change(amount) if amount < 0.0 => {
                if self.until > now {
                    return false;
                }
                self.point = point;
                self.rate =
                    (self.rate * (1.0 - (-amount * constants.decrease).min(constants.most))).max(constants.floor);
            }
            Feedback::Change(_) if point != self.point => return false,
            Feedback::Change(amount) => {
                self.hits = 0;
                self.rate = (self.rate + constants.increase * amount).min(self.line);
            }
        }
        true
    }
    fn advance(&mut self, now: Time, _rng: &mut Rng) {
        self.drift(now);
    }
    fn rate(&self) -> f64 {
        self.rate
    }
    fn stopped_until(&self) -> Time {
        self.until
    }
    fn point(&self) -> u16 {
        self.point
    }
    fn solicits(&self) -> bool {
        self.rate < self.constants.solicit
    }
    fn is_over(&self) -> bool {
        self.rate >= self.line
    }
}
