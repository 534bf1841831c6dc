//! The reaction point of BCN as of July 2005: one step per level of feedback.

use super::aimd::{Aimd, Constants, Drift};
use crate::check;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_document::Invalid;
use tailback_units::{Dur, Fraction, Rate, Time};

/// Reaction to quantised BCN messages (D. Bergamasco, IEEE 802 Plenary, July 2005): BCN−k reduces the rate by the
/// share k × `decrease`, BCN+k adds k × `increase` if it comes from the congestion point that slowed the limiter
/// last, and BCN 0 stops the limiter for a random time, after which it continues at `floor`. The slides give no
/// values of the constants.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Params {
    /// Decrease per level of feedback, as a share of the rate, above 0 and at most 0.25. Default
    /// 0.0625.
    pub decrease: Fraction,
    /// Increase per level of feedback, above 0. Default 50 Mbit/s.
    pub increase: Rate,
    /// Minimum rate Rmin, also the rate after a stop; above 0. On a slower link the rate of the link
    /// is the minimum. Default 10 Mbit/s.
    pub floor: Rate,
    /// Rate Rsolicit below which a limiter sets the Solicit bit in its frames; 0bit/s: never. Default 100 Mbit/s.
    pub solicit: Rate,
    /// Longest stop: the duration of a stop is uniform from 0 to this time, which doubles with each
    /// further stop until the next increase, up to 1024-fold; above 0s and at most 24h. Default 10
    /// us.
    pub stop: Dur,
    /// Growth of the rate with time, so that limiters without messages end. Default: no growth.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub drift: Option<Drift>,
}

impl Default for Params {
    fn default() -> Params {
        Params {
            decrease: Fraction(0.0625),
            increase: Rate::mbit(50),
            floor: Rate::mbit(10),
            solicit: Rate::mbit(100),
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
            most: 1.0,
            increase: self.increase.0 as f64,
            floor: self.floor.0 as f64,
            restart: self.floor.0 as f64,
            halve: false,
            stop: self.stop,
            solicit: self.solicit.0 as f64,
            drift: self.drift.clone(),
        };
        Aimd::new(constants, line, now)
    }
    /// Refuses parameters out of range.
    ///
    /// # Errors
    /// If a parameter is invalid; the error names the parameter and says what to write.
    pub fn check(&self) -> Result<(), Invalid> {
        check::above("decrease", self.decrease.0, 0.0, 0.25)?;
        above_zero("increase", self.increase)?;
        above_zero("floor", self.floor)?;
        check::duration("stop", self.stop)?;
        self.drift.as_ref().map_or(Ok(()), |drift| drift.check().map_err(|e| e.within("drift")))
    }
}

/// Refuses a rate of zero.
pub(super) fn above_zero(field: &str, rate: Rate) -> Result<(), Invalid> {
    if rate.0 > 0 {
        return Ok(());
    }
    Err(Invalid::new(field, "the rate is zero; write a rate above zero, such as \"10Mbit/s\""))
}
