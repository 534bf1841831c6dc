//! BCN version 2, later called ECM: feedback linear in the deviation and in the change of the queue
//! length.

use super::bcn::FRAME_FIXED;
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

/// BCN version 2.0, known as ECM (D. Bergamasco and R. Pan, IEEE 802.1, September 2005; J. Jiang and R. Jain,
/// July 2006): the feedback to the source of a sampled frame is Fb = (Qeq − Q) − w ΔQ, with Q the queue length
/// and ΔQ its growth since the previous sample, in frames; Qeq − Q is clamped to ±Qeq and ΔQ to ±2 Qeq. Negative
/// Fb slows sources down; positive Fb speeds up sources that this congestion point has limited. Above `severe`
/// the feedback is BCN(0,0): stop.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Params {
    /// Probability with which a frame is sampled, above 0 and at most 1. Default 0.01.
    pub sampling: Fraction,
    /// Equilibrium queue length Qeq, frames, above 0 and at most 1000000. Default 16.
    pub equilibrium: f64,
    /// Weight w of the change of the queue length, 0 to 100. Default 2.
    pub weight: f64,
    /// Queue length above which sources are stopped, frames, above `equilibrium` and at most
    /// 1000000. Default: sources are never stopped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub severe: Option<f64>,
    /// Number of buffer bytes that count as one frame, 1 B to 65535 B. Default: frames are counted, whatever their
    /// length.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-fixed" = FRAME_FIXED))]
    pub frame: Option<Size>,
}

impl Default for Params {
    fn default() -> Params {
        Params { sampling: Fraction(0.01), equilibrium: 16.0, weight: 2.0, severe: None, frame: None }
    }
}

impl Params {
    /// Returns the thresholds `equilibrium` and, if stated, `severe`, in this order.
    pub fn thresholds(&self) -> Vec<(&'static str, Length)> {
        let stated = [("equilibrium", Some(self.equilibrium)), ("severe", self.severe)];
        stated.into_iter().filter_map(|(name, frames)| Some((name, Occupancy::length(self.frame, frames?)))).collect()
    }
    /// Returns the congestion point in its initial state.
    pub fn build(&self) -> Ecm {
        Ecm {
            sampling: self.sampling.0,
            equilibrium: self.equilibrium,
            weight: self.weight,
            severe: self.severe.unwrap_or(f64::INFINITY),
            occupancy: Occupancy::new(self.frame),
            last: 0.0,
        }
    }
    /// Refuses parameters out of range.
    ///
    /// # Errors
    /// If a parameter is invalid; the error names the parameter and says what to write.
    pub fn check(&self) -> Result<(), Invalid> {
        check::positive_fraction("sampling", self.sampling)?;
        check::above("equilibrium", self.equilibrium, 0.0, 1e6)?;
        check::within("weight", self.weight, 0.0, 100.0)?;
        if let Some(severe) = self.severe {
            check::above("severe", severe, self.equilibrium, 1e6)?;
        }
        Occupancy::check(self.frame)
    }
}

/// State of ECM's congestion point.
#[derive(Debug)]
pub struct Ecm {
    sampling: f64,
    /// Frames.
    equilibrium: f64,
    weight: f64,
    /// Frames; infinite: sources are never stopped.
    severe: f64,
    occupancy: Occupancy,
    /// Queue length at the last sample, frames.
    last: f64,
}

impl Retune for Ecm {
    fn adopt(&mut self, _now: Time, fresh: Ecm) {
        *self = Ecm { last: self.last, ..fresh };
    }
}

impl Fixed for Params {
    fn check_retune(&self, to: &Params) -> Result<(), Invalid> {
        fixed("frame", self.frame, to.frame, FRAME_FIXED)
    }
}

impl Watch for Ecm {
    fn judge(&mut self, arrival: &Arrival, rng: &mut Rng) -> Answer {
        if !rng.chance(self.sampling) {
            return Answer::default();
        }
        let (length, equilibrium) = (self.occupancy.of(arrival.queued), self.equilibrium);
        let offset = (equilibrium - length).clamp(-equilibrium, equilibrium);
        let change = (length - self.last).clamp(-2.0 * equilibrium, 2.0 * equilibrium);
        self.last = length;
        let amount = offset - self.weight * change;
        let feedback = if length > self.severe {
            Some(Feedback::Stop)
        } else if amount < 0.0 || amount > 0.0 && arrival.limited.is_some() {
            Some(Feedback::Change(amount))
        } else {
            None
        };
        Answer { sampled: true, feedback }
    }
}
