//! Queue management before a rate limiter's queue, by what frames are of.

use crate::check;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_document::Invalid;
use tailback_random::Rng;
use tailback_units::Fraction;

/// The simple queue management of the slides of July 2005: the frames of TCP and those of UDP in a limiter's queue
/// are counted apart. An arriving frame of TCP is dropped (or marked) with a fixed probability while more than
/// `threshold` of TCP wait; one of UDP is dropped while more than `threshold` of UDP wait.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Simple {
    /// Q_AQM, frames, at least 1. Default 10.
    pub threshold: u64,
    /// P, above 0. Default 0.01.
    pub probability: Fraction,
    /// `true` if frames of TCP that are ECN-capable are marked rather than dropped. Default false.
    pub ecn: bool,
}

impl Default for Simple {
    fn default() -> Simple {
        Simple { threshold: 10, probability: Fraction(0.01), ecn: false }
    }
}

tailback_document::kinds! {
    /// Queue management before the queue of each rate limiter.
    pub enum Aqm {
        "simple" => Simple(Simple),
    }
}

impl Simple {
    /// Refuses parameters out of range.
    ///
    /// # Errors
    /// The parameter at fault, and what to write.
    pub fn check(&self) -> Result<(), Invalid> {
        if self.threshold == 0 {
            return Err(Invalid::new("threshold", "0 frames would refuse all; write 1 or more"));
        }
        check::some("probability", self.probability)
    }
}

/// The decision about an arriving frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It is queued.
    Pass,
    /// TCP is signalled: the frame is marked or dropped.
    Signal,
    /// UDP is held to its threshold: the frame is dropped.
    Refuse,
}

impl Simple {
    /// Judges an arriving frame of TCP or of UDP with `waiting` frames of its kind in the queue.
    pub(super) fn judge(&self, tcp: bool, waiting: u64, rng: &mut Rng) -> Verdict {
        if waiting <= self.threshold {
            Verdict::Pass
        } else if !tcp {
            Verdict::Refuse
        } else if rng.chance(self.probability.0) {
            Verdict::Signal
        } else {
            Verdict::Pass
        }
    }
}
