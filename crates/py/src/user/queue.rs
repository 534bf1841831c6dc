//! Queue laws in Python.

use super::base::Law;
use super::failure::failure;
use super::monitor::InCall;
use core::fmt;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyInt, PyString};
use tailback_random::Rng;
use tailback_user::{QueueAnswer, QueueCall, QueueEvent, QueueLaw, lasting};

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
    /// The instance, as its base class.
    law: Py<Law>,
    /// Methods of the instance by the number of the event; `None`: the class does not have the method.
    methods: Vec<Option<Py<PyAny>>>,
    /// State variables for time series: the name in reports, and the attribute.
    probes: Vec<(&'static str, Py<PyString>)>,
    state_bytes: usize,
}

impl PyLaw {
    /// Binds the methods of an instance.
    pub fn new(instance: &Bound<'_, PyAny>) -> PyResult<PyLaw> {
        let class = instance.get_type();
        let base = instance.py().import("tailback.laws.law")?.getattr("Law")?;
        let method = |event: &QueueEvent| -> PyResult<Option<Py<PyAny>>> {
            let overridden = !class.getattr(event.name())?.is(&base.getattr(event.name())?);
            overridden.then(|| Ok(instance.getattr(event.name())?.unbind())).transpose()
        };
        let names: Vec<Bound<'_, PyString>> = instance.getattr("probes")?.extract()?;
        let probes = names.into_iter().map(|name| Ok((lasting(name.to_str()?), name.unbind())));
        Ok(PyLaw {
            law: instance.cast::<Law>()?.clone().unbind(),
            methods: QueueEvent::ALL.iter().map(method).collect::<PyResult<_>>()?,
            probes: probes.collect::<PyResult<_>>()?,
            state_bytes: instance.getattr("state_bytes")?.extract()?,
        })
    }

    /// Calls the method of the event; returns its verdict.
    fn call(&self, py: Python<'_>, call: &QueueCall, rng: &mut Rng) -> PyResult<QueueAnswer> {
        let law = self.law.bind(py);
        let Some(method) = self.methods.get(call.event as usize).and_then(Option::as_ref) else {
            return Ok(QueueAnswer { wake_ps: law.borrow().wake_ps, verdict: 0, reserved: 0 });
        };
        law.borrow_mut().draws.exchange(rng);
        let in_call = InCall::begin();
        let verdict = method.bind(py).call1((Call(*call),));
        drop(in_call);
        let mut state = law.borrow_mut();
        state.draws.exchange(rng);
        let verdict = verdict?;
        Ok(QueueAnswer { wake_ps: state.wake_ps, verdict: number(&verdict)?, reserved: 0 })
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
    fn answer(&mut self, call: &QueueCall, wake_ps: u64, rng: &mut Rng) -> Result<QueueAnswer, String> {
        Python::attach(|py| {
            // An expired timer has no time any more.
            self.law.bind(py).borrow_mut().wake_ps = wake_ps;
            self.call(py, call, rng).map_err(|error| failure(py, error))
        })
    }
    fn probe(&self, f: &mut dyn FnMut(&'static str, f64)) -> Result<(), String> {
        Python::attach(|py| {
            for (name, attribute) in &self.probes {
                let value = self.law.bind(py).getattr(attribute.bind(py)).and_then(|value| value.extract());
                f(name, value.map_err(|error| failure(py, error))?);
            }
            Ok(())
        })
    }
    fn state_bytes(&self) -> usize {
        self.state_bytes
    }
}
