//! Traffic sources in Python.

use super::failure::failure;
use super::instance::{Instance, made};
use core::fmt;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyInt, PyTuple, PyType};
use tailback_random::Rng;
use tailback_user::{Code, Role, SourceAnswer, SourceCall, SourceEvent, SourceLaw};

/// Arguments of a call of a source, read-only.
#[pyclass(frozen, name = "SourceCall", module = "tailback._native")]
pub struct Call(SourceCall);

#[pymethods]
impl Call {
    #[getter]
    fn now_ps(&self) -> u64 {
        self.0.now_ps
    }
    #[getter]
    fn now_s(&self) -> f64 {
        self.0.now_ps as f64 * 1e-12
    }
    #[getter]
    fn bursts(&self) -> u64 {
        self.0.bursts
    }
    fn __repr__(&self) -> String {
        format!("{:?}", self.0)
    }
}

/// An instance of a class derived from `tailback.Source`.
pub struct PySource {
    instance: Instance,
    class: Py<PyType>,
    code: Code,
}

impl PySource {
    /// Makes an instance of `class` with the parameters of `code`, and binds its methods.
    pub fn new(class: &Bound<'_, PyType>, code: &Code) -> PyResult<PySource> {
        let instance = PySource::instance(class, code)?;
        Ok(PySource { instance, class: class.clone().unbind(), code: code.clone() })
    }

    fn instance(class: &Bound<'_, PyType>, code: &Code) -> PyResult<Instance> {
        let events = Role::Source.events();
        Instance::new(&made(class, code)?, ("tailback.laws.source", "Source"), events)
    }

    fn call(&self, py: Python<'_>, call: &SourceCall, rng: &mut Rng) -> PyResult<SourceAnswer> {
        let answer = self.instance.call(py, call.event, call.now_ps, Call(*call), u64::MAX, rng)?;
        if self.instance.wake_ps(py) != u64::MAX {
            return Err(PyValueError::new_err("a source has no timer; return the time of the next burst instead"));
        }
        answer.filter(|_| call.event == SourceEvent::Next as u32).as_ref().map_or(Ok(SourceAnswer::NONE), burst)
    }
}

/// Returns the burst that a source has answered with; `None` is no burst.
fn burst(answer: &Bound<'_, PyAny>) -> PyResult<SourceAnswer> {
    if answer.is_none() {
        return Ok(SourceAnswer::NONE);
    }
    let wrong = || -> PyResult<PyErr> {
        let shown = answer.repr()?;
        Ok(PyTypeError::new_err(format!(
            "the answer is {shown}; return a time in whole picoseconds and a number of bytes, such as (call.now_ps + 1000, \
             1000), or None"
        )))
    };
    let Ok(pair) = answer.cast::<PyTuple>() else { return Err(wrong()?) };
    let whole = |item: &Bound<'_, PyAny>| item.is_instance_of::<PyInt>() && !item.is_instance_of::<PyBool>();
    if pair.len() != 2 || !pair.iter().all(|item| whole(&item)) {
        return Err(wrong()?);
    }
    let number = |index: usize| -> PyResult<u64> {
        let item = pair.get_item(index)?;
        item.extract().map_err(|_| PyValueError::new_err(format!("the answer has {item}; write 0 to 2^64 - 1")))
    };
    Ok(SourceAnswer { at_ps: number(0)?, bytes: number(1)? })
}

impl fmt::Debug for PySource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PySource")
    }
}

impl SourceLaw for PySource {
    fn placed(&mut self, name: &str) {
        self.instance.placed(name);
    }
    fn answer(&mut self, call: &SourceCall, rng: &mut Rng) -> Result<SourceAnswer, String> {
        Python::attach(|py| self.call(py, call, rng).map_err(|error| failure(py, error)))
    }
    fn renew(&mut self) -> Result<(), String> {
        Python::attach(|py| {
            let fresh = PySource::instance(self.class.bind(py), &self.code).map_err(|error| failure(py, error))?;
            self.instance = self.instance.replaced_by(fresh);
            Ok(())
        })
    }
}
