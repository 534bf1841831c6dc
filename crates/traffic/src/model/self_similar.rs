//! The aggregate of many heavy-tailed sources: traffic with long memory.

use crate::renewal::{Pareto, to_ps};
use crate::{Burst, Truncation, burst, check};
use core::cmp::Reverse;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BinaryHeap;
use tailback_document::Invalid;
use tailback_random::Rng;
use tailback_units::{Dur, Rate, Size, Time};

/// The sum of independent sources with Pareto burst sizes and Pareto gaps, each of mean burst M and
/// mean gap N·8M/rate. The count of arrivals has long memory with H = (3 − α)/2, α the smaller of
/// the two shapes (Willinger, Taqqu, Sherman and Wilson 1997). Every source starts in equilibrium.
///
/// Truncation keeps runs finite and lowers the mean (at 5 MB by 3 % for M = 6 kB, by 7 % for
/// 48 kB); it is not corrected for, so compare the realised rate with the nominal one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct SelfSimilar {
    /// Mean payload M of a burst before truncation, 64 B to 1 GB.
    pub burst: Size,
    /// Payload rate of the whole aggregate before truncation.
    pub rate: Rate,
    /// Number N of independent sources in the aggregate, 1 to 1000000. Default 100.
    #[serde(default = "default_sources")]
    pub sources: u32,
    /// Shape of the Pareto burst sizes, above 1 and at most 10. Default 1.4 (H = 0.8).
    #[serde(default = "default_shape")]
    pub alpha_size: f64,
    /// Shape of the Pareto gaps, above 1 and at most 10. Default 1.4 (H = 0.8).
    #[serde(default = "default_shape")]
    pub alpha_gap: f64,
    /// Larger bursts become this size; "none" leaves only the general limit of 2^40 B. Default "5MB".
    #[serde(default = "default_truncation")]
    pub truncate: Truncation,
}

fn default_sources() -> u32 {
    100
}
fn default_shape() -> f64 {
    1.4
}
fn default_truncation() -> Truncation {
    Truncation::At(Size(5_000_000))
}

impl SelfSimilar {
    /// Whether the parameters make sense together.
    pub fn check(&self) -> Result<(), Invalid> {
        check::size("burst", self.burst, 64)?;
        if !(1..=1_000_000).contains(&self.sources) {
            return Err(Invalid::new("sources", format!("{} is out of range; write 1 to 1000000", self.sources)));
        }
        check::spacing("rate", self.burst.0 * u64::from(self.sources), self.rate)?;
        check::above("alpha-size", self.alpha_size, 1.0, 10.0)?;
        check::above("alpha-gap", self.alpha_gap, 1.0, 10.0)?;
        let smallest = Size(self.sizes().smallest().ceil() as u64);
        if self.truncate.bytes() < smallest.0 {
            let advice = format!("every burst is longer than this; write at least {smallest}, or \"none\"");
            return Err(Invalid::new("truncate", advice));
        }
        Ok(())
    }

    /// Expected burst in bytes after truncation.
    pub fn mean_burst(&self) -> f64 {
        self.sizes().capped_mean(self.truncate.bytes() as f64)
    }

    pub(crate) fn mean_rate_bps(&self) -> Option<f64> {
        Some(self.rate.0 as f64 * self.mean_burst() / self.burst.0 as f64)
    }

    fn sizes(&self) -> Pareto {
        Pareto::with_mean(self.burst.0 as f64, self.alpha_size)
    }

    pub(crate) fn start(&self, at: Time, rng: &mut Rng) -> Source {
        let bytes = self.burst.0 * u64::from(self.sources);
        let mean_gap = check::spacing("rate", bytes, self.rate).expect(check::UNCHECKED).mean_ps();
        let gaps = Pareto::with_mean(mean_gap, self.alpha_gap);
        let next = (0..self.sources).map(|i| Reverse((at + Dur(to_ps(gaps.residual(rng))), i))).collect();
        Source { next, gaps, sizes: self.sizes(), cap: self.truncate.bytes() as f64 }
    }
}

/// A self-similar aggregate.
#[derive(Clone, Debug)]
pub struct Source {
    /// Next burst of each source; of equal times the lower index goes first.
    next: BinaryHeap<Reverse<(Time, u32)>>,
    gaps: Pareto,
    sizes: Pareto,
    /// Largest burst in bytes.
    cap: f64,
}

impl Source {
    #[inline]
    pub(crate) fn next(&mut self, rng: &mut Rng) -> Option<Burst> {
        let mut first = self.next.peek_mut()?;
        let Reverse((at, source)) = *first;
        *first = Reverse((at + Dur(to_ps(self.gaps.draw(rng))), source));
        let bytes = (self.sizes.draw(rng).min(self.cap) + 0.5) as u64;
        burst(at, bytes)
    }
}
