//! End of the warm-up: the marginal standard error rule on batches of five (MSER-5).

use super::Moments;

/// Observations per batch.
const BATCH: usize = 5;
/// Lower bound on the number of batches.
const MIN_BATCHES: usize = 10;
/// Lower bound on the number of batches after a truncation: the variance of fewer batches may be small by chance (Hoad,
/// Robinson and Davies 2010).
const MIN_REMAINING: usize = 5;

/// Returns the number of observations to discard from the start, a multiple of five, by MSER-5 (White 1997; White, Cobb
/// and Spratt 2000). Of n batch means the first d are discarded, with the d that minimises Σ(xᵢ − mean)²/(n − d)² over
/// the others. `None`: the run is too short, since d is above n/2 or there are fewer than 50 observations; or a value is
/// not finite.
pub fn mser5(values: &[f64]) -> Option<usize> {
    if values.iter().any(|x| !x.is_finite()) {
        return None;
    }
    let batches: Vec<f64> = values.chunks_exact(BATCH).map(|b| b.iter().sum::<f64>() / BATCH as f64).collect();
    if batches.len() < MIN_BATCHES {
        return None;
    }
    let mut remaining = Moments::new();
    let mut best = (f64::INFINITY, 0);
    // From the end towards the start, so that each truncation adds one batch to the moments.
    for (d, &batch) in batches.iter().enumerate().rev() {
        remaining.push(batch);
        let n = remaining.count() as f64;
        let statistic = remaining.squares() / (n * n);
        // `<=`: of equally good truncations, the shortest.
        if remaining.count() >= MIN_REMAINING as u64 && statistic <= best.0 {
            best = (statistic, d);
        }
    }
    (best.1 <= batches.len() / 2).then_some(best.1 * BATCH)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailback_random::{Rng, maths};

    /// Returns standard normal noise plus the level of each index.
    fn noise(n: usize, mut level: impl FnMut(usize) -> f64) -> Vec<f64> {
        let mut rng = Rng::named(5, "mser");
        (0..n).map(|i| level(i) + rng.normal()).collect()
    }

    #[test]
    fn a_series_with_a_step_is_truncated_at_the_step() {
        let result = mser5(&noise(2_000, |i| if i < 300 { 20.0 } else { 5.0 })).unwrap();
        assert!((300..=330).contains(&result), "truncated at {result}");
    }

    #[test]
    fn an_exponential_transient_is_truncated_after_a_few_time_constants() {
        let result = mser5(&noise(5_000, |i| -30.0 * maths::exp(-(i as f64) / 100.0))).unwrap();
        assert!((150..=900).contains(&result), "truncated at {result}");
    }

    #[test]
    fn a_stationary_series_loses_little_and_a_constant_one_nothing() {
        assert!(mser5(&noise(5_000, |_| 3.0)).unwrap() < 1_000);
        assert_eq!(mser5(&[7.0; 100]), Some(0));
    }

    #[test]
    fn a_series_that_changes_late_or_is_too_short_or_not_finite_has_no_truncation_point() {
        assert_eq!(mser5(&noise(1_000, |i| if i < 700 { 0.0 } else { 50.0 })), None);
        assert_eq!(mser5(&[1.0; 49]), None);
        assert_eq!(mser5(&[f64::NAN; 100]), None);
    }
}
