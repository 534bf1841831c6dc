//! Queue management in front of a rate limiter's queue, separately for TCP and UDP.

use crate::check;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_document::Invalid;
use tailback_random::Rng;
use tailback_units::Fraction;

/// The simple queue management of Bergamasco's slides on BCN (IEEE 802 Plenary, July 2005): TCP and UDP frames in
/// a limiter's queue are counted separately. An arriving TCP frame is dropped (or marked) with a fixed probability
/// while more than `threshold` TCP frames wait; an arriving UDP frame is dropped while more than `threshold` UDP
/// frames wait.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Simple {
    /// Threshold Q_AQM, the same for TCP and for UDP, frames, at least 1. Default 10.
    pub threshold: u64,
    /// Probability P with which a TCP frame is dropped or marked, above 0 and at most 1. Default
    /// 0.01.
    pub probability: Fraction,
    /// `true` if ECN-capable TCP frames are marked instead of dropped. Default false.
    pub ecn: bool,
}

impl Default for Simple {
    fn default() -> Simple {
        Simple { threshold: 10, probability: Fraction(0.01), ecn: false }
    }
}

tailback_document::kinds! {
    /// Queue management in front of the queue of each rate limiter.
    pub enum Aqm {
        "simple" => Simple(Simple),
    }
}

impl Simple {
    /// Refuses parameters out of range.
    ///
    /// # Errors
    /// If a parameter is invalid; the error names the parameter and says what to write.
    pub fn check(&self) -> Result<(), Invalid> {
        if self.threshold == 0 {
            return Err(Invalid::new("threshold", "0 frames is out of range; write 1 or more"));
        }
        check::positive_fraction("probability", self.probability)
    }
}

/// The decision about an arriving frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// The frame is queued.
    Pass,
    /// A TCP frame is marked or dropped.
    Signal,
    /// A UDP frame is dropped.
    Refuse,
}

impl Simple {
    /// Decides about an arriving frame of TCP (`tcp`) or UDP that finds `waiting` frames of the
    /// same transport in the queue.
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
