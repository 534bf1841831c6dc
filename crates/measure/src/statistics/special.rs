//! Incomplete beta and gamma functions, for the t and chi-square distributions.

use tailback_random::maths::{exp, ln, ln_1p, ln_gamma};

/// Upper bound on the terms of a continued fraction or series; in the range used, 300 are enough.
const MAX_TERMS: u32 = 100_000;
/// Relative change of the value below which a term is the last.
const PRECISION: f64 = 1e-16;
/// Replaces a denominator of zero in Lentz's method.
const TINY: f64 = 1e-300;

/// Returns the regularised incomplete beta function I_x(a, b) for a, b > 0 and x from 0 to 1 (DLMF 8.17): continued
/// fraction 8.17.22 by the modified Lentz method, relative error about 1e-13.
pub fn incomplete_beta(a: f64, b: f64, x: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    if x >= 1.0 {
        return 1.0;
    }
    // The continued fraction converges fast below the mean; above the mean the reflection 8.17.4 is used.
    if x > (a + 1.0) / (a + b + 2.0) {
        return 1.0 - beta_below_mean(b, a, 1.0 - x);
    }
    beta_below_mean(a, b, x)
}

/// Returns I_x(a, b) by the continued fraction, for x below about (a + 1)/(a + b + 2), where it converges fast.
fn beta_below_mean(a: f64, b: f64, x: f64) -> f64 {
    let front = a * ln(x) + b * ln_1p(-x) + ln_gamma(a + b) - ln_gamma(a) - ln_gamma(b) - ln(a);
    let term = |j: u32| {
        let m = f64::from(j / 2);
        if j == 0 {
            1.0
        } else if j.is_multiple_of(2) {
            m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m))
        } else {
            -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0))
        }
    };
    exp(front) * lentz(0.0, term, |_| 1.0)
}

/// Returns the regularised lower incomplete gamma function P(a, x) for a > 0, x ≥ 0 (DLMF 8.2.4): the series 8.11.4
/// below a + 1, the continued fraction 8.9.2 above.
pub fn incomplete_gamma(a: f64, x: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    let front = exp(a * ln(x) - x - ln_gamma(a));
    if x < a + 1.0 {
        let mut term = 1.0 / a;
        let mut sum = term;
        for n in 1..MAX_TERMS {
            term *= x / (a + f64::from(n));
            sum += term;
            if term < sum * PRECISION {
                break;
            }
        }
        return front * sum;
    }
    let upper = lentz(
        0.0,
        |j| if j == 0 { 1.0 } else { -f64::from(j) * (f64::from(j) - a) },
        |j| x + 2.0 * f64::from(j) + 1.0 - a,
    );
    1.0 - front * upper
}

/// Returns the continued fraction b0 + c(0)/(d(0) + c(1)/(d(1) + …)) by the modified Lentz method (Thompson and Barnett
/// 1986).
fn lentz(b0: f64, numerator: impl Fn(u32) -> f64, denominator: impl Fn(u32) -> f64) -> f64 {
    let nonzero = |v: f64| if v.abs() < TINY { TINY } else { v };
    let mut value = nonzero(b0);
    let (mut c, mut d) = (value, 0.0);
    for j in 0..MAX_TERMS {
        let (above, below) = (numerator(j), denominator(j));
        d = 1.0 / nonzero(below + above * d);
        c = nonzero(below + above / c);
        let factor = c * d;
        value *= factor;
        if (factor - 1.0).abs() < PRECISION {
            break;
        }
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_incomplete_beta_equals_its_elementary_cases() {
        for x in [0.01, 0.2, 0.5, 0.77, 0.99] {
            assert!((incomplete_beta(1.0, 1.0, x) - x).abs() < 1e-13);
            assert!((incomplete_beta(2.0, 1.0, x) - x * x).abs() < 1e-13);
            // I_x(2,3) = 6x² − 8x³ + 3x⁴
            let polynomial = x * x * (6.0 - 8.0 * x + 3.0 * x * x);
            assert!((incomplete_beta(2.0, 3.0, x) - polynomial).abs() < 1e-13);
            assert!((incomplete_beta(7.5, 0.5, x) + incomplete_beta(0.5, 7.5, 1.0 - x) - 1.0).abs() < 1e-13);
        }
    }

    #[test]
    fn the_incomplete_gamma_equals_its_elementary_cases() {
        for x in [0.01, 0.5, 1.0, 3.0, 20.0] {
            assert!((incomplete_gamma(1.0, x) - (1.0 - exp(-x))).abs() < 1e-13);
            assert!((incomplete_gamma(3.0, x) - (1.0 - exp(-x) * (1.0 + x + x * x / 2.0))).abs() < 1e-13);
        }
    }
}
