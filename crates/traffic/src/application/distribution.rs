//! Probability distributions of sizes, times and numbers.

use super::empirical::{self, DataMining, Empirical, Hadoop, WebSearch};
use crate::renewal::{self, round};
use crate::{MAX_BURST, Truncation, check};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_document::Invalid;
use tailback_random::{Rng, maths};
use tailback_units::{Dur, Size};

tailback_document::kinds! {
    /// A distribution of sizes, rounded to the nearest byte and at least 1 B.
    pub enum SizeDistribution {
        "fixed" => Fixed(Fixed),
        "uniform" => Uniform(Uniform),
        "exponential" => Exponential(Exponential),
        "pareto" => Pareto(Pareto),
        "lognormal" => Lognormal(Lognormal),
        "surge" => Surge(Surge),
        "empirical" => Empirical(Empirical),
        "web-search" => WebSearch(WebSearch),
        "data-mining" => DataMining(DataMining),
        "hadoop" => Hadoop(Hadoop),
    }
}

tailback_document::kinds! {
    /// A distribution of times, rounded to the nearest picosecond.
    pub enum TimeDistribution {
        "fixed" => Fixed(FixedTime),
        "exponential" => Exponential(ExponentialTime),
        "pareto" => Pareto(ParetoTime),
    }
}

tailback_document::kinds! {
    /// A distribution of non-negative integers.
    pub enum CountDistribution {
        "fixed" => Fixed(FixedCount),
        "geometric" => Geometric(GeometricCount),
        "pareto" => Pareto(ParetoCount),
    }
}

/// A constant size.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Fixed {
    /// The size, 1 B to 1 GB.
    pub size: Size,
}

/// Uniform over the integers from `least` to `most`, in bytes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Uniform {
    /// Smallest size, 1 B to 1 GB.
    pub least: Size,
    /// Largest size, `least` to 1 GB.
    pub most: Size,
}

/// Exponential distribution.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Exponential {
    /// Mean, 1 B to 1 GB.
    pub mean: Size,
}

/// Pareto distribution, P(X > x) = (x₀/x)^shape for x ≥ x₀, with x₀ = mean·(shape − 1)/shape: heavy-tailed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Pareto {
    /// Mean without truncation, 1 B to 1 GB.
    pub mean: Size,
    /// Shape, above 1 and at most 100; below 2 the variance is infinite. Default 1.2.
    #[serde(default = "default_shape")]
    pub shape: f64,
    /// Upper bound to which larger samples are clamped, or "none". Default "none".
    #[serde(default = "default_truncation")]
    pub truncate: Truncation,
}

fn default_shape() -> f64 {
    1.2
}
fn default_truncation() -> Truncation {
    Truncation::None
}

/// Lognormal distribution.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Lognormal {
    /// Median, 1 B to 1 GB.
    pub median: Size,
    /// Standard deviation of the natural logarithm, above 0 and at most 5.
    pub sigma: f64,
}

/// Sizes of files on web servers: a lognormal body and a Pareto tail (SURGE; P. Barford and M. Crovella, ACM SIGMETRICS
/// 1998).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Surge {
    /// Probability of the body, 0 to 1. Default 0.93.
    pub body: f64,
    /// Median of the body, 1 B to 1 GB. Default 11580 B, e^9.357.
    pub median: Size,
    /// Standard deviation of the natural logarithm of the body, above 0 and at most 5. Default 1.318.
    pub sigma: f64,
    /// Smallest value of the tail, 1 B to 1 GB. Default 133 kB.
    pub tail: Size,
    /// Shape of the tail, above 1 and at most 100. Default 1.1.
    pub shape: f64,
    /// Upper bound to which larger samples are clamped, or "none". Default 50 MB; without a bound the sample mean
    /// does not converge within a run for a shape of 1.1.
    pub truncate: Truncation,
}

impl Default for Surge {
    fn default() -> Surge {
        Surge {
            body: 0.93,
            median: Size(11_580),
            sigma: 1.318,
            tail: Size(133_000),
            shape: 1.1,
            truncate: Truncation::At(Size(50_000_000)),
        }
    }
}

/// Refuses an upper bound below `least`, the smallest value of the distribution: all sizes would equal the bound.
fn check_truncation(truncate: Truncation, least: Size) -> Result<(), Invalid> {
    if truncate.bytes() >= least.0 {
        return Ok(());
    }
    let advice = format!("the smallest size is {least}; write \"none\", or {least} or more");
    Err(Invalid::new("truncate", advice))
}

impl Fixed {
    pub(crate) fn check(&self) -> Result<(), Invalid> {
        check::size("size", self.size, 1)
    }
}
impl Uniform {
    pub(crate) fn check(&self) -> Result<(), Invalid> {
        check::size("least", self.least, 1)?;
        check::size("most", self.most, self.least.0)
    }
}
impl Exponential {
    pub(crate) fn check(&self) -> Result<(), Invalid> {
        check::size("mean", self.mean, 1)
    }
}
impl Pareto {
    pub(crate) fn check(&self) -> Result<(), Invalid> {
        check::size("mean", self.mean, 1)?;
        check::above("shape", self.shape, 1.0, 100.0)?;
        let least = (self.mean.0 as f64 * (self.shape - 1.0) / self.shape).ceil();
        check_truncation(self.truncate, Size((least as u64).max(1)))
    }
    fn tail(&self) -> renewal::Pareto {
        renewal::Pareto::with_mean(self.mean.0 as f64, self.shape)
    }
}
impl Lognormal {
    pub(crate) fn check(&self) -> Result<(), Invalid> {
        check::size("median", self.median, 1)?;
        check::above("sigma", self.sigma, 0.0, 5.0)
    }
}
impl Surge {
    pub(crate) fn check(&self) -> Result<(), Invalid> {
        check::within("body", self.body, 0.0, 1.0)?;
        check::size("median", self.median, 1)?;
        check::above("sigma", self.sigma, 0.0, 5.0)?;
        check::size("tail", self.tail, 1)?;
        check::above("shape", self.shape, 1.0, 100.0)?;
        check_truncation(self.truncate, self.tail)
    }
    fn tail(&self) -> renewal::Pareto {
        let least = self.tail.0 as f64;
        renewal::Pareto::with_mean(least * self.shape / (self.shape - 1.0), self.shape)
    }
}

/// Returns a lognormal sample in bytes, not rounded.
fn lognormal(median: Size, sigma: f64, rng: &mut Rng) -> f64 {
    median.0 as f64 * maths::exp(sigma * rng.normal())
}

impl SizeDistribution {
    /// Returns a sample in bytes, 1 to [`MAX_BURST`].
    pub fn draw(&self, rng: &mut Rng) -> u64 {
        let (size, most) = match self {
            SizeDistribution::Fixed(distribution) => return distribution.size.0,
            SizeDistribution::Uniform(distribution) => return rng.between(distribution.least.0, distribution.most.0),
            SizeDistribution::Exponential(distribution) => (rng.exponential(distribution.mean.0 as f64), MAX_BURST),
            SizeDistribution::Pareto(distribution) => (distribution.tail().draw(rng), distribution.truncate.bytes()),
            SizeDistribution::Lognormal(distribution) => {
                (lognormal(distribution.median, distribution.sigma, rng), MAX_BURST)
            }
            SizeDistribution::Surge(distribution) => {
                let size = if rng.chance(distribution.body) {
                    lognormal(distribution.median, distribution.sigma, rng)
                } else {
                    distribution.tail().draw(rng)
                };
                (size, distribution.truncate.bytes())
            }
            SizeDistribution::Empirical(distribution) => return empirical::draw(distribution.points(), rng),
            SizeDistribution::WebSearch(distribution) => return empirical::draw(distribution.points(), rng),
            SizeDistribution::DataMining(distribution) => return empirical::draw(distribution.points(), rng),
            SizeDistribution::Hadoop(distribution) => return empirical::draw(distribution.points(), rng),
        };
        round(size).clamp(1, most)
    }

    /// Returns the mean in bytes, which is finite. It neglects rounding, the lower bound of 1 B, the upper bound of
    /// exponential and lognormal sizes, and the clamping of the body of "surge".
    pub fn mean(&self) -> f64 {
        let body = |median: Size, sigma: f64| median.0 as f64 * maths::exp(sigma * sigma / 2.0);
        match self {
            SizeDistribution::Fixed(distribution) => distribution.size.0 as f64,
            SizeDistribution::Uniform(distribution) => {
                f64::midpoint(distribution.least.0 as f64, distribution.most.0 as f64)
            }
            SizeDistribution::Exponential(distribution) => distribution.mean.0 as f64,
            SizeDistribution::Pareto(distribution) => {
                distribution.tail().capped_mean(distribution.truncate.bytes() as f64)
            }
            SizeDistribution::Lognormal(distribution) => body(distribution.median, distribution.sigma),
            SizeDistribution::Surge(distribution) => {
                let tail = distribution.tail().capped_mean(distribution.truncate.bytes() as f64);
                distribution.body * body(distribution.median, distribution.sigma) + (1.0 - distribution.body) * tail
            }
            SizeDistribution::Empirical(distribution) => empirical::mean(distribution.points()),
            SizeDistribution::WebSearch(distribution) => empirical::mean(distribution.points()),
            SizeDistribution::DataMining(distribution) => empirical::mean(distribution.points()),
            SizeDistribution::Hadoop(distribution) => empirical::mean(distribution.points()),
        }
    }
}

/// A constant time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct FixedTime {
    /// The time, at most 13 days.
    pub time: Dur,
}

/// Exponential distribution: memoryless.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct ExponentialTime {
    /// Mean, above 0s and at most 13 days.
    pub mean: Dur,
}

/// Pareto distribution: heavy-tailed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct ParetoTime {
    /// Mean, above 0s and at most 13 days.
    pub mean: Dur,
    /// Shape, above 1 and at most 100.
    pub shape: f64,
}

impl Default for TimeDistribution {
    fn default() -> TimeDistribution {
        TimeDistribution::Fixed(FixedTime { time: Dur::ZERO })
    }
}

impl FixedTime {
    pub(crate) fn check(&self) -> Result<(), Invalid> {
        if self.time == Dur::ZERO { Ok(()) } else { check::duration("time", self.time) }
    }
}
impl ExponentialTime {
    pub(crate) fn check(&self) -> Result<(), Invalid> {
        check::duration("mean", self.mean)
    }
}
impl ParetoTime {
    pub(crate) fn check(&self) -> Result<(), Invalid> {
        check::duration("mean", self.mean)?;
        check::above("shape", self.shape, 1.0, 100.0)
    }
}

impl TimeDistribution {
    /// Returns a sample, 0s or more.
    pub fn draw(&self, rng: &mut Rng) -> Dur {
        Dur(match self {
            TimeDistribution::Fixed(distribution) => distribution.time.0,
            TimeDistribution::Exponential(distribution) => round(rng.exponential(distribution.mean.0 as f64)),
            TimeDistribution::Pareto(distribution) => {
                round(renewal::Pareto::with_mean(distribution.mean.0 as f64, distribution.shape).draw(rng))
            }
        })
    }
}

/// A constant number.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct FixedCount {
    /// The number, 0 to 1000.
    #[schemars(range(min = 0, max = 1000))]
    pub number: u32,
}

/// Geometric distribution on 0, 1, 2, …; samples are at most 1000.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct GeometricCount {
    /// Mean, above 0 and at most 1000.
    pub mean: f64,
}

/// A Pareto variable with minimum 1, rounded down, minus 1; at most 1000.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct ParetoCount {
    /// Shape, above 1 and at most 100.
    pub shape: f64,
}

/// Upper bound of the samples of a [`CountDistribution`].
const MAX_COUNT: f64 = 1000.0;

impl FixedCount {
    pub(crate) fn check(&self) -> Result<(), Invalid> {
        if f64::from(self.number) <= MAX_COUNT {
            return Ok(());
        }
        Err(Invalid::new("number", format!("{} is out of range; write 0 to {MAX_COUNT}", self.number)))
    }
}
impl GeometricCount {
    pub(crate) fn check(&self) -> Result<(), Invalid> {
        check::above("mean", self.mean, 0.0, MAX_COUNT)
    }
}
impl ParetoCount {
    pub(crate) fn check(&self) -> Result<(), Invalid> {
        check::above("shape", self.shape, 1.0, 100.0)
    }
}

impl CountDistribution {
    /// Returns a sample, 0 to 1000.
    pub fn draw(&self, rng: &mut Rng) -> u32 {
        match self {
            CountDistribution::Fixed(distribution) => distribution.number,
            CountDistribution::Geometric(distribution) => {
                // Inverse of P(X ≥ k) = (m/(1 + m))^k.
                let ratio = maths::ln(distribution.mean / (1.0 + distribution.mean));
                (maths::ln(rng.uniform_above_zero()) / ratio).min(MAX_COUNT) as u32
            }
            CountDistribution::Pareto(distribution) => {
                (rng.pareto(distribution.shape, 1.0).min(MAX_COUNT + 1.0) as u32) - 1
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use tailback_measure::statistics::Moments;

    /// Number of samples of each distribution.
    const N: usize = 400_000;

    #[test]
    fn sampled_sizes_have_the_stated_mean() {
        for document in [
            json!({ "kind": "fixed", "size": "10kB" }),
            json!({ "kind": "uniform", "least": "1kB", "most": "3kB" }),
            json!({ "kind": "exponential", "mean": "10kB" }),
            json!({ "kind": "pareto", "mean": "10kB", "shape": 1.5, "truncate": "1MB" }),
            json!({ "kind": "lognormal", "median": "10kB", "sigma": 1.0 }),
            json!({ "kind": "surge", "truncate": "1MB" }),
            json!({ "kind": "empirical", "points": [{ "size": "1kB", "share": 0.5 }, { "size": "9kB", "share": 1 }] }),
            json!({ "kind": "web-search" }),
            json!({ "kind": "hadoop" }),
        ] {
            let distribution: SizeDistribution = tailback_document::decode(document.clone()).unwrap();
            tailback_document::Checked::check(&distribution).unwrap();
            let mut rng = Rng::named(1, "sizes");
            let drawn: Moments = (0..N).map(|_| distribution.draw(&mut rng) as f64).collect();
            let observed = drawn.mean().unwrap();
            assert!(
                (observed / distribution.mean() - 1.0).abs() < 0.02,
                "{document}: {observed} for {}",
                distribution.mean()
            );
        }
    }

    #[test]
    fn sampled_times_and_counts_have_the_stated_means() {
        let mut rng = Rng::named(1, "times");
        for document in [
            json!({ "kind": "fixed", "time": "2s" }),
            json!({ "kind": "exponential", "mean": "2s" }),
            json!({ "kind": "pareto", "mean": "2s", "shape": 2.5 }),
        ] {
            let distribution: TimeDistribution = tailback_document::decode(document.clone()).unwrap();
            let drawn: Moments = (0..N).map(|_| distribution.draw(&mut rng).as_secs()).collect();
            assert!((drawn.mean().unwrap() / 2.0 - 1.0).abs() < 0.02, "{document}");
        }
        let geometric = CountDistribution::Geometric(GeometricCount { mean: 3.0 });
        let drawn: Moments = (0..N).map(|_| f64::from(geometric.draw(&mut rng))).collect();
        assert!((drawn.mean().unwrap() / 3.0 - 1.0).abs() < 0.02);
        // P(X ≥ k) of the Pareto count is (k + 1)^-shape, so that its mean is zeta(shape) - 1.
        let pareto = CountDistribution::Pareto(ParetoCount { shape: 2.43 });
        let drawn: Moments = (0..N).map(|_| f64::from(pareto.draw(&mut rng))).collect();
        let zeta: f64 = (1..100_000).map(|k| maths::pow(f64::from(k), -2.43)).sum();
        assert!((drawn.mean().unwrap() / (zeta - 1.0) - 1.0).abs() < 0.05, "{:?}", drawn.mean());
    }
}
