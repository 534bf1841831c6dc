//! The chi-square distribution and test.

use super::special::incomplete_gamma;

/// Returns the probability that a chi-square variable with `dof` degrees of freedom (above 0) is at most `x`.
pub fn chi_square_cdf(x: f64, dof: f64) -> f64 {
    incomplete_gamma(0.5 * dof, 0.5 * x)
}

/// Returns Pearson's statistic Σ(observed − expected)²/expected over the cells that both lists have. Expected counts
/// must be above 0, and at least 5 for the test to be valid.
pub fn chi_square_statistic(observed: &[f64], expected: &[f64]) -> f64 {
    observed.iter().zip(expected).map(|(o, e)| (o - e) * (o - e) / e).sum()
}

/// Returns the probability, 0 to 1, of a statistic at least as large by chance; the degrees of freedom are the number of
/// cells minus one. With fewer than two cells the probability is 1.
pub fn chi_square_p_value(observed: &[f64], expected: &[f64]) -> f64 {
    let cells = observed.len().min(expected.len());
    if cells < 2 {
        return 1.0;
    }
    1.0 - chi_square_cdf(chi_square_statistic(observed, expected), (cells - 1) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailback_random::Rng;

    #[test]
    fn critical_values_are_those_of_the_table() {
        // (x, degrees of freedom, P(X > x)), NIST/SEMATECH e-Handbook 1.3.6.7.4.
        for (x, dof, tail) in [
            (3.841, 1.0, 0.05),
            (6.635, 1.0, 0.01),
            (5.991, 2.0, 0.05),
            (11.070, 5.0, 0.05),
            (18.307, 10.0, 0.05),
            (29.588, 10.0, 0.001),
            (43.773, 30.0, 0.05),
            (124.342, 100.0, 0.05),
        ] {
            assert!((1.0 - chi_square_cdf(x, dof) - tail).abs() < 2e-5, "{x} {dof}");
        }
    }

    #[test]
    fn uniform_counts_pass_and_skewed_ones_fail() {
        let mut rng = Rng::named(8, "chi");
        let mut counts = [0.0; 16];
        (0..16_000).for_each(|_| counts[rng.below(16) as usize] += 1.0);
        assert!(chi_square_p_value(&counts, &[1_000.0; 16]) > 1e-4);
        counts[0] += 200.0;
        assert!(chi_square_p_value(&counts, &[1_012.5; 16]) < 1e-4);
    }
}
