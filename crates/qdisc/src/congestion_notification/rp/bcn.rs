//! The reaction point of July 2005: a step per level of BCN's table.

use super::aimd::{Aimd, Constants, Drift};
use crate::check;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_document::Invalid;
use tailback_units::{Dur, Fraction, Rate, Time};

/// Reaction to quantised BCN messages (D. Bergamasco, IEEE 802 Plenary, July 2005): BCN−k takes
/// k × `decrease` of the rate, BCN+k adds k × `increase` if it comes from the congestion point that slowed the
/// limiter last, and BCN 0 stops for a random time, after which the limiter goes on at `floor`. The slides name no
/// constants.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Params {
    /// Share of the rate that BCN−k takes away k times, above 0 and at most 0.25. Default 0.0625.
    pub decrease: Fraction,
    /// Rate that BCN+k adds k times, above 0. Default 50 Mbit/s.
    pub increase: Rate,
    /// Rmin, the lowest rate, and that after a stop; above 0 and below the line's. Default 10 Mbit/s.
    pub floor: Rate,
    /// Rsolicit: slower limiters set the Solicit bit in their frames. Default 100 Mbit/s.
    pub solicit: Rate,
    /// A stop lasts a time uniform from 0 to this, which doubles with each stop until the next
    /// increase, up to 1024 times; above 0s. Default 10 us.
    pub stop: Dur,
    /// Growth of the rate without messages, which ends limiters that receive no message. Default: no growth.
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
    /// The law of a limiter on a line of this rate.
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
    /// The parameter at fault, and what to write.
    pub fn check(&self) -> Result<(), Invalid> {
        check::above("decrease", self.decrease.0, 0.0, 0.25)?;
        above_zero("increase", self.increase)?;
        above_zero("floor", self.floor)?;
        check::duration("stop", self.stop)?;
        self.drift.as_ref().map_or(Ok(()), |drift| drift.check().map_err(|e| e.within("drift")))
    }
}

/// A rate above zero.
pub(super) fn above_zero(field: &str, rate: Rate) -> Result<(), Invalid> {
    if rate.0 > 0 {
        return Ok(());
    }
    Err(Invalid::new(field, "the rate is zero; write a rate above zero, such as \"10Mbit/s\""))
}
