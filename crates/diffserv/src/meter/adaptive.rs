//! The source-transparent packet marking engine.

use crate::{Colour, Shows, SlidingWindow, check};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_document::Invalid;
use tailback_random::Rng;
use tailback_units::{Dur, Fraction, Rate, Time};

/// Adaptive packet marking by an engine outside the host: it watches what bandwidth a connection,
/// or a group of them, gets, and marks (green) only as large a part of its packets as it takes to
/// reach the target; the rest is best effort (yellow). Every interval the probability moves by
/// `increment`·|1 − observed/target|, up below the target and down from it on (Feng, Kandlur, Saha
/// and Shin, ICNP 1998; IEEE/ACM ToN 7(5), 1999).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Params {
    /// Bandwidth to reach.
    pub target: Rate,
    /// Time between two changes of the probability, above 0s. Default 100ms.
    #[serde(default = "default_interval")]
    pub interval: Dur,
    /// Largest increase of the probability in an interval, above 0 and at most 1. Default 0.01.
    #[serde(default = "default_increment")]
    pub increment: Fraction,
    /// Window over which the bandwidth is observed, above 0s: one to three round trips. Default 300ms.
    #[serde(default = "default_window")]
    pub window: Dur,
    /// Time for which all may be marked and the target still be missed; then more has been promised
    /// than there is, and marking is turned off. Default: it never is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub patience: Option<Dur>,
    /// How long marking then stays off. Default 60s.
    #[serde(default = "default_rest")]
    pub rest: Dur,
}

/// Least time between two changes of the probability.
const LEAST_INTERVAL: Dur = Dur::from_us(100);

fn default_interval() -> Dur {
    Dur::from_ms(100)
}
fn default_increment() -> Fraction {
    Fraction(0.01)
}
fn default_window() -> Dur {
    Dur::from_ms(300)
}

fn default_rest() -> Dur {
    Dur::from_secs(60)
}

impl Params {
    /// Times and increment are above 0, and there is a target.
    pub fn check(&self) -> Result<(), Invalid> {
        check::duration("interval", self.interval)?;
        if self.interval < LEAST_INTERVAL {
            // All changes that were due between two packets are made up for at the second.
            let advice = format!("{} is out of range; write {LEAST_INTERVAL} or more", self.interval);
            return Err(Invalid::new("interval", advice));
        }
        check::duration("window", self.window)?;
        check::duration("rest", self.rest)?;
        if let Some(patience) = self.patience {
            check::duration("patience", patience)?;
        }
        if self.increment.0 <= 0.0 {
            return Err(Invalid::new("increment", "the probability would never move; write such as 0.01"));
        }
        if self.target == Rate(0) {
            return Err(Invalid::new("target", "nothing is to be reached; write a rate above 0"));
        }
        Ok(())
    }
}

/// The engine at work.
#[derive(Clone, Debug)]
pub struct Adaptive {
    window: SlidingWindow,
    probability: f64,
    /// Bytes per second.
    target: f64,
    increment: f64,
    interval: Dur,
    /// When the probability changes next; never before the first packet.
    due: Time,
    patience: Option<Dur>,
    rest: Dur,
    /// Since when all is marked and the target missed.
    missed_since: Option<Time>,
    /// Marking is off until then.
    off_until: Time,
}

impl Adaptive {
    /// It starts without marking, nothing having been observed.
    pub fn new(params: &Params) -> Adaptive {
        Adaptive {
            window: SlidingWindow::new(params.window, Rate(0)),
            probability: 0.0,
            target: params.target.0 as f64 / 8.0,
            increment: params.increment.0,
            interval: params.interval,
            due: Time::NEVER,
            patience: params.patience,
            rest: params.rest,
            missed_since: None,
            off_until: Time::ZERO,
        }
    }
    /// Green with the probability of the moment, else yellow, whatever it was before.
    pub fn mark(&mut self, now: Time, bytes: u32, _incoming: Colour, rng: &mut Rng) -> Colour {
        if self.due == Time::NEVER {
            self.due = now + self.interval;
        }
        self.catch_up(now);
        self.window.arrive(now, bytes);
        if rng.chance(self.probability) { Colour::Green } else { Colour::Yellow }
    }
    /// The marking probability as of the last packet.
    pub fn probability(&self) -> f64 {
        self.probability
    }
    /// Changes that were due since the last packet.
    fn catch_up(&mut self, now: Time) {
        while self.due <= now {
            let ratio = self.window.at(self.due) / self.target;
            if self.due >= self.off_until {
                self.probability = (self.probability + self.increment * (1.0 - ratio)).clamp(0.0, 1.0);
                self.look(self.due, ratio);
            }
            self.due += self.interval;
            // The observed bandwidth only falls from here on, so the probability stays at its top.
            if self.probability == 1.0 && ratio < 1.0 && self.due <= now && self.patience.is_none() {
                let missed = now.since(self.due).0 / self.interval.0;
                self.due += self.interval * (missed + 1);
            }
        }
    }
    /// Turns marking off when it has done all it can for too long.
    fn look(&mut self, at: Time, ratio: f64) {
        let Some(patience) = self.patience else { return };
        if self.probability < 1.0 || ratio >= 1.0 {
            self.missed_since = None;
        } else if at.since(*self.missed_since.get_or_insert(at)) >= patience {
            self.missed_since = None;
            self.probability = 0.0;
            self.off_until = at + self.rest;
        }
    }
}

impl Shows for Adaptive {
    fn probe(&self, f: &mut dyn FnMut(&'static str, f64)) {
        f("probability", self.probability);
        f("observed_bit_s", 8.0 * self.window.last());
    }
}
