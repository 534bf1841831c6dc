//! QCN's congestion point (IEEE 802.1Qau): quantised negative feedback, sampled by bytes.

use super::{Answer, Arrival, Watch};
use crate::check;
use crate::congestion_notification::Feedback;
use crate::retune::{Fixed, Retune, scaled};
use crate::signals::Length;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_document::Invalid;
use tailback_random::Rng;
use tailback_units::{Fraction, Size, Time};

/// Maximum of the quantised feedback |Fb|, which has six bits.
pub const MAX_QUANTISED: f64 = 63.0;

/// Quantised congestion notification (IEEE 802.1Qau-2010): after a number of arrived bytes a frame is sampled, and Fb =
/// −(Q − Qeq + w ΔQ) is computed, with Q the queue in bytes and ΔQ its growth since the last sample. If Fb is negative,
/// |Fb|, quantised to six bits, is sent to the source of the frame. The upper three of these bits give the bytes until
/// the next sample, fewer for larger |Fb|: 150, 75, 50, 37.5, 30, 25, 21.5 or 18.5 kB (R. Pan's pseudo-code for the
/// standard). There is no positive feedback.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Params {
    /// Equilibrium queue length Qeq, buffer bytes, 1 B to 1 GB. Default 26 kB.
    pub equilibrium: Size,
    /// Weight w of the change of the queue length, above 0 and at most 100. Default 2.
    pub weight: f64,
    /// Bytes between samples without feedback, 1 B to 1 GB; the other distances of the table are scaled in proportion.
    /// Default 150 kB.
    pub sample: Size,
    /// Distance between samples at the largest feedback, as a share of `sample`, above 0 and at most 1: the distance
    /// then falls linearly with |Fb| instead of following the table. Default: the table.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub least: Option<Fraction>,
    /// Random variation of each distance to either side, uniform, as a share of the distance, 0 to 1. Default 0.15.
    pub jitter: Fraction,
}

impl Default for Params {
    fn default() -> Params {
        Params { equilibrium: Size(26_000), weight: 2.0, sample: Size(150_000), least: None, jitter: Fraction(0.15) }
    }
}

impl Params {
    /// Returns the only threshold, `equilibrium`.
    pub fn thresholds(&self) -> Vec<(&'static str, Length)> {
        vec![("equilibrium", Length::Bytes(self.equilibrium.0 as f64))]
    }
    /// Returns the congestion point in its initial state.
    pub fn build(&self) -> Qcn {
        Qcn { params: self.clone(), last: 0.0, remaining: self.sample.0 as f64 }
    }
    /// Refuses parameters out of range.
    ///
    /// # Errors
    /// If a parameter is invalid; the error names the parameter and says what to write.
    pub fn check(&self) -> Result<(), Invalid> {
        for (field, size) in [("equilibrium", self.equilibrium), ("sample", self.sample)] {
            if !(1..=1_000_000_000).contains(&size.0) {
                return Err(Invalid::new(field, format!("{size} is out of range; write 1B to 1GB")));
            }
        }
        check::above("weight", self.weight, 0.0, 100.0)?;
        self.least.map_or(Ok(()), |least| check::positive_fraction("least", least))
    }
}

/// Distance to the next sample, kB, by the upper three of the feedback's six bits (R. Pan's pseudo-code for 802.1Qau).
const TABLE: [f64; 8] = [150.0, 75.0, 50.0, 37.5, 30.0, 25.0, 21.5, 18.5];

/// Returns the distance to the next sample after the feedback `quantised`, 0 to 63, as a share of the distance
/// without feedback.
fn relative_distance(quantised: f64) -> f64 {
    TABLE[(quantised as usize >> 3).min(7)] / TABLE[0]
}

/// State of QCN's congestion point.
#[derive(Debug)]
pub struct Qcn {
    params: Params,
    /// Waiting bytes at the last sample.
    last: f64,
    /// Bytes that have to arrive before the next sample.
    remaining: f64,
}

/// Scales the remaining distance to the next sample in proportion to `sample`.
impl Retune for Qcn {
    fn adopt(&mut self, _now: Time, fresh: Qcn) {
        self.remaining = scaled(self.remaining, self.params.sample, fresh.params.sample);
        self.params = fresh.params;
    }
}

impl Fixed for Params {}

impl Watch for Qcn {
    fn judge(&mut self, arrival: &Arrival, rng: &mut Rng) -> Answer {
        self.remaining -= f64::from(arrival.size);
        if self.remaining > 0.0 {
            return Answer::default();
        }
        let Params { equilibrium, weight, sample, least, jitter } = &self.params;
        let (queue, equilibrium) = (arrival.queued.bytes as f64, equilibrium.0 as f64);
        let excess = queue - equilibrium + weight * (queue - self.last);
        self.last = queue;
        let max_excess = equilibrium * (1.0 + 2.0 * weight);
        let quantised = (excess.clamp(0.0, max_excess) * MAX_QUANTISED / max_excess).floor();
        let distance = sample.0 as f64
            * least.map_or_else(
                || relative_distance(quantised),
                |least| 1.0 - (1.0 - least.0) * quantised / MAX_QUANTISED,
            );
        self.remaining = distance * (1.0 + jitter.0 * (2.0 * rng.uniform() - 1.0));
        Answer { sampled: true, feedback: (quantised > 0.0).then_some(Feedback::Change(-quantised)) }
    }
}
