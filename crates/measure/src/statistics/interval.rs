//! Confidence intervals of means over independent replications.

use super::{Moments, t_quantile};

/// A mean and its confidence interval, in the unit of the observations.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// Mean of the observations.
    pub mean: f64,
    /// Half the interval's width, at least 0.
    pub half_width: f64,
    /// Number of observations.
    pub n: u64,
}

impl Interval {
    /// Returns the lower end of the interval.
    pub fn lo(&self) -> f64 {
        self.mean - self.half_width
    }
    /// Returns the upper end of the interval.
    pub fn hi(&self) -> f64 {
        self.mean + self.half_width
    }
    /// Returns `true` if `x` is in the interval, ends included.
    pub fn contains(&self, x: f64) -> bool {
        self.lo() <= x && x <= self.hi()
    }
}

/// Returns the Student-t interval of the mean of independent, nearly normal observations, at a confidence level between
/// 0 and 1 (usually 0.95); `None`: fewer than two observations.
pub fn mean_interval(values: &[f64], confidence: f64) -> Option<Interval> {
    let moments: Moments = values.iter().copied().collect();
    let n = moments.count();
    let error = (moments.variance()? / n as f64).sqrt();
    let t = t_quantile(0.5 + 0.5 * confidence, (n - 1) as f64);
    // Without variance the width is zero for any t.
    let half_width = if error == 0.0 { 0.0 } else { t * error };
    Some(Interval { mean: moments.mean()?, half_width, n })
}

/// Returns the Student-t interval of the mean of `a[i] − b[i]`, at a confidence level between 0 and 1; `a[i]` and
/// `b[i]` are runs with common random numbers. `None`: the lists differ in length or have fewer than two values.
pub fn paired_difference(a: &[f64], b: &[f64], confidence: f64) -> Option<Interval> {
    if a.len() != b.len() {
        return None;
    }
    let differences: Vec<f64> = a.iter().zip(b).map(|(a, b)| a - b).collect();
    mean_interval(&differences, confidence)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailback_random::Rng;

    #[test]
    fn the_interval_of_a_hand_computed_list_is_right() {
        // mean 3, s² = 2.5, n = 5, t(0.975, 4) = 2.776445
        let result = mean_interval(&[1.0, 2.0, 3.0, 4.0, 5.0], 0.95).unwrap();
        assert_eq!(result.mean, 3.0);
        assert!((result.half_width - 2.776_445 * (0.5f64).sqrt()).abs() < 1e-5);
        assert!(result.contains(1.1) && !result.contains(5.0));
    }

    #[test]
    fn ninety_five_percent_intervals_cover_the_mean_in_95_percent_of_cases() {
        let mut rng = Rng::named(3, "interval");
        let covered = (0..4_000)
            .filter(|_| {
                let sample: Vec<f64> = (0..6).map(|_| rng.normal()).collect();
                mean_interval(&sample, 0.95).unwrap().contains(0.0)
            })
            .count();
        // Four standard errors: 4·√(0.95·0.05/4000) = 1.4 %.
        assert!((covered as f64 / 4_000.0 - 0.95).abs() < 0.014, "{covered} of 4000");
    }

    #[test]
    fn pairing_removes_the_noise_that_two_runs_share() {
        let mut rng = Rng::named(4, "pairs");
        let a: Vec<f64> = (0..10).map(|_| 100.0 * rng.normal()).collect();
        let b: Vec<f64> = a.iter().map(|x| x - 1.0 + 0.01 * rng.normal()).collect();
        let result = paired_difference(&a, &b, 0.99).unwrap();
        assert!(result.contains(1.0) && result.half_width < 0.05, "{result:?}");
        assert_eq!(paired_difference(&a, &b[1..], 0.99), None);
    }

    #[test]
    fn one_observation_has_no_interval_and_equal_ones_have_no_width() {
        assert_eq!(mean_interval(&[1.0], 0.95), None);
        assert_eq!(mean_interval(&[2.0, 2.0, 2.0], 1.0).unwrap().half_width, 0.0);
    }
}
