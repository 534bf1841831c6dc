//! Transcendental functions with the same bits on every target (libm, pinned).

/// Returns the natural logarithm of x; −∞ at 0, NaN below 0.
#[inline]
pub fn ln(x: f64) -> f64 {
    libm::log(x)
}
/// Returns the natural logarithm of 1 + x, accurate for x near 0; −∞ at −1, NaN below −1.
#[inline]
pub fn ln_1p(x: f64) -> f64 {
    libm::log1p(x)
}
/// Returns the base-2 logarithm of x; −∞ at 0, NaN below 0.
#[inline]
pub fn log2(x: f64) -> f64 {
    libm::log2(x)
}
/// Returns e to the power x.
#[inline]
pub fn exp(x: f64) -> f64 {
    libm::exp(x)
}
/// Returns e to the power x, minus 1, accurate for x near 0.
#[inline]
pub fn exp_m1(x: f64) -> f64 {
    libm::expm1(x)
}
/// Returns x to the power y.
#[inline]
pub fn pow(x: f64, y: f64) -> f64 {
    libm::pow(x, y)
}
/// Returns the cosine of x radians.
#[inline]
pub fn cos(x: f64) -> f64 {
    libm::cos(x)
}
/// Returns the sine of x radians.
#[inline]
pub fn sin(x: f64) -> f64 {
    libm::sin(x)
}
/// Returns the natural logarithm of the gamma function of x, which must be above 0.
#[inline]
pub fn ln_gamma(x: f64) -> f64 {
    libm::lgamma(x)
}
