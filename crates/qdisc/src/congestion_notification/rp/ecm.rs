//! The reaction point of BCN version 2 (ECM): steps linear in the feedback.

use super::aimd::{Aimd, Constants, Drift};
use super::bcn::above_zero;
use crate::check;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_document::Invalid;
use tailback_units::{Dur, Fraction, Rate, Time};

/// Reaction to the linear feedback of BCN version 2.0 (ECM; J. Jiang and R. Jain, IEEE 802.1, July 2006): positive Fb
/// adds `increase` × Fb to the rate, negative Fb reduces the rate by the share `decrease` × |Fb|, at most by half.
/// BCN(0,0) stops the limiter for a random time, after which it continues at `restart`; each further stop before
/// the next increase doubles the longest time and halves that rate, up to ten times. The defaults are `decrease` =
/// 0.5/((1 + 2w) Qeq) and `increase` = 0.1 C/((1 + 2w) Qeq) for w = 2, Qeq = 16 frames and C = 10 Gbit/s.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Params {
    /// Decrease Gd per frame of negative feedback, as a share of the rate, above 0 and at most 1.
    /// Default 1/160.
    pub decrease: Fraction,
    /// Increase Gi Ru per frame of positive feedback, above 0. Default 12.5 Mbit/s.
    pub increase: Rate,
    /// Minimum rate, above 0. Default 10 Mbit/s.
    pub floor: Rate,
    /// Rate after a first stop, above 0. Default 1 Gbit/s.
    pub restart: Rate,
    /// Longest first stop: its duration is uniform from 0 to this time, above 0s and at most 24h.
    /// Default 10 us.
    pub stop: Dur,
    /// Growth of the rate with time, so that limiters without messages end. Default: no growth.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub drift: Option<Drift>,
}

impl Default for Params {
    fn default() -> Params {
        Params {
            decrease: Fraction(1.0 / 160.0),
            increase: Rate(12_500_000),
            floor: Rate::mbit(10),
            restart: Rate::mbit(1000),
            stop: Dur::from_us(10),
            drift: None,
        }
    }
}

impl Params {
    /// Returns the law of a limiter that is set up at `now` on a link of rate `line`.
    pub fn build(&self, line: Rate, now: Time) -> Aimd {
        let constants = Constants {
            decrease: self.decrease.0,
            most: 0.5,
            increase: self.increase.0 as f64,
            floor: self.floor.0 as f64,
            restart: self.restart.0 as f64,
            halve: true,
            stop: self.stop,
            solicit: 0.0,
            drift: self.drift.clone(),
        };
        Aimd::new(constants, line, now)
    }
    /// Refuses parameters out of range.
    ///
    /// # Errors
    /// If a parameter is invalid; the error names the parameter and says what to write.
    pub fn check(&self) -> Result<(), Invalid> {
        check::positive_fraction("decrease", self.decrease)?;
        for (field, rate) in [("increase", self.increase), ("floor", self.floor), ("restart", self.restart)] {
            above_zero(field, rate)?;
        }
        check::duration("stop", self.stop)?;
        self.drift.as_ref().map_or(Ok(()), |drift| drift.check().map_err(|e| e.within("drift")))
    }
}
