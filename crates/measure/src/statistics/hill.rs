//! Tail index of a heavy-tailed distribution.

use tailback_random::maths::ln;

/// Returns Hill's estimate (Annals of Statistics 3, 1975) of the exponent α of a tail P(X > x) ~ x^−α from the `k`
/// largest values; for independent values its relative standard error is asymptotically 1/√k. `None`: `k` is 0, there
/// are no more than `k` values, the k + 1 largest values are equal, or the (k + 1)-th is not positive. The values must
/// be finite: NaN and infinity are not detected.
pub fn hill(values: &[f64], k: usize) -> Option<f64> {
    if k == 0 || values.len() <= k {
        return None;
    }
    let mut sorted = values.to_vec();
    sorted.sort_by(|a, b| b.total_cmp(a));
    let threshold = sorted[k];
    if threshold.is_nan() || threshold <= 0.0 {
        return None;
    }
    let mean_log = sorted[..k].iter().map(|x| ln(x / threshold)).sum::<f64>() / k as f64;
    (mean_log > 0.0).then(|| 1.0 / mean_log)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailback_random::Rng;

    #[test]
    fn the_exponent_of_pareto_samples_is_found_within_five_percent() {
        for alpha in [1.2, 1.4, 2.5] {
            let mut rng = Rng::named(10, "hill");
            let values: Vec<f64> = (0..100_000).map(|_| rng.pareto(alpha, 3.0)).collect();
            let result = hill(&values, 10_000).unwrap();
            assert!((result / alpha - 1.0).abs() < 0.05, "{result} for {alpha}");
        }
    }

    #[test]
    fn constant_negative_or_too_few_values_have_no_tail_exponent() {
        assert_eq!(hill(&[1.0, 1.0, 1.0], 2), None);
        assert_eq!(hill(&[1.0, 2.0], 2), None);
        assert_eq!(hill(&[-1.0, -2.0, -3.0], 2), None);
    }
}
