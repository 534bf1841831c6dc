//! The random stream of one component.

use crate::maths;
use core::hash::Hasher;
use rand_core::{Rng as _, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use siphasher::sip128::{Hasher128, SipHasher13};

/// A random stream of one component: xoshiro256++ (Blackman and Vigna 2019), keyed by SipHash-1-3 of the component's
/// name under the run's seed.
#[derive(Clone, Debug)]
pub struct Rng(Xoshiro256PlusPlus);

impl Rng {
    /// Returns the stream of the component `name` under `seed`. Equal arguments give equal streams.
    pub fn named(seed: u64, name: &str) -> Rng {
        let mut key = [0u8; 32];
        for half in 0..2u64 {
            let mut hasher = SipHasher13::new_with_keys(seed, half);
            hasher.write(name.as_bytes());
            let hash = hasher.finish128();
            let at = half as usize * 16;
            key[at..at + 8].copy_from_slice(&hash.h1.to_le_bytes());
            key[at + 8..at + 16].copy_from_slice(&hash.h2.to_le_bytes());
        }
        Rng(Xoshiro256PlusPlus::from_seed(key))
    }

    /// Returns 64 random bits.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Returns a uniform number on [0, 1), a multiple of 2^-53.
    #[inline]
    pub fn uniform(&mut self) -> f64 {
        (self.bits() >> 11) as f64 * (1.0 / 9_007_199_254_740_992.0)
    }

    /// Returns a uniform number on (0, 1], which is safe as an argument of a logarithm or as a divisor.
    #[inline]
    pub fn uniform_above_zero(&mut self) -> f64 {
        1.0 - self.uniform()
    }

    /// Returns a uniform integer on [0, n); 0 if n is 0. Uses Lemire's multiplication, whose bias is below n / 2^64.
    #[inline]
    pub fn below(&mut self, n: u64) -> u64 {
        ((u128::from(self.bits()) * u128::from(n)) >> 64) as u64
    }

    /// Returns a uniform integer on [low, high], both included. `low` must not exceed `high`, and the range must not
    /// contain all 2^64 values.
    #[inline]
    pub fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.below(high - low + 1)
    }

    /// Returns `true` with probability p (never if p ≤ 0, always if p ≥ 1).
    #[inline]
    pub fn chance(&mut self, p: f64) -> bool {
        self.uniform() < p
    }

    /// Returns an exponentially distributed number, 0 or more, with the given mean, which must not be negative.
    #[inline]
    pub fn exponential(&mut self, mean: f64) -> f64 {
        -mean * maths::ln(self.uniform_above_zero())
    }

    /// Returns a Pareto-distributed number with shape `alpha` and minimum `xm`, both above 0: P(X > x) = (xm / x)^alpha
    /// for x ≥ xm.
    #[inline]
    pub fn pareto(&mut self, alpha: f64, xm: f64) -> f64 {
        xm * maths::pow(self.uniform_above_zero(), -1.0 / alpha)
    }

    /// Returns a number with the standard normal distribution (Box and Muller 1958). Only one number of each pair is
    /// used, so that the stream keeps no state beyond its generator.
    #[inline]
    pub fn normal(&mut self) -> f64 {
        let radius = (-2.0 * maths::ln(self.uniform_above_zero())).sqrt();
        radius * maths::cos(core::f64::consts::TAU * self.uniform())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_depends_only_on_seed_and_name() {
        let draw = |seed, name| {
            let mut rng = Rng::named(seed, name);
            [rng.bits(), rng.bits(), rng.bits()]
        };
        assert_eq!(draw(1, "source h1"), draw(1, "source h1"));
        assert_ne!(draw(1, "source h1"), draw(2, "source h1"));
        assert_ne!(draw(1, "source h1"), draw(1, "source h2"));
    }

    #[test]
    fn moments_are_those_of_the_distributions() {
        let mut rng = Rng::named(7, "moments");
        let draws = 200_000;
        let mean = |draw: &mut dyn FnMut(&mut Rng) -> f64, rng: &mut Rng| {
            (0..draws).map(|_| draw(rng)).sum::<f64>() / f64::from(draws)
        };
        // Each tolerance is at least four standard errors of the mean.
        assert!((mean(&mut |r| r.uniform(), &mut rng) - 0.5).abs() < 0.005);
        assert!((mean(&mut |r| r.exponential(3.0), &mut rng) - 3.0).abs() < 0.05);
        assert!((mean(&mut |r| r.pareto(3.0, 2.0), &mut rng) - 3.0).abs() < 0.05);
        assert!(mean(&mut |r| r.normal(), &mut rng).abs() < 0.01);
        let square = |x: f64| x * x;
        assert!((mean(&mut |r| square(r.normal()), &mut rng) - 1.0).abs() < 0.02);
        assert!((mean(&mut |r| r.between(3, 5) as f64, &mut rng) - 4.0).abs() < 0.01);
    }
}
