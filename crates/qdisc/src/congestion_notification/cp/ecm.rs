//! BCN version 2, later called ECM: feedback linear in the queue's offset and its change.

use super::{Answer, Arrival, Occupancy, Watch};
use crate::check;
use crate::congestion_notification::Feedback;
use crate::signals::Length;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_document::Invalid;
use tailback_random::Rng;
use tailback_units::{Fraction, Size};

/// BCN version 2.0, known as ECM (D. Bergamasco and R. Pan, IEEE 802.1, September 2005; J. Jiang and
/// R. Jain, July 2006): sampled frames carry back Fb = (Qeq − Q) − w ΔQ, ΔQ being the queue's growth since the
/// sample before; |Qeq − Q| counts up to Qeq and |ΔQ| up to 2 Qeq. Sources slow down by negative Fb; one that
/// is limited by this point speeds up by positive Fb. Above `severe` it is BCN(0,0): stop.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Params {
    /// Probability with which a frame is sampled, above 0. Default 0.01.
    pub sampling: Fraction,
    /// Qeq, in frames, above 0. Default 16.
    pub equilibrium: f64,
    /// w, the weight of the queue's change, 0 to 100. Default 2.
    pub weight: f64,
    /// Length above which sources stop, in frames, above `equilibrium`. Absent, they never stop.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub severe: Option<f64>,
    /// Bytes that count as a frame; absent, frames are counted whatever their length.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub frame: Option<Size>,
}

impl Default for Params {
    fn default() -> Params {
        Params { sampling: Fraction(0.01), equilibrium: 16.0, weight: 2.0, severe: None, frame: None }
    }
}

impl Params {
    /// The queues at which it changes what it says, by parameter, smaller ones first.
    pub fn thresholds(&self) -> Vec<(&'static str, Length)> {
        let stated = [("equilibrium", Some(self.equilibrium)), ("severe", self.severe)];
        stated.into_iter().filter_map(|(name, frames)| Some((name, Occupancy::length(self.frame, frames?)))).collect()
    }
    /// The point at work.
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
    /// The parameter at fault, and what to write.
    pub fn check(&self) -> Result<(), Invalid> {
        check::some("sampling", self.sampling)?;
        check::above("equilibrium", self.equilibrium, 0.0, 1e6)?;
        check::within("weight", self.weight, 0.0, 100.0)?;
        if let Some(severe) = self.severe {
            check::above("severe", severe, self.equilibrium, 1e6)?;
        }
        Occupancy::check(self.frame)
    }
}

/// ECM's congestion point.
#[derive(Debug)]
pub struct Ecm {
    sampling: f64,
    equilibrium: f64,
    weight: f64,
    severe: f64,
    occupancy: Occupancy,
    /// Length at the last sample.
    last: f64,
}

impl Watch for Ecm {
    fn judge(&mut self, arrival: &Arrival, rng: &mut Rng) -> Answer {
        if !rng.chance(self.sampling) {
            return Answer::default();
        }
        let (length, most) = (self.occupancy.of(arrival.queued), self.equilibrium);
        let offset = (most - length).clamp(-most, most);
        let change = (length - self.last).clamp(-2.0 * most, 2.0 * most);
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
