//! Bursts of one size with uniform gaps: "uniform-fixed" of Tobagi, Fraleigh and Noureddine.

use crate::renewal::UniformGap;
use crate::{Burst, burst, check};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_document::Invalid;
use tailback_random::Rng;
use tailback_units::{Dur, Rate, Size, Time};

/// Bursts of one size M with gaps uniform on 0 to 2T, T = 8M/rate (Tobagi, Fraleigh and Noureddine). The first gap is
/// an equilibrium residual, so the source is stationary.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct UniformFixed {
    /// Payload M of each burst, 1 B to 1 GB; 6 kB to 96 kB in the original.
    pub burst: Size,
    /// Mean payload rate; 1 Mbit/s to 10 Mbit/s in the original.
    pub rate: Rate,
}

impl UniformFixed {
    /// Checks the parameters.
    ///
    /// # Errors
    /// If a parameter is invalid: the error names it and says what to write.
    pub fn check(&self) -> Result<(), Invalid> {
        check::size("burst", self.burst, 1)?;
        check::spacing("rate", self.burst.0, self.rate).map(|_| ())
    }

    pub(crate) fn mean_rate_bps(&self) -> Option<f64> {
        Some(self.rate.0 as f64)
    }

    pub(crate) fn burst_bytes(&self) -> Option<u64> {
        Some(self.burst.0)
    }

    pub(crate) fn start(&self, at: Time, rng: &mut Rng) -> Source {
        let spacing = check::spacing("rate", self.burst.0, self.rate).expect(check::UNCHECKED);
        let gaps = UniformGap::new(spacing.nearest());
        Source { next: at + Dur(gaps.residual(rng)), gaps, bytes: self.burst.0 }
    }
}

/// A uniform-fixed source.
#[derive(Clone, Debug)]
pub struct Source {
    /// Time of the next burst.
    next: Time,
    gaps: UniformGap,
    bytes: u64,
}

impl Source {
    #[inline]
    pub(crate) fn next(&mut self, rng: &mut Rng) -> Option<Burst> {
        let at = self.next;
        self.next += Dur(self.gaps.draw(rng));
        burst(at, self.bytes)
    }
}
