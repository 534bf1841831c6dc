//! Poisson arrivals of finite transfers, each on a fresh connection.

use super::SizeDistribution;
use crate::check;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_document::{Checked, Invalid};
use tailback_random::Rng;
use tailback_units::{Dur, Rate, Size};

/// Open loop: finite transfers start as a Poisson process, each on a new connection in slow start. Each flow of the
/// group carries one transfer at a time: a transfer takes a free flow at random, and is refused if all flows are busy.
/// Requires a transport. Exactly one of `rate` and `interval` must be given.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Transfers {
    /// Payload of a transfer.
    pub size: SizeDistribution,
    /// Mean payload rate of the group.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
    /// Mean time between transfers of the group, above 0s and at most 13 days.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval: Option<Dur>,
    /// Upper edges of the size bins of the slowdown statistics, ascending, at most 64. Default 10 kB, 100 kB, 1 MB and
    /// 10 MB.
    #[serde(default = "default_bins", skip_serializing_if = "is_default_bins")]
    pub bins: Vec<Size>,
}

/// Upper bound on the number of bins.
const MAX_BINS: usize = 64;

fn is_default_bins(bins: &[Size]) -> bool {
    *bins == default_bins()
}
fn default_bins() -> Vec<Size> {
    [10_000, 100_000, 1_000_000, 10_000_000].map(Size).to_vec()
}

impl Transfers {
    /// Checks the parameters.
    ///
    /// # Errors
    /// If a parameter is invalid: the error names it and says what to write.
    pub fn check(&self) -> Result<(), Invalid> {
        self.size.check().map_err(|e| e.within("size"))?;
        if self.bins.len() > MAX_BINS || self.bins.windows(2).any(|pair| pair[1] <= pair[0]) {
            return Err(Invalid::new(
                "bins",
                format!(
                    "the sizes are not ascending, or more than {MAX_BINS}; write at most {MAX_BINS} in ascending order"
                ),
            ));
        }
        match (self.rate, self.interval) {
            (None, Some(interval)) => check::duration("interval", interval),
            (Some(rate), None) if rate.0 > 0 => Ok(()),
            (Some(_), None) => {
                Err(Invalid::new("rate", "the rate is zero; write a rate above zero, such as \"1Mbit/s\""))
            }
            _ => Err(Invalid::new("", "give either `rate` or `interval`")),
        }
    }

    /// Returns the mean time between transfers, picoseconds.
    fn mean_ps(&self) -> f64 {
        match (self.rate, self.interval) {
            (_, Some(interval)) => interval.0 as f64,
            (Some(rate), None) => self.size.mean() * 8e12 / rate.0 as f64,
            (None, None) => unreachable!("checked"),
        }
    }

    /// Returns the mean payload rate of the group in bit/s. The parameters must have passed `check`.
    pub fn mean_rate_bps(&self) -> f64 {
        self.size.mean() * 8e12 / self.mean_ps()
    }

    /// Draws the time from one transfer to the next, exponentially distributed. The parameters must have passed `check`.
    pub fn gap(&self, rng: &mut Rng) -> Dur {
        Dur(crate::renewal::round(rng.exponential(self.mean_ps())))
    }
}
