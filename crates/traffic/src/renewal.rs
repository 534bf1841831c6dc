//! Distributions of gaps and sizes, each with its equilibrium residual: the time from an arbitrary instant to the next
//! renewal, with density P(X > x)/mean (Cox 1962, section 5.2). A source whose first gap is drawn from the residual is
//! stationary from its start.

use crate::exponential::Exponential;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_random::{Rng, maths};

/// Gaps uniform on 0 to twice the mean, both included, in whole picoseconds.
#[derive(Clone, Debug)]
pub struct UniformGap {
    mean: u64,
}

impl UniformGap {
    /// Returns the distribution with this mean.
    pub fn new(mean: u64) -> UniformGap {
        UniformGap { mean }
    }

    /// Returns a sample.
    #[inline]
    pub fn draw(&self, rng: &mut Rng) -> u64 {
        rng.between(0, 2 * self.mean)
    }

    /// Returns a sample of the equilibrium residual, by inversion of P(residual > x) = (1 − x/L)² with L = 2·mean.
    pub fn residual(&self, rng: &mut Rng) -> u64 {
        (2.0 * self.mean as f64 * (1.0 - rng.uniform_above_zero().sqrt())) as u64
    }
}

/// A Pareto distribution, P(X > x) = (xm/x)^shape for x ≥ xm, with a finite mean: shape above 1.
///
/// It is sampled by its logarithm, since ln(X/xm) is exponential with mean 1/shape.
#[derive(Clone, Copy, Debug)]
pub struct Pareto {
    shape: f64,
    /// 1/shape.
    per_shape: f64,
    /// Smallest value.
    xm: f64,
    /// Sampler of exponential variables of mean 1.
    unit: Exponential,
}

impl Pareto {
    /// Returns the distribution with this mean (above 0) and shape (above 1): xm = mean·(shape − 1)/shape.
    pub fn with_mean(mean: f64, shape: f64) -> Pareto {
        Pareto { shape, per_shape: 1.0 / shape, xm: mean * (shape - 1.0) / shape, unit: Exponential::new() }
    }

    /// Returns the distribution for which min(X, `cap`) has this mean, which must be below `cap`. The capped mean
    /// increases with xm, so that bisection finds xm to the last bit.
    pub fn with_capped_mean(mean: f64, shape: f64, cap: f64) -> Pareto {
        let with_smallest = |xm: f64| Pareto { shape, per_shape: 1.0 / shape, xm, unit: Exponential::new() };
        let (mut low, mut high) = (mean * (shape - 1.0) / shape, mean);
        loop {
            let middle = 0.5 * (low + high);
            if middle <= low || middle >= high {
                return with_smallest(middle);
            }
            if with_smallest(middle).capped_mean(cap) < mean {
                low = middle;
            } else {
                high = middle;
            }
        }
    }

    /// Returns the smallest value, xm.
    #[cfg(test)]
    pub fn smallest(&self) -> f64 {
        self.xm
    }

    /// Returns a sample.
    #[inline]
    pub fn draw(&self, rng: &mut Rng) -> f64 {
        self.xm * maths::exp(self.unit.draw(rng) * self.per_shape)
    }

    /// Returns a sample of the equilibrium residual. Below xm its density is constant, 1/mean, with probability xm/mean
    /// = (shape − 1)/shape; beyond, P(residual > x) = (xm/x)^(shape − 1) / shape: a Pareto tail with a shape lower by
    /// one, of infinite mean if the shape is 2 or less.
    pub fn residual(&self, rng: &mut Rng) -> f64 {
        let survivor = rng.uniform_above_zero();
        let beyond = survivor * self.shape;
        if beyond > 1.0 {
            let mean = self.xm * self.shape / (self.shape - 1.0);
            return (1.0 - survivor) * mean;
        }
        self.xm * maths::pow(beyond, -1.0 / (self.shape - 1.0))
    }

    /// Returns a length-biased sample of min(X, `cap`): the length of the period in which a random instant lies. Below
    /// the cap its density is proportional to x·f(x), a Pareto density with a shape lower by one, from which values are
    /// drawn. These exceed the cap shape/(shape − 1) times as often as the cap must occur; so a value beyond the cap is
    /// accepted, as the cap, with probability (shape − 1)/shape, and otherwise drawn again.
    pub fn draw_by_length(&self, cap: f64, rng: &mut Rng) -> f64 {
        loop {
            let value = self.xm * maths::exp(self.unit.draw(rng) / (self.shape - 1.0));
            if value < cap {
                return value;
            }
            if rng.chance((self.shape - 1.0) / self.shape) {
                return cap;
            }
        }
    }

    /// Returns the exact mean of min(X, `cap`): xm·shape/(shape − 1) − xm/(shape − 1)·(xm/cap)^(shape − 1), or the cap
    /// itself if it is below xm.
    pub fn capped_mean(&self, cap: f64) -> f64 {
        if cap <= self.xm {
            return cap;
        }
        let tail = maths::pow(self.xm / cap, self.shape - 1.0);
        self.xm * (self.shape - tail) / (self.shape - 1.0)
    }
}

/// Family of the durations of an on/off source.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Distribution {
    /// Exponential: memoryless.
    #[default]
    Exponential,
    /// Pareto: heavy-tailed.
    Pareto,
}

/// Distribution of a duration in picoseconds.
#[derive(Clone, Debug)]
pub enum Gap {
    /// Exponential with this mean in picoseconds.
    Exponential(f64, Exponential),
    /// Pareto: heavy-tailed.
    Pareto(Pareto),
}

impl Gap {
    /// Returns the distribution of a family with this mean in picoseconds; `shape` is used only for Pareto.
    pub fn new(distribution: Distribution, mean: f64, shape: f64) -> Gap {
        match distribution {
            Distribution::Exponential => Gap::Exponential(mean, Exponential::new()),
            Distribution::Pareto => Gap::Pareto(Pareto::with_mean(mean, shape)),
        }
    }

    /// Returns a sample, rounded to the nearest picosecond.
    #[inline]
    pub fn draw(&self, rng: &mut Rng) -> u64 {
        round(match self {
            Gap::Exponential(mean, unit) => mean * unit.draw(rng),
            Gap::Pareto(pareto) => pareto.draw(rng),
        })
    }

    /// Returns a sample of the equilibrium residual; for the exponential it is the same distribution.
    pub fn residual(&self, rng: &mut Rng) -> u64 {
        round(match self {
            Gap::Exponential(mean, unit) => mean * unit.draw(rng),
            Gap::Pareto(pareto) => pareto.residual(rng),
        })
    }
}

/// Rounds to the nearest integer; saturates at 0 and 2^64 − 1.
#[inline]
pub fn round(x: f64) -> u64 {
    (x + 0.5) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailback_measure::statistics::{hill, kolmogorov_p_value, kolmogorov_statistic, mean};

    const N: usize = 50_000;

    /// Returns `true` if `N` samples pass the Kolmogorov–Smirnov test against `cdf` at the level of 0.1 %.
    fn fits(mut draw: impl FnMut(&mut Rng) -> f64, cdf: impl Fn(f64) -> f64) -> bool {
        let mut rng = Rng::named(1, "renewal");
        let values: Vec<f64> = (0..N).map(|_| draw(&mut rng)).collect();
        kolmogorov_p_value(kolmogorov_statistic(&values, cdf), N) > 1e-3
    }

    #[test]
    fn the_uniform_residual_has_the_equilibrium_distribution() {
        let gap = UniformGap::new(1_000_000_000);
        let cdf = |x: f64| 1.0 - (1.0 - x / 2e9) * (1.0 - x / 2e9);
        assert!(fits(|rng| gap.residual(rng) as f64, cdf));
        assert!(!fits(|rng| gap.draw(rng) as f64, cdf), "the test distinguishes a gap from its residual");
    }

    #[test]
    fn the_pareto_residual_has_the_equilibrium_distribution() {
        for shape in [1.2, 1.4, 2.5] {
            let pareto = Pareto::with_mean(10.0, shape);
            let xm = pareto.smallest();
            let cdf = |x: f64| if x <= xm { x / 10.0 } else { 1.0 - maths::pow(xm / x, shape - 1.0) / shape };
            assert!(fits(|rng| pareto.residual(rng), cdf), "shape {shape}");
            assert!(!fits(|rng| pareto.draw(rng), cdf), "shape {shape}: distinguished from the gap itself");
        }
    }

    #[test]
    fn the_residual_is_the_waiting_time_at_a_random_instant() {
        // Waiting times at random instants far from the start of a renewal process, against the formula.
        let pareto = Pareto::with_mean(1.0, 2.5);
        let xm = pareto.smallest();
        let cdf = |x: f64| if x <= xm { x } else { 1.0 - maths::pow(xm / x, 1.5) / 2.5 };
        assert!(fits(
            |rng| {
                let mut t = 0.0;
                while t < 50.0 {
                    t += pareto.draw(rng);
                }
                t - 50.0
            },
            cdf
        ));
    }

    #[test]
    fn pareto_samples_have_the_requested_shape_and_median() {
        for shape in [1.2, 1.4, 1.9] {
            let pareto = Pareto::with_mean(24_000.0, shape);
            let mut rng = Rng::named(2, "pareto");
            let mut values: Vec<f64> = (0..100_001).map(|_| pareto.draw(&mut rng)).collect();
            let observed = hill(&values, 5_000).unwrap();
            assert!((observed / shape - 1.0).abs() < 0.05, "Hill {observed} for {shape}");
            values.sort_by(f64::total_cmp);
            let median = pareto.smallest() * maths::pow(2.0, 1.0 / shape);
            assert!((values[50_000] / median - 1.0).abs() < 0.02, "median {} for {median}", values[50_000]);
        }
    }

    #[test]
    fn the_capped_mean_is_that_of_capped_samples() {
        let pareto = Pareto::with_mean(1.0, 1.4);
        for cap in [0.1, 0.5, 5.0, 100.0] {
            let mut rng = Rng::named(3, "cap");
            let values: Vec<f64> = (0..400_000).map(|_| pareto.draw(&mut rng).min(cap)).collect();
            let (observed, exact) = (mean(&values).unwrap(), pareto.capped_mean(cap));
            assert!((observed / exact - 1.0).abs() < 0.02, "cap {cap}: {observed} for {exact}");
        }
        assert!((pareto.capped_mean(1e30) - 1.0).abs() < 1e-9);
    }

    #[test]
    fn the_requested_capped_mean_is_met() {
        for (mean, shape, cap) in [(6e3, 1.4, 5e6), (48e3, 1.2, 5e6), (48e3, 1.4, 5e4), (1.0, 3.0, 1.001)] {
            let observed = Pareto::with_capped_mean(mean, shape, cap).capped_mean(cap);
            assert!((observed / mean - 1.0).abs() < 1e-12, "{mean} below {cap}: {observed}");
        }
    }

    #[test]
    fn a_length_biased_sample_occurs_in_proportion_to_its_length() {
        // The share cap·P(X > cap)/mean of the samples, 22 %, is at the cap; the others have a density proportional to
        // x·f(x).
        let (cap, shape) = (5.0, 1.4);
        let pareto = Pareto::with_capped_mean(2.0, shape, cap);
        let (xm, mut rng) = (pareto.smallest(), Rng::named(4, "length"));
        let found: Vec<f64> = (0..N).map(|_| pareto.draw_by_length(cap, &mut rng)).collect();
        let capped = found.iter().filter(|x| **x == cap).count() as f64 / N as f64;
        let exact = cap * maths::pow(xm / cap, shape) / 2.0;
        assert!((capped - exact).abs() < 0.01, "{capped} for {exact}");
        let below: Vec<f64> = found.into_iter().filter(|x| *x < cap).collect();
        let share = |x: f64| 1.0 - maths::pow(xm / x, shape - 1.0);
        assert!(kolmogorov_p_value(kolmogorov_statistic(&below, |x| share(x) / share(cap)), below.len()) > 1e-3);
    }
}
