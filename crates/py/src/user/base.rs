//! The part of a component that the engine shares: its timer, its random stream, and the window of a congestion control.

use pyo3::exceptions::{PyRuntimeError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyInt};
use tailback_random::Rng;

/// A random stream, which the engine lends to a component for the duration of a call.
pub struct Draws {
    rng: Rng,
    lent: bool,
}

impl Draws {
    /// Returns a place without a stream.
    fn none() -> Draws {
        Draws { rng: Rng::named(0, ""), lent: false }
    }
    /// Exchanges the stream with `rng`: before a call, which lends it, and after the call.
    pub fn exchange(&mut self, rng: &mut Rng) {
        std::mem::swap(&mut self.rng, rng);
        self.lent = !self.lent;
    }
    /// Returns the stream. Raises `RuntimeError` outside a call.
    fn rng(&mut self) -> PyResult<&mut Rng> {
        if self.lent {
            return Ok(&mut self.rng);
        }
        Err(PyRuntimeError::new_err("a law draws random numbers only in its calls: outside them it has no stream"))
    }
}

/// Base of `tailback.Law` and of the other components.
#[pyclass(subclass, module = "tailback._native")]
pub struct Component {
    /// Time of the next wake-up, picoseconds; `u64::MAX`: none.
    pub wake_ps: u64,
    pub draws: Draws,
}

impl Component {
    /// Returns a component without a wake-up.
    fn idle() -> Component {
        Component { wake_ps: u64::MAX, draws: Draws::none() }
    }
}

#[pymethods]
impl Component {
    /// Takes any arguments: those of a derived class are for its own `__init__`.
    #[new]
    #[pyo3(signature = (*_args, **_kwargs))]
    fn new(_args: &Bound<'_, PyAny>, _kwargs: Option<&Bound<'_, PyAny>>) -> Component {
        Component::idle()
    }

    #[getter]
    fn wake_ps(&self) -> Option<u64> {
        (self.wake_ps != u64::MAX).then_some(self.wake_ps)
    }
    #[setter]
    fn set_wake_ps(&mut self, value: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
        let Some(value) = value else {
            self.wake_ps = u64::MAX;
            return Ok(());
        };
        if !value.is_instance_of::<PyInt>() || value.is_instance_of::<PyBool>() {
            let message = format!("wake_ps is {}; write a whole number of picoseconds, or None", value.repr()?);
            return Err(PyTypeError::new_err(message));
        }
        self.wake_ps = value.extract().map_err(|_| {
            PyValueError::new_err(format!("wake_ps is {value}; write a time of 0 to 2^64 - 1 picoseconds, or None"))
        })?;
        Ok(())
    }

    /// Draws a uniform number on [0, 1).
    fn random(&mut self) -> PyResult<f64> {
        Ok(self.draws.rng()?.uniform())
    }
    /// Draws a uniform integer on [0, n). Raises `ValueError` if n is 0.
    fn below(&mut self, n: u64) -> PyResult<u64> {
        if n == 0 {
            return Err(PyValueError::new_err("n is 0; write 1 or more"));
        }
        Ok(self.draws.rng()?.below(n))
    }
    /// Draws an exponentially distributed number with this mean. Raises `ValueError` if the mean is negative or not finite.
    fn exponential(&mut self, mean: f64) -> PyResult<f64> {
        if !(mean.is_finite() && mean >= 0.0) {
            return Err(PyValueError::new_err(format!("the mean is {mean}; write 0 or more")));
        }
        Ok(self.draws.rng()?.exponential(mean))
    }
    /// Draws a number with the standard normal distribution.
    fn normal(&mut self) -> PyResult<f64> {
        Ok(self.draws.rng()?.normal())
    }
}

/// Base of `tailback.CongestionControl`.
#[pyclass(extends = Component, subclass, module = "tailback._native")]
pub struct CongestionControl {
    /// Congestion window, segments.
    #[pyo3(get, set)]
    pub cwnd: f64,
    /// Slow-start threshold, segments.
    #[pyo3(get, set)]
    pub ssthresh: f64,
    /// Pacing rate, segments per second; 0: none.
    #[pyo3(get, set)]
    pub rate: f64,
}

#[pymethods]
impl CongestionControl {
    /// Takes any arguments: those of a derived class are for its own `__init__`.
    #[new]
    #[pyo3(signature = (*_args, **_kwargs))]
    fn new(_args: &Bound<'_, PyAny>, _kwargs: Option<&Bound<'_, PyAny>>) -> PyClassInitializer<CongestionControl> {
        let control = CongestionControl { cwnd: 1.0, ssthresh: f64::INFINITY, rate: 0.0 };
        PyClassInitializer::from(Component::idle()).add_subclass(control)
    }
}
