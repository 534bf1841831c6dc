//! Bursts of uniform size with uniform gaps: "uniform-uniform" of Tobagi, Fraleigh and Noureddine.

use crate::renewal::UniformGap;
use crate::{Burst, burst, check};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_document::Invalid;
use tailback_random::Rng;
use tailback_units::{Dur, Rate, Size, Time};

/// Smallest burst in bytes, as in the original.
const SMALLEST: u64 = 64;

/// Bursts uniform on 64 to 2M bytes with gaps uniform on 0 to 2T, T = 8M/rate (Tobagi, Fraleigh and Noureddine). The
/// first gap is an equilibrium residual, so the source is stationary.
///
/// The mean burst is M + 32 bytes, not M, so that the mean rate is (M + 32)/M of `rate`: 0.5 % more at the smallest
/// burst of the original, 6 kB. The gap keeps the original's T.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct UniformUniform {
    /// Nominal payload M of a burst, 32 B to 1 GB; 6 kB to 96 kB in the original.
    pub burst: Size,
    /// Nominal payload rate 8M/T; 1 Mbit/s to 10 Mbit/s in the original.
    pub rate: Rate,
}

impl UniformUniform {
    /// Checks the parameters.
    ///
    /// # Errors
    /// If a parameter is invalid: the error names it and says what to write.
    pub fn check(&self) -> Result<(), Invalid> {
        check::size("burst", self.burst, SMALLEST / 2)?;
        check::spacing("rate", self.burst.0, self.rate).map(|_| ())
    }

    pub(crate) fn mean_rate_bps(&self) -> Option<f64> {
        let nominal = self.burst.0 as f64;
        Some(self.rate.0 as f64 * (nominal + SMALLEST as f64 / 2.0) / nominal)
    }

    pub(crate) fn burst_bytes(&self) -> Option<u64> {
        None
    }

    pub(crate) fn start(&self, at: Time, rng: &mut Rng) -> Source {
        let spacing = check::spacing("rate", self.burst.0, self.rate).expect(check::UNCHECKED);
        let gaps = UniformGap::new(spacing.nearest());
        Source { next: at + Dur(gaps.residual(rng)), gaps, largest: 2 * self.burst.0 }
    }
}

/// A uniform-uniform source.
#[derive(Clone, Debug)]
pub struct Source {
    /// Time of the next burst.
    next: Time,
    gaps: UniformGap,
    /// Largest burst in bytes.
    largest: u64,
}

impl Source {
    #[inline]
    pub(crate) fn next(&mut self, rng: &mut Rng) -> Option<Burst> {
        let at = self.next;
        self.next += Dur(self.gaps.draw(rng));
        burst(at, rng.between(SMALLEST, self.largest))
    }
}
