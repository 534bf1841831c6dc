//! Mean and variance in one pass.

/// Count, mean and variance of a stream of numbers by Welford's recurrence (Technometrics 4, 1962): no sum of squares,
/// and so no cancellation for a large mean.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Moments {
    count: u64,
    mean: f64,
    /// Sum of squared distances from the mean.
    squares: f64,
}

impl Moments {
    /// Returns moments without observations.
    pub const fn new() -> Moments {
        Moments { count: 0, mean: 0.0, squares: 0.0 }
    }

    /// Adds one observation.
    #[inline]
    pub fn push(&mut self, x: f64) {
        self.count += 1;
        let before = x - self.mean;
        self.mean += before / self.count as f64;
        self.squares += before * (x - self.mean);
    }

    /// Returns the number of observations.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Returns the mean; `None`: no observations.
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then_some(self.mean)
    }

    /// Returns the unbiased variance (divided by count − 1); `None`: fewer than two observations.
    pub fn variance(&self) -> Option<f64> {
        (self.count > 1).then(|| self.squares / (self.count - 1) as f64)
    }

    /// Returns the square root of the unbiased variance; `None`: fewer than two observations.
    pub fn deviation(&self) -> Option<f64> {
        self.variance().map(f64::sqrt)
    }

    /// Returns the coefficient of variation, deviation over mean; `None`: fewer than two observations, or a mean of 0.
    pub fn coefficient_of_variation(&self) -> Option<f64> {
        self.deviation().filter(|_| self.mean != 0.0).map(|deviation| deviation / self.mean)
    }

    /// Returns the sum of squared distances from the mean.
    pub(super) fn squares(&self) -> f64 {
        self.squares
    }
}

impl FromIterator<f64> for Moments {
    fn from_iter<I: IntoIterator<Item = f64>>(values: I) -> Moments {
        let mut moments = Moments::new();
        values.into_iter().for_each(|x| moments.push(x));
        moments
    }
}

/// Returns the mean; `None`: the list is empty.
pub fn mean(values: &[f64]) -> Option<f64> {
    values.iter().copied().collect::<Moments>().mean()
}

/// Returns the unbiased variance; `None`: fewer than two values.
pub fn variance(values: &[f64]) -> Option<f64> {
    values.iter().copied().collect::<Moments>().variance()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mean_and_variance_are_those_of_a_hand_computed_list() {
        let moments: Moments = [2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0].into_iter().collect();
        assert_eq!(moments.mean(), Some(5.0));
        assert!((moments.variance().unwrap() - 32.0 / 7.0).abs() < 1e-12);
    }

    #[test]
    fn a_large_offset_does_not_affect_the_variance() {
        let moments: Moments = (0..1000).map(|i| 1e9 + f64::from(i % 2)).collect();
        assert!((moments.variance().unwrap() - 0.25 * 1000.0 / 999.0).abs() < 1e-6);
    }

    #[test]
    fn too_few_observations_have_no_moments() {
        assert_eq!(mean(&[]), None);
        assert_eq!(variance(&[3.0]), None);
        assert_eq!(Moments::from_iter([1.0, -1.0]).coefficient_of_variation(), None);
    }
}
