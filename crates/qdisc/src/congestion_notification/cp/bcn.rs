//! BCN as presented to IEEE 802.1 in July 2005: nine ranges of the queue length, each with its
//! feedback.

use super::{Answer, Arrival, Occupancy, Watch};
use crate::check;
use crate::congestion_notification::Feedback;
use crate::retune::{Fixed, Retune, fixed};
use crate::signals::Length;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_document::Invalid;
use tailback_random::Rng;
use tailback_units::{Fraction, Size, Time};

/// Reason why a congestion point's `frame` is fixed during a run.
pub(super) const FRAME_FIXED: &str = "the queue length at the last sample is kept in this unit";

/// Upper bound of thresholds, frames.
const MAX_QUEUE: f64 = 1e6;

/// Backward congestion notification, July 2005 (D. Bergamasco, IEEE 802 Plenary): frames are sampled at random, and
/// the queue length gives the feedback to their source: BCN 0 (stop) if the queue is full, BCN−4 to BCN−1 above the
/// equilibrium, BCN+1 to BCN+4 below it. Positive feedback is sent only to sources that this congestion point has
/// limited.
///
/// The slides give neither thresholds nor their spacing; the defaults are evenly spaced.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Params {
    /// Probability P with which a frame is sampled, above 0 and at most 1. Default 0.01.
    pub sampling: Fraction,
    /// Equilibrium T+0, the queue length without feedback, frames, above 0 and at most 1000000.
    /// Default 16.
    pub equilibrium: f64,
    /// Threshold T−4, above which the queue counts as full, frames, above `equilibrium` and at most
    /// 1000000; usually 0.9 times the buffer. Default 90.
    pub full: f64,
    /// Thresholds T−1, T−2 and T−3, frames, ascending between `equilibrium` and `full`. Default:
    /// evenly spaced between these.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub above: Option<[f64; 3]>,
    /// Thresholds T+1, T+2 and T+3, frames, descending between `equilibrium` and 0. Default: evenly
    /// spaced between these.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub below: Option<[f64; 3]>,
    /// `true` if negative feedback is sent only if the queue has grown since the last sample, and positive feedback
    /// only if the queue has shrunk or has at most one frame, or, for frames with the Solicit bit, is at most T+3.
    /// Default true.
    pub derivative: bool,
    /// `true` if frames with the Solicit bit get positive feedback even if they are not sampled.
    /// Default true.
    pub solicit: bool,
    /// Number of buffer bytes that count as one frame, 1 B to 65535 B. Default: frames are counted, whatever their
    /// length.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-fixed" = FRAME_FIXED))]
    pub frame: Option<Size>,
}

impl Default for Params {
    fn default() -> Params {
        Params {
            sampling: Fraction(0.01),
            equilibrium: 16.0,
            full: 90.0,
            above: None,
            below: None,
            derivative: true,
            solicit: true,
            frame: None,
        }
    }
}

impl Params {
    /// Returns the thresholds `equilibrium` and `full`, in this order.
    pub fn thresholds(&self) -> Vec<(&'static str, Length)> {
        [("equilibrium", self.equilibrium), ("full", self.full)]
            .map(|(name, frames)| (name, Occupancy::length(self.frame, frames)))
            .into()
    }
    /// Returns the congestion point in its initial state.
    pub fn build(&self) -> Bcn {
        let (t0, full) = (self.equilibrium, self.full);
        let spaced_above = |k: f64| t0 + k * (full - t0) / 4.0;
        let above = self.above.unwrap_or([spaced_above(1.0), spaced_above(2.0), spaced_above(3.0)]);
        let below = self.below.unwrap_or([0.75 * t0, 0.5 * t0, 0.25 * t0]);
        Bcn {
            sampling: self.sampling.0,
            occupancy: Occupancy::new(self.frame),
            above: [t0, above[0], above[1], above[2], full],
            below: [t0, below[0], below[1], below[2]],
            derivative: self.derivative,
            solicit: self.solicit,
            last: 0.0,
        }
    }
    /// Refuses parameters out of range and thresholds out of order.
    ///
    /// # Errors
    /// If a parameter is invalid; the error names the parameter and says what to write.
    pub fn check(&self) -> Result<(), Invalid> {
        check::positive_fraction("sampling", self.sampling)?;
        check::above("equilibrium", self.equilibrium, 0.0, MAX_QUEUE)?;
        check::above("full", self.full, self.equilibrium, MAX_QUEUE)?;
        Occupancy::check(self.frame)?;
        let (t0, full) = (self.equilibrium, self.full);
        if let Some([a, b, c]) = self.above
            && !(t0 < a && a < b && b < c && c < full)
        {
            return Err(Invalid::new(
                "above",
                format!("the thresholds do not ascend from {t0} to {full}; write three ascending numbers between them"),
            ));
        }
        if let Some([d, e, f]) = self.below
            && !(t0 > d && d > e && e > f && f > 0.0)
        {
            return Err(Invalid::new(
                "below",
                format!("the thresholds do not descend from {t0} to 0; write three descending numbers between them"),
            ));
        }
        Ok(())
    }
}

/// State of BCN's congestion point.
#[derive(Debug)]
pub struct Bcn {
    sampling: f64,
    occupancy: Occupancy,
    /// T+0, T−1, T−2, T−3, T−4, ascending, frames.
    above: [f64; 5],
    /// T+0, T+1, T+2, T+3, descending, frames; T+4 is the empty queue.
    below: [f64; 4],
    derivative: bool,
    solicit: bool,
    /// Queue length at the last sample, frames. The slides have a counter of arrivals minus departures instead, which
    /// is set to 0 at each sample.
    last: f64,
}

impl Bcn {
    /// Returns the level of feedback for a queue of `length` frames, −5 to 4, whatever the frame's tag and the queue's
    /// growth: −5 is BCN 0 (stop), 0 is no message.
    fn level(&self, length: f64) -> i32 {
        let above = self.above.iter().filter(|t| length > **t).count() as i32;
        let below = self.below.iter().filter(|t| length < **t).count() as i32;
        below - above
    }
}

impl Retune for Bcn {
    fn adopt(&mut self, _now: Time, fresh: Bcn) {
        *self = Bcn { last: self.last, ..fresh };
    }
}

impl Fixed for Params {
    fn check_retune(&self, to: &Params) -> Result<(), Invalid> {
        fixed("frame", self.frame, to.frame, FRAME_FIXED)
    }
}

impl Watch for Bcn {
    fn judge(&mut self, arrival: &Arrival, rng: &mut Rng) -> Answer {
        let length = self.occupancy.of(arrival.queued);
        let sampled = rng.chance(self.sampling);
        let before = self.last;
        if sampled {
            self.last = length;
        }
        let solicits = self.solicit && arrival.limited == Some(true);
        let level = match (sampled, arrival.limited) {
            (true, Some(_)) => self.level(length),
            (true, None) => self.level(length).min(0),
            (false, _) if solicits => self.level(length).max(0),
            (false, _) => 0,
        };
        // An empty queue cannot shrink, so that by the letter of the slides an idle queue would never speed sources up
        // again. Frames that solicit get positive feedback even from a growing queue, if the queue is at most T+3.
        let falls = length < before || length <= 1.0 || solicits && length <= self.below[3];
        let feedback = match level {
            ..=-5 => Some(Feedback::Stop),
            -4..=-1 if !self.derivative || length > before => Some(Feedback::Change(f64::from(level))),
            1.. if !self.derivative || falls => Some(Feedback::Change(f64::from(level))),
            _ => None,
        };
        Answer { sampled, feedback }
    }
}
