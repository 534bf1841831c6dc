//! Burstiness of a series of counts.

use super::Moments;

/// Returns the variance over the mean of the counts in equal intervals: 1 for a Poisson process, below 1 for a more
/// regular one, above 1 for a burstier one (Cox and Lewis 1966). `None`: fewer than two intervals, or a mean of 0.
pub fn index_of_dispersion(counts: &[f64]) -> Option<f64> {
    let moments: Moments = counts.iter().copied().collect();
    let mean = moments.mean()?;
    (mean != 0.0).then(|| moments.variance().map(|v| v / mean))?
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailback_random::Rng;

    #[test]
    fn poisson_counts_have_an_index_of_dispersion_of_one() {
        let mut rng = Rng::named(7, "dispersion");
        let counts: Vec<f64> = (0..20_000)
            .map(|_| {
                let (mut t, mut n) = (rng.exponential(1.0), 0.0);
                while t < 10.0 {
                    t += rng.exponential(1.0);
                    n += 1.0;
                }
                n
            })
            .collect();
        assert!((index_of_dispersion(&counts).unwrap() - 1.0).abs() < 0.05);
    }

    #[test]
    fn constant_counts_have_an_index_of_dispersion_of_zero() {
        assert_eq!(index_of_dispersion(&[4.0; 10]), Some(0.0));
        assert_eq!(index_of_dispersion(&[0.0; 10]), None);
    }
}
