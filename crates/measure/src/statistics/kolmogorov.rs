//! The one-sample Kolmogorov–Smirnov test.

use tailback_random::maths::exp;

/// Returns the Kolmogorov–Smirnov statistic, the largest distance between the empirical distribution of the values and
/// `cdf`, a continuous distribution function: 0 to 1; 0 without values.
pub fn kolmogorov_statistic(values: &[f64], cdf: impl Fn(f64) -> f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let n = sorted.len() as f64;
    sorted.iter().enumerate().fold(0.0f64, |largest, (i, &x)| {
        let expected = cdf(x);
        largest.max((expected - i as f64 / n).abs()).max(((i + 1) as f64 / n - expected).abs())
    })
}

/// Returns the probability that `n` independent values of the distribution have a statistic at least as large as
/// `statistic`, 0 to 1: Kolmogorov's series with the small-sample correction of Stephens (1970). The correction is
/// inaccurate for `n` below 8; such an `n` is not refused.
pub fn kolmogorov_p_value(statistic: f64, n: usize) -> f64 {
    let root = (n as f64).sqrt();
    let x = (root + 0.12 + 0.11 / root) * statistic;
    // Near 0 the series converges slowly, so that 100 terms are too few at x = 0.02. Below 0.2 the probability differs
    // from 1 by less than 1e-12.
    if x < 0.2 {
        return 1.0;
    }
    let series: f64 = (1..=100)
        .map(|k| {
            let sign = if k % 2 == 1 { 1.0 } else { -1.0 };
            let k = f64::from(k);
            sign * exp(-2.0 * k * k * x * x)
        })
        .sum();
    (2.0 * series).clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailback_random::Rng;

    #[test]
    fn critical_values_are_those_of_the_table() {
        // Large-sample critical values 1.3581/√n (5 %) and 1.6276/√n (1 %).
        let n = 1_000_000;
        assert!((kolmogorov_p_value(1.358_1e-3, n) - 0.05).abs() < 1e-3);
        assert!((kolmogorov_p_value(1.627_6e-3, n) - 0.01).abs() < 1e-3);
        // Birnbaum (1952): n = 20, 5 % at 0.29408.
        assert!((kolmogorov_p_value(0.294_08, 20) - 0.05).abs() < 2e-3);
    }

    #[test]
    fn the_right_distribution_passes_and_a_shifted_one_fails() {
        let mut rng = Rng::named(9, "ks");
        let values: Vec<f64> = (0..5_000).map(|_| rng.exponential(2.0)).collect();
        let p = |mean: f64| {
            let d = kolmogorov_statistic(&values, |x| 1.0 - exp(-x / mean));
            kolmogorov_p_value(d, values.len())
        };
        assert!(p(2.0) > 1e-3);
        assert!(p(2.3) < 1e-6);
    }
}
