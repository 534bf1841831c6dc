//! Queue laws in Python.

use super::failure::failure;
use super::instance::Instance;
use core::fmt;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyInt};
use tailback_random::Rng;
use tailback_user::{QueueAnswer, QueueCall, QueueLaw, Role};

/// Arguments of a call of a queue law, read-only.
#[pyclass(frozen, module = "tailback._native")]
pub struct Call(QueueCall);

/// Defines getters that return fields of the record.
macro_rules! getters {
    ($($name:ident: $type:ty),+ $(,)?) => {
        #[pymethods]
        impl Call {
            $(
                #[getter]
                fn $name(&self) -> $type {
                    self.0.$name
                }
            )+
            #[getter]
            fn now_s(&self) -> f64 {
                self.0.now_ps as f64 * 1e-12
            }
            #[getter]
            fn sojourn_s(&self) -> f64 {
                self.0.sojourn_ps as f64 * 1e-12
            }
            #[getter]
            fn limit_packets(&self) -> Option<u64> {
                (self.0.limit_packets != u64::MAX).then_some(self.0.limit_packets)
            }
            #[getter]
            fn limit_bytes(&self) -> Option<u64> {
                (self.0.limit_bytes != u64::MAX).then_some(self.0.limit_bytes)
            }
            #[getter]
            fn ect(&self) -> bool {
                self.0.ecn != 0
            }
            #[getter]
            fn full(&self) -> bool {
                self.0.full != 0
            }
            fn __repr__(&self) -> String {
                format!("{:?}", self.0)
            }
        }
    };
}
getters! {
    now_ps: u64,
    sojourn_ps: u64,
    queue_packets: u64,
    queue_bytes: u64,
    rate_bps: u64,
    size: u32,
    payload: u32,
    flow: u32,
    sequence: u32,
    traffic_class: u8,
    ecn: u8,
    dscp: u8,
    colour: u8,
}

/// An instance of a class derived from `tailback.Law`.
pub struct PyLaw {
    instance: Instance,
    state_bytes: usize,
}

impl PyLaw {
    /// Binds the methods of an instance.
    pub fn new(instance: &Bound<'_, PyAny>) -> PyResult<PyLaw> {
        let events = Role::QueueLaw.events();
        Ok(PyLaw {
            instance: Instance::new(instance, ("tailback.laws.law", "Law"), events)?,
            state_bytes: instance.getattr("state_bytes")?.extract()?,
        })
    }
}

/// Returns the number of a verdict; `None` is PASS.
fn number(verdict: &Bound<'_, PyAny>) -> PyResult<u32> {
    if verdict.is_none() {
        return Ok(0);
    }
    // `True` is 1, which would be MARK.
    if !verdict.is_instance_of::<PyInt>() || verdict.is_instance_of::<PyBool>() {
        let message = format!("the answer is {}; return PASS, MARK, DROP or None", verdict.repr()?);
        return Err(PyTypeError::new_err(message));
    }
    verdict.extract().map_err(|_| PyValueError::new_err(format!("the answer is {verdict}; return PASS, MARK or DROP")))
}

impl fmt::Debug for PyLaw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PyLaw")
    }
}

impl QueueLaw for PyLaw {
    fn placed(&mut self, name: &str) {
        self.instance.placed(name);
    }
    fn answer(&mut self, call: &QueueCall, wake_ps: u64, rng: &mut Rng) -> Result<QueueAnswer, String> {
        Python::attach(|py| {
            let verdict = self.instance.call(py, call.event, call.now_ps, Call(*call), wake_ps, rng);
            let verdict = verdict.and_then(|verdict| verdict.as_ref().map_or(Ok(0), number));
            let verdict = verdict.map_err(|error| failure(py, error))?;
            Ok(QueueAnswer { wake_ps: self.instance.wake_ps(py), verdict, reserved: 0 })
        })
    }
    fn probe(&self, f: &mut dyn FnMut(&'static str, f64)) -> Result<(), String> {
        self.instance.probe(f)
    }
    fn state_bytes(&self) -> usize {
        self.state_bytes
    }
}
