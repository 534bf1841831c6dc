//! Autocorrelation of a series.

use super::mean;

/// Returns the lag-1 autocorrelation, −1 to 1: Σ(xᵢ − m)(xᵢ₊₁ − m) / Σ(xᵢ − m)². `None`: the series is constant or has
/// fewer than two values.
pub fn lag_one(values: &[f64]) -> Option<f64> {
    let m = mean(values)?;
    let squares: f64 = values.iter().map(|x| (x - m) * (x - m)).sum();
    let products: f64 = values.windows(2).map(|w| (w[0] - m) * (w[1] - m)).sum();
    (squares > 0.0).then(|| products / squares)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailback_random::Rng;

    #[test]
    fn the_lag_1_autocorrelation_is_the_coefficient_of_an_autoregression_and_zero_for_noise() {
        let mut rng = Rng::named(6, "lag");
        let noise: Vec<f64> = (0..50_000).map(|_| rng.normal()).collect();
        let ar: Vec<f64> = noise
            .iter()
            .scan(0.0, |x, e| {
                *x = 0.8 * *x + e;
                Some(*x)
            })
            .collect();
        assert!(lag_one(&noise).unwrap().abs() < 0.02);
        assert!((lag_one(&ar).unwrap() - 0.8).abs() < 0.02);
    }

    #[test]
    fn an_alternating_series_is_negatively_correlated_and_a_constant_one_undefined() {
        let alternating: Vec<f64> = (0..100).map(|i| f64::from(i % 2)).collect();
        assert!(lag_one(&alternating).unwrap() < -0.95);
        assert_eq!(lag_one(&[1.0, 1.0, 1.0]), None);
        assert_eq!(lag_one(&[]), None);
    }
}
