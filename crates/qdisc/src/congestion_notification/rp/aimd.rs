//! Common part of the rate laws of BCN and ECM: additive increase and multiplicative decrease by the amount of the feedback, a
//! stop of random length, and drift.

use super::React;
use crate::check;
use crate::congestion_notification::Feedback;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_document::Invalid;
use tailback_random::Rng;
use tailback_units::{Dur, Rate, Time};

/// Most doublings of the longest stop, and halvings of a restart's rate.
const MOST_HITS: u32 = 10;

/// Growth by time alone.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Drift {
    /// Added at each step, above 0.
    pub step: Rate,
    /// Time between steps, above 0s.
    pub every: Dur,
}

impl Drift {
    /// It leads upwards.
    ///
    /// # Errors
    /// The parameter at fault, and what to write.
    pub fn check(&self) -> Result<(), Invalid> {
        if self.step.0 == 0 {
            return Err(Invalid::new("step", "a drift of 0 leads nowhere; write a rate such as \"1Mbit/s\""));
        }
        check::duration("every", self.every)
    }
}

/// The law's constants, in bit/s and per unit of feedback.
#[derive(Clone, Debug)]
pub struct Constants {
    /// Share of the rate taken away per unit.
    pub decrease: f64,
    /// Largest share taken away by one message.
    pub most: f64,
    /// Added per unit.
    pub increase: f64,
    /// Least rate.
    pub floor: f64,
    /// Rate after the first stop.
    pub restart: f64,
    /// `true` if a restart's rate halves with each stop that follows another.
    pub halve: bool,
    /// Longest stop, the first time.
    pub stop: Dur,
    /// Rate below which frames solicit; 0 never.
    pub solicit: f64,
    /// Growth by time.
    pub drift: Option<Drift>,
}

/// The state of one limiter's rate.
#[derive(Debug)]
pub struct Aimd {
    constants: Constants,
    line: f64,
    rate: f64,
    until: Time,
    point: u16,
    /// Stops since the last increase.
    hits: u32,
    /// The last step of the drift.
    drifted: Time,
}

impl Aimd {
    /// A limiter at the line's rate.
    ///
    /// A line slower than the least rate is the least rate: then no message slows it down.
    pub fn new(mut constants: Constants, line: Rate, now: Time) -> Aimd {
        let line = line.0 as f64;
        constants.floor = constants.floor.min(line);
        Aimd { constants, line, rate: line, until: Time::ZERO, point: 0, hits: 0, drifted: now }
    }
}

impl React for Aimd {
    fn hear(&mut self, now: Time, point: u16, feedback: Feedback, rng: &mut Rng) -> bool {
        self.advance(now, rng);
        let c = &self.constants;
        match feedback {
            Feedback::Stop => {
                // Frames that were in flight when it stopped cause no second stop.
                if self.until > now {
                    return false;
                }
                let times = self.hits.min(MOST_HITS);
                self.hits += 1;
                self.point = point;
                self.until = now + Dur((rng.uniform() * (c.stop.0 as f64 * f64::from(1u32 << times))) as u64);
                let parts = if c.halve { f64::from(1u32 << times) } else { 1.0 };
                self.rate = (c.restart / parts).clamp(c.floor, self.line);
            }
            Feedback::Change(amount) if amount < 0.0 => {
                if self.until > now {
                    return false;
                }
                self.point = point;
                self.rate = (self.rate * (1.0 - (-amount * c.decrease).min(c.most))).max(c.floor);
            }
            Feedback::Change(_) if point != self.point => return false,
            Feedback::Change(amount) => {
                self.hits = 0;
                self.rate = (self.rate + c.increase * amount).min(self.line);
            }
        }
        true
    }
    fn advance(&mut self, now: Time, _rng: &mut Rng) {
        let Some(drift) = &self.constants.drift else { return };
        let steps = now.since(self.drifted).0 / drift.every.0;
        if steps > 0 {
            self.drifted += Dur(steps * drift.every.0);
            self.rate = (self.rate + steps as f64 * drift.step.0 as f64).min(self.line);
        }
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
