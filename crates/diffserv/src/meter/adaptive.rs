//! Source-transparent packet marking engine.

use crate::{Colour, Shows, SlidingWindow, check};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_document::Invalid;
use tailback_random::Rng;
use tailback_units::{Dur, Fraction, Rate, Time};

/// Adaptive packet marking by an engine outside the host: it observes the bandwidth of a connection, or of a group of
/// them, and marks (green) only the fraction of packets that is needed to reach the target; the others are best effort
/// (yellow). Every interval the marking probability changes by `increment`·|1 − observed/target|, upwards below the
/// target and downwards otherwise (Feng, Kandlur, Saha and Shin, ICNP 1998; IEEE/ACM ToN 7(5), 1999).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Params {
    /// Target bandwidth, above 0.
    pub target: Rate,
    /// Time between changes of the probability, 100 us to 24h. Default 100ms.
    #[serde(default = "default_interval")]
    pub interval: Dur,
    /// Upper bound of the increase of the probability in an interval, above 0 and at most 1. Default 0.01.
    #[serde(default = "default_increment")]
    pub increment: Fraction,
    /// Window of the bandwidth estimate, above 0s: one to three round-trip times. Default 300ms.
    #[serde(default = "default_window")]
    pub window: Dur,
    /// Time after which marking is turned off if all packets are marked and the target is still missed, since the
    /// network is then oversubscribed. Default: never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub patience: Option<Dur>,
    /// Time for which marking then stays off, above 0s and at most 24h. Default 60s.
    #[serde(default = "default_rest")]
    pub rest: Dur,
}

/// Lower bound of the interval.
const MIN_INTERVAL: Dur = Dur::from_us(100);

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
    /// Checks the ranges of the times, and that increment and target are above 0.
    ///
    /// # Errors
    /// If a parameter is invalid: the error names it and says what to write.
    pub fn check(&self) -> Result<(), Invalid> {
        check::duration("interval", self.interval)?;
        if self.interval < MIN_INTERVAL {
            // After an idle period the changes are applied one by one, so that a shorter interval would take long.
            let advice = format!("{} is out of range; write {MIN_INTERVAL} or more", self.interval);
            return Err(Invalid::new("interval", advice));
        }
        check::duration("window", self.window)?;
        check::duration("rest", self.rest)?;
        if let Some(patience) = self.patience {
            check::duration("patience", patience)?;
        }
        if self.increment.0 <= 0.0 {
            return Err(Invalid::new("increment", "the probability would never change; write a number such as 0.01"));
        }
        if self.target == Rate(0) {
            return Err(Invalid::new("target", "the target is zero; write a rate above 0"));
        }
        Ok(())
    }
}

/// The engine with its state.
#[derive(Clone, Debug)]
pub struct Adaptive {
    window: SlidingWindow,
    probability: f64,
    /// Target, bytes per second.
    target: f64,
    increment: f64,
    interval: Dur,
    /// Time of the next change of the probability; [`Time::NEVER`] until the first packet.
    due: Time,
    patience: Option<Dur>,
    rest: Dur,
    /// Time since which all packets are marked and the target is missed; `None`: this is not so.
    missed_since: Option<Time>,
    /// Time until which marking is off.
    off_until: Time,
}

impl Adaptive {
    /// Returns an engine that starts without marking, since no bandwidth has been observed.
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
    /// Returns green with the current marking probability, else yellow; the incoming colour is ignored.
    pub fn mark(&mut self, now: Time, bytes: u32, _incoming: Colour, rng: &mut Rng) -> Colour {
        if self.due == Time::NEVER {
            self.due = now + self.interval;
        }
        self.catch_up(now);
        self.window.arrive(now, bytes);
        if rng.chance(self.probability) { Colour::Green } else { Colour::Yellow }
    }
    /// Returns the marking probability at the last packet, 0 to 1.
    pub fn probability(&self) -> f64 {
        self.probability
    }
    /// Applies the changes that were due since the last packet.
    fn catch_up(&mut self, now: Time) {
        while self.due <= now {
            let ratio = self.window.at(self.due) / self.target;
            if self.due >= self.off_until {
                self.probability = (self.probability + self.increment * (1.0 - ratio)).clamp(0.0, 1.0);
                self.turn_off_if_missed(self.due, ratio);
            }
            self.due += self.interval;
            // Without packets the observed bandwidth only falls, so that the probability stays at 1: the other changes
            // that are due have no effect and are skipped.
            if self.probability == 1.0 && ratio < 1.0 && self.due <= now && self.patience.is_none() {
                let skipped = now.since(self.due).0 / self.interval.0;
                self.due += self.interval * (skipped + 1);
            }
        }
    }
    /// Turns marking off if all packets were marked and the target was missed throughout the last `patience`. `ratio`
    /// is the observed bandwidth divided by the target.
    fn turn_off_if_missed(&mut self, at: Time, ratio: f64) {
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
