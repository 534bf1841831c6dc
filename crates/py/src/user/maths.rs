//! The functions of `tailback.maths`, whose results are the same bits on every platform.

use pyo3::prelude::*;
use tailback_random::maths;

/// Defines functions of one number.
macro_rules! functions {
    ($($name:ident: $doc:literal),+ $(,)?) => {
        $(
            #[doc = $doc]
            #[pyfunction]
            fn $name(x: f64) -> f64 {
                maths::$name(x)
            }
        )+
        /// Returns the module `_native.maths`.
        pub fn module(py: Python<'_>) -> PyResult<Bound<'_, PyModule>> {
            let module = PyModule::new(py, "maths")?;
            $(module.add_function(wrap_pyfunction!($name, &module)?)?;)+
            module.add_function(wrap_pyfunction!(pow, &module)?)?;
            Ok(module)
        }
    };
}
functions! {
    ln: "Returns the natural logarithm.",
    ln_1p: "Returns ln(1 + x).",
    log2: "Returns the logarithm to base 2.",
    exp: "Returns e to the power x.",
    exp_m1: "Returns exp(x) - 1.",
    cos: "Returns the cosine of x radians.",
    sin: "Returns the sine of x radians.",
    ln_gamma: "Returns the logarithm of the gamma function.",
}

/// Returns x to the power y.
#[pyfunction]
fn pow(x: f64, y: f64) -> f64 {
    maths::pow(x, y)
}
