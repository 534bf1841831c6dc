//! Transcendental functions with the same bits on every target (libm, pinned).

/// Natural logarithm.
#[inline]
pub fn ln(x: f64) -> f64 {
    libm::log(x)
}
/// Natural logarithm of 1 + x.
#[inline]
pub fn ln_1p(x: f64) -> f64 {
    libm::log1p(x)
}
/// Base-2 logarithm.
#[inline]
pub fn log2(x: f64) -> f64 {
    libm::log2(x)
}
/// e to the power x.
#[inline]
pub fn exp(x: f64) -> f64 {
    libm::exp(x)
}
/// e to the power x, minus 1.
#[inline]
pub fn exp_m1(x: f64) -> f64 {
    libm::expm1(x)
}
/// x to the power y.
#[inline]
pub fn pow(x: f64, y: f64) -> f64 {
    libm::pow(x, y)
}
/// Cosine of x radians.
#[inline]
pub fn cos(x: f64) -> f64 {
    libm::cos(x)
}
/// Sine of x radians.
#[inline]
pub fn sin(x: f64) -> f64 {
    libm::sin(x)
}
/// Logarithm of the gamma function, x > 0.
#[inline]
pub fn ln_gamma(x: f64) -> f64 {
    libm::lgamma(x)
}
