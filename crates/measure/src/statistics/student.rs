//! Student's t distribution.

use super::special::incomplete_beta;
use tailback_random::maths::{exp, ln, ln_1p, ln_gamma};

/// Returns the probability that a t variable with `dof` degrees of freedom (above 0) is at most `t`.
pub fn t_cdf(t: f64, dof: f64) -> f64 {
    let tail = upper_tail(t.abs(), dof);
    if t > 0.0 { 1.0 - tail } else { tail }
}

/// Returns the quantile of a t variable with `dof` degrees of freedom (above 0) at the probability `p`, 0 to 1: −∞
/// at 0, +∞ at 1. NaN if `p` is outside 0 to 1 or NaN.
pub fn t_quantile(p: f64, dof: f64) -> f64 {
    if !(0.0..=1.0).contains(&p) || dof.is_nan() || dof <= 0.0 {
        return f64::NAN;
    }
    // 1 − p is exact for p in [1/2, 1], so that the symmetry is exact.
    if p < 0.5 {
        return -t_quantile_above(p, dof);
    }
    t_quantile_above(1.0 - p, dof)
}

/// Returns the t ≥ 0 that is exceeded with probability `tail` ≤ 1/2: Newton's steps within a bracket.
fn t_quantile_above(tail: f64, dof: f64) -> f64 {
    if tail == 0.0 {
        return f64::INFINITY;
    }
    if tail == 0.5 {
        return 0.0;
    }
    let (mut low, mut high) = (0.0, 1.0);
    while upper_tail(high, dof) > tail {
        low = high;
        high *= 2.0;
        if high.is_infinite() {
            return high;
        }
    }
    let mut t = 0.5 * (low + high);
    for _ in 0..200 {
        let excess = upper_tail(t, dof) - tail;
        if excess > 0.0 {
            low = t;
        } else {
            high = t;
        }
        let newton = t + excess / density(t, dof);
        let next = if newton > low && newton < high { newton } else { 0.5 * (low + high) };
        if (next - t).abs() <= 1e-14 * t {
            return next;
        }
        t = next;
    }
    t
}

/// Returns P(T > t) for t ≥ 0, without cancellation in the tail (DLMF 8.17 and Abramowitz–Stegun 26.7.1).
fn upper_tail(t: f64, dof: f64) -> f64 {
    0.5 * incomplete_beta(0.5 * dof, 0.5, dof / (dof + t * t))
}

/// Returns the density of a t variable at `t`.
fn density(t: f64, dof: f64) -> f64 {
    let front = ln_gamma(0.5 * (dof + 1.0)) - ln_gamma(0.5 * dof) - 0.5 * ln(dof * core::f64::consts::PI);
    exp(front - 0.5 * (dof + 1.0) * ln_1p(t * t / dof))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Probability, degrees of freedom and quantile: the usual printed table with more digits.
    #[expect(clippy::unreadable_literal, reason = "as the printed table has them")]
    const TABLE: &[(f64, f64, f64)] = &[
        (0.9, 1.0, 3.07768353718),
        (0.9, 4.0, 1.53320627406),
        (0.9, 9.0, 1.38302873840),
        (0.9, 30.0, 1.31041502539),
        (0.95, 1.0, 6.31375151468),
        (0.95, 2.0, 2.91998558035),
        (0.95, 3.0, 2.35336343480),
        (0.95, 4.0, 2.13184678633),
        (0.95, 5.0, 2.01504837333),
        (0.95, 9.0, 1.83311293266),
        (0.95, 10.0, 1.81246112281),
        (0.95, 19.0, 1.72913281152),
        (0.95, 29.0, 1.69912702653),
        (0.95, 30.0, 1.69726088659),
        (0.95, 60.0, 1.67064886490),
        (0.95, 120.0, 1.65765089936),
        (0.95, 1000.0, 1.64637881729),
        (0.975, 1.0, 12.7062047362),
        (0.975, 2.0, 4.30265272975),
        (0.975, 3.0, 3.18244630528),
        (0.975, 4.0, 2.77644510520),
        (0.975, 5.0, 2.57058183564),
        (0.975, 9.0, 2.26215716280),
        (0.975, 10.0, 2.22813885199),
        (0.975, 19.0, 2.09302405441),
        (0.975, 29.0, 2.04522964213),
        (0.975, 30.0, 2.04227245630),
        (0.975, 60.0, 2.00029782201),
        (0.975, 120.0, 1.97993040508),
        (0.975, 1000.0, 1.96233908083),
        (0.99, 1.0, 31.8205159538),
        (0.99, 4.0, 3.74694738798),
        (0.99, 9.0, 2.82143792503),
        (0.99, 30.0, 2.45726154240),
        (0.995, 1.0, 63.6567411629),
        (0.995, 2.0, 9.92484320092),
        (0.995, 3.0, 5.84090930973),
        (0.995, 4.0, 4.60409487135),
        (0.995, 5.0, 4.03214298356),
        (0.995, 9.0, 3.24983554159),
        (0.995, 10.0, 3.16927267262),
        (0.995, 19.0, 2.86093460646),
        (0.995, 29.0, 2.75638590367),
        (0.995, 30.0, 2.74999565357),
        (0.995, 60.0, 2.66028302886),
        (0.995, 120.0, 2.61742114511),
        (0.995, 1000.0, 2.58075469807),
        (0.9995, 1.0, 636.619248769),
        (0.9995, 2.0, 31.5990545764),
        (0.9995, 4.0, 8.61030158138),
        (0.9995, 9.0, 4.78091258593),
        (0.9995, 29.0, 3.65940501947),
        (0.9995, 120.0, 3.37345376856),
    ];

    #[test]
    fn quantiles_are_those_of_the_table_to_a_millionth() {
        for &(p, dof, t) in TABLE {
            let result = t_quantile(p, dof);
            assert!((result - t).abs() < 1e-6 * t.max(1.0), "t({p}, {dof}) = {result}, table {t}");
            assert!((t_quantile(1.0 - p, dof) + t).abs() < 1e-5 * t.max(1.0), "symmetry at {p}, {dof}");
        }
    }

    #[test]
    fn the_quantile_inverts_the_distribution() {
        for dof in [1.0, 2.5, 4.0, 29.0, 1000.0] {
            for p in [1e-6, 0.01, 0.3, 0.5, 0.6, 0.95, 0.9999] {
                assert!((t_cdf(t_quantile(p, dof), dof) - p).abs() < 1e-12, "p={p} dof={dof}");
            }
        }
    }

    #[test]
    fn quantiles_are_infinite_at_probabilities_0_and_1_and_not_a_number_outside() {
        assert_eq!(t_quantile(0.5, 3.0), 0.0);
        assert_eq!(t_quantile(1.0, 3.0), f64::INFINITY);
        assert_eq!(t_quantile(0.0, 3.0), f64::NEG_INFINITY);
        assert!(t_quantile(1.1, 3.0).is_nan());
        assert!(t_quantile(0.9, 0.0).is_nan());
    }
}
